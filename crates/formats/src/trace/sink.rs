//! The interface between the readers of the formats and the sorting of requests: [`EntryReader`] or [`LineParser`] for a format,
//! and the [`EntrySink`] that takes its requests.

use std::collections::{HashMap, VecDeque};

use seekwise_disk::block::Op;
use seekwise_drives::diagnostic::Diagnostic;

use super::fields::TraceLine;

/// A request before sorting. Times are those of the trace's own clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawEntry {
    pub at_ns: u64,
    pub response_ns: Option<u64>,
    pub op: Op,
    pub fua: bool,
    pub device: u32,
    pub lba: u64,
    pub sectors: u32,
    /// True if the request was extended to whole sectors.
    pub ragged: bool,
    /// The line in the file, from 1; 0 for a binary format.
    pub line: u64,
}

impl Default for RawEntry {
    fn default() -> RawEntry {
        let (fua, ragged, op) = (false, false, Op::Read);
        RawEntry { at_ns: 0, response_ns: None, op, fua, device: 0, lba: 0, sectors: 0, ragged, line: 0 }
    }
}

/// The most devices of a trace: a hundred times as many as the largest published traces have.
const MOST_DEVICES: usize = 1 << 17;

/// The names of a trace's devices; a device is known by the index of its name.
#[derive(Default)]
pub(super) struct DeviceNames {
    pub names: Vec<String>,
    indexes: HashMap<Vec<u8>, u32>,
    /// The last name and its index: most traces repeat the same device.
    last_found: (Vec<u8>, u32),
}

impl DeviceNames {
    /// The index of a device by its name, a new one for a new name. `line` is for the error about too many devices.
    #[inline]
    pub(crate) fn index_of(&mut self, line: &TraceLine<'_>, name: &[u8]) -> Result<u32, Diagnostic> {
        if self.last_found.0 == name && !self.names.is_empty() {
            return Ok(self.last_found.1);
        }
        self.find_or_add(line, name)
    }

    fn find_or_add(&mut self, line: &TraceLine<'_>, name: &[u8]) -> Result<u32, Diagnostic> {
        let index = match self.indexes.get(name) {
            Some(&index) => index,
            None if self.names.len() == MOST_DEVICES => {
                let fault = line.invalid_word("device", name, "a trace with fewer devices");
                return Err(Diagnostic { message: format!("more than {MOST_DEVICES} devices"), ..fault });
            }
            None => {
                self.names.push(String::from_utf8_lossy(name).chars().take(80).collect());
                self.indexes.insert(name.to_vec(), self.names.len() as u32 - 1);
                self.names.len() as u32 - 1
            }
        };
        self.last_found = (name.to_vec(), index);
        Ok(index)
    }
}

/// Collects the requests that a format's reader reads.
#[derive(Default)]
pub(super) struct EntrySink {
    /// Requests that are read and not yet taken.
    pub ready: VecDeque<RawEntry>,
    pub devices: DeviceNames,
    /// The device whose requests are kept; `None` for all.
    pub wanted_device: Option<String>,
    /// Requests of other devices.
    pub elsewhere: u64,
    /// Lines or records that are not requests: notes, orders, internal requests of the kernel.
    pub passed_over: u64,
    /// Lines with `wait`.
    pub waits: u64,
}

impl EntrySink {
    /// Adds a request, unless it is of an unwanted device.
    #[inline]
    pub fn add(&mut self, raw: RawEntry) {
        match &self.wanted_device {
            Some(wanted) if self.devices.names[raw.device as usize] != *wanted => self.elsewhere += 1,
            _ => self.ready.push_back(raw),
        }
    }
}

/// The reader of a format.
pub(super) trait EntryReader {
    /// Reads until `sink` has at least one request; false at the end.
    fn read_more(&mut self, sink: &mut EntrySink) -> Result<bool, Diagnostic>;
    /// True if the last line has no line end.
    fn is_last_line_unended(&self) -> bool {
        false
    }
}

/// The parser of a format of lines, for [`super::lines::Lines`].
pub(super) trait LineParser {
    /// Parses a line, which is neither empty nor a comment, and adds its requests to `sink`. False if the trace ends here,
    /// although the file goes on.
    fn parse_line(&mut self, line: &TraceLine<'_>, sink: &mut EntrySink) -> Result<bool, Diagnostic>;
    /// Adds requests that are still held back to `sink`, at the end of the trace.
    fn add_remaining(&mut self, _: &mut EntrySink) {}
}
