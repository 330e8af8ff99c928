//! The hard-disk stack as a pure model: no clock, no thread, no file, no dependency. Same input, same output.
//!
//! | room | what it is |
//! |---|---|
//! | [`time`] | instants and spans in integer nanoseconds |
//! | [`rng`] | one seed, named streams |
//! | [`block`] | the vocabulary, and the [`block::Device`] contract at which all rooms meet |
//! | [`parts`] | the parts of a response |
//! | [`record`] | what happened to one request: the account of its parts, what a run keeps |
//! | [`engine`] | joins a source to a device, in whatever time the caller has |
//! | [`queue`] | who is next: one queue for host and drive |
//! | [`recency`] | which of a number of things was used longest ago |
//! | [`slab`] | a list whose places are used again |
//! | [`host`] | layers above the drive: processor, accelerator, driver, array, controller |
//! | [`drive`] | the drive: geometry, mechanics, cache, firmware |
//! | [`flash`] | a flash stick of flat times |
//! | [`files`] | what programs do with files, as block requests: volumes |
//! | [`stack`] | a drive and the layers above it in order: the one description, and the one builder |
//! | `testing` (a feature) | small drives, random stacks, the image a checker sees, and the conformance suite of the contract |
//! | [`workload`] | who issues requests: fio's and Iometer's generators, scripts |

#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;

pub mod block;
pub mod drive;
pub mod engine;
pub mod files;
pub mod flash;
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
pub mod workload;
