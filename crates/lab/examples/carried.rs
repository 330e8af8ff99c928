//! Which rules of one drive carry over to another: a drive is fitted to its trace twice, from its own profile and from the
//! same profile with all rules of another drive's. Prints both fits' losses on the held-back half, before and after, and of
//! each rule that differs at the start where it stood and where it ended. `cargo xtask fit --carried` runs it on five pairs of
//! the measured drives and writes the table of `docs/fit.md`.
//! `cargo run --release -p seekwise-lab --example carried -- PROFILE TRACE OTHER_PROFILE`

use std::collections::BTreeMap;
use std::process::ExitCode;

use seekwise_drives::profile::{self, DriveFile};
use seekwise_formats::trace::measured;
use seekwise_lab::fit::data::{FitData, FitTrace};
use seekwise_lab::fit::evaluator::{FitEvent, FitListener};
use seekwise_lab::fit::ranges::{self, RuleChoices};
use seekwise_lab::fit::search::SearchEffort;
use seekwise_lab::fit::{FitTask, fit_unless_cancelled};
use seekwise_work::workload::replay::Timing;
use toml_edit::{DocumentMut, InlineTable, Item, Table, Value};

/// The program's own.
const GENERATIONS: usize = 120;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [profile, trace, other] = &words[..] else {
        eprintln!("expected PROFILE TRACE OTHER_PROFILE");
        return ExitCode::from(2);
    };
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_else(|why| panic!("{path}: {why}"));
    let drive = |path: &str, text: &str| profile::parse(path, text).expect("a profile");
    let text = read(profile);
    let (own, theirs) = (drive(profile, &text), drive(other, &read(other)));
    let carried = drive(profile, &with_rules(&text, &theirs));
    let rows = measured::parse(trace, &read(trace)).expect("a trace");
    let traced = FitTrace::new(trace, rows, 0.5, Timing::Think, Vec::new()).expect("requests enough");
    let data = [FitData::Traced(Box::new(traced))];
    fitted("own", &own, &data);
    let ended = fitted("carried", &carried, &data);
    for RuleChoices { key, default, .. } in ranges::RULES {
        let [was, other] = [&own, &theirs].map(|drive| word(drive, key).unwrap_or_else(|| (*default).to_owned()));
        if was != other {
            let end = ended.get(*key).unwrap_or(&other);
            println!("rule {key} {was} {other} {end}");
        }
    }
    ExitCode::SUCCESS
}

/// A rule of a drive, if its profile has one.
fn word(drive: &DriveFile, key: &str) -> Option<String> {
    drive.figure(key).map(|figure| figure.value.to_string())
}

/// A profile's text with the rules of another drive, each of which a fit may move.
fn with_rules(text: &str, other: &DriveFile) -> String {
    let mut document: DocumentMut = text.parse().expect("a profile is TOML");
    for RuleChoices { key, .. } in ranges::RULES {
        let mut path: Vec<&str> = key.split('.').collect();
        let last = path.pop().expect("a key has a name");
        let mut table: &mut Item = document.as_item_mut();
        for name in path {
            table = &mut table[name];
            if table.is_none() {
                *table = Item::Table(Table::new());
            }
        }
        let table = table.as_table_mut().expect("a section");
        table.remove(last);
        if let Some(value) = word(other, key) {
            let value: Value = value.parse().unwrap_or_else(|_| Value::from(value.clone()));
            let mut figure = InlineTable::new();
            figure.insert("value", value);
            figure.insert("inferred", Value::from("as another drive"));
            table.insert(last, Item::Value(Value::InlineTable(figure)));
        }
    }
    document.to_string()
}

/// Fits a drive; says what its held-back loss was and is, and returns where its rules ended.
fn fitted(what: &str, drive: &DriveFile, data: &[FitData]) -> BTreeMap<&'static str, String> {
    let nobody = |_: FitEvent<'_>| ();
    let effort = SearchEffort::thorough(GENERATIONS);
    let task =
        FitTask { drive, only_keys: Vec::new(), data, effort, point_limit: None, known_answers: BTreeMap::new() };
    let found = fit_unless_cancelled(task, FitListener::never_ending(&nobody)).expect("nobody cancels it");
    let (before, after) = found.held.expect("half is held back");
    println!("{what} {before:.4} {after:.4}");
    let rules = found.parameters.iter().zip(&found.point).filter(|(it, _)| ranges::find_rule(it.key).is_some());
    rules.map(|(it, value)| (it.key, it.format_value(*value))).collect()
}
