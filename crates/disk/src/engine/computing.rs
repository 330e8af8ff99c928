//! Computing without a processor: the time simply passes. No other module handles this case, so a source of
//! [`Op::Compute`] need not know whether the stack has a processor.

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
    /// Computing in progress: when it ends, its tag, when it began.
    passing: BinaryHeap<Reverse<(Instant, u32, Instant)>>,
}

impl<S: Source> ComputeSource<S> {
    /// `source` on a device with these limits.
    pub fn new(source: S, limits: &Limits) -> ComputeSource<S> {
        ComputeSource { source, computes: limits.computes, passing: BinaryHeap::new() }
    }

    /// The source.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// Returns the source.
    pub fn into_source(self) -> S {
        self.source
    }

    /// Ends the computing that is over by `now`, each at its own instant. Completions are not counted: none was a request of
    /// the device.
    #[cold]
    fn end_passed(&mut self, now: Instant) {
        while let Some(&Reverse((finished, tag, submitted))) = self.passing.peek()
            && finished <= now
        {
            self.passing.pop();
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
            if !self.passing.is_empty() {
                self.end_passed(now);
            }
            let next = self.source.next(now);
            if let SourcePoll::Request(request) = &next {
                if request.op != Op::Compute || self.computes {
                    return next;
                }
                let end = now + Span::from_micros(request.sectors.into());
                self.passing.push(Reverse((end, request.tag, now)));
                continue;
            }
            if let SourcePoll::Served(_) = next {
                return next;
            }
            let Some(&Reverse((end, ..))) = self.passing.peek() else { return next };
            return SourcePoll::At(if let SourcePoll::At(at) = next { at.min(end) } else { end });
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
        self.passing.is_empty() && self.source.awaits_completion(now)
    }
}
