//! The description of a volume.

use seekwise_disk::rng::Seed;
use seekwise_disk::time::Span;

use super::partition::Partition;

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

/// The system whose driver is modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FatDriver {
    /// Windows NT: 2000, XP and later.
    Nt,
    /// Windows 98: no flush ever reaches the drive (measured by the source of study F), no write asks for the medium.
    Windows98,
}

/// A FAT32 volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fat32Spec {
    /// Bytes of a cluster, 512 to 65,536; `None`: by size, from the specification's table.
    pub cluster: Option<u32>,
    pub host: FatDriver,
}

/// An NTFS volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NtfsSpec {
    /// Bytes of a cluster, 512 to 65,536. Formatters take 4,096 above 2 GB.
    pub cluster: u32,
}

/// An ext4 volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ext4Spec {
    /// The mount option `barrier`: flushes and FUA around commits.
    pub barrier: bool,
    /// The mount option `commit`: how old a transaction grows, 5 s without it.
    pub commit: Span,
}

impl Default for Ext4Spec {
    fn default() -> Ext4Spec {
        Ext4Spec { barrier: true, commit: Span::from_secs(5) }
    }
}

/// The file system and its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VolumeFormat {
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
    pub format: VolumeFormat,
    pub aging: Aging,
    /// Keeps notes for [`super::Volume::take_changes`]; they grow with the run.
    pub history: bool,
    pub seed: Seed,
}

/// The metadata that a flush of a file covers, besides its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncScope {
    /// All metadata: fsync, FlushFileBuffers.
    All,
    /// The metadata needed to find the data again: fdatasync. For Windows' file systems there is no difference.
    Data,
}
