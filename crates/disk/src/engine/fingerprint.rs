//! An adapter between a source and the engine that counts and hashes the requests, and ends the source after a given
//! number. Runs that received equal requests have equal hashes. Requests pass unchanged, except for
//! [`Flags::FLUSH_FOLLOWS`].

use alloc::vec::Vec;

use crate::block::{Accounting, Completion, Flags, Op, Source, SourcePoll};
use crate::time::Instant;

/// How many requests of a worker its hash covers: few enough that any meaningful run has them.
pub const HASHED_REQUESTS: u32 = 100;

/// A hash of a worker's first reads and writes, in the order of issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamHash {
    /// [`HASHED_REQUESTS`], or fewer if there were fewer.
    pub requests: u32,
    /// A hash as in [`Fingerprint::hash`], without flushes and computing: devices with more capabilities receive fewer of
    /// them.
    pub hash: u64,
}

/// FNV-1a's offset basis: the hash of an empty stream.
const BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// A source with a hash of its requests.
#[derive(Clone, Debug)]
pub struct Fingerprint<S> {
    source: S,
    hash: u64,
    issued: u64,
    max_requests: u64,
    /// [`Flags::FLUSH_FOLLOWS`] passes through.
    keeps_flush_flag: bool,
    /// By worker.
    streams: Vec<StreamHash>,
}

impl<S: Source> Fingerprint<S> {
    /// A fingerprint of `source`, which ends after `max_requests` requests.
    pub fn new(source: S, max_requests: u64) -> Fingerprint<S> {
        Fingerprint { source, hash: BASIS, issued: 0, max_requests, keeps_flush_flag: false, streams: Vec::new() }
    }

    /// Passes [`Flags::FLUSH_FOLLOWS`] on to the device, which removes it.
    pub fn keep_flush_flag(&mut self) {
        self.keeps_flush_flag = true;
    }

    /// A hash of all requests in order of issue (operation, address, size; FNV-1a over 64-bit words): equal streams
    /// have equal hashes.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// By worker: the hash of its first requests, which does not depend on how the workers' requests interleave.
    pub fn streams(&self) -> &[StreamHash] {
        &self.streams
    }

    /// How many requests were issued.
    pub fn issued_requests(&self) -> u64 {
        self.issued
    }

    /// The source.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// Returns the source.
    pub fn into_source(self) -> S {
        self.source
    }

    /// Adds the words of a request to its worker's hash, if it is among the worker's first.
    #[inline]
    fn hash_if_among_first(&mut self, worker: usize, request_words: [u64; 2]) {
        match self.streams.get_mut(worker) {
            Some(stream) if stream.requests == HASHED_REQUESTS => {}
            Some(stream) => {
                stream.requests += 1;
                stream.hash = request_words.into_iter().fold(stream.hash, mix_word);
            }
            None => {
                self.streams.resize(worker + 1, StreamHash { requests: 0, hash: BASIS });
                self.hash_if_among_first(worker, request_words);
            }
        }
    }
}

#[inline]
fn mix_word(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3)
}

impl<S: Source> Source for Fingerprint<S> {
    #[inline]
    fn next(&mut self, now: Instant) -> SourcePoll {
        if self.issued == self.max_requests {
            return SourcePoll::Done;
        }
        let mut next = self.source.next(now);
        if let SourcePoll::Request(request) = &mut next {
            let op = match request.op {
                Op::Read => 1,
                Op::Write => 2,
                Op::WriteZeroes => 3,
                Op::Flush => 4,
                Op::Trim => 5,
                Op::Compute => 6,
            };
            let words = [op | u64::from(request.sectors) << 8, request.lba];
            self.hash = words.into_iter().fold(self.hash, mix_word);
            if matches!(request.op, Op::Read | Op::Write) {
                self.hash_if_among_first(usize::from(request.origin), words);
            }
            self.issued += 1;
            if !self.keeps_flush_flag {
                request.flags = request.flags.without(Flags::FLUSH_FOLLOWS);
            }
        }
        next
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
        self.issued < self.max_requests && self.source.awaits_completion(now)
    }
}
