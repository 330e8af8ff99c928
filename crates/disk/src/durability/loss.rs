//! The losses of a cut, counted by class of writes, with their ages. `view` decides which writes are lost.

use alloc::vec::Vec;

use crate::block::SECTOR;
use crate::time::{Instant, Span};

use super::Tally;
use super::risk::WriteAtCut;
use super::runs::{SectorRun, union_sectors};
use super::stripes::WriteHoles;

/// A class of writes: all that were acknowledged, or those with a further promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WriteClass {
    Acknowledged,
    /// Acknowledged before the submission of a completed flush.
    Flushed,
    /// Acknowledged, and marked to complete only on the medium (FUA).
    Forced,
    /// Promised to be durable: flushed, forced, or any of a drive without a volatile cache.
    Promised,
}

impl WriteClass {
    /// All classes.
    pub const ALL: [WriteClass; 4] =
        [WriteClass::Acknowledged, WriteClass::Flushed, WriteClass::Forced, WriteClass::Promised];
}

/// Losses of one class at a cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassLoss {
    /// Writes with at least one sector that holds older data.
    pub writes: u64,
    /// Bytes of older data, each counted once.
    pub bytes: u64,
    /// The time from the earliest acknowledgement of a lost write to the cut.
    pub oldest: Span,
}

/// Losses of one cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutLoss {
    pub at: Instant,
    /// By class, in the order of [`WriteClass::ALL`].
    pub lost: [ClassLoss; 4],
    /// Unreadable sectors.
    pub torn: u64,
    /// Unreadable sectors that held acknowledged data before.
    pub torn_acknowledged: u64,
    /// Unreadable sectors that held data promised to be durable.
    pub torn_promised: u64,
    /// Writes, acknowledged or not, of which some sectors are on the medium and some are not.
    pub partial: u64,
    /// Writes not yet acknowledged.
    pub in_flight: u64,
    /// Writes not yet acknowledged that are wholly on the medium nevertheless.
    pub survived: u64,
    /// Rows whose parity does not belong to their data.
    pub holes: WriteHoles,
}

impl WriteClass {
    /// True if the write is lost and belongs to the class.
    fn counts_as_lost(self, at_cut: &WriteAtCut<'_>) -> bool {
        let marks = at_cut.write.marks;
        let is_in_class = match self {
            WriteClass::Acknowledged => true,
            WriteClass::Flushed => at_cut.flushed,
            WriteClass::Forced => marks.fua,
            WriteClass::Promised => at_cut.flushed || marks.is_forced(),
        };
        is_in_class && at_cut.write.acknowledged.is_some() && !at_cut.missing.is_empty()
    }
}

/// Sums up the losses of a cut at `at` by class, and reports their ages to the tally.
pub fn class_losses(writes: &[WriteAtCut<'_>], at: Instant, tally: &mut impl Tally) -> [ClassLoss; 4] {
    WriteClass::ALL.map(|class| {
        let lost = writes.iter().filter(|at_cut| class.counts_as_lost(at_cut));
        sum_up_losses(lost, at, &mut |age, count| tally.record_loss(class, age, count))
    })
}

/// Sums up lost writes, and reports their ages with the number of writes of each age.
fn sum_up_losses<'a>(
    writes: impl Iterator<Item = &'a WriteAtCut<'a>>,
    at: Instant,
    report_age: &mut dyn FnMut(Span, u64),
) -> ClassLoss {
    let mut loss = ClassLoss::default();
    let mut missing: Vec<SectorRun> = Vec::new();
    for WriteAtCut { write, count, missing: missing_of_write, .. } in writes {
        let newest = at.saturating_since(write.acknowledged.map_or(at, |acknowledgement| acknowledgement.at));
        let oldest = at.saturating_since(write.first);
        report_spread_ages(oldest, newest, *count, report_age);
        loss.writes += count;
        loss.oldest = loss.oldest.max(oldest);
        missing.extend(missing_of_write);
    }
    loss.bytes = union_sectors(missing.into_iter()) * SECTOR;
    loss
}

/// Reports `count` ages, evenly from the newest to the oldest, in at most 64 steps.
fn report_spread_ages(oldest: Span, newest: Span, count: u64, report_age: &mut dyn FnMut(Span, u64)) {
    const STEPS: u64 = 64;
    if count == 1 {
        return report_age(newest, 1);
    }
    let (steps, range) = (count.min(STEPS), oldest.saturating_sub(newest).nanos());
    for step in 0..steps {
        let share = (count * (step + 1) / steps) - (count * step / steps);
        report_age(newest + Span::from_nanos(range / (steps - 1) * step), share);
    }
}
