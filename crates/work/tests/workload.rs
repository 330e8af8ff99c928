//! The meaning of every setting of a worker, on a device that serves one request at a time in a fixed span.

#[path = "workload/device.rs"]
mod device;
#[path = "workload/generator.rs"]
mod generator;
#[path = "workload/iometer.rs"]
mod iometer;

use device::{device_limits, fio_pattern, job_of_one, run_job, run_job_on, worker_with};
use std::collections::VecDeque;

use seekwise_disk::block::{Completion, Flags, Op, Source, SourcePoll, Status};
use seekwise_disk::record::{Effort, Parts};
use seekwise_disk::rng::Seed;
use seekwise_disk::time::{Instant, Span};
use seekwise_work::workload::{
    ArrivalProcess, BlockSizes, Direction, EngineKind, FileService, FioPattern, Flow, IoEngine, IssueRate, Job, Pace,
    Pattern, Region, RwModifier, Syncs, ThinkTime, Worker, Workload, WorkloadFault, Zoned,
};

#[test]
fn a_closed_loop_keeps_its_depth_and_its_tags_apart() {
    let mut job = job_of_one(fio_pattern(Direction::Read, 100, 4 << 20));
    job.workers[0].depth = 7;
    job.workers.push(job.workers[0].clone());
    let run = run_job(&job, Span::from_micros(10));
    assert_eq!(run.most_in_flight, [7, 7]);
    assert_eq!(run.issued.len(), 2 * 1024);
}

/// The number of requests of a worker at depth 2 whose third request fails, until the worker ends, 40 at most.
fn count_requests_around_error(pattern: FioPattern, survives: [bool; 2]) -> usize {
    let direction = pattern.direction;
    let mut worker = Worker { survives, ..worker_with(Pattern::Fio(pattern)) };
    (worker.depth, worker.runtime, worker.time_based) = (2, Some(Span::from_secs(1)), true);
    let job = Job { name: "job".into(), workers: vec![worker] };
    let mut workload = Workload::new(&job, &device_limits(false), Seed(0)).expect("a sound job");
    let (mut in_flight, mut issued, mut ended) = (VecDeque::new(), 0, 0);
    while ended < 40 {
        let now = Instant::from_nanos(1000 * ended);
        match (workload.next(now), in_flight.pop_front()) {
            (SourcePoll::Request(request), back) => {
                assert_eq!(request.op, if direction == Direction::Read { Op::Read } else { Op::Write });
                in_flight.extend(back);
                in_flight.push_back(request.tag);
                issued += 1;
            }
            (SourcePoll::Done, None) => return issued,
            (_, Some(tag)) => {
                ended += 1;
                let status = if ended == 3 { Status::MediumError } else { Status::Done };
                let (parts, effort) = (Parts::default(), Effort::default());
                workload.complete(now, &Completion { tag, status, submitted: now, finished: now, parts, effort });
            }
            (next, None) => panic!("nothing in flight and {next:?}"),
        }
    }
    issued
}

#[test]
fn a_worker_of_fio_ends_at_its_first_error_unless_it_is_to_survive() {
    for (direction, other) in [(Direction::Read, [false, true]), (Direction::Write, [true, false])] {
        let of = |survives| {
            count_requests_around_error(
                FioPattern { flush_at_end: true, ..fio_pattern(direction, 0, 1 << 20) },
                survives,
            )
        };
        assert_eq!((of([false; 2]), of(other)), (4, 4), "what was in flight ends, and no flush follows");
        assert!(of([true; 2]) >= 40);
        assert!(of(other.map(|survives| !survives)) >= 40);
    }
}

#[test]
fn a_map_gives_each_block_once_and_no_map_repeats() {
    let places = |job: &Job| {
        let mut places: Vec<u64> = run_job(job, Span::ZERO).issued.iter().map(|i| i.lba).collect();
        places.sort_unstable();
        places.dedup();
        places.len()
    };
    assert_eq!(places(&job_of_one(fio_pattern(Direction::Read, 100, 4 << 20))), 1024);
    let free = FioPattern { random_map: false, ..fio_pattern(Direction::Read, 100, 4 << 20) };
    // Of n draws from n, 1 - 1/e are different: 647 of 1024, with a deviation of 10.
    assert!((600..700).contains(&places(&job_of_one(free))));
}

#[test]
fn priorities_are_drawn_by_direction_and_shift_no_other_stream() {
    let mixed =
        FioPattern { requests: Some(8_000), random_map: false, ..fio_pattern(Direction::Mixed, 100, 400 << 20) };
    let plain = run_job(&job_of_one(mixed.clone()), Span::ZERO);
    let urgent = run_job(&job_of_one(FioPattern { priority: [30, 0, 0], ..mixed }), Span::ZERO);
    let same = |(a, b): (&device::Issued, &device::Issued)| (a.op, a.lba, a.sectors) == (b.op, b.lba, b.sectors);
    assert!(plain.issued.iter().zip(&urgent.issued).all(same) && plain.issued.len() == urgent.issued.len());
    assert!(plain.issued.iter().all(|issued| issued.flags == Flags::NONE));
    let share = |op: Op| {
        let all = urgent.issued.iter().filter(|issued| issued.op == op);
        let (count, marked) = (all.clone().count(), all.filter(|issued| issued.flags == Flags::PRIORITY).count());
        marked as f64 / count as f64
    };
    // About 4,000 draws: a deviation of 0.7 %.
    assert!((0.27..0.33).contains(&share(Op::Read)) && share(Op::Write) == 0.0, "{}", share(Op::Read));
}

#[test]
fn each_direction_has_its_own_sequential_position() {
    let run = run_job(&job_of_one(fio_pattern(Direction::Mixed, 0, 4 << 20)), Span::ZERO);
    for op in [Op::Read, Op::Write] {
        let places: Vec<u64> = run.issued.iter().filter(|i| i.op == op).map(|i| i.lba).collect();
        assert!(places.iter().enumerate().all(|(i, &lba)| lba == i as u64 * 8));
    }
}

#[test]
fn stages_follow_one_another_and_delays_count_from_a_stage() {
    let mut job = job_of_one(fio_pattern(Direction::Read, 0, 40_960));
    job.workers.push(job.workers[0].clone());
    job.workers.push(job.workers[0].clone());
    job.workers[1].stage = 1;
    job.workers[2].stage = 1;
    job.workers[2].start_delay = Span::from_millis(1);
    let run = run_job(&job, Span::from_micros(10));
    let first = |worker: u16| run.issued.iter().find(|i| i.origin == worker).expect("it ran").at.nanos();
    assert_eq!(first(0), 0);
    assert_eq!(first(1), 100_000);
    assert_eq!(first(2), 1_100_000);
}

#[test]
fn a_run_time_stops_issuing_and_what_completes_later_counts_for_fio() {
    let mut job = job_of_one(fio_pattern(Direction::Read, 0, 8 << 20));
    job.workers[0].depth = 4;
    job.workers[0].runtime = Some(Span::from_micros(95));
    job.workers[0].ramp = Span::from_micros(30);
    let run = run_job(&job, Span::from_micros(10));
    // One every 10 us from 0 on; the last is issued when that of 120 us completes, with four in flight.
    assert!(run.issued.iter().all(|i| i.at.nanos() < 125_000));
    assert_eq!(run.completed.len(), run.issued.len());
    // Those of 10 and 20 us fall into the ramp.
    assert_eq!(run.counted().count(), run.completed.len() - 2);
    assert!(run.completed.last().expect("some").at.nanos() > 125_000);
}

#[test]
fn time_based_begins_again() {
    let mut job = job_of_one(fio_pattern(Direction::Write, 0, 40_960));
    job.workers[0].time_based = true;
    job.workers[0].runtime = Some(Span::from_micros(255));
    let run = run_job(&job, Span::from_micros(10));
    assert_eq!(run.issued.len(), 26);
    assert!(run.issued.iter().enumerate().all(|(i, issue)| issue.lba == i as u64 % 10 * 8));
}

#[test]
fn loops_sizes_and_numbers_end_a_job() {
    let count = |pattern| run_job(&job_of_one(pattern), Span::ZERO).issued.len();
    assert_eq!(count(FioPattern { loops: 3, ..fio_pattern(Direction::Read, 0, 40_960) }), 30);
    assert_eq!(count(FioPattern { bytes: 20_480, ..fio_pattern(Direction::Read, 0, 40_960) }), 5);
    assert_eq!(count(FioPattern { bytes: 102_400, ..fio_pattern(Direction::Read, 0, 40_960) }), 25);
    assert_eq!(count(FioPattern { requests: Some(7), ..fio_pattern(Direction::Read, 0, 40_960) }), 7);
}

#[test]
fn think_time_pauses_after_its_blocks_with_nothing_in_flight() {
    let mut job = job_of_one(fio_pattern(Direction::Read, 0, 81_920));
    job.workers[0].pace.think =
        Some(ThinkTime { time: Span::from_millis(1), spin: Span::ZERO, blocks: 4, on_issue: false });
    let run = run_job(&job, Span::from_micros(10));
    let at: Vec<u64> = run.issued.iter().map(|i| i.at.nanos() / 10_000).collect();
    assert_eq!(at[..6], [0, 1, 2, 3, 104, 105]);
    assert_eq!(at[8], 208);
}

#[test]
fn a_linear_rate_is_kept_without_drift_and_catches_up() {
    let mut job = job_of_one(fio_pattern(Direction::Read, 0, 4096 * 3000));
    job.workers[0].pace.rate[0] = Some(IssueRate::Requests(3_000));
    let due = |i: u64| i * 1_000_000_000 / 3_000;
    let run1 = run_job(&job, Span::from_micros(10));
    assert!(run1.issued.iter().enumerate().all(|(i, issue)| issue.at.nanos() == due(i as u64)));
    // A device that cannot keep up: responses count from when a request was due.
    let run2 = run_job(&job, Span::from_micros(500));
    let last = run2.counted().last().expect("some");
    assert_eq!(last.1.nanos(), due(2999));
    assert_eq!(last.0.nanos(), 3000 * 500_000);
    job.workers[0].pace.rate[0] = Some(IssueRate::Bytes(4096 * 1000));
    let run3 = run_job(&job, Span::from_micros(10));
    assert!(run3.issued.iter().enumerate().all(|(i, issue)| issue.at.nanos() == i as u64 * 1_000_000));
}

#[test]
fn poisson_has_the_rate_it_was_asked_for_and_exponential_gaps() {
    for (rate, bytes) in [(IssueRate::Requests(2_000), false), (IssueRate::Bytes(2_000 * 4096), true)] {
        let mut job = job_of_one(FioPattern { requests: Some(50_000), ..fio_pattern(Direction::Read, 100, 1 << 30) });
        job.workers[0].depth = 64;
        job.workers[0].pace =
            Pace { think: None, rate: [Some(rate), None, None], process: ArrivalProcess::Poisson, flow: None };
        let run = run_job(&job, Span::from_micros(1));
        let at: Vec<u64> = run.issued.iter().map(|i| i.at.nanos()).collect();
        assert!(run.issued.iter().zip(run.counted()).all(|(issue, (_, intended))| issue.at == intended));
        // 50,000 exponential gaps have a mean with a standard error of 0.45 %; four of them.
        let mean = at[at.len() - 1] as f64 / at.len() as f64;
        assert!((mean / 500_000.0 - 1.0).abs() < 0.018, "mean gap {mean} ns, bytes {bytes}");
        let mut gaps: Vec<f64> = at.windows(2).map(|w| (w[1] - w[0]) as f64 / 500_000.0).collect();
        gaps.sort_by(f64::total_cmp);
        let n = gaps.len() as f64;
        let distance = gaps
            .iter()
            .enumerate()
            .map(|(i, gap)| ((i as f64 + 0.5) / n - (1.0 - (-gap).exp())).abs())
            .fold(0.0, f64::max);
        // Kolmogorov's variable: one seed in a thousand exceeds 1.95; this one is fixed.
        assert!(distance * n.sqrt() < 1.95, "K = {}", distance * n.sqrt());
    }
}

#[test]
fn mixed_rates_each_keep_their_own() {
    let mut job = job_of_one(FioPattern { requests: Some(3_000), ..fio_pattern(Direction::Mixed, 100, 1 << 30) });
    job.workers[0].pace.rate = [Some(IssueRate::Requests(2_000)), Some(IssueRate::Requests(1_000)), None];
    let run = run_job(&job, Span::from_micros(10));
    let end = run.issued.last().expect("some").at.nanos();
    let reads = run.issued.iter().filter(|i| i.op == Op::Read).count();
    assert!(reads.abs_diff(2_000) <= 1, "{reads}");
    assert!(end.abs_diff(1_000_000_000) < 2_000_000, "{end}");
}

#[test]
fn flushes_come_after_their_writes_and_at_the_end() {
    let pattern = FioPattern {
        syncs: Syncs { fsync: 3, ..Syncs::default() },
        flush_at_end: true,
        ..fio_pattern(Direction::Write, 0, 4096 * 7)
    };
    let run = run_job(&job_of_one(pattern), Span::from_micros(10));
    let ops: String = run.issued.iter().map(|i| if i.op == Op::Flush { 'f' } else { 'w' }).collect();
    assert_eq!(ops, "wwwfwwwfwf");
}

#[test]
fn write_through_is_fua_or_a_pair_that_counts_once() {
    let pattern = FioPattern { write_through: true, ..fio_pattern(Direction::Write, 0, 40_960) };
    let job = job_of_one(pattern);
    let fua = run_job_on(&job, Span::from_micros(10), device_limits(true));
    assert!(fua.issued.iter().all(|i| i.flags == Flags::FUA && i.op == Op::Write));
    let pair = run_job_on(&job, Span::from_micros(10), device_limits(false));
    assert_eq!(pair.issued.len(), 20);
    for (place, issued) in pair.issued.iter().enumerate() {
        let expected = [(Op::Write, Flags::FLUSH_FOLLOWS), (Op::Flush, Flags::NONE)][place % 2];
        assert_eq!((issued.op, issued.flags), expected);
    }
    assert_eq!(pair.counted().count(), 10);
    // A pair takes two services, and its response runs from the write.
    let spans: Vec<u64> = pair.counted().map(|(at, intended)| at.since(intended).nanos()).collect();
    assert!(spans.iter().all(|&span| span == 20_000));
    let served: Vec<_> = pair.completed.iter().filter_map(|c| c.counted.map(|_| c.served)).collect();
    assert!(served.iter().all(|&(op, sectors)| op == Op::Write && sectors == 8));
}

#[test]
fn verification_reads_by_place_or_where_each_block_is_written_once_as_it_was_written() {
    let once = FioPattern { verify: true, ..fio_pattern(Direction::Write, 100, 40_960) };
    let places = |run: &device::Run| run.issued.iter().map(|i| i.lba).collect::<Vec<u64>>();
    let all = places(&run_job(&job_of_one(once.clone()), Span::ZERO));
    assert_eq!(all[..10], all[10..]);
    let pattern = FioPattern { random_map: false, flush_at_end: true, ..once };
    let mut job = job_of_one(pattern);
    job.workers[0].depth = 4;
    let run = run_job(&job, Span::from_micros(10));
    assert!(run.issued[..10].iter().all(|i| i.op == Op::Write));
    assert_eq!(run.issued[10].op, Op::Flush);
    let mut written: Vec<u64> = run.issued[..10].iter().map(|i| i.lba).collect();
    written.sort_unstable();
    written.dedup();
    assert_eq!(run.issued[11..].iter().map(|i| i.lba).collect::<Vec<u64>>(), written);
    let written = run.completed.iter().position(|c| c.op == Op::Flush).expect("a flush");
    assert!(run.completed[written].at <= run.issued[11].at);
}

#[test]
fn a_trim_is_followed_by_a_write_of_the_same_place() {
    for random in [0, 100] {
        let run = run_job(&job_of_one(fio_pattern(Direction::TrimWrite, random, 40_960)), Span::ZERO);
        assert_eq!(run.issued.len(), 20);
        for pair in run.issued.chunks(2) {
            assert_eq!((pair[0].op, pair[1].op), (Op::Trim, Op::Write));
            assert_eq!((pair[0].lba, pair[0].sectors), (pair[1].lba, pair[1].sectors));
        }
    }
}

#[test]
fn files_are_served_in_turn_in_order_or_at_random() {
    let files: Vec<Region> = (0..3).map(|i| Region { start: i << 20, bytes: 16_384 }).collect();
    let order = |file_service| {
        let pattern = FioPattern { files: files.clone(), file_service, ..fio_pattern(Direction::Read, 0, 49_152) };
        run_job(&job_of_one(pattern), Span::ZERO).issued.iter().map(|i| i.lba >> 11).collect::<Vec<u64>>()
    };
    assert_eq!(order(FileService::RoundRobin), [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]);
    assert_eq!(order(FileService::Sequential), [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
    let mut random = order(FileService::Random);
    assert_ne!(random, order(FileService::RoundRobin));
    random.sort_unstable();
    assert_eq!(random, order(FileService::Sequential));
}

#[test]
fn sizes_go_by_randomness_and_places_by_alignment() {
    let sized = FioPattern {
        random: [50; 3],
        sizes_by_randomness: true,
        random_map: false,
        blocks: [BlockSizes::Fixed(65_536), BlockSizes::Fixed(4096), BlockSizes::Fixed(4096)],
        ..fio_pattern(Direction::Read, 100, 64 << 20)
    };
    let issued = run_job(&job_of_one(sized), Span::ZERO).issued;
    let mut next = 0;
    for issue in &issued {
        assert_eq!(issue.sectors, if issue.lba == next { 128 } else { 8 }, "{}", issue.lba);
        next = issue.lba + u64::from(issue.sectors);
    }
    let aligned = FioPattern { align: [512; 3], random_map: false, ..fio_pattern(Direction::Read, 100, 4 << 20) };
    let issued = run_job(&job_of_one(aligned), Span::ZERO).issued;
    assert!(issued.iter().any(|i| i.lba % 8 == 3) && issued.iter().all(|i| i.lba + 8 <= 8192));
}

#[test]
fn identical_runs_stay_where_they_are() {
    let pattern = FioPattern {
        modifier: Some(RwModifier::Same(4)),
        random_map: false,
        ..fio_pattern(Direction::Read, 100, 4 << 20)
    };
    let issued = run_job(&job_of_one(pattern), Span::ZERO).issued;
    assert!(issued.chunks(4).all(|four| four.iter().all(|i| i.lba == four[0].lba)));
    assert!(issued.chunks(4).zip(issued.chunks(4).skip(1)).any(|(a, b)| a[0].lba != b[0].lba));
}

#[test]
fn zones_cluster_on_the_disk() {
    use seekwise_work::workload::Distribution::Zoned;
    let distribution = Zoned(vec![(60, 10), (30, 20), (10, 70)]);
    let pattern = FioPattern { distribution, random_map: false, ..fio_pattern(Direction::Read, 100, 400 << 20) };
    let issued = run_job(&job_of_one(pattern), Span::ZERO).issued;
    let total = 800 << 10;
    let share = |from: u64, to: u64| {
        let inside = |lba: u64| (total * from / 100..total * to / 100).contains(&lba);
        issued.iter().filter(|i| inside(i.lba)).count() as f64 / issued.len() as f64
    };
    // 102,400 draws: a share of 0.6 has a standard error of 0.0015.
    assert!((share(0, 10) - 0.6).abs() < 0.006);
    assert!((share(10, 30) - 0.3).abs() < 0.006);
}

#[test]
fn a_large_drive_is_covered_in_bounded_memory() {
    // 18 TB in 4 KiB blocks: 4.4 G, over the bitmap's limit and over 32 bits.
    let bytes = 18_000_000_000_000 / 4096 * 4096;
    let pattern = FioPattern { requests: Some(200_000), ..fio_pattern(Direction::Read, 100, bytes) };
    let big = seekwise_disk::block::Limits { sectors: bytes / 512, ..device_limits(false) };
    let issued = run_job_on(&job_of_one(pattern), Span::ZERO, big).issued;
    let mut places: Vec<u64> = issued.iter().map(|i| i.lba / 8).collect();
    let upper = places.iter().filter(|&&block| block >= bytes / 4096 / 2).count();
    assert!(upper.abs_diff(100_000) < 900, "four standard errors of a half of 200,000: {upper}");
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len(), 200_000);
}

#[test]
fn the_same_seed_gives_the_same_stream_and_another_another() {
    let job = job_of_one(fio_pattern(Direction::Mixed, 100, 4 << 20));
    let stream = |seed| {
        let mut workload = Workload::new(&job, &device_limits(false), Seed(seed)).expect("a sound job");
        let SourcePoll::Request(request) = workload.next(Instant::ZERO) else { panic!("no request") };
        (request.lba, request.op)
    };
    assert_eq!(stream(0), stream(0));
    assert!((1..20).any(|seed| stream(seed) != stream(0)));
}

#[test]
fn what_cannot_run_is_told_before() {
    let fault = |job: &Job| Workload::new(job, &device_limits(false), Seed(0)).err().map(|error| error.fault);
    let of = |pattern| fault(&job_of_one(pattern));
    let base = || fio_pattern(Direction::Read, 0, 1 << 20);
    assert_eq!(fault(&Job::default()), Some(WorkloadFault::Workers));
    let odd = FioPattern { blocks: [(); 3].map(|()| BlockSizes::Fixed(1000)), ..base() };
    assert_eq!(of(odd), Some(WorkloadFault::Sector { what: "a block", bytes: 1000, sector: 512 }));
    let far = FioPattern { files: vec![Region { start: 0, bytes: 1 << 50 }], ..base() };
    assert!(matches!(of(far), Some(WorkloadFault::OutOfRange { .. })));
    let large = FioPattern { blocks: [(); 3].map(|()| BlockSizes::Fixed(1 << 26)), ..base() };
    assert!(matches!(of(large), Some(WorkloadFault::TooLarge { .. })));
    let small = FioPattern { files: vec![Region { start: 0, bytes: 2048 }], ..base() };
    assert_eq!(of(small), Some(WorkloadFault::NothingFits));
    let mut endless = job_of_one(base());
    endless.workers[0].time_based = true;
    assert_eq!(fault(&endless), Some(WorkloadFault::Endless));
    let mut idle = job_of_one(base());
    idle.workers[0].depth = 0;
    assert_eq!(fault(&idle), Some(WorkloadFault::Depth));
    let run = FioPattern { modifier: Some(RwModifier::Run(8)), ..base() };
    assert!(matches!(of(run), Some(WorkloadFault::Conflict(_))));
}

/// fio 3.33 does the same: two jobs of one flow issue in the proportion of their weights, whatever each alone could do.
#[test]
fn workers_of_a_flow_keep_their_shares() {
    let mut job = job_of_one(fio_pattern(Direction::Read, 100, 4 << 20));
    job.workers.push(job.workers[0].clone());
    for (worker, weight) in job.workers.iter_mut().zip([8, 1]) {
        worker.pace.flow = Some(Flow { id: 1, weight, sleep: Span::ZERO });
        worker.depth = 4;
    }
    let run = run_job(&job, Span::from_micros(10));
    let share = |upto: usize| run.issued[..upto].iter().filter(|issued| issued.origin == 0).count();
    // fio's count of all begins at one.
    assert!(share(90).abs_diff(80) <= 1 && share(900).abs_diff(800) <= 1, "{} {}", share(90), share(900));
    // Each completes all of its requests: the one that is left waits for no other.
    assert_eq!(run.issued.len(), 2048);
}

/// By hand, of depth 4 with batches of two down to two: four are issued, then as soon as two are done two follow.
#[test]
fn what_is_done_is_taken_back_in_batches() {
    let engine = IoEngine { kind: EngineKind::SyncsHold, least: 2, most: 2, low: 2, batch: 1 };
    let mut job = job_of_one(FioPattern { engine, ..fio_pattern(Direction::Read, 0, 8 * 4096) });
    job.workers[0].depth = 4;
    let at: Vec<u64> =
        run_job(&job, Span::from_micros(10)).issued.iter().map(|issued| issued.at.nanos() / 1000).collect();
    assert_eq!(at, [0, 0, 0, 0, 20, 20, 40, 40]);
}

/// A sync is repeated before each request until the next write: fio 3.33's own log of this job, with its reads and
/// writes as they fall.
#[test]
fn a_sync_comes_before_each_request_until_the_next_write() {
    let pattern =
        FioPattern { syncs: Syncs { fsync: 2, ..Syncs::default() }, ..fio_pattern(Direction::Mixed, 100, 65_536) };
    let ops: String = run_job(&job_of_one(pattern), Span::from_micros(10))
        .issued
        .iter()
        .map(|issued| match issued.op {
            Op::Flush => 's',
            Op::Read => 'r',
            _ => 'w',
        })
        .collect();
    assert_eq!(ops, "rrrwrrwswwsrswrwsrsrsr");
}

/// Eight zones of 64 KiB from the device's beginning on.
fn eight_zones(most_open: u32) -> Zoned {
    Zoned {
        files: vec![Region { start: 0, bytes: 8 << 16 }],
        size: 1 << 16,
        capacity: 1 << 16,
        most_open,
        most_open_of_worker: 0,
        skip: 0,
        beyond: false,
        reset_threshold: 0,
        reset_every: 0,
        cut: 0,
    }
}

#[test]
fn workers_write_the_zones_that_they_have_in_common_at_their_pointers() {
    for (depth, most_open) in [(1, 0), (1, 2), (5, 0), (5, 2), (5, 1)] {
        let pattern = FioPattern {
            zoned: Some(eight_zones(most_open)),
            random_map: false,
            engine: IoEngine { kind: EngineKind::SyncsHold, ..IoEngine::default() },
            ..fio_pattern(Direction::Write, 100, 8 << 16)
        };
        let mut job = job_of_one(FioPattern { bytes: 3 << 18, ..pattern });
        job.workers[0].depth = depth;
        job.workers = vec![job.workers[0].clone(); 4];
        for (number, worker) in job.workers.iter_mut().enumerate() {
            let Pattern::Fio(fio) = &mut worker.pattern else { unreachable!("it is fio's") };
            fio.seed += number as u64;
        }
        let run = run_job(&job, Span::from_micros(10));
        assert_eq!(run.issued.len(), 4 * 192, "{depth} {most_open}");
        let mut written = [0u64; 8];
        for (number, issued) in run.issued.iter().enumerate() {
            let (zone, within) = ((issued.lba / 128) as usize, issued.lba % 128);
            // An empty zone's first, else where the last one ended.
            assert!(within == written[zone] || within == 0, "{depth} {most_open}: {number}");
            written[zone] = within + u64::from(issued.sectors);
            let open = written.iter().filter(|end| (1..128).contains(*end)).count();
            assert!(most_open == 0 || open <= most_open as usize, "{depth} {most_open}: {open} open");
        }
    }
}

#[test]
fn a_zone_with_a_request_in_flight_is_one_workers() {
    let mut job = job_of_one(FioPattern {
        zoned: Some(eight_zones(1)),
        random_map: false,
        ..fio_pattern(Direction::Write, 100, 8 << 16)
    });
    job.workers = vec![job.workers[0].clone(); 3];
    let run = run_job(&job, Span::from_micros(10));
    // One zone is open, so one of the three writes at a time, one behind another.
    for (issued, before) in run.issued.iter().skip(1).zip(&run.completed) {
        assert!(issued.at >= before.at, "a zone of two workers");
    }
    assert_eq!(run.issued.len(), 3 * 128);
}

#[test]
fn zones_that_do_not_fit_are_told() {
    let fault = |zoned: Zoned, direction| {
        let pattern = FioPattern { zoned: Some(zoned), random_map: false, ..fio_pattern(direction, 100, 8 << 16) };
        Workload::new(&job_of_one(pattern), &device_limits(false), Seed(0)).err().map(|error| error.fault)
    };
    assert_eq!(fault(eight_zones(0), Direction::Write), None);
    assert_eq!(fault(Zoned { size: 0, ..eight_zones(0) }, Direction::Write), Some(WorkloadFault::Number("a zone")));
    assert_eq!(
        fault(Zoned { capacity: 1 << 17, ..eight_zones(0) }, Direction::Write),
        Some(WorkloadFault::Number("a zone"))
    );
    assert!(matches!(fault(eight_zones(0), Direction::Trim), Some(WorkloadFault::Conflict(_))));
    let short = Zoned { files: vec![Region { start: 0, bytes: 1 << 16 }], ..eight_zones(0) };
    assert_eq!(fault(short, Direction::Write), Some(WorkloadFault::Number("a part of a file in zones")));
}
