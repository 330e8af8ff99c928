//! Directories of NTFS: entries are in the directory's record until that is full, then in index buffers of 4 KiB.
//! Records are in `ntfs`.

use super::super::change::PageFact;
use super::super::contents::VolumeContents;
use super::super::plan::{IoPlan, SectorRole};
use super::super::refusal::VolumeError;
use super::super::tree::{DirectoryEntry, FileId, FileName};
use super::{FILE_NAME, Ntfs, free_record_bytes, round_up_to_eight};

/// Bytes for entries in an index buffer of 4 KiB: all but the 88 of header and sequence array, and the 16 of the last
/// entry.
const BUFFER: u64 = 4096 - 88 - 16;
/// Bytes of entries in an average buffer: two thirds (inferred: a half after ascending names, ln 2 after random ones,
/// all after a compaction).
const FILLED: u64 = BUFFER * 2 / 3;
/// Bytes in an index entry's header.
const INDEX_ENTRY: u64 = 16;
/// Bytes in `$INDEX_ROOT` without entries.
const INDEX_ROOT: u64 = 64;

/// Bytes of a name's entries in an index: its own, and that of its short name.
fn entry_bytes(name: FileName) -> u64 {
    let entry = |letters: u64| round_up_to_eight(INDEX_ENTRY + FILE_NAME + 2 * letters);
    entry(u64::from(name.letters)) + if name.long { entry(12) } else { 0 }
}

impl Ntfs {
    /// The first sector of the page that lists a file: in its directory's index, or the page of the directory's record
    /// while all entries fit there.
    pub(super) fn index_or_record_page_lba(&self, contents: &VolumeContents, file: FileId) -> u64 {
        let node = contents.tree.get(file);
        let directory = node.directory.expect("not the root");
        if contents.tree.get(directory).runs.is_empty() {
            return self.record_page_lba(contents.tree.get(directory).record);
        }
        contents.page_lba(directory, node.entry.from)
    }

    /// Marks the page that lists a file as dirty: in its directory's index, or that of the directory's record.
    pub(super) fn mark_index_or_record_page_dirty(&self, contents: &mut VolumeContents, file: FileId, change: u64) {
        let node = contents.tree.get(file);
        let (directory, at) = (node.directory.expect("not the root"), node.entry.from);
        if contents.tree.get(directory).runs.is_empty() {
            self.mark_record_dirty(contents, contents.tree.get(directory).record, change);
        } else {
            contents.mark_directory_dirty(directory, at, 4096, change);
        }
    }

    /// Gives a directory one more index buffer.
    pub(super) fn enlarge_directory(
        &mut self,
        contents: &mut VolumeContents,
        directory: FileId,
        change: u64,
    ) -> Result<(), VolumeError> {
        let want = contents.clusters_for(4096);
        let end = contents.tree.get(directory).runs.last().map(|run| run.start + run.len);
        let at = end.filter(|&end| contents.space.free_len_at(end) >= want).or_else(|| contents.space.best_fit(want));
        let (start, had) = (at.ok_or(VolumeError::Full)?, contents.tree.get(directory).cluster_count());
        contents.assign_clusters(directory, start, want);
        self.mark_cluster_bits_dirty(contents, start, want, change);
        contents.mark_directory_dirty(directory, had * contents.cluster_bytes(), 4096, change);
        if had == 0 {
            contents.mark_directory_known(directory);
        }
        self.mark_record_dirty(contents, contents.tree.get(directory).record, change);
        self.log.append_records(4, 8 * 2 + 16 * 2 + 4096, change);
        Ok(())
    }

    /// Adds the entry of a file to its directory. Names are assumed to ascend, as when folders are copied, so the entry
    /// goes to the last buffer.
    pub(super) fn add_entry(
        &mut self,
        contents: &mut VolumeContents,
        file: FileId,
        change: u64,
    ) -> Result<(), VolumeError> {
        let node = contents.tree.get(file);
        let (directory, bytes) = (node.directory.expect("not the root"), entry_bytes(node.name));
        let parent = contents.tree.get(directory);
        let used_bytes = parent.used_bytes + bytes;
        let in_record =
            parent.runs.is_empty() && used_bytes <= free_record_bytes(parent.name).saturating_sub(INDEX_ROOT);
        let buffer = if in_record { 0 } else { used_bytes / FILLED };
        let have = parent.cluster_count() * contents.cluster_bytes() / 4096;
        if !in_record && buffer >= have {
            self.enlarge_directory(contents, directory, change)?;
        }
        contents.tree.get_mut(file).entry = DirectoryEntry { from: buffer * 4096, bytes: 1 };
        let parent = contents.tree.get_mut(directory);
        (parent.used_bytes, parent.entries) = (used_bytes, parent.entries + 1);
        let record = parent.record;
        self.mark_index_or_record_page_dirty(contents, file, change);
        self.mark_record_dirty(contents, record, change);
        // AddIndexEntry of each name; the directory's times before and after.
        self.log.append_records(2, bytes + 2 * 56, change);
        contents.changes.record_fact(
            self.index_or_record_page_lba(contents, file),
            contents.page_sectors(),
            file,
            PageFact::Listed(directory),
        );
        Ok(())
    }

    /// Removes the entry of a file.
    pub(super) fn remove_entry(&mut self, contents: &mut VolumeContents, file: FileId, change: u64) {
        let node = contents.tree.get(file);
        let (directory, bytes) = (node.directory.expect("not the root"), entry_bytes(node.name));
        self.mark_index_or_record_page_dirty(contents, file, change);
        contents.changes.record_fact(
            self.index_or_record_page_lba(contents, file),
            contents.page_sectors(),
            file,
            PageFact::Unlisted(directory),
        );
        let parent = contents.tree.get_mut(directory);
        parent.entries -= 1;
        parent.used_bytes -= bytes;
        let record = parent.record;
        self.mark_record_dirty(contents, record, change);
        self.log.append_records(2, bytes + 2 * 56, change);
    }

    /// Reads a directory's index down to the buffer at byte `leaf`: the root in the directory's record, and one more
    /// level if there are over six buffers, because about six separators fit in a record.
    pub(super) fn read_index_path(
        &self,
        contents: &mut VolumeContents,
        directory: FileId,
        leaf: u64,
        plan: &mut IoPlan,
    ) {
        if contents.pages.is_laying_out() {
            return;
        }
        self.read_record(contents, contents.tree.get(directory).record, plan);
        plan.begin_phase();
        let bytes = contents.tree.get(directory).cluster_count() * contents.cluster_bytes();
        let top = (bytes > 6 * 4096).then_some(0);
        for at in top.into_iter().chain((leaf < bytes).then_some(leaf)) {
            for page in contents.page_lbas(directory, at, 4096) {
                contents.pages.read_unless_known(page, contents.page_sectors(), SectorRole::Directory(directory), plan);
            }
            plan.begin_phase();
        }
    }

    /// Reads a directory's index down to the buffer in which a new name will be.
    pub(super) fn read_insertion_path(&self, contents: &mut VolumeContents, directory: FileId, plan: &mut IoPlan) {
        self.read_index_path(contents, directory, contents.tree.get(directory).used_bytes / FILLED * 4096, plan);
    }
}
