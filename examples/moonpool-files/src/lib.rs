//! Files of [moonpool]'s simulations on modelled disks. moonpool-sim 0.8.0 draws a latency for each operation of its own storage;
//! [`Storage`] implements its `StorageProvider` and answers when the modelled disk does.
//!
//! | file | what it is |
//! |---|---|
//! | [`storage`] | a disk with its files, and the power of it |
//! | [`mod@file`] | an open file |
//! | [`world`] | moonpool's world and its bundle of providers, with disks |
//!
//! It does not model moonpool's faults of storage: its settings of them change nothing here. `docs/embed.md` tells how to use it.
//!
//! [moonpool]: https://docs.rs/moonpool-sim

pub mod file;
pub mod storage;
pub mod world;

pub use file::File;
pub use storage::Storage;
pub use world::{DiskProviders, DiskWorld};
