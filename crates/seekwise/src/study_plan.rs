//! A study with its plan, and results opened for it: planned from today's files, or from what a result folder keeps.
//! No folder is touched for a plan that its bounds refuse.

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
use crate::shell::quoted;

/// Cells of a study, and the drives and scenes that were read for them.
pub use seekwise_lab::inputs::InputCache;
pub use seekwise_lab::plan::{prepare_cell, study_cells};

/// A study with its plan.
pub struct PlannedStudy {
    pub study: Study,
    /// The cells, prepared.
    pub prepared: Vec<PreparedCell>,
    /// The origin of its results.
    pub made: StudyProvenance,
    /// The drives and scenes of its cells, which plans of other cells of the study share.
    pub cache: Arc<InputCache>,
}

impl PlannedStudy {
    /// Prepares these cells of a study for a sample of runs; reports what cannot be run or judged.
    fn new(
        name: &str,
        (study_sha256, study): (String, Study),
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

    /// The number of runs; `None` if they end when it is decided.
    pub fn runs(&self) -> Option<u64> {
        let PlannedStudy { study, made, .. } = self;
        made.sampling.is_none().then(|| made.cells.len() as u64 * u64::from(study.runs))
    }

    /// The runs that it is about to make, on so many cores (0: all); `until_decided` if it is yet to be planned so.
    pub fn run_plan(&self, threads: usize, until_decided: bool) -> RunPlan<'_> {
        let PlannedStudy { study, prepared: cells, made, .. } = self;
        let (runs, cuts, seed) = (u64::from(study.runs), study.cuts.unwrap_or(0), study.seed);
        // Cuts run a job twice more, each orderly power-off once.
        let times = 1 + if cuts > 0 { 2 } else { 0 } + u64::from(study.shutdowns.unwrap_or(0));
        let until_decided = until_decided || made.sampling.is_some();
        RunPlan { cells, runs, cuts, times, threads, seed, until_decided }
    }

    /// Drops the prepared cells; keeps what is told from its records.
    pub fn ran(self) -> (Study, StudyProvenance) {
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
    /// How many runs, and how long ones; `None`: as the study or the folder says, and short ones until verdicts stand if
    /// neither does and runs may be shorter.
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

/// A plan with results opened for it.
pub struct StudySession {
    /// The plan.
    pub planned: PlannedStudy,
    pub results: ResultFolder,
    /// The runs that the results hold already.
    pub done: Vec<RunRecord>,
    /// Cores on which it keeps within its bounds; 0: all.
    pub threads: usize,
}

/// A plan with results opened for it that waits for its turn: its folder is read and its cells are prepared again then. All parts
/// of a review are opened before the first run, and all their cells together are more than a modest machine should hold.
pub struct WaitingSession {
    /// SHA-256 of the origin of its results.
    pub made_sha256: String,
    /// The number of runs; `None` if they end when it is decided.
    pub runs: Option<u64>,
    /// The plan, if runs are measured: prepared cells hold their targets open.
    measured: Option<PlannedStudy>,
    results: ResultFolder,
    /// How many runs its results hold already.
    pub done: usize,
    threads: usize,
}

impl StudySession {
    /// Drops what can be prepared again.
    pub fn wait(self) -> WaitingSession {
        let StudySession { planned, results, done, threads } = self;
        let (made_sha256, runs) = (planned.made.hash(), planned.runs());
        let measured = Some(planned).filter(|planned| is_measured(&planned.prepared));
        WaitingSession { made_sha256, runs, measured, results, done: done.len(), threads }
    }
}

impl WaitingSession {
    /// Prepares the plan again, as its turn has come.
    pub(crate) fn take_turn(self, files: &Files) -> Result<StudySession, Error> {
        let WaitingSession { made_sha256, measured, results, done, threads, .. } = self;
        let folder = results.folder();
        let kept = results::kept(files, folder)?;
        if kept.made.hash() != made_sha256 {
            return Err(Error::new(format!("{}: what makes its results was changed meanwhile", folder.display())));
        }
        let done = if done > 0 { results::records(files, folder, &kept)? } else { Vec::new() };
        let planned = match measured {
            Some(planned) => planned,
            None => plan_kept(files, folder, &kept)?,
        };
        Ok(StudySession { planned, results, done, threads })
    }

    /// The number of cells that are prepared.
    #[cfg(test)]
    pub fn prepared(&self) -> usize {
        self.measured.as_ref().map_or(0, |planned| planned.prepared.len())
    }
}

impl StudyOptions<'_> {
    /// Opens results for the study `text`: with `resume`, to go on from what the folder holds, which must be of equal
    /// inputs; else for the plan that `plan` makes.
    pub fn open(
        &self,
        name: &str,
        text: &str,
        plan: impl FnOnce() -> Result<PlannedStudy, Error>,
        observer: &dyn Observer,
    ) -> Result<StudySession, Error> {
        let (folder, files) = (self.folder, &self.files);
        let lock = results::lock(folder)?;
        if !(self.resume && results::holds(folder)) {
            results::admit(files, folder, text, self.force)?;
            let planned = plan()?;
            let said = self.sampling.or(planned.study.sampling);
            let wanted = said.unwrap_or_else(|| {
                match rounds::may_shorten_runs(&planned.study, &planned.made, &planned.prepared) {
                    true => Sampling::UntilDecided,
                    false => Sampling::Fixed,
                }
            });
            return self.begin_results(lock, text, planned, Some(wanted), observer);
        }
        let kept = results::kept(files, folder)?;
        let changed = |what: &str, lines: &str| {
            let head = format!("{}: cannot continue: {what}; use another --out", folder.display());
            Err(Error::new(format!("{head}\n{lines}")))
        };
        if kept.study != text {
            return changed("it holds results of another study", &first_differences(name, &kept.study, text));
        }
        self.check_sampling(&kept)?;
        let changes = kept.made.inputs.find_changes(&|path| files.text(path));
        if !changes.differ.is_empty() {
            return changed("what made its results has changed since", &changes.differ.join("\n"));
        }
        for gone in changes.gone {
            log::info!("{gone}; continuing with the text kept in {}", folder.display());
        }
        self.go_on(lock, kept)
    }

    /// Opens results for the study that the folder `of` keeps: anew in another folder, or to go on in the folder itself.
    pub(crate) fn of_folder(&self, of: &Path, observer: &dyn Observer) -> Result<StudySession, Error> {
        let lock = results::lock(self.folder)?;
        let kept = results::kept(&self.files, of)?;
        if self.resume && same_place(of, self.folder) {
            self.check_sampling(&kept)?;
            return self.go_on(lock, kept);
        }
        if self.resume && results::holds(self.folder) {
            return Err(Error::new("--resume with a result folder continues in that folder; --out must name it too"));
        }
        if !self.force && results::holds(self.folder) && !same_place(of, self.folder) {
            return Err(Error::new(format!(
                "{}: already holds results; --force overwrites them, another --out keeps them; `seekwise study {} --resume` \
                 continues {} instead",
                self.folder.display(),
                quoted(&of.to_string_lossy()),
                of.display()
            )));
        }
        results::admit(&self.files, self.folder, &kept.study, self.force)?;
        let (before, planned) = (&kept.made, plan_kept(&self.files, of, &kept)?);
        let hashes = |made: &StudyProvenance| made.cells.iter().map(|cell| cell.hash.clone()).collect::<Vec<_>>();
        if before.program != planned.made.program {
            let than = if hashes(before) == hashes(&planned.made) { "" } else { ", which sets its cells otherwise" };
            log::warn!("made by {}; this is {}{than}", before.program, planned.made.program);
        }
        if self.sampling == Some(Sampling::Fixed) && planned.made.sampling.is_some() {
            return Err(Error::new(format!(
                "--fixed: {} keeps the lengths of runs that were sampled until decided; expected the study file itself",
                of.display()
            )));
        }
        self.begin_results(lock, &kept.study, planned, self.sampling, observer)
    }

    /// Begins the results of a plan, whose study has this text, sampled as `wanted` or, without that, as planned.
    fn begin_results(
        &self,
        lock: Option<WriteLock>,
        text: &str,
        planned: PlannedStudy,
        wanted: Option<Sampling>,
        observer: &dyn Observer,
    ) -> Result<StudySession, Error> {
        let &StudyOptions { folder, force, ref files, .. } = self;
        let (planned, threads) = admit_plan(files, planned, wanted, &self.bounds, self.threads, observer)?;
        let made = &planned.made;
        let results = match lock {
            Some(lock) => ResultFolder::begin_locked(files, lock, folder, text, made, force)?,
            None => ResultFolder::begin(files, folder, text, made, force)?,
        };
        Ok(StudySession { planned, results, done: Vec::new(), threads })
    }

    /// An error if the command asks for another sampling than the folder keeps.
    fn check_sampling(&self, kept: &StudyManifest) -> Result<(), Error> {
        let (has, says) = match kept.made.sampling {
            Some(_) => (Sampling::UntilDecided, "is sampled until decided"),
            None => (Sampling::Fixed, "is a fixed sample"),
        };
        match self.sampling {
            Some(asked) if asked != has => {
                Err(Error::new(format!("{}: cannot continue: it {says}; use another --out", self.folder.display())))
            }
            _ => Ok(()),
        }
    }

    /// Goes on with the results that the folder holds.
    fn go_on(&self, lock: Option<WriteLock>, kept: StudyManifest) -> Result<StudySession, Error> {
        let folder = self.folder;
        let lock = lock.ok_or_else(|| Error::new(format!("{}: is no folder any more", folder.display())))?;
        let made = &kept.made;
        if made.program != ProgramVersion::current() {
            let (before, this) = (&made.program, ProgramVersion::current());
            let why = format!("its results were made by {before}, and this is {this}");
            return Err(Error::new(format!("{}: cannot continue: {why}; use another --out", folder.display())));
        }
        let planned = plan_kept(&self.files, folder, &kept)?;
        if planned.made != *made {
            return Err(Error::new(format!("{}: its made-from.json does not match its other files", folder.display())));
        }
        let threads = self.bounds.admit(&planned.run_plan(self.threads, false))?;
        let (results, done) = ResultFolder::go_on(&self.files, lock, folder, &kept)?;
        Ok(StudySession { planned, results, done, threads })
    }
}

/// Checks that a plan keeps within its bounds; then plans to sample it as `wanted` or, without that, as planned. Returns the plan and
/// the number of cores on which it keeps within the bounds.
pub(crate) fn admit_plan(
    files: &Files,
    planned: PlannedStudy,
    wanted: Option<Sampling>,
    bounds: &Bounds,
    threads: usize,
    observer: &dyn Observer,
) -> Result<(PlannedStudy, usize), Error> {
    let until_decided = wanted == Some(Sampling::UntilDecided);
    let threads = bounds.admit(&planned.run_plan(threads, until_decided))?;
    let planned = match until_decided && planned.made.sampling.is_none() {
        true => plan_sampled(files, planned, threads, observer)?,
        false => planned,
    };
    Ok((planned, threads))
}

fn same_place(a: &Path, b: &Path) -> bool {
    a == b || a.canonicalize().ok().zip(b.canonicalize().ok()).is_some_and(|(a, b)| a == b)
}

/// Prepares the study that `folder` keeps, from the texts that it keeps.
fn plan_kept(files: &Files, folder: &Path, kept: &StudyManifest) -> Result<PlannedStudy, Error> {
    let name = folder.join("study.toml").display().to_string();
    let study = parse(&name, &kept.study)?;
    let StudyProvenance { study_sha256, seeds, sampling, inputs, cells, .. } = kept.made.clone();
    let cells: Vec<Cell> = cells.into_iter().map(|made| made.cell).collect();
    let sample = RunSample { seeds, sampling };
    Ok(PlannedStudy::new(&name, (study_sha256, study), &cells, &files.kept_inputs(inputs), sample)?)
}

/// Reads and prepares a study's file as it is now; faults name its lines.
pub fn plan_file(files: &Files, name: &str, text: &str) -> Result<PlannedStudy, Error> {
    let plan = |study: Study| {
        let cells = study_cells(&study);
        prepare(name, (text, study), &cells, &files.inputs())
    };
    let placed = |fault| locate_fault(name, text, fault);
    parse(name, text).and_then(plan).map_err(|faults| faults.into_iter().map(placed).collect::<Vec<_>>().into())
}

/// Prepares a study that was built; `name` stands for its file in errors.
pub fn plan_built(files: &Files, name: &str, study: Study) -> Result<PlannedStudy, Vec<Diagnostic>> {
    study.check(name)?;
    let (text, cells) = (study.to_text(), study_cells(&study));
    prepare(name, (&text, study), &cells, &files.inputs())
}

/// Prepares these cells of a study with this text for as many runs as it says; reports what cannot be run or judged.
pub fn prepare(
    name: &str,
    (text, study): (&str, Study),
    cells: &[Cell],
    inputs: &Inputs<'_>,
) -> Result<PlannedStudy, Vec<Diagnostic>> {
    let sample = RunSample::new(&study, None);
    PlannedStudy::new(name, (sha256(text.as_bytes()), study), cells, inputs, sample)
}

/// Plans to sample a study until it is decided: runs have the lengths that pilot runs suggest, which are made on this many
/// cores (0: all). An error for runs in real time.
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
    let ended = AtomicU64::new(0);
    let watch = PilotWatch {
        begun: &|total| observer.begin(Some(total), ended.load(Ordering::Relaxed), PILOT_RUNS),
        ended: &|| observer.at(1 + ended.fetch_add(1, Ordering::Relaxed)),
        cancelled: &|| observer.is_cancelled(),
    };
    let plan = rounds::plan_sampling(&study, &made, &prepared, threads, &watch)?;
    let inputs = files.kept_inputs(made.inputs.clone()).with_cache(cache);
    let cells = plan.cells_with_lengths(made.cells.iter().map(|made| &made.cell));
    let sample = RunSample::new(&study, Some(plan));
    Ok(PlannedStudy::new("study.toml", (made.study_sha256, study), &cells, &inputs, sample)?)
}
