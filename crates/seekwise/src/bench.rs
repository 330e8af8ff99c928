//! The fixed workloads by which the speed of the simulation is measured, and the clock that measures it.

/// Workloads, their drive, and their results.
pub use seekwise_lab::bench::{BenchResult, BenchWorkload, DRIVE, TOGETHER, bench_workloads};

/// Real time.
pub use seekwise_os::clock::Clock;
