//! The verdict of a flush audit ([`seekwise_run::audit`]) on a disk: whether it rotates, whether a flush waits for the medium, and how sure
//! that is. The input is the audit's timings and nothing else; no request is made here.
//!
//! The verdict rests on one fact of mechanics (`lattice`): writes of one block end at one angle of the spindle, so the times between their
//! ends are whole revolutions. A period alone does not make a verdict certain, because a timer keeps one too (`signs`). The bounds follow from
//! the speeds of spindles and the cost of commands, not from the behaviour of the modelled drives; `crates/lab/tests/audit.rs` tests those.

mod lattice;
mod signs;

use seekwise_disk::time::{Instant, Span};
use seekwise_run::audit::{AuditInterval, AuditTimings, SCATTERED, TwoOverwrites};
use serde::Serialize;

pub use self::lattice::{Lattice, SPEEDS};
pub use self::signs::Signs;
use crate::plot::Picture;

/// How a disk treats a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuditVerdict {
    /// Rotates and caches writes; a flush waits for the medium.
    Honest,
    /// Rotates; each write waits for the medium.
    CacheOff,
    /// Rotates and caches writes; a flush is answered before they are on the medium.
    FlushIgnored,
    /// A flush waits for the medium, a forced write does not.
    FuaIgnored,
    /// Rotates; the cache is safe from a power failure: neither flushes nor forced writes wait for the medium.
    Protected,
    /// Nothing waits for a spindle: RAM, flash, or a cache that holds all blocks of the audit. The outcome of a power failure is unknown.
    NothingRotates,
    /// The timings fit more than one of these verdicts.
    CannotTell,
}

/// How sure a verdict is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// There is no verdict.
    Open,
    /// Another explanation is possible, but less simple.
    Likely,
    /// The timings have no other known explanation.
    Certain,
}

impl AuditVerdict {
    /// The verdict in words.
    pub fn words(self) -> &'static str {
        match self {
            AuditVerdict::Honest => "rotating and honest",
            AuditVerdict::CacheOff => "rotating, write cache off",
            AuditVerdict::FlushIgnored => "flush ignored",
            AuditVerdict::FuaIgnored => "flush honest, forced writes (FUA) ignored",
            AuditVerdict::Protected => "rotating, power-protected cache",
            AuditVerdict::NothingRotates => "nothing rotates",
            AuditVerdict::CannotTell => "cannot tell",
        }
    }

    /// True if flushed or forced writes surely survive a power failure.
    pub fn is_safe(self) -> bool {
        matches!(self, AuditVerdict::Honest | AuditVerdict::CacheOff | AuditVerdict::Protected)
    }
}

impl Certainty {
    /// The certainty in words.
    pub fn words(self) -> &'static str {
        match self {
            Certainty::Open => "open",
            Certainty::Likely => "likely",
            Certainty::Certain => "certain",
        }
    }
}

/// Medians of the measurements, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AuditMedians {
    /// A read at a random address.
    pub read_ms: f64,
    /// A read of a block just read.
    pub read_again_ms: f64,
    /// A flush with nothing to do.
    pub empty_flush_ms: f64,
    /// A single overwrite of a block.
    pub write_ms: f64,
    /// The flush after such an overwrite.
    pub flush_ms: f64,
    /// A forced overwrite.
    pub forced_ms: f64,
    /// A write at a random address, in a row of such writes.
    pub scattered_write_ms: f64,
    /// The flush after such a row.
    pub scattered_flush_ms: f64,
    /// The slowest of four reads beside a flush.
    pub read_beside_flush_ms: f64,
    /// The round trip alone, without a disk; it is part of all figures.
    pub path_ms: f64,
}

/// The result of an audit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditJudgement {
    pub verdict: AuditVerdict,
    pub certainty: Certainty,
    /// The reasons, a sentence each.
    pub why: Vec<String>,
    /// The spindle, if one was found.
    pub revolution: Option<Lattice>,
    /// How well one period fits the ends of overwrites with their flush.
    pub flushes: Lattice,
    /// How well one period fits the ends of writes alone.
    pub writes: Lattice,
    /// How well one period fits the ends of forced writes.
    pub forced: Lattice,
    /// Further signs of a spindle of that period.
    pub signs: Signs,
    pub figures: AuditMedians,
}

/// The least median of a rotating disk's random reads that its buffer does not answer: half the mean rotational latency of the fastest spindle
/// (15,000 a minute: 4 ms a revolution, 2 ms on average).
const SPINDLE_READ_MS: f64 = 1.0;

/// The least median of commands that wait for the medium after a write: half a revolution of the fastest spindle.
const MEDIUM_WAIT_MS: f64 = 2.0;

/// The least cost of a command that reaches a disk, as a share of the cost of a block in or out of the disk's buffer. Empty flushes have been
/// measured from 0.05 ms on, cached blocks with their transfer up to 0.5 ms (0.37 ms of an Atlas III, and 4 KiB at the 33 MB/s of the slowest
/// ATA).
const ELECTRONICS_SHARE: f64 = 0.1;

/// The verdict on these timings.
pub fn judge_timings(timings: &AuditTimings) -> AuditJudgement {
    let flushes =
        lattice::fit_period(&timings.overwrites.iter().map(|overwrite| overwrite.flush.to).collect::<Vec<_>>());
    let writes =
        lattice::fit_period(&timings.overwrites.iter().map(|overwrite| overwrite.write.to).collect::<Vec<_>>());
    let forced = lattice::fit_period(&timings.forced.iter().map(|interval| interval.to).collect::<Vec<_>>());
    let figures = audit_medians(timings);
    let revolution = longest_spindle(&[writes, flushes, forced]);
    let spindle_ends: fn(&TwoOverwrites) -> [Instant; 2] = match (writes.fits_spindle(), flushes.fits_spindle()) {
        (true, _) => |pair| [pair.first.write.to, pair.other.write.to],
        (false, true) => |pair| [pair.first.flush.to, pair.other.flush.to],
        (false, false) => |pair| pair.forced.map(|interval| interval.to),
    };
    let signs = Signs::from_timings(timings, revolution.map_or(0.0, |lattice| lattice.period_ms), spindle_ends);
    let evidence = AuditEvidence { flushes, writes, forced, signs, figures, forces: timings.forces };
    let ReasonedVerdict { verdict, certainty, why } = evidence.reach_verdict();
    let revolution = revolution.filter(|_| verdict != AuditVerdict::CannotTell);
    AuditJudgement { verdict, certainty, why, revolution, flushes, writes, forced, signs, figures }
}

/// The spindle among the periods found. Ends at two angles fit half a revolution too, so it is the longest period, and of those equal to it
/// within a twentieth the one that fits best.
fn longest_spindle(lattices: &[Lattice]) -> Option<Lattice> {
    let spindles = || lattices.iter().copied().filter(Lattice::fits_spindle);
    let longest_ms = spindles().map(|lattice| lattice.period_ms).fold(0.0, f64::max);
    spindles().filter(|lattice| lattice.period_ms > 0.95 * longest_ms).max_by(|a, b| a.held.total_cmp(&b.held))
}

fn audit_medians(timings: &AuditTimings) -> AuditMedians {
    let overwrites = &timings.overwrites;
    AuditMedians {
        read_ms: median_ms(timings.reads.iter().copied()),
        read_again_ms: median_ms(timings.again.iter().copied()),
        empty_flush_ms: median_ms(timings.empty.iter().copied()),
        write_ms: median_ms(overwrites.iter().map(|overwrite| overwrite.write.span())),
        flush_ms: median_ms(overwrites.iter().map(|overwrite| overwrite.flush.span())),
        forced_ms: median_ms(timings.forced.iter().map(AuditInterval::span)),
        scattered_write_ms: median_ms(timings.rounds.iter().map(|round| round.writes)) / SCATTERED as f64,
        scattered_flush_ms: median_ms(timings.rounds.iter().map(|round| round.flush)),
        read_beside_flush_ms: median_ms(timings.beside.iter().map(|flush| flush.slowest)),
        path_ms: timings.path.nanos() as f64 / 1e6,
    }
}

/// The median in milliseconds; 0 for none.
fn median_ms(spans: impl Iterator<Item = Span>) -> f64 {
    let mut nanos: Vec<u64> = spans.map(Span::nanos).collect();
    nanos.sort_unstable();
    nanos.get(nanos.len() / 2).map_or(0.0, |&nanos| nanos as f64 / 1e6)
}

/// The evidence for a verdict: how well one period fits the ends of each kind of write, and the other measurements.
struct AuditEvidence {
    flushes: Lattice,
    writes: Lattice,
    forced: Lattice,
    signs: Signs,
    figures: AuditMedians,
    /// Whether forced writes are one command; not always known.
    forces: Option<bool>,
}

/// A verdict with its reasons, a sentence each.
struct ReasonedVerdict {
    verdict: AuditVerdict,
    certainty: Certainty,
    why: Vec<String>,
}

impl ReasonedVerdict {
    fn open(why: Vec<String>) -> ReasonedVerdict {
        ReasonedVerdict { verdict: AuditVerdict::CannotTell, certainty: Certainty::Open, why }
    }

    fn likely(verdict: AuditVerdict, why: Vec<String>) -> ReasonedVerdict {
        ReasonedVerdict { verdict, certainty: Certainty::Likely, why }
    }
}

impl AuditEvidence {
    fn reach_verdict(&self) -> ReasonedVerdict {
        if self.flushes.number == 0 {
            return ReasonedVerdict::open(vec!["Nothing was measured".to_owned()]);
        }
        if self.writes.fits_spindle() {
            return self.judge_cache_off();
        }
        if self.flushes.fits_spindle() {
            return self.judge_waiting_flush();
        }
        let AuditMedians { read_ms, flush_ms, scattered_flush_ms, .. } = self.figures;
        if self.forced.fits_spindle() && flush_ms < MEDIUM_WAIT_MS {
            let why = format!(
                "Forced writes end whole revolutions apart ({}); a write with its flush ends at any angle",
                self.forced
            );
            let mut why = vec![why, self.early_flush_sentence()];
            self.push_sign_reasons(&self.forced, &mut why);
            let certainty = self.certainty_of_period(&self.forced);
            return ReasonedVerdict { verdict: AuditVerdict::FlushIgnored, certainty, why };
        }
        if read_ms < SPINDLE_READ_MS {
            return self.judge_without_spindle();
        }
        if flush_ms < MEDIUM_WAIT_MS && scattered_flush_ms < MEDIUM_WAIT_MS {
            return self.judge_early_flush();
        }
        let why = format!(
            "Reads take as long as on a rotating disk ({read_ms:.1} ms), and a flush waits for something ({flush_ms:.1} ms after \
             one block, {scattered_flush_ms:.1} ms after 32), but the times fit no revolution ({}). Possible causes: other work on \
             the disk, several disks behind one name, or writes that go elsewhere first",
            self.flushes
        );
        ReasonedVerdict::open(vec![why])
    }

    /// Certain if the period is that of a commercial speed and fits tightly, and if reads wait for a spindle too. If a timer may have that
    /// period, each block must have an angle of its own as well.
    fn certainty_of_period(&self, lattice: &Lattice) -> Certainty {
        let is_known_speed = lattice.held >= lattice::TIGHT_FIT && lattice.commercial_speed().is_some();
        let is_no_timer = self.signs.places_differ() || !lattice.may_be_timer_tick();
        if is_known_speed && self.signs.reads_turn() && is_no_timer { Certainty::Certain } else { Certainty::Likely }
    }

    /// Adds a sentence on each sign of a spindle besides the period, be it present or missing.
    fn push_sign_reasons(&self, lattice: &Lattice, why: &mut Vec<String>) {
        let Signs { reads_apart, reads_held, places_held, places_alike } = self.signs;
        let reads = match self.signs.reads_turn() {
            true => "Random reads end at any angle",
            false => "Random reads show no rotation",
        };
        why.push(format!("{reads}: 90 % lie within {reads_apart:.1} revolutions of one another, and whole revolutions fit {reads_held:.2} (1 is perfect)"));
        let places = match self.signs.places_differ() {
            true => "Each place has its own angle",
            false => "Other places do not show their own angles",
        };
        why.push(format!(
            "{places}: own angles fit {places_held:.2}, one angle for all fits {places_alike:.2} (1 is perfect)"
        ));
        if lattice.may_be_timer_tick() && !self.signs.places_differ() {
            why.push("A timer may have this period too: the disk may be simulated or throttled".to_owned());
        }
    }

    /// The verdict `CannotTell` if something contradicts that a period is a spindle's; otherwise `None`.
    fn find_contradiction(&self, lattice: &Lattice) -> Option<ReasonedVerdict> {
        // A disk may begin to write while it still receives blocks, so the time counts from the first of them.
        let scattered_ms = self.figures.scattered_write_ms * SCATTERED as f64 + self.figures.scattered_flush_ms;
        let (period_ms, is_commercial) = (lattice.period_ms, lattice.commercial_speed().is_some());
        let but = if scattered_ms < period_ms {
            format!(
                "But {SCATTERED} scattered blocks are written and flushed in {scattered_ms:.2} ms, less than one revolution ({period_ms:.2} ms): no \
                 rotating disk can do that"
            )
        } else if self.figures.read_ms > period_ms / 4.0 && self.signs.reads_held >= lattice::SPINDLE_FIT {
            // Reads that wait for nothing all take zero revolutions, which is a whole number too: they contradict nothing.
            format!(
                "But random reads all end at the same angle (fit {:.2}; 1 is perfect): that is a timer, not a spindle",
                self.signs.reads_held
            )
        } else if lattice.may_be_timer_tick()
            && !self.signs.places_differ()
            && !(self.signs.reads_turn() && is_commercial)
        {
            format!(
                "But a timer may have this period too, and other places do not show their own angles (own angles fit {:.2}, one \
                 angle for all fits {:.2})",
                self.signs.places_held, self.signs.places_alike
            )
        } else {
            return None;
        };
        let periodic = format!("Writes wait for something periodic ({lattice})");
        Some(ReasonedVerdict::open(vec![periodic, but]))
    }

    /// The verdict if writes alone fit a spindle.
    fn judge_cache_off(&self) -> ReasonedVerdict {
        if let Some(contradicted) = self.find_contradiction(&self.writes) {
            return contradicted;
        }
        let mut why = vec![format!("Writes end whole revolutions apart even without a flush ({})", self.writes)];
        why.push(format!("A flush after one takes {:.2} ms: nothing is left to write", self.figures.flush_ms));
        self.push_sign_reasons(&self.writes, &mut why);
        let certainty = self.certainty_of_period(&self.writes);
        ReasonedVerdict { verdict: AuditVerdict::CacheOff, certainty, why }
    }

    /// The verdict if writes with their flush fit a spindle, and writes alone do not.
    fn judge_waiting_flush(&self) -> ReasonedVerdict {
        let AuditMedians { write_ms, forced_ms, scattered_flush_ms, .. } = self.figures;
        if let Some(contradicted) = self.find_contradiction(&self.flushes) {
            return contradicted;
        }
        let mut why = vec![format!(
            "A write is acknowledged after {write_ms:.2} ms, at any angle; writes with their flush end whole revolutions apart ({})",
            self.flushes
        )];
        why.push(format!("A flush of {SCATTERED} scattered blocks takes {scattered_flush_ms:.1} ms"));
        self.push_sign_reasons(&self.flushes, &mut why);
        let certainty = self.certainty_of_period(&self.flushes);
        if self.forces != Some(false) && !self.forced.fits_spindle() && forced_ms < MEDIUM_WAIT_MS {
            why.push(format!("Forced writes are acknowledged after {forced_ms:.2} ms, at any angle ({})", self.forced));
            return ReasonedVerdict { verdict: AuditVerdict::FuaIgnored, certainty, why };
        }
        ReasonedVerdict { verdict: AuditVerdict::Honest, certainty, why }
    }

    /// The verdict if reads are too fast for a spindle.
    fn judge_without_spindle(&self) -> ReasonedVerdict {
        let AuditMedians { read_ms, flush_ms, .. } = self.figures;
        let mut why = vec![format!(
            "Random reads take {read_ms:.2} ms, too little for a rotating disk: nothing rotates, or a cache answers"
        )];
        why.push(format!(
            "A flush after a write takes {flush_ms:.2} ms, and its end fits no revolution ({})",
            self.flushes
        ));
        why.push(
            "So nothing is known of a power failure: timing cannot tell RAM, which keeps nothing, from flash that keeps what was \
             flushed. A datasheet or a real power cut can"
                .to_owned(),
        );
        ReasonedVerdict::likely(AuditVerdict::NothingRotates, why)
    }

    /// The verdict if reads are as slow as on a rotating disk, and a flush does not wait.
    fn judge_early_flush(&self) -> ReasonedVerdict {
        let AuditMedians { read_ms, read_again_ms, write_ms, empty_flush_ms, forced_ms, path_ms, .. } = self.figures;
        let mut why =
            vec![format!("Reads take as long as on a rotating disk ({read_ms:.1} ms)"), self.early_flush_sentence()];
        let (flush_cost_ms, block_cost_ms) = (empty_flush_ms - path_ms, read_again_ms.min(write_ms) - path_ms);
        if block_cost_ms > 0.0 && flush_cost_ms < ELECTRONICS_SHARE * block_cost_ms {
            why.push(format!(
                "Besides the round trip, a flush takes {:.3} ms, and a block to or from the disk's buffer {block_cost_ms:.3} ms: flushes do \
                 not reach the disk. The layer that drops them trusts the disk's cache",
                flush_cost_ms.max(0.0)
            ));
            return ReasonedVerdict::likely(AuditVerdict::FlushIgnored, why);
        }
        if self.forces == Some(true) && forced_ms < MEDIUM_WAIT_MS {
            why.push(format!(
                "Forced writes are acknowledged as early ({forced_ms:.2} ms): a power-protected cache explains both, while a disk \
                 that lies would have to lie twice"
            ));
            return ReasonedVerdict::likely(AuditVerdict::Protected, why);
        }
        why.push(
            "Either the disk's cache is power-protected, or the disk ignores flushes: both take the same time. Its datasheet \
             says which"
                .to_owned(),
        );
        ReasonedVerdict::open(why)
    }

    fn early_flush_sentence(&self) -> String {
        let AuditMedians { flush_ms, scattered_flush_ms, .. } = self.figures;
        format!(
            "A flush is acknowledged before the blocks can be on the medium: {flush_ms:.2} ms after one block, {scattered_flush_ms:.2} ms \
             after 32 scattered ones"
        )
    }
}

/// A share of the overwrites in per cent, and a time in milliseconds.
pub type PercentAndMs = (f64, f64);

/// The times between the ends of consecutive flushed overwrites, sorted, with the share of the overwrites up to each. A spindle makes steps of
/// its revolution in this curve.
pub fn flush_gap_percentiles(timings: &AuditTimings) -> Vec<PercentAndMs> {
    let ends: Vec<Instant> = timings.overwrites.iter().map(|overwrite| overwrite.flush.to).collect();
    let mut gaps_ms: Vec<f64> = ends.windows(2).map(|pair| pair[1].since(pair[0]).nanos() as f64 / 1e6).collect();
    gaps_ms.sort_by(f64::total_cmp);
    let count = gaps_ms.len().max(1) as f64;
    gaps_ms.into_iter().enumerate().map(|(index, ms)| (100.0 * (index + 1) as f64 / count, ms)).collect()
}

/// The picture of such a curve, with its axes.
pub fn flush_gap_picture(points: &[PercentAndMs]) -> Picture<'_> {
    Picture {
        title: "From the end of one flushed overwrite to the next: a spindle makes steps of its revolution",
        x: "share of the overwrites, shortest time first (%)",
        y: "time from end to end (ms)",
        points,
    }
}

#[cfg(test)]
mod tests;
