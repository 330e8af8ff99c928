//! Measures a flush audit: sends its requests to a disk and records when each was answered. The audit asks whether a
//! flush or a forced write really waits for the medium. Nothing is judged here; `lab/audit` judges the timings.
//!
//! The method: before each overwrite of one block there is a pause of random length. A write that reaches the medium
//! ends at the angle of its block, so two of them end whole revolutions apart, whatever the pauses were. A delay that
//! is not the spindle's ends later by as much as the pause was longer.

pub mod subject;

use seekwise_disk::rng::{Rng, Seed};
use seekwise_disk::time::{Instant, Span};

/// Bytes of a block: the physical sector of today's disks, and a page.
pub const BLOCK: u64 = 4096;

/// Largest area that is written and read: small beside a disk, so that a request's time is mostly the spindle's, and
/// larger than a disk's buffer (512 MB at most), so that a read of a random block is seldom a hit.
pub const AREA: u64 = 1 << 30;

/// Overwrites of one block that a flush follows, and as many forced ones. If their ends were at random angles, the mean
/// of their directions would be longer than 1/2 once in e^(120/4) = 10^13 audits (Rayleigh's test).
const OVERWRITES: usize = 120;
/// The longest pause: more than one revolution of the slowest spindle (5,400 a minute, 11.1 ms), so that ends that do
/// not wait for the spindle come at all angles.
const PAUSE: Span = Span::from_millis(16);
/// Reads of random blocks, and as many of one block.
const READS: usize = 60;
/// Flushes with nothing to write.
const EMPTY_FLUSHES: usize = 40;
/// Rounds of scattered blocks, each round with a flush at its end.
const ROUNDS: usize = 10;
/// Scattered blocks of a round: more than any order serves in one revolution.
pub const SCATTERED: usize = 32;
/// Flushes with reads submitted at the same time.
const FLUSHES_UNDER_READS: usize = 15;
/// Blocks written before such a flush, and reads submitted with it.
const BLOCKS_UNDER_READS: usize = 4;

/// Other blocks whose angles are compared with that of the first. The mean cosine of twelve random angles is above 1/2
/// once in 150 disks (its standard deviation is 0.2).
const OTHER_BLOCKS: usize = 12;
/// Overwrites of each of them.
const VISITS: usize = 5;

/// A request to a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditAction {
    /// Read a block.
    Read,
    /// Write it.
    Write,
    /// Write it so that it is on the medium when the answer comes (FUA, or a write and a flush).
    Force,
    Flush,
}

impl AuditAction {
    /// The request in words.
    pub const fn words(self) -> &'static str {
        match self {
            AuditAction::Read => "read",
            AuditAction::Write => "write",
            AuditAction::Force => "forced write",
            AuditAction::Flush => "flush",
        }
    }
}

/// The time from a request to its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditInterval {
    /// When the request was made.
    pub from: Instant,
    /// When it was answered.
    pub to: Instant,
}

impl AuditInterval {
    /// The response time.
    pub fn span(&self) -> Span {
        self.to.since(self.from)
    }
}

/// A disk, or a file on one, that an audit measures in its own time.
pub trait AuditSubject {
    /// Blocks that may be written.
    fn block_count(&self) -> u64;
    /// Whether a forced write is one command of the disk (FUA); `None` if that is not known.
    fn has_forced_writes(&self) -> Option<bool>;
    /// The time of the round trip to the disk without any work there.
    fn round_trip_time(&self) -> Span;
    /// Waits for `span` without a request.
    fn pause_for(&mut self, span: Span) -> Result<(), String>;
    /// Makes a request and waits for the answer.
    fn perform(&mut self, action: AuditAction, block: u64) -> Result<AuditInterval, String>;
    /// Submits a flush and reads of `read_blocks` at once. Returns the times of the flush, then of the reads.
    fn flush_beside_reads(&mut self, read_blocks: &[u64]) -> Result<(AuditInterval, Vec<AuditInterval>), String>;
}

/// An overwrite of a block that was written before, and a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overwrite {
    /// The pause before it.
    pub pause: Span,
    pub write: AuditInterval,
    pub flush: AuditInterval,
}

/// An overwrite of the first block, then one of another block; then a forced overwrite of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TwoOverwrites {
    /// The index of the other block.
    pub place: usize,
    pub first: Overwrite,
    pub other: Overwrite,
    /// Forced overwrites: of the first block, of the other block.
    pub forced: [AuditInterval; 2],
}

/// Scattered blocks, and a flush.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// Sum of the response times of the writes.
    pub writes: Span,
    pub flush: Span,
}

/// A flush with reads submitted at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlushUnderReads {
    pub flush: Span,
    /// The slowest of the reads.
    pub slowest: Span,
}

/// The timings of an audit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditTimings {
    /// Whether forced writes are one command; `None` if that is not known.
    pub forces: Option<bool>,
    /// The time of the round trip to the disk without any work there.
    pub path: Span,
    /// Reads of random blocks.
    pub reads: Vec<Span>,
    /// Reads of one block: the cost of a command that the disk's buffer answers.
    pub again: Vec<Span>,
    /// Flushes with nothing to write.
    pub empty: Vec<Span>,
    /// Overwrites of one block.
    pub overwrites: Vec<Overwrite>,
    /// Forced overwrites of one block.
    pub forced: Vec<AuditInterval>,
    /// Overwrites of that block and of others, in turn.
    pub elsewhere: Vec<TwoOverwrites>,
    /// Rounds of scattered blocks.
    pub rounds: Vec<Round>,
    /// Flushes with reads submitted at the same time.
    pub beside: Vec<FlushUnderReads>,
}

/// Makes all measurements, and calls `report_stage` with the name of each stage. `seed` draws the blocks and the
/// pauses.
pub fn measure_timings(
    subject: &mut dyn AuditSubject,
    seed: Seed,
    report_stage: &mut dyn FnMut(&str),
) -> Result<AuditTimings, String> {
    let blocks = subject.block_count();
    if blocks < SCATTERED as u64 {
        return Err(format!("has room for {blocks} blocks of 4 KiB; expected {SCATTERED} at least"));
    }
    let mut rng = seed.stream("audit");
    let mut timings = AuditTimings {
        forces: subject.has_forced_writes(),
        path: subject.round_trip_time(),
        ..AuditTimings::default()
    };
    report_stage("reads");
    for _ in 0..READS {
        timings.reads.push(subject.perform(AuditAction::Read, rng.below(blocks))?.span());
    }
    let middle = blocks / 2;
    for _ in 0..READS {
        timings.again.push(subject.perform(AuditAction::Read, middle)?.span());
    }
    report_stage("empty flushes");
    // The first flush takes the writes from before the audit, so it is not counted.
    subject.perform(AuditAction::Flush, 0)?;
    for _ in 0..EMPTY_FLUSHES {
        timings.empty.push(subject.perform(AuditAction::Flush, 0)?.span());
    }
    report_stage("overwrites");
    for _ in 0..OVERWRITES {
        timings.overwrites.push(pause_overwrite_flush(subject, &mut rng, middle)?);
    }
    report_stage("forced writes");
    for _ in 0..OVERWRITES {
        subject.pause_for(Span::from_nanos(rng.below(PAUSE.nanos())))?;
        timings.forced.push(subject.perform(AuditAction::Force, middle)?);
    }
    report_stage("scattered blocks");
    for _ in 0..ROUNDS {
        let writes = write_blocks(subject, &mut || rng.below(blocks), SCATTERED)?;
        let flush = subject.perform(AuditAction::Flush, 0)?.span();
        timings.rounds.push(Round { writes, flush });
    }
    report_stage("flushes beside reads");
    for _ in 0..FLUSHES_UNDER_READS {
        write_blocks(subject, &mut || rng.below(blocks), BLOCKS_UNDER_READS)?;
        let reads: Vec<u64> = (0..BLOCKS_UNDER_READS).map(|_| rng.below(blocks)).collect();
        let (flush, reads) = subject.flush_beside_reads(&reads)?;
        let slowest = reads.iter().map(AuditInterval::span).max().unwrap_or(Span::ZERO);
        timings.beside.push(FlushUnderReads { flush: flush.span(), slowest });
    }
    report_stage("overwrites elsewhere");
    let mut rng = seed.stream("elsewhere");
    let other_blocks: Vec<u64> = (0..OTHER_BLOCKS).map(|_| rng.below(blocks)).collect();
    for _ in 0..VISITS {
        for (place, &block) in other_blocks.iter().enumerate() {
            let (first, other) =
                (pause_overwrite_flush(subject, &mut rng, middle)?, pause_overwrite_flush(subject, &mut rng, block)?);
            let forced = [subject.perform(AuditAction::Force, middle)?, subject.perform(AuditAction::Force, block)?];
            timings.elsewhere.push(TwoOverwrites { place, first, other, forced });
        }
    }
    Ok(timings)
}

/// Pauses for a random time, overwrites `block` and flushes.
fn pause_overwrite_flush(subject: &mut dyn AuditSubject, rng: &mut Rng, block: u64) -> Result<Overwrite, String> {
    let pause = Span::from_nanos(rng.below(PAUSE.nanos()));
    subject.pause_for(pause)?;
    let (write, flush) = (subject.perform(AuditAction::Write, block)?, subject.perform(AuditAction::Flush, 0)?);
    Ok(Overwrite { pause, write, flush })
}

/// Writes `count` blocks, one after another; returns the sum of their response times.
fn write_blocks(
    subject: &mut dyn AuditSubject,
    next_block: &mut dyn FnMut() -> u64,
    count: usize,
) -> Result<Span, String> {
    let mut span = Span::ZERO;
    for _ in 0..count {
        span += subject.perform(AuditAction::Write, next_block())?.span();
    }
    Ok(span)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers each request after a millisecond, and records it.
    struct TallySubject {
        blocks: u64,
        now: Instant,
        asked: Vec<(AuditAction, u64)>,
        pauses: Vec<Span>,
    }

    impl AuditSubject for TallySubject {
        fn block_count(&self) -> u64 {
            self.blocks
        }
        fn has_forced_writes(&self) -> Option<bool> {
            None
        }
        fn round_trip_time(&self) -> Span {
            Span::from_micros(9)
        }
        fn pause_for(&mut self, span: Span) -> Result<(), String> {
            self.now += span;
            self.pauses.push(span);
            Ok(())
        }
        fn perform(&mut self, action: AuditAction, block: u64) -> Result<AuditInterval, String> {
            self.asked.push((action, block));
            let from = self.now;
            self.now += Span::from_millis(1);
            Ok(AuditInterval { from, to: self.now })
        }
        fn flush_beside_reads(&mut self, reads: &[u64]) -> Result<(AuditInterval, Vec<AuditInterval>), String> {
            let flush = self.perform(AuditAction::Flush, 0)?;
            let reads = reads.iter().map(|&block| self.perform(AuditAction::Read, block)).collect::<Result<_, _>>()?;
            Ok((flush, reads))
        }
    }

    fn subject(blocks: u64) -> TallySubject {
        TallySubject { blocks, now: Instant::ZERO, asked: Vec::new(), pauses: Vec::new() }
    }

    #[test]
    fn an_audit_asks_for_as_much_as_it_says() {
        let mut subject = subject(1000);
        let mut steps = Vec::new();
        let timings = measure_timings(&mut subject, Seed(1), &mut |step| steps.push(step.to_owned())).unwrap();
        let AuditTimings { reads, again, empty, overwrites, forced, elsewhere, rounds, beside, .. } = &timings;
        assert_eq!((reads.len(), again.len(), empty.len()), (READS, READS, EMPTY_FLUSHES));
        assert_eq!((overwrites.len(), forced.len(), elsewhere.len()), (OVERWRITES, OVERWRITES, OTHER_BLOCKS * VISITS));
        assert_eq!((rounds.len(), beside.len(), steps.len()), (ROUNDS, FLUSHES_UNDER_READS, 7));
        assert_eq!((timings.forces, timings.path), (None, Span::from_micros(9)));
        assert!(rounds.iter().all(|round| round.writes == Span::from_millis(SCATTERED as u64)));
        let asked = |act: AuditAction| subject.asked.iter().filter(|asked| asked.0 == act).count();
        assert_eq!(asked(AuditAction::Read), 2 * READS + FLUSHES_UNDER_READS * BLOCKS_UNDER_READS);
        let single = OVERWRITES + 2 * OTHER_BLOCKS * VISITS;
        assert_eq!(asked(AuditAction::Write), single + ROUNDS * SCATTERED + FLUSHES_UNDER_READS * BLOCKS_UNDER_READS);
        assert_eq!(asked(AuditAction::Force), single);
        // The first flush is for what was written before the audit.
        assert_eq!(asked(AuditAction::Flush), 1 + EMPTY_FLUSHES + single + ROUNDS + FLUSHES_UNDER_READS);
        assert!(subject.asked.iter().all(|asked| asked.1 < 1000) && subject.pauses.iter().all(|&pause| pause < PAUSE));
    }

    #[test]
    fn an_audit_needs_room_for_a_round() {
        let mut small = subject(31);
        let said = measure_timings(&mut small, Seed(1), &mut |_| ()).unwrap_err();
        assert_eq!(said, "has room for 31 blocks of 4 KiB; expected 32 at least");
        assert!(small.asked.is_empty() && measure_timings(&mut subject(32), Seed(1), &mut |_| ()).is_ok());
    }
}
