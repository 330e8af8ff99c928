//! Opens a trace and reads its requests in the order of their instants.

use std::io::{BufRead, Cursor, Read};

use seekwise_model::block::Op;
use seekwise_model::time::Span;
use serde::Serialize;

use super::format::{Format, Reading, Wait};
use super::lines::Lines;
use super::order::Order;
use super::packed::Input;
use super::sink::{Raw, Rows, Sink};
use super::sniff::{self, HEAD};
use super::{alibaba, biosnoop, blkparse, blktrace, disksim, iolog, msr, recorded, spc, tencent};
use crate::diagnostic::Diagnostic;

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

/// A part of a trace, as it is opened: a name, and what stands there.
pub type Part = (String, Input);

/// A trace being read: its requests in the order of their instants.
pub struct Reader {
    file: String,
    /// Its format.
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
        Format::Iolog => Lines::boxed(file, input, iolog::Iolog::new(units, reading.wait.unwrap_or(Wait::Absolute))),
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
