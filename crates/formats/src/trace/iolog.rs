//! fio's logs of requests (`iolog.c`).
//!
//! - Version 1: `rw, offset, length`, 0 for a read and 1 for a write, no timestamps. fio wrote it until 2008.
//! - Version 2: `file add|open|close`, `file read|write|trim|sync|datasync offset length`, `file wait N 0`; [`WaitMeaning`]
//!   says what N counts.
//! - Version 3: the same without `wait`; each line starts with its time in microseconds since the start.
//!
//! Each file counts as a device. `sync` and `datasync` are flushes. All units are bytes.

use seekwise_disk::block::Op;
use seekwise_drives::diagnostic::Diagnostic;

use super::fields::{TraceLine, TraceUnits, parse_digits, printable_word, split_blanks, split_commas};
use super::format::{IologPlacement, WaitMeaning};
use super::sink::{EntrySink, LineParser, RawEntry};

/// The first lines of versions 2 and 3.
pub(super) const HEADS: [&[u8]; 2] = [b"fio version 2 iolog", b"fio version 3 iolog"];

/// The actions of a line.
const ACTIONS: [&str; 9] = ["add", "open", "close", "read", "write", "trim", "sync", "datasync", "wait"];

const MS: u64 = 1_000_000;
const US: u64 = 1_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
    Three,
}

pub(super) struct Iolog {
    units: TraceUnits,
    wait: WaitMeaning,
    version: Option<Version>,
    /// The current time: the last `wait` of version 2, the sum of fio's waits in a replay.
    now: u64,
    /// As fio replays it.
    placed: Option<IologPlacement>,
    /// In a replay, the instant of the previous line.
    before: u64,
}

impl Iolog {
    pub fn new(units: TraceUnits, wait: WaitMeaning, placed: Option<IologPlacement>) -> Iolog {
        Iolog { units, wait, version: None, now: 0, placed, before: 0 }
    }

    /// Sets the time of a line of version 3. In a replay, fio waits from the instant of the previous line, if that is not 0.
    fn set_time(&mut self, instant: u64) {
        if self.placed.is_none() {
            self.now = instant;
            return;
        }
        if self.before > 0 {
            self.now += instant.saturating_sub(self.before);
        }
        self.before = instant;
    }

    fn read_version_1(&self, line: &TraceLine<'_>, sink: &mut EntrySink) -> Result<(), Diagnostic> {
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
        let device = sink.devices.device_index(line, b"file")?;
        let (lba, sectors, ragged) = (extent.lba, extent.sectors, extent.ragged);
        sink.put(RawEntry { op, device, lba, sectors, ragged, line: line.number, ..RawEntry::default() });
        Ok(())
    }

    /// A line of version 2, or of version 3 after its timestamp.
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
        let redirect = self.placed.as_ref().and_then(|placed| placed.redirect.as_deref());
        let device = sink.devices.device_index(line, redirect.map_or(file, str::as_bytes))?;
        let raw = RawEntry { at: self.now, op, device, line: line.number, ..RawEntry::default() };
        if op == Op::Flush {
            sink.put(raw);
            return Ok(());
        }
        let moved = |start: u64| match &self.placed {
            Some(IologPlacement { scale, align, .. }) => (start / scale) & !(align - 1),
            None => start,
        };
        let extent = line.parse_moved_extent(["offset", "length"], [offset, length], &self.units, moved)?;
        sink.put(RawEntry { lba: extent.lba, sectors: extent.sectors, ragged: extent.ragged, ..raw });
        Ok(())
    }

    fn read_wait(&mut self, line: &TraceLine<'_>, word: &[u8]) -> Result<(), Diagnostic> {
        let unit = if self.wait == WaitMeaning::Absolute { MS } else { US };
        let span = parse_digits(word).and_then(|count| count.checked_mul(unit));
        let span = span.ok_or_else(|| line.invalid_word("wait", word, "a whole number"))?;
        let next = match self.wait {
            WaitMeaning::Absolute => Some(span),
            WaitMeaning::Relative => self.now.checked_add(span),
        };
        let next = next.ok_or_else(|| line.invalid_word("wait", word, "a log of less than 584 years"))?;
        if next < self.now && self.placed.is_some() {
            // The wait is already over.
            return Ok(());
        }
        if next < self.now {
            return Err(line.invalid_word("wait", word, WAITS));
        }
        self.now = next;
        Ok(())
    }
}

/// The hint for a decreasing `wait`; the caller then tries the other meaning.
pub(super) const WAITS: &str = "milliseconds from the start, or trace.wait=relative";

impl LineParser for Iolog {
    fn parse_line(&mut self, line: &TraceLine<'_>, sink: &mut EntrySink) -> Result<bool, Diagnostic> {
        let version = match self.version {
            Some(version) => version,
            None => {
                let head = HEADS.iter().position(|head| line.text.starts_with(head));
                let version = [Version::Two, Version::Three].get(head.unwrap_or(2)).copied().unwrap_or(Version::One);
                self.version = Some(version);
                if head.is_some() {
                    return Ok(true);
                }
                version
            }
        };
        let (words, count) = split_blanks::<5>(line.text);
        let words = &words[..count.min(5)];
        match version {
            Version::One => self.read_version_1(line, sink)?,
            _ if count > 5 => return Err(line.wrong_count(count, "instant file action offset length")),
            Version::Two => self.read_action(line, words, sink)?,
            Version::Three => {
                self.set_time(line.parse_time("instant", words[0], self.units.time)?);
                self.read_action(line, &words[1..], sink)?;
            }
        }
        Ok(true)
    }
}
