//! What the drive promises of its buffer, and keeps or does not: which writes are acknowledged from it, and what becomes
//! of them when the power goes.

use super::profile::{CacheSpec, Faults, Profile};
use crate::block::{CutSector, Flags, Request};

/// The rules of the buffer.
#[derive(Debug)]
pub(super) struct Promises {
    cache: CacheSpec,
    faults: Faults,
    /// A capacitor keeps the buffer.
    protected: bool,
    /// What a power cut leaves of the sector under the writing head.
    cut_sector: CutSector,
}

impl Promises {
    pub(super) fn of(profile: &Profile) -> Promises {
        let &Profile { cache, faults, protected, cut_sector, .. } = profile;
        Promises { cache, faults, protected, cut_sector }
    }

    /// How the buffer works.
    #[inline]
    pub(super) fn cache(&self) -> &CacheSpec {
        &self.cache
    }

    pub(super) fn cut_sector(&self) -> CutSector {
        self.cut_sector
    }

    /// Switches the write cache. Answers whether there is room for one.
    pub(super) fn switch(&mut self, on: bool) -> bool {
        let cache = &mut self.cache;
        let fits = !on || (1..=cache.segments).contains(&cache.dirty_segments);
        if fits {
            cache.write_back = on;
        }
        fits
    }

    /// True when what is in the buffer outlives a power cut.
    pub(super) fn saves_buffer(&self) -> bool {
        self.protected || self.cache.flash_sectors > 0
    }

    /// How many dirty blocks a cut would leave, where the drive holds no more than it can save.
    pub(super) fn saved_at_most(&self) -> u64 {
        match self.cache.flash_sectors {
            0 => u64::MAX,
            sectors => sectors,
        }
    }

    /// True for a write that is acknowledged from the buffer.
    #[inline]
    pub(super) fn caches(&self, request: &Request) -> bool {
        let on = self.cache.write_back || self.faults.caches_when_off;
        let forced = request.flags.has(Flags::FUA) && !self.faults.ignores_fua && !self.protected;
        self.cache.flash_sectors > 0 || (on && !forced)
    }

    /// A cached write that is longer than the segment of `room` blocks in which it has to go round.
    pub(super) fn goes_round(&self, request: &Request, room: u64) -> bool {
        self.cache.wraps && !self.saves_buffer() && u64::from(request.sectors) > room
    }

    /// A flush ends at once.
    pub(super) fn skips_flush(&self) -> bool {
        self.faults.early_flush || self.saves_buffer()
    }

    /// An orderly power-off leaves what is dirty.
    pub(super) fn forgets(&self) -> bool {
        self.faults.forgets_on_power_off
    }
}
