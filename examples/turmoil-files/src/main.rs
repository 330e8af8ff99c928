//! Searches seeds with which the service collapses: on the drive, and with exponential latencies of the same mean.
//!
//!     cargo run --release -p seekwise-example-turmoil-files [SEEDS [TIMER_MS…]]

use seekwise_example_turmoil_files::cascade::{SEEDS, TIMERS_MS, report};

fn main() -> turmoil::Result {
    let numbers = std::env::args().skip(1).map(|number| number.parse()).collect::<Result<Vec<u64>, _>>()?;
    let (seeds, timers_ms) = match &numbers[..] {
        [] => (SEEDS, &TIMERS_MS[..]),
        [seeds] => (*seeds, &TIMERS_MS[..]),
        [seeds, timers_ms @ ..] => (*seeds, timers_ms),
    };
    report(timers_ms, seeds, |line| println!("{line}"))
}
