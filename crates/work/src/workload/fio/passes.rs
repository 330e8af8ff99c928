//! Where a job and its passes end: by bytes, by requests, or with the last file.

use super::{FioStep, FioStream, READ, TRIM, WRITE};
use crate::workload::job::{Direction, EngineKind};

/// Where a job and a pass end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PassLimits {
    /// Requests of the job.
    pub(super) requests: u64,
    /// Bytes of the job.
    pub(super) bytes: u64,
    /// How far a pass goes, after which the job begins anew.
    pub(super) pass_bytes: u64,
}

impl FioStream {
    /// Computes where the job and its passes end. `io_size` lengthens no pass except that of random writes without a
    /// map.
    pub(super) fn compute_pass_limits(&self) -> PassLimits {
        let pattern = &self.pattern;
        let loops = u64::from(pattern.loops);
        let requests_per_place = if pattern.direction == Direction::TrimWrite { 2 } else { 1 };
        let writes = pattern.direction.used_directions()[WRITE];
        let has_free_writes = writes && self.has_random_places && !pattern.random_map;
        let written = if has_free_writes { self.file_bytes.max(pattern.bytes) } else { self.file_bytes };
        // Data read back before the end counts as well.
        let read_back = if pattern.backlog.is_some() { self.file_bytes } else { 0 };
        let pass_bytes = written.saturating_add(read_back);
        let bytes = pattern.bytes.saturating_mul(loops);
        PassLimits {
            requests: match pattern.requests {
                Some(limit) if !self.time_based => limit.saturating_mul(loops * requests_per_place),
                _ => u64::MAX,
            },
            bytes: if self.time_based { u64::MAX } else { bytes },
            pass_bytes: match pattern.engine.kind {
                EngineKind::OneAtATime => u64::MAX,
                _ if self.time_based && !pattern.verify => u64::MAX,
                // A pair's trims are allowed the bytes of the whole job.
                _ if requests_per_place == 2 => pass_bytes.saturating_add(bytes),
                _ => pass_bytes,
            },
        }
    }

    /// True if all bytes or requests of the job are issued.
    #[inline]
    pub(super) fn all_issued(&self) -> bool {
        self.job_bytes >= self.limits.bytes || self.all_requests_issued()
    }

    /// True if all requests of the job are issued.
    #[inline]
    fn all_requests_issued(&self) -> bool {
        self.requests_issued() >= self.limits.requests
    }

    pub(super) fn requests_issued(&self) -> u64 {
        self.issued[READ] + self.issued[WRITE] + self.issued[TRIM] + self.read_back_count
    }

    /// Notes that a sync or a read-back is issued with `in_flight` in flight: it uses up the io_unit whose place would
    /// not be marked.
    pub(crate) fn use_io_unit(&mut self, in_flight: u32) {
        self.unmarked_unit.take_if(|unit| *unit == in_flight);
    }

    /// Counts a request that reads back `bytes` bytes, issued with `in_flight` requests in flight.
    pub(crate) fn count_read_back(&mut self, bytes: u64, in_flight: u32) {
        self.all_bytes += bytes;
        self.read_back_count += 1;
        self.use_io_unit(in_flight);
        if self.pattern.backlog.is_some() {
            self.pass_bytes += bytes;
        }
    }

    /// True if all bytes of the pass are issued, or all requests, among which fio counts syncs whose completion it has
    /// not seen.
    #[inline]
    pub(super) fn is_pass_over(&self) -> bool {
        self.pass_bytes >= self.limits.pass_bytes || self.requests_issued() + self.unseen_syncs >= self.limits.requests
    }

    /// Ends a job that has issued everything. If passes are left, fio begins one more, which ends at once.
    pub(super) fn end_job(&mut self) -> FioStep {
        if self.pattern.direction == Direction::TrimWrite && self.job_bytes < self.limits.bytes {
            return self.end_pass();
        }
        self.ended_passes += 1;
        if self.pattern.flush_at_end && self.ended_passes < self.pattern.loops && self.pass_bytes > 0 {
            return FioStep::Pass;
        }
        FioStep::End
    }

    /// Ends a pass. The job ends with it if it was the last, or did nothing.
    pub(super) fn end_pass(&mut self) -> FioStep {
        self.ended_passes += 1;
        match self.pass_bytes {
            0 => FioStep::End,
            // With `verify`, the read-back comes first and counts.
            _ if !self.pattern.verify && self.is_last_pass() => FioStep::End,
            _ => FioStep::Pass,
        }
    }

    /// Begins the next pass; false if there is none.
    pub(crate) fn begin_pass(&mut self) -> bool {
        let has_next = !(self.pattern.verify && self.is_last_pass());
        if has_next {
            self.restart_pass();
            if self.pattern.direction == Direction::TrimWrite {
                // fio doubles the number for its pairs at the beginning of each pass.
                self.limits.requests = self.limits.requests.saturating_mul(2);
            }
        }
        has_next
    }

    /// True if no pass follows: all are done, and no whole request of `io_size` is left.
    fn is_last_pass(&self) -> bool {
        let limit = self.pattern.bytes;
        let largest_request = self.sizes.iter().map(|sizes| sizes.max).max().unwrap_or(0);
        let all_done = self.files.iter().all(|file| file.is_done);
        !self.time_based
            && self.ended_passes >= self.pattern.loops
            && (limit.saturating_sub(self.all_bytes) < largest_request
                || (all_done && limit == self.file_bytes && !self.pattern.verify)
                || self.all_requests_issued())
    }
}
