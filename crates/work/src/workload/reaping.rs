//! When fio sees completions: not when a request completes, but when its thread looks.
//!
//! With several requests in flight fio issues until its depth is in use, waits for some completions and takes a batch
//! (`iodepth_batch_complete_min`, `_max`), again and again until few enough are left (`iodepth_low`). A completion that
//! it has not taken still counts in the depth. A sync that is a call blocks the thread; it sees nothing meanwhile. Most
//! jobs behave the same whether a completion is seen at once or later; jobs with syncs, batches, a verify backlog, or
//! pauses after completions do not.
//!
//! Requests are handed to the device when so many are counted (`iodepth_batch`), and before each wait. A wait does not
//! reset the count, so that the next requests are handed over earlier, in the next pass too. Source: fio 3.33,
//! `backend.c` (`wait_for_completions`), `io_u.c`, `ioengines.c`; what each engine refuses for now: `engines`.

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
    /// A request: whether it was a read, and its place; the number of a write to read back, or 0.
    Request {
        read: bool,
        number: u32,
        lba: u64,
        sectors: u32,
    },
}

/// The completions that fio has not seen, and whether it looks.
#[derive(Clone, Debug)]
pub(crate) struct Reaper {
    engine: IoEngine,
    depth: u32,
    /// In order of completion.
    unseen: VecDeque<ReapedEvent>,
    /// A wait: fio must take completions before it goes on.
    wait: Option<Wait>,
    /// fio has just issued: it may take completions after each request.
    issued: bool,
    /// Requests that are not handed over yet.
    queued: u32,
    /// Requests counted since so many were handed over.
    counted: u32,
}

#[derive(Clone, Copy, Debug)]
struct Wait {
    /// The depth was in use: fio waits until few enough are left.
    full: bool,
    /// Completions that fio takes at a time, at least.
    least: u32,
    /// Completions still to take in this batch.
    taking: u32,
}

impl Reaper {
    /// Without completions; `None` if it makes no difference when fio looks. `pauses`: after a number of completions.
    pub(crate) fn new(pattern: &FioPattern, depth: u32, pauses: bool) -> Option<Reaper> {
        let engine = pattern.engine;
        let plain = engine == IoEngine { kind: engine.kind, batch: engine.batch, ..IoEngine::default() }
            && engine.kind != EngineKind::OneGroupAtATime;
        let zoned = pattern.zoned.is_some();
        let syncs = pattern.syncs.has_any() || pattern.flush_at_end;
        let partly = pattern.random.iter().any(|share| !matches!(share, 0 | 100));
        let runs = matches!(pattern.modifier, Some(RwModifier::Run(_) | RwModifier::Same(_)));
        // Which places a map leaves out depends on how many requests fio has in flight.
        let gaps = pattern.random_map && (partly || runs);
        let matters = !plain || syncs || pattern.backlog.is_some() || zoned || pauses || gaps;
        let low = if engine.low == 0 { depth } else { engine.low.min(depth) };
        let engine = IoEngine { most: engine.most.max(engine.least), low, ..engine };
        (depth > 1 && matters).then(|| Reaper {
            engine,
            depth,
            unseen: VecDeque::new(),
            wait: None,
            issued: false,
            queued: 0,
            counted: 0,
        })
    }

    /// Notes that a request was issued, to be handed over with others, or, with `call`, a sync that is a call.
    pub(crate) fn record_issue(&mut self, call: bool) {
        self.issued = true;
        if call {
            return;
        }
        (self.queued, self.counted) = (self.queued + 1, self.counted + 1);
        if self.counted >= self.engine.batch {
            self.hand_over();
        }
    }

    /// Hands over what is queued, and counts anew.
    pub(crate) fn hand_over(&mut self) {
        (self.queued, self.counted) = (0, 0);
    }

    /// Checks whether the engine refuses an offer for now. If so, hands over what is queued and waits for completions.
    /// `in_flight`: requests not done.
    pub(crate) fn check_refusal(&mut self, offer: EngineOffer, in_flight: u32) -> bool {
        let held = in_flight + self.unseen_count();
        let refused = match self.engine.kind {
            EngineKind::OneAtATime | EngineKind::AllQueued => false,
            EngineKind::SyncsHold => offer == EngineOffer::Sync && self.queued > 0,
            EngineKind::OneGroupAtATime => held > self.queued,
        };
        if refused {
            self.hand_over();
            // The refused request counts in the depth.
            self.wait = Some(Wait { full: held + 1 >= self.depth, least: u32::MAX, taking: 0 });
        }
        refused
    }

    /// Hands over what is queued before a pause, in which fio waits for all of it; nothing, if nothing is in flight.
    pub(crate) fn hand_over_before_pause(&mut self, in_flight: u32) {
        if in_flight + self.unseen_count() > 0 {
            self.hand_over();
        }
    }

    /// Ends a pass, with nothing in flight.
    pub(crate) fn end_pass(&mut self) {
        self.queued = 0;
    }

    /// Notes a completion.
    pub(crate) fn record_completion(&mut self, seen: ReapedEvent) {
        self.unseen.push_back(seen);
    }

    /// The number of completions that fio has not seen.
    pub(crate) fn unseen_count(&self) -> u32 {
        self.unseen.len() as u32
    }

    /// Takes the next completion.
    pub(crate) fn take_completion(&mut self) -> Option<ReapedEvent> {
        let seen = self.unseen.pop_front()?;
        if let Some(wait) = &mut self.wait {
            wait.taking = wait.taking.saturating_sub(1);
        }
        Some(seen)
    }

    /// True if fio waits for more completions before it goes on.
    pub(crate) fn is_waiting(&self) -> bool {
        self.wait.is_some()
    }

    /// Advances the wait; true if fio takes the next completion now. `in_flight`: requests not done.
    pub(crate) fn advance_wait(&mut self, in_flight: u32) -> bool {
        let done = self.unseen.len() as u32;
        let held = in_flight + done;
        let polls = self.engine.least == 0 && self.engine.most == 0;
        let begins = held >= self.depth || (polls && core::mem::take(&mut self.issued) && held > 0);
        let wait = match &mut self.wait {
            Some(wait) if wait.taking > 0 => return true,
            // All that had to be taken is taken.
            Some(wait) if wait.least == 0 && !(wait.full && held > self.engine.low) => {
                self.wait = None;
                return false;
            }
            Some(wait) => wait,
            None if begins => {
                self.queued = 0;
                self.wait.insert(Wait { full: held >= self.depth, least: u32::MAX, taking: 0 })
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
        (wait.least, wait.taking) = (0, done.min(most.max(least)));
        true
    }
}
