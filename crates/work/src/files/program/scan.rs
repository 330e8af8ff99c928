//! A program that reads files: a virus scan, a search. The program opens each file, reads its head, reads some files to
//! the end, and computes for the bytes that it has read. An operation is a file.

use alloc::boxed::Box;
use alloc::vec::Vec;

use seekwise_disk::rng::Rng;
use seekwise_disk::time::Span;

use super::action::{Program, compute_call, compute_call_for_bytes};
use super::context::ProgramContext;
use super::file_set::{FileSet, SizedFile};
use super::script::{self, ActionQueue, Script, ScriptContext};
use crate::files::call::{Call, File, OpenMode};
use crate::files::volume::{Volume, VolumeError};

/// The figures of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanSpec {
    pub volume: u8,
    /// Files of its own; without any, the files that are on the volume when it begins.
    pub set: FileSet,
    /// Bytes in a read.
    pub block: u64,
    /// Bytes read of every file.
    pub head: u64,
    /// The percentage of files that are read to the end.
    pub whole: u32,
    /// How the files are opened.
    pub handle: OpenMode,
    /// Computing for each file.
    pub file_time: Span,
    /// Computing for each MiB read.
    pub mebibyte_time: Span,
}

#[derive(Debug)]
struct Scan {
    spec: ScanSpec,
    /// The files to read; `None` before it has looked at the volume.
    files: Option<Vec<SizedFile>>,
    /// The index of the file.
    at: usize,
    /// The next byte of the file.
    from: u64,
    /// The byte at which reading of the file ends; `None` before it is opened.
    until: Option<u64>,
    rng: Rng,
}

pub(super) fn create_program(
    spec: &ScanSpec,
    context: &mut ProgramContext<'_>,
) -> Result<Box<dyn Program>, VolumeError> {
    let files = match spec.set.files {
        0 => None,
        _ => Some(context.place_file_set(&spec.set, spec.volume)?),
    };
    Ok(script::program_from_script(Scan {
        spec: *spec,
        files,
        at: 0,
        from: 0,
        until: None,
        rng: context.named_rng("scan"),
    }))
}

/// The files on a volume, each with its length.
fn files_on(volume: &Volume, volume_index: u8) -> Vec<SizedFile> {
    let files = volume.files().filter(|&id| !volume.is_directory(id));
    files.map(|id| SizedFile { file: File { volume: volume_index, id }, bytes: volume.file_bytes(id) }).collect()
}

impl Script for Scan {
    fn add_next_actions(&mut self, context: &ScriptContext<'_>, actions: &mut ActionQueue) -> bool {
        let volume = context.system.volume(self.spec.volume);
        let files = self.files.get_or_insert_with(|| files_on(volume, self.spec.volume));
        let Some(&SizedFile { file, bytes }) = files.get(self.at) else { return false };
        let exists = volume.has_file(file.id);
        let Some(until) = self.until else {
            if !exists {
                // Another program has deleted it meanwhile.
                self.at += 1;
                return true;
            }
            actions.push_began(self.at as u32);
            actions.push_call(Call::Open(file));
            actions.push_calls(compute_call(self.spec.file_time));
            let whole = self.rng.draw_chance(self.spec.whole);
            self.until = Some(if whole { bytes } else { bytes.min(self.spec.head) });
            return true;
        };
        if self.from < until && exists {
            let block = self.spec.block.min(until - self.from);
            actions.push_call(Call::Read { file, from: self.from, bytes: block, handle: self.spec.handle });
            actions.push_calls(compute_call_for_bytes(block, self.spec.mebibyte_time));
            self.from += block;
        } else {
            actions.push_ended(self.at as u32);
            (self.at, self.from, self.until) = (self.at + 1, 0, None);
        }
        true
    }
}
