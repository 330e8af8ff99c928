//! Golden outputs of the laboratory: reports and accounts of sampling of a few studies, fits with their profiles and pages, drives, cuts.
//! Tests elsewhere ask whether they are right.

use std::collections::BTreeMap;
use std::path::Path;

use seekwise_disk::rng::Seed;
use seekwise_disk::time::Instant;
use seekwise_lab::catalogue::sketch::{Datasheet, draft_profile};
use seekwise_lab::catalogue::{self, check, show};
use seekwise_lab::compose::{ReportMaterial, build_report};
use seekwise_lab::digest::sha256;
use seekwise_lab::finding::Evidence;
use seekwise_lab::fit::data::{FitData, FitTrace};
use seekwise_lab::fit::{page, parameter, report as fit_report, write};
use seekwise_lab::inputs::Inputs;
use seekwise_lab::plan::{self, Cell, PreparedCell};
use seekwise_lab::provenance::{ProgramVersion, RunSample, StudyProvenance};
use seekwise_lab::rounds::pilot::PilotWatch;
use seekwise_lab::rounds::{self, SamplingAccount};
use seekwise_lab::run::RunRecord;
use seekwise_lab::study::{EarlierRuns, run_study_order};
use seekwise_lab::workers::Workers;
use seekwise_lab::{cut, plot, validate};
use seekwise_run::cutoff::RunCutoff;
use seekwise_work::workload::replay::Timing;

use crate::{fit, outline};

const TINY: &str = r#"title = "Tiny"
question = "Is it faster with a queue?"
seed = 3
runs = 4
runtime = "20 s"
ramp = "1 s"

[stack]
controller = "ahci"

[[factor]]
name = "drive"
key = "drive"
levels = ["barracuda-7200.7-ncq", "exos-x18"]

[[factor]]
name = "depth"
key = "job.depth"
levels = [1, 8]

[[factor]]
name = "pattern"
key = "job"
levels = ["random-read", "file-server"]

[[compare]]
name = "A queue"
factor = "depth"
from = 1
to = 8
headline = true

[[compare]]
name = "Waiting"
factor = "depth"
from = 1
to = 8
metric = "response_ms.p99"
"#;

/// The built-in studies that take no time.
const STUDIES: [(&str, &str); 5] = [
    ("tiny", TINY),
    ("q-two-revolutions", include_str!("../studies/q-two-revolutions.toml")),
    ("q-repeat", include_str!("../studies/q-repeat.toml")),
    ("f-option", include_str!("../studies/f-option.toml")),
    ("f-heads", include_str!("../studies/f-heads.toml")),
];

type Prepared = (seekwise_formats::study::Study, Vec<PreparedCell>, StudyProvenance);

/// A text without which build it was: its hash is of the sources.
fn without_build(text: &str) -> String {
    text.replace(&ProgramVersion::current().build, "BUILD")
}

fn prepared(text: &str, sampled: Option<(Vec<Cell>, RunSample)>) -> Prepared {
    let study = seekwise_formats::study::parse("study.toml", text).unwrap();
    let read = |name: &str| Err(std::io::Error::other(format!("{name}: no file is read here")));
    let inputs = Inputs::from_today(&read);
    let (cells, sample) = sampled.unwrap_or_else(|| (plan::study_cells(&study), RunSample::new(&study, None)));
    let prepared: Vec<_> = cells.iter().map(|cell| plan::prepare_cell("study.toml", cell, &inputs).unwrap()).collect();
    let made = StudyProvenance::new(sha256(text.as_bytes()), &cells, &prepared, inputs.texts_read(), sample);
    (study, prepared, made)
}

/// The records of all runs, as far as they are decided.
fn run((study, prepared, made): &Prepared) -> Vec<RunRecord> {
    let (mut records, workers) = (Vec::new(), (&Workers::with_threads(2), RunCutoff::NEVER));
    loop {
        let order = rounds::sample_order(study, made, &records);
        let done = records.len();
        if done >= order.len() {
            return records;
        }
        run_study_order(study, prepared, (&made.seeds, &order), &EarlierRuns::default(), done, workers, |result| {
            records.push(result.expect("a run"));
            true
        });
    }
}

/// A study as it says, and sampled until it is decided, if that may be.
fn both(text: &str) -> Vec<(&'static str, Prepared)> {
    let fixed = prepared(text, None);
    let (study, cells, made) = &fixed;
    if !rounds::may_shorten_runs(study, made, cells) {
        return vec![("fixed", fixed)];
    }
    let plan = rounds::plan_sampling(study, made, cells, 2, &PilotWatch::NONE).unwrap();
    let cells = plan.cells_with_lengths(made.cells.iter().map(|made| &made.cell));
    let sampled = prepared(text, Some((cells, RunSample::new(study, Some(plan)))));
    vec![("fixed", fixed), ("decided", sampled)]
}

/// Each drive of the catalogue: its sheet, its pictures, the ranges of a fit, two drives sketched after it, its checks.
fn drives() -> Vec<(String, String)> {
    let mut all = String::new();
    for name in catalogue::names() {
        let drive = catalogue::load_drive(name).unwrap();
        let sheet = show::build_sheet(&drive).unwrap();
        let mut add = |what: &str, text: &str| all.push_str(&format!("{name} {what}: {}\n", outline::brief(text, 60)));
        add("sheet", &serde_json::to_string(&sheet).unwrap());
        add("seeks", &plot::draw_svg(&show::seek_picture(&sheet), 640, 360));
        add("rates", &plot::draw_svg(&show::rate_picture(&sheet), 640, 360));
        add("rates on a screen", &plot::draw_terminal(&show::rate_picture(&sheet), 80, 12));
        for parameter in parameter::collect_parameters(&drive, &[]) {
            add(&parameter.name.clone(), &format!("{parameter:?}"));
        }
        let given = Datasheet {
            rpm: Some(5400.0),
            outer: Some(150.0),
            inner: Some(70.0),
            seek: Some(11.0),
            ..Datasheet::default()
        };
        let larger = Datasheet { capacity: Some(3_000_000_000_000), heads: Some(6), ..Datasheet::default() };
        for (what, given) in [("slower", given), ("larger", larger)] {
            add(what, &draft_profile(name, &given, "mine").unwrap_or_else(|why| why));
        }
        let checks = format!("{:?}", check::check_drive(&drive, &drive.profile().unwrap()));
        add("checks", &checks);
    }
    vec![("drives".to_owned(), all)]
}

/// Reports and pictures of power cuts, on drives and on an array, and of a trace that is played.
fn cuts_and_traces() -> Vec<(String, String)> {
    let read = |name: &str| Err(std::io::Error::other(format!("{name}: no file is read here")));
    let inputs = Inputs::from_today(&read);
    let mut all = String::new();
    let stacks: [&[(&str, &str)]; 3] = [
        &[("drive", "barracuda-7200.7")],
        &[("drive", "exos-x18"), ("array", "raid-5"), ("array.drives", "4")],
        &[("drive", "caviar-wd400jb"), ("driver", "windows-98")],
    ];
    for settings in stacks {
        for job in ["random-write", "file-server"] {
            let mut set: Vec<(String, String)> =
                vec![("job".to_owned(), job.to_owned()), ("job.runtime".to_owned(), "2 s".to_owned())];
            set.extend(settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
            let cell = Cell { levels: Vec::new(), settings: set };
            let ready = plan::prepare_cell("golden", &cell, &inputs).unwrap();
            let stack = cut::modelled_stack(&ready.target).unwrap();
            let instants: Vec<Instant> = (1..20).map(|at| Instant::from_nanos(at * 97_000_000)).collect();
            let report =
                cut::judge_cuts(RunCutoff::NEVER, stack, &ready.job, 3, &cut::CutTime::At(instants), &|_, _| ())
                    .unwrap();
            all.push_str(&outline::json(&serde_json::to_string(&report).unwrap(), 4).unwrap());
            all.push_str(&outline::brief(&cut::plot::draw_svg("cuts", &report), 60));
            all.push_str(&format!("\n{:?}\n", cut::plot::draw_terminal(&report, 80, 12)));
        }
    }
    let trace = fit::measured(&fit::truth(&[("overhead.read_miss_ms", "1.4")]), 800);
    let profile = catalogue::load_drive(fit::DRIVE).unwrap().profile().unwrap();
    let samples =
        validate::play_trace("t", &trace, &profile, Timing::Think, RunCutoff::NEVER, Seed(1), &mut |_| ()).unwrap();
    let off = validate::circumstances::find_off_requests(&trace.rows, &samples);
    all.push_str(&format!("{}\n", serde_json::to_string(&samples.to_validation()).unwrap()));
    off.iter()
        .for_each(|off| all.push_str(&format!("{} {}\n", off.sentence(trace.rows.len()), off.circumstance.words())));
    all.push_str(&outline::brief(&validate::plot::draw_svg("times", &samples), 60));
    vec![("cuts-and-traces".to_owned(), all)]
}

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

#[test]
fn reports_and_fits_are_those_that_were_read_last() {
    let mut texts = Vec::new();
    for (name, text) in STUDIES {
        for (how, planned) in both(text) {
            let records = run(&planned);
            let (study, _, made) = &planned;
            let account = SamplingAccount::from_evidence(&Evidence::new(study, made, &records));
            let account = account.map_or(String::new(), |account| account.to_sentences() + "\n");
            let report = build_report(&ReportMaterial { study, made, records: &records, command: "again" });
            let report = outline::json(&without_build(&serde_json::to_string(&report).unwrap()), 3).unwrap();
            let records: String = records.iter().map(|record| serde_json::to_string(record).unwrap()).collect();
            texts.push((
                format!("study-{name}-{how}"),
                format!("{account}{report}{}", outline::json(&records, 1).unwrap()),
            ));
        }
    }
    texts.extend(fits());
    texts.extend(drives());
    texts.extend(cuts_and_traces());
    outline::compare(&folder(), &texts);
}

#[test]
fn one_changed_letter_or_a_missing_text_is_a_difference() {
    let known = std::fs::read_to_string(folder().join("drives.txt")).unwrap();
    let differ = |name: &str, text: String| outline::differences(&folder(), &[(name.to_owned(), text)]);
    assert!(differ("drives", known.clone()).is_empty());
    for changed in [known.replacen('0', "1", 1), format!("{known}more\n"), known.trim_end().to_owned(), String::new()] {
        assert_eq!(differ("drives", changed).len(), 1);
    }
    assert_eq!(differ("no-such-text", known).len(), 1);
}

fn fits() -> Vec<(String, String)> {
    let drive = catalogue::load_drive(fit::DRIVE).unwrap();
    let real = fit::truth(&[("overhead.read_miss_ms", "1.4"), ("cache.read_ahead.after", "2")]);
    let trace = fit::measured(&real, 1600);
    let (traced, _) = fit::fitted(trace.clone(), &fit::ONLY, BTreeMap::new());
    let of_trace = vec![FitData::Traced(Box::new(FitTrace::new("t", trace, 0.5, Timing::Think, Vec::new()).unwrap()))];
    let all = [("trace", of_trace, traced), ("jobs", fit::curve(), fit::of_jobs(2, None))];
    let mut texts = Vec::new();
    for (name, data, found) in all {
        let said = fit_report::build_report(&drive, &data, &found).unwrap();
        let lines = outline::json(&serde_json::to_string(&said).unwrap(), 4).unwrap();
        texts.push((format!("fit-{name}"), lines));
        let search: Vec<(u64, f64)> = (1..20).map(|at| (at * 10, 1.0 / at as f64)).collect();
        texts.push((format!("fit-{name}-page"), outline::page(&page::render_html("A fit", &said, "data", &search))));
        let text = catalogue::find_text(fit::DRIVE).unwrap();
        texts.push((
            format!("fit-{name}-profile"),
            write::write_fitted_profile(text, &drive, &found, "mine", "rows").unwrap(),
        ));
    }
    texts
}
