//! Bytes in, values or a located error out; never a panic.
//!
//! | room | what it reads or writes |
//! |---|---|
//! | [`spelling`] | the known word that a misspelled one means |
//! | [`key_names`] | constants for keys, and functions that take keys apart |
//! | `recent_cache` | a cache of the most recently used values |
//! | [`concern`] | what a difference can be credited to: a fixed list |
//! | [`limits`] | known limits: what is not modelled; where other words of the field lead (`terms`) |
//! | [`diagnostic`] | what is wrong with a file, where, and what to do |
//! | [`figure`] | figures: values with unit, kind and source, by key |
//! | [`profile`] | drive profiles (drives/*.toml) |
//! | [`disksim`] | DiskSim's parameters, converted to a profile |
//! | [`dotted`] | tables of TOML as dotted keys |
//! | [`drives`] | the built-in drives by name |
//! | [`duration`] | durations |
//! | [`metric`] | what a comparison judges |
//! | [`change`] | changes of a running stack, in words |
//! | [`recording`] | recorded sessions of a served disk |
//! | [`trace`] | recorded and measured traces |
//! | [`stack`] | stacks: a drive and what stands above it |
//! | [`expression`] | what a claim checks: figures, cells, conditions |
//! | [`ext4`] | the layout of an ext4 file system: what each block is used for |
//! | [`fio`] | fio job files |
//! | [`fio_json`] | fio's JSON output, written and read |
//! | [`iometer`] | Iometer configurations (.icf) and results.csv |
//! | [`program`] | programs (programs/*.toml): an engine of the model and its figures |
//! | [`scene`] | scenes: programs on volumes |
//! | [`keys`] | all keys of stacks, jobs, drives and studies, and their meaning |
//! | [`recipe`] | recipes of the crash laboratory (recipes/*.toml) |
//! | [`signature`] | what the first and last bytes of a disk say it is used for |
//! | [`study`] | study files (studies/*.toml) |

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "a test makes what it looks at"))]

pub mod change;
pub mod concern;
pub mod diagnostic;
pub mod disksim;
pub mod dotted;
pub mod drives;
pub mod duration;
pub mod expression;
pub mod ext4;
pub mod figure;
pub mod fio;
pub mod fio_json;
pub mod iometer;
pub mod key_names;
pub mod keys;
pub mod limits;
pub mod metric;
pub mod profile;
pub mod program;
mod recent_cache;
pub mod recipe;
pub mod recording;
pub mod scene;
pub mod signature;
pub mod spelling;
pub mod stack;
pub mod study;
pub mod trace;

/// The examples of the manual's page on embedding are run as they stand there.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embed.md")]
struct Embed;
