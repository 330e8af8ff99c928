//! The medium's turn: which access is next, and what follows when it is over.
//!
//! Commands are ordered by `firmware.queue`, dirty segments by `firmware.destage`; under pressure the cheaper of the
//! two choices goes first. Nothing here decides what a command is or when its data cross the link.

use super::cache::Lookup;
use super::firmware::kept;
use super::geometry::Extent;
use super::media::Access;
use super::stream::{Platter, Stream};
use super::{Activity, Drive, Power, Purpose, Stage, Target};
use crate::block::{Op, Request};
use crate::queue::{Choice, Policy};
use crate::record::Part;
use crate::time::{Instant, Span};

impl Target {
    /// The first `sectors` blocks of `track`, or all of it.
    fn of(slot: u16, track: &Extent, sectors: u32, write: bool) -> Target {
        let (head, cylinder, angle) = (track.head, track.cylinder, track.angle);
        let sweep = track.slot.wrapping_mul(u64::from(sectors.min(track.sectors)));
        Target { slot, head, write, cylinder, angle, sweep }
    }
}

impl Drive {
    /// Lets a prefetch run up to `now`; one that has reached its limit is over since then.
    pub(super) fn settle_stream(&mut self, now: Instant) {
        let Activity::Prefetch(stream) = &mut self.activity else {
            return;
        };
        let platter = Platter { geometry: &self.profile.geometry, mechanics: &self.profile.mechanics };
        stream.catch_up(platter, now);
        let over = stream.over;
        if over <= now {
            self.arm = stream.arm();
            self.activity = Activity::Idle;
            self.choose_from = self.choose_from.max(over);
        }
    }

    /// A command joins the queue for the medium.
    pub(super) fn enqueue(&mut self, now: Instant, slot: u16, request: &Request) {
        self.slots[usize::from(slot)].stage = Stage::Queued;
        let first = self.profile.geometry.extent(request.lba, u32::MAX);
        self.slots[usize::from(slot)].first = first;
        let target = Target::of(slot, &first, request.sectors, request.op != Op::Read);
        self.commands.push(now, u64::from(target.cylinder), target);
    }

    /// Dirty segments compete with commands.
    fn pressing(&self) -> bool {
        self.buffer.dirty_count() > 0
            && (!self.flushes.is_empty() || !self.parked.is_empty() || self.buffer.is_full() || self.power != Power::On)
    }

    /// When the next access may be chosen, if there is anything to choose and the medium is not at work.
    pub(super) fn choose_at(&self) -> Option<Instant> {
        let urgent = !self.commands.is_empty() || self.pressing();
        let idle = self.buffer.dirty_count() > 0 && self.free.len() == self.slots.len();
        if !urgent && !idle {
            return None;
        }
        let medium = match &self.activity {
            Activity::Access { .. } => return None,
            Activity::Idle => self.choose_from,
            Activity::Prefetch(stream) if urgent => self.choose_from.max(stream.committed),
            Activity::Prefetch(stream) => stream.over,
        };
        let patience = if urgent || self.tidying {
            Instant::ZERO
        } else {
            medium.max(self.quiet) + self.profile.cache.destage_idle
        };
        Some(medium.max(patience).max(self.clock))
    }

    pub(super) fn choose(&mut self, now: Instant) {
        self.settle_stream(now);
        if let Activity::Prefetch(stream) = &self.activity {
            self.arm = stream.arm();
        }
        // Without a rival only SPTF asks for the cost.
        let rivals = self.commands.is_empty() || self.pressing();
        let weigh = rivals || self.profile.firmware.queue.policy == Policy::Sptf;
        let cost = |target: &Target| if weigh { self.cost(now, target) } else { 0 };
        let command = self.commands.choose(now, u64::from(self.arm.cylinder), cost);
        let destage = if rivals { self.choose_destage(now) } else { None };
        match (command, destage) {
            (Some(command), Some((_, cost))) if command.cost <= cost => self.start_command(now, command),
            (_, Some((segment, _))) => {
                self.tidying = !self.pressing();
                self.start_destage(now, segment);
            }
            (Some(command), None) => self.start_command(now, command),
            (None, None) => {}
        }
    }

    /// Positioning time of a target from where the arm is.
    #[inline(always)]
    fn cost(&self, now: Instant, target: &Target) -> u64 {
        let mechanics = &self.profile.mechanics;
        let seek = mechanics.reach(self.arm, target.cylinder, target.head);
        let settles = target.write && seek > Span::ZERO;
        let moved = if settles { seek + mechanics.switch_and_settle().1 } else { seek };
        let wait = mechanics.wait(now + moved, target.angle);
        let inside = self.profile.firmware.zero_latency && !target.write;
        let wait = if inside { wait.min(mechanics.turn(target.sweep.wrapping_neg())) } else { wait };
        (moved + wait).nanos()
    }

    /// The dirty segment to write out next, with its positioning time. Segments that a flush waits for go before.
    fn choose_destage(&mut self, now: Instant) -> Option<(usize, u64)> {
        let fence = self.flushes.front().map_or(u64::MAX, |&(_, fence)| fence);
        let mut queue = core::mem::take(&mut self.destages);
        queue.clear();
        for (segment, dirty) in self.buffer.destageable().filter(|(_, dirty)| dirty.serial < fence) {
            let (start, end) = self.buffer.span(segment);
            let target = Target::of(0, &self.profile.geometry.extent(start, u32::MAX), (end - start) as u32, true);
            queue.push(dirty.since, u64::from(target.cylinder), (segment, target));
        }
        let chosen = queue.choose(now, u64::from(self.arm.cylinder), |(_, target)| self.cost(now, target));
        let result = chosen.map(|choice| (queue.take(choice).0, choice.cost));
        self.destages = queue;
        result
    }

    fn start_command(&mut self, now: Instant, choice: Choice) {
        let target = self.commands.take(choice);
        let slot = target.slot;
        let request = self.slots[usize::from(slot)].request;
        self.slots[usize::from(slot)].ledger.until(Part::Queue, now);
        if target.write {
            self.break_off(now);
            let data_at = self.slots[usize::from(slot)].data_at;
            let first = self.slots[usize::from(slot)].first;
            self.start(now, &request, first, Purpose::Command { slot, segment: None }, data_at);
            return;
        }
        match self.look_up(slot) {
            // It came into the buffer while the command waited.
            Lookup::Hit(segment) => self.read_hit(now, slot, &request, segment),
            Lookup::Extends(segment) if self.streams_into(now, segment) => {
                self.read_hit(now, slot, &request, segment);
            }
            Lookup::Extends(segment) if !self.buffer.is_dirty(segment) => {
                let (_, end) = self.buffer.span(segment);
                self.break_off(now);
                self.buffer.touch(segment);
                let first = self.profile.geometry.extent(end.max(request.lba), u32::MAX);
                self.read_into(now, slot, &request, first, Some(segment));
            }
            _ => {
                self.break_off(now);
                let segment = self.buffer.allocate(request.lba, None);
                let first = self.slots[usize::from(slot)].first;
                self.read_into(now, slot, &request, first, segment);
            }
        }
    }

    /// Reads from the block at `first` to the request's end into `segment`, and plans the read-ahead behind it.
    fn read_into(&mut self, now: Instant, slot: u16, request: &Request, first: Extent, segment: Option<usize>) {
        self.start(now, request, first, Purpose::Command { slot, segment }, now);
        let limit = self.read_ahead_limit(request);
        let Some(segment) = segment else { return };
        self.buffer.extend(segment, limit);
        if limit == request.end() {
            return;
        }
        if let Activity::Access { sweep, then, .. } = &mut self.activity {
            let platter = Platter { geometry: &self.profile.geometry, mechanics: &self.profile.mechanics };
            let track = sweep.rest.unwrap_or_else(|| platter.geometry.extent(request.end(), u32::MAX));
            let mut stream = Stream::start(platter, sweep.end, sweep.arm, track, limit, segment);
            // What a command may not break off counts from the plan's beginning.
            stream.committed = sweep.end.max(kept(platter, self.profile.cache.read_ahead.min, &stream, request.end()));
            *then = Some(stream);
        }
    }

    fn start(&mut self, now: Instant, request: &Request, first: Extent, purpose: Purpose, data_at: Instant) {
        if let Purpose::Command { slot, .. } = purpose {
            self.slots[usize::from(slot)].stage = Stage::Medium;
        }
        let write = request.op != Op::Read;
        let access = Access {
            start: now,
            from: self.arm,
            first,
            sectors: (request.end() - first.lba) as u32,
            write,
            data_at,
            zero_latency: self.profile.firmware.zero_latency && !write,
        };
        let sweep = access.sweep(&self.profile.geometry, &self.profile.mechanics);
        self.activity = Activity::Access { access, sweep, purpose, then: None };
    }

    fn start_destage(&mut self, now: Instant, segment: usize) {
        self.break_off(now);
        let (start, end) = self.buffer.span(segment);
        let data_at = self.buffer.dirty(segment).map_or(now, |dirty| dirty.arrived);
        self.buffer.leave(segment);
        let run = Request { op: Op::Write, lba: start, sectors: (end - start) as u32, ..super::BLANK };
        let first = self.profile.geometry.extent(start, u32::MAX);
        self.start(now, &run, first, Purpose::Destage(segment), data_at);
    }

    /// The access in progress is over.
    pub(super) fn access_ended(&mut self, now: Instant) {
        let Activity::Access { access, sweep, purpose, then } = &self.activity else {
            return;
        };
        let (purpose, begin, end) = (*purpose, sweep.begin, access.end());
        let written = access.write.then_some(*access);
        if let Purpose::Command { slot, .. } = purpose {
            sweep.charge(&mut self.slots[usize::from(slot)].ledger);
        }
        self.arm = sweep.arm;
        self.choose_from = now + self.profile.firmware.dispatch;
        self.activity = match *then {
            Some(stream) => Activity::Prefetch(stream),
            None => Activity::Idle,
        };
        if let Some(access) = &written {
            self.land(access, purpose, Instant::FAR);
        }
        match purpose {
            Purpose::Command { slot, .. } if written.is_some() => self.close(slot, now),
            Purpose::Command { slot, .. } => self.send(slot, now, begin),
            Purpose::Destage(segment) => {
                self.buffer.drop_dirty(segment);
                self.end_flushes(now);
                self.unpark(now);
                self.go_on_destaging(now, end);
                return;
            }
        }
        if !self.parked.is_empty() {
            self.unpark(now);
        }
    }

    /// A dirty segment that continues the one just written follows at once: one long write.
    fn go_on_destaging(&mut self, now: Instant, end: u64) {
        let next = self.buffer.destageable().map(|(segment, _)| segment).find(|&s| self.buffer.span(s).0 == end);
        if let Some(segment) = next {
            self.start_destage(now, segment);
        }
    }
}
