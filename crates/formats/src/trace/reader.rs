//! Opens a trace, chooses the reader of its format, and reads its requests in the order of their timestamps.

use std::io::{BufRead, Cursor, Read};

use seekwise_disk::block::Op;
use seekwise_disk::time::Span;
use seekwise_drives::diagnostic::Diagnostic;
use serde::Serialize;

use super::compression::TraceInput;
use super::format::{TraceFormat, TraceReadOptions, WaitMeaning};
use super::lines::Lines;
use super::order::ReorderWindow;
use super::sink::{EntryReader, EntrySink, RawEntry};
use super::sniff::{self, HEAD_BYTES};
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
    /// True for a forced unit access.
    pub fua: bool,
    /// The index of the device in [`TraceReader::devices`].
    pub device: u32,
    /// First sector.
    pub lba: u64,
    /// Number of sectors; 0 for a flush.
    pub sectors: u32,
    /// True if the request was extended to whole sectors.
    pub ragged: bool,
}

/// A part of a trace: a name and its contents.
pub type TracePart = (String, TraceInput);

/// A trace being read, in the order of timestamps.
pub struct TraceReader {
    file: String,
    pub format: TraceFormat,
    entry_reader: Box<dyn EntryReader + Send>,
    sink: EntrySink,
    window: ReorderWindow,
    /// The first timestamp, on the clock of the trace.
    start_ns: Option<u64>,
    at_end: bool,
}

/// Opens a trace: one part, or for blktrace one per processor.
pub fn open(parts: Vec<TracePart>, options: &TraceReadOptions) -> Result<TraceReader, Diagnostic> {
    let mut inputs = Vec::new();
    let mut format = options.format;
    for (file, mut input) in parts {
        let mut head = Vec::new();
        let read = input.by_ref().take(HEAD_BYTES).read_to_end(&mut head);
        read.map_err(|why| Diagnostic::at(&file, 0, format!("cannot be read: {why}")))?;
        if let (None, true) = (format, inputs.is_empty()) {
            format = Some(sniff::detect_format(&file, &head)?);
        }
        let rest = std::io::BufReader::with_capacity(1 << 18, input);
        inputs.push((file, Box::new(Cursor::new(head).chain(rest)) as Box<dyn BufRead + Send>));
    }
    let file = inputs.first().map_or(String::new(), |input| input.0.clone());
    let format = format.unwrap_or(TraceFormat::Blktrace);
    let entry_reader = open_format(format, inputs, options);
    let sink = EntrySink { wanted_device: options.device.clone(), ..EntrySink::default() };
    let window = ReorderWindow::new(options.window);
    Ok(TraceReader { file, format, entry_reader, sink, window, start_ns: None, at_end: false })
}

/// The reader of a format. All formats but blktrace have one input.
fn open_format(
    format: TraceFormat,
    mut inputs: Vec<(String, Box<dyn BufRead + Send>)>,
    options: &TraceReadOptions,
) -> Box<dyn EntryReader + Send> {
    if format == TraceFormat::Blktrace {
        return Box::new(blktrace::Blktrace::new(inputs, options.event));
    }
    let Some((file, input)) = inputs.pop() else { return Box::new(blktrace::Blktrace::new(Vec::new(), options.event)) };
    let (file, units) = (&*file, options.units(format));
    match format {
        TraceFormat::Blktrace => unreachable!("blktrace is no text"),
        TraceFormat::Blkparse => Lines::new_boxed(file, input, blkparse::Blkparse::new(options.event)),
        TraceFormat::Msr => Lines::new_boxed(file, input, msr::Msr(units)),
        TraceFormat::Spc => Lines::new_boxed(file, input, spc::Spc(units)),
        TraceFormat::Disksim => Lines::new_boxed(file, input, disksim::DisksimAscii(units)),
        TraceFormat::Validation => Lines::new_boxed(file, input, disksim::DisksimValidation::new(units)),
        TraceFormat::Iolog => {
            let wait = options.wait.unwrap_or(WaitMeaning::Absolute);
            Lines::new_boxed(file, input, iolog::Iolog::new(units, wait, options.placement.clone()))
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
    /// True if the file does not end with a line end, and so may be truncated.
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
        ReaderCounts {
            reordered: self.window.reordered,
            elsewhere,
            passed_over,
            waits,
            cut: self.entry_reader.is_last_line_unended(),
        }
    }

    /// The next request by time; `None` at the end.
    #[inline]
    pub fn read(&mut self) -> Result<Option<TraceEntry>, Diagnostic> {
        while !self.at_end && !self.window.is_full() {
            match self.sink.ready.pop_front() {
                Some(raw) => self.window.add(&self.file, raw)?,
                None => self.at_end = !self.entry_reader.read_more(&mut self.sink)? && self.sink.ready.is_empty(),
            }
        }
        let Some(raw) = self.window.pop_earliest() else { return Ok(None) };
        let start_ns = *self.start_ns.get_or_insert(raw.at_ns);
        let RawEntry { response_ns, op, fua, device, lba, sectors, ragged, .. } = raw;
        let (at, response) = (Span::from_nanos(raw.at_ns - start_ns), response_ns.map(Span::from_nanos));
        Ok(Some(TraceEntry { at, response, op, fua, device, lba, sectors, ragged }))
    }
}
