//! The order in which an array accepts writes, and its members' landings translated into blocks of its volumes.
//!
//! Writes to a row go one after another in the order in which the array accepted them. Below a driver that sorts, this
//! is not the order of their stamps. So each write, and each run of a rebuild, gets a number. Commands to the members
//! carry the number in place of a stamp, and parity covers all writes of its row up to its number. A landing from a
//! member gets the stamp of its write back, and keeps the number.
//!
//! Stamps are kept by number only if landings are asked for, and only until nothing of the write can land any more.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::layout::{ArrayVolume, Chunk};
use super::portions::{MemberSpan, SectorBounds};
use crate::block::{Landing, LandingKind, MemberRole, Request};
use crate::host::carried_writes::CarriedWrites;
use crate::time::Instant;

/// The fewest entries that are worth scanning for ones to forget.
const MIN_SCAN_SIZE: usize = 64;

/// A write, or a run of a rebuild.
struct NumberedWrite {
    number: u64,
    /// 0 for a rebuild.
    stamp: u64,
}

/// The numbers given out.
#[derive(Default)]
pub(super) struct Numbering {
    last_number: u64,
    /// Writes that may still land, by rising number.
    kept: Vec<NumberedWrite>,
    /// How many entries trigger the next scan for ones to forget.
    scan_size: usize,
}

impl Numbering {
    /// Gives out the next number, and keeps the stamp under it if landings are asked for.
    fn next_number(&mut self, landings: &CarriedWrites, stamp: u64) -> u64 {
        self.last_number += 1;
        if landings.are_wanted() {
            self.kept.push(NumberedWrite { number: self.last_number, stamp });
        }
        self.last_number
    }

    /// Numbers a write that is accepted at `now`, and reports it.
    pub(super) fn number_write(&mut self, landings: &mut CarriedWrites, now: Instant, request: &Request) -> u64 {
        let number = self.next_number(landings, request.stamp);
        if landings.are_wanted() {
            let sectors = (request.lba, request.sectors);
            let taken = Landing::new(sectors, request.stamp, (now, now), LandingKind::Taken);
            landings.push_landing(Landing { role: MemberRole::Every, number, ..taken });
        }
        number
    }

    /// Numbers a run of a rebuild that begins at `now`, and reports it.
    pub(super) fn number_rebuild_run(
        &mut self,
        landings: &mut CarriedWrites,
        now: Instant,
        volumes: &[ArrayVolume],
        MemberSpan { member, bounds: SectorBounds { from, end } }: MemberSpan,
    ) -> u64 {
        let number = self.next_number(landings, 0);
        if landings.are_wanted() {
            let taken = Landing::new((from, (end - from) as u32), number, (now, now), LandingKind::Taken);
            report_in_blocks(volumes, &Landing { member, ..taken }, 0, |part| landings.push_landing(part));
        }
        number
    }

    /// The stamp of the write with this number.
    pub(super) fn find_stamp(&self, number: u64) -> Option<u64> {
        let index = self.kept.binary_search_by_key(&number, |write| write.number).ok()?;
        Some(self.kept[index].stamp)
    }

    /// True if the list has more than doubled since the last scan.
    pub(super) fn is_scan_due(&self) -> bool {
        self.kept.len() > self.scan_size.max(MIN_SCAN_SIZE)
    }

    /// Keeps only the writes whose number is in `unsettled`: those that can still land.
    pub(super) fn keep_unsettled(&mut self, unsettled: &BTreeSet<u64>) {
        self.kept.retain(|write| unsettled.contains(&write.number));
        self.scan_size = 2 * self.kept.len();
    }

    /// The stamps in the list.
    pub(super) fn kept_stamps(&self) -> impl Iterator<Item = u64> {
        self.kept.iter().map(|write| write.stamp)
    }
}

/// Reports that a member is lost, or whole again.
pub(super) fn report_member_event(landings: &mut CarriedWrites, now: Instant, member: u32, kind: LandingKind) {
    if landings.are_wanted() {
        landings.push_landing(Landing { member, ..Landing::new((0, 0), 0, (now, now), kind) });
    }
}

/// Reports a member's landing in blocks of the volumes, chunk by chunk. The landing has the write's number for a stamp;
/// `stamp` is the write's stamp, or 0 for a rebuild.
pub(super) fn report_in_blocks(
    volumes: &[ArrayVolume],
    landing: &Landing,
    stamp: u64,
    mut report: impl FnMut(Landing),
) {
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
                    (Chunk::Parity(parity), 0) => MemberRole::RebuiltParity(parity),
                    (Chunk::Parity(parity), _) => MemberRole::Parity(parity),
                };
                let part = landing.slice_sectors(from - landing.lba, to - landing.lba);
                report(Landing { role, lba: start + block, stamp, number, ..part });
            }
            from = to;
        }
        start += volume.capacity();
    }
}
