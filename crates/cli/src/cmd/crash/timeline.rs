//! The timeline around the cut that left the worst medium: writes, flushes and promises in order, and the state of each write.

use seekwise::crash::{HistoryEvent, HistoryMark, LostWrite, Op, SessionWrite, ShrinkResult};
use seekwise::time::Instant;

use super::text::to_seconds;
use super::{CrashReport, WorstMedium};

/// Events that are shown before the cut, and after it; those of the fewest lost writes are always shown.
const SHOWN_BEFORE: usize = 16;
const SHOWN_AFTER: usize = 6;

/// An event: when, in words, and whether it is always shown.
struct TimelineEvent {
    at: Instant,
    words: String,
    is_key: bool,
}

/// Headings of the table.
pub fn heads() -> [String; 3] {
    ["event", "s", "ms from the cut"].map(str::to_owned)
}

/// A row for each event near the cut, the cut included.
pub fn rows(report: &CrashReport, worst: &WorstMedium) -> Vec<Vec<String>> {
    let cut = worst.tried.case.at;
    let events = events(report, worst);
    let before = events.iter().filter(|event| event.at <= cut).count();
    let near = before.saturating_sub(SHOWN_BEFORE)..before + SHOWN_AFTER;
    let row = |at: Instant, words: String| {
        let from_cut = 1e3 * (to_seconds(at) - to_seconds(cut));
        vec![words, format!("{:.6}", to_seconds(at)), format!("{from_cut:+.3}")]
    };
    let mut rows = Vec::new();
    for (index, event) in events.iter().enumerate() {
        if index == before {
            rows.push(row(cut, "the power fails".to_owned()));
        }
        if near.contains(&index) || event.is_key {
            rows.push(row(event.at, event.words.clone()));
        }
    }
    if before == events.len() {
        rows.push(row(cut, "the power fails".to_owned()));
    }
    rows
}

/// All events of the session, in order.
fn events(report: &CrashReport, worst: &WorstMedium) -> Vec<TimelineEvent> {
    let cut = worst.tried.case.at;
    let fewest: &[LostWrite] = match &worst.shrunk {
        ShrinkResult::To { lost, .. } => &lost.left,
        _ => &[],
    };
    let mut events: Vec<TimelineEvent> = report
        .outcome
        .writes
        .accepted_by(Instant::FAR)
        .map(|write| {
            let is_key = fewest.iter().any(|lost| lost.write.stamp == write.stamp);
            let purpose = worst.purposes.iter().find(|purpose| purpose.0 == write.stamp);
            let purpose = purpose.map_or(String::new(), |purpose| format!(" ({})", purpose.1));
            let sectors = write.run.1 - write.run.0;
            let state =
                if is_key { "LOST; it alone or with the others explains the medium" } else { state_at(write, cut) };
            let words = format!("write {} of {sectors} sectors to {}{purpose}: {state}", write.stamp, write.run.0);
            TimelineEvent { at: write.taken, words, is_key }
        })
        .collect();
    events.extend(report.recorded.history.events.iter().filter_map(|event| match event {
        HistoryEvent::Taken(at, request) if request.op == Op::Flush => {
            Some(TimelineEvent { at: *at, words: format!("flush {} begins", request.stamp), is_key: false })
        }
        HistoryEvent::Over(request, completion) if request.op == Op::Flush => {
            let words = format!("flush {} is acknowledged", request.stamp);
            Some(TimelineEvent { at: completion.finished, words, is_key: false })
        }
        _ => None,
    }));
    events.extend(report.recorded.history.marks.iter().filter_map(|(at, mark)| match mark {
        HistoryMark::Said(line) => Some(TimelineEvent { at: *at, words: format!("promise: {line}"), is_key: false }),
        _ => None,
    }));
    events.sort_by_key(|event| event.at);
    events
}

/// The state of a write at the cut, in words.
fn state_at(write: &SessionWrite, cut: Instant) -> &'static str {
    match () {
        () if write.taken > cut => "after the cut",
        () if write.durable <= cut => "must be on the medium: flushed, or forced",
        () if write.over <= cut => "acknowledged, not flushed",
        () => "not acknowledged",
    }
}
