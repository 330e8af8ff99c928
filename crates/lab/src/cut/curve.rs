//! Data at risk over time: an exact function, kept as a few hundred stretches of time with the mean and the maximum of each. When a run
//! outgrows them, neighbouring stretches merge.

use seekwise_disk::durability::risk::RiskLevel;
use seekwise_disk::time::Instant;
use serde::Serialize;

/// The most stretches kept. A run longer than so many times [`FIRST_NS`] keeps at least half of them.
const POINTS: usize = 240;

/// The initial length of a stretch: 1 ms, an eighth of a revolution of a usual drive.
const FIRST_NS: u64 = 1_000_000;

/// A stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RiskPoint {
    /// The middle of the stretch, in seconds of the run.
    pub t_s: f64,
    /// Bytes at risk, mean over the stretch.
    pub bytes_mean: f64,
    /// The maximum in the stretch.
    pub bytes_max: u64,
    /// Writes at risk, mean over the stretch.
    pub writes_mean: f64,
    /// The maximum in the stretch.
    pub writes_max: u64,
}

/// The function, from time 0 on.
#[derive(Clone, Debug)]
pub(crate) struct RiskCurve {
    /// The length of a stretch.
    width_ns: u64,
    stretches: Vec<RiskStretch>,
    /// The end of the time that was added.
    now_ns: u64,
}

/// A stretch of time, as it is summed.
#[derive(Clone, Copy, Debug, Default)]
struct RiskStretch {
    /// Bytes and writes, times nanoseconds.
    area: [f64; 2],
    most: RiskLevel,
}

impl RiskStretch {
    fn merge(self, other: RiskStretch) -> RiskStretch {
        let bytes = self.most.bytes.max(other.most.bytes);
        let writes = self.most.writes.max(other.most.writes);
        let area = [self.area[0] + other.area[0], self.area[1] + other.area[1]];
        RiskStretch { area, most: RiskLevel { bytes, writes } }
    }
}

impl Default for RiskCurve {
    fn default() -> RiskCurve {
        RiskCurve { width_ns: FIRST_NS, stretches: Vec::new(), now_ns: 0 }
    }
}

impl RiskCurve {
    /// Adds the time since the last call, until `now`: the level fell evenly from `before` to `after`, or stayed.
    pub(crate) fn add_until(&mut self, now: Instant, before: RiskLevel, after: RiskLevel) {
        let (from, to) = (self.now_ns, now.nanos());
        let length = to.saturating_sub(from);
        if length == 0 {
            return;
        }
        let level_at = |t: u64| {
            let share = (t - from) as f64 / length as f64;
            let between = |a: u64, b: u64| a as f64 + (b as f64 - a as f64) * share;
            [between(before.bytes, after.bytes), between(before.writes, after.writes)]
        };
        while self.now_ns < to {
            let index = (self.now_ns / self.width_ns) as usize;
            if index >= POINTS {
                self.merge_pairs();
                continue;
            }
            let end = ((index as u64 + 1) * self.width_ns).min(to);
            let (first, last, time) = (level_at(self.now_ns), level_at(end), (end - self.now_ns) as f64);
            let area = [0, 1].map(|i| (first[i] + last[i]) / 2.0 * time);
            let peak = RiskLevel { bytes: first[0].max(last[0]) as u64, writes: first[1].max(last[1]).ceil() as u64 };
            if index >= self.stretches.len() {
                self.stretches.resize(index + 1, RiskStretch::default());
            }
            self.stretches[index] = self.stretches[index].merge(RiskStretch { area, most: peak });
            self.now_ns = end;
        }
    }

    /// Doubles the length of stretches.
    fn merge_pairs(&mut self) {
        let pair = |pair: &[RiskStretch]| pair.iter().copied().fold(RiskStretch::default(), RiskStretch::merge);
        self.stretches = self.stretches.chunks(2).map(pair).collect();
        self.width_ns *= 2;
    }

    /// The points kept.
    pub fn points(&self) -> Vec<RiskPoint> {
        let point = |(index, stretch): (usize, &RiskStretch)| {
            let from = index as u64 * self.width_ns;
            let to = (from + self.width_ns).min(self.now_ns);
            let time = (to - from) as f64;
            RiskPoint {
                t_s: (from + to) as f64 / 2e9,
                bytes_mean: stretch.area[0] / time,
                bytes_max: stretch.most.bytes,
                writes_mean: stretch.area[1] / time,
                writes_max: stretch.most.writes,
            }
        };
        self.stretches.iter().enumerate().map(point).collect()
    }

    /// Mean and maximum of bytes and of writes, over the whole run.
    pub fn summary(&self) -> RiskSummary {
        let all = self.stretches.iter().copied().fold(RiskStretch::default(), RiskStretch::merge);
        let time = (self.now_ns as f64).max(1.0);
        RiskSummary {
            bytes_mean: all.area[0] / time,
            bytes_max: all.most.bytes,
            writes_mean: all.area[1] / time,
            writes_max: all.most.writes,
        }
    }
}

/// Data at risk over a whole run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RiskSummary {
    /// Bytes, mean over time.
    pub bytes_mean: f64,
    /// The maximum over time.
    pub bytes_max: u64,
    /// Writes, mean over time.
    pub writes_mean: f64,
    /// The maximum over time.
    pub writes_max: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(bytes: u64) -> RiskLevel {
        RiskLevel { bytes, writes: bytes / 10 }
    }

    fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1000)
    }

    #[test]
    fn means_and_peaks_are_exact() {
        let mut curve = RiskCurve::default();
        curve.add_until(at(500), level(0), level(0));
        curve.add_until(at(1000), level(100), level(100));
        curve.add_until(at(2000), level(100), level(0));
        curve.add_until(at(2500), level(40), level(40));
        let found: Vec<(f64, f64, u64)> = curve.points().iter().map(|p| (p.t_s, p.bytes_mean, p.bytes_max)).collect();
        assert_eq!(found, [(0.0005, 50.0, 100), (0.0015, 50.0, 100), (0.00225, 40.0, 40)]);
        let all = curve.summary();
        assert_eq!((all.bytes_mean, all.bytes_max, all.writes_max), (48.0, 100, 10));
    }

    #[test]
    fn a_long_run_keeps_few_points_and_its_mean() {
        let mut curve = RiskCurve::default();
        for step in 0..100_000u64 {
            curve.add_until(at((step + 1) * 100), level(step % 7 * 10), level(step % 7 * 10));
        }
        let points = curve.points();
        assert!((POINTS / 2..=POINTS).contains(&points.len()), "{}", points.len());
        let truth = (0..100_000u64).map(|step| step % 7 * 10).sum::<u64>() as f64 / 100_000.0;
        assert!((curve.summary().bytes_mean - truth).abs() < 1e-6);
        assert!(points.iter().all(|point| point.bytes_max == 60 && (point.bytes_mean - 30.0).abs() < 1.0));
    }
}
