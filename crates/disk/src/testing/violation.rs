//! A rule of the contract that a device broke.

use alloc::string::String;

/// A rule that a device breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The number of the rule in the contract.
    pub rule: u8,
    /// The observation that breaks it.
    pub text: String,
}
