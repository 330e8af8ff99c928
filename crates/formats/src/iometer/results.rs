//! Reads Iometer's results.csv of any version by its captions, the lines that start with an apostrophe.
//!
//! Iometer appends to the file, so every block may repeat. Columns differ between versions; a column this reader does not
//! know is left out. Throughput becomes bytes a second: columns named only `MBps` (2003 to 2008) count MiB. Times are
//! milliseconds, as in the file.

use std::collections::BTreeMap;

use seekwise_disk::time::Span;
use seekwise_drives::diagnostic::Diagnostic;
use seekwise_work::workload::{AccessLine, AccessSpec};

use super::lines::{decode_text, split_fields};

/// Bytes of a MiB: the unit of `MiBps` columns, and of `MBps` columns before 1.1.
const MIB: f64 = 1_048_576.0;
/// Bytes of an MB, the unit of `MBps (Decimal)`.
const MB: f64 = 1_000_000.0;

/// A test of a run: one access specification on one set of workers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IometerTest {
    /// Description of the run, from its head.
    pub description: String,
    /// Version of the program, from the run's head.
    pub version: String,
    /// Time stamp before the test.
    pub started: Option<String>,
    /// Time stamp after the test, ramp included.
    pub ended: Option<String>,
    /// The specifications the test used.
    pub specs: Vec<AccessSpec>,
    /// The results: all, each manager, processor, worker and target.
    pub rows: Vec<IometerRow>,
}

/// The part of the run that a row is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ResultSubject {
    /// All managers together.
    #[default]
    All,
    Manager,
    /// A processor; only the processor's columns are filled.
    Processor,
    Worker,
    /// A disk of a worker.
    Disk,
    /// Another target, by the file's word.
    Other(String),
}

/// Total, reads and writes of a figure. `None`: the file has no such column or no number in it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReadWriteSplit {
    /// All requests.
    pub total: Option<f64>,
    pub read: Option<f64>,
    pub write: Option<f64>,
}

/// A row of results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IometerRow {
    /// The line in the file.
    pub line: usize,
    /// The row's own time stamp, in files of instantaneous results.
    pub time_stamp: Option<String>,
    /// The part of the run that the row is about.
    pub subject: ResultSubject,
    /// Name of the subject.
    pub name: String,
    /// Name of the access specification.
    pub spec: String,
    /// Managers in the subject; workers and disks follow.
    pub managers: Option<u64>,
    pub workers: Option<u64>,
    pub disks: Option<u64>,
    /// Requests a second.
    pub iops: ReadWriteSplit,
    pub bytes_per_second: ReadWriteSplit,
    /// Mean response, ms.
    pub mean_ms: ReadWriteSplit,
    /// Largest response, ms.
    pub max_ms: ReadWriteSplit,
    pub errors: ReadWriteSplit,
    /// Bytes moved (no total in the file).
    pub bytes: ReadWriteSplit,
    /// Requests done (no total in the file).
    pub ios: ReadWriteSplit,
    /// First sector in use.
    pub starting_sector: Option<u64>,
    /// Sectors in use; 0: all.
    pub maximum_size: Option<u64>,
    /// Requests in flight.
    pub queue_depth: Option<u64>,
    /// Processor time, percent of all processors.
    pub cpu_percent: Option<f64>,
    pub interrupts_per_second: Option<f64>,
    /// Requests a second for each percent of processor time.
    pub cpu_effectiveness: Option<f64>,
    /// Responses by time (files of 1.1): lower edge in µs and count. The bin captioned "2 to 4.7 s" ends at 4 s.
    pub histogram: Vec<(u64, u64)>,
}

/// The histogram's captions in small letters and their lower edges in µs.
const HISTOGRAM_BINS: [(&str, u64); 21] = [
    ("0 to 50 us", 0),
    ("50 to 100 us", 50),
    ("100 to 200 us", 100),
    ("200 to 500 us", 200),
    ("0.5 to 1 ms", 500),
    ("1 to 2 ms", 1000),
    ("2 to 5 ms", 2000),
    ("5 to 10 ms", 5000),
    ("10 to 15 ms", 10_000),
    ("15 to 20 ms", 15_000),
    ("20 to 30 ms", 20_000),
    ("30 to 50 ms", 30_000),
    ("50 to 100 ms", 50_000),
    ("100 to 200 ms", 100_000),
    ("200 to 500 ms", 200_000),
    ("0.5 to 1 s", 500_000),
    ("1 to 2 s", 1_000_000),
    ("2 to 4.7 s", 2_000_000),
    ("4.7 to 5 s", 4_000_000),
    ("5 to 10 s", 5_000_000),
    (">= 10 s", 10_000_000),
];

/// Reads results: the tests in the order of the file, and warnings about rows that do not fit their caption and figures that
/// are no numbers. `file` is the name for diagnostics; `bytes` are UTF-8 or Latin-1.
///
/// # Errors
/// A file without a results caption.
pub fn parse(file: &str, bytes: &[u8]) -> Result<(Vec<IometerTest>, Vec<Diagnostic>), Vec<Diagnostic>> {
    let text = decode_text(bytes);
    let mut reader = ResultsReader { file, ..ResultsReader::default() };
    for (index, line) in text.lines().enumerate() {
        reader.read_line(index + 1, line.trim());
    }
    reader.close_test();
    if !reader.has_results_caption {
        let error = Diagnostic::at(file, 0, "not an Iometer result: it has no results caption");
        return Err(vec![error.with_expected("a line that begins with 'Target Type,Target Name")]);
    }
    Ok((reader.tests, reader.warnings))
}

/// Content of the next line that is not a caption; the caption before it decides.
#[derive(Clone, Copy, Default, PartialEq)]
enum NextLine {
    #[default]
    Nothing,
    Description,
    Version,
    TimeStamp,
    SpecName,
    SpecLine,
    Row,
}

#[derive(Default)]
struct ResultsReader<'a> {
    file: &'a str,
    next_line: NextLine,
    /// Index of each column by its caption in small letters.
    columns: BTreeMap<String, usize>,
    has_results_caption: bool,
    test: IometerTest,
    tests: Vec<IometerTest>,
    warnings: Vec<Diagnostic>,
}

impl ResultsReader<'_> {
    fn warn(&mut self, line: usize, message: impl Into<String>) {
        self.warnings.push(Diagnostic::at(self.file, line, message));
    }

    fn read_line(&mut self, line_number: usize, text: &str) {
        if let Some(caption) = text.strip_prefix('\'') {
            return self.read_caption(caption.trim());
        }
        if text.is_empty() && self.next_line != NextLine::Description {
            return;
        }
        match self.next_line {
            NextLine::Description => {
                self.close_test();
                self.test = IometerTest::default();
                self.test.description = text.split_once(',').map_or(text, |(_, text)| text).to_owned();
            }
            NextLine::Version => self.test.version = text.to_owned(),
            NextLine::TimeStamp => self.read_time_stamp(text),
            NextLine::SpecName => {
                let name = text.rsplit_once(',').map_or(text, |(name, _)| name).trim().to_owned();
                self.test.specs.push(AccessSpec { name, lines: Vec::new() });
            }
            NextLine::SpecLine => return self.read_spec_line(line_number, text),
            NextLine::Row => return self.read_row(line_number, text),
            NextLine::Nothing => {
                self.warn(line_number, format!("`{}` is ignored", text.chars().take(40).collect::<String>()))
            }
        }
        self.next_line = NextLine::Nothing;
    }

    fn read_caption(&mut self, caption: &str) {
        let words = caption.to_lowercase();
        let starts = |start: &str| words.starts_with(start);
        self.next_line = if starts("test type") {
            NextLine::Description
        } else if starts("version") {
            NextLine::Version
        } else if starts("time stamp") {
            NextLine::TimeStamp
        } else if starts("access specification name") {
            NextLine::SpecName
        } else if starts("size") {
            NextLine::SpecLine
        } else if starts("target type") || starts("timestamp,") {
            self.has_results_caption = true;
            let names = words.split(',').enumerate().map(|(index, name)| (name.trim().to_owned(), index));
            self.columns = names.filter(|(name, _)| !name.is_empty()).collect();
            NextLine::Row
        } else if starts("access specifications") && !self.test.rows.is_empty() {
            // Here begins the next test of the same run.
            self.close_test();
            NextLine::Nothing
        } else {
            NextLine::Nothing
        };
    }

    /// Keeps the time of the test's end if the test has rows, otherwise of its start.
    fn read_time_stamp(&mut self, text: &str) {
        if self.test.rows.is_empty() {
            self.test.started = Some(text.to_owned());
        } else {
            self.test.ended = Some(text.to_owned());
            self.close_test();
        }
    }

    /// Adds the test to the tests if it has rows. The next test of the run starts with the same description and version.
    fn close_test(&mut self) {
        if self.test.rows.is_empty() {
            return;
        }
        let next_test = IometerTest {
            description: self.test.description.clone(),
            version: self.test.version.clone(),
            started: self.test.ended.clone(),
            ..IometerTest::default()
        };
        self.tests.push(std::mem::replace(&mut self.test, next_test));
    }

    fn read_spec_line(&mut self, line_number: usize, text: &str) {
        let parts: Vec<Option<u32>> = split_fields(text).into_iter().map(|part| part.parse().ok()).collect();
        let field = |index: usize| parts.get(index).copied().flatten();
        let percent = |index: usize| field(index).filter(|&percent| percent <= 100).map(|percent| percent as u8);
        let line = match (field(0), percent(1), percent(2), percent(3)) {
            (Some(size), Some(share), Some(reads), Some(random)) => AccessLine {
                size,
                share,
                reads,
                random,
                delay: Span::from_millis(u64::from(field(4).unwrap_or(0))),
                burst: field(5).unwrap_or(1),
                align: field(6).unwrap_or(0),
                reply: field(7).unwrap_or(0),
            },
            _ => return self.warn(line_number, "not a line of an access specification"),
        };
        match self.test.specs.last_mut() {
            Some(spec) => spec.lines.push(line),
            None => self.warn(line_number, "this line belongs to no access specification"),
        }
    }

    fn read_row(&mut self, line_number: usize, text: &str) {
        let values: Vec<&str> = text.split(',').map(str::trim).collect();
        if values.len() < 2 {
            return self.warn(line_number, format!("`{}` is ignored", text.chars().take(40).collect::<String>()));
        }
        let mut cells = RowCells { columns: &self.columns, values: &values, not_numbers: Vec::new() };
        let subject = parse_subject(cells.cell_text("target type"));
        let fits_caption = values.len() == self.columns.len()
            || values.len() == self.columns.len() + 1 && values.last().is_some_and(|last| last.is_empty());
        let has_figures = values.iter().skip(2).any(|value| !value.is_empty());
        // Old versions write the wrong number of commas in a processor's row, so its figures stand in wrong columns.
        let figures_misplaced = subject == ResultSubject::Processor && !fits_caption && has_figures;
        let row = if figures_misplaced {
            IometerRow {
                line: line_number,
                subject,
                name: cells.cell_text("target name").to_owned(),
                ..IometerRow::default()
            }
        } else {
            cells.build_row(line_number, subject)
        };
        let not_numbers = cells.not_numbers.join(", ");
        if figures_misplaced {
            self.warn(line_number, "this processor's row does not match the caption; its figures are ignored");
        }
        if !not_numbers.is_empty() {
            self.warn(line_number, format!("not a number: {not_numbers}"));
        }
        self.test.rows.push(row);
    }
}

fn parse_subject(target_type: &str) -> ResultSubject {
    match target_type.to_uppercase().as_str() {
        "ALL" => ResultSubject::All,
        "MANAGER" => ResultSubject::Manager,
        "PROCESSOR" => ResultSubject::Processor,
        "WORKER" => ResultSubject::Worker,
        "DISK" => ResultSubject::Disk,
        _ => ResultSubject::Other(target_type.to_owned()),
    }
}

/// The cells of a row by caption.
struct RowCells<'a> {
    columns: &'a BTreeMap<String, usize>,
    values: &'a [&'a str],
    /// Captions of the cells that should hold a number and do not.
    not_numbers: Vec<String>,
}

impl<'a> RowCells<'a> {
    fn cell_text(&self, caption: &str) -> &'a str {
        self.columns.get(caption).and_then(|&index| self.values.get(index)).copied().unwrap_or("")
    }

    fn read_figure(&mut self, caption: &str) -> Option<f64> {
        let text = self.cell_text(caption);
        let figure = text.parse().ok().filter(|figure: &f64| figure.is_finite());
        if figure.is_none() && !text.is_empty() {
            self.not_numbers.push(caption.to_owned());
        }
        figure
    }

    fn read_count(&mut self, caption: &str) -> Option<u64> {
        // Some versions write counts with a decimal point.
        self.read_figure(caption).filter(|&count| count >= 0.0).map(|count| count as u64)
    }

    /// Three figures by their captions; an empty caption gives none.
    fn read_figures(&mut self, total: &str, read: &str, write: &str) -> ReadWriteSplit {
        ReadWriteSplit { total: self.read_figure(total), read: self.read_figure(read), write: self.read_figure(write) }
    }

    /// Bytes a second from the first column that the row has; `direction` is empty or the first word of the caption.
    fn read_bytes_per_second(&mut self, direction: &str) -> Option<f64> {
        let units = [("mibps (binary)", MIB), ("mbps (binary)", MIB), ("mbps (decimal)", MB), ("mbps", MIB)];
        units
            .into_iter()
            .find_map(|(unit, unit_bytes)| Some(self.read_figure(&format!("{direction}{unit}"))? * unit_bytes))
    }

    fn build_row(&mut self, line_number: usize, subject: ResultSubject) -> IometerRow {
        let time_stamp = self.cell_text("timestamp");
        IometerRow {
            line: line_number,
            time_stamp: (!time_stamp.is_empty()).then(|| time_stamp.to_owned()),
            subject,
            name: self.cell_text("target name").to_owned(),
            spec: self.cell_text("access specification name").to_owned(),
            managers: self.read_count("# managers"),
            workers: self.read_count("# workers"),
            disks: self.read_count("# disks"),
            iops: self.read_figures("iops", "read iops", "write iops"),
            bytes_per_second: ReadWriteSplit {
                total: self.read_bytes_per_second(""),
                read: self.read_bytes_per_second("read "),
                write: self.read_bytes_per_second("write "),
            },
            mean_ms: self.read_figures(
                "average response time",
                "average read response time",
                "average write response time",
            ),
            max_ms: self.read_figures(
                "maximum response time",
                "maximum read response time",
                "maximum write response time",
            ),
            errors: self.read_figures("errors", "read errors", "write errors"),
            bytes: self.read_figures("", "bytes read", "bytes written"),
            ios: self.read_figures("", "read i/os", "write i/os"),
            starting_sector: self.read_count("starting sector"),
            maximum_size: self.read_count("maximum size"),
            queue_depth: self.read_count("queue depth"),
            cpu_percent: self.read_figure("% cpu utilization"),
            interrupts_per_second: self.read_figure("interrupts per second"),
            cpu_effectiveness: self.read_figure("cpu effectiveness"),
            histogram: self.read_histogram(),
        }
    }

    fn read_histogram(&mut self) -> Vec<(u64, u64)> {
        HISTOGRAM_BINS.iter().filter_map(|&(caption, edge)| Some((edge, self.read_count(caption)?))).collect()
    }
}
