//! Programs: their calls to the system, and their *operations*, which a user would name, such as saving a document.
//! Each program is a pure state machine: its next action follows from its figures, its random numbers and the result of
//! its last call.
//!
//! | file | what it is |
//! |---|---|
//! | `action`, `context` | the interface of a running program, and the context of its creation |
//! | `file_set` | sets of files: how many, how large, in which directories |
//! | `script` | programs of one thread, written as lists of calls |
//! | `copy` | copying or moving files, block by block, by one thread or by a reader and a writer |
//! | `scan` | reading files: a virus scan, a search |
//! | `unpack` | writing files: an archive unpacked, a set created |
//! | `boot` | many small reads that wait for one another, or a prefetched list of them |
//! | `registry` | a hive flushed through its log |
//! | `defragment` | fragmented files moved chunk by chunk |
//! | `document` | a document saved under another name and renamed |
//! | `records` | records posted into tables and indexes, with and without transactions |
//! | `scratch` | an image editor's scratch file |
//! | `playback` | requests to one file, drawn by published counts |
//! | `database` | a write-ahead log, group commit, checkpoints |
//!
//! Computing times and block sizes are figures in `crates/formats/programs`, with their sources.

mod action;
mod boot;
mod context;
mod copy;
mod database;
mod defragment;
mod document;
mod file_set;
mod playback;
mod records;
mod registry;
mod scan;
mod scratch;
mod script;
mod unpack;

use alloc::boxed::Box;

pub use self::action::{Program, ProgramAction};
pub use self::boot::BootSpec;
pub use self::context::ProgramContext;
pub use self::copy::CopySpec;
pub use self::database::DatabaseSpec;
pub use self::defragment::DefragmentSpec;
pub use self::document::DocumentSpec;
pub use self::file_set::FileSet;
pub use self::playback::PlaybackSpec;
pub use self::records::RecordsSpec;
pub use self::registry::RegistrySpec;
pub use self::scan::ScanSpec;
pub use self::scratch::ScratchSpec;
pub use self::unpack::UnpackSpec;

use super::volume::VolumeError;

/// A kind of program, with its figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramSpec {
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

impl ProgramSpec {
    /// Places the files that the program uses on the volumes, and creates the program.
    pub(crate) fn create_program(&self, context: &mut ProgramContext<'_>) -> Result<Box<dyn Program>, VolumeError> {
        Ok(match self {
            ProgramSpec::Copy(spec) => copy::create_program(spec, context)?,
            ProgramSpec::Scan(spec) => scan::create_program(spec, context)?,
            ProgramSpec::Unpack(spec) => unpack::create_program(spec, context)?,
            ProgramSpec::Boot(spec) => boot::create_program(spec, context)?,
            ProgramSpec::Registry(spec) => registry::create_program(spec, context)?,
            ProgramSpec::Defragment(spec) => defragment::create_program(spec, context)?,
            ProgramSpec::Document(spec) => document::create_program(spec, context)?,
            ProgramSpec::Records(spec) => records::create_program(spec, context)?,
            ProgramSpec::Scratch(spec) => scratch::create_program(spec, context)?,
            ProgramSpec::Playback(spec) => playback::create_program(spec, context)?,
            ProgramSpec::Database(spec) => database::create_program(spec, context)?,
        })
    }

    /// The set of files that the program reads or writes, if it has one.
    pub fn file_set(&self) -> Option<FileSet> {
        match *self {
            ProgramSpec::Copy(CopySpec { set, .. })
            | ProgramSpec::Scan(ScanSpec { set, .. })
            | ProgramSpec::Unpack(UnpackSpec { set, .. })
            | ProgramSpec::Boot(BootSpec { set, .. })
            | ProgramSpec::Defragment(DefragmentSpec { set, .. }) => Some(set),
            _ => None,
        }
    }

    /// The volumes that the program uses; twice the same for a program on one volume.
    pub fn volumes(&self) -> [u8; 2] {
        match *self {
            ProgramSpec::Copy(CopySpec { from, to, .. }) => [from, to],
            ProgramSpec::Scan(ScanSpec { volume, .. })
            | ProgramSpec::Unpack(UnpackSpec { volume, .. })
            | ProgramSpec::Boot(BootSpec { volume, .. })
            | ProgramSpec::Registry(RegistrySpec { volume, .. })
            | ProgramSpec::Defragment(DefragmentSpec { volume, .. })
            | ProgramSpec::Document(DocumentSpec { volume, .. })
            | ProgramSpec::Records(RecordsSpec { volume, .. })
            | ProgramSpec::Scratch(ScratchSpec { volume, .. })
            | ProgramSpec::Playback(PlaybackSpec { volume, .. }) => [volume; 2],
            ProgramSpec::Database(DatabaseSpec { volume, log, .. }) => [volume, log],
        }
    }
}
