//! Sequential reads. Large blocks run at the rate of the medium or the link; small ones at that of the commands, where these are slower.

use seekwise_drives::key_names::figure;

use super::conditions::{JobConditions, JobOp};
use super::suspicion::{SuspectedPart, Suspicion};
use super::{FigureResidual, JobResidual};

/// Blocks from this size on take longer on the medium than their commands, on any drive here.
pub(super) const LARGE_BYTES: u64 = 256 * 1024;

/// The suspicion that sequential reads raise.
pub(super) fn suspect_stream(jobs: &[JobResidual]) -> Option<Suspicion> {
    let mut streams: Vec<(&JobResidual, &JobConditions, &FigureResidual)> = jobs
        .iter()
        .filter_map(|job| {
            let conditions = job.conditions.as_ref().filter(|it| it.is_sequential(JobOp::Read))?;
            Some((job, conditions, job.rate()?))
        })
        .collect();
    streams.sort_by_key(|(_, conditions, _)| conditions.block_bytes);
    let is_large = |conditions: &JobConditions| conditions.block_bytes >= LARGE_BYTES;
    let large = streams.iter().rev().find(|(_, conditions, _)| is_large(conditions));
    if let Some((job, conditions, rate)) = large.filter(|(.., rate)| rate.is_beyond_scatter()) {
        return Some(suspect_rate(&job.job, conditions, rate));
    }
    let (job, conditions, rate) = streams.iter().find(|(_, it, rate)| !is_large(it) && rate.is_beyond_scatter())?;
    let command_ms = |rate: f64| 1e3 / rate;
    let of_large = match large {
        Some((job, ..)) => format!("while {} is right", job.job),
        None => "and no result with large blocks (bs=1m) tells whether the medium is right".to_owned(),
    };
    let why = format!(
        "{}: a command of {} KiB takes {:.3} ms, {:.3} in the model, {of_large}: what a command costs, or where read-ahead ends.",
        job.job,
        conditions.block_bytes / 1024,
        command_ms(rate.measured),
        command_ms(rate.predicted)
    );
    let keys = [figure::OVERHEAD_READ_HIT_MS, figure::LINK_COMMAND_MS, figure::CACHE_READ_AHEAD_UNTIL];
    Some(Suspicion::new(SuspectedPart::StreamCommand, &keys, why))
}

/// The share of the medium's rate below which the link, or the commands, limit the model.
const LINK_BOUND: f64 = 0.9;

/// The suspicion about the rate of large blocks.
fn suspect_rate(job: &str, conditions: &JobConditions, rate: &FigureResidual) -> Suspicion {
    let mb_s = |rate: f64| rate * conditions.block_bytes as f64 / 1e6;
    let (measured, predicted) = (mb_s(rate.measured), mb_s(rate.predicted));
    let (medium, link) = (conditions.medium_mb_s, conditions.link_mb_s);
    let cause = if measured > predicted && predicted < LINK_BOUND * medium {
        "In the model the link limits it, on the drive it does not"
    } else if measured > predicted {
        "Tracks are denser there, or the spindle is faster"
    } else {
        "Tracks hold less there, the spindle is slower, or a link or bridge limits it"
    };
    let why = format!(
        "{job}: {measured:.1} MB/s, predicted {predicted:.1}; the profile's medium gives {medium:.1} there, its link {link:.1}. {cause}."
    );
    let keys = [figure::GEOMETRY_ZONES, figure::MECHANICS_RPM, figure::LINK_RATE_MB_S];
    Suspicion::new(SuspectedPart::StreamRate, &keys, why)
}

#[cfg(test)]
mod tests {
    use super::super::samples::{lone_reads, stream};
    use super::*;

    #[test]
    fn large_blocks_are_the_medium_and_small_ones_the_commands() {
        let part = |jobs: &[JobResidual]| suspect_stream(jobs).map(|suspicion| suspicion.part);
        let (right, off) = (|| stream(1 << 20, 190.0, 191.0), || stream(1 << 20, 150.0, 190.0));
        assert_eq!(part(&[off(), stream(4096, 40.0, 60.0)]), Some(SuspectedPart::StreamRate));
        assert_eq!(part(&[right(), stream(4096, 40.0, 60.0)]), Some(SuspectedPart::StreamCommand));
        assert_eq!(part(&[right(), stream(4096, 60.0, 60.0)]), None);
        assert_eq!(part(&[lone_reads(&[("iops", 60.0, 80.0)])]), None);
        let alone = suspect_stream(&[stream(4096, 40.0, 60.0)]).unwrap().why;
        assert!(alone.contains("takes 0.102 ms, 0.068 in the model, and no result with large blocks"), "{alone}");
    }
}
