//! A defragmenter: it moves each fragmented file, chunk by chunk, to a free run that holds all of it. An operation is a
//! file.

use alloc::boxed::Box;
use alloc::vec::Vec;

use seekwise_disk::time::Span;

use super::action::{Program, compute_call};
use super::context::ProgramContext;
use super::file_set::FileSet;
use super::script::{self, ActionQueue, Script, ScriptContext};
use crate::files::call::{Call, File};
use crate::files::volume::{MOVE_CHUNK, Volume, VolumeError};

/// The figures of a defragmenter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefragmentSpec {
    pub volume: u8,
    /// Files of its own, besides those that are already on the volume.
    pub set: FileSet,
    /// Computing for each file.
    pub file_time: Span,
    /// Computing for each chunk.
    pub chunk_time: Span,
}

#[derive(Clone, Copy, Debug)]
struct FileMove {
    /// The next byte of the file.
    from: u64,
    /// The first cluster of the free run.
    target: u64,
}

#[derive(Debug)]
struct Defragment {
    spec: DefragmentSpec,
    /// The fragmented files; `None` before it has looked at the volume.
    files: Option<Vec<File>>,
    /// The index of the file.
    at: usize,
    /// The move of the file, once it is begun.
    moving: Option<FileMove>,
}

pub(super) fn create_program(
    spec: &DefragmentSpec,
    context: &mut ProgramContext<'_>,
) -> Result<Box<dyn Program>, VolumeError> {
    if spec.set.files > 0 {
        context.place_file_set(&spec.set, spec.volume)?;
    }
    Ok(script::program_from_script(Defragment { spec: *spec, files: None, at: 0, moving: None }))
}

/// The fragmented files of a volume.
fn fragmented_files(volume: &Volume, volume_index: u8) -> Vec<File> {
    let files = volume.files().filter(|&id| !volume.is_directory(id) && volume.file_runs(id).len() > 1);
    files.map(|id| File { volume: volume_index, id }).collect()
}

impl Script for Defragment {
    fn add_next_actions(&mut self, context: &ScriptContext<'_>, actions: &mut ActionQueue) -> bool {
        let volume = context.system.volume(self.spec.volume);
        let files = self.files.get_or_insert_with(|| fragmented_files(volume, self.spec.volume));
        let Some(&file) = files.get(self.at) else { return false };
        // Another program may have deleted the file since.
        let bytes = if volume.has_file(file.id) { volume.file_bytes(file.id) } else { 0 };
        let Some(FileMove { from, target }) = self.moving else {
            if bytes == 0 {
                self.at += 1;
                return true;
            }
            // A file stays where it is if no free run is long enough.
            match volume.find_free_run(bytes) {
                Some(target) => {
                    actions.push_began(self.at as u32);
                    actions.push_call(Call::Open(file));
                    actions.push_calls(compute_call(self.spec.file_time));
                    self.moving = Some(FileMove { from: 0, target });
                }
                None => self.at += 1,
            }
            return true;
        };
        if from < bytes {
            actions.push_calls(compute_call(self.spec.chunk_time));
            let chunk = MOVE_CHUNK.max(volume.cluster_bytes());
            actions.push_call(Call::Shift { file, from, to: target + from / volume.cluster_bytes() });
            self.moving = Some(FileMove { from: from + chunk, target });
        } else {
            actions.push_ended(self.at as u32);
            (self.at, self.moving) = (self.at + 1, None);
        }
        true
    }
}
