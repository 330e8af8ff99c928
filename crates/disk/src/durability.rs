//! The fate of writes at a power cut, computed from one run: which acknowledged writes are on the medium at an instant,
//! which are not, and what had been promised of them.
//!
//! A cut changes nothing before it, so one run with known landings is enough for cuts at any of its instants (rule 5 of
//! [`crate::block`]). The judge sees what a client sees (submissions, completions) and what the medium received
//! (landings), never a buffer. For an array it sees what each member received, and judges what a read of the volume
//! would return ([`view`]).
//!
//! The judge's memory grows with the data at risk at a time, not with the length of the run. If a cut leaves sectors
//! unreadable, it grows with the written part of the drive as well.
//!
//! | word | meaning here |
//! |---|---|
//! | lost | acknowledged, and a sector holds older data: neither this write, nor a later one, nor one in flight together with it |
//! | flushed | acknowledged before the submission of a flush that has completed |
//! | promised | flushed, marked FUA, or acknowledged by a drive with its write cache off; before an orderly power-off, all |
//! | torn | left unreadable by the cut; reported separately, and not counted as lost |
//! | age | the time from a lost write's acknowledgement until the cut |
//!
//! | file | what it holds |
//! |---|---|
//! | [`judge`] | client and medium in one order of time, and the judge of each cut |
//! | [`terms`] | the promises of a stack |
//! | `heads` | the writes of the drives, in one order of time |
//! | [`view`] | the blocks that a program would read |
//! | [`risk`] | writes that are not wholly on the medium |
//! | [`stripes`] | rows of an array whose parity does not match their data; blocks of lost drives |
//! | `rebuilds` | which writes the rebuild of a drive restores |
//! | [`loss`] | counts of losses |
//! | [`overlay`] | effects of a cut on sectors, besides the landings |
//! | [`image`] | the content of a medium after a cut |
//! | [`writes`] | the guarantees of the standards for each write |
//! | [`served_array`] | state after a cut of a served array that lacks a drive |
//! | [`runs`] | runs of sectors with their content |

mod heads;
pub mod image;
pub mod judge;
pub mod loss;
pub mod overlay;
mod rebuilds;
pub mod risk;
pub mod runs;
pub mod served_array;
pub mod stripes;
pub mod terms;
pub mod view;
pub mod writes;

use self::loss::WriteClass;
use self::overlay::CutOverlay;
use self::risk::RiskLevel;
use self::runs::SectorRuns;
use crate::time::{Instant, Span};

/// Receives results of a [`judge::CutJudge`] that are too many to keep; each caller sums them up in its own way. `()`
/// ignores them.
pub trait Tally {
    /// Counts `count` writes of the class that a cut lost, acknowledged `age` before it. The age is exact if `count` is 1.
    /// Several writes that share one entry are reported with ages evenly between those of the first and the last.
    fn record_loss(&mut self, class: WriteClass, age: Span, count: u64) {
        let _ = (class, age, count);
    }

    /// Reports the data at risk since the last call until `until`: changing evenly from `before` to `after`.
    fn record_risk(&mut self, until: Instant, before: RiskLevel, after: RiskLevel) {
        let _ = (until, before, after);
    }

    /// Reports a cut, in order: the write that each sector of the medium holds, and the sectors that the cut decides.
    /// Only a judge that follows every sector calls it (`judge::CutJudge::with_surface`, [`judge::CutJudge::with_source`]).
    fn record_cut(&mut self, at: Instant, surface: &SectorRuns<u64>, overlay: &CutOverlay) {
        let _ = (at, surface, overlay);
    }
}

impl Tally for () {}

/// A note of a source for the judge of its own objects, such as a call that a program made. The judge keeps its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceNote {
    /// When the source made it.
    pub at: Instant,
    /// The source's work ends with it.
    pub ends_work: bool,
}

/// Judges what a cut leaves of a source's own objects, such as the files of a scene. The source's notes, the requests and the
/// cuts come in one order of time. `()` judges nothing.
pub trait SourceJudge {
    /// Takes the source's next note. [`SourceJudge::handle_next_note`] handles it later.
    fn take_note(&mut self) -> Option<SourceNote> {
        None
    }

    /// Handles the oldest note that was taken and not handled.
    fn handle_next_note(&mut self) {}

    /// Handles the acceptance of the write with this tag, under this stamp.
    fn handle_submission(&mut self, tag: u32, stamp: u64) {
        let _ = (tag, stamp);
    }

    /// Promises everything acknowledged, as before an orderly power-off.
    fn promise_all(&mut self) {}

    /// Judges a cut at `at` that leaves `surface` on the medium, with these effects on it.
    fn judge_cut(&mut self, at: Instant, surface: &SectorRuns<u64>, overlay: &CutOverlay) {
        let _ = (at, surface, overlay);
    }
}

impl SourceJudge for () {}

impl<J: SourceJudge> SourceJudge for Option<J> {
    fn take_note(&mut self) -> Option<SourceNote> {
        self.as_mut()?.take_note()
    }
    fn handle_next_note(&mut self) {
        self.iter_mut().for_each(J::handle_next_note);
    }
    fn handle_submission(&mut self, tag: u32, stamp: u64) {
        self.iter_mut().for_each(|judge| judge.handle_submission(tag, stamp));
    }
    fn promise_all(&mut self) {
        self.iter_mut().for_each(J::promise_all);
    }
    fn judge_cut(&mut self, at: Instant, surface: &SectorRuns<u64>, overlay: &CutOverlay) {
        self.iter_mut().for_each(|judge| judge.judge_cut(at, surface, overlay));
    }
}
