//! Reports the outcomes of the faults: tables by crate, by file and by kind, and the survivors in full.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::equal::{self, Entry};
use super::plant::Fault;
use super::reach::Test;
use super::sites::FaultKind;
use super::trial::Verdict;

/// The outcome of a fault.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultOutcome {
    /// The planted fault.
    pub fault: Fault,
    /// The text of its line.
    pub line: String,
    /// Whether it builds.
    pub is_built: bool,
    /// The verdict of the tests of its own crate.
    pub own_verdict: Verdict,
    /// The verdict of the tests of all other crates, which are tried if those of its own crate do not notice it.
    pub others_verdict: Verdict,
    /// The reason why it changes nothing, if the list has one.
    pub equal: Option<String>,
}

impl FaultOutcome {
    /// Whether any test notices.
    pub fn is_noticed(&self) -> bool {
        self.own_verdict.is_noticed() || self.others_verdict.is_noticed()
    }

    /// Whether all tests that reach it were tried and none notices it, though it changes something.
    pub fn is_survivor(&self) -> bool {
        self.is_unnoticed() && !self.is_untried()
    }

    fn is_unnoticed(&self) -> bool {
        self.is_built && !self.is_noticed() && self.equal.is_none()
    }

    fn is_untried(&self) -> bool {
        self.is_unnoticed() && (self.own_verdict == Verdict::Untried || self.others_verdict == Verdict::Untried)
    }
}

/// The counts of a row.
#[derive(Default, Clone, Copy)]
struct Counts {
    planted: usize,
    built: usize,
    equal: usize,
    untried: usize,
    noticed_by_own_crate: usize,
    noticed: usize,
}

impl Counts {
    fn add(&mut self, outcome: &FaultOutcome) {
        self.planted += 1;
        self.built += usize::from(outcome.is_built);
        self.equal += usize::from(outcome.is_built && !outcome.is_noticed() && outcome.equal.is_some());
        self.untried += usize::from(outcome.is_untried());
        self.noticed_by_own_crate += usize::from(outcome.own_verdict.is_noticed());
        self.noticed += usize::from(outcome.is_noticed());
    }

    fn tried(&self) -> usize {
        self.built - self.equal - self.untried
    }

    fn row(&self, name: &str) -> String {
        let Counts { planted, built, equal, untried, noticed_by_own_crate, noticed } = *self;
        let tried = self.tried();
        let percent = |part: usize| match tried {
            0 => "–".to_owned(),
            _ => format!("{:.0} %", 100.0 * part as f64 / tried as f64),
        };
        let (own_part, all_part) = (percent(noticed_by_own_crate), percent(noticed));
        format!(
            "| {name} | {planted} | {built} | {equal} | {untried} | {noticed_by_own_crate} | {own_part} | {noticed} | {all_part} |\n"
        )
    }
}

/// The percentage of faults that change something that tests must notice: of all, and of a file's if it has
/// [`MIN_FAULTS_OF_FILE`] or more.
const MIN_NOTICED_PERCENT: usize = 95;
const MIN_NOTICED_PERCENT_OF_FILE: usize = 85;
const MIN_FAULTS_OF_FILE: usize = 5;

/// A message for each percentage that is too low, of a file or of all faults.
pub fn shortfalls(outcomes: &[FaultOutcome]) -> Vec<String> {
    let (mut files, mut sum) = (BTreeMap::<&str, Counts>::new(), Counts::default());
    for outcome in outcomes {
        files.entry(&outcome.fault.site.file).or_default().add(outcome);
        sum.add(outcome);
    }
    let is_short = |counts: &Counts, min_percent: usize| 100 * counts.noticed < min_percent * counts.tried();
    let shortfall_of_file = |(file, counts): (&str, Counts)| {
        let is_too_low = counts.tried() >= MIN_FAULTS_OF_FILE && is_short(&counts, MIN_NOTICED_PERCENT_OF_FILE);
        is_too_low.then(|| {
            format!(
                "{file}: {} of {} noticed; expected {MIN_NOTICED_PERCENT_OF_FILE} %",
                counts.noticed,
                counts.tried()
            )
        })
    };
    let all = is_short(&sum, MIN_NOTICED_PERCENT)
        .then(|| format!("{} of {} noticed; expected {MIN_NOTICED_PERCENT} %", sum.noticed, sum.tried()));
    all.into_iter().chain(files.into_iter().filter_map(shortfall_of_file)).collect()
}

/// A table with a row of counts for each name that `name` gives to outcomes.
fn table_by(heading: &str, outcomes: &[FaultOutcome], name: impl Fn(&FaultOutcome) -> String) -> String {
    let (mut rows, mut sum) = (BTreeMap::<String, Counts>::new(), Counts::default());
    for outcome in outcomes {
        rows.entry(name(outcome)).or_default().add(outcome);
        sum.add(outcome);
    }
    let rows: String = rows.iter().map(|(name, counts)| counts.row(name)).collect();
    format!(
        "| {heading} | planted | built | change nothing | not tried | own crate notices | of those tried | all notice | of those tried |\n\
         |---|---|---|---|---|---|---|---|---|\n{rows}{}\n",
        sum.row("all")
    )
}

/// A fault in words: its number, place and change.
fn describe_fault(outcome: &FaultOutcome) -> String {
    let FaultOutcome { fault, .. } = outcome;
    let function = fault.site.function.split(' ').next().unwrap_or("");
    format!("{} {}:{} in `{function}`, {}", fault.id, fault.site.file, fault.site.line, equal::describe_change(fault))
}

/// The tables that are printed too: by crate, and by kind.
pub fn summary_tables(outcomes: &[FaultOutcome]) -> String {
    let kind = |outcome: &FaultOutcome| {
        let kind = outcome.fault.site.kind;
        let number = FaultKind::ALL.iter().position(|other| *other == kind).unwrap_or(0) + 1;
        format!("{number} {}", kind.name())
    };
    table_by("crate", outcomes, |outcome| outcome.fault.crate_folder().to_owned()) + &table_by("kind", outcomes, kind)
}

/// The survivors, each with its line and the tests that reach it.
pub fn list_survivors(outcomes: &[FaultOutcome]) -> String {
    let survivor = |outcome: &FaultOutcome| {
        let reach = match (&outcome.own_verdict, &outcome.others_verdict) {
            (Verdict::Unreached, Verdict::Unreached) => "no test that passes reaches it",
            (Verdict::Unreached, _) => "only tests of other crates reach it",
            (_, Verdict::Unreached) => "only tests of its crate reach it",
            _ => "tests of its crate and of others reach it",
        };
        format!("- {}; {reach}. The line: `{}`\n", describe_fault(outcome), outcome.line.trim())
    };
    outcomes.iter().filter(|outcome| outcome.is_survivor()).map(survivor).collect()
}

/// The report, whose text begins with `head`.
pub fn render_report(head: &str, outcomes: &[FaultOutcome], tests: &[Test]) -> String {
    let list_with = |remark: &dyn Fn(&FaultOutcome) -> Option<String>| -> String {
        outcomes
            .iter()
            .filter_map(|outcome| Some(format!("- {}: {}\n", describe_fault(outcome), remark(outcome)?)))
            .collect()
    };
    let equal = list_with(&|outcome| outcome.equal.clone().filter(|_| outcome.is_built && !outcome.is_noticed()));
    let only_others = list_with(&|outcome| outcome.others_verdict.is_noticed().then(|| outcome.others_verdict.text()));
    let untried =
        list_with(&|outcome| outcome.is_untried().then(|| format!("own crate: {}", outcome.own_verdict.text())));
    let dropped = list_with(&|outcome| (!outcome.is_built).then(|| "does not build".to_owned()));
    let noticed = list_with(&|outcome| outcome.own_verdict.is_noticed().then(|| outcome.own_verdict.text()));
    let excluded: BTreeSet<String> =
        tests.iter().filter_map(|test| Some(format!("- {}: {}\n", test.name, test.exclusion.as_ref()?))).collect();
    let mut text = format!("# Planted faults\n\n{head}\n\n{}", summary_tables(outcomes));
    text += &table_by("file", outcomes, |outcome| outcome.fault.site.file.clone());
    for (heading, list) in [
        ("Survivors", list_survivors(outcomes)),
        ("Noticed only by tests of other crates", only_others),
        ("Change nothing", equal),
        ("Not tried for want of time", untried),
        ("Do not build", dropped),
        ("Tests left out", excluded.into_iter().collect()),
        ("Noticed by their own crate", noticed),
    ] {
        if !list.is_empty() {
            text += &format!("## {heading}\n\n{list}\n");
        }
    }
    text
}

/// The outcomes as JSON, for programs and for the next start.
pub fn outcomes_json(outcomes: &[FaultOutcome]) -> Value {
    let outcome_json = |outcome: &FaultOutcome| {
        let FaultOutcome { fault, line, is_built, own_verdict, others_verdict, equal } = outcome;
        json!({
            "id": fault.id, "file": fault.site.file, "line": fault.site.line, "kind": fault.site.kind.name(),
            "change": equal::describe_change(fault), "text": line.trim(), "built": is_built,
            "own": own_verdict.text(), "others": others_verdict.text(), "equal": equal,
        })
    };
    Value::from(outcomes.iter().map(outcome_json).collect::<Vec<_>>())
}

/// The outcomes before any trial. A verdict of an earlier report counts if the fault and its line are equal.
pub fn initial_outcomes(
    faults: &[Fault],
    dropped: &BTreeSet<u32>,
    lines: &[String],
    equal_entries: &[Entry],
    earlier_report: &Value,
) -> Vec<FaultOutcome> {
    let find_earlier = |fault: &Fault, line: &str| {
        earlier_report.as_array().into_iter().flatten().find(|earlier| {
            let is_same =
                earlier["id"] == fault.id && earlier["file"] == *fault.site.file && earlier["text"] == line.trim();
            is_same && earlier["change"] == equal::describe_change(fault)
        })
    };
    let verdict = |fault: &Fault, line: &str, key: &str| {
        find_earlier(fault, line).and_then(|earlier| earlier[key].as_str()).map_or(Verdict::Untried, Verdict::from_text)
    };
    let outcome_of = |(fault, line): (&Fault, &String)| FaultOutcome {
        fault: fault.clone(),
        line: line.clone(),
        is_built: !dropped.contains(&fault.id),
        own_verdict: verdict(fault, line, "own"),
        others_verdict: verdict(fault, line, "others"),
        equal: equal::find_entry(equal_entries, fault, line).map(|entry| entry.reason.clone()),
    };
    faults.iter().zip(lines).map(outcome_of).collect()
}

#[cfg(test)]
mod tests;
