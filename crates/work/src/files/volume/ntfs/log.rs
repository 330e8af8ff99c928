//! The log of NTFS, `$LogFile`: its records must be on the drive before the metadata that they describe.
//!
//! By the linux-ntfs documentation ("$LogFile (2)") it has two restart pages, then two tail pages, then a ring of pages
//! of 4 KiB with a header of 64 bytes each. A page that is not full yet is written to a tail page, to the two by turns;
//! a full page is written to its own place. When tail pages are used is inferred: the documentation only says what they
//! are for.

use seekwise_disk::block::Flags;

use super::super::plan::{IoPlan, PlanWait, SectorRole};

/// Bytes in a page.
const PAGE: u64 = 4096;
/// Bytes in a page's header.
const HEADER: u64 = 64;
/// Pages before the ring.
const AHEAD: u64 = 4;
/// Bytes in a log record before its redo and undo data: LFS header 48, NTFS header 32 and one cluster number of 8.
const RECORD: u64 = 88;

/// The log file.
#[derive(Debug)]
pub(super) struct NtfsLog {
    /// First sector on the drive.
    lba: u64,
    /// Pages in the ring.
    ring: u64,
    /// Bytes of records ever logged.
    logged: u64,
    /// How many of these are on the drive.
    flushed: u64,
    /// The latest change logged.
    latest_change: u64,
    /// How many were logged at the last checkpoint.
    checked: u64,
    /// How many were logged when all metadata were last on the drive.
    clean: u64,
    /// The tail page to write next, 0 or 1.
    tail: u64,
    /// The restart page to write next, 0 or 1.
    restart: u64,
}

impl NtfsLog {
    pub(super) fn new(lba: u64, bytes: u64) -> NtfsLog {
        let ring = bytes / PAGE - AHEAD;
        NtfsLog { lba, ring, logged: 0, flushed: 0, latest_change: 0, checked: 0, clean: 0, tail: 0, restart: 0 }
    }

    /// The first sector of a page of the file.
    pub(super) fn page_lba(&self, index: u64) -> u64 {
        self.lba + index * (PAGE / 512)
    }

    /// Logs `count` records with `data_bytes` bytes of redo and undo data in all, for a change.
    pub(super) fn append_records(&mut self, count: u64, data_bytes: u64, change: u64) {
        self.logged += count * RECORD + data_bytes;
        self.latest_change = change;
    }

    /// True if something was logged since the last checkpoint.
    pub(super) fn has_new_records(&self) -> bool {
        self.logged != self.checked
    }

    /// True if records of metadata that may not be on the drive fill more than three quarters of the ring (inferred:
    /// NTFS raises "log file full" before the ring closes).
    pub(super) fn is_nearly_full(&self) -> bool {
        self.logged - self.clean > self.ring * (PAGE - HEADER) / 4 * 3
    }

    /// Writes the records that are not on the drive yet. Later steps of the plan wait for them.
    pub(super) fn flush_records(&mut self, flags: Flags, plan: &mut IoPlan) {
        if self.flushed == self.logged {
            return;
        }
        plan.wait = PlanWait::Writes;
        let room = PAGE - HEADER;
        let (mut page, full) = (self.flushed / room, self.logged / room);
        plan.begin_phase();
        while page < full {
            let count = (full - page).min(self.ring - page % self.ring);
            let lba = self.page_lba(AHEAD + page % self.ring);
            plan.add_write(lba, count * (PAGE / 512), flags, SectorRole::LogRecords, self.latest_change);
            page += count;
        }
        if self.logged > full * room {
            plan.add_write(self.page_lba(2 + self.tail), PAGE / 512, flags, SectorRole::LogRecords, self.latest_change);
            self.tail ^= 1;
        }
        plan.begin_phase();
        self.flushed = self.logged;
    }

    /// Writes a checkpoint: three records (transactions, dirty pages, open attributes; 512 bytes in all, inferred: 200
    /// to 4,000), then a restart page, the two by turns. `all_clean` says that no metadata are dirty.
    pub(super) fn write_checkpoint(&mut self, all_clean: bool, plan: &mut IoPlan) {
        self.append_records(3, 512, self.latest_change);
        self.flush_records(Flags::NONE, plan);
        plan.add_write(self.page_lba(self.restart), PAGE / 512, Flags::FUA, SectorRole::LogRestart, self.latest_change);
        plan.begin_phase();
        self.restart ^= 1;
        self.checked = self.logged;
        if all_clean {
            self.clean = self.logged;
        }
    }

    /// Begins the run: everything logged so far is from before it.
    pub(super) fn begin_run(&mut self) {
        (self.flushed, self.checked, self.clean) = (self.logged, self.logged, self.logged);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// First page and number of pages of each step.
    fn step_pages(plan: &IoPlan) -> Vec<(u64, u64)> {
        plan.steps().iter().map(|step| (step.lba / 8, step.sectors / 8)).collect()
    }

    #[test]
    fn part_pages_go_to_the_tails_by_turns_and_full_ones_home() {
        let (mut log, mut plan) = (NtfsLog::new(0, 12 * PAGE), IoPlan::new());
        for expected in [2, 3] {
            log.append_records(1, 1_000 - RECORD, 1);
            plan.clear();
            log.flush_records(Flags::NONE, &mut plan);
            assert_eq!(step_pages(&plan), [(expected, 1)]);
        }
        log.flush_records(Flags::NONE, &mut plan);
        assert_eq!(plan.steps().len(), 1, "nothing new, nothing written");
        // 2,000 + 3,000 bytes: the first page of 4,032 is full.
        log.append_records(1, 3_000 - RECORD, 2);
        plan.clear();
        log.flush_records(Flags::NONE, &mut plan);
        assert_eq!(step_pages(&plan), [(4, 1), (2, 1)]);
        // 6 more pages: from the second on, 7 to the end of the ring of 8, the rest in the tail.
        log.append_records(1, 7 * 4_032 - RECORD, 3);
        plan.clear();
        log.flush_records(Flags::NONE, &mut plan);
        assert_eq!(step_pages(&plan), [(5, 7), (3, 1)]);
        log.append_records(1, 4_032 - RECORD, 4);
        plan.clear();
        log.flush_records(Flags::NONE, &mut plan);
        assert_eq!(step_pages(&plan), [(4, 1), (2, 1)], "round again");
        assert!(log.is_nearly_full());
        log.write_checkpoint(true, &mut plan);
        assert!(!log.is_nearly_full() && !log.has_new_records());
    }
}
