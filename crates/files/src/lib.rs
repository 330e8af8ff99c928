//! Files on a modelled disk, for deterministic simulators: open, read, write, fsync, rename and remove over any
//! [`Device`], through a page cache with write-back and the journal of ext4, and the contents of each file after a power
//! cut. No clock, no thread; equal calls give equal answers.
//!
//! | room | what it is | may see |
//! |---|---|---|
//! | [`operation`] | the vocabulary: operations, answers, errors, settings | nothing |
//! | `contents` | bytes of files as programs see them | operation |
//! | `medium` | bytes on the medium, by landings | operation |
//! | `names` | directories and names as programs see them | operation |
//! | `history` | metadata as the journal has committed them | nothing |
//! | `requests` | requests at the device, with the data of writes | medium |
//! | [`layer`] | the file layer: submit, next instant, advance, completions; power cut and recovery | operation, contents, medium, names, history, requests |
//! | [`blocking`] | the layer for tests: each call returns when it is done, in virtual time | operation, layer |
//!
//! The page cache, the write-back and ext4 are those of scenes ([`seekwise_work::files`]); the layer adds bytes and names.
//! `docs/embed.md` has an example and the rules.
//!
//! [`Device`]: seekwise_disk::block::Device

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "a test makes what it looks at"))]
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;

pub mod blocking;
mod contents;
mod history;
pub mod layer;
mod medium;
mod names;
pub mod operation;
mod requests;
