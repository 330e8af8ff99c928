//! Read-ahead: how far it goes, how long waiting commands leave it alone, and where it resumes.

use super::Drive;
use super::geometry::Extent;
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

    /// Until when waiting commands leave alone `stream`, which follows `request`, the `run`-th read of its kind.
    #[inline(always)]
    fn read_ahead_hold(&self, stream: &MediaStream, request: &Request, run: u32) -> Instant {
        let ahead = &self.promises.cache().read_ahead;
        // The usual case, of a read that follows no other.
        if ahead.min == 0 && (run < 2 || ahead.hold == ReadAheadHold::Never) {
            return Instant::ZERO;
        }
        self.compute_read_ahead_hold(stream, request, run)
    }

    fn compute_read_ahead_hold(&self, stream: &MediaStream, request: &Request, run: u32) -> Instant {
        let ahead = &self.promises.cache().read_ahead;
        let end = request.end();
        let until = |block: u64| stream.arrival_before(self.medium.platter(), block.min(stream.limit));
        let least = if ahead.min == 0 { Instant::ZERO } else { until(end + ahead.min_sectors(request.sectors)) };
        let held = match ahead.hold {
            _ if run < 2 => Instant::ZERO,
            ReadAheadHold::Never => Instant::ZERO,
            ReadAheadHold::Track => until(self.medium.track_end(self.medium.track_from(end - 1), false)),
            ReadAheadHold::Segment | ReadAheadHold::Stream => until(stream.limit),
        };
        least.max(held)
    }

    /// Adds to `segment` the blocks that pass before `first` while the track turns for `rotation`, if the segment
    /// begins at `first`; `sectors` blocks are read from there.
    pub(super) fn keep_free_blocks(&mut self, (first, sectors): (Extent, u32), rotation: Span, segment: usize) {
        if self.buffer.span(segment).0 == first.lba {
            let room = self.buffer.room_for_reads().saturating_sub(u64::from(sectors));
            let free = self.medium.free_blocks_before(&first, rotation, room);
            self.buffer.extend_back(segment, first.lba - free);
        }
    }

    /// Extends `segment` by all that it will hold of a read that starts, whose last `sectors` blocks begin at `first`.
    /// Returns the read-ahead that follows when the read ends at `end` with the arm at `arm`.
    #[inline(always)]
    pub(super) fn plan_read_ahead(
        &mut self,
        request: &Request,
        (first, sectors): (Extent, u32),
        (end, arm): (Instant, Arm),
        segment: usize,
        ahead: bool,
    ) -> Option<MediaStream> {
        let run = self.buffer.record_read(segment, request.lba, request.end());
        if !ahead || request.end() == self.medium.sectors() {
            self.buffer.extend_segment(segment, request.end());
            return None;
        }
        let following = first.rest_after(sectors).unwrap_or_else(|| self.medium.track_from(request.end()));
        let limit = self.read_ahead_limit(request, segment, run, Some(&following));
        self.buffer.extend_segment(segment, limit);
        if limit == request.end() {
            return None;
        }
        let mut stream = self.medium.plan_read_ahead(end, arm, following, limit, segment);
        stream.held = self.read_ahead_hold(&stream, request, run);
        Some(stream)
    }

    /// Moves the prefetch's limit on for a read from the segment being filled. Returns when its first block and all its
    /// blocks are there.
    pub(super) fn follow_read_ahead(
        &mut self,
        now: Instant,
        request: &Request,
        segment: usize,
        run: u32,
    ) -> (Instant, Instant) {
        self.book_current_read_transfer();
        let limit = match self.is_read_ahead_capped() {
            true => request.end(),
            false => self.read_ahead_limit(request, segment, run, None),
        };
        let free = self.promises.cache().read_ahead.free_blocks;
        let (mut stream, earliest) = match self.medium.activity() {
            Activity::Prefetch(stream) => (*stream, now),
            // All blocks were there before the access began.
            Activity::Access { access, .. } if request.end() <= access.lba() && !free => return (now, now),
            Activity::Access { then: Some(stream), sweep, .. } => (*stream, sweep.end.max(now)),
            Activity::Access { sweep, .. } => return (sweep.end.max(now), sweep.end.max(now)),
            Activity::Idle => return (now, now),
        };
        stream.raise_limit(limit);
        let platter = self.medium.platter();
        let here = stream.arrival_before(platter, request.end()).max(earliest);
        let first = stream.arrival_before(platter, request.lba + 1).max(earliest).min(here);
        stream.promised = stream.promised.max(here);
        stream.held = self.read_ahead_hold(&stream, request, run);
        self.medium.replace_read_ahead(stream);
        self.buffer.extend_segment(segment, stream.limit);
        (first, here)
    }

    /// Block at which the read-ahead ends after `request`, the `run`-th read of its stream: as far as `segment`,
    /// `read_ahead.max` and `read_ahead.until` allow. `next` is the track from the request's end on, if known.
    ///
    /// The blocks of a request stay in its segment unless they are overwritten. At most half a segment stays of a
    /// stream, whose blocks are not read again, and of a request longer than the segment. (Inferred: a ring full of
    /// blocks that have been sent has no room for read-ahead, and each request of a stream would wait for a
    /// revolution.)
    #[inline]
    fn read_ahead_limit(&self, request: &Request, segment: usize, run: u32, next: Option<&Extent>) -> u64 {
        let ahead = &self.promises.cache().read_ahead;
        let end = request.end();
        if run < ahead.after {
            return end;
        }
        let (length, room) = (u64::from(request.sectors), self.buffer.room_for_reads());
        let stay = match ahead.over_requested {
            true => 0,
            false if run > 1 || length > room => length.min(room / 2),
            false => length,
        };
        let ring = end - stay + room;
        let limit = ring.min(end + ahead.max_sectors(request.sectors)).max(end).min(self.medium.sectors());
        let limit = self.medium.first_weak_block(end, limit).unwrap_or(limit);
        let geometry = self.medium.geometry();
        let following = || next.copied().unwrap_or_else(|| self.medium.track_from(end));
        match ahead.until {
            ReadAheadEnd::Segment => limit,
            _ if limit == end => limit,
            ReadAheadEnd::Track => limit.min(self.medium.track_end(following(), false)),
            ReadAheadEnd::Cylinder => limit.min(self.medium.track_end(following(), true)),
            ReadAheadEnd::NextTrack => {
                let extent = following();
                let track = self.medium.track_end(extent, false);
                let (start, _) = self.buffer.span(segment);
                let began = geometry.extent(start, 1).cylinder_and_head();
                let same = end - start <= u64::from(extent.before) && began == extent.cylinder_and_head();
                let next_end = || self.medium.track_end(self.medium.track_from(track), false);
                limit.min(if same || track >= limit { track } else { next_end() })
            }
        }
    }

    /// Resumes a stopped prefetch if nothing else wants the medium and no more than a track lies ahead of the host:
    /// finding its place again takes a revolution at most, in which a host can take no more than that.
    pub(super) fn resume_read_ahead(&mut self, now: Instant, request: &Request, segment: usize, run: u32) {
        let (start, end) = self.buffer.span(segment);
        let limit = self.read_ahead_limit(request, segment, run, None);
        let idle = matches!(self.medium.activity(), Activity::Idle) && self.queue.is_empty();
        if !idle || limit <= end || self.medium.free_from() > now {
            return;
        }
        let extent = self.medium.track_from(end);
        let track = u64::from(extent.before) + u64::from(extent.sectors) + u64::from(extent.behind);
        if end.saturating_sub(request.end()) <= track && self.buffer.ensure_memory(segment, limit - start, None) {
            let mut stream = self.medium.plan_read_ahead(now, self.medium.arm(), extent, limit, segment);
            stream.held = self.read_ahead_hold(&stream, request, run);
            self.buffer.extend_segment(segment, limit);
            self.medium.start_read_ahead(stream);
        }
    }
}
