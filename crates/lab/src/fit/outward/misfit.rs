//! The misfit of a point: how far the simulated figures are from the measured ones, in standard errors, and how far its numbers are from
//! their priors. Steps of least squares and the covariance of the numbers follow from it.
//!
//! A run as a whole is faster or slower than the next, so the figures of one job share an error; each figure has one of its own besides.
//! Both are estimated from what remains (a moment estimate with a few prior observations): nothing is assumed about how the data scatter
//! that they can tell themselves.

use nalgebra::{DMatrix, DVector};
use serde::Serialize;

use super::prior::FitStage;
use crate::fit::points::{MeasuredFigure, MeasuredPoint};

/// A seen figure.
#[derive(Clone, Debug)]
pub(crate) struct FigureRow {
    /// The index of its job among the rows' jobs.
    pub job: usize,
    /// The stage whose data it is; `None` if it tells nothing that moves: a stream's percentiles show where its blocks lie on tracks and
    /// in segments, which is no error of density or rotation.
    pub stage: Option<FitStage>,
    /// The logarithm of the measured value.
    pub log_measured: f64,
    /// 1 for a time, -1 for a rate: a slow run has long times and low rates.
    sign: f64,
    class: ScatterClass,
    /// The standard error by the number of requests, as a share.
    error: f64,
    /// That of the simulated figure.
    simulated_error: f64,
}

/// Figures that scatter alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScatterClass {
    /// A rate or a mean.
    Level,
    /// A percentile from the 10th to the 90th.
    Middle,
    /// A percentile beyond.
    Tail,
}

impl ScatterClass {
    fn of_figure(figure: &MeasuredFigure) -> ScatterClass {
        match figure.percentile() {
            None => ScatterClass::Level,
            Some(share) if (0.1..=0.9).contains(&share) => ScatterClass::Middle,
            Some(_) => ScatterClass::Tail,
        }
    }
}

/// The stage that a job's figures tell.
pub(crate) fn stage_of_job(point: &MeasuredPoint) -> FitStage {
    match point.load {
        None => FitStage::Arm,
        Some(load) if load.writes() => FitStage::Writes,
        Some(load) if !load.is_random() => FitStage::Streams,
        Some(load) if load.depth > 1 => FitStage::Queue,
        Some(_) => FitStage::Arm,
    }
}

/// The rows of the figures of `points`, in their order.
pub(crate) fn figure_rows<'a>(points: impl Iterator<Item = &'a MeasuredPoint>) -> Vec<FigureRow> {
    let rows = |(job, point): (usize, &MeasuredPoint)| -> Vec<FigureRow> {
        let stage = stage_of_job(point);
        // A shorter simulation has fewer requests, and scatters more than the measurement.
        let shorter = (point.measured_requests as f64 / point.request_limit as f64).max(1.0).sqrt();
        let row = |figure: &MeasuredFigure| FigureRow {
            job,
            stage: (stage != FitStage::Streams || !figure.is_percentile()).then_some(stage),
            log_measured: figure.measured.ln(),
            sign: if figure.is_rate() { -1.0 } else { 1.0 },
            class: ScatterClass::of_figure(figure),
            error: figure.error,
            simulated_error: shorter * figure.error,
        };
        point.figures.iter().map(row).collect()
    };
    points.enumerate().flat_map(rows).collect()
}

/// The scatter of measurements around a drive's true figures, as standard deviations of logarithms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Scatter {
    /// Of a whole run.
    pub run: f64,
    /// Of a rate or mean, of a middle percentile, of a tail.
    pub figure: [f64; 3],
}

/// What is assumed before the data tell: two published sets of fio's agree within 1 to 2 % from run to run; figures of one run agree
/// better, and tails depend on few requests.
const USUAL_SCATTER: Scatter = Scatter { run: 0.015, figure: [0.01, 0.01, 0.02] };

/// While the drive is not yet found, what remains is its own error: small differences between jobs do not count yet.
const FIRST_SCATTER: Scatter = Scatter { run: 0.03, figure: [0.03, 0.03, 0.06] };

/// How many observations the assumption counts.
const PRIOR_OBSERVATIONS: f64 = 3.0;

impl Scatter {
    /// At most the scatter with which a fit begins: more is an error of the drive that is still to be found.
    pub(crate) fn at_most_first(self) -> Scatter {
        let figure = [0, 1, 2].map(|class| self.figure[class].min(FIRST_SCATTER.figure[class]));
        Scatter { run: self.run.min(FIRST_SCATTER.run), figure }
    }

    /// The scatter with which a fit begins.
    pub(crate) const FIRST: Scatter = FIRST_SCATTER;

    fn of_row(&self, row: &FigureRow) -> f64 {
        self.figure[row.class as usize].hypot(row.error).hypot(row.simulated_error)
    }
}

/// A statement about numbers before any data: a sum of them lies around a centre.
#[derive(Clone, Debug)]
pub(crate) struct PriorRow {
    /// Indices of numbers, with their factors.
    pub terms: Vec<(usize, f64)>,
    pub centre: f64,
    pub deviation: f64,
}

impl PriorRow {
    fn distance(&self, position: &[f64]) -> f64 {
        (self.centre - self.terms.iter().map(|(index, factor)| factor * position[*index]).sum::<f64>()) / self.deviation
    }
}

/// The misfit of points to seen figures and priors.
#[derive(Clone, Debug)]
pub(crate) struct Misfit {
    pub rows: Vec<FigureRow>,
    pub priors: Vec<PriorRow>,
    pub scatter: Scatter,
}

/// The change of every figure's logarithm with one number.
pub(crate) type Slope = Vec<f64>;

impl Misfit {
    /// Residuals: the logarithms of measured over simulated values.
    pub(crate) fn residuals(&self, figures: &[f64]) -> Vec<f64> {
        let residual = |(row, figure): (&FigureRow, &f64)| row.log_measured - figure.max(1e-9).ln();
        self.rows.iter().zip(figures).map(residual).collect()
    }

    fn job_count(&self) -> usize {
        self.rows.iter().map(|row| row.job + 1).max().unwrap_or(0)
    }

    /// The weights of the rows, 1 over their variance; 0 for data of later stages. A row that is far off counts less (P. Huber 1964).
    fn weights(&self, residuals: &[f64], until: FitStage) -> Vec<f64> {
        let weight = |(row, residual): (&FigureRow, &f64)| {
            let deviation = self.scatter.of_row(row);
            let far = (residual.abs() / (FAR * deviation)).max(1.0);
            if row.stage.is_some_and(|stage| stage <= until) { 1.0 / (deviation * deviation * far) } else { 0.0 }
        };
        self.rows.iter().zip(residuals).map(weight).collect()
    }

    /// `vector` through the inverse covariance: by rows, less what the common error of a run explains.
    fn weighted(&self, weights: &[f64], vector: &[f64]) -> Vec<f64> {
        let mut sums = vec![(0.0, 0.0); self.job_count()];
        for ((row, weight), value) in self.rows.iter().zip(weights).zip(vector) {
            let (of_values, of_weights) = &mut sums[row.job];
            *of_values += row.sign * weight * value;
            *of_weights += weight;
        }
        let variance = self.scatter.run * self.scatter.run;
        let common = |job: usize| variance * sums[job].0 / (1.0 + variance * sums[job].1);
        let value = |((row, weight), value): ((&FigureRow, &f64), &f64)| weight * (value - row.sign * common(row.job));
        self.rows.iter().zip(weights).zip(vector).map(value).collect()
    }

    /// The misfit: squared distances in standard errors, of the figures of stages up to `until` and of the priors.
    pub(crate) fn value(&self, residuals: &[f64], position: &[f64], until: FitStage) -> f64 {
        let weights = self.weights(residuals, until);
        let of_data: f64 = self.weighted(&weights, residuals).iter().zip(residuals).map(|(a, b)| a * b).sum();
        of_data + self.priors.iter().map(|prior| prior.distance(position).powi(2)).sum::<f64>()
    }

    /// The normal equations of `numbers`, whose slopes are given: their matrix and right side.
    fn equations(
        &self,
        residuals: &[f64],
        position: &[f64],
        (numbers, slopes): (&[usize], &[Slope]),
        until: FitStage,
    ) -> (DMatrix<f64>, DVector<f64>) {
        let weights = self.weights(residuals, until);
        let n = numbers.len();
        let (mut matrix, mut right) = (DMatrix::zeros(n, n), DVector::zeros(n));
        let pull = self.weighted(&weights, residuals);
        for (a, slope) in slopes.iter().enumerate() {
            right[a] = slope.iter().zip(&pull).map(|(x, y)| x * y).sum();
            let weighted = self.weighted(&weights, slope);
            for (b, other) in slopes.iter().enumerate() {
                matrix[(b, a)] = other.iter().zip(&weighted).map(|(x, y)| x * y).sum::<f64>();
            }
        }
        for prior in &self.priors {
            let factor = |number: &usize| prior.terms.iter().find(|term| term.0 == *number).map_or(0.0, |term| term.1);
            let factors: Vec<f64> = numbers.iter().map(|number| factor(number) / prior.deviation).collect();
            for (a, of_a) in factors.iter().enumerate() {
                right[a] += of_a * prior.distance(position);
                factors.iter().enumerate().for_each(|(b, of_b)| matrix[(b, a)] += of_a * of_b);
            }
        }
        (matrix, right)
    }

    /// The step of `numbers` that least squares take, damped by a share of the matrix's diagonal.
    pub(crate) fn step(
        &self,
        residuals: &[f64],
        position: &[f64],
        (numbers, slopes): (&[usize], &[Slope]),
        until: FitStage,
        damping: f64,
    ) -> Option<Vec<f64>> {
        let (mut matrix, right) = self.equations(residuals, position, (numbers, slopes), until);
        for index in 0..numbers.len() {
            matrix[(index, index)] *= 1.0 + damping;
        }
        matrix.cholesky().map(|solved| solved.solve(&right).iter().copied().collect())
    }

    /// The covariance of `numbers` by data and priors, as its Cholesky factor. The slopes, taken over `spans`, are themselves simulated:
    /// what chance adds to their squares tells nothing about the numbers.
    pub(crate) fn covariance_factor(
        &self,
        residuals: &[f64],
        position: &[f64],
        (numbers, slopes): (&[usize], &[Slope]),
        spans: &[f64],
    ) -> Option<DMatrix<f64>> {
        let (mut matrix, _) = self.equations(residuals, position, (numbers, slopes), FitStage::Writes);
        let weights = self.weights(residuals, FitStage::Writes);
        let chance: f64 =
            self.rows.iter().zip(&weights).map(|(row, weight)| weight * row.simulated_error.powi(2)).sum();
        for (index, span) in spans.iter().enumerate() {
            let prior: f64 = self.own_precision(numbers[index]);
            let told = matrix[(index, index)] - prior;
            // Two simulations, each with its chance.
            let by_chance =
                if slopes[index].iter().all(|slope| *slope == 0.0) { 0.0 } else { 2.0 * chance / (span * span) };
            let share = (1.0 - by_chance / told.max(1e-12)).clamp(LEAST_TOLD, 1.0);
            for other in 0..numbers.len() {
                let factor = if other == index { share } else { share.sqrt() };
                let coupling = self.coupled_precision(numbers[index], numbers[other]);
                matrix[(index, other)] = coupling + factor * (matrix[(index, other)] - coupling);
                if other != index {
                    matrix[(other, index)] = matrix[(index, other)];
                }
            }
        }
        matrix.cholesky()?.inverse().cholesky().map(|factor| factor.l())
    }

    /// The precision that priors alone give to a number.
    fn own_precision(&self, number: usize) -> f64 {
        self.coupled_precision(number, number)
    }

    /// What priors alone put into the matrix of the normal equations for two numbers.
    fn coupled_precision(&self, one: usize, other: usize) -> f64 {
        let factor = |prior: &PriorRow, number: usize| {
            prior.terms.iter().find(|term| term.0 == number).map_or(0.0, |term| term.1) / prior.deviation
        };
        self.priors.iter().map(|prior| factor(prior, one) * factor(prior, other)).sum()
    }

    /// The share of the figures that counts as independent, from what remains of the percentiles of each job: a drive of another form than the
    /// modelled one is off smoothly from one percentile to the next, and a dozen such figures tell as much as one. From the correlation r of
    /// neighbours, (1 - r) / (1 + r), as for the mean of an autoregressive series.
    pub(crate) fn independent_share(&self, residuals: &[f64], until: FitStage) -> f64 {
        let (mut squares, mut products) = (0.0, 0.0);
        for job in 0..self.job_count() {
            let percentiles = self.rows.iter().zip(residuals);
            let of_job: Vec<f64> = percentiles
                .filter(|(row, _)| {
                    row.job == job && row.class != ScatterClass::Level && row.stage.is_some_and(|stage| stage <= until)
                })
                .map(|(_, residual)| *residual)
                .collect();
            let mean = of_job.iter().sum::<f64>() / of_job.len().max(1) as f64;
            squares += of_job.iter().map(|residual| (residual - mean).powi(2)).sum::<f64>();
            products += of_job.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>();
        }
        let correlation = if squares > 0.0 { (products / squares).clamp(0.0, MOST_CORRELATED) } else { 0.0 };
        (1.0 - correlation) / (1.0 + correlation)
    }

    /// Estimates the scatter from what remains of the data of stages up to `until`, with `fitted` numbers found from the same figures.
    pub(crate) fn estimate_scatter(&self, residuals: &[f64], until: FitStage, fitted: f64) -> (Scatter, f64) {
        let weights = self.weights(residuals, until);
        let counts_here = |row: &FigureRow| row.stage.is_some_and(|stage| stage <= until);
        let told: std::collections::BTreeSet<usize> =
            self.rows.iter().filter(|row| counts_here(row)).map(|row| row.job).collect();
        let all_jobs = self.job_count();
        let jobs = told.len();
        let variance = self.scatter.run * self.scatter.run;
        let (mut sums, mut counts) = (vec![(0.0, 0.0); all_jobs], [0.0f64; 3]);
        for ((row, weight), residual) in self.rows.iter().zip(&weights).zip(residuals) {
            sums[row.job].0 += row.sign * weight * residual;
            sums[row.job].1 += weight;
            counts[row.class as usize] += if counts_here(row) { 1.0 } else { 0.0 };
        }
        // The common error of each run, as the data and the present scatter give it, and its variance.
        let common = |job: usize| variance * sums[job].0 / (1.0 + variance * sums[job].1);
        let limit = OUTLYING_RUN * self.scatter.run;
        let of_common: f64 = told
            .iter()
            .map(|&job| common(job).clamp(-limit, limit).powi(2) + variance / (1.0 + variance * sums[job].1))
            .sum();
        // Numbers that were found from the figures take their share of what would remain.
        let lost = (fitted / jobs.max(1) as f64).min(0.8);
        let run_observations = PRIOR_OBSERVATIONS + jobs as f64 * (1.0 - lost);
        let run = ((PRIOR_OBSERVATIONS * USUAL_SCATTER.run.powi(2) + of_common) / run_observations).sqrt();
        let mut squares = [0.0; 3];
        for (row, residual) in self.rows.iter().zip(residuals).filter(|(row, _)| counts_here(row)) {
            let deviation = FAR * self.scatter.of_row(row);
            let own = (row.sign * residual - common(row.job)).clamp(-deviation, deviation);
            squares[row.class as usize] += (own * own - row.error.powi(2) - row.simulated_error.powi(2)).max(0.0);
        }
        let all: f64 = counts.iter().sum();
        let figure = [0, 1, 2].map(|class| {
            let observations = PRIOR_OBSERVATIONS + counts[class] * (1.0 - (fitted / all.max(1.0)).min(0.8));
            let usual = PRIOR_OBSERVATIONS * USUAL_SCATTER.figure[class].powi(2);
            ((usual + squares[class]) / observations).sqrt()
        });
        (Scatter { run, figure }, run_observations)
    }
}

/// The least share of what slopes tell that stays when chance is taken off.
const LEAST_TOLD: f64 = 0.1;

/// The most that neighbouring percentiles count as correlated: then twenty tell as much as one.
const MOST_CORRELATED: f64 = 0.9;

/// Standard errors from which on a figure is far off, and counts less.
const FAR: f64 = 3.0;

/// Standard errors that a run counts at most in their estimate: one result that the drive cannot meet must not make all others look noisy.
/// P. Huber's constant for an estimate that one in ten may mislead. With 2, what five runs with one far off add to the square would not shrink.
const OUTLYING_RUN: f64 = 1.5;

#[cfg(test)]
mod tests {
    use super::*;

    fn row(job: usize, sign: f64, measured: f64) -> FigureRow {
        let (stage, class) = (Some(FitStage::Arm), ScatterClass::Level);
        FigureRow { job, stage, log_measured: measured.ln(), sign, class, error: 0.0, simulated_error: 0.0 }
    }

    fn misfit(rows: Vec<FigureRow>, priors: Vec<PriorRow>) -> Misfit {
        Misfit { rows, priors, scatter: Scatter { run: 0.02, figure: [0.01; 3] } }
    }

    /// By hand: two figures of one run, both a hundredth off in the same way, have the covariance [[5, 4], [4, 5]] · 1e-4.
    #[test]
    fn figures_of_one_run_share_an_error() {
        let same = misfit(vec![row(0, 1.0, 1.0), row(0, 1.0, 1.0)], Vec::new());
        let value = same.value(&[0.01, 0.01], &[], FitStage::Writes);
        assert!((value - 2.0 / 9.0).abs() < 1e-9, "{value}");
        let opposite = same.value(&[0.01, -0.01], &[], FitStage::Writes);
        assert!((opposite - 2.0).abs() < 1e-9, "{opposite}");
        // A rate that is too low belongs to times that are too long.
        let mixed = misfit(vec![row(0, 1.0, 1.0), row(0, -1.0, 1.0)], Vec::new());
        assert!((mixed.value(&[0.01, -0.01], &[], FitStage::Writes) - 2.0 / 9.0).abs() < 1e-9);
    }

    /// A mean of 100 figures of different runs, and a prior as sharp as one of them.
    #[test]
    fn a_step_weighs_figures_and_priors() {
        let rows: Vec<FigureRow> = (0..100).map(|job| row(job, 1.0, 1.0)).collect();
        let deviation = 0.02f64.hypot(0.01);
        let prior = PriorRow { terms: vec![(0, 1.0)], centre: 0.0, deviation };
        let it = misfit(rows, vec![prior]);
        let slopes = [vec![1.0; 100]];
        let step = it.step(&[0.01; 100], &[0.0], (&[0], &slopes), FitStage::Writes, 0.0).unwrap();
        assert!((step[0] - 0.01 * 100.0 / 101.0).abs() < 1e-9, "{step:?}");
        let factor = it.covariance_factor(&[0.01; 100], &[0.0], (&[0], &slopes), &[1.0]).unwrap();
        assert!((factor[(0, 0)] - deviation / 101f64.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn the_scatter_is_what_the_data_show() {
        let jobs = 40;
        let rows: Vec<FigureRow> = (0..jobs).flat_map(|job| [row(job, 1.0, 1.0), row(job, 1.0, 1.0)]).collect();
        // Runs are off by 4 % either way, figures within a run agree.
        let residuals: Vec<f64> = (0..2 * jobs).map(|at| if at / 2 % 2 == 0 { 0.04 } else { -0.04 }).collect();
        let mut it = misfit(rows, Vec::new());
        for _ in 0..20 {
            it.scatter = it.estimate_scatter(&residuals, FitStage::Writes, 0.0).0;
        }
        assert!((0.035..0.042).contains(&it.scatter.run) && it.scatter.figure[0] < 0.01, "{:?}", it.scatter);
    }

    /// Residuals that alternate are independent; those that fall smoothly through a job tell as much as few.
    #[test]
    fn smooth_residuals_count_as_few() {
        let percentile = |job| FigureRow { class: ScatterClass::Middle, ..row(job, 1.0, 1.0) };
        let it = misfit((0..26).map(|at| percentile(at / 13)).collect(), Vec::new());
        let alternating: Vec<f64> = (0..26).map(|at| if at % 2 == 0 { 0.02 } else { -0.02 }).collect();
        assert_eq!(it.independent_share(&alternating, FitStage::Writes), 1.0);
        let smooth: Vec<f64> = (0..26).map(|at| 0.01 * f64::from(at % 13)).collect();
        assert!(
            it.independent_share(&smooth, FitStage::Writes) < 0.2,
            "{}",
            it.independent_share(&smooth, FitStage::Writes)
        );
        assert_eq!(it.independent_share(&[0.0; 26], FitStage::Writes), 1.0);
    }

    #[test]
    fn one_result_that_cannot_be_met_does_not_make_the_others_noisy() {
        let rows: Vec<FigureRow> = (0..5).flat_map(|job| [row(job, 1.0, 1.0), row(job, 1.0, 1.0)]).collect();
        let mut residuals = vec![0.0; 10];
        residuals[8..].fill(0.6);
        let mut it = misfit(rows, Vec::new());
        for _ in 0..20 {
            it.scatter = it.estimate_scatter(&residuals, FitStage::Writes, 0.0).0;
        }
        assert!(it.scatter.run < 2.0 * USUAL_SCATTER.run, "{:?}", it.scatter);
    }
}
