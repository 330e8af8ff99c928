//! The content of a medium, built from landings alone, in the order in which they are reported: the data
//! that a device wrote, not those that it was to write.

use alloc::collections::BTreeMap;

use crate::block::{Landing, LandingKind};

/// The content of a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageSector {
    /// The data of the write with this stamp.
    Stamp(u64),
    /// A cut left it unreadable.
    Unreadable,
}

/// A sector of a drive. The blocks of a device count as those of drive 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SectorPlace {
    /// The drive of an array.
    pub member: u32,
    pub sector: u64,
}

/// The content of each sector of the drives of an array, or of each block of a device. A sector that was never written is
/// absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SectorImage(BTreeMap<SectorPlace, ImageSector>);

impl SectorImage {
    /// An image with nothing written.
    pub fn new() -> SectorImage {
        SectorImage::default()
    }

    /// Applies a landing to the sectors of its drive.
    pub fn apply_landing(&mut self, landing: &Landing) {
        self.apply_at(landing, SectorPlace { member: landing.member, sector: landing.sector });
    }

    /// Applies a landing to the blocks of a device.
    pub(crate) fn apply_landing_in_blocks(&mut self, landing: &Landing) {
        self.apply_at(landing, SectorPlace { member: 0, sector: landing.lba });
    }

    /// Applies a landing that begins at `first`.
    fn apply_at(&mut self, landing: &Landing, first: SectorPlace) {
        let held = match landing.kind {
            LandingKind::Landed => ImageSector::Stamp(landing.stamp),
            LandingKind::Torn => ImageSector::Unreadable,
            _ => return,
        };
        for sector in first.sector..first.sector + u64::from(landing.sectors) {
            self.0.insert(SectorPlace { sector, ..first }, held);
        }
    }

    /// Sets the content of a sector of a drive.
    pub(super) fn set_sector(&mut self, member: u32, sector: u64, held: Option<ImageSector>) {
        match held {
            Some(held) => self.0.insert(SectorPlace { member, sector }, held),
            None => self.0.remove(&SectorPlace { member, sector }),
        };
    }

    /// All sectors with content, in order.
    pub fn iter(&self) -> impl Iterator<Item = (SectorPlace, ImageSector)> {
        self.0.iter().map(|(&place, &held)| (place, held))
    }

    /// The content of a sector of a drive.
    pub fn get(&self, member: u32, sector: u64) -> Option<ImageSector> {
        self.0.get(&SectorPlace { member, sector }).copied()
    }
}
