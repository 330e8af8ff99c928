//! Execution of controls: power, reset, abort, settings; and what each leaves of the writes in progress.
//!
//! A power cut ends every command with [`Status::PowerLost`] and empties the buffer. Sectors of the write in progress
//! that have passed the head are on the medium, the physical sector under the head is as [`CutSector`] says, and the
//! rest is lost. A reset or an abort lets the sector under the head be finished.
//!
//! A buffer that a capacitor or flash keeps is reported as landed at the cut: its data will be on the medium before the
//! drive answers again; the time for that is not modelled. Blocks still on the link count as arrived in the buffer; the
//! client has no acknowledgement of them either way.

use super::access::Access;
use super::cache::Buffer;
use super::command::Stage;
use super::medium::{Activity, Purpose};
use super::piece::CachedWrite;
use super::segmentation::Segmentation;
use super::{Drive, DrivePower};
use crate::block::setting::LayerSetting;
use crate::block::{Control, ControlError, CutSector, LandingKind, Status};
use crate::time::Instant;

impl Drive {
    /// Executes `control` at `now`.
    pub(super) fn execute_control(&mut self, now: Instant, control: &Control) -> Result<(), ControlError> {
        match *control {
            Control::PowerCut => self.lose_power(now),
            Control::PowerOff => {
                if self.power == DrivePower::On {
                    self.power = DrivePower::Stopping;
                    self.stop_when_done();
                }
            }
            Control::PowerOn => self.power = DrivePower::On,
            Control::Reset => self.drop_commands(now, Status::Aborted, CutSector::Finished, |_| true),
            Control::Abort(tag) => return self.abort_command(now, tag),
            Control::Set(LayerSetting::Landings(on)) => self.landings.set_wanted(on),
            Control::Set(LayerSetting::WriteBack(on)) if self.promises.switch_write_cache(on) => {}
            Control::Set(LayerSetting::WriteBack(_)) => return Err(ControlError::BadValue),
            Control::Set(_) => return Err(ControlError::UnknownKey),
        }
        Ok(())
    }

    fn abort_command(&mut self, now: Instant, tag: u32) -> Result<(), ControlError> {
        if !self.electronics.in_flight().any(|command| command.request.tag == tag) {
            return Err(ControlError::UnknownTag);
        }
        self.drop_commands(now, Status::Aborted, CutSector::Finished, |other| other == tag);
        Ok(())
    }

    /// Switches a stopping drive off once nothing is left to do.
    pub(super) fn stop_when_done(&mut self) {
        let idle = self.electronics.is_idle() && !self.medium.is_accessing();
        let may_stop = self.buffer.dirty_count() == 0 || self.promises.forgets_on_power_off();
        if self.power == DrivePower::Stopping && idle && may_stop {
            self.report_dirty(self.clock, LandingKind::Dropped);
            self.power = DrivePower::Off;
            self.reset_buffer();
            self.medium.stop_activity();
        }
    }

    fn lose_power(&mut self, now: Instant) {
        let cut_sector = self.promises.cut_sector();
        self.drop_commands(now, Status::PowerLost, cut_sector, |_| true);
        let saves = self.promises.saves_buffer();
        // Accesses of commands have been broken off, except that of a write that was acknowledged and is draining.
        if let Activity::Access { access, purpose, .. } = *self.medium.activity() {
            match purpose {
                // The data are written again from what was saved.
                Purpose::Destage(_) if saves => {}
                // The data are still in the media cache.
                Purpose::Moving => {}
                Purpose::Destage(segment) => {
                    self.report_landings(&access, purpose, now, cut_sector);
                    self.buffer.end_destage(segment, access.end());
                }
                Purpose::Command { slot, .. } => {
                    self.report_landings(&access, purpose, now, cut_sector);
                    if self.electronics.is_draining() {
                        self.electronics.release_slot(now, slot);
                    }
                }
            }
        }
        if let Some(media) = &mut self.media_cache {
            media.abort_transfers();
        }
        self.report_dirty(now, if saves { LandingKind::Landed } else { LandingKind::Discarded });
        self.reset_buffer();
        self.power = DrivePower::Off;
        self.medium.stop_activity();
        self.medium.make_free(now);
        self.electronics.restart_decoding(now);
        self.link.drop_transfers(now);
    }

    /// Reports the stamps of commands in flight, of dirty data, and of landings not fetched yet.
    pub(super) fn report_unsettled(&self, report_stamp: &mut dyn FnMut(u64)) {
        self.electronics.in_flight().for_each(|command| report_stamp(command.request.stamp));
        self.buffer.dirty_segments().flat_map(|dirty| &dirty.pieces).for_each(|piece| report_stamp(piece.stamp));
        self.landings.pending_stamps().for_each(report_stamp);
    }

    /// Reports a landing of `kind` for all dirty data: first for segments being destaged, since any other segment, even
    /// one that became dirty before, may hold newer blocks.
    fn report_dirty(&mut self, now: Instant, kind: LandingKind) {
        for is_destaging in [true, false] {
            let dirty = self.buffer.dirty_segments().filter(|dirty| dirty.is_destaging() == is_destaging);
            self.landings.report_pieces(dirty.flat_map(|dirty| &dirty.pieces), now, kind);
        }
    }

    /// Empties the buffer, and divides an adaptive one as at the start.
    fn reset_buffer(&mut self) {
        self.buffer.clear();
        let cache = self.promises.cache();
        if let Some(adaptive) = cache.adaptive {
            self.buffer = Buffer::from_spec(cache);
            self.segmentation = Some(Segmentation::new(adaptive, cache.segments));
            self.write_back.reset_queue();
        }
    }

    /// Ends the commands whose tags `is_chosen` selects with `status`, at `now`; `cut_sector` is the fate of the sector
    /// under the head.
    pub(super) fn drop_commands(
        &mut self,
        now: Instant,
        status: Status,
        cut_sector: CutSector,
        is_chosen: impl Fn(u32) -> bool,
    ) {
        self.break_off_access(now, cut_sector, &is_chosen);
        self.tentative = None;
        for slot in 0..self.electronics.slot_count() as u16 {
            if self.electronics.remove_command(now, slot, status, &is_chosen) {
                self.queue.retain(|target| target.slot != slot);
                self.write_back.remove_waiting(slot);
                self.electronics.finish_at(now, slot);
            }
        }
    }

    /// Breaks off the access in progress if it is that of a chosen command. Reports what a write left on the medium,
    /// and removes a read's blocks from its segment.
    fn break_off_access(&mut self, now: Instant, cut_sector: CutSector, is_chosen: &impl Fn(u32) -> bool) {
        let Activity::Access { access, purpose, .. } = *self.medium.activity() else {
            return;
        };
        let Purpose::Command { slot, segment } = purpose else {
            return;
        };
        let command = &mut self.electronics[slot];
        if command.stage == Stage::Draining || !is_chosen(command.request.tag) {
            return;
        }
        // A write that wraps around in its segment was charged when its access began.
        if !command.wraps_around {
            access.charge_until(now, self.medium.geometry(), self.medium.mechanics(), &mut command.ledger);
        }
        if access.write {
            self.report_landings(&access, purpose, now, cut_sector);
        }
        if let Some(segment) = segment {
            self.buffer.truncate_segment(segment, access.lba());
        }
        self.medium.stop_access(now);
    }

    /// Reports what a write left on the medium if it ran until `cut`; `cut_sector` is the fate of the sector under the
    /// head.
    pub(super) fn report_landings(&mut self, access: &Access, purpose: Purpose, cut: Instant, cut_sector: CutSector) {
        if !self.landings.are_wanted() {
            return;
        }
        let single;
        let pieces: &[CachedWrite] = match purpose {
            Purpose::Command { slot, .. } => {
                let (lba, sectors, stamp) = (access.lba(), access.sectors, self.electronics[slot].request.stamp);
                single = [CachedWrite { lba, sectors, stamp, arrived: access.start }];
                &single
            }
            Purpose::Destage(segment) => match self.buffer.dirty_state(segment) {
                Some(dirty) => &dirty.pieces,
                None => return,
            },
            // Landed already, when the data came into the media cache.
            Purpose::Moving => return,
        };
        let unit = self.medium.physical_sector_blocks();
        self.landings.report_passes(self.medium.passes(access), pieces, cut, unit, cut_sector);
    }
}
