//! Directories of FAT32: entries of 32 bytes, unsorted, at the first place with room. The tables are in `fat32`.

use super::super::contents::VolumeContents;
use super::super::refusal::VolumeError;
use super::super::tree::{FileId, FileName};
use super::{ENTRY, Fat32};

/// Letters of a long name in an entry.
const LETTERS: u64 = 13;
/// A directory has at most 65,536 entries (specification: 2^21 bytes).
const DIRECTORY: u64 = 1 << 21;

/// Entries that a name takes: one, and for a long name one more for each 13 letters.
fn name_entries(name: FileName) -> u64 {
    if name.long { 1 + u64::from(name.letters).div_ceil(LETTERS) } else { 1 }
}

impl Fat32 {
    /// Gives a directory one more cluster, all zero. The place where files are allocated next stays (inferred).
    pub(super) fn enlarge_directory(
        &mut self,
        contents: &mut VolumeContents,
        directory: FileId,
        number: u64,
    ) -> Result<(), VolumeError> {
        let node = contents.tree.get(directory);
        let (have, last) = (node.cluster_count() * contents.cluster_bytes(), node.runs.last().copied());
        if have >= DIRECTORY {
            return Err(VolumeError::DirectoryFull);
        }
        let hint = last.map_or(self.next, |run| run.start + run.len);
        let start = contents.space.next_fit(hint, 1).ok_or(VolumeError::Full)?;
        contents.give_clusters(directory, start, 1);
        if let Some(run) = last {
            self.touch_entries(contents, run.start + run.len - 1, 1, number);
        }
        self.touch_entries(contents, start, 1, number);
        contents.touch_directory(directory, have, contents.cluster_bytes(), number);
        contents.mark_known(directory);
        let slots = self.slots.get_mut(&directory).expect("a directory has slots");
        slots.release_clusters(have / ENTRY, contents.cluster_bytes() / ENTRY);
        Ok(())
    }

    /// Adds an entry to its directory, at the first place with room.
    pub(super) fn add_entry(
        &mut self,
        contents: &mut VolumeContents,
        file: FileId,
        number: u64,
    ) -> Result<(), VolumeError> {
        let node = contents.tree.get(file);
        let (directory, count) = (node.directory.expect("not the root"), name_entries(node.name));
        let at = loop {
            match self.slots[&directory].next_fit(0, count) {
                Some(at) => break at,
                None => self.enlarge_directory(contents, directory, number)?,
            }
        };
        self.slots.get_mut(&directory).expect("a directory has slots").take_clusters(at, count);
        contents.tree.get_mut(file).entry = (at * ENTRY, (count * ENTRY) as u32);
        contents.tree.get_mut(directory).entries += 1;
        contents.touch_directory(directory, at * ENTRY, count * ENTRY, number);
        contents.note_entry(file, true);
        Ok(())
    }

    /// Removes the entry.
    pub(super) fn remove_entry(&mut self, contents: &mut VolumeContents, file: FileId, number: u64) {
        let node = contents.tree.get(file);
        let (directory, (at, bytes)) = (node.directory.expect("not the root"), node.entry);
        contents.touch_directory(directory, at, u64::from(bytes), number);
        contents.note_entry(file, false);
        contents.tree.get_mut(directory).entries -= 1;
        let slots = self.slots.get_mut(&directory).expect("a directory has slots");
        slots.release_clusters(at / ENTRY, u64::from(bytes) / ENTRY);
    }

    /// Changes the entry of a file in place: length, times, first cluster.
    pub(super) fn touch_entry(&self, contents: &mut VolumeContents, file: FileId, number: u64) {
        let node = contents.tree.get(file);
        if let Some(directory) = node.directory {
            let (at, bytes) = (node.entry.0 + u64::from(node.entry.1) - ENTRY, ENTRY);
            contents.touch_directory(directory, at, bytes, number);
        }
    }
}
