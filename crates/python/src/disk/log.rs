//! The calls of a disk as bytes: a request takes some ten. Calls that only let time pass are left out, as late calls
//! change nothing; equal calls give equal answers, so that a disk is made again by them.
//!
//! A call is its kind (a byte), the nanoseconds since the one before, and its arguments. Numbers are written seven bits
//! at a time, the lowest first.

use seekwise::device::{Control, Flags, LayerSetting, Op, parse_setting};
use seekwise::time::Instant;

use super::{CONTROLS, OPERATIONS};

/// Flags by their bit in a log.
const FLAGS: [Flags; 4] = [Flags::FUA, Flags::ORDERED, Flags::HEAD_OF_QUEUE, Flags::PRIORITY];

/// A call that may change a device.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    Submit {
        op: Op,
        flags: Flags,
        lba: u64,
        sectors: u32,
    },
    Control(Control),
    /// Aborts the request with this tag.
    Abort(u64),
    /// Sets a key to a value, as words and as a setting.
    Set {
        key: String,
        value: String,
        setting: LayerSetting,
    },
}

/// The calls so far.
#[derive(Default)]
pub struct CallLog {
    bytes: Vec<u8>,
    last: Instant,
}

impl CallLog {
    /// The calls as bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends a call, which is not earlier than the last one.
    pub fn push(&mut self, at: Instant, call: &Call) {
        let kind = match call {
            Call::Submit { .. } => 0,
            Call::Control(_) => 1,
            Call::Abort(_) => 2,
            Call::Set { .. } => 3,
        };
        self.bytes.push(kind);
        self.push_number(at.nanos() - self.last.nanos());
        self.last = at;
        match call {
            Call::Submit { op, flags, lba, sectors } => {
                let number = OPERATIONS.iter().position(|(_, known)| known == op).expect("a word made this operation");
                let bits = FLAGS.iter().enumerate().filter(|(_, flag)| flags.has(**flag));
                self.bytes.push(bits.fold(number as u8, |byte, (bit, _)| byte | 8 << bit));
                self.push_number(*lba);
                self.push_number(u64::from(*sectors));
            }
            Call::Control(control) => {
                let number = CONTROLS.iter().position(|(_, known)| known == control).expect("a word made this control");
                self.bytes.push(number as u8);
            }
            Call::Abort(tag) => self.push_number(*tag),
            Call::Set { key, value, .. } => [key, value].into_iter().for_each(|text| self.push_text(text)),
        }
    }

    fn push_number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    fn push_text(&mut self, text: &str) {
        self.push_number(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }
}

/// The calls of a log with their instants, on a disk with these levels; `None` in the place of one that cannot be read.
pub fn entries<'a>(bytes: &'a [u8], levels: &'a [String]) -> impl Iterator<Item = Option<(Instant, Call)>> + 'a {
    let mut reader = LogReader { bytes, last: 0, levels };
    let mut is_whole = true;
    std::iter::from_fn(move || {
        if !is_whole || reader.bytes.is_empty() {
            return None;
        }
        let entry = reader.read_entry();
        is_whole = entry.is_some();
        Some(entry)
    })
}

struct LogReader<'a> {
    bytes: &'a [u8],
    last: u64,
    levels: &'a [String],
}

impl LogReader<'_> {
    fn read_entry(&mut self) -> Option<(Instant, Call)> {
        let kind = self.read_byte()?;
        self.last = self.last.checked_add(self.read_number()?)?;
        let call = match kind {
            0 => {
                let byte = self.read_byte()?;
                let (_, op) = OPERATIONS.get(usize::from(byte & 7))?;
                let set = FLAGS.iter().enumerate().filter(|(bit, _)| byte & 8 << bit != 0);
                let flags = set.fold(Flags::NONE, |flags, (_, flag)| flags.with(*flag));
                let (lba, sectors) = (self.read_number()?, self.read_number()?.try_into().ok()?);
                Call::Submit { op: *op, flags, lba, sectors }
            }
            1 => Call::Control(CONTROLS.get(usize::from(self.read_byte()?))?.1),
            2 => Call::Abort(self.read_number()?),
            3 => {
                let (key, value) = (self.read_text()?, self.read_text()?);
                let has_level = |level: &str| self.levels.iter().any(|known| known == level);
                let setting = parse_setting(&key, &value, &has_level).ok()?;
                Call::Set { key, value, setting }
            }
            _ => return None,
        };
        Some((Instant::from_nanos(self.last), call))
    }

    fn read_byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    fn read_number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.read_byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn read_text(&mut self) -> Option<String> {
        let length = usize::try_from(self.read_number()?).ok()?;
        let (text, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        String::from_utf8(text.to_vec()).ok()
    }
}
