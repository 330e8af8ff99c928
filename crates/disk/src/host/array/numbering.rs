//! The order in which an array accepts writes, and its members' landings in the caller's terms.
//!
//! Writes to a row go one after another in the order in which the array accepted them. Where a driver above sorts, this
//! is not the order of their stamps. So each write, and each run of a rebuild, gets a number. Commands to the members
//! carry the number in place of a stamp, and parity covers all writes of its row up to its number. On their way up
//! landings get the stamp back, and keep the number.
//!
//! Stamps of numbers are kept only if landings are asked for, and only until nothing of the write can land any more.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::layout::{ArrayVolume, Chunk};
use crate::block::{Landing, LandingKind, MemberRole, Request};
use crate::host::carried_writes::CarriedWrites;
use crate::time::Instant;

/// The fewest entries that are worth scanning for ones to forget.
const MANY: usize = 64;

/// The numbers given out.
#[derive(Default)]
pub(super) struct Numbering {
    last: u64,
    /// Numbers and their stamps, rising; stamp 0 for a rebuild.
    taken: Vec<(u64, u64)>,
    /// How many entries trigger the next scan for ones to forget.
    enough: usize,
}

impl Numbering {
    fn next(&mut self, landings: &CarriedWrites, stamp: u64) -> u64 {
        self.last += 1;
        if landings.are_wanted() {
            self.taken.push((self.last, stamp));
        }
        self.last
    }

    /// Numbers a write that is accepted at `now`, and reports it.
    pub(super) fn number_write(&mut self, landings: &mut CarriedWrites, now: Instant, request: &Request) -> u64 {
        let number = self.next(landings, request.stamp);
        if landings.are_wanted() {
            let place = (request.lba, request.sectors);
            let taken = Landing::new(place, request.stamp, (now, now), LandingKind::Taken);
            landings.push_landing(Landing { role: MemberRole::Every, number, ..taken });
        }
        number
    }

    /// Numbers a run of a rebuild, a range of a member's sectors, and reports it.
    pub(super) fn number_rebuild_run(
        &mut self,
        landings: &mut CarriedWrites,
        now: Instant,
        volumes: &[ArrayVolume],
        (member, from, to): (u32, u64, u64),
    ) -> u64 {
        let number = self.next(landings, 0);
        if landings.are_wanted() {
            let taken = Landing::new((from, (to - from) as u32), number, (now, now), LandingKind::Taken);
            report_in_blocks(volumes, &Landing { member, ..taken }, 0, |part| landings.push_landing(part));
        }
        number
    }

    /// The stamp of the write with this number.
    pub(super) fn find_stamp(&self, number: u64) -> Option<u64> {
        let place = self.taken.binary_search_by_key(&number, |entry| entry.0).ok()?;
        Some(self.taken[place].1)
    }

    /// True if the list has more than doubled since the last scan.
    pub(super) fn is_scan_due(&self) -> bool {
        self.taken.len() > self.enough.max(MANY)
    }

    /// Keeps only the numbers that can still land.
    pub(super) fn keep_unsettled(&mut self, unsettled: &BTreeSet<u64>) {
        self.taken.retain(|(number, _)| unsettled.contains(number));
        self.enough = 2 * self.taken.len();
    }

    /// The stamps in the list.
    pub(super) fn kept_stamps(&self) -> impl Iterator<Item = u64> {
        self.taken.iter().map(|entry| entry.1)
    }
}

/// Reports that a member is lost, or whole again.
pub(super) fn report_member(landings: &mut CarriedWrites, now: Instant, member: u32, kind: LandingKind) {
    if landings.are_wanted() {
        landings.push_landing(Landing { member, ..Landing::new((0, 0), 0, (now, now), kind) });
    }
}

/// Reports a member's landing in blocks of the volumes, chunk by chunk. The landing's stamp is a number; `stamp` is the
/// write's, or 0 for a rebuild.
pub(super) fn report_in_blocks(volumes: &[ArrayVolume], landing: &Landing, stamp: u64, mut tell: impl FnMut(Landing)) {
    let (number, mut start) = (landing.stamp, 0);
    for volume in volumes {
        let (mut from, end) = (landing.lba.max(volume.first), landing.end().min(volume.end()));
        while from < end {
            let row = (from - volume.first) / volume.chunk;
            let to = (volume.row_start(row) + volume.chunk).min(end);
            if let Some((chunk, block)) = volume.block_at(landing.member, from) {
                let role = match (chunk, stamp) {
                    (Chunk::Data { copy, .. }, 0) => MemberRole::RebuiltCopy(copy),
                    (Chunk::Data { copy, .. }, _) => MemberRole::Copy(copy),
                    (Chunk::Parity(which), 0) => MemberRole::RebuiltParity(which),
                    (Chunk::Parity(which), _) => MemberRole::Parity(which),
                };
                let part = landing.slice_sectors(from - landing.lba, to - landing.lba);
                tell(Landing { role, lba: start + block, stamp, number, ..part });
            }
            from = to;
        }
        start += volume.capacity();
    }
}
