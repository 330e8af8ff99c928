//! Work for a modelled disk: sources of requests. No clock, no thread and no file is used, as in the disk, and no crate
//! but `seekwise-disk`. Equal inputs give equal requests.
//!
//! | room | what it is | may see |
//! |---|---|---|
//! | [`workload`] | jobs by fio's and Iometer's generators, replays, recorded sessions, traces | nothing |
//! | [`files`] | scenes of programs on files, as block requests: systems, page caches, volumes | nothing |
//! | [`durability`] | losses of files and of programs' operations at a power cut | files |
//!
//! A source returns its next request and is told of each completion ([`seekwise_disk::block::Source`]); an engine joins
//! it to a device ([`seekwise_disk::engine`]).
//!
//! Two reads, the second 2 ms after the first is answered, of a stick that takes 1 ms a command:
//!
//! ```
//! use seekwise_disk::{block::Op, engine::Engine, flash::{Flash, FlashSpec}, time::{Instant, Span}};
//! use seekwise_work::workload::replay::{Replay, ReplayRow, Timing};
//!
//! let (read, write) = (Span::from_millis(1), Span::from_millis(2));
//! let stick = FlashSpec { sectors: 1 << 20, largest: 256, read, write, read_rate: 1 << 40, write_rate: 1 << 40 };
//! let row = ReplayRow { op: Op::Read, lba: 4096, sectors: 8, arrival: Span::ZERO, think: Span::from_millis(2) };
//! let rows = [row, row];
//! let mut engine = Engine::new(Replay::new(&rows, Timing::Think), Flash::new(stick));
//! let mut issued = Vec::new();
//! engine.run(Instant::FAR, &mut |record: &_| issued.push(record.issued)).unwrap();
//! assert_eq!(issued[1].since(issued[0]).nanos() / 1_000_000, 3);
//! ```

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "a test makes what it looks at"))]
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;

pub mod durability;
pub mod files;
pub mod workload;
