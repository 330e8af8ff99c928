//! The comparison as text that fits 80 columns: all rows of one drive, or a line a drive and the rows that are off.

use comfy_table::{ContentArrangement, Table};

use super::arithmetic::Law;
use super::{Report, Row, Verdict};
use crate::catalogue::show::{RULED, right};

/// The width of running text.
const WIDTH: usize = 80;

/// One drive in full.
pub fn one(report: &Report) -> String {
    let rows = || report.rows.iter();
    let heading = format!("{}: everyday work against arithmetic\n\n", report.drive);
    heading
        + &format!("{}\n\n", table(rows()))
        + &below(&rows().collect::<Vec<_>>())
        + &total(std::slice::from_ref(report))
}

/// Many drives: how many rows came out how, and those that did not come out as expected.
pub fn many(reports: &[Report]) -> String {
    let mut counts = ruled();
    counts.set_header(["drive", "cases", "as expected", "known misses", "off"]);
    for report in reports {
        let off = report.count(Verdict::Off) + report.count(Verdict::NotOff);
        let figures = [report.rows.len(), report.count(Verdict::AsExpected), report.count(Verdict::KnownMiss), off];
        counts.add_row(std::iter::once(report.drive.clone()).chain(figures.map(|n| n.to_string())));
    }
    right(&mut counts, &[1, 2, 3, 4]);
    let mut text = format!("Everyday work against arithmetic from the drives' figures\n\n{counts}\n\n");
    let mut shown = Vec::new();
    for report in reports {
        let otherwise: Vec<&Row> = report.rows.iter().filter(|row| row.verdict != Verdict::AsExpected).collect();
        if !otherwise.is_empty() {
            text += &format!("{}\n{}\n\n", report.drive, table(otherwise.iter().copied()));
            shown.extend(otherwise);
        }
    }
    text + &below(&shown) + &total(reports)
}

fn total(reports: &[Report]) -> String {
    let all: usize = reports.iter().map(|report| report.rows.len()).sum();
    let count = |verdict| reports.iter().map(|report| report.count(verdict)).sum::<usize>();
    let (known, wrong) = (count(Verdict::KnownMiss), count(Verdict::NotOff));
    let mut text = format!("{} of {all} cases are off.", count(Verdict::Off));
    if known > 0 {
        text += &format!(" {known} more are, as the drives' profiles say.");
    }
    if wrong > 0 {
        text += &format!(" {wrong} are not, though the drives' profiles say so.");
    }
    text + "\n"
}

fn table<'a>(rows: impl Iterator<Item = &'a Row>) -> Table {
    let mut table = ruled();
    table.set_header(["case", "expected", "found", "off %", "", "law"]);
    let mut work = "";
    for row in rows {
        let (what, how) = row.case.split_once(", ").unwrap_or((row.case, ""));
        if what != work {
            table.add_row([format!("{what}, {}", row.unit)]);
            work = what;
        }
        table.add_row([
            format!("  {how}"),
            expected(row),
            number(row.found),
            off(row),
            word(row.verdict).to_owned(),
            row.law.letter().to_string(),
        ]);
    }
    right(&mut table, &[1, 2, 3]);
    table
}

fn ruled() -> Table {
    let mut table = Table::new();
    table.load_style(RULED).set_content_arrangement(ContentArrangement::Disabled);
    table
}

fn expected(row: &Row) -> String {
    match (number(row.low), number(row.high)) {
        (low, high) if low == high => low,
        (low, high) => format!("{low}–{high}"),
    }
}

/// How far off; rows with bounds are mostly inside of them.
fn off(row: &Row) -> String {
    if row.off_percent == 0.0 { "inside".to_owned() } else { format!("{:+.1}", row.off_percent) }
}

/// Three figures at least.
fn number(value: f64) -> String {
    match value {
        _ if value < 10.0 => format!("{value:.2}"),
        _ if value < 100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

const fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::AsExpected => "",
        Verdict::KnownMiss => "known",
        Verdict::Off => "OFF",
        Verdict::NotOff => "NOT OFF",
    }
}

/// The laws of `rows` in words, and why drives do otherwise.
fn below(rows: &[&Row]) -> String {
    let mut laws: Vec<Law> = rows.iter().map(|row| row.law).collect();
    laws.sort();
    laws.dedup();
    let mut text: String = laws.iter().map(|law| wrapped(&format!("{}  {}.", law.letter(), law.words()))).collect();
    for row in rows {
        if let (Some(why), Some(kind), Some(source)) = (&row.misses, row.kind, &row.source) {
            text += &wrapped(&format!("{}: {why} ({kind}: {source}).", row.case));
        }
    }
    text + "\n"
}

/// A paragraph in lines, those behind the first set in.
fn wrapped(text: &str) -> String {
    let mut lines = String::new();
    let mut length = 0;
    for word in text.split(' ') {
        let width = word.chars().count() + 1;
        if length > 0 && length + width > WIDTH {
            lines += "\n   ";
            length = 3;
        } else if length > 0 {
            lines.push(' ');
        }
        lines += word;
        length += width;
    }
    lines + "\n"
}

#[cfg(test)]
mod tests {
    use super::super::arithmetic::Law;
    use super::*;
    use seekwise_formats::profile::everyday::CASES;
    use seekwise_formats::profile::figure::Kind;

    /// A row of each case, with the longest figures there may be.
    fn report() -> Report {
        let row = |(index, case): (usize, &&'static str)| Row {
            case,
            low: 1234.5,
            high: 12345.6,
            found: 0.123,
            unit: "MB/s",
            off_percent: -99.96,
            tolerance_percent: 3.0,
            law: Law::ALL[index % Law::ALL.len()],
            verdict: Verdict::NotOff,
            misses: Some("it was made so on a Monday, and nobody knows why any more".to_owned()),
            kind: Some(Kind::Inferred),
            source: Some("a book on drives that are made on Mondays, second edition".to_owned()),
            job: String::new(),
            set: None,
        };
        Report {
            drive: "a-drive-with-a-rather-long-name".to_owned(),
            rows: CASES.iter().enumerate().map(row).collect(),
        }
    }

    #[test]
    fn everything_fits_80_columns() {
        let report = report();
        for text in [one(&report), many(&[report.clone(), report])] {
            let long: Vec<&str> = text.lines().filter(|line| line.trim_end().chars().count() > WIDTH).collect();
            assert!(long.is_empty(), "{long:?}");
            assert!(Law::ALL.iter().all(|law| text.contains(&format!("\n{}  ", law.letter()))));
        }
    }

    #[test]
    fn the_last_line_counts() {
        let mut report = report();
        report.rows.truncate(4);
        report.rows[0].verdict = Verdict::AsExpected;
        report.rows[1].verdict = Verdict::KnownMiss;
        report.rows[2].verdict = Verdict::Off;
        let said = "1 of 4 cases are off. 1 more are, as the drives' profiles say. 1 are not, though the drives' profiles say so.";
        assert_eq!(one(&report).lines().last(), Some(said));
        report.rows.truncate(1);
        assert_eq!(one(&report).lines().last(), Some("0 of 1 cases are off."));
    }
}
