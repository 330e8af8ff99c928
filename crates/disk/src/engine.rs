//! Joins a source of requests to a device and runs both. The caller supplies the time; no clock is read.
//!
//! The engine asks the source for requests, gives each a stamp and submits it to the device. A request for which the
//! device has no room is submitted again later. The caller's recorder receives a [`Record`] of each completion that the
//! source counts. In virtual time, call [`Engine::run`]. In real time, call [`Engine::poll_timeout`], wait, and call
//! [`Engine::step`]. To bring in events from outside, use [`Engine::source_mut`] or [`Engine::device_mut`] before the
//! step.
//!
//! Adapters between a source and the engine: several sources as one ([`joined_sources`]), computing without a processor
//! ([`computing`]), a hash of the issued requests ([`fingerprint`]).

pub mod computing;
pub mod fingerprint;
pub mod joined_sources;

use alloc::vec::Vec;
use core::fmt;

use crate::block::{Accounting, Completion, Control, Device, Flags, ForcedWrite, Request, Source, SourcePoll, Status};
use crate::record::{Part, Record};
use crate::time::Instant;

/// More events than this at one instant mean that a device or a source does not advance time.
const MAX_EVENTS_AT_ONE_INSTANT: u32 = 1_000_000;

/// A source joined to a device.
pub struct Engine<S, D> {
    source: S,
    device: D,
    now: Instant,
    /// When the source wants its next call; `FAR` if it waits for an event.
    wake: Instant,
    /// The source may have a request: one completed, or its instant came.
    ask_source: bool,
    /// The device may have completions.
    poll_device: bool,
    last_stamp: u64,
    /// A request that the device refused, and when it was first offered.
    waiting: Option<(Request, Instant)>,
    /// In virtual time: a request, counted as in flight, that runs alone on the device unless another comes at the same
    /// instant.
    lone: Option<Request>,
    /// By tag: the request in flight, and when it was first offered.
    in_flight: Vec<Option<(Request, Instant)>>,
    in_flight_count: u32,
    source_done: bool,
    failures: u64,
}

/// Why a run stopped short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EngineError {
    /// Time no longer advances.
    Instant(Instant),
    /// The device holds requests but will never complete them.
    Silent(Instant),
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at, why) = match self {
            EngineError::Instant(at) => (at, "time no longer advances"),
            EngineError::Silent(at) => (at, "a request is never answered"),
        };
        write!(f, "{why} after {} ns", at.nanos())
    }
}

impl<S: Source, D: Device> Engine<S, D> {
    /// An engine at the beginning of time, with nothing issued.
    pub fn new(source: S, device: D) -> Engine<S, D> {
        Engine {
            source,
            device,
            now: Instant::ZERO,
            wake: Instant::FAR,
            ask_source: true,
            poll_device: true,
            last_stamp: 0,
            waiting: None,
            lone: None,
            in_flight: Vec::new(),
            in_flight_count: 0,
            source_done: false,
            failures: 0,
        }
    }

    /// The present instant.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// How many requests failed.
    pub fn failures(&self) -> u64 {
        self.failures
    }

    /// The device.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// The device, to poll landings or to control it directly.
    pub fn device_mut(&mut self) -> &mut D {
        &mut self.device
    }

    /// The source.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// The source, to bring it an event from outside; the next step asks it.
    pub fn source_mut(&mut self) -> &mut S {
        self.ask_source = true;
        &mut self.source
    }

    /// Returns the source and the device.
    pub fn into_parts(self) -> (S, D) {
        (self.source, self.device)
    }

    /// Applies a control to the device at the present instant.
    pub fn control(&mut self, control: &Control) -> Result<(), crate::block::ControlError> {
        self.device.control(self.now, control)
    }

    /// True if the source has no more requests and all have completed.
    pub fn is_over(&self) -> bool {
        self.source_done && self.in_flight_count == 0
    }

    /// When to step next; `None` if nothing happens by itself: all is done, or the source waits for an outside event.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let next = self.device.poll_timeout().map_or(self.wake, |device| device.min(self.wake));
        (next != Instant::FAR).then_some(next)
    }

    /// Issues and counts everything there is at `now`.
    pub fn step(&mut self, now: Instant, recorder: &mut impl FnMut(&Record)) -> Result<(), EngineError> {
        self.now = now;
        self.device.handle_timeout(now);
        self.poll_device = true;
        self.settle_instant(false, recorder)
    }

    /// Runs in virtual time until the source is done and all requests have completed, or until `end`.
    pub fn run(&mut self, end: Instant, recorder: &mut impl FnMut(&Record)) -> Result<(), EngineError> {
        self.step(self.now, recorder)?;
        let (mut events_at_now, mut record) = (0u32, Record::NONE);
        while !self.is_over() {
            let (before, until) = (self.now, self.wake.min(end));
            if self.try_run_lone_request(until, &mut record, recorder) {
                // Already counted.
            } else if self.run_to_completion(until, &mut record.completion) {
                self.record_completion(&mut record, recorder);
            } else if until == Instant::FAR {
                break;
            } else {
                self.now = until.max(before);
                if self.wake > end {
                    return Ok(());
                }
            }
            self.settle_instant(true, recorder)?;
            events_at_now = if self.now > before { 0 } else { events_at_now + 1 };
            if events_at_now > MAX_EVENTS_AT_ONE_INSTANT {
                return Err(EngineError::Instant(self.now));
            }
        }
        if self.in_flight_count > 0 || self.waiting.is_some() { Err(EngineError::Silent(self.now)) } else { Ok(()) }
    }

    /// Runs the lone request, if there is one, to its end by `until`, and counts it. Returns false if that is
    /// impossible; the request is then submitted like any other.
    #[inline(always)]
    fn try_run_lone_request(
        &mut self,
        until: Instant,
        record: &mut Record,
        recorder: &mut impl FnMut(&Record),
    ) -> bool {
        let Some(request) = &self.lone else { return false };
        let first_offered = self.now;
        if !self.device.run_alone(first_offered, request, until, &mut record.completion) {
            self.submit_lone();
            return false;
        }
        record.request = *request;
        self.lone = None;
        self.now = record.completion.finished;
        self.count_completion(record, first_offered, recorder);
        true
    }

    /// Lets the device run until a request completes by `until`. Returns true if one did.
    #[inline(always)]
    fn run_to_completion(&mut self, until: Instant, answer: &mut Completion) -> bool {
        let reached = self.device.proceed_into(until, answer);
        if reached.answered {
            self.now = self.now.max(answer.finished);
            self.poll_device |= reached.next <= self.now;
        }
        reached.answered
    }

    /// Counts completions and issues requests until there are no more at this instant. If `may_hold_lone`, the last
    /// request may be held back to run alone on the device.
    #[inline(always)]
    fn settle_instant(&mut self, may_hold_lone: bool, recorder: &mut impl FnMut(&Record)) -> Result<(), EngineError> {
        self.ask_source |= self.wake <= self.now;
        let mut events = 0u32;
        loop {
            while self.poll_device {
                match self.device.poll_completion() {
                    Some(completion) => {
                        self.record_completion(&mut Record { completion, ..Record::NONE }, recorder);
                        events += 1;
                    }
                    None => self.poll_device = false,
                }
            }
            if !(self.ask_source || self.waiting.is_some()) || !self.issue_next(may_hold_lone, recorder) {
                return Ok(());
            }
            events += 1;
            if events > MAX_EVENTS_AT_ONE_INSTANT {
                return Err(EngineError::Instant(self.now));
            }
        }
    }

    /// Issues a request, if there is one and the device has room. Returns true if it issued or recorded one.
    #[inline(always)]
    fn issue_next(&mut self, may_hold_lone: bool, recorder: &mut impl FnMut(&Record)) -> bool {
        if let Some((request, first_offered)) = self.waiting {
            return self.try_submit(request, first_offered);
        }
        match self.source.next(self.now) {
            SourcePoll::Request(mut request) => {
                self.last_stamp += 1;
                request.stamp = self.last_stamp;
                if self.source.awaits_completion(self.now) {
                    debug_assert!(
                        self.source.next(self.now) == SourcePoll::Completion,
                        "a source that waits has no request"
                    );
                    (self.ask_source, self.wake, self.source_done) = (false, Instant::FAR, false);
                }
                if self.lone.is_some() {
                    self.submit_lone();
                } else if may_hold_lone && self.in_flight_count == 0 && self.device.can_run_alone(&request) {
                    self.lone = Some(request);
                    self.in_flight_count = 1;
                    return true;
                }
                self.try_submit(request, self.now)
            }
            SourcePoll::Served(served) => {
                self.failures += u64::from(served.failed);
                recorder(&Record::from_served(&served));
                true
            }
            next => {
                self.ask_source = false;
                self.wake = if let SourcePoll::At(at) = next { at } else { Instant::FAR };
                self.source_done = next == SourcePoll::Done;
                false
            }
        }
    }

    /// Submits a request, or keeps it as waiting if the device is full. Returns true if the device accepted it.
    #[inline(always)]
    fn try_submit(&mut self, request: Request, first_offered: Instant) -> bool {
        match self.device.submit(self.now, request) {
            Ok(next) => self.poll_device |= next <= self.now,
            Err(request) => {
                assert!(self.in_flight_count > 0, "the device refused a request with nothing in flight");
                self.waiting = Some((request, first_offered));
                self.wake = Instant::FAR;
                self.source.handle_refusal(self.now);
                return false;
            }
        }
        self.waiting = None;
        self.note_in_flight(request, first_offered);
        self.in_flight_count += 1;
        true
    }

    /// Submits the lone request, which came at this instant, like any other.
    #[cold]
    fn submit_lone(&mut self) {
        let Some(request) = self.lone.take() else { return };
        let taken = self.device.submit(self.now, request);
        let next = taken.expect("the device has nothing in flight");
        self.poll_device |= next <= self.now;
        self.note_in_flight(request, self.now);
    }

    #[inline(always)]
    fn note_in_flight(&mut self, request: Request, first_offered: Instant) {
        let tag = request.tag as usize;
        if tag >= self.in_flight.len() {
            self.in_flight.resize(tag + 1, None);
        }
        self.in_flight[tag] = Some((request, first_offered));
    }

    /// Takes the request of the record's completion from those in flight, and counts the completion.
    #[inline(always)]
    fn record_completion(&mut self, record: &mut Record, recorder: &mut impl FnMut(&Record)) {
        let in_flight = self.in_flight.get_mut(record.completion.tag as usize).and_then(Option::take);
        let first_offered;
        (record.request, first_offered) = in_flight.expect("a completion of something in flight");
        self.count_completion(record, first_offered, recorder);
    }

    /// Counts the completion of the record's request, and records it unless the source says otherwise.
    #[inline(always)]
    fn count_completion(&mut self, record: &mut Record, first_offered: Instant, recorder: &mut impl FnMut(&Record)) {
        let completion = &mut record.completion;
        self.in_flight_count -= 1;
        self.ask_source = true;
        self.failures += u64::from(completion.status != Status::Done);
        if let Accounting::In { worker, intended, served } = self.source.complete(self.now, completion) {
            let issued = served.map_or(first_offered, |write| write.issued);
            completion.extend_back(Part::Driver, issued);
            record.worker = worker;
            (record.intended, record.issued) = (intended.min(issued), issued);
            if let Some(ForcedWrite { op, sectors, .. }) = served {
                (record.request.op, record.request.sectors) = (op, sectors);
                record.request.flags = record.request.flags.with(Flags::FLUSH_FOLLOWS);
            }
            recorder(record);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Op;
    use crate::testing::SmallDrive;
    use crate::time::Span;

    const READ: Request =
        Request { tag: 0, unit: 0, origin: 0, op: Op::Read, flags: Flags::NONE, lba: 0, sectors: 8, stamp: 0 };

    /// A number of reads, kept at `depth` in flight, each at the next free tag.
    struct Reads {
        left: u32,
        depth: u32,
        flying: Vec<bool>,
    }

    impl Reads {
        fn new(left: u32, depth: u32) -> Reads {
            Reads { left, depth, flying: alloc::vec![false; depth as usize] }
        }
    }

    impl Source for Reads {
        fn next(&mut self, _: Instant) -> SourcePoll {
            let Some(tag) = (0..self.depth).find(|&tag| !self.flying[tag as usize]) else {
                return SourcePoll::Completion;
            };
            if self.left == 0 {
                return SourcePoll::Done;
            }
            self.left -= 1;
            self.flying[tag as usize] = true;
            SourcePoll::Request(Request { tag, lba: u64::from(self.left) * 97 % 5_000, ..READ })
        }

        fn complete(&mut self, now: Instant, completion: &Completion) -> Accounting {
            assert!(completion.finished == now, "in virtual time each completion is met at its instant");
            self.flying[completion.tag as usize] = false;
            Accounting::In { worker: 0, intended: completion.submitted, served: None }
        }
    }

    /// Wakes up at once, for ever.
    struct Restless;

    impl Source for Restless {
        fn next(&mut self, now: Instant) -> SourcePoll {
            SourcePoll::At(now)
        }
        fn complete(&mut self, _: Instant, _: &Completion) -> Accounting {
            Accounting::Out
        }
    }

    #[test]
    fn a_request_without_room_waits_and_its_wait_is_counted() {
        let mut records: Vec<Record> = Vec::new();
        let mut engine = Engine::new(Reads::new(50, 3), SmallDrive::default().drive());
        engine.run(Instant::FAR, &mut |record: &Record| records.push(*record)).expect("all complete");
        assert_eq!(records.len(), 50);
        let waited = records.iter().filter(|r| r.completion.parts.get(Part::Driver) > Span::ZERO).count();
        assert!(waited > 40, "the drive takes one at a time, one of three is offered again and again: {waited}");
        for (index, record) in records.iter().enumerate() {
            assert_eq!(record.completion.parts.total(), record.response_time());
            assert_eq!(record.request.stamp, index as u64 + 1, "served in order, stamps rise");
        }
    }

    #[test]
    fn a_run_stops_at_its_end_and_goes_on() {
        let mut count = 0;
        let mut engine = Engine::new(Reads::new(50, 1), SmallDrive::default().drive());
        let end = Instant::from_nanos(100_000_000);
        engine.run(end, &mut |_: &Record| count += 1).expect("runs");
        assert!(engine.now() <= end && count > 0 && count < 50);
        engine.run(Instant::FAR, &mut |_: &Record| count += 1).expect("runs");
        assert_eq!(count, 50);
    }

    /// Says that it waits when it does not.
    struct Untrue(Reads);

    impl Source for Untrue {
        fn next(&mut self, now: Instant) -> SourcePoll {
            self.0.next(now)
        }
        fn complete(&mut self, now: Instant, completion: &Completion) -> Accounting {
            self.0.complete(now, completion)
        }
        fn awaits_completion(&self, _: Instant) -> bool {
            true
        }
    }

    #[test]
    fn a_source_that_waits_is_not_asked_again() {
        let mut records = 0;
        let mut engine = Engine::new(Untrue(Reads::new(50, 1)), SmallDrive::default().drive());
        engine.run(Instant::FAR, &mut |_: &Record| records += 1).expect("at depth 1 it is true");
        assert_eq!(records, 50);
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "a source that waits has no request")]
    fn a_source_that_does_not_wait_as_it_says_is_found_out() {
        let mut engine = Engine::new(Untrue(Reads::new(50, 2)), SmallDrive::default().drive());
        let _ = engine.run(Instant::FAR, &mut |_: &Record| {});
    }

    #[test]
    fn a_source_that_lets_no_time_pass_is_found_out() {
        let mut engine = Engine::new(Restless, SmallDrive::default().drive());
        let stuck = engine.run(Instant::FAR, &mut |_: &Record| {});
        assert_eq!(stuck, Err(EngineError::Instant(Instant::ZERO)));
    }
}
