//! Changes that a mount can find, for a judge of power cuts.

use alloc::vec::Vec;

use super::tree::FileId;

/// A fact about a file that a page holds from this change on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageFact {
    /// The directory lists the file.
    Listed(FileId),
    /// The directory does not list the file.
    Unlisted(FileId),
    /// The file's record (of `$MFT`, or its inode) is in use.
    Recorded,
    Unrecorded,
    /// The file's length in bytes.
    Sized(u64),
    /// Bytes (from, to) of the file lie at this sector of the drive and on.
    Mapped(u64, u64, u64),
    /// Bytes (from, to) of the file no longer lie anywhere.
    Unmapped(u64, u64),
    /// The file's first bytes, up to this length, are in its record, as of this change.
    Inside(u64),
}

/// A fact on a page. An entry that lies on two pages is two facts of one number; it holds when both do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageChange {
    /// Rises with every operation. A page holds the change if it was written with [`super::PlanStep::holds`] of at least
    /// this; so does a log.
    pub number: u64,
    /// The page's first sector on the drive.
    pub page: u64,
    /// The page's length.
    pub sectors: u64,
    pub file: FileId,
    pub fact: PageFact,
}

/// Numbers changes, and keeps them if asked to.
#[derive(Clone, Debug, Default)]
pub(super) struct ChangeLog {
    number: u64,
    keeps: bool,
    kept: Vec<PageChange>,
}

impl ChangeLog {
    pub(super) fn new(keeps: bool) -> ChangeLog {
        ChangeLog { keeps, ..ChangeLog::default() }
    }

    /// The number of a new change.
    pub(super) fn next(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    /// The number of the latest change.
    pub(super) fn latest_number(&self) -> u64 {
        self.number
    }

    /// Notes what a page (first sector, length) says from the latest change on.
    pub(super) fn note_fact(&mut self, (page, sectors): (u64, u64), file: FileId, fact: PageFact) {
        if self.keeps {
            self.kept.push(PageChange { number: self.number, page, sectors, file, fact });
        }
    }

    /// Returns the notes since the last call.
    pub(super) fn take_changes(&mut self) -> Vec<PageChange> {
        core::mem::take(&mut self.kept)
    }
}
