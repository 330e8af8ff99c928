//! The requests of a flush audit to a disk, and the instants at which they were answered: overwrites of one block each
//! followed by a flush, forced writes, scattered blocks and then a flush, flushes beside reads, empty flushes, reads,
//! overwrites of other places. Nothing is judged here; that is the laboratory's (`lab/audit`).
//!
//! Before each overwrite there is a pause of another length. A spindle does not care: whatever was written to one place is
//! there at one angle, so two such writes end whole revolutions apart, however long the pause was. Anything that takes a
//! time of its own, be it the same each time, ends later by as much as the pause was longer.

pub mod subject;

use seekwise_disk::rng::{Rng, Seed};
use seekwise_disk::time::{Instant, Span};

/// Bytes of a block: the physical sector of today's disks, and a page.
pub const BLOCK: u64 = 4096;

/// The area that is written and read, at most: small beside a disk, so that the time of a request is mostly the
/// spindle's, and larger than a disk's buffer (512 MB at most), so that a read of any place seldom finds it there.
pub const AREA: u64 = 1 << 30;

/// Overwrites of one block, of each kind. Were their ends at any angle, the mean of their directions would have a length
/// above 1/2 once in e^(120/4) = 10^13 audits (Rayleigh).
const OVERWRITES: usize = 120;
/// The longest pause: more than one revolution of the slowest spindle (5,400 a minute, 11.1 ms), so that ends that do not
/// wait for the spindle come at all angles.
const PAUSE: Span = Span::from_millis(16);
/// Reads of any place, and of one place again and again.
const READS: usize = 60;
/// Flushes with nothing to do.
const EMPTY: usize = 40;
/// Rounds of blocks all over the area and then a flush, and blocks of each. Thirty-two are more than any order serves in
/// one revolution.
const ROUNDS: usize = 10;
/// Blocks of such a round.
pub const SCATTERED: usize = 32;
/// Flushes of four blocks with four reads beside them.
const BESIDE: usize = 15;
const TOGETHER: usize = 4;

/// Places beside the first whose angles are compared with its own, and how often each is met. The mean cosine of twelve
/// angles at random is above 1/2 once in 150 disks (its standard deviation is 0.2).
const PLACES: usize = 12;
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
    /// Asked.
    pub from: Instant,
    /// Answered.
    pub to: Instant,
}

impl AuditInterval {
    /// How long that was.
    pub fn span(&self) -> Span {
        self.to.since(self.from)
    }
}

/// A disk, or a file on one, in its own time.
pub trait AuditSubject {
    /// Blocks that may be written.
    fn block_count(&self) -> u64;
    /// Whether a forced write is one command of the disk's (FUA); nothing where that is not known.
    fn has_forced_writes(&self) -> Option<bool>;
    /// The time of the round trip by itself.
    fn path_time(&self) -> Span;
    /// Does nothing for so long.
    fn pause_for(&mut self, span: Span) -> Result<(), String>;
    /// Asks, and waits for the answer.
    fn perform(&mut self, act: AuditAction, block: u64) -> Result<AuditInterval, String>;
    /// Asks for a flush and reads of these blocks at once. The flush, then the reads.
    fn flush_beside_reads(&mut self, reads: &[u64]) -> Result<(AuditInterval, Vec<AuditInterval>), String>;
}

/// An overwrite of a block that was there before, and a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overwrite {
    /// How long nothing was asked before it.
    pub pause: Span,
    pub write: AuditInterval,
    pub flush: AuditInterval,
}

/// An overwrite of the first place, and behind it one of another; then both forced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TwoOverwrites {
    /// Which of the other places.
    pub place: usize,
    pub first: Overwrite,
    pub other: Overwrite,
    /// Forced ones of the first, and of the other.
    pub forced: [AuditInterval; 2],
}

/// Blocks all over the area, and a flush.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// All writes together.
    pub writes: Span,
    pub flush: Span,
}

/// A flush with reads beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlushUnderReads {
    pub flush: Span,
    /// The slowest of the reads.
    pub slowest: Span,
}

/// All that was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditTimings {
    /// Whether forced writes are one command; not always known.
    pub forces: Option<bool>,
    /// The time of the round trip by itself.
    pub path: Span,
    /// Reads of any place.
    pub reads: Vec<Span>,
    /// Reads of one place again and again: what a command costs that the disk's buffer answers.
    pub again: Vec<Span>,
    /// Flushes with nothing to do.
    pub empty: Vec<Span>,
    /// Overwrites of one block.
    pub overwrites: Vec<Overwrite>,
    /// Forced overwrites of one block.
    pub forced: Vec<AuditInterval>,
    /// Overwrites of that block and of others in turn.
    pub elsewhere: Vec<TwoOverwrites>,
    /// All over the area.
    pub rounds: Vec<Round>,
    /// Reads beside flushes.
    pub beside: Vec<FlushUnderReads>,
}

/// Makes all measurements. `seed` is that of places and pauses.
pub fn measure_timings(
    subject: &mut dyn AuditSubject,
    seed: Seed,
    far: &mut dyn FnMut(&str),
) -> Result<AuditTimings, String> {
    let blocks = subject.block_count();
    if blocks < SCATTERED as u64 {
        return Err(format!("has room for {blocks} blocks of 4 KiB; expected {SCATTERED} at least"));
    }
    let mut rng = seed.stream("audit");
    let mut timings =
        AuditTimings { forces: subject.has_forced_writes(), path: subject.path_time(), ..AuditTimings::default() };
    far("reads");
    for _ in 0..READS {
        timings.reads.push(subject.perform(AuditAction::Read, rng.below(blocks))?.span());
    }
    let middle = blocks / 2;
    for _ in 0..READS {
        timings.again.push(subject.perform(AuditAction::Read, middle)?.span());
    }
    far("empty flushes");
    // Writes from before the audit are not to be measured.
    subject.perform(AuditAction::Flush, 0)?;
    for _ in 0..EMPTY {
        timings.empty.push(subject.perform(AuditAction::Flush, 0)?.span());
    }
    far("overwrites");
    for _ in 0..OVERWRITES {
        timings.overwrites.push(overwrite_block(subject, &mut rng, middle)?);
    }
    far("forced writes");
    for _ in 0..OVERWRITES {
        subject.pause_for(Span::from_nanos(rng.below(PAUSE.nanos())))?;
        timings.forced.push(subject.perform(AuditAction::Force, middle)?);
    }
    far("scattered blocks");
    for _ in 0..ROUNDS {
        let writes = write_scattered(subject, &mut || rng.below(blocks), SCATTERED)?;
        let flush = subject.perform(AuditAction::Flush, 0)?.span();
        timings.rounds.push(Round { writes, flush });
    }
    far("flushes beside reads");
    for _ in 0..BESIDE {
        write_scattered(subject, &mut || rng.below(blocks), TOGETHER)?;
        let reads: Vec<u64> = (0..TOGETHER).map(|_| rng.below(blocks)).collect();
        let (flush, reads) = subject.flush_beside_reads(&reads)?;
        let slowest = reads.iter().map(AuditInterval::span).max().unwrap_or(Span::ZERO);
        timings.beside.push(FlushUnderReads { flush: flush.span(), slowest });
    }
    far("overwrites elsewhere");
    let mut rng = seed.stream("elsewhere");
    let places: Vec<u64> = (0..PLACES).map(|_| rng.below(blocks)).collect();
    for _ in 0..VISITS {
        for (place, &block) in places.iter().enumerate() {
            let (first, other) =
                (overwrite_block(subject, &mut rng, middle)?, overwrite_block(subject, &mut rng, block)?);
            let forced = [subject.perform(AuditAction::Force, middle)?, subject.perform(AuditAction::Force, block)?];
            timings.elsewhere.push(TwoOverwrites { place, first, other, forced });
        }
    }
    Ok(timings)
}

/// A pause, then a block that was there before, and a flush.
fn overwrite_block(subject: &mut dyn AuditSubject, rng: &mut Rng, block: u64) -> Result<Overwrite, String> {
    let pause = Span::from_nanos(rng.below(PAUSE.nanos()));
    subject.pause_for(pause)?;
    let (write, flush) = (subject.perform(AuditAction::Write, block)?, subject.perform(AuditAction::Flush, 0)?);
    Ok(Overwrite { pause, write, flush })
}

/// Writes `number` blocks; returns how long that took.
fn write_scattered(
    subject: &mut dyn AuditSubject,
    place: &mut dyn FnMut() -> u64,
    number: usize,
) -> Result<Span, String> {
    let mut span = Span::ZERO;
    for _ in 0..number {
        span += subject.perform(AuditAction::Write, place())?.span();
    }
    Ok(span)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers each request after a millisecond, and keeps it.
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
        fn path_time(&self) -> Span {
            Span::from_micros(9)
        }
        fn pause_for(&mut self, span: Span) -> Result<(), String> {
            self.now += span;
            self.pauses.push(span);
            Ok(())
        }
        fn perform(&mut self, act: AuditAction, block: u64) -> Result<AuditInterval, String> {
            self.asked.push((act, block));
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
        assert_eq!((reads.len(), again.len(), empty.len()), (READS, READS, EMPTY));
        assert_eq!((overwrites.len(), forced.len(), elsewhere.len()), (OVERWRITES, OVERWRITES, PLACES * VISITS));
        assert_eq!((rounds.len(), beside.len(), steps.len()), (ROUNDS, BESIDE, 7));
        assert_eq!((timings.forces, timings.path), (None, Span::from_micros(9)));
        assert!(rounds.iter().all(|round| round.writes == Span::from_millis(SCATTERED as u64)));
        let asked = |act: AuditAction| subject.asked.iter().filter(|asked| asked.0 == act).count();
        assert_eq!(asked(AuditAction::Read), 2 * READS + BESIDE * TOGETHER);
        let single = OVERWRITES + 2 * PLACES * VISITS;
        assert_eq!(asked(AuditAction::Write), single + ROUNDS * SCATTERED + BESIDE * TOGETHER);
        assert_eq!(asked(AuditAction::Force), single);
        // The first flush is for what was written before the audit.
        assert_eq!(asked(AuditAction::Flush), 1 + EMPTY + single + ROUNDS + BESIDE);
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
