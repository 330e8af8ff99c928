//! The verdict of a flush audit ([`seekwise_run::audit`]) on a disk: whether it rotates, whether a flush waits for
//! the medium, and how sure that is. Timings in, a verdict out; no disk is asked here, and nothing else is known of it.
//!
//! The verdict rests on one fact of mechanics (`lattice`): writes to one place end at one angle of the spindle. A
//! period alone does not make a verdict certain, because a timer keeps one too (`signs`). The bounds follow from the
//! speeds of spindles and the cost of commands, not from the behaviour of the modelled drives;
//! `crates/lab/tests/audit.rs` tests those.

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
    /// Nothing waits for a spindle: RAM, flash, or a cache that holds all that was asked. The outcome of a power failure is unknown.
    NothingRotates,
    /// The timings fit more than one of these.
    CannotTell,
}

/// How sure a verdict is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
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

    /// Whether what was flushed or forced surely survives a power failure.
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
    /// A read of a random place.
    pub read_ms: f64,
    /// A read of a place just read.
    pub read_again_ms: f64,
    /// A flush with nothing to do.
    pub empty_flush_ms: f64,
    /// A single overwrite of a block.
    pub write_ms: f64,
    /// The flush after it.
    pub flush_ms: f64,
    /// A forced overwrite.
    pub forced_ms: f64,
    /// A write at a random place, in a row of such writes.
    pub scattered_write_ms: f64,
    /// The flush after such a row.
    pub scattered_flush_ms: f64,
    /// The slowest of four reads beside a flush.
    pub read_beside_flush_ms: f64,
    /// The round trip alone; it is part of all figures.
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

/// Half the mean rotational latency of the fastest spindle (15,000 a minute: 4 ms a revolution, 2 ms on average): no
/// rotating disk reads most random blocks in less, unless they are in its buffer.
const TURNS_MS: f64 = 1.0;

/// Half a revolution of the fastest spindle: a command that waits for the medium after a write takes this long more
/// often than not.
const WAITS_MS: f64 = 2.0;

/// A command that reaches a disk costs its electronics at least a tenth of the cost of a block in or out of its buffer:
/// empty flushes have been measured from 0.05 ms on, cached blocks with their transfer up to 0.5 ms (0.37 ms of an
/// Atlas III, and 4 KiB at the 33 MB/s of the slowest ATA).
const REACHES: f64 = 0.1;

/// The verdict on these timings.
pub fn judge_timings(timings: &AuditTimings) -> AuditJudgement {
    let flushes = lattice::best_period(&timings.overwrites.iter().map(|it| it.flush.to).collect::<Vec<_>>());
    let writes = lattice::best_period(&timings.overwrites.iter().map(|it| it.write.to).collect::<Vec<_>>());
    let forced = lattice::best_period(&timings.forced.iter().map(|it| it.to).collect::<Vec<_>>());
    let figures = audit_medians(timings);
    let revolution = find_spindle(&[writes, flushes, forced]);
    let ends: fn(&TwoOverwrites) -> [Instant; 2] = match (writes.is_spindle(), flushes.is_spindle()) {
        (true, _) => |it| [it.first.write.to, it.other.write.to],
        (false, true) => |it| [it.first.flush.to, it.other.flush.to],
        (false, false) => |it| it.forced.map(|took| took.to),
    };
    let signs = Signs::from_timings(timings, revolution.map_or(0.0, |found| found.period_ms), ends);
    let evidence = AuditEvidence { flushes, writes, forced, signs, figures, forces: timings.forces };
    let (verdict, certainty, why) = evidence.reach_verdict();
    let revolution = revolution.filter(|_| verdict != AuditVerdict::CannotTell);
    AuditJudgement { verdict, certainty, why, revolution, flushes, writes, forced, signs, figures }
}

/// A spindle has one period: the longest, because ends at two angles fit half of it; among those that fit it, the best.
fn find_spindle(found: &[Lattice]) -> Option<Lattice> {
    let holding = || found.iter().copied().filter(Lattice::is_spindle);
    let longest = holding().map(|it| it.period_ms).fold(0.0, f64::max);
    holding().filter(|it| it.period_ms > 0.95 * longest).max_by(|a, b| a.held.total_cmp(&b.held))
}

fn audit_medians(timings: &AuditTimings) -> AuditMedians {
    let took = |it: &AuditInterval| it.span();
    let overwrites = &timings.overwrites;
    AuditMedians {
        read_ms: median_ms(timings.reads.iter().copied()),
        read_again_ms: median_ms(timings.again.iter().copied()),
        empty_flush_ms: median_ms(timings.empty.iter().copied()),
        write_ms: median_ms(overwrites.iter().map(|it| it.write.span())),
        flush_ms: median_ms(overwrites.iter().map(|it| it.flush.span())),
        forced_ms: median_ms(timings.forced.iter().map(took)),
        scattered_write_ms: median_ms(timings.rounds.iter().map(|it| it.writes)) / SCATTERED as f64,
        scattered_flush_ms: median_ms(timings.rounds.iter().map(|it| it.flush)),
        read_beside_flush_ms: median_ms(timings.beside.iter().map(|it| it.slowest)),
        path_ms: timings.path.nanos() as f64 / 1e6,
    }
}

/// The median in milliseconds; 0 for none.
fn median_ms(spans: impl Iterator<Item = Span>) -> f64 {
    let mut nanos: Vec<u64> = spans.map(Span::nanos).collect();
    nanos.sort_unstable();
    nanos.get(nanos.len() / 2).map_or(0.0, |&nanos| nanos as f64 / 1e6)
}

/// The evidence for a verdict.
struct AuditEvidence {
    flushes: Lattice,
    writes: Lattice,
    forced: Lattice,
    signs: Signs,
    figures: AuditMedians,
    forces: Option<bool>,
}

type Found = (AuditVerdict, Certainty, Vec<String>);

impl AuditEvidence {
    fn reach_verdict(&self) -> Found {
        if self.flushes.number == 0 {
            return (AuditVerdict::CannotTell, Certainty::Open, vec!["Nothing was measured".to_owned()]);
        }
        if self.writes.is_spindle() {
            return self.judge_cache_off();
        }
        if self.flushes.is_spindle() {
            return self.judge_waiting_flush();
        }
        let AuditMedians { read_ms, flush_ms, scattered_flush_ms, .. } = self.figures;
        if self.forced.is_spindle() && flush_ms < WAITS_MS {
            let why = format!(
                "Forced writes end whole revolutions apart ({}); a write with its flush ends at any angle",
                self.forced
            );
            let mut why = vec![why, self.early_flush_reason()];
            self.add_signs(&self.forced, &mut why);
            return (AuditVerdict::FlushIgnored, self.certainty_of_period(&self.forced), why);
        }
        if read_ms < TURNS_MS {
            return self.judge_without_spindle();
        }
        if flush_ms < WAITS_MS && scattered_flush_ms < WAITS_MS {
            return self.judge_early_flush();
        }
        let why = format!(
            "Reads take as long as on a rotating disk ({read_ms:.1} ms), and a flush waits for something ({flush_ms:.1} ms after \
             one block, {scattered_flush_ms:.1} ms after 32), but the times fit no revolution ({}). Possible causes: other work on \
             the disk, several disks behind one name, or writes that go elsewhere first",
            self.flushes
        );
        (AuditVerdict::CannotTell, Certainty::Open, vec![why])
    }

    /// Certain if the ends stay within an eighth of a revolution (a standard deviation of that gives 0.73) of a speed
    /// that disks have, and if reads wait for a spindle too. If a timer may have that period, each place must have its
    /// own angle as well.
    fn certainty_of_period(&self, lattice: &Lattice) -> Certainty {
        let keeps = lattice.held >= lattice::TIGHT && lattice.commercial_speed().is_some();
        let turns = self.signs.places_differ() || !lattice.may_be_a_tick();
        if keeps && self.signs.reads_turn() && turns { Certainty::Certain } else { Certainty::Likely }
    }

    /// Adds the signs of a spindle besides the period, and those that are missing.
    fn add_signs(&self, lattice: &Lattice, why: &mut Vec<String>) {
        let Signs { reads_apart, reads_held, places_held, places_alike } = self.signs;
        let said = match self.signs.reads_turn() {
            true => "Random reads end at any angle",
            false => "Random reads show no rotation",
        };
        why.push(format!("{said}: 90 % lie within {reads_apart:.1} revolutions of one another, and whole revolutions fit {reads_held:.2} (1 is perfect)"));
        let said = match self.signs.places_differ() {
            true => "Each place has its own angle",
            false => "Other places do not show their own angles",
        };
        why.push(format!(
            "{said}: own angles fit {places_held:.2}, one angle for all fits {places_alike:.2} (1 is perfect)"
        ));
        if lattice.may_be_a_tick() && !self.signs.places_differ() {
            why.push("A timer may have this period too: the disk may be simulated or throttled".to_owned());
        }
    }

    /// Why a period is not that of a spindle after all.
    fn find_contradiction(&self, lattice: &Lattice) -> Option<Found> {
        // A disk may begin while it still receives blocks.
        let scattered_ms = self.figures.scattered_write_ms * SCATTERED as f64 + self.figures.scattered_flush_ms;
        let (turn, sold) = (lattice.period_ms, lattice.commercial_speed().is_some());
        let but = if scattered_ms < turn {
            format!(
                "But {SCATTERED} scattered blocks are written and flushed in {scattered_ms:.2} ms, less than one revolution ({turn:.2} ms): no \
                 rotating disk can do that"
            )
        } else if self.figures.read_ms > turn / 4.0 && self.signs.reads_held >= lattice::HOLDS {
            // An answer without any wait takes no revolution, which is a whole number of them, too.
            format!(
                "But random reads all end at the same angle (fit {:.2}; 1 is perfect): that is a timer, not a spindle",
                self.signs.reads_held
            )
        } else if lattice.may_be_a_tick() && !self.signs.places_differ() && !(self.signs.reads_turn() && sold) {
            format!(
                "But a timer may have this period too, and other places do not show their own angles (own angles fit {:.2}, one \
                 angle for all fits {:.2})",
                self.signs.places_held, self.signs.places_alike
            )
        } else {
            return None;
        };
        let keeps = format!("Writes wait for something periodic ({lattice})");
        Some((AuditVerdict::CannotTell, Certainty::Open, vec![keeps, but]))
    }

    fn judge_cache_off(&self) -> Found {
        if let Some(found) = self.find_contradiction(&self.writes) {
            return found;
        }
        let mut why = vec![format!("Writes end whole revolutions apart even without a flush ({})", self.writes)];
        why.push(format!("A flush after one takes {:.2} ms: nothing is left to write", self.figures.flush_ms));
        self.add_signs(&self.writes, &mut why);
        (AuditVerdict::CacheOff, self.certainty_of_period(&self.writes), why)
    }

    fn judge_waiting_flush(&self) -> Found {
        let AuditMedians { write_ms, forced_ms, scattered_flush_ms, .. } = self.figures;
        if let Some(found) = self.find_contradiction(&self.flushes) {
            return found;
        }
        let mut why = vec![format!(
            "A write is acknowledged after {write_ms:.2} ms, at any angle; writes with their flush end whole revolutions apart ({})",
            self.flushes
        )];
        why.push(format!("A flush of {SCATTERED} scattered blocks takes {scattered_flush_ms:.1} ms"));
        self.add_signs(&self.flushes, &mut why);
        let certainty = self.certainty_of_period(&self.flushes);
        if self.forces != Some(false) && !self.forced.is_spindle() && forced_ms < WAITS_MS {
            why.push(format!("Forced writes are acknowledged after {forced_ms:.2} ms, at any angle ({})", self.forced));
            return (AuditVerdict::FuaIgnored, certainty, why);
        }
        (AuditVerdict::Honest, certainty, why)
    }

    /// The verdict without a spindle.
    fn judge_without_spindle(&self) -> Found {
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
        (AuditVerdict::NothingRotates, Certainty::Likely, why)
    }

    /// The verdict if it rotates and a flush does not wait.
    fn judge_early_flush(&self) -> Found {
        let AuditMedians { read_ms, read_again_ms, write_ms, empty_flush_ms, forced_ms, path_ms, .. } = self.figures;
        let mut why =
            vec![format!("Reads take as long as on a rotating disk ({read_ms:.1} ms)"), self.early_flush_reason()];
        let (command, cached) = (empty_flush_ms - path_ms, read_again_ms.min(write_ms) - path_ms);
        if cached > 0.0 && command < REACHES * cached {
            why.push(format!(
                "Besides the round trip, a flush takes {:.3} ms, and a block to or from the disk's buffer {cached:.3} ms: flushes do \
                 not reach the disk. The layer that drops them trusts the disk's cache",
                command.max(0.0)
            ));
            return (AuditVerdict::FlushIgnored, Certainty::Likely, why);
        }
        if self.forces == Some(true) && forced_ms < WAITS_MS {
            why.push(format!(
                "Forced writes are acknowledged as early ({forced_ms:.2} ms): a power-protected cache explains both, while a disk \
                 that lies would have to lie twice"
            ));
            return (AuditVerdict::Protected, Certainty::Likely, why);
        }
        why.push(
            "Either the disk's cache is power-protected, or the disk ignores flushes: both take the same time. Its datasheet \
             says which"
                .to_owned(),
        );
        (AuditVerdict::CannotTell, Certainty::Open, why)
    }

    fn early_flush_reason(&self) -> String {
        let AuditMedians { flush_ms, scattered_flush_ms, .. } = self.figures;
        format!(
            "A flush is acknowledged before the blocks can be on the medium: {flush_ms:.2} ms after one block, {scattered_flush_ms:.2} ms \
             after 32 scattered ones"
        )
    }
}

/// The evidence as a curve: the times between the ends of overwrites with their flushes, sorted. A spindle makes steps
/// in it.
pub fn evidence_curve(timings: &AuditTimings) -> Vec<(f64, f64)> {
    let ends: Vec<Instant> = timings.overwrites.iter().map(|it| it.flush.to).collect();
    let mut apart: Vec<f64> = ends.windows(2).map(|pair| pair[1].since(pair[0]).nanos() as f64 / 1e6).collect();
    apart.sort_by(f64::total_cmp);
    let number = apart.len().max(1) as f64;
    apart.into_iter().enumerate().map(|(at, ms)| (100.0 * (at + 1) as f64 / number, ms)).collect()
}

/// The picture of the curve, with its axes.
pub fn evidence_picture(points: &[(f64, f64)]) -> Picture<'_> {
    Picture {
        title: "From the end of one flushed overwrite to the next: a spindle makes steps of its revolution",
        x: "share of the overwrites, shortest time first (%)",
        y: "time from end to end (ms)",
        points,
    }
}

#[cfg(test)]
mod tests;
