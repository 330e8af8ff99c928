//! `seekwise drives`: lists the built-in drives, or those that match words; shows a drive with its figures, checks and curves;
//! with `--check`, compares simulated everyday work with arithmetic from the drive's figures.

mod everyday;
mod text;

use seekwise::drives::{
    self, CaseVerdict, DriveFile, DriveSheet, DriveSummary, EverydayReport, RateLaw, build_sheet, drive_summaries,
    matching, plan_cases,
};
use seekwise::pictures::draw_svg;
use serde_json::json;

use super::{print_json, print_text, print_warnings};
use crate::args;
use crate::exit::{CommandAnswer, CommandError, CommandResult};
use crate::output::print_to_stderr;
use crate::progress::ProgressLine;
use crate::screen;
use seekwise::Files;
use seekwise::reading::{self, FileKind};

/// Width and height of a curve in a picture, in pixels.
const CURVE_PIXELS: (u32, u32) = (760, 400);

/// Runs the command.
pub fn run_command(args: &args::DrivesArgs, files: &Files, json: bool) -> CommandResult {
    if args.check {
        return check_everyday(files, args.name.as_deref(), &args.columns.names, json);
    }
    let Some(name) = &args.name else { return print_list(drive_summaries()?, args, json) };
    let matching = if is_drive_or_file(files, name)? { Vec::new() } else { matching(name) };
    if !matching.is_empty() && !args.pictures.are_requested() {
        let mut drives = drive_summaries()?;
        drives.retain(|drive| matching.contains(&drive.name.as_str()));
        return print_list(drives, args, json);
    }
    let drive = load_drive(files, name)?;
    let sheet = build_sheet(&drive)?;
    print_warnings(drive.warnings());
    args.pictures.check_paths(args.force, &[name])?;
    args.pictures.write(args.force, || seek_and_rate_svg(&sheet))?;
    if json {
        print_json(&sheet)?;
    } else {
        print_text(&text::format_drive(&drive, &sheet, &args.columns.names, screen::output_width())?)?;
    }
    // The answer is "no" if a check fails that the profile does not list as a known miss.
    Ok(if sheet.checks.iter().all(|check| check.ok) { CommandAnswer::Done } else { CommandAnswer::No })
}

/// Prints a list of drives.
fn print_list(drives: Vec<DriveSummary>, args: &args::DrivesArgs, json: bool) -> CommandResult {
    match json {
        true => print_json(&drives)?,
        false => print_text(&text::drives_table(&drives, &args.columns.names, screen::output_width())?)?,
    }
    if let (Some(_), [drive]) = (&args.name, &drives[..]) {
        print_to_stderr(format!("In full: seekwise drives {}", drive.name));
    }
    Ok(CommandAnswer::Done)
}

/// Whether this names a built-in drive or a file; other words are searched for.
fn is_drive_or_file(files: &Files, name: &str) -> Result<bool, CommandError> {
    Ok(is_path(name) || drives::find_text(name).is_some() || files.find(name)?.is_some())
}

/// Whether this can only be a file's path, and no misspelt name of a drive.
fn is_path(name: &str) -> bool {
    name.contains(['/', '\\']) || name.ends_with(".toml")
}

/// Loads a built-in drive, or a profile's file.
fn load_drive(files: &Files, name: &str) -> Result<DriveFile, CommandError> {
    Ok(match (drives::find_text(name), files.find(name)?) {
        (None, Some(text)) => {
            reading::expect_kind(name, &text, &[FileKind::Profile])?;
            drives::parse(name, &text)?
        }
        (None, None) if is_path(name) => drives::parse(name, &files.read(name)?)?,
        _ => drives::load_drive(name)?,
    })
}

/// Compares everyday work with arithmetic, on one drive or on all of the catalogue.
fn check_everyday(files: &Files, name: Option<&str>, columns: &[String], as_json: bool) -> CommandResult {
    let drives = match name {
        Some(name) => vec![load_drive(files, name)?],
        None => drives::names().map(|name| load_drive(files, name)).collect::<Result<_, _>>()?,
    };
    for drive in &drives {
        print_warnings(drive.warnings());
    }
    let plan = plan_cases(&drives)?;
    let progress = ProgressLine::with_total(plan.case_count() as u64, "cases");
    let reports = plan.run(|| progress.count_one());
    drop(progress);
    let reports = reports?;
    match (as_json, reports.as_slice()) {
        (true, reports) => print_json(&reports_json(reports))?,
        (false, [report]) => print_text(&everyday::format_drive(report, columns, screen::output_width())?)?,
        (false, reports) => print_text(&everyday::format_drives(reports, columns, screen::output_width())?)?,
    }
    Ok(if reports.iter().all(EverydayReport::is_as_expected) { CommandAnswer::Done } else { CommandAnswer::No })
}

/// The comparison as JSON: counts of rows by verdict, the laws in words, and all rows.
fn reports_json(reports: &[EverydayReport]) -> serde_json::Value {
    let count = |verdict| reports.iter().map(|report| report.count_rows(verdict)).sum::<usize>();
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

/// The curves of seek times and of rates as one SVG, the second below the first.
fn seek_and_rate_svg(sheet: &DriveSheet) -> String {
    let (width, height) = CURVE_PIXELS;
    let seek = draw_svg(&drives::seek_picture(sheet), width, height);
    let rate = draw_svg(&drives::rate_picture(sheet), width, height);
    let total_height = 2 * height;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{total_height}\">\n<g>{}</g>\n\
         <g transform=\"translate(0 {height})\">{}</g>\n</svg>\n",
        without_declaration(&seek),
        without_declaration(&rate)
    )
}

/// Removes the XML declaration of an SVG document, so that it may stand in another.
fn without_declaration(svg: &str) -> &str {
    svg.find("<svg").map_or(svg, |start| &svg[start..])
}
