//! Further observations on a real file or device: how long requests took to reach the kernel and to come back, what the
//! run used of the machine, and whether its rate was steady.

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

/// The most slots of time; when they are full, each becomes twice as long.
const SLOTS: usize = 2048;

/// The initial length of a slot.
const SLOT: Span = Span::from_millis(1);

/// Blocks of equally many requests into which a run is cut, to see whether its rate is steady; the second half of them
/// is examined. A block is a count of requests, not a time: a hard disk's run of minutes has some thousands.
const BLOCKS: usize = 10;

/// The fewest requests in a block: the rate of fewer says too little.
const BLOCK: u64 = 50;

/// How far apart the rates of blocks may be, and how far their trend may lead from the first to the last, as shares of
/// their mean: the bounds of SNIA's Performance Test Specification for a steady state (range 20 %, slope 10 %).
const RANGE: f64 = 0.2;
const TREND: f64 = 0.1;

/// The share of the bytes that disks must have moved; below it a cache is assumed (inferred: half).
const OF_DISKS: f64 = 0.5;

/// Latencies in fio's terms, of one group and kind.
#[derive(Clone, Debug, Default)]
pub struct Latencies {
    /// Until the kernel had it.
    pub submission: Histogram,
    /// From then until it came back.
    pub completion: Histogram,
    /// Both: fio's latency.
    pub total: Histogram,
}

/// Takes the records of a run.
pub(crate) struct RealRecorder {
    group_of: Vec<u16>,
    latencies: Vec<[Latencies; RequestKind::COUNT]>,
    /// The rates of single reads, and writes, in bytes a second: a request's bytes over fio's latency. Histograms count spans: here a
    /// nanosecond stands for a byte a second.
    rates: [Histogram; 2],
    pace: RequestPace,
}

/// Requests done, by time.
#[derive(Clone, Debug)]
struct RequestPace {
    slot: Span,
    done: Vec<u64>,
}

impl RealRecorder {
    /// A watch over workers in these groups.
    pub fn new(groups: &[u16]) -> RealRecorder {
        let count = groups.iter().map(|&group| usize::from(group) + 1).max().unwrap_or(0);
        let latencies = (0..count).map(|_| std::array::from_fn(|_| Latencies::default())).collect();
        let rates = Default::default();
        RealRecorder { group_of: groups.to_vec(), latencies, rates, pace: RequestPace { slot: SLOT, done: Vec::new() } }
    }

    /// Takes a record.
    #[inline]
    pub fn take_record(&mut self, record: &Record) {
        let done = &record.completion;
        let kind = RequestKind::from_op(record.request.op);
        let of = &mut self.latencies[usize::from(self.group_of[usize::from(record.worker)])][kind as usize];
        // In real time *processor* lasts until the kernel has the request, *queue* from then on; fio does not count the wait before.
        let (submission, completion) = (done.parts.get(Part::Processor), done.parts.get(Part::Queue));
        of.submission.record(submission);
        of.completion.record(completion);
        of.total.record(submission + completion);
        if let Some(at) = [RequestKind::Read, RequestKind::Write].iter().position(|of| *of == kind) {
            let nanos = (submission + completion).nanos().max(1);
            let rate = (u64::from(record.request.sectors) * SECTOR).saturating_mul(1_000_000_000) / nanos;
            self.rates[at].record(Span::from_nanos(rate));
            self.pace.count_at(done.finished);
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
    fn count_at(&mut self, at: Instant) {
        let mut place = (at.nanos() / self.slot.nanos()) as usize;
        while place >= SLOTS {
            self.done = self.done.chunks(2).map(|pair| pair.iter().sum()).collect();
            self.slot = self.slot + self.slot;
            place /= 2;
        }
        if place >= self.done.len() {
            self.done.resize(place + 1, 0);
        }
        self.done[place] += 1;
    }

    /// The rates of this many blocks of equally many requests, in requests a slot; `None` if there are too few requests, or fewer than
    /// four slots a block: the end of a block within a slot is a guess.
    fn block_rates(&self, blocks: usize) -> Option<Vec<f64>> {
        let first = self.done.iter().position(|done| *done > 0)?;
        let all: u64 = self.done.iter().sum();
        if all < BLOCK * blocks as u64 || self.done.len() - first < 4 * blocks {
            return None;
        }
        let block = all as f64 / blocks as f64;
        let mut ends = Vec::new();
        let mut seen = 0.0;
        for (place, done) in self.done[first..].iter().enumerate() {
            let before = seen;
            seen += *done as f64;
            while ends.len() < blocks && seen >= block * (ends.len() + 1) as f64 - 1e-6 {
                // Within a slot requests are assumed to be evenly spread.
                let share = (block * (ends.len() + 1) as f64 - before) / *done as f64;
                ends.push(place as f64 + share.clamp(0.0, 1.0));
            }
        }
        // No slot holds more than all requests, so a block is at least `1 / blocks` of a slot long.
        let starts = std::iter::once(0.0).chain(ends.iter().copied());
        Some(starts.zip(&ends).map(|(start, end)| block / (end - start)).collect())
    }

    /// How steady the rate was over the second half of the run; `None` if there are too few requests.
    fn rate_steadiness(&self) -> Option<RateSteadiness> {
        let rates = self.block_rates(BLOCKS)?;
        let half = &rates[BLOCKS / 2..];
        let count = half.len() as f64;
        let mean = half.iter().sum::<f64>() / count;
        let range = half.iter().copied().fold(0.0, f64::max) - half.iter().copied().fold(f64::INFINITY, f64::min);
        let middle = (count - 1.0) / 2.0;
        let slope = half.iter().enumerate().map(|(at, rate)| (at as f64 - middle) * rate).sum::<f64>()
            / half.iter().enumerate().map(|(at, _)| (at as f64 - middle).powi(2)).sum::<f64>();
        Some(RateSteadiness { range: range / mean, trend: slope * (count - 1.0) / mean })
    }

    /// The rate of the last quarter of all requests over that of the first.
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
    /// From the first to the last by the line through all, as a share of their mean.
    pub trend: f64,
}

impl RateSteadiness {
    /// True for a steady state by SNIA's bounds.
    pub(crate) fn is_steady(&self) -> bool {
        self.range <= RANGE && self.trend.abs() <= TREND
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

/// The observations on the records of a run; what it used of the machine and stood on is in its [`RunFigures`].
pub struct RealObservation {
    /// By group and kind.
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
    /// The record to keep, with figures of its run.
    pub fn to_record(&self, of: &RunFigures) -> RealRecord {
        let over = |of: fn(&Latencies) -> &Histogram| {
            let mut all = Histogram::default();
            for kinds in &self.latencies {
                [RequestKind::Read, RequestKind::Write].iter().for_each(|kind| all.merge(of(&kinds[*kind as usize])));
            }
            Response::from_histogram(&all)
        };
        let nothing = Usage::default();
        let usage = of.usage.as_ref().unwrap_or(&nothing);
        let threads = &usage.threads;
        let whole = usage.wall_time().nanos() as f64 * f64::from(usage.system.cores.max(1));
        let percent = |sum: u64| if whole > 0.0 { 100.0 * sum as f64 / whole } else { 0.0 };
        RealRecord {
            submission_ms: over(|of| &of.submission),
            completion_ms: over(|of| &of.completion),
            latency_ms: over(|of| &of.total),
            user_percent: percent(threads.iter().map(|thread| thread.user.nanos()).sum()),
            system_percent: percent(threads.iter().map(|thread| thread.system.nanos()).sum()),
            whole_percent: 100.0 * usage.system.busy,
            saturated: usage.saturated_threads(),
            pace: self.pace,
            bench: of.bench.clone(),
        }
    }

    /// Doubts about a run with these figures, in words; `moved` are bytes read and written by the job.
    pub fn doubts(&self, of: &RunFigures, moved: [u64; 2]) -> Vec<String> {
        let mut doubts = Vec::new();
        let nothing = Usage::default();
        let usage = of.usage.as_ref().unwrap_or(&nothing);
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
        if let Some(drift) = self.pace.drift.filter(|drift| !(1.0 - TREND..=1.0 + TREND).contains(drift)) {
            let percent = 100.0 * (drift - 1.0);
            doubts.push(format!(
                "drift: the rate of the last quarter of the requests differs by {percent:+.0} % from the first's"
            ));
        }
        let words =
            [("read", "came from memory, or from another machine"), ("wrote", "was still in memory, or went to one")];
        for (at, (verb, rest)) in words.into_iter().enumerate() {
            if let Some(share) = share_by_disks(usage, at, moved[at]).filter(|share| *share < OF_DISKS) {
                doubts.push(format!(
                    "cached: the disks of this machine {verb} {:.0} % of the bytes that the job {verb}; the rest {rest}",
                    100.0 * share
                ));
            }
        }
        doubts.extend(link_rate(of).into_iter().flat_map(|link| faster_than_link(link as f64, self.rates)));
        doubts
    }
}

/// The rate of the disk's link in bytes a second, if the system reports it.
pub(super) fn link_rate(of: &RunFigures) -> Option<u64> {
    of.bench.as_ref()?.device.as_ref()?.link
}

/// The share of the bytes read (0) or written (1) that disks moved meanwhile; `None` without any.
fn share_by_disks(usage: &Usage, direction: usize, moved: u64) -> Option<f64> {
    // A disk may stand on another (loop devices, md): only the busiest counts.
    let disks = usage.system.disks.iter().map(|disk| disk.sectors[direction] * SECTOR).max().unwrap_or(0);
    (moved > 0).then(|| disks as f64 / moved as f64)
}

/// A warning if half of the reads, or of the writes, came faster than the link carries them.
fn faster_than_link(link: f64, rates: [Option<f64>; 2]) -> impl Iterator<Item = String> {
    let words = ["came from memory", "went to memory"];
    ["reads", "writes"].into_iter().zip(words).zip(rates).filter_map(move |((what, rest), rate)| {
        rate.filter(|rate| *rate > link).map(|rate| {
            let (rate, link) = (rate / 1e6, link / 1e6);
            format!("cached: half of the {what} came at {rate:.0} MB/s or faster, more than the link's {link:.0}: they {rest}")
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
        let said = |rates| faster_than_link(300e6, rates).collect::<Vec<_>>();
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
            recorder.take_record(&Record { request, completion, ..Record::NONE });
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
        let mut pace = RequestPace { slot: SLOT, done: Vec::new() };
        for (at, rate) in rates.enumerate() {
            (0..rate).for_each(|_| pace.count_at(Instant::from_nanos(at as u64 * 1_000_000 + 5)));
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
        let rates = |done: &[u64]| RequestPace { slot: SLOT, done: done.to_vec() }.block_rates(2).unwrap();
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
        assert!(long.done.len() <= SLOTS && long.done.iter().sum::<u64>() == 50_000);
        assert_eq!(long.slot, Span::from_millis(32));
    }
}
