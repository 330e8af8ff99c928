//! Writes. Without a cache each waits for the platter: a random one for a seek and half a turn, a sequential one at depth 1 for a whole turn.

use seekwise_drives::key_names::figure;

use super::conditions::{JobConditions, JobOp};
use super::suspicion::{SuspectedPart, Suspicion};
use super::{FigureResidual, JobResidual};

/// Writes whose rate is off.
struct OffWrites<'a> {
    job: &'a JobResidual,
    conditions: &'a JobConditions,
    rate: &'a FigureResidual,
}

impl OffWrites<'_> {
    /// Measured writes for each turn of the platter.
    fn per_turn(&self) -> f64 {
        self.rate.measured / self.conditions.turns_per_s()
    }

    /// The rate without a cache: random writes wait for a seek and half a turn.
    fn uncached_rate(&self) -> f64 {
        1e3 / (self.conditions.mean_seek_ms + self.conditions.revolution_ms / 2.0)
    }

    fn is_random(&self) -> bool {
        self.conditions.is_random(JobOp::Write)
    }
}

/// The suspicion that writes raise: the first that explains the writes at the least depth that are off.
pub(super) fn suspect_writes(jobs: &[JobResidual]) -> Option<Suspicion> {
    let off = jobs.iter().filter_map(|job| {
        let conditions =
            job.conditions.as_ref().filter(|it| it.is_random(JobOp::Write) || it.is_sequential(JobOp::Write))?;
        Some(OffWrites { job, conditions, rate: job.rate().filter(|rate| rate.is_beyond_scatter())? })
    });
    let mut off: Vec<OffWrites<'_>> = off.collect();
    off.sort_by_key(|writes| (writes.conditions.depth, !writes.is_random()));
    let impossible = off.iter().find_map(suspect_cache_was_on).or_else(|| off.iter().find_map(suspect_cache_was_off));
    // Where reads are off too, the arm or the platter explains both.
    impossible.or_else(|| off.first().filter(|_| reads_are_right(jobs)).map(suspect_by_cache))
}

/// True if no random read at depth 1 is off: then the arm and the platter are right.
fn reads_are_right(jobs: &[JobResidual]) -> bool {
    let is_lone_read = |job: &&JobResidual| {
        job.conditions.as_ref().is_some_and(|conditions| conditions.is_random(JobOp::Read) && conditions.depth == 1)
    };
    let is_off = |job: &JobResidual| job.rate().is_some_and(FigureResidual::is_beyond_scatter);
    !jobs.iter().filter(is_lone_read).any(is_off)
}

/// Sequential writes for each turn at depth 1 above which a cache must have answered: without one the next comes a turn later, or a little
/// less at the end of a track.
const IMPOSSIBLE_PER_TURN: f64 = 1.5;

/// How many times the rate of a seek and half a turn shows that a cache answered random writes: average seeks of one class of drives differ
/// by less.
const IMPOSSIBLE_UNCACHED: f64 = 1.3;

fn suspect_cache_was_on(writes: &OffWrites<'_>) -> Option<Suspicion> {
    let OffWrites { job, conditions, rate } = writes;
    let (most, reason) = match writes.is_random() {
        true => (
            IMPOSSIBLE_UNCACHED * writes.uncached_rate(),
            "a write waits for a seek and half a turn, which allows about",
        ),
        false => {
            (IMPOSSIBLE_PER_TURN * conditions.turns_per_s(), "a write comes a turn after the one before, which allows")
        }
    };
    let allowed = if writes.is_random() { writes.uncached_rate() } else { conditions.turns_per_s() };
    (!conditions.write_cache && conditions.depth == 1 && rate.measured > most).then(|| {
        let why = format!(
            "{}: {:.0} writes a second at depth 1. Without a cache {reason} {allowed:.0}. The write cache was on: say FILE,cache=on.",
            job.job, rate.measured
        );
        Suspicion::new(SuspectedPart::WriteCache, &[figure::CACHE_WRITE_BACK], why)
    })
}

/// How close to one write for each turn is exactly one: spindles keep their speed within a fraction of a percent, and some writes cross to
/// another track.
const ONE_TURN: f64 = 0.05;

/// How far above the rate of uncached writes a drive may be that sorts none.
const UNSORTED: f64 = 1.1;

/// A predicted rate of so many times the measured one makes another state of the cache likelier than another destaging.
const FAR_SLOWER: f64 = 1.25;

fn suspect_cache_was_off(writes: &OffWrites<'_>) -> Option<Suspicion> {
    let OffWrites { job, conditions, rate } = writes;
    if !conditions.write_cache || conditions.depth != 1 || rate.predicted < FAR_SLOWER * rate.measured {
        return None;
    }
    if !writes.is_random() {
        let why = format!(
            "{}: {:.1} writes a second are one for each turn of the platter ({:.1} a second): the write cache was off (say FILE,cache=off), or \
             each write is read back.",
            job.job,
            rate.measured,
            conditions.turns_per_s()
        );
        let is_one_turn = (writes.per_turn() - 1.0).abs() <= ONE_TURN;
        return is_one_turn.then(|| Suspicion::new(SuspectedPart::WriteCache, &[figure::CACHE_WRITE_BACK], why));
    }
    (rate.measured <= UNSORTED * writes.uncached_rate()).then(|| {
        let why = format!(
            "{}: {:.1} writes a second are no more than a seek ({:.2} ms) and half a turn ({:.2}) for each: nothing was sorted. The write cache \
             was off: say FILE,cache=off.",
            job.job,
            rate.measured,
            conditions.mean_seek_ms,
            conditions.revolution_ms / 2.0
        );
        Suspicion::new(SuspectedPart::WriteCache, &[figure::CACHE_WRITE_BACK], why)
    })
}

/// How close to one revolution an excess is exactly one, as a share of it.
const ONE_REVOLUTION: f64 = 0.1;

/// The suspicion if the state of the cache is right.
fn suspect_by_cache(writes: &OffWrites<'_>) -> Suspicion {
    let OffWrites { job, conditions, rate } = writes;
    let direction = if rate.measured > rate.predicted { "more" } else { "fewer" };
    if conditions.write_cache {
        let why = format!(
            "{}: the drive does {direction} writes than the model ({:.1} a second, predicted {:.1}), and no random read at depth 1 is off: how many writes it keeps, and in \
             which order they go to the medium.",
            job.job, rate.measured, rate.predicted
        );
        let keys = [figure::CACHE_DIRTY_RUNS, figure::CACHE_DIRTY_PERCENT, figure::FIRMWARE_DESTAGE_POLICY];
        return Suspicion::new(SuspectedPart::Destage, &keys, why);
    }
    let excess_ms = (1e3 / rate.measured - 1e3 / rate.predicted) * f64::from(conditions.depth);
    if conditions.depth == 1 && (excess_ms / conditions.revolution_ms - 1.0).abs() <= ONE_REVOLUTION {
        let why = format!(
            "{}: each write takes {excess_ms:.2} ms longer than predicted, a revolution ({:.2}): the drive reads back what it wrote.",
            job.job, conditions.revolution_ms
        );
        return Suspicion::new(SuspectedPart::WriteVerify, &[figure::FIRMWARE_WRITE_VERIFY], why);
    }
    let longer = if excess_ms > 0.0 { "longer" } else { "shorter" };
    let why = format!(
        "{}: with the cache off each write takes {:.2} ms {longer} than predicted, and no random read at depth 1 is off: the arm settles {longer} \
         before it writes, or a write command costs that.",
        job.job,
        excess_ms.abs()
    );
    let keys = [figure::MECHANICS_WRITE_SETTLE_MS, figure::OVERHEAD_WRITE_MISS_MS];
    Suspicion::new(SuspectedPart::WriteSettle, &keys, why)
}

#[cfg(test)]
mod tests {
    use super::super::conditions::JobOrder;
    use super::super::samples::{job, lone_writes, reads_at_depth};
    use super::*;

    fn part(jobs: &[JobResidual]) -> Option<SuspectedPart> {
        suspect_writes(jobs).map(|suspicion| suspicion.part)
    }

    #[test]
    fn more_writes_than_turns_without_a_cache_are_impossible() {
        let said = suspect_writes(&[lone_writes(210.0, 80.0, false)]).unwrap();
        assert!(said.part == SuspectedPart::WriteCache && said.why.ends_with("say FILE,cache=on."), "{}", said.why);
        assert_eq!(part(&[lone_writes(100.0, 80.0, false)]), Some(SuspectedPart::WriteSettle));
    }

    #[test]
    fn cached_writes_at_the_rate_of_uncached_ones_were_not_cached() {
        let said = suspect_writes(&[lone_writes(78.0, 150.0, true)]).unwrap();
        assert!(said.why.ends_with("say FILE,cache=off."), "{}", said.why);
        assert_eq!(part(&[lone_writes(120.0, 150.0, true)]), Some(SuspectedPart::Destage));
        let sequential = |rate: f64| job(JobOp::Write, JobOrder::Sequential, (4096, 1), &[("iops", rate, 9000.0)]);
        assert_eq!(part(&[sequential(119.8)]), Some(SuspectedPart::WriteCache), "one for each turn");
        assert_eq!(part(&[sequential(5000.0)]), Some(SuspectedPart::Destage));
    }

    #[test]
    fn uncached_writes_that_take_longer_settle_longer_or_are_read_back() {
        assert_eq!(part(&[lone_writes(75.0, 80.0, false)]), Some(SuspectedPart::WriteSettle));
        // 12.5 ms and a turn.
        assert_eq!(part(&[lone_writes(1e3 / 20.8, 80.0, false)]), Some(SuspectedPart::WriteVerify));
        assert_eq!(part(&[lone_writes(79.5, 80.0, false)]), None, "within the scatter");
        assert_eq!(part(&[lone_writes(75.0, 80.0, false), reads_at_depth(1, 60.0, 80.0)]), None, "reads tell why");
    }
}
