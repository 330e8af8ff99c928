//! A review: its studies one after another, each in a folder of its own below the review's, as a study makes it, and one page
//! with a chapter for each.
//!
//! ```text
//! out/study.toml      the review, byte for byte
//! out/made-from.json  the program, and the hash of what made each part
//! out/report.html     made of the parts
//! out/PART/           a result folder for each part, its own page included
//! ```

use std::path::{Path, PathBuf};

use seekwise_formats::study::review::{Part, Review};
use seekwise_lab::compose::{self, Material};
use seekwise_lab::made::parts::MadeOfParts;
use seekwise_lab::report::review::{self as page, Chapter};
use seekwise_lab::study::Earlier;

use super::{COMMAND, Options, Studied, again_from, named, run, runs, something, warn, write_page, write_report};
use crate::error::Error;
use crate::observer::Observer;
use crate::planned::{self, Opened, Planned};
use crate::results;

/// A review that was run.
#[derive(Debug)]
pub struct Reviewed {
    pub review: Review,
    /// What came of each part, in its order.
    pub parts: Vec<Studied>,
    pub page: PathBuf,
}

impl Reviewed {
    /// What came out, as one value.
    pub fn summary(&self) -> serde_json::Value {
        let part = |(part, studied): (&Part, &Studied)| {
            let mut summary = studied.summary();
            summary["part"] = part.folder().into();
            summary
        };
        let parts: Vec<serde_json::Value> = self.review.part.iter().zip(&self.parts).map(part).collect();
        serde_json::json!({"title": self.review.title, "question": self.review.question, "parts": parts, "report": self.page})
    }

    /// Whether a headline of a part was refused.
    pub fn is_refused(&self) -> bool {
        self.parts.iter().any(Studied::is_refused)
    }
}

/// A review whose parts are opened.
pub struct Begun {
    review: Review,
    made: MadeOfParts,
    opened: Vec<Opened>,
}

impl Begun {
    /// Plans the parts of the review `text`; with `from`, from what that folder keeps of them.
    pub fn open(text: &str, name: &str, from: Option<&Path>, options: &Options<'_>) -> Result<Begun, Error> {
        let review = Review::parse(name, text)?;
        let out = options.folder;
        results::admit_review(out, text, options.resume, options.force)?;
        let opened = review.part.iter().map(|part| open(part, from, options)).collect::<Result<Vec<_>, _>>()?;
        let made = review.part.iter().map(Part::folder).zip(opened.iter().map(|opened| &opened.planned.made));
        let made = MadeOfParts::new(text, made);
        results::say_review(out, text, &made)?;
        Ok(Begun { review, made, opened })
    }

    /// Runs what is not done, part by part, and makes the pages.
    pub fn finish(self, options: &Options<'_>, observer: &dyn Observer) -> Result<Reviewed, Error> {
        let Begun { review, made, opened } = self;
        let mut count: u64 = opened.iter().map(|opened| opened.done.len() as u64).sum();
        observer.begin(Some(opened.iter().map(|opened| runs(&opened.planned)).sum()), count, "runs");
        let mut parts = Vec::new();
        for (part, Opened { planned, results, done, threads }) in review.part.iter().zip(opened) {
            observer.doing(part.folder());
            warn(&planned.made.warnings);
            let records = run(&planned, &Earlier::default(), results, done, threads, observer, &mut || {
                count += 1;
                observer.at(count);
            })?;
            let page = write_report(&planned.study, &planned.made, &records, &options.folder.join(part.folder()))?;
            let Planned { study, made, .. } = planned;
            let studied = Studied { study, made, records, page };
            something(&studied.evidence())?;
            parts.push(studied);
        }
        finish(review, &made, parts, options.folder)
    }
}

/// Makes the pages of a review's folder again from what it keeps.
pub fn again_from_review(folder: &Path, text: &str, made: &MadeOfParts) -> Result<Reviewed, Error> {
    let review = Review::parse(&folder.join("study.toml").display().to_string(), text)?;
    let parts = review.part.iter().map(|part| again_from(&folder.join(part.folder()))).collect::<Result<_, _>>()?;
    finish(review, made, parts, folder)
}

/// Plans a part, and opens its folder.
fn open(part: &Part, from: Option<&Path>, options: &Options<'_>) -> Result<Opened, Error> {
    let folder = options.folder.join(part.folder());
    let options = Options { folder: &folder, ..*options };
    let opening = options.opening();
    if let Some(from) = from {
        return opening.of_folder(&from.join(part.folder()));
    }
    let (name, text) = named(&part.study)?;
    if Review::looks_like(&text) {
        return Err(Error::new(format!("{name}: is a review; expected a study, as parts cannot have parts")));
    }
    opening.open(&name, &text, || planned::plan_file(&name, &text))
}

/// Writes the page of all parts.
fn finish(review: Review, made: &MadeOfParts, parts: Vec<Studied>, folder: &Path) -> Result<Reviewed, Error> {
    let chapter = |(part, studied): (&Part, &Studied)| {
        let Studied { study, made, records, .. } = studied;
        let report = compose::report(&Material { study, made, records, command: COMMAND });
        let heading = part.title.clone().unwrap_or_else(|| study.title.clone());
        Chapter { folder: part.folder().to_owned(), heading, why: part.why.clone(), report: report.as_chapter() }
    };
    let chapters = review.part.iter().zip(&parts).map(chapter).collect();
    let content = page::Review {
        title: review.title.clone(),
        question: review.question.clone(),
        introduction: review.paragraphs().collect(),
        command: COMMAND.to_owned(),
        hash: made.hash(),
        chapters,
    };
    let page = write_page(folder, &page::html(&content))?;
    Ok(Reviewed { review, parts, page })
}
