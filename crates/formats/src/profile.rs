//! Drive profiles (`drives/*.toml`): figures with unit, kind and source, and the model's drive built from them.
//!
//! A profile has a head (`name`, `title`, `year`, `studies`, `interface`), `[sources]` (short names for citations) and
//! figures. Each figure is `{ value = …, measured | datasheet | inferred | fitted = "source" }`, a fitted number with its
//! `interval = [least, most]`; its unit goes by its key. A
//! figure without a source is an error. All errors of a file are reported at once.
//!
//! | room | what it is |
//! |---|---|
//! | [`figure`] | one figure, from TOML or from the command line |
//! | [`keys`] | which keys there are |
//! | [`everyday`] | where a drive does otherwise than arithmetic says |
//! | [`doubts`] | figures that hardly go together |
//! | `build` | figures to the model's profile |
//! | `seek` | the curve of a sibling, scaled |

mod build;
pub(crate) use build::{discipline, span};
pub mod doubts;
pub mod everyday;
pub mod figure;
pub(crate) mod figures;
pub mod keys;
mod seek;

use std::collections::BTreeMap;

use seekwise_model::drive::profile::Profile;
use toml::Spanned;
use toml::de::DeValue;

use crate::diagnostic::Diagnostic;
use crate::keys::unknown;
use crate::limits;
use everyday::Otherwise;
use figure::{Figure, Kind, Reader, Value};
use keys::KEYS;

/// A drive as its file describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct DriveFile {
    /// The file's name as given.
    pub file: String,
    /// Its name in the catalogue.
    pub name: String,
    /// Maker and model.
    pub title: String,
    /// Year of the model, if known.
    pub year: Option<u32>,
    /// Source studies that measured it.
    pub studies: Vec<String>,
    /// Interface in words.
    pub interface: String,
    /// Citations by their short names; the figures' sources carry them in full.
    pub sources: BTreeMap<String, String>,
    /// Everyday cases in which it does otherwise than arithmetic from its figures says.
    pub otherwise: Vec<Otherwise>,
    figures: Vec<Figure>,
}

const HEAD: [&str; 5] = ["name", "title", "year", "studies", "interface"];

/// Reads a drive profile. `file` is its name for messages.
pub fn parse(file: &str, text: &str) -> Result<DriveFile, Vec<Diagnostic>> {
    let mut reader = Reader::new(file, text);
    let mut table = reader.table();
    let mut drive = DriveFile {
        file: file.to_owned(),
        name: String::new(),
        title: String::new(),
        year: None,
        studies: Vec::new(),
        interface: String::new(),
        sources: BTreeMap::new(),
        otherwise: Vec::new(),
        figures: Vec::new(),
    };
    if let Some(sources) = table.remove("sources") {
        reader.read_sources(&sources);
    }
    if let Some(everyday) = table.remove("everyday") {
        drive.otherwise = reader.read_everyday(&everyday);
    }
    for key in HEAD {
        if let Some(value) = table.remove(key) {
            head(&mut reader, &mut drive, key, &value);
        }
    }
    let mut figures = Vec::new();
    reader.walk(&table, "", KEYS, false, &mut figures);
    if reader.errors.is_empty() {
        missing(&mut reader, &drive, &figures);
        reader.check_cited();
    }
    figures.sort_by_key(|figure| KEYS.iter().position(|key| key.path == figure.key));
    drive.figures = figures;
    drive.sources = std::mem::take(&mut reader.sources);
    match reader.errors.is_empty() {
        true => Ok(drive),
        false => Err(in_order(reader.errors)),
    }
}

pub(crate) fn in_order(mut errors: Vec<Diagnostic>) -> Vec<Diagnostic> {
    errors.sort_by_key(|error| error.line);
    errors
}

fn head(reader: &mut Reader<'_>, drive: &mut DriveFile, key: &str, value: &Spanned<DeValue<'_>>) {
    let line = reader.line(value.span().start);
    let text = value.get_ref().as_str().map(str::to_owned);
    let year = || value.get_ref().as_integer()?.as_str().parse().ok();
    let list = || {
        let words = value.get_ref().as_array()?.iter();
        words.map(|word| word.get_ref().as_str().map(str::to_owned)).collect::<Option<Vec<String>>>()
    };
    let fits = match key {
        "year" => year().map(|year| drive.year = Some(year)),
        "studies" => list().map(|studies| drive.studies = studies),
        "name" => text.map(|text| drive.name = text),
        "title" => text.map(|text| drive.title = text),
        _ => text.map(|text| drive.interface = text),
    };
    if fits.is_none() {
        let expected = match key {
            "year" => "a year",
            "studies" => "a list of texts",
            _ => "a text",
        };
        let found = format!("is a {}", value.get_ref().type_str());
        let wrong = reader.wrong(line, found).key(key).expected(expected);
        reader.errors.push(wrong);
    }
}

fn missing(reader: &mut Reader<'_>, drive: &DriveFile, figures: &[Figure]) {
    let head = [("name", &drive.name), ("title", &drive.title)];
    let absent_head = head.iter().filter(|(_, text)| text.is_empty()).map(|h| h.0);
    let required = KEYS.iter().filter(|key| key.required);
    let absent = required.filter(|key| !figures.iter().any(|figure| figure.key == key.path));
    for path in absent_head.chain(absent.map(|key| key.path)) {
        let wrong = reader.wrong(0, "missing key").key(path);
        reader.errors.push(wrong);
    }
}

impl DriveFile {
    /// The figures in the order of [`KEYS`].
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.figures.iter()
    }

    /// One figure by its key.
    pub fn figure(&self, key: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.key == key)
    }

    /// A figure that is a number.
    pub fn number(&self, key: &str) -> Option<f64> {
        match self.figure(key)?.value {
            Value::Whole(n) => Some(n as f64),
            Value::Number(n) => Some(n),
            _ => None,
        }
    }

    /// Puts a figure of the user in place of the file's.
    pub(crate) fn replace(&mut self, figure: Figure) {
        match self.figures.iter_mut().find(|old| old.key == figure.key) {
            Some(old) => *old = figure,
            None => {
                self.figures.push(figure);
                self.figures.sort_by_key(|figure| KEYS.iter().position(|key| key.path == figure.key));
            }
        }
    }

    /// Takes a figure away that may be left out.
    pub(crate) fn leave_out(&mut self, key: &str) {
        self.figures.retain(|figure| figure.key != key);
    }

    /// Sets `key` (below `drive.`) to `text`, as `--set` does.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), Vec<Diagnostic>> {
        match setting(KEYS, "drive", key, text)? {
            Given::Figure(figure) => self.replace(figure),
            Given::None(key) => self.leave_out(key),
        }
        Ok(())
    }

    /// What the drive does not take as asked, going on with its own limit; figures that hardly go together; and where it does not
    /// keep its word.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        let mut warnings = self.clamped();
        warnings.extend(doubts::doubts(self));
        let lies = self.figures.iter().filter(|f| f.key.starts_with("faults.") && f.value == Value::Flag(true));
        warnings.extend(lies.map(|fault| {
            let meaning = KEYS.iter().find(|key| key.path == fault.key).map_or("", |key| key.meaning);
            let message = format!("a drive with a fault: {meaning}");
            Diagnostic::at(&self.file, fault.line, message).key(fault.key)
        }));
        warnings
    }

    fn clamped(&self) -> Vec<Diagnostic> {
        let line = self.figure("cache.segments").map_or(0, |f| f.line);
        let warning = |message: String| vec![Diagnostic::at(&self.file, line, message).key("cache.segments")];
        let segments = self.number("cache.segments");
        let cached = self.figure("cache.write_back").map(|figure| &figure.value);
        match (segments, self.number("cache.max_segments")) {
            _ if self.adapts() && self.figure("cache.segments").is_some_and(|figure| figure.kind == Kind::Set) => {
                warning("an adaptive buffer starts with three segments and divides itself; this is not used".to_owned())
            }
            (Some(asked), Some(limit)) if asked > limit && !self.adapts() => {
                warning(format!("the drive has at most {limit} segments and takes those"))
            }
            (Some(0.0), _) if cached == Some(&Value::Flag(true)) => {
                warning("without segments no write is cached".to_owned())
            }
            _ => Vec::new(),
        }
    }

    fn adapts(&self) -> bool {
        self.figure("cache.adaptive").map(|figure| &figure.value) == Some(&Value::Flag(true))
    }

    /// The model's drive.
    pub fn profile(&self) -> Result<Profile, Vec<Diagnostic>> {
        build::profile(self).map_err(in_order)
    }
}

/// What the user gives for a key: a figure, or `none` where it may be left out: then what holds without it.
pub(crate) enum Given {
    Figure(Figure),
    /// By its path.
    None(&'static str),
}

/// The word that leaves a key out.
const NONE: &str = "none";

/// What the user gives for one of `keys`; `layer` names it in errors.
pub(crate) fn setting(
    keys: &'static [figure::Key],
    layer: &str,
    key: &str,
    text: &str,
) -> Result<Given, Vec<Diagnostic>> {
    let full = figure::join(layer, key);
    let wrong = |message: String| Diagnostic::at("--set", 0, message).key(&full);
    let Some(known) = keys.iter().find(|known| known.path == key) else {
        let paths: Vec<String> = keys.iter().map(|k| figure::join(layer, k.path)).collect();
        let here = wrong("unknown key".to_owned()).nearest_to(&full, paths.iter().map(String::as_str));
        return Err(vec![if here.nearest.is_some() && limits::known(key).is_none() {
            here
        } else {
            Diagnostic { key: here.key, ..unknown("--set", 0, key) }
        }]);
    };
    let may_be_none = !known.required && !known.accepts.words().any(|word| word == NONE);
    if may_be_none && text.trim_matches('"') == NONE {
        return Ok(Given::None(known.path));
    }
    let refused = |found| {
        let refused = known.accepts.refuses(text, wrong(found));
        // Before what is said of the word itself.
        let takes = known.accepts.to_string();
        let or_none = |expected: String| match may_be_none {
            true => expected.replacen(&takes, &format!("{takes}, or {NONE}"), 1),
            false => expected,
        };
        vec![Diagnostic { expected: refused.expected.clone().map(or_none), ..refused }]
    };
    let value = figure::from_text(&known.accepts, text).map_err(refused)?;
    Ok(Given::Figure(Figure {
        key: known.path,
        value,
        unit: known.unit,
        kind: Kind::Set,
        source: format!("--set {full}={text}"),
        misses: None,
        interval: None,
        line: 0,
    }))
}

#[cfg(test)]
#[path = "profile/tests.rs"]
pub(crate) mod tests;
