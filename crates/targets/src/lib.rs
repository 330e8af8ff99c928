//! Where a workload runs. This version has one place: [`sim`], in virtual time.
//!
//! The only crate that will ever hold a clock, sockets or devices; it holds none yet.

pub mod sim;
