//! Merging: finds the waiting command that ends where a request begins, or begins where it ends.
//!
//! Reads merge with reads and writes with writes, of one unit, up to the largest transfer. Requests with forced unit
//! access, *ordered* or for the head of the queue do not merge, and commands below no longer do. Overlapping requests
//! are no neighbours, so they are never in one command. A command carries the largest stamp of its requests, and a
//! driver that merges reports each landing under its own request (`host/carried_writes.rs`).

use alloc::vec::Vec;

use crate::block::{Flags, Op, Request};

/// The key that must match to merge: unit and kind, address.
type MergeKey = (u16, u64);

/// Bits of a bucket's number: a bucket for each of the 256 requests that the deepest of the source studies' jobs leave
/// waiting.
const BITS: u32 = 8;

/// No command.
const NONE: u32 = u32::MAX;

/// Where the waiting commands begin and end.
#[derive(Default)]
pub(super) struct MergeIndex {
    starts: EdgeIndex,
    ends: EdgeIndex,
}

/// Commands by an address, in a hash table.
struct EdgeIndex {
    /// By bucket: the command added last.
    last: [u32; 1 << BITS],
    /// By command: its address, and the command added to its bucket before it.
    commands: Vec<(MergeKey, u32)>,
}

/// True if the request may share a command.
pub(super) fn can_merge(request: &Request) -> bool {
    let plain = request.flags == Flags::NONE || request.flags == Flags::PRIORITY;
    plain && request.sectors > 0 && matches!(request.op, Op::Read | Op::Write)
}

fn start_key(request: &Request) -> MergeKey {
    (u16::from(request.unit) << 1 | u16::from(request.op == Op::Write), request.lba)
}

fn end_key(request: &Request) -> MergeKey {
    (start_key(request).0, request.end())
}

/// Knuth's multiplicative hash: by 2^64 over the golden ratio.
fn bucket_index((kind, lba): MergeKey) -> usize {
    let hash = (lba ^ u64::from(kind) << 48).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (hash >> (u64::BITS - BITS)) as usize
}

impl Default for EdgeIndex {
    fn default() -> EdgeIndex {
        EdgeIndex { last: [NONE; 1 << BITS], commands: Vec::new() }
    }
}

impl EdgeIndex {
    fn insert(&mut self, number: u32, place: MergeKey) {
        if self.commands.len() <= number as usize {
            self.commands.resize(number as usize + 1, ((0, 0), NONE));
        }
        let last = &mut self.last[bucket_index(place)];
        self.commands[number as usize] = (place, *last);
        *last = number;
    }

    /// Removes a command, if it is there.
    fn remove(&mut self, number: u32, place: MergeKey) {
        let Some(&(_, before)) = self.commands.get(number as usize) else { return };
        let last = &mut self.last[bucket_index(place)];
        if *last == number {
            *last = before;
            return;
        }
        let mut at = *last;
        while let Some((_, next)) = self.commands.get_mut(at as usize) {
            if *next == number {
                *next = before;
                return;
            }
            at = *next;
        }
    }

    fn commands_at(&self, place: MergeKey) -> impl Iterator<Item = u32> {
        let mut next = self.last[bucket_index(place)];
        let chain = core::iter::from_fn(move || {
            let number = next;
            let &(of, before) = self.commands.get(number as usize)?;
            next = before;
            Some((number, of))
        });
        chain.filter(move |&(_, of)| of == place).map(|(number, _)| number)
    }
}

impl MergeIndex {
    /// Adds a waiting command.
    pub fn insert(&mut self, number: u32, request: &Request) {
        self.starts.insert(number, start_key(request));
        self.ends.insert(number, end_key(request));
    }

    /// Removes a command that no longer waits.
    pub fn remove(&mut self, number: u32, request: &Request) {
        self.starts.remove(number, start_key(request));
        self.ends.remove(number, end_key(request));
    }

    /// Updates a command that a request has joined at one end: it was `before`, and is `after`.
    pub(crate) fn update_grown(&mut self, number: u32, before: &Request, after: &Request) {
        if before.lba == after.lba {
            self.ends.remove(number, end_key(before));
            self.ends.insert(number, end_key(after));
        } else {
            self.starts.remove(number, start_key(before));
            self.starts.insert(number, start_key(after));
        }
    }

    /// Waiting commands that end where `request` begins, in no order.
    pub(crate) fn commands_before(&self, request: &Request) -> impl Iterator<Item = u32> {
        self.ends.commands_at(start_key(request))
    }

    /// Waiting commands that begin where `request` ends, in no order.
    pub(crate) fn commands_after(&self, request: &Request) -> impl Iterator<Item = u32> {
        self.starts.commands_at(end_key(request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Seed;

    const WRITE: Request =
        Request { tag: 0, unit: 0, origin: 0, op: Op::Write, flags: Flags::NONE, lba: 0, sectors: 8, stamp: 0 };

    fn sorted(numbers: impl Iterator<Item = u32>) -> Vec<u32> {
        let mut numbers: Vec<u32> = numbers.collect();
        numbers.sort_unstable();
        numbers
    }

    #[test]
    fn neighbours_are_those_that_a_search_of_all_finds() {
        let mut rng = Seed(1).stream("neighbours");
        let mut neighbours = MergeIndex::default();
        let mut waiting: Vec<Option<Request>> = alloc::vec![None; 600];
        for _ in 0..20_000 {
            let number = rng.below(600) as u32;
            let op = if rng.draw_chance(50) { Op::Write } else { Op::Read };
            let new = Request { unit: rng.below(2) as u8, op, lba: rng.below(300) * 8, ..WRITE };
            let kept = &mut waiting[number as usize];
            *kept = match *kept {
                None => {
                    neighbours.insert(number, &new);
                    Some(new)
                }
                Some(old) if rng.draw_chance(50) => {
                    let lba = if rng.draw_chance(50) { old.lba } else { old.lba.saturating_sub(8) };
                    let grown =
                        Request { lba, sectors: (old.end() - lba) as u32 + 8 * u32::from(lba == old.lba), ..old };
                    neighbours.update_grown(number, &old, &grown);
                    Some(grown)
                }
                Some(old) => {
                    neighbours.remove(number, &old);
                    neighbours.remove(number, &old);
                    None
                }
            };
            let all = |same: &dyn Fn(&Request) -> bool| {
                let numbered = waiting.iter().enumerate();
                let kind = |other: &Request| (other.unit, other.op) == (new.unit, new.op);
                sorted(numbered.filter(|(_, it)| it.is_some_and(|it| kind(&it) && same(&it))).map(|it| it.0 as u32))
            };
            assert_eq!(sorted(neighbours.commands_before(&new)), all(&|other| other.end() == new.lba));
            assert_eq!(sorted(neighbours.commands_after(&new)), all(&|other| other.lba == new.end()));
        }
    }
}
