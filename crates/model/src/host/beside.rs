//! Devices beside one another under one system: unit 0, with all that stands above its drives, and others beside it, a flash
//! stick for one.
//!
//! Their sectors are numbered on from one to the next, so that a place says by itself which device it is on: landings name
//! no unit. A request names its unit and lies within it; a flush is the unit's alone.
//!
//! A device without room holds nobody up but its own: what is for it waits here, first come, first served, and that time is
//! *driver*. Settings that are changed during a run reach those that know them.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::layer::{Crank, Layer, Layered};
use super::ports::Ports;
use crate::block::{Completion, Device, Landing, Limits, Op, Request, Status};
use crate::record::Part;
use crate::time::Instant;

/// Requests that wait or are under way, over all devices; then it has no room. More than systems have at once: their caches
/// write back by tens.
const ROOM: u32 = 4096;

/// One of them.
struct Unit {
    /// Its first sector.
    first: u64,
    /// Its first drive.
    member: u32,
    /// Requests that it takes at once, and that it has.
    room: u32,
    sent: u32,
    /// Those that wait for it, in order of arrival.
    waiting: VecDeque<u32>,
}

/// The devices.
pub struct Beside {
    units: Vec<Unit>,
}

impl Beside {
    /// Devices, each with the number of its drives, as the units 0, 1, …
    pub fn above(devices: Vec<(Box<dyn Device>, u32)>) -> Layered<Beside> {
        let (mut first, mut member) = (0, 0);
        let units = devices.iter().map(|(device, drives)| {
            let limits = device.limits(0);
            let unit = Unit { first, member, room: limits.depth, sent: 0, waiting: VecDeque::new() };
            (first, member) = (first + limits.sectors, member + drives);
            unit
        });
        let beside = Beside { units: units.collect() };
        Layered::new(beside, ROOM, Box::new(Ports::of(devices)))
    }
}

impl Unit {
    /// Sends what waits, as far as there is room.
    fn send(&mut self, crank: &mut Crank<Beside>, now: Instant) {
        while self.sent < self.room
            && let Some(slot) = self.waiting.pop_front()
        {
            self.sent += 1;
            let request = crank.slots[slot].request;
            // A flush has no place.
            let lba = request.lba.saturating_sub(self.first);
            crank.submit(now, Request { tag: slot, lba, ..request });
        }
    }
}

impl Layer for Beside {
    type Note = ();
    const PART: Part = Part::Driver;
    const NAME: &'static str = "beside";

    fn limits(&self, room: u32, below: Limits) -> Limits {
        Limits { depth: room, ..below }
    }

    fn down(&mut self, crank: &mut Crank<Self>, now: Instant, slot: u32) -> Instant {
        let request = crank.slots[slot].request;
        match self.units.get_mut(usize::from(request.unit)) {
            Some(unit) if request.op == Op::Flush || request.lba >= unit.first => {
                unit.waiting.push_back(slot);
                unit.send(crank, now);
            }
            _ => crank.answer(now, slot, Status::OutOfRange),
        }
        Instant::FAR
    }

    fn up(&mut self, crank: &mut Crank<Self>, completion: &mut Completion) -> Instant {
        let (slot, now) = (completion.tag, completion.finished);
        crank.answer_with(slot, completion);
        let unit = &mut self.units[usize::from(crank.slots[slot].request.unit)];
        unit.sent -= 1;
        unit.send(crank, now);
        Instant::FAR
    }

    fn held(&self, _: &Crank<Self>) -> Vec<u32> {
        self.units.iter().flat_map(|unit| &unit.waiting).copied().collect()
    }

    fn withdraw(&mut self, crank: &mut Crank<Self>, _: Instant, slot: u32, _: Status) -> bool {
        let waiting = &mut self.units[usize::from(crank.slots[slot].request.unit)].waiting;
        let place = waiting.iter().position(|&other| other == slot);
        place.is_some_and(|place| waiting.remove(place).is_some())
    }

    fn landed(&mut self, crank: &mut Crank<Self>, landing: Landing) {
        let unit = self.units.iter().rev().find(|unit| unit.member <= landing.member);
        let first = unit.map_or(0, |unit| unit.first);
        crank.landings.tell(Landing { lba: landing.lba + first, ..landing });
    }
}
