//! The pictures of a fit's page, as SVG without a script: the error of each job, the position of each figure in its range, the progress of
//! the search. Background and text colour are the page's.

use std::fmt::Write;

use super::PointsAndLoss;
use crate::fit::report::{MovedParameter, PointErrors};
use crate::page::{RULE, WIDTH, draw_dot, draw_line, draw_text, figure_html};

/// The margin left of the plot.
const LEFT: f64 = 330.0;

/// The margin right of the plot, with room for a number.
const RIGHT: f64 = 70.0;

/// The height of a row.
const ROW: f64 = 22.0;

/// The margin above and below the rows.
const EDGE: f64 = 26.0;

const BEFORE: &str = "var(--side-6)";
const AFTER: &str = "var(--side-1)";

/// The most rows of jobs in the picture; the table below it has all.
const JOBS: usize = 40;

/// Shortens a name to fit left of the plot, some 44 characters.
fn shorten_name(name: &str) -> String {
    const MOST: usize = 44;
    match name.chars().count() > MOST {
        true => name.chars().take(MOST - 1).chain(['…']).collect(),
        false => name.to_owned(),
    }
}

/// The error of each figure of each job, before and after.
pub(crate) fn draw_job_errors(points: &[PointErrors]) -> String {
    let rows = &points[..points.len().min(JOBS)];
    if rows.is_empty() {
        return String::new();
    }
    let percent_off = |value: f64, measured: f64| 100.0 * (value / measured - 1.0);
    let all = rows.iter().flat_map(|row| [percent_off(row.before, row.measured), percent_off(row.after, row.measured)]);
    // Beyond twice the measured value everything is equally wrong.
    let largest_percent = crate::plot::next_round_number(all.map(f64::abs).fold(1.0, f64::max).min(100.0));
    let plot_width = WIDTH - LEFT - RIGHT;
    let x = |percent: f64| LEFT + plot_width * (0.5 + 0.5 * (percent / largest_percent).clamp(-1.0, 1.0));
    let bottom = EDGE + ROW * rows.len() as f64;
    let mut body = String::new();
    for share in [-1.0, -0.5, 0.0, 0.5, 1.0] {
        let at = x(share * largest_percent);
        draw_line(&mut body, (at, EDGE), (at, bottom), if share == 0.0 { "var(--soft)" } else { RULE }, 1.0);
        let words = if share == 0.0 { "as measured".to_owned() } else { format!("{:+} %", share * largest_percent) };
        draw_text(&mut body, (at, EDGE - 9.0), "middle", &words);
    }
    for (index, row) in rows.iter().enumerate() {
        let y = EDGE + ROW * (index as f64 + 0.5);
        let (before, after) = (percent_off(row.before, row.measured), percent_off(row.after, row.measured));
        let held = if row.held { " (held back)" } else { "" };
        draw_text(
            &mut body,
            (LEFT - 10.0, y + 4.0),
            "end",
            &shorten_name(&format!("{}: {}{held}", row.what, row.figure)),
        );
        draw_line(&mut body, (x(before), y), (x(after), y), BEFORE, 1.5);
        draw_dot(&mut body, (x(before), y), BEFORE, false);
        draw_dot(&mut body, (x(after), y), AFTER, true);
        draw_text(&mut body, (WIDTH - RIGHT + 12.0, y + 4.0), "start", &format!("{after:+.1} %"));
    }
    let more = match points.len() - rows.len() {
        0 => String::new(),
        more => format!(" {more} more stand in the table below."),
    };
    let caption = format!(
        "How far each simulated figure is off what was measured: before the fit (ring) and after it (dot). The profile \
         comes from those that are not held back.{more}"
    );
    figure_html(bottom + 8.0, &body, &caption)
}

/// The position of each moved number in its range, with its interval.
pub(crate) fn draw_intervals(figures: &[MovedParameter]) -> String {
    let rows: Vec<(&MovedParameter, [f64; 4])> = figures.iter().filter_map(|it| Some((it, it.positions?))).collect();
    if rows.is_empty() {
        return String::new();
    }
    let (right, bottom) = (RIGHT + 70.0, EDGE + ROW * rows.len() as f64);
    let x = |position: f64| LEFT + (WIDTH - LEFT - right) * position;
    let mut body = String::new();
    for (position, words, anchor) in [(0.0, "least", "start"), (1.0, "most that it may be", "end")] {
        draw_text(&mut body, (x(position), EDGE - 9.0), anchor, words);
    }
    for (index, (row, [before, after, low, high])) in rows.iter().enumerate() {
        let y = EDGE + ROW * (index as f64 + 0.5);
        draw_text(&mut body, (LEFT - 10.0, y + 4.0), "end", &shorten_name(&row.name));
        draw_line(&mut body, (x(0.0), y), (x(1.0), y), RULE, 8.0);
        draw_line(&mut body, (x(*low), y), (x(*high), y), "color-mix(in srgb,var(--side-1) 45%,var(--paper))", 8.0);
        draw_dot(&mut body, (x(*before), y), BEFORE, false);
        draw_dot(&mut body, (x(*after), y), AFTER, true);
        draw_text(&mut body, (x(1.0) + 12.0, y + 4.0), "start", &format!("{} → {}", row.before, row.after));
    }
    let caption = "Each number that moved, in the range in which it may move: what it was (ring), what it is (dot), and \
                   between which values the data leave it (bar). A bar over the whole range tells nothing.";
    figure_html(bottom + 8.0, &body, caption)
}

/// The least loss so far over the points tried.
pub(crate) fn draw_search_progress(progress: &[PointsAndLoss]) -> String {
    let (Some(first), Some(last)) = (progress.first(), progress.last()) else { return String::new() };
    if progress.len() < 3 || last.0 <= first.0 {
        return String::new();
    }
    const HEIGHT: f64 = 190.0;
    const MARGIN: f64 = 60.0;
    let top = crate::plot::next_round_number(first.1.max(1e-9));
    let x = |tried: u64| MARGIN + (WIDTH - 2.0 * MARGIN) * tried as f64 / last.0 as f64;
    let y = |loss: f64| EDGE + (HEIGHT - 2.0 * EDGE) * (1.0 - (loss / top).clamp(0.0, 1.0));
    let mut body = String::new();
    for share in [0.0, 0.5, 1.0] {
        draw_line(&mut body, (MARGIN, y(share * top)), (WIDTH - MARGIN, y(share * top)), RULE, 1.0);
        draw_text(&mut body, (MARGIN - 8.0, y(share * top) + 4.0), "end", &format!("{}", share * top));
    }
    let mut path = format!("M{:.1} {:.1}", x(first.0), y(first.1));
    for (tried, loss) in &progress[1..] {
        let _ = write!(path, "H{:.1}V{:.1}", x(*tried), y(*loss));
    }
    let _ = write!(body, "<path d=\"{path}\" fill=\"none\" stroke=\"{AFTER}\" stroke-width=\"2\"/>");
    draw_text(&mut body, (MARGIN, HEIGHT - 4.0), "start", "0 profiles tried");
    draw_text(&mut body, (WIDTH - MARGIN, HEIGHT - 4.0), "end", &format!("{}", last.0));
    draw_text(&mut body, (WIDTH - MARGIN + 8.0, y(last.1) + 4.0), "start", &format!("{:.3}", last.1));
    let caption =
        "The least error on what the search sees, over the profiles that it tried; 0 would be every figure met.";
    figure_html(HEIGHT, &body, caption)
}
