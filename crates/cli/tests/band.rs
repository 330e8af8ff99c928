//! Predictions on a fitted drive: the band over the draws of its fit, and what the fit has not seen.

use std::fs;
use std::path::Path;

use crate::seekwise::run_program;
use serde_json::Value;

/// The profile that the fitted ones are made from.
const PROFILE: &str = include_str!("../../drives/profiles/barracuda-7200.7-ncq.toml");

/// Loads that the fit has seen.
const SEEN: &str = "seen = [
    { rw = \"randread\", block = 8192, depth = 1, write_cache = true },
    { rw = \"randread\", block = 8192, depth = 16, write_cache = true },
]";

/// Draws of a fit, each as `--set` has it.
const DRAWS: [&[&str]; 3] = [
    &["mechanics.seek.average_ms=9.5"],
    &["mechanics.seek.average_ms=8.0", "overhead.read_miss_ms=0.5"],
    &["firmware.queue.policy=look"],
];

/// At depth 4 the queue's policy matters.
const LOAD: [&str; 5] = ["random-read", "--runtime", "2 s", "--set", "job.depth=4"];

/// A folder with `fitted.toml`, whose fit has these draws.
fn folder_with_fit(draws: &[&[&str]]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let entry = |setting: &&str| {
        let (key, value) = setting.split_once('=').unwrap();
        let value = if value.parse::<f64>().is_ok() { value.to_owned() } else { format!("\"{value}\"") };
        format!("\"{key}\" = {value}")
    };
    let draw = |draw: &&[&str]| format!("    {{ {} }},\n", draw.iter().map(entry).collect::<Vec<_>>().join(", "));
    let draws: String = draws.iter().map(draw).collect();
    fs::write(folder.path().join("fitted.toml"), format!("{PROFILE}\n[fit]\n{SEEN}\ndraws = [\n{draws}]\n")).unwrap();
    folder
}

fn run_json(folder: &Path, more: &[&str]) -> Value {
    run_program(folder, &[&["run"], &LOAD[..], &["--on", "fitted.toml", "--json"], more].concat()).json()
}

fn compare_json(folder: &Path, more: &[&str]) -> Value {
    let load = ["random-read", "--runtime", "1 s", "--on", "fitted.toml", "--runs", "2", "--json"];
    run_program(folder, &[&["compare"], &load[..], more].concat()).json()
}

/// The settings of a draw as arguments.
fn set_arguments(draw: &[&str]) -> Vec<String> {
    draw.iter().flat_map(|setting| ["--set".to_owned(), format!("drive.{setting}")]).collect()
}

/// The least and the greatest of `values`.
fn range(values: &[f64]) -> [f64; 2] {
    values.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], value| [low.min(*value), high.max(*value)])
}

fn pair(value: &Value) -> [f64; 2] {
    [0, 1].map(|index| value[index].as_f64().unwrap_or_else(|| panic!("no pair: {value}")))
}

#[test]
fn a_band_is_the_range_of_the_runs_on_the_draws() {
    let folder = folder_with_fit(&DRAWS);
    for on in [&[][..], &["--set", "array=raid-1"]] {
        let banded = run_json(folder.path(), on);
        let mut runs = vec![run_json(folder.path(), &[on, &["--no-band"]].concat())];
        for (index, draw) in DRAWS.iter().enumerate() {
            let set = set_arguments(draw);
            let set: Vec<&str> = set.iter().map(String::as_str).collect();
            // Each draw has a seed of its own, after the run's.
            let seed = (2 + index).to_string();
            runs.push(run_json(folder.path(), &[on, &["--no-band", "--seed", &seed], &set].concat()));
        }
        for (figure, band) in [
            ("/all/iops", "/all/band/iops"),
            ("/read/bytes_per_s", "/read/band/bytes_per_s"),
            ("/read/response_ms/mean", "/read/band/response_ms/mean"),
            ("/read/response_ms/p99", "/read/band/response_ms/p99"),
            ("/read/response_ms/max", "/read/band/response_ms/max"),
        ] {
            let values: Vec<f64> = runs.iter().map(|run| run.pointer(figure).unwrap().as_f64().unwrap()).collect();
            let band = pair(banded.pointer(band).unwrap());
            assert_eq!(band, range(&values), "{figure} {on:?}");
            assert!(band[0] < band[1] && (band[0]..=band[1]).contains(&values[0]), "{figure}: {band:?}");
        }
        assert_eq!(banded["draws"], 3);
        assert!(runs[0].get("draws").is_none() && runs[0]["all"].get("band").is_none(), "--no-band");
        assert!(banded["write"].get("band").is_none(), "nothing is written");
    }
}

#[test]
fn the_text_has_the_ends_of_the_band_and_names_what_no_data_saw() {
    let folder = folder_with_fit(&DRAWS);
    let text = |more: &[&str]| {
        let load = ["run", "random-read", "--runtime", "2 s", "--on", "fitted.toml"];
        run_program(folder.path(), &[&load[..], more].concat()).success_stdout()
    };
    let depth = ["--set", "job.depth=4"];
    let said = text(&depth);
    let has_row = |name: &str| said.lines().any(|line| line.trim_start().starts_with(name));
    assert!(has_row("least") && has_row("most"), "{said}");
    assert!(said.contains("Least and most: over this drive and 3 others"), "{said}");
    assert!(said.contains("Not seen by the fit: depth 4, between the seen 1 and 16."), "{said}");
    let without = text(&[&depth[..], &["--no-band"]].concat());
    assert!(!without.contains("least") && without.contains("Not seen by the fit: depth 4"), "{without}");
    let seen = text(&["--no-band", "--set", "job.depth=16"]);
    assert!(!seen.contains("Not seen"), "{seen}");
}

/// Its band is that of chance: of a run with the next seed.
#[test]
fn a_draw_equal_to_the_profile_adds_nothing_but_chance() {
    let folder = folder_with_fit(&[&["mechanics.seek.average_ms=8.5"]]);
    let run = run_json(folder.path(), &[]);
    let other = run_json(folder.path(), &["--no-band", "--seed", "2"]);
    let both = [&run, &other].map(|run| run["all"]["iops"].as_f64().unwrap());
    assert_eq!(pair(&run["all"]["band"]["iops"]), range(&both));
    let compared = compare_json(folder.path(), &["--vary", "job.depth=1,4"]);
    let ratio = &compared["ratio"]["estimate"];
    assert_eq!((&compared["band"]["low"], &compared["band"]["high"]), (ratio, ratio));
}

#[test]
fn what_the_user_sets_no_draw_changes() {
    let folder = folder_with_fit(&[&["mechanics.seek.average_ms=9.5"]]);
    let most = |more: &[&str]| pair(&run_json(folder.path(), more)["all"]["band"]["iops"]);
    let set = ["--set", "drive.mechanics.seek.average_ms=8.7"];
    let of_seed = |seed: &str| {
        let more = [&set[..], &["--no-band", "--seed", seed]].concat();
        run_json(folder.path(), &more)["all"]["iops"].as_f64().unwrap()
    };
    assert_eq!(most(&set), range(&[of_seed("1"), of_seed("2")]));
    let other = most(&["--set", "drive.overhead.read_miss_ms=0.4"]);
    assert!(other[1] - other[0] > 2.0, "other keys are drawn: {other:?}");
}

#[test]
fn a_wrong_fit_is_an_error_with_its_line() {
    let folder = folder_with_fit(&[&["mechanics.seek.avrage_ms=9.5"]]);
    let said = run_program(folder.path(), &["run", "random-read", "--on", "fitted.toml"]);
    let line = 1 + PROFILE.lines().count() + 7;
    let expected = format!(
        "fitted.toml:{line}: `fit.draws.mechanics.seek.avrage_ms`: unknown key; did you mean `mechanics.seek.average_ms`?"
    );
    assert!(said.code == 2 && said.err.contains(&expected), "{}", said.err);
}

#[test]
fn a_comparison_has_the_same_draw_on_both_sides() {
    let folder = folder_with_fit(&DRAWS);
    let vary = ["--vary", "job.depth=1,4"];
    let compared = compare_json(folder.path(), &vary);
    let mut ratios = Vec::new();
    for draw in [&[][..]].into_iter().chain(DRAWS) {
        let set = set_arguments(draw);
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        let alone = compare_json(folder.path(), &[&vary[..], &["--no-band"], &set].concat());
        assert!(alone.get("band").is_none());
        ratios.push(alone["ratio"]["estimate"].as_f64().unwrap());
    }
    let band = &compared["band"];
    assert_eq!([&band["low"], &band["high"]].map(|end| end.as_f64().unwrap()), range(&ratios));
    assert_eq!(
        (&band["draws"], &band["same_drive"], &band["contains_no_difference"]),
        (&3.into(), &true.into(), &false.into())
    );
    let unseen = compared["sides"].as_array().unwrap().iter().map(|side| side.get("unseen").cloned());
    assert_eq!(unseen.collect::<Vec<_>>(), [None, Some(serde_json::json!(["depth 4, between the seen 1 and 16"]))]);
}

#[test]
fn a_band_across_no_difference_says_so() {
    // The other drive is the profile without its fit: one draw is slower, one is faster.
    let folder = folder_with_fit(&[&["mechanics.seek.average_ms=9.5"], &["mechanics.seek.average_ms=7.5"]]);
    let args = ["compare", "random-read", "--on", "fitted.toml", "--runtime", "2 s", "--runs", "2"];
    let vary = "drive=fitted.toml,barracuda-7200.7-ncq";
    let text = run_program(folder.path(), &[&args[..], &["--vary", vary]].concat()).success_stdout();
    assert!(text.contains("over 2 draws of the fit, each side by itself; beyond ±2 % on some of them"), "{text}");
    let json = run_program(folder.path(), &[&args[..], &["--vary", vary, "--json"]].concat()).json();
    let band = &json["band"];
    assert_eq!((&band["same_drive"], &band["contains_no_difference"]), (&false.into(), &true.into()), "{band}");
}

#[test]
fn results_keep_the_band_and_the_page_names_it() {
    let folder = folder_with_fit(&DRAWS);
    let run = run_json(folder.path(), &["--out", "kept"]);
    let kept = fs::read_to_string(folder.path().join("kept/results.jsonl")).unwrap();
    let kept: Value = serde_json::from_str(kept.lines().next().unwrap()).unwrap();
    assert_eq!((&kept["all"]["band"], &kept["unseen"]), (&run["all"]["band"], &run["unseen"]));
    let page = fs::read_to_string(folder.path().join("kept/report.html")).unwrap();
    assert!(
        page.contains("over 3 draws of the drive") && page.contains("Not seen by the fit: depth 4"),
        "{}",
        page.len()
    );
}

#[test]
fn the_drive_s_own_page_counts_loads_and_draws() {
    let folder = folder_with_fit(&DRAWS);
    let said = run_program(folder.path(), &["drives", "fitted.toml"]).success_stdout();
    assert!(said.contains("[fit] 2 loads seen, 3 draws"), "{said}");
}

#[test]
fn a_dry_run_counts_the_runs_on_the_draws() {
    let folder = folder_with_fit(&DRAWS);
    let args = ["compare", "random-read", "--on", "fitted.toml", "--runtime", "1 s", "--runs", "2"];
    let vary = ["--vary", "job.depth=1,4", "--dry-run"];
    let said = run_program(folder.path(), &[&args[..], &vary].concat()).success_stdout();
    assert!(said.contains("They run again on 3 draws of the fit, 16 runs in all"), "{said}");
    let said = run_program(folder.path(), &[&args[..], &vary, &["--no-band"]].concat()).success_stdout();
    assert!(!said.contains("draws"), "{said}");
}
