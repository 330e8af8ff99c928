//! `seekwise import`: turns another simulator's description of a drive into a profile.

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
    // The profile goes to standard output without `--out`, or with `--out -`.
    let out = args.out.as_deref().filter(|out| out.as_os_str() != STANDARD_INPUT);
    let text = files.read(&args.file)?;
    let folder = Path::new(&args.file).parent().unwrap_or(Path::new(""));
    let load_file = |name: &str| {
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
    let imported = import_disksim(&args.file, &text, &load_file, args.drive.as_deref(), &name)?;
    print_warnings(&imported.warnings);
    if let Some(path) = out {
        let written =
            prepare_output(path, args.force).and_then(|()| write_whole(path, imported.toml.as_bytes(), args.force));
        written.map_err(|why| Error::of_file(path, &why))?;
    }
    match (json, out) {
        (true, _) => print_json(&import_json(&imported))?,
        (false, Some(path)) => print_text(&format!(
            "{} is now {}\n\n{}",
            imported.drive,
            path.display(),
            ignored_parameters_table(&imported)
        ))?,
        (false, None) => {
            print_text(&imported.toml)?;
            print_to_stderr(ignored_parameters_table(&imported));
        }
    }
    Ok(CommandAnswer::Done)
}

fn import_json(imported: &DisksimImport) -> ImportJson<'_> {
    let ignored = imported.left.iter().map(|parameter| IgnoredParameter {
        key: &parameter.key,
        value: &parameter.value,
        place: &parameter.place,
        why: &parameter.why,
        active: parameter.active,
    });
    let warnings = imported.warnings.iter().map(ToString::to_string).collect();
    ImportJson { drive: &imported.drive, profile: &imported.toml, left: ignored.collect(), warnings }
}

/// The parameters that the model ignores; those that would change the result come first.
fn ignored_parameters_table(imported: &DisksimImport) -> String {
    let active = imported.left.iter().filter(|parameter| parameter.active).count();
    let mut rows = new_table(["ignored parameter", "value", "where", "here", "effect"]);
    for parameter in &imported.left {
        let here = if parameter.active { "not modelled" } else { "no difference" };
        let (key, value, place) = (parameter.key.as_str(), parameter.value.as_str(), parameter.place.as_str());
        rows.add_row([key, value, place, here, parameter.why.as_str()]);
    }
    match imported.left.len() {
        0 => "All parameters were imported.".to_owned(),
        all => format!("Of {all} parameters without a counterpart, {active} would change the result:\n{rows}"),
    }
}
