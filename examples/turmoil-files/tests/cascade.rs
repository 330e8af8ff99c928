//! A service whose retries overload its disk collapses on the modelled drive within a hundred seeds, for each of ten timers, and
//! never with exponential latencies of the same mean. Few timers and seeds are drawn by default.

use std::time::Duration;

use seekwise_example_turmoil_files::cascade::{SEEDS, Storage, TIMERS_MS, calibrate, find_collapse, run};

fn draws_all() -> bool {
    std::env::var("SEEKWISE_DRAWS").is_ok_and(|draws| draws == "all")
}

#[test]
fn retries_overload_the_drive_and_no_drawn_latency() {
    let (mean, permille) = calibrate(if draws_all() { 5 } else { 1 }).unwrap();
    assert!(permille >= Duration::from_millis(TIMERS_MS[9]), "each timer is shorter than {permille:?}");
    // Measured: the first two timers collapse with the first seed.
    let (timers, seeds) = if draws_all() { (&TIMERS_MS[..], SEEDS) } else { (&TIMERS_MS[..2], 2) };
    for &timer_ms in timers {
        let timer = Duration::from_millis(timer_ms);
        let found = find_collapse(Storage::Drive, timer, seeds).unwrap();
        let drawn = find_collapse(Storage::Exponential { mean }, timer, seeds).unwrap();
        println!("timer {timer_ms} ms: drive {found:?}, exponential {drawn:?}, of {seeds} seeds");
        assert!(found.is_some(), "timer {timer_ms} ms: no collapse in {seeds} seeds");
        assert_eq!(drawn, None, "timer {timer_ms} ms: exponential latencies collapse too");
    }
}

#[test]
fn without_retries_nothing_collapses_and_equal_seeds_are_equal_runs() {
    let no_timer = Duration::from_secs(60);
    let first = run(Storage::Drive, no_timer, 1).unwrap();
    // The last messages are under way when the client ends.
    let under_way = first.requests.checked_sub(first.received).expect("no request is repeated");
    assert!(!first.has_collapsed() && under_way < 10, "{under_way} of {}", first.requests);
    assert_eq!(first, run(Storage::Drive, no_timer, 1).unwrap());
    assert_ne!(first, run(Storage::Drive, no_timer, 2).unwrap());
}
