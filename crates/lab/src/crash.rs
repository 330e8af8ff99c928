//! The crash laboratory: from one recorded session of a program on a modelled disk, it derives what power cuts at many instants would leave,
//! and has the program's own check look at each result.
//!
//! The workload runs once, not again for each cut: the judge of [`seekwise_disk::durability`] computes what a cut leaves, as in simulated runs, and the check
//! gets a medium with exactly that. No file system is known here, and no program is started: the caller supplies the check.
//!
//! | file | what it holds |
//! |---|---|
//! | [`proof`] | the trial of the check itself, on media with a known answer |
//! | [`instants`] | the instants of the cuts |
//! | [`orders`] | other outcomes that a cut could have had |
//! | [`verdict`] | the answers of a check |
//! | [`purpose`] | the purpose of lost writes in a file system |
//! | [`standing`] | the data that stand in place of a lost write |
//! | [`trial`] | all trials, and their results |
//! | [`recovery`] | cuts during the recovery from earlier cuts |
//! | [`shrink`] | the fewest lost writes that still break a promise |

pub mod instants;
pub mod orders;
pub mod proof;
pub mod purpose;
pub mod recovery;
pub mod shrink;
pub mod standing;
pub mod trial;
pub mod verdict;
