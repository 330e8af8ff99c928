//! Merging: finds the waiting commands with which a request can become one command, because they end where it begins or
//! begin where it ends.
//!
//! Reads merge with reads and writes with writes, of one unit, up to the largest transfer. Forced writes, also those that
//! a flush follows, and requests that are *ordered* or for the head of the queue do not merge; nor do commands that are
//! below already. Overlapping requests are no neighbours, so they are never in one command. A command carries the largest
//! stamp of its requests, and a driver that merges reports each landing under the stamp of its own request
//! (`host/carried_writes.rs`).

use alloc::vec::Vec;

use crate::block::{Flags, Op, Request};

/// An end of a command. To merge, the end of one command must equal the start of the other.
#[derive(Clone, Copy, PartialEq, Eq)]
struct EdgeKey {
    /// The unit, and in the lowest bit whether it is a write.
    unit_and_op: u16,
    lba: u64,
}

/// Bits of a bucket's number: a bucket for each of the 256 requests that the deepest of the source studies' jobs leave
/// waiting.
const BUCKET_BITS: u32 = 8;

/// No command.
const NONE: u32 = u32::MAX;

/// Where the waiting commands begin and end.
#[derive(Clone, Default)]
pub(super) struct MergeIndex {
    starts: EdgeIndex,
    ends: EdgeIndex,
}

/// Commands by one of their ends, in a hash table.
#[derive(Clone)]
struct EdgeIndex {
    /// By bucket: the number of the command added last.
    newest: [u32; 1 << BUCKET_BITS],
    /// By number of the command.
    entries: Vec<EdgeEntry>,
}

#[derive(Clone, Copy)]
struct EdgeEntry {
    key: EdgeKey,
    /// The number of the command added to the bucket before this one.
    older: u32,
}

/// True if the request may share a command.
pub(super) fn can_merge(request: &Request) -> bool {
    let plain = request.flags.without(Flags::BACKGROUND).without(Flags::PRIORITY) == Flags::NONE;
    plain && request.sectors > 0 && matches!(request.op, Op::Read | Op::Write)
}

fn start_key(request: &Request) -> EdgeKey {
    let unit_and_op = u16::from(request.unit) << 1 | u16::from(request.op == Op::Write);
    EdgeKey { unit_and_op, lba: request.lba }
}

fn end_key(request: &Request) -> EdgeKey {
    EdgeKey { lba: request.end(), ..start_key(request) }
}

/// Knuth's multiplicative hash: by 2^64 over the golden ratio.
fn bucket_index(key: EdgeKey) -> usize {
    let hash = (key.lba ^ u64::from(key.unit_and_op) << 48).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (hash >> (u64::BITS - BUCKET_BITS)) as usize
}

impl Default for EdgeIndex {
    fn default() -> EdgeIndex {
        EdgeIndex { newest: [NONE; 1 << BUCKET_BITS], entries: Vec::new() }
    }
}

impl EdgeIndex {
    fn insert(&mut self, number: u32, key: EdgeKey) {
        if self.entries.len() <= number as usize {
            let blank = EdgeEntry { key: EdgeKey { unit_and_op: 0, lba: 0 }, older: NONE };
            self.entries.resize(number as usize + 1, blank);
        }
        let newest = &mut self.newest[bucket_index(key)];
        self.entries[number as usize] = EdgeEntry { key, older: *newest };
        *newest = number;
    }

    /// Removes a command, if it is there.
    fn remove(&mut self, number: u32, key: EdgeKey) {
        let Some(&EdgeEntry { older: older_than_removed, .. }) = self.entries.get(number as usize) else { return };
        let newest = &mut self.newest[bucket_index(key)];
        if *newest == number {
            *newest = older_than_removed;
            return;
        }
        let mut other = *newest;
        while let Some(EdgeEntry { older, .. }) = self.entries.get_mut(other as usize) {
            if *older == number {
                *older = older_than_removed;
                return;
            }
            other = *older;
        }
    }

    /// The numbers of the commands with this end.
    fn commands_with_edge(&self, key: EdgeKey) -> impl Iterator<Item = u32> {
        let mut next = self.newest[bucket_index(key)];
        let bucket = core::iter::from_fn(move || {
            let number = next;
            let entry = self.entries.get(number as usize)?;
            next = entry.older;
            Some((number, entry.key))
        });
        bucket.filter(move |&(_, other)| other == key).map(|(number, _)| number)
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
        self.ends.commands_with_edge(start_key(request))
    }

    /// Waiting commands that begin where `request` ends, in no order.
    pub(crate) fn commands_after(&self, request: &Request) -> impl Iterator<Item = u32> {
        self.starts.commands_with_edge(end_key(request))
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
    fn neighbours_are_those_that_a_search_of_all_commands_finds() {
        let mut rng = Seed(1).stream("neighbours");
        let mut index = MergeIndex::default();
        let mut waiting: Vec<Option<Request>> = alloc::vec![None; 600];
        for _ in 0..20_000 {
            let number = rng.below(600) as u32;
            let op = if rng.draw_chance(50) { Op::Write } else { Op::Read };
            let new = Request { unit: rng.below(2) as u8, op, lba: rng.below(300) * 8, ..WRITE };
            let command = &mut waiting[number as usize];
            *command = match *command {
                None => {
                    index.insert(number, &new);
                    Some(new)
                }
                Some(old) if rng.draw_chance(50) => {
                    let lba = if rng.draw_chance(50) { old.lba } else { old.lba.saturating_sub(8) };
                    let grown =
                        Request { lba, sectors: (old.end() - lba) as u32 + 8 * u32::from(lba == old.lba), ..old };
                    index.update_grown(number, &old, &grown);
                    Some(grown)
                }
                Some(old) => {
                    index.remove(number, &old);
                    index.remove(number, &old);
                    None
                }
            };
            let search = |touches: &dyn Fn(&Request) -> bool| {
                let is_alike = |other: &Request| (other.unit, other.op) == (new.unit, new.op);
                let numbered = (0..).zip(&waiting);
                let is_found = |other: &Option<Request>| other.is_some_and(|other| is_alike(&other) && touches(&other));
                sorted(numbered.filter(|&(_, other)| is_found(other)).map(|(number, _)| number))
            };
            assert_eq!(sorted(index.commands_before(&new)), search(&|other| other.end() == new.lba));
            assert_eq!(sorted(index.commands_after(&new)), search(&|other| other.lba == new.end()));
        }
    }
}
