//! Adaptive segmentation: the number of segments of the buffer, decided from the commands that a drive sees. The buffer
//! knows what is in the segments.
//!
//! Makers say that firmware does this (Seagate's "server mode" starts with three segments), but not how. The policy is
//! our own, set before any study ran on it, and not fitted to one:
//!
//! 1. A command that begins where one of the last `RUNS` runs ended continues it; any other is *loose*, and begins a
//!    run in place of the one least recently continued.
//! 2. Every `WINDOW` commands the drive looks back on them. A run that was continued in that time is a live stream.
//! 3. Each live stream gets a segment, and one more is for everything else. The buffer adds, of the segments left up to
//!    the maximum, the share that loose writes have in the window: a loose write needs a segment of its own, though a
//!    short one will do, while a stream gains from a long one. A loose read leaves nothing that is read again and gets
//!    none. No segment is shorter than the average loose write.
//! 4. The division changes when the number wanted differs by a quarter or more from the present one.
//! 5. A loose read is read ahead only while at least one read in `HITS` of the window before was in the buffer.
//!
//! If segments have lengths of their own there is nothing to divide: written and read blocks take memory as they come
//! (`segment_store`), the least recently used segment is evicted, and only the last rule of the policy applies. (A table of
//! tags, each of a run of blocks in as many small pieces of memory as the run is long: US 6,606,682 and 6,996,669,
//! "Cluster-based cache memory allocation", 2000.)

use super::cache::Division;
use super::profile::AdaptiveDivision;
use crate::block::{Op, Request};
use crate::recency::LruList;

/// Runs that are remembered: as many as a drive of 64 segments could serve, and as there are bits in a word.
const RUNS: usize = 64;

/// Commands between two looks: two full queues of 32, so that one burst does not decide alone.
const WINDOW: u32 = 64;

/// Reads per hit up to which read-ahead pays: a prefetch that is in the way costs part of a revolution, a hit saves a
/// seek and half of one, so well below one in two is enough; one in eight is a power of two below.
const HITS: u32 = 8;

/// Minimum number of segments.
const FEWEST: u32 = 3;

/// The last runs of sequential commands.
#[derive(Clone, Debug)]
struct SequentialRuns {
    /// Where the next command of each run would begin.
    ends: [u64; RUNS],
    /// Lower halves of `ends`: small enough to scan for each command.
    marks: [u32; RUNS],
    /// Runs continued in this window, a bit each.
    live: u64,
    /// Runs, the least recently continued first.
    order: LruList,
}

impl SequentialRuns {
    fn new() -> SequentialRuns {
        SequentialRuns { ends: [u64::MAX; RUNS], marks: [u32::MAX; RUNS], live: 0, order: LruList::new(RUNS) }
    }

    /// First run that ends at `lba`.
    #[inline]
    fn ending_at(&self, lba: u64) -> Option<usize> {
        // Without a branch for each: a processor compares several at once.
        let mark = lba as u32;
        let found = self.marks.iter().fold(false, |found, &other| found | (other == mark));
        if found { self.ends.iter().position(|&end| end == lba) } else { None }
    }

    /// Sets the end of a run, and whether it is live. Returns true if it was live.
    #[inline]
    fn set_end(&mut self, run: usize, end: u64, live: bool) -> bool {
        (self.ends[run], self.marks[run]) = (end, end as u32);
        self.order.touch(run);
        let (bit, before) = (1 << run, self.live);
        self.live = if live { before | bit } else { before & !bit };
        before & bit != 0
    }
}

/// Counts since the last look back.
#[derive(Clone, Copy, Debug, Default)]
struct WindowCounts {
    commands: u32,
    reads: u32,
    hits: u32,
    loose_writes: u32,
    loose_sectors: u64,
    streams: u32,
}

/// Counts of commands, and the division derived from them.
#[derive(Clone, Debug)]
pub(crate) struct Segmentation {
    adaptive: AdaptiveDivision,
    runs: SequentialRuns,
    seen: WindowCounts,
    /// Present number of segments.
    segments: u32,
    /// Division that the buffer has yet to take.
    wanted: Option<Division>,
    /// Loose reads are read ahead.
    ahead: bool,
}

impl Segmentation {
    /// Returns the state of a drive whose buffer begins with `segments`.
    pub fn new(adaptive: AdaptiveDivision, segments: u32) -> Segmentation {
        Segmentation {
            adaptive,
            runs: SequentialRuns::new(),
            seen: WindowCounts::default(),
            segments,
            wanted: None,
            ahead: true,
        }
    }

    /// Counts a read or write. Returns true if read-ahead after it may pay.
    pub(crate) fn count_command(&mut self, request: &Request, hit: bool) -> bool {
        self.seen.commands += 1;
        let write = request.op != Op::Read;
        self.seen.reads += u32::from(!write);
        self.seen.hits += u32::from(!write && hit);
        let continues = self.follow_run(request);
        if write && !continues {
            self.seen.loose_writes += 1;
            self.seen.loose_sectors += u64::from(request.sectors);
        }
        if self.seen.commands == WINDOW {
            self.look_back();
        }
        continues || self.ahead
    }

    /// Adds `request` to the run that it continues, or begins a run. Returns true if it continues one.
    fn follow_run(&mut self, request: &Request) -> bool {
        if let Some(run) = self.runs.ending_at(request.lba) {
            let was_live = self.runs.set_end(run, request.end(), true);
            self.seen.streams += u32::from(!was_live);
            return true;
        }
        if let Some(oldest) = self.runs.order.oldest() {
            let was_live = self.runs.set_end(oldest, request.end(), false);
            self.seen.streams -= u32::from(was_live);
        }
        false
    }

    fn look_back(&mut self) {
        let seen = core::mem::take(&mut self.seen);
        self.runs.live = 0;
        self.ahead = seen.hits * HITS >= seen.reads;
        let wanted = self.segments_for(&seen);
        if !self.adaptive.own_lengths && wanted.abs_diff(self.segments) * 4 >= self.segments {
            self.wanted = Some(self.division(wanted));
        }
    }

    fn segments_for(&self, seen: &WindowCounts) -> u32 {
        let AdaptiveDivision { sectors, most, .. } = self.adaptive;
        let streams = (seen.streams + 1).clamp(FEWEST, most);
        let loose = (most - streams) * seen.loose_writes / WINDOW;
        let shortest = seen.loose_sectors.checked_div(u64::from(seen.loose_writes)).unwrap_or(0).max(1);
        (streams + loose).min((u64::from(sectors) / shortest) as u32).clamp(FEWEST, most)
    }

    fn division(&self, segments: u32) -> Division {
        let dirty = (segments * self.adaptive.dirty_percent / 100).max(1);
        Division { segments, sectors: self.adaptive.sectors / segments, dirty }
    }

    /// Division that the buffer has yet to take.
    pub(crate) fn wanted_division(&self) -> Option<Division> {
        self.wanted
    }

    /// Notes that the buffer has taken the division wanted.
    pub(crate) fn confirm_division(&mut self) {
        if let Some(division) = self.wanted.take() {
            self.segments = division.segments;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Flags;

    const ADAPTIVE: AdaptiveDivision =
        AdaptiveDivision { sectors: 14_154, most: 64, dirty_percent: 75, own_lengths: false };

    fn request(op: Op, lba: u64, sectors: u32) -> Request {
        Request { tag: 0, unit: 0, origin: 0, op, flags: Flags::NONE, lba, sectors, stamp: 0 }
    }

    /// Segments after `windows` of the commands that `each` makes of their numbers.
    fn settles(windows: u64, each: impl Fn(u64) -> Request) -> u32 {
        let mut view = Segmentation::new(ADAPTIVE, 3);
        for number in 0..windows * u64::from(WINDOW) {
            view.count_command(&each(number), false);
            view.confirm_division();
        }
        view.segments
    }

    #[test]
    fn streams_get_a_segment_each_and_one_is_left() {
        let streams = |n: u64| settles(4, move |i| request(Op::Read, (i % n) * 1_000_000 + i / n * 128, 128));
        assert_eq!([1, 2, 8, 30].map(streams), [3, 3, 9, 31]);
    }

    #[test]
    fn short_writes_all_over_take_as_many_as_there_can_be() {
        assert_eq!(settles(2, |i| request(Op::Write, i * 7_919_000 % 100_000_007, 8)), 64);
        // Of 1 MiB six fit.
        assert_eq!(settles(2, |i| request(Op::Write, i * 7_919_000 % 100_000_007, 2048)), 6);
    }

    #[test]
    fn a_third_of_writes_takes_its_share_and_reads_alone_take_none() {
        let mixed = |i: u64| if i.is_multiple_of(3) { Op::Write } else { Op::Read };
        assert_eq!(settles(2, |i| request(mixed(i), i * 7_919_000 % 100_000_007, 16)), 3 + 61 * 22 / 64);
        assert_eq!(settles(2, |i| request(Op::Read, i * 7_919_000 % 100_000_007, 16)), 3);
    }

    #[test]
    fn segments_of_their_own_lengths_are_never_divided() {
        let own = AdaptiveDivision { own_lengths: true, ..ADAPTIVE };
        let mut view = Segmentation::new(own, 16);
        for number in 0..10 * u64::from(WINDOW) {
            let op = if number % 2 == 0 { Op::Read } else { Op::Write };
            view.count_command(&request(op, number * 7_919_000 % 100_000_007, 8), false);
            assert_eq!(view.wanted_division(), None);
        }
        assert!(
            !view.count_command(&request(Op::Read, 5, 8), false),
            "the rule of reading ahead stays: this window had no hit"
        );
    }

    #[test]
    fn reads_all_over_are_not_read_ahead_after_a_window_without_hits() {
        let mut view = Segmentation::new(ADAPTIVE, 3);
        let scattered = |i: u64| request(Op::Read, i * 7_919_000 % 100_000_007, 8);
        assert!((0..63).all(|i| view.count_command(&scattered(i), false)));
        assert!(!view.count_command(&scattered(63), false));
        assert!(view.count_command(&request(Op::Read, scattered(63).end(), 8), false), "it continues one");
        (65..256).for_each(|i| {
            view.count_command(&scattered(i), i % 4 == 0);
        });
        assert!(view.count_command(&scattered(256), false), "one in four hits");
    }
}
