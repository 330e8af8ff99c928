//! The heads of all drives: takes track runs as they are reported, and returns them in order of time.
//!
//! A landing is reported when its access has ended. The writes of a drive are known up to the end of its latest
//! landing; the writes of all drives, up to the earliest of these.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use crate::block::{self, CutSector, Landing, LandingKind, MemberRole};
use crate::time::Instant;

use super::runs::SectorRun;
use super::terms::DriveTerms;

/// Sectors written with one stamp, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StampedRun {
    pub member: u32,
    /// The role of the sectors in an array.
    pub role: MemberRole,
    /// The sectors, as a program sees them.
    pub run: SectorRun,
    pub stamp: u64,
    /// The number of the write in the array.
    pub number: u64,
}

/// A head, and its track runs that have not ended.
#[derive(Clone, Debug, Default)]
struct Head {
    runs: VecDeque<Vec<Landing>>,
    /// The first of them has begun.
    begun: bool,
    /// The instant up to which its landings are known.
    known: Instant,
}

impl Head {
    /// When the first run begins or, once begun, ends.
    fn run_edge(&self) -> Option<Instant> {
        let run = self.runs.front()?;
        Some(if self.begun { run.last()?.to } else { run.first()?.from })
    }
}

/// All heads.
#[derive(Clone, Debug)]
pub struct Heads {
    heads: Vec<Head>,
    /// The track run being reported.
    open: Vec<Landing>,
}

impl Heads {
    /// The heads of `members` drives, less those that are `lost` (one bit each).
    pub fn new(members: u32, lost: u64) -> Heads {
        let mut heads = Heads { heads: vec![Head::default(); members as usize], open: Vec::new() };
        (0..members).filter(|member| lost >> member & 1 == 1).for_each(|member| heads.stop_drive(member));
        heads
    }

    /// Stops a drive: no more landings come from it.
    pub(crate) fn stop_drive(&mut self, member: u32) {
        self.close_run();
        self.heads[member as usize].known = Instant::FAR;
    }

    /// Starts a replacement drive, which may write from `now` on.
    pub(crate) fn start_drive(&mut self, member: u32, now: Instant) {
        self.close_run();
        self.heads[member as usize].known = now;
    }

    /// Takes a landing. True if it ended the track run before it.
    pub(crate) fn take_landing(&mut self, landing: &Landing) -> bool {
        let ends = self.open.last().is_some_and(|last| !last.is_followed_by(landing)) && self.close_run();
        self.open.push(*landing);
        ends
    }

    /// Completes the track run that is being reported. True if there was one.
    pub(crate) fn close_run(&mut self) -> bool {
        let run = core::mem::take(&mut self.open);
        let Some(last) = run.last() else { return false };
        let member = last.member as usize;
        while member >= self.heads.len() {
            // A device beside the drives reports at once: its landings are always known.
            self.heads.push(Head { known: Instant::FAR, ..Head::default() });
        }
        let head = &mut self.heads[member];
        if head.known != Instant::FAR {
            head.known = last.to;
        }
        head.runs.push_back(run);
        true
    }

    /// The instant up to which the landings of all drives are known.
    pub(crate) fn known_until(&self) -> Instant {
        self.heads.iter().map(|head| head.known).min().unwrap_or(Instant::ZERO)
    }

    /// When the next track run begins or ends.
    pub(crate) fn next_edge(&self) -> Option<Instant> {
        self.heads.iter().filter_map(Head::run_edge).min()
    }

    /// Returns the sectors that have passed the heads by `at`, in whole physical sectors, and those that a cut would
    /// tear.
    pub(crate) fn advance_to(&mut self, at: Instant, terms: DriveTerms) -> (Vec<StampedRun>, Vec<StampedRun>) {
        let (mut done, mut under) = (Vec::new(), Vec::new());
        for head in &mut self.heads {
            while head.run_edge().is_some_and(|edge| edge <= at) {
                head.begun = !head.begun;
                if !head.begun {
                    let run = head.runs.pop_front().unwrap_or_default();
                    done.extend(run.iter().map(stamped_run));
                }
            }
            if let Some(run) = head.runs.front().filter(|_| head.begun) {
                split_at_head(run, at, terms, &mut done, &mut under);
            }
        }
        (done, under)
    }
}

/// Adds to `done` the parts of a track run that have passed the head at `at`, in whole physical sectors, and to `under`
/// those of the physical sector under it, which a cut would tear.
fn split_at_head(
    run: &[Landing],
    at: Instant,
    terms: DriveTerms,
    done: &mut Vec<StampedRun>,
    under: &mut Vec<StampedRun>,
) {
    // Marked as unreadable, whatever the profile says, to distinguish it.
    block::cut::report_fates(run, at, terms.unit, CutSector::Unreadable, |left| match left.kind {
        LandingKind::Landed => done.push(stamped_run(&left)),
        LandingKind::Torn if !terms.saves => under.push(stamped_run(&left)),
        _ => {}
    });
}

/// The sectors of a landing.
pub(crate) fn stamped_run(landing: &Landing) -> StampedRun {
    let Landing { member, role, stamp, number, .. } = *landing;
    StampedRun { member, role, run: (landing.lba, landing.end()), stamp, number }
}
