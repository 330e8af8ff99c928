//! Use of the media cache: which destages go there, which reads are served from there, and how an idle drive moves its
//! contents home. `media_cache` has the contents and explains the terms.

use super::access::AccessBlocks;
use super::geometry::Extent;
use super::link::LinkInterval;
use super::media_cache::MediaCachePlace;
use super::medium::{Activity, Purpose};
use super::{Drive, DrivePower};
use crate::block::{Op, Request};
use crate::time::Instant;

impl Drive {
    /// Place in the media cache of a dirty run of `sectors` blocks from `start`, if it goes there now.
    fn place_in_media_cache(&self, now: Instant, start: u64, sectors: u32) -> Option<MediaCachePlace> {
        let media = self.media_cache.as_ref()?;
        // Only dirty data under pressure (limit, age, a flush, a power-off) go there; others wait to go home directly.
        if !self.dirty_segments_compete(now) {
            return None;
        }
        let (geometry, arm) = (self.medium.geometry(), self.medium.arm());
        media.find_place(geometry, self.medium.physical_sector_blocks(), arm.cylinder, start, sectors)
    }

    /// True while a write into the media cache is in progress.
    pub(super) fn is_writing_media_cache(&self) -> bool {
        self.media_cache.as_ref().is_some_and(|media| media.is_writing())
    }

    /// The oldest dirty segment that goes into the media cache now, and its place there. Segments numbered `fence` or
    /// higher wait.
    pub(super) fn next_for_media_cache(&self, now: Instant, fence: u64) -> Option<(usize, Extent)> {
        self.media_cache.as_ref()?;
        let mut waiting = self.buffer.destageable_segments().filter(|(_, dirty)| dirty.serial < fence);
        waiting.find_map(|(segment, _)| {
            let (start, _) = self.buffer.block_bounds(segment);
            let end = self.buffer.destageable_part(segment, now, self.medium.physical_sector_blocks()).end;
            Some((segment, self.place_in_media_cache(now, start, (end - start) as u32)?.extent))
        })
    }

    /// Returns where a dirty run is written now. If it goes into the media cache, begins the write there.
    pub(super) fn choose_destination(&mut self, now: Instant, run: &Request) -> Extent {
        let Some(MediaCachePlace { extent, stretch }) = self.place_in_media_cache(now, run.lba, run.sectors) else {
            return self.medium.track_from(run.lba);
        };
        // The next write in its stretch begins in a physical sector of its own.
        self.medium.forget_half_written();
        if let Some(media) = &mut self.media_cache {
            media.begin_write(run.lba, run.sectors, extent.lba, stretch);
        }
        // The slots are those of the media cache, the block numbers those of the run.
        Extent { lba: run.lba, ..extent }
    }

    /// Ends a write of `lba..end`. Returns true if it went into the media cache.
    pub(super) fn end_media_cache_write(&mut self, lba: u64, end: u64) -> bool {
        let Some(media) = &mut self.media_cache else { return false };
        if media.end_write() {
            self.medium.forget_half_written();
            return true;
        }
        media.remove_blocks(lba, end);
        false
    }

    /// The slots of a read's blocks, if all are in one entry of the media cache.
    pub(super) fn media_cache_extent(&self, request: &Request) -> Option<Extent> {
        let media = self.media_cache.as_ref().filter(|_| request.op == Op::Read)?;
        let part = media.first_part(self.medium.geometry(), request.lba, request.end())?;
        (part.sectors == request.sectors).then_some(part)
    }

    /// First part of `lba..end` that is in the media cache.
    #[inline]
    pub(super) fn first_media_cache_part(&self, lba: u64, end: u64) -> Option<Extent> {
        self.media_cache.as_ref()?.first_part(self.medium.geometry(), lba, end)
    }

    /// True if the drive is idle and has something to move home.
    pub(super) fn may_move_home(&self) -> bool {
        let idle = self.power == DrivePower::On && self.electronics.is_idle();
        idle && self.media_cache.as_ref().is_some_and(|media| !media.is_empty())
    }

    /// Begins to write home the next run that was read back, or to read back a track of the media cache.
    pub(super) fn move_home(&mut self, now: Instant) {
        let Some(media) = &mut self.media_cache else { return };
        if let Some((lba, sectors)) = media.pop_run_to_move() {
            let run = Request { op: Op::Write, lba, sectors, ..Request::NONE };
            return self.start_move_home(now, &run, self.medium.track_from(lba));
        }
        if let Some(slots) = media.select_track_to_move(self.medium.geometry(), self.medium.arm().cylinder) {
            // A track of the media cache is read as slots, so its blocks are counted from 0.
            let extent = Extent { lba: 0, ..self.medium.geometry().slot_extent(slots.start, u32::MAX) };
            let run = Request { op: Op::Read, lba: 0, sectors: (slots.end - slots.start) as u32, ..Request::NONE };
            self.start_move_home(now, &run, extent);
        }
    }

    fn start_move_home(&mut self, now: Instant, run: &Request, first: Extent) {
        self.write_back.set_idle_destage(true);
        self.break_off_read_ahead(now);
        let blocks = AccessBlocks { write: run.op != Op::Read, first, end: run.end() };
        // No data cross the link.
        self.start_access(now, blocks, Purpose::Moving, LinkInterval::at(now));
    }

    /// Continues a read with its next part that is in the media cache. Returns false if none is left.
    pub(super) fn continue_in_media_cache(&mut self, now: Instant, slot: u16) -> bool {
        let command = &self.electronics[slot];
        let (request, from) = (command.request, command.gathered.max(command.request.lba));
        let Some(part) = self.first_media_cache_part(from, request.end()) else { return false };
        self.electronics[slot].gathered = part.end();
        let blocks = AccessBlocks { write: false, first: part, end: part.end() };
        self.start_access(now, blocks, Purpose::Command { slot, segment: None }, LinkInterval::at(now));
        debug_assert!(matches!(self.medium.activity(), Activity::Access { .. }));
        true
    }
}
