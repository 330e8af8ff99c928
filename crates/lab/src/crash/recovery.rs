//! Cuts during recovery: a cut leaves a medium, from which the system and the program recover; the power fails again while they do, at
//! instants of that recovery, and so on. Everything promised before the first cut must be there after the last recovery, which is the
//! check's own.
//!
//! A recovery runs in real time, so its history differs a little each time; all else is computed from histories and the seed. The caller
//! runs recoveries and checks ([`RecoveryBench`]). Media with equal contents after equal promises are checked, and recovered from, once,
//! on whichever level they arise. Nothing recovers from a medium that is bad already: the cuts before it explain that.
//!
//! A recovery begins with earlier content in place of sectors that a cut left unreadable.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, Condvar, Mutex};

use seekwise_disk::durability::image::{MediumImage, replay_cuts};
use seekwise_disk::durability::loss::{CutLoss, WriteClass};
use seekwise_disk::durability::terms::DriveTerms;
use seekwise_disk::durability::view::CutArray;
use seekwise_disk::durability::writes::SessionWrites;
use seekwise_disk::history::{DataPart, History};
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::Stack;
use seekwise_disk::time::Span;

use super::instants::{InstantReason, InstantWeights, choose_instants};
use super::orders;
use super::trial::{
    CrashCase, CrashResults, CrashTrial, MediumCheck, MediumFinding, check_with_and_without_torn, lock_unpoisoned,
};
use super::verdict::{CheckOutput, CrashFinding, CrashVerdict};

/// The settings of cuts during recovery.
#[derive(Clone, Copy, Debug)]
pub struct RecoveryOptions {
    /// Cuts one after another, the first included: from 2 on.
    pub depth: usize,
    /// Cuts of each recovery.
    pub cuts: usize,
    /// Number of other orders of writes for each cut.
    pub orders: u32,
    pub seed: Seed,
    /// Number of recoveries that run at once.
    pub workers: usize,
    pub weights: InstantWeights,
}

/// A session, and the cut that ended it.
#[derive(Clone, Debug)]
pub struct ChainLink {
    /// Requests, landings and marks of the session: the workload's, or a recovery's from the medium before.
    pub history: Arc<History>,
    pub writes: Arc<SessionWrites>,
    pub case: CrashCase,
    /// The content that the cut left of this session.
    pub image: MediumImage,
}

/// A medium after cuts one after another: the earlier sessions, and what the last cut left of the last one.
#[derive(Clone, Copy, Debug)]
pub struct ChainMedium<'a> {
    pub before: &'a [ChainLink],
    pub history: &'a History,
    pub writes: &'a SessionWrites,
    pub image: &'a MediumImage,
}

impl<'a> ChainMedium<'a> {
    /// The medium at the end of a chain; `None` if it is empty.
    pub fn of_chain(chain: &'a [ChainLink]) -> Option<ChainMedium<'a>> {
        let (last, before) = chain.split_last()?;
        Some(ChainMedium { before, history: &last.history, writes: &last.writes, image: &last.image })
    }

    /// Written runs, each with its first sector and its data. Of those that overlap, the last counts.
    pub fn written_pieces(&self) -> Vec<(u64, DataPart<'a>)> {
        let mut pieces = written_before(self.before);
        pieces.extend(self.image.written_pieces(self.history, self.writes));
        pieces
    }
}

/// Runs that these sessions left written, in their order.
pub fn written_before(links: &[ChainLink]) -> Vec<(u64, DataPart<'_>)> {
    links.iter().flat_map(|link| link.image.written_pieces(&link.history, &link.writes)).collect()
}

/// A recovery that was run.
#[derive(Debug)]
pub struct RecoveryRun {
    pub history: History,
    /// Why it failed; its history is not cut then.
    pub failure: Option<String>,
}

/// Runs recoveries and checks; several workers at once.
pub trait RecoveryBench: Sync {
    /// Recovers from the medium at the end of a chain, on a disk with this seed. An error if it cannot be tried.
    fn recover(&self, worker: usize, chain: &[ChainLink], seed: Seed) -> io::Result<RecoveryRun>;

    /// Checks a medium after these promises.
    fn check(&self, worker: usize, medium: &ChainMedium<'_>, promises: &[&str]) -> io::Result<CheckOutput>;

    /// A hash of a medium's content: equal for equal contents, whichever writes left them.
    fn hash_content(&self, medium: &ChainMedium<'_>) -> u64;
}

/// The trials on a level: cuts of recoveries from media of the level before.
#[derive(Clone, Debug, Default)]
pub struct RecoveryLevel {
    /// Recoveries that were run.
    pub recoveries: usize,
    /// Those of them that failed.
    pub failed: usize,
    /// The disk's time that they took.
    pub took: Span,
    /// The trials of all their cuts, in order.
    pub tried: Vec<CrashTrial>,
    /// Different media that no level had before.
    pub checked: usize,
    /// Cuts at which a write was lost that the disk had promised.
    pub disk_broke: usize,
}

/// Cuts one after another that end in a bad medium, or in one from which the recovery fails.
#[derive(Clone, Debug)]
pub struct BadChain {
    /// The sessions and their cuts, the workload's first.
    pub links: Vec<ChainLink>,
    /// The trial of the last medium.
    pub trial: CrashTrial,
    /// The check was not asked: the recovery from the last medium failed.
    pub recovery_failed: bool,
}

/// The results of cuts during recovery.
#[derive(Clone, Debug, Default)]
pub struct RecoveryResults {
    /// From the second level on.
    pub levels: Vec<RecoveryLevel>,
    /// By bad verdict the first chain with it: a shorter one before a longer one, then by the order of the cuts.
    pub first: BTreeMap<CrashVerdict, BadChain>,
    /// Cuts of all levels, those of the workload included, until the first bad medium of a recovery was known.
    pub found_after: Option<usize>,
}

impl RecoveryResults {
    /// True if a promise was broken after a recovery that was cut, or a recovery failed.
    pub fn is_bad(&self) -> bool {
        self.levels.iter().any(|level| level.failed > 0 || level.tried.iter().any(CrashTrial::is_bad))
    }
}

/// A medium to recover from, and the numbers of its cuts, each among those of its session.
struct Parent {
    links: Vec<ChainLink>,
    path: Vec<usize>,
}

/// Recoveries that are due and under way.
#[derive(Default)]
struct Queue {
    due: Vec<Parent>,
    /// By level of the medium, from 1 on: recoveries under way, those that ended, and the media that these left to recover from.
    running: Vec<usize>,
    ended: Vec<usize>,
    children: Vec<usize>,
    failed: Option<io::Error>,
}

/// A trial whose medium may still be with another worker.
struct OpenTrial {
    level: usize,
    path: Vec<usize>,
    case: CrashCase,
    state: usize,
}

/// All that the workers found.
#[derive(Default)]
struct Findings {
    /// By the hash of the content, promises made and due: the number of the medium among all different ones.
    states: HashMap<(u64, usize, usize), usize>,
    by_state: HashMap<usize, MediumFinding>,
    open: Vec<OpenTrial>,
    levels: Vec<RecoveryLevel>,
    first: BTreeMap<CrashVerdict, (Vec<usize>, BadChain)>,
    cuts: usize,
    found_after: Option<usize>,
}

impl Findings {
    /// Notes a bad chain if it comes before the one of this verdict.
    fn add_bad(&mut self, path: &[usize], chain: BadChain) {
        self.found_after.get_or_insert(self.cuts);
        let is_first = |(other, _): &(Vec<usize>, BadChain)| (path.len(), path) < (other.len(), other);
        let verdict = chain.trial.finding.verdict;
        if self.first.get(&verdict).is_none_or(is_first) {
            self.first.insert(verdict, (path.to_vec(), chain));
        }
    }

    /// The number of a medium, and whether it is a new one.
    fn number_state(&mut self, key: (u64, usize, usize)) -> (usize, bool) {
        let next = self.states.len();
        let state = *self.states.entry(key).or_insert(next);
        (state, state == next)
    }

    fn into_results(self) -> RecoveryResults {
        let Findings { by_state, mut open, mut levels, first, found_after, .. } = self;
        open.sort_by(|a, b| (a.level, &a.path).cmp(&(b.level, &b.path)));
        for OpenTrial { level, case, state, .. } in open {
            let MediumFinding { finding, readable } = by_state[&state].clone();
            levels[level - 2].tried.push(CrashTrial { case, state, finding, readable });
        }
        let first = first.into_iter().map(|(verdict, (_, chain))| (verdict, chain)).collect();
        RecoveryResults { levels, first, found_after }
    }
}

/// Runs the recoveries.
struct RecoveryRunner<'a> {
    options: &'a RecoveryOptions,
    stack: &'a Stack,
    /// Lines that the workload printed.
    promises: Vec<&'a str>,
    bench: &'a dyn RecoveryBench,
    queue: Mutex<Queue>,
    queue_changed: Condvar,
    findings: Mutex<Findings>,
    /// Called with the recoveries that have ended, and how many there will be by the present means.
    progress: &'a (dyn Fn(u64, u64) + Sync),
}

impl RecoveryOptions {
    /// Recovers from the media that the cuts of the first session left, and cuts the recoveries. `outcome` must have kept its media.
    /// An error comes from a recovery or a check that could not run.
    pub fn run(
        &self,
        history: &Arc<History>,
        outcome: &CrashResults,
        stack: &Stack,
        bench: &dyn RecoveryBench,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<RecoveryResults, String> {
        let end = history.marked_span().ok_or("the session was not ended in order")?.1;
        let levels = vec![RecoveryLevel::default(); self.depth - 1];
        let runner = RecoveryRunner {
            options: self,
            stack,
            promises: history.promises_until(end).collect(),
            bench,
            queue: Mutex::new(Queue {
                running: vec![0; self.depth],
                ended: vec![0; self.depth],
                children: vec![0; self.depth],
                ..Queue::default()
            }),
            queue_changed: Condvar::new(),
            findings: Mutex::new(Findings { levels, cuts: outcome.tried.len(), ..Findings::default() }),
            progress,
        };
        runner.add_first_level(history, outcome);
        std::thread::scope(|scope| {
            let runner = &runner;
            for worker in 0..self.workers {
                scope.spawn(move || runner.work(worker));
            }
        });
        let RecoveryRunner { queue, findings, .. } = runner;
        match queue.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).failed {
            Some(error) => Err(error.to_string()),
            None => Ok(findings.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).into_results()),
        }
    }
}

impl RecoveryRunner<'_> {
    /// Notes the media of the first level, and queues those to recover from.
    fn add_first_level(&self, history: &Arc<History>, outcome: &CrashResults) {
        let writes = Arc::new(outcome.writes.clone());
        let mut by_state: HashMap<usize, &CrashTrial> = HashMap::new();
        for tried in &outcome.tried {
            by_state.entry(tried.state).or_insert(tried);
        }
        let mut findings = lock_unpoisoned(&self.findings);
        let mut due = Vec::new();
        for (number, (case, image)) in outcome.media.iter().enumerate() {
            let medium = ChainMedium { before: &[], history, writes: &writes, image };
            let (state, is_new) = findings.number_state((self.bench.hash_content(&medium), case.promises, case.due));
            let tried = by_state[&number];
            if !is_new {
                continue;
            }
            let found = MediumFinding { finding: tried.finding.clone(), readable: tried.readable };
            findings.by_state.insert(state, found);
            if !tried.is_bad() {
                let (history, writes) = (Arc::clone(history), Arc::clone(&writes));
                let link = ChainLink { history, writes, case: *case, image: image.without_torn() };
                due.push(Parent { links: vec![link], path: vec![number] });
            }
        }
        // The last is taken first.
        due.reverse();
        lock_unpoisoned(&self.queue).due = due;
    }

    fn work(&self, worker: usize) {
        while let Some(parent) = self.take_parent() {
            let level = parent.links.len();
            let done = self.recover_and_cut(worker, &parent);
            let mut queue = lock_unpoisoned(&self.queue);
            queue.running[level] -= 1;
            queue.ended[level] += 1;
            match done {
                Ok(children) => {
                    queue.children[level] += children.len();
                    queue.due.extend(children.into_iter().rev());
                }
                Err(error) => drop(queue.failed.get_or_insert(error)),
            }
            let (ended, expected) = queue.forecast(self.options);
            drop(queue);
            self.queue_changed.notify_all();
            (self.progress)(ended, expected);
        }
    }

    /// Takes the next medium to recover from; `None` at the end of all, or after an error.
    fn take_parent(&self) -> Option<Parent> {
        let mut queue = lock_unpoisoned(&self.queue);
        loop {
            if queue.failed.is_some() {
                return None;
            }
            if let Some(parent) = queue.due.pop() {
                queue.running[parent.links.len()] += 1;
                return Some(parent);
            }
            if queue.running.iter().all(|running| *running == 0) {
                return None;
            }
            queue = self.queue_changed.wait(queue).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }

    /// Recovers from a medium, checks the media that cuts of this recovery leave, and returns those to recover from.
    fn recover_and_cut(&self, worker: usize, parent: &Parent) -> io::Result<Vec<Parent>> {
        let level = parent.links.len() + 1;
        let seed = self.seed_of_recovery(parent);
        let RecoveryRun { history, failure } = self.bench.recover(worker, &parent.links, seed)?;
        let span = history.marked_span();
        {
            let mut findings = lock_unpoisoned(&self.findings);
            let results = &mut findings.levels[level - 2];
            results.recoveries += 1;
            if let Some(words) = failure {
                results.failed += 1;
                let chain = failed_recovery(&parent.links, words);
                findings.add_bad(&parent.path, chain);
                return Ok(Vec::new());
            }
            results.took += span.map_or(Span::ZERO, |span| span.1.since(span.0));
        }
        let span = span.ok_or_else(|| io::Error::other("the recovery was not ended in order"))?;
        let terms = DriveTerms::from_stack(self.stack);
        let writes = SessionWrites::from_history(&history, terms.volatile);
        let (history, writes) = (Arc::new(history), Arc::new(writes));
        let array = CutArray::from_stack(self.stack).map_err(io::Error::other)?;
        let instants = choose_instants(&history, span, self.options.cuts, self.options.weights, seed);
        let mut cases = Vec::new();
        let (mut reasons, mut rng, unit) = (instants.iter(), seed.stream("orders"), terms.unit);
        let first = parent.links[0].case;
        let cut_instants = instants.iter().map(|it| it.0).collect();
        let cuts = replay_cuts(&history, (terms, array), cut_instants, span.1, |at, image| {
            let why = reasons.next().map_or(InstantReason::Drawn, |it| it.1);
            let case = CrashCase { at, why, order: None, ..first };
            cases.push((case, image));
            for number in 0..self.options.orders {
                let lost = orders::draw_lost_writes(&writes, at, number, unit, &mut rng);
                let image = MediumImage::without_writes(&writes, at, &lost);
                cases.push((CrashCase { order: Some(number), ..case }, image));
            }
        });
        let breaks_promise = |cut: &&CutLoss| cut.lost[WriteClass::Promised as usize].writes > 0;
        lock_unpoisoned(&self.findings).levels[level - 2].disk_broke += cuts.iter().filter(breaks_promise).count();
        let mut children = Vec::new();
        for (number, (case, image)) in cases.into_iter().enumerate() {
            let link = ChainLink { history: Arc::clone(&history), writes: Arc::clone(&writes), case, image };
            children.extend(self.check_cut(worker, parent, number, link)?);
        }
        Ok(children)
    }

    /// Checks the medium of a cut, if it is a new one; returns it if there is to be a recovery from it.
    fn check_cut(&self, worker: usize, parent: &Parent, number: usize, link: ChainLink) -> io::Result<Option<Parent>> {
        let (before, level) = (&parent.links[..], parent.links.len() + 1);
        let (case, path) = (link.case, [&parent.path[..], &[number]].concat());
        let medium = ChainMedium { before, history: &link.history, writes: &link.writes, image: &link.image };
        let key = (self.bench.hash_content(&medium), case.promises, case.due);
        let (state, is_new) = {
            let mut findings = lock_unpoisoned(&self.findings);
            findings.cuts += 1;
            let (state, is_new) = findings.number_state(key);
            findings.levels[level - 2].checked += usize::from(is_new);
            findings.open.push(OpenTrial { level, path: path.clone(), case, state });
            (state, is_new)
        };
        if !is_new {
            return Ok(None);
        }
        let check: &MediumCheck<'_> = &|worker: usize, image: &MediumImage, promises: &[&str]| {
            let medium = ChainMedium { before, history: &link.history, writes: &link.writes, image };
            self.bench.check(worker, &medium, promises)
        };
        let promises = &self.promises[..case.promises];
        let found = check_with_and_without_torn(check, worker, &link.image, promises, case.due)?;
        let trial = CrashTrial { case, state, finding: found.finding.clone(), readable: found.readable };
        let links = || [before, std::slice::from_ref(&link)].concat();
        let mut findings = lock_unpoisoned(&self.findings);
        findings.by_state.insert(state, found);
        if trial.is_bad() {
            findings.add_bad(&path, BadChain { links: links(), trial, recovery_failed: false });
            return Ok(None);
        }
        drop(findings);
        let recovers = level < self.options.depth;
        Ok(recovers.then(|| {
            let mut links = links();
            if let Some(last) = links.last_mut() {
                last.image = last.image.without_torn();
            }
            Parent { links, path }
        }))
    }

    /// The seed of a recovery and its cuts: a stream for each level, with a number for each path of cuts.
    fn seed_of_recovery(&self, parent: &Parent) -> Seed {
        /// A prime beyond all numbers of cuts, so that no two short paths have one number.
        const BASE: u64 = 2_147_483_647;
        let number = parent.path.iter().fold(0_u64, |sum, cut| sum.wrapping_mul(BASE).wrapping_add(*cut as u64 + 1));
        let stream = format!("recovery-{}", parent.links.len());
        Seed(self.options.seed.numbered_stream(&stream, number).next_u64())
    }
}

impl Queue {
    /// The recoveries that have ended, and how many there will be if media go on leaving as many to recover from.
    fn forecast(&self, options: &RecoveryOptions) -> (u64, u64) {
        // A recovery with all that follow from it, from the last level back.
        let (mut with_following, mut due) = (vec![0.0; options.depth + 1], self.running.clone());
        self.due.iter().for_each(|parent| due[parent.links.len()] += 1);
        let mut expected = self.ended.iter().sum::<usize>() as f64;
        for level in (1..options.depth).rev() {
            let mean = match self.ended[level] {
                0 => options.cuts as f64,
                ended => self.children[level] as f64 / ended as f64,
            };
            with_following[level] = 1.0 + mean * with_following[level + 1];
            expected += due[level] as f64 * with_following[level];
        }
        (self.ended.iter().sum::<usize>() as u64, expected.round() as u64)
    }
}

/// The chain of a recovery that failed with these words.
fn failed_recovery(links: &[ChainLink], words: String) -> BadChain {
    let finding = CrashFinding { verdict: CrashVerdict::Corrupt, words };
    let case = links[links.len() - 1].case;
    BadChain {
        links: links.to_vec(),
        trial: CrashTrial { case, state: 0, finding, readable: None },
        recovery_failed: true,
    }
}

#[cfg(test)]
mod tests;
