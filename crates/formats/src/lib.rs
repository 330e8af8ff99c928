//! Other people's bytes, and our own texts about work: in, and values or a located error out; never a panic. Drives and stacks are
//! read by `seekwise-drives`.
//!
//! | room | what it reads or writes |
//! |---|---|
//! | [`disksim`] | DiskSim's parameters, converted to a profile |
//! | [`recording`] | recorded sessions of a served disk |
//! | [`trace`] | recorded and measured traces |
//! | [`expression`] | conditions of claims: figures, cells, comparisons |
//! | [`excerpt`] | short excerpts of foreign data as text, and where two pieces differ |
//! | [`ext4`] | the layout of an ext4 file system: the purpose of each block |
//! | [`fio`] | fio job files |
//! | [`fio_json`] | fio's JSON output, written and read |
//! | [`iometer`] | Iometer configurations (.icf) and results.csv |
//! | [`program`] | programs (`programs/*.toml`): an engine of the model and its figures |
//! | [`scene`] | scenes: programs on volumes |
//! | [`keys`] | all keys of stacks, jobs, scenes, drives and studies, and their meaning |
//! | [`recipe`] | recipes of the crash laboratory (`recipes/*.toml`) |
//! | [`signature`] | the use of a disk, by its first and last bytes |
//! | [`study`] | studies as values, read and printed; reviews of several |
//!
//! A fio job, laid out on a drive of 1 GiB; and one that says where it is wrong:
//!
//! ```
//! use seekwise_formats::fio::{FioContext, parse};
//!
//! let text = "[log]\nfilename=/dev/sdx\nioengine=libaio\ndirect=1\nrw=randread\nbs=4k\niodepth=8\n";
//! let (job, warnings) = parse("log.fio", text, &FioContext::bare())?.job(1 << 21)?;
//! assert_eq!((job.workers[0].depth, warnings.len()), (8, 0));
//!
//! let fault = &parse("log.fio", "[log]\niodepht=8\n", &FioContext::bare()).unwrap_err()[0];
//! assert_eq!((fault.line, fault.nearest.as_deref()), (2, Some("iodepth")));
//! # Ok::<(), Vec<seekwise_drives::diagnostic::Diagnostic>>(())
//! ```

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "a test makes what it looks at"))]

pub mod disksim;
pub mod excerpt;
pub mod expression;
pub mod ext4;
pub mod fio;
pub mod fio_json;
pub mod iometer;
pub mod keys;
pub mod program;
pub mod recipe;
pub mod recording;
pub mod scene;
pub mod signature;
pub mod study;
pub mod trace;
