//! Draws the answer of a study as a forest plot: a row for each cell of its leading comparison, with the ratio of the sides, its interval,
//! and the verdict in words and in colour. A vertical line marks the ratio 1, and the last row is for all cells together. The background is
//! white on any page.

use plotters::prelude::*;

use crate::compose::{comparison_headline, pairing_words};
use crate::finding::{Evidence, Finding};
use crate::outcome::{DifferenceWords, ratio_text};
use crate::plot::comparison::{FOOT, Fallible, HEAD, TITLE, WORDS, break_lines, shorten_text};
use crate::plot::format_tick;
use crate::plot::palette::{BAD, EVEN, GOOD, INK, RULE};
use crate::stats::{Judgement, Verdict};

/// The most cells in a picture. Of more, those whose ratios are furthest from 1 are kept, in the study's order.
const ROWS: usize = 40;
/// The most letters of a cell's name that are shown: a name has a level of each factor.
const NAME: usize = 64;
/// The width of a letter of a name, in pixels.
const LETTER: u32 = 7;
/// The width of the plot between the names and the words, in pixels.
const ACROSS: u32 = 340;
/// The least width of the picture, in pixels: the title needs it.
const LEAST: u32 = 920;
/// The height of a row, in pixels.
const ROW: u32 = 26;
/// The height of the axis, in pixels.
const AXIS: u32 = 64;

/// The content of the picture.
#[derive(Clone, Debug)]
pub struct Forest {
    title: String,
    axis: String,
    words: DifferenceWords,
    rows: Vec<ForestRow>,
    method: String,
}

/// A row of the plot: a cell, or all cells together.
#[derive(Clone, Debug)]
struct ForestRow {
    name: String,
    judgement: Judgement,
    /// True for the row of all cells together, whose point is larger.
    is_overall: bool,
}

impl Forest {
    /// The picture of the comparison that leads a study, or else of its first; `None` if no cell of it was judged.
    pub fn from_evidence(evidence: &Evidence<'_>) -> Option<Forest> {
        let (findings, overall) = evidence.findings();
        let leads = |compare: usize| evidence.study.compare[compare].headline;
        let leading = overall.iter().find(|overall| leads(overall.compare)).or(overall.first())?;
        let compare = &evidence.study.compare[leading.compare];
        let row = |finding: &Finding| {
            Some(ForestRow { name: finding.cell.clone(), judgement: finding.judgement?, is_overall: false })
        };
        let judged = |finding: &&Finding| finding.compare == leading.compare && finding.refused.is_none();
        let all_rows: Vec<ForestRow> = findings.iter().filter(judged).filter_map(row).collect();
        let cells = all_rows.len();
        let ratios: Vec<f64> = all_rows.iter().map(|row| row.judgement.ratio.estimate).collect();
        let mut rows: Vec<ForestRow> =
            indices_furthest_from_one(&ratios, ROWS).into_iter().map(|index| all_rows[index].clone()).collect();
        let shown = match rows.len() {
            drawn if drawn < cells => format!("the {drawn} of {cells} cells furthest from 1"),
            1 => "1 cell".to_owned(),
            _ => format!("{cells} cells"),
        };
        if rows.is_empty() {
            return None;
        }
        if let (Some(judgement), true) = (leading.judgement, cells > 1) {
            rows.push(ForestRow { name: "all cells together".to_owned(), judgement, is_overall: true });
        }
        let metric = evidence.judged_metric(leading.compare);
        Some(Forest {
            title: comparison_headline(evidence, leading),
            axis: format!(
                "{}: {} over {} ({} is better)",
                metric.title(),
                compare.to,
                compare.from,
                metric.better_direction()
            ),
            words: DifferenceWords::for_metric(metric),
            rows,
            method: format!(
                "{shown}, {} each, paired {}; 95 % intervals. Seekwise.",
                match evidence.made.sampling {
                    Some(_) => "runs until decided".to_owned(),
                    None => format!("{} runs", evidence.study.runs),
                },
                pairing_words(evidence.made)
            ),
        })
    }
}

/// The indices of the `count` ratios that are furthest from 1, in rising order.
fn indices_furthest_from_one(ratios: &[f64], count: usize) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..ratios.len()).collect();
    indices.sort_by(|&a, &b| ratios[b].ln().abs().total_cmp(&ratios[a].ln().abs()));
    indices.truncate(count);
    indices.sort_unstable();
    indices
}

/// Draws the picture as an SVG document.
pub fn draw_svg(forest: &Forest) -> String {
    let mut text = String::new();
    let height = HEAD + ROW * forest.rows.len() as u32 + AXIS + FOOT;
    let width = (names_width_px(forest) + ACROSS + WORDS).max(LEAST);
    let drawn = draw_rows(forest, SVGBackend::with_string(&mut text, (width, height)));
    // Text output cannot fail; rows that cannot be laid out are a bug.
    drawn.expect("an SVG text takes every drawing");
    text
}

/// Width of the names, in pixels.
fn names_width_px(forest: &Forest) -> u32 {
    let longest = forest.rows.iter().map(|row| row.name.chars().count().min(NAME)).max().unwrap_or(0);
    longest as u32 * LETTER + 14
}

fn draw_rows(forest: &Forest, backend: SVGBackend<'_>) -> Fallible {
    let root = backend.into_drawing_area();
    root.fill(&WHITE)?;
    let (head, rest) = root.split_vertically(HEAD);
    for (line, words) in break_lines(&forest.title, TITLE).into_iter().take(2).enumerate() {
        let style = ("sans-serif", 16).into_font().color(&INK);
        head.draw(&Text::new(words, (16, 12 + 22 * line as i32), style))?;
    }
    let (area, foot) = rest.split_vertically(ROW * forest.rows.len() as u32 + AXIS);
    foot.draw(&Text::new(forest.method.clone(), (16, 10), ("sans-serif", 12).into_font().color(&INK)))?;
    // The vertical axis counts upwards, so the rows are reversed.
    let rows: Vec<&ForestRow> = forest.rows.iter().rev().collect();
    let names: Vec<String> = rows.iter().map(|row| shorten_text(&row.name, NAME)).collect();
    // A segmented range of plotters includes its end.
    let segments = (0..rows.len() - 1).into_segmented();
    let mut chart = ChartBuilder::on(&area)
        .margin_left(10)
        .margin_right(WORDS)
        .x_label_area_size(AXIS - 20)
        .y_label_area_size(names_width_px(forest))
        .build_cartesian_2d(ratio_axis_range(&rows), segments)?;
    let name = |segment: &SegmentValue<usize>| match segment {
        SegmentValue::CenterOf(index) => names.get(*index).cloned().unwrap_or_default(),
        _ => String::new(),
    };
    chart
        .configure_mesh()
        .x_desc(&forest.axis)
        .x_labels(6)
        .y_labels(rows.len())
        .x_label_formatter(&format_tick)
        .y_label_formatter(&name)
        .disable_y_mesh()
        .label_style(("sans-serif", 13).into_font().color(&INK))
        .axis_desc_style(("sans-serif", 13).into_font().color(&INK))
        .light_line_style(TRANSPARENT)
        .bold_line_style(RULE)
        .draw()?;
    let line_at_one = [(1.0, SegmentValue::Exact(0)), (1.0, SegmentValue::Exact(rows.len()))];
    chart.draw_series([PathElement::new(line_at_one.to_vec(), INK.stroke_width(1))])?;
    for (index, row) in rows.iter().enumerate() {
        let ratio = row.judgement.ratio;
        let point = |ratio: f64| (ratio, SegmentValue::CenterOf(index));
        let colour = verdict_colour(row.judgement.verdict);
        let has_interval = ratio.low.is_finite() && ratio.high.is_finite();
        if has_interval {
            chart.draw_series([PathElement::new(vec![point(ratio.low), point(ratio.high)], colour.stroke_width(2))])?;
        }
        let end = if has_interval { ratio.high.max(ratio.estimate) } else { ratio.estimate };
        let words = format!("{}, {}", ratio_text(&row.judgement), forest.words.verdict_words(row.judgement.verdict));
        let label = Text::new(words, (10, -7), ("sans-serif", 13).into_font().color(&INK));
        let radius = if row.is_overall { 6 } else { 4 };
        chart.draw_series([EmptyElement::at(point(ratio.estimate)) + Circle::new((0, 0), radius, colour.filled())])?;
        chart.draw_series([EmptyElement::at(point(end.max(1.0))) + label])?;
    }
    root.present()?;
    Ok(())
}

/// The range of the ratio axis: from a little below the least end of the intervals to a little above the largest; it contains 1.
fn ratio_axis_range(rows: &[&ForestRow]) -> std::ops::Range<f64> {
    let ends =
        rows.iter().flat_map(|row| [row.judgement.ratio.low, row.judgement.ratio.high, row.judgement.ratio.estimate]);
    let (low, high) = ends
        .filter(|end| end.is_finite())
        .fold((1.0, 1.0), |(low, high): (f64, f64), end| (low.min(end), high.max(end)));
    let room = (0.04 * (high - low)).max(0.01);
    (low - room).max(0.0)..high + room
}

fn verdict_colour(verdict: Verdict) -> RGBColor {
    match verdict {
        Verdict::Faster => GOOD,
        Verdict::Slower => BAD,
        Verdict::NoDifference { .. } | Verdict::NotEnoughData { .. } => EVEN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{BetterDirection, Criteria, PairedComparison, PairedRatios, judge};

    #[test]
    fn only_the_row_of_all_cells_together_has_the_larger_point() {
        let paired = PairedRatios::new(&[1.0; 4], &[1.1, 1.12, 1.09, 1.1]).unwrap();
        let comparison = PairedComparison { paired, better: BetterDirection::Higher };
        let judgement = judge(&[comparison], &Criteria::default())[0];
        let row = |is_overall: bool| ForestRow { name: "a cell".to_owned(), judgement, is_overall };
        let larger_points = |rows: Vec<ForestRow>| {
            let [title, axis, method] = ["a title", "an axis", "a method"].map(str::to_owned);
            let words = DifferenceWords::for_metric(&"iops".parse().unwrap());
            let forest = Forest { title, axis, words, rows, method };
            draw_svg(&forest).matches(" r=\"6\"").count()
        };
        assert_eq!(larger_points(vec![row(false), row(false), row(true)]), 1);
        assert_eq!(larger_points(vec![row(false), row(false)]), 0);
    }

    #[test]
    fn of_too_many_cells_those_furthest_from_one_are_kept_in_their_order() {
        assert_eq!(indices_furthest_from_one(&[1.1, 4.0, 1.0, 0.2, 1.0, 2.0], 3), [1, 3, 5]);
        assert_eq!(indices_furthest_from_one(&[1.5, 1.5, 1.5], 2), [0, 1]);
        assert_eq!(indices_furthest_from_one(&[1.5], 40), [0]);
    }
}
