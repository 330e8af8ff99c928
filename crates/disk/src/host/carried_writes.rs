//! Landings on their way up through a layer that merges writes or holds them back. A command of such a layer carries
//! several writes under the largest of their stamps; its landings are reported under each write's own_stamp stamp. Active only
//! if landings are asked for; a layer's work does not depend on it.
//!
//! The fate of a sector may be reported more than once: each copy of an array reports its own_stamp, and a layer runs_below may send
//! a command again whose first attempt was cut short. So a run of sectors that went down is kept until nothing with the
//! command's stamp can land any more ([`Device::report_unsettled`]).
//!
//! Several runs of one stamp may cover a sector, if parts of a write overlap one merged with its other parts. Then a
//! landing belongs to the run with the array's number of the landing; without a number, to the first run not yet
//! reported, and if all are, to the last.
//!
//! [`Device::report_unsettled`]: crate::block::Device::report_unsettled

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use core::ops::Range;

use crate::block::{Landing, LandingKind, MemberRole};
use crate::time::Instant;

/// The fewest stamps that are worth scanning for ones to forget.
const MIN_SCAN_SIZE: usize = 64;

/// Sectors of a write that went down under a command's stamp.
#[derive(Clone, Copy)]
struct CarriedRun {
    own_stamp: u64,
    lba: u64,
    end: u64,
    /// The number under which an array accepted it; 0 before, and without an array.
    number: u64,
    /// The fate has been reported, or the layer has the run back and reports it itself.
    reported: bool,
}

impl CarriedRun {
    fn covers_sector(&self, lba: u64) -> bool {
        self.lba <= lba && lba < self.end
    }
}

/// Landings that go up, and the writes below, in flight or in a write cache, by the stamps of the commands that carry them.
#[derive(Clone, Default)]
pub struct CarriedWrites {
    wanted: bool,
    /// By the stamp of their command, in the order in which they went down.
    runs_below: BTreeMap<u64, Vec<CarriedRun>>,
    /// How many stamps below trigger the next scan for ones to forget.
    scan_size: usize,
    unpolled: VecDeque<Landing>,
}

impl CarriedWrites {
    /// With nothing below; `wanted` if landings are asked for.
    pub(super) fn new(wanted: bool) -> CarriedWrites {
        CarriedWrites { wanted, scan_size: MIN_SCAN_SIZE, ..CarriedWrites::default() }
    }

    /// True if landings are asked for.
    #[inline]
    pub(super) fn are_wanted(&self) -> bool {
        self.wanted
    }

    /// Notes that `lba..end` of the write `own_stamp` goes down under the stamp `carried_stamp`.
    pub(super) fn note_carried(&mut self, carried_stamp: u64, own_stamp: u64, lba: u64, end: u64) {
        if !self.wanted {
            return;
        }
        let runs = self.runs_below.entry(carried_stamp).or_default();
        match runs.last_mut() {
            Some(last) if (last.own_stamp, last.end, last.number, last.reported) == (own_stamp, lba, 0, false) => {
                last.end = end
            }
            _ => runs.push(CarriedRun { own_stamp, lba, end, number: 0, reported: false }),
        }
    }

    /// Forgets everything: nothing below is outstanding.
    pub(super) fn forget_all(&mut self) {
        self.runs_below.clear();
    }

    /// True if the stamps below have more than doubled: time to ask which can still land.
    pub(super) fn is_scan_due(&self) -> bool {
        self.runs_below.len() > self.scan_size
    }

    /// Drops reported runs, except under the stamps in `unsettled`, whose commands can still land.
    pub(super) fn keep_unsettled(&mut self, unsettled: &BTreeSet<u64>) {
        self.runs_below.retain(|carried_stamp, runs| {
            if !unsettled.contains(carried_stamp) {
                runs.retain(|run| !run.reported);
            }
            !runs.is_empty()
        });
        self.scan_size = MIN_SCAN_SIZE.max(2 * self.runs_below.len());
    }

    /// Reports the stamps of all writes that are kept, and of landings that were not polled.
    pub(super) fn report_stamps(&self, report_stamp: &mut dyn FnMut(u64)) {
        self.runs_below.values().flatten().for_each(|run| report_stamp(run.own_stamp));
        self.unpolled.iter().for_each(|landing| report_stamp(landing.stamp));
    }

    /// Marks `lba..end` as reported, because its command came back undone: the layer reports its fate. Sectors that may
    /// still land keep their stamp.
    pub(super) fn withdraw_range(&mut self, carried_stamp: u64, lba: u64, end: u64) {
        let mut from = lba;
        while from < end {
            let Some(index) = self.newest_run_at(carried_stamp, from) else { return };
            let to = self.runs_below[&carried_stamp][index].end.min(end);
            self.change_part_of_run(carried_stamp, index, from..to, |run| run.reported = true);
            from = to;
        }
    }

    /// Reports that `lba`, sent under the stamp `carried_stamp`, was superseded before it reached the medium; does nothing if
    /// its fate has been reported.
    pub(super) fn report_superseded(&mut self, now: Instant, carried_stamp: u64, lba: u64) {
        let Some(index) = self.newest_run_at(carried_stamp, lba) else { return };
        let run = self.runs_below[&carried_stamp][index];
        if !run.reported {
            self.report_discarded(now, lba, lba + 1, run.own_stamp);
            self.change_part_of_run(carried_stamp, index, lba..lba + 1, |run| run.reported = true);
        }
    }

    /// Reports everything that is below and unreported as discarded.
    pub(super) fn report_all_lost(&mut self, now: Instant) {
        for run in core::mem::take(&mut self.runs_below).into_values().flatten().filter(|run| !run.reported) {
            self.report_discarded(now, run.lba, run.end, run.own_stamp);
        }
    }

    /// Reports that `lba..end` of the write with this stamp will never reach the medium.
    pub(super) fn report_discarded(&mut self, now: Instant, lba: u64, end: u64, stamp: u64) {
        if !self.wanted {
            return;
        }
        let (sectors, kind) = ((end - lba) as u32, LandingKind::Discarded);
        if let Some(last) = self.unpolled.back_mut() {
            let is_same_write = last.kind == kind && last.role == MemberRole::Every && last.stamp == stamp;
            if is_same_write && (last.from, last.to, last.end()) == (now, now, lba) {
                last.sectors += sectors;
                last.run.sectors += sectors;
                return;
            }
        }
        self.push_landing(Landing { role: MemberRole::Every, ..Landing::new((lba, sectors), stamp, (now, now), kind) });
    }

    /// The next landing to report.
    pub(super) fn pop_landing(&mut self) -> Option<Landing> {
        self.unpolled.pop_front()
    }

    /// Reports a landing that is in addresses and stamps of the requests from above.
    pub(super) fn push_landing(&mut self, landing: Landing) {
        self.unpolled.push_back(landing);
    }

    /// Reports a landing from below, part by part under the stamps of the writes that its command carried. Parity belongs to
    /// no single write, and a rebuild's writes do not come from above: these are reported as they are.
    pub(super) fn translate_landing(&mut self, landing: Landing) {
        let Landing { number, stamp: carried_stamp, kind, .. } = landing;
        if landing.sectors == 0 || !matches!(landing.role, MemberRole::Copy(_) | MemberRole::Every) {
            return self.push_landing(landing);
        }
        // This landing tells the array's number; before it the run has none.
        let is_acceptance = kind == LandingKind::Taken;
        let known_number = if is_acceptance { 0 } else { number };
        let mut lba = landing.lba;
        while lba < landing.end() {
            let stop = self.next_run_bound(carried_stamp, lba, landing.end());
            let index = self.run_of_landing(known_number, carried_stamp, lba);
            let stamp = index.map_or(carried_stamp, |index| self.runs_below[&carried_stamp][index].own_stamp);
            self.push_landing(Landing { stamp, ..landing.slice_sectors(lba - landing.lba, stop - landing.lba) });
            if let Some(index) = index {
                self.change_part_of_run(carried_stamp, index, lba..stop, |run| match is_acceptance {
                    true => run.number = number,
                    false => run.reported = true,
                });
            }
            lba = stop;
        }
    }

    /// The first bound of a run with this stamp after `lba`, at most `end`.
    fn next_run_bound(&self, carried_stamp: u64, lba: u64, end: u64) -> u64 {
        let runs = self.runs_below.get(&carried_stamp).into_iter().flatten();
        runs.flat_map(|run| [run.lba, run.end]).filter(|&bound| bound > lba).fold(end, u64::min)
    }

    /// The index of the run whose sector `lba` a landing with this number and stamp reports.
    fn run_of_landing(&self, number: u64, carried_stamp: u64, lba: u64) -> Option<usize> {
        let runs = self.runs_below.get(&carried_stamp)?;
        let is_unreported = |run: &CarriedRun| run.covers_sector(lba) && !run.reported;
        let has_number =
            |run: &CarriedRun| run.covers_sector(lba) && run.number == number && (number > 0 || !run.reported);
        let found = runs.iter().position(has_number).or_else(|| runs.iter().position(is_unreported));
        found.or_else(|| self.newest_run_at(carried_stamp, lba))
    }

    /// The index of the run that covers `lba` and went down last.
    fn newest_run_at(&self, carried_stamp: u64, lba: u64) -> Option<usize> {
        self.runs_below.get(&carried_stamp)?.iter().rposition(|run| run.covers_sector(lba))
    }

    /// Changes these sectors of a run, and cuts the run at their bounds.
    fn change_part_of_run(
        &mut self,
        carried_stamp: u64,
        index: usize,
        sectors: Range<u64>,
        change: impl FnOnce(&mut CarriedRun),
    ) {
        let runs = self.runs_below.get_mut(&carried_stamp).expect("a stamp that went down");
        let run = runs[index];
        let mut changed = CarriedRun { lba: sectors.start, end: sectors.end, ..run };
        change(&mut changed);
        let parts = [CarriedRun { end: sectors.start, ..run }, changed, CarriedRun { lba: sectors.end, ..run }];
        runs.splice(index..=index, parts.into_iter().filter(|run| run.lba < run.end));
    }
}
