//! Losses by power cuts, from one run: the instants of the cuts, and a report of what the judge of the model
//! ([`seekwise_disk::durability`]) finds at each. That room defines the words.
//!
//! | file | what it holds |
//! |---|---|
//! | `tally` | sums of what a judge records during a run |
//! | [`curve`] | data at risk over time |
//! | [`file_losses`] | losses of files and operations |
//! | [`blame`] | the levels of a stack that broke promises |
//! | [`plot`] | data at risk as a picture |

pub mod blame;
pub mod curve;
pub mod file_losses;
pub mod plot;
mod tally;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use seekwise_disk::block::setting::LayerSetting;
use seekwise_disk::block::{Completion, Landing, Request, SECTOR};
use seekwise_disk::durability::judge::{CutJudge, CutJudgement};
use seekwise_disk::durability::loss::{ClassLoss, CutLoss, WriteClass};
use seekwise_disk::durability::terms::DriveTerms;
use seekwise_disk::durability::view::CutArray;
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::Stack;
use seekwise_disk::time::{Instant, Span};
use seekwise_disk::witness::Witness;
use seekwise_run::cutoff::RunCutoff;
use seekwise_run::outcome::RunError;
use seekwise_run::place::Target;
use seekwise_run::sim::{self, RunEnding};
use seekwise_run::work::Work;
use seekwise_work::durability::FileJudge;
use seekwise_work::durability::losses::FileLossCounts;
use seekwise_work::files::note::FileNotes;
use seekwise_work::files::scene::SceneEnd;
use serde::Serialize;

use self::blame::{BlamedLevel, blame_levels};
use self::curve::{RiskPoint, RiskSummary};
use self::file_losses::{FileLosses, OperationLosses};
use self::tally::CutSums;
use crate::stats::histogram::Histogram;
use crate::workers::Workers;

/// When the power fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CutTime {
    /// At this many instants of one run, drawn evenly over it from the seed's stream `cut`.
    Random(u32),
    /// At these instants of one run, which may lie after the job's end.
    At(Vec<Instant>),
    /// Once in each of several runs with seeds of their own: `pause` after the last completion.
    After {
        /// Number of runs.
        cuts: u32,
        /// Time from the job's end until the cut.
        pause: Span,
    },
    /// Once after each of this many runs with seeds of their own, as an orderly power-off: the program has ended, the system switches
    /// off, and the driver's power-off policy applies.
    Off(u32),
}

/// Losses by power cuts of a job. The names are those of `seekwise power-cut --json`.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CutReport {
    /// Cuts judged.
    pub cuts: u32,
    /// Virtual seconds of the run, or of the first of several.
    pub elapsed_s: f64,
    /// Writes acknowledged, over all runs.
    pub writes: u64,
    /// Flushes completed, over all runs.
    pub flushes: u64,
    /// True if the drive acknowledges writes that a cut can lose.
    pub volatile_cache: bool,
    /// True if the drive's buffer survives a cut.
    pub saves_buffer: bool,
    /// The sector under the head after a cut: `finished`, `old` or `unreadable`.
    pub cut_sector: &'static str,
    /// True if no data were lost that the drive, or the system, had promised to be durable.
    pub promise_kept: bool,
    /// The levels of the stack that broke a promise on writes, and their settings; empty if no such write was lost.
    pub broken_by: Vec<BlamedLevel>,
    /// Writes acknowledged and lost.
    pub acknowledged_lost: ClassLosses,
    /// Writes flushed and lost.
    pub flushed_lost: ClassLosses,
    /// Writes marked FUA and lost.
    pub fua_lost: ClassLosses,
    /// All writes promised to be durable, and lost.
    pub promised_lost: ClassLosses,
    /// Sectors left unreadable.
    pub torn: TornSectors,
    /// Writes not yet acknowledged at the cut.
    pub in_flight: InFlightWrites,
    /// Writes, acknowledged or not, of which a part is on the medium: a torn page of a database.
    pub partial: PartialWrites,
    /// Rows whose data and parity do not agree; `None` without parity, or if a buffer survives a cut.
    pub stripes: Option<StripeLosses>,
    /// Data at risk over the whole run.
    pub at_risk_summary: RiskSummary,
    /// The longest time for which a write was acknowledged and not on the medium.
    pub longest_at_risk_ms: f64,
    /// Losses of files, as a mount would find them; `None` for a job without files.
    pub files: Option<FileLosses>,
    /// Losses of operations; `None` for a job without files.
    pub operations: Option<OperationLosses>,
    /// Data at risk over time.
    pub at_risk: Vec<RiskPoint>,
    #[serde(skip)]
    pub each: Vec<CutLoss>,
}

/// The losses of one class of writes. Means are over all cuts, including those without a loss.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ClassLosses {
    /// Cuts that lost any.
    pub cuts_with_loss: u64,
    /// Writes, over all cuts.
    pub writes: u64,
    /// Writes a cut.
    pub writes_mean: f64,
    /// Writes, the largest number of one cut.
    pub writes_max: u64,
    /// Bytes a cut, each counted once.
    pub bytes_mean: f64,
    /// Bytes, the largest number of one cut.
    pub bytes_max: u64,
    /// Ages of the lost writes, over all cuts; `None` without any.
    pub age_ms: Option<Ages>,
    /// Ages of the oldest lost write of each cut with a loss: how far back losses reach.
    pub oldest_ms: Option<Ages>,
}

/// Times in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ages {
    /// The median.
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub max: f64,
}

/// Sectors of 512 bytes left unreadable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TornSectors {
    /// Cuts that left any.
    pub cuts: u64,
    /// Over all cuts.
    pub sectors: u64,
    /// Cuts that destroyed acknowledged data on the medium in this way.
    pub cuts_acknowledged: u64,
    /// Cuts that destroyed data promised to be durable in this way.
    pub cuts_promised: u64,
}

/// Writes not yet acknowledged at a cut.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct InFlightWrites {
    /// Writes a cut.
    pub writes_mean: f64,
    /// Writes in flight that are on the medium as a whole, a cut.
    pub survived_mean: f64,
}

/// Writes cut in two.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PartialWrites {
    /// Cuts that left any.
    pub cuts: u64,
    /// Over all cuts.
    pub writes: u64,
}

/// The write hole: rows whose parity does not belong to their data.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StripeLosses {
    /// Cuts that left any.
    pub cuts: u64,
    /// Rows a cut.
    pub inconsistent_mean: f64,
    /// Rows, the largest number of one cut.
    pub inconsistent_max: u64,
    /// Bytes of data a cut that would be reconstructed wrongly if their drive were lost then.
    pub bytes_mean: f64,
    /// Bytes, the largest number of one cut.
    pub bytes_max: u64,
}

/// The stack of `target`, or why its power cannot be cut.
pub fn modelled_stack(target: &Target) -> Result<&Stack, String> {
    let place = target.place_name();
    target.stack().ok_or_else(|| format!("power cuts need a modelled stack: what `{place}` would keep is unknown"))
}

/// The drives that cuts of `work` hit, or why these are not judged.
pub fn cut_array(stack: &Stack, work: &Work) -> Result<CutArray, String> {
    let plan = CutArray::from_stack(stack)?;
    match work.scene().is_some() && plan.lost_sets().len() > 1 {
        true => {
            Err("power cuts of a scene are not judged where drives of an array are lost or replaced during the run \
                     (`array.lose`, `array.replace`): what its files are made of then is not followed"
                .to_owned())
        }
        false => Ok(plan),
    }
}

/// The observer of progress: gets the number of requests done (or of runs, if there are several), and their total if it is known.
pub(crate) type ProgressFn<'a> = dyn Fn(u64, Option<u64>) + Sync + 'a;

/// Requests between two reports of progress.
const REPORT_STEP: u64 = 1 << 16;

/// Runs `work`, each time to `cutoff` at most, and judges cuts.
pub fn judge_cuts(
    cutoff: RunCutoff<'_>,
    stack: &Stack,
    work: &Work,
    seed: u64,
    cut_time: &CutTime,
    progress: &ProgressFn<'_>,
) -> Result<CutReport, RunError> {
    let cut_run = CutRun { stack, work, cutoff };
    let terms = DriveTerms::from_stack(stack);
    let array = cut_array(stack, work).map_err(RunError::Unfit)?;
    let new_judge = |cuts, pause| CutJudge::new(terms, array.clone(), cuts, pause, CutSums::default());
    let ending = CutRunEnding { run: RunEnding::Linger, scene: SceneEnd::Ends };
    let runs = match cut_time {
        CutTime::Random(count) => {
            // The instants lie all over a run whose length is not known before, so it is run once without cuts.
            let mut issued = 0;
            let count_record = &mut |_: &_| count_request(&mut issued, |n| progress(n, None));
            let uncut = sim::run_source(stack, work.make_source(Seed(seed)), cutoff, Seed(seed), count_record)?.figures;
            let judge = new_judge(draw_instants(Seed(seed), *count, uncut.end), None);
            cut_run.run_judged(Seed(seed), ending, judge, &|n| progress(n, Some(uncut.issued)))?.into_single()
        }
        CutTime::At(instants) => {
            let judge = new_judge(instants.clone(), None);
            cut_run.run_judged(Seed(seed), ending, judge, &|n| progress(n, None))?.into_single()
        }
        CutTime::After { cuts, pause } => {
            let ending = CutRunEnding { scene: SceneEnd::GoesOn(*pause), ..ending };
            cut_run.run_several(Seed(seed), *cuts, ending, &|| new_judge(Vec::new(), Some(*pause)), progress)?
        }
        CutTime::Off(cuts) => {
            // An orderly power-off promises all acknowledged writes.
            let terms = terms.promising_all();
            let new_judge = || CutJudge::new(terms, array.clone(), Vec::new(), None, CutSums::default());
            let ending = CutRunEnding { run: RunEnding::PowerOff, scene: SceneEnd::Unmounts };
            cut_run.run_several(Seed(seed), *cuts, ending, &new_judge, progress)?
        }
    };
    let report = make_report(terms, &array, runs);
    let orderly = matches!(cut_time, CutTime::Off(_));
    Ok(CutReport { broken_by: blame_levels(stack, &report.each, orderly), ..report })
}

/// The end of a run that is cut, and of its scene.
#[derive(Clone, Copy)]
struct CutRunEnding {
    run: RunEnding,
    scene: SceneEnd,
}

/// The judge of a run, and of the files of a scene.
type SceneCutJudge = CutJudge<CutSums, Option<FileJudge>>;

/// The findings of a judge, without its tally.
type CutFindings = CutJudgement<(), Option<FileLossCounts>>;

/// The end of a run, the findings of its judge, and its tally.
struct JudgedRun {
    end: Instant,
    findings: CutFindings,
    sums: CutSums,
}

/// Runs with their ends, and the tally of their judges: the ages of all, the curve of the first. The ages of two hundred runs, each
/// kept apart, would take tens of megabytes.
struct JudgedRuns {
    runs: Vec<(Instant, CutFindings)>,
    sums: CutSums,
}

impl JudgedRun {
    fn into_single(self) -> JudgedRuns {
        JudgedRuns { runs: vec![(self.end, self.findings)], sums: self.sums }
    }
}

/// Counts a request; reports the count every [`REPORT_STEP`].
fn count_request(count: &mut u64, report: impl Fn(u64)) {
    *count += 1;
    if count.is_multiple_of(REPORT_STEP) {
        report(*count);
    }
}

/// Draws instants of a run until `end`, in rising order.
fn draw_instants(seed: Seed, count: u32, end: Instant) -> Vec<Instant> {
    let mut rng = seed.stream("cut");
    let mut instants: Vec<Instant> =
        (0..count).map(|_| Instant::from_nanos(rng.below(end.nanos().saturating_add(1)))).collect();
    instants.sort_unstable();
    instants
}

/// A run that is cut, and its cutoff.
struct CutRun<'a> {
    stack: &'a Stack,
    work: &'a Work,
    cutoff: RunCutoff<'a>,
}

impl CutRun<'_> {
    /// Makes several runs, each with a seed and a judge of its own.
    fn run_several(
        &self,
        seed: Seed,
        count: u32,
        ending: CutRunEnding,
        new_judge: &(dyn Fn() -> SceneCutJudge + Sync),
        progress: &ProgressFn<'_>,
    ) -> Result<JudgedRuns, RunError> {
        let (done, all_sums) = (AtomicU64::new(0), Mutex::new(CutSums::default()));
        let run = |&index: &u32| {
            let judged = self.run_judged(seed.run_seed(u64::from(index)), ending, new_judge(), &|_| ());
            progress(1 + done.fetch_add(1, Ordering::Relaxed), Some(u64::from(count)));
            let JudgedRun { end, findings, sums } = judged?;
            let mut all_sums = all_sums.lock().expect("no holder panics");
            // Counts add up to the same in any order.
            all_sums.ages.iter_mut().zip(&sums.ages).for_each(|(all, ages)| all.merge(ages));
            if index == 0 {
                all_sums.curve = sums.curve;
            }
            Ok((end, findings))
        };
        let runs: Result<Vec<_>, RunError> = Workers::Shared.map(&(0..count).collect::<Vec<_>>(), run);
        Ok(JudgedRuns { runs: runs?, sums: all_sums.into_inner().expect("no holder panics") })
    }

    /// Makes a single run. `report` gets the number of requests from time to time.
    fn run_judged(
        &self,
        seed: Seed,
        ending: CutRunEnding,
        judge: SceneCutJudge,
        report: &dyn Fn(u64),
    ) -> Result<JudgedRun, RunError> {
        let CutRun { stack, work, cutoff } = *self;
        let notes = FileNotes::default();
        let judge = match work.scene() {
            Some(scene) => judge.with_source(Some(FileJudge::new(scene, notes.clone()))),
            None => judge,
        };
        let mut witness = CountingWitness { judge, count: 0, report };
        let source = work.make_source_with_file_notes(seed, notes, ending.scene);
        let (outcome, off) = sim::run_witnessed(stack, source, cutoff, seed, ending.run, &mut witness)?;
        let judgement = match ending.run {
            RunEnding::Linger => witness.judge.finish(outcome.figures.end),
            RunEnding::PowerOff => witness.judge.finish_powered_off(off),
        };
        let CutJudgement { cuts, tally: sums, acknowledged, flushes, longest_at_risk, source } = judgement;
        let source = source.map(FileJudge::finish).transpose().map_err(RunError::Unfit)?;
        let findings = CutJudgement { cuts, tally: (), acknowledged, flushes, longest_at_risk, source };
        Ok(JudgedRun { end: outcome.figures.end, findings, sums })
    }
}

/// A judge, with a count of the requests that it sees.
struct CountingWitness<'a> {
    judge: SceneCutJudge,
    count: u64,
    report: &'a dyn Fn(u64),
}

impl Witness for CountingWitness<'_> {
    fn note_submission(&mut self, now: Instant, request: &Request) {
        count_request(&mut self.count, self.report);
        self.judge.note_submission(now, request);
    }
    fn note_completion(&mut self, request: &Request, completion: &Completion) {
        self.judge.note_completion(request, completion);
    }
    fn note_landing(&mut self, landing: &Landing) {
        self.judge.note_landing(landing);
    }
    fn note_change(&mut self, now: Instant, setting: LayerSetting) {
        self.judge.note_change(now, setting);
    }
    fn should_linger(&mut self, end: Instant, next: Instant) -> bool {
        self.judge.should_linger(end, next)
    }
}

fn make_report(terms: DriveTerms, array: &CutArray, judged: JudgedRuns) -> CutReport {
    let JudgedRuns { runs, sums } = judged;
    let each: Vec<CutLoss> = runs.iter().flat_map(|(_, findings)| findings.cuts.iter().copied()).collect();
    let [acknowledged_lost, flushed_lost, fua_lost, promised_lost] =
        WriteClass::ALL.map(|class| class_losses(class, &each, &sums.ages[class as usize]));
    let count = |holds: fn(&CutLoss) -> bool| each.iter().filter(|cut| holds(cut)).count() as u64;
    let sum = |value: fn(&CutLoss) -> u64| each.iter().map(value).sum::<u64>();
    let mean = |value: fn(&CutLoss) -> u64| sum(value) as f64 / each.len().max(1) as f64;
    let most = |value: fn(&CutLoss) -> u64| each.iter().map(value).max().unwrap_or(0);
    let curve = &sums.curve;
    let longest = runs.iter().map(|(_, findings)| findings.longest_at_risk).max();
    let mut file_losses: Option<FileLossCounts> = None;
    for (_, findings) in &runs {
        if let Some(more) = &findings.source {
            file_losses.get_or_insert_default().merge(more);
        }
    }
    let files = file_losses.as_ref().map(FileLosses::from_counts);
    let operations = file_losses.as_ref().map(OperationLosses::from_counts);
    let file_promises_kept = files.as_ref().is_none_or(|files| files.promised_lost.count == 0)
        && operations.as_ref().is_none_or(|operations| operations.promised_lost.count == 0);
    CutReport {
        cuts: each.len() as u32,
        elapsed_s: runs.first().map_or(0.0, |(end, _)| end.nanos() as f64 / 1e9),
        writes: runs.iter().map(|(_, findings)| findings.acknowledged).sum(),
        flushes: runs.iter().map(|(_, findings)| findings.flushes).sum(),
        volatile_cache: terms.volatile,
        saves_buffer: terms.saves,
        cut_sector: terms.cut_sector_name(),
        promise_kept: promised_lost.writes == 0 && file_promises_kept,
        broken_by: Vec::new(),
        acknowledged_lost,
        flushed_lost,
        fua_lost,
        promised_lost,
        torn: TornSectors {
            cuts: count(|cut| cut.torn > 0),
            sectors: sum(|cut| cut.torn),
            cuts_acknowledged: count(|cut| cut.torn_acknowledged > 0),
            cuts_promised: count(|cut| cut.torn_promised > 0),
        },
        in_flight: InFlightWrites { writes_mean: mean(|cut| cut.in_flight), survived_mean: mean(|cut| cut.survived) },
        partial: PartialWrites { cuts: count(|cut| cut.partial > 0), writes: sum(|cut| cut.partial) },
        stripes: (array.has_parity() && !terms.saves).then(|| StripeLosses {
            cuts: count(|cut| cut.holes.rows > 0),
            inconsistent_mean: mean(|cut| cut.holes.rows),
            inconsistent_max: most(|cut| cut.holes.rows),
            bytes_mean: mean(|cut| cut.holes.sectors) * SECTOR as f64,
            bytes_max: most(|cut| cut.holes.sectors) * SECTOR,
        }),
        at_risk_summary: curve.summary(),
        longest_at_risk_ms: span_ms(longest.unwrap_or(Span::ZERO)),
        files,
        operations,
        at_risk: curve.points(),
        each,
    }
}

fn class_losses(class: WriteClass, cuts: &[CutLoss], ages: &Histogram) -> ClassLosses {
    let class_loss = |cut: &CutLoss| cut.lost[class as usize];
    let with_loss = || cuts.iter().map(class_loss).filter(|lost| lost.writes > 0);
    let mean = |value: fn(&ClassLoss) -> u64| {
        with_loss().map(|lost| value(&lost)).sum::<u64>() as f64 / cuts.len().max(1) as f64
    };
    let mut oldest = Histogram::default();
    with_loss().for_each(|lost| oldest.record(lost.oldest));
    ClassLosses {
        cuts_with_loss: with_loss().count() as u64,
        writes: with_loss().map(|lost| lost.writes).sum(),
        writes_mean: mean(|lost| lost.writes),
        writes_max: with_loss().map(|lost| lost.writes).max().unwrap_or(0),
        bytes_mean: mean(|lost| lost.bytes),
        bytes_max: with_loss().map(|lost| lost.bytes).max().unwrap_or(0),
        age_ms: Ages::from_histogram(ages),
        oldest_ms: Ages::from_histogram(&oldest),
    }
}

impl Ages {
    fn from_histogram(times: &Histogram) -> Option<Ages> {
        let quantile_ms = |share| times.quantile(share).map(span_ms);
        Some(Ages {
            p50: quantile_ms(0.5)?,
            p90: quantile_ms(0.9)?,
            p99: quantile_ms(0.99)?,
            max: times.max().map(span_ms)?,
        })
    }
}

fn span_ms(span: Span) -> f64 {
    span.nanos() as f64 / 1e6
}
