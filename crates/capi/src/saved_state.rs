//! A disk's state as bytes: what it was opened from, its seed, its calls, the digest of its answers, and a sum. Whoever restores it repeats
//! the calls; the digest says whether this build of the model answers as the one that saved.
//!
//! | bytes | what they are |
//! |---|---|
//! | 8 | `SEEKWISE` |
//! | number | the format: `FORMAT` |
//! | text | the version of the library that saved |
//! | number | the kind of source: 0 a drive's name, 1 a stack's text, 2 a profile's text, 3 a profile's and a stack's |
//! | texts | the source |
//! | 8 | the seed |
//! | number, bytes | the length of the calls, and the calls ([`call_log`](crate::call_log)) |
//! | 8 | the digest of the answers |
//! | 8 | the sum of all before |
//!
//! Numbers and texts are those of [`varint`](crate::varint), fixed ones have their lowest byte first. Reading trusts no length.

use std::fmt;

use seekwise_drives::diagnostic::Diagnostic;

use crate::call_log::{Digest, MOST_WORD_BYTES};
use crate::source::DiskSource;
use crate::varint::{ByteReader, push_number, push_text};

/// The most bytes of a stack's or a profile's text.
pub const MOST_TEXT_BYTES: usize = 1 << 20;

/// The version of the library.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

const MAGIC: &[u8; 8] = b"SEEKWISE";
const FORMAT: u64 = 1;

/// The parts of a saved state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedState<'a> {
    /// The version of the library that saved it.
    pub version: &'a str,
    pub source: DiskSource,
    pub seed: u64,
    pub calls: &'a [u8],
    /// The digest of the answers to the calls.
    pub answers: u64,
}

/// Why bytes are not restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateError {
    /// They do not begin as a saved state does.
    Foreign,
    /// A saved state of another format.
    OtherFormat(u64),
    /// Cut short, changed, or a call that no disk takes.
    Damaged,
    /// The drive or the stack cannot be built.
    Source(Vec<Diagnostic>),
    /// The model answers the calls otherwise than that of the version that saved.
    OtherAnswers(String),
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StateError::Foreign => f.write_str("not a disk's saved state; expected the bytes of seekwise_save"),
            StateError::OtherFormat(found) => write!(f, "a saved state of format {found}; expected format {FORMAT}"),
            StateError::Damaged => f.write_str("the saved state is damaged; expected all bytes of seekwise_save"),
            StateError::Source(errors) => {
                f.write_str(&errors.iter().map(Diagnostic::to_string).collect::<Vec<_>>().join("\n"))
            }
            StateError::OtherAnswers(version) => write!(
                f,
                "saved by version {version}, whose model answers otherwise than version {VERSION} here; expected a state that this build saved"
            ),
        }
    }
}

impl SavedState<'_> {
    /// The state as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        push_number(&mut bytes, FORMAT);
        push_text(&mut bytes, self.version);
        let (kind, texts) = match &self.source {
            DiskSource::Drive(name) => (0, vec![name]),
            DiskSource::Stack(stack) => (1, vec![stack]),
            DiskSource::Profile { profile, stack: None } => (2, vec![profile]),
            DiskSource::Profile { profile, stack: Some(stack) } => (3, vec![profile, stack]),
        };
        push_number(&mut bytes, kind);
        texts.into_iter().for_each(|text| push_text(&mut bytes, text));
        bytes.extend(self.seed.to_le_bytes());
        push_number(&mut bytes, self.calls.len() as u64);
        bytes.extend(self.calls);
        bytes.extend(self.answers.to_le_bytes());
        let sum = Digest::of_bytes(&bytes).0;
        bytes.extend(sum.to_le_bytes());
        bytes
    }
}

impl<'a> SavedState<'a> {
    /// Reads a state.
    pub fn parse(bytes: &'a [u8]) -> Result<SavedState<'a>, StateError> {
        let mut reader = ByteReader::new(bytes);
        if reader.read_bytes(MAGIC.len() as u64) != Some(MAGIC) {
            return Err(StateError::Foreign);
        }
        match reader.read_number().ok_or(StateError::Damaged)? {
            FORMAT => {}
            other => return Err(StateError::OtherFormat(other)),
        }
        let (summed, sum) = bytes.split_at(bytes.len() - 8);
        if Digest::of_bytes(summed).0.to_le_bytes() != sum {
            return Err(StateError::Damaged);
        }
        parse_parts(&mut reader).filter(|_| reader.is_at_end()).ok_or(StateError::Damaged)
    }
}

/// Reads the parts after the format.
fn parse_parts<'a>(reader: &mut ByteReader<'a>) -> Option<SavedState<'a>> {
    let version = reader.read_text(64)?;
    let kind = reader.read_number()?;
    let mut read_text = |most_bytes| reader.read_text(most_bytes).map(str::to_owned);
    let source = match kind {
        0 => DiskSource::Drive(read_text(MOST_WORD_BYTES)?),
        1 => DiskSource::Stack(read_text(MOST_TEXT_BYTES)?),
        2 => DiskSource::Profile { profile: read_text(MOST_TEXT_BYTES)?, stack: None },
        3 => DiskSource::Profile { profile: read_text(MOST_TEXT_BYTES)?, stack: Some(read_text(MOST_TEXT_BYTES)?) },
        _ => return None,
    };
    let seed = reader.read_word()?;
    let length = reader.read_number()?;
    let calls = reader.read_bytes(length)?;
    let answers = reader.read_word()?;
    reader.read_word()?;
    Some(SavedState { version, source, seed, calls, answers })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(source: DiskSource) -> SavedState<'static> {
        SavedState { version: VERSION, source, seed: 7, calls: b"calls", answers: 9 }
    }

    #[test]
    fn states_are_read_as_they_were_written() {
        let (profile, stack) = ("p".to_owned(), "s".to_owned());
        for source in [
            DiskSource::Drive("exos-x18".to_owned()),
            DiskSource::Stack(stack.clone()),
            DiskSource::Profile { profile: profile.clone(), stack: None },
            DiskSource::Profile { profile, stack: Some(stack) },
        ] {
            let state = state(source);
            assert_eq!(SavedState::parse(&state.to_bytes()), Ok(state));
        }
    }

    /// Also with a sum that fits, lengths are held against the bytes that there are.
    #[test]
    fn any_changed_or_missing_byte_is_refused() {
        let bytes = state(DiskSource::Drive("exos-x18".to_owned())).to_bytes();
        for length in 0..bytes.len() {
            assert!(SavedState::parse(&bytes[..length]).is_err(), "{length} bytes");
            let mut changed = bytes.clone();
            changed[length] ^= 0x40;
            assert!(SavedState::parse(&changed).is_err(), "byte {length}");
            let summed = bytes.len() - 8;
            changed.truncate(summed);
            changed[length.min(summed - 1)] = 0xff;
            changed.extend(Digest::of_bytes(&changed).0.to_le_bytes());
            let _ = SavedState::parse(&changed);
        }
        assert_eq!(SavedState::parse(b"other bytes"), Err(StateError::Foreign));
        assert_eq!(SavedState::parse(b"SEEKWISE\x02"), Err(StateError::OtherFormat(2)));
        let long = [bytes, vec![0]].concat();
        assert_eq!(SavedState::parse(&long), Err(StateError::Damaged));
    }
}
