//! The context in which a program is created: it places the files that the program uses on the volumes before the run.

use alloc::vec::Vec;

use seekwise_disk::rng::{Rng, Seed};

use super::file_set::{FileSet, SizedFile, TargetFile};
use crate::files::call::File;
use crate::files::volume::{FileName, ROOT, Volume, VolumeError};

/// The context in which a program is created: the volumes with the files placed so far, and the seed of its random
/// numbers.
pub struct ProgramContext<'a> {
    pub volumes: &'a mut [Volume],
    /// The seed of the program's random numbers.
    pub seed: Seed,
    /// The files that the program will write are placed, too, to see whether they fit.
    pub trial: bool,
}

impl ProgramContext<'_> {
    /// The program's stream of random numbers with this name.
    pub(super) fn named_rng(&self, stream: &str) -> Rng {
        self.seed.stream(stream)
    }

    /// Places a directory for the program in the root, before the run.
    pub(super) fn place_directory(&mut self, volume: u8) -> Result<File, VolumeError> {
        let id = self.volumes[usize::from(volume)].place_initial_directory(ROOT, FileName::SHORT)?;
        Ok(File { volume, id })
    }

    /// Places a file of `bytes` bytes before the run.
    pub(super) fn place_file(&mut self, directory: File, bytes: u64) -> Result<File, VolumeError> {
        let id =
            self.volumes[usize::from(directory.volume)].place_initial_file(directory.id, FileName::SHORT, bytes)?;
        Ok(File { id, ..directory })
    }

    /// Places a file that the program will write, if `trial` is set.
    pub(super) fn place_trial_file(&mut self, directory: File, bytes: u64) -> Result<(), VolumeError> {
        if self.trial {
            self.place_file(directory, bytes)?;
        }
        Ok(())
    }

    /// Places the files of a set before the run.
    pub(super) fn place_file_set(&mut self, set: &FileSet, volume: u8) -> Result<Vec<SizedFile>, VolumeError> {
        let mut rng = self.named_rng("sizes");
        set.place_files(&mut self.volumes[usize::from(volume)], volume, &mut rng)
    }

    /// Places the directories for a set that the program will write; returns the directory and length of each file.
    pub(super) fn place_target_directories(
        &mut self,
        set: &FileSet,
        volume: u8,
    ) -> Result<Vec<TargetFile>, VolumeError> {
        let mut rng = self.named_rng("sizes");
        set.place_target_directories(&mut self.volumes[usize::from(volume)], volume, &mut rng, self.trial)
    }
}
