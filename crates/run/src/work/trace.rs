//! A recorded trace as work: it is opened anew for each run, and read while it is played. The result says how far from
//! their due times its requests were issued. No file is opened here: the loader of a trace (`lab/trace`) provides the
//! opener.

use std::fmt;
use std::sync::Arc;

use seekwise_disk::block::{Accounting, Completion, Limits, Source, SourcePoll};
use seekwise_disk::time::{Instant, Span};
use seekwise_work::workload::trace::{LoopMode, ReplayCounts, ReplayMode, TraceRow, TraceSource};

use crate::outcome::RunError;
use crate::receipt::lateness::Lateness;

/// The rows of an open trace.
pub trait TraceFeed: Send {
    /// The next row, in the order of their instants.
    fn next_row(&mut self) -> Option<TraceRow>;
    /// Why reading stopped before the end of the trace, if it did.
    fn read_error(&self) -> Option<String>;
    /// Counts of the rows so far that were moved.
    fn moved_counts(&self) -> MovedRows;
}

/// Counts of rows that were moved to other addresses than recorded.
#[derive(Clone, Copy, Debug, Default)]
pub struct MovedRows {
    /// All moved rows.
    pub moved: u64,
    /// Moved rows that were also shortened or shifted to fit the device.
    pub clipped: u64,
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
    /// True if its requests are due at their recorded instants, whatever the device does.
    pub fn is_open_loop(&self) -> bool {
        self.how.mode == LoopMode::Open
    }

    /// Opens the trace and makes its source for a device with these limits.
    pub(crate) fn open_source(&self, limits: &Limits) -> Result<TracePlayback, RunError> {
        let feed = (self.open)().map_err(RunError::Unfit)?;
        Ok(TracePlayback {
            trace: TraceSource::new(FeedRows(feed), self.how, limits.fua),
            lateness: Lateness::default(),
        })
    }
}

/// A feed as an iterator.
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
    /// How far from their due times requests were issued ([`TraceSource::issue_offset`]).
    pub off: Lateness,
    /// Requests that were moved to other addresses than recorded.
    pub moved: u64,
    /// Moved requests that were shortened or shifted to fit the device.
    pub clipped: u64,
}

impl TracePlayback {
    /// How it was played so far.
    pub fn replay_result(&self) -> ReplayResult {
        let MovedRows { moved, clipped } = self.trace.rows().0.moved_counts();
        ReplayResult { played: self.trace.replay_counts(), off: self.lateness.clone(), moved, clipped }
    }

    /// Why the trace could not be read to its end, if it could not.
    pub fn read_error(&self) -> Option<String> {
        self.trace.rows().0.read_error()
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
