//! A run in fio's JSON (`--format fio-json`), for tools that read fio's. Fields without a counterpart in virtual time
//! (processor, page faults, submission latency) are 0 or empty, except on a real file or device. The disks below are the
//! members of a modelled array. Clock times are 0, so that equal runs give equal bytes.

use std::collections::BTreeMap;

use seekwise_disk::block::array_load::LoadCurve;
use seekwise_formats::fio::JobOption;
use seekwise_formats::fio_json::{
    self, DirectionResult, DiskUtil, FioOutput, JobResult, LatencyBuckets, LatencySummary, PERCENTILES, SampleSummary,
};
use seekwise_lab::jobs::JobOrigin;
use seekwise_lab::run::members::counts_in_windows;
use seekwise_lab::run::real::Latencies;
use seekwise_lab::stats::{Histogram, RequestKind, TallySummary};
use seekwise_run::usage::{DiskUsage, ThreadUsage, Usage};
use seekwise_work::workload::Worker;

/// A run: its cell, and the statistics of what was measured.
pub use seekwise_lab::plan::PreparedCell;
pub use seekwise_lab::run::MeasuredRun;

/// The JSON document of a run.
pub fn write_fio_json(prepared: &PreparedCell, measured: &MeasuredRun) -> String {
    let workers = prepared.job.workers();
    let mut jobs = Vec::new();
    for group in 0..measured.run.group_count() {
        if let Some(first) = workers.iter().position(|worker| worker.group as usize == group) {
            jobs.push(job_result(prepared, measured, group, first));
        }
    }
    let global_options = match &prepared.origin {
        JobOrigin::Fio(file) => option_map(file.global_options()),
        JobOrigin::Pattern | JobOrigin::Iometer | JobOrigin::Scene(_) | JobOrigin::Session(_) | JobOrigin::Trace(_) => {
            BTreeMap::new()
        }
    };
    fio_json::write(&FioOutput {
        generated_by: Some(format!("seekwise {}", env!("CARGO_PKG_VERSION"))),
        global_options,
        jobs,
        disk_util: match &measured.figures.usage {
            Some(usage) => disk_utilization(usage),
            None => member_utilization(measured),
        },
        ..FioOutput::default()
    })
}

fn option_map(options: &[JobOption]) -> BTreeMap<String, String> {
    options.iter().map(|option| (option.name.clone(), option.value.clone())).collect()
}

/// The results of a group of workers, which fio reports as one job; `first_worker` is the first of the group.
fn job_result(prepared: &PreparedCell, measured: &MeasuredRun, group: usize, first_worker: usize) -> JobResult {
    let workers = prepared.job.workers();
    let latencies = |kind: RequestKind| measured.real.as_ref().map(|real| &real.latencies[group][kind as usize]);
    let direction = |kind| direction_result(&measured.run.group_kind_summary(group, kind), latencies(kind));
    let threads = measured.figures.usage.as_ref().map_or(&[][..], |usage| &usage.threads);
    let group_threads = threads.iter().zip(workers).filter(|(_, worker)| worker.group as usize == group);
    let processor_fields = processor_use(&group_threads.map(|(thread, _)| *thread).collect::<Vec<_>>());
    let all = measured.run.group_reads_and_writes(group);
    let (name, group_id, mut options) = match &prepared.origin {
        JobOrigin::Fio(file) => {
            let origin = file.worker_origins()[first_worker];
            let section = &file.sections()[origin.section];
            (section.name.clone(), u64::from(origin.group_id), option_map(&section.options))
        }
        JobOrigin::Pattern | JobOrigin::Iometer | JobOrigin::Scene(_) | JobOrigin::Session(_) | JobOrigin::Trace(_) => {
            (workers[first_worker].name.clone(), group as u64, BTreeMap::new())
        }
    };
    let clones = workers.iter().filter(|worker| worker.group as usize == group).count();
    if !matches!(prepared.origin, JobOrigin::Fio(_)) {
        options.extend(pattern_options(&workers[first_worker], clones, &all));
    }
    let runtime_ms = all.elapsed.nanos() / 1_000_000;
    JobResult {
        name,
        group: group_id,
        elapsed_s: runtime_ms.div_ceil(1000),
        options,
        read: direction(RequestKind::Read),
        write: direction(RequestKind::Write),
        trim: direction(RequestKind::Trim),
        sync_ios: measured.run.group_kind_summary(group, RequestKind::Flush).tally.ios(),
        sync_latency: latency_summary(measured.run.group_kind_summary(group, RequestKind::Flush).tally.responses()),
        runtime_ms,
        iodepth_level: depth_levels(workers[first_worker].depth),
        latency: LatencyBuckets::from_bins(all.tally.responses().buckets().map(|(edge, count)| (edge.nanos(), count))),
        latency_depth: u64::from(workers[first_worker].depth),
        latency_percentile: 100.0,
        ..processor_fields
    }
}

/// The fields about the processor use of a job's threads: percents of the time that they ran, as fio counts them. All
/// other fields are empty.
fn processor_use(threads: &[ThreadUsage]) -> JobResult {
    let sum = |of: fn(&ThreadUsage) -> u64| threads.iter().map(of).sum::<u64>();
    let wall_ns = sum(|thread| thread.wall.nanos());
    let percent = |part_ns: u64| if wall_ns > 0 { 100.0 * part_ns as f64 / wall_ns as f64 } else { 0.0 };
    JobResult {
        usr_cpu: percent(sum(|thread| thread.user.nanos())),
        sys_cpu: percent(sum(|thread| thread.system.nanos())),
        context_switches: sum(|thread| thread.switches),
        major_faults: sum(|thread| thread.major),
        minor_faults: sum(|thread| thread.minor),
        ..JobResult::default()
    }
}

/// The activity of the disks below during the run, for any process.
fn disk_utilization(usage: &Usage) -> Vec<DiskUtil> {
    let wall_ms = usage.wall_time().nanos() as f64 / 1e6;
    let disk_util = |disk: &DiskUsage| DiskUtil {
        name: disk.name.clone(),
        ios: disk.ios,
        sectors: disk.sectors,
        merges: disk.merges,
        ticks: disk.ticks,
        in_queue: disk.queue_ms,
        util: if wall_ms > 0.0 { (100.0 * disk.busy_ms as f64 / wall_ms).min(100.0) } else { 0.0 },
    };
    usage.system.disks.iter().map(disk_util).collect()
}

/// The activity of the members of a modelled array in the counted time. Nothing is merged above them.
fn member_utilization(measured: &MeasuredRun) -> Vec<DiskUtil> {
    let elapsed_ns = measured.run.elapsed().nanos();
    let disk_util = |(member, curve): (u32, &LoadCurve)| {
        let counts = counts_in_windows(curve, &measured.counted);
        let (reads, writes) = (counts.reads(), counts.writes());
        let ticks = [counts.read_time, counts.write_time].map(|time| time.nanos() / 1_000_000);
        DiskUtil {
            name: format!("member{member}"),
            ios: [reads.commands, writes.commands],
            sectors: [reads.sectors, writes.sectors],
            merges: [0, 0],
            ticks,
            in_queue: ticks[0] + ticks[1],
            util: if elapsed_ns > 0 { 100.0 * counts.busy.nanos() as f64 / elapsed_ns as f64 } else { 0.0 },
        }
    };
    let members = measured.figures.array.as_ref().map_or(&[][..], |load| &load.members);
    (0..).zip(members).map(disk_util).collect()
}

/// fio options that describe a pattern without a fio job file.
fn pattern_options(worker: &Worker, clones: usize, summary: &TallySummary) -> BTreeMap<String, String> {
    let mean_bytes = summary.tally.bytes().checked_div(summary.tally.ios()).unwrap_or(0);
    let texts =
        [("iodepth", worker.depth.to_string()), ("numjobs", clones.to_string()), ("bs", mean_bytes.to_string())];
    texts.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Percents of the time at each depth (1, 2, 4 … 64 or more), as fio's `iodepth_level` has them. A closed loop keeps
/// its depth: one bucket has all.
fn depth_levels(depth: u32) -> [f64; 7] {
    let mut level = [0.0; 7];
    level[(depth.max(1).ilog2() as usize).min(6)] = 100.0;
    level
}

fn direction_result(summary: &TallySummary, latencies: Option<&Latencies>) -> DirectionResult {
    let tally = &summary.tally;
    let counts = DirectionResult::new(tally.ios(), tally.bytes(), summary.elapsed.nanos());
    let response = latency_summary(tally.responses());
    let (slat, clat, lat) = match latencies {
        Some(of) => (latency_summary(&of.submission), latency_summary(&of.completion), latency_summary(&of.total)),
        None => (LatencySummary::default(), response.clone(), response),
    };
    let without_percentiles_and_bins =
        |of: LatencySummary| LatencySummary { percentiles: Vec::new(), bins: Vec::new(), ..of };
    let lat = LatencySummary { percentiles: Vec::new(), ..lat };
    // The whole run is the only sample: the run keeps no shorter intervals.
    let single_sample =
        |value: f64| if tally.ios() > 0 { SampleSummary::from_samples(&[value]) } else { SampleSummary::default() };
    DirectionResult {
        bandwidth_samples: single_sample(summary.bytes_per_s()),
        iops_samples: single_sample(summary.iops()),
        bandwidth_percent: if tally.ios() > 0 { 100.0 } else { 0.0 },
        slat: without_percentiles_and_bins(slat),
        clat,
        lat,
        ..counts
    }
}

fn latency_summary(histogram: &Histogram) -> LatencySummary {
    let nanos_or_zero = |span: Option<seekwise_disk::time::Span>| span.map_or(0, |span| span.nanos());
    let percentile = |p: f64| (p, nanos_or_zero(histogram.quantile(p / 100.0)));
    LatencySummary {
        min: nanos_or_zero(histogram.min()),
        max: nanos_or_zero(histogram.max()),
        mean: histogram.mean_ns().unwrap_or(0.0),
        stddev: histogram.deviation_ns().unwrap_or(0.0),
        n: histogram.count(),
        percentiles: if histogram.count() > 0 { PERCENTILES.map(percentile).to_vec() } else { Vec::new() },
        bins: histogram.buckets().map(|(edge, count)| (edge.nanos(), count)).collect(),
    }
}
