//! The order of blocks of which each comes once in a pass: by a bitmap if it fits, else by a permutation.
//!
//! Up to [`MAP_BLOCKS`] blocks, a file has fio's bitmap: a block is drawn, and if it is taken, the next free one is
//! used, with wrap-around. The bitmap needs a bit for each block (32 MiB at the limit; the system supplies the pages as
//! they are touched). Above the limit (1 TiB of 4 KiB blocks) the order comes from a keyed permutation of the blocks:
//! in constant memory each block comes once, in an order that looks random. The order is not fio's, and lacks the
//! clustering of "the next free one" towards the end of a pass.

use alloc::vec;
use alloc::vec::Vec;

/// The most blocks of a file with a bitmap.
pub(crate) const MAP_BLOCKS: u64 = 1 << 28;

/// The taken blocks. Level 0 has a bit for each block; a bit of a higher level is set when the word below it is full.
#[derive(Clone, Debug)]
pub(crate) struct BlockMap {
    levels: Vec<Vec<u64>>,
    blocks: u64,
}

impl BlockMap {
    /// Creates a map of `blocks` free blocks, at least one.
    pub(crate) fn new(blocks: u64) -> BlockMap {
        let mut levels = Vec::new();
        let mut bits = blocks;
        loop {
            let words = bits.div_ceil(64);
            levels.push(vec![0; words as usize]);
            if words == 1 {
                break;
            }
            bits = words;
        }
        let mut map = BlockMap { levels, blocks };
        map.mark_bits_past_ends();
        map
    }

    /// Frees all blocks.
    pub(crate) fn clear(&mut self) {
        self.levels.iter_mut().for_each(|level| level.fill(0));
        self.mark_bits_past_ends();
    }

    /// Marks the bits past the end of each level except the lowest, which stand for nothing. On the lowest they stay
    /// free, as in fio: a request that begins at the last block and reaches past it marks them too, and is cut only if
    /// they are marked.
    fn mark_bits_past_ends(&mut self) {
        let mut bits = self.levels[0].len() as u64;
        for level in &mut self.levels[1..] {
            if !bits.is_multiple_of(64) {
                *level.last_mut().expect("a level has a word") |= u64::MAX << (bits % 64);
            }
            bits = level.len() as u64;
        }
    }

    /// `block` if it is free, else the next free one, with wrap-around; `None` when all are taken.
    #[inline]
    pub(crate) fn next_free_from(&self, block: u64) -> Option<u64> {
        let word = self.levels[0][(block / 64) as usize];
        if word >> (block % 64) & 1 == 0 {
            return Some(block);
        }
        let here = !word & (u64::MAX << (block % 64));
        let next = match here {
            0 => self.first_free_from_word(block / 64 + 1),
            _ => Some(block / 64 * 64 + u64::from(here.trailing_zeros())),
        };
        let inside = |block: &u64| *block < self.blocks;
        next.filter(inside).or_else(|| self.first_free().filter(inside))
    }

    /// The first free block of all.
    fn first_free(&self) -> Option<u64> {
        let top = self.levels.len() - 1;
        let free = !self.levels[top][0];
        (free != 0).then(|| self.first_free_under_bit(top, u64::from(free.trailing_zeros())))
    }

    /// The first free block of word `word` or a later one.
    fn first_free_from_word(&self, word: u64) -> Option<u64> {
        let mut index = word;
        for level in 1..=self.levels.len() {
            // `index` is the first bit to check in `level`; above the top there is nothing.
            let bits = self.levels.get(level)?;
            let at = (index / 64) as usize;
            if at >= bits.len() {
                return None;
            }
            let free = !bits[at] & (u64::MAX << (index % 64));
            if free != 0 {
                return Some(self.first_free_under_bit(level, at as u64 * 64 + u64::from(free.trailing_zeros())));
            }
            index = at as u64 + 1;
        }
        None
    }

    /// The first free block that bit `bit` of `level` stands for.
    fn first_free_under_bit(&self, level: usize, bit: u64) -> u64 {
        (0..level)
            .rev()
            .fold(bit, |bit, level| bit * 64 + u64::from((!self.levels[level][bit as usize]).trailing_zeros()))
    }

    /// Takes the free blocks from `first` on, up to the next taken one, at most `max_count`; returns how many it took.
    #[inline]
    pub(crate) fn take_free_run(&mut self, first: u64, max_count: u64) -> u64 {
        let mut taken = 0;
        while taken < max_count && first + taken < self.levels[0].len() as u64 * 64 {
            let (mut index, mut level) = (first + taken, 0);
            if self.levels[0][(index / 64) as usize] >> (index % 64) & 1 == 1 {
                break;
            }
            loop {
                let word = &mut self.levels[level][(index / 64) as usize];
                *word |= 1 << (index % 64);
                if *word != u64::MAX || level + 1 == self.levels.len() {
                    break;
                }
                (index, level) = (index / 64, level + 1);
            }
            taken += 1;
        }
        taken
    }
}

/// A keyed permutation of `0..numbers`: an unbalanced Feistel network (Luby and Rackoff 1988) over the next power of
/// two, walked until it falls inside (Black and Rogaway 2002), with fewer than two steps for each number on average.
#[derive(Clone, Debug)]
pub(crate) struct Permutation {
    keys: [u64; Permutation::ROUNDS],
    numbers: u64,
    drawn_count: u64,
    /// Bits of the two halves of a number.
    left_bits: u32,
    right_bits: u32,
}

impl Permutation {
    /// Rounds, half of them on each side. Four make a permutation that looks random; six leave a margin.
    const ROUNDS: usize = 6;

    /// Creates a permutation of `0..numbers`, at least 2 numbers, with keys from `draw_key`.
    pub(crate) fn new(numbers: u64, mut draw_key: impl FnMut() -> u64) -> Permutation {
        let bits = (64 - (numbers - 1).leading_zeros()).max(2);
        let left_bits = bits / 2;
        let keys = core::array::from_fn(|_| draw_key());
        Permutation { keys, numbers, drawn_count: 0, left_bits, right_bits: bits - left_bits }
    }

    /// Starts again from the first number.
    pub(crate) fn restart(&mut self) {
        self.drawn_count = 0;
    }

    /// The next number; `None` when each has come once.
    pub(crate) fn next_number(&mut self) -> Option<u64> {
        if self.drawn_count == self.numbers {
            return None;
        }
        let mut x = self.drawn_count;
        self.drawn_count += 1;
        loop {
            x = self.permute_once(x);
            if x < self.numbers {
                return Some(x);
            }
        }
    }

    fn permute_once(&self, x: u64) -> u64 {
        let (mut left, mut right) = (x >> self.right_bits, x & ((1 << self.right_bits) - 1));
        for pair in self.keys.chunks_exact(2) {
            right ^= mix_bits(left, pair[0]) >> (64 - self.right_bits);
            left ^= mix_bits(right, pair[1]) >> (64 - self.left_bits);
        }
        left << self.right_bits | right
    }
}

/// SplitMix64's finalizer (Steele, Lea and Flood 2014) without its last shift: the high bits are used.
fn mix_bits(x: u64, key: u64) -> u64 {
    let x = (x ^ key).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use seekwise_disk::rng::Seed;

    #[test]
    fn a_map_gives_each_block_once_and_the_next_free_one() {
        for blocks in [1, 2, 63, 64, 65, 4096, 4097, 70_000] {
            let mut rng = Seed(blocks).stream("map");
            let mut map = BlockMap::new(blocks);
            let mut free: BTreeSet<u64> = (0..blocks).collect();
            for _ in 0..blocks {
                let drawn = rng.below(blocks);
                let expected = free.range(drawn..).next().or(free.first()).copied();
                assert_eq!(map.next_free_from(drawn), expected, "{drawn} of {blocks}");
                let block = expected.expect("one is left");
                assert_eq!(map.take_free_run(block, 1), 1);
                free.remove(&block);
            }
            assert_eq!(map.next_free_from(0), None);
            map.clear();
            assert_eq!(map.next_free_from(blocks - 1), Some(blocks - 1));
        }
    }

    #[test]
    fn a_run_stops_at_a_taken_block_and_marks_past_the_end_as_fio_does() {
        let mut map = BlockMap::new(200);
        assert_eq!(map.take_free_run(70, 1), 1);
        assert_eq!(map.take_free_run(60, 64), 10);
        assert_eq!(map.next_free_from(60), Some(71));
        // Four words of 64 bits hold 200 blocks: 66 bits are free from 190 on, and then none of the 200.
        assert_eq!(map.take_free_run(190, 64), 64);
        assert_eq!(map.next_free_from(199), Some(0));
    }

    #[test]
    fn a_permutation_gives_each_number_once() {
        for numbers in [2, 3, 5, 64, 1000, 65_537] {
            let mut rng = Seed(numbers).stream("permutation");
            let mut order = Permutation::new(numbers, || rng.next_u64());
            let seen: BTreeSet<u64> = core::iter::from_fn(|| order.next_number()).collect();
            assert_eq!(seen.len() as u64, numbers);
            order.restart();
            assert!(order.next_number().is_some());
        }
    }

    #[test]
    fn a_permutation_has_no_order_left() {
        // Distances between neighbours of a random order of n are triangular, mean n / 3.
        let mut rng = Seed(5).stream("permutation");
        let numbers = 1 << 33;
        let mut order = Permutation::new(numbers, || rng.next_u64());
        let drawn: Vec<u64> = core::iter::from_fn(|| order.next_number()).take(100_000).collect();
        let mean = drawn.windows(2).map(|w| w[0].abs_diff(w[1])).sum::<u64>() / (drawn.len() as u64 - 1);
        // Standard error of the mean of 10^5: (n / sqrt 18) / 316 = 0.075 % of n; four of them are 0.3 %.
        assert!(mean.abs_diff(numbers / 3) < numbers * 3 / 1000, "{mean}");
        let mut bins = [0u32; 100];
        drawn.iter().for_each(|x| bins[(x * 100 / numbers) as usize] += 1);
        // Chi-squared, 99 degrees of freedom: one key in a thousand exceeds 148; this key is fixed.
        let chi: u64 = bins.iter().map(|&c| u64::from(c.abs_diff(1000)).pow(2)).sum::<u64>() / 1000;
        assert!(chi < 149, "{chi}");
    }
}
