//! A device whose writes go down under numbers of their own, in the order in which it took them.
//!
//! It stands right above an array with parity. There, the order in which rows are written decides what a row's parity
//! covers, and it is not the order of the stamps where a driver above sorts. Landings come up under the numbers; whoever
//! asked for them gets the requests as they came, with their numbers ([`Entries`]).

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use seekwise_model::block::{Completion, Control, ControlError, Device, Landing, Limits, Op, Request};
use seekwise_model::record::DriveLog;
use seekwise_model::time::Instant;

/// Writes that have gone down and were not told of yet: number and request.
pub type Entries = Rc<RefCell<VecDeque<(u64, Request)>>>;

/// The device.
pub struct Numbered {
    below: Box<dyn Device>,
    entries: Entries,
    /// Writes that have gone down.
    count: u64,
}

impl Numbered {
    /// Above `below`, telling `entries`.
    pub fn new(below: Box<dyn Device>, entries: Entries) -> Numbered {
        Numbered { below, entries, count: 0 }
    }
}

impl Device for Numbered {
    fn limits(&self, unit: u8) -> Limits {
        self.below.limits(unit)
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), Request> {
        if request.op != Op::Write {
            return self.below.submit(now, request);
        }
        let number = self.count + 1;
        self.below.submit(now, Request { stamp: number, ..request }).map_err(|_| request)?;
        self.count = number;
        self.entries.borrow_mut().push_back((number, request));
        Ok(())
    }

    fn control(&mut self, now: Instant, control: &Control<'_>) -> Result<(), ControlError> {
        self.below.control(now, control)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.below.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.below.handle_timeout(now);
    }

    fn poll_completion(&mut self) -> Option<Completion> {
        self.below.poll_completion()
    }

    fn log(&self) -> DriveLog {
        self.below.log()
    }

    fn poll_landing(&mut self) -> Option<Landing> {
        self.below.poll_landing()
    }

    fn proceed(&mut self, until: Instant) -> Option<Completion> {
        self.below.proceed(until)
    }
}
