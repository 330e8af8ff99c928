//! The fixed workloads of `seekwise bench`, by default on the drive whose layout and seek curve are measured in full.
//!
//! The server patterns are Iometer's, on the Cheetah 15K.4 as its profile describes it, whatever drive is asked for:
//! read-ahead, cached writes, its own queue.
//!
//! The trace is our own, drawn from a fixed seed, similar to those with which DiskSim's drives were measured: two
//! thirds reads, a fifth of the requests at the end of the one before, nearly a third close to it, one outstanding, a
//! pause after each.

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

/// The drive of the server patterns, and how many requests they keep outstanding.
const SERVER: (&str, &str) = ("cheetah-15k.4", "32");

/// The four server patterns: name, key in JSON, description.
const PATTERNS: [(&str, &str, &str); 4] = [
    ("file-server", "file_server_qd32_per_s", "file server, depth 32, Cheetah 15K.4"),
    ("web-server", "web_server_qd32_per_s", "web server, depth 32, Cheetah 15K.4"),
    ("database", "database_qd32_per_s", "database, depth 32, Cheetah 15K.4"),
    ("workstation", "workstation_qd32_per_s", "workstation, depth 32, Cheetah 15K.4"),
];

/// The key in JSON of the server patterns together, and its description.
pub const TOGETHER: (&str, &str) = ("server_patterns_qd32_per_s", "the four server patterns together");

/// Rows of the trace, as in most of the measured ones; it is repeated up to the number of requests. All are drawn whatever that
/// number is: what starting costs must not depend on it.
const ROWS: u64 = 10_000;

/// The seed of everything drawn here.
const SEED: u64 = 1;

/// A workload of the benchmark.
pub struct BenchWorkload {
    /// The key in JSON.
    pub key: &'static str,
    /// A description for people.
    pub what: &'static str,
    /// Server patterns have a figure together too.
    pub server: bool,
    load: Load,
}

/// The work of a workload.
enum Load {
    /// A job, or its first requests if it has no end of its own.
    Job {
        most: u64,
        target: Target,
        job: Work,
    },
    Trace {
        stack: Box<Stack>,
        rows: Vec<ReplayRow>,
        requests: u64,
    },
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
    /// Runs it once, with statistics and anatomy as in any run.
    pub fn run(&self) -> Result<BenchResult, RunError> {
        match &self.load {
            Load::Job { most, target, job } => {
                let measured = measure_run_until(RunCutoff::after_requests(*most), target, job, SEED, None, |_| {})?;
                Ok(BenchResult { requests: measured.figures.issued, stream_hash: measured.figures.stream_hash })
            }
            Load::Trace { stack, rows, requests } => {
                let mut recorder = RunRecorder::new(&[0]);
                for pass in 0..requests.div_ceil(ROWS) {
                    let rows = &rows[..ROWS.min(requests - pass * ROWS) as usize];
                    replay_rows(stack, rows, Timing::Think, RunCutoff::NEVER, Seed(SEED + pass), &mut |record| {
                        recorder.count_record(record)
                    })?;
                }
                let requests = recorder.finish(&[]).reads_and_writes().tally.ios();
                Ok(BenchResult { requests, stream_hash: hash_rows(&rows[..ROWS.min(requests) as usize]) })
            }
        }
    }
}

/// FNV-1a over 64-bit words.
fn hash_rows(rows: &[ReplayRow]) -> u64 {
    let words = rows.iter().flat_map(|row| [u64::from(row.sectors) << 8 | row.op as u64, row.lba, row.think.nanos()]);
    words.fold(0xcbf2_9ce4_8422_2325, |hash, word| (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3))
}

/// All workloads on `drive`, a name or a file, with `requests` requests each.
pub fn bench_workloads(drive: &str, requests: u64, inputs: &Inputs<'_>) -> Result<Vec<BenchWorkload>, Vec<Diagnostic>> {
    let with = |settings: &[(&str, &str)]| bench_stack(drive, settings, inputs);
    let fcfs = with(&[(drive::FIRMWARE_QUEUE_POLICY, "fcfs")])?;
    let sptf = with(&[(drive::FIRMWARE_QUEUE_POLICY, "sptf")])?;
    // The buffer in 16 segments: a single request fills one of 64 KiB, and nothing would be read ahead.
    let streaming = with(&[(drive::FIRMWARE_QUEUE_POLICY, "fcfs"), (drive::CACHE_SEGMENTS, "16")])?;
    let sectors = fcfs.profile.geometry.sectors();
    let random = |depth| read_job(100, 4096, depth, requests, sectors);
    let layer = Layer::Controller(ControllerSpec::plain(32, Span::from_nanos(100), 1_000_000_000));
    let layered = Stack { layers: vec![layer; 4], ..fcfs.clone() };
    let trace = Load::Trace { stack: Box::new(fcfs.clone()), rows: draw_trace(ROWS, sectors), requests };
    let job = |key, what, stack: Stack, job| {
        let load = Load::Job { most: u64::MAX, target: stack.into(), job: Work::Job(job) };
        BenchWorkload { key, what, server: false, load }
    };
    let mut workloads = vec![
        BenchWorkload { key: "replay_per_s", what: "a trace with pauses, played again", server: false, load: trace },
        job("fcfs_qd1_per_s", "random 4 KiB reads, FCFS, depth 1", fcfs, random(1)),
        job("sptf_qd32_per_s", "random 4 KiB reads, SPTF, depth 32", sptf, random(32)),
        job("layered_per_s", "the first of these through four timed layers", layered, random(1)),
        job(
            "sequential_hits_per_s",
            "sequential 64 KiB reads from a prefetch",
            streaming,
            read_job(0, 65_536, 1, requests, sectors),
        ),
    ];
    for (pattern, key, what) in PATTERNS {
        let load = server_load(pattern, requests, inputs)?;
        workloads.push(BenchWorkload { key, what, server: true, load });
    }
    Ok(workloads)
}

/// A server pattern from its first request on: without a ramp, and with a run time that none reaches.
fn server_load(pattern: &str, requests: u64, inputs: &Inputs<'_>) -> Result<Load, Vec<Diagnostic>> {
    let (drive, depth) = SERVER;
    let settings =
        [("drive", drive), ("job", pattern), (job::DEPTH, depth), (job::RAMP, "0s"), (job::RUNTIME, "10000h")];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
    let prepared = plan::prepare_cell("bench", &Cell { levels: Vec::new(), settings }, inputs)?;
    Ok(Load::Job { most: requests, target: bare_stack(&prepared.target).into(), job: prepared.job })
}

/// A trace of `rows` requests on a drive of `sectors` blocks, drawn from a fixed seed. Shares and sizes are those of the
/// measured traces (validation data: 66 % reads, 20 % sequential, 30 % local, 6.3 blocks, 45 ms between requests).
fn draw_trace(rows: u64, sectors: u64) -> Vec<ReplayRow> {
    /// How far a local request is from the end of the one before, in blocks: about a cylinder of such a drive.
    const LOCAL: u64 = 2_000;
    const LARGEST: u64 = 12;
    let mut random = Seed(SEED).stream("trace");
    let mut end = 0;
    let last = sectors - LARGEST;
    let mut row = |_| {
        let op = if random.draw_chance(66) { Op::Read } else { Op::Write };
        let lba = match random.below(100) {
            0..20 => end,
            20..50 => (end + random.below(2 * LOCAL)).saturating_sub(LOCAL),
            _ => random.below(last),
        };
        let (lba, size) = (lba.min(last), 1 + random.below(LARGEST));
        end = lba + size;
        let think = Span::from_micros(random.below(90_000));
        ReplayRow { op, lba, sectors: size as u32, arrival: Span::ZERO, think }
    };
    (0..rows).map(&mut row).collect()
}

fn bench_stack(drive: &str, settings: &[(&str, &str)], inputs: &Inputs<'_>) -> Result<Stack, Vec<Diagnostic>> {
    let base =
        [("drive", drive), (drive::FIRMWARE_DEPTH, "32"), (drive::FIRMWARE_QUEUE_WINDOW, "0"), ("job", "random-read")];
    let settings = base.iter().chain(settings).map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let cell = Cell { levels: Vec::new(), settings };
    // The host itself is left out: the benchmark times the drive and the layers named.
    Ok(bare_stack(&plan::prepare_cell("bench", &cell, inputs)?.target))
}

/// The drive of a modelled stack.
fn bare_stack(target: &Target) -> Stack {
    Stack::bare(target.stack().expect("no place was asked for").profile.clone())
}

fn read_job(random: u8, bytes: u64, depth: u32, requests: u64, sectors: u64) -> Job {
    let pattern = FioPattern {
        direction: Direction::Read,
        random: [random; 3],
        mix_read: 100,
        modifier: None,
        blocks: [BlockSizes::Fixed(bytes), BlockSizes::Fixed(bytes), BlockSizes::Fixed(bytes)],
        align: [0; 3],
        sizes_by_randomness: false,
        files: vec![Region { start: 0, bytes: sectors * 512 / 65_536 * 65_536 }],
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
        let rows = draw_trace(ROWS, 10_000_000);
        // Three standard deviations of a share of 10,000 are at most 1.5 points.
        let share = |count: usize, percent: u64| {
            let per_mille = 1000 * count as u64 / ROWS;
            assert!(per_mille.abs_diff(10 * percent) <= 15, "{per_mille} of a thousand, drawn for {percent} %");
        };
        share(rows.iter().filter(|row| row.op == Op::Read).count(), 66);
        let follows = |pair: &&[ReplayRow]| pair[0].lba + u64::from(pair[0].sectors) == pair[1].lba;
        share(rows.windows(2).filter(follows).count(), 20);
        let near = |pair: &&[ReplayRow]| pair[0].lba.abs_diff(pair[1].lba) <= 2_012;
        share(rows.windows(2).filter(near).count(), 50);
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
