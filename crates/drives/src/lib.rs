//! Drives and stacks of a modelled disk: texts in, profiles and stacks or errors with their positions out; never a panic. The
//! built-in drives are compiled in, each figure with its source.
//!
//! | room | what it is |
//! |---|---|
//! | [`spelling`] | the known word that a misspelled one means |
//! | [`key_names`] | constants for keys, and functions that take keys apart |
//! | [`recent_cache`] | a cache of the most recently used values |
//! | [`concern`] | concerns that a difference can be credited to: a fixed list |
//! | [`limits`] | known limits of the model; where other words of the field lead (`terms`) |
//! | [`diagnostic`] | a fault of a file: its place, the expected form, the nearest word |
//! | [`figure`] | figures: values with unit, kind and source, by key |
//! | [`profile`] | drive profiles (`profiles/*.toml`) |
//! | [`dotted`] | tables of TOML as dotted keys |
//! | [`drives`] | the built-in drives by name |
//! | [`duration`] | durations, as people write them |
//! | [`metric`] | figures that a comparison judges |
//! | [`change`] | changes of a running stack: typed settings and their words |
//! | [`stack`] | stacks: a drive and what stands above it |
//!
//! With the feature `serde`, settings, durations and metrics are read and written by it.
//!
//! ```
//! use seekwise_drives::{drives, stack::StackFile};
//!
//! let drive = drives::load("exos-x18")?.profile()?;
//! assert_eq!(drive.geometry.sectors() * 512 / 1_000_000_000_000, 18);
//!
//! let mut raid = StackFile::named_drive("barracuda-7200.7-ncq");
//! raid.set("array", "raid-5")?;
//! raid.set("array.drives", "4")?;
//! assert_eq!(raid.build(&drives::read)?.stack.drives(), 4);
//!
//! let fault = raid.set("aray.chunk_kib", "64").unwrap_err();
//! assert_eq!(fault[0].nearest.as_deref(), Some("array.chunk_kib"));
//! # Ok::<(), Vec<seekwise_drives::diagnostic::Diagnostic>>(())
//! ```

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "a test makes what it looks at"))]
#![forbid(unsafe_code)]

pub mod change;
pub mod concern;
pub mod diagnostic;
pub mod dotted;
pub mod drives;
pub mod duration;
pub mod figure;
pub mod key_names;
pub mod limits;
pub mod metric;
pub mod profile;
pub mod recent_cache;
pub mod spelling;
pub mod stack;
