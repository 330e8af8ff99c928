//! The rules of read-ahead, from `read_ahead` of the profile: how far it goes after a read, how long waiting commands
//! do not break it off, and when a stopped one resumes. `stream` has the timing of a read-ahead.

use super::Drive;
use super::geometry::Extent;
use super::link::BufferArrival;
use super::mechanics::Arm;
use super::medium::Activity;
use super::profile::{ReadAheadEnd, ReadAheadHold};
use super::stream::MediaStream;
use crate::block::Request;
use crate::time::{Instant, Span};

impl Drive {
    /// True if a waiting command keeps the read-ahead of a stream from going beyond its segment.
    pub(super) fn is_read_ahead_capped(&self) -> bool {
        matches!(self.promises.cache().read_ahead.hold, ReadAheadHold::Track | ReadAheadHold::Segment)
            && !self.queue.is_empty()
    }

    /// Until when waiting commands do not break off `stream`, which follows `request`. `reads_in_run` counts the
    /// sequential reads up to this one.
    #[inline(always)]
    fn read_ahead_held_until(&self, stream: &MediaStream, request: &Request, reads_in_run: u32) -> Instant {
        let ahead = &self.promises.cache().read_ahead;
        // The usual case, of a read that follows no other.
        if ahead.min == 0 && (reads_in_run < ahead.hold_after || ahead.hold == ReadAheadHold::Never) {
            return Instant::ZERO;
        }
        self.compute_read_ahead_hold(stream, request, reads_in_run)
    }

    fn compute_read_ahead_hold(&self, stream: &MediaStream, request: &Request, reads_in_run: u32) -> Instant {
        let ahead = &self.promises.cache().read_ahead;
        let end = request.end();
        let read_until = |block: u64| stream.arrival_before(self.medium.platter(), block.min(stream.limit));
        let min_until =
            if ahead.min == 0 { Instant::ZERO } else { read_until(end + ahead.min_sectors(request.sectors)) };
        let hold_until = match ahead.hold {
            _ if reads_in_run < ahead.hold_after => Instant::ZERO,
            ReadAheadHold::Never => Instant::ZERO,
            ReadAheadHold::Track => read_until(self.medium.track_end(self.medium.track_from(end - 1), false)),
            ReadAheadHold::Segment | ReadAheadHold::Stream => read_until(stream.limit),
        };
        min_until.max(hold_until)
    }

    /// Adds to `segment` the blocks that pass before `first` while the track turns for `rotation`, if the segment
    /// begins at `first`; `sectors` blocks are read from there.
    pub(super) fn keep_free_blocks(&mut self, (first, sectors): (Extent, u32), rotation: Span, segment: usize) {
        if self.buffer.block_bounds(segment).0 == first.lba {
            let room = self.buffer.max_read_sectors().saturating_sub(u64::from(sectors));
            let free_blocks = self.medium.free_blocks_before(&first, rotation, room);
            self.buffer.extend_back(segment, first.lba - free_blocks);
        }
    }

    /// Extends `segment` by all that a read and its read-ahead will bring; the last `sectors` blocks of the read begin
    /// at `first`. Returns the read-ahead that follows when the read ends at `end` with the arm at `arm`.
    #[inline(always)]
    pub(super) fn plan_read_ahead(
        &mut self,
        request: &Request,
        (first, sectors): (Extent, u32),
        (end, arm): (Instant, Arm),
        segment: usize,
        may_read_ahead: bool,
    ) -> Option<MediaStream> {
        let reads_in_run = self.buffer.record_read(segment, request.lba, request.end());
        if !may_read_ahead || request.end() == self.medium.sectors() {
            self.buffer.extend_segment(segment, request.end());
            return None;
        }
        let following = first.rest_after(sectors).unwrap_or_else(|| self.medium.track_from(request.end()));
        let limit = self.read_ahead_limit(request, segment, reads_in_run, Some(&following));
        self.buffer.extend_segment(segment, limit);
        if limit == request.end() {
            return None;
        }
        let mut stream = self.medium.plan_read_ahead(end, arm, following, limit, segment);
        stream.held_until = self.read_ahead_held_until(&stream, request, reads_in_run);
        Some(stream)
    }

    /// Extends the read-ahead for a read from the segment being filled, which it serves. Returns when the read's blocks
    /// are in the buffer.
    pub(super) fn follow_read_ahead(
        &mut self,
        now: Instant,
        request: &Request,
        segment: usize,
        reads_in_run: u32,
    ) -> BufferArrival {
        self.book_current_read_transfer();
        let limit = match self.is_read_ahead_capped() {
            true => request.end(),
            false => self.read_ahead_limit(request, segment, reads_in_run, None),
        };
        let in_buffer = BufferArrival { first: now, all: now };
        let keeps_free_blocks = self.promises.cache().read_ahead.free_blocks;
        let (mut stream, earliest) = match self.medium.activity() {
            Activity::Prefetch(stream) => (*stream, now),
            // All blocks were there before the access began.
            Activity::Access { access, .. } if request.end() <= access.lba() && !keeps_free_blocks => return in_buffer,
            Activity::Access { then: Some(stream), timing, .. } => (*stream, timing.end.max(now)),
            Activity::Access { timing, .. } => {
                let end = timing.end.max(now);
                return BufferArrival { first: end, all: end };
            }
            Activity::Idle => return in_buffer,
        };
        stream.raise_limit(limit);
        let platter = self.medium.platter();
        let all = stream.arrival_before(platter, request.end()).max(earliest);
        let first = stream.arrival_before(platter, request.lba + 1).max(earliest).min(all);
        stream.promised_until = stream.promised_until.max(all);
        stream.held_until = self.read_ahead_held_until(&stream, request, reads_in_run);
        self.medium.replace_read_ahead(stream);
        self.buffer.extend_segment(segment, stream.limit);
        BufferArrival { first, all }
    }

    /// Block at which the read-ahead after `request` ends: as far as `segment`, `read_ahead.max` and `read_ahead.until`
    /// allow. `following` is the track from the request's end on, if known.
    ///
    /// The request's blocks stay in the segment unless `read_ahead.over_requested` lets them be overwritten. At most
    /// half a segment stays of a request in a stream, whose blocks are not read again, and of one longer than the
    /// segment. (Inferred: a ring full of blocks that have been sent has no room for read-ahead, and each request of a
    /// stream would wait for a revolution.)
    #[inline]
    fn read_ahead_limit(
        &self,
        request: &Request,
        segment: usize,
        reads_in_run: u32,
        following: Option<&Extent>,
    ) -> u64 {
        let ahead = &self.promises.cache().read_ahead;
        let end = request.end();
        if reads_in_run < ahead.after {
            return end;
        }
        let (length, room) = (u64::from(request.sectors), self.buffer.max_read_sectors());
        let kept = match ahead.over_requested {
            true => 0,
            false if reads_in_run > 1 || length > room => length.min(room / 2),
            false => length,
        };
        let segment_limit = end - kept + room;
        let limit = segment_limit.min(end + ahead.max_sectors(request.sectors)).max(end).min(self.medium.sectors());
        let limit = self.medium.first_weak_block(end, limit).unwrap_or(limit);
        let geometry = self.medium.geometry();
        let following_extent = || following.copied().unwrap_or_else(|| self.medium.track_from(end));
        match ahead.until {
            ReadAheadEnd::Segment => limit,
            _ if limit == end => limit,
            ReadAheadEnd::Track => limit.min(self.medium.track_end(following_extent(), false)),
            ReadAheadEnd::Cylinder => limit.min(self.medium.track_end(following_extent(), true)),
            ReadAheadEnd::NextTrack => {
                let extent = following_extent();
                let track_end = self.medium.track_end(extent, false);
                let (start, _) = self.buffer.block_bounds(segment);
                let start_track = geometry.extent(start, 1).cylinder_and_head();
                let began_here = end - start <= u64::from(extent.before) && start_track == extent.cylinder_and_head();
                let next_track_end = || self.medium.track_end(self.medium.track_from(track_end), false);
                limit.min(if began_here || track_end >= limit { track_end } else { next_track_end() })
            }
        }
    }

    /// Resumes a stopped read-ahead into `segment` if nothing else wants the medium, and no more than a track of it has
    /// yet to be read by the host: finding its place again takes a revolution at most, in which a host can read no more
    /// than that.
    pub(super) fn resume_read_ahead(&mut self, now: Instant, request: &Request, segment: usize, reads_in_run: u32) {
        let (start, end) = self.buffer.block_bounds(segment);
        let limit = self.read_ahead_limit(request, segment, reads_in_run, None);
        let idle = matches!(self.medium.activity(), Activity::Idle) && self.queue.is_empty();
        if !idle || limit <= end || self.medium.free_from() > now {
            return;
        }
        let extent = self.medium.track_from(end);
        let track_sectors = u64::from(extent.before) + u64::from(extent.sectors) + u64::from(extent.behind);
        if end.saturating_sub(request.end()) <= track_sectors && self.buffer.ensure_memory(segment, limit - start, None)
        {
            let mut stream = self.medium.plan_read_ahead(now, self.medium.arm(), extent, limit, segment);
            stream.held_until = self.read_ahead_held_until(&stream, request, reads_in_run);
            self.buffer.extend_segment(segment, limit);
            self.medium.start_read_ahead(stream);
        }
    }
}
