//! The content of a medium after a cut: which write each sector holds. The bytes are in the history.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::history::{CutRemains, DataPart, History};
use crate::time::Instant;

use super::Tally;
use super::judge::CutJudge;
use super::loss::CutLoss;
use super::overlay::CutOverlay;
use super::runs::{SectorRun, SectorRuns, run_without_all};
use super::terms::DriveTerms;
use super::view::CutArray;
use super::writes::{SessionWrite, SessionWrites};

/// A medium. Sectors without a write hold their initial content. Media with the same content have the same hash.
#[derive(Clone, Debug, Default, Hash)]
pub struct MediumImage {
    held: SectorRuns<u64>,
    /// Unreadable sectors.
    torn: Vec<SectorRun>,
}

/// A write, or parts of one, that is not on a medium.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostWrite {
    pub write: SessionWrite,
    /// Sectors of the write that hold older data.
    pub parts: Vec<SectorRun>,
}

/// Reports to `left` the medium after each cut of a history, in order, and returns the losses of each cut. The history
/// ends at `end`.
pub fn replay_cuts(
    history: &History,
    (terms, plan): (DriveTerms, CutArray),
    cuts: Vec<Instant>,
    end: Instant,
    left: impl FnMut(Instant, MediumImage),
) -> Vec<CutLoss> {
    let mut judge: CutJudge<_> = CutJudge::new(terms, plan, cuts, None, ImageTally(left)).with_surface();
    history.replay_to(&mut judge);
    judge.finish(end).cuts
}

/// Reports the medium after each cut.
struct ImageTally<F>(F);

impl<F: FnMut(Instant, MediumImage)> Tally for ImageTally<F> {
    fn record_cut(&mut self, at: Instant, surface: &SectorRuns<u64>, overlay: &CutOverlay) {
        (self.0)(at, MediumImage::new(surface, overlay));
    }
}

impl MediumImage {
    /// Creates the image from the result of a judge of cuts.
    pub fn new(surface: &SectorRuns<u64>, overlay: &CutOverlay) -> MediumImage {
        let mut held = surface.clone();
        for &(run, stamp) in &overlay.besides {
            held.set_and_merge(run, stamp);
        }
        let torn = overlay.torn.iter().map(|it| it.0).chain(overlay.gone.iter().copied()).collect();
        MediumImage { held, torn }
    }

    /// Creates the image of all writes accepted by `at`, except the parts in `lost`.
    pub fn without_writes<'a>(
        writes: &SessionWrites,
        at: Instant,
        lost: impl IntoIterator<Item = &'a LostWrite>,
    ) -> MediumImage {
        let lost: BTreeMap<u64, &[SectorRun]> = lost.into_iter().map(|it| (it.write.stamp, &it.parts[..])).collect();
        let mut held = SectorRuns::default();
        for write in writes.accepted_by(at) {
            match lost.get(&write.stamp) {
                None => held.set_and_merge(write.run, write.stamp),
                Some(parts) => {
                    run_without_all(write.run, parts).into_iter().for_each(|run| held.set_and_merge(run, write.stamp));
                }
            }
        }
        MediumImage { held, torn: Vec::new() }
    }

    /// Returns the writes accepted by `at` of which some sectors hold older data.
    pub fn lost_writes(&self, writes: &SessionWrites, at: Instant) -> Vec<LostWrite> {
        let mut lost = Vec::new();
        for write in writes.accepted_by(at) {
            let mut parts = Vec::new();
            self.held.for_each_part(write.run, &mut |run, held| {
                if held.is_none_or(|held| held < write.stamp) {
                    parts.push(run);
                }
            });
            if !parts.is_empty() {
                lost.push(LostWrite { write: *write, parts });
            }
        }
        lost
    }

    /// Converts the image to plain data.
    pub fn cut_remains(&self) -> CutRemains {
        CutRemains { held: self.held.iter().collect(), unreadable: self.torn.clone() }
    }

    /// Returns a copy in which unreadable sectors hold their earlier content.
    pub fn without_torn(&self) -> MediumImage {
        MediumImage { torn: Vec::new(), ..self.clone() }
    }

    /// The unreadable sectors.
    pub fn torn_sectors(&self) -> &[SectorRun] {
        &self.torn
    }

    /// Written runs in order: first sector, and content from there on.
    pub fn written_pieces<'a>(&self, history: &'a History, writes: &SessionWrites) -> Vec<(u64, DataPart<'a>)> {
        let named = self.held.iter().filter_map(|(run, stamp)| Some((run, writes.get(stamp)?)));
        named.map(|(run, write)| (run.0, history.data_part(write.stamp, write.run.0, run.0, run.1 - run.0))).collect()
    }
}
