//! The bytes of a modelled disk: what its platters hold, and what was written and is not there yet.
//!
//! A write that the device accepted is seen by every later read. It comes to the platters' image when its landing says
//! so, by stamp ([`Landing`], rule 5 of the contract); what a power cut leaves is then what the image holds, and nothing
//! has to be worked out. Memory is that of what was written; an image in a file is sparse.
//!
//! Where that does not hold, of an array that lacks a drive, somebody else works it out ([`Bytes::leave`]); until then what lay
//! where something was put is kept ([`Bytes::keep_former`]).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io;

use seekwise_model::block::{Landing, LandingKind, Request, Role, SECTOR};

use crate::history::{History, Left};

/// Sectors of a piece of an image in memory: 4 KiB, a page of what writes to it, so that most writes fill their pieces whole.
const PIECE: u64 = 8;

/// Bytes that are copied at once where a file of platters begins with another.
const COPIED: usize = 64 << 10;

/// What lies where nothing was written.
#[derive(Debug, Default)]
pub enum Platters {
    /// In memory, in pieces; nothing is zeroes.
    #[default]
    Memory,
    /// In a file, which is as long as the disk.
    File(File),
}

/// A write that is not on the platters whole.
#[derive(Debug)]
struct Written {
    lba: u64,
    data: Vec<u8>,
    /// Sectors of which something has been heard, one bit each, and how many they are not: a drive whose cache is switched off meanwhile
    /// may write some of them twice.
    heard: Vec<u64>,
    left: u64,
    /// It was answered as done, and the last stamp that was given then.
    done: Option<u64>,
}

impl Written {
    fn of(lba: u64, data: Vec<u8>) -> Written {
        let sectors = data.len() as u64 / SECTOR;
        Written { lba, data, heard: vec![0; sectors.div_ceil(64) as usize], left: sectors, done: None }
    }

    fn hear(&mut self, sector: u64) {
        let (word, bit) = self.bit(sector);
        self.left -= u64::from(self.heard[word] & bit == 0);
        self.heard[word] |= bit;
    }

    /// Nothing has been heard of this sector of it.
    fn covers(&self, sector: u64) -> bool {
        let all = self.lba..self.lba + self.data.len() as u64 / SECTOR;
        let (word, bit) = self.bit(sector.max(self.lba));
        all.contains(&sector) && self.heard[word] & bit == 0
    }

    fn bit(&self, sector: u64) -> (usize, u64) {
        let within = sector - self.lba;
        ((within / 64) as usize, 1 << (within % 64))
    }
}

/// The bytes.
#[derive(Debug, Default)]
pub struct Bytes {
    platters: Platters,
    pieces: HashMap<u64, Box<[u8]>>,
    /// What platters in memory began with, and how many bytes that is; zeroes behind it.
    base: Option<(File, u64)>,
    /// By stamp.
    written: BTreeMap<u64, Written>,
    /// By sector: the stamp of what a read finds there, where that is not on the platters.
    above: BTreeMap<u64, u64>,
    /// Sectors that a cut left unreadable.
    torn: BTreeSet<u64>,
    /// What the platters held at an instant.
    former: Option<Former>,
}

/// What the platters held at an instant, where something was put there since.
#[derive(Debug, Default)]
struct Former {
    /// By piece: which of its sectors are kept, one bit each, and what they held.
    pieces: HashMap<u64, (u8, Box<[u8]>)>,
    /// All that could not be read then.
    torn: BTreeSet<u64>,
}

impl Former {
    /// Whether a sector is kept.
    fn has(&self, sector: u64) -> bool {
        self.pieces.get(&(sector / PIECE)).is_some_and(|(kept, _)| kept >> (sector % PIECE) & 1 == 1)
    }

    fn keep(&mut self, sector: u64, data: &[u8]) {
        let empty = || (0, vec![0; (PIECE * SECTOR) as usize].into_boxed_slice());
        let (kept, piece) = self.pieces.entry(sector / PIECE).or_insert_with(empty);
        let at = (sector % PIECE * SECTOR) as usize;
        *kept |= 1 << (sector % PIECE);
        piece[at..at + data.len()].copy_from_slice(data);
    }
}

/// A sector that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable(pub u64);

impl Bytes {
    /// On these platters.
    pub fn on(platters: Platters) -> Bytes {
        Bytes { platters, ..Bytes::default() }
    }

    /// Which begin with what is in `base`, that is not written to. Platters in memory read there what was not written since;
    /// a file of platters gets a copy, but for what is zero.
    pub fn begun_with(mut self, base: File) -> io::Result<Bytes> {
        let length = base.metadata()?.len();
        let Platters::File(file) = &self.platters else {
            self.base = Some((base, length));
            return Ok(self);
        };
        let mut copied = vec![0; COPIED];
        for at in (0..length).step_by(COPIED) {
            let copied = &mut copied[..(length - at).min(COPIED as u64) as usize];
            read_at(&base, copied, at)?;
            if copied.iter().any(|&byte| byte != 0) {
                write_at(file, copied, at)?;
            }
        }
        Ok(self)
    }

    /// Fills what platters in memory have from `lba` on with what they began with.
    fn begun(&self, lba: u64, data: &mut [u8]) -> io::Result<()> {
        let Some((base, length)) = &self.base else { return Ok(()) };
        let within = length.saturating_sub(lba * SECTOR).min(data.len() as u64);
        read_at(base, &mut data[..within as usize], lba * SECTOR)
    }

    /// A write with these data was accepted.
    pub fn accept(&mut self, write: &Request, data: Vec<u8>) {
        for sector in write.lba..write.end() {
            self.above.insert(sector, write.stamp);
            self.torn.remove(&sector);
        }
        self.written.insert(write.stamp, Written::of(write.lba, data));
    }

    /// Something became of written sectors. Of an array the first copy counts, as a read after a cut finds it; where its drive
    /// is lost, see [`Bytes::settle`].
    pub fn land(&mut self, landing: &Landing) -> io::Result<()> {
        let told = matches!(landing.kind, LandingKind::Taken | LandingKind::Gone | LandingKind::Whole);
        if told || !matches!(landing.role, Role::Copy(0) | Role::Every) {
            return Ok(());
        }
        let (from, end) = (landing.lba, landing.lba + u64::from(landing.sectors));
        if landing.kind == LandingKind::Torn {
            self.torn.extend(from..end);
        }
        let Some(written) = self.written.get_mut(&landing.stamp) else { return Ok(()) };
        let within = ((from - written.lba) * SECTOR) as usize..((end - written.lba) * SECTOR) as usize;
        (from..end).for_each(|sector| written.hear(sector));
        if landing.kind == LandingKind::Landed {
            let data = core::mem::take(&mut written.data);
            let put = self.put(from, &data[within]);
            self.written.get_mut(&landing.stamp).expect("it was just found").data = data;
            put?;
        }
        for sector in from..end {
            if self.above.get(&sector) == Some(&landing.stamp) {
                self.uncover(sector, landing.stamp, landing.kind == LandingKind::Landed);
            }
        }
        self.drop_heard(landing.stamp);
        Ok(())
    }

    /// A write was answered as done, when `last` was the last stamp given.
    pub fn done(&mut self, stamp: u64, last: u64) {
        if let Some(written) = self.written.get_mut(&stamp) {
            written.done = Some(last);
            self.drop_heard(stamp);
        }
    }

    /// A write that is over, and of which all was heard, is not needed any more.
    fn drop_heard(&mut self, stamp: u64) {
        if self.written.get(&stamp).is_some_and(|written| written.left == 0 && written.done.is_some()) {
            self.written.remove(&stamp);
        }
    }

    /// A flush of this stamp is over. Of an array that has lost a drive the first copy of a write may never land: its place is
    /// told by another copy or by parity alone. So what was done before the flush began is where a read will find it.
    pub fn settle(&mut self, flush: u64) -> io::Result<()> {
        let over = |(stamp, written): (&u64, &Written)| written.done.filter(|last| *last < flush).map(|_| *stamp);
        let settled: Vec<u64> = self.written.iter().filter_map(over).collect();
        for stamp in settled {
            let written = self.written.remove(&stamp).expect("it was just found");
            for (sector, data) in (written.lba..).zip(written.data.chunks_exact(SECTOR as usize)) {
                if self.above.get(&sector) == Some(&stamp) {
                    self.put(sector, data)?;
                    self.above.remove(&sector);
                }
            }
        }
        Ok(())
    }

    /// The power failed, and all was told that came to the platters, also what a buffer saves: nothing else ever will. No landing tells of
    /// what a layer had acknowledged and had not sent to a drive yet.
    pub fn cut(&mut self) {
        self.written.clear();
        self.above.clear();
    }

    /// From now on what lies where something is put is kept, until this is said again; or nothing is kept.
    pub fn keep_former(&mut self, keep: bool) {
        self.former = keep.then(|| Former { torn: self.torn.clone(), ..Former::default() });
    }

    /// What lies where something is put is kept.
    pub fn keeps_former(&self) -> bool {
        self.former.is_some()
    }

    /// The power failed, and this is what it leaves of `history`, which began when [`Bytes::keep_former`] was said.
    pub fn leave(&mut self, left: &Left, history: &History) -> io::Result<()> {
        self.cut();
        let former = self.former.take().unwrap_or_default();
        for (number, (kept, data)) in &former.pieces {
            if *kept == u8::MAX {
                self.put(number * PIECE, data)?;
                continue;
            }
            let sectors = (number * PIECE..).zip(data.chunks_exact(SECTOR as usize));
            for (sector, data) in sectors.filter(|(sector, _)| kept >> (sector % PIECE) & 1 == 1) {
                self.put(sector, data)?;
            }
        }
        self.torn = former.torn;
        let begins: BTreeMap<u64, u64> = history.writes().map(|(_, write)| (write.stamp, write.lba)).collect();
        for &((from, to), stamp) in &left.held {
            let first = *begins.get(&stamp).ok_or_else(|| io::Error::other("a write that nobody knows is held"))?;
            self.put(from, history.bytes(stamp, first, from, to - from))?;
            for sector in self.torn.range(from..to).copied().collect::<Vec<u64>>() {
                self.torn.remove(&sector);
            }
        }
        self.torn.extend(left.unreadable.iter().flat_map(|run| run.0..run.1));
        Ok(())
    }

    /// Keeps what lies in these sectors and was not kept yet.
    fn remember(&mut self, lba: u64, sectors: u64) -> io::Result<()> {
        let Some(mut former) = self.former.take() else { return Ok(()) };
        let mut sector = lba;
        while sector < lba + sectors {
            let new = (sector..lba + sectors).take_while(|&it| !former.has(it)).count() as u64;
            let mut data = vec![0; (new * SECTOR) as usize];
            self.get(sector, &mut data)?;
            for (sector, data) in (sector..).zip(data.chunks_exact(SECTOR as usize)) {
                former.keep(sector, data);
            }
            sector += new.max(1);
        }
        self.former = Some(former);
        Ok(())
    }

    /// A write failed or lost its power: what of it was not heard of never comes.
    pub fn forget(&mut self, stamp: u64) {
        let Some(written) = self.written.remove(&stamp) else { return };
        for sector in written.lba..written.lba + written.data.len() as u64 / SECTOR {
            if self.above.get(&sector) == Some(&stamp) {
                self.uncover(sector, stamp, false);
            }
        }
    }

    /// `stamp` is not above the platters in `sector` any more. Where it did not get there, an older write may be found.
    fn uncover(&mut self, sector: u64, stamp: u64, landed: bool) {
        let mut before = self.written.range(..stamp).rev();
        let older = if landed { None } else { before.find(|(_, write)| write.covers(sector)).map(|(&stamp, _)| stamp) };
        match older {
            Some(older) => drop(self.above.insert(sector, older)),
            None => drop(self.above.remove(&sector)),
        }
    }

    /// What a read finds.
    pub fn read(&self, lba: u64, sectors: u64) -> Result<io::Result<Vec<u8>>, Unreadable> {
        let mut data = vec![0; (sectors * SECTOR) as usize];
        Ok(self.read_into(lba, &mut data)?.map(|()| data))
    }

    /// The same, into zeroes.
    pub fn read_into(&self, lba: u64, data: &mut [u8]) -> Result<io::Result<()>, Unreadable> {
        let end = lba + data.len() as u64 / SECTOR;
        if let Some(&sector) = self.torn.range(lba..end).next() {
            return Err(Unreadable(sector));
        }
        if let Err(error) = self.get(lba, data) {
            return Ok(Err(error));
        }
        for (&sector, stamp) in self.above.range(lba..end) {
            let written = &self.written[stamp];
            let (into, from) = (((sector - lba) * SECTOR) as usize, ((sector - written.lba) * SECTOR) as usize);
            data[into..into + SECTOR as usize].copy_from_slice(&written.data[from..from + SECTOR as usize]);
        }
        Ok(Ok(()))
    }

    /// Bytes that are above the platters: lost if the power went now, but for what the device saves.
    pub fn at_risk(&self) -> u64 {
        self.above.len() as u64 * SECTOR
    }

    /// Those of them that were answered as done.
    pub fn acknowledged_at_risk(&self) -> u64 {
        let is_done = |stamp: &&u64| self.written.get(stamp).is_some_and(|write| write.done.is_some());
        self.above.values().filter(is_done).count() as u64 * SECTOR
    }

    /// Sectors that cannot be read.
    pub fn torn(&self) -> u64 {
        self.torn.len() as u64
    }

    /// All that has landed is kept, where it is kept in a file.
    pub fn close(&self) -> io::Result<()> {
        match &self.platters {
            Platters::Memory => Ok(()),
            Platters::File(file) => file.sync_all(),
        }
    }

    /// Whether anything was ever written in these sectors of an image in memory; of a file that is not known.
    pub fn may_hold(&self, lba: u64, sectors: u64) -> bool {
        let pieces = lba / PIECE..=(lba + sectors - 1) / PIECE;
        matches!(self.platters, Platters::File(_))
            || self.base.as_ref().is_some_and(|(_, length)| lba * SECTOR < *length)
            || self.above.range(lba..lba + sectors).next().is_some()
            || pieces.into_iter().any(|piece| self.pieces.contains_key(&piece))
    }

    fn get(&self, lba: u64, data: &mut [u8]) -> io::Result<()> {
        if let Platters::File(file) = &self.platters {
            return read_at(file, data, lba * SECTOR);
        }
        self.begun(lba, data)?;
        let (mut sector, end) = (lba, lba + data.len() as u64 / SECTOR);
        while sector < end {
            let to = ((sector / PIECE + 1) * PIECE).min(end);
            if let Some(piece) = self.pieces.get(&(sector / PIECE)) {
                let (from, into) = ((sector % PIECE * SECTOR) as usize, ((sector - lba) * SECTOR) as usize);
                let length = ((to - sector) * SECTOR) as usize;
                data[into..into + length].copy_from_slice(&piece[from..from + length]);
            }
            sector = to;
        }
        Ok(())
    }

    fn put(&mut self, lba: u64, data: &[u8]) -> io::Result<()> {
        self.remember(lba, data.len() as u64 / SECTOR)?;
        match &self.platters {
            Platters::File(file) => return write_at(file, data, lba * SECTOR),
            Platters::Memory => {}
        }
        let (mut sector, mut data) = (lba, data);
        while !data.is_empty() {
            let room = ((PIECE - sector % PIECE) * SECTOR) as usize;
            let (bytes, rest) = data.split_at(room.min(data.len()));
            self.put_piece(sector, bytes)?;
            (sector, data) = (sector + bytes.len() as u64 / SECTOR, rest);
        }
        Ok(())
    }

    /// The same within one piece in memory.
    fn put_piece(&mut self, sector: u64, bytes: &[u8]) -> io::Result<()> {
        let number = sector / PIECE;
        let at = (sector % PIECE * SECTOR) as usize;
        if let Some(piece) = self.pieces.get_mut(&number) {
            piece[at..at + bytes.len()].copy_from_slice(bytes);
            return Ok(());
        }
        if bytes.len() as u64 == PIECE * SECTOR {
            self.pieces.insert(number, Box::from(bytes));
            return Ok(());
        }
        let mut piece = vec![0; (PIECE * SECTOR) as usize];
        self.begun(number * PIECE, &mut piece)?;
        piece[at..at + bytes.len()].copy_from_slice(bytes);
        self.pieces.insert(number, piece.into_boxed_slice());
        Ok(())
    }
}

#[cfg(unix)]
fn read_at(file: &File, data: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, data, offset)
}

#[cfg(unix)]
fn write_at(file: &File, data: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, data, offset)
}

#[cfg(not(unix))]
fn read_at(mut file: &File, data: &mut [u8], offset: u64) -> io::Result<()> {
    use std::io::{Read, Seek, SeekFrom};
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(data)
}

#[cfg(not(unix))]
fn write_at(mut file: &File, data: &[u8], offset: u64) -> io::Result<()> {
    use std::io::{Seek, SeekFrom, Write};
    file.seek(SeekFrom::Start(offset))?;
    file.write_all(data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_model::block::{Flags, Op};
    use seekwise_model::time::Instant;

    fn write(bytes: &mut Bytes, stamp: u64, lba: u64, sectors: u32) {
        let (tag, unit, origin, op, flags) = (0, 0, 0, Op::Write, Flags::NONE);
        let request = Request { tag, unit, origin, op, flags, lba, sectors, stamp };
        bytes.accept(&request, vec![stamp as u8; sectors as usize * SECTOR as usize]);
    }

    fn land(bytes: &mut Bytes, stamp: u64, lba: u64, sectors: u32, kind: LandingKind) {
        let (from, to) = (Instant::ZERO, Instant::ZERO);
        bytes.land(&Landing::new((lba, sectors), stamp, (from, to), kind)).unwrap();
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
        bytes.done(1, 2);
        bytes.done(2, 2);
        assert_eq!(seen(&bytes, 99, 8), [0, 1, 1, 2, 2, 2, 2, 0]);
        land(&mut bytes, 1, 100, 2, LandingKind::Landed);
        assert_eq!((bytes.at_risk(), seen(&bytes, 100, 3)), (4 * SECTOR, vec![1, 1, 2]));
        land(&mut bytes, 1, 102, 2, LandingKind::Discarded);
        // The power goes.
        land(&mut bytes, 2, 102, 1, LandingKind::Landed);
        land(&mut bytes, 2, 103, 1, LandingKind::Torn);
        land(&mut bytes, 2, 104, 2, LandingKind::Discarded);
        assert_eq!((bytes.at_risk(), bytes.torn()), (0, 1));
        assert_eq!(bytes.read(103, 1).unwrap_err(), Unreadable(103));
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
        assert_eq!(bytes.pieces.values().map(|piece| piece.len()).sum::<usize>(), 50 * 8 * SECTOR as usize);
        assert_eq!(seen(&bytes, 49_999, 10), [0, 50, 50, 50, 50, 50, 50, 50, 50, 0]);
    }

    #[test]
    fn what_fails_uncovers_what_was_there_before() {
        let mut bytes = Bytes::default();
        write(&mut bytes, 1, 10, 2);
        write(&mut bytes, 2, 10, 1);
        bytes.forget(2);
        assert_eq!(seen(&bytes, 10, 2), [1, 1]);
        land(&mut bytes, 1, 10, 2, LandingKind::Landed);
        assert_eq!((seen(&bytes, 10, 2), bytes.at_risk()), (vec![1, 1], 0));
    }

    #[test]
    fn what_lands_twice_counts_once_and_what_has_landed_covers_nothing() {
        let mut bytes = Bytes::default();
        write(&mut bytes, 1, 10, 4);
        land(&mut bytes, 1, 10, 2, LandingKind::Landed);
        land(&mut bytes, 1, 10, 4, LandingKind::Landed);
        assert_eq!((seen(&bytes, 10, 4), bytes.at_risk()), (vec![1; 4], 0));
        bytes.done(1, 1);
        assert!(bytes.written.is_empty());
        write(&mut bytes, 2, 10, 2);
        land(&mut bytes, 2, 10, 1, LandingKind::Landed);
        write(&mut bytes, 3, 10, 2);
        bytes.forget(3);
        bytes.done(2, 3);
        land(&mut bytes, 2, 11, 1, LandingKind::Landed);
        assert_eq!((seen(&bytes, 10, 4), bytes.at_risk()), (vec![2, 2, 1, 1], 0));
    }

    #[test]
    fn a_cut_takes_what_nothing_will_be_heard_of() {
        let mut bytes = Bytes::default();
        write(&mut bytes, 1, 10, 2);
        write(&mut bytes, 2, 11, 2);
        land(&mut bytes, 1, 10, 1, LandingKind::Landed);
        bytes.cut();
        assert_eq!((seen(&bytes, 10, 3), bytes.at_risk()), (vec![1, 0, 0], 0));
    }

    #[test]
    fn what_is_done_and_settled_is_there_though_its_first_copy_never_landed() {
        let mut bytes = Bytes::default();
        write(&mut bytes, 1, 10, 1);
        write(&mut bytes, 2, 11, 1);
        write(&mut bytes, 3, 12, 1);
        bytes.done(1, 3);
        // A flush of stamp 4 was given before this one was done.
        bytes.done(2, 5);
        bytes.settle(4).unwrap();
        assert_eq!((bytes.at_risk(), seen(&bytes, 10, 3)), (2 * SECTOR, vec![1, 2, 3]));
        assert_eq!(bytes.acknowledged_at_risk(), SECTOR, "nobody was told that the third is done");
        bytes.forget(2);
        bytes.forget(3);
        assert_eq!(seen(&bytes, 10, 3), [1, 0, 0]);
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
                bytes = Bytes::on(Platters::File(image));
            }
            write(&mut bytes, 1, 4, 16);
            land(&mut bytes, 1, 4, 16, LandingKind::Landed);
            land(&mut bytes, 9, 18, 2, LandingKind::Torn);
            bytes.keep_former(true);
            let mut history = History::default();
            for (stamp, lba, sectors) in [(2, 0, 16), (3, 2, 4), (4, 18, 1), (5, 29, 2)] {
                let (tag, unit, origin, op, flags) = (0, 0, 0, Op::Write, Flags::NONE);
                let request = Request { tag, unit, origin, op, flags, lba, sectors, stamp };
                let data = vec![stamp as u8; sectors as usize * SECTOR as usize];
                history.taken(Instant::ZERO, &request, Some(&data));
                bytes.accept(&request, data);
                land(&mut bytes, stamp, lba, sectors, LandingKind::Landed);
            }
            write(&mut bytes, 6, 1, 1);
            assert_eq!(seen(&bytes, 0, 18), [[2, 6, 3, 3, 3, 3].as_slice(), &[2; 10], &[1; 2]].concat());
            // The second sector of the second write cannot be read, its third and last are there, and of the fifth one.
            let held = vec![((2, 3), 2), ((15, 16), 2), ((30, 31), 5)];
            bytes.leave(&Left { held, unreadable: vec![(1, 2)] }, &history).unwrap();
            assert_eq!((bytes.at_risk(), bytes.torn(), bytes.keeps_former()), (0, 3, false));
            assert_eq!(seen(&bytes, 2, 16), [[2, 0].as_slice(), &[1; 11], &[2, 1, 1]].concat());
            assert_eq!((seen(&bytes, 0, 1), seen(&bytes, 29, 2)), (vec![0], vec![0, 5]));
            for sector in [1, 18, 19] {
                assert_eq!(bytes.read(sector, 1).unwrap_err(), Unreadable(sector), "{on_file}");
            }
            // Forgotten, and begun again: the first is what lies there now.
            bytes.keep_former(true);
            write(&mut bytes, 7, 2, 2);
            land(&mut bytes, 7, 2, 2, LandingKind::Landed);
            bytes.leave(&Left::default(), &history).unwrap();
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
            let platters = if on_file { Platters::File(file) } else { Platters::Memory };
            let mut bytes = Bytes::on(platters).begun_with(File::open(&base).unwrap()).unwrap();
            assert_eq!(seen(&bytes, 0, 3), [1, 2, 3]);
            write(&mut bytes, 200, 1, 1);
            land(&mut bytes, 200, 1, 1, LandingKind::Landed);
            assert_eq!(seen(&bytes, 0, 3), [1, 200, 3]);
            let end = bytes.read(390, 2).unwrap().unwrap();
            assert_eq!((end[0], end[200_000 - 390 * 512 - 1], end[200_000 - 390 * 512], end[1023]), (141, 141, 0, 0));
            assert!(bytes.may_hold(0, 1) && (on_file || !bytes.may_hold(1024, 1)));
        }
        assert_eq!(std::fs::read(&base).unwrap(), content);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_file_holds_the_same() {
        let file = std::env::temp_dir().join(format!("seekwise-bytes-{}", std::process::id()));
        let image = File::options().read(true).write(true).create_new(true).open(&file).unwrap();
        image.set_len(1 << 20).unwrap();
        let mut bytes = Bytes::on(Platters::File(image));
        write(&mut bytes, 7, 0, 3);
        land(&mut bytes, 7, 0, 1, LandingKind::Landed);
        assert_eq!(seen(&bytes, 0, 4), [7, 7, 7, 0]);
        assert_eq!(std::fs::read(&file).unwrap()[512], 0);
        land(&mut bytes, 7, 1, 2, LandingKind::Landed);
        bytes.close().unwrap();
        assert_eq!(std::fs::read(&file).unwrap()[1024], 7);
        std::fs::remove_file(&file).unwrap();
    }
}
