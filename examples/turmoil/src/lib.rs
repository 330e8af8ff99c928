//! How to let a network simulator wait for a modelled disk: a replicated key-value store in [turmoil], each of whose servers writes
//! to a drive of Seekwise's catalogue. A power failure then loses just what a drive with that write cache would have lost.
//!
//! | file | what it is |
//! |---|---|
//! | [`disk`] | the disk that servers await: submit, sleep until its next instant, advance |
//! | [`store`] | the store: a log on a disk, a primary and a follower |
//! | [`outage`] | the experiment: clients write, the power fails, somebody asks what is left |
//!
//! `cargo run -p seekwise-example-turmoil` shows it. How to embed the disk elsewhere: `docs/embed.md`.
//!
//! [turmoil]: https://docs.rs/turmoil

pub mod disk;
pub mod outage;
pub mod store;

/// The examples of the manual's page on embedding are run as they stand there.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embed.md")]
struct Embed;
