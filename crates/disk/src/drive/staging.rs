//! Use of the media cache: which writes go there, which reads are served from there, and how an idle drive moves its
//! contents home.

use super::geometry::Extent;
use super::medium::{Activity, Purpose};
use super::{Drive, DrivePower};
use crate::block::{Op, Request};
use crate::time::Instant;

impl Drive {
    /// Place of a dirty run in the media cache, if it goes there now.
    fn place_in_media_cache(&self, now: Instant, start: u64, sectors: u32) -> Option<(Extent, usize)> {
        let media = self.media_cache.as_ref()?;
        // Only dirty data under pressure (limit, age, a flush, a power-off) go there; others wait to go home directly.
        if !self.dirty_segments_compete(now) {
            return None;
        }
        let medium = (self.medium.geometry(), self.medium.unit());
        media.find_place(medium, self.medium.arm().cylinder, start, sectors)
    }

    /// True while a write into the media cache is in progress.
    pub(super) fn is_writing_media_cache(&self) -> bool {
        self.media_cache.as_ref().is_some_and(|media| media.is_writing())
    }

    /// The oldest dirty segment that goes into the media cache now, and its place there. Segments from the number
    /// `fence` on wait.
    pub(super) fn next_for_media_cache(&self, now: Instant, fence: u64) -> Option<(usize, Extent)> {
        self.media_cache.as_ref()?;
        let mut waiting = self.buffer.destageable_segments().filter(|(_, dirty)| dirty.serial < fence);
        waiting.find_map(|(segment, _)| {
            let (start, _) = self.buffer.span(segment);
            let (end, _) = self.buffer.destageable_until(segment, now, self.medium.unit());
            Some((segment, self.place_in_media_cache(now, start, (end - start) as u32)?.0))
        })
    }

    /// Returns where a dirty run is written now; begins a write into the media cache if it goes there.
    pub(super) fn choose_destination(&mut self, now: Instant, run: &Request) -> Extent {
        let Some((extent, stretch)) = self.place_in_media_cache(now, run.lba, run.sectors) else {
            return self.medium.track_from(run.lba);
        };
        // The next write in its stretch begins in a physical sector of its own.
        self.medium.forget_half_written();
        if let Some(media) = &mut self.media_cache {
            media.begin_write(run.lba, run.sectors, extent.lba, stretch);
        }
        // The slots are the media cache's, the block numbers the run's.
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

    /// Place of a read whose blocks are all in one entry.
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

    /// Writes home the next entry that was read back, or reads back a track of the media cache.
    pub(super) fn move_home(&mut self, now: Instant) {
        let Some(media) = &mut self.media_cache else { return };
        if let Some((lba, sectors)) = media.pop_moving() {
            let run = Request { op: Op::Write, lba, sectors, ..Request::NONE };
            return self.start_move_home(now, &run, self.medium.track_from(lba));
        }
        if let Some((first, end)) = media.select_track_to_move(self.medium.geometry(), self.medium.arm().cylinder) {
            // A track of the media cache is read as slots, so its blocks are counted from 0.
            let extent = Extent { lba: 0, ..self.medium.geometry().slot_extent(first, u32::MAX) };
            let run = Request { op: Op::Read, lba: 0, sectors: (end - first) as u32, ..Request::NONE };
            self.start_move_home(now, &run, extent);
        }
    }

    fn start_move_home(&mut self, now: Instant, run: &Request, first: Extent) {
        self.write_back.set_idle_destage(true);
        self.break_off_read_ahead(now);
        let write = run.op != Op::Read;
        // No data cross the link.
        self.start_access(now, (write, run.end()), first, Purpose::Moving, (now, now));
    }

    /// Continues a read in the media cache, with the next part that is there. Returns false if none is left.
    pub(super) fn continue_in_media_cache(&mut self, now: Instant, slot: u16) -> bool {
        let command = &self.electronics[slot];
        let (request, from) = (command.request, command.gathered.max(command.request.lba));
        let Some(part) = self.first_media_cache_part(from, request.end()) else { return false };
        self.electronics[slot].gathered = part.end();
        self.start_access(now, (false, part.end()), part, Purpose::Command { slot, segment: None }, (now, now));
        debug_assert!(matches!(self.medium.activity(), Activity::Access { .. }));
        true
    }
}
