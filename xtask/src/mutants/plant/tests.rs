//! The same seed, the same faults; the same text but for them.

use super::super::sites::find_sites;
use super::*;

const FILE: &str = "crates/run/src/a.rs";

/// A fault of each form, some inside others.
const TEXT: &str = "fn f(a: u8, b: u8) -> bool {\n    if a < b {\n        g(a + 1);\n    }\n    a == b && b != 2\n}\n\
                    fn g(mut a: u8) {\n    a += 1;\n    while a < 9 { a += h(a, 3) }\n}\n";

fn faults(seed: u64, count: usize) -> Vec<Fault> {
    let found = find_sites(FILE, TEXT, &mut Vec::new()).unwrap();
    choose_faults(found, &BTreeMap::from([(FILE.to_owned(), TEXT.to_owned())]), seed, count)
}

/// The new text with these faults.
fn planted(faults: &[Fault], dropped: &[u32]) -> (String, FaultPlaces) {
    plant_faults(TEXT, &faults.iter().collect::<Vec<_>>(), &dropped.iter().copied().collect())
}

#[test]
fn a_seed_always_chooses_the_same_faults_and_another_seed_others() {
    assert_eq!(faults(7, 5), faults(7, 5));
    assert!((8..40).any(|seed| faults(seed, 5) != faults(7, 5)));
    assert_eq!(faults(7, 5).iter().map(|fault| fault.id).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
}

#[test]
fn no_two_faults_overlap_and_a_function_has_few() {
    for seed in 0..200 {
        let faults = faults(seed, 100);
        for pair in faults.windows(2) {
            assert!(pair[0].site.span.end <= pair[1].site.span.start, "seed {seed}: {pair:?}");
        }
        for function in ["f", "g"] {
            let its = faults.iter().filter(|fault| fault.site.function.starts_with(function));
            assert!((1..=MAX_FAULTS_IN_FUNCTION).contains(&its.count()), "seed {seed}");
        }
    }
}

#[test]
fn the_text_is_equal_but_for_the_planted_spans_and_still_a_program() {
    for seed in 0..200 {
        let faults = faults(seed, 100);
        let (text, places) = planted(&faults, &[]);
        syn::parse_file(&text).unwrap_or_else(|why| panic!("seed {seed}: {why}\n{text}"));
        assert_eq!(text.lines().count(), TEXT.lines().count());
        let mut back = text.clone();
        for ((id, place), fault) in places.iter().zip(&faults).rev() {
            assert_eq!(*id, fault.id);
            assert!(text[place.clone()].contains(&format!("on({id})")));
            back.replace_range(place.clone(), &fault.before);
        }
        assert_eq!(back, TEXT);
    }
}

#[test]
fn each_form_is_as_before_while_it_is_off() {
    let switched = |kind: FaultKind, before: &str, after: &str| {
        let site =
            Site { file: FILE.to_owned(), line: 1, function: "f 0".to_owned(), kind, span: 0..0, changes: Vec::new() };
        Fault { id: 7, site, before: before.to_owned(), after: after.to_owned() }.text_with_switch()
    };
    let either = "(if crate::planted::on(7) { a <= b } else { a < b })";
    assert_eq!(switched(FaultKind::Comparison, "a < b", "a <= b"), either);
    assert_eq!(switched(FaultKind::Condition, "a", "!(a)"), "((a) != crate::planted::on(7))");
    assert_eq!(switched(FaultKind::Statement, "g();", ""), "if !crate::planted::on(7) { g(); }");
    assert_eq!(switched(FaultKind::Return, "", "return;"), " if crate::planted::on(7) { return; } ");
}

#[test]
fn a_dropped_fault_leaves_the_text_as_it_was() {
    let faults = faults(3, 100);
    let all: Vec<u32> = faults.iter().map(|fault| fault.id).collect();
    assert_eq!(planted(&faults, &all), (TEXT.to_owned(), Vec::new()));
    let (text, places) = planted(&faults, &all[1..]);
    assert!(places.len() == 1 && text.matches("planted::on(").count() == 1);
}

#[test]
fn an_error_blames_the_faults_it_meets_else_the_nearest() {
    let places = [(1, 10..20), (2, 30..40), (3, 42..50)];
    assert_eq!(faults_near(&places, &(12..13)), [1]);
    assert_eq!(faults_near(&places, &(5..60)), [1, 2, 3]);
    assert_eq!(faults_near(&places, &(22..24)), [1]);
    assert_eq!(faults_near(&places, &(27..28)), [2]);
    assert!(faults_near(&[], &(1..2)).is_empty());
}
