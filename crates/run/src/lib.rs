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
