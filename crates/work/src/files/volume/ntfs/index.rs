//! Directories of NTFS: entries are in the directory's record until it is full, then in index buffers of 4 KiB. Records
//! are in `ntfs`.

use super::super::change::PageFact;
use super::super::contents::VolumeContents;
use super::super::plan::{IoPlan, SectorRole};
use super::super::refusal::VolumeError;
use super::super::tree::{FileId, FileName};
use super::{FILE_NAME, Ntfs, record_room, round_up_to_eight};

/// Bytes for entries in an index buffer of 4 KiB: header and sequence array take 88, the last entry 16.
const BUFFER: u64 = 4096 - 88 - 16;
/// Two thirds of a buffer are used (inferred: a half by ascending names, ln 2 by random ones, all after a compaction).
const FILLED: u64 = BUFFER * 2 / 3;
/// Bytes in an index entry's header, and in `$INDEX_ROOT` without entries.
const INDEX_ENTRY: u64 = 16;
const INDEX_ROOT: u64 = 64;

/// Bytes of a name's entries in an index: its own, and that of its short name.
fn entry_bytes(name: FileName) -> u64 {
    let entry = |letters: u64| round_up_to_eight(INDEX_ENTRY + FILE_NAME + 2 * letters);
    entry(u64::from(name.letters)) + if name.long { entry(12) } else { 0 }
}

impl Ntfs {
    /// The page that lists a file: in its directory's index, or the directory's record while all entries fit there.
    pub(super) fn entry_page(&self, contents: &VolumeContents, file: FileId) -> u64 {
        let node = contents.tree.get(file);
        let directory = node.directory.expect("not the root");
        if contents.tree.get(directory).runs.is_empty() {
            return self.record_page(contents.tree.get(directory).record);
        }
        contents.page_at(directory, node.entry.0)
    }

    pub(super) fn touch_entry_page(&self, contents: &mut VolumeContents, file: FileId, number: u64) {
        let node = contents.tree.get(file);
        let (directory, at) = (node.directory.expect("not the root"), node.entry.0);
        if contents.tree.get(directory).runs.is_empty() {
            self.touch_record(contents, contents.tree.get(directory).record, number);
        } else {
            contents.touch_directory(directory, at, 4096, number);
        }
    }

    /// Gives a directory one more index buffer.
    pub(super) fn enlarge_directory(
        &mut self,
        contents: &mut VolumeContents,
        directory: FileId,
        number: u64,
    ) -> Result<(), VolumeError> {
        let want = contents.clusters_for(4096);
        let end = contents.tree.get(directory).runs.last().map(|run| run.start + run.len);
        let at = end.filter(|&end| contents.space.free_at(end) >= want).or_else(|| contents.space.best_fit(want));
        let (start, had) = (at.ok_or(VolumeError::Full)?, contents.tree.get(directory).cluster_count());
        contents.give_clusters(directory, start, want);
        self.touch_clusters(contents, start, want, number);
        contents.touch_directory(directory, had * contents.cluster_bytes(), 4096, number);
        if had == 0 {
            contents.mark_known(directory);
        }
        self.touch_record(contents, contents.tree.get(directory).record, number);
        self.log.append_records(4, 8 * 2 + 16 * 2 + 4096, number);
        Ok(())
    }

    /// Adds a file to its directory. Names are assumed to ascend, as when folders are copied: an entry goes to the last
    /// buffer.
    pub(super) fn add_entry(
        &mut self,
        contents: &mut VolumeContents,
        file: FileId,
        number: u64,
    ) -> Result<(), VolumeError> {
        let node = contents.tree.get(file);
        let (directory, bytes) = (node.directory.expect("not the root"), entry_bytes(node.name));
        let parent = contents.tree.get(directory);
        let filled = parent.filled + bytes;
        let in_record = parent.runs.is_empty() && filled <= record_room(parent.name).saturating_sub(INDEX_ROOT);
        let buffer = if in_record { 0 } else { filled / FILLED };
        let have = parent.cluster_count() * contents.cluster_bytes() / 4096;
        if !in_record && buffer >= have {
            self.enlarge_directory(contents, directory, number)?;
        }
        contents.tree.get_mut(file).entry = (buffer * 4096, 1);
        let parent = contents.tree.get_mut(directory);
        (parent.filled, parent.entries) = (filled, parent.entries + 1);
        let record = parent.record;
        self.touch_entry_page(contents, file, number);
        self.touch_record(contents, record, number);
        // AddIndexEntry of each name; the directory's times before and after.
        self.log.append_records(2, bytes + 2 * 56, number);
        contents.changes.note_fact(
            (self.entry_page(contents, file), contents.page_sectors()),
            file,
            PageFact::Listed(directory),
        );
        Ok(())
    }

    pub(super) fn remove_entry(&mut self, contents: &mut VolumeContents, file: FileId, number: u64) {
        let node = contents.tree.get(file);
        let (directory, bytes) = (node.directory.expect("not the root"), entry_bytes(node.name));
        self.touch_entry_page(contents, file, number);
        contents.changes.note_fact(
            (self.entry_page(contents, file), contents.page_sectors()),
            file,
            PageFact::Unlisted(directory),
        );
        let parent = contents.tree.get_mut(directory);
        parent.entries -= 1;
        parent.filled -= bytes;
        let record = parent.record;
        self.touch_record(contents, record, number);
        self.log.append_records(2, bytes + 2 * 56, number);
    }

    /// Reads a directory's index down to the buffer at byte `leaf`: root in its record, one level more above six
    /// buffers (about as many separators fit in a record).
    pub(super) fn read_index_path(
        &self,
        contents: &mut VolumeContents,
        directory: FileId,
        leaf: u64,
        plan: &mut IoPlan,
    ) {
        if contents.pages.is_laying() {
            return;
        }
        self.read_record(contents, contents.tree.get(directory).record, plan);
        plan.begin_phase();
        let bytes = contents.tree.get(directory).cluster_count() * contents.cluster_bytes();
        let top = (bytes > 6 * 4096).then_some(0);
        for at in top.into_iter().chain((leaf < bytes).then_some(leaf)) {
            for page in contents.pages_at(directory, at, 4096) {
                contents.pages.read_page(page, contents.page_sectors(), SectorRole::Directory(directory), plan);
            }
            plan.begin_phase();
        }
    }

    /// Looks for a new name: reads the page on which it will stand.
    pub(super) fn read_insertion_path(&self, contents: &mut VolumeContents, directory: FileId, plan: &mut IoPlan) {
        self.read_index_path(contents, directory, contents.tree.get(directory).filled / FILLED * 4096, plan);
    }
}
