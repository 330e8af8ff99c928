//! The pages of files in memory, in runs: an index by file, an index of each state, and lists by use for eviction.
//! `dirty_files` has the files to write back and their order.

mod dirty_files;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

use seekwise_disk::recency::LruList;
use seekwise_disk::slab::Slab;
use seekwise_disk::time::Instant;

pub use self::dirty_files::DirtyFile;
use super::rules::{PageCacheSpec, WriteBackRule};
use crate::files::call::File;

/// Bytes of a page.
pub const PAGE: u64 = 4096;

/// Fewest pages evicted at a time (Linux: SWAP_CLUSTER_MAX of include/linux/swap.h; assumed for the others).
const MIN_EVICTED: u64 = 32;

/// The state of a run of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PageState {
    /// Clean; with two lists, used once at most.
    Inactive,
    /// Clean; used more than once, with two lists.
    Active,
    /// Newer than the drive.
    Dirty,
    /// Being written back.
    Writing,
}

impl PageState {
    fn is_clean(self) -> bool {
        matches!(self, PageState::Inactive | PageState::Active)
    }
}

/// Contiguous pages of a file in one state.
#[derive(Clone, Copy, Debug)]
struct PageRun {
    file: File,
    /// The first page.
    from: u64,
    pages: u64,
    state: PageState,
    /// Number of pages at its front that were used once.
    used: u64,
}

impl PageRun {
    fn end(&self) -> u64 {
        self.from + self.pages
    }
}

/// Contiguous dirty pages of a file that are written back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirtyRun {
    /// The first page.
    pub from: u64,
    pub pages: u64,
}

impl DirtyRun {
    /// The page after the last.
    pub(crate) fn end(&self) -> u64 {
        self.from + self.pages
    }
}

/// A page of a file as one number, for fast look-up: volume and file in the upper half, the page in the lower.
type Key = u128;

fn page_key(file: File, page: u64) -> Key {
    (u128::from(file.volume) << 32 | u128::from(file.id.0)) << 64 | u128::from(page)
}

/// True if one of the keys is a page of the file.
fn has_pages_of(keys: &BTreeSet<Key>, file: File) -> bool {
    keys.range(page_key(file, 0)..=page_key(file, u64::MAX)).next().is_some()
}

fn page_of_key(key: Key) -> u64 {
    key as u64
}

fn volume_of_key(key: Key) -> u8 {
    (key >> 96) as u8
}

/// The pages of all files.
pub struct PageCache {
    /// In pages.
    capacity: u64,
    two_lists: bool,
    runs: Slab<PageRun>,
    /// All runs, by the key of their first page.
    index: BTreeMap<Key, u32>,
    /// Keys of dirty runs.
    dirty: BTreeSet<Key>,
    /// Keys of runs being written back.
    writing: BTreeSet<Key>,
    /// Clean runs by use: inactive, active.
    lists: [LruList; 2],
    /// Number of pages in each state.
    pages: [u64; 4],
    /// Files that are dirty or being written back.
    files: BTreeMap<File, DirtyFile>,
    /// A file may have several write-backs in flight.
    overlaps: bool,
    /// Files to write back, in order, each with the number of its place; some have another place by now, or none.
    queue: VecDeque<(File, u64)>,
    /// Number of places given so far.
    places: u64,
    /// Memory for lists of runs, reused.
    scratch: Vec<u32>,
    /// The clean run and the other run that changed last, where the next call most often continues.
    recent_runs: [u32; 2],
}

impl PageCache {
    /// Creates an empty cache.
    pub fn new(spec: &PageCacheSpec) -> PageCache {
        PageCache {
            capacity: spec.bytes / PAGE,
            two_lists: spec.two_lists,
            overlaps: matches!(spec.back, WriteBackRule::Flusher { .. }),
            runs: Slab::with_capacity(64),
            index: BTreeMap::new(),
            dirty: BTreeSet::new(),
            writing: BTreeSet::new(),
            lists: [LruList::new(0), LruList::new(0)],
            pages: [0; 4],
            files: BTreeMap::new(),
            queue: VecDeque::new(),
            places: 0,
            scratch: Vec::new(),
            recent_runs: [0; 2],
        }
    }

    /// Number of dirty pages, and of pages being written back.
    pub fn dirty_and_writing_pages(&self) -> (u64, u64) {
        (self.pages[PageState::Dirty as usize], self.pages[PageState::Writing as usize])
    }

    /// Number of pages in memory.
    pub fn resident_pages(&self) -> u64 {
        self.pages.iter().sum()
    }

    /// The run that holds the page, if it is one of those that changed last.
    fn recent_run_with(&self, file: File, page: u64) -> Option<u32> {
        let holds = |run: &PageRun| run.file == file && run.from <= page && page < run.end();
        self.recent_runs.into_iter().find(|&id| id < self.runs.places_ever_used() && holds(&self.runs[id]))
    }

    /// Notes a run as the one that changed last.
    fn remember_recent_run(&mut self, id: u32) {
        self.recent_runs[usize::from(!self.runs[id].state.is_clean())] = id;
    }

    /// The run that holds the page, else the last one of the file before it.
    fn run_at_or_before(&self, file: File, page: u64) -> Option<u32> {
        if let Some(id) = self.recent_run_with(file, page) {
            return Some(id);
        }
        // A range with one bound is found faster than one with two.
        let (&found, &id) = self.index.range(..=page_key(file, page)).next_back()?;
        (found >= page_key(file, 0)).then_some(id)
    }

    /// The first range of pages in `from..to` that are not in memory: its first page and its end.
    pub(crate) fn first_missing_range(&self, file: File, from: u64, to: u64) -> Option<(u64, u64)> {
        let mut at = from;
        if let Some(id) = self.run_at_or_before(file, from) {
            at = at.max(self.runs[id].end());
        }
        for (&start, &id) in self.index.range(page_key(file, at)..) {
            if at >= to || start >= page_key(file, to) {
                break;
            }
            if page_of_key(start) > at {
                return Some((at, page_of_key(start)));
            }
            at = self.runs[id].end();
        }
        (at < to).then_some((at, to))
    }

    /// Inserts pages `from..to` as clean; none of them may be in memory. Evicts others if the cache is full.
    pub fn insert_clean(&mut self, file: File, from: u64, to: u64) {
        match self.run_at_or_before(file, from) {
            Some(left) if self.runs[left].end() == from && self.is_newest_in_list(left, PageState::Inactive) => {
                self.runs[left].pages += to - from;
                self.pages[PageState::Inactive as usize] += to - from;
                self.remember_recent_run(left);
            }
            _ => {
                self.add_run(file, from, to, PageState::Inactive);
            }
        }
        self.evict_to_capacity();
    }

    /// True if the run is in this clean state, and the most recently used one there.
    fn is_newest_in_list(&self, id: u32, state: PageState) -> bool {
        self.runs[id].state == state && self.lists[state as usize].newest() == Some(id as usize)
    }

    /// Stores a run, which is in no index yet; returns its number.
    fn store_run(&mut self, run: PageRun) -> u32 {
        let before = self.runs.places_ever_used();
        let id = self.runs.put(run);
        if self.runs.places_ever_used() > before {
            for list in &mut self.lists {
                list.push_newest();
                list.retire(id as usize);
            }
        }
        id
    }

    /// Adds pages in one state; returns the run that holds them.
    fn add_run(&mut self, file: File, from: u64, to: u64, state: PageState) -> u32 {
        let id = self.store_run(PageRun { file, from, pages: to - from, state, used: 0 });
        self.index.insert(page_key(file, from), id);
        self.pages[state as usize] += to - from;
        self.add_to_state_index(id);
        let id = self.merge_with_previous(id);
        self.remember_recent_run(id);
        id
    }

    /// Adds a run to the index of its state.
    fn add_to_state_index(&mut self, id: u32) {
        let run = self.runs[id];
        match run.state {
            PageState::Inactive | PageState::Active => self.lists[run.state as usize].touch(id as usize),
            PageState::Dirty => {
                self.dirty.insert(page_key(run.file, run.from));
            }
            PageState::Writing => {
                self.writing.insert(page_key(run.file, run.from));
            }
        }
    }

    /// Removes a run from the index of its state.
    fn remove_from_state_index(&mut self, id: u32) {
        let run = self.runs[id];
        match run.state {
            PageState::Inactive | PageState::Active => self.lists[run.state as usize].retire(id as usize),
            PageState::Dirty => {
                self.dirty.remove(&page_key(run.file, run.from));
            }
            PageState::Writing => {
                self.writing.remove(&page_key(run.file, run.from));
            }
        }
    }

    /// Removes a run and its pages.
    fn remove_run(&mut self, id: u32) {
        let run = self.runs[id];
        self.remove_from_state_index(id);
        self.index.remove(&page_key(run.file, run.from));
        self.pages[run.state as usize] -= run.pages;
        self.free_run_slot(id);
    }

    /// Frees the number of a run that is in no index any more.
    fn free_run_slot(&mut self, id: u32) {
        // `recent_runs` may still name the run, so it must hold no page.
        self.runs[id].pages = 0;
        self.runs.free(id);
    }

    /// Merges a run with the one before it if they are contiguous and in one state; clean ones must also be neighbours
    /// in the order of use. Returns the run that holds the pages.
    fn merge_with_previous(&mut self, id: u32) -> u32 {
        let run = self.runs[id];
        let Some(left) = self.index.range(..page_key(run.file, run.from)).next_back().map(|(_, &left)| left) else {
            return id;
        };
        let before = self.runs[left];
        let follows = before.file == run.file && before.end() == run.from && before.state == run.state;
        if !follows {
            return id;
        }
        if run.state.is_clean() && self.lists[run.state as usize].next_older(id as usize) != Some(left as usize) {
            return id;
        }
        self.remove_from_state_index(id);
        self.index.remove(&page_key(run.file, run.from));
        self.free_run_slot(id);
        let grown = &mut self.runs[left];
        if grown.used == grown.pages {
            grown.used += run.used;
        }
        grown.pages += run.pages;
        left
    }

    /// Splits the run that holds `page` into two, the second of which begins with that page.
    fn split_run_at(&mut self, file: File, page: u64) {
        let Some(id) = self.run_at_or_before(file, page) else { return };
        let run = self.runs[id];
        if run.from >= page || run.end() <= page {
            return;
        }
        let first = &mut self.runs[id];
        first.pages = page - run.from;
        first.used = run.used.min(first.pages);
        let (pages, used) = (run.end() - page, run.used - first.used);
        let rest = self.store_run(PageRun { from: page, pages, used, ..run });
        self.index.insert(page_key(file, page), rest);
        self.add_to_state_index(rest);
        if run.state.is_clean() {
            self.lists[run.state as usize].move_after(rest as usize, id as usize);
        }
    }

    /// Splits runs at `from` and `to`, and returns those between, in order. The caller puts the list back into
    /// `scratch`.
    fn isolate_runs(&mut self, file: File, from: u64, to: u64) -> Vec<u32> {
        self.split_run_at(file, from);
        self.split_run_at(file, to);
        let mut isolated = core::mem::take(&mut self.scratch);
        isolated.clear();
        isolated.extend(self.index.range(page_key(file, from)..page_key(file, to)).map(|(_, &id)| id));
        isolated
    }

    /// Moves a run to another state, where it is the most recently used.
    fn change_state(&mut self, id: u32, state: PageState) {
        self.remove_from_state_index(id);
        let run = &mut self.runs[id];
        self.pages[run.state as usize] -= run.pages;
        self.pages[state as usize] += run.pages;
        (run.state, run.used) = (state, 0);
        self.add_to_state_index(id);
    }

    /// Records that pages were used, all of which must be in memory.
    ///
    /// With one list, clean pages become the most recently used. With two lists, as in Linux's `mark_page_accessed`,
    /// the first use is only noted, and the second makes them active.
    pub(crate) fn record_use(&mut self, file: File, from: u64, to: u64) {
        if self.try_record_use_in_place(file, from, to) {
            return;
        }
        let isolated = self.isolate_runs(file, from, to);
        for &id in &isolated {
            let run = self.runs[id];
            match run.state {
                PageState::Dirty | PageState::Writing => {}
                PageState::Inactive if self.two_lists => self.activate_used(id),
                PageState::Inactive | PageState::Active => {
                    self.lists[run.state as usize].touch(id as usize);
                    self.merge_with_previous(id);
                }
            }
        }
        self.scratch = isolated;
    }

    /// Records the use if that moves no run; true if it is recorded.
    fn try_record_use_in_place(&mut self, file: File, from: u64, to: u64) -> bool {
        let Some(id) = self.run_at_or_before(file, from) else { return false };
        let state = self.runs[id].state;
        let newest = state.is_clean() && self.is_newest_in_list(id, state);
        self.remember_recent_run(id);
        let run = &mut self.runs[id];
        if run.end() < to {
            return false;
        }
        match run.state {
            PageState::Dirty | PageState::Writing => true,
            PageState::Inactive if self.two_lists => {
                let next = from == run.from + run.used;
                if next {
                    run.used = to - run.from;
                }
                next
            }
            PageState::Inactive | PageState::Active => newest,
        }
    }

    /// Makes the pages of an inactive run that were used before active, and marks the others as used.
    fn activate_used(&mut self, id: u32) {
        let run = self.runs[id];
        if run.used > 0 {
            self.split_run_at(run.file, run.from + run.used);
            self.change_state(id, PageState::Active);
            self.merge_with_previous(id);
        }
        if run.used < run.pages {
            let rest = self.index[&page_key(run.file, run.from + run.used)];
            self.runs[rest].used = self.runs[rest].pages;
            self.merge_with_previous(rest);
        }
    }

    /// Makes pages `from..to` dirty, as a program's write does. Evicts others if the cache is full.
    pub fn mark_pages_dirty(&mut self, now: Instant, file: File, from: u64, to: u64) {
        if self.try_extend_dirty_run(file, from, to) {
            return;
        }
        self.files.entry(file).or_insert(DirtyFile::new(now));
        let isolated = self.isolate_runs(file, from, to);
        isolated.iter().for_each(|&id| self.remove_run(id));
        self.scratch = isolated;
        self.add_run(file, from, to, PageState::Dirty);
        if let Some(&right) = self.index.get(&page_key(file, to)) {
            self.merge_with_previous(right);
        }
        self.queue_if_due(file);
        self.evict_to_capacity();
    }

    /// Makes pages dirty if they lie in one dirty run or only extend it; true if it did.
    fn try_extend_dirty_run(&mut self, file: File, from: u64, to: u64) -> bool {
        let Some(id) = self.run_at_or_before(file, from) else { return false };
        let run = self.runs[id];
        if run.state != PageState::Dirty || run.end() < from {
            return false;
        }
        if run.end() >= to {
            return true;
        }
        if self.index.range(page_key(file, run.end())..).next().is_some_and(|(&next, _)| next <= page_key(file, to)) {
            return false;
        }
        self.runs[id].pages = to - run.from;
        self.pages[PageState::Dirty as usize] += to - run.end();
        self.remember_recent_run(id);
        self.evict_to_capacity();
        true
    }

    /// Begins write-back of up to `max_pages` dirty pages of a file, from page `from` on in ascending order. Appends
    /// the runs to `out`, and returns the number of pages.
    pub(crate) fn take_dirty_runs(&mut self, file: File, from: u64, max_pages: u64, out: &mut Vec<DirtyRun>) -> u64 {
        let mut taken = 0;
        self.split_run_at(file, from);
        while taken < max_pages
            && let Some(&first) = self.dirty.range(page_key(file, from)..=page_key(file, u64::MAX)).next()
        {
            let at = page_of_key(first);
            self.split_run_at(file, at.saturating_add(max_pages - taken));
            let id = self.index[&first];
            let pages = self.runs[id].pages;
            self.change_state(id, PageState::Writing);
            self.merge_with_previous(id);
            out.push(DirtyRun { from: at, pages });
            taken += pages;
        }
        taken
    }

    /// Ends write-back of pages `from..to` of a file: those that were not written again are clean.
    pub fn mark_written(&mut self, file: File, from: u64, to: u64) {
        self.split_run_at(file, from);
        self.split_run_at(file, to);
        while let Some(first) = self.writing.range(page_key(file, from)..page_key(file, to)).next() {
            let id = self.index[first];
            self.change_state(id, PageState::Inactive);
            self.merge_with_previous(id);
        }
        self.evict_to_capacity();
    }

    /// Ends write-back of all pages of a volume.
    pub(crate) fn mark_volume_written(&mut self, volume: u8) {
        while let Some(first) = self.writing.iter().find(|&&key| volume_of_key(key) == volume) {
            let file = self.runs[self.index[first]].file;
            self.mark_written(file, 0, u64::MAX);
        }
    }

    /// True if a file has dirty pages.
    pub fn has_dirty_pages(&self, file: File) -> bool {
        has_pages_of(&self.dirty, file)
    }

    /// Drops pages `from..to` of a file, because it is deleted or the drive has newer data.
    pub fn drop_pages(&mut self, file: File, from: u64, to: u64) {
        let isolated = self.isolate_runs(file, from, to);
        isolated.iter().for_each(|&id| self.remove_run(id));
        self.scratch = isolated;
        self.clear_dirty_mark(file);
    }

    /// Drops all clean pages.
    pub(crate) fn drop_clean_pages(&mut self) {
        for state in [PageState::Inactive, PageState::Active] {
            while let Some(id) = self.lists[state as usize].oldest() {
                self.remove_run(id as u32);
            }
        }
    }

    /// Evicts clean pages, least recently used first, until the pages fit the cache.
    fn evict_to_capacity(&mut self) {
        let all: u64 = self.pages.iter().sum();
        if all <= self.capacity {
            return;
        }
        let mut excess = (all - self.capacity).max(MIN_EVICTED);
        while excess > 0 {
            self.balance_lists();
            let oldest = self.lists[0].oldest().or_else(|| self.lists[1].oldest());
            let Some(id) = oldest.map(|id| id as u32) else { return };
            let run = self.runs[id];
            if run.pages <= excess {
                excess -= run.pages;
                self.remove_run(id);
                continue;
            }
            self.index.remove(&page_key(run.file, run.from));
            self.index.insert(page_key(run.file, run.from + excess), id);
            let rest = &mut self.runs[id];
            (rest.from, rest.pages) = (run.from + excess, run.pages - excess);
            rest.used = run.used.saturating_sub(excess);
            self.pages[run.state as usize] -= excess;
            return;
        }
    }

    /// Makes the least recently used active run inactive if too few pages are inactive. The ratio of active to inactive
    /// may reach the square root of ten times the whole GiB of both, at least one (`inactive_is_low` of mm/vmscan.c).
    fn balance_lists(&mut self) {
        let [inactive, active, ..] = self.pages;
        let gib = ((inactive + active) * PAGE) >> 30;
        let ratio = (10 * gib).isqrt().max(1);
        if self.pages[0] * ratio < self.pages[1]
            && let Some(id) = self.lists[1].oldest()
        {
            self.change_state(id as u32, PageState::Inactive);
            self.merge_with_previous(id as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::volume::FileId;
    use alloc::vec;

    const A: File = File { volume: 0, id: FileId(7) };
    const B: File = File { volume: 0, id: FileId(8) };

    fn cache(pages: u64, two_lists: bool) -> PageCache {
        PageCache::new(&PageCacheSpec { two_lists, ..PageCacheSpec::windows_nt(pages * PAGE) })
    }

    /// Those of the pages that are in memory.
    fn resident(cache: &PageCache, file: File, pages: core::ops::Range<u64>) -> Vec<u64> {
        pages.filter(|&page| cache.first_missing_range(file, page, page + 1).is_none()).collect()
    }

    #[test]
    fn a_file_read_from_front_to_end_is_one_run() {
        let mut cache = cache(1 << 20, false);
        for page in (0..2_000).step_by(8) {
            assert_eq!(cache.first_missing_range(A, page, page + 8), Some((page, page + 8)));
            cache.insert_clean(A, page, page + 8);
            cache.record_use(A, page, page + 8);
        }
        assert_eq!((cache.resident_pages(), cache.index.len()), (2_000, 1));
        cache.drop_pages(A, 100, 110);
        assert_eq!(cache.first_missing_range(A, 50, 200), Some((100, 110)));
        assert_eq!(cache.first_missing_range(A, 105, 107), Some((105, 107)));
        assert_eq!(
            (cache.first_missing_range(A, 110, 2_000), cache.first_missing_range(B, 0, 1)),
            (None, Some((0, 1)))
        );
    }

    #[test]
    fn what_was_used_longest_ago_goes_first() {
        let mut cache = cache(128, false);
        cache.insert_clean(A, 0, 64);
        cache.insert_clean(B, 0, 64);
        cache.record_use(A, 0, 8);
        cache.insert_clean(B, 64, 65);
        assert_eq!(resident(&cache, A, 0..64), (0..8).chain(40..64).collect::<Vec<_>>(), "32 at once, from the front");
        cache.insert_clean(B, 65, 65 + 32);
        assert_eq!(resident(&cache, A, 0..64), (0..8).collect::<Vec<_>>());
        assert_eq!(resident(&cache, B, 0..97), (8..97).collect::<Vec<_>>(), "24 of one, 8 of the other");
    }

    #[test]
    fn with_two_lists_what_was_used_again_stays() {
        let mut cache = cache(128, true);
        cache.insert_clean(A, 0, 32);
        cache.record_use(A, 0, 32);
        cache.record_use(A, 0, 32);
        // A file twice as long as the cache, read once, page by page.
        for page in 0..256 {
            cache.insert_clean(B, page, page + 1);
            cache.record_use(B, page, page + 1);
        }
        assert_eq!(resident(&cache, A, 0..32).len(), 32);
        // Used once only, it would have gone.
        cache.insert_clean(A, 100, 132);
        cache.record_use(A, 100, 132);
        (256..512).for_each(|page| cache.insert_clean(B, page, page + 1));
        assert_eq!((resident(&cache, A, 0..32).len(), resident(&cache, A, 100..132).len()), (32, 0));
    }

    #[test]
    fn dirty_pages_stay_until_they_are_written() {
        let mut cache = cache(64, false);
        cache.mark_pages_dirty(Instant::ZERO, A, 0, 40);
        cache.mark_pages_dirty(Instant::ZERO, A, 50, 60);
        cache.mark_pages_dirty(Instant::ZERO, A, 40, 50);
        assert_eq!((cache.dirty_and_writing_pages(), cache.resident_pages(), cache.index.len()), ((60, 0), 60, 1));
        cache.insert_clean(B, 0, 100);
        assert_eq!(cache.dirty_and_writing_pages(), (60, 0));
        let mut out = vec![];
        assert_eq!(cache.take_dirty_runs(A, 10, 20, &mut out), 20);
        assert_eq!((&out[..], cache.dirty_and_writing_pages()), (&[DirtyRun { from: 10, pages: 20 }][..], (40, 20)));
        // A page that is written again meanwhile stays dirty.
        cache.mark_pages_dirty(Instant::ZERO, A, 15, 16);
        cache.mark_written(A, 10, 30);
        assert_eq!(cache.dirty_and_writing_pages(), (41, 0));
        out.clear();
        assert_eq!(cache.take_dirty_runs(A, 0, 99, &mut out), 41);
        assert_eq!(out, [(0, 10), (15, 1), (30, 30)].map(|(from, pages)| DirtyRun { from, pages }));
        cache.mark_written(A, 0, 60);
        assert_eq!((cache.dirty_and_writing_pages(), cache.has_dirty_pages(A)), ((0, 0), false));
    }

    /// The cache in runs, compared with a plain map of pages.
    #[test]
    fn any_history_leaves_what_pages_one_by_one_would() {
        let mut chance = seekwise_disk::rng::Seed(3).numbered_stream("history", 0);
        let mut cache = cache(1 << 20, true);
        let mut plain: BTreeMap<u64, u8> = BTreeMap::new();
        for _ in 0..3_000 {
            let (from, len) = (chance.below(200), 1 + chance.below(20));
            let range = from..from + len;
            match chance.below(5) {
                0 => {
                    cache.mark_pages_dirty(Instant::ZERO, A, range.start, range.end);
                    plain.extend(range.map(|page| (page, 2)));
                }
                1 => {
                    while let Some((from, to)) = cache.first_missing_range(A, range.start, range.end) {
                        cache.insert_clean(A, from, to);
                    }
                    for page in range {
                        plain.entry(page).or_insert(0);
                    }
                }
                2 => {
                    cache.record_use(A, range.start, range.end);
                }
                3 => {
                    let mut out = vec![];
                    cache.take_dirty_runs(A, range.start, len, &mut out);
                    for page in out.iter().flat_map(|run| run.from..run.from + run.pages) {
                        assert_eq!(plain.insert(page, 3), Some(2));
                    }
                }
                _ => {
                    cache.mark_written(A, range.start, range.end);
                    for page in range {
                        plain.entry(page).and_modify(|state| *state %= 3);
                    }
                }
            }
            let count = |state: u8| plain.values().filter(|&&one| one == state).count() as u64;
            assert_eq!(
                (cache.dirty_and_writing_pages(), cache.resident_pages()),
                ((count(2), count(3)), plain.len() as u64)
            );
            assert!(
                (0..240)
                    .all(|page| cache.first_missing_range(A, page, page + 1).is_none() == plain.contains_key(&page))
            );
        }
    }

    /// Eight pages in any state and 32 older ones after them are read twice as a whole: the file that was not read is
    /// evicted.
    #[test]
    fn a_use_counts_for_all_its_pages_however_they_are_held() {
        let fronts: [fn(&mut PageCache); 3] = [
            |cache| cache.insert_clean(A, 0, 8),
            |cache| cache.mark_pages_dirty(Instant::ZERO, A, 0, 8),
            |cache| {
                cache.mark_pages_dirty(Instant::ZERO, A, 0, 8);
                cache.take_dirty_runs(A, 0, 8, &mut vec![]);
            },
        ];
        for (state, front) in fronts.iter().enumerate() {
            for two_lists in [false, true] {
                let mut cache = cache(72, two_lists);
                cache.insert_clean(A, 8, 40);
                cache.insert_clean(B, 0, 32);
                front(&mut cache);
                cache.record_use(A, 0, 40);
                cache.record_use(A, 0, 40);
                // A page too many: 32 are evicted at a time.
                cache.insert_clean(B, 100, 101);
                let left = (resident(&cache, A, 0..40).len(), resident(&cache, B, 0..32).len());
                assert_eq!(left, (40, 0), "state {state}, two lists: {two_lists}");
            }
        }
    }
}
