//! A study: the work, its stack, what varies, seeds, sampling, and what is judged. People write it as a TOML file, whose unknown
//! keys are errors with a suggestion; programs build the value. Whatever is run and judged is one.
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

mod credit;
mod faults;
pub mod review;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use seekwise_drives::concern::Concern;
use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::dotted::{flatten, plain_text};
use seekwise_drives::duration::Duration;
use seekwise_drives::metric::Metric;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use self::faults::{check_study, line_of, unread_words};
pub use self::faults::{locate_error, locate_fault};
use crate::expression::Expression;

/// A study.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Study {
    /// The title in reports.
    pub title: String,
    /// The question that it answers.
    pub question: String,
    /// The author's expectation.
    pub expect: Option<String>,
    /// The random seed.
    #[serde(default = "one", skip_serializing)]
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
    #[serde(default = "two", skip_serializing_if = "is_two")]
    pub margin_percent: f64,
    /// Power cuts in each run, besides the run itself.
    pub cuts: Option<u32>,
    /// Additional runs per run that end with an orderly power-off.
    pub shutdowns: Option<u32>,
    /// The job, unless a factor sets it.
    pub job: Option<String>,
    /// The stack of every cell.
    #[serde(default, skip_serializing_if = "toml::Table::is_empty")]
    pub stack: toml::Table,
    /// The factors; none for a single cell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub factor: Vec<Factor>,
    /// The comparisons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compare: Vec<ComparisonSpec>,
    /// The kinds of work whose best level is asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub best: Vec<BestQuestion>,
    /// The claims about the results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claim: Vec<Claim>,
}

/// The number and length of a study's runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
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

fn is_two(value: &f64) -> bool {
    *value == two()
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
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Factor {
    pub name: String,
    /// The unit of its levels.
    pub unit: Option<String>,
    /// A sentence on what it varies, if the name alone does not say it.
    pub says: Option<String>,
    /// The dotted key that it sets.
    pub key: Option<String>,
    /// The values of the key: numbers, strings and booleans.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<toml::Value>,
    /// Names for groups of levels, which may overlap: `classes."random work" = ["file-server", "oltp-4k"]`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub classes: BTreeMap<String, Vec<toml::Value>>,
    /// Named sets of settings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bundle: Vec<Bundle>,
}

/// The kind of a column with the levels of a factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelKind {
    /// Whole numbers.
    Count,
    Figure,
    Text,
}

/// A named level that sets several keys.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    pub name: String,
    /// The settings, as nested or dotted keys.
    pub set: toml::Table,
}

impl Study {
    /// A study with this title and question, of one cell that has no settings yet; other keys have their defaults.
    pub fn new(title: impl Into<String>, question: impl Into<String>) -> Study {
        Study {
            title: title.into(),
            question: question.into(),
            expect: None,
            seed: one(),
            runs: five(),
            sampling: None,
            runtime: None,
            ramp: None,
            margin_percent: two(),
            cuts: None,
            shutdowns: None,
            job: None,
            stack: toml::Table::new(),
            factor: Vec::new(),
            compare: Vec::new(),
            best: Vec::new(),
            claim: Vec::new(),
        }
    }

    /// The text of a file that reads as this study.
    pub fn to_text(&self) -> String {
        let keys = toml::Table::try_from(self).and_then(|keys| toml::to_string(&keys));
        // TOML's own numbers end at 2^63; a reader of 64 bits takes more.
        format!("seed = {}\n{}", self.seed, keys.expect("a study has no keys but strings"))
    }

    /// Faults of a study that was built, which has no lines, and of one whose text would not be read; `name` stands for its file.
    pub fn check(&self, name: &str) -> Result<(), Vec<Diagnostic>> {
        let placeless = |fault: Diagnostic| Diagnostic { line: 0, ..fault };
        let unread = unread_words(self).map(|why| Diagnostic::at(name, 0, why));
        let faults: Vec<_> = unread.chain(check_study(name, "", self).into_iter().map(placeless)).collect();
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }
}

/// A comparison of two levels of one factor, in every cell of the other factors.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
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
    #[serde(
        default,
        deserialize_with = "credit::read_credit",
        skip_serializing_if = "Option::is_none",
        serialize_with = "credit::write_credit"
    )]
    pub credit: Option<Vec<Concern>>,
    /// Whether it leads the report.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub headline: bool,
    /// The metric that is judged. `None`: the default of the work that the cells run.
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
    /// A comparison of two levels of this factor, named for them.
    pub fn new(factor: &str, from: &str, to: &str) -> ComparisonSpec {
        let name = format!("{factor} from {from} to {to}");
        let [factor, from, to] = [factor, from, to].map(str::to_owned);
        ComparisonSpec { name, factor, from, to, credit: None, headline: false, metric: None }
    }
}

/// A question: which level of a factor is best for a kind of work?
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct BestQuestion {
    /// The kind of work, for the reader.
    pub work: String,
    /// The figure, the higher the better, at one level of the factor.
    pub of: Expression,
    pub factor: String,
    /// The findings that are about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<String>,
}

/// A finding of a source study, and the condition under which it counts as reproduced.
#[derive(Clone, Debug, Deserialize, Serialize)]
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
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub check: Vec<Expression>,
    /// Conditions without which the checks decide nothing, such as an effect that is larger than chance.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decided_if: Vec<Expression>,
    /// Expressions to report besides the checks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub show: Vec<Expression>,
    /// Factors whose levels the sources leave open: the checks are evaluated for each combination of them, and
    /// the majority decides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub over: Vec<String>,
    /// Another claim that must hold as well, from this study or another.
    pub with: Option<CompanionClaim>,
    /// The one setting that switches the mechanism off, in the cells of the claim, which must then fail.
    pub ablate: Option<CellChange>,
    /// For a finding of no difference: a planted difference of twice the tolerance, which the same cells must detect.
    pub plant: Option<CellChange>,
}

/// A claim that must hold together with another: `{ claim = "C4", same = "drive.cache.read_ahead" }`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CompanionClaim {
    /// The number of the finding.
    pub claim: String,
    /// The section of the stack that all cells of both claims must share.
    pub same: String,
}

/// Settings that change in some cells: `{ "drive.firmware.depth" = 1, in = { setup = "new" } }`.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct CellChange {
    /// The cells, by factor and level; all cells if empty.
    #[serde(default, rename = "in", skip_serializing_if = "toml::Table::is_empty")]
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
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
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

impl Factor {
    /// A key with these values, by whose name it goes.
    pub fn for_key(key: &str, levels: &[String]) -> Factor {
        let levels = levels.iter().map(|level| toml::Value::String(level.clone())).collect();
        Factor { key: Some(key.to_owned()), levels, ..Factor::of_bundles(key, Vec::new()) }
    }

    /// Bundles under this name.
    pub fn of_bundles(name: &str, bundle: Vec<Bundle>) -> Factor {
        let (levels, classes) = (Vec::new(), BTreeMap::new());
        Factor { name: name.to_owned(), unit: None, says: None, key: None, levels, classes, bundle }
    }

    /// The names of its levels.
    pub fn level_names(&self) -> Vec<String> {
        let keyed = self.levels.iter().map(plain_text);
        keyed.chain(self.bundle.iter().map(|bundle| bundle.name.clone())).collect()
    }

    /// The kind of a column that keeps its levels apart. Bundles have names, also where these look like numbers.
    pub fn level_kind(&self) -> LevelKind {
        let names = self.level_names();
        let is_count = |word: &String| word.parse::<i64>().is_ok_and(|count| count.to_string() == *word);
        // `nan` and `inf` are words here.
        let figures = names.iter().map(|word| word.parse::<f64>().ok().filter(|figure| figure.is_finite()));
        let distinct = figures.flatten().map(f64::to_bits).collect::<BTreeSet<_>>().len();
        if self.key.is_none() {
            LevelKind::Text
        } else if names.iter().all(is_count) {
            LevelKind::Count
        } else if distinct == names.len() {
            LevelKind::Figure
        } else {
            LevelKind::Text
        }
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
    fn levels_are_numbers_where_all_are() {
        let kind = |levels: &[&str]| {
            Factor::for_key("k", &levels.iter().map(|level| (*level).to_owned()).collect::<Vec<_>>()).level_kind()
        };
        assert_eq!(kind(&["1", "32"]), LevelKind::Count);
        assert_eq!(kind(&["1", "2.5"]), LevelKind::Figure);
        assert_eq!(kind(&["1", "on"]), LevelKind::Text);
        assert_eq!(kind(&["nan", "1"]), LevelKind::Text);
        assert_eq!(kind(&["1", "01"]), LevelKind::Text, "two levels are not one");
        assert_eq!(kind(&["01", "2"]), LevelKind::Figure);
        assert_eq!(kind(&["9007199254740993.0", "9007199254740992.5"]), LevelKind::Text, "a figure would round them");
        let named = |name: &str| Bundle { name: name.to_owned(), set: toml::Table::new() };
        assert_eq!(Factor::of_bundles("layout", vec![named("1"), named("2")]).level_kind(), LevelKind::Text);
    }

    /// A key of a file as its value is printed: defaults are not, a level is a text, and an expression ends where it ends.
    fn as_printed(value: &mut toml::Value) {
        match value {
            toml::Value::Table(table) => {
                let is_default = |key: &str, value: &toml::Value| match key {
                    "margin_percent" => plain_text(value).parse() == Ok(two()),
                    "headline" => *value == toml::Value::Boolean(false),
                    _ => false,
                };
                table.retain(|key, value| !is_default(key, value));
                for (key, value) in table.iter_mut() {
                    as_printed(value);
                    match key.as_str() {
                        "from" | "to" => *value = toml::Value::String(plain_text(value)),
                        "runtime" | "ramp" => {
                            let length = Duration::parse(&plain_text(value)).unwrap();
                            *value = toml::Value::String(length.to_string());
                        }
                        "margin_percent" => *value = toml::Value::Float(plain_text(value).parse().unwrap()),
                        "metric" => *value = plain_text(value).parse::<Metric>().unwrap().to_string().into(),
                        _ => {}
                    }
                }
            }
            toml::Value::Array(all) => all.iter_mut().for_each(as_printed),
            _ => {}
        }
    }

    #[test]
    fn a_printed_study_has_every_key_of_its_file() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../lab/studies");
        let mut count = 0;
        for file in std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
            let Ok(text) = std::fs::read_to_string(&file) else { continue };
            let Ok(study) = parse("s.toml", &text) else { continue };
            let (mut before, after): (toml::Table, toml::Table) =
                (toml::from_str(&text).unwrap(), toml::from_str(&study.to_text()).unwrap());
            before.entry("seed").or_insert(toml::Value::Integer(1));
            before.entry("runs").or_insert(toml::Value::Integer(5));
            let mut before = toml::Value::Table(before);
            as_printed(&mut before);
            assert_eq!(before, toml::Value::Table(after), "{}", file.display());
            count += 1;
        }
        assert!(count > 20, "{count} studies");
        let unread = ComparisonSpec { credit: Some(Vec::new()), ..ComparisonSpec::new("job.depth", "1", "8") };
        let factor = vec![Factor::for_key("job.depth", &["1".to_owned(), "8".to_owned()])];
        let built = Study { factor, compare: vec![unread.clone()], ..Study::new("t", "q") };
        let fault = &built.check("built").unwrap_err()[0];
        assert!(fault.line == 0 && fault.message.contains("`credit` is empty"), "{fault}");
        let sound = Study { compare: vec![ComparisonSpec { credit: None, ..unread }], ..built };
        assert_eq!(sound.check("built"), Ok(()));
        let largest = Study { seed: u64::MAX, ..Study::new("t", "q") };
        assert_eq!(parse("s.toml", &largest.to_text()).unwrap().seed, u64::MAX);
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
