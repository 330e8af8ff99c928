//! The work of an array's members over time: commands and sectors by purpose, and busy time. The array counts a command
//! when it ends with success. A caller asks for the counts of a span of time, such as the counted part of a run.
//!
//! Time is cut into slots of equal length, and each slot keeps the counts of the commands that ended in it. If there are
//! too many slots, each becomes twice as long. A span that ends within a slot gets its share of the slot's counts; all
//! other slots, and the counts of the whole time, are exact.

use alloc::vec::Vec;

use super::Op;
use crate::time::{Instant, Span};

/// Maximum number of slots. After a doubling at least half of them are in use, so a slot is at most a 512th of the whole
/// time. Inferred: an end within a slot misplaces at most its counts, and a member's curve takes 120 KB.
const MAX_SLOTS: u64 = 1024;

/// Binary logarithm of a slot's initial length in nanoseconds: about a millisecond, the order of one disk access.
const INITIAL_LENGTH_LOG2: u32 = 20;

/// The purpose of a command to a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MemberWork {
    /// Data, parity or a flush for a request from above. Reads that reconstruct lost data of a read belong here.
    User,
    /// A read of old data or old parity that a write needs first: read-modify-write.
    ModifyRead,
    /// A read of the rest of a row that a write needs first: reconstruct-write. Also a read that reconstructs lost data
    /// for a write.
    ReconstructRead,
    /// A rebuild or a check.
    Sync,
    /// Pages of a write-intent bitmap, and the flushes around them.
    Bitmap,
}

/// Commands, and the sectors that they moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MovedSectors {
    pub commands: u64,
    pub sectors: u64,
}

impl MovedSectors {
    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: MovedSectors) -> MovedSectors {
        MovedSectors { commands: self.commands + other.commands, sectors: self.sectors + other.sectors }
    }
}

/// Counts of a member, or of an array's own requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemberCounts {
    /// Reads for requests from above.
    pub user_reads: MovedSectors,
    /// Writes for requests from above: data and parity.
    pub user_writes: MovedSectors,
    /// Reads of old data and parity before writes.
    pub modify_reads: MovedSectors,
    /// Reads of the rest of a row before writes.
    pub reconstruct_reads: MovedSectors,
    /// Reads of a rebuild or a check.
    pub sync_reads: MovedSectors,
    /// Writes of a rebuild or a check.
    pub sync_writes: MovedSectors,
    /// Writes of the write-intent bitmap.
    pub bitmap_writes: MovedSectors,
    /// Flush commands, for whatever purpose.
    pub flushes: u64,
    /// Sum of the times that reads took, from being sent to their completion.
    pub read_time: Span,
    /// The same sum of writes.
    pub write_time: Span,
    /// Time with at least one command in flight, flushes included: as `io_ticks` of `/sys/block/*/stat` and `%util` of
    /// `iostat`, but exact.
    pub busy: Span,
}

impl MemberCounts {
    /// All reads.
    pub fn reads(&self) -> MovedSectors {
        self.user_reads.plus(self.reads_before_writes()).plus(self.sync_reads)
    }

    /// All writes.
    pub fn writes(&self) -> MovedSectors {
        self.user_writes.plus(self.sync_writes).plus(self.bitmap_writes)
    }

    /// Reads that only writes needed: old data, old parity, the rest of a row.
    pub fn reads_before_writes(&self) -> MovedSectors {
        self.modify_reads.plus(self.reconstruct_reads)
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(&self, other: &MemberCounts) -> MemberCounts {
        let (mut sum, more) = (self.to_columns(), other.to_columns());
        sum.iter_mut().zip(more).for_each(|(count, more)| *count += more);
        MemberCounts::from_columns(sum)
    }

    fn to_columns(self) -> Columns {
        let MemberCounts { user_reads, user_writes, modify_reads, reconstruct_reads, sync_reads, .. } = self;
        let moved = [user_reads, user_writes, modify_reads, reconstruct_reads, sync_reads];
        let mut columns = [0; COLUMNS];
        for (index, moved) in moved.into_iter().chain([self.sync_writes, self.bitmap_writes]).enumerate() {
            (columns[2 * index], columns[2 * index + 1]) = (moved.commands, moved.sectors);
        }
        (columns[FLUSHES], columns[BUSY]) = (self.flushes, self.busy.nanos());
        (columns[READ_TIME], columns[WRITE_TIME]) = (self.read_time.nanos(), self.write_time.nanos());
        columns
    }

    fn from_columns(columns: Columns) -> MemberCounts {
        let moved = |index: usize| MovedSectors { commands: columns[2 * index], sectors: columns[2 * index + 1] };
        MemberCounts {
            user_reads: moved(0),
            user_writes: moved(1),
            modify_reads: moved(2),
            reconstruct_reads: moved(3),
            sync_reads: moved(4),
            sync_writes: moved(5),
            bitmap_writes: moved(6),
            flushes: columns[FLUSHES],
            read_time: Span::from_nanos(columns[READ_TIME]),
            write_time: Span::from_nanos(columns[WRITE_TIME]),
            busy: Span::from_nanos(columns[BUSY]),
        }
    }
}

/// Counts of a slot: commands and sectors of each kind in turn, in the order of the fields of [`MemberCounts`], then
/// flushes, and nanoseconds.
type Columns = [u64; COLUMNS];
const COLUMNS: usize = 18;
const FLUSHES: usize = 14;
const READ_TIME: usize = 15;
const WRITE_TIME: usize = 16;
const BUSY: usize = 17;

/// The column of the commands of this purpose; that of their sectors is the next. Of each purpose there are only the
/// operations named here.
fn command_column(work: MemberWork, op: Op) -> usize {
    match (work, op) {
        (_, Op::Flush) => FLUSHES,
        (MemberWork::User, Op::Read) => 0,
        (MemberWork::User, _) => 2,
        (MemberWork::ModifyRead, _) => 4,
        (MemberWork::ReconstructRead, _) => 6,
        (MemberWork::Sync, Op::Read) => 8,
        (MemberWork::Sync, _) => 10,
        (MemberWork::Bitmap, _) => 12,
    }
}

/// Counts over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadCurve {
    /// Binary logarithm of a slot's length in nanoseconds.
    length_log2: u32,
    /// Slot n has what ended later than its beginning, and at its end at the latest; slots beyond the last have nothing.
    slots: Vec<Columns>,
    /// Counted up to this instant.
    until: Instant,
    totals: Columns,
}

impl Default for LoadCurve {
    fn default() -> LoadCurve {
        LoadCurve { length_log2: INITIAL_LENGTH_LOG2, slots: Vec::new(), until: Instant::ZERO, totals: [0; COLUMNS] }
    }
}

impl LoadCurve {
    /// All counts so far.
    pub fn totals(&self) -> MemberCounts {
        MemberCounts::from_columns(self.totals)
    }

    /// The counts later than `from`, and at `until` at the latest.
    pub fn counts_between(&self, from: Instant, until: Instant) -> MemberCounts {
        let (from_ns, until_ns) = (from.nanos(), until.min(self.until).nanos());
        let mut sum = [0u64; COLUMNS];
        for (slot, columns) in (0..).zip(&self.slots) {
            let begin_ns: u64 = slot << self.length_log2;
            let end_ns = (begin_ns + (1 << self.length_log2)).min(self.until.nanos());
            let part_ns = end_ns.min(until_ns).saturating_sub(begin_ns.max(from_ns));
            let whole_ns = end_ns.saturating_sub(begin_ns);
            if part_ns == 0 {
                continue;
            }
            for (sum, count) in sum.iter_mut().zip(columns) {
                let share = u128::from(*count) * u128::from(part_ns) + u128::from(whole_ns / 2);
                *sum += (share / u128::from(whole_ns)) as u64;
            }
        }
        MemberCounts::from_columns(sum)
    }

    /// Counts a command for `work` that took from `from` to `at`.
    pub(crate) fn count_command(&mut self, work: MemberWork, op: Op, sectors: u32, from: Instant, at: Instant) {
        self.extend_to(at);
        let slot = (at.nanos().saturating_sub(1) >> self.length_log2) as usize;
        let (column, took_ns) = (command_column(work, op), at.saturating_since(from).nanos());
        for columns in [&mut self.totals, &mut self.slots[slot]] {
            columns[column] += 1;
            match op {
                Op::Flush => continue,
                Op::Read => columns[READ_TIME] += took_ns,
                _ => columns[WRITE_TIME] += took_ns,
            }
            columns[column + 1] += u64::from(sectors);
        }
    }

    /// Counts the time from `from` to `until` as busy. Spans do not overlap.
    pub(crate) fn count_busy_time(&mut self, from: Instant, until: Instant) {
        if until <= from {
            return;
        }
        self.extend_to(until);
        self.totals[BUSY] += until.since(from).nanos();
        let (mut at_ns, until_ns) = (from.nanos(), until.nanos());
        while at_ns < until_ns {
            let slot = at_ns >> self.length_log2;
            let end_ns = ((slot + 1) << self.length_log2).min(until_ns);
            self.slots[slot as usize][BUSY] += end_ns - at_ns;
            at_ns = end_ns;
        }
    }

    /// Makes slots up to `until`; doubles their length if they would be too many.
    pub(crate) fn extend_to(&mut self, until: Instant) {
        self.until = self.until.max(until);
        let last_ns = self.until.nanos().saturating_sub(1);
        while last_ns >> self.length_log2 >= MAX_SLOTS {
            let joined = |pair: &[Columns]| {
                let second = pair.get(1).copied().unwrap_or([0; COLUMNS]);
                core::array::from_fn(|column| pair[0][column] + second[column])
            };
            self.slots = self.slots.chunks(2).map(joined).collect();
            self.length_log2 += 1;
        }
        let slots = (last_ns >> self.length_log2) as usize + 1;
        if slots > self.slots.len() {
            self.slots.resize(slots, [0; COLUMNS]);
        }
    }
}

/// The work of an array over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArrayLoad {
    /// Reads and writes that the array completed for those above it, as user work. It has no busy time.
    pub requests: LoadCurve,
    /// By member.
    pub members: Vec<LoadCurve>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }

    const SLOT: u64 = 1 << INITIAL_LENGTH_LOG2;

    #[test]
    fn a_span_has_the_counts_of_its_slots_and_its_share_of_those_at_its_ends() {
        let mut curve = LoadCurve::default();
        curve.count_command(MemberWork::User, Op::Read, 8, at(0), at(1));
        curve.count_command(MemberWork::User, Op::Read, 8, at(0), at(SLOT));
        curve.count_command(MemberWork::ModifyRead, Op::Read, 100, at(SLOT), at(SLOT + 1));
        curve.count_busy_time(at(SLOT / 2), at(3 * SLOT));
        let whole = curve.counts_between(Instant::ZERO, Instant::FAR);
        assert_eq!(whole, curve.totals());
        assert_eq!(whole.user_reads, MovedSectors { commands: 2, sectors: 16 });
        assert_eq!((whole.modify_reads.sectors, whole.busy.nanos()), (100, 5 * SLOT / 2));
        let first = curve.counts_between(Instant::ZERO, at(SLOT));
        assert_eq!((first.user_reads.commands, first.modify_reads.commands), (2, 0), "an end belongs to its slot");
        let half = curve.counts_between(at(SLOT + SLOT / 2), at(2 * SLOT));
        assert_eq!((half.modify_reads.sectors, half.busy.nanos()), (50, SLOT / 2));
        assert_eq!(curve.counts_between(at(9 * SLOT), Instant::FAR), MemberCounts::default());
    }

    #[test]
    fn slots_grow_and_keep_their_counts() {
        let mut curve = LoadCurve::default();
        for turn in 0..10_000u64 {
            let begin = turn * 10 * SLOT;
            curve.count_busy_time(at(begin), at(begin + 4 * SLOT));
            curve.count_command(MemberWork::Sync, Op::Write, 3, at(begin), at(begin + 4 * SLOT));
        }
        assert!(curve.slots.len() as u64 <= MAX_SLOTS && curve.length_log2 > INITIAL_LENGTH_LOG2);
        let totals = curve.totals();
        assert_eq!(totals.sync_writes, MovedSectors { commands: 10_000, sectors: 30_000 });
        assert_eq!((totals.busy.nanos(), totals.writes()), (40_000 * SLOT, totals.sync_writes));
        assert_eq!(curve.counts_between(Instant::ZERO, Instant::FAR), totals);
        let half = curve.counts_between(at(50_000 * SLOT), Instant::FAR);
        assert!(half.sync_writes.commands.abs_diff(5_000) <= 10, "{half:?}");
    }

    #[test]
    fn each_purpose_has_counts_of_its_own() {
        let mut curve = LoadCurve::default();
        let works = [
            (MemberWork::User, Op::Read),
            (MemberWork::User, Op::Write),
            (MemberWork::ModifyRead, Op::Read),
            (MemberWork::ReconstructRead, Op::Read),
            (MemberWork::Sync, Op::Read),
            (MemberWork::Sync, Op::Write),
            (MemberWork::Bitmap, Op::Write),
        ];
        for (sectors, (work, op)) in (1..).zip(works) {
            curve.count_command(work, op, sectors, at(2), at(5));
        }
        curve.count_command(MemberWork::Bitmap, Op::Flush, 0, at(2), at(5));
        let counts = curve.totals();
        let one = |sectors| MovedSectors { commands: 1, sectors };
        let expected = MemberCounts {
            user_reads: one(1),
            user_writes: one(2),
            modify_reads: one(3),
            reconstruct_reads: one(4),
            sync_reads: one(5),
            sync_writes: one(6),
            bitmap_writes: one(7),
            flushes: 1,
            read_time: Span::from_nanos(4 * 3),
            write_time: Span::from_nanos(3 * 3),
            busy: Span::ZERO,
        };
        assert_eq!(counts, expected);
        assert_eq!((counts.reads().sectors, counts.writes().sectors), (1 + 3 + 4 + 5, 2 + 6 + 7));
        assert_eq!(counts.plus(&counts).reads().sectors, 2 * 13);
    }
}
