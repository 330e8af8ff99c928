//! The report as plain HTML for readers that run no scripts: the question, the verdicts and one table of cells, without charts and
//! sorting. The page has it in `<noscript>`.

use std::fmt::Write;

use super::page::escape_text;
use super::{Report, ReportCell, ReportFactor, ReportInterval, ReportVerdict};

/// The plain form of a report.
pub(super) fn plain_html(report: &Report) -> String {
    format!("<h1>{}</h1>\n{}", escape_text(&report.title), plain_body(report))
}

/// The plain form without its heading.
pub(super) fn plain_body(report: &Report) -> String {
    let mut out = String::new();
    write_report(&mut out, report).expect("writing to a String cannot fail");
    out
}

fn write_report(out: &mut String, report: &Report) -> std::fmt::Result {
    writeln!(out, "<p>{}</p>", escape_text(&report.question))?;
    if !report.verdicts.is_empty() {
        writeln!(out, "<h2>Verdicts</h2>\n<ul>")?;
        for verdict in &report.verdicts {
            write_verdict(out, verdict)?;
        }
        writeln!(out, "</ul>")?;
    }
    for warning in &report.warnings {
        writeln!(out, "<p>Warning: {}</p>", escape_text(warning))?;
    }
    write_cells(out, report)?;
    writeln!(out, "<p>{}</p>", escape_text(&report.interval))?;
    writeln!(out, "<p>Run it again: <code>{}</code></p>", escape_text(&report.command))
}

fn write_verdict(out: &mut String, verdict: &ReportVerdict) -> std::fmt::Result {
    write!(out, "<li>{}", escape_text(&verdict.headline))?;
    if let Some(price) = &verdict.price {
        write!(out, "; {}", escape_text(price))?;
    }
    write!(out, " ({}", escape_text(&verdict.word))?;
    match (verdict.ratio, verdict.range) {
        (Some(ReportInterval { estimate, low, high }), Some(range)) => write!(
            out,
            "; {:.3} to {:.3} times, mean {estimate:.3}, interval {low:.3} to {high:.3}",
            range.low, range.high
        )?,
        (Some(ReportInterval { estimate, low, high }), None) => {
            write!(out, "; {estimate:.3} times, interval {low:.3} to {high:.3}")?;
        }
        (None, _) => {}
    }
    writeln!(out, ")</li>")
}

fn write_cells(out: &mut String, report: &Report) -> std::fmt::Result {
    writeln!(out, "<table>\n<caption>All cells</caption>\n<thead><tr>")?;
    for factor in &report.factors {
        writeln!(out, "<th scope=\"col\">{}</th>", column_heading(factor))?;
    }
    for column in has_scenes(report).then_some("whole run, s").into_iter().chain([
        "requests/s",
        "interval, requests/s",
        "MB/s",
        "mean response, ms",
        "99th percentile, ms",
    ]) {
        writeln!(out, "<th scope=\"col\">{column}</th>")?;
    }
    writeln!(out, "</tr></thead>\n<tbody>")?;
    for cell in &report.cells {
        write_cell(out, cell, has_scenes(report))?;
    }
    writeln!(out, "</tbody>\n</table>")
}

fn column_heading(factor: &ReportFactor) -> String {
    match &factor.unit {
        Some(unit) => escape_text(&format!("{}, {unit}", factor.name)),
        None => escape_text(&factor.name),
    }
}

/// True if the cells are scenes, whose table begins with how long they took.
fn has_scenes(report: &Report) -> bool {
    report.cells.iter().any(|cell| !cell.operations.is_empty())
}

fn write_cell(out: &mut String, cell: &ReportCell, is_scene: bool) -> std::fmt::Result {
    write!(out, "<tr>")?;
    for level in &cell.levels {
        write!(out, "<td>{}</td>", escape_text(level))?;
    }
    if is_scene {
        write!(out, "<td>{:.3}</td>", cell.elapsed_s.estimate)?;
    }
    let ReportInterval { estimate, low, high } = cell.iops;
    write!(out, "<td>{estimate:.1}</td><td>{low:.1} to {high:.1}</td>")?;
    let megabytes = cell.bytes_per_s.estimate / 1e6;
    writeln!(
        out,
        "<td>{megabytes:.2}</td><td>{:.2}</td><td>{:.2}</td></tr>",
        cell.response_ms.mean, cell.response_ms.p99
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenes_say_how_long_they_took() {
        let scene = ReportCell {
            elapsed_s: ReportInterval { estimate: 12.5, ..ReportInterval::default() },
            operations: vec![super::super::ReportOperations::default()],
            ..ReportCell::default()
        };
        let of = |cells: Vec<ReportCell>| plain_html(&Report { cells, ..Report::default() });
        let page = of(vec![scene]);
        assert!(page.contains("whole run, s") && page.contains("<td>12.500</td>"), "{page}");
        assert!(!of(vec![ReportCell::default()]).contains("whole run"));
    }

    #[test]
    fn figures_stand_in_the_table_with_their_digits() {
        let interval = |estimate: f64, low: f64, high: f64| ReportInterval { estimate, low, high };
        let mut cell = ReportCell { levels: vec!["8".to_owned()], ..ReportCell::default() };
        (cell.iops, cell.bytes_per_s) = (interval(123.456, 119.96, 127.04), interval(1_234_999.0, 0.0, 0.0));
        (cell.response_ms.mean, cell.response_ms.p99) = (8.126, 20.004);
        let verdict = |range| ReportVerdict {
            headline: "b is faster".to_owned(),
            word: "faster".to_owned(),
            ratio: Some(interval(1.234_56, 1.2, 1.269_96)),
            range,
            price: Some("but it loses 2 writes".to_owned()),
            ..ReportVerdict::default()
        };
        let range = crate::finding::RatioRange { low: 0.95, high: 1.5 };
        let report = Report {
            cells: vec![cell],
            verdicts: vec![
                verdict(None),
                verdict(Some(range)),
                ReportVerdict { ratio: None, price: None, ..verdict(None) },
            ],
            factors: vec![ReportFactor {
                name: "depth".to_owned(),
                unit: Some("requests".to_owned()),
                says: None,
                levels: vec!["8".to_owned()],
            }],
            ..Report::default()
        };
        let page = plain_html(&report);
        for part in [
            "<tr><td>8</td><td>123.5</td><td>120.0 to 127.0</td><td>1.23</td><td>8.13</td><td>20.00</td></tr>",
            "<li>b is faster; but it loses 2 writes (faster; 1.235 times, interval 1.200 to 1.270)</li>",
            "<li>b is faster; but it loses 2 writes (faster; 0.950 to 1.500 times, mean 1.235, interval 1.200 to 1.270)</li>",
            "<li>b is faster (faster)</li>",
            "<th scope=\"col\">depth, requests</th>",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
        assert!(!plain_html(&Report::default()).contains("<h2>Verdicts</h2>"));
    }

    #[test]
    fn names_from_files_stay_text() {
        let hostile = "</noscript><img src=x onerror=alert(1)>".to_owned();
        let report = Report {
            title: hostile.clone(),
            question: hostile.clone(),
            command: hostile.clone(),
            interval: hostile.clone(),
            verdicts: vec![ReportVerdict {
                headline: hostile.clone(),
                word: hostile.clone(),
                price: Some(hostile.clone()),
                ..ReportVerdict::default()
            }],
            factors: vec![ReportFactor {
                name: hostile.clone(),
                unit: Some(hostile.clone()),
                says: None,
                levels: vec![hostile.clone()],
            }],
            cells: vec![ReportCell { levels: vec![hostile.clone()], ..ReportCell::default() }],
            warnings: vec![hostile.clone()],
            ..Report::default()
        };
        let page = plain_html(&report);
        assert!(!page.contains("<img") && !page.contains("</noscript"));
        assert_eq!(page.matches("&lt;/noscript&gt;").count(), 11);
    }
}
