//! Where a workload runs.
//!
//! | room | what it is |
//! |---|---|
//! | [`clock`] | the one file that reads real time |
//! | [`sim`] | a modelled stack, in virtual time |
//!
//! The only crate that reads a clock ([`clock`]), and the one that will hold sockets and devices; it holds none yet.

pub mod clock;
pub mod sim;
