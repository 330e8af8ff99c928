//! Whether a file holds anything that Seekwise did not write. All data of the file are read (`SEEK_DATA`, and the whole
//! file if holes are not told from data): each sector must begin with our mark or hold zeroes alone. A file that was
//! read once, or written by a run of ours, is not read again by this process while nothing has changed it.
//!
//! Reads go past the page cache if possible, so a declared warm cache stays as it was.
//!
//! Source: lseek(2).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

use super::pattern;
use super::uring::{ALIGNMENT, SlotMemory};
use crate::outputs::{FileStamp, is_own, record_own};

/// Bytes read at once.
const PIECE: usize = 1 << 20;

/// Returns the place of the first sector, of the first `bytes` bytes, that is not ours, if there is one. After an error
/// nothing is known of the file.
pub(crate) fn find_foreign(file: &File, bytes: u64) -> io::Result<Option<u64>> {
    let before = file.metadata()?;
    if is_own(&before) {
        return Ok(None);
    }
    let found = search_foreign(file, bytes)?;
    if found.is_none() && FileStamp::new(&file.metadata()?) == FileStamp::new(&before) {
        record_own(&before);
    }
    Ok(found)
}

/// Records that a whole file is ours as it is now: a run of ours has written it, and nobody else could.
pub(crate) fn record_as_ours(file: &File) {
    if let Ok(meta) = file.metadata() {
        record_own(&meta);
    }
}

fn search_foreign(file: &File, bytes: u64) -> io::Result<Option<u64>> {
    let mut memory = SlotMemory::new(1, PIECE);
    let mut at = 0;
    while let Some((from, to)) = next_data_range(file, at, bytes)? {
        at = from / ALIGNMENT as u64 * ALIGNMENT as u64;
        while at < to {
            let piece = memory.slot(0);
            let read = match file.read_at(piece, at) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read.map_err(|error| io::Error::new(error.kind(), format!("at byte {at}: {error}")))?,
            };
            let wanted = (bytes - at).min(PIECE as u64) as usize;
            if let Some(sector) = pattern::find_foreign(&piece[..read.min(wanted)]) {
                return Ok(Some(at + sector as u64));
            }
            // After a short read the next piece begins at a whole block; only the last one may be short.
            let whole = read / ALIGNMENT * ALIGNMENT;
            if read < wanted && whole == 0 {
                return Err(io::Error::other(format!("at byte {at}: the file ends there, and should not")));
            }
            at += if read < wanted { whole } else { wanted } as u64;
        }
    }
    Ok(None)
}

/// Returns the next range of data from `at` on, within the first `bytes` bytes.
fn next_data_range(file: &File, at: u64, bytes: u64) -> io::Result<Option<(u64, u64)>> {
    if at >= bytes {
        return Ok(None);
    }
    let from = match seek(file, SeekFrom::Data(at)) {
        Ok(from) => from,
        Err(Errno::NXIO) => return Ok(None),
        // Without holes being told, all of it is data.
        Err(Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(Some((at, bytes))),
        Err(error) => return Err(error.into()),
    };
    let to = seek(file, SeekFrom::Hole(from)).unwrap_or(bytes).min(bytes);
    Ok((from < bytes).then_some((from, to.max(from + 1))))
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
            assert_eq!(find_foreign(&file, 1024 * MIB).unwrap(), None);
            file.write_all_at(b"x", at).unwrap();
            assert_eq!(find_foreign(&file, 1024 * MIB).unwrap(), Some(at / 512 * 512), "{at}");
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
        assert_eq!(find_foreign(&file, 64 * MIB).unwrap(), None);
        file.write_all_at(b"x", 41 * MIB).unwrap();
        assert_eq!(find_foreign(&file, 64 * MIB).unwrap(), Some(41 * MIB));
    }

    #[test]
    fn what_was_known_is_looked_at_again_when_it_changed() {
        let file = holes(8 * MIB);
        file.write_all_at(b"x", 5 * MIB).unwrap();
        record_as_ours(&file);
        assert_eq!(find_foreign(&file, 8 * MIB).unwrap(), None, "a run of ours wrote it");
        // Times of some file systems go in steps of 10 ms.
        std::thread::sleep(std::time::Duration::from_millis(20));
        file.write_all_at(b"y", 5 * MIB).unwrap();
        assert_eq!(find_foreign(&file, 8 * MIB).unwrap(), Some(5 * MIB));
    }

    #[test]
    fn what_ends_too_early_or_cannot_be_read_is_an_error() {
        let file = holes(MIB);
        file.write_all_at(&[0; 4096], 0).unwrap();
        assert_eq!(search_foreign(&file, MIB).unwrap(), None);
        // Data up to the end, which lies within the second block.
        let short = holes(0);
        short.write_all_at(&[0; 6000], 0).unwrap();
        let why = search_foreign(&short, 8192).unwrap_err().to_string();
        assert_eq!(why, "at byte 4096: the file ends there, and should not");
        let folder = File::open(std::env::temp_dir()).unwrap();
        assert!(search_foreign(&folder, MIB).is_err());
    }
}
