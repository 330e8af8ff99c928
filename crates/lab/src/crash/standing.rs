//! The data that stand on a medium in place of a lost write: its first byte that differs, and what is there instead.

use std::collections::BTreeMap;

use seekwise_disk::block::SECTOR;
use seekwise_disk::durability::image::LostWrite;
use seekwise_disk::history::History;
use seekwise_formats::excerpt::{ByteDifference, show_bytes};

/// Data in place of a lost write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingData {
    /// The first difference; its offset is that on the disk.
    pub difference: ByteDifference,
    pub state: StandingState,
    /// The file that has the first byte that differs, and the byte's offset in it, if they are known.
    pub file: Option<(String, u64)>,
}

/// The state of the sector with the first difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandingState {
    /// Neither the file system's maker nor the session had written it.
    NeverWritten,
    /// It has earlier data.
    Earlier,
    /// The cut left it unreadable.
    Unreadable,
}

/// The content of a medium.
#[derive(Clone, Debug, Default)]
pub struct MediumSectors<'a> {
    /// Sectors with data; the others are zeroes.
    pub data: BTreeMap<u64, &'a [u8]>,
    /// Runs that were written with zeroes.
    pub zeroed: Vec<(u64, u64)>,
    /// Runs that cannot be read.
    pub torn: Vec<(u64, u64)>,
}

impl StandingData {
    /// Compares the lost parts of a write with the medium; `None` if equal data stand there.
    pub fn find(lost: &LostWrite, history: &History, medium: &MediumSectors<'_>) -> Option<StandingData> {
        let mut found: Option<ByteDifference> = None;
        for &(from, end) in &lost.parts {
            let data = history.data_bytes(lost.write.stamp, lost.write.run.0, from, end - from);
            let mut stands = vec![0; data.len()];
            for (sector, bytes) in medium.data.range(from..end) {
                let at = ((sector - from) * SECTOR) as usize;
                stands[at..at + bytes.len()].copy_from_slice(bytes);
            }
            let difference = ByteDifference::find(from * SECTOR, &stands, &data);
            found = match (found, difference) {
                (Some(first), Some(next)) => Some(ByteDifference { count: first.count + next.count, ..first }),
                (first, next) => first.or(next),
            };
        }
        let difference = found?;
        let sector = difference.offset / SECTOR;
        let is_in = |runs: &[(u64, u64)]| runs.iter().any(|(from, end)| (*from..*end).contains(&sector));
        let state = match () {
            () if is_in(&medium.torn) => StandingState::Unreadable,
            () if medium.data.contains_key(&sector) || is_in(&medium.zeroed) => StandingState::Earlier,
            () => StandingState::NeverWritten,
        };
        Some(StandingData { difference, state, file: None })
    }

    /// In words, for a line below that of the write.
    pub fn words(&self) -> String {
        let ByteDifference { offset, count, stands, lost } = &self.difference;
        let place = match &self.file {
            Some((file, offset)) => format!("byte {offset} of {file}"),
            None => format!("byte {offset} of the disk"),
        };
        let stands = match self.state {
            StandingState::NeverWritten => "zeroes: nothing was ever written there".to_owned(),
            StandingState::Earlier => show_bytes(stands),
            StandingState::Unreadable => "a sector that cannot be read".to_owned(),
        };
        let bytes = if *count == 1 { "1 byte differs".to_owned() } else { format!("{count} bytes differ") };
        format!("from {place} on ({bytes}): lost {}; in its place {stands}", show_bytes(lost))
    }
}

#[cfg(test)]
mod tests {
    use seekwise_disk::durability::writes::SessionWrite;
    use seekwise_disk::history::WriteData;
    use seekwise_disk::time::Instant;

    use super::*;

    /// A write of four sectors from 100 on, of which these parts are lost, on this medium.
    fn find(parts: &[(u64, u64)], medium: &[(u64, &[u8])], torn: &[(u64, u64)]) -> Option<StandingData> {
        let mut data = vec![b'n'; 2048];
        data[1536..].fill(0);
        let mut history = History::default();
        history.data.insert(7, WriteData::from(data));
        let (taken, far) = (Instant::ZERO, Instant::FAR);
        let write = SessionWrite { stamp: 7, run: (100, 104), taken, over: far, durable: far };
        let medium =
            MediumSectors { data: medium.iter().copied().collect(), zeroed: vec![(110, 120)], torn: torn.to_vec() };
        StandingData::find(&LostWrite { write, parts: parts.to_vec() }, &history, &medium)
    }

    #[test]
    fn the_first_byte_that_differs_is_named_with_what_stands_there() {
        let mut half = [b'n'; 512];
        half[500..].copy_from_slice(b"old contents");
        let found = find(&[(100, 104)], &[(100, &half), (101, &[b'n'; 512])], &[]).unwrap();
        // Twelve bytes, less one that is an n, and a sector that nobody wrote.
        assert_eq!((found.difference.offset, found.state), (100 * 512 + 500, StandingState::Earlier));
        let words = "from byte 51700 of the disk on (522 bytes differ): lost \"nnnnnnnnnnnnnnnn\"; in its place \"old contentsnnnn\"";
        assert_eq!(found.words(), words);
        let found = find(&[(101, 102), (103, 104)], &[], &[]).unwrap();
        assert!(found.state == StandingState::NeverWritten && found.difference.count == 512, "{found:?}");
        let found = StandingData { file: Some(("/log".to_owned(), 9)), ..found };
        let words = "from byte 9 of /log on (512 bytes differ): lost \"nnnnnnnnnnnnnnnn\"; in its place zeroes: nothing was ever written there";
        assert_eq!(found.words(), words);
        let found = find(&[(102, 103)], &[(102, &[0xBD; 512])], &[(102, 103)]).unwrap();
        assert!(found.words().ends_with("in its place a sector that cannot be read"), "{found:?}");
    }

    #[test]
    fn equal_data_are_no_difference() {
        assert_eq!(find(&[(103, 104)], &[], &[]), None);
        assert_eq!(find(&[(100, 101)], &[(100, &[b'n'; 512])], &[]), None);
    }
}
