//! Bytes in, values or a located error out; never a panic.
//!
//! | room | what it reads or writes |
//! |---|---|
//! | [`concern`] | what a difference can be credited to: a fixed list |
//! | [`diagnostic`] | what is wrong with a file, where, and what to do |
//! | [`disksim`] | DiskSim's parameters, converted to a profile |
//! | [`dotted`] | tables of TOML as dotted keys |
//! | [`drives`] | the built-in drives by name |
//! | [`duration`] | durations |
//! | [`ext4`] | the layout of an ext4 file system: what each block is used for |
//! | [`expression`] | what a claim checks: figures, cells, conditions |
//! | [`figure`] | figures: values with unit, kind and source, by key |
//! | [`spelling`] | the known word that a misspelled one means |
//! | [`fio`] | fio job files |
//! | [`fio_json`] | fio's JSON output, written and read |
//! | [`iometer`] | Iometer configurations (.icf) and results.csv |
//! | `kept` | the last things that were made in a process, each with what it was made from |
//! | [`keys`] | all keys of stacks, jobs, drives and studies, and their meaning |
//! | [`limits`] | known limits: what is not modelled; where other words of the field lead (`terms`) |
//! | [`metric`] | what a comparison judges |
//! | [`profile`] | drive profiles (drives/*.toml) |
//! | [`program`] | programs (programs/*.toml): an engine of the model and its figures |
//! | [`recipe`] | recipes of the crash laboratory (recipes/*.toml) |
//! | [`recording`] | recorded sessions of a served disk |
//! | [`scene`] | scenes: programs on volumes |
//! | [`signature`] | what the first and last bytes of a disk say it is used for |
//! | [`stack`] | stacks: a drive and what stands above it |
//! | [`study`] | study files (studies/*.toml) |
//! | [`trace`] | recorded and measured traces |

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "a test makes what it looks at"))]

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
mod kept;
pub mod keys;
pub mod limits;
pub mod metric;
pub mod profile;
pub mod program;
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
