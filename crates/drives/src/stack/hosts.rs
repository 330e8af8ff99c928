//! Presets of the layers above a drive, read from `hosts.toml`, which has the form of a drive's figures.

use std::sync::LazyLock;

use super::kinds::KINDS;
use crate::diagnostic::Diagnostic;
use crate::figure::{Figure, FigureReader, NO_WORDS};

const HOSTS: &str = include_str!("hosts.toml");

/// A preset: a layer with all its figures.
#[derive(Clone, Debug)]
pub struct HostPreset {
    /// The kind of layer.
    pub layer: &'static str,
    pub name: String,
    pub figures: Vec<Figure>,
}

/// Read once in a process: every stack that is built asks for them.
static PRESETS: LazyLock<Result<Vec<HostPreset>, Vec<Diagnostic>>> = LazyLock::new(read_presets);

/// All presets.
pub fn hosts() -> Result<&'static [HostPreset], Vec<Diagnostic>> {
    PRESETS.as_deref().map_err(Clone::clone)
}

fn read_presets() -> Result<Vec<HostPreset>, Vec<Diagnostic>> {
    let mut reader = FigureReader::new("hosts.toml", HOSTS, &NO_WORDS);
    let mut table = reader.parse_table();
    if let Some(sources) = table.remove("sources") {
        reader.read_sources(&sources);
    }
    let mut hosts = Vec::new();
    for kind in KINDS {
        let named = table.remove(kind.name);
        let entries = named.iter().filter_map(|value| value.get_ref().as_table());
        for (name, entry) in entries.flatten() {
            let mut figures = Vec::new();
            if let Some(entry) = entry.get_ref().as_table() {
                reader.read_figures(entry, "", kind.keys, false, &mut figures);
            }
            hosts.push(HostPreset { layer: kind.name, name: name.get_ref().to_string(), figures });
        }
    }
    match reader.errors.is_empty() {
        true => Ok(hosts),
        false => Err(reader.errors),
    }
}
