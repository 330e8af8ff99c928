//! Bytes in, values or a located error out; never a panic.
//!
//! | room | what it reads or writes |
//! |---|---|
//! | [`concern`] | what a difference may be credited to: a fixed list |
//! | [`diagnostic`] | what is wrong with a file, where, and what to do |
//! | [`expression`] | what a claim checks: figures, cells, conditions |
//! | [`fio`] | fio job files |
//! | [`fio_json`] | fio's JSON output, written and read |
//! | [`iometer`] | Iometer configurations (.icf) and results.csv |
//! | [`keys`] | all keys of stacks, jobs, drives and studies, and what each says |
//! | [`profile`] | drive profiles (drives/*.toml) |
//! | [`stack`] | stacks: a drive and what stands above it |
//! | [`study`] | study files (studies/*.toml) |

pub mod concern;
pub mod diagnostic;
pub mod disksim;
pub mod expression;
pub mod fio;
pub mod fio_json;
pub mod iometer;
pub mod keys;
pub mod profile;
pub mod stack;
pub mod study;
pub mod trace;
