//! MSR Cambridge (SNIA): `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`, no header. The timestamp is that of
//! arrival, in units of 100 ns since 1601 (Windows' FILETIME), the response time in the same unit; offsets and sizes are in bytes.

use seekwise_disk::block::Op;
use seekwise_drives::diagnostic::Diagnostic;

use super::fields::{TraceLine, TraceUnits, split_commas};
use super::format::TraceFormat;
use super::sink::{EntrySink, LineParser, RawEntry};

pub(super) struct Msr(pub TraceUnits);

impl LineParser for Msr {
    #[inline]
    fn parse_line(&mut self, line: &TraceLine<'_>, sink: &mut EntrySink) -> Result<bool, Diagnostic> {
        let (words, count) = split_commas::<7>(line.text);
        if count != 7 {
            return Err(line.wrong_count(count, TraceFormat::Msr.spec().columns));
        }
        let [stamp, host, disk, op, offset, size, response] = words;
        if line.number == 1 && stamp.eq_ignore_ascii_case(b"timestamp") {
            return Ok(true);
        }
        let at = line.parse_time("Timestamp", stamp, self.0.time)?;
        let op = match op {
            b"Read" => Op::Read,
            b"Write" => Op::Write,
            _ if op.eq_ignore_ascii_case(b"read") => Op::Read,
            _ if op.eq_ignore_ascii_case(b"write") => Op::Write,
            _ => return Err(line.invalid_word("Type", op, "Read or Write")),
        };
        let extent = line.parse_extent(["Offset", "Size"], [offset, size], &self.0)?;
        let response = Some(line.parse_time("ResponseTime", response, self.0.time)?);
        // Host and disk are adjacent; together they are the name of the device, as in the names of the files.
        let device = match (host, disk) {
            ([], _) | (_, []) => return Err(line.invalid_word("Hostname", host, "a host and the number of its disk")),
            _ => sink.devices.device_index(line, span_words(line.text, host, disk))?,
        };
        let (lba, sectors, ragged) = (extent.lba, extent.sectors, extent.ragged);
        sink.put(RawEntry { at, response, op, fua: false, device, lba, sectors, ragged, line: line.number });
        Ok(true)
    }
}

/// From the beginning of the first word to the end of the second.
fn span_words<'a>(text: &'a [u8], first: &[u8], second: &[u8]) -> &'a [u8] {
    let place = |word: &[u8]| word.as_ptr() as usize - text.as_ptr() as usize;
    &text[place(first)..place(second) + second.len()]
}
