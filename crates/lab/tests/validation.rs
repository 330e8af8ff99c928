//! The model against measured drives: the committed errors, and a stream of our own that guards the model anywhere.
//!
//! Traces are other people's data: they are looked for in `SEEKWISE_TRACES`, else in `validation/traces` of the folder
//! that `SEEKWISE_SHARED` names, else of `../shared` beside the workspace. A test that does not find them says so and
//! passes. `SEEKWISE_UPDATE=1` (`cargo xtask validation`) rewrites the committed figures, the table and the pictures of
//! `docs/validation.md` instead of comparing, and then fails without traces.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use seekwise_disk::block::Op;
use seekwise_disk::drive::profile::Profile;
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::Stack;
use seekwise_disk::time::Span;
use seekwise_drives::profile;
use seekwise_formats::disksim;
use seekwise_formats::trace::measured as trace;
use seekwise_lab::stats::demerit::demerit_ms;
use seekwise_lab::validate::{self, ResponseErrors, ResponseSamples, Validation, plot, quantile, replay_rows};
use seekwise_run::cutoff::RunCutoff;
use seekwise_work::workload::replay::{ReplayRow, Timing};
use serde::{Deserialize, Serialize};

/// Traced drives and the demerits of DiskSim 4.0 on them, in ms: all, reads, writes (measured by running it as shipped;
/// on st41601n without the three requests at which it aborts).
#[expect(clippy::approx_constant, reason = "a demerit of 0.318 ms has nothing to do with a circle")]
const DRIVES: [(&str, [f64; 3]); 8] = [
    ("atlas10k", [0.268, 0.385, 0.175]),
    ("barracuda", [0.348, 0.497, 0.270]),
    ("cheetah4LP", [0.318, 0.357, 0.329]),
    ("cheetah9LP", [0.108, 0.123, 0.161]),
    ("dec_rz26", [0.341, 0.273, 1.060]),
    ("hp_c2247a", [0.094, 0.149, 0.124]),
    ("hp_c2490a", [0.255, 0.815, 1.491]),
    ("st41601n", [0.084, 0.091, 0.311]),
];

/// The drives and their traces are fixed and the model is deterministic: only the rounding of the table is left.
const MARGIN_MS: f64 = 0.0006;

/// A column of the table: mean and demerit in ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Column {
    measured: f64,
    simulated: f64,
    demerit: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Columns {
    all: Column,
    reads: Column,
    writes: Column,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Row3 {
    requests: u64,
    /// The profile in `validation/drives`, on the whole trace.
    profile: Columns,
    /// The same on the half that was not used for fitting.
    tried: Columns,
    /// The parameters as extracted, only imported.
    extracted: Columns,
}

/// One of a row's three sets of columns.
type Chosen = fn(&Row3) -> Columns;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// The folder of other people's files.
fn shared() -> PathBuf {
    std::env::var_os("SEEKWISE_SHARED").map_or_else(|| workspace().join("../shared"), PathBuf::from).join("validation")
}

/// A folder of the validation data, if it exists; otherwise says that the test is skipped.
fn data(variable: &str, folder: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable).map_or_else(|| shared().join(folder), PathBuf::from);
    if path.is_dir() {
        return Some(path);
    }
    assert!(!updating(), "nothing to update from: {} is not there; {variable} names another folder", path.display());
    eprintln!("skipped: {} is not there (other people's data); {variable} names another folder", path.display());
    None
}

fn updating() -> bool {
    std::env::var_os("SEEKWISE_UPDATE").is_some()
}

fn drive(name: &str) -> Profile {
    let path = workspace().join(format!("validation/drives/{name}.toml"));
    let text = fs::read_to_string(&path).expect("a committed profile");
    profile::parse(name, &text).and_then(|drive| drive.profile()).expect("a profile that fits")
}

fn samples(traces: &Path, name: &str, profile: &Profile) -> ResponseSamples {
    let path = traces.join(format!("{name}.csv"));
    let text = fs::read_to_string(&path).expect("a trace");
    let trace = trace::parse(name, &text).expect("a trace that can be read");
    validate::play_trace(name, &trace, profile, Timing::Think, RunCutoff::NEVER, Seed(1), &mut |_| ())
        .expect("every request is taken")
}

fn columns(found: &Validation) -> Columns {
    let round = |ms: f64| (ms * 1000.0).round() / 1000.0;
    let column = |errors: &ResponseErrors| Column {
        measured: round(errors.mean_measured_ms),
        simulated: round(errors.mean_simulated_ms),
        demerit: round(errors.demerit_ms),
    };
    Columns { all: column(&found.all), reads: column(&found.reads), writes: column(&found.writes) }
}

fn imported(folder: &Path, name: &str) -> Profile {
    let file = folder.join(format!("{name}.parv"));
    let text = fs::read_to_string(&file).expect("a set-up");
    let load = |name: &str| fs::read_to_string(folder.join(name)).map_err(|error| error.to_string());
    let import = disksim::import(name, &text, &load, None, name).expect("parameters that can be read");
    profile::parse(name, &import.toml).and_then(|drive| drive.profile()).expect("a profile that fits")
}

fn found(traces: &Path, parameters: &Path, name: &str) -> (Row3, ResponseSamples) {
    let all = samples(traces, name, &drive(name));
    let half = all.read.len() / 2;
    let row = Row3 {
        requests: all.read.len() as u64,
        profile: columns(&all.to_validation()),
        tried: columns(&all.select_rows(half..all.read.len()).to_validation()),
        extracted: columns(&samples(traces, name, &imported(parameters, name)).to_validation()),
    };
    (row, all)
}

#[test]
fn measured_drives_are_met_as_closely_as_the_table_says() {
    let (Some(traces), Some(parameters)) = (data("SEEKWISE_TRACES", "traces"), data("SEEKWISE_PARAMETERS", "disksim"))
    else {
        return;
    };
    let path = workspace().join("validation/errors.toml");
    let mut rows = BTreeMap::new();
    for (name, _) in DRIVES {
        let (row, all) = found(&traces, &parameters, name);
        if updating() {
            let picture = plot::draw_svg(name, &all);
            fs::write(workspace().join(format!("docs/validation/{name}.svg")), picture).expect("a picture is written");
        }
        rows.insert(name.to_owned(), row);
    }
    if updating() {
        let head = "# Errors of the profiles in drives/, in ms. Rewritten by cargo xtask validation.\n\n";
        fs::write(&path, format!("{head}{}", toml::to_string(&rows).expect("a table"))).expect("the table is written");
        write_docs(&rows);
        return;
    }
    let text = fs::read_to_string(&path).expect("the committed table");
    let committed: BTreeMap<String, Row3> = toml::from_str(&text).expect("a table");
    assert_eq!(rows.keys().collect::<Vec<_>>(), committed.keys().collect::<Vec<_>>());
    for (name, row) in &rows {
        let old = &committed[name];
        for (what, new, old) in [
            ("profile", row.profile, old.profile),
            ("second half", row.tried, old.tried),
            ("as extracted", row.extracted, old.extracted),
        ] {
            for (kind, new, old) in
                [("all", new.all, old.all), ("reads", new.reads, old.reads), ("writes", new.writes, old.writes)]
            {
                let near = |a: f64, b: f64| (a - b).abs() <= MARGIN_MS;
                assert!(
                    near(new.demerit, old.demerit) && near(new.simulated, old.simulated),
                    "{name}, {what}, {kind}: {new:?}, the table says {old:?}"
                );
            }
        }
    }
}

/// How much the phase alone moves a demerit, in ms: half of the range of twenty seeds by arrival on the Cheetah 9LP
/// (docs/validation.md), the drive closest to DiskSim's figures.
const PHASE_MS: f64 = 0.015;

/// The project's promise for its profiles: means of all requests within 1.5 %, those of reads and writes within 2 %,
/// and no demerit above DiskSim's by more than the phase. The profiles are what `seekwise fit` makes, not the best that
/// could be found.
#[test]
fn the_committed_errors_are_not_above_disksims() {
    let text = fs::read_to_string(workspace().join("validation/errors.toml")).expect("the committed table");
    let committed: BTreeMap<String, Row3> = toml::from_str(&text).expect("a table");
    for (name, theirs) in DRIVES {
        let ours = committed[name].profile;
        for (column, theirs) in [ours.all, ours.reads, ours.writes].iter().zip(theirs) {
            assert!(column.demerit <= theirs + PHASE_MS, "{name}: {} ms, DiskSim {theirs}", column.demerit);
            assert!((column.simulated / column.measured - 1.0).abs() <= 0.02, "{name}: {column:?}");
        }
        assert!(off(ours.all).abs() < 1.5, "{name}: {:?}", ours.all);
    }
}

/// The page has the committed figures.
#[test]
fn the_page_shows_the_committed_errors() {
    let text = fs::read_to_string(workspace().join("validation/errors.toml")).expect("the committed table");
    let page = fs::read_to_string(workspace().join("docs/validation.md")).expect("the page");
    let shown = shown(&toml::from_str(&text).expect("a table"));
    assert!(
        updating() || page.contains(&shown),
        "docs/validation.md is not what validation/errors.toml makes of it:\n{shown}"
    );
}

/// The table of `docs/validation.md`, and its summary.
fn shown(rows: &BTreeMap<String, Row3>) -> String {
    let mut text = String::from(
        "| drive | requests | | measured mean | profile: mean | error | demerit | % of mean | second half: demerit | as extracted: demerit | DiskSim: demerit |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for (name, theirs) in DRIVES {
        let row = &rows[name];
        let kinds = [
            ("all", row.profile.all, row.tried.all, row.extracted.all),
            ("reads", row.profile.reads, row.tried.reads, row.extracted.reads),
            ("writes", row.profile.writes, row.tried.writes, row.extracted.writes),
        ];
        for (index, (kind, ours, tried, extracted)) in kinds.into_iter().enumerate() {
            let (name, n) = if index == 0 { (name, row.requests.to_string()) } else { ("", String::new()) };
            let _ = writeln!(
                text,
                "| {name} | {n} | {kind} | {:.3} | {:.3} | {:+.2} % | {:.3} | {:.2} % | {:.3} | {:.3} | {:.3} |",
                ours.measured,
                ours.simulated,
                off(ours),
                ours.demerit,
                100.0 * ours.demerit / ours.measured,
                tried.demerit,
                extracted.demerit,
                theirs[index]
            );
        }
    }
    text + &comparison(rows)
}

/// The error of a mean, in per cent.
fn off(column: Column) -> f64 {
    100.0 * (column.simulated / column.measured - 1.0)
}

/// Each column compared with DiskSim, counted.
fn comparison(rows: &BTreeMap<String, Row3>) -> String {
    let mut text = String::from(
        "\nBeside DiskSim, counted over the table. Only *as extracted* has the same parameters on both sides. DiskSim's figure is\n\
         always that of the whole trace with its parameters as shipped:\n\n\
         | | demerit of all at or below DiskSim's | of all, reads and writes | largest error of a mean (all) |\n|---|---|---|---|\n",
    );
    let columns: [(&str, Chosen); 3] = [
        ("as extracted", |row| row.extracted),
        ("profile, whole trace (half of it fitted on)", |row| row.profile),
        ("profile, second half (not seen by the search)", |row| row.tried),
    ];
    for (name, of) in columns {
        let pairs = DRIVES.map(|(drive, theirs)| (of(&rows[drive]), theirs));
        let all = pairs.iter().filter(|(ours, theirs)| ours.all.demerit <= theirs[0]).count();
        let every =
            pairs.iter().flat_map(|(ours, theirs)| [ours.all, ours.reads, ours.writes].into_iter().zip(*theirs));
        let (met, of_all) = (every.clone().filter(|(ours, theirs)| ours.demerit <= *theirs).count(), every.count());
        let worst = pairs.iter().map(|(ours, _)| off(ours.all).abs()).fold(0.0, f64::max);
        let _ = writeln!(text, "| {name} | {all} of {} | {met} of {of_all} | {worst:.2} % |", DRIVES.len());
    }
    text
}

/// Rewrites the figures in `docs/validation.md`.
fn write_docs(rows: &BTreeMap<String, Row3>) {
    let path = workspace().join("docs/validation.md");
    let text = fs::read_to_string(&path).expect("the page");
    let (before, rest) = text.split_once("<!-- errors -->\n").expect("a place for the table");
    let (_, after) = rest.split_once("<!-- end -->").expect("an end of the table");
    let shown = shown(rows);
    fs::write(&path, format!("{before}<!-- errors -->\n{shown}<!-- end -->{after}")).expect("the page is written");
}

/// A stream of our own: two thirds reads, a fifth continuing the last request, a third near it, think times of 0 to 40
/// ms.
fn stream(sectors: u64) -> Vec<ReplayRow> {
    let mut rng = Seed(20).stream("regression");
    let (mut end, mut arrival) = (0u64, Span::ZERO);
    let mut row = |_| {
        let length = 1 + rng.below(32) as u32;
        let lba = match rng.below(100) {
            0..20 => end,
            20..50 => end.saturating_sub(1_000) + rng.below(2_000),
            _ => rng.below(sectors),
        };
        let lba = lba.min(sectors - u64::from(length));
        let op = if rng.draw_chance(66) { Op::Read } else { Op::Write };
        let think = Span::from_micros(rng.below(40_000));
        end = lba + u64::from(length);
        arrival += think;
        ReplayRow { op, lba, sectors: length, arrival, think }
    };
    (0..4_000).map(&mut row).collect()
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Guard {
    /// The sum of all response times, in nanoseconds.
    sum_ns: u64,
    median_ns: u64,
    p99_ns: u64,
    /// FNV-1a over all response times in order.
    hash: String,
}

fn guard(profile: &Profile, timing: Timing) -> Guard {
    let rows = stream(profile.geometry.sectors());
    let mut times = vec![Span::ZERO; rows.len()];
    let mut record =
        |record: &seekwise_disk::record::Record| times[record.request.stamp as usize - 1] = record.time_since_due();
    replay_rows(&Stack::bare(profile.clone()), &rows, timing, RunCutoff::NEVER, Seed(1), &mut record).expect("runs");
    let mix = |hash: u64, time: &Span| (hash ^ time.nanos()).wrapping_mul(0x0100_0000_01b3);
    let hash = times.iter().fold(0xcbf2_9ce4_8422_2325, mix);
    let sum_ns = times.iter().map(|time| time.nanos()).sum();
    times.sort_unstable();
    let at = |share| quantile(&times, share).nanos();
    Guard { sum_ns, median_ns: at(0.5), p99_ns: at(0.99), hash: format!("{hash:016x}") }
}

#[test]
fn a_stream_of_our_own_gives_the_same_times_on_every_machine() {
    let path = workspace().join("validation/regression.toml");
    let mut found = BTreeMap::new();
    for (name, _) in DRIVES {
        let profile = drive(name);
        found.insert(format!("{name}-think"), guard(&profile, Timing::Think));
        found.insert(format!("{name}-arrival"), guard(&profile, Timing::Arrival));
    }
    if updating() {
        let head = "# Response times of the regression stream. Rewritten by cargo xtask validation.\n\n";
        fs::write(&path, format!("{head}{}", toml::to_string(&found).expect("a table"))).expect("it is written");
        return;
    }
    let text = fs::read_to_string(&path).expect("the committed figures");
    let committed: BTreeMap<String, Guard> = toml::from_str(&text).expect("a table");
    assert_eq!(
        found, committed,
        "the model answers otherwise than before; if that is meant, see the head of this file"
    );
}

/// Our demerit and the yardstick's own script agree.
#[test]
fn the_demerit_is_the_yardsticks() {
    let Some(traces) = data("SEEKWISE_TRACES", "traces") else {
        return;
    };
    let script = shared().join("demerit.py");
    if !script.is_file() {
        eprintln!("skipped: {} is not there", script.display());
        return;
    }
    let samples = samples(&traces, "hp_c2247a", &drive("hp_c2247a"));
    let folder = std::env::temp_dir().join(format!("seekwise-demerit-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a temporary folder");
    let ours = folder.join("simulated.txt");
    let ms = |times: &[Span]| {
        times.iter().fold(String::new(), |text, time| text + &format!("{}\n", time.nanos() as f64 / 1e6))
    };
    // Unequal counts too: the last requests are left out on one side.
    fs::write(&ours, ms(&samples.simulated[..9_000])).expect("it is written");
    let measured = format!("{}:measured_response_ms", traces.join("hp_c2247a.csv").display());
    let run =
        std::process::Command::new("python3").arg(&script).args([&measured, &ours.display().to_string()]).output();
    let _ = fs::remove_dir_all(&folder);
    let Ok(run) = run else {
        eprintln!("skipped: python3 cannot be run");
        return;
    };
    let said = String::from_utf8_lossy(&run.stdout);
    let figure = |line: &str| line.strip_prefix("demerit ")?.trim().strip_suffix(" ms")?.parse::<f64>().ok();
    let theirs = said.lines().find_map(figure);
    let theirs = theirs.unwrap_or_else(|| panic!("no demerit in {said:?}, {}", String::from_utf8_lossy(&run.stderr)));
    let found = demerit_ms(&mut samples.measured.clone(), &mut samples.simulated[..9_000].to_vec());
    assert!((found - theirs).abs() < 1e-6, "ours {found}, theirs {theirs}");
}
