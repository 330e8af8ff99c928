//! Controls: power, reset, abort, settings, and what each leaves of the writes in progress.
//!
//! A buffer that a capacitor or flash keeps is reported as landed at the cut: its data will be on the medium before the
//! drive answers again, and the time for that is not modelled. Blocks still on the link count as arrived there; the
//! client has no acknowledgement of them either way.
//!
//! A cut ends every command with [`Status::PowerLost`] and forgets the buffer. Sectors of the write in progress that
//! have passed the head are on the medium, the physical sector under the head is as [`CutSector`] says, the rest is
//! lost. A reset or an abort lets the sector under the head be finished.

use super::access::Access;
use super::cache::Buffer;
use super::command::Stage;
use super::medium::{Activity, Purpose};
use super::piece::CachedWrite;
use super::segmentation::Segmentation;
use super::{Drive, Power};
use crate::block::{Control, ControlError, CutSector, LandingKind, Status};
use crate::time::Instant;

impl Drive {
    /// Executes `control` at `now`.
    pub(super) fn obey(&mut self, now: Instant, control: &Control<'_>) -> Result<(), ControlError> {
        match *control {
            Control::PowerCut => self.lose_power(now),
            Control::PowerOff => {
                if self.power == Power::On {
                    self.power = Power::Stopping;
                    self.stop_when_done();
                }
            }
            Control::PowerOn => self.power = Power::On,
            Control::Reset => self.drop_commands(now, Status::Aborted, CutSector::Finished, |_| true),
            Control::Abort(tag) => return self.abort(now, tag),
            Control::Set { key, value } => return self.set(key, value),
        }
        Ok(())
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), ControlError> {
        let switch = match value {
            "on" | "true" => Ok(true),
            "off" | "false" => Ok(false),
            _ => Err(ControlError::BadValue),
        };
        match key.strip_prefix("drive.").unwrap_or(key) {
            "landings" => self.landings.want(switch?),
            "cache.write_back" if self.promises.switch(switch?) => {}
            "cache.write_back" => return Err(ControlError::BadValue),
            _ => return Err(ControlError::UnknownKey),
        }
        Ok(())
    }

    fn abort(&mut self, now: Instant, tag: u32) -> Result<(), ControlError> {
        if !self.electronics.in_flight().any(|command| command.request.tag == tag) {
            return Err(ControlError::UnknownTag);
        }
        self.drop_commands(now, Status::Aborted, CutSector::Finished, |other| other == tag);
        Ok(())
    }

    /// Switches a stopping drive off once nothing is left to do.
    pub(super) fn stop_when_done(&mut self) {
        let idle = self.electronics.is_idle() && !self.medium.is_accessing();
        let done = self.buffer.dirty_count() == 0 || self.promises.forgets();
        if self.power == Power::Stopping && idle && done {
            self.report_dirty(self.clock, LandingKind::Dropped);
            self.power = Power::Off;
            self.forget();
            self.medium.rest();
        }
    }

    fn lose_power(&mut self, now: Instant) {
        let sector = self.promises.cut_sector();
        self.drop_commands(now, Status::PowerLost, sector, |_| true);
        let saves = self.promises.saves_buffer();
        if let Activity::Access { access, purpose, .. } = *self.medium.activity() {
            match purpose {
                // The data are written again from what was saved.
                Purpose::Destage(_) if saves => {}
                // The data are still in the media cache.
                Purpose::Moving => {}
                Purpose::Destage(segment) => {
                    self.land(&access, purpose, now, sector);
                    self.buffer.drained(segment, access.end());
                }
                Purpose::Command { slot, .. } => {
                    self.land(&access, purpose, now, sector);
                    if self.electronics.is_draining() {
                        self.electronics.release(now, slot);
                    }
                }
            }
        }
        if let Some(media) = &mut self.media_cache {
            media.cut_off();
        }
        self.report_dirty(now, if saves { LandingKind::Landed } else { LandingKind::Discarded });
        self.forget();
        self.power = Power::Off;
        self.medium.rest();
        self.medium.restart(now);
        self.electronics.restart(now);
        self.link.fall_silent(now);
    }

    /// Tells the stamps of writes in flight, of dirty data, and of landings not fetched yet.
    pub(super) fn tell_unsettled(&self, tell: &mut dyn FnMut(u64)) {
        self.electronics.in_flight().for_each(|command| tell(command.request.stamp));
        self.buffer.dirty_segments().flat_map(|dirty| &dirty.pieces).for_each(|piece| tell(piece.stamp));
        self.landings.stamps().for_each(tell);
    }

    /// Reports a landing of `kind` for all dirty data: first for segments being destaged, since any other segment, even
    /// one that became dirty before, may hold newer blocks.
    fn report_dirty(&mut self, now: Instant, kind: LandingKind) {
        for leaving in [true, false] {
            let dirty = self.buffer.dirty_segments().filter(|dirty| dirty.is_leaving() == leaving);
            self.landings.tell(dirty.flat_map(|dirty| &dirty.pieces), now, kind);
        }
    }

    /// Empties the buffer, and divides an adaptive one as at the start.
    fn forget(&mut self) {
        self.buffer.clear();
        let cache = self.promises.cache();
        if let Some(adaptive) = cache.adaptive {
            self.buffer = Buffer::of(cache);
            self.segmentation = Some(Segmentation::new(adaptive, cache.segments));
            self.write_back.start_over();
        }
    }

    /// Ends the commands whose tag is `chosen`, at `now`.
    pub(super) fn drop_commands(
        &mut self,
        now: Instant,
        status: Status,
        sector: CutSector,
        chosen: impl Fn(u32) -> bool,
    ) {
        self.stop_access(now, sector, &chosen);
        self.tentative = None;
        for slot in 0..self.electronics.capacity() as u16 {
            if self.electronics.drop_out(now, slot, status, &chosen) {
                self.queue.retain(|target| target.slot != slot);
                self.write_back.drop_out(slot);
                self.electronics.finish_at(now, slot);
            }
        }
    }

    /// Breaks off the access of a chosen command: blocks that have passed are done.
    fn stop_access(&mut self, now: Instant, sector: CutSector, chosen: &impl Fn(u32) -> bool) {
        let Activity::Access { access, purpose, .. } = *self.medium.activity() else {
            return;
        };
        let Purpose::Command { slot, segment } = purpose else {
            return;
        };
        let command = &mut self.electronics[slot];
        if command.stage == Stage::Draining || !chosen(command.request.tag) {
            return;
        }
        if !command.round {
            access.charge_until(now, self.medium.geometry(), self.medium.mechanics(), &mut command.ledger);
        }
        if access.write {
            self.land(&access, purpose, now, sector);
        }
        if let Some(segment) = segment {
            self.buffer.cut_short(segment, access.lba());
        }
        self.medium.stop(now);
    }

    /// Reports what a write left on the medium if it ran until `cut`; `sector` says what happens to the sector under
    /// the head then.
    pub(super) fn land(&mut self, access: &Access, purpose: Purpose, cut: Instant, sector: CutSector) {
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
            Purpose::Destage(segment) => match self.buffer.dirty(segment) {
                Some(dirty) => &dirty.pieces,
                None => return,
            },
            // Landed already, when the data came into the media cache.
            Purpose::Moving => return,
        };
        self.landings.tell_passes(self.medium.passes(access), pieces, cut, (self.medium.unit(), sector));
    }
}
