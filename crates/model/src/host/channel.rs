//! IDE channels: a cable with one or two drives, and one command at a time on it.
//!
//! ATA without overlap has no release of the bus: from the writing of the command until its status is read the channel is
//! the command's, seek and rotation included, whatever the command is. The other drive's waits. So two drives on one
//! channel never seek at once, and the data of one never come while the other positions; what each does by itself meanwhile
//! (reading ahead, writing out its buffer) goes on.
//!
//! *Who is next*: who came first. One command of each drive is there at most, so two that are both wanted take turns, to
//! which systems come as well. Linux chooses the drive whose `service_start + 2 * service_time` is least (`choose_drive` in
//! `drivers/ide/ide-io.c`, "necessary because the IDE layer can't issue commands to both drives on the same cable, unlike
//! SCSI"): the other one, unless its last command took more than twice as long; that thrift is not modelled. Of Windows'
//! port driver it is inferred: the next request of a unit is put behind those that wait for the adapter already.
//!
//! *Queues.* A drive that has its channel for itself queues as it can. Of two on a channel neither does. By ATA's
//! overlapped feature set a drive with tagged queuing could leave the bus to the other one, but where Linux had it, it
//! refused ("only one drive on a channel supported for tcq", `drivers/ide/ide-tcq.c` of 2.5 and 2.6), and Windows had none.
//!
//! Waiting for the channel is *controller*. It stands above devices side by side ([`ports`](super::ports)), of which
//! neighbours share a channel: 0 and 1, 2 and 3.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::layer::{Crank, Layer, Layered};
use crate::block::{Completion, Device, Limits, Status};
use crate::record::Part;
use crate::time::Instant;

/// One cable.
struct Cable {
    /// Commands that it can have at once.
    most: u32,
    /// Commands that have it.
    held: u32,
    /// Those that wait for it, in order of arrival.
    waiting: VecDeque<u32>,
}

/// The channels of a host adapter.
pub struct Channel {
    /// Drives on each.
    drives: u32,
    cables: Vec<Cable>,
}

impl Channel {
    /// Channels with `drives` drives each above the first `units` units of `below`.
    pub fn above(drives: u32, below: Box<dyn Device>, units: u32) -> Layered<Channel> {
        assert!((1..=2).contains(&drives), "{drives} drives on a channel");
        let most = |unit: u32| if drives == 1 { below.limits(unit as u8).depth } else { 1 };
        let cable = |index| Cable { most: most(index), held: 0, waiting: VecDeque::new() };
        let cables: Vec<Cable> = (0..units.div_ceil(drives)).map(cable).collect();
        let room = cables.iter().map(|cable| cable.most * drives).sum();
        Layered::new(Channel { drives, cables }, room, below)
    }

    /// The channel of the request in `slot`.
    fn of(&mut self, crank: &Crank<Self>, slot: u32) -> &mut Cable {
        let unit = u32::from(crank.slots[slot].request.unit);
        &mut self.cables[(unit / self.drives) as usize]
    }
}

impl Cable {
    /// Lets those have it that wait, as far as there is room.
    fn hand_on(&mut self, crank: &mut Crank<Channel>, now: Instant) {
        while self.held < self.most
            && let Some(slot) = self.waiting.pop_front()
        {
            self.held += 1;
            crank.pass(now, slot);
        }
    }
}

impl Layer for Channel {
    type Note = ();
    const PART: Part = Part::Controller;
    const NAME: &'static str = "channel";

    fn limits(&self, room: u32, below: Limits) -> Limits {
        let depth = if self.drives == 1 { below.depth.min(room) } else { 1 };
        Limits { depth, ..below }
    }

    fn down(&mut self, crank: &mut Crank<Self>, now: Instant, slot: u32) -> Instant {
        let cable = self.of(crank, slot);
        cable.waiting.push_back(slot);
        cable.hand_on(crank, now);
        Instant::FAR
    }

    fn up(&mut self, crank: &mut Crank<Self>, completion: &mut Completion) -> Instant {
        let (slot, now) = (completion.tag, completion.finished);
        crank.answer_with(slot, completion);
        let cable = self.of(crank, slot);
        cable.held -= 1;
        cable.hand_on(crank, now);
        Instant::FAR
    }

    fn held(&self, _: &Crank<Self>) -> Vec<u32> {
        self.cables.iter().flat_map(|cable| &cable.waiting).copied().collect()
    }

    fn withdraw(&mut self, crank: &mut Crank<Self>, _: Instant, slot: u32, _: Status) -> bool {
        let waiting = &mut self.of(crank, slot).waiting;
        let place = waiting.iter().position(|&other| other == slot);
        place.is_some_and(|place| waiting.remove(place).is_some())
    }
}
