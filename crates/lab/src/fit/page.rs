//! A fit's findings as one self-contained HTML page: a summary in two lines, pictures, then tables.

mod pictures;

use std::fmt::Write;

use super::report::{FitReport, PointErrors, ReferenceErrors, TraceErrors};
use crate::page::{chart_html, escape_html, render_page, write_paragraph, write_section};
use crate::validate::{ResponseErrors, Validation, plot};

/// A number of points tried, and the least loss until then.
pub type PointsAndLoss = (u64, f64);

/// The page on the fit of the drive `title`. `progress` has a step for each fall of the least loss.
pub fn render_html(title: &str, report: &FitReport, data_description: &str, progress: &[PointsAndLoss]) -> String {
    let mut text = pictures::draw_job_errors(&report.points);
    if let (true, Some(trace)) = (text.is_empty(), report.traces.first()) {
        text.push_str(&trace_chart(title, trace));
    }
    write_paragraph(&mut text, &format!("{data_description}."));
    if let Some(sentence) = draws_sentence(report) {
        write_paragraph(&mut text, &sentence);
    }
    for warning in &report.warnings {
        let _ = writeln!(text, "<p><strong>{}</strong></p>", escape_html(warning));
    }
    text.push_str(&pictures::draw_intervals(&report.figures));
    text.push_str(&pictures::draw_search_progress(progress));
    let rows = report.figures.iter().map(|figure| {
        let interval = figure.interval.map_or(String::new(), |(low, high)| format!("{low} … {high}"));
        vec![figure.name.clone(), figure.before.clone(), figure.after.clone(), interval]
    });
    write_section(&mut text, "Figures that moved", &["figure", "was", "is", "between"], rows);
    for (index, trace) in report.traces.iter().enumerate() {
        write_trace_section(&mut text, trace);
        if index > 0 || !report.points.is_empty() {
            text.push_str(&trace_chart(title, trace));
        }
        write_remaining_errors(&mut text, trace);
    }
    let rows = report.points.iter().map(|point| {
        let part = if point.held { "held back" } else { "seen" };
        let off = format!("{:+.1}", 100.0 * (point.after / point.measured - 1.0));
        let figures = [point.measured, point.before, point.after].map(|value| format!("{value:.3}"));
        [vec![point.what.clone(), point.figure.clone(), part.to_owned()], figures.to_vec(), vec![off]].concat()
    });
    write_section(&mut text, "Jobs", &["job", "figure", "part", "measured", "before", "after", "off %"], rows);
    let rows = report.left.iter().map(|left| vec![left.name.clone(), left.value.clone(), left.why.words().to_owned()]);
    write_section(&mut text, "Figures that stayed", &["figure", "is", "why"], rows);
    let rows = report.trades.iter().map(|(a, b)| vec![a.clone(), b.clone()]);
    write_section(&mut text, "Figures that the data determine only together", &["figure", "and"], rows);
    render_page(&format!("Does {title}, fitted, behave as measured?"), &headline_text(report), &text)
}

/// What a profile fitted to jobs carries, and how its held-back jobs stand; `None` for other fits.
pub fn draws_sentence(report: &FitReport) -> Option<String> {
    let held = report.points.iter().any(|point| point.held);
    let judged = if held {
        " Jobs held back stand as they were predicted before the fit saw them; then it saw them too."
    } else {
        ""
    };
    (report.draws > 0).then(|| {
        format!(
            "The profile carries {} drives that meet the data as well as the fitted one, so that `seekwise run` and `compare` print a band.{judged}",
            report.draws
        )
    })
}

/// Number of figures that a headline names.
const NAMED: usize = 3;

/// The summary: figures that moved, and the errors on the held-back data before and after.
pub fn headline_text(report: &FitReport) -> String {
    let names: Vec<&str> = report.figures.iter().take(NAMED).map(|figure| figure.name.as_str()).collect();
    let more = report.figures.len().saturating_sub(NAMED);
    let moved = match (report.figures.len(), more) {
        (0, _) => "Nothing moved: what was measured is met no better by any change that the data bear out.".to_owned(),
        (1, _) => format!("One figure moved: {}.", names[0]),
        (n, 0) => format!("{n} figures moved: {}.", names.join(", ")),
        (n, _) => format!("{n} figures moved, {} and {more} more.", names.join(", ")),
    };
    let percent_off = |value: fn(&PointErrors) -> f64| {
        let held = report.points.iter().filter(|point| point.held);
        median(held.map(|point| 100.0 * (value(point) / point.measured - 1.0).abs()).collect())
    };
    let mut held: Vec<String> = Vec::new();
    if let (Some(before), Some(after)) = (percent_off(|point| point.before), percent_off(|point| point.after)) {
        let n = report.points.iter().filter(|point| point.held).count();
        held.push(format!(
            "half of {n} figures of jobs are off by more than {before:.1} % before and {after:.1} % after"
        ));
    }
    for trace in &report.traces {
        if let Some([before, after]) = &trace.held {
            let [before, after] = [before, after].map(|it| it.all.demerit_percent);
            held.push(format!(
                "the times of {} are off by {before:.1} % of their mean before and {after:.1} % after",
                trace.file
            ));
        }
    }
    match held.is_empty() {
        true => format!("{moved} Nothing was held back: how good it is on other data is not known."),
        false => format!("{moved} On what was held back, {}.", held.join("; ")),
    }
}

/// The measured and the simulated times of a trace.
fn trace_chart(title: &str, trace: &TraceErrors) -> String {
    let caption = format!("Response times of {}: as measured, and on the fitted drive.", trace.file);
    chart_html(&plot::draw_svg(title, &trace.samples), &caption)
}

fn write_trace_section(html: &mut String, trace: &TraceErrors) {
    let parts = [("seen", &trace.seen), ("held back", &trace.held)];
    let rows = parts.iter().filter_map(|(name, errors)| Some((name, errors.as_ref()?))).flat_map(|(name, errors)| {
        errors_by_kind(&errors[0])
            .into_iter()
            .zip(errors_by_kind(&errors[1]))
            .filter(|((_, before), _)| before.n > 0)
            .map(move |((kind, before), (_, after))| {
                let ms = [
                    before.mean_measured_ms,
                    before.mean_simulated_ms,
                    after.mean_simulated_ms,
                    before.demerit_ms,
                    after.demerit_ms,
                ];
                let ms = ms.map(|ms| format!("{ms:.3}"));
                [vec![format!("{kind}, {name}"), before.n.to_string()], ms.to_vec()].concat()
            })
    });
    let heads = ["", "requests", "measured mean ms", "before", "after", "demerit before ms", "after"];
    write_section(html, &trace.file, &heads, rows);
    if let Some(other) = &trace.beside {
        write_reference_table(html, trace, other);
    }
}

/// Adds a table of the kinds of requests that remain off most.
fn write_remaining_errors(html: &mut String, trace: &TraceErrors) {
    let rows = trace.remains.iter().map(|row| {
        let ms = [row.measured_ms, row.simulated_ms, row.demerit_ms].map(|ms| format!("{ms:.3}"));
        [vec![row.which.clone(), row.n.to_string()], ms.to_vec()].concat()
    });
    write_section(html, "Errors that remain", &["", "requests", "measured mean ms", "simulated", "demerit ms"], rows);
}

/// Adds a table of another simulator's errors and of those after the fit.
fn write_reference_table(html: &mut String, trace: &TraceErrors, other: &ReferenceErrors) {
    let after = |errors: &Option<[Validation; 2]>| errors.map(|errors| errors[1]);
    let parts = [
        ("seen", other.seen, after(&trace.seen)),
        ("held back", other.held, after(&trace.held)),
        ("whole", Some(other.whole), Some(trace.whole)),
    ];
    let parts = parts
        .into_iter()
        .filter_map(|(part, other, ours)| Some((part, errors_by_kind(&other?), errors_by_kind(&ours?))));
    let rows = parts.flat_map(|(part, other, ours)| {
        other.into_iter().zip(ours).filter(|(_, (_, ours))| ours.n > 0).map(move |((kind, other), (_, ours))| {
            let figures = [other.mean_simulated_ms, other.demerit_ms].map(|ms| format!("{ms:.3}"));
            let percents = [other.demerit_percent, ours.demerit_percent].map(|share| format!("{share:.2}"));
            [vec![format!("{kind}, {part}")], figures.to_vec(), percents.to_vec()].concat()
        })
    });
    let heading = format!("Beside {}", other.name);
    write_section(html, &heading, &["", "its mean ms", "its demerit ms", "its demerit %", "after the fit %"], rows);
}

fn errors_by_kind(validation: &Validation) -> [(&'static str, ResponseErrors); 3] {
    [("all", validation.all), ("reads", validation.reads), ("writes", validation.writes)]
}

/// The middle of some values; `None` without any.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
