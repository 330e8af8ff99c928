//! Alibaba's block traces of 2020, as their repository (`alibaba/block-traces`) describes the lines:
//! `device_id,opcode,offset,length,timestamp`, no header; offsets and lengths in bytes, timestamps in microseconds.

use seekwise_disk::block::Op;
use seekwise_drives::diagnostic::Diagnostic;

use super::fields::{TraceLine, TraceUnits, split_commas};
use super::format::TraceFormat;
use super::sink::{EntrySink, LineParser, RawEntry};

/// Parses lines, in these units.
pub(super) struct Alibaba(pub TraceUnits);

impl LineParser for Alibaba {
    #[inline]
    fn parse_line(&mut self, line: &TraceLine<'_>, sink: &mut EntrySink) -> Result<bool, Diagnostic> {
        let (words, count) = split_commas::<5>(line.text);
        if count != 5 {
            return Err(line.wrong_count(count, TraceFormat::Alibaba.spec().columns));
        }
        let [device, op, offset, length, timestamp] = words;
        if device.eq_ignore_ascii_case(b"device_id") && line.number == 1 {
            return Ok(true);
        }
        line.parse_whole("device_id", device)?;
        let op = match op {
            b"r" | b"R" => Op::Read,
            b"w" | b"W" => Op::Write,
            _ => return Err(line.invalid_word("opcode", op, "R or W")),
        };
        let extent = line.parse_extent(["offset", "length"], [offset, length], &self.0)?;
        let at_ns = line.parse_time_ns("timestamp", timestamp, self.0.time)?;
        let device = sink.devices.index_of(line, device)?;
        let (lba, sectors, ragged) = (extent.lba, extent.sectors, extent.ragged);
        sink.add(RawEntry {
            at_ns,
            response_ns: None,
            op,
            fua: false,
            device,
            lba,
            sectors,
            ragged,
            line: line.number,
        });
        Ok(true)
    }
}
