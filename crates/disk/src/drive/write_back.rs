//! Write-back: the order in which dirty segments are destaged, and the commands that wait for destages: flushes and
//! *parked* commands. A write is parked if the buffer has no room, a command if its blocks are dirty. The buffer knows
//! what is dirty, the medium what a destage costs.
//!
//! Dirty segments have rising serial numbers. The *fence* of a flush is the first number that it does not wait for.

use alloc::collections::VecDeque;

use super::cache::Buffer;
use super::mechanics::PositioningCosts;
use super::medium::Medium;
use super::piece::DirtySegment;
use super::profile::{CacheSpec, Firmware};
use super::target::Target;
use crate::queue::{Choice, Costs, Policy, Queue};
use crate::time::{Instant, Span};

/// A dirty segment as a candidate for the medium.
#[derive(Clone, Copy, Debug)]
pub(super) struct Destage {
    segment: usize,
    /// Serial number of the dirty segment.
    serial: u64,
    target: Target,
}

impl Destage {
    fn new(segment: usize, dirty: &DirtySegment, buffer: &Buffer, medium: &Medium) -> Destage {
        let (start, end) = buffer.block_bounds(segment);
        let track = medium.track_from(start);
        let arrived = dirty.pieces.first().map_or(dirty.since, |piece| piece.arrived);
        let target = medium.target(0, &track, (end - start) as u32, true).with_ready(arrived);
        Destage { segment, serial: dirty.serial, target }
    }
}

impl Costs<Destage> for PositioningCosts<'_> {
    #[inline(always)]
    fn request_cost(&self, destage: &Destage) -> u64 {
        self.request_cost(&destage.target)
    }

    #[inline(always)]
    fn least_cost_at_or_beyond(&self, distance: u64) -> u64 {
        self.least_movement_at_or_beyond(distance).nanos()
    }
}

/// The dirty segment that is chosen to be destaged next.
pub(super) struct ChosenDestage {
    pub(super) segment: usize,
    /// Since when it is dirty.
    pub(super) since: Instant,
    /// Positioning time, in nanoseconds.
    pub(super) cost: u64,
    /// Choice in the queue, if it goes to its own place on the medium.
    pub(super) queued: Option<Choice>,
}

/// Order of destages, and the commands that wait for them.
#[derive(Clone, Debug)]
pub(super) struct WriteBack {
    /// Age at which dirty data compete with the commands.
    age_limit: Option<Span>,
    /// Time without commands after which idle destaging begins.
    idle_delay: Span,
    /// Dirty segments to destage, as of the last update.
    queue: Queue<Destage>,
    /// The buffer's next serial number at the last update.
    queued_until: u64,
    /// The buffer's count of departures at the last update.
    departures: u64,
    /// Parked commands, which wait for a destage.
    parked: VecDeque<u16>,
    /// Flushes: the command's slot and the fence.
    flushes: VecDeque<(u16, u64)>,
    /// The destage in progress is for a flush.
    for_flush: bool,
    /// Idle destaging is in progress.
    idle_destage: bool,
    /// A write found no room; no other gets a new run before `room_runs` are free.
    admission_closed: bool,
    room_runs: usize,
    /// Share of turns, in percent, that commands have against competing destages.
    commands_percent: Option<u32>,
    /// Turns that commands are owed by their share, in hundredths.
    commands_credit: u32,
}

impl WriteBack {
    /// Returns the empty write-back state of a drive that has at most `max_commands` in flight.
    pub(super) fn new(cache: &CacheSpec, firmware: &Firmware, max_commands: usize) -> WriteBack {
        WriteBack {
            age_limit: cache.destage_age,
            idle_delay: cache.destage_idle,
            queue: Queue::new(firmware.destage, cache.max_dirty_runs() as usize),
            queued_until: 0,
            departures: 0,
            parked: VecDeque::with_capacity(max_commands),
            flushes: VecDeque::new(),
            for_flush: false,
            idle_destage: false,
            admission_closed: false,
            room_runs: cache.room_runs as usize,
            commands_percent: firmware.commands_percent,
            commands_credit: 0,
        }
    }

    // Waiting commands

    /// True if a command waits for a destage.
    #[inline]
    pub(super) fn is_awaited(&self) -> bool {
        !self.flushes.is_empty() || !self.parked.is_empty()
    }

    /// Slots of the first parked command and of the first flush.
    pub(super) fn first_waiting_slots(&self) -> impl Iterator<Item = u16> {
        self.parked.front().into_iter().chain(self.flushes.front().map(|(slot, _)| slot)).copied()
    }

    /// Removes the command in `slot` from those that wait.
    pub(super) fn remove_waiting(&mut self, slot: u16) {
        self.parked.retain(|&other| other != slot);
        self.flushes.retain(|&(other, _)| other != slot);
    }

    /// Parks a command, before all others or after them.
    pub(super) fn park(&mut self, slot: u16, at_front: bool) {
        match at_front {
            true => self.parked.push_front(slot),
            false => self.parked.push_back(slot),
        }
    }

    /// The parked command that comes first.
    #[inline]
    pub(super) fn first_parked(&self) -> Option<u16> {
        self.parked.front().copied()
    }

    /// Removes the parked command that comes first.
    pub(super) fn pop_parked(&mut self) {
        self.parked.pop_front();
    }

    /// Closes the admission of writes to new runs: a write found no room.
    pub(super) fn close_admission(&mut self) {
        self.admission_closed = true;
    }

    /// Opens the admission again if enough runs are free. Returns true if it stays closed.
    pub(super) fn try_open_admission(&mut self, buffer: &Buffer) -> bool {
        let lacks_runs = buffer.dirty_count() > 0 && buffer.free_run_count() < self.room_runs;
        self.admission_closed = self.admission_closed && lacks_runs;
        self.admission_closed
    }

    /// Adds a flush that waits for all dirty segments numbered below `fence`.
    pub(super) fn add_flush(&mut self, slot: u16, fence: u64) {
        self.flushes.push_back((slot, fence));
    }

    /// Removes the next flush that waits for no dirty segment any more, and returns its slot. `oldest_serial` is the
    /// lowest number of a dirty segment.
    pub(super) fn pop_finished_flush(&mut self, oldest_serial: Option<u64>) -> Option<u16> {
        let &(slot, fence) = self.flushes.front()?;
        if oldest_serial.is_some_and(|serial| serial < fence) {
            return None;
        }
        self.flushes.pop_front();
        Some(slot)
    }

    /// Fence of the first flush; `u64::MAX` without a flush.
    pub(super) fn first_fence(&self) -> u64 {
        self.flushes.front().map_or(u64::MAX, |&(_, fence)| fence)
    }

    /// Fence of the last flush, and so of all; 0 without a flush.
    pub(super) fn last_fence(&self) -> u64 {
        self.flushes.back().map_or(0, |&(_, fence)| fence)
    }

    // Timing

    /// When the oldest segment to destage reaches the age of competing with commands.
    #[inline]
    pub(super) fn age_limit_at(&self, buffer: &Buffer) -> Option<Instant> {
        let limit = self.age_limit?;
        buffer.destageable_segments().next().map(|(_, dirty)| dirty.since + limit)
    }

    /// Maximum number of dirty segments that competed with each other at once.
    pub(super) fn max_queued(&self) -> u32 {
        self.queue.max_waiting()
    }

    /// Longest wait of a dirty segment.
    pub(super) fn max_wait(&self) -> Option<Span> {
        self.queue.max_wait()
    }

    /// When the oldest dirty segment reaches the maximum wait.
    #[inline]
    pub(super) fn wait_limit_at(&self, buffer: &Buffer) -> Option<Instant> {
        let limit = self.max_wait()?;
        buffer.destageable_segments().next().map(|(_, dirty)| dirty.since + limit)
    }

    /// When the oldest dirty segment competes with commands by its age alone.
    pub(super) fn oldest_competes_at(&self, buffer: &Buffer) -> Option<Instant> {
        // Over a limit is later than at it.
        let due = self.wait_limit_at(buffer).map(|due| due + Span::from_nanos(1));
        self.age_limit_at(buffer).into_iter().chain(due).min()
    }

    /// Ends idle destaging, because a command comes.
    #[inline]
    pub(super) fn end_idle_destage(&mut self) {
        self.idle_destage = false;
    }

    /// Notes whether the access that begins is idle destaging.
    pub(super) fn set_idle_destage(&mut self, is_idle_destage: bool) {
        self.idle_destage = is_idle_destage;
    }

    /// When idle destaging continues or begins: the medium is free from `medium_free` on, and no command is in flight
    /// since `idle_since`.
    pub(super) fn idle_destage_start(&self, medium_free: Instant, idle_since: Instant) -> Instant {
        match self.idle_destage {
            true => medium_free,
            false => medium_free.max(idle_since) + self.idle_delay,
        }
    }

    /// True if commands and destages share turns, instead of the cheaper going first.
    pub(super) fn shares_turns(&self) -> bool {
        self.commands_percent.is_some()
    }

    /// True if the next turn is the commands' by their share; `None` if turns are not shared.
    pub(super) fn commands_have_turn(&self) -> Option<bool> {
        self.commands_percent.map(|percent| self.commands_credit + percent >= 100)
    }

    /// Counts a turn for which a command and a destage competed.
    pub(super) fn count_turn(&mut self, command_won: bool) {
        let credit = self.commands_credit + self.commands_percent.unwrap_or(0);
        // The credit is capped at a turn: turns lost to a wait limit are not all made up for.
        self.commands_credit = if command_won { credit.saturating_sub(100) } else { credit.min(100) };
    }

    // Choice

    /// Chooses the dirty segment to destage next. While a flush waits, only segments that it waits for are chosen.
    /// Growing segments, which a stream of writes still fills, come last: destaging a part of one delays the stream's
    /// next write by a revolution. In the order of arrival they are not put off. If all cost `cost_limit` or more, it
    /// may be any of them.
    pub(super) fn choose(
        &mut self,
        now: Instant,
        buffer: &Buffer,
        medium: &Medium,
        cost_limit: u64,
    ) -> Option<ChosenDestage> {
        self.update_queue(buffer, medium);
        let fence = self.first_fence();
        let in_order = self.queue.discipline().policy == Policy::Fcfs;
        let skips_growing = fence == u64::MAX && !in_order && buffer.any_may_grow();
        let (head, costs) = (u64::from(medium.arm().cylinder), medium.positioning_costs(now));
        let choose_among = |skips_growing: bool| {
            let admit = move |destage: &Destage| {
                destage.serial < fence && !(skips_growing && buffer.is_growing(destage.segment))
            };
            self.queue.choose_among(admit, now, head, &costs, cost_limit)
        };
        let choice = choose_among(skips_growing).or_else(|| if skips_growing { choose_among(false) } else { None })?;
        let (since, destage) = self.queue.chosen_request(&choice);
        Some(ChosenDestage { segment: destage.segment, since, cost: choice.cost, queued: Some(choice) })
    }

    /// Updates the queue: removes segments being destaged or gone, adds those that became dirty since.
    fn update_queue(&mut self, buffer: &Buffer, medium: &Medium) {
        if buffer.departures() != self.departures {
            self.departures = buffer.departures();
            self.queue.retain(|destage| {
                buffer
                    .dirty_state(destage.segment)
                    .is_some_and(|dirty| dirty.serial == destage.serial && !dirty.is_destaging())
            });
        }
        if self.queued_until == buffer.next_serial() {
            return;
        }
        for (segment, dirty) in buffer.dirty_from_serial(self.queued_until).filter(|(_, dirty)| !dirty.is_destaging()) {
            let destage = Destage::new(segment, dirty, buffer, medium);
            self.queue.push(dirty.since, u64::from(destage.target.cylinder), destage);
        }
        self.queued_until = buffer.next_serial();
    }

    /// Removes the chosen segment, which is destaged now.
    pub(super) fn take(&mut self, choice: Choice) {
        self.queue.take(choice);
        // The buffer counts its departure when the destage begins.
        self.departures += 1;
    }

    /// Queues the rest of a dirty segment of which a part was destaged.
    pub(super) fn requeue_rest(&mut self, segment: usize, buffer: &Buffer, medium: &Medium) {
        self.queue.retain(|destage| destage.segment != segment);
        let Some(dirty) = buffer.dirty_state(segment).filter(|dirty| dirty.serial < self.queued_until) else { return };
        let destage = Destage::new(segment, dirty, buffer, medium);
        self.queue.push(dirty.since, u64::from(destage.target.cylinder), destage);
    }

    /// Begins a destage; it is for a flush if one waits.
    pub(super) fn begin_destage(&mut self) {
        self.for_flush = !self.flushes.is_empty();
    }

    /// True if the destage in progress is for a flush.
    pub(super) fn is_destaging_for_flush(&self) -> bool {
        self.for_flush
    }

    /// Ends a destage. Returns true if it was for a flush.
    pub(super) fn end_destage_for_flush(&mut self) -> bool {
        core::mem::take(&mut self.for_flush)
    }

    /// Empties the queue, for a new buffer that counts from 0.
    pub(super) fn reset_queue(&mut self) {
        self.queue.clear();
        (self.queued_until, self.departures) = (0, 0);
    }
}
