//! Golden outputs of the library: its whole answers to a few questions, as they were read last (`golden/`). Whether
//! answers are right is tested elsewhere.

#![allow(clippy::disallowed_methods, reason = "a test makes what it looks at")]

use std::fs;
use std::path::Path;

use seekwise::compare::Comparison;
use seekwise::fit::{Fit, fit};
use seekwise::power_cut::{CutTime, power_cut};
use seekwise::study::{StudyOptions, StudyOutcome, study};
use seekwise::validate::{ValidationOptions, validate};
use seekwise::{Bounds, Files, Setup, run};
use serde_json::{Value, to_value};

#[allow(dead_code, reason = "the program's tests use the rest")]
#[path = "../../lab/tests/outline.rs"]
mod outline;

fn setup(job: &str, drive: &str) -> Setup {
    Setup::new(job, drive).with_runtime("2 s")
}

/// Each answer has a name, and the depth down to which it is kept.
fn answers(folder: &Path) -> Vec<(&'static str, Value, usize)> {
    let path = |name: &str| folder.join(name).display().to_string();
    let read = run::run(&setup("random-read", "barracuda-7200.7-ncq").with("job.depth", 4), &()).unwrap();
    let array = setup("file-server", "exos-x18").with("array", "raid-5").with("array.drives", 4);
    let array = run::run(&array, &()).unwrap();
    let deeper = setup("random-read", "barracuda-7200.7-ncq").with("job.depth", 32);
    let mut comparison = Comparison::new(deeper, "drive.firmware.depth", ["1", "8", "32"]);
    comparison.runs = 3;
    let compared = comparison.run(&()).unwrap();
    let writes = setup("random-write", "barracuda-7200.7");
    let cut = power_cut(&writes, CutTime::Random(20), &Bounds::new(None), &()).unwrap();
    fs::write(folder.join("trace.csv"), outline::trace()).unwrap();
    let files = Files::default();
    let played = validate(&path("trace.csv"), &ValidationOptions::new(&files, "atlas-10k-v-300"), &()).unwrap();
    let mut fitting = Fit::new(vec![path("trace.csv")], "atlas-10k-v-300", folder.join("fitted.toml"));
    fitting.only = vec!["overhead".to_owned()];
    fitting.points = Some(40);
    let fitted = fit(&fitting, &()).unwrap();
    let into = folder.join("study");
    let StudyOutcome::Study(studied) = study("q-two-revolutions", &StudyOptions::into(&into), &()).unwrap() else {
        panic!("it is one study")
    };
    let mut summary = studied.summary();
    summary["report"] = Value::Null;
    vec![
        ("run", read.json(), 4),
        ("run-array", array.json(), 3),
        ("compare", compared.comparison().unwrap().json(), 5),
        ("power-cut", cut.json(&writes), 3),
        ("validate", played.json(), 4),
        ("fit", to_value(&fitted).unwrap(), 4),
        ("study", summary, 5),
    ]
}

#[test]
fn answers_are_those_that_were_read_last() {
    let folder = tempfile::tempdir().unwrap();
    let temporary = folder.path().display().to_string();
    let text = |(name, value, depth): (&str, Value, usize)| {
        let text = value.to_string().replace(&temporary, "FOLDER");
        (name.to_owned(), outline::json(&text, depth).expect("JSON"))
    };
    let texts: Vec<(String, String)> = answers(folder.path()).into_iter().map(text).collect();
    outline::compare(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden"), &texts);
}
