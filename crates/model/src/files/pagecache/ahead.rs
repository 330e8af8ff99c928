//! Read-ahead: what a thread's reads of a file say about the next ones. Counts are in pages.

use super::pages::{PAGE, PageCache};
use super::rules::Ahead;
use crate::files::call::File;

/// What is remembered of a thread's reads of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    /// The byte behind the last that was read, and the one behind the call's last.
    end: u64,
    call: u64,
    /// Calls in a row that began where the one before ended.
    row: u32,
    /// The window that was read last. Windows: up to where it was read ahead.
    start: u64,
    size: u64,
    /// How many of its pages lay ahead of what was needed.
    ahead: u64,
}

/// A read, as far as read-ahead asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    file: File,
    /// Pages of the file.
    pages: u64,
    /// First byte, the one behind the last that is needed now, and the one behind the call's last.
    from: u64,
    to: u64,
    end: u64,
    sequential: bool,
    /// The page at which it is.
    at: u64,
}

impl Wanted {
    /// The bytes `from..to` of a call that reads on up to `end`, of a file of so many bytes; the program may have said that
    /// it reads from front to end.
    pub fn new(file: File, bytes: u64, (from, to, end): (u64, u64, u64), sequential: bool) -> Wanted {
        Wanted { file, pages: bytes.div_ceil(PAGE), from, to, end, sequential, at: from / PAGE }
    }

    /// Who says that it reads from front to end has twice as much read ahead.
    fn doubled(&self) -> u64 {
        if self.sequential { 2 } else { 1 }
    }
}

impl Stream {
    /// What to read now, a range of pages at a time, some of which may be in memory already; `cache` must have each
    /// before the next is asked for.
    pub fn next(&mut self, rule: Ahead, cache: &PageCache, wanted: &mut Wanted) -> Option<(u64, u64)> {
        let (from, to) = match rule {
            Ahead::Granule { .. } => Stream::needed(cache, wanted)?,
            Ahead::Window(bytes) => self.window(bytes / PAGE * wanted.doubled(), cache, wanted)?,
        };
        Some((from, to.min(wanted.pages)))
    }

    /// Whether the last read ended there.
    pub fn ended_at(&self, byte: u64) -> bool {
        self.end == byte
    }

    /// The read is over.
    pub fn note(&mut self, wanted: &Wanted) {
        (self.row, self.end, self.call) = (self.row_with(wanted), wanted.to, wanted.end);
    }

    /// Calls in a row, this one counted.
    fn row_with(&self, wanted: &Wanted) -> u32 {
        match wanted.from > 0 && wanted.from == self.end {
            true if wanted.end == self.call => self.row,
            true => self.row.saturating_add(1),
            false => 0,
        }
    }

    /// Windows: what is needed.
    fn needed(cache: &PageCache, wanted: &mut Wanted) -> Option<(u64, u64)> {
        let (at, to) = (wanted.at, wanted.to.div_ceil(PAGE));
        wanted.at = to;
        cache.missing(wanted.file, at, to).map(|(from, _)| (from, to))
    }

    /// Windows, once all of a call of so many bytes is there: where so many reads have gone on at the end of the one before, as
    /// much as it read, in whole granules, behind the granule in which it ends. That is when a file's one read-ahead begins
    /// (ReactOS, `CcScheduleReadAhead`: the length rounded up to the granule; none while one is at work): one that began while
    /// the call's own pages are read would be in their way. Strides and reading backwards, which the cache manager finds
    /// too, are not modelled.
    pub fn beyond(&mut self, rule: Ahead, wanted: &Wanted, bytes: u64) -> Option<(u64, u64)> {
        let Ahead::Granule { bytes: granule, after } = rule else { return None };
        let granule = granule / PAGE * wanted.doubled();
        let to = wanted.end.div_ceil(PAGE);
        let target = to.next_multiple_of(granule) + bytes.div_ceil(PAGE).next_multiple_of(granule);
        let goes_on = wanted.sequential || self.row >= after;
        if !goes_on || wanted.to < wanted.end || to >= wanted.pages || target == self.start {
            return None;
        }
        self.start = target;
        Some((to, target.min(wanted.pages)))
    }

    /// Linux: `ondemand_readahead` of mm/readahead.c, but for its look at what is cached around a random read.
    fn window(&mut self, most: u64, cache: &PageCache, wanted: &mut Wanted) -> Option<(u64, u64)> {
        let (at, to) = (wanted.at, wanted.to.div_ceil(PAGE));
        let gap = cache.missing(wanted.file, at, to).map_or(to, |gap| gap.0);
        let mark = self.start + self.size - self.ahead;
        if self.ahead > 0 && (at..gap).contains(&mark) {
            // The reader has come to what was read ahead.
            wanted.at = mark + 1;
            self.go_on(most);
        } else if gap < to {
            // Asked once: a cache with little room may have lost it again.
            wanted.at = gap + 1;
            let need = wanted.end.div_ceil(PAGE) - gap;
            if self.is_random(gap, need, most) {
                return Some((gap, gap + need.min(most)));
            }
            self.miss(gap, need, most);
        } else {
            return None;
        }
        (self.start < wanted.pages).then_some((self.start, self.start + self.size))
    }

    /// The window does not end here, and neither does the last read; and it is no large read.
    fn is_random(&self, at: u64, need: u64, most: u64) -> bool {
        let follows = at == self.end / PAGE || at == self.end.div_ceil(PAGE);
        at > 0 && need <= most && !follows && !self.ends(at)
    }

    fn ends(&self, at: u64) -> bool {
        self.size > 0 && (at == self.start + self.size || at == self.start + self.size - self.ahead)
    }

    /// A page is not there: a window from it on.
    fn miss(&mut self, at: u64, need: u64, most: u64) {
        if at > 0 && self.ends(at) {
            self.go_on(most);
        } else {
            let size = first(need, most);
            (self.start, self.size, self.ahead) = (at, size, if size > need { size - need } else { size });
        }
        // It would meet its own mark at once: it takes the next window's pages too, as far as that goes.
        if at == self.start && self.ahead == self.size {
            let more = second(self.size, most);
            (self.size, self.ahead) =
                if self.size + more <= most { (self.size + more, more) } else { (most, most / 2) };
        }
    }

    /// The window behind this one.
    fn go_on(&mut self, most: u64) {
        self.start += self.size;
        self.size = second(self.size, most);
        self.ahead = self.size;
    }
}

/// `get_init_ra_size`.
fn first(need: u64, most: u64) -> u64 {
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
fn second(size: u64, most: u64) -> u64 {
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

    /// What reads of so many pages each ask for, of a file of 10,000 pages.
    fn asked(rule: Ahead, sequential: bool, reads: &[(u64, u64)]) -> Vec<Vec<(u64, u64)>> {
        let mut cache = PageCache::new(&PageCacheSpec::linux(1 << 30));
        let mut stream = Stream::default();
        let mut all = Vec::new();
        for &(from, pages) in reads {
            let (from, to) = (from * PAGE, (from + pages) * PAGE);
            let mut wanted = Wanted::new(FILE, 10_000 * PAGE, (from, to, to), sequential);
            let mut asked = Vec::new();
            while let Some((from, to)) = stream.next(rule, &cache, &mut wanted) {
                asked.push((from, to));
                while let Some((from, to)) = cache.missing(FILE, from, to) {
                    cache.insert(FILE, from, to);
                }
            }
            stream.note(&wanted);
            let beyond = stream.beyond(rule, &wanted, to - from);
            while let Some((from, to)) = beyond.and_then(|(from, to)| cache.missing(FILE, from, to)) {
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
        let all = asked(Ahead::Window(128 << 10), false, &reads);
        let some: Vec<_> =
            all.iter().enumerate().filter(|one| !one.1.is_empty()).map(|(at, one)| (at, &one[..])).collect();
        // One page needed: 4, three of them ahead; then at each mark 8 (4 is not less than 32 / 16), 16, 32, 32.
        let windows = [(0, (0, 4)), (1, (4, 12)), (4, (12, 28)), (12, (28, 60)), (28, (60, 92)), (60, (92, 124))];
        assert_eq!(some, windows.iter().map(|(at, one)| (*at, core::slice::from_ref(one))).collect::<Vec<_>>());
    }

    #[test]
    fn linux_reads_what_is_asked_at_random() {
        let all = asked(Ahead::Window(128 << 10), false, &[(500, 1), (90, 4), (7_000, 2)]);
        assert_eq!(all, [[(500, 501)], [(90, 94)], [(7_000, 7_002)]]);
        // A large read brings its window, and its mark the next one.
        let all = asked(Ahead::Window(128 << 10), false, &[(500, 64), (564, 32)]);
        assert_eq!(all[0][..2], [(500, 532), (532, 564)]);
    }

    #[test]
    fn windows_reads_a_granule_ahead_once_it_is_sequential() {
        let reads: Vec<(u64, u64)> = (0..8).map(|at| (at * 8, 8)).collect();
        let rule = Ahead::Granule { bytes: 64 << 10, after: 2 };
        let all = asked(rule, false, &reads);
        assert_eq!(all[..2], [[(0, 8)], [(8, 16)]]);
        assert_eq!(all[2], [(16, 24), (24, 48)], "three reads make a sequence");
        assert_eq!(all[3..], [[].as_slice(), &[(40, 64)], &[], &[(56, 80)], &[]].map(<[_]>::to_vec));
        // Said to be sequential: 128 KiB, from the first read on.
        let all = asked(rule, true, &reads[..2]);
        assert_eq!(all, [[(0, 8), (8, 64)].as_slice(), &[]].map(<[_]>::to_vec));
        // As much as is read, in whole granules.
        assert_eq!(asked(rule, true, &[(0, 256)])[0], [(0, 256), (256, 512)]);
        assert_eq!(asked(rule, true, &[(0, 40)])[0], [(0, 40), (40, 128)]);
        // At random: nothing but what is asked.
        assert_eq!(asked(rule, false, &[(64, 8), (8, 8)]), [[(64, 72)], [(8, 16)]]);
    }
}
