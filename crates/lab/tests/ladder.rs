//! Seek times by distance: the law for drives with three known figures against nine measured curves, each left out of the
//! constants that it is judged by; and the model against four published ladders of seeks.
//!
//! The curves of eight drives are other people's parameter files (`SEEKWISE_PARAMETERS`, else `validation/disksim` of the
//! folder that `SEEKWISE_SHARED` names, else of `../shared`); without them the first test says so and passes. The ladders are
//! FreeBSD's `diskinfo -t`, whose requests are simple enough to be made here. `SEEKWISE_UPDATE=1` rewrites the tables of
//! `docs/validation.md`, which otherwise must be what is found.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use seekwise_disk::block::Op;
use seekwise_disk::drive::mechanics::SeekCurve;
use seekwise_disk::drive::profile::Profile;
use seekwise_disk::record::Record;
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::Stack;
use seekwise_disk::time::Span;
use seekwise_drives::profile;
use seekwise_formats::disksim;
use seekwise_lab::catalogue;
use seekwise_lab::validate::replay_rows;
use seekwise_run::cutoff::RunCutoff;
use seekwise_work::workload::replay::{ReplayRow, Timing};

/// Drives whose extracted curves are read; the ninth is the built-in Atlas 10K V.
const EXTRACTED: [&str; 8] =
    ["hp_c2247a", "st41601n", "dec_rz26", "hp_c2490a", "barracuda", "cheetah4LP", "cheetah9LP", "atlas10k"];
const NINTH: &str = "atlas-10k-v-300";

/// The constants that were tried: settling and coasting of `crates/drives/src/profile/seek.rs`.
const SETTLING: [f64; 11] = [0.03, 0.04, 0.05, 0.055, 0.06, 0.065, 0.07, 0.075, 0.08, 0.09, 0.1];
const COASTING: [f64; 6] = [0.14, 0.16, 0.18, 0.20, 0.22, 0.25];
/// Those in use.
const IN_USE: (f64, f64) = (0.065, 0.2);

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn updating() -> bool {
    std::env::var_os("SEEKWISE_UPDATE").is_some()
}

fn parameters() -> Option<PathBuf> {
    let shared = || {
        std::env::var_os("SEEKWISE_SHARED")
            .map_or_else(|| workspace().join("../shared"), PathBuf::from)
            .join("validation")
    };
    let path = std::env::var_os("SEEKWISE_PARAMETERS").map_or_else(|| shared().join("disksim"), PathBuf::from);
    if path.is_dir() {
        return Some(path);
    }
    assert!(!updating(), "nothing to update from: {} is not there", path.display());
    eprintln!(
        "skipped: {} is not there (other people's data); SEEKWISE_PARAMETERS names another folder",
        path.display()
    );
    None
}

/// A measured curve: the time of each distance in ms, and the profile that it is of.
struct MeasuredCurve {
    name: &'static str,
    times: Vec<f64>,
    drive: profile::DriveFile,
}

fn times(curve: &SeekCurve, cylinders: u32) -> Vec<f64> {
    (0..cylinders).map(|d| curve.seek_time(d).nanos() as f64 / 1e6).collect()
}

fn measured(name: &'static str, drive: profile::DriveFile) -> MeasuredCurve {
    let found = drive.profile().expect("a profile that fits");
    MeasuredCurve { name, times: times(found.mechanics.seek(), found.geometry.cylinders()), drive }
}

fn curves(folder: &Path) -> Vec<MeasuredCurve> {
    let imported = |name: &&'static str| {
        let text = fs::read_to_string(folder.join(format!("{name}.parv"))).expect("a set-up");
        let load = |name: &str| fs::read_to_string(folder.join(name)).map_err(|error| error.to_string());
        let import = disksim::import(name, &text, &load, None, name).expect("parameters that can be read");
        measured(name, profile::parse(name, &import.toml).expect("a profile"))
    };
    let ninth = measured(NINTH, catalogue::load_drive(NINTH).expect("a built-in drive"));
    EXTRACTED.iter().map(imported).chain([ninth]).collect()
}

/// A drive's three figures: single track, average over all pairs of cylinders, full stroke.
fn three(times: &[f64]) -> [f64; 3] {
    [times[1], mean(times), times[times.len() - 1]]
}

fn mean(times: &[f64]) -> f64 {
    let cylinders = times.len() as f64;
    let weighted = times.iter().enumerate().skip(1).map(|(d, time)| time * (cylinders - d as f64));
    weighted.sum::<f64>() / (cylinders * (cylinders - 1.0) / 2.0)
}

/// A shape scaled to three figures, as `crates/drives/src/profile/seek.rs` does.
fn scaled(shape: &[f64], [single, average, full]: [f64; 3]) -> Vec<f64> {
    let [first, middle, last] = three(shape);
    let third = (full - single) / 3.0;
    let a = (average - single - third) / (middle - first - (last - first) / 3.0);
    let b = full - single - a * (last - first);
    let stroke = shape.len() as f64 - 2.0;
    let time = |(d, shape): (usize, &f64)| single + a * (shape - first) + b * (d as f64 - 1.0) / stroke;
    shape.iter().enumerate().map(time).collect()
}

fn law(cylinders: usize, (settling, coasting): (f64, f64)) -> Vec<f64> {
    let time = |d: usize| {
        let share = d as f64 / (cylinders as f64 - 1.0);
        let root = coasting.sqrt();
        let motion = if share < coasting { share.sqrt() } else { root + (share - coasting) / (2.0 * root) };
        settling * (1.0 - 1.0 / (d.max(1) as f64).sqrt()) + motion
    };
    (0..cylinders).map(time).collect()
}

/// What stood here before: the Atlas 10K V's curve by the share of the stroke, few tracks too.
fn stretched(atlas: &[f64], cylinders: usize) -> Vec<f64> {
    let place = |d: usize| if d <= 1 { d } else { (d * (atlas.len() - 1) / (cylinders - 1)).max(1) };
    (0..cylinders).map(|d| atlas[place(d)]).collect()
}

/// Distances a quarter apart, and the longest.
fn distances(cylinders: usize) -> Vec<usize> {
    let mut all: Vec<usize> =
        (0..).map(|step| 1.25f64.powi(step).round() as usize).take_while(|d| d + 1 < cylinders).collect();
    all.push(cylinders - 1);
    all.dedup();
    all
}

/// The root mean square of the differences, in ms, over [`distances`].
fn off(curve: &MeasuredCurve, other: &[f64]) -> f64 {
    let all = distances(curve.times.len());
    let square = |d: &usize| (other[*d] - curve.times[*d]).powi(2);
    (all.iter().map(square).sum::<f64>() / all.len() as f64).sqrt()
}

/// The mean difference in ms over a band of distances, and that of others, as two figures of a table.
fn band(curve: &MeasuredCurve, [old, new]: [&[f64]; 2], within: impl Fn(usize) -> bool) -> String {
    let all: Vec<usize> = distances(curve.times.len()).into_iter().filter(|d| *d > 1 && within(*d)).collect();
    let mean = |of: &[f64]| all.iter().map(|d| of[*d] - curve.times[*d]).sum::<f64>() / all.len() as f64;
    match all.is_empty() {
        true => "–".to_owned(),
        false => format!("{:+.2}, {:+.2}", mean(old), mean(new)),
    }
}

/// The constants with the least squares over some drives, each drive weighted by its average.
fn best(errors: &[Vec<f64>], drives: impl Fn(usize) -> bool) -> usize {
    let sum = |choice: &Vec<f64>| -> f64 {
        choice.iter().enumerate().filter(|(drive, _)| drives(*drive)).map(|(_, error)| error * error).sum()
    };
    (0..errors.len()).min_by(|a, b| sum(&errors[*a]).total_cmp(&sum(&errors[*b]))).expect("some choices")
}

#[test]
fn the_law_of_three_figures_meets_a_drive_that_was_left_out() {
    let Some(folder) = parameters() else { return };
    let curves = curves(&folder);
    let choices: Vec<(f64, f64)> = SETTLING.iter().flat_map(|s| COASTING.map(|c| (*s, c))).collect();
    let with = |curve: &MeasuredCurve, choice| scaled(&law(curve.times.len(), choice), three(&curve.times));
    let error = |choice: &(f64, f64)| -> Vec<f64> {
        curves.iter().map(|curve| off(curve, &with(curve, *choice)) / mean(&curve.times)).collect()
    };
    let errors: Vec<Vec<f64>> = choices.iter().map(error).collect();
    assert_eq!(choices[best(&errors, |_| true)], IN_USE, "the constants in use are not the best over all nine");
    let atlas = &curves[8].times;
    let mut text = String::from(
        "| drive | cylinders | all distances, rms | the others' constants | 2 to 20 tracks | to 1 % of the stroke | 1 to 5 % | 5 to 25 % | beyond |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    let mut sums = [0.0; 2];
    for (at, curve) in curves.iter().enumerate() {
        in_use(curve, &with(curve, IN_USE));
        let choice = choices[best(&errors, |drive| drive != at)];
        let (old, new) = (scaled(&stretched(atlas, curve.times.len()), three(&curve.times)), with(curve, choice));
        let (before, after) = (off(curve, &old), off(curve, &new));
        if at < 8 {
            sums = [sums[0] + before, sums[1] + after];
            assert!(after < before, "{}: {after} ms left out, {before} before", curve.name);
        }
        let share = |d: usize| d as f64 / (curve.times.len() as f64 - 1.0);
        let bands = [
            band(curve, [&old, &new], |d| d <= 20),
            band(curve, [&old, &new], |d| d > 20 && share(d) < 0.01),
            band(curve, [&old, &new], |d| (0.01..0.05).contains(&share(d))),
            band(curve, [&old, &new], |d| (0.05..0.25).contains(&share(d))),
            band(curve, [&old, &new], |d| share(d) >= 0.25),
        ];
        let _ = writeln!(
            text,
            "| {} | {} | {before:.2}, {after:.2} | {}, {} | {} |",
            curve.name,
            curve.times.len(),
            choice.0,
            choice.1,
            bands.join(" | ")
        );
    }
    let _ = writeln!(text, "| mean of the first eight | | {:.2}, {:.2} | | | | | | |", sums[0] / 8.0, sums[1] / 8.0);
    assert!(sums[1] < sums[0] / 2.0, "{sums:?}");
    shown("curves", &text);
}

/// What profiles use is the law above.
fn in_use(curve: &MeasuredCurve, law: &[f64]) {
    let mut drive = curve.drive.clone();
    let [single, average, full] = three(&curve.times);
    let figures = [("single_ms", single), ("average_ms", average), ("full_ms", full)];
    drive.set("mechanics.seek.form", "sibling").expect("a form");
    for (key, value) in figures {
        drive.set(&format!("mechanics.seek.{key}"), &format!("{value:.4}")).expect("a time");
    }
    let used = times(drive.profile().expect("a curve that rises").mechanics.seek(), curve.times.len() as u32);
    for d in distances(law.len()) {
        assert!((used[d] - law[d]).abs() < 0.005, "{}, {d} cylinders: {} ms, the law {}", curve.name, used[d], law[d]);
    }
}

/// A ladder of seeks as `diskinfo -t` prints it, in ms: full, half, quarter, 8 MiB forward and backward.
struct Ladder {
    name: &'static str,
    measured: [f64; 5],
}

const LADDERS: [Ladder; 4] = [
    Ladder { name: "ultrastar-he12-12tb", measured: [18.365, 13.708, 11.185, 4.443, 5.071] },
    Ladder { name: "mg07aca-12tb", measured: [22.664, 17.052, 13.736, 7.645, 4.948] },
    Ladder { name: "samsung-1.5tb-5400", measured: [23.625, 18.089, 15.321, 9.353, 7.672] },
    // The means of two runs.
    Ladder { name: "deskstar-7k80-82gb", measured: [30.225, 21.865, 16.90, 3.475, 5.755] },
];

/// Between two reads of the same end.
const STEP: u64 = 16_384;

/// Reads of one sector at two ends in turn, which move by [`STEP`].
fn ends(first: u64, second: u64, back: bool, each: u64) -> Vec<u64> {
    let second = |i: u64| if back { second - i * STEP } else { second + i * STEP };
    (0..each).flat_map(|i| [first + i * STEP, second(i)]).collect()
}

/// The mean response in ms of single reads, one after another.
fn response(profile: &Profile, blocks: &[u64]) -> f64 {
    let row = |lba: &u64| ReplayRow { op: Op::Read, lba: *lba, sectors: 1, arrival: Span::ZERO, think: Span::ZERO };
    let rows: Vec<ReplayRow> = blocks.iter().map(row).collect();
    let mut sum = 0;
    let mut heard = |record: &Record| sum += record.time_since_due().nanos();
    replay_rows(&Stack::bare(profile.clone()), &rows, Timing::Think, RunCutoff::NEVER, Seed(1), &mut heard)
        .expect("it runs");
    sum as f64 / 1e6 / rows.len() as f64
}

/// There and back, in revolutions: a hop of so many blocks from the middle on, and the same backwards.
fn hop(profile: &Profile, blocks: u64) -> f64 {
    let middle = profile.geometry.sectors() / 2;
    let there: Vec<u64> = (0..400).map(|i| middle + i * blocks).collect();
    let back: Vec<u64> = (0..400).map(|i| middle - i * blocks).collect();
    (response(profile, &there) + response(profile, &back)) / (profile.mechanics.revolution().nanos() as f64 / 1e6)
}

#[test]
fn published_ladders_of_seeks_are_what_the_page_says() {
    let mut text = String::from(
        "| drive | whole drive, ms | half | a quarter | 8 MiB there and back, revolutions: measured | hops of 6 to 10 MiB |\n\
         |---|---|---|---|---|---|\n",
    );
    for Ladder { name, measured } in LADDERS {
        let path = workspace().join(format!("validation/ladders/{name}.toml"));
        let file = fs::read_to_string(path).expect("a committed profile");
        let profile = profile::parse(name, &file).and_then(|drive| drive.profile()).expect("a profile that fits");
        let sectors = profile.geometry.sectors();
        let quarter = sectors / 4;
        let found = [
            response(&profile, &ends(0, sectors - STEP, true, 125)),
            response(&profile, &ends(quarter, quarter + sectors / 2, false, 125)),
            response(&profile, &ends(quarter, 2 * quarter, false, 250)),
        ];
        let beside = |at: usize| {
            format!("{:.2}, {:.2} ({:+.1} %)", measured[at], found[at], 100.0 * (found[at] / measured[at] - 1.0))
        };
        // The two figures that set the curve, and the one that did not.
        assert!(
            (found[0] / measured[0] - 1.0).abs() < 0.025 && (found[1] / measured[1] - 1.0).abs() < 0.025,
            "{name}: {found:?}"
        );
        assert!((found[2] / measured[2] - 1.0).abs() < 0.06, "{name}: {found:?}");
        let hops: Vec<f64> = (12..=20).map(|half| hop(&profile, half * STEP / 16)).collect();
        let (least, most) = (hops.iter().copied().fold(9.0, f64::min), hops.iter().copied().fold(0.0, f64::max));
        let revolution = profile.mechanics.revolution().nanos() as f64 / 1e6;
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {} | {:.2} | {:.2} ({least:.2} to {most:.2}) |",
            beside(0),
            beside(1),
            beside(2),
            (measured[3] + measured[4]) / revolution,
            hops.iter().sum::<f64>() / hops.len() as f64
        );
    }
    shown("ladders", &text);
}

/// One test at a time changes the page.
static PAGE: Mutex<()> = Mutex::new(());

/// Compares a table with the page, or writes it there.
fn shown(place: &str, table: &str) {
    let _alone = PAGE.lock().expect("no holder panics");
    let (begin, end) = (format!("<!-- {place} -->\n"), format!("<!-- end of {place} -->"));
    let path = workspace().join("docs/validation.md");
    let page = fs::read_to_string(&path).expect("the page");
    let (before, rest) = page.split_once(&begin).expect("a place for the table");
    let (committed, after) = rest.split_once(&end).expect("an end of the table");
    if updating() {
        fs::write(&path, format!("{before}{begin}{table}{end}{after}")).expect("the page is written");
        return;
    }
    assert_eq!(committed, table, "docs/validation.md is stale; SEEKWISE_UPDATE=1 writes it");
}
