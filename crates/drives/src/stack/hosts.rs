//! Presets of the layers above a drive: named drivers, controllers, arrays and others with all their figures, read from
//! `hosts.toml`. The figures have the form of a drive's: unit, kind and source.

use std::sync::LazyLock;

use super::kinds::KINDS;
use crate::diagnostic::Diagnostic;
use crate::figure::{Figure, FigureReader, KeyDomain, NO_WORDS, ProfileKey};

const HOSTS: &str = include_str!("hosts.toml");

/// A preset: a layer with all its figures.
#[derive(Clone, Debug)]
pub struct HostPreset {
    /// The kind of layer.
    pub layer: &'static str,
    pub name: String,
    pub figures: Vec<Figure>,
    /// A layer that the system has for each drive, below an array: the figure that says so. Overrides of a stack do not
    /// change it, and `order` decides against it.
    pub(super) below_array: Option<Figure>,
}

/// The key of a preset in `hosts.toml` that is no figure of its layer: where the layer stands in a stack with an array.
static PLACE: ProfileKey = ProfileKey::may(
    "place",
    "",
    KeyDomain::Word(&["below-array"]),
    "above the array",
    "`below-array`: one for each drive of an array",
);

/// The presets, read once in a process because every stack that is built needs them.
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
    let mut presets = Vec::new();
    for kind in KINDS {
        let section = table.remove(kind.name);
        let entries = section.iter().filter_map(|value| value.get_ref().as_table());
        for (name, entry) in entries.flatten() {
            let (mut figures, mut below_array) = (Vec::new(), None);
            if let Some(entry) = entry.get_ref().as_table() {
                let mut entry = entry.clone();
                if let Some(place) = entry.remove(PLACE.path) {
                    let line = reader.line_at(place.span().start);
                    below_array = reader.read_figure(&PLACE, &place, line, false);
                }
                reader.read_figures(&entry, "", kind.keys, false, &mut figures);
            }
            presets.push(HostPreset { layer: kind.name, name: name.get_ref().to_string(), figures, below_array });
        }
    }
    match reader.errors.is_empty() {
        true => Ok(presets),
        false => Err(reader.errors),
    }
}
