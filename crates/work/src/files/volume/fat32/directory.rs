//! Directories of FAT32: entries of 32 bytes, unsorted, each at the first free place. The allocation tables are in
//! `fat32`.

use super::super::contents::VolumeContents;
use super::super::refusal::VolumeError;
use super::super::tree::{DirectoryEntry, FileId, FileName};
use super::{ENTRY, Fat32};

/// Letters of a long name in an entry.
const LETTERS: u64 = 13;
/// Most bytes of a directory: 65,536 entries (specification).
const DIRECTORY: u64 = 1 << 21;

/// Number of entries that a name takes: one, and for a long name one more for each 13 letters.
fn entry_count(name: FileName) -> u64 {
    if name.long { 1 + u64::from(name.letters).div_ceil(LETTERS) } else { 1 }
}

impl Fat32 {
    /// Gives a directory one more cluster, all zero. Files are allocated where they would be without it (inferred).
    pub(super) fn enlarge_directory(
        &mut self,
        contents: &mut VolumeContents,
        directory: FileId,
        change: u64,
    ) -> Result<(), VolumeError> {
        let node = contents.tree.get(directory);
        let (have, last) = (node.cluster_count() * contents.cluster_bytes(), node.runs.last().copied());
        if have >= DIRECTORY {
            return Err(VolumeError::DirectoryFull);
        }
        let hint = last.map_or(self.next, |run| run.start + run.len);
        let start = contents.space.next_fit(hint, 1).ok_or(VolumeError::Full)?;
        contents.assign_clusters(directory, start, 1);
        if let Some(run) = last {
            self.mark_table_entries_dirty(contents, run.start + run.len - 1, 1, change);
        }
        self.mark_table_entries_dirty(contents, start, 1, change);
        contents.mark_directory_dirty(directory, have, contents.cluster_bytes(), change);
        contents.mark_directory_known(directory);
        let slots = self.slots.get_mut(&directory).expect("a directory has slots");
        slots.release_clusters(have / ENTRY, contents.cluster_bytes() / ENTRY);
        Ok(())
    }

    /// Adds the entry of a file to its directory, at the first place with room.
    pub(super) fn add_entry(
        &mut self,
        contents: &mut VolumeContents,
        file: FileId,
        change: u64,
    ) -> Result<(), VolumeError> {
        let node = contents.tree.get(file);
        let (directory, count) = (node.directory.expect("not the root"), entry_count(node.name));
        let at = loop {
            match self.slots[&directory].next_fit(0, count) {
                Some(at) => break at,
                None => self.enlarge_directory(contents, directory, change)?,
            }
        };
        self.slots.get_mut(&directory).expect("a directory has slots").take_clusters(at, count);
        contents.tree.get_mut(file).entry = DirectoryEntry { from: at * ENTRY, bytes: (count * ENTRY) as u32 };
        contents.tree.get_mut(directory).entries += 1;
        contents.mark_directory_dirty(directory, at * ENTRY, count * ENTRY, change);
        contents.record_entry(file, true);
        Ok(())
    }

    /// Removes the entry of a file.
    pub(super) fn remove_entry(&mut self, contents: &mut VolumeContents, file: FileId, change: u64) {
        let node = contents.tree.get(file);
        let (directory, entry) = (node.directory.expect("not the root"), node.entry);
        contents.mark_directory_dirty(directory, entry.from, u64::from(entry.bytes), change);
        contents.record_entry(file, false);
        contents.tree.get_mut(directory).entries -= 1;
        let slots = self.slots.get_mut(&directory).expect("a directory has slots");
        slots.release_clusters(entry.from / ENTRY, u64::from(entry.bytes) / ENTRY);
    }

    /// Marks the page with the length, times and first cluster of a file's entry as dirty.
    pub(super) fn mark_file_entry_dirty(&self, contents: &mut VolumeContents, file: FileId, change: u64) {
        let node = contents.tree.get(file);
        if let Some(directory) = node.directory {
            let (at, bytes) = (node.entry.from + u64::from(node.entry.bytes) - ENTRY, ENTRY);
            contents.mark_directory_dirty(directory, at, bytes, change);
        }
    }
}
