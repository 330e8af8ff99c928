//! Review files in TOML: a question that takes several studies to answer. The studies are its parts, in reading order,
//! each with its purpose. Unknown keys are errors.
//!
//! ```toml
//! title = "…"            question = "…"
//! introduction = """…""" # what was asked and tested; an empty line starts a paragraph
//! [[part]]
//! study = "d-modes"      # a built-in study, or a study's file
//! title = "…"            # of the chapter; default: the study's title
//! why = "…"              # what this part adds, in a sentence or two
//! answers = true         # its leading comparison answers the question: it stands at the top
//! half = "In an array"   # which half of the question that answers: it leads the answer's sentence
//! ```

use seekwise_drives::diagnostic::{Diagnostic, is_plain};
use serde::Deserialize;

use super::{line_of, locate_error};

/// A question and the studies that answer it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Review {
    /// The title in reports.
    pub title: String,
    /// The question that it answers.
    pub question: String,
    /// The introduction: what was asked and tested, in paragraphs.
    pub introduction: String,
    /// The studies, in order.
    pub part: Vec<ReviewPart>,
}

/// A study of a review.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReviewPart {
    /// The name of a built-in study, or a file.
    pub study: String,
    /// The heading of its chapter; by default the study's title.
    pub title: Option<String>,
    /// The purpose of the part.
    pub why: Option<String>,
    /// Whether its leading comparison answers the question, alone or with those of other parts.
    #[serde(default)]
    pub answers: bool,
    /// The half of a question with several that it answers, in the question's words: it leads a sentence of the answer.
    pub half: Option<String>,
}

impl ReviewPart {
    /// The name of its subfolder: the file name of the study, without directory and extension.
    pub fn folder(&self) -> &str {
        let name = self.study.rsplit(['/', '\\']).next().unwrap_or(&self.study);
        name.strip_suffix(".toml").unwrap_or(name)
    }
}

impl Review {
    /// The introduction's paragraphs.
    pub fn paragraphs(&self) -> impl Iterator<Item = String> {
        let parts = self.introduction.split("\n\n").map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
        parts.filter(|part| !part.is_empty())
    }

    /// Whether `text` is a review, not a study: it has parts.
    pub fn looks_like(text: &str) -> bool {
        text.lines().any(|line| line.trim_start().starts_with("[[part]]"))
    }

    /// Reads a review. `file` names it in errors.
    pub fn parse(file: &str, text: &str) -> Result<Review, Vec<Diagnostic>> {
        let review: Review = toml::from_str(text).map_err(|error| vec![locate_error(file, text, &error)])?;
        let mut faults = Vec::new();
        for (place, part) in review.part.iter().enumerate() {
            let line = line_of(text, &format!("\"{}\"", part.study));
            let folder = part.folder();
            if folder.is_empty() || folder.starts_with('.') || !is_plain(folder) {
                let fault = Diagnostic::at(file, line, format!("unknown study `{}`", part.study)).with_key("study");
                faults.push(fault.with_expected("the name of a built-in study, or a study's file"));
            }
            if review.part[..place].iter().any(|before| before.folder() == folder) {
                let message = format!("two parts are called `{folder}`, but each needs a folder of its own");
                faults.push(Diagnostic::at(file, line, message).with_key("study"));
            }
        }
        for part in review.part.iter().filter(|part| part.half.is_some() && !part.answers) {
            let line = line_of(text, &format!("\"{}\"", part.study));
            let fault =
                Diagnostic::at(file, line, "a half of the question, but the part does not answer it".to_owned());
            faults.push(fault.with_key("half").with_expected("`answers = true` beside it"));
        }
        let said = review.part.iter().flat_map(|part| part.title.iter().chain(&part.half));
        let names = [&review.title].into_iter().chain(said);
        for name in names.filter(|name| !is_plain(name)) {
            faults.push(Diagnostic::at(
                file,
                line_of(text, "title"),
                format!("the name {name:?} contains control characters"),
            ));
        }
        if faults.is_empty() { Ok(review) } else { Err(faults) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "title = 't'\nquestion = 'q'\nintroduction = \"\"\"\none\ntwo\n\nthree\n\"\"\"\n[[part]]\n\
                        study = \"d-modes\"\n[[part]]\nstudy = \"own/queue.toml\"\ntitle = 'The queue'\n";

    #[test]
    fn parts_in_order_and_paragraphs() {
        assert!(Review::looks_like(TEXT));
        let review = Review::parse("r.toml", TEXT).unwrap();
        assert_eq!(review.part.iter().map(ReviewPart::folder).collect::<Vec<_>>(), ["d-modes", "queue"]);
        assert_eq!(review.paragraphs().collect::<Vec<_>>(), ["one two", "three"]);
    }

    #[test]
    fn faults_name_line_and_nearest_word() {
        let said = |text: &str| Review::parse("r.toml", text).unwrap_err()[0].to_string();
        let twice = said(&TEXT.replace("own/queue.toml", "own/d-modes.toml"));
        assert!(twice.starts_with("r.toml:12: ") && twice.contains("two parts are called `d-modes`"), "{twice}");
        assert!(said(&TEXT.replace("study = \"d-modes\"", "stduy = \"d-modes\"")).contains("did you mean `study`?"));
        let half = said(&format!("{TEXT}half = 'In an array'\n"));
        assert!(half.starts_with("r.toml:12: ") && half.contains("`answers = true` beside it"), "{half}");
        let halved = format!("{TEXT}half = 'In an array'\nanswers = true\n");
        assert_eq!(Review::parse("r.toml", &halved).unwrap().part[1].half.as_deref(), Some("In an array"));
        assert!(said(&TEXT.replace("d-modes", "..")).contains("unknown study `..`; expected the name of"));
        assert!(said("title = 't'\nquestion = 'q'\nintroduction = ''\n").contains("missing field `part`"));
    }
}
