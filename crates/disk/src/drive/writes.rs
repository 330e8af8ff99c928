//! Service of writes and flushes. A write goes to the medium before it is acknowledged (write-through), or is stored in
//! the buffer and acknowledged from there (cached); if there is no room, it is parked. A flush waits until all dirty
//! data is on the medium.

use super::Drive;
use super::command::{Command, Stage};
use super::medium::{Activity, InterruptedReadAhead, Purpose};
use super::piece::{CachedWrite, WriteAdmission};
use crate::block::{LandingKind, Op, Request, SECTOR};
use crate::record::Part;
use crate::time::Instant;

impl Drive {
    /// Takes a write over the link and queues it for the medium.
    pub(super) fn write_through(&mut self, now: Instant, slot: u16, request: &Request) {
        self.invalidate_written(now, request);
        let bytes = if request.op == Op::Write { u64::from(request.sectors) * SECTOR } else { 0 };
        let transfer = self.link.plan_write_data(now, bytes);
        self.link.book_transfer(transfer);
        self.electronics[slot].data = transfer;
        self.queue_write_or_park(now, slot);
    }

    /// Queues a write for the medium, or parks it if a dirty segment holds blocks of it.
    fn queue_write_or_park(&mut self, now: Instant, slot: u16) {
        let request = self.electronics[slot].request;
        if self.buffer.overlaps_dirty(request.lba, request.end()) {
            self.electronics[slot].stage = Stage::Parked;
            self.write_back.park(slot, false);
        } else {
            self.queue_for_medium(now, slot, &request);
        }
    }

    /// Invalidates clean blocks about to be written, and breaks off a read-ahead that would bring them.
    fn invalidate_written(&mut self, now: Instant, request: &Request) {
        if let Some(segment) = self.medium.filling_segment(now) {
            let (start, end) = self.buffer.block_bounds(segment);
            if start < request.end() && request.lba < end {
                self.break_off_read_ahead(now);
            }
        }
        self.buffer.invalidate(request.lba, request.end());
    }

    /// Ends a read-ahead at `now`, or cancels the one that was to follow an access.
    pub(super) fn break_off_read_ahead(&mut self, now: Instant) {
        if let Some(InterruptedReadAhead { segment, end }) = self.medium.break_off_read_ahead(now) {
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

    fn retry_parked_from(&mut self, now: Instant, first_slot: u16) {
        let mut next = Some(first_slot);
        while let Some(slot) = next {
            let request = self.electronics[slot].request;
            if request.op == Op::Read || !self.promises.caches_write(&request) || self.electronics[slot].wraps_around {
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
        let Activity::Access { access, timing, .. } = self.medium.activity() else { return };
        // The first block of as many as the segment holds.
        let first_kept = access.end() - self.buffer.segment_sectors().min(u64::from(access.sectors));
        let (geometry, mechanics) = (self.medium.geometry(), self.medium.mechanics());
        let pass = access.passes(geometry, mechanics).find(|pass| pass.extent.end() > first_kept);
        let others_written = pass.map_or(timing.end, |pass| {
            let angle = pass.extent.slot.wrapping_mul(first_kept.saturating_sub(pass.extent.lba));
            pass.transfer_start() + mechanics.turning_time(angle)
        });
        let command = &mut self.electronics[slot];
        let all_taken = others_written.max(command.data.end).min(timing.end);
        access.charge_until(all_taken, geometry, mechanics, &mut command.ledger);
        let service = command.reacquire_bus();
        self.link.keep_busy_until(all_taken);
        self.electronics.close_command(slot, all_taken + service);
    }

    /// Stores a write in the buffer, or parks it until there is room. A write longer than its segment may wrap around
    /// in it.
    pub(super) fn write_cached(&mut self, now: Instant, slot: u16) {
        let request = self.electronics[slot].request;
        if self.promises.wraps_around(&request, self.buffer.segment_sectors()) {
            self.electronics[slot].wraps_around = true;
            self.write_through(now, slot, &request);
            return;
        }
        let at_front = self.electronics.goes_to_head(&request);
        if (self.write_back.first_parked().is_some() && !at_front) || !self.store_write(now, slot) {
            let command = &mut self.electronics[slot];
            command.released = self.link.releases_bus();
            command.stage = Stage::Parked;
            self.write_back.park(slot, at_front);
        }
    }

    /// Stores a write in the buffer as far as there is room, part by part: a part is no longer than a segment, and
    /// either all or none of its blocks replace dirty ones. Acknowledges the write and returns true when all of it is
    /// stored.
    fn store_write(&mut self, now: Instant, slot: u16) -> bool {
        let Command { request, mut stored, .. } = self.electronics[slot];
        while stored < request.sectors {
            let lba = request.lba + u64::from(stored);
            let sectors = (self.buffer.uniform_part_end(lba, request.end()) - lba) as u32;
            let sectors = self.sectors_for_one_segment(lba, sectors);
            let max_dirty = self.promises.max_dirty_blocks();
            if max_dirty != u64::MAX && self.buffer.dirty_block_count() + u64::from(sectors) > max_dirty {
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

    /// Number of blocks, of `sectors` from `lba`, that one segment takes. The last ends a physical sector if possible,
    /// so that no two segments share one.
    fn sectors_for_one_segment(&self, lba: u64, sectors: u32) -> u32 {
        let room = self.buffer.max_dirty_sectors().min(self.promises.max_dirty_blocks());
        if u64::from(sectors) <= room {
            return sectors;
        }
        let unit = self.medium.physical_sector_blocks();
        let aligned_end = (lba + room) / unit * unit;
        if aligned_end > lba { (aligned_end - lba) as u32 } else { room as u32 }
    }

    /// Stores a part of a write, no longer than a segment. Returns false if there is no room.
    fn store_write_part(&mut self, now: Instant, slot: u16, part: &Request) -> bool {
        let destaged_until = self.destaged_until(now, part.lba);
        let admission = self.buffer.write_admission(part.lba, part.end(), self.write_back.last_fence(), destaged_until);
        if admission == WriteAdmission::Wait {
            self.write_back.close_admission();
            return false;
        }
        if admission == WriteAdmission::New && self.write_back.try_open_admission(&self.buffer) {
            return false;
        }
        self.invalidate_written(now, part);
        self.free_write_memory(now, u64::from(part.sectors));
        let bytes = if part.op == Op::Write { u64::from(part.sectors) * SECTOR } else { 0 };
        // The part before may still be on the link.
        let ready = now.max(self.electronics[slot].ledger.booked_until()) + self.electronics[slot].reacquire_bus();
        let transfer = self.link.plan_write_data(ready, bytes);
        let arrived = transfer.end;
        let piece = CachedWrite { lba: part.lba, sectors: part.sectors, stamp: part.stamp, arrived };
        match admission {
            WriteAdmission::Join(segment) => self.buffer.write_piece(segment, piece, now),
            WriteAdmission::Within(segment) => self.overwrite_dirty(now, segment, piece),
            _ => match self.allocate_written_run(now, part.lba) {
                Some(segment) => self.buffer.write_piece(segment, piece, now),
                None => return false,
            },
        }
        self.link.book_transfer(transfer);
        let ledger = &mut self.electronics[slot].ledger;
        ledger.book_until(Part::Cache, ledger.booked_until().max(now));
        ledger.book_until(Part::Link, arrived);
        true
    }

    fn overwrite_dirty(&mut self, now: Instant, segment: usize, piece: CachedWrite) {
        let landings = &mut self.landings;
        self.buffer.overwrite_blocks(segment, piece, |old| landings.report_pieces([&old], now, LandingKind::Discarded));
    }

    /// Allocates a segment for a run from `start`; a read-ahead gives up its segment if there is no other.
    fn allocate_written_run(&mut self, now: Instant, start: u64) -> Option<usize> {
        let filling = self.medium.filling_segment(now);
        if let Some(segment) = self.buffer.allocate_run(start, filling) {
            return Some(segment);
        }
        self.release_filling_segment(now);
        self.buffer.allocate_run(start, None)
    }

    /// Frees memory for `sectors` written blocks; a read-ahead gives up its memory if there is no other.
    fn free_write_memory(&mut self, now: Instant, sectors: u64) {
        let filling = self.medium.filling_segment(now);
        if !self.buffer.evict_clean_until_free(sectors, filling) {
            self.release_filling_segment(now);
            self.buffer.evict_clean_until_free(sectors, None);
        }
    }

    /// Breaks off a read-ahead; a read in progress continues without a segment.
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
        if self.buffer.block_bounds(*segment).1 != lba {
            return 0;
        }
        let passes = self.medium.passes(access).take_while(|pass| pass.next_start() <= now);
        passes.last().map_or(0, |pass| pass.extent.end())
    }

    /// Ends a flush at once if nothing is dirty; else it waits for all dirty segments.
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
