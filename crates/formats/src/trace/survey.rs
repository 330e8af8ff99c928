//! Reads a trace once before it is replayed: number, kinds, sizes, time span and positions of its requests; and checks whether
//! its units are plausible. Memory use does not grow with the trace, except for devices and, on request, the touched regions.
//! Bounds of plausibility are this project's own; each states its reason.

use std::collections::BTreeSet;

use seekwise_disk::block::{Op, SECTOR};
use seekwise_disk::time::Span;
use seekwise_drives::diagnostic::Diagnostic;

use super::fields::{TIME_UNITS, TraceUnits, time_unit_name};
use super::format::{KernelEvent, TraceFormat, TraceReadOptions, WaitMeaning};
use super::iolog;
use super::reader::{ReaderCounts, TraceEntry, TracePart, open};

/// Sectors of a region, the unit in which addresses are remapped: 1 MiB, larger than nearly every request, so that
/// sequential requests stay sequential.
pub const STRETCH: u64 = (1 << 20) / SECTOR;

/// The most regions to remember: 4 TiB of touched addresses, 100 MB of memory.
const MOST_REGIONS: usize = 1 << 22;

/// The longest read or write in sectors: 1 GiB, thirty times the most that a kernel sends at once.
const LONGEST_SECTORS: u32 = 1 << 21;

/// The most regions of one request that are remembered. Trims may cover whole disks, but access no data.
const MOST_REGIONS_OF_REQUEST: usize = 1 + (LONGEST_SECTORS as u64 / STRETCH) as usize;

/// The contents of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceSurvey {
    pub format: TraceFormat,
    /// The meaning of `wait`, if the format has it.
    pub wait: Option<WaitMeaning>,
    pub requests: u64,
    /// Requests by kind: reads, writes, flushes, trims.
    pub reads: u64,
    /// See [`TraceSurvey::reads`].
    pub writes: u64,
    /// See [`TraceSurvey::reads`].
    pub flushes: u64,
    /// See [`TraceSurvey::reads`].
    pub trims: u64,
    /// Bytes read and written.
    pub bytes: u64,
    /// Time from the first request to the last.
    pub span: Span,
    /// Requests with a response time.
    pub responses: u64,
    /// Requests that were extended to whole sectors.
    pub ragged: u64,
    /// Requests that are not aligned to blocks of 4096 bytes.
    pub unaligned: u64,
    /// The median and largest size of reads and writes, in sectors; a median beyond 4 MiB may be up to twice too large.
    pub median: u32,
    /// See [`TraceSurvey::median`].
    pub largest: u32,
    pub devices: Vec<TraceDevice>,
    /// A hash of all requests with their times; traces with equal hashes replay identically.
    pub hash: u64,
    /// Statistics of the reader.
    pub met: ReaderCounts,
    /// Signs that sizes and addresses are in another unit.
    pub looks: UnitClues,
}

/// A device of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceDevice {
    pub name: String,
    /// Requests to the device.
    pub requests: u64,
    /// The first sector after all requests to the device.
    pub sectors: u64,
    /// The touched regions in order, if requested.
    pub touched: Vec<u64>,
}

/// Signs of another unit, each true if it holds for all reads and writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnitClues {
    /// Every address and size in sectors is a multiple of 512. If the file is taken to count sectors, it may count bytes.
    pub multiples: bool,
    /// No request is a run of whole sectors, and none touches more than two. If the file is taken to count bytes, it may
    /// count sectors.
    pub below: bool,
}

/// Sizes below this many sectors are counted exactly: 4 MiB, which few requests exceed.
const EXACT_SIZES: usize = 1 << 13;

/// A histogram of the sizes of requests in sectors.
struct SizeHistogram {
    /// Requests of each size below [`EXACT_SIZES`], then of each power of two.
    counts: Vec<u64>,
    largest: u32,
}

impl SizeHistogram {
    fn new() -> SizeHistogram {
        SizeHistogram { counts: vec![0; EXACT_SIZES + 33], largest: 0 }
    }

    #[inline]
    fn add(&mut self, sectors: u32) {
        let index =
            if (sectors as usize) < EXACT_SIZES { sectors as usize } else { EXACT_SIZES + sectors.ilog2() as usize };
        self.counts[index] += 1;
        self.largest = self.largest.max(sectors);
    }

    /// The median; beyond the exact sizes, the largest size of its power of two.
    fn median(&self) -> u32 {
        let total: u64 = self.counts.iter().sum();
        let mut so_far = 0;
        let index = self.counts.iter().position(|count| {
            so_far += count;
            2 * so_far >= total
        });
        match index.unwrap_or(0) {
            exact if exact < EXACT_SIZES => exact as u32,
            power => u32::try_from((2u64 << (power - EXACT_SIZES)) - 1).unwrap_or(u32::MAX).min(self.largest),
        }
    }
}

/// Reads a trace, once or twice; `open_parts` opens it. With `remember_regions`, the touched regions of each device are kept.
pub fn survey(
    open_parts: &dyn Fn() -> Result<Vec<TracePart>, Diagnostic>,
    options: &TraceReadOptions,
    remember_regions: bool,
) -> Result<TraceSurvey, Diagnostic> {
    let surveyed = read_all(open_parts()?, options, remember_regions);
    let has_decreasing_waits = |fault: &Diagnostic| fault.expected.as_deref() == Some(iolog::DECREASING_WAIT_HINT);
    match surveyed {
        // Decreasing values of `wait` cannot be times from the start.
        Err(fault) if options.wait.is_none() && has_decreasing_waits(&fault) => {
            let relative = TraceReadOptions { wait: Some(WaitMeaning::Relative), ..options.clone() };
            read_all(open_parts()?, &relative, remember_regions)
        }
        surveyed => surveyed,
    }
}

/// Reads a trace once, with one meaning of its options.
fn read_all(
    parts: Vec<TracePart>,
    options: &TraceReadOptions,
    remember_regions: bool,
) -> Result<TraceSurvey, Diagnostic> {
    let file = parts.first().map_or(String::new(), |part| part.0.clone());
    let mut reader = open(parts, options)?;
    let units = options.units(reader.format);
    check_options_apply(&file, reader.format, options)?;
    let mut survey = TraceSurvey::new(reader.format, options);
    let mut sizes = SizeHistogram::new();
    let mut regions_of_device: Vec<BTreeSet<u64>> = Vec::new();
    let mut region_count = 0;
    while let Some(entry) = reader.read()? {
        survey.count_request(&entry, &mut sizes);
        let device_index = entry.device as usize;
        if survey.devices.len() <= device_index {
            survey.devices.resize_with(device_index + 1, TraceDevice::default);
            regions_of_device.resize_with(device_index + 1, BTreeSet::new);
        }
        let device = &mut survey.devices[device_index];
        device.requests += 1;
        device.sectors = device.sectors.max(entry.lba + u64::from(entry.sectors));
        if entry.op != Op::Trim && entry.sectors > LONGEST_SECTORS {
            return Err(survey.too_long_error(&file, entry.sectors));
        }
        if remember_regions && entry.sectors > 0 {
            let last = (entry.lba + u64::from(entry.sectors) - 1) / STRETCH;
            let regions = (entry.lba / STRETCH..=last).take(MOST_REGIONS_OF_REQUEST);
            region_count += regions.filter(|region| regions_of_device[device_index].insert(*region)).count();
            if region_count >= MOST_REGIONS {
                let fault = format!("it touches more than {MOST_REGIONS} regions of 1 MiB");
                return Err(Diagnostic::at(&file, 0, fault)
                    .with_key("trace.map")
                    .with_expected("refuse, wrap or scale"));
            }
        }
    }
    survey.met = reader.counts();
    (survey.median, survey.largest) = (sizes.median(), sizes.largest);
    for (device, (name, regions)) in survey.devices.iter_mut().zip(reader.devices().iter().zip(regions_of_device)) {
        name.clone_into(&mut device.name);
        device.touched = regions.into_iter().collect();
    }
    survey.check_not_empty(&file, options, reader.devices())?;
    survey.check_units(&file, options, units)?;
    Ok(survey)
}

/// Refuses options that do not apply to the format.
fn check_options_apply(file: &str, format: TraceFormat, options: &TraceReadOptions) -> Result<(), Diagnostic> {
    let fault = |key: &str, expected: &str| {
        let title = format.spec().title;
        Err(Diagnostic::at(file, 0, format!("{title} has no such setting")).with_key(key).with_expected(expected))
    };
    let is_kernel_trace = matches!(format, TraceFormat::Blktrace | TraceFormat::Blkparse);
    let has_fixed_units = is_kernel_trace || format == TraceFormat::Recording;
    match options {
        TraceReadOptions { event: KernelEvent::Issued, .. } if !is_kernel_trace => {
            fault("trace.event", "it only with blktrace and blkparse")
        }
        TraceReadOptions { wait: Some(_), .. } if format != TraceFormat::Iolog => {
            fault("trace.wait", "it only with fio's iolog")
        }
        TraceReadOptions { time: Some(_), .. } if has_fixed_units => {
            fault("trace.time", "no unit of time, which is fixed")
        }
        TraceReadOptions { address: Some(_), .. } if has_fixed_units => {
            fault("trace.address", "no unit of address, which is fixed")
        }
        TraceReadOptions { length: Some(_), .. } if has_fixed_units => {
            fault("trace.length", "no unit of length, which is fixed")
        }
        _ => Ok(()),
    }
}

/// The largest plausible rate in requests per second: no device serves more.
const FASTEST_PER_S: f64 = 10e6;
/// The smallest plausible rate: no trace has less than a request per hour.
const SLOWEST_PER_S: f64 = 1.0 / 3_600.0;

/// The number of requests from which a common property is not a coincidence.
const ENOUGH_REQUESTS: u64 = 8;

/// A step of FNV-1a over 64-bit words, rotated so that high bits count too.
#[inline]
fn mix_hash(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29)
}

impl TraceSurvey {
    /// A line that identifies the trace.
    pub fn summary_line(&self) -> String {
        format!("{} requests of {}, hash {:016x}\n", self.requests, self.format.spec().word, self.hash)
    }

    fn new(format: TraceFormat, options: &TraceReadOptions) -> TraceSurvey {
        let wait = (format == TraceFormat::Iolog).then(|| options.wait.unwrap_or(WaitMeaning::Absolute));
        TraceSurvey {
            format,
            wait,
            requests: 0,
            reads: 0,
            writes: 0,
            flushes: 0,
            trims: 0,
            bytes: 0,
            span: Span::ZERO,
            responses: 0,
            ragged: 0,
            unaligned: 0,
            median: 0,
            largest: 0,
            devices: Vec::new(),
            hash: 0,
            met: ReaderCounts::default(),
            looks: UnitClues { multiples: true, below: true },
        }
    }

    #[inline]
    fn count_request(&mut self, entry: &TraceEntry, sizes: &mut SizeHistogram) {
        let TraceEntry { at, response, op, fua, device, lba, sectors, ragged } = *entry;
        self.requests += 1;
        let packed_fields = u64::from(sectors) << 32 | u64::from(device) << 4 | u64::from(fua) << 3 | op as u64;
        let response_ns = response.map_or(u64::MAX, Span::nanos);
        self.hash = [at.nanos(), lba, packed_fields, response_ns].into_iter().fold(self.hash, mix_hash);
        self.span = self.span.max(at);
        self.responses += u64::from(response.is_some());
        match op {
            Op::Read => self.reads += 1,
            Op::Flush => self.flushes += 1,
            Op::Trim => self.trims += 1,
            _ => self.writes += 1,
        }
        if !matches!(op, Op::Read | Op::Write) {
            return;
        }
        sizes.add(sectors);
        self.bytes = self.bytes.saturating_add(u64::from(sectors) * SECTOR);
        self.ragged += u64::from(ragged);
        self.unaligned += u64::from(lba % 8 != 0 || sectors % 8 != 0);
        self.looks.multiples &= lba % SECTOR == 0 && u64::from(sectors) % SECTOR == 0;
        self.looks.below &= ragged && sectors <= 2;
    }

    fn too_long_error(&self, file: &str, sectors: u32) -> Diagnostic {
        let gb = f64::from(sectors) * SECTOR as f64 / 1e9;
        let why = format!("request {} by time has {gb:.1} GB", self.requests);
        Diagnostic::at(file, 0, why).with_key("trace.length").with_expected("reads and writes of at most 1 GiB")
    }

    /// Requests per second of the trace's time span.
    pub fn requests_per_s(&self) -> f64 {
        self.requests.saturating_sub(1) as f64 / (self.span.nanos() as f64 / 1e9)
    }

    /// Total sectors of all devices one after another, each aligned to a region.
    pub fn total_sectors(&self) -> u64 {
        let whole_regions = |device: &TraceDevice| device.sectors.div_ceil(STRETCH).saturating_mul(STRETCH);
        match &self.devices[..] {
            [only] => only.sectors,
            several => several.iter().map(whole_regions).fold(0, u64::saturating_add),
        }
    }

    /// An error if there is nothing to replay.
    fn check_not_empty(
        &self,
        file: &str,
        options: &TraceReadOptions,
        device_names: &[String],
    ) -> Result<(), Diagnostic> {
        if self.requests > 0 {
            return Ok(());
        }
        let fault = Diagnostic::at(file, 0, "the file contains no requests");
        match &options.device {
            Some(device) if !device_names.is_empty() => {
                let fault =
                    Diagnostic::at(file, 0, format!("no request belongs to `{device}`")).with_key("trace.device");
                let first_names: Vec<&str> = device_names.iter().take(12).map(String::as_str).collect();
                let more = match device_names.len() {
                    count if count > first_names.len() => format!(" or another of {count}"),
                    _ => String::new(),
                };
                let fault = fault.suggest_nearest(device, device_names.iter().map(String::as_str));
                Err(fault.with_expected(format!("{}{more}", first_names.join(", "))))
            }
            _ if matches!(self.format, TraceFormat::Blktrace | TraceFormat::Blkparse) && self.met.passed_over > 0 => {
                let (event, other) = match options.event {
                    KernelEvent::Queued => ('Q', "issued"),
                    KernelEvent::Issued => ('D', "queued"),
                };
                let why = format!("none of its {} records is an event {event} of a request", self.met.passed_over);
                let fault = Diagnostic::at(file, 0, why).with_key("trace.event");
                Err(fault.with_expected(format!("a trace of these, or trace.event={other}")))
            }
            _ => Err(fault.with_expected(self.format.spec().columns)),
        }
    }

    /// An error if sizes and addresses suggest another unit.
    fn check_units(&self, file: &str, options: &TraceReadOptions, units: TraceUnits) -> Result<(), Diagnostic> {
        let has_enough = self.reads + self.writes >= ENOUGH_REQUESTS;
        let fault = |why: String, expected: String| {
            Err(Diagnostic::at(file, 0, why).with_key("trace.length").with_expected(expected))
        };
        let is_length_given = options.length.is_some();
        let title = self.format.spec().title;
        if has_enough && self.looks.below && units.length == 1 && !is_length_given {
            let why = format!("every request is smaller than a sector of 512 bytes, as {title} counts bytes");
            return fault(why, "sizes in bytes, or trace.length=512 if they are in sectors".to_owned());
        }
        let counts_sectors = units.address == SECTOR && units.length == SECTOR;
        if has_enough && self.looks.multiples && counts_sectors && !is_length_given {
            let sign = "every address and every size is a multiple of 512";
            let why = format!("{sign}, which would be 256 KiB: {title} counts sectors of 512 bytes");
            let keys = "trace.address=1 and trace.length=1 if they are in bytes, otherwise trace.length=512";
            return fault(why, format!("sectors; {keys}"));
        }
        Ok(())
    }

    /// An error if the timestamps suggest another unit; called before a replay that uses timestamps.
    pub fn check_timestamps(&self, file: &str, options: &TraceReadOptions) -> Result<(), Diagnostic> {
        if self.requests < 2 {
            return Ok(());
        }
        let fault = |why: String| Diagnostic::at(file, 0, why).with_key("trace.time");
        if self.span == Span::ZERO {
            let why = format!("all {} requests have the same timestamp", self.requests);
            return Err(fault(why).with_expected("timestamps, or trace.loop=closed, which needs none"));
        }
        let rate = self.requests_per_s();
        if (SLOWEST_PER_S..=FASTEST_PER_S).contains(&rate) {
            return Ok(());
        }
        let unit_ns = options.units(self.format).time;
        let rate_with = |other_ns: u64| rate * unit_ns as f64 / other_ns as f64;
        let is_plausible = |&&(_, other_ns): &&(&str, u64)| {
            (SLOWEST_PER_S..=FASTEST_PER_S).contains(&rate_with(other_ns)) && other_ns != unit_ns
        };
        let describe =
            |&(word, other_ns): &(&str, u64)| format!("trace.time={word} makes it {}", rate_text(rate_with(other_ns)));
        let plausible_units: Vec<String> = TIME_UNITS.iter().filter(is_plausible).map(describe).collect();
        let span_s = self.span.nanos() as f64 / 1e9;
        let why = format!(
            "{} requests in {span_s:.6} s are {}, which no device can do: timestamps are taken as {}",
            self.requests,
            rate_text(rate),
            time_unit_name(unit_ns)
        );
        Err(match plausible_units.is_empty() {
            true => fault(why).with_expected("from one request an hour to 10 million a second"),
            false => fault(why).with_expected(format!("another unit: {}", plausible_units.join(", "))),
        })
    }
}

/// A rate in words.
fn rate_text(per_second: f64) -> String {
    let per_hour = per_second * 3_600.0;
    match per_second {
        _ if per_second >= 1.0 => format!("{per_second:.0} a second"),
        _ if per_hour >= 1.0 => format!("{per_hour:.0} an hour"),
        _ => format!("one in {:.1} hours", 1.0 / per_hour),
    }
}
