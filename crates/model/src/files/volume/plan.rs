//! What an operation asks of the drive: steps in phases, each named for what it is for.

use alloc::vec::Vec;
use core::fmt;

use super::tree::FileId;
use crate::block::{Flags, Op};

/// What a step reads or writes: all a judge needs to say afterwards what was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Bytes of a file, from this one on.
    Data {
        /// Whose.
        file: FileId,
        /// First byte in the file.
        from: u64,
    },
    /// Entries of a directory: FAT's and ext4's blocks, an index buffer of NTFS.
    Directory(FileId),
    /// The boot sector; with FSInfo behind it when it marks a FAT32 volume clean.
    Boot,
    /// FAT32's sector of free clusters.
    FsInfo,
    /// A file allocation table: copy 0 or 1.
    Fat(u8),
    /// Records of NTFS's `$MFT`.
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

impl Role {
    /// The log, from which a mount brings all else up to date.
    pub fn is_log(self) -> bool {
        matches!(self, Role::LogRecords | Role::JournalBlocks | Role::JournalCommit)
    }
}

/// One request, or several where it is longer than the device takes at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Read, Write or Flush.
    pub op: Op,
    /// First sector on the drive.
    pub lba: u64,
    /// Sectors; 0 for a flush.
    pub sectors: u64,
    /// [`Flags::FUA`] where the system asks for the medium.
    pub flags: Flags,
    /// What it is for.
    pub role: Role,
    /// Of writes of metadata: the latest change that is in it ([`super::Change::number`]).
    pub holds: u64,
    /// Steps of a phase go out together; the next phase begins when all of them are complete.
    pub phase: u32,
}

impl fmt::Display for Step {
    /// One line of a golden file: phase, what, where.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let force = if self.flags.has(Flags::FUA) { " FUA" } else { "" };
        write!(f, "{} ", self.phase)?;
        match self.op {
            Op::Flush => write!(f, "flush"),
            op => write!(f, "{op:?} {}+{}{force} {:?}", self.lba, self.sectors, self.role),
        }
    }
}

/// What a plan's first step waits for beside the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    /// Nothing.
    #[default]
    Nothing,
    /// All writes that earlier plans of this volume asked for, and their flushes: a log goes out in order.
    Writes,
}

/// What one operation, or one thing that fell due, asks of the drive. Empty when all is in memory.
///
/// The rules for whoever issues it: phases one after another; a step that overlaps another of the same volume in
/// flight, one of them a write, waits for that one (a page is locked while it is written); [`Plan::wait`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    steps: Vec<Step>,
    phase: u32,
    /// What must be complete before the first step.
    pub wait: Wait,
}

impl Plan {
    /// Nothing to do.
    pub fn new() -> Plan {
        Plan::default()
    }

    /// Nothing to do again; the memory stays.
    pub fn clear(&mut self) {
        self.steps.clear();
        (self.phase, self.wait) = (0, Wait::Nothing);
    }

    /// The steps, phase after phase.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// What follows waits for all that is in the plan so far.
    pub fn then(&mut self) {
        if self.steps.last().is_some_and(|last| last.phase == self.phase) {
            self.phase += 1;
        }
    }

    /// Without its flushes: what a handle that writes through asks of Windows' file systems.
    pub fn drop_flushes(&mut self) {
        self.steps.retain(|step| step.op != Op::Flush);
    }

    /// With its data in whole blocks of so many sectors: what goes through Linux's page cache. Each step begins with one.
    pub fn round_up(&mut self, block: u64) {
        for step in self.steps.iter_mut().filter(|step| matches!(step.role, Role::Data { .. })) {
            step.sectors = step.sectors.next_multiple_of(block);
        }
    }

    /// Reads these sectors.
    pub(super) fn read(&mut self, lba: u64, sectors: u64, role: Role) {
        self.push(Op::Read, lba, sectors, Flags::NONE, role, 0);
    }

    /// Writes these sectors.
    pub(super) fn write(&mut self, lba: u64, sectors: u64, flags: Flags, role: Role, holds: u64) {
        self.push(Op::Write, lba, sectors, flags, role, holds);
    }

    /// Flushes the drive's cache, between what came before and what follows.
    pub(super) fn flush(&mut self) {
        self.then();
        self.push(Op::Flush, 0, 0, Flags::NONE, Role::Barrier, 0);
        self.then();
    }

    fn push(&mut self, op: Op, lba: u64, sectors: u64, flags: Flags, role: Role, holds: u64) {
        self.steps.push(Step { op, lba, sectors, flags, role, holds, phase: self.phase });
    }
}
