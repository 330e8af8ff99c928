//! Tries a fault by the tests that reach it, the quickest first, until one notices it.

use std::io;
use std::time::Duration;

use super::build::Program;
use super::child::{Sandbox, TestsEnd};
use super::plant::Fault;
use super::reach::Test;

/// The most seconds of a group: tests of one program that run in one process. The first groups of a program are
/// shorter, as most faults are noticed soon.
const MAX_GROUP_SECONDS: f64 = 2.0;
const MAX_FIRST_GROUP_SECONDS: f64 = 0.3;

/// The most tests of a group.
const MAX_GROUP_TESTS: usize = 60;

/// The verdict of tests on a fault.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// A test notices it: which, and how.
    Noticed(String),
    /// No test that reaches it notices it.
    Survived,
    /// No test reaches it.
    Unreached,
    /// The tests did not run, for want of time.
    Untried,
}

impl Verdict {
    /// Whether a test notices.
    pub fn is_noticed(&self) -> bool {
        matches!(self, Verdict::Noticed(_))
    }

    /// The verdict in words.
    pub fn text(&self) -> String {
        match self {
            Verdict::Noticed(by) => format!("noticed by {by}"),
            Verdict::Survived => "survived".to_owned(),
            Verdict::Unreached => "not reached".to_owned(),
            Verdict::Untried => "not tried".to_owned(),
        }
    }

    /// The verdict whose text this is.
    pub fn from_text(text: &str) -> Verdict {
        match text {
            "survived" => Verdict::Survived,
            "not reached" => Verdict::Unreached,
            _ => match text.strip_prefix("noticed by ") {
                Some(by) => Verdict::Noticed(by.to_owned()),
                None => Verdict::Untried,
            },
        }
    }
}

/// The tests that reach a fault, in groups that share a process: those of the fault's own crate, or those of all
/// others.
pub fn group_tests<'a>(
    fault: &Fault,
    programs: &[Program],
    tests: &'a [Test],
    of_own_crate: bool,
) -> Vec<Vec<&'a Test>> {
    let is_wanted = |test: &&Test| {
        let is_own = programs[test.program_index].crate_folder == fault.crate_folder();
        test.exclusion.is_none() && is_own == of_own_crate && test.reached.binary_search(&fault.id).is_ok()
    };
    let mut sorted: Vec<&Test> = tests.iter().filter(is_wanted).collect();
    sorted.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let mut groups = Vec::<Vec<&Test>>::new();
    for test in sorted {
        let is_of_program = |group: &&mut Vec<&Test>| group[0].program_index == test.program_index;
        let max_seconds = if groups.iter_mut().filter(is_of_program).count() < 2 {
            MAX_FIRST_GROUP_SECONDS
        } else {
            MAX_GROUP_SECONDS
        };
        match groups.iter_mut().rfind(is_of_program) {
            Some(group) if group.len() < MAX_GROUP_TESTS && total_seconds(group) + test.seconds <= max_seconds => {
                group.push(test)
            }
            _ => groups.push(vec![test]),
        }
    }
    groups.sort_by(|a, b| total_seconds(a).total_cmp(&total_seconds(b)));
    groups
}

fn total_seconds(tests: &[&Test]) -> f64 {
    tests.iter().map(|test| test.seconds).sum()
}

/// Runs groups with a fault switched on, until a test notices it.
pub fn try_fault(sandbox: &Sandbox, fault: &Fault, programs: &[Program], groups: &[Vec<&Test>]) -> io::Result<Verdict> {
    if groups.is_empty() {
        return Ok(Verdict::Unreached);
    }
    let id = fault.id.to_string();
    for group in groups {
        let program = &programs[group[0].program_index];
        let names: Vec<&str> = group.iter().map(|test| test.name.as_str()).collect();
        let limit = Duration::from_secs_f64(10.0 + 5.0 * total_seconds(group));
        let noticed_by =
            |test: &str, how: &str| Verdict::Noticed(format!("{} {}: {test}{how}", program.crate_folder, program.name));
        let (end, _) = sandbox.run(program, &names, ("SEEKWISE_FAULT", &id), limit)?;
        let failed = match end {
            TestsEnd::Passed => continue,
            TestsEnd::Failed(failed) => failed,
            TestsEnd::Died(test) | TestsEnd::Stopped(test) => vec![test],
        };
        // A test that fails only beside others, or by chance, has not noticed the fault.
        for test in failed {
            let alone: &[&str] = if test.is_empty() { &names } else { &[&test] };
            match sandbox.run(program, alone, ("SEEKWISE_FAULT", &id), limit)?.0 {
                TestsEnd::Passed => {}
                TestsEnd::Failed(_) => return Ok(noticed_by(&test, "")),
                TestsEnd::Died(_) => return Ok(noticed_by(&test, " (its program dies)")),
                TestsEnd::Stopped(_) => return Ok(noticed_by(&test, " (stopped at its limit)")),
            }
        }
    }
    Ok(Verdict::Survived)
}

#[cfg(test)]
mod tests;
