//! The page cache: which pages of files are in memory, which of them differ from the drive, and which goes when there is
//! no room. Pure state; [`super::system`] reads and writes what it names.
//!
//! | file | what it is |
//! |---|---|
//! | `pages` | the pages themselves |
//! | `rules` | the three systems' rules and constants, each with its source |
//! | `ahead` | what is read before it is asked for |
//!
//! Pages of 4 KiB are kept in runs: a file that was read from front to end is one, whatever its length.

mod ahead;
mod pages;
mod rules;

pub use self::ahead::{Stream, Wanted};
pub use self::pages::{DirtyFile, PAGE, PageCache};
pub use self::rules::{Ahead, Back, PageCacheSpec};
