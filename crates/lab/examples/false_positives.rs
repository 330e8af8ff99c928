//! How often equal sides are called faster or slower: 5 % of comparisons is what is promised, and of studies with ten cells
//! as a whole. Every side is the same job on the same drive, each with seeds of its own; all goes the way of a study's
//! records ([`Evidence::findings`]). `cargo run --release -p seekwise-lab --example false_positives -- [COMPARISONS]`

use std::process::ExitCode;

use rayon::prelude::*;
use seekwise_formats::study::{self, Study};
use seekwise_lab::finding::Evidence;
use seekwise_lab::inputs::{Inputs, Taken};
use seekwise_lab::made::MadeFrom;
use seekwise_lab::plan::{self, Cell, Prepared};
use seekwise_lab::run::{RunRecord, measure};
use seekwise_lab::stats::{Judgement, Verdict};
use seekwise_model::rng::Seed;

/// Comparisons, where the arguments name none.
const COMPARISONS: usize = 2400;
/// Runs of a side: what `seekwise compare` makes without being asked.
const RUNS: u32 = 10;
/// Cells of the larger studies.
const CELLS: usize = 10;
/// What is promised.
const ALPHA: f64 = 0.05;
/// 97.5 % of the normal distribution lie below: both ends of a 95 % interval.
const Z: f64 = 1.96;

/// Jobs that take turns: one request at a time, several, and writes.
const JOBS: [(&str, &str); 3] = [("random-read", "1"), ("file-server", "8"), ("random-write", "2")];

fn main() -> ExitCode {
    let comparisons = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(COMPARISONS);
    let jobs: Vec<Prepared> = JOBS.iter().map(|job| prepared(*job)).collect();
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
    if alone && family { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// How many of a study's cells were called what.
struct Counts {
    /// Faster or slower; the whole counts as a cell.
    different: usize,
    equal: usize,
    open: usize,
}

/// Prints a share with its interval (Wilson 1927); false when all of it lies above what is promised.
fn said(what: &str, wrong: usize, of: usize) -> bool {
    let (n, share) = (of as f64, wrong as f64 / of.max(1) as f64);
    let centre = (share + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z / (1.0 + Z * Z / n) * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let percent = |share: f64| 100.0 * share;
    let (low, high) = (percent(centre - half), percent(centre + half));
    println!(
        "{wrong} of {of} {what} called faster or slower: {:.2} %, 95 % interval {low:.2} to {high:.2} %; {} % promised",
        percent(share),
        percent(ALPHA)
    );
    centre - half <= ALPHA
}

fn prepared((job, depth): (&str, &str)) -> Prepared {
    let settings = [
        ("job", job),
        ("drive", "barracuda-7200.7-ncq"),
        ("job.depth", depth),
        ("job.runtime", "1 s"),
        ("job.ramp", "0 s"),
    ];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
    let inputs = Inputs::today(&|name| Err(std::io::Error::other(format!("no file {name}"))));
    plan::prepare("equal sides", &Cell { levels: Vec::new(), settings }, &inputs).expect("built-in names")
}

/// The runs of one side; no other has its seeds.
fn runs(prepared: &Prepared, side: u64) -> Vec<RunRecord> {
    let one = |run: u32| {
        let seed = Seed(1).run(side * u64::from(RUNS) + u64::from(run)).0;
        let measured = measure(&prepared.target, &prepared.job, seed, |_| {}).expect("a valid job");
        RunRecord { run, ..measured.record("drive", "job", seed, Vec::new()) }
    };
    (0..RUNS).map(one).collect()
}

/// A study of so many cells with two sides each, which are all set alike, and what makes its results.
fn of(cells: usize, side: &Prepared) -> (Study, MadeFrom) {
    let places: Vec<String> = (0..cells).map(|cell| cell.to_string()).collect();
    let text = format!(
        "title = 't'\nquestion = 'q'\nruns = {RUNS}\n[[factor]]\nname = 'place'\nkey = 'k'\nlevels = [{}]\n\
         [[factor]]\nname = 'side'\nkey = 'l'\nlevels = ['a', 'b']\n[[compare]]\nname = 'c'\nfactor = 'side'\n\
         from = 'a'\nto = 'b'\n",
        places.join(", ")
    );
    let study = study::parse("equal sides", &text).expect("a valid study");
    let cells = plan::cells(&study);
    let made = MadeFrom::new(&text, &study, &cells, &vec![side.clone(); cells.len()], Taken::default());
    (study, made)
}

/// The cells' comparisons, judged together.
fn judged((study, made): &(Study, MadeFrom), pairs: &[[Vec<RunRecord>; 2]]) -> Counts {
    let sides = pairs.iter().flatten().enumerate();
    let records: Vec<RunRecord> =
        sides.flat_map(|(cell, runs)| runs.iter().map(move |run| RunRecord { cell, ..run.clone() })).collect();
    let (findings, overall) = Evidence::new(study, made, &records).findings();
    let verdict = |judgement: &Judgement| judgement.verdict;
    let cells: Vec<Verdict> = findings.iter().filter_map(|finding| finding.judgement.as_ref().map(verdict)).collect();
    let all = cells.iter().copied().chain(overall.iter().filter_map(|whole| whole.judgement.as_ref().map(verdict)));
    Counts {
        different: all.filter(|verdict| matches!(verdict, Verdict::Faster | Verdict::Slower)).count(),
        equal: cells.iter().filter(|verdict| matches!(verdict, Verdict::NoDifference { .. })).count(),
        open: cells.iter().filter(|verdict| matches!(verdict, Verdict::NotEnoughData { .. })).count(),
    }
}
