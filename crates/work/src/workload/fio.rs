//! fio's generator: the next request of a thread, by draws in the order of fio 3.33 (`io_u.c`, `backend.c`).
//!
//! A step chooses the file, the direction (`rwmixread`), the place at random or in sequence, and the size; a map can
//! leave places out that were drawn before. Each direction has a sequential position of its own in each file. A *pass*
//! goes over the files once. When a request is issued is decided in `worker`.
//!
//! Intended differences to fio: a request never reaches past the part of the file in use; a run with gaps or backwards
//! (`rw=read:-8k`) behaves as fio's does in a file used from its beginning; an `io_size` equal to the files' size
//! counts as none.
//!
//! | file | what it holds |
//! |---|---|
//! | `passes` | where a job and its passes end |
//! | `plain` | the short way for a job with one file, one direction and one size |
//! | `zones` | files in zones that fio keeps itself (`zonemode=zbd`) |

mod passes;
mod plain;
mod zones;

use alloc::vec::Vec;
use seekwise_disk::block::Op;

use super::address::{AddressRng, AddressSpace, AddressStream};
use super::job::{BlockSizes, Direction, FileService, FioPattern, Generator, Region, RwModifier, Syncs};
use super::size::Sizes;
use super::tausworthe::{Seeds, StreamPurpose, Tausworthe, Tausworthe88};
use passes::PassLimits;
use plain::PlainPattern;
pub(crate) use zones::ZoneContext;
use zones::{FileDrawOutcome, PendingZoneRequest, ZonePlacement};

/// Index of reads in fio's triples.
pub(crate) const READ: usize = 0;
/// Index of writes.
pub(crate) const WRITE: usize = 1;
/// Index of trims.
pub(crate) const TRIM: usize = 2;
/// The place of the last request, if there was none yet.
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
    /// By direction: number of blocks at which a random request can start.
    blocks: [u64; 3],
    /// By direction: where the next sequential request begins, in bytes from the file's start.
    next_places: [u64; 3],
    /// By direction: where the last request began, or [`NOWHERE`].
    last_places: [u64; 3],
    /// Where the current strided zone begins.
    zone_start: u64,
    is_done: bool,
    /// The zones that it is in.
    placement: Option<ZonePlacement>,
    /// The file was opened or begun again, and the bytes written in its zones are not counted since.
    zones_uncounted: bool,
}

/// The generator of a thread.
#[derive(Clone, Debug)]
pub(crate) struct FioStream {
    pattern: FioPattern,
    time_based: bool,
    seeds: Seeds,
    /// The generator is Tausworthe 258.
    use_64_bit: bool,
    /// Some requests are at random places.
    has_random_places: bool,
    has_map: bool,
    /// The last completion that fio saw was a sync.
    last_was_sync: bool,
    /// Number of syncs whose completion fio has not seen.
    unseen_syncs: u64,
    /// The next place is not marked in the map.
    skips_marking: bool,
    /// The place of the next request with so many requests in flight is not marked in the map: fio reuses its io_units
    /// last in, first out.
    unmarked_unit: Option<u32>,
    /// By direction: places at random are multiples of this many bytes.
    align: [u64; 3],
    sizes: [Sizes; 3],
    address_rng: AddressRng,
    /// By direction: draws whether a place is random.
    randomness_rng: [Tausworthe88; 3],
    mix_rng: Tausworthe88,
    /// The direction of a mixed job.
    mix_direction: usize,
    /// Number of requests of this direction at which it may change.
    mix_until: u64,
    /// The direction of the next request, if it is chosen already.
    chosen_direction: Option<usize>,
    file_rng: Tausworthe,
    files: Vec<FioFileState>,
    current_file: usize,
    /// Number of completed files, including those of earlier passes if `done_for_good`.
    done_files: usize,
    /// Requests until the next random place.
    until_random_place: u32,
    /// Bytes of requests in the current strided zone.
    zone_bytes: u64,
    /// By direction: number of requests.
    issued: [u64; 3],
    /// Number of requests that read back what was written: `number_ios` counts them.
    read_back_count: u64,
    /// Bytes counted towards the end of the job.
    job_bytes: u64,
    /// Bytes counted towards the end of the pass.
    pass_bytes: u64,
    /// Bytes of all requests, whatever they count for.
    all_bytes: u64,
    /// Number of passes that have ended.
    ended_passes: u32,
    /// Bytes of all files.
    file_bytes: u64,
    limits: PassLimits,
    plain: Option<PlainPattern>,
    /// The number of the thread's worker.
    worker: u16,
    /// Number of zones that the worker has open.
    open_zones: u32,
    /// A request that waits for a place in a zone.
    pending: Option<PendingZoneRequest>,
}

/// A chosen place.
#[derive(Clone, Copy, Debug)]
struct ChosenPlace {
    /// In bytes from the zone's start.
    place: u64,
    is_random: bool,
    /// The map records that it was drawn.
    is_marked: bool,
}

/// A drawn place with a number of bytes.
#[derive(Clone, Copy, Debug)]
struct DrawnExtent {
    /// In bytes from the zone's start.
    place: u64,
    bytes: u64,
}

impl FioStream {
    /// The generator of a thread at its start. The pattern was checked.
    pub(crate) fn new(pattern: &FioPattern, sector_bytes: u64, seeds: Seeds, time_based: bool) -> FioStream {
        let use_64_bit = pattern.generator == Generator::Tausworthe64 || needs_64_bit_generator(pattern);
        let sizes = [READ, WRITE, TRIM]
            .map(|d| Sizes::new(&pattern.blocks[d], sector_bytes, size_stream(pattern, &seeds, d, use_64_bit)));
        let align = core::array::from_fn(|d| match pattern.align[d] {
            given if given != 0 && pattern.random != [0; 3] => given,
            // An unused direction may have no size at all.
            _ => sizes[d].min.max(1),
        });
        let mut stream = FioStream {
            time_based,
            use_64_bit,
            has_random_places: pattern.random != [0; 3],
            has_map: pattern.random_map && pattern.generator != Generator::Lfsr,
            last_was_sync: false,
            unseen_syncs: 0,
            skips_marking: false,
            unmarked_unit: None,
            align,
            address_rng: AddressRng::new(&seeds, use_64_bit, &pattern.distribution),
            randomness_rng: [(); 3].map(|()| Tausworthe88::new(seeds.stream_seed(StreamPurpose::Randomness))),
            mix_rng: Tausworthe88::new(seeds.stream_seed(StreamPurpose::Mix)),
            mix_direction: READ,
            mix_until: 0,
            chosen_direction: None,
            file_rng: Tausworthe::new(seeds.stream_seed(StreamPurpose::File), use_64_bit),
            files: Vec::new(),
            current_file: 0,
            done_files: 0,
            until_random_place: 1,
            zone_bytes: 0,
            issued: [0; 3],
            read_back_count: 0,
            job_bytes: 0,
            pass_bytes: 0,
            all_bytes: 0,
            ended_passes: 0,
            file_bytes: pattern.files.iter().map(|file| file.bytes).sum::<u64>()
                + pattern.zoned.as_ref().map_or(0, |it| it.cut),
            limits: PassLimits::default(),
            plain: plain::plain_pattern(pattern),
            worker: 0,
            open_zones: 0,
            pending: None,
            seeds,
            sizes,
            pattern: pattern.clone(),
        };
        stream.limits = stream.compute_pass_limits();
        let whole_sectors = |region: &Region| Region { bytes: region.bytes - region.bytes % sector_bytes, ..*region };
        stream.files = pattern.files.iter().map(|region| stream.start_file(whole_sectors(region))).collect();
        if let Some(plain) = &mut stream.plain {
            let is_unconstrained = stream.files[0].address.as_ref().is_some_and(AddressStream::is_unconstrained);
            plain.is_uniform = is_unconstrained && pattern.random[plain.direction] == 100;
        }
        stream
    }

    /// Returns the state of a file at the start of a pass.
    fn start_file(&self, region: Region) -> FioFileState {
        let range = self.pattern.strided.map_or(region.bytes, |strided| strided.range);
        let blocks = core::array::from_fn(|d| {
            (range + self.align[d]).saturating_sub(self.sizes[d].min.max(self.align[d])) / self.align[d]
        });
        let smallest = |directions: &[usize]| directions.iter().map(|&d| self.sizes[d].min).min().unwrap_or(1).max(1);
        let block_count = range / smallest(&[READ, WRITE, TRIM]);
        let address = (self.has_random_places && block_count > 0).then(|| {
            let used = self.pattern.direction.used_directions();
            let space = AddressSpace {
                distribution: &self.pattern.distribution,
                generator: self.pattern.generator,
                each_block_once: self.has_map,
                one_block_requests: (0..3).filter(|&d| used[d]).all(|d| self.sizes[d].max == self.align[d]),
                blocks: block_count,
                ranks: region.bytes.div_ceil(smallest(&[READ, WRITE])),
            };
            AddressStream::new(&space, &self.seeds)
        });
        FioFileState {
            region,
            address,
            blocks,
            next_places: [0; 3],
            last_places: [NOWHERE; 3],
            zone_start: 0,
            is_done: false,
            placement: None,
            zones_uncounted: true,
        }
    }

    /// Chooses the direction of the next request, which [`FioStream::next_step`] then keeps; `None` if the next step is
    /// no request.
    pub(crate) fn choose_direction_early(&mut self) -> Option<usize> {
        if self.ends_now() || self.due_sync().is_some() {
            return None;
        }
        let direction = self.chosen_direction.unwrap_or_else(|| self.choose_direction());
        self.chosen_direction = Some(direction);
        self.chosen_direction
    }

    /// Makes `direction` the next one of a mixed job, because its rate asks for it.
    pub(crate) fn turn_to(&mut self, direction: usize) {
        self.mix_direction = direction;
        self.chosen_direction = Some(direction);
    }

    /// The direction to which a mixed job can turn from `direction`; `None` for other jobs.
    pub(crate) fn other_direction(&self, direction: usize) -> Option<usize> {
        let share = if direction == READ { 100 - self.pattern.mix_read } else { self.pattern.mix_read };
        (self.pattern.direction == Direction::Mixed && share > 0).then_some(direction ^ 1)
    }

    /// Notes that fio saw the completion of a request, or of a sync.
    #[inline]
    pub(crate) fn note_seen_completion(&mut self, was_sync: bool) {
        self.last_was_sync = was_sync;
        self.unseen_syncs = self.unseen_syncs.saturating_sub(was_sync.into());
    }

    /// True if the job or the pass ends before another request.
    pub(crate) fn ends_now(&self) -> bool {
        self.all_issued() || self.is_pass_over()
    }

    /// True if there are syncs between its requests.
    pub(crate) fn has_syncs(&self) -> bool {
        self.pattern.syncs.has_any()
    }

    /// True if its files have zones.
    pub(crate) fn is_zoned(&self) -> bool {
        self.pattern.zoned.is_some()
    }

    /// True if the last completion seen was a sync.
    pub(crate) fn last_was_sync(&self) -> bool {
        self.last_was_sync
    }

    /// The sync that comes before the next request. fio goes by the number of writes issued, whatever came since; a
    /// trim-write pair is not interrupted.
    fn due_sync(&self) -> Option<FioSync> {
        let (Syncs { fsync, fdatasync, file_range }, writes) = (self.pattern.syncs, self.issued[WRITE]);
        if self.last_was_sync || writes == 0 || self.pattern.direction == Direction::TrimWrite {
            return None;
        }
        let is_due = |every: u32| every > 0 && writes.is_multiple_of(every.into());
        let flush = (is_due(fsync) || is_due(fdatasync)).then_some(FioSync::Flush);
        flush.or(is_due(file_range).then_some(FioSync::FileRange))
    }

    /// Resets the counts at the end of the ramp. The places stay.
    pub(crate) fn forget_counts(&mut self) {
        self.count_plain_draws();
        (self.issued, self.read_back_count) = ([0; 3], 0);
        self.job_bytes = 0;
    }

    /// Returns the next step.
    #[inline]
    pub(crate) fn next_step(&mut self, context: &mut ZoneContext<'_>) -> FioStep {
        if let Some(plain) = &mut self.plain
            && plain.uncounted < plain.before_end
        {
            // No end is near: only the place is to be drawn.
            plain.uncounted += 1;
            let (direction, bytes) = (plain.direction, plain.bytes);
            let file = &self.files[0];
            let block = self.address_rng.draw_uniform(file.blocks[direction]);
            return FioStep::Request(FioRequest {
                direction,
                start: file.region.start + block * self.align[direction],
                bytes,
            });
        }
        self.next_step_in_full(context)
    }

    fn next_step_in_full(&mut self, context: &mut ZoneContext<'_>) -> FioStep {
        self.count_plain_draws();
        if let Some(pending) = self.pending.take() {
            match self.place_in_zones(pending, context) {
                FileDrawOutcome::Request(request) => return self.count_and_emit(pending.file, request),
                FileDrawOutcome::Held(step) => return step,
                FileDrawOutcome::Nothing => self.finish_file(pending.file),
            }
        }
        if self.all_issued() {
            return self.end_job();
        }
        if self.is_pass_over() {
            return self.end_pass();
        }
        if let Some(plain) = self.plain {
            return self.next_plain_step(plain);
        }
        self.skips_marking |= self.unmarked_unit.take_if(|unit| *unit == context.in_flight).is_some();
        while let Some(file) = self.choose_file() {
            // A sync takes the file's turn.
            if let Some(sync) = self.due_sync() {
                self.unseen_syncs += 1;
                self.skips_marking = false;
                return FioStep::Sync(sync);
            }
            let mut direction = self.chosen_direction.take().unwrap_or_else(|| self.choose_direction());
            if self.pattern.direction == Direction::TrimWrite {
                direction = self.files[file].pair_direction();
            }
            self.count_zones(file, context);
            if self.must_write_first(file, context) {
                direction = WRITE;
            }
            match self.draw_request(file, direction, context) {
                FileDrawOutcome::Request(request) => return self.count_and_emit(file, request),
                FileDrawOutcome::Held(step) => return step,
                FileDrawOutcome::Nothing => self.finish_file(file),
            }
        }
        if core::mem::take(&mut self.skips_marking) {
            self.unmarked_unit = Some(context.in_flight);
        }
        self.end_pass()
    }

    /// Marks a file as done.
    fn finish_file(&mut self, file: usize) {
        self.files[file].is_done = true;
        self.done_files += 1;
    }

    #[inline]
    fn count_and_emit(&mut self, file: usize, request: FioRequest) -> FioStep {
        self.count_request(file, &request);
        self.skips_marking = false;
        FioStep::Request(request)
    }

    /// Starts a pass.
    fn restart_pass(&mut self) {
        self.pass_bytes = 0;
        self.zone_bytes = 0;
        self.mix_until = 0;
        if !self.pattern.done_for_good {
            self.done_files = 0;
        }
        if self.pattern.file_service == FileService::Sequential {
            // The current file was closed: the next one begins.
            self.current_file = (self.current_file + 1) % self.files.len();
        }
        for file in &mut self.files {
            file.zone_start = 0;
            file.is_done = false;
            file.reset_positions(&self.seeds);
        }
        if self.seeds.repeats_per_pass() {
            for direction in [READ, WRITE, TRIM] {
                self.sizes[direction].restart(size_stream(&self.pattern, &self.seeds, direction, self.use_64_bit));
            }
            self.address_rng.restart(&self.seeds, self.use_64_bit);
            self.randomness_rng =
                [(); 3].map(|()| Tausworthe88::new(self.seeds.stream_seed(StreamPurpose::Randomness)));
            self.mix_rng = Tausworthe88::new(self.seeds.stream_seed(StreamPurpose::Mix));
            self.file_rng = Tausworthe::new(self.seeds.stream_seed(StreamPurpose::File), self.use_64_bit);
        }
    }

    /// Chooses the direction of the next request.
    #[inline]
    fn choose_direction(&mut self) -> usize {
        match self.pattern.direction {
            Direction::Read => READ,
            Direction::Write | Direction::TrimWrite => WRITE,
            Direction::Trim => TRIM,
            Direction::Mixed => self.choose_mixed_direction(),
        }
    }

    fn choose_mixed_direction(&mut self) -> usize {
        // fio draws again only after a direction has had its share since the last turn.
        if self.issued[self.mix_direction] >= self.mix_until {
            let direction = if self.mix_rng.next_percent() <= self.pattern.mix_read { READ } else { WRITE };
            if direction != self.mix_direction {
                let share = if direction == READ { self.pattern.mix_read } else { 100 - self.pattern.mix_read };
                self.mix_until = self.issued[self.mix_direction] * u64::from(share) / 100;
            }
            self.mix_direction = direction;
        }
        self.mix_direction
    }

    /// Chooses the file of the next request; `None` when all are done.
    #[inline]
    fn choose_file(&mut self) -> Option<usize> {
        if let [_] = &self.files[..] {
            return (self.done_files == 0).then_some(0);
        }
        let count = self.files.len();
        if self.done_files >= count {
            return None;
        }
        loop {
            let file = match self.pattern.file_service {
                FileService::Random => self.file_rng.below(count as u64) as usize,
                FileService::RoundRobin => {
                    let file = self.current_file;
                    self.current_file = (file + 1) % count;
                    file
                }
                FileService::Sequential => {
                    if self.files[self.current_file].is_done {
                        self.current_file = (self.current_file + 1) % count;
                    }
                    self.current_file
                }
            };
            if !self.files[file].is_done {
                return Some(file);
            }
        }
    }

    /// Draws a request in a file, and fits it into the file's zones, if it has any.
    #[inline]
    fn draw_request(&mut self, index: usize, direction: usize, context: &mut ZoneContext<'_>) -> FileDrawOutcome {
        if self.pattern.zoned.is_none() {
            return self
                .draw_unzoned_request(index, direction)
                .map_or(FileDrawOutcome::Nothing, FileDrawOutcome::Request);
        }
        self.leave_zone(index, direction, context);
        match self.draw_zone_request(index, direction) {
            Some(pending) => self.place_in_zones(pending, context),
            None => FileDrawOutcome::Nothing,
        }
    }

    /// Draws a request in a file without zones kept by fio; `None` if the file has no more.
    #[inline]
    fn draw_unzoned_request(&mut self, index: usize, direction: usize) -> Option<FioRequest> {
        if self.pattern.strided.is_some() {
            self.advance_strided_zone(index, direction);
        }
        if direction == WRITE && self.has_random_places && self.pattern.direction == Direction::TrimWrite {
            // A random trim-write: the write goes where the trim was.
            let file = &self.files[index];
            let (start, bytes) = (file.last_places[TRIM], file.next_places[TRIM] - file.last_places[TRIM]);
            return Some(FioRequest { direction, start: file.region.start + start, bytes });
        }
        let DrawnExtent { place, bytes } = self.draw_extent(index, direction)?;
        let file = &self.files[index];
        let start = file.region.start + place + file.zone_start;
        let bytes = if self.skips_marking { bytes } else { self.mark_free_bytes(index, direction, place, bytes)? };
        Some(FioRequest { direction, start, bytes })
    }

    /// Draws a place and a number of bytes.
    #[inline]
    fn draw_extent(&mut self, index: usize, direction: usize) -> Option<DrawnExtent> {
        let ChosenPlace { place, is_random, is_marked } = self.choose_place(index, direction)?;
        // fio does not mark the place after a sequential place that failed.
        self.skips_marking |= !is_marked;
        let file = &self.files[index];
        let sizes = match self.pattern.sizes_by_randomness {
            false => &mut self.sizes[direction],
            true => &mut self.sizes[if is_random { WRITE } else { READ }],
        };
        let room = file.region.bytes.checked_sub(place + file.zone_start)?;
        let bytes = match file.placement {
            // fio does not check whether a fixed size fits into the part.
            Some(_) if room > 0 && sizes.is_fixed() => sizes.min,
            _ => sizes.draw_size(room)?,
        };
        Some(DrawnExtent { place, bytes })
    }

    /// Marks bytes in the map, up to the next that is marked already; returns how many these are: all without a map.
    #[inline]
    fn mark_free_bytes(&mut self, index: usize, direction: usize, place: u64, bytes: u64) -> Option<u64> {
        if !self.has_map {
            return Some(bytes);
        }
        let block_bytes = self.sizes[direction].min;
        Some(self.files[index].address.as_mut()?.mark_free_bytes(place / block_bytes, bytes, block_bytes))
    }

    /// Chooses a place at random or in sequence; `None` if the file has no more.
    #[inline]
    fn choose_place(&mut self, index: usize, direction: usize) -> Option<ChosenPlace> {
        let in_sequence = |place| ChosenPlace { place, is_random: false, is_marked: false };
        if !self.has_random_places {
            return self.next_sequential_place(index, direction).map(in_sequence);
        }
        if let Some(RwModifier::Run(length) | RwModifier::Same(length)) = self.pattern.modifier {
            self.until_random_place -= 1;
            if self.until_random_place > 0 {
                return self.next_place_in_run(index, direction).map(in_sequence);
            }
            self.until_random_place = length.max(1);
        }
        let share = self.pattern.random[direction];
        if share == 100 || self.randomness_rng[direction].next_percent() <= share {
            let place = self.draw_random_place(index, direction)?;
            return Some(ChosenPlace { place, is_random: true, is_marked: true });
        }
        let place = self.next_sequential_place(index, direction).or_else(|| self.draw_random_place(index, direction));
        place.map(in_sequence)
    }

    /// The next place of a run (`rw=randread:8`).
    fn next_place_in_run(&mut self, index: usize, direction: usize) -> Option<u64> {
        if matches!(self.pattern.modifier, Some(RwModifier::Same(_))) {
            let file = &self.files[index];
            let last_place = file.last_places[direction];
            return Some(if last_place == NOWHERE { 0 } else { last_place - file.zone_start });
        }
        self.next_sequential_place(index, direction).or_else(|| self.draw_random_place(index, direction))
    }

    /// Draws a random place, in bytes from the zone's start.
    fn draw_random_place(&mut self, index: usize, direction: usize) -> Option<u64> {
        let block = self.draw_random_block(index, direction)?;
        Some(block * self.align[direction])
    }

    /// Draws a random block; `None` if all were drawn. A job that runs by time starts the file again then. A plain
    /// pattern marks the block.
    #[inline]
    fn draw_random_block(&mut self, index: usize, direction: usize) -> Option<u64> {
        let align = self.align[direction];
        let file = &mut self.files[index];
        let (blocks, address) = (file.blocks[direction], file.address.as_mut()?);
        if blocks == 0 {
            return None;
        }
        let mut block = address.draw_block(&mut self.address_rng, blocks, align);
        if block.is_none() && self.time_based {
            file.reset_positions(&self.seeds);
            block = file.address.as_mut()?.draw_block(&mut self.address_rng, blocks, align);
        }
        if self.plain.is_some() {
            file.address.as_mut()?.mark_block(block?);
        }
        block
    }

    /// The place after the last one of this direction, in bytes from the zone's start; `None` if the file has no more.
    /// A job that runs by time starts a single file again then.
    fn next_sequential_place(&mut self, index: usize, direction: usize) -> Option<u64> {
        let is_single = self.files.len() == 1;
        let file = &mut self.files[index];
        let end = file.region.bytes;
        if file.next_places[direction] >= end && self.time_based && is_single {
            file.next_places[direction] = file.zone_start;
        }
        // A file in zones goes on past the part: a place may be found there, but none of it is used.
        if file.next_places[direction] >= file.placement.map_or(end, |placement| placement.whole.bytes - placement.base)
        {
            return None;
        }
        let Some(RwModifier::Skip(skip)) = self.pattern.modifier else {
            // A direction may skip zones in which the other still is: fio's file ends there.
            return file.next_places[direction].checked_sub(file.zone_start);
        };
        // A run backwards begins at the end of the file, also in a zone.
        if file.next_places[direction] == file.zone_start && file.zone_start > 0 && skip < 0 {
            file.next_places[direction] = end;
        }
        match file.next_places[direction] - file.zone_start {
            0 => Some(0),
            place => match place.checked_add_signed(skip) {
                Some(place) if place < end => Some(place),
                _ if skip > 0 => Some(file.zone_start),
                _ => end.checked_add_signed(skip),
            },
        }
    }

    /// `zonemode=strided`: moves to the next zone when the zone has had its bytes.
    fn advance_strided_zone(&mut self, index: usize, direction: usize) {
        let Some(strided) = self.pattern.strided else {
            return;
        };
        let file = &mut self.files[index];
        if self.zone_bytes >= strided.size {
            self.zone_bytes = 0;
            file.zone_start += strided.range + strided.skip;
            if file.zone_start >= file.region.bytes {
                file.zone_start = 0;
            }
            file.next_places[direction] = file.zone_start;
        }
        if file.next_places[direction] >= file.zone_start + strided.range {
            file.next_places[direction] = file.zone_start;
        }
        if self.zone_bytes.is_multiple_of(strided.range) {
            file.reset_positions(&self.seeds);
        }
    }

    fn count_request(&mut self, index: usize, request: &FioRequest) {
        let file = &mut self.files[index];
        let start = request.start - file.region.start;
        if request.direction == TRIM && self.has_random_places && file.last_places[TRIM] == start {
            // The trim repeats a place by chance; its write still follows.
            file.last_places[WRITE] = file.last_places[WRITE].wrapping_sub(1);
        }
        file.last_places[request.direction] = start;
        file.next_places[request.direction] = start + request.bytes;
        self.issued[request.direction] += 1;
        self.zone_bytes += request.bytes;
        self.pass_bytes += request.bytes;
        self.all_bytes += request.bytes;
        // In a trim-write pair only the write counts.
        if self.pattern.direction != Direction::TrimWrite || request.direction == WRITE {
            self.job_bytes += request.bytes;
        }
    }
}

impl FioFileState {
    /// Returns the next direction of a trim-write pair: the write, unless the last trim and write were at one place.
    fn pair_direction(&self) -> usize {
        if self.last_places[WRITE] == self.last_places[TRIM] { TRIM } else { WRITE }
    }

    /// Sets positions and map back to the start of a pass, in the current zone.
    fn reset_positions(&mut self, seeds: &Seeds) {
        self.next_places = [self.zone_start; 3];
        self.last_places = [NOWHERE; 3];
        self.zones_uncounted = true;
        if let Some(address) = &mut self.address {
            address.forget_drawn_blocks(seeds);
        }
    }
}

impl Direction {
    /// True for those of read, write and trim that it issues.
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

/// The stream of sizes of one direction. A trim and its write draw the same sizes, and so do a write and its
/// verification.
fn size_stream(pattern: &FioPattern, seeds: &Seeds, direction: usize, use_64_bit: bool) -> Tausworthe {
    let is_pair = pattern.direction == Direction::TrimWrite;
    let seed_direction = match direction {
        WRITE if pattern.sizes_alike => READ,
        TRIM if is_pair && pattern.sizes_alike => READ,
        TRIM if is_pair => WRITE,
        other => other,
    };
    Tausworthe::new(seeds.size_seed(seed_direction as u64), use_64_bit)
}

/// True if there are more blocks than the 32-bit generator reaches: fio then uses the 64-bit one.
fn needs_64_bit_generator(pattern: &FioPattern) -> bool {
    let smallest = pattern.blocks.iter().map(BlockSizes::smallest).min().unwrap_or(1).max(1);
    pattern.generator == Generator::Tausworthe
        && pattern.files.iter().any(|file| file.bytes / smallest > u64::from(u32::MAX))
}

#[cfg(test)]
mod tests;
