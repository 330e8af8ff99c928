//! The content of a modelled disk's platters: in memory, in pieces of which zeroes take none, or in a sparse file. A
//! disk may begin with the content of a base image, which stays as it is.

use std::fs::File;
use std::io;
use std::ops::Range;

use seekwise_disk::block::SECTOR;

use super::pieces::{PIECE, PIECE_BYTES, PIECE_COST, PieceTable};
use super::runs::{RUN_COST, RunMap};

/// Bytes copied, or written as zeroes, at once.
const COPY_BYTES: usize = 64 << 10;

/// Storage of the platters' data.
#[derive(Debug, Default)]
pub enum PlatterMedium {
    /// In memory, in pieces; zeroes take none.
    #[default]
    Memory,
    /// In a file as long as the disk.
    File(File),
}

/// The file whose content a disk began with; zeroes beyond it.
#[derive(Debug)]
struct BaseImage {
    file: File,
    bytes: u64,
}

/// The platters and their content.
#[derive(Debug, Default)]
pub(crate) struct PlatterBytes {
    platters: PlatterMedium,
    /// Pieces in memory.
    pieces: PieceTable,
    /// The base image of platters in memory.
    base: Option<BaseImage>,
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
            self.base = Some(BaseImage { file: base, bytes: length });
            return Ok(self);
        };
        let mut buffer = vec![0; COPY_BYTES];
        let mut offset = first_data_byte(&base, 0..length);
        while offset < length {
            let part = &mut buffer[..(length - offset).min(COPY_BYTES as u64) as usize];
            read_at(&base, part, offset)?;
            if part.iter().any(|&byte| byte != 0) {
                write_at(file, part, offset)?;
            }
            offset = first_data_byte(&base, offset + part.len() as u64..length);
        }
        Ok(self)
    }

    /// Reads the base image of platters in memory, from `lba` on, into `data`, which must be all zeroes.
    fn read_base(&self, lba: u64, data: &mut [u8]) -> io::Result<()> {
        let Some(base) = &self.base else { return Ok(()) };
        let within = base.bytes.saturating_sub(lba * SECTOR).min(data.len() as u64);
        read_at(&base.file, &mut data[..within as usize], lba * SECTOR)?;
        for (run, ()) in self.blank.runs_within(lba..lba + data.len() as u64 / SECTOR) {
            data[((run.start - lba) * SECTOR) as usize..((run.end - lba) * SECTOR) as usize].fill(0);
        }
        Ok(())
    }

    /// Sectors of the base image.
    fn base_sectors(&self) -> u64 {
        self.base.as_ref().map_or(0, |base| base.bytes.div_ceil(SECTOR))
    }

    /// Reads sectors into `data`, which must be all zeroes.
    pub fn read_sectors(&self, lba: u64, data: &mut [u8]) -> io::Result<()> {
        if let PlatterMedium::File(file) = &self.platters {
            return read_at(file, data, lba * SECTOR);
        }
        self.read_base(lba, data)?;
        let end = lba + data.len() as u64 / SECTOR;
        for (number, piece) in self.pieces.within(pieces_of(&(lba..end))) {
            let (from, to) = ((number * PIECE).max(lba), ((number + 1) * PIECE).min(end));
            let (within, target) = (((from - number * PIECE) * SECTOR) as usize, ((from - lba) * SECTOR) as usize);
            let length = ((to - from) * SECTOR) as usize;
            data[target..target + length].copy_from_slice(&piece[within..within + length]);
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
        let offset = (sector % PIECE * SECTOR) as usize;
        if let Some(piece) = self.pieces.get_mut(number) {
            piece[offset..offset + bytes.len()].copy_from_slice(bytes);
            return Ok(());
        }
        // A box of an array, made from a slice: an array would be copied to its place from the stack.
        let mut piece: Box<[u8]> =
            if bytes.len() == PIECE_BYTES { Box::from(bytes) } else { Box::from([0; PIECE_BYTES]) };
        if bytes.len() < PIECE_BYTES {
            self.read_base(number * PIECE, &mut piece)?;
            piece[offset..offset + bytes.len()].copy_from_slice(bytes);
        }
        self.pieces.insert(number, piece.try_into().expect("it has a piece's bytes"));
        Ok(())
    }

    /// Writes zeroes, which take no room; in a file only if they need not be `allocated`.
    pub(crate) fn write_zeroes(&mut self, lba: u64, sectors: u64, allocated: bool) -> io::Result<()> {
        if let PlatterMedium::File(file) = &self.platters {
            return zero_at(file, lba * SECTOR, sectors * SECTOR, allocated);
        }
        let end = lba + sectors;
        self.blank.set(lba..end.min(self.base_sectors()), ());
        let touched: Vec<u64> = self.pieces.within(pieces_of(&(lba..end))).map(|(number, _)| number).collect();
        for number in touched {
            let (from, to) = ((number * PIECE).max(lba), ((number + 1) * PIECE).min(end));
            if to - from == PIECE {
                self.pieces.remove(number);
            } else if let Some(piece) = self.pieces.get_mut(number) {
                let within = ((from - number * PIECE) * SECTOR) as usize..((to - number * PIECE) * SECTOR) as usize;
                piece[within].fill(0);
            }
        }
        Ok(())
    }

    /// Returns the first of these sectors that may not be zero, or their end.
    pub(crate) fn first_data_sector(&self, sectors: Range<u64>) -> u64 {
        let Range { start, end } = sectors;
        if let PlatterMedium::File(file) = &self.platters {
            return (first_data_byte(file, start * SECTOR..end * SECTOR) / SECTOR).clamp(start, end);
        }
        let first = self.pieces.within(pieces_of(&(start..end))).next();
        let piece = first.map_or(end, |(number, _)| (number * PIECE).max(start));
        // The gaps of the blank sectors are where the base image shows.
        let base_run = self.blank.gaps(start..self.base_sectors().min(end)).into_iter().next();
        piece.min(base_run.map_or(end, |run| run.start)).min(end)
    }

    /// Returns the first of these sectors that is known to be zero, or their end.
    pub(crate) fn first_hole_sector(&self, sectors: Range<u64>) -> u64 {
        let Range { start, end } = sectors;
        if let PlatterMedium::File(file) = &self.platters {
            return first_hole_byte(file, start * SECTOR..end * SECTOR).div_ceil(SECTOR).clamp(start, end);
        }
        let base_end = self.base_sectors().min(end);
        let mut next = start;
        loop {
            let before = next;
            // Adjacent pieces.
            for (number, _) in self.pieces.within(pieces_of(&(next..end))) {
                if number != next / PIECE {
                    break;
                }
                next = (number + 1) * PIECE;
            }
            if next < base_end {
                let blank = self.blank.runs_within(next..base_end).next();
                next = blank.map_or(base_end, |(run, ())| run.start.max(next));
            }
            if next == before || next >= end {
                return next.min(end);
            }
        }
    }

    /// Memory in use, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.pieces.len() as u64 * PIECE_COST + self.blank.len() as u64 * RUN_COST
    }

    /// Number of pieces in memory that have one of these sectors.
    pub(crate) fn count_pieces_within(&self, sectors: Range<u64>) -> u64 {
        self.pieces.within(pieces_of(&sectors)).count() as u64
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

/// Returns the numbers of the pieces that have one of these sectors.
fn pieces_of(sectors: &Range<u64>) -> Range<u64> {
    sectors.start / PIECE..sectors.end.div_ceil(PIECE)
}

/// Returns the first of these bytes that is in no hole of the file, or their end; their start if the system does not
/// tell.
fn first_data_byte(file: &File, bytes: Range<u64>) -> u64 {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{SeekFrom, seek};
        match seek(file, SeekFrom::Data(bytes.start)) {
            Ok(data) => data.min(bytes.end),
            Err(rustix::io::Errno::NXIO) => bytes.end,
            Err(_) => bytes.start,
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = file;
        bytes.start
    }
}

/// Returns the first of these bytes that is in a hole of the file, or their end, also if the system does not tell.
fn first_hole_byte(file: &File, bytes: Range<u64>) -> u64 {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{SeekFrom, seek};
        seek(file, SeekFrom::Hole(bytes.start)).map_or(bytes.end, |hole| hole.min(bytes.end))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = file;
        bytes.end
    }
}

/// Zeroes a part of a file: as allocated space if that is wanted and possible, else as a hole. If the file system can
/// do neither, zeroes are written where it is not zero.
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
    let (zeroes, mut buffer) = (vec![0; COPY_BYTES], vec![0; COPY_BYTES]);
    let end = offset + bytes;
    let mut next = first_data_byte(file, offset..end);
    while next < end {
        let length = (end - next).min(COPY_BYTES as u64) as usize;
        read_at(file, &mut buffer[..length], next)?;
        if buffer[..length] != zeroes[..length] {
            write_at(file, &zeroes[..length], next)?;
        }
        next = first_data_byte(file, next + length as u64..end);
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
            assert_eq!(surface.first_data_sector(0..100), 0, "{kind}");
            if kind != "file" {
                assert_eq!((surface.first_hole_sector(0..100), surface.first_data_sector(8..100)), (8, 16), "{kind}");
                assert_eq!(
                    (surface.first_hole_sector(16..100), surface.first_data_sector(24..100)),
                    (24, 80),
                    "{kind}"
                );
                assert_eq!(surface.first_hole_sector(80..100), 100, "{kind}");
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
            assert_eq!(surface.count_pieces_within(lba..end), pieces, "{lba}..{end}");
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
        assert_eq!((surface.memory_bytes(), surface.first_data_sector(0..1 << 34)), (0, 1 << 34));
    }
}
