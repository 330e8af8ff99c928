//! Signs that the results are not those of this drive alone: they come sooner than a platter can bring them, or all are off by one factor.

use seekwise_disk::time::Span;

use super::JobResidual;
use super::conditions::{JobConditions, JobOp};
use super::suspicion::{SuspectedPart, Suspicion};
use crate::validate::platter::platter_doubt;

/// How many times the medium's rate shows that something else answered: drives of one profile differ by less than two in density.
const NO_MEDIUM: f64 = 3.0;

/// The suspicion that no platter answered: the median of random reads lies below half a revolution, or a stream far above the medium.
pub(super) fn suspect_no_platter(jobs: &[JobResidual]) -> Option<Suspicion> {
    jobs.iter().find_map(|job| {
        let conditions = job.conditions.as_ref()?;
        let why = if conditions.is_random(JobOp::Read) {
            let median = job.figure("p50")?;
            let revolution = Span::from_nanos((conditions.revolution_ms * 1e6) as u64);
            let reads = format!("reads of {}", job.job);
            platter_doubt(&reads, median.measured, median.predicted, revolution)?
        } else {
            let measured_mb_s = job.rate()?.measured * conditions.block_bytes as f64 / 1e6;
            let is_impossible =
                conditions.is_sequential(JobOp::Read) && measured_mb_s > NO_MEDIUM * conditions.medium_mb_s;
            is_impossible.then(|| {
                format!(
                    "{}: {measured_mb_s:.0} MB/s, where the medium gives {:.0}: no platter of this density answered, but a cache, flash or \
                     memory",
                    job.job, conditions.medium_mb_s
                )
            })?
        };
        let advice = "Measure with direct=1, on the whole device, beyond what was read before";
        Some(Suspicion::new(SuspectedPart::NoPlatter, &[], format!("{why}. {advice}.")))
    })
}

/// The fewest rates that tell a common factor from chance.
const FEWEST_RATES: usize = 3;

/// The least common factor, as a logarithm: a tenth. Less is a part of the drive that all jobs share.
const LEAST_FACTOR: f64 = 0.1;

/// By how much the ratios of one factor may differ, as a logarithm: the scatter of two runs.
const ONE_FACTOR: f64 = 0.08;

/// The suspicion that another stack or another drive was measured: all rates are off by one factor. No figure of a drive does that to both
/// random and sequential work, or to both reads and writes: seeks leave streams alone, density leaves seeks alone.
pub(super) fn suspect_other_stack(jobs: &[JobResidual]) -> Option<Suspicion> {
    let rates: Vec<(&JobConditions, f64)> =
        jobs.iter().filter_map(|job| Some((job.conditions.as_ref()?, job.rate()?.log_ratio()))).collect();
    let (first, _) = rates.first()?;
    let is_of_several_kinds = rates.iter().any(|(other, _)| (other.op, other.order) != (first.op, first.order));
    let least = rates.iter().map(|(_, ratio)| *ratio).fold(f64::INFINITY, f64::min);
    let most = rates.iter().map(|(_, ratio)| *ratio).fold(f64::NEG_INFINITY, f64::max);
    let mean = rates.iter().map(|(_, ratio)| ratio).sum::<f64>() / rates.len() as f64;
    let is_one_factor = rates.len() >= FEWEST_RATES && most - least <= ONE_FACTOR && mean.abs() >= LEAST_FACTOR;
    (is_one_factor && is_of_several_kinds).then(|| {
        let why = format!(
            "All {} rates are off by nearly one factor: predicted {:.2} to {:.2} times the measured. No single figure of a drive does that: \
             a file system, the page cache or a virtual disk stood between, or another drive was measured. Measure the device itself with \
             direct=1, or say the layers after the file: FILE,driver=NAME.",
            rates.len(),
            least.exp(),
            most.exp()
        );
        Suspicion::new(SuspectedPart::OtherStack, &[], why)
    })
}

#[cfg(test)]
mod tests {
    use super::super::samples::{lone_reads, lone_writes, reads_at_depth, stream};
    use super::*;

    #[test]
    fn results_that_are_faster_than_a_platter_are_doubted() {
        let reads = |median_ms: f64| [lone_reads(&[("p50", median_ms, 12.0)])];
        let said = suspect_no_platter(&reads(0.2)).unwrap();
        assert!(said.part == SuspectedPart::NoPlatter && said.why.contains("no platter of this speed"), "{}", said.why);
        assert_eq!(suspect_no_platter(&reads(9.0)), None);
        assert!(suspect_no_platter(&[stream(1 << 20, 700.0, 190.0)]).is_some());
        assert_eq!(suspect_no_platter(&[stream(1 << 20, 250.0, 190.0)]), None);
    }

    #[test]
    fn one_factor_for_different_work_is_another_stack() {
        let all = [reads_at_depth(1, 60.0, 75.0), stream(1 << 20, 152.0, 190.0), lone_writes(160.0, 200.0, true)];
        assert_eq!(suspect_other_stack(&all).unwrap().part, SuspectedPart::OtherStack);
        // A seek time does this to random reads at all depths.
        let reads = [1, 4, 16].map(|depth| reads_at_depth(depth, 60.0, 75.0));
        assert_eq!(suspect_other_stack(&reads), None);
        let other = [reads_at_depth(1, 60.0, 75.0), stream(1 << 20, 188.0, 190.0), lone_writes(160.0, 200.0, true)];
        assert_eq!(suspect_other_stack(&other), None);
        let right = [reads_at_depth(1, 74.0, 75.0), stream(1 << 20, 188.0, 190.0), lone_writes(197.0, 200.0, true)];
        assert_eq!(suspect_other_stack(&right), None);
    }
}
