//! Files of [turmoil]'s hosts on modelled disks. turmoil's own file system (its feature `unstable-fs`, 0.7.2) draws a latency
//! for each operation and takes no other source of latencies; [`fs`] has the interface of its `fs::shim::tokio::fs`, [`blocking`] that
//! of its `fs::shim::std::fs`. Both answer when the modelled disk does.
//!
//! | file | what it is |
//! |---|---|
//! | [`disks`] | the disks of hosts: attach, crash, bounce |
//! | [`fs`] | the functions of turmoil's `fs::shim::tokio::fs` |
//! | [`mod@file`] | its `File` and `OpenOptions` |
//! | [`blocking`] | the functions, `File` and `OpenOptions` of its `fs::shim::std::fs` |
//! | [`cascade`] | a service whose retries overload its disk |
//!
//! `cargo run --release -p seekwise-example-turmoil-files` runs the service. `docs/embed.md` tells how to use it.
//!
//! [turmoil]: https://docs.rs/turmoil

pub mod blocking;
pub mod cascade;
pub mod disks;
pub mod file;
pub mod fs;
