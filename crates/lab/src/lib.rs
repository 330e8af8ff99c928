//! The laboratory: results are pure functions of records.
//!
//! | room | what it is |
//! |---|---|
//! | [`catalogue`] | the built-in drives, and what can be checked of each |
//! | [`stats`] | histograms, intervals, ratios, verdicts |
//! | [`report`] | results as one page that a stranger can read |

pub mod catalogue;
pub mod report;
pub mod stats;
