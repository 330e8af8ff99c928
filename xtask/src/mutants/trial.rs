//! A fault on trial: the tests that reach it, the quickest first, those of its own crate before the others, until one notices.

use std::io;
use std::time::Duration;

use super::build::Program;
use super::child::{End, Place};
use super::plant::Fault;
use super::reach::Test;

/// Tests of one program that together take no longer run in one process; at first fewer, as most faults are noticed soon.
const TOGETHER: f64 = 2.0;
const AT_FIRST: f64 = 0.3;

/// The most tests in one process.
const MANY: usize = 60;

/// What tests said of a fault.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// This test notices: how.
    Noticed(String),
    /// None that reaches it does.
    Survived,
    /// No test reaches it.
    Unreached,
    /// There was no time.
    Untried,
}

impl Verdict {
    /// Whether a test notices.
    pub fn is_noticed(&self) -> bool {
        matches!(self, Verdict::Noticed(_))
    }

    /// In a word or two.
    pub fn word(&self) -> String {
        match self {
            Verdict::Noticed(by) => format!("noticed by {by}"),
            Verdict::Survived => "survived".to_owned(),
            Verdict::Unreached => "not reached".to_owned(),
            Verdict::Untried => "not tried".to_owned(),
        }
    }

    /// The verdict that `word` has written.
    pub fn read(word: &str) -> Verdict {
        match word {
            "survived" => Verdict::Survived,
            "not reached" => Verdict::Unreached,
            _ => match word.strip_prefix("noticed by ") {
                Some(by) => Verdict::Noticed(by.to_owned()),
                None => Verdict::Untried,
            },
        }
    }
}

/// The tests of one side, by groups that share a process: those of the fault's own crate, or those of all others.
pub fn groups<'a>(fault: &Fault, programs: &[Program], tests: &'a [Test], own: bool) -> Vec<Vec<&'a Test>> {
    let reaches = |test: &&Test| {
        let is_own = programs[test.program].home == fault.home();
        test.unfit.is_none() && is_own == own && test.reached.binary_search(&fault.id).is_ok()
    };
    let mut those: Vec<&Test> = tests.iter().filter(reaches).collect();
    those.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let mut groups = Vec::<Vec<&Test>>::new();
    for test in those {
        let its = |group: &&mut Vec<&Test>| group[0].program == test.program;
        let most = if groups.iter_mut().filter(its).count() < 2 { AT_FIRST } else { TOGETHER };
        match groups.iter_mut().rfind(its) {
            Some(group) if group.len() < MANY && seconds(group) + test.seconds <= most => group.push(test),
            _ => groups.push(vec![test]),
        }
    }
    groups.sort_by(|a, b| seconds(a).total_cmp(&seconds(b)));
    groups
}

fn seconds(tests: &[&Test]) -> f64 {
    tests.iter().map(|test| test.seconds).sum()
}

/// Runs groups until a test notices.
pub fn trial(place: &Place, fault: &Fault, programs: &[Program], groups: &[Vec<&Test>]) -> io::Result<Verdict> {
    if groups.is_empty() {
        return Ok(Verdict::Unreached);
    }
    let id = fault.id.to_string();
    for group in groups {
        let program = &programs[group[0].program];
        let names: Vec<&str> = group.iter().map(|test| test.name.as_str()).collect();
        let limit = Duration::from_secs_f64(10.0 + 5.0 * seconds(group));
        let named = |test: &str, how: &str| Verdict::Noticed(format!("{} {}: {test}{how}", program.home, program.name));
        let (end, _) = place.run(program, &names, ("SEEKWISE_FAULT", &id), limit)?;
        let failed = match end {
            End::Passed => continue,
            End::Failed(failed) => failed,
            End::Died(test) | End::Stopped(test) => vec![test],
        };
        // A test that fails only beside others, or by chance, has noticed nothing.
        for test in failed {
            let alone: &[&str] = if test.is_empty() { &names } else { &[&test] };
            match place.run(program, alone, ("SEEKWISE_FAULT", &id), limit)?.0 {
                End::Passed => {}
                End::Failed(_) => return Ok(named(&test, "")),
                End::Died(_) => return Ok(named(&test, " (its program dies)")),
                End::Stopped(_) => return Ok(named(&test, " (stopped at its limit)")),
            }
        }
    }
    Ok(Verdict::Survived)
}

#[cfg(test)]
mod tests;
