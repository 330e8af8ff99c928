//! The errors of this room: why a volume cannot be made, and why an operation on one is refused.

use core::fmt;

/// Why a volume cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VolumeMisfit {
    /// A partition would end beyond the drive.
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
        /// Sectors needed.
        least: u64,
    },
    /// More clusters than the file system can count.
    TooLarge {
        /// Most clusters.
        most: u64,
    },
}

impl fmt::Display for VolumeMisfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VolumeMisfit::BeyondDrive { end, drive } => {
                write!(f, "it ends at sector {end}, and the drive has {drive} sectors")
            }
            VolumeMisfit::Cluster { least, most } => {
                write!(f, "its clusters are not a power of two from {least} to {most} bytes")
            }
            VolumeMisfit::TooSmall { least } => write!(f, "its file system needs at least {least} sectors"),
            VolumeMisfit::TooLarge { most } => write!(f, "its file system has at most {most} clusters"),
        }
    }
}

/// Why an operation was refused. The operation has changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VolumeError {
    /// Not enough free clusters.
    Full,
    /// The file would be longer than the file system allows.
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
    /// The model of this file system sets no lengths: only ext4's does.
    NoSetLength,
}

impl fmt::Display for VolumeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VolumeError::Full => write!(f, "the volume is full"),
            VolumeError::TooLarge { most } => write!(f, "a file of this file system has at most {most} bytes"),
            VolumeError::DirectoryFull => write!(f, "the directory has no room for another entry"),
            VolumeError::NoRecords => write!(f, "there is no record for another file"),
            VolumeError::Taken => write!(f, "the clusters to move to are not free"),
            VolumeError::NoSetLength => write!(f, "only files of ext4 are cut or extended to a length"),
        }
    }
}
