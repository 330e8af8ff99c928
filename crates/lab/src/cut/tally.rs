//! Sums what a judge of cuts records during a run: the ages of lost writes, and data at risk over time.

use seekwise_disk::durability::Tally;
use seekwise_disk::durability::loss::WriteClass;
use seekwise_disk::durability::risk::RiskLevel;
use seekwise_disk::time::{Instant, Span};

use super::curve::RiskCurve;
use crate::stats::histogram::Histogram;

/// The sums of one run.
#[derive(Default)]
pub(crate) struct CutSums {
    /// By class of writes, the time from acknowledgement to cut of each lost write, over all cuts.
    pub ages: [Histogram; 4],
    /// Data at risk over time.
    pub curve: RiskCurve,
}

impl Tally for CutSums {
    fn record_loss(&mut self, class: WriteClass, age: Span, count: u64) {
        let ages = &mut self.ages[class as usize];
        match count {
            1 => ages.record(age),
            _ => ages.record_bucket(age, count),
        }
    }

    fn record_risk(&mut self, until: Instant, before: RiskLevel, after: RiskLevel) {
        self.curve.add_until(until, before, after);
    }
}
