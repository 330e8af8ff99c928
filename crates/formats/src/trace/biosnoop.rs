//! The output of bcc's biosnoop: `TIME(s) COMM PID DISK T SECTOR BYTES [QUE(ms)] LAT(ms)` after a header with these names. A
//! line is printed when its request completes, so that the request was issued earlier by its latency. A program's name may contain
//! blanks, so words are counted from the right.
//!
//! `sniff` refuses the output of similar tools without sector numbers (bpftrace's) or timestamps (DTrace's iosnoop).

use seekwise_disk::block::Op;
use seekwise_drives::diagnostic::Diagnostic;

use super::fields::{TraceLine, TraceUnits, parse_decimal, parse_digits, sector_extent};
use super::format::TraceFormat;
use super::sink::{EntrySink, LineParser, RawEntry};

/// Timestamps are relative, and the first request may have been issued before them; this offset is added to all.
const BEFORE: u64 = 3_600 * 1_000_000_000;

const MS: u64 = 1_000_000;

pub(super) struct Biosnoop {
    units: TraceUnits,
    /// Columns after DISK, once the header was read; the last is LAT.
    tail: Option<usize>,
    /// QUE is among them.
    queued: bool,
}

/// Whether a header has a column for the disk.
pub(super) fn has_disk(words: &[&[u8]]) -> bool {
    words.contains(&&b"DISK"[..])
}

impl Biosnoop {
    pub fn new(units: TraceUnits) -> Biosnoop {
        Biosnoop { units, tail: None, queued: false }
    }

    fn read_header(&mut self, words: &[&[u8]]) -> bool {
        let is = |word: &[u8]| words.iter().any(|known| known.starts_with(word));
        if !(words.first().is_some_and(|word| word.starts_with(b"TIME")) && is(b"SECTOR") && is(b"LAT")) {
            return false;
        }
        let disk = words.iter().position(|word| *word == b"DISK");
        self.tail = disk.map(|disk| words.len() - disk - 1);
        self.queued = is(b"QUE");
        self.tail.is_some()
    }
}

impl LineParser for Biosnoop {
    fn parse_line(&mut self, line: &TraceLine<'_>, sink: &mut EntrySink) -> Result<bool, Diagnostic> {
        let words: Vec<&[u8]> = line.text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
        let Some(tail) = self.tail else {
            // Messages of the tool before its table.
            if !self.read_header(&words) {
                sink.passed_over += 1;
            }
            return Ok(true);
        };
        // Time, at least one word of a name, process, disk.
        let wanted = if self.queued { 5 } else { 4 };
        if words.len() < tail + 4 || tail < wanted {
            return Err(line.wrong_count(words.len(), TraceFormat::Biosnoop.spec().columns));
        }
        let end = &words[words.len() - tail..];
        let (disk, latency) = (words[words.len() - tail - 1], end[tail - 1]);
        let over = line.parse_time("TIME", words[0], self.units.time)?;
        let spent = |key: &str, word: &[u8]| {
            let span = parse_decimal(word, MS).filter(|span| *span < BEFORE / 2);
            span.ok_or_else(|| line.invalid_word(key, word, "milliseconds"))
        };
        let queued = if self.queued { spent("QUE", end[tail - 2])? } else { 0 };
        let response = spent("LAT", latency)? + queued;
        let at = (over.checked_add(BEFORE)).ok_or_else(|| line.invalid_word("TIME", words[0], "seconds"))? - response;
        let bytes = parse_digits(end[2]).ok_or_else(|| line.invalid_word("BYTES", end[2], "a whole number"))?;
        let op = match end[0].first() {
            Some(b'R') if bytes > 0 => Op::Read,
            Some(b'W') if bytes > 0 => Op::Write,
            Some(b'D') if bytes > 0 => Op::Trim,
            Some(b'W' | b'F') => Op::Flush,
            Some(b'R' | b'N' | b'U' | b'?') => {
                sink.passed_over += 1;
                return Ok(true);
            }
            _ => return Err(line.invalid_word("T", end[0], "R or W")),
        };
        let device = sink.devices.device_index(line, disk)?;
        let raw = RawEntry { at, response: Some(response), op, device, line: line.number, ..RawEntry::default() };
        if op == Op::Flush {
            sink.put(raw);
            return Ok(true);
        }
        let extent = match line.parse_whole("SECTOR", end[1])? {
            // Counted in sectors, regardless of the bytes.
            sector if self.units.address == 512 && bytes.is_multiple_of(512) => sector_extent(sector, bytes / 512),
            _ => Some(line.parse_extent(["SECTOR", "BYTES"], [end[1], end[2]], &self.units)?),
        };
        let extent = extent.ok_or_else(|| line.invalid_word("SECTOR", end[1], "an address below 16 EiB"))?;
        sink.put(RawEntry { lba: extent.lba, sectors: extent.sectors, ragged: extent.ragged, ..raw });
        Ok(true)
    }
}
