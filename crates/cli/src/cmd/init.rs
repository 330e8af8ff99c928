//! `seekwise init`: writes annotated files that run as they are. A stack is made of presets and their keys, a drive of a built-in
//! one, a scene is the built-in one with all keys as comments, and a study is the example `init/study.toml`.

use std::path::Path;

use seekwise::drives::{self, Datasheet, ReadingCache, draft_profile, nearest_drive};
use seekwise::keys::{Figure, FigureValue, KeyEntry, KeySection, StackFile, figure, hosts, layers, sections};
use seekwise::outputs::{prepare_output, write_whole};
use seekwise::{Error, jobs};

use super::print_text;
use crate::args::{self, Template};
use crate::exit::{CommandAnswer, CommandError, CommandResult};
use crate::output::print_to_stderr;
use crate::screen;

/// The study that `init study` writes, and the file name that its comments have.
const STUDY: &str = include_str!("init/study.toml");
const STUDY_NAME: &str = "study.toml";

/// The drive of a new stack, and the start of a new profile: the built-in drive with a queue that has most sources.
const DRIVE: &str = "barracuda-7200.7-ncq";

/// The layers that a new stack has, with their presets.
const ACTIVE_LAYERS: [(&str, &str); 2] = [("driver", "linux-none"), ("controller", "ahci")];
/// Presets of the other layers, which a new stack has as comments; a layer without one here has its first preset by name.
const COMMENTED_LAYERS: [(&str, &str); 4] =
    [("array", "raid-5"), ("processor", "current"), ("accelerator", "maxboost"), ("scsi", "ultra320")];

/// The keys of the drive that a new stack shows; `seekwise keys` lists the others.
const SHOWN_DRIVE_KEYS: [&str; 6] = [
    figure::CACHE_WRITE_BACK,
    figure::CACHE_SEGMENTS,
    figure::CACHE_READ_AHEAD_MAX_SECTORS,
    figure::FIRMWARE_DEPTH,
    figure::FIRMWARE_QUEUE_POLICY,
    figure::MECHANICS_RPM,
];

/// The most columns of running text behind `# `.
const COMMENT_WIDTH: usize = 116;

/// The column at which the explanation of a key begins.
const EXPLANATION_COLUMN: usize = 38;

/// Writes the file.
pub fn run_command(args: &args::InitArgs) -> CommandResult {
    if args.like.is_some() && args.what != Template::Drive {
        return Err(CommandError::new("--like only applies to `init drive`"));
    }
    let args::DatasheetArgs { capacity, rpm, outer, inner, seek, heads, buffer } = args.sheet;
    let datasheet = Datasheet { capacity, rpm, outer, inner, seek, heads, buffer_mib: buffer };
    if !datasheet.is_empty() && args.what != Template::Drive {
        return Err(CommandError::new(
            "--capacity, --rpm, --outer, --inner, --seek, --heads and --buffer only apply to `init drive`",
        ));
    }
    let file_name = args.out.as_deref().and_then(Path::file_name).and_then(|file_name| file_name.to_str());
    let text = match args.what {
        Template::Stack => stack_text(file_name.unwrap_or("stack.toml"))?,
        Template::Study => STUDY.replace(STUDY_NAME, file_name.unwrap_or(STUDY_NAME)),
        Template::Scene => scene_text(file_name.unwrap_or("my-scene.toml")),
        Template::Drive => profile_text(args.like.as_deref(), &datasheet, file_name.unwrap_or("my-drive.toml"))?,
    };
    let Some(path) = &args.out else {
        print_text(&text)?;
        return Ok(CommandAnswer::Done);
    };
    let written = prepare_output(path, args.force).and_then(|()| write_whole(path, text.as_bytes(), args.force));
    written.map_err(|why| Error::of_file(path, &why))?;
    print_to_stderr(format!("Written: {}", path.display()));
    Ok(CommandAnswer::Done)
}

/// The built-in scene from which a new one is made.
const SCENE: &str = "copy";

/// The text of `init scene`: the built-in scene, then all keys of scenes as comments.
fn scene_text(file_name: &str) -> String {
    let built_in = jobs::find_text(SCENE).unwrap_or_default();
    let mut text = built_in.replace(&format!("run {SCENE} "), &format!("run {file_name} "));
    text = text.replace(&format!("compare {SCENE} "), &format!("compare {file_name} "));
    text += "\n## All keys, as --set and studies take them. `seekwise programs` lists programs.\n";
    let all_sections = sections();
    for entry in all_sections.iter().filter(|section| section.name == "scene").flat_map(|section| &section.keys) {
        text += &format!("{:<EXPLANATION_COLUMN$} # {}\n", format!("## {}", entry.key), key_summary(entry));
    }
    text
}

/// The text of `init stack`: a drive with two layers above it, and the other layers as comments.
fn stack_text(file_name: &str) -> Result<String, CommandError> {
    let mut text = format!(
        "# A stack: a drive and the layers between it and the program. It runs as it is:\n#\n\
         #   seekwise run random-read --on {file_name}\n#\n\
         # To set a key, remove the single # in front of it. `seekwise keys driver` lists all keys of a layer,\n\
         # `seekwise keys array.level` shows the value in each preset.\n"
    );
    let all_sections = sections();
    let section = |name: &str| all_sections.iter().find(|section| section.name == name).expect("a layer has its keys");
    let profile = drives::load_drive(DRIVE)?;
    let drive_figures = SHOWN_DRIVE_KEYS.iter().filter_map(|key| profile.figure(key));
    let cache = ReadingCache::default();
    text += &layer_text(section("drive"), DRIVE, drives::names(), drive_figures, "", &cache);
    let presets = hosts()?;
    let commented =
        layers().filter(|layer| *layer != "drive" && !ACTIVE_LAYERS.iter().any(|(active, _)| active == layer));
    let shown = ACTIVE_LAYERS.iter().map(|(layer, _)| (*layer, "")).chain(commented.map(|layer| (layer, "# ")));
    for (kind, prefix) in shown {
        let names = presets.iter().filter(|host| host.layer == kind).map(|host| host.name.as_str());
        let chosen =
            ACTIVE_LAYERS.iter().chain(&COMMENTED_LAYERS).find(|(layer, _)| *layer == kind).map(|(_, name)| *name);
        let preset = chosen.or(names.clone().next()).expect("each layer has a preset");
        let host = presets.iter().find(|host| host.layer == kind && host.name == preset);
        let figures = host.iter().flat_map(|host| &host.figures);
        text += &layer_text(section(kind), preset, names, figures, prefix, &cache);
    }
    Ok(text)
}

/// The table of a layer: its name, the other names, and its figures as comments. `prefix` is "# " if the whole layer is a
/// comment.
fn layer_text<'n, 'a>(
    section: &KeySection,
    name: &str,
    names: impl Iterator<Item = &'n str>,
    figures: impl Iterator<Item = &'a Figure>,
    prefix: &str,
    cache: &ReadingCache,
) -> String {
    let other_names: Vec<&str> = names.filter(|other| *other != name).collect();
    let mut text = format!("\n## {}", section.what);
    if let Some(layer_key) = section.keys.first().filter(|layer_key| !layer_key.required) {
        text += &format!(" (default: {})", layer_key.otherwise);
    }
    text += &format!("\n{prefix}[{}]\n{prefix}name = \"{name}\"\n", section.name);
    if !other_names.is_empty() {
        text += &format!("## or {}\n", other_names.join(", "));
    }
    for figure in figures.filter(|figure| is_settable(section.name, name, figure, cache)) {
        let entry = section.keys.iter().find(|entry| entry.key == format!("{}.{}", section.name, figure.key));
        let summary = entry.map_or(String::new(), key_summary);
        let value = match &figure.value {
            FigureValue::Word(word) => format!("\"{word}\""),
            value => value.to_string(),
        };
        text += &format!("{:<EXPLANATION_COLUMN$} # {summary}\n", format!("# {} = {value}", figure.key));
    }
    text
}

/// Whether a figure may be set in a layer with this preset. A stack refuses a key that has no effect beside the others.
fn is_settable(layer: &str, preset: &str, figure: &Figure, cache: &ReadingCache) -> bool {
    let mut stack = StackFile::named_drive(DRIVE);
    let layer_set = stack.set(layer, preset);
    let figure_set = layer_set.and_then(|()| stack.set(&format!("{layer}.{}", figure.key), &figure.value.to_string()));
    let read_profile = |name: &str| Ok(drives::find_text(name).unwrap_or_default().to_owned());
    figure_set.and_then(|()| stack.build_with_cache(&read_profile, cache)).is_ok()
}

/// Range, unit and meaning of a key.
fn key_summary(entry: &KeyEntry) -> String {
    let unit = if entry.unit.is_empty() { String::new() } else { format!(" {}", entry.unit) };
    format!("{}{unit}: {}", entry.takes, entry.meaning)
}

/// The text of `init drive`: the profile of a built-in drive under the name of the new file, with an explanation above each key.
/// Figures of a datasheet replace those of the built-in drive.
fn profile_text(like: Option<&str>, datasheet: &Datasheet, file_name: &str) -> Result<String, CommandError> {
    let name = file_name.strip_suffix(".toml").unwrap_or(file_name);
    let like = like.or_else(|| nearest_drive(datasheet)).unwrap_or(DRIVE);
    drives::load_drive(like)?;
    let (profile, origin) = match datasheet.is_empty() {
        true => (drives::find_text(like).unwrap_or_default().to_owned(), format!("All figures are those of {like}.")),
        false => (
            draft_profile(like, datasheet, name).map_err(CommandError::new)?,
            format!("The given figures are marked `datasheet`; the rest is scaled or taken from {like}."),
        ),
    };
    let heading = format!(
        "{origin} Change what differs, together with its source: `measured` (by whom, how), `datasheet` (which, where), or \
         `inferred` (from what, how). `@word` refers to an entry of [sources]. A `##` line describes the key below it; \
         `[checks]` are values that the model must reproduce."
    );
    let mut text = format!(
        "# A drive like {like}. It runs as it is:\n#\n#   seekwise run random-read --on {file_name}\n\
         #   seekwise drives {file_name}           its figures and checks\n\
         #   seekwise drives {file_name} --check   everyday work against arithmetic from them\n#\n"
    );
    text += &screen::wrap_line(&heading, COMMENT_WIDTH, 0).iter().map(|line| format!("# {line}\n")).collect::<String>();
    text += "\n";
    let all_sections = sections();
    let entries = || all_sections.iter().flat_map(|section| &section.keys);
    let mut section = String::new();
    for line in profile.lines() {
        let table = line.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|split| split.0);
        let key = line.split_once('=').map(|(key, _)| format!("drive.{section}{}", key.trim()));
        let key = key.or(table.map(|table| format!("drive.{table}")));
        section = table.map_or(section, |table| format!("{table}."));
        if let Some(entry) = entries().find(|entry| Some(&entry.key) == key.as_ref()) {
            let default = if entry.required { String::new() } else { format!(" (default: {})", entry.otherwise) };
            text += &format!("## {}{default}\n", key_summary(entry));
        }
        match line.starts_with("name") && section.is_empty() {
            true => text += &format!("name = \"{name}\"\n"),
            false => text += &format!("{line}\n"),
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builds(text: &str, cache: &ReadingCache) -> Result<(), String> {
        let drives = |name: &str| Ok(drives::find_text(name).expect("a drive of the catalogue").to_owned());
        let built = StackFile::parse("s.toml", text).and_then(|stack| stack.build_with_cache(&drives, cache));
        built.map(|_| ()).map_err(|faults| format!("{}\n{text}", faults[0]))
    }

    /// The lines of each table of a stack, with those behind a single `#` uncommented.
    fn tables(text: &str) -> Vec<Vec<String>> {
        let mut tables: Vec<Vec<String>> = Vec::new();
        for line in text.lines().filter(|line| !line.starts_with("##")) {
            let line = line.strip_prefix("# ").unwrap_or(line);
            match line.starts_with('[') {
                true => tables.push(vec![line.to_owned()]),
                false if line.contains(" = ") => tables.last_mut().unwrap().push(line.to_owned()),
                false => {}
            }
        }
        tables
    }

    #[test]
    fn a_scene_runs_as_it_is() {
        let text = scene_text("s.toml");
        let scene = jobs::SceneFile::parse("s.toml", &text);
        let built = scene.and_then(|scene| scene.build(1 << 29, None, &jobs::LayoutCache::default()));
        assert!(built.is_ok() && text.contains("seekwise run s.toml --on"), "{text}");
        assert!(text.contains("## volume.NAME.fragments"));
    }

    #[test]
    fn a_stack_builds_with_every_line_that_may_be_uncommented() {
        let text = stack_text("s.toml").unwrap();
        let cache = ReadingCache::default();
        assert_eq!(builds(&text, &cache), Ok(()));
        let tables = tables(&text);
        assert_eq!(tables.len(), layers().count());
        let drive = format!("[drive]\nname = \"{DRIVE}\"\n");
        for table in &tables {
            let head = table[..2].join("\n");
            let beside = if head.starts_with("[drive]") { "" } else { &drive };
            let with = |line: &String| format!("{beside}{head}\n{line}\n");
            table[2..].iter().for_each(|line| assert_eq!(builds(&with(line), &cache), Ok(())));
            assert_eq!(builds(&format!("{beside}{}\n", table.join("\n")), &cache), Ok(()));
        }
    }

    #[test]
    fn every_built_in_drive_makes_a_valid_profile() {
        for like in drives::names() {
            let text = profile_text(Some(like), &Datasheet::default(), "mine.toml").unwrap();
            let read = drives::parse("mine.toml", &text).unwrap();
            assert_eq!(read.name, "mine");
            let plain = drives::load_drive(like).unwrap();
            let values = |drive: &drives::DriveFile| {
                drive.figures().map(|figure| (figure.key, figure.value.to_string())).collect::<Vec<_>>()
            };
            assert_eq!(values(&read), values(&plain));
            let explanations = text.lines().filter(|line| line.starts_with("## ")).count();
            assert!(
                explanations >= plain.figures().count(),
                "{like}: {explanations} lines for {} figures",
                plain.figures().count()
            );
        }
    }
}
