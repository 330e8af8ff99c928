//! The formats of traces: their names, what their numbers count, and how a trace is to be read.

use super::fields::Units;

/// A format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// The kernel's binary records, version 7 or 8.
    Blktrace,
    /// What blkparse prints of them.
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
    /// What bcc's biosnoop prints.
    Biosnoop,
    /// What `seekwise serve --record` writes.
    Recording,
}

/// What is known of a format.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// The format.
    pub format: Format,
    /// Its word.
    pub word: &'static str,
    /// What it is, for people.
    pub title: &'static str,
    /// What a line holds.
    pub columns: &'static str,
    /// What its numbers count.
    pub units: Units,
    /// It says when requests were over.
    pub responses: bool,
}

const NS: u64 = 1;
const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;
/// Bytes where a format counts sectors.
const SECTORS: u64 = 512;

const fn units(time: u64, address: u64, length: u64) -> Units {
    Units { time, address, length }
}

/// All formats.
pub const FORMATS: [Known; 11] = [
    Known {
        format: Format::Blktrace,
        word: "blktrace",
        title: "blktrace, binary",
        columns: "records of 48 bytes (version 7) or 64 (version 8)",
        units: units(NS, SECTORS, 1),
        responses: true,
    },
    Known {
        format: Format::Blkparse,
        word: "blkparse",
        title: "blkparse's text",
        columns: "major,minor cpu sequence seconds pid action RWBS sector + sectors [process]",
        units: units(S, SECTORS, SECTORS),
        responses: true,
    },
    Known {
        format: Format::Msr,
        word: "msr",
        title: "MSR Cambridge",
        columns: "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime",
        units: units(100, 1, 1),
        responses: true,
    },
    Known {
        format: Format::Spc,
        word: "spc",
        title: "SPC (UMass)",
        columns: "ASU,LBA,Size,Opcode,Timestamp",
        units: units(S, SECTORS, 1),
        responses: false,
    },
    Known {
        format: Format::Disksim,
        word: "disksim",
        title: "DiskSim ASCII",
        columns: "arrival device block blocks flags",
        units: units(MS, SECTORS, SECTORS),
        responses: false,
    },
    Known {
        format: Format::Validation,
        word: "validation",
        title: "DiskSim validation",
        columns: "R|W Hit|Miss|Doub|Trip block blocks response next",
        units: units(US, SECTORS, SECTORS),
        responses: true,
    },
    Known {
        format: Format::Iolog,
        word: "iolog",
        title: "fio iolog",
        columns: "v3: instant file action offset length; v2: file action offset length; v1: rw, offset, length",
        units: units(US, 1, 1),
        responses: false,
    },
    Known {
        format: Format::Alibaba,
        word: "alibaba",
        title: "Alibaba (2020)",
        columns: "device_id,opcode,offset,length,timestamp",
        units: units(US, 1, 1),
        responses: false,
    },
    Known {
        format: Format::Tencent,
        word: "tencent",
        title: "Tencent (2018)",
        columns: "Timestamp,Offset,Size,IOType,VolumeID",
        units: units(S, SECTORS, SECTORS),
        responses: false,
    },
    Known {
        format: Format::Biosnoop,
        word: "biosnoop",
        title: "bcc's biosnoop",
        columns: "TIME(s) COMM PID DISK T SECTOR BYTES [QUE(ms)] LAT(ms)",
        units: units(S, SECTORS, 1),
        responses: true,
    },
    Known {
        format: Format::Recording,
        word: "recording",
        title: "Seekwise recording",
        columns: "stamp,at_ns,done_ns,status,op,lba,sectors,fua,tag",
        units: units(NS, SECTORS, SECTORS),
        responses: true,
    },
];

impl Format {
    /// What is known of it.
    pub fn known(self) -> &'static Known {
        FORMATS.iter().find(|known| known.format == self).expect("every format is known")
    }
}

/// Which events of a kernel's trace are its requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Event {
    /// Q: a program asked.
    #[default]
    Queued,
    /// D: the driver was told.
    Issued,
}

/// What `wait` counts in fio's log of version 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Milliseconds from the beginning, as fio's code has it.
    Absolute,
    /// Microseconds from the `wait` before, as fio's manual has it.
    Relative,
}

/// How a trace is read. What is not said is as its format has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Its format; nothing: as it looks.
    pub format: Option<Format>,
    /// Of a kernel's trace: which events are requests.
    pub event: Event,
    /// Nanoseconds in a unit of time.
    pub time: Option<u64>,
    /// Bytes in a unit of address.
    pub address: Option<u64>,
    /// Bytes in a unit of length.
    pub length: Option<u64>,
    /// Requests of this device alone.
    pub device: Option<String>,
    /// Of fio's log of version 2; nothing: [`Wait::Absolute`] where no `wait` is less than one before.
    pub wait: Option<Wait>,
    /// Requests among which order is made.
    pub window: usize,
}

/// Requests among which order is made where nothing else is said: 4 MB of them.
pub const WINDOW: usize = 1 << 16;

impl Default for Reading {
    fn default() -> Reading {
        let (event, window) = (Event::Queued, WINDOW);
        Reading { format: None, event, time: None, address: None, length: None, device: None, wait: None, window }
    }
}

impl Reading {
    /// What the numbers of a format count here.
    pub fn units(&self, format: Format) -> Units {
        let Units { time, address, length } = format.known().units;
        let said = |said: Option<u64>, otherwise| said.unwrap_or(otherwise);
        Units { time: said(self.time, time), address: said(self.address, address), length: said(self.length, length) }
    }
}
