//! Real software, cut after cut: from one recorded session of a program on a modelled disk, what power cuts at many of its instants
//! would leave, each looked at by a check of the program's own.
//!
//! Nothing runs again for a cut: what each leaves is worked out by the judge of [`crate::cut`], the same as in simulated runs, and the
//! check gets a medium with just that on it. This room knows no file system and starts no program: whoever asks brings the check.
//!
//! | file | what is there |
//! |---|---|
//! | [`instants`] | at which instants the power is cut |
//! | [`writes`] | what the standards say of each write |
//! | [`image`] | what lies on a medium |
//! | [`orders`] | what else a cut could have left |
//! | [`verdict`] | what a check says |
//! | [`served`] | what a cut leaves of a disk that is served, where an array lacks a drive |
//! | [`places`] | what lost writes were there for, in a file system |
//! | [`trial`] | all trials, and what came of them |
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
