//! Controls: power, reset, abort, settings, and what each leaves of the writes under way.
//!
//! A buffer that a capacitor or flash keeps is reported as landed at the cut: it will be on the medium before the drive
//! answers again, and the time that takes is not modelled. Blocks still on the link count as arrived there; the client
//! has no acknowledgement of them either way.
//!
//! A cut ends every command with [`Status::PowerLost`] and forgets the buffer. Of the write under the heads the
//! sectors that passed are on the medium, the physical sector under the head is as [`CutSector`] says, the rest is
//! lost. A reset or an abort lets the sector under the head be finished.

use alloc::vec::Vec;

use super::access::{Access, Pass};
use super::cache::Buffer;
use super::dirty::Piece;
use super::segmentation::Segmentation;
use super::{Activity, Drive, Power, Purpose, Stage};
use crate::block::{self, Control, ControlError, CutSector, Landing, LandingKind, SECTOR, Status};
use crate::record::Part;
use crate::time::Instant;

impl Piece {
    /// What became of the piece.
    pub(super) fn landing(self, from: Instant, to: Instant, kind: LandingKind) -> Landing {
        Landing::new((self.lba, self.sectors), self.stamp, (from, to), kind)
    }

    /// The part of it in `lba..end`, if any.
    fn within(self, lba: u64, end: u64) -> Option<Piece> {
        let (from, to) = (self.lba.max(lba), (self.lba + u64::from(self.sectors)).min(end));
        (from < to).then(|| Piece { lba: from, sectors: (to - from) as u32, ..self })
    }
}

impl Drive {
    /// Does what `control` says, at `now`.
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
            "landings" => self.landings_wanted = switch?,
            "cache.write_back" => {
                let on = switch?;
                let cache = &self.profile.cache;
                if on && !(1..=cache.segments).contains(&cache.dirty_segments) {
                    return Err(ControlError::BadValue);
                }
                self.profile.cache.write_back = on;
            }
            _ => return Err(ControlError::UnknownKey),
        }
        Ok(())
    }

    fn abort(&mut self, now: Instant, tag: u32) -> Result<(), ControlError> {
        let in_flight = |slot: &super::Slot| slot.stage != Stage::Free && slot.request.tag == tag;
        if !self.slots.iter().any(in_flight) {
            return Err(ControlError::UnknownTag);
        }
        self.drop_commands(now, Status::Aborted, CutSector::Finished, |other| other == tag);
        Ok(())
    }

    /// A stopping drive is off when nothing is left to do.
    pub(super) fn stop_when_done(&mut self) {
        let idle = self.free.len() == self.slots.len() && !matches!(self.activity, Activity::Access { .. });
        let forgets = self.profile.faults.forgets_on_power_off;
        if self.power == Power::Stopping && idle && (self.buffer.dirty_count() == 0 || forgets) {
            self.report_dirty(self.clock, LandingKind::Dropped);
            self.power = Power::Off;
            self.forget();
            self.activity = Activity::Idle;
        }
    }

    fn lose_power(&mut self, now: Instant) {
        self.drop_commands(now, Status::PowerLost, self.profile.cut_sector, |_| true);
        let saves = self.profile.saves_buffer();
        if let Activity::Access { access, purpose, .. } = self.activity {
            match purpose {
                // Written again from what was saved.
                Purpose::Destage(_) if saves => {}
                // It is still in the media cache.
                Purpose::Moving => {}
                Purpose::Destage(segment) => {
                    self.land(&access, purpose, now);
                    self.buffer.drained(segment, access.end());
                }
                Purpose::Command { slot, .. } => {
                    self.land(&access, purpose, now);
                    if self.is_draining() {
                        self.release(now, slot);
                    }
                }
            }
        }
        self.activity = Activity::Idle;
        if let Some(media) = &mut self.media_cache {
            media.cut_off();
        }
        self.report_dirty(now, if saves { LandingKind::Landed } else { LandingKind::Discarded });
        self.forget();
        self.power = Power::Off;
        (self.electronics, self.link, self.choose_from) = (now, now, now);
        self.idle = (now, now);
    }

    /// Tells the stamps of writes in flight, and of what is dirty.
    pub(super) fn tell_unsettled(&self, tell: &mut dyn FnMut(u64)) {
        self.slots.iter().filter(|slot| slot.stage != Stage::Free).for_each(|slot| tell(slot.request.stamp));
        self.buffer.dirty_segments().flat_map(|dirty| &dirty.pieces).for_each(|piece| tell(piece.stamp));
        self.landings.iter().for_each(|landing| tell(landing.stamp));
    }

    /// Reports what became of all that is dirty.
    fn report_dirty(&mut self, now: Instant, kind: LandingKind) {
        if self.landings_wanted {
            for dirty in self.buffer.dirty_segments() {
                self.landings.extend(dirty.pieces.iter().map(|piece| piece.landing(now, now, kind)));
            }
        }
    }

    /// The buffer is empty, and divided as at the start.
    fn forget(&mut self) {
        self.buffer.clear();
        let cache = &self.profile.cache;
        if let Some(adaptive) = cache.adaptive {
            self.buffer = Buffer::of(cache);
            self.segmentation = Some(Segmentation::new(adaptive, cache.segments));
            // A new buffer counts from nought.
            self.destages.clear();
            (self.joined, self.left) = (0, 0);
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
        for slot in 0..self.slots.len() {
            let command = &mut self.slots[slot];
            if matches!(command.stage, Stage::Free | Stage::Draining) || !chosen(command.request.tag) {
                continue;
            }
            let part = match command.stage {
                Stage::Arriving => Part::Overhead,
                Stage::Held if command.behind => Part::Flush,
                Stage::Held | Stage::Queued => Part::Queue,
                Stage::Medium => Part::Rotation,
                Stage::Parked => Part::Cache,
                Stage::Flushing => Part::Flush,
                _ => Part::Link,
            };
            command.ledger.settle(part, now);
            command.outcome = status;
            let slot = slot as u16;
            self.arriving.retain(|&(_, other)| other != slot);
            self.held.retain(|&other| other != slot);
            self.commands.retain(|target| target.slot != slot);
            self.parked.retain(|&other| other != slot);
            self.flushes.retain(|&(other, _)| other != slot);
            self.finishing.retain(|&(_, other)| other != slot);
            self.finish_at(now, slot);
        }
    }

    /// Breaks off the access of a chosen command: what has passed has passed.
    fn stop_access(&mut self, now: Instant, sector: CutSector, chosen: &impl Fn(u32) -> bool) {
        let Activity::Access { access, purpose, .. } = self.activity else {
            return;
        };
        let Purpose::Command { slot, segment } = purpose else {
            return;
        };
        let command = &self.slots[usize::from(slot)];
        if command.stage == Stage::Draining || !chosen(command.request.tag) {
            return;
        }
        let (geometry, mechanics) = (&self.profile.geometry, &self.profile.mechanics);
        if !command.round {
            access.charge_until(now, geometry, mechanics, &mut self.slots[usize::from(slot)].ledger);
        }
        let kept = core::mem::replace(&mut self.profile.cut_sector, sector);
        if access.write {
            self.land(&access, purpose, now);
        }
        self.profile.cut_sector = kept;
        if let Some(segment) = segment {
            self.buffer.cut_short(segment, access.lba());
        }
        let passes = access.passes(&self.profile.geometry, &self.profile.mechanics);
        let reached = passes.take_while(|pass| pass.begin() <= now).last();
        if let Some(pass) = reached {
            self.arm = super::Arm { cylinder: pass.extent.cylinder, head: pass.extent.head };
        }
        self.activity = Activity::Idle;
        self.choose_from = now;
    }

    /// Reports what a write left on the medium, when it ran until `cut`; a sector that is finished after the cut is
    /// dated to it.
    pub(super) fn land(&mut self, access: &Access, purpose: Purpose, cut: Instant) {
        if !self.landings_wanted {
            return;
        }
        let (geometry, mechanics) = (&self.profile.geometry, &self.profile.mechanics);
        let single;
        let pieces: &[Piece] = match purpose {
            Purpose::Command { slot, .. } => {
                let request = &self.slots[usize::from(slot)].request;
                let (lba, sectors, stamp) = (access.lba(), access.sectors, request.stamp);
                single = [Piece { lba, sectors, stamp, arrived: access.start }];
                &single
            }
            Purpose::Destage(segment) => match self.buffer.dirty(segment) {
                Some(dirty) => &dirty.pieces,
                None => return,
            },
            // It landed when it came into the media cache.
            Purpose::Moving => return,
        };
        let unit = u64::from(self.profile.physical_sector) / SECTOR;
        for pass in access.passes(geometry, mechanics) {
            let (lba, end) = (pass.extent.lba, pass.extent.end());
            let passing = |piece: &Piece| {
                let (from, to) = passing(&pass, piece);
                piece.landing(from, to, LandingKind::Landed)
            };
            let run = pieces.iter().filter_map(|piece| piece.within(lba, end)).map(|piece| passing(&piece));
            if pass.end <= cut {
                self.landings.extend(run);
                continue;
            }
            let run: Vec<Landing> = run.collect();
            block::cut::at(&run, cut, unit, self.profile.cut_sector, |left| self.landings.push_back(left));
        }
    }
}

/// The instants at which a piece of a pass goes under the head, its sectors evenly spread.
fn passing(pass: &Pass, piece: &Piece) -> (Instant, Instant) {
    let at = |lba: u64| {
        let share = pass.transfer.nanos() * (lba - pass.extent.lba) / u64::from(pass.extent.sectors);
        pass.begin() + crate::time::Span::from_nanos(share)
    };
    (at(piece.lba), at(piece.lba + u64::from(piece.sectors)))
}
