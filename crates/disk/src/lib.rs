//! The hard-disk stack as a pure model: no clock, no thread, no file, no dependency. Equal inputs give equal outputs.
//!
//! | room | what it is | may see |
//! |---|---|---|
//! | [`time`] | instants and spans in integer nanoseconds | nothing |
//! | [`rng`] | random numbers: one seed, named streams | time |
//! | [`block`] | the block vocabulary, and the [`block::Device`] contract at which all rooms meet | time, parts |
//! | [`parts`] | the parts of a response time in one table; work for a processor; counts of a drive | time |
//! | [`record`] | what happened to a request: the account of its parts, and what a run keeps | time, block, parts |
//! | [`queue`] | the request queue of hosts and drives, and its scheduling policies | time, block |
//! | [`recency`] | an LRU list | nothing |
//! | [`slab`] | a slab allocator | nothing |
//! | [`engine`] | joins a source to a device, in virtual or real time | time, block, record |
//! | [`drive`] | the drive: geometry, mechanics, cache, firmware | time, rng, block, record, queue, recency |
//! | [`host`] | layers above the drive: processor, accelerator, driver, array, cables, controller | time, rng, block, record, queue, recency, slab |
//! | [`flash`] | a USB flash stick with constant access times | time, block, record |
//! | [`stack`] | a drive and the layers above it in order: their description and their builder | time, rng, block, queue, drive, flash, host |
//! | [`witness`] | sees what passes between a source and its device: requests, completions, landings | time, block, record |
//! | [`history`] | all that passed a disk at work, with the data of its writes | time, block, witness |
//! | [`durability`] | what a power cut leaves: judges of acknowledgements and landings | time, block, witness, history, host, stack |
//! | `testing` (a feature) | small drives, random stacks, the image a checker sees, and the conformance suite of the contract | all |
//!
//! # How to use it
//!
//! A device takes requests, says when to call it next, and answers; whoever calls it has the clock ([`block`] has the rules). Drives
//! by name, and stacks by their text, are the business of `seekwise-drives`; `docs/embed.md` tells how both go together. A
//! drive may also be made of values, without any other crate:
//!
//! ```
//! use seekwise_disk::block::{Device, Op, Request};
//! use seekwise_disk::drive::geometry::{Geometry, Skews, TrackOrder, Zone};
//! use seekwise_disk::drive::mechanics::{Mechanics, SeekCurve};
//! use seekwise_disk::drive::profile::{Link, Profile};
//! use seekwise_disk::record::Part;
//! use seekwise_disk::rng::Seed;
//! use seekwise_disk::stack::Stack;
//! use seekwise_disk::time::{Instant, Span};
//!
//! // Two surfaces of 1000 cylinders with 100 sectors a track, 7,200 revolutions a minute, no buffer, one command at a time.
//! let zones = Zone::lay(0, 1000, TrackOrder::Cylinder, &[100, 100], Skews { head: 0, cylinder: 0 });
//! let seeks = SeekCurve::three_point(Span::from_millis(1), Span::from_millis(8), Span::from_millis(16), 1000).unwrap();
//! let geometry = Geometry::new(200_000, &zones, &[], &[]).unwrap();
//! let mechanics = Mechanics::new(seeks, Span::from_millis(1), Span::ZERO, 7_200_000).unwrap();
//! // A profile grows with the model: what differs from the simplest drive is assigned, such as `profile.firmware.depth`.
//! let profile = Profile::new("example", geometry, mechanics, Link::new(150_000_000));
//! profile.check().expect("a profile that fits together");
//!
//! let mut disk = Stack::bare(profile).build(Seed(1));
//! let read = Request { tag: 7, op: Op::Read, lba: 150_000, sectors: 8, stamp: 1, ..Request::NONE };
//! disk.submit(Instant::ZERO, read).expect("it has room for one");
//! let answer = loop {
//!     if let Some(answer) = disk.poll_completion() {
//!         break answer;
//!     }
//!     let next = disk.poll_timeout().expect("something is under way");
//!     disk.handle_timeout(next);
//! };
//!
//! // Eight of a hundred sectors pass in 8/100 of the 8.33 ms that a revolution takes.
//! assert_eq!(answer.parts.get(Part::Transfer).nanos() / 1000, 666);
//! assert!(answer.parts.get(Part::Seek) > Span::from_millis(8) && answer.parts.get(Part::Rotation) < Span::from_millis(9));
//! assert_eq!(answer.parts.total(), answer.finished.since(answer.submitted));
//! ```

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "a test makes what it looks at"))]
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;

pub mod block;
pub mod drive;
pub mod durability;
pub mod engine;
pub mod flash;
pub mod history;
pub mod host;
pub mod parts;
pub mod queue;
pub mod recency;
pub mod record;
pub mod rng;
pub mod slab;
pub mod stack;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod time;
pub mod witness;
