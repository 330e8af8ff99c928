//! Data at risk over time as a picture: maximum and mean of each stretch of time. The background is white on any page, so that one file
//! suits light and dark.

use plotters::prelude::*;

use super::CutReport;
use crate::plot;
use crate::plot::palette::{RULE, SIDES};

/// Width and height in pixels.
const SIZE: (u32, u32) = (820, 360);

/// The mean, and behind it, paler, the most.
const MEAN: RGBColor = SIDES[1];
const MOST_OPACITY: f64 = 0.35;

type Fallible = Result<(), Box<dyn std::error::Error>>;

/// The unit that keeps figures short: its name, and the bytes of one.
fn short_unit(report: &CutReport) -> (&'static str, f64) {
    match report.at_risk_summary.bytes_max {
        0..10_240 => ("bytes", 1.0),
        10_240..10_485_760 => ("KiB", 1024.0),
        _ => ("MiB", 1_048_576.0),
    }
}

/// The mean as a curve in `columns` by `rows` characters, preceded by its caption; `None` if nothing was ever at risk.
pub fn draw_terminal(report: &CutReport, columns: usize, rows: usize) -> Option<[String; 2]> {
    let (unit, unit_bytes) = short_unit(report);
    let points: Vec<(f64, f64)> =
        report.at_risk.iter().map(|point| (point.t_s, point.bytes_mean / unit_bytes)).collect();
    let (title, y) = ("Data at risk", format!("{unit} acknowledged and not on the medium (mean)"));
    let picture = plot::Picture { title, x: "time (s)", y: &y, points: &points };
    (report.at_risk_summary.bytes_max > 0).then(|| [picture.caption(), plot::draw_terminal(&picture, columns, rows)])
}

/// An SVG document titled `title`.
pub fn draw_svg(title: &str, report: &CutReport) -> String {
    let mut text = String::new();
    let drawn = draw_chart(title, report, SVGBackend::with_string(&mut text, SIZE));
    // Text output cannot fail; a curve that cannot be laid out is a bug of ours.
    drawn.expect("an SVG text takes every drawing");
    text
}

fn draw_chart(title: &str, report: &CutReport, backend: SVGBackend<'_>) -> Fallible {
    let (unit, unit_bytes) = short_unit(report);
    let right = report.at_risk.last().map_or(1.0, |point| point.t_s).max(f64::MIN_POSITIVE);
    let top = plot::next_round_number((report.at_risk_summary.bytes_max as f64 / unit_bytes).max(1.0) * 1.02);
    let root = backend.into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 16))
        .margin(10)
        .margin_right(24)
        .x_label_area_size(40)
        .y_label_area_size(62)
        .build_cartesian_2d(0.0..right, 0.0..top)?;
    chart
        .configure_mesh()
        .x_desc("time, s")
        .y_desc(format!("acknowledged, not on the medium, {unit}"))
        .x_labels(9)
        .y_labels(6)
        .x_label_formatter(&plot::format_tick)
        .y_label_formatter(&plot::format_tick)
        .label_style(("sans-serif", 13))
        .axis_desc_style(("sans-serif", 14))
        .light_line_style(TRANSPARENT)
        .bold_line_style(RULE)
        .draw()?;
    let most = report.at_risk.iter().map(|point| (point.t_s, point.bytes_max as f64 / unit_bytes));
    let mean = report.at_risk.iter().map(|point| (point.t_s, point.bytes_mean / unit_bytes));
    chart
        .draw_series(AreaSeries::new(most, 0.0, MEAN.mix(MOST_OPACITY)))?
        .label("most")
        .legend(|(x, y)| Rectangle::new([(x, y - 5), (x + 22, y + 5)], MEAN.mix(MOST_OPACITY).filled()));
    chart
        .draw_series(LineSeries::new(mean, MEAN.stroke_width(2)))?
        .label("mean")
        .legend(|(x, y)| PathElement::new(vec![(x, y), (x + 22, y)], MEAN.stroke_width(2)));
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE.mix(0.9))
        .border_style(RULE)
        .label_font(("sans-serif", 14))
        .draw()?;
    root.present()?;
    Ok(())
}
