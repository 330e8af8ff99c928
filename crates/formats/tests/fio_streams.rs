//! The generator of fio's requests against fio itself: the same jobs, in fio under its null engine with `write_iolog`,
//! here against a device that answers at once.
//!
//! With the job's own seed the streams must be equal, request for request. With another seed the stream is an independent draw
//! of the same job, and must have the same shares, sizes and distribution of addresses by a test statistic. The streams follow
//! fio 3.33; other versions seed differently, so with them only the statistics are tested. Without fio on the path the tests
//! print that they are skipped.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use seekwise_disk::block::{Completion, Limits, Op, Source, SourcePoll, Status};
use seekwise_disk::record::{Effort, Parts};
use seekwise_disk::rng::Seed;
use seekwise_disk::time::{Instant, Span};
use seekwise_work::workload::{
    BlockSizes, CountingRule, DEFAULT_SEED, Direction, Distribution, FileService, FioPattern, Generator, IoEngine, Job,
    Pace, Pattern, RandomRepeat, Region, RwModifier, StridedZones, Syncs, Worker, Workload,
};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// A request: operation, first byte, bytes.
type StreamRequest = (Op, u64, u64);

/// A job: as arguments of fio, and as a pattern of this project.
struct Case {
    name: &'static str,
    arguments: &'static str,
    pattern: FioPattern,
}

/// Requests of 4 KiB to one file, in fio's defaults.
fn base_pattern(direction: Direction, random_percent: u8, bytes: u64) -> FioPattern {
    FioPattern {
        direction,
        random: [random_percent; 3],
        mix_read: 50,
        modifier: None,
        blocks: for_all_directions(BlockSizes::Fixed(4 * KIB)),
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

fn random_reads(bytes: u64) -> FioPattern {
    base_pattern(Direction::Read, 100, bytes)
}

fn skewed_reads(distribution: Distribution) -> FioPattern {
    FioPattern { distribution, random_map: false, ..random_reads(64 * MIB) }
}

fn for_all_directions(blocks: BlockSizes) -> [BlockSizes; 3] {
    [blocks.clone(), blocks.clone(), blocks]
}

fn case(name: &'static str, arguments: &'static str, pattern: FioPattern) -> Case {
    Case { name, arguments, pattern }
}

/// The jobs of the comparison. A `randseed` is fio's default; as it is given, fio seeds zipf and similar distributions without
/// the file's name. The third parameter of a distribution fixes the popular blocks whatever the seed, so that addresses can be
/// compared.
fn cases() -> Vec<Case> {
    let split = BlockSizes::Split(vec![(4 * KIB, 50), (64 * KIB, 30), (16 * KIB, 20)]);
    let range = BlockSizes::Range { min: 4 * KIB, max: 64 * KIB, unaligned: false };
    let zoned = Distribution::Zoned(vec![(60, 10), (30, 20), (8, 30), (2, 40)]);
    let offset = FioPattern {
        blocks: for_all_directions(BlockSizes::Fixed(64 * KIB)),
        files: vec![Region { start: MIB, bytes: 16 * MIB }],
        loops: 3,
        syncs: Syncs { fsync: 10, ..Syncs::default() },
        ..base_pattern(Direction::Write, 0, 16 * MIB)
    };
    let mixed = FioPattern {
        mix_read: 70,
        blocks: for_all_directions(BlockSizes::Fixed(8 * KIB)),
        ..base_pattern(Direction::Mixed, 0, 64 * MIB)
    };
    let split = FioPattern { blocks: for_all_directions(split), ..base_pattern(Direction::Write, 100, 256 * MIB) };
    let range = FioPattern {
        blocks: for_all_directions(range),
        random_map: false,
        ..base_pattern(Direction::Mixed, 100, 256 * MIB)
    };
    vec![
        case("sequential read", "--rw=read --size=16m", base_pattern(Direction::Read, 0, 16 * MIB)),
        case(
            "sequential write, offset, loops",
            "--rw=write --bs=64k --offset=1m --size=16m --loops=3 --fsync=10",
            offset,
        ),
        case("mixed 70/30, sequential", "--rw=rw --rwmixread=70 --bs=8k --size=64m", mixed),
        case("random read, map", "--rw=randread --size=64m", random_reads(64 * MIB)),
        case(
            "random read, no map",
            "--rw=randread --size=64m --norandommap",
            FioPattern { random_map: false, ..random_reads(64 * MIB) },
        ),
        case("random write, bssplit", "--rw=randwrite --size=256m --bssplit=4k/50:64k/30:16k/20", split),
        case("random mixed, bsrange", "--rw=randrw --size=256m --bsrange=4k-64k --norandommap", range),
        case(
            "zipf 1.2",
            "--rw=randread --size=64m --random_distribution=zipf:1.2:0.25 --randseed=137",
            skewed_reads(Distribution::Zipf { theta: 1_200_000, center: Some(250_000) }),
        ),
        case(
            "pareto 0.2",
            "--rw=randread --size=64m --random_distribution=pareto:0.2:0.25 --randseed=137",
            skewed_reads(Distribution::Pareto { h: 200_000, center: Some(250_000) }),
        ),
        case(
            "zoned 60/10:30/20:8/30:2/40",
            "--rw=randread --size=64m --random_distribution=zoned:60/10:30/20:8/30:2/40",
            skewed_reads(zoned),
        ),
        case(
            "percentage_random 40",
            "--rw=randread --size=64m --percentage_random=40",
            FioPattern { random: [40; 3], ..random_reads(64 * MIB) },
        ),
    ]
}

/// Jobs of further distributions.
fn distribution_cases() -> Vec<Case> {
    vec![
        case(
            "zipf 0.8",
            "--rw=randread --size=64m --random_distribution=zipf:0.8:0.25 --randseed=137",
            skewed_reads(Distribution::Zipf { theta: 800_000, center: Some(250_000) }),
        ),
        case(
            "normal 20 %",
            "--rw=randread --size=64m --random_distribution=normal:20 --randseed=137",
            skewed_reads(Distribution::Normal { deviation: 20_000_000, center: None }),
        ),
        case(
            "zoned_abs",
            "--rw=randread --size=64m --random_distribution=zoned_abs:70/8m:30/40m",
            skewed_reads(Distribution::ZonedAbsolute(vec![(70, 8 * MIB), (30, 40 * MIB)])),
        ),
    ]
}

/// Jobs of further options of the generator.
fn further_cases() -> Vec<Case> {
    let strided = StridedZones { range: MIB, size: 256 * KIB, skip: MIB };
    vec![
        case(
            "random read, two passes",
            "--rw=randread --size=16m --loops=2",
            FioPattern { loops: 2, ..random_reads(16 * MIB) },
        ),
        case(
            "random read, lfsr",
            "--rw=randread --size=64m --random_generator=lfsr",
            FioPattern { generator: Generator::Lfsr, ..random_reads(64 * MIB) },
        ),
        case(
            "random read, tausworthe64",
            "--rw=randread --size=64m --random_generator=tausworthe64",
            FioPattern { generator: Generator::Tausworthe64, ..random_reads(64 * MIB) },
        ),
        case(
            "runs of eight",
            "--rw=randread:8 --size=64m --norandommap",
            FioPattern { modifier: Some(RwModifier::Run(8)), random_map: false, ..random_reads(64 * MIB) },
        ),
        case(
            "backwards",
            "--rw=read:-8k --size=16m",
            FioPattern { modifier: Some(RwModifier::Skip(-8192)), ..base_pattern(Direction::Read, 0, 16 * MIB) },
        ),
        case(
            "holes",
            "--rw=write:12k --size=16m",
            FioPattern { modifier: Some(RwModifier::Skip(12_288)), ..base_pattern(Direction::Write, 0, 16 * MIB) },
        ),
        case(
            "random trim and write",
            "--rw=randtrimwrite --size=16m",
            base_pattern(Direction::TrimWrite, 100, 16 * MIB),
        ),
        case(
            "strided zones",
            "--rw=randread --size=64m --zonemode=strided --zonesize=256k --zonerange=1m --zoneskip=1m",
            FioPattern { strided: Some(strided), ..random_reads(64 * MIB) },
        ),
        case(
            "more than a pass",
            "--rw=randread --size=16m --io_size=40m --bs=8k",
            FioPattern {
                bytes: 40 * MIB,
                blocks: for_all_directions(BlockSizes::Fixed(8 * KIB)),
                ..random_reads(16 * MIB)
            },
        ),
        case(
            "a number of requests",
            "--rw=randwrite --size=64m --number_ios=1000 --loops=2",
            FioPattern { requests: Some(1000), loops: 2, ..base_pattern(Direction::Write, 100, 64 * MIB) },
        ),
    ]
}

/// The requests that fio issues, from its log.
fn run_in_fio(case: &Case) -> Vec<StreamRequest> {
    let name: String = case.name.chars().filter(char::is_ascii_alphanumeric).collect();
    let folder: PathBuf = std::env::temp_dir().join(format!("seekwise-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let output = Command::new("fio")
        .args(["--name=job", "--filename=f", "--ioengine=null", "--bs=4k", "--write_iolog=log"])
        .args(case.arguments.split(' '))
        .current_dir(&folder)
        .output()
        .expect("fio runs");
    assert!(output.status.success(), "{}: {}", case.name, String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(folder.join("log")).expect("fio wrote its log");
    std::fs::remove_dir_all(&folder).expect("the folder goes");
    text.lines().filter_map(parse_log_line).collect()
}

/// The request of a line of fio's log.
fn parse_log_line(line: &str) -> Option<StreamRequest> {
    let mut words = line.split_ascii_whitespace().skip(2);
    let op = match words.next()? {
        "read" => Op::Read,
        "write" => Op::Write,
        "trim" => Op::Trim,
        "sync" => return Some((Op::Flush, 0, 0)),
        _ => return None,
    };
    Some((op, words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

/// The requests that this project's generator issues to a device that answers at once.
fn run_here(pattern: &FioPattern, seed: Seed) -> Vec<StreamRequest> {
    let worker = Worker {
        name: "job".into(),
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
        pattern: Pattern::Fio(pattern.clone()),
    };
    let limits = Limits {
        sectors: 1 << 31,
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
    let job = Job { name: "job".into(), workers: vec![worker] };
    let mut workload = Workload::new(&job, &limits, seed).expect("a sound job");
    let mut entries = Vec::new();
    loop {
        match workload.next(Instant::ZERO) {
            SourcePoll::Request(request) => {
                entries.push((request.op, request.lba * 512, u64::from(request.sectors) * 512));
                let (tag, status, submitted, finished) = (request.tag, Status::Done, Instant::ZERO, Instant::ZERO);
                let parts = Parts::default();
                workload.complete(
                    Instant::ZERO,
                    &Completion { tag, status, submitted, finished, parts, effort: Effort::default() },
                );
            }
            SourcePoll::Done => return entries,
            other => panic!("an unpaced job against an instant device waits: {other:?}"),
        }
    }
}

/// The first bytes of requests, in order.
fn start_bytes(entries: &[StreamRequest]) -> Vec<u64> {
    entries.iter().filter(|entry| entry.0 != Op::Flush).map(|entry| entry.1).collect()
}

/// The distance between the first bytes of each two successive requests: the order can be compared even if each block comes once.
fn jumps(entries: &[StreamRequest]) -> Vec<u64> {
    start_bytes(entries).windows(2).map(|pair| pair[0].abs_diff(pair[1])).collect()
}

/// Kolmogorov and Smirnov's comparison of two samples: the largest distance D between their distributions, and K, which is D
/// times the root of n·m / (n + m). K is above 1.95 for one independent pair in a thousand.
fn kolmogorov_smirnov(mut a: Vec<u64>, mut b: Vec<u64>) -> (f64, f64) {
    a.sort_unstable();
    b.sort_unstable();
    let below = |list: &[u64], x: u64| list.partition_point(|&y| y <= x) as f64 / list.len() as f64;
    let distance = a.iter().chain(&b).map(|&x| (below(&a, x) - below(&b, x)).abs()).fold(0.0, f64::max);
    let (n, m) = (a.len() as f64, b.len() as f64);
    (distance, distance * (n * m / (n + m)).sqrt())
}

/// Passes over the files. Each repeats the first, so that only one is independent.
fn passes(pattern: &FioPattern) -> f64 {
    (pattern.bytes * u64::from(pattern.loops)) as f64 / pattern.files[0].bytes as f64
}

/// Requests in sequence from one random address, on average. Only the addresses of runs are independent.
fn mean_run(pattern: &FioPattern) -> f64 {
    match pattern.modifier {
        Some(RwModifier::Run(length)) => f64::from(length),
        _ if pattern.random[0] == 0 => 1.0,
        _ => 100.0 / f64::from(pattern.random[0]),
    }
}

/// Chi-squared of two samples over the classes of requests that `class_of` gives, and the degrees of freedom.
fn chi_squared(a: &[StreamRequest], b: &[StreamRequest], class_of: impl Fn(&StreamRequest) -> u64) -> (f64, usize) {
    let mut counts: BTreeMap<u64, [f64; 2]> = BTreeMap::new();
    a.iter().for_each(|entry| counts.entry(class_of(entry)).or_default()[0] += 1.0);
    b.iter().for_each(|entry| counts.entry(class_of(entry)).or_default()[1] += 1.0);
    let (n, m) = (a.len() as f64, b.len() as f64);
    let term = |[x, y]: &[f64; 2]| ((m / n).sqrt() * x - (n / m).sqrt() * y).powi(2) / (x + y);
    (counts.values().map(term).sum(), counts.len() - 1)
}

/// The upper thousandth of chi-squared (Wilson and Hilferty 1931).
fn chi_squared_limit(degrees: usize) -> f64 {
    let k = degrees as f64;
    k * (1.0 - 2.0 / (9.0 * k) + 3.09 * (2.0 / (9.0 * k)).sqrt()).powi(3)
}

fn read_percent(entries: &[StreamRequest]) -> f64 {
    entries.iter().filter(|e| e.0 == Op::Read).count() as f64 * 100.0 / entries.len() as f64
}

fn fio_version() -> Option<String> {
    let output = Command::new("fio").arg("--version").output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[test]
fn our_streams_beside_fios() {
    let Some(version) = fio_version() else {
        println!("skipped: there is no fio on the path");
        return;
    };
    println!("{version}. Identical: with the job's seed. The statistics: ours under another seed beside fio's.");
    println!(
        "{:<32}{:>7}{:>7}{:>10}{:>15}{:>9}{:>7}{:>8}{:>17}",
        "job", "fio", "ours", "identical", "% reads", "KS D", "K", "jumps K", "sizes chi2/dof"
    );
    for case in cases().iter().chain(&distribution_cases()).chain(&further_cases()) {
        compare(case, version == "fio-3.33");
    }
}

/// Without a third parameter the popular blocks differ for each seed, so only equality can be tested.
#[test]
fn popular_blocks_lie_where_fios_do() {
    if fio_version().as_deref() != Some("fio-3.33") {
        println!("skipped: there is no fio 3.33 on the path");
        return;
    }
    let zipf = skewed_reads(Distribution::Zipf { theta: 1_100_000, center: None });
    let pareto = skewed_reads(Distribution::Pareto { h: 300_000, center: None });
    let arguments = "--rw=randread --size=64m --randseed=137 --random_distribution=";
    for (distribution, pattern) in [("zipf:1.1", zipf), ("pareto:0.3", pareto)] {
        let joined: &'static str = String::leak(format!("{arguments}{distribution}"));
        let case = case("popular", joined, pattern);
        assert!(run_in_fio(&case) == run_here(&case.pattern, Seed(0)), "{distribution}");
    }
}

/// Runs a job here and in fio, prints a row of the comparison, and checks it; streams must be equal if `is_same_version`.
fn compare(case: &Case, is_same_version: bool) {
    let fio = run_in_fio(case);
    let same_seed = run_here(&case.pattern, Seed(0));
    let other_seed = run_here(&case.pattern, Seed(7));
    let identical = fio.iter().zip(&same_seed).take_while(|(a, b)| a == b).count();
    let (distance, kolmogorov) = kolmogorov_smirnov(start_bytes(&fio), start_bytes(&other_seed));
    let kolmogorov = kolmogorov / mean_run(&case.pattern).sqrt();
    let (_, jumped) = kolmogorov_smirnov(jumps(&fio), jumps(&other_seed));
    let jumped = jumped / passes(&case.pattern).sqrt();
    let (sizes, degrees) = chi_squared(&fio, &other_seed, |entry| entry.2);
    println!(
        "{:<32}{:>7}{:>7}{:>10}{:>15}{distance:>9.5}{kolmogorov:>7.3}{jumped:>8.3}{:>17}",
        case.name,
        fio.len(),
        same_seed.len(),
        if fio == same_seed { "all".into() } else { format!("{identical}") },
        format!("{:.2}/{:.2}", read_percent(&fio), read_percent(&other_seed)),
        format!("{sizes:.2}/{degrees}"),
    );
    let sequential = case.pattern.random == [0; 3] && case.pattern.direction != Direction::Mixed;
    if is_same_version || sequential {
        let at = (fio.get(identical), same_seed.get(identical));
        assert!(fio == same_seed, "{}: differs at request {identical}: {at:?}", case.name);
    }
    assert!(kolmogorov < 1.95, "{}: places differ, K = {kolmogorov}", case.name);
    // In sequential streams one jump depends on the last.
    let random = case.pattern.random == [100; 3];
    assert!(!random || jumped < 1.95, "{}: jumps differ, K = {jumped}", case.name);
    assert!(degrees == 0 || sizes < chi_squared_limit(degrees), "{}: sizes differ, {sizes}", case.name);
    let (mix, degrees) = chi_squared(&fio, &other_seed, |entry| entry.0 as u64);
    assert!(degrees == 0 || mix < chi_squared_limit(degrees), "{}: directions differ, {mix}", case.name);
}
