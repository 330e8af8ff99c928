//! Writes and flushes: what goes to the medium first, what is acknowledged from the buffer, and what waits until there is
//! room or until all is written.

use super::Drive;
use super::command::{Command, Stage};
use super::medium::{Activity, Purpose};
use super::piece::{CachedWrite, WriteAdmission};
use crate::block::{LandingKind, Op, Request, SECTOR};
use crate::record::Part;
use crate::time::Instant;

impl Drive {
    pub(super) fn write_through(&mut self, now: Instant, slot: u16, request: &Request) {
        self.invalidate_written(now, request);
        let bytes = if request.op == Op::Write { u64::from(request.sectors) * SECTOR } else { 0 };
        let (from, to) = self.link.receive_times(now, bytes);
        self.link.book_transfer(from, to);
        self.electronics[slot].data = (from, to);
        self.write_or_park(now, slot);
    }

    /// Queues a write for the medium, or parks it if a dirty segment holds blocks of it.
    fn write_or_park(&mut self, now: Instant, slot: u16) {
        let request = self.electronics[slot].request;
        if self.buffer.overlaps_dirty(request.lba, request.end()) {
            self.electronics[slot].stage = Stage::Parked;
            self.write_back.park(slot, false);
        } else {
            self.queue_for_medium(now, slot, &request);
        }
    }

    /// Invalidates clean blocks about to be written, and breaks off a prefetch that would bring them.
    fn invalidate_written(&mut self, now: Instant, request: &Request) {
        if let Some(segment) = self.medium.filling_segment(now) {
            let (start, end) = self.buffer.span(segment);
            if start < request.end() && request.lba < end {
                self.break_off_read_ahead(now);
            }
        }
        self.buffer.invalidate(request.lba, request.end());
    }

    /// Ends a prefetch at `now`, or cancels the one that was to follow an access.
    pub(super) fn break_off_read_ahead(&mut self, now: Instant) {
        if let Some((segment, end)) = self.medium.break_off_read_ahead(now) {
            self.buffer.truncate_segment(segment, end);
        }
    }

    /// Retries parked commands, in order.
    #[inline(always)]
    pub(super) fn retry_parked(&mut self, now: Instant) {
        if let Some(first) = self.write_back.first_parked() {
            self.retry_parked_from(now, first);
        }
    }

    fn retry_parked_from(&mut self, now: Instant, first: u16) {
        let mut next = Some(first);
        while let Some(slot) = next {
            let request = self.electronics[slot].request;
            if request.op == Op::Read || !self.promises.caches_write(&request) || self.electronics[slot].round {
                if self.buffer.overlaps_dirty(request.lba, request.end()) {
                    return;
                }
                self.electronics[slot].ledger.book_until(Part::Cache, now);
                self.queue_for_medium(now, slot, &request);
            } else if !self.store_write(now, slot) {
                return;
            }
            self.write_back.pop_parked();
            next = self.write_back.first_parked();
        }
    }

    /// Acknowledges a write that wraps around in its segment, on the medium now, as soon as no more of it is left than
    /// the segment holds.
    pub(super) fn acknowledge_wrapped_write(&mut self, slot: u16) {
        let Activity::Access { access, sweep, .. } = self.medium.activity() else { return };
        let fits = access.end() - self.buffer.segment_sectors().min(u64::from(access.sectors));
        let (geometry, mechanics) = (self.medium.geometry(), self.medium.mechanics());
        let last = access.passes(geometry, mechanics).find(|pass| pass.extent.end() > fits);
        let passed = last.map_or(sweep.end, |pass| {
            pass.transfer_start()
                + mechanics.turning_time(pass.extent.slot.wrapping_mul(fits.saturating_sub(pass.extent.lba)))
        });
        let command = &mut self.electronics[slot];
        let all_in = passed.max(command.data.1).min(sweep.end);
        access.charge_until(all_in, geometry, mechanics, &mut command.ledger);
        let service = command.reacquire_bus();
        self.link.keep_busy_until(all_in);
        self.electronics.close_command(slot, all_in + service);
    }

    pub(super) fn write_cached(&mut self, now: Instant, slot: u16) {
        let request = self.electronics[slot].request;
        if self.promises.wraps_around(&request, self.buffer.segment_sectors()) {
            self.electronics[slot].round = true;
            self.write_through(now, slot, &request);
            return;
        }
        let head = self.electronics.goes_to_head(&request);
        if (self.write_back.first_parked().is_some() && !head) || !self.store_write(now, slot) {
            let command = &mut self.electronics[slot];
            command.released = self.link.releases_bus();
            command.stage = Stage::Parked;
            self.write_back.park(slot, head);
        }
    }

    /// Stores a write in the buffer as far as there is room, at most a segment's length at a time, and blocks that
    /// replace dirty ones apart from others. Acknowledges it when all of it is there, and returns true then.
    fn store_write(&mut self, now: Instant, slot: u16) -> bool {
        let Command { request, mut stored, .. } = self.electronics[slot];
        while stored < request.sectors {
            let lba = request.lba + u64::from(stored);
            let sectors = (self.buffer.uniform_part_end(lba, request.end()) - lba) as u32;
            let sectors = self.segment_share(lba, sectors);
            let most = self.promises.max_dirty_blocks();
            if most != u64::MAX && self.buffer.dirty_blocks() + u64::from(sectors) > most {
                return false;
            }
            let part = Request { lba, sectors, ..request };
            if !self.store_write_part(now, slot, &part) {
                return false;
            }
            stored += sectors;
            self.electronics[slot].stored = stored;
        }
        let arrived = self.electronics[slot].ledger.booked_until();
        self.electronics.close_command(slot, arrived);
        true
    }

    /// Number of blocks, of `sectors` from `lba`, that one segment takes: no physical sector is shared by two.
    fn segment_share(&self, lba: u64, sectors: u32) -> u32 {
        let room = self.buffer.max_dirty_sectors().min(self.promises.max_dirty_blocks());
        let unit = self.medium.unit();
        match (lba + room) / unit * unit {
            _ if u64::from(sectors) <= room => sectors,
            end if end > lba => (end - lba) as u32,
            _ => room as u32,
        }
    }

    /// Stores a part of a write, no longer than a segment. Returns false if there is no room.
    fn store_write_part(&mut self, now: Instant, slot: u16, part: &Request) -> bool {
        let passed = self.destaged_until(now, part.lba);
        let room = self.buffer.write_admission(part.lba, part.end(), self.write_back.last_fence(), passed);
        let waits = match room {
            WriteAdmission::Wait => self.write_back.close_admission(),
            WriteAdmission::New => self.write_back.update_closed(&self.buffer),
            _ => false,
        };
        if waits {
            return false;
        }
        self.invalidate_written(now, part);
        self.free_write_memory(now, u64::from(part.sectors));
        let bytes = if part.op == Op::Write { u64::from(part.sectors) * SECTOR } else { 0 };
        // The part before may still be on the link.
        let begin = now.max(self.electronics[slot].ledger.booked_until()) + self.electronics[slot].reacquire_bus();
        let (from, arrived) = self.link.receive_times(begin, bytes);
        let piece = CachedWrite { lba: part.lba, sectors: part.sectors, stamp: part.stamp, arrived };
        match room {
            WriteAdmission::Join(segment) => self.buffer.write_piece(segment, piece, now),
            WriteAdmission::Within(segment) => self.overwrite_dirty(now, segment, piece),
            _ => match self.allocate_written_run(now, part.lba) {
                Some(segment) => self.buffer.write_piece(segment, piece, now),
                None => return false,
            },
        }
        self.link.book_transfer(from, arrived);
        let ledger = &mut self.electronics[slot].ledger;
        ledger.book_until(Part::Cache, ledger.booked_until().max(now));
        ledger.book_until(Part::Link, arrived);
        true
    }

    fn overwrite_dirty(&mut self, now: Instant, segment: usize, piece: CachedWrite) {
        let landings = &mut self.landings;
        self.buffer.overwrite_piece(segment, piece, |old| landings.report_pieces([&old], now, LandingKind::Discarded));
    }

    /// Allocates a segment for a run from `start`; a prefetch gives its own up if there is no other.
    fn allocate_written_run(&mut self, now: Instant, start: u64) -> Option<usize> {
        let filling = self.medium.filling_segment(now);
        if let Some(segment) = self.buffer.allocate_run(start, filling) {
            return Some(segment);
        }
        self.release_filling_segment(now);
        self.buffer.allocate_run(start, None)
    }

    /// Frees memory for so many written blocks; a prefetch gives its own up if there is no other.
    fn free_write_memory(&mut self, now: Instant, sectors: u64) {
        let filling = self.medium.filling_segment(now);
        if !self.buffer.evict_clean_segments(sectors, filling) {
            self.release_filling_segment(now);
            self.buffer.evict_clean_segments(sectors, None);
        }
    }

    /// Ends a prefetch; a read in progress continues without a segment.
    fn release_filling_segment(&mut self, now: Instant) {
        self.break_off_read_ahead(now);
        self.medium.detach_segment();
    }

    /// Block before which all of the run that is being destaged is on the medium at `now`; 0 unless a write at `lba`
    /// would join that run.
    fn destaged_until(&self, now: Instant, lba: u64) -> u64 {
        let Activity::Access { access, purpose: Purpose::Destage(segment), .. } = self.medium.activity() else {
            return 0;
        };
        if self.buffer.span(*segment).1 != lba {
            return 0;
        }
        let passes = self.medium.passes(access).take_while(|pass| pass.next_start() <= now);
        passes.last().map_or(0, |pass| pass.extent.end())
    }

    pub(super) fn serve_flush(&mut self, now: Instant, slot: u16) {
        if self.promises.skips_flush() || (self.buffer.dirty_count() == 0 && !self.electronics.is_draining()) {
            self.electronics.close_command(slot, now);
            return;
        }
        self.electronics[slot].stage = Stage::Flushing;
        self.write_back.add_flush(slot, self.buffer.next_serial());
    }

    /// Ends the flushes whose segments are all on the medium.
    pub(super) fn end_flushes(&mut self, now: Instant) {
        if self.electronics.is_draining() {
            return;
        }
        while let Some(slot) = self.write_back.pop_finished_flush(self.buffer.oldest_serial()) {
            self.electronics[slot].ledger.book_until(Part::Flush, now);
            self.electronics.close_command(slot, now);
        }
    }
}
