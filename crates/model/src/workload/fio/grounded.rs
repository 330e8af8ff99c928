//! A stream in zones that fio keeps itself (`zonemode=zbd`): its files' zones, and requests that wait for their places there.
//!
//! What becomes of a request in the zones is `zoned`'s affair.

use super::{FioRequest, FioStep, FioStream, READ, WRITE};
use crate::block::SECTOR;
use crate::workload::job::{Direction, Region};
use crate::workload::zoned::{Answer, Ask, Asker, Reach, Spaces};

/// The zones that a file is a part of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ground {
    space: usize,
    /// The whole file.
    pub(super) whole: Region,
    /// Where the part begins in it.
    pub(super) base: u64,
    /// The part's first zone, and the one behind its last.
    zones: [usize; 2],
}

/// A request that waits for its place in a zone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asking {
    pub(super) file: usize,
    ask: Ask,
    /// The drawn place, which is marked in the map; nothing: none is.
    marked: Option<u64>,
}

/// What comes of a request in a file.
pub(super) enum Found {
    Request(FioRequest),
    /// It is asked for again later.
    Held(FioStep),
    /// The file has no more.
    Nothing,
}

/// What a stream is asked among: the zones of all files of the job, and how many of its requests are in flight.
pub(crate) struct Around<'a> {
    pub(crate) spaces: &'a mut Spaces,
    pub(crate) in_flight: u32,
    /// Answered: fio waits for all in flight, if there are any.
    pub(crate) quiesces: bool,
}

impl FioStream {
    /// As worker of this number, in the zones of its job.
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

    /// A request in a file with zones as it is drawn.
    pub(super) fn asking_for(&mut self, index: usize, direction: usize) -> Option<Asking> {
        let (place, bytes) = self.draw_place(index, direction)?;
        let file = &self.files[index];
        let marked = (!self.unmarked).then_some(place);
        let in_file = file.ground?.base + file.zone + place;
        Some(Asking { file: index, ask: Ask::new(direction, in_file, bytes, self.sizes[direction].min), marked })
    }

    /// Puts a request into the zones.
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

    /// fio saw a request of this place ended: in zones it holds one no more.
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

    /// Mixed reads and writes: a write instead of a read as long as nothing is written.
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

    /// In sequence: goes on behind what a zone cannot hold, and leaves zones out.
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
