//! The order in which an array accepts writes, and its members' landings translated into blocks of its volumes.
//!
//! Writes to a row go one after another in the order in which the array accepted them. Below a driver that sorts, this
//! is not the order of their stamps. So each write, and each run of a rebuild, gets a number. Commands to the members
//! carry the number in place of a stamp, and parity covers all writes of its row up to its number. A landing from a
//! member gets the stamp of its write back, and keeps the number.
//!
//! A command of the stripe cache carries several writes. It has a number of its own, under which the parts of its writes
//! are kept.
//!
//! Stamps are kept by number only if landings are asked for, and only until nothing of the write can land any more.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::layout::{ArrayVolume, Chunk, MemberSet};
use super::portions::SectorBounds;
use crate::block::{Landing, LandingKind, MemberRole};
use crate::host::carried_writes::CarriedWrites;
use crate::time::Instant;

/// The fewest entries that are worth scanning for ones to forget.
const MIN_SCAN_SIZE: usize = 64;

/// A write, or a run of a rebuild.
#[derive(Clone)]
struct NumberedWrite {
    number: u64,
    /// 0 for a rebuild.
    stamp: u64,
}

/// Sectors of a member that a command of the stripe cache writes for one write, or a page of parity up to that write.
#[derive(Clone, Copy)]
pub(super) struct GatheredPart {
    pub bounds: SectorBounds,
    /// The number of the write, and its stamp.
    pub number: u64,
    pub stamp: u64,
}

/// The numbers given out.
#[derive(Clone, Default)]
pub(super) struct Numbering {
    last_number: u64,
    /// Writes that may still land, by rising number.
    kept: Vec<NumberedWrite>,
    /// The parts of commands of the stripe cache, by the commands' numbers.
    gathered: BTreeMap<u64, Vec<GatheredPart>>,
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

    /// Numbers a write to these blocks that is accepted at `now`, and reports it.
    pub(super) fn number_write(
        &mut self,
        landings: &mut CarriedWrites,
        now: Instant,
        stamp: u64,
        SectorBounds { from, end }: SectorBounds,
    ) -> u64 {
        let number = self.next_number(landings, stamp);
        if landings.are_wanted() {
            let taken = Landing::new((from, (end - from) as u32), stamp, (now, now), LandingKind::Taken);
            landings.push_landing(Landing { role: MemberRole::Every, number, ..taken });
        }
        number
    }

    /// Numbers a command of the stripe cache that writes these parts.
    pub(super) fn number_gathered(&mut self, parts: Vec<GatheredPart>) -> u64 {
        self.last_number += 1;
        self.gathered.insert(self.last_number, parts);
        self.last_number
    }

    /// The parts of the command of the stripe cache with this number, if it is one.
    pub(super) fn find_gathered(&self, number: u64) -> Option<&[GatheredPart]> {
        self.gathered.get(&number).map(Vec::as_slice)
    }

    /// Numbers a run of a rebuild of these members that begins at `now`, and reports it.
    pub(super) fn number_rebuild_run(
        &mut self,
        landings: &mut CarriedWrites,
        now: Instant,
        volumes: &[ArrayVolume],
        (members, SectorBounds { from, end }): (MemberSet, SectorBounds),
    ) -> u64 {
        let number = self.next_number(landings, 0);
        if landings.are_wanted() {
            let taken = Landing::new((from, (end - from) as u32), number, (now, now), LandingKind::Taken);
            for member in (0..MemberSet::BITS).filter(|member| members >> member & 1 == 1) {
                report_in_blocks(volumes, &Landing { member, ..taken }, 0, |part| landings.push_landing(part));
            }
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
        self.kept.len() + self.gathered.len() > self.scan_size.max(MIN_SCAN_SIZE)
    }

    /// Keeps only the writes whose number is in `unsettled`: those that can still land.
    pub(super) fn keep_unsettled(&mut self, unsettled: &BTreeSet<u64>) {
        self.kept.retain(|write| unsettled.contains(&write.number));
        self.gathered.retain(|number, _| unsettled.contains(number));
        self.scan_size = 2 * (self.kept.len() + self.gathered.len());
    }

    /// The stamps in the list.
    pub(super) fn kept_stamps(&self) -> impl Iterator<Item = u64> {
        let gathered = self.gathered.values().flatten().map(|part| part.stamp);
        self.kept.iter().map(|write| write.stamp).chain(gathered)
    }
}

/// Reports that a member is lost, or whole again.
pub(super) fn report_member_event(landings: &mut CarriedWrites, now: Instant, member: u32, kind: LandingKind) {
    if landings.are_wanted() {
        landings.push_landing(Landing { member, ..Landing::new((0, 0), 0, (now, now), kind) });
    }
}

/// Reports a landing of a command of the stripe cache, part by part.
pub(super) fn report_gathered(
    volumes: &[ArrayVolume],
    landing: &Landing,
    parts: &[GatheredPart],
    mut report: impl FnMut(Landing),
) {
    for part in parts {
        let (from, end) = (part.bounds.from.max(landing.lba), part.bounds.end.min(landing.end()));
        if from < end {
            let of_part = landing.slice_sectors(from - landing.lba, end - landing.lba);
            report_in_blocks(volumes, &Landing { stamp: part.number, ..of_part }, part.stamp, &mut report);
        }
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
