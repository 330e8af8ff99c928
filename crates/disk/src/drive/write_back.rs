//! Write-back: the order in which dirty segments are destaged, and the commands that wait for them: flushes, and
//! commands parked until then. The buffer knows what is dirty, the medium what a destage costs.

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
        let (start, end) = buffer.span(segment);
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
        self.least_movement(distance).nanos()
    }
}

/// The dirty segment that would be destaged next.
pub(super) struct ChosenDestage {
    pub(super) segment: usize,
    /// Since when it is dirty.
    pub(super) since: Instant,
    /// Positioning time, in nanoseconds.
    pub(super) cost: u64,
    /// Place in the queue, if it goes home.
    pub(super) queued: Option<Choice>,
}

/// Order of destages, and the commands that wait for them.
#[derive(Debug)]
pub(super) struct WriteBack {
    /// Age at which data compete with the commands.
    age: Option<Span>,
    /// Time without commands after which idle destaging begins.
    idle: Span,
    /// Dirty segments to destage, as of the last choice among them: those numbered below `joined`, less those that had
    /// `left` by then.
    queue: Queue<Destage>,
    joined: u64,
    left: u64,
    /// Parked commands, which wait for a destage.
    parked: VecDeque<u16>,
    /// Flushes, with the number below which dirty segments must be gone.
    flushes: VecDeque<(u16, u64)>,
    /// The destage in progress is for a flush.
    for_flush: bool,
    /// Idle destaging is in progress.
    tidying: bool,
    /// A write found no room; no other gets a new run before `room_runs` are free.
    closed: bool,
    room_runs: usize,
    /// Share of turns, in percent, that commands have against pressing destages, and their credit of turns not had.
    commands_percent: Option<u32>,
    credit: u32,
}

impl WriteBack {
    /// Returns the empty write-back state of a drive that takes so many `commands` at once.
    pub(super) fn new(cache: &CacheSpec, firmware: &Firmware, commands: usize) -> WriteBack {
        WriteBack {
            age: cache.destage_age,
            idle: cache.destage_idle,
            queue: Queue::new(firmware.destage, cache.max_dirty_runs() as usize),
            joined: 0,
            left: 0,
            parked: VecDeque::with_capacity(commands),
            flushes: VecDeque::new(),
            for_flush: false,
            tidying: false,
            closed: false,
            room_runs: cache.room_runs as usize,
            commands_percent: firmware.commands_percent,
            credit: 0,
        }
    }

    // Waiting commands

    /// True if a command waits for a destage.
    #[inline]
    pub(super) fn is_awaited(&self) -> bool {
        !self.flushes.is_empty() || !self.parked.is_empty()
    }

    /// First parked command, and first flush.
    pub(super) fn first_waiting(&self) -> impl Iterator<Item = u16> {
        self.parked.front().into_iter().chain(self.flushes.front().map(|(slot, _)| slot)).copied()
    }

    /// Removes the command in `slot` from those that wait.
    pub(super) fn remove_waiting(&mut self, slot: u16) {
        self.parked.retain(|&other| other != slot);
        self.flushes.retain(|&(other, _)| other != slot);
    }

    /// Parks a command, before all others or after them.
    pub(super) fn park(&mut self, slot: u16, first: bool) {
        match first {
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

    /// Notes that a write finds no room. Always returns true: the write waits.
    pub(super) fn close_admission(&mut self) -> bool {
        self.closed = true;
        true
    }

    /// Updates and returns whether a write must wait for a run: one found no room, and fewer runs are free than another needs.
    pub(super) fn update_closed(&mut self, buffer: &Buffer) -> bool {
        self.closed = self.closed && buffer.dirty_count() > 0 && buffer.free_runs() < self.room_runs;
        self.closed
    }

    /// Adds a flush that waits for all dirty segments below the number `fence`.
    pub(super) fn add_flush(&mut self, slot: u16, fence: u64) {
        self.flushes.push_back((slot, fence));
    }

    /// Removes the next flush that waits for no dirty segment any more; `oldest` is the lowest number of one.
    pub(super) fn pop_finished_flush(&mut self, oldest: Option<u64>) -> Option<u16> {
        let &(slot, fence) = self.flushes.front()?;
        if oldest.is_some_and(|serial| serial < fence) {
            return None;
        }
        self.flushes.pop_front();
        Some(slot)
    }

    /// Number below which dirty segments must be gone for the first flush; `u64::MAX` without a flush.
    pub(super) fn first_fence(&self) -> u64 {
        self.flushes.front().map_or(u64::MAX, |&(_, fence)| fence)
    }

    /// Number below which dirty segments must be gone for all flushes; 0 without a flush.
    pub(super) fn last_fence(&self) -> u64 {
        self.flushes.back().map_or(0, |&(_, fence)| fence)
    }

    // Timing

    /// When the oldest segment to destage reaches the age of competing with commands.
    #[inline]
    pub(super) fn age_limit_at(&self, buffer: &Buffer) -> Option<Instant> {
        let age = self.age?;
        buffer.destageable_segments().next().map(|(_, dirty)| dirty.since + age)
    }

    /// Most dirty segments that competed at once.
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

    /// When the oldest dirty segment presses by its age alone.
    pub(super) fn oldest_competes_at(&self, buffer: &Buffer) -> Option<Instant> {
        // Over a limit is later than at it.
        let due = self.wait_limit_at(buffer).map(|due| due + Span::from_nanos(1));
        self.age_limit_at(buffer).into_iter().chain(due).min()
    }

    /// Ends idle destaging, because a command comes.
    #[inline]
    pub(super) fn end_idle_destage(&mut self) {
        self.tidying = false;
    }

    /// Notes whether a destage is idle destaging.
    pub(super) fn set_idle_destage(&mut self, tidying: bool) {
        self.tidying = tidying;
    }

    /// When idle destaging continues or begins, with the medium free from `free` on and no commands since `quiet`.
    pub(super) fn idle_destage_start(&self, free: Instant, quiet: Instant) -> Instant {
        match self.tidying {
            true => free,
            false => free.max(free.max(quiet) + self.idle),
        }
    }

    /// True if commands have a share of the turns, whatever things cost.
    pub(super) fn shares_turns(&self) -> bool {
        self.commands_percent.is_some()
    }

    /// Whether the next turn is the commands' by their share; `None` if shares do not decide.
    pub(super) fn commands_have_turn(&self) -> Option<bool> {
        self.commands_percent.map(|percent| self.credit + percent >= 100)
    }

    /// Counts a contested turn, which commands had or not.
    pub(super) fn count_turn(&mut self, commands: bool) {
        let credit = self.credit + self.commands_percent.unwrap_or(0);
        // The credit is capped at a turn: those lost to a wait limit are not all made up for.
        self.credit = if commands { credit.saturating_sub(100) } else { credit.min(100) };
    }

    // Choice

    /// Chooses the dirty segment to destage next. While a flush waits, only segments that it waits for are chosen.
    /// Segments that a stream of writes still fills come last, except in the order of arrival: destaging a part of one
    /// delays the next write by a revolution. If all cost `bar` or more, it may be any of them.
    pub(super) fn choose(&mut self, now: Instant, buffer: &Buffer, medium: &Medium, bar: u64) -> Option<ChosenDestage> {
        self.update_queue(buffer, medium);
        let fence = self.first_fence();
        let in_order = self.queue.discipline().policy == Policy::Fcfs;
        let spares = fence == u64::MAX && !in_order && buffer.any_may_grow();
        let among = |spares: bool| self.choose_below(fence, spares, now, (buffer, medium), bar);
        let choice = among(spares).or_else(|| if spares { among(false) } else { None })?;
        let (since, destage) = self.queue.chosen_request(&choice);
        Some(ChosenDestage { segment: destage.segment, since, cost: choice.cost, queued: Some(choice) })
    }

    /// Chooses among those below the number `fence`; if it `spares` growing ones, among the others.
    fn choose_below(
        &self,
        fence: u64,
        spares: bool,
        now: Instant,
        (buffer, medium): (&Buffer, &Medium),
        bar: u64,
    ) -> Option<Choice> {
        let admit = move |destage: &Destage| destage.serial < fence && !(spares && buffer.is_growing(destage.segment));
        self.queue.choose_among(admit, now, u64::from(medium.arm().cylinder), &medium.positioning_costs(now), bar)
    }

    /// Updates the queue: removes segments being destaged or gone, adds those that became dirty since.
    fn update_queue(&mut self, buffer: &Buffer, medium: &Medium) {
        if buffer.departures() != self.left {
            self.left = buffer.departures();
            self.queue.retain(|destage| {
                buffer
                    .dirty_state(destage.segment)
                    .is_some_and(|dirty| dirty.serial == destage.serial && !dirty.is_destaging())
            });
        }
        if self.joined == buffer.next_serial() {
            return;
        }
        for (segment, dirty) in buffer.dirty_from_serial(self.joined).filter(|(_, dirty)| !dirty.is_destaging()) {
            let destage = Destage::new(segment, dirty, buffer, medium);
            self.queue.push(dirty.since, u64::from(destage.target.cylinder), destage);
        }
        self.joined = buffer.next_serial();
    }

    /// Removes the chosen segment, which is destaged now.
    pub(super) fn take(&mut self, choice: Choice) {
        self.queue.take(choice);
        // The buffer counts it as left when the destage begins.
        self.left += 1;
    }

    /// Queues the rest of a dirty segment of which a part was destaged.
    pub(super) fn requeue_rest(&mut self, segment: usize, buffer: &Buffer, medium: &Medium) {
        self.queue.retain(|destage| destage.segment != segment);
        let Some(dirty) = buffer.dirty_state(segment).filter(|dirty| dirty.serial < self.joined) else { return };
        let destage = Destage::new(segment, dirty, buffer, medium);
        self.queue.push(dirty.since, u64::from(destage.target.cylinder), destage);
    }

    /// Begins a destage. Returns true if a flush waits.
    pub(super) fn begin_destage(&mut self) -> bool {
        self.for_flush = !self.flushes.is_empty();
        self.for_flush
    }

    /// Ends a destage. Returns true if it was for a flush.
    pub(super) fn end_destage(&mut self) -> bool {
        core::mem::take(&mut self.for_flush)
    }

    /// Starts again with a new buffer, which counts from 0.
    pub(super) fn reset_queue(&mut self) {
        self.queue.clear();
        (self.joined, self.left) = (0, 0);
    }
}
