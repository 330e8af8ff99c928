//! Credits of real cells: what differs is credited, what else differs is refused by name.

use seekwise_formats::study::{self, Study};

use super::*;
use crate::inputs::Inputs;
use crate::plan;
use crate::provenance::RunSample;

/// A study of two levels, `a` and `b`, of one factor.
fn bundles(a: &str, b: &str) -> String {
    format!(
        "title = 't'\nquestion = 'q'\nruns = 2\njob = 'random-read'\n[stack]\ndrive = 'barracuda-7200.7-ncq'\n[[factor]]\nname = 'setup'\n\
         [[factor.bundle]]\nname = 'a'\nset = {{ {a} }}\n[[factor.bundle]]\nname = 'b'\nset = {{ {b} }}\n\
         [[compare]]\nname = 'c'\nfactor = 'setup'\nfrom = 'a'\nto = 'b'\n"
    )
}

/// A study of one key with two levels.
fn key(key: &str, levels: &str) -> String {
    let from = levels.split(',').next().unwrap();
    let to = levels.split(',').nth(1).unwrap();
    format!(
        "title = 't'\nquestion = 'q'\nruns = 2\njob = 'random-read'\n[stack]\ndrive = 'barracuda-7200.7-ncq'\n[[factor]]\nname = 'it'\n\
         key = '{key}'\nlevels = [{levels}]\n[[compare]]\nname = 'c'\nfactor = 'it'\nfrom = {from}\nto = {to}\n"
    )
}

/// Judges the study's comparison with this credit. Returns the credit, what changes at once, the refusal, the concerns that differ.
fn said(text: &str, credit_of: Option<&[Concern]>) -> (String, Vec<&'static str>, Option<String>, Vec<Concern>) {
    let mut study: Study = study::parse("s.toml", text).unwrap_or_else(|faults| panic!("{text}: {faults:?}"));
    study.compare[0].credit = credit_of.map(<[Concern]>::to_vec);
    let (cells, inputs) =
        (plan::study_cells(&study), Inputs::from_today(&|_| Err(std::io::ErrorKind::NotFound.into())));
    let prepared: Vec<_> = cells.iter().map(|cell| plan::prepare_cell("s.toml", cell, &inputs).unwrap()).collect();
    let made =
        StudyProvenance::new(String::new(), &cells, &prepared, inputs.texts_read(), RunSample::new(&study, None));
    let sides = [0, 1].map(|cell| ComparisonSide::from_cell(&made, cell));
    let (compare, factor) = (&study.compare[0], &study.factor[0]);
    let concerns = differing_concerns(&made, 0, 1);
    (
        credit_text(compare, factor, &sides),
        joint_concerns(compare, factor, &sides),
        refusal_reason(compare, factor, &sides),
        concerns,
    )
}

fn refused(text: &str, credit: Option<&[Concern]>) -> Option<String> {
    said(text, credit).2
}

#[test]
fn a_key_is_credited_with_what_it_changes() {
    let text = key("drive.firmware.depth", "1, 32");
    assert_eq!(said(&text, None), ("it".to_owned(), vec![], None, vec![Queue]));
    assert_eq!(said(&text, Some(&[Queue])), ("the command queue".to_owned(), vec![], None, vec![Queue]));
    assert_eq!(
        refused(&text, Some(&[WriteCache])).unwrap(),
        "it credits the write cache, but the sides differ in the command queue (drive.firmware.depth) too"
    );
    assert_eq!(
        refused(&text, Some(&[Queue, WriteCache])).unwrap(),
        "it credits a bundle: the command queue, the write cache, but the sides do not differ in the write cache"
    );
}

#[test]
fn a_bundle_says_what_changes_at_once_and_refuses_a_credit_for_half_of_it() {
    let both = bundles(
        "'drive.firmware.depth' = 1, 'drive.cache.write_back' = false",
        "'drive.firmware.depth' = 32, 'drive.cache.write_back' = true",
    );
    let (credited, at_once, why, concerns) = said(&both, None);
    assert_eq!(credited, "a bundle: the command queue, the write cache");
    assert_eq!((at_once, why, concerns), (vec!["the command queue", "the write cache"], None, vec![Queue, WriteCache]));
    let (_, at_once, why, _) = said(&both, Some(&[Queue]));
    assert_eq!(at_once, [""; 0], "one concern is not several");
    assert_eq!(
        why.unwrap(),
        "it credits the command queue, but the sides differ in the write cache (drive.cache.write_back) too"
    );
    assert_eq!(refused(&both, Some(&[Queue, WriteCache])), None);
    // Set in a bundle, and the same on both sides: no difference to credit.
    let one = bundles(
        "'drive.firmware.depth' = 1, 'drive.cache.write_back' = true",
        "'drive.firmware.depth' = 32, 'drive.cache.write_back' = true",
    );
    assert_eq!(said(&one, None), ("the command queue".to_owned(), vec![], None, vec![Queue]));
    assert!(refused(&one, Some(&[Queue, WriteCache])).unwrap().ends_with("the sides do not differ in the write cache"));
}

#[test]
fn another_drive_brings_what_is_its_own_and_not_its_queue() {
    let drives = key("drive", "'barracuda-7200.7', 'atlas-10k-v-300'");
    assert_eq!(refused(&drives, None), None);
    let concerns = said(&drives, None).3;
    let why = refused(&drives, Some(&[Drive])).unwrap();
    for concern in [Mechanics, Media, Firmware, Segments] {
        assert!(!why.contains(concern.title()), "{why}: it comes with a drive");
    }
    for concern in [Queue, Interface, WriteCache].into_iter().filter(|concern| concerns.contains(concern)) {
        assert!(why.contains(concern.title()), "{why}");
    }
    assert!(concerns.contains(&Mechanics) && concerns.contains(&Interface), "{concerns:?}");
    let beside: Vec<Concern> =
        concerns.iter().copied().filter(|concern| !COMES_WITH_DRIVE.contains(concern)).chain([Drive]).collect();
    assert_eq!(refused(&drives, Some(&beside)), None, "with all that is named separately");
    // The same drive with another speed is not another drive.
    let rpm = key("drive.mechanics.rpm", "5400, 7200");
    assert!(refused(&rpm, Some(&[Drive])).is_some());
    assert_eq!(refused(&rpm, Some(&[Mechanics])), None);
}

#[test]
fn other_work_is_not_compared_unless_it_is_credited_whole() {
    let depth = key("job.depth", "1, 8");
    assert_eq!(refused(&depth, None), None);
    let jobs = key("job", "'random-read', 'random-write'");
    let (_, _, why, concerns) = said(&jobs, None);
    let why = why.unwrap();
    assert!(
        why.starts_with("the sides do different work: they differ in the pattern")
            && why.contains("; a study that compares work says so: credit = ["),
        "{why}"
    );
    assert!(concerns.contains(&Pattern), "{concerns:?}");
    assert_eq!(refused(&jobs, Some(&concerns)), None);
    let half = bundles("'drive.firmware.depth' = 1, 'job.depth' = 1", "'drive.firmware.depth' = 32, 'job.depth' = 8");
    assert_eq!(
        refused(&half, Some(&[Queue])).unwrap(),
        "the sides do different work: they differ in the depth (job.depth), and it credits the command queue"
    );
}
