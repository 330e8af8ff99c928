//! The report of a fit as text: the fitted figures, the errors before and after, the strongest keys, and the figures that stay as they were.

use std::path::Path;

use seekwise::fit::{
    FitReport, PointErrors, ReferenceErrors, RejectionReason, ResponseErrors, TraceErrors, Validation,
};

use crate::screen::{self, wrap_text};
use crate::tables::{mark_figures_from, new_table};

/// The report as tables and sentences; `out` is the written profile.
pub fn format_report(out: &Path, report: &FitReport) -> String {
    let ended_early = if report.ending.is_some() { ": the best until the fit ended early" } else { "" };
    let mut text = format!("{} with what was measured is now {}{ended_early}\n\n", report.drive, out.display());
    text.push_str(&wrap_to_screen(&seekwise::fit::headline_text(report)));
    text.push_str("\n\n");
    if !report.figures.is_empty() {
        text.push_str(&format!("{}\n", fitted_table(report)));
    }
    for trace in &report.traces {
        text.push_str(&format!("{}\n", errors_table(trace)));
        if let Some(reference) = &trace.beside {
            text.push_str(&format!("{}\n", reference_table(trace, reference)));
        }
    }
    if !report.points.is_empty() {
        text.push_str(&format!("{}\n", points_table(&report.points)));
    }
    if let Some(sentence) = seekwise::fit::draws_sentence(report) {
        text.push_str(&format!("{}\n\n", wrap_to_screen(&sentence)));
    }
    if report.keys.iter().any(|key| key.searched) {
        text.push_str(&format!("{}\n", strongest_keys_table(report)));
    }
    for trace in &report.traces {
        text.push_str(&format!("{}\n", remaining_errors_table(trace)));
    }
    text + &unchanged_figures_text(report)
}

fn fitted_table(report: &FitReport) -> String {
    let mut rows = new_table(["fitted", "was", "is", "between", "it was"]);
    for figure in &report.figures {
        let interval = figure.interval.map_or(String::new(), |(low, high)| format!("{low} … {high}"));
        // The data hardly determine the figure.
        let uncertain = if figure.wide { " (hardly told)" } else { "" };
        let end = figure.end.map_or(String::new(), |end| format!(" (the {end})"));
        rows.add_row([
            &figure.name,
            &figure.before,
            &format!("{}{end}", figure.after),
            &format!("{interval}{uncertain}"),
            figure.marked.word(),
        ]);
    }
    rows.to_string()
}

fn errors_table(trace: &TraceErrors) -> String {
    let mut rows = new_table([
        "part",
        "",
        "requests",
        "measured mean ms",
        "mean before ms",
        "mean after ms",
        "demerit before ms",
        "demerit after ms",
        "demerit after %",
    ]);
    mark_figures_from(&mut rows, 2);
    for (part, errors) in [("seen", &trace.seen), ("held back", &trace.held)] {
        let Some([before, after]) = errors else { continue };
        for (kind, errors_of) in KINDS {
            let (before, after) = (errors_of(before), errors_of(after));
            if before.n > 0 {
                rows.add_row([
                    part.to_owned(),
                    kind.to_owned(),
                    before.n.to_string(),
                    format!("{:.3}", before.mean_measured_ms),
                    format!("{:.3}", before.mean_simulated_ms),
                    format!("{:.3}", after.mean_simulated_ms),
                    format!("{:.3}", before.demerit_ms),
                    format!("{:.3}", after.demerit_ms),
                    format!("{:.2}", after.demerit_percent),
                ]);
            }
        }
    }
    format!("{}\n{rows}", trace.file)
}

/// The errors of another simulator on the same trace, beside those after the fit.
fn reference_table(trace: &TraceErrors, reference: &ReferenceErrors) -> String {
    let name = &reference.name;
    let heads = [format!("mean {name} ms"), format!("demerit {name} ms"), format!("demerit {name} %")];
    let mut rows = new_table(["part", "", &heads[0], &heads[1], &heads[2], "demerit after %"]);
    mark_figures_from(&mut rows, 2);
    let after_fit = |errors: &Option<[Validation; 2]>| errors.map(|[_, after]| after);
    let parts = [
        ("seen", reference.seen, after_fit(&trace.seen)),
        ("held back", reference.held, after_fit(&trace.held)),
        ("whole", Some(reference.whole), Some(trace.whole)),
    ];
    for (part, theirs, ours) in parts.into_iter().filter_map(|(part, theirs, ours)| Some((part, theirs?, ours?))) {
        for (kind, errors_of) in KINDS.into_iter().filter(|(_, errors_of)| errors_of(&ours).n > 0) {
            let (theirs, ours) = (errors_of(&theirs), errors_of(&ours));
            rows.add_row([
                part.to_owned(),
                kind.to_owned(),
                format!("{:.3}", theirs.mean_simulated_ms),
                format!("{:.3}", theirs.demerit_ms),
                format!("{:.2}", theirs.demerit_percent),
                format!("{:.2}", ours.demerit_percent),
            ]);
        }
    }
    rows.to_string()
}

/// Selects the errors of all requests, of reads or of writes.
type SelectErrors = fn(&Validation) -> &ResponseErrors;

const KINDS: [(&str, SelectErrors); 3] =
    [("all", |errors| &errors.all), ("reads", |errors| &errors.reads), ("writes", |errors| &errors.writes)];

fn points_table(points: &[PointErrors]) -> String {
    let mut rows = new_table(["job", "figure", "part", "measured", "before", "after", "off before %", "off after %"]);
    mark_figures_from(&mut rows, 3);
    for point in points {
        let off_percent = |value: f64| format!("{:+.1}", 100.0 * (value / point.measured - 1.0));
        let part = if point.held { "held back" } else { "seen" };
        rows.add_row([
            point.what.clone(),
            point.figure.clone(),
            part.to_owned(),
            short_number(point.measured),
            short_number(point.before),
            short_number(point.after),
            off_percent(point.before),
            off_percent(point.after),
        ]);
    }
    rows.to_string()
}

/// The most rows of keys.
const MOST_KEYS: usize = 12;

/// The keys that change the simulated figures most, each with the figure that it changes most.
fn strongest_keys_table(report: &FitReport) -> String {
    let mut keys: Vec<_> = report.keys.iter().filter(|key| key.searched && key.figure.is_some()).collect();
    keys.sort_by(|a, b| b.percent.total_cmp(&a.percent));
    let mut rows = new_table(["key", "moves most, over its range", "by %"]);
    mark_figures_from(&mut rows, 2);
    for key in keys.into_iter().take(MOST_KEYS) {
        rows.add_row([&key.name, key.figure.as_deref().unwrap_or_default(), &format!("{:.1}", key.percent)]);
    }
    rows.to_string()
}

fn short_number(value: f64) -> String {
    if value >= 100.0 { format!("{value:.1}") } else { format!("{value:.3}") }
}

/// The most rows of remaining errors.
const MOST_REMAINING: usize = 8;

/// The kinds of requests with the largest errors after the fit, weighted by the number of requests.
fn remaining_errors_table(trace: &TraceErrors) -> String {
    let mut remaining: Vec<_> = trace.remains.iter().collect();
    remaining.sort_by(|a, b| (b.n as f64 * b.demerit_ms.powi(2)).total_cmp(&(a.n as f64 * a.demerit_ms.powi(2))));
    let mut rows = new_table(["what remains of it", "requests", "measured mean ms", "simulated mean ms", "demerit ms"]);
    mark_figures_from(&mut rows, 1);
    for row in remaining.into_iter().take(MOST_REMAINING) {
        rows.add_row([
            row.which.clone(),
            row.n.to_string(),
            format!("{:.3}", row.measured_ms),
            format!("{:.3}", row.simulated_ms),
            format!("{:.3}", row.demerit_ms),
        ]);
    }
    rows.to_string()
}

fn unchanged_figures_text(report: &FitReport) -> String {
    let mut text = String::new();
    for why in RejectionReason::ALL {
        let unchanged = report.left.iter().filter(|unchanged| unchanged.why == why);
        let names: Vec<&str> = unchanged.map(|unchanged| unchanged.name.as_str()).collect();
        if !names.is_empty() {
            text.push_str(&wrap_to_screen(&format!("{}: {}.", why.words(), names.join(", "))));
            text.push('\n');
        }
    }
    for (a, b) in &report.trades {
        text.push_str(&wrap_to_screen(&format!(
            "{a} and {b} trade off against each other: the data only determine them together."
        )));
        text.push('\n');
    }
    text
}

fn wrap_to_screen(text: &str) -> String {
    wrap_text(text, screen::output_width())
}
