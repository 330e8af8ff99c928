//! Reads the sections and keys of an Iometer configuration into an [`IometerConfig`], as Iometer's own reader does.
//!
//! [`super::lines`] finds keys and values. Each value is checked by itself, and the shares of an access specification
//! must sum to 100 %; [`super::job`] checks what the values mean together.

use std::collections::BTreeMap;

use seekwise_disk::time::Span;
use seekwise_drives::diagnostic::Diagnostic;
use seekwise_work::workload::{AccessLine, AccessSpec};

use super::config::{
    Cycling, DepthCycling, IcfAccessSpec, IcfVersion, IometerConfig, IometerManager, IometerWorker, SpecAssignment,
    TestType, WorkerSpawn,
};
use super::lines::{LONGEST_WORD, TextLine, TextLines, known_keys, split_fields};

/// Date (yyyymmdd) of the first version whose specifications have names.
const NAMED_SPECS_SINCE: u32 = 19_980_521;
/// Iometer's limit of rows in a specification.
const MOST_SPEC_ROWS: usize = 100;
/// Ten years: a longer run is a slip, and the model's clock could not hold run and ramp.
const LONGEST_RUN_S: u64 = 10 * 366 * 86_400;
/// Limit of requests in flight of a worker at a target: that of a fio job here.
const MOST_OUTSTANDING: u64 = 65_535;

/// The file's names of the test types.
const TEST_TYPES: [(&str, TestType); 8] = [
    ("NORMAL", TestType::Normal),
    ("CYCLE_TARGETS", TestType::CycleTargets),
    ("CYCLE_WORKERS", TestType::CycleWorkers),
    ("INCREMENT_TARGETS_PARALLEL", TestType::IncrementTargetsParallel),
    ("INCREMENT_TARGETS_SERIAL", TestType::IncrementTargetsSerial),
    ("CYCLE_WORKERS_AND_TARGETS", TestType::CycleWorkersAndTargets),
    ("CYCLE_OUTSTANDING_IOS", TestType::CycleOutstandingIos),
    ("CYCLE_OUTSTANDING_IOS_AND_TARGETS", TestType::CycleOutstandingIosAndTargets),
];

/// Takes lines from a file and gathers the configuration, warnings and errors.
pub(super) struct IcfReader<'a> {
    lines: TextLines<'a>,
    pub(super) config: IometerConfig,
    /// Count of the unnamed specifications that were given each name.
    generated_names: BTreeMap<String, u32>,
    pub(super) warnings: Vec<Diagnostic>,
    pub(super) errors: Vec<Diagnostic>,
}

impl<'a> IcfReader<'a> {
    pub(super) fn new(file: &str, text: &'a str) -> IcfReader<'a> {
        let single_step = Cycling { start: 1, step: 1, exponential: false };
        let config = IometerConfig {
            file: file.to_owned(),
            version: IcfVersion::Unstated,
            description: String::new(),
            run_time: Span::ZERO,
            ramp: Span::ZERO,
            disk_workers: WorkerSpawn::PerProcessor,
            network_workers: WorkerSpawn::Exactly(0),
            record: "ALL".to_owned(),
            worker_cycling: single_step,
            target_cycling: single_step,
            depth_cycling: DepthCycling { steps: single_step, end: 1 },
            test_type: TestType::Normal,
            specs: Vec::new(),
            managers: Vec::new(),
            unknown: Vec::new(),
        };
        IcfReader {
            lines: TextLines::new(text),
            config,
            generated_names: BTreeMap::new(),
            warnings: Vec::new(),
            errors: Vec::new(),
        }
    }

    fn warn(&mut self, line: usize, message: impl Into<String>) {
        self.warnings.push(Diagnostic::at(&self.config.file, line, message));
    }

    fn error(&mut self, line: usize, key: &str, message: impl Into<String>, expected: &str) {
        self.errors.push(Diagnostic::at(&self.config.file, line, message).with_key(key).with_expected(expected));
    }

    /// Reads the whole file, sections in any order. Returns how many sections there are.
    pub(super) fn read_sections(&mut self) -> usize {
        let mut sections = 0;
        while let Some(line) = self.lines.take_line() {
            let words = line.lower_case_words();
            sections += usize::from(line.section_name().is_some());
            match line.section_name() {
                Some("test setup") => self.read_section(Self::read_setup_key),
                Some("access specifications") => self.read_access_specs(),
                Some("manager list") => self.read_section(Self::read_manager_key),
                Some(_) => self.read_section(|_, _, _| {}),
                None if words.is_empty() || words.starts_with("end ") => {}
                None if words.starts_with("version") || line.number == 1 && words == "3.26.97" => {
                    self.read_version(line)
                }
                None => self.warn(line.number, "text outside every section; ignored"),
            }
        }
        sections
    }

    /// Calls `read_key(reader, key line, key in small letters)` for each key up to the section's end or the next section.
    fn read_section(&mut self, read_key: fn(&mut Self, TextLine<'a>, &str)) {
        while let Some(line) = self.lines.peek_line() {
            if line.section_name().is_some() {
                return;
            }
            self.lines.take_line();
            let words = line.lower_case_words();
            if line.starts_with_apostrophe() && is_section_end(&words) {
                return;
            }
            if words.starts_with("version") {
                self.read_version(line);
            } else if line.starts_with_apostrophe() && !words.starts_with("end ") {
                read_key(self, line, &words);
            }
        }
    }

    fn read_version(&mut self, line: TextLine<'a>) {
        if self.config.version != IcfVersion::Unstated {
            return;
        }
        let numbers: Vec<u32> = line
            .text
            .split(|c: char| !c.is_ascii_digit())
            .filter(|digits| !digits.is_empty())
            .filter_map(|digits| digits.parse().ok())
            .collect();
        self.config.version = match numbers[..] {
            // 3.26.97 (month, day, year) is the only version so named; its grammar is that of 1998-01-05.
            [3, 26, 97, ..] => IcfVersion::Dated(19_980_105),
            [year @ 1901..=9999, month @ 0..=99, day @ 0..=99, ..] => {
                IcfVersion::Dated(year * 10_000 + month * 100 + day)
            }
            [major, minor, patch, ..] => IcfVersion::Numbered([major, minor, patch]),
            _ => {
                return self.warn(line.number, "the version does not consist of three numbers; ignored");
            }
        };
    }

    fn read_setup_key(&mut self, line: TextLine<'a>, key_words: &str) {
        let is_key = |name: &str| key_words.starts_with(name);
        let value = self.lines.take_value();
        if is_key("test description") {
            self.config.description = value.text.to_owned();
        } else if is_key("run time") {
            self.config.run_time = self.parse_run_time(value);
        } else if is_key("ramp up time") {
            self.config.ramp = Span::from_secs(self.parse_number(value, "Ramp Up Time", value.text, LONGEST_RUN_S));
        } else if is_key("default disk workers") || is_key("default workers") {
            self.config.disk_workers = self.parse_spawn(value, "Default Disk Workers to Spawn");
        } else if is_key("default network workers") {
            self.config.network_workers = self.parse_spawn(value, "Default Network Workers to Spawn");
        } else if is_key("record results") {
            self.config.record = value.text.to_uppercase();
        } else if is_key("worker cycling") {
            self.config.worker_cycling = self.parse_cycling(value, "Worker Cycling").steps;
        } else if is_key("disk cycling") {
            self.config.target_cycling = self.parse_cycling(value, "Disk Cycling").steps;
        } else if is_key("queue depth cycling") {
            self.config.depth_cycling = self.parse_cycling(value, "Queue Depth Cycling");
        } else if is_key("test type") {
            self.read_test_type(value);
        } else {
            self.note_unknown_key(line, value);
        }
    }

    fn note_unknown_key(&mut self, line: TextLine<'a>, value: TextLine<'a>) {
        let key = line.text.trim_start_matches('\'').trim();
        let message = "unknown key; it has no effect";
        let mut warning = Diagnostic::at(&self.config.file, line.number, message).with_key(key);
        if key.len() <= LONGEST_WORD {
            warning = warning.suggest_nearest(&line.lower_case_words(), known_keys());
        }
        self.warnings.push(warning);
        self.config.unknown.push((line.number, key.to_owned(), value.text.to_owned()));
    }

    /// A whole number from 0 to `limit`; 0, with an error added, if `text` is none.
    fn parse_number(&mut self, line: TextLine<'a>, key: &str, text: &str, limit: u64) -> u64 {
        match text.trim().parse::<u64>() {
            Ok(number) if number <= limit => number,
            _ => {
                let message = format!("`{text}` is not a number in range");
                self.error(line.number, key, message, &format!("a whole number from 0 to {limit}"));
                0
            }
        }
    }

    fn parse_u32(&mut self, line: TextLine<'a>, key: &str, text: &str) -> u32 {
        self.parse_number(line, key, text, u64::from(u32::MAX)) as u32
    }

    fn parse_run_time(&mut self, value: TextLine<'a>) -> Span {
        let parts = split_fields(value.text);
        if parts.len() != 3 {
            self.error(value.number, "Run Time", "is not three numbers", "hours, minutes and seconds");
            return Span::ZERO;
        }
        let mut seconds = 0u64;
        for (part, unit) in parts.into_iter().zip([3600, 60, 1]) {
            seconds += unit * self.parse_number(value, "Run Time", part, LONGEST_RUN_S / unit);
        }
        Span::from_secs(seconds)
    }

    fn parse_spawn(&mut self, value: TextLine<'a>, key: &str) -> WorkerSpawn {
        if value.text.eq_ignore_ascii_case("NUMBER_OF_CPUS") {
            return WorkerSpawn::PerProcessor;
        }
        WorkerSpawn::Exactly(self.parse_u32(value, key, value.text))
    }

    /// `start step type`, or `start end step type`.
    fn parse_cycling(&mut self, value: TextLine<'a>, key: &str) -> DepthCycling {
        let parts = split_fields(value.text);
        let (start, end, step, step_type) = match parts[..] {
            [start, step, step_type] => (start, start, step, step_type),
            [start, end, step, step_type] => (start, end, step, step_type),
            _ => {
                self.error(value.number, key, "has the wrong number of fields", "start, (end,) step and step type");
                return self.config.depth_cycling;
            }
        };
        let exponential = step_type.eq_ignore_ascii_case("EXPONENTIAL");
        if !exponential && !step_type.eq_ignore_ascii_case("LINEAR") {
            self.error(value.number, key, format!("`{step_type}` is not a step type"), "LINEAR or EXPONENTIAL");
        }
        let steps =
            Cycling { start: self.parse_u32(value, key, start), step: self.parse_u32(value, key, step), exponential };
        DepthCycling { steps, end: self.parse_u32(value, key, end) }
    }

    fn read_test_type(&mut self, value: TextLine<'a>) {
        let word = value.text.to_uppercase();
        match TEST_TYPES.into_iter().find(|&(name, _)| name == word) {
            Some((_, test_type)) => self.config.test_type = test_type,
            None => {
                let names = TEST_TYPES.map(|(name, _)| name);
                let message = format!("`{}` is not a test type", value.text);
                let diagnostic = Diagnostic::at(&self.config.file, value.number, message).with_key("Test Type");
                self.errors.push(diagnostic.with_expected(names.join(", ")).suggest_nearest(&word, names));
            }
        }
    }

    fn read_access_specs(&mut self) {
        let mut named: Option<IcfAccessSpec> = None;
        while let Some(line) = self.lines.peek_line() {
            if line.section_name().is_some() {
                break;
            }
            self.lines.take_line();
            let words = line.lower_case_words();
            if line.starts_with_apostrophe() && is_section_end(&words) {
                break;
            }
            if words.starts_with("access specification name") {
                self.add_spec(named.take());
                named = Some(self.read_spec_name());
            } else if words.starts_with("size") {
                let rows = self.read_spec_rows();
                match &mut named {
                    Some(specification) => {
                        specification.spec.lines.extend(rows.into_iter().map(|numbered| numbered.row))
                    }
                    None => self.add_unnamed_specs(rows),
                }
            } else if line.starts_with_apostrophe() && !words.starts_with("end ") {
                let value = self.lines.take_value();
                self.note_unknown_key(line, value);
            } else if !line.text.is_empty() {
                self.warn(line.number, "this row belongs to no access specification; ignored");
            }
        }
        self.add_spec(named);
    }

    fn read_spec_name(&mut self) -> IcfAccessSpec {
        let value = self.lines.take_value();
        let (name, word) = value.text.rsplit_once(',').unwrap_or((value.text, "NONE"));
        let assignment = match word.trim().to_uppercase().as_str() {
            "NONE" | "0" => SpecAssignment::None,
            "ALL" | "1" => SpecAssignment::All,
            "DISK" | "2" => SpecAssignment::Disk,
            "NET" | "NETWORK" | "3" => SpecAssignment::Network,
            other => {
                let message = format!("`{other}` is not a default assignment");
                self.error(value.number, name.trim(), message, "NONE, ALL, DISK or NET");
                SpecAssignment::None
            }
        };
        let spec = AccessSpec { name: name.trim().to_owned(), lines: Vec::new() };
        IcfAccessSpec { line: value.number, assignment, spec }
    }

    /// The rows up to the next key. Rows of no share are dropped, as Iometer does.
    fn read_spec_rows(&mut self) -> Vec<NumberedRow> {
        let mut rows = Vec::new();
        for line in self.lines.take_rows() {
            match self.parse_spec_row(line) {
                Some(row) if row.share == 0 => self.warn(line.number, "a row with a share of 0 %; ignored"),
                Some(row) => rows.push(NumberedRow { line: line.number, row }),
                None => {}
            }
        }
        rows
    }

    fn parse_spec_row(&mut self, line: TextLine<'a>) -> Option<AccessLine> {
        let errors_before = self.errors.len();
        let parts = split_fields(line.text);
        if !(6..=8).contains(&parts.len()) {
            let message = format!("a row of {} fields", parts.len());
            self.error(line.number, "size", message, "size,% of size,% reads,% random,delay,burst,align,reply");
            return None;
        }
        let field = |index: usize| parts.get(index).copied().unwrap_or("0");
        let percent = |reader: &mut Self, key, index| reader.parse_number(line, key, field(index), 100) as u8;
        let row = AccessLine {
            size: self.parse_u32(line, "size", field(0)),
            share: percent(self, "% of size", 1),
            reads: percent(self, "% reads", 2),
            random: percent(self, "% random", 3),
            delay: Span::from_millis(u64::from(self.parse_u32(line, "delay", field(4)))),
            burst: self.parse_u32(line, "burst", field(5)).max(1),
            align: self.parse_u32(line, "align", field(6)),
            reply: self.parse_u32(line, "reply", field(7)),
        };
        if errors_before == self.errors.len() && row.size == 0 {
            self.error(line.number, "size", "a request of 0 bytes", "at least one sector");
        }
        for (key, bytes) in [("size", row.size), ("align", row.align), ("reply", row.reply)] {
            if bytes % 512 != 0 {
                self.warn(line.number, format!("{key} {bytes} is not a multiple of 512 bytes; a disk refuses it"));
            }
        }
        (errors_before == self.errors.len()).then_some(row)
    }

    /// Specifications without names (before 1998-05-21): each ends where its shares reach 100 %.
    fn add_unnamed_specs(&mut self, rows: Vec<NumberedRow>) {
        let should_have_names =
            matches!(self.config.version, IcfVersion::Numbered(_) | IcfVersion::Dated(NAMED_SPECS_SINCE..));
        if let Some(first) = rows.first().filter(|_| should_have_names) {
            self.warn(first.line, "rows without an access specification's name, as in files older than 1998-05-21");
        }
        let mut lines: Vec<AccessLine> = Vec::new();
        let mut first_line = 0;
        for NumberedRow { line, row } in rows {
            first_line = if lines.is_empty() { line } else { first_line };
            lines.push(row);
            if sum_shares(&lines) >= 100 {
                self.add_unnamed_spec(first_line, std::mem::take(&mut lines));
            }
        }
        if !lines.is_empty() {
            self.add_unnamed_spec(first_line, lines);
        }
    }

    /// Adds a specification under a name made here. As in Iometer, new workers get it, and one row is named by its content.
    fn add_unnamed_spec(&mut self, first_line: usize, lines: Vec<AccessLine>) {
        let base = match lines[..] {
            [row] => name_of_row(&row),
            _ => "Untitled".to_owned(),
        };
        let number = self.generated_names.entry(base.clone()).or_insert(0);
        *number += 1;
        let name = if *number == 1 { base } else { format!("{base} {number}") };
        let spec = AccessSpec { name, lines };
        self.add_spec(Some(IcfAccessSpec { line: first_line, assignment: SpecAssignment::All, spec }));
    }

    /// Adds a specification whose rows are all read, if its shares sum to 100 %; an error otherwise.
    fn add_spec(&mut self, specification: Option<IcfAccessSpec>) {
        let Some(specification) = specification else {
            return;
        };
        let AccessSpec { name, lines } = &specification.spec;
        let (share_sum, line, rows) = (sum_shares(lines), specification.line, lines.len());
        if name.eq_ignore_ascii_case("idle") && rows == 0 {
            return;
        }
        if rows > MOST_SPEC_ROWS {
            self.error(line, &name.clone(), format!("{rows} rows"), "at most 100, Iometer's limit");
        } else if share_sum != 100 && self.errors.iter().all(|error| error.line < line) {
            let message = format!("the shares of its {rows} rows sum to {share_sum} %");
            self.error(line, &name.clone(), message, "100 %");
        } else {
            self.config.specs.push(specification);
        }
    }

    fn read_manager_key(&mut self, line: TextLine<'a>, key_words: &str) {
        let is_key = |name: &str| key_words.starts_with(name);
        if is_key("manager id") {
            let value = self.lines.take_value();
            let (id, name) = value.text.split_once(',').unwrap_or(("0", value.text));
            let id = self.parse_u32(value, "Manager ID", id);
            self.config.managers.push(IometerManager { id, name: name.trim().to_owned(), ..IometerManager::default() });
        } else if is_key("manager network address") {
            let address = self.lines.take_value().text.to_owned();
            self.last_manager_or_new(line).address = address;
        } else if key_words == "worker" {
            let value = self.lines.take_value();
            self.last_manager_or_new(line).workers.push(IometerWorker::new(value.number, value.text));
        } else {
            self.read_worker_key(line, key_words);
        }
    }

    /// The last manager; adds one without a name, and warns at `line`, if the file has none before it.
    fn last_manager_or_new(&mut self, line: TextLine<'a>) -> &mut IometerManager {
        if self.config.managers.is_empty() {
            self.warn(line.number, "this belongs to no manager; assuming one without a name");
            self.config.managers.push(IometerManager::default());
        }
        let last = self.config.managers.len() - 1;
        &mut self.config.managers[last]
    }

    /// The last worker of that manager; adds one without a name, and warns at `line`, if there is none.
    fn last_worker_or_new(&mut self, line: TextLine<'a>) -> &mut IometerWorker {
        if self.last_manager_or_new(line).workers.is_empty() {
            self.warn(line.number, "this belongs to no worker; assuming one without a name");
            self.last_manager_or_new(line).workers.push(IometerWorker::new(line.number, ""));
        }
        let workers = &mut self.last_manager_or_new(line).workers;
        let last = workers.len() - 1;
        &mut workers[last]
    }

    fn read_worker_key(&mut self, line: TextLine<'a>, key_words: &str) {
        let is_key = |name: &str| key_words.starts_with(name);
        if is_key("default target settings for worker") || is_key("target assignments") {
            return;
        }
        if is_key("assigned access specs") {
            let rows = self.lines.take_rows();
            self.last_worker_or_new(line).assigned.extend(rows.iter().map(|row| (row.number, row.text.to_owned())));
            return;
        }
        let value = self.lines.take_value();
        if is_key("worker type") {
            self.read_worker_type(line, value);
        } else if is_key("number of outstanding ios") {
            self.read_outstanding(line, value);
        } else if is_key("disk maximum size") {
            self.read_disk_size(line, value);
        } else if key_words == "target" {
            self.last_worker_or_new(line).targets.push((value.number, value.text.to_owned()));
        } else if !["target type", "target manager id", "local network", "vi outstanding"].into_iter().any(is_key) {
            self.note_unknown_key(line, value);
        }
    }

    fn read_worker_type(&mut self, line: TextLine<'a>, value: TextLine<'a>) {
        let word = value.text.to_uppercase();
        if let Some(protocol) = word.strip_prefix("NETWORK") {
            self.last_worker_or_new(line).network = Some(protocol.trim_start_matches([',', ' ']).to_owned());
        } else if word != "DISK" {
            let message = format!("`{}` is not a worker type", value.text);
            self.error(value.number, "Worker type", message, "DISK or NETWORK,protocol");
        }
    }

    /// `outstanding,connection rate,transactions[,use fixed seed,seed]`.
    fn read_outstanding(&mut self, line: TextLine<'a>, value: TextLine<'a>) {
        let parts = split_fields(value.text);
        let field = |index: usize| parts.get(index).copied();
        let enabled = |index: usize| field(index).is_some_and(|word| word.eq_ignore_ascii_case("ENABLED"));
        let depth =
            self.parse_number(value, "Number of outstanding IOs", field(0).unwrap_or(""), MOST_OUTSTANDING) as u32;
        if depth == 0 && field(0).is_some_and(|text| text.parse() == Ok(0)) {
            self.error(value.number, "Number of outstanding IOs", "no request in flight", "at least 1");
        }
        let transactions = self.parse_u32(value, "transactions per connection", field(2).unwrap_or("1"));
        let seed = self.parse_number(value, "fixed seed value", field(4).unwrap_or("0"), u64::MAX);
        let worker = self.last_worker_or_new(line);
        worker.outstanding = depth;
        worker.connection = enabled(1).then_some(transactions);
        worker.fixed_seed = enabled(3).then_some(seed);
    }

    /// `maximum size,starting sector[,data pattern]`.
    fn read_disk_size(&mut self, line: TextLine<'a>, value: TextLine<'a>) {
        let parts = split_fields(value.text);
        let field = |index: usize| parts.get(index).copied().unwrap_or("0");
        let maximum = self.parse_number(value, "Disk maximum size", field(0), u64::MAX);
        let start = self.parse_number(value, "starting sector", field(1), u64::MAX);
        let pattern = self.parse_u32(value, "Data pattern", field(2));
        let worker = self.last_worker_or_new(line);
        (worker.maximum_size, worker.starting_sector, worker.data_pattern) = (maximum, start, pattern);
    }
}

/// A row of an access specification and its line in the file.
struct NumberedRow {
    line: usize,
    row: AccessLine,
}

fn is_section_end(words: &str) -> bool {
    ["end test setup", "end results display", "end access specifications", "end manager list"]
        .into_iter()
        .any(|end| words.starts_with(end))
}

fn sum_shares(lines: &[AccessLine]) -> u32 {
    lines.iter().map(|line| u32::from(line.share)).sum()
}

/// The name Iometer gives a specification of one row.
fn name_of_row(row: &AccessLine) -> String {
    let size = match row.size {
        512 => "512 B".to_owned(),
        1_048_576 => "1 MiB".to_owned(),
        size => format!("{} KiB", size / 1024),
    };
    let order = match row.random {
        0 => "sequential".to_owned(),
        100 => "random".to_owned(),
        percent => format!("{percent}% random"),
    };
    let direction = match row.reads {
        0 => "writes".to_owned(),
        100 => "reads".to_owned(),
        percent => format!("{percent}% reads"),
    };
    format!("{size} {order} {direction}")
}
