//! `seekwise import`: turns a foreign description of a drive into a profile.

use std::path::Path;

use seekwise::drives::{DisksimImport, import_disksim};
use serde::Serialize;

use super::{print_json, print_text, print_warnings};
use crate::args::{self, ImportSource};
use crate::exit::{CommandAnswer, CommandError, CommandResult};
use crate::output::print_to_stderr;
use crate::tables::new_table;
use seekwise::outputs::{prepare_output, write_whole};
use seekwise::reading::STANDARD_INPUT;
use seekwise::{Error, Files};

/// An import as JSON.
#[derive(Serialize)]
struct ImportJson<'a> {
    drive: &'a str,
    profile: &'a str,
    left: Vec<IgnoredParameter<'a>>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct IgnoredParameter<'a> {
    key: &'a str,
    value: &'a str,
    place: &'a str,
    why: &'a str,
    active: bool,
}

/// Runs the command.
pub fn run_command(args: &args::ImportArgs, files: &Files, json: bool) -> CommandResult {
    let ImportSource::Disksim(args) = &args.from;
    // Without a name for it the profile goes to standard output, as `-` says in words.
    let out = args.out.as_deref().filter(|out| out.as_os_str() != STANDARD_INPUT);
    let text = files.read(&args.file)?;
    let folder = Path::new(&args.file).parent().unwrap_or(Path::new(""));
    let load = |name: &str| {
        let path = folder.join(name);
        files.text(&path.to_string_lossy()).map_err(|error| error.to_string())
    };
    let file = if args.file == STANDARD_INPUT { "drive" } else { &args.file };
    let stem = Path::new(file).file_stem().map_or("drive".to_owned(), |stem| stem.to_string_lossy().into_owned());
    let name = args.name.clone().unwrap_or(stem);
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) {
        return Err(CommandError::new(format!(
            "--name: `{name}` is invalid; expected letters, digits, `-`, `_` and `.`"
        )));
    }
    let found = import_disksim(&args.file, &text, &load, args.drive.as_deref(), &name)?;
    print_warnings(&found.warnings);
    if let Some(path) = out {
        let written =
            prepare_output(path, args.force).and_then(|()| write_whole(path, found.toml.as_bytes(), args.force));
        written.map_err(|why| Error::of_file(path, &why))?;
    }
    match (json, out) {
        (true, _) => print_json(&import_json(&found))?,
        (false, Some(path)) => {
            print_text(&format!("{} is now {}\n\n{}", found.drive, path.display(), ignored_parameters(&found)))?
        }
        (false, None) => {
            print_text(&found.toml)?;
            print_to_stderr(ignored_parameters(&found));
        }
    }
    Ok(CommandAnswer::Done)
}

fn import_json(found: &DisksimImport) -> ImportJson<'_> {
    let left = found.left.iter().map(|left| IgnoredParameter {
        key: &left.key,
        value: &left.value,
        place: &left.place,
        why: &left.why,
        active: left.active,
    });
    let warnings = found.warnings.iter().map(ToString::to_string).collect();
    ImportJson { drive: &found.drive, profile: &found.toml, left: left.collect(), warnings }
}

/// Parameters that the model ignores; those that would change the result first.
fn ignored_parameters(found: &DisksimImport) -> String {
    let active = found.left.iter().filter(|left| left.active).count();
    let mut rows = new_table(["ignored parameter", "value", "where", "here", "effect"]);
    for left in &found.left {
        let here = if left.active { "not modelled" } else { "no difference" };
        rows.add_row([left.key.as_str(), left.value.as_str(), left.place.as_str(), here, left.why.as_str()]);
    }
    match found.left.len() {
        0 => "All parameters were imported.".to_owned(),
        all => format!("Of {all} parameters without a counterpart, {active} would change the result:\n{rows}"),
    }
}
