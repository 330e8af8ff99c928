//! See `entries::fio_job`.
#![no_main]

#[path = "../entries.rs"]
mod entries;

libfuzzer_sys::fuzz_target!(|data: &[u8]| entries::fio_job(data, &mut |_| ()));
