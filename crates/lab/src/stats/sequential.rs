//! Verdicts while runs are still being added: pairs are looked at after fixed numbers of runs, and the accepted error is shared among the
//! looks.
//!
//! 1. At each of its K looks a test's p is multiplied by K, so that each look has the same share of alpha. By Bonferroni's inequality the
//!    chance that any look errs is at most alpha, whatever the dependence between looks and whatever stops the runs.
//! 2. Holm's correction goes over all tests of the question, each at its last look.
//! 3. A decided test stays at the look that decided it.
//! 4. The interval is that of the look at the level alpha / K. It covers at every look at once (a repeated confidence interval), so
//!    stopping does not spoil it.
//!
//! The module makes no runs and knows no cells. Answers depend only on the log ratios up to the look, so a study that continues from its
//! records comes to equal looks and equal answers.
//!
//! Sources: C. Jennison and B. W. Turnbull, "Group Sequential Methods with Applications to Clinical Trials" (2000),
//! chapters 7 (alpha spent over looks) and 9 (repeated confidence intervals); Y. Ye, A. Li, L. Liu and B. Yao, "A group
//! sequential Holm procedure with multiple primary endpoints", Statistics in Medicine 32 (2013).

use super::interval::PairedRatios;
use super::verdict::{self, BetterDirection, Criteria, Family, Judgement, PairedComparison, Verdict};

/// Runs of a side after which a comparison is looked at. The first look has two degrees of freedom, the least with which t(0.975) is under
/// 5. Each further look adds a third to two thirds of the runs, so that no comparison runs much longer than it needs. With the last, a run
/// is a 36th as long as one of a study's usual five, so that little is run if little is needed. (Inferred: shorter runs would be mostly
/// ramp, and each look lowers the others' share of the error.)
pub const LOOKS: [u32; 11] = [3, 5, 8, 12, 20, 30, 45, 60, 90, 120, 180];

/// A test whose runs are added in steps.
#[derive(Clone, Debug, PartialEq)]
pub struct SequentialTest {
    /// For each pair of runs ln(variant / baseline), up to the first pair without a ratio.
    pub logs: Vec<f64>,
    /// The numbers of pairs after which the test is looked at, rising; at least one.
    pub looks: Vec<u32>,
    pub better: BetterDirection,
}

/// The judgement of a test by its looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequentialJudgement {
    /// The judgement at the last look.
    pub judgement: Judgement,
    /// Number of pairs at that look.
    pub pairs: u32,
}

impl SequentialJudgement {
    /// True if the verdict stands, so that no run need be added.
    pub fn is_decided(&self) -> bool {
        !matches!(self.judgement.verdict, Verdict::NotEnoughData { .. })
    }
}

/// The state of a test after some looks.
#[derive(Clone, Copy)]
struct TestState {
    /// The pairs of the last look; none before the first.
    paired: Option<PairedRatios>,
    /// p of "the ratio is 1" at the last look, times the number of looks; 1 before the first.
    p: f64,
    /// p of "the ratio is beyond the margin", in the same way.
    p_beyond: f64,
    decided: bool,
}

/// Judges all tests of a study together, look by look; `None` if there are too few pairs for the first. The order is kept.
pub fn judge_sequentially(tests: &[SequentialTest], criteria: &Criteria) -> Vec<Option<SequentialJudgement>> {
    let states = states_at_last_look(tests, criteria);
    let [different, beyond] = holm_families(&states, criteria);
    let judged = |(index, (state, test)): (usize, (&TestState, &SequentialTest))| {
        let levels = [different.level, beyond.level].map(|level| level / look_count(test));
        let adjusted = [different.adjusted[index], beyond.adjusted[index]];
        Some(state.judgement_at(test, criteria, adjusted, levels, state.paired?))
    };
    states.iter().zip(tests).enumerate().map(judged).collect()
}

/// For each test whether [`judge_sequentially`] gives a verdict that stands.
pub(crate) fn which_are_decided(tests: &[SequentialTest], criteria: &Criteria) -> Vec<bool> {
    states_at_last_look(tests, criteria).iter().map(|state| state.decided).collect()
}

/// Takes all looks of all tests; returns their states.
fn states_at_last_look(tests: &[SequentialTest], criteria: &Criteria) -> Vec<TestState> {
    let before_first = TestState { paired: None, p: 1.0, p_beyond: 1.0, decided: false };
    let mut states = vec![before_first; tests.len()];
    let most_looks = tests.iter().map(|test| test.looks.len()).max().unwrap_or(0);
    for look in 0..most_looks {
        for (state, test) in states.iter_mut().zip(tests).filter(|(state, _)| !state.decided) {
            state.take_look(test, look, criteria);
        }
        let [different, beyond] = holm_families(&states, criteria);
        for (index, state) in states.iter_mut().enumerate() {
            let smallest_p = different.adjusted[index].min(beyond.adjusted[index]);
            state.decided |= smallest_p < criteria.alpha();
        }
    }
    states
}

/// The tests of "the ratio is 1" and of "the ratio is beyond the margin", each corrected over all tests.
fn holm_families(states: &[TestState], criteria: &Criteria) -> [Family; 2] {
    let values: [fn(&TestState) -> f64; 2] = [|state| state.p, |state| state.p_beyond];
    values.map(|value| Family::from_p_values(&states.iter().map(value).collect::<Vec<_>>(), criteria.alpha()))
}

fn look_count(test: &SequentialTest) -> f64 {
    test.looks.len().max(1) as f64
}

impl TestState {
    /// Takes a look, if the test has a look of that number and enough pairs for it.
    fn take_look(&mut self, test: &SequentialTest, look_index: usize, criteria: &Criteria) {
        let Some(logs) = test.looks.get(look_index).and_then(|&pairs| test.logs.get(..pairs as usize)) else { return };
        let Ok(paired) = PairedRatios::from_log_ratios(logs) else { return };
        let times_looks = |p: f64| (p * look_count(test)).min(1.0);
        (self.p, self.p_beyond) =
            (times_looks(paired.p_different()), times_looks(paired.p_not_equivalent(criteria.margin())));
        self.paired = Some(paired);
    }

    fn judgement_at(
        &self,
        test: &SequentialTest,
        criteria: &Criteria,
        [p_holm, p_beyond_holm]: [f64; 2],
        [level, level_beyond]: [f64; 2],
        paired: PairedRatios,
    ) -> SequentialJudgement {
        let comparison = PairedComparison { paired, better: test.better };
        let (alpha, margin) = (criteria.alpha(), criteria.margin());
        let verdict = if p_beyond_holm < alpha {
            Verdict::NoDifference { margin }
        } else if p_holm < alpha {
            verdict::faster_or_slower(&comparison)
        } else {
            Verdict::NotEnoughData { more_runs: verdict::more_runs(&paired, margin, level, level_beyond) }
        };
        let ratio = paired.ratio_interval(alpha / look_count(test));
        let judgement = Judgement { comparison, ratio, p: self.p, p_holm, p_beyond_holm, verdict };
        SequentialJudgement { judgement, pairs: paired.runs as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::draws::{draw_count, likely_counts};
    use crate::stats::judge;
    use seekwise_disk::rng::Seed;

    fn test(logs: &[f64], looks: &[u32]) -> SequentialTest {
        SequentialTest { logs: logs.to_vec(), looks: looks.to_vec(), better: BetterDirection::Higher }
    }

    fn judged(tests: &[SequentialTest]) -> Vec<SequentialJudgement> {
        judge_sequentially(tests, &Criteria::default()).into_iter().map(Option::unwrap).collect()
    }

    #[test]
    fn one_look_is_the_fixed_sample() {
        let logs = [0.10, 0.11, 0.09, 0.10];
        let once = judged(&[test(&logs, &[4])])[0];
        let paired = PairedRatios::from_log_ratios(&logs).unwrap();
        let fixed = judge(&[PairedComparison { paired, better: BetterDirection::Higher }], &Criteria::default())[0];
        assert_eq!(once.judgement, fixed);
    }

    #[test]
    fn a_test_stops_at_the_look_that_decides_it() {
        // t = 0.1 / (0.01 / √3) = 17.3 with two degrees: p = 0.0033; twice that, for two looks, is below 5 %.
        let logs = [0.09, 0.10, 0.11, -5.0, -5.0];
        let stopped = judged(&[test(&logs, &[3, 5])])[0];
        assert_eq!((stopped.pairs, stopped.judgement.verdict), (3, Verdict::Faster));
        assert!((stopped.judgement.p - 2.0 * 0.0033).abs() < 1e-4, "{}", stopped.judgement.p);
        // Sixteen looks of which the first is this one spend a sixteenth there: 0.053.
        let looks: Vec<u32> = (3..19).collect();
        let open = judged(&[test(&logs[..3], &looks)])[0];
        assert!(!open.is_decided() && open.judgement.p > 0.05);
        assert!(open.judgement.ratio.low < 1.0, "an interval never says more than the verdict");
    }

    #[test]
    fn what_is_added_later_changes_nothing_of_what_stands() {
        let mut rng = Seed(3).stream("prefix");
        let mut draw = || (0..180).map(|_| 0.01 + 0.03 * normal(&mut rng)).collect::<Vec<f64>>();
        let whole: Vec<SequentialTest> = (0..8).map(|_| test(&draw(), &LOOKS)).collect();
        for pairs in LOOKS {
            let cut = |it: &SequentialTest| test(&it.logs[..pairs as usize], &LOOKS);
            let part = judged(&whole.iter().map(cut).collect::<Vec<_>>());
            for (now, end) in part.iter().zip(judged(&whole)).filter(|(now, _)| now.is_decided()) {
                assert_eq!(now.pairs, end.pairs);
                assert!(end.is_decided());
            }
        }
    }

    #[test]
    fn settled_neighbours_lower_the_bar_and_open_ones_raise_it() {
        let clear = test(&[0.1, 0.1, 0.1], &[3]);
        // p = 0.03 alone.
        let close = test(&[0.05, 0.08, 0.04], &[3]);
        let alone = judged(std::slice::from_ref(&close))[0];
        assert!(alone.is_decided() && alone.judgement.p > 0.025, "{}", alone.judgement.p);
        assert!(judged(&[close.clone(), clear.clone()])[0].is_decided());
        let open = test(&[0.05, -0.05, 0.01], &[3]);
        assert!(!judged(&[close, open])[0].is_decided());
    }

    #[test]
    fn too_few_pairs_have_no_answer() {
        assert_eq!(judge_sequentially(&[test(&[0.1, 0.1], &LOOKS)], &Criteria::default()), [None]);
        assert!(judge_sequentially(&[], &Criteria::default()).is_empty());
    }

    #[test]
    fn equal_sides_are_called_different_in_at_most_5_percent_of_studies_whenever_runs_stop() {
        // Studies of four equal cells, all looks taken: the worst case. As the looks of one test are alike, fewer than 5 % err.
        let mut rng = Seed(4).stream("null");
        let (all, mut wrong) = (draw_count(60, 600), 0);
        for _ in 0..all {
            let mut draw = || test(&(0..180).map(|_| 0.1 * normal(&mut rng)).collect::<Vec<f64>>(), &LOOKS);
            let cells: Vec<SequentialTest> = (0..4).map(|_| draw()).collect();
            let different =
                |it: &SequentialJudgement| matches!(it.judgement.verdict, Verdict::Faster | Verdict::Slower);
            wrong += u32::from(judged(&cells).iter().any(different));
        }
        assert!(
            wrong >= *likely_counts(all, 0.02).start() && wrong <= *likely_counts(all, 0.05).end(),
            "{wrong} of {all}"
        );
    }

    /// A standard normal draw (Box and Muller 1958).
    fn normal(rng: &mut seekwise_disk::rng::Rng) -> f64 {
        let mut uniform = || (rng.below(1 << 52) as f64 + 0.5) / (1u64 << 52) as f64;
        (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos()
    }
}
