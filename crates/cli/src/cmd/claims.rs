//! `seekwise claims`: runs the built-in studies that carry the sources' findings, and says of each whether it is
//! reproduced, with its figures; with `--ablate` also whether it fails without its mechanism.
//!
//! ```text
//! DIR/STUDY/             the study's result folder, as `seekwise study` makes it, report included
//! DIR/STUDY/ID-ablated/  the cells of one claim without its mechanism
//! DIR/STUDY/ID-planted/  the cells of one claim with a planted difference
//! ```

use std::path::Path;

use seekwise_formats::diagnostic::nearest;
use seekwise_formats::study::{Change, Claim, Class, parse, placed};
use seekwise_lab::claims::{Known, changed, known};
use seekwise_lab::finding::{Evidence, Judged};
use seekwise_lab::inputs::Inputs;
use seekwise_lab::plan::Cell;
use serde::Serialize;

use super::studies::BUILT_IN;
use super::study;
use super::{print, print_json, warn};
use crate::args;
use crate::exit::{Answer, Failure, Outcome};
use crate::files;
use crate::planned::{self, Planned};
use crate::tables;

/// What is said of a finding.
#[derive(Clone, Debug, Default, Serialize)]
struct Verdict {
    id: String,
    class: String,
    condition: String,
    /// Null when no study carries it.
    figure: Option<String>,
    /// Null when it was not run, or when there is nothing to check.
    reproduced: Option<bool>,
    mechanism: Option<String>,
    /// With `--ablate`: whether it fails without its mechanism. Null when it names no setting for that.
    ablated: Option<bool>,
    /// Of a finding of no difference: whether the planted one was detected.
    planted: Option<bool>,
    /// What was switched off or planted, and what came of it.
    changed: Vec<String>,
    study: Option<String>,
    /// Why there is no answer.
    reason: Option<String>,
    /// What a reader sees below the condition.
    #[serde(skip)]
    lines: Vec<String>,
}

/// How the studies are run.
struct Running<'a> {
    args: &'a args::Claims,
    folder: &'a Path,
}

/// Runs the command.
pub fn claims(args: &args::Claims, json: bool) -> Outcome {
    let all = known();
    let wanted = wanted(args, &all)?;
    let kept;
    let folder = match &args.out {
        Some(out) => out.as_path(),
        None => {
            kept = tempfile::tempdir()?;
            kept.path()
        }
    };
    let running = Running { args, folder };
    let mut verdicts: Vec<Verdict> = Vec::new();
    for &(name, text) in BUILT_IN {
        let carries = parse(name, text)?.claim.iter().any(|claim| wanted.iter().any(|known| known.0 == claim.id));
        if carries {
            verdicts.extend(running.study(name, text, &wanted)?);
        }
    }
    let verdicts: Vec<Verdict> = wanted
        .iter()
        .map(|known| verdicts.iter().find(|verdict| verdict.id == known.0).cloned().unwrap_or_else(|| absent(known)))
        .collect();
    match json {
        true => print_json(&serde_json::json!({ "claims": verdicts }))?,
        false => print(&tables(&verdicts))?,
    }
    let fails = |verdict: &Verdict| verdict.reproduced == Some(false) || verdict.ablated == Some(false);
    Ok(if verdicts.iter().any(fails) { Answer::No } else { Answer::Done })
}

/// The findings asked for, in the sources' order.
fn wanted<'a>(args: &args::Claims, all: &'a [Known]) -> Result<Vec<&'a Known>, Failure> {
    let unknown = |id: &&String| !all.iter().any(|known| known.0.eq_ignore_ascii_case(id));
    if let Some(id) = args.ids.iter().find(unknown) {
        let near = nearest(id, all.iter().map(|known| known.0.as_str()));
        let hint = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        return Err(Failure::new(format!("{id}: no such finding; expected D1 to C28{hint}")));
    }
    let asked = |known: &&Known| args.ids.is_empty() || args.ids.iter().any(|id| known.0.eq_ignore_ascii_case(id));
    Ok(all.iter().filter(asked).collect())
}

/// What is said of a finding that no study carries.
fn absent(Known(id, class, condition): &Known) -> Verdict {
    Verdict {
        id: id.clone(),
        class: class.clone(),
        condition: condition.clone(),
        reason: Some("no study carries it yet".to_owned()),
        ..Verdict::default()
    }
}

impl Running<'_> {
    /// Runs a study and what its wanted claims need beside it.
    fn study(&self, name: &str, text: &str, wanted: &[&Known]) -> Result<Vec<Verdict>, Failure> {
        let text = self.args.runs.map_or_else(|| text.to_owned(), |runs| with_runs(text, runs));
        let folder = self.folder.join(name);
        let plan = || planned::plan_file(name, &text);
        let (planned, results, done) = planned::open(name, &text, &folder, self.args.resume, plan)?;
        warn(&planned.made.warnings);
        let records = study::run(&planned, results, done, self.args.threads, &format!("{name} "))?;
        study::write_report(&planned.study, &planned.made, &records, &folder)?;
        let Planned { study, made, .. } = &planned;
        let evidence = Evidence::new(study, made, &records);
        let carried = study.claim.iter().filter(|claim| wanted.iter().any(|known| known.0 == claim.id));
        carried.map(|claim| self.claim(name, &planned, &evidence.judge_claim(claim))).collect()
    }

    fn claim(&self, name: &str, planned: &Planned, judged: &Judged<'_>) -> Result<Verdict, Failure> {
        let claim = judged.claim;
        let mut verdict = Verdict {
            id: claim.id.clone(),
            class: claim.class.letter().to_owned(),
            condition: claim.condition.clone(),
            figure: Some(judged.figure()),
            lines: judged.figures(),
            reproduced: judged.holds,
            mechanism: Some(claim.mechanism.clone()),
            study: Some(name.to_owned()),
            ..Verdict::default()
        };
        if claim.check.is_empty() {
            verdict.reason = Some("its figures are shown; there is nothing to hold or fail".to_owned());
            return Ok(verdict);
        }
        if let Some(change) = claim.plant.as_ref().filter(|_| claim.class == Class::N) {
            let detected = self.again(name, planned, claim, change, "planted", &mut verdict)?;
            verdict.planted = detected;
            // A bench that does not see the planted difference says nothing about the one that was looked for.
            verdict.reproduced = judged.holds.and_then(|holds| if detected == Some(true) { Some(holds) } else { None });
            if verdict.reproduced.is_none() {
                verdict.reason = Some("the same cells do not show a planted difference".to_owned());
            }
        }
        if let Some(change) = claim.ablate.as_ref().filter(|_| self.args.ablate) {
            verdict.ablated = self.again(name, planned, claim, change, "ablated", &mut verdict)?;
        }
        Ok(verdict)
    }

    /// Runs the cells of a claim with a change, and says whether its condition then fails.
    fn again(
        &self,
        name: &str,
        planned: &Planned,
        claim: &Claim,
        change: &Change,
        how: &str,
        verdict: &mut Verdict,
    ) -> Result<Option<bool>, Failure> {
        let Planned { study, made, .. } = planned;
        // Kept beside the results, so that a change of the study, or of what is changed, is not resumed.
        let text = format!("# The cells of claim {} with {change}.\n{}", claim.id, planned.text);
        let plan = || {
            let cells: Vec<Cell> = made.cells.iter().map(|made| made.cell.clone()).collect();
            let cells = changed(study, &cells, claim, change);
            let prepared = planned::prepare(name, text.clone(), study.clone(), cells, &Inputs::today(&files::text));
            let located = |fault| placed(name, &planned.text, fault);
            prepared.map_err(|faults| Failure::from(faults.into_iter().map(located).collect::<Vec<_>>()))
        };
        let folder = self.folder.join(name).join(format!("{}-{how}", claim.id));
        let (changed, results, done) = planned::open(name, &text, &folder, self.args.resume, plan)?;
        warn(&changed.made.warnings);
        let bar = format!("{name}, {} {how} ", claim.id);
        let records = study::run(&changed, results, done, self.args.threads, &bar)?;
        let evidence = Evidence::new(&changed.study, &changed.made, &records);
        let bare = Claim { show: Vec::new(), ..claim.clone() };
        let judged = evidence.judge_claim(&bare);
        verdict.changed.push(format!("{how}: {change}: {}", judged.figure()));
        verdict.lines.push(format!("{how}, {change}:"));
        verdict.lines.extend(judged.figures().iter().map(|line| format!("  {line}")));
        Ok(judged.holds.map(|holds| !holds))
    }
}

/// The study's text with another number of runs.
fn with_runs(text: &str, runs: u32) -> String {
    let (head, tables) = text.split_at(text.find("\n[").map_or(text.len(), |end| end + 1));
    let kept = head.lines().filter(|line| line.split('=').next().map(str::trim) != Some("runs"));
    let head: String = kept.map(|line| format!("{line}\n")).collect();
    format!("{}\nruns = {runs}\n\n{tables}", head.trim_end())
}

fn tables(verdicts: &[Verdict]) -> String {
    let mut table = tables::table(["claim", "class", "reproduced", "figures and what was wanted"]);
    let ran = || verdicts.iter().filter(|verdict| verdict.study.is_some());
    for verdict in ran() {
        let mut said = vec![verdict.condition.clone()];
        said.extend(verdict.lines.iter().cloned());
        said.extend(verdict.reason.iter().cloned());
        table.add_row([&verdict.id, &verdict.class, word(verdict), said.join("\n").as_str()]);
    }
    let mut text = if ran().next().is_some() { format!("{table}\n\n") } else { String::new() };
    let count = |fits: &dyn Fn(&Verdict) -> bool| verdicts.iter().filter(|verdict| fits(verdict)).count();
    let (yes, no) = (count(&|v| v.reproduced == Some(true)), count(&|v| v.reproduced == Some(false)));
    let shown = count(&|v| v.study.is_some() && v.reproduced.is_none());
    let absent: Vec<&str> = verdicts.iter().filter(|v| v.study.is_none()).map(|v| v.id.as_str()).collect();
    text.push_str(&format!("{yes} reproduced, {no} not, {shown} without an answer, {} not run.\n", absent.len()));
    if !absent.is_empty() {
        text.push_str(&format!("Not run, because no study carries them yet: {}.\n", absent.join(", ")));
    }
    text
}

/// The verdict in a word or two.
fn word(verdict: &Verdict) -> &'static str {
    match (verdict.reproduced, verdict.ablated) {
        (Some(true), Some(true)) => "yes; fails without its mechanism",
        (Some(true), Some(false)) => "yes, but ALSO WITHOUT its mechanism",
        (Some(true), None) => "yes",
        (Some(false), _) => "NO",
        (None, _) => "–",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_lab::plan;

    /// The claims of all built-in studies.
    fn carried() -> Vec<(&'static str, Claim)> {
        let of = |&(name, text): &(&'static str, &str)| {
            parse(name, text).unwrap().claim.into_iter().map(move |claim| (name, claim))
        };
        BUILT_IN.iter().flat_map(of).collect()
    }

    #[test]
    fn studies_repeat_the_list_of_findings() {
        let known = known();
        let carried = carried();
        for (place, (name, claim)) in carried.iter().enumerate() {
            let Known(_, class, condition) =
                known.iter().find(|known| known.0 == claim.id).unwrap_or_else(|| panic!("{name}: {}", claim.id));
            assert_eq!((claim.class.letter(), &claim.condition), (class.as_str(), condition), "{name}: {}", claim.id);
            assert!(carried[..place].iter().all(|(_, other)| other.id != claim.id), "{} in two studies", claim.id);
        }
    }

    #[test]
    fn a_change_changes_what_runs() {
        for &(name, text) in BUILT_IN {
            let study = parse(name, text).unwrap();
            let cells = plan::cells(&study);
            for claim in &study.claim {
                for change in claim.ablate.iter().chain(&claim.plant) {
                    let differs = changed(&study, &cells, claim, change).into_iter().any(|cell| {
                        let before = cells.iter().find(|before| before.levels == cell.levels).unwrap();
                        let inputs = Inputs::today(&files::text);
                        let settings = |cell: &Cell| plan::prepare(name, cell, &inputs).unwrap().settings;
                        *before != cell && settings(before) != settings(&cell)
                    });
                    assert!(differs, "{name}: {} with {change} is what it was", claim.id);
                }
            }
        }
    }

    /// What each comparison of each built-in study may not be credited with.
    #[test]
    fn no_headline_of_a_built_in_study_is_refused() {
        for &(name, text) in BUILT_IN {
            let Planned { study, made, .. } = planned::plan_file(name, text).unwrap();
            for finding in Evidence::new(&study, &made, &[]).findings().0 {
                let compare = &study.compare[finding.compare];
                assert!(
                    finding.refused.is_none() || !compare.headline,
                    "{name}: {}: {:?}",
                    compare.name,
                    finding.refused
                );
            }
        }
    }

    #[test]
    fn every_carried_claim_has_its_paragraph() {
        let page = include_str!("../../../../docs/claims.md");
        for (name, claim) in carried() {
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
        let study = parse("s.toml", &with_runs(text, 3)).unwrap();
        assert_eq!(study.runs, 3);
        assert_eq!(parse("s.toml", &with_runs(&text.replace("runs = 5\n", ""), 2)).unwrap().runs, 2);
    }
}
