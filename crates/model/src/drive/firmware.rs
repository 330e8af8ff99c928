//! What the drive does at each instant: decode, look up, choose, move data, acknowledge, destage.
//!
//! The life of a command: *arriving* in the electronics (overhead, one after another), then by kind
//! - a read in the buffer goes to the link; one that a prefetch will bring waits for it (part *cache*);
//! - a read not in the buffer, a write-through or FUA write joins the queue for the medium;
//! - a cached write takes a segment, crosses the link and is acknowledged; without room for all of it, it is parked and
//!   goes on as segments are destaged. One longer than a segment takes several, or goes round in one (`cache.wraps`):
//!   it goes to the medium at once and is acknowledged when what is left fits the segment;
//! - a flush waits until the segments that were dirty when it came are on the medium (part *flush*).
//!
//! The medium does one access at a time. It is chosen when the last one ended plus the profile's dispatch time,
//! commands by `firmware.queue`; dirty segments by `firmware.destage`, beside the commands under pressure (buffer
//! full of dirty segments, a flush, data older than `cache.destage_age`), else only after `cache.destage_idle` without
//! commands. A read ahead is broken off when a command wants the medium, not before `read_ahead.min`; that of a stream
//! goes on as far as `read_ahead.hold` says, unless the command has waited for too long.

use super::cache::Lookup;
use super::dirty::{Piece, Room};
use super::geometry::Extent;
use super::profile::{Hold, Until};
use super::segmentation::Segmentation;
use super::stream::{Platter, Stream};
use super::{Activity, Drive, Power, Purpose, Slot, Stage};
use crate::block::{Flags, LandingKind, Op, Request, SECTOR, Status};
use crate::record::{Ledger, Part};
use crate::time::{Instant, Span};

impl Drive {
    /// Takes a command into `slot`: the electronics decode it after those before it. Answers when something happens to it.
    #[inline]
    pub(super) fn accept(&mut self, now: Instant, slot: u16, request: Request) -> Instant {
        self.tidying = false;
        self.log.flushes += u64::from(request.op == Op::Flush);
        let seen = match request.op {
            Op::Read => self.buffer.look_up(request.lba, request.end()),
            _ => Lookup::Miss,
        };
        let on = self.power == Power::On;
        let reached = self.bus_free(now);
        let begin = self.electronics.max(reached);
        let known = begin + self.profile.link.command;
        let decoded = if on { known + self.overhead(&request, seen) } else { now };
        let command = &mut self.slots[usize::from(slot)];
        command.request = request;
        command.ledger = Ledger::open(now);
        command.stage = Stage::Arriving;
        command.outcome = if on { Status::Done } else { Status::PowerLost };
        command.seen = (self.buffer.version(), seen);
        command.data = (now, now);
        command.stored = 0;
        command.gathered = 0;
        command.released = false;
        command.interrupts = 1;
        command.round = false;
        command.ahead = true;
        command.carried = None;
        command.behind = false;
        if !on {
            self.finish_at(now, slot);
            return now;
        }
        command.ledger.until(Part::Link, reached);
        if let (Some(view), Op::Read | Op::Write) = (&mut self.segmentation, request.op) {
            command.ahead = view.see(&request, matches!(seen, Lookup::Hit(_)));
        }
        command.ledger.until(Part::Queue, begin);
        command.ledger.until(Part::Link, known);
        command.ledger.until(Part::Overhead, decoded);
        self.electronics = decoded;
        self.arriving.push_back((decoded, slot));
        decoded
    }

    /// How the command in `slot` stands to the buffer; looked up again only when the buffer has changed since.
    pub(super) fn look_up(&mut self, slot: u16) -> Lookup {
        let command = &mut self.slots[usize::from(slot)];
        if command.seen.0 != self.buffer.version() {
            let lookup = self.buffer.look_up(command.request.lba, command.request.end());
            command.seen = (self.buffer.version(), lookup);
        }
        command.seen.1
    }

    #[inline]
    fn overhead(&mut self, request: &Request, seen: Lookup) -> Span {
        let missed = seen == Lookup::Miss;
        let overhead = &self.profile.overhead;
        let after = match request.op {
            Op::Read if missed => overhead.read_miss,
            Op::Read => overhead.read_hit,
            Op::Write | Op::WriteZeroes if self.cached(request) => overhead.write_hit,
            Op::Write | Op::WriteZeroes => overhead.write_miss,
            Op::Flush | Op::Trim | Op::Compute => return overhead.flush,
        };
        let cost = if self.wrote { after.write } else { after.read };
        self.wrote = request.op != Op::Read;
        cost
    }

    /// True for a write that is acknowledged from the buffer.
    fn cached(&self, request: &Request) -> bool {
        let profile = &self.profile;
        let on = profile.cache.write_back || profile.faults.caches_when_off;
        let forced = request.flags.has(Flags::FUA) && !profile.faults.ignores_fua && !profile.protected;
        profile.cache.flash_sectors > 0 || (on && !forced)
    }

    /// Does what is due at `now`: an access that ends, commands that are decoded, a choice, commands that finish.
    pub(super) fn due(&mut self, now: Instant) {
        if let Activity::Access { sweep, .. } = &self.activity
            && sweep.end <= now
        {
            self.access_ended(now);
        }
        while let Some(&(at, slot)) = self.arriving.front() {
            if at > now {
                break;
            }
            self.arriving.pop_front();
            self.decoded(now, slot);
        }
        if self.choose_at().is_some_and(|at| at <= now) {
            self.choose(now);
        }
        while let Some(&(at, slot)) = self.finishing.front() {
            if at > now {
                break;
            }
            self.finishing.pop_front();
            self.complete(at, slot);
        }
        if self.power == Power::Stopping {
            self.stop_when_done();
        }
    }

    pub(super) fn decoded(&mut self, now: Instant, slot: u16) {
        self.divide(now);
        let request = self.slots[usize::from(slot)].request;
        if !self.hold_back(slot, &request) {
            self.serve(now, slot);
        }
    }

    /// Nothing holds a command back any more.
    pub(super) fn serve(&mut self, now: Instant, slot: u16) {
        let request = self.slots[usize::from(slot)].request;
        self.let_in(now, slot, &request);
        let beyond = request.end() > self.profile.geometry.sectors();
        let fua_unknown = request.flags.has(Flags::FUA) && !self.profile.link.fua;
        let unsupported = matches!(request.op, Op::Trim | Op::Compute) || fua_unknown || self.order_unknown(&request);
        if unsupported || beyond || (request.sectors == 0 && request.op != Op::Flush) {
            let outcome = if unsupported { Status::Unsupported } else { Status::OutOfRange };
            self.slots[usize::from(slot)].outcome = outcome;
            self.finish_at(now, slot);
            return;
        }
        match request.op {
            Op::Read => self.read(now, slot, &request),
            Op::Flush => self.flush(now, slot),
            _ if self.cached(&request) => self.write_cached(now, slot),
            _ => self.write_through(now, slot, &request),
        }
    }

    /// An adaptive buffer takes the division that is wanted, as soon as what is dirty or being read fits it.
    fn divide(&mut self, now: Instant) {
        let Some(division) = self.segmentation.as_ref().and_then(Segmentation::wanted) else {
            return;
        };
        self.buffer.prepare(&division);
        if self.buffer.segment_sectors() > u64::from(division.sectors) && matches!(self.activity, Activity::Prefetch(_))
        {
            self.break_off(now);
        }
        let filling = self.filling(now);
        if self.buffer.divide(&division, filling)
            && let Some(view) = &mut self.segmentation
        {
            view.divided();
        }
    }

    // Reads

    fn read(&mut self, now: Instant, slot: u16, request: &Request) {
        let lookup = match request.flags.has(Flags::FUA) {
            true => Lookup::Miss,
            false => self.look_up(slot),
        };
        match lookup {
            Lookup::Hit(segment) if !self.puts_off(now, request, segment, None) => {
                self.read_hit(now, slot, request, segment);
            }
            Lookup::Extends(segment)
                if self.streams_into(now, segment, request)
                    && !self.is_held_up()
                    && !self.puts_off(now, request, segment, None) =>
            {
                self.read_hit(now, slot, request, segment);
            }
            _ => self.enqueue(now, slot, request),
        }
        self.take_along(now);
    }

    /// A command waits while a stream is read ahead of: it may fill its segment, and goes no farther.
    fn is_held_up(&self) -> bool {
        matches!(self.profile.cache.read_ahead.hold, Hold::Track | Hold::Segment) && !self.commands.is_empty()
    }

    /// Until when a waiting command leaves `stream` alone behind a read that ended before `end`, the `run`-th of its kind.
    pub(super) fn holds(&self, stream: &Stream, end: u64, run: u32) -> Instant {
        let ahead = &self.profile.cache.read_ahead;
        let until = |block: u64| stream.when(self.platter(), block.min(stream.limit));
        let least = if ahead.min == 0 { Instant::ZERO } else { until(end + u64::from(ahead.min)) };
        let held = match ahead.hold {
            _ if run < 2 => Instant::ZERO,
            Hold::Never => Instant::ZERO,
            Hold::Track => until(self.track_end(self.profile.geometry.extent(end - 1, u32::MAX), false)),
            Hold::Segment | Hold::Stream => until(stream.limit),
        };
        least.max(held)
    }

    /// True when a prefetch into `segment` is going on or about to, so that a read may go on past its end: it tries no
    /// weak place again.
    pub(super) fn streams_into(&mut self, now: Instant, segment: usize, request: &Request) -> bool {
        let (_, end) = self.buffer.span(segment);
        self.filling(now) == Some(segment)
            && matches!(self.activity, Activity::Prefetch(_) | Activity::Access { then: Some(_), .. })
            && self.first_weak(end, request.end()).is_none()
    }

    /// The segment that the medium is filling, by a read or the prefetch that follows it.
    pub(super) fn filling(&mut self, now: Instant) -> Option<usize> {
        self.settle_stream(now);
        match &self.activity {
            Activity::Prefetch(stream) => Some(stream.segment),
            Activity::Access { purpose: Purpose::Command { segment, .. }, .. } => *segment,
            _ => None,
        }
    }

    /// The data are in the buffer, or a prefetch brings them.
    pub(super) fn read_hit(&mut self, now: Instant, slot: u16, request: &Request, segment: usize) {
        self.buffer.touch(segment);
        let run = self.buffer.reads_on(segment, request.lba, request.end());
        let (mut first, mut here) = (now, now);
        if self.filling(now) == Some(segment) {
            (first, here) = self.follow(now, request, segment, run);
        } else if !self.buffer.is_dirty(segment) {
            self.resume(now, request, segment, run);
        }
        if self.profile.cache.read_ahead.discards && self.buffer.span(segment).1 == request.end() {
            self.buffer.give_up(segment);
        }
        self.slots[usize::from(slot)].ledger.until(Part::Cache, here);
        if first > now {
            self.release_bus(slot);
        }
        self.send(slot, here, first);
    }

    /// A read from the segment being filled moves the prefetch's limit on. Answers when its first block and all its
    /// blocks are there.
    fn follow(&mut self, now: Instant, request: &Request, segment: usize, run: u32) -> (Instant, Instant) {
        self.carry_read_in_progress();
        let limit = match self.is_held_up() {
            true => request.end(),
            false => self.read_ahead_limit(request, segment, run, None),
        };
        let free = self.profile.cache.read_ahead.free_blocks;
        let (mut stream, earliest) = match &self.activity {
            Activity::Prefetch(stream) => (*stream, now),
            // They were there before it began.
            Activity::Access { access, .. } if request.end() <= access.lba() && !free => return (now, now),
            Activity::Access { then: Some(stream), sweep, .. } => (*stream, sweep.end.max(now)),
            Activity::Access { sweep, .. } => return (sweep.end.max(now), sweep.end.max(now)),
            Activity::Idle => return (now, now),
        };
        stream.go_on_to(limit);
        let platter = self.platter();
        let here = stream.when(platter, request.end()).max(earliest);
        let first = stream.when(platter, request.lba + 1).max(earliest).min(here);
        stream.promised = stream.promised.max(here);
        stream.held = self.holds(&stream, request.end(), run);
        if let Activity::Prefetch(ahead) | Activity::Access { then: Some(ahead), .. } = &mut self.activity {
            *ahead = stream;
        }
        self.buffer.extend(segment, stream.limit);
        (first, here)
    }

    /// How far to read after `request` into `segment`, the `run`-th read of its stream: as far as the segment,
    /// `read_ahead.max` and `read_ahead.until` allow. `next` is the track from the request's end on, where it is known.
    ///
    /// The blocks of a request stay in its segment where they are not read over. Those of a stream are not asked for
    /// again, nor can those of a request be kept that is longer than the segment: of them no more than half a segment
    /// stays. (Inferred: a ring of which all was full of what has been sent could not be read ahead into, and each
    /// request of a stream would wait for a revolution.)
    #[inline]
    pub(super) fn read_ahead_limit(&self, request: &Request, segment: usize, run: u32, next: Option<&Extent>) -> u64 {
        let ahead = &self.profile.cache.read_ahead;
        let end = request.end();
        if run < ahead.after {
            return end;
        }
        let (length, room) = (u64::from(request.sectors), self.buffer.segment_sectors());
        let stay = match ahead.over_requested {
            true => 0,
            false if run > 1 || length > room => length.min(room / 2),
            false => length,
        };
        let ring = end - stay + room;
        let limit = ring.min(end + u64::from(ahead.max)).max(end).min(self.profile.geometry.sectors());
        let limit = self.first_weak(end, limit).unwrap_or(limit);
        let geometry = &self.profile.geometry;
        let following = || next.copied().unwrap_or_else(|| geometry.extent(end, u32::MAX));
        match ahead.until {
            Until::Segment => limit,
            _ if limit == end => limit,
            Until::Track => limit.min(self.track_end(following(), false)),
            Until::Cylinder => limit.min(self.track_end(following(), true)),
            Until::NextTrack => {
                let following = following();
                let track = self.track_end(following, false);
                let (start, _) = self.buffer.span(segment);
                let began = geometry.extent(start, 1).cylinder_and_head();
                let same = end - start <= u64::from(following.before) && began == following.cylinder_and_head();
                let next_end = || self.track_end(geometry.extent(track, u32::MAX), false);
                limit.min(if same || track >= limit { track } else { next_end() })
            }
        }
    }

    /// The block after the last on the track, or the cylinder, that `first` is a part of.
    fn track_end(&self, first: Extent, cylinder: bool) -> u64 {
        let geometry = &self.profile.geometry;
        let mut end = first.end();
        if first.behind == 0 && !cylinder {
            return end;
        }
        while end < geometry.sectors() {
            let next = geometry.extent(end, u32::MAX);
            if next.cylinder != first.cylinder || (next.head != first.head && !cylinder) {
                break;
            }
            end = next.end();
        }
        end
    }

    /// A stopped prefetch goes on when nothing else wants the medium and no more than a track lies ahead of the host: to
    /// find its place again takes it a revolution at most, in which a host can take no more than that.
    fn resume(&mut self, now: Instant, request: &Request, segment: usize, run: u32) {
        let (_, end) = self.buffer.span(segment);
        let limit = self.read_ahead_limit(request, segment, run, None);
        let idle = matches!(self.activity, Activity::Idle) && self.commands.is_empty();
        if !idle || limit <= end || self.choose_from > now {
            return;
        }
        let extent = self.profile.geometry.extent(end, u32::MAX);
        let track = u64::from(extent.before) + u64::from(extent.sectors) + u64::from(extent.behind);
        if end.saturating_sub(request.end()) <= track && self.buffer.widen(segment, None) {
            let mut stream = Stream::start(self.platter(), now, self.arm, extent, limit, segment);
            stream.held = self.holds(&stream, request.end(), run);
            self.buffer.extend(segment, limit);
            self.activity = Activity::Prefetch(stream);
        }
    }

    /// Moves a read's data to the host: they are all in the buffer from `here`, and began to be at `first`.
    pub(super) fn send(&mut self, slot: u16, here: Instant, first: Instant) {
        let end = self.carry(slot, here, first);
        self.slots[usize::from(slot)].ledger.until(Part::Link, end);
        self.close(slot, end);
    }

    /// When a read's data have crossed the link: they are all in the buffer from `here`, and began to be at `first`. The
    /// link is theirs once.
    pub(super) fn carry(&mut self, slot: u16, here: Instant, first: Instant) -> Instant {
        if let Some(carried) = self.slots[usize::from(slot)].carried {
            return carried;
        }
        let first = first + self.service(slot);
        let sectors = self.slots[usize::from(slot)].request.sectors;
        let from = self.link_free(first, here, self.rate.time(u64::from(sectors) * SECTOR));
        let end = (here + self.last_sector).max(from + self.rate.time(u64::from(sectors) * SECTOR));
        self.occupy(from, end);
        self.slots[usize::from(slot)].carried = Some(end);
        end
    }

    /// When `sectors` blocks have crossed a link that nothing else wants: they are all in the buffer from `here`, and began
    /// to be at `first`.
    #[inline]
    pub(super) fn sent_by(&self, sectors: u32, here: Instant, first: Instant) -> Instant {
        let whole = self.rate.time(u64::from(sectors) * SECTOR);
        (here + self.last_sector).max(self.link.max(first) + whole)
    }

    /// The data of the read in progress have the link before those that come behind them.
    fn carry_read_in_progress(&mut self) {
        let Activity::Access { purpose: Purpose::Command { slot, .. }, sweep, access, .. } = &self.activity else {
            return;
        };
        let (slot, led, end, write) = (*slot, sweep.led, sweep.end, access.write);
        let sends = self.slots[usize::from(slot)].outcome == Status::Done && self.media_cache.is_none() && !write;
        if sends {
            self.carry(slot, end, led + self.profile.overhead.reselect);
        }
    }

    /// The command's work ends at `at`; its status still goes out.
    pub(super) fn close(&mut self, slot: u16, at: Instant) {
        let overhead = &self.profile.overhead;
        let command = &mut self.slots[usize::from(slot)];
        let write = matches!(command.request.op, Op::Write | Op::WriteZeroes);
        let end = at + if write { overhead.write_completion } else { overhead.completion };
        command.ledger.until(Part::Link, at);
        command.ledger.until(Part::Overhead, end);
        self.finish_at(end, slot);
    }

    /// The command completes at `at`, ties by tag.
    pub(super) fn finish_at(&mut self, at: Instant, slot: u16) {
        self.slots[usize::from(slot)].stage = Stage::Finishing;
        let tag = self.slots[usize::from(slot)].request.tag;
        let mut place = self.finishing.len();
        while place > 0 {
            let (before, other) = self.finishing[place - 1];
            if (before, self.slots[usize::from(other)].request.tag) <= (at, tag) {
                break;
            }
            place -= 1;
        }
        match place == self.finishing.len() {
            true => self.finishing.push_back((at, slot)),
            false => self.finishing.insert(place, (at, slot)),
        }
    }

    fn complete(&mut self, at: Instant, slot: u16) {
        let on_medium =
            matches!(self.activity, Activity::Access { purpose: Purpose::Command { slot: on, .. }, .. } if on == slot);
        let command = &mut self.slots[usize::from(slot)];
        let status = command.outcome;
        self.ready.push_back(command.completion(at));
        match on_medium {
            true => command.stage = Stage::Draining,
            false => self.release(at, slot),
        }
        if status != Status::Done {
            self.fail_queue(at, status);
        }
        if self.alone.is_some() || !self.held.is_empty() {
            self.let_next_in(at, slot);
        }
    }

    /// The slot is free again.
    pub(super) fn release(&mut self, at: Instant, slot: u16) {
        self.slots[usize::from(slot)].stage = Stage::Free;
        self.free.push(slot);
        if self.free.len() == self.slots.len() {
            self.quiet = at;
        }
    }

    // Writes and flushes

    fn write_through(&mut self, now: Instant, slot: u16, request: &Request) {
        self.buffer_loses(now, request);
        let bytes = if request.op == Op::Write { u64::from(request.sectors) * SECTOR } else { 0 };
        let from = self.link_free(now, now, self.write_rate.time(bytes));
        let to = from + self.write_rate.time(bytes);
        self.occupy(from, to);
        self.slots[usize::from(slot)].data = (from, to);
        self.write_or_park(now, slot);
    }

    /// Queues a write for the medium, after any dirty segment that holds the same blocks.
    fn write_or_park(&mut self, now: Instant, slot: u16) {
        let request = self.slots[usize::from(slot)].request;
        if self.buffer.overlaps_dirty(request.lba, request.end()) {
            self.slots[usize::from(slot)].stage = Stage::Parked;
            self.parked.push_back(slot);
        } else {
            self.enqueue(now, slot, &request);
        }
    }

    /// Blocks about to be written leave the clean segments; a prefetch that would bring them stops.
    fn buffer_loses(&mut self, now: Instant, request: &Request) {
        if let Some(segment) = self.filling(now) {
            let (start, end) = self.buffer.span(segment);
            if start < request.end() && request.lba < end {
                self.break_off(now);
            }
        }
        self.buffer.invalidate(request.lba, request.end());
    }

    /// Ends a prefetch at `now`, or calls off the one that was to follow an access.
    pub(super) fn break_off(&mut self, now: Instant) {
        self.settle_stream(now);
        match &mut self.activity {
            Activity::Prefetch(stream) => {
                let platter = Platter { geometry: &self.profile.geometry, mechanics: &self.profile.mechanics };
                self.buffer.cut_short(stream.segment, stream.filled(platter, now));
                self.arm = stream.arm();
                self.activity = Activity::Idle;
            }
            Activity::Access { access, purpose: Purpose::Command { segment: Some(segment), .. }, then, .. } => {
                *then = None;
                self.buffer.cut_short(*segment, access.end());
            }
            _ => {}
        }
    }

    /// Tries the parked writes again, in order.
    pub(super) fn unpark(&mut self, now: Instant) {
        while let Some(&slot) = self.parked.front() {
            let request = self.slots[usize::from(slot)].request;
            if !self.cached(&request) || self.slots[usize::from(slot)].round {
                if self.buffer.overlaps_dirty(request.lba, request.end()) {
                    return;
                }
                self.slots[usize::from(slot)].ledger.until(Part::Cache, now);
                self.enqueue(now, slot, &request);
            } else if !self.store(now, slot) {
                return;
            }
            self.parked.pop_front();
        }
    }

    /// A cached write that is longer than the segment in which it has to go round.
    fn goes_round(&self, request: &Request) -> bool {
        self.profile.cache.wraps
            && !self.profile.saves_buffer()
            && u64::from(request.sectors) > self.buffer.segment_sectors()
    }

    /// A write that goes round in its segment, on the medium now, is acknowledged when no more of it is left than the
    /// segment holds.
    pub(super) fn acknowledge_round(&mut self, slot: u16) {
        let Activity::Access { access, sweep, .. } = &self.activity else { return };
        let (geometry, mechanics) = (&self.profile.geometry, &self.profile.mechanics);
        let fits = access.end() - self.buffer.segment_sectors().min(u64::from(access.sectors));
        let passed =
            access.passes(geometry, mechanics).find(|pass| pass.extent.end() > fits).map_or(sweep.end, |pass| {
                pass.begin() + mechanics.turn(pass.extent.slot.wrapping_mul(fits.saturating_sub(pass.extent.lba)))
            });
        let command = &mut self.slots[usize::from(slot)];
        let all_in = passed.max(command.data.1).min(sweep.end);
        access.charge_until(all_in, geometry, mechanics, &mut command.ledger);
        self.link = self.link.max(all_in);
        let service = self.service(slot);
        self.close(slot, all_in + service);
    }

    fn write_cached(&mut self, now: Instant, slot: u16) {
        let request = self.slots[usize::from(slot)].request;
        if self.goes_round(&request) {
            self.slots[usize::from(slot)].round = true;
            self.write_through(now, slot, &request);
            return;
        }
        let head = self.heads_queue(&request);
        if (!self.parked.is_empty() && !head) || !self.store(now, slot) {
            self.release_bus(slot);
            self.slots[usize::from(slot)].stage = Stage::Parked;
            match head {
                true => self.parked.push_front(slot),
                false => self.parked.push_back(slot),
            }
        }
    }

    /// Puts a write into the buffer, at most a segment's length at a time and what replaces dirty blocks apart from what does
    /// not, as far as there is room, and acknowledges it when all of it is there. Answers whether it is.
    fn store(&mut self, now: Instant, slot: u16) -> bool {
        let Slot { request, mut stored, .. } = self.slots[usize::from(slot)];
        while stored < request.sectors {
            let lba = request.lba + u64::from(stored);
            let sectors = (self.buffer.meets_the_same(lba, request.end()) - lba) as u32;
            let sectors = self.share(lba, sectors);
            let most = self.saved_at_most();
            if most != u64::MAX && self.buffer.unwritten() + u64::from(sectors) > most {
                return false;
            }
            let part = Request { lba, sectors, ..request };
            if !self.store_part(now, slot, &part) {
                return false;
            }
            stored += sectors;
            self.slots[usize::from(slot)].stored = stored;
        }
        let arrived = self.slots[usize::from(slot)].ledger.mark();
        self.close(slot, arrived);
        true
    }

    /// How many dirty blocks a cut would leave, where the drive holds no more than it can save.
    fn saved_at_most(&self) -> u64 {
        match self.profile.cache.flash_sectors {
            0 => u64::MAX,
            sectors => sectors,
        }
    }

    /// How many of `sectors` blocks from `lba` one segment takes: no physical sector is shared by two.
    fn share(&self, lba: u64, sectors: u32) -> u32 {
        let room = self.buffer.dirty_sectors().min(self.saved_at_most());
        let unit = u64::from(self.profile.physical_sector) / SECTOR;
        match (lba + room) / unit * unit {
            _ if u64::from(sectors) <= room => sectors,
            end if end > lba => (end - lba) as u32,
            _ => room as u32,
        }
    }

    /// Puts a part of a write, no longer than a segment, into the buffer if there is room.
    fn store_part(&mut self, now: Instant, slot: u16, part: &Request) -> bool {
        let fence = self.flushes.back().map_or(0, |&(_, fence)| fence);
        let passed = self.destaged(now, part.lba);
        let room = self.buffer.room(part.lba, part.end(), fence, passed);
        if room == Room::Wait {
            return false;
        }
        self.buffer_loses(now, part);
        self.find_memory(now, u64::from(part.sectors));
        let bytes = if part.op == Op::Write { u64::from(part.sectors) * SECTOR } else { 0 };
        // The part before may still be on the link.
        let begin = now.max(self.slots[usize::from(slot)].ledger.mark()) + self.service(slot);
        let from = self.link_free(begin, begin, self.write_rate.time(bytes));
        let arrived = from + self.write_rate.time(bytes);
        let piece = Piece { lba: part.lba, sectors: part.sectors, stamp: part.stamp, arrived };
        match room {
            Room::Join(segment) => self.buffer.write(segment, piece, now),
            Room::Within(segment) => self.overwrite(now, segment, piece),
            _ => match self.take_segment(now, part.lba) {
                Some(segment) => self.buffer.write(segment, piece, now),
                None => return false,
            },
        }
        self.occupy(from, arrived);
        let ledger = &mut self.slots[usize::from(slot)].ledger;
        ledger.until(Part::Cache, ledger.mark().max(now));
        ledger.until(Part::Link, arrived);
        true
    }

    fn overwrite(&mut self, now: Instant, segment: usize, piece: Piece) {
        let wanted = self.landings_wanted;
        let landings = &mut self.landings;
        self.buffer.overwrite(segment, piece, |old| {
            if wanted {
                landings.push_back(old.landing(now, now, LandingKind::Discarded));
            }
        });
    }

    /// A segment for a run from `start`; a prefetch gives its own up if there is no other.
    fn take_segment(&mut self, now: Instant, start: u64) -> Option<usize> {
        let filling = self.filling(now);
        if let Some(segment) = self.buffer.allocate_run(start, filling) {
            return Some(segment);
        }
        self.give_up_segment(now);
        self.buffer.allocate_run(start, None)
    }

    /// Memory for so many written blocks; a prefetch gives its own up if there is no other.
    fn find_memory(&mut self, now: Instant, sectors: u64) {
        let filling = self.filling(now);
        if !self.buffer.find_memory(sectors, filling) {
            self.give_up_segment(now);
            self.buffer.find_memory(sectors, None);
        }
    }

    /// A prefetch ends; a read in progress goes on past the buffer.
    fn give_up_segment(&mut self, now: Instant) {
        self.break_off(now);
        if let Activity::Access { purpose: Purpose::Command { segment, .. }, .. } = &mut self.activity {
            *segment = None;
        }
    }

    /// The block before which all of the run that is being destaged is on the medium at `now`; asked for where a write
    /// at `lba` might join it.
    fn destaged(&self, now: Instant, lba: u64) -> u64 {
        let Activity::Access { access, purpose: Purpose::Destage(segment), .. } = &self.activity else { return 0 };
        if self.buffer.span(*segment).1 != lba {
            return 0;
        }
        let (geometry, mechanics) = (&self.profile.geometry, &self.profile.mechanics);
        let passes = access.passes(geometry, mechanics).take_while(|pass| pass.end <= now);
        passes.last().map_or(0, |pass| pass.extent.end())
    }

    fn flush(&mut self, now: Instant, slot: u16) {
        let skipped = self.profile.faults.early_flush || self.profile.saves_buffer();
        if skipped || (self.buffer.dirty_count() == 0 && !self.is_draining()) {
            self.close(slot, now);
            return;
        }
        self.slots[usize::from(slot)].stage = Stage::Flushing;
        self.flushes.push_back((slot, self.buffer.next_serial()));
    }

    /// Flushes whose segments are all on the medium are done.
    pub(super) fn end_flushes(&mut self, now: Instant) {
        if self.is_draining() {
            return;
        }
        while let Some(&(slot, fence)) = self.flushes.front() {
            if self.buffer.oldest_serial().is_some_and(|serial| serial < fence) {
                return;
            }
            self.flushes.pop_front();
            self.slots[usize::from(slot)].ledger.until(Part::Flush, now);
            self.close(slot, now);
        }
    }
}
