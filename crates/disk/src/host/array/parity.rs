//! A row of a volume with parity: what a write reads first, what it writes, and what is read to reconstruct lost data.
//! The array makes the commands and counts the time; this module only plans.
//!
//! Three methods give the new parity:
//!
//! | method | reads |
//! |---|---|
//! | modify | the data to be overwritten, and the old parity |
//! | reconstruct | the rest of the row |
//! | whole | enough of the row's chunks to know all of it; used if needed data are lost |
//!
//! The method with fewer reads is taken, reconstruct on a tie, as Linux does (`handle_stripe_dirtying` in
//! `drivers/md/raid5.c`: read-modify-write only if it needs fewer). A row that is overwritten as a whole is not
//! read. A write that touches several chunks of a row updates the parity of whole chunks.

use core::ops::RangeInclusive;

use super::layout::{ArrayVolume, MemberSet};
use super::portions::{MemberSpan, SectorBounds};
use crate::block::array_load::MemberWork;

/// How to update parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParityWrite {
    /// The method with fewer reads.
    Fewest,
    /// Read-modify-write unless data are lost.
    Modify,
    /// Reconstruct-write unless data are lost.
    Reconstruct,
}

/// The method by which a write gets the new parity: the reads before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParityMethod {
    Nothing,
    Modify,
    Reconstruct,
    Whole,
}

impl ParityMethod {
    /// The purpose of its reads.
    pub(super) fn read_work(self) -> MemberWork {
        match self {
            ParityMethod::Modify => MemberWork::ModifyRead,
            ParityMethod::Nothing | ParityMethod::Reconstruct | ParityMethod::Whole => MemberWork::ReconstructRead,
        }
    }
}

/// A part of a row: data blocks, counted from the row's first.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowPart {
    pub volume: ArrayVolume,
    pub row: u64,
    pub blocks: SectorBounds,
}

impl RowPart {
    /// The sectors of a column's chunk that the part covers.
    fn covered_in_column(&self, column: u32) -> Option<SectorBounds> {
        let start = u64::from(column) * self.volume.chunk;
        let (from, end) = (self.blocks.from.max(start), self.blocks.end.min(start + self.volume.chunk));
        (from < end).then(|| SectorBounds { from: from - start, end: end - start })
    }

    /// The sectors of a chunk that the part touches in any column; all of them if it touches several columns. These are
    /// the sectors of the parity chunks that change.
    pub fn chunk_bounds(&self) -> SectorBounds {
        let SectorBounds { from, end } = self.blocks;
        let (first, last) = (from / self.volume.chunk, (end - 1) / self.volume.chunk);
        match first == last {
            true => SectorBounds { from: from - first * self.volume.chunk, end: end - first * self.volume.chunk },
            false => SectorBounds { from: 0, end: self.volume.chunk },
        }
    }

    /// These sectors of the row's chunk on `member`, as sectors of the member.
    fn member_span(&self, member: u32, in_chunk: SectorBounds) -> MemberSpan {
        let start = self.volume.row_start(self.row);
        MemberSpan { member, bounds: SectorBounds { from: start + in_chunk.from, end: start + in_chunk.end } }
    }

    /// The columns that the part touches.
    fn touched_columns(&self) -> RangeInclusive<u32> {
        (self.blocks.from / self.volume.chunk) as u32..=((self.blocks.end - 1) / self.volume.chunk) as u32
    }

    fn column_member(&self, column: u32) -> u32 {
        self.volume.data_member(self.row, column, 0)
    }

    fn parity_members(&self) -> impl Iterator<Item = u32> + use<> {
        let (volume, row) = (self.volume, self.row);
        (0..volume.parities()).map(move |parity| volume.parity_member(row, parity))
    }

    /// The sectors of a column's chunk, within the chunk bounds, that the part does not cover: up to two ranges. Parity
    /// is reconstructed from them.
    fn uncovered_in_column(&self, column: u32) -> impl Iterator<Item = SectorBounds> {
        let SectorBounds { from, end } = self.chunk_bounds();
        let covered = self.covered_in_column(column).unwrap_or(SectorBounds { from: end, end });
        let ranges = [SectorBounds { from, end: covered.from }, SectorBounds { from: covered.end, end }];
        ranges.into_iter().filter(|range| range.from < range.end)
    }

    /// True if a column of the part is on a member outside `readable`.
    pub(crate) fn touches_unreadable_member(&self, readable: MemberSet) -> bool {
        self.touched_columns().any(|column| readable >> self.column_member(column) & 1 == 0)
    }

    /// The method to write the part if the members in `readable` can be read and those in `writable` written; `None` if
    /// too many are lost.
    pub(crate) fn choose_method(
        &self,
        readable: MemberSet,
        writable: MemberSet,
        preferred: ParityWrite,
    ) -> Option<ParityMethod> {
        let parities = self.parity_members().filter(|member| writable >> member & 1 == 1);
        let can_read = |member: u32| readable >> member & 1 == 1;
        let (mut modify_reads, mut reconstruct_reads) = (0, 0);
        let (mut can_modify, mut can_reconstruct) = (true, true);
        for parity in parities {
            modify_reads += 1;
            can_modify &= can_read(parity);
        }
        if modify_reads == 0 {
            return Some(ParityMethod::Nothing);
        }
        for column in self.touched_columns() {
            let is_readable = can_read(self.column_member(column));
            modify_reads += 1;
            can_modify &= is_readable;
            let ranges = self.uncovered_in_column(column).count();
            reconstruct_reads += ranges;
            can_reconstruct &= ranges == 0 || is_readable;
        }
        // Each other column is read in one range.
        let all = (1u64 << self.volume.members) - 1;
        let mut others = (0..self.volume.columns()).filter(|column| !self.touched_columns().contains(column));
        reconstruct_reads += self.volume.columns() as usize - self.touched_columns().count();
        can_reconstruct &= readable & all == all || others.all(|column| can_read(self.column_member(column)));
        let if_both = match preferred {
            ParityWrite::Fewest if modify_reads < reconstruct_reads => ParityMethod::Modify,
            ParityWrite::Modify => ParityMethod::Modify,
            _ => ParityMethod::Reconstruct,
        };
        match (can_modify, can_reconstruct) {
            (_, true) if reconstruct_reads == 0 => Some(ParityMethod::Nothing),
            (true, true) => Some(if_both),
            (true, false) => Some(ParityMethod::Modify),
            (false, true) => Some(ParityMethod::Reconstruct),
            (false, false) => self.source_members(readable).is_some().then_some(ParityMethod::Whole),
        }
    }

    /// Readable members that suffice to know the whole row: data first, then P, then Q. `None` if there are too few.
    pub(crate) fn source_members(&self, readable: MemberSet) -> Option<MemberSet> {
        let columns = self.volume.columns();
        let data = (0..columns).map(|column| self.column_member(column));
        let chosen =
            data.chain(self.parity_members()).filter(|member| readable >> member & 1 == 1).take(columns as usize);
        let chosen = chosen.fold(0u64, |all, member| all | 1 << member);
        (chosen.count_ones() == columns).then_some(chosen)
    }

    /// Calls `read` with each range to be read before a write by this method.
    pub(crate) fn for_each_read(&self, method: ParityMethod, readable: MemberSet, mut read: impl FnMut(MemberSpan)) {
        match method {
            ParityMethod::Nothing => {}
            ParityMethod::Whole => self.for_each_source_read(readable, read),
            ParityMethod::Modify => {
                for column in self.touched_columns() {
                    if let Some(covered) = self.covered_in_column(column) {
                        read(self.member_span(self.column_member(column), covered));
                    }
                }
                let parities = self.parity_members().filter(|member| readable >> member & 1 == 1);
                parities.for_each(|member| read(self.member_span(member, self.chunk_bounds())));
            }
            ParityMethod::Reconstruct => {
                for column in 0..self.volume.columns() {
                    for range in self.uncovered_in_column(column) {
                        read(self.member_span(self.column_member(column), range));
                    }
                }
            }
        }
    }

    /// How many sectors the processor reads to compute the parity by this method. Lost data are computed first.
    pub(crate) fn computed_sectors(&self, method: ParityMethod, writable: MemberSet) -> u64 {
        let SectorBounds { from, end } = self.chunk_bounds();
        let row = u64::from(self.volume.columns()) * (end - from);
        match method {
            ParityMethod::Nothing if !self.parity_members().any(|member| writable >> member & 1 == 1) => 0,
            ParityMethod::Nothing | ParityMethod::Reconstruct => row,
            // Old and new data, and the old parities.
            ParityMethod::Modify => {
                2 * (self.blocks.end - self.blocks.from) + u64::from(self.volume.parities()) * (end - from)
            }
            ParityMethod::Whole => 2 * row,
        }
    }

    /// Calls `read` with each range to be read to know the whole row within the part's chunk bounds; with none if too many
    /// members are lost.
    pub(crate) fn for_each_source_read(&self, readable: MemberSet, mut read: impl FnMut(MemberSpan)) {
        let sources = self.source_members(readable).unwrap_or(0);
        let members = (0..self.volume.members).filter(|member| sources >> member & 1 == 1);
        members.for_each(|member| read(self.member_span(member, self.chunk_bounds())));
    }

    /// Calls `write` with each range to be written: data and parities, on the members in `writable`.
    pub(crate) fn for_each_write(&self, writable: MemberSet, mut write: impl FnMut(MemberSpan)) {
        for column in self.touched_columns() {
            let member = self.column_member(column);
            if let Some(covered) = self.covered_in_column(column).filter(|_| writable >> member & 1 == 1) {
                write(self.member_span(member, covered));
            }
        }
        let parities = self.parity_members().filter(|member| writable >> member & 1 == 1);
        parities.for_each(|member| write(self.member_span(member, self.chunk_bounds())));
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::RaidLevel;
    use super::*;
    use alloc::vec::Vec;

    const ALL: MemberSet = 0b11111;

    /// Row 0 of five drives: data on 0 to 3 and P on 4, or data on 1 to 3, P on 4 and Q on 0.
    fn row_part(level: RaidLevel, from: u64, end: u64) -> RowPart {
        let volume = ArrayVolume { level, members: 5, chunk: 16, first: 0, sectors: 160 };
        RowPart { volume, row: 0, blocks: SectorBounds { from, end } }
    }

    /// Member, first sector and end.
    fn span_figures(span: MemberSpan) -> (u32, u64, u64) {
        (span.member, span.bounds.from, span.bounds.end)
    }

    /// The reads before a write of the part, if both reads and writes can go to `members` only.
    fn reads(part: RowPart, members: MemberSet) -> Option<Vec<(u32, u64, u64)>> {
        let method = part.choose_method(members, members, ParityWrite::Fewest)?;
        let mut all = Vec::new();
        part.for_each_read(method, members, |span| all.push(span_figures(span)));
        Some(all)
    }

    #[test]
    fn the_method_with_fewer_reads_is_taken() {
        let (one, three) = (row_part(RaidLevel::Raid5, 16, 24), row_part(RaidLevel::Raid5, 0, 48));
        assert_eq!(reads(one, ALL).unwrap(), [(1, 0, 8), (4, 0, 8)], "modify: two reads against three");
        assert_eq!(reads(three, ALL).unwrap(), [(3, 0, 16)], "reconstruct: one read against four");
        assert_eq!(reads(row_part(RaidLevel::Raid5, 0, 64), ALL).unwrap(), [], "a whole row");
        let one = row_part(RaidLevel::Raid6, 0, 8);
        assert_eq!(reads(one, ALL).unwrap(), [(2, 0, 8), (3, 0, 8)], "reconstruct: two against three");
        assert_eq!(one.choose_method(ALL, ALL, ParityWrite::Modify), Some(ParityMethod::Modify));
    }

    #[test]
    fn what_is_lost_is_gone_around() {
        let one = row_part(RaidLevel::Raid5, 16, 24);
        assert_eq!(reads(one, ALL & !2).unwrap(), [(0, 0, 8), (2, 0, 8), (3, 0, 8)], "its own drive: the other data");
        assert_eq!(reads(one, ALL & !1).unwrap(), [(1, 0, 8), (4, 0, 8)], "another drive: modify");
        assert_eq!(reads(one, ALL & !16).unwrap(), [], "parity: nothing to keep up");
        let two = row_part(RaidLevel::Raid5, 8, 24);
        assert_eq!(reads(two, ALL & !1).unwrap(), [(1, 0, 16), (2, 0, 16), (3, 0, 16), (4, 0, 16)], "the whole row");
        assert_eq!(reads(two, ALL & !3), None, "too much is lost");
    }

    #[test]
    fn writes_go_to_data_and_parity() {
        let mut all = Vec::new();
        row_part(RaidLevel::Raid6, 8, 24).for_each_write(ALL & !1, |span| all.push(span_figures(span)));
        assert_eq!(all, [(1, 8, 16), (2, 0, 8), (4, 0, 16)]);
    }
}
