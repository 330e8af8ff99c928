//! The fixed workloads of `seekwise bench`. Most run on the drive that the caller names, [`DRIVE`] by default, whose layout and seek curve are
//! measured in full.
//!
//! The server patterns are Iometer's. They always run on the Cheetah 15K.4 as its profile describes it, with read-ahead, cached writes and its
//! own queue.
//!
//! The trace is drawn from a fixed seed, similar to the traces with which DiskSim's drives were measured. Two thirds of its requests are reads,
//! a fifth begin at the end of the one before, nearly a third lie close to that; one is outstanding at a time, with a pause after each.

use seekwise_disk::block::Op;
use seekwise_disk::host::controller::ControllerSpec;
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::{Layer, Stack};
use seekwise_disk::time::Span;
use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::key_names::{drive, job};
use seekwise_run::cutoff::RunCutoff;
use seekwise_run::outcome::RunError;
use seekwise_run::place::Target;
use seekwise_run::work::Work;
use seekwise_work::workload::replay::{ReplayRow, Timing};
use seekwise_work::workload::{
    BlockSizes, CountingRule, Direction, Distribution, FileService, FioPattern, Generator, IoEngine, Job, Pace,
    Pattern, RandomRepeat, Region, Syncs, Worker,
};

use crate::inputs::Inputs;
use crate::plan::{self, Cell};
use crate::run::measure_run_until;
use crate::stats::summary::RunRecorder;
use crate::validate::replay_rows;

/// The default drive.
pub const DRIVE: &str = "atlas-10k-v-300";

/// The drive of the server patterns, and the number of requests that they keep outstanding.
const SERVER_DRIVE_AND_DEPTH: (&str, &str) = ("cheetah-15k.4", "32");

/// The four server patterns: name, key in JSON, description.
const SERVER_PATTERNS: [(&str, &str, &str); 4] = [
    ("file-server", "file_server_qd32_per_s", "file server, depth 32, Cheetah 15K.4"),
    ("web-server", "web_server_qd32_per_s", "web server, depth 32, Cheetah 15K.4"),
    ("database", "database_qd32_per_s", "database, depth 32, Cheetah 15K.4"),
    ("workstation", "workstation_qd32_per_s", "workstation, depth 32, Cheetah 15K.4"),
];

/// The key in JSON of the server patterns together, and its description.
pub const TOGETHER: (&str, &str) = ("server_patterns_qd32_per_s", "the four server patterns together");

/// Rows of the trace, as many as most of the measured traces have; the trace is repeated up to the number of requests. All rows are drawn even
/// for fewer requests, so that the cost of starting does not depend on their number.
const TRACE_ROWS: u64 = 10_000;

/// The seed of everything drawn here.
const SEED: u64 = 1;

/// A workload of the benchmark.
pub struct BenchWorkload {
    /// The key in JSON.
    pub key: &'static str,
    /// A description for people.
    pub what: &'static str,
    /// True for a server pattern; these have a figure for all of them together too.
    pub server: bool,
    load: Load,
}

/// The requests of a workload.
enum Load {
    /// A job, cut off after `request_limit` requests.
    Job { request_limit: u64, target: Target, job: Work },
    /// A trace, repeated up to so many requests.
    Trace { stack: Box<Stack>, rows: Vec<ReplayRow>, requests: u64 },
}

/// The result of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BenchResult {
    pub requests: u64,
    /// A hash of all requests in order.
    pub stream_hash: u64,
}

impl BenchWorkload {
    /// Runs the workload once, with statistics and the anatomy of times as in any run.
    pub fn run(&self) -> Result<BenchResult, RunError> {
        match &self.load {
            Load::Job { request_limit, target, job } => {
                let measured =
                    measure_run_until(RunCutoff::after_requests(*request_limit), target, job, SEED, None, |_| {})?;
                Ok(BenchResult { requests: measured.figures.issued, stream_hash: measured.figures.stream_hash })
            }
            Load::Trace { stack, rows, requests } => {
                let mut recorder = RunRecorder::new(&[0]);
                for pass in 0..requests.div_ceil(TRACE_ROWS) {
                    let pass_rows = &rows[..TRACE_ROWS.min(requests - pass * TRACE_ROWS) as usize];
                    replay_rows(stack, pass_rows, Timing::Think, RunCutoff::NEVER, Seed(SEED + pass), &mut |record| {
                        recorder.count_record(record)
                    })?;
                }
                let replayed = recorder.finish(&[]).reads_and_writes().tally.ios();
                Ok(BenchResult {
                    requests: replayed,
                    stream_hash: hash_rows(&rows[..TRACE_ROWS.min(replayed) as usize]),
                })
            }
        }
    }
}

/// A hash of a trace's rows: FNV-1a over 64-bit words.
fn hash_rows(rows: &[ReplayRow]) -> u64 {
    let words = rows.iter().flat_map(|row| [u64::from(row.sectors) << 8 | row.op as u64, row.lba, row.think.nanos()]);
    words.fold(0xcbf2_9ce4_8422_2325, |hash, word| (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3))
}

/// All workloads, with so many requests each; `drive` is a name or a file.
pub fn bench_workloads(drive: &str, requests: u64, inputs: &Inputs<'_>) -> Result<Vec<BenchWorkload>, Vec<Diagnostic>> {
    let stack_with = |settings: &[(&str, &str)]| bench_stack(drive, settings, inputs);
    let fcfs = stack_with(&[(drive::FIRMWARE_QUEUE_POLICY, "fcfs")])?;
    let sptf = stack_with(&[(drive::FIRMWARE_QUEUE_POLICY, "sptf")])?;
    // In 16 segments the buffer has room to read ahead; a segment of 64 KiB would be filled by one request.
    let streaming = stack_with(&[(drive::FIRMWARE_QUEUE_POLICY, "fcfs"), (drive::CACHE_SEGMENTS, "16")])?;
    let sectors = fcfs.profile.geometry.sectors();
    let random_reads = |depth| read_job(100, 4096, depth, requests, sectors);
    let layer = Layer::Controller(ControllerSpec::plain(32, Span::from_nanos(100), 1_000_000_000));
    let layered = Stack { layers: vec![layer; 4], ..fcfs.clone() };
    let trace = Load::Trace { stack: Box::new(fcfs.clone()), rows: draw_trace(TRACE_ROWS, sectors), requests };
    let job_workload = |key, what, stack: Stack, job| {
        let load = Load::Job { request_limit: u64::MAX, target: stack.into(), job: Work::Job(job) };
        BenchWorkload { key, what, server: false, load }
    };
    let mut workloads = vec![
        BenchWorkload { key: "replay_per_s", what: "a trace with pauses, played again", server: false, load: trace },
        job_workload("fcfs_qd1_per_s", "random 4 KiB reads, FCFS, depth 1", fcfs, random_reads(1)),
        job_workload("sptf_qd32_per_s", "random 4 KiB reads, SPTF, depth 32", sptf, random_reads(32)),
        job_workload("layered_per_s", "the first of these through four timed layers", layered, random_reads(1)),
        job_workload(
            "sequential_hits_per_s",
            "sequential 64 KiB reads from a prefetch",
            streaming,
            read_job(0, 65_536, 1, requests, sectors),
        ),
    ];
    for (pattern, key, what) in SERVER_PATTERNS {
        let load = server_load(pattern, requests, inputs)?;
        workloads.push(BenchWorkload { key, what, server: true, load });
    }
    Ok(workloads)
}

/// The first requests of a server pattern: without a ramp, and with a run time that no pattern reaches.
fn server_load(pattern: &str, request_limit: u64, inputs: &Inputs<'_>) -> Result<Load, Vec<Diagnostic>> {
    let (drive, depth) = SERVER_DRIVE_AND_DEPTH;
    let settings =
        [("drive", drive), ("job", pattern), (job::DEPTH, depth), (job::RAMP, "0s"), (job::RUNTIME, "10000h")];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
    let prepared = plan::prepare_cell("bench", &Cell { levels: Vec::new(), settings }, inputs)?;
    Ok(Load::Job { request_limit, target: bare_stack(&prepared.target).into(), job: prepared.job })
}

/// A trace on a drive of so many blocks, drawn from a fixed seed. Shares and sizes are those of the measured traces (validation data: 66 %
/// reads, 20 % sequential, 30 % local, 6.3 blocks, 45 ms between requests).
fn draw_trace(row_count: u64, drive_sectors: u64) -> Vec<ReplayRow> {
    /// How far a local request is from the end of the one before, in blocks: about a cylinder of such a drive.
    const LOCAL: u64 = 2_000;
    /// The most blocks of a request.
    const LARGEST: u64 = 12;
    let mut random = Seed(SEED).stream("trace");
    let mut previous_end = 0;
    let last_lba = drive_sectors - LARGEST;
    let mut row = |_| {
        let op = if random.draw_chance(66) { Op::Read } else { Op::Write };
        let lba = match random.below(100) {
            0..20 => previous_end,
            20..50 => (previous_end + random.below(2 * LOCAL)).saturating_sub(LOCAL),
            _ => random.below(last_lba),
        };
        let (lba, row_sectors) = (lba.min(last_lba), 1 + random.below(LARGEST));
        previous_end = lba + row_sectors;
        let think = Span::from_micros(random.below(90_000));
        ReplayRow { op, lba, sectors: row_sectors as u32, arrival: Span::ZERO, think }
    };
    (0..row_count).map(&mut row).collect()
}

/// The bare drive with these settings, at depth 32 and with a queue of unlimited reach unless they say otherwise.
fn bench_stack(drive: &str, settings: &[(&str, &str)], inputs: &Inputs<'_>) -> Result<Stack, Vec<Diagnostic>> {
    let defaults =
        [("drive", drive), (drive::FIRMWARE_DEPTH, "32"), (drive::FIRMWARE_QUEUE_WINDOW, "0"), ("job", "random-read")];
    let settings = defaults.iter().chain(settings).map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let cell = Cell { levels: Vec::new(), settings };
    // The host is left out: the benchmark times the drive and the layers that a workload names.
    Ok(bare_stack(&plan::prepare_cell("bench", &cell, inputs)?.target))
}

/// The drive of a modelled stack, without layers.
fn bare_stack(target: &Target) -> Stack {
    Stack::bare(target.stack().expect("no place was asked for").profile.clone())
}

/// A job of reads of one size, so many per cent of them at random addresses.
fn read_job(random_percent: u8, request_bytes: u64, depth: u32, requests: u64, drive_sectors: u64) -> Job {
    let pattern = FioPattern {
        direction: Direction::Read,
        random: [random_percent; 3],
        mix_read: 100,
        modifier: None,
        blocks: [BlockSizes::Fixed(request_bytes), BlockSizes::Fixed(request_bytes), BlockSizes::Fixed(request_bytes)],
        align: [0; 3],
        sizes_by_randomness: false,
        files: vec![Region { start: 0, bytes: drive_sectors * 512 / 65_536 * 65_536 }],
        file_service: FileService::RoundRobin,
        bytes: u64::MAX,
        requests: Some(requests),
        loops: 1,
        distribution: Distribution::Uniform,
        random_map: false,
        generator: Generator::Tausworthe64,
        seed: 1,
        repeat: RandomRepeat::Never,
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
    };
    let worker = Worker {
        name: "bench".to_owned(),
        stage: 0,
        group: 0,
        start_delay: Span::ZERO,
        counting: CountingRule::Tool,
        ramp: Span::ZERO,
        runtime: None,
        time_based: false,
        depth,
        pace: Pace::default(),
        survives: [true; 2],
        pattern: Pattern::Fio(pattern),
    };
    Job { name: "bench".to_owned(), workers: vec![worker] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trace_has_the_shares_it_is_drawn_for() {
        let rows = draw_trace(TRACE_ROWS, 10_000_000);
        // Three standard deviations of a share of 10,000 rows are at most 1.5 percentage points.
        let assert_share = |count: usize, percent: u64| {
            let per_mille = 1000 * count as u64 / TRACE_ROWS;
            assert!(per_mille.abs_diff(10 * percent) <= 15, "{per_mille} of a thousand, drawn for {percent} %");
        };
        assert_share(rows.iter().filter(|row| row.op == Op::Read).count(), 66);
        let follows = |pair: &&[ReplayRow]| pair[0].lba + u64::from(pair[0].sectors) == pair[1].lba;
        assert_share(rows.windows(2).filter(follows).count(), 20);
        let near = |pair: &&[ReplayRow]| pair[0].lba.abs_diff(pair[1].lba) <= 2_012;
        assert_share(rows.windows(2).filter(near).count(), 50);
        assert!(rows.iter().all(|row| row.lba + u64::from(row.sectors) <= 10_000_000));
    }

    #[test]
    fn every_workload_runs_as_many_requests_as_asked() {
        let nothing = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        for workload in bench_workloads(DRIVE, 500, &Inputs::from_today(&nothing)).unwrap() {
            let ran = workload.run().unwrap();
            assert_eq!(ran.requests, 500, "{}", workload.key);
            assert_eq!(workload.run().unwrap(), ran, "{}", workload.key);
        }
    }
}
