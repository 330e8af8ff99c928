//! The modelled disk for programs in C. `docs/embed.md` explains its use, and `examples/disk.c` is an example. cbindgen makes the header,
//! `include/seekwise.h`, from this source.
//!
//! There is no clock and no thread, no file is opened, and nothing sleeps: the caller passes the time.
//!
//! | room | what it is |
//! |---|---|
//! | [`values`] | structures and numbers that C and Rust exchange |
//! | [`varint`] | numbers and texts as bytes |
//! | [`call_log`] | a disk's calls as bytes, and a digest of its answers |
//! | [`source`] | what a disk is opened from: a drive, a stack, a profile |
//! | [`saved_state`] | a disk's state as bytes |
//! | [`disk`] | a disk that checks every argument before it acts |
//! | [`boundary`] | the functions that C calls: pointers checked, panics caught; the one file with `unsafe` code |

pub mod boundary;
pub mod call_log;
pub mod disk;
pub mod saved_state;
pub mod source;
pub mod values;
pub mod varint;
