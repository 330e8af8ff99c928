//! The sizes of fio's requests: fixed, a range, or a table of shares, drawn as fio draws them.
//!
//! A range of `min..=max` takes multiples of `min`, all equally often if `max` is one. Unaligned sizes are rounded down
//! to whole sectors, because a device has no others. A size that does not fit before the end is drawn again.

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
    rule: Rule,
    /// Sizes are rounded down to multiples of this.
    multiple: u64,
    random: Tausworthe,
}

#[derive(Clone, Debug)]
enum Rule {
    Fixed,
    Range,
    /// Size and cumulative per cent.
    Split(Vec<(u64, u64)>),
}

/// Draws before the smallest size is used because no other seems to fit.
const TRIES: u32 = 1000;

impl Sizes {
    /// The sizes of `blocks` on a device of `sector` bytes, drawn from `random`.
    pub(crate) fn new(blocks: &BlockSizes, sector: u64, random: Tausworthe) -> Sizes {
        let (min, max, rule, multiple) = match blocks {
            BlockSizes::Fixed(bytes) => (*bytes, *bytes, Rule::Fixed, 1),
            BlockSizes::Range { min, max, .. } if min == max => (*min, *max, Rule::Fixed, 1),
            BlockSizes::Range { min, max, unaligned } => {
                (*min, *max, Rule::Range, if *unaligned { sector } else { *min })
            }
            BlockSizes::Split(list) => split_table(list),
        };
        Sizes { min, max, rule, multiple, random }
    }

    /// Whether all are of one size.
    pub(crate) fn is_fixed(&self) -> bool {
        matches!(self.rule, Rule::Fixed)
    }

    /// Starts the stream again from `random`.
    pub(crate) fn restart(&mut self, random: Tausworthe) {
        self.random = random;
    }

    /// The size of a request that has `room` bytes before its file ends; `None` if no size fits.
    #[inline]
    pub(crate) fn draw_size(&mut self, room: u64) -> Option<u64> {
        if self.min > room {
            return None;
        }
        match self.rule {
            Rule::Fixed => Some(self.min),
            _ => Some((0..TRIES).map(|_| self.draw_once(room)).find(|&bytes| bytes <= room).unwrap_or(self.min)),
        }
    }

    fn draw_once(&mut self, room: u64) -> u64 {
        let bytes = match &self.rule {
            Rule::Fixed => self.min,
            // fio draws from `max` steps above `min` and cuts what is over `max`.
            Rule::Range => self.min + self.random.below(self.max),
            Rule::Split(table) => {
                let (drawn, last) = self.random.next_raw();
                let chosen = table.iter().find(|(bytes, share)| drawn / share <= last / 100 && *bytes <= room);
                chosen.or(table.last()).expect("a split has a line").0
            }
        };
        (bytes - bytes % self.multiple).min(self.max)
    }
}

/// fio sorts the lines by share and rounds sizes down to multiples of the smallest.
fn split_table(list: &[(u64, u8)]) -> (u64, u64, Rule, u64) {
    let sizes = || list.iter().map(|&(bytes, _)| bytes);
    let (min, max) = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
    if min == max {
        return (min, max, Rule::Fixed, 1);
    }
    let mut table: Vec<(u64, u64)> = list.iter().map(|&(bytes, share)| (bytes, share.into())).collect();
    table.retain(|&(_, share)| share > 0);
    table.sort_by_key(|&(_, share)| share);
    let mut sum = 0;
    for line in &mut table {
        sum += line.1;
        line.1 = sum;
    }
    (min, max, Rule::Split(table), min)
}
