//! Metadata as the journal has committed them. A mount of ext4 finds the metadata of the last transaction that is on
//! the medium as a whole, together with all before it: never less, and never a part of one. So the names, lengths and places
//! after a power cut are those of all changes up to that transaction's last.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;

/// Bytes `from..to` of a file, from sector `lba` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlacedBytes {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) lba: u64,
    /// The part of the file that they belong to.
    pub(crate) part: u32,
}

impl PlacedBytes {
    /// True if they are of this part, and lie in this sector.
    fn holds(&self, part: u32, sector: u64) -> bool {
        self.part == part && (self.lba..self.lba + (self.to - self.from) / 512).contains(&sector)
    }
}

/// A change of a file's metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fact {
    /// A directory lists the file under a name.
    Listed {
        directory: u32,
        name: String,
        is_directory: bool,
    },
    /// A directory does not list it.
    Unlisted(u32),
    Removed,
    Sized(u64),
    Placed(PlacedBytes),
    /// Bytes from `from` on have no place: the cut of the file with this number.
    Cut {
        from: u64,
        number: u32,
    },
}

/// A file as the journal has committed it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommittedFile {
    /// Its directory and name.
    pub(crate) place: Option<(u32, String)>,
    pub(crate) is_directory: bool,
    pub(crate) len: u64,
    /// In order of bytes.
    pub(crate) runs: Vec<PlacedBytes>,
}

impl CommittedFile {
    fn apply(&mut self, fact: Fact) {
        match fact {
            Fact::Listed { directory, name, is_directory } => {
                (self.place, self.is_directory) = (Some((directory, name)), is_directory);
            }
            Fact::Unlisted(directory) if self.place.as_ref().is_some_and(|place| place.0 == directory) => {
                self.place = None;
            }
            Fact::Unlisted(_) | Fact::Removed => {}
            Fact::Sized(len) => self.len = len,
            Fact::Placed(placed) => self.place_bytes(placed),
            Fact::Cut { from, .. } => self.cut_places(from),
        }
    }

    fn cut_places(&mut self, from: u64) {
        self.runs.retain(|run| run.from < from);
        if let Some(last) = self.runs.last_mut() {
            last.to = last.to.min(from);
        }
    }

    /// Places bytes; all later ones lose their places, for the volume reports them again.
    fn place_bytes(&mut self, placed: PlacedBytes) {
        self.cut_places(placed.from);
        if let Some(last) = self.runs.last_mut() {
            let follows = last.to == placed.from && last.lba + (last.to - last.from) / 512 == placed.lba;
            if follows && last.part == placed.part {
                last.to = placed.to;
                return;
            }
        }
        self.runs.push(placed);
    }
}

/// Changes in order, and the state that is committed.
#[derive(Debug, Default)]
pub(crate) struct History {
    committed: BTreeMap<u32, CommittedFile>,
    /// Changes that are not committed: number, file.
    pending: VecDeque<(u64, u32, Fact)>,
}

impl History {
    /// Adds a file from before the mount.
    pub(crate) fn add_committed(&mut self, file: u32, committed: CommittedFile) {
        self.committed.insert(file, committed);
    }

    /// Adds a change; numbers do not fall.
    pub(crate) fn add(&mut self, number: u64, file: u32, fact: Fact) {
        self.pending.push_back((number, file, fact));
    }

    /// Commits the changes up to this number; returns the files that are removed (`None`), or cut with the number of the cut.
    pub(crate) fn commit(&mut self, number: u64) -> Vec<(u32, Option<u32>)> {
        let mut freed = Vec::new();
        while self.pending.front().is_some_and(|change| change.0 <= number) {
            let Some((_, file, fact)) = self.pending.pop_front() else { break };
            match fact {
                Fact::Removed => {
                    self.committed.remove(&file);
                    freed.push((file, None));
                    continue;
                }
                Fact::Cut { number, .. } => freed.push((file, Some(number))),
                _ => {}
            }
            self.committed.entry(file).or_default().apply(fact);
        }
        freed
    }

    /// True if a part of a file has its place in the block of the drive that begins with this sector, or will have it by a change
    /// that is not committed.
    pub(crate) fn has_place_in(&self, file: u32, part: u32, sector: u64) -> bool {
        let is_pending = |change: &(u64, u32, Fact)| match &change.2 {
            Fact::Placed(run) => change.1 == file && run.holds(part, sector),
            _ => false,
        };
        let committed =
            self.committed.get(&file).is_some_and(|file| file.runs.iter().any(|run| run.holds(part, sector)));
        committed || self.pending.iter().any(is_pending)
    }

    /// The committed files by number.
    pub(crate) fn committed(&self) -> &BTreeMap<u32, CommittedFile> {
        &self.committed
    }

    /// The committed files and directories that a directory of the tree lists, each after its directory, with its path.
    pub(crate) fn listed(&self) -> Vec<(u32, String)> {
        let mut children: BTreeMap<u32, Vec<(&str, u32)>> = BTreeMap::new();
        for (&file, committed) in &self.committed {
            if let Some((directory, name)) = &committed.place {
                children.entry(*directory).or_default().push((name, file));
            }
        }
        let (mut listed, mut open) = (Vec::new(), VecDeque::from([(0, String::new())]));
        while let Some((directory, path)) = open.pop_front() {
            let mut entries = children.remove(&directory).unwrap_or_default();
            entries.sort_unstable();
            for (name, file) in entries {
                let path = alloc::format!("{path}/{name}");
                open.push_back((file, path.clone()));
                listed.push((file, path));
            }
        }
        listed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_committed_changes_count() {
        let mut history = History::default();
        let listed = |directory, name: &str| Fact::Listed { directory, name: name.into(), is_directory: false };
        history.add(1, 7, listed(0, "old"));
        history.add(2, 7, Fact::Sized(10));
        history.add(3, 7, Fact::Unlisted(0));
        history.add(3, 7, listed(0, "new"));
        history.add(4, 7, Fact::Removed);
        for (number, names) in [(1, "/old"), (2, "/old"), (3, "/new")] {
            assert_eq!(history.commit(number), []);
            assert_eq!(history.listed(), [(7, String::from(names))]);
        }
        assert_eq!(history.committed()[&7].len, 10);
        assert_eq!((history.commit(4), history.listed().len()), (alloc::vec![(7, None)], 0));
    }

    #[test]
    fn a_block_has_a_place_until_it_is_cut_off_and_once_it_is_placed_again() {
        let mut history = History::default();
        let placed = |part| Fact::Placed(PlacedBytes { from: 0, to: 4096, lba: 80, part });
        history.add(1, 7, placed(0));
        history.add(2, 7, Fact::Cut { from: 0, number: 1 });
        history.add(3, 7, placed(1));
        assert_eq!((history.commit(1), history.has_place_in(7, 0, 87)), (alloc::vec![], true));
        assert_eq!(history.commit(2), alloc::vec![(7, Some(1))]);
        assert_eq!(
            [(7, 0), (7, 1), (8, 1)].map(|(file, part)| history.has_place_in(file, part, 80)),
            [false, true, false]
        );
    }

    #[test]
    fn places_that_are_reported_again_replace_the_later_ones() {
        let mut file = CommittedFile::default();
        let placed = |from, to, lba| PlacedBytes { from, to, lba, part: 0 };
        for run in [placed(0, 4096, 80), placed(4096, 8192, 88), placed(8192, 12288, 800), placed(4096, 8192, 160)] {
            file.apply(Fact::Placed(run));
        }
        assert_eq!(file.runs, [placed(0, 4096, 80), placed(4096, 8192, 160)]);
        file.apply(Fact::Cut { from: 4096, number: 1 });
        let after_cut = PlacedBytes { part: 1, ..placed(4096, 8192, 88) };
        file.apply(Fact::Placed(after_cut));
        assert_eq!(file.runs, [placed(0, 4096, 80), after_cut]);
    }
}
