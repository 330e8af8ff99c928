//! Stacks: a drive and what stands above it. Names and overrides, from a file, a bare drive name or `--set`.
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
//! may also be built from keys alone. What stands in a stack needs no source: it is what the user asks for.
//!
//! `[at."10 s"]` holds dotted keys that change so long after a run's beginning: `driver.flush = "drop"`.
//!
//! A bare drive name means the driver `direct` (in order, no split, no limit of its own) and no controller, so that it
//! measures the drive. `driver = "none"` leaves the driver out: a request beyond the drive's depth is then refused.

mod hosts;
mod keys;
mod modes;

use seekwise_model::host::array::ArraySpec;
pub use seekwise_model::stack::Change;
use seekwise_model::stack::{self as model, Layer as ModelLayer};
use seekwise_model::time::Instant;
use serde::{Deserialize, Serialize};
use toml::Spanned;
use toml::de::DeValue;

use crate::diagnostic::Diagnostic;
use crate::keys::{keys_of, unknown, value_meant};
use crate::profile::figure::{Accepts, Figure, Kind, Reader, join, switch};
use crate::profile::{self, in_order, setting};
use crate::study::{Duration, flatten};
pub use hosts::{Host, hosts};
pub use keys::HOST_LAYERS;

/// A stack as asked for, not built yet.
#[derive(Clone, Debug)]
pub struct Stack {
    file: String,
    /// In the order of [`LAYERS`].
    layers: [Layer; LAYERS.len()],
    changes: Vec<Change>,
}

/// One layer: a name, and what is different.
#[derive(Clone, Debug, Default)]
struct Layer {
    name: String,
    line: usize,
    figures: Vec<Figure>,
}

/// One figure of a built stack, for the record of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Dotted key of the stack: `drive.cache.segments`.
    pub key: String,
    /// The value as text.
    pub value: String,
    /// Its unit; empty for counts and words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Where from.
    pub kind: Kind,
    /// Citation, derivation, or where the user set it.
    pub source: String,
}

/// A stack ready to run.
#[derive(Clone, Debug)]
pub struct BuiltStack {
    /// What runs.
    pub stack: model::Stack,
    /// Every figure that went in.
    pub settings: Vec<Setting>,
    /// What the drive does not take as asked.
    pub warnings: Vec<Diagnostic>,
}

impl Setting {
    /// One that somebody set.
    pub fn asked(key: String, value: String, source: &str) -> Setting {
        Setting { key, value, unit: String::new(), kind: Kind::Set, source: source.to_owned() }
    }
}

/// A change during the run, as a setting of the stack.
fn changed(change: &Change) -> Setting {
    let key = format!("at.{} s.{}", change.at.nanos() as f64 / 1e9, change.key);
    Setting::asked(key, change.value.clone(), "changes during the run")
}

impl Layer {
    /// Which one it is, as a setting of the stack.
    fn named(&self, layer: &str) -> Setting {
        Setting::asked(layer.to_owned(), self.name.clone(), "named by the stack")
    }
}

/// The layers of a stack, from the program's side down.
pub const LAYERS: [&str; 7] = ["processor", "accelerator", "driver", "array", "bus", "controller", "drive"];

/// All dotted keys of a stack's figures: `drive.cache.segments`.
pub fn keys() -> Vec<String> {
    let of = |layer: &'static str| keys_of(layer).iter().map(move |key| format!("{layer}.{}", key.path));
    LAYERS.into_iter().flat_map(of).collect()
}

impl Stack {
    /// The drive alone, under the driver `direct`.
    pub fn named_drive(name: &str) -> Stack {
        let layers = LAYERS.map(|layer| {
            let name = match layer {
                "drive" => name,
                "driver" => "direct",
                _ => "none",
            };
            Layer { name: name.to_owned(), ..Layer::default() }
        });
        Stack { file: name.to_owned(), layers, changes: Vec::new() }
    }

    /// Reads a stack file; `file` is its name for messages.
    pub fn parse(file: &str, text: &str) -> Result<Stack, Vec<Diagnostic>> {
        let mut reader = Reader::new(file, text);
        let table = reader.table();
        let mut stack = Stack::named_drive("");
        stack.file = file.to_owned();
        for (name, value) in &table {
            let line = reader.line(name.span().start);
            if name.get_ref() == "at" {
                stack.read_changes(&mut reader, line, text);
                continue;
            }
            match LAYERS.into_iter().find(|layer| *layer == name.get_ref()) {
                Some(layer) => *stack.layer_mut(layer) = read_layer(&mut reader, layer, line, value),
                None => reader.errors.push(unknown(file, line, name.get_ref())),
            }
        }
        if stack.drive().is_empty() {
            let wrong = reader.wrong(0, "missing key").key("drive");
            reader.errors.push(wrong.expected("the name of a drive, or the path of a profile"));
        }
        match reader.errors.is_empty() {
            true => Ok(stack),
            false => Err(in_order(reader.errors)),
        }
    }

    /// The table `at` of a stack file: `[at."10 s"]`, then dotted keys and values.
    fn read_changes(&mut self, reader: &mut Reader<'_>, line: usize, text: &str) {
        let at = text.parse::<toml::Table>().ok().and_then(|mut table| table.remove("at"));
        let Some(toml::Value::Table(at)) = at else {
            let wrong = reader.wrong(line, "is not a table").key("at");
            return reader.errors.push(wrong.expected("[at.\"10 s\"] and what changes then"));
        };
        for (key, value) in flatten(&at) {
            if let Err(fault) = self.change(&key, &value) {
                reader.errors.push(Diagnostic { file: self.file.clone(), line, ..*fault });
            }
        }
    }

    /// Adds a change: `key` is a time, then a dotted key of the stack.
    fn change(&mut self, key: &str, value: &str) -> Result<(), Box<Diagnostic>> {
        let wrong = || Diagnostic::at("--set", 0, "no change during a run").key(format!("at.{key}"));
        let expected = "a time and a key of a layer, such as at.10 s.driver.flush";
        let place = LAYERS.iter().filter_map(|layer| key.find(&format!(".{layer}."))).min();
        let place = place.ok_or_else(|| wrong().expected(expected))?;
        let at = Duration::parse(&key[..place]).map_err(|why| wrong().expected(why))?.nanos;
        let at = Instant::from_nanos(at);
        let key = &key[place + 1..];
        self.changes.push(Change { at, key: key.to_owned(), value: plain_value(key, value) });
        self.changes.sort_by_key(|change| change.at);
        Ok(())
    }

    fn place(name: &str) -> usize {
        LAYERS.iter().position(|layer| *layer == name).unwrap_or(LAYERS.len() - 1)
    }

    fn layer(&self, name: &str) -> &Layer {
        &self.layers[Stack::place(name)]
    }

    fn layer_mut(&mut self, name: &str) -> &mut Layer {
        &mut self.layers[Stack::place(name)]
    }

    /// The name or path of the drive.
    pub fn drive(&self) -> &str {
        &self.layer("drive").name
    }

    /// Sets a dotted key, as `--set` does: `drive.cache.segments`, `driver.queue.policy`; `driver` alone is its name.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), Vec<Diagnostic>> {
        if let Some(change) = key.strip_prefix("at.") {
            return self.change(change, text).map_err(|fault| vec![*fault]);
        }
        let (layer, below) = key.split_once('.').unwrap_or((key, "name"));
        if !LAYERS.contains(&layer) {
            let mut wrong = unknown("--set", 0, key);
            wrong
                .expected
                .get_or_insert("a key of a layer of the stack, or of the job (see `seekwise keys`)".to_owned());
            return Err(vec![wrong]);
        }
        if below == "name" {
            let (name, line) = (text.trim_matches('"').to_owned(), 0);
            let layer = self.layer_mut(layer);
            (layer.name, layer.line) = (name, line);
            return Ok(());
        }
        let figure = setting(keys_of(layer), layer, below, text)?;
        put(&mut self.layer_mut(layer).figures, figure);
        Ok(())
    }

    /// Builds the stack. `drives` gives the text of a profile by name or path, or says why there is none; where the
    /// drive is asked for is filled in here.
    pub fn build(
        &self,
        drives: &dyn Fn(&str) -> Result<String, Vec<Diagnostic>>,
    ) -> Result<BuiltStack, Vec<Diagnostic>> {
        let hosts = hosts()?;
        let name = self.drive();
        let text =
            drives(name).map_err(|faults| faults.into_iter().map(|why| self.no_drive(why)).collect::<Vec<_>>())?;
        let mut drive = profile::parse(name, &text)?;
        for figure in &self.layer("drive").figures {
            drive.replace(figure.clone());
        }
        let processor = self.host(&hosts, "processor")?;
        let accelerator = self.host(&hosts, "accelerator")?;
        let driver = self.host(&hosts, "driver")?;
        let array = self.host(&hosts, "array")?;
        let bus = self.host(&hosts, "bus")?;
        let controller = self.host(&hosts, "controller")?;
        let hosted = [&processor, &accelerator, &driver, &array, &bus, &controller];
        let mut settings: Vec<Setting> = LAYERS.iter().map(|layer| self.layer(layer).named(layer)).collect();
        for (layer, figures) in LAYERS.into_iter().zip(hosted) {
            settings.extend(figures.iter().flatten().map(|f| recorded(layer, f)));
        }
        let built = drive.figures().filter(|f| !f.key.starts_with("checks."));
        settings.extend(built.map(|figure| recorded("drive", figure)));
        settings.extend(self.changes.iter().map(changed));
        let mut profile = drive.profile()?;
        if let Some(most) = controller.as_deref().and_then(hosts::mode) {
            (profile.link.rate, profile.link.write_rate) =
                (profile.link.rate.min(most), profile.link.write_rate.min(most));
        }
        let link = profile.link.rate;
        let array = array.as_deref().map(|figures| self.array(figures)).transpose()?;
        let layers = [
            controller.as_deref().map(|it| ModelLayer::Controller(hosts::controller(it, link))),
            bus.as_deref().map(|it| ModelLayer::Bus(hosts::bus(it))),
            array.map(ModelLayer::Array),
            driver.as_deref().map(|it| ModelLayer::Driver(hosts::driver(it))),
            accelerator.as_deref().map(|it| ModelLayer::Accelerator(hosts::accelerator(it))),
            processor
                .as_deref()
                .map(|it| ModelLayer::Processor(hosts::processor(it, driver.as_deref().unwrap_or_default()))),
        ];
        let layers = layers.into_iter().flatten().collect();
        let stack = model::Stack { profile, layers, changes: self.changes.clone() };
        Ok(BuiltStack { stack, settings, warnings: drive.warnings() })
    }

    /// The array, or what of it does not fit together.
    fn array(&self, figures: &[Figure]) -> Result<ArraySpec, Vec<Diagnostic>> {
        hosts::array(figures).map_err(|(key, expected)| {
            let wrong = Diagnostic::at(&self.file, self.layer("array").line, "does not fit the rest of the array");
            vec![wrong.key(format!("array.{key}")).expected(expected)]
        })
    }

    /// Why the drive is not to be had, at the line that asks for it; without one, the drive's name says where.
    fn no_drive(&self, why: Diagnostic) -> Diagnostic {
        let Layer { name, line, .. } = self.layer("drive");
        match *line {
            0 => Diagnostic { file: name.clone(), ..why },
            line => {
                let message = format!("`{name}`: {}", why.message);
                Diagnostic { file: self.file.clone(), line, message, key: Some("drive".to_owned()), ..why }
            }
        }
    }

    /// The figures of a host layer, complete; nothing for the name `none`.
    fn host(&self, hosts: &[Host], kind: &'static str) -> Result<Option<Vec<Figure>>, Vec<Diagnostic>> {
        let layer = self.layer(kind);
        if layer.name == "none" && layer.figures.is_empty() {
            return Ok(None);
        }
        let of_kind = || hosts.iter().filter(|host| host.layer == kind);
        let mut figures = match of_kind().find(|host| host.name == layer.name) {
            Some(host) => host.figures.clone(),
            None if layer.name.is_empty() || layer.name == "none" => Vec::new(),
            None => {
                let known: Vec<&str> = of_kind().map(|host| host.name.as_str()).collect();
                let wrong = Diagnostic::at(&self.file, layer.line, format!("no {kind} `{}`", layer.name));
                let wrong = wrong.key(kind).expected(format!("none or one of {}", known.join(", ")));
                return Err(vec![Diagnostic { nearest: value_meant(&layer.name, known), ..wrong }]);
            }
        };
        for figure in &layer.figures {
            put(&mut figures, figure.clone());
        }
        let required = keys_of(kind).iter().filter(|key| key.required);
        let absent = required.filter(|key| !figures.iter().any(|f| f.key == key.path));
        let missing: Vec<Diagnostic> = absent
            .map(|key| {
                Diagnostic::at(&self.file, layer.line, "missing key")
                    .key(format!("{kind}.{}", key.path))
                    .expected(format!("{}, or the name of a ready-made {kind}", key.accepts))
            })
            .collect();
        if !missing.is_empty() {
            return Err(missing);
        }
        if let Some((key, needs)) = hosts::meaningless(kind, &figures) {
            let wrong = Diagnostic::at(&self.file, layer.line, "changes nothing here").key(format!("{kind}.{key}"));
            return Err(vec![wrong.expected(needs)]);
        }
        Ok(Some(figures))
    }
}

fn read_layer(reader: &mut Reader<'_>, layer: &str, line: usize, value: &Spanned<DeValue<'_>>) -> Layer {
    let mut read = Layer { line, ..Layer::default() };
    match value.get_ref() {
        DeValue::String(name) => read.name = name.to_string(),
        DeValue::Table(table) => {
            let mut table = table.clone();
            if let Some(name) = table.remove("name") {
                match name.get_ref().as_str() {
                    Some(name) => read.name = name.to_owned(),
                    None => {
                        let wrong = reader.wrong(line, "is not a text");
                        reader.errors.push(wrong.key(format!("{layer}.name")));
                    }
                }
            }
            let before = reader.errors.len();
            reader.walk(&table, "", keys_of(layer), true, &mut read.figures);
            for error in &mut reader.errors[before..] {
                error.key = error.key.take().map(|key| format!("{layer}.{key}"));
                let is_key = |near: &String| keys_of(layer).iter().any(|key| key.path == near);
                error.nearest = error.nearest.take().map(|near| if is_key(&near) { join(layer, &near) } else { near });
                let word = error.key.as_deref().and_then(|key| key.strip_prefix(layer)?.strip_prefix('.'));
                if let (None, "unknown key", Some(word)) = (&error.nearest, error.message.as_str(), word) {
                    let found = unknown("", 0, word);
                    (error.nearest, error.expected) = (found.nearest, error.expected.take().or(found.expected));
                }
            }
        }
        _ => {
            let wrong = reader.wrong(line, "is neither a name nor a table").key(layer);
            reader.errors.push(wrong);
        }
    }
    read
}

/// The value of a dotted key as it is kept: a switch is `true` or `false`, whatever words say so.
fn plain_value(key: &str, value: &str) -> String {
    let known = key.split_once('.').and_then(|(layer, path)| keys_of(layer).iter().find(|known| known.path == path));
    let is_switch = known.is_some_and(|known| matches!(known.accepts, Accepts::Flag));
    switch(value).filter(|_| is_switch).map_or(value.to_owned(), |flag| flag.to_string())
}

fn put(figures: &mut Vec<Figure>, figure: Figure) {
    match figures.iter_mut().find(|old| old.key == figure.key) {
        Some(old) => *old = figure,
        None => figures.push(figure),
    }
}

fn recorded(layer: &str, figure: &Figure) -> Setting {
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
