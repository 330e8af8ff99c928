//! The list of drives and one drive in full, as text.

use seekwise::drives::{DriveFile, DriveSheet, DriveSummary, rate_picture, seek_picture};
use seekwise::pictures::draw_terminal;

use crate::exit::CommandError;
use crate::screen::wrap_text;
use crate::tables::{Table, choose_columns, mark_dispensable, mark_figures, mark_unbroken, new_table};

/// The most columns of a curve, and its lines.
const CURVE_COLUMNS_AND_LINES: (usize, usize) = (108, 13);

/// The drives, a line each.
pub fn drives_table(drives: &[DriveSummary], columns: &[String], width: usize) -> Result<String, CommandError> {
    let headings = ["name", "GB", "rpm", "heads", "interface", "cache KiB", "seek ms", "outer MB/s", "year", "studies"];
    let mut table = new_table(headings);
    for drive in drives {
        table.add_row([
            drive.name.clone(),
            format!("{:.0}", drive.capacity_gb),
            format!("{:.0}", drive.rpm),
            drive.heads.to_string(),
            drive.interface.clone(),
            drive.cache_kib.to_string(),
            format!("{:.1}", drive.average_seek_ms),
            format!("{:.0}", drive.outer_mb_s),
            drive.year.map_or(String::new(), |year| year.to_string()),
            drive.studies.join(" "),
        ]);
    }
    mark_figures(&mut table, &["GB", "rpm", "heads", "cache KiB", "seek ms", "outer MB/s", "year"]);
    // Names that a reader looks for stay on one line.
    mark_unbroken(&mut table, &["name", "interface", "studies"]);
    mark_dispensable(&mut table, &["studies", "heads", "cache KiB", "interface", "outer MB/s"]);
    choose_columns(&mut [&mut table], columns)?;
    Ok(table.draw(width))
}

/// A drive in full on `width` columns.
pub fn format_drive(
    drive: &DriveFile,
    sheet: &DriveSheet,
    columns: &[String],
    width: usize,
) -> Result<String, CommandError> {
    let summary = &sheet.summary;
    let year = summary.year.map_or(String::new(), |year| format!(", {year}"));
    let title = format!("{}  ({})", summary.title, summary.name);
    let subtitle = format!("{}{year}, {:.1} GB", summary.interface, summary.capacity_gb);
    let (mut figures, mut checks) = (figures_table(drive, sheet), checks_table(drive, sheet));
    choose_columns(&mut [&mut figures, &mut checks], columns)?;
    let mut text = format!("{}\n{}\n\n", wrap_text(&title, width), wrap_text(&subtitle, width));
    text += &format!("{}\n\n{}\n\n", figures.draw(width), checks.draw(width));
    for (name, citation) in &drive.sources {
        text += &format!("{}\n", wrap_text(&format!("[{name}] {citation}"), width));
    }
    if let Some(fit) = &drive.fit {
        let (loads, draws) = (fit.seen.len(), fit.draws.len());
        let counts = format!("[fit] {loads} loads seen, {draws} draws: `seekwise run` on this profile prints a band");
        text += &format!("{}\n", wrap_text(&counts, width));
    }
    for picture in [seek_picture(sheet), rate_picture(sheet)] {
        let curve = draw_terminal(&picture, width.min(CURVE_COLUMNS_AND_LINES.0), CURVE_COLUMNS_AND_LINES.1);
        text += &format!("\n{}\n{curve}", wrap_text(&picture.caption(), width));
    }
    Ok(text)
}

/// Replaces the citations in a source by their short names, because a table would repeat them on every line.
fn abbreviate_source(drive: &DriveFile, source: &str) -> String {
    let names = drive.sources.iter();
    names.fold(source.to_owned(), |text, (name, citation)| text.replace(citation, &format!("[{name}]")))
}

fn figures_table(drive: &DriveFile, sheet: &DriveSheet) -> Table {
    let mut table = new_table(["figure", "value", "unit", "source"]);
    for figure in &sheet.figures {
        table.add_row([
            figure.key.trim_start_matches("drive."),
            &figure.value,
            figure.unit,
            &format!("{}: {}", figure.kind, abbreviate_source(drive, &figure.source)),
        ]);
    }
    table
}

fn checks_table(drive: &DriveFile, sheet: &DriveSheet) -> Table {
    let mut table = new_table(["check", "expected", "model", "unit", "result", "source"]);
    for check in &sheet.checks {
        let result = match (&check.misses, check.ok) {
            (None, true) => "met",
            (Some(_), true) => "known miss",
            _ => "NOT MET",
        };
        let mut source = format!("{}: {}", check.kind, abbreviate_source(drive, &check.source));
        if let Some(why) = &check.misses {
            source += &format!(" (missed: {why})");
        }
        table.add_row([
            check.what,
            &format_number(check.expected),
            &format_number(check.found),
            check.unit,
            result,
            &source,
        ]);
    }
    mark_figures(&mut table, &["expected", "model"]);
    table
}

/// Whole numbers in full, others with two decimals.
fn format_number(value: f64) -> String {
    match value.fract() == 0.0 && value >= 1000.0 {
        true => format!("{value:.0}"),
        false => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use seekwise::drives::{build_sheet, drive_summaries, load_drive, names};

    use super::*;
    use crate::screen;

    #[test]
    fn the_list_has_a_line_for_every_drive_at_any_width() {
        let drives = drive_summaries().unwrap();
        for width in [60, 80, 100, 200] {
            let text = drives_table(&drives, &[], width).unwrap();
            let lines = |name: &str| text.lines().filter(|line| line.split(' ').next() == Some(name)).count();
            assert!(names().all(|name| lines(name) == 1), "{text}");
            let below = usize::from(text.contains("Not shown"));
            assert!(text.lines().count() >= names().count() + 2 + below, "{text}");
            assert!(text.lines().all(|line| screen::text_columns(line) <= width), "{text}");
        }
        assert!(!drives_table(&drives, &[], 200).unwrap().contains("Not shown"));
    }

    #[test]
    fn a_sheet_says_where_each_figure_comes_from() {
        let drive = load_drive("atlas-10k-v-300").unwrap();
        let text = format_drive(&drive, &build_sheet(&drive).unwrap(), &[], 140).unwrap();
        for part in ["mechanics.rpm", "10001", "measured", "known miss", "Sustained rate", "position (GB)", "DIXtrac"] {
            assert!(text.contains(part), "{part}");
        }
    }
}
