//! Alibaba's block traces of 2020: `device_id,opcode,offset,length,timestamp`, no header; bytes, and microseconds.

use seekwise_disk::block::Op;
use seekwise_drives::diagnostic::Diagnostic;

use super::fields::{TraceLine, TraceUnits, split_commas};
use super::format::TraceFormat;
use super::sink::{EntrySink, LineParser, RawEntry};

pub(super) struct Alibaba(pub TraceUnits);

impl LineParser for Alibaba {
    #[inline]
    fn parse_line(&mut self, line: &TraceLine<'_>, sink: &mut EntrySink) -> Result<bool, Diagnostic> {
        let (words, count) = split_commas::<5>(line.text);
        if count != 5 {
            return Err(line.wrong_count(count, TraceFormat::Alibaba.spec().columns));
        }
        let [device, op, offset, length, stamp] = words;
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
        let at = line.parse_time("timestamp", stamp, self.0.time)?;
        let device = sink.devices.device_index(line, device)?;
        let (lba, sectors, ragged) = (extent.lba, extent.sectors, extent.ragged);
        sink.put(RawEntry { at, response: None, op, fua: false, device, lba, sectors, ragged, line: line.number });
        Ok(true)
    }
}
