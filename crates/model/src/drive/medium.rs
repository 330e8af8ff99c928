//! The medium's turn: which access is next, and what follows when it is over.
//!
//! Commands are ordered by `firmware.queue`, dirty segments by `firmware.destage`; under pressure the cheaper of the
//! two choices goes first. Nothing here decides what a command is or when its data cross the link.

use super::cache::Lookup;
use super::firmware::kept;
use super::geometry::Extent;
use super::mechanics::Arm;
use super::media::Access;
use super::profile::Profile;
use super::stream::{Platter, Stream};
use super::{Activity, Destage, Drive, Power, Purpose, Stage, Target};
use crate::block::{Op, Request, SECTOR};
use crate::queue::{Choice, Policy};
use crate::record::Part;
use crate::time::{Instant, Span};

impl Target {
    /// The first `sectors` blocks of `track`, or all of it.
    fn of(slot: u16, track: &Extent, sectors: u32, write: bool, profile: &Profile) -> Target {
        let (head, cylinder, angle) = (track.head, track.cylinder, track.angle);
        let longest = match profile.firmware.zero_latency && !write {
            // It begins wherever the head lands in its blocks, and is done when the platter has turned once.
            true => {
                let sweep = track.slot.wrapping_mul(u64::from(sectors.min(track.sectors)));
                profile.mechanics.turn(sweep.wrapping_neg())
            }
            false => Span::from_nanos(u64::MAX),
        };
        Target { slot, head, write, cylinder, angle, longest }
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
        if let Some(over) = stream.over_by(platter, now) {
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
        let write = request.op != Op::Read;
        let target = Target::of(slot, &first, request.sectors, write, &self.profile);
        self.commands.push(now, u64::from(target.cylinder), target);
    }

    /// Dirty segments compete with commands.
    fn pressing(&self, now: Instant) -> bool {
        self.buffer.dirty_count() > 0
            && (!self.flushes.is_empty()
                || !self.parked.is_empty()
                || self.buffer.is_full()
                || self.stops_honestly()
                || self.ages_at().is_some_and(|at| at <= now))
    }

    /// On its way to a stop, before which all that is dirty goes to the medium.
    fn stops_honestly(&self) -> bool {
        self.power != Power::On && !self.profile.faults.forgets_on_power_off
    }

    /// When the oldest dirty segment will have been so for too long.
    fn ages_at(&self) -> Option<Instant> {
        let age = self.profile.cache.destage_age?;
        self.buffer.destageable().next().map(|(_, dirty)| dirty.since + age)
    }

    /// When the next access may be chosen, if there is anything to choose and the medium is not at work.
    pub(super) fn choose_at(&self) -> Option<Instant> {
        let urgent = !self.commands.is_empty() || self.pressing(self.clock);
        let forgets = self.power == Power::Stopping && self.profile.faults.forgets_on_power_off;
        let idle = self.buffer.dirty_count() > 0 && self.free.len() == self.slots.len() && !forgets;
        if !urgent && !idle {
            return self.ages_at().filter(|_| !matches!(self.activity, Activity::Access { .. }));
        }
        let medium = match &self.activity {
            Activity::Access { .. } => return None,
            Activity::Idle => self.choose_from,
            Activity::Prefetch(stream) if urgent => {
                let waiting = self.commands.iter().next().map(|(since, _)| since);
                self.choose_from.max(self.breaks_off(stream, waiting))
            }
            Activity::Prefetch(stream) => stream.when(self.platter(), stream.limit),
        };
        let patience = if urgent || self.tidying {
            Instant::ZERO
        } else {
            medium.max(self.quiet) + self.profile.cache.destage_idle
        };
        let at = medium.max(patience);
        Some(self.ages_at().map_or(at, |aged| at.min(aged.max(medium))).max(self.clock))
    }

    /// When a read-ahead gives way to a command that has been waiting `since`.
    pub(super) fn breaks_off(&self, stream: &Stream, since: Option<Instant>) -> Instant {
        let patience = self.profile.firmware.queue.max_wait;
        let fed_up = since.zip(patience).map_or(Instant::FAR, |(since, patience)| since + patience);
        stream.committed.max(stream.held.min(fed_up))
    }

    pub(super) fn choose(&mut self, now: Instant) {
        self.settle_stream(now);
        if let Activity::Prefetch(stream) = &self.activity {
            self.arm = stream.arm();
        }
        // Without a rival only SPTF asks for the cost.
        let rivals = self.commands.is_empty() || self.pressing(now);
        let head = u64::from(self.arm.cylinder);
        let command = match rivals || self.profile.firmware.queue.policy == Policy::Sptf {
            true => self.commands.choose(now, head, self.costs(now), self.least()),
            false => self.commands.choose(now, head, |_, _| 0, |_| 0),
        };
        let destage = if rivals { self.choose_destage(now) } else { None };
        match (command, destage) {
            (Some(command), Some(destage)) if command.cost <= destage.cost => self.start_command(now, command),
            (_, Some(destage)) => {
                self.tidying = !self.pressing(now);
                let segment = self.destages.take(destage).segment;
                // It leaves the buffer's dirty ones now.
                self.left += 1;
                self.start_destage(now, segment);
            }
            (Some(command), None) => self.start_command(now, command),
            (None, None) => {}
        }
    }

    /// The least positioning time of what is so many cylinders away or farther.
    fn least(&self) -> impl Fn(u64) -> u64 + '_ {
        |cylinders| self.profile.mechanics.least_seek(cylinders as u32).nanos()
    }

    /// What answers the positioning time of a target from where the arm is at `now`. It has few branches: which of many
    /// targets are near is what a processor cannot foresee.
    #[inline(always)]
    fn costs(&self, now: Instant) -> impl Fn(&Target, u64) -> u64 + '_ {
        let reach = self.profile.mechanics.reach_from(self.arm, now);
        move |target, _| {
            let moved = match target.write {
                false => reach.to_read(target.cylinder, target.head),
                true => reach.to_write(target.cylinder, target.head),
            };
            (moved + reach.wait(moved, target.angle).min(target.longest)).nanos()
        }
    }

    /// The dirty segment to write out next. Segments that a flush waits for go before.
    fn choose_destage(&mut self, now: Instant) -> Option<Choice> {
        self.sort_out_destages();
        // As they became dirty one after another, those before the fence are the oldest.
        let oldest = match self.flushes.front() {
            Some(&(_, fence)) => self.destages.iter().filter(|(_, destage)| destage.serial < fence).count(),
            None => self.destages.len(),
        };
        let head = u64::from(self.arm.cylinder);
        let cost = self.costs(now);
        self.destages.choose_of_oldest(oldest, now, head, |destage, limit| cost(&destage.target, limit), self.least())
    }

    /// Brings the queue of the dirty segments up to date: those that are being written or gone leave it, those that
    /// became dirty since join it.
    fn sort_out_destages(&mut self) {
        let buffer = &self.buffer;
        if buffer.left() != self.left {
            self.left = buffer.left();
            self.destages.retain(|destage| {
                buffer.dirty(destage.segment).is_some_and(|dirty| dirty.serial == destage.serial && !dirty.leaving)
            });
        }
        for (segment, dirty) in self.buffer.dirty_from(self.joined).filter(|(_, dirty)| !dirty.leaving) {
            let (start, end) = self.buffer.span(segment);
            let track = self.profile.geometry.extent(start, u32::MAX);
            let target = Target::of(0, &track, (end - start) as u32, true, &self.profile);
            let destage = Destage { segment, serial: dirty.serial, target };
            self.destages.push(dirty.since, u64::from(target.cylinder), destage);
        }
        self.joined = self.buffer.next_serial();
    }

    fn start_command(&mut self, now: Instant, choice: Choice) {
        let target = self.commands.take(choice);
        let slot = target.slot;
        let request = self.slots[usize::from(slot)].request;
        self.slots[usize::from(slot)].ledger.until(Part::Queue, now);
        if target.write {
            self.break_off(now);
            let data = self.slots[usize::from(slot)].data;
            let first = self.slots[usize::from(slot)].first;
            self.start(now, &request, first, Purpose::Command { slot, segment: None }, data);
            if self.slots[usize::from(slot)].round {
                self.acknowledge_round(slot);
            }
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
                self.hold_stream();
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
        self.start(now, request, first, Purpose::Command { slot, segment }, (now, now));
        let (Some(segment), Activity::Access { access, sweep, .. }) = (segment, &self.activity) else { return };
        let (access, end, arm) = (*access, sweep.end, sweep.arm);
        let ahead = self.slots[usize::from(slot)].ahead;
        let stream = self.plan_ahead(request, &access, (end, arm), segment, ahead);
        if let Activity::Access { then, .. } = &mut self.activity {
            *then = stream;
        }
    }

    /// The read-ahead behind the read in progress is that of a stream.
    fn hold_stream(&mut self) {
        let platter = Platter { geometry: &self.profile.geometry, mechanics: &self.profile.mechanics };
        if self.profile.cache.read_ahead.holds
            && let Activity::Access { then: Some(stream), .. } = &mut self.activity
        {
            stream.held = stream.when(platter, stream.limit);
        }
    }

    /// What `segment` will hold of a read that starts, and the read-ahead that follows it when the read has ended then and
    /// there.
    #[inline]
    pub(super) fn plan_ahead(
        &mut self,
        request: &Request,
        access: &Access,
        (end, arm): (Instant, Arm),
        segment: usize,
        ahead: bool,
    ) -> Option<Stream> {
        if self.profile.cache.read_ahead.free_blocks && self.buffer.span(segment).0 == access.lba() {
            let free = self.free_blocks(access);
            self.buffer.reach_back(segment, access.lba() - free);
        }
        let limit = if ahead { self.read_ahead_limit(request, segment) } else { request.end() };
        self.buffer.extend(segment, limit);
        if limit == request.end() {
            return None;
        }
        let platter = self.platter();
        let mut stream = Stream::start(platter, end, arm, access.following(platter.geometry), limit, segment);
        // What a command may not break off counts from the plan's beginning.
        stream.committed = end.max(kept(platter, self.profile.cache.read_ahead.min, &stream, request.end()));
        Some(stream)
    }

    /// How many blocks of the first track pass before the wanted ones, and have room in their segment.
    #[inline(never)]
    fn free_blocks(&self, access: &Access) -> u64 {
        let (geometry, mechanics) = (&self.profile.geometry, &self.profile.mechanics);
        let Some(pass) = access.passes(geometry, mechanics).next() else { return 0 };
        let passed = mechanics.angle_of(pass.rotation) / pass.extent.slot.max(1);
        let room = self.buffer.segment_sectors().saturating_sub(u64::from(access.sectors));
        let mut free = passed.min(u64::from(pass.extent.before)).min(access.lba()).min(room);
        // Slots left out before it on the track hold no blocks.
        while free > 0 && geometry.extent(access.lba() - free, 1).cylinder_and_head() != pass.extent.cylinder_and_head()
        {
            free -= 1;
        }
        free
    }

    /// Starts an access whose data, if it writes, cross the link between the two instants of `data`.
    fn start(&mut self, now: Instant, request: &Request, first: Extent, purpose: Purpose, data: (Instant, Instant)) {
        if let Purpose::Command { slot, .. } = purpose {
            self.slots[usize::from(slot)].stage = Stage::Medium;
        }
        let access = self.access(now, self.arm, request, first, data);
        let sweep = access.sweep(&self.profile.geometry, &self.profile.mechanics);
        if access.write {
            let unit = u64::from(self.profile.physical_sector) / SECTOR;
            self.half_written = Some(access.end()).filter(|end| end % unit != 0);
        }
        self.activity = Activity::Access { access, sweep, purpose, then: None };
    }

    /// The access from the block at `first` to the request's end, the arm being at `from`.
    #[inline(always)]
    pub(super) fn access(
        &self,
        now: Instant,
        from: Arm,
        request: &Request,
        first: Extent,
        data: (Instant, Instant),
    ) -> Access {
        let write = request.op != Op::Read;
        let sectors = (request.end() - first.lba) as u32;
        Access {
            start: now,
            from,
            first,
            sectors,
            write,
            data_at: if write { self.writable_at(&first, sectors, data).max(self.whole_at(now, &first)) } else { now },
            zero_latency: self.profile.firmware.zero_latency && !write,
            lead: (sectors * self.profile.link.buffer_full / 100).max(1),
        }
    }

    /// When the first of `sectors` blocks may go to the medium so that none is late, its data crossing the link evenly
    /// between the two instants of `data`.
    fn writable_at(&self, first: &Extent, sectors: u32, (from, to): (Instant, Instant)) -> Instant {
        let behind = first.slot.saturating_mul(u64::from(sectors - 1));
        let one = Span::from_nanos(to.since(from).nanos().div_ceil(u64::from(sectors)));
        let passing = self.profile.mechanics.turn(behind).nanos();
        (from + one).max(Instant::from_nanos(to.nanos().saturating_sub(passing)))
    }

    /// When a write to `first` may begin that goes on in the physical sector in which the last one ended: that sector must
    /// come round again, to be read and written as a whole.
    fn whole_at(&self, now: Instant, first: &Extent) -> Instant {
        let sectors = u64::from(self.profile.physical_sector) / SECTOR;
        match self.half_written == Some(first.lba) {
            true => now + self.profile.mechanics.turn(first.slot.saturating_mul(sectors)),
            false => Instant::ZERO,
        }
    }

    fn start_destage(&mut self, now: Instant, segment: usize) {
        self.break_off(now);
        let (start, end) = self.buffer.span(segment);
        let arrived = self.buffer.dirty(segment).map_or(now, |dirty| dirty.arrived);
        self.buffer.leave(segment);
        let run = Request { op: Op::Write, lba: start, sectors: (end - start) as u32, ..super::BLANK };
        let first = self.profile.geometry.extent(start, u32::MAX);
        self.start(now, &run, first, Purpose::Destage(segment), (arrived, arrived));
    }

    /// The access in progress is over.
    pub(super) fn access_ended(&mut self, now: Instant) {
        let Activity::Access { access, sweep, purpose, then } = &self.activity else {
            return;
        };
        let (purpose, led, end) = (*purpose, sweep.led, access.end());
        let written = access.write.then_some(*access);
        if let Purpose::Command { slot, .. } = purpose
            && !self.slots[usize::from(slot)].round
        {
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
            Purpose::Command { slot, .. } if self.slots[usize::from(slot)].round => self.end_round(now, slot),
            Purpose::Command { slot, .. } if written.is_some() => {
                self.close(slot, now + self.profile.overhead.reselect)
            }
            Purpose::Command { slot, .. } => self.send(slot, now, led + self.profile.overhead.reselect),
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

    /// A write that went round in its segment is on the medium; its status may still be on its way.
    fn end_round(&mut self, now: Instant, slot: u16) {
        if self.slots[usize::from(slot)].stage == Stage::Draining {
            self.release(now, slot);
            self.end_flushes(now);
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
