//! Three sample reports: a study of 135 cells, a comparison and a plain run.
//!
//! SYNTHETIC: the figures come from a short formula that only has the right shape (a service time, shortened by a
//! queue that reorders, and a log-normal spread). They are not results of the model and stand for no drive.

use seekwise_disk::record::Part;
use seekwise_lab::outcome::Outcome;
use seekwise_lab::report::{
    Anatomy, Provenance, Report, ReportCell, ReportClaim, ReportFactor, ReportInterval, ReportLayer, ReportMovements,
    ReportPlatter, ReportQueue, ReportRequests, ReportSetting, ReportStretch, ReportVerdict, VerdictMeaning,
};
use seekwise_lab::stats::response::Response;

const SYNTHETIC: &str = "Sample data: every figure on this page is made up by a formula.";

/// A side of the study: its name, whether the queue reorders, how far it reorders, milliseconds of overhead, drives.
struct Side {
    name: &'static str,
    reorders: bool,
    gain: f64,
    overhead: f64,
    drives: f64,
}

const SIDES: [Side; 5] = [
    Side { name: "old drive · Adaptec", reorders: false, gain: 0.035, overhead: 0.42, drives: 1.0 },
    Side { name: "new drive · Adaptec", reorders: false, gain: 0.045, overhead: 0.35, drives: 1.0 },
    Side { name: "new drive · ICH6R, NCQ off", reorders: false, gain: 0.050, overhead: 0.31, drives: 1.0 },
    Side { name: "new drive · ICH6R, NCQ on", reorders: true, gain: 0.165, overhead: 0.33, drives: 1.0 },
    Side { name: "two new drives · ICH6R, RAID 0, NCQ on", reorders: true, gain: 0.150, overhead: 0.36, drives: 2.0 },
];

/// A pattern: its name, KiB a request, share of reads, milliseconds of seek and of rotation at depth 1.
struct Pattern {
    name: &'static str,
    kib: f64,
    reads: f64,
    seek: f64,
    rotation: f64,
}

const PATTERNS: [Pattern; 9] = [
    Pattern { name: "File Server", kib: 10.9, reads: 0.8, seek: 7.6, rotation: 4.1 },
    Pattern { name: "Web Server", kib: 15.2, reads: 1.0, seek: 8.0, rotation: 4.2 },
    Pattern { name: "OLTP 2 KiB", kib: 2.0, reads: 0.67, seek: 7.4, rotation: 4.1 },
    Pattern { name: "OLTP 4 KiB", kib: 4.0, reads: 0.67, seek: 7.4, rotation: 4.1 },
    Pattern { name: "OLTP 8 KiB", kib: 8.0, reads: 0.67, seek: 7.5, rotation: 4.1 },
    Pattern { name: "sequential read", kib: 64.0, reads: 1.0, seek: 0.02, rotation: 0.0 },
    Pattern { name: "sequential write", kib: 64.0, reads: 0.0, seek: 0.02, rotation: 0.03 },
    Pattern { name: "random read", kib: 4.0, reads: 1.0, seek: 8.5, rotation: 4.17 },
    Pattern { name: "random write", kib: 4.0, reads: 0.0, seek: 4.9, rotation: 3.0 },
];

const DEPTHS: [u32; 3] = [1, 8, 64];
const RUNTIME_S: f64 = 600.0;
const RUNS: u32 = 10;

/// The study: five sides, nine patterns, three depths.
pub(crate) fn study() -> Report {
    let mut cells = Vec::new();
    for side in &SIDES {
        for pattern in &PATTERNS {
            for depth in DEPTHS {
                cells.push(cell(side, pattern, depth));
            }
        }
    }
    let mut report = frame(cells, factors(&SIDES, &PATTERNS, &DEPTHS));
    report.title = "Native command queuing on a desktop drive".to_owned();
    report.question = "Is a desktop drive faster when the drive itself orders its queue (NCQ), and does it need a \
                       host that can speak it?"
        .to_owned();
    report.expectation = Some("File Server gains about 25 % at depth 64; nothing changes at depth 1.".to_owned());
    report.command = "seekwise study ncq --runs 10 --seed 20041201 --out out/ncq".to_owned();
    report.verdicts = study_verdicts(&report.cells);
    report.claims = claims();
    report
}

/// A comparison: one setting, two sides.
pub(crate) fn compare() -> Report {
    let (sides, patterns, depths) = (&SIDES[2..4], &PATTERNS[..1], &DEPTHS[2..]);
    let cells: Vec<ReportCell> = sides.iter().map(|side| cell(side, &patterns[0], depths[0])).collect();
    let mut report = frame(cells, factors(sides, patterns, depths).into_iter().take(1).collect());
    report.cells.iter_mut().for_each(|cell| cell.levels.truncate(1));
    report.title = "NCQ off and on, File Server, depth 64".to_owned();
    report.question = "Is File Server at depth 64 faster with NCQ?".to_owned();
    report.command = "seekwise compare file-server --on stack.toml --vary controller.ncq=off,on --runs 10".to_owned();
    report.verdicts = vec![verdict(&report.cells, "controller.ncq", (0, 1), "File Server, depth 64")];
    report
}

/// A plain run.
pub(crate) fn run() -> Report {
    let mut report = frame(vec![cell(&SIDES[3], &PATTERNS[0], 64)], Vec::new());
    report.cells[0].levels.clear();
    report.cells[0].runs = 1;
    (report.runs_per_cell, report.runs_planned, report.runs_done) = ([1; 2], 1, 1);
    report.title = "File Server on the new drive".to_owned();
    report.question = "What does File Server at depth 64 look like on this stack?".to_owned();
    report.command = "seekwise run file-server --on stack.toml --seed 20041201".to_owned();
    report
}

fn frame(cells: Vec<ReportCell>, factors: Vec<ReportFactor>) -> Report {
    let runs = cells.len() as u64 * u64::from(RUNS);
    let meaning = |outcome: Outcome| VerdictMeaning {
        word: outcome.name().to_owned(),
        says: format!("what {} says", outcome.name()),
    };
    Report {
        version: "0.2.0".to_owned(),
        seed: 20_041_201,
        runs_per_cell: [RUNS.into(); 2],
        runs_planned: runs,
        runs_done: runs,
        meanings: Outcome::ALL.map(meaning).to_vec(),
        stretches: cells.iter().take(2).map(|cell| stretch(&cell.id)).collect(),
        runtime_s: [RUNTIME_S; 2],
        virtual_time: true,
        interval: "95 % bootstrap interval of the mean; the unit is the run, and runs of the two sides share their \
                   random numbers."
            .to_owned(),
        stack: stack(),
        factors,
        cells,
        warnings: vec![SYNTHETIC.to_owned()],
        provenance: Provenance {
            hash: "5f1d0c2a9be47713".to_owned(),
            drive: "sample drive, 7,200 rpm, 160 GB".to_owned(),
            notes: vec![SYNTHETIC.to_owned()],
        },
        ..Report::default()
    }
}

/// Reads that lie a golden section apart, each after the other: half a seek, half a revolution.
fn stretch(cell: &str) -> ReportStretch {
    let (count, cylinders, spt) = (60_u64, 10_000_u64, 800_u64);
    let places: Vec<u64> = (0..count).map(|place| place * 6180 % cylinders).collect();
    let before: Vec<u64> = [0].into_iter().chain(places.iter().copied()).collect();
    let seek_us = |place: usize| (2000 + before[place].abs_diff(places[place])) as i64;
    let due: Vec<i64> = (0..places.len()).map(|place| (0..place).map(|at| seek_us(at) + 4200).sum()).collect();
    let rows = 0..places.len();
    let angle = |place: usize| ((due[place] + seek_us(place) + 4100) as f64 / 8333.333).fract();
    let angles: Vec<f64> = rows.clone().map(angle).collect();
    let narrow = |values: &[u64]| values.iter().map(|&value| value as u32).collect::<Vec<_>>();
    ReportStretch {
        cell: cell.to_owned(),
        begin_ns: "5000000000".to_owned(),
        counted: true,
        cylinders: cylinders as u32,
        heads: 2,
        sectors: cylinders * spt,
        platters: vec![ReportPlatter { revolution_ns: 8_333_333, turned: 0.0 }],
        parts: ["seek", "rotation", "transfer"].map(str::to_owned).to_vec(),
        requests: ReportRequests {
            worker: vec![0; places.len()],
            op: vec!["read".to_owned(); places.len()],
            failed: Vec::new(),
            lba: places.iter().map(|place| place * spt).collect(),
            sectors: vec![8; places.len()],
            due_ns: due.iter().map(|us| us * 1000).collect(),
            parts_ns: rows.clone().map(|place| vec![seek_us(place) as u64 * 1000, 4_100_000, 100_000]).collect(),
        },
        queue: Some(ReportQueue {
            writes: Vec::new(),
            issued_us: due.clone(),
            host_us: vec![Some(0); places.len()],
            done_us: rows.clone().map(|place| Some(seek_us(place) + 4200)).collect(),
            cylinder: narrow(&places),
            angle: angles.clone(),
            movement: (0..places.len() as u32).map(Some).collect(),
            earlier: Vec::new(),
        }),
        movements: ReportMovements {
            drive: vec![0; places.len()],
            errand: vec!["read".to_owned(); places.len()],
            from: narrow(&before[..places.len()]),
            to: narrow(&places),
            head: vec![0; places.len()],
            lba: places.iter().map(|place| place * spt).collect(),
            sectors: vec![8; places.len()],
            angle: angles,
            arc: vec![0.012; places.len()],
            course_us: rows.map(|place| vec![due[place], seek_us(place), 0, 4200, 0]).collect(),
        },
    }
}

fn factors(sides: &[Side], patterns: &[Pattern], depths: &[u32]) -> Vec<ReportFactor> {
    let factor = |name: &str, unit: Option<&str>, levels: Vec<String>| ReportFactor {
        name: name.to_owned(),
        unit: unit.map(str::to_owned),
        says: None,
        levels,
    };
    vec![
        factor("stack", None, sides.iter().map(|side| side.name.to_owned()).collect()),
        factor("pattern", None, patterns.iter().map(|pattern| pattern.name.to_owned()).collect()),
        factor("depth", Some("requests in flight"), depths.iter().map(u32::to_string).collect()),
    ]
}

fn cell(side: &Side, pattern: &Pattern, depth: u32) -> ReportCell {
    let service_ms = service(side, pattern, depth, (0.0, 0.0)).total();
    let iops = side.drives.min(f64::from(depth)) * 1e3 / service_ms;
    let mean = f64::from(depth) * 1e3 / iops;
    let spread = if depth == 1 {
        0.3
    } else if side.reorders {
        0.75
    } else {
        0.5
    };
    let runs = f64::from(RUNS);
    let ios = (iops * RUNTIME_S * runs).round();
    let waiting = (mean - service_ms).max(0.0);
    let in_drive = if side.reorders { waiting * f64::from(depth.min(32)) / f64::from(depth) } else { 0.0 };
    let half_width = 0.006 + 0.002 * f64::from(depth % 7);
    let flags = if pattern.name == "sequential write" && depth == 64 {
        vec!["the first 20 s were not steady and are left out".to_owned()]
    } else {
        Vec::new()
    };
    let response = response(mean, spread);
    let apart = pattern.reads > 0.0 && pattern.reads < 1.0;
    ReportCell {
        arrivals: None,
        id: format!("{}/{}/{depth}", side.name, pattern.name),
        levels: vec![side.name.to_owned(), pattern.name.to_owned(), depth.to_string()],
        runs: RUNS,
        ios: ios as u64,
        iops: around(iops, half_width),
        bytes_per_s: around(iops * pattern.kib * 1024.0, half_width),
        response_ms: response,
        reads: apart.then(|| self::response(mean * 1.06, spread)),
        writes: apart.then(|| self::response(mean * 0.8, spread)),
        flushes: None,
        flushes_per_s: 0.0,
        histogram: histogram(mean, spread, ios),
        anatomy_ms: service(side, pattern, depth, (waiting - in_drive, in_drive)),
        elapsed_s: around(RUNTIME_S, 0.0),
        operations: Vec::new(),
        cpu: None,
        array: None,
        flags,
    }
}

/// Time of one request that waits in the driver and in the drive; a deep queue that reorders shortens seek and rotation.
fn service(side: &Side, pattern: &Pattern, depth: u32, (waiting, queued): (f64, f64)) -> Anatomy {
    let shorter = 1.0 / (1.0 + side.gain * f64::from(depth.min(32)).log2());
    Anatomy::from_parts(|part| match part {
        Part::Processor => 0.03,
        Part::Driver => waiting,
        Part::Flush => 0.0,
        Part::Controller => 0.05,
        Part::Queue => queued,
        Part::Overhead => side.overhead,
        Part::Seek => pattern.seek * shorter,
        Part::Settle => 0.7 * (1.0 - pattern.reads) * pattern.seek / 8.0,
        Part::Rotation => pattern.rotation * shorter,
        Part::Transfer => pattern.kib / 58.0,
        Part::Cache if pattern.reads == 1.0 => 0.02,
        Part::Cache => 0.11,
        Part::Link => pattern.kib / 140.0,
    })
}

fn around(estimate: f64, half_width: f64) -> ReportInterval {
    ReportInterval { estimate, low: estimate * (1.0 - half_width), high: estimate * (1.0 + half_width) }
}

/// Quantiles of a log-normal distribution: the normal quantiles of 0.9, 0.99, 0.999, 0.9999 and about 1 in 10^6.
fn response(mean: f64, spread: f64) -> Response {
    let p50 = mean * (-spread * spread / 2.0).exp();
    let at = |z: f64| p50 * (spread * z).exp();
    let [p90, p95, p99, p99_9, p99_99, max] = [1.2816, 1.6449, 2.3263, 3.0902, 3.7190, 4.7534].map(at);
    Response { mean, p50, p90, p95: Some(p95), p99, p99_9, p99_99, max }
}

/// The same distribution in buckets 6 % wide.
fn histogram(mean: f64, spread: f64, ios: f64) -> Vec<(f64, u64)> {
    let middle = mean.ln() - spread * spread / 2.0;
    let below = |ms: f64| normal((ms.ln() - middle) / spread);
    let mut buckets = Vec::new();
    let mut low = 0.01_f64;
    while low < 1e5 {
        let high = low * 1.06;
        let count = ((below(high) - below(low)) * ios).round() as u64;
        if count > 0 {
            buckets.push((high, count));
        }
        low = high;
    }
    buckets
}

/// The normal distribution function (Abramowitz and Stegun 26.2.17, error below 7.5e-8).
fn normal(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let series = [1.330_274_429, -1.821_255_978, 1.781_477_937, -0.356_563_782, 0.319_381_530];
    let tail = series.iter().fold(0.0, |sum, c| sum * t + c) * t * (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt();
    if z > 0.0 { 1.0 - tail } else { tail }
}

fn study_verdicts(cells: &[ReportCell]) -> Vec<ReportVerdict> {
    let index = |side: usize, pattern: usize, depth: usize| (side * PATTERNS.len() + pattern) * DEPTHS.len() + depth;
    let mut verdicts = Vec::new();
    for depth in [2, 1, 0] {
        for (at, pattern) in PATTERNS.iter().enumerate() {
            let pair = (index(2, at, depth), index(3, at, depth));
            let condition = format!("{}, depth {}", pattern.name, DEPTHS[depth]);
            verdicts.push(verdict(cells, "controller.ncq", pair, &condition));
        }
    }
    verdicts.push(refused(cells, (index(0, 0, 2), index(3, 0, 2))));
    verdicts
}

fn verdict(cells: &[ReportCell], factor: &str, (a, b): (usize, usize), condition: &str) -> ReportVerdict {
    let (a, b) = (&cells[a], &cells[b]);
    let ratio = around(b.iops.estimate / a.iops.estimate, 0.012);
    let change = (ratio.estimate - 1.0) * 100.0;
    let (outcome, headline) = match ratio {
        _ if condition.starts_with("sequential write") => {
            (Outcome::NotEnoughData, format!("{condition}: the runs cannot tell."))
        }
        ReportInterval { low, .. } if low > 1.02 => {
            (Outcome::Faster, format!("{condition}: {change:.0} % more requests per second with NCQ."))
        }
        ReportInterval { high, .. } if high < 0.98 => {
            (Outcome::Slower, format!("{condition}: {:.0} % fewer requests per second with NCQ.", -change))
        }
        _ => (Outcome::NoDifference, format!("{condition}: NCQ makes no difference within ± 2 %.")),
    };
    let open = outcome == Outcome::NotEnoughData;
    ReportVerdict {
        headline,
        leads: false,
        factor: factor.to_owned(),
        side_a: a.levels[0].clone(),
        side_b: b.levels[0].clone(),
        cell: condition.to_owned(),
        cell_ids: vec![a.id.clone(), b.id.clone()],
        metric: "requests per second".to_owned(),
        ratio: Some(if open { around(0.985, 0.07) } else { ratio }),
        verdict: outcome,
        word: outcome.name().to_owned(),
        p_adjusted: Some(if open {
            0.41
        } else if outcome == Outcome::NoDifference {
            0.83
        } else {
            0.000_04
        }),
        margin_percent: Some(2.0),
        differs: vec!["controller.ncq".to_owned()],
        note: open.then(|| "14 more runs would narrow the interval to the margin.".to_owned()),
        better: "higher".to_owned(),
        ..ReportVerdict::default()
    }
}

fn refused(cells: &[ReportCell], (a, b): (usize, usize)) -> ReportVerdict {
    ReportVerdict {
        leads: false,
        headline: "Old drive on Adaptec against new drive with NCQ: not credited to NCQ.".to_owned(),
        factor: "controller.ncq".to_owned(),
        side_a: cells[a].levels[0].clone(),
        side_b: cells[b].levels[0].clone(),
        cell: "File Server, depth 64".to_owned(),
        cell_ids: vec![cells[a].id.clone(), cells[b].id.clone()],
        metric: "requests per second".to_owned(),
        better: "higher".to_owned(),
        verdict: Outcome::Refused,
        word: Outcome::Refused.name().to_owned(),
        differs: ["controller.ncq", "controller.model", "drive.model", "drive.cache.size"].map(str::to_owned).to_vec(),
        note: Some("The sides differ in four settings. Declare them as one bundle to compare them.".to_owned()),
        ..ReportVerdict::default()
    }
}

fn stack() -> Vec<ReportLayer> {
    let layer = |role: &str, name: &str, settings: &[[&str; 3]]| ReportLayer {
        role: role.to_owned(),
        name: name.to_owned(),
        settings: settings
            .iter()
            .map(|&[key, value, source]| ReportSetting {
                key: format!("{role}.{key}"),
                value: value.to_owned(),
                source: source.to_owned(),
            })
            .collect(),
    };
    vec![
        layer("program", "Iometer pattern", &[["depth", "1, 8, 64 requests", "study"], ["align", "512 B", "study"]]),
        layer(
            "driver",
            "iastor",
            &[["scheduler", "first come, first served", "default"], ["cost", "14 µs a request", "inferred"]],
        ),
        layer(
            "controller",
            "Intel ICH6R or Adaptec 1210SA",
            &[
                ["model", "1210SA, ICH6R", "study"],
                ["ncq", "off, on", "study"],
                ["link", "150 MB/s, SATA 1.0", "datasheet"],
                ["cost", "50 µs a request", "inferred"],
            ],
        ),
        layer(
            "drive",
            "sample drive, 7,200 rpm",
            &[
                ["model", "old, new", "study"],
                ["rpm", "7,200 revolutions/min", "datasheet"],
                ["seek.average", "8.5 ms", "datasheet"],
                ["cache.size", "2, 8 MiB", "datasheet"],
                ["cache.write", "on", "study"],
                ["queue.depth", "32 requests", "datasheet"],
            ],
        ),
    ]
}

fn claims() -> Vec<ReportClaim> {
    let rows = [
        (
            "Q1",
            "File Server gains about a quarter at high depth with NCQ.",
            "ratio 1.15 to 1.40 at depth 64",
            "1.27 times",
            Some(true),
            "queue ordered by positioning time",
        ),
        (
            "Q2",
            "At depth 1 NCQ changes nothing.",
            "ratio within ± 2 % at depth 1",
            "0.998 times",
            Some(true),
            "nothing to reorder",
        ),
        (
            "Q3",
            "Sequential reads gain about 1 MB/s from the newer drive.",
            "0.5 to 2 MB/s more at depth 1",
            "0.2 MB/s",
            Some(false),
            "command overhead",
        ),
        (
            "Q4",
            "Two drives in RAID 0 pass 110 MB/s.",
            "above 110 MB/s, sequential, depth 8",
            "not run",
            None,
            "striping",
        ),
    ];
    rows.iter()
        .map(|&(id, finding, condition, figure, reproduced, mechanism)| ReportClaim {
            id: id.to_owned(),
            class: "queue".to_owned(),
            finding: finding.to_owned(),
            condition: condition.to_owned(),
            figure: figure.to_owned(),
            reproduced,
            answer: match reproduced {
                Some(true) => "reproduced",
                Some(false) => "not reproduced",
                None => "shown",
            }
            .to_owned(),
            deciding: None,
            reading: None,
            unchecked: None,
            mechanism: mechanism.to_owned(),
            pending: None,
        })
        .collect()
}
