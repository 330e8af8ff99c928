//! Sets of files: how many, how large, in which directories; and their placement on a volume before the run.

use alloc::vec::Vec;

use seekwise_disk::rng::Rng;

use crate::files::call::File;
use crate::files::volume::{FileName, ROOT, Volume, VolumeError};

/// A set of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSet {
    pub files: u32,
    /// The size of all files together.
    pub bytes: u64,
    /// The largest file is up to 2 to this power times the smallest, 0 to 16; sizes are log-uniform. Published sets
    /// give count and sum only, so any value but 0 is inferred.
    pub spread: u32,
    /// Files in a directory.
    pub directory: u32,
}

/// A file on a volume, with its length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SizedFile {
    pub(crate) file: File,
    pub(crate) bytes: u64,
}

/// A file that is to be created in a directory, with its length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TargetFile {
    pub(crate) directory: File,
    pub(crate) bytes: u64,
}

impl FileSet {
    /// Draws the sizes of the files, at least one byte each. The sum is [`FileSet::bytes`] apart from rounding.
    pub(crate) fn draw_sizes(&self, rng: &mut Rng) -> Vec<u64> {
        // A power of two, and a point between it and the next.
        let weight = |rng: &mut Rng| match self.spread {
            0 => 1 << 16,
            spread => ((1 << 16) + rng.below(1 << 16)) << rng.below(u64::from(spread)),
        };
        let weights: Vec<u64> = (0..self.files).map(|_| weight(rng)).collect();
        let sum: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
        let share = |weight: u64| (u128::from(weight) * u128::from(self.bytes) / sum.max(1)) as u64;
        weights.into_iter().map(|weight| share(weight).max(1)).collect()
    }

    /// Places the set on a volume, in directories of its own; returns its files.
    pub(crate) fn place_files(
        &self,
        volume: &mut Volume,
        volume_index: u8,
        rng: &mut Rng,
    ) -> Result<Vec<SizedFile>, VolumeError> {
        let mut placed = Vec::with_capacity(self.files as usize);
        for TargetFile { directory, bytes } in self.place_target_directories(volume, volume_index, rng, false)? {
            let id = volume.place_initial_file(directory.id, FileName::SHORT, bytes)?;
            placed.push(SizedFile { file: File { volume: volume_index, id }, bytes });
        }
        Ok(placed)
    }

    /// Places the directories of the set on a volume, and draws the size of each file. With `trial` the files are
    /// placed as well, to see whether they fit.
    pub(crate) fn place_target_directories(
        &self,
        volume: &mut Volume,
        volume_index: u8,
        rng: &mut Rng,
        trial: bool,
    ) -> Result<Vec<TargetFile>, VolumeError> {
        let mut targets = Vec::with_capacity(self.files as usize);
        let mut directory = ROOT;
        for (number, bytes) in self.draw_sizes(rng).into_iter().enumerate() {
            if number % self.directory.max(1) as usize == 0 {
                directory = volume.place_initial_directory(ROOT, FileName::SHORT)?;
            }
            if trial {
                volume.place_initial_file(directory, FileName::SHORT, bytes)?;
            }
            targets.push(TargetFile { directory: File { volume: volume_index, id: directory }, bytes });
        }
        Ok(targets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_disk::rng::Seed;

    #[test]
    fn sizes_sum_up_and_spread_as_said() {
        let mut rng = Seed(1).stream("sizes");
        let set = FileSet { files: 414, bytes: 575_000_000, spread: 10, directory: 100 };
        let sizes = set.draw_sizes(&mut rng);
        let (least, most) = (sizes.iter().min().expect("some"), sizes.iter().max().expect("some"));
        assert!(set.bytes - sizes.iter().sum::<u64>() <= 414);
        assert!((256..1 << 11).contains(&(most / least)), "{least} {most}");
        let same = FileSet { spread: 0, ..set }.draw_sizes(&mut rng);
        assert!(same.iter().all(|size| *size == 575_000_000 / 414));
    }
}
