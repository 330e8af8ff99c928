//! Reasons to doubt a figure. A flag is printed with the figure; it changes and removes nothing.
//!
//! A rate above the link's did not come from the drive. Runs that scatter more than their sides differ need more than one run. A percentile
//! with a handful of values beyond it is an anecdote.

use super::histogram::Percentile;
use super::interval::PairedRatios;
use super::summary::{RequestKind, RunTally};
use super::verdict::{Judgement, Verdict};
use std::fmt;

/// Share by which a rate may exceed a limit before it is flagged: requests under way when counting began count in full, and
/// link rates are printed in round figures (inferred; reads from the page cache exceed the limit several times).
const SLACK: f64 = 0.01;

/// Number of values that must lie above a percentile. With k of them their share is known to 1/√k, here to a third (the binomial deviation
/// of a small count).
const VALUES_ABOVE: u64 = 10;

/// The highest rates of a drive and its link in bytes a second; `None` if unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ceiling {
    /// The link's rate for data, both directions together (for a full-duplex link, twice that of one).
    pub link: Option<f64>,
    /// The media rate of the fastest zone.
    pub media: Option<f64>,
}

/// A reason for doubt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Flag {
    /// More data than the link carries: something nearer the program answered.
    FasterThanLink {
        /// Reads and writes together.
        bytes_per_s: f64,
        /// The link's rate.
        limit: f64,
    },
    /// More data than passes under the head: a cache answered.
    FasterThanMedia {
        /// Reads and writes together.
        bytes_per_s: f64,
        /// The media rate.
        limit: f64,
    },
    /// Requests failed; they are in no rate and no percentile.
    Failed { requests: u64 },
    /// Too few requests for this percentile and those above it.
    TooFewForPercentile {
        /// The kind of request.
        kind: RequestKind,
        /// The first percentile that is not supported.
        percentile: Percentile,
        /// Requests there are.
        ios: u64,
        /// Requests it needs.
        needed: u64,
    },
    /// The ratio differs from run to run by more than the sides differ.
    SpreadExceedsEffect {
        /// Standard deviation of the log ratios, as a fraction.
        spread: f64,
        /// Mean of the log ratios without its sign, as a fraction.
        effect: f64,
    },
    /// All pairs of runs gave the same ratio: the interval has no width, and further runs add nothing.
    NoSpread { runs: usize },
}

impl fmt::Display for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mega = |bytes: &f64| bytes / 1e6;
        match self {
            Flag::FasterThanLink { bytes_per_s, limit } => {
                let (rate, limit) = (mega(bytes_per_s), mega(limit));
                write!(f, "{rate:.1} MB/s is more than the link carries ({limit:.1} MB/s): not the drive answered")
            }
            Flag::FasterThanMedia { bytes_per_s, limit } => {
                let (rate, limit) = (mega(bytes_per_s), mega(limit));
                write!(f, "{rate:.1} MB/s is more than the media gives ({limit:.1} MB/s): a cache answered")
            }
            Flag::Failed { requests } => write!(f, "{requests} requests failed and are in no figure"),
            Flag::TooFewForPercentile { kind, percentile, ios, needed } => {
                let (kind, percentile) = (kind.name(), percentile.name());
                write!(f, "{kind}: {percentile} needs {needed} requests, there are {ios}")
            }
            Flag::SpreadExceedsEffect { spread, effect } => {
                let (spread, effect) = (spread * 100.0, effect * 100.0);
                write!(f, "runs spread by {spread:.1} %, more than the sides differ ({effect:.1} %)")
            }
            Flag::NoSpread { runs } => write!(f, "{runs} pairs of runs gave exactly the same ratio"),
        }
    }
}

/// True if so many requests support a percentile.
pub(crate) fn is_supported(percentile: Percentile, request_count: u64) -> bool {
    percentile.needed_count(VALUES_ABOVE).is_some_and(|needed| request_count >= needed)
}

/// The listed percentiles that so many requests support.
pub(crate) fn supported_percentiles(request_count: u64) -> impl Iterator<Item = Percentile> {
    Percentile::LISTED.into_iter().filter(move |percentile| is_supported(*percentile, request_count))
}

/// The flags of one run, or of several merged.
pub(crate) fn run_flags(run: &RunTally, ceiling: &Ceiling) -> Vec<Flag> {
    let bytes_per_s = run.reads_and_writes().bytes_per_s();
    let above = |limit: &f64| bytes_per_s > limit * (1.0 + SLACK);
    let mut flags = Vec::new();
    flags.extend(ceiling.link.filter(above).map(|limit| Flag::FasterThanLink { bytes_per_s, limit }));
    flags.extend(ceiling.media.filter(above).map(|limit| Flag::FasterThanMedia { bytes_per_s, limit }));
    flags.extend(Some(run.failed()).filter(|&requests| requests > 0).map(|requests| Flag::Failed { requests }));
    flags
        .extend(RequestKind::ALL.into_iter().filter_map(|kind| too_few_flag(kind, run.kind_summary(kind).tally.ios())));
    flags
}

fn too_few_flag(kind: RequestKind, request_count: u64) -> Option<Flag> {
    let percentile = *Percentile::LISTED.get(supported_percentiles(request_count).count())?;
    let needed = percentile.needed_count(VALUES_ABOVE)?;
    (request_count > 0).then_some(Flag::TooFewForPercentile { kind, percentile, ios: request_count, needed })
}

/// The flags of a comparison. If no difference was found, the spread does not matter: it was within the margin.
pub(crate) fn judgement_flags(judgement: &Judgement) -> Vec<Flag> {
    let PairedRatios { runs, mean, deviation } = judgement.comparison.paired;
    let equal = matches!(judgement.verdict, Verdict::NoDifference { .. });
    let spread = deviation > mean.abs() && !equal;
    let mut flags = Vec::new();
    flags.extend(spread.then_some(Flag::SpreadExceedsEffect { spread: deviation, effect: mean.abs() }));
    flags.extend((runs > 1 && deviation == 0.0).then_some(Flag::NoSpread { runs }));
    flags
}

#[cfg(test)]
mod tests {
    use super::super::summary::RunRecorder;
    use super::super::verdict::{BetterDirection, Criteria, PairedComparison, judge};
    use super::*;
    use seekwise_disk::block::{Completion, Flags, Op, Request, Status};
    use seekwise_disk::record::{Effort, Parts, Record};
    use seekwise_disk::time::{Instant, Span};

    /// A run of one second with `ios` reads of 1 MiB.
    fn run(ios: u64) -> RunTally {
        let request =
            Request { tag: 0, unit: 0, origin: 0, op: Op::Read, flags: Flags::NONE, lba: 0, sectors: 2048, stamp: 0 };
        let (submitted, finished) = (Instant::ZERO, Instant::from_nanos(1_000));
        let completion = Completion {
            tag: 0,
            status: Status::Done,
            submitted,
            finished,
            parts: Parts::default(),
            effort: Effort::default(),
        };
        let mut recorder = RunRecorder::new(&[0]);
        (0..ios).for_each(|_| {
            recorder.count_record(&Record { worker: 0, request, intended: submitted, issued: submitted, completion })
        });
        recorder.finish_after(Span::from_secs(1))
    }

    #[test]
    fn a_reading_from_memory_is_flagged() {
        let ceiling = Ceiling { link: Some(300e6), media: Some(60e6) };
        let rates = |ios| {
            let flags = run_flags(&run(ios), &ceiling);
            let link = flags.iter().any(|flag| matches!(flag, Flag::FasterThanLink { .. }));
            (link, flags.iter().any(|flag| matches!(flag, Flag::FasterThanMedia { .. })))
        };
        // 700 MB/s on a link of 300: not the drive. 200: its cache. 57, and 60.4 by a rounded edge: the platter.
        assert_eq!([668, 190, 54].map(rates), [(true, true), (false, true), (false, false)]);
        assert_eq!(run_flags(&run(668), &Ceiling::default()).len(), 1);
    }

    #[test]
    fn percentiles_without_support_are_flagged() {
        let supports = |ios| supported_percentiles(ios).map(Percentile::name).collect::<Vec<_>>().join(" ");
        assert_eq!(supports(19), "");
        assert_eq!(supports(1_000), "p50 p90 p99");
        assert_eq!(supports(99_999), "p50 p90 p99 p99_9");
        assert_eq!(supports(100_000), "p50 p90 p99 p99_9 p99_99");
        let flags = run_flags(&run(1_000), &Ceiling::default());
        assert_eq!(flags.len(), 1);
        assert_eq!(flags[0].to_string(), "read: p99_9 needs 10000 requests, there are 1000");
        assert_eq!(run_flags(&run(100_000), &Ceiling::default()), []);
    }

    #[test]
    fn failures_are_flagged() {
        let mut recorder = RunRecorder::new(&[0]);
        let request =
            Request { tag: 0, unit: 0, origin: 0, op: Op::Flush, flags: Flags::NONE, lba: 0, sectors: 0, stamp: 0 };
        let at = Instant::ZERO;
        let completion = Completion {
            tag: 0,
            status: Status::PowerLost,
            submitted: at,
            finished: at,
            parts: Parts::default(),
            effort: Effort::default(),
        };
        recorder.count_record(&Record { worker: 0, request, intended: at, issued: at, completion });
        let flags = run_flags(&recorder.finish_after(Span::from_secs(1)), &Ceiling::default());
        assert_eq!(flags, [Flag::Failed { requests: 1 }]);
    }

    #[test]
    fn a_spread_larger_than_the_effect_is_flagged() {
        let flags = |variant: &[f64]| {
            let paired = PairedRatios::new(&vec![100.0; variant.len()], variant).unwrap();
            judgement_flags(
                &judge(&[PairedComparison { paired, better: BetterDirection::Higher }], &Criteria::default())[0],
            )
        };
        assert!(matches!(flags(&[90.0, 112.0, 105.0])[..], [Flag::SpreadExceedsEffect { .. }]));
        assert_eq!(flags(&[110.0, 111.0, 112.0]), []);
        // Spread, but within the margin: nothing to doubt.
        assert_eq!(flags(&[100.1, 99.9, 100.0]), []);
        assert_eq!(flags(&[150.0; 3]), [Flag::NoSpread { runs: 3 }]);
        assert_eq!(flags(&[150.0]), []);
    }
}
