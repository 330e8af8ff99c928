//! Where a workload runs.
