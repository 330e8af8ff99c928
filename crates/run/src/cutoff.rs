//! Ends a run before its source does: after a number of requests, or because the caller cancels it. No clock is read:
//! the caller's flag is checked between the actions of the source, so a run that nobody cancels equals one that cannot
//! be cancelled.

use seekwise_disk::block::{Accounting, Completion, Source, SourcePoll};
use seekwise_disk::time::Instant;

/// True if the run is to end early. Several threads call it often, so it should do no more than read a flag.
pub type Cancelled<'a> = &'a (dyn Fn() -> bool + Sync);

/// Actions of a source from one check to the next in virtual time, where some 10^5 to 10^7 happen in a second.
const CHECK_INTERVAL: u32 = 1 << 10;

/// When a run ends early.
#[derive(Clone, Copy)]
pub struct RunCutoff<'a> {
    /// After this many requests.
    pub request_limit: u64,
    /// When this returns true; requests in flight are still completed.
    pub cancelled: Cancelled<'a>,
    /// Actions of the source from one check of `cancelled` to the next.
    check_interval: u32,
}

impl RunCutoff<'_> {
    /// Never.
    pub const NEVER: RunCutoff<'static> =
        RunCutoff { request_limit: u64::MAX, cancelled: &|| false, check_interval: CHECK_INTERVAL };

    /// After `request_limit` requests.
    pub const fn after_requests(request_limit: u64) -> RunCutoff<'static> {
        RunCutoff { request_limit, ..RunCutoff::NEVER }
    }

    /// Checks before each action: for real time, where a request takes longer than the check.
    #[must_use]
    pub const fn checking_each_action(self) -> Self {
        RunCutoff { check_interval: 1, ..self }
    }
}

impl<'a> RunCutoff<'a> {
    /// When `cancelled` returns true.
    pub const fn when_cancelled(cancelled: Cancelled<'a>) -> RunCutoff<'a> {
        RunCutoff { request_limit: u64::MAX, cancelled, check_interval: CHECK_INTERVAL }
    }
}

/// A source that ends once its run is cancelled.
pub struct CancellableSource<'a, S> {
    source: S,
    cancelled: Cancelled<'a>,
    check_interval: u32,
    /// Actions until the next check.
    until_check: u32,
    was_cancelled: bool,
}

impl<'a, S> CancellableSource<'a, S> {
    /// `source`, until `cancellation` cancels the run; its limit of requests has no effect here.
    pub fn new(source: S, cancellation: RunCutoff<'a>) -> CancellableSource<'a, S> {
        let RunCutoff { cancelled, check_interval, .. } = cancellation;
        CancellableSource { source, cancelled, check_interval, until_check: 0, was_cancelled: false }
    }

    /// True if it ended because its run was cancelled.
    pub fn was_cancelled(&self) -> bool {
        self.was_cancelled
    }

    /// Returns the source.
    pub fn into_source(self) -> S {
        self.source
    }
}

impl<S: Source> CancellableSource<'_, S> {
    /// Calls `cancelled` and remembers the answer.
    #[cold]
    fn check_cancelled(&mut self) -> bool {
        self.was_cancelled = self.was_cancelled || (self.cancelled)();
        self.until_check = if self.was_cancelled { 0 } else { self.check_interval };
        self.was_cancelled
    }
}

impl<S: Source> Source for CancellableSource<'_, S> {
    #[inline]
    fn next(&mut self, now: Instant) -> SourcePoll {
        if self.until_check == 0 && self.check_cancelled() {
            return SourcePoll::Done;
        }
        self.until_check -= 1;
        self.source.next(now)
    }

    #[inline(always)]
    fn complete(&mut self, now: Instant, completion: &Completion) -> Accounting {
        self.source.complete(now, completion)
    }

    fn handle_refusal(&mut self, now: Instant) {
        self.source.handle_refusal(now);
    }

    #[inline]
    fn awaits_completion(&self, now: Instant) -> bool {
        // The source may end at a call that checks `cancelled`.
        self.until_check > 0 && self.source.awaits_completion(now)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// Issues nothing, and wants to be called again at once.
    struct Idle;

    impl Source for Idle {
        fn next(&mut self, now: Instant) -> SourcePoll {
            SourcePoll::At(now)
        }
        fn complete(&mut self, _: Instant, _: &Completion) -> Accounting {
            unreachable!("nothing was issued")
        }
        fn awaits_completion(&self, _: Instant) -> bool {
            true
        }
    }

    #[test]
    fn a_source_that_may_be_cancelled_at_its_next_call_does_not_wait() {
        let never = || false;
        for (cutoff, calls) in [
            (RunCutoff::when_cancelled(&never), 1 << 10),
            (RunCutoff::when_cancelled(&never).checking_each_action(), 1),
        ] {
            let mut source = CancellableSource::new(Idle, cutoff);
            for call in 1..=3 * calls {
                source.next(Instant::ZERO);
                assert_eq!(source.awaits_completion(Instant::ZERO), call % calls != 0, "{call} of {calls}");
            }
        }
    }

    /// Number of actions of a source whose third check finds the run cancelled.
    fn actions_until_cancelled(at_each_action: bool) -> usize {
        let asked = AtomicU32::new(0);
        let third = || asked.fetch_add(1, Ordering::Relaxed) == 2;
        let cutoff = RunCutoff::when_cancelled(&third);
        let mut source =
            CancellableSource::new(Idle, if at_each_action { cutoff.checking_each_action() } else { cutoff });
        let count = (0..1 << 20).take_while(|_| source.next(Instant::ZERO) != SourcePoll::Done).count();
        assert!(source.was_cancelled());
        assert_eq!((source.next(Instant::ZERO), asked.load(Ordering::Relaxed)), (SourcePoll::Done, 3), "it stays over");
        count
    }

    #[test]
    fn a_cancelled_source_ends_at_the_next_check() {
        assert_eq!(actions_until_cancelled(false), 2 << 10);
        assert_eq!(actions_until_cancelled(true), 2);
    }
}
