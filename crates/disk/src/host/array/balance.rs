//! Chooses the copy of a mirror that a read is directed to.

use super::layout::{ArrayVolume, MemberSet, RaidLevel};
use super::portions::SectorBounds;
use super::{Array, ReadBalance};

impl Array {
    /// The member from which to read sectors of a chunk; `None` if no copy can be read.
    pub(super) fn choose_copy(
        &mut self,
        volume: &ArrayVolume,
        row: u64,
        column: u32,
        sectors: SectorBounds,
        avoided: MemberSet,
    ) -> Option<u32> {
        let readable = self.members_with(volume, sectors) & !avoided;
        let members = (0..volume.copies()).map(|copy| volume.data_member(row, column, copy));
        let mut members = members.filter(|member| readable >> member & 1 == 1);
        if volume.copies() == 1 {
            return members.next();
        }
        // md's RAID 10 divides a request into chunks before it chooses; its RAID 1 and the others choose once for a request.
        let chooses_by_chunk = self.spec.balance == ReadBalance::Nearest && volume.level == RaidLevel::Raid10;
        let continues =
            |member: &u32| self.growing_pieces[*member as usize].is_some_and(|piece| piece.end == sectors.from);
        let continued = if chooses_by_chunk { None } else { members.clone().find(continues) };
        let chosen = continued.or_else(|| self.balance_read(volume.level, members, sectors.from))?;
        self.members[chosen as usize].next_sequential = Some(sectors.end);
        Some(chosen)
    }

    /// The member that the balance chooses among these, in order, for a read from sector `from`.
    fn balance_read(
        &mut self,
        level: RaidLevel,
        mut members: impl Iterator<Item = u32> + Clone,
        from: u64,
    ) -> Option<u32> {
        match self.spec.balance {
            ReadBalance::First => members.next(),
            ReadBalance::RoundRobin => {
                self.balanced_reads = self.balanced_reads.wrapping_add(1);
                let count = members.clone().count().max(1);
                members.nth(self.balanced_reads as usize % count)
            }
            ReadBalance::Idle => members.min_by_key(|&member| {
                (!self.is_idle(member), self.members[member as usize].queued_end.abs_diff(from), member)
            }),
            ReadBalance::Nearest if level == RaidLevel::Raid10 => {
                members.min_by_key(|&member| if self.is_idle(member) { 0 } else { self.distance_to(member, from) })
            }
            ReadBalance::Nearest => {
                let sequential = members.clone().find(|&member| self.is_sequential(member, from));
                let first_idle = || members.clone().find(|&member| self.is_idle(member));
                let nearest = || members.clone().min_by_key(|&member| self.distance_to(member, from));
                sequential.or_else(first_idle).or_else(nearest)
            }
        }
    }

    /// True if no command waits for the member or is in flight at it, and none is being made for it.
    fn is_idle(&self, member: u32) -> bool {
        let known = &self.members[member as usize];
        known.in_flight == 0 && known.waiting.is_empty() && self.growing_pieces[member as usize].is_none()
    }

    /// True if a read at `sector` continues the last read that was directed to the member, or its last completed command.
    fn is_sequential(&self, member: u32, sector: u64) -> bool {
        let known = &self.members[member as usize];
        known.next_sequential == Some(sector) || known.completed_end == sector
    }

    /// The distance of `sector` from where the member's head is thought to be.
    fn distance_to(&self, member: u32, sector: u64) -> u64 {
        self.members[member as usize].completed_end.abs_diff(sector)
    }
}
