//! DiskSim's two formats of traces, as DiskSim 4.0 reads them (`disksim_iotrace.c`).
//!
//! ASCII, the default: `arrival device block blocks flags`, milliseconds, blocks of 512 bytes, flags in hexadecimal, where bit 0
//! means a **read**. The sixth column of the batch form is ignored.
//!
//! Validation: `R|W TAG block blocks response next`, microseconds: the response time, and the time from the completion to the next
//! request. The timestamp of a request is the sum of all times before it.

use seekwise_disk::block::Op;
use seekwise_drives::diagnostic::Diagnostic;

use super::fields::{TraceLine, TraceUnits, parse_hexadecimal, split_blanks};
use super::format::TraceFormat;
use super::sink::{EntrySink, LineParser, RawEntry};

/// The flag of a read.
const READ: u64 = 1;

/// Parses lines of the ASCII format, in these units.
pub(super) struct DisksimAscii(pub TraceUnits);

impl LineParser for DisksimAscii {
    #[inline]
    fn parse_line(&mut self, line: &TraceLine<'_>, sink: &mut EntrySink) -> Result<bool, Diagnostic> {
        let (words, count) = split_blanks::<5>(line.text);
        if !(5..=6).contains(&count) {
            return Err(line.wrong_count(count, TraceFormat::Disksim.spec().columns));
        }
        let [timestamp, device, block, blocks, flags] = words;
        let at_ns = line.parse_time_ns("arrival", timestamp, self.0.time)?;
        line.parse_whole("device", device)?;
        let extent = line.parse_extent(["block", "blocks"], [block, blocks], &self.0)?;
        let flags =
            parse_hexadecimal(flags).ok_or_else(|| line.invalid_word("flags", flags, "a hexadecimal number"))?;
        let op = if flags & READ == READ { Op::Read } else { Op::Write };
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

/// The tags for how the drive served a request.
const TAGS: [&str; 4] = ["Hit", "Miss", "Doub", "Trip"];

/// Parses lines of the validation format.
pub(super) struct DisksimValidation {
    units: TraceUnits,
    /// The timestamp of the next request.
    next_at_ns: u64,
}

impl DisksimValidation {
    pub fn new(units: TraceUnits) -> DisksimValidation {
        DisksimValidation { units, next_at_ns: 0 }
    }
}

impl LineParser for DisksimValidation {
    fn parse_line(&mut self, line: &TraceLine<'_>, sink: &mut EntrySink) -> Result<bool, Diagnostic> {
        let (words, count) = split_blanks::<6>(line.text);
        if count != 6 {
            return Err(line.wrong_count(count, TraceFormat::Validation.spec().columns));
        }
        let [op, tag, block, blocks, response, think] = words;
        let op = match op {
            b"R" => Op::Read,
            b"W" => Op::Write,
            _ => return Err(line.invalid_word("op", op, "R or W")),
        };
        if !TAGS.iter().any(|known| known.as_bytes() == tag) {
            let fault = line.invalid_word("tag", tag, &TAGS.join(", "));
            return Err(fault.suggest_nearest(&super::fields::printable_word(tag), TAGS));
        }
        let extent = line.parse_extent(["block", "blocks"], [block, blocks], &self.units)?;
        let response_ns = line.parse_time_ns("response", response, self.units.time)?;
        let think_ns = line.parse_time_ns("next", think, self.units.time)?;
        let device = sink.devices.index_of(line, b"0")?;
        let (lba, sectors, ragged) = (extent.lba, extent.sectors, extent.ragged);
        let at_ns = self.next_at_ns;
        let next_at_ns = at_ns.checked_add(response_ns).and_then(|completed_ns| completed_ns.checked_add(think_ns));
        self.next_at_ns =
            next_at_ns.ok_or_else(|| line.invalid_word("next", words[5], "a trace of less than 584 years"))?;
        let response_ns = Some(response_ns);
        sink.add(RawEntry { at_ns, response_ns, op, fua: false, device, lba, sectors, ragged, line: line.number });
        Ok(true)
    }
}
