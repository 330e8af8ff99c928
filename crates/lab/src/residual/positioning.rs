//! Single random reads. Their time is command overhead, a seek, half a revolution on average, and the transfer; each shows at other
//! percentiles. A constant shifts all alike. A faster spindle or a shorter seek leaves the quickest reads, which neither wait nor seek, as
//! they are, and shifts the slowest most.

use seekwise_drives::key_names::figure;

use super::conditions::{JobConditions, JobOp};
use super::stream::LARGE_BYTES;
use super::suspicion::{SuspectedPart, Suspicion};
use super::{FigureResidual, JobResidual};

/// Keys of the seek curve.
const SEEK_KEYS: [&str; 3] =
    [figure::MECHANICS_SEEK_AVERAGE_MS, figure::MECHANICS_SEEK_SINGLE_MS, figure::MECHANICS_SEEK_FULL_MS];

/// Keys of what a read costs besides the mechanics.
const OVERHEAD_KEYS: [&str; 2] = [figure::OVERHEAD_READ_MISS_MS, figure::LINK_COMMAND_MS];

/// Single random reads whose mean is off, with the sums that tell its parts.
struct LoneReads<'a> {
    job: &'a JobResidual,
    conditions: &'a JobConditions,
    mean: &'a FigureResidual,
}

impl LoneReads<'_> {
    /// The predicted mean less half a turn and the mean seek: what the command and its data take in the model.
    fn overhead_ms(&self) -> f64 {
        self.mean.predicted - self.conditions.revolution_ms / 2.0 - self.conditions.mean_seek_ms
    }

    /// The measured mean less half a turn and the model's overhead: the mean seek that explains it.
    fn explaining_seek_ms(&self) -> f64 {
        self.conditions.mean_seek_ms + self.mean.shift()
    }

    /// The revolution that explains the measured mean if it alone is off: half of it is in the mean.
    fn explaining_revolution_ms(&self) -> f64 {
        self.conditions.revolution_ms + 2.0 * self.mean.shift()
    }

    /// The sum in words.
    fn seek_sum(&self) -> String {
        format!(
            "{}: {:.2} ms measured, less half a turn ({:.2}) and {:.2} for command and transfer, leave an average seek of about {:.2} ms; \
             the profile has {:.2}",
            self.job.job,
            self.mean.measured,
            self.conditions.revolution_ms / 2.0,
            self.overhead_ms(),
            self.explaining_seek_ms(),
            self.conditions.mean_seek_ms
        )
    }

    /// The shifts of the quickest and the slowest requests: the lowest percentile up to 10 and the highest from 90 to 99.
    fn shifts_at_ends(&self) -> Option<[&FigureResidual; 2]> {
        let of_range = |range: std::ops::RangeInclusive<f64>| {
            let figures = self.job.figures.iter().filter_map(|figure| Some((figure.percent()?, figure)));
            figures.filter(move |(percent, _)| range.contains(percent))
        };
        let low = of_range(0.0..=10.0).min_by(|a, b| a.0.total_cmp(&b.0))?.1;
        let high = of_range(90.0..=99.0).max_by(|a, b| a.0.total_cmp(&b.0))?.1;
        Some([low, high])
    }
}

/// The single random reads of the smallest block size whose mean is off: their transfer counts least.
fn find_lone_reads(jobs: &[JobResidual]) -> Option<LoneReads<'_>> {
    let lone = jobs.iter().filter_map(|job| {
        let conditions = job.conditions.as_ref().filter(|it| it.is_random(JobOp::Read) && it.depth == 1)?;
        Some(LoneReads { job, conditions, mean: job.figure("mean")? })
    });
    lone.min_by_key(|reads| reads.conditions.block_bytes).filter(|reads| reads.mean.is_beyond_scatter())
}

/// The suspicions that single random reads raise.
pub(super) fn suspect_positioning(jobs: &[JobResidual]) -> Vec<Suspicion> {
    let Some(reads) = find_lone_reads(jobs) else { return Vec::new() };
    let mut suspicions = vec![suspect_part(&reads, jobs)];
    suspicions.extend(suspect_span(&reads));
    suspicions
}

/// A shift counts as that of the mean if it differs by less than this share of it. Seeks and waits shift the quickest hundredth of
/// requests by next to nothing.
const ALIKE: f64 = 0.3;

fn suspect_part(reads: &LoneReads<'_>, jobs: &[JobResidual]) -> Suspicion {
    let shift = reads.mean.shift();
    let Some(ends) = reads.shifts_at_ends() else { return suspect_seek_or_rotation(reads, jobs, "") };
    let is_alike = |end: &FigureResidual| {
        (end.shift() - shift).abs() <= (ALIKE * shift.abs()).max(end.scatter() * end.measured / 2.0)
    };
    let [low, high] = ends;
    let shown = format!(
        "measured less predicted is {:+.2} ms at {}, {:+.2} at {}, {shift:+.2} in the mean",
        low.shift(),
        low.figure,
        high.shift(),
        high.figure
    );
    // An overhead below zero is none: then seeks are shorter.
    if ends.into_iter().all(is_alike) && reads.overhead_ms() + shift >= 0.0 {
        let why = format!(
            "{}: {shown}. That is a constant. Commands cost about {:.2} ms, {:.2} in the model; or the shortest seeks take as much more.",
            reads.job.job,
            reads.overhead_ms() + shift,
            reads.overhead_ms()
        );
        let keys = [&OVERHEAD_KEYS[..], &[figure::MECHANICS_SEEK_SINGLE_MS]].concat();
        return Suspicion::new(SuspectedPart::Overhead, &keys, why);
    }
    suspect_seek_or_rotation(reads, jobs, &format!("{}. ", shown.replacen('m', "M", 1)))
}

/// Speeds at which drives are sold.
const SPEEDS_RPM: [f64; 8] = [3600.0, 4200.0, 5400.0, 5640.0, 5900.0, 7200.0, 10_000.0, 15_000.0];

/// The largest difference from a speed at which drives are sold: the mean is known within some 2 %, and counts twice in a revolution.
const NEAR_SPEED: f64 = 0.04;

/// The speed that explains the mean, if drives are sold with it and it is another than the profile's.
fn explaining_speed_rpm(reads: &LoneReads<'_>) -> Option<f64> {
    let (own, rpm) = (60e3 / reads.conditions.revolution_ms, 60e3 / reads.explaining_revolution_ms());
    let near = |speed: &f64| (speed / rpm - 1.0).abs() <= NEAR_SPEED && (speed / own - 1.0).abs() > NEAR_SPEED;
    SPEEDS_RPM.into_iter().find(near)
}

/// The largest difference of the two signs of a speed, as a logarithm.
const SAME_SPEED: f64 = 0.06;

/// Sequential reads tell seek from rotation: their rate follows the spindle, and does not know the arm.
fn suspect_seek_or_rotation(reads: &LoneReads<'_>, jobs: &[JobResidual], shown: &str) -> Suspicion {
    let stream = jobs.iter().find_map(|job| {
        let conditions = job.conditions.as_ref()?;
        let is_stream = conditions.is_sequential(JobOp::Read) && conditions.block_bytes >= LARGE_BYTES;
        job.rate().filter(|_| is_stream)
    });
    let by_rotation = (reads.explaining_revolution_ms().max(0.1) / reads.conditions.revolution_ms).ln();
    let rpm = 60e3 / reads.explaining_revolution_ms();
    let rotation = format!("a spindle of {rpm:.0} rpm instead of {:.0}", 60e3 / reads.conditions.revolution_ms);
    let sum = reads.seek_sum();
    match (stream, explaining_speed_rpm(reads)) {
        (Some(stream), _)
            if stream.is_beyond_scatter() && (stream.log_ratio() - by_rotation).abs() <= SAME_SPEED && rpm > 0.0 =>
        {
            let why = format!(
                "{}: the mean is that of {rotation}, and sequential reads are off by the same factor. {shown}",
                reads.job.job
            );
            Suspicion::new(SuspectedPart::Rotation, &[figure::MECHANICS_RPM], why.trim_end().to_owned())
        }
        (Some(stream), _) if !stream.is_beyond_scatter() => {
            let why = format!("{sum}. {shown}The sequential rate is right, and so is the rotation.");
            Suspicion::new(SuspectedPart::Seek, &SEEK_KEYS, why)
        }
        (_, Some(speed)) => {
            let keys = [&[figure::MECHANICS_RPM], &SEEK_KEYS[..]].concat();
            let why = format!(
                "{sum}. {shown}Or it turns at {speed:.0} rpm: a sequential read of large blocks tells, as its rate follows the spindle."
            );
            Suspicion::new(SuspectedPart::SeekOrRotation, &keys, why)
        }
        _ => Suspicion::new(SuspectedPart::Seek, &SEEK_KEYS, format!("{sum}. {shown}").trim_end().to_owned()),
    }
}

/// The share of the profile's average seek below which a part of the drive is more likely than a faster arm: seek times of one class of
/// drives differ by less.
const SHORT_STROKED: f64 = 0.75;

fn suspect_span(reads: &LoneReads<'_>) -> Option<Suspicion> {
    let is_short = reads.explaining_seek_ms() < SHORT_STROKED * reads.conditions.mean_seek_ms;
    (is_short && reads.conditions.is_whole_drive).then(|| {
        let why = format!(
            "{}: seeks are {:.0} % of the profile's, and the job names no size= or offset=, so it is predicted over the whole drive. If fio \
             read a partition or a file, say how large: FILE,job.span=SIZE.",
            reads.job.job,
            100.0 * (reads.explaining_seek_ms() / reads.conditions.mean_seek_ms).max(0.0)
        );
        Suspicion::new(SuspectedPart::Span, &[], why)
    })
}

#[cfg(test)]
mod tests {
    use super::super::samples::{TURN_MS, lone_reads, stream};
    use super::*;

    /// Half a turn, a seek of 8 ms, and 0.4 ms for the command.
    const MEAN_MS: f64 = TURN_MS / 2.0 + 8.4;

    fn parts(jobs: &[JobResidual]) -> Vec<SuspectedPart> {
        suspect_positioning(jobs).iter().map(|suspicion| suspicion.part).collect()
    }

    fn shifted(low: f64, mean: f64, high: f64) -> JobResidual {
        lone_reads(&[("mean", MEAN_MS + mean, MEAN_MS), ("p1", 4.0 + low, 4.0), ("p99", 22.0 + high, 22.0)])
    }

    #[test]
    fn a_constant_is_overhead_unless_it_would_fall_below_zero() {
        assert_eq!(parts(&[shifted(0.8, 0.8, 0.8)]), [SuspectedPart::Overhead]);
        assert_eq!(parts(&[shifted(-0.9, -0.9, -0.9)]), [SuspectedPart::Seek], "0.4 ms are there to lose");
        assert!(parts(&[shifted(0.1, 0.1, 0.1)]).is_empty(), "within the scatter");
    }

    #[test]
    fn a_wider_span_is_the_seek_where_the_stream_is_right() {
        let right = stream(1 << 20, 190.0, 190.0);
        let said = suspect_positioning(&[shifted(0.1, 2.5, 4.0), right]);
        assert_eq!(said[0].part, SuspectedPart::Seek);
        assert!(said[0].why.contains("average seek of about 10.50 ms; the profile has 8.00"), "{}", said[0].why);
        assert_eq!(parts(&[shifted(0.1, 2.5, 4.0)]), [SuspectedPart::Seek], "no drive turns so");
    }

    #[test]
    fn another_rotation_shows_in_the_stream_as_well() {
        // 5400 rpm: half of 11.11 ms instead of 8.33.
        let slower = || shifted(0.05, 1.39, 2.7);
        let said = suspect_positioning(&[slower(), stream(1 << 20, 142.5, 190.0)]);
        assert_eq!(said[0].part, SuspectedPart::Rotation);
        assert!(said[0].why.contains("5399 rpm instead of 7200"), "{}", said[0].why);
        assert_eq!(parts(&[slower()]), [SuspectedPart::SeekOrRotation]);
        assert_eq!(parts(&[slower(), stream(1 << 20, 190.0, 190.0)]), [SuspectedPart::Seek]);
    }

    #[test]
    fn much_shorter_seeks_over_a_whole_drive_are_those_of_a_part() {
        let short = || shifted(-0.2, -3.0, -5.0);
        assert!(parts(&[short()]).contains(&SuspectedPart::Span));
        let mut named = short();
        if let Some(conditions) = &mut named.conditions {
            conditions.is_whole_drive = false;
        }
        assert!(!parts(&[named]).contains(&SuspectedPart::Span));
        assert!(!parts(&[shifted(-0.1, -1.0, -1.8)]).contains(&SuspectedPart::Span), "a faster arm");
    }
}
