//! Constants of moonpool's simulated storage (`StorageConfiguration` of moonpool-sim).
//!
//! Source: github.com/PierreZ/moonpool, commit 021651cf, 9 July 2026 (moonpool-sim 0.8.0): moonpool-sim/src/storage/config.rs,
//! `LatencyDistribution` and `sample_latency` in src/network/config.rs, `calculate_storage_latency` in src/sim/storage_ops.rs.

use super::draw::{Draw, Shape, fit_bimodal, fit_shifted, fit_uniform};
use super::text::{add_command, draw_figures, heading, plain_figures};
use super::{LatencyRow, LatencyTable, LatencyTarget, Operation};
use crate::values::parse_size;

/// Notes on the constants.
const ABOUT: [&str; 3] = [
    "Fields of StorageConfiguration (moonpool-sim 0.8.0, commit 021651cf, 9 July 2026). A read or write takes its draw + 1/iops + \
     bytes/bandwidth, a sync its draw alone; none waits for another. Of moonpool's three forms (Uniform; Exponential, which is min + \
     exponential(mean); Bimodal) each field has the one whose percentiles are nearest, with the drive's mean.",
    "iops is no limit there, only 1/iops for each operation: it stands for the part that every read and write of the drive has, and is \
     taken off the draws. bandwidth is the rate in sequence at half of the drive, and is taken off for one block.",
    "Writes and syncs belong together: a write goes into the drive's buffer, and the sync behind so many writes as the depth pays for \
     them. write_sustained is for programs that never sync: the buffer is full.",
];

/// The shape of `times` of a row, with the nearest draw of the three forms.
fn nearest_form(row: &LatencyRow, added: f64) -> Draw {
    let shape = Shape::new(&row.times, added);
    let forms = [Some(fit_uniform(&shape)), Some(fit_shifted(&shape)), fit_bimodal(&shape)];
    let measured = forms.into_iter().flatten().map(|draw| (draw.distance(&shape), draw));
    let best = measured.reduce(|best, next| if next.0 < best.0 { next } else { best });
    best.map(|(_, draw)| draw).expect("two forms always fit")
}

/// A draw as Rust has it.
fn literal(draw: Draw) -> String {
    let us = |us: f64| format!("Duration::from_micros({us})");
    match draw {
        Draw::Uniform { start, end } => {
            format!("LatencyDistribution::Uniform {{ start: {}, end: {} }}", us(start), us(end))
        }
        Draw::Shifted { min, mean } => {
            format!("LatencyDistribution::Exponential {{ min: {}, mean: {} }}", us(min), us(mean))
        }
        Draw::Bimodal { fast, split, slow, slow_share } => format!(
            "LatencyDistribution::Bimodal {{\n        fast_range: {}..{},\n        slow_range: {}..{},\n        slow_probability: \
             {slow_share},\n    }}",
            us(fast),
            us(split),
            us(split),
            us(slow)
        ),
        Draw::Floored { .. } | Draw::Cut { .. } => unreachable!("moonpool has no such form"),
    }
}

/// The literal of each depth.
pub(super) fn constants(table: &LatencyTable) -> String {
    let mut text = heading(table, LatencyTarget::Moonpool, &ABOUT);
    let bandwidth = table.bandwidth().max(1);
    let transfer = parse_size(&table.setup.block).unwrap_or(0) as f64 / bandwidth as f64 * 1e6;
    for &depth in &table.setup.depths {
        text += &format!("\n// {depth} in flight\n");
        let [read, write, flush] =
            [Operation::Read, Operation::Write, Operation::Flush].map(|operation| table.known_row(operation, depth));
        let least = [read, write].map(|row| Shape::new(&row.times, transfer).min).into_iter().fold(f64::MAX, f64::min);
        let iops = (1e6 / least.max(1.0)).ceil();
        let added = 1e6 / iops + transfer;
        let mut fields = format!("    iops: {iops},\n    bandwidth: {bandwidth},\n");
        for (field, row, added) in [("read", read, added), ("write", write, added), ("sync", flush, 0.0)] {
            let draw = nearest_form(row, added);
            text += &draw_figures(row, draw, added);
            add_command(&mut text, row);
            fields += &format!("    {field}_latency: {},\n", literal(draw));
        }
        text += &plain_figures(table.known_row(Operation::WriteSustained, depth));
        text += &format!("StorageConfiguration {{\n{fields}    ..StorageConfiguration::default()\n}}\n");
    }
    text
}
