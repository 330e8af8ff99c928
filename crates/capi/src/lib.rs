//! The modelled disk for programs in C. `docs/embed.md` explains its use, and `examples/disk.c` is an example. cbindgen makes the header,
//! `include/seekwise.h`, from this source.
//!
//! There is no clock and no thread, no file is opened, and nothing sleeps: the caller passes the time.
//!
//! | room | what it is |
//! |---|---|
//! | [`values`] | structures and numbers that C and Rust exchange |
//! | [`disk`] | a disk that checks every argument before it acts |
//! | [`boundary`] | the functions that C calls: pointers checked, panics caught; the one file with `unsafe` code |

pub mod boundary;
pub mod disk;
pub mod values;
