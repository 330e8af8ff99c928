//! The rebuild of a member: the array reads the lost data run by run from the other members and writes them to the new
//! drive, at a limited rate.
//!
//! A run locks its range, so writes to it wait. Behind the runs the new drive is an ordinary member; ahead of them it
//! is only written. At the end it is flushed, and from then on the array is whole. After a power cut the rebuild starts
//! again from the beginning, because the new drive's cache is lost; there is no checkpoint. A volume that did not
//! survive the loss stays lost. Runs with too many unreadable sectors are left out and counted.

use super::layout::{ArrayVolume, RaidLevel};
use super::portions::{NOBODY, Portion, PortionKind};
use super::progress::{RUNS, Rebuild, RebuildProgress};
use super::{Array, ArrayContext, numbering};
use crate::block::setting::LayerSetting;
use crate::block::{Control, ControlError, LandingKind, Op, SECTOR, Status};
use crate::time::Instant;

impl Array {
    /// The progress of the last rebuild.
    pub fn rebuild_progress(&self) -> RebuildProgress {
        let sectors = self.rebuild.map_or(self.progress.sectors, |rebuild| rebuild.rebuilt_until());
        RebuildProgress { sectors, ..self.progress }
    }

    /// Members that are lost or not yet rebuilt, one bit each.
    pub fn lost_members(&self) -> u64 {
        self.failed
    }

    /// Loses member `member` at `now`.
    pub(super) fn lose_member(
        &mut self,
        context: &mut ArrayContext,
        now: Instant,
        member: u32,
    ) -> Result<(), ControlError> {
        self.drop_member(context, now, member);
        context.control_below(now, &Control::Set(LayerSetting::Unit { unit: member, on: false }))?;
        // The member's landings until now come first.
        context.collect_landings(self);
        numbering::report_member(&mut context.landings, now, member, LandingKind::Gone);
        Ok(())
    }

    /// Puts a new drive in the place of the lost `member` and begins its rebuild.
    pub(super) fn replace_member(
        &mut self,
        context: &mut ArrayContext,
        now: Instant,
        member: u32,
    ) -> Result<(), ControlError> {
        let busy = (0..self.portions.len()).any(|index| self.portions[index].is_rebuild());
        if self.failed >> member & 1 == 0 || self.rebuild.is_some() || busy {
            return Err(ControlError::BadValue);
        }
        if !self.powered {
            return Err(ControlError::PoweredOff);
        }
        context.control_below(now, &Control::Set(LayerSetting::Unit { unit: member, on: true }))?;
        self.progress = RebuildProgress { began: Some(now), ..RebuildProgress::default() };
        self.rebuild = Some(Rebuild { member, next: 0, runs: [u64::MAX; RUNS], due: now, sealing: false });
        Ok(())
    }

    /// When the rebuild next acts by itself; `FAR` if it does not.
    pub(super) fn rebuild_due(&self) -> Instant {
        let waits = |rebuild: &Rebuild| {
            self.powered && !rebuild.sealing && rebuild.runs.contains(&u64::MAX) && rebuild.next < self.members_end()
        };
        self.rebuild.filter(waits).map_or(Instant::FAR, |rebuild| rebuild.due)
    }

    fn members_end(&self) -> u64 {
        self.volumes.last().map_or(0, ArrayVolume::end)
    }

    /// Begins the runs that are due at `now`, and the last flush after the last run.
    pub(super) fn begin_due_rebuild_work(&mut self, context: &mut ArrayContext, now: Instant) {
        while self.rebuild_due() <= now {
            self.begin_run(context, now);
        }
        let end = self.members_end();
        if let Some(rebuild) = self.rebuild.as_mut().filter(|it| it.next >= end && it.is_idle() && !it.sealing)
            && self.powered
        {
            rebuild.sealing = true;
            let portion = Portion { kind: PortionKind::Seal, op: Op::Flush, ..Portion::blank_flush(NOBODY, now) };
            self.begin_portion(context, now, portion);
        }
    }

    fn begin_run(&mut self, context: &mut ArrayContext, now: Instant) {
        let Some(rebuild) = self.rebuild else { return };
        let inside = |volume: &ArrayVolume| volume.end() > rebuild.next;
        let Some(index) = self.volumes.iter().position(inside) else { return };
        let volume = self.volumes[index];
        let from = rebuild.next.max(volume.first);
        if volume.copies() + volume.parities() == 1 || self.dead >> index & 1 == 1 {
            return self.skip_to(volume.end());
        }
        let run = u64::from(self.spec.rebuild_run).next_multiple_of(volume.chunk);
        let to = (from + run).min(volume.end());
        if let Some(rebuild) = &mut self.rebuild {
            rebuild.next = to;
            rebuild.due = rebuild.due.max(now) + self.rebuild_rate.transfer_time((to - from) * SECTOR);
            let free = rebuild.runs.iter_mut().find(|run| **run == u64::MAX);
            *free.expect("called with room for a run") = from;
        }
        let lanes = match volume.level {
            RaidLevel::Raid10 => 1 << (rebuild.member / 2),
            _ => u64::MAX,
        };
        let number =
            self.numbering.number_rebuild_run(&mut context.landings, now, &self.volumes, (rebuild.member, from, to));
        let span = (from, to);
        let portion = Portion {
            kind: PortionKind::Rebuild,
            number,
            volume: index as u8,
            span,
            lanes,
            ..Portion::blank_flush(NOBODY, now)
        };
        self.begin_portion(context, now, portion);
    }

    fn skip_to(&mut self, end: u64) {
        if let Some(rebuild) = &mut self.rebuild {
            rebuild.next = end;
        }
    }

    /// Reads what is needed of a run. If more members than necessary can be read, the one left out rotates.
    pub(super) fn read_run(&mut self, now: Instant, index: u32) {
        let portion = self.portions[index];
        let volume = self.volumes[usize::from(portion.volume)];
        let Some(member) = self.rebuild.map(|rebuild| rebuild.member) else {
            self.portions[index].status = Status::Aborted;
            return;
        };
        let row = (portion.span.0 - volume.first) / volume.chunk;
        let peers = match volume.level {
            RaidLevel::Raid10 => 1 << (member ^ 1),
            _ => ((1u64 << volume.members) - 1) & !(1 << member),
        };
        let usable = self.readable_members(portion.span.1) & !portion.avoid & peers;
        let needed = if volume.parities() > 0 { volume.columns() } else { 1 };
        let count = usable.count_ones();
        if count < needed {
            self.portions[index].status = Status::MediumError;
            return;
        }
        let all = (0..volume.members).filter(|member| usable >> member & 1 == 1);
        let turn = (row % u64::from(count)) as usize;
        for member in all.clone().chain(all).skip(turn).take(needed as usize) {
            self.queue_range(now, index, member, Op::Read, portion.span.0, portion.span.1);
        }
    }

    /// Handles the end of a run, or of the last flush.
    pub(super) fn finish_run(&mut self, context: &mut ArrayContext, now: Instant, portion: &Portion) {
        let Some(rebuild) = &mut self.rebuild else { return };
        if portion.kind == PortionKind::Seal {
            rebuild.sealing = false;
            if portion.status == Status::Done {
                self.failed &= !(1 << rebuild.member);
                numbering::report_member(&mut context.landings, now, rebuild.member, LandingKind::Whole);
                self.progress.sectors = rebuild.next;
                self.progress.ended = Some(now);
                self.rebuild = None;
            }
            return;
        }
        if let Some(run) = rebuild.runs.iter_mut().find(|run| **run == portion.span.0) {
            *run = u64::MAX;
        }
        if portion.status == Status::MediumError {
            self.progress.unread += portion.span.1 - portion.span.0;
        }
    }

    /// Starts the rebuild again after a power cut.
    pub(super) fn restart_rebuild(&mut self) {
        if let Some(rebuild) = &mut self.rebuild {
            rebuild.next = 0;
        }
    }
}
