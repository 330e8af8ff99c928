//! Effects of a cut on sectors that no landing reports: those under the heads, and blocks of lost drives.

use alloc::vec::Vec;

use super::runs::{SectorRun, run_overlap};

/// Effects of a cut on sectors, besides the landings.
#[derive(Clone, Debug, Default)]
pub struct CutOverlay {
    /// Further sectors on the medium, and the writes that brought them.
    pub besides: Vec<(SectorRun, u64)>,
    /// Unreadable sectors, and the write that was reaching them, if known.
    pub torn: Vec<(SectorRun, Option<u64>)>,
    /// Sectors that cannot be recovered.
    pub gone: Vec<SectorRun>,
}

impl CutOverlay {
    /// True if it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.besides.is_empty() && self.torn.is_empty() && self.gone.is_empty()
    }

    /// True if it changes a sector of `run`.
    pub fn touches_run(&self, run: SectorRun) -> bool {
        let touches = |other: SectorRun| run_overlap(run, other).is_some();
        self.besides.iter().any(|&(other, _)| touches(other))
            || self.torn.iter().any(|&(other, _)| touches(other))
            || self.gone.iter().any(|&other| touches(other))
    }
}
