//! Opens a trace and reads its requests in the order of their timestamps.

use std::io::{BufRead, Cursor, Read};

use seekwise_disk::block::Op;
use seekwise_disk::time::Span;
use seekwise_drives::diagnostic::Diagnostic;
use serde::Serialize;

use super::compression::PackedInput;
use super::format::{TraceFormat, TraceReadOptions, WaitMeaning};
use super::lines::Lines;
use super::order::ReorderWindow;
use super::sink::{EntrySink, RawEntry, Rows};
use super::sniff::{self, HEAD};
use super::{alibaba, biosnoop, blkparse, blktrace, disksim, iolog, msr, recording, spc, tencent};

/// A request of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEntry {
    /// The time of issue, relative to the first request.
    pub at: Span,
    /// The response time, if recorded.
    pub response: Option<Span>,
    /// The operation.
    pub op: Op,
    /// Whether it is a forced unit access.
    pub fua: bool,
    /// The index of its device in [`TraceReader::devices`].
    pub device: u32,
    /// First sector.
    pub lba: u64,
    /// Number of sectors; 0 for a flush.
    pub sectors: u32,
    /// Whether it was extended to whole sectors.
    pub ragged: bool,
}

/// A part of a trace: a name and its contents.
pub type TracePart = (String, PackedInput);

/// A trace being read, in the order of timestamps.
pub struct TraceReader {
    file: String,
    pub format: TraceFormat,
    rows: Box<dyn Rows + Send>,
    sink: EntrySink,
    order: ReorderWindow,
    /// The first timestamp, on the clock of the trace.
    base: Option<u64>,
    ended: bool,
}

/// Opens a trace: one part, or for blktrace one per processor.
pub fn open(parts: Vec<TracePart>, reading: &TraceReadOptions) -> Result<TraceReader, Diagnostic> {
    let mut inputs = Vec::new();
    let mut format = reading.format;
    for (file, mut input) in parts {
        let mut head = Vec::new();
        let read = input.by_ref().take(HEAD).read_to_end(&mut head);
        read.map_err(|why| Diagnostic::at(&file, 0, format!("cannot be read: {why}")))?;
        if let (None, true) = (format, inputs.is_empty()) {
            format = Some(sniff::detect_format(&file, &head)?);
        }
        let rest = std::io::BufReader::with_capacity(1 << 18, input);
        inputs.push((file, Box::new(Cursor::new(head).chain(rest)) as Box<dyn BufRead + Send>));
    }
    let (file, format) =
        (inputs.first().map_or(String::new(), |input| input.0.clone()), format.unwrap_or(TraceFormat::Blktrace));
    let (rows, sink) =
        (open_rows(format, inputs, reading), EntrySink { wanted: reading.device.clone(), ..EntrySink::default() });
    Ok(TraceReader { file, format, rows, sink, order: ReorderWindow::new(reading.window), base: None, ended: false })
}

fn open_rows(
    format: TraceFormat,
    mut inputs: Vec<(String, Box<dyn BufRead + Send>)>,
    reading: &TraceReadOptions,
) -> Box<dyn Rows + Send> {
    if format == TraceFormat::Blktrace {
        return Box::new(blktrace::Blktrace::new(inputs, reading.event));
    }
    let Some((file, input)) = inputs.pop() else { return Box::new(blktrace::Blktrace::new(Vec::new(), reading.event)) };
    let (file, units) = (&*file, reading.units(format));
    match format {
        TraceFormat::Blktrace => unreachable!("it is no text"),
        TraceFormat::Blkparse => Lines::new_boxed(file, input, blkparse::Blkparse::new(reading.event)),
        TraceFormat::Msr => Lines::new_boxed(file, input, msr::Msr(units)),
        TraceFormat::Spc => Lines::new_boxed(file, input, spc::Spc(units)),
        TraceFormat::Disksim => Lines::new_boxed(file, input, disksim::DisksimAscii(units)),
        TraceFormat::Validation => Lines::new_boxed(file, input, disksim::DisksimValidation::new(units)),
        TraceFormat::Iolog => {
            let wait = reading.wait.unwrap_or(WaitMeaning::Absolute);
            Lines::new_boxed(file, input, iolog::Iolog::new(units, wait, reading.placed.clone()))
        }
        TraceFormat::Alibaba => Lines::new_boxed(file, input, alibaba::Alibaba(units)),
        TraceFormat::Tencent => Lines::new_boxed(file, input, tencent::Tencent::new(units)),
        TraceFormat::Biosnoop => Lines::new_boxed(file, input, biosnoop::Biosnoop::new(units)),
        TraceFormat::Recording => Lines::new_boxed(file, input, recording::SessionRows),
    }
}

/// Statistics of a reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReaderCounts {
    /// Requests that were sorted into place.
    pub reordered: u64,
    /// Requests of other devices.
    pub elsewhere: u64,
    /// Lines or records that are not requests.
    pub passed_over: u64,
    /// Lines with `wait` in version 2 of fio's log.
    pub waits: u64,
    /// Whether the file does not end with a line end, and so may be truncated.
    pub cut: bool,
}

impl TraceReader {
    /// The names of the devices so far.
    pub fn devices(&self) -> &[String] {
        &self.sink.devices.names
    }

    /// The statistics so far.
    pub fn counts(&self) -> ReaderCounts {
        let EntrySink { elsewhere, passed_over, waits, .. } = self.sink;
        ReaderCounts { reordered: self.order.reordered, elsewhere, passed_over, waits, cut: self.rows.is_cut() }
    }

    /// The next request; `None` at the end.
    #[inline]
    pub fn read(&mut self) -> Result<Option<TraceEntry>, Diagnostic> {
        while !self.ended && !self.order.is_full() {
            match self.sink.ready.pop_front() {
                Some(raw) => self.order.add(&self.file, raw)?,
                None => self.ended = !self.rows.read_more(&mut self.sink)? && self.sink.ready.is_empty(),
            }
        }
        let Some(raw) = self.order.pop_earliest() else { return Ok(None) };
        let base = *self.base.get_or_insert(raw.at);
        let RawEntry { response, op, fua, device, lba, sectors, ragged, .. } = raw;
        let (at, response) = (Span::from_nanos(raw.at - base), response.map(Span::from_nanos));
        Ok(Some(TraceEntry { at, response, op, fua, device, lba, sectors, ragged }))
    }
}
