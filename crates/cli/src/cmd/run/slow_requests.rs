//! The list of `seekwise run --slow`: each request that took at least a given time, with its start, location and duration, the
//! part of the stack in which it spent most of the time, and what an array read before it could write.

use seekwise::run::{Part, Record, RequestKind, SECTOR};
use seekwise::time::Span;
use serde_json::{Value, json};

use crate::tables::{mark_figures_from, table_with_headings};

/// The most requests that are listed; others are only counted.
const MOST_LISTED: usize = 1000;

/// Headings of the table.
const HEADINGS: [&str; 7] = ["issued at s", "what", "at byte", "bytes", "took ms", "most of it", "worker"];

/// A further heading, if an array read for one of the listed writes.
const READ_FIRST: &str = "read first";

/// Requests that took at least this long.
pub struct SlowRequests {
    threshold: Span,
    listed: Vec<Record>,
    unlisted_count: u64,
}

impl SlowRequests {
    /// An empty list of requests that take at least `threshold`.
    pub fn new(threshold: Span) -> SlowRequests {
        SlowRequests { threshold, listed: Vec::new(), unlisted_count: 0 }
    }

    /// Keeps the record of a request if it took at least the threshold.
    #[inline]
    pub fn keep_if_slow(&mut self, record: &Record) {
        if record.response_time() >= self.threshold {
            match self.listed.len() < MOST_LISTED {
                true => self.listed.push(*record),
                false => self.unlisted_count += 1,
            }
        }
    }

    /// In the order in which they were issued.
    fn in_issue_order(&self) -> Vec<&Record> {
        let mut sorted: Vec<&Record> = self.listed.iter().collect();
        sorted.sort_by_key(|record| (record.issued, record.worker, record.request.stamp));
        sorted
    }

    /// The list, and how many more there were.
    pub fn to_json(&self) -> Value {
        let request_json = |record: &&Record| {
            let words = record_words(record);
            json!({"due_s": record.intended.nanos() as f64 / 1e9, "issued_s": record.issued.nanos() as f64 / 1e9, "op": words.op, "offset": record.request.lba * SECTOR,
                   "bytes": u64::from(record.request.sectors) * SECTOR, "response_ms": record.response_time().nanos() as f64 / 1e6,
                   "most_in": words.longest_part, "modify_reads": record.completion.effort.modify_reads,
                   "reconstruct_reads": record.completion.effort.reconstruct_reads, "worker": words.worker})
        };
        json!({"at_least_ms": self.threshold.nanos() as f64 / 1e6, "more": self.unlisted_count,
               "requests": self.in_issue_order().iter().map(request_json).collect::<Vec<_>>()})
    }

    /// The list as a table.
    pub fn format_table(&self, width: usize) -> String {
        let threshold_ms = self.threshold.nanos() as f64 / 1e6;
        if self.listed.is_empty() {
            return format!("\nNo request took {threshold_ms} ms or longer.\n");
        }
        let has_reads_first = self.listed.iter().any(|record| !reads_first(record).is_empty());
        let headings = HEADINGS.into_iter().chain(has_reads_first.then_some(READ_FIRST));
        let mut table = table_with_headings(headings.map(str::to_owned).collect());
        mark_figures_from(&mut table, 2);
        for record in self.in_issue_order() {
            let words = record_words(record);
            let row = [
                format!("{:.6}", record.issued.nanos() as f64 / 1e9),
                words.op.to_owned(),
                (record.request.lba * SECTOR).to_string(),
                (u64::from(record.request.sectors) * SECTOR).to_string(),
                format!("{:.3}", record.response_time().nanos() as f64 / 1e6),
                words.longest_part.to_owned(),
                words.worker.to_string(),
            ];
            table.add_row(row.into_iter().chain(has_reads_first.then(|| reads_first(record))));
        }
        let unlisted =
            if self.unlisted_count > 0 { format!("and {} more\n", self.unlisted_count) } else { String::new() };
        format!("\nRequests that took {threshold_ms} ms or longer:\n{}\n{unlisted}", table.draw(width))
    }
}

/// The words of a record.
struct RecordWords {
    op: &'static str,
    /// The part in which most of the response time was spent.
    longest_part: &'static str,
    /// From 1, in the order of the job.
    worker: u16,
}

/// The commands by which an array read before the request could write: `2 (read-modify-write)`; empty without any.
fn reads_first(record: &Record) -> String {
    let effort = &record.completion.effort;
    let methods = [(effort.modify_reads, "read-modify-write"), (effort.reconstruct_reads, "reconstruct-write")];
    let words = methods.into_iter().filter(|(reads, _)| *reads > 0).map(|(reads, name)| format!("{reads} ({name})"));
    words.collect::<Vec<_>>().join(", ")
}

fn record_words(record: &Record) -> RecordWords {
    let longest = Part::ALL.into_iter().max_by_key(|part| record.completion.parts.get(*part));
    RecordWords {
        op: RequestKind::from_op(record.request.op).name(),
        longest_part: longest.map_or("", Part::name),
        worker: record.worker + 1,
    }
}
