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
    files: Vec<FileZones>,
    /// A request in the zones has ended since this was last taken.
    released: bool,
}

impl JobZones {
    /// The zones of the files of a job's workers.
    pub(crate) fn new(job: &Job) -> JobZones {
        let mut files: Vec<FileZones> = Vec::new();
        for worker in &job.workers {
            let Pattern::Fio(pattern) = &worker.pattern else { continue };
            for (file, zoned) in
                pattern.zoned.iter().flat_map(|zoned| zoned.files.iter().map(move |file| (file, zoned)))
            {
                if files.iter().all(|known| known.start != file.start) {
                    files.push(FileZones::new(file.start, file.bytes, zoned));
                }
            }
        }
        JobZones { files, released: false }
    }

    /// True if a request in the zones has ended since this was last called.
    pub(crate) fn take_released(&mut self) -> bool {
        core::mem::take(&mut self.released)
    }

    /// Returns the index of the file that begins at `start`.
    pub(crate) fn file_index(&self, start: u64) -> usize {
        self.files.iter().position(|file| file.start == start).expect("every file of a zoned job has its zones")
    }

    /// Returns the zones of the file at an index.
    pub(crate) fn file_zones(&mut self, file: usize) -> &mut FileZones {
        &mut self.files[file]
    }

    /// Notes the end of a request from `place` on in the file at an index; `worker_open` counts the zones that the worker has open.
    pub(crate) fn end_request(&mut self, file: usize, write: bool, place: u64, bytes: u64, worker_open: &mut u32) {
        self.files[file].record_end(write, place, bytes, worker_open);
        self.released = true;
    }
}

/// A zone with its write pointer.
#[derive(Clone, Copy, Debug, Default)]
struct EmulatedZone {
    /// Bytes written from its beginning on.
    written: u64,
    open: bool,
    /// To be emptied before the next write.
    reset: bool,
    /// Requests in flight, all of the worker `holder`.
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
    /// Zones in the order of their opening: the first `open_count` are open, stale ones stay behind them, as in fio's array.
    open: Vec<usize>,
    open_count: usize,
    /// Bytes written in the zones.
    with_data: u64,
    /// Writes until a zone is marked to be emptied.
    until_reset: u32,
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
    looks_again: bool,
    /// fio has waited for all requests in flight, if there were any, since this was last taken.
    pub(crate) quiesces: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ZoneWriteStep {
    Begin,
    /// The open zone chosen is full, or none is open: another is opened.
    Open,
    /// A zone was found: whether it is emptied is decided.
    Found,
    /// The zone is emptied if it has to be, and written at its pointer.
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
            looks_again: true,
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
            open_count: 0,
            with_data: 0,
            until_reset: u32::MAX,
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

    /// Whether a block of `least` bytes does not fit into a zone any more.
    fn is_full(&self, zone: usize, least: u64) -> bool {
        self.zones[zone].written + least > self.capacity
    }

    /// Whether another worker has requests in flight there.
    fn is_locked(&self, zone: usize, worker: u16) -> bool {
        let zone = &self.zones[zone];
        zone.held > 0 && zone.holder != worker
    }

    /// fio's `zbd_file_reset`: when a file is opened or a pass begins, counts what is written and restarts the turns of emptying.
    pub(crate) fn count_written(&mut self, part: &UsedFilePart, every: u32) {
        let [first, last] = part.zones;
        self.with_data = self.zones[first..last].iter().map(|zone| zone.written).sum();
        self.until_reset = if every == 0 { u32::MAX } else { every };
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

    /// fio's `zbd_adjust_block`: moves and shortens a request to fit the zones. `worker_open` counts the zones that the worker has open.
    pub(crate) fn adjust_request(
        &mut self,
        request: &mut ZoneRequest,
        part: &UsedFilePart,
        zoned: &Zoned,
        by: ZoneRequester,
        worker_open: &mut u32,
    ) -> ZoneOutcome {
        match request.direction {
            READ if zoned.beyond => ZoneOutcome::Go,
            READ => self.adjust_read(request, part, by),
            _ => self.adjust_write(request, part, zoned, by, worker_open),
        }
    }

    /// Places a read where data are: in its own zone if that has them, else in another; shortens it to what is written there.
    fn adjust_read(&self, request: &mut ZoneRequest, part: &UsedFilePart, by: ZoneRequester) -> ZoneOutcome {
        let (own, least) = (self.zone_index(request.place), request.least);
        if self.is_locked(own, by.worker) {
            return ZoneOutcome::Wait;
        }
        let ends = |zone: usize| self.zone_start(zone) + self.zones[zone].written;
        let mut zone = own;
        if self.zones[own].written < least || (!by.random && request.place + least > ends(own)) {
            zone = match self.nearest_with_data(own, least, part, by) {
                Ok(Some(found)) => found,
                Ok(None) => return ZoneOutcome::End,
                Err(()) => return ZoneOutcome::Wait,
            };
            if !by.random {
                request.place = self.zone_start(zone);
            }
        }
        let written = self.zones[zone].written;
        if written <= request.bytes {
            request.place = self.zone_start(zone);
        } else if by.random {
            // A random place in what is written, from the drawn place in its own zone.
            let within = (request.place - self.zone_start(own)) % (written - request.bytes) / least * least;
            request.place = self.zone_start(zone) + within;
        }
        request.bytes = request.bytes.min(ends(zone) - request.place) / least * least;
        ZoneOutcome::Go
    }

    /// fio's `zbd_find_zone`: the next zone that holds `least` bytes; for random places the nearest. An error: one on the way is locked.
    fn nearest_with_data(
        &self,
        zone: usize,
        least: u64,
        part: &UsedFilePart,
        by: ZoneRequester,
    ) -> Result<Option<usize>, ()> {
        let [first, last] = part.zones;
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

    /// Takes a write through its steps; one that was put off goes on where it stopped.
    fn adjust_write(
        &mut self,
        request: &mut ZoneRequest,
        part: &UsedFilePart,
        zoned: &Zoned,
        by: ZoneRequester,
        worker_open: &mut u32,
    ) -> ZoneOutcome {
        loop {
            let outcome = match request.step {
                ZoneWriteStep::Begin => self.begin_write(request, part, zoned, by, worker_open),
                ZoneWriteStep::Open => self.open_other_zone(request, part, zoned, by, worker_open),
                ZoneWriteStep::Found => self.count_reset_turn(request, part, zoned, by),
                ZoneWriteStep::Empty => return self.place_at_pointer(request, part, by),
            };
            if let Some(outcome) = outcome {
                return outcome;
            }
        }
    }

    /// Chooses the zone of the place, if that is open or may be; else one that is open (`zbd_convert_to_open_zone`).
    fn begin_write(
        &mut self,
        request: &mut ZoneRequest,
        part: &UsedFilePart,
        zoned: &Zoned,
        by: ZoneRequester,
        worker_open: &mut u32,
    ) -> Option<ZoneOutcome> {
        if request.bytes > self.size {
            return Some(ZoneOutcome::End);
        }
        request.zone = self.zone_index(request.place);
        if self.is_locked(request.zone, by.worker) {
            return Some(ZoneOutcome::Wait);
        }
        if self.try_open(request.zone, zoned, worker_open) {
            request.step = ZoneWriteStep::Found;
            return None;
        }
        let [first, last] = part.zones;
        // The place in the part picks an open zone; with none open, a stale one, after which the search begins.
        let picked =
            (u128::from(request.place - part.from) * self.open_count as u128 / u128::from(part.bytes)) as usize;
        request.zone = self.open[picked].clamp(first, last - 1);
        if self.open_count > 0 {
            let order = (picked..self.open_count).chain(0..picked);
            let candidate = order.map(|index| self.open[index]).find(|zone| (first..last).contains(zone));
            let Some(candidate) = candidate else { return Some(ZoneOutcome::End) };
            request.zone = candidate;
            if self.is_locked(candidate, by.worker) {
                return Some(ZoneOutcome::Wait);
            }
            if !self.is_full(candidate, request.least) {
                request.step = ZoneWriteStep::Found;
                return None;
            }
        }
        request.step = ZoneWriteStep::Open;
        let of_worker = zoned.most_open_of_worker;
        let waits = self.open_count == last - first
            || (self.most_open > 0 && self.open_count == self.most_open)
            || (of_worker > 0 && *worker_open == of_worker);
        request.quiesces |= waits;
        (waits && by.in_flight > 0).then_some(ZoneOutcome::Drain)
    }

    /// Chooses the next zone that may be opened, else an open one with room; else looks once more when all requests in flight have ended.
    fn open_other_zone(
        &mut self,
        request: &mut ZoneRequest,
        part: &UsedFilePart,
        zoned: &Zoned,
        by: ZoneRequester,
        worker_open: &mut u32,
    ) -> Option<ZoneOutcome> {
        let [first, last] = part.zones;
        let mut zone = request.zone;
        for _ in 0..part.bytes / self.size {
            zone += 1;
            if zone >= last || !part.contains(self.zone_start(zone)) {
                zone = first;
            }
            if self.is_locked(zone, by.worker) {
                return Some(ZoneOutcome::Wait);
            }
            if !self.zones[zone].open && self.try_open(zone, zoned, worker_open) {
                (request.zone, request.step) = (zone, ZoneWriteStep::Found);
                return None;
            }
        }
        for index in 0..self.open_count {
            let other = self.open[index];
            if !(first..last).contains(&other) {
                continue;
            }
            zone = other;
            if self.is_locked(zone, by.worker) {
                return Some(ZoneOutcome::Wait);
            }
            if !self.is_full(zone, request.least) {
                (request.zone, request.step) = (zone, ZoneWriteStep::Found);
                return None;
            }
        }
        let others = self.zones.iter().any(|zone| zone.held > 0 && zone.holder != by.worker);
        if !others && by.in_flight == 0 && !request.looks_again {
            return Some(ZoneOutcome::End);
        }
        (request.zone, request.looks_again, request.quiesces) = (zone, others || by.in_flight > 0, true);
        match () {
            () if by.in_flight > 0 => Some(ZoneOutcome::Drain),
            () if others => Some(ZoneOutcome::Wait),
            () => None,
        }
    }

    /// Counts a write beyond the threshold, the last of so many marks its zone to be emptied. Emptying waits for the worker's requests.
    fn count_reset_turn(
        &mut self,
        request: &mut ZoneRequest,
        part: &UsedFilePart,
        zoned: &Zoned,
        by: ZoneRequester,
    ) -> Option<ZoneOutcome> {
        let past_threshold =
            u128::from(self.with_data) * MILLION >= u128::from(part.bytes) * u128::from(zoned.reset_threshold);
        if zoned.reset_every > 0 && past_threshold {
            self.until_reset = self.until_reset.saturating_sub(1);
            if self.until_reset == 0 {
                self.until_reset = zoned.reset_every;
                self.zones[request.zone].reset = true;
            }
        }
        request.step = ZoneWriteStep::Empty;
        let empties = self.zones[request.zone].reset || self.is_full(request.zone, request.least);
        request.quiesces |= empties;
        (empties && by.in_flight > 0).then_some(ZoneOutcome::Drain)
    }

    /// Empties the zone if it has to be, and places the write at its write pointer.
    fn place_at_pointer(&mut self, request: &mut ZoneRequest, part: &UsedFilePart, by: ZoneRequester) -> ZoneOutcome {
        if self.is_locked(request.zone, by.worker) {
            return ZoneOutcome::Wait;
        }
        let full = self.is_full(request.zone, request.least);
        let zone = &mut self.zones[request.zone];
        if zone.reset || full {
            zone.reset = false;
            self.with_data = self.with_data.saturating_sub(zone.written);
            zone.written = 0;
        }
        let written = zone.written;
        request.place = self.zone_start(request.zone) + written;
        request.bytes = request.bytes.min(self.capacity.saturating_sub(written)) / request.least * request.least;
        if part.contains(request.place) && request.bytes > 0 { ZoneOutcome::Go } else { ZoneOutcome::End }
    }

    /// fio's `zbd_open_zone`: opens a zone if it is not open and may be; true if it can be written.
    fn try_open(&mut self, zone: usize, zoned: &Zoned, worker_open: &mut u32) -> bool {
        if self.most_open == 0 {
            return true;
        }
        if self.zones[zone].open {
            return self.zones[zone].written < self.capacity;
        }
        let of_worker = zoned.most_open_of_worker;
        if (of_worker > 0 && *worker_open >= of_worker) || self.open_count >= self.most_open {
            return false;
        }
        self.open[self.open_count] = zone;
        self.open_count += 1;
        *worker_open += 1;
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
    fn record_end(&mut self, write: bool, place: u64, bytes: u64, worker_open: &mut u32) {
        let index = self.zone_index(place);
        let within = place - self.zone_start(index);
        let zone = &mut self.zones[index];
        zone.held = zone.held.saturating_sub(1);
        if !write || !zone.open || within + bytes < self.capacity {
            return;
        }
        zone.open = false;
        if let Some(at) = self.open[..self.open_count].iter().position(|open| *open == index) {
            self.open.copy_within(at + 1.., at);
            self.open_count -= 1;
            *worker_open = worker_open.saturating_sub(1);
        }
    }
}
