//! A stream in zones that fio keeps itself (`zonemode=zbd`): the zones of its files, and requests that wait for a place in them.
//!
//! How a request is fitted into the zones: `zoned`.

use seekwise_disk::block::SECTOR;

use super::{FioRequest, FioStep, FioStream, READ, WRITE};
use crate::workload::job::{Direction, Region};
use crate::workload::zoned::{JobZones, UsedFilePart, ZoneOutcome, ZoneRequest, ZoneRequester};

/// The placement of a file in its zones.
#[derive(Clone, Copy, Debug)]
pub(super) struct ZonePlacement {
    space: usize,
    /// The whole file.
    pub(super) whole: Region,
    /// Where the part in use begins in the whole file.
    pub(super) base: u64,
    /// The part's first zone, and the one after its last.
    zones: [usize; 2],
}

/// A request that waits for its place in a zone.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingZoneRequest {
    pub(super) file: usize,
    ask: ZoneRequest,
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

/// The context of a step in zones: the zones of all files of the job, and how many of the stream's requests are in flight.
pub(crate) struct ZoneContext<'a> {
    pub(crate) spaces: &'a mut JobZones,
    pub(crate) in_flight: u32,
    /// Set by the step: fio waits for all requests in flight, if there are any.
    pub(crate) quiesces: bool,
}

impl FioStream {
    /// Gives the stream its worker's number, and its files their zones among those of the job.
    pub(crate) fn with_zones(mut self, worker: u16, spaces: &mut JobZones) -> FioStream {
        self.worker = worker;
        for (file, whole) in self.files.iter_mut().zip(self.pattern.zoned.iter().flat_map(|zoned| &zoned.files)) {
            let space = spaces.file_index(whole.start);
            let base = file.region.start - whole.start;
            let zone = |place| spaces.file_zones(space).zone_index(place);
            let zones = [base, base + file.region.bytes].map(zone);
            file.ground = Some(ZonePlacement { space, whole: *whole, base, zones });
        }
        self
    }

    /// Draws a request in a file with zones, before it is fitted into them.
    pub(super) fn draw_zone_request(&mut self, index: usize, direction: usize) -> Option<PendingZoneRequest> {
        let (place, bytes) = self.draw_place(index, direction)?;
        let file = &self.files[index];
        let marked = (!self.unmarked).then_some(place);
        let in_file = file.ground?.base + file.zone + place;
        Some(PendingZoneRequest {
            file: index,
            ask: ZoneRequest::new(direction, in_file, bytes, self.sizes[direction].min),
            marked,
        })
    }

    /// Fits a request into the zones.
    pub(super) fn place_in_zones(
        &mut self,
        mut asking: PendingZoneRequest,
        around: &mut ZoneContext<'_>,
    ) -> FileDrawOutcome {
        let PendingZoneRequest { file: index, marked, .. } = asking;
        let (Some(zoned), Some(ground)) = (&self.pattern.zoned, self.files[index].ground) else {
            return FileDrawOutcome::Nothing;
        };
        let file = &self.files[index];
        let reach = UsedFilePart { from: ground.base + file.zone, bytes: file.region.bytes, zones: ground.zones };
        let by = ZoneRequester { worker: self.worker, in_flight: around.in_flight, random: self.random };
        let space = around.spaces.file_zones(ground.space);
        let answer = space.adjust_request(&mut asking.ask, &reach, zoned, by, &mut self.opened);
        around.quiesces |= core::mem::take(&mut asking.ask.quiesces);
        match answer {
            ZoneOutcome::End => return FileDrawOutcome::Nothing,
            ZoneOutcome::Go => {}
            ZoneOutcome::Drain | ZoneOutcome::Wait if self.asking.replace(asking).is_some() => {
                unreachable!("one is asked for at a time")
            }
            ZoneOutcome::Drain => return FileDrawOutcome::Held(FioStep::Drain),
            ZoneOutcome::Wait => return FileDrawOutcome::Held(FioStep::Wait),
        }
        let ZoneRequest { direction, place, bytes, .. } = asking.ask;
        let held = self.holds_zone(direction);
        let bytes = match marked {
            Some(drawn) => self.mark_drawn(index, direction, drawn, bytes),
            None => Some(bytes),
        };
        let Some(bytes) = bytes.filter(|bytes| place + bytes <= ground.whole.bytes) else {
            return FileDrawOutcome::Nothing;
        };
        if held {
            around.spaces.file_zones(ground.space).record_issue(direction, place, bytes, self.worker);
        }
        FileDrawOutcome::Request(FioRequest { direction, start: ground.whole.start + place, bytes })
    }

    /// Whether requests of a direction hold their zones.
    fn holds_zone(&self, direction: usize) -> bool {
        self.pattern.zoned.as_ref().is_some_and(|zoned| direction == WRITE || !zoned.beyond)
    }

    /// Releases the zone that a finished request held.
    pub(crate) fn release_zone(&mut self, read: bool, lba: u64, sectors: u32, spaces: &mut JobZones) {
        let (start, bytes) = (lba * SECTOR, u64::from(sectors) * SECTOR);
        if !self.holds_zone(if read { READ } else { WRITE }) {
            return;
        }
        let within =
            |ground: &ZonePlacement| (ground.whole.start..ground.whole.start + ground.whole.bytes).contains(&start);
        if let Some(ground) = self.files.iter().filter_map(|file| file.ground).find(within) {
            spaces.end_request(ground.space, !read, start - ground.whole.start, bytes, &mut self.opened);
        }
    }

    /// True if a mixed job must write, because nothing is written yet; counts the zones of a file that is fresh.
    pub(super) fn must_write_first(&mut self, index: usize, around: &mut ZoneContext<'_>) -> bool {
        let Some(zoned) = &self.pattern.zoned else { return false };
        let (mixed, writes) =
            (self.pattern.direction == Direction::Mixed, self.pattern.direction.used_directions()[WRITE]);
        let file = &mut self.files[index];
        let Some(ZonePlacement { space, base, zones, .. }) = file.ground else { return false };
        let space = around.spaces.file_zones(space);
        if core::mem::take(&mut file.fresh) && writes {
            let reach = UsedFilePart { from: base + file.zone, bytes: file.region.bytes, zones };
            space.count_written(&reach, zoned.reset_every);
        }
        mixed && !zoned.beyond && space.is_empty()
    }

    /// Moves a sequential position past the part of a zone that cannot be written, and past skipped zones.
    pub(super) fn leave_zone(&mut self, index: usize, direction: usize, around: &mut ZoneContext<'_>) {
        let file = &mut self.files[index];
        let (Some(zoned), Some(ground), false) = (&self.pattern.zoned, file.ground, self.random) else { return };
        let space = around.spaces.file_zones(ground.space);
        let next = ground.base + file.next[direction];
        let behind = space.place_past_capacity(next).filter(|_| direction == WRITE);
        if let Some(behind) = behind {
            file.next[WRITE] = behind - ground.base;
        }
        let done = behind.is_some() || space.is_zone_done(next, direction, zoned.beyond);
        if zoned.skip == 0 || !(self.zone_bytes >= zoned.size || done) {
            return;
        }
        self.zone_bytes = 0;
        file.zone += zoned.size + zoned.skip;
        if ground.base + file.zone >= ground.whole.bytes {
            file.zone = 0;
        }
        file.next[direction] = file.zone;
    }
}
