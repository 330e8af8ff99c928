//! A device that serves one request at a time, in order, each in the same time; and the record of a workload on it.

use std::collections::VecDeque;

use seekwise_disk::block::{Accounting, Completion, Flags, Limits, Op, Queuing, Request, Source, SourcePoll, Status};
use seekwise_disk::record::{Effort, Parts};
use seekwise_disk::rng::Seed;
use seekwise_disk::time::{Instant, Span};
use seekwise_work::workload::{
    BlockSizes, CountingRule, DEFAULT_SEED, Direction, Distribution, FileService, FioPattern, Generator, IoEngine, Job,
    Pace, Pattern, RandomRepeat, Region, Syncs, Window, Worker, Workload,
};

/// A request as it was issued.
pub(crate) struct Issued {
    pub(crate) at: Instant,
    pub(crate) origin: u16,
    pub(crate) op: Op,
    pub(crate) flags: Flags,
    pub(crate) lba: u64,
    pub(crate) sectors: u32,
}

/// A completion.
pub(crate) struct Completed {
    pub(crate) at: Instant,
    pub(crate) op: Op,
    /// When it was due; `None` if it is not counted.
    pub(crate) counted: Option<Instant>,
    /// The operation and sectors that it is counted as.
    pub(crate) served: (Op, u32),
}

/// All requests and completions of a run.
#[derive(Default)]
pub(crate) struct Run {
    pub(crate) issued: Vec<Issued>,
    pub(crate) completed: Vec<Completed>,
    /// By worker.
    pub(crate) most_in_flight: Vec<usize>,
    /// By worker: the time for which it counts.
    pub(crate) windows: Vec<Option<Window>>,
}

impl Run {
    /// When each counted request completed and when it was due.
    pub(crate) fn counted(&self) -> impl Iterator<Item = (Instant, Instant)> {
        self.completed.iter().filter_map(|done| Some((done.at, done.counted?)))
    }
}

pub(crate) fn device_limits(fua: bool) -> Limits {
    Limits {
        sectors: 1 << 31,
        logical: 512,
        physical: 512,
        max_transfer: 65_536,
        optimal_transfer: 0,
        depth: 32,
        fua,
        volatile_cache: true,
        queuing: Queuing::Ncq,
        computes: false,
    }
}

pub(crate) fn worker_with(pattern: Pattern) -> Worker {
    Worker {
        name: "worker".into(),
        stage: 0,
        group: 0,
        start_delay: Span::ZERO,
        counting: CountingRule::Tool,
        ramp: Span::ZERO,
        runtime: None,
        time_based: false,
        depth: 1,
        pace: Pace::default(),
        survives: [true; 2],
        pattern,
    }
}

pub(crate) fn job_of_one(pattern: FioPattern) -> Job {
    Job { name: "job".into(), workers: vec![worker_with(Pattern::Fio(pattern))] }
}

/// 4 KiB requests over the first `bytes` of the device.
pub(crate) fn fio_pattern(direction: Direction, random_percent: u8, bytes: u64) -> FioPattern {
    FioPattern {
        direction,
        random: [random_percent; 3],
        mix_read: 50,
        modifier: None,
        blocks: [(); 3].map(|()| BlockSizes::Fixed(4096)),
        align: [0; 3],
        sizes_by_randomness: false,
        files: vec![Region { start: 0, bytes }],
        file_service: FileService::RoundRobin,
        bytes,
        requests: None,
        loops: 1,
        distribution: Distribution::Uniform,
        random_map: random_percent > 0,
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
    }
}

pub(crate) fn run_job(job: &Job, service_time: Span) -> Run {
    run_job_on(job, service_time, device_limits(false))
}

pub(crate) fn run_job_on(job: &Job, service_time: Span, limits: Limits) -> Run {
    let mut workload = Workload::new(job, &limits, Seed(0)).expect("a sound job");
    let mut run = Run { most_in_flight: vec![0; job.workers.len()], ..Run::default() };
    let mut queue: VecDeque<(Request, Instant)> = VecDeque::new();
    let (mut now, mut free_at) = (Instant::ZERO, Instant::ZERO);
    loop {
        let next = workload.next(now);
        if let SourcePoll::Request(request) = next {
            assert!(queue.iter().all(|(other, _)| other.tag != request.tag), "a tag in flight twice");
            free_at = free_at.max(now) + service_time;
            queue.push_back((request, free_at));
            let in_flight = queue.iter().filter(|(other, _)| other.origin == request.origin).count();
            let most = &mut run.most_in_flight[usize::from(request.origin)];
            *most = in_flight.max(*most);
            let Request { origin, op, flags, lba, sectors, .. } = request;
            run.issued.push(Issued { at: now, origin, op, flags, lba, sectors });
            continue;
        }
        let due = queue.front().map(|&(_, due)| due);
        match (next, due) {
            (SourcePoll::At(instant), due) if due.is_none_or(|due| instant < due) => {
                assert!(instant > now, "an instant that has passed");
                now = instant;
            }
            (SourcePoll::Done, None) => {
                run.windows = workload.counting_windows(now);
                return run;
            }
            (_, Some(due)) => {
                now = now.max(due);
                let (request, _) = queue.pop_front().expect("it is due");
                run.completed.push(complete_request(&mut workload, now, &request));
            }
            (next, None) => panic!("nothing in flight and {next:?}"),
        }
    }
}

fn complete_request(workload: &mut Workload, now: Instant, request: &Request) -> Completed {
    let (tag, status, parts) = (request.tag, Status::Done, Parts::default());
    let completion = Completion { tag, status, submitted: now, finished: now, parts, effort: Effort::default() };
    let (counted, served) = match workload.complete(now, &completion) {
        Accounting::In { intended, worker, served } => {
            assert_eq!(worker, request.origin);
            (Some(intended), served.map_or((request.op, request.sectors), |write| (write.op, write.sectors)))
        }
        Accounting::Out => (None, (request.op, request.sectors)),
    };
    Completed { at: now, op: request.op, counted, served }
}
