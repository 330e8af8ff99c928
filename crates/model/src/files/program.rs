//! Programs: their calls to the system, and the operations that a user would name. Each is a pure state machine: its
//! next act follows from its figures, its random numbers and the result of its last call.
//!
//! | file | what it is |
//! |---|---|
//! | `set` | sets of files: how many, how large, in which directories |
//! | `lines` | programs of one thread, written as lists of calls |
//! | `copy` | copying or moving files, block by block, by one thread or by a reader and a writer |
//! | `scan` | reading files: a virus scan, a search |
//! | `unpack` | writing files: an archive unpacked, a set created |
//! | `boot` | many small reads that wait for one another, or a prefetched list of them |
//! | `registry` | a hive flushed through its log |
//! | `defragment` | fragmented files moved chunk by chunk |
//! | `document` | a document saved under another name and renamed |
//! | `records` | records posted into tables and indexes, with and without transactions |
//! | `scratch` | an image editor's scratch file |
//! | `playback` | requests to one file, made up from published counts |
//! | `database` | a write-ahead log, group commit, checkpoints |
//!
//! Computing times and block sizes are figures in `programs/*.toml`, with their sources.

mod boot;
mod copy;
mod database;
mod defragment;
mod document;
mod lines;
mod playback;
mod records;
mod registry;
mod scan;
mod scratch;
mod set;
mod unpack;

use alloc::boxed::Box;
use core::fmt;

pub use self::boot::BootSpec;
pub use self::copy::CopySpec;
pub use self::database::DatabaseSpec;
pub use self::defragment::DefragmentSpec;
pub use self::document::DocumentSpec;
pub use self::playback::PlaybackSpec;
pub use self::records::RecordsSpec;
pub use self::registry::RegistrySpec;
pub use self::scan::ScanSpec;
pub use self::scratch::ScratchSpec;
pub use self::set::FileSet;
pub use self::unpack::UnpackSpec;

use super::call::{Call, File, Returned};
use super::system::System;
use super::volume::{Name, ROOT, Refused, Volume};
use crate::rng::{Rng, Seed};
use crate::time::{Instant, Span};

/// The next act of a program's thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Calls, and goes on when the call has returned.
    Call(Call),
    /// Begins an operation. The number tells concurrent operations apart.
    Began(u32),
    /// The operation relies on these bytes of a file (the first, and how many), which another thread wrote for it.
    Relies(u32, File, u64, u64),
    Ended(u32),
    /// Waits until another thread of the program has acted.
    Park,
    Over,
}

/// A running program.
pub trait Program: fmt::Debug {
    /// How many threads it has.
    fn threads(&self) -> u16 {
        1
    }

    /// The act of `thread` at `now`. `returned` is the result of its call if its last act was one; `system` shows how
    /// files lie, for a defragmenter.
    fn next(&mut self, thread: u16, now: Instant, returned: Option<&Returned>, system: &System) -> Act;
}

/// A kind of program, with its figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    Copy(CopySpec),
    Scan(ScanSpec),
    Unpack(UnpackSpec),
    Boot(BootSpec),
    Registry(RegistrySpec),
    Defragment(DefragmentSpec),
    Document(DocumentSpec),
    Records(RecordsSpec),
    Scratch(ScratchSpec),
    Playback(PlaybackSpec),
    Database(DatabaseSpec),
}

/// Where a program is placed: the volumes with their files so far, and its seed.
pub struct Place<'a> {
    pub volumes: &'a mut [Volume],
    /// The program's own.
    pub seed: Seed,
    /// Also places the files that the program will write, to see whether they fit.
    pub trial: bool,
}

impl Place<'_> {
    fn rng(&self, name: &str) -> Rng {
        self.seed.stream(name)
    }

    /// A directory of the program's own.
    fn directory(&mut self, volume: u8) -> Result<File, Refused> {
        let id = self.volumes[usize::from(volume)].place_directory(ROOT, Name::SHORT)?;
        Ok(File { volume, id })
    }

    /// A file from before the run.
    fn file(&mut self, directory: File, bytes: u64) -> Result<File, Refused> {
        let id = self.volumes[usize::from(directory.volume)].place(directory.id, Name::SHORT, bytes)?;
        Ok(File { id, ..directory })
    }

    /// Places what will be written later, if this is a trial.
    fn try_file(&mut self, directory: File, bytes: u64) -> Result<(), Refused> {
        if self.trial {
            self.file(directory, bytes)?;
        }
        Ok(())
    }

    /// The files of a set, each with its length.
    fn set(&mut self, set: &FileSet, volume: u8) -> Result<alloc::vec::Vec<(File, u64)>, Refused> {
        let mut rng = self.rng("sizes");
        set.place(&mut self.volumes[usize::from(volume)], volume, &mut rng)
    }

    /// The directories and lengths of a set that will be written.
    fn targets(&mut self, set: &FileSet, volume: u8) -> Result<alloc::vec::Vec<(File, u64)>, Refused> {
        let mut rng = self.rng("sizes");
        set.targets(&mut self.volumes[usize::from(volume)], volume, &mut rng, self.trial)
    }
}

impl Doing {
    /// Places the files that the program needs on the volumes, and makes it.
    pub fn place(&self, place: &mut Place<'_>) -> Result<Box<dyn Program>, Refused> {
        Ok(match self {
            Doing::Copy(spec) => copy::place(spec, place)?,
            Doing::Scan(spec) => scan::place(spec, place)?,
            Doing::Unpack(spec) => unpack::place(spec, place)?,
            Doing::Boot(spec) => boot::place(spec, place)?,
            Doing::Registry(spec) => registry::place(spec, place)?,
            Doing::Defragment(spec) => defragment::place(spec, place)?,
            Doing::Document(spec) => document::place(spec, place)?,
            Doing::Records(spec) => records::place(spec, place)?,
            Doing::Scratch(spec) => scratch::place(spec, place)?,
            Doing::Playback(spec) => playback::place(spec, place)?,
            Doing::Database(spec) => database::place(spec, place)?,
        })
    }

    /// The set of files that it reads or writes, if it has one.
    pub fn set(&self) -> Option<FileSet> {
        match *self {
            Doing::Copy(CopySpec { set, .. })
            | Doing::Scan(ScanSpec { set, .. })
            | Doing::Unpack(UnpackSpec { set, .. })
            | Doing::Boot(BootSpec { set, .. })
            | Doing::Defragment(DefragmentSpec { set, .. }) => Some(set),
            _ => None,
        }
    }

    /// The volumes that it uses.
    pub fn volumes(&self) -> [u8; 2] {
        match *self {
            Doing::Copy(CopySpec { from, to, .. }) => [from, to],
            Doing::Scan(ScanSpec { volume, .. })
            | Doing::Unpack(UnpackSpec { volume, .. })
            | Doing::Boot(BootSpec { volume, .. })
            | Doing::Registry(RegistrySpec { volume, .. })
            | Doing::Defragment(DefragmentSpec { volume, .. })
            | Doing::Document(DocumentSpec { volume, .. })
            | Doing::Records(RecordsSpec { volume, .. })
            | Doing::Scratch(ScratchSpec { volume, .. })
            | Doing::Playback(PlaybackSpec { volume, .. }) => [volume; 2],
            Doing::Database(DatabaseSpec { volume, log, .. }) => [volume, log],
        }
    }
}

/// A call to compute, if there is anything to compute.
fn compute(span: Span) -> Option<Call> {
    (span > Span::ZERO).then_some(Call::Compute(span))
}

/// A call to compute for `bytes`, at a time per MiB.
fn compute_for(bytes: u64, mebibyte: Span) -> Option<Call> {
    let nanos = (u128::from(mebibyte.nanos()) * u128::from(bytes)) >> 20;
    compute(Span::from_nanos(nanos as u64))
}
