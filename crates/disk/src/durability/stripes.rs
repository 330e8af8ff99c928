//! Rows with parity at a cut. If the parity of a row does not match its data, and one of its drives is lost before
//! parity is computed again, the row returns data that nobody wrote: the write hole. If a drive is lost already, its
//! content is computed from parity and the other data. Where these do not match, it is gone.
//!
//! A row consists of one chunk on each drive: a *column* of data or a parity. The array adds writes to the pages of a row in
//! the order of their numbers, and writes what has gathered together with the new parity. Parity whose last write has the
//! number `p` covers, for each column, the last write up to `p`. So a column does not match it if the column holds a later write, or if a write between its content
//! and `p` was meant for it. Nothing can be computed from an unreadable sector.
//!
//! The module keeps the writes whose data and parity are not wholly on the medium, and the number of the write that each
//! sector came from.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use crate::block::{CutSector, MemberRole};
use crate::host::array::layout::{ArrayVolume, MemberSet};

use super::heads::StampedRun;
use super::runs::{SectorRun, SectorRuns, run_overlap, run_without_all};

/// Rows that do not agree with their parity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteHoles {
    pub rows: u64,
    /// Data sectors in them that the loss of their drive would change.
    pub sectors: u64,
}

/// Blocks of lost drives at a cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LostBlocks {
    /// Parity and the other data do not agree: the content is gone.
    pub gone: Vec<SectorRun>,
    /// A sector needed to compute them is unreadable.
    pub torn: Vec<SectorRun>,
    /// Blocks that the sectors under the heads make computable, with the stamp of each.
    pub besides: Vec<(SectorRun, u64)>,
}

/// The writes that are kept before the first of them are pruned. Any number gives the same results; a small one costs
/// time.
const MIN_PRUNE_SIZE: usize = 64;

/// The rows of all volumes with parity.
#[derive(Clone, Debug)]
pub(crate) struct StripeRows {
    /// Each with its first block.
    volumes: Vec<(u64, ArrayVolume)>,
    lost: MemberSet,
    /// By block: the number of the write that it came from.
    data: SectorRuns<u64>,
    /// For each parity the number as in `data`, by the block at the same offset in the row's first column.
    parity: [SectorRuns<u64>; 2],
    /// By number: writes that are not wholly on the medium.
    open: BTreeMap<u64, AcceptedWrite>,
    /// The size of `open` beyond which it is pruned.
    prune_size: usize,
    /// As `data`, for blocks of lost drives: the write last recovered from the rest of the row.
    recovered: SectorRuns<u64>,
    /// Blocks of lost drives that cannot be recovered.
    gone: SectorRuns<()>,
}

/// A write as the array accepted it.
#[derive(Clone, Debug)]
struct AcceptedWrite {
    run: SectorRun,
    /// Each part of it, with the stamp of its write above the array.
    parts: Vec<(SectorRun, u64)>,
}

/// A row of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RowId {
    /// The index of the volume.
    volume: usize,
    row: u64,
}

/// Sectors of a chunk: the first, and the first after the last.
type ChunkSectors = (u64, u64);

/// The effect of a write on one row: on a column, or on all parities.
#[derive(Clone, Copy, Debug)]
struct RowUpdate {
    row: RowId,
    /// `None` for the parities.
    column: Option<u32>,
    sectors: ChunkSectors,
    /// The number of the write.
    number: u64,
}

/// Sectors of one chunk of a row.
#[derive(Clone, Copy, Debug)]
struct ChunkSpan {
    row: RowId,
    chunk: RowChunk,
    sectors: ChunkSectors,
    /// The number of the write that brings their content.
    number: u64,
}

/// A chunk of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowChunk {
    Column(u32),
    Parity(u32),
}

/// A part of a lost column.
struct LostPart {
    /// The blocks of the part.
    run: SectorRun,
    /// The number of the write that the rest of the row gives; `None` if its content is gone.
    recovered: Option<u64>,
}

impl StripeRows {
    /// The rows of these volumes, without the drives in `lost`.
    pub fn new(volumes: &[ArrayVolume], lost: MemberSet) -> StripeRows {
        let mut end = 0;
        let with_first_block = |volume: &ArrayVolume| {
            end += volume.capacity();
            (end - volume.capacity(), *volume)
        };
        StripeRows {
            volumes: volumes.iter().map(with_first_block).collect(),
            lost,
            data: SectorRuns::default(),
            parity: Default::default(),
            open: BTreeMap::new(),
            prune_size: MIN_PRUNE_SIZE,
            recovered: SectorRuns::default(),
            gone: SectorRuns::default(),
        }
    }

    /// Records that the array accepted `run` as its write `number`; `part` of it is the write `stamp`.
    pub fn accept_write(&mut self, number: u64, run: SectorRun, part: SectorRun, stamp: u64) {
        self.open.entry(number).or_insert(AcceptedWrite { run, parts: Vec::new() }).parts.push((part, stamp));
        if self.open.len() > self.prune_size {
            self.prune_landed();
            self.prune_size = MIN_PRUNE_SIZE.max(2 * self.open.len());
        }
    }

    /// Records a landing. Returns the blocks of lost drives that can be computed now, with the stamp of each.
    pub(crate) fn land_part(&mut self, part: &StampedRun) -> Vec<(SectorRun, u64)> {
        let is_present = |span: &ChunkSpan| !self.is_lost(span.row, span.chunk);
        let Some(span) = self.chunk_span(part).filter(is_present) else { return Vec::new() };
        match part.role {
            MemberRole::Copy(_) => self.data.set_content(part.run, part.number),
            MemberRole::Parity(parity) => self.parity[parity as usize].set_content(part.run, part.number),
            // Rebuilt parity covers all writes before.
            MemberRole::RebuiltParity(parity) => self.parity[parity as usize].set_content(part.run, part.number - 1),
            MemberRole::RebuiltCopy(_) | MemberRole::Every => return Vec::new(),
        }
        self.recover_blocks(&span)
    }

    /// Recovers blocks of lost drives after a change of `span`. Returns the new ones, with the stamp of each.
    fn recover_blocks(&mut self, span: &ChunkSpan) -> Vec<(SectorRun, u64)> {
        let mut new_blocks = Vec::new();
        for LostPart { run, recovered } in self.lost_parts(span, &[]) {
            match recovered {
                Some(number) => {
                    self.gone.clear_run(run);
                    let same = self.recovered.content_in(run).filter(|(_, held)| *held == number);
                    let unchanged: Vec<SectorRun> = same.map(|(part, _)| part).collect();
                    let changed = run_without_all(run, &unchanged);
                    new_blocks.extend(changed.into_iter().flat_map(|run| self.parts_of_write(number, run)));
                    self.recovered.set_content(run, number);
                }
                None => self.gone.set_content(run, ()),
            }
        }
        new_blocks
    }

    /// The parts in `run` of the write `number`, each with its stamp; none once the write is wholly on the medium.
    fn parts_of_write(&self, number: u64, run: SectorRun) -> impl Iterator<Item = (SectorRun, u64)> {
        let parts = self.open.get(&number).map_or(&[][..], |write| &write.parts);
        parts.iter().filter_map(move |&(part, stamp)| Some((run_overlap(part, run)?, stamp)))
    }

    /// Forgets the writes that are on the medium, data and parity. True if none is left.
    pub(crate) fn prune_and_check_idle(&mut self) -> bool {
        self.prune_landed();
        self.open.is_empty()
    }

    fn prune_landed(&mut self) {
        let mut open = core::mem::take(&mut self.open);
        open.retain(|&number, write| !self.row_updates(number, write.run).iter().all(|update| self.has_landed(update)));
        self.open = open;
    }

    /// The effects of a write, row by row.
    fn row_updates(&self, number: u64, run: SectorRun) -> Vec<RowUpdate> {
        let mut updates = Vec::new();
        for (index, (start, volume)) in self.volumes.iter().enumerate() {
            let (mut lba, end) = (run.0.max(*start), run.1.min(start + volume.capacity()));
            while lba < end {
                let row = (lba - start) / volume.row_sectors();
                let row_start = start + row * volume.row_sectors();
                let stop = end.min(row_start + volume.row_sectors());
                let update = RowUpdate { row: RowId { volume: index, row }, column: None, sectors: (0, 0), number };
                add_row_updates(volume, (lba - row_start, stop - row_start), update, &mut updates);
                lba = stop;
            }
        }
        updates
    }

    /// The effects on one row of the writes that are not wholly on the medium.
    fn open_row_updates(&self, RowId { volume, row }: RowId) -> Vec<RowUpdate> {
        let (start, length) = (self.volumes[volume].0, self.volumes[volume].1.row_sectors());
        let blocks = (start + row * length, start + (row + 1) * length);
        let in_row = self.open.iter().filter_map(|(&number, write)| Some((number, run_overlap(write.run, blocks)?)));
        in_row.flat_map(|(number, run)| self.row_updates(number, run)).collect()
    }

    /// The blocks by which sectors of a chunk are known.
    fn chunk_blocks(&self, row: RowId, chunk: RowChunk, (from, to): ChunkSectors) -> SectorRun {
        let (start, volume) = &self.volumes[row.volume];
        let column = if let RowChunk::Column(column) = chunk { u64::from(column) } else { 0 };
        let first = start + row.row * volume.row_sectors() + column * volume.chunk;
        (first + from, first + to)
    }

    /// True if the drive of the chunk is lost.
    fn is_lost(&self, row: RowId, chunk: RowChunk) -> bool {
        let volume = &self.volumes[row.volume].1;
        let member = match chunk {
            RowChunk::Column(column) => volume.data_member(row.row, column, 0),
            RowChunk::Parity(parity) => volume.parity_member(row.row, parity),
        };
        self.lost >> member & 1 == 1
    }

    /// The chunks that an update changes.
    fn updated_chunks(&self, update: &RowUpdate) -> impl Iterator<Item = RowChunk> + use<> {
        let parities = if update.column.is_none() { self.volumes[update.row.volume].1.parities() } else { 0 };
        update.column.into_iter().map(RowChunk::Column).chain((0..parities).map(RowChunk::Parity))
    }

    /// The numbers of the writes that the sectors of such a chunk came from.
    fn numbers_of_chunk(&self, chunk: RowChunk) -> &SectorRuns<u64> {
        match chunk {
            RowChunk::Column(_) => &self.data,
            RowChunk::Parity(parity) => &self.parity[parity as usize],
        }
    }

    /// True if the update is on the drives present; in a lost column it must have been recovered.
    fn has_landed(&self, update: &RowUpdate) -> bool {
        self.updated_chunks(update).all(|chunk| {
            let numbers = match (self.is_lost(update.row, chunk), chunk) {
                (true, RowChunk::Parity(_)) => return true,
                (true, RowChunk::Column(_)) => &self.recovered,
                (false, _) => self.numbers_of_chunk(chunk),
            };
            let run = self.chunk_blocks(update.row, chunk, update.sectors);
            let landed = numbers.content_in(run).filter(|(_, number)| *number >= update.number);
            landed.map(|(run, _)| run.1 - run.0).sum::<u64>() == run.1 - run.0
        })
    }

    /// The sectors of a chunk that a landing writes; `None` if the volume has no parity.
    fn chunk_span(&self, part: &StampedRun) -> Option<ChunkSpan> {
        let contains_part =
            |(start, volume): &(u64, ArrayVolume)| (*start..start + volume.capacity()).contains(&part.run.0);
        let index = self.volumes.iter().position(contains_part)?;
        let (start, volume) = &self.volumes[index];
        let position = volume.row_position(part.run.0 - start);
        let chunk = match part.role {
            MemberRole::Copy(_) | MemberRole::RebuiltCopy(_) => RowChunk::Column(position.column),
            MemberRole::Parity(parity) | MemberRole::RebuiltParity(parity) => RowChunk::Parity(parity),
            MemberRole::Every => return None,
        };
        let sectors = (position.within, position.within + part.run.1 - part.run.0);
        let row = RowId { volume: index, row: position.row };
        (volume.parities() > 0).then_some(ChunkSpan { row, chunk, sectors, number: part.number })
    }

    /// Sectors under the heads of drives that are present.
    fn present_spans(&self, under_heads: &[StampedRun]) -> Vec<ChunkSpan> {
        let spans = under_heads.iter().filter_map(|part| self.chunk_span(part));
        spans.filter(|span| !self.is_lost(span.row, span.chunk)).collect()
    }

    /// Counts the rows whose parity does not match their data if a cut leaves the sectors `under_heads` as `fate` says.
    pub(crate) fn write_holes(&mut self, under_heads: &[StampedRun], fate: CutSector) -> WriteHoles {
        self.prune_landed();
        let cut_spans = self.present_spans(under_heads);
        let all = self.open.iter().flat_map(|(&number, write)| self.row_updates(number, write.run));
        let has_parity = |update: &RowUpdate| self.volumes[update.row.volume].1.parities() > 0;
        let mut updates: Vec<RowUpdate> = all.filter(has_parity).collect();
        updates.sort_by_key(|update| update.row);
        let rows = updates.chunk_by(|a, b| a.row == b.row);
        let hole_sectors = rows.map(|of_row| self.row_hole_sectors(of_row, &cut_spans, fate));
        let holes: Vec<u64> = hole_sectors.filter(|&sectors| sectors > 0).collect();
        WriteHoles { rows: holes.len() as u64, sectors: holes.iter().sum() }
    }

    /// Data sectors that the parity of a row would not reproduce. `updates`: the open updates of the row.
    fn row_hole_sectors(&self, updates: &[RowUpdate], cut_spans: &[ChunkSpan], fate: CutSector) -> u64 {
        let row = updates[0].row;
        let cut_in_row: Vec<ChunkSpan> = cut_spans.iter().filter(|span| span.row == row).copied().collect();
        let from = updates.iter().map(|update| update.sectors.0).min().unwrap_or(0);
        let to = updates.iter().map(|update| update.sectors.1).max().unwrap_or(0);
        let bounds = self.content_bounds(row, (from, to), updates, &cut_in_row);
        let has_mismatch = |part: &&[u64]| self.has_parity_mismatch(updates, part[0], &cut_in_row, fate);
        let mismatches = bounds.windows(2).filter(has_mismatch).map(|part| part[1] - part[0]);
        mismatches.sum::<u64>() * u64::from(self.volumes[row.volume].1.columns())
    }

    /// Divides `sectors` of the chunks of a row into parts, such that all sectors of a part have the same updates and
    /// come from the same writes, chunk by chunk. Returns the bounds of the parts, rising.
    fn content_bounds(
        &self,
        row: RowId,
        (from, to): ChunkSectors,
        updates: &[RowUpdate],
        cut_spans: &[ChunkSpan],
    ) -> Vec<u64> {
        let volume = &self.volumes[row.volume].1;
        let mut bounds = vec![from, to];
        let changed = updates.iter().map(|update| update.sectors).chain(cut_spans.iter().map(|span| span.sectors));
        bounds.extend(changed.flat_map(|sectors| [sectors.0, sectors.1]));
        let columns = (0..volume.columns()).map(RowChunk::Column);
        for chunk in columns.chain((0..volume.parities()).map(RowChunk::Parity)) {
            let blocks = self.chunk_blocks(row, chunk, (from, to));
            let edges = self.numbers_of_chunk(chunk).content_in(blocks).flat_map(|(run, _)| [run.0, run.1]);
            bounds.extend(edges.map(|edge| edge - blocks.0 + from));
        }
        bounds.retain(|bound| (from..=to).contains(bound));
        bounds.sort_unstable();
        bounds.dedup();
        bounds
    }

    /// The number of the write that a sector of a chunk came from, or will come from once the sectors in `finished` are
    /// written.
    fn content_number(&self, row: RowId, chunk: RowChunk, sector: u64, finished: &[ChunkSpan]) -> u64 {
        let run = self.chunk_blocks(row, chunk, (sector, sector + 1));
        let on_medium = || self.numbers_of_chunk(chunk).content_in(run).next().map_or(0, |(_, number)| number);
        let new = finished.iter().find(|span| span.chunk == chunk && contains(span.sectors, sector));
        new.map_or_else(on_medium, |span| span.number)
    }

    /// True if some parity of the row of `updates` does not match its data, at one sector of the chunks.
    fn has_parity_mismatch(
        &self,
        updates: &[RowUpdate],
        sector: u64,
        cut_spans: &[ChunkSpan],
        fate: CutSector,
    ) -> bool {
        let row = updates[0].row;
        let all_parities = 0..self.volumes[row.volume].1.parities();
        let mut parities = all_parities.filter(|&parity| !self.is_lost(row, RowChunk::Parity(parity)));
        if fate == CutSector::Unreadable && cut_spans.iter().any(|span| contains(span.sectors, sector)) {
            return parities.next().is_some();
        }
        let finished = if fate == CutSector::Finished { cut_spans } else { &[] };
        parities.any(|parity| !self.parity_matches(row, parity, sector, updates, finished))
    }

    /// True if the parity covers the data of all present columns, at one sector of the chunks.
    fn parity_matches(
        &self,
        row: RowId,
        parity: u32,
        sector: u64,
        updates: &[RowUpdate],
        finished: &[ChunkSpan],
    ) -> bool {
        let parity_number = self.content_number(row, RowChunk::Parity(parity), sector, finished);
        let present = |&column: &u32| !self.is_lost(row, RowChunk::Column(column));
        (0..self.volumes[row.volume].1.columns()).filter(present).all(|column| {
            let data_number = self.content_number(row, RowChunk::Column(column), sector, finished);
            let is_missing = |update: &RowUpdate| {
                update.column == Some(column)
                    && contains(update.sectors, sector)
                    && data_number < update.number
                    && update.number <= parity_number
            };
            data_number <= parity_number && !updates.iter().any(is_missing)
        })
    }

    /// The parts of lost columns beside `span`, if the sectors in `finished` are written.
    fn lost_parts(&self, span: &ChunkSpan, finished: &[ChunkSpan]) -> Vec<LostPart> {
        let row = span.row;
        let columns = 0..self.volumes[row.volume].1.columns();
        let lost: Vec<u32> = columns.filter(|&column| self.is_lost(row, RowChunk::Column(column))).collect();
        if lost.is_empty() {
            return Vec::new();
        }
        let updates = self.open_row_updates(row);
        let sources: Vec<u32> = self.source_parities(row).collect();
        let mut parts = Vec::new();
        for bounds in self.content_bounds(row, span.sectors, &updates, finished).windows(2) {
            let matches = |&parity: &u32| self.parity_matches(row, parity, bounds[0], &updates, finished);
            let can_compute = sources.len() == lost.len() && sources.iter().all(matches);
            for &column in &lost {
                let covered_write = |&parity: &u32| {
                    let until = self.content_number(row, RowChunk::Parity(parity), bounds[0], finished);
                    self.last_write_number(row, column, bounds[0], until, &updates)
                };
                let numbers: Vec<u64> = sources.iter().map(covered_write).collect();
                let are_equal = numbers.windows(2).all(|pair| pair[0] == pair[1]);
                let recovered = numbers.first().copied().filter(|_| can_compute && are_equal);
                let run = self.chunk_blocks(row, RowChunk::Column(column), (bounds[0], bounds[1]));
                parts.push(LostPart { run, recovered });
            }
        }
        parts
    }

    /// The parities from which lost columns are computed: the first ones present, as many as columns are lost.
    fn source_parities(&self, row: RowId) -> impl Iterator<Item = u32> {
        let volume = &self.volumes[row.volume].1;
        let lost = (0..volume.columns()).filter(|&column| self.is_lost(row, RowChunk::Column(column))).count();
        (0..volume.parities()).filter(move |&parity| !self.is_lost(row, RowChunk::Parity(parity))).take(lost)
    }

    /// The number of the last write up to `until` to a sector of a lost column.
    fn last_write_number(&self, row: RowId, column: u32, sector: u64, until: u64, updates: &[RowUpdate]) -> u64 {
        let run = self.chunk_blocks(row, RowChunk::Column(column), (sector, sector + 1));
        let before = self.recovered.content_in(run).next().map_or(0, |(_, number)| number);
        let of_column = updates.iter().filter(|update| update.column == Some(column) && update.number <= until);
        let of_sector = of_column.filter(|update| contains(update.sectors, sector));
        of_sector.fold(before, |last, update| last.max(update.number))
    }

    /// Blocks of lost drives after a cut that leaves the sectors `under_heads` as `fate` says.
    pub(crate) fn lost_blocks(&self, under_heads: &[StampedRun], fate: CutSector) -> LostBlocks {
        let cut_spans = self.present_spans(under_heads);
        let mut gone = self.gone.clone();
        let mut torn: SectorRuns<()> = SectorRuns::default();
        let mut besides: Vec<(SectorRun, u64)> = Vec::new();
        for span in &cut_spans {
            match fate {
                CutSector::Old => {}
                CutSector::Finished => {
                    let finished: Vec<ChunkSpan> = cut_spans.iter().filter(|it| it.row == span.row).copied().collect();
                    for LostPart { run, recovered } in self.lost_parts(span, &finished) {
                        gone.clear_run(run);
                        match recovered {
                            Some(number) => besides.extend(self.parts_of_write(number, run)),
                            None => gone.set_content(run, ()),
                        }
                    }
                }
                CutSector::Unreadable => {
                    self.torn_blocks(span).into_iter().for_each(|run| torn.set_content(run, ()));
                }
            }
        }
        // Blocks that are gone were unreadable before, too.
        gone.iter().for_each(|(run, ())| torn.clear_run(run));
        let runs = |blocks: &SectorRuns<()>| blocks.iter().map(|(run, ())| run).collect::<Vec<SectorRun>>();
        LostBlocks { gone: runs(&gone), torn: runs(&torn), besides }
    }

    /// The blocks that would be computed from the unreadable sectors in `span`.
    fn torn_blocks(&self, span: &ChunkSpan) -> Vec<SectorRun> {
        let is_source = match span.chunk {
            RowChunk::Column(_) => true,
            RowChunk::Parity(parity) => self.source_parities(span.row).any(|source| source == parity),
        };
        let columns = (0..self.volumes[span.row.volume].1.columns()).map(RowChunk::Column);
        let lost = columns.filter(|&column| is_source && self.is_lost(span.row, column));
        lost.map(|column| self.chunk_blocks(span.row, column, span.sectors)).collect()
    }
}

/// True if the sector is one of `sectors`.
fn contains((from, to): ChunkSectors, sector: u64) -> bool {
    (from..to).contains(&sector)
}

/// Adds the effects of a write to the blocks `from..to` of a row: data column by column, and parity at the same sectors.
/// `update` has the row and the number of the write.
fn add_row_updates(volume: &ArrayVolume, (from, to): SectorRun, update: RowUpdate, updates: &mut Vec<RowUpdate>) {
    let (first, last) = (from / volume.chunk, (to - 1) / volume.chunk);
    for column in first..=last {
        let start = column * volume.chunk;
        let sectors = (from.max(start) - start, to.min(start + volume.chunk) - start);
        updates.push(RowUpdate { column: Some(column as u32), sectors, ..update });
        updates.push(RowUpdate { column: None, sectors, ..update });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::array::layout::RaidLevel;

    fn run_at(lba: u64, sectors: u64) -> SectorRun {
        (lba, lba + sectors)
    }

    /// Three drives, chunks of 8: row 0 has its data on 0 and 1 and its parity on 2.
    fn stripes_with_writes(lost: MemberSet, writes: &[SectorRun]) -> StripeRows {
        let volume = ArrayVolume { level: RaidLevel::Raid5, members: 3, chunk: 8, first: 0, sectors: 80 };
        let mut stripes = StripeRows::new(&[volume], lost);
        (1..).zip(writes).for_each(|(number, &run)| stripes.accept_write(number, run, run, 10 + number));
        stripes
    }

    fn part(role: MemberRole, run: SectorRun, number: u64) -> StampedRun {
        StampedRun { member: 0, role, run, stamp: 10 + number, number }
    }

    const DATA: MemberRole = MemberRole::Copy(0);
    const PARITY: MemberRole = MemberRole::Parity(0);

    #[test]
    fn data_without_parity_and_parity_without_data_are_holes() {
        let mut stripes = stripes_with_writes(0, &[run_at(2, 4)]);
        assert_eq!(stripes.write_holes(&[], CutSector::Old), WriteHoles::default(), "nothing has landed");
        stripes.land_part(&part(DATA, (2, 6), 1));
        assert_eq!(stripes.write_holes(&[], CutSector::Old), WriteHoles { rows: 1, sectors: 8 });
        stripes.land_part(&part(PARITY, (2, 5), 1));
        assert_eq!(stripes.write_holes(&[], CutSector::Old), WriteHoles { rows: 1, sectors: 2 });
        stripes.land_part(&part(PARITY, (5, 6), 1));
        assert_eq!(
            (stripes.write_holes(&[], CutSector::Old), stripes.prune_and_check_idle()),
            (WriteHoles::default(), true)
        );
    }

    #[test]
    fn parity_belongs_to_the_last_writes_up_to_its_own() {
        // To one column, then to the other.
        let mut stripes = stripes_with_writes(0, &[run_at(0, 8), run_at(8, 8), run_at(0, 8)]);
        stripes.land_part(&part(PARITY, (0, 8), 2));
        assert_eq!(
            stripes.write_holes(&[], CutSector::Old),
            WriteHoles { rows: 1, sectors: 16 },
            "neither column has landed"
        );
        stripes.land_part(&part(DATA, (0, 8), 1));
        stripes.land_part(&part(DATA, (8, 16), 2));
        assert_eq!(stripes.write_holes(&[], CutSector::Old), WriteHoles::default());
        stripes.land_part(&part(DATA, (0, 8), 3));
        assert_eq!(stripes.write_holes(&[], CutSector::Old).rows, 1);
        stripes.land_part(&part(PARITY, (0, 8), 3));
        assert!(stripes.prune_and_check_idle());
    }

    #[test]
    fn blocks_of_a_lost_drive_are_what_the_others_give() {
        // The second column is lost: its writes are in the parity alone.
        let mut stripes = stripes_with_writes(1 << 1, &[run_at(8, 8), run_at(0, 8), run_at(8, 4)]);
        assert_eq!(stripes.land_part(&part(PARITY, (0, 8), 1)), [((8, 12), 11), ((12, 16), 11)]);
        assert_eq!(stripes.land_part(&part(DATA, (0, 8), 2)), [], "newer than the parity");
        assert_eq!(stripes.lost_blocks(&[], CutSector::Old).gone, [(8, 12), (12, 16)]);
        let finished = stripes.lost_blocks(&[part(PARITY, (0, 4), 3)], CutSector::Finished);
        assert_eq!((finished.gone, finished.besides), (vec![(12, 16)], vec![((8, 12), 13)]));
        assert_eq!(stripes.land_part(&part(PARITY, (0, 8), 2)), [], "the first write is computable again");
        assert_eq!(stripes.lost_blocks(&[], CutSector::Old).gone, []);
        assert_eq!(stripes.lost_blocks(&[part(DATA, (4, 5), 2)], CutSector::Unreadable).torn, [(12, 13)]);
        assert!(!stripes.prune_and_check_idle());
        assert_eq!(stripes.land_part(&part(PARITY, (0, 4), 3)), [((8, 12), 13)]);
        assert!(stripes.prune_and_check_idle());
    }
}
