//! All rules about measured and predicted figures, in order.

use super::suspicion::{SuspectedPart, Suspicion};
use super::{JobResidual, foreign, positioning, queue, stream, write};

/// The parts of the model, or of the measurement, that explain why `jobs` are off; none if chance explains it all.
pub fn find_suspicions(jobs: &[JobResidual]) -> Vec<Suspicion> {
    // What did not come from this drive tells nothing about its parts.
    if let Some(foreign) = foreign::suspect_no_platter(jobs).or_else(|| foreign::suspect_other_stack(jobs)) {
        return vec![foreign];
    }
    let mut suspicions = positioning::suspect_positioning(jobs);
    let has_rotation = suspicions.iter().any(|suspicion| suspicion.part == SuspectedPart::Rotation);
    // The spindle explains the rate of streams as well.
    suspicions.extend(queue::suspect_queue(jobs));
    suspicions.extend(stream::suspect_stream(jobs).filter(|_| !has_rotation));
    suspicions.extend(write::suspect_writes(jobs));
    let leading = jobs.iter().flat_map(|job| &job.figures).filter(|figure| figure.is_leading());
    let off = leading.filter(|figure| figure.is_beyond_scatter()).count();
    if suspicions.is_empty() && off > jobs.len() / EXPECTED_BY_CHANCE {
        suspicions.push(unknown(off));
    }
    suspicions
}

/// Of so many jobs one has a figure beyond the scatter by chance: each has four that mostly go together, and one in twenty lies beyond.
const EXPECTED_BY_CHANCE: usize = 10;

fn unknown(off: usize) -> Suspicion {
    let figures = if off == 1 { "1 figure is".to_owned() } else { format!("{off} figures are") };
    let why = format!(
        "{figures} off by more than chance explains, and no rule names a part. A fit tries all figures together; single random reads \
         (iodepth=1), a sequential read (bs=1m) and random writes make the parts tell apart."
    );
    Suspicion::new(SuspectedPart::Unknown, &[], why)
}

#[cfg(test)]
mod tests {
    use super::super::conditions::{JobOp, JobOrder};
    use super::super::samples::{job, lone_reads, lone_writes, reads_at_depth, stream};
    use super::*;

    fn parts(jobs: &[JobResidual]) -> Vec<SuspectedPart> {
        find_suspicions(jobs).iter().map(|suspicion| suspicion.part).collect()
    }

    #[test]
    fn nothing_is_suspected_where_chance_explains_all() {
        let jobs = [
            lone_reads(&[("mean", 12.5, 12.6), ("p50", 12.4, 12.5), ("p99", 22.0, 22.3)]),
            reads_at_depth(16, 188.0, 190.0),
            stream(1 << 20, 191.0, 190.0),
            lone_writes(150.0, 152.0, true),
        ];
        assert!(parts(&jobs).is_empty());
    }

    #[test]
    fn the_spindle_is_named_once_and_a_foreign_sign_alone() {
        let slower = lone_reads(&[("mean", 13.95, 12.56), ("p1", 4.0, 4.0), ("p99", 24.7, 22.0)]);
        let stream_of_5400 = || stream(1 << 20, 142.5, 190.0);
        assert_eq!(parts(&[slower, stream_of_5400()]), [SuspectedPart::Rotation]);
        assert_eq!(parts(&[stream_of_5400()]), [SuspectedPart::StreamRate]);
        let cached = lone_reads(&[("mean", 0.2, 12.5), ("p50", 0.1, 12.4)]);
        assert_eq!(parts(&[cached, stream_of_5400()]), [SuspectedPart::NoPlatter]);
    }

    #[test]
    fn what_no_rule_explains_is_said() {
        let mixed = job(JobOp::Mixed, JobOrder::Random, (4096, 1), &[("read.iops", 40.0, 50.0)]);
        assert_eq!(parts(&[mixed]), [SuspectedPart::Unknown]);
    }
}
