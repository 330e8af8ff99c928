//! The layer that does nothing: the template for new layers. Any workload through it is unchanged.

use alloc::boxed::Box;

use crate::block::{Completion, Control, ControlError, Device, Landing, Limits, Request};
use crate::record::DriveLog;
use crate::time::Instant;

/// Passes everything on.
pub struct Identity {
    below: Box<dyn Device>,
}

impl Identity {
    /// Nothing above `below`.
    pub fn new(below: Box<dyn Device>) -> Identity {
        Identity { below }
    }
}

impl Device for Identity {
    fn limits(&self, unit: u8) -> Limits {
        self.below.limits(unit)
    }
    fn submit(&mut self, now: Instant, request: Request) -> Result<(), Request> {
        self.below.submit(now, request)
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
