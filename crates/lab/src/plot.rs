//! Draws a curve in a terminal, in dots of braille, and as SVG; `png` turns SVG into PNG. The crates `textplots`, `plotters` and `resvg`
//! do the drawing; this room chooses axes, units and titles. Two points are drawn as points, because nothing is known between them.

pub mod comparison;
pub(crate) mod palette;
mod png;
pub mod run_plot;

pub use self::png::render_png;

use plotters::prelude::*;
use textplots::{Chart, Plot, Shape};

use self::palette::{RULE, SIDES};

/// A curve with its titles.
#[derive(Clone, Copy, Debug)]
pub struct Picture<'a> {
    /// Above the curve.
    pub title: &'a str,
    /// Below the horizontal axis, with its unit.
    pub x: &'a str,
    /// Beside the vertical axis, with its unit.
    pub y: &'a str,
    /// Points (x, y), with rising x.
    pub points: &'a [(f64, f64)],
}

impl Picture<'_> {
    /// Up to this many points are not joined by a line.
    const FEW: usize = 2;

    fn has_line(&self) -> bool {
        self.points.len() > Picture::FEW
    }

    /// The title, with the units of both axes.
    pub fn caption(&self) -> String {
        format!("{}: {} over {}", self.title, self.y, self.x)
    }

    /// The ends of both axes, which begin at zero: the largest x, and a round number a little above the largest y; 1 if all are zero.
    fn axis_ends(&self) -> AxisEnds {
        let largest = |values: &mut dyn Iterator<Item = f64>| match values.fold(0.0, f64::max) {
            0.0 => 1.0,
            largest => largest,
        };
        let right = largest(&mut self.points.iter().map(|point| point.0));
        let top = largest(&mut self.points.iter().map(|point| point.1));
        AxisEnds { right, top: next_round_number(top * 1.02) }
    }
}

/// The greatest values on the axes.
#[derive(Clone, Copy)]
struct AxisEnds {
    right: f64,
    top: f64,
}

/// The next of 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8 times a power of ten.
pub(crate) fn next_round_number(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    let steps = [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    let fits = steps.into_iter().map(|step| step * decade).find(|&top| top >= value);
    fits.unwrap_or(value)
}

/// Draws the curve with its axes on `columns` by `rows` characters, and a further line with the numbers at the ends of the horizontal
/// axis. The caption is not part of it ([`Picture::caption`]).
pub fn draw_terminal(picture: &Picture<'_>, columns: usize, rows: usize) -> String {
    let ends = picture.axis_ends();
    let label = format_axis_end(ends.top);
    let margin = label.chars().count().max(1);
    let curve_columns = columns.saturating_sub(margin + 2).max(16);
    let mut text = String::new();
    let dots = braille_dots(picture, ends, curve_columns, rows);
    for (row, line) in dots.iter().enumerate() {
        let (number, axis) = match row {
            0 => (label.as_str(), '┤'),
            row if row + 1 == dots.len() => ("0", '┼'),
            _ => ("", '│'),
        };
        text += &format!("{number:>margin$} {axis}{}\n", line.trim_end());
    }
    let end = format_axis_end(ends.right);
    text + &format!("{:margin$}  0{end:>width$}\n", "", width = curve_columns - 1)
}

fn format_axis_end(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

/// The curve alone in dots of braille, a string of `columns` characters for each of the `rows`.
fn braille_dots(picture: &Picture<'_>, ends: AxisEnds, columns: usize, rows: usize) -> Vec<String> {
    let points: Vec<(f32, f32)> = picture.points.iter().map(|&(x, y)| (x as f32, y as f32)).collect();
    let shape = if picture.has_line() { Shape::Lines(&points) } else { Shape::Points(&points) };
    // A character of braille has two by four dots.
    let (width, height) = (2 * (columns as u32 - 1), 4 * (rows as u32 - 1));
    let mut chart = Chart::new_with_y_range(width, height, 0.0, ends.right as f32, 0.0, ends.top as f32);
    let chart = chart.lineplot(&shape);
    chart.figures();
    let text = chart.to_string().replace('\u{2800}', " ");
    text.lines().take(rows).map(|line| line.chars().take(columns).collect()).collect()
}

/// The number at a tick of an axis: at most three decimals, no trailing zeroes, thousands separated.
pub(crate) fn format_tick(value: &f64) -> String {
    let text = format!("{}", (value * 1000.0).round() / 1000.0);
    match text.len() {
        5.. if !text.contains('.') => {
            let (thousands, rest) = text.split_at(text.len() - 3);
            format!("{thousands} {rest}")
        }
        _ => text,
    }
}

/// Draws the curve as an SVG document of `width` by `height` pixels.
pub fn draw_svg(picture: &Picture<'_>, width: u32, height: u32) -> String {
    let mut text = String::new();
    let drawn = draw_curve(picture, SVGBackend::with_string(&mut text, (width, height)));
    // Text output cannot fail; a curve that cannot be laid out is a bug.
    drawn.expect("an SVG text takes every drawing");
    text
}

fn draw_curve(picture: &Picture<'_>, backend: SVGBackend<'_>) -> Result<(), Box<dyn std::error::Error>> {
    let AxisEnds { right, top } = picture.axis_ends();
    let root = backend.into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(picture.title, ("sans-serif", 18))
        .margin(12)
        .margin_right(24)
        .x_label_area_size(42)
        .y_label_area_size(58)
        .build_cartesian_2d(0.0..right, 0.0..top)?;
    chart
        .configure_mesh()
        .x_desc(picture.x)
        .y_desc(picture.y)
        .x_labels(8)
        .y_labels(8)
        .x_label_formatter(&format_tick)
        .y_label_formatter(&format_tick)
        .label_style(("sans-serif", 13))
        .axis_desc_style(("sans-serif", 14))
        .light_line_style(TRANSPARENT)
        .bold_line_style(RULE)
        .draw()?;
    let blue = SIDES[0];
    match picture.has_line() {
        true => chart.draw_series(LineSeries::new(picture.points.iter().copied(), blue.stroke_width(2)))?,
        false => chart.draw_series(picture.points.iter().map(|&point| Circle::new(point, 5, blue.filled())))?,
    };
    root.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINTS: [(f64, f64); 3] = [(0.0, 1.0), (50.0, 3.0), (100.0, 4.0)];

    fn picture() -> Picture<'static> {
        Picture { title: "Seek", x: "cylinders", y: "ms", points: &POINTS }
    }

    #[test]
    fn svg_carries_title_axes_and_line() {
        let text = draw_svg(&picture(), 640, 360);
        for part in ["<svg", "Seek", "cylinders", ">\nms", "<polyline", "</svg>"] {
            assert!(text.contains(part), "{part}");
        }
    }

    #[test]
    fn no_curve_is_drawn_through_two_points() {
        let dots = |points: &[(f64, f64)]| {
            let picture = Picture { points, ..picture() };
            let braille = |text: String| {
                text.chars()
                    .filter(|c| ('\u{2801}'..='\u{28ff}').contains(c))
                    .map(|c| (c as u32 - 0x2800).count_ones())
                    .sum::<u32>()
            };
            (draw_svg(&picture, 640, 360), braille(draw_terminal(&picture, 60, 12)))
        };
        let (two, few) = dots(&POINTS[1..]);
        assert!(!two.contains("<polyline fill=\"none\" opacity=\"1\" stroke=\"#0072B2\""), "{two}");
        assert_eq!(two.matches("<circle").count(), 2, "{two}");
        let (three, many) = dots(&POINTS);
        assert!(three.contains("stroke=\"#0072B2\"") && !three.contains("<circle"), "{three}");
        assert!(few <= 2 && many > 20, "{few} {many}");
    }

    #[test]
    fn terminal_names_both_ends_of_each_axis_and_fits() {
        assert_eq!(picture().caption(), "Seek: ms over cylinders");
        for columns in [40, 60, 119] {
            let text = draw_terminal(&picture(), columns, 12);
            assert!(text.starts_with("5.0 ┤"), "{text}");
            assert!(text.ends_with(" 100\n") && text.contains("\n  0 ┼") && text.lines().count() == 13, "{text}");
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert_eq!(widest, Some(columns), "{text}");
            assert!(text.lines().all(|line| !line.ends_with([' ', '\u{2800}'])), "{text}");
        }
    }

    #[test]
    fn axes_end_at_round_numbers() {
        assert_eq!(next_round_number(78.4), 80.0);
        assert_eq!(next_round_number(0.93), 1.0);
        assert_eq!((format_tick(&2.5), format_tick(&80_000.0)), ("2.5".to_owned(), "80 000".to_owned()));
    }
}
