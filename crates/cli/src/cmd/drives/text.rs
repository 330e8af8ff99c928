//! The list of drives and one drive in full, as text.

use seekwise_formats::profile::DriveFile;
use seekwise_lab::catalogue::show::{DriveSheet, DriveSummary, rate_picture, seek_picture};
use seekwise_lab::plot::terminal;

use crate::exit::CommandError;
use crate::screen::wrapped;
use crate::tables::{Table, choose, dispensable, figures, table, unbroken};

/// Columns of a curve at most, and its lines.
const CURVE: (usize, usize) = (108, 13);

/// The drives, a line each.
pub fn list(drives: &[DriveSummary], columns: &[String], width: usize) -> Result<String, CommandError> {
    let headings = ["name", "GB", "rpm", "heads", "interface", "cache KiB", "seek ms", "outer MB/s", "year", "studies"];
    let mut table = table(headings);
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
    figures(&mut table, &["GB", "rpm", "heads", "cache KiB", "seek ms", "outer MB/s", "year"]);
    // Names that a reader looks for stay on one line.
    unbroken(&mut table, &["name", "interface", "studies"]);
    dispensable(&mut table, &["studies", "heads", "cache KiB", "interface", "outer MB/s"]);
    choose(&mut [&mut table], columns)?;
    Ok(table.draw(width))
}

/// A drive in full on `width` columns.
pub fn show(drive: &DriveFile, sheet: &DriveSheet, columns: &[String], width: usize) -> Result<String, CommandError> {
    let summary = &sheet.summary;
    let year = summary.year.map_or(String::new(), |year| format!(", {year}"));
    let title = format!("{}  ({})", summary.title, summary.name);
    let what = format!("{}{year}, {:.1} GB", summary.interface, summary.capacity_gb);
    let (mut figures, mut checks) = (all_figures(drive, sheet), checks(drive, sheet));
    choose(&mut [&mut figures, &mut checks], columns)?;
    let mut text = format!("{}\n{}\n\n", wrapped(&title, width), wrapped(&what, width));
    text += &format!("{}\n\n{}\n\n", figures.draw(width), checks.draw(width));
    for (name, citation) in &drive.sources {
        text += &format!("{}\n", wrapped(&format!("[{name}] {citation}"), width));
    }
    for picture in [seek_picture(sheet), rate_picture(sheet)] {
        let curve = terminal(&picture, width.min(CURVE.0), CURVE.1);
        text += &format!("\n{}\n{curve}", wrapped(&picture.caption(), width));
    }
    Ok(text)
}

/// Replaces the citations in a source by their short names: in a table they would repeat on every line.
fn short(drive: &DriveFile, source: &str) -> String {
    let names = drive.sources.iter();
    names.fold(source.to_owned(), |text, (name, citation)| text.replace(citation, &format!("[{name}]")))
}

fn all_figures(drive: &DriveFile, sheet: &DriveSheet) -> Table {
    let mut table = table(["figure", "value", "unit", "source"]);
    for figure in &sheet.figures {
        table.add_row([
            figure.key.trim_start_matches("drive."),
            &figure.value,
            figure.unit,
            &format!("{}: {}", figure.kind, short(drive, &figure.source)),
        ]);
    }
    table
}

fn checks(drive: &DriveFile, sheet: &DriveSheet) -> Table {
    let mut table = table(["check", "expected", "model", "unit", "result", "source"]);
    for check in &sheet.checks {
        let result = match (&check.misses, check.ok) {
            (None, true) => "met",
            (Some(_), true) => "known miss",
            _ => "NOT MET",
        };
        let mut source = format!("{}: {}", check.kind, short(drive, &check.source));
        if let Some(why) = &check.misses {
            source += &format!(" (missed: {why})");
        }
        table.add_row([check.what, &number(check.expected), &number(check.found), check.unit, result, &source]);
    }
    figures(&mut table, &["expected", "model"]);
    table
}

/// Whole numbers in full, others with two decimals.
fn number(value: f64) -> String {
    match value.fract() == 0.0 && value >= 1000.0 {
        true => format!("{value:.0}"),
        false => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use seekwise_lab::catalogue::show::{sheet, summaries};
    use seekwise_lab::catalogue::{load, names};

    use super::*;
    use crate::screen;

    #[test]
    fn the_list_has_a_line_for_every_drive_at_any_width() {
        let drives = summaries().unwrap();
        for width in [60, 80, 100, 200] {
            let text = list(&drives, &[], width).unwrap();
            let lines = |name: &str| text.lines().filter(|line| line.split(' ').next() == Some(name)).count();
            assert!(names().all(|name| lines(name) == 1), "{text}");
            let below = usize::from(text.contains("Not shown"));
            assert!(text.lines().count() >= names().count() + 2 + below, "{text}");
            assert!(text.lines().all(|line| screen::columns(line) <= width), "{text}");
        }
        assert!(!list(&drives, &[], 200).unwrap().contains("Not shown"));
    }

    #[test]
    fn a_sheet_says_where_each_figure_comes_from() {
        let drive = load("atlas-10k-v-300").unwrap();
        let text = show(&drive, &sheet(&drive).unwrap(), &[], 140).unwrap();
        for part in ["mechanics.rpm", "10001", "measured", "known miss", "Sustained rate", "position (GB)", "DIXtrac"] {
            assert!(text.contains(part), "{part}");
        }
    }
}
