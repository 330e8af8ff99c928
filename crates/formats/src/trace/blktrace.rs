//! The Linux kernel's binary trace (`include/uapi/linux/blktrace_api.h`): records of version 7, 48 bytes, and of version 8,
//! 64 bytes, in either byte order, each followed by extra data, which is skipped. There is one file per processor; the files are
//! merged in the order of their timestamps.
//!
//! | offset | version 7 | version 8 |
//! |---|---|---|
//! | 0 | magic `0x65617400` and version, sequence (32 bits each) | the same |
//! | 8 | nanoseconds, sector (64 bits each) | the same |
//! | 24 | bytes, action, pid, device, processor (32 bits each) | bytes, pid (32), action (64), device, processor (32) |
//! | 44, of version 8 48 | error, bytes of extra data (16 bits each) | the same, then 12 unused bytes |
//!
//! The low byte of an action is the event, the bits from 16 on are the kind of request. Requests are the events Q or D;
//! C completes them.

use std::io::{BufRead, Read};

use seekwise_disk::block::{Op, SECTOR};
use seekwise_drives::diagnostic::Diagnostic;

use super::fields::TraceLine;
use super::format::KernelEvent;
use super::pairing::Pairing;
use super::sink::{EntryReader, EntrySink, RawEntry};

/// The magic number without its version.
pub(super) const MAGIC: u32 = 0x6561_7400;
/// Bytes of a record of version 7, and the first bytes of one of version 8.
const HEAD_BYTES: usize = 48;
/// Further bytes of a record of version 8.
const TAIL_BYTES: usize = 16;

// Events: the low byte of an action.
const QUEUED: u8 = 1;
const ISSUED: u8 = 7;
const COMPLETED: u8 = 8;

// Kinds of request: the bits of an action from the 16th on.
const WRITE: u64 = 2;
const FLUSH: u64 = 4;
const PASS_THROUGH: u64 = 0x200;
const NOTIFY: u64 = 0x400;
const DISCARD: u64 = 0x2000;
const FUA: u64 = 0x8000;

/// Version and byte order of a record.
#[derive(Clone, Copy)]
pub(super) struct RecordMagic {
    version: u8,
    big_endian: bool,
}

/// Reads the magic number of a record; `None` if none starts here.
pub(super) fn read_magic(bytes: &[u8]) -> Option<RecordMagic> {
    let bytes: [u8; 4] = bytes.get(..4)?.try_into().ok()?;
    let magic_in = |big_endian: bool| {
        let word = if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
        (word & !0xff == MAGIC).then_some(RecordMagic { version: (word & 0xff) as u8, big_endian })
    };
    magic_in(false).or_else(|| magic_in(true))
}

/// The fields of a record that are used.
#[derive(Clone, Copy)]
struct BlktraceEvent {
    at_ns: u64,
    sector: u64,
    bytes: u32,
    action: u64,
    device: u32,
}

/// The file of one processor.
struct ProcessorFile {
    file: String,
    input: Box<dyn BufRead + Send>,
    bytes_read: u64,
    records_read: u64,
    /// The next record; `None` at the end.
    next_event: Option<BlktraceEvent>,
}

/// The merged files of all processors.
pub(super) struct Blktrace {
    processors: Vec<ProcessorFile>,
    /// True once the first record of each file was read.
    has_begun: bool,
    /// The event that makes a record a request: [`QUEUED`] or [`ISSUED`].
    request_event: u8,
    pairing: Pairing,
}

impl Blktrace {
    pub fn new(inputs: Vec<(String, Box<dyn BufRead + Send>)>, event: KernelEvent) -> Blktrace {
        let open_file = |(file, input)| ProcessorFile { file, input, bytes_read: 0, records_read: 0, next_event: None };
        let request_event = if event == KernelEvent::Queued { QUEUED } else { ISSUED };
        let processors = inputs.into_iter().map(open_file).collect();
        Blktrace { processors, has_begun: false, request_event, pairing: Pairing::default() }
    }

    /// The earliest record of all files, and the index of its file.
    fn next_event(&mut self) -> Result<Option<(BlktraceEvent, usize)>, Diagnostic> {
        if !self.has_begun {
            self.has_begun = true;
            self.processors.iter_mut().try_for_each(ProcessorFile::read_event)?;
        }
        let time_and_index =
            |(index, processor): (usize, &ProcessorFile)| processor.next_event.map(|event| (event.at_ns, index));
        let earliest = self.processors.iter().enumerate().filter_map(time_and_index).min();
        let Some((_, index)) = earliest else { return Ok(None) };
        let event = self.processors[index].next_event;
        self.processors[index].read_event()?;
        Ok(event.map(|event| (event, index)))
    }
}

impl ProcessorFile {
    /// An error about the current record.
    fn fault(&self, message: String) -> Diagnostic {
        let (record, byte) = (self.records_read, self.bytes_read);
        Diagnostic::at(&self.file, 0, format!("record {record} at byte {byte}: {message}"))
    }

    /// Fills the buffer, except at the end of the file; returns the number of bytes read.
    fn fill_buffer(&mut self, buffer: &mut [u8]) -> Result<usize, Diagnostic> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.input.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(why) if why.kind() == std::io::ErrorKind::Interrupted => {}
                Err(why) => return Err(self.fault(format!("cannot be read: {why}"))),
            }
        }
        Ok(filled)
    }

    /// Reads the next record into `next_event`.
    fn read_event(&mut self) -> Result<(), Diagnostic> {
        self.next_event = None;
        let mut head = [0; HEAD_BYTES];
        let filled = self.fill_buffer(&mut head)?;
        if filled == 0 {
            return Ok(());
        }
        self.records_read += 1;
        let truncated = |processor: &ProcessorFile, wanted_bytes: usize, bytes: usize| {
            let complete = processor.bytes_read;
            let fault = processor.fault(format!("the file ends inside the record: {bytes} of {wanted_bytes} bytes"));
            Err(fault.with_expected(format!("complete records; the first {complete} bytes hold only complete ones")))
        };
        let Some(RecordMagic { version, big_endian }) = read_magic(&head[..filled]) else {
            let expected = format!("a record that starts with {MAGIC:#010x}, with 7 or 8 in its last byte");
            return Err(self.fault("no record starts here".to_owned()).with_expected(expected));
        };
        if !matches!(version, 7 | 8) {
            let fault = self.fault(format!("unsupported version {version}"));
            return Err(fault.with_expected("version 7 or 8"));
        }
        let mut tail = [0; TAIL_BYTES];
        let record_bytes = if version == 8 { HEAD_BYTES + TAIL_BYTES } else { HEAD_BYTES };
        let filled = if filled == HEAD_BYTES && version == 8 { filled + self.fill_buffer(&mut tail)? } else { filled };
        if filled < record_bytes {
            return truncated(self, record_bytes, filled);
        }
        let record = RawRecord { head: &head, tail: &tail, big_endian };
        let (action, device, extra_bytes) = match version {
            8 => (record.u64_at(32), record.u32_at(40), record.u16_at(50)),
            _ => (u64::from(record.u32_at(28)), record.u32_at(36), record.u16_at(46)),
        };
        let extra = (&mut self.input).take(extra_bytes.into());
        let skipped = std::io::copy(&mut { extra }, &mut std::io::sink());
        let skipped = skipped.map_err(|why| self.fault(format!("cannot be read: {why}")))? as usize;
        if skipped < usize::from(extra_bytes) {
            return truncated(self, record_bytes + usize::from(extra_bytes), record_bytes + skipped);
        }
        self.bytes_read += (record_bytes + skipped) as u64;
        let (at_ns, sector, bytes) = (record.u64_at(8), record.u64_at(16), record.u32_at(24));
        self.next_event = Some(BlktraceEvent { at_ns, sector, bytes, action, device });
        Ok(())
    }
}

/// The bytes of a record; the tail is zero in version 7.
struct RawRecord<'a> {
    head: &'a [u8; HEAD_BYTES],
    tail: &'a [u8; TAIL_BYTES],
    big_endian: bool,
}

impl RawRecord<'_> {
    fn byte_at(&self, offset: usize) -> u8 {
        if offset < HEAD_BYTES { self.head[offset] } else { self.tail[offset - HEAD_BYTES] }
    }

    fn u16_at(&self, offset: usize) -> u16 {
        let bytes = [self.byte_at(offset), self.byte_at(offset + 1)];
        if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
    }

    fn u32_at(&self, offset: usize) -> u32 {
        let bytes = [0, 1, 2, 3].map(|index| self.byte_at(offset + index));
        if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    fn u64_at(&self, offset: usize) -> u64 {
        let (first, second) = (self.u32_at(offset), self.u32_at(offset + 4));
        let (low, high) = if self.big_endian { (second, first) } else { (first, second) };
        u64::from(high) << 32 | u64::from(low)
    }
}

impl EntryReader for Blktrace {
    fn read_more(&mut self, sink: &mut EntrySink) -> Result<bool, Diagnostic> {
        while sink.ready.is_empty() {
            let Some((record, index)) = self.next_event()? else {
                self.pairing.add_remaining(sink);
                return Ok(false);
            };
            let processor = &self.processors[index];
            let BlktraceEvent { at_ns, sector, bytes, action, device } = record;
            let (kind, event) = (action >> 16, action as u8);
            if kind & (NOTIFY | PASS_THROUGH) != 0 || event != self.request_event && event != COMPLETED {
                sink.passed_over += 1;
                continue;
            }
            let line = TraceLine { file: &processor.file, number: 0, text: &[] };
            // The kernel's device number: 12 bits of major number, 20 of minor.
            let device = sink.devices.index_of(&line, format!("{},{}", device >> 20, device & 0xf_ffff).as_bytes())?;
            let extent = super::fields::sector_extent(sector, u64::from(bytes).div_ceil(SECTOR));
            let Some(extent) = extent.filter(|_| bytes > 0) else {
                if bytes > 0 {
                    return Err(processor.fault(format!("its sector {sector} lies beyond 16 EiB")));
                }
                if event == self.request_event && kind & FLUSH != 0 {
                    self.pairing.add_request(RawEntry { at_ns, op: Op::Flush, device, ..RawEntry::default() }, sink);
                } else {
                    sink.passed_over += u64::from(event == self.request_event);
                }
                continue;
            };
            let (lba, sectors) = (extent.lba, extent.sectors);
            if event == COMPLETED {
                self.pairing.complete_sectors(device, lba, sectors.into(), at_ns, sink);
                continue;
            }
            if kind & FLUSH != 0 {
                self.pairing.add_request(RawEntry { at_ns, op: Op::Flush, device, ..RawEntry::default() }, sink);
            }
            let op = match kind {
                _ if kind & DISCARD != 0 => Op::Trim,
                _ if kind & WRITE != 0 => Op::Write,
                _ => Op::Read,
            };
            let (fua, ragged) = (op == Op::Write && kind & FUA != 0, !u64::from(bytes).is_multiple_of(SECTOR));
            self.pairing
                .add_request(RawEntry { at_ns, op, fua, device, lba, sectors, ragged, ..RawEntry::default() }, sink);
        }
        Ok(true)
    }
}
