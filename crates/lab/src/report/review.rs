//! A review's page: its question, answer and background, one summary of all findings, then a chapter for each part.
//!
//! The page shows nothing but a [`ReviewReport`]; its script makes the summary from the chapters.

use std::fmt::Write;
use std::io;

use serde::Serialize;

use super::page::{escape_text, write_page, write_to_string};
use super::{Report, noscript};
use crate::outcome::Outcome;

/// The report of a review.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReviewReport {
    /// A few words; the page's heading and the window's title.
    pub title: String,
    /// The question, as a sentence.
    pub question: String,
    /// The answer in as few words as it takes, for the first screen.
    pub brief: BriefAnswer,
    /// The answer in plain sentences.
    pub answer: Vec<AnswerSentence>,
    /// The background of the question: who asked it and on what, paragraph by paragraph.
    pub introduction: Vec<String>,
    /// The command line that gives the same review again.
    pub command: String,
    /// SHA-256 of what made the results of all parts.
    pub hash: String,
    /// The parts, in the review's order.
    pub chapters: Vec<Chapter>,
}

/// The answer in short, with the cases that its picture shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BriefAnswer {
    /// The answer in a sentence; empty if it needs several, which are those of `lines`, or if nothing was compared.
    pub says: String,
    /// Lines of the picture. Empty if the answer is the best level of a factor; [`Report::best`] has these.
    pub lines: Vec<BriefLine>,
}

/// Cases of a change.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BriefLine {
    /// The effect of the change, or the name of a part if there is only one change.
    pub says: String,
    pub cases: Vec<BriefCase>,
}

/// A case of a change: one cell of one part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct BriefCase {
    /// How many times as good the changed side is: the ratio, or its inverse if less is better.
    pub ratio: f64,
    pub verdict: Outcome,
}

/// A sentence of the answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AnswerSentence {
    /// The subject; empty where the sentence names it.
    pub about: String,
    pub says: String,
}

impl AnswerSentence {
    /// The whole sentence.
    pub(crate) fn to_sentence(&self) -> String {
        let AnswerSentence { about, says } = self;
        if about.is_empty() { says.clone() } else { format!("{about}: {says}") }
    }
}

/// A part of a review.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Chapter {
    /// The folder beside the page; the part has a page of its own there.
    pub folder: String,
    pub heading: String,
    /// The reason for the part.
    pub why: Option<String>,
    /// True if the part's leading comparison answers the review's question.
    pub answers: bool,
    /// The half of the question that it answers, where the review says so.
    #[serde(skip)]
    pub half: Option<String>,
    /// The levels that it holds where other parts compare several: "cache on".
    pub held: Vec<String>,
    /// Whether the part's own page shows the arm at work.
    pub arm: bool,
    /// The part's report, without the moving picture and the histograms, which are on its own page.
    pub report: Report,
}

/// The review as one self-contained HTML file.
pub fn render_html(review: &ReviewReport) -> String {
    write_to_string(|out| write_html(review, out))
}

/// Writes the review as HTML piece by piece.
pub fn write_html(review: &ReviewReport, out: &mut dyn io::Write) -> io::Result<()> {
    write_page(out, &review.title, &plain_html(review), review)
}

/// The review for readers that run no scripts: every chapter's plain form.
fn plain_html(review: &ReviewReport) -> String {
    let mut out = format!("<h1>{}</h1>\n<p>{}</p>\n", escape_text(&review.title), escape_text(&review.question));
    let answer = review.answer.iter().map(AnswerSentence::to_sentence);
    for paragraph in answer.chain(review.introduction.iter().cloned()) {
        writeln!(out, "<p>{}</p>", escape_text(&paragraph)).expect("writing to a String cannot fail");
    }
    for chapter in &review.chapters {
        writeln!(out, "<h1>{}</h1>", escape_text(&chapter.heading)).expect("writing to a String cannot fail");
        out.push_str(&noscript::plain_body(&chapter.report));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_files_stay_text() {
        let hostile = "</noscript></script><img src=x onerror=alert(1)>".to_owned();
        let report = Report { title: hostile.clone(), question: hostile.clone(), ..Report::default() };
        let (folder, heading, why) = (hostile.clone(), hostile.clone(), Some(hostile.clone()));
        let review = ReviewReport {
            title: hostile.clone(),
            question: hostile.clone(),
            brief: BriefAnswer {
                says: hostile.clone(),
                lines: vec![BriefLine { says: hostile.clone(), cases: Vec::new() }],
            },
            answer: vec![AnswerSentence { about: hostile.clone(), says: hostile.clone() }],
            introduction: vec![hostile.clone()],
            command: hostile.clone(),
            hash: String::new(),
            chapters: vec![Chapter {
                folder,
                heading,
                why,
                answers: true,
                half: None,
                held: vec![hostile.clone()],
                arm: true,
                report,
            }],
        };
        let (page, bare) = (render_html(&review), render_html(&ReviewReport::default()));
        for tag in ["<img", "</script", "</noscript"] {
            assert_eq!(page.matches(tag).count(), bare.matches(tag).count(), "{tag}");
        }
        assert!(page.matches("&lt;/noscript&gt;").count() >= 6);
    }
}
