//! Logarithms and powers in integers, in place of floating point: the draws of zipf, pareto and Poisson need them.
//!
//! A [`FixedLog2`] is a binary logarithm with 60 fraction bits. Logarithms and powers use tables of 256 steps, computed
//! at compile time, and a short series for the rest of a step (Tang 1989, "Table-driven implementation of the
//! exponential function"). Truncation of the series is below 2^-66; rounding leaves errors near 2^-58. The tests
//! compare with the 64-bit floating-point functions, whose own error (2^-52) limits the comparison.

/// A binary logarithm, 60 fraction bits. The logarithm of any `u128`, and its negative, fit.
pub(crate) type FixedLog2 = i128;

/// The number 1 as a [`FixedLog2`].
pub(crate) const ONE: FixedLog2 = 1 << FRACTION_BITS;
const FRACTION_BITS: u32 = 60;

/// ln 2 with 64 fraction bits (0.693147180559945309417…).
const LN_2: u64 = 0xb172_17f7_d1cf_79ac;
/// log2 e - 1 with 64 fraction bits (log2 e = 1.442695040888963407359…).
const LOG2_E_LESS_1: u64 = 0x7154_7652_b82f_e177;

/// Steps of each table between a power of two and the next.
const STEPS: usize = 256;
/// The reciprocal of the middle of each step of 1..2, 63 fraction bits.
const RECIPROCAL: [u64; STEPS] = reciprocal_table();
/// -log2 of that reciprocal, 60 fraction bits.
const LOG: [u64; STEPS] = log_table();
/// 2^(i / 256), 63 fraction bits.
const POWER: [u64; STEPS] = power_table();

const fn reciprocal_table() -> [u64; STEPS] {
    let mut table = [0; STEPS];
    let mut i = 0;
    while i < STEPS {
        // The middle is (2 * 256 + 2 * i + 1) / 512.
        table[i] = ((512u128 << 63) / (513 + 2 * i as u128)) as u64;
        i += 1;
    }
    table
}

const fn log_table() -> [u64; STEPS] {
    let mut table = [0; STEPS];
    let mut i = 0;
    while i < STEPS {
        // The reciprocal is in 1/2..1; its double is in 1..2.
        table[i] = (1 << FRACTION_BITS) - log2_by_squaring(RECIPROCAL[i]);
        i += 1;
    }
    table
}

/// log2 of `half * 2 / 2^63`, bit by bit: squaring doubles a logarithm.
const fn log2_by_squaring(half_value: u64) -> u64 {
    let mut x = (half_value as u128) << 1;
    let mut log = 0;
    let mut bit = FRACTION_BITS;
    while bit > 0 {
        bit -= 1;
        x = (x * x) >> 63;
        if x >> 64 != 0 {
            x >>= 1;
            log |= 1 << bit;
        }
    }
    log
}

const fn power_table() -> [u64; STEPS] {
    let mut table = [1 << 63; STEPS];
    let mut root: u128 = 2 << 63;
    let mut bit = STEPS / 2;
    while bit > 0 {
        root = square_root(root << 63);
        let mut i = 0;
        while i < STEPS {
            if i & bit != 0 {
                table[i] = ((table[i] as u128 * root) >> 63) as u64;
            }
            i += 1;
        }
        bit /= 2;
    }
    table
}

const fn square_root(n: u128) -> u128 {
    let mut root = 0u128;
    let mut bit = 64;
    while bit > 0 {
        bit -= 1;
        let trial = root | 1 << bit;
        if trial * trial <= n {
            root = trial;
        }
    }
    root
}

/// The product of two fractions of 2^64, as a fraction of 2^64.
const fn high_product(a: u64, b: u64) -> u64 {
    ((a as u128 * b as u128) >> 64) as u64
}

/// The binary logarithm of `x`, which is not 0.
pub(crate) fn log2(x: u64) -> FixedLog2 {
    let zeros = x.leading_zeros();
    let mantissa = x << zeros;
    let step = (mantissa >> 55) as usize & (STEPS - 1);
    // mantissa / 2^63 times the reciprocal is 1 + r with |r| < 2^-8.9; r with 63 fraction bits.
    let product = u128::from(mantissa) * u128::from(RECIPROCAL[step]);
    let r = ((product >> 63) as i128 - (1i128 << 63)) as i64;
    let times = |a: i64, b: i64| ((i128::from(a) * i128::from(b)) >> 63) as i64;
    // ln(1 + r) by its series, from the far end, 62 fraction bits.
    let one = 1i64 << 62;
    let mut sum = one / 7;
    for divisor in [6, 5, 4, 3, 2, 1] {
        sum = one / divisor - times(r, sum);
    }
    let ln = times(r, sum);
    let log = i128::from(ln) + ((i128::from(ln) * i128::from(LOG2_E_LESS_1)) >> 64);
    i128::from(63 - zeros) * ONE + i128::from(LOG[step]) + (log >> (62 - FRACTION_BITS))
}

/// The binary logarithm of `x / 2^fraction`; `x` is not 0.
pub(crate) fn log2_fixed(x: u128, fraction_bits: u32) -> FixedLog2 {
    let drop = 64u32.saturating_sub(x.leading_zeros());
    log2((x >> drop) as u64) + (i128::from(drop) - i128::from(fraction_bits)) * ONE
}

/// A number `mantissa / 2^63 * 2^exponent`, with a mantissa of 2^63 or more.
struct ScaledPower {
    mantissa: u64,
    exponent: i128,
}

/// 2^`log`.
fn exp2(log: FixedLog2) -> ScaledPower {
    let exponent = log >> FRACTION_BITS;
    let fraction = (log & (ONE - 1)) as u64;
    let step = (fraction >> 52) as usize;
    // The rest of the step, times ln 2: below 2^-8.5, 64 fraction bits.
    let z = high_product((fraction & ((1 << 52) - 1)) << 4, LN_2);
    // e^z - 1 = z (1 + z/2 (1 + z/3 (…))); the ones are added as z itself.
    let mut sum = z;
    for divisor in [6, 5, 4, 3, 2] {
        sum = z + high_product(z, sum) / divisor;
    }
    let mantissa = POWER[step];
    ScaledPower { mantissa: mantissa.saturating_add(high_product(mantissa, sum)), exponent }
}

/// `factor * 2^log`, rounded down; at most `u64::MAX`.
pub(crate) fn multiply_by_exp2(factor: u64, log: FixedLog2) -> u64 {
    let ScaledPower { mantissa, exponent } = exp2(log);
    let product = u128::from(factor) * u128::from(mantissa);
    match 63 - exponent {
        shift @ 0..=127 => u64::try_from(product >> shift).unwrap_or(u64::MAX),
        shift if shift < 0 && product != 0 => u64::MAX,
        _ => 0,
    }
}

/// 2^`log` with 64 fraction bits; `log` below 63.
pub(crate) fn exp2_fixed(log: FixedLog2) -> u128 {
    let ScaledPower { mantissa, exponent } = exp2(log);
    match exponent + 1 {
        shift @ 0..=63 => u128::from(mantissa) << shift,
        shift @ -63..=-1 => u128::from(mantissa) >> -shift,
        shift => {
            assert!(shift < 0, "power out of range");
            0
        }
    }
}

/// -ln(`x` / 2^64) with 60 fraction bits; `x` is not 0.
pub(crate) fn minus_ln_of_fraction(x: u64) -> u128 {
    let log = (64 * ONE - log2(x)) as u128;
    // Below 2^66 times below 2^64: in two halves.
    let (upper, lower) = (log >> 32, log & 0xffff_ffff);
    ((upper * u128::from(LN_2)) >> 32) + ((lower * u128::from(LN_2)) >> 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_disk::rng::Seed;
    extern crate std;

    fn samples() -> impl Iterator<Item = u64> {
        let mut rng = Seed(3).stream("fixed");
        (0..64u32)
            .flat_map(|bit| [1u64 << bit, (1 << bit) + 1, (1 << bit) | (1 << bit >> 1)])
            .chain([u64::MAX, 3, 10_000_000])
            .chain((0..20_000u32).map(move |i| (rng.next_u64() >> (i % 64)).max(1)))
    }

    fn as_f64(log: FixedLog2) -> f64 {
        log as f64 / ONE as f64
    }

    #[test]
    fn log2_agrees_with_floating_point() {
        for x in samples() {
            let error = (as_f64(log2(x)) - (x as f64).log2()).abs();
            assert!(error < 2e-14, "log2({x}) is off by {error:e}");
        }
        assert!(log2(1).abs() < 1 << 6, "log2(1) = {}", log2(1));
    }

    #[test]
    fn exp2_agrees_with_floating_point() {
        let mut rng = Seed(4).stream("fixed");
        for _ in 0..20_000 {
            let log = i128::from(rng.next_u64() as i64) * 8 + 3;
            let ScaledPower { mantissa, exponent } = exp2(log);
            let ours = mantissa as f64 / 2f64.powi(63) * 2f64.powi(exponent as i32);
            let theirs = as_f64(log).exp2();
            assert!(((ours - theirs) / theirs).abs() < 1e-13, "2^{} = {ours} not {theirs}", as_f64(log));
        }
    }

    #[test]
    fn exp2_undoes_log2() {
        for x in samples() {
            let back = multiply_by_exp2(1 << 20, log2(x) - log2(1 << 20).min(log2(x)));
            let expected = if x < 1 << 20 { 1 << 20 } else { x };
            assert!(back.abs_diff(expected) as f64 <= 1.0 + expected as f64 * 1e-16, "{x} {back}");
        }
    }

    #[test]
    fn minus_ln_agrees_with_floating_point() {
        for x in samples() {
            let ours = minus_ln_of_fraction(x) as f64 / ONE as f64;
            let theirs = -(x as f64 / 2f64.powi(64)).ln();
            // Where ln is small, the floating quotient itself has lost digits: 2^-53 absolute.
            assert!((ours - theirs).abs() < theirs * 1e-12 + 3e-16, "{x}: {ours} {theirs}");
        }
    }

    #[test]
    fn scale_and_power_at_their_edges() {
        assert_eq!(multiply_by_exp2(5, -200 * ONE), 0);
        assert_eq!(multiply_by_exp2(0, 200 * ONE), 0);
        assert_eq!(multiply_by_exp2(1, 80 * ONE), u64::MAX);
        assert_eq!(multiply_by_exp2(7, 3 * ONE), 56);
        assert_eq!(exp2_fixed(0), 1 << 64);
        assert_eq!(exp2_fixed(-70 * ONE), 0);
        assert_eq!(log2_fixed(1 << 100, 60), 40 * ONE + log2(1));
    }
}
