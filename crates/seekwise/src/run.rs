//! A single run of a job on a target, as `seekwise run` makes it: its record, the logs that are asked for, and its
//! result folder.

use std::path::{Path, PathBuf};
use std::slice::from_ref;
use std::sync::atomic::{AtomicU64, Ordering};

use seekwise_drives::stack::ORDER_SETTING;
use seekwise_formats::study::Study;
use seekwise_lab::demand::{JobExtent, job_extent};
use seekwise_lab::digest::sha256;
use seekwise_lab::inputs::Inputs;
use seekwise_lab::plan::Cell;
use seekwise_lab::provenance::{ProgramVersion, RunSample, StudyProvenance};
use seekwise_lab::run::measure_run_until;
use seekwise_lab::study::cell_record;
use seekwise_run::cutoff::RunCutoff;
use seekwise_run::outcome::RunFigures;
use seekwise_run::work::Work;

use crate::band::{draw_count, run_on_draws, single_run_plan};
use crate::bounds::Bounds;
use crate::error::Error;
use crate::iolog::{self, Iologs};
use crate::logging::{LoggedRun, RequestLog};
use crate::observer::Observer;
use crate::reading::display_name;
use crate::results::ResultFolder;
use crate::setup::{Setup, prepare};
use crate::study::write_report;

/// The record of a run.
pub use seekwise_lab::run::certificate::{Certificate, TimingErrors};
pub use seekwise_lab::run::{
    ArrayRecord, Arrivals, CpuRecord, DriveCounts, GroupRecord, IssuerFigures, KindRecord, MeanParts, MemberRecord,
    OperationRecord, PhaseRecord, RealRecord, RecordedEnds, RequestCost, Response, RunRecord, StreamRecord, SyncRecord,
};

/// Runs together: their response times, and the workers of each name.
pub use seekwise_lab::run::{merge_groups, pool_responses};

/// The cell that ran, and the statistics behind its record.
pub use seekwise_lab::plan::PreparedCell;
pub use seekwise_lab::run::MeasuredRun;
pub use seekwise_lab::stats::{Histogram, RequestKind};

/// A request that ended, and the parts of its response time; addresses count sectors of so many bytes.
pub use seekwise_disk::block::SECTOR;
pub use seekwise_disk::record::{Part, Parts, Record};

/// The outputs and limits of a run.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RunOptions<'a> {
    /// Every request goes to this Parquet file; it needs the feature `parquet`.
    pub log: Option<&'a Path>,
    /// Results and a page go to this folder.
    pub out: Option<&'a Path>,
    /// Replaces what is there.
    pub force: bool,
    /// The limits of what the run takes of the machine.
    pub bounds: Bounds,
    /// On a fitted drive, runs the job on the draws of its fit too, for the bands of the figures.
    pub band: bool,
}

impl Default for RunOptions<'_> {
    fn default() -> Self {
        RunOptions { log: None, out: None, force: false, bounds: Bounds::new(None), band: true }
    }
}

/// The result of a run.
#[non_exhaustive]
pub struct RunResult {
    /// The record: all figures, as `results.jsonl` has them.
    pub record: RunRecord,
    /// The cell that ran, with its settings.
    pub prepared: PreparedCell,
    /// The statistics behind the record.
    pub measured: MeasuredRun,
    /// The page, where results were kept.
    pub page: Option<PathBuf>,
}

impl RunResult {
    /// The layers of the stack from the program down, if they are not in the default order of all layers.
    pub fn layer_order(&self) -> Option<&str> {
        let order = self.prepared.settings.iter().find(|setting| setting.key == ORDER_SETTING);
        order.map(|setting| setting.value.as_str())
    }

    /// All figures in one value.
    pub fn json(&self) -> serde_json::Value {
        let mut value = serde_json::to_value(&self.record).expect("a record has no keys but strings");
        let ProgramVersion { version, build } = ProgramVersion::current();
        (value["version"], value["build"]) = (version.into(), build.into());
        value
    }
}

/// Runs a job on a target once.
///
/// ```
/// use seekwise::{Setup, run};
///
/// let result = run::run(&Setup::new("random-read", "exos-x18").with_runtime("2 s"), &())?;
/// assert!(result.record.all.ios > 0);
/// # Ok::<(), seekwise::Error>(())
/// ```
pub fn run(setup: &Setup, observer: &dyn Observer) -> Result<RunResult, Error> {
    PreparedRun::new(setup)?.run(&RunOptions::default(), observer, &mut |_| {})
}

/// A prepared run, which can be inspected first.
pub struct PreparedRun<'a> {
    setup: &'a Setup,
    /// The job, the target and the settings, as they are asked for.
    cell: Cell,
    inputs: Inputs<'static>,
    prepared: PreparedCell,
}

impl<'a> PreparedRun<'a> {
    /// Reads and builds all that the run is made of.
    pub fn new(setup: &'a Setup) -> Result<PreparedRun<'a>, Error> {
        let (cell, inputs) = (setup.cell()?, setup.files.inputs().with_written_logs());
        let prepared = prepare(&cell, &inputs)?;
        Ok(PreparedRun { setup, cell, inputs, prepared })
    }

    /// The cell that will run.
    pub fn prepared_cell(&self) -> &PreparedCell {
        &self.prepared
    }

    /// Runs the job; `on_request` is called with each counted request.
    pub fn run(
        self,
        options: &RunOptions<'_>,
        observer: &dyn Observer,
        on_request: &mut dyn FnMut(&Record),
    ) -> Result<RunResult, Error> {
        let PreparedRun { setup, cell, inputs, prepared } = self;
        let (seed, cells) = (setup.seed, from_ref(&prepared));
        let draws = if options.band { draw_count(&prepared) } else { 0 };
        let threads = options.bounds.threads_within_memory(&single_run_plan(&prepared, draws, seed))?;
        iolog::check_logs_writable(&prepared.logs, options.force)?;
        let (job_name, target_name) = (display_name(&setup.job), display_name(&setup.target));
        let measured = prepared.target.is_measured();
        let logged_run = LoggedRun { job: job_name, target: target_name, seed, measured };
        let mut log = RequestLog::create(options.log, options.force, &logged_run)?;
        // A folder keeps the run as a study of one cell and one run.
        let begin_folder = |out| -> Result<(Study, StudyProvenance, ResultFolder), Error> {
            let study = setup.study(cell.clone(), format!("How fast is {}?", setup.title()), 1)?;
            let text = study.to_text();
            // The run of a study would have a seed of its own, drawn from the study's; here the seed is given.
            let sample = RunSample { seeds: vec![seed], sampling: None };
            let made =
                StudyProvenance::new(sha256(text.as_bytes()), from_ref(&cell), cells, inputs.texts_read(), sample);
            let folder = ResultFolder::begin(&setup.files, out, &text, &made, options.force)?;
            Ok((study, made, folder))
        };
        let kept = options.out.map(begin_folder).transpose()?;
        let iologs = Iologs::create(&prepared.logs, options.force)?;
        let listener = iologs.request_listener();
        let mut progress = RunProgress::begin_reports(&prepared, draws, observer);
        let is_cancelled = || observer.is_cancelled();
        let cutoff = RunCutoff::when_cancelled(&is_cancelled);
        let measured_run =
            measure_run_until(cutoff, &prepared.target, &prepared.job, seed, listener.as_ref(), |record| {
                progress.count_request(record);
                on_request(record);
                log.log_request(record);
            })?;
        drop(listener);
        log.check_written()?;
        // A run without a result does not replace a log that is there.
        require_figures(&measured_run, &prepared.job)?;
        log.finish()?;
        iologs.finish()?;
        let mut record = cell_record(&prepared, &measured_run, seed);
        if draws > 0 {
            let run_ended = || progress.count_run();
            let drawn = run_on_draws((&cell, &inputs), &prepared, (seed, threads), observer, &run_ended)?;
            record.add_bands(&drawn);
        }
        let page = kept.map(|(study, made, mut folder)| {
            folder.append(&record)?;
            write_report(&study, &made, from_ref(&record), folder.folder())
        });
        let page = page.transpose()?;
        (record.target, record.job) = (target_name.to_owned(), job_name.to_owned());
        Ok(RunResult { record, prepared, measured: measured_run, page })
    }
}

/// An error if a run has no figures: no read or write was counted, and no operation of a scene.
fn require_figures(measured: &MeasuredRun, job: &Work) -> Result<(), Error> {
    let RunFigures { issued, failures, troubles, .. } = &measured.figures;
    if measured.run.reads_and_writes().tally.ios() > 0
        || measured.issuer.operations.values().any(|operation| operation.count > 0)
    {
        return Ok(());
    }
    let trouble: String = troubles.iter().map(|trouble| format!("; {trouble}")).collect();
    Err(Error::new(match (*issued, *failures) {
        (0, _) if matches!(job, Work::Scene(_)) => format!(
            "the scene's programs asked the drive for nothing, so there is nothing to say{trouble}; expected files that \
             they find: `files` of a volume (volume.NAME.files), or of a program that brings its own"
        ),
        (0, _) => format!("the job issued no requests, so there is no result{trouble}"),
        (issued, failures) if failures >= issued => format!("all {issued} requests failed{trouble}"),
        (issued, failures) => format!(
            "no request was counted: {issued} were issued, {failures} failed, and none that was done is a read or write \
             after the ramp; expected a longer run time, or a shorter ramp{trouble}"
        ),
    }))
}

/// Requests between two reports of progress.
const REQUESTS_PER_REPORT: u64 = 1 << 14;

/// Reports the progress of a run, then of its runs on draws: in seconds of its place's time if the end is known, else in
/// requests.
struct RunProgress<'a> {
    observer: &'a dyn Observer,
    by_time: bool,
    count: u64,
    /// The steps of a run, if they are known.
    run_steps: Option<u64>,
    /// Runs on draws that have ended.
    ended_draws: AtomicU64,
}

impl<'a> RunProgress<'a> {
    fn begin_reports(prepared: &PreparedCell, draws: usize, observer: &'a dyn Observer) -> RunProgress<'a> {
        let JobExtent { seconds, requests } = job_extent(&prepared.job);
        let unit = if prepared.target.is_measured() { "seconds" } else { "virtual seconds" };
        let (run_steps, unit) = match seconds {
            Some(seconds) => (Some(seconds.ceil() as u64), unit),
            None => (requests, "requests"),
        };
        observer.begin_work(run_steps.map(|steps| steps.saturating_mul(1 + draws as u64)), 0, unit);
        RunProgress { observer, by_time: seconds.is_some(), count: 0, run_steps, ended_draws: AtomicU64::new(0) }
    }

    fn count_request(&mut self, record: &Record) {
        self.count += 1;
        if self.count.is_multiple_of(REQUESTS_PER_REPORT) {
            let seconds = record.completion.finished.nanos() / 1_000_000_000;
            self.observer.report_done(if self.by_time { seconds } else { self.count });
        }
    }

    /// Counts a run on a draw, after the run itself.
    fn count_run(&self) {
        let ended = 1 + self.ended_draws.fetch_add(1, Ordering::Relaxed);
        if let Some(steps) = self.run_steps {
            self.observer.report_done(steps.saturating_mul(1 + ended));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Mutex;

    use super::*;

    /// Keeps the extent of a run, and how far it said that it was.
    #[derive(Default)]
    struct ProgressReports {
        begun: Mutex<Vec<(Option<u64>, &'static str)>>,
        at: Mutex<Vec<u64>>,
    }

    impl Observer for ProgressReports {
        fn begin_work(&self, total: Option<u64>, _: u64, unit: &'static str) {
            self.begun.lock().unwrap().push((total, unit));
        }
        fn report_done(&self, done: u64) {
            self.at.lock().unwrap().push(done);
        }
    }

    #[test]
    fn progress_is_reported_by_requests_or_by_the_time_of_the_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j.fio");
        let reported = |end: &str| {
            let job = format!("[j]\nioengine=libaio\ndirect=1\nrw=read\nbs=4k\nsize=1g\n{end}\n");
            fs::write(&path, job).unwrap();
            let reports = ProgressReports::default();
            let result = run(&Setup::new(path.to_string_lossy(), "barracuda-7200.7-ncq"), &reports).unwrap();
            let ProgressReports { begun, at } = reports;
            (begun.into_inner().unwrap(), at.into_inner().unwrap(), result.record.all.ios)
        };
        let by_requests = reported("number_ios=40000");
        assert_eq!(
            by_requests,
            (vec![(Some(40_000), "requests")], vec![REQUESTS_PER_REPORT, 2 * REQUESTS_PER_REPORT], 40_000)
        );
        let (begun, at, ios) = reported("time_based\nruntime=20");
        assert_eq!((begun, at.len() as u64), (vec![(Some(20), "virtual seconds")], ios / REQUESTS_PER_REPORT));
        assert!(at.len() > 1 && at.is_sorted() && at.iter().all(|second| *second <= 20), "{at:?}");
    }
}
