//! The content of the picture of `seekwise compare`, which `seekwise::pictures` draws.

use seekwise::pictures::{ComparisonPlot, Panel, PlotSide};

use super::{ComparisonText, printed_unit, to_printed_unit};

impl ComparisonText<'_> {
    /// A panel for each metric, a bar for each side.
    pub(super) fn to_plot(&self) -> ComparisonPlot {
        let panel = |metric| {
            let side = |cell: usize| {
                let figure = self.metric_mean(cell, metric);
                let (ratio, verdict) = self.ratio_and_verdict(cell, metric);
                let verdict = if verdict.is_empty() { ratio } else { format!("{ratio}, {verdict}") };
                let amount = self.side_figure(metric, cell);
                PlotSide { name: self.side_name(cell), figure: to_printed_unit(metric, figure), amount, verdict }
            };
            Panel {
                axis: format!("{} ({}); {} is better", metric.title(), printed_unit(metric), metric.better_direction()),
                sides: (0..self.values.len()).map(side).collect(),
            }
        };
        ComparisonPlot {
            title: self.evidence.study.question.clone(),
            panels: self.metrics().into_iter().map(panel).collect(),
            method: format!("{}; {}. Seekwise.", self.method_sentences().0, self.interval_words()),
        }
    }
}
