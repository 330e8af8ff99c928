//! Tables made of the library's results. Nothing is computed here but sums.
//!
//! | file | what it holds |
//! |---|---|
//! | [`table`] | a table that hands itself over by Arrow's PyCapsule interface |
//! | [`columns`] | tables of records, findings and curves |
//! | [`requests`] | the table of a run's requests |

pub mod columns;
pub mod requests;
pub mod table;
