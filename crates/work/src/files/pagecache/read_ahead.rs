//! Read-ahead: predicts the next reads of a thread from its reads of a file. Counts are in pages. No reads are done
//! here: the system asks which pages to read.

use super::pages::{PAGE, PageCache};
use super::rules::ReadAheadRule;
use crate::files::call::File;

/// The history of a thread's reads of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadStream {
    /// The ends of the last read and of its call, in bytes.
    end: u64,
    call: u64,
    /// Consecutive calls that began where the one before ended.
    row: u32,
    /// Linux: the last window. Windows: `start` is how far it was read ahead.
    start: u64,
    size: u64,
    /// How many pages of the window lay ahead of the demand.
    ahead: u64,
}

/// A read, as far as read-ahead needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadSpan {
    file: File,
    /// Pages of the file.
    pages: u64,
    /// The first byte, the end of what is needed now, and the end of the call.
    from: u64,
    to: u64,
    end: u64,
    sequential: bool,
    /// The current page.
    at: u64,
}

impl ReadSpan {
    /// The bytes `from..to` of a call that ends at `end`, in a file of `bytes` bytes; `sequential` if the program gave
    /// that hint.
    pub fn new(file: File, bytes: u64, (from, to, end): (u64, u64, u64), sequential: bool) -> ReadSpan {
        ReadSpan { file, pages: bytes.div_ceil(PAGE), from, to, end, sequential, at: from / PAGE }
    }

    /// The factor of the read-ahead: 2 after a hint that reads are sequential.
    fn ahead_factor(&self) -> u64 {
        if self.sequential { 2 } else { 1 }
    }
}

impl ReadStream {
    /// Returns the next range of pages to read, some of which may be in memory already. `cache` must hold each range
    /// before the next call.
    pub fn next(&mut self, rule: ReadAheadRule, cache: &PageCache, wanted: &mut ReadSpan) -> Option<(u64, u64)> {
        let (from, to) = match rule {
            ReadAheadRule::Granule { .. } => ReadStream::missing_pages(cache, wanted)?,
            ReadAheadRule::Window(bytes) => self.next_window(bytes / PAGE * wanted.ahead_factor(), cache, wanted)?,
        };
        Some((from, to.min(wanted.pages)))
    }

    /// True if the last read ended at `byte`.
    pub(crate) fn ended_at(&self, byte: u64) -> bool {
        self.end == byte
    }

    /// Records the end of a read.
    pub fn record_read(&mut self, wanted: &ReadSpan) {
        (self.row, self.end, self.call) = (self.row_after(wanted), wanted.to, wanted.end);
    }

    /// The value of `row` after this read.
    fn row_after(&self, wanted: &ReadSpan) -> u32 {
        match wanted.from > 0 && wanted.from == self.end {
            true if wanted.end == self.call => self.row,
            true => self.row.saturating_add(1),
            false => 0,
        }
    }

    /// Windows: the pages from the first missing one to the end of the read.
    fn missing_pages(cache: &PageCache, wanted: &mut ReadSpan) -> Option<(u64, u64)> {
        let (at, to) = (wanted.at, wanted.to.div_ceil(PAGE));
        wanted.at = to;
        cache.first_gap(wanted.file, at, to).map(|(from, _)| (from, to))
    }

    /// Windows: the read-ahead of a call of `bytes` bytes, once it has all its pages. After enough sequential reads it
    /// is as long as the call, in whole granules, and follows the granule in which the call ends. A file's only
    /// read-ahead begins then (ReactOS, `CcScheduleReadAhead`: the length rounded up to the granule; none while one is
    /// at work). If it began while the call's own pages are read, it would delay them. Strides and backward reads,
    /// which the cache manager also detects, are not modelled.
    pub(crate) fn next_granules(&mut self, rule: ReadAheadRule, wanted: &ReadSpan, bytes: u64) -> Option<(u64, u64)> {
        let ReadAheadRule::Granule { bytes: granule, after } = rule else { return None };
        let granule = granule / PAGE * wanted.ahead_factor();
        let to = wanted.end.div_ceil(PAGE);
        let target = to.next_multiple_of(granule) + bytes.div_ceil(PAGE).next_multiple_of(granule);
        let goes_on = wanted.sequential || self.row >= after;
        if !goes_on || wanted.to < wanted.end || to >= wanted.pages || target == self.start {
            return None;
        }
        self.start = target;
        Some((to, target.min(wanted.pages)))
    }

    /// Linux: `ondemand_readahead` of mm/readahead.c, without its look at cached pages around a random read.
    fn next_window(&mut self, most: u64, cache: &PageCache, wanted: &mut ReadSpan) -> Option<(u64, u64)> {
        let (at, to) = (wanted.at, wanted.to.div_ceil(PAGE));
        let gap = cache.first_gap(wanted.file, at, to).map_or(to, |gap| gap.0);
        let mark = self.start + self.size - self.ahead;
        if self.ahead > 0 && (at..gap).contains(&mark) {
            // The reader has reached the read-ahead mark.
            wanted.at = mark + 1;
            self.advance_window(most);
        } else if gap < to {
            // Ask once: a small cache may have evicted the page again.
            wanted.at = gap + 1;
            let need = wanted.end.div_ceil(PAGE) - gap;
            if self.is_random(gap, need, most) {
                return Some((gap, gap + need.min(most)));
            }
            self.start_window(gap, need, most);
        } else {
            return None;
        }
        (self.start < wanted.pages).then_some((self.start, self.start + self.size))
    }

    /// True if neither the window nor the last read ends here, and the read is not large.
    fn is_random(&self, at: u64, need: u64, most: u64) -> bool {
        let follows = at == self.end / PAGE || at == self.end.div_ceil(PAGE);
        at > 0 && need <= most && !follows && !self.is_window_end(at)
    }

    fn is_window_end(&self, at: u64) -> bool {
        self.size > 0 && (at == self.start + self.size || at == self.start + self.size - self.ahead)
    }

    /// Starts a window at a missing page.
    fn start_window(&mut self, at: u64, need: u64, most: u64) {
        if at > 0 && self.is_window_end(at) {
            self.advance_window(most);
        } else {
            let size = initial_size(need, most);
            (self.start, self.size, self.ahead) = (at, size, if size > need { size - need } else { size });
        }
        // The read would meet its own mark at once, so the next window's pages are added, up to `most`.
        if at == self.start && self.ahead == self.size {
            let more = next_size(self.size, most);
            (self.size, self.ahead) =
                if self.size + more <= most { (self.size + more, more) } else { (most, most / 2) };
        }
    }

    /// Moves on to the next window.
    fn advance_window(&mut self, most: u64) {
        self.start += self.size;
        self.size = next_size(self.size, most);
        self.ahead = self.size;
    }
}

/// `get_init_ra_size`.
fn initial_size(need: u64, most: u64) -> u64 {
    let size = need.next_power_of_two();
    if size <= most / 32 {
        size * 4
    } else if size <= most / 4 {
        size * 2
    } else {
        most
    }
}

/// `get_next_ra_size`.
fn next_size(size: u64, most: u64) -> u64 {
    if size < most / 16 {
        size * 4
    } else if size <= most / 2 {
        size * 2
    } else {
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::pagecache::PageCacheSpec;
    use crate::files::volume::FileId;
    use alloc::vec::Vec;

    const FILE: File = File { volume: 0, id: FileId(1) };

    /// The pages that each read asks for, which is of so many pages from a page on, in a file of 10,000 pages.
    fn asked(rule: ReadAheadRule, sequential: bool, reads: &[(u64, u64)]) -> Vec<Vec<(u64, u64)>> {
        let in_bytes: Vec<(u64, u64)> = reads.iter().map(|&(from, pages)| (from * PAGE, pages * PAGE)).collect();
        asked_in_bytes(rule, sequential, &in_bytes)
    }

    /// The pages that each read asks for, which is of so many bytes from a byte on.
    fn asked_in_bytes(rule: ReadAheadRule, sequential: bool, reads: &[(u64, u64)]) -> Vec<Vec<(u64, u64)>> {
        let mut cache = PageCache::new(&PageCacheSpec::linux(1 << 30));
        let mut stream = ReadStream::default();
        let mut all = Vec::new();
        for &(from, bytes) in reads {
            let to = from + bytes;
            let mut wanted = ReadSpan::new(FILE, 10_000 * PAGE, (from, to, to), sequential);
            let mut asked = Vec::new();
            while let Some((from, to)) = stream.next(rule, &cache, &mut wanted) {
                asked.push((from, to));
                while let Some((from, to)) = cache.first_gap(FILE, from, to) {
                    cache.insert(FILE, from, to);
                }
            }
            stream.record_read(&wanted);
            let beyond = stream.next_granules(rule, &wanted, to - from);
            while let Some((from, to)) = beyond.and_then(|(from, to)| cache.first_gap(FILE, from, to)) {
                cache.insert(FILE, from, to);
            }
            asked.extend(beyond);
            all.push(asked);
        }
        all
    }

    #[test]
    fn linux_windows_grow_to_128_kib() {
        let reads: Vec<(u64, u64)> = (0..64).map(|page| (page, 1)).collect();
        let all = asked(ReadAheadRule::Window(128 << 10), false, &reads);
        let some: Vec<_> =
            all.iter().enumerate().filter(|one| !one.1.is_empty()).map(|(at, one)| (at, &one[..])).collect();
        // One page needed: 4, three of them ahead; then at each mark 8 (4 is not less than 32 / 16), 16, 32, 32.
        let windows = [(0, (0, 4)), (1, (4, 12)), (4, (12, 28)), (12, (28, 60)), (28, (60, 92)), (60, (92, 124))];
        assert_eq!(some, windows.iter().map(|(at, one)| (*at, core::slice::from_ref(one))).collect::<Vec<_>>());
    }

    #[test]
    fn linux_reads_what_is_asked_at_random() {
        let all = asked(ReadAheadRule::Window(128 << 10), false, &[(500, 1), (90, 4), (7_000, 2)]);
        assert_eq!(all, [[(500, 501)], [(90, 94)], [(7_000, 7_002)]]);
        // A large read brings its window, and its mark the next one.
        let all = asked(ReadAheadRule::Window(128 << 10), false, &[(500, 64), (564, 32)]);
        assert_eq!(all[0][..2], [(500, 532), (532, 564)]);
    }

    #[test]
    fn windows_reads_a_granule_ahead_once_it_is_sequential() {
        let reads: Vec<(u64, u64)> = (0..8).map(|at| (at * 8, 8)).collect();
        let rule = ReadAheadRule::Granule { bytes: 64 << 10, after: 2 };
        let all = asked(rule, false, &reads);
        assert_eq!(all[..2], [[(0, 8)], [(8, 16)]]);
        assert_eq!(all[2], [(16, 24), (24, 48)], "three reads make a sequence");
        assert_eq!(all[3..], [[].as_slice(), &[(40, 64)], &[], &[(56, 80)], &[]].map(<[_]>::to_vec));
        // With the sequential hint: 128 KiB, from the first read on.
        let all = asked(rule, true, &reads[..2]);
        assert_eq!(all, [[(0, 8), (8, 64)].as_slice(), &[]].map(<[_]>::to_vec));
        // As much as is read, in whole granules.
        assert_eq!(asked(rule, true, &[(0, 256)])[0], [(0, 256), (256, 512)]);
        assert_eq!(asked(rule, true, &[(0, 40)])[0], [(0, 40), (40, 128)]);
        // At random: only what is asked for.
        assert_eq!(asked(rule, false, &[(64, 8), (8, 8)]), [[(64, 72)], [(8, 16)]]);
    }

    /// Three that follow one another make a sequence: by the byte, wherever they begin.
    #[test]
    fn reads_shorter_than_a_page_make_a_sequence_too() {
        let rule = ReadAheadRule::Granule { bytes: 64 << 10, after: 2 };
        for first in [1, 2, 100] {
            let all = asked_in_bytes(rule, false, &[(0, first), (first, 1), (first + 1, 1)]);
            assert_eq!(all, [[(0, 1)].as_slice(), &[], &[(1, 32)]].map(<[_]>::to_vec), "{first}");
            let left_out = asked_in_bytes(rule, false, &[(0, first), (first, 1), (first + 2, 1)]);
            assert!(left_out[2].is_empty(), "{first}: a byte was left out");
        }
    }
}
