//! Stated figures that the data contradict, a speed that they do not tell, and figures that are symptoms of something else, in plain words.

use seekwise_drives::figure::FigureOrigin;
use seekwise_drives::key_names::figure;
use seekwise_drives::profile::DriveFile;
use serde::Serialize;

use super::draws::ParameterSpread;
use super::parameters::JobParameter;
use super::{prior, speeds};

/// Something that the data say against what is known.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Contradiction {
    /// The figure's key.
    pub name: String,
    /// The value that the data ask for, and its interval.
    pub found: f64,
    pub interval: (f64, f64),
    /// The sentence.
    pub says: String,
}

/// Prior deviations from which on a figure that nobody stated is a symptom.
const SYMPTOM: f64 = 2.5;

/// All contradictions at `point`.
pub(super) fn find_contradictions(
    drive: &DriveFile,
    parameters: &[JobParameter],
    point: &[f64],
    spreads: &[ParameterSpread],
) -> Vec<Contradiction> {
    let contradiction = |index: usize| {
        let it = &parameters[index];
        let (found, interval) = (point[index], spreads[index].interval);
        let says = untold_speed(it, interval)
            .or_else(|| contradicted_statement(drive, it, found, interval))
            .or_else(|| symptom(drive, it, found))?;
        Some(Contradiction { name: it.parameter.name.clone(), found, interval, says })
    };
    (0..parameters.len()).filter_map(contradiction).collect()
}

/// A spindle that may turn at another speed, by what was measured.
fn untold_speed(it: &JobParameter, (low, high): (f64, f64)) -> Option<String> {
    let is_open = it.parameter.key == figure::MECHANICS_RPM && high / low > 1.0 + speeds::SAME_SPEED;
    is_open.then(|| {
        format!(
            "your data do not tell the speed of the spindle: drives of {low:.0} to {high:.0} rpm meet them as well. Write the label's speed \
             into the profile that the fit starts from, `mechanics.rpm`; a seek that is shorter by half a turn makes up for a slower spindle"
        )
    })
}

/// A figure that a datasheet or a measurement states, and whose interval does not hold the statement.
fn contradicted_statement(drive: &DriveFile, it: &JobParameter, found: f64, (low, high): (f64, f64)) -> Option<String> {
    let stated = drive.figure(it.parameter.key)?;
    let whose = match stated.kind {
        FigureOrigin::Datasheet => "the datasheet's",
        FigureOrigin::Measured => "the measured",
        _ => return None,
    };
    let (value, unit) = (it.parameter.origin, unit_of(it.parameter.key)?);
    let is_held = (low..=high).contains(&value) || found == value;
    (!is_held).then(|| {
        let [found, low, high] = [found, low, high].map(|value| short_number(value, it));
        format!(
            "your data contradict {whose} {} of {value}{unit}: {found} ({low} to {high})",
            words_for(it.parameter.key)
        )
    })
}

/// A figure that is no longer possible, or nearly so: something else is wrong.
fn symptom(drive: &DriveFile, it: &JobParameter, found: f64) -> Option<String> {
    let (range, prior) = (it.parameter.range()?, it.prior?);
    let at_end = found == range.round_to_step(range.low) || found == range.round_to_step(range.high);
    let coordinate = |value: f64| if range.log { value.max(1e-9).ln() } else { value };
    let deviations = (coordinate(found) - coordinate(it.parameter.origin)).abs() / prior.deviation;
    let is_far = deviations > SYMPTOM;
    // Electronics that cost nothing measurable are possible.
    let is_end = at_end && deviations > 1.0;
    if !(is_end || is_far) || [figure::MECHANICS_RPM, figure::GEOMETRY_ZONES].contains(&it.parameter.key) {
        return None;
    }
    let (unit, end) =
        (unit_of(it.parameter.key).unwrap_or(""), if is_end { ", the end of what is possible" } else { "" });
    let found = short_number(found, it);
    Some(format!(
        "{} = {found}{unit}{end}: do not trust it; {}",
        it.parameter.name,
        likely_cause(drive, it.parameter.key)
    ))
}

/// What is wrong if a figure is not possible, in words.
fn likely_cause(drive: &DriveFile, key: &str) -> &'static str {
    match key {
        _ if key.starts_with("overhead.") && prior::has_serial_link(drive) => {
            "no command takes so long on a serial link. Something stood between the program and the drive (a virtual machine, a file \
             system, USB, a controller), or the write cache was in another state than stated; name the layer behind the file, such as \
             `,driver=linux-mq-deadline`"
        }
        _ if key.starts_with("overhead.") => {
            "commands of such drives cost less. The drive may have a rule that its profile lacks, or a layer stood above it"
        }
        figure::FIRMWARE_DISPATCH_MS => {
            "a drive chooses its next command in less. The order of its queue is probably another than any that was tried"
        }
        figure::MECHANICS_SEEK_SINGLE_MS | figure::MECHANICS_SEEK_FULL_MS | figure::MECHANICS_SEEK_AVERAGE_MS => {
            "no arm is so. The jobs may have covered a part of the drive (state `size` and `offset`), or the speed of the spindle is wrong"
        }
        figure::MECHANICS_WRITE_SETTLE_MS => {
            "the skew would not cover it. The drive may read back what it writes, or the write cache was in another state than stated"
        }
        _ => "the data ask for something that this figure only stands in for",
    }
}

fn words_for(key: &str) -> &'static str {
    match key {
        figure::MECHANICS_SEEK_AVERAGE_MS => "average seek",
        figure::MECHANICS_SEEK_FULL_MS => "full stroke",
        figure::MECHANICS_SEEK_SINGLE_MS => "seek to the next track",
        figure::MECHANICS_RPM => "speed",
        _ => "figure",
    }
}

fn unit_of(key: &str) -> Option<&'static str> {
    match key {
        figure::MECHANICS_RPM => Some(" rpm"),
        _ if key.ends_with("_ms") => Some(" ms"),
        _ => None,
    }
}

/// Three significant figures at least.
fn short_number(value: f64, it: &JobParameter) -> String {
    match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 2.0 => format!("{value:.1}"),
        _ => it.parameter.format_value(value),
    }
}
