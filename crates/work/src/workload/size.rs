//! The sizes of fio's requests: fixed, from a range, or from a table of shares, drawn as fio draws them.
//!
//! A range of `min..=max` gives multiples of `min`, all equally often if `max` is such a multiple. Unaligned sizes are
//! rounded down to whole sectors, because a device has no others. A size that does not fit before the end of the file
//! is drawn again.

use alloc::vec::Vec;

use super::job::BlockSizes;
use super::tausworthe::Tausworthe;

/// The sizes of one direction.
#[derive(Clone, Debug)]
pub(crate) struct Sizes {
    /// The smallest, in bytes.
    pub(crate) min: u64,
    /// The largest, in bytes.
    pub(crate) max: u64,
    rule: SizeRule,
    /// Sizes are rounded down to multiples of this.
    multiple: u64,
    random: Tausworthe,
}

#[derive(Clone, Debug)]
enum SizeRule {
    Fixed,
    Range,
    Split(Vec<SizeShare>),
}

/// A line of a table of shares.
#[derive(Clone, Copy, Debug)]
struct SizeShare {
    bytes: u64,
    /// The share of this line and of all before it, in per cent.
    cumulative_percent: u64,
}

/// Number of draws without a size that fits, after which the smallest size is used.
const TRIES: u32 = 1000;

impl Sizes {
    /// The sizes of `blocks` on a device of `sector` bytes, drawn from `random`.
    pub(crate) fn new(blocks: &BlockSizes, sector: u64, random: Tausworthe) -> Sizes {
        let (min, max, rule, multiple) = match blocks {
            BlockSizes::Fixed(bytes) => (*bytes, *bytes, SizeRule::Fixed, 1),
            BlockSizes::Range { min, max, .. } if min == max => (*min, *max, SizeRule::Fixed, 1),
            BlockSizes::Range { min, max, unaligned } => {
                (*min, *max, SizeRule::Range, if *unaligned { sector } else { *min })
            }
            BlockSizes::Split(list) => {
                let (min, max) = (blocks.smallest(), blocks.largest());
                if min == max {
                    (min, max, SizeRule::Fixed, 1)
                } else {
                    (min, max, SizeRule::Split(share_table(list)), min)
                }
            }
        };
        Sizes { min, max, rule, multiple, random }
    }

    /// True if all are of one size.
    pub(crate) fn is_fixed(&self) -> bool {
        matches!(self.rule, SizeRule::Fixed)
    }

    /// Starts the stream again from `random`.
    pub(crate) fn restart(&mut self, random: Tausworthe) {
        self.random = random;
    }

    /// Draws the size of a request; `max_bytes` are left before its file ends. `None` if no size fits.
    #[inline]
    pub(crate) fn draw_size(&mut self, max_bytes: u64) -> Option<u64> {
        if self.min > max_bytes {
            return None;
        }
        match self.rule {
            SizeRule::Fixed => Some(self.min),
            _ => {
                let fitting = (0..TRIES).map(|_| self.draw_once(max_bytes)).find(|&bytes| bytes <= max_bytes);
                Some(fitting.unwrap_or(self.min))
            }
        }
    }

    /// Draws a size once; it may be over `max_bytes`.
    fn draw_once(&mut self, max_bytes: u64) -> u64 {
        let bytes = match &self.rule {
            SizeRule::Fixed => self.min,
            // fio draws below `max`, adds `min`, and cuts sizes over `max`.
            SizeRule::Range => self.min + self.random.below(self.max),
            SizeRule::Split(table) => {
                let (drawn, percent) = (self.random.next_bits(), self.random.max_bits() / 100);
                let is_chosen =
                    |line: &&SizeShare| drawn / line.cumulative_percent <= percent && line.bytes <= max_bytes;
                table.iter().find(is_chosen).or(table.last()).expect("a split has a line").bytes
            }
        };
        (bytes - bytes % self.multiple).min(self.max)
    }
}

/// The table of a split. fio sorts its lines by share.
fn share_table(list: &[(u64, u8)]) -> Vec<SizeShare> {
    let mut lines: Vec<(u64, u64)> = list.iter().map(|&(bytes, percent)| (bytes, percent.into())).collect();
    lines.retain(|&(_, percent)| percent > 0);
    lines.sort_by_key(|&(_, percent)| percent);
    let mut cumulative_percent = 0;
    let add_up = |(bytes, percent): (u64, u64)| {
        cumulative_percent += percent;
        SizeShare { bytes, cumulative_percent }
    };
    lines.into_iter().map(add_up).collect()
}
