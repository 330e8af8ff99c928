//! A choice that is not final yet: the arm is on its way, and a command that comes may still be nearer. For so long as
//! `firmware.revise` says, and until the blocks wanted begin to pass, each command that comes makes the drive choose again: from
//! what is left of the way to the access chosen, and from the arm's old place for all others. An arm under constant acceleration
//! has done 2 (t / T)² of its way after t of T: of a seek of 1 ms 8 % after a fifth of a millisecond, and while it waits for the
//! platter nothing is lost at all.
//!
//! The access chosen has not begun until the choice is final: it waits in the queue as before, and counts from the instant of
//! its choice when it begins. A read-ahead ends at that instant.
//!
//! Measured: behind a controller that answers in 0.04 ms, two outstanding reads within 5 GB come 1.41 times as fast as one
//! (docs/published.md, the SAS drive). A drive that chooses as an access ends has one to choose from then, and gains nothing; one
//! that waits until the host has answered (`firmware.dispatch`) gains that with two, and loses a tenth with sixteen.

use super::Drive;
use super::cache::BufferLookup;
use super::mechanics::Reach;
use super::queuing::CandidateChoice;
use super::target::Target;
use crate::queue::Costs;
use crate::time::{Instant, Span};

/// An access that is chosen, but may be given up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tentative {
    slot: u16,
    /// The arm left at this instant.
    begun: Instant,
    /// Its first block begins to pass, or may.
    there: Instant,
    /// It is given up no more.
    last: Instant,
    /// When it is looked at again.
    next: Instant,
}

/// What positioning costs while the arm is on its way to a tentative access.
pub(super) struct ReachUnderWay<'a> {
    reach: Reach<'a>,
    slot: u16,
    left: u64,
}

impl Costs<Target> for ReachUnderWay<'_> {
    fn of(&self, target: &Target) -> u64 {
        if target.slot == self.slot { self.left } else { self.reach.of(target) }
    }

    fn least(&self, distance: u64) -> u64 {
        self.reach.floor(distance).nanos().min(self.left)
    }
}

impl Tentative {
    /// When it is looked at again.
    pub(super) fn looked_at(&self) -> Instant {
        self.next
    }

    /// A command comes at `now`.
    pub(super) fn think_again(&mut self, now: Instant) {
        self.next = now;
    }

    /// What positioning costs at `now`.
    pub(super) fn reach<'a>(&self, now: Instant, reach: Reach<'a>) -> ReachUnderWay<'a> {
        ReachUnderWay { reach, slot: self.slot, left: self.there.saturating_since(now).nanos() }
    }
}

impl Drive {
    /// The medium turns to a command: for good, or where its firmware thinks again, until one comes that is nearer. `before` is
    /// what it had turned to; it may have a `rival` among the dirty segments.
    #[inline(always)]
    pub(super) fn turn_to(&mut self, now: Instant, choice: CandidateChoice, before: Option<Tentative>, rival: bool) {
        match self.medium.revises() > Span::ZERO {
            true => self.turn_for_now(now, choice, before, rival),
            false => self.start_command(now, now, choice),
        }
    }

    fn turn_for_now(&mut self, now: Instant, choice: CandidateChoice, before: Option<Tentative>, rival: bool) {
        let Some(target) = self.queue.freely(&choice).copied() else {
            return self.start_command(now, now, choice);
        };
        if !matches!(self.look_up(target.slot), BufferLookup::Miss) || self.media_cache.is_some() {
            return self.start_command(now, now, choice);
        }
        match before.filter(|before| before.slot == target.slot) {
            Some(before) if rival || before.last <= now => self.start_command(now, before.begun, choice),
            Some(before) => self.tentative = Some(Tentative { next: before.last, ..before }),
            None if rival => self.start_command(now, now, choice),
            None => {
                self.break_off(now);
                let there = now + Span::from_nanos(self.medium.reach(now).of(&target));
                let last = there.min(now + self.medium.revises());
                self.tentative = Some(Tentative { slot: target.slot, begun: now, there, last, next: last });
            }
        }
    }
}
