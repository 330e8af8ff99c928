//! A parallel SCSI bus: one host adapter, up to fifteen drives, and one of them on the bus at a time.
//!
//! A command uses the bus twice. The host arbitrates, selects the drive and sends the command, and the drive
//! disconnects. When the drive has the data, it arbitrates, reselects the host, moves the data at the bus's rate and
//! sends its status. The costs of both besides the data, with their sources, are figures ([`ScsiSpec`]).
//!
//! *Arbitration.* Each device has a SCSI ID. Among devices that want the bus when it becomes free, the ID of the highest
//! rank wins: 7, the host's, down to 0, then 15 down to 8. Drives have the IDs 0 to 6 and 8 to 15, in the order of units.
//! No transfer is interrupted. On a busy bus the device of the lowest rank may wait for ever, unless arbitration is fair
//! (SPI-2 and later, annex B). Then no device arbitrates while one of a lower rank has lost. So the losers go first, the
//! highest of them before the others.
//!
//! *Accounting.* A drive's own figures (`link.rate`, `link.command`, its overheads) are those of a drive alone on the
//! bus, bus phases included, so the bus does not add them again. A command begins in the drive as soon as the host has
//! the bus. A drive's data use the idle time of the bus within the time that the drive itself counts as transfer and
//! link. Only data that find no idle time wait, and the wait is *controller*. A single drive loses nothing on a bus as
//! fast as its link; eight delay each other.
//!
//! *Simplifications.* Data that fit into the idle time of the bus are moved without waiting, in as many pieces as needed.
//! Drives that time their reconnections (the buffer full ratio) come near that, though on a real bus each further
//! reconnection costs the same again. A read hit disconnects too, and a write has its data in the second connection.
//! Firmware that holds the bus without using it is not modelled.
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

/// How many busy times are remembered: more than commands ever end during one transfer. Before them, the bus counts as
/// busy throughout.
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

/// A device that wants the bus for the command in a slot.
#[derive(Clone, Copy)]
struct BusRequest {
    slot: u32,
    /// The rank in arbitration: the highest wins.
    rank: u32,
    /// How long it needs the bus.
    span: Span,
    /// The unit has lost an arbitration; only noted if arbitration is fair.
    lost: bool,
}

/// A drive on the bus.
#[derive(Clone)]
struct BusUnit {
    /// How many commands it accepts at once.
    depth: u32,
    /// Commands that it has, or that wait for the bus to go to it.
    commands: u32,
}

/// The host's rank, above those of all drives.
const HOST_RANK: u32 = 16;

/// A drive's rank by its unit. Units have the IDs 0 to 6 and 8 to 15; 6 to 0 win over 15 to 8.
fn arbitration_rank(unit: u8) -> u32 {
    match u32::from(unit) {
        unit @ 0..=6 => 8 + unit,
        unit => unit - 7,
    }
}

/// A parallel SCSI bus.
#[derive(Clone)]
pub struct ScsiBus {
    spec: ScsiSpec,
    rate: Rate,
    /// When the bus was and will be busy, from and until: disjoint, rising.
    busy: VecDeque<(Instant, Instant)>,
    /// Nothing is remembered before this instant.
    remembered_from: Instant,
    units: Vec<BusUnit>,
    /// Requests for the bus, in order of arrival.
    wanting: Vec<BusRequest>,
    /// When the data on the bus have crossed, and the slot of their command.
    moving: Option<(Instant, u32)>,
}

impl ScsiBus {
    /// A bus with the first `units` units of `below`.
    pub fn build_above(spec: ScsiSpec, below: Box<dyn Device>, units: u32) -> LayeredDevice<ScsiBus> {
        assert!((1..=MOST_DRIVES).contains(&units), "{units} drives on a bus");
        let bus_unit = |unit| BusUnit { depth: below.limits(unit as u8).depth, commands: 0 };
        let bus_units: Vec<BusUnit> = (0..units).map(bus_unit).collect();
        let max_in_flight = bus_units.iter().map(|unit| unit.depth).sum();
        let scsi = ScsiBus {
            units: bus_units,
            spec,
            rate: Rate::new(spec.rate),
            busy: VecDeque::with_capacity(REMEMBERED + 1),
            remembered_from: Instant::ZERO,
            wanting: Vec::with_capacity(max_in_flight as usize),
            moving: None,
        };
        LayeredDevice::new(scsi, max_in_flight, below)
    }

    /// When the bus is free, as far as it is known now.
    fn free_from(&self) -> Instant {
        self.busy.back().map_or(Instant::ZERO, |&(_, end)| end)
    }

    /// Makes the bus, which is free, busy from `now` on.
    fn occupy_bus(&mut self, now: Instant, span: Span) {
        match self.busy.back_mut() {
            Some((_, end)) if *end == now => *end = now + span,
            _ => self.busy.push_back((now, now + span)),
        }
        self.forget_oldest();
    }

    /// Uses `needed` of the idle time of the bus between `from` and `to`, or as much as there is. Returns what is missing.
    fn use_idle_time(&mut self, from: Instant, to: Instant, needed: Span) -> Span {
        let from = from.max(self.remembered_from);
        let first = self.busy.partition_point(|&(_, end)| end <= from);
        // A busy time grows from `from` on: it fills the gap up to the next busy time, and merges with it if the gap is full.
        let (mut grown_from, mut grown_to) = (from, from);
        let (mut missing, mut next) = (needed, first);
        loop {
            let gap_end = self.busy.get(next).map_or(to, |&(start, _)| start.min(to));
            let used = missing.min(gap_end.saturating_since(grown_to));
            (grown_to, missing) = (grown_to + used, missing.saturating_sub(used));
            match self.busy.get(next) {
                Some(&(start, end)) if start <= grown_to => {
                    (grown_from, grown_to) = (grown_from.min(start), end);
                    next += 1;
                }
                _ => break,
            }
        }
        if grown_from < grown_to {
            self.busy.drain(first..next);
            self.busy.insert(first, (grown_from, grown_to));
            self.forget_oldest();
        }
        missing
    }

    /// Forgets the oldest busy times if there are more than are remembered.
    fn forget_oldest(&mut self) {
        while self.busy.len() > REMEMBERED {
            self.remembered_from = self.busy.pop_front().map_or(self.remembered_from, |(_, end)| end);
        }
    }

    /// Arbitrates and removes the winner's request. A device that wants the bus for several commands arbitrates for the
    /// first of them.
    fn take_arbitration_winner(&mut self) -> Option<BusRequest> {
        // By rank, one bit each.
        let (mut all, mut lost) = (0u32, 0u32);
        for wanting in &self.wanting {
            let new = !all & 1 << wanting.rank;
            all |= new;
            lost |= if wanting.lost { new } else { 0 };
        }
        // Ranks below that of the lowest loser, or all ranks if none has lost: newcomers above it do not arbitrate.
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

    /// When data have crossed the bus, or the next request for it can be granted.
    fn next_bus_event(&self) -> NextTurn {
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
        let BusUnit { depth, commands } = &self.units[usize::from(request.unit)];
        commands < depth && context.in_flight() < context.max_in_flight()
    }

    fn accept_request(&mut self, context: &mut HostLayerContext<Self>, now: Instant, slot: u32) -> NextTurn {
        self.units[usize::from(context.slots[slot].request.unit)].commands += 1;
        self.wanting.push(BusRequest { slot, rank: HOST_RANK, span: self.spec.command, lost: false });
        now.max(self.next_bus_event())
    }

    fn handle_completion(&mut self, context: &mut HostLayerContext<Self>, completion: &mut Completion) -> NextTurn {
        let (slot, done) = (completion.tag, completion.finished);
        let request = context.slots[slot].request;
        self.units[usize::from(request.unit)].commands -= 1;
        if completion.status != Status::Done {
            context.answer_with_completion(slot, completion);
            return Instant::FAR;
        }
        let bytes = match request.op {
            Op::Read | Op::Write => u64::from(request.sectors) * SECTOR,
            _ => 0,
        };
        let mut transfer = completion.parts.get(Part::Link) + completion.parts.get(Part::Transfer);
        if request.op == Op::Read {
            // While a read waits for a prefetch, the prefetch brings its data.
            transfer += completion.parts.get(Part::Cache);
        }
        let transfer_began = Instant::from_nanos(done.nanos() - transfer.nanos());
        let needed = self.spec.reconnect + self.rate.transfer_time(bytes);
        let missing = self.use_idle_time(transfer_began, done, needed);
        if missing == Span::ZERO {
            context.answer_with_completion(slot, completion);
            return Instant::FAR;
        }
        context.book_completion(slot, completion);
        self.wanting.push(BusRequest { slot, rank: arbitration_rank(request.unit), span: missing, lost: false });
        done.max(self.next_bus_event())
    }

    /// Ends a data phase, or grants the bus to the winner of arbitration.
    fn run_due_work(&mut self, context: &mut HostLayerContext<Self>, now: Instant) -> NextTurn {
        if let Some((_, slot)) = self.moving.take_if(|(end, _)| *end <= now) {
            context.answer_request(now, slot, Status::Done);
        } else if self.free_from() <= now
            && let Some(BusRequest { slot, rank, span, .. }) = self.take_arbitration_winner()
        {
            self.occupy_bus(now, span);
            match rank {
                HOST_RANK => context.pass_down(now, slot),
                _ => self.moving = Some((now + span, slot)),
            }
        }
        self.next_bus_event()
    }

    fn held_slots(&self, _: &HostLayerContext<Self>) -> Vec<u32> {
        let moving = self.moving.iter().map(|&(_, slot)| slot);
        moving.chain(self.wanting.iter().map(|wanting| wanting.slot)).collect()
    }

    fn withdraw_request(&mut self, context: &mut HostLayerContext<Self>, _: Instant, slot: u32, _: Status) -> bool {
        let was_here = self.held_slots(context).contains(&slot);
        if self.wanting.iter().any(|wanting| wanting.slot == slot && wanting.rank == HOST_RANK) {
            self.units[usize::from(context.slots[slot].request.unit)].commands -= 1;
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

    fn idle_bus() -> ScsiBus {
        let spec = ScsiSpec { rate: 1, command: Span::ZERO, reconnect: Span::ZERO, fair: false };
        ScsiBus {
            spec,
            rate: Rate::new(1),
            busy: VecDeque::new(),
            remembered_from: Instant::ZERO,
            units: Vec::new(),
            wanting: Vec::new(),
            moving: None,
        }
    }

    /// Compared with a list of nanoseconds: idle time is used from the front, once, and no more than is needed.
    #[test]
    fn idle_time_is_used_once() {
        for seed in 0..200 {
            let rng = &mut Seed(seed).stream("idle");
            let (mut bus, mut is_busy, mut now) = (idle_bus(), [false; 400], 0);
            while now < 350 {
                let (from, needed) = (rng.below(now + 1), rng.below(30));
                let idle: Vec<u64> = (from..now).filter(|&ns| !is_busy[ns as usize]).collect();
                let missing = bus.use_idle_time(at(from), at(now), Span::from_nanos(needed));
                idle.iter().take(needed as usize).for_each(|&ns| is_busy[ns as usize] = true);
                assert_eq!(missing.nanos(), needed.saturating_sub(idle.len() as u64), "seed {seed} at {now}");
                let span = rng.below(12);
                if bus.free_from() <= at(now) {
                    bus.occupy_bus(at(now), Span::from_nanos(span));
                    (now..now + span).for_each(|ns| is_busy[ns as usize] = true);
                }
                now += rng.below(10);
            }
        }
    }

    #[test]
    fn ids_win_from_seven_down_to_none_and_then_from_fifteen() {
        let mut units: Vec<u8> = (0..15).collect();
        units.sort_by_key(|&unit| core::cmp::Reverse(arbitration_rank(unit)));
        assert_eq!(units, [6, 5, 4, 3, 2, 1, 0, 14, 13, 12, 11, 10, 9, 8, 7]);
        assert!(units.iter().all(|&unit| arbitration_rank(unit) < HOST_RANK));
    }
}
