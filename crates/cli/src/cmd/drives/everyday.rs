//! `seekwise drives --check` as text: simulated everyday work beside the values that follow from the drive's figures. One drive is
//! shown with all rows; of several drives, each has a line of counts, followed by its rows that are not as expected.

use seekwise::drives::{CaseVerdict, EverydayReport, EverydayRow, RateLaw};

use crate::exit::CommandError;
use crate::screen;
use crate::tables::{self, Table, choose_columns, mark_figures_from};

/// The most columns of running text, as in docs/everyday.md.
const TEXT_COLUMNS: usize = 80;

/// A drive in full.
pub fn format_drive(report: &EverydayReport, columns: &[String], width: usize) -> Result<String, CommandError> {
    let mut rows = rows_table(report.rows.iter());
    choose_columns(&mut [&mut rows], columns)?;
    let heading = screen::wrap_text(&format!("{}: everyday work against arithmetic", report.drive), width) + "\n\n";
    let all: Vec<&EverydayRow> = report.rows.iter().collect();
    Ok(heading
        + &rows.draw(width)
        + "\n\n"
        + &laws_and_reasons(&all, width)
        + &counts_line(std::slice::from_ref(report), width))
}

/// Several drives: counts of rows by verdict, and the rows that are not as expected.
pub fn format_drives(reports: &[EverydayReport], columns: &[String], width: usize) -> Result<String, CommandError> {
    let mut counts = tables::new_table(["drive", "cases", "as expected", "known misses", "off"]);
    for report in reports {
        let off = report.count_rows(CaseVerdict::Off) + report.count_rows(CaseVerdict::NotOff);
        let figures = [
            report.rows.len(),
            report.count_rows(CaseVerdict::AsExpected),
            report.count_rows(CaseVerdict::KnownMiss),
            off,
        ];
        counts.add_row(std::iter::once(report.drive.clone()).chain(figures.map(|count| count.to_string())));
    }
    mark_figures_from(&mut counts, 1);
    let mut parts = Vec::new();
    for report in reports {
        let rows: Vec<&EverydayRow> = report.rows.iter().filter(|row| row.verdict != CaseVerdict::AsExpected).collect();
        if !rows.is_empty() {
            parts.push((report.drive.as_str(), rows_table(rows.iter().copied()), rows));
        }
    }
    let mut all_tables: Vec<&mut Table> = parts.iter_mut().map(|part| &mut part.1).collect();
    all_tables.push(&mut counts);
    choose_columns(&mut all_tables, columns)?;
    let mut text = format!("Everyday work against arithmetic from the drives' figures\n\n{}\n\n", counts.draw(width));
    let mut shown_rows = Vec::new();
    for (drive, table, rows) in parts {
        text += &format!("{drive}\n{}\n\n", table.draw(width));
        shown_rows.extend(rows);
    }
    Ok(text + &laws_and_reasons(&shown_rows, width) + &counts_line(reports, width))
}

fn counts_line(reports: &[EverydayReport], width: usize) -> String {
    let all: usize = reports.iter().map(|report| report.rows.len()).sum();
    let count = |verdict| reports.iter().map(|report| report.count_rows(verdict)).sum::<usize>();
    let (known_misses, not_off) = (count(CaseVerdict::KnownMiss), count(CaseVerdict::NotOff));
    let mut text = format!("{} of {all} cases are off.", count(CaseVerdict::Off));
    if known_misses > 0 {
        text += &format!(" {known_misses} more are, as the drives' profiles say.");
    }
    if not_off > 0 {
        text += &format!(" {not_off} are not, though the drives' profiles say so.");
    }
    screen::wrap_text(&text, width) + "\n"
}

fn rows_table<'a>(rows: impl Iterator<Item = &'a EverydayRow>) -> Table {
    let mut table = tables::new_table(["case", "expected", "found", "off %", "verdict", "law"]);
    let mut work = "";
    for row in rows {
        // A case is named "WORK, VARIANT"; the work has a line above its variants.
        let (case_work, variant) = row.case.split_once(", ").unwrap_or((row.case, ""));
        if case_work != work {
            table.add_row([format!("{case_work}, {}", row.unit)]);
            work = case_work;
        }
        table.add_row([
            format!("  {variant}"),
            expected_range(row),
            format_three_digits(row.found),
            deviation_text(row),
            verdict_word(row.verdict).to_owned(),
            row.law.table_letter().to_string(),
        ]);
    }
    tables::mark_figures(&mut table, &["expected", "found", "off %"]);
    table
}

fn expected_range(row: &EverydayRow) -> String {
    match (format_three_digits(row.low), format_three_digits(row.high)) {
        (low, high) if low == high => low,
        (low, high) => format!("{low}–{high}"),
    }
}

/// The deviation in percent; "inside" for a value within its bounds.
fn deviation_text(row: &EverydayRow) -> String {
    if row.off_percent == 0.0 { "inside".to_owned() } else { format!("{:+.1}", row.off_percent) }
}

/// Formats a number with at least three significant digits.
fn format_three_digits(value: f64) -> String {
    match value {
        _ if value < 10.0 => format!("{value:.2}"),
        _ if value < 100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

const fn verdict_word(verdict: CaseVerdict) -> &'static str {
    match verdict {
        CaseVerdict::AsExpected => "",
        CaseVerdict::KnownMiss => "known",
        CaseVerdict::Off => "OFF",
        CaseVerdict::NotOff => "NOT OFF",
    }
}

/// The laws of `rows` in words, and the reasons of misses.
fn laws_and_reasons(rows: &[&EverydayRow], width: usize) -> String {
    let mut laws: Vec<RateLaw> = rows.iter().map(|row| row.law).collect();
    laws.sort();
    laws.dedup();
    let mut lines: Vec<String> = laws.iter().map(|law| format!("{}  {}.", law.table_letter(), law.words())).collect();
    for row in rows {
        if let (Some(why), Some(kind), Some(source)) = (&row.misses, row.kind, &row.source) {
            lines.push(format!("{}: {why} ({kind}: {source}).", row.case));
        }
    }
    let lines = lines.iter().flat_map(|line| screen::wrap_line(line, width.min(TEXT_COLUMNS), 3));
    lines.collect::<Vec<_>>().join("\n") + "\n\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise::drives::CASES;
    use seekwise::keys::FigureOrigin;

    /// A row of each case, with the longest figures there may be.
    fn report() -> EverydayReport {
        let row = |(index, case): (usize, &&'static str)| EverydayRow {
            case,
            low: 1234.5,
            high: 12345.6,
            found: 0.123,
            unit: "MB/s",
            off_percent: -99.96,
            tolerance_percent: 3.0,
            law: RateLaw::ALL[index % RateLaw::ALL.len()],
            verdict: CaseVerdict::NotOff,
            misses: Some("it was made so on a Monday, and nobody knows why any more".to_owned()),
            kind: Some(FigureOrigin::Inferred),
            source: Some("a book on drives that are made on Mondays, second edition".to_owned()),
            job: String::new(),
            set: None,
        };
        EverydayReport {
            drive: "a-drive-with-a-rather-long-name".to_owned(),
            rows: CASES.iter().enumerate().map(row).collect(),
        }
    }

    #[test]
    fn everything_fits() {
        let report = report();
        for width in [60, 80, 200] {
            let all = [report.clone(), report.clone()];
            for text in [format_drive(&report, &[], width).unwrap(), format_drives(&all, &[], width).unwrap()] {
                let long: Vec<&str> = text.lines().filter(|line| screen::text_columns(line) > width).collect();
                assert!(long.is_empty(), "{long:?}");
                assert!(RateLaw::ALL.iter().all(|law| text.contains(&format!("\n{}  ", law.table_letter()))));
            }
        }
    }

    #[test]
    fn the_last_line_counts() {
        let mut report = report();
        report.rows.truncate(4);
        report.rows[0].verdict = CaseVerdict::AsExpected;
        report.rows[1].verdict = CaseVerdict::KnownMiss;
        report.rows[2].verdict = CaseVerdict::Off;
        let expected = "1 of 4 cases are off. 1 more are, as the drives' profiles say. 1 are not, though the drives' profiles say so.";
        assert_eq!(format_drive(&report, &[], 200).unwrap().lines().last(), Some(expected));
        report.rows.truncate(1);
        assert_eq!(format_drive(&report, &[], 200).unwrap().lines().last(), Some("0 of 1 cases are off."));
    }
}
