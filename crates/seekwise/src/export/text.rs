//! Comments in a text to paste: folded lines, and figures of the drive beside those of a draw.

use seekwise_lab::provenance::ProgramVersion;

use super::draw::{Draw, Shape};
use super::{LIMITS, LatencyRow, LatencyTable, LatencyTarget};

/// Columns of a comment, with its mark; a command may be longer.
const COLUMNS: usize = 100;

/// A space at which no line is broken.
const FIXED_SPACE: char = '\u{a0}';

/// A text as comment lines of at most [`COLUMNS`] columns, each indented by `indent`, and all after the first by two more if there is one.
pub(super) fn comment(text: &str, indent: usize) -> String {
    let hang = if indent > 0 { indent + 2 } else { 0 };
    let (mut lines, mut line) = (String::new(), " ".repeat(indent));
    for word in text.split(' ') {
        let is_first = line.trim_start().is_empty();
        if !is_first && line.chars().count() + 1 + word.chars().count() > COLUMNS - 3 {
            lines += &format!("// {line}\n");
            line = " ".repeat(hang);
        } else if !is_first {
            line.push(' ');
        }
        line += word;
    }
    (lines + &format!("// {line}\n")).replace(FIXED_SPACE, " ")
}

/// A command as a comment that is not folded; a file's name may have a line break in it.
fn whole_line(command: &str) -> String {
    format!("//   {}\n", command.replace('\n', "\n//   "))
}

/// The comment at the top: what it is, who made it, what the simulator does with it, and what that cannot express.
pub(super) fn heading(table: &LatencyTable, target: LatencyTarget, paragraphs: &[&str]) -> String {
    let ProgramVersion { version, build } = ProgramVersion::current();
    let setup = &table.setup;
    let space = setup.size.as_ref().map_or("all of it".to_owned(), |size| format!("its first {size}"));
    let mut text = comment(
        &format!(
            "{}: blocks of {} at random over {space}, {} of virtual time for each figure, by Seekwise {version} (build {build}):",
            crate::reading::display_name(&setup.target).replace('\n', " "),
            setup.block,
            setup.runtime
        ),
        0,
    );
    text += &whole_line(&setup.command(target));
    for paragraph in paragraphs.iter().chain([&LIMITS]) {
        text += &format!("//\n{}", comment(paragraph, 0));
    }
    text
}

/// A time in ms with three decimals.
fn ms(us: f64) -> String {
    format!("{:.3}{FIXED_SPACE}ms", us / 1e3)
}

/// How far `drawn` is from `real`, in percent.
fn off(drawn: f64, real: f64) -> String {
    let percent = if real > 0.0 { 100.0 * (drawn / real - 1.0) } else { 0.0 };
    // Adding zero makes -0 a zero.
    format!("{:+.1}{FIXED_SPACE}%", (10.0 * percent).round() / 10.0 + 0.0)
}

/// The comment that sets the drive's p50 and p99 beside those of what is drawn, all in us.
pub(super) fn figures(name: &str, drive: [f64; 2], drawn: [f64; 2]) -> String {
    let [(p50, drawn_p50), (p99, drawn_p99)] = [(drive[0], drawn[0]), (drive[1], drawn[1])];
    let (off_p50, off_p99) = (off(drawn_p50, p50), off(drawn_p99, p99));
    comment(
        &format!(
            "{name}: drive p50 {}, p99 {}; drawn p50 {} ({off_p50}), p99 {} ({off_p99})",
            ms(p50),
            ms(p99),
            ms(drawn_p50),
            ms(drawn_p99)
        ),
        2,
    )
}

/// That comment for a draw to which the simulator adds `added` us.
pub(super) fn draw_figures(row: &LatencyRow, draw: Draw, added: f64) -> String {
    let whole = Shape::new(&row.times, 0.0);
    figures(row.operation.name(), [whole.p50, whole.p99], [0.5, 0.99].map(|share| draw.quantile(share) + added))
}

/// The comment on an operation that has no constant of its own.
pub(super) fn plain_figures(row: &LatencyRow) -> String {
    let Shape { p50, p99, mean, min, .. } = Shape::new(&row.times, 0.0);
    let words = format!(
        "{} ({}): min {}, mean {}, p50 {}, p99 {}",
        row.operation.name(),
        row.operation.words(),
        ms(min),
        ms(mean),
        ms(p50),
        ms(p99)
    );
    comment(&words, 2)
}

/// Adds the comment with the command behind a row, unless it is there.
pub(super) fn add_command(text: &mut String, row: &LatencyRow) {
    let line = whole_line(&row.command);
    if !text.contains(&line) {
        *text += &line;
    }
}
