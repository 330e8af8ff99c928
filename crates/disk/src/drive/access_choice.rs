//! Choice of the next access, and what follows when it is over.
//!
//! Commands are ordered by `firmware.queue`, dirty segments by `firmware.destage`; under pressure the cheaper of the
//! two choices goes first, unless one has waited beyond the limit of its discipline: then the one whose limit passed
//! first. A segment that has been dirty for longer than its limit is pressing by itself. With
//! `firmware.commands_percent` turns are shared instead of going to the cheaper. Nothing here decides what a command is
//! or when its data cross the link.

use super::cache::BufferLookup;
use super::command::Stage;
use super::geometry::Extent;
use super::medium::{Activity, Purpose};
use super::profile::WrittenHits;
use super::queuing::CandidateChoice;
use super::stream::MediaStream;
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
        if self.medium.is_accessing() { None } else { self.next_choice_without_access_at() }
    }

    #[inline(never)]
    fn next_choice_without_access_at(&self) -> Option<Instant> {
        if let Some(tentative) = &self.tentative {
            return Some(tentative.next_choice_at().max(self.clock));
        }
        let dirty = self.buffer.dirty_count() > 0;
        let nothing = !dirty && self.queue.is_empty() && self.media_cache.is_none();
        if nothing { None } else { self.pending_choice_at(dirty) }
    }

    fn pending_choice_at(&self, dirty: bool) -> Option<Instant> {
        if !self.queue.is_empty() || self.dirty_segments_compete(self.clock) {
            return Some(self.urgent_access_start().max(self.clock));
        }
        let forgets = self.power == DrivePower::Stopping && self.promises.forgets_on_power_off();
        let idle = (dirty && self.electronics.is_idle() && !forgets) || self.may_move_home();
        let due = if dirty { self.write_back.oldest_competes_at(&self.buffer) } else { None };
        let hurried = due.map(|at| self.urgent_access_start().max(at));
        let patient = idle.then(|| self.idle_destage_start());
        let at = hurried.into_iter().chain(patient).min()?;
        Some(at.max(self.clock))
    }

    /// When work that may break off a prefetch can have the medium.
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
        let medium = match self.medium.activity() {
            Activity::Prefetch(stream) => stream.arrival_before(self.medium.platter(), stream.limit),
            _ => self.medium.free_from(),
        };
        self.write_back.idle_destage_start(medium, self.electronics.idle_since())
    }

    /// When waiting work may interrupt the read-ahead of a stream: at its wait limit, or at once for a head of the queue.
    #[inline]
    pub(super) fn interruption_deadline(&self) -> Option<Instant> {
        if self.queue.has_head_of_queue() {
            return Some(Instant::ZERO);
        }
        match (self.queue.deadline(), self.destage_deadline()) {
            (Some(deadline), Some(due)) => Some(deadline.min(due)),
            (deadline, due) => deadline.or(due),
        }
    }

    /// When dirty segments go before all else: one reaches the wait limit of its discipline, or a command that waits
    /// for their destage, a flush or a write without room, reaches that of commands.
    #[inline]
    pub(super) fn destage_deadline(&self) -> Option<Instant> {
        if self.buffer.dirty_count() == 0 { None } else { self.dirty_deadline() }
    }

    fn dirty_deadline(&self) -> Option<Instant> {
        let begun = self.write_back.first_waiting().map(|slot| self.electronics[slot].ledger.start()).min();
        let kept = begun.zip(self.queue.discipline().max_wait);
        self.write_back.wait_limit_at(&self.buffer).into_iter().chain(kept.map(|(begun, limit)| begun + limit)).min()
    }

    /// When a read-ahead gives way to waiting work, which may interrupt it at `fed_up`. Blocks promised to commands still come.
    pub(super) fn read_ahead_yields_at(&self, stream: &MediaStream, fed_up: Option<Instant>) -> Instant {
        stream.promised.max(stream.held.min(fed_up.unwrap_or(Instant::FAR)))
    }

    pub(super) fn choose_access(&mut self, now: Instant) {
        self.medium.follow_read_ahead(now);
        self.plan_commands(now);
        let due = self.destage_deadline().is_some_and(|due| due < now);
        let pressing = self.dirty_segments_compete(now) || due;
        // Without a competing destage only SPTF asks for the cost.
        let rivals = self.queue.is_empty() || pressing;
        let head = u64::from(self.medium.arm().cylinder);
        let before = self.tentative.take();
        let command = match rivals || self.queue.policy() == Policy::Sptf {
            _ if before.is_some() => before.and_then(|before| {
                self.queue.choose(now, head, &before.positioning_costs(now, self.medium.positioning_costs(now)))
            }),
            true if self.queue.are_all_reads() => {
                self.queue.choose(now, head, &self.medium.read_positioning_costs(now))
            }
            true => self.queue.choose(now, head, &self.medium.positioning_costs(now)),
            false => self.queue.choose(now, head, &NoCosts),
        };
        let destage = if rivals { self.choose_destage(now, self.destage_cost_limit(now, due, &command)) } else { None };
        match (command, destage) {
            (Some(command), Some(rival)) if self.command_goes_first(now, &command, &rival) => {
                self.write_back.count_turn(true);
                self.take_up_command(now, command, before, true);
            }
            (contested, Some(rival)) => {
                if contested.is_some() {
                    self.write_back.count_turn(false);
                }
                self.write_back.set_idle_destage(!pressing);
                if let Some(choice) = rival.queued {
                    self.write_back.take(choice);
                }
                self.start_destage(now, rival.segment);
            }
            (Some(command), None) => self.take_up_command(now, command, before, false),
            (None, None) if self.may_move_home() => self.move_home(now),
            (None, None) => {}
        }
    }

    /// Cost from which on a dirty segment comes after the command; no limit if something has waited too long.
    fn destage_cost_limit(&self, now: Instant, due: bool, command: &Option<CandidateChoice>) -> u64 {
        match command {
            Some(command) if !due && !self.queue.is_overdue(now) && !self.write_back.shares_turns() => command.cost,
            _ => u64::MAX,
        }
    }

    /// True if a command goes before a dirty segment: it is a head of the queue, is cheaper, or has the turn by its
    /// share. If either has waited beyond its limit, the one whose limit passed first goes first.
    fn command_goes_first(&self, now: Instant, command: &CandidateChoice, rival: &ChosenDestage) -> bool {
        let passed = |due: Option<Instant>| due.filter(|&due| due < now);
        let limit = self.write_back.max_wait();
        let own = passed(limit.map(|limit| rival.since + limit));
        let segment = own.into_iter().chain(passed(self.destage_deadline())).min();
        match (passed(self.queue.deadline()), segment) {
            _ if command.is_head() => true,
            (None, None) => self.write_back.commands_have_turn().unwrap_or(command.cost <= rival.cost),
            (Some(command), Some(segment)) => command <= segment,
            (command, _) => command.is_some(),
        }
    }

    /// Chooses the dirty segment to destage next, into the media cache or home. If all cost `bar` or more, it may be
    /// any of them.
    fn choose_destage(&mut self, now: Instant, bar: u64) -> Option<ChosenDestage> {
        if let Some((segment, place)) = self.next_for_media_cache(now, self.write_back.first_fence()) {
            let cost = self.medium.positioning_costs(now).request_cost(&self.medium.target(0, &place, 1, true));
            let since = self.buffer.dirty_state(segment)?.since;
            return Some(ChosenDestage { segment, since, cost, queued: None });
        }
        self.write_back.choose(now, &self.buffer, &self.medium, bar)
    }

    /// Starts the chosen command; the arm has been moving since `begun`.
    pub(super) fn start_command(&mut self, now: Instant, begun: Instant, choice: CandidateChoice) {
        let target = self.queue.take(choice);
        let slot = target.slot;
        let request = self.electronics[slot].request;
        self.electronics[slot].ledger.book_until(Part::Queue, begun);
        if target.write {
            self.break_off_read_ahead(now);
            let data = self.electronics[slot].data;
            let first = self.electronics[slot].first;
            self.start_access(begun, (true, request.end()), first, Purpose::Command { slot, segment: None }, data);
            if self.electronics[slot].round {
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
                    self.read_into(begun, slot, &request, first, |_| None);
                }
            }
            BufferLookup::Extends(segment) if self.streams_into(now, segment, &request) => {
                self.serve_read_hit(now, slot, &request, segment);
            }
            BufferLookup::Extends(segment) if self.reserve_read_memory(segment, &request, filling) => {
                let (_, end) = self.buffer.span(segment);
                self.break_off_read_ahead(now);
                self.buffer.touch(segment);
                let first = self.medium.track_from(end.max(request.lba));
                self.read_into(begun, slot, &request, first, |_| Some(segment));
            }
            _ => {
                self.break_off_read_ahead(now);
                let first = self.electronics[slot].first;
                let sectors = u64::from(request.sectors);
                self.read_into(begun, slot, &request, first, |drive| drive.buffer.allocate(request.lba, sectors, None));
            }
        }
        self.serve_from_read_ahead(now);
    }

    /// Takes memory for a read that begins in `segment` and extends past its end. Returns false if there is none.
    fn reserve_read_memory(&mut self, segment: usize, request: &Request, filling: Option<usize>) -> bool {
        let (start, _) = self.buffer.span(segment);
        !self.buffer.is_dirty(segment) && self.buffer.ensure_memory(segment, request.end() - start, filling)
    }

    /// Reads from the block at `first` to the request's end into the segment that `take` names, and plans the
    /// read-ahead after it; a read that fails fills none.
    fn read_into(
        &mut self,
        now: Instant,
        slot: u16,
        request: &Request,
        first: Extent,
        take: impl FnOnce(&mut Drive) -> Option<usize>,
    ) {
        let recovery = self.medium.read_outcome(first.lba, request.end());
        let segment = if recovery.fails { None } else { take(self) };
        self.start_access(now, (false, recovery.end), first, Purpose::Command { slot, segment }, (now, now));
        if recovery.fails {
            self.electronics[slot].outcome = Status::MediumError;
        }
        let sectors = (recovery.end - first.lba) as u32;
        let (Some(ended), Some(segment)) = (self.medium.add_retries(recovery.retries), segment) else { return };
        let ahead = self.electronics[slot].ahead;
        if self.promises.cache().read_ahead.free_blocks
            && let Some(access) = self.medium.current_access()
        {
            let rotation = self.medium.first_rotation(access);
            self.keep_free_blocks((first, sectors), rotation, segment);
        }
        let stream = self.plan_read_ahead(request, (first, sectors), ended, segment, ahead);
        self.medium.set_read_ahead(stream);
    }

    /// Starts an access from the block at `first` to `end`; the data of a write cross the link between the two instants
    /// of `data`.
    pub(super) fn start_access(
        &mut self,
        now: Instant,
        (write, end): (bool, u64),
        first: Extent,
        purpose: Purpose,
        data: (Instant, Instant),
    ) {
        if let Purpose::Command { slot, .. } = purpose {
            self.electronics[slot].stage = Stage::Medium;
        }
        let access = self.medium.plan_access(now, self.medium.arm(), (write, end), first, data);
        let (buffer, fresh) = (&self.buffer, self.is_writing_media_cache());
        self.medium.start_access(access, purpose, |from, to| {
            fresh || matches!(buffer.look_up(from, to), BufferLookup::Hit(_))
        });
    }

    fn start_destage(&mut self, now: Instant, segment: usize) {
        self.break_off_read_ahead(now);
        if self.write_back.begin_destage() {
            self.electronics.charge_queue_wait(Part::Queue, now);
        }
        let (start, _) = self.buffer.span(segment);
        let (end, arrived) = self.buffer.destageable_until(segment, now, self.medium.unit());
        let run = Request { op: Op::Write, lba: start, sectors: (end - start) as u32, ..Request::NONE };
        let first = self.choose_destination(now, &run);
        self.buffer.begin_destage(segment, end);
        self.start_access(now, (true, run.end()), first, Purpose::Destage(segment), (arrived, arrived));
    }

    /// Ends the access in progress.
    pub(super) fn end_access(&mut self, now: Instant) {
        let Activity::Access { access, sweep, purpose, .. } = self.medium.activity() else {
            return;
        };
        let (purpose, led, begun, end) = (*purpose, sweep.led, access.start, access.end());
        let written = access.write.then_some(*access);
        if let Purpose::Command { slot, .. } = purpose
            && !self.electronics[slot].round
        {
            sweep.charge_ledger(&mut self.electronics[slot].ledger);
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
            Purpose::Command { slot, .. } if self.electronics[slot].round => self.end_wrapped_write(now, slot),
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
            Purpose::Command { slot, .. } => self.send_read_data(slot, now, led + self.electronics.overhead().reselect),
            Purpose::Destage(segment) => {
                if self.write_back.end_destage() {
                    self.electronics.charge_queue_wait(Part::Flush, now);
                }
                let rest = self.buffer.end_destage(segment, end).then_some(segment);
                if rest.is_some() {
                    self.write_back.requeue_rest(segment, &self.buffer, &self.medium);
                }
                self.end_flushes(now);
                self.retry_parked(now);
                if !in_media_cache {
                    self.continue_destage(now, begun, end, rest);
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

    /// Destages at once what continues the run that ended at `end`, as one long write: the `rest` of its segment, else
    /// another segment. Another segment is made ready while the one before is written, which takes as long as to make a
    /// write ready that comes from the host.
    fn continue_destage(&mut self, now: Instant, begun: Instant, end: u64, rest: Option<usize>) {
        if self.queue.is_overdue(now) {
            return;
        }
        let next = |drive: &Drive| {
            let segment = drive.buffer.destageable_segment_at(end)?;
            Some((segment, begun + drive.electronics.overhead().write_miss.write))
        };
        let Some((segment, ready)) = rest.map(|segment| (segment, now)).or_else(|| next(self)) else { return };
        let (_, arrived) = self.buffer.destageable_until(segment, now, 1);
        // Data that are still on the link come too late for the block that passes now.
        if arrived <= now && ready <= now {
            self.start_destage(now, segment);
        } else {
            self.medium.delay_choice_until(ready);
        }
    }
}
