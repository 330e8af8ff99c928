//! Writing files: an archive unpacked, or a new set created. An operation is a file.

use alloc::boxed::Box;
use alloc::vec::Vec;

use seekwise_disk::time::Span;

use super::action::{Program, compute_call, compute_call_for};
use super::context::ProgramContext;
use super::file_set::FileSet;
use super::script::{self, ActionQueue, Script, ScriptContext};
use crate::files::call::{Call, File, OpenMode};
use crate::files::volume::{FileName, SyncScope, VolumeError};

/// The figures of an archive and its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnpackSpec {
    pub volume: u8,
    pub set: FileSet,
    /// The archive's size in per cent of the files' size; 0 for no archive: the files are made up.
    pub packed: u32,
    /// Bytes in a read and in a write.
    pub block: u64,
    /// How the files are opened.
    pub handle: OpenMode,
    /// Makes each file durable before it is closed.
    pub sync: bool,
    /// Computing for each file.
    pub file_time: Span,
    /// Computing for each MiB written.
    pub mebibyte_time: Span,
}

#[derive(Debug)]
struct Unpack {
    spec: UnpackSpec,
    archive: Option<File>,
    /// The directory of each file, and its size.
    files: Vec<(File, u64)>,
    at: usize,
    from: u64,
    begun: bool,
    target: Option<File>,
    /// Bytes of the archive read; bytes of files written.
    read: u64,
    written: u64,
}

pub(super) fn create_program(
    spec: &UnpackSpec,
    place: &mut ProgramContext<'_>,
) -> Result<Box<dyn Program>, VolumeError> {
    let bytes = spec.set.bytes * u64::from(spec.packed) / 100;
    let archive = match bytes {
        0 => None,
        bytes => {
            let directory = place.create_directory(spec.volume)?;
            Some(place.place_file(directory, bytes)?)
        }
    };
    let files = place.set_targets(&spec.set, spec.volume)?;
    let (at, from, begun, target, read, written) = (0, 0, false, None, 0, 0);
    Ok(script::from_script(Unpack { spec: *spec, archive, files, at, from, begun, target, read, written }))
}

impl Unpack {
    /// Reads the part of the archive that holds the next `bytes` of files.
    fn read_archive(&mut self, bytes: u64, acts: &mut ActionQueue) {
        let Some(file) = self.archive else { return };
        let wanted = (self.written + bytes) * u64::from(self.spec.packed) / 100;
        while self.read < wanted {
            acts.push_call(Call::Read { file, from: self.read, bytes: self.spec.block, handle: self.spec.handle });
            self.read += self.spec.block;
        }
    }
}

impl Script for Unpack {
    fn add_actions(&mut self, seen: &ScriptContext<'_>, acts: &mut ActionQueue) -> bool {
        let Some(&(directory, bytes)) = self.files.get(self.at) else { return false };
        if !self.begun {
            self.begun = true;
            if let (0, Some(archive)) = (self.at, self.archive) {
                acts.push_call(Call::Open(archive));
            }
            acts.push_began(self.at as u32);
            acts.push_calls(compute_call(self.spec.file_time));
            acts.push_call(Call::Create { directory, name: FileName::SHORT });
            return true;
        }
        let target = *self.target.get_or_insert_with(|| seen.returned.and_then(|it| it.file).expect("it was created"));
        if self.from < bytes {
            let block = self.spec.block.min(bytes - self.from);
            self.read_archive(block, acts);
            acts.push_calls(compute_call_for(block, self.spec.mebibyte_time));
            acts.push_call(Call::Write { file: target, from: self.from, bytes: block, handle: self.spec.handle });
            self.from += block;
            self.written += block;
        } else {
            acts.push_calls(self.spec.sync.then_some(Call::Sync(target, SyncScope::All)));
            acts.push_call(Call::Close(target));
            acts.push_ended(self.at as u32);
            (self.at, self.from, self.begun, self.target) = (self.at + 1, 0, false, None);
        }
        true
    }
}
