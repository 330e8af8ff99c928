//! The traces of Microsoft Research Cambridge, as SNIA's repository of traces describes the lines:
//! `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`, no header. The timestamp is that of arrival, in units of 100 ns
//! since 1601 (Windows' FILETIME), the response time in the same unit; offsets and sizes are in bytes.

use seekwise_disk::block::Op;
use seekwise_drives::diagnostic::Diagnostic;

use super::fields::{TraceLine, TraceUnits, split_commas};
use super::format::TraceFormat;
use super::sink::{EntrySink, LineParser, RawEntry};

/// Parses lines, in these units.
pub(super) struct Msr(pub TraceUnits);

impl LineParser for Msr {
    #[inline]
    fn parse_line(&mut self, line: &TraceLine<'_>, sink: &mut EntrySink) -> Result<bool, Diagnostic> {
        let (words, count) = split_commas::<7>(line.text);
        if count != 7 {
            return Err(line.wrong_count(count, TraceFormat::Msr.spec().columns));
        }
        let [timestamp, host, disk, op, offset, size, response] = words;
        if line.number == 1 && timestamp.eq_ignore_ascii_case(b"timestamp") {
            return Ok(true);
        }
        let at_ns = line.parse_time_ns("Timestamp", timestamp, self.0.time)?;
        let op = match op {
            b"Read" => Op::Read,
            b"Write" => Op::Write,
            _ if op.eq_ignore_ascii_case(b"read") => Op::Read,
            _ if op.eq_ignore_ascii_case(b"write") => Op::Write,
            _ => return Err(line.invalid_word("Type", op, "Read or Write")),
        };
        let extent = line.parse_extent(["Offset", "Size"], [offset, size], &self.0)?;
        let response_ns = Some(line.parse_time_ns("ResponseTime", response, self.0.time)?);
        // Host and disk stand next to each other; together they name the device, as in the names of the files.
        let device = match (host, disk) {
            ([], _) | (_, []) => return Err(line.invalid_word("Hostname", host, "a host and the number of its disk")),
            _ => sink.devices.index_of(line, from_word_to_word(line.text, host, disk))?,
        };
        let (lba, sectors, ragged) = (extent.lba, extent.sectors, extent.ragged);
        sink.add(RawEntry { at_ns, response_ns, op, fua: false, device, lba, sectors, ragged, line: line.number });
        Ok(true)
    }
}

/// The part of `text` from the beginning of `first` to the end of `last`, both of them words of `text`.
fn from_word_to_word<'a>(text: &'a [u8], first: &[u8], last: &[u8]) -> &'a [u8] {
    let offset = |word: &[u8]| word.as_ptr() as usize - text.as_ptr() as usize;
    &text[offset(first)..offset(last) + last.len()]
}
