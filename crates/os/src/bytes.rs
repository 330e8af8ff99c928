//! The data of a modelled disk: those on its platters, and those written but not there yet.
//!
//! Every later read finds a write that the device accepted. Its data reach the platters' image only when the device
//! reports its landing ([`Landing`], rule 5 of the contract), so the image holds exactly what a power cut leaves.
//! Writes are known by their stamps, numbers that grow with each request. Memory holds written data other than zeroes;
//! an image in a file is sparse. The state of sectors is stored by runs, so a request of any length costs one entry.
//!
//! An array that lacks a drive is the exception: its caller works out what a cut leaves (`Bytes::apply_remains`). Until
//! then the former content of overwritten sectors is kept (`Bytes::keep_former_content`).

#[cfg(test)]
mod oracle;
mod pieces;
mod platters;
mod runs;

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::ops::Range;

use seekwise_disk::block::{Landing, LandingKind, MemberRole, Request, SECTOR};

use self::pieces::{PIECE, PIECE_COST};
use self::platters::PlatterBytes;
pub use self::platters::{PlatterMedium, zero_at};
use self::runs::{RUN_COST, RunMap};
use seekwise_disk::history::{CutRemains, DataPart, History, WriteData};

/// Memory of a pending write besides its data: a [`PendingWrite`] and its entry in the index.
const WRITE_COST: u64 = 192;

/// A write that has not landed whole, or was not answered.
#[derive(Debug)]
struct PendingWrite {
    lba: u64,
    data: WriteData,
    /// Sectors whose landing was reported, one bit each. A drive whose cache is switched off meanwhile may write some
    /// sectors twice.
    reported: Vec<u64>,
    unreported_sectors: u64,
    /// The last stamp given when the write was answered as done.
    answered_at_stamp: Option<u64>,
    /// Memory accounted for the write.
    accounted_bytes: u64,
}

impl PendingWrite {
    fn new(lba: u64, data: WriteData) -> PendingWrite {
        let sectors = data.bytes() / SECTOR;
        PendingWrite {
            lba,
            data,
            reported: vec![0; sectors.div_ceil(64) as usize],
            unreported_sectors: sectors,
            answered_at_stamp: None,
            accounted_bytes: 0,
        }
    }

    fn mark_reported(&mut self, sector: u64) {
        let (word, bit) = self.reported_bit(sector);
        self.unreported_sectors -= u64::from(self.reported[word] & bit == 0);
        self.reported[word] |= bit;
    }

    fn sectors(&self) -> Range<u64> {
        self.lba..self.lba + self.data.bytes() / SECTOR
    }

    /// Returns the runs of its sectors in `within` whose landing was not reported.
    fn unreported_runs(&self, within: Range<u64>) -> Vec<Range<u64>> {
        let mut runs: Vec<Range<u64>> = Vec::new();
        let own = self.sectors();
        for sector in within.start.max(own.start)..within.end.min(own.end) {
            let (word, bit) = self.reported_bit(sector);
            match runs.last_mut() {
                _ if self.reported[word] & bit != 0 => {}
                Some(run) if run.end == sector => run.end += 1,
                _ => runs.push(sector..sector + 1),
            }
        }
        runs
    }

    /// Returns its data for these of its sectors.
    fn sector_data(&self, sectors: &Range<u64>) -> DataPart<'_> {
        self.data.slice_from((sectors.start - self.lba) * SECTOR, (sectors.end - sectors.start) * SECTOR)
    }

    /// Memory for the write, and for so many copies of its data after they land.
    fn memory_bytes(&self, landed_copies: u64) -> u64 {
        WRITE_COST
            + self.data.memory_bytes()
            + 8 * self.reported.len() as u64
            + landed_copies * count_pieces(&self.data, self.lba) * PIECE_COST
    }

    /// Returns the index in `reported` and the bit of a sector.
    fn reported_bit(&self, sector: u64) -> (usize, u64) {
        let within = sector - self.lba;
        ((within / 64) as usize, 1 << (within % 64))
    }
}

/// Counts the pieces of memory that data may occupy.
fn count_pieces(data: &WriteData, lba: u64) -> u64 {
    match data {
        WriteData::Zeroes { .. } => 0,
        WriteData::Bytes(bytes) => (lba + bytes.len() as u64 / SECTOR).div_ceil(PIECE) - lba / PIECE,
    }
}

/// The data of a disk.
#[derive(Debug, Default)]
pub struct Bytes {
    surface: PlatterBytes,
    /// Pending writes, by stamp.
    pending: BTreeMap<u64, PendingWrite>,
    /// Memory that `pending` takes, and will take.
    pending_bytes: u64,
    /// By sectors: the stamp of the pending write whose data a read finds there. Elsewhere it finds the platters' data.
    visible: RunMap<u64>,
    /// Sectors that a cut left unreadable.
    torn: RunMap<()>,
    /// Former content of the platters, if it is kept.
    former: Option<FormerContent>,
}

/// Content of the platters at an instant, where it was overwritten since.
#[derive(Debug, Default)]
struct FormerContent {
    /// By number of the piece.
    pieces: HashMap<u64, FormerPiece>,
    /// Sectors that were empty.
    empty: RunMap<()>,
    /// All sectors that were unreadable then.
    torn: RunMap<()>,
}

/// The kept sectors of a piece.
#[derive(Debug)]
struct FormerPiece {
    /// One bit for each kept sector.
    kept: u8,
    data: Box<[u8]>,
}

impl FormerContent {
    /// Whether the data of a sector are kept.
    fn has_data(&self, sector: u64) -> bool {
        self.pieces.get(&(sector / PIECE)).is_some_and(|piece| piece.kept >> (sector % PIECE) & 1 == 1)
    }

    fn keep_data(&mut self, sector: u64, data: &[u8]) {
        let empty = || FormerPiece { kept: 0, data: vec![0; (PIECE * SECTOR) as usize].into_boxed_slice() };
        let piece = self.pieces.entry(sector / PIECE).or_insert_with(empty);
        let offset = (sector % PIECE * SECTOR) as usize;
        piece.kept |= 1 << (sector % PIECE);
        piece.data[offset..offset + data.len()].copy_from_slice(data);
    }

    fn memory_bytes(&self) -> u64 {
        self.pieces.len() as u64 * PIECE_COST + (self.empty.len() + self.torn.len()) as u64 * RUN_COST
    }
}

/// A sector that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnreadableSector(pub u64);

impl Bytes {
    /// Creates an empty disk on these platters.
    pub fn on_platters(platters: PlatterMedium) -> Bytes {
        Bytes { surface: PlatterBytes::new(platters), ..Bytes::default() }
    }

    /// Starts from the content of `base`, which is not written to. Platters in memory read unwritten places from it;
    /// platters in a file get a copy without its zeroes.
    pub fn with_base(self, base: File) -> io::Result<Bytes> {
        Ok(Bytes { surface: self.surface.with_base(base)?, ..self })
    }

    /// Copies in memory of data that have landed: one if the platters are there, one if former content is kept.
    fn landed_copies(&self) -> u64 {
        u64::from(self.surface.is_in_memory()) + u64::from(self.former.is_some())
    }

    /// Memory in use, including that of pending writes, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        let runs = (self.visible.len() + self.torn.len()) as u64 * RUN_COST;
        let former = self.former.as_ref().map_or(0, FormerContent::memory_bytes);
        self.surface.memory_bytes() + self.pending_bytes + runs + former
    }

    /// Upper bound of the memory for a write at `lba`; zeroes have no data (`data_bytes` is 0).
    pub(crate) fn write_memory_bound(&self, lba: u64, data_bytes: u64) -> u64 {
        let pieces = (lba + data_bytes / SECTOR).div_ceil(PIECE) - lba / PIECE;
        let landed = if data_bytes == 0 { 0 } else { self.landed_copies() * pieces * PIECE_COST };
        WRITE_COST + 2 * RUN_COST + data_bytes + landed
    }

    /// Memory for such a write, without the pieces that exist already; zeroes need none.
    pub(crate) fn write_memory(&self, lba: u64, data_bytes: u64) -> u64 {
        let needs_pieces = data_bytes > 0 && self.surface.is_in_memory();
        let existing = if needs_pieces { self.surface.count_pieces_within(lba..lba + data_bytes / SECTOR) } else { 0 };
        self.write_memory_bound(lba, data_bytes) - existing * PIECE_COST
    }

    /// Records a write that the device accepted.
    pub fn accept_write(&mut self, write: &Request, data: WriteData) {
        self.visible.set(write.lba..write.end(), write.stamp);
        self.torn.clear(write.lba..write.end());
        let mut pending = PendingWrite::new(write.lba, data);
        pending.accounted_bytes = pending.memory_bytes(self.landed_copies());
        self.pending_bytes += pending.accounted_bytes;
        self.pending.insert(write.stamp, pending);
    }

    /// Applies a landing. In an array the first copy counts, as a read after a cut finds it; if its drive is lost, see
    /// `Bytes::apply_flush`.
    pub fn apply_landing(&mut self, landing: &Landing) -> io::Result<()> {
        let is_array_event = matches!(landing.kind, LandingKind::Taken | LandingKind::Gone | LandingKind::Whole);
        if is_array_event || !matches!(landing.role, MemberRole::Copy(0) | MemberRole::Every) {
            return Ok(());
        }
        let sectors = landing.lba..landing.lba + u64::from(landing.sectors);
        if landing.kind == LandingKind::Torn {
            self.torn.set(sectors.clone(), ());
        }
        let Some(mut write) = self.pending.remove(&landing.stamp) else { return Ok(()) };
        sectors.clone().for_each(|sector| write.mark_reported(sector));
        let has_landed = landing.kind == LandingKind::Landed;
        let written =
            if has_landed { self.write_platters(sectors.start, &write.sector_data(&sectors)) } else { Ok(()) };
        self.pending.insert(landing.stamp, write);
        written?;
        self.remove_visible(sectors, landing.stamp, has_landed);
        self.drop_if_complete(landing.stamp);
        Ok(())
    }

    /// Records that a write was answered as done, when `last_stamp` was the last one given.
    pub(crate) fn mark_answered(&mut self, stamp: u64, last_stamp: u64) {
        if let Some(write) = self.pending.get_mut(&stamp) {
            write.answered_at_stamp = Some(last_stamp);
            self.drop_if_complete(stamp);
        }
    }

    /// Drops a write that is answered and landed whole.
    fn drop_if_complete(&mut self, stamp: u64) {
        let is_complete = |write: &PendingWrite| write.unreported_sectors == 0 && write.answered_at_stamp.is_some();
        if self.pending.get(&stamp).is_some_and(is_complete) {
            self.remove_pending(stamp);
        }
    }

    /// Removes a pending write, and its memory from the account.
    fn remove_pending(&mut self, stamp: u64) -> Option<PendingWrite> {
        let write = self.pending.remove(&stamp)?;
        self.pending_bytes -= write.accounted_bytes;
        Some(write)
    }

    /// Applies a finished flush: puts the writes that were answered before it began on the platters. Needed for an
    /// array that has lost a drive, where the first copy of a write may never land because only another copy or parity
    /// holds its data.
    pub(crate) fn apply_flush(&mut self, flush_stamp: u64) -> io::Result<()> {
        let is_covered = |write: &PendingWrite| write.answered_at_stamp.is_some_and(|last| last < flush_stamp);
        let covered: Vec<u64> =
            self.pending.iter().filter(|(_, write)| is_covered(write)).map(|(stamp, _)| *stamp).collect();
        for stamp in covered {
            let write = self.remove_pending(stamp).expect("it was just found");
            // Also below a newer write, which may fail.
            let pending = self.visible.runs_within(write.sectors());
            let missing: Vec<Range<u64>> = pending.flat_map(|(run, _)| write.unreported_runs(run)).collect();
            for run in missing {
                self.write_platters(run.start, &write.sector_data(&run))?;
            }
            for run in self.visible_runs(stamp, write.sectors()) {
                self.visible.clear(run);
            }
        }
        Ok(())
    }

    /// Returns the runs of `sectors` where a read finds this write.
    fn visible_runs(&self, stamp: u64, sectors: Range<u64>) -> Vec<Range<u64>> {
        self.visible.runs_within(sectors).filter(|(_, visible)| *visible == stamp).map(|(run, _)| run).collect()
    }

    /// Drops all pending writes after a power cut; all landings have been reported, also of what a buffer saves. No
    /// landing reports writes that a layer had acknowledged and not sent to a drive yet.
    pub fn apply_cut(&mut self) {
        self.pending.clear();
        self.pending_bytes = 0;
        self.visible = RunMap::default();
    }

    /// Starts to keep the former content of sectors that are overwritten from now on, or stops.
    pub(crate) fn keep_former_content(&mut self, keep: bool) {
        self.former = keep.then(|| FormerContent { torn: self.torn.clone(), ..FormerContent::default() });
    }

    /// Whether the former content of overwritten sectors is kept.
    pub(crate) fn keeps_former_content(&self) -> bool {
        self.former.is_some()
    }

    /// Sets the content that a power cut leaves of `history`, which began with [`Bytes::keep_former_content`].
    pub(crate) fn apply_remains(&mut self, remains: &CutRemains, history: &History) -> io::Result<()> {
        self.apply_cut();
        let former = self.former.take().unwrap_or_default();
        for (number, piece) in &former.pieces {
            if piece.kept == u8::MAX {
                self.write_platters(number * PIECE, &DataPart::Bytes(&piece.data))?;
                continue;
            }
            let sectors = (number * PIECE..).zip(piece.data.chunks_exact(SECTOR as usize));
            for (sector, data) in sectors.filter(|(sector, _)| piece.kept >> (sector % PIECE) & 1 == 1) {
                self.write_platters(sector, &DataPart::Bytes(data))?;
            }
        }
        for (run, ()) in former.empty.iter() {
            let zeroes = DataPart::Zeroes { bytes: (run.end - run.start) * SECTOR, allocated: false };
            self.write_platters(run.start, &zeroes)?;
        }
        self.torn = former.torn;
        let first_sectors: BTreeMap<u64, u64> =
            history.accepted_writes().map(|(_, write)| (write.stamp, write.lba)).collect();
        for &((from, end), stamp) in &remains.held {
            let unknown = || io::Error::other("a write that nobody knows is held");
            let first = *first_sectors.get(&stamp).ok_or_else(unknown)?;
            self.write_platters(from, &history.data_part(stamp, first, from, end - from))?;
            self.torn.clear(from..end);
        }
        remains.unreadable.iter().for_each(|run| self.torn.set(run.0..run.1, ()));
        Ok(())
    }

    /// Writes data to the platters, after what they overwrite was kept if former content is.
    fn write_platters(&mut self, lba: u64, data: &DataPart<'_>) -> io::Result<()> {
        self.keep_former_sectors(lba..lba + data.bytes() / SECTOR)?;
        match *data {
            DataPart::Bytes(bytes) => self.surface.write_sectors(lba, bytes),
            DataPart::Zeroes { bytes, allocated } => self.surface.write_zeroes(lba, bytes / SECTOR, allocated),
        }
    }

    /// Keeps the content of these sectors if former content is kept, except those kept already.
    fn keep_former_sectors(&mut self, sectors: Range<u64>) -> io::Result<()> {
        let Some(mut former) = self.former.take() else { return Ok(()) };
        for run in former.empty.gaps(sectors) {
            self.keep_former_run(&mut former, run)?;
        }
        self.former = Some(former);
        Ok(())
    }

    /// Keeps a run of sectors that are not kept as empty.
    fn keep_former_run(&self, former: &mut FormerContent, sectors: Range<u64>) -> io::Result<()> {
        let Range { start: mut next, end } = sectors;
        while next < end {
            let first_data = self.surface.first_data_sector(next..end);
            // Sectors that are empty now may have held data, which are kept then.
            let mut empty = next;
            let kept: Vec<u64> = match former.pieces.len() as u64 {
                0 => Vec::new(),
                _ => (next..first_data).filter(|&sector| former.has_data(sector)).collect(),
            };
            for sector in kept {
                former.empty.set(empty..sector, ());
                empty = sector + 1;
            }
            former.empty.set(empty..first_data, ());
            next = self.surface.first_hole_sector(first_data..end);
            let mut data = [0; SECTOR as usize];
            for sector in (first_data..next).filter(|&sector| !former.has_data(sector)).collect::<Vec<u64>>() {
                data.fill(0);
                self.surface.read_sectors(sector, &mut data)?;
                former.keep_data(sector, &data);
            }
        }
        Ok(())
    }

    /// Drops a write that failed or lost its power; the rest of it never lands.
    pub fn drop_failed_write(&mut self, stamp: u64) {
        let Some(write) = self.remove_pending(stamp) else { return };
        self.remove_visible(write.sectors(), stamp, false);
    }

    /// Lets a read of these sectors find `stamp` no more. Unless that write landed there, a read may find an older one.
    fn remove_visible(&mut self, sectors: Range<u64>, stamp: u64, has_landed: bool) {
        let mut bare = self.visible_runs(stamp, sectors);
        bare.iter().for_each(|run| self.visible.clear(run.clone()));
        for (&older, write) in self.pending.range(..stamp).rev() {
            if has_landed || bare.is_empty() {
                return;
            }
            let found: Vec<Range<u64>> = bare.iter().flat_map(|run| write.unreported_runs(run.clone())).collect();
            found.iter().for_each(|run| self.visible.set(run.clone(), older));
            if !found.is_empty() {
                bare = bare.iter().flat_map(|run| self.visible.gaps(run.clone())).collect();
            }
        }
    }

    /// Reads sectors.
    pub fn read(&self, lba: u64, sectors: u64) -> Result<io::Result<Vec<u8>>, UnreadableSector> {
        let mut data = vec![0; (sectors * SECTOR) as usize];
        Ok(self.read_into(lba, &mut data)?.map(|()| data))
    }

    /// Reads sectors into `data`, which must be zeroed.
    pub fn read_into(&self, lba: u64, data: &mut [u8]) -> Result<io::Result<()>, UnreadableSector> {
        let end = lba + data.len() as u64 / SECTOR;
        if let Some((run, ())) = self.torn.runs_within(lba..end).next() {
            return Err(UnreadableSector(run.start));
        }
        if let Err(error) = self.surface.read_sectors(lba, data) {
            return Ok(Err(error));
        }
        for (run, stamp) in self.visible.runs_within(lba..end) {
            let target = ((run.start - lba) * SECTOR) as usize..((run.end - lba) * SECTOR) as usize;
            self.pending[&stamp].sector_data(&run).copy_to(&mut data[target]);
        }
        Ok(Ok(()))
    }

    /// Bytes not on the platters: lost if the power failed now, except those that the device saves.
    pub(crate) fn bytes_at_risk(&self) -> u64 {
        self.visible.sector_count() * SECTOR
    }

    /// Bytes at risk that were answered as done.
    pub(crate) fn acknowledged_bytes_at_risk(&self) -> u64 {
        let is_answered = |stamp: &u64| self.pending.get(stamp).is_some_and(|write| write.answered_at_stamp.is_some());
        let answered = self.visible.iter().filter(|(_, stamp)| is_answered(stamp));
        answered.map(|(run, _)| (run.end - run.start) * SECTOR).sum()
    }

    /// Number of unreadable sectors.
    pub(crate) fn unreadable_sectors(&self) -> u64 {
        self.torn.sector_count()
    }

    /// Syncs the image, if it is a file.
    pub(crate) fn sync_image(&self) -> io::Result<()> {
        self.surface.sync_image()
    }

    /// Returns the first of these sectors that may not be zero, or their end.
    pub(crate) fn first_data_sector(&self, sectors: Range<u64>) -> u64 {
        let pending = self.visible.runs_within(sectors.clone()).next().map_or(sectors.end, |(run, _)| run.start);
        self.surface.first_data_sector(sectors).min(pending)
    }

    /// Returns the first of these sectors at which a run of zeroes begins, or their end.
    pub(crate) fn first_hole_sector(&self, sectors: Range<u64>) -> u64 {
        let Range { start: mut next, end } = sectors;
        loop {
            let hole = self.surface.first_hole_sector(next..end);
            let pending = self.visible.runs_within(hole..end).next().filter(|(run, _)| run.start == hole);
            let covered_to = pending.map_or(hole, |(run, _)| run.end);
            if covered_to == next || covered_to >= end {
                return covered_to.min(end);
            }
            next = covered_to;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_disk::block::{Flags, Op};
    use seekwise_disk::time::Instant;

    fn write(bytes: &mut Bytes, stamp: u64, lba: u64, sectors: u32) {
        let (tag, unit, origin, op, flags) = (0, 0, 0, Op::Write, Flags::NONE);
        let request = Request { tag, unit, origin, op, flags, lba, sectors, stamp };
        bytes.accept_write(&request, vec![stamp as u8; sectors as usize * SECTOR as usize].into());
    }

    fn land(bytes: &mut Bytes, stamp: u64, lba: u64, sectors: u32, kind: LandingKind) {
        let (from, to) = (Instant::ZERO, Instant::ZERO);
        bytes.apply_landing(&Landing::new((lba, sectors), stamp, (from, to), kind)).unwrap();
    }

    /// The first byte of each sector.
    fn seen(bytes: &Bytes, lba: u64, sectors: u64) -> Vec<u8> {
        bytes.read(lba, sectors).unwrap().unwrap().chunks(SECTOR as usize).map(|sector| sector[0]).collect()
    }

    #[test]
    fn a_read_sees_what_was_accepted_and_a_cut_leaves_what_landed() {
        let mut bytes = Bytes::default();
        write(&mut bytes, 1, 100, 4);
        write(&mut bytes, 2, 102, 4);
        bytes.mark_answered(1, 2);
        bytes.mark_answered(2, 2);
        assert_eq!(seen(&bytes, 99, 8), [0, 1, 1, 2, 2, 2, 2, 0]);
        land(&mut bytes, 1, 100, 2, LandingKind::Landed);
        assert_eq!((bytes.bytes_at_risk(), seen(&bytes, 100, 3)), (4 * SECTOR, vec![1, 1, 2]));
        land(&mut bytes, 1, 102, 2, LandingKind::Discarded);
        // The power goes.
        land(&mut bytes, 2, 102, 1, LandingKind::Landed);
        land(&mut bytes, 2, 103, 1, LandingKind::Torn);
        land(&mut bytes, 2, 104, 2, LandingKind::Discarded);
        assert_eq!((bytes.bytes_at_risk(), bytes.unreadable_sectors()), (0, 1));
        assert_eq!(bytes.read(103, 1).unwrap_err(), UnreadableSector(103));
        assert_eq!(seen(&bytes, 100, 3), [1, 1, 2]);
        assert_eq!(seen(&bytes, 104, 2), [0, 0]);
        // Written again it can be read.
        write(&mut bytes, 3, 103, 1);
        assert_eq!(seen(&bytes, 102, 2), [2, 3]);
        assert!(bytes.pending.len() == 1);
    }

    #[test]
    fn memory_is_that_of_what_was_written() {
        let mut bytes = Bytes::default();
        for stamp in 1..=50 {
            write(&mut bytes, stamp, stamp * 1000, 8);
            land(&mut bytes, stamp, stamp * 1000, 8, LandingKind::Landed);
        }
        // None of them was answered yet.
        assert_eq!((bytes.surface.memory_bytes(), bytes.memory_bytes() > 100 * PIECE_COST), (50 * PIECE_COST, true));
        (1..=50).for_each(|stamp| bytes.mark_answered(stamp, 50));
        assert_eq!(bytes.memory_bytes(), 50 * PIECE_COST);
        assert_eq!(seen(&bytes, 49_999, 10), [0, 50, 50, 50, 50, 50, 50, 50, 50, 0]);
    }

    /// In bytes: 192 of a write under way, 64 of each of its two runs, its data, and 4096 and 192 of each piece of eight
    /// sectors that is not there yet.
    #[test]
    fn what_is_written_again_costs_no_second_piece() {
        let mut bytes = Bytes::default();
        write(&mut bytes, 1, 8, 8);
        land(&mut bytes, 1, 8, 8, LandingKind::Landed);
        bytes.mark_answered(1, 1);
        // First sector, bytes; pieces that it may take, and those of them that are there.
        for (lba, data, most, there) in
            [(8, 4096, 1, 1), (16, 4096, 1, 0), (9, 512, 1, 1), (15, 1024, 2, 1), (0, 12_288, 3, 1), (0, 4096, 1, 0)]
        {
            let cost = (bytes.write_memory_bound(lba, data), bytes.write_memory(lba, data));
            let beside = 320 + data;
            assert_eq!(cost, (beside + most * 4288, beside + (most - there) * 4288), "{data} bytes at {lba}");
        }
        assert_eq!((bytes.write_memory_bound(8, 0), bytes.write_memory(8, 0)), (320, 320), "zeroes have no data");
        assert_eq!(bytes.write_memory(9, 0), 320, "zeroes that begin inside of a piece that exists");
        // The former content would be a second copy.
        bytes.keep_former_content(true);
        assert_eq!(bytes.write_memory(8, 4096), 320 + 4096 + 4288);
        let in_file = Bytes::on_platters(PlatterMedium::File(tempfile::tempfile().unwrap()));
        assert_eq!((in_file.write_memory_bound(8, 4096), in_file.write_memory(8, 4096)), (320 + 4096, 320 + 4096));
    }

    #[test]
    fn what_fails_uncovers_what_was_there_before() {
        let mut bytes = Bytes::default();
        write(&mut bytes, 1, 10, 2);
        write(&mut bytes, 2, 10, 1);
        bytes.drop_failed_write(2);
        assert_eq!(seen(&bytes, 10, 2), [1, 1]);
        land(&mut bytes, 1, 10, 2, LandingKind::Landed);
        assert_eq!((seen(&bytes, 10, 2), bytes.bytes_at_risk()), (vec![1, 1], 0));
    }

    #[test]
    fn what_lands_twice_counts_once_and_what_has_landed_covers_nothing() {
        let mut bytes = Bytes::default();
        write(&mut bytes, 1, 10, 4);
        land(&mut bytes, 1, 10, 2, LandingKind::Landed);
        land(&mut bytes, 1, 10, 4, LandingKind::Landed);
        assert_eq!((seen(&bytes, 10, 4), bytes.bytes_at_risk()), (vec![1; 4], 0));
        bytes.mark_answered(1, 1);
        assert!(bytes.pending.is_empty());
        write(&mut bytes, 2, 10, 2);
        land(&mut bytes, 2, 10, 1, LandingKind::Landed);
        write(&mut bytes, 3, 10, 2);
        bytes.drop_failed_write(3);
        bytes.mark_answered(2, 3);
        land(&mut bytes, 2, 11, 1, LandingKind::Landed);
        assert_eq!((seen(&bytes, 10, 4), bytes.bytes_at_risk()), (vec![2, 2, 1, 1], 0));
    }

    #[test]
    fn a_cut_takes_what_nothing_will_be_heard_of() {
        let mut bytes = Bytes::default();
        write(&mut bytes, 1, 10, 2);
        write(&mut bytes, 2, 11, 2);
        land(&mut bytes, 1, 10, 1, LandingKind::Landed);
        bytes.apply_cut();
        assert_eq!((seen(&bytes, 10, 3), bytes.bytes_at_risk()), (vec![1, 0, 0], 0));
    }

    #[test]
    fn what_is_done_and_settled_is_there_though_its_first_copy_never_landed() {
        let mut bytes = Bytes::default();
        write(&mut bytes, 1, 10, 1);
        write(&mut bytes, 2, 11, 1);
        write(&mut bytes, 3, 12, 1);
        bytes.mark_answered(1, 3);
        // A flush of stamp 4 was given before this one was done.
        bytes.mark_answered(2, 5);
        bytes.apply_flush(4).unwrap();
        assert_eq!((bytes.bytes_at_risk(), seen(&bytes, 10, 3)), (2 * SECTOR, vec![1, 2, 3]));
        assert_eq!(bytes.acknowledged_bytes_at_risk(), SECTOR, "nobody was told that the third is done");
        bytes.drop_failed_write(2);
        bytes.drop_failed_write(3);
        assert_eq!(seen(&bytes, 10, 3), [1, 0, 0]);
    }

    #[test]
    fn what_is_settled_outlives_a_newer_write_that_fails() {
        let mut bytes = Bytes::default();
        write(&mut bytes, 1, 10, 2);
        bytes.mark_answered(1, 1);
        write(&mut bytes, 3, 11, 2);
        bytes.apply_flush(2).unwrap();
        assert_eq!((seen(&bytes, 10, 3), bytes.bytes_at_risk()), (vec![1, 3, 3], 2 * SECTOR));
        bytes.drop_failed_write(3);
        assert_eq!((seen(&bytes, 10, 3), bytes.bytes_at_risk()), (vec![1, 1, 0], 0));
    }

    #[test]
    fn what_a_cut_leaves_is_put_over_what_was_there_when_the_history_began() {
        let file = std::env::temp_dir().join(format!("seekwise-former-{}", std::process::id()));
        for on_file in [false, true] {
            let mut bytes = Bytes::default();
            if on_file {
                let options = &mut File::options();
                let image = options.read(true).write(true).create(true).truncate(true).open(&file).unwrap();
                // It ends within a piece.
                image.set_len(31 * SECTOR).unwrap();
                bytes = Bytes::on_platters(PlatterMedium::File(image));
            }
            write(&mut bytes, 1, 4, 16);
            land(&mut bytes, 1, 4, 16, LandingKind::Landed);
            land(&mut bytes, 9, 18, 2, LandingKind::Torn);
            bytes.keep_former_content(true);
            let mut history = History::default();
            for (stamp, lba, sectors) in [(2, 0, 16), (3, 2, 4), (4, 18, 1), (5, 29, 2)] {
                let (tag, unit, origin, op, flags) = (0, 0, 0, Op::Write, Flags::NONE);
                let request = Request { tag, unit, origin, op, flags, lba, sectors, stamp };
                let data = WriteData::from(vec![stamp as u8; sectors as usize * SECTOR as usize]);
                history.record_request(Instant::ZERO, &request, Some(&data));
                bytes.accept_write(&request, data);
                land(&mut bytes, stamp, lba, sectors, LandingKind::Landed);
            }
            write(&mut bytes, 6, 1, 1);
            assert_eq!(seen(&bytes, 0, 18), [[2, 6, 3, 3, 3, 3].as_slice(), &[2; 10], &[1; 2]].concat());
            // The second sector of the second write cannot be read, its third and last are there, and of the fifth one.
            let held = vec![((2, 3), 2), ((15, 16), 2), ((30, 31), 5)];
            bytes.apply_remains(&CutRemains { held, unreadable: vec![(1, 2)] }, &history).unwrap();
            assert_eq!(
                (bytes.bytes_at_risk(), bytes.unreadable_sectors(), bytes.keeps_former_content()),
                (0, 3, false)
            );
            assert_eq!(seen(&bytes, 2, 16), [[2, 0].as_slice(), &[1; 11], &[2, 1, 1]].concat());
            assert_eq!((seen(&bytes, 0, 1), seen(&bytes, 29, 2)), (vec![0], vec![0, 5]));
            for sector in [1, 18, 19] {
                assert_eq!(bytes.read(sector, 1).unwrap_err(), UnreadableSector(sector), "{on_file}");
            }
            // Forgotten, and begun again: the first is what lies there now.
            bytes.keep_former_content(true);
            write(&mut bytes, 7, 2, 2);
            land(&mut bytes, 7, 2, 2, LandingKind::Landed);
            bytes.apply_remains(&CutRemains::default(), &history).unwrap();
            assert_eq!(seen(&bytes, 2, 2), [2, 0]);
        }
        std::fs::remove_file(&file).unwrap();
    }

    #[test]
    fn platters_begin_with_an_image_that_stays_as_it_is() {
        let folder = std::env::temp_dir().join(format!("seekwise-base-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (base, image) = (folder.join("base"), folder.join("image"));
        // It ends within a sector.
        let content: Vec<u8> = (0..200_000u32).map(|at| (at / 512 % 250) as u8 + 1).collect();
        std::fs::write(&base, &content).unwrap();
        for on_file in [false, true] {
            let file = File::options().read(true).write(true).create(true).truncate(true).open(&image).unwrap();
            file.set_len(1 << 20).unwrap();
            let platters = if on_file { PlatterMedium::File(file) } else { PlatterMedium::Memory };
            let mut bytes = Bytes::on_platters(platters).with_base(File::open(&base).unwrap()).unwrap();
            assert_eq!(seen(&bytes, 0, 3), [1, 2, 3]);
            write(&mut bytes, 200, 1, 1);
            land(&mut bytes, 200, 1, 1, LandingKind::Landed);
            assert_eq!(seen(&bytes, 0, 3), [1, 200, 3]);
            let end = bytes.read(390, 2).unwrap().unwrap();
            assert_eq!((end[0], end[200_000 - 390 * 512 - 1], end[200_000 - 390 * 512], end[1023]), (141, 141, 0, 0));
            assert_eq!((bytes.first_data_sector(0..2048), bytes.first_data_sector(1024..2048)), (0, 2048), "{on_file}");
        }
        assert_eq!(std::fs::read(&base).unwrap(), content);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_file_holds_the_same() {
        let file = std::env::temp_dir().join(format!("seekwise-bytes-{}", std::process::id()));
        let image = File::options().read(true).write(true).create_new(true).open(&file).unwrap();
        image.set_len(1 << 20).unwrap();
        let mut bytes = Bytes::on_platters(PlatterMedium::File(image));
        write(&mut bytes, 7, 0, 3);
        land(&mut bytes, 7, 0, 1, LandingKind::Landed);
        assert_eq!(seen(&bytes, 0, 4), [7, 7, 7, 0]);
        assert_eq!(std::fs::read(&file).unwrap()[512], 0);
        land(&mut bytes, 7, 1, 2, LandingKind::Landed);
        bytes.sync_image().unwrap();
        assert_eq!(std::fs::read(&file).unwrap()[1024], 7);
        std::fs::remove_file(&file).unwrap();
    }
}
