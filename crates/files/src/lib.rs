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
//! | `linux` | the modelled Linux below the layer, by the settings | operation, medium |
//! | `requests` | requests at the device, with the data of writes | medium |
//! | [`layer`] | the file layer: submit, next instant, advance, completions; power cut and recovery | operation, contents, medium, names, history, linux, requests |
//! | [`blocking`] | the layer for tests: each call returns when it is done, in virtual time | operation, layer |
//!
//! The page cache, the write-back and ext4 are those of scenes ([`seekwise_work::files`]); the layer adds bytes and names.
//! `docs/embed.md` has an example and the rules.
//!
//! [`Device`]: seekwise_disk::block::Device
//!
//! A file that is synced, and one that is not, after a power cut:
//!
//! ```
//! use seekwise_disk::{rng::Seed, stack::Stack};
//! use seekwise_files::{blocking::BlockingFiles, layer::Files, operation::Settings};
//!
//! let profile = seekwise_drives::drives::load("barracuda-7200.7-ncq").unwrap().profile().unwrap();
//! let disk = Stack::bare(profile).build(Seed(1));
//! let mut files = BlockingFiles::new(Files::format(disk, Settings::default()).unwrap());
//! let [kept, lost] = ["/kept", "/lost"].map(|path| files.create(path).unwrap());
//! files.write(kept, 0, b"synced").unwrap();
//! files.fsync(kept).unwrap();
//! files.write(lost, 0, b"in memory").unwrap();
//! files.cut_power();
//! let found = files.files().recovered_files();
//! let contents = |path| found.iter().find(|file| file.path == path).map(|file| file.contents.clone());
//! assert_eq!(contents("/kept"), Some(Some(b"synced".to_vec())));
//! assert_ne!(contents("/lost"), Some(Some(b"in memory".to_vec())));
//! ```

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "a test makes what it looks at"))]
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;

pub mod blocking;
mod contents;
mod history;
pub mod layer;
mod linux;
mod medium;
mod names;
pub mod operation;
mod requests;
