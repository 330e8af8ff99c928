//! Stacks: a drive and the layers above it. Reads them as names and overrides from a stack file, a drive's name or `--set`, and
//! builds the model's stack.
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
//! A layer is a name, or a table of a `name` and keys that override its figures (`[drive.cache]`, `[driver]`). A layer may also
//! be built from keys alone. Values in a stack need no source, because the user is their source.
//!
//! The order of the layers is that of [`layers`], from the program down; with an array, Linux's drivers stand below it, one for
//! each drive (`order.rs`). `order` changes it, and a second layer of a kind is `driver-2`, numbered from the top:
//!
//! ```toml
//! order = ["processor", "driver", "array", "driver-2", "controller"]
//! [driver-2]                        # one per drive, as it is below the array
//! name = "linux-none"
//! ```
//!
//! `[at."10 s"]` holds dotted keys that change at that time of a run: `driver.flush = "drop"`.
//!
//! A drive's name alone means the driver `direct` (in order, without splitting, without a limit of its own) and no controller, so
//! that a run measures the drive. `driver = "none"` omits the driver: requests beyond the drive's depth are then refused.

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
mod order;
mod processor;
mod scsi;

use std::sync::Arc;

use seekwise_disk::block::Control;
use seekwise_disk::block::setting::{ArraySetting, LayerSetting};
use seekwise_disk::host::array::layout::ArrayVolume;
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
    Figure, FigureInput, FigureOrigin as Origin, FigureReader, Figures, KeyDomain, join_key, parse_setting,
    parse_switch,
};
use crate::metric::Metric;
use crate::profile::fit_record::FitRecord;
use crate::profile::{DriveFile, ReadingCache};
pub use hosts::{HostPreset, hosts};
pub use keys::{JOB, STACK, VOCABULARY};
use kind::LayerContext;
use kinds::kind_of;
pub use kinds::{LayerDescription, keys_of, layer_concern, layer_descriptions, layers, strip_number};
use order::ORDER;
pub use order::ORDER_SETTING;

/// A stack as specified, not yet built.
#[derive(Clone, Debug)]
pub struct StackFile {
    file: String,
    /// In the order of [`layers`]; further layers of a kind follow in the order of their numbers.
    layers: Vec<LayerRequest>,
    /// The layers from the program down, if the order differs.
    order: Option<Vec<String>>,
    order_line: usize,
    /// Changes during a run, in order of time.
    changes: Vec<ChangeRequest>,
    /// The draw of a fitted drive that is built; `None` for its profile.
    draw: Option<usize>,
}

/// A requested change during a run; the layers of the built stack decide whether it is possible.
#[derive(Clone, Debug)]
struct ChangeRequest {
    at: Instant,
    key: String,
    value: String,
}

/// A requested layer: a name and overrides.
#[derive(Clone, Debug, Default)]
struct LayerRequest {
    /// The name of the layer in the stack: `driver-2`.
    layer: String,
    /// The name of a preset or a drive, or `none`.
    name: String,
    line: usize,
    figures: Vec<Figure>,
    /// Keys set to `none`: figures that the preset or the profile has and this stack does not.
    removed_keys: Vec<&'static str>,
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
    /// Settings that the drive does not accept as they are, and a layer that stands where its system has none.
    pub warnings: Vec<Diagnostic>,
    /// The fit that the drive's profile is from, if it is a fitted one.
    pub fit: Option<Arc<FitRecord>>,
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
    let dotted = |layer: &'static str| keys_of(layer).iter().map(move |key| format!("{layer}.{}", key.path));
    layers().flat_map(dotted).collect()
}

impl StackFile {
    /// The drive alone, under the driver `direct`.
    pub fn named_drive(name: &str) -> StackFile {
        let requests = layers().map(|layer| {
            let name = match layer {
                "drive" => name,
                "driver" => "direct",
                _ => "none",
            };
            LayerRequest::new(layer, name)
        });
        let (file, layers) = (name.to_owned(), requests.collect());
        StackFile { file, layers, order: None, order_line: 0, changes: Vec::new(), draw: None }
    }

    /// With the draw `index` of the fit that the drive's profile is from. A drive without so many draws stays as it is, and so do
    /// figures that the stack sets.
    #[must_use]
    pub fn with_draw(self, index: usize) -> StackFile {
        StackFile { draw: Some(index), ..self }
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
                layer if stack.find_or_create_layer(layer).is_some() => {
                    let read = read_layer(&mut reader, layer, line, value);
                    stack.find_or_create_layer(layer).into_iter().for_each(|request| *request = read.clone());
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

    /// Reads the list `order`.
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

    /// Reads the table `at` of a stack file: `[at."10 s"]`, then dotted keys and values.
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

    /// Adds a change: `time_and_key` is a time, a dot and a dotted key of the stack. A time may contain dots too: `1.5 s`.
    fn add_change(&mut self, time_and_key: &str, value: &str) -> Result<(), Box<Diagnostic>> {
        let wrong = || Diagnostic::at("--set", 0, "not a change during a run").with_key(format!("at.{time_and_key}"));
        let expected = "a time and a key of a layer, such as at.10 s.driver.flush";
        let precedes_layer = |(dot, _): &(usize, &str)| time_and_key[dot + 1..].split('.').next().is_some_and(is_layer);
        let mut dots = time_and_key.match_indices('.');
        let (dot, _) = dots.find(precedes_layer).ok_or_else(|| wrong().with_expected(expected))?;
        let (time, key) = (&time_and_key[..dot], &time_and_key[dot + 1..]);
        let since_start = Duration::parse(time).map_err(|why| wrong().with_expected(why))?;
        let (at, value) = (Instant::from_nanos(since_start.nanos), normalise_switch(key, value));
        self.changes.push(ChangeRequest { at, key: key.to_owned(), value });
        self.changes.sort_by_key(|change| change.at);
        Ok(())
    }

    /// The layer of this name, created if it is a further layer of a kind. `None` if no layer can have the name.
    fn find_or_create_layer(&mut self, name: &str) -> Option<&mut LayerRequest> {
        if !is_layer(name) {
            return None;
        }
        let index = self.layers.iter().position(|request| request.layer == name).unwrap_or_else(|| {
            let is_same_kind = |request: &LayerRequest| strip_number(&request.layer) == strip_number(name);
            let index = self.layers.iter().rposition(is_same_kind).map_or(0, |last| last + 1);
            self.layers.insert(index, LayerRequest::new(name, "none"));
            index
        });
        self.layers.get_mut(index)
    }

    fn find_layer(&self, name: &str) -> Option<&LayerRequest> {
        self.layers.iter().find(|request| request.layer == name)
    }

    /// The name or path of the drive.
    pub fn drive(&self) -> &str {
        self.find_layer("drive").map_or("", |drive| &drive.name)
    }

    /// Sets a dotted key, as `--set` does: `drive.cache.segments`, `driver.queue.policy`; `driver` alone is its name.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), Vec<Diagnostic>> {
        if let Some(time_and_key) = key.strip_prefix("at.") {
            return self.add_change(time_and_key, text).map_err(|fault| vec![*fault]);
        }
        if key == "order" {
            let words =
                text.split([',', ' ']).map(|word| word.trim_matches(['[', ']', '"'])).filter(|word| !word.is_empty());
            (self.order, self.order_line) = (Some(words.map(str::to_owned).collect()), 0);
            return Ok(());
        }
        let (name, key_in_layer) = key.split_once('.').unwrap_or((key, "name"));
        let Some(layer) = self.find_or_create_layer(name) else {
            let mut wrong = unknown_key("--set", 0, key).explain_value_of_unknown_key(text);
            if wrong.message == UNKNOWN_KEY {
                wrong.expected.get_or_insert("a key of a stack layer or of the job (see `seekwise keys`)".to_owned());
            }
            return Err(vec![wrong]);
        };
        if key_in_layer == "name" {
            (layer.name, layer.line) = (text.trim_matches('"').to_owned(), 0);
            return Ok(());
        }
        match parse_setting(keys_of(name), name, key_in_layer, text, &VOCABULARY)? {
            FigureInput::Figure(figure) => {
                layer.removed_keys.retain(|key| *key != figure.key);
                insert_or_replace_figure(&mut layer.figures, figure);
            }
            FigureInput::None(key) => {
                layer.figures.retain(|figure| figure.key != key);
                layer.removed_keys.push(key);
            }
        }
        Ok(())
    }

    /// Builds the stack. `profile_text` returns the text of a profile by name or path, or why there is none; errors get the line
    /// that names the drive.
    pub fn build(
        &self,
        profile_text: &dyn Fn(&str) -> Result<String, Vec<Diagnostic>>,
    ) -> Result<BuiltStack, Vec<Diagnostic>> {
        self.build_with_cache(profile_text, &ReadingCache::default())
    }

    /// Builds the stack, as [`StackFile::build`] does; a drive that `cache` has seen is not read again.
    pub fn build_with_cache(
        &self,
        profile_text: &dyn Fn(&str) -> Result<String, Vec<Diagnostic>>,
        cache: &ReadingCache,
    ) -> Result<BuiltStack, Vec<Diagnostic>> {
        let presets = hosts()?;
        let drive = self.read_drive(profile_text, cache)?;
        let mut profile = drive.build_profile(cache)?;
        let order = self.layers_in_order(presets)?;
        let requests = &order.layers;
        let figures = requests
            .iter()
            .map(|request| self.layer_figures(presets, request))
            .collect::<Result<Vec<Vec<Figure>>, _>>()?;
        let mut context = LayerContext { profile: &mut profile, request_us: 0.0 };
        let mut layers = Vec::with_capacity(requests.len());
        for (request, figures) in requests.iter().zip(&figures).rev() {
            layers.push(self.build_layer(request, figures, &mut context)?);
        }
        let mut stack = model::Stack { profile, layers, changes: Vec::new(), beside: Vec::new() };
        stack.check().map_err(|misplaced| vec![self.misplaced_error(misplaced)])?;
        let changes = self.parse_changes(&stack)?;
        stack.changes = changes.iter().map(WrittenChange::to_change).collect();
        let mut settings: Vec<Setting> = self.layers.iter().map(LayerRequest::name_setting).collect();
        for (request, figures) in requests.iter().zip(&figures) {
            settings.extend(figures.iter().map(|figure| figure_setting(&request.layer, figure)));
        }
        let drive_figures = drive.figures().filter(|figure| !figure.key.starts_with("checks."));
        settings.extend(drive_figures.map(|figure| figure_setting("drive", figure)));
        settings.extend(order.setting);
        settings.extend(changes.iter().map(change_setting));
        let warnings = drive.warnings().into_iter().chain(order.note).collect();
        Ok(BuiltStack { stack, changes, settings, warnings, fit: drive.fit })
    }

    /// The changes of a stack.
    fn parse_changes(&self, stack: &model::Stack) -> Result<Vec<WrittenChange>, Vec<Diagnostic>> {
        let layer_names = stack.layer_names();
        let has_level = |level: &str| level == "drive" || layer_names.iter().any(|name| name == level);
        let parse = |change: &ChangeRequest| WrittenChange::parse(change.at, &change.key, &change.value, &has_level);
        let changes = self.changes.iter().map(parse).collect::<Result<Vec<_>, String>>();
        let changes = changes.map_err(|why| vec![Diagnostic::at(&self.file, 0, why).with_key("at")])?;
        let check = Control::Set(LayerSetting::Array(ArraySetting::Check(true)));
        let is_check = |change: &&WrittenChange| change.control == check;
        let has_redundancy = stack.volumes().iter().any(ArrayVolume::is_redundant);
        match changes.iter().find(is_check).filter(|_| !has_redundancy) {
            Some(WrittenChange { key, value, .. }) => {
                let why = format!("`{key}` = `{value}` during a run: the array has no copies and no parity to compare");
                let expected = "a level with redundancy: raid-1, raid-10, raid-5 or raid-6";
                Err(vec![Diagnostic::at(&self.file, 0, why).with_key("at").with_expected(expected)])
            }
            None => Ok(changes),
        }
    }

    /// The drive's file with the overrides applied.
    fn read_drive(
        &self,
        profile_text: &dyn Fn(&str) -> Result<String, Vec<Diagnostic>>,
        cache: &ReadingCache,
    ) -> Result<DriveFile, Vec<Diagnostic>> {
        let name = self.drive();
        let text = profile_text(name)
            .map_err(|faults| faults.into_iter().map(|reason| self.drive_error(reason)).collect::<Vec<_>>())?;
        let mut drive = cache.parse_profile(name, &text)?;
        let draw_count = drive.fit.as_ref().map_or(0, |fit| fit.draws.len());
        if let Some(index) = self.draw.filter(|index| *index < draw_count) {
            drive = drive.with_draw(index)?;
        }
        if let Some(request) = self.find_layer("drive") {
            request.removed_keys.iter().for_each(|key| drive.remove_figure(key));
            request.figures.iter().for_each(|figure| drive.replace_figure(figure.clone()));
        }
        Ok(drive)
    }

    /// Builds a layer of the model from its figures.
    fn build_layer(
        &self,
        request: &LayerRequest,
        figures: &[Figure],
        context: &mut LayerContext<'_>,
    ) -> Result<model::Layer, Vec<Diagnostic>> {
        let kind = kind_of(&request.layer).expect("a layer above the drive");
        (kind.build)(&Figures::new(kind.keys, figures), context).map_err(|(key, expected)| {
            let message = format!("contradicts the other figures of the {}", kind.name);
            let wrong = Diagnostic::at(&self.file, request.line, message);
            vec![wrong.with_key(format!("{}.{key}", request.layer)).with_expected(expected)]
        })
    }

    fn misplaced_error(&self, misplaced: MisplacedLayer) -> Diagnostic {
        let layer_line = self.find_layer(&misplaced.layer).map_or(0, |request| request.line);
        let line = if self.order.is_some() { self.order_line } else { layer_line };
        Diagnostic::at(&self.file, line, format!("cannot stand there: {}", misplaced.why)).with_key(misplaced.layer)
    }

    /// The error about an unavailable drive, at the line that names it; without a line, at the drive's name.
    fn drive_error(&self, reason: Diagnostic) -> Diagnostic {
        let line = self.find_layer("drive").map_or(0, |drive| drive.line);
        let name = self.drive();
        match line {
            0 => Diagnostic { file: name.to_owned(), ..reason },
            line => {
                let message = format!("`{name}`: {}", reason.message);
                Diagnostic { file: self.file.clone(), line, message, key: Some("drive".to_owned()), ..reason }
            }
        }
    }

    /// All figures of a layer above the drive: those of its preset with the overrides of the stack. Required figures are present.
    fn layer_figures(&self, presets: &[HostPreset], request: &LayerRequest) -> Result<Vec<Figure>, Vec<Diagnostic>> {
        let kind = kind_of(&request.layer).expect("a layer above the drive");
        let of_kind = || presets.iter().filter(|preset| preset.layer == kind.name);
        let mut figures = match of_kind().find(|preset| preset.name == request.name) {
            Some(preset) => preset.figures.clone(),
            None if request.name.is_empty() || request.name == "none" => Vec::new(),
            None => {
                let known: Vec<&str> = of_kind().map(|preset| preset.name.as_str()).collect();
                let wrong =
                    Diagnostic::at(&self.file, request.line, format!("unknown {} `{}`", kind.name, request.name));
                let wrong =
                    wrong.with_key(&request.layer).with_expected(format!("none or one of {}", known.join(", ")));
                return Err(vec![
                    Diagnostic { nearest: VOCABULARY.find_meant_value(&request.name, known), ..wrong }
                        .explain_limit(&request.name),
                ]);
            }
        };
        figures.retain(|figure| !request.removed_keys.contains(&figure.key));
        for figure in &request.figures {
            insert_or_replace_figure(&mut figures, figure.clone());
        }
        let required = kind.keys.iter().filter(|key| key.required);
        let absent = required.filter(|key| !figures.iter().any(|f| f.key == key.path));
        let missing: Vec<Diagnostic> = absent
            .map(|key| {
                Diagnostic::at(&self.file, request.line, "missing key")
                    .with_key(format!("{}.{}", request.layer, key.path))
                    .with_expected(format!("{}, or the name of a preset", key.accepts))
            })
            .collect();
        if missing.len() > 1 && matches!(request.name.as_str(), "" | "none") {
            let names: Vec<&str> = of_kind().map(|preset| preset.name.as_str()).collect();
            let absent: Vec<&str> = missing.iter().filter_map(|fault| fault.key.as_deref()).collect();
            let example = names.last().map_or(String::new(), |last| format!(", as in `{}={last}`", request.layer));
            let all = format!("a preset ({}){example}, or all of {}", names.join(", "), absent.join(", "));
            let wrong = match request.figures.first() {
                Some(figure) => {
                    let article = if kind.name.starts_with('a') { "an" } else { "a" };
                    let why = format!("needs {article} {}", kind.name);
                    Diagnostic::at(&self.file, request.line, why).with_key(format!("{}.{}", request.layer, figure.key))
                }
                None => Diagnostic::at(&self.file, request.line, "missing key").with_key(&request.layer),
            };
            return Err(vec![wrong.with_expected(all)]);
        }
        if !missing.is_empty() {
            return Err(missing);
        }
        if let Some((key, needs)) = kind.find_meaningless_key(&figures) {
            let wrong = Diagnostic::at(&self.file, request.line, "has no effect here");
            return Err(vec![wrong.with_key(format!("{}.{key}", request.layer)).with_expected(needs)]);
        }
        Ok(figures)
    }
}

/// An error about a key that neither a stack nor a job has. Suggests the key, the setting or the drive that was meant.
pub fn unknown_key(file: &str, line: usize, key: &str) -> Diagnostic {
    let wrong = VOCABULARY.unknown_key(file, line, key);
    let is_unexplained = wrong.message == UNKNOWN_KEY && wrong.nearest.is_none() && wrong.expected.is_none();
    if is_unexplained && key.parse::<Metric>().is_ok() {
        let message = "is a result, and no key".to_owned();
        return Diagnostic { message, expected: Some(format!("--metric {key}")), ..wrong };
    }
    if is_unexplained { drives::explain_drive_name(wrong, key) } else { wrong }
}

/// True if a word can be the name of a layer: `driver`, `driver-2`, `drive`.
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
            let errors_before = reader.errors.len();
            reader.read_figures(&table, "", keys_of(layer), true, &mut read.figures);
            for error in &mut reader.errors[errors_before..] {
                error.key = error.key.take().map(|key| format!("{layer}.{key}"));
                let is_key = |near: &String| keys_of(layer).iter().any(|key| key.path == near);
                error.nearest =
                    error.nearest.take().map(|near| if is_key(&near) { join_key(layer, &near) } else { near });
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

/// The value of a dotted key as it is stored: a switch in any of its words (`yes`, `on`, `1`) becomes `true` or `false`.
fn normalise_switch(key: &str, value: &str) -> String {
    let known = key.split_once('.').and_then(|(layer, path)| keys_of(layer).iter().find(|known| known.path == path));
    let is_switch = known.is_some_and(|known| matches!(known.accepts, KeyDomain::Flag));
    parse_switch(value).filter(|_| is_switch).map_or(value.to_owned(), |flag| flag.to_string())
}

fn insert_or_replace_figure(figures: &mut Vec<Figure>, figure: Figure) {
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
