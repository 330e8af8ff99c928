//! How late things were, by size.

use seekwise_model::time::Span;

/// Parts of each power of two that lateness is told apart by: a thirty-second is 3 %.
const PARTS: u32 = 32;

/// Lateness (or other spans) by size, in nanoseconds: quantiles are at most 3.2 % above what they stand for.
#[derive(Clone, Debug)]
pub struct Lateness {
    counts: Vec<u64>,
    latest: Span,
    total: Span,
    /// Sum of the squares, in square nanoseconds.
    squares: f64,
}

impl Default for Lateness {
    fn default() -> Lateness {
        Lateness { counts: vec![0; 64 * PARTS as usize], latest: Span::ZERO, total: Span::ZERO, squares: 0.0 }
    }
}

impl Lateness {
    fn bucket(nanos: u64) -> usize {
        let power = nanos.max(u64::from(PARTS)).ilog2();
        let part = (nanos >> (power - PARTS.ilog2())) % u64::from(PARTS);
        (power * PARTS) as usize + part as usize
    }

    /// The first size beyond a bucket.
    fn edge(bucket: usize) -> u64 {
        let (power, part) = (bucket as u32 / PARTS, bucket as u64 % u64::from(PARTS));
        let step = 1u64 << (power - PARTS.ilog2());
        (1u64 << power).saturating_add(step.saturating_mul(part + 1))
    }

    /// One more.
    pub fn add(&mut self, late: Span) {
        self.counts[Lateness::bucket(late.nanos())] += 1;
        self.latest = self.latest.max(late);
        self.total += late;
        self.squares += (late.nanos() as f64).powi(2);
    }

    /// Takes one off again.
    pub fn take_off(&mut self, late: Span) {
        self.counts[Lateness::bucket(late.nanos())] -= 1;
        self.total = self.total.saturating_sub(late);
        self.squares -= (late.nanos() as f64).powi(2);
    }

    /// The lateness that so large a share of answers does not exceed; nothing without answers.
    pub fn quantile(&self, share: f64) -> Option<Span> {
        let all: u64 = self.counts.iter().sum();
        let wanted = ((all as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        let bucket = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        })?;
        Some(Span::from_nanos(Lateness::edge(bucket)).min(self.latest))
    }

    /// The latest.
    pub fn latest(&self) -> Span {
        self.latest
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Their mean; nothing without any.
    pub fn mean(&self) -> Option<Span> {
        self.total.nanos().checked_div(self.count()).map(Span::from_nanos)
    }

    /// Standard error of the mean, in nanoseconds; infinite below two samples.
    pub fn standard_error(&self) -> f64 {
        let count = self.count() as f64;
        if count < 2.0 {
            return f64::INFINITY;
        }
        let mean = self.total.nanos() as f64 / count;
        let variance = (self.squares / count - mean * mean).max(0.0) * count / (count - 1.0);
        (variance / count).sqrt()
    }

    /// How many exceed `span`. One that exceeds it by less than 3 % may not be counted.
    pub fn over(&self, span: Span) -> u64 {
        self.counts[Lateness::bucket(span.nanos()) + 1..].iter().sum()
    }

    /// Sizes, each at most 3 % below what it stands for, and how many there are.
    pub fn sizes(&self) -> impl Iterator<Item = (Span, u64)> {
        let floor = |bucket: usize| if bucket == 0 { 0 } else { Lateness::edge(bucket - 1) };
        let counts = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        counts.map(move |(bucket, &count)| (Span::from_nanos(floor(bucket)).min(self.latest), count))
    }
}
