//! What a client of an array sees of its members: landings in the members' sectors become landings in the blocks of the
//! array, one image for each copy of a mirror. It does not see what lies on lost members, nor parity; what the rebuild
//! wrote (stamp 0) is no write of the client's.

use alloc::vec::Vec;

use crate::block::Landing;
use crate::host::array::layout::{Role, Volume};

/// A view through the volumes of an array, or of a device without any.
#[derive(Clone, Debug, Default)]
pub struct Sight {
    volumes: Vec<Volume>,
    lost: u64,
}

impl Sight {
    /// Of an array of these volumes, with members `lost` from the start (one bit each).
    pub fn of(volumes: &[Volume], lost: u64) -> Sight {
        Sight { volumes: volumes.to_vec(), lost }
    }

    /// True of an array.
    pub fn is_array(&self) -> bool {
        !self.volumes.is_empty()
    }

    /// Drives whose heads a cut can meet.
    pub fn drives(&self) -> u32 {
        self.volumes.first().map_or(1, |volume| volume.members)
    }

    /// Images: as many as the most mirrored volume has copies.
    pub fn copies(&self) -> u32 {
        self.volumes.iter().map(Volume::copies).max().unwrap_or(1)
    }

    /// The volume of a block, and where it begins.
    fn volume_of(&self, lba: u64) -> Option<(&Volume, u64)> {
        let mut start = 0;
        self.volumes.iter().find_map(|volume| {
            let begin = start;
            start += volume.capacity();
            (lba < start).then_some((volume, begin))
        })
    }

    /// True when a block is on a member that is there, in the image of `copy`.
    pub fn sees(&self, copy: u32, lba: u64) -> bool {
        let Some((volume, start)) = self.volume_of(lba) else { return true };
        let place = volume.place(lba - start);
        let copy = copy % volume.copies();
        self.lost >> volume.member(place.row, place.column, copy) & 1 == 0
    }

    /// Tells `seen` the landing in blocks of the array, with the copy as its member.
    pub fn through(&self, landing: &Landing, mut seen: impl FnMut(Landing)) {
        if !self.is_array() {
            return seen(*landing);
        }
        if landing.stamp == 0 {
            return;
        }
        let mut start = 0;
        for volume in &self.volumes {
            let (mut from, end) = (landing.lba.max(volume.first), landing.end().min(volume.end()));
            while from < end {
                let chunk = (from - volume.first) / volume.chunk;
                let to = (volume.row_start(chunk) + volume.chunk).min(end);
                if let Some((Role::Data { copy, .. }, block)) = volume.block(landing.member, from) {
                    let blocks = Landing { lba: start + block, sectors: (to - from) as u32, ..*landing };
                    let images = (0..self.copies()).filter(|image| image % volume.copies() == copy);
                    images.for_each(|image| seen(Landing { member: image, ..blocks }));
                }
                from = to;
            }
            start += volume.capacity();
        }
    }
}
