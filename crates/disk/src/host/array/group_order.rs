//! The order in which a rebuild or a check takes the sectors of the members: by address, or in groups in random order, as an object store
//! backfills its objects in the order of their names' hashes.
//!
//! The order is a permutation that is computed both ways, so nothing is stored: four rounds of a Feistel network over the next power of
//! four, walked until it lands within the groups (J. Black and P. Rogaway, *Ciphers with arbitrary finite domains*, CT-RSA 2002). It is the
//! same for every seed: where objects lie is no chance of a run.
//!
//! A *position* is a place in the order, from the volume's first sector on; by address positions are sectors.

use super::layout::ArrayVolume;
use super::portions::SectorBounds;

/// Rounds of the network.
const ROUNDS: u64 = 4;

/// The order of a volume's sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GroupOrder {
    first: u64,
    /// Sectors of a group; 0 if sectors are taken by address.
    group: u64,
    /// Whole groups. What is left after them comes last.
    groups: u64,
}

impl GroupOrder {
    /// The order of `volume` in groups of so many sectors; by address if they are 0.
    pub fn new(volume: &ArrayVolume, group: u64) -> GroupOrder {
        GroupOrder { first: volume.first, group, groups: volume.sectors.checked_div(group).unwrap_or(0) }
    }

    /// The sector at `position`.
    pub fn sector(&self, position: u64) -> u64 {
        self.exchange(position, |index| self.permute(index, false))
    }

    /// The position of `sector`.
    pub fn position(&self, sector: u64) -> u64 {
        self.exchange(sector, |index| self.permute(index, true))
    }

    /// Positions from `position` on that are neighbours on the members too, up to `most`.
    pub fn neighbours(&self, position: u64, most: u64) -> u64 {
        match (position - self.first).checked_div(self.group) {
            Some(index) if index < self.groups => most.min(self.group - (position - self.first) % self.group),
            _ => most,
        }
    }

    /// The first sector of each part of `sectors` that lies in one group.
    pub fn parts(&self, sectors: SectorBounds) -> impl Iterator<Item = u64> {
        let GroupOrder { first, group, .. } = *self;
        let next = move |&from: &u64| {
            let index = (from - first).checked_div(group)?;
            Some(first + (index + 1) * group)
        };
        core::iter::successors(Some(sectors.from), next).take_while(move |&from| from < sectors.end)
    }

    /// The end of the part of `sectors` that begins at `from`.
    pub fn part_end(&self, from: u64, sectors: SectorBounds) -> u64 {
        match (from - self.first).checked_div(self.group) {
            Some(index) => sectors.end.min(self.first + (index + 1) * self.group),
            None => sectors.end,
        }
    }

    fn exchange(&self, place: u64, other: impl Fn(u64) -> u64) -> u64 {
        match (place - self.first).checked_div(self.group) {
            Some(index) if index < self.groups => {
                self.first + other(index) * self.group + (place - self.first) % self.group
            }
            _ => place,
        }
    }

    /// The place of a group in the order, or the group at a place of it.
    fn permute(&self, index: u64, back: bool) -> u64 {
        let half_bits = (64 - (self.groups - 1).leading_zeros()).div_ceil(2).max(1);
        let mut at = index;
        loop {
            at = permute_bits(at, half_bits, back);
            if at < self.groups {
                return at;
            }
        }
    }
}

/// A permutation of the numbers of twice so many bits.
fn permute_bits(number: u64, half_bits: u32, back: bool) -> u64 {
    let mask = (1u64 << half_bits) - 1;
    let (mut left, mut right) = (number >> half_bits, number & mask);
    for round in 0..ROUNDS {
        if back {
            let round = ROUNDS - 1 - round;
            (left, right) = (right ^ mix(left, round) & mask, left);
        } else {
            (left, right) = (right, left ^ mix(right, round) & mask);
        }
    }
    left << half_bits | right
}

/// Mixes a number, by the finalizer of SplitMix64.
fn mix(number: u64, round: u64) -> u64 {
    let mut z = number.wrapping_add((round + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::super::layout::RaidLevel;
    use super::*;
    use alloc::vec::Vec;

    fn order(sectors: u64, group: u64) -> GroupOrder {
        GroupOrder::new(&ArrayVolume { level: RaidLevel::Raid1, members: 2, chunk: 8, first: 40, sectors }, group)
    }

    #[test]
    fn each_sector_comes_once_and_is_found_again() {
        for (sectors, group) in [(800, 0), (800, 8), (808, 16), (8, 8), (24, 16), (16, 1024), (100_000, 16)] {
            let order = order(sectors, group);
            let mut places: Vec<u64> = (40..40 + sectors).map(|position| order.sector(position)).collect();
            assert!((40..40 + sectors).all(|position| order.position(order.sector(position)) == position));
            places.sort_unstable();
            assert!(places.iter().copied().eq(40..40 + sectors), "{sectors} in {group}");
        }
    }

    #[test]
    fn groups_are_whole_and_their_order_is_no_order_of_addresses() {
        let order = order(64_000, 64);
        for position in (40..64_000).step_by(24) {
            let length = order.neighbours(position, 1 << 20);
            assert_eq!(order.sector(position + length - 1), order.sector(position) + length - 1);
        }
        let starts: Vec<u64> = (0..1000).map(|group| order.sector(40 + 64 * group)).collect();
        let mean_step: f64 = starts.windows(2).map(|pair| pair[0].abs_diff(pair[1]) as f64).sum::<f64>() / 999.0;
        // Two random places are a third of the way apart.
        assert!((mean_step / 64_000.0 - 1.0 / 3.0).abs() < 0.03, "{mean_step}");
    }

    #[test]
    fn a_range_has_a_part_in_each_group() {
        let parts = |group| order(640, group).parts(SectorBounds { from: 50, end: 110 }).collect::<Vec<_>>();
        assert_eq!(parts(0), [50]);
        assert_eq!(parts(32), [50, 72, 104]);
    }
}
