//! A driver that caches a whole disk in the host's memory, above the driver proper: reads that are wholly there and writes
//! end in memory, the data go down in the background.
//!
//! | what comes | what becomes of it |
//! |---|---|
//! | a read that is wholly there | ends after `hit` |
//! | another read | goes down, and is kept; what follows a sequential one may be read ahead, if nothing else is in flight |
//! | a write | ends after `hit`, if there is room; else when there is |
//! | with forced unit access, zeroes, a trim, *ordered*, longer than the cache, or any write without write-back | goes down itself, when what of its place is dirty has; all that meets it waits |
//! | a flush | goes down when all that was dirty has, or ends after `hit` where flushes are dropped |
//!
//! Dirty data are written out by runs of neighbours, those that have been dirty for longest first: one run at a time when
//! nothing has been in flight for `idle`, when data have been dirty for `dirty_age`, or when more than `dirty_share` of
//! the cache is; [`RUNS`] at a time while something waits for it. The order among these is the driver's.
//!
//! A run that comes back with an error is dirty again and tried again, up to [`TRIES`] times. Then its data are given up, as
//! an operating system gives up a page that cannot be written: what reads it finds it in memory as long as it is there,
//! and the error goes up with the next flush or, where flushes are dropped, with the next write.
//!
//! Memory is volatile: a cut loses all that is dirty, and the landings say so. An orderly power-off writes it out first.
//! A reset ends what came from above; what the cache does for itself goes on. Waiting here is *driver*. What runs in the
//! background costs the processor too: it is added to the next request that ends. The bytes that go through the cache
//! are the processor's to copy ([`Effort::copied`]), so without a processor they take no time.
//!
//! Not here: sizes that adapt, prefetches of several streams at once, a cache that outlives a power-off.

mod pages;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use self::pages::{PAGE, Pages, Range};
use super::layer::{self, Layer, Layered};
use crate::block::assurance::{Assurance, Lapse};
use crate::block::{Completion, Control, ControlError, Device, Flags, Limits, Op, Request, SECTOR, Status};
use crate::record::{Effort, Part};
use crate::time::{Instant, Span};

/// Runs that are written out at once while something waits for them: as many commands as a drive of the field queues.
pub const RUNS: usize = 32;

/// Sectors of a run at most: 128 KiB, what one ATA command of 28 bits carries.
const RUN: u32 = 256;

/// How often a run is written out before its data are given up: as often as Linux tries a command of a disk
/// (`SD_MAX_RETRIES`, drivers/scsi/sd.h).
pub const TRIES: u8 = 5;

/// What an error weighs beside an abort. An abort tells of another command, so that it may take far more of them; but a
/// device that only ever aborts must come to an end as well.
const ERROR: u8 = 40;

/// Tags of the cache's own commands; the others are slots.
const OWN: u32 = 1 << 31;

/// Sequential readers that are told apart: as many streams as a drive of the field follows.
const STREAMS: usize = 8;

/// What an accelerator does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcceleratorSpec {
    /// Bytes of memory.
    pub size: u64,
    /// Finding a request's pages, before anything is copied; more than nothing.
    pub hit: Span,
    /// Writes end in memory.
    pub write_back: bool,
    /// Flushes and forced unit access are forgotten.
    pub drops_flushes: bool,
    /// Thousandths of the cache that may be dirty before data are written out for that alone.
    pub dirty_share: u32,
    /// Data are written out after so long.
    pub dirty_age: Span,
    /// Nothing has come or gone for so long: data are written out.
    pub idle: Span,
    /// Sectors read ahead of a sequential reader.
    pub read_ahead: u32,
}

impl AcceleratorSpec {
    /// What it breaks by its settings, where a cut costs data that it or a device below holds.
    pub fn lapses(&self) -> Vec<Lapse> {
        let broken: &[Assurance] = if self.drops_flushes { &[Assurance::Flush, Assurance::Fua] } else { &[] };
        Lapse::each("flush", "drop", broken)
    }

    /// Changes what can be changed while it runs: `flush`.
    pub(crate) fn set(&mut self, key: &str, value: &str) -> Result<(), ControlError> {
        if key != "flush" {
            return Err(ControlError::UnknownKey);
        }
        let words = [("forward", false), ("drop", true)];
        self.drops_flushes = words.iter().find(|(word, _)| *word == value).ok_or(ControlError::BadValue)?.1;
        Ok(())
    }
}

/// A request from above, noted when it is below.
type Held = layer::Held<bool>;

type Crank = layer::Crank<Accelerator>;

/// What the cache does for itself.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Own {
    range: Range,
    /// Of a run that is written out: its stamp, and the count of flushes when it became dirty. A read-ahead has none.
    run: Option<(u64, u64)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Power {
    On,
    /// Writing out before it goes.
    Closing,
    Off,
}

/// The accelerator.
pub struct Accelerator {
    spec: AcceleratorSpec,
    limits: Limits,
    pages: Pages,
    /// Pages that may be dirty.
    dirty_pages: u32,
    /// Ended in memory, by when the answer is due; rising.
    answering: VecDeque<(Instant, u32)>,
    /// Writes that wait for room.
    roomless: VecDeque<u32>,
    /// Behind something that has their place.
    blocked: VecDeque<u32>,
    /// Go down themselves; all that meets them waits. Those that are `settling` wait for their place.
    passing: Vec<u32>,
    settling: VecDeque<u32>,
    /// Flushes that wait for what was dirty, with their count.
    flushes: VecDeque<(u32, u64)>,
    epoch: u64,
    /// On their way down.
    outbox: VecDeque<u32>,
    own: Vec<Option<Own>>,
    writing: usize,
    reading: Option<Range>,
    /// What is to be read ahead.
    ahead: Option<Range>,
    /// Where sequential readers left off, and which is forgotten next.
    streams: [u64; STREAMS],
    oldest_stream: usize,
    in_flight: u32,
    /// The last command was the cache's own.
    own_turn: bool,
    /// Nothing has come or gone since.
    quiet: Instant,
    /// What was done in the background.
    debt: Effort,
    /// Data were given up and nobody was told.
    failed: bool,
    power: Power,
}

fn range(request: &Request) -> Range {
    Range { lba: request.lba, end: request.end() }
}

impl Accelerator {
    /// A cache above `below`.
    pub fn above(spec: AcceleratorSpec, below: Box<dyn Device>) -> Layered<Accelerator> {
        let limits = below.limits(0);
        let pages = u32::try_from(spec.size / (PAGE * SECTOR)).unwrap_or(u32::MAX - 1).max(1);
        let dirty_pages = u64::from(pages) * u64::from(spec.dirty_share) / 1000;
        let accelerator = Accelerator {
            limits,
            pages: Pages::new(pages),
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
            power: Power::On,
            spec,
        };
        Layered::new(accelerator, limits.depth.max(1), below)
    }

    // ---- what comes

    /// Decides what becomes of the request in `slot`.
    fn accept(&mut self, crank: &mut Crank, now: Instant, slot: u32) {
        let request = crank.slots[slot].request;
        let place = range(&request);
        if request.op == Op::Flush {
            return self.flush(now, slot);
        }
        if request.unit > 0 || request.sectors == 0 || request.end() > self.limits.sectors {
            return self.outbox.push_back(slot);
        }
        let locked = self.passing.iter().any(|&other| range(&crank.slots[other].request).meets(place));
        if locked || self.reading.is_some_and(|reading| reading.meets(place)) {
            return self.blocked.push_back(slot);
        }
        let plain = [Flags::FUA, Flags::ORDERED, Flags::HEAD_OF_QUEUE].iter().all(|&mark| !request.flags.has(mark));
        match request.op {
            Op::Read if plain => self.read(now, slot, place),
            Op::Write if plain && self.spec.write_back && self.pages.can_hold(place) => {
                self.roomless.push_back(slot);
                self.store_waiting(crank, now);
            }
            _ => {
                self.passing.push(slot);
                match self.pages.is_settled(place) {
                    true => self.pass(crank, slot),
                    false => self.settling.push_back(slot),
                }
            }
        }
    }

    fn flush(&mut self, now: Instant, slot: u32) {
        if self.spec.drops_flushes {
            return self.answering.push_back((now + self.spec.hit, slot));
        }
        self.epoch += 1;
        self.flushes.push_back((slot, self.epoch - 1));
        self.release_flushes();
    }

    fn read(&mut self, now: Instant, slot: u32, place: Range) {
        match self.pages.serves(place) {
            true => self.answering.push_back((now + self.spec.hit, slot)),
            false => self.outbox.push_back(slot),
        }
        self.follow(place);
    }

    /// Notes where a reader left off; of one that went on from there, says what is to be read ahead.
    fn follow(&mut self, place: Range) {
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
        let window = Range { lba: place.end, end: (place.end + most).min(self.limits.sectors) };
        let first = if window.lba < window.end { self.pages.known(window) } else { window.end };
        // At least half of it at a time.
        if first - window.lba <= most / 2 && first < window.end {
            let end = window.end.min(first + u64::from(self.limits.max_transfer));
            self.ahead = Some(Range { lba: first, end });
        }
    }

    /// Writes that wait for room end in memory as long as there is some.
    fn store_waiting(&mut self, crank: &mut Crank, now: Instant) {
        while let Some(&slot) = self.roomless.front() {
            let request = crank.slots[slot].request;
            if !self.pages.has_room(range(&request)) {
                return;
            }
            self.roomless.pop_front();
            self.pages.write(range(&request), request.stamp, (now, self.epoch), |lba, stamp| {
                crank.landings.discard(now, lba, lba + 1, stamp);
            });
            self.answering.push_back((now + self.spec.hit, slot));
        }
    }

    /// A request whose place is settled goes down itself.
    fn pass(&mut self, crank: &Crank, slot: u32) {
        let request = crank.slots[slot].request;
        if request.op != Op::Read {
            self.pages.forget(range(&request));
        }
        self.outbox.push_back(slot);
    }

    /// Flushes go down when all that was dirty before them has.
    fn release_flushes(&mut self) {
        while let Some(&(slot, epoch)) = self.flushes.front() {
            let waits = self.pages.oldest().is_some_and(|(_, dirty)| dirty <= epoch);
            let leaving = self.own.iter().flatten().any(|own| own.run.is_some_and(|(_, dirty)| dirty <= epoch));
            if waits || leaving {
                return;
            }
            self.flushes.pop_front();
            self.outbox.push_back(slot);
        }
    }

    /// What waited for a place has it, or room.
    fn release(&mut self, crank: &mut Crank, now: Instant) {
        for _ in 0..self.settling.len() {
            let slot = self.settling.pop_front().expect("as many as counted");
            let place = range(&crank.slots[slot].request);
            match self.pages.is_settled(place) {
                true => self.pass(crank, slot),
                false => self.settling.push_back(slot),
            }
        }
        self.release_flushes();
        self.store_waiting(crank, now);
    }

    fn unblock(&mut self, crank: &mut Crank, now: Instant) {
        for _ in 0..self.blocked.len() {
            let slot = self.blocked.pop_front().expect("as many as counted");
            self.accept(crank, now, slot);
        }
    }

    // ---- what goes down

    /// The next run that something waits for.
    fn wanted(&self, crank: &Crank) -> Option<Range> {
        let most = u64::from(RUN.min(self.limits.max_transfer));
        for &slot in &self.settling {
            if let Some(run) = self.pages.next_run_in(range(&crank.slots[slot].request), most) {
                return Some(run);
            }
        }
        let covered =
            self.flushes.front().is_some_and(|&(_, epoch)| self.pages.oldest().is_some_and(|it| it.1 <= epoch));
        let all = self.power == Power::Closing || !self.roomless.is_empty();
        if covered || all { self.pages.next_run(most) } else { None }
    }

    /// When the next run is to be written out: by what something waits for, or in the background.
    fn writes_at(&self, crank: &Crank) -> Instant {
        let (full, busy) = (self.in_flight >= self.limits.depth, self.writing >= RUNS);
        let Some((since, _)) = self.pages.oldest().filter(|_| !full && !busy) else { return Instant::FAR };
        if self.wanted(crank).is_some() {
            return Instant::ZERO;
        }
        if self.writing > 0 || self.pages.next_run(PAGE).is_none() {
            return Instant::FAR;
        }
        if self.pages.unsettled() > self.dirty_pages {
            return Instant::ZERO;
        }
        let idle = if crank.in_flight() == 0 { self.quiet + self.spec.idle } else { Instant::FAR };
        idle.min(since + self.spec.dirty_age)
    }

    /// Sends one command down, if there is one and room for it. The cache's own and those from above take turns.
    fn send(&mut self, crank: &mut Crank, now: Instant) -> bool {
        if self.in_flight >= self.limits.depth {
            return false;
        }
        let writes = self.writes_at(crank) <= now;
        let own = writes && (self.outbox.is_empty() || !self.own_turn);
        self.own_turn = own;
        if own {
            self.write_out(crank, now);
        } else if let Some(slot) = self.outbox.pop_front() {
            crank.slots[slot].note = true;
            self.in_flight += 1;
            crank.pass(now, slot);
        } else if let Some(place) = self.ahead.take() {
            self.read_ahead(crank, now, place);
        } else {
            return false;
        }
        true
    }

    fn start(&mut self, crank: &mut Crank, now: Instant, own: Own, stamp: u64) {
        let index = self.own.iter().position(Option::is_none).expect("fewer than there are places");
        self.own[index] = Some(own);
        let (lba, sectors) = (own.range.lba, (own.range.end - own.range.lba) as u32);
        let op = if own.run.is_some() { Op::Write } else { Op::Read };
        let tag = OWN + index as u32;
        self.in_flight += 1;
        crank.submit(now, Request { tag, unit: 0, origin: 0, op, flags: Flags::NONE, lba, sectors, stamp });
    }

    fn write_out(&mut self, crank: &mut Crank, now: Instant) {
        let most = u64::from(RUN.min(self.limits.max_transfer));
        let run = self.wanted(crank).or_else(|| self.pages.next_run(most)).expect("something is due");
        let mut stamp = 0;
        self.pages.stamps(run, |_, own| stamp = stamp.max(own));
        if crank.landings.are_wanted() {
            self.pages.stamps(run, |lba, own| crank.landings.note(stamp, own, lba, lba + 1));
        }
        let epoch = self.pages.leave(run);
        self.writing += 1;
        self.start(crank, now, Own { range: run, run: Some((stamp, epoch)) }, stamp);
    }

    /// Only for a reader that is alone: beside other requests it would take the place of what was asked for, or read what
    /// is on its way already.
    fn read_ahead(&mut self, crank: &mut Crank, now: Instant, place: Range) {
        let alone = crank.in_flight() <= 1 && self.passing.is_empty() && self.reading.is_none();
        if alone && self.power == Power::On {
            self.reading = Some(place);
            self.start(crank, now, Own { range: place, run: None }, 0);
        }
    }

    // ---- what comes back

    fn own_returned(&mut self, crank: &mut Crank, index: usize, completion: &Completion) {
        let Own { range, run } = self.own[index].take().expect("a command of the cache's own");
        let (now, done) = (completion.finished, completion.status == Status::Done);
        self.debt.add(&completion.effort);
        let Some((stamp, epoch)) = run else {
            self.reading = self.reading.filter(|&reading| reading != range);
            if done {
                self.pages.fill(range);
            }
            return self.unblock(crank, now);
        };
        self.writing -= 1;
        match completion.status {
            Status::Done => self.pages.written(range),
            status => self.take_back(crank, now, range, (stamp, epoch), status),
        }
        self.release(crank, now);
    }

    /// A run that was aborted or failed below is dirty again, or given up.
    fn take_back(&mut self, crank: &mut Crank, now: Instant, run: Range, (stamp, epoch): (u64, u64), status: Status) {
        if crank.landings.are_wanted() {
            self.pages.superseded(run, |lba| crank.landings.settle(now, stamp, lba));
            crank.landings.withdraw(stamp, run.lba, run.end);
        }
        let weight = if status == Status::Aborted { 1 } else { ERROR };
        if self.pages.fail(run, weight) < TRIES * ERROR {
            return self.pages.returned(run, epoch);
        }
        self.pages.leaving_last(run, |lba, own| crank.landings.discard(now, lba, lba + 1, own));
        self.failed = true;
        self.pages.written(run);
    }

    fn request_returned(&mut self, crank: &mut Crank, completion: &Completion) {
        let (slot, now) = (completion.tag, completion.finished);
        crank.adopt(slot, completion);
        let request = crank.slots[slot].request;
        let moved = matches!(request.op, Op::Read | Op::Write) && completion.status == Status::Done;
        if moved && request.unit == 0 && self.power != Power::Off {
            self.pages.fill(range(&request));
        }
        let passed = self.passing.iter().position(|&other| other == slot);
        if let Some(place) = passed {
            self.passing.swap_remove(place);
        }
        self.answer(crank, now, slot, completion.status);
        if passed.is_some() {
            self.unblock(crank, now);
        }
    }

    /// Ends the request in `slot`.
    fn answer(&mut self, crank: &mut Crank, now: Instant, slot: u32, status: Status) {
        let op = crank.slots[slot].request.op;
        let status = self.with_failure(op, status);
        self.charge(now, &mut crank.slots[slot]);
        if matches!(op, Op::Read | Op::Write) && status == Status::Done {
            let held = &mut crank.slots[slot];
            let (sectors, effort) = (held.request.sectors, &mut held.account().effort);
            effort.copied = effort.copied.saturating_add(sectors);
        }
        crank.answer(now, slot, status);
    }

    /// A request ends, with what was done in the background since the last one.
    fn charge(&mut self, now: Instant, held: &mut Held) {
        held.account().effort.add(&core::mem::take(&mut self.debt));
        self.quiet = now;
    }

    /// How a request ends that is told of data given up, if it is the next to be told.
    fn with_failure(&mut self, op: Op, status: Status) -> Status {
        let told = if self.spec.drops_flushes { Op::Write } else { Op::Flush };
        if status == Status::Done && op == told && core::mem::take(&mut self.failed) {
            return Status::MediumError;
        }
        status
    }

    /// The power goes when nothing is left to do.
    fn close(&mut self, crank: &mut Crank, now: Instant) {
        let done = crank.in_flight() == 0 && self.pages.unsettled() == 0 && self.own.iter().all(Option::is_none);
        if self.power == Power::Closing && done {
            self.go_off();
            crank.control(now, &Control::PowerOff).expect("a power-off is never refused");
        }
    }

    /// Memory holds nothing any more.
    fn go_off(&mut self) {
        self.power = Power::Off;
        self.pages.clear();
        self.ahead = None;
        self.streams = [u64::MAX; STREAMS];
    }

    // ---- controls

    fn reset(&mut self, crank: &mut Crank, now: Instant) -> Result<(), ControlError> {
        for slot in self.held(crank) {
            crank.end(self, now, slot, Status::Aborted);
        }
        for slot in crank.live().collect::<Vec<_>>() {
            if crank.is_live(slot) {
                crank.control(now, &Control::Abort(slot))?;
                crank.collect(self);
            }
        }
        Ok(())
    }

    fn cut_power(&mut self, crank: &mut Crank, now: Instant) -> Result<(), ControlError> {
        self.power = Power::Off;
        // They may come back when the power is on again, and concern nothing then.
        self.own.iter_mut().flatten().for_each(|own| *own = Own { range: Range { lba: 0, end: 0 }, run: None });
        (self.writing, self.reading) = (0, None);
        let done = crank.obey(self, now, &Control::PowerCut);
        crank.collect(self);
        crank.landings.lose(now);
        self.pages.dirty().for_each(|(lba, stamp)| crank.landings.discard(now, lba, lba + 1, stamp));
        self.go_off();
        done
    }
}

impl Layer for Accelerator {
    type Note = bool;
    const PART: Part = Part::Driver;
    const NAME: &'static str = "accelerator";

    fn limits(&self, room: u32, below: Limits) -> Limits {
        Limits { depth: below.depth.min(room), volatile_cache: below.volatile_cache || self.spec.write_back, ..below }
    }

    fn down(&mut self, crank: &mut Crank, now: Instant, slot: u32) -> Instant {
        let request = &mut crank.slots[slot].request;
        if self.spec.drops_flushes {
            request.flags = request.flags.without(Flags::FUA);
        }
        self.quiet = now;
        match self.power {
            Power::On => self.accept(crank, now, slot),
            Power::Closing | Power::Off => self.answer(crank, now, slot, Status::PowerLost),
        }
        now
    }

    fn up(&mut self, crank: &mut Crank, completion: &mut Completion) -> Instant {
        self.in_flight -= 1;
        match completion.tag.checked_sub(OWN) {
            Some(index) => self.own_returned(crank, index as usize, completion),
            None => self.request_returned(crank, completion),
        }
        completion.finished
    }

    fn turn(&mut self, crank: &mut Crank, now: Instant) -> Instant {
        while let Some(&(_, slot)) = self.answering.front().filter(|&&(at, _)| at <= now) {
            self.answering.pop_front();
            self.answer(crank, now, slot, Status::Done);
        }
        self.close(crank, now);
        if self.send(crank, now) {
            return now;
        }
        let answer = self.answering.front().map_or(Instant::FAR, |&(at, _)| at);
        answer.min(self.writes_at(crank))
    }

    fn held(&self, crank: &Crank) -> Vec<u32> {
        crank.live().filter(|&slot| !crank.slots[slot].note).collect()
    }

    fn withdraw(&mut self, crank: &mut Crank, now: Instant, slot: u32, _: Status) -> bool {
        if crank.slots[slot].note {
            return false;
        }
        for queue in [&mut self.roomless, &mut self.blocked, &mut self.settling, &mut self.outbox] {
            queue.retain(|&other| other != slot);
        }
        self.answering.retain(|&(_, other)| other != slot);
        self.flushes.retain(|&(other, _)| other != slot);
        self.passing.retain(|&other| other != slot);
        self.charge(now, &mut crank.slots[slot]);
        true
    }

    fn unsettled(&self, crank: &Crank, tell: &mut dyn FnMut(u64)) {
        self.pages.dirty().for_each(|(_, stamp)| tell(stamp));
        crank.unsettled_below(tell);
    }

    fn set(&mut self, _: &mut Crank, _: Instant, key: &str, value: &str) -> Result<(), ControlError> {
        self.spec.set(key, value)
    }

    fn obey(&mut self, crank: &mut Crank, now: Instant, control: &Control<'_>) -> Result<(), ControlError> {
        let done = match *control {
            Control::Reset => self.reset(crank, now),
            Control::PowerCut => self.cut_power(crank, now),
            Control::PowerOff if self.power != Power::Off => {
                (self.power, self.ahead) = (Power::Closing, None);
                Ok(())
            }
            _ => {
                let on = *control == Control::PowerOn;
                self.power = if on { Power::On } else { self.power };
                crank.obey(self, now, control)
            }
        };
        crank.collect(self);
        self.unblock(crank, now);
        self.release(crank, now);
        done
    }
}
