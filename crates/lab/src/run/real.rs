//! Further observations on a real file or device: how long requests took to reach the kernel and to come back, how much of the machine the
//! run used, and whether its rate was steady. Observations that make a measurement doubtful become warnings.

use seekwise_disk::block::SECTOR;
use seekwise_disk::record::{Part, Record};
use seekwise_disk::time::{Instant, Span};
use seekwise_run::outcome::RunFigures;
use seekwise_run::testbed::TestBench;
use seekwise_run::usage::Usage;
use serde::{Deserialize, Serialize};

use super::Response;
use crate::stats::histogram::Histogram;
use crate::stats::summary::RequestKind;

/// The most slots of time in which requests are counted. If a run is longer, all slots become twice as long.
const MOST_SLOTS: usize = 2048;

/// The initial length of a slot.
const FIRST_SLOT: Span = Span::from_millis(1);

/// Number of blocks into which a run is cut to see whether its rate is steady; the second half of them is examined. Blocks have equally many
/// requests rather than equal times, because a hard disk's run of minutes has only some thousand requests.
const BLOCKS: usize = 10;

/// The fewest requests in a block; the rate of fewer would be too uncertain.
const LEAST_BLOCK_REQUESTS: u64 = 50;

/// How far apart the rates of blocks may be in a steady state, as a share of their mean: the 20 % of SNIA's Performance Test Specification.
const STEADY_RANGE: f64 = 0.2;
/// How far a straight line through the rates of blocks may rise or fall in a steady state, as a share of their mean: the 10 % of the same
/// specification.
const STEADY_TREND: f64 = 0.1;

/// The least share of a job's bytes that disks must have moved; below it a cache is suspected (inferred: half).
const LEAST_DISK_SHARE: f64 = 0.5;

/// Latencies in fio's terms, of the requests of one group of workers and one kind.
#[derive(Clone, Debug, Default)]
pub struct Latencies {
    /// From the issue until the kernel had the request: fio's slat.
    pub submission: Histogram,
    /// From then until the request came back: fio's clat.
    pub completion: Histogram,
    /// Both together: fio's lat.
    pub total: Histogram,
}

/// Collects observations from the records of a run.
pub(crate) struct RealRecorder {
    /// For each worker.
    groups: Vec<u16>,
    /// For each group and kind.
    latencies: Vec<[Latencies; RequestKind::COUNT]>,
    /// The rates of single reads, and of single writes: a request's bytes over its latency. These histograms of spans hold bytes a second as
    /// nanoseconds.
    rates: [Histogram; 2],
    pace: RequestPace,
}

/// Counts of the requests done in each slot of time.
#[derive(Clone, Debug)]
struct RequestPace {
    slot: Span,
    done: Vec<u64>,
}

impl RealRecorder {
    /// A recorder for workers, each of which is in one of `groups`.
    pub fn new(groups: &[u16]) -> RealRecorder {
        let count = groups.iter().map(|&group| usize::from(group) + 1).max().unwrap_or(0);
        let latencies = (0..count).map(|_| std::array::from_fn(|_| Latencies::default())).collect();
        let rates = Default::default();
        RealRecorder {
            groups: groups.to_vec(),
            latencies,
            rates,
            pace: RequestPace { slot: FIRST_SLOT, done: Vec::new() },
        }
    }

    /// Counts a record.
    #[inline]
    pub fn count_record(&mut self, record: &Record) {
        let done = &record.completion;
        let kind = RequestKind::from_op(record.request.op);
        let group = usize::from(self.groups[usize::from(record.worker)]);
        let latencies = &mut self.latencies[group][kind as usize];
        // In real time the part *processor* lasts until the kernel has the request, and *queue* from then on; fio does not count the wait
        // before.
        let (submission, completion) = (done.parts.get(Part::Processor), done.parts.get(Part::Queue));
        latencies.submission.record(submission);
        latencies.completion.record(completion);
        latencies.total.record(submission + completion);
        if let Some(direction) = [RequestKind::Read, RequestKind::Write].iter().position(|known| *known == kind) {
            let nanos = (submission + completion).nanos().max(1);
            let bytes_per_s = (u64::from(record.request.sectors) * SECTOR).saturating_mul(1_000_000_000) / nanos;
            self.rates[direction].record(Span::from_nanos(bytes_per_s));
            self.pace.count_request(done.finished);
        }
    }

    /// The observations on a run.
    pub fn finish(self) -> RealObservation {
        let pace = PaceRecord { steady: self.pace.rate_steadiness(), drift: self.pace.rate_drift() };
        let rates = self.rates.map(|rates| rates.quantile(0.5).map(|rate| rate.nanos() as f64));
        RealObservation { latencies: self.latencies, pace, rates }
    }
}

impl RequestPace {
    #[inline]
    fn count_request(&mut self, finished: Instant) {
        let mut index = (finished.nanos() / self.slot.nanos()) as usize;
        while index >= MOST_SLOTS {
            self.done = self.done.chunks(2).map(|pair| pair.iter().sum()).collect();
            self.slot = self.slot + self.slot;
            index /= 2;
        }
        if index >= self.done.len() {
            self.done.resize(index + 1, 0);
        }
        self.done[index] += 1;
    }

    /// The rates of `blocks` blocks of equally many requests, in requests a slot. `None` if there are too few requests, or fewer than four
    /// slots for a block, because the end of a block within a slot is estimated.
    fn block_rates(&self, blocks: usize) -> Option<Vec<f64>> {
        let first = self.done.iter().position(|done| *done > 0)?;
        let all_requests: u64 = self.done.iter().sum();
        if all_requests < LEAST_BLOCK_REQUESTS * blocks as u64 || self.done.len() - first < 4 * blocks {
            return None;
        }
        let block_requests = all_requests as f64 / blocks as f64;
        let mut ends = Vec::new();
        let mut counted = 0.0;
        for (slot, done) in self.done[first..].iter().enumerate() {
            let before = counted;
            counted += *done as f64;
            while ends.len() < blocks && counted >= block_requests * (ends.len() + 1) as f64 - 1e-6 {
                // Within a slot requests are assumed to be evenly spread.
                let share = (block_requests * (ends.len() + 1) as f64 - before) / *done as f64;
                ends.push(slot as f64 + share.clamp(0.0, 1.0));
            }
        }
        // No slot holds more than all requests, so a block is at least `1 / blocks` of a slot long.
        let starts = std::iter::once(0.0).chain(ends.iter().copied());
        Some(starts.zip(&ends).map(|(start, end)| block_requests / (end - start)).collect())
    }

    /// How steady the rate was over the second half of the run's requests; `None` if there are too few.
    fn rate_steadiness(&self) -> Option<RateSteadiness> {
        let rates = self.block_rates(BLOCKS)?;
        let half = &rates[BLOCKS / 2..];
        let count = half.len() as f64;
        let mean = half.iter().sum::<f64>() / count;
        let range = half.iter().copied().fold(0.0, f64::max) - half.iter().copied().fold(f64::INFINITY, f64::min);
        let middle = (count - 1.0) / 2.0;
        let slope = half.iter().enumerate().map(|(index, rate)| (index as f64 - middle) * rate).sum::<f64>()
            / half.iter().enumerate().map(|(index, _)| (index as f64 - middle).powi(2)).sum::<f64>();
        Some(RateSteadiness { range: range / mean, trend: slope * (count - 1.0) / mean })
    }

    /// The rate of the last quarter of all requests over that of the first quarter; `None` if there are too few.
    fn rate_drift(&self) -> Option<f64> {
        let rates = self.block_rates(4)?;
        Some(rates[3] / rates[0])
    }
}

/// How the rate went over the second half of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RateSteadiness {
    /// From the slowest block to the fastest, as a share of their mean.
    pub range: f64,
    /// From the first to the last on a straight line through all (least squares), as a share of their mean.
    pub trend: f64,
}

impl RateSteadiness {
    /// True for a steady state by SNIA's bounds.
    pub(crate) fn is_steady(&self) -> bool {
        self.range <= STEADY_RANGE && self.trend.abs() <= STEADY_TREND
    }
}

/// How the rate went over a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PaceRecord {
    /// Over the second half of the run; `None` if there were too few requests.
    pub steady: Option<RateSteadiness>,
    /// The last quarter's rate over the first's.
    pub drift: Option<f64>,
}

/// The observations from the records of a run. Its use of the machine, and the test bench, are in its [`RunFigures`].
pub struct RealObservation {
    /// For each group and kind.
    pub latencies: Vec<[Latencies; RequestKind::COUNT]>,
    /// Whether the rate was steady.
    pub pace: PaceRecord,
    /// The median rates of reads, and of writes, in bytes a second.
    pub rates: [Option<f64>; 2],
}

/// The kept observations.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RealRecord {
    /// Reads and writes until the kernel had them (fio's slat); `None` without any, as for the next two.
    pub submission_ms: Option<Response>,
    /// From then until they came back (fio's clat).
    pub completion_ms: Option<Response>,
    /// Both (fio's lat).
    pub latency_ms: Option<Response>,
    /// Per cent of all processors: threads that issued, in the program.
    pub user_percent: f64,
    /// Per cent of all processors: the same threads, in the kernel.
    pub system_percent: f64,
    /// Per cent of all processors, by any program.
    pub whole_percent: f64,
    /// Threads that issued and hardly ever waited.
    pub saturated: usize,
    /// How the rate went.
    #[serde(flatten)]
    pub pace: PaceRecord,
    /// The test bench of the measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bench: Option<TestBench>,
}

impl RealObservation {
    /// The record to keep, with the figures of its run.
    pub fn to_record(&self, figures: &RunFigures) -> RealRecord {
        let pooled = |select: fn(&Latencies) -> &Histogram| {
            let mut all = Histogram::default();
            for kinds in &self.latencies {
                [RequestKind::Read, RequestKind::Write]
                    .iter()
                    .for_each(|kind| all.merge(select(&kinds[*kind as usize])));
            }
            Response::from_histogram(&all)
        };
        let unknown = Usage::default();
        let usage = figures.usage.as_ref().unwrap_or(&unknown);
        let threads = &usage.threads;
        let all_cores_ns = usage.wall_time().nanos() as f64 * f64::from(usage.system.cores.max(1));
        let percent = |busy_ns: u64| if all_cores_ns > 0.0 { 100.0 * busy_ns as f64 / all_cores_ns } else { 0.0 };
        RealRecord {
            submission_ms: pooled(|latencies| &latencies.submission),
            completion_ms: pooled(|latencies| &latencies.completion),
            latency_ms: pooled(|latencies| &latencies.total),
            user_percent: percent(threads.iter().map(|thread| thread.user.nanos()).sum()),
            system_percent: percent(threads.iter().map(|thread| thread.system.nanos()).sum()),
            whole_percent: 100.0 * usage.system.busy,
            saturated: usage.saturated_threads(),
            pace: self.pace,
            bench: figures.bench.clone(),
        }
    }

    /// Doubts about a run with these figures, in words; the job read and wrote `moved_bytes`.
    pub fn doubts(&self, figures: &RunFigures, moved_bytes: [u64; 2]) -> Vec<String> {
        let mut doubts = Vec::new();
        let unknown = Usage::default();
        let usage = figures.usage.as_ref().unwrap_or(&unknown);
        let (saturated, threads) = (usage.saturated_threads(), usage.threads.len());
        if saturated > 0 {
            doubts.push(format!(
                "the generator was the bottleneck: {saturated} of {threads} issuing threads were always busy, so the rate \
                 is the processor's, not the device's"
            ));
        }
        if let Some(steady) = self.pace.steady.filter(|steady| !steady.is_steady()) {
            doubts.push(format!(
                "no steady state: in the second half of the requests the rate varies by {:.0} %, with a trend of {:+.0} %",
                100.0 * steady.range,
                100.0 * steady.trend
            ));
        }
        if let Some(drift) = self.pace.drift.filter(|drift| !(1.0 - STEADY_TREND..=1.0 + STEADY_TREND).contains(drift))
        {
            let percent = 100.0 * (drift - 1.0);
            doubts.push(format!(
                "drift: the rate of the last quarter of the requests differs by {percent:+.0} % from the first's"
            ));
        }
        let words =
            [("read", "came from memory, or from another machine"), ("wrote", "was still in memory, or went to one")];
        for (direction, (verb, rest)) in words.into_iter().enumerate() {
            if let Some(share) =
                share_moved_by_disks(usage, direction, moved_bytes[direction]).filter(|share| *share < LEAST_DISK_SHARE)
            {
                doubts.push(format!(
                    "cached: the disks of this machine {verb} {:.0} % of the bytes that the job {verb}; the rest {rest}",
                    100.0 * share
                ));
            }
        }
        let link = link_bytes_per_s(figures).into_iter();
        doubts.extend(link.flat_map(|link| faster_than_link_warnings(link as f64, self.rates)));
        doubts
    }
}

/// The rate of the disk's link in bytes a second, if the system reports it.
pub(super) fn link_bytes_per_s(figures: &RunFigures) -> Option<u64> {
    figures.bench.as_ref()?.device.as_ref()?.link
}

/// The share of the bytes that a job read (direction 0) or wrote (1) that disks moved meanwhile; `None` if the job moved none.
fn share_moved_by_disks(usage: &Usage, direction: usize, moved_bytes: u64) -> Option<f64> {
    // A disk may stand on another (loop devices, md): only the busiest counts.
    let disk_bytes = usage.system.disks.iter().map(|disk| disk.sectors[direction] * SECTOR).max().unwrap_or(0);
    (moved_bytes > 0).then(|| disk_bytes as f64 / moved_bytes as f64)
}

/// Warnings for reads and writes whose median rate is above that of the link: half of them cannot have come from the disk.
fn faster_than_link_warnings(link_bytes_per_s: f64, median_rates: [Option<f64>; 2]) -> impl Iterator<Item = String> {
    let words = ["came from memory", "went to memory"];
    ["reads", "writes"].into_iter().zip(words).zip(median_rates).filter_map(move |((requests, rest), rate)| {
        rate.filter(|rate| *rate > link_bytes_per_s).map(|rate| {
            let (rate, link) = (rate / 1e6, link_bytes_per_s / 1e6);
            format!("cached: half of the {requests} came at {rate:.0} MB/s or faster, more than the link's {link:.0}: they {rest}")
        })
    })
}

#[cfg(test)]
mod tests {
    use seekwise_disk::block::{Completion, Op, Request};
    use seekwise_disk::record::Ledger;

    use super::*;

    #[test]
    fn answers_that_came_sooner_than_the_link_carries_them_are_from_memory() {
        let said = |rates| faster_than_link_warnings(300e6, rates).collect::<Vec<_>>();
        // 4 KiB in 14 us would be 293 MB/s; in 2 us they are 2048.
        assert_eq!(said([Some(293e6), None]), Vec::<String>::new());
        let expected =
            "cached: half of the reads came at 2048 MB/s or faster, more than the link's 300: they came from memory";
        assert_eq!(said([Some(2_048e6), Some(1e6)]), [expected]);
        assert!(said([None, Some(400e6)])[0].ends_with("they went to memory"));
    }

    #[test]
    fn the_rate_of_a_kind_is_the_median_of_its_requests() {
        let mut recorder = RealRecorder::new(&[0]);
        // The time in the processor, and in the queue, in us.
        for (op, submission, completion) in
            [(Op::Write, 10, 990), (Op::Write, 5, 1_995), (Op::Write, 0, 4_000), (Op::Flush, 0, 1)]
        {
            let mut ledger = Ledger::open(Instant::ZERO);
            ledger.book_until(Part::Processor, Instant::ZERO + Span::from_micros(submission));
            ledger.book_until(Part::Queue, ledger.booked_until() + Span::from_micros(completion));
            let request = Request { op, sectors: 8, ..Request::NONE };
            let completion = Completion { finished: ledger.booked_until(), parts: ledger.parts(), ..Completion::NONE };
            recorder.count_record(&Record { request, completion, ..Record::NONE });
        }
        let observed = recorder.finish();
        // 4 KiB in 2 ms, as precise as a histogram.
        let [None, Some(rate)] = observed.rates else { panic!("{:?}", observed.rates) };
        assert!((rate / 2.048e6 - 1.0).abs() < 0.04, "{rate}");
        let counts = observed.latencies[0].each_ref().map(|latencies| latencies.total.count());
        assert_eq!(counts, [0, 3, 0, 1, 0]);
    }

    /// Requests done at these numbers a millisecond, millisecond after millisecond.
    fn pace(rates: impl Iterator<Item = u64>) -> RequestPace {
        let mut pace = RequestPace { slot: FIRST_SLOT, done: Vec::new() };
        for (at, rate) in rates.enumerate() {
            (0..rate).for_each(|_| pace.count_request(Instant::from_nanos(at as u64 * 1_000_000 + 5)));
        }
        pace
    }

    #[test]
    fn a_rate_that_holds_is_steady_and_one_that_falls_is_not() {
        let even = pace((0..5_000).map(|_| 10));
        let steady = even.rate_steadiness().unwrap();
        assert!(steady.is_steady() && steady.range < 0.02, "{steady:?}");
        assert!((even.rate_drift().unwrap() - 1.0).abs() < 0.01);
        // From 20 a millisecond down to 10.
        let falling = pace((0..5_000).map(|at| 20 - at / 500));
        let steady = falling.rate_steadiness().unwrap();
        assert!(!steady.is_steady() && steady.trend < -0.2, "{steady:?}");
        // The first quarter of 77,500 requests goes at 19 to 20, the last at 11 to 13.
        assert!((0.55..0.68).contains(&falling.rate_drift().unwrap()), "{:?}", falling.rate_drift());
    }

    #[test]
    fn a_start_that_was_slow_is_drift_and_no_lack_of_steadiness() {
        let warming = pace((0..4_000).map(|at| if at < 1_200 { 2 } else { 10 }));
        assert!(warming.rate_steadiness().unwrap().is_steady());
        assert!(warming.rate_drift().unwrap() > 1.1);
    }

    #[test]
    fn blocks_end_within_a_slot_where_their_last_request_does() {
        let rates = |done: &[u64]| RequestPace { slot: FIRST_SLOT, done: done.to_vec() }.block_rates(2).unwrap();
        // Two hundred in two blocks: 80 in two slots, and half of the next forty; the other half, and 80 in five.
        assert_eq!(rates(&[40, 40, 40, 20, 20, 10, 10, 20]), [40.0, 100.0 / 5.5]);
        assert_eq!(rates(&[0, 0, 40, 40, 40, 20, 20, 10, 10, 20]), [40.0, 100.0 / 5.5], "from the first on");
        assert_eq!(rates(&[25; 8]), [25.0; 2], "each ends with a slot");
        // Both end within one slot, after a half of it and after all.
        assert_eq!(rates(&[200, 0, 0, 0, 0, 0, 0, 0]), [200.0; 2]);
    }

    #[test]
    fn of_few_requests_nothing_is_said() {
        assert_eq!(pace((0..400).map(|_| 1)).rate_steadiness(), None);
        assert_eq!(pace([2_000].into_iter()).rate_drift(), None);
    }

    #[test]
    fn slots_grow_and_nothing_is_lost() {
        let long = pace((0..50_000).map(|_| 1));
        assert!(long.done.len() <= MOST_SLOTS && long.done.iter().sum::<u64>() == 50_000);
        assert_eq!(long.slot, Span::from_millis(32));
    }
}
