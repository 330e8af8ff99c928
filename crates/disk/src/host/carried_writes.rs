//! Landings on their way up. If a command carries several writes, its landings are reported under each write's own
//! stamp, for layers that merge writes or hold them back. Active only if landings are asked for; a layer's work does not
//! depend on it.
//!
//! A command carries the largest stamp of its writes. The fate of a sector may be reported more than once: each copy of
//! an array reports its own, and a layer below may send a command again whose first attempt was cut short. So what went
//! down is kept until nothing with that stamp can land any more ([`Device::report_unsettled`]). If several runs of one stamp
//! cover a sector (parts of a write that overlaps one merged with its other parts), a landing belongs to the run with its
//! array's number; without a number, to the first not yet reported, and if all are, to the last.
//!
//! [`Device::report_unsettled`]: crate::block::Device::report_unsettled

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

use crate::block::{Landing, LandingKind, MemberRole};
use crate::time::Instant;

/// The fewest stamps that are worth scanning for ones to forget.
const MANY: usize = 64;

/// Sectors of a write that went down under a command's stamp.
#[derive(Clone, Copy)]
struct CarriedRun {
    own: u64,
    lba: u64,
    end: u64,
    /// The number under which an array accepted it; 0 before, and without an array.
    number: u64,
    /// The fate has been reported, or the layer has the run back and reports it itself.
    said: bool,
}

impl CarriedRun {
    fn covers_sector(&self, lba: u64) -> bool {
        self.lba <= lba && lba < self.end
    }
}

/// Landings that go up, and writes below, or in a write cache there, under another stamp than their own.
#[derive(Default)]
pub struct CarriedWrites {
    wanted: bool,
    /// By the stamp that they went down under, in the order in which they did.
    below: BTreeMap<u64, Vec<CarriedRun>>,
    /// How many stamps below trigger the next scan for ones to forget.
    enough: usize,
    told: VecDeque<Landing>,
}

impl CarriedWrites {
    /// With nothing below; `wanted` if landings are asked for.
    pub(super) fn new(wanted: bool) -> CarriedWrites {
        CarriedWrites { wanted, enough: MANY, ..CarriedWrites::default() }
    }

    /// True if landings are asked for.
    #[inline]
    pub(super) fn are_wanted(&self) -> bool {
        self.wanted
    }

    /// Notes that `lba..end` of the write `own` goes down under the stamp `carried`.
    pub(super) fn note_carried(&mut self, carried: u64, own: u64, lba: u64, end: u64) {
        if !self.wanted {
            return;
        }
        let runs = self.below.entry(carried).or_default();
        match runs.last_mut() {
            Some(last) if (last.own, last.end, last.number, last.said) == (own, lba, 0, false) => last.end = end,
            _ => runs.push(CarriedRun { own, lba, end, number: 0, said: false }),
        }
    }

    /// Forgets everything: nothing below is outstanding.
    pub(super) fn forget_all(&mut self) {
        self.below.clear();
    }

    /// True if the stamps below have more than doubled: time to ask which can still land.
    pub(super) fn is_scan_due(&self) -> bool {
        self.below.len() > self.enough
    }

    /// Drops reported runs, except under the stamps in `unsettled`, whose commands can still land.
    pub(super) fn keep_unsettled(&mut self, unsettled: &BTreeSet<u64>) {
        self.below.retain(|carried, runs| {
            if !unsettled.contains(carried) {
                runs.retain(|run| !run.said);
            }
            !runs.is_empty()
        });
        self.enough = MANY.max(2 * self.below.len());
    }

    /// Reports the stamps that are kept here.
    pub(super) fn report_stamps(&self, tell: &mut dyn FnMut(u64)) {
        self.below.values().flatten().for_each(|run| tell(run.own));
        self.told.iter().for_each(|landing| tell(landing.stamp));
    }

    /// Takes `lba..end` back, whose command came back undone: the layer reports its fate. Sectors that may still land keep
    /// their stamp.
    pub(super) fn withdraw_range(&mut self, carried: u64, lba: u64, end: u64) {
        let mut at = lba;
        while at < end {
            let Some(index) = self.newest_run(carried, at) else { return };
            let stop = self.below[&carried][index].end.min(end);
            self.change_run(carried, index, (at, stop), |run| run.said = true);
            at = stop;
        }
    }

    /// Reports that `lba`, sent under the stamp `carried`, was superseded before it reached the medium; does nothing if
    /// its fate has been reported.
    pub(super) fn report_superseded(&mut self, now: Instant, carried: u64, lba: u64) {
        let Some(index) = self.newest_run(carried, lba) else { return };
        let run = self.below[&carried][index];
        if !run.said {
            self.report_discarded(now, lba, lba + 1, run.own);
            self.change_run(carried, index, (lba, lba + 1), |run| run.said = true);
        }
    }

    /// Reports everything as lost that is below and unreported.
    pub(super) fn report_all_lost(&mut self, now: Instant) {
        for run in core::mem::take(&mut self.below).into_values().flatten().filter(|run| !run.said) {
            self.report_discarded(now, run.lba, run.end, run.own);
        }
    }

    /// Reports that `lba..end` of the write with this stamp will never reach the medium.
    pub(super) fn report_discarded(&mut self, now: Instant, lba: u64, end: u64, stamp: u64) {
        if !self.wanted {
            return;
        }
        let (sectors, kind) = ((end - lba) as u32, LandingKind::Discarded);
        if let Some(last) = self.told.back_mut() {
            let on = last.kind == kind && last.role == MemberRole::Every && last.stamp == stamp;
            if on && (last.from, last.to, last.end()) == (now, now, lba) {
                last.sectors += sectors;
                last.run.sectors += sectors;
                return;
            }
        }
        self.push_landing(Landing { role: MemberRole::Every, ..Landing::new((lba, sectors), stamp, (now, now), kind) });
    }

    /// The next landing to report.
    pub(super) fn pop_landing(&mut self) -> Option<Landing> {
        self.told.pop_front()
    }

    /// Reports a landing in addresses and stamps of the requests from above.
    pub(super) fn push_landing(&mut self, landing: Landing) {
        self.told.push_back(landing);
    }

    /// Translates a landing from below, part by part. Parity belongs to no single write, and a rebuild's writes do not
    /// come from above.
    pub(super) fn translate_landing(&mut self, landing: Landing) {
        let Landing { number, stamp: carried, kind, .. } = landing;
        if landing.sectors == 0 || !matches!(landing.role, MemberRole::Copy(_) | MemberRole::Every) {
            return self.push_landing(landing);
        }
        // The array had not accepted it before this.
        let taken = kind == LandingKind::Taken;
        let known_by = if taken { 0 } else { number };
        let mut lba = landing.lba;
        while lba < landing.end() {
            let stop = self.next_bound(carried, lba, landing.end());
            let index = self.find_run(known_by, carried, lba);
            let stamp = index.map_or(carried, |index| self.below[&carried][index].own);
            self.push_landing(Landing { stamp, ..landing.slice_sectors(lba - landing.lba, stop - landing.lba) });
            if let Some(index) = index {
                self.change_run(carried, index, (lba, stop), |run| match taken {
                    true => run.number = number,
                    false => run.said = true,
                });
            }
            lba = stop;
        }
    }

    /// The first bound of a run with this stamp after `lba`, at most `end`.
    fn next_bound(&self, carried: u64, lba: u64, end: u64) -> u64 {
        let runs = self.below.get(&carried).into_iter().flatten();
        runs.flat_map(|run| [run.lba, run.end]).filter(|&bound| bound > lba).fold(end, u64::min)
    }

    /// The run whose sector `lba` a landing with this number and stamp reports.
    fn find_run(&self, number: u64, carried: u64, lba: u64) -> Option<usize> {
        let runs = self.below.get(&carried)?;
        let unsaid = |run: &CarriedRun| run.covers_sector(lba) && !run.said;
        let known = |run: &CarriedRun| run.covers_sector(lba) && run.number == number && (number > 0 || !run.said);
        runs.iter().position(known).or_else(|| runs.iter().position(unsaid)).or_else(|| self.newest_run(carried, lba))
    }

    /// The run that covers `lba` and went down last.
    fn newest_run(&self, carried: u64, lba: u64) -> Option<usize> {
        self.below.get(&carried)?.iter().rposition(|run| run.covers_sector(lba))
    }

    /// Changes `from..to` of a run, which it cuts there.
    fn change_run(&mut self, carried: u64, index: usize, (from, to): (u64, u64), change: impl FnOnce(&mut CarriedRun)) {
        let runs = self.below.get_mut(&carried).expect("a stamp that went down");
        let run = runs[index];
        let mut changed = CarriedRun { lba: from, end: to, ..run };
        change(&mut changed);
        let parts = [CarriedRun { end: from, ..run }, changed, CarriedRun { lba: to, ..run }];
        runs.splice(index..=index, parts.into_iter().filter(|run| run.lba < run.end));
    }
}
