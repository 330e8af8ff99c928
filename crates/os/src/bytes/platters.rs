//! The content of a modelled disk's platters: in memory, where zeroes take no room, or in a sparse file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;

use seekwise_disk::block::SECTOR;

use super::runs::{RUN_COST, RunMap};

/// Sectors of a piece of an image in memory: 4 KiB, the page size of its writers, so that most writes fill whole pieces.
pub const PIECE: u64 = 8;

/// Memory of a piece: its bytes, an allocation's overhead (16), and its place in a tree whose nodes of 11 places are two thirds
/// full (24 bytes each, and a pointer).
pub(crate) const PIECE_COST: u64 = PIECE * SECTOR + 64;

/// Bytes copied, or written as zeroes, at once.
const COPIED: usize = 64 << 10;

/// Storage of the platters' data.
#[derive(Debug, Default)]
pub enum PlatterMedium {
    /// In memory, in pieces; zeroes take none.
    #[default]
    Memory,
    /// In a file as long as the disk.
    File(File),
}

/// The platters and their content.
#[derive(Debug, Default)]
pub(crate) struct PlatterBytes {
    platters: PlatterMedium,
    pieces: BTreeMap<u64, Box<[u8]>>,
    /// The base image of platters in memory, and its length in bytes; zeroes beyond it.
    base: Option<(File, u64)>,
    /// Where zeroes were written over the base image.
    blank: RunMap<()>,
}

impl PlatterBytes {
    /// Creates empty platters.
    pub fn new(platters: PlatterMedium) -> PlatterBytes {
        PlatterBytes { platters, ..PlatterBytes::default() }
    }

    /// Starts from the content of `base`; see [`super::Bytes::with_base`].
    pub fn with_base(mut self, base: File) -> io::Result<PlatterBytes> {
        let length = base.metadata()?.len();
        let PlatterMedium::File(file) = &self.platters else {
            self.base = Some((base, length));
            return Ok(self);
        };
        let mut copied = vec![0; COPIED];
        let mut at = data_from(&base, 0, length);
        while at < length {
            let copied = &mut copied[..(length - at).min(COPIED as u64) as usize];
            read_at(&base, copied, at)?;
            if copied.iter().any(|&byte| byte != 0) {
                write_at(file, copied, at)?;
            }
            at = data_from(&base, at + copied.len() as u64, length);
        }
        Ok(self)
    }

    /// Reads the base image of platters in memory, from `lba` on, into `data`, which must be all zeroes.
    fn read_base(&self, lba: u64, data: &mut [u8]) -> io::Result<()> {
        let Some((base, length)) = &self.base else { return Ok(()) };
        let within = length.saturating_sub(lba * SECTOR).min(data.len() as u64);
        read_at(base, &mut data[..within as usize], lba * SECTOR)?;
        for (from, end, ()) in self.blank.runs_within(lba, lba + data.len() as u64 / SECTOR) {
            data[((from - lba) * SECTOR) as usize..((end - lba) * SECTOR) as usize].fill(0);
        }
        Ok(())
    }

    /// Reads sectors into `data`, which must be all zeroes.
    pub fn read_sectors(&self, lba: u64, data: &mut [u8]) -> io::Result<()> {
        if let PlatterMedium::File(file) = &self.platters {
            return read_at(file, data, lba * SECTOR);
        }
        self.read_base(lba, data)?;
        let end = lba + data.len() as u64 / SECTOR;
        for (number, piece) in self.pieces.range(lba / PIECE..end.div_ceil(PIECE)) {
            let (from, to) = ((number * PIECE).max(lba), ((number + 1) * PIECE).min(end));
            let (within, into) = (((from - number * PIECE) * SECTOR) as usize, ((from - lba) * SECTOR) as usize);
            let length = ((to - from) * SECTOR) as usize;
            data[into..into + length].copy_from_slice(&piece[within..within + length]);
        }
        Ok(())
    }

    /// Writes whole sectors.
    pub fn write_sectors(&mut self, lba: u64, data: &[u8]) -> io::Result<()> {
        if let PlatterMedium::File(file) = &self.platters {
            return write_at(file, data, lba * SECTOR);
        }
        let (mut sector, mut data) = (lba, data);
        while !data.is_empty() {
            let room = ((PIECE - sector % PIECE) * SECTOR) as usize;
            let (bytes, rest) = data.split_at(room.min(data.len()));
            self.write_piece(sector, bytes)?;
            (sector, data) = (sector + bytes.len() as u64 / SECTOR, rest);
        }
        Ok(())
    }

    /// Writes sectors of one piece in memory.
    fn write_piece(&mut self, sector: u64, bytes: &[u8]) -> io::Result<()> {
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
        self.read_base(number * PIECE, &mut piece)?;
        piece[at..at + bytes.len()].copy_from_slice(bytes);
        self.pieces.insert(number, piece.into_boxed_slice());
        Ok(())
    }

    /// Writes zeroes, which take no room; in a file only if they need not be `allocated`.
    pub(crate) fn write_zeroes(&mut self, lba: u64, sectors: u64, allocated: bool) -> io::Result<()> {
        if let PlatterMedium::File(file) = &self.platters {
            return zero_at(file, lba * SECTOR, sectors * SECTOR, allocated);
        }
        let end = lba + sectors;
        let covered = self.base.as_ref().map_or(0, |(_, length)| length.div_ceil(SECTOR));
        self.blank.set(lba, end.min(covered), ());
        let touched: Vec<u64> = self.pieces.range(lba / PIECE..end.div_ceil(PIECE)).map(|it| *it.0).collect();
        for number in touched {
            let (from, to) = ((number * PIECE).max(lba), ((number + 1) * PIECE).min(end));
            if to - from == PIECE {
                self.pieces.remove(&number);
            } else if let Some(piece) = self.pieces.get_mut(&number) {
                let within = ((from - number * PIECE) * SECTOR) as usize..((to - number * PIECE) * SECTOR) as usize;
                piece[within].fill(0);
            }
        }
        Ok(())
    }

    /// Returns the first sector of `lba..end` that may not be zero, or `end`.
    pub(crate) fn data_from(&self, lba: u64, end: u64) -> u64 {
        if let PlatterMedium::File(file) = &self.platters {
            return (data_from(file, lba * SECTOR, end * SECTOR) / SECTOR).clamp(lba, end);
        }
        let piece = self.pieces.range(lba / PIECE..).next().map_or(end, |it| (it.0 * PIECE).max(lba));
        let covered = self.base.as_ref().map_or(0, |(_, length)| length.div_ceil(SECTOR));
        let base =
            if lba < covered { self.blank.gaps(lba, covered.min(end)).first().map_or(end, |it| it.0) } else { end };
        piece.min(base).min(end)
    }

    /// Returns the first sector of `lba..end` that is known to be zero, or `end`.
    pub(crate) fn hole_from(&self, lba: u64, end: u64) -> u64 {
        if let PlatterMedium::File(file) = &self.platters {
            return hole_from(file, lba * SECTOR, end * SECTOR).div_ceil(SECTOR).clamp(lba, end);
        }
        let covered = self.base.as_ref().map_or(0, |(_, length)| length.div_ceil(SECTOR)).min(end);
        let mut at = lba;
        loop {
            let from = at;
            // Adjacent pieces.
            for number in self.pieces.range(at / PIECE..end.div_ceil(PIECE)).map(|it| *it.0) {
                if number != at / PIECE {
                    break;
                }
                at = (number + 1) * PIECE;
            }
            if at < covered {
                at = self.blank.runs_within(at, covered).next().map_or(covered, |blank| blank.0.max(at));
            }
            if at == from || at >= end {
                return at.min(end);
            }
        }
    }

    /// Memory in use, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.pieces.len() as u64 * PIECE_COST + self.blank.len() as u64 * RUN_COST
    }

    /// Number of pieces in memory that lie in `lba..end`, in part at least.
    pub(crate) fn pieces_within(&self, lba: u64, end: u64) -> u64 {
        self.pieces.range(lba / PIECE..end.div_ceil(PIECE)).count() as u64
    }

    /// Syncs the file, if there is one.
    pub(crate) fn sync_image(&self) -> io::Result<()> {
        match &self.platters {
            PlatterMedium::Memory => Ok(()),
            PlatterMedium::File(file) => file.sync_all(),
        }
    }

    /// Whether the content is in memory.
    pub(crate) fn is_in_memory(&self) -> bool {
        matches!(self.platters, PlatterMedium::Memory)
    }
}

/// Returns the first byte of `at..end` that is in no hole of the file, or `end`; `at` if the system does not tell.
fn data_from(file: &File, at: u64, end: u64) -> u64 {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{SeekFrom, seek};
        match seek(file, SeekFrom::Data(at)) {
            Ok(data) => data.min(end),
            Err(rustix::io::Errno::NXIO) => end,
            Err(_) => at,
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (file, end);
        at
    }
}

/// Returns the first byte of `at..end` that is in a hole of the file, or `end`, also if the system does not tell.
fn hole_from(file: &File, at: u64, end: u64) -> u64 {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{SeekFrom, seek};
        seek(file, SeekFrom::Hole(at)).map_or(end, |hole| hole.min(end))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (file, at);
        end
    }
}

/// Zeroes a part of a file: as allocated space if that is wanted and possible, else as a hole. If the file system can do neither,
/// zeroes are written where it is not zero.
pub fn zero_at(file: &File, offset: u64, bytes: u64, allocated: bool) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{FallocateFlags, fallocate};
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        if allocated && fallocate(file, FallocateFlags::ZERO_RANGE | FallocateFlags::KEEP_SIZE, offset, bytes).is_ok() {
            return Ok(());
        }
        if fallocate(file, hole, offset, bytes).is_ok() {
            return Ok(());
        }
    }
    let _ = allocated;
    let (zeroes, mut found) = (vec![0; COPIED], vec![0; COPIED]);
    let end = offset + bytes;
    let mut at = data_from(file, offset, end);
    while at < end {
        let length = (end - at).min(COPIED as u64) as usize;
        read_at(file, &mut found[..length], at)?;
        if found[..length] != zeroes[..length] {
            write_at(file, &zeroes[..length], at)?;
        }
        at = data_from(file, at + length as u64, end);
    }
    Ok(())
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

    fn bytes_of(sectors: u64, fill: u8) -> Vec<u8> {
        vec![fill; (sectors * SECTOR) as usize]
    }

    /// The first byte of each sector.
    fn seen(surface: &PlatterBytes, lba: u64, sectors: u64) -> Vec<u8> {
        let mut data = bytes_of(sectors, 0);
        surface.read_sectors(lba, &mut data).unwrap();
        data.chunks(SECTOR as usize).map(|sector| sector[0]).collect()
    }

    #[test]
    fn zeroes_take_no_room_and_are_seen() {
        let path = std::env::temp_dir().join(format!("seekwise-zeroes-{}", std::process::id()));
        std::fs::write(&path, bytes_of(100, 9)).unwrap();
        let file = || File::options().read(true).write(true).open(&path).unwrap();
        for kind in ["memory", "begun", "file"] {
            let mut surface = match kind {
                "memory" => PlatterBytes::default(),
                "begun" => PlatterBytes::default().with_base(file()).unwrap(),
                _ => PlatterBytes::new(PlatterMedium::File(file())),
            };
            surface.write_sectors(0, &bytes_of(100, 9)).unwrap();
            surface.write_zeroes(3, 80, false).unwrap();
            let wanted: Vec<u8> = (0..100).map(|at| if (3..83).contains(&at) { 0 } else { 9 }).collect();
            assert_eq!(seen(&surface, 0, 100), wanted, "{kind}");
            surface.write_sectors(20, &bytes_of(1, 5)).unwrap();
            assert_eq!(seen(&surface, 18, 5), [0, 0, 5, 0, 0], "{kind}: no byte of before comes back");
            assert_eq!(surface.data_from(0, 100), 0, "{kind}");
            if kind != "file" {
                assert_eq!((surface.hole_from(0, 100), surface.data_from(8, 100)), (8, 16), "{kind}");
                assert_eq!((surface.hole_from(16, 100), surface.data_from(24, 100)), (24, 80), "{kind}");
                assert_eq!(surface.hole_from(80, 100), 100, "{kind}");
                assert_eq!(surface.pieces.len(), 5, "{kind}");
            }
            surface.write_zeroes(0, 100, true).unwrap();
            assert_eq!(seen(&surface, 0, 100), [0; 100], "{kind}");
        }
        std::fs::remove_file(&path).unwrap();
    }

    /// The second piece of eight sectors, and the fourth, of which one sector was written.
    #[test]
    fn a_range_meets_the_pieces_of_which_it_has_a_sector() {
        let mut surface = PlatterBytes::default();
        surface.write_sectors(8, &bytes_of(8, 1)).unwrap();
        surface.write_sectors(30, &bytes_of(1, 1)).unwrap();
        for (lba, end, pieces) in [
            (0, 8, 0),
            (0, 9, 1),
            (8, 16, 1),
            (15, 16, 1),
            (15, 24, 1),
            (16, 24, 0),
            (16, 25, 1),
            (15, 25, 2),
            (31, 40, 1),
            (32, 40, 0),
            (0, 64, 2),
        ] {
            assert_eq!(surface.pieces_within(lba, end), pieces, "{lba}..{end}");
        }
    }

    /// As one request of 4 GiB comes, and as a whole disk is zeroed.
    #[test]
    fn zeroes_of_any_length_cost_nothing() {
        let mut surface = PlatterBytes::default();
        surface.write_sectors(1 << 33, &bytes_of(8, 7)).unwrap();
        surface.write_zeroes(0, 1 << 32, false).unwrap();
        assert_eq!(surface.memory_bytes(), PIECE_COST);
        surface.write_zeroes(0, 1 << 34, false).unwrap();
        assert_eq!((surface.memory_bytes(), surface.data_from(0, 1 << 34)), (0, 1 << 34));
    }
}
