//! fio's logs of requests, as fio's `iolog.c` writes and reads them.
//!
//! - Version 1: `rw, offset, length`, 0 for a read and 1 for a write, no timestamps. fio wrote this version until 2008.
//! - Version 2: `file add|open|close`, `file read|write|trim|sync|datasync offset length`, `file wait N 0`; [`WaitMeaning`]
//!   says what N counts.
//! - Version 3: as version 2 without `wait`; each line starts with its time in microseconds since the start.
//!
//! Each file counts as a device. `sync` and `datasync` are flushes. All units are bytes.

use seekwise_disk::block::Op;
use seekwise_drives::diagnostic::Diagnostic;

use super::fields::{TraceLine, TraceUnits, parse_digits, printable_word, split_blanks, split_commas};
use super::format::{IologPlacement, WaitMeaning};
use super::sink::{EntrySink, LineParser, RawEntry};

/// The first lines of versions 2 and 3.
pub(super) const FIRST_LINES: [&[u8]; 2] = [b"fio version 2 iolog", b"fio version 3 iolog"];

/// The actions of a line.
const ACTIONS: [&str; 9] = ["add", "open", "close", "read", "write", "trim", "sync", "datasync", "wait"];

const NS_PER_MS: u64 = 1_000_000;
const NS_PER_US: u64 = 1_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
    Three,
}

/// Parses lines of any version.
pub(super) struct Iolog {
    units: TraceUnits,
    wait: WaitMeaning,
    /// `None` before the first line.
    version: Option<Version>,
    /// The current time: the last `wait` of version 2, the sum of fio's waits in a replay.
    now_ns: u64,
    /// `Some` if the log is read as fio replays it.
    placement: Option<IologPlacement>,
    /// In a replay, the instant of the previous line.
    previous_instant_ns: u64,
}

impl Iolog {
    pub fn new(units: TraceUnits, wait: WaitMeaning, placement: Option<IologPlacement>) -> Iolog {
        Iolog { units, wait, version: None, now_ns: 0, placement, previous_instant_ns: 0 }
    }

    /// Sets the time of a line of version 3. In a replay, fio waits from the instant of the previous line, if that is not 0.
    fn set_time(&mut self, instant_ns: u64) {
        if self.placement.is_none() {
            self.now_ns = instant_ns;
            return;
        }
        if self.previous_instant_ns > 0 {
            self.now_ns += instant_ns.saturating_sub(self.previous_instant_ns);
        }
        self.previous_instant_ns = instant_ns;
    }

    /// Adds the request of a line of version 1.
    fn read_version_1_line(&self, line: &TraceLine<'_>, sink: &mut EntrySink) -> Result<(), Diagnostic> {
        let (words, count) = split_commas::<3>(line.text);
        if count != 3 {
            return Err(line.wrong_count(count, "rw, offset, length, as in fio's log of version 1"));
        }
        let op = match words[0] {
            b"0" => Op::Read,
            b"1" => Op::Write,
            _ => return Err(line.invalid_word("rw", words[0], "0 for a read or 1 for a write")),
        };
        let extent = line.parse_extent(["offset", "length"], [words[1], words[2]], &self.units)?;
        let device = sink.devices.index_of(line, b"file")?;
        let (lba, sectors, ragged) = (extent.lba, extent.sectors, extent.ragged);
        sink.add(RawEntry { op, device, lba, sectors, ragged, line: line.number, ..RawEntry::default() });
        Ok(())
    }

    /// Adds the request of a line of version 2, or of version 3 after its timestamp.
    fn read_action(&mut self, line: &TraceLine<'_>, words: &[&[u8]], sink: &mut EntrySink) -> Result<(), Diagnostic> {
        let expected = "file action offset length";
        let (file, action, offset, length) = match words[..] {
            [file, action] => (file, action, &b""[..], &b""[..]),
            [file, action, offset, length] => (file, action, offset, length),
            _ => return Err(line.wrong_count(words.len(), expected)),
        };
        let op = match action {
            b"add" | b"open" | b"close" => return Ok(()),
            b"wait" if self.version == Some(Version::Two) => {
                sink.waits += 1;
                return self.read_wait(line, offset);
            }
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Trim,
            b"sync" | b"datasync" => Op::Flush,
            _ => {
                let fault = line.invalid_word("action", action, &ACTIONS.join(", "));
                return Err(fault.suggest_nearest(&printable_word(action), ACTIONS));
            }
        };
        let redirect = self.placement.as_ref().and_then(|placement| placement.redirect.as_deref());
        let device = sink.devices.index_of(line, redirect.map_or(file, str::as_bytes))?;
        let raw = RawEntry { at_ns: self.now_ns, op, device, line: line.number, ..RawEntry::default() };
        if op == Op::Flush {
            sink.add(raw);
            return Ok(());
        }
        let replayed_start = |start_byte: u64| match &self.placement {
            Some(IologPlacement { scale, align, .. }) => (start_byte / scale) & !(align - 1),
            None => start_byte,
        };
        let extent = line.parse_mapped_extent(["offset", "length"], [offset, length], &self.units, replayed_start)?;
        sink.add(RawEntry { lba: extent.lba, sectors: extent.sectors, ragged: extent.ragged, ..raw });
        Ok(())
    }

    /// Advances the time by the value of a `wait`.
    fn read_wait(&mut self, line: &TraceLine<'_>, word: &[u8]) -> Result<(), Diagnostic> {
        let unit_ns = if self.wait == WaitMeaning::Absolute { NS_PER_MS } else { NS_PER_US };
        let span_ns = parse_digits(word).and_then(|count| count.checked_mul(unit_ns));
        let span_ns = span_ns.ok_or_else(|| line.invalid_word("wait", word, "a whole number"))?;
        let next_ns = match self.wait {
            WaitMeaning::Absolute => Some(span_ns),
            WaitMeaning::Relative => self.now_ns.checked_add(span_ns),
        };
        let next_ns = next_ns.ok_or_else(|| line.invalid_word("wait", word, "a log of less than 584 years"))?;
        if next_ns < self.now_ns && self.placement.is_some() {
            // fio's replay is already past this time.
            return Ok(());
        }
        if next_ns < self.now_ns {
            return Err(line.invalid_word("wait", word, DECREASING_WAIT_HINT));
        }
        self.now_ns = next_ns;
        Ok(())
    }
}

/// The hint of the error about a decreasing `wait`; [`super::survey`] knows the error by it, and tries the other meaning.
pub(super) const DECREASING_WAIT_HINT: &str = "milliseconds from the start, or trace.wait=relative";

impl LineParser for Iolog {
    fn parse_line(&mut self, line: &TraceLine<'_>, sink: &mut EntrySink) -> Result<bool, Diagnostic> {
        let version = match self.version {
            Some(version) => version,
            None => {
                let first_line = FIRST_LINES.iter().position(|known| line.text.starts_with(known));
                let version = match first_line {
                    Some(0) => Version::Two,
                    Some(_) => Version::Three,
                    None => Version::One,
                };
                self.version = Some(version);
                if first_line.is_some() {
                    return Ok(true);
                }
                version
            }
        };
        let (words, count) = split_blanks::<5>(line.text);
        let words = &words[..count.min(5)];
        match version {
            Version::One => self.read_version_1_line(line, sink)?,
            _ if count > 5 => return Err(line.wrong_count(count, "instant file action offset length")),
            Version::Two => self.read_action(line, words, sink)?,
            Version::Three => {
                self.set_time(line.parse_time_ns("instant", words[0], self.units.time)?);
                self.read_action(line, &words[1..], sink)?;
            }
        }
        Ok(true)
    }
}
