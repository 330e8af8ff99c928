//! Rows with parity at a cut. If the parity of a row does not match its data, and one of its drives is lost before
//! parity is computed again, the row returns data that nobody wrote: the write hole. If a drive is lost already, its
//! content is computed from parity and the others, or it is gone.
//!
//! Writes to a row go one after another in the order in which the array accepted them, and are identified by their
//! number in it. Parity of the write `p` covers, for each column, the last write up to `p`. So a column disagrees with
//! it if it holds a later write, or if a write between its content and `p` was meant for it. Nothing can be computed if
//! one of them is unreadable. The module keeps the writes whose data and parity are not wholly on the medium, and the
//! write that each sector came from.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::block::{CutSector, MemberRole};
use crate::host::array::layout::ArrayVolume;

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

/// The rows of all volumes with parity.
#[derive(Clone, Debug)]
pub(crate) struct StripeRows {
    /// Each with its first block.
    volumes: Vec<(u64, ArrayVolume)>,
    /// Lost drives, one bit each.
    lost: u64,
    /// By block: the number of the write that it came from.
    data: SectorRuns<u64>,
    /// For each parity the number as in `data`, by the block at the same offset in the row's first column.
    parity: [SectorRuns<u64>; 2],
    /// By number: writes that are not wholly on the medium.
    open: BTreeMap<u64, AcceptedWrite>,
    /// The size of `open` that triggers the next scan.
    enough: usize,
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

/// The effect of a write on one row: on a column, or on parity.
#[derive(Clone, Copy, Debug)]
struct RowUpdate {
    volume: usize,
    row: u64,
    column: Option<u32>,
    /// Sectors of the chunk.
    from: u64,
    to: u64,
    number: u64,
}

/// Sectors of one chunk of a row.
#[derive(Clone, Copy, Debug)]
struct ChunkSpan {
    volume: usize,
    row: u64,
    slot: RowChunk,
    /// Sectors of the chunk.
    from: u64,
    to: u64,
    number: u64,
}

/// A chunk of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowChunk {
    Column(u32),
    Parity(u32),
}

/// A part of a lost column, and the number of the write recovered from the rest of its row.
type Recovered = (u32, (u64, u64), Option<u64>);

impl StripeRows {
    /// The rows of these volumes, without the drives in `lost` (one bit each).
    pub fn new(volumes: &[ArrayVolume], lost: u64) -> StripeRows {
        let mut start = 0;
        let begin = |volume: &ArrayVolume| {
            start += volume.capacity();
            (start - volume.capacity(), *volume)
        };
        StripeRows {
            volumes: volumes.iter().map(begin).collect(),
            lost,
            data: SectorRuns::default(),
            parity: Default::default(),
            open: BTreeMap::new(),
            enough: 64,
            recovered: SectorRuns::default(),
            gone: SectorRuns::default(),
        }
    }

    /// Records that the array accepted `run` as its write `number`; `part` of it is the write `stamp`.
    pub fn accept_write(&mut self, number: u64, run: SectorRun, part: SectorRun, stamp: u64) {
        self.open.entry(number).or_insert(AcceptedWrite { run, parts: Vec::new() }).parts.push((part, stamp));
        if self.open.len() > self.enough {
            self.prune_landed();
            self.enough = 64.max(2 * self.open.len());
        }
    }

    /// Records a landing. Returns the blocks of lost drives that can be computed now, with the stamp of each.
    pub(crate) fn land_part(&mut self, part: &StampedRun) -> Vec<(SectorRun, u64)> {
        let there = |spot: &ChunkSpan| !self.is_lost(spot.volume, spot.row, spot.slot);
        let Some(spot) = self.chunk_span(part).filter(there) else { return Vec::new() };
        match part.role {
            MemberRole::Copy(_) => self.data.set_content(part.run, part.number),
            MemberRole::Parity(which) => self.parity[which as usize].set_content(part.run, part.number),
            // Rebuilt parity covers all writes before.
            MemberRole::RebuiltParity(which) => self.parity[which as usize].set_content(part.run, part.number - 1),
            MemberRole::RebuiltCopy(_) | MemberRole::Every => return Vec::new(),
        }
        self.recover_blocks(&spot)
    }

    /// Recovers blocks of lost drives after a change at `spot`. Returns the new ones, with the stamp of each.
    fn recover_blocks(&mut self, spot: &ChunkSpan) -> Vec<(SectorRun, u64)> {
        let mut back = Vec::new();
        for (column, span, number) in self.recover_columns(spot, &[]) {
            let run = self.chunk_blocks(spot.volume, spot.row, RowChunk::Column(column), span);
            match number {
                Some(number) => {
                    self.gone.clear_run(run);
                    let known = self.recovered.content_in(run).filter(|it| it.1 == number).map(|it| it.0);
                    let new = run_without_all(run, &known.collect::<Vec<_>>());
                    back.extend(new.into_iter().flat_map(|run| self.parts_of_write(number, run)));
                    self.recovered.set_content(run, number);
                }
                None => self.gone.set_content(run, ()),
            }
        }
        back
    }

    /// The parts of the write `number` in `run`, while it is not wholly on the medium.
    fn parts_of_write(&self, number: u64, run: SectorRun) -> impl Iterator<Item = (SectorRun, u64)> {
        let parts = self.open.get(&number).map_or(&[][..], |taken| &taken.parts);
        parts.iter().filter_map(move |&(part, stamp)| Some((run_overlap(part, run)?, stamp)))
    }

    /// True if all writes are on the medium, data and parity.
    pub(crate) fn check_idle(&mut self) -> bool {
        self.prune_landed();
        self.open.is_empty()
    }

    fn prune_landed(&mut self) {
        let mut open = core::mem::take(&mut self.open);
        open.retain(|&number, taken| !self.row_updates(number, taken.run).iter().all(|touch| self.has_landed(touch)));
        self.open = open;
    }

    /// The effects of a write, row by row.
    fn row_updates(&self, number: u64, run: SectorRun) -> Vec<RowUpdate> {
        let mut touches = Vec::new();
        for (index, (start, volume)) in self.volumes.iter().enumerate() {
            let (mut lba, end) = (run.0.max(*start), run.1.min(start + volume.capacity()));
            while lba < end {
                let block = lba - start;
                let row = block / volume.row_sectors();
                let stop = end.min(start + (row + 1) * volume.row_sectors());
                let touch = RowUpdate { volume: index, row, column: None, from: 0, to: 0, number };
                add_row_updates(
                    volume,
                    block - row * volume.row_sectors(),
                    stop - start - row * volume.row_sectors(),
                    touch,
                    &mut touches,
                );
                lba = stop;
            }
        }
        touches
    }

    /// The effects on one row of the writes that are not wholly on the medium.
    fn open_row_updates(&self, volume: usize, row: u64) -> Vec<RowUpdate> {
        let (start, length) = (self.volumes[volume].0, self.volumes[volume].1.row_sectors());
        let blocks = (start + row * length, start + (row + 1) * length);
        let here = self.open.iter().filter_map(|(&number, taken)| Some((number, run_overlap(taken.run, blocks)?)));
        here.flat_map(|(number, run)| self.row_updates(number, run)).collect()
    }

    /// The blocks by which sectors of a chunk are known.
    fn chunk_blocks(&self, volume: usize, row: u64, slot: RowChunk, (from, to): (u64, u64)) -> SectorRun {
        let (start, volume) = &self.volumes[volume];
        let column = if let RowChunk::Column(column) = slot { u64::from(column) } else { 0 };
        let first = start + row * volume.row_sectors() + column * volume.chunk;
        (first + from, first + to)
    }

    fn is_lost(&self, volume: usize, row: u64, slot: RowChunk) -> bool {
        let volume = &self.volumes[volume].1;
        let member = match slot {
            RowChunk::Column(column) => volume.data_member(row, column, 0),
            RowChunk::Parity(which) => volume.parity_member(row, which),
        };
        self.lost >> member & 1 == 1
    }

    /// The chunks that a touch writes to.
    fn updated_chunks(&self, touch: &RowUpdate) -> impl Iterator<Item = RowChunk> + use<> {
        let parities = if touch.column.is_none() { self.volumes[touch.volume].1.parities() } else { 0 };
        touch.column.into_iter().map(RowChunk::Column).chain((0..parities).map(RowChunk::Parity))
    }

    /// The record of which write the sectors of a chunk came from.
    fn chunk_image(&self, slot: RowChunk) -> &SectorRuns<u64> {
        match slot {
            RowChunk::Column(_) => &self.data,
            RowChunk::Parity(which) => &self.parity[which as usize],
        }
    }

    /// True if the update is on the drives present; in a lost column it must have been recovered.
    fn has_landed(&self, touch: &RowUpdate) -> bool {
        self.updated_chunks(touch).all(|slot| {
            let image = match (self.is_lost(touch.volume, touch.row, slot), slot) {
                (true, RowChunk::Parity(_)) => return true,
                (true, RowChunk::Column(_)) => &self.recovered,
                (false, _) => self.chunk_image(slot),
            };
            let run = self.chunk_blocks(touch.volume, touch.row, slot, (touch.from, touch.to));
            let there = image.content_in(run).filter(|(_, number)| *number >= touch.number);
            there.map(|(run, _)| run.1 - run.0).sum::<u64>() == touch.to - touch.from
        })
    }

    /// The place of a part of a chunk in its row; `None` without parity.
    fn chunk_span(&self, part: &StampedRun) -> Option<ChunkSpan> {
        let inside = |(start, volume): &(u64, ArrayVolume)| (*start..start + volume.capacity()).contains(&part.run.0);
        let volume = self.volumes.iter().position(inside)?;
        let (start, laid) = &self.volumes[volume];
        let place = laid.row_position(part.run.0 - start);
        let slot = match part.role {
            MemberRole::Copy(_) | MemberRole::RebuiltCopy(_) => RowChunk::Column(place.column),
            MemberRole::Parity(which) | MemberRole::RebuiltParity(which) => RowChunk::Parity(which),
            MemberRole::Every => return None,
        };
        let (from, to) = (place.within, place.within + part.run.1 - part.run.0);
        (laid.parities() > 0).then_some(ChunkSpan { volume, row: place.row, slot, from, to, number: part.number })
    }

    /// Sectors under the heads of drives that are present.
    fn present_spans(&self, under: &[StampedRun]) -> Vec<ChunkSpan> {
        let spots = under.iter().filter_map(|part| self.chunk_span(part));
        spots.filter(|spot| !self.is_lost(spot.volume, spot.row, spot.slot)).collect()
    }

    /// Counts the rows whose parity does not match their data if a cut leaves the sectors `under` the heads as `fate`
    /// says.
    pub(crate) fn write_holes(&mut self, under: &[StampedRun], fate: CutSector) -> WriteHoles {
        self.prune_landed();
        let under = self.present_spans(under);
        let all = self.open.iter().flat_map(|(&number, taken)| self.row_updates(number, taken.run));
        let mut touches: Vec<RowUpdate> = all.filter(|touch| self.volumes[touch.volume].1.parities() > 0).collect();
        touches.sort_by_key(|touch| (touch.volume, touch.row));
        let rows = touches.chunk_by(|a, b| (a.volume, a.row) == (b.volume, b.row));
        let sectors: Vec<u64> =
            rows.map(|row| self.row_hole_sectors(row, &under, fate)).filter(|&sectors| sectors > 0).collect();
        WriteHoles { rows: sectors.len() as u64, sectors: sectors.iter().sum() }
    }

    /// Data sectors of one row that its parity would not reproduce.
    fn row_hole_sectors(&self, touches: &[RowUpdate], under: &[ChunkSpan], fate: CutSector) -> u64 {
        let (volume, row) = (touches[0].volume, touches[0].row);
        let under: Vec<ChunkSpan> =
            under.iter().filter(|spot| (spot.volume, spot.row) == (volume, row)).copied().collect();
        let from = touches.iter().map(|touch| touch.from).min().unwrap_or(0);
        let to = touches.iter().map(|touch| touch.to).max().unwrap_or(0);
        let bounds = self.change_bounds((volume, row), (from, to), touches, &under);
        let disagrees = |span: &&[u64]| self.has_parity_mismatch(touches, span[0], &under, fate);
        let spans = bounds.windows(2).filter(disagrees).map(|span| span[1] - span[0]);
        spans.sum::<u64>() * u64::from(self.volumes[volume].1.columns())
    }

    /// Sectors of the chunks of a row in `from..to` between which anything changes.
    fn change_bounds(
        &self,
        (volume, row): (usize, u64),
        (from, to): (u64, u64),
        touches: &[RowUpdate],
        under: &[ChunkSpan],
    ) -> Vec<u64> {
        let laid = &self.volumes[volume].1;
        let touched = touches.iter().flat_map(|touch| [touch.from, touch.to]);
        let mut bounds: Vec<u64> =
            touched.chain(under.iter().flat_map(|spot| [spot.from, spot.to])).chain([from, to]).collect();
        let columns = (0..laid.columns()).map(RowChunk::Column);
        for slot in columns.chain((0..laid.parities()).map(RowChunk::Parity)) {
            let blocks = self.chunk_blocks(volume, row, slot, (from, to));
            let edges = self.chunk_image(slot).content_in(blocks).flat_map(|(run, _)| [run.0, run.1]);
            bounds.extend(edges.map(|edge| edge - blocks.0 + from));
        }
        bounds.retain(|edge| (from..=to).contains(edge));
        bounds.sort_unstable();
        bounds.dedup();
        bounds
    }

    /// The number of the content of a sector of a chunk; for sectors `under` a head, that of the new content.
    fn content_number(&self, (volume, row): (usize, u64), slot: RowChunk, within: u64, under: &[ChunkSpan]) -> u64 {
        let there = |spot: &&ChunkSpan| spot.slot == slot && spot.from <= within && within < spot.to;
        let run = self.chunk_blocks(volume, row, slot, (within, within + 1));
        let held = || self.chunk_image(slot).content_in(run).next().map_or(0, |held| held.1);
        under.iter().find(there).map_or_else(held, |spot| spot.number)
    }

    /// True if some parity of the row does not match its data, at one sector of the chunks.
    fn has_parity_mismatch(&self, touches: &[RowUpdate], within: u64, under: &[ChunkSpan], fate: CutSector) -> bool {
        let place = (touches[0].volume, touches[0].row);
        let volume = &self.volumes[place.0].1;
        let mut parities =
            (0..volume.parities()).filter(|&which| !self.is_lost(place.0, place.1, RowChunk::Parity(which)));
        if fate == CutSector::Unreadable && under.iter().any(|spot| spot.from <= within && within < spot.to) {
            return parities.next().is_some();
        }
        let finished = if fate == CutSector::Finished { under } else { &[] };
        parities.any(|which| !self.parity_matches(place, which, within, touches, finished))
    }

    /// True if the present data are those that the parity covers.
    fn parity_matches(
        &self,
        place: (usize, u64),
        which: u32,
        within: u64,
        touches: &[RowUpdate],
        under: &[ChunkSpan],
    ) -> bool {
        let parity = self.content_number(place, RowChunk::Parity(which), within, under);
        let here = || touches.iter().filter(|touch| touch.from <= within && within < touch.to);
        let columns =
            (0..self.volumes[place.0].1.columns()).filter(|&it| !self.is_lost(place.0, place.1, RowChunk::Column(it)));
        columns.into_iter().all(|column| {
            let data = self.content_number(place, RowChunk::Column(column), within, under);
            let between = |touch: &RowUpdate| data < touch.number && touch.number <= parity;
            data <= parity && !here().any(|touch| touch.column == Some(column) && between(touch))
        })
    }

    /// Recovers lost columns at `spot` from the rest of the row, if the sectors `under` the heads are finished.
    fn recover_columns(&self, spot: &ChunkSpan, under: &[ChunkSpan]) -> Vec<Recovered> {
        let (place, laid) = ((spot.volume, spot.row), &self.volumes[spot.volume].1);
        let is_lost = |slot: RowChunk| self.is_lost(spot.volume, spot.row, slot);
        let lost: Vec<u32> = (0..laid.columns()).filter(|&column| is_lost(RowChunk::Column(column))).collect();
        if lost.is_empty() {
            return Vec::new();
        }
        let touches = self.open_row_updates(spot.volume, spot.row);
        let mut found = Vec::new();
        for span in self.change_bounds(place, (spot.from, spot.to), &touches, under).windows(2) {
            let agree = |which: &u32| self.parity_matches(place, *which, span[0], &touches, under);
            let parities: Vec<u32> = self.source_parities(spot.volume, spot.row).collect();
            let whole = parities.len() == lost.len() && parities.iter().all(agree);
            for &column in &lost {
                let numbers = parities.iter().map(|&which| {
                    let until = self.content_number(place, RowChunk::Parity(which), span[0], under);
                    self.last_write_number(place, column, span[0], until, &touches)
                });
                let numbers: Vec<u64> = numbers.collect();
                let one = numbers.windows(2).all(|pair| pair[0] == pair[1]);
                let number = numbers.first().copied().filter(|_| whole && one);
                found.push((column, (span[0], span[1]), number));
            }
        }
        found
    }

    /// The parities from which lost columns are computed: the first ones present, as many as are lost.
    fn source_parities(&self, volume: usize, row: u64) -> impl Iterator<Item = u32> {
        let laid = &self.volumes[volume].1;
        let lost = (0..laid.columns()).filter(|&column| self.is_lost(volume, row, RowChunk::Column(column))).count();
        (0..laid.parities()).filter(move |&which| !self.is_lost(volume, row, RowChunk::Parity(which))).take(lost)
    }

    /// The last write up to `until` to a sector of a lost column.
    fn last_write_number(
        &self,
        place: (usize, u64),
        column: u32,
        within: u64,
        until: u64,
        touches: &[RowUpdate],
    ) -> u64 {
        let run = self.chunk_blocks(place.0, place.1, RowChunk::Column(column), (within, within + 1));
        let before = self.recovered.content_in(run).next().map_or(0, |held| held.1);
        let here = touches.iter().filter(|touch| touch.column == Some(column) && touch.number <= until);
        here.filter(|touch| touch.from <= within && within < touch.to)
            .fold(before, |last, touch| last.max(touch.number))
    }

    /// Blocks of lost drives after a cut that leaves the sectors `under` the heads as `fate` says.
    pub(crate) fn lost_blocks(&self, under: &[StampedRun], fate: CutSector) -> LostBlocks {
        let under = self.present_spans(under);
        let mut gone = self.gone.clone();
        let mut hidden = LostBlocks::default();
        for spot in &under {
            let beside: Vec<ChunkSpan> =
                under.iter().filter(|it| (it.volume, it.row) == (spot.volume, spot.row)).copied().collect();
            match fate {
                CutSector::Old => {}
                CutSector::Finished => {
                    for (column, span, number) in self.recover_columns(spot, &beside) {
                        let run = self.chunk_blocks(spot.volume, spot.row, RowChunk::Column(column), span);
                        gone.clear_run(run);
                        match number {
                            Some(number) => hidden.besides.extend(self.parts_of_write(number, run)),
                            None => gone.set_content(run, ()),
                        }
                    }
                }
                CutSector::Unreadable => hidden.torn.extend(self.torn_blocks(spot)),
            }
        }
        hidden.gone = gone.iter().map(|(run, ())| run).collect();
        // Blocks that are gone were unreadable before, too.
        let torn = hidden.torn.iter().flat_map(|&run| run_without_all(run, &hidden.gone));
        let mut all = SectorRuns::default();
        torn.for_each(|run| all.set_content(run, ()));
        hidden.torn = all.iter().map(|(run, ())| run).collect();
        hidden
    }

    /// The blocks that would be computed from unreadable sectors.
    fn torn_blocks(&self, spot: &ChunkSpan) -> Vec<SectorRun> {
        let needed = match spot.slot {
            RowChunk::Column(_) => true,
            RowChunk::Parity(which) => self.source_parities(spot.volume, spot.row).any(|it| it == which),
        };
        let lost = (0..self.volumes[spot.volume].1.columns()).map(RowChunk::Column);
        let lost = lost.filter(|&slot| needed && self.is_lost(spot.volume, spot.row, slot));
        lost.map(|slot| self.chunk_blocks(spot.volume, spot.row, slot, (spot.from, spot.to))).collect()
    }
}

/// Adds the effects of a write to the blocks `from..to` of a row: data column by column, and parity where the array
/// updates it, which is the sectors of the one written chunk, or whole chunks (`host/array/parity.rs`).
fn add_row_updates(volume: &ArrayVolume, from: u64, to: u64, touch: RowUpdate, touches: &mut Vec<RowUpdate>) {
    let (first, last) = (from / volume.chunk, (to - 1) / volume.chunk);
    for column in first..=last {
        let start = column * volume.chunk;
        let (from, to) = (from.max(start) - start, to.min(start + volume.chunk) - start);
        touches.push(RowUpdate { column: Some(column as u32), from, to, ..touch });
    }
    let whole = first < last;
    let (from, to) = if whole { (0, volume.chunk) } else { (from % volume.chunk, to - first * volume.chunk) };
    touches.push(RowUpdate { column: None, from, to, ..touch });
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::host::array::layout::RaidLevel;

    fn write(lba: u64, sectors: u64) -> SectorRun {
        (lba, lba + sectors)
    }

    /// Three drives, chunks of 8: row 0 has its data on 0 and 1 and its parity on 2.
    fn stripes(lost: u64, writes: &[SectorRun]) -> StripeRows {
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
        let mut stripes = stripes(0, &[write(2, 4)]);
        assert_eq!(stripes.write_holes(&[], CutSector::Old), WriteHoles::default(), "nothing is there yet");
        stripes.land_part(&part(DATA, (2, 6), 1));
        assert_eq!(stripes.write_holes(&[], CutSector::Old), WriteHoles { rows: 1, sectors: 8 });
        stripes.land_part(&part(PARITY, (2, 5), 1));
        assert_eq!(stripes.write_holes(&[], CutSector::Old), WriteHoles { rows: 1, sectors: 2 });
        stripes.land_part(&part(PARITY, (5, 6), 1));
        assert_eq!((stripes.write_holes(&[], CutSector::Old), stripes.check_idle()), (WriteHoles::default(), true));
    }

    #[test]
    fn parity_belongs_to_the_last_writes_up_to_its_own() {
        // To one column, then to the other.
        let mut stripes = stripes(0, &[write(0, 8), write(8, 8), write(0, 8)]);
        stripes.land_part(&part(PARITY, (0, 8), 2));
        assert_eq!(
            stripes.write_holes(&[], CutSector::Old),
            WriteHoles { rows: 1, sectors: 16 },
            "neither column is there"
        );
        stripes.land_part(&part(DATA, (0, 8), 1));
        stripes.land_part(&part(DATA, (8, 16), 2));
        assert_eq!(stripes.write_holes(&[], CutSector::Old), WriteHoles::default());
        stripes.land_part(&part(DATA, (0, 8), 3));
        assert_eq!(stripes.write_holes(&[], CutSector::Old).rows, 1);
        stripes.land_part(&part(PARITY, (0, 8), 3));
        assert!(stripes.check_idle());
    }

    #[test]
    fn what_was_on_a_lost_drive_is_what_the_others_give() {
        // The second column is lost: its writes are in the parity alone.
        let mut stripes = stripes(1 << 1, &[write(8, 8), write(0, 8), write(8, 4)]);
        assert_eq!(stripes.land_part(&part(PARITY, (0, 8), 1)), [((8, 12), 11), ((12, 16), 11)]);
        assert_eq!(stripes.land_part(&part(DATA, (0, 8), 2)), [], "newer than the parity");
        assert_eq!(stripes.lost_blocks(&[], CutSector::Old).gone, [(8, 12), (12, 16)]);
        let finished = stripes.lost_blocks(&[part(PARITY, (0, 4), 3)], CutSector::Finished);
        assert_eq!((finished.gone, finished.besides), (vec![(12, 16)], vec![((8, 12), 13)]));
        assert_eq!(stripes.land_part(&part(PARITY, (0, 8), 2)), [], "the first write is there again");
        assert_eq!(stripes.lost_blocks(&[], CutSector::Old).gone, []);
        assert_eq!(stripes.lost_blocks(&[part(DATA, (4, 5), 2)], CutSector::Unreadable).torn, [(12, 13)]);
        assert!(!stripes.check_idle());
        assert_eq!(stripes.land_part(&part(PARITY, (0, 4), 3)), [((8, 12), 13)]);
        assert!(stripes.check_idle());
    }
}
