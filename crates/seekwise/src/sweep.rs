//! A study in parts: whatever runs a part may be anywhere, takes texts, and returns a file's bytes. A part is a batch of
//! cells, kept as Parquet (`part`). The bytes depend on the plan alone, so a part that is run twice, late or elsewhere is the
//! same part; a build other than the plan's refuses it. Nothing here knows machines, engines or where parts are kept.

mod part;

use std::path::Path;

use seekwise_formats::study::{Factor, Sampling, Study, parse};
use seekwise_lab::digest::sha256;
use seekwise_lab::plan::Cell;
use seekwise_lab::provenance::{ProgramVersion, StudyProvenance};
use seekwise_lab::run::RunRecord;
use serde::{Deserialize, Serialize};

use self::part::PartRuns;
use crate::bounds::Bounds;
use crate::error::Error;
use crate::execute::{Progress, make_runs};
use crate::observer::Observer;
use crate::reading::Files;
use crate::results::{ResultFolder, line_of, read_lines};
use crate::setup::Setup;
use crate::store::InMemory;
use crate::study::{StudyResult, find_study, warn_once, write_report};
use crate::study_plan::{self, PlannedStudy};

/// A study with all that its parts are made from, as texts: it travels to other machines as it is.
///
/// ```
/// use seekwise::Setup;
/// use seekwise::sweep::{SweepFactor, SweepPlan};
///
/// let setup = Setup::new("random-read", "barracuda-7200.7-ncq").with_runtime("1 s");
/// let depths = SweepFactor { key: "job.depth".to_owned(), levels: vec!["1".to_owned(), "8".to_owned()] };
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
    /// Byte for byte, as it stands in the result folder.
    study: String,
    /// The origin of its results: the program, the texts that were read, each cell's settings, the seeds.
    made: StudyProvenance,
    /// SHA-256 of what made it, by which parts are named.
    hash: String,
    /// Where traces are opened, on whatever machine the plan is.
    #[serde(skip)]
    files: Files,
}

/// A setting and its values, all of which are run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepFactor {
    /// The dotted key; `drive` for the drive.
    pub key: String,
    pub levels: Vec<String>,
}

/// Some cells of a plan, one after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepPart {
    /// The first cell.
    pub first: usize,
    /// The cell after the last.
    pub end: usize,
    /// The name under which parts are kept: its place, and the hash of what it is made from.
    pub name: String,
}

impl SweepPlan {
    /// A job on a target, with each combination of levels, so many runs each.
    pub fn of_setup(setup: &Setup, factors: &[SweepFactor], runs: u32) -> Result<SweepPlan, Error> {
        let question = format!("How fast is {} in each of these?", setup.title());
        let mut study = setup.study(setup.cell()?, question, runs)?;
        study.factor = factors.iter().map(|factor| Factor::for_key(&factor.key, &factor.levels)).collect();
        let text = study.to_text();
        SweepPlan::from_planned(&setup.files, text, study_plan::plan_built(&setup.files, "sweep", study)?)
    }

    /// The study of a file, or a built-in one.
    pub fn of_study(files: &Files, name: &str) -> Result<SweepPlan, Error> {
        let (name, text) = find_study(files, name)?;
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
        // The machines are not known here: every part must keep within the bounds of this one.
        Bounds::new(None).admit(&planned.run_plan(1, false))?;
        let made = planned.made;
        warn_once(&made.warnings);
        let hash = made.hash();
        Ok(SweepPlan { study, made, hash, files: files.clone() })
    }

    /// A plan as another machine sent it. A plan of another build is refused: its figures might be others.
    pub fn read(text: &str) -> Result<SweepPlan, Error> {
        let fault = |why: String| Error::new(format!("not a plan of a sweep: {why}"));
        let plan: SweepPlan = serde_json::from_str(text).map_err(|error| fault(error.to_string()))?;
        let (its, this) = (&plan.made.program, ProgramVersion::current());
        if *its != this {
            return Err(Error::new(format!("the plan was made by {its}, and this is {this}; expected the same build")));
        }
        plan.made.check_study(&plan.study).map_err(fault)?;
        match plan.hash == plan.made.hash() {
            true => Ok(plan),
            false => Err(fault("its hash is that of another".to_owned())),
        }
    }

    /// The plan as a text, to be sent.
    pub fn text(&self) -> String {
        serde_json::to_string(self).expect("a plan has no keys but strings")
    }

    /// The hash of what made it.
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

    /// The plan in parts of so many cells, in order.
    pub fn parts(&self, cells: usize) -> Vec<SweepPart> {
        let cells = cells.max(1);
        (0..self.cells()).step_by(cells).map(|first| self.make_part(first, (first + cells).min(self.cells()))).collect()
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
        let made = &self.made.cells[part.first..part.end];
        let cells: Vec<Cell> = made.iter().map(|made| made.cell.clone()).collect();
        let planned = study_plan::prepare("study.toml", (&self.study, study.clone()), &cells, &inputs)?;
        for (place, (made, prepared)) in made.iter().zip(&planned.prepared).enumerate() {
            if prepared.hash != made.hash {
                let cell = part.first + place;
                return Err(Error::new(format!("cell {cell} came out as {}, not as {}", prepared.hash, made.hash)));
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

    /// The file of a part with these records; an error says that it would be too large.
    fn encode_part(&self, part: &SweepPart, study: &Study, records: &[RunRecord]) -> Result<Vec<u8>, String> {
        let factors: Vec<String> = study.factor.iter().map(|factor| factor.name.clone()).collect();
        let levels = |record: &RunRecord| &self.made.cells[record.cell].cell.levels[..];
        let runs: Vec<_> = records.iter().map(|record| (levels(record), record, line_of(record))).collect();
        PartRuns { name: &part.name, factors: &factors, runs: &runs }.encode_file()
    }

    /// Bytes of a part's file at most.
    pub fn most_bytes(&self, part: &SweepPart) -> usize {
        part::max_file_bytes(self.runs_in_part(part))
    }

    /// Reads the records of a part, and checks each against the plan, its sum and its own figures. An error says what
    /// is wrong with the file: it is torn, changed, or of something else, and has to be made again. The file may be
    /// anybody's: it takes no more memory than a part may, whatever it says of itself.
    pub fn records(&self, part: &SweepPart, file: &[u8]) -> Result<Vec<RunRecord>, Error> {
        let fault = |why: String| Error::new(format!("{}: {why}", part.name));
        let lines = part::unpack_lines(file, self.runs_in_part(part)).map_err(fault)?;
        let records = read_lines(&self.made, &self.made.fixed_order(), part.first * self.runs(), lines.as_bytes());
        let records = records.map_err(|(line, why)| fault(format!("run {line}: {why}")))?;
        let expected = self.runs_in_part(part);
        if records.len() != expected {
            return Err(fault(format!("it has {} runs; expected {expected}", records.len())));
        }
        match self.encode_part(part, &parse("study.toml", &self.study)?, &records).map_err(fault)? == file {
            true => Ok(records),
            false => Err(fault("it was changed after it was written, or is another part".to_owned())),
        }
    }

    /// Makes a result folder of the files of all parts, in order: its bytes are those of `seekwise study`.
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
    /// result folder keeps a beginning of the plan, and parts end in any order.
    pub fn so_far(&self, folder: &Path, parts: &[SweepPart], files: &[impl AsRef<[u8]>]) -> Result<StudyResult, Error> {
        self.read_parts(folder, parts, files, |_| Ok(()))
    }

    /// Reads the records of these parts, calls `took` for each, and writes their page into `folder`.
    fn read_parts(
        &self,
        folder: &Path,
        parts: &[SweepPart],
        files: &[impl AsRef<[u8]>],
        mut took: impl FnMut(&RunRecord) -> Result<(), Error>,
    ) -> Result<StudyResult, Error> {
        let study = parse("study.toml", &self.study)?;
        let mut records = Vec::with_capacity(self.cells() * self.runs());
        for (part, file) in parts.iter().zip(files) {
            for record in self.records(part, file.as_ref())? {
                took(&record)?;
                records.push(record);
            }
        }
        let page = Some(write_report(&study, &self.made, &records, folder)?);
        Ok(StudyResult { study, made: self.made.clone(), records, page })
    }
}

#[cfg(test)]
mod tests;
