//! The whole way on a crate of a few lines: a fault that must be noticed, one that must survive, one that nothing
//! reaches.

use super::*;
use crate::mutants::child::Sandbox;
use crate::mutants::sites::FaultKind;

const FILE: &str = "toy/src/lib.rs";

const TOY: &str = "pub fn sum(a: u64, b: u64) -> u64 { a + b }
pub fn larger(a: u64, b: u64) -> u64 { if a > b { a } else { b } }
pub fn unseen(a: u64) -> bool { a == 7 }
#[cfg(test)]
mod tests {
    #[test]
    fn a_sum_is_right() { assert_eq!(super::sum(2, 3), 5) }
    #[test]
    fn the_larger_is_taken() { assert_eq!(super::larger(2, 3) + super::larger(3, 2), 6) }
}
";

/// The faults of the toy that are looked at: one of each fate.
fn faults(texts: &BTreeMap<String, String>) -> Vec<Fault> {
    let mut sites = tree::find_all_sites(texts).unwrap();
    sites.retain(|site| [FaultKind::Comparison, FaultKind::Arithmetic].contains(&site.kind));
    sites.iter_mut().for_each(|site| site.changes.truncate(1));
    plant::choose_faults(sites, texts, 1, 10)
}

/// Builds the toy's tests with its faults.
fn program(folder: &std::path::Path, faults: &[Fault]) -> Program {
    let (text, _) = plant::plant_faults(TOY, &faults.iter().collect::<Vec<_>>(), &BTreeSet::new());
    let (source, path) = (folder.join("toy.rs"), folder.join("toy"));
    fs::write(&source, text + &tree::switch_module(faults.len())).unwrap();
    let status = std::process::Command::new("rustc")
        .args(["--test", "--edition", "2024", "-o"])
        .args([&path, &source])
        .stderr(std::process::Stdio::null())
        .status();
    assert!(status.unwrap().success());
    Program {
        crate_folder: "toy".to_owned(),
        name: "toy".to_owned(),
        folder: folder.to_owned(),
        path,
        hash: String::new(),
    }
}

#[test]
fn a_toy_has_a_fault_that_is_noticed_one_that_survives_and_one_that_nothing_reaches() {
    let folder = crate::empty_folder("mutants-toy").unwrap();
    let faults = faults(&BTreeMap::from([(FILE.to_owned(), TOY.to_owned())]));
    let changes: Vec<&str> = faults.iter().map(|fault| fault.after.as_str()).collect();
    assert_eq!(changes, ["a - b", "a >= b", "a != 7"]);
    let programs = [program(&folder, &faults)];
    let sandbox = Sandbox::in_folder(folder.join("place"), false).unwrap();
    let measure = |name: &str| reach::parse_test(0, &reach::measure_test(&sandbox, &programs[0], name).unwrap());
    let tests = [measure("tests::a_sum_is_right"), measure("tests::the_larger_is_taken")];
    assert_eq!((&tests[0].reached, &tests[1].reached), (&vec![1], &vec![2]));
    let verdict = |fault: &Fault| {
        let groups = trial::group_tests(fault, &programs, &tests, true);
        trial::try_fault(&sandbox, fault, &programs, &groups).unwrap()
    };
    let verdicts: Vec<String> = faults.iter().map(|fault| verdict(fault).text()).collect();
    assert_eq!(verdicts, ["noticed by toy toy: tests::a_sum_is_right", "survived", "not reached"]);
}
