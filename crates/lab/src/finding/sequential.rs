//! Verdicts of studies that are sampled until they are decided, and which pairs are open. All is a function of the records
//! so far. The statistics are those of `stats/sequential`.

use seekwise_drives::metric::Metric;

use super::equal_cells::ComparisonTest;
use super::{Evidence, Finding, judge_families, metric};
use crate::run::RunRecord;
use crate::sampling_plan::SamplingPlan;
use crate::stats::{Judgement, SequentialTest, judge_sequentially, sequential};

/// Pairs up to which cells with verdicts of their own run on for the ratio over all of them: the third look. A ratio near a bound would
/// otherwise keep all cells running (inferred).
const MOST_FOR_ALL: u32 = 8;

/// A test without a verdict that another look may decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenPair {
    /// The cells that must run for it.
    pub cells: Vec<usize>,
    /// Number of runs of each that the next look needs.
    pub next: u32,
}

/// A test of one finding, or of a comparison over all its cells, as its runs are added.
struct OngoingTest {
    test: ComparisonTest,
    sequential: SequentialTest,
    /// The cells of all findings that share the test.
    cells: Vec<usize>,
    /// False if runs give no ratio, or if the result is refused: further runs would be useless.
    is_goal: bool,
}

impl<'a> Evidence<'a> {
    /// The runs of a cell's first look: what may not change as runs are added is decided from these. All runs of a fixed
    /// sample.
    pub(super) fn first_look_runs(&self, cell: usize) -> &[&'a RunRecord] {
        let runs = self.cell_runs(cell);
        let first = self.made.sampling.as_ref().map_or(runs.len(), |plan| plan.first_look(cell) as usize);
        &runs[..first.min(runs.len())]
    }

    /// The cells of both sides of every comparison, and its metric.
    pub(crate) fn compared_cells(&self) -> Vec<(usize, usize, &'a Metric)> {
        let compares = self.study.compare.iter().enumerate();
        let findings = compares.flat_map(|(index, compare)| self.unjudged_findings(index, compare));
        findings.map(|it| (it.from, it.to, self.judged_metric(it.compare))).collect()
    }

    /// The tests that have no verdict yet and have a look left.
    pub(crate) fn open_pairs(&self, plan: &SamplingPlan) -> Vec<OpenPair> {
        let compares = self.study.compare.iter().enumerate();
        let findings: Vec<Finding> =
            compares.flat_map(|(index, compare)| self.unjudged_findings(index, compare)).collect();
        let (asked, _) = self.collect_tests(plan, &findings);
        let decided =
            self.judge_by_family(&asked, |tests| sequential::which_are_decided(tests, &self.judging_criteria()));
        let open = asked.iter().zip(decided).filter(|(asked, decided)| asked.is_goal && !decided);
        open.filter_map(|(asked, _)| {
            let pairs = asked.sequential.logs.len();
            let next = asked.sequential.looks.iter().copied().find(|&look| look as usize > pairs)?;
            Some(OpenPair { cells: asked.cells.clone(), next })
        })
        .collect()
    }

    /// Judges each finding, then each comparison over all its cells; with the pairs of the deciding look.
    pub(super) fn judge_until(
        &self,
        plan: &SamplingPlan,
        findings: &[Finding],
    ) -> Vec<(Option<Judgement>, Option<usize>)> {
        let (asked, places) = self.collect_tests(plan, findings);
        let judged = self.judge_by_family(&asked, |tests| judge_sequentially(tests, &self.judging_criteria()));
        let answer = |place: Option<usize>| match place.and_then(|place| judged[place]) {
            Some(it) => (Some(it.judgement), Some(it.pairs as usize)),
            None => (None, None),
        };
        places.into_iter().map(answer).collect()
    }

    /// Judges the tests that chance decides, and the others apart; in the order given.
    fn judge_by_family<J>(&self, asked: &[OngoingTest], judge: impl Fn(&[SequentialTest]) -> Vec<J>) -> Vec<J> {
        let tests: Vec<&ComparisonTest> = asked.iter().map(|asked| &asked.test).collect();
        let each: Vec<SequentialTest> = asked.iter().map(|asked| asked.sequential.clone()).collect();
        judge_families(&tests, &each, judge)
    }

    /// The tests, each once, and the index of the test of each finding and then of each comparison.
    fn collect_tests(&self, plan: &SamplingPlan, findings: &[Finding]) -> (Vec<OngoingTest>, Vec<Option<usize>>) {
        let each = findings.iter().map(|finding| vec![finding]);
        let overall = (0..self.study.compare.len())
            .map(|index| findings.iter().filter(|finding| finding.compare == index).collect::<Vec<_>>());
        let mut asked: Vec<OngoingTest> = Vec::new();
        let places = each.chain(overall).map(|of| {
            let new = self.build_test(plan, &of, self.comparison_test(&of)?);
            let Some(known) = asked.iter().position(|known| known.test == new.test) else {
                asked.push(new);
                return Some(asked.len() - 1);
            };
            // Cells that are the same run get further runs together.
            asked[known].cells.extend(new.cells);
            asked[known].is_goal |= new.is_goal;
            Some(known)
        });
        let places = places.collect();
        (asked, places)
    }

    fn build_test(&self, plan: &SamplingPlan, of: &[&Finding], test: ComparisonTest) -> OngoingTest {
        let pairs = of.iter().map(|finding| self.cell_runs(finding.from).len().min(self.cell_runs(finding.to).len()));
        let pairs = pairs.min().unwrap_or(0);
        let logs: Vec<f64> = (0..pairs).map_while(|run| self.mean_log_ratio(of, &test.metric, run)).collect();
        let looks = match of {
            [one] => plan.looks_of_cell(one.from).to_vec(),
            many => plan.looks_of_all(many.iter().flat_map(|it| [it.from, it.to]), MOST_FOR_ALL),
        };
        let is_goal = logs.len() == pairs && of.iter().all(|finding| finding.refused.is_none());
        let sequential = SequentialTest { logs, looks, better: metric::better_direction(&test.metric) };
        let cells = of.iter().flat_map(|finding| [finding.from, finding.to]).collect();
        OngoingTest { test, sequential, cells, is_goal }
    }

    /// The mean over findings of ln(to / from) in one run; `None` if a side has no such value.
    fn mean_log_ratio(&self, of: &[&Finding], metric: &Metric, run: usize) -> Option<f64> {
        let value = |cell: usize| {
            let value = metric::value_in_run(metric, self.cell_runs(cell).get(run)?)?;
            (value.is_finite() && value > 0.0).then_some(value)
        };
        let logs = of.iter().map(|finding| Some((value(finding.to)? / value(finding.from)?).ln()));
        Some(logs.sum::<Option<f64>>()? / of.len() as f64)
    }
}

#[cfg(test)]
mod tests;
