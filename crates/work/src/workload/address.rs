//! The addresses of fio's random requests: block numbers by distribution, each once if a pass has a map.
//!
//! Zipf, pareto and normal are fio's formulas in fixed point (see `fixed_point`), scattered by its multiplicative hash;
//! `zoned` is the one distribution that clusters on the disk. Zipf follows Gray et al. (SIGMOD 1994) as fio does, with
//! the sum of its weights cut after ten million ranks: the first [`ZETA_EXACT`] are added one by one, the rest by the
//! Euler-Maclaurin formula, whose first omitted term is below 10^-12 of the sum.
//!
//! fio seeds zipf, pareto and normal with a hash of the file's *name* unless `randseed` is given. A job here has no
//! file names; these streams start from the thread's block seed, as fio's do with `randseed`.

use alloc::vec::Vec;

use super::fixed_point::{self, FixedLog2};
use super::job::{Distribution, Generator};
use super::map::{BlockMap, MAP_BLOCKS, Permutation};
use super::tausworthe::{Lfsr, Seeds, StreamPurpose, Tausworthe, Tausworthe88, scale_short};

/// The most ranks whose weights fio adds up.
const ZETA_RANKS: u64 = 10_000_000;
/// Ranks whose weights are added one by one.
const ZETA_EXACT: u64 = 1024;
/// One million: the unit of exponents.
const MILLION: i128 = 1_000_000;
/// fio's multiplicative hash (Knuth 6.4): 2^64 (1 - golden ratio), made odd.
const HASH: u64 = 0x61c8_8646_80b5_83eb;
/// The largest number of 32 bits: fio's uniform numbers for zipf and pareto run from 0 to 1 inclusive.
const LAST: u64 = u32::MAX as u64;

/// A share of accesses and the part of the space that receives them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AccessZone {
    /// From and to, in per cent of the blocks.
    Percent(u64, u64),
    /// From and to, in bytes.
    Bytes(u64, u64),
}

/// The random streams of addresses that all files of a thread share.
#[derive(Clone, Debug)]
pub(crate) struct AddressRng {
    random: Tausworthe,
    zone: Tausworthe88,
    zones: Vec<AccessZone>,
}

impl AddressRng {
    /// The streams at their start.
    pub(crate) fn new(seeds: &Seeds, long: bool, distribution: &Distribution) -> AddressRng {
        AddressRng {
            random: Tausworthe::new(seeds.stream_seed(StreamPurpose::Block), long),
            zone: Tausworthe88::new(seeds.stream_seed(StreamPurpose::Zone)),
            zones: zone_table(distribution),
        }
    }

    /// A uniform number below `n`.
    #[inline]
    pub(crate) fn draw_uniform(&mut self, n: u64) -> u64 {
        self.random.below(n)
    }

    /// Sets the streams back to the start.
    pub(crate) fn restart(&mut self, seeds: &Seeds, long: bool) {
        self.random = Tausworthe::new(seeds.stream_seed(StreamPurpose::Block), long);
        self.zone = Tausworthe88::new(seeds.stream_seed(StreamPurpose::Zone));
    }
}

/// One zone for each per cent of accesses.
fn zone_table(distribution: &Distribution) -> Vec<AccessZone> {
    let mut table = Vec::new();
    match distribution {
        Distribution::Zoned(list) => {
            let mut from = 0;
            for &(accesses, size) in list {
                let to = from + u64::from(size);
                table.extend(core::iter::repeat_n(AccessZone::Percent(from, to), accesses.into()));
                from = to;
            }
        }
        Distribution::ZonedAbsolute(list) => {
            let mut from = 0;
            for &(accesses, size) in list {
                let to = from + size;
                table.extend(core::iter::repeat_n(AccessZone::Bytes(from, to), accesses.into()));
                from = to;
            }
        }
        _ => {}
    }
    table
}

/// How the blocks of a pass are kept distinct.
#[derive(Clone, Debug)]
enum BlockCoverage {
    /// Not at all: a block can come twice.
    Free,
    Map(BlockMap),
    Permutation(Permutation),
    Lfsr(Lfsr),
}

/// A distribution's own state in one file.
#[derive(Clone, Debug)]
enum DistributionState {
    Uniform,
    Zipf(Zipf),
    Pareto(Pareto),
    Normal(Normal),
    Zoned,
}

/// The generator of addresses in one file.
#[derive(Clone, Debug)]
pub(crate) struct AddressStream {
    cover: BlockCoverage,
    shape: DistributionState,
}

/// The space of an [`AddressStream`].
pub(crate) struct AddressSpace<'a> {
    pub(crate) distribution: &'a Distribution,
    pub(crate) generator: Generator,
    /// Each block once in a pass.
    pub(crate) once: bool,
    /// All requests are one block long.
    pub(crate) single: bool,
    /// Blocks of the map or the shift register; all directions share them by number.
    pub(crate) blocks: u64,
    /// Blocks over which a distribution other than the uniform one is spread.
    pub(crate) ranks: u64,
}

impl AddressStream {
    /// The state of one file at its start. `space.blocks` is not 0, and the distribution's parameters were checked.
    pub(crate) fn new(space: &AddressSpace<'_>, seeds: &Seeds) -> AddressStream {
        let seed = seeds.stream_seed(StreamPurpose::Block);
        let (blocks, ranks) = (space.blocks, space.ranks);
        let shape = match *space.distribution {
            Distribution::Uniform => DistributionState::Uniform,
            Distribution::Zipf { theta, center } => DistributionState::Zipf(Zipf::new(ranks, theta, center, seed)),
            Distribution::Pareto { h, center } => DistributionState::Pareto(Pareto::new(ranks, h, center, seed)),
            Distribution::Normal { deviation, center } => {
                DistributionState::Normal(Normal::new(ranks, deviation, center, seed))
            }
            Distribution::Zoned(_) | Distribution::ZonedAbsolute(_) => DistributionState::Zoned,
        };
        let cover = match (&shape, space.generator) {
            (DistributionState::Uniform, Generator::Lfsr) => BlockCoverage::Lfsr(Lfsr::new(blocks, seed)),
            (DistributionState::Uniform, _) if space.once && blocks <= MAP_BLOCKS => {
                BlockCoverage::Map(BlockMap::new(blocks))
            }
            (DistributionState::Uniform, _) if space.once && space.single => {
                let mut keys = Tausworthe::new(seed, true);
                BlockCoverage::Permutation(Permutation::new(blocks, || keys.next_raw().0))
            }
            _ => BlockCoverage::Free,
        };
        AddressStream { cover, shape }
    }

    /// Forgets which blocks were done. The random streams go on; fio's shift register starts again.
    pub(crate) fn clear_drawn(&mut self, seeds: &Seeds) {
        match &mut self.cover {
            BlockCoverage::Free => {}
            BlockCoverage::Map(map) => map.clear(),
            BlockCoverage::Permutation(order) => order.clear(),
            BlockCoverage::Lfsr(register) => register.restart(seeds.stream_seed(StreamPurpose::Block)),
        }
    }

    /// True if any block can come at any time, with equal probability.
    pub(crate) fn is_unconstrained(&self) -> bool {
        matches!((&self.shape, &self.cover), (DistributionState::Uniform, BlockCoverage::Free))
    }

    /// Draws one of the `blocks` blocks of `align` bytes at which a request can start; `None` when all are done. The
    /// drawn block may lie past them if the directions' blocks differ or the last is not whole: there fio's file ends.
    #[inline]
    pub(crate) fn draw_block(&mut self, chance: &mut AddressRng, blocks: u64, align: u64) -> Option<u64> {
        match &mut self.shape {
            DistributionState::Uniform => self.cover.draw_distinct(&mut chance.random, blocks),
            DistributionState::Zipf(zipf) => Some(zipf.next()),
            DistributionState::Pareto(pareto) => Some(pareto.next()),
            DistributionState::Normal(normal) => Some(normal.next()),
            DistributionState::Zoned => {
                let (from, to) = match chance.zones[usize::from(chance.zone.next_percent()) - 1] {
                    AccessZone::Percent(from, to) => {
                        (from * blocks / 100, from * blocks / 100 + (to - from) * blocks / 100)
                    }
                    AccessZone::Bytes(from, to) => (from / align, to / align),
                };
                // A zone smaller than a block gets its accesses at its first block.
                let width = to.min(blocks).saturating_sub(from).max(1);
                Some((from + chance.random.below(width)).min(blocks - 1))
            }
        }
    }

    /// Marks block `block` as done.
    #[inline]
    pub(crate) fn mark_block(&mut self, block: u64) {
        if let BlockCoverage::Map(map) = &mut self.cover {
            map.take_run(block, 1);
        }
    }

    /// Marks `bytes` from block `block` of `unit` bytes on as done; returns how many of them were free: all if blocks
    /// may come twice.
    #[inline]
    pub(crate) fn mark_bytes(&mut self, block: u64, bytes: u64, unit: u64) -> u64 {
        match &mut self.cover {
            BlockCoverage::Map(map) => bytes.min(map.take_run(block, bytes.div_ceil(unit)) * unit),
            _ => bytes,
        }
    }
}

impl BlockCoverage {
    #[inline]
    fn draw_distinct(&mut self, random: &mut Tausworthe, blocks: u64) -> Option<u64> {
        match self {
            BlockCoverage::Free => Some(random.below(blocks)),
            BlockCoverage::Map(map) => map.next_free(random.below(blocks)),
            BlockCoverage::Permutation(order) => order.next(),
            BlockCoverage::Lfsr(register) => register.next(),
        }
    }
}

/// Scatters ranks over the blocks.
#[derive(Clone, Debug)]
struct Scatter {
    random: Tausworthe88,
    offset: u64,
    blocks: u64,
}

impl Scatter {
    fn new(blocks: u64, center: Option<u32>, seed: u64) -> Scatter {
        let mut random = Tausworthe88::new(seed);
        let drawn = u64::from(random.next());
        let offset = center.map_or(drawn, |share| millionths_of(blocks, share));
        Scatter { random, offset, blocks }
    }

    fn block_of_rank(&self, rank: u64) -> u64 {
        rank.wrapping_mul(HASH).wrapping_add(self.offset) % self.blocks
    }
}

/// An exponent as `mantissa / 2^shift` with a mantissa below 2^60, so that its product with a [`FixedLog2`] fits.
#[derive(Clone, Copy, Debug)]
struct Exponent {
    mantissa: i128,
    shift: u32,
}

impl Exponent {
    /// The quotient of two numbers, the first below 2^67.
    fn new(over: i128, under: i128) -> Exponent {
        let mut exponent = Exponent { mantissa: (over << 60) / under, shift: 60 };
        while exponent.mantissa.unsigned_abs() >> 60 != 0 {
            exponent.mantissa >>= 1;
            exponent.shift -= 1;
        }
        exponent
    }

    fn scale_log(self, log: FixedLog2) -> FixedLog2 {
        (log * self.mantissa) >> self.shift
    }
}

/// `share` millionths of `n`.
fn millionths_of(n: u64, share: u32) -> u64 {
    (u128::from(n) * u128::from(share) / MILLION as u128) as u64
}

/// fio's zipf: rank k has a weight of about k^-theta.
#[derive(Clone, Debug)]
struct Zipf {
    scatter: Scatter,
    /// Draws below these are rank 0 and rank 1.
    first: u64,
    second: u64,
    /// |eta| / (2^32 - 1) with 32 + `fraction` bits, and whether eta is negative (theta over 1).
    eta: u128,
    fraction: u32,
    steep: bool,
    /// 1 / (1 - theta).
    alpha: Exponent,
}

impl Zipf {
    fn new(blocks: u64, theta: u32, center: Option<u32>, seed: u64) -> Zipf {
        let rest = MILLION - i128::from(theta);
        let sum = zeta(blocks.min(ZETA_RANKS), theta);
        let two = (1 << 64) + fixed_point::power_of_two(-i128::from(theta) * fixed_point::ONE / MILLION);
        // The number of draws u below weight / sum.
        let share = |weight: u128| (weight.min(sum) * u128::from(LAST)).div_ceil(sum) as u64;
        let mut zipf = Zipf {
            scatter: Scatter::new(blocks, center, seed),
            first: share(1 << 64),
            second: share(two),
            eta: 0,
            fraction: 0,
            steep: rest < 0,
            alpha: Exponent::new(MILLION, rest),
        };
        (zipf.eta, zipf.fraction) = eta(blocks, rest, sum, two);
        zipf.eta = (zipf.eta << 32) / u128::from(LAST);
        zipf
    }

    fn next(&mut self) -> u64 {
        let drawn = u64::from(self.scatter.random.next());
        let rank = if drawn < self.first {
            0
        } else if drawn < self.second {
            1
        } else {
            self.far_rank(drawn)
        };
        self.scatter.block_of_rank(rank)
    }

    /// `blocks * (1 + eta (u - 1))^(1 / (1 - theta))`.
    fn far_rank(&self, drawn: u64) -> u64 {
        let one = 1u128 << self.fraction;
        let step = (self.eta * u128::from(LAST - drawn)) >> 32;
        let base = if self.steep { one + step } else { one.saturating_sub(step).max(1) };
        fixed_point::scale_by_power(
            self.scatter.blocks,
            self.alpha.scale_log(fixed_point::log2_wide(base, self.fraction)),
        )
    }
}

/// The sum of k^-theta for k up to `ranks`, 64 fraction bits.
fn zeta(ranks: u64, theta: u32) -> u128 {
    let weight = |rank: u64| fixed_point::power_of_two(-fixed_point::log2(rank) * i128::from(theta) / MILLION);
    let exact = ranks.min(ZETA_EXACT);
    let sum: u128 = (1..=exact).map(weight).sum();
    if ranks == exact {
        return sum;
    }
    // Euler-Maclaurin from `exact` to `ranks`: the integral, half the ends, a twelfth of the slopes.
    let rest = MILLION - i128::from(theta);
    let antiderivative = |x: u64| fixed_point::power_of_two(fixed_point::log2(x) * rest / MILLION) as i128;
    let integral = (antiderivative(ranks) - antiderivative(exact)) * MILLION / rest;
    let ends = (weight(ranks) as i128 - weight(exact) as i128) / 2;
    let slope = |x: u64| weight(x) as i128 * i128::from(theta) / MILLION / i128::from(x);
    let slopes = (slope(exact) - slope(ranks)) / 12;
    (sum as i128 + integral + ends + slopes) as u128
}

/// |(1 - (2 / n)^(1 - theta)) / (1 - zeta2 / zetan)| and its fraction bits: at most 62, and few enough for 32 more bits to fit.
fn eta(blocks: u64, rest: i128, zeta: u128, two: u128) -> (u128, u32) {
    if zeta <= two {
        // At most two ranks: eta is never used.
        return (0, 62);
    }
    let power = fixed_point::power_of_two((fixed_point::ONE - fixed_point::log2(blocks)) * rest / MILLION);
    let numerator = power.abs_diff(1 << 64);
    // 1 - zeta2 / zetan, 62 fraction bits; zetan has at most 88 bits.
    let denominator = ((zeta - two) << 38) / (zeta >> 24);
    // The quotient is up to 2^126: fraction bits are dropped until it fits.
    let mut fraction = 62;
    let quotient = divide_fixed(numerator, denominator);
    let mut value = quotient;
    while value >> 94 != 0 {
        value >>= 1;
        fraction -= 1;
    }
    (value, fraction)
}

/// `a` (64 fraction bits) over `b` (62 fraction bits), 62 fraction bits.
fn divide_fixed(a: u128, b: u128) -> u128 {
    let whole = a / b;
    let rest = a % b;
    // a / 2^64 over b / 2^62 is a / (4 b); times 2^62 is a 2^60 / b.
    (whole << 60) + (rest << 60) / b
}

/// True if a zipf of this exponent over `blocks` can be drawn: theta above 0, not 1, at most 5, and not so steep that
/// blocks^(theta - 1) passes 2^60. Beyond these limits the quotient of [`eta`] would not fit.
pub(crate) fn zipf_fits(theta: u32, blocks: u64) -> bool {
    let rest = i128::from(theta) - MILLION;
    (1..=5_000_000).contains(&theta)
        && rest != 0
        && fixed_point::log2(blocks.max(1)) * rest / MILLION < 60 * fixed_point::ONE
}

/// fio's pareto: the share `u` of the draws falls in `u^(ln h / ln (1 - h))` of the blocks.
#[derive(Clone, Debug)]
struct Pareto {
    scatter: Scatter,
    exponent: Exponent,
}

impl Pareto {
    fn new(blocks: u64, h: u32, center: Option<u32>, seed: u64) -> Pareto {
        let million = fixed_point::log2(MILLION as u64);
        let over = million - fixed_point::log2(u64::from(h));
        let under = million - fixed_point::log2(MILLION as u64 - u64::from(h));
        Pareto { scatter: Scatter::new(blocks, center, seed), exponent: Exponent::new(over, under) }
    }

    fn next(&mut self) -> u64 {
        let drawn = u64::from(self.scatter.random.next());
        if drawn == 0 {
            return self.scatter.block_of_rank(0);
        }
        let log: FixedLog2 = fixed_point::log2(drawn) - fixed_point::log2(LAST);
        let rank = fixed_point::scale_by_power(self.scatter.blocks - 1, self.exponent.scale_log(log));
        self.scatter.block_of_rank(rank)
    }
}

/// fio's normal: the mean of twelve uniform numbers, moved by a uniform deviation.
#[derive(Clone, Debug)]
struct Normal {
    random: Tausworthe88,
    blocks: u64,
    deviation: u64,
    offset: u64,
}

impl Normal {
    fn new(blocks: u64, deviation: u32, center: Option<u32>, seed: u64) -> Normal {
        let share = u128::from(blocks) * u128::from(deviation);
        let offset = center.map_or(0, |center| {
            let half = (MILLION / 2) as u32;
            if center < half {
                millionths_of(blocks, half - center).wrapping_neg()
            } else {
                millionths_of(blocks, center - half)
            }
        });
        Normal {
            random: Tausworthe88::new(seed),
            blocks,
            deviation: (share.div_ceil(100 * MILLION as u128) as u64).min(blocks / 2),
            offset,
        }
    }

    fn next(&mut self) -> u64 {
        const DRAWS: u64 = 12;
        let sum: u64 = (0..DRAWS).map(|_| u64::from(self.random.next()) % (self.blocks + 1)).sum();
        let mut rank = sum.div_ceil(DRAWS);
        if self.deviation > 0 {
            let moved = scale_short(self.deviation, u64::from(self.random.next())) as i64;
            let mut by = moved - (self.deviation / 2) as i64;
            // Outside the blocks, fio halves the deviation until it is inside.
            while by != 0 && rank.checked_add_signed(by).is_none_or(|rank| rank >= self.blocks) {
                by /= 2;
            }
            rank = rank.saturating_add_signed(by);
        }
        rank.wrapping_mul(HASH).wrapping_add(self.offset) % self.blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::job::RandomRepeat;
    use alloc::collections::BTreeSet;
    extern crate std;

    fn zeta_f64(ranks: u64, theta: f64) -> f64 {
        // From the small end, so that nothing is lost.
        (1..=ranks).rev().map(|k| (k as f64).powf(-theta)).sum()
    }

    #[test]
    fn zeta_agrees_with_the_plain_sum() {
        for theta in [1, 200_000, 900_000, 999_999, 1_000_001, 1_200_000, 2_500_000] {
            for ranks in [1, 2, 1000, 1024, 1025, 5000, 300_000] {
                let ours = zeta(ranks, theta) as f64 / 2f64.powi(64);
                let theirs = zeta_f64(ranks, f64::from(theta) / 1e6);
                assert!(((ours - theirs) / theirs).abs() < 1e-9, "{theta} {ranks}: {ours} {theirs}");
            }
        }
    }

    #[test]
    fn zipf_ranks_agree_with_floating_point() {
        for theta in [300_000u32, 900_000, 1_100_000, 1_200_000, 2_000_000] {
            for blocks in [3u64, 1000, 262_144, 2_000_000] {
                let t = f64::from(theta) / 1e6;
                let zetan = zeta_f64(blocks.min(ZETA_RANKS), t);
                let zeta2 = 1.0 + 0.5f64.powf(t);
                let eta = (1.0 - (2.0 / blocks as f64).powf(1.0 - t)) / (1.0 - zeta2 / zetan);
                let zipf = Zipf::new(blocks, theta, None, 1);
                let mut random = Tausworthe88::new(77);
                let mut off = 0;
                for _ in 0..5000 {
                    let drawn = u64::from(random.next());
                    let u = drawn as f64 / LAST as f64;
                    let expected = match u * zetan {
                        z if z < 1.0 => 0,
                        z if z < zeta2 => 1,
                        _ => (blocks as f64 * (eta * u - eta + 1.0).powf(1.0 / (1.0 - t))) as u64,
                    };
                    let ours = match drawn {
                        d if d < zipf.first => 0,
                        d if d < zipf.second => 1,
                        d => zipf.far_rank(d),
                    };
                    assert!(ours.abs_diff(expected) <= 1, "{theta} {blocks} {drawn}: {ours} {expected}");
                    off += u32::from(ours != expected);
                }
                assert!(off <= 1, "{theta} {blocks}: {off} of 5000 differ");
            }
        }
    }

    #[test]
    fn pareto_ranks_agree_with_floating_point() {
        for h in [1u32, 100_000, 200_000, 500_000, 900_000, 999_999] {
            let blocks = 2_000_000;
            let mut pareto = Pareto::new(blocks, h, Some(0), 5);
            let power = (f64::from(h) / 1e6).ln() / (1.0 - f64::from(h) / 1e6).ln();
            for _ in 0..5000 {
                let u = f64::from(pareto.scatter.random.clone().next()) / LAST as f64;
                let place = pareto.next();
                let rank = ((blocks - 1) as f64 * u.powf(power)) as u64;
                let near = rank.saturating_sub(1)..=rank + 1;
                assert!(near.clone().any(|rank| pareto.scatter.block_of_rank(rank) == place), "{h} {u} {near:?}");
            }
        }
    }

    /// fio's `lib/gauss.c`: the mean of twelve numbers, rounded up, moved by a share of the deviation, which is so many per cent of the
    /// blocks, rounded up, half of them at most; what would leave the blocks is halved.
    #[test]
    fn normal_ranks_agree_with_floating_point() {
        for (blocks, percent, deviation) in
            [(1000u64, 0.0, 0.0), (1000, 10.0, 100.0), (1001, 10.0, 101.0), (1000, 80.0, 500.0), (300, 0.1, 1.0)]
        {
            let mut normal = Normal::new(blocks, (percent * 1e6) as u32, None, 9);
            let mut random = Tausworthe88::new(9);
            for _ in 0..2000 {
                let sum: u64 = (0..12).map(|_| u64::from(random.next()) % (blocks + 1)).sum();
                let mean = (sum as f64 / 12.0).ceil() as i64;
                let mut by = 0;
                if deviation > 0.0 {
                    by = (deviation * f64::from(random.next()) / 2f64.powi(32)) as i64 - (deviation / 2.0) as i64;
                }
                while by != 0 && !(0..blocks as i64).contains(&(mean + by)) {
                    by /= 2;
                }
                let place = ((mean + by) as u64).wrapping_mul(HASH) % blocks;
                assert_eq!(normal.next(), place, "{percent} % of {blocks}: {mean} and {by}");
            }
        }
    }

    #[test]
    fn steep_and_singular_exponents_are_told() {
        assert!(zipf_fits(1_200_000, 1 << 40));
        assert!(!zipf_fits(1_000_000, 1000));
        assert!(!zipf_fits(0, 1000));
        assert!(!zipf_fits(4_000_000, 1 << 32));
        // The steepest allowed still draws.
        let mut zipf = Zipf::new(1 << 30, 2_999_999, None, 3);
        assert!((0..1000).map(|_| zipf.next()).all(|place| place < 1 << 30));
    }

    /// By the map the drawn block comes, or else the next free one, as with fio; beyond it requests of one block have
    /// another order.
    #[test]
    fn blocks_come_once_by_the_map_as_far_as_there_is_one() {
        let (seeds, uniform) = (Seeds::new(1, RandomRepeat::Never, 1, 0), Distribution::Uniform);
        let stream = |blocks: u64, once: bool, single: bool| {
            let (distribution, generator) = (&uniform, Generator::Tausworthe);
            AddressStream::new(&AddressSpace { distribution, generator, once, single, blocks, ranks: blocks }, &seeds)
        };
        for (blocks, single) in [(1, true), (63, false), (64, true), (100, true), (100, false)] {
            let (mut stream, mut chance) = (stream(blocks, true, single), AddressRng::new(&seeds, false, &uniform));
            let mut free: BTreeSet<u64> = (0..blocks).collect();
            for _ in 0..blocks {
                let drawn = chance.clone().draw_uniform(blocks);
                let block = *free.range(drawn..).next().or(free.first()).expect("one is left");
                assert_eq!(stream.draw_block(&mut chance, blocks, 4096), Some(block), "{drawn} of {blocks}");
                stream.mark_block(block);
                free.remove(&block);
            }
            assert_eq!(stream.draw_block(&mut chance, blocks, 4096), None, "{blocks}: all are done");
        }
        let has_map = |blocks, single| matches!(stream(blocks, true, single).cover, BlockCoverage::Map(_));
        assert!(has_map(MAP_BLOCKS, true) && has_map(MAP_BLOCKS, false));
        assert!(matches!(stream(MAP_BLOCKS + 1, true, true).cover, BlockCoverage::Permutation(_)));
        assert!(stream(MAP_BLOCKS + 1, true, false).is_unconstrained(), "they may come twice");
        assert!(stream(100, false, true).is_unconstrained());
    }
}
