//! Random reads at several depths. The rate at depth 1 is the mechanics alone; what more requests in flight add is the queue.

use seekwise_drives::key_names::figure;

use super::conditions::{JobConditions, JobOp};
use super::suspicion::{SuspectedPart, Suspicion};
use super::{FigureResidual, JobResidual};

/// The most by which the rate at depth 1 may be off, in percent, so that deeper ones tell about the queue.
const RIGHT_PERCENT: f64 = 5.0;

/// The gain from which on a drive uses a queue: one without gains only the idle time between two commands.
const LEAST_GAIN: f64 = 1.1;

/// Keys of the queue.
const KEYS: [&str; 4] = [
    figure::FIRMWARE_DEPTH,
    figure::FIRMWARE_QUEUE_POLICY,
    figure::FIRMWARE_QUEUE_WINDOW,
    figure::FIRMWARE_QUEUE_AHEAD,
];

/// The rate of random reads at a depth.
struct DepthRate<'a> {
    job: &'a JobResidual,
    conditions: &'a JobConditions,
    rate: &'a FigureResidual,
}

/// The suspicion that the drive's queue is another one: depth 1 is right, and deeper ones are not.
pub(super) fn suspect_queue(jobs: &[JobResidual]) -> Option<Suspicion> {
    let rates = jobs.iter().filter_map(|job| {
        let conditions = job.conditions.as_ref().filter(|it| it.is_random(JobOp::Read))?;
        Some(DepthRate { job, conditions, rate: job.rate()? })
    });
    let (mut rates, mut deeper): (Vec<_>, Vec<_>) = rates.partition(|rate| rate.conditions.depth == 1);
    deeper.sort_by_key(|rate| rate.conditions.depth);
    let first_off = deeper.iter().position(|rate| rate.rate.is_beyond_scatter())?;
    let deepest_off = deeper.iter().rfind(|rate| rate.rate.is_beyond_scatter())?;
    rates.retain(|rate| rate.conditions.block_bytes == deepest_off.conditions.block_bytes);
    let Some(lone) = rates.first() else {
        let why = format!(
            "{}: rate {:+.1} % off. Without a result at depth 1 nobody can tell the queue from the arm: measure iodepth=1 too.",
            deepest_off.job.job,
            deepest_off.rate.off_percent()
        );
        return Some(Suspicion::new(SuspectedPart::Queue, &KEYS, why));
    };
    if lone.rate.off_percent().abs() > RIGHT_PERCENT {
        return None;
    }
    let gains =
        |rate: &DepthRate<'_>| [rate.rate.measured / lone.rate.measured, rate.rate.predicted / lone.rate.predicted];
    let [measured, predicted] = gains(deepest_off);
    let DepthRate { conditions, .. } = deepest_off;
    let more_or_less = if measured > predicted { "more" } else { "less" };
    let from =
        if first_off > 0 { format!(", from depth {} on", deeper[first_off].conditions.depth) } else { String::new() };
    let unused = deeper.iter().all(|rate| gains(rate)[0] < LEAST_GAIN);
    let advice = if unused && predicted >= LEAST_GAIN {
        "The drive used no queue: if it was off (NCQ, or a bridge without it), say FILE,depth=1".to_owned()
    } else if conditions.drive_depth == 1 && measured >= LEAST_GAIN {
        "The model has no queue here, but the drive has".to_owned()
    } else {
        format!("Its depth ({} in the model), what it chooses by, or among how many", conditions.drive_depth)
    };
    let why = format!(
        "The rate at depth 1 is right ({:+.1} %). The drive gains {more_or_less} than the model from requests in flight{from}: {measured:.2} times \
         at depth {}, the model {predicted:.2} times. {advice}.",
        lone.rate.off_percent(),
        conditions.depth
    );
    Some(Suspicion::new(SuspectedPart::Queue, &KEYS, why))
}

#[cfg(test)]
mod tests {
    use super::super::samples::reads_at_depth;
    use super::*;

    #[test]
    fn deeper_rates_that_are_off_are_the_queue_with_its_direction() {
        let said = suspect_queue(&[
            reads_at_depth(1, 80.0, 80.5),
            reads_at_depth(16, 150.0, 190.0),
            reads_at_depth(4, 112.0, 113.0),
        ]);
        let why = said.unwrap().why;
        assert!(why.contains("gains less than the model from requests in flight, from depth 16 on"), "{why}");
        assert!(why.contains("1.88 times at depth 16, the model 2.36 times"), "{why}");
        let more = suspect_queue(&[reads_at_depth(1, 80.0, 80.0), reads_at_depth(4, 130.0, 110.0)]).unwrap().why;
        assert!(more.contains("gains more than the model"), "{more}");
        let none = suspect_queue(&[reads_at_depth(1, 80.0, 80.0), reads_at_depth(16, 82.0, 190.0)]).unwrap().why;
        assert!(none.contains("FILE,depth=1"), "{none}");
    }

    #[test]
    fn rates_that_are_right_or_off_from_depth_1_on_are_not_the_queue() {
        assert_eq!(suspect_queue(&[reads_at_depth(1, 80.0, 80.0), reads_at_depth(16, 188.0, 190.0)]), None);
        assert_eq!(suspect_queue(&[reads_at_depth(1, 65.0, 80.0), reads_at_depth(16, 155.0, 190.0)]), None);
        assert_eq!(suspect_queue(&[reads_at_depth(1, 65.0, 80.0)]), None);
        let alone = suspect_queue(&[reads_at_depth(16, 155.0, 190.0)]).unwrap().why;
        assert!(alone.contains("measure iodepth=1 too"), "{alone}");
    }
}
