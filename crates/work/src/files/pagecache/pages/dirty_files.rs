//! The files to write back, in order, and the number of write-backs of each in flight. Pages are in `pages`.
//!
//! Windows' lazy writer has one write-back of a file in flight. Linux's flusher submits a chunk of a file and goes on
//! without waiting for it (`write_cache_pages` of mm/page-writeback.c, `writeback_sb_inodes` of fs/fs-writeback.c), so a
//! file may have as many in flight as the queue takes.

use alloc::vec::Vec;

use seekwise_disk::time::Instant;

use super::{DirtyRun, PageCache, has_pages_of};
use crate::files::call::File;

/// A file with pages that are dirty or being written back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirtyFile {
    /// When it became dirty.
    pub since: Instant,
    /// Write-back continues at this page.
    pub resume: u64,
    /// Number of its write-backs in flight.
    pub in_flight: u32,
    /// The number of its place in the queue; 0 if it has none.
    place: u64,
    /// The run has been dirty for so long that it is written back.
    pub expired: bool,
}

impl DirtyFile {
    /// A file that becomes dirty at `now`; it has no place in the queue.
    pub(super) fn new(now: Instant) -> DirtyFile {
        DirtyFile { since: now, resume: 0, in_flight: 0, place: 0, expired: false }
    }
}

impl PageCache {
    /// Returns the next file to write back that `accepts` accepts, and counts a write-back of it. The caller takes its
    /// pages and then calls [`PageCache::continue_later`].
    pub(crate) fn take_next_dirty_file(&mut self, accepts: impl Fn(&DirtyFile) -> bool) -> Option<(File, DirtyFile)> {
        let mut at = 0;
        while let Some(&(file, place)) = self.queue.get(at) {
            match self.files.get_mut(&file).filter(|dirty| dirty.place == place) {
                Some(dirty) if accepts(dirty) => {
                    dirty.place = 0;
                    dirty.in_flight += 1;
                    self.queue.remove(at);
                    return Some((file, *dirty));
                }
                Some(_) => at += 1,
                None => drop(self.queue.remove(at)),
            }
        }
        None
    }

    /// Begins write-back of up to `pages` dirty pages of a file from page `from` on. Appends the runs to `out`.
    pub(crate) fn begin_write_back(&mut self, file: File, from: u64, pages: u64, out: &mut Vec<DirtyRun>) {
        if let Some(dirty) = self.files.get_mut(&file) {
            dirty.in_flight += 1;
        }
        self.take_dirty_runs(file, from, pages, out);
    }

    /// Lets write-back of `file` continue at page `resume`, after the other files or when those in flight have ended.
    pub(crate) fn continue_later(&mut self, file: File, resume: u64) {
        if let Some(dirty) = self.files.get_mut(&file) {
            dirty.resume = resume;
        }
        self.queue_if_due(file);
    }

    /// Ends a write-back of `file`.
    pub(crate) fn end_write_back(&mut self, file: File) {
        if let Some(dirty) = self.files.get_mut(&file) {
            dirty.in_flight -= 1;
        }
        self.queue_if_due(file);
        self.clear_dirty_mark(file);
    }

    /// Queues a dirty file that is not queued, if it may have another write-back in flight.
    pub(super) fn queue_if_due(&mut self, file: File) {
        let may_queue = |dirty: &&mut DirtyFile| dirty.place == 0 && (self.overlaps || dirty.in_flight == 0);
        if let Some(dirty) = self.files.get_mut(&file).filter(may_queue)
            && has_pages_of(&self.dirty, file)
        {
            self.places += 1;
            dirty.place = self.places;
            self.queue.push_back((file, self.places));
        }
    }

    /// True if write-back of the file is in flight.
    pub(crate) fn is_being_written_back(&self, file: File) -> bool {
        self.files.get(&file).is_some_and(|dirty| dirty.in_flight > 0)
    }

    /// Removes the file's dirty mark unless it has dirty pages or write-back in flight.
    pub(crate) fn clear_dirty_mark(&mut self, file: File) {
        if !self.is_being_written_back(file) && !self.has_dirty_pages(file) {
            self.files.remove(&file);
        }
    }

    /// Marks files that have been dirty since `dirty_since` or longer as expired.
    pub(crate) fn expire_files(&mut self, dirty_since: Instant) {
        self.files.values_mut().for_each(|dirty| dirty.expired |= dirty.since <= dirty_since);
    }

    /// True if some file is expired.
    pub(crate) fn has_expired_files(&self) -> bool {
        self.files.values().any(|dirty| dirty.expired)
    }

    /// Files that are dirty or being written back.
    pub(crate) fn dirty_files(&self) -> impl Iterator<Item = File> + '_ {
        self.files.keys().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::pagecache::{PAGE, PageCacheSpec};
    use crate::files::volume::FileId;

    const A: File = File { volume: 0, id: FileId(7) };
    const B: File = File { volume: 0, id: FileId(8) };

    fn dirty_cache(spec: PageCacheSpec) -> PageCache {
        let mut cache = PageCache::new(&spec);
        cache.mark_pages_dirty(Instant::ZERO, A, 0, 30);
        cache.mark_pages_dirty(Instant::ZERO, B, 0, 10);
        cache
    }

    /// Begins write-back of ten pages: the file and the first page, or none.
    fn take_ten(cache: &mut PageCache) -> Option<(File, u64)> {
        let (file, dirty) = cache.take_next_dirty_file(|_| true)?;
        let mut runs = Vec::new();
        if cache.take_dirty_runs(file, dirty.resume, 10, &mut runs) == 0 {
            cache.take_dirty_runs(file, 0, 10, &mut runs);
        }
        cache.continue_later(file, runs.last()?.end());
        Some((file, runs[0].from))
    }

    #[test]
    fn linux_has_several_write_backs_of_a_file_in_flight_and_windows_one() {
        let mut linux = dirty_cache(PageCacheSpec::linux(100 * PAGE));
        let taken: Vec<_> = core::iter::from_fn(|| take_ten(&mut linux)).collect();
        assert_eq!(taken, [(A, 0), (B, 0), (A, 10), (A, 20)], "after each chunk it is the next file's turn");
        let mut windows = dirty_cache(PageCacheSpec::windows_nt(100 * PAGE));
        assert_eq!([(); 3].map(|()| take_ten(&mut windows)), [Some((A, 0)), Some((B, 0)), None]);
        windows.end_write_back(A);
        assert_eq!([(); 2].map(|()| take_ten(&mut windows)), [Some((A, 10)), None]);
    }

    #[test]
    fn a_file_is_clean_when_its_last_write_back_has_ended() {
        let mut cache = dirty_cache(PageCacheSpec::linux(100 * PAGE));
        while take_ten(&mut cache).is_some() {}
        // Written again while it is in flight, the first page needs another write-back.
        cache.mark_pages_dirty(Instant::ZERO, A, 0, 1);
        assert_eq!(take_ten(&mut cache), Some((A, 0)));
        for (from, is_in_flight) in [(20, true), (0, true), (10, true), (0, false)] {
            cache.mark_written(A, from, from + 10);
            cache.end_write_back(A);
            assert_eq!(cache.is_being_written_back(A), is_in_flight);
        }
        assert_eq!(cache.dirty_files().collect::<Vec<_>>(), [B]);
    }

    #[test]
    fn a_file_that_is_dirty_again_is_queued_once() {
        let mut cache = dirty_cache(PageCacheSpec::linux(100 * PAGE));
        cache.drop_pages(A, 0, 30);
        cache.mark_pages_dirty(Instant::ZERO, A, 0, 10);
        let taken: Vec<_> = core::iter::from_fn(|| take_ten(&mut cache)).collect();
        assert_eq!(taken, [(B, 0), (A, 0)]);
    }
}
