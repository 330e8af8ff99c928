//! What writers may rely on, and how a setting breaks it. Each level of a stack lists its own lapses (`lapses` of its
//! specification); [`Stack::promise_breakers`](crate::stack::Stack::promise_breakers) works out which of them matter.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// What writers may rely on when the power fails.
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
    /// The other drives can reconstruct what a lost drive held of a row with parity.
    Rows,
}

/// A setting of a level that breaks an assurance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lapse {
    /// The setting's key within its level.
    pub key: &'static str,
    /// As in a stack file.
    pub value: String,
    pub breaks: Assurance,
}

impl Lapse {
    /// One lapse for each of `broken`.
    pub(crate) fn each(key: &'static str, value: &str, broken: &[Assurance]) -> Vec<Lapse> {
        broken.iter().map(|&breaks| Lapse { key, value: value.to_string(), breaks }).collect()
    }
}
