//! A driver that caches a whole disk in the host's memory, above the driver proper. Reads of cached data and writes end
//! in memory; dirty data are written to the disk in the background. [`AcceleratorSpec`] has its settings.
//!
//! | request | treatment |
//! |---|---|
//! | a read that is cached as a whole | ends after `hit` |
//! | another read | goes down, and its data are cached; after a sequential read the cache may read ahead, if nothing else is in flight |
//! | a write | ends after `hit`, as soon as there is room |
//! | FUA, zeroes, a trim, *ordered*, longer than the cache, or a write without write-back | goes past the cache, once dirty data of its sectors are written; overlapping requests wait for it |
//! | a flush | goes down once everything that was dirty is written, or ends after `hit` if flushes are dropped |
//!
//! Dirty data are written in runs of neighbours, the longest dirty first. While a request waits for them, up to
//! [`MAX_RUNS`] runs are in flight, and the driver below decides their order. In the background one run at a time is
//! written, if nothing has been in flight for `idle`, if data have been dirty for `dirty_age`, or if more than
//! `dirty_share` of the cache is dirty.
//!
//! A run that fails becomes dirty again and is tried again, up to [`TRIES`] times. Then its data are given up, as an
//! operating system gives up a page that it cannot write: reads find them as long as they stay in memory, and the error
//! is reported with the next flush or, if flushes are dropped, with the next write. A request that comes back aborted
//! without an abort from above is sent again, as a driver does: on an ATA queue the cache's own read-ahead may have failed.
//!
//! Memory is volatile: a cut loses all dirty data, and the landings say so. An orderly power-off writes them first. A
//! reset ends the requests from above; the cache's own commands go on.
//!
//! Waiting in the cache counts as *driver*. The next request that ends is charged for the processor's work on the
//! cache's own commands. The processor copies the bytes that go through the cache ([`Effort::copied`]), so without a
//! processor they take no time.
//!
//! Not modelled: adaptive sizes, prefetches of several streams at once, a cache that survives a power-off.

mod pages;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use self::pages::{CachePages, DirtyMark, FlushCount, PAGE, SectorRange, StampedSector};
use super::layer::{self, HostLayer, LayeredDevice, NextTurn};
use crate::block::assurance::{Assurance, BrokenPromise};
use crate::block::setting::LayerSetting;
use crate::block::{Completion, Control, ControlError, Device, Flags, Limits, Op, Request, SECTOR, Status};
use crate::record::{Effort, Part};
use crate::time::{Instant, Span};

/// Runs written at once while a request waits for them: as many commands as a drive of the field queues.
pub const MAX_RUNS: usize = 32;

/// The largest run in sectors: 128 KiB, the most that an ATA command of 28 bits transfers.
const MAX_RUN_SECTORS: u32 = 256;

/// How often a run is written before its data are given up: as often as Linux tries a disk command (`SD_MAX_RETRIES`,
/// drivers/scsi/sd.h).
pub const TRIES: u8 = 5;

/// The weight of an error relative to an abort. An abort is due to another command, so a run may see far more of them;
/// but a device that only ever aborts must come to an end as well.
const ERROR_WEIGHT: u8 = 40;

/// The bit that marks tags of the cache's own commands. Other tags are slots.
const OWN_TAGS: u32 = 1 << 31;

/// How many sequential readers are told apart: as many streams as a drive of the field follows.
const STREAMS: usize = 8;

/// The settings of an accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AcceleratorSpec {
    /// In bytes.
    pub size: u64,
    /// The time to find a request's pages, before any copying; more than zero.
    pub hit: Span,
    /// Writes end in memory.
    pub write_back: bool,
    /// Drops flushes and forced unit access.
    pub drops_flushes: bool,
    /// The share of the cache, in thousandths, that may be dirty before it is written for that reason alone.
    pub dirty_share: u32,
    /// Data that have been dirty for this long are written.
    pub dirty_age: Span,
    /// Dirty data are written when nothing has come or gone for this long.
    pub idle: Span,
    /// Sectors read ahead for a sequential reader.
    pub read_ahead: u32,
}

impl AcceleratorSpec {
    /// The promises that its settings break, if a cut loses data that it or a device below holds.
    pub(crate) fn broken_promises(&self) -> Vec<BrokenPromise> {
        let broken: &[Assurance] = if self.drops_flushes { &[Assurance::Flush, Assurance::Fua] } else { &[] };
        BrokenPromise::for_setting("flush", "drop", broken)
    }
}

/// The cache's own data on a request from above.
#[derive(Clone, Copy, Default)]
pub struct CacheNote {
    is_below: bool,
}

type HeldCacheRequest = layer::HeldRequest<CacheNote>;

type AcceleratorContext = layer::HostLayerContext<Accelerator>;

/// A command of the cache itself.
#[derive(Clone, Copy, PartialEq, Eq)]
struct CacheCommand {
    range: SectorRange,
    /// `None` for a read-ahead.
    write: Option<RunWrite>,
}

/// A write of a dirty run.
#[derive(Clone, Copy, PartialEq, Eq)]
struct RunWrite {
    stamp: u64,
    /// The flush count at which its oldest sector became dirty.
    dirty_since: FlushCount,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CachePower {
    On,
    /// Writes its dirty data before the power goes.
    Closing,
    Off,
}

/// The cache. Requests are known by their slots in its queues.
#[derive(Clone)]
pub struct Accelerator {
    spec: AcceleratorSpec,
    limits: Limits,
    pages: CachePages,
    /// The most unclean pages before they are written for that reason alone.
    max_unclean_pages: u32,
    /// Requests that end in memory, by when they complete; rising.
    ending_in_memory: VecDeque<(Instant, u32)>,
    /// Writes that wait for room.
    waiting_for_room: VecDeque<u32>,
    /// Requests that wait for an overlapping request or read-ahead.
    blocked_by_overlap: VecDeque<u32>,
    /// Requests that go past the cache, until they end; overlapping requests wait.
    past_cache: Vec<u32>,
    /// Requests of `past_cache` that wait until dirty data of their range are written.
    waiting_for_clean: VecDeque<u32>,
    /// Flushes that wait for dirty data, each with the flush count before it.
    flushes: VecDeque<(u32, FlushCount)>,
    flush_count: FlushCount,
    /// Requests that go down as soon as the device has room.
    outbox: VecDeque<u32>,
    /// Commands in flight, by the index in their tag.
    own_commands: Vec<Option<CacheCommand>>,
    runs_in_flight: usize,
    read_ahead_in_flight: Option<SectorRange>,
    planned_read_ahead: Option<SectorRange>,
    /// Where sequential readers stopped, and which of them is replaced next.
    reader_ends: [u64; STREAMS],
    oldest_reader: usize,
    /// Commands below, those from above included.
    commands_below: u32,
    /// The last command was the cache's own.
    last_was_own: bool,
    /// When a request last came or ended.
    last_activity: Instant,
    /// Effort of the cache's own commands, not yet charged to a request.
    uncharged_effort: Effort,
    /// Data were given up, and no request has reported it yet.
    has_pending_loss: bool,
    power: CachePower,
}

fn request_range(request: &Request) -> SectorRange {
    SectorRange { lba: request.lba, end: request.end() }
}

impl Accelerator {
    /// A cache above `below`.
    pub fn build_above(spec: AcceleratorSpec, below: Box<dyn Device>) -> LayeredDevice<Accelerator> {
        let limits = below.limits(0);
        let pages = u32::try_from(spec.size / (PAGE * SECTOR)).unwrap_or(u32::MAX - 1).max(1);
        let max_unclean_pages = u64::from(pages) * u64::from(spec.dirty_share) / 1000;
        let accelerator = Accelerator {
            limits,
            pages: CachePages::new(pages),
            max_unclean_pages: max_unclean_pages as u32,
            ending_in_memory: VecDeque::new(),
            waiting_for_room: VecDeque::new(),
            blocked_by_overlap: VecDeque::new(),
            past_cache: Vec::new(),
            waiting_for_clean: VecDeque::new(),
            flushes: VecDeque::new(),
            flush_count: 0,
            outbox: VecDeque::new(),
            own_commands: alloc::vec![None; MAX_RUNS + 1],
            runs_in_flight: 0,
            read_ahead_in_flight: None,
            planned_read_ahead: None,
            reader_ends: [u64::MAX; STREAMS],
            oldest_reader: 0,
            commands_below: 0,
            last_was_own: false,
            last_activity: Instant::ZERO,
            uncharged_effort: Effort::default(),
            has_pending_loss: false,
            power: CachePower::On,
            spec,
        };
        LayeredDevice::new(accelerator, limits.depth.max(1), below)
    }

    // ---- requests from above

    /// Decides how to treat the request in `slot`.
    fn route_request(&mut self, context: &mut AcceleratorContext, now: Instant, slot: u32) {
        let request = context.slots[slot].request;
        let range = request_range(&request);
        if request.op == Op::Flush {
            return self.accept_flush(now, slot);
        }
        if request.unit > 0 || request.sectors == 0 || request.end() > self.limits.sectors {
            return self.outbox.push_back(slot);
        }
        let is_locked =
            self.past_cache.iter().any(|&other| request_range(&context.slots[other].request).overlaps(range));
        if is_locked || self.read_ahead_in_flight.is_some_and(|ahead| ahead.overlaps(range)) {
            return self.blocked_by_overlap.push_back(slot);
        }
        let is_plain = [Flags::FUA, Flags::ORDERED, Flags::HEAD_OF_QUEUE].iter().all(|&flag| !request.flags.has(flag));
        match request.op {
            Op::Read if is_plain => self.accept_read(now, slot, range),
            Op::Write if is_plain && self.spec.write_back && self.pages.fits_at_all(range) => {
                self.waiting_for_room.push_back(slot);
                self.complete_writes_with_room(context, now);
            }
            _ => {
                self.past_cache.push(slot);
                match self.pages.is_range_clean(range) {
                    true => self.queue_past_cache(context, slot),
                    false => self.waiting_for_clean.push_back(slot),
                }
            }
        }
    }

    /// Holds a flush until everything dirty is written, or ends it in memory if flushes are dropped.
    fn accept_flush(&mut self, now: Instant, slot: u32) {
        if self.spec.drops_flushes {
            return self.ending_in_memory.push_back((now + self.spec.hit, slot));
        }
        self.flush_count += 1;
        self.flushes.push_back((slot, self.flush_count - 1));
        self.queue_ready_flushes();
    }

    /// Ends a read in memory if it is cached, else sends it down; plans the read-ahead.
    fn accept_read(&mut self, now: Instant, slot: u32, range: SectorRange) {
        match self.pages.touch_if_cached(range) {
            true => self.ending_in_memory.push_back((now + self.spec.hit, slot)),
            false => self.outbox.push_back(slot),
        }
        self.plan_read_ahead(range);
    }

    /// Notes where a reader stopped. If the read was sequential, plans a read-ahead after it.
    fn plan_read_ahead(&mut self, range: SectorRange) {
        if self.spec.read_ahead == 0 {
            return;
        }
        let Some(reader) = self.reader_ends.iter().position(|&end| end == range.lba) else {
            self.reader_ends[self.oldest_reader] = range.end;
            self.oldest_reader = (self.oldest_reader + 1) % STREAMS;
            return;
        };
        self.reader_ends[reader] = range.end;
        let length = u64::from(self.spec.read_ahead);
        let window = SectorRange { lba: range.end, end: (range.end + length).min(self.limits.sectors) };
        let first = self.pages.first_uncached_sector(window);
        // A read-ahead waits until half of its length is used up, so that it is worth a command.
        if first - window.lba <= length / 2 && first < window.end {
            let end = window.end.min(first + u64::from(self.limits.max_transfer));
            self.planned_read_ahead = Some(SectorRange { lba: first, end });
        }
    }

    /// Completes waiting writes in memory while there is room.
    fn complete_writes_with_room(&mut self, context: &mut AcceleratorContext, now: Instant) {
        while let Some(&slot) = self.waiting_for_room.front() {
            let request = context.slots[slot].request;
            if !self.pages.has_room_for(request_range(&request)) {
                return;
            }
            self.waiting_for_room.pop_front();
            let dirty_since = DirtyMark { at: now, flush_count: self.flush_count };
            self.pages.store_write(
                request_range(&request),
                request.stamp,
                dirty_since,
                |StampedSector { lba, stamp }| {
                    context.landings.report_discarded(now, lba, lba + 1, stamp);
                },
            );
            self.ending_in_memory.push_back((now + self.spec.hit, slot));
        }
    }

    /// Queues a request that goes past the cache, now that its range is clean.
    fn queue_past_cache(&mut self, context: &AcceleratorContext, slot: u32) {
        let request = context.slots[slot].request;
        if request.op != Op::Read {
            self.pages.invalidate_range(request_range(&request));
        }
        self.outbox.push_back(slot);
    }

    /// Queues the flushes before which no data are dirty or being written any more.
    fn queue_ready_flushes(&mut self) {
        while let Some(&(slot, flush_count)) = self.flushes.front() {
            let is_dirty = self.pages.oldest_dirty_mark().is_some_and(|mark| mark.flush_count <= flush_count);
            let mut writes = self.own_commands.iter().flatten().filter_map(|own| own.write);
            if is_dirty || writes.any(|write| write.dirty_since <= flush_count) {
                return;
            }
            self.flushes.pop_front();
            self.outbox.push_back(slot);
        }
    }

    /// Continues requests whose range is clean, flushes whose data are written, and writes for which there is room.
    fn resume_waiting(&mut self, context: &mut AcceleratorContext, now: Instant) {
        for _ in 0..self.waiting_for_clean.len() {
            let slot = self.waiting_for_clean.pop_front().expect("as many as counted");
            let range = request_range(&context.slots[slot].request);
            match self.pages.is_range_clean(range) {
                true => self.queue_past_cache(context, slot),
                false => self.waiting_for_clean.push_back(slot),
            }
        }
        self.queue_ready_flushes();
        self.complete_writes_with_room(context, now);
    }

    /// Routes blocked requests again, after an overlapping request has ended.
    fn reroute_blocked(&mut self, context: &mut AcceleratorContext, now: Instant) {
        for _ in 0..self.blocked_by_overlap.len() {
            let slot = self.blocked_by_overlap.pop_front().expect("as many as counted");
            self.route_request(context, now, slot);
        }
    }

    // ---- commands to the device below

    /// The most sectors of a run.
    fn max_run_sectors(&self) -> u64 {
        u64::from(MAX_RUN_SECTORS.min(self.limits.max_transfer))
    }

    /// The next run that a request waits for, or the power-off.
    fn next_run_waited_for(&self, context: &AcceleratorContext) -> Option<SectorRange> {
        for &slot in &self.waiting_for_clean {
            let range = request_range(&context.slots[slot].request);
            if let Some(run) = self.pages.next_dirty_run_in(range, self.max_run_sectors()) {
                return Some(run);
            }
        }
        let oldest = self.pages.oldest_dirty_mark()?.flush_count;
        let flush_waits = self.flushes.front().is_some_and(|&(_, flush_count)| oldest <= flush_count);
        let all_wait = self.power == CachePower::Closing || !self.waiting_for_room.is_empty();
        if flush_waits || all_wait { self.pages.next_dirty_run(self.max_run_sectors()) } else { None }
    }

    /// When to write the next run, for a waiting request or in the background.
    fn next_run_due(&self, context: &AcceleratorContext) -> Instant {
        let has_room = self.commands_below < self.limits.depth && self.runs_in_flight < MAX_RUNS;
        let Some(oldest) = self.pages.oldest_dirty_mark().filter(|_| has_room) else { return Instant::FAR };
        if self.next_run_waited_for(context).is_some() {
            return Instant::ZERO;
        }
        if self.runs_in_flight > 0 || self.pages.next_dirty_run(PAGE).is_none() {
            return Instant::FAR;
        }
        if self.pages.unclean_pages() > self.max_unclean_pages {
            return Instant::ZERO;
        }
        let idle = if context.in_flight() == 0 { self.last_activity + self.spec.idle } else { Instant::FAR };
        idle.min(oldest.at + self.spec.dirty_age)
    }

    /// Sends a command down, if there is one and the device has room; true if it sent one. The cache's own commands and
    /// those from above take turns.
    fn try_send_command(&mut self, context: &mut AcceleratorContext, now: Instant) -> bool {
        if self.commands_below >= self.limits.depth {
            return false;
        }
        let run_is_due = self.next_run_due(context) <= now;
        self.last_was_own = run_is_due && (self.outbox.is_empty() || !self.last_was_own);
        if self.last_was_own {
            self.write_next_run(context, now);
        } else if let Some(slot) = self.outbox.pop_front() {
            context.slots[slot].note.is_below = true;
            self.commands_below += 1;
            let Request { op, unit, stamp, lba, .. } = context.slots[slot].request;
            if matches!(op, Op::Write | Op::WriteZeroes) && unit == 0 {
                // A run with the stamp may have held other writes of these blocks.
                context.landings.note_carried(stamp, stamp, lba, context.slots[slot].request.end());
            }
            context.pass_down(now, slot);
        } else if let Some(range) = self.planned_read_ahead.take() {
            self.read_ahead_if_alone(context, now, range);
        } else {
            return false;
        }
        true
    }

    /// Sends down a command of the cache itself.
    fn submit_own_command(&mut self, context: &mut AcceleratorContext, now: Instant, command: CacheCommand) {
        let index = self.own_commands.iter().position(Option::is_none).expect("fewer than there are places");
        self.own_commands[index] = Some(command);
        let (lba, sectors) = (command.range.lba, (command.range.end - command.range.lba) as u32);
        let (op, stamp) = command.write.map_or((Op::Read, 0), |write| (Op::Write, write.stamp));
        let tag = OWN_TAGS + index as u32;
        self.commands_below += 1;
        context.submit_below(now, Request { tag, unit: 0, origin: 0, op, flags: Flags::NONE, lba, sectors, stamp });
    }

    /// Writes the run that is due, under the largest stamp of its sectors.
    fn write_next_run(&mut self, context: &mut AcceleratorContext, now: Instant) {
        let in_background = || self.pages.next_dirty_run(self.max_run_sectors());
        let run = self.next_run_waited_for(context).or_else(in_background).expect("a run is due");
        let stamp = self.pages.stamped_sectors(run).map(|sector| sector.stamp).max().unwrap_or(0);
        if context.landings.are_wanted() {
            for sector in self.pages.stamped_sectors(run) {
                context.landings.note_carried(stamp, sector.stamp, sector.lba, sector.lba + 1);
            }
        }
        let dirty_since = self.pages.begin_write(run);
        self.runs_in_flight += 1;
        let write = Some(RunWrite { stamp, dirty_since });
        self.submit_own_command(context, now, CacheCommand { range: run, write });
    }

    /// Reads ahead if the reader is alone. Otherwise a read-ahead would delay other requests, or read data that another
    /// command reads already.
    fn read_ahead_if_alone(&mut self, context: &mut AcceleratorContext, now: Instant, range: SectorRange) {
        let is_alone = context.in_flight() <= 1 && self.past_cache.is_empty() && self.read_ahead_in_flight.is_none();
        if is_alone && self.power == CachePower::On {
            self.read_ahead_in_flight = Some(range);
            self.submit_own_command(context, now, CacheCommand { range, write: None });
        }
    }

    // ---- completions from below

    /// Handles the completion of the cache's own command `index`: a read-ahead, or a run.
    fn finish_own_command(&mut self, context: &mut AcceleratorContext, index: usize, completion: &Completion) {
        let CacheCommand { range, write } = self.own_commands[index].take().expect("a command of the cache's own");
        let now = completion.finished;
        self.uncharged_effort.add(&completion.effort);
        let Some(write) = write else {
            self.read_ahead_in_flight = self.read_ahead_in_flight.filter(|&ahead| ahead != range);
            if completion.status == Status::Done {
                self.pages.insert_clean(range);
            }
            return self.reroute_blocked(context, now);
        };
        self.runs_in_flight -= 1;
        match completion.status {
            Status::Done => self.pages.end_write(range),
            status => self.retry_or_drop_run(context, now, range, write, status),
        }
        self.resume_waiting(context, now);
    }

    /// Makes a run dirty again that was aborted or failed below, or gives its data up after the last try.
    fn retry_or_drop_run(
        &mut self,
        context: &mut AcceleratorContext,
        now: Instant,
        run: SectorRange,
        write: RunWrite,
        status: Status,
    ) {
        if context.landings.are_wanted() {
            for StampedSector { lba, .. } in self.pages.overwritten_sectors(run) {
                context.landings.report_superseded(now, write.stamp, lba);
            }
            context.landings.withdraw_range(write.stamp, run.lba, run.end);
        }
        let weight = if status == Status::Aborted { 1 } else { ERROR_WEIGHT };
        if self.pages.add_failure(run, weight) < TRIES * ERROR_WEIGHT {
            return self.pages.mark_dirty_again(run, write.dirty_since);
        }
        for StampedSector { lba, stamp } in self.pages.sectors_not_overwritten(run) {
            context.landings.report_discarded(now, lba, lba + 1, stamp);
        }
        self.has_pending_loss = true;
        self.pages.end_write(run);
    }

    /// Handles the completion of a request that went down: answers it, or sends it again if it was aborted with another.
    fn finish_passed_request(&mut self, context: &mut AcceleratorContext, completion: &Completion) {
        let (slot, now) = (completion.tag, completion.finished);
        let held = &mut context.slots[slot];
        if completion.status != Status::Done {
            let Request { stamp, lba, .. } = held.request;
            context.landings.withdraw_range(stamp, lba, held.request.end());
        }
        if (completion.status, held.status) == (Status::Aborted, Status::Done) {
            held.account_mut().effort.add(&completion.effort);
            held.note.is_below = false;
            return self.outbox.push_back(slot);
        }
        context.book_completion(slot, completion);
        let request = context.slots[slot].request;
        let moved = matches!(request.op, Op::Read | Op::Write) && completion.status == Status::Done;
        if moved && request.unit == 0 && self.power != CachePower::Off {
            self.pages.insert_clean(request_range(&request));
        }
        let locked = self.past_cache.iter().position(|&other| other == slot);
        if let Some(index) = locked {
            self.past_cache.swap_remove(index);
        }
        self.answer_request(context, now, slot, completion.status);
        if locked.is_some() {
            self.reroute_blocked(context, now);
        }
    }

    /// Answers the request in `slot`, charged with its copying and the cache's own work.
    fn answer_request(&mut self, context: &mut AcceleratorContext, now: Instant, slot: u32, status: Status) {
        let op = context.slots[slot].request.op;
        let status = self.report_pending_loss(op, status);
        self.charge_background_effort(now, &mut context.slots[slot]);
        if matches!(op, Op::Read | Op::Write) && status == Status::Done {
            let held = &mut context.slots[slot];
            let (sectors, effort) = (held.request.sectors, &mut held.account_mut().effort);
            effort.copied = effort.copied.saturating_add(sectors);
        }
        context.answer_request(now, slot, status);
    }

    /// Charges a request that ends at `now` with the effort of the cache's own commands since the last one.
    fn charge_background_effort(&mut self, now: Instant, held: &mut HeldCacheRequest) {
        held.account_mut().effort.add(&core::mem::take(&mut self.uncharged_effort));
        self.last_activity = now;
    }

    /// Returns `status`, or an error if data were given up and a request with this `op` is the one to report it.
    fn report_pending_loss(&mut self, op: Op, status: Status) -> Status {
        let reports = if self.spec.drops_flushes { Op::Write } else { Op::Flush };
        if status == Status::Done && op == reports && core::mem::take(&mut self.has_pending_loss) {
            return Status::MediumError;
        }
        status
    }

    /// Switches the power off if it is to go off and nothing is left to do.
    fn power_off_if_idle(&mut self, context: &mut AcceleratorContext, now: Instant) {
        let is_idle = context.in_flight() == 0
            && self.pages.unclean_pages() == 0
            && self.own_commands.iter().all(Option::is_none);
        if self.power == CachePower::Closing && is_idle {
            self.switch_off_and_clear();
            context.control_below(now, &Control::PowerOff).expect("a power-off is never refused");
        }
    }

    /// Switches off and empties the memory.
    fn switch_off_and_clear(&mut self) {
        self.power = CachePower::Off;
        self.pages.clear();
        self.planned_read_ahead = None;
        self.reader_ends = [u64::MAX; STREAMS];
    }

    // ---- controls

    /// Aborts the requests from above. The cache's own commands go on.
    fn abort_all_requests(&mut self, context: &mut AcceleratorContext, now: Instant) -> Result<(), ControlError> {
        for slot in self.held_slots(context) {
            context.withdraw_and_answer(self, now, slot, Status::Aborted);
        }
        let slots_below: Vec<u32> = context.unanswered_slots().collect();
        slots_below.iter().for_each(|&slot| context.slots[slot].status = Status::Aborted);
        for slot in slots_below {
            if context.is_unanswered(slot) {
                context.control_below(now, &Control::Abort(slot))?;
                context.collect_completions(self);
            }
        }
        Ok(())
    }

    /// Loses all dirty data, and cuts the power of the device below.
    fn cut_power(&mut self, context: &mut AcceleratorContext, now: Instant) -> Result<(), ControlError> {
        self.power = CachePower::Off;
        // Commands may return when the power is on again. Without a range they have no effect then.
        self.own_commands
            .iter_mut()
            .flatten()
            .for_each(|own| *own = CacheCommand { range: SectorRange { lba: 0, end: 0 }, write: None });
        (self.runs_in_flight, self.read_ahead_in_flight) = (0, None);
        let done = context.apply_default_control(self, now, &Control::PowerCut);
        context.collect_completions(self);
        context.landings.report_all_lost(now);
        for StampedSector { lba, stamp } in self.pages.dirty_sectors() {
            context.landings.report_discarded(now, lba, lba + 1, stamp);
        }
        self.switch_off_and_clear();
        done
    }
}

impl HostLayer for Accelerator {
    type Note = CacheNote;
    const PART: Part = Part::Driver;

    fn limits(&self, max_in_flight: u32, below: Limits) -> Limits {
        Limits {
            depth: below.depth.min(max_in_flight),
            volatile_cache: below.volatile_cache || self.spec.write_back,
            ..below
        }
    }

    fn accept_request(&mut self, context: &mut AcceleratorContext, now: Instant, slot: u32) -> NextTurn {
        let request = &mut context.slots[slot].request;
        if self.spec.drops_flushes {
            request.flags = request.flags.without(Flags::FUA);
        }
        self.last_activity = now;
        match self.power {
            CachePower::On => self.route_request(context, now, slot),
            CachePower::Closing | CachePower::Off => self.answer_request(context, now, slot, Status::PowerLost),
        }
        now
    }

    fn handle_completion(&mut self, context: &mut AcceleratorContext, completion: &mut Completion) -> NextTurn {
        self.commands_below -= 1;
        match completion.tag.checked_sub(OWN_TAGS) {
            Some(index) => self.finish_own_command(context, index as usize, completion),
            None => self.finish_passed_request(context, completion),
        }
        completion.finished
    }

    fn run_due_work(&mut self, context: &mut AcceleratorContext, now: Instant) -> NextTurn {
        while let Some(&(_, slot)) = self.ending_in_memory.front().filter(|&&(at, _)| at <= now) {
            self.ending_in_memory.pop_front();
            self.answer_request(context, now, slot, Status::Done);
        }
        self.power_off_if_idle(context, now);
        if self.try_send_command(context, now) {
            return now;
        }
        let answer = self.ending_in_memory.front().map_or(Instant::FAR, |&(at, _)| at);
        answer.min(self.next_run_due(context))
    }

    fn held_slots(&self, context: &AcceleratorContext) -> Vec<u32> {
        context.unanswered_slots().filter(|&slot| !context.slots[slot].note.is_below).collect()
    }

    fn withdraw_request(&mut self, context: &mut AcceleratorContext, now: Instant, slot: u32, status: Status) -> bool {
        if context.slots[slot].note.is_below {
            context.slots[slot].status = status;
            return false;
        }
        for queue in
            [&mut self.waiting_for_room, &mut self.blocked_by_overlap, &mut self.waiting_for_clean, &mut self.outbox]
        {
            queue.retain(|&other| other != slot);
        }
        self.ending_in_memory.retain(|&(_, other)| other != slot);
        self.flushes.retain(|&(other, _)| other != slot);
        self.past_cache.retain(|&other| other != slot);
        self.charge_background_effort(now, &mut context.slots[slot]);
        true
    }

    fn report_unsettled(&self, context: &AcceleratorContext, report_stamp: &mut dyn FnMut(u64)) {
        self.pages.dirty_sectors().for_each(|sector| report_stamp(sector.stamp));
        context.report_unsettled_below(report_stamp);
    }

    fn change_setting(
        &mut self,
        context: &mut AcceleratorContext,
        _: Instant,
        setting: LayerSetting,
    ) -> Option<Result<(), ControlError>> {
        match setting {
            LayerSetting::Accelerator { number, drops_flushes } if number == context.layer_number() => {
                self.spec.drops_flushes = drops_flushes;
                Some(Ok(()))
            }
            _ => None,
        }
    }

    fn apply_control(
        &mut self,
        context: &mut AcceleratorContext,
        now: Instant,
        control: &Control,
    ) -> Result<(), ControlError> {
        let done = match *control {
            Control::Reset => self.abort_all_requests(context, now),
            Control::PowerCut => self.cut_power(context, now),
            Control::PowerOff if self.power != CachePower::Off => {
                (self.power, self.planned_read_ahead) = (CachePower::Closing, None);
                Ok(())
            }
            _ => {
                if *control == Control::PowerOn {
                    self.power = CachePower::On;
                }
                context.apply_default_control(self, now, control)
            }
        };
        context.collect_completions(self);
        self.reroute_blocked(context, now);
        self.resume_waiting(context, now);
        done
    }
}
