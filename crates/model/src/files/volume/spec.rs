//! What a volume is made from, and why one, or an operation on one, is refused.

use core::fmt;

use super::{Ext4Spec, Fat32Spec, NtfsSpec, Partition};
use crate::rng::Seed;

/// How files that are there before the run lie: the degree of fragmentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aging {
    /// Fragments of a hundred files: 100 is none in pieces, 250 two and a half a file (what Windows' defragmenter
    /// calls "average fragments per file"). A file of few clusters leaves its share to the next.
    pub fragments: u32,
    /// The next piece of a file begins up to so far behind the last, evenly drawn. Inferred: 64 KiB to 64 MiB by what
    /// aged volumes show; it decides the seek between pieces.
    pub gap_kib: u32,
}

impl Aging {
    /// Every file in one piece, as long as there is room.
    pub const NONE: Aging = Aging { fragments: 100, gap_kib: 1024 };
}

/// Which file system, and its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// FAT32.
    Fat32(Fat32Spec),
    /// NTFS 3.1.
    Ntfs(NtfsSpec),
    /// ext4.
    Ext4(Ext4Spec),
    /// None: one file over all of the partition.
    Raw,
}

/// All that a volume is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VolumeSpec {
    /// Where it lies.
    pub partition: Partition,
    /// What it is.
    pub format: Format,
    /// How its files lie.
    pub aging: Aging,
    /// Keeps the notes that [`super::Volume::take_changes`] gives; they grow with the run.
    pub history: bool,
    /// Its chance.
    pub seed: Seed,
}

/// How much a flush of a file covers, beside its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// All: fsync, FlushFileBuffers.
    All,
    /// What is needed to find the data again: fdatasync. Windows' file systems know no difference.
    Data,
}

/// Why a volume cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// A partition would end behind the drive.
    BeyondDrive {
        /// Where it would end.
        end: u64,
        /// The drive's sectors.
        drive: u64,
    },
    /// No cluster of that size: a power of two from `least` to `most` bytes.
    Cluster {
        /// Smallest.
        least: u32,
        /// Largest.
        most: u32,
    },
    /// Fewer sectors than the file system needs.
    TooSmall {
        /// What it needs.
        least: u64,
    },
    /// More clusters than the file system can count.
    TooLarge {
        /// Most clusters.
        most: u64,
    },
}

/// Why an operation was not done. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Not enough free clusters.
    Full,
    /// Longer than a file may be.
    TooLarge {
        /// Most bytes.
        most: u64,
    },
    /// No room for another entry in the directory.
    DirectoryFull,
    /// No free inode, or no room for `$MFT` to grow.
    NoRecords,
    /// The clusters to move to are not free.
    Taken,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Full => write!(f, "the volume is full"),
            Refused::TooLarge { most } => write!(f, "a file of this file system has at most {most} bytes"),
            Refused::DirectoryFull => write!(f, "the directory has no room for another entry"),
            Refused::NoRecords => write!(f, "there is no record for another file"),
            Refused::Taken => write!(f, "the clusters to move to are not free"),
        }
    }
}
