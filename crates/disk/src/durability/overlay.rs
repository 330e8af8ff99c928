//! Effects of a cut on sectors, besides the landings: what a medium holds after it that no landing says.

use alloc::vec::Vec;

use super::runs::{SectorRun, run_overlap};

/// Effects of a cut on sectors, besides the landings.
#[derive(Clone, Debug, Default)]
pub struct CutOverlay {
    /// Further sectors on the medium, and the writes that brought them.
    pub besides: Vec<(SectorRun, u64)>,
    /// Unreadable sectors, and the write in flight there, if known.
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
        let hits = |other: SectorRun| run_overlap(run, other).is_some();
        self.besides.iter().any(|it| hits(it.0))
            || self.torn.iter().any(|it| hits(it.0))
            || self.gone.iter().any(|&it| hits(it))
    }
}
