//! Writing back: the dirty segments in the order in which they go to the medium, and who waits for them: flushes, and
//! writes without room. What is dirty is for the buffer to say, what it costs for the medium.

use alloc::collections::VecDeque;

use super::cache::Buffer;
use super::mechanics::Reach;
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
    /// Its number among all that became dirty.
    serial: u64,
    target: Target,
}

impl Destage {
    fn of(segment: usize, dirty: &DirtySegment, buffer: &Buffer, medium: &Medium) -> Destage {
        let (start, end) = buffer.span(segment);
        let track = medium.track(start);
        let arrived = dirty.pieces.first().map_or(dirty.since, |piece| piece.arrived);
        let target = medium.target(0, &track, (end - start) as u32, true).ready_at(arrived);
        Destage { segment, serial: dirty.serial, target }
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

/// The dirty segment that would be written out next.
pub(super) struct Rival {
    pub(super) segment: usize,
    /// Since when it is dirty.
    pub(super) since: Instant,
    /// Positioning time, in nanoseconds.
    pub(super) cost: u64,
    /// Its place in the queue, if it goes home.
    pub(super) queued: Option<Choice>,
}

/// What is to be written back.
#[derive(Debug)]
pub(super) struct WriteBack {
    /// How long data may be dirty before they compete with the commands.
    age: Option<Span>,
    /// How long a drive without commands waits before it begins to tidy up.
    idle: Span,
    /// Dirty segments that want the medium, as of the last choice among them: those below `joined`, less those that had
    /// `left` by then.
    queue: Queue<Destage>,
    joined: u64,
    left: u64,
    /// Writes that wait for a segment.
    parked: VecDeque<u16>,
    /// Flushes, with the number below which dirty segments must be gone.
    flushes: VecDeque<(u16, u64)>,
    /// What is being written back is so for one of them.
    for_flush: bool,
    /// It goes on because nothing else was to do.
    tidying: bool,
    /// A write found no room; the next gets none before so many runs are free.
    closed: bool,
    room_runs: usize,
    /// The share of turns, in percent, that commands have beside what presses, and what of it they have not had.
    commands_percent: Option<u32>,
    credit: u32,
}

impl WriteBack {
    /// Of a buffer and a firmware with these rules, and a drive of `commands` at once.
    pub(super) fn new(cache: &CacheSpec, firmware: &Firmware, commands: usize) -> WriteBack {
        WriteBack {
            age: cache.destage_age,
            idle: cache.destage_idle,
            queue: Queue::new(firmware.destage, cache.most_dirty() as usize),
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

    // Who waits

    /// A command waits for dirty segments to be written.
    #[inline]
    pub(super) fn is_awaited(&self) -> bool {
        !self.flushes.is_empty() || !self.parked.is_empty()
    }

    /// The first of those that wait, of each kind.
    pub(super) fn first_waiting(&self) -> impl Iterator<Item = u16> {
        self.parked.front().into_iter().chain(self.flushes.front().map(|(slot, _)| slot)).copied()
    }

    /// The command in `slot` waits no longer.
    pub(super) fn drop_out(&mut self, slot: u16) {
        self.parked.retain(|&other| other != slot);
        self.flushes.retain(|&(other, _)| other != slot);
    }

    /// A write waits for room, before all others or behind them.
    pub(super) fn park(&mut self, slot: u16, first: bool) {
        match first {
            true => self.parked.push_front(slot),
            false => self.parked.push_back(slot),
        }
    }

    /// The write that has waited for room longest.
    #[inline]
    pub(super) fn parked(&self) -> Option<u16> {
        self.parked.front().copied()
    }

    /// It has got on.
    pub(super) fn unpark(&mut self) {
        self.parked.pop_front();
    }

    /// A write finds no room. Answers that it waits.
    pub(super) fn closes(&mut self) -> bool {
        self.closed = true;
        true
    }

    /// One found none, and since then not as many runs have come free as another needs.
    pub(super) fn is_closed(&mut self, buffer: &Buffer) -> bool {
        self.closed = self.closed && buffer.dirty_count() > 0 && buffer.free_runs() < self.room_runs;
        self.closed
    }

    /// A flush waits for all dirty segments below the number `fence`.
    pub(super) fn wait(&mut self, slot: u16, fence: u64) {
        self.flushes.push_back((slot, fence));
    }

    /// The next flush that does not wait for a dirty segment any more, the oldest of them having the number `oldest`.
    pub(super) fn pop_flushed(&mut self, oldest: Option<u64>) -> Option<u16> {
        let &(slot, fence) = self.flushes.front()?;
        if oldest.is_some_and(|serial| serial < fence) {
            return None;
        }
        self.flushes.pop_front();
        Some(slot)
    }

    /// The number below which dirty segments must be gone for the first of the flushes; all go without one.
    pub(super) fn first_fence(&self) -> u64 {
        self.flushes.front().map_or(u64::MAX, |&(_, fence)| fence)
    }

    /// The number below which they must be gone for all of the flushes.
    pub(super) fn last_fence(&self) -> u64 {
        self.flushes.back().map_or(0, |&(_, fence)| fence)
    }

    // When

    /// When the oldest dirty segment will have been so for too long.
    #[inline]
    pub(super) fn ages_at(&self, buffer: &Buffer) -> Option<Instant> {
        let age = self.age?;
        buffer.destageable().next().map(|(_, dirty)| dirty.since + age)
    }

    /// How many dirty segments wanted the medium at once.
    pub(super) fn most(&self) -> u32 {
        self.queue.most()
    }

    /// How long a dirty segment waits at most.
    pub(super) fn max_wait(&self) -> Option<Span> {
        self.queue.max_wait()
    }

    /// When the first of the dirty segments has been so for as long as the discipline allows.
    #[inline]
    pub(super) fn due(&self, buffer: &Buffer) -> Option<Instant> {
        let limit = self.max_wait()?;
        buffer.destageable().next().map(|(_, dirty)| dirty.since + limit)
    }

    /// When the oldest dirty segment will press by its age alone.
    pub(super) fn presses_at(&self, buffer: &Buffer) -> Option<Instant> {
        // Over its limit is later than at it.
        let due = self.due(buffer).map(|due| due + Span::from_nanos(1));
        self.ages_at(buffer).into_iter().chain(due).min()
    }

    /// A command comes: it has something else to do than to tidy up.
    #[inline]
    pub(super) fn disturb(&mut self) {
        self.tidying = false;
    }

    /// It tidies up, or does what presses.
    pub(super) fn tidy(&mut self, tidying: bool) {
        self.tidying = tidying;
    }

    /// When it goes on tidying up, or begins to, with the medium free from `free` on and no commands since `quiet`.
    pub(super) fn tidies_at(&self, free: Instant, quiet: Instant) -> Instant {
        match self.tidying {
            true => free,
            false => free.max(free.max(quiet) + self.idle),
        }
    }

    /// Commands have a share of the turns, whatever things cost.
    pub(super) fn shares_turns(&self) -> bool {
        self.commands_percent.is_some()
    }

    /// Whether the next turn is the commands' by their share; nothing where that does not decide.
    pub(super) fn turn_is_commands(&self) -> Option<bool> {
        self.commands_percent.map(|percent| self.credit + percent >= 100)
    }

    /// A turn for which commands and what presses competed was, or was not, the commands'.
    pub(super) fn turn_was(&mut self, commands: bool) {
        let credit = self.credit + self.commands_percent.unwrap_or(0);
        // Turns by a limit of waiting are not made up for beyond the next.
        self.credit = if commands { credit.saturating_sub(100) } else { credit.min(100) };
    }

    // Which

    /// The dirty segment to write out next. Segments that a flush waits for go before; those that a stream of writes
    /// still fills come last, except in the order of arrival: a part of one written now leaves the next write a revolution
    /// behind. One that costs `bar` or more may stand for all that do.
    pub(super) fn choose(&mut self, now: Instant, buffer: &Buffer, medium: &Medium, bar: u64) -> Option<Rival> {
        self.sort_out(buffer, medium);
        let fence = self.first_fence();
        let in_order = self.queue.discipline().policy == Policy::Fcfs;
        let spares = fence == u64::MAX && !in_order && buffer.any_may_grow();
        let among = |spares: bool| self.choose_below(fence, spares, now, (buffer, medium), bar);
        let choice = among(spares).or_else(|| if spares { among(false) } else { None })?;
        let (since, destage) = self.queue.chosen(&choice);
        Some(Rival { segment: destage.segment, since, cost: choice.cost, queued: Some(choice) })
    }

    /// The next of those below the number `fence`, and, where it spares them, of those that do not grow.
    fn choose_below(
        &self,
        fence: u64,
        spares: bool,
        now: Instant,
        (buffer, medium): (&Buffer, &Medium),
        bar: u64,
    ) -> Option<Choice> {
        let admit = move |destage: &Destage| destage.serial < fence && !(spares && buffer.is_growing(destage.segment));
        self.queue.choose_among(admit, now, u64::from(medium.arm().cylinder), &medium.reach(now), bar)
    }

    /// Brings the queue up to date: those that are being written or gone leave it, those that became dirty since join it.
    fn sort_out(&mut self, buffer: &Buffer, medium: &Medium) {
        if buffer.left() != self.left {
            self.left = buffer.left();
            self.queue.retain(|destage| {
                buffer.dirty(destage.segment).is_some_and(|dirty| dirty.serial == destage.serial && !dirty.is_leaving())
            });
        }
        if self.joined == buffer.next_serial() {
            return;
        }
        for (segment, dirty) in buffer.dirty_from(self.joined).filter(|(_, dirty)| !dirty.is_leaving()) {
            let destage = Destage::of(segment, dirty, buffer, medium);
            self.queue.push(dirty.since, u64::from(destage.target.cylinder), destage);
        }
        self.joined = buffer.next_serial();
    }

    /// What was chosen goes to the medium.
    pub(super) fn take(&mut self, choice: Choice) {
        self.queue.take(choice);
        // It leaves the buffer's dirty ones now.
        self.left += 1;
    }

    /// The rest of a dirty segment, part of which was written out, waits again.
    pub(super) fn rejoin(&mut self, segment: usize, buffer: &Buffer, medium: &Medium) {
        self.queue.retain(|destage| destage.segment != segment);
        let Some(dirty) = buffer.dirty(segment).filter(|dirty| dirty.serial < self.joined) else { return };
        let destage = Destage::of(segment, dirty, buffer, medium);
        self.queue.push(dirty.since, u64::from(destage.target.cylinder), destage);
    }

    /// A dirty segment goes to the medium. Answers whether a flush waits for it.
    pub(super) fn begin(&mut self) -> bool {
        self.for_flush = !self.flushes.is_empty();
        self.for_flush
    }

    /// It is there. Answers whether it went for a flush.
    pub(super) fn end(&mut self) -> bool {
        core::mem::take(&mut self.for_flush)
    }

    /// The buffer is new and counts from nought.
    pub(super) fn start_over(&mut self) {
        self.queue.clear();
        (self.joined, self.left) = (0, 0);
    }
}
