//! A store on a small drive, without a clock: eight records in a log, each flushed and promised. Its recovery copies the log's records to
//! their place and marks the log as empty, in one order or the other.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};

use seekwise_disk::block::{Completion, Device, Landing, Op, Request, SECTOR};
use seekwise_disk::history::{HistoryEvent, HistoryMark, WriteData};
use seekwise_disk::testing::SmallDrive;
use seekwise_disk::time::Instant;
use seekwise_disk::witness::{WatchedDevice, Witness};

use super::*;
use crate::crash::trial::TrialOptions;

const RECORDS: u64 = 8;

/// Sectors: record `r` of the log at `16 r`, its copy behind `COPIES`, the mark of the empty log.
const COPIES: u64 = 1000;
const MARK: u64 = 800;

#[derive(Default)]
struct Recorder(History);

impl Witness for Recorder {
    fn note_submission(&mut self, now: Instant, request: &Request) {
        self.0.record_request(now, request, None);
    }
    fn note_completion(&mut self, request: &Request, completion: &Completion) {
        self.0.events.push(HistoryEvent::Over(*request, *completion));
    }
    fn note_landing(&mut self, landing: &Landing) {
        self.0.events.push(HistoryEvent::Landed(*landing));
    }
    fn should_linger(&mut self, _: Instant, _: Instant) -> bool {
        false
    }
}

fn stack() -> Stack {
    let mut drive = SmallDrive::default().with_buffer(4, 32).with_write_back(4);
    drive.cache.destage_idle = Span::from_secs(1);
    Stack::bare(drive.profile())
}

/// A step of a session: a sector written with a number, a flush, or a promise.
enum Step {
    Write(u64, u64),
    Flush,
    Say,
}

fn session(steps: &[Step]) -> History {
    let (mut recorder, mut data) = (Recorder::default(), BTreeMap::new());
    let mut marks = vec![(Instant::ZERO, HistoryMark::Begin)];
    let mut now = Instant::from_nanos(1000);
    {
        let mut device = WatchedDevice::new(stack().build(Seed(1)), &mut recorder);
        for (stamp, step) in (1..).zip(steps) {
            let request = match step {
                Step::Write(lba, number) => {
                    data.insert(stamp, WriteData::from(number.to_le_bytes().repeat(SECTOR as usize / 8)));
                    Request { op: Op::Write, lba: *lba, sectors: 1, stamp, ..Request::NONE }
                }
                Step::Flush => Request { op: Op::Flush, stamp, ..Request::NONE },
                Step::Say => {
                    marks.push((now, HistoryMark::Said(format!("promise {stamp}"))));
                    continue;
                }
            };
            device.submit(now, request).unwrap();
            now = device.proceed(Instant::FAR).unwrap().finished + Span::from_nanos(1000);
        }
    }
    marks.push((now, HistoryMark::End));
    History { marks, data, ..recorder.0 }
}

/// The number in each sector of a medium.
fn numbers(medium: &ChainMedium<'_>) -> BTreeMap<u64, u64> {
    let number = |part: &DataPart<'_>| {
        let mut bytes = vec![0; part.bytes() as usize];
        part.copy_to(&mut bytes);
        u64::from_le_bytes(bytes[..8].try_into().unwrap())
    };
    medium.written_pieces().iter().map(|(lba, part)| (*lba, number(part))).collect()
}

/// Which records a medium has: in the log, unless that is marked as empty, or as a copy.
fn records(numbers: &BTreeMap<u64, u64>) -> Vec<u64> {
    let in_log = |record: u64| !numbers.contains_key(&MARK) && numbers.get(&(16 * record)) == Some(&(record + 1));
    (0..RECORDS).filter(|&record| in_log(record) || numbers.contains_key(&(COPIES + 16 * record))).collect()
}

/// The store with its recovery.
#[derive(Default)]
struct Store {
    /// The recovery marks the log as empty before it has copied its records.
    marks_first: bool,
    /// The recovery fails on a medium with half of the records.
    fails: bool,
    recoveries: AtomicUsize,
    checks: AtomicUsize,
}

impl RecoveryBench for Store {
    fn recover(&self, _: usize, chain: &[ChainLink], _: Seed) -> io::Result<RecoveryRun> {
        self.recoveries.fetch_add(1, Ordering::Relaxed);
        let found = records(&numbers(&ChainMedium::of_chain(chain).unwrap()));
        let copies = || found.iter().flat_map(|r| [Step::Write(COPIES + 16 * r, r + 1), Step::Flush]);
        let mark = || [Step::Write(MARK, 1), Step::Flush].into_iter();
        let steps: Vec<Step> = match self.marks_first {
            true => mark().chain(copies()).collect(),
            false => copies().chain(mark()).collect(),
        };
        let failure = (self.fails && found.len() as u64 >= RECORDS / 2).then(|| "half are too many".to_owned());
        Ok(RecoveryRun { history: session(&steps), failure })
    }

    fn check(&self, _: usize, medium: &ChainMedium<'_>, promises: &[&str]) -> io::Result<CheckOutput> {
        self.checks.fetch_add(1, Ordering::Relaxed);
        let found = records(&numbers(medium));
        let code = if (0..promises.len() as u64).all(|record| found.contains(&record)) { 0 } else { 11 };
        let printed = format!("{} of {}", found.len(), promises.len());
        Ok(CheckOutput { code: Some(code), died: None, printed, unmountable: None, fault: None })
    }

    fn hash_content(&self, medium: &ChainMedium<'_>) -> u64 {
        let mut hasher = DefaultHasher::new();
        numbers(medium).hash(&mut hasher);
        hasher.finish()
    }
}

fn run(store: &Store, depth: usize, workers: usize) -> (CrashResults, RecoveryResults) {
    let steps = (0..RECORDS).flat_map(|record| [Step::Write(16 * record, record + 1), Step::Flush, Step::Say]);
    let history = Arc::new(session(&steps.collect::<Vec<_>>()));
    let (seed, weights) = (Seed(3), InstantWeights::Mixed);
    let trials = TrialOptions { cuts: 24, orders: 0, seed, workers, weights, may_lose: Span::ZERO, keeps_media: true };
    let check = |worker: usize, image: &MediumImage, promises: &[&str]| {
        let writes = SessionWrites::from_history(&history, true);
        store.check(worker, &ChainMedium { before: &[], history: &history, writes: &writes, image }, promises)
    };
    let outcome = trials.run(&history, &stack(), &check, &|| ()).unwrap();
    let options = RecoveryOptions { depth, cuts: 16, orders: 0, seed, workers, weights };
    let results = options.run(&history, &outcome, &stack(), store, &|ended, expected| assert!(ended <= expected));
    (outcome, results.unwrap())
}

/// Verdict, words and medium of all trials of each level.
fn verdicts(results: &RecoveryResults) -> Vec<Vec<(Instant, CrashVerdict, String)>> {
    let of_level = |level: &RecoveryLevel| {
        level.tried.iter().map(|it| (it.case.at, it.finding.verdict, it.finding.words.clone())).collect()
    };
    results.levels.iter().map(of_level).collect()
}

#[test]
fn two_cuts_find_what_a_single_one_does_not_and_the_mended_store_is_clean() {
    let hasty = Store { marks_first: true, ..Store::default() };
    let (outcome, results) = run(&hasty, 2, 2);
    assert!(!outcome.tried.iter().any(CrashTrial::is_bad), "a single cut finds nothing");
    assert!(results.is_bad() && results.found_after > Some(24) && results.found_after < Some(124));
    let chain = &results.first[&CrashVerdict::LostPromised];
    assert_eq!((chain.links.len(), chain.recovery_failed), (2, false));
    // The mark is there, and a promised record is not.
    let found = numbers(&ChainMedium::of_chain(&chain.links).unwrap());
    assert!(found.contains_key(&MARK) && records(&found).len() < chain.trial.case.promises);
    assert_eq!(chain.links[0].case.promises, chain.trial.case.promises, "promises are those of the first cut");

    let careful = Store::default();
    let (_, results) = run(&careful, 3, 2);
    assert!(!results.is_bad() && results.first.is_empty() && results.found_after.is_none());
    assert!(results.levels.len() == 2 && results.levels.iter().all(|level| !level.tried.is_empty()));
}

#[test]
fn equal_media_count_once_across_levels_and_workers_change_nothing() {
    let store = Store::default();
    let (outcome, results) = run(&store, 3, 1);
    let [second, third] = &results.levels[..] else { panic!("two levels") };
    assert_eq!(second.tried.len(), 16 * second.recoveries);
    assert_eq!(third.tried.len(), 16 * third.recoveries);
    // All media are good, so each new one of the second level is recovered from.
    assert_eq!((second.recoveries, third.recoveries), (outcome.checked, second.checked));
    assert!(second.checked < second.tried.len() && third.checked < third.tried.len());
    let checked = outcome.checked + second.checked + third.checked;
    assert_eq!(store.checks.load(Ordering::Relaxed), checked, "each different medium is checked once");
    assert_eq!(store.recoveries.load(Ordering::Relaxed), second.recoveries + third.recoveries);
    let (_, again) = run(&Store::default(), 3, 1);
    assert_eq!(verdicts(&results), verdicts(&again));
    let (_, at_once) = run(&Store { marks_first: true, ..Store::default() }, 2, 3);
    let (_, alone) = run(&Store { marks_first: true, ..Store::default() }, 2, 1);
    assert_eq!(verdicts(&at_once), verdicts(&alone));
}

#[test]
fn a_recovery_that_fails_is_corrupt_and_is_not_cut() {
    let (outcome, results) = run(&Store { fails: true, ..Store::default() }, 2, 2);
    let level = &results.levels[0];
    assert!(level.failed > 0 && level.tried.len() == 16 * (level.recoveries - level.failed));
    let chain = &results.first[&CrashVerdict::Corrupt];
    assert!(chain.recovery_failed && chain.links.len() == 1 && chain.trial.finding.words == "half are too many");
    assert!(!outcome.tried.iter().any(CrashTrial::is_bad) && results.is_bad());
}

#[test]
fn a_bench_that_cannot_run_ends_it() {
    struct Broken(Store);
    impl RecoveryBench for Broken {
        fn recover(&self, _: usize, _: &[ChainLink], _: Seed) -> io::Result<RecoveryRun> {
            Err(io::Error::other("no loop device"))
        }
        fn check(&self, worker: usize, medium: &ChainMedium<'_>, promises: &[&str]) -> io::Result<CheckOutput> {
            self.0.check(worker, medium, promises)
        }
        fn hash_content(&self, medium: &ChainMedium<'_>) -> u64 {
            self.0.hash_content(medium)
        }
    }
    let (outcome, _) = run(&Store::default(), 2, 1);
    let history = Arc::new(session(&[Step::Write(0, 1), Step::Flush, Step::Say]));
    let options =
        RecoveryOptions { depth: 2, cuts: 4, orders: 0, seed: Seed(1), workers: 3, weights: InstantWeights::Mixed };
    let outcome = CrashResults { media: outcome.media[..1].to_vec(), ..outcome };
    let failed = options.run(&history, &outcome, &stack(), &Broken(Store::default()), &|_, _| ());
    assert_eq!(failed.unwrap_err(), "no loop device");
}
