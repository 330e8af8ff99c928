//! The fixed workloads of `seekwise bench`, on the drive whose layout and seek curve are measured in full.

use seekwise_formats::diagnostic::Diagnostic;
use seekwise_model::host::controller::ControllerSpec;
use seekwise_model::time::Span;
use seekwise_model::workload::{
    Blocks, Direction, Distribution, FileService, FioPattern, Generator, Job, Pace, Pattern, Region, Worker,
};
use seekwise_targets::sim::Stack;

use crate::plan::{self, Cell};

/// The drive of all of them.
const DRIVE: &str = "atlas-10k-v-300";

/// One workload.
pub struct Workload {
    /// Its key in JSON.
    pub key: &'static str,
    /// What it is, for people.
    pub what: &'static str,
    /// What it runs on.
    pub stack: Stack,
    /// What it does.
    pub job: Job,
}

/// All of them, with `requests` requests each.
pub fn workloads(requests: u64) -> Result<Vec<Workload>, Vec<Diagnostic>> {
    let random = |depth| reads(100, 4096, depth, requests);
    let sequential = reads(0, 65_536, 1, requests);
    let layer = ControllerSpec { depth: 32, command: Span::from_nanos(100), rate: 1_000_000_000 };
    Ok(vec![
        Workload {
            key: "fcfs_qd1_per_s",
            what: "random 4 KiB reads, FCFS, depth 1",
            stack: stack("fcfs")?,
            job: random(1),
        },
        Workload {
            key: "sptf_qd32_per_s",
            what: "random 4 KiB reads, SPTF, depth 32",
            stack: stack("sptf")?,
            job: random(32),
        },
        Workload {
            key: "layered_per_s",
            what: "the first through four timed layers",
            stack: Stack { layers: vec![layer; 4], ..stack("fcfs")? },
            job: random(1),
        },
        Workload {
            key: "sequential_hits_per_s",
            what: "sequential 64 KiB reads from a prefetch",
            stack: streaming()?,
            job: sequential,
        },
    ])
}

/// The drive with its buffer in 16 segments of 512 KiB: one of its own 64 KiB pieces is filled by a single request, and
/// nothing would be read ahead.
fn streaming() -> Result<Stack, Vec<Diagnostic>> {
    with("fcfs", &[("drive.cache.segments", "16")])
}

fn stack(policy: &str) -> Result<Stack, Vec<Diagnostic>> {
    with(policy, &[])
}

fn with(policy: &str, more: &[(&str, &str)]) -> Result<Stack, Vec<Diagnostic>> {
    let settings = [
        ("drive", DRIVE),
        ("drive.firmware.depth", "32"),
        ("drive.firmware.queue.policy", policy),
        ("drive.firmware.queue.window", "0"),
        ("job", "random-read"),
    ];
    let settings = settings.iter().chain(more).map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let cell = Cell { levels: Vec::new(), settings };
    // The host itself is left out: what is timed is the drive and the layers named.
    let stack = plan::prepare("bench", &cell, &|_| Err(std::io::ErrorKind::NotFound.into()))?.stack;
    Ok(Stack { driver: None, controller: None, ..stack })
}

fn reads(random: u8, bytes: u64, depth: u32, requests: u64) -> Job {
    let pattern = FioPattern {
        direction: Direction::Read,
        random: [random; 3],
        mix_read: 100,
        modifier: None,
        blocks: [Blocks::Fixed(bytes), Blocks::Fixed(bytes), Blocks::Fixed(bytes)],
        align: [0; 3],
        sizes_by_randomness: false,
        files: vec![Region { start: 0, bytes: 250_000_000_000 }],
        file_service: FileService::RoundRobin,
        bytes: u64::MAX,
        requests: Some(requests),
        loops: 1,
        distribution: Distribution::Uniform,
        random_map: false,
        generator: Generator::Tausworthe64,
        seed: 1,
        flush_every: 0,
        flush_at_end: false,
        write_through: false,
        strided: None,
        verify: false,
    };
    let worker = Worker {
        name: "bench".to_owned(),
        stage: 0,
        group: 0,
        start_delay: Span::ZERO,
        ramp: Span::ZERO,
        runtime: None,
        time_based: false,
        depth,
        pace: Pace::default(),
        pattern: Pattern::Fio(pattern),
    };
    Job { name: "bench".to_owned(), workers: vec![worker] }
}
