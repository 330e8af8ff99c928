//! See `entries::scene`.
#![no_main]

#[path = "../entries.rs"]
mod entries;

libfuzzer_sys::fuzz_target!(|data: &[u8]| entries::scene(data, &mut |_| ()));
