//! The content of a whole disk: what it began with, and what was written to it since. It is written to a file, or read sector by sector.
//!
//! A read of a file does not fail, so an unreadable sector is filled with a pattern of its own here.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use seekwise_disk::block::SECTOR;
use seekwise_disk::history::DataPart;

use crate::bytes::zero_at;

/// Content of an unreadable sector: neither zeroes nor anything that a program would have written.
pub(super) const UNREADABLE: [u8; 512] = [0xBD; 512];

/// Content of a disk besides its base image.
#[derive(Clone, Debug, Default)]
pub struct ImageContent<'a> {
    /// The first sector of each piece, and its data. Of pieces that overlap, the last counts.
    pub pieces: Vec<(u64, DataPart<'a>)>,
    /// Runs of unreadable sectors: the first, and the one after the last.
    pub torn: Vec<(u64, u64)>,
}

/// Content of a whole disk.
#[derive(Clone, Debug)]
pub struct DiskContent<'a> {
    pub disk_bytes: u64,
    /// Parts of the base image that are not all zeroes, each with its offset, a whole number of sectors, in order.
    pub base: &'a [(u64, Vec<u8>)],
    pub written: ImageContent<'a>,
}

impl DiskContent<'_> {
    /// Fills a new file with the disk.
    pub fn fill_file(&self, file: &File) -> io::Result<()> {
        file.set_len(self.disk_bytes)?;
        for (offset, bytes) in self.base {
            file.write_all_at(bytes, *offset)?;
        }
        for (lba, part) in &self.written.pieces {
            // A program that had the whole device may have written beyond the file system.
            let within = self.disk_bytes.saturating_sub(lba * SECTOR).min(part.bytes());
            match part {
                _ if within == 0 => {}
                DataPart::Bytes(bytes) => file.write_all_at(&bytes[..within as usize], lba * SECTOR)?,
                DataPart::Zeroes { .. } => zero_at(file, lba * SECTOR, within, false)?,
            }
        }
        for sector in self.written.torn.iter().flat_map(|&(from, end)| from..end) {
            file.write_all_at(&UNREADABLE, sector * SECTOR)?;
        }
        Ok(())
    }

    /// The sectors that have content: of the base image those that are not zeroes, and all that were written with data. Those beyond the
    /// end of the disk are left out, where the last may be a part of a sector.
    pub fn sectors(&self) -> BTreeMap<u64, &[u8]> {
        let mut sectors: BTreeMap<u64, &[u8]> = BTreeMap::new();
        for (offset, bytes) in self.base {
            let numbered = (offset / SECTOR..).zip(bytes.chunks(SECTOR as usize));
            sectors.extend(numbered.filter(|(_, bytes)| bytes.iter().any(|byte| *byte != 0)));
        }
        for (lba, part) in &self.written.pieces {
            let numbered = *lba..lba + part.bytes() / SECTOR;
            match part {
                DataPart::Bytes(bytes) => sectors.extend(numbered.zip(bytes.chunks_exact(SECTOR as usize))),
                DataPart::Zeroes { .. } => {
                    let zeroed: Vec<u64> = sectors.range(numbered).map(|(sector, _)| *sector).collect();
                    zeroed.iter().for_each(|sector| _ = sectors.remove(sector));
                }
            }
        }
        for sector in self.written.torn.iter().flat_map(|&(from, end)| from..end) {
            sectors.insert(sector, &UNREADABLE);
        }
        sectors.split_off(&self.disk_bytes.div_ceil(SECTOR));
        if let Some(mut last) = sectors.last_entry() {
            let within = (self.disk_bytes - last.key() * SECTOR).min(SECTOR) as usize;
            let bytes: &[u8] = last.get();
            *last.get_mut() = &bytes[..within.min(bytes.len())];
        }
        sectors
    }
}
