//! Constants of TigerBeetle's simulated storage (`Storage.Options` in src/testing/storage.zig).
//!
//! Source: github.com/tigerbeetle/tigerbeetle, commit 52ad553f, 1 July 2026: `latency` in src/testing/storage.zig,
//! `random_int_exponential` in src/testing/fuzz.zig, `tick_ms` in src/config.zig, `DSYNC` in src/io/linux.zig.

use super::draw::{Draw, Shape, fit_floored};
use super::text::{add_command, comment, draw_figures, heading, plain_figures};
use super::{LatencyTable, LatencyTarget, Operation};

/// ms of a tick, in which the simulator looks for operations that are done.
const TICK_MS: f64 = 10.0;

/// Notes on the constants.
const ABOUT: [&str; 3] = [
    "Fields of Storage.Options in TigerBeetle's src/testing/storage.zig (commit 52ad553f, 1 July 2026). A draw is max(min, exponential(mean)), \
     so the mean of draws is above `mean`; mean and min below give the drive's mean together. `mean` must not be below `min`, so the \
     spread of a draw is never small.",
    "Writes are those with the drive's write cache off: TigerBeetle writes with O_DSYNC, and its storage has no flush.",
    "An operation ends at the first tick (constants.tick_ms, 10 ms) at which its time is over; the figures \"at ticks\" are what a \
     replica sees.",
];

/// The constants of each depth.
pub(super) fn constants(table: &LatencyTable) -> String {
    let mut text = heading(table, LatencyTarget::TigerBeetle, &ABOUT);
    for &depth in &table.setup.depths {
        text += &format!("\n// {depth} in flight\n");
        let mut fields = String::new();
        for (field, operation) in [("read", Operation::Read), ("write", Operation::WriteThrough)] {
            let row = table.known_row(operation, depth);
            let draw = fit_floored(&Shape::new(&row.times, 0.0));
            let Draw::Floored { min, mean } = draw else { unreachable!("it is of the form that was fitted") };
            text += &draw_figures(row, draw, 0.0);
            let tick = |share: f64| (draw.quantile(share) / 1e3 / TICK_MS).ceil() * TICK_MS;
            let at_min = 100.0 * (1.0 - (-min / mean.max(1.0)).exp());
            let notes =
                format!("{at_min:.0} % of draws are min; at ticks: p50 {} ms, p99 {} ms", tick(0.5), tick(0.99));
            text += &comment(&notes, 4);
            add_command(&mut text, row);
            fields += &format!(".{field}_latency_min = .us({min}),\n.{field}_latency_mean = .us({mean}),\n");
        }
        text += &plain_figures(table.known_row(Operation::Flush, depth));
        text += &fields;
    }
    text
}
