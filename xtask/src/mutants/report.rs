//! What became of the faults: tables by crate, by file and by kind, and the survivors in full.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::equal::{self, Entry};
use super::plant::Fault;
use super::reach::Test;
use super::sites::Kind;
use super::trial::Verdict;

/// What became of a fault.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The fault.
    pub fault: Fault,
    /// The text of its line.
    pub line: String,
    /// Whether it builds.
    pub is_built: bool,
    /// What the tests of its own crate say.
    pub own: Verdict,
    /// What those of all other crates say, where its own say nothing.
    pub others: Verdict,
    /// Why it changes nothing, if it is in the list.
    pub equal: Option<String>,
}

impl Outcome {
    /// Whether any test notices.
    pub fn is_noticed(&self) -> bool {
        self.own.is_noticed() || self.others.is_noticed()
    }

    /// Whether all that reach it were tried and none notices, though it changes something.
    pub fn is_survivor(&self) -> bool {
        self.is_open() && !self.is_untried()
    }

    fn is_open(&self) -> bool {
        self.is_built && !self.is_noticed() && self.equal.is_none()
    }

    fn is_untried(&self) -> bool {
        self.is_open() && (self.own == Verdict::Untried || self.others == Verdict::Untried)
    }
}

/// The counts of a row.
#[derive(Default, Clone, Copy)]
struct Counts {
    planted: usize,
    built: usize,
    equal: usize,
    untried: usize,
    own: usize,
    all: usize,
}

impl Counts {
    fn add(&mut self, outcome: &Outcome) {
        self.planted += 1;
        self.built += usize::from(outcome.is_built);
        self.equal += usize::from(outcome.is_built && !outcome.is_noticed() && outcome.equal.is_some());
        self.untried += usize::from(outcome.is_untried());
        self.own += usize::from(outcome.own.is_noticed());
        self.all += usize::from(outcome.is_noticed());
    }

    fn tried(&self) -> usize {
        self.built - self.equal - self.untried
    }

    fn row(&self, name: &str) -> String {
        let Counts { planted, built, equal, untried, own, all } = *self;
        let tried = self.tried();
        let percent = |part: usize| match tried {
            0 => "–".to_owned(),
            _ => format!("{:.0} %", 100.0 * part as f64 / tried as f64),
        };
        let (own_part, all_part) = (percent(own), percent(all));
        format!("| {name} | {planted} | {built} | {equal} | {untried} | {own} | {own_part} | {all} | {all_part} |\n")
    }
}

/// Of a hundred faults that change something, so many are to be noticed; and so many of a file's, if it has [`FEW`] or more.
const AIM: usize = 95;
const AIM_OF_FILE: usize = 85;
const FEW: usize = 5;

/// What is short of the aim, by all tests; empty if nothing is.
pub fn short(outcomes: &[Outcome]) -> Vec<String> {
    let (mut files, mut sum) = (BTreeMap::<&str, Counts>::new(), Counts::default());
    for outcome in outcomes {
        files.entry(&outcome.fault.site.file).or_default().add(outcome);
        sum.add(outcome);
    }
    let is_short = |counts: &Counts, aim: usize| 100 * counts.all < aim * counts.tried();
    let of_file = |(file, counts): (&str, Counts)| {
        let is_short = counts.tried() >= FEW && is_short(&counts, AIM_OF_FILE);
        is_short.then(|| format!("{file}: {} of {} noticed; expected {AIM_OF_FILE} %", counts.all, counts.tried()))
    };
    let all = is_short(&sum, AIM).then(|| format!("{} of {} noticed; expected {AIM} %", sum.all, sum.tried()));
    all.into_iter().chain(files.into_iter().filter_map(of_file)).collect()
}

fn table(what: &str, outcomes: &[Outcome], name: impl Fn(&Outcome) -> String) -> String {
    let (mut rows, mut sum) = (BTreeMap::<String, Counts>::new(), Counts::default());
    for outcome in outcomes {
        rows.entry(name(outcome)).or_default().add(outcome);
        sum.add(outcome);
    }
    let rows: String = rows.iter().map(|(name, counts)| counts.row(name)).collect();
    format!(
        "| {what} | planted | built | change nothing | not tried | own crate notices | of those tried | all notice | of those tried |\n\
         |---|---|---|---|---|---|---|---|---|\n{rows}{}\n",
        sum.row("all")
    )
}

/// A fault in a line: its number, place and change.
fn named(outcome: &Outcome) -> String {
    let Outcome { fault, .. } = outcome;
    let function = fault.site.function.split(' ').next().unwrap_or("");
    format!("{} {}:{} in `{function}`, {}", fault.id, fault.site.file, fault.site.line, equal::change(fault))
}

/// The tables that are printed too: by crate, and by kind.
pub fn summary(outcomes: &[Outcome]) -> String {
    let kind = |outcome: &Outcome| {
        let kind = outcome.fault.site.kind;
        let place = Kind::ALL.iter().position(|other| *other == kind).unwrap_or(0) + 1;
        format!("{place} {}", kind.word())
    };
    table("crate", outcomes, |outcome| outcome.fault.home().to_owned()) + &table("kind", outcomes, kind)
}

/// The survivors in full.
pub fn survivors(outcomes: &[Outcome]) -> String {
    let survivor = |outcome: &Outcome| {
        let reached = match (&outcome.own, &outcome.others) {
            (Verdict::Unreached, Verdict::Unreached) => "no test that passes reaches it",
            (Verdict::Unreached, _) => "only tests of other crates reach it",
            (_, Verdict::Unreached) => "only tests of its crate reach it",
            _ => "tests of its crate and of others reach it",
        };
        format!("- {}; {reached}. The line: `{}`\n", named(outcome), outcome.line.trim())
    };
    outcomes.iter().filter(|outcome| outcome.is_survivor()).map(survivor).collect()
}

/// The report.
pub fn report(head: &str, outcomes: &[Outcome], tests: &[Test]) -> String {
    let list = |which: &dyn Fn(&Outcome) -> Option<String>| -> String {
        outcomes.iter().filter_map(|outcome| Some(format!("- {}: {}\n", named(outcome), which(outcome)?))).collect()
    };
    let equal = list(&|outcome| outcome.equal.clone().filter(|_| outcome.is_built && !outcome.is_noticed()));
    let only_others = list(&|outcome| outcome.others.is_noticed().then(|| outcome.others.word()));
    let untried = list(&|outcome| outcome.is_untried().then(|| format!("own crate: {}", outcome.own.word())));
    let dropped = list(&|outcome| (!outcome.is_built).then(|| "does not build".to_owned()));
    let noticed = list(&|outcome| outcome.own.is_noticed().then(|| outcome.own.word()));
    let unfit: BTreeSet<String> =
        tests.iter().filter_map(|test| Some(format!("- {}: {}\n", test.name, test.unfit.as_ref()?))).collect();
    let mut text = format!("# Planted faults\n\n{head}\n\n{}", summary(outcomes));
    text += &table("file", outcomes, |outcome| outcome.fault.site.file.clone());
    for (heading, list) in [
        ("Survivors", survivors(outcomes)),
        ("Noticed only by tests of other crates", only_others),
        ("Change nothing", equal),
        ("Not tried for want of time", untried),
        ("Do not build", dropped),
        ("Tests left out", unfit.into_iter().collect()),
        ("Noticed by their own crate", noticed),
    ] {
        if !list.is_empty() {
            text += &format!("## {heading}\n\n{list}\n");
        }
    }
    text
}

/// The outcomes for programs, and for the next start.
pub fn json(outcomes: &[Outcome]) -> Value {
    let one = |outcome: &Outcome| {
        let Outcome { fault, line, is_built, own, others, equal } = outcome;
        json!({
            "id": fault.id, "file": fault.site.file, "line": fault.site.line, "kind": fault.site.kind.word(),
            "change": equal::change(fault), "text": line.trim(), "built": is_built,
            "own": own.word(), "others": others.word(), "equal": equal,
        })
    };
    Value::from(outcomes.iter().map(one).collect::<Vec<_>>())
}

/// Outcomes of faults that nobody has tried, but for what an earlier report says of the same.
pub fn start(
    faults: &[Fault],
    dropped: &BTreeSet<u32>,
    lines: &[String],
    list: &[Entry],
    earlier: &Value,
) -> Vec<Outcome> {
    let before = |fault: &Fault, line: &str| {
        earlier.as_array().into_iter().flatten().find(|old| {
            let is_same = old["id"] == fault.id && old["file"] == *fault.site.file && old["text"] == line.trim();
            is_same && old["change"] == equal::change(fault)
        })
    };
    let verdict = |fault: &Fault, line: &str, key: &str| {
        before(fault, line).and_then(|old| old[key].as_str()).map_or(Verdict::Untried, Verdict::read)
    };
    let one = |(fault, line): (&Fault, &String)| Outcome {
        fault: fault.clone(),
        line: line.clone(),
        is_built: !dropped.contains(&fault.id),
        own: verdict(fault, line, "own"),
        others: verdict(fault, line, "others"),
        equal: equal::entry(list, fault, line).map(|entry| entry.reason.clone()),
    };
    faults.iter().zip(lines).map(one).collect()
}

#[cfg(test)]
mod tests;
