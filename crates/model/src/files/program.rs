//! Programs: their calls to the system, and the operations that a user would name. Each is a pure state machine: its
//! next act follows from its figures, its random numbers and the result of its last call.
//!
//! | file | what it is |
//! |---|---|
//! | `act`, `place` | what a program is, what it does next, and where it is made |
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

mod act;
mod boot;
mod copy;
mod database;
mod defragment;
mod document;
mod lines;
mod place;
mod playback;
mod records;
mod registry;
mod scan;
mod scratch;
mod set;
mod unpack;

use alloc::boxed::Box;

pub use self::act::{Act, Program};
pub use self::boot::BootSpec;
pub use self::copy::CopySpec;
pub use self::database::DatabaseSpec;
pub use self::defragment::DefragmentSpec;
pub use self::document::DocumentSpec;
pub use self::place::Place;
pub use self::playback::PlaybackSpec;
pub use self::records::RecordsSpec;
pub use self::registry::RegistrySpec;
pub use self::scan::ScanSpec;
pub use self::scratch::ScratchSpec;
pub use self::set::FileSet;
pub use self::unpack::UnpackSpec;

use super::volume::Refused;

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
