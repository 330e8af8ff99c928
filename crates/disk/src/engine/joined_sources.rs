//! An adapter that joins several sources into one. The sources take turns, one request each. Each has a range of
//! [`Request::origin`] and of workers of its own, which follows that of the source before. Tags are translated: each
//! source numbers its requests for itself, and the device receives unique tags.

use alloc::vec::Vec;

use crate::block::{Accounting, Completion, Request, ServedRequest, Source, SourcePoll};
use crate::time::Instant;

/// Several sources.
#[derive(Clone, Debug, Default)]
pub struct JoinedSources<S> {
    sources: Vec<JoinedSource<S>>,
    /// The source to ask first.
    turn: usize,
    /// By the tag that the device receives: the source's index and its own tag. A source's tag is always translated to
    /// the same.
    tags: Vec<(usize, u32)>,
    /// How many origins the sources have in all.
    origins: u16,
}

/// A source among several.
#[derive(Clone, Debug)]
struct JoinedSource<S> {
    source: S,
    /// The first of its origins and of its workers.
    first_origin: u16,
    /// By its own tag: the tag that the device receives.
    tags: Vec<Option<u32>>,
}

impl<S: Source> JoinedSources<S> {
    /// Without a source.
    pub fn new() -> JoinedSources<S> {
        JoinedSources { sources: Vec::new(), turn: 0, tags: Vec::new(), origins: 0 }
    }

    /// Adds a source whose origins and workers are numbers below `origin_count`. Panics beyond 65,535 in all.
    #[must_use]
    pub fn with_source(mut self, source: S, origin_count: u16) -> JoinedSources<S> {
        self.sources.push(JoinedSource { source, first_origin: self.origins, tags: Vec::new() });
        self.origins = self.origins.checked_add(origin_count).expect("at most 65,535 origins");
        self
    }

    /// The sources, each with its first origin and worker.
    pub fn sources_with_first_origin(&self) -> impl Iterator<Item = (u16, &S)> {
        self.sources.iter().map(|joined| (joined.first_origin, &joined.source))
    }

    /// Translates a request's tag and origin to those that the device receives.
    fn translate_request(&mut self, source: usize, request: Request) -> Request {
        let JoinedSources { sources, tags, .. } = self;
        let joined = &mut sources[source];
        let own_tag = request.tag as usize;
        if own_tag >= joined.tags.len() {
            joined.tags.resize(own_tag + 1, None);
        }
        let tag = *joined.tags[own_tag].get_or_insert_with(|| {
            tags.push((source, request.tag));
            tags.len() as u32 - 1
        });
        Request { tag, origin: joined.first_origin + request.origin, ..request }
    }
}

impl<S: Source> Source for JoinedSources<S> {
    fn next(&mut self, now: Instant) -> SourcePoll {
        let count = self.sources.len();
        let mut wait = SourcePoll::Done;
        for index in (self.turn..count).chain(0..self.turn) {
            wait = match (self.sources[index].source.next(now), wait) {
                (SourcePoll::Request(request), _) => {
                    self.turn = (index + 1) % count;
                    return SourcePoll::Request(self.translate_request(index, request));
                }
                (SourcePoll::Served(served), _) => {
                    self.turn = (index + 1) % count;
                    let worker = self.sources[index].first_origin + served.worker;
                    return SourcePoll::Served(ServedRequest { worker, ..served });
                }
                (SourcePoll::At(one), SourcePoll::At(other)) => SourcePoll::At(one.min(other)),
                (SourcePoll::At(at), _) | (_, SourcePoll::At(at)) => SourcePoll::At(at),
                (SourcePoll::Done, wait) => wait,
                (SourcePoll::Completion, _) => SourcePoll::Completion,
            };
        }
        wait
    }

    fn complete(&mut self, now: Instant, completion: &Completion) -> Accounting {
        let (index, tag) = self.tags[completion.tag as usize];
        let JoinedSource { source, first_origin, .. } = &mut self.sources[index];
        match source.complete(now, &Completion { tag, ..*completion }) {
            Accounting::In { worker, intended, served } => {
                Accounting::In { worker: *first_origin + worker, intended, served }
            }
            Accounting::Out => Accounting::Out,
        }
    }

    fn handle_refusal(&mut self, now: Instant) {
        // The request was that of the source before the one whose turn is next.
        let count = self.sources.len();
        self.sources[(self.turn + count - 1) % count].source.handle_refusal(now);
    }
}
