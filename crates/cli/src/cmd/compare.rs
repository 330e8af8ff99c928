//! `seekwise compare`: runs a job with two or more values of a key, or two jobs, and prints a verdict on each requested metric, with
//! its cause. Sides are simulated with the same random numbers, or measured in turn. Other forms of the command are in the
//! modules: two result folders (`baseline`), a measurement against a prediction (`against`), and an estimate of the time
//! (`dry_run`). Measured results are compared with models by `measured`.

mod against;
mod baseline;
mod csv;
mod dry_run;
mod markdown;
mod page;
mod picture;

use std::ffi::OsString;
use std::ops::Deref;

use seekwise::compare::{
    self, Comparison, DifferenceWords, Finding, Interval, Metric, Sampling, judgement_of, ratio_text,
};
use seekwise::pictures::draw_comparison;
use seekwise::study::StudyOptions;
use seekwise::{Bounds, Files, values};

use super::{measured, print_json, print_text};
use crate::args::{self, AnswerFormat};
use crate::exit::{CommandAnswer, CommandError, CommandResult};
use crate::output::print_to_stderr;
use crate::progress::ProgressObserver;
use crate::screen;
use crate::tables;

/// Runs the command.
pub fn run_command(
    args: &args::CompareArgs,
    files: &Files,
    bounds: &Bounds,
    words: &[OsString],
    json: bool,
) -> CommandResult {
    if seekwise::measured::are_results(files, &args.jobs)? {
        return measured::compare_results(args, files, json);
    }
    measured::reject_options_of_results(args)?;
    if args.on.targets.is_empty() {
        return baseline::compare_folders(args, files, json);
    }
    let setup = args.on.job_setup(files, &args.jobs[0]);
    if let Some(drive) = &args.against {
        return match args.jobs.len() {
            1 => against::compare_with_prediction(args, &setup, drive, bounds, json),
            _ => Err(CommandError::new("--against: predicts one job; expected one job")),
        };
    }
    let format = answer_format(args.format, json)?;
    let inputs: Vec<&str> = args.jobs.iter().chain(&args.on.targets).map(String::as_str).collect();
    args.pictures.check_paths(args.force, &inputs)?;
    args.page.check_path(args.force, &inputs)?;
    if args.force && args.out.is_none() && !args.pictures.are_requested() && !args.page.is_requested() {
        return Err(CommandError::new(
            "--force: there is nothing to overwrite; expected --out, --svg, --png or --page as well",
        ));
    }
    let VariedKey { key, values, list } = VariedKey::from_args(args)?;
    let mut comparison = Comparison::new(setup, key, values);
    (comparison.list, comparison.metrics, comparison.runs) = (Some(list), args.metric.clone(), args.runs);
    comparison.band = !args.no_band;
    comparison.sampling = args.sampling.requested_sampling().unwrap_or(Sampling::Fixed);
    if let Some(drive) = &args.dry_run {
        return dry_run::print_estimate(&comparison, drive, json);
    }
    let out = args.out.as_deref();
    let progress = out.map_or_else(ProgressObserver::new, |folder| {
        ProgressObserver::keeping_runs(folder, super::study::resume_command(folder))
    });
    let outcome = match out {
        Some(folder) => {
            let mut options = StudyOptions::into(folder);
            (options.force, options.bounds) = (args.force, *bounds);
            comparison.run_into(&options, &progress)?
        }
        None => comparison.run_within(*bounds, &progress)?,
    };
    drop(progress);
    let answer = ComparisonText(outcome.comparison()?);
    args.pictures.write(args.force, || draw_comparison(&answer.to_plot()))?;
    args.page.write(args.force, words, || answer.to_page())?;
    match format {
        AnswerFormat::Json => print_json(&answer.json())?,
        AnswerFormat::Csv => print_text(&answer.to_csv())?,
        AnswerFormat::Markdown => print_text(&answer.to_markdown(&comparison.command(None)))?,
        AnswerFormat::Text => {
            print_text(&screen::wrap_text(&answer.format_answer(), screen::output_width()))?;
            if let Some(folder) = out {
                super::study::page_lines(&outcome, folder).iter().for_each(print_to_stderr);
            }
            print_to_stderr(format!("Again: {}", comparison.command(out)));
        }
    }
    Ok(if answer.is_refused() { CommandAnswer::No } else { CommandAnswer::Done })
}

/// The key that differs between the sides; with several jobs, the key is the job.
struct VariedKey {
    key: String,
    values: Vec<String>,
    /// The values as the user wrote them.
    list: String,
}

impl VariedKey {
    fn from_args(args: &args::CompareArgs) -> Result<VariedKey, CommandError> {
        match (&args.vary, &args.jobs[..]) {
            (Some((key, list)), [_]) => {
                Ok(VariedKey { key: key.clone(), values: values::parse_values(key, list)?, list: list.clone() })
            }
            (Some((key, _)), jobs) => Err(CommandError::new(format!(
                "--vary {key}: {} jobs vary already; expected one job, or a study of both: `seekwise init study -o my-study.toml`",
                jobs.len()
            ))),
            (None, [_]) => Err(CommandError::new(
                "compare: nothing varies; expected --vary KEY=A,B (`seekwise keys` lists keys; drive=A,B compares two drives), a \
             second job, or --against DRIVE",
            )),
            (None, jobs) => match (1..jobs.len()).find(|index| jobs[..*index].contains(&jobs[*index])) {
                Some(repeated) => {
                    Err(CommandError::new(format!("{}: is named twice; expected different jobs", jobs[repeated])))
                }
                None => Ok(VariedKey { key: compare::JOB.to_owned(), values: jobs.to_vec(), list: jobs.join(",") }),
            },
        }
    }
}

/// The format that `--format` or `--json` selects.
fn answer_format(requested: Option<AnswerFormat>, json: bool) -> Result<AnswerFormat, CommandError> {
    match requested {
        Some(format) if json && format != AnswerFormat::Json => {
            Err(CommandError::new("--json and --format conflict; expected one of them"))
        }
        Some(format) => Ok(format),
        None if json => Ok(AnswerFormat::Json),
        None => Ok(AnswerFormat::Text),
    }
}

/// A comparison's answer, as text.
struct ComparisonText<'a>(compare::ComparisonAnswer<'a>);

impl<'a> Deref for ComparisonText<'a> {
    type Target = compare::ComparisonAnswer<'a>;

    fn deref(&self) -> &compare::ComparisonAnswer<'a> {
        &self.0
    }
}

impl ComparisonText<'_> {
    fn format_answer(&self) -> String {
        let mut text = String::new();
        let as_table = self.values.len() > 2 || self.metrics().len() > 1;
        for metric in self.metrics() {
            text.push_str(&format!(
                "Judged: {} ({metric}); {} is better.\n",
                metric.title(),
                metric.better_direction()
            ));
            match as_table {
                true => text.push_str(&format!("{}\n", self.value_table(metric))),
                false => self.side_lines(metric).iter().for_each(|line| text.push_str(&format!("{line}\n"))),
            }
            text.push('\n');
            for finding in self.findings.iter().filter(|finding| self.metric(finding) == metric) {
                text.push_str(&self.format_finding(finding));
            }
            text.push('\n');
        }
        self.unseen_sentences().iter().for_each(|unseen| text.push_str(&format!("{unseen}\n")));
        self.doubts().iter().for_each(|doubt| text.push_str(&format!("{doubt}\n")));
        let (method, account) = self.method_sentences();
        text.push_str(&format!("{method}; {}", self.interval_words()));
        if self.findings.len() > 1 {
            text.push_str(&format!("; verdicts corrected for {} comparisons (Holm)", self.findings.len()));
        }
        text.push('.');
        account.iter().for_each(|account| text.push_str(&format!("\n{account}")));
        let differing = self.findings.first().map_or(Vec::new(), |finding| self.changed_settings(finding));
        if differing.len() > 1 || self.key == compare::JOB {
            let settings = if differing.is_empty() { "nothing".to_owned() } else { differing.join(", ") };
            text.push_str(&format!("\nThe sides differ in: {settings}"));
        }
        text
    }

    /// The settings in which the sides of a finding differ. If there are few, each has both values.
    fn changed_settings(&self, finding: &Finding) -> Vec<String> {
        /// More settings are given by name only, and so is a setting with a longer value.
        const MOST_WITH_VALUES: usize = 4;
        const MOST_VALUE_LETTERS: usize = 40;
        let keys = self.differing_settings(finding);
        if keys.len() > MOST_WITH_VALUES || self.values.len() > 2 {
            return keys;
        }
        let short_value = |cell: usize, key: &str| {
            let value = self.evidence.made.find_setting(cell, key).map_or("none", |setting| setting.value.as_str());
            Some(value.to_owned()).filter(|value| value.chars().count() <= MOST_VALUE_LETTERS)
        };
        let change = |key: String| match (short_value(finding.from, &key), short_value(finding.to, &key)) {
            (Some(from), Some(to)) => format!("{key} ({from} → {to})"),
            _ => key,
        };
        keys.into_iter().map(change).collect()
    }

    /// A side's figure without its unit.
    fn side_amount(&self, metric: &Metric, cell: usize) -> String {
        figure_with_interval(metric, self.metric_mean(cell, metric), self.evidence.cell_runs(cell).len())
    }

    /// A side's figure with its unit.
    fn side_figure(&self, metric: &Metric, cell: usize) -> String {
        format!("{} {}", self.side_amount(metric, cell), printed_unit(metric))
    }

    /// A line for each side; with the default metric, also the mean response.
    fn side_lines(&self, metric: &Metric) -> Vec<String> {
        let width = (0..self.values.len()).map(|cell| self.side_name(cell).chars().count()).max().unwrap_or(0);
        let line = |cell: usize| {
            let mean_ms = self.evidence.cell_mean(cell, |run| run.all.mean_ms()).estimate;
            let response =
                if *metric == Metric::default() { format!("   mean {mean_ms:.3} ms") } else { String::new() };
            format!("{:<width$}  {}{response}", self.side_name(cell), self.side_figure(metric, cell))
        };
        (0..self.values.len()).map(line).collect()
    }

    /// A row for each value, with its ratio to the first value and the verdict.
    fn value_table(&self, metric: &Metric) -> tables::Table {
        let mut table = tables::new_table([self.key, printed_unit(metric), "against the first", "verdict"]);
        for (cell, value) in self.values.iter().enumerate() {
            let (ratio, verdict) = self.ratio_and_verdict(cell, metric);
            table.add_row([value.clone(), self.side_amount(metric, cell), ratio, verdict]);
        }
        table
    }

    /// The ratio of a side to the first side, and the verdict in words.
    fn ratio_and_verdict(&self, cell: usize, metric: &Metric) -> (String, String) {
        let is_about_side = |finding: &&Finding| finding.to == cell && self.metric(finding) == metric;
        match self.findings.iter().find(is_about_side) {
            None => ("the base".to_owned(), String::new()),
            Some(finding) if finding.refused.is_some() => ("–".to_owned(), "refused".to_owned()),
            Some(finding) => (
                ratio_text(judgement_of(finding)),
                DifferenceWords::for_metric(metric).verdict_words(judgement_of(finding).verdict),
            ),
        }
    }

    /// A finding in words: the verdict, its cause, secondary figures that got worse, and notes.
    fn format_finding(&self, finding: &Finding) -> String {
        let mut text = format!("{}\n", self.verdict_line(finding));
        if finding.refused.is_some() {
            return text;
        }
        if let Some(band) = self.band_words(finding) {
            text.push_str(&format!("  Band: {band}\n"));
        }
        if let Some(cause) = &finding.cause {
            let unasked = finding.unasked.as_ref().map_or(String::new(), |why| format!("; {why}"));
            text.push_str(&format!("  Why: {}{unasked}\n", cause.text()));
        }
        for beside in &finding.beside {
            text.push_str(&format!("  But: {}\n", beside.text()));
        }
        if !finding.at_once.is_empty() {
            text.push_str(&format!("  Note: {}\n", joint_change_note(&finding.at_once)));
        }
        if let Some(note) = self.degraded_note(finding) {
            text.push_str(&format!("  Note: {note}\n"));
        }
        if finding.thin {
            text.push_str("  Note: a run has fewer requests than this percentile needs (docs/statistics.md, Flags)\n");
        }
        text
    }
}

/// The note that the sides differ in several groups of settings, whose effects one comparison cannot separate.
fn joint_change_note(concerns: &[&str]) -> String {
    format!("they differ in {} at once; this comparison cannot tell what each does by itself", concerns.join(", "))
}

/// Formats a figure with half the width of its interval; a single run has none. Bytes become megabytes.
fn figure_with_interval(metric: &Metric, figure: Interval, runs: usize) -> String {
    let Interval { estimate, low, high } = to_printed_unit(metric, figure);
    let places = match metric.unit() {
        "bytes/s" => 2,
        "ms" => 3,
        _ => 1,
    };
    match runs {
        1 => format!("{estimate:.places$}"),
        _ => format!("{estimate:.places$} ± {:.places$}", (high - low) / 2.0),
    }
}

/// A figure in the unit in which it is printed.
fn to_printed_unit(metric: &Metric, Interval { estimate, low, high }: Interval) -> Interval {
    let scale = if metric.unit() == "bytes/s" { 1e6 } else { 1.0 };
    Interval { estimate: estimate / scale, low: low / scale, high: high / scale }
}

/// The unit as printed: bytes as megabytes.
fn printed_unit(metric: &Metric) -> &'static str {
    if metric.unit() == "bytes/s" { "MB/s" } else { metric.unit() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times are printed to the microsecond, rates of bytes to 10 kB/s.
    #[test]
    fn a_figure_has_as_many_places_as_its_unit_says() {
        for (word, scale, alone, several) in [
            ("iops", 1.0, "12.3", "12.3 ± 0.5"),
            ("bytes_per_s", 1e6, "12.35", "12.35 ± 0.50"),
            ("mean", 1.0, "12.346", "12.346 ± 0.500"),
            ("flush.p99", 1.0, "12.346", "12.346 ± 0.500"),
        ] {
            let metric: Metric = word.parse().unwrap();
            let figure = Interval { estimate: 12.345_678 * scale, low: 12.0 * scale, high: 13.0 * scale };
            let texts = [1, 3].map(|runs| figure_with_interval(&metric, figure, runs));
            assert_eq!(texts, [alone, several], "{word}");
        }
    }
}
