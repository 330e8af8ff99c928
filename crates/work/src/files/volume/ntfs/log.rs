//! `$LogFile`: records that must be on the drive before the metadata that they describe.
//!
//! From the linux-ntfs documentation ("$LogFile (2)"): two restart pages, then two tail pages, then a ring of pages of
//! 4 KiB with a header of 64 bytes each. A page that is not full yet is written to a tail page, the two by turns, and
//! to its own place when it is full (the documentation says what tail pages are for, not when they are used: inferred).

use seekwise_disk::block::Flags;

use super::super::plan::{IoPlan, PlanWait, SectorRole};

/// Bytes in a page, and in its header; pages before the first of the ring.
const PAGE: u64 = 4096;
const HEADER: u64 = 64;
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
    /// Bytes of records ever logged, and how many of these are on the drive.
    logged: u64,
    flushed: u64,
    /// The latest change logged.
    holds: u64,
    /// Bytes logged at the last checkpoint, and at the time when everything before was on the drive.
    checked: u64,
    clean: u64,
    /// Which of the tail pages, and of the restart pages, is next.
    tail: u64,
    restart: u64,
}

impl NtfsLog {
    pub(super) fn new(lba: u64, bytes: u64) -> NtfsLog {
        let ring = bytes / PAGE - AHEAD;
        NtfsLog { lba, ring, logged: 0, flushed: 0, holds: 0, checked: 0, clean: 0, tail: 0, restart: 0 }
    }

    /// Where a restart page lies.
    pub(super) fn restart_page(&self, index: u64) -> u64 {
        self.lba + index * (PAGE / 512)
    }

    /// Logs `records` records with `bytes` bytes of redo and undo data in all, for change `number`.
    pub(super) fn append_records(&mut self, records: u64, bytes: u64, number: u64) {
        self.logged += records * RECORD + bytes;
        self.holds = number;
    }

    /// True if something was logged since the last checkpoint.
    pub(super) fn has_new_records(&self) -> bool {
        self.logged != self.checked
    }

    /// True if more than three quarters of the ring describe metadata that may not be on the drive (inferred: NTFS
    /// raises "log file full" before the ring closes).
    pub(super) fn is_full(&self) -> bool {
        self.logged - self.clean > self.ring * (PAGE - HEADER) / 4 * 3
    }

    /// Writes records that are not on the drive yet; later steps of the plan wait for them.
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
            let lba = self.restart_page(AHEAD + page % self.ring);
            plan.add_write(lba, count * (PAGE / 512), flags, SectorRole::LogRecords, self.holds);
            page += count;
        }
        if self.logged > full * room {
            plan.add_write(self.restart_page(2 + self.tail), PAGE / 512, flags, SectorRole::LogRecords, self.holds);
            self.tail ^= 1;
        }
        plan.begin_phase();
        self.flushed = self.logged;
    }

    /// Writes a checkpoint: three records (transactions, dirty pages, open attributes; 512 bytes in all, inferred: 200
    /// to 4,000), then one of the restart pages by turns.
    pub(super) fn write_checkpoint(&mut self, all_clean: bool, plan: &mut IoPlan) {
        self.append_records(3, 512, self.holds);
        self.flush_records(Flags::NONE, plan);
        plan.add_write(self.restart_page(self.restart), PAGE / 512, Flags::FUA, SectorRole::LogRestart, self.holds);
        plan.begin_phase();
        self.restart ^= 1;
        self.checked = self.logged;
        if all_clean {
            self.clean = self.logged;
        }
    }

    /// Begins the run: everything so far was before it.
    pub(super) fn begin_run(&mut self) {
        (self.flushed, self.checked, self.clean) = (self.logged, self.logged, self.logged);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn places(plan: &IoPlan) -> Vec<(u64, u64)> {
        plan.steps().iter().map(|step| (step.lba / 8, step.sectors / 8)).collect()
    }

    #[test]
    fn part_pages_go_to_the_tails_by_turns_and_full_ones_home() {
        let (mut log, mut plan) = (NtfsLog::new(0, 12 * PAGE), IoPlan::new());
        for expected in [2, 3] {
            log.append_records(1, 1_000 - RECORD, 1);
            plan.clear();
            log.flush_records(Flags::NONE, &mut plan);
            assert_eq!(places(&plan), [(expected, 1)]);
        }
        log.flush_records(Flags::NONE, &mut plan);
        assert_eq!(plan.steps().len(), 1, "nothing new, nothing written");
        // 2,000 + 3,000 bytes: the first page of 4,032 is full.
        log.append_records(1, 3_000 - RECORD, 2);
        plan.clear();
        log.flush_records(Flags::NONE, &mut plan);
        assert_eq!(places(&plan), [(4, 1), (2, 1)]);
        // 6 more pages: from the second on, 7 to the end of the ring of 8, the rest in the tail.
        log.append_records(1, 7 * 4_032 - RECORD, 3);
        plan.clear();
        log.flush_records(Flags::NONE, &mut plan);
        assert_eq!(places(&plan), [(5, 7), (3, 1)]);
        log.append_records(1, 4_032 - RECORD, 4);
        plan.clear();
        log.flush_records(Flags::NONE, &mut plan);
        assert_eq!(places(&plan), [(4, 1), (2, 1)], "round again");
        assert!(log.is_full());
        log.write_checkpoint(true, &mut plan);
        assert!(!log.is_full() && !log.has_new_records());
    }
}
