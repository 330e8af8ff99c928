//! Writes the text of a profile: sections of figures, each with its origin, and the list of parameters without a counterpart.

use std::collections::BTreeMap;
use std::fmt::Write;

use seekwise_drives::diagnostic::Diagnostic;

use super::syntax::{ParameterBlock, SourcePosition, describe_value};

/// A parameter that the model has no counterpart for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmodelledParameter {
    pub key: String,
    pub value: String,
    /// File and line.
    pub place: String,
    /// The effect, or why there is none.
    pub why: String,
    /// True if the parameter would change the result.
    pub active: bool,
}

/// A profile being written, with the ignored parameters and the warnings.
pub(super) struct ProfileWriter {
    toml: String,
    unmodelled: Vec<UnmodelledParameter>,
    warnings: Vec<Diagnostic>,
}

/// A complete profile.
pub(super) struct FinishedProfile {
    pub(super) toml: String,
    /// Ignored parameters; those that would change the result stand first.
    pub(super) unmodelled: Vec<UnmodelledParameter>,
    pub(super) warnings: Vec<Diagnostic>,
}

impl ProfileWriter {
    /// Begins a profile.
    pub(super) fn new(name: &str, drive: &str, file: &str) -> ProfileWriter {
        let title: String = drive.chars().filter(|c| c.is_ascii_graphic() && *c != '"' && *c != '\\').collect();
        let file: String = file.rsplit('/').next().unwrap_or(file).chars().filter(|c| !"\"\\".contains(*c)).collect();
        let toml = format!(
            "# Imported from DiskSim parameters: {file} and the files it sources.\n\nname = \"{name}\"\ntitle = \"{title}\"\nyear = 0\n\
             studies = []\ninterface = \"SCSI\"\n\n[sources]\ndisksim = \"parameters in DiskSim's form, {file} and the \
             files it sources\"\n"
        );
        ProfileWriter { toml, unmodelled: Vec::new(), warnings: Vec::new() }
    }

    /// Begins a section.
    pub(super) fn begin_section(&mut self, name: &str) {
        let _ = write!(self.toml, "\n[{name}]\n");
    }

    /// Writes a figure from the parameters.
    pub(super) fn write_given(
        &mut self,
        key: &str,
        value: impl std::fmt::Display,
        position: &SourcePosition,
        parameter: &str,
    ) {
        let place = file_and_line(position);
        let _ = writeln!(self.toml, "{key} = {{ value = {value}, measured = \"@disksim {place}: {parameter}\" }}");
    }

    /// Writes a figure that the parameters do not give.
    pub(super) fn write_inferred(&mut self, key: &str, value: impl std::fmt::Display, why: &str) {
        let _ = writeln!(self.toml, "{key} = {{ value = {value}, inferred = \"{why}\" }}");
    }

    /// Writes a section whose value is a list of rows.
    pub(super) fn write_rows(&mut self, section: &str, rows: &[String], position: &SourcePosition, parameter: &str) {
        self.begin_section(section);
        let _ = writeln!(self.toml, "measured = \"@disksim {}: {parameter}\"\nvalue = [", file_and_line(position));
        let rows_per_line = if rows.iter().all(|row| row.len() < 24) { 5 } else { 1 };
        for line in rows.chunks(rows_per_line) {
            let _ = writeln!(self.toml, "    {},", line.join(", "));
        }
        self.toml.push_str("]\n");
    }

    /// Notes a parameter that the model has no counterpart for, if it is present.
    pub(super) fn note_unmodelled(&mut self, block: &ParameterBlock, key: &str, changes_result: bool, why: &str) {
        let Some(entry) = block.get(key) else { return };
        let value = describe_value(&entry.value);
        let (key, why) = (key.to_owned(), why.to_owned());
        self.unmodelled.push(UnmodelledParameter {
            key,
            value,
            place: file_and_line(&entry.at),
            why,
            active: changes_result,
        });
    }

    /// Notes a parameter of another block that the model has no counterpart for and that would change the result.
    pub(super) fn note_unmodelled_effect(&mut self, key: &str, position: &SourcePosition, effect: &str) {
        let (key, why, place) = (key.to_owned(), effect.to_owned(), file_and_line(position));
        self.unmodelled.push(UnmodelledParameter { key, value: String::new(), place, why, active: true });
    }

    /// Adds a warning.
    pub(super) fn warn(&mut self, warning: Diagnostic) {
        self.warnings.push(warning);
    }

    /// Writes the parameters that would change the result into the profile, each once.
    fn write_not_modelled(&mut self) {
        let active = self.unmodelled.iter().rev().filter(|parameter| parameter.active);
        let active: BTreeMap<&str, &UnmodelledParameter> =
            active.map(|parameter| (parameter.key.as_str(), parameter)).collect();
        if active.is_empty() {
            return;
        }
        let _ = write!(self.toml, "\n[not_modelled]\n");
        for (key, parameter) in active {
            let value = if parameter.value.is_empty() { "set" } else { &parameter.value };
            let says = format!("{value} ({}): {}", parameter.place, parameter.why);
            let _ = writeln!(self.toml, "{} = {}", toml_string(key), toml_string(&says));
        }
    }

    /// Completes the profile with the section of ignored parameters.
    pub(super) fn finish(mut self) -> FinishedProfile {
        self.unmodelled.sort_by_key(|parameter| !parameter.active);
        self.write_not_modelled();
        FinishedProfile { toml: self.toml, unmodelled: self.unmodelled, warnings: self.warnings }
    }
}

/// A text as a TOML string: quoted, with blanks for control characters.
pub(super) fn toml_string(text: &str) -> String {
    let plain = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>();
    format!("\"{}\"", plain.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A fraction of a revolution with the given number of decimals, below 1 even when rounded.
pub(super) fn revolution_fraction(revolutions: f64, decimals: u32) -> String {
    let steps = 10u64.pow(decimals);
    let step = (revolutions.rem_euclid(1.0) * steps as f64).round() as u64 % steps;
    format!("0.{step:0width$}", width = decimals as usize)
}

fn file_and_line(position: &SourcePosition) -> String {
    let file = position.file.rsplit('/').next().unwrap_or(&position.file);
    format!("{}:{}", file.replace(['"', '\\'], ""), position.line)
}
