//! Draws a run as SVG: how long requests took, by percentile, and the parts of which the mean one consists. Both axes of the percentiles
//! are logarithmic, so that the quick and the slow ends can be read. The background is white on any page.

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use seekwise_disk::parts::Part;

use super::comparison::{Fallible, break_lines, shorten_text};
use super::palette::{INK, PAPER, RULE, SOFT, side_colour};
use super::{format_tick, next_round_number};

/// The content of the picture.
#[derive(Clone, Debug)]
pub struct RunPlot {
    /// The question.
    pub title: String,
    /// The answer in a sentence.
    pub answer: String,
    /// Reads, writes and flushes, as far as there were any.
    pub kinds: Vec<KindPlot>,
    /// How the run was made, printed below.
    pub method: String,
}

/// The requests of a kind.
#[derive(Clone, Debug)]
pub struct KindPlot {
    /// For example `reads`.
    pub name: String,
    /// Upper edge of each bucket of response times in ns, rising, and its count.
    pub buckets: Vec<(u64, u64)>,
    /// The parts of the mean response, in ms; empty if they are unknown.
    pub parts: Vec<(Part, f64)>,
    /// The mean and some percentiles, in words.
    pub times: String,
}

/// Width of the picture, in pixels.
const WIDTH: u32 = 1000;
/// Height of the percentiles, in pixels.
const PERCENTILES: u32 = 360;
/// Height of a line of text, in pixels.
const LINE: u32 = 20;
/// Height of a kind's parts, in pixels.
const KIND: u32 = 48;
/// Height of the axis of the parts, in pixels.
const AXIS: u32 = 62;
/// Width of the words right of the parts, in pixels.
const WORDS: u32 = 330;
/// Width of a letter, in pixels.
const LETTER: u32 = 7;
/// The most letters of a line.
const LETTERS: usize = 168;
/// Letters of an entry of the legend, and entries in a line.
const ENTRY: (usize, usize) = (36, 3);
/// The most numbers on the axis of times; of more only powers of ten are shown.
const NUMBERS: usize = 12;
/// Percentiles with a dot on each curve.
const MARKED: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws the picture as an SVG document.
pub fn draw_svg(run: &RunPlot) -> String {
    let mut text = String::new();
    let size = (WIDTH, run.head_height() + PERCENTILES + run.parts_height() + LINE + 16);
    let drawn = draw_run(run, SVGBackend::with_string(&mut text, size));
    // Text output cannot fail; a curve that cannot be laid out is a bug.
    drawn.expect("an SVG text takes every drawing");
    text
}

impl RunPlot {
    fn answer_lines(&self) -> Vec<String> {
        break_lines(&self.answer, LETTERS)
    }

    fn head_height(&self) -> u32 {
        LINE * (self.answer_lines().len() as u32 + 2)
    }

    /// The kinds whose parts are known.
    fn kinds_with_parts(&self) -> Vec<&KindPlot> {
        self.kinds.iter().filter(|kind| kind.total_ms() > 0.0).collect()
    }

    /// The parts that any kind has, each with its time for each kind.
    fn legend(&self) -> Vec<(Part, String)> {
        let kinds = self.kinds_with_parts();
        let has = |part: &Part| kinds.iter().any(|kind| kind.part_ms(*part) > 0.0);
        let entry = |part: Part| {
            let times: Vec<String> = kinds.iter().map(|kind| time_text(kind.part_ms(part))).collect();
            (part, format!("{} {} ms", part.name(), times.join(" / ")))
        };
        Part::ALL.into_iter().filter(has).map(entry).collect()
    }

    fn parts_height(&self) -> u32 {
        match self.kinds_with_parts().len() as u32 {
            0 => 0,
            kinds => LINE + KIND * kinds + AXIS + LINE * self.legend().len().div_ceil(ENTRY.1) as u32,
        }
    }
}

impl KindPlot {
    fn part_ms(&self, part: Part) -> f64 {
        self.parts.iter().filter(|(own, _)| *own == part).map(|(_, ms)| ms).sum()
    }

    fn total_ms(&self) -> f64 {
        self.parts.iter().map(|(_, ms)| ms).sum()
    }

    /// For each bucket: its time in ms, and the share of requests that took at most so long, less half of the last request.
    fn shares(&self) -> Vec<(f64, f64)> {
        let total: u64 = self.buckets.iter().map(|bucket| bucket.1).sum();
        let mut counted = 0;
        let share = |&(edge, count): &(u64, u64)| {
            counted += count;
            (edge as f64 / 1e6, (counted as f64 - 0.5) / total as f64)
        };
        self.buckets.iter().map(share).collect()
    }
}

/// A time in ms with three digits.
fn time_text(ms: f64) -> String {
    match ms {
        0.0 => "0".to_owned(),
        large if large >= 99.95 => format!("{large:.0}"),
        middle if middle >= 9.995 => format!("{middle:.1}"),
        small if small >= 0.9995 => format!("{small:.2}"),
        least => format!("{least:.3}"),
    }
}

/// The height of a share of requests: each tenth of the requests above it is a step of one.
fn share_height(share: f64) -> f64 {
    -(1.0 - share).log10()
}

/// The colour of a part, and that of text on it; as the report page has them.
fn part_colours(part: Part) -> (RGBColor, RGBColor) {
    match part {
        Part::Processor => (RGBColor(0x6b, 0x75, 0x80), PAPER),
        Part::Driver => (RGBColor(0xcd, 0xd3, 0xd8), INK),
        Part::Flush => (RGBColor(0xb9, 0xa7, 0xc9), INK),
        Part::Controller => (RGBColor(0x93, 0x9c, 0xa5), INK),
        Part::Queue => (RGBColor(0xe6, 0xe9, 0xeb), INK),
        Part::Overhead => (RGBColor(0x44, 0x4c, 0x54), PAPER),
        Part::Seek => (RGBColor(0x00, 0x72, 0xb2), PAPER),
        Part::Settle => (RGBColor(0x7c, 0xc0, 0xea), INK),
        Part::Rotation => (RGBColor(0xe6, 0x9f, 0x00), INK),
        Part::Transfer => (RGBColor(0x00, 0x9e, 0x73), INK),
        Part::Cache => (RGBColor(0xf0, 0xe4, 0x42), INK),
        Part::Link => (RGBColor(0xcc, 0x79, 0xa7), INK),
    }
}

fn styled(words: &str, at: (i32, i32), size: i32, colour: &RGBColor, pos: Pos) -> Text<'static, (i32, i32), String> {
    Text::new(words.to_owned(), at, ("sans-serif", size).into_font().color(colour).pos(pos))
}

fn draw_run(run: &RunPlot, backend: SVGBackend<'_>) -> Fallible {
    let root = backend.into_drawing_area();
    root.fill(&PAPER)?;
    let (head, rest) = root.split_vertically(run.head_height());
    let from_top_left = Pos::new(HPos::Left, VPos::Top);
    head.draw(&styled(&shorten_text(&run.title, LETTERS), (16, 12), 17, &INK, from_top_left))?;
    for (line, words) in run.answer_lines().iter().enumerate() {
        head.draw(&styled(words, (16, (14 + LINE * (line as u32 + 1)) as i32), 14, &INK, from_top_left))?;
    }
    let (percentiles, rest) = rest.split_vertically(PERCENTILES);
    draw_percentiles(&percentiles, &run.kinds)?;
    let (parts, foot) = rest.split_vertically(run.parts_height());
    if run.parts_height() > 0 {
        draw_parts(&parts, run)?;
    }
    foot.draw(&styled(&run.method, (16, 10), 12, &SOFT, from_top_left))?;
    root.present()?;
    Ok(())
}

/// Numbers of ms on a logarithmic axis: 1, 2 and 5 times powers of ten, or powers of ten alone.
fn time_numbers(least_ms: f64, greatest_ms: f64) -> Vec<f64> {
    let decades = least_ms.log10().floor() as i32..=greatest_ms.log10().ceil() as i32;
    let within = |ms: &f64| (least_ms..=greatest_ms).contains(ms);
    let numbers = |steps: &[f64]| -> Vec<f64> {
        decades
            .clone()
            .flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)))
            .filter(within)
            .collect()
    };
    let fine = numbers(&[1.0, 2.0, 5.0]);
    if fine.len() > NUMBERS { numbers(&[1.0]) } else { fine }
}

/// Shares of requests on the axis, from half of them up to the `greatest`, with their words.
fn share_numbers(greatest: f64) -> Vec<(f64, String)> {
    let nines = (1..).map(|nines| 1.0 - 10f64.powi(-nines)).zip(["90 %", "99 %", "99.9 %", "99.99 %", "99.999 %"]);
    let shares = [(0.0, "0 %"), (0.5, "50 %")].into_iter().chain(nines);
    let shown = shares.filter(|(share, _)| share_height(*share) <= share_height(greatest));
    shown.map(|(share, words)| (share, words.to_owned())).collect()
}

/// The axes of the percentiles: the logarithm of ms, and the height of a share.
type Percentiles<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

fn draw_percentiles(area: &Area<'_>, kinds: &[KindPlot]) -> Fallible {
    let curves: Vec<Vec<(f64, f64)>> = kinds.iter().map(KindPlot::shares).collect();
    let all = || curves.iter().flatten();
    let least_ms = all().map(|point| point.0).fold(f64::INFINITY, f64::min).max(1e-6) / 1.1;
    let greatest_ms = all().map(|point| point.0).fold(0.0, f64::max).max(2.0 * least_ms) * 1.1;
    let greatest_share = all().map(|point| point.1).fold(0.5, f64::max);
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .margin_right(60)
        .x_label_area_size(48)
        .y_label_area_size(84)
        .build_cartesian_2d(least_ms.log10()..greatest_ms.log10(), 0.0..share_height(greatest_share) + 0.1)?;
    chart
        .configure_mesh()
        .x_desc("response time, ms (logarithmic)")
        .y_desc("requests that took at most so long")
        .x_labels(0)
        .y_labels(0)
        .disable_mesh()
        .axis_desc_style(("sans-serif", 13).into_font().color(&INK))
        .draw()?;
    draw_percentile_grid(&mut chart, (least_ms, greatest_ms), greatest_share)?;
    for (index, (kind, curve)) in kinds.iter().zip(&curves).enumerate() {
        let colour = side_colour(index);
        let heights = || curve.iter().map(|&(_, share)| share_height(share));
        // A step at each time: between two of them nothing ended.
        let steps = curve.iter().zip(std::iter::once(0.0).chain(heights())).zip(heights());
        let line = steps.flat_map(|((&(ms, _), below), above)| [(ms.log10(), below), (ms.log10(), above)]);
        let series = chart.draw_series(LineSeries::new(line, colour.stroke_width(2)))?;
        if kinds.len() > 1 {
            series
                .label(kind.name.clone())
                .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 22, y)], colour.stroke_width(2)));
        }
        mark_percentiles(&mut chart, curve, colour, kinds.len() == 1)?;
    }
    if kinds.len() > 1 {
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(PAPER.mix(0.9))
            .border_style(RULE)
            .label_font(("sans-serif", 14))
            .draw()?;
    }
    Ok(())
}

fn draw_percentile_grid(
    chart: &mut Percentiles<'_, '_>,
    (least_ms, greatest_ms): (f64, f64),
    greatest_share: f64,
) -> Fallible {
    let (left, right) = (least_ms.log10(), greatest_ms.log10());
    let top = share_height(greatest_share) + 0.1;
    for ms in time_numbers(least_ms, greatest_ms) {
        let x = ms.log10();
        chart.draw_series([PathElement::new(vec![(x, 0.0), (x, top)], RULE.stroke_width(1))])?;
        let number = styled(&format!("{ms}"), (0, 8), 13, &INK, Pos::new(HPos::Center, VPos::Top));
        chart.draw_series([EmptyElement::at((x, 0.0)) + number])?;
    }
    for (share, words) in share_numbers(greatest_share) {
        let y = share_height(share);
        chart.draw_series([PathElement::new(vec![(left, y), (right, y)], RULE.stroke_width(1))])?;
        let number = styled(&words, (-8, 0), 13, &INK, Pos::new(HPos::Right, VPos::Center));
        chart.draw_series([EmptyElement::at((left, y)) + number])?;
    }
    Ok(())
}

/// Dots at some percentiles of a curve, with their times if it is alone.
fn mark_percentiles(
    chart: &mut Percentiles<'_, '_>,
    curve: &[(f64, f64)],
    colour: RGBColor,
    is_alone: bool,
) -> Fallible {
    for marked in MARKED {
        // A percentile needs a request beyond it.
        let Some(&(ms, _)) = curve.iter().find(|(_, share)| *share >= marked) else { continue };
        let at = (ms.log10(), share_height(marked));
        chart.draw_series([Circle::new(at, 4, colour.filled())])?;
        if is_alone {
            let words = format!("{} ms", time_text(ms));
            let label = styled(&words, (10, 4), 13, &INK, Pos::new(HPos::Left, VPos::Top));
            chart.draw_series([EmptyElement::at(at) + label])?;
        }
    }
    Ok(())
}

fn draw_parts(area: &Area<'_>, run: &RunPlot) -> Fallible {
    let kinds = run.kinds_with_parts();
    let (heading, rest) = area.split_vertically(LINE);
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name.as_str()).collect();
    let words = format!("Parts of the mean response time of {}:", names.join(" / "));
    heading.draw(&styled(&words, (16, 4), 14, &INK, Pos::new(HPos::Left, VPos::Top)))?;
    let (bars, legend) = rest.split_vertically(KIND * kinds.len() as u32 + AXIS);
    let longest = kinds.iter().map(|kind| kind.name.chars().count()).max().unwrap_or(0) as u32;
    let right = next_round_number(kinds.iter().map(|kind| kind.total_ms()).fold(0.0, f64::max));
    let mut chart = ChartBuilder::on(&bars)
        .margin_left(10)
        .margin_right(WORDS)
        .margin_bottom(14)
        .x_label_area_size(AXIS - 18)
        .y_label_area_size(longest * LETTER + 20)
        .build_cartesian_2d(0.0..right, 0.0..kinds.len() as f64)?;
    chart
        .configure_mesh()
        .x_desc("mean response time, ms")
        .x_labels(6)
        .y_labels(0)
        .x_label_formatter(&format_tick)
        .disable_y_mesh()
        .label_style(("sans-serif", 13).into_font().color(&INK))
        .axis_desc_style(("sans-serif", 13).into_font().color(&INK))
        .light_line_style(TRANSPARENT)
        .bold_line_style(RULE)
        .draw()?;
    let pixels_per_ms = f64::from(chart.plotting_area().dim_in_pixel().0) / right;
    for (index, kind) in kinds.iter().rev().enumerate() {
        // A bar fills two thirds of its row.
        let (bottom, middle, top) = (index as f64 + 0.17, index as f64 + 0.5, index as f64 + 0.83);
        let mut from = 0.0;
        for part in Part::ALL {
            let (ms, (fill, ink)) = (kind.part_ms(part), part_colours(part));
            let bar = Rectangle::new([(from, bottom), (from + ms, top)], fill.filled());
            chart.draw_series((ms > 0.0).then_some(bar))?;
            let has_room = ms * pixels_per_ms > f64::from(LETTER) * (part.name().len() as f64 + 1.0);
            let name = styled(part.name(), (0, 0), 13, &ink, Pos::new(HPos::Center, VPos::Center));
            let centre = (from + ms / 2.0, middle);
            chart.draw_series(has_room.then(|| EmptyElement::at(centre) + name))?;
            from += ms;
        }
        let name = styled(&kind.name, (-10, 0), 13, &INK, Pos::new(HPos::Right, VPos::Center));
        chart.draw_series([EmptyElement::at((0.0, middle)) + name])?;
        let times = styled(&kind.times, (14, 0), 13, &SOFT, Pos::new(HPos::Left, VPos::Center));
        chart.draw_series([EmptyElement::at((right, middle)) + times])?;
    }
    draw_legend(&legend, &run.legend())
}

/// The parts with their colours and times.
fn draw_legend(area: &Area<'_>, entries: &[(Part, String)]) -> Fallible {
    for (index, (part, words)) in entries.iter().enumerate() {
        let column = (index % ENTRY.1) as i32 * (ENTRY.0 as i32 * LETTER as i32 + 30) + 24;
        let row = (index / ENTRY.1) as i32 * LINE as i32 + 4;
        area.draw(&Rectangle::new([(column, row), (column + 14, row + 12)], part_colours(*part).0.filled()))?;
        let words = shorten_text(words, ENTRY.0);
        area.draw(&styled(&words, (column + 22, row - 1), 13, &INK, Pos::new(HPos::Left, VPos::Top)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str) -> KindPlot {
        KindPlot {
            name: name.to_owned(),
            buckets: vec![(5_000_000, 500), (10_000_000, 450), (20_000_000, 49), (80_000_000, 1)],
            parts: vec![(Part::Seek, 4.0), (Part::Rotation, 3.0), (Part::Link, 0.0)],
            times: "mean 7.00 ms".to_owned(),
        }
    }

    fn run(kinds: Vec<KindPlot>) -> RunPlot {
        let [title, answer, method] = ["How fast?", "100 requests/s.", "One run."].map(str::to_owned);
        RunPlot { title, answer, kinds, method }
    }

    #[test]
    fn percentiles_are_marked_with_their_times_and_parts_with_theirs() {
        let text = draw_svg(&run(vec![kind("reads")]));
        for part in
            ["How fast?", "100 requests/s.", "10.0 ms", "20.0 ms", "80.0 ms", "99.9 %", "seek 4.00 ms", "One run."]
        {
            assert!(text.contains(&format!(">\n{part}\n")), "{part}: {text}");
        }
        assert_eq!(text.matches("<circle").count(), MARKED.len());
        assert!(!text.contains("link") && !text.contains("99.99 %"), "{text}");
        assert_eq!(draw_svg(&run(vec![kind("reads")])), text);
    }

    #[test]
    fn kinds_have_colours_and_without_parts_there_are_no_bars() {
        let two = draw_svg(&run(vec![kind("reads"), kind("writes")]));
        assert!(two.contains("seek 4.00 / 4.00 ms") && two.contains("#0072B2") && two.contains("#D55E00"), "{two}");
        let bare = draw_svg(&run(vec![KindPlot { parts: Vec::new(), ..kind("reads") }]));
        assert!(!bare.contains("Parts of the mean") && bare.contains("99 %"), "{bare}");
    }

    #[test]
    fn axes_have_a_few_numbers() {
        assert_eq!(time_numbers(0.9, 30.0), [1.0, 2.0, 5.0, 10.0, 20.0]);
        assert_eq!(time_numbers(0.01, 1000.0).len(), 6);
        let words = |greatest: f64| share_numbers(greatest).into_iter().map(|share| share.1).collect::<Vec<_>>();
        assert_eq!(words(0.95), ["0 %", "50 %", "90 %"]);
        assert!((share_height(0.99) - 2.0).abs() < 1e-9);
        assert_eq!(kind("reads").shares()[1], (10.0, 0.9495));
    }

    #[test]
    fn parts_have_the_colours_of_the_report_page() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/src/style/colours.css");
        let css = std::fs::read_to_string(path).expect("the report page has colours");
        for part in Part::ALL {
            let RGBColor(r, g, b) = part_colours(part).0;
            let expected = format!("--part-{}: #{r:02x}{g:02x}{b:02x};", part.name());
            assert!(css.split_once("@media").unwrap().0.contains(&expected), "{expected}");
        }
    }
}
