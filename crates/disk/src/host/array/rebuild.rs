//! Lost members, new ones, and checks: what begins a rebuild or a check, and what breaks it off. `sync` does their work.
//!
//! After a power cut a rebuild starts again from the beginning, because the new drive's cache is lost; there is no
//! checkpoint. A check is not resumed, as md forgets that one was asked for. The loss of any member breaks a check off
//! (`MD_RECOVERY_INTR`). A volume that did not survive a loss stays lost.

use super::layout::{ArrayVolume, MemberSet};
use super::progress::{Sync, SyncKind, SyncProgress};
use super::sync_pace::SyncPace;
use super::{Array, ArrayContext, numbering};
use crate::block::setting::LayerSetting;
use crate::block::{Control, ControlError, LandingKind};
use crate::time::Instant;

impl Array {
    /// The progress of the last rebuild or check.
    pub fn sync_progress(&self) -> SyncProgress {
        let sectors = self.sync.as_ref().map_or(self.progress.sectors, Sync::done_until);
        SyncProgress { sectors, ..self.progress }
    }

    /// Members that are lost or not yet rebuilt.
    pub fn lost_members(&self) -> MemberSet {
        self.missing_members
    }

    /// The members that are being rebuilt.
    pub(super) fn rebuilt_members(&self) -> MemberSet {
        self.sync.as_ref().map_or(0, |sync| sync.rebuilt)
    }

    /// Loses a member at `now`, and switches its drive off.
    pub(super) fn lose_member(
        &mut self,
        context: &mut ArrayContext,
        now: Instant,
        member: u32,
    ) -> Result<(), ControlError> {
        self.mark_member_lost(context, now, member);
        context.control_below(now, &Control::Set(LayerSetting::Unit { unit: member, on: false }))?;
        // The member's landings until now come first.
        context.collect_landings(self);
        numbering::report_member_event(&mut context.landings, now, member, LandingKind::Gone);
        Ok(())
    }

    /// Puts a new drive in the place of the lost `member` and begins its rebuild. While a rebuild has nothing done yet, the drive joins it: md
    /// rebuilds all spares together that it finds at the beginning. What was begun for the others is begun again for all.
    pub(super) fn replace_member(
        &mut self,
        context: &mut ArrayContext,
        now: Instant,
        member: u32,
    ) -> Result<(), ControlError> {
        let first = self.volumes.first().map_or(0, |volume| volume.first);
        let joins = self.sync.as_ref().is_some_and(|sync| sync.rebuilt != 0 && sync.done_until() <= first);
        let is_waiting = self.missing_members & !self.rebuilt_members() & 1 << member != 0;
        if !is_waiting || self.has_sync_under_way() && !joins {
            return Err(ControlError::BadValue);
        }
        if !self.powered {
            return Err(ControlError::PoweredOff);
        }
        context.control_below(now, &Control::Set(LayerSetting::Unit { unit: member, on: true }))?;
        match self.sync.as_mut().filter(|_| joins) {
            Some(sync) => (sync.rebuilt, sync.next_position) = (sync.rebuilt | 1 << member, 0),
            None => self.start_sync(now, 1 << member),
        }
        Ok(())
    }

    /// Begins a check of all volumes with redundancy, of which there must be one. No member may be missing.
    pub(super) fn begin_check(&mut self, now: Instant) -> Result<(), ControlError> {
        let has_redundancy = self.volumes.iter().any(ArrayVolume::is_redundant);
        if !has_redundancy || self.missing_members != 0 || self.has_sync_under_way() {
            return Err(ControlError::BadValue);
        }
        if !self.powered {
            return Err(ControlError::PoweredOff);
        }
        self.start_sync(now, 0);
        Ok(())
    }

    /// Stops the check under way; without one, nothing changes.
    pub(super) fn stop_check(&mut self, now: Instant) {
        if self.sync.as_ref().is_some_and(|sync| sync.kind() == SyncKind::Check) {
            self.break_off_sync(now);
        }
    }

    /// Lets the sync under way go on from `sector` of the members, as if all before it in its order were done.
    pub(super) fn skip_sync(&mut self, sector: u64) -> Result<(), ControlError> {
        let end = self.volumes.last().map_or(0, ArrayVolume::end);
        let Some(sync) = self.sync.as_mut().filter(|sync| (sync.next_position..end).contains(&sector)) else {
            return Err(ControlError::BadValue);
        };
        sync.next_position = sector - sector % u64::from(self.spec.chunk);
        Ok(())
    }

    /// True if a rebuild or a check is under way, or runs of one that was broken off.
    fn has_sync_under_way(&self) -> bool {
        self.sync.is_some() || (0..self.portions.places_ever_used()).any(|index| self.portions[index].is_sync())
    }

    /// Breaks off a rebuild of `member` or a check, as the member is lost.
    pub(super) fn break_off_sync_of(&mut self, now: Instant, member: u32) {
        if self.sync.as_ref().is_some_and(|sync| sync.rebuilt == 0 || sync.rebuilt >> member & 1 == 1) {
            self.break_off_sync(now);
        }
    }

    fn break_off_sync(&mut self, now: Instant) {
        self.progress = SyncProgress { broken_off: Some(now), ..self.sync_progress() };
        self.sync = None;
    }

    /// The power fails at `now`: a rebuild will start again from the first sector, a check is over.
    pub(super) fn stop_sync_without_power(&mut self, now: Instant) {
        self.stop_check(now);
        if let Some(sync) = &mut self.sync {
            sync.next_position = 0;
        }
    }

    /// The power is back at `now`: a rebuild starts again.
    pub(super) fn restart_rebuild(&mut self, now: Instant) {
        if let Some(sync) = &mut self.sync {
            let pace = SyncPace::new(self.spec.sync_speed, now);
            *sync = Sync { runs: sync.runs, flushing: sync.flushing, ..Sync::new(sync.rebuilt, pace, now) };
            self.members.iter_mut().for_each(|member| member.load.begin());
        }
    }
}
