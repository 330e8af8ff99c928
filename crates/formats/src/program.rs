//! Programs that run on the volumes of a scene (`programs/*.toml`). A program is an engine of the model
//! ([`ProgramSpec`](seekwise_work::files::program::ProgramSpec)) and its figures; each figure states its source, as in a drive's
//! profile.
//!
//! ```toml
//! name = "total-commander"
//! title = "…"
//! engine = "copy"
//! [figures]
//! block_kib = { value = 32, datasheet = "@review" }
//! ```

mod engines;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use toml::de::DeTable;

pub(crate) use engines::{ENGINES, ProgramEngine, ProgramVolumes, file_set};
use seekwise_drives::diagnostic::{Diagnostic, sorted_by_line};
use seekwise_drives::figure::{Figure, FigureReader, NO_WORDS, ProfileKey};

/// A program as its file describes it.
#[derive(Clone, Debug)]
pub struct ProgramFile {
    /// The name in a scene.
    pub name: String,
    /// A description.
    pub title: String,
    /// The engine's name.
    pub engine: &'static str,
    /// The engine's description: a verb and its objects.
    pub description: &'static str,
    /// The name of an operation, such as `a commit`.
    pub operation: &'static str,
    /// The figures, in the order of the engine's keys.
    pub figures: Vec<Figure>,
    /// Citations by their short names; the figures' sources carry them in full.
    pub sources: BTreeMap<String, String>,
}

/// The built-in programs: file names and texts.
const TEXTS: &[(&str, &str)] = &[
    ("boot.toml", include_str!("../programs/boot.toml")),
    ("boot-prefetch.toml", include_str!("../programs/boot-prefetch.toml")),
    ("bookkeeping.toml", include_str!("../programs/bookkeeping.toml")),
    ("bookkeeping-transactions.toml", include_str!("../programs/bookkeeping-transactions.toml")),
    ("cp.toml", include_str!("../programs/cp.toml")),
    ("database.toml", include_str!("../programs/database.toml")),
    ("defragment.toml", include_str!("../programs/defragment.toml")),
    ("explorer.toml", include_str!("../programs/explorer.toml")),
    ("image-editor.toml", include_str!("../programs/image-editor.toml")),
    ("play-image-editing.toml", include_str!("../programs/play-image-editing.toml")),
    ("play-word-processing.toml", include_str!("../programs/play-word-processing.toml")),
    ("registry.toml", include_str!("../programs/registry.toml")),
    ("set-copy.toml", include_str!("../programs/set-copy.toml")),
    ("set-create.toml", include_str!("../programs/set-create.toml")),
    ("set-read.toml", include_str!("../programs/set-read.toml")),
    ("total-commander.toml", include_str!("../programs/total-commander.toml")),
    ("unpack.toml", include_str!("../programs/unpack.toml")),
    ("virus-scan.toml", include_str!("../programs/virus-scan.toml")),
    ("word-processing.toml", include_str!("../programs/word-processing.toml")),
];

/// All built-in programs.
pub fn programs() -> &'static [ProgramFile] {
    static ALL: LazyLock<Vec<ProgramFile>> = LazyLock::new(|| {
        let parse_built_in = |(file, text): &(&str, &str)| {
            parse(file, text).unwrap_or_else(|faults| panic!("a program that comes with the laboratory: {}", faults[0]))
        };
        TEXTS.iter().map(parse_built_in).collect()
    });
    &ALL
}

/// The built-in program of this name.
pub fn find_program(name: &str) -> Option<&'static ProgramFile> {
    programs().iter().find(|program| program.name == name)
}

/// The keys of all engines, without duplicates.
pub(crate) fn figure_keys() -> &'static [ProfileKey] {
    static ALL: LazyLock<&'static [ProfileKey]> = LazyLock::new(|| {
        let mut all: Vec<ProfileKey> = Vec::new();
        for key in ENGINES.iter().flat_map(|engine| engine.keys) {
            if all.iter().all(|known| known.path != key.path) {
                all.push(*key);
            }
        }
        all.leak()
    });
    &ALL
}

/// Reads a program's file.
fn parse(file: &str, text: &str) -> Result<ProgramFile, Vec<Diagnostic>> {
    let mut reader = FigureReader::new(file, text, &NO_WORDS);
    let mut table = reader.parse_table();
    if let Some(sources) = table.remove("sources") {
        reader.read_sources(&sources);
    }
    let take_text = |table: &mut DeTable<'_>, key: &str| {
        table.remove(key).and_then(|value| value.get_ref().as_str().map(str::to_owned)).unwrap_or_default()
    };
    let [name, title, engine] = ["name", "title", "engine"].map(|key| take_text(&mut table, key));
    let Some(engine) = ENGINES.iter().find(|known| known.name == engine) else {
        let error = reader.diagnostic(0, format!("unknown engine `{engine}`")).with_key("engine");
        return Err(vec![error.suggest_nearest(&engine, ENGINES.iter().map(|known| known.name))]);
    };
    let mut figures = Vec::new();
    if let Some(value) = table.remove("figures")
        && let Some(figure_table) = value.get_ref().as_table()
    {
        reader.read_figures(figure_table, "", engine.keys, false, &mut figures);
    }
    if reader.errors.is_empty() {
        let is_missing = |key: &&ProfileKey| figures.iter().all(|figure| figure.key != key.path);
        let missing = engine.keys.iter().filter(is_missing);
        reader.errors.extend(missing.map(|key| Diagnostic::at(file, 0, "missing key").with_key(key.path)));
    }
    for (key, value) in &table {
        let error =
            reader.diagnostic(reader.line_at(value.span().start), "unknown key").with_key(key.get_ref().as_ref());
        reader.errors.push(error.with_expected("name, title, engine, [sources], [figures]"));
    }
    if reader.errors.is_empty() {
        reader.report_uncited_sources();
    }
    if !reader.errors.is_empty() {
        return Err(sorted_by_line(reader.errors));
    }
    figures.sort_by_key(|figure| engine.keys.iter().position(|key| key.path == figure.key));
    let sources = reader.sources;
    let ProgramEngine { description, operation, .. } = *engine;
    Ok(ProgramFile { name, title, engine: engine.name, description, operation, figures, sources })
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_drives::figure::Figures;

    #[test]
    fn every_program_loads_under_its_files_name_and_builds() {
        for ((file, _), program) in TEXTS.iter().zip(programs()) {
            assert_eq!(format!("{}.toml", program.name), *file);
            assert!(!program.title.is_empty());
            let engine = ENGINES.iter().find(|engine| engine.name == program.engine).unwrap();
            (engine.build)(&Figures::new(engine.keys, &program.figures), ProgramVolumes { on: 0, to: 0 });
        }
    }

    #[test]
    fn a_key_is_the_same_in_all_engines() {
        for key in ENGINES.iter().flat_map(|engine| engine.keys) {
            let known = figure_keys().iter().find(|known| known.path == key.path).unwrap();
            assert_eq!((known.unit, known.accepts.to_string()), (key.unit, key.accepts.to_string()), "{}", key.path);
        }
    }

    #[test]
    fn a_figure_without_a_source_is_an_error() {
        let (file, text) = TEXTS.iter().find(|(file, _)| *file == "cp.toml").unwrap();
        let without_source =
            text.lines().map(|line| if line.starts_with("block_kib") { "block_kib = 4" } else { line });
        let faults = parse(file, &without_source.collect::<Vec<_>>().join("\n")).unwrap_err();
        assert!(faults[0].to_string().contains("`block_kib`: figure without a source"), "{}", faults[0]);
    }
}
