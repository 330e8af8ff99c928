//! Plans: the requests of an operation to the drive, as steps in phases, each with the role of its sectors.
//! `system/issue` issues them.

use alloc::vec::Vec;
use core::fmt;

use seekwise_disk::block::{Flags, Op};

use super::tree::FileId;

/// The content that a step reads or writes. A judge of power cuts concludes from it what was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SectorRole {
    /// Bytes of a file, from this one on.
    Data {
        file: FileId,
        /// The first byte in the file.
        from: u64,
    },
    /// Entries of a directory: FAT's and ext4's blocks, an index buffer of NTFS.
    Directory(FileId),
    /// The boot sector; with FSInfo after it when it marks a FAT32 volume clean.
    Boot,
    /// FAT32's sector of free clusters.
    FsInfo,
    /// A file allocation table: copy 0 or 1.
    Fat(u8),
    MftRecords,
    /// `$MFT`'s own bitmap of records.
    MftBitmap,
    /// `$MFTMirr`.
    MftMirror,
    /// `$Bitmap`, the map of clusters.
    ClusterBitmap,
    /// Pages of `$LogFile`.
    LogRecords,
    /// A restart page of `$LogFile`.
    LogRestart,
    /// ext4's superblock.
    SuperBlock,
    /// ext4's group descriptors.
    GroupDescriptors,
    /// A group's bitmap of blocks.
    BlockBitmap,
    /// A group's bitmap of inodes.
    InodeBitmap,
    /// Blocks of an inode table.
    Inodes,
    /// A block of a file's extent tree.
    Extents(FileId),
    /// Descriptor and metadata blocks of a transaction in the journal.
    JournalBlocks,
    /// A transaction's commit block.
    JournalCommit,
    /// The journal's superblock: where the log begins.
    JournalSuper,
    /// A flush of the drive's cache.
    Barrier,
}

impl fmt::Display for SectorRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SectorRole::Data { .. } => "data of a file",
            SectorRole::Directory(_) => "a directory",
            SectorRole::Boot => "the boot sector",
            SectorRole::FsInfo => "the sector of free clusters",
            SectorRole::Fat(0) => "the file allocation table",
            SectorRole::Fat(_) => "the second file allocation table",
            SectorRole::MftRecords => "records of the MFT",
            SectorRole::MftBitmap => "the bitmap of the MFT",
            SectorRole::MftMirror => "the mirror of the MFT",
            SectorRole::ClusterBitmap => "the map of clusters",
            SectorRole::LogRecords => "pages of the log",
            SectorRole::LogRestart => "a restart page of the log",
            SectorRole::SuperBlock => "the superblock",
            SectorRole::GroupDescriptors => "group descriptors",
            SectorRole::BlockBitmap => "a bitmap of blocks",
            SectorRole::InodeBitmap => "a bitmap of inodes",
            SectorRole::Inodes => "an inode table",
            SectorRole::Extents(_) => "an extent tree",
            SectorRole::JournalBlocks => "blocks of the journal",
            SectorRole::JournalCommit => "a commit block of the journal",
            SectorRole::JournalSuper => "the superblock of the journal",
            SectorRole::Barrier => "a flush",
        })
    }
}

impl SectorRole {
    /// True for the log, from which a mount restores all other metadata.
    pub fn is_log(self) -> bool {
        matches!(self, SectorRole::LogRecords | SectorRole::JournalBlocks | SectorRole::JournalCommit)
    }
}

/// A request, or several if it exceeds the device's largest request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanStep {
    /// Read, Write or Flush.
    pub op: Op,
    /// The first sector on the drive.
    pub lba: u64,
    /// 0 for a flush.
    pub sectors: u64,
    /// [`Flags::FUA`] if the write must reach the medium.
    pub flags: Flags,
    pub role: SectorRole,
    /// For writes of metadata: the latest change that they hold ([`super::PageChange::number`]).
    pub latest_change: u64,
    /// Steps of a phase are issued together; the next phase begins when all of them are complete.
    pub phase: u32,
}

impl fmt::Display for PlanStep {
    /// A line of a golden file: phase, operation, sectors, role.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let force = if self.flags.has(Flags::FUA) { " FUA" } else { "" };
        write!(f, "{} ", self.phase)?;
        match self.op {
            Op::Flush => write!(f, "flush"),
            op => write!(f, "{op:?} {}+{}{force} {:?}", self.lba, self.sectors, self.role),
        }
    }
}

/// The condition of a plan's first step, besides the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlanWait {
    #[default]
    Nothing,
    /// Writes and flushes of earlier plans of this volume that write its log: a commit in flight.
    Commits,
    /// All writes and flushes of earlier plans of this volume: a log is written in order.
    Writes,
}

/// The requests of an operation, or of a timeout, to the drive. Empty if everything is in memory.
///
/// The rules for issuing it: phases go one after another; a step that overlaps another of the same volume in flight, if
/// either writes, waits for that one (a page is locked while it is written); and [`IoPlan::wait`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IoPlan {
    steps: Vec<PlanStep>,
    phase: u32,
    /// The condition of the first step.
    pub wait: PlanWait,
}

impl IoPlan {
    /// An empty plan.
    pub fn new() -> IoPlan {
        IoPlan::default()
    }

    /// Empties the plan and keeps its memory.
    pub fn clear(&mut self) {
        self.steps.clear();
        (self.phase, self.wait) = (0, PlanWait::Nothing);
    }

    /// The steps, phase after phase.
    pub fn steps(&self) -> &[PlanStep] {
        &self.steps
    }

    /// Ends the phase: later steps wait for everything in the plan so far.
    pub fn begin_phase(&mut self) {
        if self.steps.last().is_some_and(|last| last.phase == self.phase) {
            self.phase += 1;
        }
    }

    /// Removes its flushes: Windows' file systems send none for a write-through handle.
    pub(crate) fn remove_flushes(&mut self) {
        self.steps.retain(|step| step.op != Op::Flush);
    }

    /// Rounds its data steps up to whole blocks of `block_sectors`, for Linux's page cache. Each step begins at a
    /// block.
    pub fn round_data_up(&mut self, block_sectors: u64) {
        for step in self.steps.iter_mut().filter(|step| matches!(step.role, SectorRole::Data { .. })) {
            step.sectors = step.sectors.next_multiple_of(block_sectors);
        }
    }

    /// Adds a read.
    pub(super) fn add_read(&mut self, lba: u64, sectors: u64, role: SectorRole) {
        self.push_step(Op::Read, lba, sectors, Flags::NONE, role, 0);
    }

    /// Adds a write.
    pub(super) fn add_write(&mut self, lba: u64, sectors: u64, flags: Flags, role: SectorRole, latest_change: u64) {
        self.push_step(Op::Write, lba, sectors, flags, role, latest_change);
    }

    /// Adds a flush of the drive's cache, in a phase of its own.
    pub(super) fn add_flush(&mut self) {
        self.begin_phase();
        self.push_step(Op::Flush, 0, 0, Flags::NONE, SectorRole::Barrier, 0);
        self.begin_phase();
    }

    fn push_step(&mut self, op: Op, lba: u64, sectors: u64, flags: Flags, role: SectorRole, latest_change: u64) {
        self.steps.push(PlanStep { op, lba, sectors, flags, role, latest_change, phase: self.phase });
    }
}
