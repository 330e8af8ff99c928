//! What is known of a figure before any data: the values that it can have, and how far from the profile's value it usually lies. Each width
//! has its reason beside it; none comes from the drives on which fits are tried.
//!
//! A prior keeps a figure from paying for something else. An overhead of 2 ms on a serial link is a symptom, not a command that takes so
//! long.

use seekwise_drives::figure::{FigureOrigin, FigureValue};
use seekwise_drives::key_names::figure;
use seekwise_drives::profile::DriveFile;

use crate::fit::ranges::ParameterRange;

/// The part of a drive that a figure belongs to, in the order in which a fit proceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FitStage {
    /// Density and rotation: told by streams.
    Streams,
    /// Seek and overheads: told by single random reads.
    Arm,
    /// The order of waiting commands: told by several reads outstanding.
    Queue,
    /// The write cache: told by writes.
    Writes,
}

impl FitStage {
    /// All stages in their order.
    pub const ALL: [FitStage; 4] = [FitStage::Streams, FitStage::Arm, FitStage::Queue, FitStage::Writes];

    /// The stage in words.
    pub const fn words(self) -> &'static str {
        match self {
            FitStage::Streams => "rotation and rates from streams",
            FitStage::Arm => "the seek from single requests",
            FitStage::Queue => "the queue from deeper loads",
            FitStage::Writes => "the cache from writes",
        }
    }
}

/// The prior of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NumberPrior {
    /// The values that a figure of this kind can have.
    pub range: ParameterRange,
    /// The standard deviation: of the logarithm if the range is logarithmic, else in the figure's unit.
    pub deviation: f64,
    pub stage: FitStage,
}

/// Times in milliseconds move by whole microseconds.
const STEP_MS: f64 = 0.001;

/// Average seeks of disks for sale since 1990, in ms: 3.3 (15,000 rpm) to 14 (shingled, 5,400 rpm), with room on either side.
const AVERAGE_SEEK_MS: [f64; 2] = [2.0, 25.0];

/// Full strokes in averages: 1.5 (an arm that coasts long) to 2.5. The nine measured curves of the catalogue have 1.8 to 2.3.
pub(super) const FULL_IN_AVERAGES: [f64; 2] = [1.5, 2.5];

/// The deviation of a full stroke in averages from the profile's ratio, as a logarithm: the nine curves scatter by 0.08.
pub(super) const FULL_RATIO_DEVIATION: f64 = 0.1;

/// The most that a command costs on a serial link, in ms. Measured are 0.02 to 0.3; more is a symptom of something else.
const MOST_SERIAL_OVERHEAD_MS: f64 = 0.5;

/// How far a seek time of this origin usually is off, as a logarithm. Makers' averages and reviewers' differ by up to 15 %; an inferred one
/// is that of a drive of the same kind (7.5 to 12 ms at 7,200 rpm).
fn seek_deviation(origin: FigureOrigin) -> f64 {
    match origin {
        FigureOrigin::Datasheet | FigureOrigin::Measured => 0.15,
        _ => 0.3,
    }
}

/// True if the drive has a serial link, whose commands cost little.
pub fn has_serial_link(drive: &DriveFile) -> bool {
    drive.figure("link.queuing").is_some_and(|figure| figure.value == FigureValue::Word("ncq".to_owned()))
        || drive.interface.contains("SATA")
        || drive.interface.contains("SAS")
}

const fn linear(low: f64, high: f64, step: f64) -> ParameterRange {
    ParameterRange { low, high, step, log: false }
}

const fn logarithmic(low: f64, high: f64, step: f64) -> ParameterRange {
    ParameterRange { low, high, step, log: true }
}

/// The prior of a figure with this value and origin; `None` if fits to jobs leave the figure alone.
///
/// Left alone are figures that others of the list stand for in every job (the completion beside the overhead of a read, the command time of
/// the link), the conditions of a measurement, and the layout except its density.
pub(super) fn number_prior(drive: &DriveFile, key: &str, value: f64, origin: FigureOrigin) -> Option<NumberPrior> {
    let stated = matches!(origin, FigureOrigin::Datasheet | FigureOrigin::Measured);
    let prior = |range, deviation, stage| Some(NumberPrior { range, deviation, stage });
    match key {
        figure::MECHANICS_SEEK_AVERAGE_MS => {
            let [low, high] = AVERAGE_SEEK_MS;
            prior(logarithmic(low.min(value), high.max(value), STEP_MS), seek_deviation(origin), FitStage::Arm)
        }
        figure::MECHANICS_SEEK_FULL_MS => {
            let [low, high] = AVERAGE_SEEK_MS.map(|ms| 2.0 * ms);
            prior(logarithmic(low.min(value), high.max(value), STEP_MS), 2.0 * seek_deviation(origin), FitStage::Arm)
        }
        // From 0.2 to 1 ms. The skew covers it with a tenth to spare: a longer one would cost a stream a revolution at each track.
        figure::MECHANICS_SEEK_SINGLE_MS if value > 0.0 => {
            let most = value.max(0.9 * skew_ms(drive)?);
            prior(logarithmic((value / 5.0).max(STEP_MS), most, STEP_MS), 0.6, FitStage::Arm)
        }
        figure::MECHANICS_RPM => prior(logarithmic(3_000.0, 16_000.0, 0.1), SPEED_DEVIATION, FitStage::Arm),
        _ if stated => None,
        figure::OVERHEAD_READ_MISS_MS | figure::OVERHEAD_WRITE_HIT_MS | figure::OVERHEAD_WRITE_MISS_MS => {
            let stage = if key == figure::OVERHEAD_READ_MISS_MS { FitStage::Arm } else { FitStage::Writes };
            // Half of the figure, at least 0.1 ms: those of the catalogue's drives with serial links are 0.03 to 0.3.
            let most = if has_serial_link(drive) { MOST_SERIAL_OVERHEAD_MS.max(value) } else { 2.0 * value + 2.5 };
            prior(linear(0.0, most, STEP_MS), (0.5 * value).max(0.1), stage)
        }
        // The choice of the next command takes part of the next one's time. Drives of the catalogue that were measured have 0.06 to 0.64 ms, in
        // the root of their mean square 0.4; an inferred one has none.
        figure::FIRMWARE_DISPATCH_MS => prior(linear(0.0, value.max(1.5), STEP_MS), 0.4, FitStage::Queue),
        figure::FIRMWARE_QUEUE_MAX_WAIT_MS => prior(logarithmic(value / 8.0, 8.0 * value, 1.0), 0.7, FitStage::Queue),
        // Writes settle up to a millisecond longer than reads; the skew covers it.
        figure::MECHANICS_WRITE_SETTLE_MS => {
            prior(linear(value.min(-0.5), value.max(1.5), STEP_MS), 0.3, FitStage::Writes)
        }
        figure::CACHE_DIRTY_RUNS => prior(logarithmic(1.0, (8.0 * value).max(64.0), 1.0), 0.7, FitStage::Writes),
        figure::FIRMWARE_DESTAGE_MAX_WAIT_MS => {
            prior(logarithmic(value / 8.0, 8.0 * value, 1.0), 0.7, FitStage::Writes)
        }
        _ => None,
    }
}

/// Spindles keep their speed to 0.1 % (datasheets state 0.1 to 0.5 %).
const SPEED_DEVIATION: f64 = 0.001;

/// Speeds of spindles, in rpm, and the largest drive that was sold with each, in GB: 10,000 (Exos 10E2400), 15,000 (Exos 15E900).
const SPEEDS: [(f64, f64); 7] = [
    (4200.0, f64::INFINITY),
    (5400.0, f64::INFINITY),
    (5700.0, f64::INFINITY),
    (5900.0, f64::INFINITY),
    (7200.0, f64::INFINITY),
    (10_000.0, 2400.0),
    (15_000.0, 900.0),
];

/// The speeds that a drive of this capacity may have.
pub(super) fn possible_speeds(drive: &DriveFile) -> Vec<f64> {
    let gigabytes = drive.number(figure::GEOMETRY_SECTORS).unwrap_or(0.0) * 512.0 / 1e9;
    SPEEDS.into_iter().filter(|(_, largest)| gigabytes <= 1.01 * largest).map(|(rpm, _)| rpm).collect()
}

/// The prior of the density, as a factor on the sectors of every track: another drive's profile may be four times off.
pub(super) const DENSITY: NumberPrior =
    NumberPrior { range: logarithmic(0.2, 5.0, 0.0001), deviation: 0.5, stage: FitStage::Streams };

/// The prior of a factor on a whole table of seek times.
pub(super) fn table_scale_prior(origin: FigureOrigin) -> NumberPrior {
    NumberPrior { range: logarithmic(0.3, 3.0, 0.0001), deviation: seek_deviation(origin), stage: FitStage::Arm }
}

/// The prior of a shift of a table's shortest seek: half a millisecond may have been included or left out (settling, a head switch).
pub(super) const SHORTEST_SEEK: NumberPrior =
    NumberPrior { range: linear(-1.0, 1.0, STEP_MS), deviation: 0.25, stage: FitStage::Arm };

/// The time that the skew between cylinders gives the arm, in ms.
fn skew_ms(drive: &DriveFile) -> Option<f64> {
    Some(drive.number("geometry.track_skew")? * 60_000.0 / drive.number(figure::MECHANICS_RPM)?)
}

/// The stage of a rule, by its key.
pub(super) fn stage_of_rule(key: &str) -> FitStage {
    match key {
        _ if key.starts_with("cache.read_ahead.") => FitStage::Streams,
        figure::FIRMWARE_ZERO_LATENCY => FitStage::Arm,
        figure::FIRMWARE_DEPTH | figure::FIRMWARE_REVISE_MS => FitStage::Queue,
        _ if key.starts_with("firmware.queue.") => FitStage::Queue,
        _ => FitStage::Writes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    #[test]
    fn what_is_possible_follows_from_the_drive() {
        let drive = catalogue::load_drive("exos-x18").unwrap();
        let of = |key: &str, origin| number_prior(&drive, key, drive.number(key).unwrap(), origin);
        let inferred = FigureOrigin::Inferred;
        let overhead = of(figure::OVERHEAD_READ_MISS_MS, inferred).unwrap();
        assert_eq!((overhead.range.low, overhead.range.high), (0.0, MOST_SERIAL_OVERHEAD_MS));
        // 11.8 ms must be within reach of a profile that states 7.55.
        let seek = of(figure::MECHANICS_SEEK_AVERAGE_MS, FigureOrigin::Datasheet).unwrap();
        assert!(seek.range.high > 11.8 && seek.range.low < 4.0);
        let single = of(figure::MECHANICS_SEEK_SINGLE_MS, inferred).unwrap();
        assert!((single.range.high - 0.9 * 0.0625 * 60_000.0 / 7200.0).abs() < 1e-9, "the skew covers it");
        assert_eq!(of(figure::OVERHEAD_READ_MISS_MS, FigureOrigin::Measured), None, "a measured overhead stays");
        assert_eq!(of("link.rate_mb_s", inferred), None);
    }

    #[test]
    fn every_rule_has_its_stage() {
        for (key, stage) in [
            ("cache.read_ahead.until", FitStage::Streams),
            ("firmware.queue.window", FitStage::Queue),
            ("firmware.depth", FitStage::Queue),
            ("firmware.destage.policy", FitStage::Writes),
            ("cache.written_hits", FitStage::Writes),
        ] {
            assert_eq!(stage_of_rule(key), stage, "{key}");
        }
    }
}
