//! Defragmenting: each fragmented file is moved, chunk by chunk, to a free run that holds all of it. An operation is a
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

#[derive(Debug)]
struct Defragment {
    spec: DefragmentSpec,
    /// The fragmented files; `None` before it has looked.
    files: Option<Vec<File>>,
    at: usize,
    /// The file being moved: the next byte, and the first target cluster.
    moving: Option<(u64, u64)>,
}

pub(super) fn create_program(
    spec: &DefragmentSpec,
    place: &mut ProgramContext<'_>,
) -> Result<Box<dyn Program>, VolumeError> {
    if spec.set.files > 0 {
        place.place_set(&spec.set, spec.volume)?;
    }
    Ok(script::from_script(Defragment { spec: *spec, files: None, at: 0, moving: None }))
}

/// The fragmented files of a volume.
fn fragmented_files(volume: &Volume, index: u8) -> Vec<File> {
    let files = volume.files().filter(|&id| !volume.is_directory(id) && volume.file_runs(id).len() > 1);
    files.map(|id| File { volume: index, id }).collect()
}

impl Script for Defragment {
    fn add_actions(&mut self, seen: &ScriptContext<'_>, acts: &mut ActionQueue) -> bool {
        let volume = seen.system.volume(self.spec.volume);
        let files = self.files.get_or_insert_with(|| fragmented_files(volume, self.spec.volume));
        let Some(&file) = files.get(self.at) else { return false };
        // Another program may have deleted the file since.
        let bytes = if volume.has_file(file.id) { volume.file_bytes(file.id) } else { 0 };
        let Some((from, to)) = self.moving else {
            if bytes == 0 {
                self.at += 1;
                return true;
            }
            // A file stays where it is if no free run is long enough.
            match volume.find_free_run(bytes) {
                Some(to) => {
                    acts.push_began(self.at as u32);
                    acts.push_call(Call::Open(file));
                    acts.push_calls(compute_call(self.spec.file_time));
                    self.moving = Some((0, to));
                }
                None => self.at += 1,
            }
            return true;
        };
        if from < bytes {
            acts.push_calls(compute_call(self.spec.chunk_time));
            let chunk = MOVE_CHUNK.max(volume.cluster_bytes());
            acts.push_call(Call::Shift { file, from, to: to + from / volume.cluster_bytes() });
            self.moving = Some((from + chunk, to));
        } else {
            acts.push_ended(self.at as u32);
            (self.at, self.moving) = (self.at + 1, None);
        }
        true
    }
}
