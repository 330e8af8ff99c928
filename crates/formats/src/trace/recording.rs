//! Reads a recording of `seekwise serve --record` like any other trace: the requests without their tags. Orders to the disk
//! (power, settings) are skipped and counted; [`crate::recording`] defines the format and reads a complete recording.

use seekwise_drives::diagnostic::Diagnostic;

use super::fields::TraceLine;
use super::sink::{EntrySink, LineParser, RawEntry};
use crate::recording;

/// Parses lines.
pub(super) struct SessionRows;

impl LineParser for SessionRows {
    fn parse_line(&mut self, line: &TraceLine<'_>, sink: &mut EntrySink) -> Result<bool, Diagnostic> {
        let text = String::from_utf8_lossy(line.text);
        if text == recording::COLUMNS {
            return Ok(true);
        }
        if text.starts_with("order,") {
            sink.passed_over += 1;
            return Ok(true);
        }
        let entry = recording::parse_request(line.file, line.number as usize, &text)?;
        let device = sink.devices.index_of(line, b"disk")?;
        let (at_ns, response_ns) = (entry.at.nanos(), Some(entry.done.since(entry.at).nanos()));
        let (op, fua, lba, sectors) = (entry.op, entry.fua, entry.lba, entry.sectors);
        sink.add(RawEntry { at_ns, response_ns, op, fua, device, lba, sectors, ragged: false, line: line.number });
        Ok(true)
    }
}
