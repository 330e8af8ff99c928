//! Runs a job on a target with a seed, and reduces the run to the record that is kept. Statistics, findings and reports are made from
//! records alone.

pub mod arrivals;
mod band;
#[cfg(test)]
pub(crate) mod blank;
pub mod certificate;
mod check;
mod commits;
mod drive_counts;
mod issuer;
mod mean_parts;
pub mod members;
mod operations;
pub mod real;
mod troubles;

use std::collections::BTreeMap;

use seekwise_disk::block::busy_curve::BusyCurve;
use seekwise_disk::block::setting_use::SettingUse;
use seekwise_disk::engine::fingerprint::StreamHash;
use seekwise_disk::record::Record;
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::Stack;
use seekwise_disk::time::{Instant, Span};
use seekwise_run::cutoff::RunCutoff;
use seekwise_run::outcome::{RunCost, RunError, RunFigures, RunOutcome};
use seekwise_run::place::Target;
use seekwise_run::receipt::Receipt;
use seekwise_run::receipt::pace::PaceVerdict;
use seekwise_run::sim;
use seekwise_run::usage::Usage;
use seekwise_run::work::Work;
use seekwise_run::work::trace::ReplayResult;
use seekwise_work::workload::{IssueListener, Window};
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};

pub use self::arrivals::Arrivals;
pub use self::band::{KindBand, ResponseBand};
pub use self::commits::CommitRecord;
pub use self::drive_counts::{DriveCounts, SyncRecord};
pub use self::issuer::{IssuerFigures, RecordedEnds};
pub use self::mean_parts::MeanParts;
pub use self::members::{ArrayRecord, MemberRecord};
pub use self::operations::OperationRecord;
use self::real::RealRecorder;
pub use self::real::{RealObservation, RealRecord};
use self::troubles::run_troubles;
use crate::cut::file_losses::{FileLosses, LossCount, OperationLosses};
use crate::cut::{self, ClassLosses};
use crate::stats::commits::{CommitRecorder, CommitTally};
use crate::stats::histogram::Histogram;
use crate::stats::packed_buckets::PackedBuckets;
use crate::stats::quality::{self, Ceiling, Flag};
pub use crate::stats::response::Response;
use crate::stats::summary::{RequestKind, RequestTally, RunRecorder, RunTally, TallySummary};

/// The version of the output of `--json`, of CSV and of `results.jsonl`: docs/output.md says what it promises.
pub const SCHEMA: u32 = 1;

/// The kept record of a run. Field names are those of `seekwise run --json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunRecord {
    /// [`SCHEMA`] of the program that wrote it.
    pub schema: u32,
    /// Index of the cell in its study; 0 for a single run.
    pub cell: usize,
    /// Index of the run in its cell.
    pub run: u32,
    /// The hash of all settings of the stack and the job that it ran.
    pub cell_hash: String,
    pub target: String,
    /// `sim` in virtual time; any other place is in real time, and its figures are measured.
    pub place: String,
    pub job: String,
    pub seed: u64,
    /// A hash of all requests in order; equal streams have equal hashes.
    pub stream_hash: String,
    /// For each worker: a hash of its first reads and writes as they were drawn, by which runs on different places can be compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub streams: Vec<StreamRecord>,
    /// Seconds counted, in the place's time.
    pub elapsed_s: f64,
    /// Reads and writes together.
    pub all: KindRecord,
    pub read: KindRecord,
    pub write: KindRecord,
    /// Flushes; they move no bytes, and are not in `all`.
    pub flush: KindRecord,
    /// Commits; `None` without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Box<CommitRecord>>,
    /// Processor use, if a stack models it or the kernel reported it.
    pub cpu: Option<CpuRecord>,
    /// Further observations on a real file or device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub real: Option<Box<RealRecord>>,
    /// The cost of a request on this machine, if it is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<RequestCost>,
    /// How well the clock kept up with the model, for a modelled disk in real time: the figures of `seekwise serve
    /// --json`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub receipt: BTreeMap<String, f64>,
    /// Counts of the drives, from the run's beginning to its end.
    pub drive: DriveCounts,
    /// The work of an array and its members, in virtual time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<Box<ArrayRecord>>,
    /// Losses by power cuts, if a study asks for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cuts: Option<Box<CutRecord>>,
    /// Losses by orderly power-offs after runs of their own, if a study asks for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shutdowns: Option<Box<CutRecord>>,
    /// Open arrivals: the rate that was requested and reached, and the wait before the issue; `None` for a closed loop.
    pub arrivals: Option<Arrivals>,
    /// Mean of each part of the response, in ms.
    pub anatomy_ms: MeanParts,
    /// Requests that ended with an error, counted or not.
    #[serde(deserialize_with = "deserialize_count")]
    pub failures: u64,
    /// Doubts and notes for the reader.
    pub warnings: Vec<String>,
    /// On a fitted drive: what the job asks that no measurement of the fit covered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<String>,
    /// The draws of the fit behind each `band`; `None` without bands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draws: Option<u32>,
    /// Response times of reads and writes together: upper edge of each bucket in ns, and how many.
    #[serde(default, skip_serializing_if = "PackedBuckets::is_empty", deserialize_with = "deserialize_histogram")]
    pub histogram: PackedBuckets,
    /// Reads and writes by the names of the job's workers, if there are several names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupRecord>,
    /// Figures of the source of its requests: page cache, recording, trace, programs.
    #[serde(flatten)]
    pub issuer: IssuerFigures,
    /// Requests between changes of settings during the run, if there are any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseRecord>,
    /// Which settings of its stack the run used; `None` if that is unknown, as for a record that was read. It is not kept.
    #[serde(skip)]
    pub asked: Option<SettingUse>,
}

/// The first reads and writes of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StreamRecord {
    /// How many the hash covers: 100, or as many as there were.
    pub requests: u32,
    /// A hash of operation, address and size of each.
    pub hash: String,
}

impl StreamRecord {
    fn from_hash(stream: &StreamHash) -> StreamRecord {
        StreamRecord { requests: stream.requests, hash: format!("{:016x}", stream.hash) }
    }
}

impl RunRecord {
    /// True if its figures were measured in real time.
    pub fn is_measured(&self) -> bool {
        self.place != sim::NAME
    }

    /// True if both runs went the same way in the model: the same requests with the same times to the nanosecond, though settings may
    /// differ.
    pub(crate) fn is_same_run(&self, other: &RunRecord) -> bool {
        let figures = |run: &RunRecord| (run.seed, run.elapsed_s, run.failures, run.cpu, run.arrivals, run.drive);
        !self.is_measured()
            && !other.is_measured()
            && figures(self) == figures(other)
            && self.stream_hash == other.stream_hash
            && self.histogram == other.histogram
            && [&self.all, &self.read, &self.write, &self.flush]
                == [&other.all, &other.read, &other.write, &other.flush]
            && self.commit == other.commit
            && self.array == other.array
            && self.groups == other.groups
            && self.issuer == other.issuer
    }
}

/// The cost of a request on the machine that ran it, as the mean over all that were issued.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct RequestCost {
    /// Nanoseconds on the clock.
    pub wall_ns: f64,
    /// Nanoseconds of a processor, if the system reports it.
    pub processor_ns: Option<f64>,
}

impl RequestCost {
    /// The cost per request in a run of `issued_requests`.
    fn per_request(cost: RunCost, issued_requests: u64) -> RequestCost {
        let each = |span: Span| span.nanos() as f64 / issued_requests.max(1) as f64;
        RequestCost { wall_ns: each(cost.wall), processor_ns: cost.processor.map(each) }
    }
}

/// The largest count that a record may hold, so that sums over all runs of a study stay within 64 bits. A run at a million requests a
/// second would reach it after twelve days.
const MOST_COUNT: u64 = 1 << 40;

fn deserialize_count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let count = u64::deserialize(deserializer)?;
    match count <= MOST_COUNT {
        true => Ok(count),
        false => Err(D::Error::custom(format!("{count} is more than a run counts; expected at most {MOST_COUNT}"))),
    }
}

fn deserialize_histogram<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PackedBuckets, D::Error> {
    let buckets = PackedBuckets::deserialize(deserializer)?;
    let sum = buckets.iter().try_fold(0u64, |sum, bucket| sum.checked_add(bucket.1));
    match sum.is_some_and(|sum| sum <= MOST_COUNT) {
        true => Ok(buckets),
        false => {
            Err(D::Error::custom(format!("the histogram counts more than a run does; expected at most {MOST_COUNT}")))
        }
    }
}

/// A stretch of a run between two changes of its settings.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PhaseRecord {
    /// Seconds from the run's beginning.
    pub from_s: f64,
    /// The change at its beginning, in words; empty for the first.
    pub changed: String,
    /// Reads and writes that ended in it.
    pub all: KindRecord,
    pub read: KindRecord,
    pub write: KindRecord,
    pub flush: KindRecord,
}

/// Reads and writes of the workers of one name: of a section of a fio job, of a worker of Iometer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GroupRecord {
    /// The workers' name.
    pub name: String,
    /// Reads and writes together.
    pub all: KindRecord,
    /// Response times: upper edge of each bucket in ns, and how many.
    #[serde(deserialize_with = "deserialize_histogram")]
    pub histogram: PackedBuckets,
}

/// Response times of several runs over all their requests together: percentiles are never averaged.
pub fn pool_responses(runs: &[&RunRecord]) -> Histogram {
    let mut histogram = Histogram::default();
    for (edge, count) in runs.iter().flat_map(|run| run.histogram.iter()) {
        histogram.record_bucket(Span::from_nanos(edge), count);
    }
    histogram
}

/// The groups of several runs, by the names of their workers: sums of requests, means of rates, and response times over all requests
/// together.
pub fn merge_groups(runs: &[&RunRecord]) -> Vec<GroupRecord> {
    let Some(first) = runs.first() else { return Vec::new() };
    let merged = |name: &str| {
        let groups: Vec<&GroupRecord> =
            runs.iter().flat_map(|run| run.groups.iter().filter(|group| group.name == name)).collect();
        let mut histogram = Histogram::default();
        for (edge, count) in groups.iter().flat_map(|group| group.histogram.iter()) {
            histogram.record_bucket(Span::from_nanos(edge), count);
        }
        let mean = |value: fn(&KindRecord) -> f64| {
            groups.iter().map(|group| value(&group.all)).sum::<f64>() / runs.len() as f64
        };
        let all = KindRecord {
            ios: groups.iter().map(|group| group.all.ios).sum(),
            iops: mean(|view| view.iops),
            bytes_per_s: mean(|view| view.bytes_per_s),
            response_ms: Response::from_histogram(&histogram),
            since_due_ms: None,
            anatomy_ms: mean_anatomy(&groups),
            band: None,
        };
        let histogram = histogram.buckets().map(|(edge, count)| (edge.nanos(), count)).collect();
        GroupRecord { name: name.to_owned(), all, histogram }
    };
    first.groups.iter().map(|group| merged(&group.name)).collect()
}

/// The parts of the mean response over all requests of several runs.
fn mean_anatomy(groups: &[&GroupRecord]) -> MeanParts {
    let ios: u64 = groups.iter().map(|group| group.all.ios).sum();
    let with_parts: Vec<&KindRecord> =
        groups.iter().map(|group| &group.all).filter(|kind| !kind.anatomy_ms.is_empty()).collect();
    let share = |kind: &KindRecord, part| kind.anatomy_ms.get(part) * kind.ios as f64 / ios.max(1) as f64;
    match with_parts.is_empty() {
        true => MeanParts::default(),
        false => MeanParts::from_parts(|part| with_parts.iter().map(|kind| share(kind, part)).sum()),
    }
}

fn pack_responses(tally: &RequestTally) -> PackedBuckets {
    tally.responses().buckets().map(|(edge, count)| (edge.nanos(), count)).collect()
}

/// Processor use of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CpuRecord {
    /// Busy time in per cent of all cores.
    pub percent: f64,
    /// Reads and writes per core-second.
    pub ios_per_cpu_second: f64,
    /// Reads and writes a second for each per cent: the older studies' efficiency.
    pub iops_per_percent: f64,
    /// MB/s for each per cent. Within one pattern it is equivalent to `iops_per_percent`.
    pub mb_per_s_per_percent: f64,
}

impl CpuRecord {
    /// The use of a modelled processor in the windows in which a run is counted.
    fn from_model(run: &RunTally, cores: &BusyCurve, counted: &[Window]) -> CpuRecord {
        let (all, core_count) = (run.reads_and_writes(), cores.units() as f64);
        let busy_ns = counted.iter().map(|window| cores.work_between(window.from, window.until).nanos() as f64).sum();
        CpuRecord::new(busy_ns, run.elapsed(), core_count, all.tally.ios(), &all)
    }

    /// The use that the kernel reported for a run of `issued_requests`.
    fn from_usage(usage: &Usage, run: &RunTally, issued_requests: u64) -> CpuRecord {
        let core_count = f64::from(usage.system.cores.max(1));
        let busy_ns = usage.processor_time().nanos() as f64;
        CpuRecord::new(busy_ns, usage.wall_time(), core_count, issued_requests, &run.reads_and_writes())
    }

    /// The use by `requests`, for which all cores together were busy for `busy_ns` in the time `elapsed`.
    fn new(busy_ns: f64, elapsed: Span, core_count: f64, requests: u64, all: &TallySummary) -> CpuRecord {
        let quotient = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let percent = 100.0 * quotient(busy_ns, elapsed.nanos() as f64 * core_count);
        CpuRecord {
            percent,
            ios_per_cpu_second: quotient(requests as f64, busy_ns / 1e9),
            iops_per_percent: quotient(all.iops(), percent),
            mb_per_s_per_percent: quotient(all.bytes_per_s() / 1e6, percent),
        }
    }
}

/// Losses by power cuts of a run. The names are those of `seekwise power-cut --json`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CutRecord {
    /// Cuts judged.
    pub cuts: u32,
    /// Writes acknowledged in the run.
    #[serde(deserialize_with = "deserialize_count")]
    pub writes: u64,
    /// Flushes completed in the run.
    #[serde(deserialize_with = "deserialize_count")]
    pub flushes: u64,
    pub acknowledged_lost: ClassLossRecord,
    pub flushed_lost: ClassLossRecord,
    /// Marked FUA and lost.
    pub fua_lost: ClassLossRecord,
    /// Promised to be durable, and lost.
    pub promised_lost: ClassLossRecord,
    /// Cuts that left a sector unreadable.
    #[serde(deserialize_with = "deserialize_count")]
    pub torn_cuts: u64,
    /// Cuts that left rows with parity that does not belong to their data.
    #[serde(deserialize_with = "deserialize_count")]
    pub hole_cuts: u64,
    /// For a scene: losses of files, as a mount would find them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<FileCutRecord>,
    /// For a scene: losses of operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<OperationCutRecord>,
}

/// Losses of files by cuts; as [`FileLosses`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FileCutRecord {
    /// Promised to stay, and lost.
    pub promised_lost: LossRecord,
    /// Never promised, and lost.
    pub unpromised_lost: LossRecord,
    pub in_neither_place: LossRecord,
    /// With older content.
    pub stale: LossRecord,
    /// With an unreadable sector.
    pub unreadable: LossRecord,
}

/// Losses of operations by cuts; as [`OperationLosses`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OperationCutRecord {
    /// Promised to stay, and lost.
    pub promised_lost: LossRecord,
    /// Acknowledged, and lost in the part that was never promised.
    pub unpromised_lost: LossRecord,
    /// On the medium in part.
    pub in_part: LossRecord,
}

/// Counts of one kind over all cuts of a run.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LossRecord {
    /// Cuts that left any.
    #[serde(deserialize_with = "deserialize_count")]
    pub cuts_with_loss: u64,
    /// Over all cuts.
    #[serde(deserialize_with = "deserialize_count")]
    pub count: u64,
}

impl From<&LossCount> for LossRecord {
    fn from(count: &LossCount) -> LossRecord {
        LossRecord { cuts_with_loss: count.cuts_with_loss, count: count.count }
    }
}

impl From<&FileLosses> for FileCutRecord {
    fn from(losses: &FileLosses) -> FileCutRecord {
        FileCutRecord {
            promised_lost: (&losses.promised_lost).into(),
            unpromised_lost: (&losses.unpromised_lost).into(),
            in_neither_place: (&losses.in_neither_place).into(),
            stale: (&losses.stale).into(),
            unreadable: (&losses.unreadable).into(),
        }
    }
}

impl From<&OperationLosses> for OperationCutRecord {
    fn from(losses: &OperationLosses) -> OperationCutRecord {
        OperationCutRecord {
            promised_lost: (&losses.promised_lost).into(),
            unpromised_lost: (&losses.unpromised_lost).into(),
            in_part: (&losses.in_part).into(),
        }
    }
}

/// Losses of one class of writes over all cuts of a run.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClassLossRecord {
    /// Cuts that lost any.
    #[serde(deserialize_with = "deserialize_count")]
    pub cuts_with_loss: u64,
    /// Over all cuts.
    #[serde(deserialize_with = "deserialize_count")]
    pub writes: u64,
}

impl CutRecord {
    /// The part of a report that is kept.
    pub fn from_report(report: &cut::CutReport) -> CutRecord {
        let loss =
            |losses: &ClassLosses| ClassLossRecord { cuts_with_loss: losses.cuts_with_loss, writes: losses.writes };
        CutRecord {
            cuts: report.cuts,
            writes: report.writes,
            flushes: report.flushes,
            acknowledged_lost: loss(&report.acknowledged_lost),
            flushed_lost: loss(&report.flushed_lost),
            fua_lost: loss(&report.fua_lost),
            promised_lost: loss(&report.promised_lost),
            torn_cuts: report.torn.cuts,
            hole_cuts: report.stripes.map_or(0, |stripes| stripes.cuts),
            files: report.files.as_ref().map(FileCutRecord::from),
            operations: report.operations.as_ref().map(OperationCutRecord::from),
        }
    }
}

/// The requests of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct KindRecord {
    /// Requests done.
    #[serde(deserialize_with = "deserialize_count")]
    pub ios: u64,
    pub iops: f64,
    pub bytes_per_s: f64,
    /// Response times, from the issue; `None` without requests.
    #[serde(deserialize_with = "Response::deserialize_nonzero")]
    pub response_ms: Option<Response>,
    /// Times from when requests were due, by a rate or a trace, to their end; `None` without such requests.
    pub since_due_ms: Option<Response>,
    /// Mean of each part of the response, in ms; empty without requests, or in older folders without the parts.
    #[serde(default, skip_serializing_if = "MeanParts::is_empty")]
    pub anatomy_ms: MeanParts,
    /// The range over the draws of the drive's fit, if the run was made on them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub band: Option<Box<KindBand>>,
}

impl KindRecord {
    /// The mean response in ms; 0 without requests.
    pub fn mean_ms(&self) -> f64 {
        self.response_ms.map_or(0.0, |response| response.mean)
    }

    fn from_summary(summary: &TallySummary) -> KindRecord {
        KindRecord {
            ios: summary.tally.ios(),
            iops: summary.iops(),
            bytes_per_s: summary.bytes_per_s(),
            response_ms: Response::from_histogram(summary.tally.responses()),
            since_due_ms: Response::from_histogram(summary.tally.since_due()),
            anatomy_ms: if summary.tally.ios() > 0 { tally_anatomy(&summary.tally) } else { MeanParts::default() },
            band: None,
        }
    }
}

/// Mean of each part, in ms; 0 without requests.
fn tally_anatomy(tally: &RequestTally) -> MeanParts {
    MeanParts::from_parts(|part| tally.mean_part_ns(part).unwrap_or(0.0) / 1e6)
}

/// A run with its full statistics, before it is reduced to what is kept.
pub struct MeasuredRun {
    /// All counts, by group and kind.
    pub run: RunTally,
    /// Those of its records, and of a scene's programs.
    pub commits: CommitTally,
    /// The place's figures; their troubles also have those of the array, the page cache and the pace.
    pub figures: RunFigures,
    pub place: &'static str,
    /// The rate of the drives' links together in bytes a second, if known.
    pub link: Option<u64>,
    /// Processor use, if a stack models it or the kernel reported it.
    pub cpu: Option<CpuRecord>,
    /// The stretches of time in which the run is counted.
    pub counted: Vec<Window>,
    /// Further observations on a real file or device.
    pub real: Option<RealObservation>,
    /// For each group of the run: the name of its workers.
    pub names: Vec<String>,
    /// For each worker: the time for which it is counted.
    pub windows: Vec<Option<Window>>,
    /// Figures of the source of its requests.
    pub issuer: IssuerFigures,
    /// For a recorded session: the first request that did not end as recorded, by stamp, with its recorded end and its end now.
    pub first_off: Option<(u64, Instant, Instant)>,
    /// Open arrivals.
    pub arrivals: Option<Arrivals>,
    /// For a trace: how it was played.
    pub achieved: Option<ReplayResult>,
    /// Counts between changes of settings.
    pub phases: Vec<SettingPeriod>,
}

/// Counts from one change of the settings to the next.
pub struct SettingPeriod {
    from: Instant,
    /// The next change, or the end of time.
    until: Instant,
    changed: Vec<String>,
    recorder: RunRecorder,
}

impl SettingPeriod {
    /// Periods without counts: the first from the beginning, and one for each instant of a change; none without changes.
    fn from_changes(target: &Target, groups: &[u16], due: &[bool]) -> Vec<SettingPeriod> {
        let mut periods: Vec<SettingPeriod> = Vec::new();
        let new_period = |from, changed| SettingPeriod {
            from,
            until: Instant::FAR,
            changed,
            recorder: RunRecorder::new(groups).with_due_workers(due),
        };
        for change in target.changes() {
            if periods.is_empty() {
                periods.push(new_period(Instant::ZERO, Vec::new()));
            }
            let words = format!("{} = {}", change.key, change.value);
            match periods.last_mut() {
                Some(last) if last.from == change.at => last.changed.push(words),
                last => {
                    if let Some(last) = last {
                        last.until = change.at;
                    }
                    periods.push(new_period(change.at, vec![words]));
                }
            }
        }
        periods
    }

    /// The counts of the period, within the windows in which workers are counted.
    fn to_record(&self, windows: &[Option<Window>]) -> PhaseRecord {
        let within = |window: &Option<Window>| {
            let (from, until) = window.map(|window| (window.from.max(self.from), window.until.min(self.until)))?;
            (from < until).then_some(Window { from, until })
        };
        let run = self.recorder.clone().finish(&windows.iter().map(within).collect::<Vec<_>>());
        PhaseRecord {
            from_s: self.from.nanos() as f64 / 1e9,
            changed: self.changed.join(", "),
            all: KindRecord::from_summary(&run.reads_and_writes()),
            read: KindRecord::from_summary(&run.kind_summary(RequestKind::Read)),
            write: KindRecord::from_summary(&run.kind_summary(RequestKind::Write)),
            flush: KindRecord::from_summary(&run.kind_summary(RequestKind::Flush)),
        }
    }
}

/// Runs the whole of `work` on `target`; calls `on_record` with each record.
pub fn measure_run(
    target: &Target,
    work: &Work,
    seed: u64,
    on_record: impl FnMut(&Record),
) -> Result<MeasuredRun, RunError> {
    measure_run_until(RunCutoff::NEVER, target, work, seed, None, on_record)
}

/// Runs `work` on `target`, to `cutoff` at most. It calls `on_issue` with each request of a job's workers as it is issued, and `on_record`
/// with each record after it was counted.
pub fn measure_run_until(
    cutoff: RunCutoff<'_>,
    target: &Target,
    work: &Work,
    seed: u64,
    on_issue: Option<&IssueListener>,
    mut on_record: impl FnMut(&Record),
) -> Result<MeasuredRun, RunError> {
    let (groups, due) = (work.group_numbers(), work.have_fixed_due_times());
    let mut recorder = RunRecorder::new(&groups).with_due_workers(&due);
    let mut periods = SettingPeriod::from_changes(target, &groups, &due);
    let mut commits = CommitRecorder::new(work.commit_rules());
    let mut real_recorder = target.has_worker_handles().then(|| RealRecorder::new(&groups));
    let RunOutcome { source, mut figures } = target.run(work, cutoff, Seed(seed), on_issue, &mut |record| {
        recorder.count_record(record);
        commits.count_record(record);
        if let Some(real_recorder) = &mut real_recorder {
            real_recorder.count_record(record);
        }
        let now = record.completion.finished;
        if let Some(period) = periods.iter_mut().rev().find(|period| period.from <= now) {
            period.recorder.count_record(record);
        }
        on_record(record);
    })?;
    if let Some(fault) = source.read_error() {
        return Err(RunError::Unfit(format!("the trace changed while it was played: {fault}")));
    }
    let windows = source.counting_windows(figures.end);
    let counted = recorder.counted_windows(&windows);
    let run = recorder.finish(&windows);
    let arrivals = Arrivals::from_run(work, &windows, &run);
    let real = real_recorder.filter(|_| figures.usage.is_some()).map(RealRecorder::finish);
    let troubles = run_troubles(target, work, &figures).into_iter().chain(issuer::source_troubles(&source, work));
    figures.troubles.splice(..0, troubles);
    if let Some(PaceVerdict::FellBehind(why)) = figures.receipt.as_ref().map(Receipt::pace_verdict) {
        figures.troubles.push(format!("the machine fell behind the disk: {why}"));
    }
    let behind = arrivals.filter(|arrivals| !arrivals.kept);
    figures.troubles.extend(behind.map(|arrivals| format!("the pace was not kept: {}", arrivals.words())));
    if let Some(real) = &real {
        let moved = [RequestKind::Read, RequestKind::Write].map(|kind| run.kind_summary(kind).tally.bytes());
        figures.troubles.extend(real.doubts(&figures, moved));
    }
    Ok(MeasuredRun {
        link: target.stack().map(link_bytes_per_s).or(real::link_bytes_per_s(&figures)),
        cpu: match &real {
            Some(_) => figures.usage.as_ref().map(|usage| CpuRecord::from_usage(usage, &run, figures.issued)),
            None => figures.cores.as_ref().map(|cores| CpuRecord::from_model(&run, cores, &counted)),
        },
        commits: commits.finish(source.commits()),
        issuer: IssuerFigures::from_source(&source, work, &windows),
        first_off: source.replay_comparison().and_then(|compared| compared.first),
        achieved: source.replay_result(),
        names: work.group_names(),
        place: target.place_name(),
        phases: periods,
        counted,
        figures,
        run,
        arrivals,
        real,
        windows,
    })
}

/// The rate of the links of a stack's drives together: an array is as fast as all of them, where it reads or writes each byte once.
fn link_bytes_per_s(stack: &Stack) -> u64 {
    stack.profile.link.rate * u64::from(stack.drives())
}

impl MeasuredRun {
    /// The instant at which the last worker ended, the ramp included.
    pub fn last_end(&self) -> Instant {
        self.windows.iter().flatten().map(|window| window.until).max().unwrap_or(Instant::ZERO)
    }

    /// Reads and writes by the names of the workers; empty if all workers have the same name.
    pub(crate) fn group_records(&self) -> Vec<GroupRecord> {
        let mut groups: Vec<(&str, TallySummary)> = Vec::new();
        for (index, name) in self.names.iter().enumerate().take(self.run.group_count()) {
            let summary = self.run.group_reads_and_writes(index);
            match groups.iter_mut().find(|known| known.0 == name) {
                Some((_, known)) => {
                    known.tally.merge(&summary.tally);
                    known.elapsed = known.elapsed.max(summary.elapsed);
                }
                None => groups.push((name, summary)),
            }
        }
        if groups.len() < 2 {
            return Vec::new();
        }
        let record = |(name, summary): &(&str, TallySummary)| GroupRecord {
            name: (*name).to_owned(),
            all: KindRecord::from_summary(summary),
            histogram: pack_responses(&summary.tally),
        };
        groups.iter().map(record).collect()
    }

    /// The record to keep.
    pub(crate) fn to_record(&self, target: &str, job: &str, seed: u64, warnings: Vec<String>) -> RunRecord {
        let all = self.run.reads_and_writes();
        let mut warnings = warnings;
        let figures = &self.figures;
        warnings.extend(figures.troubles.iter().cloned());
        if figures.failures > 0 {
            warnings.push(format!("{} of {} requests failed", figures.failures, figures.issued));
        }
        // Whether there are enough requests for a percentile is decided when runs are merged.
        let ceiling = Ceiling { link: self.link.map(|rate| rate as f64), media: None };
        let doubts = quality::run_flags(&self.run, &ceiling);
        let faster_than_link = doubts.iter().filter(|flag| matches!(flag, Flag::FasterThanLink { .. }));
        warnings.extend(faster_than_link.map(ToString::to_string));
        let array = figures.array.as_ref().map(|load| {
            let writes = self.run.kind_summary(RequestKind::Write).tally;
            ArrayRecord::from_load(load, &self.counted, self.run.elapsed(), &writes)
        });
        RunRecord {
            schema: SCHEMA,
            cell: 0,
            run: 0,
            cell_hash: String::new(),
            target: target.to_owned(),
            place: self.place.to_owned(),
            job: job.to_owned(),
            seed,
            stream_hash: format!("{:016x}", figures.stream_hash),
            streams: figures.streams.iter().map(StreamRecord::from_hash).collect(),
            elapsed_s: self.run.elapsed().nanos() as f64 / 1e9,
            read: KindRecord::from_summary(&self.run.kind_summary(RequestKind::Read)),
            write: KindRecord::from_summary(&self.run.kind_summary(RequestKind::Write)),
            flush: KindRecord::from_summary(&self.run.kind_summary(RequestKind::Flush)),
            commit: CommitRecord::from_tally(&self.commits, self.run.elapsed()),
            cpu: self.cpu,
            real: self.real.as_ref().map(|real| Box::new(real.to_record(figures))),
            cost: figures.cost.map(|cost| RequestCost::per_request(cost, figures.issued)),
            receipt: figures
                .receipt
                .iter()
                .flat_map(Receipt::named_figures)
                .map(|(name, figure)| (name.to_owned(), figure))
                .collect(),
            drive: DriveCounts::from_log(&figures.log, array.as_deref()),
            array,
            cuts: None,
            shutdowns: None,
            arrivals: self.arrivals,
            anatomy_ms: tally_anatomy(&all.tally),
            failures: figures.failures,
            warnings,
            unseen: Vec::new(),
            draws: None,
            histogram: pack_responses(&all.tally),
            groups: self.group_records(),
            issuer: self.issuer.clone(),
            phases: self.phases.iter().map(|phase| phase.to_record(&self.windows)).collect(),
            asked: figures.asked,
            all: KindRecord::from_summary(&all),
        }
    }
}
