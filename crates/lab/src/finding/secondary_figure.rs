//! Figures that went the other way than the judged one, which the headline does not show. More requests a second with a longer p99 is no
//! plain "faster".

use seekwise_drives::metric::{Metric, MetricScope, Statistic};

use crate::stats::{Interval, Verdict};

/// A figure that goes with the judged one, with its own interval.
#[derive(Clone, Debug, PartialEq)]
pub struct SecondaryFigure {
    pub metric: Metric,
    /// The other side over the base; 95 %, not corrected for others.
    pub ratio: Interval,
    pub worse: bool,
}

impl SecondaryFigure {
    /// The figure in one sentence. If a study was sampled until decided, a judged figure has a wider interval, which holds at every look at
    /// once.
    pub fn text(&self) -> String {
        let Interval { estimate, low, high } = self.ratio;
        let way = if self.worse { "worse" } else { "better" };
        format!("{} is {way}: {estimate:.3} × [{low:.3}, {high:.3}]", self.metric.title())
    }
}

/// The figures to compare with a judged one: rate, mean and tail of the same requests (with requests a second also bytes a second, which
/// differ if the sides' requests differ in size), and for all requests the rate of commits and of flushes. A time alone
/// misleads: a flush gets shorter if the write before it waits longer. There are none for the time of a whole run, in which a program may
/// get by with fewer and longer requests.
pub(crate) fn companion_metrics(of: &Metric) -> Vec<Metric> {
    let figures: &[Statistic] = match of.figure {
        Statistic::Elapsed => return Vec::new(),
        figure if figure.response_word_of_since_due().is_some() => &[
            Statistic::Iops,
            Statistic::SinceDue,
            Statistic::SinceDueP99,
            Statistic::SinceDueP999,
            Statistic::Mean,
            Statistic::P99,
        ],
        Statistic::Iops => &[Statistic::BytesPerS, Statistic::Mean, Statistic::P99, Statistic::P999],
        _ => &[Statistic::Iops, Statistic::Mean, Statistic::P99, Statistic::P999],
    };
    let others = figures.iter().filter(|figure| **figure != of.figure);
    let commits = [Metric::commits_per_second(), Metric::flushes_per_second()];
    let commits = commits.into_iter().filter(|_| of.whose == MetricScope::All);
    others.map(|&figure| Metric { whose: of.whose.clone(), figure }).chain(commits).collect()
}

/// The figures without the rate of flushes beside that of commits, which says it in the reader's terms.
pub(crate) fn without_repetition(mut beside: Vec<SecondaryFigure>) -> Vec<SecondaryFigure> {
    if beside.iter().any(|figure| figure.metric == Metric::commits_per_second()) {
        beside.retain(|figure| figure.metric != Metric::flushes_per_second());
    }
    beside
}

/// The companion, if it contradicts the verdict: its interval excludes 1, it differs by more than the margin, and it goes the other way
/// than the verdict. With "no difference" either way contradicts; without a verdict, none does.
pub(crate) fn contradicting_figure(
    metric: Metric,
    ratio: Interval,
    verdict: Verdict,
    margin: f64,
) -> Option<SecondaryFigure> {
    let beyond = ratio.estimate > 1.0 + margin || ratio.estimate < 1.0 / (1.0 + margin);
    let sure = ratio.low > 1.0 || ratio.high < 1.0;
    let worse = (ratio.estimate < 1.0) == metric.figure.higher_is_better();
    let against = match verdict {
        Verdict::Faster => worse,
        Verdict::Slower => !worse,
        Verdict::NoDifference { .. } => true,
        Verdict::NotEnoughData { .. } => false,
    };
    (beyond && sure && against).then_some(SecondaryFigure { metric, ratio, worse })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(figure: Statistic, low: f64, estimate: f64, high: f64, verdict: Verdict) -> Option<bool> {
        let ratio = Interval { estimate, low, high };
        contradicting_figure(Metric::of_all(figure), ratio, verdict, 0.02).map(|beside| beside.worse)
    }

    #[test]
    fn a_better_headline_with_a_worse_tail_is_said() {
        assert_eq!(of(Statistic::P99, 1.2, 1.3, 1.4, Verdict::Faster), Some(true));
        assert_eq!(of(Statistic::P99, 0.7, 0.8, 0.9, Verdict::Faster), None, "it goes along");
        assert_eq!(of(Statistic::P99, 0.9, 1.3, 1.9, Verdict::Faster), None, "its interval holds 1");
        assert_eq!(of(Statistic::P99, 1.001, 1.01, 1.02, Verdict::Faster), None, "it is within the margin");
        assert_eq!(of(Statistic::P99, 0.7, 0.8, 0.9, Verdict::Slower), Some(false), "the reverse");
        assert_eq!(of(Statistic::Iops, 0.7, 0.8, 0.9, Verdict::Faster), Some(true));
    }

    /// Of a rate and of a time, above and below: what goes against the verdict is said from the margin on, if its interval leaves 1.
    #[test]
    fn a_contradiction_begins_at_the_margin_and_off_one() {
        let same = Verdict::NoDifference { margin: 0.02 };
        let edge = 1.02;
        for (figure, is_rate) in [(Statistic::Iops, true), (Statistic::P99, false)] {
            for is_above in [true, false] {
                let worse = is_above != is_rate;
                let said = |estimate: f64, near: f64| {
                    let far = estimate * estimate;
                    let (low, high) = if is_above { (near, far) } else { (far, near) };
                    let ratio = Interval { estimate, low, high };
                    [Verdict::Faster, Verdict::Slower, same, Verdict::NotEnoughData { more_runs: 1 }].map(|verdict| {
                        contradicting_figure(Metric::of_all(figure), ratio, verdict, 0.02).map(|it| it.worse)
                    })
                };
                let at = |by: f64| if is_above { by } else { 1.0 / by };
                let beyond = at(edge * 1.0001);
                let expected = [Some(worse).filter(|it| *it), Some(worse).filter(|it| !it), Some(worse), None];
                assert_eq!(said(beyond, at(1.0001)), expected, "{figure:?} {is_above}");
                assert_eq!(said(beyond, 1.0), [None; 4], "its interval touches 1");
                assert_eq!(said(at(edge * 0.9999), at(1.0001)), [None; 4], "within the margin");
            }
        }
    }

    #[test]
    fn beside_no_difference_either_way_is_said() {
        let same = Verdict::NoDifference { margin: 0.02 };
        assert_eq!(of(Statistic::Mean, 7.9, 8.0, 8.1, same), Some(true));
        assert_eq!(of(Statistic::P999, 0.4, 0.5, 0.6, same), Some(false));
        assert_eq!(of(Statistic::P999, 0.4, 0.5, 0.6, Verdict::NotEnoughData { more_runs: 1 }), None);
    }

    #[test]
    fn what_is_judged_is_not_beside_itself() {
        let words =
            |word: &str| companion_metrics(&word.parse().unwrap()).iter().map(Metric::to_string).collect::<Vec<_>>();
        assert_eq!(words("read.p99"), ["read.iops", "read.mean", "read.p99.9"]);
        assert_eq!(words("flush"), ["flush.iops", "flush.p99", "flush.p99.9"]);
        assert_eq!(words("iops"), ["bytes_per_s", "mean", "p99", "p99.9", "commit.iops", "flush.iops"]);
        assert_eq!(words("commit"), ["commit.iops", "commit.p99", "commit.p99.9"]);
        assert!(words("elapsed").is_empty());
    }

    #[test]
    fn a_time_never_stands_without_its_rate() {
        for whose in ["", "read.", "write.", "flush.", "commit.", "job:log.", "operations.copy."] {
            for figure in ["mean", "p50", "p99", "max"] {
                let metric: Metric = format!("{whose}{figure}").parse().unwrap();
                let rate = Metric { figure: Statistic::Iops, ..metric.clone() };
                assert!(companion_metrics(&metric).contains(&rate), "{metric}");
            }
        }
        let rates = [Metric::commits_per_second(), Metric::flushes_per_second()];
        let ratio = Interval { estimate: 0.465, low: 0.454, high: 0.476 };
        let said = rates.map(|rate| contradicting_figure(rate, ratio, Verdict::Faster, 0.02).unwrap());
        assert_eq!(said[1].text(), "flushes per second is worse: 0.465 × [0.454, 0.476]");
        let texts = |beside: &[SecondaryFigure]| {
            without_repetition(beside.to_vec()).iter().map(SecondaryFigure::text).collect::<Vec<_>>()
        };
        assert_eq!(texts(&said), ["commits per second is worse: 0.465 × [0.454, 0.476]"]);
        assert_eq!(texts(&said[1..]), [said[1].text()]);
        let due: Metric = "read.since_due.p99".parse().unwrap();
        assert!(companion_metrics(&due).contains(&"read.iops".parse().unwrap()));
    }
}
