//! A run: work and a place in, records and an outcome out. The crate is pure: no clock, no file, no socket; it builds
//! for WebAssembly.
//!
//! | room | what it is |
//! |---|---|
//! | [`audit`] | the measurements of a flush audit |
//! | [`handle`] | how a worker opens a real file |
//! | [`receipt`] | how well a modelled disk in real time kept up: figures and their judgement |
//! | [`testbed`] | the test environment of a measurement, as data |
//! | [`usage`] | the use of the machine by a run, as data |
//! | [`cutoff`] | ends a run before its source does: after a number of requests, or cancelled |
//! | [`outcome`] | the outcome of a run besides its records, or why there was none |
//! | [`sim`] | a modelled stack in virtual time |
//! | [`work`] | the work of a run: a job, a job above a page cache, a scene, a recorded session, a trace |
//! | [`place`] | the trait of places in real time, their kinds, and [`place::Target`]: where a run takes place |
//!
//! Places in real time are in `crates/os`; they implement [`place::Place`].
//!
//! Eight reads of a fio job on a drive, each with its response time:
//!
//! ```
//! use seekwise_disk::{rng::Seed, stack::Stack};
//! use seekwise_formats::fio::{FioContext, parse};
//! use seekwise_run::{cutoff::RunCutoff, sim, work::Work};
//!
//! let profile = seekwise_drives::drives::load("exos-x18")?.profile()?;
//! let text = "[log]\nfilename=/dev/sdx\nioengine=libaio\ndirect=1\nrw=randread\nbs=4k\nnumber_ios=8\n";
//! let (job, _) = parse("log.fio", text, &FioContext::bare())?.job(profile.geometry.sectors())?;
//! let (stack, work, mut responses) = (Stack::bare(profile), Work::from(job), Vec::new());
//! let mut note = |record: &seekwise_disk::record::Record| responses.push(record.completion.parts.total());
//! let outcome = sim::run_source(&stack, work.make_source(Seed(1)), RunCutoff::NEVER, Seed(1), &mut note).unwrap();
//! assert_eq!((outcome.figures.issued, responses.len()), (8, 8));
//! # Ok::<(), Vec<seekwise_drives::diagnostic::Diagnostic>>(())
//! ```

pub mod audit;
pub mod cutoff;
pub mod handle;
pub mod outcome;
pub mod place;
pub mod receipt;
pub mod sim;
pub mod testbed;
pub mod usage;
pub mod work;
