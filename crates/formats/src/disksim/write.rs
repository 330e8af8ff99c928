//! The profile's text: sections of figures, each with its origin.

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
    /// Whether it would change the result.
    pub active: bool,
}

/// A profile being written, with the ignored parameters and the warnings.
pub(super) struct ProfileWriter {
    text: String,
    left: Vec<UnmodelledParameter>,
    warnings: Vec<Diagnostic>,
}

impl ProfileWriter {
    /// Begins a profile.
    pub(super) fn new(name: &str, drive: &str, file: &str) -> ProfileWriter {
        let title: String = drive.chars().filter(|c| c.is_ascii_graphic() && *c != '"' && *c != '\\').collect();
        let file: String = file.rsplit('/').next().unwrap_or(file).chars().filter(|c| !"\"\\".contains(*c)).collect();
        let text = format!(
            "# Imported from DiskSim parameters: {file} and the files it sources.\n\nname = \"{name}\"\ntitle = \"{title}\"\nyear = 0\n\
             studies = []\ninterface = \"SCSI\"\n\n[sources]\ndisksim = \"parameters in DiskSim's form, {file} and the \
             files it sources\"\n"
        );
        ProfileWriter { text, left: Vec::new(), warnings: Vec::new() }
    }

    /// Begins a section.
    pub(super) fn begin_section(&mut self, name: &str) {
        let _ = write!(self.text, "\n[{name}]\n");
    }

    /// Writes a figure from the parameters.
    pub(super) fn write_given(
        &mut self,
        key: &str,
        value: impl std::fmt::Display,
        at: &SourcePosition,
        parameter: &str,
    ) {
        let place = file_and_line(at);
        let _ = writeln!(self.text, "{key} = {{ value = {value}, measured = \"@disksim {place}: {parameter}\" }}");
    }

    /// Writes a figure that the parameters do not give.
    pub(super) fn write_inferred(&mut self, key: &str, value: impl std::fmt::Display, why: &str) {
        let _ = writeln!(self.text, "{key} = {{ value = {value}, inferred = \"{why}\" }}");
    }

    /// Writes a section whose value is a list of rows.
    pub(super) fn write_rows(&mut self, section: &str, rows: &[String], at: &SourcePosition, parameter: &str) {
        self.begin_section(section);
        let _ = writeln!(self.text, "measured = \"@disksim {}: {parameter}\"\nvalue = [", file_and_line(at));
        let a_line = if rows.iter().all(|row| row.len() < 24) { 5 } else { 1 };
        for line in rows.chunks(a_line) {
            let _ = writeln!(self.text, "    {},", line.join(", "));
        }
        self.text.push_str("]\n");
    }

    /// Notes a parameter that the model has no counterpart for, if it is present.
    pub(super) fn note_unmodelled(&mut self, block: &ParameterBlock, key: &str, active: bool, why: &str) {
        let Some(entry) = block.get(key) else { return };
        let value = describe_value(&entry.value);
        let (key, why) = (key.to_owned(), why.to_owned());
        self.left.push(UnmodelledParameter { key, value, place: file_and_line(&entry.at), why, active });
    }

    /// Notes a parameter of another block that the model has no counterpart for and that would change the result.
    pub(super) fn note_active(&mut self, key: &str, at: &SourcePosition, why: &str) {
        let (key, why) = (key.to_owned(), why.to_owned());
        self.left.push(UnmodelledParameter { key, value: String::new(), place: file_and_line(at), why, active: true });
    }

    /// Adds a warning.
    pub(super) fn warn(&mut self, warning: Diagnostic) {
        self.warnings.push(warning);
    }

    /// Writes the parameters that would change the result into the profile, each once.
    fn write_not_modelled(&mut self) {
        let active: BTreeMap<&str, &UnmodelledParameter> =
            self.left.iter().rev().filter(|left| left.active).map(|left| (left.key.as_str(), left)).collect();
        if active.is_empty() {
            return;
        }
        let _ = write!(self.text, "\n[not_modelled]\n");
        for (key, left) in active {
            let value = if left.value.is_empty() { "set" } else { &left.value };
            let says = format!("{value} ({}): {}", left.place, left.why);
            let _ = writeln!(self.text, "{} = {}", toml_string(key), toml_string(&says));
        }
    }

    /// Returns the profile, the ignored parameters (those that would change the result first) and the warnings.
    pub(super) fn finish(mut self) -> (String, Vec<UnmodelledParameter>, Vec<Diagnostic>) {
        self.left.sort_by_key(|left| !left.active);
        self.write_not_modelled();
        (self.text, self.left, self.warnings)
    }
}

/// A TOML string.
pub(super) fn toml_string(text: &str) -> String {
    let plain = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>();
    format!("\"{}\"", plain.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A fraction of a revolution with the given number of decimals, below 1 even when rounded.
pub(super) fn revolution_fraction(turn: f64, decimals: u32) -> String {
    let steps = 10u64.pow(decimals);
    let step = (turn.rem_euclid(1.0) * steps as f64).round() as u64 % steps;
    format!("0.{step:0width$}", width = decimals as usize)
}

fn file_and_line(at: &SourcePosition) -> String {
    let file = at.file.rsplit('/').next().unwrap_or(&at.file);
    format!("{}:{}", file.replace(['"', '\\'], ""), at.line)
}
