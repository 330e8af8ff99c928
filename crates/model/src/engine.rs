//! Joins a source to a device and turns the crank in whatever time the caller has. Reads no clock.
//!
//! The engine assigns stamps, keeps a request that the device had no room for and offers it again, and hands a
//! [`Record`] of each counted completion to the recorder. In virtual time: call [`Engine::run`]. In real time: call
//! [`Engine::poll_timeout`], wait, [`Engine::step`].

use alloc::vec::Vec;

use crate::block::{Completion, Control, Counted, Device, Next, Request, Source, Status};
use crate::record::{Part, Record};
use crate::time::{Instant, Span};

/// More events than this at one instant mean that a device or a source does not let time pass.
const EVENTS_AT_ONE_INSTANT: u32 = 1_000_000;

/// A source joined to a device.
pub struct Engine<S, D> {
    source: S,
    device: D,
    now: Instant,
    wake: Option<Instant>,
    stamp: u64,
    /// A request the device had no room for, and when it was first offered.
    waiting: Option<(Request, Instant)>,
    /// By tag: the request in flight, and when it was first offered.
    flying: Vec<Option<(Request, Instant)>>,
    in_flight: u32,
    done: bool,
    failures: u64,
}

/// Why a run stopped short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// Time does not pass any more.
    Instant(Instant),
    /// The device holds requests and will never say anything again.
    Silent(Instant),
}

impl<S: Source, D: Device> Engine<S, D> {
    /// Nothing issued yet, at the beginning of time.
    pub fn new(source: S, device: D) -> Engine<S, D> {
        Engine {
            source,
            device,
            now: Instant::ZERO,
            wake: None,
            stamp: 0,
            waiting: None,
            flying: Vec::new(),
            in_flight: 0,
            done: false,
            failures: 0,
        }
    }

    /// The present.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Requests that ended otherwise than done.
    pub fn failures(&self) -> u64 {
        self.failures
    }

    /// The device.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// The device, to poll landings or to control it by hand.
    pub fn device_mut(&mut self) -> &mut D {
        &mut self.device
    }

    /// The source.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// Passes a control to the device at the present.
    pub fn control(&mut self, control: &Control<'_>) -> Result<(), crate::block::ControlError> {
        self.device.control(self.now, control)
    }

    /// When to step next; `None` when all is done.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match (self.device.poll_timeout(), self.wake) {
            (Some(device), Some(wake)) => Some(device.min(wake)),
            (device, wake) => device.or(wake),
        }
    }

    /// Issues and counts all there is at `now`.
    pub fn step(&mut self, now: Instant, recorder: &mut impl FnMut(&Record)) -> Result<(), Stuck> {
        self.now = now;
        self.device.handle_timeout(now);
        let mut events = 0u32;
        loop {
            let drained = self.drain(recorder);
            let issued = self.issue();
            events += drained + u32::from(issued);
            if drained == 0 && !issued {
                return Ok(());
            }
            if events > EVENTS_AT_ONE_INSTANT {
                return Err(Stuck::Instant(now));
            }
        }
    }

    /// Runs in virtual time until the source has no more and all has completed, or until `end`.
    pub fn run(&mut self, end: Instant, recorder: &mut impl FnMut(&Record)) -> Result<(), Stuck> {
        self.step(self.now, recorder)?;
        while let Some(next) = self.poll_timeout() {
            if next > end || (self.done && self.in_flight == 0) {
                return Ok(());
            }
            self.step(next, recorder)?;
        }
        if self.in_flight > 0 || self.waiting.is_some() {
            Err(Stuck::Silent(self.now))
        } else {
            Ok(())
        }
    }

    /// Issues one request, if there is one and there is room.
    fn issue(&mut self) -> bool {
        let (request, offered) = match self.waiting.take() {
            Some(waiting) => waiting,
            None => match self.source.next(self.now) {
                Next::Request(mut request) => {
                    self.stamp += 1;
                    request.stamp = self.stamp;
                    (request, self.now)
                }
                next => {
                    self.wake = if let Next::At(at) = next {
                        Some(at)
                    } else {
                        None
                    };
                    self.done = next == Next::Done;
                    return false;
                }
            },
        };
        match self.device.submit(self.now, request) {
            Ok(()) => {
                let tag = request.tag as usize;
                if tag >= self.flying.len() {
                    self.flying.resize(tag + 1, None);
                }
                self.flying[tag] = Some((request, offered));
                self.in_flight += 1;
                true
            }
            Err(request) => {
                assert!(
                    self.in_flight > 0,
                    "the device refused a request with nothing in flight"
                );
                self.waiting = Some((request, offered));
                self.wake = None;
                false
            }
        }
    }

    fn drain(&mut self, recorder: &mut impl FnMut(&Record)) -> u32 {
        let mut drained = 0;
        while let Some(completion) = self.device.poll_completion() {
            drained += 1;
            self.complete(completion, recorder);
        }
        drained
    }

    fn complete(&mut self, mut completion: Completion, recorder: &mut impl FnMut(&Record)) {
        let flying = self
            .flying
            .get_mut(completion.tag as usize)
            .and_then(Option::take);
        let (request, offered) = flying.expect("a completion of something in flight");
        self.in_flight -= 1;
        self.failures += u64::from(completion.status != Status::Done);
        if let Counted::In { worker, intended } = self.source.complete(self.now, &completion) {
            let from = intended.min(offered);
            let waited = completion.submitted.since(from);
            if waited > Span::ZERO {
                completion.parts.add(Part::Driver, waited);
                completion.submitted = from;
            }
            recorder(&Record {
                worker,
                request,
                intended: from,
                completion,
            });
        }
    }
}
