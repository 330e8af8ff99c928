//! The addresses of fio's random requests: block numbers by distribution, each once in a pass if the pass has a map.
//!
//! Zipf, pareto and normal draw a *rank* by fio's formulas, in fixed point (see `fixed_point`); fio's multiplicative
//! hash scatters the ranks over the blocks. `zoned` is the one distribution that clusters on the disk. Zipf follows
//! Gray et al. (SIGMOD 1994) as fio does, with the sum of its weights cut after ten million ranks: the first
//! [`ZETA_EXACT`] are added one by one, the rest by the Euler-Maclaurin formula, whose first omitted term is below
//! 10^-12 of the sum.
//!
//! fio seeds zipf, pareto and normal with a hash of the file's *name* unless `randseed` is given. A job here has no
//! file names; these streams start from the thread's block seed, as fio's do with `randseed`.

use alloc::vec::Vec;

use super::fixed_point::{self, FixedLog2};
use super::job::{Distribution, Generator};
use super::map::{BlockMap, MAP_BLOCKS, Permutation};
use super::tausworthe::{Lfsr, Seeds, StreamPurpose, Tausworthe, Tausworthe88, scale_32_bit};

/// The most ranks whose weights fio adds up.
const ZETA_RANKS: u64 = 10_000_000;
/// Ranks whose weights are added one by one.
const ZETA_EXACT: u64 = 1024;
/// The unit of exponents.
const MILLION: i128 = 1_000_000;
/// fio's multiplicative hash (Knuth 6.4): 2^64 (1 - golden ratio), made odd.
const HASH: u64 = 0x61c8_8646_80b5_83eb;
/// The largest number of 32 bits: fio's uniform numbers for zipf and pareto run from 0 to 1 inclusive.
const LAST: u64 = u32::MAX as u64;

/// A part of the space that receives one per cent of the accesses.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AccessZone {
    /// In per cent of the blocks.
    Percent {
        from: u64,
        to: u64,
    },
    Bytes {
        from: u64,
        to: u64,
    },
}

/// The random streams of addresses that all files of a thread share.
#[derive(Clone, Debug)]
pub(crate) struct AddressRng {
    random: Tausworthe,
    /// Draws the zone of an access.
    zone: Tausworthe88,
    /// A zone for each per cent of accesses; empty for distributions without zones.
    zones: Vec<AccessZone>,
}

impl AddressRng {
    /// The streams at their start.
    pub(crate) fn new(seeds: &Seeds, use_64_bit: bool, distribution: &Distribution) -> AddressRng {
        AddressRng {
            random: Tausworthe::new(seeds.stream_seed(StreamPurpose::Block), use_64_bit),
            zone: Tausworthe88::new(seeds.stream_seed(StreamPurpose::Zone)),
            zones: zone_table(distribution),
        }
    }

    /// A uniform number below `limit`.
    #[inline]
    pub(crate) fn draw_uniform(&mut self, limit: u64) -> u64 {
        self.random.below(limit)
    }

    /// Sets the streams back to the start.
    pub(crate) fn restart(&mut self, seeds: &Seeds, use_64_bit: bool) {
        self.random = Tausworthe::new(seeds.stream_seed(StreamPurpose::Block), use_64_bit);
        self.zone = Tausworthe88::new(seeds.stream_seed(StreamPurpose::Zone));
    }
}

/// The zone of each per cent of accesses.
fn zone_table(distribution: &Distribution) -> Vec<AccessZone> {
    let mut table = Vec::new();
    match distribution {
        Distribution::Zoned(list) => {
            let mut from = 0;
            for &(accesses, size) in list {
                let to = from + u64::from(size);
                table.extend(core::iter::repeat_n(AccessZone::Percent { from, to }, accesses.into()));
                from = to;
            }
        }
        Distribution::ZonedAbsolute(list) => {
            let mut from = 0;
            for &(accesses, size) in list {
                let to = from + size;
                table.extend(core::iter::repeat_n(AccessZone::Bytes { from, to }, accesses.into()));
                from = to;
            }
        }
        _ => {}
    }
    table
}

/// Which blocks a pass has not drawn yet.
#[derive(Clone, Debug)]
enum BlockCoverage {
    /// Not recorded: a block can come twice.
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
    coverage: BlockCoverage,
    state: DistributionState,
}

/// The space of an [`AddressStream`].
pub(crate) struct AddressSpace<'a> {
    pub(crate) distribution: &'a Distribution,
    pub(crate) generator: Generator,
    /// Each block comes once in a pass.
    pub(crate) each_block_once: bool,
    /// All requests are one block long.
    pub(crate) one_block_requests: bool,
    /// Number of blocks of the map or the shift register; all directions share them by number.
    pub(crate) blocks: u64,
    /// Number of blocks over which a distribution other than the uniform one is spread.
    pub(crate) ranks: u64,
}

impl AddressStream {
    /// The generator of one file at its start. `space.blocks` is not 0, and the distribution's parameters were checked.
    pub(crate) fn new(space: &AddressSpace<'_>, seeds: &Seeds) -> AddressStream {
        let seed = seeds.stream_seed(StreamPurpose::Block);
        let (blocks, ranks) = (space.blocks, space.ranks);
        let state = match *space.distribution {
            Distribution::Uniform => DistributionState::Uniform,
            Distribution::Zipf { theta, center } => DistributionState::Zipf(Zipf::new(ranks, theta, center, seed)),
            Distribution::Pareto { h, center } => DistributionState::Pareto(Pareto::new(ranks, h, center, seed)),
            Distribution::Normal { deviation, center } => {
                DistributionState::Normal(Normal::new(ranks, deviation, center, seed))
            }
            Distribution::Zoned(_) | Distribution::ZonedAbsolute(_) => DistributionState::Zoned,
        };
        let coverage = match (&state, space.generator) {
            (DistributionState::Uniform, Generator::Lfsr) => BlockCoverage::Lfsr(Lfsr::new(blocks, seed)),
            (DistributionState::Uniform, _) if space.each_block_once && blocks <= MAP_BLOCKS => {
                BlockCoverage::Map(BlockMap::new(blocks))
            }
            (DistributionState::Uniform, _) if space.each_block_once && space.one_block_requests => {
                let mut keys = Tausworthe::new(seed, true);
                BlockCoverage::Permutation(Permutation::new(blocks, || keys.next_bits()))
            }
            _ => BlockCoverage::Free,
        };
        AddressStream { coverage, state }
    }

    /// Forgets which blocks were drawn. The random streams go on; fio's shift register starts again.
    pub(crate) fn forget_drawn_blocks(&mut self, seeds: &Seeds) {
        match &mut self.coverage {
            BlockCoverage::Free => {}
            BlockCoverage::Map(map) => map.clear(),
            BlockCoverage::Permutation(order) => order.restart(),
            BlockCoverage::Lfsr(register) => register.restart(seeds.stream_seed(StreamPurpose::Block)),
        }
    }

    /// True if any block can come at any time, with equal probability.
    pub(crate) fn is_unconstrained(&self) -> bool {
        matches!((&self.state, &self.coverage), (DistributionState::Uniform, BlockCoverage::Free))
    }

    /// Draws one of the `blocks` blocks of `align_bytes` at which a request can start; `None` when all were drawn. The
    /// drawn block may lie past them if the directions' blocks differ or the last is not whole: there fio's file ends.
    #[inline]
    pub(crate) fn draw_block(&mut self, rng: &mut AddressRng, blocks: u64, align_bytes: u64) -> Option<u64> {
        match &mut self.state {
            DistributionState::Uniform => self.coverage.draw_uncovered(&mut rng.random, blocks),
            DistributionState::Zipf(zipf) => Some(zipf.next_block()),
            DistributionState::Pareto(pareto) => Some(pareto.next_block()),
            DistributionState::Normal(normal) => Some(normal.next_block()),
            DistributionState::Zoned => {
                let (from, to) = match rng.zones[usize::from(rng.zone.next_percent()) - 1] {
                    AccessZone::Percent { from, to } => {
                        (from * blocks / 100, from * blocks / 100 + (to - from) * blocks / 100)
                    }
                    AccessZone::Bytes { from, to } => (from / align_bytes, to / align_bytes),
                };
                // A zone smaller than a block gets its accesses at its first block.
                let width = to.min(blocks).saturating_sub(from).max(1);
                Some((from + rng.random.below(width)).min(blocks - 1))
            }
        }
    }

    /// Marks a block as drawn.
    #[inline]
    pub(crate) fn mark_block(&mut self, block: u64) {
        if let BlockCoverage::Map(map) = &mut self.coverage {
            map.take_free_run(block, 1);
        }
    }

    /// Marks `bytes` bytes from a block on as drawn, up to the next block that was drawn already. Returns how many
    /// bytes these are: all if blocks may come twice.
    #[inline]
    pub(crate) fn mark_free_bytes(&mut self, block: u64, bytes: u64, block_bytes: u64) -> u64 {
        match &mut self.coverage {
            BlockCoverage::Map(map) => bytes.min(map.take_free_run(block, bytes.div_ceil(block_bytes)) * block_bytes),
            _ => bytes,
        }
    }
}

impl BlockCoverage {
    /// Draws a block that was not drawn in the pass, one of the first `blocks` if blocks can come twice.
    #[inline]
    fn draw_uncovered(&mut self, random: &mut Tausworthe, blocks: u64) -> Option<u64> {
        match self {
            BlockCoverage::Free => Some(random.below(blocks)),
            BlockCoverage::Map(map) => map.next_free_from(random.below(blocks)),
            BlockCoverage::Permutation(order) => order.next_number(),
            BlockCoverage::Lfsr(register) => register.next_number(),
        }
    }
}

/// The scattering of ranks over the blocks.
#[derive(Clone, Debug)]
struct Scatter {
    /// Draws the ranks.
    random: Tausworthe88,
    /// The block of rank 0.
    offset: u64,
    blocks: u64,
}

impl Scatter {
    /// The offset is drawn unless `center`, in millionths of the blocks, is given.
    fn new(blocks: u64, center: Option<u32>, seed: u64) -> Scatter {
        let mut random = Tausworthe88::new(seed);
        let drawn = u64::from(random.next());
        let offset = center.map_or(drawn, |millionths| millionths_of(blocks, millionths));
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
    /// The quotient of two numbers; the numerator is below 2^67.
    fn new(numerator: i128, denominator: i128) -> Exponent {
        let mut exponent = Exponent { mantissa: (numerator << 60) / denominator, shift: 60 };
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

/// So many millionths of a number, rounded down.
fn millionths_of(number: u64, millionths: u32) -> u64 {
    (u128::from(number) * u128::from(millionths) / MILLION as u128) as u64
}

/// fio's zipf: rank k has a weight of about k^-theta.
#[derive(Clone, Debug)]
struct Zipf {
    scatter: Scatter,
    /// A draw below this is rank 0.
    rank_0_end: u64,
    /// A draw below this, and not rank 0, is rank 1.
    rank_1_end: u64,
    /// |eta| / (2^32 - 1), with 32 more fraction bits than its own number of them.
    eta: FixedFraction,
    /// eta is negative, as theta is over 1.
    is_eta_negative: bool,
    /// 1 / (1 - theta).
    alpha: Exponent,
}

/// A number `value / 2^fraction_bits`.
#[derive(Clone, Copy, Debug)]
struct FixedFraction {
    value: u128,
    fraction_bits: u32,
}

impl Zipf {
    fn new(blocks: u64, theta_millionths: u32, center: Option<u32>, seed: u64) -> Zipf {
        let one_less_theta = MILLION - i128::from(theta_millionths);
        let zeta_n = zeta_sum(blocks.min(ZETA_RANKS), theta_millionths);
        let zeta_2 = (1 << 64) + fixed_point::exp2_fixed(-i128::from(theta_millionths) * fixed_point::ONE / MILLION);
        // The number of draws u below weight / zeta_n.
        let draws = |weight: u128| (weight.min(zeta_n) * u128::from(LAST)).div_ceil(zeta_n) as u64;
        let FixedFraction { value, fraction_bits } = zipf_eta(blocks, one_less_theta, zeta_n, zeta_2);
        Zipf {
            scatter: Scatter::new(blocks, center, seed),
            rank_0_end: draws(1 << 64),
            rank_1_end: draws(zeta_2),
            eta: FixedFraction { value: (value << 32) / u128::from(LAST), fraction_bits },
            is_eta_negative: one_less_theta < 0,
            alpha: Exponent::new(MILLION, one_less_theta),
        }
    }

    fn next_block(&mut self) -> u64 {
        let drawn = u64::from(self.scatter.random.next());
        let rank = if drawn < self.rank_0_end {
            0
        } else if drawn < self.rank_1_end {
            1
        } else {
            self.rank_by_power(drawn)
        };
        self.scatter.block_of_rank(rank)
    }

    /// The rank of a draw `u` over rank 1: `blocks * (1 + eta (u - 1))^(1 / (1 - theta))`.
    fn rank_by_power(&self, drawn: u64) -> u64 {
        let FixedFraction { value: eta, fraction_bits } = self.eta;
        let one = 1u128 << fraction_bits;
        let step = (eta * u128::from(LAST - drawn)) >> 32;
        let base = if self.is_eta_negative { one + step } else { one.saturating_sub(step).max(1) };
        let log = self.alpha.scale_log(fixed_point::log2_fixed(base, fraction_bits));
        fixed_point::multiply_by_exp2(self.scatter.blocks, log)
    }
}

/// The sum of k^-theta for k from 1 to `ranks`, 64 fraction bits.
fn zeta_sum(ranks: u64, theta_millionths: u32) -> u128 {
    let theta = i128::from(theta_millionths);
    let weight = |rank: u64| fixed_point::exp2_fixed(-fixed_point::log2(rank) * theta / MILLION);
    let exact = ranks.min(ZETA_EXACT);
    let sum: u128 = (1..=exact).map(weight).sum();
    if ranks == exact {
        return sum;
    }
    // Euler-Maclaurin from `exact` to `ranks`: the integral, half the ends, a twelfth of the slopes.
    let one_less_theta = MILLION - theta;
    let antiderivative = |x: u64| fixed_point::exp2_fixed(fixed_point::log2(x) * one_less_theta / MILLION) as i128;
    let integral = (antiderivative(ranks) - antiderivative(exact)) * MILLION / one_less_theta;
    let ends = (weight(ranks) as i128 - weight(exact) as i128) / 2;
    let slope = |x: u64| weight(x) as i128 * theta / MILLION / i128::from(x);
    let slopes = (slope(exact) - slope(ranks)) / 12;
    (sum as i128 + integral + ends + slopes) as u128
}

/// |eta| of zipf, (1 - (2 / blocks)^(1 - theta)) / (1 - zeta_2 / zeta_n), with at most 62 fraction bits, and so few that 32
/// more bits fit. `one_less_theta` is in millionths; `zeta_n` and `zeta_2` are the sums of all weights and of the first
/// two, 64 fraction bits.
fn zipf_eta(blocks: u64, one_less_theta: i128, zeta_n: u128, zeta_2: u128) -> FixedFraction {
    if zeta_n <= zeta_2 {
        // With at most two ranks eta is not used.
        return FixedFraction { value: 0, fraction_bits: 62 };
    }
    let power = fixed_point::exp2_fixed((fixed_point::ONE - fixed_point::log2(blocks)) * one_less_theta / MILLION);
    let numerator = power.abs_diff(1 << 64);
    // 1 - zeta_2 / zeta_n, 62 fraction bits; zeta_n has at most 88 bits.
    let denominator = ((zeta_n - zeta_2) << 38) / (zeta_n >> 24);
    // The quotient is up to 2^126: fraction bits are dropped until it fits.
    let mut eta = FixedFraction { value: divide_fixed(numerator, denominator), fraction_bits: 62 };
    while eta.value >> 94 != 0 {
        eta.value >>= 1;
        eta.fraction_bits -= 1;
    }
    eta
}

/// `dividend` (64 fraction bits) over `divisor` (62 fraction bits), with 62 fraction bits: dividend 2^60 / divisor.
fn divide_fixed(dividend: u128, divisor: u128) -> u128 {
    let (whole, rest) = (dividend / divisor, dividend % divisor);
    (whole << 60) + (rest << 60) / divisor
}

/// True if a zipf of this exponent over `blocks` can be drawn: theta above 0, not 1, at most 5, and not so steep that
/// blocks^(theta - 1) passes 2^60. Beyond these limits [`zipf_eta`] would not fit.
pub(crate) fn zipf_fits(theta_millionths: u32, blocks: u64) -> bool {
    let theta_less_one = i128::from(theta_millionths) - MILLION;
    (1..=5_000_000).contains(&theta_millionths)
        && theta_less_one != 0
        && fixed_point::log2(blocks.max(1)) * theta_less_one / MILLION < 60 * fixed_point::ONE
}

/// fio's pareto: the share `u` of the draws falls in `u^(ln h / ln (1 - h))` of the blocks.
#[derive(Clone, Debug)]
struct Pareto {
    scatter: Scatter,
    exponent: Exponent,
}

impl Pareto {
    fn new(blocks: u64, h_millionths: u32, center: Option<u32>, seed: u64) -> Pareto {
        let h = u64::from(h_millionths);
        let minus_log = |millionths: u64| fixed_point::log2(MILLION as u64) - fixed_point::log2(millionths);
        let exponent = Exponent::new(minus_log(h), minus_log(MILLION as u64 - h));
        Pareto { scatter: Scatter::new(blocks, center, seed), exponent }
    }

    fn next_block(&mut self) -> u64 {
        let drawn = u64::from(self.scatter.random.next());
        if drawn == 0 {
            return self.scatter.block_of_rank(0);
        }
        let log: FixedLog2 = fixed_point::log2(drawn) - fixed_point::log2(LAST);
        let rank = fixed_point::multiply_by_exp2(self.scatter.blocks - 1, self.exponent.scale_log(log));
        self.scatter.block_of_rank(rank)
    }
}

/// fio's normal: the mean of twelve uniform numbers, moved by a uniform deviation.
#[derive(Clone, Debug)]
struct Normal {
    random: Tausworthe88,
    blocks: u64,
    /// The width of the deviation, in blocks.
    deviation: u64,
    /// The block of rank 0.
    offset: u64,
}

impl Normal {
    /// The deviation is in millionths of a per cent of the blocks, the center in millionths of the blocks.
    fn new(blocks: u64, deviation: u32, center: Option<u32>, seed: u64) -> Normal {
        let width = u128::from(blocks) * u128::from(deviation);
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
            deviation: (width.div_ceil(100 * MILLION as u128) as u64).min(blocks / 2),
            offset,
        }
    }

    fn next_block(&mut self) -> u64 {
        const DRAWS: u64 = 12;
        let sum: u64 = (0..DRAWS).map(|_| u64::from(self.random.next()) % (self.blocks + 1)).sum();
        let mut rank = sum.div_ceil(DRAWS);
        if self.deviation > 0 {
            let moved = scale_32_bit(self.deviation, u64::from(self.random.next())) as i64;
            let mut distance = moved - (self.deviation / 2) as i64;
            // fio halves the distance until the rank is one of the blocks.
            while distance != 0 && rank.checked_add_signed(distance).is_none_or(|rank| rank >= self.blocks) {
                distance /= 2;
            }
            rank = rank.saturating_add_signed(distance);
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
                let ours = zeta_sum(ranks, theta) as f64 / 2f64.powi(64);
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
                        d if d < zipf.rank_0_end => 0,
                        d if d < zipf.rank_1_end => 1,
                        d => zipf.rank_by_power(d),
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
                let place = pareto.next_block();
                let rank = ((blocks - 1) as f64 * u.powf(power)) as u64;
                let near = rank.saturating_sub(1)..=rank + 1;
                assert!(near.clone().any(|rank| pareto.scatter.block_of_rank(rank) == place), "{h} {u} {near:?}");
            }
        }
    }

    /// fio's `lib/gauss.c`: the mean of twelve numbers, rounded up, moved by a share of the deviation. The deviation is
    /// a percentage of the blocks, rounded up, half of them at most; a move out of the blocks is halved.
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
                assert_eq!(normal.next_block(), place, "{percent} % of {blocks}: {mean} and {by}");
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
        assert!((0..1000).map(|_| zipf.next_block()).all(|place| place < 1 << 30));
    }

    /// By the map the drawn block comes, or else the next free one, as with fio; beyond it requests of one block have
    /// another order.
    #[test]
    fn blocks_come_once_by_the_map_as_far_as_there_is_one() {
        let (seeds, uniform) = (Seeds::new(1, RandomRepeat::Never, 1, 0), Distribution::Uniform);
        let stream = |blocks: u64, each_block_once: bool, one_block_requests: bool| {
            let (distribution, generator) = (&uniform, Generator::Tausworthe);
            let space =
                AddressSpace { distribution, generator, each_block_once, one_block_requests, blocks, ranks: blocks };
            AddressStream::new(&space, &seeds)
        };
        for (blocks, single) in [(1, true), (63, false), (64, true), (100, true), (100, false)] {
            let (mut stream, mut rng) = (stream(blocks, true, single), AddressRng::new(&seeds, false, &uniform));
            let mut free: BTreeSet<u64> = (0..blocks).collect();
            for _ in 0..blocks {
                let drawn = rng.clone().draw_uniform(blocks);
                let block = *free.range(drawn..).next().or(free.first()).expect("one is left");
                assert_eq!(stream.draw_block(&mut rng, blocks, 4096), Some(block), "{drawn} of {blocks}");
                stream.mark_block(block);
                free.remove(&block);
            }
            assert_eq!(stream.draw_block(&mut rng, blocks, 4096), None, "{blocks}: all are done");
        }
        let has_map = |blocks, single| matches!(stream(blocks, true, single).coverage, BlockCoverage::Map(_));
        assert!(has_map(MAP_BLOCKS, true) && has_map(MAP_BLOCKS, false));
        assert!(matches!(stream(MAP_BLOCKS + 1, true, true).coverage, BlockCoverage::Permutation(_)));
        assert!(stream(MAP_BLOCKS + 1, true, false).is_unconstrained(), "they may come twice");
        assert!(stream(100, false, true).is_unconstrained());
    }
}
