//! A recorded trace as work: opened anew for each run, read while it is played, and how near to their places in time its
//! requests were issued. Opens no file itself: whoever loads a trace lends an opener.

use std::fmt;
use std::sync::Arc;

use seekwise_disk::block::{Accounting, Completion, Limits, Source, SourcePoll};
use seekwise_disk::time::{Instant, Span};
use seekwise_work::workload::trace::{LoopMode, ReplayCounts, ReplayMode, TraceRow, TraceSource};

use crate::outcome::RunError;
use crate::receipt::lateness::Lateness;

/// Where the rows of a trace come from.
pub trait TraceFeed: Send {
    /// The next, in the order of their instants.
    fn next_row(&mut self) -> Option<TraceRow>;
    /// Why there are no more, where that is not their end.
    fn read_fault(&self) -> Option<String>;
    /// Counts rows that were put elsewhere than they were recorded, and those among them that were cut or pushed to fit.
    fn moved_counts(&self) -> (u64, u64);
}

/// Opens a trace for a run.
pub(crate) type TraceOpener = dyn Fn() -> Result<Box<dyn TraceFeed>, String> + Send + Sync;

/// A trace to be played.
#[derive(Clone)]
pub struct TraceSpec {
    /// The name for reports.
    pub name: String,
    /// How it is played.
    pub how: ReplayMode,
    /// Requests in it.
    pub requests: u64,
    /// Writes among the requests.
    pub writes: u64,
    /// Trims among the requests.
    pub trims: u64,
    /// From the first to the last, as they were recorded.
    pub span: Span,
    /// Opens it.
    pub open: Arc<TraceOpener>,
}

impl fmt::Debug for TraceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TraceSpec { name, how, requests, span, .. } = self;
        f.debug_struct("TraceSpec").field("name", name).field("how", how).field("of", &(requests, span)).finish()
    }
}

impl TraceSpec {
    /// Whether its requests are due at their recorded instants, whatever the device does.
    pub fn is_open(&self) -> bool {
        self.how.mode == LoopMode::Open
    }

    /// Opens its source, on a device with these limits.
    pub(crate) fn open_source(&self, limits: &Limits) -> Result<TracePlayback, RunError> {
        let feed = (self.open)().map_err(RunError::Unfit)?;
        Ok(TracePlayback {
            trace: TraceSource::new(FeedRows(feed), self.how, limits.fua),
            lateness: Lateness::default(),
        })
    }
}

/// A feed as the model wants it.
struct FeedRows(Box<dyn TraceFeed>);

impl Iterator for FeedRows {
    type Item = TraceRow;

    #[inline]
    fn next(&mut self) -> Option<TraceRow> {
        self.0.next_row()
    }
}

/// A trace being played.
pub struct TracePlayback {
    trace: TraceSource<FeedRows>,
    lateness: Lateness,
}

/// How a trace was played.
#[derive(Clone, Debug)]
pub struct ReplayResult {
    /// Counts of the playback.
    pub played: ReplayCounts,
    /// How far from their places in time requests were issued ([`TraceSource::issue_offset`]).
    pub off: Lateness,
    /// Requests that were put elsewhere than they were recorded.
    pub moved: u64,
    /// Moved requests that were pushed to fit.
    pub clipped: u64,
}

impl TracePlayback {
    /// How it was played so far.
    pub fn replay_result(&self) -> ReplayResult {
        let (moved, clipped) = self.trace.rows().0.moved_counts();
        ReplayResult { played: self.trace.replay_counts(), off: self.lateness.clone(), moved, clipped }
    }

    /// Why it was not read to its end.
    pub fn read_fault(&self) -> Option<String> {
        self.trace.rows().0.read_fault()
    }
}

impl Source for TracePlayback {
    #[inline]
    fn next(&mut self, now: Instant) -> SourcePoll {
        let issued = self.trace.replay_counts().issued;
        let next = self.trace.next(now);
        // A flush that follows a write is no row of the trace.
        if self.trace.replay_counts().issued > issued {
            self.lateness.add(self.trace.issue_offset());
        }
        next
    }

    #[inline]
    fn complete(&mut self, now: Instant, completion: &Completion) -> Accounting {
        self.trace.complete(now, completion)
    }

    fn handle_refusal(&mut self, now: Instant) {
        self.trace.handle_refusal(now);
    }
}
