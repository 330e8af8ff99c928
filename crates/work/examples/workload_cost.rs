//! The time that a generator takes for a request: `cargo run --release -p seekwise-work --example workload_cost [PART
//! OF A NAME]`.
//!
//! Timed are `next` (with the call that finds the depth used up) and `complete` together, with 32 requests in flight,
//! on the machine on which the example runs; no drive and no statistics.

use std::collections::VecDeque;
use std::time::Instant as Clock;

use seekwise_disk::block::{Completion, Limits, Source, SourcePoll, Status};
use seekwise_disk::record::{Effort, Parts};
use seekwise_disk::rng::Seed;
use seekwise_disk::time::{Instant, Span};
use seekwise_work::workload::{
    AccessLine, AccessSpec, ArrivalProcess, BlockSizes, CountingRule, DEFAULT_SEED, Direction, Distribution,
    FileService, FioPattern, Generator, IoEngine, IometerPattern, IssueRate, Job, Pace, Pattern, RandomRepeat, Region,
    Syncs, Worker, Workload,
};

/// The best of this many batches is reported: other load on the machine only slows a batch down.
const BATCHES: u32 = 1000;
/// Requests in a batch.
const BATCH: u32 = 10_000;
/// The size of the drive: 160 GB.
const BYTES: u64 = 160_000_000_000 / 4096 * 4096;

fn fio_pattern(random_percent: u8, random_map: bool, distribution: Distribution) -> Pattern {
    Pattern::Fio(FioPattern {
        direction: Direction::Read,
        random: [random_percent; 3],
        mix_read: 50,
        modifier: None,
        blocks: [(); 3].map(|()| BlockSizes::Fixed(4096)),
        align: [0; 3],
        sizes_by_randomness: false,
        files: vec![Region { start: 0, bytes: BYTES }],
        file_service: FileService::RoundRobin,
        bytes: BYTES,
        requests: None,
        loops: 1,
        distribution,
        random_map,
        generator: Generator::Tausworthe,
        seed: DEFAULT_SEED,
        repeat: RandomRepeat::Passes,
        syncs: Syncs::default(),
        flush_at_end: false,
        write_through: false,
        strided: None,
        zoned: None,
        done_for_good: false,
        sizes_alike: false,
        verify: false,
        backlog: None,
        engine: IoEngine::default(),
        priority: [0; 3],
    })
}

fn iometer_pattern() -> Pattern {
    let shares = [(512, 10), (1024, 5), (2048, 5), (4096, 60), (8192, 2), (16_384, 4), (32_768, 4), (65_536, 10)];
    let line = |(size, share)| AccessLine {
        size,
        share,
        reads: 80,
        random: 100,
        delay: Span::ZERO,
        burst: 1,
        align: 0,
        reply: 0,
    };
    Pattern::Iometer(IometerPattern {
        spec: AccessSpec { name: "File Server".into(), lines: shares.into_iter().map(line).collect() },
        area: Region { start: 0, bytes: BYTES },
        worker_seed: 1,
        target_seed: 1,
    })
}

/// Times a pattern and prints the result, unless the argument of the example excludes its name.
fn time_pattern(name: &str, workers: usize, pattern: Pattern, pace: Pace) {
    if std::env::args().nth(1).is_some_and(|part| !name.contains(&part)) {
        return;
    }
    let worker = Worker {
        name: name.into(),
        stage: 0,
        group: 0,
        start_delay: Span::ZERO,
        counting: CountingRule::Tool,
        ramp: Span::ZERO,
        runtime: Some(Span::from_secs(1 << 30)),
        time_based: true,
        depth: 32,
        pace,
        survives: [true; 2],
        pattern,
    };
    let limits = Limits {
        sectors: BYTES / 512,
        logical: 512,
        physical: 512,
        max_transfer: 65_536,
        optimal_transfer: 0,
        depth: 32,
        fua: false,
        volatile_cache: true,
        queuing: seekwise_disk::block::Queuing::Ncq,
        computes: false,
    };
    let job = Job { name: name.into(), workers: vec![worker; workers] };
    let began = Clock::now();
    let mut workload = Workload::new(&job, &limits, Seed(0)).expect("a sound job");
    let built = began.elapsed();
    let (mut now, mut sum, mut best_nanos) = (Instant::ZERO, 0u64, f64::INFINITY);
    let mut in_flight = VecDeque::with_capacity(32 * workers);
    for _ in 0..BATCHES {
        let began = Clock::now();
        let mut issued = 0;
        while issued < BATCH {
            match workload.next(now) {
                SourcePoll::Request(request) => {
                    issued += 1;
                    sum = sum.wrapping_add(request.lba);
                    in_flight.push_back(request.tag);
                }
                SourcePoll::At(instant) if in_flight.is_empty() => now = instant,
                SourcePoll::At(_) | SourcePoll::Completion => {
                    let tag = in_flight.pop_front().expect("something is in flight");
                    let (status, parts) = (Status::Done, Parts::default());
                    let completion =
                        Completion { tag, status, submitted: now, finished: now, parts, effort: Effort::default() };
                    workload.complete(now, &completion);
                }
                SourcePoll::Served(_) | SourcePoll::Done => panic!("it goes on, on the device"),
            }
        }
        best_nanos = best_nanos.min(began.elapsed().as_secs_f64() * 1e9 / f64::from(BATCH));
    }
    println!("{name:<36} {best_nanos:>7.1} ns/request   built in {built:>10.1?}   (sum {sum:x})");
}

fn main() {
    let closed = Pace::default;
    time_pattern("sequential", 1, fio_pattern(0, false, Distribution::Uniform), closed());
    time_pattern("random, no map", 1, fio_pattern(100, false, Distribution::Uniform), closed());
    time_pattern("random, map", 1, fio_pattern(100, true, Distribution::Uniform), closed());
    time_pattern("random, no map, 16 workers", 16, fio_pattern(100, false, Distribution::Uniform), closed());
    let zipf = Distribution::Zipf { theta: 1_200_000, center: None };
    time_pattern("zipf 1.2", 1, fio_pattern(100, false, zipf), closed());
    let pace = Pace {
        think: None,
        rate: [Some(IssueRate::Requests(1_000_000)), None, None],
        process: ArrivalProcess::Poisson,
        flow: None,
    };
    time_pattern("random, no map, Poisson", 1, fio_pattern(100, false, Distribution::Uniform), pace);
    time_pattern("Iometer File Server", 1, iometer_pattern(), closed());
}
