//! `seekwise serve --strict`: verdict and exit code of sessions without a request, with a few requests, and at a speed that the machine
//! cannot keep up with. Two sessions of each kind by default; `cargo test -p seekwise-cli --test program strict:: -- --ignored
//! --nocapture` runs a hundred of each and prints the table.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::seekwise::run_program;

/// A kind of session: its name, options of `serve`, requests of its client, and the outcome and exit code that are expected.
type Kind = (&'static str, &'static [&'static str], u64, (&'static str, i32));

const KINDS: [Kind; 3] = [
    ("empty", &[], 0, ("too-few-requests", 0)),
    ("quick", &[], 20, ("too-few-requests", 0)),
    // At this speed a request of 12 ms takes 60 us of real time, no more than its round trip. A verdict needs thirty round trips, one
    // each 25 ms; this number of requests takes at least a second and a half.
    ("late", &["--speed", "200"], 16_000, ("fell-behind", 1)),
];

/// How often each outcome came with each exit code.
type Outcomes = BTreeMap<(String, i32), u64>;

/// Serves one session with a client that reads `requests` times; returns the verdict on the pace, and the exit code.
fn run_session(at: &Path, options: &[&str], requests: u64) -> (String, i32) {
    let client = match requests {
        0 => "true".to_owned(),
        _ => {
            let job = format!("[j]\nioengine=libaio\ndirect=1\nrw=randread\nbs=4k\nsize=1g\nnumber_ios={requests}\n");
            fs::write(at.join("j.fio"), job).unwrap();
            format!("{} run j.fio --on $SEEKWISE_URI > client.txt", env!("CARGO_BIN_EXE_seekwise"))
        }
    };
    let serve = ["serve", "barracuda-7200.7-ncq", "--nbd", "unix:d", "--strict", "--json"];
    let said = run_program(at, &[&serve[..], options, &["--run", "--", "sh", "-c", &client]].concat());
    let receipt: serde_json::Value =
        serde_json::from_str(&said.out).unwrap_or_else(|why| panic!("{why}: {}", said.err));
    assert_eq!(receipt["reads"], requests, "{}", said.err);
    (receipt["pace"].as_str().unwrap().to_owned(), said.code)
}

fn count_outcomes(at: &Path, (_, options, requests, _): &Kind, sessions: u64) -> Outcomes {
    let mut outcomes = Outcomes::new();
    (0..sessions).for_each(|_| *outcomes.entry(run_session(at, options, *requests)).or_default() += 1);
    outcomes
}

/// Runs sessions of each kind, prints a table of the outcomes, and asserts that each is the expected one.
fn check_sessions(sessions: u64) {
    let folder = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    println!("| sessions | requests | outcome | exit code | number |\n|---|---|---|---|---|");
    for kind in &KINDS {
        let (name, _, requests, (pace, code)) = kind;
        for ((outcome, exit), number) in count_outcomes(folder.path(), kind, sessions) {
            println!("| {name} | {requests} | {outcome} | {exit} | {number} |");
            if (outcome.as_str(), exit) != (*pace, *code) {
                wrong.push(format!("{number} {name}: {outcome}, {exit}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn empty_quick_and_late_sessions_have_one_outcome_each() {
    check_sessions(2);
}

#[test]
#[ignore = "minutes; prints the table of a hundred sessions of each kind"]
fn a_hundred_sessions_of_each_kind() {
    check_sessions(100);
}

/// On a busy machine it may fall behind, which is true then; what it must not do is disagree with its exit code.
#[test]
#[ignore = "half a minute; needs an idle machine to come out as kept up"]
fn a_session_of_some_hundred_requests_can_keep_up() {
    let folder = tempfile::tempdir().unwrap();
    let (pace, code) = run_session(folder.path(), &[], 800);
    println!("800 requests: {pace}, exit code {code}");
    assert_eq!(code, i32::from(pace == "fell-behind"));
}
