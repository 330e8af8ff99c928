//! The outcomes of comparisons, as pages and summaries name them, and the words for a difference.
//!
//! A ratio below 1 is good for a time and bad for a rate, so each metric has its own words. They are chosen here and nowhere else.

use seekwise_drives::metric::{Metric, Statistic};
use serde::Serialize;

use crate::stats::{Interval, Judgement, Verdict};

/// The outcome of a comparison in one cell, or in several together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Outcome {
    /// The judged side is better.
    #[serde(rename = "faster")]
    Faster,
    /// The judged side is worse.
    #[serde(rename = "slower")]
    Slower,
    /// Several cells together: better in some, worse in others.
    #[serde(rename = "mixed")]
    Mixed,
    /// The whole interval lies within the margin.
    #[serde(rename = "no difference")]
    NoDifference,
    /// The interval is too wide to tell.
    #[default]
    #[serde(rename = "not enough data")]
    NotEnoughData,
    /// The sides differ in more than the factor named.
    #[serde(rename = "refused")]
    Refused,
}

impl Outcome {
    /// All outcomes, in the order in which a reader meets them.
    pub const ALL: [Outcome; 6] = [
        Outcome::Faster,
        Outcome::Slower,
        Outcome::Mixed,
        Outcome::NoDifference,
        Outcome::NotEnoughData,
        Outcome::Refused,
    ];

    /// The name in results, whatever the metric is.
    pub const fn name(self) -> &'static str {
        match self {
            Outcome::Faster => "faster",
            Outcome::Slower => "slower",
            Outcome::Mixed => "mixed",
            Outcome::NoDifference => "no difference",
            Outcome::NotEnoughData => "not enough data",
            Outcome::Refused => "refused",
        }
    }
}

/// The words for a difference in one metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DifferenceWords {
    better: &'static str,
    worse: &'static str,
    /// The words after a ratio: `0.5 × as long`.
    times: &'static str,
}

/// Words for rates.
const RATE: DifferenceWords = DifferenceWords { better: "faster", worse: "slower", times: "" };

/// Words for times.
const TIME: DifferenceWords = DifferenceWords { better: "shorter", worse: "longer", times: " as long" };

/// Words for the processor's share.
const PROCESSOR: DifferenceWords =
    DifferenceWords { better: "less processor use", worse: "more processor use", times: " as much" };

/// Words for the processor's time for a request.
pub(crate) const PROCESSOR_TIME: DifferenceWords =
    DifferenceWords { better: "less processor time", worse: "more processor time", times: " as much" };

/// Words for requests that a second of the processor serves.
const PER_CORE: DifferenceWords = DifferenceWords {
    better: "more requests per core-second",
    worse: "fewer requests per core-second",
    times: " as many",
};

/// Words for the bytes that an array's members move for a byte.
const MEMBER_BYTES: DifferenceWords =
    DifferenceWords { better: "fewer bytes at the members", worse: "more bytes at the members", times: " as many" };

impl DifferenceWords {
    /// The words for a metric.
    pub const fn for_metric(metric: &Metric) -> DifferenceWords {
        match metric.figure {
            Statistic::Iops | Statistic::BytesPerS | Statistic::SyncMbPerS => RATE,
            Statistic::Cpu => PROCESSOR,
            Statistic::ProcessorNs => PROCESSOR_TIME,
            Statistic::IosPerCpuSecond => PER_CORE,
            Statistic::ReadPerByteWritten | Statistic::WrittenPerByteWritten => MEMBER_BYTES,
            _ => TIME,
        }
    }

    /// The word for an outcome: `shorter`.
    pub const fn outcome_word(self, outcome: Outcome) -> &'static str {
        match outcome {
            Outcome::Faster => self.better,
            Outcome::Slower => self.worse,
            other => other.name(),
        }
    }

    /// The words for a verdict: `shorter`, `no difference within ±2 %`.
    pub fn verdict_words(self, verdict: Verdict) -> String {
        match verdict {
            Verdict::Faster => self.better.to_owned(),
            Verdict::Slower => self.worse.to_owned(),
            other => other.to_string(),
        }
    }

    /// True for rates and times, which both say how fast the sides are.
    pub(crate) const fn is_speed(self) -> bool {
        matches!(self.better.as_bytes(), b"faster" | b"shorter")
    }

    /// Words for a ratio to the base: `0.82 × as long`.
    pub(crate) fn ratio_to_base(self, ratio: &str) -> String {
        format!("{ratio} ×{}", self.times)
    }

    /// A ratio with its interval: `0.725 × as long [0.719, 0.730]`; for one run, which has no interval, `0.725 × as long, of one
    /// run`.
    pub fn ratio_words(self, judgement: &Judgement) -> String {
        let Interval { estimate, low, high } = judgement.ratio;
        let times = self.ratio_to_base(&format!("{estimate:.3}"));
        match (high.is_finite(), self.times) {
            (true, _) => format!("{times} [{low:.3}, {high:.3}]"),
            (false, "") => format!("{times} of one run"),
            (false, _) => format!("{times}, of one run"),
        }
    }

    /// Verdict and ratio: `shorter, 0.725 × as long [0.719, 0.730]`.
    pub fn verdict_and_ratio(self, judgement: &Judgement) -> String {
        format!("{}, {}", self.verdict_words(judgement.verdict), self.ratio_words(judgement))
    }
}

/// A ratio with its interval, without words for the metric: `1.27 × [1.25, 1.29]`; for one run `1.27 × of one run`.
pub fn ratio_text(judgement: &Judgement) -> String {
    RATE.ratio_words(judgement)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(metric: &str) -> DifferenceWords {
        DifferenceWords::for_metric(&metric.parse().unwrap())
    }

    #[test]
    fn what_is_better_is_said_by_what_is_measured() {
        let better = |metric: &str| words(metric).outcome_word(Outcome::Faster);
        let worse = |metric: &str| words(metric).outcome_word(Outcome::Slower);
        for rate in ["iops", "bytes_per_s", "operations.copy.per_s"] {
            assert_eq!((better(rate), worse(rate)), ("faster", "slower"), "{rate}");
        }
        for time in ["mean", "read.p99", "since_due.p50", "elapsed", "wall_ns", "operations.copy.mean"] {
            assert_eq!((better(time), worse(time)), ("shorter", "longer"), "{time}");
        }
        assert_eq!((better("cpu"), worse("cpu")), ("less processor use", "more processor use"));
        assert_eq!(better("processor_ns"), "less processor time");
        assert_eq!(worse("ios_per_cpu_second"), "fewer requests per core-second");
        assert_eq!(better("members.read_per_byte"), "fewer bytes at the members");
        assert_eq!(words("mean").outcome_word(Outcome::NoDifference), "no difference");
        assert!(words("mean").is_speed() && words("iops").is_speed() && !words("cpu").is_speed());
    }

    #[test]
    fn a_ratio_stands_with_its_interval_if_there_is_one() {
        let said = |metric: &str, variant: &[f64]| {
            use crate::stats::{BetterDirection, Criteria, PairedComparison, PairedRatios, judge};
            let paired = PairedRatios::new(&vec![1.0; variant.len()], variant).unwrap();
            let judged = judge(&[PairedComparison { paired, better: BetterDirection::Lower }], &Criteria::default())[0];
            (words(metric).verdict_and_ratio(&judged), ratio_text(&judged))
        };
        let both = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(
            said("mean", &[0.725; 3]),
            both("shorter, 0.725 × as long [0.725, 0.725]", "0.725 × [0.725, 0.725]")
        );
        assert_eq!(
            said("mean", &[1.2724; 3]),
            both("longer, 1.272 × as long [1.272, 1.272]", "1.272 × [1.272, 1.272]")
        );
        let one = said("mean", &[0.5]);
        assert_eq!(one, both("not enough data, 4 more runs, 0.500 × as long, of one run", "0.500 × of one run"));
        assert_eq!(said("cpu", &[0.5]).0, "not enough data, 4 more runs, 0.500 × as much, of one run");
    }

    #[test]
    fn a_ratio_says_of_what_it_is() {
        assert_eq!(words("iops").ratio_to_base("1.60"), "1.60 ×");
        assert_eq!(words("elapsed").ratio_to_base("0.82"), "0.82 × as long");
        assert_eq!(words("cpu").ratio_to_base("0.50"), "0.50 × as much");
        assert_eq!(words("mean").verdict_words(Verdict::NoDifference { margin: 0.02 }), "no difference within ±2 %");
    }
}
