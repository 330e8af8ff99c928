//! Changes of metadata, page by page, for a judge of power cuts: which facts about files a mount finds once a page is
//! on the drive. `mount` applies them.

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
    /// The file's record is free.
    Unrecorded,
    /// The file's length in bytes.
    Sized(u64),
    /// Bytes `from..to` of the file lie on the drive from sector `lba` on.
    Mapped { from: u64, to: u64, lba: u64 },
    /// Bytes `from..to` of the file no longer have a place.
    Unmapped { from: u64, to: u64 },
    /// The number of first bytes of the file that are in its record, as of this change.
    Inside(u64),
}

/// A fact on a page. An entry that lies on two pages gives two changes with one number; it holds once both pages hold
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageChange {
    /// Rises with every operation. A page holds the change if it was written with [`super::PlanStep::latest_change`] of
    /// at least this; so does a log.
    pub number: u64,
    /// The page's first sector on the drive.
    pub page: u64,
    /// The page's length.
    pub sectors: u64,
    pub file: FileId,
    pub fact: PageFact,
}

/// Numbers the changes of a volume, and records them if a judge needs them.
#[derive(Clone, Debug, Default)]
pub(super) struct ChangeLog {
    latest: u64,
    records: bool,
    recorded: Vec<PageChange>,
}

impl ChangeLog {
    pub(super) fn new(records: bool) -> ChangeLog {
        ChangeLog { records, ..ChangeLog::default() }
    }

    /// Begins a change; returns its number.
    pub(super) fn begin_change(&mut self) -> u64 {
        self.latest += 1;
        self.latest
    }

    /// The number of the latest change.
    pub(super) fn latest_number(&self) -> u64 {
        self.latest
    }

    /// Records that a page holds `fact` from the latest change on; `page` is its first sector.
    pub(super) fn record_fact(&mut self, page: u64, sectors: u64, file: FileId, fact: PageFact) {
        if self.records {
            self.recorded.push(PageChange { number: self.latest, page, sectors, file, fact });
        }
    }

    /// Returns the changes recorded since the last call.
    pub(super) fn take_changes(&mut self) -> Vec<PageChange> {
        core::mem::take(&mut self.recorded)
    }
}
