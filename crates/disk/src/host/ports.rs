//! Several devices side by side as the units of one device: the drives of an array, each on its port or below a cable that
//! they share ([`channel`](super::channel), [`scsi`](super::scsi)); or unlike devices ([`mixed_devices`](super::mixed_devices)).
//!
//! A request goes to the device of its unit, and its completion has its tag, which is unique over all units. Controls
//! (power, reset, settings) go to each device in order; a setting is known if any of them knows it.
//! [`LayerSetting::Unit`] switches one of them on or off, as when a drive dies. Nothing is queued or takes time here.

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
    /// The number of its first drive among those of all devices.
    first_drive: u32,
}

/// The unit that acts next by itself.
struct DueUnit {
    unit: usize,
    due: Instant,
    /// When the first of the other units acts.
    next_due: Instant,
}

/// Devices side by side.
pub struct Ports {
    units: Vec<PortDevice>,
    /// When the first of them next acts by itself.
    next: Instant,
    ready: VecDeque<Completion>,
    landings: VecDeque<Landing>,
    landings_wanted: bool,
}

impl Ports {
    /// The devices as the units 0, 1, …, each with one drive; there is at least one.
    pub fn new(devices: Vec<Box<dyn Device>>) -> Ports {
        Ports::with_drive_counts(devices.into_iter().map(|device| (device, 1)).collect())
    }

    /// The devices as the units 0, 1, …, each with the number of its drives; there is at least one.
    pub(crate) fn with_drive_counts(devices_and_drive_counts: Vec<(Box<dyn Device>, u32)>) -> Ports {
        assert!(!devices_and_drive_counts.is_empty(), "no device");
        let mut drives_before = 0;
        let unit = |(device, drives): (Box<dyn Device>, u32)| {
            let first_drive = drives_before;
            drives_before += drives;
            PortDevice { next: next_timeout(&device), device, first_drive }
        };
        let units: Vec<PortDevice> = devices_and_drive_counts.into_iter().map(unit).collect();
        Ports {
            next: units.iter().fold(Instant::FAR, |next, unit| next.min(unit.next)),
            units,
            ready: VecDeque::new(),
            landings: VecDeque::new(),
            landings_wanted: false,
        }
    }

    /// Applies a control to all units, in order; returns the first error.
    fn control_all(&mut self, now: Instant, control: &Control) -> Result<(), ControlError> {
        let mut first = Ok(());
        for unit in 0..self.units.len() {
            let done = self.units[unit].device.control(now, control);
            first = first.and(done);
            self.collect_from(unit, None);
        }
        first
    }

    /// Applies a change of a setting to all units that know it; returns the first error, or that no unit knows it.
    fn change_setting(&mut self, now: Instant, change: &Control) -> Result<(), ControlError> {
        let mut result = Err(ControlError::UnknownKey);
        for unit in 0..self.units.len() {
            let done = self.units[unit].device.control(now, change);
            result = match (result, done) {
                (Err(ControlError::UnknownKey), done) => done,
                (result, Err(ControlError::UnknownKey)) => result,
                (result, done) => result.and(done),
            };
            self.collect_from(unit, None);
        }
        result
    }

    /// Collects completions and landings from a unit that was just called, and updates when the first unit acts.
    /// `returned_next` is when the unit acts next, if the call has returned it; then there are no completions.
    fn collect_from(&mut self, unit: usize, returned_next: Option<Instant>) {
        let before = self.units[unit].next;
        let next = self.drain_unit(unit, returned_next);
        if next <= self.next {
            self.next = next;
        } else if before == self.next {
            self.next = self.first_due_unit().due;
        }
    }

    /// As `collect_from`, but does not update when the first unit acts; returns when this one does.
    fn drain_unit(&mut self, unit: usize, returned_next: Option<Instant>) -> Instant {
        let unit = &mut self.units[unit];
        if let Some(next) = returned_next.filter(|_| !self.landings_wanted) {
            unit.next = next;
            return next;
        }
        while let Some(completion) = unit.device.poll_completion() {
            self.ready.push_back(completion);
        }
        if self.landings_wanted {
            while let Some(landing) = unit.device.poll_landing() {
                self.landings.push_back(Landing { member: landing.member + unit.first_drive, ..landing });
            }
        }
        unit.next = next_timeout(&unit.device);
        unit.next
    }

    /// Steps these units to `now`, as far as they are due, in their order.
    fn step_units(&mut self, now: Instant, units: impl Iterator<Item = usize>) {
        for unit in units {
            if self.units[unit].next <= now {
                self.units[unit].device.handle_timeout(now);
                self.collect_from(unit, None);
            }
        }
    }

    /// Keeps a completion of `unit`, and steps all units that are due at its instant, in their order.
    fn step_with_completion(&mut self, unit: usize, completion: &Completion) {
        let at = completion.finished;
        self.step_units(at, 0..unit);
        self.ready.push_back(*completion);
        self.collect_from(unit, None);
        self.step_units(at, (0..self.units.len()).filter(|&other| other != unit));
    }

    /// When the caller must call next: at once if a completion can be polled.
    fn next_call(&self, now: Instant) -> Instant {
        if self.ready.is_empty() { self.next } else { now }
    }

    fn first_due_unit(&self) -> DueUnit {
        let mut first = DueUnit { unit: 0, due: Instant::FAR, next_due: Instant::FAR };
        for (index, unit) in self.units.iter().enumerate() {
            if unit.next < first.due {
                first = DueUnit { unit: index, due: unit.next, next_due: first.due };
            } else {
                first.next_due = first.next_due.min(unit.next);
            }
        }
        first
    }

    /// Aborts the tag that `abort` names, at the unit that has it.
    fn abort_tag(&mut self, now: Instant, abort: &Control) -> Result<(), ControlError> {
        for unit in 0..self.units.len() {
            if self.units[unit].device.control(now, abort).is_ok() {
                self.collect_from(unit, None);
                return Ok(());
            }
        }
        Err(ControlError::UnknownTag)
    }

    /// Switches a unit on, or cuts its power.
    fn switch_unit(&mut self, now: Instant, unit: usize, on: bool) -> Result<(), ControlError> {
        let port = self.units.get_mut(unit).ok_or(ControlError::UnknownKey)?;
        let done = port.device.control(now, if on { &Control::PowerOn } else { &Control::PowerCut });
        self.collect_from(unit, None);
        done
    }
}

/// When the device acts next by itself; `FAR` if it does not.
fn next_timeout(device: &dyn Device) -> Instant {
    device.poll_timeout().unwrap_or(Instant::FAR)
}

impl Device for Ports {
    fn limits(&self, unit: u8) -> Limits {
        self.units[usize::from(unit)].device.limits(0)
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<Instant, Request> {
        self.handle_timeout(now);
        let unit = usize::from(request.unit);
        if unit >= self.units.len() {
            // No such unit: as beyond a device's end.
            let (tag, status, parts, effort) = (request.tag, Status::OutOfRange, Parts::default(), Effort::default());
            self.ready.push_back(Completion { tag, status, submitted: now, finished: now, parts, effort });
            return Ok(now);
        }
        let down = Request { unit: 0, ..request };
        let next = self.units[unit].device.submit(now, down).map_err(|_| request)?;
        self.collect_from(unit, (next > now).then_some(next));
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
            _ => self.control_all(now, control),
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        (self.next != Instant::FAR).then_some(self.next)
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(next) = self.poll_timeout().filter(|&next| next <= now) {
            self.step_units(next, 0..self.units.len());
        }
    }

    fn poll_completion(&mut self) -> Option<Completion> {
        self.ready.pop_front()
    }

    fn drive_log(&self) -> DriveLog {
        let mut log = DriveLog::default();
        self.units.iter().for_each(|unit| log.add(&unit.device.drive_log()));
        log
    }

    fn setting_use(&self, now: Instant) -> SettingUse {
        self.units.iter().map(|unit| unit.device.setting_use(now)).fold(SettingUse::NOTHING, SettingUse::merged_with)
    }

    fn poll_landing(&mut self) -> Option<Landing> {
        self.landings.pop_front()
    }

    fn report_unsettled(&self, report_stamp: &mut dyn FnMut(u64)) {
        self.landings.iter().for_each(|landing| report_stamp(landing.stamp));
        self.units.iter().for_each(|unit| unit.device.report_unsettled(report_stamp));
    }

    fn fork(&self) -> Option<Box<dyn Device>> {
        let copy = |&PortDevice { ref device, next, first_drive }: &PortDevice| {
            Some(PortDevice { device: device.fork()?, next, first_drive })
        };
        Some(Box::new(Ports {
            units: self.units.iter().map(copy).collect::<Option<_>>()?,
            next: self.next,
            ready: self.ready.clone(),
            landings: self.landings.clone(),
            landings_wanted: self.landings_wanted,
        }))
    }

    fn proceed_into(&mut self, until: Instant, answer: &mut Completion) -> DeviceProgress {
        loop {
            if let Some(completion) = self.ready.pop_front() {
                *answer = completion;
                return DeviceProgress { answered: true, next: self.next_call(completion.finished) };
            }
            let DueUnit { unit, due, next_due } = self.first_due_unit();
            if due > until || due == Instant::FAR {
                return DeviceProgress { answered: false, next: due };
            }
            // No other unit acts before `next_due`.
            let bound = next_due.min(until);
            let DeviceProgress { answered, next } = self.units[unit].device.proceed_into(bound, answer);
            if answered && next_due <= answer.finished {
                self.step_with_completion(unit, answer);
                continue;
            }
            let has_no_more = !answered || next > answer.finished;
            self.next = self.drain_unit(unit, has_no_more.then_some(next)).min(next_due);
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
