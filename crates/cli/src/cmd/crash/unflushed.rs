//! Data that a disk never received, in words: bytes of files, and names in folders.

use seekwise::crash::{NameChange, UnflushedName, UnflushedPages, UnflushedState};
use serde_json::{Value, json};

use super::CrashReport;
use super::text::{NAMED, seconds};
use crate::screen::wrap_text;

/// Data that only the page cache held, and data that the disk received too late.
pub fn missing_data_text(report: &CrashReport, width: usize) -> String {
    let mut text = String::new();
    if let Some(state) = &report.unflushed {
        text.push_str(&list_paragraph(
            "Written, never flushed: when the workload ended, these data were only in the system's page cache, so no cut could find them on \
             the disk. Is an fsync missing?",
            state.files.iter().map(file_line),
            width,
        ));
        text.push_str(&list_paragraph(
            "Directories changed, never flushed: the bytes of these files were on the disk when the workload ended, but the change of their \
             directory was not. Is an fsync of the directory missing, after a file was created, renamed or deleted in it?",
            state.names.iter().map(name_line),
            width,
        ));
    }
    if let (Some((kept, state)), Some((tried, _))) = (&report.later, &report.shrunk) {
        let (at, after) = (seconds(tried.case.at), seconds(*kept) - seconds(tried.case.at));
        text.push_str(&list_paragraph(
            &format!(
                "At the cut at {at:.6} s the disk had not received these data; it did {after:.3} s later, and with them the check passes. Is \
                 an fsync missing before the promise?"
            ),
            state.files.iter().map(file_line),
            width,
        ));
        text.push_str(&list_paragraph(
            &format!(
                "At the cut at {at:.6} s the disk had the bytes of these files, but not the change of their directory, which it received \
                 {after:.3} s later. Is an fsync of the directory missing before the promise?"
            ),
            state.names.iter().map(name_line),
            width,
        ));
    }
    match report.recorded.pages.left_out {
        0 => text,
        n => format!(
            "{text}\n\n{}",
            wrap_text(
                &format!("{n} files were not examined for this: there are too many, or they are too large."),
                width
            )
        ),
    }
}

/// A paragraph and its list; nothing if the list is empty.
fn list_paragraph(head: &str, lines: impl ExactSizeIterator<Item = String>, width: usize) -> String {
    let count = lines.len();
    if count == 0 {
        return String::new();
    }
    let mut text = format!("\n\n{}", wrap_text(head, width));
    for line in lines.take(NAMED) {
        let line = wrap_text(&line, width.saturating_sub(4)).replace('\n', "\n    ");
        text.push_str(&format!("\n  {line}"));
    }
    if count > NAMED {
        text.push_str(&format!("\n  and {} more", count - NAMED));
    }
    text
}

/// Ranges of a file that are named one by one.
const RANGES: usize = 4;

fn file_line(of: &UnflushedPages) -> String {
    let UnflushedPages { file, length, ranges, named } = of;
    let each = ranges.iter().take(RANGES).map(|(from, to)| format!("{from} to {}", to - 1));
    let mut each = each.collect::<Vec<_>>().join(", ");
    if ranges.len() > RANGES {
        let more = ranges.len() - RANGES;
        each.push_str(&format!(", and {more} more range{}", if more == 1 { "" } else { "s" }));
    }
    let what = match &ranges[..] {
        [] => "its name; it is empty".to_owned(),
        [(0, to)] if to == length => format!("all its {length} bytes"),
        _ => format!("bytes {each} of {length}"),
    };
    let name = if *named || ranges.is_empty() { "" } else { ", and its name" };
    format!("/{}: {what}{name}", file.display())
}

/// A folder, and what is wrong with a name in it.
fn name_line(of: &UnflushedName) -> String {
    let folder = of.name.parent().map_or(String::new(), |folder| folder.display().to_string());
    let own = of.name.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let said = match &of.change {
        NameChange::Missing { stands_as } => {
            format!("`{own}` is not in it yet; it is still /{}", stands_as.display())
        }
        NameChange::Earlier { stands_as } => {
            format!("`{own}` is still the file from before; the new one is still /{}", stands_as.display())
        }
        NameChange::Absent { .. } => format!("`{own}` is not in it yet"),
        NameChange::Remains => format!("`{own}` is still in it, although it was deleted"),
    };
    format!("directory /{folder}: {said}")
}

/// As JSON: bytes.
pub fn files_json(state: &UnflushedState) -> Vec<Value> {
    let one = |it: &UnflushedPages| json!({ "file": format!("/{}", it.file.display()), "bytes": it.length, "ranges": it.ranges, "named": it.named });
    state.files.iter().map(one).collect()
}

/// As JSON: names.
pub fn names_json(state: &UnflushedState) -> Vec<Value> {
    let one = |it: &UnflushedName| {
        let (change, stands_as) = match &it.change {
            NameChange::Missing { stands_as } => ("missing", Some(stands_as)),
            NameChange::Earlier { stands_as } => ("earlier", Some(stands_as)),
            NameChange::Absent { .. } => ("absent", None),
            NameChange::Remains => ("remains", None),
        };
        let stands_as = stands_as.map(|it| format!("/{}", it.display()));
        json!({ "name": format!("/{}", it.name.display()), "change": change, "stands_as": stands_as })
    };
    state.names.iter().map(one).collect()
}
