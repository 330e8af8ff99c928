//! The promises of a stack for its writes, and what a cut does to the sector under a head.

use crate::block::setting::LayerSetting;
use crate::block::{Control, CutSector, SECTOR};
use crate::stack::Stack;

/// The promises of a drive, and what a cut does to the sector under its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriveTerms {
    /// Sectors in a physical sector.
    pub unit: u64,
    /// The fate of the sector under the head.
    pub cut_sector: CutSector,
    /// At some time of a run, writes are acknowledged that a cut can lose.
    pub volatile: bool,
    /// `volatile` at the start of the run.
    pub volatile_at_first: bool,
    /// Memory acknowledges writes, whatever the drive does.
    pub in_memory: bool,
    /// All writes go through a buffer that survives a cut: what is acknowledged is safe, and no write is cut short.
    pub saves: bool,
}

impl DriveTerms {
    /// The terms of a drive, or of one below a cache in memory, which survives no cut.
    pub fn from_stack(stack: &Stack) -> DriveTerms {
        let profile = &stack.profile;
        let in_memory = stack.accelerators().any(|accelerator| accelerator.write_back);
        let cache = &profile.cache;
        let saved = profile.saves_buffer();
        let switch_on = Control::Set(LayerSetting::WriteBack(true));
        let switched_on = stack.changes.iter().any(|change| change.control == switch_on);
        let caches = cache.write_back || switched_on || cache.flash_sectors > 0 || profile.faults.caches_when_off;
        // The profile's claim counts, so that a fault shows.
        let volatile_at_first = in_memory || cache.write_back && !saved;
        DriveTerms {
            unit: u64::from(profile.physical_sector) / SECTOR,
            cut_sector: profile.cut_sector,
            volatile: volatile_at_first || switched_on && !saved,
            volatile_at_first,
            in_memory,
            saves: !in_memory && caches && saved,
        }
    }

    /// Returns the terms with everything acknowledged promised, as before an orderly power-off.
    pub fn promising_all(self) -> DriveTerms {
        DriveTerms { volatile: false, volatile_at_first: false, in_memory: false, ..self }
    }

    /// The fate of the sector under the head, as a profile names it.
    pub fn cut_sector_name(self) -> &'static str {
        match self.cut_sector {
            CutSector::Finished => "finished",
            CutSector::Old => "old",
            CutSector::Unreadable => "unreadable",
        }
    }
}
