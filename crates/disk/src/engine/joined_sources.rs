//! Several sources as one, told apart by [`Request::origin`]: the origins and workers of each source follow those of
//! the one before. The sources take turns, one request each. Each uses its own tags, which are translated here.

use alloc::vec::Vec;

use crate::block::{Accounting, Completion, Request, ServedRequest, Source, SourcePoll};
use crate::time::Instant;

/// Several sources.
#[derive(Clone, Debug, Default)]
pub struct JoinedSources<S> {
    sources: Vec<JoinedSource<S>>,
    /// The source to ask first.
    turn: usize,
    /// By tag: the source and its own tag. A source's tag always has the same one here.
    tags: Vec<(usize, u32)>,
    /// How many origins are in use.
    origins: u16,
}

/// A source among several.
#[derive(Clone, Debug)]
struct JoinedSource<S> {
    source: S,
    /// The first of its origins and of its workers.
    first: u16,
    /// By its own tag: the tag here.
    tags: Vec<Option<u32>>,
}

impl<S: Source> JoinedSources<S> {
    /// Without a source.
    pub fn new() -> JoinedSources<S> {
        JoinedSources { sources: Vec::new(), turn: 0, tags: Vec::new(), origins: 0 }
    }

    /// Adds a source that numbers its origins and workers below `origins`. Panics beyond 65,535 in all.
    #[must_use]
    pub fn with_source(mut self, source: S, origins: u16) -> JoinedSources<S> {
        self.sources.push(JoinedSource { source, first: self.origins, tags: Vec::new() });
        self.origins = self.origins.checked_add(origins).expect("at most 65,535 origins");
        self
    }

    /// The sources, each with its first origin and worker.
    pub fn sources(&self) -> impl Iterator<Item = (u16, &S)> {
        self.sources.iter().map(|one| (one.first, &one.source))
    }

    /// Translates a request's tag and origin to those that the device receives.
    fn translate_request(&mut self, place: usize, request: Request) -> Request {
        let JoinedSources { sources, tags, .. } = self;
        let one = &mut sources[place];
        let own = request.tag as usize;
        if own >= one.tags.len() {
            one.tags.resize(own + 1, None);
        }
        let tag = *one.tags[own].get_or_insert_with(|| {
            tags.push((place, request.tag));
            tags.len() as u32 - 1
        });
        Request { tag, origin: one.first + request.origin, ..request }
    }
}

impl<S: Source> Source for JoinedSources<S> {
    fn next(&mut self, now: Instant) -> SourcePoll {
        let count = self.sources.len();
        let mut wait = SourcePoll::Done;
        for place in (self.turn..count).chain(0..self.turn) {
            wait = match (self.sources[place].source.next(now), wait) {
                (SourcePoll::Request(request), _) => {
                    self.turn = (place + 1) % count;
                    return SourcePoll::Request(self.translate_request(place, request));
                }
                (SourcePoll::Served(served), _) => {
                    self.turn = (place + 1) % count;
                    let worker = self.sources[place].first + served.worker;
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
        let (place, tag) = self.tags[completion.tag as usize];
        let JoinedSource { source, first, .. } = &mut self.sources[place];
        match source.complete(now, &Completion { tag, ..*completion }) {
            Accounting::In { worker, intended, served } => Accounting::In { worker: *first + worker, intended, served },
            Accounting::Out => Accounting::Out,
        }
    }

    fn handle_refusal(&mut self, now: Instant) {
        // The source whose turn it was last.
        let count = self.sources.len();
        self.sources[(self.turn + count - 1) % count].source.handle_refusal(now);
    }
}
