//! The bytes of a modelled disk: those on its platters, and those written but not there yet.
//!
//! Every later read sees a write that the device accepted. Its data reach the platters' image when its landing is reported, by stamp
//! ([`Landing`], rule 5 of the contract); so the image holds exactly what a power cut leaves. Memory holds written data other than
//! zeroes; an image in a file is sparse. The state of sectors is stored by runs, so a request of any length costs one entry.
//!
//! An array that lacks a drive is the exception: its caller works out what a cut leaves (`Bytes::apply_remains`). Until then the former
//! content of overwritten places is kept (`Bytes::keep_former`).

#[cfg(test)]
mod oracle;
mod platters;
mod runs;

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;

use seekwise_disk::block::{Landing, LandingKind, MemberRole, Request, SECTOR};

use self::platters::{PIECE, PIECE_COST, PlatterBytes};
pub use self::platters::{PlatterMedium, zero_at};
use self::runs::{RUN_COST, RunMap};
use seekwise_disk::history::{CutRemains, DataPart, History, WriteData};

/// Memory of a pending write besides its data: a [`PendingWrite`] and its entry in the index.
const WRITE_COST: u64 = 192;

/// A pending write: not landed whole, or not answered.
#[derive(Debug)]
struct PendingWrite {
    lba: u64,
    data: WriteData,
    /// Sectors whose landing was reported, one bit each, and the number of the others. A drive whose cache is switched off meanwhile may
    /// write some sectors twice.
    heard: Vec<u64>,
    left: u64,
    /// The last stamp given when it was answered as done.
    done: Option<u64>,
    /// Memory accounted for it.
    counted: u64,
}

impl PendingWrite {
    fn new(lba: u64, data: WriteData) -> PendingWrite {
        let sectors = data.bytes() / SECTOR;
        PendingWrite { lba, data, heard: vec![0; sectors.div_ceil(64) as usize], left: sectors, done: None, counted: 0 }
    }

    fn mark_reported(&mut self, sector: u64) {
        let (word, bit) = self.bit_position(sector);
        self.left -= u64::from(self.heard[word] & bit == 0);
        self.heard[word] |= bit;
    }

    fn end_sector(&self) -> u64 {
        self.lba + self.data.bytes() / SECTOR
    }

    /// Returns the runs of its sectors in `from..end` whose landing was not reported.
    fn unreported_runs(&self, from: u64, end: u64) -> Vec<(u64, u64)> {
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for sector in from.max(self.lba)..end.min(self.end_sector()) {
            let (word, bit) = self.bit_position(sector);
            match runs.last_mut() {
                _ if self.heard[word] & bit != 0 => {}
                Some(run) if run.1 == sector => run.1 += 1,
                _ => runs.push((sector, sector + 1)),
            }
        }
        runs
    }

    /// Returns its data for these of its sectors.
    fn sector_data(&self, from: u64, end: u64) -> DataPart<'_> {
        self.data.slice_from((from - self.lba) * SECTOR, (end - from) * SECTOR)
    }

    /// Memory that it takes, with the pieces that its data will occupy.
    fn memory_cost(&self, on_platters: u64) -> u64 {
        WRITE_COST
            + self.data.memory_bytes()
            + 8 * self.heard.len() as u64
            + on_platters * count_pieces(&self.data, self.lba) * PIECE_COST
    }

    fn bit_position(&self, sector: u64) -> (usize, u64) {
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

/// The bytes of a disk.
#[derive(Debug, Default)]
pub struct Bytes {
    surface: PlatterBytes,
    /// Pending writes, by stamp.
    written: BTreeMap<u64, PendingWrite>,
    /// Memory that `written` takes, and will take.
    writing: u64,
    /// By sectors: the stamp of the write that a read finds there, if it is not on the platters.
    above: RunMap<u64>,
    /// Sectors that a cut left unreadable.
    torn: RunMap<()>,
    /// Former content of the platters, if it is kept.
    former: Option<FormerContent>,
}

/// Content of the platters at an instant, where it was overwritten since.
#[derive(Debug, Default)]
struct FormerContent {
    /// By piece: its kept sectors, one bit each, and their content.
    pieces: HashMap<u64, (u8, Box<[u8]>)>,
    /// Sectors that were empty.
    empty: RunMap<()>,
    /// All sectors that were unreadable then.
    torn: RunMap<()>,
}

impl FormerContent {
    /// Whether a sector is kept.
    fn has_sector(&self, sector: u64) -> bool {
        self.pieces.get(&(sector / PIECE)).is_some_and(|(kept, _)| kept >> (sector % PIECE) & 1 == 1)
    }

    fn keep_sector(&mut self, sector: u64, data: &[u8]) {
        let empty = || (0, vec![0; (PIECE * SECTOR) as usize].into_boxed_slice());
        let (kept, piece) = self.pieces.entry(sector / PIECE).or_insert_with(empty);
        let at = (sector % PIECE * SECTOR) as usize;
        *kept |= 1 << (sector % PIECE);
        piece[at..at + data.len()].copy_from_slice(data);
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

    /// Starts from the content of `base`, which is not written to. Platters in memory read unwritten places from it; platters in a file get
    /// a copy without its zeroes.
    pub fn with_base(self, base: File) -> io::Result<Bytes> {
        Ok(Bytes { surface: self.surface.with_base(base)?, ..self })
    }

    /// Number of copies of landed data in memory: one on platters there, one as former content.
    fn copy_count(&self) -> u64 {
        u64::from(self.surface.is_in_memory()) + u64::from(self.former.is_some())
    }

    /// Memory in use, including that of writes under way, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        let runs = (self.above.len() + self.torn.len()) as u64 * RUN_COST;
        self.surface.memory_bytes() + self.writing + runs + self.former.as_ref().map_or(0, FormerContent::memory_bytes)
    }

    /// Upper bound of the memory for a write of `bytes` at `lba`; zeroes have no data (`bytes` is 0).
    pub(crate) fn write_cost(&self, lba: u64, bytes: u64) -> u64 {
        let pieces = (lba + bytes / SECTOR).div_ceil(PIECE) - lba / PIECE;
        let whole = if bytes == 0 { 0 } else { self.copy_count() * pieces * PIECE_COST };
        WRITE_COST + 2 * RUN_COST + bytes + whole
    }

    /// Memory for such a write, without the pieces that exist already; zeroes need none.
    pub(crate) fn exact_write_cost(&self, lba: u64, bytes: u64) -> u64 {
        let needs_pieces = bytes > 0 && self.surface.is_in_memory();
        let there = if needs_pieces { self.surface.pieces_within(lba, lba + bytes / SECTOR) } else { 0 };
        self.write_cost(lba, bytes) - there * PIECE_COST
    }

    /// Records a write that the device accepted.
    pub fn accept_write(&mut self, write: &Request, data: WriteData) {
        self.above.set(write.lba, write.end(), write.stamp);
        self.torn.clear(write.lba, write.end());
        let mut written = PendingWrite::new(write.lba, data);
        written.counted = written.memory_cost(self.copy_count());
        self.writing += written.counted;
        self.written.insert(write.stamp, written);
    }

    /// Applies a landing. In an array the first copy counts, as a read after a cut finds it; if its drive is lost, see
    /// `Bytes::apply_flush`.
    pub fn apply_landing(&mut self, landing: &Landing) -> io::Result<()> {
        let told = matches!(landing.kind, LandingKind::Taken | LandingKind::Gone | LandingKind::Whole);
        if told || !matches!(landing.role, MemberRole::Copy(0) | MemberRole::Every) {
            return Ok(());
        }
        let (from, end) = (landing.lba, landing.lba + u64::from(landing.sectors));
        if landing.kind == LandingKind::Torn {
            self.torn.set(from, end, ());
        }
        let Some(mut written) = self.written.remove(&landing.stamp) else { return Ok(()) };
        (from..end).for_each(|sector| written.mark_reported(sector));
        let landed = landing.kind == LandingKind::Landed;
        let put = if landed { self.write_part(from, &written.sector_data(from, end)) } else { Ok(()) };
        self.written.insert(landing.stamp, written);
        put?;
        self.uncover(from, end, landing.stamp, landed);
        self.drop_if_complete(landing.stamp);
        Ok(())
    }

    /// Records that a write was answered as done, when `last` was the last stamp given.
    pub(crate) fn mark_done(&mut self, stamp: u64, last: u64) {
        if let Some(written) = self.written.get_mut(&stamp) {
            written.done = Some(last);
            self.drop_if_complete(stamp);
        }
    }

    /// Drops a write that is answered and landed whole.
    fn drop_if_complete(&mut self, stamp: u64) {
        if self.written.get(&stamp).is_some_and(|written| written.left == 0 && written.done.is_some()) {
            self.remove_write(stamp);
        }
    }

    /// Removes a pending write and its memory from the account.
    fn remove_write(&mut self, stamp: u64) -> Option<PendingWrite> {
        let written = self.written.remove(&stamp)?;
        self.writing -= written.counted;
        Some(written)
    }

    /// Applies a flush of this stamp that is over. In an array that has lost a drive the first copy of a write may never land: only another
    /// copy or parity holds its data. So the writes that were done before the flush began are put on the platters.
    pub(crate) fn apply_flush(&mut self, flush: u64) -> io::Result<()> {
        let over = |(stamp, written): (&u64, &PendingWrite)| written.done.filter(|last| *last < flush).map(|_| *stamp);
        let settled: Vec<u64> = self.written.iter().filter_map(over).collect();
        for stamp in settled {
            let written = self.remove_write(stamp).expect("it was just found");
            // Also below a newer write, which may fail.
            let covered = self.above.runs_within(written.lba, written.end_sector());
            let settled: Vec<(u64, u64)> = covered.flat_map(|run| written.unreported_runs(run.0, run.1)).collect();
            for (from, end) in settled {
                self.write_part(from, &written.sector_data(from, end))?;
            }
            for (from, end) in self.visible_runs(stamp, written.lba, written.end_sector()) {
                self.above.clear(from, end);
            }
        }
        Ok(())
    }

    /// Returns the runs in `from..end` where a read finds this write.
    fn visible_runs(&self, stamp: u64, from: u64, end: u64) -> Vec<(u64, u64)> {
        let own = self.above.runs_within(from, end).filter(|run| run.2 == stamp);
        own.map(|(from, end, _)| (from, end)).collect()
    }

    /// Drops all pending writes after a power cut; all landings have been reported, also of what a buffer saves. No landing reports writes
    /// that a layer had acknowledged and not sent to a drive yet.
    pub fn apply_cut(&mut self) {
        self.written.clear();
        self.writing = 0;
        self.above = RunMap::default();
    }

    /// Starts to keep the former content of overwritten places, anew if it was kept, or stops.
    pub(crate) fn keep_former(&mut self, keep: bool) {
        self.former = keep.then(|| FormerContent { torn: self.torn.clone(), ..FormerContent::default() });
    }

    /// Whether the former content of overwritten places is kept.
    pub(crate) fn keeps_former(&self) -> bool {
        self.former.is_some()
    }

    /// Sets the content that a power cut leaves of `history`, which began with [`Bytes::keep_former`].
    pub(crate) fn apply_remains(&mut self, left: &CutRemains, history: &History) -> io::Result<()> {
        self.apply_cut();
        let former = self.former.take().unwrap_or_default();
        for (number, (kept, data)) in &former.pieces {
            if *kept == u8::MAX {
                self.write_part(number * PIECE, &DataPart::Bytes(data))?;
                continue;
            }
            let sectors = (number * PIECE..).zip(data.chunks_exact(SECTOR as usize));
            for (sector, data) in sectors.filter(|(sector, _)| kept >> (sector % PIECE) & 1 == 1) {
                self.write_part(sector, &DataPart::Bytes(data))?;
            }
        }
        for (from, end, ()) in former.empty.iter() {
            self.write_part(from, &DataPart::Zeroes { bytes: (end - from) * SECTOR, allocated: false })?;
        }
        self.torn = former.torn;
        let begins: BTreeMap<u64, u64> = history.accepted_writes().map(|(_, write)| (write.stamp, write.lba)).collect();
        for &((from, to), stamp) in &left.held {
            let first = *begins.get(&stamp).ok_or_else(|| io::Error::other("a write that nobody knows is held"))?;
            self.write_part(from, &history.data_part(stamp, first, from, to - from))?;
            self.torn.clear(from, to);
        }
        left.unreadable.iter().for_each(|run| self.torn.set(run.0, run.1, ()));
        Ok(())
    }

    fn write_part(&mut self, lba: u64, part: &DataPart<'_>) -> io::Result<()> {
        self.save_former(lba, part.bytes() / SECTOR)?;
        match *part {
            DataPart::Bytes(data) => self.surface.write_sectors(lba, data),
            DataPart::Zeroes { bytes, allocated } => self.surface.write_zeroes(lba, bytes / SECTOR, allocated),
        }
    }

    /// Keeps the content of these sectors, except those kept already.
    fn save_former(&mut self, lba: u64, sectors: u64) -> io::Result<()> {
        let Some(mut former) = self.former.take() else { return Ok(()) };
        for (from, end) in former.empty.gaps(lba, lba + sectors) {
            self.save_former_run(&mut former, from, end)?;
        }
        self.former = Some(former);
        Ok(())
    }

    /// Keeps a run of sectors that are not kept as empty.
    fn save_former_run(&self, former: &mut FormerContent, from: u64, end: u64) -> io::Result<()> {
        let mut at = from;
        while at < end {
            let data = self.surface.data_from(at, end);
            // Sectors that are empty now may have held data, which are kept then.
            let mut empty = at;
            let kept: Vec<u64> = match former.pieces.len() as u64 {
                0 => Vec::new(),
                _ => (at..data).filter(|&sector| former.has_sector(sector)).collect(),
            };
            for sector in kept {
                former.empty.set(empty, sector, ());
                empty = sector + 1;
            }
            former.empty.set(empty, data, ());
            at = self.surface.hole_from(data, end);
            let mut sector = [0; SECTOR as usize];
            for lba in (data..at).filter(|&lba| !former.has_sector(lba)).collect::<Vec<u64>>() {
                sector.fill(0);
                self.surface.read_sectors(lba, &mut sector)?;
                former.keep_sector(lba, &sector);
            }
        }
        Ok(())
    }

    /// Drops a write that failed or lost its power; the rest of it never lands.
    pub fn drop_failed_write(&mut self, stamp: u64) {
        let Some(written) = self.remove_write(stamp) else { return };
        self.uncover(written.lba, written.end_sector(), stamp, false);
    }

    /// Removes `stamp` from these sectors of `above`. Unless it landed there, a read may find an older write.
    fn uncover(&mut self, from: u64, end: u64, stamp: u64, landed: bool) {
        let mut bare = self.visible_runs(stamp, from, end);
        bare.iter().for_each(|run| self.above.clear(run.0, run.1));
        for (&older, write) in self.written.range(..stamp).rev() {
            if landed || bare.is_empty() {
                return;
            }
            let found: Vec<(u64, u64)> = bare.iter().flat_map(|run| write.unreported_runs(run.0, run.1)).collect();
            found.iter().for_each(|run| self.above.set(run.0, run.1, older));
            if !found.is_empty() {
                bare = bare.iter().flat_map(|run| self.above.gaps(run.0, run.1)).collect();
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
        if let Some((sector, ..)) = self.torn.runs_within(lba, end).next() {
            return Err(UnreadableSector(sector));
        }
        if let Err(error) = self.surface.read_sectors(lba, data) {
            return Ok(Err(error));
        }
        for (from, to, stamp) in self.above.runs_within(lba, end) {
            let into = ((from - lba) * SECTOR) as usize..((to - lba) * SECTOR) as usize;
            self.written[&stamp].sector_data(from, to).copy_to(&mut data[into]);
        }
        Ok(Ok(()))
    }

    /// Bytes not on the platters: lost if the power failed now, except those that the device saves.
    pub(crate) fn bytes_at_risk(&self) -> u64 {
        self.above.sector_count() * SECTOR
    }

    /// Bytes at risk that were answered as done.
    pub(crate) fn acknowledged_bytes_at_risk(&self) -> u64 {
        let is_done = |stamp: &u64| self.written.get(stamp).is_some_and(|write| write.done.is_some());
        self.above.iter().filter(|run| is_done(&run.2)).map(|(from, end, _)| (end - from) * SECTOR).sum()
    }

    /// Number of unreadable sectors.
    pub(crate) fn unreadable_sectors(&self) -> u64 {
        self.torn.sector_count()
    }

    /// Syncs the image, if it is a file.
    pub(crate) fn sync_image(&self) -> io::Result<()> {
        self.surface.sync_image()
    }

    /// Returns the first sector of `lba..end` that may not be zero, or `end`.
    pub(crate) fn data_from(&self, lba: u64, end: u64) -> u64 {
        let above = self.above.runs_within(lba, end).next().map_or(end, |run| run.0);
        self.surface.data_from(lba, end).min(above)
    }

    /// Returns the first sector of `lba..end` at which a run of zeroes begins, or `end`.
    pub(crate) fn hole_from(&self, lba: u64, end: u64) -> u64 {
        let mut at = lba;
        loop {
            let below = self.surface.hole_from(at, end);
            let above =
                self.above.runs_within(below, end).next().filter(|run| run.0 == below).map_or(below, |run| run.1);
            if above == at || above >= end {
                return above.min(end);
            }
            at = above;
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
        bytes.mark_done(1, 2);
        bytes.mark_done(2, 2);
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
        assert!(bytes.written.len() == 1);
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
        (1..=50).for_each(|stamp| bytes.mark_done(stamp, 50));
        assert_eq!(bytes.memory_bytes(), 50 * PIECE_COST);
        assert_eq!(seen(&bytes, 49_999, 10), [0, 50, 50, 50, 50, 50, 50, 50, 50, 0]);
    }

    /// In bytes: 192 of a write under way, 64 of each of its two runs, its data, and 4096 and 64 of each piece of eight
    /// sectors that is not there yet.
    #[test]
    fn what_is_written_again_costs_no_second_piece() {
        let mut bytes = Bytes::default();
        write(&mut bytes, 1, 8, 8);
        land(&mut bytes, 1, 8, 8, LandingKind::Landed);
        bytes.mark_done(1, 1);
        // First sector, bytes; pieces that it may take, and those of them that are there.
        for (lba, data, most, there) in
            [(8, 4096, 1, 1), (16, 4096, 1, 0), (9, 512, 1, 1), (15, 1024, 2, 1), (0, 12_288, 3, 1), (0, 4096, 1, 0)]
        {
            let cost = (bytes.write_cost(lba, data), bytes.exact_write_cost(lba, data));
            let beside = 320 + data;
            assert_eq!(cost, (beside + most * 4160, beside + (most - there) * 4160), "{data} bytes at {lba}");
        }
        assert_eq!((bytes.write_cost(8, 0), bytes.exact_write_cost(8, 0)), (320, 320), "zeroes have no data");
        assert_eq!(bytes.exact_write_cost(9, 0), 320, "zeroes that begin inside of a piece that exists");
        // The former content would be a second copy.
        bytes.keep_former(true);
        assert_eq!(bytes.exact_write_cost(8, 4096), 320 + 4096 + 4160);
        let in_file = Bytes::on_platters(PlatterMedium::File(tempfile::tempfile().unwrap()));
        assert_eq!((in_file.write_cost(8, 4096), in_file.exact_write_cost(8, 4096)), (320 + 4096, 320 + 4096));
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
        bytes.mark_done(1, 1);
        assert!(bytes.written.is_empty());
        write(&mut bytes, 2, 10, 2);
        land(&mut bytes, 2, 10, 1, LandingKind::Landed);
        write(&mut bytes, 3, 10, 2);
        bytes.drop_failed_write(3);
        bytes.mark_done(2, 3);
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
        bytes.mark_done(1, 3);
        // A flush of stamp 4 was given before this one was done.
        bytes.mark_done(2, 5);
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
        bytes.mark_done(1, 1);
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
            bytes.keep_former(true);
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
            assert_eq!((bytes.bytes_at_risk(), bytes.unreadable_sectors(), bytes.keeps_former()), (0, 3, false));
            assert_eq!(seen(&bytes, 2, 16), [[2, 0].as_slice(), &[1; 11], &[2, 1, 1]].concat());
            assert_eq!((seen(&bytes, 0, 1), seen(&bytes, 29, 2)), (vec![0], vec![0, 5]));
            for sector in [1, 18, 19] {
                assert_eq!(bytes.read(sector, 1).unwrap_err(), UnreadableSector(sector), "{on_file}");
            }
            // Forgotten, and begun again: the first is what lies there now.
            bytes.keep_former(true);
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
            assert_eq!((bytes.data_from(0, 2048), bytes.data_from(1024, 2048)), (0, 2048), "{on_file}");
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
