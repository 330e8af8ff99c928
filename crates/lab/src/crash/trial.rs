//! All trials of a session: a medium for each cut, and for each other order of its writes, goes to a check; several run
//! at once. Media with the same content after the same promises are checked once.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use seekwise_disk::block::{Op, Status};
use seekwise_disk::durability::image::{LostWrite, MediumImage, replay_cuts};
use seekwise_disk::durability::loss::{CutLoss, WriteClass};
use seekwise_disk::durability::terms::DriveTerms;
use seekwise_disk::durability::view::CutArray;
use seekwise_disk::durability::writes::SessionWrites;
use seekwise_disk::history::{History, HistoryEvent, HistoryMark};
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::Stack;
use seekwise_disk::time::{Instant, Span};

use super::instants::{InstantReason, InstantWeights, choose_instants};
use super::orders;
use super::proof::received_medium;
use super::shrink::{MinimalSet, fewest_failing};
use super::verdict::{CheckOutput, CrashFinding, CrashVerdict};
use crate::cut::blame::{BlamedLevel, blame_levels};

/// The settings of the trials.
#[derive(Clone, Copy, Debug)]
pub struct TrialOptions {
    pub cuts: usize,
    /// Other orders of each.
    pub orders: u32,
    pub seed: Seed,
    /// How many checks run at once.
    pub workers: usize,
    pub weights: InstantWeights,
    /// Promises younger than this at a cut may be lost, in the disk's time.
    pub may_lose: Span,
}

/// The origin of a medium to check.
#[derive(Clone, Copy, Debug)]
pub struct CrashCase {
    /// When the power failed.
    pub at: Instant,
    /// The reason for that instant.
    pub why: InstantReason,
    /// The number of the other order; `None` for the order of the disk itself.
    pub order: Option<u32>,
    /// How many promises had been made by then.
    pub promises: usize,
    /// How many of these, the first ones, must have been kept.
    pub due: usize,
}

/// A case that was checked, or that equals one that was.
#[derive(Clone, Debug)]
pub struct CrashTrial {
    pub case: CrashCase,
    /// The index of its medium among all different ones.
    pub state: usize,
    pub finding: CrashFinding,
    /// The verdict on the same medium with earlier content in place of unreadable sectors; only for bad cases with such
    /// sectors.
    pub readable: Option<CrashVerdict>,
}

impl CrashTrial {
    /// True if a promise was broken, and not because of an unreadable sector.
    pub fn is_bad(&self) -> bool {
        self.finding.verdict.is_bad() && self.readable.is_none_or(CrashVerdict::is_bad)
    }
}

/// All results.
#[derive(Clone, Debug)]
pub struct CrashResults {
    /// Every case, in order.
    pub tried: Vec<CrashTrial>,
    /// Media that were checked.
    pub checked: usize,
    /// Cuts at which a write was lost that the disk had promised.
    pub disk_broke: u64,
    /// Cuts at which a write was on the medium in part: some of its sectors are new, others old.
    pub partial: u64,
    /// The levels of the stack at fault, and their settings.
    pub broken_by: Vec<BlamedLevel>,
    /// Writes of the session.
    pub writes: SessionWrites,
    /// By bad verdict: the first medium with it.
    pub first: BTreeMap<CrashVerdict, (usize, MediumImage)>,
}

/// A check of a medium: by worker, with the promises so far.
pub type MediumCheck<'a> = dyn Fn(usize, &MediumImage, &[&str]) -> io::Result<CheckOutput> + Sync + 'a;

/// A case on its way to a worker, with its medium and the index of that among all different ones.
struct PendingCase {
    state: usize,
    case: CrashCase,
    image: MediumImage,
}

/// The result for a medium: the finding, and the verdict with all of it readable.
type Found = (CrashFinding, Option<CrashVerdict>);

/// The workers' results.
#[derive(Default)]
struct TrialFindings {
    by_state: HashMap<usize, Found>,
    first: BTreeMap<CrashVerdict, (usize, MediumImage)>,
    failed: Option<io::Error>,
}

impl TrialFindings {
    fn add(&mut self, sent: PendingCase, (finding, readable): Found) {
        let (verdict, bad) = (finding.verdict, finding.verdict.is_bad() && readable.is_none_or(CrashVerdict::is_bad));
        self.by_state.insert(sent.state, (finding, readable));
        // Workers end in any order: the first is that with the lowest index.
        if bad && self.first.get(&verdict).is_none_or(|(state, _)| sent.state < *state) {
            self.first.insert(verdict, (sent.state, sent.image));
        }
    }
}

/// Checks that cuts of this stack can be computed; an error says why not.
pub fn check_stack(stack: &Stack) -> Result<(), String> {
    CutArray::from_stack(stack).map(drop)
}

impl TrialOptions {
    /// Runs the trials on a history of `stack`. `progress` is called after each case. An error comes from a check that
    /// could not run.
    pub fn run(
        &self,
        history: &History,
        stack: &Stack,
        check: &MediumCheck<'_>,
        progress: &(dyn Fn() + Sync),
    ) -> Result<CrashResults, String> {
        let Some(span) = history.marked_span() else { return Err("the session was not ended in order".to_owned()) };
        let terms = DriveTerms::from_stack(stack);
        let plan = CutArray::from_stack(stack)?;
        let writes = Arc::new(SessionWrites::from_history(history, terms.volatile));
        self.check_due_promises(history, span)?;
        let instants = choose_instants(history, span, self.cuts, self.weights, self.seed);
        let (sends, comes) = sync_channel::<PendingCase>(2 * self.workers);
        let (comes, findings) = (Mutex::new(comes), Mutex::new(TrialFindings::default()));
        let stop = Arc::new(AtomicBool::new(false));
        let said: Vec<&str> = history.promises_until(span.1).collect();
        let maker = CaseMaker::new(self, &writes, instants, terms.unit, sends, Arc::clone(&stop), history);
        let work = |worker| {
            while let Some(sent) = next_case(&comes) {
                match check_readable_too(check, worker, &sent.image, (&said[..sent.case.promises], sent.case.due)) {
                    Ok(found) => lock_unpoisoned(&findings).add(sent, found),
                    Err(error) => {
                        lock_unpoisoned(&findings).failed.get_or_insert(error);
                        stop.store(true, Ordering::Relaxed);
                    }
                }
                progress();
            }
        };
        let (made, cuts) = std::thread::scope(|scope| {
            let work = &work;
            for worker in 0..self.workers {
                scope.spawn(move || work(worker));
            }
            maker.make_cases(history, terms, plan)
        });
        let TrialFindings { by_state, first, failed } = findings.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = failed {
            return Err(error.to_string());
        }
        let found = |(state, case): (usize, CrashCase)| {
            let (finding, readable) = by_state[&state].clone();
            CrashTrial { case, state, finding, readable }
        };
        let tried = made.into_iter().map(found).collect();
        let broke = |cut: &&CutLoss| cut.lost[WriteClass::Promised as usize].writes > 0;
        let disk_broke = cuts.iter().filter(broke).count() as u64;
        let partial = cuts.iter().filter(|cut| cut.partial > 0).count() as u64;
        let broken_by = blame_levels(stack, &cuts, false);
        let writes = Arc::unwrap_or_clone(writes);
        Ok(CrashResults { checked: by_state.len(), tried, disk_broke, partial, broken_by, writes, first })
    }

    /// An error if no cut could find a promise that is old enough to be due.
    fn check_due_promises(&self, history: &History, span: (Instant, Instant)) -> Result<(), String> {
        let first = history.marks.iter().find(|(_, mark)| matches!(mark, HistoryMark::Said(_)));
        match first {
            Some((first, _)) if *first + self.may_lose > span.1 => Err(format!(
                "no promise grew old enough to count: the workload ended {:.3} s of the disk's time after its first promise, and those \
                 younger than {:.3} s may be lost; expected a workload that runs longer",
                span.1.since(*first).nanos() as f64 / 1e9,
                self.may_lose.nanos() as f64 / 1e9
            )),
            _ => Ok(()),
        }
    }
}

fn lock_unpoisoned<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn next_case(comes: &Mutex<Receiver<PendingCase>>) -> Option<PendingCase> {
    lock_unpoisoned(comes).recv().ok()
}

/// The finding on a medium after these promises, of which the first `due` must have been kept.
fn check_after_promises(
    check: &MediumCheck<'_>,
    worker: usize,
    image: &MediumImage,
    (promises, due): (&[&str], usize),
) -> io::Result<CrashFinding> {
    let finding = check(worker, image, promises)?.to_finding()?;
    if finding.verdict != CrashVerdict::LostPromised || due == promises.len() {
        return Ok(finding);
    }
    let again = check(worker, image, &promises[..due])?.to_finding()?;
    Ok(match again.verdict.is_bad() {
        true => again,
        false => CrashFinding { verdict: CrashVerdict::LostAllowed, words: finding.words },
    })
}

/// Checks a medium, and again without its unreadable sectors if it is bad with them.
fn check_readable_too(
    check: &MediumCheck<'_>,
    worker: usize,
    image: &MediumImage,
    promises: (&[&str], usize),
) -> io::Result<Found> {
    let finding = check_after_promises(check, worker, image, promises)?;
    let again = finding.verdict.is_bad() && !image.torn_sectors().is_empty();
    let readable = match again {
        true => Some(check_after_promises(check, worker, &image.without_torn(), promises)?.verdict),
        false => None,
    };
    Ok((finding, readable))
}

/// Makes the cases while a judge goes through the session.
struct CaseMaker {
    instants: std::vec::IntoIter<(Instant, InstantReason)>,
    writes: Arc<SessionWrites>,
    orders: u32,
    unit: u64,
    chance: seekwise_disk::rng::Rng,
    /// When each promise was made.
    said: Vec<Instant>,
    may_lose: Span,
    /// By medium, promises and those due: its index among all different ones.
    states: HashMap<(u64, usize, usize), usize>,
    /// Every case with the index of its medium, in order.
    made: Vec<(usize, CrashCase)>,
    sends: SyncSender<PendingCase>,
    stop: Arc<AtomicBool>,
}

impl CaseMaker {
    fn new(
        trials: &TrialOptions,
        writes: &Arc<SessionWrites>,
        instants: Vec<(Instant, InstantReason)>,
        unit: u64,
        sends: SyncSender<PendingCase>,
        stop: Arc<AtomicBool>,
        history: &History,
    ) -> CaseMaker {
        let said =
            history.marks.iter().filter(|(_, mark)| matches!(mark, HistoryMark::Said(_))).map(|it| it.0).collect();
        CaseMaker {
            instants: instants.into_iter(),
            writes: Arc::clone(writes),
            orders: trials.orders,
            unit,
            chance: trials.seed.stream("orders"),
            said,
            may_lose: trials.may_lose,
            states: HashMap::new(),
            made: Vec::new(),
            sends,
            stop,
        }
    }

    /// Runs a judge on the history; returns all cases, and what each cut lost.
    fn make_cases(
        mut self,
        history: &History,
        terms: DriveTerms,
        plan: CutArray,
    ) -> (Vec<(usize, CrashCase)>, Vec<CutLoss>) {
        let cuts = self.instants.as_slice().iter().map(|it| it.0).collect();
        let end = history.marked_span().map_or(Instant::ZERO, |span| span.1);
        let cuts = replay_cuts(history, (terms, plan), cuts, end, |at, image| self.make_cut_cases(at, image));
        (self.made, cuts)
    }

    /// A cut, and other orders of what it may have left.
    fn make_cut_cases(&mut self, at: Instant, image: MediumImage) {
        let Some((instant, why)) = self.instants.next() else { return };
        debug_assert_eq!(instant, at);
        let promises = self.said.partition_point(|said| *said <= at);
        let due = self.said.partition_point(|said| *said + self.may_lose <= at);
        let case = CrashCase { at, why, order: None, promises, due };
        self.send_case(case, image);
        for number in 0..self.orders {
            let lost = orders::draw_lost_writes(&self.writes, at, number, self.unit, &mut self.chance);
            let image = MediumImage::without_writes(&self.writes, at, &lost);
            self.send_case(CrashCase { order: Some(number), ..case }, image);
        }
    }

    fn send_case(&mut self, case: CrashCase, image: MediumImage) {
        let mut hasher = DefaultHasher::new();
        image.hash(&mut hasher);
        let key = (hasher.finish(), case.promises, case.due);
        let (next, known) = (self.states.len(), self.states.get(&key).copied());
        let state = known.unwrap_or(next);
        if known.is_none() && !self.stop.load(Ordering::Relaxed) {
            self.states.insert(key, state);
            let _ = self.sends.send(PendingCase { state, case, image });
        }
        self.made.push((state, case));
    }
}

/// The result of shrinking a failure.
#[derive(Clone, Debug)]
pub enum ShrinkResult {
    /// Some of `of` lost writes suffice for the check to give the same verdict, or a worse one.
    To {
        /// The writes left, and the trials used.
        lost: MinimalSet<LostWrite>,
        /// How many the case had lost.
        of: usize,
        /// The check's finding with them.
        finding: CrashFinding,
    },
    /// The check fails with all writes on the medium that the disk was given: the loss of `of` writes is not the cause.
    NotLost {
        /// How many the case had lost.
        of: usize,
        /// The check's finding without the loss.
        finding: CrashFinding,
    },
    /// A second check of the medium did not fail.
    NotAgain(CrashFinding),
}

/// The most trials for a failure: a tenth of a second each, a minute in all.
const MOST: usize = 600;

/// Repeats the check of a case after the trials, on other media.
struct RepeatedCheck<'a> {
    check: &'a MediumCheck<'a>,
    promises: Vec<&'a str>,
    due: usize,
}

impl<'a> RepeatedCheck<'a> {
    fn new(history: &'a History, case: &CrashCase, check: &'a MediumCheck<'a>) -> RepeatedCheck<'a> {
        RepeatedCheck { check, promises: history.promises_until(case.at).take(case.promises).collect(), due: case.due }
    }

    fn check_again(&self, image: &MediumImage) -> Result<CrashFinding, String> {
        check_after_promises(self.check, 0, image, (&self.promises, self.due)).map_err(|error| error.to_string())
    }
}

/// Finds the fewest lost writes of a case, whose medium is `image`, with the same verdict or a worse one.
pub fn shrink_losses(
    writes: &SessionWrites,
    history: &History,
    (tried, image): (&CrashTrial, &MediumImage),
    check: &MediumCheck<'_>,
) -> Result<ShrinkResult, String> {
    let at = tried.case.at;
    let asked = RepeatedCheck::new(history, &tried.case, check);
    let all = image.lost_writes(writes, at);
    let (wanted, of) = (tried.finding.verdict, all.len());
    let again = asked.check_again(image)?;
    if again.verdict < wanted {
        return Ok(ShrinkResult::NotAgain(again));
    }
    let nothing = asked.check_again(&received_medium(writes, at))?;
    if nothing.verdict >= wanted {
        return Ok(ShrinkResult::NotLost { of, finding: nothing });
    }
    let mut last = again;
    let lost = fewest_failing(&all, MOST, |lost| {
        let finding = asked.check_again(&MediumImage::without_writes(writes, at, lost))?;
        let fails = finding.verdict >= wanted;
        if fails {
            last = finding;
        }
        Ok::<bool, String>(fails)
    })?;
    Ok(ShrinkResult::To { lost, of, finding: last })
}

/// The end of the first flush after a bad case with which the disk had received enough for the check to pass; `None` if
/// there was none before the end of the workload. More data are assumed never to make it worse.
pub fn first_passing_flush(
    writes: &SessionWrites,
    history: &History,
    tried: &CrashTrial,
    check: &MediumCheck<'_>,
) -> Result<Option<Instant>, String> {
    let (asked, at) = (RepeatedCheck::new(history, &tried.case, check), tried.case.at);
    let end = history.marked_span().map_or(at, |span| span.1);
    let flushed = |event: &HistoryEvent| match event {
        HistoryEvent::Over(request, over) if request.op == Op::Flush && over.status == Status::Done => {
            Some(over.finished)
        }
        _ => None,
    };
    let mut ends: Vec<Instant> =
        history.events.iter().filter_map(flushed).filter(|flush| at < *flush && *flush <= end).collect();
    ends.sort_unstable();
    let passes =
        |end: &Instant| Ok::<bool, String>(!asked.check_again(&received_medium(writes, *end))?.verdict.is_bad());
    let (mut from, mut to) = (0, ends.len());
    while from < to {
        let middle = from + (to - from) / 2;
        match passes(&ends[middle])? {
            true => to = middle,
            false => from = middle + 1,
        }
    }
    Ok(ends.get(from).copied())
}
