//! Changes, as far as a mount can find them: the notes that a judge of power cuts reads beside the landings.

use alloc::vec::Vec;

use super::tree::FileId;

/// What a page says of a file from this change on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageFact {
    /// This directory lists it.
    Listed(FileId),
    /// This directory does not list it.
    Unlisted(FileId),
    /// Its record (of `$MFT`, its inode) is in use.
    Recorded,
    Unrecorded,
    /// Its length is this.
    Sized(u64),
    /// Its bytes from, to, lie at this sector of the drive and on.
    Mapped(u64, u64, u64),
    /// Its bytes from, to, no longer lie anywhere.
    Unmapped(u64, u64),
    /// Its first bytes, up to this length, stand in its record as they were then.
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
    pub(super) fn latest(&self) -> u64 {
        self.number
    }

    /// Notes what a page (first sector, length) says from the latest change on.
    pub(super) fn note(&mut self, (page, sectors): (u64, u64), file: FileId, fact: PageFact) {
        if self.keeps {
            self.kept.push(PageChange { number: self.number, page, sectors, file, fact });
        }
    }

    /// Returns the notes since the last call.
    pub(super) fn take(&mut self) -> Vec<PageChange> {
        core::mem::take(&mut self.kept)
    }
}
