//! Jobs with figures that came of them: from fio's JSON, from a list of cases, from curves. A point is one job; its loss
//! is the mean of how far its figures are off, as logarithms of ratios, so that half and twice are equally far.
//!
//! Reads no file: [`sources`](super::sources) makes points of texts.

use rayon::prelude::*;
use seekwise_formats::diagnostic::Diagnostic;
use seekwise_formats::profile::DriveFile;
use seekwise_model::block::Op;
use seekwise_model::rng::Seed;
use seekwise_model::stack::Stack;
use seekwise_model::time::Span;
use seekwise_model::workload::replay::{Row, Timing};
use seekwise_targets::work::Work;

use super::data::Part;
use crate::run::measure_first;
use crate::stats::Kind;
use crate::validate::replay;

/// Requests after which a point's job is ended: its figures are within a hundredth by then.
const MOST: u64 = 20_000;

/// A list of points counts what a trace's groups do: five of weight one (reads, writes, all, and the parts of both), each
/// with two errors.
const WEIGHT: f64 = 10.0;

/// Steps of each distance that are made.
const STEPS: u64 = 500;

/// What is done for a point.
#[derive(Clone, Debug)]
pub enum Doing {
    /// A job on a stack, whose drive is to be put in.
    Job(Box<(Stack, Work)>),
    /// Single reads of so many sectors, each so many blocks behind one at a place by chance.
    Step(u64, u32),
}

/// A figure that was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// `iops`, `mib_s`, `mb_s`, `mean`, or a percentile such as `p50`; with `write.` before it of the writes.
    pub name: String,
    /// Its value: ms of times.
    pub measured: f64,
}

/// A job and what came of it on the real drive.
#[derive(Clone, Debug)]
pub struct Point {
    /// In words.
    pub what: String,
    /// Its file, and line or place there.
    pub file: String,
    /// The line, 0 where it has none.
    pub line: usize,
    /// What points that differ in their order alone have in common.
    pub series: String,
    /// Its place in its series: the depth, the size, the distance.
    pub order: f64,
    /// Not seen by the search.
    pub held: bool,
    /// Keys below `drive.` that held meanwhile.
    pub set: Vec<(String, String)>,
    /// What is done.
    pub doing: Doing,
    /// What came of it.
    pub figures: Vec<Figure>,
}

/// Names of figures.
pub const FIGURES: &str = "iops, mib_s, mb_s, mean, or a percentile such as p50 or p99.9";

/// Whether `name` is one of a figure.
pub fn is_figure(name: &str) -> bool {
    let name = name.strip_prefix("write.").or(name.strip_prefix("read.")).unwrap_or(name);
    matches!(name, "iops" | "mib_s" | "mb_s" | "mean") || percentile(name).is_some()
}

fn percentile(name: &str) -> Option<f64> {
    let percent = name.strip_prefix('p')?.parse::<f64>().ok()?;
    (percent > 0.0 && percent < 100.0).then_some(percent / 100.0)
}

impl Point {
    /// Its figures on `drive`, in their order.
    pub fn simulated(&self, drive: &DriveFile) -> Result<Vec<f64>, Vec<Diagnostic>> {
        let mut drive = drive.clone();
        for (key, value) in &self.set {
            drive.set(key, value)?;
        }
        let profile = drive.profile()?;
        let wrong = |message: String| vec![Diagnostic::at(&self.file, self.line, message)];
        match &self.doing {
            Doing::Step(distance, sectors) => {
                let rows = steps(*distance, *sectors, profile.geometry.sectors());
                let mut sum = Span::ZERO;
                let target = Stack::bare(profile).into();
                replay(&target, &rows, Timing::Think, Seed(1), &mut |record| {
                    // Every other request is the step, its stamp an even number.
                    if record.request.stamp % 2 == 0 {
                        sum += record.response();
                    }
                })
                .map_err(|error| wrong(error.to_string()))?;
                Ok(vec![sum.nanos() as f64 / STEPS as f64 / 1e6; self.figures.len()])
            }
            Doing::Job(job) => {
                let (mut stack, work) = (job.0.clone(), &job.1);
                stack.profile = profile;
                let measured =
                    measure_first(MOST, &stack.into(), work, 1, |_| {}).map_err(|error| wrong(error.to_string()))?;
                self.figures
                    .iter()
                    .map(|figure| {
                        value(&measured.run, figure).ok_or_else(|| wrong(format!("the job gives no `{}`", figure.name)))
                    })
                    .collect()
            }
        }
    }

    /// How far it is off on `drive`.
    fn loss(&self, drive: &DriveFile) -> Result<f64, Vec<Diagnostic>> {
        let off = |(figure, simulated): (&Figure, f64)| (simulated.max(1e-9) / figure.measured).ln().abs();
        let found = self.simulated(drive)?;
        Ok(self.figures.iter().zip(found).map(off).sum::<f64>() / self.figures.len() as f64)
    }
}

fn value(run: &crate::stats::summary::Run, figure: &Figure) -> Option<f64> {
    let reads = run.kind(Kind::Read);
    let (kind, name) = match (figure.name.strip_prefix("write."), figure.name.strip_prefix("read.")) {
        (Some(name), _) => (run.kind(Kind::Write), name),
        (_, Some(name)) => (reads, name),
        _ if reads.tally.ios() > 0 => (reads, figure.name.as_str()),
        _ => (run.kind(Kind::Write), figure.name.as_str()),
    };
    match name {
        _ if kind.tally.ios() == 0 => None,
        "iops" => Some(kind.iops()),
        "mib_s" => Some(kind.bytes_per_s() / 1_048_576.0),
        "mb_s" => Some(kind.bytes_per_s() / 1e6),
        "mean" => kind.tally.responses().mean().map(|ns| ns / 1e6),
        name => kind.tally.responses().quantile(percentile(name)?).map(|time| time.nanos() as f64 / 1e6),
    }
}

/// Reads by turns at a place by chance and so many blocks behind it.
fn steps(distance: u64, sectors: u32, capacity: u64) -> Vec<Row> {
    let mut chance = Seed(1).stream("steps");
    let room = capacity.saturating_sub(distance + u64::from(sectors)).max(1);
    let mut rows = Vec::new();
    for _ in 0..STEPS {
        let lba = chance.below(room);
        for lba in [lba, lba + distance] {
            rows.push(Row { op: Op::Read, lba, sectors, arrival: Span::ZERO, think: Span::ZERO });
        }
    }
    rows
}

/// Holds back every other point of each series, by its order: the second, the fourth, ….
pub fn hold_every_other(points: &mut [Point]) {
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|&a, &b| {
        let (a, b) = (&points[a], &points[b]);
        a.series.cmp(&b.series).then(a.order.total_cmp(&b.order))
    });
    let mut place: Option<(String, f64, bool)> = None;
    for index in order {
        let point = &mut points[index];
        // Points of one order go together: one of them would tell the other.
        let held = match &place {
            Some((series, at, held)) if *series == point.series => {
                if *at == point.order {
                    *held
                } else {
                    !held
                }
            }
            _ => false,
        };
        point.held = held;
        place = Some((point.series.clone(), point.order, held));
    }
}

/// The loss of a part of `points`, and that of each draw.
pub fn losses(
    points: &[Point],
    drive: &DriveFile,
    part: Part,
    draws: &[Vec<u32>],
) -> Result<Option<Vec<f64>>, Vec<Diagnostic>> {
    let of_part: Vec<&Point> = points.iter().filter(|point| point.held == (part == Part::Held)).collect();
    if of_part.is_empty() {
        return Ok(None);
    }
    let each: Vec<f64> = of_part.par_iter().map(|point| point.loss(drive)).collect::<Result<_, _>>()?;
    let mean = |counts: &dyn Fn(usize) -> f64| {
        let n: f64 = (0..each.len()).map(counts).sum();
        WEIGHT * each.iter().enumerate().map(|(index, loss)| loss * counts(index)).sum::<f64>() / n
    };
    let mut all = vec![mean(&|_| 1.0)];
    all.extend(draws.iter().map(|draw| mean(&|index| f64::from(draw[index]))));
    Ok(Some(all))
}
