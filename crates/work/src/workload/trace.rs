//! A recorded trace as a source, read while it is played: rows come from an iterator, one after another, and none is
//! kept longer than its request is in flight. No file is read here: the reader of traces makes the rows.
//!
//! There are four modes. *Open*: each row at its recorded instant, whatever the device does. *Closed*: a fixed number
//! outstanding, the next when one is done; the instants do not matter. *Dependent*: a row waits for all rows that had
//! ended before it began in the recording, and then for as long as passed between the last of these ends and its
//! beginning. *Replay*: as fio replays its logs ([`ReplayLoop`]).
//!
//! In a dependent replay a row waits for every request in flight whose recorded end is not later than the row's
//! beginning. Rows come in the order of their beginnings, so a request that holds one row back holds back all rows
//! after it. Rows are therefore issued in order, and two instants describe the past: the last of the recorded ends, and
//! the last of the ends of these requests here.

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
    /// The request has [`Flags::FUA`].
    pub fua: bool,
    /// The first block of 512 bytes.
    pub lba: u64,
    /// Number of blocks; 0 for a flush.
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

/// How fio replays a log: each row no sooner than its recorded distance from the row before, counted from the issue of
/// that row here, and with so many outstanding at most.
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
    /// True if recorded instants have a part in when rows are issued.
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
    /// Nothing is issued from this instant on; `None`: until the trace ends.
    pub until: Option<Instant>,
}

/// The progress of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayCounts {
    /// Rows issued.
    pub issued: u64,
    /// Rows that the device had no room for when they were due, or that waited after such a row.
    pub held: u64,
    /// The recorded instant of the last row issued, from the first row on.
    pub recorded: Span,
    /// When that row was issued.
    pub last: Instant,
}

/// A trace being played.
#[derive(Clone, Debug)]
pub struct TraceSource<I> {
    rows: I,
    next_row: Option<TraceRow>,
    replay: ReplayMode,
    free_tags: Vec<u32>,
    /// By tag.
    in_flight: Vec<RowInFlight>,
    /// The device supports [`Flags::FUA`].
    has_fua: bool,
    /// Tags of completed writes that a flush of their own must follow.
    flushes_due: Vec<u32>,
    /// The device had no room for the last request. The engine offers it again before it calls `next`, so this stays
    /// set meanwhile.
    is_full: bool,
    /// Until when the device had no room.
    full_until: Instant,
    /// The last request waited after a refused one, and was counted as held at its issue.
    was_held: bool,
    /// How far from its instant the last request was issued.
    issue_offset: Span,
    counts: ReplayCounts,
    pending_ends: PendingEnds,
    /// The tag of a flush that holds back later rows.
    holding_flush: Option<u32>,
}

/// A row in flight.
#[derive(Clone, Copy, Debug, Default)]
struct RowInFlight {
    due: Instant,
    issued: Instant,
    /// The index among [`PendingEnds`], if other rows may wait for its end.
    pending_end: Option<u32>,
    /// The sectors of a write that a flush of its own must follow.
    flushed_sectors: Option<u32>,
    /// The flush is in flight.
    is_flushing: bool,
}

impl<I: Iterator<Item = TraceRow>> TraceSource<I> {
    /// A trace before its first row. If the device does not support [`Flags::FUA`], a flush follows each such write, as
    /// in real systems.
    pub fn new(mut rows: I, replay: ReplayMode, has_fua: bool) -> TraceSource<I> {
        let next_row = rows.next();
        TraceSource {
            rows,
            next_row,
            replay,
            free_tags: Vec::new(),
            in_flight: Vec::new(),
            has_fua,
            flushes_due: Vec::new(),
            is_full: false,
            full_until: Instant::ZERO,
            was_held: false,
            issue_offset: Span::ZERO,
            counts: ReplayCounts::default(),
            pending_ends: PendingEnds::default(),
            holding_flush: None,
        }
    }

    /// The progress so far.
    pub fn replay_counts(&self) -> ReplayCounts {
        self.counts
    }

    /// The source of the rows.
    pub fn rows(&self) -> &I {
        &self.rows
    }

    /// How far from its instant the last request was issued. In an open loop: how late after it was due or, if that was
    /// later, after the device had room. In a replay: how late after it was due. Otherwise the distance from its
    /// recorded instant, before or after.
    pub fn issue_offset(&self) -> Span {
        self.issue_offset
    }

    fn rows_in_flight(&self) -> usize {
        self.in_flight.len() - self.free_tags.len()
    }

    /// Returns when a row is due; `None` while it waits for others.
    #[inline]
    fn row_due(&mut self, row: &TraceRow, now: Instant) -> Option<Instant> {
        match self.replay.mode {
            LoopMode::Open => Some(Instant::ZERO + self.replay.speed.scale_span(row.at)),
            LoopMode::Closed(depth) => (self.rows_in_flight() < depth as usize).then_some(now),
            LoopMode::Dependent => self.pending_ends.due_after_ends(row.at, self.replay.speed),
            LoopMode::Replay(ReplayLoop { depth, .. })
                if self.holding_flush.is_some() || self.rows_in_flight() >= depth as usize =>
            {
                None
            }
            LoopMode::Replay(ReplayLoop { stall: Stall::None, .. }) => Some(now),
            LoopMode::Replay(ReplayLoop { stall: Stall::Instant, .. }) => {
                Some(Instant::ZERO + self.replay.speed.scale_span(row.at))
            }
            LoopMode::Replay(_) => {
                let distance = row.at.saturating_sub(self.counts.recorded);
                Some(self.counts.last + self.replay.speed.scale_span(distance))
            }
        }
    }

    /// Notes the issue of a row at `now`: how far it is from its instant, whether it was held, and the counts.
    #[inline]
    fn note_issue(&mut self, row: &TraceRow, due: Instant, now: Instant) {
        let recorded = Instant::ZERO + self.replay.speed.scale_span(row.at);
        self.issue_offset = match self.replay.mode {
            LoopMode::Open => now.since(due.max(self.full_until).min(now)),
            LoopMode::Replay(_) => now.since(due.min(now)),
            LoopMode::Closed(_) | LoopMode::Dependent => now.max(recorded).since(now.min(recorded)),
        };
        self.was_held = due < self.full_until;
        self.counts.held += u64::from(self.was_held);
        self.counts.issued += 1;
        (self.counts.recorded, self.counts.last) = (row.at, now);
    }
}

impl<I: Iterator<Item = TraceRow>> Source for TraceSource<I> {
    #[inline]
    fn next(&mut self, now: Instant) -> SourcePoll {
        if self.is_full {
            (self.is_full, self.full_until) = (false, now);
        }
        if let Some(tag) = self.flushes_due.pop() {
            self.in_flight[tag as usize].is_flushing = true;
            return SourcePoll::Request(build_request(tag, Op::Flush, Flags::NONE, 0, 0));
        }
        // A flush may still follow a request in flight.
        let Some(row) = self.next_row else {
            return if self.rows_in_flight() > 0 { SourcePoll::Completion } else { SourcePoll::Done };
        };
        let Some(due) = self.row_due(&row, now) else { return SourcePoll::Completion };
        if self.replay.until.is_some_and(|until| due.max(now) >= until) {
            self.next_row = None;
            return self.next(now);
        }
        if due > now {
            return SourcePoll::At(due);
        }
        self.note_issue(&row, due, now);
        // fio counts from the issue.
        let due = if matches!(self.replay.mode, LoopMode::Replay(_)) { now } else { due };
        let tag = self.free_tags.pop().unwrap_or_else(|| {
            self.in_flight.push(RowInFlight::default());
            self.in_flight.len() as u32 - 1
        });
        let flushes_hold = matches!(self.replay.mode, LoopMode::Replay(ReplayLoop { calls: true, .. }));
        self.holding_flush = (row.op == Op::Flush && flushes_hold).then_some(tag);
        let awaited_end = row.ended.filter(|_| self.replay.mode == LoopMode::Dependent);
        let pending_end = awaited_end.map(|ended| self.pending_ends.add_pending(ended));
        let flushed_sectors = (row.fua && !self.has_fua).then_some(row.sectors);
        self.in_flight[tag as usize] =
            RowInFlight { due, issued: now, pending_end, flushed_sectors, is_flushing: false };
        self.next_row = self.rows.next();
        let flags = match (row.fua, flushed_sectors) {
            (false, _) => Flags::NONE,
            (true, None) => Flags::FUA,
            (true, Some(_)) => Flags::FLUSH_FOLLOWS,
        };
        SourcePoll::Request(build_request(tag, row.op, flags, row.lba, row.sectors))
    }

    #[inline]
    fn complete(&mut self, _: Instant, completion: &Completion) -> Accounting {
        let RowInFlight { due, issued, pending_end, flushed_sectors, is_flushing } =
            self.in_flight[completion.tag as usize];
        if flushed_sectors.is_some() && !is_flushing && completion.status == Status::Done {
            self.flushes_due.push(completion.tag);
            return Accounting::Out;
        }
        self.free_tags.push(completion.tag);
        self.holding_flush = self.holding_flush.filter(|tag| *tag != completion.tag);
        if let Some(index) = pending_end {
            self.pending_ends.record_end(index, completion.finished);
        }
        // If a flush follows a write, the flush is counted, as the write.
        let flushed = flushed_sectors.filter(|_| is_flushing);
        let served = flushed.map(|sectors| ForcedWrite { op: Op::Write, sectors, issued });
        Accounting::In { worker: 0, intended: due, served }
    }

    fn handle_refusal(&mut self, _: Instant) {
        // A request is counted once, however often it is refused.
        self.counts.held += u64::from(!self.is_full && !self.was_held);
        self.is_full = true;
    }
}

fn build_request(tag: u32, op: Op, flags: Flags, lba: u64, sectors: u32) -> Request {
    Request { tag, unit: 0, origin: 0, op, flags, lba, sectors, stamp: 0 }
}

/// Recorded ends for which later rows may wait.
#[derive(Clone, Debug, Default)]
struct PendingEnds {
    /// The recorded ends that have not passed, each with its index in `ended_here`.
    recorded_ends: BinaryHeap<Reverse<(Span, u32)>>,
    /// When the requests ended here; `None` while they are in flight.
    ended_here: Vec<Option<Instant>>,
    free: Vec<u32>,
    /// The last recorded end that has passed.
    last_recorded: Option<Span>,
    /// The last end here of the requests whose recorded ends have passed.
    last_here: Instant,
}

impl PendingEnds {
    /// Notes that a request with this recorded end is in flight; returns its index.
    fn add_pending(&mut self, recorded_end: Span) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.ended_here.push(None);
            self.ended_here.len() as u32 - 1
        });
        self.ended_here[index as usize] = None;
        self.recorded_ends.push(Reverse((recorded_end, index)));
        index
    }

    /// Notes the end of a request, at `now`.
    fn record_end(&mut self, index: u32, now: Instant) {
        self.ended_here[index as usize] = Some(now);
    }

    /// Returns when a row is due whose recorded beginning is `began`; `None` while a request that had ended by then is
    /// in flight.
    fn due_after_ends(&mut self, began: Span, speed: ReplaySpeed) -> Option<Instant> {
        while let Some(&Reverse((recorded_end, index))) = self.recorded_ends.peek()
            && recorded_end <= began
        {
            self.last_here = self.last_here.max(self.ended_here[index as usize]?);
            self.last_recorded = self.last_recorded.max(Some(recorded_end));
            self.recorded_ends.pop();
            self.free.push(index);
        }
        Some(match self.last_recorded {
            None => Instant::ZERO + speed.scale_span(began),
            Some(ended) => self.last_here + speed.scale_span(began.saturating_sub(ended)),
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
                let mark = if known { Flags::FUA } else { Flags::FLUSH_FOLLOWS };
                let is_forced = record.request.op == Op::Write;
                assert_eq!(
                    record.request.flags,
                    if is_forced { mark } else { Flags::NONE },
                    "records tell forced writes"
                );
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
            assert_eq!((done, engine.source().pending_ends.ended_here.len() as u64), (40 * beside, beside));
        }
    }
}
