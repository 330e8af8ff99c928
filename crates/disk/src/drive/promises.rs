//! Promises of the drive to writers: which writes are acknowledged from the buffer, whether the buffer outlives a power
//! failure, and which faults of the drive break that. The rules follow the profile; only the write cache can be
//! switched.

use super::profile::{CacheSpec, Faults, Profile};
use crate::block::{CutSector, Flags, Request};

/// The rules of acknowledgement and durability.
#[derive(Clone, Debug)]
pub(super) struct Promises {
    cache: CacheSpec,
    faults: Faults,
    /// A capacitor keeps the buffer.
    protected: bool,
    /// State of the sector under the writing head after a power cut.
    cut_sector: CutSector,
}

impl Promises {
    pub(super) fn new(profile: &Profile) -> Promises {
        let &Profile { cache, faults, protected, cut_sector, .. } = profile;
        Promises { cache, faults, protected, cut_sector }
    }

    /// Settings of the buffer; `write_back` as it is switched now.
    #[inline]
    pub(super) fn cache(&self) -> &CacheSpec {
        &self.cache
    }

    pub(super) fn cut_sector(&self) -> CutSector {
        self.cut_sector
    }

    /// Switches the write cache on or off. Returns false if there is no room for one.
    pub(super) fn switch_write_cache(&mut self, on: bool) -> bool {
        let cache = &mut self.cache;
        let fits = !on || (1..=cache.segments).contains(&cache.dirty_segments);
        if fits {
            cache.write_back = on;
        }
        fits
    }

    /// True if the drive states a volatile write cache. One that was switched off is stated until its dirty data are on
    /// the medium: a host that goes by it flushes them. A drive that lies about its cache does not state it.
    pub(super) fn states_volatile_cache(&self, has_dirty: bool) -> bool {
        self.cache.write_back || (has_dirty && !self.faults.caches_when_off && !self.saves_buffer())
    }

    /// True when what is in the buffer outlives a power cut.
    pub(super) fn saves_buffer(&self) -> bool {
        self.protected || self.cache.flash_sectors > 0
    }

    /// Maximum number of dirty blocks, if the drive holds no more than it can save; else `u64::MAX`.
    pub(super) fn max_dirty_blocks(&self) -> u64 {
        match self.cache.flash_sectors {
            0 => u64::MAX,
            sectors => sectors,
        }
    }

    /// True for a write that is acknowledged from the buffer.
    #[inline]
    pub(super) fn caches_write(&self, request: &Request) -> bool {
        let on = self.cache.write_back || self.faults.caches_when_off;
        let forced = request.flags.has(Flags::FUA) && !self.faults.ignores_fua && !self.protected;
        self.cache.flash_sectors > 0 || (on && !forced)
    }

    /// True for a cached write that is longer than a segment, and so wraps around in it.
    pub(super) fn wraps_around(&self, request: &Request, segment_sectors: u64) -> bool {
        self.cache.wraps && !self.saves_buffer() && u64::from(request.sectors) > segment_sectors
    }

    /// True if a flush ends at once.
    pub(super) fn skips_flush(&self) -> bool {
        self.faults.early_flush || self.saves_buffer()
    }

    /// True if an orderly power-off leaves dirty data unwritten.
    pub(super) fn forgets_on_power_off(&self) -> bool {
        self.faults.forgets_on_power_off
    }
}
