//! When fio sees completions: not when a request completes, but when its thread looks.
//!
//! With several requests in flight fio issues until its depth is in use, waits for some completions and takes a batch
//! (`iodepth_batch_complete_min`, `_max`), again and again until few enough are left (`iodepth_low`). A completion that
//! is not taken still counts in the depth. A sync that is a call blocks the thread, which sees nothing meanwhile. Most
//! jobs behave the same whether a completion is seen at once or later. Jobs with syncs, batches, a verify backlog, or
//! pauses after completions do not; only these have a [`Reaper`].
//!
//! Requests are queued, and handed to the device when so many are counted (`iodepth_batch`) and before each wait. A
//! wait does not reset the count, so that the next requests are handed over earlier, also in the next pass. Source: fio
//! 3.33, `backend.c` (`wait_for_completions`), `io_u.c`, `ioengines.c`, and its `engines` for what each engine refuses.

use alloc::collections::VecDeque;

use super::job::{EngineKind, FioPattern, IoEngine, RwModifier};

/// An offer to an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EngineOffer {
    Request,
    Sync,
}

/// A completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReapedEvent {
    Sync,
    Request {
        is_read: bool,
        /// The number of a write to read back, or 0.
        number: u32,
        lba: u64,
        sectors: u32,
    },
}

/// Whether a worker goes on once it has seen completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReapingOutcome {
    MayGoOn,
    /// fio waits for more completions.
    MustWait,
}

/// The completions that fio has not seen, and whether it looks.
#[derive(Clone, Debug)]
pub(crate) struct Reaper {
    engine: IoEngine,
    depth: u32,
    /// In order of completion.
    unseen: VecDeque<ReapedEvent>,
    /// A wait: fio must take completions before it goes on.
    wait: Option<ReapWait>,
    /// fio has issued since it last looked: it may take completions after each request.
    has_issued: bool,
    /// Requests that are not handed over yet.
    queued: u32,
    /// Requests counted towards the next handing over.
    counted: u32,
}

#[derive(Clone, Copy, Debug)]
struct ReapWait {
    /// The depth was in use: fio waits until few enough are left.
    is_depth_used: bool,
    /// Completions that fio waits for before it takes a batch; 0 while it takes one.
    least: u32,
    /// Completions still to take in this batch.
    batch_left: u32,
}

impl Reaper {
    /// Creates a reaper without completions; `None` if it makes no difference when fio looks. With
    /// `pauses_after_completions` the worker pauses after a number of completions.
    pub(crate) fn new(pattern: &FioPattern, depth: u32, pauses_after_completions: bool) -> Option<Reaper> {
        let engine = pattern.engine;
        let is_default = engine == IoEngine { kind: engine.kind, batch: engine.batch, ..IoEngine::default() }
            && engine.kind != EngineKind::OneGroupAtATime;
        let has_syncs = pattern.syncs.has_any() || pattern.flush_at_end;
        let is_partly_random = pattern.random.iter().any(|share| !matches!(share, 0 | 100));
        let has_runs = matches!(pattern.modifier, Some(RwModifier::Run(_) | RwModifier::Same(_)));
        // Which places a map leaves out depends on how many requests fio has in flight.
        let has_unmarked_places = pattern.random_map && (is_partly_random || has_runs);
        let matters = !is_default
            || has_syncs
            || pattern.backlog.is_some()
            || pattern.zoned.is_some()
            || pauses_after_completions
            || has_unmarked_places;
        let low = if engine.low == 0 { depth } else { engine.low.min(depth) };
        let engine = IoEngine { most: engine.most.max(engine.least), low, ..engine };
        (depth > 1 && matters).then(|| Reaper {
            engine,
            depth,
            unseen: VecDeque::new(),
            wait: None,
            has_issued: false,
            queued: 0,
            counted: 0,
        })
    }

    /// Notes that a request was issued, which is queued, or a sync that is a call, which is not.
    pub(crate) fn record_issue(&mut self, is_sync_call: bool) {
        self.has_issued = true;
        if is_sync_call {
            return;
        }
        (self.queued, self.counted) = (self.queued + 1, self.counted + 1);
        if self.counted >= self.engine.batch {
            self.hand_over_queued();
        }
    }

    /// Hands over the queued requests, and counts anew.
    pub(crate) fn hand_over_queued(&mut self) {
        (self.queued, self.counted) = (0, 0);
    }

    /// Returns true if the engine refuses an offer for now. The queued requests are then handed over, and fio waits for
    /// completions. `in_flight` is the number of requests that have not completed.
    pub(crate) fn wait_if_refused(&mut self, offer: EngineOffer, in_flight: u32) -> bool {
        let held = in_flight + self.unseen_count();
        let refused = match self.engine.kind {
            EngineKind::OneAtATime | EngineKind::AllQueued => false,
            EngineKind::SyncsHold => offer == EngineOffer::Sync && self.queued > 0,
            EngineKind::OneGroupAtATime => held > self.queued,
        };
        if refused {
            self.hand_over_queued();
            // The refused request counts in the depth.
            self.wait = Some(ReapWait { is_depth_used: held + 1 >= self.depth, least: u32::MAX, batch_left: 0 });
        }
        refused
    }

    /// Hands over the queued requests before a pause, in which fio waits for them; none if nothing is in flight.
    pub(crate) fn hand_over_before_pause(&mut self, in_flight: u32) {
        if in_flight + self.unseen_count() > 0 {
            self.hand_over_queued();
        }
    }

    /// Ends a pass, with nothing in flight.
    pub(crate) fn end_pass(&mut self) {
        self.queued = 0;
    }

    /// Notes a completion.
    pub(crate) fn record_completion(&mut self, event: ReapedEvent) {
        self.unseen.push_back(event);
    }

    /// The number of completions that fio has not seen.
    pub(crate) fn unseen_count(&self) -> u32 {
        self.unseen.len() as u32
    }

    /// Takes the oldest completion that fio has not seen.
    pub(crate) fn take_unseen(&mut self) -> Option<ReapedEvent> {
        let event = self.unseen.pop_front()?;
        if let Some(wait) = &mut self.wait {
            wait.batch_left = wait.batch_left.saturating_sub(1);
        }
        Some(event)
    }

    /// True if fio waits for more completions before it goes on.
    pub(crate) fn is_waiting(&self) -> bool {
        self.wait.is_some()
    }

    /// Begins, continues or ends a wait; true if fio takes the next completion now. `in_flight` is the number of
    /// requests that have not completed.
    pub(crate) fn advance_wait(&mut self, in_flight: u32) -> bool {
        let done = self.unseen.len() as u32;
        let held = in_flight + done;
        let takes_each = self.engine.least == 0 && self.engine.most == 0;
        let begins = held >= self.depth || (takes_each && core::mem::take(&mut self.has_issued) && held > 0);
        let wait = match &mut self.wait {
            Some(wait) if wait.batch_left > 0 => return true,
            // The batch is taken.
            Some(wait) if wait.least == 0 && !(wait.is_depth_used && held > self.engine.low) => {
                self.wait = None;
                return false;
            }
            Some(wait) => wait,
            None if begins => {
                self.queued = 0;
                self.wait.insert(ReapWait { is_depth_used: held >= self.depth, least: u32::MAX, batch_left: 0 })
            }
            None => return false,
        };
        let (least, most) = match self.engine.kind {
            EngineKind::OneGroupAtATime => (held, held),
            _ => (self.engine.least.min(held).max(1), self.engine.most),
        };
        if done < least {
            wait.least = least;
            return false;
        }
        (wait.least, wait.batch_left) = (0, done.min(most.max(least)));
        true
    }
}
