//! The answer of `seekwise compare` as Markdown for an issue or a paper: the verdicts, the figures with their intervals, the cause of
//! each difference, and the command that reproduces them.

use seekwise::answer::ProgramVersion;
use seekwise::compare::{Cause, DifferenceWords, Finding, Metric, PartChange, SecondaryFigure, judgement_of};

use super::{ComparisonText, printed_unit};

impl ComparisonText<'_> {
    /// The answer as Markdown; `command` reproduces it.
    pub(super) fn to_markdown(&self, command: &str) -> String {
        let mut text = String::new();
        for metric in self.metrics() {
            let findings = || self.findings.iter().filter(|finding| self.metric(finding) == metric);
            for finding in findings() {
                text += &format!("**{}**\n\n", escape_markdown(&self.verdict_line(finding)));
            }
            text += &format!("Judged: {} (`{metric}`); {} is better.\n\n", metric.title(), metric.better_direction());
            text += &self.side_rows(metric);
            for finding in findings().filter(|finding| finding.refused.is_none()) {
                text += &self.cause_and_notes(finding);
            }
        }
        for doubt in self.unseen_sentences().into_iter().chain(self.doubts()) {
            text += &format!("{}\n\n", escape_markdown(&doubt));
        }
        let (method, account) = self.method_sentences();
        let correction = match self.findings.len() {
            1 => String::new(),
            count => format!(" Verdicts are corrected for {count} comparisons (Holm)."),
        };
        text += &format!("{method}; {}.{correction} {}.\n\n", self.interval_words(), ProgramVersion::current());
        account.iter().for_each(|account| text += &format!("{}\n\n", escape_markdown(account)));
        // A command has no line breaks, so it cannot close a fence of three backticks.
        text + &format!("```sh\n{command}\n```")
    }

    /// The verdict in a line.
    pub(super) fn verdict_line(&self, finding: &Finding) -> String {
        let verdict = match &finding.refused {
            Some(why) => format!("refused: {why}"),
            None => {
                let (words, judgement) = (DifferenceWords::for_metric(self.metric(finding)), judgement_of(finding));
                format!("{} — {}", words.verdict_words(judgement.verdict), words.ratio_words(judgement))
            }
        };
        format!("{} against {}: {verdict}", self.side_name(finding.to), self.side_name(finding.from))
    }

    /// A row for each side.
    fn side_rows(&self, metric: &Metric) -> String {
        let head = [self.key, printed_unit(metric), "against the first", "verdict"].map(escape_markdown);
        let mut text = format!("| {} |\n|---|--:|--:|---|\n", head.join(" | "));
        for (cell, value) in self.values.iter().enumerate() {
            let (ratio, verdict) = self.ratio_and_verdict(cell, metric);
            let row = [value.clone(), self.side_amount(metric, cell), ratio, verdict];
            text += &format!("| {} |\n", row.each_ref().map(|word| escape_markdown(word)).join(" | "));
        }
        text + "\n"
    }

    /// The cause of a difference, secondary figures that got worse, and notes.
    fn cause_and_notes(&self, finding: &Finding) -> String {
        let sides = [finding.from, finding.to].map(|cell| escape_markdown(&self.side_name(cell)));
        let band =
            self.band_words(finding).map_or(String::new(), |band| format!("Band: {}.\n\n", escape_markdown(&band)));
        let mut text = band + &finding.cause.as_ref().map_or(String::new(), |cause| cause_table(cause, &sides));
        if let Some(unasked) = &finding.unasked {
            text += &format!("Nothing changed: {}.\n\n", escape_markdown(unasked));
        }
        for beside in &finding.beside {
            text += &format!("But: {}\n\n", escape_markdown(&SecondaryFigure::text(beside)));
        }
        if let Some(note) = self.degraded_note(finding) {
            text += &format!("Note: {}.\n\n", escape_markdown(&note));
        }
        if finding.thin {
            text += "A run has fewer requests than this percentile needs.\n\n";
        }
        text
    }
}

/// The least change with a row of its own, in ns; smaller ones would print as 0.000 ms and are added up as the rest.
const LEAST_SHOWN_NS: u64 = 500;

/// The cause of a difference, then the parts of the mean response time on both sides: parts of work first, then parts of waiting,
/// each with the largest change first.
fn cause_table(cause: &Cause, [from, to]: &[String; 2]) -> String {
    let ms = |ns: i64| format!("{:.3}", ns as f64 / 1e6);
    let (mut parts, rest): (Vec<&PartChange>, Vec<&PartChange>) =
        cause.parts.iter().partition(|change| change.difference_ns().unsigned_abs() >= LEAST_SHOWN_NS);
    parts.sort_by_key(|change| (change.waits, -change.difference_ns().abs()));
    let row = |name: &str, from: i64, to: i64| {
        format!("| {name} | {} | {} | {:+.3} |\n", ms(from), ms(to), (to - from) as f64 / 1e6)
    };
    let rows: String = parts.iter().map(|change| row(change.name(), change.from, change.to)).collect();
    let (from_rest, to_rest) = rest.iter().fold((0, 0), |(from, to), change| (from + change.from, to + change.to));
    let rest = if rest.is_empty() { String::new() } else { row("the rest", from_rest, to_rest) };
    format!(
        "Where the difference comes from: {}.\n\nThe mean response of {}, part by part, in ms:\n\n\
         | part | {from} | {to} | change |\n|---|--:|--:|--:|\n{rows}{rest}{}\n",
        escape_markdown(&cause.text()),
        escape_markdown(&cause.of),
        row("**mean response**", cause.from(), cause.to()),
    )
}

/// Escapes the characters that Markdown interprets.
fn escape_markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '|' | '*' | '_' | '`' | '<' | '>' | '[' | ']' | '\\' | '#') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use seekwise::Setup;
    use seekwise::compare::{HiddenWork, MetricScope};
    use seekwise::run::Part;

    use super::*;

    /// A cause of these parts.
    fn cause(parts: Vec<PartChange>) -> Cause {
        let setup = Setup::new("random-read", "barracuda-7200.7-ncq").with_runtime("100 ms");
        let run = seekwise::run::run(&setup, &()).unwrap().record;
        let cause = Cause::between_runs(&MetricScope::All, &[&run], &[&run], HiddenWork::default()).unwrap();
        Cause { parts, ..cause }
    }

    #[test]
    fn parts_that_hardly_change_are_added_up_as_the_rest() {
        let part = |part: Part, waits: bool, from: i64, to: i64| PartChange { part: Some(part), waits, from, to };
        // Half a microsecond has a row of its own; 250, 249 and 0 ns become 650, 600 and 249: in all 499 become 1,499.
        let parts = vec![
            part(Part::Queue, true, 0, 2_000_300),
            part(Part::Overhead, false, 250, 650),
            part(Part::Seek, false, 0, 500),
            part(Part::Settle, false, 249, 600),
            part(Part::Rotation, false, 4_000_000, 2_500_000),
            part(Part::Link, false, 0, 249),
        ];
        let table = cause_table(&cause(parts), &["a".to_owned(), "b".to_owned()]);
        let rows: Vec<&str> = table.lines().filter(|line| line.starts_with('|')).collect();
        let wanted = [
            "| part | a | b | change |",
            "|---|--:|--:|--:|",
            "| rotation | 4.000 | 2.500 | -1.500 |",
            "| seek | 0.000 | 0.001 | +0.001 |",
            "| queue | 0.000 | 2.000 | +2.000 |",
            "| the rest | 0.000 | 0.001 | +0.001 |",
            "| **mean response** | 4.000 | 4.502 | +0.502 |",
        ];
        assert_eq!(rows, wanted);
    }

    #[test]
    fn special_characters_in_names_are_escaped() {
        assert_eq!(escape_markdown("a|b <img> *x* [y](z)"), r"a\|b \<img\> \*x\* \[y\](z)");
    }
}
