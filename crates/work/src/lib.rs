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

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "a test makes what it looks at"))]
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;

pub mod durability;
pub mod files;
pub mod workload;
