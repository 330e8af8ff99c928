//! fio's JSON output as a value: one struct for each object of fio 3.x's schema, with fio's bucket edges and percentiles.

use std::collections::BTreeMap;

/// The version whose schema the writer follows.
pub const VERSION: &str = "fio-3.33";

/// fio's default percentiles.
pub const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

/// [`PERCENTILES`] as the value of fio's option `percentile_list`; some consumers ask for it in the global options.
pub const PERCENTILE_LIST: &str = "1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99";

/// Upper edges (exclusive) of the buckets of `latency_ns` in nanoseconds and of `latency_us` in microseconds.
pub const LATENCY_EDGES: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];

/// A document of fio output: one run of a job file.
#[derive(Clone, Debug, PartialEq)]
pub struct FioOutput {
    /// `fio version`.
    pub version: String,
    /// The program that wrote the document, when it is not fio.
    pub generated_by: Option<String>,
    /// Milliseconds since 1970; 0 keeps the output the same from run to run.
    pub timestamp_ms: u64,
    /// Options of the job file's global section. Flags have an empty value.
    pub global_options: BTreeMap<String, String>,
    /// The jobs, or reporting groups.
    pub jobs: Vec<JobResult>,
    /// True for the output of a client of a fio server: the jobs' key is `client_stats` rather than `jobs`.
    pub from_client: bool,
    /// The kernel's counters of the disks.
    pub disk_util: Vec<DiskUtil>,
}

impl Default for FioOutput {
    fn default() -> FioOutput {
        FioOutput {
            version: VERSION.to_owned(),
            generated_by: None,
            timestamp_ms: 0,
            global_options: BTreeMap::new(),
            jobs: Vec::new(),
            from_client: false,
            disk_util: Vec::new(),
        }
    }
}

/// A job, or a reporting group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobResult {
    pub name: String,
    /// The client, in the output of a client.
    pub hostname: Option<String>,
    /// The reporting group.
    pub group: u64,
    /// Start of the job, ms since 1970.
    pub start_ms: u64,
    /// The error number; 0: none.
    pub error: u64,
    /// Seconds left; 0 after the job's end.
    pub eta_s: u64,
    /// Seconds since the job's start.
    pub elapsed_s: u64,
    /// The job's own options. Flags have an empty value.
    pub options: BTreeMap<String, String>,
    /// `description` of the job.
    pub description: Option<String>,
    pub read: DirectionResult,
    pub write: DirectionResult,
    pub trim: DirectionResult,
    /// All directions in one (`unified_rw_reporting`); the other three are then empty.
    pub mixed: Option<DirectionResult>,
    /// Flushes.
    pub sync_ios: u64,
    /// Latency of flushes.
    pub sync_latency: LatencySummary,
    /// Time the job ran, ms.
    pub runtime_ms: u64,
    /// Percent of one processor in user code.
    pub usr_cpu: f64,
    /// Percent of one processor in the kernel.
    pub sys_cpu: f64,
    pub context_switches: u64,
    /// Page faults that read the disk.
    pub major_faults: u64,
    /// Page faults that did not.
    pub minor_faults: u64,
    /// Percent of requests issued at a depth of 1, 2 to 3, 4 to 7, 8 to 15, 16 to 31, 32 to 63, 64 or more.
    pub iodepth_level: [f64; 7],
    /// Percent of submissions of 0, up to 4, 8, 16, 32 or 64, and more requests.
    pub iodepth_submit: [f64; 7],
    /// Percent of completions of 0, up to 4, 8, 16, 32 or 64, and more requests.
    pub iodepth_complete: [f64; 7],
    /// Percent of requests by latency.
    pub latency: LatencyBuckets,
    /// `latency_depth`: the depth at the end.
    pub latency_depth: u64,
    /// `latency_target`, µs.
    pub latency_target: u64,
    pub latency_percentile: f64,
    /// `latency_window`, µs.
    pub latency_window: u64,
}

/// A direction of a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DirectionResult {
    /// Bytes moved.
    pub bytes: u64,
    pub bytes_per_second: u64,
    /// Requests a second.
    pub iops: f64,
    /// Time from the first to the last request, ms.
    pub runtime_ms: u64,
    /// Requests done.
    pub ios: u64,
    /// Requests that moved less than they asked for.
    pub short_ios: u64,
    /// Requests that were dropped.
    pub drop_ios: u64,
    /// Time to submit.
    pub slat: LatencySummary,
    /// Time from submission to completion.
    pub clat: LatencySummary,
    /// Time from creation to completion.
    pub lat: LatencySummary,
    /// Bandwidth of equal intervals, bytes a second.
    pub bandwidth_samples: SampleSummary,
    /// Percent of the group's bandwidth in this direction.
    pub bandwidth_percent: f64,
    /// Requests a second of equal intervals.
    pub iops_samples: SampleSummary,
}

impl DirectionResult {
    /// `ios` requests of `bytes` bytes in `runtime_ns` nanoseconds, with the rates that follow; the rest is empty.
    pub fn new(ios: u64, bytes: u64, runtime_ns: u64) -> DirectionResult {
        let seconds = runtime_ns as f64 / 1e9;
        let per_second = |count: u64| {
            if runtime_ns == 0 { 0.0 } else { count as f64 / seconds }
        };
        DirectionResult {
            bytes,
            bytes_per_second: per_second(bytes) as u64,
            iops: per_second(ios),
            runtime_ms: runtime_ns / 1_000_000,
            ios,
            ..DirectionResult::default()
        }
    }
}

/// Latencies of one kind, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencySummary {
    pub min: u64,
    pub max: u64,
    pub mean: f64,
    pub stddev: f64,
    /// Number of samples.
    pub n: u64,
    /// Percent and latency, rising. Empty: not written.
    pub percentiles: Vec<(f64, u64)>,
    /// Latency and count of samples, rising (json+). Empty: not written.
    pub bins: Vec<(u64, u64)>,
}

/// Statistics of samples of equal intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SampleSummary {
    pub min: f64,
    pub max: f64,
    pub mean: f64,
    /// Standard deviation, of n - 1.
    pub stddev: f64,
    /// Number of samples.
    pub count: u64,
}

impl SampleSummary {
    /// Smallest, largest, mean and deviation of `samples`; all zero when there are none.
    pub fn from_samples(samples: &[f64]) -> SampleSummary {
        if samples.is_empty() {
            return SampleSummary::default();
        }
        let count = samples.len() as f64;
        let mean = samples.iter().sum::<f64>() / count;
        let squared_deviations: f64 = samples.iter().map(|sample| (sample - mean).powi(2)).sum();
        SampleSummary {
            min: samples.iter().copied().fold(f64::INFINITY, f64::min),
            max: samples.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            mean,
            stddev: if samples.len() > 1 { (squared_deviations / (count - 1.0)).sqrt() } else { 0.0 },
            count: samples.len() as u64,
        }
    }
}

/// Percent of requests by latency, in whole units: bucket i holds edge i-1 up to, not including, edge i.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LatencyBuckets {
    /// Below 2, 4, … 1000 ns.
    pub ns: [f64; 10],
    /// Below 2, 4, … 1000 µs.
    pub us: [f64; 10],
    /// Below 2, 4, … 1000, 2000 ms, and above.
    pub ms: [f64; 12],
}

impl LatencyBuckets {
    /// Sorts pairs of latency in ns and count of requests into fio's buckets. All zero when there are none.
    pub fn from_bins(bins: impl IntoIterator<Item = (u64, u64)>) -> LatencyBuckets {
        let (mut ns, mut us, mut ms) = ([0u64; 10], [0u64; 10], [0u64; 12]);
        for (latency_ns, count) in bins {
            // As fio's io_u.c does: the largest unit that is not above the latency, and the rest cut off.
            let bucket_index = |value: u64| LATENCY_EDGES.iter().position(|&edge| value < edge);
            let bucket = match latency_ns {
                0..1_000 => bucket_index(latency_ns).map(|index| &mut ns[index]),
                1_000..1_000_000 => bucket_index(latency_ns / 1_000).map(|index| &mut us[index]),
                _ => bucket_index(latency_ns / 1_000_000).map(|index| &mut ms[index]),
            };
            match bucket {
                Some(bucket) => *bucket += count,
                None => ms[if latency_ns < 2_000_000_000 { 10 } else { 11 }] += count,
            }
        }
        let total: u64 = ns.iter().chain(&us).chain(&ms).sum();
        let percent = |count: u64| {
            if total == 0 { 0.0 } else { 100.0 * count as f64 / total as f64 }
        };
        LatencyBuckets { ns: ns.map(percent), us: us.map(percent), ms: ms.map(percent) }
    }
}

/// The kernel's counters of a block device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DiskUtil {
    pub name: String,
    /// Requests: reads, writes.
    pub ios: [u64; 2],
    /// Sectors: reads, writes.
    pub sectors: [u64; 2],
    /// Merged requests: reads, writes.
    pub merges: [u64; 2],
    /// Milliseconds of requests: reads, writes.
    pub ticks: [u64; 2],
    /// Milliseconds in queue.
    pub in_queue: u64,
    /// Percent of time busy.
    pub util: f64,
}
