//! A row of a volume with parity: what a write reads first, what it writes, and what is read to reconstruct lost data.
//! Planning only: times and commands are the array's.
//!
//! There are three ways to the new parity:
//!
//! | way | reads |
//! |---|---|
//! | modify | the data to be overwritten, and the old parity |
//! | reconstruct | the rest of the row |
//! | whole | enough of the row's chunks to know all of it; used where needed data are lost |
//!
//! The way with fewer reads is taken, reconstruct on a tie, as Linux does (`handle_stripe_dirtying` in
//! `drivers/md/raid5.c`: read-modify-write only where it needs fewer). A row that is overwritten as a whole is not
//! read. A write that touches several chunks of a row takes the parity of whole chunks.

use core::ops::RangeInclusive;

use super::layout::ArrayVolume;

/// How to update parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParityWrite {
    /// The way with fewer reads.
    Fewest,
    /// Read-modify-write unless data are lost.
    Modify,
    /// Reconstruct-write unless data are lost.
    Reconstruct,
}

/// The reads before a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParityRead {
    Nothing,
    Modify,
    Reconstruct,
    Whole,
}

/// A part of a row: data blocks `from..to`, counted from the row's first.
#[derive(Clone, Copy, Debug)]
pub(super) struct StripeRow {
    pub volume: ArrayVolume,
    pub row: u64,
    pub from: u64,
    pub to: u64,
}

impl StripeRow {
    /// The range of a column that the part covers, in sectors of its chunk.
    fn covered_in_column(&self, column: u32) -> Option<(u64, u64)> {
        let start = u64::from(column) * self.volume.chunk;
        let (from, to) = (self.from.max(start), self.to.min(start + self.volume.chunk));
        (from < to).then(|| (from - start, to - start))
    }

    /// The sectors of a chunk that the part touches in any column; all of them if it touches several columns.
    pub fn hull(&self) -> (u64, u64) {
        let (first, last) = (self.from / self.volume.chunk, (self.to - 1) / self.volume.chunk);
        match first == last {
            true => (self.from - first * self.volume.chunk, self.to - first * self.volume.chunk),
            false => (0, self.volume.chunk),
        }
    }

    /// The columns that the part touches.
    fn touched_columns(&self) -> RangeInclusive<u32> {
        (self.from / self.volume.chunk) as u32..=((self.to - 1) / self.volume.chunk) as u32
    }

    fn column_member(&self, column: u32) -> u32 {
        self.volume.data_member(self.row, column, 0)
    }

    fn parity_members(&self) -> impl Iterator<Item = u32> + use<> {
        let (volume, row) = (self.volume, self.row);
        (0..volume.parities()).map(move |which| volume.parity_member(row, which))
    }

    /// The reads of a column that reconstruct parity: the sectors of the hull that the part does not cover, at most two
    /// runs.
    fn uncovered_in_column(&self, column: u32) -> [(u64, u64); 2] {
        let (low, high) = self.hull();
        match self.covered_in_column(column) {
            Some((from, to)) => [(low, from), (to, high)],
            None => [(low, high), (high, high)],
        }
    }

    /// True if a column of the part is on a member outside `usable`.
    pub(crate) fn touches_missing_member(&self, usable: u64) -> bool {
        self.touched_columns().any(|column| usable >> self.column_member(column) & 1 == 0)
    }

    /// The way to write the part when the members in `usable` can be read and those in `writable` written; `None` if
    /// too many are lost.
    pub(crate) fn choose_method(&self, usable: u64, writable: u64, wanted: ParityWrite) -> Option<ParityRead> {
        let parities = self.parity_members().filter(|member| writable >> member & 1 == 1);
        let can_read = |member: u32| usable >> member & 1 == 1;
        let (mut modify, mut reconstruct) = (0, 0);
        let (mut can_modify, mut can_reconstruct) = (true, true);
        for parity in parities {
            modify += 1;
            can_modify &= can_read(parity);
        }
        if modify == 0 {
            return Some(ParityRead::Nothing);
        }
        for column in self.touched_columns() {
            let readable = can_read(self.column_member(column));
            modify += 1;
            can_modify &= readable;
            let runs = self.uncovered_in_column(column).iter().filter(|run| run.0 < run.1).count();
            reconstruct += runs;
            can_reconstruct &= runs == 0 || readable;
        }
        // A run of each other column.
        let all = (1u64 << self.volume.members) - 1;
        let mut others = (0..self.volume.columns()).filter(|column| !self.touched_columns().contains(column));
        reconstruct += self.volume.columns() as usize - self.touched_columns().count();
        can_reconstruct &= usable & all == all || others.all(|column| can_read(self.column_member(column)));
        let both = match wanted {
            ParityWrite::Fewest if modify < reconstruct => ParityRead::Modify,
            ParityWrite::Modify => ParityRead::Modify,
            _ => ParityRead::Reconstruct,
        };
        match (can_modify, can_reconstruct) {
            (_, true) if reconstruct == 0 => Some(ParityRead::Nothing),
            (true, true) => Some(both),
            (true, false) => Some(ParityRead::Modify),
            (false, true) => Some(ParityRead::Reconstruct),
            (false, false) => self.source_members(usable).is_some().then_some(ParityRead::Whole),
        }
    }

    /// Readable members, one bit each, that suffice to know the whole row: data first, then P, then Q.
    pub(crate) fn source_members(&self, usable: u64) -> Option<u64> {
        let columns = self.volume.columns();
        let data = (0..columns).map(|column| self.column_member(column));
        let chosen =
            data.chain(self.parity_members()).filter(|member| usable >> member & 1 == 1).take(columns as usize);
        let chosen = chosen.fold(0u64, |all, member| all | 1 << member);
        (chosen.count_ones() == columns).then_some(chosen)
    }

    /// Reports to `read` what to read before the write: member, first sector, end.
    pub(crate) fn visit_reads(&self, way: ParityRead, usable: u64, mut read: impl FnMut(u32, u64, u64)) {
        let start = self.volume.row_start(self.row);
        let (low, high) = self.hull();
        match way {
            ParityRead::Nothing => {}
            ParityRead::Whole => self.visit_source_reads(usable, read),
            ParityRead::Modify => {
                for column in self.touched_columns() {
                    if let Some((from, to)) = self.covered_in_column(column) {
                        read(self.column_member(column), start + from, start + to);
                    }
                }
                self.parity_members().filter(|m| usable >> m & 1 == 1).for_each(|m| read(m, start + low, start + high));
            }
            ParityRead::Reconstruct => {
                for column in 0..self.volume.columns() {
                    for (from, to) in self.uncovered_in_column(column).into_iter().filter(|run| run.0 < run.1) {
                        read(self.column_member(column), start + from, start + to);
                    }
                }
            }
        }
    }

    /// How many sectors enter the parity computation. Lost data are computed first.
    pub(crate) fn computed_sectors(&self, way: ParityRead, writable: u64) -> u64 {
        let (low, high) = self.hull();
        let row = u64::from(self.volume.columns()) * (high - low);
        match way {
            ParityRead::Nothing if !self.parity_members().any(|member| writable >> member & 1 == 1) => 0,
            ParityRead::Nothing | ParityRead::Reconstruct => row,
            // Old and new data, and the old parities.
            ParityRead::Modify => 2 * (self.to - self.from) + u64::from(self.volume.parities()) * (high - low),
            ParityRead::Whole => 2 * row,
        }
    }

    /// Reports to `read` what to read to know the whole row within the part's hull; nothing if too many members are
    /// lost.
    pub(crate) fn visit_source_reads(&self, usable: u64, mut read: impl FnMut(u32, u64, u64)) {
        let start = self.volume.row_start(self.row);
        let (low, high) = self.hull();
        let sources = self.source_members(usable).unwrap_or(0);
        let members = (0..self.volume.members).filter(|member| sources >> member & 1 == 1);
        members.for_each(|member| read(member, start + low, start + high));
    }

    /// Reports to `write` what to write: data and parities, on the members in `writable`.
    pub(crate) fn visit_writes(&self, writable: u64, mut write: impl FnMut(u32, u64, u64)) {
        let start = self.volume.row_start(self.row);
        let (low, high) = self.hull();
        for column in self.touched_columns() {
            let member = self.column_member(column);
            if let Some((from, to)) = self.covered_in_column(column).filter(|_| writable >> member & 1 == 1) {
                write(member, start + from, start + to);
            }
        }
        self.parity_members().filter(|m| writable >> m & 1 == 1).for_each(|m| write(m, start + low, start + high));
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::RaidLevel;
    use super::*;
    use alloc::vec::Vec;

    const ALL: u64 = 0b11111;

    /// Row 0 of five drives: data on 0 to 3 and P on 4, or data on 1 to 3, P on 4 and Q on 0.
    fn part(level: RaidLevel, from: u64, to: u64) -> StripeRow {
        let volume = ArrayVolume { level, members: 5, chunk: 16, first: 0, sectors: 160 };
        StripeRow { volume, row: 0, from, to }
    }

    fn reads(row: StripeRow, usable: u64) -> Option<Vec<(u32, u64, u64)>> {
        let mut all = Vec::new();
        row.visit_reads(row.choose_method(usable, usable, ParityWrite::Fewest)?, usable, |m, a, b| all.push((m, a, b)));
        Some(all)
    }

    #[test]
    fn the_way_with_fewer_reads_is_taken() {
        let (one, three) = (part(RaidLevel::Raid5, 16, 24), part(RaidLevel::Raid5, 0, 48));
        assert_eq!(reads(one, ALL).unwrap(), [(1, 0, 8), (4, 0, 8)], "modify: two reads against three");
        assert_eq!(reads(three, ALL).unwrap(), [(3, 0, 16)], "reconstruct: one read against four");
        assert_eq!(reads(part(RaidLevel::Raid5, 0, 64), ALL).unwrap(), [], "a whole row");
        let one = part(RaidLevel::Raid6, 0, 8);
        assert_eq!(reads(one, ALL).unwrap(), [(2, 0, 8), (3, 0, 8)], "reconstruct: two against three");
        assert_eq!(one.choose_method(ALL, ALL, ParityWrite::Modify), Some(ParityRead::Modify));
    }

    #[test]
    fn what_is_lost_is_gone_around() {
        let one = part(RaidLevel::Raid5, 16, 24);
        assert_eq!(reads(one, ALL & !2).unwrap(), [(0, 0, 8), (2, 0, 8), (3, 0, 8)], "its own drive: the other data");
        assert_eq!(reads(one, ALL & !1).unwrap(), [(1, 0, 8), (4, 0, 8)], "another drive: modify");
        assert_eq!(reads(one, ALL & !16).unwrap(), [], "parity: nothing to keep up");
        let two = part(RaidLevel::Raid5, 8, 24);
        assert_eq!(reads(two, ALL & !1).unwrap(), [(1, 0, 16), (2, 0, 16), (3, 0, 16), (4, 0, 16)], "the whole row");
        assert_eq!(reads(two, ALL & !3), None, "too much is lost");
    }

    #[test]
    fn writes_go_to_data_and_parity() {
        let mut all = Vec::new();
        part(RaidLevel::Raid6, 8, 24).visit_writes(ALL & !1, |m, a, b| all.push((m, a, b)));
        assert_eq!(all, [(1, 8, 16), (2, 0, 8), (4, 0, 16)]);
    }
}
