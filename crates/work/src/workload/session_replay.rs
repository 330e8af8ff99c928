//! A session that was recorded request by request, played again at the same instants. On the stack of the recording
//! each request ends at the recorded nanosecond. No file is read here: the reader of recordings makes the
//! [`RecordedSession`].

use alloc::string::String;
use alloc::vec::Vec;

use seekwise_disk::block::{Accounting, Completion, Flags, Op, Request, Source, SourcePoll, Status};
use seekwise_disk::time::Instant;

/// A request as a device accepted and answered it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedRequest {
    /// Rises in the order in which requests were accepted.
    pub stamp: u64,
    /// When it was accepted.
    pub at: Instant,
    /// When it completed.
    pub done: Instant,
    /// True if it ended without an error.
    pub ok: bool,
    pub op: Op,
    /// The first block of 512 bytes.
    pub lba: u64,
    pub sectors: u32,
    /// The request had [`Flags::FUA`].
    pub fua: bool,
    /// The tag while it was in flight, which decides between two requests that are served alike.
    pub tag: u32,
}

/// A recorded session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedSession {
    /// For reports.
    pub name: String,
    /// The stack of the recording, in words.
    pub made_on: String,
    /// In order of their stamps, and so of their instants.
    pub entries: Vec<RecordedRequest>,
}

/// How the played requests ended, compared with the recorded ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayComparison {
    /// Requests that were played and have completed.
    pub requests: u64,
    /// Requests that ended at the recorded nanosecond and with the recorded status.
    pub same: u64,
    /// The first stamp of a request that did not, with the recorded end and the end here.
    pub first: Option<(u64, Instant, Instant)>,
}

/// A session being played.
#[derive(Clone, Debug)]
pub struct SessionReplay {
    session: alloc::sync::Arc<RecordedSession>,
    /// The index of the next entry.
    next_entry: usize,
    /// By tag: the entry in flight.
    entry_of_tag: Vec<Option<usize>>,
    comparison: ReplayComparison,
}

impl SessionReplay {
    /// A session before its first request.
    pub fn new(session: alloc::sync::Arc<RecordedSession>) -> SessionReplay {
        SessionReplay { session, next_entry: 0, entry_of_tag: Vec::new(), comparison: ReplayComparison::default() }
    }

    /// The comparison so far.
    pub fn comparison_so_far(&self) -> ReplayComparison {
        self.comparison
    }

    /// Returns the recorded tag, or the first free tag if that is still in flight, as on a slower device.
    fn choose_tag(&mut self, recorded: u32) -> u32 {
        if self.entry_of_tag.len() <= recorded as usize {
            self.entry_of_tag.resize(recorded as usize + 1, None);
        }
        if self.entry_of_tag[recorded as usize].is_none() {
            return recorded;
        }
        let free = self.entry_of_tag.iter().position(Option::is_none).unwrap_or(self.entry_of_tag.len());
        if free == self.entry_of_tag.len() {
            self.entry_of_tag.push(None);
        }
        free as u32
    }
}

impl Source for SessionReplay {
    fn next(&mut self, now: Instant) -> SourcePoll {
        let Some(&entry) = self.session.entries.get(self.next_entry) else { return SourcePoll::Done };
        if entry.at > now {
            return SourcePoll::At(entry.at);
        }
        let tag = self.choose_tag(entry.tag);
        self.entry_of_tag[tag as usize] = Some(self.next_entry);
        self.next_entry += 1;
        let RecordedRequest { op, lba, sectors, fua, .. } = entry;
        let flags = if fua { Flags::FUA } else { Flags::NONE };
        SourcePoll::Request(Request { tag, unit: 0, origin: 0, op, flags, lba, sectors, stamp: 0 })
    }

    fn complete(&mut self, _: Instant, completion: &Completion) -> Accounting {
        let index = self.entry_of_tag[completion.tag as usize].take().expect("the completed request was in flight");
        let entry = self.session.entries[index];
        let same = completion.finished == entry.done && (completion.status == Status::Done) == entry.ok;
        self.comparison.requests += 1;
        self.comparison.same += u64::from(same);
        if !same && self.comparison.first.is_none_or(|first| entry.stamp < first.0) {
            self.comparison.first = Some((entry.stamp, entry.done, completion.finished));
        }
        Accounting::In { worker: 0, intended: entry.at, served: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::sync::Arc;
    use seekwise_disk::engine::Engine;
    use seekwise_disk::record::Record;
    use seekwise_disk::testing::SmallDrive;

    fn session() -> RecordedSession {
        let entry = |i: u64| RecordedRequest {
            stamp: i + 1,
            at: Instant::from_nanos(i * 3_000_000),
            done: Instant::ZERO,
            ok: true,
            op: if i.is_multiple_of(3) { Op::Write } else { Op::Read },
            lba: i * 517 % 5_000,
            sectors: 8,
            fua: i.is_multiple_of(2),
            tag: (i % 4) as u32,
        };
        RecordedSession { entries: (0..40).map(entry).collect(), ..RecordedSession::default() }
    }

    /// Ends by stamp.
    fn played(session: RecordedSession) -> (Vec<Instant>, ReplayComparison) {
        let mut ends = alloc::vec![Instant::ZERO; session.entries.len()];
        let mut engine = Engine::new(SessionReplay::new(Arc::new(session)), SmallDrive::default().drive());
        let mut record = |record: &Record| ends[record.request.stamp as usize - 1] = record.completion.finished;
        engine.run(Instant::FAR, &mut record).expect("runs");
        let compared = engine.source().comparison_so_far();
        (ends, compared)
    }

    #[test]
    fn what_was_recorded_ends_the_same_and_what_was_not_is_told() {
        let mut session = session();
        let (ends, compared) = played(session.clone());
        assert_eq!((compared.requests, compared.same), (40, 0), "nothing was recorded yet");
        for (entry, end) in session.entries.iter_mut().zip(&ends) {
            entry.done = *end;
        }
        let (_, compared) = played(session.clone());
        assert_eq!((compared.same, compared.first), (40, None));
        session.entries[7].done = Instant::from_nanos(1);
        let (_, compared) = played(session);
        assert_eq!((compared.same, compared.first), (39, Some((8, Instant::from_nanos(1), ends[7]))));
    }
}
