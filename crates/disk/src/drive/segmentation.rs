//! Adaptive segmentation: decides from the commands that a drive receives into how many segments the buffer is divided,
//! and whether read-ahead pays. `cache` knows the contents of the segments.
//!
//! Makers say that firmware does this (Seagate's "server mode" starts with three segments), but not how. The policy is
//! our own, set before any study ran on it, and not fitted to one:
//!
//! 1. A command that begins where one of the last `MAX_RUNS` runs ended continues that run. Any other command is
//!    *loose*; it begins a run, in place of the one least recently continued.
//! 2. The last `WINDOW_COMMANDS` commands are evaluated together. A run that was continued among them is a live stream.
//! 3. Each live stream gets a segment, and one more is for everything else. Loose writes get a share of the segments
//!    left up to the maximum, as large as their share of the window: a loose write needs a segment of its own, though a
//!    short one will do, while a stream gains from a long one. A loose read leaves nothing that is read again and gets
//!    none. No segment is shorter than the average loose write.
//! 4. The division changes when the number wanted differs by a quarter or more from the present one.
//! 5. A loose read is read ahead only while at least one read in `READS_PER_HIT` of the last window was in the buffer.
//!
//! If segments have lengths of their own there is nothing to divide: written and read blocks take memory as they come
//! (`segment_store`), the least recently used segment is evicted, and only the last rule of the policy applies. (A table of
//! tags, each of a run of blocks in as many small pieces of memory as the run is long: US 6,606,682 and 6,996,669,
//! "Cluster-based cache memory allocation", 2000.)

use super::cache::Division;
use super::profile::AdaptiveDivision;
use crate::block::{Op, Request};
use crate::recency::LruList;

/// Number of runs that are remembered: as many as a drive of 64 segments could serve, and as there are bits in a word.
const MAX_RUNS: usize = 64;

/// Number of commands that are evaluated together: two full queues of 32, so that one burst does not decide alone.
const WINDOW_COMMANDS: u32 = 64;

/// Reads per hit up to which read-ahead pays. A read-ahead that is in the way costs part of a revolution, a hit saves a
/// seek and half a revolution: so a share well below one hit in two reads is enough, and one in eight is taken.
const READS_PER_HIT: u32 = 8;

/// Minimum number of segments: as many as Seagate's "server mode" starts with.
const MIN_SEGMENTS: u32 = 3;

/// The last runs of sequential commands.
#[derive(Clone, Debug)]
struct SequentialRuns {
    /// By run: the block at which its next command would begin.
    ends: [u64; MAX_RUNS],
    /// Lower halves of `ends`: small enough to scan for each command.
    low_ends: [u32; MAX_RUNS],
    /// Runs continued in this window, a bit each.
    live: u64,
    /// Runs by their last continuation.
    recency: LruList,
}

impl SequentialRuns {
    fn new() -> SequentialRuns {
        SequentialRuns {
            ends: [u64::MAX; MAX_RUNS],
            low_ends: [u32::MAX; MAX_RUNS],
            live: 0,
            recency: LruList::new(MAX_RUNS),
        }
    }

    /// The first run whose next command would begin at `lba`.
    #[inline]
    fn run_ending_at(&self, lba: u64) -> Option<usize> {
        // Without a branch for each: a processor compares several at once.
        let low = lba as u32;
        let may_be_there = self.low_ends.iter().fold(false, |found, &other| found | (other == low));
        if may_be_there { self.ends.iter().position(|&end| end == lba) } else { None }
    }

    /// Sets the end of a run, and whether it is live. Returns true if it was live before.
    #[inline]
    fn replace_end(&mut self, run: usize, end: u64, is_live: bool) -> bool {
        (self.ends[run], self.low_ends[run]) = (end, end as u32);
        self.recency.touch(run);
        let (bit, live_before) = (1 << run, self.live);
        self.live = if is_live { live_before | bit } else { live_before & !bit };
        live_before & bit != 0
    }
}

/// Counts of the commands of a window.
#[derive(Clone, Copy, Debug, Default)]
struct WindowCounts {
    commands: u32,
    reads: u32,
    hits: u32,
    loose_writes: u32,
    loose_write_sectors: u64,
    live_streams: u32,
}

/// Counts of commands, and the division derived from them.
#[derive(Clone, Debug)]
pub(crate) struct Segmentation {
    adaptive: AdaptiveDivision,
    runs: SequentialRuns,
    window: WindowCounts,
    /// Present number of segments.
    segments: u32,
    /// Division that the buffer has yet to take.
    wanted: Option<Division>,
    /// Loose reads are read ahead.
    reads_loose_ahead: bool,
}

impl Segmentation {
    /// Returns the state of a drive whose buffer begins with `segments`.
    pub fn new(adaptive: AdaptiveDivision, segments: u32) -> Segmentation {
        Segmentation {
            adaptive,
            runs: SequentialRuns::new(),
            window: WindowCounts::default(),
            segments,
            wanted: None,
            reads_loose_ahead: true,
        }
    }

    /// Counts a read or write. Returns true if read-ahead after it may pay.
    pub(crate) fn count_command(&mut self, request: &Request, was_hit: bool) -> bool {
        self.window.commands += 1;
        let write = request.op != Op::Read;
        self.window.reads += u32::from(!write);
        self.window.hits += u32::from(!write && was_hit);
        let continues = self.continue_or_begin_run(request);
        if write && !continues {
            self.window.loose_writes += 1;
            self.window.loose_write_sectors += u64::from(request.sectors);
        }
        if self.window.commands == WINDOW_COMMANDS {
            self.evaluate_window();
        }
        continues || self.reads_loose_ahead
    }

    /// Adds `request` to the run that it continues, or begins a run. Returns true if it continues one.
    fn continue_or_begin_run(&mut self, request: &Request) -> bool {
        if let Some(run) = self.runs.run_ending_at(request.lba) {
            let was_live = self.runs.replace_end(run, request.end(), true);
            self.window.live_streams += u32::from(!was_live);
            return true;
        }
        if let Some(oldest) = self.runs.recency.oldest() {
            let was_live = self.runs.replace_end(oldest, request.end(), false);
            self.window.live_streams -= u32::from(was_live);
        }
        false
    }

    /// Decides on read-ahead and division after a full window, and begins the next one.
    fn evaluate_window(&mut self) {
        let window = core::mem::take(&mut self.window);
        self.runs.live = 0;
        self.reads_loose_ahead = window.hits * READS_PER_HIT >= window.reads;
        let wanted = self.wanted_segments(&window);
        if !self.adaptive.own_lengths && wanted.abs_diff(self.segments) * 4 >= self.segments {
            self.wanted = Some(self.division_into(wanted));
        }
    }

    /// Number of segments wanted after a window: rule 3 of the policy.
    fn wanted_segments(&self, window: &WindowCounts) -> u32 {
        let AdaptiveDivision { sectors, most, .. } = self.adaptive;
        let for_streams = (window.live_streams + 1).clamp(MIN_SEGMENTS, most);
        let for_loose_writes = (most - for_streams) * window.loose_writes / WINDOW_COMMANDS;
        let average_write = window.loose_write_sectors.checked_div(u64::from(window.loose_writes)).unwrap_or(0);
        let fitting = (u64::from(sectors) / average_write.max(1)) as u32;
        (for_streams + for_loose_writes).min(fitting).clamp(MIN_SEGMENTS, most)
    }

    fn division_into(&self, segments: u32) -> Division {
        let dirty = (segments * self.adaptive.dirty_percent / 100).max(1);
        Division { segments, sectors: self.adaptive.sectors / segments, dirty }
    }

    /// Division that the buffer has yet to take.
    pub(crate) fn wanted_division(&self) -> Option<Division> {
        self.wanted
    }

    /// Notes that the buffer has taken the wanted division.
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

    /// Number of segments after `windows` windows of commands; `command` makes each of its number.
    fn segments_after(windows: u64, command: impl Fn(u64) -> Request) -> u32 {
        let mut view = Segmentation::new(ADAPTIVE, 3);
        for number in 0..windows * u64::from(WINDOW_COMMANDS) {
            view.count_command(&command(number), false);
            view.confirm_division();
        }
        view.segments
    }

    #[test]
    fn streams_get_a_segment_each_and_one_is_left() {
        let streams = |n: u64| segments_after(4, move |i| request(Op::Read, (i % n) * 1_000_000 + i / n * 128, 128));
        assert_eq!([1, 2, 8, 30].map(streams), [3, 3, 9, 31]);
    }

    #[test]
    fn short_writes_all_over_take_as_many_as_there_can_be() {
        assert_eq!(segments_after(2, |i| request(Op::Write, i * 7_919_000 % 100_000_007, 8)), 64);
        // Of 1 MiB six fit.
        assert_eq!(segments_after(2, |i| request(Op::Write, i * 7_919_000 % 100_000_007, 2048)), 6);
    }

    #[test]
    fn a_third_of_writes_takes_its_share_and_reads_alone_take_none() {
        let mixed = |i: u64| if i.is_multiple_of(3) { Op::Write } else { Op::Read };
        assert_eq!(segments_after(2, |i| request(mixed(i), i * 7_919_000 % 100_000_007, 16)), 3 + 61 * 22 / 64);
        assert_eq!(segments_after(2, |i| request(Op::Read, i * 7_919_000 % 100_000_007, 16)), 3);
    }

    #[test]
    fn segments_of_their_own_lengths_are_never_divided() {
        let own = AdaptiveDivision { own_lengths: true, ..ADAPTIVE };
        let mut view = Segmentation::new(own, 16);
        for number in 0..10 * u64::from(WINDOW_COMMANDS) {
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
