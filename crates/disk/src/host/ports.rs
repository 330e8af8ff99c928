//! Several devices side by side, each a unit of its own: the drives of an array, each on its port or below a cable that
//! they share ([`channel`](super::channel), [`scsi`](super::scsi)); or unlike devices ([`mixed_devices`](super::mixed_devices)).
//!
//! A request goes to the device of its unit and comes back with its tag, which is unique over all units. Controls
//! (power, reset, settings) go to each device in order; a setting is known if any of them knows it.
//! [`LayerSetting::Unit`] switches one of them: a drive that dies. Nothing is queued or costs time here.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::block::setting::LayerSetting;
use crate::block::setting_use::SettingUse;
use crate::block::{Completion, Control, ControlError, Device, DeviceProgress, Landing, Limits, Request, Status};
use crate::record::{DriveLog, Effort, Parts};
use crate::time::Instant;

/// A device among several.
struct PortDevice {
    device: Box<dyn Device>,
    /// When it next acts by itself; `FAR` if it does not.
    next: Instant,
    /// The number of its first drive.
    first: u32,
}

/// Devices side by side.
pub struct Ports {
    members: Vec<PortDevice>,
    /// The earliest of their instants.
    next: Instant,
    ready: VecDeque<Completion>,
    landings: VecDeque<Landing>,
    landings_wanted: bool,
}

impl Ports {
    /// The devices as the units 0, 1, …; there is at least one.
    pub fn new(members: Vec<Box<dyn Device>>) -> Ports {
        Ports::with_drive_counts(members.into_iter().map(|device| (device, 1)).collect())
    }

    /// Devices as units, each with the number of its drives.
    pub(crate) fn with_drive_counts(members: Vec<(Box<dyn Device>, u32)>) -> Ports {
        assert!(!members.is_empty(), "no device");
        let mut drives_before = 0;
        let member = |(device, drives): (Box<dyn Device>, u32)| {
            let first = drives_before;
            drives_before += drives;
            PortDevice { next: device_timeout(&device), device, first }
        };
        let members: Vec<PortDevice> = members.into_iter().map(member).collect();
        Ports {
            next: members.iter().fold(Instant::FAR, |next, member| next.min(member.next)),
            members,
            ready: VecDeque::new(),
            landings: VecDeque::new(),
            landings_wanted: false,
        }
    }

    /// Applies a control to each, in order; returns the first error.
    fn control_each(&mut self, now: Instant, control: &Control) -> Result<(), ControlError> {
        let mut first = Ok(());
        for unit in 0..self.members.len() {
            let done = self.members[unit].device.control(now, control);
            first = first.and(done);
            self.collect_unit(unit, None);
        }
        first
    }

    /// Changes a setting of all that know it; returns the first error if none does.
    fn change_setting(&mut self, now: Instant, control: &Control) -> Result<(), ControlError> {
        let mut all = Err(ControlError::UnknownKey);
        for unit in 0..self.members.len() {
            let done = self.members[unit].device.control(now, control);
            all = match (all, done) {
                (Err(ControlError::UnknownKey), done) => done,
                (all, Err(ControlError::UnknownKey)) => all,
                (all, done) => all.and(done),
            };
            self.collect_unit(unit, None);
        }
        all
    }

    /// Takes the completions of a unit that was just called. There are none if it has returned (`told`) when it is due
    /// next.
    fn collect_unit(&mut self, unit: usize, told: Option<Instant>) {
        let before = self.members[unit].next;
        let next = self.drain_unit(unit, told);
        if next <= self.next {
            self.next = next;
        } else if before == self.next {
            self.next = self.next_unit().1;
        }
    }

    /// As `collect_unit`, but leaves the earliest instant alone; returns when the unit is due next.
    fn drain_unit(&mut self, unit: usize, told: Option<Instant>) -> Instant {
        let member = &mut self.members[unit];
        if let Some(next) = told.filter(|_| !self.landings_wanted) {
            member.next = next;
            return next;
        }
        while let Some(completion) = member.device.poll_completion() {
            self.ready.push_back(completion);
        }
        if self.landings_wanted {
            while let Some(landing) = member.device.poll_landing() {
                self.landings.push_back(Landing { member: landing.member + member.first, ..landing });
            }
        }
        member.next = device_timeout(&member.device);
        member.next
    }

    /// Steps all units except `but` to `now`, in the order of units.
    fn step_units(&mut self, now: Instant, but: usize) {
        for unit in 0..self.members.len() {
            if self.members[unit].next <= now && unit != but {
                self.members[unit].device.handle_timeout(now);
                self.collect_unit(unit, None);
            }
        }
    }

    /// Handles a completion of `unit` and other units due at the same instant, in the order of units.
    fn settle_tie(&mut self, unit: usize, completion: &Completion) {
        let at = completion.finished;
        let mut before: Vec<usize> = (0..unit).collect();
        before.retain(|&other| self.members[other].next <= at);
        for other in before {
            self.members[other].device.handle_timeout(at);
            self.collect_unit(other, None);
        }
        self.ready.push_back(*completion);
        self.collect_unit(unit, None);
        self.step_units(at, unit);
    }

    /// When to call next: at once if something can be polled.
    fn next_call(&self, now: Instant) -> Instant {
        if self.ready.is_empty() { self.next } else { now }
    }

    /// The unit that is due first, its instant, and that of the second.
    fn next_unit(&self) -> (usize, Instant, Instant) {
        let (mut unit, mut first, mut second) = (0, Instant::FAR, Instant::FAR);
        for (index, member) in self.members.iter().enumerate() {
            if member.next < first {
                (unit, second, first) = (index, first, member.next);
            } else {
                second = second.min(member.next);
            }
        }
        (unit, first, second)
    }

    /// Aborts the tag at the unit that has it.
    fn abort_tag(&mut self, now: Instant, control: &Control) -> Result<(), ControlError> {
        for unit in 0..self.members.len() {
            if self.members[unit].device.control(now, control).is_ok() {
                self.collect_unit(unit, None);
                return Ok(());
            }
        }
        Err(ControlError::UnknownTag)
    }

    /// Switches a unit on, or cuts its power.
    fn switch_unit(&mut self, now: Instant, unit: usize, on: bool) -> Result<(), ControlError> {
        let member = self.members.get_mut(unit).ok_or(ControlError::UnknownKey)?;
        let done = member.device.control(now, if on { &Control::PowerOn } else { &Control::PowerCut });
        self.collect_unit(unit, None);
        done
    }
}

fn device_timeout(device: &dyn Device) -> Instant {
    device.poll_timeout().unwrap_or(Instant::FAR)
}

impl Device for Ports {
    fn limits(&self, unit: u8) -> Limits {
        self.members[usize::from(unit)].device.limits(0)
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<Instant, Request> {
        self.handle_timeout(now);
        let unit = usize::from(request.unit);
        if unit >= self.members.len() {
            // No such unit: as beyond a device's end.
            let (tag, status, parts, effort) = (request.tag, Status::OutOfRange, Parts::default(), Effort::default());
            self.ready.push_back(Completion { tag, status, submitted: now, finished: now, parts, effort });
            return Ok(now);
        }
        let down = Request { unit: 0, ..request };
        let next = self.members[unit].device.submit(now, down).map_err(|_| request)?;
        self.collect_unit(unit, (next > now).then_some(next));
        Ok(self.next_call(now))
    }

    fn control(&mut self, now: Instant, control: &Control) -> Result<(), ControlError> {
        self.handle_timeout(now);
        match *control {
            Control::Abort(_) => self.abort_tag(now, control),
            Control::Set(LayerSetting::Unit { unit, on }) => self.switch_unit(now, unit as usize, on),
            Control::Set(setting) => {
                self.landings_wanted |= matches!(setting, LayerSetting::Landings(_));
                self.change_setting(now, control)
            }
            _ => self.control_each(now, control),
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        (self.next != Instant::FAR).then_some(self.next)
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(next) = self.poll_timeout().filter(|&next| next <= now) {
            self.step_units(next, usize::MAX);
        }
    }

    fn poll_completion(&mut self) -> Option<Completion> {
        self.ready.pop_front()
    }

    fn drive_log(&self) -> DriveLog {
        let mut log = DriveLog::default();
        self.members.iter().for_each(|member| log.add(&member.device.drive_log()));
        log
    }

    fn setting_use(&self, now: Instant) -> SettingUse {
        self.members
            .iter()
            .map(|member| member.device.setting_use(now))
            .fold(SettingUse::NOTHING, SettingUse::merged_with)
    }

    fn poll_landing(&mut self) -> Option<Landing> {
        self.landings.pop_front()
    }

    fn report_unsettled(&self, tell: &mut dyn FnMut(u64)) {
        self.landings.iter().for_each(|landing| tell(landing.stamp));
        self.members.iter().for_each(|member| member.device.report_unsettled(tell));
    }

    fn proceed_into(&mut self, until: Instant, answer: &mut Completion) -> DeviceProgress {
        loop {
            if let Some(completion) = self.ready.pop_front() {
                *answer = completion;
                return DeviceProgress { answered: true, next: self.next_call(completion.finished) };
            }
            let (unit, first, second) = self.next_unit();
            if first > until || first == Instant::FAR {
                return DeviceProgress { answered: false, next: first };
            }
            // The unit is alone until the next unit's instant.
            let DeviceProgress { answered, next } = self.members[unit].device.proceed_into(second.min(until), answer);
            if answered && second <= answer.finished {
                self.settle_tie(unit, answer);
                continue;
            }
            let quiet = !answered || next > answer.finished;
            self.next = self.drain_unit(unit, quiet.then_some(next)).min(second);
            if answered {
                return DeviceProgress { answered, next: self.next_call(answer.finished) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{Flags, Op};
    use crate::testing::SmallDrive;

    #[test]
    fn a_unit_that_is_not_there_is_answered_with_a_status() {
        let mut ports =
            Ports::new(alloc::vec![Box::new(SmallDrive::default().drive()), Box::new(SmallDrive::default().drive())]);
        let (flags, stamp, now) = (Flags::NONE, 1, Instant::ZERO);
        let request = Request { tag: 7, unit: 2, origin: 0, op: Op::Read, flags, lba: 0, sectors: 8, stamp };
        assert_eq!(ports.submit(now, request), Ok(now));
        let answer = ports.poll_completion().expect("an answer");
        assert_eq!((answer.tag, answer.status, answer.finished), (7, Status::OutOfRange, now));
        assert_eq!((ports.poll_completion(), ports.poll_timeout()), (None, None));
    }
}
