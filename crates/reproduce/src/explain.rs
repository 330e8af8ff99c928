//! Explains the answer of a claim: which single inferred setting, within its range, changes it, how far it must move, and what
//! else that changes: other claims, and published cases of the same drive. Nothing that is found goes into a profile.
//!
//! Each number is tried at the ends of its range and each rule at its other values ([`lever`](crate::lever)). If an
//! end changes the answer, the nearest value that does is found by bisection; a range that changes it only between its ends
//! is missed. Values are screened by one run of each cell, of a tenth of the time if the study sets it, provided that this
//! run gives the claim's answer with unchanged settings; values that change the answer are confirmed by all the runs of the
//! study, at their full length. So a lucky draw is not taken for a lever, but a value whose effect the screening does not
//! show is missed. Equal questions have equal answers, whatever the number of cores.

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

use crate::claims::find_carrier;
use crate::findings::{catalogue_claims, checked_cells};
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

/// A claim with its study.
struct ClaimCarrier {
    name: &'static str,
    claim: Claim,
    full: ClaimRuns,
    /// Shorter runs, if they give the same answer with unchanged settings.
    short: Option<ClaimRuns>,
}

/// The cells of a claim, with runs of some length, and its answer with unchanged settings.
struct ClaimRuns {
    study: Study,
    cells: Vec<Cell>,
    planned: PlannedStudy,
    earlier: EarlierRuns<'static>,
    as_is: Option<bool>,
    distance: Option<BoundDistance>,
}

impl ClaimCarrier {
    /// Returns the shorter runs, or the full ones if `full` or if there are no shorter ones.
    fn runs_by_length(&mut self, full: bool) -> &mut ClaimRuns {
        self.short.as_mut().filter(|_| !full).unwrap_or(&mut self.full)
    }
}

struct ExplainSession<'a> {
    asked: &'a Explain,
    observer: &'a dyn Observer,
    journal: Option<SearchJournal>,
    known: BTreeMap<String, Vec<f64>>,
    tries: usize,
    /// Drives and scenes of all tries: most differ in one figure.
    cache: Arc<InputCache>,
}

/// Explains a claim.
pub fn explain(asked: &Explain, bounds: &Bounds, observer: &dyn Observer) -> Result<Explanation, Error> {
    let id =
        catalogue_claims().into_iter().find(|known| known.id.eq_ignore_ascii_case(&asked.id)).map(|known| known.id);
    let id = id.ok_or_else(|| Error::new(format!("{}: unknown finding; expected D1 to C28", asked.id)))?;
    let (journal, known) = match &asked.out {
        Some(out) => {
            let &Explain { resume, force, ref files, .. } = asked;
            let options = JournalOptions { hash: &request_hash(asked), resume, force, files };
            let (journal, known) = SearchJournal::open(out, options, &|_, answer| match answer {
                [-1.0 | 0.0 | 1.0] => Ok(()),
                _ => Err("it holds no verdict; expected -1, 0 or 1".to_owned()),
            })?;
            (Some(journal), known)
        }
        None => (None, BTreeMap::new()),
    };
    let mut explaining = ExplainSession { asked, observer, journal, known, tries: 0, cache: Arc::default() };
    let mut carrier = explaining.load_carrier(&id, bounds)?;
    let all: Vec<Lever> =
        find_levers(&carrier.full.planned.prepared).into_iter().filter(|lever| asked.wants_lever(lever)).collect();
    let mut found = explaining.search_levers(&mut carrier, &all)?;
    if !asked.alone {
        explaining.find_side_effects(&carrier, &mut found, bounds)?;
    }
    if let Some(journal) = explaining.journal {
        journal.take_failure().map_or(Ok(()), Err)?;
        journal.remove();
    }
    let ClaimCarrier { name, claim, full: ClaimRuns { study, as_is, distance, .. }, short } = carrier;
    let found: Vec<FoundLever> = found.into_iter().map(|(_, found)| found).collect();
    Ok(Explanation {
        id,
        finding: claim.finding,
        study: name.to_owned(),
        runs: study.runs,
        screened: short.map(|short| screening_words(&short.study)),
        holds: as_is,
        distance,
        settings: all.len(),
        tries: explaining.tries,
        sentences: explanation_sentences(&found, as_is == Some(true)),
        found,
    })
}

/// Hashes what the kept answers depend on: the program, and the request.
fn request_hash(asked: &Explain) -> String {
    let words = format!("{} {:?}", ProgramVersion::current(), (&asked.id, asked.runs));
    sha256(words.as_bytes())
}

impl Explain {
    fn wants_lever(&self, lever: &Lever) -> bool {
        self.only.is_empty() || self.only.iter().any(|key| lever.key.starts_with(key.as_str()))
    }
}

/// Whether an expression takes an interval, which one run does not have.
fn takes_interval(part: &Subexpression) -> bool {
    let own = matches!(&*part.node, ExpressionNode::Function(Function::Low | Function::High | Function::Deviation, _));
    own || part.node.parts().into_iter().any(takes_interval)
}

impl ExplainSession<'_> {
    fn inputs(&self) -> Inputs<'static> {
        self.asked.files.inputs().with_cache(Arc::clone(&self.cache))
    }

    /// Loads a claim and its cells, and judges it with unchanged settings.
    fn load_carrier(&mut self, id: &str, bounds: &Bounds) -> Result<ClaimCarrier, Error> {
        let (name, mut study, claim) = find_carrier(id)?
            .ok_or_else(|| Error::new(format!("{id}: no study carries it; there is nothing to run")))?;
        if claim.check.is_empty() {
            return Err(Error::new(format!("{id}: it has no checks; its figures are shown by `seekwise claims {id}`")));
        }
        study.runs = self.asked.runs.unwrap_or(study.runs);
        let claim = Claim { show: Vec::new(), ..claim };
        let full = self.run_unchanged(name, study, &claim, Some(bounds))?;
        let short = match screening_study(&full.study, &claim) {
            Some(study) => {
                Some(self.run_unchanged(name, study, &claim, None)?).filter(|short| short.as_is == full.as_is)
            }
            None => None,
        };
        Ok(ClaimCarrier { name, claim, full, short })
    }

    /// Runs the cells of a claim with unchanged settings.
    fn run_unchanged(
        &self,
        name: &str,
        study: Study,
        claim: &Claim,
        bounds: Option<&Bounds>,
    ) -> Result<ClaimRuns, Error> {
        let cells = checked_cells(&study, claim);
        let planned = study_plan::prepare_study(name, "", study.clone(), &cells, &self.inputs())?;
        bounds.map(|bounds| bounds.choose_cores(&planned.to_run_plan(self.asked.threads, false))).transpose()?;
        let earlier = EarlierRuns::default();
        let mut runs = ClaimRuns { study, cells, planned, earlier, as_is: None, distance: None };
        let cells = runs.cells.clone();
        (runs.as_is, runs.distance) = self.judge_cells(name, claim, &mut runs, cells, true)?;
        Ok(runs)
    }

    /// Runs cells of a claim and judges it by them. Runs with unchanged settings are kept (`keep`), for cells that a change leaves alone.
    fn judge_cells(
        &self,
        name: &str,
        claim: &Claim,
        runs: &mut ClaimRuns,
        cells: Vec<Cell>,
        keep: bool,
    ) -> Result<(Option<bool>, Option<BoundDistance>), Error> {
        let planned = study_plan::prepare_study(name, "", runs.study.clone(), &cells, &self.inputs())?;
        let PlannedStudy { study, prepared, made, .. } = &planned;
        let (earlier, progress) = (Some(&runs.earlier), Progress::silent(self.observer));
        let records = make_runs(&planned, earlier, self.asked.threads, &progress, Vec::new(), &mut InMemory)?;
        let judged = Evidence::new(study, made, &records).judge_claim(claim);
        let answer = (judged.holds, judged.distance.clone());
        if keep {
            runs.earlier.add(study, prepared, records.into_iter().map(Cow::Owned));
        }
        Ok(answer)
    }

    /// Whether a claim holds with a setting at a value, by its full runs or by shorter ones if it has them. A value that
    /// contradicts another figure has no answer.
    fn answer_with(
        &mut self,
        carrier: &mut ClaimCarrier,
        lever: &Lever,
        value: &str,
        full: bool,
    ) -> Result<Option<bool>, Error> {
        let length = if full || carrier.short.is_none() { "full" } else { "short" };
        let question = format!("{} {} {} {value} {length}", carrier.claim.id, lever.key, lever.value).replace(' ', "_");
        if let Some(answer) = self.known.get(&question) {
            return Ok(answer.first().filter(|answer| **answer >= 0.0).map(|answer| *answer > 0.0));
        }
        let (name, claim) = (carrier.name, carrier.claim.clone());
        let runs = carrier.runs_by_length(full);
        let cells = lever.cells_with_value(&runs.cells, &runs.planned.prepared, value);
        let inputs = self.inputs();
        let fits = cells.iter().all(|cell| plan::prepare_cell(name, cell, &inputs).is_ok());
        let holds = if fits { self.judge_cells(name, &claim, runs, cells, false)?.0 } else { None };
        if let Some(journal) = &self.journal {
            journal.append_answer(&question, &[holds.map_or(-1.0, |holds| f64::from(u8::from(holds)))]);
        }
        self.known.insert(question, vec![holds.map_or(-1.0, |holds| f64::from(u8::from(holds)))]);
        Ok(holds)
    }

    /// Whether a claim's answer is `wanted` with a setting at a value: by shorter runs first, if it has them.
    fn confirm_answer(
        &mut self,
        carrier: &mut ClaimCarrier,
        (lever, value): (&Lever, &str),
        wanted: Option<bool>,
    ) -> Result<bool, Error> {
        let short = carrier.short.is_none() || self.answer_with(carrier, lever, value, false)? == wanted;
        Ok(short && self.answer_with(carrier, lever, value, true)? == wanted)
    }

    /// The settings that change the answer, each at the nearest value found, the nearest first.
    fn search_levers(&mut self, carrier: &mut ClaimCarrier, all: &[Lever]) -> Result<Vec<(Lever, FoundLever)>, Error> {
        let wanted = carrier.full.as_is != Some(true);
        let tries: usize = all.iter().map(|lever| lever.values_to_try().len()).sum();
        self.observer.begin_work(Some(tries as u64), 0, "values");
        let mut found = Vec::new();
        for lever in all {
            self.observer.report_work(&format!("{}, {}", carrier.claim.id, lever.key));
            let mut changes: Option<(Option<f64>, String)> = None;
            for (place, value) in lever.values_to_try() {
                self.tries += 1;
                let nearer = |it: &Option<(Option<f64>, String)>| match (it, place) {
                    (Some((Some(other), _)), Some(place)) => {
                        distance_from_own(lever, place) < distance_from_own(lever, *other)
                    }
                    (known, _) => known.is_none(),
                };
                if nearer(&changes) && self.confirm_answer(carrier, (lever, &value), Some(wanted))? {
                    changes = Some((place, value));
                }
                self.observer.report_done(self.tries as u64);
            }
            if let Some((place, value)) = changes {
                let (place, to) = match place {
                    Some(place) => self.nearest_value(carrier, lever, place, wanted)?,
                    None => (lever.present_place(), value),
                };
                let share = lever.is_number().then(|| distance_from_own(lever, place));
                found.push((lever.clone(), FoundLever::new(lever, to, share)));
            }
        }
        found.sort_by(|(_, a), (_, b)| a.share.unwrap_or(1.0).total_cmp(&b.share.unwrap_or(1.0)));
        Ok(found)
    }

    /// Bisects between a number's own place, where the answer is not `wanted`, and one where it is.
    fn nearest_value(
        &mut self,
        carrier: &mut ClaimCarrier,
        lever: &Lever,
        place: f64,
        wanted: bool,
    ) -> Result<(f64, String), Error> {
        let (mut not, mut is) = (lever.present_place(), place);
        for _ in 0..HALVINGS {
            let middle = (not + is) / 2.0;
            let value = lever.value_at(middle);
            if value == lever.value_at(is) || value == lever.value_at(not) {
                break;
            }
            if self.confirm_answer(carrier, (lever, &value), Some(wanted))? {
                is = middle;
            } else {
                not = middle;
            }
        }
        Ok((is, lever.value_at(is)))
    }

    /// Finds the other claims and the published cases that each found setting changes.
    fn find_side_effects(
        &mut self,
        carrier: &ClaimCarrier,
        found: &mut [(Lever, FoundLever)],
        bounds: &Bounds,
    ) -> Result<(), Error> {
        if found.is_empty() {
            return Ok(());
        }
        let (mut others, inputs) = (Vec::new(), self.inputs());
        for &(name, text) in BUILT_IN {
            let study = parse(name, text)?;
            let here = study.claim.iter().filter(|claim| !claim.check.is_empty() && claim.id != carrier.claim.id);
            for claim in here {
                let cells = checked_cells(&study, claim);
                let prepared =
                    cells.iter().map(|cell| plan::prepare_cell(name, cell, &inputs)).collect::<Result<Vec<_>, _>>()?;
                if found.iter().any(|(lever, _)| lever.is_in(&prepared)) {
                    others.push(claim.id.clone());
                }
            }
        }
        self.observer.begin_work(Some(others.len() as u64), 0, "claims");
        for (place, id) in others.iter().enumerate() {
            self.observer.report_work(&format!("{id} beside {}", carrier.claim.id));
            let mut other = self.load_carrier(id, bounds)?;
            let before = other.full.as_is;
            for (lever, found) in found.iter_mut() {
                if !lever.is_in(&other.full.planned.prepared) {
                    continue;
                }
                found.claims += 1;
                let to = found.to.clone();
                if other.short.is_some() && self.answer_with(&mut other, lever, &to, false)? == before {
                    continue;
                }
                match (before, self.answer_with(&mut other, lever, &to, true)?) {
                    (Some(true), now) if now != Some(true) => found.breaks.push(id.clone()),
                    (before, Some(true)) if before != Some(true) => found.mends.push(id.clone()),
                    _ => {}
                }
            }
            self.observer.report_done(place as u64 + 1);
        }
        for (lever, found) in found {
            let cases: Vec<PublishedCase> = published::cases_of_drives(&lever.of);
            for case in cases.iter().filter(|case| strip_drive(&lever.key).is_some() && !case.sets_key(&lever.key)) {
                found.cases += 1;
                let held = case.is_met(&[], &self.cache).map_err(Error::new)?;
                let now = case.is_met(&[(lever.key.clone(), found.to.clone())], &self.cache).unwrap_or(false);
                if held && !now {
                    found.cases_broken.push(case.what.clone());
                }
            }
        }
        Ok(())
    }
}

/// Steps of a bisection.
const HALVINGS: u32 = 4;

/// Factor by which the runs that screen values, and their ramps, are shorter. A tenth of a driver study's virtual time gave
/// each of its 35 verdicts.
const SHORTER: u64 = 10;

/// The study with the lighter runs by which values are screened; none if they would be as heavy.
fn screening_study(study: &Study, claim: &Claim) -> Option<Study> {
    let intervals = claim.check.iter().chain(&claim.decided_if).any(|check| takes_interval(&check.body));
    let runs = if intervals { study.runs } else { 1 };
    let shorter = |length: Duration| Duration { nanos: length.nanos.div_ceil(SHORTER) };
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

/// How far a place is from the setting's own, as a share of its range.
fn distance_from_own(lever: &Lever, place: f64) -> f64 {
    (place - lever.present_place()).abs()
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

    /// "holds if …, which breaks …" for a claim that does not hold, "fails if …" for one that does.
    pub fn sentence(&self, holds: bool) -> String {
        let verb = if holds { "fails" } else { "holds" };
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
fn explanation_sentences(found: &[FoundLever], holds: bool) -> Vec<String> {
    match (found.is_empty(), holds) {
        (true, true) => vec!["holds at every tried value of every single inferred setting".to_owned()],
        (true, false) => vec!["holds at no tried value of any single inferred setting".to_owned()],
        _ => found.iter().map(|found| found.sentence(holds)).collect(),
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
        let said = "holds if drive.cache.dirty_runs of fireball-plus-as-30 is 8 instead of 32, which breaks F2, the published \
                    case \"writes\"";
        assert_eq!(found.sentence(false), said);
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
        let said = found.sentence(false);
        assert!(said.ends_with(&format!("is 8 instead of {}", lever.value)), "{said}");
    }

    #[test]
    fn screening_runs_are_told_by_their_number_and_length() {
        let told = |head: &str| {
            let study = parse("s.toml", &format!("title = 't'\nquestion = 'q'\n{head}\n")).unwrap();
            screening_words(&study)
        };
        assert_eq!(told("runs = 1"), "one run of each cell");
        assert_eq!(told("runs = 1\nruntime = '2 s'"), "one run of 2 s of each cell");
        assert_eq!(told("runs = 2"), "2 runs of each cell");
        assert_eq!(told("runs = 5\nruntime = '500 ms'"), "5 runs of 0.5 s of each cell");
    }

    #[test]
    fn an_interval_asks_for_more_than_one_run() {
        let takes = |text: &str| takes_interval(&seekwise_formats::expression::parse(text).unwrap().body);
        assert!(takes("high(slope(iops over log2(segments))) < 0 for each depth"));
        assert!(takes("share(low(iops) > 1 over depth) > 0"));
        assert!(!takes("max(iops over depth) > 1"));
    }
}
