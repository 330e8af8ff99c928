//! Promises of a stack to writers, and entries for the settings that break them. Each level of a stack, from the drive
//! up, lists the promises that its own settings break;
//! [`Stack::promise_breakers`](crate::stack::Stack::promise_breakers) works out which of them matter.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// A promise to writers, kept even if the power fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Assurance {
    /// When a flush completes, everything acknowledged before its submission is on the medium.
    Flush,
    /// When a write with forced unit access completes, it is on the medium.
    Fua,
    /// With the write cache off, an acknowledged write is on the medium.
    CacheOff,
    /// When an orderly power-off is over, everything acknowledged is on the medium.
    PowerOff,
    /// In a row with parity, the other drives can reconstruct the data of a lost drive.
    Rows,
}

/// A setting of a level that breaks an assurance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BrokenPromise {
    /// The setting's key within its level.
    pub key: &'static str,
    /// The setting's value, as in a stack file.
    pub value: String,
    pub breaks: Assurance,
}

impl BrokenPromise {
    /// Returns an entry for each assurance that the setting breaks.
    pub(crate) fn for_setting(key: &'static str, value: &str, broken_assurances: &[Assurance]) -> Vec<BrokenPromise> {
        broken_assurances.iter().map(|&breaks| BrokenPromise { key, value: value.to_string(), breaks }).collect()
    }
}
