//! Devices side by side under one system: unit 0, with everything that stands above its drives, and others beside it,
//! such as a flash stick.
//!
//! Sectors are numbered from one device to the next, so that an address alone names its device: landings carry no
//! unit. A request names its unit and lies within it; a flush covers its unit only.
//!
//! A full device delays only its own requests, which wait here, first come, first served; that time is *driver*.
//! Changes of settings during a run reach the devices that know them.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::layer::{HostLayer, HostLayerContext, LayeredDevice, NextTurn};
use super::ports::Ports;
use crate::block::{Completion, Device, Landing, Limits, Op, Request, Status};
use crate::record::Part;
use crate::time::Instant;

/// The most requests that wait or are in flight, over all devices: more than systems have at once, whose caches write
/// back by tens.
const ROOM: u32 = 4096;

/// A device.
struct MixedUnit {
    /// The first sector.
    first: u64,
    /// The number of the first drive.
    member: u32,
    /// How many requests it accepts at once, and how many it has.
    room: u32,
    sent: u32,
    /// Requests that wait for it, in order of arrival.
    waiting: VecDeque<u32>,
}

/// Devices beside one another.
pub struct MixedDevices {
    units: Vec<MixedUnit>,
}

impl MixedDevices {
    /// Devices as the units 0, 1, …, each with the number of its drives.
    pub fn build_above(devices: Vec<(Box<dyn Device>, u32)>) -> LayeredDevice<MixedDevices> {
        let (mut first, mut member) = (0, 0);
        let units = devices.iter().map(|(device, drives)| {
            let limits = device.limits(0);
            let unit = MixedUnit { first, member, room: limits.depth, sent: 0, waiting: VecDeque::new() };
            (first, member) = (first + limits.sectors, member + drives);
            unit
        });
        let beside = MixedDevices { units: units.collect() };
        LayeredDevice::new(beside, ROOM, Box::new(Ports::with_drive_counts(devices)))
    }
}

impl MixedUnit {
    /// Sends waiting requests while the devices have room.
    fn send_waiting(&mut self, context: &mut HostLayerContext<MixedDevices>, now: Instant) {
        while self.sent < self.room
            && let Some(slot) = self.waiting.pop_front()
        {
            self.sent += 1;
            let request = context.slots[slot].request;
            // A flush has no address.
            let lba = request.lba.saturating_sub(self.first);
            context.submit_below(now, Request { tag: slot, lba, ..request });
        }
    }
}

impl HostLayer for MixedDevices {
    type Note = ();
    const PART: Part = Part::Driver;

    fn limits(&self, max_in_flight: u32, below: Limits) -> Limits {
        Limits { depth: max_in_flight, ..below }
    }

    fn accept_request(&mut self, context: &mut HostLayerContext<Self>, now: Instant, slot: u32) -> NextTurn {
        let request = context.slots[slot].request;
        match self.units.get_mut(usize::from(request.unit)) {
            Some(unit) if request.op == Op::Flush || request.lba >= unit.first => {
                unit.waiting.push_back(slot);
                unit.send_waiting(context, now);
            }
            _ => context.answer_request(now, slot, Status::OutOfRange),
        }
        Instant::FAR
    }

    fn handle_completion(&mut self, context: &mut HostLayerContext<Self>, completion: &mut Completion) -> NextTurn {
        let (slot, now) = (completion.tag, completion.finished);
        context.answer_with_completion(slot, completion);
        let unit = &mut self.units[usize::from(context.slots[slot].request.unit)];
        unit.sent -= 1;
        unit.send_waiting(context, now);
        Instant::FAR
    }

    fn held_slots(&self, _: &HostLayerContext<Self>) -> Vec<u32> {
        self.units.iter().flat_map(|unit| &unit.waiting).copied().collect()
    }

    fn withdraw_request(&mut self, context: &mut HostLayerContext<Self>, _: Instant, slot: u32, _: Status) -> bool {
        let waiting = &mut self.units[usize::from(context.slots[slot].request.unit)].waiting;
        let place = waiting.iter().position(|&other| other == slot);
        place.is_some_and(|place| waiting.remove(place).is_some())
    }

    fn report_landing(&mut self, context: &mut HostLayerContext<Self>, landing: Landing) {
        let unit = self.units.iter().rev().find(|unit| unit.member <= landing.member);
        let first = unit.map_or(0, |unit| unit.first);
        context.landings.push_landing(Landing { lba: landing.lba + first, ..landing });
    }
}
