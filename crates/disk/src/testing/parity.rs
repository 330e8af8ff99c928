//! The content of an array with lost members as a judge sees it, from the image of the remaining members and the writes
//! that were issued; and write holes: if data and parity of a row do not agree, its lost data cannot be reconstructed.
//!
//! A parity sector with stamp `s` covers, for each column, the last write up to `s`: writes to a row go one after
//! another, in the order of their stamps. So the row's members agree if each holds exactly that. Valid for an
//! array directly below its client, whose requests were not aborted.

use super::image::{ImageSector, SectorImage};
use crate::block::Request;
use crate::host::array::layout::{ArrayVolume, RowPosition};

/// A block that cannot be reconstructed: too many members are lost, or data and parity do not agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnrecoverableBlock;

/// The members of one volume, from its first block on.
pub struct VolumeMembers<'a> {
    /// The content of each member.
    pub image: &'a SectorImage,
    /// The volume that begins at block 0 of the array.
    pub volume: ArrayVolume,
    /// Lost members, one bit each.
    pub lost: u64,
    /// All writes issued, by rising stamp.
    pub writes: &'a [Request],
}

impl VolumeMembers<'_> {
    /// The result of a read of block `lba`; `None` if it was never written.
    pub fn read_block(&self, lba: u64) -> Result<Option<ImageSector>, UnrecoverableBlock> {
        let place = self.volume.row_position(lba);
        let sector = self.volume.row_start(place.row) + place.within;
        let mut copies = (0..self.volume.copies()).map(|copy| self.volume.data_member(place.row, place.column, copy));
        match copies.find(|&member| self.has_member(member)) {
            Some(member) => Ok(self.image.get(member, sector)),
            None => self.recover_block(place, sector),
        }
    }

    fn has_member(&self, member: u32) -> bool {
        self.lost >> member & 1 == 0
    }

    /// Reconstructs a block from as many parities as columns are lost; each must agree with all remaining data.
    fn recover_block(&self, place: RowPosition, sector: u64) -> Result<Option<ImageSector>, UnrecoverableBlock> {
        let columns = 0..self.volume.columns();
        let data = |column: u32| self.volume.data_member(place.row, column, 0);
        let missing = columns.clone().filter(|&column| !self.has_member(data(column))).count();
        let parities = (0..self.volume.parities()).map(|which| self.volume.parity_member(place.row, which));
        let parities = parities.filter(|&member| self.has_member(member)).take(missing);
        let mut found: Option<Option<ImageSector>> = None;
        let mut used = 0;
        for parity in parities {
            let until = match self.image.get(parity, sector) {
                Some(ImageSector::Stamp(stamp)) => stamp,
                Some(ImageSector::Unreadable) => return Err(UnrecoverableBlock),
                None => 0,
            };
            let covers = |column: u32| self.last_write(place, column, until).map(ImageSector::Stamp);
            let agrees = |column: u32| self.image.get(data(column), sector) == covers(column);
            if !columns.clone().filter(|&column| self.has_member(data(column))).all(agrees) {
                return Err(UnrecoverableBlock);
            }
            let here = covers(place.column);
            if found.is_some_and(|found| found != here) {
                return Err(UnrecoverableBlock);
            }
            found = Some(here);
            used += 1;
        }
        found.filter(|_| used == missing).ok_or(UnrecoverableBlock)
    }

    /// The stamp of the last write up to `until` to the block of `column` at the offset of `place`.
    fn last_write(&self, place: RowPosition, column: u32, until: u64) -> Option<u64> {
        let block = place.row * self.volume.row_sectors() + u64::from(column) * self.volume.chunk + place.within;
        let covers = |write: &&Request| write.stamp <= until && (write.lba..write.end()).contains(&block);
        self.writes.iter().rev().find(covers).map(|write| write.stamp)
    }

    /// Blocks whose parity or copy does not agree with them: a later loss of the member that holds them would change
    /// them. No member is lost now.
    pub fn find_holes(&self) -> impl Iterator<Item = u64> + '_ {
        let differs = |&lba: &u64| {
            let place = self.volume.row_position(lba);
            let member = self.volume.data_member(place.row, place.column, 0);
            let without = VolumeMembers { lost: self.lost | 1 << member, ..*self };
            without.read_block(lba) != self.read_block(lba)
        };
        (0..self.volume.capacity()).filter(differs)
    }

    /// The content of the array as read, block by block of all that were written.
    pub fn read_written(&self) -> SectorImage {
        let mut image = SectorImage::new();
        for write in self.writes {
            for lba in write.lba..write.end() {
                image.set_sector(0, lba, self.read_block(lba).unwrap_or(None));
            }
        }
        image
    }
}
