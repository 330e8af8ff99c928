//! The writes that are not wholly on the medium: those that a cut at this instant could lose.
//!
//! A sector of a write is *safe* once the medium holds there the write itself, a later one, or one that was in flight
//! together with it: of two such writes a client cannot tell which came last. Until then a cut would bring back older
//! data. A write is removed once it has been acknowledged and all its sectors are safe. Writes of the same sectors, of
//! which the earlier was superseded before any of it reached the medium, share one fate and one entry. So memory grows
//! with the data at risk, not with the length of a run.
//!
//! The order of landings is decided by `judge`.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::block::{Flags, Request, SECTOR};
use crate::time::{Instant, Span};

use super::runs::{SectorRun, SectorRuns, run_overlap, run_without, union_sectors};

/// The content of a run of sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SectorContent {
    /// The stamp of the write that brought it.
    pub stamp: u64,
    /// The number of its acknowledgement, if it has one.
    pub acknowledged: Option<u64>,
    /// Durable by its acknowledgement alone: no flush is needed.
    pub forced: bool,
}

impl SectorRuns<SectorContent> {
    /// Marks the content that the write `stamp` brought to `run` as acknowledged.
    pub(crate) fn mark_acknowledged(&mut self, run: SectorRun, stamp: u64, number: u64, forced: bool) {
        self.update_touching(run, |held| {
            if held.stamp == stamp {
                (held.acknowledged, held.forced) = (Some(number), forced);
            }
        });
    }
}

/// Writes by stamp, and their sectors that are not safe.
#[derive(Clone, Debug, Default)]
pub(crate) struct WritesAtRisk {
    writes: BTreeMap<u64, WriteAtRisk>,
    /// First sector and stamp, to the sector after the last.
    exposed: BTreeMap<(u64, u64), u64>,
    /// The longest run that was ever exposed.
    longest: u64,
    /// Writes not yet acknowledged.
    in_flight: Vec<u64>,
    /// Runs of writes in flight that are on the medium.
    early: Vec<(SectorRun, u64)>,
    /// Counts submissions and acknowledgements, to order them.
    doings: u64,
    /// A completed flush covers acknowledgements with a smaller number.
    flushed: u64,
    /// By stamp: flushes in flight, each with the number of its submission.
    flushes: BTreeMap<u64, u64>,
    /// Flushes submitted.
    epoch: u64,
    level: RiskLevel,
    longest_at_risk: Span,
}

/// Acknowledged data that are not on the medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RiskLevel {
    /// Each sector counted once.
    pub bytes: u64,
    pub writes: u64,
}

/// A write, with earlier ones that share its fate.
#[derive(Clone, Debug)]
pub struct WriteAtRisk {
    pub run: SectorRun,
    /// Sectors that are not safe.
    pub left: u64,
    /// How many writes it stands for.
    pub count: u64,
    /// When the first of them was acknowledged; the others lie evenly between there and the last.
    pub first: Instant,
    /// Sectors that a later write superseded in the buffer: they will never reach the medium.
    superseded: u64,
    /// Flushes that had been submitted when it was acknowledged.
    epoch: u64,
    pub acknowledged: Option<Acknowledgement>,
    /// Marked to complete only when it is on the medium.
    pub fua: bool,
    /// While it was in flight, no level acknowledged writes before they were durable.
    pub sure: bool,
    /// Overlapping writes that were in flight when it was submitted.
    rivals: Vec<u64>,
}

/// An acknowledgement: its instant, and its number among the client's actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    pub at: Instant,
    /// Submissions and acknowledgements up to and including this one.
    pub number: u64,
}

/// A write at a cut.
pub struct WriteAtCut<'a> {
    pub stamp: u64,
    pub write: &'a WriteAtRisk,
    /// How many writes it stands for.
    pub count: u64,
    /// Covered by a completed flush.
    pub flushed: bool,
    /// Sectors that the cut loses, in order.
    pub missing: Vec<SectorRun>,
}

impl WritesAtRisk {
    /// Submits a write; `sure`: no level acknowledges writes before they are durable.
    pub(crate) fn submit_write(&mut self, request: &Request, sure: bool) {
        self.doings += 1;
        let run = (request.lba, request.end());
        let overlaps = |stamp: &u64| self.writes.get(stamp).is_some_and(|other| run_overlap(other.run, run).is_some());
        let rivals: Vec<u64> = self.in_flight.iter().copied().filter(overlaps).collect();
        let early: Vec<(SectorRun, u64)> = self.early.iter().copied().filter(|part| rivals.contains(&part.1)).collect();
        let (left, fua) = (run.1 - run.0, request.flags.has(Flags::FUA));
        let (count, first, epoch) = (1, Instant::ZERO, 0);
        let write =
            WriteAtRisk { run, left, count, first, superseded: 0, epoch, acknowledged: None, fua, sure, rivals };
        self.writes.insert(request.stamp, write);
        self.exposed.insert((run.0, request.stamp), run.1);
        self.longest = self.longest.max(left);
        self.in_flight.push(request.stamp);
        for (part, rival) in early {
            self.make_safe(Instant::ZERO, part, rival);
        }
    }

    /// Marks all writes in flight: from now on writes are acknowledged before they are durable.
    pub(crate) fn mark_unsure(&mut self) {
        for stamp in &self.in_flight {
            self.writes.entry(*stamp).and_modify(|write| write.sure = false);
        }
    }

    /// Acknowledges a write at `at`. Returns the number of the acknowledgement.
    pub(crate) fn acknowledge_write(&mut self, at: Instant, stamp: u64) -> u64 {
        self.doings += 1;
        let number = self.doings;
        self.end_in_flight(stamp);
        match self.writes.get(&stamp).map(|write| (write.run, write.left)) {
            Some((_, 0)) => drop(self.writes.remove(&stamp)),
            Some((run, _)) => {
                let before = self.sectors_at_risk(run);
                let (acknowledged, epoch) = (Some(Acknowledgement { at, number }), self.epoch);
                self.writes.entry(stamp).and_modify(|write| {
                    (write.acknowledged, write.first, write.epoch) = (acknowledged, at, epoch);
                });
                self.level.bytes += (self.sectors_at_risk(run) - before) * SECTOR;
                self.level.writes += 1;
                self.merge_same_fate(run);
            }
            None => {}
        }
        number
    }

    /// Counts sectors of the write `stamp` that a later write superseded before they reached the medium.
    pub(crate) fn supersede_sectors(&mut self, stamp: u64, sectors: u64) {
        if let Some(write) = self.writes.get_mut(&stamp) {
            write.superseded += sectors;
        }
    }

    /// Merges writes that touch `run`, are neighbours in time and share one fate.
    fn merge_same_fate(&mut self, run: SectorRun) {
        let mut near: Vec<u64> = self.exposed_runs(run).map(|key| key.1).collect();
        near.sort_unstable();
        for pair in near.windows(2) {
            let (Some(old), Some(new)) = (self.writes.get(&pair[0]), self.writes.get(&pair[1])) else { continue };
            if !self.share_fate(old, new) {
                continue;
            }
            let (count, first) = (old.count, old.first);
            self.exposed.remove(&(old.run.0, pair[0]));
            self.writes.remove(&pair[0]);
            self.writes.entry(pair[1]).and_modify(|new| (new.count, new.first) = (new.count + count, first));
        }
    }

    /// True if nothing can make one of them safe, or covered by a flush, and not the other; no write that touches them
    /// came between.
    fn share_fate(&self, old: &WriteAtRisk, new: &WriteAtRisk) -> bool {
        let sectors = old.run.1 - old.run.0;
        let whole = old.left == sectors && new.left == sectors && old.superseded == sectors;
        let alone = old.rivals.is_empty() && new.rivals.is_empty();
        let promise =
            |write: &WriteAtRisk| write.acknowledged.map(|it| (self.is_flushed(it.number), write.fua, write.sure));
        let promised = promise(old).is_some() && promise(old) == promise(new);
        let covered = old.acknowledged.is_some_and(|it| self.is_flushed(it.number));
        old.run == new.run && whole && alone && promised && (covered || old.epoch == new.epoch)
    }

    /// Content of a sector on which the write `stamp` lands now. `volatile`: writes may be acknowledged before.
    pub(crate) fn landed_content(&self, stamp: u64, volatile: bool) -> SectorContent {
        match self.writes.get(&stamp) {
            Some(write) => {
                let acknowledged = write.acknowledged.map(|it| it.number);
                SectorContent { stamp, acknowledged, forced: write.fua || write.sure }
            }
            // Acknowledged long ago, and wholly overwritten before it landed.
            None => SectorContent { stamp, acknowledged: Some(u64::MAX), forced: !volatile },
        }
    }

    /// Removes a failed write: the client does not rely on it.
    pub(crate) fn fail_write(&mut self, stamp: u64) {
        self.doings += 1;
        self.end_in_flight(stamp);
        if let Some(write) = self.writes.remove(&stamp) {
            let keys: Vec<(u64, u64)> = self.exposed_runs(write.run).filter(|key| key.1 == stamp).collect();
            for key in keys {
                self.exposed.remove(&key);
            }
        }
    }

    /// Ends a write's time in flight.
    fn end_in_flight(&mut self, stamp: u64) {
        self.in_flight.retain(|&other| other != stamp);
        self.early.retain(|&(_, other)| other != stamp);
    }

    /// Submits a flush.
    pub(crate) fn submit_flush(&mut self, stamp: u64) {
        self.doings += 1;
        self.epoch += 1;
        self.flushes.insert(stamp, self.doings);
    }

    /// Completes a flush; `done`: without an error.
    pub(crate) fn complete_flush(&mut self, stamp: u64, done: bool) {
        if let Some(begun) = self.flushes.remove(&stamp).filter(|_| done) {
            self.flushed = self.flushed.max(begun);
        }
    }

    /// Records that the write `stamp` reached the medium in `run` at `at`.
    pub(crate) fn land_write(&mut self, at: Instant, run: SectorRun, stamp: u64) {
        if !self.early.is_empty() {
            let rests = |(old, of): (SectorRun, u64)| run_without(old, run).map(move |rest| (rest, of));
            self.early = core::mem::take(&mut self.early).into_iter().flat_map(rests).collect();
        }
        if self.in_flight.contains(&stamp) {
            self.early.push((run, stamp));
        }
        self.make_safe(at, run, stamp);
    }

    /// Makes those sectors of `run` safe for which the write `stamp` is new enough.
    fn make_safe(&mut self, at: Instant, run: SectorRun, stamp: u64) {
        let safe: Vec<((u64, u64), SectorRun)> = self
            .exposed_runs(run)
            .filter(|key| self.writes.get(&key.1).is_some_and(|write| write.is_safe_with(key.1, stamp)))
            .filter_map(|key| Some((key, run_overlap((key.0, self.exposed[&key]), run)?)))
            .collect();
        if safe.is_empty() {
            return;
        }
        let before = self.sectors_at_risk(run);
        for ((lba, of), (from, to)) in safe {
            let Some(end) = self.exposed.remove(&(lba, of)) else { continue };
            if lba < from {
                self.exposed.insert((lba, of), from);
            }
            if to < end {
                self.exposed.insert((to, of), end);
            }
            self.count_safe(at, of, to - from);
        }
        self.level.bytes -= (before - self.sectors_at_risk(run)) * SECTOR;
    }

    fn count_safe(&mut self, at: Instant, stamp: u64, sectors: u64) {
        let Some(write) = self.writes.get_mut(&stamp) else { return };
        write.left -= sectors;
        if write.left == 0 && write.acknowledged.is_some() {
            self.level.writes -= write.count;
            self.longest_at_risk = self.longest_at_risk.max(at.saturating_since(write.first));
            self.writes.remove(&stamp);
        }
    }

    /// The exposed runs that may touch `run`, by first sector and stamp.
    fn exposed_runs(&self, run: SectorRun) -> impl Iterator<Item = (u64, u64)> + '_ {
        let from = run.0.saturating_sub(self.longest);
        let near = self.exposed.range((from, 0)..(run.1, 0));
        near.filter(move |&(_, &end)| end > run.0).map(|(&key, _)| key)
    }

    /// Number of sectors of `run` that hold older data than acknowledged.
    fn sectors_at_risk(&self, run: SectorRun) -> u64 {
        let acknowledged = |key: &(u64, u64)| self.writes.get(&key.1).is_some_and(|write| write.acknowledged.is_some());
        let runs = self.exposed_runs(run).filter(acknowledged);
        union_sectors(runs.filter_map(|key| run_overlap((key.0, self.exposed[&key]), run)))
    }

    /// Acknowledged data that are not on the medium.
    pub(crate) fn risk_level(&self) -> RiskLevel {
        self.level
    }

    /// Returns (`fua`, `sure`) of a write in flight or at risk.
    pub(crate) fn write_marks(&self, stamp: u64) -> Option<(bool, bool)> {
        self.writes.get(&stamp).map(|write| (write.fua, write.sure))
    }

    /// True if no write is in flight or at risk.
    pub(crate) fn is_idle(&self) -> bool {
        self.writes.is_empty()
    }

    /// The longest time for which the data of a write have been at risk, until `now`.
    pub fn longest_at_risk(&self, now: Instant) -> Span {
        let still = self.writes.values().filter(|write| write.acknowledged.is_some());
        let oldest = still.map(|write| now.saturating_since(write.first)).max();
        self.longest_at_risk.max(oldest.unwrap_or(Span::ZERO))
    }

    /// True if a completed flush covers an acknowledgement with this number.
    pub fn is_flushed(&self, number: u64) -> bool {
        number < self.flushed
    }

    /// Returns all writes as a cut would find them, if the runs of `besides` (with their stamps) are on the medium as
    /// well.
    pub(crate) fn writes_at_cut(&self, besides: &[(SectorRun, u64)]) -> Vec<WriteAtCut<'_>> {
        let mut missing: Vec<(u64, SectorRun)> = Vec::with_capacity(self.exposed.len());
        for (&(lba, stamp), &end) in &self.exposed {
            let write = &self.writes[&stamp];
            let accepted = besides.iter().filter(|&&(_, landed)| write.is_safe_with(stamp, landed));
            let mut from = lba;
            // `besides` are contiguous in one physical sector.
            for (start, stop) in accepted.filter_map(|&(run, _)| run_overlap(run, (lba, end))) {
                if from < start {
                    missing.push((stamp, (from, start)));
                }
                from = stop;
            }
            if from < end {
                missing.push((stamp, (from, end)));
            }
        }
        missing.sort_unstable();
        let flushed = |write: &WriteAtRisk| write.acknowledged.is_some_and(|it| self.is_flushed(it.number));
        let mut missing = missing.into_iter().peekable();
        let standing = self.writes.iter().map(|(&stamp, write)| {
            let own = core::iter::from_fn(|| missing.next_if(|(of, _)| *of == stamp)).map(|(_, run)| run);
            WriteAtCut { stamp, write, count: write.count, flushed: flushed(write), missing: own.collect() }
        });
        standing.collect()
    }
}

impl WriteAtRisk {
    /// Creates an acknowledged write that is on the medium.
    pub fn on_medium(run: SectorRun, acknowledged: Acknowledgement, (fua, sure): (bool, bool)) -> WriteAtRisk {
        let (left, count, first, superseded, epoch, rivals) = (0, 1, acknowledged.at, 0, 0, Vec::new());
        WriteAtRisk { run, left, count, first, superseded, epoch, acknowledged: Some(acknowledged), fua, sure, rivals }
    }

    /// True if this write, `own`, is safe where the medium holds the write `landed`.
    fn is_safe_with(&self, own: u64, landed: u64) -> bool {
        landed >= own || self.rivals.contains(&landed)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::block::Op;

    fn write(stamp: u64, lba: u64, sectors: u32) -> Request {
        Request { tag: 0, unit: 0, origin: 0, op: Op::Write, flags: Flags::NONE, lba, sectors, stamp }
    }

    const AT: Instant = Instant::ZERO;

    fn missing(risk: &WritesAtRisk) -> Vec<Vec<SectorRun>> {
        risk.writes_at_cut(&[]).into_iter().map(|it| it.missing).collect()
    }

    #[test]
    fn a_write_is_at_risk_from_its_acknowledgement_until_it_is_on_the_medium() {
        let mut risk = WritesAtRisk::default();
        risk.submit_write(&write(1, 100, 8), false);
        assert_eq!(risk.risk_level(), RiskLevel::default());
        risk.acknowledge_write(AT, 1);
        assert_eq!(risk.risk_level(), RiskLevel { bytes: 4096, writes: 1 });
        risk.land_write(AT, (100, 103), 1);
        assert_eq!((risk.risk_level(), missing(&risk)), (RiskLevel { bytes: 2560, writes: 1 }, vec![vec![(103, 108)]]));
        risk.land_write(AT, (103, 108), 1);
        assert!(risk.is_idle() && risk.risk_level() == RiskLevel::default());
    }

    #[test]
    fn a_later_write_on_the_medium_makes_an_earlier_one_safe_and_not_the_other_way() {
        let mut risk = WritesAtRisk::default();
        for stamp in [1, 2] {
            risk.submit_write(&write(stamp, 100, 8), false);
            risk.acknowledge_write(AT, stamp);
        }
        // Two writes, one sector each counted once.
        assert_eq!(risk.risk_level(), RiskLevel { bytes: 4096, writes: 2 });
        risk.land_write(AT, (100, 108), 1);
        assert_eq!(missing(&risk), [[(100, 108)]]);
        risk.submit_write(&write(3, 104, 8), false);
        risk.acknowledge_write(AT, 3);
        risk.land_write(AT, (104, 112), 3);
        assert_eq!(missing(&risk), [[(100, 104)]]);
    }

    #[test]
    fn a_block_written_again_and_again_is_one_entry_and_many_writes() {
        let mut risk = WritesAtRisk::default();
        for stamp in 1..=1000 {
            risk.submit_write(&write(stamp, 100, 8), false);
            risk.supersede_sectors(stamp - 1, 8);
            risk.acknowledge_write(Instant::from_nanos(stamp), stamp);
        }
        assert_eq!(risk.risk_level(), RiskLevel { bytes: 4096, writes: 1000 });
        assert_eq!((risk.writes.len(), risk.exposed.len()), (1, 1));
        // A flush under way may cover the writes before it and not those after.
        risk.submit_flush(2000);
        risk.submit_write(&write(2001, 100, 8), false);
        risk.supersede_sectors(1000, 8);
        risk.acknowledge_write(Instant::from_nanos(2000), 2001);
        assert_eq!(risk.writes.len(), 2);
        // Sectors that may still reach the medium keep a write separate.
        risk.submit_write(&write(2002, 100, 8), false);
        risk.supersede_sectors(2001, 4);
        risk.acknowledge_write(Instant::from_nanos(2000), 2002);
        assert_eq!((risk.writes.len(), risk.risk_level().writes), (3, 1002));
        risk.land_write(Instant::from_nanos(3001), (100, 108), 2002);
        assert_eq!((risk.risk_level(), risk.longest_at_risk(AT).nanos()), (RiskLevel::default(), 3000));
    }

    #[test]
    fn of_two_writes_in_flight_together_either_may_stay() {
        let mut risk = WritesAtRisk::default();
        risk.submit_write(&write(1, 100, 8), false);
        risk.submit_write(&write(2, 100, 8), false);
        risk.land_write(AT, (100, 108), 1);
        risk.acknowledge_write(AT, 2);
        // Earlier content may be what came last, while that write is in flight.
        risk.submit_write(&write(3, 104, 8), false);
        risk.acknowledge_write(AT, 1);
        risk.submit_write(&write(4, 104, 8), false);
        assert_eq!(missing(&risk), [[(108, 112)], [(104, 112)]]);
    }

    #[test]
    fn a_flush_covers_what_was_acknowledged_before_it_was_submitted() {
        let mut risk = WritesAtRisk::default();
        risk.submit_write(&write(1, 100, 8), false);
        risk.submit_write(&write(2, 200, 8), false);
        risk.acknowledge_write(AT, 1);
        risk.submit_flush(3);
        risk.acknowledge_write(AT, 2);
        let covered = |risk: &WritesAtRisk| risk.writes_at_cut(&[]).iter().map(|it| it.flushed).collect::<Vec<_>>();
        assert_eq!(covered(&risk), [false, false]);
        risk.complete_flush(3, true);
        assert_eq!(covered(&risk), [true, false]);
        risk.submit_flush(4);
        risk.complete_flush(4, false);
        assert_eq!(covered(&risk), [true, false]);
    }

    #[test]
    fn a_failed_write_is_forgotten_and_a_finished_sector_counts_at_the_cut_only() {
        let mut risk = WritesAtRisk::default();
        risk.submit_write(&write(1, 100, 8), false);
        risk.submit_write(&write(2, 104, 8), false);
        risk.fail_write(2);
        risk.acknowledge_write(AT, 1);
        let standing = risk.writes_at_cut(&[((102, 104), 1), ((104, 106), 2)]);
        assert_eq!(standing[0].missing, [(100, 102), (106, 108)]);
        assert_eq!(risk.risk_level().bytes, 4096);
    }
}
