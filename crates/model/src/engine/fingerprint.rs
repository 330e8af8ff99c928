//! A source whose requests are counted and hashed as they go by, and that ends after so many. Changes no request.

use alloc::vec::Vec;

use crate::block::{Completion, Counted, Flags, Next, Op, Source};
use crate::time::Instant;

/// Requests of each worker that its hash covers: few enough for any run that says something to have them.
pub const FIRST: u32 = 100;

/// The first reads and writes of a worker, as they were drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// How many: [`FIRST`], or as many as there were.
    pub requests: u32,
    /// A hash of them, as [`Fingerprint::hash`]. Flushes and computing are left out: places that can do more than others are
    /// asked for fewer of them.
    pub hash: u64,
}

/// Of nothing yet.
const BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// The source.
#[derive(Clone, Debug)]
pub struct Fingerprint<S> {
    source: S,
    hash: u64,
    issued: u64,
    most: u64,
    /// [`Flags::FLUSH_FOLLOWS`] is not taken off here.
    watched: bool,
    /// By worker.
    streams: Vec<Stream>,
}

impl<S: Source> Fingerprint<S> {
    /// Of `source`, which ends after `most` requests.
    pub fn new(source: S, most: u64) -> Fingerprint<S> {
        Fingerprint { source, hash: BASIS, issued: 0, most, watched: false, streams: Vec::new() }
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

    /// By worker: its first requests, however those of the workers came in between one another.
    pub fn streams(&self) -> &[Stream] {
        &self.streams
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

    /// Counts a request of a worker among its first, if it is one of them.
    #[inline]
    fn first(&mut self, worker: usize, words: [u64; 2]) {
        match self.streams.get_mut(worker) {
            Some(stream) if stream.requests == FIRST => {}
            Some(stream) => {
                stream.requests += 1;
                stream.hash = words.into_iter().fold(stream.hash, mix);
            }
            None => {
                self.streams.resize(worker + 1, Stream { requests: 0, hash: BASIS });
                self.first(worker, words);
            }
        }
    }
}

#[inline]
fn mix(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3)
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
            let words = [op | u64::from(request.sectors) << 8, request.lba];
            self.hash = words.into_iter().fold(self.hash, mix);
            if matches!(request.op, Op::Read | Op::Write) {
                self.first(usize::from(request.origin), words);
            }
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

    fn refused(&mut self, now: Instant) {
        self.source.refused(now);
    }
}
