//! The output of `seekwise crash` as text and JSON: how many cuts had which outcome, the first cut of each bad outcome, and the fewest
//! lost writes that cause the worst.

use std::collections::BTreeMap;

use seekwise::answer::ProgramVersion;
use seekwise::crash::{
    CheckProof, CrashFinding, CrashTrial, CrashVerdict, ExpectedOutcome, FileSystemKind, InstantReason, LostWrite,
    MinimalSet, NoticedChange, ShrinkResult, StandingData, StandingState, landing_time,
};
use seekwise::pictures::Page;
use seekwise::power_cut::{list_levels, list_settings};
use seekwise::time::Instant;
use serde_json::{Value, json};

use super::find::KeptFile;
use super::plan::CrashPlan;
use super::timeline::CutSession;
use super::{CrashReport, WorstMedium, layer, recovery, timeline, unflushed};
use crate::args;
use crate::screen::{UNWRAPPED, wrap_text};
use crate::tables;
use seekwise::reading::display_name;

/// The most entries of a list of lost writes, files or names.
pub const MOST_NAMED: usize = 12;

/// Converts an instant of the disk's time to seconds.
pub fn to_seconds(instant: Instant) -> f64 {
    instant.nanos() as f64 / 1e9
}

/// Counts of trials by verdict.
#[derive(Default)]
pub struct VerdictCounts {
    by_verdict: BTreeMap<CrashVerdict, u64>,
    /// Trials that are bad only because of unreadable sectors; they are not in `by_verdict`.
    unreadable: u64,
}

impl VerdictCounts {
    /// Counts these trials.
    pub fn of_trials<'a>(trials: impl Iterator<Item = &'a CrashTrial>) -> VerdictCounts {
        let mut counts = VerdictCounts::default();
        for trial in trials {
            match trial.finding.verdict.is_bad() && !trial.is_bad() {
                true => counts.unreadable += 1,
                false => *counts.by_verdict.entry(trial.finding.verdict).or_insert(0) += 1,
            }
        }
        counts
    }

    /// Trials with this verdict.
    pub fn with_verdict(&self, verdict: CrashVerdict) -> u64 {
        self.by_verdict.get(&verdict).copied().unwrap_or(0)
    }
}

/// The trials of cuts with the lost writes that the model drew.
fn modelled_trials(report: &CrashReport) -> impl Iterator<Item = &CrashTrial> {
    report.outcome.tried.iter().filter(|tried| tried.case.order.is_none())
}

/// The trials of cuts with other sets of lost writes that the standards allow (`--orders`).
fn other_order_trials(report: &CrashReport) -> impl Iterator<Item = &CrashTrial> {
    report.outcome.tried.iter().filter(|tried| tried.case.order.is_some())
}

/// The recipe or workload, its target and settings.
pub fn report_title(args: &args::CrashArgs, plan: &CrashPlan) -> String {
    let name = args.recipe.as_deref().unwrap_or("the workload");
    let set: Vec<String> = args.set.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    let set = if set.is_empty() { String::new() } else { format!(" with {}", set.join(", ")) };
    format!("{} on {}{set}", display_name(name), display_name(&plan.target))
}

/// The session: how long it took, and its requests.
fn session_sentence(args: &args::CrashArgs, plan: &CrashPlan, report: &CrashReport) -> String {
    let outcome = &report.outcome;
    let (from, to) = report.recorded.history.marked_span().unwrap_or((Instant::ZERO, Instant::ZERO));
    let promises = report.recorded.history.promises_until(to).count();
    format!(
        "{}: {:.1} s of the disk's time, {} writes, {} flushes, {promises} promises.",
        report_title(args, plan),
        to_seconds(to) - to_seconds(from),
        outcome.writes.len(),
        report.recorded.receipt.flushes
    )
}

/// The report as text, wrapped to `width`.
pub fn format_report(args: &args::CrashArgs, plan: &CrashPlan, report: &CrashReport, width: usize) -> String {
    let head = wrap_text(&session_sentence(args, plan, report), width);
    let paragraphs = [session_paragraphs(args, plan, report, width), cause_paragraphs(args, plan, report, width)];
    let paragraphs = paragraphs.concat().join("\n\n");
    let levels = report.recoveries.as_ref().map(|it| recovery::levels_table(&report.outcome, &it.results));
    let levels = levels.map_or(String::new(), |table| format!("\n\n{table}"));
    let again = again_text(report, width).map_or(String::new(), |text| format!("\n\n{text}"));
    format!("{head}\n\n{}{levels}\n\n{paragraphs}{again}", outcome_table(report))
}

/// The way to the medium of the worst find; `None` if nothing is bad.
fn again_text(report: &CrashReport, width: usize) -> Option<String> {
    match &report.kept {
        Some(kept) => Some(format!("{}\n  {}", wrap_text(&kept.sentence(), width), kept.command())),
        None if count_bad(report) > 0 => {
            let words = "A session runs in real time and does not repeat: --keep FILE keeps the worst medium, to be made again byte for byte.";
            Some(wrap_text(words, width))
        }
        None => None,
    }
}

/// The report as a page.
pub fn report_page(args: &args::CrashArgs, plan: &CrashPlan, report: &CrashReport) -> Page {
    let tried = modelled_trials(report).count();
    let bad = modelled_trials(report).filter(|tried| tried.is_bad()).count();
    let recovers = report.recoveries.as_ref().is_none_or(|recoveries| !recoveries.results.is_bad());
    let answer = match bad {
        0 if !recovers => {
            "No: after a recovery that was cut, something was lost that had been promised, or damaged.".to_owned()
        }
        0 => format!("Yes: {tried} cuts, and after none of them anything was lost that had been promised, or damaged."),
        _ => format!("No: after {bad} of {tried} cuts something was lost that had been promised, or damaged."),
    };
    let question = format!("Does {} keep its promises after a power cut?", report_title(args, plan));
    let mut page = Page::new(question, answer);
    let (heads, rows) = outcome_table(report).headings_and_rows();
    page.add_table("Cuts by what the check found", &heads, rows);
    if let Some(recoveries) = &report.recoveries {
        let (heads, rows) = recovery::levels_table(&report.outcome, &recoveries.results).headings_and_rows();
        page.add_table("Cuts of recoveries", &heads, rows);
    }
    let causes = cause_paragraphs(args, plan, report, UNWRAPPED);
    causes.iter().for_each(|paragraph| page.add_paragraph(paragraph.trim()));
    let first = report.worst.as_ref().map(|worst| CutSession::of_workload(report, worst));
    for session in first.into_iter().chain(report.recoveries.as_ref().and_then(CutSession::of_worst_chain)) {
        page.add_table(&session.heading(), &timeline::heads(), session.rows());
    }
    if let Some(kept) = &report.kept {
        page.add_paragraph(&kept.sentence());
        page.add_command(&kept.command());
    }
    page.add_paragraph(&session_sentence(args, plan, report));
    let paragraphs = session_paragraphs(args, plan, report, UNWRAPPED);
    paragraphs.iter().for_each(|paragraph| page.add_paragraph(paragraph.trim()));
    page
}

/// The session, the cuts and the check, wrapped to `width`.
fn session_paragraphs(args: &args::CrashArgs, plan: &CrashPlan, report: &CrashReport, width: usize) -> Vec<String> {
    let outcome = &report.outcome;
    let tried = outcome.tried.len();
    let checked =
        format!("Checked: the {} different media among {tried}. {}", outcome.checked, disk_verdict(args, report));
    let expectation = expectation_text(plan, report);
    let mut paragraphs: Vec<String> = expectation.into_iter().chain(layer::layer_text(args, report)).collect();
    paragraphs.extend([checked, weighting_text(plan, report), proof_text(&report.proof)]);
    for (verdict, (state, _)) in &outcome.first {
        if let Some(tried) = outcome.tried.iter().find(|tried| tried.state == *state) {
            paragraphs.push(format!("The first {}: {}.", verdict.words(), trial_text(tried)));
        }
    }
    paragraphs.iter_mut().for_each(|paragraph| *paragraph = wrap_text(paragraph, width));
    paragraphs
}

/// The causes of bad media, wrapped to `width`.
fn cause_paragraphs(args: &args::CrashArgs, plan: &CrashPlan, report: &CrashReport, width: usize) -> Vec<String> {
    let mut paragraphs = Vec::new();
    if let Some(worst) = &report.worst {
        let reason = "The program promised before the disk had received what it promised";
        paragraphs.push(fewest_writes_text(worst, reason, width));
        let is_analysed = |system: &FileSystemKind| ["ext4", "xfs"].contains(&system.name());
        let known = plan.system.as_ref().is_none_or(is_analysed);
        if let (Some(system), ShrinkResult::To { .. }, false) = (&plan.system, &worst.shrunk, known) {
            let words = format!(
                "Only ext4 and XFS are analysed, so what these writes were for on {} is unknown.",
                system.name()
            );
            paragraphs.push(wrap_text(&words, width));
        }
    }
    if report.outcome.tried.iter().any(|tried| tried.finding.verdict > CrashVerdict::Consistent) {
        let missing = unflushed::missing_data_text(report, width);
        paragraphs.extend(missing.split("\n\n").filter(|text| !text.is_empty()).map(str::to_owned));
    }
    paragraphs.extend(report.recoveries.iter().flat_map(|recoveries| recovery::paragraphs(args, recoveries, width)));
    paragraphs
}

/// The program with its version, its promise, and whether the cuts came out as its documentation leads one to expect.
fn expectation_text(plan: &CrashPlan, report: &CrashReport) -> Option<String> {
    let promises = plan.recipe.promises.as_ref().map(|words| format!("Its promise: {words}."));
    let bad = count_bad(report);
    let outcome = plan.recipe.expect.map(|expected| match (expected, expected.is_met_by(bad)) {
        (ExpectedOutcome::Kept, true) => "The cuts agree: nothing promised was lost or damaged.".to_owned(),
        (ExpectedOutcome::Kept, false) => "The cuts disagree: some lost or damaged what was promised.".to_owned(),
        (ExpectedOutcome::Broken, true) => {
            "As expected of this mode, some cuts lost or damaged what it had acknowledged.".to_owned()
        }
        (ExpectedOutcome::Broken, false) => {
            "Losses are expected of this mode, but no cut showed one: try more cuts, or --orders 4.".to_owned()
        }
    });
    let version = report.version.as_ref().map(|version| format!("The program: {version}."));
    let sentences: Vec<String> = [version, promises, outcome].into_iter().flatten().collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// The columns of the table of outcomes, each with the reasons for instants of cuts that it counts.
const REASON_COLUMNS: [(&str, &[InstantReason]); 4] = [
    ("at flushes", &[InstantReason::Flushed, InstantReason::Unflushed]),
    ("in landings", &[InstantReason::Landing]),
    ("after promises", &[InstantReason::Promised]),
    ("at any time", &[InstantReason::Drawn]),
];

/// The trials of cuts at instants that were chosen for one of these reasons.
fn trials_with_reasons<'a>(
    report: &'a CrashReport,
    reasons: &'static [InstantReason],
) -> impl Iterator<Item = &'a CrashTrial> {
    modelled_trials(report).filter(move |tried| reasons.contains(&tried.case.why))
}

/// The number of cuts with each outcome: all, by the reason of their instants, and with other orders.
fn outcome_table(report: &CrashReport) -> tables::Table {
    let mut columns = vec![("cuts", VerdictCounts::of_trials(modelled_trials(report)))];
    columns.extend(
        REASON_COLUMNS.map(|(name, reasons)| (name, VerdictCounts::of_trials(trials_with_reasons(report, reasons)))),
    );
    if other_order_trials(report).next().is_some() {
        columns.push(("other orders", VerdictCounts::of_trials(other_order_trials(report))));
    }
    let headings = columns.iter().map(|(heading, _)| (*heading).to_owned());
    let mut table = tables::table_with_headings(["outcome".to_owned()].into_iter().chain(headings).collect());
    tables::mark_figures_from(&mut table, 1);
    // A narrow screen keeps the columns of all cuts, of those at any time and of other orders.
    tables::mark_dispensable(&mut table, &REASON_COLUMNS.map(|reason| reason.0)[..3]);
    for verdict in CrashVerdict::ALL {
        let figures = columns.iter().map(|(_, counts)| counts.with_verdict(verdict).to_string());
        table.add_row([verdict.words().to_owned()].into_iter().chain(figures));
    }
    if columns.iter().any(|(_, counts)| counts.unreadable > 0) {
        let figures = columns.iter().map(|(_, counts)| counts.unreadable.to_string());
        table.add_row(["bad because of an unreadable sector".to_owned()].into_iter().chain(figures));
    }
    table
}

/// How the instants of cuts were chosen, and which of the cuts say how likely a power failure does harm.
fn weighting_text(plan: &CrashPlan, report: &CrashReport) -> String {
    let history = &report.recorded.history;
    let (from, to) = history.marked_span().unwrap_or((Instant::ZERO, Instant::ZERO));
    let counts = REASON_COLUMNS.map(|(_, reasons)| trials_with_reasons(report, reasons).count());
    let [flushes, landings, promised, drawn] = counts;
    let bad = trials_with_reasons(report, REASON_COLUMNS[3].1).filter(|tried| tried.is_bad()).count();
    let anywhere = format!("{drawn} evenly over the whole {:.3} s", to_seconds(to) - to_seconds(from));
    let weights = match flushes + landings + promised {
        0 => format!("The cuts: {anywhere}."),
        _ => format!(
            "The cuts: {flushes} just before and after the ends of flushes, {landings} evenly over the {:.3} s in which the heads wrote, \
             {promised} just after promises, {anywhere}.",
            landing_time(history, (from, to)).nanos() as f64 / 1e9
        ),
    };
    let share = match drawn {
        0 => String::new(),
        _ => format!(" Only the last say how likely a power failure does harm: {bad} of {drawn}."),
    };
    let partial = match report.outcome.partial {
        0 => String::new(),
        1 => " At 1 cut a write was on the medium in part: some of its sectors were new, others old.".to_owned(),
        n => format!(" At {n} cuts a write was on the medium in part: some of its sectors were new, others old."),
    };
    let may_lose = match plan.recipe.may_lose.nanos {
        0 => String::new(),
        _ => format!(" Promises younger than {} may be lost.", plan.recipe.may_lose),
    };
    format!("{weights}{share}{partial}{may_lose}")
}

/// The media with a known answer on which the check was tried, and the changes that it noticed.
fn proof_text(proof: &CheckProof) -> String {
    let mut noticed = Vec::new();
    if proof.empty.is_some() {
        noticed.push("the loss of all that was promised".to_owned());
    }
    noticed.extend(proof.removed.iter().map(|noticed_change| format!("a missing record ({})", noticed_change.change)));
    noticed.extend(proof.altered.iter().map(|noticed_change| format!("an altered one ({})", noticed_change.change)));
    if let Some(first) = proof.early.first() {
        noticed.push(format!(
            "changes of records of early promises ({}, first of {})",
            first.change,
            proof.early.len()
        ));
    }
    let mut untried = Vec::new();
    if proof.empty.is_none() {
        untried.push("a loss, for nothing was promised");
    } else if proof.removed.is_none() {
        untried.push("one missing record");
    }
    if proof.altered.is_none() {
        untried.push("an altered one, for no changed byte was found");
    }
    let untried = match untried.is_empty() {
        true => String::new(),
        false => format!(" Not tried: {}.", untried.join("; ")),
    };
    let unnoticed = match &proof.unnoticed[..] {
        [] => String::new(),
        files => format!(
            " It did not notice another byte in {}: a loss there is not found. Do these hold nothing that was promised?",
            files.join(", ")
        ),
    };
    let notices = if noticed.is_empty() { String::new() } else { format!(", and notices {}", noticed.join(", ")) };
    format!("The check was tried before: it passes with all that was written{notices}.{untried}{unnoticed}")
}

/// A tenth of a speed, rounded to three digits, since 0.7 / 10 is 0.06999999999999999 in binary.
fn tenth_of_speed(speed: f64) -> f64 {
    format!("{:.2e}", speed / 10.0).parse().expect("a number that was just written")
}

/// Whether the disk kept its own promises, and if not, which settings are the cause.
fn disk_verdict(args: &args::CrashArgs, report: &CrashReport) -> String {
    match report.outcome.disk_broke {
        0 => "The disk kept its promises: no cut lost a write that it had promised.".to_owned(),
        count => {
            let causes = &report.outcome.broken_by;
            let cause_sentence = match causes.is_empty() {
                true => String::new(),
                false => format!(" The cause is {}: {}.", list_levels(causes), list_settings(causes)),
            };
            let cuts = if count == 1 { "1 cut" } else { &format!("{count} cuts") };
            let broke =
                format!("The disk broke its promises: {cuts} lost writes that it had promised.{cause_sentence}");
            match report.outcome.tried.iter().any(CrashTrial::is_bad) {
                true => broke,
                // See docs/crash.md, Time.
                false => format!(
                    "{broke} The workload had not yet printed a promise for these writes, or its check does not look at them. With \
                     --speed {} its promises are known ten times earlier in the disk's time.",
                    tenth_of_speed(args.speed)
                ),
            }
        }
    }
}

fn trial_text(tried: &CrashTrial) -> String {
    let case = &tried.case;
    let order = case.order.map_or(String::new(), |number| format!(", order {number}"));
    format!(
        "at {:.6} s ({}{order}), after {} promises: {}",
        to_seconds(case.at),
        case.why.words(),
        case.promises,
        check_words(&tried.finding)
    )
}

/// The fewest lost writes, in words; if they are not the cause, the reason.
pub fn fewest_writes_text(worst: &WorstMedium, reason_if_not_lost: &str, width: usize) -> String {
    let (MinimalSet { left, trials, complete }, lost_count, finding) = match &worst.shrunk {
        ShrinkResult::To { lost, of: lost_count, finding } => (lost, lost_count, finding),
        ShrinkResult::NotAgain(finding) => {
            let words = format!("The same medium was checked again and was {}", finding.verdict.words());
            return wrap_text(
                &format!("{words} this time ({}): the check is not deterministic.", check_words(finding)),
                width,
            );
        }
        ShrinkResult::NotLost { of: lost_count, finding } => {
            let all = match lost_count {
                0 => "everything that the disk had received is on the medium".to_owned(),
                1 => {
                    format!("with the lost write restored, the check gives the same result ({})", check_words(finding))
                }
                n => format!(
                    "with the {n} lost writes restored, the check gives the same result ({})",
                    check_words(finding)
                ),
            };
            return wrap_text(&format!("Lost writes are not the cause: {all}. {reason_if_not_lost}."), width);
        }
    };
    let enough = match (*complete, left.len()) {
        (true, 1) => "1 is enough".to_owned(),
        (true, n) => format!("{n} are enough, and none of them can be left out"),
        (false, n) => format!("{n} are enough, as far as tried"),
    };
    let head = format!("Of the {lost_count} writes lost there, {enough} ({trials} trials): {}.", check_words(finding));
    let mut text = wrap_text(&head, width);
    for lost in left.iter().take(MOST_NAMED) {
        let standing = worst.standing.get(&lost.write.stamp);
        let lines = [Some(lost_write_line(worst, lost)), standing.map(StandingData::words)];
        for (line, indent) in lines.into_iter().flatten().zip(["  ", "    "]) {
            let line = wrap_text(&line, width.saturating_sub(2 + indent.len())).replace('\n', &format!("\n  {indent}"));
            text.push_str(&format!("\n{indent}{line}"));
        }
    }
    if left.len() > MOST_NAMED {
        text.push_str(&format!("\n  and {} more", left.len() - MOST_NAMED));
    }
    text
}

/// The words that a check printed.
pub fn check_words(finding: &CrashFinding) -> &str {
    if finding.words.is_empty() { "the check said nothing" } else { finding.words.trim_end_matches('.') }
}

fn lost_write_line(worst: &WorstMedium, lost: &LostWrite) -> String {
    let (tried, write) = (&worst.tried, &lost.write);
    let sectors: u64 = lost.parts.iter().map(|run| run.1 - run.0).sum();
    let write_sectors = write.run.1 - write.run.0;
    let part = if sectors == write_sectors {
        format!("{write_sectors} sectors")
    } else {
        format!("{sectors} of {write_sectors} sectors")
    };
    let promised = match () {
        () if write.durable <= tried.case.at => format!("promised at {:.6} s", to_seconds(write.durable)),
        () if write.over <= tried.case.at => format!("acknowledged at {:.6} s, not flushed", to_seconds(write.over)),
        () => "not acknowledged".to_owned(),
    };
    let purpose = worst.purposes.get(&write.stamp).map(|purpose| format!("; {purpose}"));
    format!(
        "write {} to sector {}, {part}, accepted at {:.6} s, {promised}{}",
        write.stamp,
        write.run.0,
        to_seconds(write.taken),
        purpose.unwrap_or_default()
    )
}

/// The report as JSON.
pub fn report_json(args: &args::CrashArgs, plan: &CrashPlan, report: &CrashReport) -> Value {
    let outcome = &report.outcome;
    let (from, to) = report.recorded.history.marked_span().unwrap_or((Instant::ZERO, Instant::ZERO));
    let first = outcome.first.values().filter_map(|(state, _)| outcome.tried.iter().find(|it| it.state == *state));
    let late = report.worst.as_ref().and_then(|worst| worst.received_later.as_ref());
    let ProgramVersion { version, build } = ProgramVersion::current();
    json!({
        "target": plan.target, "recipe": args.recipe, "program": report.version, "fs": plan.recipe.fs, "seed": args.seed, "speed": args.speed,
        "set": args.set.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>(),
        "elapsed_s": to_seconds(to) - to_seconds(from), "writes": outcome.writes.len(),
        "flushes": report.recorded.receipt.flushes, "promises": report.recorded.history.promises_until(to).count(),
        "promised": plan.recipe.promises, "expect": plan.recipe.expect.map(ExpectedOutcome::word),
        "as_expected": plan.recipe.expect.map(|expected| expected.is_met_by(count_bad(report))),
        "may_lose_s": plan.recipe.may_lose.seconds(), "check_tried": proof_json(&report.proof),
        "weighting": weighting_json(args, report), "partial_cuts": outcome.partial,
        "cuts": modelled_trials(report).count(), "orders": other_order_trials(report).count(), "checked": outcome.checked,
        "disk_broke": outcome.disk_broke, "broken_by": outcome.broken_by,
        "at_cuts": counts_json(&VerdictCounts::of_trials(modelled_trials(report))),
        "in_orders": counts_json(&VerdictCounts::of_trials(other_order_trials(report))), "first": first.map(example_json).collect::<Vec<_>>(),
        "shrunk": report.worst.as_ref().map(shrunk_json), "unflushed": report.unflushed.as_ref().map(unflushed::files_json),
        "unflushed_names": report.unflushed.as_ref().map(unflushed::names_json),
        "received_s": late.map(|late| to_seconds(late.0)), "not_given": late.map(|late| unflushed::files_json(&late.1)),
        "not_given_names": late.map(|late| unflushed::names_json(&late.1)),
        "recovery": report.recoveries.as_ref().map(|recoveries| recovery::recovery_json(args, recoveries)),
        "layer": layer::layer_json(args, report), "kept": report.kept.as_ref().map(KeptFile::json),
        "files_left_out": report.recorded.pages.left_out, "warnings": plan.warnings, "version": version, "build": build,
    })
}

/// A trial.
fn example_json(tried: &CrashTrial) -> Value {
    json!({
        "at_s": to_seconds(tried.case.at), "instant": tried.case.why, "order": tried.case.order,
        "promises": tried.case.promises, "verdict": tried.finding.verdict, "words": tried.finding.words,
    })
}

/// Bad media of all cuts, those of recoveries included.
fn count_bad(report: &CrashReport) -> usize {
    let levels = report.recoveries.iter().flat_map(|recoveries| &recoveries.results.levels);
    let of_recoveries: usize =
        levels.map(|level| level.failed + level.tried.iter().filter(|tried| tried.is_bad()).count()).sum();
    of_recoveries + report.outcome.tried.iter().filter(|tried| tried.is_bad()).count()
}

/// The cause of a bad medium.
pub fn shrunk_json(worst: &WorstMedium) -> Value {
    let (of, finding, fewest) = match &worst.shrunk {
        ShrinkResult::To { lost, of, finding } => (Some(*of), finding, Some(lost)),
        ShrinkResult::NotLost { of, finding } => (Some(*of), finding, None),
        ShrinkResult::NotAgain(finding) => (None, finding, None),
    };
    let left = fewest.map(|lost| lost.left.iter().map(|lost| lost_json(worst, lost)).collect::<Vec<_>>());
    json!({
        "of": example_json(&worst.tried), "lost": of, "fewest": left, "again": finding.verdict, "words": finding.words,
        "trials": fewest.map(|lost| lost.trials), "complete": fewest.map(|lost| lost.complete),
    })
}

/// Counts by verdict.
pub fn counts_json(counts: &VerdictCounts) -> Value {
    let count = |verdict| counts.with_verdict(verdict);
    json!({
        "consistent": count(CrashVerdict::Consistent), "lost_allowed": count(CrashVerdict::LostAllowed),
        "lost_promised": count(CrashVerdict::LostPromised), "corrupt": count(CrashVerdict::Corrupt),
        "unreadable": counts.unreadable,
    })
}

fn proof_json(proof: &CheckProof) -> Value {
    let noticed =
        |it: &NoticedChange| json!({ "change": it.change, "verdict": it.finding.verdict, "words": it.finding.words });
    json!({
        "empty": proof.empty.as_ref().map(|it| json!({ "verdict": it.verdict, "words": it.words })),
        "removed": proof.removed.as_ref().map(noticed), "altered": proof.altered.as_ref().map(noticed),
        "early": proof.early.iter().map(noticed).collect::<Vec<_>>(), "unnoticed": proof.unnoticed,
    })
}

fn weighting_json(args: &args::CrashArgs, report: &CrashReport) -> Value {
    let span = report.recorded.history.marked_span().unwrap_or((Instant::ZERO, Instant::ZERO));
    let counts =
        |column: usize| counts_json(&VerdictCounts::of_trials(trials_with_reasons(report, REASON_COLUMNS[column].1)));
    json!({
        "instants": args.instants.instant_weights(), "landings_s": landing_time(&report.recorded.history, span).nanos() as f64 / 1e9,
        "at_flushes": counts(0), "in_landings": counts(1), "after_promises": counts(2), "at_any_time": counts(3),
    })
}

fn lost_json(worst: &WorstMedium, lost: &LostWrite) -> Value {
    let seconds_if_reached = |instant: Instant| (instant != Instant::FAR).then(|| to_seconds(instant));
    let write = &lost.write;
    json!({
        "stamp": write.stamp, "lba": write.run.0, "sectors": write.run.1 - write.run.0, "parts": lost.parts,
        "taken_s": to_seconds(write.taken), "acknowledged_s": seconds_if_reached(write.over),
        "promised_s": seconds_if_reached(write.durable),
        "place": worst.purposes.get(&write.stamp), "standing": worst.standing.get(&write.stamp).map(standing_json),
    })
}

/// The data in place of a lost write.
fn standing_json(standing: &StandingData) -> Value {
    let state = match standing.state {
        StandingState::NeverWritten => "never_written",
        StandingState::Earlier => "earlier",
        StandingState::Unreadable => "unreadable",
    };
    let mut value = unflushed::difference_json(&standing.difference);
    value["bytes"] = standing.difference.count.into();
    value["state"] = state.into();
    value["file"] = json!(standing.file.as_ref().map(|file| &file.0));
    value["file_offset"] = json!(standing.file.as_ref().map(|file| file.1));
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slower_speed_is_one_that_people_type() {
        let said: Vec<String> =
            [20.0, 1.0, 0.7, 0.35, 0.003].into_iter().map(|it| tenth_of_speed(it).to_string()).collect();
        assert_eq!(said, ["2", "0.1", "0.07", "0.035", "0.0003"]);
    }
}
