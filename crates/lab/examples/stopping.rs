//! How often sampling until decided errs, what it finds and what it spends, on ratios that are drawn: studies of ten cells
//! whose log ratios scatter normally, or with the heavy tails of Laplace's distribution, around a planted difference.
//! Looks and verdicts are those of a study (`stats/sequential`). `cargo run --release -p seekwise-lab --example stopping --
//! [STUDIES]` prints the table in docs/statistics.md; it fails if an error is surely more frequent than promised.

use std::process::ExitCode;

use rayon::prelude::*;
use seekwise_disk::rng::{Rng, Seed};
use seekwise_lab::stats::sequential::LOOKS;
use seekwise_lab::stats::{
    BetterDirection, Criteria, SequentialJudgement, SequentialTest, Verdict, judge_sequentially,
};

/// Studies a row.
const STUDIES: usize = 1_000;
/// Cells of a study.
const CELLS: usize = 10;
/// The promised error of each question.
const ALPHA: f64 = 0.05;
/// 97.5 % of the normal distribution lie below.
const Z: f64 = 1.96;

/// Planted differences: none; half of the margin of 2 %, the margin itself, and more.
const PLANTED: [f64; 4] = [0.0, 0.01, 0.02, 0.05];
/// Deviations of the log ratio of a short run: those of throughput and of a p99.
const SPREADS: [f64; 3] = [0.01, 0.03, 0.1];

#[derive(Clone, Copy, PartialEq)]
enum Scatter {
    Normal,
    /// Both tails exponential: kurtosis 6 instead of 3.
    Laplace,
}

/// What came of one row's studies.
#[derive(Default)]
struct Counts {
    cells: usize,
    decided: usize,
    different: usize,
    equal: usize,
    /// Studies with any cell falsely called different, and falsely called equal.
    families: [usize; 2],
    covered: usize,
    pairs: usize,
    /// Sum of the estimates' logs.
    estimates: f64,
    /// Of cells that were called different: how many, and the sum of theirs.
    found: (usize, f64),
}

fn main() -> ExitCode {
    let studies = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(STUDIES);
    println!(
        "| scatter | of a run | planted | decided | faster, slower | no difference | false in a study | interval holds | estimate | of those found | \
         runs a side |\n|---|---|---|---|---|---|---|---|---|---|---|"
    );
    let mut kept = true;
    for (scatter, name) in [(Scatter::Normal, "normal"), (Scatter::Laplace, "Laplace")] {
        for spread in SPREADS {
            for planted in PLANTED {
                kept &= row(&name_of(name, spread), scatter, spread, planted, studies);
            }
        }
    }
    if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn name_of(name: &str, spread: f64) -> String {
    format!("{name} | {:.0} %", 100.0 * spread)
}

/// Prints a row; false if an error is surely more frequent than promised.
fn row(name: &str, scatter: Scatter, spread: f64, planted: f64, studies: usize) -> bool {
    let one = |index: usize| study(Seed(32).run_seed(index as u64), scatter, spread, planted);
    let all = (0..studies).into_par_iter().map(one).reduce(Counts::default, Counts::with);
    let share = |count: usize| 100.0 * count as f64 / all.cells as f64;
    let percent = |sum: f64, of: usize| 100.0 * (sum / of.max(1) as f64).exp_m1();
    // Without a difference every "faster" is false; from the margin on every "no difference".
    let wrong = if planted == 0.0 { Some(all.families[0]) } else { (planted >= 0.02).then_some(all.families[1]) };
    let found = match all.found.0 {
        0 => "–".to_owned(),
        found => format!("{:+.2} %", percent(all.found.1, found)),
    };
    println!(
        "| {name} | {:.0} % | {:.1} % | {:.1} % | {:.1} % | {} | {:.1} % | {:+.2} % | {found} | {:.1} |",
        100.0 * planted,
        share(all.decided),
        share(all.different),
        share(all.equal),
        wrong.map_or("–".to_owned(), |wrong| format!("{:.1} %", 100.0 * wrong as f64 / studies as f64)),
        share(all.covered),
        percent(all.estimates, all.cells),
        all.pairs as f64 / all.cells as f64,
    );
    wrong.is_none_or(|wrong| surely_within(wrong, studies, ALPHA))
        && surely_within(all.cells - all.covered, all.cells, ALPHA)
}

/// False if the 95 % interval of a share (Wilson 1927) lies above a promise.
fn surely_within(count: usize, of: usize, promise: f64) -> bool {
    let (n, share) = (of as f64, count as f64 / of as f64);
    let centre = (share + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z / (1.0 + Z * Z / n) * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    centre - half <= promise
}

/// One study: all runs that any cell could have; each stops where its verdict stands.
fn study(seed: Seed, scatter: Scatter, spread: f64, planted: f64) -> Counts {
    let mut rng = seed.stream("stopping");
    let most = LOOKS[LOOKS.len() - 1];
    let truth = planted.ln_1p();
    let mut test = || SequentialTest {
        logs: (0..most).map(|_| truth + spread * scatter.draw(&mut rng)).collect(),
        looks: LOOKS.to_vec(),
        better: BetterDirection::Higher,
    };
    let tests: Vec<SequentialTest> = (0..CELLS).map(|_| test()).collect();
    let judged = judge_sequentially(&tests, &Criteria::default());
    let cells: Vec<Counts> = judged.into_iter().flatten().map(|it| of_cell(&it, 1.0 + planted)).collect();
    let mut counts = cells.into_iter().fold(Counts::default(), Counts::with);
    counts.families = [usize::from(counts.different > 0), usize::from(counts.equal > 0)];
    counts
}

fn of_cell(it: &SequentialJudgement, truth: f64) -> Counts {
    let ratio = it.judgement.ratio;
    let different = matches!(it.judgement.verdict, Verdict::Faster | Verdict::Slower);
    Counts {
        cells: 1,
        decided: usize::from(it.is_decided()),
        different: usize::from(different),
        equal: usize::from(matches!(it.judgement.verdict, Verdict::NoDifference { .. })),
        families: [0; 2],
        covered: usize::from(ratio.low <= truth && truth <= ratio.high),
        pairs: it.pairs as usize,
        estimates: ratio.estimate.ln(),
        found: if different { (1, ratio.estimate.ln()) } else { (0, 0.0) },
    }
}

impl Counts {
    fn with(self, other: Counts) -> Counts {
        Counts {
            cells: self.cells + other.cells,
            decided: self.decided + other.decided,
            different: self.different + other.different,
            equal: self.equal + other.equal,
            families: [self.families[0] + other.families[0], self.families[1] + other.families[1]],
            covered: self.covered + other.covered,
            pairs: self.pairs + other.pairs,
            estimates: self.estimates + other.estimates,
            found: (self.found.0 + other.found.0, self.found.1 + other.found.1),
        }
    }
}

impl Scatter {
    /// A draw of mean 0 and deviation 1.
    fn draw(self, rng: &mut Rng) -> f64 {
        let mut uniform = || (rng.below(1 << 52) as f64 + 0.5) / (1u64 << 52) as f64;
        match self {
            // Box and Muller 1958.
            Scatter::Normal => (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos(),
            // The difference of two exponential draws, of variance 2.
            Scatter::Laplace => (uniform().ln() - uniform().ln()) / std::f64::consts::SQRT_2,
        }
    }
}
