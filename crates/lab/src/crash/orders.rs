//! What else a cut could have left: other selections of the writes that the standards allow to be lost.
//!
//! A drive may destage in any order. So any of the writes that no completed flush covers, and that were not forced, may
//! or may not be on the medium; of a write under way, any physical sectors may be (each whole: the cuts themselves use
//! the profile's rule for the sector under the head). Of two writes to the same sectors the later one stays if both
//! arrive.

use seekwise_model::rng::Rng;
use seekwise_model::time::Instant;

use seekwise_model::durability::image::LostWrite;
use seekwise_model::durability::writes::{SessionWrite, SessionWrites};

/// Draws selection `number` of what a cut at `at` loses; physical sectors have `unit` sectors. The first loses
/// everything that may be lost, the second only one write, the third all but one; the others draw how likely a write is
/// to be lost, and which are.
pub fn draw(writes: &SessionWrites, at: Instant, number: u32, unit: u64, chance: &mut Rng) -> Vec<LostWrite> {
    let open: Vec<&SessionWrite> = writes.open(at).collect();
    if open.is_empty() {
        return Vec::new();
    }
    let one = chance.below(open.len() as u64) as usize;
    let likely = 1 + chance.below(99) as u32;
    let mut lost = Vec::new();
    for (place, write) in open.iter().enumerate() {
        let goes = match number {
            0 => true,
            1 => place == one,
            2 => place != one,
            _ => chance.percent(likely),
        };
        // One in four of the lost writes is written in part: it was under the head, or split on its way.
        let part = number > 2 && chance.percent(25);
        if goes {
            lost.push(if part { halved(write, unit, chance) } else { whole(write) });
        }
    }
    lost
}

fn whole(write: &SessionWrite) -> LostWrite {
    LostWrite { write: *write, parts: vec![write.run] }
}

/// Loses one side of a physical sector's edge within the write, if there is one.
fn halved(write: &SessionWrite, unit: u64, chance: &mut Rng) -> LostWrite {
    let (from, end) = write.run;
    let (first, last) = (from / unit + 1, (end - 1) / unit);
    if first > last {
        return whole(write);
    }
    let edge = (first + chance.below(last - first + 1)) * unit;
    let part = if chance.percent(50) { (from, edge) } else { (edge, end) };
    LostWrite { write: *write, parts: vec![part] }
}
