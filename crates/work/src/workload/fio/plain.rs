//! The short way for the common job of one file, one direction and one size: only the place remains to be drawn. A
//! uniform draw with repetition needs no counts either as long as no end is near.

use super::{FioRequest, FioStep, FioStream, READ, TRIM, WRITE};
use crate::workload::job::{BlockSizes, Direction, FioPattern};

/// A pattern of one file, one direction and one size.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlainPattern {
    pub(super) direction: usize,
    /// Bytes of a request.
    pub(super) bytes: u64,
    /// Places are drawn evenly among all of the file's, with repetition.
    pub(super) is_uniform: bool,
    /// Number of requests before the job or the pass can end.
    pub(super) before_end: u64,
    /// How many of these are drawn, but not counted in the stream.
    pub(super) uncounted: u64,
}

impl FioStream {
    /// Adds the uncounted draws to the counts.
    pub(super) fn count_plain_draws(&mut self) {
        if let Some(plain) = &mut self.plain {
            let drawn = core::mem::take(&mut plain.uncounted);
            plain.before_end = 0;
            self.issued[plain.direction] += drawn;
            self.job_bytes += drawn * plain.bytes;
            self.pass_bytes += drawn * plain.bytes;
            self.all_bytes += drawn * plain.bytes;
        }
    }

    /// How many requests of `bytes` bytes can follow the next one before the job or the pass ends.
    fn requests_before_end(&self, bytes: u64) -> u64 {
        let bytes_left = (self.limits.bytes - self.job_bytes).min(self.limits.pass_bytes - self.pass_bytes);
        ((bytes_left - 1) / bytes).min(self.limits.requests - self.requests_issued() - 1)
    }

    #[inline]
    pub(super) fn next_plain_step(&mut self, plain: PlainPattern) -> FioStep {
        let PlainPattern { direction, bytes, .. } = plain;
        if plain.is_uniform && self.chosen_direction.is_none() {
            let before_end = self.requests_before_end(bytes);
            self.plain = Some(PlainPattern { before_end, ..plain });
        }
        let place = if self.has_random_places {
            self.draw_random_block(0, direction).map(|block| block * self.align[direction])
        } else {
            self.next_sequential_place(0, direction)
        };
        let file_bytes = self.files[0].region.bytes;
        let Some(place) = place.filter(|place| place + bytes <= file_bytes) else {
            self.finish_file(0);
            return self.end_pass();
        };
        let file = &mut self.files[0];
        file.next_places[direction] = place + bytes;
        self.issued[direction] += 1;
        self.pass_bytes += bytes;
        self.all_bytes += bytes;
        self.job_bytes += bytes;
        FioStep::Request(FioRequest { direction, start: file.region.start + place, bytes })
    }
}

/// Returns a pattern as a plain one; `None` if it is not plain.
pub(super) fn plain_pattern(pattern: &FioPattern) -> Option<PlainPattern> {
    let direction = match pattern.direction {
        Direction::Read => READ,
        Direction::Write => WRITE,
        Direction::Trim => TRIM,
        Direction::Mixed | Direction::TrimWrite => return None,
    };
    let BlockSizes::Fixed(bytes) = pattern.blocks[direction] else {
        return None;
    };
    let has_extras = pattern.syncs.has_any()
        || pattern.backlog.is_some()
        || pattern.strided.is_some()
        || pattern.zoned.is_some()
        || pattern.done_for_good
        || pattern.modifier.is_some()
        || pattern.sizes_by_randomness;
    let is_all_or_none = pattern.random.iter().all(|&share| share == 0 || share == 100);
    let is_alike = pattern.random[direction] == 100 || pattern.random == [0; 3];
    let fits_map = !pattern.random_map || [0, bytes].contains(&pattern.align[direction]);
    let is_plain = pattern.files.len() == 1 && is_all_or_none && is_alike && fits_map && !has_extras;
    is_plain.then_some(PlainPattern { direction, bytes, is_uniform: false, before_end: 0, uncounted: 0 })
}
