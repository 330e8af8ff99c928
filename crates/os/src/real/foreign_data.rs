//! Finds out whether a file holds anything that Seekwise did not write. All data of the file are read (`SEEK_DATA`, or
//! the whole file if its file system does not report holes): each sector must begin with our mark or hold zeroes alone.
//! A file that was read once, or written by a run of ours, is not read again by this process while nothing has changed
//! it.
//!
//! Reads go past the page cache if possible, so that a job that declares its cache warm finds it as it was.
//!
//! Source: lseek(2).

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

use super::pattern;
use super::uring::{ALIGNMENT, SlotMemory};
use crate::outputs::{FileStamp, is_recorded_own, record_as_own};

/// Bytes read at once.
const PIECE_BYTES: usize = 1 << 20;

/// Returns the offset of the first sector that is not ours, among the file's first `bytes`; `None` if all are. After an
/// error nothing is known of the file.
pub(crate) fn find_foreign_sector(file: &File, bytes: u64) -> io::Result<Option<u64>> {
    let before = file.metadata()?;
    if is_recorded_own(&before) {
        return Ok(None);
    }
    let found = search_foreign_sector(file, bytes)?;
    if found.is_none() && FileStamp::new(&file.metadata()?) == FileStamp::new(&before) {
        record_as_own(&before);
    }
    Ok(found)
}

/// Records that a whole file is ours as it is now: a run of ours has written it, and nobody else could.
pub(crate) fn record_as_ours(file: &File) {
    if let Ok(meta) = file.metadata() {
        record_as_own(&meta);
    }
}

fn search_foreign_sector(file: &File, bytes: u64) -> io::Result<Option<u64>> {
    let mut memory = SlotMemory::new(1, PIECE_BYTES);
    let mut offset = 0;
    while let Some(data) = next_data_range(file, offset, bytes)? {
        offset = data.start / ALIGNMENT as u64 * ALIGNMENT as u64;
        while offset < data.end {
            let piece = memory.slot(0);
            let read = match file.read_at(piece, offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read.map_err(|error| io::Error::new(error.kind(), format!("at byte {offset}: {error}")))?,
            };
            let wanted = (bytes - offset).min(PIECE_BYTES as u64) as usize;
            if let Some(sector) = pattern::find_foreign_sector(&piece[..read.min(wanted)]) {
                return Ok(Some(offset + sector as u64));
            }
            // After a short read the next piece begins at a whole block; only the last one may be short.
            let whole = read / ALIGNMENT * ALIGNMENT;
            if read < wanted && whole == 0 {
                return Err(io::Error::other(format!("at byte {offset}: the file ends there, and should not")));
            }
            offset += if read < wanted { whole } else { wanted } as u64;
        }
    }
    Ok(None)
}

/// Returns the next range of data from `offset` on, within the file's first `bytes`.
fn next_data_range(file: &File, offset: u64, bytes: u64) -> io::Result<Option<Range<u64>>> {
    if offset >= bytes {
        return Ok(None);
    }
    let start = match seek(file, SeekFrom::Data(offset)) {
        Ok(start) => start,
        Err(Errno::NXIO) => return Ok(None),
        // A file system that does not report holes: all of it counts as data.
        Err(Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(Some(offset..bytes)),
        Err(error) => return Err(error.into()),
    };
    let end = seek(file, SeekFrom::Hole(start)).unwrap_or(bytes).min(bytes);
    Ok((start < bytes).then_some(start..end.max(start + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_disk::rng::Seed;

    const MIB: u64 = 1 << 20;

    fn holes(bytes: u64) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(bytes).unwrap();
        file
    }

    /// In a file of a GiB a look at 65 pages, or at a hundred thousand, would miss it.
    #[test]
    fn a_single_byte_anywhere_is_found() {
        for at in [0, 511, 7 * MIB + 1, 300 * MIB + 4095, 1024 * MIB - 1] {
            let file = holes(1024 * MIB);
            assert_eq!(find_foreign_sector(&file, 1024 * MIB).unwrap(), None);
            file.write_all_at(b"x", at).unwrap();
            assert_eq!(find_foreign_sector(&file, 1024 * MIB).unwrap(), Some(at / 512 * 512), "{at}");
        }
    }

    #[test]
    fn what_is_ours_zero_or_behind_the_last_sector_is_no_matter() {
        let mut piece = vec![0; 3 * MIB as usize];
        pattern::fill_pattern(&mut piece, Seed(1));
        let file = holes(64 * MIB + 100);
        for at in [0, 5 * MIB, 5 * MIB + 4096, 40 * MIB + 512] {
            file.write_all_at(&piece, at).unwrap();
        }
        file.write_all_at(&[0; 4096], 60 * MIB).unwrap();
        file.write_all_at(&[7; 100], 64 * MIB).unwrap();
        assert_eq!(find_foreign_sector(&file, 64 * MIB).unwrap(), None);
        file.write_all_at(b"x", 41 * MIB).unwrap();
        assert_eq!(find_foreign_sector(&file, 64 * MIB).unwrap(), Some(41 * MIB));
    }

    #[test]
    fn what_was_known_is_looked_at_again_when_it_changed() {
        let file = holes(8 * MIB);
        file.write_all_at(b"x", 5 * MIB).unwrap();
        record_as_ours(&file);
        assert_eq!(find_foreign_sector(&file, 8 * MIB).unwrap(), None, "a run of ours wrote it");
        // Times of some file systems go in steps of 10 ms.
        std::thread::sleep(std::time::Duration::from_millis(20));
        file.write_all_at(b"y", 5 * MIB).unwrap();
        assert_eq!(find_foreign_sector(&file, 8 * MIB).unwrap(), Some(5 * MIB));
    }

    #[test]
    fn what_ends_too_early_or_cannot_be_read_is_an_error() {
        let file = holes(MIB);
        file.write_all_at(&[0; 4096], 0).unwrap();
        assert_eq!(search_foreign_sector(&file, MIB).unwrap(), None);
        // Data up to the end, which lies within the second block.
        let short = holes(0);
        short.write_all_at(&[0; 6000], 0).unwrap();
        let why = search_foreign_sector(&short, 8192).unwrap_err().to_string();
        assert_eq!(why, "at byte 4096: the file ends there, and should not");
        let folder = File::open(std::env::temp_dir()).unwrap();
        assert!(search_foreign_sector(&folder, MIB).is_err());
    }
}
