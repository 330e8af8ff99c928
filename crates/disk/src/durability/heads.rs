//! The heads of all drives: takes landings as they are reported, and returns in order of time what has passed each head.
//!
//! A landing is reported when its access has ended. The writes of a drive are known up to the end of its latest landing;
//! the writes of all drives, up to the earliest of these ends. Landings that pass a head without a pause form a *track
//! run*.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use crate::block::{self, CutSector, Landing, LandingKind, MemberRole};
use crate::host::array::layout::MemberSet;
use crate::time::Instant;

use super::runs::SectorRun;
use super::terms::DriveTerms;

/// Sectors written with one stamp, and where they are.
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
    /// The first of the runs has begun.
    first_has_begun: bool,
    /// The instant up to which its landings are known.
    known_until: Instant,
}

impl Head {
    /// When the first run begins or, once begun, ends.
    fn next_run_edge(&self) -> Option<Instant> {
        let run = self.runs.front()?;
        Some(if self.first_has_begun { run.last()?.to } else { run.first()?.from })
    }
}

/// Written sectors at an instant: those that have passed the heads, and those under them.
#[derive(Debug, Default)]
pub(crate) struct SectorsAtHeads {
    /// Sectors that have passed the heads since the last call, in whole physical sectors.
    pub passed: Vec<StampedRun>,
    /// Sectors under the heads, which a cut would tear.
    pub under_heads: Vec<StampedRun>,
}

/// All heads.
#[derive(Clone, Debug)]
pub struct Heads {
    heads: Vec<Head>,
    /// The track run being reported.
    open: Vec<Landing>,
}

impl Heads {
    /// The heads of `members` drives, of which those in `lost` write nothing.
    pub fn new(members: u32, lost: MemberSet) -> Heads {
        let mut heads = Heads { heads: vec![Head::default(); members as usize], open: Vec::new() };
        (0..members).filter(|member| lost >> member & 1 == 1).for_each(|member| heads.stop_drive(member));
        heads
    }

    /// Stops a drive: no more landings come from it.
    pub(crate) fn stop_drive(&mut self, member: u32) {
        self.close_run();
        self.heads[member as usize].known_until = Instant::FAR;
    }

    /// Starts a replacement drive, which may write from `now` on.
    pub(crate) fn start_drive(&mut self, member: u32, now: Instant) {
        self.close_run();
        self.heads[member as usize].known_until = now;
    }

    /// Adds a landing. True if the track run before it is complete now.
    pub(crate) fn add_landing(&mut self, landing: &Landing) -> bool {
        let completes_run = self.open.last().is_some_and(|last| !last.is_followed_by(landing)) && self.close_run();
        self.open.push(*landing);
        completes_run
    }

    /// Completes the track run that is being reported. True if there was one.
    pub(crate) fn close_run(&mut self) -> bool {
        let run = core::mem::take(&mut self.open);
        let Some(last) = run.last() else { return false };
        let member = last.member as usize;
        while member >= self.heads.len() {
            // A device beside the drives reports at once: its landings are always known.
            self.heads.push(Head { known_until: Instant::FAR, ..Head::default() });
        }
        let head = &mut self.heads[member];
        if head.known_until != Instant::FAR {
            head.known_until = last.to;
        }
        head.runs.push_back(run);
        true
    }

    /// The instant up to which the landings of all drives are known.
    pub(crate) fn known_until(&self) -> Instant {
        self.heads.iter().map(|head| head.known_until).min().unwrap_or(Instant::ZERO)
    }

    /// When the next track run begins or ends.
    pub(crate) fn next_run_edge(&self) -> Option<Instant> {
        self.heads.iter().filter_map(Head::next_run_edge).min()
    }

    /// Advances the heads to `at`. Returns the sectors that have passed them since the last call, and those under them.
    pub(crate) fn advance_to(&mut self, at: Instant, terms: DriveTerms) -> SectorsAtHeads {
        let mut sectors = SectorsAtHeads::default();
        for head in &mut self.heads {
            while head.next_run_edge().is_some_and(|edge| edge <= at) {
                head.first_has_begun = !head.first_has_begun;
                if !head.first_has_begun {
                    let run = head.runs.pop_front().unwrap_or_default();
                    sectors.passed.extend(run.iter().map(stamped_run));
                }
            }
            if let Some(run) = head.runs.front().filter(|_| head.first_has_begun) {
                sectors.add_sectors_of_run(run, at, terms);
            }
        }
        sectors
    }
}

impl SectorsAtHeads {
    /// Adds the parts of a track run that have passed the head at `at`, and those of the physical sector under it.
    fn add_sectors_of_run(&mut self, run: &[Landing], at: Instant, terms: DriveTerms) {
        // The sector under the head is reported as unreadable, whatever the profile says, to tell it from the others.
        block::cut::report_fates(run, at, terms.unit, CutSector::Unreadable, |part| match part.kind {
            LandingKind::Landed => self.passed.push(stamped_run(&part)),
            LandingKind::Torn if !terms.saves => self.under_heads.push(stamped_run(&part)),
            _ => {}
        });
    }
}

/// The sectors of a landing.
pub(crate) fn stamped_run(landing: &Landing) -> StampedRun {
    let Landing { member, role, stamp, number, .. } = *landing;
    StampedRun { member, role, run: (landing.lba, landing.end()), stamp, number }
}
