//! `seekwise drives`: lists the catalogue, or the drives that match words; shows one drive with its figures, checks and
//! curves; checks everyday work.

mod everyday;
mod text;

use seekwise_formats::drives::matching;
use seekwise_formats::profile::{self, DriveFile};
use seekwise_lab::catalogue::show::DriveSummary;
use seekwise_lab::catalogue::{self, show};
use seekwise_lab::everyday::arithmetic::RateLaw;
use seekwise_lab::everyday::{CaseVerdict, EverydayReport, plan};
use seekwise_lab::plot;
use serde_json::json;

use super::{print, print_json, warn};
use crate::args;
use crate::exit::{CommandAnswer, CommandError, CommandResult};
use crate::output::say;
use crate::progress::ProgressLine;
use crate::screen;
use seekwise::reading::{self, FileKind};

/// Pixels of one curve in a picture.
const PICTURE: (u32, u32) = (760, 400);

/// Runs the command.
pub fn drives(args: &args::DrivesArgs, json: bool) -> CommandResult {
    if args.check {
        return check(args.name.as_deref(), &args.columns.names, json);
    }
    let Some(name) = &args.name else { return list(show::summaries()?, args, json) };
    let matching = if is_exact(name)? { Vec::new() } else { matching(name) };
    if !matching.is_empty() && !args.pictures.any() {
        let mut drives = show::summaries()?;
        drives.retain(|drive| matching.contains(&drive.name.as_str()));
        return list(drives, args, json);
    }
    let drive = load(name)?;
    let sheet = show::sheet(&drive)?;
    warn(drive.warnings());
    args.pictures.admit(args.force, &[name])?;
    args.pictures.write(args.force, || picture(&sheet))?;
    if json {
        print_json(&sheet)?;
    } else {
        print(&text::show(&drive, &sheet, &args.columns.names, screen::width())?)?;
    }
    // Answers "no" if a figure is missed and the profile does not say so.
    Ok(if sheet.checks.iter().all(|check| check.ok) { CommandAnswer::Done } else { CommandAnswer::No })
}

/// Prints a list of drives.
fn list(drives: Vec<DriveSummary>, args: &args::DrivesArgs, json: bool) -> CommandResult {
    match json {
        true => print_json(&drives)?,
        false => print(&text::list(&drives, &args.columns.names, screen::width())?)?,
    }
    if let (Some(_), [drive]) = (&args.name, &drives[..]) {
        say(format!("In full: seekwise drives {}", drive.name));
    }
    Ok(CommandAnswer::Done)
}

/// Whether this names a built-in drive or a file; other words are searched for.
fn is_exact(name: &str) -> Result<bool, CommandError> {
    Ok(is_path(name) || catalogue::text(name).is_some() || reading::find(name)?.is_some())
}

/// Whether this can only be a file's path, and no misspelt name.
fn is_path(name: &str) -> bool {
    name.contains(['/', '\\']) || name.ends_with(".toml")
}

/// Loads a built-in drive, or a profile's file.
fn load(name: &str) -> Result<DriveFile, CommandError> {
    Ok(match (catalogue::text(name), reading::find(name)?) {
        (None, Some(text)) => {
            reading::expect(name, &text, &[FileKind::Profile])?;
            profile::parse(name, &text)?
        }
        (None, None) if is_path(name) => profile::parse(name, &reading::read(name)?)?,
        _ => catalogue::load(name)?,
    })
}

/// Compares everyday work with arithmetic, on one drive or on all of the catalogue.
fn check(name: Option<&str>, columns: &[String], as_json: bool) -> CommandResult {
    let drives = match name {
        Some(name) => vec![load(name)?],
        None => catalogue::names().map(load).collect::<Result<_, _>>()?,
    };
    for drive in &drives {
        warn(drive.warnings());
    }
    let plan = plan(&drives)?;
    let progress = ProgressLine::of(plan.cases() as u64, "cases");
    let reports = plan.run(|| progress.one());
    drop(progress);
    let reports = reports?;
    match (as_json, reports.as_slice()) {
        (true, reports) => print_json(&in_all(reports))?,
        (false, [report]) => print(&everyday::one(report, columns, screen::width())?)?,
        (false, reports) => print(&everyday::many(reports, columns, screen::width())?)?,
    }
    Ok(if reports.iter().all(EverydayReport::holds) { CommandAnswer::Done } else { CommandAnswer::No })
}

/// The comparison for JSON: counts of rows by verdict, the laws in words, and all rows.
fn in_all(reports: &[EverydayReport]) -> serde_json::Value {
    let count = |verdict| reports.iter().map(|report| report.count(verdict)).sum::<usize>();
    let laws = RateLaw::ALL.map(|law| (json!(law).as_str().unwrap_or_default().to_owned(), json!(law.words())));
    json!({
        "cases": reports.iter().map(|report| report.rows.len()).sum::<usize>(),
        "as_expected": count(CaseVerdict::AsExpected),
        "known_misses": count(CaseVerdict::KnownMiss),
        "off": count(CaseVerdict::Off),
        "not_off": count(CaseVerdict::NotOff),
        "laws": laws.into_iter().collect::<serde_json::Map<_, _>>(),
        "drives": reports,
    })
}

/// Both curves, one above the other.
fn picture(sheet: &show::DriveSheet) -> String {
    let (width, height) = PICTURE;
    let seek = plot::svg(&show::seek_picture(sheet), width, height);
    let rate = plot::svg(&show::rate_picture(sheet), width, height);
    let total = 2 * height;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{total}\">\n<g>{}</g>\n\
         <g transform=\"translate(0 {height})\">{}</g>\n</svg>\n",
        inner(&seek),
        inner(&rate)
    )
}

/// Removes the XML declaration of an SVG document, so that it may stand in another.
fn inner(svg: &str) -> &str {
    svg.find("<svg").map_or(svg, |start| &svg[start..])
}
