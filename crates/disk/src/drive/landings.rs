//! Reports on written blocks, for those who ask for them: when pieces reached the medium, what replaced them in the
//! buffer, what a cut lost.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::access::{Pass, Passes};
use super::piece::CachedWrite;
use crate::block::{self, CutSector, Landing, LandingKind};
use crate::time::{Instant, Span};

/// Landings not fetched yet.
#[derive(Debug, Default)]
pub(super) struct Landings {
    told: VecDeque<Landing>,
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
            self.told.extend(pieces.into_iter().map(|piece| piece.to_landing(now, now, kind)));
        }
    }

    /// Reports what a write of `pieces` left on the medium if it ran until `cut`; a physical sector of `unit` blocks
    /// that is finished after the cut is dated to it.
    pub(super) fn report_passes(
        &mut self,
        passes: Passes<'_>,
        pieces: &[CachedWrite],
        cut: Instant,
        (unit, sector): (u64, CutSector),
    ) {
        for pass in passes {
            let (lba, end) = (pass.extent.lba, pass.extent.end());
            let passing = |piece: &CachedWrite| {
                let (from, to) = passing_time(&pass, piece);
                piece.to_landing(from, to, LandingKind::Landed)
            };
            let run = pieces.iter().filter_map(|piece| piece.part_within(lba, end)).map(|piece| passing(&piece));
            if pass.end <= cut {
                self.told.extend(run);
                continue;
            }
            let run: Vec<Landing> = run.collect();
            block::cut::report_fates(&run, cut, unit, sector, |left| self.told.push_back(left));
        }
    }

    /// Removes the next landing.
    pub(super) fn pop_landing(&mut self) -> Option<Landing> {
        self.told.pop_front()
    }

    /// Stamps of landings not fetched yet.
    pub(super) fn pending_stamps(&self) -> impl Iterator<Item = u64> {
        self.told.iter().map(|landing| landing.stamp)
    }
}

/// Start and end of the time in which a piece passes under the head, its sectors evenly spread over the pass.
fn passing_time(pass: &Pass, piece: &CachedWrite) -> (Instant, Instant) {
    let at = |lba: u64| {
        let share = pass.transfer.nanos() * (lba - pass.extent.lba) / u64::from(pass.extent.sectors);
        pass.transfer_start() + Span::from_nanos(share)
    };
    (at(piece.lba), at(piece.end()))
}
