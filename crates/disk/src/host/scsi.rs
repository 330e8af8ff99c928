//! A parallel SCSI bus: one host adapter, up to fifteen drives, and one of them on the bus at a time.
//!
//! A command uses the bus twice. The host arbitrates, selects the drive and sends the command, and the drive
//! disconnects. When the drive has the data, it arbitrates, reselects the host, moves the data at the bus's rate and
//! sends its status. The costs of both besides the data, with their sources, are figures ([`ScsiSpec`]).
//!
//! *Arbitration.* Among devices that want the bus when it becomes free, the highest rank wins: 7, the host's, down
//! to 0, then 15 down to 8. Drives have 0 to 6 and 8 to 15, in the order of units. No transfer is interrupted. On a
//! busy bus the lowest may wait for ever, unless arbitration is fair (SPI-2 and later, annex B): then no device
//! arbitrates while one of a lower rank has lost, so that the losers go first, the highest of them before the others.
//!
//! *Accounting.* A drive's own figures (`link.rate`, `link.command`, its overheads) are those of a drive alone on the
//! bus, bus phases included. So they are not added again: a command begins in the drive as soon as the host has the
//! bus, and a drive's data use the idle time of the bus since the first of them were there, within the time that the
//! drive itself counts as transfer and link. Only data that find no idle time wait, and that is *controller*. A single
//! drive loses nothing on a bus as fast as its link; eight delay each other.
//!
//! *Simplifications.* Data that fit into the idle time of the bus are moved without waiting, in as many pieces as it
//! takes: drives that time their reconnections (the buffer full ratio) come near that, but each further reconnection
//! would cost the same again. A read hit disconnects too, and a write has its data in the second connection. Firmware
//! that holds the bus without using it is not modelled.
//!
//! The layer stands above devices side by side ([`ports`](super::ports)).

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::layer::{HostLayer, HostLayerContext, LayeredDevice, NextTurn};
use crate::block::{Completion, Device, Op, Request, SECTOR, Status};
use crate::record::Part;
use crate::time::{Instant, Rate, Span};

/// The most devices on a wide bus besides the host adapter.
pub(crate) const MOST_DRIVES: u32 = 15;

/// How many idle times are remembered: more than commands ever end during one transfer. Before them, the bus counts as
/// busy.
const REMEMBERED: usize = 64;

/// The figures of a bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScsiSpec {
    /// The rate of a data phase, in bytes a second.
    pub rate: u64,
    /// How long the host uses the bus to send a command: arbitration, selection, messages, command, disconnection.
    pub command: Span,
    /// How long a drive uses the bus besides its data: arbitration, reselection, messages, status.
    pub reconnect: Span,
    /// Fair arbitration: losers go before newcomers.
    pub fair: bool,
}

/// A device that wants the bus.
#[derive(Clone, Copy)]
struct BusRequest {
    slot: u32,
    /// The rank in arbitration: the highest wins.
    rank: u32,
    /// How long it needs the bus.
    span: Span,
    lost: bool,
}

/// The host's rank, above those of all drives.
const HOST: u32 = 16;

/// A drive's rank by its unit. Units have the numbers 0 to 6 and 8 to 15; 6 to 0 win over 15 to 8.
fn arbitration_rank(unit: u8) -> u32 {
    match u32::from(unit) {
        unit @ 0..=6 => 8 + unit,
        unit => unit - 7,
    }
}

/// A parallel SCSI bus.
pub struct ScsiBus {
    spec: ScsiSpec,
    rate: Rate,
    /// When it was and will be taken: disjoint, rising.
    taken: VecDeque<(Instant, Instant)>,
    /// Nothing is remembered before this instant.
    remembered_from: Instant,
    /// By unit: how many commands it can have, and how many it has or will have.
    units: Vec<(u32, u32)>,
    /// In order of arrival.
    wanting: Vec<BusRequest>,
    /// Whose data are on the bus, and until when.
    moving: Option<(Instant, u32)>,
}

impl ScsiBus {
    /// A bus with the first `units` units of `below`.
    pub fn build_above(spec: ScsiSpec, below: Box<dyn Device>, units: u32) -> LayeredDevice<ScsiBus> {
        assert!((1..=MOST_DRIVES).contains(&units), "{units} drives on a bus");
        let units: Vec<(u32, u32)> = (0..units).map(|unit| (below.limits(unit as u8).depth, 0)).collect();
        let room = units.iter().map(|&(depth, _)| depth).sum();
        let scsi = ScsiBus {
            units,
            spec,
            rate: Rate::new(spec.rate),
            taken: VecDeque::with_capacity(REMEMBERED + 1),
            remembered_from: Instant::ZERO,
            wanting: Vec::with_capacity(room as usize),
            moving: None,
        };
        LayeredDevice::new(scsi, room, below)
    }

    /// When it is free.
    fn free_from(&self) -> Instant {
        self.taken.back().map_or(Instant::ZERO, |&(_, end)| end)
    }

    /// Takes the bus from `now` on, when it is free.
    fn occupy_bus(&mut self, now: Instant, span: Span) {
        match self.taken.back_mut() {
            Some(last) if last.1 == now => last.1 = now + span,
            _ => self.taken.push_back((now, now + span)),
        }
        self.forget_old();
    }

    /// Takes idle time of the bus between `from` and `to`, `span` in all; returns what is left of `span`.
    fn take_idle(&mut self, from: Instant, to: Instant, span: Span) -> Span {
        let from = from.max(self.remembered_from);
        let first = self.taken.partition_point(|&(_, end)| end <= from);
        // `solid` is the busy stretch that grows from `from`: each gap before the next taken stretch is filled, and if it is full the
        // two merge.
        let (mut solid, mut left, mut next) = ((from, from), span, first);
        loop {
            let until = self.taken.get(next).map_or(to, |&(start, _)| start.min(to));
            let used = left.min(until.saturating_since(solid.1));
            (solid.1, left) = (solid.1 + used, left.saturating_sub(used));
            match self.taken.get(next) {
                Some(&(start, end)) if start <= solid.1 => {
                    solid = (solid.0.min(start), end);
                    next += 1;
                }
                _ => break,
            }
        }
        if solid.0 < solid.1 {
            self.taken.drain(first..next);
            self.taken.insert(first, solid);
            self.forget_old();
        }
        left
    }

    fn forget_old(&mut self) {
        while self.taken.len() > REMEMBERED {
            self.remembered_from = self.taken.pop_front().map_or(self.remembered_from, |(_, end)| end);
        }
    }

    /// The winner of arbitration. A device that wants the bus for several commands arbitrates for the first of them.
    fn take_winner(&mut self) -> Option<BusRequest> {
        // By rank, one bit each.
        let (mut all, mut lost) = (0u32, 0u32);
        for wanting in &self.wanting {
            let new = !all & 1 << wanting.rank;
            all |= new;
            lost |= if wanting.lost { new } else { 0 };
        }
        // Ranks below the lowest loser's, or all if nobody lost: newcomers above it do not arbitrate.
        let below_the_lost = lost.wrapping_sub(1) & !lost;
        let mut arbitrating = all & (lost | below_the_lost);
        let highest = arbitrating.checked_ilog2()?;
        let place = self.wanting.iter().position(|wanting| wanting.rank == highest)?;
        for wanting in &mut self.wanting {
            wanting.lost |= self.spec.fair && arbitrating >> wanting.rank & 1 == 1;
            arbitrating &= !(1 << wanting.rank);
        }
        Some(self.wanting.remove(place))
    }

    /// When something happens here by itself.
    fn next(&self) -> Instant {
        match (self.moving, self.wanting.is_empty()) {
            (Some((end, _)), _) => end,
            (None, false) => self.free_from(),
            (None, true) => Instant::FAR,
        }
    }
}

impl HostLayer for ScsiBus {
    type Note = ();
    const PART: Part = Part::Controller;

    fn has_room(&self, context: &HostLayerContext<Self>, request: &Request) -> bool {
        let (depth, has) = self.units[usize::from(request.unit)];
        has < depth && context.in_flight() < context.max_in_flight()
    }

    fn accept_request(&mut self, context: &mut HostLayerContext<Self>, now: Instant, slot: u32) -> NextTurn {
        self.units[usize::from(context.slots[slot].request.unit)].1 += 1;
        self.wanting.push(BusRequest { slot, rank: HOST, span: self.spec.command, lost: false });
        now.max(self.next())
    }

    fn handle_completion(&mut self, context: &mut HostLayerContext<Self>, completion: &mut Completion) -> NextTurn {
        let (slot, done) = (completion.tag, completion.finished);
        let request = context.slots[slot].request;
        self.units[usize::from(request.unit)].1 -= 1;
        if completion.status != Status::Done {
            context.answer_with_completion(slot, completion);
            return Instant::FAR;
        }
        let bytes = match request.op {
            Op::Read | Op::Write => u64::from(request.sectors) * SECTOR,
            _ => 0,
        };
        let mut flowing = completion.parts.get(Part::Link) + completion.parts.get(Part::Transfer);
        if request.op == Op::Read {
            // The data of a prefetch are on their way while the read waits for them.
            flowing += completion.parts.get(Part::Cache);
        }
        let began = Instant::from_nanos(done.nanos() - flowing.nanos());
        let left = self.take_idle(began, done, self.spec.reconnect + self.rate.transfer_time(bytes));
        if left == Span::ZERO {
            context.answer_with_completion(slot, completion);
            return Instant::FAR;
        }
        context.book_completion(slot, completion);
        self.wanting.push(BusRequest { slot, rank: arbitration_rank(request.unit), span: left, lost: false });
        done.max(self.next())
    }

    /// Ends a data phase, or gives the bus to the next.
    fn run_due_work(&mut self, context: &mut HostLayerContext<Self>, now: Instant) -> NextTurn {
        if let Some((_, slot)) = self.moving.take_if(|(end, _)| *end <= now) {
            context.answer_request(now, slot, Status::Done);
        } else if self.free_from() <= now
            && let Some(BusRequest { slot, rank, span, .. }) = self.take_winner()
        {
            self.occupy_bus(now, span);
            match rank {
                HOST => context.pass_down(now, slot),
                _ => self.moving = Some((now + span, slot)),
            }
        }
        self.next()
    }

    fn held_slots(&self, _: &HostLayerContext<Self>) -> Vec<u32> {
        let moving = self.moving.iter().map(|&(_, slot)| slot);
        moving.chain(self.wanting.iter().map(|wanting| wanting.slot)).collect()
    }

    fn withdraw_request(&mut self, context: &mut HostLayerContext<Self>, _: Instant, slot: u32, _: Status) -> bool {
        let was_here = self.held_slots(context).contains(&slot);
        if self.wanting.iter().any(|wanting| wanting.slot == slot && wanting.rank == HOST) {
            self.units[usize::from(context.slots[slot].request.unit)].1 -= 1;
        }
        self.wanting.retain(|wanting| wanting.slot != slot);
        self.moving = self.moving.filter(|&(_, other)| other != slot);
        was_here
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Seed;

    fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }

    fn bus() -> ScsiBus {
        let spec = ScsiSpec { rate: 1, command: Span::ZERO, reconnect: Span::ZERO, fair: false };
        ScsiBus {
            spec,
            rate: Rate::new(1),
            taken: VecDeque::new(),
            remembered_from: Instant::ZERO,
            units: Vec::new(),
            wanting: Vec::new(),
            moving: None,
        }
    }

    /// Against a list of nanoseconds: idle time is taken from the front, once, and no more than asked for.
    #[test]
    fn idle_time_is_used_once() {
        for seed in 0..200 {
            let rng = &mut Seed(seed).stream("idle");
            let (mut bus, mut plain, mut now) = (bus(), [false; 400], 0);
            while now < 350 {
                let (from, span) = (rng.below(now + 1), rng.below(30));
                let idle = |plain: &[bool; 400]| (from..now).filter(|&ns| !plain[ns as usize]).collect::<Vec<u64>>();
                let free = idle(&plain);
                let left = bus.take_idle(at(from), at(now), Span::from_nanos(span));
                free.iter().take(span as usize).for_each(|&ns| plain[ns as usize] = true);
                assert_eq!(left.nanos(), span.saturating_sub(free.len() as u64), "seed {seed} at {now}");
                let span = rng.below(12);
                if bus.free_from() <= at(now) {
                    bus.occupy_bus(at(now), Span::from_nanos(span));
                    (now..now + span).for_each(|ns| plain[ns as usize] = true);
                }
                now += rng.below(10);
            }
        }
    }

    #[test]
    fn seven_goes_before_none_and_none_before_fifteen() {
        let mut units: Vec<u8> = (0..15).collect();
        units.sort_by_key(|&unit| core::cmp::Reverse(arbitration_rank(unit)));
        assert_eq!(units, [6, 5, 4, 3, 2, 1, 0, 14, 13, 12, 11, 10, 9, 8, 7]);
        assert!(units.iter().all(|&unit| arbitration_rank(unit) < HOST));
    }
}
