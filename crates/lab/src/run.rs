//! One run: a job on a stack with a seed, and the record of it that is kept. A record is all that statistics, findings
//! and reports are made of.

use std::collections::BTreeMap;

use seekwise_model::record::{Part, Record};
use seekwise_model::rng::Seed;
use seekwise_model::workload::Job;
use seekwise_targets::sim::{self, SimError, Stack};
use serde::{Deserialize, Serialize};

pub use crate::report::Response;
use crate::stats::histogram::{Histogram, Percentile};
use crate::stats::quality::{self, Ceiling, Flag};
use crate::stats::summary::{Kind, Recorder, Run, Summary};

/// The kept record of one run. Field names are those of `seekwise run --json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunRecord {
    /// Index of the cell in its study; 0 for a single run.
    #[serde(default)]
    pub cell: usize,
    /// Index of the run in its cell.
    #[serde(default)]
    pub run: u32,
    /// What it ran on.
    pub target: String,
    /// What was done.
    pub job: String,
    /// The seed of this run.
    pub seed: u64,
    /// A hash of all requests in order; equal streams have equal hashes.
    pub stream_hash: String,
    /// Virtual seconds counted.
    pub elapsed_s: f64,
    /// Reads and writes together.
    pub all: View,
    /// Reads.
    pub read: View,
    /// Writes.
    pub write: View,
    /// Processor use, where a stack models it.
    pub cpu: Option<Cpu>,
    /// Mean of each part of the response, in ms.
    pub anatomy_ms: BTreeMap<String, f64>,
    /// What the reader should know.
    pub warnings: Vec<String>,
    /// Response times of reads and writes together: upper edge of each bucket in ns, and how many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub histogram: Vec<(u64, u64)>,
}

/// Processor use of a run.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Cpu {
    /// Percent of all cores.
    pub percent: f64,
    /// Requests per core-second.
    pub ios_per_cpu_second: f64,
}

/// The requests of one kind.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct View {
    /// Requests done.
    pub ios: u64,
    /// Requests a second.
    pub iops: f64,
    /// Bytes a second.
    pub bytes_per_s: f64,
    /// Response times.
    pub response_ms: Response,
}

impl Response {
    /// The figures of a histogram; zeroes when it is empty.
    pub fn of(histogram: &Histogram) -> Response {
        let ms = |ns: f64| ns / 1e6;
        let at = |percentile| histogram.percentile(percentile).map_or(0.0, |span| ms(span.nanos() as f64));
        let [p50, p90, p99, p99_9, p99_99] = Percentile::LISTED.map(at);
        let mean = histogram.mean().map_or(0.0, ms);
        let max = histogram.max().map_or(0.0, |span| ms(span.nanos() as f64));
        Response { mean, p50, p90, p99, p99_9, p99_99, max }
    }
}

impl Response {
    /// The plain mean of each figure over several runs. Panics when there are none.
    pub fn average(runs: &[Response]) -> Response {
        let mean = |value: fn(&Response) -> f64| runs.iter().map(value).sum::<f64>() / runs.len() as f64;
        Response {
            mean: mean(|r| r.mean),
            p50: mean(|r| r.p50),
            p90: mean(|r| r.p90),
            p99: mean(|r| r.p99),
            p99_9: mean(|r| r.p99_9),
            p99_99: mean(|r| r.p99_99),
            max: runs.iter().map(|r| r.max).fold(0.0, f64::max),
        }
    }
}

/// A hash of a stack's settings (FNV-1a), to tell whether two results ran on the same.
pub fn settings_hash(settings: &[seekwise_formats::stack::Setting]) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for byte in settings.iter().flat_map(|s| s.key.bytes().chain(*b"=").chain(s.value.bytes()).chain(*b"\n")) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    format!("{hash:016x}")
}

impl View {
    fn of(summary: &Summary) -> View {
        View {
            ios: summary.tally.ios(),
            iops: summary.iops(),
            bytes_per_s: summary.bytes_per_s(),
            response_ms: Response::of(summary.tally.responses()),
        }
    }
}

/// A run with its full statistics, before it is reduced to what is kept.
pub struct Measured {
    /// All counts, by group and kind.
    pub run: Run,
    /// A hash of all requests.
    pub stream_hash: u64,
    /// Requests that failed, counted or not.
    pub failures: u64,
    /// Requests issued, counted or not.
    pub issued: u64,
    /// What the drive's link carries, bytes a second.
    pub link: u64,
}

/// Runs `job` on `stack`; `watch` sees each counted record after the statistics have.
pub fn measure(stack: &Stack, job: &Job, seed: u64, watch: impl FnMut(&Record)) -> Result<Measured, SimError> {
    measure_first(u64::MAX, stack, job, seed, watch)
}

/// The same, ended after `most` requests.
pub fn measure_first(
    most: u64,
    stack: &Stack,
    job: &Job,
    seed: u64,
    mut watch: impl FnMut(&Record),
) -> Result<Measured, SimError> {
    let groups: Vec<u16> = job.workers.iter().map(|worker| worker.group as u16).collect();
    let mut recorder = Recorder::new(&groups);
    let outcome = sim::run_first(most, stack, job, Seed(seed), &mut |record| {
        recorder.take(record);
        watch(record);
    })?;
    Ok(Measured {
        run: recorder.finish(),
        stream_hash: outcome.stream_hash,
        failures: outcome.failures,
        issued: outcome.issued,
        link: stack.profile.link.rate,
    })
}

impl Measured {
    /// What is kept of it.
    pub fn record(&self, target: &str, job: &str, seed: u64, warnings: Vec<String>) -> RunRecord {
        let all = self.run.all();
        let mut warnings = warnings;
        if self.failures > 0 {
            warnings.push(format!("{} of {} requests failed", self.failures, self.issued));
        }
        // Whether there are enough requests for a percentile is for whoever merges runs to say.
        let ceiling = Ceiling { link: Some(self.link as f64), media: None };
        let doubts = quality::of_run(&self.run, &ceiling);
        let above = doubts.iter().filter(|flag| matches!(flag, Flag::FasterThanLink { .. }));
        warnings.extend(above.map(ToString::to_string));
        let part = |part: Part| (part.name().to_owned(), all.tally.mean_part(part).unwrap_or(0.0) / 1e6);
        RunRecord {
            cell: 0,
            run: 0,
            target: target.to_owned(),
            job: job.to_owned(),
            seed,
            stream_hash: format!("{:016x}", self.stream_hash),
            elapsed_s: self.run.elapsed().nanos() as f64 / 1e9,
            read: View::of(&self.run.kind(Kind::Read)),
            write: View::of(&self.run.kind(Kind::Write)),
            cpu: None,
            anatomy_ms: Part::ALL.into_iter().map(part).collect(),
            warnings,
            histogram: all.tally.responses().buckets().map(|(edge, count)| (edge.nanos(), count)).collect(),
            all: View::of(&all),
        }
    }
}
