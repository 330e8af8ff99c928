//! `seekwise explain`: finds the single inferred settings whose value, within its range, decides a claim. For each it says how far
//! the value must move to change the claim's answer, and which other claims and published cases of the same drive change with it.
//! No profile is changed.
//!
//! Each number is tried at the ends of its range and each rule at its other values ([`lever`](crate::lever)). If an
//! end changes the answer, the nearest value that does is found by bisection; a range that changes it only between its ends
//! is missed.
//!
//! Values are screened by short runs first: one run of each cell, of a tenth of the time if the study sets it, provided that
//! these runs give the claim's answer with unchanged settings. Values that change the answer there are confirmed by all the runs
//! of the study, at their full length. So a lucky draw is not taken for a lever, but a value whose effect the screening does not
//! show is missed. Equal requests have equal answers, whatever the number of cores.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use seekwise::execute::{Progress, make_runs};
use seekwise::journal::{JournalOptions, SearchJournal};
use seekwise::store::InMemory;
use seekwise::study_plan::{self, PlannedStudy};
use seekwise::{Bounds, Error, Files, Observer};
use seekwise_drives::duration::Duration;
use seekwise_drives::key_names::strip_drive;
use seekwise_formats::expression::{ExpressionNode, Function, Subexpression};
use seekwise_formats::study::{Claim, Study, parse};
use seekwise_lab::catalogue::studies::BUILT_IN;
use seekwise_lab::digest::sha256;
use seekwise_lab::finding::Evidence;
use seekwise_lab::inputs::{InputCache, Inputs};
use seekwise_lab::plan::{self, Cell};
use seekwise_lab::provenance::ProgramVersion;
use seekwise_lab::study::EarlierRuns;
use serde::Serialize;

use crate::claims::{CarriedClaim, find_carried_claim};
use crate::findings::{CatalogueClaim, catalogue_claims, checked_cells};
use crate::lever::{Lever, find_levers};
use crate::published::{self, PublishedCase};

/// How far a claim is from its bounds.
pub use seekwise_lab::finding::BoundDistance;

/// A request to explain a claim.
#[derive(Clone, Debug)]
pub struct Explain {
    /// The finding, such as D7.
    pub id: String,
    /// Runs of each cell by which values are confirmed; by default the study's.
    pub runs: Option<u32>,
    /// Only settings whose keys begin with one of these; empty for all.
    pub only: Vec<String>,
    /// Do not look at other claims and published cases.
    pub alone: bool,
    /// Keep the progress beside this file.
    pub out: Option<PathBuf>,
    /// Go on from what is kept.
    pub resume: bool,
    /// Replace what is kept.
    pub force: bool,
    /// Cores to use; 0 is all.
    pub threads: usize,
    /// Where jobs and drives are read.
    pub files: Files,
}

/// The answer.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    pub id: String,
    pub finding: String,
    pub study: String,
    /// Runs of each cell.
    pub runs: u32,
    /// The runs by which values were screened, in words; null if each was tried with all runs.
    pub screened: Option<String>,
    /// Whether its checks hold with unchanged settings; null when undecided.
    pub holds: Option<bool>,
    /// How far it is from its bounds with unchanged settings.
    pub distance: Option<BoundDistance>,
    /// Inferred settings that were tried.
    pub settings: usize,
    /// Values that were tried.
    pub tries: usize,
    /// Settings that change the answer, the nearest first.
    pub found: Vec<FoundLever>,
    /// The explanation in words: "holds if …, which breaks …", or that no single setting changes the answer.
    pub sentences: Vec<String>,
}

/// A setting that changes the answer.
#[derive(Clone, Debug, Serialize)]
pub struct FoundLever {
    pub key: String,
    /// The drives or layers that have it.
    pub of: Vec<String>,
    pub value: String,
    pub range: String,
    /// The nearest value found at which the answer changes.
    pub to: String,
    /// The distance to that value, as a share of the range; null for a rule.
    pub share: Option<f64>,
    /// Other claims that then fail, and those that then hold.
    pub breaks: Vec<String>,
    pub mends: Vec<String>,
    /// The number of other claims that have cells with it.
    pub claims: usize,
    /// Published cases of its drives that then fail, and how many there are.
    pub cases_broken: Vec<String>,
    pub cases: usize,
}

/// A claim with its study and its runs with unchanged settings.
struct ExplainedClaim {
    study_name: &'static str,
    claim: Claim,
    full: ClaimRuns,
    /// Shorter runs, if they give the same answer with unchanged settings.
    screening: Option<ClaimRuns>,
}

/// The cells of a claim, with runs of some length, and its answer with unchanged settings.
struct ClaimRuns {
    study: Study,
    cells: Vec<Cell>,
    planned: PlannedStudy,
    earlier: EarlierRuns<'static>,
    unchanged: ChecksResult,
}

/// The result of a claim's checks.
#[derive(Default)]
struct ChecksResult {
    holds: Option<bool>,
    distance: Option<BoundDistance>,
}

/// With which runs a claim is judged.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ClaimRunLength {
    Full,
    /// Shorter runs; the full ones if the claim has no shorter ones.
    Screening,
}

impl ExplainedClaim {
    fn runs_of_length(&mut self, length: ClaimRunLength) -> &mut ClaimRuns {
        self.screening.as_mut().filter(|_| length == ClaimRunLength::Screening).unwrap_or(&mut self.full)
    }
}

struct ExplainSession<'a> {
    request: &'a Explain,
    observer: &'a dyn Observer,
    journal: Option<SearchJournal>,
    /// The answer to each question that the journal has: 1 holds, 0 fails, -1 is none.
    known_answers: BTreeMap<String, Vec<f64>>,
    tries: usize,
    /// Drives and scenes of all tries: most differ in one figure.
    cache: Arc<InputCache>,
}

/// Explains a claim.
pub fn explain(request: &Explain, bounds: &Bounds, observer: &dyn Observer) -> Result<Explanation, Error> {
    let catalogue = catalogue_claims();
    let listed = catalogue.into_iter().find(|claim| claim.id.eq_ignore_ascii_case(&request.id));
    let Some(CatalogueClaim { id, .. }) = listed else {
        return Err(Error::new(format!("{}: unknown finding; expected D1 to C28", request.id)));
    };
    let (journal, known_answers) = match &request.out {
        Some(out) => {
            let &Explain { resume, force, ref files, .. } = request;
            let options = JournalOptions { hash: &request_hash(request), resume, force, files };
            let (journal, known_answers) = SearchJournal::open(out, options, &|_, answer| match answer {
                [-1.0 | 0.0 | 1.0] => Ok(()),
                _ => Err("it holds no verdict; expected -1, 0 or 1".to_owned()),
            })?;
            (Some(journal), known_answers)
        }
        None => (None, BTreeMap::new()),
    };
    let mut session = ExplainSession { request, observer, journal, known_answers, tries: 0, cache: Arc::default() };
    let mut explained = session.load_claim(&id, bounds)?;
    let mut levers = find_levers(&explained.full.planned.prepared);
    levers.retain(|lever| request.wants_lever(lever));
    let mut found = session.search_levers(&mut explained, &levers)?;
    if !request.alone {
        session.add_side_effects(&explained, &mut found, bounds)?;
    }
    if let Some(journal) = session.journal {
        journal.take_failure().map_or(Ok(()), Err)?;
        journal.remove();
    }
    let ExplainedClaim { study_name, claim, full: ClaimRuns { study, unchanged, .. }, screening } = explained;
    let found: Vec<FoundLever> = found.into_iter().map(|(_, found)| found).collect();
    Ok(Explanation {
        id,
        finding: claim.finding,
        study: study_name.to_owned(),
        runs: study.runs,
        screened: screening.map(|screening| screening_words(&screening.study)),
        holds: unchanged.holds,
        distance: unchanged.distance,
        settings: levers.len(),
        tries: session.tries,
        sentences: explanation_sentences(&found, unchanged.holds == Some(true)),
        found,
    })
}

/// Hashes the inputs on which the kept answers depend: the program, and the request.
fn request_hash(request: &Explain) -> String {
    let words = format!("{} {:?}", ProgramVersion::current(), (&request.id, request.runs));
    sha256(words.as_bytes())
}

impl Explain {
    fn wants_lever(&self, lever: &Lever) -> bool {
        self.only.is_empty() || self.only.iter().any(|key| lever.key.starts_with(key.as_str()))
    }
}

/// Whether an expression uses a confidence interval or a deviation, which need more than one run.
fn needs_several_runs(expression: &Subexpression) -> bool {
    let node = &*expression.node;
    matches!(node, ExpressionNode::Function(Function::Low | Function::High | Function::Deviation, _))
        || expression.node.parts().into_iter().any(needs_several_runs)
}

impl ExplainSession<'_> {
    fn inputs(&self) -> Inputs<'static> {
        self.request.files.inputs().with_cache(Arc::clone(&self.cache))
    }

    /// Loads a claim, and runs and judges its cells with unchanged settings: by full runs, and by shorter ones if there are any.
    fn load_claim(&mut self, id: &str, bounds: &Bounds) -> Result<ExplainedClaim, Error> {
        let CarriedClaim { study_name, mut study, claim } = find_carried_claim(id)?
            .ok_or_else(|| Error::new(format!("{id}: no study carries it; there is nothing to run")))?;
        if claim.check.is_empty() {
            return Err(Error::new(format!("{id}: it has no checks; its figures are shown by `seekwise claims {id}`")));
        }
        study.runs = self.request.runs.unwrap_or(study.runs);
        let claim = Claim { show: Vec::new(), ..claim };
        let full = self.run_unchanged(study_name, study, &claim, Some(bounds))?;
        let screening = match screening_study(&full.study, &claim) {
            Some(study) => Some(self.run_unchanged(study_name, study, &claim, None)?)
                .filter(|screening| screening.unchanged.holds == full.unchanged.holds),
            None => None,
        };
        Ok(ExplainedClaim { study_name, claim, full, screening })
    }

    /// Runs the cells of a claim with unchanged settings.
    fn run_unchanged(
        &self,
        study_name: &str,
        study: Study,
        claim: &Claim,
        bounds: Option<&Bounds>,
    ) -> Result<ClaimRuns, Error> {
        let cells = checked_cells(&study, claim);
        let planned = study_plan::prepare_study(study_name, "", study.clone(), &cells, &self.inputs())?;
        bounds
            .map(|bounds| bounds.threads_within_memory(&planned.to_run_plan(self.request.threads, false)))
            .transpose()?;
        let (earlier, unchanged) = (EarlierRuns::default(), ChecksResult::default());
        let mut runs = ClaimRuns { study, cells, planned, earlier, unchanged };
        let cells = runs.cells.clone();
        runs.unchanged = self.run_and_judge_cells(study_name, claim, &mut runs, cells, true)?;
        Ok(runs)
    }

    /// Runs cells of a claim and judges it by them. With `keep`, their records are kept, for cells that a changed setting does
    /// not concern.
    fn run_and_judge_cells(
        &self,
        study_name: &str,
        claim: &Claim,
        runs: &mut ClaimRuns,
        cells: Vec<Cell>,
        keep: bool,
    ) -> Result<ChecksResult, Error> {
        let planned = study_plan::prepare_study(study_name, "", runs.study.clone(), &cells, &self.inputs())?;
        let PlannedStudy { study, prepared, made, .. } = &planned;
        let (earlier, progress) = (Some(&runs.earlier), Progress::silent(self.observer));
        let records = make_runs(&planned, earlier, self.request.threads, &progress, Vec::new(), &mut InMemory)?;
        let judged = Evidence::new(study, made, &records).judge_claim(claim);
        let result = ChecksResult { holds: judged.holds, distance: judged.distance.clone() };
        if keep {
            runs.earlier.add(study, prepared, records.into_iter().map(Cow::Owned));
        }
        Ok(result)
    }

    /// Whether a claim holds with a setting at a value; `None` if it is undecided, or if the value contradicts another figure.
    /// An answer in the journal is not found again.
    fn holds_with_value(
        &mut self,
        explained: &mut ExplainedClaim,
        lever: &Lever,
        value: &str,
        length: ClaimRunLength,
    ) -> Result<Option<bool>, Error> {
        let full = length == ClaimRunLength::Full || explained.screening.is_none();
        let word = if full { "full" } else { "short" };
        let question = format!("{} {} {} {value} {word}", explained.claim.id, lever.key, lever.value).replace(' ', "_");
        if let Some(answer) = self.known_answers.get(&question) {
            return Ok(answer.first().filter(|answer| **answer >= 0.0).map(|answer| *answer > 0.0));
        }
        let (study_name, claim) = (explained.study_name, explained.claim.clone());
        let runs = explained.runs_of_length(length);
        let cells = lever.cells_with_value(&runs.cells, &runs.planned.prepared, value);
        let inputs = self.inputs();
        let fits = cells.iter().all(|cell| plan::prepare_cell(study_name, cell, &inputs).is_ok());
        let holds = match fits {
            true => self.run_and_judge_cells(study_name, &claim, runs, cells, false)?.holds,
            false => None,
        };
        let answer = holds.map_or(-1.0, |holds| f64::from(u8::from(holds)));
        if let Some(journal) = &self.journal {
            journal.append_answer(&question, &[answer]);
        }
        self.known_answers.insert(question, vec![answer]);
        Ok(holds)
    }

    /// Whether a claim's answer is `wanted` with a setting at a value: by shorter runs first, if it has them.
    fn gives_answer_with_value(
        &mut self,
        explained: &mut ExplainedClaim,
        lever: &Lever,
        value: &str,
        wanted: bool,
    ) -> Result<bool, Error> {
        let screened = explained.screening.is_none()
            || self.holds_with_value(explained, lever, value, ClaimRunLength::Screening)? == Some(wanted);
        Ok(screened && self.holds_with_value(explained, lever, value, ClaimRunLength::Full)? == Some(wanted))
    }

    /// Finds the settings that change the answer, each with the nearest value found, the nearest first.
    fn search_levers(
        &mut self,
        explained: &mut ExplainedClaim,
        levers: &[Lever],
    ) -> Result<Vec<(Lever, FoundLever)>, Error> {
        let wanted = explained.full.unchanged.holds != Some(true);
        let tries: usize = levers.iter().map(|lever| lever.values_to_try().len()).sum();
        self.observer.begin_work(Some(tries as u64), 0, "values");
        let mut found = Vec::new();
        for lever in levers {
            self.observer.report_work(&format!("{}, {}", explained.claim.id, lever.key));
            let mut nearest: Option<(Option<f64>, String)> = None;
            for (position, value) in lever.values_to_try() {
                self.tries += 1;
                let is_nearer = match (&nearest, position) {
                    (Some((Some(known), _)), Some(position)) => {
                        distance_from_present(lever, position) < distance_from_present(lever, *known)
                    }
                    (known, _) => known.is_none(),
                };
                if is_nearer && self.gives_answer_with_value(explained, lever, &value, wanted)? {
                    nearest = Some((position, value));
                }
                self.observer.report_done(self.tries as u64);
            }
            if let Some((position, value)) = nearest {
                let (position, to) = match position {
                    Some(end) => {
                        let position = self.bisect_to_nearest(explained, lever, end, wanted)?;
                        (position, lever.value_at(position))
                    }
                    None => (lever.present_position(), value),
                };
                let share = lever.is_number().then(|| distance_from_present(lever, position));
                found.push((lever.clone(), FoundLever::new(lever, to, share)));
            }
        }
        found.sort_by(|(_, a), (_, b)| a.share.unwrap_or(1.0).total_cmp(&b.share.unwrap_or(1.0)));
        Ok(found)
    }

    /// Bisects between a number's present position, where the answer is not `wanted`, and `end`, where it is; returns the position
    /// nearest to the present one that has the wanted answer.
    fn bisect_to_nearest(
        &mut self,
        explained: &mut ExplainedClaim,
        lever: &Lever,
        end: f64,
        wanted: bool,
    ) -> Result<f64, Error> {
        let (mut unwanted_at, mut wanted_at) = (lever.present_position(), end);
        for _ in 0..HALVINGS {
            let middle = (unwanted_at + wanted_at) / 2.0;
            let value = lever.value_at(middle);
            if value == lever.value_at(wanted_at) || value == lever.value_at(unwanted_at) {
                break;
            }
            if self.gives_answer_with_value(explained, lever, &value, wanted)? {
                wanted_at = middle;
            } else {
                unwanted_at = middle;
            }
        }
        Ok(wanted_at)
    }

    /// Adds to each found setting the other claims and the published cases that it changes.
    fn add_side_effects(
        &mut self,
        explained: &ExplainedClaim,
        found: &mut [(Lever, FoundLever)],
        bounds: &Bounds,
    ) -> Result<(), Error> {
        if found.is_empty() {
            return Ok(());
        }
        let other_ids = self.other_claims_with_levers(explained, found)?;
        self.observer.begin_work(Some(other_ids.len() as u64), 0, "claims");
        for (index, id) in other_ids.iter().enumerate() {
            self.observer.report_work(&format!("{id} beside {}", explained.claim.id));
            let mut other = self.load_claim(id, bounds)?;
            let before = other.full.unchanged.holds;
            for (lever, found) in found.iter_mut() {
                if !lever.occurs_in(&other.full.planned.prepared) {
                    continue;
                }
                found.claims += 1;
                let to = found.to.clone();
                if other.screening.is_some()
                    && self.holds_with_value(&mut other, lever, &to, ClaimRunLength::Screening)? == before
                {
                    continue;
                }
                match (before, self.holds_with_value(&mut other, lever, &to, ClaimRunLength::Full)?) {
                    (Some(true), now) if now != Some(true) => found.breaks.push(id.clone()),
                    (before, Some(true)) if before != Some(true) => found.mends.push(id.clone()),
                    _ => {}
                }
            }
            self.observer.report_done(index as u64 + 1);
        }
        for (lever, found) in found {
            let cases: Vec<PublishedCase> = published::cases_of_drives(&lever.of);
            for case in cases.iter().filter(|case| strip_drive(&lever.key).is_some() && !case.sets_key(&lever.key)) {
                found.cases += 1;
                let holds_unchanged = case.holds_with(&[], &self.cache).map_err(Error::new)?;
                let setting = (lever.key.clone(), found.to.clone());
                let holds_now = case.holds_with(&[setting], &self.cache).unwrap_or(false);
                if holds_unchanged && !holds_now {
                    found.cases_broken.push(case.what.clone());
                }
            }
        }
        Ok(())
    }

    /// The other claims with checks whose cells have one of the found settings.
    fn other_claims_with_levers(
        &self,
        explained: &ExplainedClaim,
        found: &[(Lever, FoundLever)],
    ) -> Result<Vec<String>, Error> {
        let (mut ids, inputs) = (Vec::new(), self.inputs());
        for &(name, text) in BUILT_IN {
            let study = parse(name, text)?;
            for claim in &study.claim {
                if claim.check.is_empty() || claim.id == explained.claim.id {
                    continue;
                }
                let cells = checked_cells(&study, claim);
                let prepared =
                    cells.iter().map(|cell| plan::prepare_cell(name, cell, &inputs)).collect::<Result<Vec<_>, _>>()?;
                if found.iter().any(|(lever, _)| lever.occurs_in(&prepared)) {
                    ids.push(claim.id.clone());
                }
            }
        }
        Ok(ids)
    }
}

/// The most steps of a bisection.
const HALVINGS: u32 = 4;

/// Factor by which the runs that screen values, and their ramps, are shorter. With a tenth of its virtual time, a study of
/// drivers gave the same 35 verdicts.
const SCREENING_SHORTER: u64 = 10;

/// The study with the lighter runs by which values are screened; none if they would be as heavy.
fn screening_study(study: &Study, claim: &Claim) -> Option<Study> {
    let several_runs = claim.check.iter().chain(&claim.decided_if).any(|check| needs_several_runs(&check.body));
    let runs = if several_runs { study.runs } else { 1 };
    let shorter = |length: Duration| Duration { nanos: length.nanos.div_ceil(SCREENING_SHORTER) };
    let (runtime, ramp) = (study.runtime.map(shorter), study.ramp.map(shorter));
    (runs < study.runs || runtime != study.runtime).then(|| {
        let mut lighter = study.clone();
        (lighter.runs, lighter.runtime, lighter.ramp) = (runs, runtime, ramp);
        lighter
    })
}

/// The screening runs in words.
fn screening_words(study: &Study) -> String {
    let each = if study.runs == 1 { "one run".to_owned() } else { format!("{} runs", study.runs) };
    let length = study.runtime.map_or(String::new(), |runtime| format!(" of {runtime}"));
    format!("{each}{length} of each cell")
}

/// How far a position is from the setting's present one, as a share of its range.
fn distance_from_present(lever: &Lever, position: f64) -> f64 {
    (position - lever.present_position()).abs()
}

impl FoundLever {
    fn new(lever: &Lever, to: String, share: Option<f64>) -> FoundLever {
        FoundLever {
            key: lever.key.clone(),
            of: lever.of.clone(),
            value: lever.value.clone(),
            range: lever.range_words(),
            to,
            share,
            breaks: Vec::new(),
            mends: Vec::new(),
            claims: 0,
            cases_broken: Vec::new(),
            cases: 0,
        }
    }

    /// "holds if …, which breaks …" for a claim that does not hold with unchanged settings, "fails if …" for one that does.
    pub fn sentence(&self, holds_unchanged: bool) -> String {
        let verb = if holds_unchanged { "fails" } else { "holds" };
        let mut broken: Vec<String> = self.breaks.clone();
        broken.extend(self.cases_broken.iter().map(|case| format!("the published case \"{case}\"")));
        let side_effects = match (broken.is_empty(), self.claims + self.cases) {
            (_, 0) => String::new(),
            (true, _) => ", which breaks nothing else that was tried".to_owned(),
            (false, _) => format!(", which breaks {}", broken.join(", ")),
        };
        let of = if self.of.is_empty() { String::new() } else { format!(" of {}", self.of.join(" and ")) };
        format!("{verb} if {}{of} is {} instead of {}{side_effects}", self.key, self.to, self.value)
    }
}

/// The explanation of a claim, in sentences.
fn explanation_sentences(found: &[FoundLever], holds_unchanged: bool) -> Vec<String> {
    match (found.is_empty(), holds_unchanged) {
        (true, true) => vec!["holds at every tried value of every single inferred setting".to_owned()],
        (true, false) => vec!["holds at no tried value of any single inferred setting".to_owned()],
        _ => found.iter().map(|found| found.sentence(holds_unchanged)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_answer_ends_in_a_sentence() {
        let found = FoundLever {
            key: "drive.cache.dirty_runs".to_owned(),
            of: vec!["fireball-plus-as-30".to_owned()],
            value: "32".to_owned(),
            range: "8 to 128".to_owned(),
            to: "8".to_owned(),
            share: Some(0.5),
            breaks: vec!["F2".to_owned()],
            mends: vec!["D11".to_owned()],
            claims: 4,
            cases_broken: vec!["writes".to_owned()],
            cases: 1,
        };
        let expected = "holds if drive.cache.dirty_runs of fireball-plus-as-30 is 8 instead of 32, which breaks F2, the published \
                    case \"writes\"";
        assert_eq!(found.sentence(false), expected);
        let free = FoundLever { breaks: Vec::new(), cases_broken: Vec::new(), ..found.clone() };
        assert!(
            free.sentence(true).starts_with("fails if") && free.sentence(true).ends_with("nothing else that was tried")
        );
        let unseen = FoundLever { claims: 0, cases: 0, ..free };
        assert!(unseen.sentence(false).ends_with("instead of 32"), "nothing was looked at");
    }

    #[test]
    fn nothing_is_held_against_a_setting_before_it_is_tried() {
        let text = "title = 't'\nquestion = 'q'\njob = 'random-read'\nruntime = '1 s'\n[stack]\ndrive = 'exos-x18'\n";
        let planned = study_plan::plan_file(&Files::default(), "s.toml", text).unwrap();
        let lever = find_levers(&planned.prepared).remove(0);
        let found = FoundLever::new(&lever, "8".to_owned(), None);
        assert_eq!((found.claims, found.cases, found.breaks.len() + found.cases_broken.len()), (0, 0, 0));
        let sentence = found.sentence(false);
        assert!(sentence.ends_with(&format!("is 8 instead of {}", lever.value)), "{sentence}");
    }

    #[test]
    fn screening_runs_are_named_by_their_number_and_length() {
        let words = |head: &str| {
            let study = parse("s.toml", &format!("title = 't'\nquestion = 'q'\n{head}\n")).unwrap();
            screening_words(&study)
        };
        assert_eq!(words("runs = 1"), "one run of each cell");
        assert_eq!(words("runs = 1\nruntime = '2 s'"), "one run of 2 s of each cell");
        assert_eq!(words("runs = 2"), "2 runs of each cell");
        assert_eq!(words("runs = 5\nruntime = '500 ms'"), "5 runs of 0.5 s of each cell");
    }

    #[test]
    fn an_interval_asks_for_more_than_one_run() {
        let takes = |text: &str| needs_several_runs(&seekwise_formats::expression::parse(text).unwrap().body);
        assert!(takes("high(slope(iops over log2(segments))) < 0 for each depth"));
        assert!(takes("share(low(iops) > 1 over depth) > 0"));
        assert!(!takes("max(iops over depth) > 1"));
    }
}
