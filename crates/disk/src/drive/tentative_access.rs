//! A choice that is not final yet: the arm has started, and a command that comes may still be nearer. For as long as
//! `firmware.revise` says, and until the blocks wanted begin to pass, each command that comes makes the drive choose
//! again: with the rest of the time to the access chosen, and from the arm's old place for all others. An arm under
//! constant acceleration has done 2 (t / T)² of its way after t of T: of a seek of 1 ms 8 % after a fifth of a
//! millisecond, and while it waits for the platter nothing is lost at all.
//!
//! The access chosen begins when the choice is final, and then counts from the instant of its choice; until then its
//! command waits in the queue. A read-ahead ends at the instant of the choice.
//!
//! Measured: behind a controller that answers in 0.04 ms, two outstanding reads within 5 GB come 1.41 times as fast as one
//! (docs/published.md, the SAS drive). A drive that chooses when an access ends has only one to choose from, and gains nothing; one that
//! waits until the host has answered (`firmware.dispatch`) gains that with two, and loses a tenth with sixteen.

use super::Drive;
use super::cache::BufferLookup;
use super::mechanics::PositioningCosts;
use super::queuing::CandidateChoice;
use super::target::Target;
use crate::queue::Costs;
use crate::time::{Instant, Span};

/// An access that is chosen, but may be given up.
#[derive(Clone, Copy, Debug)]
pub(super) struct TentativeAccess {
    slot: u16,
    /// When the arm left.
    begun: Instant,
    /// Earliest instant at which its first block passes.
    there: Instant,
    /// When the choice is final.
    last: Instant,
    /// When the choice is made again.
    next: Instant,
}

/// Costs of positioning while the arm is on its way to a tentative access.
pub(super) struct TentativeCosts<'a> {
    reach: PositioningCosts<'a>,
    slot: u16,
    left: u64,
}

impl Costs<Target> for TentativeCosts<'_> {
    fn request_cost(&self, target: &Target) -> u64 {
        if target.slot == self.slot { self.left } else { self.reach.request_cost(target) }
    }

    fn least_cost_at_or_beyond(&self, distance: u64) -> u64 {
        self.reach.least_movement(distance).nanos().min(self.left)
    }
}

impl TentativeAccess {
    /// When the choice is made again.
    pub(super) fn next_choice_at(&self) -> Instant {
        self.next
    }

    /// Makes the choice again at `now`, for a command that comes.
    pub(super) fn choose_again_at(&mut self, now: Instant) {
        self.next = now;
    }

    /// Costs of positioning at `now`.
    pub(super) fn positioning_costs<'a>(&self, now: Instant, reach: PositioningCosts<'a>) -> TentativeCosts<'a> {
        TentativeCosts { reach, slot: self.slot, left: self.there.saturating_since(now).nanos() }
    }
}

impl Drive {
    /// Gives the medium to a command: for good, or if the firmware revises choices, until one comes that is nearer.
    /// `before` is the tentative access so far; the command may have a `rival` among the dirty segments.
    #[inline(always)]
    pub(super) fn take_up_command(
        &mut self,
        now: Instant,
        choice: CandidateChoice,
        before: Option<TentativeAccess>,
        rival: bool,
    ) {
        match self.medium.revision_time() > Span::ZERO {
            true => self.hold_command(now, choice, before, rival),
            false => self.start_command(now, now, choice),
        }
    }

    fn hold_command(&mut self, now: Instant, choice: CandidateChoice, before: Option<TentativeAccess>, rival: bool) {
        let Some(target) = self.queue.unplanned_target(&choice).copied() else {
            return self.start_command(now, now, choice);
        };
        if !matches!(self.look_up_command(target.slot), BufferLookup::Miss) || self.media_cache.is_some() {
            return self.start_command(now, now, choice);
        }
        match before.filter(|before| before.slot == target.slot) {
            Some(before) if rival || before.last <= now => self.start_command(now, before.begun, choice),
            Some(before) => self.tentative = Some(TentativeAccess { next: before.last, ..before }),
            None if rival => self.start_command(now, now, choice),
            None => {
                self.break_off_read_ahead(now);
                let there = now + Span::from_nanos(self.medium.positioning_costs(now).request_cost(&target));
                let last = there.min(now + self.medium.revision_time());
                self.tentative = Some(TentativeAccess { slot: target.slot, begun: now, there, last, next: last });
            }
        }
    }
}
