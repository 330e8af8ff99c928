//! Which tests are asked, and in which order.

use super::super::sites::{FaultKind, Site};
use super::*;

fn fault(id: u32) -> Fault {
    let site = Site {
        file: "crates/run/src/a.rs".to_owned(),
        line: 1,
        function: "f 0".to_owned(),
        kind: FaultKind::Return,
        span: 0..0,
        changes: Vec::new(),
    };
    Fault { id, site, before: String::new(), after: "return;".to_owned() }
}

fn program(crate_folder: &str) -> Program {
    Program {
        crate_folder: crate_folder.to_owned(),
        name: "whole".to_owned(),
        folder: "/".into(),
        path: "/none".into(),
        hash: String::new(),
    }
}

fn test(program_index: usize, name: &str, seconds: f64, reached: &[u32]) -> Test {
    Test { program_index, name: name.to_owned(), seconds, reached: reached.to_vec(), exclusion: None }
}

fn names(groups: Vec<Vec<&Test>>) -> Vec<Vec<&str>> {
    groups.into_iter().map(|group| group.into_iter().map(|test| test.name.as_str()).collect()).collect()
}

#[test]
fn only_tests_that_reach_a_fault_are_asked_and_its_own_crates_apart() {
    let programs = [program("crates/run"), program("crates/lab")];
    let mut excluded = test(0, "fails", 0.01, &[1]);
    excluded.exclusion = Some("fails with no fault on".to_owned());
    let tests =
        [test(0, "near", 0.01, &[1, 2]), test(0, "elsewhere", 0.01, &[2]), test(1, "far", 0.01, &[1]), excluded];
    assert_eq!(names(group_tests(&fault(1), &programs, &tests, true)), [["near"]]);
    assert_eq!(names(group_tests(&fault(1), &programs, &tests, false)), [["far"]]);
    assert!(group_tests(&fault(3), &programs, &tests, true).is_empty());
}

#[test]
fn the_quickest_come_first_and_share_a_process_while_that_is_short() {
    let programs = [program("crates/run"), program("crates/run")];
    let tests = [
        test(0, "slow", 9.0, &[1]),
        test(0, "b", 0.1, &[1]),
        test(0, "a", 0.05, &[1]),
        test(0, "c", 0.5, &[1]),
        test(0, "d", 0.6, &[1]),
        test(1, "other", 0.07, &[1]),
    ];
    let expected: [&[&str]; 4] = [&["other"], &["a", "b"], &["c", "d"], &["slow"]];
    assert_eq!(names(group_tests(&fault(1), &programs, &tests, true)), expected);
}

#[test]
fn a_verdict_is_read_as_it_was_written() {
    for verdict in [Verdict::Noticed("a: b".to_owned()), Verdict::Survived, Verdict::Unreached, Verdict::Untried] {
        assert_eq!(Verdict::from_text(&verdict.text()), verdict);
    }
}
