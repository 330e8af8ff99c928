//! The crash laboratory: from one recorded session of a program on a modelled disk, it derives what power cuts at many
//! instants would leave, and has the program's own check look at each.
//!
//! Nothing runs again for a cut: the judge of [`crate::cut`] computes what it leaves, as in simulated runs, and the
//! check gets a medium with exactly that. This room knows no file system and starts no program: the caller supplies the
//! check.
//!
//! | file | what it holds |
//! |---|---|
//! | [`instants`] | the instants of the cuts |
//! | [`writes`] | what the standards guarantee for each write |
//! | [`image`] | the content of a medium |
//! | [`orders`] | what else a cut could have left |
//! | [`verdict`] | the answers of a check |
//! | [`served`] | what a cut leaves of a served disk whose array lacks a drive |
//! | [`places`] | the purpose of lost writes in a file system |
//! | [`trial`] | all trials, and their results |
//! | [`shrink`] | the fewest lost writes that still break a promise |

pub mod image;
pub mod instants;
pub mod orders;
pub mod places;
pub mod served;
pub mod shrink;
pub mod trial;
pub mod verdict;
pub mod writes;
