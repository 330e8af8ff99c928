//! The answer of `seekwise compare` as a page: the question, the verdict, the picture, then the figures and the cause of each difference.

use seekwise::compare::{DifferenceWords, SettingWords, judgement_of};
use seekwise::pictures::{ComparisonPlot, Page, draw_comparison};

use super::{ComparisonText, printed_unit};

/// The most sides in the first sentence.
const MOST_IN_ANSWER: usize = 4;

impl ComparisonText<'_> {
    /// The answer as a page.
    pub(super) fn to_page(&self) -> Page {
        let mut page = Page::new(&self.evidence.study.question, self.page_answer());
        // The page has the question above the picture, and the method at its end.
        let plot = ComparisonPlot { title: String::new(), method: String::new(), ..self.to_plot() };
        page.add_chart(&draw_comparison(&plot), "The figures of each side, with their 95 % intervals.");
        for metric in self.metrics() {
            let heading =
                format!("{} ({}): {} is better", metric.title(), printed_unit(metric), metric.better_direction());
            let (heads, rows) = self.value_table(metric).headings_and_rows();
            page.add_table(&heading, &heads, rows);
            for finding in self.findings.iter().filter(|finding| self.metric(finding) == metric) {
                let lines: Vec<String> =
                    self.format_finding(finding).lines().map(|line| line.trim().to_owned()).collect();
                page.add_paragraph(&lines.join("\n"));
            }
        }
        for sentence in self.unseen_sentences().into_iter().chain(self.doubts()) {
            page.add_paragraph(&sentence);
        }
        let (method, account) = self.method_sentences();
        let correction = match self.findings.len() {
            1 => String::new(),
            count => format!(" Verdicts are corrected for {count} comparisons (Holm)."),
        };
        page.add_paragraph(&format!("{method}; {}.{correction}", self.interval_words()));
        account.iter().for_each(|account| page.add_paragraph(account));
        page
    }

    /// The answer by the first metric: of two sides the verdict, of more their order.
    fn page_answer(&self) -> String {
        let (words, metric) = (SettingWords::new(self.key), self.metrics()[0]);
        if let [base, other] = &self.values[..] {
            let with = if words.is_drive() || words.is_job() { "" } else { "With " };
            return self.pair_answer(&words.side(base), &format!("{with}{}", words.side(other)));
        }
        let mut cells: Vec<usize> = (0..self.values.len()).collect();
        let mean = |cell: usize| self.metric_mean(cell, metric).estimate;
        cells.sort_by(|&a, &b| mean(a).total_cmp(&mean(b)));
        if metric.better_direction() == "higher" {
            cells.reverse();
        }
        let side = |&cell: &usize| format!("{} ({})", words.side(&self.values[cell]), self.side_amount(metric, cell));
        let shown: Vec<String> = cells.iter().take(MOST_IN_ANSWER).map(side).collect();
        let more = match cells.len().saturating_sub(MOST_IN_ANSWER) {
            0 => String::new(),
            more => format!("; {more} more follow"),
        };
        format!("By {}, from the best on: {}{more}; in {}.", metric.title(), shown.join(", "), printed_unit(metric))
    }

    /// The verdict on two sides.
    fn pair_answer(&self, base: &str, other: &str) -> String {
        let Some(finding) = self.findings.first() else { return String::new() };
        match &finding.refused {
            Some(why) => format!("The comparison is refused: {why}."),
            None => {
                let (metric, judgement) = (self.metric(finding), judgement_of(finding));
                let said = DifferenceWords::for_metric(metric).verdict_and_ratio(judgement);
                format!("{other}, against {base}: {said}, by {}.", metric.title())
            }
        }
    }
}
