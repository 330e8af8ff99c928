//! Counts of a run's requests, by kind and by group of workers.
//!
//! A [`RunRecorder`] takes records one by one on the hot path; each touches one [`RequestTally`]. Everything else (reads and writes
//! together, a group, several runs) is a merge of tallies afterwards, exact because every count in them is an integer. A failed request has
//! no meaningful response time; it counts as failed and in nothing else.

use super::histogram::Histogram;
use seekwise_disk::block::{Op, SECTOR, Status};
use seekwise_disk::record::{Part, Parts, Record};
use seekwise_disk::time::Span;
use seekwise_work::workload::Window;

/// Kinds of request that are counted separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum RequestKind {
    Read,
    Write,
    /// Ranges without data on the link (trims and runs of zeroes), with the bytes of the range.
    Trim,
    /// Without bytes.
    Flush,
    /// Processor work of the program itself, without bytes.
    Compute,
}

impl RequestKind {
    /// Number of kinds.
    pub const COUNT: usize = 5;
    /// All kinds.
    pub const ALL: [RequestKind; RequestKind::COUNT] =
        [RequestKind::Read, RequestKind::Write, RequestKind::Trim, RequestKind::Flush, RequestKind::Compute];

    /// The kind of a request for `op`.
    pub const fn from_op(op: Op) -> RequestKind {
        match op {
            Op::Read => RequestKind::Read,
            Op::Write => RequestKind::Write,
            Op::WriteZeroes | Op::Trim => RequestKind::Trim,
            Op::Flush => RequestKind::Flush,
            Op::Compute => RequestKind::Compute,
        }
    }

    /// The name in results.
    pub const fn name(self) -> &'static str {
        match self {
            RequestKind::Read => "read",
            RequestKind::Write => "write",
            RequestKind::Trim => "trim",
            RequestKind::Flush => "flush",
            RequestKind::Compute => "compute",
        }
    }
}

/// Counts over some requests, without the time they took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestTally {
    responses: Histogram,
    /// Times since due, of requests that were due at an instant of their own.
    since_due: Histogram,
    /// Sum over these of the wait to be issued.
    backlog_ns: u128,
    /// The longest of these waits.
    longest_backlog: Span,
    /// Bytes of these.
    bytes_due: u64,
    bytes: u64,
    /// Sums of the parts of response times: millions of requests that wait hours for an overloaded drive take more than 64 bits.
    parts_ns: [u128; Part::COUNT],
    failed: u64,
    /// Those for which an array read old data or parity first.
    read_modify_writes: u64,
    /// Those for which an array read the rest of a row first.
    reconstruct_writes: u64,
}

impl RequestTally {
    /// Counts a request that was due at an instant of its own, with the time since then.
    #[inline]
    fn count_due_request(&mut self, record: &Record) {
        if record.completion.status == Status::Done {
            let backlog = record.issue_delay();
            self.since_due.record(record.time_since_due());
            self.backlog_ns += u128::from(backlog.nanos());
            self.longest_backlog = self.longest_backlog.max(backlog);
            self.bytes_due += u64::from(record.request.sectors) * SECTOR;
        }
    }

    /// Counts a record.
    #[inline]
    pub(crate) fn count_record(&mut self, record: &Record) {
        let done = &record.completion;
        if done.status != Status::Done {
            self.failed += 1;
            return;
        }
        let moves = !matches!(record.request.op, Op::Flush | Op::Compute);
        let bytes = if moves { u64::from(record.request.sectors) * SECTOR } else { 0 };
        self.read_modify_writes += u64::from(done.effort.modify_reads > 0);
        self.reconstruct_writes += u64::from(done.effort.reconstruct_reads > 0);
        self.count_done(record.response_time(), bytes, &done.parts);
    }

    /// Counts one that is done, with its parts.
    #[inline]
    pub(crate) fn count_done(&mut self, response: Span, bytes: u64, parts: &Parts) {
        self.responses.record(response);
        for (sum, part) in self.parts_ns.iter_mut().zip(parts.nanos()) {
            *sum = sum.wrapping_add(u128::from(*part));
        }
        self.bytes += bytes;
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &RequestTally) {
        self.responses.merge(&other.responses);
        self.since_due.merge(&other.since_due);
        self.backlog_ns += other.backlog_ns;
        self.longest_backlog = self.longest_backlog.max(other.longest_backlog);
        self.bytes_due += other.bytes_due;
        self.bytes += other.bytes;
        for (sum, more) in self.parts_ns.iter_mut().zip(other.parts_ns) {
            *sum += more;
        }
        self.failed += other.failed;
        self.read_modify_writes += other.read_modify_writes;
        self.reconstruct_writes += other.reconstruct_writes;
    }

    /// Requests done.
    pub fn ios(&self) -> u64 {
        self.responses.count()
    }

    /// Requests that ended with an error; they are in no other figure.
    pub fn failed(&self) -> u64 {
        self.failed
    }

    /// Requests done for which an array read old data or parity before it could write.
    pub fn read_modify_writes(&self) -> u64 {
        self.read_modify_writes
    }

    /// Requests done for which an array read the rest of a row before it could write.
    pub fn reconstruct_writes(&self) -> u64 {
        self.reconstruct_writes
    }

    /// Bytes of the requests done.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Response times: from when a request was issued until it was done.
    pub fn responses(&self) -> &Histogram {
        &self.responses
    }

    /// Times from when requests were due until they were done, of those that were due at an instant of their own.
    pub fn since_due(&self) -> &Histogram {
        &self.since_due
    }

    /// Bytes of the requests that were due at an instant of their own.
    pub(crate) fn bytes_due(&self) -> u64 {
        self.bytes_due
    }

    /// Mean time that requests with an instant of their own waited to be issued.
    pub(crate) fn mean_backlog_ns(&self) -> Option<f64> {
        let count = self.since_due.count();
        (count > 0).then(|| self.backlog_ns as f64 / count as f64)
    }

    /// The longest time that a request with an instant of its own waited to be issued.
    pub(crate) fn longest_backlog(&self) -> Span {
        self.longest_backlog
    }

    /// Total time in `part`, exact; the sum over all parts is that of the response times.
    pub(crate) fn part_sum_ns(&self, part: Part) -> u128 {
        self.parts_ns[part as usize]
    }

    /// Mean time that a request spent in `part`.
    pub(crate) fn mean_part_ns(&self, part: Part) -> Option<f64> {
        self.mean_per_request(self.part_sum_ns(part))
    }

    fn mean_per_request(&self, total: u128) -> Option<f64> {
        (self.ios() > 0).then(|| total as f64 / self.ios() as f64)
    }
}

/// A tally and the time in which it was counted.
#[derive(Clone, Debug, PartialEq)]
pub struct TallySummary {
    pub tally: RequestTally,
    /// The counted time, summed over merged runs.
    pub elapsed: Span,
}

impl TallySummary {
    /// Requests done per second; 0 if no time passed.
    pub fn iops(&self) -> f64 {
        self.per_second(self.tally.ios())
    }

    /// Bytes per second; 0 if no time passed.
    pub fn bytes_per_s(&self) -> f64 {
        self.per_second(self.tally.bytes())
    }

    fn per_second(&self, count: u64) -> f64 {
        match self.elapsed.nanos() {
            0 => 0.0,
            ns => count as f64 / (ns as f64 / 1e9),
        }
    }
}

/// The counts of a group of workers, by kind of request.
type KindTallies = [RequestTally; RequestKind::COUNT];

/// Counts the records of a run.
#[derive(Clone, Debug)]
pub struct RunRecorder {
    /// By worker, the index of its group.
    group_of: Vec<u16>,
    /// By worker, whether its requests are due at instants of their own, whatever the device does. Empty if no worker's are.
    due: Vec<bool>,
    groups: Vec<KindTallies>,
}

impl RunRecorder {
    /// Makes a recorder: worker w counts in group `group_of_worker[w]`. `&[0]` is one worker in one group.
    pub fn new(group_of_worker: &[u16]) -> RunRecorder {
        let count = group_of_worker.iter().map(|&group| usize::from(group) + 1).max().unwrap_or(0);
        RunRecorder { group_of: group_of_worker.to_vec(), due: Vec::new(), groups: vec![KindTallies::default(); count] }
    }

    /// Sets, by worker, whether its requests are due at instants of an arrival process.
    pub(crate) fn with_due_workers(self, has_due_times: &[bool]) -> RunRecorder {
        RunRecorder { due: has_due_times.to_vec(), ..self }
    }

    /// Counts a record. Panics if its worker has no group.
    #[inline]
    pub(crate) fn count_record(&mut self, record: &Record) {
        let worker = usize::from(record.worker);
        let tally =
            &mut self.groups[usize::from(self.group_of[worker])][RequestKind::from_op(record.request.op) as usize];
        tally.count_record(record);
        // A flush is due when what came before it is done: it has no instant of its own.
        if !matches!(record.request.op, Op::Flush | Op::Compute) && self.due.get(worker).is_some_and(|due| *due) {
            tally.count_due_request(record);
        }
    }

    /// The counts of the run, of workers with these windows (`None` for one that never began). A group's time is from its first worker's
    /// beginning to its last worker's end; the run's time is that in which any group counts, without ramps between stages of a job.
    pub fn finish(self, worker_windows: &[Option<Window>]) -> RunTally {
        let group_windows = self.group_windows(worker_windows);
        let length = |window: &Window| window.until.saturating_since(window.from);
        let elapsed = join_windows(&group_windows).iter().map(length).fold(Span::ZERO, |sum, span| sum + span);
        let windows = group_windows.iter().map(|window| window.as_ref().map_or(Span::ZERO, length)).collect();
        RunTally { elapsed, windows, groups: self.groups }
    }

    /// The stretches of time in which any group counts, in order.
    pub(crate) fn counted_windows(&self, worker_windows: &[Option<Window>]) -> Vec<Window> {
        join_windows(&self.group_windows(worker_windows))
    }

    /// By group: from its first worker's beginning to its last worker's end.
    fn group_windows(&self, worker_windows: &[Option<Window>]) -> Vec<Option<Window>> {
        let mut windows: Vec<Option<Window>> = vec![None; self.groups.len()];
        for (&group, window) in self.group_of.iter().zip(worker_windows) {
            let group_window = &mut windows[usize::from(group)];
            *group_window = window
                .map(|window| match group_window {
                    None => window,
                    Some(joined) => {
                        Window { from: joined.from.min(window.from), until: joined.until.max(window.until) }
                    }
                })
                .or(*group_window);
        }
        windows
    }

    /// The counts of the run, with each group and the whole counted for `elapsed`.
    #[cfg(test)]
    pub(crate) fn finish_after(self, elapsed: Span) -> RunTally {
        RunTally { elapsed, windows: vec![elapsed; self.groups.len()], groups: self.groups }
    }
}

/// The windows in order of time; those that touch or overlap become one.
fn join_windows(windows: &[Option<Window>]) -> Vec<Window> {
    let mut windows: Vec<Window> = windows.iter().flatten().copied().collect();
    windows.sort_unstable_by_key(|window| (window.from, window.until));
    let mut joined: Vec<Window> = Vec::new();
    for window in windows {
        match joined.last_mut() {
            Some(before) if window.from <= before.until => before.until = before.until.max(window.until),
            _ => joined.push(window),
        }
    }
    joined
}

/// The counts of one run, or of several merged runs of the same job.
#[derive(Clone, Debug, PartialEq)]
pub struct RunTally {
    elapsed: Span,
    /// By group: how long it was counted.
    windows: Vec<Span>,
    groups: Vec<KindTallies>,
}

impl RunTally {
    /// The counted time.
    pub fn elapsed(&self) -> Span {
        self.elapsed
    }

    /// Number of groups of workers.
    pub fn group_count(&self) -> usize {
        self.groups.len()
    }

    /// The requests of one kind, over all groups.
    pub fn kind_summary(&self, kind: RequestKind) -> TallySummary {
        self.merge_kinds(&self.groups, self.elapsed, &[kind])
    }

    /// Reads and writes together, over all groups. Trims, flushes and processor work move no data and stay separate.
    pub fn reads_and_writes(&self) -> TallySummary {
        self.merge_kinds(&self.groups, self.elapsed, &[RequestKind::Read, RequestKind::Write])
    }

    /// The requests of one kind in one group. Panics if there is no such group.
    pub fn group_kind_summary(&self, group: usize, kind: RequestKind) -> TallySummary {
        self.merge_kinds(&self.groups[group..=group], self.windows[group], &[kind])
    }

    /// Reads and writes of one group. Panics if there is no such group.
    pub fn group_reads_and_writes(&self, group: usize) -> TallySummary {
        self.merge_kinds(&self.groups[group..=group], self.windows[group], &[RequestKind::Read, RequestKind::Write])
    }

    /// Requests of every kind that ended with an error.
    pub fn failed(&self) -> u64 {
        self.groups.iter().flatten().map(RequestTally::failed).sum()
    }

    /// Adds another run of the same job; the times add up, so rates become those of both runs together. Panics if the
    /// groups differ in number.
    pub fn merge(&mut self, other: &RunTally) {
        assert_eq!(self.groups.len(), other.groups.len(), "runs of one job have the same groups");
        self.elapsed += other.elapsed;
        self.windows.iter_mut().zip(&other.windows).for_each(|(window, more)| *window += *more);
        for (tally, more) in self.groups.iter_mut().flatten().zip(other.groups.iter().flatten()) {
            tally.merge(more);
        }
    }

    fn merge_kinds(&self, groups: &[KindTallies], elapsed: Span, kinds: &[RequestKind]) -> TallySummary {
        let mut tally = RequestTally::default();
        for group in groups {
            kinds.iter().for_each(|&kind| tally.merge(&group[kind as usize]));
        }
        TallySummary { tally, elapsed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_disk::block::{Completion, Flags, Request};
    use seekwise_disk::record::{Effort, Ledger};
    use seekwise_disk::rng::Seed;
    use seekwise_disk::time::Instant;

    #[test]
    fn centuries_of_waiting_are_added_up() {
        let mut tally = RequestTally::default();
        // In microseconds: 36 years each.
        let long = record(0, Op::Read, 0, 1 << 50, 1 << 40);
        (0..20).for_each(|_| tally.count_record(&long));
        assert_eq!(tally.part_sum_ns(Part::Seek), 20_000u128 << 50);
    }

    /// A request of `worker` due at `at` µs that waits 10 µs for the driver, then `seek` and `transfer` µs.
    fn record(worker: u16, op: Op, at: u64, seek: u64, transfer: u64) -> Record {
        let at = Instant::ZERO + Span::from_micros(at);
        let accepted = at + Span::from_micros(10);
        let mut ledger = Ledger::open(at);
        ledger.book_until(Part::Driver, accepted);
        ledger.book_until(Part::Seek, accepted + Span::from_micros(seek));
        ledger.book_until(Part::Transfer, accepted + Span::from_micros(seek + transfer));
        let (finished, parts) = (ledger.booked_until(), ledger.parts());
        let request = Request { tag: 0, unit: 0, origin: 0, op, flags: Flags::NONE, lba: 0, sectors: 8, stamp: 0 };
        let completion = Completion {
            tag: 0,
            status: Status::Done,
            submitted: accepted,
            finished,
            parts,
            effort: Effort::default(),
        };
        Record { worker, request, intended: at, issued: at, completion }
    }

    #[test]
    fn a_run_is_counted_by_kind_and_group() {
        let mut recorder = RunRecorder::new(&[0, 1, 1]);
        recorder.count_record(&record(0, Op::Read, 100, 5_000, 100));
        recorder.count_record(&record(1, Op::Read, 200, 3_000, 100));
        recorder.count_record(&record(2, Op::Write, 300, 1_000, 300));
        recorder.count_record(&record(2, Op::Flush, 400, 8_000, 0));
        recorder.count_record(&record(2, Op::Trim, 500, 0, 1));
        let run = recorder.finish_after(Span::from_millis(10));
        assert_eq!(RequestKind::ALL.map(|kind| run.kind_summary(kind).tally.ios()), [2, 1, 1, 1, 0]);
        assert_eq!(
            (run.group_count(), run.group_reads_and_writes(0).tally.ios(), run.group_reads_and_writes(1).tally.ios()),
            (2, 1, 2)
        );
        assert_eq!(run.group_kind_summary(1, RequestKind::Read).tally.ios(), 1);
        let all = run.reads_and_writes();
        assert_eq!(
            (all.tally.ios(), all.tally.bytes(), run.kind_summary(RequestKind::Flush).tally.bytes()),
            (3, 3 * 4096, 0)
        );
        // 3 requests of 4096 bytes in 10 ms.
        assert_eq!((all.iops(), all.bytes_per_s()), (300.0, 1_228_800.0));
        assert_eq!(all.tally.mean_part_ns(Part::Seek), Some(3_000_000.0));
        assert_eq!(all.tally.responses().mean_ns(), Some((5_110_000 + 3_110_000 + 1_310_000) as f64 / 3.0));
    }

    /// Requests with an instant of their own count from that on, too; a flush has none, and nor has a worker without a
    /// rate.
    #[test]
    fn what_was_due_by_itself_is_counted_from_then_on() {
        let due = |at: u64, record: Record| Record { intended: Instant::ZERO + Span::from_micros(at), ..record };
        let mut failed = due(100, record(0, Op::Read, 5_000, 10, 10));
        failed.completion.status = Status::MediumError;
        let mut recorder = RunRecorder::new(&[0, 0]).with_due_workers(&[true, false]);
        for record in [
            due(400, record(0, Op::Read, 1_000, 5_000, 100)),
            due(1_800, record(0, Op::Write, 2_000, 1_000, 0)),
            due(1_900, record(0, Op::Trim, 2_000, 0, 50)),
            due(100, record(0, Op::Flush, 3_000, 10, 0)),
            due(100, record(1, Op::Read, 3_000, 500, 0)),
            failed,
        ] {
            recorder.count_record(&record);
        }
        let run = recorder.finish_after(Span::from_millis(10));
        let all = run.reads_and_writes().tally;
        // Eight sectors each; waits of 600 and 200 us; 10, 5000 and 100 us, and 10 and 1000, after them.
        assert_eq!((all.ios(), all.bytes(), all.bytes_due()), (3, 3 * 4096, 2 * 4096));
        assert_eq!((all.mean_backlog_ns(), all.longest_backlog()), (Some(400_000.0), Span::from_micros(600)));
        let ends = [all.since_due().min(), all.since_due().max()];
        assert_eq!((all.since_due().count(), ends), (2, [1_210, 5_710].map(|us| Some(Span::from_micros(us)))));
        let of = |kind: RequestKind| {
            let tally = run.kind_summary(kind).tally;
            (tally.since_due().count(), tally.bytes_due(), tally.mean_backlog_ns())
        };
        assert_eq!(of(RequestKind::Read), (1, 4096, Some(600_000.0)));
        assert_eq!(of(RequestKind::Trim), (1, 4096, Some(100_000.0)));
        assert_eq!(of(RequestKind::Flush), (0, 0, None));
    }

    #[test]
    fn a_pause_between_groups_counts_for_nobody() {
        let mut recorder = RunRecorder::new(&[0, 1, 2]);
        recorder.count_record(&record(0, Op::Read, 0, 1_000, 0));
        recorder.count_record(&record(1, Op::Read, 5_000, 2_000, 0));
        recorder.count_record(&record(2, Op::Read, 6_000, 3_000, 0));
        let window = |from, until| {
            let at = |us| Instant::ZERO + Span::from_micros(us);
            Some(Window { from: at(from), until: at(until) })
        };
        let run = recorder.finish(&[window(0, 1_010), window(5_000, 7_010), window(6_000, 9_010)]);
        // 0 to 1.01 ms, and 5 to 9.01 ms; the last two groups overlap.
        assert_eq!(run.elapsed(), Span::from_micros(1_010 + 4_010));
        assert_eq!(run.group_reads_and_writes(1).elapsed, Span::from_micros(2_010));
    }

    #[test]
    fn a_group_counts_from_its_first_worker_to_its_last_and_one_that_never_began_not_at_all() {
        let at = |us| Instant::ZERO + Span::from_micros(us);
        let window = |from, until| Some(Window { from: at(from), until: at(until) });
        let run = RunRecorder::new(&[0, 0, 1]).finish(&[window(10, 20), window(5, 12), None]);
        assert_eq!(
            (run.group_reads_and_writes(0).elapsed, run.group_reads_and_writes(1).elapsed),
            (Span::from_micros(15), Span::ZERO)
        );
        assert_eq!(run.elapsed(), Span::from_micros(15));
    }

    #[test]
    fn a_failed_request_is_in_no_figure_but_one() {
        let mut recorder = RunRecorder::new(&[0]);
        let mut failed = record(0, Op::Read, 0, 1, 1);
        failed.completion.status = Status::MediumError;
        recorder.count_record(&failed);
        let mut run = recorder.finish_after(Span::ZERO);
        let all = run.reads_and_writes();
        assert_eq!(
            (run.failed(), all.tally.failed(), all.tally.ios(), all.tally.bytes(), all.iops()),
            (1, 1, 0, 0, 0.0)
        );
        assert_eq!(all.tally.mean_part_ns(Part::Seek), None);
        run.merge(&run.clone());
        assert_eq!(run.failed(), 2);
    }

    fn random_run(seed: u64, n: u64) -> Vec<Record> {
        let mut rng = Seed(seed).stream("records");
        let ops = [Op::Read, Op::Write, Op::WriteZeroes, Op::Flush, Op::Trim];
        let mut one = |at| {
            let (worker, op) = (rng.below(3) as u16, ops[rng.below(5) as usize]);
            record(worker, op, at, rng.below(9_000), rng.below(2_000))
        };
        (0..n).map(|at| one(at * 50)).collect()
    }

    #[test]
    fn parts_sum_to_responses_and_merging_is_counting_all() {
        let (first, second) = (random_run(1, 400), random_run(2, 300));
        let count = |records: &[Record], ms| {
            let mut recorder = RunRecorder::new(&[0, 1, 0]);
            records.iter().for_each(|record| recorder.count_record(record));
            recorder.finish_after(Span::from_millis(ms))
        };
        let mut merged = count(&first, 20);
        merged.merge(&count(&second, 15));
        let both = count(&[first, second].concat(), 35);
        assert_eq!(merged, both);
        for kind in RequestKind::ALL {
            let counted = merged.kind_summary(kind).tally;
            assert_eq!(
                Part::ALL.map(|part| counted.part_sum_ns(part)).iter().sum::<u128>(),
                counted.responses.sum_ns()
            );
        }
        assert_eq!(
            merged.reads_and_writes().tally.ios()
                + RequestKind::ALL[2..].iter().map(|&k| merged.kind_summary(k).tally.ios()).sum::<u64>(),
            700
        );
    }
}
