//! fio's `zonemode=zbd` on drives without zones: fio itself keeps zones with write pointers.
//!
//! A file is cut into zones of one size, all empty at first. A write goes to the write pointer of the zone in which its
//! drawn place lies; if no more zones may be open, to that of an open zone. A full zone is emptied and written again. A
//! read goes to written data. Emptying a zone issues no request. Workers on one file share its zones: a zone with a
//! request in flight belongs to that worker until the request has ended.
//!
//! A request that must wait, for the worker's own requests or for another's, is retried later from the stage that it
//! has reached. The drawn places and sizes come from `fio`. Source: fio 3.33, `zbd.c`, with its names in comments.

use alloc::vec::Vec;

use super::fio::{READ, WRITE};
use super::job::{Job, Pattern, Zoned};

/// Millionths in one.
const MILLION: u128 = 1_000_000;

/// The zones of all files of a job, by the first byte of the file on the device.
#[derive(Clone, Debug, Default)]
pub(crate) struct JobZones {
    files: Vec<FileZones>,
    /// A request in the zones has ended since the last [`JobZones::take_zone_released`].
    zone_released: bool,
}

impl JobZones {
    /// The zones of the files of a job's workers.
    pub(crate) fn new(job: &Job) -> JobZones {
        let mut files: Vec<FileZones> = Vec::new();
        for worker in &job.workers {
            let Pattern::Fio(pattern) = &worker.pattern else { continue };
            let Some(zoned) = &pattern.zoned else { continue };
            for file in &zoned.files {
                if files.iter().all(|other| other.start != file.start) {
                    files.push(FileZones::new(file.start, file.bytes, zoned));
                }
            }
        }
        JobZones { files, zone_released: false }
    }

    /// True if a request in the zones has ended since this was last called.
    pub(crate) fn take_zone_released(&mut self) -> bool {
        core::mem::take(&mut self.zone_released)
    }

    /// Returns the index of the file that begins at `start`.
    pub(crate) fn file_index(&self, start: u64) -> usize {
        self.files.iter().position(|file| file.start == start).expect("every file of a zoned job has its zones")
    }

    /// Returns the zones of the file at an index.
    pub(crate) fn file_zones(&mut self, file: usize) -> &mut FileZones {
        &mut self.files[file]
    }

    /// Notes the end of a request from `place` on in the file at an index. `open_of_worker` is the number of zones that
    /// the worker has open.
    pub(crate) fn end_request(
        &mut self,
        file: usize,
        is_write: bool,
        place: u64,
        bytes: u64,
        open_of_worker: &mut u32,
    ) {
        self.files[file].record_end(is_write, place, bytes, open_of_worker);
        self.zone_released = true;
    }
}

/// A zone with its write pointer.
#[derive(Clone, Copy, Debug, Default)]
struct EmulatedZone {
    /// Bytes written from its beginning on: the write pointer.
    written: u64,
    is_open: bool,
    /// The zone is emptied before the next write.
    needs_reset: bool,
    /// Requests in flight, all of the worker `holder`.
    requests: u32,
    holder: u16,
}

/// The zones of a file.
#[derive(Clone, Debug)]
pub(crate) struct FileZones {
    /// The first byte of the file on the device.
    start: u64,
    /// Bytes of a zone.
    size: u64,
    /// Bytes of a zone that can be written.
    capacity: u64,
    zones: Vec<EmulatedZone>,
    /// Limit of the open zones; 0 for none.
    most_open: usize,
    /// Zones in the order of their opening. The first `open_count` are open; stale entries stay behind them, as in
    /// fio's array.
    open: Vec<usize>,
    open_count: usize,
    /// Bytes written in the zones, by the last count and the writes since.
    written_bytes: u64,
    /// Writes until a zone is marked to be emptied.
    until_reset: u32,
}

/// The part of a file that a worker uses, in bytes from the file's beginning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UsedFilePart {
    /// The first byte; `zoneskip` moves it.
    pub(crate) from: u64,
    pub(crate) bytes: u64,
    /// The first zone, and the zone after the last.
    pub(crate) zones: [usize; 2],
}

impl UsedFilePart {
    /// True if a byte is in the part: fio's `is_valid_offset`.
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
    /// The worker has random places.
    pub(crate) random: bool,
}

/// A request to be fitted into the zones, and the stage that it has reached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ZoneRequest {
    pub(crate) direction: usize,
    /// The first byte in the file.
    pub(crate) place: u64,
    pub(crate) bytes: u64,
    /// The smallest block of its direction.
    pub(crate) min_bytes: u64,
    stage: ZoneWriteStage,
    /// The chosen zone of a write.
    zone: usize,
    /// A zone to open may be searched once more, after all requests in flight have ended.
    may_search_again: bool,
    /// fio has waited for all requests in flight, if there were any, since this was last taken.
    pub(crate) quiesces: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ZoneWriteStage {
    /// A zone is to be chosen.
    Begin,
    /// The chosen open zone is full, or none is open: another zone is to be opened.
    Open,
    /// A zone is chosen; it is to be decided whether it is emptied.
    Chosen,
    /// The zone is to be emptied if necessary, and written at its write pointer.
    Place,
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
    pub(crate) fn new(direction: usize, place: u64, bytes: u64, min_bytes: u64) -> ZoneRequest {
        ZoneRequest {
            direction,
            place,
            bytes,
            min_bytes,
            stage: ZoneWriteStage::Begin,
            zone: 0,
            may_search_again: true,
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
            written_bytes: 0,
            until_reset: u32::MAX,
        }
    }

    /// The zone of a byte; past the last zone the number of zones.
    pub(crate) fn zone_index(&self, place: u64) -> usize {
        ((place / self.size) as usize).min(self.zones.len())
    }

    /// True if nothing is written in the zones.
    pub(crate) fn is_empty(&self) -> bool {
        self.written_bytes == 0
    }

    fn zone_start(&self, zone: usize) -> u64 {
        zone as u64 * self.size
    }

    /// True if a block of `min_bytes` no longer fits into a zone.
    fn is_full(&self, zone: usize, min_bytes: u64) -> bool {
        self.zones[zone].written + min_bytes > self.capacity
    }

    /// True if another worker has requests in flight in a zone.
    fn is_locked(&self, zone: usize, worker: u16) -> bool {
        let zone = &self.zones[zone];
        zone.requests > 0 && zone.holder != worker
    }

    /// Counts the bytes written in the zones of a part, and restarts the count of writes until a zone is emptied; fio's
    /// `zbd_file_reset`, when a file is opened or a pass begins. A zone is emptied after `reset_every` writes; 0 for
    /// none.
    pub(crate) fn count_written(&mut self, part: &UsedFilePart, reset_every: u32) {
        let [first, last] = part.zones;
        self.written_bytes = self.zones[first..last].iter().map(|zone| zone.written).sum();
        self.until_reset = if reset_every == 0 { u32::MAX } else { reset_every };
    }

    /// The start of the next zone if `place` is past the capacity of its zone, so that sequential writing continues
    /// there (fio's `setup_zbd_zone_mode`, first part).
    pub(crate) fn place_past_capacity(&self, place: u64) -> Option<u64> {
        let zone = self.zone_index(place);
        let is_past =
            zone < self.zones.len() && self.capacity < self.size && place >= self.zone_start(zone) + self.capacity;
        is_past.then(|| self.zone_start(zone + 1))
    }

    /// True if the zone of `place` is done, so that zones are skipped (fio's `setup_zbd_zone_mode`, second part). With
    /// `reads_beyond` reads may pass the write pointer.
    pub(crate) fn is_zone_done(&self, place: u64, direction: usize, reads_beyond: bool) -> bool {
        let zone = self.zone_index(place);
        let written = self.zones.get(zone).map_or(0, |zone| zone.written);
        zone == self.zones.len() || (direction == READ && !reads_beyond && place >= self.zone_start(zone) + written)
    }

    /// Moves and shortens a request to fit the zones (fio's `zbd_adjust_block`). `open_of_worker` is the number of
    /// zones that the worker has open.
    pub(crate) fn adjust_request(
        &mut self,
        request: &mut ZoneRequest,
        part: &UsedFilePart,
        zoned: &Zoned,
        requester: ZoneRequester,
        open_of_worker: &mut u32,
    ) -> ZoneOutcome {
        match request.direction {
            READ if zoned.beyond => ZoneOutcome::Go,
            READ => self.place_read(request, part, requester),
            _ => self.advance_write(request, part, zoned, requester, open_of_worker),
        }
    }

    /// Places a read at written data, in its own zone if that has any, else in another, and shortens it to these data.
    fn place_read(&self, request: &mut ZoneRequest, part: &UsedFilePart, requester: ZoneRequester) -> ZoneOutcome {
        let (drawn_zone, min_bytes) = (self.zone_index(request.place), request.min_bytes);
        if self.is_locked(drawn_zone, requester.worker) {
            return ZoneOutcome::Wait;
        }
        let write_pointer = |zone: usize| self.zone_start(zone) + self.zones[zone].written;
        let mut zone = drawn_zone;
        let is_past_data = !requester.random && request.place + min_bytes > write_pointer(drawn_zone);
        if self.zones[drawn_zone].written < min_bytes || is_past_data {
            zone = match self.find_zone_with_data(drawn_zone, min_bytes, part, requester) {
                Ok(found) => found,
                Err(outcome) => return outcome,
            };
            if !requester.random {
                request.place = self.zone_start(zone);
            }
        }
        let written = self.zones[zone].written;
        if written <= request.bytes {
            request.place = self.zone_start(zone);
        } else if requester.random {
            // The distance from the start of the drawn zone decides the place among the written data.
            let within =
                (request.place - self.zone_start(drawn_zone)) % (written - request.bytes) / min_bytes * min_bytes;
            request.place = self.zone_start(zone) + within;
        }
        request.bytes = request.bytes.min(write_pointer(zone) - request.place) / min_bytes * min_bytes;
        ZoneOutcome::Go
    }

    /// Finds the next zone in which `min_bytes` are written; for random places the nearest (fio's `zbd_find_zone`). The
    /// error is the request's outcome: [`ZoneOutcome::End`] if there is none, [`ZoneOutcome::Wait`] if a zone on the
    /// way is locked.
    fn find_zone_with_data(
        &self,
        zone: usize,
        min_bytes: u64,
        part: &UsedFilePart,
        requester: ZoneRequester,
    ) -> Result<usize, ZoneOutcome> {
        let [first, last] = part.zones;
        let has_data = |zone: usize| match self.is_locked(zone, requester.worker) {
            true => Err(ZoneOutcome::Wait),
            false => Ok(self.zones[zone].written >= min_bytes),
        };
        for step in 1.. {
            let (up, down) = (zone + step, zone.checked_sub(step).filter(|down| *down >= first));
            if up >= last && (down.is_none() || !requester.random) {
                break;
            }
            if up < last && has_data(up)? {
                return Ok(up);
            }
            if let Some(down) = down.filter(|_| requester.random)
                && has_data(down)?
            {
                return Ok(down);
            }
        }
        Err(ZoneOutcome::End)
    }

    /// Takes a write through its stages, from the stage that it has reached.
    fn advance_write(
        &mut self,
        request: &mut ZoneRequest,
        part: &UsedFilePart,
        zoned: &Zoned,
        requester: ZoneRequester,
        open_of_worker: &mut u32,
    ) -> ZoneOutcome {
        loop {
            let outcome = match request.stage {
                ZoneWriteStage::Begin => self.choose_zone(request, part, zoned, requester, open_of_worker),
                ZoneWriteStage::Open => self.open_other_zone(request, part, zoned, requester, open_of_worker),
                ZoneWriteStage::Chosen => self.decide_reset(request, part, zoned, requester),
                ZoneWriteStage::Place => return self.place_at_write_pointer(request, part, requester),
            };
            if let Some(outcome) = outcome {
                return outcome;
            }
        }
    }

    /// Chooses the zone of the place if it is open or can be opened, else an open zone (fio's
    /// `zbd_convert_to_open_zone`). Returns the outcome if the write ends or waits.
    fn choose_zone(
        &mut self,
        request: &mut ZoneRequest,
        part: &UsedFilePart,
        zoned: &Zoned,
        requester: ZoneRequester,
        open_of_worker: &mut u32,
    ) -> Option<ZoneOutcome> {
        if request.bytes > self.size {
            return Some(ZoneOutcome::End);
        }
        request.zone = self.zone_index(request.place);
        if self.is_locked(request.zone, requester.worker) {
            return Some(ZoneOutcome::Wait);
        }
        if self.open_if_allowed(request.zone, zoned, open_of_worker) {
            request.stage = ZoneWriteStage::Chosen;
            return None;
        }
        let [first, last] = part.zones;
        // The place in the part picks an open zone. With none open it picks a stale entry, after which the search
        // begins.
        let picked =
            (u128::from(request.place - part.from) * self.open_count as u128 / u128::from(part.bytes)) as usize;
        request.zone = self.open[picked].clamp(first, last - 1);
        if self.open_count > 0 {
            let order = (picked..self.open_count).chain(0..picked);
            let candidate = order.map(|index| self.open[index]).find(|zone| (first..last).contains(zone));
            let Some(candidate) = candidate else { return Some(ZoneOutcome::End) };
            request.zone = candidate;
            if self.is_locked(candidate, requester.worker) {
                return Some(ZoneOutcome::Wait);
            }
            if !self.is_full(candidate, request.min_bytes) {
                request.stage = ZoneWriteStage::Chosen;
                return None;
            }
        }
        request.stage = ZoneWriteStage::Open;
        let most_of_worker = zoned.most_open_of_worker;
        let is_limit_reached = self.open_count == last - first
            || (self.most_open > 0 && self.open_count == self.most_open)
            || (most_of_worker > 0 && *open_of_worker == most_of_worker);
        request.quiesces |= is_limit_reached;
        (is_limit_reached && requester.in_flight > 0).then_some(ZoneOutcome::Drain)
    }

    /// Chooses the next zone that can be opened, else an open zone with room; else searches once more when all requests
    /// in flight have ended. Returns the outcome if the write ends or waits.
    fn open_other_zone(
        &mut self,
        request: &mut ZoneRequest,
        part: &UsedFilePart,
        zoned: &Zoned,
        requester: ZoneRequester,
        open_of_worker: &mut u32,
    ) -> Option<ZoneOutcome> {
        let [first, last] = part.zones;
        let mut zone = request.zone;
        for _ in 0..part.bytes / self.size {
            zone += 1;
            if zone >= last || !part.contains(self.zone_start(zone)) {
                zone = first;
            }
            if self.is_locked(zone, requester.worker) {
                return Some(ZoneOutcome::Wait);
            }
            if !self.zones[zone].is_open && self.open_if_allowed(zone, zoned, open_of_worker) {
                (request.zone, request.stage) = (zone, ZoneWriteStage::Chosen);
                return None;
            }
        }
        for index in 0..self.open_count {
            let other = self.open[index];
            if !(first..last).contains(&other) {
                continue;
            }
            zone = other;
            if self.is_locked(zone, requester.worker) {
                return Some(ZoneOutcome::Wait);
            }
            if !self.is_full(zone, request.min_bytes) {
                (request.zone, request.stage) = (zone, ZoneWriteStage::Chosen);
                return None;
            }
        }
        let is_any_locked = (0..self.zones.len()).any(|zone| self.is_locked(zone, requester.worker));
        if !is_any_locked && requester.in_flight == 0 && !request.may_search_again {
            return Some(ZoneOutcome::End);
        }
        (request.zone, request.may_search_again, request.quiesces) =
            (zone, is_any_locked || requester.in_flight > 0, true);
        if requester.in_flight > 0 {
            return Some(ZoneOutcome::Drain);
        }
        is_any_locked.then_some(ZoneOutcome::Wait)
    }

    /// Decides whether the zone is emptied: when it is full, and beyond the threshold at every so many writes. Emptying
    /// waits for the worker's requests in flight.
    fn decide_reset(
        &mut self,
        request: &mut ZoneRequest,
        part: &UsedFilePart,
        zoned: &Zoned,
        requester: ZoneRequester,
    ) -> Option<ZoneOutcome> {
        let past_threshold =
            u128::from(self.written_bytes) * MILLION >= u128::from(part.bytes) * u128::from(zoned.reset_threshold);
        if zoned.reset_every > 0 && past_threshold {
            self.until_reset = self.until_reset.saturating_sub(1);
            if self.until_reset == 0 {
                self.until_reset = zoned.reset_every;
                self.zones[request.zone].needs_reset = true;
            }
        }
        request.stage = ZoneWriteStage::Place;
        let is_emptied = self.zones[request.zone].needs_reset || self.is_full(request.zone, request.min_bytes);
        request.quiesces |= is_emptied;
        (is_emptied && requester.in_flight > 0).then_some(ZoneOutcome::Drain)
    }

    /// Empties the zone if necessary, and places the write at its write pointer.
    fn place_at_write_pointer(
        &mut self,
        request: &mut ZoneRequest,
        part: &UsedFilePart,
        requester: ZoneRequester,
    ) -> ZoneOutcome {
        if self.is_locked(request.zone, requester.worker) {
            return ZoneOutcome::Wait;
        }
        let is_full = self.is_full(request.zone, request.min_bytes);
        let zone = &mut self.zones[request.zone];
        if zone.needs_reset || is_full {
            zone.needs_reset = false;
            self.written_bytes = self.written_bytes.saturating_sub(zone.written);
            zone.written = 0;
        }
        let written = zone.written;
        request.place = self.zone_start(request.zone) + written;
        request.bytes =
            request.bytes.min(self.capacity.saturating_sub(written)) / request.min_bytes * request.min_bytes;
        if part.contains(request.place) && request.bytes > 0 { ZoneOutcome::Go } else { ZoneOutcome::End }
    }

    /// Opens a zone if it is not open and the limits allow it; true if the zone can be written (fio's `zbd_open_zone`).
    fn open_if_allowed(&mut self, zone: usize, zoned: &Zoned, open_of_worker: &mut u32) -> bool {
        if self.most_open == 0 {
            return true;
        }
        if self.zones[zone].is_open {
            return self.zones[zone].written < self.capacity;
        }
        let most_of_worker = zoned.most_open_of_worker;
        if (most_of_worker > 0 && *open_of_worker >= most_of_worker) || self.open_count >= self.most_open {
            return false;
        }
        self.open[self.open_count] = zone;
        self.open_count += 1;
        *open_of_worker += 1;
        self.zones[zone].is_open = true;
        true
    }

    /// Notes that a request is issued: its zone is held, and a write moves the write pointer (fio's `zbd_queue_io`).
    pub(crate) fn record_issue(&mut self, direction: usize, place: u64, bytes: u64, worker: u16) {
        let index = self.zone_index(place);
        let within = place - self.zone_start(index);
        let zone = &mut self.zones[index];
        (zone.requests, zone.holder) = (zone.requests + 1, worker);
        if direction == WRITE {
            let end = (within + bytes).min(self.capacity);
            self.written_bytes += end.saturating_sub(zone.written);
            zone.written = end;
        }
    }

    /// Notes that a request has ended: a full zone is closed (fio's `zbd_put_io`).
    fn record_end(&mut self, is_write: bool, place: u64, bytes: u64, open_of_worker: &mut u32) {
        let index = self.zone_index(place);
        let within = place - self.zone_start(index);
        let zone = &mut self.zones[index];
        zone.requests = zone.requests.saturating_sub(1);
        if !is_write || !zone.is_open || within + bytes < self.capacity {
            return;
        }
        zone.is_open = false;
        if let Some(position) = self.open[..self.open_count].iter().position(|open| *open == index) {
            self.open.copy_within(position + 1.., position);
            self.open_count -= 1;
            *open_of_worker = open_of_worker.saturating_sub(1);
        }
    }
}
