//! Measured results against the model, as text.

use seekwise::measured::{FigureResidual, JobResidual, MeasuredComparison, MeasuredResults, PredictedSide, Suspicion};
use seekwise::reading::display_name;

use crate::exit::CommandError;
use crate::screen::{output_width, wrap_text};
use crate::tables::{Table, choose_columns, mark_figures, table_with_headings};

/// The columns and figures that the text shows.
pub struct MeasuredTextOptions<'a> {
    /// The columns that `--columns` selects, if the command has that option.
    pub columns: Option<&'a [String]>,
    /// Shows all percentiles.
    pub all: bool,
}

/// The mark of a figure that is off by more than chance explains.
const MARK: &str = "*";

/// Refuses unknown columns before anything is simulated.
pub fn check_columns(results: &MeasuredResults, options: &MeasuredTextOptions<'_>) -> Result<(), CommandError> {
    let names: Vec<&str> = results.sides.iter().map(|side| side.name.as_str()).collect();
    choose_shown_columns(&mut empty_table(&names), options)
}

fn choose_shown_columns(table: &mut Table, options: &MeasuredTextOptions<'_>) -> Result<(), CommandError> {
    options.columns.map_or(Ok(()), |columns| choose_columns(&mut [table], columns))
}

/// A table with the columns for one side, or for several.
fn empty_table(sides: &[&str]) -> Table {
    let mut headings = vec!["job".to_owned(), "figure".to_owned(), "measured".to_owned()];
    match sides {
        [_] => headings.extend(["predicted".to_owned(), "off %".to_owned(), "beyond chance".to_owned()]),
        _ => {
            headings.extend(sides.iter().flat_map(|side| [(*side).to_owned(), format!("{side} off %")]));
            headings.push("nearest".to_owned());
        }
    }
    let figures: Vec<String> = headings[2..headings.len() - 1].to_vec();
    let mut table = table_with_headings(headings);
    mark_figures(&mut table, &figures.iter().map(String::as_str).collect::<Vec<_>>());
    table
}

/// The tables, the summaries, the suspicions, and the command of the fit.
pub fn format_comparison(
    comparison: &MeasuredComparison,
    options: &MeasuredTextOptions<'_>,
) -> Result<String, CommandError> {
    let width = output_width();
    let mut table = figures_table(comparison, options.all);
    choose_shown_columns(&mut table, options)?;
    let mut text = format!("{}\n\n", table.draw(width));
    for line in summary_lines(comparison) {
        text += &format!("{}\n", wrap_text(&line, width));
    }
    let side = &comparison.sides[comparison.nearest_side().unwrap_or(0)];
    for line in suspicion_lines(side) {
        text += &format!("\n{}\n", wrap_text(&line, width));
    }
    // It is to be pasted, so it is not folded.
    Ok(text + &format!("\nTo fit {} to these results:\n{}", display_name(&side.drive), side.fit_command))
}

fn figures_table(comparison: &MeasuredComparison, all: bool) -> Table {
    let names: Vec<&str> = comparison.sides.iter().map(|side| side.name.as_str()).collect();
    let mut table = empty_table(&names);
    for (job_index, job) in comparison.sides[0].jobs.iter().enumerate() {
        let shown = job.figures.iter().enumerate().filter(|(_, figure)| all || figure.is_leading());
        for (row, (index, figure)) in shown.enumerate() {
            // The job stands in the first of its rows.
            let job_cell = if row == 0 { job_words(job, &comparison.sides[0].jobs) } else { String::new() };
            let mut cells = vec![job_cell, figure_words(figure), short_number(figure.measured)];
            let residuals = || comparison.sides.iter().map(|side| &side.jobs[job_index].figures[index]);
            for residual in residuals() {
                cells.extend([short_number(residual.predicted), off_words(residual.off_percent())]);
            }
            cells.push(match comparison.sides.len() {
                1 => residuals().find(|it| it.is_beyond_scatter()).map_or(String::new(), |_| MARK.to_owned()),
                _ => nearest_words(comparison, job_index, index),
            });
            table.add_row(cells);
        }
    }
    table
}

/// The nearest side of a figure; nothing if chance explains the difference of all.
fn nearest_words(comparison: &MeasuredComparison, job: usize, figure: usize) -> String {
    let nearest = comparison.nearest_side_of_figure(job, figure);
    nearest.map_or(String::new(), |side| comparison.sides[side].name.clone())
}

/// A job in words; with its file if another of `jobs` has the same words.
fn job_words(job: &JobResidual, jobs: &[JobResidual]) -> String {
    match jobs.iter().filter(|other| other.job == job.job).count() {
        1 => job.job.clone(),
        _ => format!("{} ({})", job.job, job.file),
    }
}

/// A figure's name with its unit.
fn figure_words(figure: &FigureResidual) -> String {
    let name = &figure.figure;
    match name.rsplit('.').next().unwrap_or(name) {
        "iops" => name.replace("iops", "requests/s"),
        "mib_s" => name.replace("mib_s", "MiB/s"),
        "mb_s" => name.replace("mb_s", "MB/s"),
        _ => format!("{name} ms"),
    }
}

/// A difference in percent with its sign; a zero has none.
fn off_words(percent: f64) -> String {
    let text = format!("{percent:+.1}");
    if ["+0.0", "-0.0"].contains(&text.as_str()) { "0.0".to_owned() } else { text }
}

fn short_number(value: f64) -> String {
    if value >= 100.0 { format!("{value:.1}") } else { format!("{value:.3}") }
}

fn summary_lines(comparison: &MeasuredComparison) -> Vec<String> {
    // Only the table of one side has marks.
    let mark = if comparison.sides.len() == 1 { &*format!(" ({MARK})") } else { "" };
    let mut lines: Vec<String> = comparison.sides.iter().map(|side| summary_line(side, mark)).collect();
    if comparison.sides.len() > 1 {
        lines.push(match comparison.nearest_side() {
            Some(side) => format!("Nearest over all: {}.", comparison.sides[side].name),
            None => "Nearest over all: none; at least two are equally near.".to_owned(),
        });
    }
    lines
}

fn summary_line(side: &PredictedSide, mark: &str) -> String {
    let summary = &side.summary;
    let worst = summary.worst.as_ref().filter(|worst| off_words(worst.off_percent) != "0.0");
    let worst = worst.map_or(String::new(), |worst| {
        format!(" Worst: {}, {} {} %.", worst.job, worst.figure, off_words(worst.off_percent))
    });
    let beyond = match summary.beyond_scatter {
        0 => "Chance explains all differences".to_owned(),
        count => format!("{count}{mark} are off by more than chance explains"),
    };
    format!(
        "{}: of {} figures {} are within 5 %, {} within 10 %, {} within 20 %; {:.1} % off on average.{worst} {beyond} (the scatter of runs, \
         and their numbers of requests).",
        side.name,
        summary.figures,
        summary.within_5_percent,
        summary.within_10_percent,
        summary.within_20_percent,
        summary.mean_distance_percent
    )
}

fn suspicion_lines(side: &PredictedSide) -> Vec<String> {
    let line = |suspicion: &Suspicion| {
        let keys = match &suspicion.keys[..] {
            [] => String::new(),
            keys => format!(" Keys: {}.", keys.join(", ")),
        };
        format!("Suspected: {}. {}{keys}", suspicion.part.words(), suspicion.why)
    };
    side.suspicions.iter().map(line).collect()
}
