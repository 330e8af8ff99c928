//! Several devices side by side, each a unit of its own: the drives of an array, each on its port; two drives on one
//! channel, below the controller that lets one command through at a time.
//!
//! A request goes to the device that its unit names and comes back with its tag, which is unique over all units. What
//! is done to the whole (power, reset, settings) is done to each, in order. `unit.N` sends a power failure to one of
//! them: a drive that dies. Nothing is queued or costs time here.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::block::{Completion, Control, ControlError, Device, Landing, Limits, Request};
use crate::time::Instant;

/// Devices side by side.
pub struct Ports {
    members: Vec<Box<dyn Device>>,
    ready: VecDeque<Completion>,
}

impl Ports {
    /// The devices become the units 0, 1, …; there is at least one.
    pub fn new(members: Vec<Box<dyn Device>>) -> Ports {
        assert!(!members.is_empty(), "no device");
        Ports { members, ready: VecDeque::new() }
    }

    fn each(
        &mut self,
        mut act: impl FnMut(&mut Box<dyn Device>) -> Result<(), ControlError>,
    ) -> Result<(), ControlError> {
        let mut first = Ok(());
        for member in &mut self.members {
            let done = act(member);
            first = first.and(done);
        }
        first
    }

    /// Takes what has ended by now: by unit.
    fn collect(&mut self) {
        for member in &mut self.members {
            while let Some(completion) = member.poll_completion() {
                self.ready.push_back(completion);
            }
        }
    }

    /// `unit.N`: the unit N, which is switched `on` or `off`.
    fn switch(&mut self, now: Instant, unit: &str, value: &str) -> Result<(), ControlError> {
        let member = unit.parse().ok().and_then(|unit: usize| self.members.get_mut(unit));
        let member = member.ok_or(ControlError::UnknownKey)?;
        match value {
            "on" => member.control(now, &Control::PowerOn),
            "off" => member.control(now, &Control::PowerCut),
            _ => Err(ControlError::BadValue),
        }
    }
}

impl Device for Ports {
    fn limits(&self, unit: u8) -> Limits {
        self.members[usize::from(unit)].limits(0)
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), Request> {
        let unit = request.unit;
        let down = Request { unit: 0, ..request };
        self.handle_timeout(now);
        let done = self.members[usize::from(unit)].submit(now, down).map_err(|_| request);
        self.collect();
        done
    }

    fn control(&mut self, now: Instant, control: &Control<'_>) -> Result<(), ControlError> {
        self.handle_timeout(now);
        let done = match *control {
            Control::Abort(_) => {
                // The one that has it knows the tag.
                let mut members = self.members.iter_mut();
                let found = members.any(|member| member.control(now, control).is_ok());
                if found { Ok(()) } else { Err(ControlError::UnknownTag) }
            }
            Control::Set { key, value } => match key.strip_prefix("unit.") {
                Some(unit) => self.switch(now, unit, value),
                None => self.each(|member| member.control(now, control)),
            },
            _ => self.each(|member| member.control(now, control)),
        };
        self.collect();
        done
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.members.iter().filter_map(|member| member.poll_timeout()).min()
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(next) = self.poll_timeout().filter(|&next| next <= now) {
            self.members.iter_mut().for_each(|member| member.handle_timeout(next));
            self.collect();
        }
    }

    fn poll_completion(&mut self) -> Option<Completion> {
        self.ready.pop_front()
    }

    fn poll_landing(&mut self) -> Option<Landing> {
        let mut members = self.members.iter_mut().enumerate();
        members.find_map(|(unit, member)| {
            let landing = member.poll_landing()?;
            Some(Landing { member: landing.member + unit as u32, ..landing })
        })
    }
}
