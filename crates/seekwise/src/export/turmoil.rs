//! Constants of turmoil's simulated file system (`IoLatency` of turmoil-fs, behind turmoil's feature `unstable-fs`).
//!
//! Source: github.com/tokio-rs/turmoil, commit 481407d3, 27 May 2026 (turmoil 0.7.2, turmoil-fs 0.1.0): `IoLatency` and
//! `calculate_latency` in crates/turmoil-fs/src/lib.rs.

use super::draw::{Draw, Shape, fit_cut};
use super::text::{add_command, comment, draw_figures, heading, plain_figures};
use super::{LatencyTable, LatencyTarget, Operation};

/// Notes on the constants.
const ABOUT: [&str; 3] = [
    "Calls on turmoil's Builder, feature unstable-fs (turmoil-fs 0.1.0, commit 481407d3, 27 May 2026). A draw is min + (max - min) * \
     min(1, Exp(lambda)); an asynchronous call waits for it, a synchronous one takes no time.",
    "There is one draw for all: reads, writes, syncs and metadata. The random read is chosen: nothing can put it off, and a write or a \
     sync that reaches the platter takes about as long. A write that the drive only buffers is far quicker, and a sync behind many writes \
     far slower, as the other figures say.",
    "max is the drive's p99.9, where draws are cut; min and lambda give the drive's mean, with the nearest percentiles.",
];

/// The calls of each depth.
pub(super) fn constants(table: &LatencyTable) -> String {
    let mut text = heading(table, LatencyTarget::Turmoil, &ABOUT);
    for &depth in &table.setup.depths {
        text += &format!("\n// {depth} in flight\n");
        let row = table.known_row(Operation::Read, depth);
        let draw = fit_cut(&Shape::new(&row.times, 0.0));
        let Draw::Cut { min, max, lambda } = draw else { unreachable!("it is of the form that was fitted") };
        text += &draw_figures(row, draw, 0.0);
        text += &comment(&format!("{:.1} % of draws are cut to max", 100.0 * (-lambda).exp()), 4);
        add_command(&mut text, row);
        for operation in [Operation::Write, Operation::Flush, Operation::WriteThrough] {
            text += &plain_figures(table.known_row(operation, depth));
        }
        text += &format!(
            "builder\n    .fs()\n    .io_latency()\n    .min_latency(Duration::from_micros({min}))\n    \
             .max_latency(Duration::from_micros({max}))\n    .distribution({lambda:.3});\n"
        );
    }
    text
}
