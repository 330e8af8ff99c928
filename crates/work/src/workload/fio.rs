//! fio's generator: the next request of a thread, in fio's own order of draws.
//!
//! The streams are those of fio 3.33 (`io_u.c`, `backend.c`): the direction by `rwmixread`, the file, the place at
//! random or in sequence, the size, the map, and how passes end and start again. Each direction has its own sequential
//! position in each file. Not here: when a request is issued (see `worker`), and what it costs.
//!
//! Intended differences: a request never reaches past the part of the file in use; a run with gaps or backwards
//! (`rw=read:-8k`) behaves as fio's does in a file used from its beginning; an `io_size` equal to the files' size
//! counts as none.

mod passes;
mod zones;

use alloc::vec::Vec;
use seekwise_disk::block::Op;

use super::address::{AddressRng, AddressSpace, AddressStream};
use super::job::{BlockSizes, Direction, FileService, FioPattern, Generator, Region, RwModifier, Syncs};
use super::size::Sizes;
use super::tausworthe::{Seeds, StreamPurpose, Tausworthe, Tausworthe88};
use passes::PassLimits;
pub(crate) use zones::ZoneContext;
use zones::{FileDrawOutcome, PendingZoneRequest, ZonePlacement};

/// Index of reads in fio's triples.
pub(crate) const READ: usize = 0;
/// Index of writes.
pub(crate) const WRITE: usize = 1;
/// Index of trims.
pub(crate) const TRIM: usize = 2;
/// The beginning of the last request, if there was none yet.
const NOWHERE: u64 = u64::MAX;

/// A request, in bytes of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FioRequest {
    /// [`READ`], [`WRITE`] or [`TRIM`].
    pub(crate) direction: usize,
    /// The first byte on the device.
    pub(crate) start: u64,
    pub(crate) bytes: u64,
}

impl FioRequest {
    /// The operation of its direction.
    #[inline]
    pub(crate) fn op(&self) -> Op {
        match self.direction {
            READ => Op::Read,
            WRITE => Op::Write,
            _ => Op::Trim,
        }
    }
}

/// The next step of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FioStep {
    Request(FioRequest),
    /// A sync: a flush, or one that the drive does not see.
    Sync(FioSync),
    /// A pass has ended; another may begin.
    Pass,
    /// The last pass has ended.
    End,
    /// Nothing before all requests in flight have ended.
    Drain,
    /// Nothing before a request of another worker has ended.
    Wait,
}

/// A sync between requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FioSync {
    /// Makes everything written durable.
    Flush,
    /// Syncs a range of the page cache, without a request to the drive.
    FileRange,
}

/// The state of a file.
#[derive(Clone, Debug)]
struct FioFileState {
    region: Region,
    address: Option<AddressStream>,
    /// Blocks at which a random request of a direction can start.
    blocks: [u64; 3],
    /// Where the next sequential request of a direction begins, from the file's start.
    next: [u64; 3],
    /// Where the last request of a direction began, or [`NOWHERE`].
    last: [u64; 3],
    /// Where the current strided zone begins.
    zone: u64,
    done: bool,
    /// The zones it is in.
    ground: Option<ZonePlacement>,
    /// Opened or begun again: the bytes written in its zones are to be counted.
    fresh: bool,
}

/// The generator of a thread.
#[derive(Clone, Debug)]
pub(crate) struct FioStream {
    pattern: FioPattern,
    time_based: bool,
    seeds: Seeds,
    long: bool,
    random: bool,
    mapped: bool,
    /// The last completion that fio saw was a sync.
    synced: bool,
    /// Syncs whose completion fio has not seen.
    syncing: u64,
    /// The next place is not marked in the map.
    unmarked: bool,
    /// Nor is the place of the next request with so many in flight: fio reuses its io_units last in, first out.
    put_back: Option<u32>,
    align: [u64; 3],
    sizes: [Sizes; 3],
    chance: AddressRng,
    randomness: [Tausworthe88; 3],
    mix: Tausworthe88,
    mixed: usize,
    mix_until: u64,
    chosen: Option<usize>,
    chooser: Tausworthe,
    files: Vec<FioFileState>,
    file: usize,
    /// Completed files, including those of earlier passes if `done_for_good`.
    finished: usize,
    /// Requests until the next random place.
    run: u32,
    zone_bytes: u64,
    issued: [u64; 3],
    /// Requests that read back what was written: `number_ios` counts them.
    read_back: u64,
    /// Bytes counted towards the end of the job, and of the pass.
    bytes: u64,
    pass_bytes: u64,
    /// Bytes of all requests, whatever they count for.
    moved: u64,
    passes: u32,
    size: u64,
    limits: PassLimits,
    plain: Option<PlainPattern>,
    /// The number of the thread's worker.
    worker: u16,
    /// Zones that the worker has open.
    opened: u32,
    asking: Option<PendingZoneRequest>,
}

/// The common case: one file, one direction, one size. Only the place remains to be drawn.
#[derive(Clone, Copy, Debug)]
struct PlainPattern {
    direction: usize,
    bytes: u64,
    /// Places are drawn evenly among all of the file's, with repetition.
    even: bool,
    /// Requests before anything can end, and how many of them are drawn but not yet counted.
    ahead: u64,
    drawn: u64,
}

impl FioStream {
    /// The generator of a thread on a device of `sector` bytes. The pattern was checked.
    pub(crate) fn new(pattern: &FioPattern, sector: u64, seeds: Seeds, time_based: bool) -> FioStream {
        let long = pattern.generator == Generator::Tausworthe64 || exceeds_short(pattern);
        let sizes =
            [READ, WRITE, TRIM].map(|d| Sizes::new(&pattern.blocks[d], sector, size_stream(pattern, &seeds, d, long)));
        let align = core::array::from_fn(|d| match pattern.align[d] {
            given if given != 0 && pattern.random != [0; 3] => given,
            // An unused direction may have no size at all.
            _ => sizes[d].min.max(1),
        });
        let mut stream = FioStream {
            time_based,
            long,
            random: pattern.random != [0; 3],
            mapped: pattern.random_map && pattern.generator != Generator::Lfsr,
            synced: false,
            syncing: 0,
            unmarked: false,
            put_back: None,
            align,
            chance: AddressRng::new(&seeds, long, &pattern.distribution),
            randomness: [(); 3].map(|()| Tausworthe88::new(seeds.stream_seed(StreamPurpose::Randomness))),
            mix: Tausworthe88::new(seeds.stream_seed(StreamPurpose::Mix)),
            mixed: READ,
            mix_until: 0,
            chosen: None,
            chooser: Tausworthe::new(seeds.stream_seed(StreamPurpose::File), long),
            files: Vec::new(),
            file: 0,
            finished: 0,
            run: 1,
            zone_bytes: 0,
            issued: [0; 3],
            read_back: 0,
            bytes: 0,
            pass_bytes: 0,
            moved: 0,
            passes: 0,
            size: pattern.files.iter().map(|file| file.bytes).sum::<u64>()
                + pattern.zoned.as_ref().map_or(0, |it| it.cut),
            limits: PassLimits::default(),
            plain: plain_pattern(pattern),
            worker: 0,
            opened: 0,
            asking: None,
            seeds,
            sizes,
            pattern: pattern.clone(),
        };
        stream.limits = stream.pass_limits();
        let whole = |region: &Region| Region { bytes: region.bytes - region.bytes % sector, ..*region };
        stream.files = pattern.files.iter().map(|region| stream.open_file(whole(region))).collect();
        if let Some(plain) = &mut stream.plain {
            let places = stream.files[0].address.as_ref().is_some_and(AddressStream::is_unconstrained);
            plain.even = places && pattern.random[plain.direction] == 100;
        }
        stream
    }

    /// Returns the state of a file at the start of a pass.
    fn open_file(&self, region: Region) -> FioFileState {
        let zone = self.pattern.strided.map(|strided| strided.range);
        let range = zone.unwrap_or(region.bytes);
        let blocks = core::array::from_fn(|d| {
            (range + self.align[d]).saturating_sub(self.sizes[d].min.max(self.align[d])) / self.align[d]
        });
        let least = |directions: &[usize]| directions.iter().map(|&d| self.sizes[d].min).min().unwrap_or(1).max(1);
        let numbers = range / least(&[READ, WRITE, TRIM]);
        let address = (self.random && numbers > 0).then(|| {
            let used = self.pattern.direction.used_directions();
            let single = (0..3).filter(|&d| used[d]).all(|d| self.sizes[d].max == self.align[d]);
            let space = AddressSpace {
                distribution: &self.pattern.distribution,
                generator: self.pattern.generator,
                once: self.mapped,
                single,
                blocks: numbers,
                ranks: region.bytes.div_ceil(least(&[READ, WRITE])),
            };
            AddressStream::new(&space, &self.seeds)
        });
        let (next, last) = ([0; 3], [NOWHERE; 3]);
        FioFileState { region, address, blocks, next, last, zone: 0, done: false, ground: None, fresh: true }
    }

    /// Chooses the direction of the next request, if it can be known beforehand; [`FioStream::next`] keeps to it.
    pub(crate) fn peek_direction(&mut self) -> Option<usize> {
        if self.ends_now() || self.due_sync().is_some() {
            return None;
        }
        let direction = self.chosen.unwrap_or_else(|| self.choose_direction());
        self.chosen = Some(direction);
        self.chosen
    }

    /// Makes `direction` the next one of a mixed job, because its rate asks for it.
    pub(crate) fn turn_to(&mut self, direction: usize) {
        self.mixed = direction;
        self.chosen = Some(direction);
    }

    /// The direction to which a mixed job can turn from `direction`.
    pub(crate) fn other_direction(&self, direction: usize) -> Option<usize> {
        let share = if direction == READ { 100 - self.pattern.mix_read } else { self.pattern.mix_read };
        (self.pattern.direction == Direction::Mixed && share > 0).then_some(direction ^ 1)
    }

    /// Notes that fio saw the completion of a request, or of a sync.
    #[inline]
    pub(crate) fn see_completion(&mut self, sync: bool) {
        self.synced = sync;
        self.syncing = self.syncing.saturating_sub(sync.into());
    }

    /// True if the job or the pass ends before another request.
    pub(crate) fn ends_now(&self) -> bool {
        self.all_issued() || self.pass_over()
    }

    /// True if there are syncs between its requests.
    pub(crate) fn has_syncs(&self) -> bool {
        self.pattern.syncs.has_any()
    }

    /// Whether its files have zones.
    pub(crate) fn is_zoned(&self) -> bool {
        self.pattern.zoned.is_some()
    }

    /// True if the last completion seen was a sync.
    pub(crate) fn last_was_sync(&self) -> bool {
        self.synced
    }

    /// The sync that comes before the next request. fio goes by the number of writes issued, whatever came since; a
    /// trim-write pair is not interrupted.
    fn due_sync(&self) -> Option<FioSync> {
        let (Syncs { fsync, fdatasync, file_range }, writes) = (self.pattern.syncs, self.issued[WRITE]);
        if self.synced || writes == 0 || self.pattern.direction == Direction::TrimWrite {
            return None;
        }
        let after = |every: u32| every > 0 && writes.is_multiple_of(every.into());
        match () {
            () if after(fsync) || after(fdatasync) => Some(FioSync::Flush),
            () if after(file_range) => Some(FioSync::FileRange),
            () => None,
        }
    }

    /// Resets the counts at the end of the ramp. Places go on from where they are.
    pub(crate) fn forget_counts(&mut self) {
        self.count_drawn();
        (self.issued, self.read_back) = ([0; 3], 0);
        self.bytes = 0;
    }

    /// Returns the next step.
    #[inline]
    pub(crate) fn next(&mut self, around: &mut ZoneContext<'_>) -> FioStep {
        if let Some(plain) = &mut self.plain
            && plain.drawn < plain.ahead
        {
            // No end is near: only the place is to be drawn.
            plain.drawn += 1;
            let (direction, bytes) = (plain.direction, plain.bytes);
            let file = &self.files[0];
            let block = self.chance.draw_uniform(file.blocks[direction]);
            return FioStep::Request(FioRequest {
                direction,
                start: file.region.start + block * self.align[direction],
                bytes,
            });
        }
        self.next_in_full(around)
    }

    /// Brings the counts up to date with the draws of a plain pattern.
    fn count_drawn(&mut self) {
        if let Some(plain) = &mut self.plain {
            let drawn = core::mem::take(&mut plain.drawn);
            plain.ahead = 0;
            self.issued[plain.direction] += drawn;
            self.bytes += drawn * plain.bytes;
            self.pass_bytes += drawn * plain.bytes;
            self.moved += drawn * plain.bytes;
        }
    }

    /// How many requests of a plain pattern can follow the next one before the job or the pass ends.
    fn requests_before_end(&self, bytes: u64) -> u64 {
        let left = (self.limits.bytes - self.bytes).min(self.limits.pass - self.pass_bytes);
        ((left - 1) / bytes).min(self.limits.requests - self.requests_issued() - 1)
    }

    fn next_in_full(&mut self, around: &mut ZoneContext<'_>) -> FioStep {
        self.count_drawn();
        if let Some(asking) = self.asking.take() {
            match self.place_in_zones(asking, around) {
                FileDrawOutcome::Request(draw) => return self.emit_request(asking.file, draw),
                FileDrawOutcome::Held(drawn) => return drawn,
                FileDrawOutcome::Nothing => self.finish_file(asking.file),
            }
        }
        if self.all_issued() {
            return self.end_job();
        }
        if self.pass_over() {
            return self.end_pass();
        }
        if let Some(plain) = self.plain {
            if plain.even && self.chosen.is_none() {
                let ahead = self.requests_before_end(plain.bytes);
                self.plain = Some(PlainPattern { ahead, ..plain });
            }
            return self.next_plain(plain);
        }
        self.unmarked |= self.put_back.take_if(|level| *level == around.in_flight).is_some();
        while let Some(file) = self.choose_file() {
            // A sync takes the file's turn.
            if let Some(sync) = self.due_sync() {
                self.syncing += 1;
                self.unmarked = false;
                return FioStep::Sync(sync);
            }
            let mut direction = self.chosen.take().unwrap_or_else(|| self.choose_direction());
            if self.pattern.direction == Direction::TrimWrite {
                direction = self.files[file].pair_direction();
            }
            if self.must_write_first(file, around) {
                direction = WRITE;
            }
            match self.draw_request(file, direction, around) {
                FileDrawOutcome::Request(draw) => return self.emit_request(file, draw),
                FileDrawOutcome::Held(drawn) => return drawn,
                FileDrawOutcome::Nothing => self.finish_file(file),
            }
        }
        if core::mem::take(&mut self.unmarked) {
            self.put_back = Some(around.in_flight);
        }
        self.end_pass()
    }

    /// Marks a file as done.
    fn finish_file(&mut self, file: usize) {
        self.files[file].done = true;
        self.finished += 1;
    }

    #[inline]
    fn emit_request(&mut self, file: usize, draw: FioRequest) -> FioStep {
        self.count_request(file, &draw);
        self.unmarked = false;
        FioStep::Request(draw)
    }

    #[inline]
    fn next_plain(&mut self, plain: PlainPattern) -> FioStep {
        let PlainPattern { direction, bytes, .. } = plain;
        let place = if self.random {
            self.random_block(0, direction).map(|block| block * self.align[direction])
        } else {
            self.sequential_place(0, direction)
        };
        let room = self.files[0].region.bytes;
        let Some(place) = place.filter(|place| place + bytes <= room) else {
            self.finish_file(0);
            return self.end_pass();
        };
        let file = &mut self.files[0];
        file.next[direction] = place + bytes;
        self.issued[direction] += 1;
        self.pass_bytes += bytes;
        self.moved += bytes;
        self.bytes += bytes;
        FioStep::Request(FioRequest { direction, start: file.region.start + place, bytes })
    }

    /// Starts a pass.
    fn restart_pass(&mut self) {
        self.pass_bytes = 0;
        self.zone_bytes = 0;
        self.mix_until = 0;
        if !self.pattern.done_for_good {
            self.finished = 0;
        }
        if self.pattern.file_service == FileService::Sequential {
            // The current file was closed: the next one begins.
            self.file = (self.file + 1) % self.files.len();
        }
        for file in &mut self.files {
            file.zone = 0;
            file.done = false;
            file.reset_positions(&self.seeds);
        }
        if self.seeds.repeats_per_pass() {
            for direction in [READ, WRITE, TRIM] {
                self.sizes[direction].restart(size_stream(&self.pattern, &self.seeds, direction, self.long));
            }
            self.chance.restart(&self.seeds, self.long);
            self.randomness = [(); 3].map(|()| Tausworthe88::new(self.seeds.stream_seed(StreamPurpose::Randomness)));
            self.mix = Tausworthe88::new(self.seeds.stream_seed(StreamPurpose::Mix));
            self.chooser = Tausworthe::new(self.seeds.stream_seed(StreamPurpose::File), self.long);
        }
    }

    /// Chooses the direction of the next request.
    #[inline]
    fn choose_direction(&mut self) -> usize {
        match self.pattern.direction {
            Direction::Read => READ,
            Direction::Write | Direction::TrimWrite => WRITE,
            Direction::Trim => TRIM,
            Direction::Mixed => self.choose_mixed(),
        }
    }

    fn choose_mixed(&mut self) -> usize {
        // fio draws again only after a direction has had its share since the last turn.
        if self.issued[self.mixed] >= self.mix_until {
            let direction = if self.mix.next_percent() <= self.pattern.mix_read { READ } else { WRITE };
            if direction != self.mixed {
                let share = if direction == READ { self.pattern.mix_read } else { 100 - self.pattern.mix_read };
                self.mix_until = self.issued[self.mixed] * u64::from(share) / 100;
            }
            self.mixed = direction;
        }
        self.mixed
    }

    /// Chooses the file of the next request; `None` when all are done.
    #[inline]
    fn choose_file(&mut self) -> Option<usize> {
        if let [_] = &self.files[..] {
            return (self.finished == 0).then_some(0);
        }
        let count = self.files.len();
        if self.finished >= count {
            return None;
        }
        loop {
            let file = match self.pattern.file_service {
                FileService::Random => self.chooser.below(count as u64) as usize,
                FileService::RoundRobin => {
                    let file = self.file;
                    self.file = (file + 1) % count;
                    file
                }
                FileService::Sequential => {
                    if self.files[self.file].done {
                        self.file = (self.file + 1) % count;
                    }
                    self.file
                }
            };
            if !self.files[file].done {
                return Some(file);
            }
        }
    }

    /// Draws a request in a file, and fits it into the file's zones, if it has any.
    #[inline]
    fn draw_request(&mut self, index: usize, direction: usize, around: &mut ZoneContext<'_>) -> FileDrawOutcome {
        if self.pattern.zoned.is_none() {
            return self
                .draw_unzoned_request(index, direction)
                .map_or(FileDrawOutcome::Nothing, FileDrawOutcome::Request);
        }
        self.leave_zone(index, direction, around);
        match self.draw_zone_request(index, direction) {
            Some(asking) => self.place_in_zones(asking, around),
            None => FileDrawOutcome::Nothing,
        }
    }

    /// Draws a request in a file without zones kept by fio; `None` if the file has no more.
    #[inline]
    fn draw_unzoned_request(&mut self, index: usize, direction: usize) -> Option<FioRequest> {
        if self.pattern.strided.is_some() {
            self.change_zone(index, direction);
        }
        if direction == WRITE && self.random && self.pattern.direction == Direction::TrimWrite {
            // A random trim-write: the write goes where the trim was.
            let file = &self.files[index];
            let (start, bytes) = (file.last[TRIM], file.next[TRIM] - file.last[TRIM]);
            return Some(FioRequest { direction, start: file.region.start + start, bytes });
        }
        let (place, bytes) = self.draw_place(index, direction)?;
        let file = &self.files[index];
        let start = file.region.start + place + file.zone;
        let bytes = if self.unmarked { bytes } else { self.mark_drawn(index, direction, place, bytes)? };
        Some(FioRequest { direction, start, bytes })
    }

    /// Draws a place, from the zone's start, and a number of bytes.
    #[inline]
    fn draw_place(&mut self, index: usize, direction: usize) -> Option<(u64, u64)> {
        let (place, random, marks) = self.choose_place(index, direction)?;
        // fio does not mark the place after a sequential place that failed.
        self.unmarked |= !marks;
        let file = &self.files[index];
        let by = if !self.pattern.sizes_by_randomness {
            direction
        } else if random {
            WRITE
        } else {
            READ
        };
        let room = file.region.bytes.checked_sub(place + file.zone)?;
        let bytes = match file.ground {
            // fio does not check whether a fixed size fits into the part.
            Some(_) if room > 0 && self.sizes[by].is_fixed() => self.sizes[by].min,
            _ => self.sizes[by].draw_size(room)?,
        };
        Some((place, bytes))
    }

    /// Marks bytes in the map, if there is one; returns how many of them were free.
    #[inline]
    fn mark_drawn(&mut self, index: usize, direction: usize, place: u64, bytes: u64) -> Option<u64> {
        if !self.mapped {
            return Some(bytes);
        }
        let unit = self.sizes[direction].min;
        Some(self.files[index].address.as_mut()?.mark_bytes(place / unit, bytes, unit))
    }

    /// Chooses (a place from the zone's start, whether it counts as random, whether it is marked in the map).
    #[inline]
    fn choose_place(&mut self, index: usize, direction: usize) -> Option<(u64, bool, bool)> {
        if !self.random {
            return Some((self.sequential_place(index, direction)?, false, false));
        }
        if let Some(RwModifier::Run(length) | RwModifier::Same(length)) = self.pattern.modifier {
            self.run -= 1;
            if self.run > 0 {
                return self.place_in_run(index, direction);
            }
            self.run = length.max(1);
        }
        let share = self.pattern.random[direction];
        if share == 100 || self.randomness[direction].next_percent() <= share {
            return Some((self.random_place(index, direction)?, true, true));
        }
        match self.sequential_place(index, direction) {
            Some(place) => Some((place, false, false)),
            None => Some((self.random_place(index, direction)?, false, false)),
        }
    }

    /// A place within a run (`rw=randread:8`).
    fn place_in_run(&mut self, index: usize, direction: usize) -> Option<(u64, bool, bool)> {
        if matches!(self.pattern.modifier, Some(RwModifier::Same(_))) {
            let file = &self.files[index];
            let again = if file.last[direction] == NOWHERE { 0 } else { file.last[direction] - file.zone };
            return Some((again, false, false));
        }
        let place = self.sequential_place(index, direction).or_else(|| self.random_place(index, direction))?;
        Some((place, false, false))
    }

    /// A random place.
    fn random_place(&mut self, index: usize, direction: usize) -> Option<u64> {
        let block = self.random_block(index, direction)?;
        Some(block * self.align[direction])
    }

    /// A random block. A job that runs by time starts the file again when it is covered. A plain pattern marks the
    /// block.
    #[inline]
    fn random_block(&mut self, index: usize, direction: usize) -> Option<u64> {
        let align = self.align[direction];
        let file = &mut self.files[index];
        let (blocks, address) = (file.blocks[direction], file.address.as_mut()?);
        if blocks == 0 {
            return None;
        }
        let mut block = address.draw_block(&mut self.chance, blocks, align);
        if block.is_none() && self.time_based {
            file.reset_positions(&self.seeds);
            block = file.address.as_mut()?.draw_block(&mut self.chance, blocks, align);
        }
        if self.plain.is_some() {
            file.address.as_mut()?.mark_block(block?);
        }
        block
    }

    /// The place after the last one of this direction, from the zone's start.
    fn sequential_place(&mut self, index: usize, direction: usize) -> Option<u64> {
        let single = self.files.len() == 1;
        let file = &mut self.files[index];
        let end = file.region.bytes;
        if file.next[direction] >= end && self.time_based && single {
            file.next[direction] = file.zone;
        }
        // A file in zones goes on past the part: a place may be found there, but none of it is used.
        if file.next[direction] >= file.ground.map_or(end, |ground| ground.whole.bytes - ground.base) {
            return None;
        }
        let Some(RwModifier::Skip(skip)) = self.pattern.modifier else {
            // Zones skipped in one direction may leave the other behind: fio's file ends there.
            return file.next[direction].checked_sub(file.zone);
        };
        // Backwards begins at the end of the file, also in a zone.
        if file.next[direction] == file.zone && file.zone > 0 && skip < 0 {
            file.next[direction] = end;
        }
        match file.next[direction] - file.zone {
            0 => Some(0),
            place => match place.checked_add_signed(skip) {
                Some(place) if place < end => Some(place),
                _ if skip > 0 => Some(file.zone),
                _ => end.checked_add_signed(skip),
            },
        }
    }

    /// `zonemode=strided`: moves on when the zone has had its bytes.
    fn change_zone(&mut self, index: usize, direction: usize) {
        let Some(strided) = self.pattern.strided else {
            return;
        };
        let file = &mut self.files[index];
        if self.zone_bytes >= strided.size {
            self.zone_bytes = 0;
            file.zone += strided.range + strided.skip;
            if file.zone >= file.region.bytes {
                file.zone = 0;
            }
            file.next[direction] = file.zone;
        }
        if file.next[direction] >= file.zone + strided.range {
            file.next[direction] = file.zone;
        }
        if self.zone_bytes.is_multiple_of(strided.range) {
            file.reset_positions(&self.seeds);
        }
    }

    fn count_request(&mut self, index: usize, draw: &FioRequest) {
        let file = &mut self.files[index];
        let start = draw.start - file.region.start;
        if draw.direction == TRIM && self.random && file.last[TRIM] == start {
            // A repeated place, by chance: its write still follows.
            file.last[WRITE] = file.last[WRITE].wrapping_sub(1);
        }
        file.last[draw.direction] = start;
        file.next[draw.direction] = start + draw.bytes;
        self.issued[draw.direction] += 1;
        self.zone_bytes += draw.bytes;
        self.pass_bytes += draw.bytes;
        self.moved += draw.bytes;
        // In a trim-write pair only the write counts.
        if self.pattern.direction != Direction::TrimWrite || draw.direction == WRITE {
            self.bytes += draw.bytes;
        }
    }
}

impl FioFileState {
    /// Returns the next direction of a trim-write pair: the write, unless the last trim and write were at one place.
    fn pair_direction(&self) -> usize {
        if self.last[WRITE] == self.last[TRIM] { TRIM } else { WRITE }
    }

    /// Sets positions and map back to the start of a pass, in the current zone.
    fn reset_positions(&mut self, seeds: &Seeds) {
        self.next = [self.zone; 3];
        self.last = [NOWHERE; 3];
        self.fresh = true;
        if let Some(address) = &mut self.address {
            address.clear_drawn(seeds);
        }
    }
}

impl Direction {
    /// Which of read, write and trim it issues.
    pub(crate) fn used_directions(self) -> [bool; 3] {
        match self {
            Direction::Read => [true, false, false],
            Direction::Write => [false, true, false],
            Direction::Trim => [false, false, true],
            Direction::Mixed => [true, true, false],
            Direction::TrimWrite => [false, true, true],
        }
    }
}

/// Returns the plain case of a pattern, if it is one.
fn plain_pattern(pattern: &FioPattern) -> Option<PlainPattern> {
    let direction = match pattern.direction {
        Direction::Read => READ,
        Direction::Write => WRITE,
        Direction::Trim => TRIM,
        Direction::Mixed | Direction::TrimWrite => return None,
    };
    let BlockSizes::Fixed(bytes) = pattern.blocks[direction] else {
        return None;
    };
    let odd = pattern.syncs.has_any()
        || pattern.backlog.is_some()
        || pattern.strided.is_some()
        || pattern.zoned.is_some()
        || pattern.done_for_good
        || pattern.modifier.is_some()
        || pattern.sizes_by_randomness;
    let simple = pattern.files.len() == 1 && pattern.random.iter().all(|&share| share == 0 || share == 100);
    let same = pattern.random[direction] == 100 || pattern.random == [0; 3];
    let sound = !pattern.random_map || [0, bytes].contains(&pattern.align[direction]);
    (simple && same && sound && !odd).then_some(PlainPattern { direction, bytes, even: false, ahead: 0, drawn: 0 })
}

/// The stream of sizes of one direction. The two of a trim-write pair, and a write and its verification, draw the same
/// sizes.
fn size_stream(pattern: &FioPattern, seeds: &Seeds, direction: usize, long: bool) -> Tausworthe {
    let alike = match direction {
        TRIM if pattern.direction == Direction::TrimWrite => WRITE,
        other => other,
    };
    let alike = if alike == WRITE && pattern.sizes_alike { READ } else { alike };
    Tausworthe::new(seeds.size_seed(alike as u64), long)
}

/// True if there are more blocks than the 32-bit generator reaches: fio then changes to the 64-bit one by itself.
fn exceeds_short(pattern: &FioPattern) -> bool {
    let smallest = pattern.blocks.iter().map(BlockSizes::smallest).min().unwrap_or(1).max(1);
    pattern.generator == Generator::Tausworthe
        && pattern.files.iter().any(|file| file.bytes / smallest > u64::from(u32::MAX))
}

#[cfg(test)]
mod tests;
