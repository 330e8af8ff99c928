//! Computing on a stack without a modelled processor: an adapter between a source and the engine ends each
//! [`Op::Compute`] after its time. On a stack with a processor it passes them on. So a source need not know which stack
//! it runs on.

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;

use crate::block::{Accounting, Completion, Limits, Op, Source, SourcePoll, Status};
use crate::record::{Effort, Part, Parts};
use crate::time::{Instant, Span};

/// A source on a device with or without a processor.
#[derive(Clone, Debug)]
pub struct ComputeSource<S> {
    source: S,
    /// The device accepts [`Op::Compute`].
    computes: bool,
    /// Computing in progress, the next to end first.
    computing: BinaryHeap<Reverse<RunningComputation>>,
}

/// Computing in progress; the order is that of the ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RunningComputation {
    finished: Instant,
    tag: u32,
    submitted: Instant,
}

impl<S: Source> ComputeSource<S> {
    /// `source` on a device with these limits.
    pub fn new(source: S, limits: &Limits) -> ComputeSource<S> {
        ComputeSource { source, computes: limits.computes, computing: BinaryHeap::new() }
    }

    /// The source.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// Returns the source.
    pub fn into_source(self) -> S {
        self.source
    }

    /// Completes the computing that is over by `now`, each at its own instant. The source's answers are ignored:
    /// nothing of it is recorded, since no device served it.
    #[cold]
    fn complete_computing(&mut self, now: Instant) {
        while let Some(&Reverse(RunningComputation { finished, tag, submitted })) = self.computing.peek()
            && finished <= now
        {
            self.computing.pop();
            let mut parts = Parts::default();
            parts.add(Part::Processor, finished.since(submitted));
            let (status, effort) = (Status::Done, Effort::default());
            self.source.complete(finished, &Completion { tag, status, submitted, finished, parts, effort });
        }
    }
}

impl<S: Source> Source for ComputeSource<S> {
    #[inline]
    fn next(&mut self, now: Instant) -> SourcePoll {
        loop {
            if !self.computing.is_empty() {
                self.complete_computing(now);
            }
            let next = self.source.next(now);
            if let SourcePoll::Request(request) = &next {
                if request.op != Op::Compute || self.computes {
                    return next;
                }
                let finished = now + Span::from_micros(request.sectors.into());
                self.computing.push(Reverse(RunningComputation { finished, tag: request.tag, submitted: now }));
                continue;
            }
            if let SourcePoll::Served(_) = next {
                return next;
            }
            let Some(&Reverse(RunningComputation { finished, .. })) = self.computing.peek() else { return next };
            return SourcePoll::At(if let SourcePoll::At(at) = next { at.min(finished) } else { finished });
        }
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
        self.computing.is_empty() && self.source.awaits_completion(now)
    }
}
