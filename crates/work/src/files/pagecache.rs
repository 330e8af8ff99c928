//! The page cache: which pages of files are in memory, which of them are dirty, and which are evicted when it is full.
//! The cache is state only; [`super::system`] does the reads and writes.
//!
//! | file | what it is |
//! |---|---|
//! | `pages` | the pages themselves |
//! | `rules` | the three systems' rules and constants, each with its source |
//! | `read_ahead` | read-ahead |
//!
//! Pages of 4 KiB are kept in runs: a file that was read from front to end is one run, whatever its length.

mod pages;
mod read_ahead;
mod rules;

pub use self::pages::{DirtyFile, PAGE, PageCache};
pub use self::read_ahead::{ReadSpan, ReadStream};
pub use self::rules::{PageCacheSpec, ReadAheadRule, WriteBackRule};
