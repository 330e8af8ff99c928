//! The copies of an array's blocks, as a checker of durability needs them: one image of all blocks for each copy, without
//! the blocks on lost drives. A volume with fewer copies than another has them several times: image `i` shows its copy `i`
//! modulo their number. Parity and rebuilt data are no copies of the client's writes.

use alloc::vec::Vec;

use crate::block::{Landing, MemberRole};
use crate::host::array::layout::{ArrayVolume, MemberSet};

/// The copies of the blocks of an array, numbered by image. A device without volumes has one copy.
#[derive(Clone, Debug, Default)]
pub struct BlockCopies {
    volumes: Vec<ArrayVolume>,
    lost: MemberSet,
}

impl BlockCopies {
    /// The copies in an array of these volumes, with the drives in `lost` lost from the start.
    pub fn new(volumes: &[ArrayVolume], lost: MemberSet) -> BlockCopies {
        BlockCopies { volumes: volumes.to_vec(), lost }
    }

    /// True for an array.
    pub fn is_array(&self) -> bool {
        !self.volumes.is_empty()
    }

    /// The number of drives, each of which may be writing a sector when the power is cut.
    pub fn drives(&self) -> u32 {
        self.volumes.first().map_or(1, |volume| volume.members)
    }

    /// The number of images: the copies of the volume that has most.
    pub fn count(&self) -> u32 {
        self.volumes.iter().map(ArrayVolume::copies).max().unwrap_or(1)
    }

    /// The volume of a block, and its first block.
    fn volume_of(&self, lba: u64) -> Option<(&ArrayVolume, u64)> {
        let mut end = 0;
        self.volumes.iter().find_map(|volume| {
            let first = end;
            end += volume.capacity();
            (lba < end).then_some((volume, first))
        })
    }

    /// True if the copy of the block in image `image` is on a drive that is not lost.
    pub fn has_block(&self, image: u32, lba: u64) -> bool {
        let Some((volume, first)) = self.volume_of(lba) else { return true };
        let position = volume.row_position(lba - first);
        let copy = image % volume.copies();
        self.lost >> volume.data_member(position.row, position.column, copy) & 1 == 0
    }

    /// Calls `visit` with each image that the landing changes, and with the part of the landing in it.
    pub fn for_each_changed(&self, landing: &Landing, mut visit: impl FnMut(u32, &Landing)) {
        match landing.role {
            MemberRole::Copy(copy) => {
                let copies = self.volume_of(landing.lba).map_or(1, |(volume, _)| volume.copies());
                (0..self.count()).filter(|image| image % copies == copy).for_each(|image| visit(image, landing));
            }
            // Data that have reached no drive are those of every copy that is not lost.
            MemberRole::Every => {
                for sector in 0..u64::from(landing.sectors) {
                    let part = landing.slice_sectors(sector, sector + 1);
                    let present = (0..self.count()).filter(|&image| self.has_block(image, part.lba));
                    present.for_each(|image| visit(image, &part));
                }
            }
            MemberRole::Parity(_) | MemberRole::RebuiltCopy(_) | MemberRole::RebuiltParity(_) => {}
        }
    }
}
