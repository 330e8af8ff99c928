//! The kernel's binary trace (`blktrace_api.h`): records of version 7, 48 bytes, and of version 8, 64 bytes, in either
//! byte order, each followed by extra data, which is skipped. There is one file per processor; they are merged in the
//! order of their timestamps.
//!
//! | offset | version 7 | version 8 |
//! |---|---|---|
//! | 0 | magic `0x65617400` and version, sequence (32 bits each) | the same |
//! | 8 | nanoseconds, sector (64 bits each) | the same |
//! | 24 | bytes, action, pid, device, processor (32 bits each) | bytes, pid (32), action (64), device, processor (32) |
//! | 44, of version 8 48 | error, bytes behind (16 bits each) | the same, then 12 bytes to fill |
//!
//! The low byte of an action is the event, the bits from 16 on are the kind of request. Requests are the events Q or D;
//! C completes them.

use std::io::{BufRead, Read};

use seekwise_disk::block::{Op, SECTOR};
use seekwise_drives::diagnostic::Diagnostic;

use super::fields::TraceLine;
use super::format::KernelEvent;
use super::pairing::Pairing;
use super::sink::{EntrySink, RawEntry, Rows};

/// The magic without its version.
pub(super) const MAGIC: u32 = 0x6561_7400;
/// The fields that both versions share.
const HEAD: usize = 48;
/// The additional field of version 8.
const MORE: usize = 16;

const QUEUED: u8 = 1;
const ISSUED: u8 = 7;
const COMPLETED: u8 = 8;
/// Kinds of request, as bits from the 16th on.
const WRITE: u64 = 2;
const FLUSH: u64 = 4;
const PASS_THROUGH: u64 = 0x200;
const NOTIFY: u64 = 0x400;
const DISCARD: u64 = 0x2000;
const FUA: u64 = 0x8000;

/// Whether a file starts with a record, and whether it is big-endian.
pub(super) fn read_magic(head: &[u8]) -> Option<(u8, bool)> {
    let bytes: [u8; 4] = head.get(..4)?.try_into().ok()?;
    let of = |word: u32| (word & !0xff == MAGIC).then_some((word & 0xff) as u8);
    of(u32::from_le_bytes(bytes)).map(|it| (it, false)).or_else(|| of(u32::from_be_bytes(bytes)).map(|it| (it, true)))
}

/// The fields of a record that are used.
#[derive(Clone, Copy)]
struct Event64 {
    at: u64,
    sector: u64,
    bytes: u32,
    action: u64,
    device: u32,
}

/// The file of one processor.
struct ProcessorFile {
    file: String,
    input: Box<dyn BufRead + Send>,
    /// Bytes read.
    read: u64,
    records: u64,
    /// The next record.
    next: Option<Event64>,
}

pub(super) struct Blktrace {
    processors: Vec<ProcessorFile>,
    begun: bool,
    event: u8,
    pairing: Pairing,
}

impl Blktrace {
    pub fn new(inputs: Vec<(String, Box<dyn BufRead + Send>)>, event: KernelEvent) -> Blktrace {
        let processor = |(file, input)| ProcessorFile { file, input, read: 0, records: 0, next: None };
        let event = if event == KernelEvent::Queued { QUEUED } else { ISSUED };
        let processors = inputs.into_iter().map(processor).collect();
        Blktrace { processors, begun: false, event, pairing: Pairing::default() }
    }

    /// The earliest record of all processors, with its file and number.
    fn next(&mut self) -> Result<Option<(Event64, usize)>, Diagnostic> {
        if !self.begun {
            self.begun = true;
            self.processors.iter_mut().try_for_each(ProcessorFile::advance)?;
        }
        let with = |(place, it): (usize, &ProcessorFile)| it.next.map(|next| (next.at, place));
        let Some((_, place)) = self.processors.iter().enumerate().filter_map(with).min() else { return Ok(None) };
        let next = self.processors[place].next;
        self.processors[place].advance()?;
        Ok(next.map(|next| (next, place)))
    }
}

impl ProcessorFile {
    fn fault(&self, message: String) -> Diagnostic {
        Diagnostic::at(&self.file, 0, format!("record {} at byte {}: {message}", self.records, self.read))
    }

    /// Reads as many bytes as fit, and returns their number.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<usize, Diagnostic> {
        let mut filled = 0;
        while filled < bytes.len() {
            match self.input.read(&mut bytes[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(why) if why.kind() == std::io::ErrorKind::Interrupted => {}
                Err(why) => return Err(self.fault(format!("cannot be read: {why}"))),
            }
        }
        Ok(filled)
    }

    /// Reads the next record.
    fn advance(&mut self) -> Result<(), Diagnostic> {
        self.next = None;
        let mut head = [0; HEAD];
        let filled = self.fill(&mut head)?;
        if filled == 0 {
            return Ok(());
        }
        self.records += 1;
        let cut = |it: &ProcessorFile, wanted: usize, there: usize| {
            let whole = it.read;
            let fault = it.fault(format!("the file ends inside the record: {there} of {wanted} bytes"));
            Err(fault.with_expected(format!("complete records; the first {whole} bytes hold only complete ones")))
        };
        let Some((version, swapped)) = read_magic(&head[..filled]) else {
            let expected = format!("a record that starts with {MAGIC:#010x}, with 7 or 8 in its last byte");
            return Err(self.fault("no record starts here".to_owned()).with_expected(expected));
        };
        if !matches!(version, 7 | 8) {
            let fault = self.fault(format!("unsupported version {version}"));
            return Err(fault.with_expected("version 7 or 8"));
        }
        let mut more = [0; MORE];
        let length = if version == 8 { HEAD + MORE } else { HEAD };
        let filled = if filled == HEAD && version == 8 { filled + self.fill(&mut more)? } else { filled };
        if filled < length {
            return cut(self, length, filled);
        }
        let word = |at: usize| bytes32(&head, &more, at, swapped);
        let long = |at: usize| bytes64(&head, &more, at, swapped);
        let (action, device, behind) = match version {
            8 => (long(32), word(40), 50),
            _ => (u64::from(word(28)), word(36), 46),
        };
        let behind = if behind == 50 { bytes16(&more, 2, swapped) } else { bytes16(&head, behind, swapped) };
        let left = (&mut self.input).take(behind.into());
        let copied = std::io::copy(&mut { left }, &mut std::io::sink());
        let copied = copied.map_err(|why| self.fault(format!("cannot be read: {why}")))? as usize;
        if copied < usize::from(behind) {
            return cut(self, length + usize::from(behind), length + copied);
        }
        self.read += (length + copied) as u64;
        self.next = Some(Event64 { at: long(8), sector: long(16), bytes: word(24), action, device });
        Ok(())
    }
}

fn bytes16(bytes: &[u8], at: usize, swapped: bool) -> u16 {
    let two = [bytes[at], bytes[at + 1]];
    if swapped { u16::from_be_bytes(two) } else { u16::from_le_bytes(two) }
}

fn bytes32(head: &[u8; HEAD], more: &[u8; MORE], at: usize, swapped: bool) -> u32 {
    let byte = |at: usize| if at < HEAD { head[at] } else { more[at - HEAD] };
    let four = [byte(at), byte(at + 1), byte(at + 2), byte(at + 3)];
    if swapped { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
}

fn bytes64(head: &[u8; HEAD], more: &[u8; MORE], at: usize, swapped: bool) -> u64 {
    let (first, second) = (bytes32(head, more, at, swapped), bytes32(head, more, at + 4, swapped));
    let (low, high) = if swapped { (second, first) } else { (first, second) };
    u64::from(high) << 32 | u64::from(low)
}

impl Rows for Blktrace {
    fn read_more(&mut self, sink: &mut EntrySink) -> Result<bool, Diagnostic> {
        while sink.ready.is_empty() {
            let Some((event, place)) = self.next()? else {
                self.pairing.finish(sink);
                return Ok(false);
            };
            let processor = &self.processors[place];
            let Event64 { at, sector, bytes, action, device } = event;
            let (kind, what) = (action >> 16, action as u8);
            if kind & (NOTIFY | PASS_THROUGH) != 0 || what != self.event && what != COMPLETED {
                sink.passed_over += 1;
                continue;
            }
            let line = TraceLine { file: &processor.file, number: 0, text: &[] };
            // The kernel's numbers: 12 bits and 20.
            let device =
                sink.devices.device_index(&line, format!("{},{}", device >> 20, device & 0xf_ffff).as_bytes())?;
            let extent = super::fields::sector_extent(sector, u64::from(bytes).div_ceil(SECTOR));
            let Some(extent) = extent.filter(|_| bytes > 0) else {
                if bytes > 0 {
                    return Err(processor.fault(format!("its sector {sector} lies beyond 16 EiB")));
                }
                if what == self.event && kind & FLUSH != 0 {
                    self.pairing.issue(RawEntry { at, op: Op::Flush, device, ..RawEntry::default() }, sink);
                } else {
                    sink.passed_over += u64::from(what == self.event);
                }
                continue;
            };
            let (lba, sectors) = (extent.lba, extent.sectors);
            if what == COMPLETED {
                self.pairing.complete(device, lba, sectors.into(), at, sink);
                continue;
            }
            if kind & FLUSH != 0 {
                self.pairing.issue(RawEntry { at, op: Op::Flush, device, ..RawEntry::default() }, sink);
            }
            let op = match kind {
                _ if kind & DISCARD != 0 => Op::Trim,
                _ if kind & WRITE != 0 => Op::Write,
                _ => Op::Read,
            };
            let (fua, ragged) = (op == Op::Write && kind & FUA != 0, !u64::from(bytes).is_multiple_of(SECTOR));
            self.pairing.issue(RawEntry { at, op, fua, device, lba, sectors, ragged, ..RawEntry::default() }, sink);
        }
        Ok(true)
    }
}
