//! A run: work and a place in, records and an outcome out. Pure: no clock, no file, no socket; it builds for WebAssembly.
//!
//! | room | what it is |
//! |---|---|
//! | [`receipt`] | how well a modelled disk in real time kept up: figures and their judgement |
//! | [`testbed`] | what a measurement stood on, as data |
//! | [`usage`] | what a run took of the machine, as data |
//! | [`cutoff`] | when a run ends before its source does: after so many requests, or cancelled |
//! | [`outcome`] | what a run leaves beside its records, and why there was none |
//! | [`work`] | what a run does: a job, a scene, a recorded session, a trace |
//! | [`sim`] | a modelled stack in virtual time |
//! | [`handle`] | how a worker opens a real file |
//! | [`place`] | the trait of places in real time, their kinds, and [`place::Target`]: where a run takes place |
//! | [`audit`] | what a flush audit asks of a disk, and when it was answered |
//!
//! Places in real time are in the crate above that knows an operating system; they implement [`place::Place`].

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
