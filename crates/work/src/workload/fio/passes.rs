//! Where a job and its passes end: by bytes, by requests, by files that are done.

use super::{FioStep, FioStream, READ, TRIM, WRITE};
use crate::workload::job::{Direction, EngineKind};

/// Where a job and a pass end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PassLimits {
    pub(super) requests: u64,
    pub(super) bytes: u64,
    pub(super) pass: u64,
}

impl FioStream {
    /// Where the job and its passes end. `io_size` lengthens no pass except that of random writes without a map.
    pub(super) fn pass_limits(&self) -> PassLimits {
        let pattern = &self.pattern;
        let loops = u64::from(pattern.loops);
        let pairs = if pattern.direction == Direction::TrimWrite { 2 } else { 1 };
        let writes = pattern.direction.used_directions()[WRITE];
        let free = writes && self.random && !pattern.random_map;
        let pass = if free { self.size.max(pattern.bytes) } else { self.size };
        // Data read back before the end counts as well.
        let pass = if pattern.backlog.is_some() { pass.saturating_add(self.size) } else { pass };
        let bytes = pattern.bytes.saturating_mul(loops);
        PassLimits {
            requests: match pattern.requests {
                Some(limit) if !self.time_based => limit.saturating_mul(loops * pairs),
                _ => u64::MAX,
            },
            bytes: if self.time_based { u64::MAX } else { bytes },
            pass: match pattern.engine.kind {
                EngineKind::OneAtATime => u64::MAX,
                _ if self.time_based && !pattern.verify => u64::MAX,
                // A pair's trims are allowed the bytes of the whole job.
                _ if pairs == 2 => pass.saturating_add(bytes),
                _ => pass,
            },
        }
    }

    /// True if all bytes or requests of the job are issued.
    #[inline]
    pub(super) fn all_issued(&self) -> bool {
        self.bytes >= self.limits.bytes || self.counted_out()
    }

    /// True if all requests of the job are issued.
    #[inline]
    fn counted_out(&self) -> bool {
        self.requests_issued() >= self.limits.requests
    }

    pub(super) fn requests_issued(&self) -> u64 {
        self.issued[READ] + self.issued[WRITE] + self.issued[TRIM] + self.read_back
    }

    /// Notes that a sync or a read-back is issued with `in_flight` in flight: it uses up the io_unit whose place would
    /// not be marked.
    pub(crate) fn take_unit(&mut self, in_flight: u32) {
        self.put_back.take_if(|level| *level == in_flight);
    }

    /// Notes that bytes are read back, with so many requests in flight.
    pub(crate) fn count_read_back(&mut self, bytes: u64, in_flight: u32) {
        self.moved += bytes;
        self.read_back += 1;
        self.take_unit(in_flight);
        if self.pattern.backlog.is_some() {
            self.pass_bytes += bytes;
        }
    }

    /// True if all bytes of the pass are issued, or all requests, among which fio counts syncs whose completion it has not seen.
    #[inline]
    pub(super) fn pass_over(&self) -> bool {
        self.pass_bytes >= self.limits.pass || self.requests_issued() + self.syncing >= self.limits.requests
    }

    /// Ends a job that has issued everything. If passes are left, fio begins one more, which ends at once.
    pub(super) fn end_job(&mut self) -> FioStep {
        if self.pattern.direction == Direction::TrimWrite && self.bytes < self.limits.bytes {
            return self.end_pass();
        }
        self.passes += 1;
        if self.pattern.flush_at_end && self.passes < self.pattern.loops && self.pass_bytes > 0 {
            return FioStep::Pass;
        }
        FioStep::End
    }

    pub(super) fn end_pass(&mut self) -> FioStep {
        self.passes += 1;
        match self.pass_bytes {
            0 => FioStep::End,
            // With `verify`, the read-back comes first and counts.
            _ if !self.pattern.verify && self.is_last_pass() => FioStep::End,
            _ => FioStep::Pass,
        }
    }

    /// Begins the next pass; false if there is none.
    pub(crate) fn begin_pass(&mut self) -> bool {
        let more = !(self.pattern.verify && self.is_last_pass());
        if more {
            self.restart_pass();
            if self.pattern.direction == Direction::TrimWrite {
                // fio doubles the number for its pairs at the beginning of each pass.
                self.limits.requests = self.limits.requests.saturating_mul(2);
            }
        }
        more
    }

    /// True if no pass follows: all are done, and no whole request of `io_size` is left.
    fn is_last_pass(&self) -> bool {
        let limit = self.pattern.bytes;
        let largest = self.sizes.iter().map(|sizes| sizes.max).max().unwrap_or(0);
        let all_done = self.files.iter().all(|file| file.done);
        !self.time_based
            && self.passes >= self.pattern.loops
            && (limit.saturating_sub(self.moved) < largest
                || (all_done && limit == self.size && !self.pattern.verify)
                || self.counted_out())
    }
}
