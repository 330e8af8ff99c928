//! Reads figures: from the tables of a TOML file, each with its source, or as bare values from the command line.

use std::collections::{BTreeMap, BTreeSet};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::key::{KeyDomain, ProfileKey};
use super::value::{Figure, FigureOrigin, FigureValue, KINDS, RunRow, ZoneBand, ZoneRow};
use super::vocabulary::{NO_WORDS, Vocabulary};
use crate::diagnostic::Diagnostic;
use crate::spelling::nearest;

/// The line of a fault in a value, and the fault in words.
type ValueFault = (usize, String);

/// Reads figures from a TOML text, and collects its errors.
pub struct FigureReader<'a> {
    file: &'a str,
    text: &'a str,
    /// Words that errors may suggest.
    vocabulary: &'static Vocabulary,
    /// The byte at which each line starts.
    line_starts: Vec<usize>,
    /// Citations by their short names: `@name` in a source.
    pub sources: BTreeMap<String, String>,
    /// The short names that figures have cited so far.
    cited: BTreeSet<String>,
    pub errors: Vec<Diagnostic>,
}

impl<'a> FigureReader<'a> {
    /// A reader of `text`; `file` is its name for messages.
    pub fn new(file: &'a str, text: &'a str, vocabulary: &'static Vocabulary) -> FigureReader<'a> {
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        FigureReader {
            file,
            text,
            vocabulary,
            line_starts,
            sources: BTreeMap::new(),
            cited: BTreeSet::new(),
            errors: Vec::new(),
        }
    }

    /// The table of the document; syntax errors go to `errors`.
    pub fn parse_table(&mut self) -> DeTable<'a> {
        let (table, errors) = DeTable::parse_recoverable(self.text);
        for error in errors {
            let line = error.span().map_or(0, |span| self.line_at(span.start));
            self.errors.push(Diagnostic::at(self.file, line, error.message().to_owned()));
        }
        table.into_inner()
    }

    /// The line of a byte, from 1.
    pub fn line_at(&self, byte: usize) -> usize {
        self.line_starts.partition_point(|&start| start <= byte)
    }

    /// The text of these bytes.
    pub(crate) fn text_at(&self, bytes: std::ops::Range<usize>) -> &'a str {
        self.text.get(bytes).unwrap_or_default()
    }

    /// A diagnostic about a line of this file.
    pub fn diagnostic(&self, line: usize, message: impl Into<String>) -> Diagnostic {
        Diagnostic::at(self.file, line, message)
    }

    /// Reads `[sources]`, the short names of citations, into `sources`.
    pub fn read_sources(&mut self, value: &Spanned<DeValue<'_>>) {
        let line = self.line_at(value.span().start);
        let Some(table) = value.get_ref().as_table() else {
            self.errors.push(Diagnostic::at(self.file, line, "not a table").with_key("sources"));
            return;
        };
        for (name, text) in table {
            match text.get_ref().as_str() {
                Some(text) => {
                    self.sources.insert(name.get_ref().to_string(), text.to_owned());
                }
                None => {
                    let line = self.line_at(text.span().start);
                    let wrong =
                        Diagnostic::at(self.file, line, "not a string").with_key(format!("sources.{}", name.get_ref()));
                    self.errors.push(wrong);
                }
            }
        }
    }

    /// Reads all figures in `table`, whose keys start with `prefix`, into `out`. A bare value has no source: it is a setting of
    /// the user if `allows_bare_values`, else an error.
    pub fn read_figures(
        &mut self,
        table: &DeTable<'_>,
        prefix: &str,
        keys: &'static [ProfileKey],
        allows_bare_values: bool,
        out: &mut Vec<Figure>,
    ) {
        for (name, value) in table {
            let path = join_key(prefix, name.get_ref());
            let line = self.line_at(name.span().start);
            let section_prefix = format!("{path}.");
            if let Some(key) = keys.iter().find(|key| key.path == path) {
                out.extend(self.read_figure(key, value, line, allows_bare_values));
            } else if keys.iter().any(|key| key.path.starts_with(&section_prefix)) {
                match value.get_ref().as_table() {
                    Some(inner) => self.read_figures(inner, &path, keys, allows_bare_values, out),
                    None => {
                        let wrong =
                            Diagnostic::at(self.file, line, "is a section").with_key(path).with_expected("a table");
                        self.errors.push(wrong);
                    }
                }
            } else {
                let known = keys.iter().map(|key| key.path);
                let wrong = self.diagnostic(line, "unknown key").with_key(&path);
                self.errors.push(wrong.suggest_nearest(&path, known));
            }
        }
    }

    /// Reads the figure of `key`, as [`Self::read_figures`] does. `None` after an error.
    pub(crate) fn read_figure(
        &mut self,
        key: &'static ProfileKey,
        value: &Spanned<DeValue<'_>>,
        line: usize,
        allows_bare_values: bool,
    ) -> Option<Figure> {
        let entry = match value.get_ref().as_table() {
            Some(table) => self.read_entry(key, table, line)?,
            None if allows_bare_values => {
                let source = format!("{}:{line}", self.file);
                FigureEntry { value, kind: FigureOrigin::Set, source, misses: None, interval: None }
            }
            None => {
                self.errors.push(missing_source(self.file, line, key.path));
                return None;
            }
        };
        let line = self.line_at(entry.value.span().start).max(line);
        match self.read_value(&key.accepts, entry.value) {
            Ok(value) => Some(Figure {
                key: key.path,
                value,
                unit: key.unit,
                kind: entry.kind,
                source: entry.source,
                misses: entry.misses,
                interval: entry.interval,
                line,
            }),
            Err((fault_line, message)) => {
                let wrong = Diagnostic::at(self.file, fault_line, message).with_key(key.path);
                let word = entry.value.get_ref().as_str().unwrap_or("");
                self.errors.push(self.vocabulary.explain_refusal(key, word, wrong));
                None
            }
        }
    }

    /// Reads the table `{ value = …, KIND = "source" }` of a figure. `None` after an error.
    fn read_entry<'t, 'i>(
        &mut self,
        key: &ProfileKey,
        table: &'t DeTable<'i>,
        line: usize,
    ) -> Option<FigureEntry<'t, 'i>> {
        let (mut value, mut origin, mut misses, mut interval) = (None, None, None, None);
        for (name, inner) in table {
            let name = name.get_ref().as_ref();
            let kind = KINDS.iter().find(|kind| kind.0 == name);
            match (name, kind, inner.get_ref().as_str()) {
                ("value", _, _) => value = Some(inner),
                ("interval", _, _) => {
                    interval = Some(GivenInterval {
                        bounds: ordered_pair(inner.get_ref()),
                        line: self.line_at(inner.span().start),
                    })
                }
                ("misses", _, Some(text)) if key.path.starts_with("checks.") => misses = Some(text.to_owned()),
                (_, Some(&(_, kind)), Some(text)) if origin.is_none() && !text.trim().is_empty() => {
                    origin = Some((kind, self.expand_citations(text, key.path, line)));
                }
                (_, Some(_), _) => {
                    let wrong = Diagnostic::at(self.file, line, format!("`{name}` is not a source"))
                        .with_key(key.path)
                        .with_expected("one string: a citation or a derivation");
                    self.errors.push(wrong);
                }
                _ => {
                    let known = ["value", "measured", "datasheet", "inferred", "fitted", "interval", "misses"];
                    let wrong = self.diagnostic(line, format!("unknown word `{name}`"));
                    self.errors.push(wrong.with_key(key.path).suggest_nearest(name, known));
                }
            }
        }
        if value.is_none() {
            self.errors.push(Diagnostic::at(self.file, line, "figure without a value").with_key(key.path));
        }
        if origin.is_none() {
            self.errors.push(missing_source(self.file, line, key.path));
        }
        let (kind, source) = origin?;
        let interval = self.check_interval(key, kind, interval, line);
        Some(FigureEntry { value: value?, kind, source, misses, interval })
    }

    /// The interval of a figure; fitted numbers must have one, and others must not.
    fn check_interval(
        &mut self,
        key: &ProfileKey,
        kind: FigureOrigin,
        given: Option<GivenInterval>,
        line: usize,
    ) -> Option<(f64, f64)> {
        let is_fitted_number = kind == FigureOrigin::Fitted && key.accepts.is_number();
        let fault = match given {
            None if is_fitted_number => self.diagnostic(line, "a fitted number without an interval"),
            None => return None,
            Some(given) if !is_fitted_number => {
                self.diagnostic(given.line, "an interval on a figure that is not a fitted number")
            }
            Some(GivenInterval { bounds: None, line }) => self.diagnostic(line, "invalid `interval`"),
            Some(GivenInterval { bounds, .. }) => return bounds,
        };
        self.errors
            .push(fault.with_key(key.path).with_expected("{ value = …, fitted = \"…\", interval = [low, high] }"));
        None
    }

    /// Replaces each `@name` by its citation and marks it as cited; reports unknown names.
    pub(crate) fn expand_citations(&mut self, text: &str, key: &str, line: usize) -> String {
        let mut full = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('@') {
            full.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            match self.sources.get(name) {
                Some(citation) => {
                    full.push_str(citation);
                    self.cited.insert(name.to_owned());
                }
                None => {
                    let wrong = Diagnostic::at(self.file, line, format!("unknown source `@{name}`"))
                        .with_key(key)
                        .suggest_nearest(name, self.sources.keys().map(String::as_str));
                    self.errors.push(wrong);
                }
            }
            rest = after;
        }
        full.push_str(rest);
        full
    }

    /// Reports sources that no figure cites.
    pub fn report_uncited_sources(&mut self) {
        let uncited = self.sources.keys().filter(|name| !self.cited.contains(*name));
        let fault = |name| self.diagnostic(0, "no figure cites it").with_key(format!("sources.{name}"));
        let faults: Vec<Diagnostic> = uncited.map(fault).collect();
        self.errors.extend(faults);
    }

    /// Reads a value for a key that accepts `accepts`.
    fn read_value(&self, accepts: &KeyDomain, value: &Spanned<DeValue<'_>>) -> Result<FigureValue, ValueFault> {
        let line = self.line_at(value.span().start);
        match accepts {
            KeyDomain::Zones => self.read_zones(value),
            KeyDomain::Points => self.read_points(value),
            KeyDomain::Holes => self.read_holes(value),
            KeyDomain::Pairs => self.read_pairs(value),
            KeyDomain::Places => self.read_weak_sectors(value),
            _ => scalar_value(accepts, value.get_ref()).map_err(|message| (line, message)),
        }
    }

    fn read_zones(&self, value: &Spanned<DeValue<'_>>) -> Result<FigureValue, ValueFault> {
        let line = self.line_at(value.span().start);
        let rows = value.get_ref().as_array().ok_or((line, "not a list".to_owned()))?;
        let rows = rows.iter().map(|row| self.read_zone(row));
        Ok(FigureValue::Zones(rows.collect::<Result<_, _>>()?))
    }

    fn read_zone(&self, row: &Spanned<DeValue<'_>>) -> Result<ZoneRow, ValueFault> {
        let line = self.line_at(row.span().start);
        let wrong = |message: &str| (line, message.to_owned());
        let table = row.get_ref().as_table().ok_or(wrong("a zone is not a table"))?;
        let mut zone = ZoneRow { line, ..ZoneRow::default() };
        let mut has_first = false;
        for (name, value) in table {
            let value = value.get_ref();
            let whole = || as_count(value).ok_or(wrong(&format!("`{}` is not a count", name.get_ref())));
            let share = || {
                let number = as_number(value).filter(|n| (0.0..1.0).contains(n));
                number.ok_or(wrong(&format!("`{}` is not a share of a revolution", name.get_ref())))
            };
            match name.get_ref().as_ref() {
                "first" => {
                    zone.first = whole()?;
                    has_first = true;
                }
                "cylinders" => zone.cylinders = whole()?,
                "gap" => zone.gap = whole()?,
                "offset" => zone.offset = Some(share()?),
                "track_skew" => zone.skews.get_or_insert_default().0 = share()?,
                "head_skew" => zone.skews.get_or_insert_default().1 = share()?,
                "band" => zone.band.get_or_insert_default().cylinders = whole()?,
                "band_skew" => zone.band.get_or_insert_default().skew = share()?,
                "runs" => {
                    zone.band.get_or_insert_default().runs = read_runs(value)
                        .ok_or(wrong("`runs` is not a list of [head, first, tracks, spt, angle, skew]"))?;
                }
                "spt" => {
                    let same_for_all = as_count(value).map(|spt| vec![spt]);
                    let per_head = || value.as_array()?.iter().map(|v| as_count(v.get_ref())).collect();
                    zone.spt = same_for_all
                        .or_else(per_head)
                        .filter(|spt: &Vec<u32>| spt.iter().all(|&n| n > 0))
                        .ok_or(wrong("`spt` is neither a count above 0 nor a list of one per head"))?;
                }
                other => {
                    let known = suggest_zone_key(other);
                    return Err(wrong(&format!("unknown key `{other}` in a zone{known}")));
                }
            }
        }
        let whole_band = |band: &ZoneBand| band.cylinders > 0 && !band.runs.is_empty();
        let has_tracks = zone.band.as_ref().map_or(!zone.spt.is_empty(), whole_band);
        match has_first && zone.cylinders > 0 && has_tracks {
            true => Ok(zone),
            false => {
                Err(wrong("a zone lacks `first`, `cylinders` above 0, or its tracks (`spt`, or `band` and `runs`)"))
            }
        }
    }

    fn read_holes(&self, value: &Spanned<DeValue<'_>>) -> Result<FigureValue, ValueFault> {
        let message = "not [first slot, slots] or [first slot, slots, period, times more]";
        let hole = |row: &[u64]| match *row {
            [first, slots] => Some([first, slots, 0, 0]),
            [first, slots, period, times] => Some([first, slots, period, times]),
            _ => None,
        };
        self.read_number_rows(value, message, hole).map(FigureValue::Holes)
    }

    fn read_pairs(&self, value: &Spanned<DeValue<'_>>) -> Result<FigureValue, ValueFault> {
        let pair = |row: &[u64]| if let [slot, other] = *row { Some((slot, other)) } else { None };
        self.read_number_rows(value, "not [slot, slot in a hole]", pair).map(FigureValue::Pairs)
    }

    fn read_weak_sectors(&self, value: &Spanned<DeValue<'_>>) -> Result<FigureValue, ValueFault> {
        let run = |row: &[u64]| match *row {
            [lba, sectors, tries] => Some((lba, u32::try_from(sectors).ok()?, u32::try_from(tries).ok()?)),
            _ => None,
        };
        self.read_number_rows(value, "not [first block, blocks, tries]", run).map(FigureValue::Places)
    }

    /// Reads rows of whole numbers, each converted by `convert`; a row that cannot be converted is a fault with the text
    /// `message`.
    fn read_number_rows<T>(
        &self,
        value: &Spanned<DeValue<'_>>,
        message: &str,
        convert: impl Fn(&[u64]) -> Option<T>,
    ) -> Result<Vec<T>, ValueFault> {
        let at = |value: &Spanned<DeValue<'_>>| self.line_at(value.span().start);
        let rows = value.get_ref().as_array().ok_or((at(value), "not a list".to_owned()))?;
        let read = |value: &Spanned<DeValue<'_>>| {
            let numbers = value.get_ref().as_array()?.iter();
            let numbers = numbers.map(|number| u64::try_from(as_whole(number.get_ref())?).ok());
            convert(&numbers.collect::<Option<Vec<u64>>>()?)
        };
        rows.iter().map(|value| read(value).ok_or_else(|| (at(value), message.to_owned()))).collect()
    }

    fn read_points(&self, value: &Spanned<DeValue<'_>>) -> Result<FigureValue, ValueFault> {
        let at = |value: &Spanned<DeValue<'_>>| self.line_at(value.span().start);
        let rows = value.get_ref().as_array().ok_or((at(value), "not a list".to_owned()))?;
        let point = |row: &Spanned<DeValue<'_>>| {
            let pair = row.get_ref().as_array().filter(|pair| pair.len() == 2)?;
            let time = as_number(pair[1].get_ref()).filter(|&ms| (0.0..=1000.0).contains(&ms))?;
            Some((as_count(pair[0].get_ref())?, time))
        };
        let read = |row| point(row).ok_or_else(|| (at(row), "not a distance and a time".to_owned()));
        Ok(FigureValue::Points(rows.iter().map(read).collect::<Result<_, _>>()?))
    }
}

const ZONE_KEYS: [&str; 10] =
    ["first", "cylinders", "spt", "gap", "offset", "track_skew", "head_skew", "band", "band_skew", "runs"];

fn suggest_zone_key(word: &str) -> String {
    nearest(word, ZONE_KEYS).map_or(String::new(), |near| format!(", did you mean `{near}`?"))
}

fn read_runs(value: &DeValue<'_>) -> Option<Vec<RunRow>> {
    let run = |row: &Spanned<DeValue<'_>>| {
        let row: Vec<_> = row.get_ref().as_array()?.iter().collect();
        let [head, first, tracks, spt, angle, skew] = row[..] else { return None };
        let share = |value: &Spanned<DeValue<'_>>| as_number(value.get_ref()).filter(|n| (0.0..1.0).contains(n));
        Some(RunRow {
            head: u8::try_from(as_count(head.get_ref())?).ok()?,
            first: as_count(first.get_ref())?,
            tracks: as_number(tracks.get_ref()).filter(|n| n.fract() == 0.0 && n.abs() < 1e6 && *n != 0.0)? as i32,
            spt: as_count(spt.get_ref()).filter(|&spt| spt > 0)?,
            angle: (share(angle)?, share(skew)?),
        })
    };
    value.as_array()?.iter().map(run).collect()
}

/// The parts of a figure as its table has them.
struct FigureEntry<'t, 'i> {
    value: &'t Spanned<DeValue<'i>>,
    kind: FigureOrigin,
    source: String,
    misses: Option<String>,
    interval: Option<(f64, f64)>,
}

/// The `interval` of a figure as its table has it.
struct GivenInterval {
    /// `None` if it is not a pair of ordered numbers.
    bounds: Option<(f64, f64)>,
    line: usize,
}

/// Two numbers, the smaller first.
fn ordered_pair(value: &DeValue<'_>) -> Option<(f64, f64)> {
    let numbers: Vec<f64> = value.as_array()?.iter().map(|value| as_number(value.get_ref())).collect::<Option<_>>()?;
    matches!(numbers[..], [low, high] if low <= high).then(|| (numbers[0], numbers[1]))
}

fn missing_source(file: &str, line: usize, key: &str) -> Diagnostic {
    Diagnostic::at(file, line, "figure without a source")
        .with_key(key)
        .with_expected("{ value = …, measured | datasheet | inferred | fitted = \"…\" }")
}

/// Parses a value for a key that accepts `accepts`, as the command line gives it: TOML, or a bare word.
pub(crate) fn parse_value(accepts: &KeyDomain, text: &str) -> Result<FigureValue, String> {
    if let KeyDomain::Word(_) = accepts {
        return word_value(accepts, text.trim_matches('"'));
    }
    if let KeyDomain::Flag = accepts {
        let flag = parse_switch(text.trim_matches('"'));
        return flag.map(FigureValue::Flag).ok_or_else(|| format!("`{text}` is not a switch"));
    }
    if let KeyDomain::Zones | KeyDomain::Points | KeyDomain::Holes | KeyDomain::Pairs | KeyDomain::Places = accepts {
        let reader = FigureReader::new("--set", text, &NO_WORDS);
        let value = DeValue::parse(text).map_err(|error| error.message().to_owned())?;
        return reader.read_value(accepts, &value).map_err(|(_, message)| message);
    }
    match DeValue::parse(text) {
        Ok(value) => scalar_value(accepts, value.get_ref()),
        Err(_) => Err(format!("`{text}` is invalid")),
    }
}

fn scalar_value(accepts: &KeyDomain, value: &DeValue<'_>) -> Result<FigureValue, String> {
    match accepts {
        KeyDomain::Whole(low, high) => match as_whole(value) {
            Some(n) if n >= i128::from(*low) && n <= i128::from(*high) => Ok(FigureValue::Whole(n as u64)),
            Some(n) => Err(format!("{n} is out of range")),
            None => Err(format!("has type {}", value.type_str())),
        },
        KeyDomain::Number(low, high) => match as_number(value) {
            Some(n) if n >= *low && n <= *high => Ok(FigureValue::Number(n)),
            Some(n) => Err(format!("{n} is out of range")),
            None => Err(format!("has type {}", value.type_str())),
        },
        KeyDomain::Flag => {
            let number = || as_whole(value).map(|n| n.to_string());
            let word = || value.as_str().map(str::to_owned).or_else(number).and_then(|word| parse_switch(&word));
            match value.as_bool().or_else(word) {
                Some(flag) => Ok(FigureValue::Flag(flag)),
                None => Err(format!("has type {}", value.type_str())),
            }
        }
        KeyDomain::Word(_) => match value.as_str() {
            Some(text) => word_value(accepts, text),
            None => Err(format!("has type {}", value.type_str())),
        },
        KeyDomain::Zones | KeyDomain::Points | KeyDomain::Holes | KeyDomain::Pairs | KeyDomain::Places => {
            Err("is not a list".to_owned())
        }
    }
}

/// Reads a switch in any of the usual words; it is stored as `true` or `false`.
pub fn parse_switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "on" | "yes" | "1" => Some(true),
        "false" | "off" | "no" | "0" => Some(false),
        _ => None,
    }
}

fn word_value(accepts: &KeyDomain, text: &str) -> Result<FigureValue, String> {
    match accepts {
        KeyDomain::Word(words) if words.contains(&text) => Ok(FigureValue::Word(text.to_owned())),
        _ => Err(format!("unknown word `{text}`")),
    }
}

fn as_whole(value: &DeValue<'_>) -> Option<i128> {
    let integer = value.as_integer()?;
    i128::from_str_radix(integer.as_str(), integer.radix()).ok()
}

fn as_count(value: &DeValue<'_>) -> Option<u32> {
    as_whole(value).and_then(|n| u32::try_from(n).ok())
}

fn as_number(value: &DeValue<'_>) -> Option<f64> {
    let float = value.as_float().and_then(|float| float.as_str().parse().ok());
    float.or_else(|| as_whole(value).map(|n| n as f64)).filter(|n: &f64| n.is_finite())
}

/// A dotted key below `prefix`, which may be empty.
pub fn join_key(prefix: &str, name: &str) -> String {
    match prefix {
        "" => name.to_owned(),
        _ => format!("{prefix}.{name}"),
    }
}
