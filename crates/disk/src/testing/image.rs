//! The content of the platter as a judge of durability sees it: built from landings alone, in the order in which they are
//! reported, without knowing what a device meant to write.

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

/// The content of each sector, of the drives of an array or of the blocks of a device. A sector that was never written
/// is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SectorImage(BTreeMap<(u32, u64), ImageSector>);

impl SectorImage {
    /// An image with nothing written.
    pub fn new() -> SectorImage {
        SectorImage::default()
    }

    /// Applies a landing, at its place on the drives.
    pub fn apply_landing(&mut self, landing: &Landing) {
        self.set_sectors(landing, (landing.member, landing.sector));
    }

    /// Applies a landing, at its place in the caller's blocks.
    pub(crate) fn apply_block(&mut self, landing: &Landing) {
        self.set_sectors(landing, (0, landing.lba));
    }

    fn set_sectors(&mut self, landing: &Landing, (member, first): (u32, u64)) {
        let held = match landing.kind {
            LandingKind::Landed => ImageSector::Stamp(landing.stamp),
            LandingKind::Torn => ImageSector::Unreadable,
            _ => return,
        };
        for sector in first..first + u64::from(landing.sectors) {
            self.0.insert((member, sector), held);
        }
    }

    /// Sets the content of `sector` of `member`.
    pub(super) fn set_sector(&mut self, member: u32, sector: u64, held: Option<ImageSector>) {
        match held {
            Some(held) => self.0.insert((member, sector), held),
            None => self.0.remove(&(member, sector)),
        };
    }

    /// All sectors with content, by member and sector.
    pub fn iter(&self) -> impl Iterator<Item = ((u32, u64), ImageSector)> {
        self.0.iter().map(|(&place, &held)| (place, held))
    }

    /// The content of `sector` of `member`.
    pub fn get(&self, member: u32, sector: u64) -> Option<ImageSector> {
        self.0.get(&(member, sector)).copied()
    }
}
