//! `seekwise init`: annotated files that run as they are. A stack is made of presets and their keys, a drive
//! of a built-in one, a study is an example of `docs`.

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

/// The study that `init study` writes, under this name.
const STUDY: &str = include_str!("init/study.toml");
const STUDY_NAME: &str = "study.toml";

/// The drive of a new stack, and the start of a new profile: the built-in drive with a queue that has most sources.
const DRIVE: &str = "barracuda-7200.7-ncq";

/// The layers that a new stack has.
const HAS: [(&str, &str); 2] = [("driver", "linux-none"), ("controller", "ahci")];
/// Other layers of a new stack are behind `#`: these presets, else the first by name.
const MAY_HAVE: [(&str, &str); 4] =
    [("array", "raid-5"), ("processor", "current"), ("accelerator", "maxboost"), ("scsi", "ultra320")];

/// Keys of a drive that people need first; `seekwise keys` lists the others.
const ASKED: [&str; 6] = [
    figure::CACHE_WRITE_BACK,
    figure::CACHE_SEGMENTS,
    figure::CACHE_READ_AHEAD_MAX_SECTORS,
    figure::FIRMWARE_DEPTH,
    figure::FIRMWARE_QUEUE_POLICY,
    figure::MECHANICS_RPM,
];

/// Columns of running text behind `# `.
const COMMENTS: usize = 116;

/// The column at which a line's explanation begins.
const COMMENT: usize = 38;

/// Writes the file.
pub fn run_command(args: &args::InitArgs) -> CommandResult {
    if args.like.is_some() && args.what != Template::Drive {
        return Err(CommandError::new("--like only applies to `init drive`"));
    }
    let args::DatasheetArgs { capacity, rpm, outer, inner, seek, heads } = args.sheet;
    let given = Datasheet { capacity, rpm, outer, inner, seek, heads };
    if !given.is_empty() && args.what != Template::Drive {
        return Err(CommandError::new(
            "--capacity, --rpm, --outer, --inner, --seek and --heads only apply to `init drive`",
        ));
    }
    let name = args.out.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
    let text = match args.what {
        Template::Stack => stack_text(name.unwrap_or("stack.toml"))?,
        Template::Study => STUDY.replace(STUDY_NAME, name.unwrap_or(STUDY_NAME)),
        Template::Scene => scene_text(name.unwrap_or("my-scene.toml")),
        Template::Drive => profile_text(args.like.as_deref(), &given, name.unwrap_or("my-drive.toml"))?,
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

/// The scene that a new one begins with.
const SCENE: &str = "copy";

/// The built-in scene, and all keys of scenes behind `#`.
fn scene_text(file: &str) -> String {
    let built_in = jobs::find_text(SCENE).unwrap_or_default();
    let mut text = built_in.replace(&format!("run {SCENE} "), &format!("run {file} "));
    text = text.replace(&format!("compare {SCENE} "), &format!("compare {file} "));
    text += "\n## All keys, as --set and studies take them. `seekwise programs` lists programs.\n";
    let all = sections();
    for entry in all.iter().filter(|section| section.name == "scene").flat_map(|section| &section.keys) {
        text += &format!("{:<COMMENT$} # {}\n", format!("## {}", entry.key), key_summary(entry));
    }
    text
}

/// A stack with two layers above its drive, and the others behind `#`.
fn stack_text(file: &str) -> Result<String, CommandError> {
    let mut text = format!(
        "# A stack: a drive and the layers between it and the program. It runs as it is:\n#\n\
         #   seekwise run random-read --on {file}\n#\n\
         # To set a key, remove the single # in front of it. `seekwise keys driver` lists all keys of a layer,\n\
         # `seekwise keys array.level` shows the value in each preset.\n"
    );
    let all = sections();
    let section = |name: &str| all.iter().find(|section| section.name == name).expect("a layer has its keys");
    let loaded = drives::load_drive(DRIVE)?;
    let drive = ASKED.iter().filter_map(|key| loaded.figure(key));
    let cache = ReadingCache::default();
    text += &layer_text(section("drive"), DRIVE, drives::names(), drive, "", &cache);
    let presets = hosts()?;
    let others = layers().filter(|layer| *layer != "drive" && !HAS.iter().any(|(has, _)| has == layer));
    let shown = HAS.iter().map(|(layer, _)| (*layer, "")).chain(others.map(|layer| (layer, "# ")));
    for (kind, hidden) in shown {
        let names = presets.iter().filter(|host| host.layer == kind).map(|host| host.name.as_str());
        let chosen = HAS.iter().chain(&MAY_HAVE).find(|(layer, _)| *layer == kind).map(|(_, name)| *name);
        let ready = chosen.or(names.clone().next()).expect("each layer has a ready-made one");
        let host = presets.iter().find(|host| host.layer == kind && host.name == ready);
        let figures = host.iter().flat_map(|host| &host.figures);
        text += &layer_text(section(kind), ready, names, figures, hidden, &cache);
    }
    Ok(text)
}

/// A layer's table: its name, the other names, and its figures behind `#`.
fn layer_text<'n, 'a>(
    section: &KeySection,
    name: &str,
    names: impl Iterator<Item = &'n str>,
    figures: impl Iterator<Item = &'a Figure>,
    hidden: &str,
    cache: &ReadingCache,
) -> String {
    let others: Vec<&str> = names.filter(|other| *other != name).collect();
    let mut text = format!("\n## {}", section.what);
    if let Some(whole) = section.keys.first().filter(|whole| !whole.required) {
        text += &format!(" (default: {})", whole.otherwise);
    }
    text += &format!("\n{hidden}[{}]\n{hidden}name = \"{name}\"\n", section.name);
    if !others.is_empty() {
        text += &format!("## or {}\n", others.join(", "));
    }
    for figure in figures.filter(|figure| is_settable(section.name, name, figure, cache)) {
        let entry = section.keys.iter().find(|entry| entry.key == format!("{}.{}", section.name, figure.key));
        let about = entry.map_or(String::new(), key_summary);
        let value = match &figure.value {
            FigureValue::Word(word) => format!("\"{word}\""),
            value => value.to_string(),
        };
        text += &format!("{:<COMMENT$} # {about}\n", format!("# {} = {value}", figure.key));
    }
    text
}

/// Whether a figure may be set in a layer of that name: a key that changes nothing beside the others is an error.
fn is_settable(layer: &str, name: &str, figure: &Figure, cache: &ReadingCache) -> bool {
    let mut stack = StackFile::named_drive(DRIVE);
    let set = stack.set(layer, name);
    let set = set.and_then(|()| stack.set(&format!("{layer}.{}", figure.key), &figure.value.to_string()));
    let text = |name: &str| Ok(drives::find_text(name).unwrap_or_default().to_owned());
    set.and_then(|()| stack.build_with_cache(&text, cache)).is_ok()
}

/// Range, unit and meaning of a key.
fn key_summary(entry: &KeyEntry) -> String {
    let unit = if entry.unit.is_empty() { String::new() } else { format!(" {}", entry.unit) };
    format!("{}{unit}: {}", entry.takes, entry.meaning)
}

/// The profile of a built-in drive under the name of its new `file`, with an explanation above each key; made with the
/// figures `given`, if there are any.
fn profile_text(like: Option<&str>, given: &Datasheet, file: &str) -> Result<String, CommandError> {
    let name = file.strip_suffix(".toml").unwrap_or(file);
    let like = like.or_else(|| nearest_drive(given)).unwrap_or(DRIVE);
    drives::load_drive(like)?;
    let (profile, what) = match given.is_empty() {
        true => (drives::find_text(like).unwrap_or_default().to_owned(), format!("All figures are those of {like}.")),
        false => (
            draft_profile(like, given, name).map_err(CommandError::new)?,
            format!("The given figures are marked `datasheet`; the rest is scaled or taken from {like}."),
        ),
    };
    let heading = format!(
        "{what} Change what differs, together with its source: `measured` (by whom, how), `datasheet` (which, where), or \
         `inferred` (from what, how). `@word` refers to an entry of [sources]. A `##` line describes the key below it; \
         `[checks]` are values that the model must reproduce."
    );
    let mut text = format!(
        "# A drive like {like}. It runs as it is:\n#\n#   seekwise run random-read --on {file}\n\
         #   seekwise drives {file}           its figures and checks\n\
         #   seekwise drives {file} --check   everyday work against arithmetic from them\n#\n"
    );
    text += &screen::wrap_line(&heading, COMMENTS, 0).iter().map(|line| format!("# {line}\n")).collect::<String>();
    text += "\n";
    let all = sections();
    let entries = || all.iter().flat_map(|section| &section.keys);
    let mut section = String::new();
    for line in profile.lines() {
        let named = line.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|named| named.0);
        let key = line.split_once('=').map(|(key, _)| format!("drive.{section}{}", key.trim()));
        let key = key.or(named.map(|named| format!("drive.{named}")));
        section = named.map_or(section, |named| format!("{named}."));
        if let Some(entry) = entries().find(|entry| Some(&entry.key) == key.as_ref()) {
            let left_out = if entry.required { String::new() } else { format!(" (default: {})", entry.otherwise) };
            text += &format!("## {}{left_out}\n", key_summary(entry));
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

    /// The lines of each table of a stack, with those that stand behind one `#` taken in.
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
    fn a_stack_builds_with_every_line_that_may_be_taken_in() {
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
    fn every_built_in_drive_is_a_beginning() {
        for like in drives::names() {
            let text = profile_text(Some(like), &Datasheet::default(), "mine.toml").unwrap();
            let read = drives::parse("mine.toml", &text).unwrap();
            assert_eq!(read.name, "mine");
            let plain = drives::load_drive(like).unwrap();
            let values = |drive: &drives::DriveFile| {
                drive.figures().map(|figure| (figure.key, figure.value.to_string())).collect::<Vec<_>>()
            };
            assert_eq!(values(&read), values(&plain));
            let said = text.lines().filter(|line| line.starts_with("## ")).count();
            assert!(said >= plain.figures().count(), "{like}: {said} lines for {} figures", plain.figures().count());
        }
    }
}
