//! Study files in TOML: a question, its factors, comparisons and claims. Unknown keys are errors, with a suggestion.
//!
//! ```toml
//! title = "…"            question = "…"          expect = "…"
//! seed = 1               runs = 5                runtime = "30 s"        ramp = "2 s"
//! [stack]                # dotted keys of every cell's stack
//! drive = "barracuda-7200.7-ncq"
//! [[factor]]             # one dotted key and its values …
//! name = "depth"         key = "job.depth"       levels = [1, 8, 64]
//! classes.deep = [8, 64] # a name for these levels in answers
//! [[factor]]             # … or named bundles of keys
//! name = "setup"
//! [[factor.bundle]]
//! name = "queue off"     set = { drive.firmware.depth = 1 }
//! [[compare]]
//! name = "…"             factor = "setup"        from = "queue off"      to = "queue on"
//! credit = ["queue"]     # concerns; without it, the factor
//! [[claim]]
//! id = "Q5"              class = "M"             …
//! ```
//!
//! For several studies that answer one question together, see [`review`].

pub mod review;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::concern::{self, Concern};
use crate::diagnostic::{Diagnostic, is_plain, is_text};
use crate::expression::Expression;
use crate::spelling::nearest;
use crate::stack::keys;

use crate::dotted::{flatten, plain_text};
use crate::duration::Duration;
use crate::metric::{IOPS, Metric};

/// A study.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// The title in reports.
    pub title: String,
    /// The question that it answers.
    pub question: String,
    /// The author's expectation.
    pub expect: Option<String>,
    /// The random seed.
    #[serde(default = "one")]
    pub seed: u64,
    /// Independent runs of each cell.
    #[serde(default = "five")]
    pub runs: u32,
    /// The number and length of runs; the command may override it.
    pub sampling: Option<Sampling>,
    /// Measured time of each run; by default that of the job.
    pub runtime: Option<Duration>,
    /// Warm-up time of each run; by default that of the job.
    pub ramp: Option<Duration>,
    /// Ratios within this percentage of 1 count as equal.
    #[serde(default = "two")]
    pub margin_percent: f64,
    /// Power cuts in each run, besides the run itself.
    pub cuts: Option<u32>,
    /// Additional runs per run that end with an orderly power-off.
    pub shutdowns: Option<u32>,
    /// The job, unless a factor sets it.
    pub job: Option<String>,
    /// The stack of every cell.
    #[serde(default)]
    pub stack: toml::Table,
    /// The factors; none for a single cell.
    #[serde(default)]
    pub factor: Vec<Factor>,
    /// The comparisons.
    #[serde(default)]
    pub compare: Vec<ComparisonSpec>,
    /// The kinds of work whose best level is asked for.
    #[serde(default)]
    pub best: Vec<BestQuestion>,
    /// The claims about the results.
    #[serde(default)]
    pub claim: Vec<Claim>,
}

/// The number and length of a study's runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sampling {
    /// As many and as long as the study says.
    Fixed,
    /// Short ones until every comparison has its verdict.
    UntilDecided,
}

fn one() -> u64 {
    1
}

fn two() -> f64 {
    2.0
}

fn five() -> u32 {
    5
}

/// The most runs of a cell, and cuts of a run.
const MOST: u32 = 1_000_000;

/// The most combinations of levels: a hundred times as many as the largest study has.
const MOST_CELLS: u64 = 200_000;

/// The most classes of a factor, as answers try all combinations of them.
const MOST_CLASSES: usize = 64;

/// The largest margin: beyond half, ratios are not "equal".
const MARGIN_PERCENT: std::ops::RangeInclusive<f64> = 0.0..=50.0;

/// A factor: a key with levels, or bundles.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Factor {
    pub name: String,
    /// The unit of its levels.
    pub unit: Option<String>,
    /// A sentence on what it varies, if the name alone does not say it.
    pub says: Option<String>,
    /// The dotted key that it sets.
    pub key: Option<String>,
    /// The values of the key: numbers, strings and booleans.
    #[serde(default)]
    pub levels: Vec<toml::Value>,
    /// Names for groups of levels, which may overlap: `classes."random work" = ["file-server", "oltp-4k"]`.
    #[serde(default)]
    pub classes: BTreeMap<String, Vec<toml::Value>>,
    /// Named sets of settings.
    #[serde(default)]
    pub bundle: Vec<Bundle>,
}

/// A named level that sets several keys.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    pub name: String,
    /// The settings, as nested or dotted keys.
    pub set: toml::Table,
}

impl Study {
    /// Sets the metric of comparisons that have none.
    pub fn set_default_metric(&mut self, metric: &Metric) {
        for compare in &mut self.compare {
            compare.metric.get_or_insert_with(|| metric.clone());
        }
    }
}

/// A comparison of two levels of one factor, in every cell of the other factors.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComparisonSpec {
    /// The title of the comparison.
    pub name: String,
    pub factor: String,
    /// The base level.
    #[serde(deserialize_with = "level")]
    pub from: String,
    /// The level compared with it.
    #[serde(deserialize_with = "level")]
    pub to: String,
    /// The concerns that the difference is credited to; the comparison is refused if the sides differ in anything else.
    #[serde(default, deserialize_with = "concern::credit")]
    pub credit: Option<Vec<Concern>>,
    /// Whether it leads the report.
    #[serde(default)]
    pub headline: bool,
    /// The metric; by default requests per second, or for scenes the elapsed time ([`Study::set_default_metric`]).
    pub metric: Option<Metric>,
}

/// The name of a level: a string, or a number or boolean as written among the levels.
fn level<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let value = toml::Value::deserialize(from)?;
    match is_scalar(&value) {
        true => Ok(plain_text(&value)),
        false => Err(D::Error::custom(format!("invalid type: {}, expected a level", value.type_str()))),
    }
}

/// A string, a number or a boolean.
fn is_scalar(value: &toml::Value) -> bool {
    !matches!(value, toml::Value::Array(_) | toml::Value::Table(_) | toml::Value::Datetime(_))
}

impl ComparisonSpec {
    /// The metric.
    pub fn metric(&self) -> &Metric {
        self.metric.as_ref().unwrap_or(&IOPS)
    }
}

/// A question: which level of a factor is best for a kind of work?
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BestQuestion {
    /// The kind of work, for the reader.
    pub work: String,
    /// The figure, the higher the better, at one level of the factor.
    pub of: Expression,
    pub factor: String,
    /// The findings that are about it.
    #[serde(default)]
    pub claims: Vec<String>,
}

/// A finding of a source study, and the condition under which it counts as reproduced.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The number of the finding.
    pub id: String,
    /// The class of the finding.
    pub class: ClaimClass,
    /// The source's finding.
    pub finding: String,
    /// The condition, in words.
    pub condition: String,
    /// How the checks read finding and condition where these leave room, from the source alone.
    pub reading: Option<String>,
    /// The part of the finding that no check covers, and why.
    pub unchecked: Option<String>,
    /// The cause in the model.
    pub mechanism: String,
    /// Conditions; all must hold.
    #[serde(default)]
    pub check: Vec<Expression>,
    /// Conditions without which the checks decide nothing, such as an effect that is larger than chance.
    #[serde(default)]
    pub decided_if: Vec<Expression>,
    /// Expressions to report besides the checks.
    #[serde(default)]
    pub show: Vec<Expression>,
    /// Factors whose levels the sources leave open: the checks are evaluated for each combination of them, and
    /// the majority decides.
    #[serde(default)]
    pub over: Vec<String>,
    /// Another claim that must hold as well, from this study or another.
    pub with: Option<CompanionClaim>,
    /// The one setting that switches the mechanism off, in the cells of the claim, which must then fail.
    pub ablate: Option<CellChange>,
    /// For a finding of no difference: a planted difference of twice the tolerance, which the same cells must detect.
    pub plant: Option<CellChange>,
}

/// A claim that must hold together with another: `{ claim = "C4", same = "drive.cache.read_ahead" }`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompanionClaim {
    /// The number of the finding.
    pub claim: String,
    /// The section of the stack that all cells of both claims must share.
    pub same: String,
}

/// Settings that change in some cells: `{ "drive.firmware.depth" = 1, in = { setup = "new" } }`.
#[derive(Clone, Debug, Deserialize)]
pub struct CellChange {
    /// The cells, by factor and level; all cells if empty.
    #[serde(default, rename = "in")]
    pub cells: toml::Table,
    /// Dotted keys and their values.
    #[serde(flatten)]
    pub set: toml::Table,
}

impl fmt::Display for CellChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = |table: &toml::Table| {
            flatten(table).iter().map(|(key, value)| format!("{key} = {value}")).collect::<Vec<_>>().join(", ")
        };
        f.write_str(&words(&self.set))?;
        if !self.cells.is_empty() {
            write!(f, " in {}", words(&self.cells))?;
        }
        Ok(())
    }
}

/// Classes of findings.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub enum ClaimClass {
    /// Mechanism: the model must reproduce it.
    M,
    /// Null: no difference was found.
    N,
    /// Synthetic: the original workload was never published.
    S,
    /// Input or instrument: checked, not counted as evidence.
    I,
    /// Judgement of the author: only shown.
    J,
}

impl ClaimClass {
    /// The letter.
    pub const fn letter(self) -> &'static str {
        match self {
            ClaimClass::M => "M",
            ClaimClass::N => "N",
            ClaimClass::S => "S",
            ClaimClass::I => "I",
            ClaimClass::J => "J",
        }
    }
}

/// Reads a study. `file` names it in errors.
pub fn parse(file: &str, text: &str) -> Result<Study, Vec<Diagnostic>> {
    let study: Study = toml::from_str(text).map_err(|error| vec![locate_error(file, text, &error)])?;
    let faults = check_study(file, text, &study);
    if faults.is_empty() { Ok(study) } else { Err(faults) }
}

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
fn line_of(text: &str, needle: &str) -> usize {
    text.find(needle).map_or(0, |at| text[..at].matches('\n').count() + 1)
}

fn check_study(file: &str, text: &str, study: &Study) -> Vec<Diagnostic> {
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

impl Factor {
    /// The names of its levels.
    pub fn level_names(&self) -> Vec<String> {
        let keyed = self.levels.iter().map(plain_text);
        keyed.chain(self.bundle.iter().map(|bundle| bundle.name.clone())).collect()
    }

    /// The classes, each with the indices of its levels in [`level_names`](Factor::level_names).
    pub fn class_places(&self) -> Vec<(String, Vec<usize>)> {
        let levels = self.level_names();
        let places = |of: &[toml::Value]| {
            let named: BTreeSet<String> = of.iter().map(plain_text).collect();
            (0..levels.len()).filter(|place| named.contains(&levels[*place])).collect()
        };
        self.classes.iter().map(|(name, of)| (name.clone(), places(of))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "title = 't'\nquestion = 'q'\nruntime = '1 s'\n[[factor]]\nname = 'depth'\nkey = 'job.depth'\n\
                         levels = [1, 8]\n";

    #[test]
    fn a_small_study_reads() {
        let study = parse("s.toml", SMALL).unwrap();
        assert_eq!((study.runs, study.seed, study.runtime.map(|r| r.nanos)), (5, 1, Some(1_000_000_000)));
        assert_eq!(study.factor[0].level_names(), ["1", "8"]);
    }

    #[test]
    fn faults_name_line_and_nearest_word() {
        let text = SMALL.replace("levels", "levles");
        let fault = &parse("s.toml", &text).unwrap_err()[0];
        assert_eq!(fault.line, 7, "{fault}");
        assert_eq!(fault.nearest.as_deref(), Some("levels"));
        let text = format!("{SMALL}[[compare]]\nname = 'c'\nfactor = 'depth'\nfrom = '1'\nto = '9'\n");
        assert!(parse("s.toml", &text).unwrap_err()[0].to_string().contains("no level `9`; expected one of 1, 8"));
    }

    #[test]
    fn levels_are_numbers_and_texts_alike() {
        let mixed = SMALL.replace("[1, 8]", "['none', 2, 2.5, true]");
        let compare = "[[compare]]\nname = 'c'\nfactor = 'depth'\n";
        let study = parse("s.toml", &format!("{mixed}{compare}from = 'none'\nto = 2\n")).unwrap();
        assert_eq!(study.factor[0].level_names(), ["none", "2", "2.5", "true"]);
        assert_eq!((&study.compare[0].from[..], &study.compare[0].to[..]), ("none", "2"));
        let said = |text: String| parse("s.toml", &text).unwrap_err()[0].to_string();
        assert_eq!(said(SMALL.replace("[1, 8]", "[1, '1']")), "s.toml:5: factor `depth` has the level `1` twice");
        assert!(said(SMALL.replace("[1, 8]", "[1, [8]]")).contains("the level [8] is not a string, number or boolean"));
        let list = said(format!("{SMALL}{compare}from = [1]\nto = 8\n"));
        assert!(list.starts_with("s.toml:11: `from`: is the array; expected a level"), "{list}");
    }

    #[test]
    fn classes_name_levels_that_there_are() {
        let with = |classes: &str| parse("s.toml", &format!("{SMALL}{classes}\n"));
        let study = with("classes.deep = [8]\nclasses.'any work' = ['8', 1]").unwrap();
        let places = vec![("any work".to_owned(), vec![0, 1]), ("deep".to_owned(), vec![1])];
        assert_eq!(study.factor[0].class_places(), places);
        let said = |classes: &str| with(classes).unwrap_err()[0].to_string();
        let unknown = said("classes.deep = [8, 64]");
        assert_eq!(unknown, "s.toml:8: class `deep`: factor `depth` has no level `64`; expected one of 1, 8");
        let many: String = (0..65).map(|class| format!("classes.c{class} = [8]\n")).collect();
        assert!(said(&many).contains("has 65 classes; expected at most 64"));
        assert!(said("classes.deep = []").contains("class `deep` names no level"));
        assert!(said("classes.8 = [8]").contains("`8` is a level; expected another name for a class"));
        let text = SMALL.replace("[1, 8]", "['shallow', 'deep']") + "classes.all = ['shalow']\n";
        assert!(
            parse("s.toml", &text).unwrap_err()[0].to_string().contains("no level `shalow`; did you mean `shallow`?")
        );
    }

    #[test]
    fn a_claim_names_its_range_and_what_holds_beside_it() {
        let claim = |class: &str, more: &str| {
            let text = format!(
                "{SMALL}[[claim]]\nid = 'T1'\nclass = '{class}'\nfinding = 'f'\ncondition = 'c'\nmechanism = 'm'\n\
                 check = ['iops > 1']\n{more}\n"
            );
            parse("s.toml", &text).map_err(|faults| faults[0].to_string())
        };
        assert!(claim("S", "over = ['depth']\nwith = { claim = 'C4', same = 'drive.cache.read_ahead' }").is_ok());
        let said = |class: &str, more: &str| claim(class, more).unwrap_err();
        assert!(said("I", "").contains("leaves factor `depth` open"));
        assert!(said("S", "").contains("claim T1 is of class S: `over` names the factors whose levels vote"));
        assert!(said("I", "over = ['dept']").contains("unknown factor `dept`; did you mean `depth`?"));
        assert!(said("I", "over = ['depth']\nshow = ['iops for each depth']").contains("already ranges over `depth`"));
        let with = "over = ['depth']\nwith = { claim = 'C4', same = 'drive.cache.readahead' }";
        assert!(said("I", with).contains("did you mean `drive.cache.read_ahead`?"), "{}", said("I", with));
    }

    #[test]
    fn every_count_and_time_has_a_range() {
        let faulty = |text: &str| parse("s.toml", text).err().map(|faults| faults[0].to_string());
        for (line, said) in [
            ("runs = 0", "`runs` is 0; expected 1 to 1000000"),
            ("cuts = 1000001", "`cuts` is 1000001; expected 1 to 1000000"),
            ("shutdowns = 0", "`shutdowns` is 0; expected 1 to 1000000"),
            ("ramp = '11000 d'", "at most 10 years"),
            ("ramp = 99999999999999", "at most 10 years"),
        ] {
            let fault = faulty(&format!("{line}\n{SMALL}")).unwrap_or_default();
            assert!(fault.starts_with("s.toml:1: ") && fault.contains(said), "{line}: {fault}");
        }
        assert_eq!(faulty(&format!("cuts = 1000000\nseed = 18446744073709551615\n{SMALL}")), None);
        assert_eq!(parse("s.toml", &format!("seed = 18446744073709551615\n{SMALL}")).unwrap().seed, u64::MAX);
        let factor = |n: u32| format!("[[factor]]\nname = 'f{n}'\nkey = 'k{n}'\nlevels = [1,2,3,4,5,6,7,8,9,10]\n");
        let many = format!("{SMALL}{}", (0..30).map(factor).collect::<String>());
        assert!(faulty(&many).unwrap().contains("combinations; expected at most 200000"));
        let odd = SMALL.replace("'depth'", "\"dep\\u001b[31mth\"");
        assert!(faulty(&odd).unwrap().contains("contains control characters"), "{:?}", faulty(&odd));
    }

    #[test]
    fn a_margin_is_from_0_to_50_percent() {
        for (margin, fits) in [("0", true), ("50.0", true), ("-5", false), ("50.5", false), ("nan", false)] {
            let read = parse("s.toml", &format!("margin_percent = {margin}\n{SMALL}"));
            assert_eq!(read.is_ok(), fits, "{margin}");
            let said = read.err().map_or(String::new(), |faults| faults[0].to_string());
            assert!(
                fits || said.contains("s.toml:1: `margin_percent` is ") && said.contains("expected 0 to 50"),
                "{said}"
            );
        }
    }

    #[test]
    fn a_credit_is_a_list_of_concerns() {
        let compare = "[[compare]]\nname = 'c'\nfactor = 'depth'\nfrom = '1'\nto = '8'\n";
        let with = |credit: &str| parse("s.toml", &format!("{SMALL}{compare}credit = {credit}\n"));
        let study = with("['queue', 'write-cache']").unwrap();
        assert_eq!(study.compare[0].credit.as_deref(), Some(&[Concern::Queue, Concern::WriteCache][..]));
        for (credit, line) in [
            (
                "'a bundle: the queue and the modern controller'",
                "s.toml:13: `credit` is not a list of concerns; expected",
            ),
            ("['queu']", "s.toml:13: unknown concern `queu`; expected one or more of processor, "),
            ("[]", "s.toml:13: `credit` is empty; expected one or more of processor, "),
        ] {
            let said = with(credit).unwrap_err()[0].to_string();
            assert!(said.starts_with(line), "{said}");
        }
        assert!(with("['queu']").unwrap_err()[0].to_string().ends_with("; did you mean `queue`?"));
    }

    /// A fault of another layer goes to the line of its key, of the key's last word, or of the name that it is about.
    #[test]
    fn a_fault_of_a_cell_goes_to_its_line_in_the_study() {
        let text = SMALL.replace("[1, 8]", "['wd', \"old\"]");
        let at = |fault: Diagnostic| locate_fault("s.toml", &text, fault).to_string();
        let about = |file: &str| Diagnostic::at(file, 0, "it is odd");
        assert_eq!(at(about("--set").with_key("job.depth")), "s.toml:6: `job.depth`: it is odd");
        assert_eq!(at(about("--set").with_key("drive.runtime")), "s.toml:3: `drive.runtime`: it is odd");
        assert_eq!(at(about("--set").with_key("drive.cache")), "s.toml: `drive.cache`: it is odd");
        assert_eq!(at(about("wd")), "s.toml:7: `wd`: it is odd");
        assert_eq!(at(about("old")), "s.toml:7: `old`: it is odd");
        assert_eq!(at(about("other.toml")), "other.toml: it is odd", "the study does not name it");
        let placed = Diagnostic::at("wd", 3, "it is odd");
        assert_eq!(at(placed), "wd:3: it is odd", "its own file's line stays");
    }

    #[test]
    fn a_question_for_the_best_level_is_held_against_the_factors() {
        let best = |of: &str, factor: &str| format!("[[best]]\nwork = 'any'\nof = '{of}'\nfactor = '{factor}'\n");
        let right = best("iops", "depth");
        let said = |more: &str| -> Vec<String> {
            let faults = parse("s.toml", &format!("{SMALL}{right}{more}")).err().unwrap_or_default();
            faults.iter().map(ToString::to_string).collect()
        };
        assert_eq!(said(""), [""; 0]);
        // Seven lines of factors and four of the first question; of the second, `work` is line 13 and `of` line 14.
        let near = "no factor `dept`; did you mean `depth`?";
        assert_eq!(said(&best("iops[dept=8]", "depth")), [format!("s.toml:14: `any`: {near}")]);
        assert_eq!(said(&best("iops", "dept").replace("any", "all")), [format!("s.toml:13: `all`: {near}")]);
    }

    #[test]
    fn bundles_flatten_to_dotted_keys() {
        let table: toml::Table = toml::from_str("drive.firmware.depth = 1\ndriver = 'windows-xp'").unwrap();
        let expected = [("drive.firmware.depth", "1"), ("driver", "windows-xp")];
        assert_eq!(flatten(&table), expected.map(|(k, v)| (k.to_owned(), v.to_owned())));
    }
}
