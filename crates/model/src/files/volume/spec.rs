//! The description of a volume, and why a volume, or an operation on one, is refused.

use core::fmt;

use super::{Ext4Spec, Fat32Spec, NtfsSpec, Partition};
use crate::rng::Seed;

/// How files from before the run lie: the degree of fragmentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aging {
    /// Fragments in a hundred files: 100 for none fragmented, 250 for two and a half a file (what Windows' defragmenter
    /// calls "average fragments per file"). A file of few clusters leaves its share to the next.
    pub fragments: u32,
    /// The next piece of a file begins up to this far after the last, evenly drawn. Inferred: 64 KiB to 64 MiB by what
    /// aged volumes show; it decides the seek between pieces.
    pub gap_kib: u32,
}

impl Aging {
    /// Every file in one piece, while there is room.
    pub const NONE: Aging = Aging { fragments: 100, gap_kib: 1024 };
}

/// The file system, with its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Fat32(Fat32Spec),
    /// NTFS 3.1.
    Ntfs(NtfsSpec),
    Ext4(Ext4Spec),
    /// None: one file over the whole partition.
    Raw,
}

/// The description of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VolumeSpec {
    pub partition: Partition,
    pub format: Format,
    pub aging: Aging,
    /// Keeps notes for [`super::Volume::take_changes`]; they grow with the run.
    pub history: bool,
    pub seed: Seed,
}

/// What a flush of a file covers, beside its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// All metadata: fsync, FlushFileBuffers.
    All,
    /// The metadata needed to find the data again: fdatasync. For Windows' file systems there is no difference.
    Data,
}

/// Why a volume cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// A partition would end beyond the drive.
    BeyondDrive {
        /// Its end in sectors.
        end: u64,
        /// The drive's sectors.
        drive: u64,
    },
    /// The cluster size is not a power of two from `least` to `most` bytes.
    Cluster { least: u32, most: u32 },
    /// Fewer sectors than the file system needs.
    TooSmall {
        /// In sectors.
        least: u64,
    },
    /// More clusters than the file system can count.
    TooLarge {
        /// In clusters.
        most: u64,
    },
}

/// Why an operation was refused. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Not enough free clusters.
    Full,
    /// Longer than a file may be.
    TooLarge {
        /// In bytes.
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
