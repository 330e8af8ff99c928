//! Measured results of jobs against the model: by how much each predicted figure is off, whether chance explains that, and which part of the
//! model is suspected.
//!
//! Nothing is read here: the points come from [`fit::sources`](crate::fit::sources).
//!
//! | room | what it is |
//! |---|---|
//! | [`conditions`] | what a job did, and what its drive could do |
//! | [`suspicion`] | a suspected part of the model, with the arithmetic behind it |
//! | `foreign` | signs that another stack or another drive was measured |
//! | `positioning` | single random reads: seek, rotation, overhead |
//! | `queue` | the gain from more requests in flight |
//! | `stream` | sequential reads: media rate, link, commands |
//! | `write` | writes: cache, destaging, settling |
//! | [`suspects`] | all rules, in order |

pub mod conditions;
mod foreign;
mod positioning;
mod queue;
mod stream;
pub mod suspects;
pub mod suspicion;
mod write;

use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::profile::{DriveFile, ReadingCache};
use serde::Serialize;

use self::conditions::JobConditions;
use crate::fit::points::{MeasuredPoint, PointWork, RUN_TO_RUN};
use crate::workers::Workers;

/// A measured figure and its prediction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureResidual {
    /// `iops`, `mean` or a percentile such as `p99`; of a mixed job with `read.` or `write.` before it. Times are in ms.
    pub figure: String,
    pub measured: f64,
    pub predicted: f64,
    /// Standard error of the measured value, as a share of it.
    pub error: f64,
}

/// Standard errors beyond which a difference is not put down to chance: one in twenty lies beyond by chance.
const SURE: f64 = 2.0;

impl FigureResidual {
    /// By how much the prediction is off, in percent of the measured value.
    pub fn off_percent(&self) -> f64 {
        100.0 * (self.predicted / self.measured - 1.0)
    }

    /// The logarithm of predicted over measured: half and twice are equally far.
    pub fn log_ratio(&self) -> f64 {
        (self.predicted.max(1e-9) / self.measured).ln()
    }

    /// Measured less predicted.
    pub(crate) fn shift(&self) -> f64 {
        self.measured - self.predicted
    }

    /// The largest difference that chance explains, as a logarithm: one run differs from the next, the measured figure comes from a limited
    /// number of requests, and so does the predicted one, from a run of the same job.
    pub fn scatter(&self) -> f64 {
        SURE * RUN_TO_RUN.hypot(std::f64::consts::SQRT_2 * self.error)
    }

    /// True if chance does not explain the difference.
    pub fn is_beyond_scatter(&self) -> bool {
        self.log_ratio().abs() > self.scatter()
    }

    /// True for the figures by which a job is judged: rate, mean, median and 99th percentile.
    pub fn is_leading(&self) -> bool {
        let name = self.figure.strip_prefix("read.").or(self.figure.strip_prefix("write.")).unwrap_or(&self.figure);
        ["iops", "mib_s", "mb_s", "mean", "p50", "p99"].contains(&name)
    }

    /// The percentile that the figure is; `None` for a rate, a mean, or one direction of a mixed job.
    pub(crate) fn percent(&self) -> Option<f64> {
        self.figure.strip_prefix('p')?.parse().ok()
    }
}

/// A job with its measured and predicted figures.
#[derive(Clone, Debug, PartialEq)]
pub struct JobResidual {
    /// The job in words.
    pub job: String,
    pub file: String,
    pub figures: Vec<FigureResidual>,
    /// The conditions that suspicions depend on; `None` for work that no rule covers.
    pub conditions: Option<JobConditions>,
}

impl JobResidual {
    pub(crate) fn figure(&self, name: &str) -> Option<&FigureResidual> {
        self.figures.iter().find(|figure| figure.figure == name)
    }

    /// The rate of a job that only reads or only writes.
    pub(crate) fn rate(&self) -> Option<&FigureResidual> {
        self.figure("iops")
    }
}

/// Simulates the job of each point on `drive`, and returns measured and predicted figures in the order of the points.
pub fn predict_points(points: &[MeasuredPoint], drive: &DriveFile) -> Result<Vec<JobResidual>, Vec<Diagnostic>> {
    let cache = ReadingCache::default();
    let predict = |point: &MeasuredPoint| -> Result<JobResidual, Vec<Diagnostic>> {
        let predicted = point.simulate_figures(drive, &cache)?;
        let figure = |(measured, predicted): (&crate::fit::points::MeasuredFigure, f64)| FigureResidual {
            figure: measured.name.clone(),
            measured: measured.measured,
            predicted,
            error: measured.error,
        };
        let conditions = match &point.work {
            PointWork::Job(job) => JobConditions::new(&job.0.profile, &job.1),
            PointWork::Step(..) => None,
        };
        Ok(JobResidual {
            job: point.what.clone(),
            file: point.file.clone(),
            figures: point.figures.iter().zip(predicted).map(figure).collect(),
            conditions,
        })
    };
    Workers::Shared.map(points, predict)
}

/// How well the leading figures of all jobs are predicted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResidualSummary {
    /// Leading figures.
    pub figures: usize,
    /// How many of them are off by at most 5, 10 and 20 %.
    pub within_5_percent: usize,
    pub within_10_percent: usize,
    pub within_20_percent: usize,
    /// How many are off by more than chance explains.
    pub beyond_scatter: usize,
    /// The mean distance in percent: the geometric mean of the ratios, each turned so that it is above 1.
    pub mean_distance_percent: f64,
    /// The figure that is off most.
    pub worst: Option<WorstFigure>,
}

/// The figure that is off most.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorstFigure {
    pub job: String,
    pub figure: String,
    pub off_percent: f64,
}

/// Summarizes the leading figures of all jobs.
pub fn summarize(jobs: &[JobResidual]) -> ResidualSummary {
    let all = || jobs.iter().flat_map(|job| job.figures.iter().map(move |figure| (job, figure)));
    let leading: Vec<(&JobResidual, &FigureResidual)> = all().filter(|(_, figure)| figure.is_leading()).collect();
    let within = |percent: f64| leading.iter().filter(|(_, figure)| figure.off_percent().abs() <= percent).count();
    let distances = leading.iter().map(|(_, figure)| figure.log_ratio().abs());
    let worst = leading.iter().max_by(|a, b| a.1.log_ratio().abs().total_cmp(&b.1.log_ratio().abs()));
    ResidualSummary {
        figures: leading.len(),
        within_5_percent: within(5.0),
        within_10_percent: within(10.0),
        within_20_percent: within(20.0),
        beyond_scatter: leading.iter().filter(|(_, figure)| figure.is_beyond_scatter()).count(),
        mean_distance_percent: 100.0 * (distances.sum::<f64>() / leading.len().max(1) as f64).exp_m1(),
        worst: worst.map(|(job, figure)| WorstFigure {
            job: job.job.clone(),
            figure: figure.figure.clone(),
            off_percent: figure.off_percent(),
        }),
    }
}

#[cfg(test)]
mod samples;

#[cfg(test)]
mod tests {
    use super::samples::lone_reads;
    use super::*;

    fn figure(name: &str, measured: f64, predicted: f64, error: f64) -> FigureResidual {
        FigureResidual { figure: name.to_owned(), measured, predicted, error }
    }

    #[test]
    fn chance_explains_twice_the_scatter_of_runs_and_of_both_sides_requests() {
        assert!(!figure("mean", 100.0, 102.9, 0.0).is_beyond_scatter());
        assert!(figure("mean", 100.0, 103.2, 0.0).is_beyond_scatter());
        assert!(!figure("p99", 100.0, 106.0, 0.02).is_beyond_scatter());
        assert!(figure("p99", 100.0, 107.0, 0.02).is_beyond_scatter());
    }

    #[test]
    fn a_summary_counts_leading_figures_alone_and_names_the_worst() {
        let job = JobResidual {
            figures: vec![
                figure("iops", 100.0, 104.0, 0.0),
                figure("mean", 10.0, 10.9, 0.0),
                figure("p99", 20.0, 10.0, 0.0),
                figure("p10", 1.0, 9.0, 0.0),
            ],
            ..lone_reads(&[])
        };
        let summary = summarize(&[job]);
        assert_eq!((summary.figures, summary.beyond_scatter), (3, 3));
        assert_eq!([summary.within_5_percent, summary.within_10_percent, summary.within_20_percent], [1, 2, 2]);
        let worst = summary.worst.unwrap();
        assert_eq!((worst.figure.as_str(), worst.off_percent), ("p99", -50.0));
        assert_eq!(summarize(&[]).worst, None);
    }

    #[test]
    fn percentiles_are_read_from_names_of_single_directions() {
        assert_eq!(figure("p99.9", 1.0, 1.0, 0.0).percent(), Some(99.9));
        for name in ["mean", "iops", "read.p99"] {
            assert_eq!(figure(name, 1.0, 1.0, 0.0).percent(), None);
        }
        assert!(figure("read.p99", 1.0, 1.0, 0.0).is_leading() && !figure("p95", 1.0, 1.0, 0.0).is_leading());
    }
}
