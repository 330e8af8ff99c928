//! A replicated key-value store in the network simulator [turmoil]; each of its servers writes to a modelled drive of
//! Seekwise's catalogue. A power failure loses exactly the writes that a drive with that write cache would have lost.
//!
//! | file | what it is |
//! |---|---|
//! | [`disk`] | the disk that servers await: submit, sleep until its next instant, advance it |
//! | [`store`] | the store: a log on a disk, a primary and a follower |
//! | [`outage`] | the experiment: clients write, the power fails, an auditor asks which writes are left |
//!
//! `cargo run -p seekwise-example-turmoil` prints the result. `docs/embed.md` tells how to embed the disk elsewhere.
//!
//! [turmoil]: https://docs.rs/turmoil

pub mod disk;
pub mod outage;
pub mod store;

/// Runs the examples of the manual's page on embedding.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embed.md")]
struct Embed;
