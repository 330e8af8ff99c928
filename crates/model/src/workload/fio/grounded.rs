//! A stream in zones that fio keeps itself (`zonemode=zbd`): the zones of its files, and requests that wait for a place in them.
//!
//! How a request is fitted into the zones: `zoned`.

use super::{FioRequest, FioStep, FioStream, READ, WRITE};
use crate::block::SECTOR;
use crate::workload::job::{Direction, Region};
use crate::workload::zoned::{Answer, Ask, Asker, Reach, Spaces};

/// The placement of a file in its zones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ground {
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
pub(super) struct Asking {
    pub(super) file: usize,
    ask: Ask,
    /// The drawn place, which is marked in the map; `None`: nothing is marked.
    marked: Option<u64>,
}

/// The outcome of a request in a file.
pub(super) enum Found {
    Request(FioRequest),
    /// The request is retried later.
    Held(FioStep),
    /// The file has no more.
    Nothing,
}

/// The context of a step in zones: the zones of all files of the job, and how many of the stream's requests are in flight.
pub(crate) struct Around<'a> {
    pub(crate) spaces: &'a mut Spaces,
    pub(crate) in_flight: u32,
    /// Set by the step: fio waits for all requests in flight, if there are any.
    pub(crate) quiesces: bool,
}

impl FioStream {
    /// Gives the stream its worker's number, and its files their zones among those of the job.
    pub(crate) fn grounded(mut self, worker: u16, spaces: &mut Spaces) -> FioStream {
        self.worker = worker;
        for (file, whole) in self.files.iter_mut().zip(self.pattern.zoned.iter().flat_map(|zoned| &zoned.files)) {
            let space = spaces.find(whole.start);
            let base = file.region.start - whole.start;
            let zone = |place| spaces.of(space).zone(place);
            let zones = [base, base + file.region.bytes].map(zone);
            file.ground = Some(Ground { space, whole: *whole, base, zones });
        }
        self
    }

    /// Draws a request in a file with zones, before it is fitted into them.
    pub(super) fn asking_for(&mut self, index: usize, direction: usize) -> Option<Asking> {
        let (place, bytes) = self.draw_place(index, direction)?;
        let file = &self.files[index];
        let marked = (!self.unmarked).then_some(place);
        let in_file = file.ground?.base + file.zone + place;
        Some(Asking { file: index, ask: Ask::new(direction, in_file, bytes, self.sizes[direction].min), marked })
    }

    /// Fits a request into the zones.
    pub(super) fn put(&mut self, mut asking: Asking, around: &mut Around<'_>) -> Found {
        let Asking { file: index, marked, .. } = asking;
        let (Some(zoned), Some(ground)) = (&self.pattern.zoned, self.files[index].ground) else {
            return Found::Nothing;
        };
        let file = &self.files[index];
        let reach = Reach { from: ground.base + file.zone, bytes: file.region.bytes, zones: ground.zones };
        let by = Asker { worker: self.worker, in_flight: around.in_flight, random: self.random };
        let space = around.spaces.of(ground.space);
        let answer = space.adjust(&mut asking.ask, &reach, zoned, by, &mut self.opened);
        around.quiesces |= core::mem::take(&mut asking.ask.quiesces);
        match answer {
            Answer::End => return Found::Nothing,
            Answer::Go => {}
            Answer::Drain | Answer::Wait if self.asking.replace(asking).is_some() => {
                unreachable!("one is asked for at a time")
            }
            Answer::Drain => return Found::Held(FioStep::Drain),
            Answer::Wait => return Found::Held(FioStep::Wait),
        }
        let Ask { direction, place, bytes, .. } = asking.ask;
        let held = self.holds(direction);
        let bytes = match marked {
            Some(drawn) => self.mark(index, direction, drawn, bytes),
            None => Some(bytes),
        };
        let Some(bytes) = bytes.filter(|bytes| place + bytes <= ground.whole.bytes) else { return Found::Nothing };
        if held {
            around.spaces.of(ground.space).issued(direction, place, bytes, self.worker);
        }
        Found::Request(FioRequest { direction, start: ground.whole.start + place, bytes })
    }

    /// Whether requests of a direction hold their zones.
    fn holds(&self, direction: usize) -> bool {
        self.pattern.zoned.as_ref().is_some_and(|zoned| direction == WRITE || !zoned.beyond)
    }

    /// Releases the zone that a finished request held.
    pub(crate) fn ended(&mut self, read: bool, lba: u64, sectors: u32, spaces: &mut Spaces) {
        let (start, bytes) = (lba * SECTOR, u64::from(sectors) * SECTOR);
        if !self.holds(if read { READ } else { WRITE }) {
            return;
        }
        let within = |ground: &Ground| (ground.whole.start..ground.whole.start + ground.whole.bytes).contains(&start);
        if let Some(ground) = self.files.iter().filter_map(|file| file.ground).find(within) {
            spaces.ended(ground.space, !read, start - ground.whole.start, bytes, &mut self.opened);
        }
    }

    /// True if a mixed job must write, because nothing is written yet; counts the zones of a file that is fresh.
    pub(super) fn nothing_to_read(&mut self, index: usize, around: &mut Around<'_>) -> bool {
        let Some(zoned) = &self.pattern.zoned else { return false };
        let (mixed, writes) = (self.pattern.direction == Direction::Mixed, self.pattern.direction.triple()[WRITE]);
        let file = &mut self.files[index];
        let Some(Ground { space, base, zones, .. }) = file.ground else { return false };
        let space = around.spaces.of(space);
        if core::mem::take(&mut file.fresh) && writes {
            let reach = Reach { from: base + file.zone, bytes: file.region.bytes, zones };
            space.count(&reach, zoned.reset_every);
        }
        mixed && !zoned.beyond && space.is_empty()
    }

    /// Moves a sequential position past the part of a zone that cannot be written, and past skipped zones.
    pub(super) fn leave_zone(&mut self, index: usize, direction: usize, around: &mut Around<'_>) {
        let file = &mut self.files[index];
        let (Some(zoned), Some(ground), false) = (&self.pattern.zoned, file.ground, self.random) else { return };
        let space = around.spaces.of(ground.space);
        let next = ground.base + file.next[direction];
        let behind = space.past_capacity(next).filter(|_| direction == WRITE);
        if let Some(behind) = behind {
            file.next[WRITE] = behind - ground.base;
        }
        let done = behind.is_some() || space.done(next, direction, zoned.beyond);
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
