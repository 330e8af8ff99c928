//! Golden outputs of `seekwise_reproduce` in `tests/golden`: the verdict on a claim with and without its mechanism, and the levers
//! of a small study. They show changes; other tests hold that the outputs are right.

use std::path::Path;

use seekwise::study_plan::plan_file;
use seekwise::{Bounds, Files};
use seekwise_reproduce::claims::{Claims, run_and_judge_claims};
use seekwise_reproduce::lever::find_levers;

use crate::outline;

/// Settings of two drives, of a controller and of two kinds of work.
const STUDY: &str = r#"title = "Tiny"
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
"#;

/// The outline of a verdict's JSON.
fn verdicts() -> String {
    let request = Claims { ids: vec!["N9".to_owned()], ablate: true, runs: Some(2), ..Claims::default() };
    let judged = run_and_judge_claims(&request, &Bounds::new(None), &()).unwrap();
    outline::json(&serde_json::to_string(&judged).unwrap(), 4).expect("JSON")
}

/// Each lever with its present position, its range and the values to try.
fn levers() -> String {
    let planned = plan_file(&Files::default(), "study.toml", STUDY).unwrap();
    let mut all = String::new();
    for lever in find_levers(&planned.prepared) {
        let tries = lever.values_to_try();
        all.push_str(&format!("lever {lever:?} {} {}: {tries:?}\n", lever.present_position(), lever.range_words()));
    }
    all
}

#[test]
fn verdicts_and_levers_equal_the_golden_files() {
    let texts = [("claims".to_owned(), verdicts()), ("levers".to_owned(), levers())];
    outline::compare(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden"), &texts);
}
