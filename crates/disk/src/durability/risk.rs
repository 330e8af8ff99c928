//! The writes that are not wholly on the medium: those that a cut at this instant could lose.
//!
//! A sector of a write is *safe* once the medium holds there the write itself, a later one, or a *rival*: an overlapping
//! write that was in flight together with it. A client cannot tell which of two rivals came last. Until its sectors are
//! safe the write is *exposed*: a cut would bring back older data. A write is removed once it has been acknowledged and
//! all its sectors are safe.
//!
//! Two writes of the same sectors share one fate, and so one entry, if the earlier was superseded before any of it
//! reached the medium. So memory grows with the data at risk, not with the length of a run.
//!
//! `judge` calls this module with submissions, acknowledgements and landings in one order of time.

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

/// Why a write is durable by its acknowledgement alone, if it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteMarks {
    /// Marked to complete only when it is on the medium.
    pub fua: bool,
    /// While it was in flight, no level acknowledged writes before they were durable.
    pub uncached: bool,
}

impl WriteMarks {
    /// True if the write is durable by its acknowledgement alone.
    pub fn is_forced(self) -> bool {
        self.fua || self.uncached
    }
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

/// An exposed run of a write, as a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ExposedKey {
    /// The first sector.
    lba: u64,
    stamp: u64,
}

/// Writes by stamp, and their sectors that are not safe.
#[derive(Clone, Debug, Default)]
pub(crate) struct WritesAtRisk {
    writes: BTreeMap<u64, WriteAtRisk>,
    /// Exposed runs, each with the sector after its last.
    exposed: BTreeMap<ExposedKey, u64>,
    /// Sectors of the longest run that was ever exposed.
    longest_run: u64,
    /// Stamps of writes not yet acknowledged.
    in_flight: Vec<u64>,
    /// Runs that are on the medium, of writes in flight, each with its stamp.
    landed_in_flight: Vec<(SectorRun, u64)>,
    /// Counts submissions and acknowledgements, to order them.
    actions: u64,
    /// A completed flush covers acknowledgements with a smaller number.
    flushed_before: u64,
    /// By stamp: flushes in flight, each with the number of its submission.
    flushes: BTreeMap<u64, u64>,
    flushes_submitted: u64,
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
    /// How many of its sectors are not safe.
    pub exposed_sectors: u64,
    /// How many writes it stands for.
    pub count: u64,
    /// When the first of them was acknowledged; the others lie evenly between there and the last.
    pub first: Instant,
    /// How many of its sectors a later write superseded in the buffer: they will never reach the medium.
    superseded_sectors: u64,
    /// Flushes that had been submitted when it was acknowledged.
    flushes_before: u64,
    pub acknowledged: Option<Acknowledgement>,
    pub marks: WriteMarks,
    /// Stamps of overlapping writes that were in flight when it was submitted.
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
    /// Submits a write. `uncached`: no level acknowledges writes before they are durable.
    pub(crate) fn submit_write(&mut self, request: &Request, uncached: bool) {
        self.actions += 1;
        let run = (request.lba, request.end());
        let overlaps = |stamp: &u64| self.writes.get(stamp).is_some_and(|other| run_overlap(other.run, run).is_some());
        let rivals: Vec<u64> = self.in_flight.iter().copied().filter(overlaps).collect();
        let landed = self.landed_in_flight.iter().copied();
        let landed_rivals: Vec<(SectorRun, u64)> = landed.filter(|(_, stamp)| rivals.contains(stamp)).collect();
        let marks = WriteMarks { fua: request.flags.has(Flags::FUA), uncached };
        let sectors = run.1 - run.0;
        let write = WriteAtRisk {
            run,
            exposed_sectors: sectors,
            count: 1,
            first: Instant::ZERO,
            superseded_sectors: 0,
            flushes_before: 0,
            acknowledged: None,
            marks,
            rivals,
        };
        self.writes.insert(request.stamp, write);
        self.exposed.insert(ExposedKey { lba: run.0, stamp: request.stamp }, run.1);
        self.longest_run = self.longest_run.max(sectors);
        self.in_flight.push(request.stamp);
        for (part, rival) in landed_rivals {
            self.make_safe(Instant::ZERO, part, rival);
        }
    }

    /// Marks all writes in flight as cached: from now on writes are acknowledged before they are durable.
    pub(crate) fn mark_in_flight_as_cached(&mut self) {
        for stamp in &self.in_flight {
            self.writes.entry(*stamp).and_modify(|write| write.marks.uncached = false);
        }
    }

    /// Acknowledges a write at `at`. Returns the number of the acknowledgement.
    pub(crate) fn acknowledge_write(&mut self, at: Instant, stamp: u64) -> u64 {
        self.actions += 1;
        let number = self.actions;
        self.end_in_flight(stamp);
        match self.writes.get(&stamp).map(|write| (write.run, write.exposed_sectors)) {
            Some((_, 0)) => drop(self.writes.remove(&stamp)),
            Some((run, _)) => {
                let before = self.sectors_at_risk(run);
                let (acknowledged, flushes_before) = (Some(Acknowledgement { at, number }), self.flushes_submitted);
                self.writes.entry(stamp).and_modify(|write| {
                    (write.acknowledged, write.first, write.flushes_before) = (acknowledged, at, flushes_before);
                });
                self.level.bytes += (self.sectors_at_risk(run) - before) * SECTOR;
                self.level.writes += 1;
                self.merge_writes_of_same_fate(run);
            }
            None => {}
        }
        number
    }

    /// Counts sectors of the write `stamp` that a later write superseded before they reached the medium.
    pub(crate) fn supersede_sectors(&mut self, stamp: u64, sectors: u64) {
        if let Some(write) = self.writes.get_mut(&stamp) {
            write.superseded_sectors += sectors;
        }
    }

    /// Merges writes that touch `run`, follow one another and share one fate.
    fn merge_writes_of_same_fate(&mut self, run: SectorRun) {
        let mut stamps: Vec<u64> = self.exposed_runs(run).map(|key| key.stamp).collect();
        stamps.sort_unstable();
        for pair in stamps.windows(2) {
            let (Some(old), Some(new)) = (self.writes.get(&pair[0]), self.writes.get(&pair[1])) else { continue };
            if !self.share_fate(old, new) {
                continue;
            }
            let (count, first) = (old.count, old.first);
            self.exposed.remove(&ExposedKey { lba: old.run.0, stamp: pair[0] });
            self.writes.remove(&pair[0]);
            self.writes.entry(pair[1]).and_modify(|new| (new.count, new.first) = (new.count + count, first));
        }
    }

    /// True if nothing can make one of the writes safe, or covered by a flush, and not the other. No write that touches
    /// them came between.
    fn share_fate(&self, old: &WriteAtRisk, new: &WriteAtRisk) -> bool {
        let sectors = old.run.1 - old.run.0;
        let are_whole = old.exposed_sectors == sectors && new.exposed_sectors == sectors;
        let is_superseded = old.superseded_sectors == sectors;
        let have_no_rivals = old.rivals.is_empty() && new.rivals.is_empty();
        let is_covered = |write: &WriteAtRisk| write.acknowledged.map(|it| self.is_flushed(it.number));
        let have_same_promise =
            is_covered(old).is_some() && (is_covered(old), old.marks) == (is_covered(new), new.marks);
        let same_flushes_cover = is_covered(old) == Some(true) || old.flushes_before == new.flushes_before;
        let are_same_sectors = old.run == new.run;
        are_same_sectors && are_whole && is_superseded && have_no_rivals && have_same_promise && same_flushes_cover
    }

    /// The content of a sector on which the write `stamp` lands now. `volatile`: writes may have been acknowledged before
    /// they were durable.
    pub(crate) fn landed_content(&self, stamp: u64, volatile: bool) -> SectorContent {
        match self.writes.get(&stamp) {
            Some(write) => {
                let acknowledged = write.acknowledged.map(|it| it.number);
                SectorContent { stamp, acknowledged, forced: write.marks.is_forced() }
            }
            // The write was acknowledged long ago, and wholly overwritten before it landed.
            None => SectorContent { stamp, acknowledged: Some(u64::MAX), forced: !volatile },
        }
    }

    /// Removes a failed write: the client does not rely on it.
    pub(crate) fn fail_write(&mut self, stamp: u64) {
        self.actions += 1;
        self.end_in_flight(stamp);
        if let Some(write) = self.writes.remove(&stamp) {
            let keys: Vec<ExposedKey> = self.exposed_runs(write.run).filter(|key| key.stamp == stamp).collect();
            for key in keys {
                self.exposed.remove(&key);
            }
        }
    }

    /// Ends a write's time in flight.
    fn end_in_flight(&mut self, stamp: u64) {
        self.in_flight.retain(|&other| other != stamp);
        self.landed_in_flight.retain(|&(_, other)| other != stamp);
    }

    /// Submits a flush.
    pub(crate) fn submit_flush(&mut self, stamp: u64) {
        self.actions += 1;
        self.flushes_submitted += 1;
        self.flushes.insert(stamp, self.actions);
    }

    /// Completes a flush; `succeeded`: without an error.
    pub(crate) fn complete_flush(&mut self, stamp: u64, succeeded: bool) {
        if let Some(submission) = self.flushes.remove(&stamp).filter(|_| succeeded) {
            self.flushed_before = self.flushed_before.max(submission);
        }
    }

    /// Records that the write `stamp` reached the medium in `run` at `at`.
    pub(crate) fn land_write(&mut self, at: Instant, run: SectorRun, stamp: u64) {
        if !self.landed_in_flight.is_empty() {
            let rests = |(old, of): (SectorRun, u64)| run_without(old, run).map(move |rest| (rest, of));
            self.landed_in_flight = core::mem::take(&mut self.landed_in_flight).into_iter().flat_map(rests).collect();
        }
        if self.in_flight.contains(&stamp) {
            self.landed_in_flight.push((run, stamp));
        }
        self.make_safe(at, run, stamp);
    }

    /// Makes sectors of `run` safe, in each write for which the write `landed`, which the medium holds there, is new enough.
    fn make_safe(&mut self, at: Instant, run: SectorRun, landed: u64) {
        let safe: Vec<(ExposedKey, SectorRun)> = self
            .exposed_runs(run)
            .filter(|key| self.writes.get(&key.stamp).is_some_and(|write| write.is_safe_with(key.stamp, landed)))
            .filter_map(|key| Some((key, run_overlap((key.lba, self.exposed[&key]), run)?)))
            .collect();
        if safe.is_empty() {
            return;
        }
        let before = self.sectors_at_risk(run);
        for (key, (from, to)) in safe {
            let Some(end) = self.exposed.remove(&key) else { continue };
            if key.lba < from {
                self.exposed.insert(key, from);
            }
            if to < end {
                self.exposed.insert(ExposedKey { lba: to, ..key }, end);
            }
            self.count_safe_sectors(at, key.stamp, to - from);
        }
        self.level.bytes -= (before - self.sectors_at_risk(run)) * SECTOR;
    }

    /// Counts sectors of the write `stamp` as safe, and removes the write if it was the last and is acknowledged.
    fn count_safe_sectors(&mut self, at: Instant, stamp: u64, sectors: u64) {
        let Some(write) = self.writes.get_mut(&stamp) else { return };
        write.exposed_sectors -= sectors;
        if write.exposed_sectors == 0 && write.acknowledged.is_some() {
            self.level.writes -= write.count;
            self.longest_at_risk = self.longest_at_risk.max(at.saturating_since(write.first));
            self.writes.remove(&stamp);
        }
    }

    /// The exposed runs that touch `run`.
    fn exposed_runs(&self, run: SectorRun) -> impl Iterator<Item = ExposedKey> + '_ {
        let first = ExposedKey { lba: run.0.saturating_sub(self.longest_run), stamp: 0 };
        let near = self.exposed.range(first..ExposedKey { lba: run.1, stamp: 0 });
        near.filter(move |&(_, &end)| end > run.0).map(|(&key, _)| key)
    }

    /// The number of sectors of `run` that hold older data than acknowledged.
    fn sectors_at_risk(&self, run: SectorRun) -> u64 {
        let is_acknowledged =
            |key: &ExposedKey| self.writes.get(&key.stamp).is_some_and(|write| write.acknowledged.is_some());
        let runs = self.exposed_runs(run).filter(is_acknowledged);
        union_sectors(runs.filter_map(|key| run_overlap((key.lba, self.exposed[&key]), run)))
    }

    /// Acknowledged data that are not on the medium.
    pub(crate) fn risk_level(&self) -> RiskLevel {
        self.level
    }

    /// The marks of a write in flight or at risk.
    pub(crate) fn write_marks(&self, stamp: u64) -> Option<WriteMarks> {
        self.writes.get(&stamp).map(|write| write.marks)
    }

    /// True if no write is in flight or at risk.
    pub(crate) fn is_idle(&self) -> bool {
        self.writes.is_empty()
    }

    /// The longest time for which the data of a write have been at risk, until `now`.
    pub fn longest_at_risk(&self, now: Instant) -> Span {
        let at_risk = self.writes.values().filter(|write| write.acknowledged.is_some());
        let oldest = at_risk.map(|write| now.saturating_since(write.first)).max();
        self.longest_at_risk.max(oldest.unwrap_or(Span::ZERO))
    }

    /// True if a completed flush covers an acknowledgement with this number.
    pub fn is_flushed(&self, number: u64) -> bool {
        number < self.flushed_before
    }

    /// Returns all writes as a cut would find them, if the runs of `besides` (with their stamps) are on the medium as
    /// well.
    pub(crate) fn writes_at_cut(&self, besides: &[(SectorRun, u64)]) -> Vec<WriteAtCut<'_>> {
        // Stamps with their missing runs.
        let mut missing: Vec<(u64, SectorRun)> = Vec::with_capacity(self.exposed.len());
        for (&ExposedKey { lba, stamp }, &end) in &self.exposed {
            let write = &self.writes[&stamp];
            let new_enough = besides.iter().filter(|&&(_, landed)| write.is_safe_with(stamp, landed));
            let mut from = lba;
            // `besides` are contiguous in one physical sector.
            for (start, stop) in new_enough.filter_map(|&(run, _)| run_overlap(run, (lba, end))) {
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
        let is_flushed = |write: &WriteAtRisk| write.acknowledged.is_some_and(|it| self.is_flushed(it.number));
        let mut missing = missing.into_iter().peekable();
        let writes_at_cut = self.writes.iter().map(|(&stamp, write)| {
            let own = core::iter::from_fn(|| missing.next_if(|(of, _)| *of == stamp)).map(|(_, run)| run);
            WriteAtCut { stamp, write, count: write.count, flushed: is_flushed(write), missing: own.collect() }
        });
        writes_at_cut.collect()
    }
}

impl WriteAtRisk {
    /// Creates an acknowledged write that is on the medium.
    pub fn on_medium(run: SectorRun, acknowledged: Acknowledgement, marks: WriteMarks) -> WriteAtRisk {
        WriteAtRisk {
            run,
            exposed_sectors: 0,
            count: 1,
            first: acknowledged.at,
            superseded_sectors: 0,
            flushes_before: 0,
            acknowledged: Some(acknowledged),
            marks,
            rivals: Vec::new(),
        }
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

    /// The runs that a cut would lose, write by write.
    fn missing_runs(risk: &WritesAtRisk) -> Vec<Vec<SectorRun>> {
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
        assert_eq!(
            (risk.risk_level(), missing_runs(&risk)),
            (RiskLevel { bytes: 2560, writes: 1 }, vec![vec![(103, 108)]])
        );
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
        // Two writes of the same sectors, which count once.
        assert_eq!(risk.risk_level(), RiskLevel { bytes: 4096, writes: 2 });
        risk.land_write(AT, (100, 108), 1);
        assert_eq!(missing_runs(&risk), [[(100, 108)]]);
        risk.submit_write(&write(3, 104, 8), false);
        risk.acknowledge_write(AT, 3);
        risk.land_write(AT, (104, 112), 3);
        assert_eq!(missing_runs(&risk), [[(100, 104)]]);
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
        // The earlier content may have come last, as long as its write is in flight.
        risk.submit_write(&write(3, 104, 8), false);
        risk.acknowledge_write(AT, 1);
        risk.submit_write(&write(4, 104, 8), false);
        assert_eq!(missing_runs(&risk), [[(108, 112)], [(104, 112)]]);
    }

    #[test]
    fn a_flush_covers_what_was_acknowledged_before_it_was_submitted() {
        let mut risk = WritesAtRisk::default();
        risk.submit_write(&write(1, 100, 8), false);
        risk.submit_write(&write(2, 200, 8), false);
        risk.acknowledge_write(AT, 1);
        risk.submit_flush(3);
        risk.acknowledge_write(AT, 2);
        let are_flushed = |risk: &WritesAtRisk| risk.writes_at_cut(&[]).iter().map(|it| it.flushed).collect::<Vec<_>>();
        assert_eq!(are_flushed(&risk), [false, false]);
        risk.complete_flush(3, true);
        assert_eq!(are_flushed(&risk), [true, false]);
        risk.submit_flush(4);
        risk.complete_flush(4, false);
        assert_eq!(are_flushed(&risk), [true, false]);
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
