//! A recorded trace as a source, read while it is played: rows come from an iterator, one after another, and none is
//! kept longer than its request is in flight. No file is read here: the reader of traces makes the rows.
//!
//! There are four modes. *Open*: each row at its recorded instant, whatever the device does. *Closed*: a fixed number
//! outstanding, the next when one is done; the instants do not matter. *Dependent*: a row waits for all rows that had
//! ended before it began in the recording, and then for as long as passed between the last of these ends and its
//! beginning. *Replay*: as fio replays its logs ([`ReplayLoop`]).
//!
//! In a dependent replay a row waits for every request in flight whose recorded end is not later than the row's
//! beginning. Rows come in the order of their beginnings, so whatever holds one row back holds back all after it. So
//! they are issued in order, and two instants suffice to describe the past: when the last of the ends was recorded, and
//! when the last of these requests ended here.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use seekwise_disk::block::{Accounting, Completion, Flags, ForcedWrite, Op, Request, Source, SourcePoll, Status};
use seekwise_disk::time::{Instant, Span};

/// A request of a trace. Rows come in the order of their beginnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRow {
    /// When it was issued, from the first row on.
    pub at: Span,
    /// When it ended, from the first row's beginning on; `None` if this was not recorded.
    pub ended: Option<Span>,
    pub op: Op,
    /// Whether it has [`Flags::FUA`].
    pub fua: bool,
    /// The first block of 512 bytes.
    pub lba: u64,
    /// 0 for a flush.
    pub sectors: u32,
}

/// When rows are issued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoopMode {
    /// At their recorded instants.
    #[default]
    Open,
    /// With this many outstanding.
    Closed(u32),
    /// When all requests have ended that had ended before in the recording.
    Dependent,
    /// As fio replays its logs.
    Replay(ReplayLoop),
}

/// How fio replays a log: each row no sooner than its recorded distance from the row before, counted from the issue of that
/// row here, and with so many outstanding at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayLoop {
    /// Rows outstanding at most.
    pub depth: u32,
    /// The recorded times that are waited for.
    pub stall: Stall,
    /// A flush is a call, which holds back all later rows.
    pub calls: bool,
}

/// The recorded times that a replay waits for, besides the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stall {
    /// The recorded distance from the row before: delays by the device are not made up for.
    Recorded,
    /// The recorded instant: delays by the device are made up for (`wait` of version 2).
    Instant,
    /// Nothing (`replay_no_stall`).
    None,
}

impl LoopMode {
    /// Whether recorded instants have a part in when rows are issued.
    pub fn uses_instants(self) -> bool {
        !matches!(self, LoopMode::Closed(_) | LoopMode::Replay(ReplayLoop { stall: Stall::None, .. }))
    }
}

/// The speed of the replay: recorded time is divided by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplaySpeed {
    /// 2000 is twice as fast. Not 0.
    pub thousandths: u32,
}

impl Default for ReplaySpeed {
    fn default() -> ReplaySpeed {
        ReplaySpeed { thousandths: 1_000 }
    }
}

impl ReplaySpeed {
    /// A recorded span as it is played, up to the limit of time.
    #[inline]
    pub fn scale_span(self, recorded: Span) -> Span {
        if self.thousandths == 1_000 {
            return recorded;
        }
        let nanos = u128::from(recorded.nanos()) * 1_000 / u128::from(self.thousandths);
        // At most half of all time, so that additions to it do not overflow.
        Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX).min(u64::MAX / 2))
    }
}

/// The settings of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayMode {
    /// When rows are issued.
    pub mode: LoopMode,
    pub speed: ReplaySpeed,
    /// Nothing is issued from here on; `None`: until the trace ends.
    pub until: Option<Instant>,
}

/// The progress of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayCounts {
    /// Rows issued.
    pub issued: u64,
    /// Rows that the device had no room for when they were due, or that waited after such a row.
    pub held: u64,
    /// The last recorded instant that was issued, since the first row.
    pub recorded: Span,
    /// When it was issued.
    pub last: Instant,
}

/// A trace being played.
#[derive(Clone, Debug)]
pub struct TraceSource<I> {
    rows: I,
    row: Option<TraceRow>,
    how: ReplayMode,
    /// Free tags.
    free: Vec<u32>,
    /// By tag.
    flying: Vec<RowInFlight>,
    /// The device supports [`Flags::FUA`].
    fua: bool,
    /// Tags of completed writes that a flush of their own must force.
    forced: Vec<u32>,
    /// The device had no room for the last request. The engine offers it again before it calls `next`, so this stays set meanwhile.
    full: bool,
    /// Until when it had none.
    full_until: Instant,
    /// The last request waited after one that was refused: it was counted as held at its issue.
    behind: bool,
    /// How far from its instant the last request was issued.
    off: Span,
    played: ReplayCounts,
    ends: PendingEnds,
    /// The tag of a flush that holds back what follows.
    holding: Option<u32>,
}

/// A row in flight.
#[derive(Clone, Copy, Debug)]
struct RowInFlight {
    /// When it was due, and when it was issued.
    due: Instant,
    issued: Instant,
    /// The index among the ends for which other rows may wait.
    end: Option<u32>,
    /// The sectors of a write that a flush of its own must follow.
    forced: Option<u32>,
    /// The flush is in flight.
    flushing: bool,
}

const NOTHING: RowInFlight =
    RowInFlight { due: Instant::ZERO, issued: Instant::ZERO, end: None, forced: None, flushing: false };

impl<I: Iterator<Item = TraceRow>> TraceSource<I> {
    /// A trace before its first row. If the device does not support [`Flags::FUA`], a flush follows each such write, as
    /// in real systems.
    pub fn new(mut rows: I, how: ReplayMode, fua: bool) -> TraceSource<I> {
        let row = rows.next();
        TraceSource {
            rows,
            row,
            how,
            free: Vec::new(),
            flying: Vec::new(),
            fua,
            forced: Vec::new(),
            full: false,
            full_until: Instant::ZERO,
            behind: false,
            off: Span::ZERO,
            played: ReplayCounts::default(),
            ends: PendingEnds::default(),
            holding: None,
        }
    }

    /// The progress so far.
    pub fn replay_counts(&self) -> ReplayCounts {
        self.played
    }

    /// The source of the rows.
    pub fn rows(&self) -> &I {
        &self.rows
    }

    /// How far from its instant the last request was issued. In an open loop: how late, from when it was due or, if
    /// later, from when the device had room. In a replay: how late, from when it was due. Otherwise from its recorded
    /// instant, before or after.
    pub fn issue_offset(&self) -> Span {
        self.off
    }

    fn rows_in_flight(&self) -> usize {
        self.flying.len() - self.free.len()
    }

    /// Returns when the row is due; `None` while it waits for others.
    #[inline]
    fn row_due(&mut self, row: &TraceRow, now: Instant) -> Option<Instant> {
        match self.how.mode {
            LoopMode::Open => Some(Instant::ZERO + self.how.speed.scale_span(row.at)),
            LoopMode::Closed(depth) => (self.rows_in_flight() < depth as usize).then_some(now),
            LoopMode::Dependent => self.ends.row_due(row.at, self.how.speed),
            LoopMode::Replay(ReplayLoop { depth, .. })
                if self.holding.is_some() || self.rows_in_flight() >= depth as usize =>
            {
                None
            }
            LoopMode::Replay(ReplayLoop { stall: Stall::None, .. }) => Some(now),
            LoopMode::Replay(ReplayLoop { stall: Stall::Instant, .. }) => {
                Some(Instant::ZERO + self.how.speed.scale_span(row.at))
            }
            LoopMode::Replay(_) => {
                let distance = row.at.saturating_sub(self.played.recorded);
                Some(self.played.last + self.how.speed.scale_span(distance))
            }
        }
    }

    /// Counts the issue of a row at `now`.
    #[inline]
    fn count_issue(&mut self, row: &TraceRow, due: Instant, now: Instant) {
        let recorded = Instant::ZERO + self.how.speed.scale_span(row.at);
        self.off = match self.how.mode {
            LoopMode::Open => now.since(due.max(self.full_until).min(now)),
            LoopMode::Replay(_) => now.since(due.min(now)),
            LoopMode::Closed(_) | LoopMode::Dependent => now.max(recorded).since(now.min(recorded)),
        };
        self.behind = due < self.full_until;
        self.played.held += u64::from(self.behind);
        self.played.issued += 1;
        (self.played.recorded, self.played.last) = (row.at, now);
    }
}

impl<I: Iterator<Item = TraceRow>> Source for TraceSource<I> {
    #[inline]
    fn next(&mut self, now: Instant) -> SourcePoll {
        if self.full {
            (self.full, self.full_until) = (false, now);
        }
        if let Some(tag) = self.forced.pop() {
            self.flying[tag as usize].flushing = true;
            return SourcePoll::Request(build_request(tag, Op::Flush, Flags::NONE, 0, 0));
        }
        // A flush may follow a request in flight.
        let Some(row) = self.row else {
            return if self.rows_in_flight() > 0 { SourcePoll::Completion } else { SourcePoll::Done };
        };
        let Some(due) = self.row_due(&row, now) else { return SourcePoll::Completion };
        if self.how.until.is_some_and(|until| due.max(now) >= until) {
            self.row = None;
            return self.next(now);
        }
        if due > now {
            return SourcePoll::At(due);
        }
        self.count_issue(&row, due, now);
        // fio counts from the issue.
        let due = if matches!(self.how.mode, LoopMode::Replay(_)) { now } else { due };
        let tag = self.free.pop().unwrap_or_else(|| {
            self.flying.push(NOTHING);
            self.flying.len() as u32 - 1
        });
        let calls = matches!(self.how.mode, LoopMode::Replay(ReplayLoop { calls: true, .. }));
        self.holding = (row.op == Op::Flush && calls).then_some(tag);
        let wanted = row.ended.filter(|_| self.how.mode == LoopMode::Dependent);
        let end = wanted.map(|ended| self.ends.add_pending(ended));
        let forced = (row.fua && !self.fua).then_some(row.sectors);
        self.flying[tag as usize] = RowInFlight { due, issued: now, end, forced, flushing: false };
        self.row = self.rows.next();
        let flags = match (row.fua, forced) {
            (false, _) => Flags::NONE,
            (true, None) => Flags::FUA,
            (true, Some(_)) => Flags::FLUSH_FOLLOWS,
        };
        SourcePoll::Request(build_request(tag, row.op, flags, row.lba, row.sectors))
    }

    #[inline]
    fn complete(&mut self, _: Instant, completion: &Completion) -> Accounting {
        let RowInFlight { due, issued, end, forced, flushing } = self.flying[completion.tag as usize];
        if forced.is_some() && !flushing && completion.status == Status::Done {
            self.forced.push(completion.tag);
            return Accounting::Out;
        }
        self.free.push(completion.tag);
        self.holding = self.holding.filter(|tag| *tag != completion.tag);
        if let Some(end) = end {
            self.ends.record_end(end, completion.finished);
        }
        // If a flush follows a write, the flush is counted, as the write.
        let served = forced.filter(|_| flushing).map(|sectors| ForcedWrite { op: Op::Write, sectors, issued });
        Accounting::In { worker: 0, intended: due, served }
    }

    fn handle_refusal(&mut self, _: Instant) {
        // A request is counted once, however often it is refused.
        self.played.held += u64::from(!self.full && !self.behind);
        self.full = true;
    }
}

fn build_request(tag: u32, op: Op, flags: Flags, lba: u64, sectors: u32) -> Request {
    Request { tag, unit: 0, origin: 0, op, flags, lba, sectors, stamp: 0 }
}

/// Recorded ends for which later rows may wait.
#[derive(Clone, Debug, Default)]
struct PendingEnds {
    /// Recorded end, and index in `over`.
    coming: BinaryHeap<Reverse<(Span, u32)>>,
    /// When they ended here; `None` while they are in flight.
    over: Vec<Option<Instant>>,
    free: Vec<u32>,
    /// For the ends that have passed: the last end as recorded, and the last end here.
    recorded: Option<Span>,
    here: Instant,
}

impl PendingEnds {
    /// Notes that a request with the recorded end `ended` is in flight.
    fn add_pending(&mut self, ended: Span) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.over.push(None);
            self.over.len() as u32 - 1
        });
        self.over[place as usize] = None;
        self.coming.push(Reverse((ended, place)));
        place
    }

    /// Notes the end of a request, at `now`.
    fn record_end(&mut self, place: u32, now: Instant) {
        self.over[place as usize] = Some(now);
    }

    /// Returns when a row is due that began at `at`; `None` while a request that had ended by then is in flight.
    fn row_due(&mut self, at: Span, speed: ReplaySpeed) -> Option<Instant> {
        while let Some(&Reverse((ended, place))) = self.coming.peek()
            && ended <= at
        {
            self.here = self.here.max(self.over[place as usize]?);
            self.recorded = self.recorded.max(Some(ended));
            self.coming.pop();
            self.free.push(place);
        }
        Some(match self.recorded {
            None => Instant::ZERO + speed.scale_span(at),
            Some(ended) => self.here + speed.scale_span(at.saturating_sub(ended)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_disk::engine::Engine;
    use seekwise_disk::record::Record;
    use seekwise_disk::testing::SmallDrive;

    fn row(at: u64, ended: u64, lba: u64) -> TraceRow {
        let span = Span::from_micros;
        TraceRow { at: span(at), ended: Some(span(ended)), op: Op::Read, fua: false, lba, sectors: 8 }
    }

    fn how(mode: LoopMode) -> ReplayMode {
        ReplayMode { mode, ..ReplayMode::default() }
    }

    /// Records by stamp, and the progress.
    fn play(rows: &[TraceRow], how: ReplayMode) -> (Vec<Record>, ReplayCounts) {
        let mut records: Vec<Record> = Vec::new();
        let mut engine = Engine::new(TraceSource::new(rows.iter().copied(), how, false), SmallDrive::default().drive());
        engine.run(Instant::FAR, &mut |record: &Record| records.push(*record)).expect("runs");
        records.sort_unstable_by_key(|record| record.request.stamp);
        let played = engine.source().replay_counts();
        (records, played)
    }

    fn rows() -> Vec<TraceRow> {
        (0..40).map(|i| row(i * 50_000, i * 50_000 + 9_000, i * 517 % 5_000)).collect()
    }

    #[test]
    fn open_loops_keep_their_instants_at_any_speed() {
        for (thousandths, step) in [(1_000, 50_000), (2_000, 25_000), (500, 100_000)] {
            let how = ReplayMode { speed: ReplaySpeed { thousandths }, ..how(LoopMode::Open) };
            let (records, played) = play(&rows(), how);
            for (index, record) in records.iter().enumerate() {
                assert_eq!(record.intended, Instant::ZERO + Span::from_micros(step * index as u64));
                assert_eq!(record.completion.submitted, record.intended, "the drive is idle by then");
            }
            assert_eq!((played.issued, played.held), (40, 0));
        }
    }

    #[test]
    fn what_a_full_device_holds_up_is_counted_apart() {
        // All at once: one is accepted, the others wait behind one that was refused.
        let rows: Vec<TraceRow> = (0..5).map(|i| row(0, 1, i * 800)).collect();
        let trace = TraceSource::new(rows.iter().copied(), how(LoopMode::Open), false);
        let mut engine = Engine::new(trace, SmallDrive::default().drive());
        let mut done = 0;
        engine.run(Instant::FAR, &mut |_: &Record| done += 1).expect("runs");
        let trace = engine.source();
        assert_eq!((done, trace.replay_counts().held, trace.issue_offset()), (5, 4, Span::ZERO));
    }

    #[test]
    fn closed_loops_keep_so_many_outstanding() {
        let (records, _) = play(&rows(), how(LoopMode::Closed(1)));
        for pair in records.windows(2) {
            assert_eq!(pair[1].completion.submitted, pair[0].completion.finished);
        }
    }

    #[test]
    fn a_replay_keeps_distances_and_depth_and_flushes_that_are_calls_hold_it() {
        let replay = |depth, stall, calls| how(LoopMode::Replay(ReplayLoop { depth, stall, calls }));
        // Longer apart than a request takes: distances are as recorded, and a delay is not made up for.
        let (records, _) = play(&rows(), replay(1, Stall::Recorded, false));
        for pair in records.windows(2) {
            assert_eq!(pair[1].intended.since(pair[0].intended), Span::from_millis(50));
        }
        let at_once = |rows: &[TraceRow], depth, calls| {
            let mut trace = TraceSource::new(rows.iter().copied(), replay(depth, Stall::None, calls), false);
            core::iter::from_fn(|| Some(trace.next(Instant::ZERO)))
                .take_while(|it| matches!(it, SourcePoll::Request(_)))
                .count()
        };
        assert_eq!(at_once(&rows(), 4, false), 4, "nothing is waited for, and four at most");
        // A late device: by distances all that follows is late too, by instants it catches up.
        let late = [row(0, 0, 0), row(1, 0, 4_000), row(60_000, 0, 100)];
        let at = |stall| play(&late, replay(1, stall, false)).0[2].intended;
        assert!(at(Stall::Recorded) > Instant::ZERO + Span::from_millis(60));
        assert_eq!(at(Stall::Instant), Instant::ZERO + Span::from_millis(60));
        let flush = [row(0, 0, 0), TraceRow { op: Op::Flush, sectors: 0, ..row(0, 0, 0) }, row(0, 0, 8)];
        for (calls, count) in [(true, 2), (false, 3)] {
            assert_eq!(at_once(&flush, 8, calls), count);
            assert_eq!(play(&flush, replay(8, Stall::None, calls)).0.len(), 3, "the flush ends");
        }
    }

    #[test]
    fn a_row_waits_for_what_had_ended_before_it_began() {
        // The second begins while the first is under way; the third 1 ms after the first had ended, beside the second;
        // the fourth after all of them.
        let rows = [row(0, 4_000, 0), row(1_000, 9_000, 2_000), row(5_000, 8_000, 4_000), row(10_000, 11_000, 100)];
        let (records, _) = play(&rows, how(LoopMode::Dependent));
        let (began, ended) = (|i: usize| records[i].intended, |i: usize| records[i].completion.finished);
        let ms = Span::from_millis;
        assert_eq!(began(1), Instant::ZERO + ms(1), "nothing had ended");
        assert_eq!(began(2), ended(0) + ms(1), "1 ms after the end of the first");
        assert_eq!(began(3), ended(0).max(ended(1)).max(ended(2)) + ms(1));
        let twice = ReplayMode { speed: ReplaySpeed { thousandths: 2_000 }, ..how(LoopMode::Dependent) };
        let (records, _) = play(&rows, twice);
        assert_eq!(records[2].intended, records[0].completion.finished + Span::from_micros(500));
    }

    #[test]
    fn a_write_to_be_durable_is_followed_by_a_flush_where_the_device_knows_no_fua() {
        let write = |at, lba| TraceRow { op: Op::Write, fua: true, ..row(at, at + 1, lba) };
        let rows = [write(0, 0), write(1_000, 800), row(2_000, 2_001, 4_000), write(400_000, 90)];
        for (known, issued) in [(true, 4), (false, 7)] {
            let mut counted: Vec<(Op, u32)> = Vec::new();
            let trace = TraceSource::new(rows.iter().copied(), how(LoopMode::Dependent), known);
            let mut engine = Engine::new(trace, SmallDrive::default().drive());
            let mut last = 0;
            let mut count = |record: &Record| {
                counted.push((record.request.op, record.request.sectors));
                last = last.max(record.request.stamp);
            };
            engine.run(Instant::FAR, &mut count).expect("runs");
            counted.sort_unstable_by_key(|it| it.0 == Op::Read);
            assert_eq!(counted, [(Op::Write, 8), (Op::Write, 8), (Op::Write, 8), (Op::Read, 8)]);
            assert_eq!(last, issued, "the last is the flush of the last write");
        }
    }

    #[test]
    fn it_ends_where_it_is_told_to() {
        let until = Some(Instant::ZERO + Span::from_millis(101));
        let (records, played) = play(&rows(), ReplayMode { until, ..how(LoopMode::Open) });
        assert_eq!((records.len(), played.recorded), (3, Span::from_millis(100)));
        assert!(play(&rows(), ReplayMode { until, ..how(LoopMode::Closed(1)) }).0.len() > 3);
    }

    #[test]
    fn a_dependent_replay_remembers_no_more_ends_than_were_in_flight_at_a_time() {
        // Rows beside one another, 50 ms before the next that wait for all of them.
        for beside in [1, 3] {
            let at = |i: u64| i / beside * 50_000;
            let rows: Vec<TraceRow> = (0..40 * beside).map(|i| row(at(i), at(i) + 9_000, i * 517 % 5_000)).collect();
            let trace = TraceSource::new(rows.iter().copied(), how(LoopMode::Dependent), false);
            let mut engine = Engine::new(trace, SmallDrive::default().drive());
            let mut done = 0;
            engine.run(Instant::FAR, &mut |_: &Record| done += 1).expect("runs");
            assert_eq!((done, engine.source().ends.over.len() as u64), (40 * beside, beside));
        }
    }
}
