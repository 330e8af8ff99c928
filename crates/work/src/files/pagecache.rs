//! The page cache: the pages of files in memory, which of them are dirty, and which are evicted when it is full. The
//! cache is state only; [`super::system`] issues the reads and writes.
//!
//! | file | what it is |
//! |---|---|
//! | `pages` | the pages: their states, their order of use, eviction |
//! | `rules` | the three systems' rules and constants, each with its source |
//! | `read_ahead` | prediction of a thread's next reads |
//!
//! Pages of 4 KiB are kept in runs, so a file of any length that was read from front to end is one entry.

mod pages;
mod read_ahead;
mod rules;

pub use self::pages::{DirtyFile, DirtyRun, PAGE, PageCache};
pub use self::read_ahead::{ReadSpan, ReadStream};
pub use self::rules::{PageCacheSpec, ReadAheadRule, WriteBackRule};
