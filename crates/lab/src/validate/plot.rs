//! The measured and the simulated distribution of response times as one picture, reads above writes.
//!
//! The background is white on any page, so that one file suits light and dark.

use plotters::coord::Shift;
use plotters::prelude::*;
use seekwise_disk::time::Span;

use super::{ResponseErrors, ResponseSamples, quantile};
use crate::plot::palette::{RULE, SIDES};

/// Width of the picture and height of each chart, in pixels.
const SIZE: (u32, u32) = (820, 330);

/// Points of a curve, at shares 0.25 % apart.
const POINTS: usize = 400;

const MEASURED: RGBColor = SIDES[6];
const SIMULATED: RGBColor = SIDES[1];

type Fallible = Result<(), Box<dyn std::error::Error>>;

/// An SVG document titled `title`: a chart for the reads and one for the writes, if there are any.
pub fn draw_svg(title: &str, samples: &ResponseSamples) -> String {
    let errors = samples.to_validation();
    let charts: Vec<DistributionChart> = [(true, "reads", errors.reads), (false, "writes", errors.writes)]
        .into_iter()
        .filter(|(_, _, errors)| errors.n > 0)
        .map(|(reads, name, errors)| {
            let (mut measured, mut simulated) = samples.measured_and_simulated(Some(reads));
            measured.sort_unstable();
            simulated.sort_unstable();
            DistributionChart { caption: chart_caption(title, name, &errors), measured, simulated }
        })
        .collect();
    let mut text = String::new();
    let size = (SIZE.0, SIZE.1 * charts.len().max(1) as u32);
    let drawn = draw_charts(&charts, SVGBackend::with_string(&mut text, size));
    // Text output cannot fail; a curve that cannot be laid out is a bug of ours.
    drawn.expect("an SVG text takes every drawing");
    text
}

/// A chart: sorted response times of the reads or of the writes.
struct DistributionChart {
    caption: String,
    measured: Vec<Span>,
    simulated: Vec<Span>,
}

fn chart_caption(title: &str, name: &str, errors: &ResponseErrors) -> String {
    let ResponseErrors { n, mean_measured_ms: measured, mean_simulated_ms: simulated, demerit_ms, .. } = errors;
    format!(
        "{title}, {n} {name}: mean {measured:.2} ms measured, {simulated:.2} ms simulated; demerit {demerit_ms:.3} ms"
    )
}

fn draw_charts(charts: &[DistributionChart], backend: SVGBackend<'_>) -> Fallible {
    let root = backend.into_drawing_area();
    root.fill(&WHITE)?;
    for (area, chart) in root.split_evenly((charts.len().max(1), 1)).iter().zip(charts) {
        draw_chart(area, &chart.caption, &chart.measured, &chart.simulated)?;
    }
    root.present()?;
    Ok(())
}

fn draw_chart(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    title: &str,
    measured: &[Span],
    simulated: &[Span],
) -> Fallible {
    let ms = |time: Span| time.nanos() as f64 / 1e6;
    // The slowest request in two hundred still has room; the few beyond it would press all others together.
    let right = ms(quantile(measured, 0.995).max(quantile(simulated, 0.995))).max(0.1) * 1.03;
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 16))
        .margin(10)
        .margin_right(24)
        .x_label_area_size(40)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..right, 0.0..100.0)?;
    chart
        .configure_mesh()
        .x_desc("response time, ms (at most 0.5 % lie beyond the edge)")
        .y_desc("% of requests, at most so long")
        .x_labels(9)
        .y_labels(6)
        .y_label_formatter(&|share| format!("{share:.0}"))
        .label_style(("sans-serif", 13))
        .axis_desc_style(("sans-serif", 14))
        .light_line_style(TRANSPARENT)
        .bold_line_style(RULE)
        .draw()?;
    for (name, colour, width, times) in [("measured", MEASURED, 4, measured), ("simulated", SIMULATED, 2, simulated)] {
        let shares = (0..=POINTS).map(|point| point as f64 / POINTS as f64);
        let curve = shares.map(|share| (ms(quantile(times, share)), 100.0 * share)).filter(|point| point.0 <= right);
        let style = colour.stroke_width(width);
        chart
            .draw_series(LineSeries::new(curve, style))?
            .label(name)
            .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 22, y)], style));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE.mix(0.9))
        .border_style(RULE)
        .label_font(("sans-serif", 14))
        .draw()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_and_both_sides_are_in_it() {
        let times = |first: u64| (0..50).map(|i| Span::from_micros(first + 100 * i)).collect::<Vec<_>>();
        let read = (0..50).map(|i| i % 2 == 0).collect();
        let samples = ResponseSamples { read, measured: times(500), simulated: times(700) };
        let text = draw_svg("quiet drive", &samples);
        for part in
            ["quiet drive, 25 reads: mean 2.90 ms", "25 writes", ">\nmeasured", ">\nsimulated", "response time, ms"]
        {
            assert!(text.contains(part), "{part}");
        }
        let curves = |text: &str, colour: &str| text.matches(&format!("stroke=\"{colour}\"")).count();
        // A curve and its line in the legend, for reads and for writes.
        assert_eq!((curves(&text, "#555D66"), curves(&text, "#D55E00")), (4, 4));
        let reads = ResponseSamples { read: vec![true; 50], ..samples };
        let text = draw_svg("no writes", &reads);
        assert!(!text.contains("writes:") && text.contains("height=\"330\""));
        assert_eq!(curves(&text, "#555D66"), 2);
    }
}
