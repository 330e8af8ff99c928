//! The drive's landings, if they are wanted: reports of when written blocks reached the medium, which of them were
//! replaced in the buffer, and which a power cut lost.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::access::{Pass, Passes};
use super::piece::CachedWrite;
use crate::block::{self, CutSector, Landing, LandingKind};
use crate::time::{Instant, Span};

/// Landings not fetched yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Landings {
    reported: VecDeque<Landing>,
    wanted: bool,
}

impl Landings {
    /// Switches the reports on or off.
    pub(super) fn set_wanted(&mut self, wanted: bool) {
        self.wanted = wanted;
    }

    pub(super) fn are_wanted(&self) -> bool {
        self.wanted
    }

    /// Reports a landing of `kind` for all `pieces`, at `now`.
    pub(super) fn report_pieces<'a>(
        &mut self,
        pieces: impl IntoIterator<Item = &'a CachedWrite>,
        now: Instant,
        kind: LandingKind,
    ) {
        if self.wanted {
            self.reported.extend(pieces.into_iter().map(|piece| piece.to_landing(now, now, kind)));
        }
    }

    /// Reports what a write of `pieces` left on the medium if it ran until `cut`; `cut_sector` is the fate of the
    /// physical sector under the head.
    pub(super) fn report_passes(
        &mut self,
        passes: Passes<'_>,
        pieces: &[CachedWrite],
        cut: Instant,
        physical_sector_blocks: u64,
        cut_sector: CutSector,
    ) {
        for pass in passes {
            let (lba, end) = (pass.extent.lba, pass.extent.end());
            let landing = |piece: &CachedWrite| {
                let (from, to) = passing_time(&pass, piece);
                piece.to_landing(from, to, LandingKind::Landed)
            };
            let run = pieces.iter().filter_map(|piece| piece.part_within(lba, end)).map(|piece| landing(&piece));
            if pass.end <= cut {
                self.reported.extend(run);
                continue;
            }
            let run: Vec<Landing> = run.collect();
            block::cut::report_fates(&run, cut, physical_sector_blocks, cut_sector, |landing| {
                self.reported.push_back(landing);
            });
        }
    }

    /// Removes the next landing that was not fetched yet.
    pub(super) fn pop_landing(&mut self) -> Option<Landing> {
        self.reported.pop_front()
    }

    /// Stamps of landings not fetched yet.
    pub(super) fn pending_stamps(&self) -> impl Iterator<Item = u64> {
        self.reported.iter().map(|landing| landing.stamp)
    }
}

/// Start and end of the time in which a piece passes under the head, its sectors evenly spread over the pass.
fn passing_time(pass: &Pass, piece: &CachedWrite) -> (Instant, Instant) {
    let passes_at = |lba: u64| {
        let share = pass.transfer.nanos() * (lba - pass.extent.lba) / u64::from(pass.extent.sectors);
        pass.transfer_start() + Span::from_nanos(share)
    };
    (passes_at(piece.lba), passes_at(piece.end()))
}
