//! The questions of a page, and the answer to each. A question is an object with the field `ask`.

use seekwise::compare::Comparison;
use seekwise::power_cut::{CutTime, power_cut};
use seekwise::rebuild::{ArrayTask, ArrayUsers, Computation, PolicyAnswers, RebuildSetup, SyncPolicyChoice, TaskTerms};
use seekwise::time::Instant;
use seekwise::{Bounds, Error, Observer, Setup, drives, results, run};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::plug::write_history;
use crate::setup::SetupWords;
use crate::timeline::timelines;

/// A question.
#[derive(Debug, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Question {
    /// The built-in drives: `seekwise drives --json`.
    Drives,
    /// One run: `json` as `seekwise run --json` prints it, and the `command`.
    Run { setup: SetupWords },
    /// The beginnings of runs, for the moving picture: sides of a comparison if they are `together`, else runs by themselves.
    Timelines { setups: Vec<SetupWords>, requests: usize, together: bool },
    /// The writes of a run, and when each was on the platter.
    Writes { setup: SetupWords },
    /// A cut of the power at this nanosecond of a run: `seekwise power-cut --json`.
    PowerCut { setup: SetupWords, at_ns: u64 },
    /// The rebuild of a drive, for one policy: `seekwise rebuild --json`.
    Rebuild { setup: SetupWords, users: u32, policy: String, stretches: u32 },
    /// A comparison of two or more values of a setting: `json` as `seekwise compare --json` prints it, the `command`, the page and the
    /// files of the result folder.
    Compare { setup: SetupWords, key: String, values: Vec<String>, runs: u32 },
}

impl Question {
    /// The answer.
    pub fn answer(self, observer: &dyn Observer) -> Result<Value, Error> {
        match self {
            Question::Drives => Ok(json!(drives::drive_summaries()?)),
            Question::Run { setup } => run_json(&setup.to_setup(), observer),
            Question::Timelines { setups, requests, together } => {
                let setups: Vec<Setup> = setups.iter().map(SetupWords::to_setup).collect();
                let groups = setups.chunks(if together { setups.len().max(1) } else { 1 });
                let found = groups.map(|group| timelines(group, requests)).collect::<Result<Vec<_>, Error>>()?;
                Ok(json!(found.concat()))
            }
            Question::Writes { setup } => write_history(&setup.to_setup()).map(|found| json!(found)),
            Question::PowerCut { setup, at_ns } => cut_json(&setup.to_setup(), at_ns, observer),
            Question::Rebuild { setup, users, policy, stretches } => {
                rebuild_json(setup.to_setup(), users, &policy, stretches, observer)
            }
            Question::Compare { setup, key, values, runs } => {
                let mut comparison = Comparison::new(setup.to_setup(), key, values);
                comparison.runs = runs;
                comparison_json(&comparison, observer)
            }
        }
    }
}

/// Answers a question. The reply is an object: `answer`, the question's own value; or `faults`, each with its text as the program prints
/// it, its file and its line, counted from 1 (0 if it concerns none).
pub fn reply(question: &str, observer: &dyn Observer) -> String {
    let answered = match serde_json::from_str::<Question>(question) {
        Ok(question) => question.answer(observer),
        Err(fault) => Err(Error::new(format!("the question cannot be read: {fault}"))),
    };
    answered.map_or_else(|error| faults_json(&error), |answer| json!({ "answer": answer })).to_string()
}

fn faults_json(error: &Error) -> Value {
    let places = error.diagnostics().iter();
    let faults: Vec<Value> = (error.lines().iter().zip(places))
        .map(|(text, place)| json!({ "text": text, "file": place.file, "line": place.line }))
        .collect();
    json!({ "faults": faults })
}

fn run_json(setup: &Setup, observer: &dyn Observer) -> Result<Value, Error> {
    let json = run::run(setup, observer)?.json();
    Ok(json!({ "json": json, "command": format!("seekwise run {}", setup.words()) }))
}

fn cut_json(setup: &Setup, at_ns: u64, observer: &dyn Observer) -> Result<Value, Error> {
    let when = CutTime::At(vec![Instant::from_nanos(at_ns)]);
    let json = power_cut(setup, when, &Bounds::new(None), observer)?.json(setup);
    Ok(json!({ "json": json, "command": format!("seekwise power-cut {} --at {at_ns}ns", setup.words()) }))
}

fn rebuild_json(
    setup: Setup,
    users: u32,
    policy: &str,
    stretches: u32,
    observer: &dyn Observer,
) -> Result<Value, Error> {
    let policies = [SyncPolicyChoice::parse(policy).map_err(Error::new)?];
    let users = if users == 0 { ArrayUsers::Absent } else { ArrayUsers::Rate(users) };
    let computation = Computation::Stretches(stretches);
    let terms = TaskTerms { computation, ..TaskTerms::new(ArrayTask::Rebuild { lost: 1 }) };
    let question = RebuildSetup { setup, users, terms };
    let answers = question.answer(&policies, observer)?;
    Ok(json!({ "json": PolicyAnswers { policies: &answers }, "title": question.title(&answers[0].answer) }))
}

fn comparison_json(comparison: &Comparison, observer: &dyn Observer) -> Result<Value, Error> {
    let compared = comparison.run_within(Bounds::new(None), observer)?;
    let answer = compared.comparison()?;
    Ok(json!({
        "json": answer.json(),
        "question": compared.study.question,
        "warnings": compared.made.warnings,
        "command": comparison.command(None),
        "page": compared.page_text(),
        "files": results::folder_texts(&compared.study, &compared.made, &compared.records),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(question: Value) -> Value {
        serde_json::from_str(&reply(&question.to_string(), &())).unwrap()
    }

    #[test]
    fn a_fault_is_named_as_the_program_names_it() {
        let job = "[a]\nioengine=libaio\nrw=randraed\n";
        let found = value(json!({"ask": "run", "setup": {
            "job": "mine.fio", "target": "exos-x18", "texts": {"mine.fio": job}}}));
        let fault = &found["faults"][0];
        assert_eq!((fault["file"].as_str(), fault["line"].as_u64()), (Some("mine.fio"), Some(3)), "{found}");
        assert!(fault["text"].as_str().unwrap().contains("randread"), "the nearest word: {found}");
        let setup = json!({"job": "random-read", "target": "exos-x18"});
        for (asked, says) in [
            (json!({"ask": "rebuild", "setup": setup, "users": u32::MAX, "policy": "md", "stretches": 4}), "users: "),
            (json!({"ask": "power-cut", "setup": setup, "at_ns": u64::MAX}), "--at: "),
        ] {
            let found = value(asked);
            assert!(found["faults"][0]["text"].as_str().unwrap().contains(says), "{found}");
        }
        let unknown = value(json!({"ask": "fly"}));
        assert!(unknown["faults"][0]["text"].as_str().unwrap().contains("unknown variant `fly`"), "{unknown}");
    }
}
