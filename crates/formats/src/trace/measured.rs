//! Reads traces of requests with the response times measured on a real drive; a validation compares the model's times with them.
//!
//! There are two formats:
//! - **CSV** with a header: `lba`, `sectors` (512 bytes), `op` (`R` or `W`), `measured_response_ms`, and `think_ms` (the
//!   pause after the request's completion) or `arrival_ms` (its issue, the first at any value) or both. Columns may
//!   be in any order, and have other names or units (`columns`). Other columns are ignored with a warning,
//!   except for `cache_tag`, which traces carry for information.
//! - **DiskSim's validation traces**: one line per request without a header, `R|W TAG LBA SECTORS RESPONSE THINK`, times in
//!   microseconds; the tag (`Hit`, `Miss`, `Doub`, `Trip`) says how the drive served the request.
//!
//! Blank lines and lines that start with `#` are skipped. Missing values are derived: an arrival is the previous one
//! plus response and think time; a think time is the gap between a completion and the next arrival (zero if the next
//! arrived before the completion).

use seekwise_disk::time::Span;
use seekwise_work::workload::replay::ReplayRow;

use seekwise_drives::diagnostic::Diagnostic;

mod columns;
mod row;

use columns::TraceColumns;
use row::{LATEST_MS, LONGEST_MS, LinePosition, RawRow};

/// A measured trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeasuredTrace {
    /// The requests, in order of issue.
    pub rows: Vec<ReplayRow>,
    /// The measured response time of each request.
    pub measured: Vec<Span>,
    /// The line of each request in the file.
    pub lines: Vec<usize>,
    /// Warnings about what was ignored.
    pub warnings: Vec<Diagnostic>,
}

/// DiskSim's tags for how the drive served a request.
const TAGS: [&str; 4] = ["Hit", "Miss", "Doub", "Trip"];

/// Reads a trace in either format.
pub fn parse(file: &str, text: &str) -> Result<MeasuredTrace, Diagnostic> {
    // Some editors start a file with a byte-order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (rows, warnings) = match content_lines(text).next() {
        None => return Err(Diagnostic::at(file, 0, "the file contains no requests").with_expected("a trace")),
        Some((_, line)) if is_disksim_line(line) => (parse_disksim(file, text)?, Vec::new()),
        Some(_) => parse_csv(file, text)?,
    };
    if rows.is_empty() {
        return Err(Diagnostic::at(file, 0, "the file contains no requests").with_expected("a line for each request"));
    }
    Ok(MeasuredTrace { warnings, ..derive_missing_times(file, &rows)? })
}

/// The lines with content, and their numbers.
fn content_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

fn is_disksim_line(line: &str) -> bool {
    line.split_whitespace().next().is_some_and(|word| matches!(word, "R" | "W"))
}

/// The rows of DiskSim's validation format.
fn parse_disksim(file: &str, text: &str) -> Result<Vec<RawRow>, Diagnostic> {
    let mut rows = Vec::new();
    for (line, text) in content_lines(text) {
        let position = LinePosition { file, line };
        let words: Vec<&str> = text.split_whitespace().collect();
        let [op, tag, lba, sectors, response, think] = words[..] else {
            let fault = Diagnostic::at(file, line, format!("{} words", words.len()));
            return Err(fault.with_expected("R|W, tag, LBA, sectors, response, think time"));
        };
        if !TAGS.contains(&tag) {
            return Err(position.invalid_word("tag", tag, "Hit, Miss, Doub or Trip").suggest_nearest(tag, TAGS));
        }
        rows.push(RawRow {
            op: position.parse_op(op)?,
            lba: position.parse_lba(lba)?,
            sectors: position.parse_sectors(sectors)?,
            measured: position.parse_time("response", response, 1e-3, LONGEST_MS)?,
            think: Some(position.parse_time("think time", think, 1e-3, LATEST_MS)?),
            arrival: None,
            line,
        });
    }
    Ok(rows)
}

/// The rows of the CSV format, and warnings about columns.
fn parse_csv(file: &str, text: &str) -> Result<(Vec<RawRow>, Vec<Diagnostic>), Diagnostic> {
    // The csv reader sees only lines with content, so that the line of a record there is an index into `line_numbers`.
    let (line_numbers, content): (Vec<usize>, Vec<&str>) = content_lines(text).unzip();
    let line_number = |position: Option<&csv::Position>| {
        position.and_then(|position| line_numbers.get(position.line() as usize - 1)).copied().unwrap_or(0)
    };
    let unreadable = |error: &csv::Error| {
        Diagnostic::at(file, line_number(error.position()), error.to_string()).with_expected("comma-separated values")
    };
    let content = content.join("\n");
    let mut reader = csv::ReaderBuilder::new();
    let reader =
        reader.trim(csv::Trim::All).flexible(true).delimiter(find_delimiter(content.lines().next().unwrap_or("")));
    let mut reader = reader.from_reader(content.as_bytes());
    let header = reader.headers().map_err(|error| unreadable(&error))?.clone();
    let (columns, warnings) = TraceColumns::from_header(LinePosition { file, line: line_numbers[0] }, &header)?;
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| unreadable(&error))?;
        let position = LinePosition { file, line: line_number(record.position()) };
        if record.len() > header.len() {
            let fault = Diagnostic::at(file, position.line, format!("{} values", record.len()));
            return Err(fault.with_expected(format!("at most {}, as the header has", header.len())));
        }
        rows.push(columns.parse_row(position, &record)?);
    }
    Ok((rows, warnings))
}

/// The delimiter of a header: a comma, a semicolon or a tab.
fn find_delimiter(header: &str) -> u8 {
    [b',', b';', b'\t'].into_iter().find(|&mark| header.contains(char::from(mark))).unwrap_or(b',')
}

/// Derives missing arrivals and think times, and counts arrivals from the first.
fn derive_missing_times(file: &str, rows: &[RawRow]) -> Result<MeasuredTrace, Diagnostic> {
    let mut trace = MeasuredTrace::default();
    let mut next_arrival = Span::ZERO;
    let start = rows.first().and_then(|row| row.arrival).unwrap_or(Span::ZERO);
    for (index, row) in rows.iter().enumerate() {
        let last_arrival = trace.rows.last().map_or(Span::ZERO, |row: &ReplayRow| row.arrival);
        let arrival = match row.arrival {
            Some(at) if at < start || at - start < last_arrival => {
                return Err(Diagnostic::at(file, row.line, "earlier than the previous row").with_key("arrival_ms"));
            }
            Some(at) => at - start,
            None => next_arrival,
        };
        if arrival.nanos() as f64 > LATEST_MS * 1e6 {
            return Err(Diagnostic::at(file, row.line, "the trace is longer than a year").with_key("think_ms"));
        }
        let completion = arrival + row.measured;
        let following = rows.get(index + 1).and_then(|row| row.arrival);
        let following = following.map_or(completion, |at| at.saturating_sub(start));
        let think = row.think.unwrap_or(following.saturating_sub(completion));
        next_arrival = completion + think;
        trace.rows.push(ReplayRow { op: row.op, lba: row.lba, sectors: row.sectors, arrival, think });
        trace.measured.push(row.measured);
        trace.lines.push(row.line);
    }
    Ok(trace)
}

#[cfg(test)]
mod tests {
    use seekwise_disk::block::Op;

    use super::*;

    const CSV: &str = "op,lba,extra,sectors,measured_response_ms,think_ms\nR,100,x,8,5.25,10\n\nW,7,x,1,0.5,0\n";

    #[test]
    fn csv_columns_stand_in_any_order_and_arrivals_are_derived() {
        let trace = parse("t.csv", CSV).unwrap();
        assert_eq!(trace.lines, [2, 4]);
        assert_eq!(trace.measured, [Span::from_micros(5_250), Span::from_micros(500)]);
        assert_eq!(trace.rows[1].arrival, Span::from_micros(15_250));
        assert_eq!((trace.rows[0].op, trace.rows[0].lba, trace.rows[0].sectors), (Op::Read, 100, 8));
    }

    #[test]
    fn think_times_are_derived_from_arrivals() {
        let text = "lba,sectors,op,measured_response_ms,arrival_ms\n1,1,R,2,100\n2,1,R,9,105\n3,1,R,1,110\n";
        let trace = parse("t.csv", text).unwrap();
        let thinks: Vec<u64> = trace.rows.iter().map(|row| row.think.nanos()).collect();
        assert_eq!(thinks, [3_000_000, 0, 0]);
        assert_eq!(trace.rows[0].arrival, Span::ZERO);
    }

    #[test]
    fn other_names_units_and_marks_are_read_with_a_word_on_it() {
        let plain = parse("t.csv", CSV).unwrap();
        let read = |header: &str, rows: &str| {
            let trace = parse("t.csv", &format!("{header}\n{rows}\n")).unwrap();
            assert_eq!((&trace.rows, &trace.measured), (&plain.rows, &plain.measured), "{header}");
            trace.warnings.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let no_warnings: [&str; 0] = [];
        assert_eq!(
            read("OP,LBA,Sectors,Measured_Response_ms,Think ms", "R,100,8,5.25,10\nWrite,7,1,0.5,0"),
            no_warnings
        );
        assert_eq!(
            read("op;lba;sectors;measured_response_ms;think_ms", "read;100;8;5.25;10\nw;7;1;0.5;0"),
            no_warnings
        );
        let warnings =
            read("rw\tlbn\tsize_bytes\tResponse (us)\tthink_s", "R\t100\t4096\t5250\t0.01\nW\t7\t512\t500\t0");
        assert_eq!(warnings[0], "t.csv:1: `rw`: read as op");
        assert_eq!(warnings[3], "t.csv:1: `Response (us)`: read as measured_response_ms");
        assert_eq!(warnings.len(), 5);
        let both = read("op,lba,sectors,latency_us,measured_response_ms,think_ms", "R,100,8,9,5.25,10\nW,7,1,9,0.5,0");
        assert_eq!(both, ["t.csv:1: `latency_us`: this column is ignored"]);
        let error = |text: &str| parse("t.csv", text).unwrap_err().to_string();
        assert_eq!(
            error("op,lba,sectors,response,think_ms\nR,1,8,5,0\n"),
            "t.csv:1: `response`: the unit is missing; expected `response_ms`, `_us`, `_ns` or `_s`"
        );
        assert_eq!(
            error("op,lba,bytes,response_ms,think_ms\nR,1,700,5,0\n"),
            "t.csv:2: `sectors`: `700` is invalid; expected a multiple of 512 bytes"
        );
        assert_eq!(
            error("op,lba,sectors,response_ms,latency_us,think_ms\nR,1,7,5,5,0\n"),
            "t.csv:1: `latency_us`: duplicate column, also given as `response_ms`; expected each column once"
        );
    }

    #[test]
    fn disksims_form_is_in_microseconds() {
        let trace = parse("t.trace", "R Hit 100 8 5250.0 10000\nW Doub 7 1 500 0\n").unwrap();
        assert_eq!(trace.measured[0], Span::from_micros(5_250));
        assert_eq!(trace.rows[0].think, Span::from_micros(10_000));
        assert_eq!(trace.rows[1].op, Op::Write);
    }

    #[test]
    fn lines_are_counted_through_comments_and_blanks() {
        let text = format!("\u{feff}# head\r\n\n{}\n# a\n\n # b\nX,7,x,1,1,0\n", CSV.trim_end());
        let error = parse("t.csv", &text).unwrap_err().to_string();
        assert_eq!(error, "t.csv:10: `op`: `X` is invalid; expected R or W");
        assert_eq!(parse("t.csv", &text.replace("X,7", "R,7")).unwrap().lines, [4, 6, 10]);
        let error = parse("t.csv", &text.replace("lba", "LAB")).unwrap_err();
        assert_eq!(error.line, 3);
        assert_eq!(parse("t", "\u{feff}R Hit 1 8 10 10\n").unwrap().lines, [1]);
    }

    #[test]
    fn columns_that_are_not_read_are_named() {
        let header = "lba,sectors,op,measured_response_ms,arrival_ms,thnk_ms,cache_tag";
        let warnings = parse("t.csv", &format!("{header}\n1,1,R,2,100,7,Hit\n")).unwrap().warnings;
        assert_eq!(warnings.len(), 1);
        assert_eq!(warnings[0].to_string(), "t.csv:1: `thnk_ms`: this column is ignored; did you mean `think_ms`?");
    }

    #[test]
    fn errors_name_line_column_and_expectation() {
        let error = |text: &str| parse("t.csv", text).unwrap_err().to_string();
        assert_eq!(error(&CSV.replace(",5.25,10", "")), "t.csv:2: `measured_response_ms`: the line ends before it");
        assert_eq!(error(&CSV.replace("W,7", "X,7")), "t.csv:4: `op`: `X` is invalid; expected R or W");
        assert_eq!(
            error(&CSV.replace("think_ms", "thnk_ms")),
            "t.csv:1: `think_ms`: this column is missing; expected a header with lba, sectors, op, \
             measured_response_ms, think_ms or arrival_ms; did you mean `thnk_ms`?"
        );
        assert_eq!(
            error("R Hot 1 8 10 10\n"),
            "t.csv:1: `tag`: `Hot` is invalid; expected Hit, Miss, Doub or Trip; did you mean `Hit`?"
        );
        assert_eq!(
            error(&CSV.replace("op,", "lba,")),
            "t.csv:1: `lba`: duplicate column, also given as `lba`; expected each column once"
        );
        assert_eq!(
            error(&CSV.replace("5.25,10", "5.25,10,3")),
            "t.csv:2: 7 values; expected at most 6, as the header has"
        );
        let pause = "R Hit 1 8 10 31000000000000\n";
        assert_eq!(error(&pause.repeat(3)), "t.csv:3: `think_ms`: the trace is longer than a year");
        assert_eq!(error("\n# nothing\n"), "t.csv: the file contains no requests; expected a trace");
    }
}
