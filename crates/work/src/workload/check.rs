//! Checks a job before it runs.
//!
//! All errors that the job and the device's limits show are found here, so that the generators can rely on it: each
//! request is a whole number of sectors inside the device. Sizes are never rounded for the user, with two exceptions
//! that the tools make too: `bs_unaligned` sizes become whole sectors, and a file's partial last sector is not used.

use alloc::collections::BTreeMap;
use alloc::string::String;
use core::fmt;

use seekwise_disk::block::{Limits, SECTOR};
use seekwise_disk::time::Span;

use super::address::zipf_fits;
use super::job::{
    BlockSizes, Distribution, FioPattern, Generator, IometerPattern, IssueRate, Job, Pattern, Region, RwModifier,
    Worker,
};

/// Why a job cannot run on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadError {
    /// The worker's name; empty if the job as a whole is at fault.
    pub worker: String,
    pub fault: WorkloadFault,
}

/// A fault of a worker or a job.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorkloadFault {
    /// No worker at all, or more than 65,535, or more than 2^31 requests in flight.
    Workers,
    /// A depth of 0.
    Depth,
    Endless,
    /// The job would take more than a century.
    TooLong,
    /// Not a whole number of the device's sectors.
    Sector {
        /// The setting.
        what: &'static str,
        /// The value, in bytes.
        bytes: u64,
        /// Bytes in a sector.
        sector: u64,
    },
    /// A region or request past the device's end.
    OutOfRange {
        /// The first byte after it.
        end: u64,
        /// Bytes of the device.
        device: u64,
    },
    /// A request larger than the device accepts.
    TooLarge {
        /// The size of the request.
        bytes: u64,
        /// The device's limit.
        most: u64,
    },
    /// No request fits the space that it has.
    NothingFits,
    /// Shares that do not add up to 100, or one beyond 100.
    Shares(&'static str),
    /// A number out of its range.
    Number(&'static str),
    /// Two settings that contradict each other.
    Conflict(&'static str),
}

impl fmt::Display for WorkloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.worker.is_empty() {
            write!(f, "{}: ", self.worker)?;
        }
        match &self.fault {
            WorkloadFault::Workers => {
                write!(f, "a job has between 1 and 65535 workers with at most 2^31 requests in flight")
            }
            WorkloadFault::Depth => write!(f, "a depth of 0 issues nothing"),
            WorkloadFault::Endless => write!(f, "without a run time it would never end"),
            WorkloadFault::TooLong => write!(f, "its delays, pauses and run times come to more than 100 years"),
            WorkloadFault::Sector { what, bytes, sector } => {
                write!(f, "{what} of {bytes} bytes is not a whole number of {sector}-byte sectors")
            }
            WorkloadFault::OutOfRange { end, device } => {
                write!(f, "reaches to byte {end} of a device of {device} bytes")
            }
            WorkloadFault::TooLarge { bytes, most } => {
                write!(f, "a request of {bytes} bytes; the device takes {most} at once")
            }
            WorkloadFault::NothingFits => write!(f, "no request fits the space it is given"),
            WorkloadFault::Shares(what) => write!(f, "the shares of {what} do not sum to 100"),
            WorkloadFault::Number(what) => write!(f, "{what} is out of range"),
            WorkloadFault::Conflict(what) => write!(f, "{what}"),
        }
    }
}

impl core::error::Error for WorkloadError {}

/// The longest duration of a job in nanoseconds: 100 years, a sixth of the time that 64 bits can hold.
const LONGEST: u128 = 36_500 * 86_400 * 1_000_000_000;

/// Checks a whole job.
pub(crate) fn check_job(job: &Job, limits: &Limits) -> Result<(), WorkloadError> {
    let in_flight: u64 = job.workers.iter().map(|worker| u64::from(worker.depth)).sum();
    if job.workers.is_empty() || job.workers.len() > usize::from(u16::MAX) || in_flight > 1 << 31 {
        return Err(WorkloadError { worker: String::new(), fault: WorkloadFault::Workers });
    }
    // By stage: the longest duration of its workers, and the worker.
    let mut stages: BTreeMap<u32, (u128, &Worker)> = BTreeMap::new();
    for worker in &job.workers {
        check_worker(worker, limits).map_err(|fault| WorkloadError { worker: worker.name.clone(), fault })?;
        let longest = stages.entry(worker.stage).or_insert((0, worker));
        if worker_nanos(worker) > longest.0 {
            *longest = (worker_nanos(worker), worker);
        }
    }
    let mut sum_nanos = 0;
    for (nanos, worker) in stages.into_values() {
        sum_nanos += nanos;
        if sum_nanos > LONGEST {
            return Err(WorkloadError { worker: worker.name.clone(), fault: WorkloadFault::TooLong });
        }
    }
    Ok(())
}

/// The duration of a worker by its own settings, in nanoseconds. A slow device adds to it.
fn worker_nanos(worker: &Worker) -> u128 {
    let nanos = |span: Span| u128::from(span.nanos());
    let last_pause = worker.pace.think.map_or(0, |think| nanos(think.time) + nanos(think.spin));
    let before_run = nanos(worker.start_delay) + nanos(worker.ramp);
    let paced = match &worker.pattern {
        Pattern::Fio(pattern) => paced_nanos(worker, pattern),
        Pattern::Iometer(_) => 0,
    };
    let run = match worker.runtime {
        Some(runtime) if worker.time_based => nanos(runtime),
        Some(runtime) => paced.min(nanos(runtime)),
        None => paced,
    };
    before_run + run + last_pause
}

/// The nanoseconds that rates and pauses take in a job that ends with its bytes or its requests.
fn paced_nanos(worker: &Worker, pattern: &FioPattern) -> u128 {
    const SECOND: u128 = 1_000_000_000;
    let bytes = u128::from(pattern.bytes) * u128::from(pattern.loops);
    let smallest = pattern.blocks.iter().map(BlockSizes::smallest).min().unwrap_or(1).max(1);
    let by_bytes = bytes.div_ceil(u128::from(smallest));
    let requests = pattern.requests.map_or(by_bytes, |most| by_bytes.min(u128::from(most) * u128::from(pattern.loops)));
    let largest = pattern.blocks.iter().map(BlockSizes::largest).max().unwrap_or(1);
    let rate_nanos = |rate: &IssueRate| match rate {
        IssueRate::Bytes(rate) => requests * u128::from(largest) * SECOND / u128::from(*rate).max(1),
        IssueRate::Requests(rate) => requests * SECOND / u128::from(*rate).max(1),
    };
    let waited = worker.pace.rate.iter().flatten().map(rate_nanos).max().unwrap_or(0);
    let paused = worker.pace.think.map_or(0, |think| {
        (requests / u128::from(think.blocks.max(1))) * u128::from(think.time.nanos().max(think.spin.nanos()))
    });
    waited + paused
}

fn ensure(is_valid: bool, fault: WorkloadFault) -> Result<(), WorkloadFault> {
    if is_valid { Ok(()) } else { Err(fault) }
}

fn check_whole_sectors(setting: &'static str, bytes: u64, limits: &Limits) -> Result<(), WorkloadFault> {
    let sector = u64::from(limits.logical);
    ensure(bytes.is_multiple_of(sector), WorkloadFault::Sector { what: setting, bytes, sector })
}

/// Checks the end of a region, in bytes; `None` if it overflowed.
fn check_within_device(region_end: Option<u64>, limits: &Limits) -> Result<(), WorkloadFault> {
    let device = limits.sectors * SECTOR;
    let end = region_end.unwrap_or(u64::MAX);
    ensure(end <= device, WorkloadFault::OutOfRange { end, device })
}

fn check_request_size(setting: &'static str, bytes: u64, limits: &Limits) -> Result<(), WorkloadFault> {
    let most = u64::from(limits.max_transfer) * SECTOR;
    ensure(bytes > 0, WorkloadFault::Number(setting))?;
    ensure(bytes <= most, WorkloadFault::TooLarge { bytes, most })?;
    check_whole_sectors(setting, bytes, limits)
}

fn check_region(region: &Region, limits: &Limits) -> Result<(), WorkloadFault> {
    check_whole_sectors("a region's start", region.start, limits)?;
    check_within_device(region.start.checked_add(region.bytes), limits)
}

fn check_worker(worker: &Worker, limits: &Limits) -> Result<(), WorkloadFault> {
    ensure(worker.depth > 0, WorkloadFault::Depth)?;
    ensure(worker.runtime.is_some() || !worker.time_based, WorkloadFault::Endless)?;
    if let Some(think) = worker.pace.think {
        ensure(think.blocks > 0, WorkloadFault::Number("thinktime_blocks"))?;
    }
    ensure(worker.pace.flow.is_none_or(|flow| flow.weight > 0), WorkloadFault::Number("a flow's weight"))?;
    for rate in worker.pace.rate.iter().flatten() {
        let (IssueRate::Bytes(rate) | IssueRate::Requests(rate)) = rate;
        ensure(*rate > 0, WorkloadFault::Number("a rate"))?;
    }
    let has_rate = worker.pace.rate.iter().any(Option::is_some);
    match &worker.pattern {
        Pattern::Fio(pattern) => check_fio(pattern, limits),
        _ if has_rate => Err(WorkloadFault::Conflict("a rate needs fio's generator: Iometer has depths")),
        Pattern::Iometer(pattern) => {
            ensure(worker.runtime.is_some(), WorkloadFault::Endless)?;
            check_iometer(pattern, limits)
        }
    }
}

fn check_iometer(pattern: &IometerPattern, limits: &Limits) -> Result<(), WorkloadFault> {
    check_region(&pattern.area, limits)?;
    let lines = &pattern.spec.lines;
    let sum: u32 = lines.iter().map(|line| u32::from(line.share)).sum();
    ensure(sum == 100 && lines.len() <= 100, WorkloadFault::Shares("an access specification"))?;
    for line in lines {
        ensure(line.reads <= 100 && line.random <= 100, WorkloadFault::Shares("reads and random places"))?;
        ensure(line.burst > 0, WorkloadFault::Number("a burst"))?;
        check_request_size("a request", line.size.into(), limits)?;
        if line.reply > 0 {
            check_request_size("a reply", line.reply.into(), limits)?;
        }
        check_whole_sectors("an alignment", line.align.into(), limits)?;
        let align = if line.align == 0 { u64::from(limits.logical) } else { line.align.into() };
        let first = pattern.area.start.next_multiple_of(align);
        let end = pattern.area.start + pattern.area.bytes;
        ensure(first + u64::from(line.size.max(line.reply)) <= end, WorkloadFault::NothingFits)?;
    }
    Ok(())
}

fn check_fio(pattern: &FioPattern, limits: &Limits) -> Result<(), WorkloadFault> {
    ensure(!pattern.files.is_empty(), WorkloadFault::NothingFits)?;
    ensure(pattern.loops > 0, WorkloadFault::Number("loops"))?;
    ensure(pattern.backlog.is_none_or(|log| log.every > 0 && log.batch > 0), WorkloadFault::Number("a backlog"))?;
    ensure(pattern.mix_read <= 100, WorkloadFault::Shares("reads and writes"))?;
    ensure(pattern.priority.iter().all(|&percent| percent <= 100), WorkloadFault::Shares("priorities"))?;
    ensure(pattern.random.iter().all(|&share| share <= 100), WorkloadFault::Shares("random places"))?;
    pattern.files.iter().try_for_each(|file| check_region(file, limits))?;
    let largest_file_bytes = pattern.files.iter().map(|file| file.bytes).max().unwrap_or(0);
    let mut used = pattern.direction.used_directions();
    if pattern.sizes_by_randomness {
        used = [true, true, false];
    }
    for direction in (0..3).filter(|&direction| used[direction]) {
        check_block_sizes(&pattern.blocks[direction], limits)?;
        check_whole_sectors("an alignment", pattern.align[direction], limits)?;
        ensure(pattern.blocks[direction].smallest() <= largest_file_bytes, WorkloadFault::NothingFits)?;
    }
    check_modifier(pattern, limits)?;
    check_strided(pattern, limits)?;
    check_zoned(pattern, limits)?;
    let smallest = (0..3).filter(|&d| used[d]).map(|d| pattern.blocks[d].smallest()).min().unwrap_or(1);
    check_distribution(pattern, largest_file_bytes, largest_file_bytes / smallest)
}

fn check_block_sizes(blocks: &BlockSizes, limits: &Limits) -> Result<(), WorkloadFault> {
    match blocks {
        BlockSizes::Fixed(bytes) => check_request_size("a block", *bytes, limits),
        BlockSizes::Range { min, max, .. } => {
            ensure(min <= max, WorkloadFault::Number("a block range"))?;
            check_request_size("a block", *min, limits)?;
            check_request_size("a block", *max, limits)
        }
        BlockSizes::Split(list) => {
            ensure(
                list.iter().map(|&(_, share)| u32::from(share)).sum::<u32>() == 100,
                WorkloadFault::Shares("block sizes"),
            )?;
            list.iter().try_for_each(|&(bytes, _)| check_request_size("a block", bytes, limits))
        }
    }
}

fn check_modifier(pattern: &FioPattern, limits: &Limits) -> Result<(), WorkloadFault> {
    let has_random_places = pattern.random != [0; 3];
    match pattern.modifier {
        None => Ok(()),
        Some(RwModifier::Skip(_)) if has_random_places => {
            Err(WorkloadFault::Conflict("bytes are left out of sequential jobs only"))
        }
        Some(RwModifier::Skip(bytes)) => check_whole_sectors("a gap", bytes.unsigned_abs(), limits),
        Some(_) if !has_random_places => Err(WorkloadFault::Conflict("a run of requests begins at random places")),
        Some(RwModifier::Run(length) | RwModifier::Same(length)) => {
            ensure(length > 0, WorkloadFault::Number("a run's length"))
        }
    }
}

fn check_strided(pattern: &FioPattern, limits: &Limits) -> Result<(), WorkloadFault> {
    let Some(strided) = pattern.strided else {
        return Ok(());
    };
    ensure(pattern.files.len() == 1, WorkloadFault::Conflict("strided zones need a single file"))?;
    ensure(strided.range > 0 && strided.size > 0, WorkloadFault::Number("a strided zone"))?;
    check_whole_sectors("a strided zone", strided.range, limits)?;
    check_whole_sectors("a strided zone", strided.skip, limits)?;
    let used = pattern.direction.used_directions();
    let smallest = (0..3).filter(|&d| used[d]).map(|d| pattern.blocks[d].smallest()).max().unwrap_or(0);
    ensure(smallest <= strided.range, WorkloadFault::NothingFits)
}

/// The most zones of one file; fio allows a tenth of that.
const MOST_ZONES: u64 = 1 << 21;

fn check_zoned(pattern: &FioPattern, limits: &Limits) -> Result<(), WorkloadFault> {
    let Some(zoned) = &pattern.zoned else {
        return Ok(());
    };
    let trims = pattern.direction.used_directions()[2];
    ensure(!trims && !pattern.verify, WorkloadFault::Conflict("in made zones nothing is trimmed or verified"))?;
    ensure(zoned.size > 0 && zoned.capacity > 0 && zoned.capacity <= zoned.size, WorkloadFault::Number("a zone"))?;
    ensure(zoned.files.len() == pattern.files.len() && zoned.most_open <= 4096, WorkloadFault::Number("zones"))?;
    for (part, whole) in pattern.files.iter().zip(&zoned.files) {
        ensure(whole.bytes.div_ceil(zoned.size) <= MOST_ZONES, WorkloadFault::Number("the number of zones"))?;
        let end = |region: &Region| region.start + region.bytes;
        check_region(whole, limits)?;
        let is_inside = part.start >= whole.start && end(part) <= end(whole);
        let begins_with_zone = is_inside && (part.start - whole.start).is_multiple_of(zoned.size);
        ensure(begins_with_zone && part.bytes > 0, WorkloadFault::Number("a part of a file in zones"))?;
        let fits_writes = !pattern.direction.used_directions()[1] || part.bytes.is_multiple_of(zoned.size);
        ensure(fits_writes, WorkloadFault::Number("a written part of a file in zones"))?;
    }
    [zoned.size, zoned.capacity, zoned.skip]
        .into_iter()
        .try_for_each(|bytes| check_whole_sectors("a zone", bytes, limits))
}

fn check_distribution(pattern: &FioPattern, largest_file_bytes: u64, blocks: u64) -> Result<(), WorkloadFault> {
    match &pattern.distribution {
        Distribution::Uniform => return Ok(()),
        Distribution::Zipf { theta, .. } => ensure(zipf_fits(*theta, blocks), WorkloadFault::Number("zipf's theta"))?,
        Distribution::Pareto { h, .. } => ensure((1..1_000_000).contains(h), WorkloadFault::Number("pareto's h"))?,
        Distribution::Normal { .. } => {}
        Distribution::Zoned(list) => {
            let accesses: u32 = list.iter().map(|&(share, _)| u32::from(share)).sum();
            let space: u32 = list.iter().map(|&(_, share)| u32::from(share)).sum();
            ensure(accesses == 100 && space <= 100, WorkloadFault::Shares("zones"))?;
        }
        Distribution::ZonedAbsolute(list) => {
            let accesses: u32 = list.iter().map(|&(share, _)| u32::from(share)).sum();
            ensure(accesses == 100, WorkloadFault::Shares("zones"))?;
            let space = list.iter().try_fold(0u64, |sum, &(_, bytes)| sum.checked_add(bytes));
            ensure(space.is_some_and(|space| space <= largest_file_bytes), WorkloadFault::Number("the zones' sum"))?;
        }
    }
    ensure(!pattern.random_map, WorkloadFault::Conflict("a map of blocks goes with the uniform distribution only"))?;
    let is_register = pattern.generator == Generator::Lfsr;
    ensure(!is_register, WorkloadFault::Conflict("lfsr goes with the uniform distribution only"))
}
