//! The timeline around the cut that left the worst medium: writes, flushes and promises in order, and the state of each write.

use seekwise::crash::{
    ChainLink, History, HistoryEvent, HistoryMark, LostWrite, Op, SessionWrite, SessionWrites, ShrinkResult,
};
use seekwise::time::Instant;

use super::recovery::RecoveryReport;
use super::text::to_seconds;
use super::{CrashReport, WorstMedium};

/// Events that are shown before the cut, and after it; those of the fewest lost writes are always shown.
pub const SHOWN_BEFORE: usize = 16;
pub const SHOWN_AFTER: usize = 6;

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

/// A session and its cut.
pub struct CutSession<'a> {
    history: &'a History,
    writes: &'a SessionWrites,
    cut: Instant,
    /// The instants of cuts of earlier sessions, if this is a recovery from them.
    earlier: Vec<Instant>,
    /// The examined medium of the cut; `None` if the recovery from it failed.
    worst: Option<&'a WorstMedium>,
}

impl CutSession<'_> {
    /// The workload's session and the cut that left the worst medium.
    pub fn of_workload<'a>(report: &'a CrashReport, worst: &'a WorstMedium) -> CutSession<'a> {
        CutSession {
            history: &report.recorded.history,
            writes: &report.outcome.writes,
            cut: worst.tried.case.at,
            earlier: Vec::new(),
            worst: Some(worst),
        }
    }

    /// The last session of the worst chain of cuts; `None` without one.
    pub fn of_worst_chain(report: &RecoveryReport) -> Option<CutSession<'_>> {
        let chain = super::recovery::worst_chain(&report.results)?;
        let (ChainLink { history, writes, case, .. }, before) = chain.links.split_last()?;
        Some(CutSession {
            history,
            writes,
            cut: case.at,
            earlier: before.iter().map(|link| link.case.at).collect(),
            worst: report.worst.as_ref(),
        })
    }

    /// The heading of the table: the cut, and those before it.
    pub fn heading(&self) -> String {
        let seconds = |instant: &Instant| format!("{:.6} s", to_seconds(*instant));
        let earlier: Vec<String> = self.earlier.iter().map(seconds).collect();
        match &earlier[..] {
            [] => format!("Around the cut at {}", seconds(&self.cut)),
            [first] => format!("Around the cut at {} of the recovery from the cut at {first}", seconds(&self.cut)),
            [first, later @ ..] => format!(
                "Around the cut at {} of the recovery from a recovery that was cut at {}, after the first cut at {first}",
                seconds(&self.cut),
                later.join(" and ")
            ),
        }
    }

    /// A row for each event near the cut, the cut included.
    pub fn rows(&self) -> Vec<Vec<String>> {
        let events = self.events();
        let before = events.iter().filter(|event| event.at <= self.cut).count();
        let near = before.saturating_sub(SHOWN_BEFORE)..before + SHOWN_AFTER;
        let row = |at: Instant, words: String| {
            let from_cut = 1e3 * (to_seconds(at) - to_seconds(self.cut));
            vec![words, format!("{:.6}", to_seconds(at)), format!("{from_cut:+.3}")]
        };
        let mut rows = Vec::new();
        for (index, event) in events.iter().enumerate() {
            if index == before {
                rows.push(row(self.cut, "the power fails".to_owned()));
            }
            if near.contains(&index) || event.is_key {
                rows.push(row(event.at, event.words.clone()));
            }
        }
        if before == events.len() {
            rows.push(row(self.cut, "the power fails".to_owned()));
        }
        rows
    }

    /// All events of the session, in order.
    fn events(&self) -> Vec<TimelineEvent> {
        let writes = self.writes.accepted_by(Instant::FAR).map(|write| self.write_event(write));
        let mut events: Vec<TimelineEvent> = writes.collect();
        let event = |at: Instant, words: String| Some(TimelineEvent { at, words, is_key: false });
        events.extend(self.history.events.iter().filter_map(|it| match it {
            HistoryEvent::Taken(at, request) if request.op == Op::Flush => {
                event(*at, format!("flush {} begins", request.stamp))
            }
            HistoryEvent::Over(request, completion) if request.op == Op::Flush => {
                event(completion.finished, format!("flush {} is acknowledged", request.stamp))
            }
            _ => None,
        }));
        // A recovery promises nothing.
        let said = if self.earlier.is_empty() { "promise" } else { "the recovery prints" };
        events.extend(self.history.marks.iter().filter_map(|(at, mark)| match mark {
            HistoryMark::Said(line) => event(*at, format!("{said}: {line}")),
            HistoryMark::Begin if !self.earlier.is_empty() => event(*at, "the recovery begins".to_owned()),
            _ => None,
        }));
        events.sort_by_key(|event| event.at);
        events
    }

    fn write_event(&self, write: &SessionWrite) -> TimelineEvent {
        let worst = self.worst;
        let fewest: &[LostWrite] = match worst.map(|worst| &worst.shrunk) {
            Some(ShrinkResult::To { lost, .. }) => &lost.left,
            _ => &[],
        };
        let is_key = fewest.iter().any(|lost| lost.write.stamp == write.stamp);
        let is_lost = worst.is_some_and(|worst| worst.lost.contains(&write.stamp));
        let purpose = worst.and_then(|worst| worst.purposes.get(&write.stamp));
        let purpose = purpose.map_or(String::new(), |purpose| format!(" ({purpose})"));
        let sectors = write.run.1 - write.run.0;
        let state = match () {
            () if is_key => "LOST; it alone or with the others explains the medium",
            () if write.taken > self.cut => "after the cut",
            () if is_lost && write.durable <= self.cut => "lost, although it was flushed or forced",
            () if is_lost => "lost, whole or in part; no flush had covered it",
            () if write.durable <= self.cut => "must be on the medium: flushed, or forced",
            () if write.over <= self.cut => "acknowledged, not flushed",
            () => "not acknowledged",
        };
        let words = format!("write {} of {sectors} sectors to {}{purpose}: {state}", write.stamp, write.run.0);
        TimelineEvent { at: write.taken, words, is_key }
    }
}
