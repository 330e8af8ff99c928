//! `seekwise claims`: runs the built-in studies that contain claims (findings of published studies with checks) and says of
//! each finding whether it is reproduced, with the figures. A claim's cells run again with a change in two cases: with a planted
//! difference, which a finding of no difference must detect, and, on request, with its mechanism switched off (ablation), where
//! the finding must fail.
//!
//! ```text
//! DIR/STUDY/             the study's result folder, as `seekwise study` makes it, report included
//! DIR/STUDY/ID-ablated/  the cells of one claim without its mechanism
//! DIR/STUDY/ID-planted/  the cells of one claim with a planted difference
//! ```

use std::borrow::Cow;
use std::path::Path;

use seekwise::execute::{Progress, make_runs};
use seekwise::outputs::create_temporary_folder;
use seekwise::results::{self, ResultFolder};
use seekwise::study::{self, warn_once};
use seekwise::study_plan::{self, PlannedStudy, StudyOptions, StudySession};
use seekwise::{Bounds, Error, Files, Observer};
use seekwise_drives::spelling::nearest;
use seekwise_formats::study::{CellChange, Claim, ClaimClass, CompanionClaim, Sampling, Study, locate_fault, parse};
use seekwise_lab::catalogue::studies::BUILT_IN;
use seekwise_lab::finding::Evidence;
use seekwise_lab::plan::{self, Cell, PreparedCell};
use seekwise_lab::run::RunRecord;
use seekwise_lab::study::EarlierRuns;
use serde::Serialize;

use crate::draw::ProfileDraw;
use crate::findings::{
    CatalogueClaim, catalogue_claims, changed_cells, checked_cells, distinct_settings_below,
    levels_repeated_by_ablation,
};

/// The answer to a finding, and how near it is to another.
pub use seekwise_lab::finding::{BoundDistance, ClaimAnswer, RangeVote};

/// The verdict on a finding.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ClaimVerdict {
    pub id: String,
    pub class: String,
    pub finding: String,
    pub condition: String,
    /// Null when no study carries it.
    pub figure: Option<String>,
    /// The answer. Only this field tells a whole finding from one in part, and a missing answer from a judgement.
    pub answer: ClaimAnswer,
    /// Null when it was not run, when there is nothing to check, when it is not decided, and for a judgement.
    pub reproduced: Option<bool>,
    /// How its checks read finding and condition.
    pub reading: Option<String>,
    /// The part of the finding that no check covers.
    pub unchecked: Option<String>,
    /// How far it is from its bounds.
    pub distance: Option<BoundDistance>,
    /// For a claim over a range: where in it all checks hold. More than half decide.
    pub vote: Option<RangeVote>,
    /// For a claim that holds only together with another: the outcome of that one, and whether one rule stands under both.
    pub with: Option<String>,
    pub mechanism: Option<String>,
    /// With `--ablate`: whether it fails without its mechanism. Null when it names no setting for that.
    pub ablated: Option<bool>,
    /// With `--ablate`: the levels of the study that equal the switched-off mechanism; empty when the switch is none of
    /// them.
    pub repeats: Vec<String>,
    /// For a finding of no difference: whether the planted one was detected.
    pub planted: Option<bool>,
    /// Mechanisms switched off and differences planted, with the outcomes.
    pub changed: Vec<String>,
    pub study: Option<String>,
    /// Why there is no answer.
    pub reason: Option<String>,
    /// The lines that a reader sees below finding and condition.
    #[serde(skip)]
    pub lines: Vec<String>,
}

/// Which claims are run, and how.
#[derive(Clone, Debug, Default)]
pub struct Claims {
    /// Findings, such as Q3; empty for all.
    pub ids: Vec<String>,
    /// Also run each claim's cells with its mechanism switched off: the claim must then fail.
    pub ablate: bool,
    /// Results go to this folder, one below it for each study; else nothing is kept.
    pub out: Option<std::path::PathBuf>,
    /// Replace results in the folder.
    pub force: bool,
    /// Go on with results that are there already.
    pub resume: bool,
    /// Cores to use; 0 is all.
    pub threads: usize,
    /// Independent runs of each cell, whatever the studies say.
    pub runs: Option<u32>,
    /// Draw every inferred figure within its range.
    pub draw: Option<ProfileDraw>,
    /// Where jobs, drives and results are read.
    pub files: Files,
}

/// How the studies are run, and into which folder.
struct ClaimsExecution<'a> {
    request: &'a Claims,
    bounds: &'a Bounds,
    folder: &'a Path,
    observer: &'a dyn Observer,
    /// Counts the runs of all studies.
    progress: Progress<'a>,
}

/// A study that was run.
struct FinishedStudy<'a> {
    name: &'a str,
    text: &'a str,
    planned: &'a PlannedStudy,
    evidence: Evidence<'a>,
}

/// A change with which the cells of a claim run again.
struct ClaimChange<'a> {
    /// "planted" or "ablated".
    word: &'static str,
    change: &'a CellChange,
}

/// The outcome of a claim's cells with a change.
struct ChangeOutcome {
    /// Whether the claim's condition then fails.
    fails: Option<bool>,
    /// The levels at which the study itself runs the changed cells.
    repeated_levels: Vec<String>,
}

/// A claim with the built-in study that contains it.
pub(crate) struct CarriedClaim {
    pub(crate) study_name: &'static str,
    pub(crate) study: Study,
    pub(crate) claim: Claim,
}

/// Runs the studies of the requested claims and judges the claims, in the sources' order.
pub fn run_and_judge_claims(
    request: &Claims,
    bounds: &Bounds,
    observer: &dyn Observer,
) -> Result<Vec<ClaimVerdict>, Error> {
    let catalogue = catalogue_claims();
    let wanted = wanted_claims(request, &catalogue)?;
    let temporary;
    let folder = match &request.out {
        Some(out) => out.as_path(),
        None => {
            temporary = create_temporary_folder().map_err(Error::new)?;
            temporary.path()
        }
    };
    let locked = results::lock_existing_folder(folder)?;
    let progress = Progress::begin(observer, Some(count_planned_runs(request, &wanted)?), 0);
    let execution = ClaimsExecution { request, bounds, folder, observer, progress };
    let mut judged: Vec<ClaimVerdict> = Vec::new();
    for &(name, text) in BUILT_IN {
        if !wanted_claims_of_study(&parse(name, text)?, &wanted).is_empty() {
            judged.extend(execution.run_study(name, text, &wanted)?);
        }
    }
    let verdict_on = |claim: &&CatalogueClaim| {
        let verdict = judged.iter().find(|verdict| verdict.id == claim.id).cloned();
        verdict.unwrap_or_else(|| verdict_without_study(claim))
    };
    let mut verdicts: Vec<ClaimVerdict> = wanted.iter().map(verdict_on).collect();
    drop(locked);
    judge_companion_claims(&request.files, &mut verdicts)?;
    Ok(verdicts)
}

/// The claims of `study` that are wanted.
fn wanted_claims_of_study<'a>(study: &'a Study, wanted: &[&CatalogueClaim]) -> Vec<&'a Claim> {
    study.claim.iter().filter(|claim| wanted.iter().any(|listed| listed.id == claim.id)).collect()
}

/// Counts the runs of all studies that the wanted claims need, and of their cells with a change.
fn count_planned_runs(request: &Claims, wanted: &[&CatalogueClaim]) -> Result<u64, Error> {
    let mut total = 0;
    for &(name, text) in BUILT_IN {
        let study = parse(name, text)?;
        let claims = wanted_claims_of_study(&study, wanted);
        if claims.is_empty() {
            continue;
        }
        let cells = plan::study_cells(&study);
        let count_changed = |claim: &Claim| -> usize {
            let changes = cell_changes(request, claim);
            changes.map(|ClaimChange { change, .. }| changed_cells(&study, &cells, claim, change).len()).sum()
        };
        let changed: usize = claims.iter().map(|claim| count_changed(claim)).sum();
        total += (cells.len() + changed) as u64 * u64::from(request.runs.unwrap_or(study.runs));
    }
    Ok(total)
}

/// The changes with which the cells of a claim run again.
fn cell_changes<'a>(request: &Claims, claim: &'a Claim) -> impl Iterator<Item = ClaimChange<'a>> {
    let checked = !claim.check.is_empty();
    let plant = claim.plant.as_ref().filter(|_| checked && claim.class == ClaimClass::N);
    let ablate = claim.ablate.as_ref().filter(|_| checked && request.ablate);
    let planted = plant.map(|change| ClaimChange { word: "planted", change });
    planted.into_iter().chain(ablate.map(|change| ClaimChange { word: "ablated", change }))
}

/// The requested findings, and those that they hold only together with, in the sources' order.
fn wanted_claims<'a>(request: &Claims, catalogue: &'a [CatalogueClaim]) -> Result<Vec<&'a CatalogueClaim>, Error> {
    let unknown = |id: &&String| !catalogue.iter().any(|claim| claim.id.eq_ignore_ascii_case(id));
    if let Some(id) = request.ids.iter().find(unknown) {
        let near = nearest(id, catalogue.iter().map(|claim| claim.id.as_str()));
        let hint = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        return Err(Error::new(format!("{id}: unknown finding; expected D1 to C28{hint}")));
    }
    let mut ids = request.ids.clone();
    for id in &request.ids {
        let companion = find_carried_claim(id)?.and_then(|carried| carried.claim.with);
        ids.extend(companion.map(|companion| companion.claim));
    }
    let requested = |claim: &&CatalogueClaim| ids.is_empty() || ids.iter().any(|id| claim.id.eq_ignore_ascii_case(id));
    Ok(catalogue.iter().filter(requested).collect())
}

/// Finds a claim in the built-in studies; `None` if no study contains it.
pub(crate) fn find_carried_claim(id: &str) -> Result<Option<CarriedClaim>, Error> {
    for &(study_name, text) in BUILT_IN {
        let study = parse(study_name, text)?;
        let claim = study.claim.iter().find(|claim| claim.id.eq_ignore_ascii_case(id)).cloned();
        if let Some(claim) = claim {
            return Ok(Some(CarriedClaim { study_name, study, claim }));
        }
    }
    Ok(None)
}

/// Judges the claims that hold only together with another: both must hold, with equal settings below the key that the claim
/// names.
fn judge_companion_claims(files: &Files, verdicts: &mut [ClaimVerdict]) -> Result<(), Error> {
    for index in 0..verdicts.len() {
        let Some(carried) = find_carried_claim(&verdicts[index].id)? else { continue };
        let Some(companion) = carried.claim.with.clone() else { continue };
        let verdict_on_companion = verdicts.iter().find(|verdict| verdict.id == companion.claim);
        let companion_reproduced = verdict_on_companion.and_then(|verdict| verdict.reproduced);
        let mut cells = prepare_checked_cells(files, &carried)?;
        if let Some(carried) = find_carried_claim(&companion.claim)? {
            cells.extend(prepare_checked_cells(files, &carried)?);
        }
        let set_alike = distinct_settings_below(&cells, &companion.same).len() == 1;
        judge_with_companion(&mut verdicts[index], &companion, companion_reproduced, set_alike);
    }
    Ok(())
}

/// Prepares the cells that a claim checks.
fn prepare_checked_cells(files: &Files, carried: &CarriedClaim) -> Result<Vec<PreparedCell>, Error> {
    let inputs = files.inputs();
    let prepare = |cell: &Cell| plan::prepare_cell(carried.study_name, cell, &inputs);
    Ok(checked_cells(&carried.study, &carried.claim).iter().map(prepare).collect::<Result<Vec<_>, _>>()?)
}

/// Judges a claim by the claim that it holds only together with: by its result, and by whether the settings that both must
/// share are equal.
fn judge_with_companion(
    verdict: &mut ClaimVerdict,
    companion: &CompanionClaim,
    companion_reproduced: Option<bool>,
    set_alike: bool,
) {
    let result = match companion_reproduced {
        Some(true) => "holds",
        Some(false) => "FAILS",
        None => "has no answer",
    };
    let rule = if set_alike { "is set alike under both" } else { "is not set alike under both" };
    let alone = verdict.reproduced;
    verdict.reproduced = match (alone, companion_reproduced) {
        (Some(true), Some(true)) => Some(set_alike),
        (Some(false), _) | (_, Some(false)) => Some(false),
        _ => None,
    };
    verdict.answer = match verdict.reproduced {
        Some(true) => verdict.answer,
        Some(false) => ClaimAnswer::NotReproduced,
        None => ClaimAnswer::NotDecided,
    };
    let own_checks = if alone == Some(true) && alone != verdict.reproduced { "; its own checks hold" } else { "" };
    let sentence = format!("{} {result}; {} {rule}{own_checks}", companion.claim, companion.same);
    verdict.lines.insert(0, format!("together with {sentence}"));
    verdict.with = Some(sentence);
}

/// The verdict on a finding that no study contains.
fn verdict_without_study(claim: &CatalogueClaim) -> ClaimVerdict {
    ClaimVerdict {
        id: claim.id.clone(),
        class: claim.class.clone(),
        finding: claim.finding.clone(),
        condition: claim.condition.clone(),
        reason: Some("no study carries it yet".to_owned()),
        ..ClaimVerdict::default()
    }
}

impl ClaimsExecution<'_> {
    /// Makes the missing runs of a plan and returns all records.
    fn run_missing(
        &self,
        planned: &PlannedStudy,
        earlier: Option<&EarlierRuns<'_>>,
        mut results: ResultFolder,
        done_records: Vec<RunRecord>,
        threads: usize,
    ) -> Result<Vec<RunRecord>, Error> {
        self.progress.add_ended(done_records.len() as u64);
        make_runs(planned, earlier, threads, &self.progress, done_records, &mut results)
    }

    fn study_options<'a>(&'a self, folder: &'a Path) -> StudyOptions<'a> {
        let request = self.request;
        let mut options = StudyOptions::into(folder);
        (options.resume, options.force, options.threads) = (request.resume, request.force, request.threads);
        (options.bounds, options.files) = (*self.bounds, request.files.clone());
        // Some checks read single runs of the length that the study says (docs/statistics.md).
        options.sampling = Some(Sampling::Fixed);
        options
    }

    /// Runs a study, and the changed cells of its wanted claims; judges these claims.
    fn run_study(&self, name: &str, text: &str, wanted: &[&CatalogueClaim]) -> Result<Vec<ClaimVerdict>, Error> {
        let text = self.request.runs.map_or_else(|| text.to_owned(), |runs| text_with_runs(text, runs));
        // The text is kept beside the results, so that one draw is not resumed as another.
        let text = self.request.draw.map_or(text.clone(), |draw| format!("# Draw {draw} of what is inferred.\n{text}"));
        let folder = results::checked_subfolder(self.folder, name)?;
        let plan = || match self.request.draw {
            Some(draw) => plan_with_draw(&self.request.files, name, &text, draw),
            None => study_plan::plan_file(&self.request.files, name, &text),
        };
        let opened = self.study_options(&folder).open(name, &text, plan, self.observer)?;
        let StudySession { planned, results, done, threads } = opened;
        warn_once(&planned.made.warnings);
        self.progress.report_work(name);
        let records = self.run_missing(&planned, None, results, done, threads)?;
        study::write_report(&planned.study, &planned.made, &records, &folder)?;
        let PlannedStudy { study, made, .. } = &planned;
        let evidence = Evidence::new(study, made, &records);
        let finished = FinishedStudy { name, text: &text, planned: &planned, evidence };
        let mut earlier = EarlierRuns::default();
        earlier.add(study, &planned.prepared, records.iter().map(Cow::Borrowed));
        let claims = wanted_claims_of_study(study, wanted);
        claims.into_iter().map(|claim| self.judge_claim(&finished, claim, &mut earlier)).collect()
    }

    /// Judges a claim by its study's runs, and runs its cells with each change.
    fn judge_claim(
        &self,
        finished: &FinishedStudy<'_>,
        claim: &Claim,
        earlier: &mut EarlierRuns<'_>,
    ) -> Result<ClaimVerdict, Error> {
        let judged = finished.evidence.judge_claim(claim);
        let mut verdict = ClaimVerdict {
            id: claim.id.clone(),
            class: claim.class.letter().to_owned(),
            finding: claim.finding.clone(),
            condition: claim.condition.clone(),
            figure: Some(judged.figure_line()),
            lines: judged.figure_lines(),
            reproduced: judged.holds.filter(|_| claim.class != ClaimClass::J),
            reading: claim.reading.clone(),
            unchecked: claim.unchecked.clone(),
            distance: judged.distance.clone(),
            vote: judged.vote.clone(),
            mechanism: Some(claim.mechanism.clone()),
            study: Some(finished.name.to_owned()),
            ..ClaimVerdict::default()
        };
        if claim.check.is_empty() {
            verdict.reason = Some("its figures are shown; there is nothing to hold or fail".to_owned());
            return Ok(verdict);
        }
        for claim_change in cell_changes(self.request, claim) {
            let ChangeOutcome { fails, repeated_levels } =
                self.run_changed_cells(finished, claim, &claim_change, earlier, &mut verdict)?;
            if claim_change.word == "planted" {
                verdict.planted = fails;
                // Cells that do not show the planted difference are no evidence that there is none.
                verdict.reproduced = judged.holds.filter(|_| fails == Some(true));
                if verdict.reproduced.is_none() {
                    verdict.reason = Some("the same cells do not show a planted difference".to_owned());
                }
                continue;
            }
            verdict.ablated = fails;
            if !repeated_levels.is_empty() {
                let levels = repeated_levels.join(" | ");
                verdict.lines.push(format!("its mechanism's switch is the study's other level: {levels}"));
            }
            verdict.repeats = repeated_levels;
        }
        let undecided = judged.undecided || verdict.planted == Some(false);
        verdict.answer = ClaimAnswer::classify(claim, verdict.reproduced, judged.holds, undecided);
        Ok(verdict)
    }

    /// Runs the cells of a claim with a change, judges the claim by them, and adds the outcome's lines to `verdict`. Cells that
    /// ran with the same settings earlier are not run again: a change may concern only some of the cells, and several claims may
    /// switch off one mechanism.
    fn run_changed_cells(
        &self,
        finished: &FinishedStudy<'_>,
        claim: &Claim,
        &ClaimChange { word, change }: &ClaimChange<'_>,
        earlier: &mut EarlierRuns<'_>,
        verdict: &mut ClaimVerdict,
    ) -> Result<ChangeOutcome, Error> {
        let FinishedStudy { name, text: study_text, planned, evidence: unchanged } = finished;
        let PlannedStudy { study, made, .. } = planned;
        // The text is kept beside the results, so that runs of another study or with another change are not resumed.
        let text = format!("# The cells of claim {} with {change}.\n{study_text}", claim.id);
        let plan = || {
            let cells: Vec<Cell> = made.cells.iter().map(|made| made.cell.clone()).collect();
            let cells = changed_cells(study, &cells, claim, change);
            let inputs = planned.inputs(&self.request.files);
            let prepared = study_plan::prepare_study(name, &text, study.clone(), &cells, &inputs);
            let located = |fault| locate_fault(name, study_text, fault);
            prepared.map_err(|faults| Error::from(faults.into_iter().map(located).collect::<Vec<_>>()))
        };
        let folder = results::checked_subfolder(
            &results::checked_subfolder(self.folder, name)?,
            &format!("{}-{word}", claim.id),
        )?;
        let opened = self.study_options(&folder).open(name, &text, plan, self.observer)?;
        let StudySession { planned: changed, results, done, threads } = opened;
        warn_once(&changed.made.warnings);
        self.progress.report_work(&format!("{name}, {} {word}", claim.id));
        let records = self.run_missing(&changed, Some(earlier), results, done, threads)?;
        let evidence = Evidence::new(&changed.study, &changed.made, &records);
        let checks_only = Claim { show: Vec::new(), ..claim.clone() };
        let judged = evidence.judge_claim(&checks_only);
        let fails = judged.holds.map(|holds| !holds);
        let repeated_levels = levels_repeated_by_ablation(unchanged, &evidence);
        verdict.changed.push(format!("{word}: {change}: {}", judged.figure_line()));
        verdict.lines.push(format!("{word}, {change}:"));
        verdict.lines.extend(judged.figure_lines().iter().map(|line| format!("  {line}")));
        earlier.add(&changed.study, &changed.prepared, records.into_iter().map(Cow::Owned));
        Ok(ChangeOutcome { fails, repeated_levels })
    }
}

/// Reads and prepares a study with every inferred figure as drawn.
fn plan_with_draw(files: &Files, name: &str, text: &str, draw: ProfileDraw) -> Result<PlannedStudy, Error> {
    let study = parse(name, text)?;
    let inputs = files.inputs();
    let cells = plan::study_cells(&study);
    let cells = cells.iter().map(|cell| draw.draw_cell(name, cell, &inputs)).collect::<Result<Vec<_>, _>>()?;
    Ok(study_plan::prepare_study(name, text, study, &cells, &inputs)?)
}

/// The study's text with another number of runs.
fn text_with_runs(text: &str, runs: u32) -> String {
    let (head, tables) = text.split_at(text.find("\n[").map_or(text.len(), |end| end + 1));
    let kept = head.lines().filter(|line| line.split('=').next().map(str::trim) != Some("runs"));
    let head: String = kept.map(|line| format!("{line}\n")).collect();
    format!("{}\nruns = {runs}\n\n{tables}", head.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The claims of all built-in studies.
    fn carried_claims() -> Vec<(&'static str, Claim)> {
        let claims_of = |&(name, text): &(&'static str, &str)| {
            parse(name, text).unwrap().claim.into_iter().map(move |claim| (name, claim))
        };
        BUILT_IN.iter().flat_map(claims_of).collect()
    }

    #[test]
    fn studies_repeat_the_list_of_findings() {
        let known = catalogue_claims();
        let carried = carried_claims();
        for (place, (name, claim)) in carried.iter().enumerate() {
            let listed =
                known.iter().find(|known| known.id == claim.id).unwrap_or_else(|| panic!("{name}: {}", claim.id));
            assert_eq!(claim.class.letter(), listed.class, "{name}: {}", claim.id);
            assert_eq!(claim.finding, listed.finding, "{name}: {}", claim.id);
            assert_eq!(claim.condition, listed.condition, "{name}: {}", claim.id);
            assert!(carried[..place].iter().all(|(_, other)| other.id != claim.id), "{} in two studies", claim.id);
        }
    }

    #[test]
    fn a_claim_that_holds_with_another_needs_it_and_its_rule() {
        let with = CompanionClaim { claim: "C4".to_owned(), same: "drive.cache.read_ahead".to_owned() };
        let judge = |alone, companion_reproduced, set_alike| {
            let mut verdict = ClaimVerdict { reproduced: alone, ..ClaimVerdict::default() };
            judge_with_companion(&mut verdict, &with, companion_reproduced, set_alike);
            (verdict.reproduced, verdict.with.unwrap())
        };
        let (yes, no) = (Some(true), Some(false));
        let rule = "drive.cache.read_ahead is set alike under both";
        assert_eq!(judge(yes, yes, true), (yes, format!("C4 holds; {rule}")));
        assert_eq!(judge(no, yes, true), (no, format!("C4 holds; {rule}")));
        assert_eq!(judge(yes, no, true), (no, format!("C4 FAILS; {rule}; its own checks hold")));
        assert_eq!(judge(yes, None, true), (None, format!("C4 has no answer; {rule}; its own checks hold")));
        let apart = "drive.cache.read_ahead is not set alike under both";
        assert_eq!(judge(yes, yes, false), (no, format!("C4 holds; {apart}; its own checks hold")));
    }

    #[test]
    fn settings_are_alike_below_a_key_or_not() {
        let carried = find_carried_claim("C4").unwrap().unwrap();
        let cells = prepare_checked_cells(&Files::default(), &carried).unwrap();
        assert_eq!(distinct_settings_below(&cells, "drive.cache.read_ahead").len(), 1);
        assert_eq!(
            distinct_settings_below(&cells, "drive.cache").len(),
            6,
            "one for each count of segments, and the adaptive one"
        );
    }

    #[test]
    fn what_a_claim_holds_with_is_carried_and_run_with_it() {
        for (name, claim) in carried_claims() {
            let Some(with) = &claim.with else { continue };
            assert!(
                with.claim != claim.id && find_carried_claim(&with.claim).unwrap().is_some(),
                "{name}: {}",
                claim.id
            );
            let all = catalogue_claims();
            let ids = vec![claim.id.to_lowercase()];
            let request = Claims { ids, ..Claims::default() };
            let ids: Vec<&str> = wanted_claims(&request, &all).unwrap().iter().map(|known| known.id.as_str()).collect();
            assert!(ids.contains(&with.claim.as_str()) && ids.contains(&claim.id.as_str()), "{ids:?}");
        }
    }

    #[test]
    fn a_change_changes_what_runs() {
        for &(name, text) in BUILT_IN {
            let study = parse(name, text).unwrap();
            let cells = plan::study_cells(&study);
            let inputs = Files::default().inputs();
            for claim in &study.claim {
                for change in claim.ablate.iter().chain(&claim.plant) {
                    let differs = changed_cells(&study, &cells, claim, change).into_iter().any(|cell| {
                        let before = cells.iter().find(|before| before.levels == cell.levels).unwrap();
                        let settings = |cell: &Cell| plan::prepare_cell(name, cell, &inputs).unwrap().settings;
                        *before != cell && settings(before) != settings(&cell)
                    });
                    assert!(differs, "{name}: {} with {change} is what it was", claim.id);
                }
            }
        }
    }

    /// A finding may be written down before a study carries it.
    #[test]
    fn what_no_study_carries_has_no_verdict() {
        let verdict = verdict_without_study(&catalogue_claims()[0]);
        assert_eq!((verdict.reproduced, verdict.ablated), (None, None));
        assert_eq!(verdict.reason.as_deref(), Some("no study carries it yet"));
    }

    #[test]
    fn every_carried_claim_has_its_paragraph() {
        let page =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/claims.md")).expect("the manual");
        for (name, claim) in carried_claims() {
            let heading = format!("\n### {}: ", claim.id);
            let paragraph =
                page.split(&heading).nth(1).unwrap_or_else(|| panic!("{name}: {} has no heading", claim.id));
            let words = paragraph.split("\n#").next().unwrap_or("").lines().skip(1).collect::<String>();
            assert!(words.split_whitespace().count() >= 10, "{name}: {} has no paragraph", claim.id);
        }
    }

    #[test]
    fn another_number_of_runs() {
        let text = "title = 't'\nquestion = 'q'\nruns = 5\n[[factor]]\nname = 'd'\nkey = 'job.depth'\nlevels = [1]\n";
        let study = parse("s.toml", &text_with_runs(text, 3)).unwrap();
        assert_eq!(study.runs, 3);
        assert_eq!(parse("s.toml", &text_with_runs(&text.replace("runs = 5\n", ""), 2)).unwrap().runs, 2);
    }
}
