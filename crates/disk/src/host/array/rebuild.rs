//! Lost members, new ones, and the rebuild: the array reads the lost data from the other members and writes them to the
//! new drive, at a limited rate. A rebuild goes from the first sector to the last in *runs*.
//!
//! A run locks its range, so writes to it wait. Sectors before the runs under way are rebuilt: there the new drive is an
//! ordinary member. Sectors after them are neither read nor written on it. At the end the new drive is flushed, and from
//! then on the array is whole. After a power cut the rebuild starts again from the beginning, because the new drive's
//! cache is lost; there is no checkpoint. A volume that did not survive the loss stays lost. Runs with too many
//! unreadable sectors are left out and counted.

use super::layout::{ArrayVolume, MemberSet, RaidLevel};
use super::portions::{MemberSpan, NONE, Portion, PortionKind, SectorBounds};
use super::progress::{MAX_RUNS, Rebuild, RebuildProgress};
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

    /// Members that are lost or not yet rebuilt.
    pub fn lost_members(&self) -> MemberSet {
        self.missing_members
    }

    /// The set of the one member that is being rebuilt, or the empty set.
    pub(super) fn rebuilt_member(&self) -> MemberSet {
        self.rebuild.map_or(0, |rebuild| 1 << rebuild.member)
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

    /// Puts a new drive in the place of the lost `member` and begins its rebuild.
    pub(super) fn replace_member(
        &mut self,
        context: &mut ArrayContext,
        now: Instant,
        member: u32,
    ) -> Result<(), ControlError> {
        let is_rebuilding = (0..self.portions.places_ever_used()).any(|index| self.portions[index].is_rebuild());
        if self.missing_members >> member & 1 == 0 || self.rebuild.is_some() || is_rebuilding {
            return Err(ControlError::BadValue);
        }
        if !self.powered {
            return Err(ControlError::PoweredOff);
        }
        context.control_below(now, &Control::Set(LayerSetting::Unit { unit: member, on: true }))?;
        self.progress = RebuildProgress { began: Some(now), ..RebuildProgress::default() };
        let run_starts = [u64::MAX; MAX_RUNS];
        self.rebuild = Some(Rebuild { member, next_sector: 0, run_starts, next_due: now, flushing: false });
        Ok(())
    }

    /// When the next run begins; `FAR` if none can begin by itself.
    pub(super) fn rebuild_run_due(&self) -> Instant {
        let may_begin = |rebuild: &Rebuild| {
            let has_free_run = rebuild.run_starts.contains(&u64::MAX);
            self.powered && !rebuild.flushing && has_free_run && rebuild.next_sector < self.volumes_end()
        };
        self.rebuild.filter(may_begin).map_or(Instant::FAR, |rebuild| rebuild.next_due)
    }

    /// The first sector after all volumes on each member.
    fn volumes_end(&self) -> u64 {
        self.volumes.last().map_or(0, ArrayVolume::end)
    }

    /// Begins the runs that are due at `now`, and the last flush after the last run.
    pub(super) fn begin_due_rebuild_work(&mut self, context: &mut ArrayContext, now: Instant) {
        while self.rebuild_run_due() <= now {
            self.begin_rebuild_run(context, now);
        }
        let end = self.volumes_end();
        let are_runs_over =
            |rebuild: &&mut Rebuild| rebuild.next_sector >= end && rebuild.is_between_runs() && !rebuild.flushing;
        if let Some(rebuild) = self.rebuild.as_mut().filter(are_runs_over)
            && self.powered
        {
            rebuild.flushing = true;
            let portion = Portion { kind: PortionKind::RebuildFlush, op: Op::Flush, ..Portion::blank_flush(NONE, now) };
            self.begin_portion(context, now, portion);
        }
    }

    /// Begins the next run, or skips a volume that cannot be rebuilt.
    fn begin_rebuild_run(&mut self, context: &mut ArrayContext, now: Instant) {
        let Some(rebuild) = &mut self.rebuild else { return };
        let is_next = |volume: &ArrayVolume| volume.end() > rebuild.next_sector;
        let Some(index) = self.volumes.iter().position(is_next) else { return };
        let volume = self.volumes[index];
        let from = rebuild.next_sector.max(volume.first);
        if volume.copies() + volume.parities() == 1 || self.lost_volumes >> index & 1 == 1 {
            rebuild.next_sector = volume.end();
            return;
        }
        let length = u64::from(self.spec.rebuild_run).next_multiple_of(volume.chunk);
        let end = (from + length).min(volume.end());
        rebuild.next_sector = end;
        rebuild.next_due = rebuild.next_due.max(now) + self.rebuild_rate.transfer_time((end - from) * SECTOR);
        let free_run = rebuild.run_starts.iter_mut().find(|start| **start == u64::MAX);
        *free_run.expect("called with room for a run") = from;
        let locked_columns = match volume.level {
            RaidLevel::Raid10 => 1 << (rebuild.member / 2),
            _ => u64::MAX,
        };
        let run = MemberSpan { member: rebuild.member, bounds: SectorBounds { from, end } };
        let write_number = self.numbering.number_rebuild_run(&mut context.landings, now, &self.volumes, run);
        let portion = Portion {
            kind: PortionKind::RebuildRun,
            write_number,
            volume: index as u8,
            locked: run.bounds,
            locked_columns,
            ..Portion::blank_flush(NONE, now)
        };
        self.begin_portion(context, now, portion);
    }

    /// Reads what a run needs from the other members. If more of them than necessary can be read, the one left out rotates
    /// with the rows.
    pub(super) fn read_rebuild_run(&mut self, now: Instant, portion_index: u32) {
        let portion = self.portions[portion_index];
        let volume = self.volumes[usize::from(portion.volume)];
        let Some(member) = self.rebuild.map(|rebuild| rebuild.member) else {
            self.portions[portion_index].status = Status::Aborted;
            return;
        };
        let row = (portion.locked.from - volume.first) / volume.chunk;
        let peers = match volume.level {
            RaidLevel::Raid10 => 1 << (member ^ 1),
            _ => ((1u64 << volume.members) - 1) & !(1 << member),
        };
        let readable = self.members_readable_before(portion.locked.end) & !portion.avoided_members & peers;
        let needed = if volume.parities() > 0 { volume.columns() } else { 1 };
        let count = readable.count_ones();
        if count < needed {
            self.portions[portion_index].status = Status::MediumError;
            return;
        }
        let sources = (0..volume.members).filter(|member| readable >> member & 1 == 1);
        let first = (row % u64::from(count)) as usize;
        for member in sources.clone().chain(sources).skip(first).take(needed as usize) {
            self.queue_span(now, portion_index, Op::Read, MemberSpan { member, bounds: portion.locked });
        }
    }

    /// Handles the end of a portion of the rebuild: a run, or the last flush.
    pub(super) fn finish_rebuild_portion(&mut self, context: &mut ArrayContext, now: Instant, portion: &Portion) {
        let Some(rebuild) = &mut self.rebuild else { return };
        if portion.kind == PortionKind::RebuildFlush {
            rebuild.flushing = false;
            if portion.status == Status::Done {
                self.missing_members &= !(1 << rebuild.member);
                numbering::report_member_event(&mut context.landings, now, rebuild.member, LandingKind::Whole);
                self.progress.sectors = rebuild.next_sector;
                self.progress.ended = Some(now);
                self.rebuild = None;
            }
            return;
        }
        if let Some(start) = rebuild.run_starts.iter_mut().find(|start| **start == portion.locked.from) {
            *start = u64::MAX;
        }
        if portion.status == Status::MediumError {
            self.progress.unread += portion.locked.end - portion.locked.from;
        }
    }

    /// Makes the rebuild start again from the first sector, as after a power cut.
    pub(super) fn restart_rebuild(&mut self) {
        if let Some(rebuild) = &mut self.rebuild {
            rebuild.next_sector = 0;
        }
    }
}
