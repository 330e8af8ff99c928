//! Between a format's reader and the order of requests: raw requests, and the sink that readers put them into.

use std::collections::{HashMap, VecDeque};

use seekwise_disk::block::Op;
use seekwise_drives::diagnostic::Diagnostic;

use super::fields::TraceLine;

/// A request before sorting: times on the clock of the trace, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawEntry {
    pub at: u64,
    pub response: Option<u64>,
    pub op: Op,
    pub fua: bool,
    pub device: u32,
    pub lba: u64,
    pub sectors: u32,
    pub ragged: bool,
    pub line: u64,
}

impl Default for RawEntry {
    fn default() -> RawEntry {
        let (fua, ragged, op) = (false, false, Op::Read);
        RawEntry { at: 0, response: None, op, fua, device: 0, lba: 0, sectors: 0, ragged, line: 0 }
    }
}

/// The most devices of a trace: a hundred times as many as the largest published traces have.
const DEVICES: usize = 1 << 17;

/// Names of devices with their indices.
#[derive(Default)]
pub(super) struct DeviceNames {
    pub names: Vec<String>,
    places: HashMap<Vec<u8>, u32>,
    /// The last device looked up, as most traces repeat the same one.
    last: (Vec<u8>, u32),
}

impl DeviceNames {
    /// The index of a device by its name.
    #[inline]
    pub(crate) fn device_index(&mut self, line: &TraceLine<'_>, written: &[u8]) -> Result<u32, Diagnostic> {
        if self.last.0 == written && !self.names.is_empty() {
            return Ok(self.last.1);
        }
        self.look_up(line, written)
    }

    fn look_up(&mut self, line: &TraceLine<'_>, written: &[u8]) -> Result<u32, Diagnostic> {
        let place = match self.places.get(written) {
            Some(&place) => place,
            None if self.names.len() == DEVICES => {
                let fault = line.invalid_word("device", written, "a trace with fewer devices");
                return Err(Diagnostic { message: format!("more than {DEVICES} devices"), ..fault });
            }
            None => {
                self.names.push(String::from_utf8_lossy(written).chars().take(80).collect());
                self.places.insert(written.to_vec(), self.names.len() as u32 - 1);
                self.names.len() as u32 - 1
            }
        };
        self.last = (written.to_vec(), place);
        Ok(place)
    }
}

/// Collects what a format's reader has read.
#[derive(Default)]
pub(super) struct EntrySink {
    pub ready: VecDeque<RawEntry>,
    pub devices: DeviceNames,
    /// Only requests of this device are kept.
    pub wanted: Option<String>,
    pub elsewhere: u64,
    /// Lines or records that are not requests: notes, orders, internal requests of the kernel.
    pub passed_over: u64,
    /// Lines with `wait`.
    pub waits: u64,
}

impl EntrySink {
    #[inline]
    pub fn put(&mut self, raw: RawEntry) {
        match &self.wanted {
            Some(wanted) if self.devices.names[raw.device as usize] != *wanted => self.elsewhere += 1,
            _ => self.ready.push_back(raw),
        }
    }
}

/// A format's reader.
pub(super) trait Rows {
    /// Reads until there is at least one request; false at the end.
    fn read_more(&mut self, sink: &mut EntrySink) -> Result<bool, Diagnostic>;
    /// Whether the file does not end with a line end.
    fn is_cut(&self) -> bool {
        false
    }
}

/// A format with lines.
pub(super) trait LineParser {
    /// Parses a line, which is neither empty nor a comment. False: the rest is not part of the trace.
    fn parse_line(&mut self, line: &TraceLine<'_>, sink: &mut EntrySink) -> Result<bool, Diagnostic>;
    /// Called at the end.
    fn finish(&mut self, _: &mut EntrySink) {}
}
