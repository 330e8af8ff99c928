//! The calls of a disk as bytes, and a digest of its answers: a disk that repeats the calls is in the same state, because equal calls
//! give equal answers. A call takes a byte to ten: instants are differences from the last call's, addresses from the last request's end.
//!
//! A byte holds the kind of a call in its low three bits, and in the others what is short: the operation, the control, a small count.

use seekwise_disk::block::{Completion, Landing};

use crate::values::{SeekwiseLanding, SeekwiseOp, SeekwiseRequest};
use crate::varint::{ByteReader, push_number, push_text, unzigzag, zigzag};

/// The most bytes of a key or a value.
pub const MOST_WORD_BYTES: usize = 4096;

/// Counts from here on follow their call's first byte.
const LONG_COUNT: u64 = 31;

/// In the first byte of a request: flags follow.
const HAS_FLAGS: u8 = 1 << 3;

/// In the first byte of a request: the time since the last call follows.
const IS_LATER: u8 = 1 << 4;

/// A call of a disk that may have changed it. `since` is the time since the last call, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoggedCall<'a> {
    Advance {
        since: u64,
    },
    /// Advance to the disk's next instant.
    AdvanceToNext,
    Submit {
        since: u64,
        request: SeekwiseRequest,
    },
    Control {
        since: u64,
        number: u32,
    },
    Abort {
        since: u64,
        tag: u32,
    },
    Set {
        since: u64,
        key: &'a str,
        value: &'a str,
    },
    /// So many completions were collected.
    Completions(u64),
    /// Landings were asked for so often; the last time there may have been none.
    Landings(u64),
}

/// The calls so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallLog {
    bytes: Vec<u8>,
    /// The end of the last request.
    last_end: u64,
    /// Completions collected since the last call.
    completions: u64,
    /// Landings asked for since the last call, and whether there were no more.
    landings: u64,
    landings_ended: bool,
    digest: Digest,
}

impl CallLog {
    /// Notes a call, after what was collected before it.
    pub fn note(&mut self, call: &LoggedCall<'_>) {
        self.flush_collected();
        self.push(call);
    }

    /// Notes that a completion was collected.
    pub fn note_collected_completion(&mut self) {
        self.completions += 1;
    }

    /// Notes that a landing was asked for, and what it was. Further answers that there is none change nothing.
    pub fn note_landing(&mut self, landing: Option<&Landing>) {
        self.landings += u64::from(!self.landings_ended);
        self.landings_ended = landing.is_none();
        if let Some(landing) = landing.map(|&landing| SeekwiseLanding::from(landing)) {
            let SeekwiseLanding { stamp, lba, sectors, kind, from_ns, to_ns, member, role, which } = landing;
            self.digest.add_all([stamp, lba, from_ns, to_ns]);
            self.digest.add_all([sectors, kind, member, role, which].map(u64::from));
        }
    }

    /// Notes a completion at the instant at which the device had it.
    pub fn note_completion(&mut self, completion: &Completion) {
        self.digest.add_all([u64::from(completion.tag), completion.status as u64, completion.finished.nanos()]);
        self.digest.add_all(*completion.parts.nanos());
    }

    /// Notes the result of a call.
    pub fn note_result(&mut self, result: u64) {
        self.digest.add(result);
    }

    /// The bytes of all calls, and the digest of all answers.
    pub fn finish(&mut self) -> (&[u8], u64) {
        self.flush_collected();
        (&self.bytes, self.digest.0)
    }

    fn flush_collected(&mut self) {
        if self.completions > 0 {
            self.push(&LoggedCall::Completions(self.completions));
        }
        if self.landings > 0 {
            self.push(&LoggedCall::Landings(self.landings));
        }
        (self.completions, self.landings, self.landings_ended) = (0, 0, false);
    }

    fn push(&mut self, call: &LoggedCall<'_>) {
        let bytes = &mut self.bytes;
        match *call {
            LoggedCall::Advance { since } => push_numbers(bytes, 0, &[since]),
            LoggedCall::AdvanceToNext => bytes.push(1),
            LoggedCall::Submit { since, request } => self.push_request(since, &request),
            LoggedCall::Control { since, number } => push_numbers(bytes, 3 | (number as u8) << 3, &[since]),
            LoggedCall::Abort { since, tag } => push_numbers(bytes, 4, &[since, u64::from(tag)]),
            LoggedCall::Set { since, key, value } => {
                push_numbers(bytes, 5, &[since]);
                push_text(bytes, key);
                push_text(bytes, value);
            }
            LoggedCall::Completions(count) => push_count(bytes, 6, count),
            LoggedCall::Landings(count) => push_count(bytes, 7, count),
        }
    }

    fn push_request(&mut self, since: u64, request: &SeekwiseRequest) {
        let SeekwiseRequest { tag, op, flags, sectors, lba } = *request;
        let short = if flags > 0 { HAS_FLAGS } else { 0 } | if since > 0 { IS_LATER } else { 0 } | op as u8;
        self.bytes.push(2 | short << 3);
        if since > 0 {
            push_number(&mut self.bytes, since);
        }
        if flags > 0 {
            push_number(&mut self.bytes, u64::from(flags));
        }
        push_number(&mut self.bytes, u64::from(tag));
        if op != SeekwiseOp::Flush as u32 {
            let distance = zigzag(lba.wrapping_sub(self.last_end) as i64);
            push_numbers_only(&mut self.bytes, &[u64::from(sectors), distance]);
            self.last_end = lba.wrapping_add(u64::from(sectors));
        }
    }
}

fn push_numbers(bytes: &mut Vec<u8>, first: u8, numbers: &[u64]) {
    bytes.push(first);
    push_numbers_only(bytes, numbers);
}

fn push_numbers_only(bytes: &mut Vec<u8>, numbers: &[u64]) {
    numbers.iter().for_each(|&number| push_number(bytes, number));
}

fn push_count(bytes: &mut Vec<u8>, kind: u8, count: u64) {
    bytes.push(kind | (count.min(LONG_COUNT) as u8) << 3);
    if count >= LONG_COUNT {
        push_number(bytes, count);
    }
}

/// Reads the calls of a log.
pub struct CallReader<'a> {
    reader: ByteReader<'a>,
    last_end: u64,
}

impl<'a> CallReader<'a> {
    /// Reads these bytes.
    pub fn new(bytes: &'a [u8]) -> CallReader<'a> {
        CallReader { reader: ByteReader::new(bytes), last_end: 0 }
    }

    /// True after the last call.
    pub fn is_at_end(&self) -> bool {
        self.reader.is_at_end()
    }

    /// Reads the next call; `None` if the bytes are none.
    pub fn read(&mut self) -> Option<LoggedCall<'a>> {
        let first = self.reader.read_byte()?;
        let (kind, short) = (first & 7, first >> 3);
        let reader = &mut self.reader;
        Some(match kind {
            0 if short == 0 => LoggedCall::Advance { since: reader.read_number()? },
            1 if short == 0 => LoggedCall::AdvanceToNext,
            2 => self.read_request(short)?,
            3 => LoggedCall::Control { since: reader.read_number()?, number: u32::from(short) },
            4 if short == 0 => LoggedCall::Abort { since: reader.read_number()?, tag: read_u32(reader)? },
            5 if short == 0 => LoggedCall::Set {
                since: reader.read_number()?,
                key: reader.read_text(MOST_WORD_BYTES)?,
                value: reader.read_text(MOST_WORD_BYTES)?,
            },
            6 => LoggedCall::Completions(read_count(reader, short)?),
            7 => LoggedCall::Landings(read_count(reader, short)?),
            _ => return None,
        })
    }

    fn read_request(&mut self, short: u8) -> Option<LoggedCall<'a>> {
        let reader = &mut self.reader;
        let since = if short & IS_LATER > 0 { reader.read_number()? } else { 0 };
        let flags = if short & HAS_FLAGS > 0 { read_u32(reader)? } else { 0 };
        let (op, tag) = (u32::from(short & 7), read_u32(reader)?);
        if op == SeekwiseOp::Flush as u32 {
            return Some(LoggedCall::Submit { since, request: SeekwiseRequest { tag, op, flags, sectors: 0, lba: 0 } });
        }
        let sectors = read_u32(reader)?;
        let lba = self.last_end.wrapping_add(unzigzag(reader.read_number()?) as u64);
        self.last_end = lba.wrapping_add(u64::from(sectors));
        Some(LoggedCall::Submit { since, request: SeekwiseRequest { tag, op, flags, sectors, lba } })
    }
}

fn read_u32(reader: &mut ByteReader<'_>) -> Option<u32> {
    reader.read_number().and_then(|number| u32::try_from(number).ok())
}

fn read_count(reader: &mut ByteReader<'_>, short: u8) -> Option<u64> {
    if u64::from(short) < LONG_COUNT { Some(u64::from(short)) } else { reader.read_number() }
}

/// A sum that any changed word changes; not one that resists an attacker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(pub u64);

impl Default for Digest {
    /// The digest of nothing: the first digits of pi.
    fn default() -> Digest {
        Digest(0x243f_6a88_85a3_08d3)
    }
}

impl Digest {
    /// Adds a word. Each step can be undone, so that two words differ in their sums.
    #[inline]
    pub fn add(&mut self, word: u64) {
        // The multiplier is the golden ratio's share of 2^64, made odd.
        self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    fn add_all<const N: usize>(&mut self, words: [u64; N]) {
        words.into_iter().for_each(|word| self.add(word));
    }

    /// The digest of bytes and of their number.
    pub fn of_bytes(bytes: &[u8]) -> Digest {
        let mut digest = Digest::default();
        digest.add(bytes.len() as u64);
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            digest.add(u64::from_le_bytes(word));
        }
        digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(op: SeekwiseOp, lba: u64, sectors: u32) -> SeekwiseRequest {
        SeekwiseRequest { tag: 7, op: op as u32, flags: 0, sectors, lba }
    }

    #[test]
    fn calls_are_read_as_they_were_noted() {
        let far = SeekwiseRequest { tag: u32::MAX, flags: 15, ..request(SeekwiseOp::Write, (1 << 48) - 8, 8) };
        let calls = [
            LoggedCall::Set { since: 0, key: "landings", value: "on" },
            LoggedCall::Submit { since: 0, request: request(SeekwiseOp::Read, 4096, 8) },
            LoggedCall::Submit { since: 5, request: request(SeekwiseOp::Read, 4104, 8) },
            LoggedCall::Submit { since: 1 << 61, request: far },
            LoggedCall::Submit { since: 0, request: request(SeekwiseOp::Flush, 0, 0) },
            LoggedCall::Submit { since: 0, request: request(SeekwiseOp::Trim, 0, 65_536) },
            LoggedCall::Advance { since: 1_000_000 },
            LoggedCall::AdvanceToNext,
            LoggedCall::Control { since: 0, number: 3 },
            LoggedCall::Abort { since: 1, tag: 7 },
        ];
        let mut log = CallLog::default();
        calls.iter().for_each(|call| log.note(call));
        (0..40).for_each(|_| log.note_collected_completion());
        (0..3).for_each(|_| log.note_landing(None));
        let (bytes, _) = log.finish();
        let mut reader = CallReader::new(bytes);
        let read: Vec<LoggedCall<'_>> = std::iter::from_fn(|| reader.read()).collect();
        assert_eq!(read[..calls.len()], calls);
        assert_eq!(read[calls.len()..], [LoggedCall::Completions(40), LoggedCall::Landings(1)]);
        assert!(reader.is_at_end());
        let sequential = LoggedCall::Submit { since: 0, request: request(SeekwiseOp::Read, 0, 8) };
        let mut short = CallLog::default();
        short.note(&sequential);
        short.note(&LoggedCall::AdvanceToNext);
        assert_eq!(short.finish().0.len(), 5, "a read where the last one ended, and the step to its end");
    }

    #[test]
    fn bytes_that_are_no_calls_are_refused() {
        let none: [&[u8]; 7] = [&[8, 0], &[9], &[2], &[2, 1, 8], &[12, 0, 0], &[5, 0, 1, b'a', 9], &[254]];
        for bytes in none {
            assert_eq!(CallReader::new(bytes).read(), None, "{bytes:?}");
        }
    }

    #[test]
    fn a_changed_bit_changes_the_sum() {
        let bytes: Vec<u8> = (0..21).collect();
        let sum = Digest::of_bytes(&bytes);
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(Digest::of_bytes(&changed), sum);
        }
        assert_ne!(Digest::of_bytes(&[0]), Digest::of_bytes(&[0, 0]));
    }
}
