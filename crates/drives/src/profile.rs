//! Drive profiles (`profiles/*.toml`): figures with unit, origin and source, and the model's drive that is built from them.
//!
//! A profile has a head (`name`, `title`, `year`, `studies`, `interface`), `[sources]` (short names for citations) and
//! figures. Each figure is `{ value = …, measured | datasheet | inferred | fitted = "source" }`, a fitted number with its
//! `interval = [least, most]`; its key implies its unit. A figure without a source is an error. All errors of a file are
//! reported at once.
//!
//! | room | what it is |
//! |---|---|
//! | [`keys`] | the list of keys |
//! | [`everyday`] | everyday cases in which a drive deviates from the arithmetic on its figures |
//! | [`not_modelled`] | parameters of a foreign description beyond the model |
//! | [`fit_record`] | what a fit leaves besides figures: measured loads, and drives that fit as well |
//! | [`unseen`] | loads of a job that no measurement of a fit covered |
//! | [`doubts`] | implausible combinations of figures |
//! | `drive_file` | a drive as its file describes it |
//! | `build` | figures to the model's profile |
//! | `mechanism` | platters and arms, shared by drives with the same figures |
//! | `reading_cache` | a cache of profiles and mechanisms, owned by the caller |
//! | `seek` | the shape of measured curves, scaled |

mod build;
pub(crate) use build::queue_discipline;
pub mod doubts;
mod drive_file;
pub mod everyday;
pub mod fit_record;
pub mod keys;
mod mechanism;
pub mod not_modelled;
mod reading_cache;
mod seek;
pub mod unseen;

use std::collections::BTreeMap;
use std::sync::Arc;

use seekwise_disk::drive::profile::Profile;
use toml::Spanned;
use toml::de::DeValue;

use crate::diagnostic::{Diagnostic, sorted_by_line};
use crate::figure::{Figure, FigureInput, FigureOrigin, FigureReader, FigureValue, parse_setting};
pub use drive_file::DriveFile;
use keys::{KEYS, VOCABULARY};
pub use reading_cache::ReadingCache;

const HEAD: [&str; 5] = ["name", "title", "year", "studies", "interface"];

/// Reads a drive profile. `file` is its name for messages.
pub fn parse(file: &str, text: &str) -> Result<DriveFile, Vec<Diagnostic>> {
    let mut reader = FigureReader::new(file, text, &VOCABULARY);
    let mut table = reader.parse_table();
    let mut drive = DriveFile {
        file: file.to_owned(),
        name: String::new(),
        title: String::new(),
        year: None,
        studies: Vec::new(),
        interface: String::new(),
        sources: BTreeMap::new(),
        otherwise: Vec::new(),
        not_modelled: Vec::new(),
        fit: None,
        figures: Vec::new(),
    };
    if let Some(sources) = table.remove("sources") {
        reader.read_sources(&sources);
    }
    if let Some(everyday) = table.remove("everyday") {
        drive.otherwise = reader.read_everyday(&everyday);
    }
    if let Some(left) = table.remove("not_modelled") {
        drive.not_modelled = reader.read_not_modelled(&left);
    }
    if let Some(fit) = table.remove("fit") {
        drive.fit = Some(Arc::new(reader.read_fit(&fit)));
    }
    for key in HEAD {
        if let Some(value) = table.remove(key) {
            read_head_key(&mut reader, &mut drive, key, &value);
        }
    }
    let mut figures = Vec::new();
    reader.read_figures(&table, "", KEYS, false, &mut figures);
    if reader.errors.is_empty() {
        report_missing_keys(&mut reader, &drive, &figures);
        reader.report_uncited_sources();
    }
    figures.sort_by_key(|figure| KEYS.iter().position(|key| key.path == figure.key));
    drive.figures = figures;
    drive.sources = std::mem::take(&mut reader.sources);
    match reader.errors.is_empty() {
        true => Ok(drive),
        false => Err(sorted_by_line(reader.errors)),
    }
}

fn read_head_key(reader: &mut FigureReader<'_>, drive: &mut DriveFile, key: &str, value: &Spanned<DeValue<'_>>) {
    let line = reader.line_at(value.span().start);
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
            "studies" => "a list of strings",
            _ => "a string",
        };
        let found = format!("has type {}", value.get_ref().type_str());
        let wrong = reader.diagnostic(line, found).with_key(key).with_expected(expected);
        reader.errors.push(wrong);
    }
}

fn report_missing_keys(reader: &mut FigureReader<'_>, drive: &DriveFile, figures: &[Figure]) {
    let head = [("name", &drive.name), ("title", &drive.title)];
    let missing_head = head.iter().filter(|(_, text)| text.is_empty()).map(|(key, _)| *key);
    let required = KEYS.iter().filter(|key| key.required);
    let missing = required.filter(|key| !figures.iter().any(|figure| figure.key == key.path));
    for key in missing_head.chain(missing.map(|key| key.path)) {
        let wrong = reader.diagnostic(0, "missing key").with_key(key);
        reader.errors.push(wrong);
    }
}

impl DriveFile {
    /// Sets `key` (below `drive.`) to `text`, as `--set` does.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), Vec<Diagnostic>> {
        match parse_setting(KEYS, "drive", key, text, &VOCABULARY)? {
            FigureInput::Figure(figure) => self.replace_figure(figure),
            FigureInput::None(key) => self.remove_figure(key),
        }
        Ok(())
    }

    /// Warnings about settings that the drive replaces by its own limits, about implausible figures, and about the faults that the
    /// drive is to have.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        let mut warnings = self.segment_warnings();
        warnings.extend(doubts::find_doubts(self));
        let is_fault = |figure: &&Figure| figure.key.starts_with("faults.") && figure.value == FigureValue::Flag(true);
        warnings.extend(self.figures.iter().filter(is_fault).map(|fault| {
            let meaning = KEYS.iter().find(|key| key.path == fault.key).map_or("", |key| key.meaning);
            let message = format!("a faulty drive: it {meaning}");
            Diagnostic::at(&self.file, fault.line, message).with_key(fault.key)
        }));
        warnings
    }

    fn segment_warnings(&self) -> Vec<Diagnostic> {
        let line = self.figure("cache.segments").map_or(0, |figure| figure.line);
        let warning = |message: String| vec![Diagnostic::at(&self.file, line, message).with_key("cache.segments")];
        let segments = self.number("cache.segments");
        let write_back = self.figure("cache.write_back").map(|figure| &figure.value);
        match (segments, self.number("cache.max_segments")) {
            _ if self.has_adaptive_buffer()
                && self.figure("cache.segments").is_some_and(|figure| figure.kind == FigureOrigin::Set) =>
            {
                warning(
                    "an adaptive buffer starts with three segments and divides itself; this value is ignored"
                        .to_owned(),
                )
            }
            (Some(asked), Some(limit)) if asked > limit && !self.has_adaptive_buffer() => {
                warning(format!("the drive has at most {limit} segments; using {limit}"))
            }
            (Some(0.0), _) if write_back == Some(&FigureValue::Flag(true)) => {
                warning("without segments, no writes are cached".to_owned())
            }
            _ => Vec::new(),
        }
    }

    /// The model's drive.
    pub fn profile(&self) -> Result<Profile, Vec<Diagnostic>> {
        self.build_profile(&ReadingCache::default())
    }

    /// The model's drive; shares platters and arm with other drives that `cache` has seen.
    pub fn build_profile(&self, cache: &ReadingCache) -> Result<Profile, Vec<Diagnostic>> {
        build::build_profile(self, cache).map_err(sorted_by_line)
    }
}

#[cfg(test)]
#[path = "profile/tests.rs"]
mod tests;
