//! Sources on devices: several joined sources, a source with requests from outside, a job through a page cache,
//! computing with and without a processor.

use std::collections::VecDeque;

use seekwise_disk::block::{Accounting, Completion, Device, Flags, Limits, Op, Request, Source, SourcePoll};
use seekwise_disk::engine::Engine;
use seekwise_disk::engine::computing::ComputeSource;
use seekwise_disk::engine::fingerprint::Fingerprint;
use seekwise_disk::engine::joined_sources::JoinedSources;
use seekwise_disk::host::processor::{Processor, ProcessorSpec};
use seekwise_disk::queue::Policy;
use seekwise_disk::record::Record;
use seekwise_disk::testing::SmallDrive;
use seekwise_disk::time::{Instant, Span};
use seekwise_work::files::buffered_source::{BufferedSource, BufferedSpec, FileOpenFlags};
use seekwise_work::files::pagecache::PageCacheSpec;
use seekwise_work::files::system::{SystemFamily, SystemSpec};
use seekwise_work::workload::replay::{Replay, ReplayRow, Timing};

const BLANK: Request =
    Request { tag: 0, unit: 0, origin: 0, op: Op::Read, flags: Flags::NONE, lba: 0, sectors: 8, stamp: 0 };

fn trace_rows(count: u64, op: Op) -> Vec<ReplayRow> {
    let row = |i: u64| ReplayRow {
        op,
        lba: i * 517 % 5_000,
        sectors: 8,
        arrival: Span::from_micros(i * 3_000),
        think: Span::from_micros(i % 7 * 100),
    };
    (0..count).map(row).collect()
}

fn run_to_end<S: Source>(source: S, device: impl Device) -> (Vec<Record>, S) {
    let mut records = Vec::new();
    let mut engine = Engine::new(source, device);
    engine.run(Instant::FAR, &mut |record: &Record| records.push(*record)).expect("runs");
    assert!(engine.is_over());
    (records, engine.into_parts().0)
}

fn small_drive() -> impl Device {
    SmallDrive::default().with_queue(8, Policy::Fcfs).drive()
}

/// The part of a record that does not depend on other sources.
fn operation_and_lba(record: &Record) -> (Op, u64) {
    (record.request.op, record.request.lba)
}

#[test]
fn joined_sources_share_a_device_and_are_told_apart() {
    let (reads, writes) = (trace_rows(40, Op::Read), trace_rows(25, Op::Write));
    let boxed = |rows, timing| Box::new(Replay::new(rows, timing)) as Box<dyn Source + '_>;
    let joined = JoinedSources::new()
        .with_source(boxed(&reads, Timing::Think), 3)
        .with_source(boxed(&writes, Timing::Arrival), 1);
    assert_eq!(joined.sources_with_first_origin().map(|(first, _)| first).collect::<Vec<_>>(), [0, 3]);
    let (all, _) = run_to_end(joined, small_drive());
    for (origin, rows) in [(0, &reads), (3, &writes)] {
        let mut own: Vec<&Record> = all.iter().filter(|record| record.request.origin == origin).collect();
        assert!(own.iter().all(|record| record.worker == origin));
        own.sort_by_key(|record| record.request.stamp);
        assert!(own.iter().map(|record| operation_and_lba(record)).eq(rows.iter().map(|row| (row.op, row.lba))));
    }
    let turns = all.windows(2).filter(|pair| pair[0].worker != pair[1].worker).count();
    assert!(turns > 4, "they run beside one another: {turns}");
}

#[test]
fn a_source_joined_to_none_is_as_it_was() {
    let rows = trace_rows(60, Op::Read);
    for timing in [Timing::Think, Timing::Arrival] {
        let (alone, _) = run_to_end(Replay::new(&rows, timing), small_drive());
        let (joined, _) = run_to_end(JoinedSources::new().with_source(Replay::new(&rows, timing), 1), small_drive());
        assert_eq!(format!("{alone:?}"), format!("{joined:?}"));
    }
}

/// A source of forced writes, each with its flush.
struct ForcedWrites(u32);

impl Source for ForcedWrites {
    fn next(&mut self, _: Instant) -> SourcePoll {
        self.0 += 1;
        let write = Request { op: Op::Write, flags: Flags::PRIORITY.with(Flags::FLUSH_FOLLOWS), ..BLANK };
        SourcePoll::Request(if self.0.is_multiple_of(2) {
            Request { op: Op::Flush, sectors: 0, ..BLANK }
        } else {
            write
        })
    }
    fn complete(&mut self, _: Instant, _: &Completion) -> Accounting {
        Accounting::Out
    }
}

#[test]
fn a_fingerprint_is_of_the_requests_and_takes_the_mark_off_where_nobody_watches() {
    let issued = |most, watched: bool| {
        let mut source = Fingerprint::new(ForcedWrites(0), most);
        if watched {
            source.keep_flush_flag();
        }
        let mut flags = Vec::new();
        while let SourcePoll::Request(request) = source.next(Instant::ZERO) {
            flags.push(request.flags);
        }
        assert_eq!(source.issued_requests(), most);
        (flags, source.hash())
    };
    let (plain, hash) = issued(4, false);
    assert_eq!(plain, [Flags::PRIORITY, Flags::NONE, Flags::PRIORITY, Flags::NONE]);
    let (marked, same) = issued(4, true);
    assert!(marked[0].has(Flags::FLUSH_FOLLOWS) && marked[0].has(Flags::PRIORITY));
    assert_eq!(hash, same, "a mark is no part of what is asked");
    assert_ne!(hash, issued(5, false).1);
}

/// A job whose reads and writes go through a page cache of 1 MiB.
fn buffered_source(rows: &[ReplayRow], through: bool) -> BufferedSource<Replay<'_>> {
    let drive = SmallDrive::default().with_buffer(4, 64).with_write_back(2).drive();
    buffered_source_on(rows, through, &Limits { max_transfer: 256, ..drive.limits(0) })
}

/// As [`buffered_source`], on a device with these limits.
fn buffered_source_on<'r>(rows: &'r [ReplayRow], through: bool, limits: &Limits) -> BufferedSource<Replay<'r>> {
    let cache = PageCacheSpec::linux(1 << 20);
    let system = SystemSpec { family: SystemFamily::Linux, largest: u32::MAX, cache: Some(cache) };
    let opening = FileOpenFlags { direct: false, through, invalidate: true };
    BufferedSource::new(Replay::new(rows, Timing::Think), &BufferedSpec { system, workers: vec![opening] }, limits)
}

fn trace_row(op: Op, lba: u64, sectors: u32) -> ReplayRow {
    ReplayRow { op, lba, sectors, arrival: Span::ZERO, think: Span::ZERO }
}

#[test]
fn what_is_in_memory_is_read_from_there() {
    let rows = [trace_row(Op::Read, 1000, 8); 50];
    let source = ComputeSource::new(buffered_source(&rows, false), &small_drive().limits(0));
    let (records, source) = run_to_end(source, small_drive());
    assert_eq!(records.len(), 50, "each is recorded, though the device had one");
    assert!(
        records[0].response_time() > Span::from_millis(1),
        "the first is the drive's: {:?}",
        records[0].response_time()
    );
    for record in &records[1..] {
        // A call is 2 us, and 4,096 bytes at 600 MB/s are 6.8: whole microseconds are waited for, the rest is carried
        // over.
        assert!((8_000..=9_000).contains(&record.response_time().nanos()), "{record:?}");
        assert_eq!(record.completion.parts.total(), record.response_time());
        assert_eq!(operation_and_lba(record), (Op::Read, 1000));
    }
    let reads = source.into_source().cached_reads();
    assert_eq!((reads.asked, reads.fetched), (50 * 4096, 4096));
}

/// A source that keeps the lengths of its reads, in sectors.
struct ReadLengths<S>(S, Vec<u32>);

impl<S: Source> Source for ReadLengths<S> {
    fn next(&mut self, now: Instant) -> SourcePoll {
        let next = self.0.next(now);
        if let SourcePoll::Request(Request { op: Op::Read, sectors, .. }) = next {
            self.1.push(sectors);
        }
        next
    }
    fn complete(&mut self, now: Instant, completion: &Completion) -> Accounting {
        self.0.complete(now, completion)
    }
}

#[test]
fn read_ahead_grows_to_two_rows_of_the_array_below() {
    let rows: Vec<ReplayRow> = (0..600).map(|page| trace_row(Op::Read, page * 8, 8)).collect();
    let longest = |row_kib: u32| {
        let limits = Limits { optimal_transfer: 2 * row_kib, ..small_drive().limits(0) };
        let source = ReadLengths(buffered_source_on(&rows, false, &limits), Vec::new());
        let (records, source) = run_to_end(ComputeSource::new(source, &limits), small_drive());
        assert_eq!(records.len(), rows.len());
        source.into_source().1.into_iter().max().expect("it read") / 2
    };
    assert_eq!([0, 64, 128, 200].map(longest), [128, 128, 256, 400]);
}

#[test]
fn a_flush_writes_out_what_is_dirty_and_a_handle_that_writes_through_each_write() {
    let writes = |count: u64| (0..count).map(|i| trace_row(Op::Write, i * 400, 8)).collect::<Vec<_>>();
    let run = |rows: &[ReplayRow], through| {
        let source =
            Fingerprint::new(ComputeSource::new(buffered_source(rows, through), &small_drive().limits(0)), u64::MAX);
        let (records, source) = run_to_end(source, SmallDrive::default().with_buffer(4, 64).with_write_back(2).drive());
        (records, source.issued_requests())
    };
    let quick = |record: &Record| record.response_time() < Span::from_micros(20);
    let (records, issued) = run(&writes(10), false);
    assert!(records.iter().all(quick) && issued == 0, "{issued}: they stay in memory");
    let (records, issued) = run(&[writes(10), vec![trace_row(Op::Flush, 0, 0)]].concat(), false);
    assert!(records[..10].iter().all(quick) && !quick(&records[10]), "the flush waits for them");
    assert_eq!((records[10].request.op, issued), (Op::Flush, 11), "ten writes and a flush");
    let (records, issued) = run(&writes(10), true);
    assert!(!records.iter().any(quick));
    assert_eq!(issued, 20, "a write and a flush each");
}

/// A source that issues the requests brought to it, and never ends.
#[derive(Default)]
struct OutsideSource {
    brought: VecDeque<Request>,
}

impl Source for OutsideSource {
    fn next(&mut self, _: Instant) -> SourcePoll {
        self.brought.pop_front().map_or(SourcePoll::Completion, SourcePoll::Request)
    }
    fn complete(&mut self, _: Instant, completion: &Completion) -> Accounting {
        Accounting::In { worker: 0, intended: completion.submitted, served: None }
    }
}

#[test]
fn what_comes_from_outside_is_issued_at_the_step_after() {
    let rows = trace_rows(40, Op::Read);
    let (mut planned, _) = run_to_end(Replay::new(&rows, Timing::Arrival), small_drive());
    let mut brought = Vec::new();
    let mut engine = Engine::new(OutsideSource::default(), small_drive());
    let mut record = |record: &Record| brought.push(*record);
    engine.step(Instant::ZERO, &mut record).expect("steps");
    assert_eq!(engine.poll_timeout(), None, "nothing comes by itself");
    for (tag, row) in rows.iter().enumerate() {
        let at = Instant::ZERO + row.arrival;
        // The waiting host steps through the instants that come before the client's.
        while let Some(next) = engine.poll_timeout().filter(|&next| next <= at) {
            engine.step(next, &mut record).expect("steps");
        }
        engine.source_mut().brought.push_back(Request { tag: tag as u32, lba: row.lba, ..BLANK });
        engine.step(at, &mut record).expect("steps");
    }
    while let Some(next) = engine.poll_timeout() {
        engine.step(next, &mut record).expect("steps");
    }
    let figures = |record: &Record| (record.request.lba, record.completion.finished);
    planned.sort_by_key(|record| record.request.stamp);
    brought.sort_by_key(|record| record.request.stamp);
    assert!(brought.iter().map(figures).eq(planned.iter().map(figures)));
}

/// A program that three times reads, then computes for 300 us, and records when the computing was over.
#[derive(Default)]
struct ComputingProgram {
    steps: u32,
    in_flight: bool,
    computed: Vec<Instant>,
}

impl Source for ComputingProgram {
    fn next(&mut self, _: Instant) -> SourcePoll {
        match (self.in_flight, self.steps) {
            (true, _) => return SourcePoll::Completion,
            (false, 6) => return SourcePoll::Done,
            _ => {}
        }
        self.in_flight = true;
        self.steps += 1;
        SourcePoll::Request(match self.steps % 2 {
            0 => Request { op: Op::Compute, sectors: 300, ..BLANK },
            _ => Request { lba: u64::from(self.steps) * 700, ..BLANK },
        })
    }

    fn complete(&mut self, now: Instant, completion: &Completion) -> Accounting {
        assert_eq!(completion.finished, now);
        assert_eq!(completion.parts.total(), completion.finished.since(completion.submitted));
        self.in_flight = false;
        if self.steps.is_multiple_of(2) {
            assert_eq!(completion.finished.since(completion.submitted), Span::from_micros(300));
            self.computed.push(now);
        }
        Accounting::In { worker: 0, intended: completion.submitted, served: None }
    }
}

#[test]
fn computing_passes_as_time_where_there_is_no_processor() {
    let run = |device: Box<dyn Device>| {
        let source = ComputeSource::new(ComputingProgram::default(), &device.limits(0));
        let (records, source) = run_to_end(source, device);
        (records.len(), source.into_source().computed)
    };
    let zero = Span::ZERO;
    let free = ProcessorSpec { cores: 1, issue: zero, finish: zero, interrupt: zero, copy: 1, parity: 1 };
    let (requests, without) = run(Box::new(small_drive()));
    let (all, with) = run(Box::new(Processor::build_above(free, Box::new(small_drive()))));
    assert_eq!((requests, all), (3, 6), "what passes as time is no request");
    assert_eq!((without.len(), without), (3, with));
}
