//! The flush audit on known subjects: its own requests run through stacks of eight behaviours, on every built-in drive,
//! and on three tickers, which answer when a timer ticks, each with ten seeds. Its verdicts are compared with the
//! truth; the table is in `docs/flush-audit.md`.

use std::collections::{BTreeMap, BTreeSet};

use seekwise_disk::block::SECTOR;
use seekwise_disk::rng::{Rng, Seed};
use seekwise_disk::stack::Stack;
use seekwise_disk::time::{Instant, Span};
use seekwise_drives::stack::StackFile;
use seekwise_lab::audit::{AuditJudgement, AuditVerdict, Certainty, judge_timings};
use seekwise_lab::catalogue;
use seekwise_run::audit::subject::ModelledStack;
use seekwise_run::audit::{AuditAction, AuditInterval, AuditSubject, measure_timings};

const SEEDS: u64 = 10;

/// The behaviour of a drive, and the settings of a stack that produce it.
const BEHAVIOURS: [(&str, &[(&str, &str)]); 8] = [
    ("honest", &[]),
    ("cache off", &[("drive.cache.write_back", "off")]),
    ("early flush", &[("drive.faults.early_flush", "on")]),
    ("FUA ignored", &[("drive.link.fua", "on"), ("drive.faults.ignores_fua", "on")]),
    ("protected", &[("drive.power.protected", "on")]),
    ("flash-backed", &[("drive.cache.flash_kib", "65536")]),
    ("media cache", &[("drive.cache.media_cache_mib", "64"), ("drive.cache.media_cache_largest_kib", "64")]),
    ("dropped", &[("driver", "nforce-sw")]),
];

fn stack(drive: &str, set: &[(&str, String)]) -> Stack {
    let mut file = StackFile::named_drive(drive);
    for (key, value) in set {
        file.set(key, value).unwrap_or_else(|faults| panic!("{key}: {}", faults[0]));
    }
    let text = |name: &str| Ok(catalogue::find_text(name).expect("a drive of the catalogue").to_owned());
    file.build(&text).unwrap_or_else(|faults| panic!("{drive} {set:?}: {}", faults[0])).stack
}

/// A media cache takes room on the platter: the rest has less.
fn settings<'a>(drive: &str, set: &[(&'a str, &str)]) -> Vec<(&'a str, String)> {
    let mut set: Vec<(&str, String)> = set.iter().map(|&(key, value)| (key, value.to_owned())).collect();
    if set.iter().any(|(key, _)| *key == "drive.cache.media_cache_mib") {
        let sectors = stack(drive, &[]).sectors() - (256 << 20) / SECTOR;
        set.insert(0, ("drive.geometry.sectors", (sectors / 8 * 8).to_string()));
    }
    set
}

fn audit(stack: &Stack, seed: u64) -> AuditJudgement {
    let timings = measure_timings(&mut ModelledStack::new(stack, Seed(seed)), Seed(seed), &mut |_| ())
        .expect("the model answers");
    judge_timings(&timings)
}

/// The right verdict: if two behaviours take the same time, that it cannot tell.
fn expected(behaviour: &str, fua: bool) -> AuditVerdict {
    match (behaviour, fua) {
        ("honest" | "media cache", _) => AuditVerdict::Honest,
        ("cache off", _) => AuditVerdict::CacheOff,
        ("FUA ignored", _) => AuditVerdict::FuaIgnored,
        ("dropped", _) | ("early flush", true) => AuditVerdict::FlushIgnored,
        ("protected" | "flash-backed", true) => AuditVerdict::Protected,
        // Without forced writes nothing distinguishes a safe cache from one that lies.
        ("early flush" | "protected" | "flash-backed", false) => AuditVerdict::CannotTell,
        (other, _) => panic!("{other}"),
    }
}

/// For each subject: how often each verdict was given, and how sure.
type Matrix = BTreeMap<(usize, String), Told>;
type Told = BTreeMap<(AuditVerdict, Certainty), u32>;

#[test]
fn eight_behaviours_and_three_tickers() {
    let (mut matrix, mut wrong) = (Matrix::new(), Vec::new());
    let mut count = |at: usize, name: String, said: &AuditJudgement| {
        *matrix.entry((at, name)).or_default().entry((said.verdict, said.certainty)).or_default() += 1;
    };
    for drive in catalogue::names() {
        for (at, (name, set)) in BEHAVIOURS.iter().enumerate() {
            let stack = stack(drive, &settings(drive, set));
            let fua = stack.profile.link.fua;
            for seed in 1..=crate::drawn(SEEDS) {
                let said = audit(&stack, seed);
                count(at, format!("{name}, {} FUA", if fua { "with" } else { "without" }), &said);
                if said.verdict != expected(name, fua) {
                    wrong.push(format!("{drive}, {name}, seed {seed}: {said:?}"));
                }
            }
        }
    }
    for (kind, imitates) in [Imitates::Flushes, Imitates::All, Imitates::Disk].into_iter().enumerate() {
        for tick_ms in [2, 4, 10] {
            for seed in 1..=crate::drawn(SEEDS) {
                let mut ticker = Ticker::new(tick_ms, imitates, seed);
                let said = judge_timings(&measure_timings(&mut ticker, Seed(seed), &mut |_| ()).expect("it answers"));
                count(BEHAVIOURS.len() + kind, format!("{tick_ms} ms tick: {}", imitates.words()), &said);
                // Nothing certain; a disk that rotates only if it is imitated throughout, at a commercial speed.
                let turns =
                    [AuditVerdict::Honest, AuditVerdict::CacheOff, AuditVerdict::FuaIgnored].contains(&said.verdict);
                let fooled = imitates == Imitates::Disk && tick_ms == 4;
                if turns && !fooled || said.certainty == Certainty::Certain {
                    wrong.push(format!("{tick_ms} ms, {}, seed {seed}: {said:?}", imitates.words()));
                }
            }
        }
    }
    let rows = rows(&matrix);
    println!("{rows}");
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    if crate::drawn(SEEDS) < SEEDS {
        return println!("the document's table has all draws (SEEKWISE_DRAWS=all)");
    }
    let document = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/flush-audit.md");
    let document = std::fs::read_to_string(document).expect("it is there");
    assert!(document.contains(&rows), "docs/flush-audit.md has another table; this one belongs there:\n{rows}");
}

/// The table of the document: the verdicts, each with how sure and how often.
fn rows(matrix: &Matrix) -> String {
    let cell = |((verdict, certainty), times): (&(AuditVerdict, Certainty), &u32)| match certainty {
        Certainty::Open => format!("{} {times}", verdict.words()),
        _ => format!("{}, {} {times}", verdict.words(), certainty.words()),
    };
    let row = |((_, name), said): (&(usize, String), &Told)| {
        let audits: u32 = said.values().sum();
        format!("| {name} | {audits} | {} |\n", said.iter().map(cell).collect::<Vec<_>>().join("; "))
    };
    matrix.iter().map(row).collect()
}

/// Which answers of a ticker wait for its timer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Imitates {
    /// Flushes and forced writes; everything else is answered at once.
    Flushes,
    /// Everything.
    All,
    /// Like a disk: reads take as long as a disk's, and a flush takes a tick for each block that was written.
    Disk,
}

impl Imitates {
    fn words(self) -> &'static str {
        match self {
            Imitates::Flushes => "flushes alone",
            Imitates::All => "every answer",
            Imitates::Disk => "a flush a tick for each block, reads like a disk",
        }
    }
}

/// Software that answers when its timer ticks, and wakes up to 0.15 ms late; its clock may be 300 ppm off.
struct Ticker {
    now: u64,
    tick: u64,
    imitates: Imitates,
    dirty: BTreeSet<u64>,
    rng: Rng,
}

impl Ticker {
    fn new(tick_ms: u64, imitates: Imitates, seed: u64) -> Ticker {
        let mut rng = Seed(seed).stream("ticker");
        let tick = tick_ms * (1_000_000 - 300) + rng.below(600 * tick_ms);
        Ticker { now: rng.below(tick), tick, imitates, dirty: BTreeSet::new(), rng }
    }

    /// At the tick after `whole` whole ones.
    fn ticked(&mut self, whole: u64) -> u64 {
        (self.now / self.tick + 1 + whole) * self.tick + self.rng.below(150_000)
    }

    fn answered(&mut self, act: AuditAction, block: u64) -> u64 {
        let waiting = matches!(act, AuditAction::Flush | AuditAction::Force);
        match self.imitates {
            Imitates::All => self.ticked(0),
            Imitates::Flushes if waiting => self.ticked(0),
            Imitates::Disk if waiting => {
                let blocks = std::mem::take(&mut self.dirty).len() as u64 + u64::from(act == AuditAction::Force);
                if blocks == 0 { self.now + 60_000 } else { self.ticked(blocks - 1) }
            }
            Imitates::Disk if act == AuditAction::Read => self.now + 3_000_000 + self.rng.below(12_000_000),
            _ => {
                self.dirty.insert(block);
                self.now + 40_000 + self.rng.below(40_000)
            }
        }
    }
}

impl AuditSubject for Ticker {
    fn block_count(&self) -> u64 {
        1 << 18
    }

    fn has_forced_writes(&self) -> Option<bool> {
        None
    }

    fn round_trip_time(&self) -> Span {
        Span::from_nanos(20_000)
    }

    fn pause_for(&mut self, span: Span) -> Result<(), String> {
        self.now += span.nanos();
        Ok(())
    }

    fn perform(&mut self, act: AuditAction, block: u64) -> Result<AuditInterval, String> {
        let from = Instant::from_nanos(self.now);
        self.now = self.answered(act, block);
        Ok(AuditInterval { from, to: Instant::from_nanos(self.now) })
    }

    fn flush_beside_reads(&mut self, reads: &[u64]) -> Result<(AuditInterval, Vec<AuditInterval>), String> {
        let flush = self.perform(AuditAction::Flush, 0)?;
        let reads = reads.iter().map(|&block| self.perform(AuditAction::Read, block)).collect::<Result<_, _>>()?;
        Ok((flush, reads))
    }
}

/// The speed found is the drive's, with certainty.
#[test]
fn the_revolution_is_the_drive_s() {
    for drive in catalogue::names() {
        for set in [&BEHAVIOURS[0], &BEHAVIOURS[1]] {
            let stack = stack(drive, &settings(drive, set.1));
            let said = audit(&stack, 3);
            let found = said.revolution.unwrap_or_else(|| panic!("{drive}: {said:?}"));
            let turn_ms = stack.profile.mechanics.revolution().nanos() as f64 / 1e6;
            assert!((found.period_ms / turn_ms - 1.0).abs() < 1e-4, "{drive}: {found:?} beside {turn_ms}");
            assert!((found.period_ms - turn_ms).abs() <= found.error_ms, "{drive}: {found:?} beside {turn_ms}");
            assert_eq!(said.certainty, Certainty::Certain, "{drive}: {said:?}");
        }
    }
}
