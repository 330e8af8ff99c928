//! The medium's turn: which access is next, and what follows when it is over.
//!
//! Commands are ordered by `firmware.queue`, dirty segments by `firmware.destage`; under pressure the cheaper of the
//! two choices goes first, unless one has waited beyond the limit of its discipline: then the one whose limit passed
//! first. A segment that has been dirty for longer than its limit is pressing by itself. Nothing here decides what a
//! command is or when its data cross the link.

use super::access::Access;
use super::cache::{Buffer, Lookup};
use super::dirty::Dirty;
use super::geometry::Extent;
use super::mechanics::{Arm, Reach};
use super::profile::Profile;
use super::queuing::{Chosen, Standing};
use super::stream::{Platter, Stream};
use super::{Activity, Destage, Drive, Power, Purpose, Stage, Target};
use crate::block::{Op, Request, SECTOR, Status};
use crate::queue::{Choice, Costless, Costs, Policy};
use crate::record::Part;
use crate::time::{Instant, Span};

/// The dirty segment that would be written out next.
struct Rival {
    segment: usize,
    since: Instant,
    /// Positioning time, in nanoseconds.
    cost: u64,
    /// Its place in the queue, if it goes home.
    queued: Option<Choice>,
}

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

impl Destage {
    fn of(segment: usize, dirty: &Dirty, buffer: &Buffer, profile: &Profile) -> Destage {
        let (start, end) = buffer.span(segment);
        let track = profile.geometry.extent(start, u32::MAX);
        let target = Target::of(0, &track, (end - start) as u32, true, profile);
        Destage { segment, serial: dirty.serial, target }
    }
}

/// It has few branches: which of many targets are near is what a processor cannot foresee.
impl Costs<Target> for Reach<'_> {
    #[inline(always)]
    fn of(&self, target: &Target) -> u64 {
        let moved = self.movement(target.cylinder, target.head, target.write);
        (moved + self.wait(moved, target.angle).min(target.longest)).nanos()
    }

    #[inline(always)]
    fn least(&self, distance: u64) -> u64 {
        self.floor(distance).nanos()
    }
}

impl Costs<Destage> for Reach<'_> {
    #[inline(always)]
    fn of(&self, destage: &Destage) -> u64 {
        self.of(&destage.target)
    }

    #[inline(always)]
    fn least(&self, distance: u64) -> u64 {
        self.floor(distance).nanos()
    }
}

impl Drive {
    /// Lets a prefetch run up to `now`; one that has reached its limit is over since then.
    #[inline]
    pub(super) fn settle_stream(&mut self, now: Instant) {
        if let Activity::Prefetch(stream) = &self.activity
            && stream.settled != now
        {
            self.run_stream(now);
        }
    }

    #[inline(never)]
    fn run_stream(&mut self, now: Instant) {
        let Activity::Prefetch(stream) = &mut self.activity else {
            return;
        };
        let platter = Platter { geometry: &self.profile.geometry, mechanics: &self.profile.mechanics };
        stream.catch_up(platter, now);
        stream.settled = now;
        if let Some(over) = stream.over_by(platter, now) {
            self.arm = stream.arm();
            self.activity = Activity::Idle;
            self.choose_from = self.choose_from.max(over);
        }
    }

    /// A command joins the queue for the medium.
    pub(super) fn enqueue(&mut self, now: Instant, slot: u16, request: &Request) {
        self.release_bus(slot);
        self.slots[usize::from(slot)].stage = Stage::Queued;
        let in_one = self.in_media_cache(request);
        let first = in_one.unwrap_or_else(|| self.profile.geometry.extent(request.lba, u32::MAX));
        self.slots[usize::from(slot)].first = first;
        let target = Target::of(slot, &first, request.sectors, request.op != Op::Read, &self.profile);
        let standing = match self.standing(request) {
            Standing::Plain | Standing::Preferred if self.plans_at_once() => Standing::Planned(self.commands.planned()),
            standing => standing,
        };
        self.commands.push(now, standing, target);
    }

    /// Dirty segments compete with commands.
    pub(super) fn pressing(&self, now: Instant) -> bool {
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

    /// When the first of the dirty segments has been so for as long as the destage discipline allows.
    fn destage_due(&self) -> Option<Instant> {
        let limit = self.profile.firmware.destage.max_wait?;
        self.buffer.destageable().next().map(|(_, dirty)| dirty.since + limit)
    }

    /// When the next access may be chosen, if there is anything to choose and the medium is not at work.
    #[inline]
    pub(super) fn choose_at(&self) -> Option<Instant> {
        if matches!(self.activity, Activity::Access { .. }) {
            return None;
        }
        let dirty = self.buffer.dirty_count() > 0;
        let nothing = !dirty && self.commands.is_empty() && self.media_cache.is_none();
        if nothing { None } else { self.choice_at(dirty) }
    }

    fn choice_at(&self, dirty: bool) -> Option<Instant> {
        if !self.commands.is_empty() || self.pressing(self.clock) {
            return Some(self.free_for_urgent().max(self.clock));
        }
        let forgets = self.power == Power::Stopping && self.profile.faults.forgets_on_power_off;
        let idle = (dirty && self.free.len() == self.slots.len() && !forgets) || self.may_move_home();
        let due = if dirty { self.presses_at() } else { None };
        let hurried = due.map(|at| self.free_for_urgent().max(at));
        let patient = idle.then(|| self.free_and_quiet());
        let at = hurried.into_iter().chain(patient).min()?;
        Some(at.max(self.clock))
    }

    /// When the oldest dirty segment will press by its age alone.
    fn presses_at(&self) -> Option<Instant> {
        // Over its limit is later than at it.
        let due = self.destage_due().map(|due| due + Span::from_nanos(1));
        self.ages_at().into_iter().chain(due).min()
    }

    /// When the medium can be had by what may break off a prefetch.
    fn free_for_urgent(&self) -> Instant {
        match &self.activity {
            Activity::Prefetch(stream) => self.choose_from.max(self.breaks_off(stream, self.fed_up())),
            _ => self.choose_from,
        }
    }

    /// When the drive has been left alone for long enough to tidy up.
    fn free_and_quiet(&self) -> Instant {
        let medium = match &self.activity {
            Activity::Prefetch(stream) => stream.when(self.platter(), stream.limit),
            _ => self.choose_from,
        };
        match self.tidying {
            true => medium,
            false => medium.max(medium.max(self.quiet) + self.profile.cache.destage_idle),
        }
    }

    /// When what waits is the medium's, though a stream is read ahead of: beyond its limit, or at the head of the queue.
    pub(super) fn fed_up(&self) -> Option<Instant> {
        if self.commands.has_head() {
            return Some(Instant::ZERO);
        }
        self.commands.deadline().into_iter().chain(self.writing_due()).min()
    }

    /// When dirty segments go before all else: one has been so for as long as its discipline allows, or a command that waits
    /// for them to be written, a flush or a write without room, has waited for as long as that of commands does.
    pub(super) fn writing_due(&self) -> Option<Instant> {
        if self.buffer.dirty_count() == 0 {
            return None;
        }
        let waits = self.parked.front().into_iter().chain(self.flushes.front().map(|(slot, _)| slot));
        let begun = waits.map(|&slot| self.slots[usize::from(slot)].ledger.start()).min();
        let kept = begun.zip(self.profile.firmware.queue.max_wait);
        self.destage_due().into_iter().chain(kept.map(|(begun, limit)| begun + limit)).min()
    }

    /// When a read-ahead gives way to what waits and is `fed_up` then. What commands were promised it still brings.
    pub(super) fn breaks_off(&self, stream: &Stream, fed_up: Option<Instant>) -> Instant {
        stream.promised.max(stream.held.min(fed_up.unwrap_or(Instant::FAR)))
    }

    pub(super) fn choose(&mut self, now: Instant) {
        self.settle_stream(now);
        if let Activity::Prefetch(stream) = &self.activity {
            self.arm = stream.arm();
        }
        self.plan(now);
        let due = self.writing_due().is_some_and(|due| due < now);
        let pressing = self.pressing(now) || due;
        // Without a rival only SPTF asks for the cost.
        let rivals = self.commands.is_empty() || pressing;
        let head = u64::from(self.arm.cylinder);
        let command = match rivals || self.profile.firmware.queue.policy == Policy::Sptf {
            true => self.commands.choose(now, head, &self.reach(now)),
            false => self.commands.choose(now, head, &Costless),
        };
        // A dirty segment that costs as much as the command comes behind it, unless something has waited for too long.
        let bar = match &command {
            Some(command) if !due && !self.commands.overdue(now) => command.cost,
            _ => u64::MAX,
        };
        let destage = if rivals { self.choose_destage(now, bar) } else { None };
        match (command, destage) {
            (Some(command), Some(rival)) if self.goes_first(now, &command, &rival) => {
                self.start_command(now, command);
            }
            (_, Some(rival)) => {
                self.tidying = !pressing;
                if let Some(choice) = rival.queued {
                    self.destages.take(choice);
                    // It leaves the buffer's dirty ones now.
                    self.left += 1;
                }
                self.start_destage(now, rival.segment);
            }
            (Some(command), None) => self.start_command(now, command),
            (None, None) if self.may_move_home() => self.move_home(now),
            (None, None) => {}
        }
    }

    /// A command goes before a dirty segment: it is the cheaper, or, where either has waited beyond its limit, the one
    /// whose limit passed first.
    fn goes_first(&self, now: Instant, command: &Chosen, rival: &Rival) -> bool {
        let passed = |due: Option<Instant>| due.filter(|&due| due < now);
        let limit = self.profile.firmware.destage.max_wait;
        let own = passed(limit.map(|limit| rival.since + limit));
        let segment = own.into_iter().chain(passed(self.writing_due())).min();
        match (passed(self.commands.deadline()), segment) {
            _ if command.is_head() => true,
            (None, None) => command.cost <= rival.cost,
            (Some(command), Some(segment)) => command <= segment,
            (command, _) => command.is_some(),
        }
    }

    /// What positioning costs from where the arm is at `now`.
    #[inline(always)]
    pub(super) fn reach(&self, now: Instant) -> Reach<'_> {
        self.profile.mechanics.reach_from(self.arm, now)
    }

    /// The dirty segment to write out next. Segments that a flush waits for go before; those that a stream of writes
    /// still fills come last: a part of one written now leaves the next write a revolution behind.
    /// One that costs `bar` or more may stand for all that do.
    fn choose_destage(&mut self, now: Instant, bar: u64) -> Option<Rival> {
        let fence = self.flushes.front().map_or(u64::MAX, |&(_, fence)| fence);
        if let Some((segment, place)) = self.next_for_media_cache(now, fence) {
            let cost = self.reach(now).of(&Target::of(0, &place, 1, true, &self.profile));
            let since = self.buffer.dirty(segment)?.since;
            return Some(Rival { segment, since, cost, queued: None });
        }
        self.sort_out_destages();
        let spares = fence == u64::MAX && self.buffer.any_may_grow();
        let choice = self.choose_below(fence, spares, now, bar).or_else(|| match spares {
            true => self.choose_below(fence, false, now, bar),
            false => None,
        })?;
        let (since, destage) = self.destages.chosen(&choice);
        Some(Rival { segment: destage.segment, since, cost: choice.cost, queued: Some(choice) })
    }

    /// The next of the dirty segments below the number `fence`, and, where it spares them, of those that do not grow.
    fn choose_below(&self, fence: u64, spares: bool, now: Instant, bar: u64) -> Option<Choice> {
        let admit = |destage: &Destage| destage.serial < fence && !(spares && self.buffer.is_growing(destage.segment));
        self.destages.choose_among(admit, now, u64::from(self.arm.cylinder), &self.reach(now), bar)
    }

    /// Brings the queue of the dirty segments up to date: those that are being written or gone leave it, those that
    /// became dirty since join it.
    fn sort_out_destages(&mut self) {
        let buffer = &self.buffer;
        if buffer.left() != self.left {
            self.left = buffer.left();
            self.destages.retain(|destage| {
                buffer.dirty(destage.segment).is_some_and(|dirty| dirty.serial == destage.serial && !dirty.is_leaving())
            });
        }
        for (segment, dirty) in self.buffer.dirty_from(self.joined).filter(|(_, dirty)| !dirty.is_leaving()) {
            let destage = Destage::of(segment, dirty, &self.buffer, &self.profile);
            self.destages.push(dirty.since, u64::from(destage.target.cylinder), destage);
        }
        self.joined = self.buffer.next_serial();
    }

    /// The rest of a dirty segment, part of which was written out, waits again.
    fn rejoin(&mut self, segment: usize) {
        self.destages.retain(|destage| destage.segment != segment);
        let Some(dirty) = self.buffer.dirty(segment).filter(|dirty| dirty.serial < self.joined) else { return };
        let destage = Destage::of(segment, dirty, &self.buffer, &self.profile);
        self.destages.push(dirty.since, u64::from(destage.target.cylinder), destage);
    }

    fn start_command(&mut self, now: Instant, choice: Chosen) {
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
        let filling = self.filling(now);
        match self.look_up(slot) {
            // It came into the buffer while the command waited.
            Lookup::Hit(segment) => self.read_hit(now, slot, &request, segment),
            _ if self.part_in_media_cache(request.lba, request.end()).is_some() => {
                self.break_off(now);
                if self.in_media_cache(&request).is_some() {
                    self.gather(now, slot);
                } else {
                    let first = self.profile.geometry.extent(request.lba, u32::MAX);
                    self.read_into(now, slot, &request, first, |_| None);
                }
            }
            Lookup::Extends(segment) if self.streams_into(now, segment, &request) => {
                self.read_hit(now, slot, &request, segment);
            }
            Lookup::Extends(segment) if !self.buffer.is_dirty(segment) && self.buffer.widen(segment, filling) => {
                let (_, end) = self.buffer.span(segment);
                self.break_off(now);
                self.buffer.touch(segment);
                let first = self.profile.geometry.extent(end.max(request.lba), u32::MAX);
                self.read_into(now, slot, &request, first, |_| Some(segment));
            }
            _ => {
                self.break_off(now);
                let first = self.slots[usize::from(slot)].first;
                self.read_into(now, slot, &request, first, |drive| drive.buffer.allocate(request.lba, None));
            }
        }
        self.take_along(now);
    }

    /// Reads from the block at `first` to the request's end into the segment that `take` names, and plans the read-ahead
    /// behind it; a read that fails fills none.
    fn read_into(
        &mut self,
        now: Instant,
        slot: u16,
        request: &Request,
        first: Extent,
        take: impl FnOnce(&mut Drive) -> Option<usize>,
    ) {
        let recovery = self.recovery(first.lba, request.end());
        let segment = if recovery.fails { None } else { take(self) };
        let wanted = Request { sectors: (recovery.end - request.lba) as u32, ..*request };
        self.start(now, &wanted, first, Purpose::Command { slot, segment }, (now, now));
        if recovery.fails {
            self.slots[usize::from(slot)].outcome = Status::MediumError;
        }
        if let Activity::Access { sweep, .. } = &mut self.activity {
            sweep.try_again(self.profile.mechanics.revolutions(recovery.retries));
        }
        let (Some(segment), Activity::Access { access, sweep, .. }) = (segment, &self.activity) else { return };
        let (access, end, arm) = (*access, sweep.end, sweep.arm);
        let ahead = self.slots[usize::from(slot)].ahead;
        let stream = self.plan_ahead(request, &access, (end, arm), segment, ahead);
        if let Activity::Access { then, .. } = &mut self.activity {
            *then = stream;
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
        let run = self.buffer.reads_on(segment, request.lba, request.end());
        if !ahead || request.end() == self.profile.geometry.sectors() {
            self.buffer.extend(segment, request.end());
            return None;
        }
        let following = access.following(&self.profile.geometry);
        let limit = self.read_ahead_limit(request, segment, run, Some(&following));
        self.buffer.extend(segment, limit);
        if limit == request.end() {
            return None;
        }
        let mut stream = Stream::start(self.platter(), end, arm, following, limit, segment);
        stream.held = self.holds(&stream, request.end(), run);
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
        // A weak block that passes is not read.
        while let Some(weak) = self.first_weak(access.lba() - free, access.lba()) {
            free = access.lba() - 1 - weak;
        }
        if geometry.is_unbroken(access.lba() - free, access.lba()) {
            return free;
        }
        // Slots left out before it on the track hold no blocks.
        while free > 0 && geometry.extent(access.lba() - free, 1).cylinder_and_head() != pass.extent.cylinder_and_head()
        {
            free -= 1;
        }
        free
    }

    /// Starts an access whose data, if it writes, cross the link between the two instants of `data`.
    pub(super) fn start(
        &mut self,
        now: Instant,
        request: &Request,
        first: Extent,
        purpose: Purpose,
        data: (Instant, Instant),
    ) {
        if let Purpose::Command { slot, .. } = purpose {
            self.slots[usize::from(slot)].stage = Stage::Medium;
        }
        let mut access = self.access(now, self.arm, request, first, data);
        if access.write && self.unit() > 1 {
            access.rereads = self.rereads(access.lba(), access.end());
            self.half_written = (!access.end().is_multiple_of(self.unit())).then_some(access.end() / self.unit());
        }
        let sweep = access.sweep(&self.profile.geometry, &self.profile.mechanics);
        self.note_seek(self.arm.cylinder, first.cylinder);
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
            rereads: (false, false),
        }
    }

    /// When the first of `sectors` blocks may go to the medium so that none is late, its data crossing the link evenly
    /// between the two instants of `data`.
    fn writable_at(&self, first: &Extent, sectors: u32, (from, to): (Instant, Instant)) -> Instant {
        let mechanics = &self.profile.mechanics;
        let behind = u128::from(first.slot) * u128::from(sectors - 1);
        let one = Span::from_nanos(to.since(from).nanos().div_ceil(u64::from(sectors)));
        // At least: a longer write changes tracks as well.
        let passing = mechanics.revolutions((behind >> 64) as u64) + mechanics.turn(behind as u64);
        (from + one).max(Instant::from_nanos(to.nanos().saturating_sub(passing.nanos())))
    }

    /// Blocks of a physical sector.
    pub(super) fn unit(&self) -> u64 {
        u64::from(self.profile.physical_sector) / SECTOR
    }

    /// Whether a write of `lba..end` begins, and ends, inside a physical sector that must be read first: the rest of it
    /// is neither in the buffer nor what was written last. A place in the media cache is fresh.
    fn rereads(&self, lba: u64, end: u64) -> (bool, bool) {
        if self.writes_to_media_cache() {
            return (false, false);
        }
        let unit = self.unit();
        let known = |from: u64, to: u64| {
            from == to
                || self.half_written == Some(from / unit)
                || matches!(self.buffer.look_up(from, to), Lookup::Hit(_))
        };
        (!known(lba / unit * unit, lba), !known(end, end.next_multiple_of(unit)))
    }

    /// When a write to `first` may begin that goes on in the physical sector in which the last one ended: that sector must
    /// come round again, to be written as a whole.
    fn whole_at(&self, now: Instant, first: &Extent) -> Instant {
        let unit = self.unit();
        match !first.lba.is_multiple_of(unit) && self.half_written == Some(first.lba / unit) {
            true => now + self.profile.mechanics.turn(first.slot.saturating_mul(unit)),
            false => Instant::ZERO,
        }
    }

    fn start_destage(&mut self, now: Instant, segment: usize) {
        self.break_off(now);
        self.for_flush = !self.flushes.is_empty();
        if self.for_flush {
            self.queued_until(Part::Queue, now);
        }
        let (start, _) = self.buffer.span(segment);
        let (end, arrived) = self.buffer.ready(segment, now, self.unit());
        let run = Request { op: Op::Write, lba: start, sectors: (end - start) as u32, ..Request::NONE };
        let first = self.destination(now, &run);
        self.buffer.leave(segment, end);
        self.start(now, &run, first, Purpose::Destage(segment), (arrived, arrived));
    }

    /// The access in progress is over.
    pub(super) fn access_ended(&mut self, now: Instant) {
        let Activity::Access { access, sweep, purpose, then } = &self.activity else {
            return;
        };
        let (purpose, led, begun, end) = (*purpose, sweep.led, access.start, access.end());
        let written = access.write.then_some(*access);
        self.tell_movements(access, purpose, sweep.end);
        if let Purpose::Command { slot, .. } = purpose
            && !self.slots[usize::from(slot)].round
        {
            sweep.charge(&mut self.slots[usize::from(slot)].ledger);
        }
        self.arm = sweep.arm;
        self.choose_from = if self.goes_on(end) { now } else { now + self.profile.firmware.dispatch };
        self.activity = match *then {
            Some(stream) => Activity::Prefetch(stream),
            None => Activity::Idle,
        };
        if let Some(access) = &written {
            self.land(access, purpose, Instant::FAR);
        }
        let in_media_cache = written.is_some_and(|access| self.settle_media_cache(access.lba(), access.end()));
        if let Some(access) = written.filter(|_| !in_media_cache) {
            self.refresh(access.lba(), access.end());
        }
        match purpose {
            Purpose::Command { slot, .. } if self.slots[usize::from(slot)].round => self.end_round(now, slot),
            Purpose::Command { slot, .. } if written.is_some() => {
                let service = self.service(slot);
                self.close(slot, now + self.profile.overhead.reselect + service);
            }
            // Nothing of it is sent.
            Purpose::Command { slot, .. } if self.slots[usize::from(slot)].outcome != Status::Done => {
                let service = self.service(slot);
                self.close(slot, now + self.profile.overhead.reselect + service);
            }
            Purpose::Command { slot, .. } if self.gather(now, slot) => return,
            Purpose::Command { slot, .. } => self.send(slot, now, led + self.profile.overhead.reselect),
            Purpose::Destage(segment) => {
                if core::mem::take(&mut self.for_flush) {
                    self.queued_until(Part::Flush, now);
                }
                let rest = self.buffer.drained(segment, end).then_some(segment);
                if rest.is_some() {
                    self.rejoin(segment);
                }
                self.end_flushes(now);
                self.unpark(now);
                if !in_media_cache {
                    self.go_on_destaging(now, begun, end, rest);
                }
                return;
            }
            Purpose::Moving => {}
        }
        if !self.parked.is_empty() {
            self.unpark(now);
        }
    }

    /// A command waits that goes on at block `end`, where the access ends: that is known before it does, so nothing is to
    /// be made ready. (Inferred: makers' sequential rates of queued writes leave no room for a revolution a command.)
    fn goes_on(&self, end: u64) -> bool {
        let queued = |slot: &super::Slot| slot.stage == Stage::Queued && slot.request.lba == end;
        self.profile.firmware.dispatch > Span::ZERO && self.slots.iter().any(queued)
    }

    /// A write that went round in its segment is on the medium; its status may still be on its way.
    fn end_round(&mut self, now: Instant, slot: u16) {
        if self.slots[usize::from(slot)].stage == Stage::Draining {
            self.release(now, slot);
            self.end_flushes(now);
        }
    }

    /// What continues the run that ended at `end` follows at once, as one long write: the `rest` of its segment, else
    /// another segment. That one is made ready while the one before is written, which takes as long as to make a write
    /// ready that comes from the host.
    fn go_on_destaging(&mut self, now: Instant, begun: Instant, end: u64, rest: Option<usize>) {
        if self.commands.overdue(now) {
            return;
        }
        let next = |drive: &Drive| {
            let (segment, _) = drive.buffer.destageable().find(|&(segment, _)| drive.buffer.span(segment).0 == end)?;
            Some((segment, begun + drive.profile.overhead.write_miss.write))
        };
        let Some((segment, ready)) = rest.map(|segment| (segment, now)).or_else(|| next(self)) else { return };
        let (_, arrived) = self.buffer.ready(segment, now, 1);
        // Data that are still on the link come too late for the block that passes now.
        if arrived <= now && ready <= now {
            self.start_destage(now, segment);
        } else {
            self.choose_from = self.choose_from.max(ready);
        }
    }
}
