//! Recorded traces, as jobs: requests with their instants, whatever tool wrote them down, one file a format. Read as a
//! stream, put into the order of their instants in a bounded window: what a trace takes does not grow with its length.
//!
//! A format is told by what stands at the beginning ([`recognise`]), or named. What its numbers count is known of each
//! format and can be said otherwise ([`Reading`]). [`survey`] reads a trace once before it is played, and says whether its
//! units can be what they are taken for.
//!
//! Traces with measured response times, which `seekwise validate` holds a drive against, are another thing: [`measured`].

mod alibaba;
mod biosnoop;
mod blkparse;
mod blktrace;
mod disksim;
mod fields;
mod iolog;
pub mod keys;
pub mod measured;
mod msr;
mod order;
mod packed;
mod pairing;
mod recorded;
mod sniff;
mod spc;
pub mod survey;
mod tencent;

use std::collections::{HashMap, VecDeque};
use std::io::{BufRead, Cursor, Read};

use seekwise_model::block::Op;
use seekwise_model::time::Span;
use serde::Serialize;

use self::fields::Line;
pub use self::fields::{TIMES, Units, name_of};
use self::order::Order;
pub use self::packed::{Input, unpacked};
pub use self::sniff::{HEAD, Recognised, is_replayed, recognise};
use crate::diagnostic::Diagnostic;

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
    pub format: Format,
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
    /// Of fio's log of version 2 or 3: as fio replays it.
    pub placed: Option<Placed>,
    /// Requests among which order is made.
    pub window: usize,
}

/// Where the requests of a log go that is read as fio replays it: its instants are the sums of the spans that fio waits,
/// so that what goes back waits for nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// All go to this one file or device (`replay_redirect`).
    pub redirect: Option<String>,
    /// Places are divided by it (`replay_scale`); at least 1.
    pub scale: u64,
    /// Then brought down to a multiple of it (`replay_align`); at least 1.
    pub align: u64,
}

/// Requests among which order is made where nothing else is said: 4 MB of them.
pub const WINDOW: usize = 1 << 16;

impl Default for Reading {
    fn default() -> Reading {
        let (event, window) = (Event::Queued, WINDOW);
        let placed = None;
        Reading {
            format: None,
            event,
            time: None,
            address: None,
            length: None,
            device: None,
            wait: None,
            placed,
            window,
        }
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

/// A request of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When it was issued, from the first on.
    pub at: Span,
    /// How long it took; nothing where that is not recorded.
    pub response: Option<Span>,
    /// What was asked.
    pub op: Op,
    /// It was to be durable at once.
    pub fua: bool,
    /// Of which device: its place in [`Reader::devices`].
    pub device: u32,
    /// First sector.
    pub lba: u64,
    /// Sectors; 0 of a flush.
    pub sectors: u32,
    /// It did not begin or end with a sector; whole sectors around it stand here.
    pub ragged: bool,
}

/// A request before it is in order: instants by the trace's own clock, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Raw {
    at: u64,
    response: Option<u64>,
    op: Op,
    fua: bool,
    device: u32,
    lba: u64,
    sectors: u32,
    ragged: bool,
    line: u64,
}

impl Default for Raw {
    fn default() -> Raw {
        let (fua, ragged, op) = (false, false, Op::Read);
        Raw { at: 0, response: None, op, fua, device: 0, lba: 0, sectors: 0, ragged, line: 0 }
    }
}

/// Devices of a trace beyond which it is none: a hundred times what the largest published ones have.
const DEVICES: usize = 1 << 17;

/// Names of devices, each with its place.
#[derive(Default)]
pub(super) struct Devices {
    names: Vec<String>,
    places: HashMap<Vec<u8>, u32>,
    /// The one that was asked for last: most traces ask for the same again and again.
    last: (Vec<u8>, u32),
}

impl Devices {
    /// The place of the device that is written so.
    #[inline]
    fn place(&mut self, line: &Line<'_>, written: &[u8]) -> Result<u32, Diagnostic> {
        if self.last.0 == written && !self.names.is_empty() {
            return Ok(self.last.1);
        }
        self.look_up(line, written)
    }

    fn look_up(&mut self, line: &Line<'_>, written: &[u8]) -> Result<u32, Diagnostic> {
        let place = match self.places.get(written) {
            Some(&place) => place,
            None if self.names.len() == DEVICES => {
                let fault = line.wrong("device", written, "a trace of fewer devices");
                return Err(Diagnostic { message: format!("more than {DEVICES} devices"), ..fault });
            }
            None => {
                self.names.push(String::from_utf8_lossy(written).chars().take(80).collect());
                self.places.insert(written.to_vec(), self.names.len() as u32 - 1);
                self.names.len() as u32 - 1
            }
        };
        self.last = (written.to_vec(), place);
        Ok(place)
    }
}

/// Where a format's reader puts what it has read.
#[derive(Default)]
pub(super) struct Sink {
    ready: VecDeque<Raw>,
    devices: Devices,
    /// Nothing of other devices is put there.
    wanted: Option<String>,
    elsewhere: u64,
    /// What was read and is no request: notes, orders, requests of the kernel's own.
    passed_over: u64,
    /// Lines with `wait`.
    waits: u64,
}

impl Sink {
    #[inline]
    fn put(&mut self, raw: Raw) {
        match &self.wanted {
            Some(wanted) if self.devices.names[raw.device as usize] != *wanted => self.elsewhere += 1,
            _ => self.ready.push_back(raw),
        }
    }
}

/// A format's reader.
trait Rows {
    /// Reads on, until there is a request or more; false: there is no more.
    fn more(&mut self, sink: &mut Sink) -> Result<bool, Diagnostic>;
    /// The file does not end with the end of a line.
    fn is_cut(&self) -> bool {
        false
    }
}

/// A format of lines.
trait Parse {
    /// One more line, which is neither empty nor a comment. False: all that follows is something else.
    fn line(&mut self, line: &Line<'_>, sink: &mut Sink) -> Result<bool, Diagnostic>;
    /// There is no more.
    fn end(&mut self, _: &mut Sink) {}
}

/// The longest line: longer ones are none of any format.
const LONGEST: u64 = 1 << 16;

/// Lines of a text.
struct Lines<P> {
    file: String,
    input: Box<dyn BufRead + Send>,
    parse: P,
    number: u64,
    line: Vec<u8>,
    cut: bool,
    over: bool,
}

impl<P: Parse> Lines<P> {
    fn boxed(file: &str, input: Box<dyn BufRead + Send>, parse: P) -> Box<Lines<P>> {
        Box::new(Lines { file: file.to_owned(), input, parse, number: 0, line: Vec::new(), cut: false, over: false })
    }

    fn end(&mut self, sink: &mut Sink) -> bool {
        self.over = true;
        self.parse.end(sink);
        false
    }

    fn fault(&self, message: String) -> Diagnostic {
        Diagnostic::at(&self.file, self.number as usize, message)
    }

    /// The next line, brought together in `line`; false: there is none.
    fn bring(&mut self) -> Result<bool, Diagnostic> {
        self.line.clear();
        let read = (&mut self.input).take(LONGEST).read_until(b'\n', &mut self.line);
        match read.map_err(|why| self.fault(format!("cannot be read: {why}")))? {
            read if read as u64 == LONGEST => Err(self.fault(format!("a line of more than {LONGEST} bytes"))),
            read => Ok(read > 0),
        }
    }
}

/// Parses a line of `file` with its end. False: all that follows is something else.
#[inline]
fn parse<P: Parse>(parser: &mut P, file: &str, number: u64, line: &[u8], sink: &mut Sink) -> Result<bool, Diagnostic> {
    let mark = if number == 1 { &b"\xef\xbb\xbf"[..] } else { b"" };
    let text = line.strip_prefix(mark).unwrap_or(line).trim_ascii();
    if text.is_empty() || text[0] == b'#' {
        return Ok(true);
    }
    parser.line(&Line { file, number, text }, sink).map_err(|fault| match line.ends_with(b"\n") {
        true => fault,
        false => Diagnostic { message: format!("the file ends within this line: {}", fault.message), ..fault },
    })
}

impl<P: Parse> Rows for Lines<P> {
    #[inline]
    fn more(&mut self, sink: &mut Sink) -> Result<bool, Diagnostic> {
        while sink.ready.is_empty() && !self.over {
            self.number += 1;
            // Mostly it lies in the reader's memory as a whole. What cannot be read is told where it is brought together.
            let here = self.input.fill_buf().unwrap_or_default();
            let here = &here[..here.len().min(LONGEST as usize - 1)];
            let more = match fields::place(here, b'\n') {
                Some(place) => {
                    self.cut = false;
                    let more = parse(&mut self.parse, &self.file, self.number, &here[..=place], sink);
                    self.input.consume(place + 1);
                    more?
                }
                None if self.bring()? => {
                    self.cut = !self.line.ends_with(b"\n");
                    parse(&mut self.parse, &self.file, self.number, &self.line, sink)?
                }
                None => false,
            };
            if !more {
                return Ok(self.end(sink));
            }
        }
        Ok(!self.over)
    }

    fn is_cut(&self) -> bool {
        self.cut
    }
}

/// A part of a trace, as it is opened: a name, and what stands there.
pub type Part = (String, Input);

/// A trace being read: its requests in the order of their instants.
pub struct Reader {
    file: String,
    pub format: Format,
    rows: Box<dyn Rows + Send>,
    sink: Sink,
    order: Order,
    /// The first instant, by the trace's own clock.
    base: Option<u64>,
    ended: bool,
}

/// Opens a trace: one part, or of blktrace one for each processor.
pub fn open(parts: Vec<Part>, reading: &Reading) -> Result<Reader, Diagnostic> {
    let mut inputs = Vec::new();
    let mut format = reading.format;
    for (file, mut input) in parts {
        let mut head = Vec::new();
        let read = input.by_ref().take(HEAD).read_to_end(&mut head);
        read.map_err(|why| Diagnostic::at(&file, 0, format!("cannot be read: {why}")))?;
        if let (None, true) = (format, inputs.is_empty()) {
            format = Some(sniff::format(&file, &head)?);
        }
        let rest = std::io::BufReader::with_capacity(1 << 18, input);
        inputs.push((file, Box::new(Cursor::new(head).chain(rest)) as Box<dyn BufRead + Send>));
    }
    let (file, format) =
        (inputs.first().map_or(String::new(), |input| input.0.clone()), format.unwrap_or(Format::Blktrace));
    let (rows, sink) = (rows(format, inputs, reading), Sink { wanted: reading.device.clone(), ..Sink::default() });
    Ok(Reader { file, format, rows, sink, order: Order::new(reading.window), base: None, ended: false })
}

fn rows(format: Format, mut inputs: Vec<(String, Box<dyn BufRead + Send>)>, reading: &Reading) -> Box<dyn Rows + Send> {
    if format == Format::Blktrace {
        return Box::new(blktrace::Blktrace::new(inputs, reading.event));
    }
    let Some((file, input)) = inputs.pop() else { return Box::new(blktrace::Blktrace::new(Vec::new(), reading.event)) };
    let (file, units) = (&*file, reading.units(format));
    match format {
        Format::Blktrace => unreachable!("it is no text"),
        Format::Blkparse => Lines::boxed(file, input, blkparse::Blkparse::new(reading.event)),
        Format::Msr => Lines::boxed(file, input, msr::Msr(units)),
        Format::Spc => Lines::boxed(file, input, spc::Spc(units)),
        Format::Disksim => Lines::boxed(file, input, disksim::Ascii(units)),
        Format::Validation => Lines::boxed(file, input, disksim::Validation::new(units)),
        Format::Iolog => {
            let wait = reading.wait.unwrap_or(Wait::Absolute);
            Lines::boxed(file, input, iolog::Iolog::new(units, wait, reading.placed.clone()))
        }
        Format::Alibaba => Lines::boxed(file, input, alibaba::Alibaba(units)),
        Format::Tencent => Lines::boxed(file, input, tencent::Tencent::new(units)),
        Format::Biosnoop => Lines::boxed(file, input, biosnoop::Biosnoop::new(units)),
        Format::Recording => Lines::boxed(file, input, recorded::Recorded),
    }
}

/// What a reader has met on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Met {
    /// Requests that came after later ones, and were put in order.
    pub reordered: u64,
    /// Requests of other devices than the one that was wanted.
    pub elsewhere: u64,
    /// Lines or records that are no requests.
    pub passed_over: u64,
    /// Instants that a log of fio's version 2 told by `wait`.
    pub waits: u64,
    /// The file does not end with the end of a line: it may have been cut.
    pub cut: bool,
}

impl Reader {
    /// The names of the devices that were met so far.
    pub fn devices(&self) -> &[String] {
        &self.sink.devices.names
    }

    /// What was met so far.
    pub fn met(&self) -> Met {
        let Sink { elsewhere, passed_over, waits, .. } = self.sink;
        Met { reordered: self.order.reordered, elsewhere, passed_over, waits, cut: self.rows.is_cut() }
    }

    /// The next request; nothing: there is no more.
    #[inline]
    pub fn read(&mut self) -> Result<Option<Entry>, Diagnostic> {
        while !self.ended && !self.order.is_full() {
            match self.sink.ready.pop_front() {
                Some(raw) => self.order.add(&self.file, raw)?,
                None => self.ended = !self.rows.more(&mut self.sink)? && self.sink.ready.is_empty(),
            }
        }
        let Some(raw) = self.order.give() else { return Ok(None) };
        let base = *self.base.get_or_insert(raw.at);
        let Raw { response, op, fua, device, lba, sectors, ragged, .. } = raw;
        let (at, response) = (Span::from_nanos(raw.at - base), response.map(Span::from_nanos));
        Ok(Some(Entry { at, response, op, fua, device, lba, sectors, ragged }))
    }
}
