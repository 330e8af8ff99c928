//! What whoever writes may rely on, and how a setting breaks it. Each level of a stack answers for itself
//! (`lapses` of its specification); who of them matters is worked out by
//! [`Stack::promise_breakers`](crate::stack::Stack::promise_breakers).

use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// What whoever writes may rely on when the power goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Assurance {
    /// What was acknowledged before a flush was submitted is on the medium when that has completed.
    Flush,
    /// A write with forced unit access is on the medium when it has completed.
    Fua,
    /// With the write cache off, a write is on the medium when it is acknowledged.
    CacheOff,
    /// All that was acknowledged is on the medium when an orderly power-off is over.
    PowerOff,
    /// What a lost drive held of a row with parity can be worked out from the others.
    Rows,
}

/// A setting of a level that breaks an assurance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lapse {
    /// The setting's key within its level.
    pub key: &'static str,
    /// What it is set to.
    pub value: String,
    /// What that breaks.
    pub breaks: Assurance,
}

impl Lapse {
    /// One for each of `broken`.
    pub(crate) fn each(key: &'static str, value: &str, broken: &[Assurance]) -> Vec<Lapse> {
        broken.iter().map(|&breaks| Lapse { key, value: value.to_string(), breaks }).collect()
    }
}
