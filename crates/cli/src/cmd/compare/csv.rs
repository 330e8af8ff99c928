//! The answer of `seekwise compare` as CSV: a line for each comparison, with the figures of both sides. docs/output.md lists the columns.

use seekwise::answer::SCHEMA;
use seekwise::compare::{Finding, Interval, judgement_of};

use super::ComparisonText;
use crate::output::csv_cell;

/// The columns in their order.
const COLUMNS: &str = "job,target,key,from,to,metric,unit,better,from_value,from_low,from_high,to_value,to_low,to_high,ratio,ratio_low,\
                       ratio_high,verdict,p,p_adjusted,band_low,band_high,runs,seed,schema";

impl ComparisonText<'_> {
    /// The answer as CSV.
    pub(super) fn to_csv(&self) -> String {
        let rows: String = self.findings.iter().map(|finding| self.csv_row(finding)).collect();
        format!("{COLUMNS}\n{rows}")
    }

    fn csv_row(&self, finding: &Finding) -> String {
        let metric = self.metric(finding);
        let runs = self.evidence.cell_runs(finding.to);
        let (job, target) = runs.first().map_or(("", ""), |run| (run.job.as_str(), run.target.as_str()));
        let words = [job, target, self.key, &self.values[finding.from], &self.values[finding.to]].map(csv_cell);
        let metric_words = [&*metric.to_string(), metric.unit(), metric.better_direction()].map(csv_cell);
        let sides = [finding.from, finding.to].map(|cell| interval_cells(self.metric_mean(cell, metric)));
        let judgement = judgement_of(finding);
        // A refused comparison has figures, and no ratio of them.
        let judged = match finding.refused {
            Some(_) => ",,,refused,,".to_owned(),
            None => format!(
                "{},{},{},{}",
                interval_cells(judgement.ratio),
                csv_cell(&judgement.verdict.to_string()),
                number_cell(judgement.p),
                number_cell(judgement.p_holm)
            ),
        };
        let band = self.band.and_then(|band| band.of_finding(finding));
        let band = band.map_or(",".to_owned(), |band| format!("{},{}", band.low, band.high));
        let (counted, seed) = (runs.len(), self.evidence.study.seed);
        format!(
            "{},{},{},{judged},{band},{counted},{seed},{SCHEMA}\n",
            words.join(","),
            metric_words.join(","),
            sides.join(",")
        )
    }
}

/// An estimate and the ends of its interval.
fn interval_cells(Interval { estimate, low, high }: Interval) -> String {
    [estimate, low, high].map(number_cell).join(",")
}

/// A number; an empty cell where it is unknown, as for the interval of a single run.
fn number_cell(value: impl Into<Option<f64>>) -> String {
    value.into().filter(|value| value.is_finite()).map_or(String::new(), |value| value.to_string())
}
