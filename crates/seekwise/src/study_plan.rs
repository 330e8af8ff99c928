//! Plans a study and opens its results: from today's files, or from what a result folder keeps. No folder is touched
//! for a plan that its bounds refuse.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use seekwise_drives::diagnostic::Diagnostic;
use seekwise_formats::study::{Sampling, Study, locate_fault, parse};
use seekwise_lab::digest::sha256;
use seekwise_lab::inputs::{Inputs, first_differences};
use seekwise_lab::plan::{Cell, PreparedCell};
use seekwise_lab::provenance::{ProgramVersion, RunSample, StudyProvenance};
use seekwise_lab::rounds;
use seekwise_lab::rounds::pilot::PilotWatch;
use seekwise_lab::run::RunRecord;
use seekwise_lab::study::is_measured;

use crate::bounds::{Bounds, RunPlan};
use crate::error::Error;
use crate::lock::WriteLock;
use crate::observer::{Observer, PILOT_RUNS};
use crate::reading::Files;
use crate::results::{self, ResultFolder, StudyManifest};
use crate::shell::quote_for_shell;

/// Cells of a study, and the drives and scenes that were read for them.
pub use seekwise_lab::inputs::InputCache;
pub use seekwise_lab::plan::{prepare_cell, study_cells};

/// A study and its cells, prepared to run.
pub struct PlannedStudy {
    pub study: Study,
    /// The cells, prepared.
    pub prepared: Vec<PreparedCell>,
    /// The origin of its results.
    pub made: StudyProvenance,
    /// The drives and scenes that were read for its cells; plans of other cells of the study share them.
    pub cache: Arc<InputCache>,
}

impl PlannedStudy {
    /// Prepares these cells of a study for a sample of runs; an error if any cannot be run or judged.
    fn new(
        name: &str,
        study: Study,
        study_sha256: String,
        cells: &[Cell],
        inputs: &Inputs<'_>,
        sample: RunSample,
    ) -> Result<PlannedStudy, Vec<Diagnostic>> {
        let prepared = cells.iter().map(|cell| prepare_cell(name, cell, inputs)).collect::<Result<Vec<_>, _>>()?;
        seekwise_lab::study::check_study(name, &study, &prepared)?;
        let made = StudyProvenance::new(study_sha256, cells, &prepared, inputs.texts_read(), sample);
        Ok(PlannedStudy { study, prepared, made, cache: Arc::clone(inputs.cache()) })
    }

    /// Inputs for a plan of other cells of the study.
    pub fn inputs(&self, files: &Files) -> Inputs<'static> {
        files.inputs().with_cache(Arc::clone(&self.cache))
    }

    /// The number of runs of all cells; `None` if the study is sampled until it is decided.
    pub fn run_count(&self) -> Option<u64> {
        let PlannedStudy { study, made, .. } = self;
        made.sampling.is_none().then(|| made.cells.len() as u64 * u64::from(study.runs))
    }

    /// Describes the runs that the study is about to make, for [`Bounds`]: on so many cores (0: all). `until_decided`
    /// says that it is about to be planned so.
    pub fn to_run_plan(&self, threads: usize, until_decided: bool) -> RunPlan<'_> {
        let PlannedStudy { study, prepared: cells, made, .. } = self;
        let (runs_per_cell, cuts_per_run) = (u64::from(study.runs), study.cuts.unwrap_or(0));
        // Judging cuts runs the job twice more, and each orderly power-off runs it once.
        let passes_per_run = 1 + if cuts_per_run > 0 { 2 } else { 0 } + u64::from(study.shutdowns.unwrap_or(0));
        let until_decided = until_decided || made.sampling.is_some();
        RunPlan { cells, runs_per_cell, cuts_per_run, passes_per_run, threads, seed: study.seed, until_decided }
    }

    /// Drops the prepared cells; keeps what the answers are computed from.
    pub fn into_study_and_origin(self) -> (Study, StudyProvenance) {
        (self.study, self.made)
    }
}

/// Where the results of a study go, and the bounds on making them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StudyOptions<'a> {
    /// The result folder.
    pub folder: &'a Path,
    /// Goes on from what the folder holds.
    pub resume: bool,
    /// Replaces what the folder holds.
    pub force: bool,
    /// The limits of what the runs take of the machine.
    pub bounds: Bounds,
    /// Cores; 0: all.
    pub threads: usize,
    /// How many runs are made, and how long ones. `None`: as the study or the folder says; if neither does, short ones
    /// until verdicts stand, where runs may be shorter.
    pub sampling: Option<Sampling>,
    /// Where the study, and what it is made from, is read.
    pub files: Files,
}

impl<'a> StudyOptions<'a> {
    /// Results into this folder, on all cores, within a quarter of the machine's memory.
    pub fn into(folder: &'a Path) -> StudyOptions<'a> {
        let (bounds, files) = (Bounds::new(None), Files::default());
        StudyOptions { folder, resume: false, force: false, bounds, threads: 0, sampling: None, files }
    }
}

/// A plan and the result folder that is open for it.
pub struct StudySession {
    pub planned: PlannedStudy,
    pub results: ResultFolder,
    /// The records that the results hold already.
    pub done: Vec<RunRecord>,
    /// Cores on which the plan keeps within its bounds; 0: all.
    pub threads: usize,
}

/// A session that waits for its turn: its folder is read and its cells are prepared again then. All parts of a review
/// are opened before the first run, and all their cells together are more than a modest machine should hold.
pub struct WaitingSession {
    /// SHA-256 of the origin of its results, by which a change meanwhile is noticed.
    pub made_sha256: String,
    /// The number of runs; `None` if they end when it is decided.
    pub runs: Option<u64>,
    /// The plan, if runs are measured: their targets stay open.
    measured_plan: Option<PlannedStudy>,
    results: ResultFolder,
    /// How many records its results hold already.
    pub done: usize,
    threads: usize,
}

impl StudySession {
    /// Drops what can be prepared again.
    pub fn into_waiting(self) -> WaitingSession {
        let StudySession { planned, results, done, threads } = self;
        let (made_sha256, runs) = (planned.made.hash(), planned.run_count());
        let measured_plan = Some(planned).filter(|planned| is_measured(&planned.prepared));
        WaitingSession { made_sha256, runs, measured_plan, results, done: done.len(), threads }
    }
}

impl WaitingSession {
    /// Prepares the plan again when its turn has come; an error if its folder was changed meanwhile.
    pub(crate) fn prepare_again(self, files: &Files) -> Result<StudySession, Error> {
        let WaitingSession { made_sha256, measured_plan, results, done, threads, .. } = self;
        let folder = results.folder();
        let manifest = results::read_study_manifest(files, folder)?;
        if manifest.made.hash() != made_sha256 {
            return Err(Error::new(format!("{}: what makes its results was changed meanwhile", folder.display())));
        }
        let done = if done > 0 { results::read_records(files, folder, &manifest)? } else { Vec::new() };
        let planned = match measured_plan {
            Some(planned) => planned,
            None => plan_kept(files, folder, &manifest)?,
        };
        Ok(StudySession { planned, results, done, threads })
    }

    /// The number of cells that are prepared.
    #[cfg(test)]
    pub fn prepared(&self) -> usize {
        self.measured_plan.as_ref().map_or(0, |planned| planned.prepared.len())
    }
}

impl StudyOptions<'_> {
    /// Opens results for the study with this text. With `resume`, to go on from what the folder holds, which must be
    /// made of equal inputs; else for the plan that `plan` makes.
    pub fn open(
        &self,
        name: &str,
        text: &str,
        plan: impl FnOnce() -> Result<PlannedStudy, Error>,
        observer: &dyn Observer,
    ) -> Result<StudySession, Error> {
        let (folder, files) = (self.folder, &self.files);
        let lock = results::lock_existing_folder(folder)?;
        if !(self.resume && results::holds_records(folder)) {
            results::check_study_destination(files, folder, text, self.force)?;
            let planned = plan()?;
            let given = self.sampling.or(planned.study.sampling);
            let sampling = given.unwrap_or_else(|| {
                match rounds::may_shorten_runs(&planned.study, &planned.made, &planned.prepared) {
                    true => Sampling::UntilDecided,
                    false => Sampling::Fixed,
                }
            });
            return self.begin_results(lock, text, planned, Some(sampling), observer);
        }
        let manifest = results::read_study_manifest(files, folder)?;
        let cannot_continue = |why: &str, lines: &str| {
            let head = format!("{}: cannot continue: {why}; use another --out", folder.display());
            Err(Error::new(format!("{head}\n{lines}")))
        };
        if manifest.study != text {
            return cannot_continue(
                "it holds results of another study",
                &first_differences(name, &manifest.study, text),
            );
        }
        self.check_sampling(&manifest)?;
        let changes = manifest.made.inputs.find_changes(&|path| files.text(path));
        if !changes.differ.is_empty() {
            return cannot_continue("what made its results has changed since", &changes.differ.join("\n"));
        }
        for gone in changes.gone {
            log::info!("{gone}; continuing with the text kept in {}", folder.display());
        }
        self.resume_study(lock, manifest)
    }

    /// Opens results for the study that another result folder keeps; or, with `resume`, goes on in that folder, which
    /// must be the one of these options.
    pub(crate) fn open_from_folder(&self, source: &Path, observer: &dyn Observer) -> Result<StudySession, Error> {
        let lock = results::lock_existing_folder(self.folder)?;
        let manifest = results::read_study_manifest(&self.files, source)?;
        if self.resume && is_same_folder(source, self.folder) {
            self.check_sampling(&manifest)?;
            return self.resume_study(lock, manifest);
        }
        if self.resume && results::holds_records(self.folder) {
            return Err(Error::new("--resume with a result folder continues in that folder; --out must name it too"));
        }
        if !self.force && results::holds_records(self.folder) && !is_same_folder(source, self.folder) {
            return Err(Error::new(format!(
                "{}: already holds results; --force overwrites them, another --out keeps them; `seekwise study {} --resume` \
                 continues {} instead",
                self.folder.display(),
                quote_for_shell(&source.to_string_lossy()),
                source.display()
            )));
        }
        results::check_study_destination(&self.files, self.folder, &manifest.study, self.force)?;
        let (before, planned) = (&manifest.made, plan_kept(&self.files, source, &manifest)?);
        let cell_hashes = |made: &StudyProvenance| made.cells.iter().map(|cell| cell.hash.clone()).collect::<Vec<_>>();
        if before.program != planned.made.program {
            let difference =
                if cell_hashes(before) == cell_hashes(&planned.made) { "" } else { ", which sets its cells otherwise" };
            log::warn!("made by {}; this is {}{difference}", before.program, planned.made.program);
        }
        if self.sampling == Some(Sampling::Fixed) && planned.made.sampling.is_some() {
            return Err(Error::new(format!(
                "--fixed: {} keeps the lengths of runs that were sampled until decided; expected the study file itself",
                source.display()
            )));
        }
        self.begin_results(lock, &manifest.study, planned, self.sampling, observer)
    }

    /// Begins the results of a plan, whose study has this text. Its sampling is `sampling` or, if that is `None`, the
    /// planned one.
    fn begin_results(
        &self,
        lock: Option<WriteLock>,
        text: &str,
        planned: PlannedStudy,
        sampling: Option<Sampling>,
        observer: &dyn Observer,
    ) -> Result<StudySession, Error> {
        let &StudyOptions { folder, force, ref files, .. } = self;
        let (planned, threads) = plan_within_bounds(files, planned, sampling, &self.bounds, self.threads, observer)?;
        let made = &planned.made;
        let results = match lock {
            Some(lock) => ResultFolder::begin_locked(files, lock, folder, text, made, force)?,
            None => ResultFolder::begin(files, folder, text, made, force)?,
        };
        Ok(StudySession { planned, results, done: Vec::new(), threads })
    }

    /// An error if the command asks for another sampling than the folder keeps.
    fn check_sampling(&self, manifest: &StudyManifest) -> Result<(), Error> {
        let (kept_sampling, words) = match manifest.made.sampling {
            Some(_) => (Sampling::UntilDecided, "is sampled until decided"),
            None => (Sampling::Fixed, "is a fixed sample"),
        };
        match self.sampling {
            Some(asked) if asked != kept_sampling => {
                Err(Error::new(format!("{}: cannot continue: it {words}; use another --out", self.folder.display())))
            }
            _ => Ok(()),
        }
    }

    /// Goes on with the results that the folder holds.
    fn resume_study(&self, lock: Option<WriteLock>, manifest: StudyManifest) -> Result<StudySession, Error> {
        let folder = self.folder;
        let lock = lock.ok_or_else(|| Error::new(format!("{}: is no folder any more", folder.display())))?;
        let made = &manifest.made;
        if made.program != ProgramVersion::current() {
            let (before, current) = (&made.program, ProgramVersion::current());
            let why = format!("its results were made by {before}, and this is {current}");
            return Err(Error::new(format!("{}: cannot continue: {why}; use another --out", folder.display())));
        }
        let planned = plan_kept(&self.files, folder, &manifest)?;
        if planned.made != *made {
            return Err(Error::new(format!("{}: its made-from.json does not match its other files", folder.display())));
        }
        let threads = self.bounds.threads_within_memory(&planned.to_run_plan(self.threads, false))?;
        let (results, done) = ResultFolder::resume(&self.files, lock, folder, &manifest)?;
        Ok(StudySession { planned, results, done, threads })
    }
}

/// Checks that a plan keeps within its bounds; then plans its sampling, which is `sampling` or, if that is `None`, the
/// planned one. Returns the plan, and the number of cores on which it keeps within the bounds (0: all).
pub(crate) fn plan_within_bounds(
    files: &Files,
    planned: PlannedStudy,
    sampling: Option<Sampling>,
    bounds: &Bounds,
    threads: usize,
    observer: &dyn Observer,
) -> Result<(PlannedStudy, usize), Error> {
    let until_decided = sampling == Some(Sampling::UntilDecided);
    let threads = bounds.threads_within_memory(&planned.to_run_plan(threads, until_decided))?;
    let planned = match until_decided && planned.made.sampling.is_none() {
        true => plan_sampled(files, planned, threads, observer)?,
        false => planned,
    };
    Ok((planned, threads))
}

fn is_same_folder(first: &Path, second: &Path) -> bool {
    first == second
        || first.canonicalize().ok().zip(second.canonicalize().ok()).is_some_and(|(first, second)| first == second)
}

/// Prepares the study that `folder` keeps, from the texts that it keeps.
fn plan_kept(files: &Files, folder: &Path, manifest: &StudyManifest) -> Result<PlannedStudy, Error> {
    let name = folder.join("study.toml").display().to_string();
    let study = parse(&name, &manifest.study)?;
    let StudyProvenance { study_sha256, seeds, sampling, inputs, cells, .. } = manifest.made.clone();
    let cells: Vec<Cell> = cells.into_iter().map(|made| made.cell).collect();
    let sample = RunSample { seeds, sampling };
    Ok(PlannedStudy::new(&name, study, study_sha256, &cells, &files.kept_inputs(inputs), sample)?)
}

/// Parses the text of a study's file and prepares its cells, from files as they are now. Faults name lines of the file.
pub fn plan_file(files: &Files, name: &str, text: &str) -> Result<PlannedStudy, Error> {
    let prepare = |study: Study| {
        let cells = study_cells(&study);
        prepare_study(name, text, study, &cells, &files.inputs())
    };
    let with_line = |fault| locate_fault(name, text, fault);
    parse(name, text).and_then(prepare).map_err(|faults| faults.into_iter().map(with_line).collect::<Vec<_>>().into())
}

/// Prepares a study that was built; `name` stands for its file in errors.
pub fn plan_built(files: &Files, name: &str, study: Study) -> Result<PlannedStudy, Vec<Diagnostic>> {
    study.check(name)?;
    let (text, cells) = (study.to_text(), study_cells(&study));
    prepare_study(name, &text, study, &cells, &files.inputs())
}

/// Prepares these cells of a study with this text, for as many runs as the study says; an error if any cannot be run or
/// judged.
pub fn prepare_study(
    name: &str,
    text: &str,
    study: Study,
    cells: &[Cell],
    inputs: &Inputs<'_>,
) -> Result<PlannedStudy, Vec<Diagnostic>> {
    let sample = RunSample::new(&study, None);
    PlannedStudy::new(name, study, sha256(text.as_bytes()), cells, inputs, sample)
}

/// Plans to sample a study until it is decided: runs get the lengths that pilot runs suggest. The pilots run now, on so
/// many cores (0: all). An error for runs in real time.
fn plan_sampled(
    files: &Files,
    planned: PlannedStudy,
    threads: usize,
    observer: &dyn Observer,
) -> Result<PlannedStudy, Error> {
    let PlannedStudy { study, prepared, made, cache } = planned;
    if is_measured(&prepared) {
        return Err(Error::new(
            "runs in real time cannot be sampled until decided: a device would be worn by pilots, and begin each short run cold; \
             expected a modelled disk, or --fixed",
        ));
    }
    let ended_pilots = AtomicU64::new(0);
    let watch = PilotWatch {
        begun: &|total| observer.begin_work(Some(total), ended_pilots.load(Ordering::Relaxed), PILOT_RUNS),
        ended: &|| observer.report_done(1 + ended_pilots.fetch_add(1, Ordering::Relaxed)),
        cancelled: &|| observer.is_cancelled(),
    };
    let plan = rounds::plan_sampling(&study, &made, &prepared, threads, &watch)?;
    let inputs = files.kept_inputs(made.inputs.clone()).with_cache(cache);
    let cells = plan.cells_with_lengths(made.cells.iter().map(|made| &made.cell));
    let sample = RunSample::new(&study, Some(plan));
    Ok(PlannedStudy::new("study.toml", study, made.study_sha256, &cells, &inputs, sample)?)
}
