//! The content of a comparison's picture.

use seekwise_lab::plot::comparison::{ComparisonPlot, Panel, PlotSide};

use super::{Compared, scaled, unit};

impl Compared<'_> {
    /// A panel for each metric, a bar for each side.
    pub(super) fn picture(&self) -> ComparisonPlot {
        let panel = |metric| {
            let side = |cell: usize| {
                let figure = self.mean_of(cell, metric);
                let (ratio, verdict) = self.against(cell, metric);
                let verdict = if verdict.is_empty() { ratio } else { format!("{ratio}, {verdict}") };
                let amount = self.figure(metric, cell);
                PlotSide { name: self.side(cell), figure: scaled(metric, figure), amount, verdict }
            };
            Panel {
                axis: format!("{} ({}); {} is better", metric.title(), unit(metric), metric.better()),
                sides: (0..self.values.len()).map(side).collect(),
            }
        };
        ComparisonPlot {
            title: self.evidence.study.question.clone(),
            panels: self.metrics().into_iter().map(panel).collect(),
            method: format!("{}; {}. Seekwise.", self.method().0, self.interval()),
        }
    }
}
