//! Read-ahead: predicts the next reads of a thread from its earlier reads of a file, by the rule of Windows or of
//! Linux. Counts are in pages. No reads are issued here: the system asks which pages to read.

use super::pages::{PAGE, PageCache};
use super::rules::{LEAST_WINDOW, ReadAheadRule};
use crate::files::call::File;

/// The history of a thread's reads of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadStream {
    /// The end of the last read, in bytes.
    end: u64,
    /// The end of the call of the last read, in bytes.
    call_end: u64,
    /// Consecutive calls that began where the one before ended.
    sequential_calls: u32,
    /// Linux: the first page of the last window. Windows: the page up to which was read ahead.
    start: u64,
    /// Linux: pages in the last window.
    size: u64,
    /// Linux: how many pages at the end of the window were not asked for yet.
    ahead: u64,
}

/// A read, as far as read-ahead needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadSpan {
    file: File,
    /// Pages of the file.
    pages: u64,
    /// The first byte of the read.
    from: u64,
    /// The end of the read.
    to: u64,
    /// The end of the call that the read is a part of.
    call_end: u64,
    sequential: bool,
    /// The next page to look at.
    at: u64,
}

impl ReadSpan {
    /// The bytes `from..to` of a call that ends at `call_end`, in a file of `file_bytes` bytes; `sequential` if the
    /// program gave that hint.
    pub fn new(file: File, file_bytes: u64, from: u64, to: u64, call_end: u64, sequential: bool) -> ReadSpan {
        ReadSpan { file, pages: file_bytes.div_ceil(PAGE), from, to, call_end, sequential, at: from / PAGE }
    }

    /// The factor of the read-ahead: 2 after a hint that reads are sequential.
    fn ahead_factor(&self) -> u64 {
        if self.sequential { 2 } else { 1 }
    }
}

impl ReadStream {
    /// Returns the next range of pages to read for `read`: its first page and its end. Some may be in memory already.
    /// The caller must put each range into `cache` before the next call.
    pub fn next_range(&mut self, rule: ReadAheadRule, cache: &PageCache, read: &mut ReadSpan) -> Option<(u64, u64)> {
        let (from, to) = match rule {
            ReadAheadRule::Granule { .. } => ReadStream::missing_pages(cache, read)?,
            ReadAheadRule::Window(bytes) => {
                let most = bytes.unwrap_or(LEAST_WINDOW) / PAGE * read.ahead_factor();
                self.next_window(most, cache, read)?
            }
        };
        Some((from, to.min(read.pages)))
    }

    /// True if the last read ended at `byte`.
    pub(crate) fn ended_at(&self, byte: u64) -> bool {
        self.end == byte
    }

    /// Records the end of a read.
    pub fn record_read(&mut self, read: &ReadSpan) {
        (self.sequential_calls, self.end, self.call_end) = (self.sequential_calls_after(read), read.to, read.call_end);
    }

    /// The value of `sequential_calls` after this read.
    fn sequential_calls_after(&self, read: &ReadSpan) -> u32 {
        match read.from > 0 && read.from == self.end {
            true if read.call_end == self.call_end => self.sequential_calls,
            true => self.sequential_calls.saturating_add(1),
            false => 0,
        }
    }

    /// Windows: the range from the first missing page to the end of the read.
    fn missing_pages(cache: &PageCache, read: &mut ReadSpan) -> Option<(u64, u64)> {
        let (at, to) = (read.at, read.to.div_ceil(PAGE));
        read.at = to;
        cache.first_missing_range(read.file, at, to).map(|(from, _)| (from, to))
    }

    /// Windows: the range to read ahead after a call of `call_bytes` bytes that has all its pages; `None` without
    /// enough sequential reads. The range is as long as the call, in whole granules, and follows the granule in which
    /// the call ends (ReactOS, `CcScheduleReadAhead`: the length rounded up to the granule; none while one is at work).
    /// A read-ahead that began earlier would delay the call's own pages. Strides and backward reads, which the cache
    /// manager also detects, are not modelled.
    pub(crate) fn next_granules(
        &mut self,
        rule: ReadAheadRule,
        read: &ReadSpan,
        call_bytes: u64,
    ) -> Option<(u64, u64)> {
        let ReadAheadRule::Granule { bytes: granule, after } = rule else { return None };
        let granule = granule / PAGE * read.ahead_factor();
        let to = read.call_end.div_ceil(PAGE);
        let target = to.next_multiple_of(granule) + call_bytes.div_ceil(PAGE).next_multiple_of(granule);
        let is_sequential = read.sequential || self.sequential_calls >= after;
        if !is_sequential || read.to < read.call_end || to >= read.pages || target == self.start {
            return None;
        }
        self.start = target;
        Some((to, target.min(read.pages)))
    }

    /// Linux: the next range by `ondemand_readahead` of mm/readahead.c. The search for cached pages around a random
    /// read is left out.
    fn next_window(&mut self, max_pages: u64, cache: &PageCache, read: &mut ReadSpan) -> Option<(u64, u64)> {
        let (at, to) = (read.at, read.to.div_ceil(PAGE));
        let gap = cache.first_missing_range(read.file, at, to).map_or(to, |gap| gap.0);
        let mark = self.start + self.size - self.ahead;
        if self.ahead > 0 && (at..gap).contains(&mark) {
            // The reader has reached the read-ahead mark.
            read.at = mark + 1;
            self.advance_window(max_pages);
        } else if gap < to {
            // The page is passed for good, because a small cache may have evicted it again.
            read.at = gap + 1;
            let need = read.call_end.div_ceil(PAGE) - gap;
            if self.is_random(gap, need, max_pages) {
                return Some((gap, gap + need.min(max_pages)));
            }
            self.start_window(gap, need, max_pages);
        } else {
            return None;
        }
        (self.start < read.pages).then_some((self.start, self.start + self.size))
    }

    /// True if a read at this page is random: it is not large, and neither the window nor the last read ends there.
    fn is_random(&self, page: u64, needed_pages: u64, max_pages: u64) -> bool {
        let follows = page == self.end / PAGE || page == self.end.div_ceil(PAGE);
        page > 0 && needed_pages <= max_pages && !follows && !self.is_window_end(page)
    }

    /// True if the window, or the part of it that was asked for, ends at this page.
    fn is_window_end(&self, page: u64) -> bool {
        self.size > 0 && (page == self.start + self.size || page == self.start + self.size - self.ahead)
    }

    /// Starts a window at a missing page.
    fn start_window(&mut self, page: u64, needed_pages: u64, max_pages: u64) {
        if page > 0 && self.is_window_end(page) {
            self.advance_window(max_pages);
        } else {
            let size = initial_window_pages(needed_pages, max_pages);
            (self.start, self.size, self.ahead) =
                (page, size, if size > needed_pages { size - needed_pages } else { size });
        }
        // If the read would reach the mark of its own window at once, the next window is added, up to `max_pages`.
        if page == self.start && self.ahead == self.size {
            let more = next_window_pages(self.size, max_pages);
            (self.size, self.ahead) =
                if self.size + more <= max_pages { (self.size + more, more) } else { (max_pages, max_pages / 2) };
        }
    }

    /// Moves on to the next window.
    fn advance_window(&mut self, max_pages: u64) {
        self.start += self.size;
        self.size = next_window_pages(self.size, max_pages);
        self.ahead = self.size;
    }
}

/// Pages of the first window (`get_init_ra_size`).
fn initial_window_pages(needed_pages: u64, max_pages: u64) -> u64 {
    let size = needed_pages.next_power_of_two();
    if size <= max_pages / 32 {
        size * 4
    } else if size <= max_pages / 4 {
        size * 2
    } else {
        max_pages
    }
}

/// Pages of the window after one of `size` pages (`get_next_ra_size`).
fn next_window_pages(size: u64, max_pages: u64) -> u64 {
    if size < max_pages / 16 {
        size * 4
    } else if size <= max_pages / 2 {
        size * 2
    } else {
        max_pages
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::pagecache::PageCacheSpec;
    use crate::files::volume::FileId;
    use alloc::vec::Vec;

    const FILE: File = File { volume: 0, id: FileId(1) };

    /// The ranges of pages that each read brings; reads are given as first page and number of pages, in a file of
    /// 10,000 pages.
    fn ranges_of_page_reads(rule: ReadAheadRule, sequential: bool, reads: &[(u64, u64)]) -> Vec<Vec<(u64, u64)>> {
        let in_bytes: Vec<(u64, u64)> = reads.iter().map(|&(from, pages)| (from * PAGE, pages * PAGE)).collect();
        ranges_of_byte_reads(rule, sequential, &in_bytes)
    }

    /// The ranges of pages that each read brings; reads are given as first byte and number of bytes.
    fn ranges_of_byte_reads(rule: ReadAheadRule, sequential: bool, reads: &[(u64, u64)]) -> Vec<Vec<(u64, u64)>> {
        let mut cache = PageCache::new(&PageCacheSpec::linux(1 << 30));
        let mut stream = ReadStream::default();
        let mut all = Vec::new();
        for &(from, bytes) in reads {
            let to = from + bytes;
            let mut wanted = ReadSpan::new(FILE, 10_000 * PAGE, from, to, to, sequential);
            let mut ranges = Vec::new();
            while let Some((from, to)) = stream.next_range(rule, &cache, &mut wanted) {
                ranges.push((from, to));
                while let Some((from, to)) = cache.first_missing_range(FILE, from, to) {
                    cache.insert_clean(FILE, from, to);
                }
            }
            stream.record_read(&wanted);
            let beyond = stream.next_granules(rule, &wanted, to - from);
            while let Some((from, to)) = beyond.and_then(|(from, to)| cache.first_missing_range(FILE, from, to)) {
                cache.insert_clean(FILE, from, to);
            }
            ranges.extend(beyond);
            all.push(ranges);
        }
        all
    }

    #[test]
    fn linux_windows_grow_to_128_kib() {
        let reads: Vec<(u64, u64)> = (0..64).map(|page| (page, 1)).collect();
        let all = ranges_of_page_reads(ReadAheadRule::Window(Some(128 << 10)), false, &reads);
        let some: Vec<_> =
            all.iter().enumerate().filter(|one| !one.1.is_empty()).map(|(at, one)| (at, &one[..])).collect();
        // One page needed: 4, three of them ahead; then at each mark 8 (4 is not less than 32 / 16), 16, 32, 32.
        let windows = [(0, (0, 4)), (1, (4, 12)), (4, (12, 28)), (12, (28, 60)), (28, (60, 92)), (60, (92, 124))];
        assert_eq!(some, windows.iter().map(|(at, one)| (*at, core::slice::from_ref(one))).collect::<Vec<_>>());
    }

    #[test]
    fn linux_reads_what_is_asked_at_random() {
        let all = ranges_of_page_reads(ReadAheadRule::Window(Some(128 << 10)), false, &[(500, 1), (90, 4), (7_000, 2)]);
        assert_eq!(all, [[(500, 501)], [(90, 94)], [(7_000, 7_002)]]);
        // A large read brings its window, and its mark the next one.
        let all = ranges_of_page_reads(ReadAheadRule::Window(Some(128 << 10)), false, &[(500, 64), (564, 32)]);
        assert_eq!(all[0][..2], [(500, 532), (532, 564)]);
    }

    #[test]
    fn windows_reads_a_granule_ahead_once_it_is_sequential() {
        let reads: Vec<(u64, u64)> = (0..8).map(|at| (at * 8, 8)).collect();
        let rule = ReadAheadRule::Granule { bytes: 64 << 10, after: 2 };
        let all = ranges_of_page_reads(rule, false, &reads);
        assert_eq!(all[..2], [[(0, 8)], [(8, 16)]]);
        assert_eq!(all[2], [(16, 24), (24, 48)], "three reads make a sequence");
        assert_eq!(all[3..], [[].as_slice(), &[(40, 64)], &[], &[(56, 80)], &[]].map(<[_]>::to_vec));
        // With the sequential hint: 128 KiB, from the first read on.
        let all = ranges_of_page_reads(rule, true, &reads[..2]);
        assert_eq!(all, [[(0, 8), (8, 64)].as_slice(), &[]].map(<[_]>::to_vec));
        // As much as is read, in whole granules.
        assert_eq!(ranges_of_page_reads(rule, true, &[(0, 256)])[0], [(0, 256), (256, 512)]);
        assert_eq!(ranges_of_page_reads(rule, true, &[(0, 40)])[0], [(0, 40), (40, 128)]);
        // At random: only what is asked for.
        assert_eq!(ranges_of_page_reads(rule, false, &[(64, 8), (8, 8)]), [[(64, 72)], [(8, 16)]]);
    }

    /// Three that follow one another make a sequence: by the byte, wherever they begin.
    #[test]
    fn reads_shorter_than_a_page_make_a_sequence_too() {
        let rule = ReadAheadRule::Granule { bytes: 64 << 10, after: 2 };
        for first in [1, 2, 100] {
            let all = ranges_of_byte_reads(rule, false, &[(0, first), (first, 1), (first + 1, 1)]);
            assert_eq!(all, [[(0, 1)].as_slice(), &[], &[(1, 32)]].map(<[_]>::to_vec), "{first}");
            let left_out = ranges_of_byte_reads(rule, false, &[(0, first), (first, 1), (first + 2, 1)]);
            assert!(left_out[2].is_empty(), "{first}: a byte was left out");
        }
    }
}
