//! Draws a comparison as SVG: a panel for each metric, and in it a bar for each side with its interval, its figure in words and its
//! verdict against the base; or, over the values of a number, a curve with intervals. A side has one colour in all panels, those of the
//! report page. The background is white on any page.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::palette::{INK, PAPER, RULE, SIDES, SOFT, side_colour};
use super::{format_tick, next_round_number};
use crate::stats::Interval;

/// The content of the picture.
#[derive(Clone, Debug)]
pub struct ComparisonPlot {
    /// The question of the comparison.
    pub title: String,
    /// A line below the question: the setting that varies.
    pub subtitle: String,
    /// The base, then the sides that are compared with it.
    pub sides: Vec<SideLabel>,
    /// The numbers that the sides stand for, if a curve over them says more than bars.
    pub levels: Option<Levels>,
    /// A panel for each metric.
    pub panels: Vec<Panel>,
    /// The method of the comparison, printed below all panels.
    pub method: String,
}

/// The name of a side.
#[derive(Clone, Debug)]
pub struct SideLabel {
    pub name: String,
    /// A second line below the name; empty for none.
    pub detail: String,
}

/// Numbers on the horizontal axis of a curve.
#[derive(Clone, Debug)]
pub struct Levels {
    /// The name of the figure, with its unit.
    pub axis: String,
    /// One for each side.
    pub values: Vec<f64>,
}

/// A metric of all sides.
#[derive(Clone, Debug)]
pub struct Panel {
    /// The metric, its unit, and which way is good.
    pub axis: String,
    /// The figures of the base, then of the sides that are compared with it.
    pub sides: Vec<SideFigure>,
}

/// A metric of a side.
#[derive(Clone, Debug)]
pub struct SideFigure {
    pub figure: Interval,
    /// The figure in words.
    pub amount: String,
    /// The verdict against the base; for the base, words that it is the base.
    pub verdict: String,
    /// The ratio to the base, short; empty for the base.
    pub ratio: String,
    /// True if it surely differs from the base.
    pub differs: bool,
}

impl Levels {
    /// The fewest values of a curve: nothing is known between two points.
    pub const FEWEST: usize = 3;

    /// Values from which the axis is logarithmic, if the greatest is so many times the least.
    const LOGARITHMIC_FROM: f64 = 8.0;

    fn is_logarithmic(&self) -> bool {
        let least = self.values.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = self.values.iter().copied().fold(0.0, f64::max);
        least > 0.0 && greatest >= Levels::LOGARITHMIC_FROM * least
    }

    /// The place of each value on the axis.
    fn positions(&self) -> Vec<f64> {
        let is_logarithmic = self.is_logarithmic();
        self.values.iter().map(|&value| if is_logarithmic { value.log2() } else { value }).collect()
    }
}

/// Width of the picture, in pixels.
const WIDTH: u32 = 1000;
/// Height of the title above all panels, in pixels.
pub(crate) const HEAD: u32 = 64;
/// Height of the method below all panels, in pixels.
pub(crate) const FOOT: u32 = 34;
/// Height of a line of the title or the method, in pixels.
const LINE: u32 = 20;
/// Height of a panel's axis and margins, in pixels.
const PANEL: u32 = 74;
/// Height of a side in a panel, in pixels.
const SIDE: u32 = 50;
/// Height of a panel with a curve, in pixels.
const CURVE: u32 = 330;
/// Width of a letter of a side's name, in pixels.
const LETTER: u32 = 7;
/// The most letters of a side's name that are shown.
const NAME: usize = 48;
/// Width of the words to the right of the plot, in pixels.
pub(crate) const WORDS: u32 = 350;
/// Width of the words to the right of bars, in pixels.
const BAR_WORDS: u32 = 320;
/// The most letters in a line of the title.
pub(crate) const TITLE: usize = 112;
/// The most letters in a line of the method.
const METHOD: usize = 185;
/// The least distance of two numbers on the axis of a curve, in pixels.
const APART: f64 = 40.0;

pub(crate) type Fallible = Result<(), Box<dyn std::error::Error>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws the picture as an SVG document.
pub fn draw_svg(comparison: &ComparisonPlot) -> String {
    let mut text = String::new();
    let panels_height = comparison.panel_height() * comparison.panels.len() as u32;
    let size = (WIDTH, comparison.head_height() + panels_height + comparison.foot_height());
    let drawn = draw_panels(comparison, SVGBackend::with_string(&mut text, size));
    // Text output cannot fail; bars that cannot be laid out are a bug.
    drawn.expect("an SVG text takes every drawing");
    text
}

impl ComparisonPlot {
    fn title_lines(&self) -> Vec<String> {
        break_lines(&self.title, TITLE).into_iter().filter(|line| !line.is_empty()).take(2).collect()
    }

    /// The method, and what a curve's marks mean.
    fn method_lines(&self) -> Vec<String> {
        let marks = match self.levels {
            Some(_) => " Dots surely differ from the first value, rings do not; the ratios are to the first.",
            None => "",
        };
        let text = format!("{}{marks}", self.method);
        break_lines(text.trim_start(), METHOD).into_iter().filter(|line| !line.is_empty()).collect()
    }

    fn head_height(&self) -> u32 {
        let subtitle = u32::from(!self.subtitle.is_empty());
        LINE * (self.title_lines().len() as u32 + subtitle) + 2 * LINE
    }

    fn foot_height(&self) -> u32 {
        LINE * self.method_lines().len() as u32 + 14
    }

    fn panel_height(&self) -> u32 {
        match self.levels {
            Some(_) => CURVE,
            None => PANEL + SIDE * self.sides.len() as u32,
        }
    }
}

fn draw_panels(comparison: &ComparisonPlot, backend: SVGBackend<'_>) -> Fallible {
    let root = backend.into_drawing_area();
    root.fill(&PAPER)?;
    let (head, mut rest) = root.split_vertically(comparison.head_height());
    let title = comparison.title_lines();
    for (line, words) in title.iter().enumerate() {
        let style = ("sans-serif", 17).into_font().color(&INK);
        head.draw(&Text::new(words.clone(), (16, 12 + LINE as i32 * line as i32), style))?;
    }
    let below = 14 + LINE as i32 * title.len() as i32;
    let subtitle = shorten_text(&comparison.subtitle, METHOD);
    head.draw(&Text::new(subtitle, (16, below), ("sans-serif", 13).into_font().color(&SOFT)))?;
    for panel in &comparison.panels {
        let (area, below) = rest.split_vertically(comparison.panel_height());
        match &comparison.levels {
            Some(levels) => draw_curve(&area, levels, panel)?,
            None => draw_bars(&area, &comparison.sides, panel)?,
        }
        rest = below;
    }
    for (line, words) in comparison.method_lines().into_iter().enumerate() {
        let style = ("sans-serif", 12).into_font().color(&SOFT);
        rest.draw(&Text::new(words, (16, 8 + LINE as i32 * line as i32), style))?;
    }
    root.present()?;
    Ok(())
}

/// The end of a panel's axis of figures.
fn axis_end(panel: &Panel) -> f64 {
    let ends = panel.sides.iter().flat_map(|side| [side.figure.estimate, side.figure.high]);
    match ends.filter(|end| end.is_finite()).fold(0.0, f64::max) {
        0.0 => 1.0,
        largest => next_round_number(largest),
    }
}

fn has_interval(figure: &Interval) -> bool {
    figure.low.is_finite() && figure.high.is_finite() && figure.low < figure.high
}

fn draw_bars(area: &Area<'_>, labels: &[SideLabel], panel: &Panel) -> Fallible {
    let names = labels.iter().map(|label| label.name.chars().count().max(label.detail.chars().count()).min(NAME));
    let right = axis_end(panel);
    let count = panel.sides.len();
    let mut chart = ChartBuilder::on(area)
        .margin_left(10)
        .margin_bottom(10)
        .margin_right(BAR_WORDS)
        .x_label_area_size(44)
        .y_label_area_size(names.max().unwrap_or(0) as u32 * LETTER + 18)
        .build_cartesian_2d(0.0..right, (0..count.max(1) - 1).into_segmented())?;
    chart
        .configure_mesh()
        .x_desc(&panel.axis)
        .x_labels(6)
        // The names are drawn beside the bars.
        .y_labels(count)
        .y_label_formatter(&|_| String::new())
        .set_tick_mark_size(LabelAreaPosition::Left, 0)
        .x_label_formatter(&format_tick)
        .disable_y_mesh()
        .label_style(("sans-serif", 13).into_font().color(&INK))
        .axis_desc_style(("sans-serif", 13).into_font().color(&INK))
        .light_line_style(TRANSPARENT)
        .bold_line_style(RULE)
        .draw()?;
    for (side, figure) in panel.sides.iter().enumerate() {
        // The vertical axis counts upwards.
        let row = count - 1 - side;
        let corners = [(0.0, SegmentValue::Exact(row)), (figure.figure.estimate, SegmentValue::Exact(row + 1))];
        let mut bar = Rectangle::new(corners, side_colour(side).filled());
        bar.set_margin(11, 11, 0, 0);
        chart.draw_series([bar])?;
        if has_interval(&figure.figure) {
            let ends = [figure.figure.low, figure.figure.high].map(|end| (end, SegmentValue::CenterOf(row)));
            let cap = |end: (f64, SegmentValue<usize>)| {
                EmptyElement::at(end) + PathElement::new(vec![(0, -5), (0, 5)], INK.stroke_width(1))
            };
            chart.draw_series(ends.clone().map(cap))?;
            chart.draw_series([PathElement::new(ends.to_vec(), INK.stroke_width(1))])?;
        }
        let label = |text: &str, size: i32, colour: &RGBColor, (x, y): (i32, i32), to: HPos| {
            let style = ("sans-serif", size).into_font().color(colour).pos(Pos::new(to, VPos::Center));
            Text::new(text.to_owned(), (x, y), style)
        };
        let words = EmptyElement::at((right, SegmentValue::CenterOf(row)))
            + label(&figure.amount, 14, &INK, (14, -9), HPos::Left)
            + label(&figure.verdict, 13, &SOFT, (14, 9), HPos::Left);
        chart.draw_series([words])?;
        let (name, detail) = (shorten_text(&labels[side].name, NAME), shorten_text(&labels[side].detail, NAME));
        let middle = if detail.is_empty() { 0 } else { -8 };
        let names = EmptyElement::at((0.0, SegmentValue::CenterOf(row)))
            + label(&name, 13, &INK, (-10, middle), HPos::Right)
            + label(&detail, 12, &SOFT, (-10, 9), HPos::Right);
        chart.draw_series([names])?;
    }
    Ok(())
}

/// The chart of a curve over numbers.
type Curve<'a, 'b> = ChartContext<
    'a,
    SVGBackend<'b>,
    Cartesian2d<plotters::coord::types::RangedCoordf64, plotters::coord::types::RangedCoordf64>,
>;

fn draw_curve(area: &Area<'_>, levels: &Levels, panel: &Panel) -> Fallible {
    let positions = levels.positions();
    let least = positions.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = positions.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let room = 0.04 * (greatest - least);
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .margin_right(40)
        .x_label_area_size(48)
        .y_label_area_size(72)
        .build_cartesian_2d(least - room..greatest + room, 0.0..axis_end(panel))?;
    chart
        .configure_mesh()
        .x_desc(&levels.axis)
        .y_desc(&panel.axis)
        .x_labels(0)
        .y_labels(6)
        .disable_x_mesh()
        .y_label_formatter(&format_tick)
        .label_style(("sans-serif", 13).into_font().color(&INK))
        .axis_desc_style(("sans-serif", 13).into_font().color(&INK))
        .light_line_style(TRANSPARENT)
        .bold_line_style(RULE)
        .draw()?;
    let mut order: Vec<usize> = (0..positions.len()).collect();
    order.sort_by(|&a, &b| positions[a].total_cmp(&positions[b]));
    let points: Vec<(f64, f64)> =
        order.iter().map(|&side| (positions[side], panel.sides[side].figure.estimate)).collect();
    chart.draw_series(LineSeries::new(points.iter().copied(), SIDES[0].stroke_width(2)))?;
    let pixels = f64::from(chart.plotting_area().dim_in_pixel().0) / (greatest - least + 2.0 * room);
    let rises = points.first().map(|point| point.1) <= points.last().map(|point| point.1);
    let mut last_named = f64::NEG_INFINITY;
    for (&side, &point) in order.iter().zip(&points) {
        draw_point(&mut chart, point, &panel.sides[side])?;
        if (point.0 - last_named) * pixels >= APART {
            last_named = point.0;
            name_point(&mut chart, point, &format_tick(&levels.values[side]), &panel.sides[side].ratio, rises)?;
        }
    }
    Ok(())
}

/// Draws a point of a curve with its interval: a dot if it differs from the base, else a ring.
fn draw_point(chart: &mut Curve<'_, '_>, (x, y): (f64, f64), side: &SideFigure) -> Fallible {
    if has_interval(&side.figure) {
        let ends = [side.figure.low, side.figure.high].map(|end| (x, end.max(0.0)));
        let cap =
            |end: (f64, f64)| EmptyElement::at(end) + PathElement::new(vec![(-4, 0), (4, 0)], INK.stroke_width(1));
        chart.draw_series(ends.map(cap))?;
        chart.draw_series([PathElement::new(ends.to_vec(), INK.stroke_width(1))])?;
    }
    let fill = if side.differs { SIDES[0] } else { PAPER };
    chart.draw_series([Circle::new((x, y), 5, fill.filled())])?;
    chart.draw_series([Circle::new((x, y), 5, SIDES[0].stroke_width(2))])?;
    Ok(())
}

/// Writes the number below a point, and the ratio beside it.
fn name_point(chart: &mut Curve<'_, '_>, (x, y): (f64, f64), number: &str, ratio: &str, rises: bool) -> Fallible {
    let text = |words: &str, at: (i32, i32), pos: Pos, colour: &RGBColor| {
        let style = ("sans-serif", 13).into_font().color(colour).pos(pos);
        Text::new(words.to_owned(), at, style)
    };
    let number = text(number, (0, 8), Pos::new(HPos::Center, VPos::Top), &INK);
    chart.draw_series([EmptyElement::at((x, 0.0)) + number])?;
    // A rising curve leaves room at the upper left of a point, a falling one at the upper right.
    let (to, aside) = if rises { (HPos::Right, -7) } else { (HPos::Left, 7) };
    let ratio = text(ratio, (aside, -6), Pos::new(to, VPos::Bottom), &SOFT);
    chart.draw_series([EmptyElement::at((x, y)) + ratio])?;
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

    fn side_figure(estimate: f64, verdict: &str) -> SideFigure {
        SideFigure {
            figure: Interval { estimate, low: estimate - 1.0, high: estimate + 1.0 },
            amount: format!("{estimate:.1} ± 1.0 requests/s"),
            verdict: verdict.to_owned(),
            ratio: if verdict.is_empty() { String::new() } else { "1.75 ×".to_owned() },
            differs: !verdict.is_empty(),
        }
    }

    /// Two panels of two sides each.
    fn comparison() -> ComparisonPlot {
        let panel = |axis: &str| Panel {
            axis: axis.to_owned(),
            sides: vec![side_figure(80.0, "the base"), side_figure(140.0, "1.750 × [1.7, 1.8], faster")],
        };
        let label = |name: &str, detail: &str| SideLabel { name: name.to_owned(), detail: detail.to_owned() };
        ComparisonPlot {
            title: "Is it faster?".to_owned(),
            subtitle: "depth: commands in the queue".to_owned(),
            sides: vec![label("Seagate Exos X18", "exos-x18"), label("depth 32", "")],
            levels: None,
            panels: vec![panel("requests per second, requests/s"), panel("99th percentile, ms")],
            method: "10 runs a side".to_owned(),
        }
    }

    /// Eight times the least, so a logarithmic axis.
    fn curve() -> ComparisonPlot {
        let sides = [(80.0, ""), (90.0, "faster"), (140.0, "faster")].map(|(mean, verdict)| side_figure(mean, verdict));
        let label = SideLabel { name: "depth".to_owned(), detail: String::new() };
        ComparisonPlot {
            sides: vec![label; 3],
            levels: Some(Levels { axis: "commands in the queue".to_owned(), values: vec![1.0, 2.0, 32.0] }),
            panels: vec![Panel { axis: "requests/s".to_owned(), sides: sides.to_vec() }],
            ..comparison()
        }
    }

    #[test]
    fn every_side_has_its_bar_its_interval_and_its_words() {
        let text = draw_svg(&comparison());
        for part in [
            "Is it faster?",
            "commands in the queue",
            "Seagate Exos X18",
            "exos-x18",
            "depth 32",
            "140.0 ± 1.0",
            "faster",
            "percentile, ms",
            "10 runs a side",
        ] {
            assert!(text.contains(part), "{part}");
        }
        let bars = |colour: &str| text.matches(&format!("fill=\"{colour}\"")).count();
        assert_eq!((bars("#0072B2"), bars("#D55E00")), (2, 2), "a side has its colour in both panels");
        assert_eq!(draw_svg(&comparison()), text);
        assert_eq!(break_lines("a long title of words", 10), ["a long", "title of", "words"]);
    }

    /// The value of an attribute of an element.
    fn attribute(element: &str, key: &str) -> String {
        let (_, rest) = element.split_once(&format!(" {key}=\"")).expect(key);
        rest.split('"').next().unwrap_or_default().to_owned()
    }

    fn number(element: &str, key: &str) -> f64 {
        attribute(element, key).parse().unwrap()
    }

    #[test]
    fn an_interval_lies_along_the_middle_of_its_bar() {
        let text = draw_svg(&comparison());
        let has = |tag: &str, name: &str, colours: &[&str]| {
            tag.starts_with(name) && colours.iter().any(|colour| tag.contains(colour))
        };
        let of_bars = text.lines().filter(|tag| has(tag, "<rect ", &["#0072B2", "#D55E00"]));
        let bars: Vec<f64> = of_bars.map(|tag| number(tag, "y") + number(tag, "height") / 2.0).collect();
        // The caps at both ends stand upright.
        let along = |tag: &str| -> Option<f64> {
            let points = attribute(tag, "points");
            let ends: Vec<(&str, &str)> = points.split_whitespace().filter_map(|point| point.split_once(',')).collect();
            (ends.len() == 2 && ends[0].1 == ends[1].1).then(|| ends[0].1.parse().unwrap())
        };
        let of_lines = text.lines().filter(|tag| has(tag, "<polyline ", &["#1C2024"]));
        let lines: Vec<f64> = of_lines.filter_map(along).collect();
        assert_eq!((bars.len(), lines.len()), (4, 4), "{text}");
        for (bar, line) in bars.iter().zip(&lines) {
            assert!((bar - line).abs() <= 2.0, "the middles of the bars {bars:?}, the intervals {lines:?}");
        }
    }

    #[test]
    fn numbers_are_a_curve_over_a_logarithmic_axis_with_a_ring_where_nothing_differs() {
        let text = draw_svg(&curve());
        let circles: Vec<&str> = text.lines().filter(|line| line.starts_with("<circle")).collect();
        assert_eq!(circles.len(), 6, "a disc and a rim each");
        let places: Vec<f64> = circles.iter().step_by(2).map(|circle| number(circle, "cx")).collect();
        let (first, all) = (places[1] - places[0], places[2] - places[0]);
        assert!((first / all - 0.2).abs() < 0.01, "1 to 2 is a fifth of 1 to 32: {places:?}");
        let fills: Vec<String> = circles.iter().step_by(2).map(|circle| attribute(circle, "fill")).collect();
        assert_eq!(fills, ["#FFFFFF", "#0072B2", "#0072B2"]);
        assert!(
            text.contains("1.75 ×") && text.contains(">\ncommands in the queue") && text.contains("rings"),
            "{text}"
        );
        assert!(!draw_svg(&comparison()).contains("<circle"), "two sides are bars");
        let close = Levels { values: vec![1.0, 2.0, 3.0], ..curve().levels.unwrap() };
        assert_eq!(close.positions(), [1.0, 2.0, 3.0], "a linear axis");
    }
}
