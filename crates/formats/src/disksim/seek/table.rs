//! A table of measured seeks in a separate file: `distance, time`, or `distance, mean, standard deviation`, or these and
//! a fourth column with the time of a write seek; commas or blanks between them. A first line with the number of distances
//! may precede it.
//!
//! Like the reference program, it skips lines that are not seeks. Distances are sorted; of a repeated distance,
//! the first is used.

use crate::disksim::fields::invalid_value;
use crate::disksim::syntax::{Errors, ParameterValue, SourcePosition, shorten};
use crate::disksim::write::ProfileWriter;

/// Longer than any seek, in milliseconds.
pub(super) const LONGEST: f64 = 1000.0;

/// Seek times of one distance.
#[derive(Clone, Copy)]
pub(super) struct SeekRow {
    pub(super) distance: u32,
    /// Milliseconds.
    pub(super) read: f64,
    pub(super) write: Option<f64>,
}

/// Reads a table of at least one distance, and sorts it.
pub(super) fn read(file: &str, table: &str, text: &mut ProfileWriter) -> Result<Vec<SeekRow>, Errors> {
    let mut rows: Vec<SeekRow> = Vec::new();
    let mut strange = Vec::new();
    let at = |line: usize| SourcePosition { file: file.to_owned(), line };
    for (index, line) in table.trim_start_matches('\u{feff}').lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        if let Some(count) = stated_count(line) {
            let there = table.lines().skip(index + 1).filter(|line| is_seek(line)).count();
            if count != there {
                let message = format!("the table has {there} distances, not {count} as stated");
                text.warn(at(index + 1).diagnostic(message).with_key("Seek distances measured"));
            }
        } else if is_seek(line) {
            rows.push(read_row(&at(index + 1), line)?);
        } else {
            strange.push((index + 1, line));
        }
    }
    if let Some(&(line, words)) = strange.first() {
        let message = format!("`{}` is not a seek; skipped {} such lines", shorten(words), strange.len());
        text.warn(at(line).diagnostic(message).with_expected("distance, time; optionally deviation and write time"));
    }
    rows.retain(|row| row.distance > 0);
    if rows.is_empty() {
        return Err(vec![at(0).diagnostic("the table has no distances").with_expected("lines of distance, time")]);
    }
    sort_rows(&at(0), &mut rows, text);
    Ok(rows)
}

/// The number in `Seek distances measured: 138`.
fn stated_count(line: &str) -> Option<usize> {
    line.split_once(':').and_then(|(_, count)| count.trim().parse().ok())
}

fn split_words(line: &str) -> impl Iterator<Item = &str> {
    let line = line.split('#').next().unwrap_or("");
    line.split([',', ' ', '\t', '\r']).filter(|word| !word.is_empty())
}

/// True if a line holds two to four numbers.
fn is_seek(line: &str) -> bool {
    let all = split_words(line).all(|word| word.parse::<f64>().is_ok());
    all && (2..=4).contains(&split_words(line).count())
}

fn read_row(at: &SourcePosition, line: &str) -> Result<SeekRow, Errors> {
    let ms = |word: &str| {
        let value = word.parse::<f64>().ok().filter(|ms| (0.0..=LONGEST).contains(ms));
        let shown = ParameterValue::Word(word.to_owned());
        value.ok_or_else(|| vec![invalid_value(at, "seek time", &shown, &format!("milliseconds from 0 to {LONGEST}"))])
    };
    let words: Vec<&str> = split_words(line).collect();
    let shown = ParameterValue::Word(words[0].to_owned());
    let distance =
        words[0].parse::<u32>().map_err(|_| vec![invalid_value(at, "distance", &shown, "cylinders, from 1")])?;
    Ok(SeekRow { distance, read: ms(words[1])?, write: words.get(3).map(|write| ms(write)).transpose()? })
}

/// Sorts by distance and drops repeated distances.
fn sort_rows(at: &SourcePosition, rows: &mut Vec<SeekRow>, text: &mut ProfileWriter) {
    if let Some(pair) = rows.windows(2).find(|pair| pair[1].distance < pair[0].distance) {
        let message = format!("{} follows {}; sorted by distance", pair[1].distance, pair[0].distance);
        text.warn(at.diagnostic(message).with_key("distance"));
    }
    rows.sort_by_key(|row| row.distance);
    let all = rows.len();
    rows.dedup_by_key(|row| row.distance);
    if rows.len() < all {
        let message = format!("{} distances are repeated; the first of each is used", all - rows.len());
        text.warn(at.diagnostic(message).with_key("distance"));
    }
}

/// Adds points that a table lacks: distance 1, and the longest seek if it lies more than a tenth beyond the last distance or
/// the last two points fall. Both are extrapolated linearly, from the first two points or the last third; the first is never
/// above its neighbour, the last never below.
pub(super) fn extend_ends(points: &mut Vec<(u32, f64)>, cylinders: u32) -> Vec<((u32, f64), &'static str)> {
    let mut added = Vec::new();
    let (Some(&first), Some(&last)) = (points.first(), points.last()) else { return added };
    if first.0 > 1 {
        let rise = points.get(1).map_or(0.0, |second| slope(first, *second).max(0.0));
        let ms = round_to_nanos((first.1 - rise * f64::from(first.0 - 1)).max(first.1 / 2.0));
        points.insert(0, (1, ms));
        added.push(((1, ms), "the table starts later"));
    }
    let longest = cylinders.saturating_sub(1);
    let falls = points.len() > 1 && points[points.len() - 2].1 > last.1;
    let lacking = longest.saturating_sub(last.0);
    if lacking > last.0 / 10 || (lacking > 0 && falls) {
        let third = points.iter().rfind(|point| point.0 <= last.0 - last.0 / 3).copied().unwrap_or(last);
        let ms = round_to_nanos((last.1 + slope(third, last).max(0.0) * f64::from(lacking)).min(LONGEST));
        points.push((longest, ms));
        added.push(((longest, ms), "the table ends earlier"));
    }
    added
}

/// Milliseconds a cylinder from one point to another.
fn slope(from: (u32, f64), to: (u32, f64)) -> f64 {
    if to.0 > from.0 { (to.1 - from.1) / f64::from(to.0 - from.0) } else { 0.0 }
}

/// Rounds milliseconds to whole nanoseconds.
pub(super) fn round_to_nanos(ms: f64) -> f64 {
    (ms * 1e6).round() / 1e6
}
