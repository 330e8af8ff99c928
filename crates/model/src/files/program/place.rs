//! Where a program is made: the files that it finds, put on the volumes before the run.

use alloc::vec::Vec;

use super::set::FileSet;
use crate::files::call::File;
use crate::files::volume::{FileName, ROOT, Volume, VolumeError};
use crate::rng::{Rng, Seed};

/// Where a program is made: the volumes with what is on them so far, and its chance.
pub struct ProgramContext<'a> {
    pub volumes: &'a mut [Volume],
    /// The program's own chance.
    pub seed: Seed,
    /// Puts what the program will write on the volumes too, to see whether it fits.
    pub trial: bool,
}

impl ProgramContext<'_> {
    pub(super) fn rng(&self, name: &str) -> Rng {
        self.seed.stream(name)
    }

    /// A directory of the program's own.
    pub(super) fn directory(&mut self, volume: u8) -> Result<File, VolumeError> {
        let id = self.volumes[usize::from(volume)].place_directory(ROOT, FileName::SHORT)?;
        Ok(File { volume, id })
    }

    /// A file that is there before the run.
    pub(super) fn file(&mut self, directory: File, bytes: u64) -> Result<File, VolumeError> {
        let id = self.volumes[usize::from(directory.volume)].place(directory.id, FileName::SHORT, bytes)?;
        Ok(File { id, ..directory })
    }

    /// What will be written, as far as room goes.
    pub(super) fn try_file(&mut self, directory: File, bytes: u64) -> Result<(), VolumeError> {
        if self.trial {
            self.file(directory, bytes)?;
        }
        Ok(())
    }

    /// The files of a set, each with its length.
    pub(super) fn set(&mut self, set: &FileSet, volume: u8) -> Result<Vec<(File, u64)>, VolumeError> {
        let mut rng = self.rng("sizes");
        set.place(&mut self.volumes[usize::from(volume)], volume, &mut rng)
    }

    /// The directories and lengths of a set that will be written.
    pub(super) fn targets(&mut self, set: &FileSet, volume: u8) -> Result<Vec<(File, u64)>, VolumeError> {
        let mut rng = self.rng("sizes");
        set.targets(&mut self.volumes[usize::from(volume)], volume, &mut rng, self.trial)
    }
}
