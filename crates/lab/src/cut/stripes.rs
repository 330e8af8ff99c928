//! Rows with parity at a cut: the write hole. A row whose parity does not belong to its data gives back something that
//! nobody wrote when one of its drives is lost before parity is computed anew.
//!
//! Writes to a row go one after another in the order in which the array took them, and are known by their number in it.
//! Parity that the write `p` brought belongs, of each column, to the last write up to `p`. So a column disagrees with it
//! when it holds a later one, or when a write between what it holds and `p` was meant for it. Nor is there anything to
//! compute from where one of them cannot be read. What is kept are the
//! writes not all of whose sectors, data and parity, are on the medium, and which write each sector came from.

use std::collections::BTreeMap;

use seekwise_model::block::{CutSector, Request};
use seekwise_model::host::array::layout::Volume;

use super::heads::Part;
use super::image::Image;
use super::risk::Run;

/// Rows that do not agree with their parity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holes {
    /// Rows.
    pub rows: u64,
    /// Sectors of data in them that the loss of the drive they are on would change.
    pub sectors: u64,
}

/// The rows of all volumes with parity.
#[derive(Clone, Debug)]
pub struct Stripes {
    volumes: Vec<Volume>,
    /// By member: the number of the write that each sector came from.
    images: Vec<Image<u64>>,
    /// By number: writes not all of which is on the medium.
    open: BTreeMap<u64, Request>,
    /// So many of those are looked through before the next time.
    enough: usize,
}

/// What a write does to one row: to a column, or to parity.
#[derive(Clone, Copy, Debug)]
struct Touch {
    volume: usize,
    row: u64,
    column: Option<u32>,
    /// Sectors of the chunk.
    from: u64,
    to: u64,
    number: u64,
}

impl Stripes {
    /// Of these volumes.
    pub fn new(volumes: &[Volume]) -> Stripes {
        let members = volumes.first().map_or(0, |volume| volume.members);
        let images = (0..members).map(|_| Image::default()).collect();
        Stripes { volumes: volumes.to_vec(), images, open: BTreeMap::new(), enough: 64 }
    }

    /// The array took `request` as its write `number`.
    pub fn enter(&mut self, number: u64, request: &Request) {
        self.open.insert(number, *request);
        if self.open.len() > self.enough {
            self.prune();
            self.enough = 64.max(2 * self.open.len());
        }
    }

    /// The stamp of the write `number`, as long as not all of it is on the medium.
    pub fn stamp(&self, number: u64) -> Option<u64> {
        self.open.get(&number).map(|request| request.stamp)
    }

    /// These sectors of a member hold the write `number`.
    pub fn land(&mut self, member: u32, run: Run, number: u64) {
        self.images[member as usize].land(run, number);
    }

    /// All writes are on the medium, data and parity.
    pub fn is_idle(&mut self) -> bool {
        self.prune();
        self.open.is_empty()
    }

    fn prune(&mut self) {
        let mut open = std::mem::take(&mut self.open);
        open.retain(|&number, request| !self.touches(number, request).iter().all(|touch| self.has_landed(touch)));
        self.open = open;
    }

    /// What a write does, row by row.
    fn touches(&self, number: u64, request: &Request) -> Vec<Touch> {
        let (mut start, mut touches) = (0, Vec::new());
        for (index, volume) in self.volumes.iter().enumerate() {
            let (mut lba, end) = (request.lba.max(start), request.end().min(start + volume.capacity()));
            while lba < end {
                let block = lba - start;
                let row = block / volume.row();
                let stop = end.min(start + (row + 1) * volume.row());
                let touch = Touch { volume: index, row, column: None, from: 0, to: 0, number };
                touch_row(volume, block - row * volume.row(), stop - start - row * volume.row(), touch, &mut touches);
                lba = stop;
            }
            start += volume.capacity();
        }
        touches
    }

    /// The members that a touch writes to.
    fn members(&self, touch: &Touch) -> impl Iterator<Item = u32> + use<> {
        let (volume, row) = (self.volumes[touch.volume], touch.row);
        let parities = if touch.column.is_none() { volume.parities() } else { 0 };
        let data = touch.column.map(|column| volume.member(row, column, 0));
        data.into_iter().chain((0..parities).map(move |which| volume.parity(row, which)))
    }

    fn has_landed(&self, touch: &Touch) -> bool {
        let start = self.volumes[touch.volume].row_start(touch.row);
        let run = (start + touch.from, start + touch.to);
        self.members(touch).all(|member| {
            let there = self.images[member as usize].held(run).filter(|(_, number)| *number >= touch.number);
            there.map(|(run, _)| run.1 - run.0).sum::<u64>() == touch.to - touch.from
        })
    }

    /// Rows whose parity does not agree with their data when a cut leaves the sectors `under` the heads as `fate` says.
    pub fn holes(&mut self, under: &[Part], fate: CutSector) -> Holes {
        self.prune();
        let all = self.open.iter().flat_map(|(&number, request)| self.touches(number, request));
        let mut touches: Vec<Touch> = all.filter(|touch| self.volumes[touch.volume].parities() > 0).collect();
        touches.sort_by_key(|touch| (touch.volume, touch.row));
        let rows = touches.chunk_by(|a, b| (a.volume, a.row) == (b.volume, b.row));
        let sectors: Vec<u64> =
            rows.map(|row| self.holes_of(row, under, fate)).filter(|&sectors| sectors > 0).collect();
        Holes { rows: sectors.len() as u64, sectors: sectors.iter().sum() }
    }

    /// Sectors of data of one row that its parity would not give back.
    fn holes_of(&self, touches: &[Touch], under: &[Part], fate: CutSector) -> u64 {
        let volume = &self.volumes[touches[0].volume];
        let start = volume.row_start(touches[0].row);
        let mut bounds: Vec<u64> = touches.iter().flat_map(|touch| [touch.from, touch.to]).collect();
        let (from, to) = (bounds.iter().min().copied().unwrap_or(0), bounds.iter().max().copied().unwrap_or(0));
        for image in &self.images {
            bounds.extend(image.held((start + from, start + to)).flat_map(|(run, _)| [run.0 - start, run.1 - start]));
        }
        let inside = |edge: &u64| (start + from..=start + to).contains(edge);
        bounds.extend(under.iter().flat_map(|part| [part.run.0, part.run.1]).filter(inside).map(|edge| edge - start));
        bounds.sort_unstable();
        bounds.dedup();
        let disagrees = |span: &&[u64]| self.disagrees(touches, span[0], under, fate);
        let spans = bounds.windows(2).filter(disagrees).map(|span| span[1] - span[0]);
        spans.sum::<u64>() * u64::from(volume.columns())
    }

    /// One sector of the chunks of a row: some parity of it does not belong to its data.
    fn disagrees(&self, touches: &[Touch], within: u64, under: &[Part], fate: CutSector) -> bool {
        let (volume, row) = (&self.volumes[touches[0].volume], touches[0].row);
        let sector = volume.row_start(row) + within;
        let there = |part: &&Part| part.run.0 <= sector && sector < part.run.1;
        if fate == CutSector::Unreadable && under.iter().any(|part| there(&part)) {
            return true;
        }
        let finished = |member: u32| under.iter().filter(there).find(|part| part.member == member);
        let of = |member: u32| match finished(member).filter(|_| fate == CutSector::Finished) {
            Some(part) => part.stamp,
            None => self.images[member as usize].held((sector, sector + 1)).next().map_or(0, |held| held.1),
        };
        let here = || touches.iter().filter(|touch| touch.from <= within && within < touch.to);
        (0..volume.parities()).map(|which| of(volume.parity(row, which))).any(|parity| {
            (0..volume.columns()).any(|column| {
                let data = of(volume.member(row, column, 0));
                let between = |touch: &Touch| data < touch.number && touch.number <= parity;
                data > parity || here().any(|touch| touch.column == Some(column) && between(touch))
            })
        })
    }
}

/// What a write to the blocks `from..to` of a row does to it: data column by column, and parity where the array brings
/// it up to date: the sectors of the one chunk that is written, or whole chunks (`host/array/parity.rs`).
fn touch_row(volume: &Volume, from: u64, to: u64, touch: Touch, touches: &mut Vec<Touch>) {
    let (first, last) = (from / volume.chunk, (to - 1) / volume.chunk);
    for column in first..=last {
        let start = column * volume.chunk;
        let (from, to) = (from.max(start) - start, to.min(start + volume.chunk) - start);
        touches.push(Touch { column: Some(column as u32), from, to, ..touch });
    }
    let whole = first < last;
    let (from, to) = if whole { (0, volume.chunk) } else { (from % volume.chunk, to - first * volume.chunk) };
    touches.push(Touch { column: None, from, to, ..touch });
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_model::block::{Flags, Op};
    use seekwise_model::host::array::layout::Level;

    fn write(lba: u64, sectors: u32) -> Request {
        Request { tag: 0, unit: 0, origin: 0, op: Op::Write, flags: Flags::NONE, lba, sectors, stamp: 9 }
    }

    /// Three drives, chunks of 8: row 0 has its data on 0 and 1 and its parity on 2.
    fn stripes(writes: &[Request]) -> Stripes {
        let volume = Volume { level: Level::Raid5, members: 3, chunk: 8, first: 0, sectors: 80 };
        let mut stripes = Stripes::new(&[volume]);
        (1..).zip(writes).for_each(|(number, write)| stripes.enter(number, write));
        stripes
    }

    #[test]
    fn data_without_parity_and_parity_without_data_are_holes() {
        let mut stripes = stripes(&[write(2, 4)]);
        assert_eq!(stripes.holes(&[], CutSector::Old), Holes::default(), "nothing is there yet");
        stripes.land(0, (2, 6), 1);
        assert_eq!(stripes.holes(&[], CutSector::Old), Holes { rows: 1, sectors: 8 });
        stripes.land(2, (2, 5), 1);
        assert_eq!(stripes.holes(&[], CutSector::Old), Holes { rows: 1, sectors: 2 });
        stripes.land(2, (5, 6), 1);
        assert_eq!(
            (stripes.holes(&[], CutSector::Old), stripes.is_idle(), stripes.stamp(1)),
            (Holes::default(), true, None)
        );
    }

    #[test]
    fn parity_belongs_to_the_last_writes_up_to_its_own() {
        // To one column, then to the other.
        let mut stripes = stripes(&[write(0, 8), write(8, 8), write(0, 8)]);
        stripes.land(2, (0, 8), 2);
        assert_eq!(stripes.holes(&[], CutSector::Old), Holes { rows: 1, sectors: 16 }, "neither column is there");
        stripes.land(0, (0, 8), 1);
        stripes.land(1, (0, 8), 2);
        assert_eq!(stripes.holes(&[], CutSector::Old), Holes::default());
        stripes.land(0, (0, 8), 3);
        assert_eq!(stripes.holes(&[], CutSector::Old).rows, 1);
        stripes.land(2, (0, 8), 3);
        assert!(stripes.is_idle());
    }
}
