//! Reading files: a virus scan, a search, reading a set of files. Each file is opened and its head is read; some are
//! read to the end; the program computes for what it has read. An operation is a file.

use alloc::boxed::Box;
use alloc::vec::Vec;

use seekwise_disk::rng::Rng;
use seekwise_disk::time::Span;

use super::action::{Program, compute_call, compute_call_for};
use super::context::ProgramContext;
use super::file_set::FileSet;
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
    files: Option<Vec<(File, u64)>>,
    at: usize,
    from: u64,
    /// Where reading of this file ends; `None` before it is opened.
    until: Option<u64>,
    rng: Rng,
}

pub(super) fn create_program(spec: &ScanSpec, place: &mut ProgramContext<'_>) -> Result<Box<dyn Program>, VolumeError> {
    let files = match spec.set.files {
        0 => None,
        _ => Some(place.place_set(&spec.set, spec.volume)?),
    };
    Ok(script::from_script(Scan { spec: *spec, files, at: 0, from: 0, until: None, rng: place.named_rng("scan") }))
}

/// The files on a volume, each with its length.
fn files_on(volume: &Volume, index: u8) -> Vec<(File, u64)> {
    let files = volume.files().filter(|&id| !volume.is_directory(id));
    files.map(|id| (File { volume: index, id }, volume.file_bytes(id))).collect()
}

impl Script for Scan {
    fn add_actions(&mut self, seen: &ScriptContext<'_>, acts: &mut ActionQueue) -> bool {
        let volume = seen.system.volume(self.spec.volume);
        let files = self.files.get_or_insert_with(|| files_on(volume, self.spec.volume));
        let Some(&(file, bytes)) = files.get(self.at) else { return false };
        let there = volume.has_file(file.id);
        let Some(until) = self.until else {
            if !there {
                // Another program has deleted it since.
                self.at += 1;
                return true;
            }
            acts.push_began(self.at as u32);
            acts.push_call(Call::Open(file));
            acts.push_calls(compute_call(self.spec.file_time));
            let whole = self.rng.draw_chance(self.spec.whole);
            self.until = Some(if whole { bytes } else { bytes.min(self.spec.head) });
            return true;
        };
        if self.from < until && there {
            let block = self.spec.block.min(until - self.from);
            acts.push_call(Call::Read { file, from: self.from, bytes: block, handle: self.spec.handle });
            acts.push_calls(compute_call_for(block, self.spec.mebibyte_time));
            self.from += block;
        } else {
            acts.push_ended(self.at as u32);
            (self.at, self.from, self.until) = (self.at + 1, 0, None);
        }
        true
    }
}
