//! Time in the model: instants and spans in whole nanoseconds.
//!
//! Nothing here reads a clock. An [`Instant`] counts nanoseconds since the run began; the caller, in virtual or in real
//! time, passes it in. Overflow panics in every build, an embedder's too: 2^64 ns are 584 years, so it is a bug. Time
//! that wraps would answer a request before it came.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// A point in time: nanoseconds since the run began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

/// A length of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

/// Returns the nanoseconds that checked arithmetic gave; panics if it gave none.
#[inline]
const fn expect_no_overflow(nanos: Option<u64>) -> u64 {
    match nanos {
        Some(nanos) => nanos,
        None => panic!("time overflows: an instant or a span beyond 2^64 ns, or below 0"),
    }
}

impl Instant {
    /// The beginning of the run.
    pub const ZERO: Instant = Instant(0);
    /// Later than any instant a run reaches.
    pub const FAR: Instant = Instant(u64::MAX);

    /// The instant `ns` nanoseconds after the beginning.
    pub const fn from_nanos(ns: u64) -> Instant {
        Instant(ns)
    }

    /// Nanoseconds since the beginning.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// The span since `earlier`. Panics when `earlier` is later: time does not run back.
    pub fn since(self, earlier: Instant) -> Span {
        Span(expect_no_overflow(self.0.checked_sub(earlier.0)))
    }

    /// The span since `earlier`, or zero when `earlier` is later.
    pub const fn saturating_since(self, earlier: Instant) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// A span of length zero.
    pub const ZERO: Span = Span(0);

    /// A span of `ns` nanoseconds.
    pub const fn from_nanos(ns: u64) -> Span {
        Span(ns)
    }

    /// A span of `us` microseconds.
    pub const fn from_micros(us: u64) -> Span {
        Span(expect_no_overflow(us.checked_mul(1_000)))
    }

    /// A span of `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Span {
        Span(expect_no_overflow(ms.checked_mul(1_000_000)))
    }

    /// A span of `s` seconds.
    pub const fn from_secs(s: u64) -> Span {
        Span(expect_no_overflow(s.checked_mul(1_000_000_000)))
    }

    /// The length in nanoseconds.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// `self` less `other`, or zero when `other` is longer.
    pub const fn saturating_sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }

    /// `factor` times `self`.
    pub const fn times(self, factor: u64) -> Span {
        Span(expect_no_overflow(self.0.checked_mul(factor)))
    }
}

impl Add<Span> for Instant {
    type Output = Instant;
    fn add(self, span: Span) -> Instant {
        Instant(expect_no_overflow(self.0.checked_add(span.0)))
    }
}

impl AddAssign<Span> for Instant {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(expect_no_overflow(self.0.checked_add(other.0)))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Span) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Span;
    fn sub(self, other: Span) -> Span {
        Span(expect_no_overflow(self.0.checked_sub(other.0)))
    }
}

/// A rate in bytes a second, kept with its inverse: division becomes multiplication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rate {
    bytes_a_second: u64,
    /// 2^64 - 1 divided by the rate, rounded down.
    inverse: u64,
}

impl Rate {
    /// The rate in bytes a second, at least 1.
    pub const fn new(bytes_a_second: u64) -> Rate {
        let bytes_a_second = if bytes_a_second == 0 { 1 } else { bytes_a_second };
        Rate { bytes_a_second, inverse: u64::MAX / bytes_a_second }
    }

    /// Returns the time that `bytes` take, rounded down. For any dividend the product with the inverse is too small by at most 1.
    #[inline]
    pub fn transfer_time(self, bytes: u64) -> Span {
        let dividend = expect_no_overflow(bytes.checked_mul(1_000_000_000));
        let quotient = ((u128::from(dividend) * u128::from(self.inverse)) >> 64) as u64;
        let rest = dividend - quotient * self.bytes_a_second;
        Span(quotient + u64::from(rest >= self.bytes_a_second))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ns if ns < 1_000 => write!(f, "{ns} ns"),
            ns if ns < 1_000_000 => write!(f, "{}.{:03} us", ns / 1_000, ns % 1_000),
            ns if ns < 1_000_000_000 => {
                write!(f, "{}.{:03} ms", ns / 1_000_000, ns / 1_000 % 1_000)
            }
            ns => write!(f, "{}.{:03} s", ns / 1_000_000_000, ns / 1_000_000 % 1_000),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Seed;

    #[test]
    fn a_rate_divides_exactly() {
        let mut rng = Seed(5).stream("rate");
        let fixed = [1, 2, 3, 999_999_999, 1_000_000_000, 1_000_000_001, u64::MAX].map(|rate| (rate, u64::MAX));
        let drawn = (0..100_000).map(|i| (rng.next_u64() >> (i % 60), rng.next_u64() >> (i % 30)));
        for (rate, bytes) in fixed.into_iter().chain(drawn.collect::<alloc::vec::Vec<_>>()) {
            let (rate, bytes) = (rate.max(1), bytes / 1_000_000_000);
            assert_eq!(Rate::new(rate).transfer_time(bytes).nanos(), bytes * 1_000_000_000 / rate, "{bytes} at {rate}");
        }
    }
}
