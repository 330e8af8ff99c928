//! Fates of written sectors after a power cut: the arithmetic of rules 5 and 6 of the [contract](super). The drive that
//! is cut uses it, and a judge that computes afterwards what a cut would have left.
//!
//! A landing tells when each of its sectors passed under the head. So the landings of a simulation without a cut
//! suffice to compute the state after a cut at any instant: [`report_fates`] takes all of them, in the order in which
//! they were reported, each whole. The rules:
//!
//! - Sectors that had passed at the cut are on the medium, the physical sector under the head is as the profile says,
//!   and later ones are not written.
//! - Landings of one drive that follow one another without a gap in sectors and in time are one track run: a physical
//!   sector that two writes share is under the head as a whole.
//!
//! A layer that splits a landing notes in each part the track run that it belongs to. So above an array, or above a
//! driver that merges writes, the result is that of the drive, to the nanosecond.
//!
//! Data that a buffer saves by itself are not known here: with power protection or flash, acknowledged writes without a
//! landing are on the medium as well.

use core::ops::Range;

use super::{CutSector, Landing, LandingKind, MemberRole, TrackRun};
use crate::time::{Instant, Span};

impl TrackRun {
    /// When the head has passed all sectors before `sector`, which lies in the run or just after it.
    fn passing_instant(&self, sector: u64) -> Instant {
        let all = u64::from(self.sectors).max(1);
        self.from + Span::from_nanos(self.to.since(self.from).nanos() * (sector - self.sector) / all)
    }

    /// The first sector that has not passed by `cut`.
    fn first_sector_not_passed(&self, cut: Instant) -> u64 {
        let (all, time) = (u64::from(self.sectors), self.to.since(self.from).nanos());
        if self.to <= cut {
            return self.sector + all;
        }
        match cut.saturating_since(self.from).nanos() {
            0 => self.sector,
            // The largest number of sectors s for which time * s / all, rounded down, does not exceed the time elapsed.
            elapsed => self.sector + ((elapsed + 1) * all - 1) / time,
        }
    }
}

impl Landing {
    /// A landing as its drive reports it: a whole track run.
    pub fn new((lba, sectors): (u64, u32), stamp: u64, (from, to): (Instant, Instant), kind: LandingKind) -> Landing {
        let run = TrackRun { sector: lba, sectors, from, to };
        Landing {
            member: 0,
            role: MemberRole::Copy(0),
            lba,
            sectors,
            stamp,
            number: 0,
            from,
            to,
            kind,
            sector: lba,
            run,
        }
    }

    /// The first sector after the run.
    pub fn end(&self) -> u64 {
        self.lba + u64::from(self.sectors)
    }

    /// Returns the landing of its sectors `first_offset..end_offset`, counted from its start.
    pub fn slice_sectors(&self, first_offset: u64, end_offset: u64) -> Landing {
        let (sector, sector_end) = (self.sector + first_offset, self.sector + end_offset);
        let whole = first_offset == 0 && end_offset == u64::from(self.sectors);
        let (from, to) = if whole {
            (self.from, self.to)
        } else {
            (self.run.passing_instant(sector), self.run.passing_instant(sector_end))
        };
        let sectors = (end_offset - first_offset) as u32;
        Landing { lba: self.lba + first_offset, sectors, sector, from, to, ..*self }
    }

    /// Returns the landing with another time and kind, as a track run of its own.
    fn with_time_and_kind(self, from: Instant, to: Instant, kind: LandingKind) -> Landing {
        let run = TrackRun { sector: self.sector, sectors: self.sectors, from, to };
        Landing { from, to, kind, run, ..self }
    }

    /// True if `next` passes under the head directly after it: both belong to one track run.
    pub(crate) fn is_followed_by(&self, next: &Landing) -> bool {
        self.member == next.member && self.sector_end() == next.sector && self.to == next.from
    }

    /// The first sector on the drive after the run.
    fn sector_end(&self) -> u64 {
        self.sector + u64::from(self.sectors)
    }

    /// Returns the landing's part in these sectors of the drive, if any.
    fn clip_to_sectors(&self, drive_sectors: &Range<u64>) -> Option<Landing> {
        let (first, end) = (drive_sectors.start.max(self.sector), drive_sectors.end.min(self.sector_end()));
        (first < end).then(|| self.slice_sectors(first - self.sector, end - self.sector))
    }
}

/// Reports what a cut at `cut` leaves of each of `landings`. A physical sector has `physical_sectors` sectors;
/// `cut_sector` says what happens to the one under the head. Data that are not on the medium are reported as discarded.
pub fn report_fates(
    landings: &[Landing],
    cut: Instant,
    physical_sectors: u64,
    cut_sector: CutSector,
    mut report: impl FnMut(Landing),
) {
    let one_run = |a: &Landing, b: &Landing| a.is_followed_by(b) && a.kind == b.kind;
    for run in landings.chunk_by(one_run) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        if first.kind != LandingKind::Landed || last.to <= cut {
            run.iter().filter(|landing| landing.to <= cut).for_each(|landing| report(*landing));
            continue;
        }
        let under_head = physical_sector_under_head(run, cut, physical_sectors);
        let under_head_kind = match cut_sector {
            CutSector::Finished => LandingKind::Landed,
            CutSector::Old => LandingKind::Discarded,
            CutSector::Unreadable => LandingKind::Torn,
        };
        for landing in run {
            let fates = [
                (first.sector..under_head.start, LandingKind::Landed),
                (under_head.clone(), under_head_kind),
                (under_head.end..last.sector_end(), LandingKind::Discarded),
            ];
            for (sectors, kind) in fates {
                if let Some(part) = landing.clip_to_sectors(&sectors) {
                    // A sector that is finished after the cut is dated to the cut.
                    let (from, to) =
                        if kind == LandingKind::Landed { (part.from.min(cut), part.to.min(cut)) } else { (cut, cut) };
                    report(part.with_time_and_kind(from, to, kind));
                }
            }
        }
    }
}

/// The run's sectors in the physical sector under the head at `cut`, which is before the run's end: all before them
/// have passed. Empty, at the first sector that has not passed, if the head is just reaching it.
fn physical_sector_under_head(run: &[Landing], cut: Instant, physical_sectors: u64) -> Range<u64> {
    let unfinished = run.iter().find(|landing| landing.to > cut).expect("the run is not over");
    let (run_start, run_end) = (run[0].sector, run[run.len() - 1].sector_end());
    let start = unfinished.run.first_sector_not_passed(cut) / physical_sectors * physical_sectors;
    let first = start.max(run_start);
    let holder = run.iter().find(|landing| landing.sector_end() > first).expect("it lies in the run");
    let begun = holder.run.passing_instant(first) < cut;
    first..if begun { (start + physical_sectors).min(run_end) } else { first }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn run(lba: u64, sectors: u32, from: u64, to: u64, stamp: u64) -> Landing {
        let (from, to) = (Instant::from_nanos(from), Instant::from_nanos(to));
        Landing::new((lba, sectors), stamp, (from, to), LandingKind::Landed)
    }

    /// First sector, length and fate of each remaining run.
    fn left(landings: &[Landing], cut: u64, unit: u64, sector: CutSector) -> Vec<(u64, u32, LandingKind)> {
        let mut all = Vec::new();
        report_fates(landings, Instant::from_nanos(cut), unit, sector, |part| {
            all.push((part.lba, part.sectors, part.kind))
        });
        all
    }

    use LandingKind::{Discarded, Landed, Torn};

    #[test]
    fn sectors_pass_evenly() {
        let write = [run(100, 4, 1000, 1400, 1)];
        assert_eq!(left(&write, 1000, 1, CutSector::Unreadable), [(100, 4, Discarded)]);
        assert_eq!(left(&write, 1001, 1, CutSector::Unreadable), [(100, 1, Torn), (101, 3, Discarded)]);
        assert_eq!(left(&write, 1100, 1, CutSector::Unreadable), [(100, 1, Landed), (101, 3, Discarded)]);
        assert_eq!(
            left(&write, 1101, 1, CutSector::Finished),
            [(100, 1, Landed), (101, 1, Landed), (102, 2, Discarded)]
        );
        assert_eq!(left(&write, 1399, 1, CutSector::Old), [(100, 3, Landed), (103, 1, Discarded)]);
        assert_eq!(left(&write, 1400, 1, CutSector::Old), [(100, 4, Landed)]);
    }

    #[test]
    fn a_sector_has_passed_at_the_instant_its_share_rounds_to() {
        let write = [run(0, 3, 0, 10, 1)];
        // A third of 10 ns rounds to 3, two thirds to 6.
        assert_eq!(left(&write, 3, 1, CutSector::Old), [(0, 1, Landed), (1, 2, Discarded)]);
        assert_eq!(left(&write, 5, 1, CutSector::Old), [(0, 1, Landed), (1, 1, Discarded), (2, 1, Discarded)]);
        assert_eq!(left(&write, 6, 1, CutSector::Old), [(0, 2, Landed), (2, 1, Discarded)]);
    }

    #[test]
    fn two_writes_share_a_physical_sector() {
        let both = [run(0, 12, 0, 1200, 1), run(12, 12, 1200, 2400, 2)];
        let torn = [(0, 8, Landed), (8, 4, Torn), (12, 4, Torn), (16, 8, Discarded)];
        assert_eq!(left(&both, 900, 8, CutSector::Unreadable), torn);
        assert_eq!(left(&both, 1300, 8, CutSector::Unreadable), torn);
        // Apart in time, they share no sector.
        let apart = [run(0, 12, 0, 1200, 1), run(12, 12, 1201, 2401, 2)];
        assert_eq!(left(&apart, 1300, 8, CutSector::Old), [(0, 12, Landed), (12, 4, Discarded), (16, 8, Discarded)]);
    }

    /// A layer above splits a run at odd places and moves its parts elsewhere: each sector stays at its place and
    /// instant.
    #[test]
    fn parts_are_cut_where_the_whole_would_be() {
        let whole = run(96, 11, 1000, 2003, 1);
        for unit in [1, 8] {
            for cut in 995..2010 {
                let mut parts: Vec<Landing> = Vec::new();
                for (first, end) in [(0, 3), (3, 4), (4, 9), (9, 11)] {
                    let part = whole.slice_sectors(first, end);
                    parts.push(Landing { lba: part.lba * 1000, ..part });
                }
                let told = |landings: &[Landing]| {
                    let mut sectors = Vec::new();
                    report_fates(landings, Instant::from_nanos(cut), unit, CutSector::Unreadable, |part| {
                        sectors.extend((part.sector..part.sector_end()).map(|sector| (sector, part.kind)));
                    });
                    sectors
                };
                assert_eq!(told(&parts), told(&[whole]), "at {cut}, sectors of {unit}");
            }
        }
    }

    #[test]
    fn what_was_superseded_before_the_cut_stays_so() {
        let gone = Landing { kind: Discarded, ..run(0, 8, 50, 50, 1) };
        assert_eq!(left(&[gone], 50, 1, CutSector::Old), [(0, 8, Discarded)]);
        assert_eq!(left(&[gone], 49, 1, CutSector::Old), []);
    }
}
