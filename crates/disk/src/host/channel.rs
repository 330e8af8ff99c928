//! IDE channels: a cable with one or two drives, and one command at a time on it.
//!
//! ATA without overlap never releases the bus: a command holds the channel from the writing of the command until its
//! status is read, seek and rotation included. The other drive's command waits. So two drives on one channel never seek
//! at once, and one drive's data never come while the other positions; what each does by itself meanwhile (read-ahead,
//! destaging) goes on.
//!
//! *Order.* First come, first served. At most one command of each drive is present, so two busy drives take turns, as
//! in real systems. Linux chooses the drive with the least `service_start + 2 * service_time` (`choose_drive` in
//! `drivers/ide/ide-io.c`, "necessary because the IDE layer can't issue commands to both drives on the same cable,
//! unlike SCSI"). By this rule the other drive is next, unless its last command took more than twice as long; this
//! exception is not modelled. That Windows' port driver takes turns is inferred: the next request of a unit is put after those that already
//! wait for the adapter.
//!
//! *Queuing.* A drive alone on its channel queues as it can. With two on a channel neither queues. ATA's overlapped
//! feature set would let a drive with tagged queuing release the bus to the other, but Linux refused it ("only one
//! drive on a channel supported for tcq", `drivers/ide/ide-tcq.c` of 2.5 and 2.6), and Windows had none.
//!
//! Waiting for the channel is *controller* time. The layer stands above devices side by side ([`ports`](super::ports));
//! neighbours share a channel: 0 and 1, 2 and 3.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::layer::{HostLayer, HostLayerContext, LayeredDevice, NextTurn};
use crate::block::{Completion, Device, Limits, Status};
use crate::record::Part;
use crate::time::Instant;

/// A cable. Commands are named by their slots.
#[derive(Clone)]
struct Cable {
    /// How many commands may hold it at once.
    max_holders: u32,
    /// How many commands hold it.
    holders: u32,
    /// Commands that wait for it, in order of arrival.
    waiting: VecDeque<u32>,
}

/// The channels of a host adapter.
#[derive(Clone)]
pub struct Channel {
    drives_per_channel: u32,
    cables: Vec<Cable>,
}

impl Channel {
    /// Channels above the first `units` units of `below`, each with `drives_per_channel` drives.
    pub fn build_above(drives_per_channel: u32, below: Box<dyn Device>, units: u32) -> LayeredDevice<Channel> {
        assert!((1..=2).contains(&drives_per_channel), "{drives_per_channel} drives on a channel");
        let max_holders = |unit: u32| if drives_per_channel == 1 { below.limits(unit as u8).depth } else { 1 };
        let cable = |index| Cable { max_holders: max_holders(index), holders: 0, waiting: VecDeque::new() };
        let cables: Vec<Cable> = (0..units.div_ceil(drives_per_channel)).map(cable).collect();
        let max_in_flight = cables.iter().map(|cable| cable.max_holders * drives_per_channel).sum();
        LayeredDevice::new(Channel { drives_per_channel, cables }, max_in_flight, below)
    }

    /// The channel of the request in `slot`.
    fn cable_of_request(&mut self, context: &HostLayerContext<Self>, slot: u32) -> &mut Cable {
        let unit = u32::from(context.slots[slot].request.unit);
        &mut self.cables[(unit / self.drives_per_channel) as usize]
    }
}

impl Cable {
    /// Hands the channel to waiting commands while there is room.
    fn send_waiting(&mut self, context: &mut HostLayerContext<Channel>, now: Instant) {
        while self.holders < self.max_holders
            && let Some(slot) = self.waiting.pop_front()
        {
            self.holders += 1;
            context.pass_down(now, slot);
        }
    }
}

impl HostLayer for Channel {
    type Note = ();
    const PART: Part = Part::Controller;

    fn limits(&self, max_in_flight: u32, below: Limits) -> Limits {
        let depth = if self.drives_per_channel == 1 { below.depth.min(max_in_flight) } else { 1 };
        Limits { depth, ..below }
    }

    fn accept_request(&mut self, context: &mut HostLayerContext<Self>, now: Instant, slot: u32) -> NextTurn {
        let cable = self.cable_of_request(context, slot);
        cable.waiting.push_back(slot);
        cable.send_waiting(context, now);
        Instant::FAR
    }

    fn handle_completion(&mut self, context: &mut HostLayerContext<Self>, completion: &mut Completion) -> NextTurn {
        let (slot, now) = (completion.tag, completion.finished);
        context.answer_with_completion(slot, completion);
        let cable = self.cable_of_request(context, slot);
        cable.holders -= 1;
        cable.send_waiting(context, now);
        Instant::FAR
    }

    fn held_slots(&self, _: &HostLayerContext<Self>) -> Vec<u32> {
        self.cables.iter().flat_map(|cable| &cable.waiting).copied().collect()
    }

    fn withdraw_request(&mut self, context: &mut HostLayerContext<Self>, _: Instant, slot: u32, _: Status) -> bool {
        let waiting = &mut self.cable_of_request(context, slot).waiting;
        let place = waiting.iter().position(|&other| other == slot);
        place.is_some_and(|place| waiting.remove(place).is_some())
    }
}
