//! When a run ends before its source does: after so many requests, or because the caller cancels it. No clock is read:
//! work is asked whether it is still wanted from request to request, so a run that nobody cancels is the same as one
//! that nobody could cancel.

use seekwise_disk::block::{Accounting, Completion, Source, SourcePoll};
use seekwise_disk::time::Instant;

/// Whether work is to end early. Called often and by several threads: it should do no more than look at a flag.
pub type Cancelled<'a> = &'a (dyn Fn() -> bool + Sync);

/// Actions of a source from one question to the next in virtual time: some 10^5 to 10^7 happen in a second.
const STEP: u32 = 1 << 10;

/// When a run ends early.
#[derive(Clone, Copy)]
pub struct RunCutoff<'a> {
    /// After so many requests.
    pub most: u64,
    /// When this says so; requests in flight are still completed.
    pub cancelled: Cancelled<'a>,
    /// Actions of the source from one question to the next.
    every: u32,
}

impl RunCutoff<'_> {
    /// Never.
    pub const NEVER: RunCutoff<'static> = RunCutoff { most: u64::MAX, cancelled: &|| false, every: STEP };

    /// After `most` requests.
    pub const fn after_requests(most: u64) -> RunCutoff<'static> {
        RunCutoff { most, ..RunCutoff::NEVER }
    }

    /// Asks before each action: for real time, where a request takes longer than the question.
    #[must_use]
    pub const fn asking_each_action(self) -> Self {
        RunCutoff { every: 1, ..self }
    }
}

impl<'a> RunCutoff<'a> {
    /// When `cancelled` says so.
    pub const fn when_cancelled(cancelled: Cancelled<'a>) -> RunCutoff<'a> {
        RunCutoff { most: u64::MAX, cancelled, every: STEP }
    }
}

/// A source that is over once its run is cancelled.
pub struct CancellableSource<'a, S> {
    source: S,
    cancelled: Cancelled<'a>,
    every: u32,
    /// Actions until it is asked again.
    left: u32,
    was_cancelled: bool,
}

impl<'a, S> CancellableSource<'a, S> {
    /// `source`, unless the run is cancelled.
    pub fn new(source: S, cutoff: RunCutoff<'a>) -> CancellableSource<'a, S> {
        let RunCutoff { cancelled, every, .. } = cutoff;
        CancellableSource { source, cancelled, every, left: 0, was_cancelled: false }
    }

    /// Whether it ended because its run was cancelled.
    pub fn was_cancelled(&self) -> bool {
        self.was_cancelled
    }

    /// Returns the source.
    pub fn into_source(self) -> S {
        self.source
    }
}

impl<S: Source> CancellableSource<'_, S> {
    #[cold]
    fn ask_whether_cancelled(&mut self) -> bool {
        self.was_cancelled = self.was_cancelled || (self.cancelled)();
        self.left = if self.was_cancelled { 0 } else { self.every };
        self.was_cancelled
    }
}

impl<S: Source> Source for CancellableSource<'_, S> {
    #[inline]
    fn next(&mut self, now: Instant) -> SourcePoll {
        if self.left == 0 && self.ask_whether_cancelled() {
            return SourcePoll::Done;
        }
        self.left -= 1;
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
        // Where the next call asks whether the run is cancelled, it may end.
        self.left > 0 && self.source.awaits_completion(now)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// Asks for nothing, at each instant anew.
    struct Idle;

    impl Source for Idle {
        fn next(&mut self, now: Instant) -> SourcePoll {
            SourcePoll::At(now)
        }
        fn complete(&mut self, _: Instant, _: &Completion) -> Accounting {
            unreachable!("nothing was asked for")
        }
        fn awaits_completion(&self, _: Instant) -> bool {
            true
        }
    }

    #[test]
    fn a_source_that_may_be_cancelled_at_its_next_call_does_not_wait() {
        let never = || false;
        for (cutoff, calls) in
            [(RunCutoff::when_cancelled(&never), 1 << 10), (RunCutoff::when_cancelled(&never).asking_each_action(), 1)]
        {
            let mut source = CancellableSource::new(Idle, cutoff);
            for call in 1..=3 * calls {
                source.next(Instant::ZERO);
                assert_eq!(source.awaits_completion(Instant::ZERO), call % calls != 0, "{call} of {calls}");
            }
        }
    }

    /// Actions of a source whose third question is answered with yes.
    fn actions(each: bool) -> usize {
        let asked = AtomicU32::new(0);
        let third = || asked.fetch_add(1, Ordering::Relaxed) == 2;
        let cutoff = RunCutoff::when_cancelled(&third);
        let mut source = CancellableSource::new(Idle, if each { cutoff.asking_each_action() } else { cutoff });
        let count = (0..1 << 20).take_while(|_| source.next(Instant::ZERO) != SourcePoll::Done).count();
        assert!(source.was_cancelled());
        assert_eq!((source.next(Instant::ZERO), asked.load(Ordering::Relaxed)), (SourcePoll::Done, 3), "it stays over");
        count
    }

    #[test]
    fn a_cancelled_source_is_over_at_the_next_question() {
        assert_eq!(actions(false), 2 << 10);
        assert_eq!(actions(true), 2);
    }
}
