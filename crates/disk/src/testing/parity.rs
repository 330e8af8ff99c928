//! The content of an array with lost members, computed from the image of the remaining members and the writes that were
//! issued; and its write holes: rows whose lost data cannot be reconstructed because data and parity do not agree.
//!
//! Writes to a row go one after another, in the order of their stamps. So a parity sector with stamp `s` covers, for each
//! column, the last write up to `s`. Data and parity of a row agree if each column holds exactly that write. The module is
//! valid for an array directly below its client, whose requests were not aborted.

use super::image::{ImageSector, SectorImage};
use crate::block::Request;
use crate::host::array::layout::{ArrayVolume, MemberSet, RowPosition};

/// A block that cannot be reconstructed: too many members are lost, or data and parity do not agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnrecoverableBlock;

/// The members of one volume, from its first block on.
pub struct VolumeMembers<'a> {
    /// The content of each member.
    pub image: &'a SectorImage,
    /// The volume that begins at block 0 of the array.
    pub volume: ArrayVolume,
    pub lost: MemberSet,
    /// All writes issued, in order of their stamps.
    pub writes: &'a [Request],
}

impl VolumeMembers<'_> {
    /// The result of a read of block `lba`; `None` if it was never written.
    pub fn read_block(&self, lba: u64) -> Result<Option<ImageSector>, UnrecoverableBlock> {
        let position = self.volume.row_position(lba);
        let sector = self.volume.row_start(position.row) + position.within;
        let member_of_copy = |copy| self.volume.data_member(position.row, position.column, copy);
        let mut copies = (0..self.volume.copies()).map(member_of_copy);
        match copies.find(|&member| self.has_member(member)) {
            Some(member) => Ok(self.image.get(member, sector)),
            None => self.recover_block(position, sector),
        }
    }

    fn has_member(&self, member: u32) -> bool {
        self.lost >> member & 1 == 0
    }

    /// Reconstructs a block from as many parities as columns are lost; each must agree with all remaining data. `sector`: its
    /// sector on each member.
    fn recover_block(&self, position: RowPosition, sector: u64) -> Result<Option<ImageSector>, UnrecoverableBlock> {
        let columns = 0..self.volume.columns();
        let data_member = |column: u32| self.volume.data_member(position.row, column, 0);
        let missing = columns.clone().filter(|&column| !self.has_member(data_member(column))).count();
        let all_parities = (0..self.volume.parities()).map(|parity| self.volume.parity_member(position.row, parity));
        let used_parities = all_parities.filter(|&member| self.has_member(member)).take(missing);
        let mut recovered: Option<Option<ImageSector>> = None;
        let mut used = 0;
        for parity_member in used_parities {
            let last_stamp = match self.image.get(parity_member, sector) {
                Some(ImageSector::Stamp(stamp)) => stamp,
                Some(ImageSector::Unreadable) => return Err(UnrecoverableBlock),
                None => 0,
            };
            let covered = |column: u32| self.last_write(position, column, last_stamp).map(ImageSector::Stamp);
            let agrees = |column: u32| self.image.get(data_member(column), sector) == covered(column);
            if !columns.clone().filter(|&column| self.has_member(data_member(column))).all(agrees) {
                return Err(UnrecoverableBlock);
            }
            let block = covered(position.column);
            if recovered.is_some_and(|other| other != block) {
                return Err(UnrecoverableBlock);
            }
            recovered = Some(block);
            used += 1;
        }
        recovered.filter(|_| used == missing).ok_or(UnrecoverableBlock)
    }

    /// The stamp of the last write up to `last_stamp` to the block of `column` at the offset of `position`.
    fn last_write(&self, position: RowPosition, column: u32, last_stamp: u64) -> Option<u64> {
        let RowPosition { row, within, .. } = position;
        let block = row * self.volume.row_sectors() + u64::from(column) * self.volume.chunk + within;
        let covers = |write: &&Request| write.stamp <= last_stamp && (write.lba..write.end()).contains(&block);
        self.writes.iter().rev().find(covers).map(|write| write.stamp)
    }

    /// Blocks whose parity or copy does not agree with them, so that the loss of their member would change them. No member
    /// is lost now.
    pub fn blocks_in_write_holes(&self) -> impl Iterator<Item = u64> + '_ {
        let differs = |&lba: &u64| {
            let position = self.volume.row_position(lba);
            let member = self.volume.data_member(position.row, position.column, 0);
            let without_member = VolumeMembers { lost: self.lost | 1 << member, ..*self };
            without_member.read_block(lba) != self.read_block(lba)
        };
        (0..self.volume.capacity()).filter(differs)
    }

    /// The content that reads of all written blocks return; blocks that cannot be recovered are absent.
    pub fn read_written_blocks(&self) -> SectorImage {
        let mut image = SectorImage::new();
        for write in self.writes {
            for lba in write.lba..write.end() {
                image.set_sector(0, lba, self.read_block(lba).unwrap_or(None));
            }
        }
        image
    }
}
