//! The library behind the page Explore (`web/explore.html`): a question as JSON in, the program's answer as JSON out. `cargo xtask web`
//! compiles it to WebAssembly and puts it into the page. Nothing is computed here: each answer is a call of the library `seekwise`, and
//! the JSON of a run, a comparison, a power cut or a rebuild is what the program prints with `--json`.
//!
//! | room | what it is |
//! |---|---|
//! | [`setup`] | a job on a target, as a page names it |
//! | [`timeline`] | the beginning of a run, request by request, for the moving picture |
//! | [`plug`] | the writes of a run: when each was issued, acknowledged and on the platter |
//! | [`question`] | the questions, and the answer to each |
//! | `boundary` (WebAssembly) | the functions that a page calls |

#[cfg(target_family = "wasm")]
mod boundary;
pub mod plug;
pub mod question;
pub mod setup;
pub mod timeline;

use seekwise::{Error, Observer};
use serde_json::{Value, json};

/// Answers a question. The reply is an object: `answer`, the question's own value; or `faults`, each with its text as the program prints
/// it, its file and its line, counted from 1 (0 if it concerns none).
pub fn reply(question: &str, observer: &dyn Observer) -> String {
    let answered = match serde_json::from_str::<question::Question>(question) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn value(question: Value) -> Value {
        serde_json::from_str(&reply(&question.to_string(), &())).unwrap()
    }

    #[test]
    fn a_fault_names_its_file_and_line_as_the_program_does() {
        let job = "[a]\nioengine=libaio\nrw=randraed\n";
        let found = value(json!({"ask": "run", "setup": {
            "job": "mine.fio", "target": "exos-x18", "texts": {"mine.fio": job}}}));
        let fault = &found["faults"][0];
        assert_eq!((fault["file"].as_str(), fault["line"].as_u64()), (Some("mine.fio"), Some(3)), "{found}");
        assert!(fault["text"].as_str().unwrap().contains("randread"), "the nearest word: {found}");
        let unknown = value(json!({"ask": "fly"}));
        assert!(unknown["faults"][0]["text"].as_str().unwrap().contains("unknown variant `fly`"), "{unknown}");
    }
}
