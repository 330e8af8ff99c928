//! Constants of FoundationDB's simulated disk (knobs `SIM_DISK_IOPS` and `SIM_DISK_BANDWIDTH`).
//!
//! Source: github.com/apple/foundationdb, commit c0c44752, 22 August 2026: `waitUntilDiskReady` and `DiskParameters` in fdbrpc/sim2.cpp
//! and fdbrpc/include/fdbrpc/simulator.h, AsyncFileNonDurable.h, flow/Knobs.cpp.

use super::closed_loop::ClosedLoop;
use super::draw::Shape;
use super::text::{add_command, figures, heading, plain_figures};
use super::{LatencyTable, LatencyTarget, Operation};

/// Notes on the constants.
const ABOUT: [&str; 4] = [
    "Knobs of FoundationDB's simulation (flow/Knobs.cpp; fdbrpc/sim2.cpp at commit c0c44752, 22 August 2026). Each operation takes the disk \
     for 1/SIM_DISK_IOPS after the one before it, then waits by itself for up to 10/SIM_DISK_IOPS; alone it takes 6/SIM_DISK_IOPS on \
     average. So SIM_DISK_IOPS is above the drive's rate unless much is in flight: here it gives the drive's mean response time with so \
     many reads in flight on one file.",
    "There is one number for reads and writes. The random read is chosen: a write there is answered when its wait is over, and \
     AsyncFileNonDurable makes it durable later, as a write cache does.",
    "SIM_DISK_BANDWIDTH is the rate in sequence at half of the drive. At that commit it is divided as whole numbers (size / bandwidth), so \
     an operation of fewer bytes than it costs nothing more. Each open file has its own disk.",
    "A sync has no knob: it waits 5 to 15 ms (buggified, up to 1 s), whatever was written before it.",
];

/// p50 and p99 of the wait of a sync, in us: 5 ms and a number up to 10 ms.
const SYNC_US: [f64; 2] = [10_000.0, 14_900.0];

/// The knobs of each depth.
pub(super) fn constants(table: &LatencyTable) -> String {
    let mut text = heading(table, LatencyTarget::FoundationDb, &ABOUT);
    let bandwidth = table.bandwidth();
    for &depth in &table.setup.depths {
        text += &format!("\n// {depth} in flight\n");
        let row = table.known_row(Operation::Read, depth);
        let (shape, closed_loop) = (Shape::new(&row.times, 0.0), ClosedLoop::run(depth));
        let iops = (closed_loop.mean() * 1e6 / shape.mean.max(1.0)).round().max(1.0);
        let drawn = [0.5, 0.99].map(|share| closed_loop.quantile(share) * 1e6 / iops);
        text += &figures("read", [shape.p50, shape.p99], drawn);
        add_command(&mut text, row);
        let flush = table.known_row(Operation::Flush, depth);
        let Shape { p50, p99, .. } = Shape::new(&flush.times, 0.0);
        text += &figures("flush", [p50, p99], SYNC_US);
        add_command(&mut text, flush);
        text += &plain_figures(table.known_row(Operation::WriteSustained, depth));
        text += &format!(
            "init( SIM_DISK_IOPS, {iops} );\ninit( SIM_DISK_BANDWIDTH, {bandwidth} );\n// or: --knob_sim_disk_iops={iops} \
             --knob_sim_disk_bandwidth={bandwidth}\n"
        );
    }
    text
}
