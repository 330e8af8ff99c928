//! Devices side by side under one operating system: unit 0, with everything that stands above its drives, and other
//! devices beside it, such as a flash stick. The scene's volumes lie on them.
//!
//! Sectors are numbered through all devices in order, so that an address alone names its device: landings carry no
//! unit. A request names its unit and lies within it; a flush covers its unit only.
//!
//! A full device delays only its own requests, which wait in this layer, first come, first served; that time is *driver*.
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
const MAX_IN_FLIGHT: u32 = 4096;

/// A device.
#[derive(Clone)]
struct MixedUnit {
    first_sector: u64,
    /// The number of its first drive among those of all devices.
    first_drive: u32,
    /// How many requests it accepts at once, and how many it has.
    depth: u32,
    in_flight: u32,
    /// The slots of requests that wait for it, in order of arrival.
    waiting: VecDeque<u32>,
}

/// Devices beside one another.
#[derive(Clone)]
pub struct MixedDevices {
    units: Vec<MixedUnit>,
}

impl MixedDevices {
    /// These devices, each with the number of its drives, as the units 0, 1, …
    pub fn build_above(devices_and_drive_counts: Vec<(Box<dyn Device>, u32)>) -> LayeredDevice<MixedDevices> {
        let (mut first_sector, mut first_drive) = (0, 0);
        let units = devices_and_drive_counts.iter().map(|(device, drives)| {
            let Limits { sectors, depth, .. } = device.limits(0);
            let unit = MixedUnit { first_sector, first_drive, depth, in_flight: 0, waiting: VecDeque::new() };
            (first_sector, first_drive) = (first_sector + sectors, first_drive + drives);
            unit
        });
        let mixed = MixedDevices { units: units.collect() };
        LayeredDevice::new(mixed, MAX_IN_FLIGHT, Box::new(Ports::with_drive_counts(devices_and_drive_counts)))
    }
}

impl MixedUnit {
    /// Sends waiting requests while the device has room.
    fn send_waiting(&mut self, context: &mut HostLayerContext<MixedDevices>, now: Instant) {
        while self.in_flight < self.depth
            && let Some(slot) = self.waiting.pop_front()
        {
            self.in_flight += 1;
            let request = context.slots[slot].request;
            // A flush has no address.
            let lba = request.lba.saturating_sub(self.first_sector);
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
            Some(unit) if request.op == Op::Flush || request.lba >= unit.first_sector => {
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
        unit.in_flight -= 1;
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
        let unit = self.units.iter().rev().find(|unit| unit.first_drive <= landing.member);
        let first_sector = unit.map_or(0, |unit| unit.first_sector);
        context.landings.push_landing(Landing { lba: landing.lba + first_sector, ..landing });
    }
}
