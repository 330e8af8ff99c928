//! See `entries::recipe`.
#![no_main]

#[path = "../entries.rs"]
mod entries;

libfuzzer_sys::fuzz_target!(|data: &[u8]| entries::recipe(data, &mut |_| ()));
