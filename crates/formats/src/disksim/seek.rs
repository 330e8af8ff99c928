//! Converts arm and spindle of a `dm_mech_g1` to the mechanics of a profile; all forms of seek curves become points of a table.
//!
//! DiskSim's mechanics and ours agree on these rules: a head switch and a seek overlap, and the longer one counts; a write adds
//! its settle time to a seek or a head switch.

use super::fields::ParameterFields;
use super::syntax::{Errors, SourceFiles, SourcePosition};
use super::write::ProfileWriter;

mod table;

use table::{AddedPoint, LONGEST_SEEK_MS, SeekPoint, round_to_nanos};

const MECHANICS_KEYS: &[&str] = &[
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

/// A formula is sampled at every distance up to this one, then in steps of a fortieth.
const DENSE_DISTANCES: u32 = 40;

/// The curves of reads and, if they have their own, of writes.
struct SeekCurves {
    read: Vec<SeekPoint>,
    write: Vec<SeekPoint>,
    /// The form that the points come from, in words.
    origin: &'static str,
}

/// Writes the mechanics; the minimum positioning time of a write is a parameter of the whole drive.
pub(super) fn write_mechanics(
    disk: &ParameterFields<'_>,
    model: &ParameterFields<'_>,
    cylinders: u32,
    files: SourceFiles<'_>,
    writer: &mut ProfileWriter,
) -> Result<(), Errors> {
    let block = model.required_block("Mechanical Model")?;
    if block.kind != "dm_mech_g1" {
        return Err(vec![
            block.at.diagnostic("unknown mechanical model").with_key(&block.kind).with_expected("dm_mech_g1"),
        ]);
    }
    let fields = ParameterFields::new(block, MECHANICS_KEYS);
    let errors = fields.report_unknown_keys(writer);
    if !errors.is_empty() {
        return Err(errors);
    }
    let curves = read_curves(&fields, cylinders, files, writer)?;
    writer.begin_section("mechanics");
    let rpm = fields.number("Rotation speed (in rpms)", 1.0, 100_000.0)?;
    writer.write_given("rpm", rpm, fields.position("Rotation speed (in rpms)"), "Rotation speed");
    let head_switch_ms = fields.number("Head switch time", 0.0, LONGEST_SEEK_MS)?;
    writer.write_given("head_switch_ms", head_switch_ms, fields.position("Head switch time"), "Head switch time");
    let settle_ms = fields.number_or("Add. write settling delay", -100.0, LONGEST_SEEK_MS, 0.0)?;
    writer.write_given(
        "write_settle_ms",
        settle_ms,
        fields.position("Add. write settling delay"),
        "Add. write settling delay",
    );
    let key = "Minimum seek delay";
    writer.write_given("least_write_ms", disk.number_or(key, 0.0, LONGEST_SEEK_MS, 0.0)?, disk.position(key), key);
    writer.begin_section("mechanics.seek");
    writer.write_given("form", "\"table\"", fields.position("Seek type"), &format!("Seek type, {}", curves.origin));
    let position = fields.position("Seek type");
    writer.write_rows("mechanics.seek.points", &format_points(&curves.read), position, curves.origin);
    if !curves.write.is_empty() {
        writer.write_rows(
            "mechanics.seek.write_points",
            &format_points(&curves.write),
            position,
            "its column of write seeks",
        );
    }
    note_unmodelled_keys(&fields, writer);
    Ok(())
}

fn format_points(points: &[SeekPoint]) -> Vec<String> {
    points.iter().map(|(distance, ms)| format!("[{distance}, {ms}]")).collect()
}

fn note_unmodelled_keys(fields: &ParameterFields<'_>, writer: &mut ProfileWriter) {
    let error = fields.number_or("Percent error in rpms", -100.0, 100.0, 0.0).unwrap_or(0.0);
    writer.note_unmodelled(
        fields.block,
        "Percent error in rpms",
        error != 0.0,
        "the speed of a drive may be off by this much; the model keeps it exact",
    );
    let is_as_modelled =
        fields.required_word("Access time type").is_ok_and(|(word, _)| word == "trackSwitchPlusRotation");
    writer.note_unmodelled(
        fields.block,
        "Access time type",
        !is_as_modelled,
        "track switch, then rotation: the only way the model's arm moves",
    );
    writer.note_unmodelled(
        fields.block,
        "Constant access time",
        !is_as_modelled,
        "a fixed time instead of the mechanism",
    );
    for key in ["Single cylinder seek time", "Average seek time", "Full strobe seek time"] {
        let uses_times = |form: &str| !["extracted", "hpl", "hplplus10"].contains(&form);
        if !fields.required_word("Seek type").is_ok_and(|(form, _)| uses_times(form)) {
            writer.note_unmodelled(fields.block, key, false, "the seek curve is given in another form");
        }
    }
}

fn read_curves(
    fields: &ParameterFields<'_>,
    cylinders: u32,
    files: SourceFiles<'_>,
    writer: &mut ProfileWriter,
) -> Result<SeekCurves, Errors> {
    const FORMS: [&str; 6] = ["extracted", "linear", "curve", "constant", "hpl", "hplplus10"];
    let (form, position) = fields.required_word("Seek type")?;
    let time_ms = |key: &str| fields.number(key, 0.0, LONGEST_SEEK_MS);
    match form {
        "extracted" => extracted_curve(fields, cylinders, files, writer),
        "constant" => {
            let key = if fields.block.get("Constant seek time").is_some() {
                "Constant seek time"
            } else {
                "Average seek time"
            };
            let ms = time_ms(key)?;
            Ok(sample_curve("one time for all distances", cylinders, |_| ms))
        }
        "linear" => {
            let (single, full) = (time_ms("Single cylinder seek time")?, time_ms("Full strobe seek time")?);
            check_rising(fields, single, full)?;
            let step = (full - single) / f64::from(cylinders.max(3) - 2);
            Ok(sample_curve("a line from single cylinder to full strobe", cylinders, |d| {
                single + step * f64::from(d - 1)
            }))
        }
        "curve" => lee_curve(fields, cylinders),
        "hpl" | "hplplus10" => hpl_curve(fields, cylinders, form == "hplplus10"),
        _ => Err(vec![
            position
                .diagnostic(format!("`{form}` is not a form of seek curve"))
                .with_key("Seek type")
                .with_expected(FORMS.join(", "))
                .suggest_nearest(form, FORMS),
        ]),
    }
}

/// Refuses a long seek that takes less time than a short one.
fn check_rising(fields: &ParameterFields<'_>, short_seek_ms: f64, long_seek_ms: f64) -> Result<(), Errors> {
    if short_seek_ms <= long_seek_ms {
        return Ok(());
    }
    let position = fields.position("Full strobe seek time");
    let message = format!("{long_seek_ms} ms is less than the time of a shorter seek, {short_seek_ms} ms");
    Err(vec![
        position
            .diagnostic(message)
            .with_key("Full strobe seek time")
            .with_expected("rising times: single cylinder, average, full strobe"),
    ])
}

/// Lee's formula through three times, with `d` the distance in cylinders: `a √(d-1) + b (d-1) + single` (DiskSim manual 4.0,
/// section on seek models).
fn lee_curve(fields: &ParameterFields<'_>, cylinders: u32) -> Result<SeekCurves, Errors> {
    let time_ms = |key: &str| fields.number(key, 0.0, LONGEST_SEEK_MS);
    let (single, average) = (time_ms("Single cylinder seek time")?, time_ms("Average seek time")?);
    let full = time_ms("Full strobe seek time")?;
    check_rising(fields, single, average).and_then(|()| check_rising(fields, average, full))?;
    let c = f64::from(cylinders.max(2));
    let a = (-10.0 * single + 15.0 * average - 5.0 * full) / (3.0 * c.sqrt());
    let b = (7.0 * single - 15.0 * average + 8.0 * full) / (3.0 * c);
    let lee_ms = |d: u32| (single + a * f64::from(d - 1).sqrt() + b * f64::from(d - 1)).max(0.0);
    Ok(sample_curve("Lee's formula through single cylinder, average and full strobe", cylinders, lee_ms))
}

/// The curve of Hewlett-Packard Laboratories: a root up to a distance, the bend, then a line; optionally with listed times of the
/// first ten distances.
fn hpl_curve(fields: &ParameterFields<'_>, cylinders: u32, lists_first_ten: bool) -> Result<SeekCurves, Errors> {
    let values = fields.number_list("HPL seek equation values")?;
    let position = fields.position("HPL seek equation values");
    let [bend, root_base, root_factor, line_base, slope, single, ..] = values[..] else {
        let fault =
            position.diagnostic(format!("there are {} values", values.len())).with_key("HPL seek equation values");
        return Err(vec![
            fault.with_expected("six: distance, two of the root, two of the line, single cylinder or -1"),
        ]);
    };
    let mut first_ten = if lists_first_ten { fields.number_list("First ten seek times")? } else { Vec::new() };
    if lists_first_ten && (first_ten.len() < 10 || first_ten.iter().any(|ms| !(0.0..=LONGEST_SEEK_MS).contains(ms))) {
        let fault = fields.position("First ten seek times").diagnostic(format!("there are {} times", first_ten.len()));
        return Err(vec![fault.with_key("First ten seek times").with_expected("ten, of distances 1 to 10, in ms")]);
    }
    first_ten.truncate(10);
    let time_ms = |distance: u32| {
        let d = f64::from(distance);
        let formula = if d < bend { root_base + root_factor * d.sqrt() } else { line_base + slope * d };
        let has_single = single >= 0.0 && first_ten.is_empty();
        let listed = first_ten.get(distance as usize - 1).copied();
        if has_single && distance == 1 { single } else { listed.unwrap_or(formula) }.clamp(0.0, LONGEST_SEEK_MS)
    };
    let origin = if lists_first_ten { "the first ten distances and the HPL equation" } else { "the HPL equation" };
    let mut curves = sample_curve(origin, cylinders, time_ms);
    let bend = bend.ceil().clamp(2.0, f64::from(cylinders.max(3) - 1)) as u32;
    // If root and line do not meet, two adjacent points have the step between them.
    if (time_ms(bend) - time_ms(bend - 1)).abs() > time_ms(bend) / 1000.0 {
        curves.read.retain(|point| point.0 != bend - 1 && point.0 != bend);
        let index = curves.read.partition_point(|point| point.0 < bend);
        let step = [bend - 1, bend].map(|distance| (distance, round_to_nanos(time_ms(distance))));
        curves.read.splice(index..index, step);
    }
    Ok(curves)
}

/// Samples a formula: each of the first distances, then so densely that straight lines between the points deviate from the formula
/// by less than a thousandth.
fn sample_curve(origin: &'static str, cylinders: u32, time_ms: impl Fn(u32) -> f64) -> SeekCurves {
    let mut read = Vec::new();
    let mut distance = 1;
    while distance < cylinders {
        read.push((distance, round_to_nanos(time_ms(distance))));
        distance += if distance < DENSE_DISTANCES { 1 } else { distance / 40 };
    }
    let last = cylinders.max(2) - 1;
    if read.last().is_none_or(|point| point.0 < last) {
        read.push((last, round_to_nanos(time_ms(last))));
    }
    SeekCurves { read, write: Vec::new(), origin }
}

/// Reads the table of a separate file; missing ends are extended.
fn extracted_curve(
    fields: &ParameterFields<'_>,
    cylinders: u32,
    files: SourceFiles<'_>,
    writer: &mut ProfileWriter,
) -> Result<SeekCurves, Errors> {
    let (name, position) = fields.required_word("Full seek curve")?;
    let (file, table) = files
        .load_relative(&position.file, name)
        .map_err(|error| vec![position.diagnostic(format!("cannot be read: {error}")).with_key(name)])?;
    let rows = table::read_table(&file, &table, writer)?;
    let mut curves = SeekCurves { read: Vec::new(), write: Vec::new(), origin: "table of measured seeks" };
    for row in rows {
        curves.read.push((row.distance, round_to_nanos(row.read_ms)));
        curves.write.extend(row.write_ms.map(|ms| (row.distance, round_to_nanos(ms))));
    }
    let whole_file = SourcePosition { file, line: 0 };
    if !curves.write.is_empty() && curves.write.len() != curves.read.len() {
        return Err(vec![whole_file.diagnostic("only some distances have a write seek")]);
    }
    for points in [&mut curves.read, &mut curves.write] {
        for AddedPoint { point: (distance, ms), reason } in table::extend_ends(points, cylinders) {
            let message = format!("{reason}: {distance} cylinders are taken to need {ms} ms");
            writer.warn(whole_file.diagnostic(message).with_key("distance"));
        }
    }
    Ok(curves)
}
