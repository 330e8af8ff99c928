//! What a write to a stripe reads first, and by which method it gets the new parity. The array makes the commands and
//! counts the time; this module only plans.
//!
//! | method | reads |
//! |---|---|
//! | modify (*read-modify-write*) | the pages to be written, and the old parity |
//! | reconstruct (*reconstruct-write*) | the pages of data that are not written |
//! | whole | enough of the pages to know all; used if pages are needed whose member is lost |
//!
//! Pages in the stripe cache need no read. The method with fewer reads is taken, reconstruct on a tie, as Linux does
//! (`handle_stripe_dirtying` in `drivers/md/raid5.c`: read-modify-write only if it needs fewer). Pages that are being read
//! already do not count. If all pages of data are written, nothing is read. If a parity is lost, the rest of the row is read
//! all the same, as md does: 2.4 bytes for each byte of random writes to five drives that have lost one (measured).

use super::layout::{ArrayVolume, MemberSet};
use super::stripe_cache::PAGE;
use crate::block::array_load::MemberWork;

/// How to update parity (`rmw_level` of Linux).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParityWrite {
    /// The method with fewer reads.
    Fewest,
    /// Read-modify-write unless data are lost.
    Modify,
    /// Reconstruct-write unless data are lost.
    Reconstruct,
}

/// The method by which a write gets the new parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParityMethod {
    Modify,
    Reconstruct,
    Whole,
}

impl ParityMethod {
    /// The purpose of its reads.
    pub(super) fn read_work(self) -> MemberWork {
        match self {
            ParityMethod::Modify => MemberWork::ModifyRead,
            ParityMethod::Reconstruct | ParityMethod::Whole => MemberWork::ReconstructRead,
        }
    }
}

/// A write to a stripe: each set is of members.
#[derive(Clone, Copy, Debug)]
pub(super) struct StripeWrite {
    /// The pages of data, and of parity.
    pub data: MemberSet,
    pub parity: MemberSet,
    /// Pages written in part or wholly, and those written wholly.
    pub touched: MemberSet,
    pub covered: MemberSet,
    /// Pages in memory, and pages on their way there.
    pub current: MemberSet,
    pub reading: MemberSet,
    /// Members that can be read, and that are written.
    pub readable: MemberSet,
    pub writable: MemberSet,
}

/// The next step of a write to a stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ParityPlan {
    pub method: ParityMethod,
    /// Pages that must be in memory first, and are not.
    pub missing: MemberSet,
}

/// The members with the data of a row, and with its parity.
pub(super) fn row_members(volume: &ArrayVolume, row: u64) -> (MemberSet, MemberSet) {
    let parity = (0..volume.parities()).fold(0, |set, parity| set | 1u64 << volume.parity_member(row, parity));
    (((1u64 << volume.members) - 1) & !parity, parity)
}

impl StripeWrite {
    /// Plans the next step; `None` if too many members are lost.
    pub fn plan(&self, preferred: ParityWrite) -> Option<ParityPlan> {
        let modify = (self.touched | self.parity) & !self.current;
        let reconstruct = self.data & !self.covered & !self.current;
        let can_read = |pages: MemberSet| pages & !self.readable & !self.reading == 0;
        let reads = |pages: MemberSet| (pages & !self.reading).count_ones();
        let prefers_modify = match preferred {
            ParityWrite::Fewest => reads(modify) < reads(reconstruct),
            ParityWrite::Modify => reconstruct != 0,
            ParityWrite::Reconstruct => false,
        };
        Some(match (can_read(modify), can_read(reconstruct)) {
            (true, true) if prefers_modify => ParityPlan { method: ParityMethod::Modify, missing: modify },
            (_, true) => ParityPlan { method: ParityMethod::Reconstruct, missing: reconstruct },
            (true, false) => ParityPlan { method: ParityMethod::Modify, missing: modify },
            (false, false) => {
                ParityPlan { method: ParityMethod::Whole, missing: self.whole_row_sources()? & !self.current }
            }
        })
    }

    /// The pages from which the whole stripe is known: all that can be read, as md reads them (`need_this_block`). `None` if
    /// there are too few.
    pub fn whole_row_sources(&self) -> Option<MemberSet> {
        let known = (self.data | self.parity) & (self.current | self.readable | self.reading);
        (known.count_ones() >= self.data.count_ones()).then_some(known)
    }

    /// How many sectors the processor reads to compute the parity by this method. Lost data are computed first.
    pub fn computed_sectors(&self, method: ParityMethod) -> u64 {
        let pages = match method {
            ParityMethod::Reconstruct => self.data.count_ones(),
            // Old and new data, and the old parities.
            ParityMethod::Modify => 2 * self.touched.count_ones() + self.parity.count_ones(),
            ParityMethod::Whole => 2 * self.data.count_ones(),
        };
        u64::from(pages) * PAGE
    }
}

/// The members of a set, rising.
pub(super) fn members_of(set: MemberSet) -> impl Iterator<Item = u32> {
    let lowest = |rest: &MemberSet| (*rest != 0).then(|| rest.trailing_zeros());
    core::iter::successors(Some(set), |rest| Some(rest & rest.wrapping_sub(1))).map_while(move |rest| lowest(&rest))
}

#[cfg(test)]
mod tests {
    use super::super::layout::RaidLevel;
    use super::*;

    const ALL: MemberSet = 0b11111;

    /// A write to these members of row 0 of five drives, all of whose pages can be read: data on 0 to 3 and P on 4, or data
    /// on 1 to 3, P on 4 and Q on 0.
    fn write(level: RaidLevel, touched: MemberSet) -> StripeWrite {
        let volume = ArrayVolume { level, members: 5, chunk: 16, first: 0, sectors: 160 };
        let (data, parity) = row_members(&volume, 0);
        StripeWrite { data, parity, touched, covered: touched, current: 0, reading: 0, readable: ALL, writable: ALL }
    }

    fn without(lost: MemberSet, write: StripeWrite) -> StripeWrite {
        StripeWrite { readable: ALL & !lost, writable: ALL & !lost, ..write }
    }

    fn planned(write: StripeWrite) -> Option<(ParityMethod, MemberSet)> {
        write.plan(ParityWrite::Fewest).map(|plan| (plan.method, plan.missing))
    }

    use ParityMethod::{Modify, Reconstruct, Whole};

    #[test]
    fn the_method_with_fewer_reads_is_taken() {
        assert_eq!(planned(write(RaidLevel::Raid5, 0b10)), Some((Modify, 0b10010)), "two reads against three");
        assert_eq!(planned(write(RaidLevel::Raid5, 0b111)), Some((Reconstruct, 0b1000)), "one read against four");
        assert_eq!(planned(write(RaidLevel::Raid5, 0b1111)), Some((Reconstruct, 0)), "the whole row");
        let one = write(RaidLevel::Raid6, 0b10);
        assert_eq!(planned(one), Some((Reconstruct, 0b1100)), "two against three");
        assert_eq!(one.plan(ParityWrite::Modify).map(|plan| plan.method), Some(Modify));
    }

    /// A sequential writer of a page after a page down a row of five: 2, 1, 1 and 0 reads (`md.md`: a byte read for each
    /// byte written).
    #[test]
    fn pages_in_memory_are_not_read_again() {
        let later = |touched, current| StripeWrite { current, ..write(RaidLevel::Raid5, touched) };
        assert_eq!(planned(later(0b10, 0b10001)), Some((Modify, 0b10)), "one read against two");
        assert_eq!(planned(later(0b100, 0b10011)), Some((Reconstruct, 0b1000)), "one against one");
        assert_eq!(planned(later(0b1000, 0b11111)), Some((Reconstruct, 0)));
        let reading = StripeWrite { reading: 0b10001, ..write(RaidLevel::Raid5, 0b11) };
        assert_eq!(planned(reading), Some((Modify, 0b10011)), "one more read against two");
    }

    #[test]
    fn what_is_lost_is_gone_around() {
        let one = write(RaidLevel::Raid5, 0b10);
        assert_eq!(planned(without(0b10, one)), Some((Reconstruct, 0b1101)), "its own drive: the other data");
        assert_eq!(planned(without(0b1, one)), Some((Modify, 0b10010)), "another drive");
        assert_eq!(planned(without(0b10000, one)), Some((Reconstruct, 0b1101)), "parity: md computes it all the same");
        let part = StripeWrite { covered: 0, ..one };
        assert_eq!(planned(without(0b10, part)), Some((Whole, 0b11101)), "a part of a lost page: the whole row");
        assert_eq!(planned(without(0b11, one)), None, "too much is lost");
    }
}
