//! The formats of traces with their names, columns and units, and the options of reading a trace. Units are those that each
//! format's own documentation states; the reader of the format names that source.

use super::fields::TraceUnits;

/// A format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TraceFormat {
    /// The kernel's binary records, version 7 or 8.
    Blktrace,
    /// The text output of blkparse.
    Blkparse,
    /// Microsoft Research Cambridge, of SNIA.
    Msr,
    /// The Storage Performance Council's, as UMass publishes it.
    Spc,
    /// DiskSim's ASCII form.
    Disksim,
    /// DiskSim's validation form: response and think times instead of instants.
    Validation,
    /// fio's log of version 1, 2 or 3.
    Iolog,
    /// Alibaba's block traces of 2020.
    Alibaba,
    /// Tencent's block traces of 2018.
    Tencent,
    /// The output of bcc's biosnoop.
    Biosnoop,
    /// A recording by `seekwise serve --record`.
    Recording,
}

/// The description of a format.
#[derive(Clone, Copy, Debug)]
pub struct FormatSpec {
    pub format: TraceFormat,
    /// The name in settings.
    pub word: &'static str,
    /// The name in texts.
    pub title: &'static str,
    /// The contents of a line.
    pub columns: &'static str,
    pub units: TraceUnits,
    /// True if the format has response times.
    pub responses: bool,
}

// Units of time in nanoseconds.
const NS: u64 = 1;
const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;
/// Bytes in the unit of formats that count sectors.
const SECTORS: u64 = 512;

const fn units(time_ns: u64, address_bytes: u64, length_bytes: u64) -> TraceUnits {
    TraceUnits { time: time_ns, address: address_bytes, length: length_bytes }
}

/// All formats.
pub const FORMATS: [FormatSpec; 11] = [
    FormatSpec {
        format: TraceFormat::Blktrace,
        word: "blktrace",
        title: "blktrace, binary",
        columns: "records of 48 bytes (version 7) or 64 (version 8)",
        units: units(NS, SECTORS, 1),
        responses: true,
    },
    FormatSpec {
        format: TraceFormat::Blkparse,
        word: "blkparse",
        title: "blkparse's text",
        columns: "major,minor cpu sequence seconds pid action RWBS sector + sectors [process]",
        units: units(S, SECTORS, SECTORS),
        responses: true,
    },
    FormatSpec {
        format: TraceFormat::Msr,
        word: "msr",
        title: "MSR Cambridge",
        columns: "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime",
        units: units(100, 1, 1),
        responses: true,
    },
    FormatSpec {
        format: TraceFormat::Spc,
        word: "spc",
        title: "SPC (UMass)",
        columns: "ASU,LBA,Size,Opcode,Timestamp",
        units: units(S, SECTORS, 1),
        responses: false,
    },
    FormatSpec {
        format: TraceFormat::Disksim,
        word: "disksim",
        title: "DiskSim ASCII",
        columns: "arrival device block blocks flags",
        units: units(MS, SECTORS, SECTORS),
        responses: false,
    },
    FormatSpec {
        format: TraceFormat::Validation,
        word: "validation",
        title: "DiskSim validation",
        columns: "R|W Hit|Miss|Doub|Trip block blocks response next",
        units: units(US, SECTORS, SECTORS),
        responses: true,
    },
    FormatSpec {
        format: TraceFormat::Iolog,
        word: "iolog",
        title: "fio iolog",
        columns: "v3: instant file action offset length; v2: file action offset length; v1: rw, offset, length",
        units: units(US, 1, 1),
        responses: false,
    },
    FormatSpec {
        format: TraceFormat::Alibaba,
        word: "alibaba",
        title: "Alibaba (2020)",
        columns: "device_id,opcode,offset,length,timestamp",
        units: units(US, 1, 1),
        responses: false,
    },
    FormatSpec {
        format: TraceFormat::Tencent,
        word: "tencent",
        title: "Tencent (2018)",
        columns: "Timestamp,Offset,Size,IOType,VolumeID",
        units: units(S, SECTORS, SECTORS),
        responses: false,
    },
    FormatSpec {
        format: TraceFormat::Biosnoop,
        word: "biosnoop",
        title: "bcc's biosnoop",
        columns: "TIME(s) COMM PID DISK T SECTOR BYTES [QUE(ms)] LAT(ms)",
        units: units(S, SECTORS, 1),
        responses: true,
    },
    FormatSpec {
        format: TraceFormat::Recording,
        word: "recording",
        title: "Seekwise recording",
        columns: "stamp,at_ns,done_ns,status,op,lba,sectors,fua,tag",
        units: units(NS, SECTORS, SECTORS),
        responses: true,
    },
];

impl TraceFormat {
    /// The description.
    pub fn spec(self) -> &'static FormatSpec {
        FORMATS.iter().find(|known| known.format == self).expect("every format is known")
    }
}

/// The events of a kernel trace that count as requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KernelEvent {
    /// Q: queued by a program.
    #[default]
    Queued,
    /// D: issued to the driver.
    Issued,
}

/// The meaning of `wait` in version 2 of fio's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitMeaning {
    /// Milliseconds from the start, as in fio's code.
    Absolute,
    /// Microseconds since the previous `wait`, as in fio's manual.
    Relative,
}

/// How a trace is read. Units that are `None` are those of the format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceReadOptions {
    /// The format; `None` to detect it.
    pub format: Option<TraceFormat>,
    /// The events that are requests, in kernel traces.
    pub event: KernelEvent,
    /// Nanoseconds in a unit of time.
    pub time: Option<u64>,
    /// Bytes in a unit of address.
    pub address: Option<u64>,
    /// Bytes in a unit of length.
    pub length: Option<u64>,
    /// The device whose requests are read; `None` for all.
    pub device: Option<String>,
    /// The meaning of `wait` in version 2 of fio's log; `None` means [`WaitMeaning::Absolute`] if the values never decrease.
    pub wait: Option<WaitMeaning>,
    /// `Some`: a log of fio, version 2 or 3, is read as fio replays it.
    pub placement: Option<IologPlacement>,
    /// The number of requests in the sorting window.
    pub window: usize,
}

/// Where the requests of a log go in fio's replay. Timestamps are then the sums of fio's waits; a timestamp before the previous
/// one means no wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IologPlacement {
    /// The file or device that all requests go to (`replay_redirect`).
    pub redirect: Option<String>,
    /// The divisor of addresses (`replay_scale`); at least 1.
    pub scale: u64,
    /// The divided addresses are rounded down to a multiple of this power of two of bytes (`replay_align`); at least 1.
    pub align: u64,
}

/// The default number of requests in the sorting window, which take 4 MB.
pub const WINDOW: usize = 1 << 16;

impl Default for TraceReadOptions {
    fn default() -> TraceReadOptions {
        TraceReadOptions {
            format: None,
            event: KernelEvent::Queued,
            time: None,
            address: None,
            length: None,
            device: None,
            wait: None,
            placement: None,
            window: WINDOW,
        }
    }
}

impl TraceReadOptions {
    /// The units of a format, with overrides.
    pub fn units(&self, format: TraceFormat) -> TraceUnits {
        let TraceUnits { time, address, length } = format.spec().units;
        TraceUnits {
            time: self.time.unwrap_or(time),
            address: self.address.unwrap_or(address),
            length: self.length.unwrap_or(length),
        }
    }
}
