//! See `nbd::client`.
#![no_main]

#[path = "../nbd.rs"]
mod nbd;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    nbd::client(data);
});
