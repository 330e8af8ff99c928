//! Where a workload runs. This version has one place: [`sim`], in virtual time.
//!
//! The only crate that reads a clock ([`clock`]), and the one that will hold sockets and devices; it holds none yet.

pub mod clock;
pub mod sim;
