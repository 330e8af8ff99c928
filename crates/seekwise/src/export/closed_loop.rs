//! FoundationDB's simulated disk with operations that follow one another: how long they take, in parts of 1/`iops`.
//!
//! Each operation takes the disk for 1/`iops` after the one before it, then waits for a number between 0 and 10/`iops` by itself
//! (`waitUntilDiskReady` in fdbrpc/sim2.cpp). All its times are multiples of 1/`iops`, so a loop is run once, in integers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use seekwise_disk::rng::Seed;
use seekwise_disk::time::Span;
use seekwise_lab::stats::Histogram;

/// Units of 1/`iops`.
const UNITS: u64 = 1_000_000;

/// Operations before any is counted, and all that are.
const RAMP: usize = 10_000;
const COUNTED: usize = 400_000;

/// Response times of a loop with `depth` operations in flight, in parts of 1/`iops`.
pub(super) struct ClosedLoop {
    times: Histogram,
}

impl ClosedLoop {
    /// Runs the loop; equal depths give equal times.
    pub fn run(depth: u32) -> ClosedLoop {
        let mut random = Seed(1).stream("FoundationDB's disk");
        let (mut times, mut next_operation) = (Histogram::default(), 0);
        let mut begins: BinaryHeap<Reverse<u64>> = (0..depth).map(|_| Reverse(0)).collect();
        for operation in 0..RAMP + COUNTED {
            let Some(Reverse(now)) = begins.pop() else { break };
            next_operation = now.max(next_operation) + UNITS;
            let end = next_operation + random.below(10 * UNITS);
            if operation >= RAMP {
                times.record(Span::from_nanos(end - now));
            }
            begins.push(Reverse(end));
        }
        ClosedLoop { times }
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        self.times.mean_ns().unwrap_or(0.0) / UNITS as f64
    }

    /// The value that a share of operations does not exceed.
    pub fn quantile(&self, share: f64) -> f64 {
        self.times.quantile(share).map_or(0.0, |time| time.nanos() as f64 / UNITS as f64)
    }
}
