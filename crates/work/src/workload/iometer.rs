//! Iometer's generator over one target of one worker (IOGrunt, IOTargetDisk and IOAccess of Iometer 1.1).
//!
//! Reads and writes share one pointer: "sequential" continues from the end of the last request, even after a random
//! one. The worker's random numbers draw a line for each burst; the target's draw direction and place for each request.
//! Iometer's worker has one stream for all its targets; here each (worker, target) has its own copy, which changes the
//! order of the lines but not their shares.

use alloc::vec::Vec;

use seekwise_disk::time::Span;

use super::fio::{FioRequest, READ, WRITE};
use super::job::{AccessLine, IometerPattern, Region};

/// Iometer's random numbers: a 64-bit congruential generator, taken modulo the limit.
#[derive(Clone, Debug)]
struct IometerRandom(u64);

impl IometerRandom {
    #[inline]
    fn below(&mut self, limit: u64) -> u64 {
        const FACTOR: u64 = 136_204_069;
        const SUMMAND: u64 = 28_500_701_229;
        self.0 = self.0.wrapping_mul(FACTOR).wrapping_add(SUMMAND);
        self.0 % limit
    }
}

/// The state of a (worker, target) pair.
#[derive(Clone, Debug)]
pub(crate) struct IometerStream {
    lines: Vec<AccessLine>,
    /// The line of each per cent of bursts.
    line_of_percent: Vec<u8>,
    area: Region,
    sector_bytes: u64,
    /// Draws the line of each burst.
    worker_random: IometerRandom,
    /// Draws the direction and place of each request.
    target_random: IometerRandom,
    /// The line of the current burst.
    line: usize,
    /// Transactions left in the burst.
    burst_left: u32,
    /// The first byte of the last request.
    pointer: u64,
    /// The length of the last request.
    last_bytes: u64,
}

/// A transaction's first request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transaction {
    pub(crate) request: FioRequest,
    /// The wait before it.
    pub(crate) delay: Span,
    /// Bytes of the reply; 0 for none.
    pub(crate) reply_bytes: u32,
}

impl IometerStream {
    /// The generator at its start. The pattern was checked. `run_seed` is mixed into the seeds; 0 leaves them
    /// unchanged.
    pub(crate) fn new(pattern: &IometerPattern, sector_bytes: u64, run_seed: u64) -> IometerStream {
        let lines = pattern.spec.lines.clone();
        let numbered = lines.iter().enumerate();
        let line_of_percent = numbered.flat_map(|(i, line)| core::iter::repeat_n(i as u8, line.share.into()));
        IometerStream {
            line_of_percent: line_of_percent.collect(),
            lines,
            area: pattern.area,
            sector_bytes,
            worker_random: IometerRandom(pattern.worker_seed ^ run_seed),
            target_random: IometerRandom(pattern.target_seed ^ run_seed),
            line: 0,
            burst_left: 0,
            pointer: pattern.area.start,
            last_bytes: 0,
        }
    }

    /// True if no transaction waits or has a reply.
    pub(crate) fn has_only_plain_requests(&self) -> bool {
        self.lines.iter().all(|line| line.delay == Span::ZERO && line.reply == 0)
    }

    /// The next transaction.
    #[inline]
    pub(crate) fn next_transaction(&mut self) -> Transaction {
        let mut delay = Span::ZERO;
        self.burst_left = self.burst_left.saturating_sub(1);
        if self.burst_left == 0 {
            self.line = usize::from(self.line_of_percent[self.worker_random.below(100) as usize]);
            self.burst_left = self.lines[self.line].burst;
            delay = self.lines[self.line].delay;
        }
        let line = self.lines[self.line];
        let is_read = self.target_random.below(100) < u64::from(line.reads);
        let request = self.draw_request(if is_read { READ } else { WRITE }, line.size, &line);
        Transaction { request, delay, reply_bytes: line.reply }
    }

    /// Draws the reply of `bytes` bytes to a request of `direction`. Iometer draws it by the current line.
    pub(crate) fn draw_reply(&mut self, direction: usize, bytes: u32) -> FioRequest {
        let line = self.lines[self.line];
        self.draw_request(direction ^ 1, bytes, &line)
    }

    /// Draws the place of a request by a line.
    #[inline]
    fn draw_request(&mut self, direction: usize, bytes: u32, line: &AccessLine) -> FioRequest {
        let bytes = u64::from(bytes);
        let align_bytes = if line.align == 0 { self.sector_bytes } else { u64::from(line.align) };
        self.pointer = if self.target_random.below(100) < u64::from(line.random) {
            self.area.start + self.target_random.below(self.area.bytes)
        } else {
            self.pointer + self.last_bytes
        };
        self.pointer = round_up(self.pointer, align_bytes);
        if self.pointer + bytes > self.area.start + self.area.bytes {
            self.pointer = round_up(self.area.start, align_bytes);
        }
        self.last_bytes = bytes;
        FioRequest { direction, start: self.pointer, bytes }
    }
}

/// The next multiple of `align`, without a division if it is a power of two.
#[inline]
fn round_up(x: u64, align: u64) -> u64 {
    if align.is_power_of_two() { (x + align - 1) & !(align - 1) } else { x.next_multiple_of(align) }
}
