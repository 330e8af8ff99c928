//! A stream whose files are in zones that fio keeps itself (`zonemode=zbd`): where each file lies in its zones, and a
//! request that waits for a place in them. How a request is fitted into the zones: `zoned`.

use seekwise_disk::block::SECTOR;

use super::{DrawnExtent, FioFileState, FioRequest, FioStep, FioStream, READ, WRITE};
use crate::workload::job::{Direction, Region};
use crate::workload::zoned::{JobZones, UsedFilePart, ZoneOutcome, ZoneRequest, ZoneRequester};

/// The placement of a file in its zones.
#[derive(Clone, Copy, Debug)]
pub(super) struct ZonePlacement {
    /// The index of the file's zones in [`JobZones`].
    zones_index: usize,
    /// The whole file.
    pub(super) whole: Region,
    /// Where the part in use begins in the whole file.
    pub(super) base: u64,
    /// The part's first zone, and the zone after its last.
    zones: [usize; 2],
}

/// A request that waits for its place in a zone.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingZoneRequest {
    pub(super) file: usize,
    request: ZoneRequest,
    /// The drawn place, which is marked in the map; `None`: nothing is marked.
    marked: Option<u64>,
}

/// The outcome of a request in a file.
pub(super) enum FileDrawOutcome {
    Request(FioRequest),
    /// The request is retried later.
    Held(FioStep),
    /// The file has no more.
    Nothing,
}

/// The context of a step in zones.
pub(crate) struct ZoneContext<'a> {
    /// The zones of all files of the job.
    pub(crate) job_zones: &'a mut JobZones,
    /// Number of the stream's requests in flight.
    pub(crate) in_flight: u32,
    /// Set by the step: fio waits for all requests in flight, if there are any.
    pub(crate) quiesces: bool,
}

impl FioStream {
    /// Gives the stream its worker's number, and its files their zones among those of the job.
    pub(crate) fn with_zones(mut self, worker: u16, job_zones: &mut JobZones) -> FioStream {
        self.worker = worker;
        for (file, whole) in self.files.iter_mut().zip(self.pattern.zoned.iter().flat_map(|zoned| &zoned.files)) {
            let zones_index = job_zones.file_index(whole.start);
            let base = file.region.start - whole.start;
            let zone_index = |place| job_zones.file_zones(zones_index).zone_index(place);
            let zones = [base, base + file.region.bytes].map(zone_index);
            file.placement = Some(ZonePlacement { zones_index, whole: *whole, base, zones });
        }
        self
    }

    /// Draws a request in a file with zones, before it is fitted into them.
    pub(super) fn draw_zone_request(&mut self, index: usize, direction: usize) -> Option<PendingZoneRequest> {
        let DrawnExtent { place, bytes } = self.draw_extent(index, direction)?;
        let file = &self.files[index];
        let marked = (!self.skips_marking).then_some(place);
        let place_in_file = file.placement?.base + file.zone_start + place;
        let request = ZoneRequest::new(direction, place_in_file, bytes, self.sizes[direction].min);
        Some(PendingZoneRequest { file: index, request, marked })
    }

    /// Fits a request into the zones.
    pub(super) fn place_in_zones(
        &mut self,
        mut pending: PendingZoneRequest,
        context: &mut ZoneContext<'_>,
    ) -> FileDrawOutcome {
        let PendingZoneRequest { file: index, marked, .. } = pending;
        let (Some(zoned), Some(placement)) = (&self.pattern.zoned, self.files[index].placement) else {
            return FileDrawOutcome::Nothing;
        };
        let file = &self.files[index];
        let part = used_part(file, placement);
        let requester =
            ZoneRequester { worker: self.worker, in_flight: context.in_flight, random: self.has_random_places };
        let file_zones = context.job_zones.file_zones(placement.zones_index);
        let outcome = file_zones.adjust_request(&mut pending.request, &part, zoned, requester, &mut self.open_zones);
        context.quiesces |= core::mem::take(&mut pending.request.quiesces);
        match outcome {
            ZoneOutcome::End => return FileDrawOutcome::Nothing,
            ZoneOutcome::Go => {}
            ZoneOutcome::Drain | ZoneOutcome::Wait if self.pending.replace(pending).is_some() => {
                unreachable!("a single request waits at a time")
            }
            ZoneOutcome::Drain => return FileDrawOutcome::Held(FioStep::Drain),
            ZoneOutcome::Wait => return FileDrawOutcome::Held(FioStep::Wait),
        }
        let ZoneRequest { direction, place, bytes, .. } = pending.request;
        let holds_zone = self.holds_zone(direction);
        let free_bytes = match marked {
            Some(drawn_place) => self.mark_free_bytes(index, direction, drawn_place, bytes),
            None => Some(bytes),
        };
        let Some(bytes) = free_bytes.filter(|bytes| place + bytes <= placement.whole.bytes) else {
            return FileDrawOutcome::Nothing;
        };
        if holds_zone {
            let file_zones = context.job_zones.file_zones(placement.zones_index);
            file_zones.record_issue(direction, place, bytes, self.worker);
        }
        FileDrawOutcome::Request(FioRequest { direction, start: placement.whole.start + place, bytes })
    }

    /// True if requests of a direction hold their zones.
    fn holds_zone(&self, direction: usize) -> bool {
        self.pattern.zoned.as_ref().is_some_and(|zoned| direction == WRITE || !zoned.beyond)
    }

    /// Releases the zone that a finished request held.
    pub(crate) fn release_zone(&mut self, is_read: bool, lba: u64, sectors: u32, job_zones: &mut JobZones) {
        let (start, bytes) = (lba * SECTOR, u64::from(sectors) * SECTOR);
        if !self.holds_zone(if is_read { READ } else { WRITE }) {
            return;
        }
        let holds_start = |placement: &ZonePlacement| {
            (placement.whole.start..placement.whole.start + placement.whole.bytes).contains(&start)
        };
        if let Some(placement) = self.files.iter().filter_map(|file| file.placement).find(holds_start) {
            let place = start - placement.whole.start;
            job_zones.end_request(placement.zones_index, !is_read, place, bytes, &mut self.open_zones);
        }
    }

    /// Counts the bytes written in the zones of a file, once after it was opened or begun again. Only jobs that write
    /// do so.
    pub(super) fn count_zones(&mut self, index: usize, context: &mut ZoneContext<'_>) {
        let file = &mut self.files[index];
        let (Some(zoned), Some(placement)) = (&self.pattern.zoned, file.placement) else { return };
        if core::mem::take(&mut file.zones_uncounted) && self.pattern.direction.used_directions()[WRITE] {
            let file_zones = context.job_zones.file_zones(placement.zones_index);
            file_zones.count_written(&used_part(file, placement), zoned.reset_every);
        }
    }

    /// True if a mixed job must write, because nothing is written in the zones of the file.
    pub(super) fn must_write_first(&self, index: usize, context: &mut ZoneContext<'_>) -> bool {
        let (Some(zoned), Some(placement)) = (&self.pattern.zoned, self.files[index].placement) else { return false };
        let is_empty = context.job_zones.file_zones(placement.zones_index).is_empty();
        self.pattern.direction == Direction::Mixed && !zoned.beyond && is_empty
    }

    /// Moves a sequential position past the part of a zone that cannot be written, and past skipped zones.
    pub(super) fn leave_zone(&mut self, index: usize, direction: usize, context: &mut ZoneContext<'_>) {
        let file = &mut self.files[index];
        let (Some(zoned), Some(placement)) = (&self.pattern.zoned, file.placement) else { return };
        if self.has_random_places {
            return;
        }
        let file_zones = context.job_zones.file_zones(placement.zones_index);
        let next_place = placement.base + file.next_places[direction];
        let next_zone = file_zones.place_past_capacity(next_place).filter(|_| direction == WRITE);
        if let Some(next_zone) = next_zone {
            file.next_places[WRITE] = next_zone - placement.base;
        }
        let is_done = next_zone.is_some() || file_zones.is_zone_done(next_place, direction, zoned.beyond);
        if zoned.skip == 0 || !(self.zone_bytes >= zoned.size || is_done) {
            return;
        }
        self.zone_bytes = 0;
        file.zone_start += zoned.size + zoned.skip;
        if placement.base + file.zone_start >= placement.whole.bytes {
            file.zone_start = 0;
        }
        file.next_places[direction] = file.zone_start;
    }
}

/// The part of a file that the worker uses, from the current strided zone on.
fn used_part(file: &FioFileState, placement: ZonePlacement) -> UsedFilePart {
    UsedFilePart { from: placement.base + file.zone_start, bytes: file.region.bytes, zones: placement.zones }
}
