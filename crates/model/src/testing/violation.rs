//! A rule of the contract that a device broke.

use alloc::string::String;

/// A rule that a device breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Its number in the contract.
    pub rule: u8,
    /// What was seen.
    pub text: String,
}
