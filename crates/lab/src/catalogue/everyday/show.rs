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
    let heading = format!("Everyday work on {} against arithmetic from its figures\n\n", report.drive);
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
        let off = report.count(Verdict::Off) + report.count(Verdict::NoMiss);
        let figures = [report.rows.len(), report.count(Verdict::AsExpected), report.count(Verdict::KnownMiss), off];
        counts.add_row(std::iter::once(report.drive.clone()).chain(figures.map(|n| n.to_string())));
    }
    right(&mut counts, &[1, 2, 3, 4]);
    let mut text = format!("Everyday work against arithmetic from each drive's figures\n\n{counts}\n\n");
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
    let (known, wrong) = (count(Verdict::KnownMiss), count(Verdict::NoMiss));
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
            if row.off_percent == 0.0 { String::from("0") } else { format!("{:+.1}", row.off_percent) },
            word(row.verdict).to_owned(),
            letter(row.law).to_string(),
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
        Verdict::NoMiss => "NOT OFF",
    }
}

const fn letter(law: Law) -> char {
    (b'A' + law as u8) as char
}

/// The laws of `rows` in words, and why drives do otherwise.
fn below(rows: &[&Row]) -> String {
    let mut laws: Vec<Law> = rows.iter().map(|row| row.law).collect();
    laws.sort();
    laws.dedup();
    let mut text: String = laws.iter().map(|law| wrapped(&format!("{}  {}.", letter(*law), law.words()))).collect();
    for row in rows {
        if let (Some(why), Some(kind), Some(source)) = (&row.misses, row.kind, &row.source) {
            text += &wrapped(&format!("{}: {why} ({kind}: {source})", row.case));
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
