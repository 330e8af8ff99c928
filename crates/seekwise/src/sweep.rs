//! Sweeps: a study in parts, which run on any machines. Whatever runs a part takes texts and returns the bytes of a
//! file. A part is a batch of cells, kept as Parquet (`part`). The bytes depend on the plan alone, so that a part which
//! is run twice, late or elsewhere is the same part; a build other than the plan's refuses to run it. Nothing here
//! knows machines, job engines or where parts are kept.

mod part;

use std::path::Path;

pub use seekwise_formats::study::{Bundle, Factor, LevelKind};
use seekwise_formats::study::{Sampling, Study, parse};
use seekwise_lab::digest::sha256;
use seekwise_lab::plan::Cell;
use seekwise_lab::provenance::{ProgramVersion, StudyProvenance};
use seekwise_lab::run::RunRecord;
use serde::{Deserialize, Serialize};

use self::part::{PartRun, PartRuns};
use crate::bounds::Bounds;
use crate::error::Error;
use crate::execute::{Progress, make_runs};
use crate::observer::Observer;
use crate::reading::{Files, display_name};
use crate::results::{ResultFolder, parse_record_lines, record_line};
use crate::seal::LineFault;
use crate::setup::Setup;
use crate::store::InMemory;
use crate::study::{StudyResult, compose_page, find_study_text, warn_once};
use crate::study_plan::{self, PlannedStudy};

/// A study with all that its parts are made from, as texts: it travels to other machines as it is.
///
/// ```
/// use seekwise::Setup;
/// use seekwise::sweep::{Factor, SweepPlan};
///
/// let setup = Setup::new("random-read", "barracuda-7200.7-ncq").with_runtime("1 s");
/// let depths = Factor::for_key("job.depth", &["1".to_owned(), "8".to_owned()]);
/// let plan = SweepPlan::of_setup(&setup, &[depths], 1)?;
/// let parts = plan.parts(1);
/// assert_eq!(parts.len(), 2);
/// // On any machine, in any order:
/// let bytes = plan.run(&parts[1], &())?;
/// assert_eq!(plan.records(&parts[1], &bytes)?.len(), 1);
/// # Ok::<(), seekwise::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepPlan {
    /// The study's text, byte for byte as the result folder has it.
    study: String,
    /// The origin of its results: the program, the texts that were read, each cell's settings, the seeds.
    made: StudyProvenance,
    /// SHA-256 of the origin of the results, by which parts are named.
    hash: String,
    /// Where traces are opened, on the machine that the plan is on.
    #[serde(skip)]
    files: Files,
}

/// The title, which names what varies, and the question. A job or a drive that varies is not that of the setup.
fn title_and_question(setup: &Setup, factors: &[Factor]) -> (String, String) {
    let varied: Vec<&Factor> = factors.iter().filter(|factor| factor.level_names().len() > 1).collect();
    let sets = |key: &str| {
        let in_bundle = |factor: &Factor| factor.bundle.iter().any(|bundle| bundle.set.contains_key(key));
        varied.iter().any(|factor| factor.key.as_deref() == Some(key) || in_bundle(factor))
    };
    let job = if sets("job") { "jobs" } else { display_name(&setup.job) };
    let whole = if sets("drive") { job.to_owned() } else { format!("{job} on {}", display_name(&setup.target)) };
    let names: Vec<&str> = varied.iter().map(|factor| factor.name.as_str()).collect();
    let Some((last, others)) = names.split_last() else {
        return (whole.clone(), format!("How fast is {whole}?"));
    };
    let list = if others.is_empty() { (*last).to_owned() } else { format!("{} and {last}", others.join(", ")) };
    (format!("{whole}, by {list}"), format!("How does the speed of {whole} depend on {list}?"))
}

/// Successive cells of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepPart {
    /// The first cell.
    pub first: usize,
    /// The cell after the last.
    pub end: usize,
    /// The name of the part's file: its cells, and a hash of what they are made from.
    pub name: String,
}

impl SweepPlan {
    /// Plans a job on a target, with each combination of levels, and so many runs of each. The key `drive` stands for
    /// the drive.
    pub fn of_setup(setup: &Setup, factors: &[Factor], runs: u32) -> Result<SweepPlan, Error> {
        let (title, question) = title_and_question(setup, factors);
        let mut study = setup.study(setup.cell()?, question, runs)?;
        study.title = title;
        study.factor = factors.to_vec();
        let text = study.to_text();
        SweepPlan::from_planned(&setup.files, text, study_plan::plan_built(&setup.files, "sweep", study)?)
    }

    /// Plans the study of a file, or a built-in one.
    pub fn of_study(files: &Files, name: &str) -> Result<SweepPlan, Error> {
        let (name, text) = find_study_text(files, name)?;
        let planned = study_plan::plan_file(files, &name, &text)?;
        SweepPlan::from_planned(files, text, planned)
    }

    fn from_planned(files: &Files, study: String, planned: PlannedStudy) -> Result<SweepPlan, Error> {
        if planned.made.is_measured() {
            let why =
                "a sweep runs in virtual time alone: measured runs go one after another; expected `seekwise study`";
            return Err(Error::new(why));
        }
        if planned.study.sampling == Some(Sampling::UntilDecided) {
            let why = "a sweep makes all runs of its cells, wherever they run: `sampling = \"until-decided\"` is for `seekwise study`";
            return Err(Error::new(why));
        }
        // The machines that will run the parts are not known here; every part must keep within the bounds of this one.
        Bounds::new(None).threads_within_memory(&planned.to_run_plan(1, false))?;
        let made = planned.made;
        warn_once(&made.warnings);
        let hash = made.hash();
        Ok(SweepPlan { study, made, hash, files: files.clone() })
    }

    /// Reads a plan that another machine sent. A plan of another build is refused: its figures might differ.
    pub fn read(text: &str) -> Result<SweepPlan, Error> {
        let fault = |why: String| Error::new(format!("not a plan of a sweep: {why}"));
        let plan: SweepPlan = serde_json::from_str(text).map_err(|error| fault(error.to_string()))?;
        let (plan_program, program) = (&plan.made.program, ProgramVersion::current());
        if *plan_program != program {
            return Err(Error::new(format!(
                "the plan was made by {plan_program}, and this is {program}; expected the same build"
            )));
        }
        plan.made.check_study(&plan.study).map_err(fault)?;
        match plan.hash == plan.made.hash() {
            true => Ok(plan),
            false => Err(fault("its hash is that of another".to_owned())),
        }
    }

    /// The plan as a text, to be sent to other machines.
    pub fn text(&self) -> String {
        serde_json::to_string(self).expect("a plan has no keys but strings")
    }

    /// SHA-256 of the origin of its results.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The study's text.
    pub fn study(&self) -> &str {
        &self.study
    }

    /// The number of cells.
    pub fn cells(&self) -> usize {
        self.made.cells.len()
    }

    /// Runs of each cell.
    pub fn runs(&self) -> usize {
        self.made.seeds.len()
    }

    /// The plan in parts of so many cells each, in order.
    pub fn parts(&self, cells_per_part: usize) -> Vec<SweepPart> {
        let step = cells_per_part.max(1);
        (0..self.cells()).step_by(step).map(|first| self.make_part(first, (first + step).min(self.cells()))).collect()
    }

    fn make_part(&self, first: usize, end: usize) -> SweepPart {
        let hash = sha256(format!("{} {first} {end}", self.hash).as_bytes());
        SweepPart { first, end, name: format!("part-{first}-{end}-{}.parquet", &hash[..16]) }
    }

    /// Runs a part and returns the bytes of its file.
    pub fn run(&self, part: &SweepPart, observer: &dyn Observer) -> Result<Vec<u8>, Error> {
        if part.first >= part.end || part.end > self.cells() {
            let SweepPart { first, end, .. } = part;
            return Err(Error::new(format!(
                "cells {first} to {end} are no part; expected some of the {} cells",
                self.cells()
            )));
        }
        let study = parse("study.toml", &self.study)?;
        let inputs = self.files.kept_inputs(self.made.inputs.clone());
        let part_cells = &self.made.cells[part.first..part.end];
        let cells: Vec<Cell> = part_cells.iter().map(|cell| cell.cell.clone()).collect();
        let planned = study_plan::prepare_study("study.toml", &self.study, study.clone(), &cells, &inputs)?;
        for (index, (kept, prepared)) in part_cells.iter().zip(&planned.prepared).enumerate() {
            if prepared.hash != kept.hash {
                let cell = part.first + index;
                return Err(Error::new(format!("cell {cell} came out as {}, not as {}", prepared.hash, kept.hash)));
            }
        }
        let progress = Progress::begin(observer, Some(self.runs_in_part(part) as u64), 0);
        let mut records = make_runs(&planned, None, 1, &progress, Vec::new(), &mut InMemory)?;
        records.iter_mut().for_each(|record| record.cell += part.first);
        let file = self.encode_part(part, &study, &records);
        file.map_err(|why| Error::new(format!("cells {} to {}: {why}: make smaller parts", part.first, part.end - 1)))
    }

    /// Runs of a part.
    fn runs_in_part(&self, part: &SweepPart) -> usize {
        part.end.saturating_sub(part.first) * self.runs()
    }

    /// The bytes of a part's file with these records; an error if the file would be too large.
    fn encode_part(&self, part: &SweepPart, study: &Study, records: &[RunRecord]) -> Result<Vec<u8>, String> {
        let levels = |record: &RunRecord| &self.made.cells[record.cell].cell.levels[..];
        let run = |record| PartRun { levels: levels(record), record, line: record_line(record) };
        let runs: Vec<_> = records.iter().map(run).collect();
        PartRuns { name: &part.name, factors: &study.factor, runs: &runs }.encode_file()
    }

    /// The most bytes that a part's file may have.
    pub fn max_part_bytes(&self, part: &SweepPart) -> usize {
        part::max_file_bytes(self.runs_in_part(part))
    }

    /// Reads the records of a part's file, and checks each against the plan, its sum and its own figures. An error says
    /// what is wrong with the file: it is torn, changed, or another file, and has to be made again. The file may be
    /// anybody's: whatever it says of itself, it takes no more memory than a part may.
    pub fn records(&self, part: &SweepPart, file: &[u8]) -> Result<Vec<RunRecord>, Error> {
        let fault = |why: String| Error::new(format!("{}: {why}", part.name));
        let lines = part::unpack_lines(file, self.runs_in_part(part)).map_err(fault)?;
        let records =
            parse_record_lines(&self.made, &self.made.fixed_order(), part.first * self.runs(), lines.as_bytes());
        let records = records.map_err(|LineFault { line, why }| fault(format!("run {line}: {why}")))?;
        let expected = self.runs_in_part(part);
        if records.len() != expected {
            return Err(fault(format!("it has {} runs; expected {expected}", records.len())));
        }
        match self.encode_part(part, &parse("study.toml", &self.study)?, &records).map_err(fault)? == file {
            true => Ok(records),
            false => Err(fault("it was changed after it was written, or is another part".to_owned())),
        }
    }

    /// The lines of the runs of these parts, as `results.jsonl` has them, and their records. Each is checked, as by
    /// [`records`](SweepPlan::records).
    pub fn lines_and_records(
        &self,
        parts: &[SweepPart],
        files: &[impl AsRef<[u8]>],
    ) -> Result<(Vec<String>, Vec<RunRecord>), Error> {
        let records = parts.iter().zip(files).map(|(part, file)| self.records(part, file.as_ref()));
        let records: Vec<RunRecord> = records.collect::<Result<Vec<_>, _>>()?.concat();
        Ok((records.iter().map(record_line).collect(), records))
    }

    /// Makes a result folder of the files of all parts, in order; the folder's bytes are those that `seekwise study`
    /// writes.
    pub fn finish(
        &self,
        folder: &Path,
        parts: &[SweepPart],
        files: &[impl AsRef<[u8]>],
        force: bool,
    ) -> Result<StudyResult, Error> {
        let complete = parts.first().is_some_and(|part| part.first == 0)
            && parts.windows(2).all(|two| two[0].end == two[1].first)
            && parts.last().is_some_and(|part| part.end == self.cells());
        if !complete || parts.len() != files.len() {
            return Err(Error::new("the parts are not those of the whole plan, in its order"));
        }
        let mut results = ResultFolder::begin(&self.files, folder, &self.study, &self.made, force)?;
        self.read_parts(folder, parts, files, |record| Ok(results.append(record)?))?.require_requests()
    }

    /// The results of the files of some parts, or of all, in the plan's order. Only the page is written to `folder`: a
    /// result folder keeps a beginning of the plan's runs, and parts end in any order.
    pub fn write_page_so_far(
        &self,
        folder: &Path,
        parts: &[SweepPart],
        files: &[impl AsRef<[u8]>],
    ) -> Result<StudyResult, Error> {
        self.read_parts(folder, parts, files, |_| Ok(()))
    }

    /// Reads the records of these parts, calls `on_record` for each, and writes their page into `folder`.
    fn read_parts(
        &self,
        folder: &Path,
        parts: &[SweepPart],
        files: &[impl AsRef<[u8]>],
        mut on_record: impl FnMut(&RunRecord) -> Result<(), Error>,
    ) -> Result<StudyResult, Error> {
        let study = parse("study.toml", &self.study)?;
        let mut records = Vec::with_capacity(self.cells() * self.runs());
        for (part, file) in parts.iter().zip(files) {
            for record in self.records(part, file.as_ref())? {
                on_record(&record)?;
                records.push(record);
            }
        }
        let (page, report) = compose_page(&study, &self.made, &records, folder)?;
        let (page, shows_arm) = (Some(page), report.shows_arm());
        Ok(StudyResult { study, made: self.made.clone(), records, page, shows_arm, band: None })
    }
}

#[cfg(test)]
mod tests;
