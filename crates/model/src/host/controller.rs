//! A host bus adapter, a first form: a limit on commands outstanding, and its own cost of each command, one after
//! another. It moves data as fast as the link below; buses shared between controllers are not modelled.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::block::{Completion, Control, ControlError, Device, Landing, Limits, Request, Status};
use crate::record::{Ledger, Part};
use crate::time::{Instant, Span};

/// What a controller does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControllerSpec {
    /// Commands outstanding at once: 1 without queuing, 32 for AHCI with NCQ.
    pub depth: u32,
    /// Its own cost of a command.
    pub command: Span,
}

/// The controller.
pub struct Controller {
    below: Box<dyn Device>,
    command: Span,
    slots: Vec<Option<(Request, Ledger)>>,
    free: Vec<u32>,
    /// Commands that the adapter is working on, by when it is done with each.
    working: VecDeque<(Instant, u32)>,
    /// The adapter takes the next from here on.
    idle_from: Instant,
    ready: VecDeque<Completion>,
}

impl Controller {
    /// A controller above `below`.
    pub fn new(spec: ControllerSpec, below: Box<dyn Device>) -> Controller {
        let depth = spec.depth.min(below.limits(0).depth).max(1);
        Controller {
            below,
            command: spec.command,
            slots: alloc::vec![None; depth as usize],
            free: (0..depth).rev().collect(),
            working: VecDeque::with_capacity(depth as usize),
            idle_from: Instant::ZERO,
            ready: VecDeque::with_capacity(depth as usize),
        }
    }

    fn next(&self) -> Option<Instant> {
        let own = self.working.front().map(|&(at, _)| at);
        match (own, self.below.poll_timeout()) {
            (Some(own), Some(below)) => Some(own.min(below)),
            (own, below) => own.or(below),
        }
    }

    /// Sends down what is due and takes back what came, at `now`.
    fn pump(&mut self, now: Instant) {
        self.collect();
        while let Some(&(at, slot)) = self.working.front() {
            if at > now {
                return;
            }
            self.working.pop_front();
            if let Some((request, ledger)) = &mut self.slots[slot as usize] {
                ledger.until(Part::Controller, at);
                let down = Request { tag: slot, ..*request };
                self.below.submit(at, down).expect("room below for the depth it states");
            }
            self.collect();
        }
    }

    fn collect(&mut self) {
        while let Some(completion) = self.below.poll_completion() {
            let taken = self.slots[completion.tag as usize].take();
            let (request, mut ledger) = taken.expect("a completion of something in flight");
            ledger.adopt(Part::Controller, &completion);
            self.answer(completion.tag, request.tag, &ledger, completion.status, completion.finished);
        }
    }

    fn answer(&mut self, slot: u32, tag: u32, ledger: &Ledger, status: Status, finished: Instant) {
        let submitted = ledger.start();
        self.ready.push_back(Completion { tag, status, submitted, finished, parts: ledger.parts() });
        self.free.push(slot);
    }

    /// Ends what the adapter still holds and `chosen` names; what is below is the device's to end.
    fn drop_working(&mut self, now: Instant, status: Status, chosen: impl Fn(u32) -> bool) -> bool {
        let mut dropped = false;
        let mut kept = VecDeque::with_capacity(self.working.len());
        while let Some((at, slot)) = self.working.pop_front() {
            match self.slots[slot as usize] {
                Some((request, mut ledger)) if chosen(request.tag) => {
                    ledger.until(Part::Controller, now);
                    self.slots[slot as usize] = None;
                    self.answer(slot, request.tag, &ledger, status, now);
                    dropped = true;
                }
                _ => kept.push_back((at, slot)),
            }
        }
        self.working = kept;
        dropped
    }

    fn abort(&mut self, now: Instant, tag: u32) -> Result<(), ControlError> {
        if self.drop_working(now, Status::Aborted, |other| other == tag) {
            return Ok(());
        }
        let held = |slot: &Option<(Request, Ledger)>| slot.is_some_and(|(request, _)| request.tag == tag);
        let slot = self.slots.iter().position(held).ok_or(ControlError::UnknownTag)?;
        self.below.control(now, &Control::Abort(slot as u32))
    }
}

impl Device for Controller {
    fn limits(&self, unit: u8) -> Limits {
        Limits { depth: self.slots.len() as u32, ..self.below.limits(unit) }
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), Request> {
        self.handle_timeout(now);
        let Some(slot) = self.free.pop() else {
            return Err(request);
        };
        self.idle_from = self.idle_from.max(now) + self.command;
        self.slots[slot as usize] = Some((request, Ledger::open(now)));
        self.working.push_back((self.idle_from, slot));
        self.pump(now);
        Ok(())
    }

    fn control(&mut self, now: Instant, control: &Control<'_>) -> Result<(), ControlError> {
        self.handle_timeout(now);
        let done = match *control {
            Control::Abort(tag) => self.abort(now, tag),
            Control::PowerCut | Control::Reset => {
                let cut = matches!(control, Control::PowerCut);
                self.drop_working(now, if cut { Status::PowerLost } else { Status::Aborted }, |_| true);
                self.below.control(now, control)
            }
            _ => self.below.control(now, control),
        };
        self.pump(now);
        done
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.next()
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(next) = self.next() {
            if next > now {
                break;
            }
            self.below.handle_timeout(next);
            self.pump(next);
        }
    }

    fn poll_completion(&mut self) -> Option<Completion> {
        self.ready.pop_front()
    }

    fn poll_landing(&mut self) -> Option<Landing> {
        self.below.poll_landing()
    }
}
