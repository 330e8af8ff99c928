//! The part of the output of `seekwise crash` on data that the disk had not received: bytes of files, and names in folders that were
//! only in the page cache.

use seekwise::crash::{ByteDifference, NameChange, UnflushedName, UnflushedPages, UnflushedState, show_bytes};
use serde_json::{Value, json};

use super::text::{MOST_NAMED, to_seconds};
use super::{CrashReport, WorstMedium};
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
    if let Some(worst) = &report.worst {
        text.extend(late_data_text(worst, "the promise", width).iter().map(|paragraph| format!("\n\n{paragraph}")));
    }
    match report.recorded.pages.left_out {
        0 => text,
        count => format!(
            "{text}\n\n{}",
            wrap_text(
                &format!("{count} files were not examined for this: there are too many, or they are too large."),
                width
            )
        ),
    }
}

/// Data that the disk received too late for a bad medium, a paragraph each for bytes and for names. `before` names what the program should
/// have flushed them before.
pub fn late_data_text(worst: &WorstMedium, before: &str, width: usize) -> Vec<String> {
    let Some((received, state)) = &worst.received_later else { return Vec::new() };
    let (cut_s, delay_s) = (to_seconds(worst.tried.case.at), to_seconds(*received) - to_seconds(worst.tried.case.at));
    let paragraphs = [
        list_paragraph(
            &format!(
                "At the cut at {cut_s:.6} s the disk had not received these data; it did {delay_s:.3} s later, and with them the check \
                 passes. Is an fsync missing before {before}?"
            ),
            state.files.iter().map(file_line),
            width,
        ),
        list_paragraph(
            &format!(
                "At the cut at {cut_s:.6} s the disk had the bytes of these files, but not the change of their directory, which it received \
                 {delay_s:.3} s later. Is an fsync of the directory missing before {before}?"
            ),
            state.names.iter().map(name_line),
            width,
        ),
    ];
    paragraphs.iter().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()).collect()
}

/// These data, as JSON.
pub fn late_json(worst: Option<&WorstMedium>) -> Option<Value> {
    let (received, state) = worst?.received_later.as_ref()?;
    Some(json!({ "received_s": to_seconds(*received), "files": files_json(state), "names": names_json(state) }))
}

/// A paragraph with a list below it; nothing if the list is empty.
fn list_paragraph(head: &str, lines: impl ExactSizeIterator<Item = String>, width: usize) -> String {
    let count = lines.len();
    if count == 0 {
        return String::new();
    }
    let mut text = format!("\n\n{}", wrap_text(head, width));
    for line in lines.take(MOST_NAMED) {
        let line = wrap_text(&line, width.saturating_sub(4)).replace('\n', "\n    ");
        text.push_str(&format!("\n  {line}"));
    }
    if count > MOST_NAMED {
        text.push_str(&format!("\n  and {} more", count - MOST_NAMED));
    }
    text
}

/// The most ranges of a file that are named.
const MOST_RANGES: usize = 4;

/// The line of a file: the bytes that the disk had not received, and whether its name was missing, too.
fn file_line(pages: &UnflushedPages) -> String {
    let UnflushedPages { file, length, ranges, named, first } = pages;
    let list = ranges.iter().take(MOST_RANGES).map(|(from, to)| format!("{from} to {}", to - 1));
    let mut list = list.collect::<Vec<_>>().join(", ");
    if ranges.len() > MOST_RANGES {
        let more = ranges.len() - MOST_RANGES;
        list.push_str(&format!(", and {more} more range{}", if more == 1 { "" } else { "s" }));
    }
    let bytes = match &ranges[..] {
        [] => "its name; it is empty".to_owned(),
        [(0, to)] if to == length => format!("all its {length} bytes"),
        _ => format!("bytes {list} of {length}"),
    };
    let name = if *named || ranges.is_empty() { "" } else { ", and its name" };
    let first = first.as_ref().map_or(String::new(), |first| {
        let stands = match first.stands.is_empty() {
            true if *named => "nothing: the file ends before".to_owned(),
            true => "nothing: there is no such file".to_owned(),
            false => show_bytes(&first.stands),
        };
        format!("; from byte {} on: missing {}; on the disk {stands}", first.offset, show_bytes(&first.lost))
    });
    format!("/{}: {bytes}{name}{first}", file.display())
}

/// The first difference of lost data, as JSON; `stands` is null if the data on the disk end before.
pub fn difference_json(difference: &ByteDifference) -> Value {
    let ByteDifference { offset, count: _, stands, lost } = difference;
    json!({ "offset": offset, "lost": show_bytes(lost), "stands": (!stands.is_empty()).then(|| show_bytes(stands)) })
}

/// The line of a name: its folder, and how the name there differs.
fn name_line(unflushed: &UnflushedName) -> String {
    let folder = unflushed.name.parent().map_or(String::new(), |folder| folder.display().to_string());
    let name = unflushed.name.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let state = match &unflushed.change {
        NameChange::Missing { stands_as } => {
            format!("`{name}` is not in it yet; it is still /{}", stands_as.display())
        }
        NameChange::Earlier { stands_as } => {
            format!("`{name}` is still the file from before; the new one is still /{}", stands_as.display())
        }
        NameChange::Absent { .. } => format!("`{name}` is not in it yet"),
        NameChange::Remains => format!("`{name}` is still in it, although it was deleted"),
    };
    format!("directory /{folder}: {state}")
}

/// The files with unreceived bytes, as JSON.
pub fn files_json(state: &UnflushedState) -> Vec<Value> {
    let file_json = |pages: &UnflushedPages| {
        let UnflushedPages { file, length, ranges, named, first } = pages;
        json!({
            "file": format!("/{}", file.display()), "bytes": length, "ranges": ranges, "named": named,
            "first": first.as_ref().map(difference_json),
        })
    };
    state.files.iter().map(file_json).collect()
}

/// The unreceived names, as JSON.
pub fn names_json(state: &UnflushedState) -> Vec<Value> {
    let name_json = |unflushed: &UnflushedName| {
        let (change, stands_as) = match &unflushed.change {
            NameChange::Missing { stands_as } => ("missing", Some(stands_as)),
            NameChange::Earlier { stands_as } => ("earlier", Some(stands_as)),
            NameChange::Absent { .. } => ("absent", None),
            NameChange::Remains => ("remains", None),
        };
        let stands_as = stands_as.map(|path| format!("/{}", path.display()));
        json!({ "name": format!("/{}", unflushed.name.display()), "change": change, "stands_as": stands_as })
    };
    state.names.iter().map(name_json).collect()
}
