//! The data of writes: bytes that no layer below can compress, drawn from a seed. Each sector begins with our mark, by
//! which a file that Seekwise wrote is told from others.

use seekwise_disk::block::SECTOR;
use seekwise_disk::rng::Seed;

/// Beginning of each sector.
pub const MARK: &[u8; 8] = b"SEEKWISE";

/// Bytes from one stamp to the next: a page.
const STAMP_INTERVAL: usize = 4096;

/// Fills `bytes` with the pattern of a seed.
pub(crate) fn fill_pattern(bytes: &mut [u8], seed: Seed) {
    let mut rng = seed.stream("written");
    for sector in bytes.chunks_mut(SECTOR as usize) {
        sector.chunks_mut(8).for_each(|word| word.copy_from_slice(&rng.next_u64().to_le_bytes()[..word.len()]));
        if let Some(mark) = sector.get_mut(..8) {
            mark.copy_from_slice(MARK);
        }
    }
}

/// Writes the request's stamp into each page of `bytes`: no two writes are alike.
#[inline]
pub(crate) fn stamp_pages(bytes: &mut [u8], stamp: u64) {
    for page in bytes.chunks_mut(STAMP_INTERVAL) {
        if let Some(place) = page.get_mut(8..16) {
            place.copy_from_slice(&stamp.to_le_bytes());
        }
    }
}

/// Returns the offset of the first sector that is neither ours nor empty.
pub(crate) fn find_foreign_sector(bytes: &[u8]) -> Option<usize> {
    const EMPTY: [u8; SECTOR as usize] = [0; SECTOR as usize];
    let is_ours = |sector: &[u8]| sector.starts_with(MARK) || *sector == EMPTY[..sector.len()];
    let index = bytes.chunks(SECTOR as usize).position(|sector| !is_ours(sector))?;
    Some(index * SECTOR as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_told_from_what_was_not() {
        let mut bytes = vec![0; 3 * 4096];
        assert_eq!(find_foreign_sector(&bytes), None);
        fill_pattern(&mut bytes, Seed(7));
        let before = bytes.clone();
        stamp_pages(&mut bytes, 0x0102_0304);
        assert_eq!((find_foreign_sector(&bytes), find_foreign_sector(&bytes[512 * 5..])), (None, None));
        assert_eq!(&bytes[4096 + 8..4096 + 16], &0x0102_0304u64.to_le_bytes());
        assert_eq!((&before[16..4096], &before[..8]), (&bytes[16..4096], &MARK[..]));
        bytes[4096] = 0;
        assert_eq!(find_foreign_sector(&bytes), Some(4096));
        assert_eq!(find_foreign_sector(&[&[0; 1000][..], b"x"].concat()), Some(512));
    }
}
