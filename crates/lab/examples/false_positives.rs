//! How often equal sides are called faster or slower. The promise is 5 % of comparisons, and of studies with ten cells
//! as a whole. Every side is the same job on the same drive, each with seeds of its own; everything goes the way of a
//! study's records ([`Evidence::findings`]). Then the same by metric: how many intervals exclude 1, and how many
//! verdicts are false. `cargo run --release -p seekwise-lab --example false_positives -- [COMPARISONS]`;
//! docs/statistics.md has its table.

use std::process::ExitCode;

use rayon::prelude::*;
use seekwise_disk::rng::Seed;
use seekwise_formats::study::{self, Study};
use seekwise_lab::finding::Evidence;
use seekwise_lab::inputs::{InputTexts, Inputs};
use seekwise_lab::plan::{self, Cell, PreparedCell};
use seekwise_lab::provenance::{RunSample, StudyProvenance};
use seekwise_lab::run::{RunRecord, measure_run};
use seekwise_lab::stats::{Judgement, Verdict};
use seekwise_lab::study::cell_record;

/// The default number of comparisons.
const COMPARISONS: usize = 5000;
/// Runs of a side: the default of `seekwise compare`.
const RUNS: u32 = 10;
/// Cells of the larger studies.
const CELLS: usize = 10;
/// The promised error.
const ALPHA: f64 = 0.05;
/// 97.5 % of the normal distribution lie below: both ends of a 95 % interval.
const Z: f64 = 1.96;

/// Jobs that take turns: one request at a time, several, writes, a flush after each tenth write, and a pace.
const JOBS: [(&str, &str); 5] =
    [("random-read", "1"), ("file-server", "8"), ("random-write", "2"), ("flushed.fio", "1"), ("paced.fio", "8")];
/// The two jobs that are not patterns.
const FILES: [(&str, &str); 2] = [
    ("flushed.fio", "[j]\nioengine=libaio\ndirect=1\nsize=4g\nbs=4k\nrw=randwrite\nfsync=10\ntime_based\nruntime=1\n"),
    (
        "paced.fio",
        "[j]\nioengine=libaio\ndirect=1\nsize=4g\nbs=4k\nrw=randread\nrate_iops=100\nrate_process=poisson\ntime_based\n\
         runtime=1\n",
    ),
];

/// The judged metrics, each alone, over the comparisons that have it.
const METRICS: [&str; 10] =
    ["iops", "mean", "p50", "p90", "p99", "p99.9", "max", "flush", "since_due", "since_due.p99"];

fn main() -> ExitCode {
    let comparisons = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(COMPARISONS);
    let jobs: Vec<PreparedCell> = JOBS.iter().map(|job| prepared(*job)).collect();
    let pairs: Vec<[Vec<RunRecord>; 2]> = (0..comparisons)
        .into_par_iter()
        .map(|index| [0, 1].map(|side| runs(&jobs[index % jobs.len()], (index * 2 + side) as u64)))
        .collect();
    let (one, ten) = (of(1, &jobs[0]), of(CELLS, &jobs[0]));
    let singles: Vec<Counts> = pairs.par_iter().map(|pair| judged(&one, std::slice::from_ref(pair))).collect();
    let studies: Vec<Counts> = pairs.par_chunks_exact(CELLS).map(|pairs| judged(&ten, pairs)).collect();
    let sum = |of: &[Counts], value: fn(&Counts) -> usize| of.iter().map(value).sum::<usize>();
    println!(
        "{comparisons} comparisons of equal sides, {RUNS} runs a side: {} no difference, {} not enough data",
        sum(&singles, |counts| counts.equal),
        sum(&singles, |counts| counts.open)
    );
    let alone = said("comparisons", sum(&singles, |counts| usize::from(counts.different > 0)), singles.len());
    let family = said("studies of ten cells", sum(&studies, |counts| usize::from(counts.different > 0)), studies.len());
    let metrics = by_metric(&pairs, &jobs[0]);
    if alone && family && metrics { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints the table by metric; false if an interval surely excludes 1 more often than promised.
fn by_metric(pairs: &[[Vec<RunRecord>; 2]], side: &PreparedCell) -> bool {
    println!(
        "\n| metric | job | pairs | both sides the same | intervals without 1 | 95 % interval | false verdicts \
         |\n|---|---|---|---|---|---|---|"
    );
    let mut kept = true;
    for metric in METRICS {
        let judging = judging(1, side, &format!("metric = '{metric}'\n"));
        for (place, (job, depth)) in JOBS.into_iter().enumerate() {
            let of_job = pairs.par_iter().enumerate().filter(|(index, _)| index % JOBS.len() == place);
            let judged: Vec<Judgement> = of_job.filter_map(|(_, pair)| alone(&judging, pair)).collect();
            if judged.is_empty() {
                continue;
            }
            // Where chance has no part in a figure there is nothing to be wrong about.
            let same = judged.iter().filter(|it| it.ratio.low == 1.0 && it.ratio.high == 1.0).count();
            let excluded = judged.iter().filter(|it| it.ratio.low > 1.0 || it.ratio.high < 1.0).count();
            let wrong = judged.iter().filter(|it| matches!(it.verdict, Verdict::Faster | Verdict::Slower)).count();
            let (n, share) = (judged.len(), |count: usize| 100.0 * count as f64 / judged.len() as f64);
            let (low, high) = wilson(excluded, n);
            kept &= low <= ALPHA;
            println!(
                "| `{metric}` | {} at depth {depth} | {n} | {same} | {:.1} % | {:.1} to {:.1} % | {:.1} % |",
                job.trim_end_matches(".fio"),
                share(excluded),
                100.0 * low,
                100.0 * high,
                share(wrong)
            );
        }
    }
    kept
}

/// The runs of all sides; each side is the cell at its place.
fn number_cells<'a>(sides: impl IntoIterator<Item = &'a Vec<RunRecord>>) -> Vec<RunRecord> {
    let mut records = Vec::new();
    for (cell, runs) in sides.into_iter().enumerate() {
        let first = records.len();
        records.extend_from_slice(runs);
        records[first..].iter_mut().for_each(|record| record.cell = cell);
    }
    records
}

/// The judgement of one comparison; `None` if a run has no such figure.
fn alone((study, made): &(Study, StudyProvenance), pair: &[Vec<RunRecord>; 2]) -> Option<Judgement> {
    let records = number_cells(pair);
    let evidence = Evidence::new(study, made, &records);
    let (findings, _) = evidence.findings();
    findings.first()?.judgement
}

/// The 95 % interval of a share (Wilson 1927).
fn wilson(count: usize, of: usize) -> (f64, f64) {
    let (n, share) = (of as f64, count as f64 / of.max(1) as f64);
    let centre = (share + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z / (1.0 + Z * Z / n) * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    ((centre - half).max(0.0), centre + half)
}

/// How many of a study's cells got which verdict.
struct Counts {
    /// Faster or slower; the whole counts as a cell.
    different: usize,
    equal: usize,
    open: usize,
}

/// Prints a share with its interval; false if all of it lies above the promise.
fn said(what: &str, wrong: usize, of: usize) -> bool {
    let (low, high) = wilson(wrong, of);
    let percent = |share: f64| 100.0 * share;
    println!(
        "{wrong} of {of} {what} called faster or slower: {:.2} %, 95 % interval {:.2} to {:.2} %; {} % promised",
        percent(wrong as f64 / of.max(1) as f64),
        percent(low),
        percent(high),
        percent(ALPHA)
    );
    low <= ALPHA
}

fn prepared((job, depth): (&str, &str)) -> PreparedCell {
    let settings = [
        ("job", job),
        ("drive", "barracuda-7200.7-ncq"),
        ("job.depth", depth),
        ("job.runtime", "1 s"),
        ("job.ramp", "0 s"),
    ];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
    let text = |name: &str| match FILES.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => Ok((*text).to_owned()),
        None => Err(std::io::Error::other(format!("no file {name}"))),
    };
    let inputs = Inputs::from_today(&text);
    plan::prepare_cell("equal sides", &Cell { levels: Vec::new(), settings }, &inputs).expect("built-in names")
}

/// The runs of one side; no other side has its seeds.
fn runs(prepared: &PreparedCell, side: u64) -> Vec<RunRecord> {
    let one = |run: u32| {
        let seed = Seed(1).run_seed(side * u64::from(RUNS) + u64::from(run)).0;
        let measured = measure_run(&prepared.target, &prepared.job, seed, |_| {}).expect("a valid job");
        let mut record = cell_record(prepared, &measured, seed);
        record.run = run;
        record
    };
    (0..RUNS).map(one).collect()
}

/// A study of `cells` cells with two equal sides each, and what makes its results.
fn of(cells: usize, side: &PreparedCell) -> (Study, StudyProvenance) {
    judging(cells, side, "metric = 'mean'\n")
}

/// The same study, with more lines for its comparison.
fn judging(cells: usize, side: &PreparedCell, lines: &str) -> (Study, StudyProvenance) {
    let places: Vec<String> = (0..cells).map(|cell| cell.to_string()).collect();
    let text = format!(
        "title = 't'\nquestion = 'q'\nruns = {RUNS}\n[[factor]]\nname = 'place'\nkey = 'k'\nlevels = [{}]\n\
         [[factor]]\nname = 'side'\nkey = 'l'\nlevels = ['a', 'b']\n[[compare]]\nname = 'c'\nfactor = 'side'\n\
         from = 'a'\nto = 'b'\n{lines}",
        places.join(", ")
    );
    let study = study::parse("equal sides", &text).expect("a valid study");
    let cells = plan::study_cells(&study);
    let made = StudyProvenance::new(
        String::new(),
        &cells,
        &vec![side.clone(); cells.len()],
        InputTexts::default(),
        RunSample::new(&study, None),
    );
    (study, made)
}

/// The cells' comparisons, judged together.
fn judged((study, made): &(Study, StudyProvenance), pairs: &[[Vec<RunRecord>; 2]]) -> Counts {
    let records = number_cells(pairs.iter().flatten());
    let evidence = Evidence::new(study, made, &records);
    let (findings, overall) = evidence.findings();
    let verdict = |judgement: &Judgement| judgement.verdict;
    let cells: Vec<Verdict> = findings.iter().filter_map(|finding| finding.judgement.as_ref().map(verdict)).collect();
    let all = cells.iter().copied().chain(overall.iter().filter_map(|whole| whole.judgement.as_ref().map(verdict)));
    Counts {
        different: all.filter(|verdict| matches!(verdict, Verdict::Faster | Verdict::Slower)).count(),
        equal: cells.iter().filter(|verdict| matches!(verdict, Verdict::NoDifference { .. })).count(),
        open: cells.iter().filter(|verdict| matches!(verdict, Verdict::NotEnoughData { .. })).count(),
    }
}
