//! The bytes on the medium: landings bring them there, a power cut tears them. Of a mirror the first copy counts, as a
//! mount after a resync finds it; lost drives are not modelled.
//!
//! ext4 does not reuse the blocks of a removed file before the removal is committed. The model's allocator does, so the
//! old bytes are kept until then.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use seekwise_disk::block::{Landing, LandingKind, MemberRole, SECTOR};

use crate::operation::Tear;

/// Sectors of a block of the file system.
pub(crate) const BLOCK: u64 = 8;
/// Bytes of a block.
const BYTES: usize = (BLOCK * SECTOR) as usize;
/// All sectors of a block, one bit each.
const WHOLE: u8 = 0xff;

/// The owner of a block: a part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Owner {
    pub(crate) file: u32,
    pub(crate) part: u32,
}

/// A block on the medium.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// Whose bytes it holds.
    pub(crate) owner: Owner,
    pub(crate) bytes: [u8; BYTES],
    /// Torn sectors, one bit each.
    pub(crate) torn: u8,
}

/// A block that a mount has found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FoundBlock {
    pub(crate) old: Owner,
    pub(crate) new: Owner,
    pub(crate) number: u64,
    /// Bytes from its beginning to the end of the file.
    pub(crate) bytes: u64,
}

/// A block of which some sectors have landed.
#[derive(Debug)]
struct StagedBlock {
    stamp: u64,
    landed: u8,
    block: Box<Block>,
}

/// The data of a write, from a sector on.
#[derive(Clone, Debug)]
pub(crate) struct WriteData {
    /// The sectors at which owners begin, the first at `lba`.
    pub(crate) owners: Vec<(u64, Owner)>,
    pub(crate) lba: u64,
    pub(crate) bytes: Arc<[u8]>,
}

impl WriteData {
    fn owner_at(&self, lba: u64) -> Owner {
        let next = self.owners.partition_point(|owner| owner.0 <= lba);
        self.owners[next - 1].1
    }
}

/// The blocks that were written, by their number on the drive.
#[derive(Debug, Default)]
pub(crate) struct Medium {
    tear: Tear,
    blocks: BTreeMap<u64, Box<Block>>,
    /// With [`Tear::Page`]: blocks that are written in part.
    staged: BTreeMap<u64, StagedBlock>,
    /// Bytes of another owner that were overwritten, by owner and block.
    replaced: BTreeMap<(Owner, u64), Box<Block>>,
}

/// True if the landing is one that a mount sees.
pub(crate) fn is_seen_by_mount(landing: &Landing) -> bool {
    matches!(landing.role, MemberRole::Copy(0) | MemberRole::RebuiltCopy(0) | MemberRole::Every)
}

impl Medium {
    pub(crate) fn new(tear: Tear) -> Medium {
        Medium { tear, ..Medium::default() }
    }

    /// Applies a landing of a write with these data.
    pub(crate) fn apply_landing(&mut self, landing: &Landing, data: &WriteData) {
        let torn = match landing.kind {
            LandingKind::Landed => false,
            LandingKind::Torn => true,
            _ => return,
        };
        let mut lba = landing.lba;
        while lba < landing.end() {
            let end = landing.end().min((lba / BLOCK + 1) * BLOCK);
            self.apply_to_block(landing.stamp, (lba, end), torn, data);
            lba = end;
        }
    }

    /// Applies a landing of the sectors `lba..end`, which lie in one block.
    fn apply_to_block(&mut self, stamp: u64, (lba, end): (u64, u64), torn: bool, data: &WriteData) {
        let (number, count) = (lba / BLOCK, end - lba);
        let sectors = (WHOLE >> (BLOCK - count)) << (lba % BLOCK);
        let owner = data.owner_at(lba);
        let block = self.blocks.entry(number).or_insert_with(|| Box::new(Block { owner, bytes: [0; BYTES], torn: 0 }));
        if block.owner != owner {
            self.replaced.insert((block.owner, number), block.clone());
            **block = Block { owner, bytes: [0; BYTES], torn: 0 };
        }
        let (from, len) = ((lba % BLOCK * SECTOR) as usize, (count * SECTOR) as usize);
        let source = ((lba - data.lba) * SECTOR) as usize;
        let fresh = &data.bytes[source..source + len];
        if self.tear == Tear::Sector || sectors == WHOLE || torn {
            self.staged.remove(&number);
            match torn {
                true if self.tear == Tear::Page => block.torn = WHOLE,
                true => block.torn |= sectors,
                false => block.torn &= !sectors,
            }
            block.bytes[from..from + len].copy_from_slice(fresh);
            return;
        }
        let old = || StagedBlock { stamp, landed: 0, block: block.clone() };
        let staged = self.staged.entry(number).or_insert_with(old);
        if staged.stamp != stamp {
            *staged = StagedBlock { stamp, landed: 0, block: block.clone() };
        }
        staged.landed |= sectors;
        staged.block.bytes[from..from + len].copy_from_slice(fresh);
        if staged.landed == WHOLE {
            staged.block.torn = 0;
            if let Some(whole) = self.staged.remove(&number) {
                *block = whole.block;
            }
        }
    }

    /// Ends a power cut: pages that were written in part keep their old contents.
    pub(crate) fn end_cut(&mut self) {
        self.staged.clear();
    }

    /// The block with this number, as a mount that gives it to `owner` finds it.
    fn block(&self, owner: Owner, number: u64) -> Option<&Block> {
        self.owned_blocks(owner, number, number + 1).next().map(|(_, block)| block)
    }

    /// The blocks `first..end` that were ever written, as a mount that gives them to `owner` finds them.
    pub(crate) fn owned_blocks(&self, owner: Owner, first: u64, end: u64) -> impl Iterator<Item = (u64, &Block)> {
        let held = self.blocks.range(first..end).filter(move |(_, block)| block.owner == owner);
        let held = held.map(|(&number, block)| (number, &**block));
        let replaced = self.replaced.range((owner, first)..(owner, end));
        held.chain(replaced.map(|(&(_, number), block)| (number, &**block)))
    }

    /// Forgets overwritten bytes of a file, if they had their place in blocks that a commit has freed: by part and block.
    pub(crate) fn forget_replaced(&mut self, file: u32, is_freed: impl Fn(u32, u64) -> bool) {
        self.replaced.retain(|&(owner, number), _| owner.file != file || !is_freed(owner.part, number));
    }

    /// Gives blocks to the owners that a mount has found; those of nobody are forgotten, and bytes beyond the end of a file are
    /// zeros.
    pub(crate) fn set_owners(&mut self, found: &[FoundBlock]) {
        let mut blocks = BTreeMap::new();
        for &FoundBlock { old, new, number, bytes } in found {
            let held = self.block(old, number).cloned();
            if let Some(mut block) = held {
                block.bytes[(bytes as usize).min(BYTES)..].fill(0);
                blocks.insert(number, Box::new(Block { owner: new, ..block }));
            }
        }
        self.blocks = blocks;
        self.replaced.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use seekwise_disk::time::Instant;

    fn owner(file: u32) -> Owner {
        Owner { file, part: 0 }
    }

    fn land(medium: &mut Medium, stamp: u64, (lba, sectors): (u64, u32), kind: LandingKind, file: u32) {
        let at = (Instant::ZERO, Instant::ZERO);
        let data = WriteData { owners: vec![(0, owner(file))], lba: 0, bytes: Arc::from(vec![stamp as u8; 2 * BYTES]) };
        medium.apply_landing(&Landing::new((lba, sectors), stamp, at, kind), &data);
    }

    /// One byte of each sector of block 0, and the torn sectors.
    fn sectors(medium: &Medium, file: u32) -> (Vec<u8>, u8) {
        let block = medium.block(owner(file), 0).expect("it was written");
        (block.bytes.chunks(512).map(|sector| sector[9]).collect(), block.torn)
    }

    #[test]
    fn sectors_land_one_by_one_or_pages_as_a_whole() {
        for (tear, after, torn) in [(Tear::Sector, 2, 4), (Tear::Page, 1, 0xff)] {
            let mut medium = Medium::new(tear);
            land(&mut medium, 1, (0, 16), LandingKind::Landed, 5);
            land(&mut medium, 2, (0, 2), LandingKind::Landed, 5);
            assert_eq!(sectors(&medium, 5).0[..3], [after, after, 1]);
            land(&mut medium, 2, (2, 1), LandingKind::Torn, 5);
            medium.end_cut();
            assert_eq!(sectors(&medium, 5).1, torn);
            land(&mut medium, 3, (0, 5), LandingKind::Landed, 5);
            land(&mut medium, 3, (5, 3), LandingKind::Landed, 5);
            assert_eq!(sectors(&medium, 5), (vec![3; 8], 0));
        }
    }

    #[test]
    fn bytes_of_a_removed_file_stay_until_its_removal_is_committed() {
        let mut medium = Medium::new(Tear::Sector);
        land(&mut medium, 1, (0, 8), LandingKind::Landed, 5);
        land(&mut medium, 2, (0, 8), LandingKind::Landed, 6);
        assert_eq!((sectors(&medium, 5).0[0], sectors(&medium, 6).0[0]), (1, 2));
        medium.forget_replaced(5, |_, block| block == 1);
        assert!(medium.block(owner(5), 0).is_some());
        medium.forget_replaced(5, |_, block| block == 0);
        assert!(medium.block(owner(5), 0).is_none());
    }
}
