//! The measured and the simulated distribution of response times as one picture, reads above writes.

use plotters::coord::Shift;
use plotters::prelude::*;
use seekwise_model::time::Span;

use super::{Samples, quantile};

/// Pixels across, and of each of the two charts down.
const SIZE: (u32, u32) = (820, 330);

/// Points of a curve: shares 0.25 % apart.
const POINTS: usize = 400;

const MEASURED: RGBColor = RGBColor(60, 60, 60);
const SIMULATED: RGBColor = RGBColor(208, 84, 24);
const GRID: RGBColor = RGBColor(225, 225, 225);

type Fallible = Result<(), Box<dyn std::error::Error>>;

/// An SVG document titled `title`.
pub fn svg(title: &str, samples: &Samples) -> String {
    let mut text = String::new();
    let (width, height) = SIZE;
    let drawn = draw(title, samples, SVGBackend::with_string(&mut text, (width, 2 * height)));
    // A text has no device that could fail; a curve that cannot be laid out is an error of ours.
    drawn.expect("an SVG text takes every drawing");
    text
}

fn draw(title: &str, samples: &Samples, backend: SVGBackend<'_>) -> Fallible {
    let root = backend.into_drawing_area();
    root.fill(&WHITE)?;
    let halves = root.split_evenly((2, 1));
    for (half, reads) in halves.iter().zip([true, false]) {
        let (mut measured, mut simulated) = samples.both(Some(reads));
        measured.sort_unstable();
        simulated.sort_unstable();
        let kind = if reads { "reads" } else { "writes" };
        chart(half, &format!("{title}: {} {kind}", measured.len()), &measured, &simulated)?;
    }
    root.present()?;
    Ok(())
}

fn chart(area: &DrawingArea<SVGBackend<'_>, Shift>, title: &str, measured: &[Span], simulated: &[Span]) -> Fallible {
    let ms = |time: Span| time.nanos() as f64 / 1e6;
    // The slowest request in two hundred still has room; the few beyond would press all others together.
    let right = ms(quantile(measured, 0.995).max(quantile(simulated, 0.995))).max(0.1) * 1.03;
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 17))
        .margin(10)
        .margin_right(24)
        .x_label_area_size(40)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..right, 0.0..100.0)?;
    chart
        .configure_mesh()
        .x_desc("response time, ms")
        .y_desc("% of requests at most")
        .x_labels(9)
        .y_labels(6)
        .label_style(("sans-serif", 13))
        .axis_desc_style(("sans-serif", 14))
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
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
        .border_style(GRID)
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
        let samples = Samples { read, measured: times(500), simulated: times(700) };
        let text = svg("quiet drive", &samples);
        for part in ["quiet drive: 25 reads", "quiet drive: 25 writes", "measured", "simulated", "response time, ms"] {
            assert!(text.contains(part), "{part}");
        }
        assert_eq!(text.matches("<polyline").count() >= 4, true);
    }
}
