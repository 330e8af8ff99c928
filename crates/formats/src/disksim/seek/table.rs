//! Reads a table of measured seeks in a separate file. A line is `distance, time`, or `distance, mean, standard deviation`, or
//! these and a fourth column with the time of a write seek; commas or blanks separate the columns. A first line may state the
//! number of distances.
//!
//! Lines that are not seeks are skipped, as by DiskSim's program. Distances are sorted; of a repeated distance, the first line is
//! used.

use crate::disksim::fields::invalid_value;
use crate::disksim::syntax::{Errors, ParameterValue, SourcePosition, shorten};
use crate::disksim::write::ProfileWriter;

/// Longer than any seek.
pub(super) const LONGEST_SEEK_MS: f64 = 1000.0;

/// A distance in cylinders, and the time of its seek in milliseconds.
pub(super) type SeekPoint = (u32, f64);

/// Seek times of one distance.
#[derive(Clone, Copy)]
pub(super) struct SeekRow {
    /// Cylinders.
    pub(super) distance: u32,
    pub(super) read_ms: f64,
    pub(super) write_ms: Option<f64>,
}

/// A point that a table lacked.
pub(super) struct AddedPoint {
    pub(super) point: SeekPoint,
    pub(super) reason: &'static str,
}

/// Reads a table of at least one distance, and sorts it; `file` is its name for messages.
pub(super) fn read_table(file: &str, table: &str, writer: &mut ProfileWriter) -> Result<Vec<SeekRow>, Errors> {
    let mut rows: Vec<SeekRow> = Vec::new();
    let mut skipped = Vec::new();
    let position = |line: usize| SourcePosition { file: file.to_owned(), line };
    for (index, line) in table.trim_start_matches('\u{feff}').lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        if let Some(count) = stated_count(line) {
            let held = table.lines().skip(index + 1).filter(|line| is_seek(line)).count();
            if count != held {
                let message = format!("the table has {held} distances, not {count} as stated");
                writer.warn(position(index + 1).diagnostic(message).with_key("Seek distances measured"));
            }
        } else if is_seek(line) {
            rows.push(read_row(&position(index + 1), line)?);
        } else {
            skipped.push((index + 1, line));
        }
    }
    if let Some(&(line, words)) = skipped.first() {
        let message = format!("`{}` is not a seek; skipped {} such lines", shorten(words), skipped.len());
        writer.warn(
            position(line).diagnostic(message).with_expected("distance, time; optionally deviation and write time"),
        );
    }
    rows.retain(|row| row.distance > 0);
    if rows.is_empty() {
        return Err(vec![
            position(0).diagnostic("the table has no distances").with_expected("lines of distance, time"),
        ]);
    }
    sort_rows(&position(0), &mut rows, writer);
    Ok(rows)
}

/// The number in a line such as `Seek distances measured: 138`.
fn stated_count(line: &str) -> Option<usize> {
    line.split_once(':').and_then(|(_, count)| count.trim().parse().ok())
}

/// The words of a line without its comment.
fn split_words(line: &str) -> impl Iterator<Item = &str> {
    let line = line.split('#').next().unwrap_or("");
    line.split([',', ' ', '\t', '\r']).filter(|word| !word.is_empty())
}

/// True if a line holds two to four numbers.
fn is_seek(line: &str) -> bool {
    let are_numbers = split_words(line).all(|word| word.parse::<f64>().is_ok());
    are_numbers && (2..=4).contains(&split_words(line).count())
}

fn read_row(position: &SourcePosition, line: &str) -> Result<SeekRow, Errors> {
    let ms = |word: &str| {
        let value = word.parse::<f64>().ok().filter(|ms| (0.0..=LONGEST_SEEK_MS).contains(ms));
        let shown = ParameterValue::Word(word.to_owned());
        value.ok_or_else(|| {
            vec![invalid_value(position, "seek time", &shown, &format!("milliseconds from 0 to {LONGEST_SEEK_MS}"))]
        })
    };
    let words: Vec<&str> = split_words(line).collect();
    let shown = ParameterValue::Word(words[0].to_owned());
    let distance =
        words[0].parse::<u32>().map_err(|_| vec![invalid_value(position, "distance", &shown, "cylinders, from 1")])?;
    Ok(SeekRow { distance, read_ms: ms(words[1])?, write_ms: words.get(3).map(|word| ms(word)).transpose()? })
}

/// Sorts by distance and drops repeated distances; warns of either.
fn sort_rows(position: &SourcePosition, rows: &mut Vec<SeekRow>, writer: &mut ProfileWriter) {
    if let Some(pair) = rows.windows(2).find(|pair| pair[1].distance < pair[0].distance) {
        let message = format!("{} follows {}; sorted by distance", pair[1].distance, pair[0].distance);
        writer.warn(position.diagnostic(message).with_key("distance"));
    }
    rows.sort_by_key(|row| row.distance);
    let listed = rows.len();
    rows.dedup_by_key(|row| row.distance);
    if rows.len() < listed {
        let message = format!("{} distances are repeated; the first of each is used", listed - rows.len());
        writer.warn(position.diagnostic(message).with_key("distance"));
    }
}

/// Adds and returns points that a table lacks: distance 1; and the longest seek, if it lies more than a tenth beyond the last
/// distance or the last two points fall. The first is extrapolated linearly from the first two points, the last from the last
/// third. The first point is never above its neighbour, the last never below.
pub(super) fn extend_ends(points: &mut Vec<SeekPoint>, cylinders: u32) -> Vec<AddedPoint> {
    let mut added = Vec::new();
    let (Some(&first), Some(&last)) = (points.first(), points.last()) else { return added };
    if first.0 > 1 {
        let rise = points.get(1).map_or(0.0, |second| slope_ms_per_cylinder(first, *second).max(0.0));
        let ms = round_to_nanos((first.1 - rise * f64::from(first.0 - 1)).max(first.1 / 2.0));
        points.insert(0, (1, ms));
        added.push(AddedPoint { point: (1, ms), reason: "the table starts later" });
    }
    let longest = cylinders.saturating_sub(1);
    let falls = points.len() > 1 && points[points.len() - 2].1 > last.1;
    let missing = longest.saturating_sub(last.0);
    if missing > last.0 / 10 || (missing > 0 && falls) {
        let start = points.iter().rfind(|point| point.0 <= last.0 - last.0 / 3).copied().unwrap_or(last);
        let ms = round_to_nanos(
            (last.1 + slope_ms_per_cylinder(start, last).max(0.0) * f64::from(missing)).min(LONGEST_SEEK_MS),
        );
        points.push((longest, ms));
        added.push(AddedPoint { point: (longest, ms), reason: "the table ends earlier" });
    }
    added
}

fn slope_ms_per_cylinder(from: SeekPoint, to: SeekPoint) -> f64 {
    if to.0 > from.0 { (to.1 - from.1) / f64::from(to.0 - from.0) } else { 0.0 }
}

/// Rounds milliseconds to whole nanoseconds.
pub(super) fn round_to_nanos(ms: f64) -> f64 {
    (ms * 1e6).round() / 1e6
}
