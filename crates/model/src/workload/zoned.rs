//! fio's `zonemode=zbd` on drives without zones: zones with write pointers that fio keeps itself.
//!
//! A file is cut into zones of one size, all empty at first. A write goes to the write pointer of the zone that its drawn
//! place lies in, or of an open one where no more may be open; a zone that is full is emptied and written again. A read
//! goes where something was written. Emptying a zone issues no request. Workers on one file share its zones: a zone with
//! a request in flight belongs to that worker until the request has ended.
//!
//! A request that must wait, for the worker's own requests or for another's, is retried later and remembers how far it
//! came. Not here: which place is drawn, the map of blocks, sizes. Source: fio 3.33, `zbd.c`, with its names in comments.

use alloc::vec::Vec;

use super::fio::{READ, WRITE};
use super::job::{Job, Pattern, Zoned};

/// Millionths in one.
const MILLION: u128 = 1_000_000;

/// The zones of all files of a job, by the first byte of the file on the device.
#[derive(Clone, Debug, Default)]
pub(crate) struct JobZones {
    all: Vec<FileZones>,
    /// A request in the zones has ended since this was last taken.
    released: bool,
}

impl JobZones {
    /// The zones of the files of a job's workers.
    pub(crate) fn new(job: &Job) -> JobZones {
        let mut spaces: Vec<FileZones> = Vec::new();
        for worker in &job.workers {
            let Pattern::Fio(pattern) = &worker.pattern else { continue };
            for (file, zoned) in
                pattern.zoned.iter().flat_map(|zoned| zoned.files.iter().map(move |file| (file, zoned)))
            {
                if spaces.iter().all(|space| space.start != file.start) {
                    spaces.push(FileZones::new(file.start, file.bytes, zoned));
                }
            }
        }
        JobZones { all: spaces, released: false }
    }

    /// True if a request in the zones has ended since this was last called.
    pub(crate) fn take_released(&mut self) -> bool {
        core::mem::take(&mut self.released)
    }

    /// Returns the index of the file that begins at `start`.
    pub(crate) fn file_index(&self, start: u64) -> usize {
        self.all.iter().position(|space| space.start == start).expect("every file of a zoned job has its zones")
    }

    /// Returns the zones of the file at an index.
    pub(crate) fn file_zones(&mut self, place: usize) -> &mut FileZones {
        &mut self.all[place]
    }

    /// Notes the end of a request in a file.
    pub(crate) fn end_request(&mut self, place: usize, write: bool, byte: u64, bytes: u64, opened: &mut u32) {
        self.all[place].record_end(write, byte, bytes, opened);
        self.released = true;
    }
}

/// A zone with its write pointer.
#[derive(Clone, Copy, Debug, Default)]
struct EmulatedZone {
    /// Bytes written from its beginning on.
    written: u64,
    open: bool,
    /// Emptied before the next write.
    reset: bool,
    /// Requests in flight, all of this worker.
    held: u32,
    holder: u16,
}

/// The zones of a file.
#[derive(Clone, Debug)]
pub(crate) struct FileZones {
    /// Where the file begins on the device.
    start: u64,
    size: u64,
    capacity: u64,
    zones: Vec<EmulatedZone>,
    most_open: usize,
    /// Numbers of open zones in the order of their opening; stale ones stay after the last, as in fio's array.
    open: Vec<usize>,
    opened: usize,
    /// Bytes written in the zones.
    with_data: u64,
    /// Writes until a zone is emptied.
    left: u32,
}

/// The part of a file that a worker uses, in bytes from the file's beginning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UsedFilePart {
    /// Where it begins; `zoneskip` moves it.
    pub(crate) from: u64,
    pub(crate) bytes: u64,
    /// The first zone, and the one after the last.
    pub(crate) zones: [usize; 2],
}

impl UsedFilePart {
    /// fio's `is_valid_offset`.
    fn contains(&self, place: u64) -> bool {
        place.wrapping_sub(self.from) < self.bytes
    }
}

/// The worker that makes a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ZoneRequester {
    pub(crate) worker: u16,
    /// Requests that the worker has in flight.
    pub(crate) in_flight: u32,
    /// Whether its places are random.
    pub(crate) random: bool,
}

/// A request to be fitted into the zones, and how far that came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ZoneRequest {
    pub(crate) direction: usize,
    /// First byte in the file.
    pub(crate) place: u64,
    pub(crate) bytes: u64,
    /// The smallest block of its direction.
    pub(crate) least: u64,
    step: ZoneWriteStep,
    zone: usize,
    /// Whether to look for a zone to open once more, after all requests in flight have ended.
    again: bool,
    /// fio has waited for all requests in flight, if there were any, since this was last taken.
    pub(crate) quiesces: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ZoneWriteStep {
    Begin,
    /// The zone is full: another is opened.
    Open,
    /// A zone was found.
    Found,
    /// The zone is to be emptied if it has to be.
    Empty,
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ZoneOutcome {
    /// Issued at the place that it has now.
    Go,
    /// There is no place for it.
    End,
    /// Retried when all of the worker's requests have ended.
    Drain,
    /// Retried when a request of another worker has ended.
    Wait,
}

impl ZoneRequest {
    pub(crate) fn new(direction: usize, place: u64, bytes: u64, least: u64) -> ZoneRequest {
        ZoneRequest {
            direction,
            place,
            bytes,
            least,
            step: ZoneWriteStep::Begin,
            zone: 0,
            again: true,
            quiesces: false,
        }
    }
}

impl FileZones {
    fn new(start: u64, bytes: u64, zoned: &Zoned) -> FileZones {
        let zones = bytes.div_ceil(zoned.size) as usize;
        let most_open = zoned.most_open as usize;
        FileZones {
            start,
            size: zoned.size,
            capacity: zoned.capacity,
            zones: alloc::vec![EmulatedZone::default(); zones],
            most_open,
            open: alloc::vec![0; most_open + 1],
            opened: 0,
            with_data: 0,
            left: u32::MAX,
        }
    }

    /// The zone of a byte; past the last one the number of zones.
    pub(crate) fn zone_index(&self, place: u64) -> usize {
        ((place / self.size) as usize).min(self.zones.len())
    }

    /// Whether nothing is written in the zones.
    pub(crate) fn is_empty(&self) -> bool {
        self.with_data == 0
    }

    fn zone_start(&self, zone: usize) -> u64 {
        zone as u64 * self.size
    }

    /// Whether another block does not fit into a zone.
    fn is_full(&self, zone: usize, least: u64) -> bool {
        self.zones[zone].written + least > self.capacity
    }

    /// Whether another worker has requests in flight there.
    fn is_locked(&self, zone: usize, worker: u16) -> bool {
        let zone = &self.zones[zone];
        zone.held > 0 && zone.holder != worker
    }

    /// fio's `zbd_file_reset`: a file is opened, or a pass begins.
    pub(crate) fn count_written(&mut self, reach: &UsedFilePart, every: u32) {
        let [first, last] = reach.zones;
        self.with_data = self.zones[first..last].iter().map(|zone| zone.written).sum();
        self.left = if every == 0 { u32::MAX } else { every };
    }

    /// fio's `setup_zbd_zone_mode`, first part: where sequential writing goes on after the capacity of a zone.
    pub(crate) fn place_past_capacity(&self, next: u64) -> Option<u64> {
        let zone = self.zone_index(next);
        let jumps =
            zone < self.zones.len() && self.capacity < self.size && next >= self.zone_start(zone) + self.capacity;
        jumps.then(|| self.zone_start(zone + 1))
    }

    /// fio's `setup_zbd_zone_mode`, second part: whether the zone at `next` is done, so that zones are skipped.
    pub(crate) fn is_zone_done(&self, next: u64, direction: usize, beyond: bool) -> bool {
        let zone = self.zone_index(next);
        let written = self.zones.get(zone).map_or(0, |zone| zone.written);
        zone == self.zones.len() || (direction == READ && !beyond && next >= self.zone_start(zone) + written)
    }

    /// fio's `zbd_adjust_block`. `opened` counts the zones that the worker has open.
    pub(crate) fn adjust_request(
        &mut self,
        ask: &mut ZoneRequest,
        reach: &UsedFilePart,
        zoned: &Zoned,
        by: ZoneRequester,
        opened: &mut u32,
    ) -> ZoneOutcome {
        match ask.direction {
            READ if zoned.beyond => ZoneOutcome::Go,
            READ => self.adjust_read(ask, reach, by),
            _ => self.adjust_write(ask, reach, zoned, by, opened),
        }
    }

    fn adjust_read(&self, ask: &mut ZoneRequest, reach: &UsedFilePart, by: ZoneRequester) -> ZoneOutcome {
        let (own, least) = (self.zone_index(ask.place), ask.least);
        if self.is_locked(own, by.worker) {
            return ZoneOutcome::Wait;
        }
        let ends = |zone: usize| self.zone_start(zone) + self.zones[zone].written;
        let mut zone = own;
        if self.zones[own].written < least || (!by.random && ask.place + least > ends(own)) {
            zone = match self.nearest_with_data(own, least, reach, by) {
                Ok(Some(found)) => found,
                Ok(None) => return ZoneOutcome::End,
                Err(()) => return ZoneOutcome::Wait,
            };
            if !by.random {
                ask.place = self.zone_start(zone);
            }
        }
        let written = self.zones[zone].written;
        if written <= ask.bytes {
            ask.place = self.zone_start(zone);
        } else if by.random {
            let within = (ask.place - self.zone_start(own)) % (written - ask.bytes) / least * least;
            ask.place = self.zone_start(zone) + within;
        }
        ask.bytes = ask.bytes.min(ends(zone) - ask.place) / least * least;
        ZoneOutcome::Go
    }

    /// fio's `zbd_find_zone`: the next zone that holds `least` bytes; for random places the nearest.
    fn nearest_with_data(
        &self,
        zone: usize,
        least: u64,
        reach: &UsedFilePart,
        by: ZoneRequester,
    ) -> Result<Option<usize>, ()> {
        let [first, last] = reach.zones;
        let holds = |zone: usize| match self.is_locked(zone, by.worker) {
            true => Err(()),
            false => Ok(self.zones[zone].written >= least),
        };
        for step in 1.. {
            let (up, down) = (zone + step, zone.checked_sub(step).filter(|down| *down >= first));
            if up >= last && (down.is_none() || !by.random) {
                break;
            }
            if up < last && holds(up)? {
                return Ok(Some(up));
            }
            if let Some(down) = down.filter(|_| by.random)
                && holds(down)?
            {
                return Ok(Some(down));
            }
        }
        Ok(None)
    }

    fn adjust_write(
        &mut self,
        ask: &mut ZoneRequest,
        reach: &UsedFilePart,
        zoned: &Zoned,
        by: ZoneRequester,
        opened: &mut u32,
    ) -> ZoneOutcome {
        loop {
            let more = match ask.step {
                ZoneWriteStep::Begin => self.begin_write(ask, reach, zoned, by, opened),
                ZoneWriteStep::Open => self.open_other_zone(ask, reach, zoned, by, opened),
                ZoneWriteStep::Found => self.count_reset_turn(ask, reach, zoned, by),
                ZoneWriteStep::Empty => return self.place_at_pointer(ask, reach, by),
            };
            if let Some(answer) = more {
                return answer;
            }
        }
    }

    /// Chooses the zone of the place, if that is open or may be; else one that is open (`zbd_convert_to_open_zone`).
    fn begin_write(
        &mut self,
        ask: &mut ZoneRequest,
        reach: &UsedFilePart,
        zoned: &Zoned,
        by: ZoneRequester,
        opened: &mut u32,
    ) -> Option<ZoneOutcome> {
        if ask.bytes > self.size {
            return Some(ZoneOutcome::End);
        }
        ask.zone = self.zone_index(ask.place);
        if self.is_locked(ask.zone, by.worker) {
            return Some(ZoneOutcome::Wait);
        }
        if self.try_open(ask.zone, zoned, opened) {
            ask.step = ZoneWriteStep::Found;
            return None;
        }
        let [first, last] = reach.zones;
        let picked = (u128::from(ask.place - reach.from) * self.opened as u128 / u128::from(reach.bytes)) as usize;
        ask.zone = self.open[picked].clamp(first, last - 1);
        if self.opened > 0 {
            let places = (picked..self.opened).chain(0..picked);
            let candidate = places.map(|place| self.open[place]).find(|zone| (first..last).contains(zone));
            let Some(candidate) = candidate else { return Some(ZoneOutcome::End) };
            ask.zone = candidate;
            if self.is_locked(candidate, by.worker) {
                return Some(ZoneOutcome::Wait);
            }
            if !self.is_full(candidate, ask.least) {
                ask.step = ZoneWriteStep::Found;
                return None;
            }
        }
        ask.step = ZoneWriteStep::Open;
        let of_worker = zoned.most_open_of_worker;
        let waits = self.opened == last - first
            || (self.most_open > 0 && self.opened == self.most_open)
            || (of_worker > 0 && *opened == of_worker);
        ask.quiesces |= waits;
        (waits && by.in_flight > 0).then_some(ZoneOutcome::Drain)
    }

    /// Chooses the next zone that may be opened, else an open one with room; else looks once more when all requests in flight have ended.
    fn open_other_zone(
        &mut self,
        ask: &mut ZoneRequest,
        reach: &UsedFilePart,
        zoned: &Zoned,
        by: ZoneRequester,
        opened: &mut u32,
    ) -> Option<ZoneOutcome> {
        let [first, last] = reach.zones;
        let mut zone = ask.zone;
        for _ in 0..reach.bytes / self.size {
            zone += 1;
            if zone >= last || !reach.contains(self.zone_start(zone)) {
                zone = first;
            }
            if self.is_locked(zone, by.worker) {
                return Some(ZoneOutcome::Wait);
            }
            if !self.zones[zone].open && self.try_open(zone, zoned, opened) {
                (ask.zone, ask.step) = (zone, ZoneWriteStep::Found);
                return None;
            }
        }
        for place in 0..self.opened {
            let other = self.open[place];
            if !(first..last).contains(&other) {
                continue;
            }
            zone = other;
            if self.is_locked(zone, by.worker) {
                return Some(ZoneOutcome::Wait);
            }
            if !self.is_full(zone, ask.least) {
                (ask.zone, ask.step) = (zone, ZoneWriteStep::Found);
                return None;
            }
        }
        let others = self.zones.iter().any(|zone| zone.held > 0 && zone.holder != by.worker);
        if !others && by.in_flight == 0 && !ask.again {
            return Some(ZoneOutcome::End);
        }
        (ask.zone, ask.again, ask.quiesces) = (zone, others || by.in_flight > 0, true);
        match () {
            () if by.in_flight > 0 => Some(ZoneOutcome::Drain),
            () if others => Some(ZoneOutcome::Wait),
            () => None,
        }
    }

    /// Marks a zone to be emptied every so many writes, beyond the threshold.
    fn count_reset_turn(
        &mut self,
        ask: &mut ZoneRequest,
        reach: &UsedFilePart,
        zoned: &Zoned,
        by: ZoneRequester,
    ) -> Option<ZoneOutcome> {
        let much = u128::from(self.with_data) * MILLION >= u128::from(reach.bytes) * u128::from(zoned.reset_threshold);
        if zoned.reset_every > 0 && much {
            self.left = self.left.saturating_sub(1);
            if self.left == 0 {
                self.left = zoned.reset_every;
                self.zones[ask.zone].reset = true;
            }
        }
        ask.step = ZoneWriteStep::Empty;
        let empties = self.zones[ask.zone].reset || self.is_full(ask.zone, ask.least);
        ask.quiesces |= empties;
        (empties && by.in_flight > 0).then_some(ZoneOutcome::Drain)
    }

    /// Empties the zone if it has to be, and places the write at its write pointer.
    fn place_at_pointer(&mut self, ask: &mut ZoneRequest, reach: &UsedFilePart, by: ZoneRequester) -> ZoneOutcome {
        if self.is_locked(ask.zone, by.worker) {
            return ZoneOutcome::Wait;
        }
        let full = self.is_full(ask.zone, ask.least);
        let zone = &mut self.zones[ask.zone];
        if zone.reset || full {
            zone.reset = false;
            self.with_data = self.with_data.saturating_sub(zone.written);
            zone.written = 0;
        }
        let written = zone.written;
        ask.place = self.zone_start(ask.zone) + written;
        ask.bytes = ask.bytes.min(self.capacity.saturating_sub(written)) / ask.least * ask.least;
        if reach.contains(ask.place) && ask.bytes > 0 { ZoneOutcome::Go } else { ZoneOutcome::End }
    }

    /// fio's `zbd_open_zone`: opens a zone if it is not open and may be; true if it can be written.
    fn try_open(&mut self, zone: usize, zoned: &Zoned, opened: &mut u32) -> bool {
        if self.most_open == 0 {
            return true;
        }
        if self.zones[zone].open {
            return self.zones[zone].written < self.capacity;
        }
        let of_worker = zoned.most_open_of_worker;
        if (of_worker > 0 && *opened >= of_worker) || self.opened >= self.most_open {
            return false;
        }
        self.open[self.opened] = zone;
        self.opened += 1;
        *opened += 1;
        self.zones[zone].open = true;
        true
    }

    /// Notes that a request is issued (`zbd_queue_io`).
    pub(crate) fn record_issue(&mut self, direction: usize, place: u64, bytes: u64, worker: u16) {
        let index = self.zone_index(place);
        let within = place - self.zone_start(index);
        let zone = &mut self.zones[index];
        (zone.held, zone.holder) = (zone.held + 1, worker);
        if direction == WRITE {
            let end = (within + bytes).min(self.capacity);
            self.with_data += end.saturating_sub(zone.written);
            zone.written = end;
        }
    }

    /// Notes that a request has ended (`zbd_put_io`): a full zone is closed.
    fn record_end(&mut self, write: bool, place: u64, bytes: u64, opened: &mut u32) {
        let index = self.zone_index(place);
        let within = place - self.zone_start(index);
        let zone = &mut self.zones[index];
        zone.held = zone.held.saturating_sub(1);
        if !write || !zone.open || within + bytes < self.capacity {
            return;
        }
        zone.open = false;
        if let Some(at) = self.open[..self.opened].iter().position(|open| *open == index) {
            self.open.copy_within(at + 1.., at);
            self.opened -= 1;
            *opened = opened.saturating_sub(1);
        }
    }
}
