//! The hard-disk stack as a pure model: no clock, no thread, no file, no dependency. The same input gives the same
//! output.
//!
//! | room | what it is |
//! |---|---|
//! | [`time`] | instants and spans in integer nanoseconds |
//! | [`rng`] | random numbers: one seed, named streams |
//! | [`block`] | the block vocabulary, and the [`block::Device`] contract at which all rooms meet |
//! | [`record`] | what happened to a request: the parts of its response time |
//! | [`engine`] | joins a source to a device, in virtual or real time |
//! | [`queue`] | the request queue of hosts and drives, and its scheduling policies |
//! | [`recency`] | an LRU list |
//! | [`slab`] | a slab allocator |
//! | [`host`] | layers above the drive: processor, accelerator, driver, array, controller |
//! | [`drive`] | the drive: geometry, mechanics, cache, firmware |
//! | [`flash`] | a USB flash stick with constant access times |
//! | [`files`] | what programs do with files, as block requests: volumes |
//! | [`stack`] | a drive and the layers above it in order: their description and their builder |
//! | `testing` (a feature) | small drives, random stacks, the image a checker sees, and the conformance suite of the contract |
//! | [`witness`] | sees what passes between a source and its device: requests, completions, landings |
//! | [`durability`] | what a power cut leaves: judges of acknowledgements and landings |
//! | [`history`] | all that passed a disk at work, with the data of its writes |
//! | [`workload`] | sources of requests: fio's and Iometer's generators, scripts |

#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;

pub mod block;
pub mod drive;
pub mod durability;
pub mod engine;
pub mod files;
pub mod flash;
pub mod history;
pub mod host;
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
pub mod workload;
