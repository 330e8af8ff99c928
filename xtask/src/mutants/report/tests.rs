//! Tables and lists of invented outcomes.

use super::super::sites::Site;
use super::*;

fn outcome(id: u32, own_verdict: Verdict, others_verdict: Verdict) -> FaultOutcome {
    let site = Site {
        file: "crates/run/src/a.rs".to_owned(),
        line: 3,
        function: "held 40".to_owned(),
        kind: FaultKind::Comparison,
        span: 0..5,
        changes: Vec::new(),
    };
    let fault = Fault { id, site, before: "a <  b".to_owned(), after: "a <= b".to_owned() };
    FaultOutcome { fault, line: "  if a <  b {".to_owned(), is_built: true, own_verdict, others_verdict, equal: None }
}

fn noticed() -> Verdict {
    Verdict::Noticed("crates/run run: a_law".to_owned())
}

/// One of each fate: 7 planted, 6 built, one of them equal, one untried, so 4 tried; 1 noticed by its own, 2 by all.
fn outcomes() -> Vec<FaultOutcome> {
    let mut all = vec![
        outcome(1, noticed(), Verdict::Untried),
        outcome(2, Verdict::Survived, noticed()),
        outcome(3, Verdict::Survived, Verdict::Survived),
        outcome(4, Verdict::Unreached, Verdict::Unreached),
        outcome(5, Verdict::Survived, Verdict::Untried),
        outcome(6, Verdict::Survived, Verdict::Survived),
        outcome(7, Verdict::Untried, Verdict::Untried),
    ];
    all[5].equal = Some("Equal ones never meet.".to_owned());
    all[6].is_built = false;
    all
}

#[test]
fn a_table_counts_each_fate() {
    let text = summary_tables(&outcomes());
    assert!(text.contains("| crates/run | 7 | 6 | 1 | 1 | 1 | 25 % | 2 | 50 % |\n"), "{text}");
    assert!(text.contains("| 1 comparison | 7 |"), "{text}");
}

#[test]
fn survivors_are_what_nobody_notices_though_all_were_asked() {
    let text = list_survivors(&outcomes());
    let expected = "- 3 crates/run/src/a.rs:3 in `held`, comparison: a < b -> a <= b; tests of its crate and of others reach \
                    it. The line: `if a <  b {`\n";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.contains("- 4 ") && text.contains("no test that passes reaches it"), "{text}");
    assert_eq!(text.lines().count(), 2, "{text}");
}

#[test]
fn a_sum_and_a_file_below_the_aim_are_told() {
    let all = |noticed_ones: usize, count: usize| -> Vec<FaultOutcome> {
        let one = |at: usize| {
            outcome(at as u32, if at < noticed_ones { noticed() } else { Verdict::Survived }, Verdict::Survived)
        };
        (0..count).map(one).collect()
    };
    assert!(shortfalls(&all(95, 100)).is_empty() && shortfalls(&[]).is_empty());
    assert_eq!(shortfalls(&all(94, 100)), ["94 of 100 noticed; expected 95 %"]);
    assert_eq!(shortfalls(&all(4, 5)).len(), 2, "the sum and the file");
    assert_eq!(shortfalls(&all(3, 4)).len(), 1, "too few for a file");
}

#[test]
fn a_report_has_all_lists_and_is_read_back() {
    let tests = [Test {
        program_index: 0,
        name: "odd".to_owned(),
        seconds: 1.0,
        reached: vec![],
        exclusion: Some("dies".to_owned()),
    }];
    let text = render_report("Head.", &outcomes(), &tests);
    for heading in ["Survivors", "Noticed only", "Change nothing", "Not tried", "Do not build", "Tests left out"] {
        assert!(text.contains(&format!("## {heading}")), "{heading}: {text}");
    }
    let faults: Vec<Fault> = outcomes().into_iter().map(|outcome| outcome.fault).collect();
    let lines = vec!["  if a <  b {".to_owned(); faults.len()];
    let again = initial_outcomes(&faults, &BTreeSet::from([7]), &lines, &[], &outcomes_json(&outcomes()));
    let verdicts = |outcomes: &[FaultOutcome]| -> Vec<_> {
        outcomes
            .iter()
            .map(|outcome| (outcome.own_verdict.clone(), outcome.others_verdict.clone(), outcome.is_built))
            .collect()
    };
    assert_eq!(verdicts(&again), verdicts(&outcomes()));
    let elsewhere = vec!["another line".to_owned(); faults.len()];
    let again = initial_outcomes(&faults, &BTreeSet::new(), &elsewhere, &[], &outcomes_json(&outcomes()));
    assert!(again.iter().all(|outcome| outcome.own_verdict == Verdict::Untried), "the line has changed");
}
