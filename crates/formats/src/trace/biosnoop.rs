//! The output of bcc's biosnoop: `TIME(s) COMM PID DISK T SECTOR BYTES [QUE(ms)] LAT(ms)` after a header with these names
//! (`tools/biosnoop.py` of bcc). A line is printed when its request completes; the request was issued earlier by its latency and
//! its time in the queue. A program's name may contain blanks, so words are counted from the right.
//!
//! [`super::sniff`] refuses the output of similar tools without sector numbers (bpftrace's) or timestamps (DTrace's iosnoop).

use seekwise_disk::block::Op;
use seekwise_drives::diagnostic::Diagnostic;

use super::fields::{TraceLine, TraceUnits, parse_decimal, parse_digits, sector_extent};
use super::format::TraceFormat;
use super::sink::{EntrySink, LineParser, RawEntry};

/// Added to all timestamps (an hour): timestamps count from the first completion, before which requests may have been issued.
const CLOCK_OFFSET_NS: u64 = 3_600 * 1_000_000_000;

const NS_PER_MS: u64 = 1_000_000;

/// Parses lines, once it has read the header.
pub(super) struct Biosnoop {
    units: TraceUnits,
    /// The number of columns after DISK, of which LAT is the last; `None` before the header.
    columns_after_disk: Option<usize>,
    /// True if QUE is among these columns.
    has_queue_time: bool,
}

/// True if a header has a column for the disk.
pub(super) fn has_disk_column(header_words: &[&[u8]]) -> bool {
    header_words.contains(&&b"DISK"[..])
}

impl Biosnoop {
    pub fn new(units: TraceUnits) -> Biosnoop {
        Biosnoop { units, columns_after_disk: None, has_queue_time: false }
    }

    /// Takes the columns from a header; false if the line is none.
    fn read_header(&mut self, words: &[&[u8]]) -> bool {
        let has_column = |name: &[u8]| words.iter().any(|word| word.starts_with(name));
        if !(words.first().is_some_and(|word| word.starts_with(b"TIME")) && has_column(b"SECTOR") && has_column(b"LAT"))
        {
            return false;
        }
        let disk = words.iter().position(|word| *word == b"DISK");
        self.columns_after_disk = disk.map(|disk| words.len() - disk - 1);
        self.has_queue_time = has_column(b"QUE");
        self.columns_after_disk.is_some()
    }
}

impl LineParser for Biosnoop {
    fn parse_line(&mut self, line: &TraceLine<'_>, sink: &mut EntrySink) -> Result<bool, Diagnostic> {
        let words: Vec<&[u8]> = line.text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
        let Some(tail_columns) = self.columns_after_disk else {
            // Messages of the tool before its table.
            if !self.read_header(&words) {
                sink.passed_over += 1;
            }
            return Ok(true);
        };
        // Before the tail stand time, at least one word of a name, process, disk.
        let words_before_tail = 4;
        let least_tail = if self.has_queue_time { 5 } else { 4 };
        if words.len() < tail_columns + words_before_tail || tail_columns < least_tail {
            return Err(line.wrong_count(words.len(), TraceFormat::Biosnoop.spec().columns));
        }
        let (head, tail) = words.split_at(words.len() - tail_columns);
        let (disk, latency) = (head[head.len() - 1], tail[tail_columns - 1]);
        let completed_ns = line.parse_time_ns("TIME", words[0], self.units.time)?;
        let parse_duration_ns = |key: &str, word: &[u8]| {
            let duration_ns = parse_decimal(word, NS_PER_MS).filter(|ns| *ns < CLOCK_OFFSET_NS / 2);
            duration_ns.ok_or_else(|| line.invalid_word(key, word, "milliseconds"))
        };
        let queued_ns = if self.has_queue_time { parse_duration_ns("QUE", tail[tail_columns - 2])? } else { 0 };
        let response_ns = parse_duration_ns("LAT", latency)? + queued_ns;
        let completed_ns = completed_ns.checked_add(CLOCK_OFFSET_NS);
        let at_ns = completed_ns.ok_or_else(|| line.invalid_word("TIME", words[0], "seconds"))? - response_ns;
        let bytes = parse_digits(tail[2]).ok_or_else(|| line.invalid_word("BYTES", tail[2], "a whole number"))?;
        let op = match tail[0].first() {
            Some(b'R') if bytes > 0 => Op::Read,
            Some(b'W') if bytes > 0 => Op::Write,
            Some(b'D') if bytes > 0 => Op::Trim,
            Some(b'W' | b'F') => Op::Flush,
            Some(b'R' | b'N' | b'U' | b'?') => {
                sink.passed_over += 1;
                return Ok(true);
            }
            _ => return Err(line.invalid_word("T", tail[0], "R or W")),
        };
        let device = sink.devices.index_of(line, disk)?;
        let raw =
            RawEntry { at_ns, response_ns: Some(response_ns), op, device, line: line.number, ..RawEntry::default() };
        if op == Op::Flush {
            sink.add(raw);
            return Ok(true);
        }
        let extent = match line.parse_whole("SECTOR", tail[1])? {
            // The kernel counts sectors of 512 bytes.
            sector if self.units.address == 512 && bytes.is_multiple_of(512) => sector_extent(sector, bytes / 512),
            _ => Some(line.parse_extent(["SECTOR", "BYTES"], [tail[1], tail[2]], &self.units)?),
        };
        let extent = extent.ok_or_else(|| line.invalid_word("SECTOR", tail[1], "an address below 16 EiB"))?;
        sink.add(RawEntry { lba: extent.lba, sectors: extent.sectors, ragged: extent.ragged, ..raw });
        Ok(true)
    }
}
