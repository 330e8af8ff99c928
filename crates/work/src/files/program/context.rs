//! The context in which a program is created: puts the files that it finds on the volumes before the run.

use alloc::vec::Vec;

use seekwise_disk::rng::{Rng, Seed};

use super::file_set::FileSet;
use crate::files::call::File;
use crate::files::volume::{FileName, ROOT, Volume, VolumeError};

/// The context in which a program is created: the volumes with the files placed so far, and its random numbers.
pub struct ProgramContext<'a> {
    pub volumes: &'a mut [Volume],
    /// The seed of the program's random numbers.
    pub seed: Seed,
    /// Places files that the program will write, too, to see whether they fit.
    pub trial: bool,
}

impl ProgramContext<'_> {
    pub(super) fn named_rng(&self, name: &str) -> Rng {
        self.seed.stream(name)
    }

    /// Creates a directory for the program.
    pub(super) fn create_directory(&mut self, volume: u8) -> Result<File, VolumeError> {
        let id = self.volumes[usize::from(volume)].place_initial_directory(ROOT, FileName::SHORT)?;
        Ok(File { volume, id })
    }

    /// Places a file before the run.
    pub(super) fn place_file(&mut self, directory: File, bytes: u64) -> Result<File, VolumeError> {
        let id =
            self.volumes[usize::from(directory.volume)].place_initial_file(directory.id, FileName::SHORT, bytes)?;
        Ok(File { id, ..directory })
    }

    /// Places a file that will be written, if `trial` is set.
    pub(super) fn place_trial_file(&mut self, directory: File, bytes: u64) -> Result<(), VolumeError> {
        if self.trial {
            self.place_file(directory, bytes)?;
        }
        Ok(())
    }

    /// Places the files of a set. Returns each with its length.
    pub(super) fn place_set(&mut self, set: &FileSet, volume: u8) -> Result<Vec<(File, u64)>, VolumeError> {
        let mut rng = self.named_rng("sizes");
        set.place_files(&mut self.volumes[usize::from(volume)], volume, &mut rng)
    }

    /// Returns directory and length of each file of a set that will be written.
    pub(super) fn set_targets(&mut self, set: &FileSet, volume: u8) -> Result<Vec<(File, u64)>, VolumeError> {
        let mut rng = self.named_rng("sizes");
        set.draw_targets(&mut self.volumes[usize::from(volume)], volume, &mut rng, self.trial)
    }
}
