//! What the platter holds, as a checker of durability sees it: built from landings alone, in the order in which they
//! are reported. It does not know what a device meant to write.

use alloc::collections::BTreeMap;

use crate::block::{Landing, LandingKind};

/// What one sector holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// The data of the write with this stamp.
    Stamp(u64),
    /// A cut left it unreadable.
    Unreadable,
}

/// Sector by sector; a sector never written is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image(BTreeMap<(u32, u64), Held>);

impl Image {
    /// Nothing written yet.
    pub fn new() -> Image {
        Image::default()
    }

    /// Takes a landing in.
    pub fn apply(&mut self, landing: &Landing) {
        let held = match landing.kind {
            LandingKind::Landed => Held::Stamp(landing.stamp),
            LandingKind::Torn => Held::Unreadable,
            LandingKind::Discarded | LandingKind::Dropped => return,
        };
        for sector in landing.lba..landing.lba + u64::from(landing.sectors) {
            self.0.insert((landing.member, sector), held);
        }
    }

    /// Sets what `sector` of `member` holds.
    pub(super) fn put(&mut self, member: u32, sector: u64, held: Option<Held>) {
        match held {
            Some(held) => self.0.insert((member, sector), held),
            None => self.0.remove(&(member, sector)),
        };
    }

    /// All sectors that hold anything, by member and sector.
    pub fn iter(&self) -> impl Iterator<Item = ((u32, u64), Held)> {
        self.0.iter().map(|(&place, &held)| (place, held))
    }

    /// What `sector` of `member` holds.
    pub fn get(&self, member: u32, sector: u64) -> Option<Held> {
        self.0.get(&(member, sector)).copied()
    }
}
