//! The content that a client of an array can expect in each copy of a mirror: one image of all blocks for each copy, without
//! the parts on lost members. A volume with fewer copies than another repeats them: image `i` shows its copy `i` modulo their
//! number. Parity and rebuilt data are no copies of the client's writes.

use alloc::vec::Vec;

use crate::block::{Landing, MemberRole};
use crate::host::array::layout::ArrayVolume;

/// The view of a client through the volumes of an array to the copies on its members. A device without volumes has one copy.
#[derive(Clone, Debug, Default)]
pub struct VolumeSight {
    volumes: Vec<ArrayVolume>,
    /// Lost members, one bit each.
    lost: u64,
}

impl VolumeSight {
    /// The view of an array of these volumes, with members `lost` from the start (one bit each).
    pub fn new(volumes: &[ArrayVolume], lost: u64) -> VolumeSight {
        VolumeSight { volumes: volumes.to_vec(), lost }
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
    pub fn copies(&self) -> u32 {
        self.volumes.iter().map(ArrayVolume::copies).max().unwrap_or(1)
    }

    /// The volume of a block, and where it begins.
    fn volume_of(&self, lba: u64) -> Option<(&ArrayVolume, u64)> {
        let mut start = 0;
        self.volumes.iter().find_map(|volume| {
            let begin = start;
            start += volume.capacity();
            (lba < start).then_some((volume, begin))
        })
    }

    /// True if image `image` has the block on a member that is not lost.
    pub fn sees_block(&self, image: u32, lba: u64) -> bool {
        let Some((volume, start)) = self.volume_of(lba) else { return true };
        let place = volume.row_position(lba - start);
        let copy = image % volume.copies();
        self.lost >> volume.data_member(place.row, place.column, copy) & 1 == 0
    }

    /// Calls `visit` with each image that the landing changes, and with the blocks changed in it.
    pub fn visit_images(&self, landing: &Landing, mut visit: impl FnMut(u32, &Landing)) {
        match landing.role {
            MemberRole::Copy(copy) => {
                let copies = self.volume_of(landing.lba).map_or(1, |(volume, _)| volume.copies());
                (0..self.copies()).filter(|image| image % copies == copy).for_each(|image| visit(image, landing));
            }
            // Data that have reached no drive yet stand for every copy that is not lost.
            MemberRole::Every => {
                for sector in 0..u64::from(landing.sectors) {
                    let part = landing.slice_sectors(sector, sector + 1);
                    let there = (0..self.copies()).filter(|&image| self.sees_block(image, part.lba));
                    there.for_each(|image| visit(image, &part));
                }
            }
            MemberRole::Parity(_) | MemberRole::RebuiltCopy(_) | MemberRole::RebuiltParity(_) => {}
        }
    }
}
