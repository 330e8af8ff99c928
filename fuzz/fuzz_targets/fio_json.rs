//! See `entries::fio_json`.
#![no_main]

#[path = "../entries.rs"]
mod entries;

libfuzzer_sys::fuzz_target!(|data: &[u8]| entries::fio_json(data, &mut |_| ()));
