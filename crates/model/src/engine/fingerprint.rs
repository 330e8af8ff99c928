//! A source whose requests are counted and hashed as they go by, and that ends after so many. Changes no request.

use crate::block::{Completion, Counted, Flags, Next, Op, Source};
use crate::time::Instant;

/// The source.
#[derive(Clone, Debug)]
pub struct Fingerprint<S> {
    source: S,
    hash: u64,
    issued: u64,
    most: u64,
    /// [`Flags::FLUSH_FOLLOWS`] is not taken off here.
    watched: bool,
}

impl<S: Source> Fingerprint<S> {
    /// Of `source`, which ends after `most` requests.
    pub fn new(source: S, most: u64) -> Fingerprint<S> {
        Fingerprint { source, hash: 0xcbf2_9ce4_8422_2325, issued: 0, most, watched: false }
    }

    /// Leaves [`Flags::FLUSH_FOLLOWS`] to the device, which takes it off.
    pub fn watch(&mut self) {
        self.watched = true;
    }

    /// A hash of all requests in order of issue (operation, place, size; FNV-1a over 64-bit words): equal streams have
    /// equal hashes.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// Requests issued.
    pub fn issued(&self) -> u64 {
        self.issued
    }

    /// What is counted.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// What was counted.
    pub fn into_source(self) -> S {
        self.source
    }

    #[inline]
    fn mix(&mut self, word: u64) {
        self.hash = (self.hash ^ word).wrapping_mul(0x0000_0100_0000_01b3);
    }
}

impl<S: Source> Source for Fingerprint<S> {
    #[inline]
    fn next(&mut self, now: Instant) -> Next {
        if self.issued == self.most {
            return Next::Done;
        }
        let mut next = self.source.next(now);
        if let Next::Request(request) = &mut next {
            let op = match request.op {
                Op::Read => 1,
                Op::Write => 2,
                Op::WriteZeroes => 3,
                Op::Flush => 4,
                Op::Trim => 5,
                Op::Compute => 6,
            };
            self.mix(op | u64::from(request.sectors) << 8);
            self.mix(request.lba);
            self.issued += 1;
            if !self.watched {
                request.flags = request.flags.without(Flags::FLUSH_FOLLOWS);
            }
        }
        next
    }

    #[inline]
    fn complete(&mut self, now: Instant, completion: &Completion) -> Counted {
        self.source.complete(now, completion)
    }
}
