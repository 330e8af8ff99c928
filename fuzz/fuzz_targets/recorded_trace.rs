//! See `entries::recorded_trace`.
#![no_main]

#[path = "../entries.rs"]
mod entries;

libfuzzer_sys::fuzz_target!(|data: &[u8]| entries::recorded_trace(data, &mut |_| ()));
