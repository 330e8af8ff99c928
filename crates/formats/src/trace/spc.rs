//! The Storage Performance Council's format (revision 1.0.1), used by the UMass traces of a bank and a search engine:
//! `ASU,LBA,Size,Opcode,Timestamp[,more]`. An ASU is a separate address space; the LBA counts its blocks of 512 bytes,
//! the size is in bytes, the timestamp in seconds since the start. Commas may be surrounded by blanks.

use seekwise_disk::block::Op;
use seekwise_drives::diagnostic::Diagnostic;

use super::fields::{TraceLine, TraceUnits, split_commas};
use super::format::TraceFormat;
use super::sink::{EntrySink, LineParser, RawEntry};

/// Parses lines, in these units.
pub(super) struct Spc(pub TraceUnits);

impl LineParser for Spc {
    #[inline]
    fn parse_line(&mut self, line: &TraceLine<'_>, sink: &mut EntrySink) -> Result<bool, Diagnostic> {
        let (words, count) = split_commas::<5>(line.text);
        if count < 5 {
            return Err(line.wrong_count(count, TraceFormat::Spc.spec().columns));
        }
        let [asu, lba, size, op, timestamp] = words;
        line.parse_whole("ASU", asu)?;
        let op = match op {
            b"r" | b"R" => Op::Read,
            b"w" | b"W" => Op::Write,
            _ => return Err(line.invalid_word("Opcode", op, "R or W")),
        };
        let extent = line.parse_extent(["LBA", "Size"], [lba, size], &self.0)?;
        let at_ns = line.parse_time_ns("Timestamp", timestamp, self.0.time)?;
        let device = sink.devices.index_of(line, asu)?;
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
