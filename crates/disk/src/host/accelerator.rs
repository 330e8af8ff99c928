//! A driver that caches a whole disk in the host's memory, above the driver proper. Reads of cached data and writes end
//! in memory; the data are written to the disk in the background.
//!
//! | request | treatment |
//! |---|---|
//! | a read that is cached as a whole | ends after `hit` |
//! | another read | goes down, and its data are kept; after a sequential read the cache may read ahead, if nothing else is in flight |
//! | a write | ends after `hit`, as soon as there is room |
//! | FUA, zeroes, a trim, *ordered*, longer than the cache, or a write without write-back | goes down after its sectors' dirty data; others wait |
//! | a flush | goes down once everything that was dirty is written, or ends after `hit` if flushes are dropped |
//!
//! Dirty data are written in runs of neighbours, the longest dirty first: one run at a time when nothing has been in
//! flight for `idle`, when data have been dirty for `dirty_age`, or when more than `dirty_share` of the cache is dirty;
//! [`RUNS`] at a time while a request waits for them. The driver below decides their order.
//!
//! A run that fails becomes dirty again and is tried again, up to [`TRIES`] times. Then its data are given up, as an
//! operating system gives up a page that it cannot write: reads find them as long as they stay in memory, and the error
//! is reported with the next flush or, if flushes are dropped, with the next write. A request that comes back aborted
//! without an abort from above is sent again, as a driver does: on an ATA queue the cache's own read-ahead may have failed.
//!
//! Memory is volatile: a cut loses all dirty data, and the landings say so. An orderly power-off writes them first. A
//! reset ends the requests from above; the cache's own commands go on. Waiting here counts as *driver*. Background work
//! costs the processor too: the next request that ends is charged for it. The processor copies the bytes that go
//! through the cache ([`Effort::copied`]), so without a processor they take no time.
//!
//! Not modelled: adaptive sizes, prefetches of several streams at once, a cache that survives a power-off.

mod pages;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use self::pages::{CachePages, PAGE, SectorRange};
use super::layer::{self, HostLayer, LayeredDevice};
use crate::block::assurance::{Assurance, BrokenPromise};
use crate::block::setting::LayerSetting;
use crate::block::{Completion, Control, ControlError, Device, Flags, Limits, Op, Request, SECTOR, Status};
use crate::record::{Effort, Part};
use crate::time::{Instant, Span};

/// Runs written at once while a request waits for them: as many commands as a drive of the field queues.
pub const RUNS: usize = 32;

/// The largest run in sectors: 128 KiB, the most that an ATA command of 28 bits transfers.
const RUN: u32 = 256;

/// How often a run is written before its data are given up: as often as Linux tries a disk command (`SD_MAX_RETRIES`,
/// drivers/scsi/sd.h).
pub const TRIES: u8 = 5;

/// The weight of an error relative to an abort. An abort is due to another command, so a run may see far more of them;
/// but a device that only ever aborts must come to an end as well.
const ERROR: u8 = 40;

/// The bit that marks tags of the cache's own commands. Other tags are slots.
const OWN: u32 = 1 << 31;

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

/// A request from above; its note says whether it is below.
type CacheRequest = layer::HeldRequest<bool>;

type AcceleratorContext = layer::HostLayerContext<Accelerator>;

/// A command of the cache itself.
#[derive(Clone, Copy, PartialEq, Eq)]
struct CacheCommand {
    range: SectorRange,
    /// For a run being written: its stamp, and the flush count when it became dirty. `None` for a read-ahead.
    run: Option<(u64, u64)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CachePower {
    On,
    /// Writes its dirty data before the power goes.
    Closing,
    Off,
}

/// The cache.
pub struct Accelerator {
    spec: AcceleratorSpec,
    limits: Limits,
    pages: CachePages,
    /// The most pages that may be dirty.
    dirty_pages: u32,
    /// Requests that ended in memory, by when they complete; rising.
    answering: VecDeque<(Instant, u32)>,
    /// Writes that wait for room.
    roomless: VecDeque<u32>,
    /// Requests that wait for an overlapping request or read-ahead.
    blocked: VecDeque<u32>,
    /// Requests that go down themselves; overlapping requests wait. Requests in `settling` wait for dirty data of their range.
    passing: Vec<u32>,
    settling: VecDeque<u32>,
    /// Flushes that wait for dirty data, with the flush count.
    flushes: VecDeque<(u32, u64)>,
    epoch: u64,
    /// Requests on their way down.
    outbox: VecDeque<u32>,
    own: Vec<Option<CacheCommand>>,
    writing: usize,
    reading: Option<SectorRange>,
    /// The range to read ahead.
    ahead: Option<SectorRange>,
    /// Where sequential readers stopped, and which of them is replaced next.
    streams: [u64; STREAMS],
    oldest_stream: usize,
    in_flight: u32,
    /// The last command was the cache's own.
    own_turn: bool,
    /// Since when nothing has come or gone.
    quiet: Instant,
    /// Background work not yet charged to a request.
    debt: Effort,
    /// Data were given up, and no request has reported it yet.
    failed: bool,
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
        let dirty_pages = u64::from(pages) * u64::from(spec.dirty_share) / 1000;
        let accelerator = Accelerator {
            limits,
            pages: CachePages::new(pages),
            dirty_pages: dirty_pages as u32,
            answering: VecDeque::new(),
            roomless: VecDeque::new(),
            blocked: VecDeque::new(),
            passing: Vec::new(),
            settling: VecDeque::new(),
            flushes: VecDeque::new(),
            epoch: 0,
            outbox: VecDeque::new(),
            own: alloc::vec![None; RUNS + 1],
            writing: 0,
            reading: None,
            ahead: None,
            streams: [u64::MAX; STREAMS],
            oldest_stream: 0,
            in_flight: 0,
            own_turn: false,
            quiet: Instant::ZERO,
            debt: Effort::default(),
            failed: false,
            power: CachePower::On,
            spec,
        };
        LayeredDevice::new(accelerator, limits.depth.max(1), below)
    }

    // ---- requests from above

    /// Decides how to treat the request in `slot`.
    fn route_request(&mut self, context: &mut AcceleratorContext, now: Instant, slot: u32) {
        let request = context.slots[slot].request;
        let place = request_range(&request);
        if request.op == Op::Flush {
            return self.queue_flush(now, slot);
        }
        if request.unit > 0 || request.sectors == 0 || request.end() > self.limits.sectors {
            return self.outbox.push_back(slot);
        }
        let locked = self.passing.iter().any(|&other| request_range(&context.slots[other].request).overlaps(place));
        if locked || self.reading.is_some_and(|reading| reading.overlaps(place)) {
            return self.blocked.push_back(slot);
        }
        let plain = [Flags::FUA, Flags::ORDERED, Flags::HEAD_OF_QUEUE].iter().all(|&mark| !request.flags.has(mark));
        match request.op {
            Op::Read if plain => self.serve_read(now, slot, place),
            Op::Write if plain && self.spec.write_back && self.pages.can_hold(place) => {
                self.roomless.push_back(slot);
                self.store_waiting(context, now);
            }
            _ => {
                self.passing.push(slot);
                match self.pages.is_settled(place) {
                    true => self.pass_settled(context, slot),
                    false => self.settling.push_back(slot),
                }
            }
        }
    }

    fn queue_flush(&mut self, now: Instant, slot: u32) {
        if self.spec.drops_flushes {
            return self.answering.push_back((now + self.spec.hit, slot));
        }
        self.epoch += 1;
        self.flushes.push_back((slot, self.epoch - 1));
        self.release_flushes();
    }

    fn serve_read(&mut self, now: Instant, slot: u32, place: SectorRange) {
        match self.pages.touch_if_cached(place) {
            true => self.answering.push_back((now + self.spec.hit, slot)),
            false => self.outbox.push_back(slot),
        }
        self.follow_stream(place);
    }

    /// Notes where a reader stopped. If the reader continued a stream, plans the read-ahead.
    fn follow_stream(&mut self, place: SectorRange) {
        if self.spec.read_ahead == 0 {
            return;
        }
        let Some(stream) = self.streams.iter().position(|&end| end == place.lba) else {
            self.streams[self.oldest_stream] = place.end;
            self.oldest_stream = (self.oldest_stream + 1) % STREAMS;
            return;
        };
        self.streams[stream] = place.end;
        let most = u64::from(self.spec.read_ahead);
        let window = SectorRange { lba: place.end, end: (place.end + most).min(self.limits.sectors) };
        let first = self.pages.first_uncached(window);
        // At least half of it at a time.
        if first - window.lba <= most / 2 && first < window.end {
            let end = window.end.min(first + u64::from(self.limits.max_transfer));
            self.ahead = Some(SectorRange { lba: first, end });
        }
    }

    /// Completes waiting writes in memory while there is room.
    fn store_waiting(&mut self, context: &mut AcceleratorContext, now: Instant) {
        while let Some(&slot) = self.roomless.front() {
            let request = context.slots[slot].request;
            if !self.pages.has_room(request_range(&request)) {
                return;
            }
            self.roomless.pop_front();
            self.pages.store_write(request_range(&request), request.stamp, (now, self.epoch), |lba, stamp| {
                context.landings.report_discarded(now, lba, lba + 1, stamp);
            });
            self.answering.push_back((now + self.spec.hit, slot));
        }
    }

    /// Sends down a request whose range is settled.
    fn pass_settled(&mut self, context: &AcceleratorContext, slot: u32) {
        let request = context.slots[slot].request;
        if request.op != Op::Read {
            self.pages.invalidate_range(request_range(&request));
        }
        self.outbox.push_back(slot);
    }

    /// Sends down flushes once everything dirty before them is written.
    fn release_flushes(&mut self) {
        while let Some(&(slot, epoch)) = self.flushes.front() {
            let waits = self.pages.oldest_dirty().is_some_and(|(_, dirty)| dirty <= epoch);
            let leaving = self.own.iter().flatten().any(|own| own.run.is_some_and(|(_, dirty)| dirty <= epoch));
            if waits || leaving {
                return;
            }
            self.flushes.pop_front();
            self.outbox.push_back(slot);
        }
    }

    /// Continues requests whose range is settled, flushes whose data are written, and writes for which there is room.
    fn continue_waiting(&mut self, context: &mut AcceleratorContext, now: Instant) {
        for _ in 0..self.settling.len() {
            let slot = self.settling.pop_front().expect("as many as counted");
            let place = request_range(&context.slots[slot].request);
            match self.pages.is_settled(place) {
                true => self.pass_settled(context, slot),
                false => self.settling.push_back(slot),
            }
        }
        self.release_flushes();
        self.store_waiting(context, now);
    }

    fn retry_blocked(&mut self, context: &mut AcceleratorContext, now: Instant) {
        for _ in 0..self.blocked.len() {
            let slot = self.blocked.pop_front().expect("as many as counted");
            self.route_request(context, now, slot);
        }
    }

    // ---- commands to the device below

    /// The next run that a request waits for.
    fn next_wanted_run(&self, context: &AcceleratorContext) -> Option<SectorRange> {
        let most = u64::from(RUN.min(self.limits.max_transfer));
        for &slot in &self.settling {
            if let Some(run) = self.pages.next_dirty_run_in(request_range(&context.slots[slot].request), most) {
                return Some(run);
            }
        }
        let covered =
            self.flushes.front().is_some_and(|&(_, epoch)| self.pages.oldest_dirty().is_some_and(|it| it.1 <= epoch));
        let all = self.power == CachePower::Closing || !self.roomless.is_empty();
        if covered || all { self.pages.next_dirty_run(most) } else { None }
    }

    /// When to write the next run, for a waiting request or in the background.
    fn next_write_instant(&self, context: &AcceleratorContext) -> Instant {
        let (full, busy) = (self.in_flight >= self.limits.depth, self.writing >= RUNS);
        let Some((since, _)) = self.pages.oldest_dirty().filter(|_| !full && !busy) else { return Instant::FAR };
        if self.next_wanted_run(context).is_some() {
            return Instant::ZERO;
        }
        if self.writing > 0 || self.pages.next_dirty_run(PAGE).is_none() {
            return Instant::FAR;
        }
        if self.pages.unsettled_pages() > self.dirty_pages {
            return Instant::ZERO;
        }
        let idle = if context.in_flight() == 0 { self.quiet + self.spec.idle } else { Instant::FAR };
        idle.min(since + self.spec.dirty_age)
    }

    /// Sends a command down, if there is one and the device has room; true if it sent one. The cache's own commands and
    /// those from above take turns.
    fn send_next(&mut self, context: &mut AcceleratorContext, now: Instant) -> bool {
        if self.in_flight >= self.limits.depth {
            return false;
        }
        let writes = self.next_write_instant(context) <= now;
        let own = writes && (self.outbox.is_empty() || !self.own_turn);
        self.own_turn = own;
        if own {
            self.write_out(context, now);
        } else if let Some(slot) = self.outbox.pop_front() {
            context.slots[slot].note = true;
            self.in_flight += 1;
            let Request { op, unit, stamp, lba, .. } = context.slots[slot].request;
            if matches!(op, Op::Write | Op::WriteZeroes) && unit == 0 {
                // A run with the stamp may have held other writes of these blocks.
                context.landings.note_carried(stamp, stamp, lba, context.slots[slot].request.end());
            }
            context.pass_down(now, slot);
        } else if let Some(place) = self.ahead.take() {
            self.read_ahead(context, now, place);
        } else {
            return false;
        }
        true
    }

    fn start_command(&mut self, context: &mut AcceleratorContext, now: Instant, own: CacheCommand, stamp: u64) {
        let index = self.own.iter().position(Option::is_none).expect("fewer than there are places");
        self.own[index] = Some(own);
        let (lba, sectors) = (own.range.lba, (own.range.end - own.range.lba) as u32);
        let op = if own.run.is_some() { Op::Write } else { Op::Read };
        let tag = OWN + index as u32;
        self.in_flight += 1;
        context.submit(now, Request { tag, unit: 0, origin: 0, op, flags: Flags::NONE, lba, sectors, stamp });
    }

    fn write_out(&mut self, context: &mut AcceleratorContext, now: Instant) {
        let most = u64::from(RUN.min(self.limits.max_transfer));
        let run = self.next_wanted_run(context).or_else(|| self.pages.next_dirty_run(most)).expect("something is due");
        let mut stamp = 0;
        self.pages.visit_stamps(run, |_, own| stamp = stamp.max(own));
        if context.landings.are_wanted() {
            self.pages.visit_stamps(run, |lba, own| context.landings.note_carried(stamp, own, lba, lba + 1));
        }
        let epoch = self.pages.begin_write(run);
        self.writing += 1;
        self.start_command(context, now, CacheCommand { range: run, run: Some((stamp, epoch)) }, stamp);
    }

    /// Reads ahead, if the reader is alone: a read-ahead would delay other requests, or read data that are already on
    /// their way.
    fn read_ahead(&mut self, context: &mut AcceleratorContext, now: Instant, place: SectorRange) {
        let alone = context.in_flight() <= 1 && self.passing.is_empty() && self.reading.is_none();
        if alone && self.power == CachePower::On {
            self.reading = Some(place);
            self.start_command(context, now, CacheCommand { range: place, run: None }, 0);
        }
    }

    // ---- completions from below

    fn finish_own_command(&mut self, context: &mut AcceleratorContext, index: usize, completion: &Completion) {
        let CacheCommand { range, run } = self.own[index].take().expect("a command of the cache's own");
        let (now, done) = (completion.finished, completion.status == Status::Done);
        self.debt.add(&completion.effort);
        let Some((stamp, epoch)) = run else {
            self.reading = self.reading.filter(|&reading| reading != range);
            if done {
                self.pages.insert_clean(range);
            }
            return self.retry_blocked(context, now);
        };
        self.writing -= 1;
        match completion.status {
            Status::Done => self.pages.mark_written(range),
            status => self.retry_or_give_up(context, now, range, (stamp, epoch), status),
        }
        self.continue_waiting(context, now);
    }

    /// Makes a run dirty again that was aborted or failed below, or gives its data up.
    fn retry_or_give_up(
        &mut self,
        context: &mut AcceleratorContext,
        now: Instant,
        run: SectorRange,
        (stamp, epoch): (u64, u64),
        status: Status,
    ) {
        if context.landings.are_wanted() {
            self.pages.visit_overwritten(run, |lba| context.landings.report_superseded(now, stamp, lba));
            context.landings.withdraw_range(stamp, run.lba, run.end);
        }
        let weight = if status == Status::Aborted { 1 } else { ERROR };
        if self.pages.count_failure(run, weight) < TRIES * ERROR {
            return self.pages.mark_dirty_again(run, epoch);
        }
        self.pages.visit_not_overwritten(run, |lba, own| context.landings.report_discarded(now, lba, lba + 1, own));
        self.failed = true;
        self.pages.mark_written(run);
    }

    fn finish_request(&mut self, context: &mut AcceleratorContext, completion: &Completion) {
        let (slot, now) = (completion.tag, completion.finished);
        let held = &mut context.slots[slot];
        if completion.status != Status::Done {
            let Request { stamp, lba, .. } = held.request;
            context.landings.withdraw_range(stamp, lba, held.request.end());
        }
        if (completion.status, held.status) == (Status::Aborted, Status::Done) {
            held.account().effort.add(&completion.effort);
            held.note = false;
            return self.outbox.push_back(slot);
        }
        context.adopt_completion(slot, completion);
        let request = context.slots[slot].request;
        let moved = matches!(request.op, Op::Read | Op::Write) && completion.status == Status::Done;
        if moved && request.unit == 0 && self.power != CachePower::Off {
            self.pages.insert_clean(request_range(&request));
        }
        let passed = self.passing.iter().position(|&other| other == slot);
        if let Some(place) = passed {
            self.passing.swap_remove(place);
        }
        self.answer_request(context, now, slot, completion.status);
        if passed.is_some() {
            self.retry_blocked(context, now);
        }
    }

    /// Ends the request in `slot`.
    fn answer_request(&mut self, context: &mut AcceleratorContext, now: Instant, slot: u32, status: Status) {
        let op = context.slots[slot].request.op;
        let status = self.apply_pending_error(op, status);
        self.charge_background(now, &mut context.slots[slot]);
        if matches!(op, Op::Read | Op::Write) && status == Status::Done {
            let held = &mut context.slots[slot];
            let (sectors, effort) = (held.request.sectors, &mut held.account().effort);
            effort.copied = effort.copied.saturating_add(sectors);
        }
        context.answer_request(now, slot, status);
    }

    /// Charges a request that ends with the background work since the last one.
    fn charge_background(&mut self, now: Instant, held: &mut CacheRequest) {
        held.account().effort.add(&core::mem::take(&mut self.debt));
        self.quiet = now;
    }

    /// Returns `status`, or the pending error of data given up if a request with this `op` can report it.
    fn apply_pending_error(&mut self, op: Op, status: Status) -> Status {
        let told = if self.spec.drops_flushes { Op::Write } else { Op::Flush };
        if status == Status::Done && op == told && core::mem::take(&mut self.failed) {
            return Status::MediumError;
        }
        status
    }

    /// Switches the power off once nothing is left to do.
    fn power_off_if_done(&mut self, context: &mut AcceleratorContext, now: Instant) {
        let done =
            context.in_flight() == 0 && self.pages.unsettled_pages() == 0 && self.own.iter().all(Option::is_none);
        if self.power == CachePower::Closing && done {
            self.switch_off();
            context.control(now, &Control::PowerOff).expect("a power-off is never refused");
        }
    }

    /// Switches off and empties the memory.
    fn switch_off(&mut self) {
        self.power = CachePower::Off;
        self.pages.clear();
        self.ahead = None;
        self.streams = [u64::MAX; STREAMS];
    }

    // ---- controls

    fn abort_all(&mut self, context: &mut AcceleratorContext, now: Instant) -> Result<(), ControlError> {
        for slot in self.held_slots(context) {
            context.end_request(self, now, slot, Status::Aborted);
        }
        let below: Vec<u32> = context.live_slots().collect();
        below.iter().for_each(|&slot| context.slots[slot].status = Status::Aborted);
        for slot in below {
            if context.is_live(slot) {
                context.control(now, &Control::Abort(slot))?;
                context.collect_completions(self);
            }
        }
        Ok(())
    }

    fn cut_power(&mut self, context: &mut AcceleratorContext, now: Instant) -> Result<(), ControlError> {
        self.power = CachePower::Off;
        // Commands may return when the power is on again; by then they no longer matter.
        self.own
            .iter_mut()
            .flatten()
            .for_each(|own| *own = CacheCommand { range: SectorRange { lba: 0, end: 0 }, run: None });
        (self.writing, self.reading) = (0, None);
        let done = context.apply_default_control(self, now, &Control::PowerCut);
        context.collect_completions(self);
        context.landings.report_all_lost(now);
        self.pages.dirty_sectors().for_each(|(lba, stamp)| context.landings.report_discarded(now, lba, lba + 1, stamp));
        self.switch_off();
        done
    }
}

impl HostLayer for Accelerator {
    type Note = bool;
    const PART: Part = Part::Driver;

    fn limits(&self, room: u32, below: Limits) -> Limits {
        Limits { depth: below.depth.min(room), volatile_cache: below.volatile_cache || self.spec.write_back, ..below }
    }

    fn accept_request(&mut self, context: &mut AcceleratorContext, now: Instant, slot: u32) -> Instant {
        let request = &mut context.slots[slot].request;
        if self.spec.drops_flushes {
            request.flags = request.flags.without(Flags::FUA);
        }
        self.quiet = now;
        match self.power {
            CachePower::On => self.route_request(context, now, slot),
            CachePower::Closing | CachePower::Off => self.answer_request(context, now, slot, Status::PowerLost),
        }
        now
    }

    fn handle_completion(&mut self, context: &mut AcceleratorContext, completion: &mut Completion) -> Instant {
        self.in_flight -= 1;
        match completion.tag.checked_sub(OWN) {
            Some(index) => self.finish_own_command(context, index as usize, completion),
            None => self.finish_request(context, completion),
        }
        completion.finished
    }

    fn run_due_work(&mut self, context: &mut AcceleratorContext, now: Instant) -> Instant {
        while let Some(&(_, slot)) = self.answering.front().filter(|&&(at, _)| at <= now) {
            self.answering.pop_front();
            self.answer_request(context, now, slot, Status::Done);
        }
        self.power_off_if_done(context, now);
        if self.send_next(context, now) {
            return now;
        }
        let answer = self.answering.front().map_or(Instant::FAR, |&(at, _)| at);
        answer.min(self.next_write_instant(context))
    }

    fn held_slots(&self, context: &AcceleratorContext) -> Vec<u32> {
        context.live_slots().filter(|&slot| !context.slots[slot].note).collect()
    }

    fn withdraw_request(&mut self, context: &mut AcceleratorContext, now: Instant, slot: u32, status: Status) -> bool {
        if context.slots[slot].note {
            context.slots[slot].status = status;
            return false;
        }
        for queue in [&mut self.roomless, &mut self.blocked, &mut self.settling, &mut self.outbox] {
            queue.retain(|&other| other != slot);
        }
        self.answering.retain(|&(_, other)| other != slot);
        self.flushes.retain(|&(other, _)| other != slot);
        self.passing.retain(|&other| other != slot);
        self.charge_background(now, &mut context.slots[slot]);
        true
    }

    fn report_unsettled(&self, context: &AcceleratorContext, tell: &mut dyn FnMut(u64)) {
        self.pages.dirty_sectors().for_each(|(_, stamp)| tell(stamp));
        context.report_unsettled_below(tell);
    }

    fn change_setting(
        &mut self,
        context: &mut AcceleratorContext,
        _: Instant,
        setting: LayerSetting,
    ) -> Option<Result<(), ControlError>> {
        match setting {
            LayerSetting::Accelerator { number, drops_flushes } if number == context.number() => {
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
            Control::Reset => self.abort_all(context, now),
            Control::PowerCut => self.cut_power(context, now),
            Control::PowerOff if self.power != CachePower::Off => {
                (self.power, self.ahead) = (CachePower::Closing, None);
                Ok(())
            }
            _ => {
                let on = *control == Control::PowerOn;
                self.power = if on { CachePower::On } else { self.power };
                context.apply_default_control(self, now, control)
            }
        };
        context.collect_completions(self);
        self.retry_blocked(context, now);
        self.continue_waiting(context, now);
        done
    }
}
