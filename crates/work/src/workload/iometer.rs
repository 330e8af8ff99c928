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
struct Random(u64);

impl Random {
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
    /// The line that owns each per cent.
    grid: Vec<u8>,
    area: Region,
    sector: u64,
    worker: Random,
    target: Random,
    line: usize,
    left: u32,
    pointer: u64,
    last: u64,
}

/// A transaction's first request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transaction {
    pub(crate) draw: FioRequest,
    /// The wait before it.
    pub(crate) delay: Span,
    /// In bytes; 0 for none.
    pub(crate) reply: u32,
}

impl IometerStream {
    /// The generator at its start on a device of `sector` bytes. The pattern was checked; `run` is mixed into the
    /// seeds, 0 leaves them unchanged.
    pub(crate) fn new(pattern: &IometerPattern, sector: u64, run: u64) -> IometerStream {
        let lines = pattern.spec.lines.clone();
        let grid = lines.iter().enumerate().flat_map(|(i, line)| core::iter::repeat_n(i as u8, line.share.into()));
        IometerStream {
            grid: grid.collect(),
            lines,
            area: pattern.area,
            sector,
            worker: Random(pattern.worker_seed ^ run),
            target: Random(pattern.target_seed ^ run),
            line: 0,
            left: 0,
            pointer: pattern.area.start,
            last: 0,
        }
    }

    /// True if no transaction waits or has a reply.
    pub(crate) fn only_draws(&self) -> bool {
        self.lines.iter().all(|line| line.delay == Span::ZERO && line.reply == 0)
    }

    /// The next transaction.
    #[inline]
    pub(crate) fn next(&mut self) -> Transaction {
        let mut delay = Span::ZERO;
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            self.line = usize::from(self.grid[self.worker.below(100) as usize]);
            self.left = self.lines[self.line].burst;
            delay = self.lines[self.line].delay;
        }
        let line = self.lines[self.line];
        let reads = self.target.below(100) < u64::from(line.reads);
        let draw = self.draw_request(if reads { READ } else { WRITE }, line.size, line.random, line.align);
        Transaction { draw, delay, reply: line.reply }
    }

    /// The reply, `bytes` long, to a request of `direction`. Iometer draws it by the current line.
    pub(crate) fn draw_reply(&mut self, direction: usize, bytes: u32) -> FioRequest {
        let line = self.lines[self.line];
        self.draw_request(direction ^ 1, bytes, line.random, line.align)
    }

    #[inline]
    fn draw_request(&mut self, direction: usize, size: u32, random: u8, align: u32) -> FioRequest {
        let bytes = u64::from(size);
        let align = if align == 0 { self.sector } else { u64::from(align) };
        self.pointer = if self.target.below(100) < u64::from(random) {
            self.area.start + self.target.below(self.area.bytes)
        } else {
            self.pointer + self.last
        };
        self.pointer = round_up(self.pointer, align);
        if self.pointer + bytes > self.area.start + self.area.bytes {
            self.pointer = round_up(self.area.start, align);
        }
        self.last = bytes;
        FioRequest { direction, start: self.pointer, bytes }
    }
}

/// The next multiple of `align`, without a division if it is a power of two.
#[inline]
fn round_up(x: u64, align: u64) -> u64 {
    if align.is_power_of_two() { (x + align - 1) & !(align - 1) } else { x.next_multiple_of(align) }
}
