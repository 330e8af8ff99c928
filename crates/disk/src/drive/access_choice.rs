//! The choice of the next access to the medium, its start, and its end.
//!
//! Commands are ordered by `firmware.queue`, dirty segments by `firmware.destage`. Dirty segments compete with commands
//! only under pressure: a command waits for a destage, the buffer is full of dirty segments, the drive switches off, or
//! a segment has been dirty for longer than its limit. Then the cheaper of the two choices goes first; with
//! `firmware.commands_percent` turns are shared instead. If one has waited beyond the limit of its discipline, the one
//! whose limit passed first goes first.

use super::access::AccessBlocks;
use super::cache::BufferLookup;
use super::command::{Command, Stage};
use super::geometry::Extent;
use super::link::{BufferArrival, LinkInterval};
use super::medium::{Activity, Purpose};
use super::piece::DestageablePart;
use super::profile::WrittenHits;
use super::queuing::CandidateChoice;
use super::stream::MediaStream;
use super::tentative_access::TentativeAccess;
use super::write_back::ChosenDestage;
use super::{Drive, DrivePower};
use crate::block::{Op, Request, Status};
use crate::queue::{Costs, NoCosts, Policy};
use crate::record::Part;
use crate::time::Instant;

impl Drive {
    /// True if dirty segments compete with commands.
    #[inline]
    pub(super) fn dirty_segments_compete(&self, now: Instant) -> bool {
        self.buffer.dirty_count() > 0 && self.is_destage_pressing(now)
    }

    fn is_destage_pressing(&self, now: Instant) -> bool {
        self.write_back.is_awaited()
            || self.buffer.is_dirty_limit_reached()
            || self.destages_before_stop()
            || self.write_back.age_limit_at(&self.buffer).is_some_and(|at| at <= now)
    }

    /// True if the drive destages all dirty data before it switches off.
    fn destages_before_stop(&self) -> bool {
        self.power != DrivePower::On && !self.promises.forgets_on_power_off()
    }

    /// When the next access may be chosen, if there is anything to choose and no access is in progress.
    #[inline]
    pub(super) fn next_choice_at(&self) -> Option<Instant> {
        if self.medium.is_accessing() { None } else { self.next_choice_between_accesses_at() }
    }

    #[inline(never)]
    fn next_choice_between_accesses_at(&self) -> Option<Instant> {
        if let Some(tentative) = &self.tentative {
            return Some(tentative.next_choice_at().max(self.clock));
        }
        let has_dirty = self.buffer.dirty_count() > 0;
        let has_nothing = !has_dirty && self.queue.is_empty() && self.media_cache.is_none();
        if has_nothing { None } else { self.next_choice_among_work_at(has_dirty) }
    }

    /// When the next access may be chosen, if no choice is tentative and there is work, or the drive has a media cache.
    fn next_choice_among_work_at(&self, has_dirty: bool) -> Option<Instant> {
        if !self.queue.is_empty() || self.dirty_segments_compete(self.clock) {
            return Some(self.urgent_access_start().max(self.clock));
        }
        let forgets = self.power == DrivePower::Stopping && self.promises.forgets_on_power_off();
        let has_idle_work = (has_dirty && self.electronics.is_idle() && !forgets) || self.may_move_home();
        let competes_at = if has_dirty { self.write_back.oldest_competes_at(&self.buffer) } else { None };
        let urgent_start = competes_at.map(|at| self.urgent_access_start().max(at));
        let idle_start = has_idle_work.then(|| self.idle_destage_start());
        let at = urgent_start.into_iter().chain(idle_start).min()?;
        Some(at.max(self.clock))
    }

    /// When work that may break off a read-ahead can have the medium.
    fn urgent_access_start(&self) -> Instant {
        match self.medium.activity() {
            Activity::Prefetch(stream) => {
                self.medium.free_from().max(self.read_ahead_yields_at(stream, self.interruption_deadline()))
            }
            _ => self.medium.free_from(),
        }
    }

    /// When the drive has been idle for long enough to destage, or to move data home.
    fn idle_destage_start(&self) -> Instant {
        let medium_free = match self.medium.activity() {
            Activity::Prefetch(stream) => stream.arrival_before(self.medium.platter(), stream.limit),
            _ => self.medium.free_from(),
        };
        self.write_back.idle_destage_start(medium_free, self.electronics.idle_since())
    }

    /// When waiting work may interrupt the read-ahead of a stream: at its wait limit, or at once for a head of the queue.
    #[inline]
    pub(super) fn interruption_deadline(&self) -> Option<Instant> {
        if self.queue.has_head_of_queue() {
            return Some(Instant::ZERO);
        }
        match (self.queue.deadline(), self.destage_deadline()) {
            (Some(command), Some(destage)) => Some(command.min(destage)),
            (command, destage) => command.or(destage),
        }
    }

    /// When dirty segments go before all else: one reaches the wait limit of its discipline, or a command that waits
    /// for their destage, a flush or a write without room, reaches that of commands.
    #[inline]
    pub(super) fn destage_deadline(&self) -> Option<Instant> {
        if self.buffer.dirty_count() == 0 { None } else { self.earliest_destage_deadline() }
    }

    fn earliest_destage_deadline(&self) -> Option<Instant> {
        let waiting_since =
            self.write_back.first_waiting_slots().map(|slot| self.electronics[slot].ledger.start()).min();
        let command_limit = waiting_since.zip(self.queue.max_wait()).map(|(since, limit)| since + limit);
        self.write_back.wait_limit_at(&self.buffer).into_iter().chain(command_limit).min()
    }

    /// When a read-ahead gives way to waiting work: at its hold's end, or from `may_interrupt_at` on. Blocks promised
    /// to commands still come.
    pub(super) fn read_ahead_yields_at(&self, stream: &MediaStream, may_interrupt_at: Option<Instant>) -> Instant {
        stream.promised_until.max(stream.held_until.min(may_interrupt_at.unwrap_or(Instant::FAR)))
    }

    /// Chooses the next access and starts it, or holds it as tentative.
    pub(super) fn choose_access(&mut self, now: Instant) {
        self.medium.move_arm_with_read_ahead(now);
        self.plan_commands(now);
        let destage_overdue = self.destage_deadline().is_some_and(|deadline| deadline < now);
        let destages_compete = self.dirty_segments_compete(now) || destage_overdue;
        let considers_destages = self.queue.is_empty() || destages_compete;
        let tentative = self.tentative.take();
        let command = self.choose_command(now, tentative.as_ref(), considers_destages);
        let destage = match considers_destages {
            true => self.choose_destage(now, self.destage_cost_limit(now, destage_overdue, &command)),
            false => None,
        };
        match (command, destage) {
            (Some(command), Some(destage)) if self.command_goes_first(now, &command, &destage) => {
                self.write_back.count_turn(true);
                self.take_up_command(now, command, tentative, true);
            }
            (passed_command, Some(destage)) => {
                if passed_command.is_some() {
                    self.write_back.count_turn(false);
                }
                self.write_back.set_idle_destage(!destages_compete);
                if let Some(choice) = destage.queued {
                    self.write_back.take(choice);
                }
                self.start_destage(now, destage.segment);
            }
            (Some(command), None) => self.take_up_command(now, command, tentative, false),
            (None, None) if self.may_move_home() => self.move_home(now),
            (None, None) => {}
        }
    }

    /// Chooses the next command. The cost is computed only if the policy or a comparison with destages needs it
    /// (`needs_cost`).
    #[inline(always)]
    fn choose_command(
        &self,
        now: Instant,
        tentative: Option<&TentativeAccess>,
        needs_cost: bool,
    ) -> Option<CandidateChoice> {
        let head = u64::from(self.medium.arm().cylinder);
        if let Some(tentative) = tentative {
            let costs = tentative.positioning_costs(now, self.medium.positioning_costs(now));
            return self.queue.choose(now, head, &costs);
        }
        match needs_cost || self.queue.policy() == Policy::Sptf {
            true if self.queue.are_all_reads() => {
                self.queue.choose(now, head, &self.medium.read_positioning_costs(now))
            }
            true => self.queue.choose(now, head, &self.medium.positioning_costs(now)),
            false => self.queue.choose(now, head, &NoCosts),
        }
    }

    /// Cost from which on a dirty segment comes after the command; no limit if something has waited too long.
    fn destage_cost_limit(&self, now: Instant, destage_overdue: bool, command: &Option<CandidateChoice>) -> u64 {
        match command {
            Some(command) if !destage_overdue && !self.queue.is_overdue(now) && !self.write_back.shares_turns() => {
                command.cost
            }
            _ => u64::MAX,
        }
    }

    /// True if a command goes before a dirty segment: it is a head of the queue, is cheaper, or has the turn by its
    /// share. If either has waited beyond its limit, the one whose limit passed first goes first.
    fn command_goes_first(&self, now: Instant, command: &CandidateChoice, destage: &ChosenDestage) -> bool {
        if command.is_head() {
            return true;
        }
        let if_passed = |deadline: Option<Instant>| deadline.filter(|&deadline| deadline < now);
        let segment_limit = if_passed(self.write_back.max_wait().map(|limit| destage.since + limit));
        let destage_limit = segment_limit.into_iter().chain(if_passed(self.destage_deadline())).min();
        match (if_passed(self.queue.deadline()), destage_limit) {
            (None, None) => self.write_back.commands_have_turn().unwrap_or(command.cost <= destage.cost),
            (Some(command_limit), Some(destage_limit)) => command_limit <= destage_limit,
            (command_limit, _) => command_limit.is_some(),
        }
    }

    /// Chooses the dirty segment to destage next, into the media cache or home. If all cost `cost_limit` or more, it
    /// may be any of them.
    fn choose_destage(&mut self, now: Instant, cost_limit: u64) -> Option<ChosenDestage> {
        if let Some((segment, place)) = self.next_for_media_cache(now, self.write_back.first_fence()) {
            let cost = self.medium.positioning_costs(now).request_cost(&self.medium.target(0, &place, 1, true));
            let since = self.buffer.dirty_state(segment)?.since;
            return Some(ChosenDestage { segment, since, cost, queued: None });
        }
        self.write_back.choose(now, &self.buffer, &self.medium, cost_limit)
    }

    /// Starts the chosen command; the arm has been moving since `arm_started`.
    pub(super) fn start_command(&mut self, now: Instant, arm_started: Instant, choice: CandidateChoice) {
        let target = self.queue.take(choice);
        let slot = target.slot;
        let request = self.electronics[slot].request;
        self.electronics[slot].ledger.book_until(Part::Queue, arm_started);
        if target.write {
            self.break_off_read_ahead(now);
            let Command { data, first, .. } = self.electronics[slot];
            let blocks = AccessBlocks { write: true, first, end: request.end() };
            self.start_access(arm_started, blocks, Purpose::Command { slot, segment: None }, data);
            if self.electronics[slot].wraps_around {
                self.acknowledge_wrapped_write(slot);
            }
            return;
        }
        let filling = self.medium.filling_segment(now);
        match self.look_up_command(slot) {
            // The data came into the buffer while the command waited.
            BufferLookup::Hit(segment) => self.serve_read_hit(now, slot, &request, segment),
            _ if self.first_media_cache_part(request.lba, request.end()).is_some() => {
                self.break_off_read_ahead(now);
                if self.media_cache_extent(&request).is_some() {
                    self.continue_in_media_cache(now, slot);
                } else {
                    let first = self.medium.track_from(request.lba);
                    self.read_into(arm_started, slot, &request, first, |_| None);
                }
            }
            BufferLookup::Extends(segment) if self.read_ahead_may_bring(now, segment, &request) => {
                self.serve_read_hit(now, slot, &request, segment);
            }
            BufferLookup::Extends(segment) if self.reserve_read_memory(segment, &request, filling) => {
                let (_, end) = self.buffer.block_bounds(segment);
                self.break_off_read_ahead(now);
                self.buffer.touch(segment);
                let first = self.medium.track_from(end.max(request.lba));
                self.read_into(arm_started, slot, &request, first, |_| Some(segment));
            }
            _ => {
                self.break_off_read_ahead(now);
                let first = self.electronics[slot].first;
                let sectors = u64::from(request.sectors);
                self.read_into(arm_started, slot, &request, first, |drive| {
                    drive.buffer.allocate(request.lba, sectors, None)
                });
            }
        }
        self.serve_from_read_ahead(now);
    }

    /// Takes memory for a read that begins in `segment` and extends past its end. Returns false if the segment is dirty
    /// or there is no memory.
    fn reserve_read_memory(&mut self, segment: usize, request: &Request, filling_segment: Option<usize>) -> bool {
        let (start, _) = self.buffer.block_bounds(segment);
        !self.buffer.is_dirty(segment) && self.buffer.ensure_memory(segment, request.end() - start, filling_segment)
    }

    /// Starts a read from the block at `first` to the request's end, into the segment that `choose_segment` returns,
    /// and plans the read-ahead after it; a read that fails fills no segment.
    fn read_into(
        &mut self,
        start: Instant,
        slot: u16,
        request: &Request,
        first: Extent,
        choose_segment: impl FnOnce(&mut Drive) -> Option<usize>,
    ) {
        let recovery = self.medium.read_outcome(first.lba, request.end());
        let segment = if recovery.fails { None } else { choose_segment(self) };
        let blocks = AccessBlocks { write: false, first, end: recovery.end };
        self.start_access(start, blocks, Purpose::Command { slot, segment }, LinkInterval::at(start));
        if recovery.fails {
            self.electronics[slot].outcome = Status::MediumError;
        }
        let sectors = (recovery.end - first.lba) as u32;
        let (Some(ended), Some(segment)) = (self.medium.add_retries(recovery.retries), segment) else { return };
        let may_read_ahead = self.electronics[slot].ahead;
        if self.promises.cache().read_ahead.free_blocks
            && let Some(access) = self.medium.current_access()
        {
            let rotation = self.medium.first_rotation(access);
            self.keep_free_blocks((first, sectors), rotation, segment);
        }
        let stream = self.plan_read_ahead(request, (first, sectors), ended, segment, may_read_ahead);
        self.medium.set_read_ahead(stream);
    }

    /// Starts an access to `blocks`; the data of a write cross the link as given.
    pub(super) fn start_access(&mut self, now: Instant, blocks: AccessBlocks, purpose: Purpose, data: LinkInterval) {
        if let Purpose::Command { slot, .. } = purpose {
            self.electronics[slot].stage = Stage::Medium;
        }
        let access = self.medium.plan_access(now, self.medium.arm(), blocks, data);
        let (buffer, writes_media_cache) = (&self.buffer, self.is_writing_media_cache());
        self.medium.start_access(access, purpose, |from, to| {
            // Nothing else is in the physical sectors of the media cache into which a write goes.
            writes_media_cache || matches!(buffer.look_up(from, to), BufferLookup::Hit(_))
        });
    }

    fn start_destage(&mut self, now: Instant, segment: usize) {
        self.break_off_read_ahead(now);
        self.write_back.begin_destage();
        if self.write_back.is_destaging_for_flush() {
            self.electronics.charge_queue_wait(Part::Queue, now);
        }
        let (start, _) = self.buffer.block_bounds(segment);
        let DestageablePart { end, arrived } =
            self.buffer.destageable_part(segment, now, self.medium.physical_sector_blocks());
        let run = Request { op: Op::Write, lba: start, sectors: (end - start) as u32, ..Request::NONE };
        let first = self.choose_destination(now, &run);
        self.buffer.begin_destage(segment, end);
        let blocks = AccessBlocks { write: true, first, end: run.end() };
        self.start_access(now, blocks, Purpose::Destage(segment), LinkInterval::at(arrived));
    }

    /// Ends the access in progress.
    pub(super) fn end_access(&mut self, now: Instant) {
        let Activity::Access { access, timing, purpose, .. } = self.medium.activity() else {
            return;
        };
        let (purpose, led, started, end) = (*purpose, timing.led, access.start, access.end());
        let written = access.write.then_some(*access);
        if let Purpose::Command { slot, .. } = purpose
            && !self.electronics[slot].wraps_around
        {
            timing.charge_ledger(&mut self.electronics[slot].ledger);
        }
        self.medium.end_access(now, |end| self.electronics.any_queued_at(end));
        if let Some(access) = &written {
            self.report_landings(access, purpose, Instant::FAR, self.promises.cut_sector());
        }
        let in_media_cache = written.is_some_and(|access| self.end_media_cache_write(access.lba(), access.end()));
        if let Some(access) = written.filter(|_| !in_media_cache) {
            self.medium.refresh_blocks(access.lba(), access.end());
        }
        if let Some(access) = written.filter(|_| self.promises.cache().written_hits == WrittenHits::All)
            && matches!(purpose, Purpose::Command { .. })
        {
            let filling = self.medium.filling_segment(now);
            self.buffer.cache_written(access.lba(), access.end(), filling);
        }
        match purpose {
            Purpose::Command { slot, .. } if self.electronics[slot].wraps_around => self.end_wrapped_write(now, slot),
            Purpose::Command { slot, .. } if written.is_some() => {
                let service = self.electronics[slot].reacquire_bus();
                self.electronics.close_command(slot, now + self.electronics.overhead().reselect + service);
            }
            // A failed read sends no data.
            Purpose::Command { slot, .. } if self.electronics[slot].outcome != Status::Done => {
                let service = self.electronics[slot].reacquire_bus();
                self.electronics.close_command(slot, now + self.electronics.overhead().reselect + service);
            }
            Purpose::Command { slot, .. } if self.media_cache.is_some() && self.continue_in_media_cache(now, slot) => {
                return;
            }
            Purpose::Command { slot, .. } => {
                let first = led + self.electronics.overhead().reselect;
                self.send_read_data(slot, BufferArrival { first, all: now });
            }
            Purpose::Destage(segment) => {
                if self.write_back.end_destage_for_flush() {
                    self.electronics.charge_queue_wait(Part::Flush, now);
                }
                let rest = self.buffer.end_destage(segment, end).then_some(segment);
                if rest.is_some() {
                    self.write_back.requeue_rest(segment, &self.buffer, &self.medium);
                }
                self.end_flushes(now);
                self.retry_parked(now);
                if !in_media_cache {
                    self.continue_destage(now, started, end, rest);
                }
                return;
            }
            Purpose::Moving => {}
        }
        self.retry_parked(now);
    }

    /// Ends a write that wrapped around in its segment: all is on the medium, though its status may still be on its way.
    fn end_wrapped_write(&mut self, now: Instant, slot: u16) {
        if self.electronics[slot].stage == Stage::Draining {
            self.electronics.release_slot(now, slot);
            self.end_flushes(now);
        }
    }

    /// Destages at once what continues the destage that ended at block `end`, as one long write: the rest of its
    /// segment, else another segment. Another segment is made ready while the one before is written, which takes as
    /// long as to make a write ready that comes from the host.
    fn continue_destage(&mut self, now: Instant, destage_started: Instant, end: u64, rest_segment: Option<usize>) {
        if self.queue.is_overdue(now) {
            return;
        }
        let next_segment = |drive: &Drive| {
            let segment = drive.buffer.destageable_segment_at(end)?;
            Some((segment, destage_started + drive.electronics.overhead().write_miss.write))
        };
        let rest = rest_segment.map(|segment| (segment, now));
        let Some((segment, ready)) = rest.or_else(|| next_segment(self)) else { return };
        let DestageablePart { arrived, .. } = self.buffer.destageable_part(segment, now, 1);
        // Data that are still on the link come too late for the block that passes now.
        if arrived <= now && ready <= now {
            self.start_destage(now, segment);
        } else {
            self.medium.delay_choice_until(ready);
        }
    }
}
