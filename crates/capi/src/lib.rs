//! The modelled disk for programs in C. The header is `include/seekwise.h`, made from this source by cbindgen; how to use it is
//! told in `docs/embed.md`, with an example in `examples/disk.c`.
//!
//! There is no clock and no thread, no file is opened, and nothing sleeps: the caller says what time it is.
//!
//! | room | what it is |
//! |---|---|
//! | [`values`] | structures and numbers that pass the boundary |
//! | [`disk`] | a disk that checks every argument before it acts |
//! | [`boundary`] | the functions that C calls: pointers checked, panics caught; the one file with `unsafe` code |

pub mod boundary;
pub mod disk;
pub mod values;
