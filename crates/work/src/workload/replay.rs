//! Replays a recorded trace that is in memory: rows in order, each when its turn comes.
//!
//! There are two modes. *Think*: a single request at a time, each issued its think time after the last completion. The
//! measured response times have no effect, so the simulated clock drifts from the measured one. *Arrival*: each row at
//! its own instant, however many are outstanding then. No file is read here: the reader of traces makes the rows.

use alloc::vec::Vec;

use seekwise_disk::block::{Accounting, Completion, Flags, Op, Request, Source, SourcePoll};
use seekwise_disk::time::{Instant, Span};

/// A request of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayRow {
    pub op: Op,
    /// The first block of 512 bytes.
    pub lba: u64,
    pub sectors: u32,
    /// When it was issued, from the first row on.
    pub arrival: Span,
    /// From its completion to the issue of the next row.
    pub think: Span,
}

/// When a row is issued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timing {
    /// The think time after the last completion.
    #[default]
    Think,
    /// At its own instant.
    Arrival,
}

/// A trace being played. The stamp of a request, less 1, is the index of its row.
#[derive(Clone, Debug)]
pub struct Replay<'a> {
    rows: &'a [ReplayRow],
    timing: Timing,
    /// The index of the next row.
    next_row: usize,
    /// In think mode: when the next row is due.
    due: Instant,
    free_tags: Vec<u32>,
    /// By tag: the row that has it, or had it last.
    row_of_tag: Vec<usize>,
}

impl<'a> Replay<'a> {
    /// A trace before its first row.
    pub fn new(rows: &'a [ReplayRow], timing: Timing) -> Replay<'a> {
        Replay { rows, timing, next_row: 0, due: Instant::ZERO, free_tags: Vec::new(), row_of_tag: Vec::new() }
    }

    fn requests_in_flight(&self) -> usize {
        self.row_of_tag.len() - self.free_tags.len()
    }
}

impl Source for Replay<'_> {
    #[inline]
    fn next(&mut self, now: Instant) -> SourcePoll {
        let Some(row) = self.rows.get(self.next_row) else {
            return SourcePoll::Done;
        };
        let due = match self.timing {
            Timing::Think if self.requests_in_flight() > 0 => return SourcePoll::Completion,
            Timing::Think => self.due,
            Timing::Arrival => Instant::ZERO + row.arrival,
        };
        if due > now {
            return SourcePoll::At(due);
        }
        let tag = self.free_tags.pop().unwrap_or_else(|| {
            self.row_of_tag.push(0);
            self.row_of_tag.len() as u32 - 1
        });
        self.row_of_tag[tag as usize] = self.next_row;
        self.next_row += 1;
        let (op, lba, sectors) = (row.op, row.lba, row.sectors);
        SourcePoll::Request(Request { tag, unit: 0, origin: 0, op, flags: Flags::NONE, lba, sectors, stamp: 0 })
    }

    #[inline]
    fn complete(&mut self, _: Instant, completion: &Completion) -> Accounting {
        self.free_tags.push(completion.tag);
        let row = &self.rows[self.row_of_tag[completion.tag as usize]];
        self.due = completion.finished + row.think;
        let intended = match self.timing {
            Timing::Think => completion.submitted,
            Timing::Arrival => Instant::ZERO + row.arrival,
        };
        Accounting::In { worker: 0, intended, served: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_disk::engine::Engine;
    use seekwise_disk::record::Record;
    use seekwise_disk::testing::SmallDrive;

    fn trace_rows() -> Vec<ReplayRow> {
        let row = |i: u64| ReplayRow {
            op: if i.is_multiple_of(3) { Op::Write } else { Op::Read },
            lba: i * 517 % 5_000,
            sectors: 8,
            arrival: Span::from_micros(i * 500),
            think: Span::from_micros(i * 100),
        };
        (0..40).map(row).collect()
    }

    fn play(timing: Timing) -> Vec<Record> {
        let rows = trace_rows();
        let mut records = Vec::new();
        let mut engine = Engine::new(Replay::new(&rows, timing), SmallDrive::default().drive());
        engine.run(Instant::FAR, &mut |record: &Record| records.push(*record)).expect("runs");
        assert_eq!(records.len(), rows.len());
        records
    }

    #[test]
    fn a_think_time_runs_from_the_completion_before() {
        let records = play(Timing::Think);
        for (index, pair) in records.windows(2).enumerate() {
            let think = pair[1].completion.submitted.since(pair[0].completion.finished);
            assert_eq!(think, trace_rows()[index].think);
            assert_eq!(pair[1].request.stamp as usize, index + 2);
        }
    }

    #[test]
    fn arrivals_keep_their_instants_and_wait_in_line() {
        let mut records = play(Timing::Arrival);
        records.sort_unstable_by_key(|record| record.request.stamp);
        for (record, row) in records.iter().zip(trace_rows()) {
            assert_eq!(record.intended, Instant::ZERO + row.arrival);
            assert!(record.issued >= record.intended);
            assert_eq!((record.request.lba, record.request.op), (row.lba, row.op));
        }
    }
}
