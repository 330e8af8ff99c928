//! See `entries::results_csv`.
#![no_main]

#[path = "../entries.rs"]
mod entries;

libfuzzer_sys::fuzz_target!(|data: &[u8]| entries::results_csv(data, &mut |_| ()));
