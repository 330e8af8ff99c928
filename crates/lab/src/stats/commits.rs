//! Commits of a run: the writes of a writer and the sync that makes them durable, as one wait of the program. A writer is
//! a worker of a job; of a session or a trace, all of it.
//!
//! A commit lasts from the issue of the first write since the last sync to the completion of the sync that covers it. A
//! sync covers the writes that completed before it was issued. A forced write is a commit by itself. Its parts are those of its requests,
//! in the order of time; the time in none of them is apart. So parts and pauses sum to its length.

use std::collections::VecDeque;

use seekwise_disk::block::{Flags, Op, SECTOR, Status};
use seekwise_disk::record::{Part, Parts, Record};
use seekwise_disk::time::{Instant, Span};
use seekwise_run::work::CommitRule;
use seekwise_work::files::scene::ProgramCommit;

use super::summary::RequestTally;

/// Number of writes of a writer that are kept apart; older ones are added up. They count as complete before the next sync was issued: wrong
/// only if more writes of the writer complete during that sync (inferred: more than any drive has in flight).
const MOST_APART: usize = 1024;

/// Commits counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommitTally {
    /// Counts of commits, each as a request.
    pub tally: RequestTally,
    /// Total time within commits in which none of their requests was in flight; `None` if the parts are not known, as in scenes.
    pub between_ns: Option<u128>,
}

/// Finds the commits among the records of a run.
#[derive(Debug)]
pub(crate) struct CommitRecorder {
    writers: Vec<Writer>,
    tally: RequestTally,
    between_ns: u128,
}

#[derive(Debug)]
struct Writer {
    rule: CommitRule,
    /// Older writes that no sync covers yet, added up.
    older: Option<CommitLedger>,
    /// The last such writes, in the order in which they completed.
    writes: VecDeque<CommitLedger>,
}

/// The account of a commit so far, or of one of its requests.
#[derive(Clone, Copy, Debug)]
struct CommitLedger {
    began: Instant,
    ended: Instant,
    parts: Parts,
    /// Time in which none of its requests was in flight.
    between: Span,
    bytes: u64,
}

impl CommitLedger {
    fn of_request(record: &Record) -> CommitLedger {
        let sectors = if record.request.op == Op::Flush { 0 } else { record.request.sectors };
        CommitLedger {
            began: record.issued,
            ended: record.completion.finished,
            parts: record.completion.parts,
            between: Span::ZERO,
            bytes: u64::from(sectors) * SECTOR,
        }
    }

    /// Joins another request, which completed later. Time in both is booked once, as that of the first, and missing from
    /// the first parts of the second.
    fn join(&mut self, next: &CommitLedger) {
        let bytes = self.bytes + next.bytes;
        if next.began <= self.began && next.ended >= self.ended {
            *self = *next;
        } else if next.ended <= self.ended {
            // In real time completions of one writer may be seen out of order.
            self.between += self.began.saturating_since(next.began);
            self.began = self.began.min(next.began);
        } else {
            self.between += next.between + next.began.saturating_since(self.ended);
            let mut booked = self.ended.saturating_since(next.began);
            for part in Part::ALL {
                let span = next.parts.get(part);
                self.parts.add(part, span.saturating_sub(booked));
                booked = booked.saturating_sub(span);
            }
            self.ended = next.ended;
        }
        self.bytes = bytes;
    }
}

impl Writer {
    fn add_write(&mut self, write: CommitLedger) {
        if self.writes.len() == MOST_APART
            && let Some(oldest) = self.writes.pop_front()
        {
            join_or_begin(&mut self.older, &oldest);
        }
        self.writes.push_back(write);
    }

    /// Takes the writes that a sync issued at `issued` covers, added up; `None` if there are none.
    fn take_covered(&mut self, issued: Instant) -> Option<CommitLedger> {
        let mut covered = self.older.take();
        self.writes.retain(|write| {
            let is_covered = write.ended <= issued;
            if is_covered {
                join_or_begin(&mut covered, write);
            }
            !is_covered
        });
        covered
    }
}

fn join_or_begin(sum: &mut Option<CommitLedger>, next: &CommitLedger) {
    match sum {
        Some(sum) => sum.join(next),
        None => *sum = Some(*next),
    }
}

impl CommitRecorder {
    /// A recorder for workers with these rules.
    pub(crate) fn new(rules: Vec<CommitRule>) -> CommitRecorder {
        let writer = |rule| Writer { rule, older: None, writes: VecDeque::new() };
        CommitRecorder {
            writers: rules.into_iter().map(writer).collect(),
            tally: RequestTally::default(),
            between_ns: 0,
        }
    }

    /// Counts a record, after those that completed before it.
    #[inline]
    pub(crate) fn count_record(&mut self, record: &Record) {
        let writer = self.writers.get_mut(usize::from(record.worker));
        let Some(writer) = writer.filter(|writer| writer.rule != CommitRule::Never) else { return };
        if record.completion.status != Status::Done {
            return;
        }
        let flags = record.request.flags;
        let is_forced =
            writer.rule == CommitRule::EachWrite || flags.has(Flags::FUA) || flags.has(Flags::FLUSH_FOLLOWS);
        let request = CommitLedger::of_request(record);
        match record.request.op {
            Op::Write | Op::WriteZeroes if is_forced => self.count_commit(&request),
            Op::Write | Op::WriteZeroes => writer.add_write(request),
            Op::Flush => {
                if let Some(mut commit) = writer.take_covered(record.issued) {
                    commit.join(&request);
                    self.count_commit(&commit);
                }
            }
            Op::Read | Op::Trim | Op::Compute => {}
        }
    }

    fn count_commit(&mut self, commit: &CommitLedger) {
        let CommitLedger { began, ended, parts, between, bytes } = commit;
        self.tally.count_done(ended.since(*began), *bytes, parts);
        self.between_ns += u128::from(between.nanos());
    }

    /// The commits of the run: those of its records, or those of a scene's programs.
    pub(crate) fn finish(self, of_programs: &[ProgramCommit]) -> CommitTally {
        let mut tally = self.tally;
        for commit in of_programs {
            tally.count_done(commit.ended.since(commit.began), commit.bytes, &Parts::NONE);
        }
        CommitTally { tally, between_ns: of_programs.is_empty().then_some(self.between_ns) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_disk::record::Ledger;

    /// A request of worker 0, in µs: it waits in the queue until `at + wait`, then rotates until `done`.
    fn record(op: Op, at: u64, wait: u64, done: u64) -> Record {
        let us = |us| Instant::ZERO + Span::from_micros(us);
        let mut ledger = Ledger::open(us(at));
        ledger.book_until(Part::Queue, us(at + wait));
        ledger.book_until(Part::Rotation, us(done));
        let mut record = Record { issued: us(at), intended: us(at), ..Record::NONE };
        (record.request.op, record.request.sectors) = (op, if op == Op::Flush { 0 } else { 8 });
        (record.completion.finished, record.completion.parts) = (us(done), ledger.parts());
        (record.completion.submitted, record.completion.status) = (us(at), Status::Done);
        record
    }

    /// Number, longest in µs, total in the queue, rotation and in no request in µs, and bytes of the commits.
    fn commits(rule: CommitRule, records: &[Record]) -> (u64, u64, [u64; 3], u64) {
        let mut recorder = CommitRecorder::new(vec![rule]);
        records.iter().for_each(|record| recorder.count_record(record));
        let CommitTally { tally, between_ns } = recorder.finish(&[]);
        let parts = [Part::Queue, Part::Rotation].map(|part| tally.part_sum_ns(part));
        let between = between_ns.unwrap();
        assert_eq!(parts.iter().sum::<u128>() + between, tally.responses().sum_ns(), "all of the time, once");
        let us = |ns: u128| (ns / 1000) as u64;
        let longest = tally.responses().max().map_or(0, |span| us(span.nanos().into()));
        (tally.ios(), longest, [us(parts[0]), us(parts[1]), us(between)], tally.bytes())
    }

    #[test]
    fn a_write_and_its_sync_are_one_commit() {
        // fsync=1: the second commit pauses for 50 µs before its sync.
        let records = [
            record(Op::Write, 0, 10, 100),
            record(Op::Flush, 100, 0, 900),
            record(Op::Write, 1000, 0, 1100),
            record(Op::Flush, 1150, 20, 1300),
        ];
        assert_eq!(commits(CommitRule::BySync, &records), (2, 900, [30, 1120, 50], 8192));
        // A sync without a write before it commits nothing, nor does a write without a sync.
        assert_eq!(commits(CommitRule::BySync, &[&records[1..2], &records[..1]].concat()), (0, 0, [0; 3], 0));
        assert_eq!(commits(CommitRule::Never, &records), (0, 0, [0; 3], 0));
    }

    #[test]
    fn several_writes_and_a_read_lie_between_syncs() {
        // fsync=3, with a read of 40 µs between two writes.
        let records = [
            record(Op::Write, 0, 0, 10),
            record(Op::Read, 10, 0, 50),
            record(Op::Write, 50, 5, 60),
            record(Op::Write, 60, 0, 70),
            record(Op::Flush, 70, 0, 100),
        ];
        assert_eq!(commits(CommitRule::BySync, &records), (1, 100, [5, 55, 40], 3 * 4096));
    }

    #[test]
    fn a_sync_covers_what_completed_before_it_was_issued() {
        // Two in flight: the second write ends during the sync, and the next sync covers it.
        let records = [
            record(Op::Write, 0, 0, 100),
            record(Op::Write, 50, 0, 150),
            record(Op::Flush, 100, 0, 200),
            record(Op::Flush, 300, 0, 400),
        ];
        assert_eq!(commits(CommitRule::BySync, &records), (2, 350, [0, 400, 150], 8192));
    }

    #[test]
    fn time_in_two_writes_at_once_is_counted_once() {
        // The second waits in the queue while the first is served: 60 of its 80 µs there are those of the first.
        let beside = [record(Op::Write, 0, 0, 100), record(Op::Write, 40, 80, 150), record(Op::Flush, 150, 0, 160)];
        assert_eq!(commits(CommitRule::BySync, &beside), (1, 160, [20, 140, 0], 8192));
        // A write around the other is all of the time until the sync.
        let around = [record(Op::Write, 40, 0, 100), record(Op::Write, 0, 110, 150), record(Op::Flush, 150, 0, 160)];
        assert_eq!(commits(CommitRule::BySync, &around), (1, 160, [110, 50, 0], 8192));
        // Out of order, as threads in real time may report them: from 0 to 10 µs no request is booked.
        let late = [record(Op::Write, 10, 0, 100), record(Op::Write, 0, 0, 50), record(Op::Flush, 100, 0, 110)];
        assert_eq!(commits(CommitRule::BySync, &late), (1, 110, [0, 100, 10], 8192));
    }

    #[test]
    fn a_forced_write_is_a_commit_by_itself() {
        let plain = record(Op::Write, 0, 0, 10);
        let forced = |flag| {
            let mut record = record(Op::Write, 10, 0, 90);
            record.request.flags = flag;
            record
        };
        let flush = record(Op::Flush, 100, 0, 150);
        for flag in [Flags::FUA, Flags::FLUSH_FOLLOWS] {
            let found = commits(CommitRule::BySync, &[plain, forced(flag), flush]);
            assert_eq!(found, (2, 150, [0, 80 + 60, 90], 8192), "80 µs, and 150 µs of the plain write and the flush");
        }
        assert_eq!(commits(CommitRule::EachWrite, &[plain, flush]), (1, 10, [0, 10, 0], 4096));
    }

    #[test]
    fn a_request_that_failed_commits_nothing() {
        let [mut write, mut flush] = [record(Op::Write, 0, 0, 10), record(Op::Flush, 10, 0, 20)];
        flush.completion.status = Status::MediumError;
        // The next sync covers the write.
        let again = record(Op::Flush, 20, 0, 60);
        assert_eq!(commits(CommitRule::BySync, &[write, flush, again]), (1, 60, [0, 50, 10], 4096));
        write.completion.status = Status::MediumError;
        assert_eq!(commits(CommitRule::BySync, &[write, again]), (0, 0, [0; 3], 0));
    }

    #[test]
    fn a_commit_of_many_writes_takes_no_more_memory() {
        let count = 3 * MOST_APART as u64;
        let mut records: Vec<Record> = (0..count).map(|at| record(Op::Write, 10 * at, 0, 10 * at + 8)).collect();
        records.push(record(Op::Flush, 10 * count, 0, 10 * count + 100));
        let found = commits(CommitRule::BySync, &records);
        assert_eq!(found, (1, 10 * count + 100, [0, 8 * count + 100, 2 * count], 4096 * count));
        let mut recorder = CommitRecorder::new(vec![CommitRule::BySync]);
        records[..records.len() - 1].iter().for_each(|record| recorder.count_record(record));
        assert_eq!(recorder.writers[0].writes.len(), MOST_APART);
    }

    #[test]
    fn commits_of_programs_have_no_parts() {
        let at = |us| Instant::ZERO + Span::from_micros(us);
        let commit = ProgramCommit { began: at(5), ended: at(30), bytes: 600 };
        let found = CommitRecorder::new(Vec::new()).finish(&[commit]);
        assert_eq!((found.tally.ios(), found.tally.bytes(), found.between_ns), (1, 600, None));
        assert_eq!(found.tally.responses().max(), Some(Span::from_micros(25)));
    }
}
