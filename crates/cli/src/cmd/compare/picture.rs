//! The content of the picture of `seekwise compare`, which `seekwise::pictures` draws.

use seekwise::compare::{Metric, SettingWords, Verdict, drive_title, judgement_of};
use seekwise::pictures::{ComparisonPlot, Levels, Panel, SideFigure, SideLabel};

use super::{ComparisonText, printed_unit, to_printed_unit};

impl ComparisonText<'_> {
    /// A panel for each metric, and in it a bar for each side, or a curve over numbers.
    pub(super) fn to_plot(&self) -> ComparisonPlot {
        let words = SettingWords::new(self.key);
        let panel = |metric: &Metric| Panel {
            axis: format!("{} ({}); {} is better", metric.title(), printed_unit(metric), metric.better_direction()),
            sides: (0..self.values.len()).map(|cell| self.side_of_plot(cell, metric)).collect(),
        };
        ComparisonPlot {
            title: self.evidence.study.question.clone(),
            subtitle: self.subtitle(&words),
            sides: self.values.iter().map(|value| side_label(&words, value)).collect(),
            levels: self.levels(&words),
            panels: self.metrics().into_iter().map(panel).collect(),
            method: format!("{}; {}. Seekwise.", self.method_sentences().0, self.interval_words()),
        }
    }

    /// The setting that varies, and the drive's title if all sides have the same drive.
    fn subtitle(&self, words: &SettingWords) -> String {
        let varied =
            if words.is_drive() || words.is_job() { String::new() } else { format!("Varied: {}. ", words.meaning()) };
        let drive = self.evidence.made.find_setting(0, "drive").filter(|_| !words.is_drive());
        let drive =
            drive.and_then(|drive| drive_title(&drive.value)).map_or(String::new(), |title| format!("On {title}."));
        format!("{varied}{drive}").trim_end().to_owned()
    }

    /// The values as numbers, if all are different numbers, and enough for a curve.
    fn levels(&self, words: &SettingWords) -> Option<Levels> {
        let values: Vec<f64> = self.values.iter().map(|value| value.parse().ok()).collect::<Option<_>>()?;
        let are_numbers = values.iter().all(|value| value.is_finite());
        (values.len() >= Levels::FEWEST && are_numbers).then(|| Levels { axis: words.meaning(), values })
    }

    fn side_of_plot(&self, cell: usize, metric: &Metric) -> SideFigure {
        let figure = self.metric_mean(cell, metric);
        let (ratio, verdict) = self.ratio_and_verdict(cell, metric);
        let finding = self.findings.iter().find(|finding| finding.to == cell && self.metric(finding) == metric);
        let judged = finding.filter(|finding| finding.refused.is_none()).map(judgement_of);
        SideFigure {
            figure: to_printed_unit(metric, figure),
            amount: self.side_figure(metric, cell),
            verdict: if verdict.is_empty() { ratio } else { format!("{ratio}, {verdict}") },
            ratio: judged.map_or(String::new(), |judgement| format!("{:.2} ×", judgement.ratio.estimate)),
            differs: judged.is_some_and(|judgement| matches!(judgement.verdict, Verdict::Faster | Verdict::Slower)),
        }
    }
}

/// A built-in drive by its title, with its name below; other values by their plain words.
fn side_label(words: &SettingWords, value: &str) -> SideLabel {
    let title = if words.is_drive() { drive_title(value) } else { None };
    match title {
        // A note may follow the title.
        Some(title) => {
            SideLabel { name: title.split(", ").next().unwrap_or_default().to_owned(), detail: value.to_owned() }
        }
        None => SideLabel { name: words.side(value), detail: String::new() },
    }
}
