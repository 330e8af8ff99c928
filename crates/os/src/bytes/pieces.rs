//! The pieces of an image in memory, by number, in groups: a search goes through a tree of groups, which stays in the
//! processor's caches where one of pieces would not. What a piece holds is not known here.

use std::collections::BTreeMap;
use std::ops::Range;

use seekwise_disk::block::SECTOR;

/// Sectors of a piece: 4 KiB, the page size of its writers, so that most writes fill whole pieces.
pub const PIECE: u64 = 8;

/// Bytes of a piece.
pub(super) const PIECE_BYTES: usize = (PIECE * SECTOR) as usize;

/// Pieces of a group: 1 GiB of data has 16384 groups, whose tree takes half a megabyte. A larger group would cost a lone
/// piece more memory.
const GROUP: u64 = 16;

/// Memory of a piece, at most, as if it were alone in its group: its bytes; the group's places, 8 bytes each; an
/// allocation's overhead for each of both, 16; and the group's place in a tree whose nodes are two thirds full, 32.
pub(crate) const PIECE_COST: u64 = PIECE * SECTOR + 8 * GROUP + 64;

/// The data of a piece.
pub(super) type Piece = Box<[u8; PIECE_BYTES]>;

/// Pieces by number.
#[derive(Debug, Default)]
pub(super) struct PieceTable {
    /// Each has a piece at least.
    groups: BTreeMap<u64, Box<[Option<Piece>; GROUP as usize]>>,
    pieces: usize,
}

impl PieceTable {
    /// The piece of this number.
    pub fn get_mut(&mut self, number: u64) -> Option<&mut Piece> {
        self.groups.get_mut(&(number / GROUP))?[(number % GROUP) as usize].as_mut()
    }

    /// Sets the piece of this number.
    pub fn insert(&mut self, number: u64, piece: Piece) {
        let group = self.groups.entry(number / GROUP).or_default();
        let former = group[(number % GROUP) as usize].replace(piece);
        self.pieces += usize::from(former.is_none());
    }

    /// Removes the piece of this number, if there is one.
    pub fn remove(&mut self, number: u64) {
        let Some(group) = self.groups.get_mut(&(number / GROUP)) else { return };
        let former = group[(number % GROUP) as usize].take();
        self.pieces -= usize::from(former.is_some());
        if group.iter().all(Option::is_none) {
            self.groups.remove(&(number / GROUP));
        }
    }

    /// Iterates over the pieces of these numbers, in order.
    pub fn within(&self, numbers: Range<u64>) -> impl Iterator<Item = (u64, &Piece)> {
        let Range { start, end } = numbers;
        let groups = self.groups.range(start / GROUP..end.div_ceil(GROUP).max(start / GROUP));
        let all = groups.flat_map(|(group, places)| (group * GROUP..).zip(places.iter()));
        let present = all.filter_map(|(number, piece)| piece.as_ref().map(|piece| (number, piece)));
        present.skip_while(move |(number, _)| *number < start).take_while(move |(number, _)| *number < end)
    }

    /// Number of pieces.
    pub fn len(&self) -> usize {
        self.pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_disk::rng::Seed;
    use std::collections::BTreeSet;

    #[test]
    fn a_table_has_the_pieces_that_a_set_has() {
        let mut rng = Seed(1).stream("pieces");
        let (mut table, mut set) = (PieceTable::default(), BTreeSet::new());
        for _ in 0..5_000 {
            let (number, from, end) = (rng.below(80), rng.below(80), rng.below(80));
            if rng.draw_chance(50) {
                table.insert(number, Box::new([number as u8; PIECE_BYTES]));
                set.insert(number);
            } else {
                table.remove(number);
                set.remove(&number);
            }
            let found: Vec<u64> = table.within(from..end).map(|(number, _)| number).collect();
            let expected: Vec<u64> = set.iter().copied().filter(|it| (from..end).contains(it)).collect();
            assert_eq!((found, table.len()), (expected, set.len()), "{from} to {end}");
            assert_eq!(table.get_mut(number).map(|piece| piece[9]), set.get(&number).map(|_| number as u8));
            let groups: BTreeSet<u64> = set.iter().map(|number| number / GROUP).collect();
            assert!(table.groups.keys().eq(groups.iter()), "an empty group is removed");
        }
    }
}
