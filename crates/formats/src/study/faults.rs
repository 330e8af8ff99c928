//! Faults of a study file: each with its line, what was expected, and the nearest known word.

use std::collections::BTreeSet;

use seekwise_drives::diagnostic::{Diagnostic, is_plain, is_text};
use seekwise_drives::dotted::{flatten, plain_text};
use seekwise_drives::duration::Duration;
use seekwise_drives::metric::Metric;
use seekwise_drives::spelling::nearest;
use seekwise_drives::stack::keys;

use super::credit::credit_fault;
use super::{BestQuestion, ClaimClass, Factor, MARGIN_PERCENT, MOST, MOST_CELLS, MOST_CLASSES, Study, is_scalar};

/// Turns an error of the TOML library into a located one.
pub fn locate_error(file: &str, text: &str, error: &toml::de::Error) -> Diagnostic {
    let line = error.span().map_or(0, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    let message = error.message().trim_end();
    let typed = message.starts_with("invalid type: ") || message.starts_with("invalid value: ");
    if let Some(diagnostic) = describe_type_error(file, text, line, message).filter(|_| typed) {
        return diagnostic;
    }
    // An error in an expression quotes it, as the library only locates the enclosing list.
    let quoted = message.strip_prefix("in `").and_then(|rest| Some(rest.split_once('`')?.0));
    let line = quoted.map_or(0, |words| line_of(text, words)).max(line);
    let mut diagnostic = Diagnostic::at(file, line, message);
    if let Some(rest) = message.strip_prefix("unknown field `") {
        let mut words = rest.split('`').step_by(2).map(str::to_owned).collect::<Vec<_>>();
        let known = rest.split('`').skip(2).step_by(2).map(str::to_owned).collect::<Vec<_>>();
        let word = words.remove(0);
        diagnostic = Diagnostic::at(file, line, "unknown key").with_key(word.clone()).with_expected(known.join(", "));
        diagnostic.nearest = nearest(&word, known.iter().map(String::as_str)).map(str::to_owned);
    }
    diagnostic
}

/// Describes a wrong type: the key from its line, what was found, and what was expected.
fn describe_type_error(file: &str, text: &str, line: usize, message: &str) -> Option<Diagnostic> {
    let (found, expected) = message.split_once(": ")?.1.split_once(", expected ")?;
    let key = text.lines().nth(line.checked_sub(1)?)?.split('=').next()?.trim();
    let expected = match expected {
        "u32" | "u64" | "usize" => "a whole number from 0",
        "f64" => "a number",
        "a sequence" => "a list",
        "a map" => "a table",
        "a boolean" => "true or false",
        other => other,
    };
    Some(Diagnostic::at(file, line, format!("is the {found}")).with_key(key).with_expected(expected))
}

/// Finds the line of an error that only showed when a cell was built: the line of its key, or of the
/// name that it is about. An error in another file keeps its place.
pub fn locate_fault(file: &str, text: &str, fault: Diagnostic) -> Diagnostic {
    if fault.line > 0 {
        return fault;
    }
    let quoted = |name: &str| ['"', '\''].map(|quote| line_of(text, &format!("{quote}{name}{quote}")));
    let of_key = |key: &String| {
        let last = key.rsplit('.').next().unwrap_or(key);
        [line_of(text, key), line_of(text, last)].into_iter().find(|line| *line > 0)
    };
    let line = fault.key.as_ref().and_then(of_key);
    let line = line.or_else(|| quoted(&fault.file).into_iter().find(|line| *line > 0)).unwrap_or(0);
    let about_name = fault.key.is_none() && line > 0;
    let message = if about_name { format!("`{}`: {}", fault.file, fault.message) } else { fault.message.clone() };
    let known = about_name || fault.key.is_some();
    Diagnostic { line, message, file: if known { file.to_owned() } else { fault.file.clone() }, ..fault }
}

/// The first line that contains `needle`, for errors that are not TOML errors.
pub(super) fn line_of(text: &str, needle: &str) -> usize {
    text.find(needle).map_or(0, |at| text[..at].matches('\n').count() + 1)
}

/// Faults of values that a program built: their words would not be read back.
pub(super) fn unread_words(study: &Study) -> impl Iterator<Item = String> {
    let credits = study.compare.iter().filter_map(|compare| compare.credit.as_ref());
    let metrics = study.compare.iter().filter_map(|compare| compare.metric.as_ref());
    let lengths = study.runtime.iter().chain(&study.ramp);
    let empty = credits.filter(|concerns| concerns.is_empty()).map(|_| credit_fault("`credit` is empty"));
    let unread = metrics.filter_map(|metric| metric.to_string().parse::<Metric>().err());
    empty.chain(unread).chain(lengths.filter_map(|length| Duration::parse(&length.to_string()).err()))
}

pub(super) fn check_study(file: &str, text: &str, study: &Study) -> Vec<Diagnostic> {
    let mut faults = Vec::new();
    let mut fault = |needle: &str, message: String| faults.push(Diagnostic::at(file, line_of(text, needle), message));
    let counts = [("runs", Some(study.runs)), ("cuts", study.cuts), ("shutdowns", study.shutdowns)];
    for (key, count) in counts.into_iter().filter_map(|(key, count)| Some((key, count?))) {
        if !(1..=MOST).contains(&count) {
            fault(key, format!("`{key}` is {count}; expected 1 to {MOST}"));
        }
    }
    let cells = study.factor.iter().map(|factor| factor.levels.len().max(factor.bundle.len()) as u64);
    let cells = cells.fold(1, u64::saturating_mul);
    if cells > MOST_CELLS {
        fault("[[factor]]", format!("the factors have {cells} combinations; expected at most {MOST_CELLS}"));
    }
    if study.runtime.is_some_and(|runtime| runtime.nanos == 0) {
        fault("runtime", "`runtime` is 0; expected a length of virtual time".to_owned());
    }
    if !MARGIN_PERCENT.contains(&study.margin_percent) {
        let message = format!("`margin_percent` is {}; expected 0 to 50", study.margin_percent);
        fault("margin_percent", message);
    }
    for factor in &study.factor {
        let keyed = factor.key.is_some() && !factor.levels.is_empty() && factor.bundle.is_empty();
        let bundled = factor.key.is_none() && factor.levels.is_empty() && !factor.bundle.is_empty();
        if !keyed && !bundled {
            fault(&factor.name, format!("factor `{}` needs either `key` and `levels`, or `bundle`s", factor.name));
        }
    }
    let level_names = |name: &str| study.factor.iter().find(|factor| factor.name == name).map(Factor::level_names);
    for compare in &study.compare {
        let Some(names) = level_names(&compare.factor) else {
            fault(&compare.name, format!("`{}` compares an unknown factor `{}`", compare.name, compare.factor));
            continue;
        };
        for side in [&compare.from, &compare.to] {
            if !names.contains(side) {
                fault(side, unknown_level(&compare.factor, side, &names));
            }
        }
    }
    faults.extend(level_faults(file, text, study));
    faults.extend(name_faults(file, text, study));
    faults.extend(claim_faults(file, text, study));
    faults.extend(best_faults(file, text, study));
    faults
}

/// The error about an unknown level of a factor, with a suggestion.
fn unknown_level(factor: &str, level: &str, names: &[String]) -> String {
    let near = nearest(level, names.iter().map(String::as_str));
    let hint = near
        .map_or_else(|| format!("; expected one of {}", names.join(", ")), |near| format!("; did you mean `{near}`?"));
    format!("factor `{factor}` has no level `{level}`{hint}")
}

/// Checks the levels of factors and their classes.
fn level_faults(file: &str, text: &str, study: &Study) -> Vec<Diagnostic> {
    let mut faults = Vec::new();
    for factor in &study.factor {
        let (name, levels) = (&factor.name, factor.level_names());
        let mut fault = |needle: &str, message: String| {
            faults.push(Diagnostic::at(file, line_of(text, needle).max(line_of(text, name)), message));
        };
        if let Some(odd) = factor.levels.iter().find(|level| !is_scalar(level)) {
            fault(name, format!("factor `{name}`: the level {odd} is not a string, number or boolean"));
        }
        let mut known = BTreeSet::new();
        if let Some(twice) = levels.iter().find(|level| !known.insert(*level)) {
            fault(name, format!("factor `{name}` has the level `{twice}` twice"));
        }
        if factor.classes.len() > MOST_CLASSES {
            let many = factor.classes.len();
            fault(name, format!("factor `{name}` has {many} classes; expected at most {MOST_CLASSES}"));
        }
        for (class, of) in &factor.classes {
            if of.is_empty() {
                fault(class, format!("factor `{name}`: class `{class}` names no level"));
            }
            if known.contains(class) {
                fault(class, format!("factor `{name}`: `{class}` is a level; expected another name for a class"));
            }
            for level in of.iter().map(plain_text).filter(|level| !known.contains(level)) {
                fault(class, format!("class `{class}`: {}", unknown_level(name, &level, &levels)));
            }
        }
    }
    faults
}

/// Reports names with control characters, which would break the lines of tables.
fn name_faults(file: &str, text: &str, study: &Study) -> Vec<Diagnostic> {
    let levels: Vec<String> = study.factor.iter().flat_map(Factor::level_names).collect();
    let factors = study.factor.iter().map(|factor| &factor.name);
    let classes = study.factor.iter().flat_map(|factor| factor.classes.keys());
    let compares = study.compare.iter().map(|compare| &compare.name);
    let names = [&study.title].into_iter().chain(factors).chain(&levels).chain(classes).chain(compares);
    let odd = names.into_iter().find(|name| !is_plain(name));
    odd.map(|name| {
        let line = line_of(text, name.split(|c: char| !is_text(c)).max_by_key(|part| part.len()).unwrap_or(""));
        Diagnostic::at(file, line, format!("the name {name:?} contains control characters"))
    })
    .into_iter()
    .collect()
}

/// Checks the questions for the best level.
fn best_faults(file: &str, text: &str, study: &Study) -> Vec<Diagnostic> {
    let factors: Vec<(String, Vec<String>)> =
        study.factor.iter().map(|factor| (factor.name.clone(), factor.level_names())).collect();
    let of = |best: &BestQuestion| {
        let fault = |line: usize, message: &str| Diagnostic::at(file, line, format!("`{}`: {message}", best.work));
        if !factors.iter().any(|(name, _)| *name == best.factor) {
            let near = nearest(&best.factor, factors.iter().map(|(name, _)| name.as_str()));
            let missing = fault(line_of(text, &best.work), &format!("no factor `{}`", best.factor));
            return vec![Diagnostic { nearest: near.map(str::to_owned), ..missing }];
        }
        let over = [best.factor.clone()];
        let faults = best.of.find_faults(&factors, &over, false).into_iter().map(|found| {
            let at = (best.of.start + found.at).min(text.len());
            let line = text.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count() + 1;
            Diagnostic { expected: found.expected, nearest: found.nearest, ..fault(line, &found.message) }
        });
        faults.collect()
    };
    study.best.iter().flat_map(of).collect()
}

/// Checks the claims of a study.
fn claim_faults(file: &str, text: &str, study: &Study) -> Vec<Diagnostic> {
    let factors: Vec<(String, Vec<String>)> =
        study.factor.iter().map(|factor| (factor.name.clone(), factor.level_names())).collect();
    let mut faults = Vec::new();
    for (place, claim) in study.claim.iter().enumerate() {
        let line = line_of(text, &claim.id);
        let mut fault = |message: String| faults.push(Diagnostic::at(file, line, message));
        if study.claim[..place].iter().any(|other| other.id == claim.id) {
            fault(format!("duplicate claim {}", claim.id));
        }
        let ablated = claim.ablate.as_ref().map_or(0, |change| flatten(&change.set).len());
        if claim.class == ClaimClass::M && !claim.check.is_empty() && ablated != 1 {
            fault(format!("claim {} is of class M: `ablate` names the one setting that switches it off", claim.id));
        }
        if claim.class == ClaimClass::N && claim.plant.is_none() {
            fault(format!("claim {} is of class N: `plant` names a difference that must be detected", claim.id));
        }
        if claim.class == ClaimClass::S && !claim.check.is_empty() && claim.over.is_empty() {
            fault(format!("claim {} is of class S: `over` names the factors whose levels vote", claim.id));
        }
        for name in claim.over.iter().filter(|name| !factors.iter().any(|(factor, _)| factor == *name)) {
            let near = nearest(name, factors.iter().map(|(factor, _)| factor.as_str()));
            let hint = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            fault(format!("claim {}: `over` names an unknown factor `{name}`{hint}", claim.id));
        }
        if let Some(with) = claim.with.as_ref() {
            let known = keys();
            if !known.iter().any(|key| key.strip_prefix(&with.same).is_some_and(|rest| rest.starts_with('.'))) {
                let sections: Vec<&str> =
                    known.iter().filter_map(|key| key.rsplit_once('.')).map(|(section, _)| section).collect();
                let hint =
                    nearest(&with.same, sections).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                fault(format!("claim {}: unknown section `{}` of a stack{hint}", claim.id, with.same));
            }
        }
        for (name, value) in claim.ablate.iter().chain(&claim.plant).flat_map(|change| &change.cells) {
            let known = factors.iter().any(|(factor, levels)| factor == name && levels.contains(&plain_text(value)));
            if !known {
                fault(format!("claim {}: no cell with {name} = {}", claim.id, plain_text(value)));
            }
        }
        let checks = claim.check.iter().chain(&claim.decided_if).map(|check| (true, check));
        for (condition, expression) in checks.chain(claim.show.iter().map(|show| (false, show))) {
            faults.extend(expression.find_faults(&factors, &claim.over, condition).into_iter().map(|fault| {
                let at = (expression.start + fault.at).min(text.len());
                let line = text.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count() + 1;
                let message = format!("claim {}: {}", claim.id, fault.message);
                Diagnostic { expected: fault.expected, nearest: fault.nearest, ..Diagnostic::at(file, line, message) }
            }));
        }
    }
    faults
}
