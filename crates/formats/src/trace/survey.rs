//! Reads a trace once before it is replayed: number, kinds, sizes, time span and positions of its requests; and checks whether
//! its units are plausible. Memory use does not grow with the trace, except for devices and, on request, the touched regions.

use std::collections::BTreeSet;

use seekwise_disk::block::{Op, SECTOR};
use seekwise_disk::time::Span;
use seekwise_drives::diagnostic::Diagnostic;

use super::fields::{TIMES, time_unit_name};
use super::format::{KernelEvent, TraceFormat, TraceReadOptions, WaitMeaning};
use super::iolog;
use super::reader::{ReaderCounts, TraceEntry, TracePart, open};

/// Sectors of a region, the unit in which addresses are remapped: 1 MiB, larger than nearly every request, so that
/// sequential requests stay sequential.
pub const STRETCH: u64 = (1 << 20) / SECTOR;

/// The most regions to remember: 4 TiB of touched addresses, 100 MB of memory.
const STRETCHES: usize = 1 << 22;

/// The longest read or write in sectors: 1 GiB, thirty times the most that a kernel sends at once.
const LONGEST: u32 = 1 << 21;

/// The most regions of one request: trims may cover whole disks, but access no data.
const TRIMMED: usize = 1 + (LONGEST as u64 / STRETCH) as usize;

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
    /// Whether sizes and addresses suggest another unit.
    pub looks: UnitClues,
}

/// A device of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceDevice {
    pub name: String,
    /// Requests to it.
    pub requests: u64,
    /// The first sector after all its requests.
    pub sectors: u64,
    /// The touched regions in order, if requested.
    pub touched: Vec<u64>,
}

/// Properties of all sizes and addresses in sectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnitClues {
    /// Every address and size is a multiple of 512, in the units of the file.
    pub multiples: bool,
    /// Every size is smaller than a sector.
    pub below: bool,
}

/// Sizes below this many sectors are counted exactly: 4 MiB, which few requests exceed.
const EXACT: usize = 1 << 13;

/// A histogram of sizes, exact at first and then by powers of two, and the largest size.
struct SizeHistogram(Vec<u64>, u32);

impl SizeHistogram {
    fn new() -> SizeHistogram {
        SizeHistogram(vec![0; EXACT + 33], 0)
    }

    #[inline]
    fn add(&mut self, sectors: u32) {
        let place = if (sectors as usize) < EXACT { sectors as usize } else { EXACT + sectors.ilog2() as usize };
        self.0[place] += 1;
        self.1 = self.1.max(sectors);
    }

    /// The median.
    fn median(&self) -> u32 {
        let all: u64 = self.0.iter().sum();
        let mut seen = 0;
        let place = self.0.iter().position(|count| {
            seen += count;
            2 * seen >= all
        });
        match place.unwrap_or(0) {
            exact if exact < EXACT => exact as u32,
            power => u32::try_from((2u64 << (power - EXACT)) - 1).unwrap_or(u32::MAX).min(self.1),
        }
    }
}

/// Reads a trace. `parts` opens it, once or twice; with `touched`, the touched regions are remembered.
pub fn survey(
    parts: &dyn Fn() -> Result<Vec<TracePart>, Diagnostic>,
    reading: &TraceReadOptions,
    touched: bool,
) -> Result<TraceSurvey, Diagnostic> {
    let found = read_survey(parts()?, reading, touched);
    let goes_back = |fault: &Diagnostic| fault.expected.as_deref() == Some(iolog::WAITS);
    match found {
        // Decreasing values cannot be times from the start.
        Err(fault) if reading.wait.is_none() && goes_back(&fault) => {
            read_survey(parts()?, &TraceReadOptions { wait: Some(WaitMeaning::Relative), ..reading.clone() }, touched)
        }
        found => found,
    }
}

fn read_survey(parts: Vec<TracePart>, reading: &TraceReadOptions, touched: bool) -> Result<TraceSurvey, Diagnostic> {
    let file = parts.first().map_or(String::new(), |part| part.0.clone());
    let mut reader = open(parts, reading)?;
    let units = reading.units(reader.format);
    check_settings(&file, reader.format, reading)?;
    let mut survey = TraceSurvey::new(reader.format, reading);
    let mut sizes = SizeHistogram::new();
    let mut stretches: Vec<BTreeSet<u64>> = Vec::new();
    let mut remembered = 0;
    while let Some(entry) = reader.read()? {
        survey.count_entry(&entry, &mut sizes);
        let device = entry.device as usize;
        if survey.devices.len() <= device {
            survey.devices.resize_with(device + 1, TraceDevice::default);
            stretches.resize_with(device + 1, BTreeSet::new);
        }
        let of = &mut survey.devices[device];
        of.requests += 1;
        of.sectors = of.sectors.max(entry.lba + u64::from(entry.sectors));
        if entry.op != Op::Trim && entry.sectors > LONGEST {
            return Err(survey.too_long_error(&file, entry.sectors));
        }
        if touched && entry.sectors > 0 {
            let last = (entry.lba + u64::from(entry.sectors) - 1) / STRETCH;
            let all = (entry.lba / STRETCH..=last).take(TRIMMED);
            remembered += all.filter(|stretch| stretches[device].insert(*stretch)).count();
            if remembered >= STRETCHES {
                let fault = format!("it touches more than {STRETCHES} regions of 1 MiB");
                return Err(Diagnostic::at(&file, 0, fault)
                    .with_key("trace.map")
                    .with_expected("refuse, wrap or scale"));
            }
        }
    }
    survey.met = reader.counts();
    (survey.median, survey.largest) = (sizes.median(), sizes.1);
    for (device, (name, touched)) in survey.devices.iter_mut().zip(reader.devices().iter().zip(stretches)) {
        name.clone_into(&mut device.name);
        device.touched = touched.into_iter().collect();
    }
    survey.check_not_empty(&file, reading, reader.devices())?;
    survey.check_units(&file, reading, units.address, units.length)?;
    Ok(survey)
}

/// Checks for keys that do not apply to the format.
fn check_settings(file: &str, format: TraceFormat, reading: &TraceReadOptions) -> Result<(), Diagnostic> {
    let fault = |key: &str, expected: &str| {
        let title = format.spec().title;
        Err(Diagnostic::at(file, 0, format!("{title} has no such setting")).with_key(key).with_expected(expected))
    };
    let kernel = matches!(format, TraceFormat::Blktrace | TraceFormat::Blkparse);
    let fixed = kernel || format == TraceFormat::Recording;
    match reading {
        TraceReadOptions { event: KernelEvent::Issued, .. } if !kernel => {
            fault("trace.event", "it only with blktrace and blkparse")
        }
        TraceReadOptions { wait: Some(_), .. } if format != TraceFormat::Iolog => {
            fault("trace.wait", "it only with fio's iolog")
        }
        TraceReadOptions { time: Some(_), .. } if fixed => fault("trace.time", "no unit of time, which is fixed"),
        TraceReadOptions { address: Some(_), .. } if fixed => {
            fault("trace.address", "no unit of address, which is fixed")
        }
        TraceReadOptions { length: Some(_), .. } if fixed => fault("trace.length", "no unit of length, which is fixed"),
        _ => Ok(()),
    }
}

/// The plausible rates: no device serves more requests per second, and no trace has less than one per hour.
const FASTEST: f64 = 10e6;
const SLOWEST: f64 = 1.0 / 3_600.0;

/// The number of requests from which a common property is not a coincidence.
const MANY: u64 = 8;

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

    fn new(format: TraceFormat, reading: &TraceReadOptions) -> TraceSurvey {
        let wait = (format == TraceFormat::Iolog).then(|| reading.wait.unwrap_or(WaitMeaning::Absolute));
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
    fn count_entry(&mut self, entry: &TraceEntry, sizes: &mut SizeHistogram) {
        let TraceEntry { at, response, op, fua, device, lba, sectors, ragged } = *entry;
        self.requests += 1;
        let what = u64::from(sectors) << 32 | u64::from(device) << 4 | u64::from(fua) << 3 | op as u64;
        let response_ns = response.map_or(u64::MAX, Span::nanos);
        self.hash = [at.nanos(), lba, what, response_ns].into_iter().fold(self.hash, mix_hash);
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

    /// Requests per second.
    pub fn rate(&self) -> f64 {
        self.requests.saturating_sub(1) as f64 / (self.span.nanos() as f64 / 1e9)
    }

    /// Total sectors of all devices one after another, each aligned to a region.
    pub fn total_sectors(&self) -> u64 {
        let whole = |device: &TraceDevice| device.sectors.div_ceil(STRETCH).saturating_mul(STRETCH);
        match &self.devices[..] {
            [only] => only.sectors,
            several => several.iter().map(whole).fold(0, u64::saturating_add),
        }
    }

    /// An error if there is nothing to replay.
    fn check_not_empty(&self, file: &str, reading: &TraceReadOptions, names: &[String]) -> Result<(), Diagnostic> {
        if self.requests > 0 {
            return Ok(());
        }
        let fault = Diagnostic::at(file, 0, "the file contains no requests");
        match &reading.device {
            Some(device) if !names.is_empty() => {
                let fault =
                    Diagnostic::at(file, 0, format!("no request belongs to `{device}`")).with_key("trace.device");
                let known: Vec<&str> = names.iter().take(12).map(String::as_str).collect();
                let more =
                    if names.len() > known.len() { format!(" or another of {}", names.len()) } else { String::new() };
                let fault = fault.suggest_nearest(device, names.iter().map(String::as_str));
                Err(fault.with_expected(format!("{}{more}", known.join(", "))))
            }
            _ if matches!(self.format, TraceFormat::Blktrace | TraceFormat::Blkparse) && self.met.passed_over > 0 => {
                let (event, other) = match reading.event {
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
    fn check_units(&self, file: &str, reading: &TraceReadOptions, address: u64, length: u64) -> Result<(), Diagnostic> {
        let many = self.reads + self.writes >= MANY;
        let fault = |why: String, expected: String| {
            Err(Diagnostic::at(file, 0, why).with_key("trace.length").with_expected(expected))
        };
        let said = reading.length.is_some();
        let title = self.format.spec().title;
        if many && self.looks.below && length == 1 && !said {
            let why = format!("every request is smaller than a sector of 512 bytes, as {title} counts bytes");
            return fault(why, "sizes in bytes, or trace.length=512 if they are in sectors".to_owned());
        }
        if many && self.looks.multiples && address == SECTOR && length == SECTOR && !said {
            let least = "every address and every size is a multiple of 512";
            let why = format!("{least}, which would be 256 KiB: {title} counts sectors of 512 bytes");
            let keys = "trace.address=1 and trace.length=1 if they are in bytes, otherwise trace.length=512";
            return fault(why, format!("sectors; {keys}"));
        }
        Ok(())
    }

    /// An error if its timestamps suggest another unit; checked before a replay that uses them.
    pub fn check_timestamps(&self, file: &str, reading: &TraceReadOptions) -> Result<(), Diagnostic> {
        if self.requests < 2 {
            return Ok(());
        }
        let fault = |why: String| Diagnostic::at(file, 0, why).with_key("trace.time");
        if self.span == Span::ZERO {
            let why = format!("all {} requests have the same timestamp", self.requests);
            return Err(fault(why).with_expected("timestamps, or trace.loop=closed, which needs none"));
        }
        let rate = self.rate();
        if (SLOWEST..=FASTEST).contains(&rate) {
            return Ok(());
        }
        let unit = reading.units(self.format).time;
        let could = |&&(_, other): &&(&str, u64)| {
            (SLOWEST..=FASTEST).contains(&(rate * unit as f64 / other as f64)) && other != unit
        };
        let other = |&(word, other): &(&str, u64)| {
            format!("trace.time={word} makes it {}", rate_text(rate * unit as f64 / other as f64))
        };
        let others: Vec<String> = TIMES.iter().filter(could).map(other).collect();
        let span = self.span.nanos() as f64 / 1e9;
        let why = format!(
            "{} requests in {span:.6} s are {}, which no device can do: timestamps are taken as {}",
            self.requests,
            rate_text(rate),
            time_unit_name(unit)
        );
        Err(match others.is_empty() {
            true => fault(why).with_expected("from one request an hour to 10 million a second"),
            false => fault(why).with_expected(format!("another unit: {}", others.join(", "))),
        })
    }
}

/// A rate in words.
fn rate_text(rate: f64) -> String {
    match rate {
        _ if rate >= 1.0 => format!("{rate:.0} a second"),
        _ if rate * 3_600.0 >= 1.0 => format!("{:.0} an hour", rate * 3_600.0),
        _ => format!("one in {:.1} hours", 1.0 / (rate * 3_600.0)),
    }
}
