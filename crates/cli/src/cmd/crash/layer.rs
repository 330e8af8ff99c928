//! The part of the output of `seekwise crash` on a layer between program and disk (`--layer`): the flushes that the program
//! sent to it, those that the disk received from it, and who is at fault if they differ.

use seekwise::crash::{CrashTrial, HistoryEvent, Op, Request, SentRequests};
use seekwise::device::Flags;
use serde_json::{Value, json};

use super::CrashReport;
use crate::args;

/// The flushes of a session on both sides of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LayerAudit {
    sent: SentRequests,
    /// Flushes and forced writes that the disk received.
    arrived: u64,
}

/// The verdict of the counts on program and layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LayerVerdict {
    /// Nothing was lost, or all durable requests arrived.
    Honest,
    /// Durable requests of the program did not arrive, and a promise was broken.
    Drops,
    /// The program sent none.
    NeverFlushed,
    /// The requests could not be read.
    Unknown,
}

impl LayerAudit {
    /// Counts both sides; `None` without a layer.
    fn of_report(report: &CrashReport) -> Option<LayerAudit> {
        let is_durable = |request: &Request| {
            request.op == Op::Flush
                || request.flags.has(Flags::FUA) && matches!(request.op, Op::Write | Op::WriteZeroes)
        };
        let received = |event: &&HistoryEvent| matches!(event, HistoryEvent::Taken(_, request) if is_durable(request));
        let arrived = report.recorded.history.events.iter().filter(received).count() as u64;
        report.recorded.sent.map(|sent| LayerAudit { sent, arrived })
    }

    /// A layer may merge flushes of several clients, or leave out one that has nothing to flush. So missing flushes alone accuse
    /// nobody: a promise must have been broken, too.
    fn judge(self, is_broken: bool) -> LayerVerdict {
        let LayerAudit { sent, arrived } = self;
        match () {
            () if sent.unreadable > 0 => LayerVerdict::Unknown,
            () if sent.needed == 0 && sent.writes > 0 => LayerVerdict::NeverFlushed,
            () if is_broken && arrived < sent.needed => LayerVerdict::Drops,
            () => LayerVerdict::Honest,
        }
    }
}

fn is_broken(report: &CrashReport) -> bool {
    report.outcome.tried.iter().any(CrashTrial::is_bad)
}

/// The paragraph on the layer; `None` without one.
pub fn layer_text(args: &args::CrashArgs, report: &CrashReport) -> Option<String> {
    let audit = LayerAudit::of_report(report)?;
    let name = args.layer.as_deref().unwrap_or_default().trim();
    let LayerAudit { sent, arrived } = audit;
    let counts = format!(
        "The program sent {} flushes and {} forced writes, {} of them with something to make durable; the disk received {arrived}.",
        sent.flushes, sent.forced, sent.needed
    );
    Some(match audit.judge(is_broken(report)) {
        LayerVerdict::Honest => format!("The layer between program and disk (`{name}`) is not at fault. {counts}"),
        LayerVerdict::Drops => format!(
            "The layer between program and disk (`{name}`) drops flushes: it answered them, and {} did not reach the disk. {counts} The \
             program did what it should; the disk could not know.",
            sent.needed - arrived
        ),
        LayerVerdict::NeverFlushed => format!(
            "The program never flushed: no flush of its writes came to the layer between it and the disk (`{name}`). {counts}"
        ),
        LayerVerdict::Unknown => {
            format!("The requests to the layer (`{name}`) are encrypted or not NBD, so its flushes are unknown.")
        }
    })
}

/// The layer as JSON; null without one.
pub fn layer_json(args: &args::CrashArgs, report: &CrashReport) -> Value {
    LayerAudit::of_report(report).map_or(Value::Null, |audit| {
        let verdict = match audit.judge(is_broken(report)) {
            LayerVerdict::Honest => "honest",
            LayerVerdict::Drops => "drops_flushes",
            LayerVerdict::NeverFlushed => "program_never_flushed",
            LayerVerdict::Unknown => "unknown",
        };
        json!({
            "command": args.layer, "verdict": verdict, "writes_sent": audit.sent.writes, "flushes_sent": audit.sent.flushes,
            "forced_sent": audit.sent.forced, "needed": audit.sent.needed, "arrived": audit.arrived,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_is_accused_by_missing_flushes_and_a_broken_promise_together() {
        let sent = SentRequests { writes: 10, flushes: 10, needed: 10, ..SentRequests::default() };
        let judge = |sent, arrived, is_broken| LayerAudit { sent, arrived }.judge(is_broken);
        assert_eq!(judge(sent, 10, true), LayerVerdict::Honest);
        assert_eq!(judge(sent, 4, false), LayerVerdict::Honest);
        assert_eq!(judge(sent, 4, true), LayerVerdict::Drops);
        assert_eq!(judge(SentRequests { flushes: 0, needed: 0, ..sent }, 0, true), LayerVerdict::NeverFlushed);
        assert_eq!(judge(SentRequests { unreadable: 1, ..sent }, 0, true), LayerVerdict::Unknown);
    }
}
