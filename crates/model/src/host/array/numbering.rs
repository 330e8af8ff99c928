//! The order in which an array takes writes, and what its members report in the words of whoever is above.
//!
//! Writes to a row go one after another in the order in which the array took them, which is not that of their stamps where
//! a driver above sorts. So each write, and each run of a rebuild, has a number; commands to the members carry it for a
//! stamp, and parity belongs to all writes of its row up to its number. On their way up landings have the stamp again,
//! and the number besides.
//!
//! What the stamp of a number was is kept only where landings are asked for, and only until nothing of that write can land
//! any more.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::layout::{Chunk, Volume};
use crate::block::{Landing, LandingKind, Request, Role};
use crate::host::carried::Carried;
use crate::time::Instant;

/// The fewest that are looked through to forget some.
const MANY: usize = 64;

/// Numbers given out.
#[derive(Default)]
pub(super) struct Numbering {
    last: u64,
    /// Numbers and the stamps that belong to them, rising; stamp 0 for a rebuild's.
    taken: Vec<(u64, u64)>,
    /// So many of those are looked through to forget some.
    enough: usize,
}

impl Numbering {
    fn next(&mut self, landings: &Carried, stamp: u64) -> u64 {
        self.last += 1;
        if landings.are_wanted() {
            self.taken.push((self.last, stamp));
        }
        self.last
    }

    /// The number of a write that is taken at `now`.
    pub(super) fn take(&mut self, landings: &mut Carried, now: Instant, request: &Request) -> u64 {
        let number = self.next(landings, request.stamp);
        if landings.are_wanted() {
            let place = (request.lba, request.sectors);
            let taken = Landing::new(place, request.stamp, (now, now), LandingKind::Taken);
            landings.tell(Landing { role: Role::Every, number, ..taken });
        }
        number
    }

    /// The number of a run of a rebuild: a member's sectors from, up to.
    pub(super) fn take_run(
        &mut self,
        landings: &mut Carried,
        now: Instant,
        volumes: &[Volume],
        (member, from, to): (u32, u64, u64),
    ) -> u64 {
        let number = self.next(landings, 0);
        if landings.are_wanted() {
            let taken = Landing::new((from, (to - from) as u32), number, (now, now), LandingKind::Taken);
            in_blocks(volumes, &Landing { member, ..taken }, 0, |part| landings.tell(part));
        }
        number
    }

    /// The stamp of what went down under `number`.
    pub(super) fn stamp(&self, number: u64) -> Option<u64> {
        let place = self.taken.binary_search_by_key(&number, |entry| entry.0).ok()?;
        Some(self.taken[place].1)
    }

    /// More are kept than there were twice over.
    pub(super) fn are_many(&self) -> bool {
        self.taken.len() > self.enough.max(MANY)
    }

    /// Only these can still land.
    pub(super) fn keep(&mut self, unsettled: &BTreeSet<u64>) {
        self.taken.retain(|(number, _)| unsettled.contains(number));
        self.enough = 2 * self.taken.len();
    }

    /// The stamps that are kept.
    pub(super) fn stamps(&self) -> impl Iterator<Item = u64> {
        self.taken.iter().map(|entry| entry.1)
    }
}

/// Tells that a member is lost, or whole again.
pub(super) fn tell_member(landings: &mut Carried, now: Instant, member: u32, kind: LandingKind) {
    if landings.are_wanted() {
        landings.tell(Landing { member, ..Landing::new((0, 0), 0, (now, now), kind) });
    }
}

/// Tells a landing of a member in blocks of the volumes, chunk by chunk. Its stamp is a number, that of the write is
/// `stamp`; 0 marks a rebuild.
pub(super) fn in_blocks(volumes: &[Volume], landing: &Landing, stamp: u64, mut tell: impl FnMut(Landing)) {
    let (number, mut start) = (landing.stamp, 0);
    for volume in volumes {
        let (mut from, end) = (landing.lba.max(volume.first), landing.end().min(volume.end()));
        while from < end {
            let row = (from - volume.first) / volume.chunk;
            let to = (volume.row_start(row) + volume.chunk).min(end);
            if let Some((chunk, block)) = volume.block(landing.member, from) {
                let role = match (chunk, stamp) {
                    (Chunk::Data { copy, .. }, 0) => Role::RebuiltCopy(copy),
                    (Chunk::Data { copy, .. }, _) => Role::Copy(copy),
                    (Chunk::Parity(which), 0) => Role::RebuiltParity(which),
                    (Chunk::Parity(which), _) => Role::Parity(which),
                };
                let part = landing.part(from - landing.lba, to - landing.lba);
                tell(Landing { role, lba: start + block, stamp, number, ..part });
            }
            from = to;
        }
        start += volume.capacity();
    }
}
