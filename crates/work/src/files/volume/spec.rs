//! The description of a volume: its partition, file system and settings, and how its files from before the run lie.

use seekwise_disk::rng::Seed;
use seekwise_disk::time::Span;

use super::partition::Partition;

/// The degree of fragmentation of files from before the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aging {
    /// Fragments in a hundred files: 100 if none is fragmented, 250 for an average of 2.5 (Windows' defragmenter
    /// reports it as "average fragments per file"). A file with too few clusters leaves its share to the next.
    pub fragments: u32,
    /// The largest gap between two pieces of a file, evenly drawn; the gap decides the seek between them. Inferred from
    /// aged volumes: 64 KiB to 64 MiB.
    pub gap_kib: u32,
}

impl Aging {
    /// Every file in one piece, while there is room.
    pub const NONE: Aging = Aging { fragments: 100, gap_kib: 1024 };
}

/// The system whose FAT driver is modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FatDriver {
    /// Windows NT: 2000, XP and later.
    Nt,
    /// Windows 98: it sends no flush to the drive (measured by the source of study F), and no write with FUA.
    Windows98,
}

/// A FAT32 volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fat32Spec {
    /// Bytes of a cluster, 512 to 65,536; `None` for the size that the specification gives for the volume.
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
    /// The mount option `commit`: the age at which a transaction is committed, 5 s by default.
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
    /// No file system: one file over the whole partition.
    Raw,
}

/// The description of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VolumeSpec {
    pub partition: Partition,
    pub format: VolumeFormat,
    pub aging: Aging,
    /// Records changes for [`super::Volume::take_changes`]; they grow with the run.
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
