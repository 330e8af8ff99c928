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
    fn has_lost(self, standing: &WriteAtCut<'_>) -> bool {
        let write = standing.write;
        write.acknowledged.is_some()
            && !standing.missing.is_empty()
            && match self {
                WriteClass::Acknowledged => true,
                WriteClass::Flushed => standing.flushed,
                WriteClass::Forced => write.fua,
                WriteClass::Promised => standing.flushed || write.fua || write.sure,
            }
    }
}

/// Sums up the losses of a cut at `at` by class, and reports their ages.
pub fn class_losses(standing: &[WriteAtCut<'_>], at: Instant, tally: &mut impl Tally) -> [ClassLoss; 4] {
    WriteClass::ALL.map(|class| {
        let writes = standing.iter().filter(|it| class.has_lost(it));
        sum_lost(writes, at, &mut |age, count| tally.record_loss(class, age, count))
    })
}

/// Sums up lost writes, and reports their ages.
fn sum_lost<'a>(
    writes: impl Iterator<Item = &'a WriteAtCut<'a>>,
    at: Instant,
    tell: &mut dyn FnMut(Span, u64),
) -> ClassLoss {
    let mut lost = ClassLoss::default();
    let mut runs: Vec<SectorRun> = Vec::new();
    for standing in writes {
        let write = standing.write;
        let last = at.saturating_since(write.acknowledged.map_or(at, |it| it.at));
        let first = at.saturating_since(write.first);
        spread_ages(tell, first, last, standing.count);
        lost.writes += standing.count;
        lost.oldest = lost.oldest.max(first);
        runs.extend(&standing.missing);
    }
    lost.bytes = union_sectors(runs.into_iter()) * SECTOR;
    lost
}

/// Reports `count` ages, evenly from the first to the last, in at most 64 steps.
fn spread_ages(tell: &mut dyn FnMut(Span, u64), first: Span, last: Span, count: u64) {
    const STEPS: u64 = 64;
    if count == 1 {
        return tell(last, 1);
    }
    let (steps, all) = (count.min(STEPS), first.saturating_sub(last).nanos());
    for step in 0..steps {
        let share = (count * (step + 1) / steps) - (count * step / steps);
        tell(last + Span::from_nanos(all / (steps - 1) * step), share);
    }
}
