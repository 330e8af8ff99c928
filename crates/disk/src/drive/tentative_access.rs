//! The *tentative* access: it is chosen and the arm has started, but a command that comes may still be nearer.
//!
//! For as long as `firmware.revise` says, and until the wanted blocks begin to pass, each command that comes makes the
//! drive choose again. The tentative access then costs what is left of its time; all others are counted from where the
//! arm was when it started. The error is small: an arm under constant acceleration has covered 2 (t / T)² of its way
//! after t of T, such as 8 % of a seek of 1 ms after 0.2 ms. While it waits for the platter nothing is lost at all.
//!
//! The access begins when the choice is final, and then counts from the instant at which the arm started; until then
//! its command waits in the queue. A read-ahead ends when the arm starts.
//!
//! Measured: behind a controller that answers in 0.04 ms, two outstanding reads within 5 GB come 1.41 times as fast as
//! one (docs/published.md, the SAS drive). A drive that chooses for good when an access ends has only one command to
//! choose from, and gains nothing. A drive that waits until the host has answered (`firmware.dispatch`) gains as much
//! with two reads, but loses a tenth with sixteen.

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
    /// When the arm started.
    arm_started: Instant,
    /// Earliest instant at which its first block passes.
    first_passes: Instant,
    /// When the choice becomes final.
    final_at: Instant,
    /// When the choice is made again, or becomes final.
    next_choice: Instant,
}

/// Costs of positioning while the arm is on its way to a tentative access.
pub(super) struct TentativeCosts<'a> {
    others: PositioningCosts<'a>,
    tentative_slot: u16,
    tentative_cost: u64,
}

impl Costs<Target> for TentativeCosts<'_> {
    fn request_cost(&self, target: &Target) -> u64 {
        if target.slot == self.tentative_slot { self.tentative_cost } else { self.others.request_cost(target) }
    }

    fn least_cost_at_or_beyond(&self, distance: u64) -> u64 {
        self.others.least_movement_at_or_beyond(distance).nanos().min(self.tentative_cost)
    }
}

impl TentativeAccess {
    /// When the choice is made again, or becomes final.
    pub(super) fn next_choice_at(&self) -> Instant {
        self.next_choice
    }

    /// Lets the choice be made again at `now`, for a command that comes.
    pub(super) fn choose_again_at(&mut self, now: Instant) {
        self.next_choice = now;
    }

    /// Costs of positioning at `now`: `others`, but for the tentative access what is left of its time.
    pub(super) fn positioning_costs<'a>(&self, now: Instant, others: PositioningCosts<'a>) -> TentativeCosts<'a> {
        let tentative_cost = self.first_passes.saturating_since(now).nanos();
        TentativeCosts { others, tentative_slot: self.slot, tentative_cost }
    }
}

impl Drive {
    /// Starts the chosen command, for good or, if the firmware revises choices, as a tentative access. `previous` is
    /// the tentative access so far. While a destage competes, a choice is final.
    #[inline(always)]
    pub(super) fn take_up_command(
        &mut self,
        now: Instant,
        choice: CandidateChoice,
        previous: Option<TentativeAccess>,
        destage_competes: bool,
    ) {
        match self.medium.revision_time() > Span::ZERO {
            true => self.start_or_hold_tentative(now, choice, previous, destage_competes),
            false => self.start_command(now, now, choice),
        }
    }

    fn start_or_hold_tentative(
        &mut self,
        now: Instant,
        choice: CandidateChoice,
        previous: Option<TentativeAccess>,
        destage_competes: bool,
    ) {
        let Some(target) = self.queue.unplanned_target(&choice).copied() else {
            return self.start_command(now, now, choice);
        };
        if !matches!(self.look_up_command(target.slot), BufferLookup::Miss) || self.media_cache.is_some() {
            return self.start_command(now, now, choice);
        }
        match previous.filter(|previous| previous.slot == target.slot) {
            Some(same) if destage_competes || same.final_at <= now => self.start_command(now, same.arm_started, choice),
            Some(same) => self.tentative = Some(TentativeAccess { next_choice: same.final_at, ..same }),
            None if destage_competes => self.start_command(now, now, choice),
            None => {
                self.break_off_read_ahead(now);
                let first_passes = now + Span::from_nanos(self.medium.positioning_costs(now).request_cost(&target));
                let final_at = first_passes.min(now + self.medium.revision_time());
                let (slot, arm_started, next_choice) = (target.slot, now, final_at);
                self.tentative = Some(TentativeAccess { slot, arm_started, first_passes, final_at, next_choice });
            }
        }
    }
}
