//! A program that writes files: it unpacks an archive, or creates a new set. An operation is a file.

use alloc::boxed::Box;
use alloc::vec::Vec;

use seekwise_disk::time::Span;

use super::action::{Program, compute_call, compute_call_for_bytes};
use super::context::ProgramContext;
use super::file_set::{FileSet, TargetFile};
use super::script::{self, ActionQueue, Script, ScriptContext};
use crate::files::call::{Call, File, OpenMode};
use crate::files::volume::{FileName, SyncScope, VolumeError};

/// The figures of an archive and its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnpackSpec {
    pub volume: u8,
    pub set: FileSet,
    /// The archive's size in per cent of the files' size; 0 for no archive.
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
    files: Vec<TargetFile>,
    /// The index of the file.
    at: usize,
    /// The next byte of the file.
    from: u64,
    /// The creation of the file is begun.
    begun: bool,
    /// The file, once it is created.
    target: Option<File>,
    /// Bytes of the archive that were read.
    read: u64,
    /// Bytes of files that were written.
    written: u64,
}

pub(super) fn create_program(
    spec: &UnpackSpec,
    context: &mut ProgramContext<'_>,
) -> Result<Box<dyn Program>, VolumeError> {
    let bytes = spec.set.bytes * u64::from(spec.packed) / 100;
    let archive = match bytes {
        0 => None,
        bytes => {
            let directory = context.place_directory(spec.volume)?;
            Some(context.place_file(directory, bytes)?)
        }
    };
    let files = context.place_target_directories(&spec.set, spec.volume)?;
    let (at, from, begun, target, read, written) = (0, 0, false, None, 0, 0);
    Ok(script::program_from_script(Unpack { spec: *spec, archive, files, at, from, begun, target, read, written }))
}

impl Unpack {
    /// Adds the reads of the part of the archive that holds the next `file_bytes` bytes of files.
    fn add_archive_reads(&mut self, file_bytes: u64, actions: &mut ActionQueue) {
        let Some(file) = self.archive else { return };
        let wanted = (self.written + file_bytes) * u64::from(self.spec.packed) / 100;
        while self.read < wanted {
            actions.push_call(Call::Read { file, from: self.read, bytes: self.spec.block, handle: self.spec.handle });
            self.read += self.spec.block;
        }
    }
}

impl Script for Unpack {
    fn add_next_actions(&mut self, context: &ScriptContext<'_>, actions: &mut ActionQueue) -> bool {
        let Some(&TargetFile { directory, bytes }) = self.files.get(self.at) else { return false };
        if !self.begun {
            self.begun = true;
            if let (0, Some(archive)) = (self.at, self.archive) {
                actions.push_call(Call::Open(archive));
            }
            actions.push_began(self.at as u32);
            actions.push_calls(compute_call(self.spec.file_time));
            actions.push_call(Call::Create { directory, name: FileName::SHORT });
            return true;
        }
        let target =
            *self.target.get_or_insert_with(|| context.returned.and_then(|it| it.file).expect("it was created"));
        if self.from < bytes {
            let block = self.spec.block.min(bytes - self.from);
            self.add_archive_reads(block, actions);
            actions.push_calls(compute_call_for_bytes(block, self.spec.mebibyte_time));
            actions.push_call(Call::Write { file: target, from: self.from, bytes: block, handle: self.spec.handle });
            self.from += block;
            self.written += block;
        } else {
            actions.push_calls(self.spec.sync.then_some(Call::Sync(target, SyncScope::All)));
            actions.push_call(Call::Close(target));
            actions.push_ended(self.at as u32);
            (self.at, self.from, self.begun, self.target) = (self.at + 1, 0, false, None);
        }
        true
    }
}
