//! All trials of a session: a medium for each cut, and for each other order of its writes, goes to a check; several checks run at once.
//! Media with equal content after the same promises are checked once.

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
use super::shrink::{MinimalSet, smallest_failing_part};
use super::verdict::{CheckOutput, CrashFinding, CrashVerdict};
use crate::cut::blame::{BlamedLevel, blame_levels};

/// The settings of the trials.
#[derive(Clone, Copy, Debug)]
pub struct TrialOptions {
    pub cuts: usize,
    /// Number of other orders of writes for each cut.
    pub orders: u32,
    pub seed: Seed,
    /// Number of checks that run at once.
    pub workers: usize,
    pub weights: InstantWeights,
    /// The age in the disk's time below which a promise may be lost by a cut.
    pub may_lose: Span,
    /// Whether all different media are kept in the results, for recoveries from them.
    pub keeps_media: bool,
}

/// The origin of a medium to check.
#[derive(Clone, Copy, Debug)]
pub struct CrashCase {
    /// The instant of the cut.
    pub at: Instant,
    /// The reason for that instant.
    pub why: InstantReason,
    /// The number of another order of writes; `None` for the order of the disk itself.
    pub order: Option<u32>,
    /// Number of promises made by then.
    pub promises: usize,
    /// Number of these, the first ones, that must have been kept.
    pub due: usize,
}

/// A case that was checked, or whose medium equals one that was.
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
    /// The trials of all cases, in order.
    pub tried: Vec<CrashTrial>,
    /// Number of media that were checked.
    pub checked: usize,
    /// Cuts at which a write was lost that the disk had promised.
    pub disk_broke: u64,
    /// Cuts at which a write was on the medium in part: some of its sectors are new, others old.
    pub partial: u64,
    /// The levels of the stack at fault, and their settings.
    pub broken_by: Vec<BlamedLevel>,
    /// Writes of the session.
    pub writes: SessionWrites,
    /// By bad verdict the first medium with it, and its index.
    pub first: BTreeMap<CrashVerdict, (usize, MediumImage)>,
    /// All different media, by their index, each with its first case; empty unless they were to be kept.
    pub media: Vec<(CrashCase, MediumImage)>,
}

/// A check of a medium by a worker, with the promises so far.
pub type MediumCheck<'a> = dyn Fn(usize, &MediumImage, &[&str]) -> io::Result<CheckOutput> + Sync + 'a;

/// A case on its way to a worker, with its medium and the index of that among all different ones.
struct PendingCase {
    state: usize,
    case: CrashCase,
    image: MediumImage,
}

/// The result for a medium.
#[derive(Clone)]
pub(super) struct MediumFinding {
    pub finding: CrashFinding,
    /// The verdict with earlier content in place of unreadable sectors, if it was tried.
    pub readable: Option<CrashVerdict>,
}

/// The workers' results.
#[derive(Default)]
struct TrialFindings {
    by_state: HashMap<usize, MediumFinding>,
    first: BTreeMap<CrashVerdict, (usize, MediumImage)>,
    failed: Option<io::Error>,
}

impl TrialFindings {
    fn add(&mut self, case: PendingCase, found: MediumFinding) {
        let verdict = found.finding.verdict;
        let is_bad = verdict.is_bad() && found.readable.is_none_or(CrashVerdict::is_bad);
        self.by_state.insert(case.state, found);
        // Workers end in any order: the first is that with the lowest index.
        if is_bad && self.first.get(&verdict).is_none_or(|(state, _)| case.state < *state) {
            self.first.insert(verdict, (case.state, case.image));
        }
    }
}

/// Checks that cuts of this stack can be computed; an error says why not.
pub fn check_stack_can_be_cut(stack: &Stack) -> Result<(), String> {
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
        let array = CutArray::from_stack(stack)?;
        let writes = Arc::new(SessionWrites::from_history(history, terms.volatile));
        self.check_due_promises(history, span)?;
        let instants = choose_instants(history, span, self.cuts, self.weights, self.seed);
        let (sender, receiver) = sync_channel::<PendingCase>(2 * self.workers);
        let (receiver, findings) = (Mutex::new(receiver), Mutex::new(TrialFindings::default()));
        let stop = Arc::new(AtomicBool::new(false));
        let promises: Vec<&str> = history.promises_until(span.1).collect();
        let maker = CaseMaker::new(self, &writes, instants, terms.unit, sender, Arc::clone(&stop), history);
        let work = |worker| {
            while let Some(PendingCase { state, case, image }) = receive_case(&receiver) {
                match check_with_and_without_torn(check, worker, &image, &promises[..case.promises], case.due) {
                    Ok(found) => lock_unpoisoned(&findings).add(PendingCase { state, case, image }, found),
                    Err(error) => {
                        lock_unpoisoned(&findings).failed.get_or_insert(error);
                        stop.store(true, Ordering::Relaxed);
                    }
                }
                progress();
            }
        };
        let (CaseList { cases, media }, cuts) = std::thread::scope(|scope| {
            let work = &work;
            for worker in 0..self.workers {
                scope.spawn(move || work(worker));
            }
            maker.make_cases(history, terms, array)
        });
        let TrialFindings { by_state, first, failed } = findings.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = failed {
            return Err(error.to_string());
        }
        let trial = |(state, case): (usize, CrashCase)| {
            let MediumFinding { finding, readable } = by_state[&state].clone();
            CrashTrial { case, state, finding, readable }
        };
        let tried = cases.into_iter().map(trial).collect();
        let breaks_promise = |cut: &&CutLoss| cut.lost[WriteClass::Promised as usize].writes > 0;
        let disk_broke = cuts.iter().filter(breaks_promise).count() as u64;
        let partial = cuts.iter().filter(|cut| cut.partial > 0).count() as u64;
        let broken_by = blame_levels(stack, &cuts, false);
        let writes = Arc::unwrap_or_clone(writes);
        Ok(CrashResults { checked: by_state.len(), tried, disk_broke, partial, broken_by, writes, first, media })
    }

    /// Fails if no promise is old enough to be due at any cut.
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

pub(super) fn lock_unpoisoned<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn receive_case(receiver: &Mutex<Receiver<PendingCase>>) -> Option<PendingCase> {
    lock_unpoisoned(receiver).recv().ok()
}

/// Checks a medium after these promises, of which the first `due` must have been kept.
fn check_after_promises(
    check: &MediumCheck<'_>,
    worker: usize,
    image: &MediumImage,
    promises: &[&str],
    due: usize,
) -> io::Result<CrashFinding> {
    let finding = check(worker, image, promises)?.to_finding()?;
    if finding.verdict != CrashVerdict::LostPromised || due == promises.len() {
        return Ok(finding);
    }
    let finding_on_due = check(worker, image, &promises[..due])?.to_finding()?;
    Ok(match finding_on_due.verdict.is_bad() {
        true => finding_on_due,
        false => CrashFinding { verdict: CrashVerdict::LostAllowed, words: finding.words },
    })
}

/// Checks a medium; if it is bad and has unreadable sectors, checks it again without these.
pub(super) fn check_with_and_without_torn(
    check: &MediumCheck<'_>,
    worker: usize,
    image: &MediumImage,
    promises: &[&str],
    due: usize,
) -> io::Result<MediumFinding> {
    let finding = check_after_promises(check, worker, image, promises, due)?;
    let readable = match finding.verdict.is_bad() && !image.torn_sectors().is_empty() {
        true => Some(check_after_promises(check, worker, &image.without_torn(), promises, due)?.verdict),
        false => None,
    };
    Ok(MediumFinding { finding, readable })
}

/// The cases that were made.
#[derive(Default)]
struct CaseList {
    /// Every case with the index of its medium, in order.
    cases: Vec<(usize, CrashCase)>,
    /// Each different medium with its first case, if they are kept.
    media: Vec<(CrashCase, MediumImage)>,
}

/// Makes the cases while a judge replays the session.
struct CaseMaker {
    instants: std::vec::IntoIter<(Instant, InstantReason)>,
    writes: Arc<SessionWrites>,
    orders: u32,
    /// Sectors of a physical sector.
    unit: u64,
    rng: seekwise_disk::rng::Rng,
    /// The instant of each promise.
    promised_at: Vec<Instant>,
    may_lose: Span,
    /// By the medium's hash, the number of promises and of those due: the medium's index among all different ones.
    states: HashMap<(u64, usize, usize), usize>,
    keeps_media: bool,
    list: CaseList,
    sender: SyncSender<PendingCase>,
    stop: Arc<AtomicBool>,
}

impl CaseMaker {
    fn new(
        options: &TrialOptions,
        writes: &Arc<SessionWrites>,
        instants: Vec<(Instant, InstantReason)>,
        unit: u64,
        sender: SyncSender<PendingCase>,
        stop: Arc<AtomicBool>,
        history: &History,
    ) -> CaseMaker {
        let promised_at =
            history.marks.iter().filter(|(_, mark)| matches!(mark, HistoryMark::Said(_))).map(|it| it.0).collect();
        CaseMaker {
            instants: instants.into_iter(),
            writes: Arc::clone(writes),
            orders: options.orders,
            unit,
            rng: options.seed.stream("orders"),
            promised_at,
            may_lose: options.may_lose,
            states: HashMap::new(),
            keeps_media: options.keeps_media,
            list: CaseList::default(),
            sender,
            stop,
        }
    }

    /// Replays the history; returns all cases with the indices of their media, and the losses of each cut.
    fn make_cases(mut self, history: &History, terms: DriveTerms, array: CutArray) -> (CaseList, Vec<CutLoss>) {
        let cut_instants = self.instants.as_slice().iter().map(|it| it.0).collect();
        let end = history.marked_span().map_or(Instant::ZERO, |span| span.1);
        let cuts = replay_cuts(history, (terms, array), cut_instants, end, |at, image| self.make_cut_cases(at, image));
        (self.list, cuts)
    }

    /// Makes the case of a cut, and the cases of other orders of its writes.
    fn make_cut_cases(&mut self, at: Instant, image: MediumImage) {
        let Some((instant, why)) = self.instants.next() else { return };
        debug_assert_eq!(instant, at);
        let promises = self.promised_at.partition_point(|promised| *promised <= at);
        let due = self.promised_at.partition_point(|promised| *promised + self.may_lose <= at);
        let case = CrashCase { at, why, order: None, promises, due };
        self.send_case(case, image);
        for number in 0..self.orders {
            let lost = orders::draw_lost_writes(&self.writes, at, number, self.unit, &mut self.rng);
            let image = MediumImage::without_writes(&self.writes, at, &lost);
            self.send_case(CrashCase { order: Some(number), ..case }, image);
        }
    }

    /// Notes a case, and sends it to a worker if its medium is a new one.
    fn send_case(&mut self, case: CrashCase, image: MediumImage) {
        let mut hasher = DefaultHasher::new();
        image.hash(&mut hasher);
        let key = (hasher.finish(), case.promises, case.due);
        let (next, known) = (self.states.len(), self.states.get(&key).copied());
        let state = known.unwrap_or(next);
        if known.is_none() && !self.stop.load(Ordering::Relaxed) {
            self.states.insert(key, state);
            if self.keeps_media {
                self.list.media.push((case, image.clone()));
            }
            let _ = self.sender.send(PendingCase { state, case, image });
        }
        self.list.cases.push((state, case));
    }
}

/// The result of shrinking a failure.
#[derive(Clone, Debug)]
pub enum ShrinkResult {
    /// Some of `of` lost writes suffice for the check to give the verdict of the case, or a worse one.
    To {
        /// The writes left, and the trials used.
        lost: MinimalSet<LostWrite>,
        /// Number of writes that the case had lost.
        of: usize,
        /// The check's finding with them.
        finding: CrashFinding,
    },
    /// The check fails with all writes on the medium that the disk was given: the loss of `of` writes is not the cause.
    NotLost {
        /// Number of writes that the case had lost.
        of: usize,
        /// The check's finding without the loss.
        finding: CrashFinding,
    },
    /// A second check of the medium did not fail.
    NotAgain(CrashFinding),
}

/// The most trials to shrink a failure: a tenth of a second each, a minute in all.
const SHRINK_TRIALS: usize = 600;

/// Repeats the check of a case after the trials, on other media.
struct RepeatedCheck<'a> {
    check: &'a MediumCheck<'a>,
    promises: &'a [&'a str],
    due: usize,
}

impl<'a> RepeatedCheck<'a> {
    fn new(promises: &'a [&'a str], case: &CrashCase, check: &'a MediumCheck<'a>) -> RepeatedCheck<'a> {
        RepeatedCheck { check, promises: &promises[..case.promises], due: case.due }
    }

    fn check_again(&self, image: &MediumImage) -> Result<CrashFinding, String> {
        check_after_promises(self.check, 0, image, self.promises, self.due).map_err(|error| error.to_string())
    }
}

/// Finds the fewest lost writes, in order, with which the check gives the verdict of `trial`, or a worse one. `image` is the trial's medium,
/// `promises` are all that the workload made.
pub fn shrink_losses(
    writes: &SessionWrites,
    promises: &[&str],
    trial: &CrashTrial,
    image: &MediumImage,
    check: &MediumCheck<'_>,
) -> Result<ShrinkResult, String> {
    let at = trial.case.at;
    let repeated = RepeatedCheck::new(promises, &trial.case, check);
    let all_lost = image.lost_writes(writes, at);
    let (wanted, of) = (trial.finding.verdict, all_lost.len());
    let finding_again = repeated.check_again(image)?;
    if finding_again.verdict < wanted {
        return Ok(ShrinkResult::NotAgain(finding_again));
    }
    let finding_without_loss = repeated.check_again(&received_medium(writes, at))?;
    if finding_without_loss.verdict >= wanted {
        return Ok(ShrinkResult::NotLost { of, finding: finding_without_loss });
    }
    // Of several sets that suffice, the one of the latest writes says most: they are nearest to the promise. So they are tried first.
    let latest_first: Vec<LostWrite> = all_lost.into_iter().rev().collect();
    let mut last_failing = finding_again;
    let mut lost = smallest_failing_part(&latest_first, SHRINK_TRIALS, |lost| {
        let finding = repeated.check_again(&MediumImage::without_writes(writes, at, lost))?;
        let fails = finding.verdict >= wanted;
        if fails {
            last_failing = finding;
        }
        Ok::<bool, String>(fails)
    })?;
    lost.left.reverse();
    Ok(ShrinkResult::To { lost, of, finding: last_failing })
}

/// The end of the first flush after a bad trial by which the disk had received enough for the check to pass; `None` if there was none
/// before the end of the session. More data are assumed never to make the finding worse.
pub fn first_passing_flush(
    writes: &SessionWrites,
    history: &History,
    promises: &[&str],
    trial: &CrashTrial,
    check: &MediumCheck<'_>,
) -> Result<Option<Instant>, String> {
    let (repeated, at) = (RepeatedCheck::new(promises, &trial.case, check), trial.case.at);
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
        |end: &Instant| Ok::<bool, String>(!repeated.check_again(&received_medium(writes, *end))?.verdict.is_bad());
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
