//! The layout of volumes on the drives of an array: a pure mapping, both ways, used by the array, by judges of
//! durability and by pictures.
//!
//! A volume takes the same range of sectors on each member, and divides it into chunks. The chunks at the same place of
//! all members form a row. In a row:
//!
//! | level | data columns | the rest |
//! |---|---|---|
//! | linear | one a member, but each member is filled before the next | |
//! | RAID 0 | one a member | |
//! | RAID 1 | one | a copy on each member |
//! | RAID 10 | one a pair of neighbours (md's *near* layout of two copies) | a copy on the pair's second |
//! | RAID 5 | one a member except one | P, left-symmetric: on the last member in row 0, one to the left in each next row; data begin after it and wrap round |
//! | RAID 6 | one a member except two | P as in RAID 5, Q after it, data after Q (md's left-symmetric-6) |
//!
//! Source of both rotations: Linux, `drivers/md/raid5.c`, `ALGORITHM_LEFT_SYMMETRIC`, the default of `mdadm`.

use alloc::vec::Vec;
use core::ops::Range;

/// A set of members, one bit each.
pub type MemberSet = u64;

/// How a volume uses its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RaidLevel {
    /// Members are filled one after another (md's *linear*, JBOD).
    Linear,
    /// Striped, without redundancy.
    Raid0,
    /// Mirrored: every member holds all data.
    Raid1,
    /// Striped over mirrored pairs.
    Raid10,
    /// Striped, with one parity chunk a row.
    Raid5,
    /// Striped, with two parity chunks a row.
    Raid6,
}

impl RaidLevel {
    /// The smallest useful number of members.
    pub const fn least_members(self) -> u32 {
        match self {
            RaidLevel::Linear | RaidLevel::Raid0 | RaidLevel::Raid1 => 2,
            RaidLevel::Raid5 => 3,
            RaidLevel::Raid10 | RaidLevel::Raid6 => 4,
        }
    }
}

/// A volume: its share of the members, and its layout on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayVolume {
    pub level: RaidLevel,
    /// How many drives; even for RAID 10.
    pub members: u32,
    /// In sectors.
    pub chunk: u64,
    /// The first sector on each member.
    pub first: u64,
    /// Sectors on each member: whole chunks.
    pub sectors: u64,
}

/// The place of a data block in the rows of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowPosition {
    pub row: u64,
    /// The data column, from 0.
    pub column: u32,
    /// Sectors into the chunk.
    pub within: u64,
}

/// The content of a member's chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chunk {
    /// A copy of a data column.
    Data {
        column: u32,
        /// The copy, from 0.
        copy: u32,
    },
    /// The row's P (0) or Q (1).
    Parity(u32),
}

impl ArrayVolume {
    /// Parity chunks in a row.
    pub const fn parities(&self) -> u32 {
        match self.level {
            RaidLevel::Raid5 => 1,
            RaidLevel::Raid6 => 2,
            _ => 0,
        }
    }

    /// Copies of each data chunk.
    pub const fn copies(&self) -> u32 {
        match self.level {
            RaidLevel::Raid1 => self.members,
            RaidLevel::Raid10 => 2,
            _ => 1,
        }
    }

    /// True if it has copies or parity.
    pub const fn is_redundant(&self) -> bool {
        self.copies() + self.parities() > 1
    }

    /// Data chunks in a row.
    pub const fn columns(&self) -> u32 {
        (self.members - self.parities()) / self.copies()
    }

    /// Data sectors in a row.
    pub const fn row_sectors(&self) -> u64 {
        self.chunk * self.columns() as u64
    }

    /// The length of the requests that it serves best, as md states it (`io_opt`): a row's data, on striped levels only
    /// (`raid0_run`, `raid10_set_io_opt`, `raid5_set_io_opt` in drivers/md; `raid1.c` and `linear.c` state none).
    pub const fn optimal_transfer(&self) -> u32 {
        match self.level {
            RaidLevel::Linear | RaidLevel::Raid1 => 0,
            RaidLevel::Raid0 | RaidLevel::Raid10 | RaidLevel::Raid5 | RaidLevel::Raid6 => self.row_sectors() as u32,
        }
    }

    /// The capacity in sectors.
    pub const fn capacity(&self) -> u64 {
        self.sectors * self.columns() as u64
    }

    /// The first sector after the volume on each member.
    pub const fn end(&self) -> u64 {
        self.first + self.sectors
    }

    /// The place of block `lba` of the volume in its rows.
    pub const fn row_position(&self, lba: u64) -> RowPosition {
        if matches!(self.level, RaidLevel::Linear) {
            let (column, offset) = (lba / self.sectors, lba % self.sectors);
            return RowPosition { row: offset / self.chunk, column: column as u32, within: offset % self.chunk };
        }
        let (row, rest) = (lba / self.row_sectors(), lba % self.row_sectors());
        RowPosition { row, column: (rest / self.chunk) as u32, within: rest % self.chunk }
    }

    /// The member that holds the row's P, if the level has one.
    const fn p_member(&self, row: u64) -> u32 {
        self.members - 1 - (row % self.members as u64) as u32
    }

    /// The member that holds `copy` of a column of a row.
    pub const fn data_member(&self, row: u64, column: u32, copy: u32) -> u32 {
        match self.level {
            RaidLevel::Linear | RaidLevel::Raid0 => column,
            RaidLevel::Raid1 => copy,
            RaidLevel::Raid10 => 2 * column + copy,
            RaidLevel::Raid5 | RaidLevel::Raid6 => self.wrap_member(self.p_member(row) + self.parities() + column),
        }
    }

    /// The member that holds the row's P (`parity` 0) or Q (1).
    pub const fn parity_member(&self, row: u64, parity: u32) -> u32 {
        self.wrap_member(self.p_member(row) + parity)
    }

    /// The number of the member, as the first follows the last.
    const fn wrap_member(&self, member: u32) -> u32 {
        if member < self.members { member } else { member - self.members }
    }

    /// The content of `member` in `row`.
    pub(crate) const fn chunk_of(&self, member: u32, row: u64) -> Chunk {
        match self.level {
            RaidLevel::Linear | RaidLevel::Raid0 => Chunk::Data { column: member, copy: 0 },
            RaidLevel::Raid1 => Chunk::Data { column: 0, copy: member },
            RaidLevel::Raid10 => Chunk::Data { column: member / 2, copy: member % 2 },
            RaidLevel::Raid5 | RaidLevel::Raid6 => {
                let after_p = self.wrap_member(member + self.members - self.p_member(row));
                match after_p < self.parities() {
                    true => Chunk::Parity(after_p),
                    false => Chunk::Data { column: after_p - self.parities(), copy: 0 },
                }
            }
        }
    }

    /// The first sector of `row` on each member.
    pub const fn row_start(&self, row: u64) -> u64 {
        self.first + row * self.chunk
    }

    /// The content of `sector` of `member`: data with its block of the volume, or parity with the block of the row's first
    /// column at the same offset. `None` beyond the volume.
    pub fn block_at(&self, member: u32, sector: u64) -> Option<(Chunk, u64)> {
        let offset = sector.checked_sub(self.first).filter(|&offset| offset < self.sectors)?;
        let (row, within) = (offset / self.chunk, offset % self.chunk);
        let chunk = self.chunk_of(member, row);
        let column = if let Chunk::Data { column, .. } = chunk { u64::from(column) } else { 0 };
        match self.level {
            RaidLevel::Linear => Some((chunk, column * self.sectors + offset)),
            _ => Some((chunk, row * self.row_sectors() + column * self.chunk + within)),
        }
    }

    /// True if the volume keeps all its data without the members in `lost`.
    pub fn survives_loss(&self, lost: MemberSet) -> bool {
        let lost = lost & ((1u64 << self.members) - 1);
        match self.level {
            RaidLevel::Linear | RaidLevel::Raid0 => lost == 0,
            RaidLevel::Raid1 => lost.count_ones() < self.members,
            RaidLevel::Raid10 => (0..self.members / 2).all(|pair| lost >> (2 * pair) & 3 != 3),
            RaidLevel::Raid5 | RaidLevel::Raid6 => lost.count_ones() <= self.parities(),
        }
    }
}

/// The layout of a volume, and its share of the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VolumeShare {
    pub level: RaidLevel,
    /// Thousandths of each member.
    pub permille: u32,
}

/// The volumes of `shares`, one after another on these sectors of each member, in chunks of `chunk` sectors. A remainder
/// of less than a chunk at a volume's end stays unused.
pub(crate) fn lay_out_volumes(
    shares: &[VolumeShare],
    members: u32,
    member_sectors: Range<u64>,
    chunk: u64,
) -> Vec<ArrayVolume> {
    let Range { start: mut first, end } = member_sectors;
    let all = end.saturating_sub(first);
    let lay = |share: &VolumeShare| {
        let sectors = (all * u64::from(share.permille) / 1000).min(end.saturating_sub(first)) / chunk * chunk;
        let volume = ArrayVolume { level: share.level, members, chunk, first, sectors };
        first += sectors;
        volume
    };
    shares.iter().map(lay).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volume_of_each_level() -> Vec<ArrayVolume> {
        let levels = [
            (RaidLevel::Linear, 3),
            (RaidLevel::Raid0, 3),
            (RaidLevel::Raid1, 3),
            (RaidLevel::Raid10, 4),
            (RaidLevel::Raid5, 4),
            (RaidLevel::Raid6, 5),
        ];
        let volume = |(level, members)| ArrayVolume { level, members, chunk: 16, first: 48, sectors: 160 };
        levels.into_iter().map(volume).collect()
    }

    #[test]
    fn every_sector_of_every_member_has_one_meaning() {
        for volume in volume_of_each_level() {
            let mut seen = alloc::vec![0u32; volume.capacity() as usize];
            for (member, sector) in (0..volume.members).flat_map(|m| (48..208).map(move |s| (m, s))) {
                let (chunk, lba) = volume.block_at(member, sector).expect("in the volume");
                let row = (sector - 48) / 16;
                match chunk {
                    Chunk::Data { column, copy } => {
                        seen[lba as usize] += 1;
                        assert_eq!(volume.data_member(row, column, copy), member);
                        assert_eq!(volume.row_position(lba), RowPosition { row, column, within: (sector - 48) % 16 });
                    }
                    Chunk::Parity(parity) => assert_eq!(volume.parity_member(row, parity), member),
                }
            }
            assert!(seen.iter().all(|&count| count == volume.copies()), "{volume:?}");
            assert!(volume.block_at(0, 47).is_none() && volume.block_at(0, 208).is_none());
        }
    }

    /// The first rows of md's documentation of left-symmetric, four drives.
    #[test]
    fn parity_goes_left_and_data_follow_it() {
        let volume = ArrayVolume { level: RaidLevel::Raid5, members: 4, chunk: 8, first: 0, sectors: 80 };
        let row = |row: u64| -> Vec<u32> { (0..3).map(|column| volume.data_member(row, column, 0)).collect() };
        assert_eq!((volume.parity_member(0, 0), row(0)), (3, alloc::vec![0, 1, 2]));
        assert_eq!((volume.parity_member(1, 0), row(1)), (2, alloc::vec![3, 0, 1]));
        assert_eq!((volume.parity_member(2, 0), row(2)), (1, alloc::vec![2, 3, 0]));
    }

    /// Linux 6.1, chunks of 512 KiB: `optimal_io_size` is 2 MiB on RAID 5 of five drives, 1.5 on one of four.
    #[test]
    fn a_striped_volume_states_the_data_of_its_row() {
        let kib = |level, members| {
            ArrayVolume { level, members, chunk: 1024, first: 0, sectors: 1 << 20 }.optimal_transfer() / 2
        };
        assert_eq!((kib(RaidLevel::Raid5, 5), kib(RaidLevel::Raid5, 4), kib(RaidLevel::Raid6, 6)), (2048, 1536, 2048));
        assert_eq!((kib(RaidLevel::Raid0, 8), kib(RaidLevel::Raid10, 4), kib(RaidLevel::Raid10, 2)), (4096, 1024, 512));
        assert_eq!((kib(RaidLevel::Raid1, 2), kib(RaidLevel::Linear, 2)), (0, 0));
    }

    #[test]
    fn redundancy_is_what_the_level_says() {
        let losses: [MemberSet; 4] = [0b0001, 0b0011, 0b0101, 0b0111];
        let survives: Vec<[bool; 4]> =
            volume_of_each_level().iter().map(|volume| losses.map(|lost| volume.survives_loss(lost))).collect();
        assert_eq!(survives[..2], [[false; 4]; 2]);
        assert_eq!(survives[2], [true, true, true, false]);
        assert_eq!(survives[3], [true, false, true, false]);
        assert_eq!(survives[4], [true, false, false, false]);
        assert_eq!(survives[5], [true, true, true, false]);
    }
}
