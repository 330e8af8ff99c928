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

/// The content of a medium. Sectors without a write hold their initial content. Media with equal content have equal
/// hashes.
#[derive(Clone, Debug, Default, Hash)]
pub struct MediumImage {
    /// The stamp of the write that each sector holds.
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

/// Reports the medium after each cut of a history, in order, and returns the losses of each cut. The history ends at
/// `end`.
pub fn replay_cuts(
    history: &History,
    (terms, array): (DriveTerms, CutArray),
    cuts: Vec<Instant>,
    end: Instant,
    report_medium: impl FnMut(Instant, MediumImage),
) -> Vec<CutLoss> {
    let mut judge: CutJudge<_> = CutJudge::new(terms, array, cuts, None, ImageTally(report_medium)).with_surface();
    history.replay_to(&mut judge);
    judge.finish(end).cuts
}

/// Calls a closure with the medium after each cut.
struct ImageTally<F>(F);

impl<F: FnMut(Instant, MediumImage)> Tally for ImageTally<F> {
    fn record_cut(&mut self, at: Instant, surface: &SectorRuns<u64>, overlay: &CutOverlay) {
        (self.0)(at, MediumImage::new(surface, overlay));
    }
}

impl MediumImage {
    /// Creates the image from the judge's results for a cut ([`Tally::record_cut`]).
    pub fn new(surface: &SectorRuns<u64>, overlay: &CutOverlay) -> MediumImage {
        let mut held = surface.clone();
        for &(run, stamp) in &overlay.besides {
            held.set_and_merge(run, stamp);
        }
        let torn = overlay.torn.iter().map(|&(run, _)| run).chain(overlay.gone.iter().copied()).collect();
        MediumImage { held, torn }
    }

    /// Creates the image of all writes accepted by `at`, except the parts in `lost`.
    pub fn without_writes<'a>(
        writes: &SessionWrites,
        at: Instant,
        lost: impl IntoIterator<Item = &'a LostWrite>,
    ) -> MediumImage {
        let lost_parts = |lost: &'a LostWrite| (lost.write.stamp, &lost.parts[..]);
        let lost: BTreeMap<u64, &[SectorRun]> = lost.into_iter().map(lost_parts).collect();
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

    /// Written runs in order, each with its first sector and its data.
    pub fn written_pieces<'a>(&self, history: &'a History, writes: &SessionWrites) -> Vec<(u64, DataPart<'a>)> {
        let written = self.held.iter().filter_map(|(run, stamp)| Some((run, writes.get(stamp)?)));
        written.map(|(run, write)| (run.0, history.data_part(write.stamp, write.run.0, run.0, run.1 - run.0))).collect()
    }
}
