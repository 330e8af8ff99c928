//! Draws a comparison as SVG: a panel for each metric, and in it a bar for each side with its interval, its figure in words and its
//! verdict against the base. The background is white on any page.

use plotters::coord::Shift;
use plotters::prelude::*;

use super::{format_tick, next_round_number};
use crate::stats::Interval;

/// The content of the picture.
#[derive(Clone, Debug)]
pub struct ComparisonPlot {
    /// The question of the comparison.
    pub title: String,
    /// A panel for each metric.
    pub panels: Vec<Panel>,
    /// The method of the comparison, printed below all panels.
    pub method: String,
}

/// A metric of all sides.
#[derive(Clone, Debug)]
pub struct Panel {
    /// The metric, its unit, and which way is good.
    pub axis: String,
    /// The base, then the sides that are compared with it.
    pub sides: Vec<PlotSide>,
}

/// A side of the comparison.
#[derive(Clone, Debug)]
pub struct PlotSide {
    pub name: String,
    pub figure: Interval,
    /// The figure in words.
    pub amount: String,
    /// The verdict against the base; for the base, words that it is the base.
    pub verdict: String,
}

/// Width of the picture, in pixels.
const WIDTH: u32 = 920;
/// Height of the title above all panels, in pixels.
pub(crate) const HEAD: u32 = 64;
/// Height of the method below all panels, in pixels.
pub(crate) const FOOT: u32 = 34;
/// Height of a panel's axis and margins, in pixels.
const PANEL: u32 = 64;
/// Height of a side in a panel, in pixels.
const SIDE: u32 = 50;
/// Width of a letter of a side's name, in pixels.
const LETTER: u32 = 8;
/// The most letters of a side's name that are shown.
const NAME: usize = 36;
/// Width of the words to the right of the plot, in pixels.
pub(crate) const WORDS: u32 = 350;
/// The most letters in a line of the title.
pub(crate) const TITLE: usize = 112;

const BASE: RGBColor = RGBColor(140, 150, 160);
const OTHER: RGBColor = RGBColor(31, 93, 160);
pub(crate) const INK: RGBColor = RGBColor(30, 30, 30);
pub(crate) const GRID: RGBColor = RGBColor(225, 225, 225);

pub(crate) type Fallible = Result<(), Box<dyn std::error::Error>>;

/// Draws the picture as an SVG document.
pub fn draw_svg(comparison: &ComparisonPlot) -> String {
    let mut text = String::new();
    let panels_height: u32 = comparison.panels.iter().map(|panel| PANEL + SIDE * panel.sides.len() as u32).sum();
    let drawn = draw_panels(comparison, SVGBackend::with_string(&mut text, (WIDTH, HEAD + panels_height + FOOT)));
    // Text output cannot fail; bars that cannot be laid out are a bug.
    drawn.expect("an SVG text takes every drawing");
    text
}

fn draw_panels(comparison: &ComparisonPlot, backend: SVGBackend<'_>) -> Fallible {
    let root = backend.into_drawing_area();
    root.fill(&WHITE)?;
    let (head, mut rest) = root.split_vertically(HEAD);
    for (line, words) in break_lines(&comparison.title, TITLE).into_iter().take(2).enumerate() {
        let style = ("sans-serif", 16).into_font().color(&INK);
        head.draw(&Text::new(words, (16, 12 + 22 * line as i32), style))?;
    }
    for panel in &comparison.panels {
        let (area, below) = rest.split_vertically(PANEL + SIDE * panel.sides.len() as u32);
        draw_panel(&area, panel)?;
        rest = below;
    }
    rest.draw(&Text::new(comparison.method.clone(), (16, 10), ("sans-serif", 12).into_font().color(&INK)))?;
    root.present()?;
    Ok(())
}

fn draw_panel(area: &DrawingArea<SVGBackend<'_>, Shift>, panel: &Panel) -> Fallible {
    let names: Vec<String> = panel.sides.iter().rev().map(|side| shorten_text(&side.name, NAME)).collect();
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0) as u32;
    let ends = panel.sides.iter().flat_map(|side| [side.figure.estimate, side.figure.high]);
    let right = match ends.filter(|end| end.is_finite()).fold(0.0, f64::max) {
        0.0 => 1.0,
        largest => next_round_number(largest),
    };
    let count = panel.sides.len();
    let mut chart = ChartBuilder::on(area)
        .margin_left(10)
        .margin_right(WORDS)
        .x_label_area_size(44)
        .y_label_area_size(longest * LETTER + 14)
        .build_cartesian_2d(0.0..right, (0..count.max(1) - 1).into_segmented())?;
    let name = |segment: &SegmentValue<usize>| match segment {
        SegmentValue::CenterOf(index) => names.get(*index).cloned().unwrap_or_default(),
        _ => String::new(),
    };
    chart
        .configure_mesh()
        .x_desc(&panel.axis)
        .x_labels(6)
        .y_labels(count)
        .x_label_formatter(&format_tick)
        .y_label_formatter(&name)
        .disable_y_mesh()
        .label_style(("sans-serif", 13).into_font().color(&INK))
        .axis_desc_style(("sans-serif", 13).into_font().color(&INK))
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .draw()?;
    for (index, side) in panel.sides.iter().rev().enumerate() {
        let Interval { estimate, low, high } = side.figure;
        let colour = if index + 1 == count { BASE } else { OTHER };
        let corners = [(0.0, SegmentValue::Exact(index)), (estimate, SegmentValue::Exact(index + 1))];
        let mut bar = Rectangle::new(corners, colour.filled());
        bar.set_margin(11, 11, 0, 0);
        chart.draw_series([bar])?;
        let has_interval = low.is_finite() && high.is_finite();
        if has_interval {
            let interval_ends = [low, high].map(|end| (end, SegmentValue::CenterOf(index)));
            let cap = |end: (f64, SegmentValue<usize>)| {
                EmptyElement::at(end) + PathElement::new(vec![(0, -5), (0, 5)], INK.stroke_width(1))
            };
            chart.draw_series(interval_ends.clone().map(cap))?;
            chart.draw_series([PathElement::new(interval_ends.to_vec(), INK.stroke_width(1))])?;
        }
        let end = if has_interval { high.max(estimate) } else { estimate };
        let label = |text: &str, size: i32, y_offset: i32| {
            Text::new(text.to_owned(), (10, y_offset), ("sans-serif", size).into_font().color(&INK))
        };
        let labels = EmptyElement::at((end, SegmentValue::CenterOf(index)))
            + label(&side.amount, 14, -16)
            + label(&side.verdict, 13, 2);
        chart.draw_series([labels])?;
    }
    Ok(())
}

/// Breaks text between words into lines of at most `most_letters` letters; longer words are shortened.
pub(crate) fn break_lines(text: &str, most_letters: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').map(|word| shorten_text(word, most_letters)) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= most_letters => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// Cuts text to at most `most_letters` letters, the last of which is then an ellipsis.
pub(crate) fn shorten_text(text: &str, most_letters: usize) -> String {
    match text.chars().count() > most_letters {
        true => text.chars().take(most_letters - 1).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two panels of two sides each.
    fn comparison() -> ComparisonPlot {
        let side = |name: &str, estimate: f64, verdict: &str| PlotSide {
            name: name.to_owned(),
            figure: Interval { estimate, low: estimate - 1.0, high: estimate + 1.0 },
            amount: format!("{estimate:.1} ± 1.0 requests/s"),
            verdict: verdict.to_owned(),
        };
        let panel = |axis: &str| Panel {
            axis: axis.to_owned(),
            sides: vec![side("depth=1", 80.0, "the base"), side("depth=32", 140.0, "1.750 × [1.7, 1.8], faster")],
        };
        ComparisonPlot {
            title: "Is it faster?".to_owned(),
            panels: vec![panel("requests per second, requests/s"), panel("99th percentile, ms")],
            method: "10 runs a side".to_owned(),
        }
    }

    #[test]
    fn every_side_has_its_bar_its_interval_and_its_words() {
        let text = draw_svg(&comparison());
        for part in
            ["Is it faster?", "depth=1", "depth=32", "140.0 ± 1.0", "faster", "percentile, ms", "10 runs a side"]
        {
            assert!(text.contains(part), "{part}");
        }
        let of = |colour: &str| text.matches(&format!("fill=\"{colour}\"")).count();
        assert_eq!((of("#8C96A0"), of("#1F5DA0")), (2, 2), "a bar each");
        assert_eq!(draw_svg(&comparison()), text);
        assert_eq!(break_lines("a long title of words", 10), ["a long", "title of", "words"]);
    }

    #[test]
    fn an_interval_lies_along_the_middle_of_its_bar() {
        let text = draw_svg(&comparison());
        let attribute = |tag: &str, key: &str| -> String {
            let (_, rest) = tag.split_once(&format!(" {key}=\"")).expect(key);
            rest.split('"').next().unwrap_or_default().to_owned()
        };
        let number = |tag: &str, key: &str| attribute(tag, key).parse::<f64>().unwrap();
        let has = |tag: &str, name: &str, colours: &[&str]| {
            tag.starts_with(name) && colours.iter().any(|colour| tag.contains(colour))
        };
        let of_bars = text.lines().filter(|tag| has(tag, "<rect ", &["#8C96A0", "#1F5DA0"]));
        let bars: Vec<f64> = of_bars.map(|tag| number(tag, "y") + number(tag, "height") / 2.0).collect();
        // The caps at both ends stand upright.
        let along = |tag: &str| -> Option<f64> {
            let points = attribute(tag, "points");
            let ends: Vec<(&str, &str)> = points.split_whitespace().filter_map(|point| point.split_once(',')).collect();
            (ends.len() == 2 && ends[0].1 == ends[1].1).then(|| ends[0].1.parse().unwrap())
        };
        let of_lines = text.lines().filter(|tag| has(tag, "<polyline ", &["#1E1E1E"]));
        let lines: Vec<f64> = of_lines.filter_map(along).collect();
        assert_eq!((bars.len(), lines.len()), (4, 4), "{text}");
        for (bar, line) in bars.iter().zip(&lines) {
            assert!((bar - line).abs() <= 2.0, "the middles of the bars {bars:?}, the intervals {lines:?}");
        }
    }
}
