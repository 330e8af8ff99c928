//! Stacks: a drive and the layers above it, as names and overrides from a file, a drive's name or `--set`.
//!
//! ```toml
//! drive = "barracuda-7200.7"        # a built-in name or a profile's path
//! driver = "windows-xp"             # default: direct
//! accelerator = "maxboost"          # default: none
//! [controller]                      # default: none
//! name = "sii-3112"
//! rate_mb_s = 90
//! [array]                           # default: none, one drive
//! name = "raid-5"
//! drives = 4                        # each with such a controller and drive
//! ```
//!
//! A layer is a name, or a table of a `name` and keys that override its figures (`[drive.cache]`, `[driver]`). A layer
//! may also be built from keys alone. Values in a stack need no source, as they are the user's.
//!
//! The order of the layers is that of [`layers`], from the program down. `order` changes it, and a second layer of a kind is
//! `driver-2`, numbered from the top:
//!
//! ```toml
//! order = ["processor", "driver", "array", "driver-2", "controller"]
//! [driver-2]                        # one per drive, as it is below the array
//! name = "linux-none"
//! ```
//!
//! `[at."10 s"]` holds dotted keys that change at that time of a run: `driver.flush = "drop"`.
//!
//! A drive's name alone means the driver `direct` (in order, without splitting, without a limit of its own) and no controller, so that it
//! measures the drive. `driver = "none"` omits the driver: requests beyond the drive's depth are then refused.

mod accelerator;
mod array;
mod bus;
mod channel;
mod controller;
mod driver;
mod hosts;
mod keys;
mod kind;
mod kinds;
mod modes;
mod processor;
mod scsi;

use seekwise_disk::stack::{self as model, MisplacedLayer};
use seekwise_disk::time::Instant;
use toml::Spanned;
use toml::de::DeValue;

use crate::change::WrittenChange;
use crate::diagnostic::{Diagnostic, UNKNOWN_KEY, sorted_by_line};
use crate::dotted::flatten;
use crate::drives;
use crate::duration::Duration;
use crate::figure::{
    Figure, FigureInput, FigureOrigin as Origin, FigureReader, Figures, KeyDomain, join_path, parse_setting,
    parse_switch,
};
use crate::metric::Metric;
use crate::profile::{DriveFile, ReadingCache};
pub use hosts::{HostPreset, hosts};
pub use keys::{JOB, STACK, VOCABULARY};
use kind::LayerContext;
use kinds::kind_of;
pub use kinds::{keys_of, layer_concern, layer_descriptions, layers, strip_number};

/// A stack as specified, not yet built.
#[derive(Clone, Debug)]
pub struct StackFile {
    file: String,
    /// In the order of [`layers`]; further layers of a kind follow in the order of their numbers.
    layers: Vec<LayerRequest>,
    /// The layers from the program down, if the order differs.
    order: Option<Vec<String>>,
    order_line: usize,
    /// Changes during a run, in order of time: instant, key and value.
    changes: Vec<(Instant, String, String)>,
}

/// A requested layer: a name and overrides.
#[derive(Clone, Debug, Default)]
struct LayerRequest {
    /// The name of the layer in the stack.
    layer: String,
    /// The name of a preset or a drive, or `none`.
    name: String,
    line: usize,
    figures: Vec<Figure>,
    /// Keys set to `none`, which overrides the figures of the name or the profile.
    left_out: Vec<&'static str>,
}

/// A figure of a built stack, for the record of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Setting {
    /// Dotted key of the stack: `drive.cache.segments`.
    pub key: String,
    /// The value as text.
    pub value: String,
    /// The unit; empty for counts and words.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "String::is_empty"))]
    pub unit: String,
    /// The origin.
    pub kind: Origin,
    /// Citation, derivation, or where the user set it.
    pub source: String,
}

/// A stack ready to run.
#[derive(Clone, Debug)]
pub struct BuiltStack {
    /// The stack of the model.
    pub stack: model::Stack,
    /// The changes of `stack`, in words.
    pub changes: Vec<WrittenChange>,
    /// Every figure that it was built from.
    pub settings: Vec<Setting>,
    /// Settings that the drive does not accept as they are.
    pub warnings: Vec<Diagnostic>,
}

impl Setting {
    /// A setting made by the user.
    pub fn set_by_user(key: String, value: String, source: &str) -> Setting {
        Setting { key, value, unit: String::new(), kind: Origin::Set, source: source.to_owned() }
    }
}

impl LayerRequest {
    fn new(layer: &str, name: &str) -> LayerRequest {
        LayerRequest { layer: layer.to_owned(), name: name.to_owned(), ..LayerRequest::default() }
    }

    /// The choice of the layer, as a setting of the stack.
    fn name_setting(&self) -> Setting {
        Setting::set_by_user(self.layer.clone(), self.name.clone(), "named by the stack")
    }

    fn is_present(&self) -> bool {
        self.name != "none" || !self.figures.is_empty()
    }
}

/// All dotted keys of a stack's figures: `drive.cache.segments`.
pub fn keys() -> Vec<String> {
    let of = |layer: &'static str| keys_of(layer).iter().map(move |key| format!("{layer}.{}", key.path));
    layers().flat_map(of).collect()
}

impl StackFile {
    /// The drive alone, under the driver `direct`.
    pub fn named_drive(name: &str) -> StackFile {
        let asked = layers().map(|layer| {
            let name = match layer {
                "drive" => name,
                "driver" => "direct",
                _ => "none",
            };
            LayerRequest::new(layer, name)
        });
        StackFile { file: name.to_owned(), layers: asked.collect(), order: None, order_line: 0, changes: Vec::new() }
    }

    /// Reads a stack file; `file` is its name for messages.
    pub fn parse(file: &str, text: &str) -> Result<StackFile, Vec<Diagnostic>> {
        let mut reader = FigureReader::new(file, text, &VOCABULARY);
        let table = reader.parse_table();
        let mut stack = StackFile::named_drive("");
        stack.file = file.to_owned();
        for (name, value) in &table {
            let line = reader.line_at(name.span().start);
            match name.get_ref().as_ref() {
                "at" => stack.read_changes(&mut reader, line, text),
                "order" => stack.read_order(&mut reader, line, value),
                layer if stack.layer_mut(layer).is_some() => {
                    let read = read_layer(&mut reader, layer, line, value);
                    stack.layer_mut(layer).into_iter().for_each(|asked| *asked = read.clone());
                }
                other => reader.errors.push(unknown_key(file, line, other)),
            }
        }
        if stack.drive().is_empty() {
            let wrong = reader.diagnostic(0, "missing key").with_key("drive");
            reader.errors.push(wrong.with_expected("the name of a drive, or the path of a profile"));
        }
        match reader.errors.is_empty() {
            true => Ok(stack),
            false => Err(sorted_by_line(reader.errors)),
        }
    }

    /// The list `order`.
    fn read_order(&mut self, reader: &mut FigureReader<'_>, line: usize, value: &Spanned<DeValue<'_>>) {
        let words = value.get_ref().as_array().map(|list| list.iter().map(|word| word.get_ref().as_str()));
        match words.and_then(|words| words.map(|word| word.map(str::to_owned)).collect::<Option<Vec<String>>>()) {
            Some(words) => (self.order, self.order_line) = (Some(words), line),
            None => {
                let wrong = reader.diagnostic(line, "is not a list of layers").with_key("order");
                reader.errors.push(wrong.with_expected(ORDER));
            }
        }
    }

    /// The table `at` of a stack file: `[at."10 s"]`, then dotted keys and values.
    fn read_changes(&mut self, reader: &mut FigureReader<'_>, line: usize, text: &str) {
        let at = text.parse::<toml::Table>().ok().and_then(|mut table| table.remove("at"));
        let Some(toml::Value::Table(at)) = at else {
            let wrong = reader.diagnostic(line, "is not a table").with_key("at");
            return reader.errors.push(wrong.with_expected("[at.\"10 s\"] and what changes then"));
        };
        for (key, value) in flatten(&at) {
            if let Err(fault) = self.add_change(&key, &value) {
                reader.errors.push(Diagnostic { file: self.file.clone(), line, ..*fault });
            }
        }
    }

    /// Adds a change: `key` is a time, then a dotted key of the stack.
    fn add_change(&mut self, key: &str, value: &str) -> Result<(), Box<Diagnostic>> {
        let wrong = || Diagnostic::at("--set", 0, "not a change during a run").with_key(format!("at.{key}"));
        let expected = "a time and a key of a layer, such as at.10 s.driver.flush";
        let begins = |(dot, _): &(usize, &str)| key[dot + 1..].split('.').next().is_some_and(is_layer);
        let (place, _) = key.match_indices('.').find(begins).ok_or_else(|| wrong().with_expected(expected))?;
        let at = Duration::parse(&key[..place]).map_err(|why| wrong().with_expected(why))?.nanos;
        let (at, key) = (Instant::from_nanos(at), &key[place + 1..]);
        self.changes.push((at, key.to_owned(), plain_value(key, value)));
        self.changes.sort_by_key(|change| change.0);
        Ok(())
    }

    /// The layer of this name; naming a further layer of a kind creates it.
    fn layer_mut(&mut self, name: &str) -> Option<&mut LayerRequest> {
        if !is_layer(name) {
            return None;
        }
        let place = self.layers.iter().position(|asked| asked.layer == name).unwrap_or_else(|| {
            let last = self.layers.iter().rposition(|asked| strip_number(&asked.layer) == strip_number(name));
            let place = last.map_or(0, |last| last + 1);
            self.layers.insert(place, LayerRequest::new(name, "none"));
            place
        });
        self.layers.get_mut(place)
    }

    fn find_layer(&self, name: &str) -> Option<&LayerRequest> {
        self.layers.iter().find(|asked| asked.layer == name)
    }

    /// The name or path of the drive.
    pub fn drive(&self) -> &str {
        self.find_layer("drive").map_or("", |drive| &drive.name)
    }

    /// Sets a dotted key, as `--set` does: `drive.cache.segments`, `driver.queue.policy`; `driver` alone is its name.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), Vec<Diagnostic>> {
        if let Some(change) = key.strip_prefix("at.") {
            return self.add_change(change, text).map_err(|fault| vec![*fault]);
        }
        if key == "order" {
            let words =
                text.split([',', ' ']).map(|word| word.trim_matches(['[', ']', '"'])).filter(|word| !word.is_empty());
            (self.order, self.order_line) = (Some(words.map(str::to_owned).collect()), 0);
            return Ok(());
        }
        let (name, below) = key.split_once('.').unwrap_or((key, "name"));
        let Some(layer) = self.layer_mut(name) else {
            let mut wrong = unknown_key("--set", 0, key).explain_limited_value(text);
            if wrong.message == UNKNOWN_KEY {
                wrong.expected.get_or_insert("a key of a stack layer or of the job (see `seekwise keys`)".to_owned());
            }
            return Err(vec![wrong]);
        };
        if below == "name" {
            (layer.name, layer.line) = (text.trim_matches('"').to_owned(), 0);
            return Ok(());
        }
        match parse_setting(keys_of(name), name, below, text, &VOCABULARY)? {
            FigureInput::Figure(figure) => {
                layer.left_out.retain(|key| *key != figure.key);
                put_figure(&mut layer.figures, figure);
            }
            FigureInput::None(key) => {
                layer.figures.retain(|figure| figure.key != key);
                layer.left_out.push(key);
            }
        }
        Ok(())
    }

    /// Builds the stack. `drives` returns the text of a profile by name or path, or why there is none; the line
    /// that names the drive is added here.
    pub fn build(
        &self,
        drives: &dyn Fn(&str) -> Result<String, Vec<Diagnostic>>,
    ) -> Result<BuiltStack, Vec<Diagnostic>> {
        self.build_with_cache(drives, &ReadingCache::default())
    }

    /// Builds the stack, as [`StackFile::build`] does; a drive that `cache` has seen is not read again.
    pub fn build_with_cache(
        &self,
        drives: &dyn Fn(&str) -> Result<String, Vec<Diagnostic>>,
        cache: &ReadingCache,
    ) -> Result<BuiltStack, Vec<Diagnostic>> {
        let presets = hosts()?;
        let drive = self.read_drive(drives, cache)?;
        let mut profile = drive.build_profile(cache)?;
        let standing = self.layers_in_order()?;
        let figures =
            standing.iter().map(|asked| self.layer_figures(presets, asked)).collect::<Result<Vec<Vec<Figure>>, _>>()?;
        let mut beside = LayerContext { profile: &mut profile, request_us: 0.0 };
        let mut layers = Vec::with_capacity(standing.len());
        for (asked, figures) in standing.iter().zip(&figures).rev() {
            layers.push(self.build_layer(asked, figures, &mut beside)?);
        }
        let mut stack = model::Stack { profile, layers, changes: Vec::new(), beside: Vec::new() };
        stack.check().map_err(|misplaced| vec![self.misplaced_error(misplaced)])?;
        let changes = self.parse_changes(&stack.layer_names())?;
        stack.changes = changes.iter().map(WrittenChange::to_change).collect();
        let mut settings: Vec<Setting> = self.layers.iter().map(LayerRequest::name_setting).collect();
        for (asked, figures) in standing.iter().zip(&figures) {
            settings.extend(figures.iter().map(|figure| figure_setting(&asked.layer, figure)));
        }
        let built = drive.figures().filter(|f| !f.key.starts_with("checks."));
        settings.extend(built.map(|figure| figure_setting("drive", figure)));
        settings.extend(
            self.order
                .as_ref()
                .map(|order| Setting::set_by_user("stack.order".to_owned(), order.join(", "), "asked for")),
        );
        settings.extend(changes.iter().map(change_setting));
        Ok(BuiltStack { stack, changes, settings, warnings: drive.warnings() })
    }

    /// The changes of a stack whose layers have these names.
    fn parse_changes(&self, names: &[String]) -> Result<Vec<WrittenChange>, Vec<Diagnostic>> {
        let has_level = |level: &str| level == "drive" || names.iter().any(|name| name == level);
        let parse = |(at, key, value): &(Instant, String, String)| WrittenChange::parse(*at, key, value, &has_level);
        let changes = self.changes.iter().map(parse).collect::<Result<Vec<_>, String>>();
        changes.map_err(|why| vec![Diagnostic::at(&self.file, 0, why).with_key("at")])
    }

    /// The drive's file with the overrides applied.
    fn read_drive(
        &self,
        drives: &dyn Fn(&str) -> Result<String, Vec<Diagnostic>>,
        cache: &ReadingCache,
    ) -> Result<DriveFile, Vec<Diagnostic>> {
        let name = self.drive();
        let text =
            drives(name).map_err(|faults| faults.into_iter().map(|why| self.drive_error(why)).collect::<Vec<_>>())?;
        let mut drive = cache.parse_profile(name, &text)?;
        if let Some(asked) = self.find_layer("drive") {
            asked.left_out.iter().for_each(|key| drive.remove_figure(key));
            asked.figures.iter().for_each(|figure| drive.replace_figure(figure.clone()));
        }
        Ok(drive)
    }

    /// The existing layers above the drive, from the program down, or what is wrong with their order.
    fn layers_in_order(&self) -> Result<Vec<&LayerRequest>, Vec<Diagnostic>> {
        let there: Vec<&LayerRequest> =
            self.layers.iter().filter(|asked| asked.is_present() && asked.layer != "drive").collect();
        let standing = match &self.order {
            None => there,
            Some(order) => self.apply_order(order, &there).map_err(|wrong| vec![wrong])?,
        };
        let mut seen: Vec<&str> = Vec::new();
        for asked in &standing {
            let before = seen.iter().filter(|kind| **kind == strip_number(&asked.layer)).count() + 1;
            let kind = strip_number(&asked.layer);
            let wanted = if before == 1 { kind.to_owned() } else { format!("{kind}-{before}") };
            if asked.layer != wanted {
                let wrong = Diagnostic::at(&self.file, asked.line, "has the wrong number").with_key(&asked.layer);
                return Err(vec![
                    wrong.with_expected(format!("`{wanted}`: layers of a kind are numbered from the top")),
                ]);
            }
            seen.push(kind);
        }
        Ok(standing)
    }

    /// The layers of `there` in the given order, which must name each one once.
    fn apply_order<'a>(
        &self,
        order: &[String],
        there: &[&'a LayerRequest],
    ) -> Result<Vec<&'a LayerRequest>, Diagnostic> {
        let wrong = |what: String| Diagnostic::at(&self.file, self.order_line, what).with_key("order");
        let named = |name: &String| there.iter().find(|asked| asked.layer == *name).copied();
        let order: &[String] =
            if order.last().is_some_and(|last| last == "drive") { &order[..order.len() - 1] } else { order };
        for (place, name) in order.iter().enumerate() {
            if named(name).is_none() {
                let known = there.iter().map(|asked| asked.layer.as_str());
                let what = format!("names `{name}`, which is not in the stack");
                return Err(wrong(what)
                    .with_expected(format!("{ORDER}, each of which is there"))
                    .suggest_nearest(name, known));
            }
            if order[..place].contains(name) {
                return Err(
                    wrong(format!("names `{name}` twice")).with_expected(format!("`{name}-2` for a second one"))
                );
            }
        }
        match there.iter().find(|asked| !order.contains(&asked.layer)) {
            Some(left) => Err(wrong(format!("omits `{}`", left.layer)).with_expected("each layer of the stack")),
            None => Ok(order.iter().filter_map(named).collect()),
        }
    }

    /// A layer of the model by its figures.
    fn build_layer(
        &self,
        asked: &LayerRequest,
        figures: &[Figure],
        beside: &mut LayerContext<'_>,
    ) -> Result<model::Layer, Vec<Diagnostic>> {
        let kind = kind_of(&asked.layer).expect("a layer above the drive");
        (kind.build)(&Figures::new(kind.keys, figures), beside).map_err(|(key, expected)| {
            let message = format!("contradicts the other figures of the {}", kind.name);
            let wrong = Diagnostic::at(&self.file, asked.line, message);
            vec![wrong.with_key(format!("{}.{key}", asked.layer)).with_expected(expected)]
        })
    }

    fn misplaced_error(&self, misplaced: MisplacedLayer) -> Diagnostic {
        let own = self.find_layer(&misplaced.layer).map_or(0, |asked| asked.line);
        let line = if self.order.is_some() { self.order_line } else { own };
        Diagnostic::at(&self.file, line, format!("cannot stand there: {}", misplaced.why)).with_key(misplaced.layer)
    }

    /// The error about an unavailable drive, at the line that names it; without a line, at the drive's name.
    fn drive_error(&self, why: Diagnostic) -> Diagnostic {
        let line = self.find_layer("drive").map_or(0, |drive| drive.line);
        let name = self.drive();
        match line {
            0 => Diagnostic { file: name.to_owned(), ..why },
            line => {
                let message = format!("`{name}`: {}", why.message);
                Diagnostic { file: self.file.clone(), line, message, key: Some("drive".to_owned()), ..why }
            }
        }
    }

    /// The figures of a layer above the drive, complete.
    fn layer_figures(&self, hosts: &[HostPreset], asked: &LayerRequest) -> Result<Vec<Figure>, Vec<Diagnostic>> {
        let kind = kind_of(&asked.layer).expect("a layer above the drive");
        let of_kind = || hosts.iter().filter(|host| host.layer == kind.name);
        let mut figures = match of_kind().find(|host| host.name == asked.name) {
            Some(host) => host.figures.clone(),
            None if asked.name.is_empty() || asked.name == "none" => Vec::new(),
            None => {
                let known: Vec<&str> = of_kind().map(|host| host.name.as_str()).collect();
                let wrong = Diagnostic::at(&self.file, asked.line, format!("unknown {} `{}`", kind.name, asked.name));
                let wrong = wrong.with_key(&asked.layer).with_expected(format!("none or one of {}", known.join(", ")));
                return Err(vec![
                    Diagnostic { nearest: VOCABULARY.find_meant_value(&asked.name, known), ..wrong }
                        .explain_limit(&asked.name),
                ]);
            }
        };
        figures.retain(|figure| !asked.left_out.contains(&figure.key));
        for figure in &asked.figures {
            put_figure(&mut figures, figure.clone());
        }
        let required = kind.keys.iter().filter(|key| key.required);
        let absent = required.filter(|key| !figures.iter().any(|f| f.key == key.path));
        let missing: Vec<Diagnostic> = absent
            .map(|key| {
                Diagnostic::at(&self.file, asked.line, "missing key")
                    .with_key(format!("{}.{}", asked.layer, key.path))
                    .with_expected(format!("{}, or the name of a preset", key.accepts))
            })
            .collect();
        if missing.len() > 1 && matches!(asked.name.as_str(), "" | "none") {
            let presets: Vec<&str> = of_kind().map(|host| host.name.as_str()).collect();
            let absent: Vec<&str> = missing.iter().filter_map(|one| one.key.as_deref()).collect();
            let such = presets.last().map_or(String::new(), |last| format!(", as in `{}={last}`", asked.layer));
            let all = format!("a preset ({}){such}, or all of {}", presets.join(", "), absent.join(", "));
            let wrong = match asked.figures.first() {
                Some(figure) => {
                    let article = if kind.name.starts_with('a') { "an" } else { "a" };
                    let why = format!("needs {article} {}", kind.name);
                    Diagnostic::at(&self.file, asked.line, why).with_key(format!("{}.{}", asked.layer, figure.key))
                }
                None => Diagnostic::at(&self.file, asked.line, "missing key").with_key(&asked.layer),
            };
            return Err(vec![wrong.with_expected(all)]);
        }
        if !missing.is_empty() {
            return Err(missing);
        }
        if let Some((key, needs)) = kind.find_meaningless_key(&figures) {
            let wrong = Diagnostic::at(&self.file, asked.line, "has no effect here");
            return Err(vec![wrong.with_key(format!("{}.{key}", asked.layer)).with_expected(needs)]);
        }
        Ok(figures)
    }
}

/// An error about a key that neither a stack nor a job has: it suggests the key, the setting or the drive that was meant.
pub fn unknown_key(file: &str, line: usize, key: &str) -> Diagnostic {
    let wrong = VOCABULARY.unknown_key(file, line, key);
    let is_open = wrong.message == UNKNOWN_KEY && wrong.nearest.is_none() && wrong.expected.is_none();
    if is_open && key.parse::<Metric>().is_ok() {
        let message = "is a result, and no key".to_owned();
        return Diagnostic { message, expected: Some(format!("--metric {key}")), ..wrong };
    }
    if is_open { drives::explain_drive_name(wrong, key) } else { wrong }
}

/// The values that the key `order` accepts.
const ORDER: &str = "layers from the program down, such as processor, driver, array, controller";

/// Whether a word is the name of a layer.
fn is_layer(word: &str) -> bool {
    word == "drive" || kind_of(word).is_some()
}

/// A change during the run, as a setting of the stack.
fn change_setting(change: &WrittenChange) -> Setting {
    let key = format!("at.{} s.{}", change.at.nanos() as f64 / 1e9, change.key);
    Setting::set_by_user(key, change.value.clone(), "changes during the run")
}

fn read_layer(reader: &mut FigureReader<'_>, layer: &str, line: usize, value: &Spanned<DeValue<'_>>) -> LayerRequest {
    let mut read = LayerRequest { line, ..LayerRequest::new(layer, "") };
    match value.get_ref() {
        DeValue::String(name) => read.name = name.to_string(),
        DeValue::Table(table) => {
            let mut table = table.clone();
            if let Some(name) = table.remove("name") {
                match name.get_ref().as_str() {
                    Some(name) => read.name = name.to_owned(),
                    None => {
                        let wrong = reader.diagnostic(line, "is not a string");
                        reader.errors.push(wrong.with_key(format!("{layer}.name")));
                    }
                }
            }
            let before = reader.errors.len();
            reader.read_figures(&table, "", keys_of(layer), true, &mut read.figures);
            for error in &mut reader.errors[before..] {
                error.key = error.key.take().map(|key| format!("{layer}.{key}"));
                let is_key = |near: &String| keys_of(layer).iter().any(|key| key.path == near);
                error.nearest =
                    error.nearest.take().map(|near| if is_key(&near) { join_path(layer, &near) } else { near });
                let word = error.key.as_deref().and_then(|key| key.strip_prefix(layer)?.strip_prefix('.'));
                if let (None, "unknown key", Some(word)) = (&error.nearest, error.message.as_str(), word) {
                    let found = VOCABULARY.unknown_key("", 0, word);
                    (error.nearest, error.expected) = (found.nearest, error.expected.take().or(found.expected));
                }
            }
        }
        _ => {
            let wrong = reader.diagnostic(line, "is neither a name nor a table").with_key(layer);
            reader.errors.push(wrong);
        }
    }
    read
}

/// The value of a dotted key as it is stored: a switch in any words becomes `true` or `false`.
fn plain_value(key: &str, value: &str) -> String {
    let known = key.split_once('.').and_then(|(layer, path)| keys_of(layer).iter().find(|known| known.path == path));
    let is_switch = known.is_some_and(|known| matches!(known.accepts, KeyDomain::Flag));
    parse_switch(value).filter(|_| is_switch).map_or(value.to_owned(), |flag| flag.to_string())
}

fn put_figure(figures: &mut Vec<Figure>, figure: Figure) {
    match figures.iter_mut().find(|old| old.key == figure.key) {
        Some(old) => *old = figure,
        None => figures.push(figure),
    }
}

/// A figure of a layer, as a setting of the stack.
pub fn figure_setting(layer: &str, figure: &Figure) -> Setting {
    Setting {
        key: format!("{layer}.{}", figure.key),
        value: figure.value.to_string(),
        unit: figure.unit.to_owned(),
        kind: figure.kind,
        source: figure.source.clone(),
    }
}

#[cfg(test)]
#[path = "stack/tests.rs"]
mod tests;
