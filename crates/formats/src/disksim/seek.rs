//! Arm and spindle of a `dm_mech_g1`; converts all forms of seek curves to points of a table.
//!
//! The mechanical models agree on these rules: a head switch and a seek overlap, and the longer one counts; a write adds its
//! settle time to a seek or a head switch.

use super::fields::ParameterFields;
use super::syntax::{Errors, SourceFiles, SourcePosition};
use super::write::ProfileWriter;

mod table;

use table::{LONGEST, round_to_nanos};

const MECHANICS: &[&str] = &[
    "Access time type",
    "Constant access time",
    "Seek type",
    "Single cylinder seek time",
    "Average seek time",
    "Full strobe seek time",
    "Full seek curve",
    "Add. write settling delay",
    "HPL seek equation values",
    "First ten seek times",
    "Head switch time",
    "Rotation speed (in rpms)",
    "Percent error in rpms",
    "Constant seek time",
];

/// Seeks are sampled at each of the first distances up to this one, then in steps of a fortieth.
const EACH: u32 = 40;

/// Distances and times in milliseconds, for reads and optionally for writes.
struct SeekCurves {
    read: Vec<(u32, f64)>,
    write: Vec<(u32, f64)>,
    from: &'static str,
}

/// Writes the mechanics; the minimum positioning time of a write is a parameter of the whole drive.
pub(super) fn write_mechanics(
    disk: &ParameterFields<'_>,
    model: &ParameterFields<'_>,
    cylinders: u32,
    files: SourceFiles<'_>,
    text: &mut ProfileWriter,
) -> Result<(), Errors> {
    let block = model.required_block("Mechanical Model")?;
    if block.kind != "dm_mech_g1" {
        return Err(vec![
            block.at.diagnostic("unknown mechanical model").with_key(&block.kind).with_expected("dm_mech_g1"),
        ]);
    }
    let fields = ParameterFields::new(block, MECHANICS);
    let errors = fields.report_unknown_keys(text);
    if !errors.is_empty() {
        return Err(errors);
    }
    let curves = read_curves(&fields, cylinders, files, text)?;
    text.begin_section("mechanics");
    let rpm = fields.number("Rotation speed (in rpms)", 1.0, 100_000.0)?;
    text.write_given("rpm", rpm, fields.position("Rotation speed (in rpms)"), "Rotation speed");
    let head_switch = fields.number("Head switch time", 0.0, LONGEST)?;
    text.write_given("head_switch_ms", head_switch, fields.position("Head switch time"), "Head switch time");
    let settle = fields.number_or("Add. write settling delay", -100.0, LONGEST, 0.0)?;
    text.write_given(
        "write_settle_ms",
        settle,
        fields.position("Add. write settling delay"),
        "Add. write settling delay",
    );
    let least = "Minimum seek delay";
    text.write_given("least_write_ms", disk.number_or(least, 0.0, LONGEST, 0.0)?, disk.position(least), least);
    text.begin_section("mechanics.seek");
    text.write_given("form", "\"table\"", fields.position("Seek type"), &format!("Seek type, {}", curves.from));
    let at = fields.position("Seek type");
    text.write_rows("mechanics.seek.points", &format_points(&curves.read), at, curves.from);
    if !curves.write.is_empty() {
        text.write_rows("mechanics.seek.write_points", &format_points(&curves.write), at, "its column of write seeks");
    }
    note_unmodelled_keys(&fields, text);
    Ok(())
}

fn format_points(points: &[(u32, f64)]) -> Vec<String> {
    points.iter().map(|(distance, ms)| format!("[{distance}, {ms}]")).collect()
}

fn note_unmodelled_keys(fields: &ParameterFields<'_>, text: &mut ProfileWriter) {
    let error = fields.number_or("Percent error in rpms", -100.0, 100.0, 0.0).unwrap_or(0.0);
    text.note_unmodelled(
        fields.block,
        "Percent error in rpms",
        error != 0.0,
        "the speed of a drive may be off by this much; the model keeps it exact",
    );
    let kept = fields.required_word("Access time type").is_ok_and(|word| word.0 == "trackSwitchPlusRotation");
    text.note_unmodelled(
        fields.block,
        "Access time type",
        !kept,
        "track switch, then rotation: the only way the model's arm moves",
    );
    text.note_unmodelled(fields.block, "Constant access time", !kept, "a fixed time instead of the mechanism");
    for key in ["Single cylinder seek time", "Average seek time", "Full strobe seek time"] {
        let used = matches!(fields.required_word("Seek type"), Ok((form, _)) if !["extracted", "hpl", "hplplus10"].contains(&form));
        if !used {
            text.note_unmodelled(fields.block, key, false, "the seek curve is given in another form");
        }
    }
}

fn read_curves(
    fields: &ParameterFields<'_>,
    cylinders: u32,
    files: SourceFiles<'_>,
    text: &mut ProfileWriter,
) -> Result<SeekCurves, Errors> {
    const FORMS: [&str; 6] = ["extracted", "linear", "curve", "constant", "hpl", "hplplus10"];
    let (form, at) = fields.required_word("Seek type")?;
    let time = |key: &str| fields.number(key, 0.0, LONGEST);
    match form {
        "extracted" => extracted_curve(fields, cylinders, files, text),
        "constant" => {
            let key = if fields.block.get("Constant seek time").is_some() {
                "Constant seek time"
            } else {
                "Average seek time"
            };
            let ms = time(key)?;
            Ok(sample_curve("one time for all distances", cylinders, |_| ms))
        }
        "linear" => {
            let (single, full) = (time("Single cylinder seek time")?, time("Full strobe seek time")?);
            check_rising(fields, single, full)?;
            let step = (full - single) / f64::from(cylinders.max(3) - 2);
            Ok(sample_curve("a line from single cylinder to full strobe", cylinders, |d| {
                single + step * f64::from(d - 1)
            }))
        }
        "curve" => lee_curve(fields, cylinders),
        "hpl" | "hplplus10" => hpl_curve(fields, cylinders, form == "hplplus10"),
        _ => Err(vec![
            at.diagnostic(format!("`{form}` is not a form of seek curve"))
                .with_key("Seek type")
                .with_expected(FORMS.join(", "))
                .suggest_nearest(form, FORMS),
        ]),
    }
}

fn check_rising(fields: &ParameterFields<'_>, short: f64, long: f64) -> Result<(), Errors> {
    if short <= long {
        return Ok(());
    }
    let at = fields.position("Full strobe seek time");
    let message = format!("{long} ms is less than the time of a shorter seek, {short} ms");
    Err(vec![
        at.diagnostic(message)
            .with_key("Full strobe seek time")
            .with_expected("rising times: single cylinder, average, full strobe"),
    ])
}

/// Lee's formula through three figures: `a √(d-1) + b (d-1) + single` (DiskSim manual 4.0, section on seek models).
fn lee_curve(fields: &ParameterFields<'_>, cylinders: u32) -> Result<SeekCurves, Errors> {
    let time = |key: &str| fields.number(key, 0.0, LONGEST);
    let (single, average) = (time("Single cylinder seek time")?, time("Average seek time")?);
    let full = time("Full strobe seek time")?;
    check_rising(fields, single, average).and_then(|()| check_rising(fields, average, full))?;
    let c = f64::from(cylinders.max(2));
    let a = (-10.0 * single + 15.0 * average - 5.0 * full) / (3.0 * c.sqrt());
    let b = (7.0 * single - 15.0 * average + 8.0 * full) / (3.0 * c);
    let time = |d: u32| (single + a * f64::from(d - 1).sqrt() + b * f64::from(d - 1)).max(0.0);
    Ok(sample_curve("Lee's formula through single cylinder, average and full strobe", cylinders, time))
}

/// Hewlett-Packard's two parts: a root up to a distance, then a line; optionally with the first ten distances listed.
fn hpl_curve(fields: &ParameterFields<'_>, cylinders: u32, with_ten: bool) -> Result<SeekCurves, Errors> {
    let values = fields.number_list("HPL seek equation values")?;
    let at = fields.position("HPL seek equation values");
    let [bend, short, root, long, slope, single, ..] = values[..] else {
        let fault = at.diagnostic(format!("there are {} values", values.len())).with_key("HPL seek equation values");
        return Err(vec![
            fault.with_expected("six: distance, two of the root, two of the line, single cylinder or -1"),
        ]);
    };
    let mut ten = if with_ten { fields.number_list("First ten seek times")? } else { Vec::new() };
    if with_ten && (ten.len() < 10 || ten.iter().any(|ms| !(0.0..=LONGEST).contains(ms))) {
        let fault = fields.position("First ten seek times").diagnostic(format!("there are {} times", ten.len()));
        return Err(vec![fault.with_key("First ten seek times").with_expected("ten, of distances 1 to 10, in ms")]);
    }
    ten.truncate(10);
    let time = |d: u32| {
        let distance = f64::from(d);
        let formula = if distance < bend { short + root * distance.sqrt() } else { long + slope * distance };
        let one = single >= 0.0 && d == 1 && ten.is_empty();
        let listed = ten.get(d as usize - 1).copied();
        if one { single } else { listed.unwrap_or(formula) }.clamp(0.0, LONGEST)
    };
    let from = if with_ten { "the first ten distances and the HPL equation" } else { "the HPL equation" };
    let mut curves = sample_curve(from, cylinders, time);
    let bend = bend.ceil().clamp(2.0, f64::from(cylinders.max(3) - 1)) as u32;
    // If the two parts do not meet, the step is between two adjacent points.
    if (time(bend) - time(bend - 1)).abs() > time(bend) / 1000.0 {
        curves.read.retain(|point| point.0 != bend - 1 && point.0 != bend);
        let place = curves.read.partition_point(|point| point.0 < bend);
        curves.read.splice(place..place, [bend - 1, bend].map(|distance| (distance, round_to_nanos(time(distance)))));
    }
    Ok(curves)
}

/// The points of a formula: each of the first distances, then dense enough that straight lines between them stay within
/// a thousandth of it.
fn sample_curve(from: &'static str, cylinders: u32, time: impl Fn(u32) -> f64) -> SeekCurves {
    let mut read = Vec::new();
    let mut distance = 1;
    while distance < cylinders {
        read.push((distance, round_to_nanos(time(distance))));
        distance += if distance < EACH { 1 } else { distance / 40 };
    }
    let last = cylinders.max(2) - 1;
    if read.last().is_none_or(|point| point.0 < last) {
        read.push((last, round_to_nanos(time(last))));
    }
    SeekCurves { read, write: Vec::new(), from }
}

/// A table in a separate file; missing ends are extended.
fn extracted_curve(
    fields: &ParameterFields<'_>,
    cylinders: u32,
    files: SourceFiles<'_>,
    text: &mut ProfileWriter,
) -> Result<SeekCurves, Errors> {
    let (name, at) = fields.required_word("Full seek curve")?;
    let (file, table) = files
        .load_relative(&at.file, name)
        .map_err(|error| vec![at.diagnostic(format!("cannot be read: {error}")).with_key(name)])?;
    let rows = table::read(&file, &table, text)?;
    let mut curves = SeekCurves { read: Vec::new(), write: Vec::new(), from: "table of measured seeks" };
    for row in rows {
        curves.read.push((row.distance, round_to_nanos(row.read)));
        curves.write.extend(row.write.map(|write| (row.distance, round_to_nanos(write))));
    }
    let at = SourcePosition { file, line: 0 };
    if !curves.write.is_empty() && curves.write.len() != curves.read.len() {
        return Err(vec![at.diagnostic("only some distances have a write seek")]);
    }
    for points in [&mut curves.read, &mut curves.write] {
        for (point, why) in table::extend_ends(points, cylinders) {
            text.warn(
                at.diagnostic(format!("{why}: {} cylinders are taken to need {} ms", point.0, point.1))
                    .with_key("distance"),
            );
        }
    }
    Ok(curves)
}
