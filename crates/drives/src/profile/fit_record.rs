//! The section `[fit]` of a fitted profile: the loads that the measurements covered, and draws, which are drives that meet the
//! measurements as well as the profile does. `seekwise fit` writes it; it changes no figure. Predictions take the range over
//! the draws as their band, and name the loads that no measurement covered.
//!
//! ```toml
//! [fit]
//! seen = [{ rw = "randread", block = 4096, depth = 1, write_cache = true }]
//! draws = [{ "mechanics.seek.average_ms" = 11.72, "firmware.queue.policy" = "sptf" }]
//! ```

use std::collections::BTreeMap;
use std::fmt;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::DriveFile;
use super::keys::{KEYS, VOCABULARY};
use crate::diagnostic::Diagnostic;
use crate::figure::{Figure, FigureInput, FigureOrigin, FigureReader, join_key, parse_setting};

/// The most draws of a profile: the range of 100 covers a further one with a probability of 98 %.
pub const MOST_DRAWS: usize = 100;

/// The most loads of a profile: a sweep of ten block sizes, sixteen depths and six patterns has 960.
pub const MOST_LOADS: usize = 1000;

/// The loads that a fit covered, and its draws.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FitRecord {
    /// The loads that the measurements covered; at least one.
    pub seen: Vec<SeenLoad>,
    /// Drives that meet the measurements as well: the keys in which each differs from the profile, and values as `--set` takes them.
    pub draws: Vec<BTreeMap<String, String>>,
}

/// A load of one kind of requests: measured for a fit, or asked of its drive by a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SeenLoad {
    pub pattern: LoadPattern,
    /// Bytes of a request.
    pub block_bytes: u64,
    /// Requests in flight, of all workers together.
    pub depth: u32,
    /// True if the drive's write cache is on.
    pub write_cache: bool,
}

/// Direction and order of a load, by fio's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadPattern {
    Read,
    Write,
    RandomRead,
    RandomWrite,
    Mixed,
    RandomMixed,
}

/// The patterns by the words of fio's `rw`.
const PATTERNS: [(&str, LoadPattern); 6] = [
    ("read", LoadPattern::Read),
    ("write", LoadPattern::Write),
    ("randread", LoadPattern::RandomRead),
    ("randwrite", LoadPattern::RandomWrite),
    ("rw", LoadPattern::Mixed),
    ("randrw", LoadPattern::RandomMixed),
];

/// The keys of `[fit]`.
const SECTION_KEYS: [&str; 2] = ["seen", "draws"];

/// The keys of a seen load.
const LOAD_KEYS: [&str; 4] = ["rw", "block", "depth", "write_cache"];

/// The form of a seen load.
const LOAD_FORM: &str = "{ rw = \"randread\", block = 4096, depth = 1, write_cache = true }";

/// The form of a draw.
const DRAW_FORM: &str = "{ \"mechanics.rpm\" = 7200 }, with keys and values of this profile";

/// The largest block of a load: 1 GiB.
const MOST_BLOCK_BYTES: u64 = 1 << 30;

/// The largest depth of a load.
const MOST_DEPTH: u64 = 1 << 16;

impl FitRecord {
    /// The loads that were measured, and draws: keys of a profile with values as `--set` takes them.
    pub fn new(seen: Vec<SeenLoad>, draws: Vec<BTreeMap<String, String>>) -> FitRecord {
        FitRecord { seen, draws }
    }
}

impl SeenLoad {
    /// A load of requests of one size.
    pub const fn new(pattern: LoadPattern, block_bytes: u64, depth: u32, write_cache: bool) -> SeenLoad {
        SeenLoad { pattern, block_bytes, depth, write_cache }
    }
}

impl LoadPattern {
    /// The pattern that reads, writes or does both, at random places or in sequence.
    pub const fn new(reads: bool, writes: bool, is_random: bool) -> LoadPattern {
        match (reads, writes, is_random) {
            (true, true, false) => LoadPattern::Mixed,
            (true, true, true) => LoadPattern::RandomMixed,
            (false, true, false) => LoadPattern::Write,
            (false, true, true) => LoadPattern::RandomWrite,
            (_, false, false) => LoadPattern::Read,
            (_, false, true) => LoadPattern::RandomRead,
        }
    }

    /// True if it reads.
    pub const fn reads(self) -> bool {
        !matches!(self, LoadPattern::Write | LoadPattern::RandomWrite)
    }

    /// True if it writes.
    pub const fn writes(self) -> bool {
        !matches!(self, LoadPattern::Read | LoadPattern::RandomRead)
    }

    /// True if it goes to random places.
    pub const fn is_random(self) -> bool {
        matches!(self, LoadPattern::RandomRead | LoadPattern::RandomWrite | LoadPattern::RandomMixed)
    }
}

impl fmt::Display for LoadPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = PATTERNS.iter().find(|(_, pattern)| pattern == self).map_or("", |(word, _)| word);
        f.write_str(word)
    }
}

impl DriveFile {
    /// The drive of the draw `index`, from 0. Figures that the user set stay as they are.
    pub fn with_draw(&self, index: usize) -> Result<DriveFile, Vec<Diagnostic>> {
        let Some(draw) = self.fit.as_ref().and_then(|fit| fit.draws.get(index)) else {
            let count = self.fit.as_ref().map_or(0, |fit| fit.draws.len());
            let absent = Diagnostic::at(&self.file, 0, format!("there is no draw {index}")).with_key("fit.draws");
            return Err(vec![absent.with_expected(format!("a number below {count}"))]);
        };
        let mut drive = self.clone();
        for (key, text) in draw {
            if self.figure(key).is_some_and(|figure| figure.kind == FigureOrigin::Set) {
                continue;
            }
            match parse_setting(KEYS, "drive", key, text, &VOCABULARY)? {
                FigureInput::Figure(figure) => {
                    let source = format!("draw {} of the fit", index + 1);
                    drive.replace_figure(Figure { kind: FigureOrigin::Fitted, source, ..figure });
                }
                FigureInput::None(key) => drive.remove_figure(key),
            }
        }
        Ok(drive)
    }
}

impl FigureReader<'_> {
    /// Reads `[fit]`; errors go to `errors`.
    pub(super) fn read_fit(&mut self, value: &Spanned<DeValue<'_>>) -> FitRecord {
        let line = self.line_at(value.span().start);
        let mut record = FitRecord::default();
        let Some(table) = value.get_ref().as_table() else {
            self.report_fit_fault(line, "fit", "not a table", "[fit] with `seen` and `draws`");
            return record;
        };
        self.report_unknown_fit_keys(table, "fit", &SECTION_KEYS);
        for (key, most) in [("seen", MOST_LOADS), ("draws", MOST_DRAWS)] {
            let Some(list) = table.get(key) else {
                self.report_fit_fault(line, &format!("fit.{key}"), "missing key", "a list");
                continue;
            };
            let line = self.line_at(list.span().start);
            match list.get_ref().as_array() {
                Some(list) if list.len() > most => {
                    let message = format!("has {} entries", list.len());
                    self.report_fit_fault(line, &format!("fit.{key}"), &message, &format!("at most {most}"));
                }
                Some(list) if list.is_empty() && key == "seen" => {
                    self.report_fit_fault(line, "fit.seen", "is empty", LOAD_FORM);
                }
                Some(list) if key == "seen" => {
                    record.seen = list.iter().filter_map(|entry| self.read_seen_load(entry)).collect();
                }
                Some(list) => record.draws = list.iter().filter_map(|entry| self.read_draw(entry)).collect(),
                None => self.report_fit_fault(line, &format!("fit.{key}"), "not a list", "a list of tables"),
            }
        }
        record
    }

    fn report_fit_fault(&mut self, line: usize, key: &str, message: &str, expected: &str) {
        let fault = self.diagnostic(line, message).with_key(key).with_expected(expected);
        self.errors.push(fault);
    }

    fn report_unknown_fit_keys(&mut self, table: &DeTable<'_>, section: &str, known: &[&str]) {
        for (name, _) in table {
            let key = name.get_ref().as_ref();
            if !known.contains(&key) {
                let fault = self.diagnostic(self.line_at(name.span().start), "unknown key");
                let fault =
                    fault.with_key(join_key(section, key)).with_expected(format!("one of {}", known.join(", ")));
                self.errors.push(fault.suggest_nearest(key, known.iter().copied()));
            }
        }
    }

    /// Reads a seen load. `None` after an error.
    fn read_seen_load(&mut self, entry: &Spanned<DeValue<'_>>) -> Option<SeenLoad> {
        let line = self.line_at(entry.span().start);
        let Some(table) = entry.get_ref().as_table() else {
            self.report_fit_fault(line, "fit.seen", "not a table", LOAD_FORM);
            return None;
        };
        self.report_unknown_fit_keys(table, "fit.seen", &LOAD_KEYS);
        let value = |key: &str| table.get(key).map(Spanned::get_ref);
        let count = |key: &str, most: u64| {
            let count: u64 = value(key)?.as_integer()?.as_str().parse().ok()?;
            (1..=most).contains(&count).then_some(count)
        };
        let word = value("rw").and_then(DeValue::as_str);
        let pattern = word.and_then(|word| PATTERNS.iter().find(|(known, _)| *known == word));
        let pattern = pattern.map(|(_, pattern)| *pattern);
        let (block, depth) = (count("block", MOST_BLOCK_BYTES), count("depth", MOST_DEPTH));
        let write_cache = value("write_cache").and_then(DeValue::as_bool);
        let patterns = format!("one of {}", PATTERNS.map(|(word, _)| word).join(", "));
        let faults = [
            ("rw", pattern.is_none(), patterns),
            ("block", block.is_none(), format!("bytes from 1 to {MOST_BLOCK_BYTES}")),
            ("depth", depth.is_none(), format!("a whole number from 1 to {MOST_DEPTH}")),
            ("write_cache", write_cache.is_none(), "true or false".to_owned()),
        ];
        for (key, _, expected) in faults.into_iter().filter(|(_, is_fault, _)| *is_fault) {
            let line = table.get(key).map_or(line, |value| self.line_at(value.span().start));
            let message = if table.contains_key(key) { "invalid value" } else { "missing key" };
            let fault = self.diagnostic(line, message).with_key(format!("fit.seen.{key}")).with_expected(expected);
            let known = PATTERNS.map(|(word, _)| word);
            let fault = match word.filter(|_| key == "rw") {
                Some(word) => Diagnostic { nearest: crate::spelling::nearest(word, known).map(str::to_owned), ..fault },
                None => fault,
            };
            self.errors.push(fault);
        }
        Some(SeenLoad::new(pattern?, block?, depth? as u32, write_cache?))
    }

    /// Reads a draw: keys of a profile, dotted or as tables, and values. `None` if it is no table.
    fn read_draw(&mut self, entry: &Spanned<DeValue<'_>>) -> Option<BTreeMap<String, String>> {
        let Some(table) = entry.get_ref().as_table() else {
            self.report_fit_fault(self.line_at(entry.span().start), "fit.draws", "not a table", DRAW_FORM);
            return None;
        };
        let mut draw = BTreeMap::new();
        self.read_draw_keys(table, "", &mut draw);
        Some(draw)
    }

    fn read_draw_keys(&mut self, table: &DeTable<'_>, prefix: &str, draw: &mut BTreeMap<String, String>) {
        for (name, value) in table {
            let key = join_key(prefix, name.get_ref());
            if let Some(inner) = value.get_ref().as_table() {
                self.read_draw_keys(inner, &key, draw);
                continue;
            }
            let line = self.line_at(name.span().start);
            let text = value.get_ref().as_str().map_or_else(|| self.text_at(value.span()).to_owned(), str::to_owned);
            if let Err(faults) = parse_setting(KEYS, "drive", &key, &text, &VOCABULARY) {
                // The faults name `--set` and `drive.KEY`; here they are the profile's own.
                let own_key = |word: &str| word.strip_prefix("drive.").unwrap_or(word).to_owned();
                let file = self.diagnostic(line, "").file;
                self.errors.extend(faults.into_iter().map(|fault| Diagnostic {
                    file: file.clone(),
                    line,
                    key: fault.key.as_deref().map(|key| format!("fit.draws.{}", own_key(key))),
                    nearest: fault.nearest.as_deref().map(own_key),
                    ..fault
                }));
                continue;
            }
            draw.insert(key, text);
        }
    }
}
