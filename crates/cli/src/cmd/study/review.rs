//! A review: its studies one after another, each in a folder of its own below the review's, as `seekwise study` makes
//! it, and one page with a chapter for each.
//!
//! ```text
//! out/study.toml      the review, byte for byte
//! out/made-from.json  the program, and the hash of what made each part
//! out/report.html     made of the parts
//! out/PART/           a result folder for each part, its own page included
//! ```

use std::path::Path;

use seekwise_formats::study::review::{Part, Review};
use seekwise_formats::study::{Study, parse};
use seekwise_lab::compose::{self, Material};
use seekwise_lab::finding::Evidence;
use seekwise_lab::made::MadeFrom;
use seekwise_lab::made::parts::MadeOfParts;
use seekwise_lab::report;
use seekwise_lab::report::review::{self as page, Chapter};
use seekwise_lab::run::RunRecord;
use seekwise_lab::study::Earlier;
use serde_json::{Value, json};

use super::text::{claimed, claims_of, headlines, headlines_of};
use super::{COMMAND, Held, Said, again, held_line, named, refused, run, runs, something, summary, write_page};
use crate::cmd::{print, print_json, warn};
use crate::exit::{Answer, Failure, Outcome};
use crate::interrupt::{self, Keeping};
use crate::output::{quoted, say};
use crate::planned::{self, Opened, Opening};
use crate::progress::Progress;
use crate::results;
use crate::screen;
use crate::tables::{self, Table};

/// Runs the review `text`; with `from`, from what that folder keeps of its parts.
pub fn study(text: &str, name: &str, from: Option<&Path>, opening: &Opening<'_>, said: Said<'_>) -> Outcome {
    let review = Review::parse(name, text)?;
    tables::choose(&mut [&mut headlines(), &mut claimed()], said.columns)?;
    let out = opening.folder;
    results::admit_review(out, text, opening.resume, opening.force)?;
    let opened = review.part.iter().map(|part| open(part, from, opening)).collect::<Result<Vec<_>, _>>()?;
    let made = review.part.iter().map(Part::folder).zip(opened.iter().map(|opened| &opened.planned.made));
    let made = MadeOfParts::new(text, made);
    results::say_review(out, text, &made)?;
    let total = opened.iter().map(|opened| runs(&opened.planned)).sum();
    let go_on = format!("seekwise study {} --resume", quoted(&out.display().to_string()));
    interrupt::hold().keep(Keeping { folder: out.to_owned(), of: Some(total), again: go_on });
    let progress = Progress::of(total, "runs");
    let mut answers = Answers::new(&review, &made, out);
    for (part, Opened { planned, results, done, threads }) in review.part.iter().zip(opened) {
        progress.what(part.folder());
        progress.aside(|| warn(&planned.made.warnings));
        let records = run(&planned, &Earlier::default(), results, done, threads, &progress)?;
        let mut added = Ok(());
        progress.aside(|| added = answers.add(part, &planned.study, &planned.made, &records));
        added?;
    }
    drop(progress);
    say(format!("Again: {}", again(out)));
    answers.finish(said)
}

/// Makes the pages of a review's folder again from what it keeps.
pub fn report_again(folder: &Path, text: &str, made: &MadeOfParts, said: Said<'_>) -> Outcome {
    let review = Review::parse(&folder.join("study.toml").display().to_string(), text)?;
    let mut answers = Answers::new(&review, made, folder);
    for part in &review.part {
        let below = folder.join(part.folder());
        let kept = results::kept(&below)?;
        let study = parse(&below.join("study.toml").display().to_string(), &kept.study)?;
        warn(&kept.made.warnings);
        answers.add(part, &study, &kept.made, &results::records(&below, &kept)?)?;
    }
    answers.finish(said)
}

/// Plans a part, and opens its folder.
fn open(part: &Part, from: Option<&Path>, opening: &Opening<'_>) -> Result<Opened, Failure> {
    let folder = opening.folder.join(part.folder());
    let opening = Opening { folder: &folder, ..*opening };
    if let Some(from) = from {
        return opening.of_folder(&from.join(part.folder()));
    }
    let (name, text) = named(&part.study)?;
    if Review::looks_like(&text) {
        return Err(Failure::new(format!("{name}: is a review; expected a study, as parts cannot have parts")));
    }
    opening.open(&name, &text, || planned::plan_file(&name, &text))
}

/// What came of the parts, until all are there.
struct Answers<'a> {
    review: &'a Review,
    made: &'a MadeOfParts,
    folder: &'a Path,
    chapters: Vec<Chapter>,
    summaries: Vec<Value>,
    headlines: Table,
    claims: Table,
    held: Vec<(String, Option<bool>)>,
    refused: bool,
}

impl<'a> Answers<'a> {
    fn new(review: &'a Review, made: &'a MadeOfParts, folder: &'a Path) -> Answers<'a> {
        let (headlines, claims) = (headlines(), claimed());
        let (chapters, summaries, held) = (Vec::new(), Vec::new(), Vec::new());
        Answers { review, made, folder, chapters, summaries, headlines, claims, held, refused: false }
    }

    /// What came of a part; its own page is written.
    fn add(&mut self, part: &Part, study: &Study, made: &MadeFrom, records: &[RunRecord]) -> Result<(), Failure> {
        let below = self.folder.join(part.folder());
        let report = compose::report(&Material { study, made, records, command: COMMAND });
        let path = write_page(&below, &report::html(&report))?;
        let evidence = Evidence::new(study, made, records);
        something(&evidence)?;
        let mut summary = summary(&evidence, &path);
        summary["part"] = part.folder().into();
        self.summaries.push(summary);
        let heading = part.title.clone().unwrap_or_else(|| study.title.clone());
        headlines_of(&mut self.headlines, &heading, &evidence);
        claims_of(&mut self.claims, part.folder(), &evidence);
        self.held.extend(evidence.claims().iter().map(|judged| (judged.claim.id.clone(), judged.reproduced())));
        self.refused |= refused(&evidence);
        let (folder, why, report) = (part.folder().to_owned(), part.why.clone(), report.as_chapter());
        self.chapters.push(Chapter { folder, heading, why, report });
        Ok(())
    }

    /// Writes the page and says what came out.
    fn finish(self, said: Said<'_>) -> Outcome {
        let Review { title, question, .. } = self.review;
        let review = page::Review {
            title: title.clone(),
            question: question.clone(),
            introduction: self.review.paragraphs().collect(),
            command: COMMAND.to_owned(),
            hash: self.made.hash(),
            chapters: self.chapters,
        };
        let path = write_page(self.folder, &page::html(&review))?;
        let held: Vec<Held<'_>> = self.held.iter().map(|(id, holds)| Held::of(id, *holds)).collect();
        let line = held_line(&held);
        if said.json {
            print_json(&json!({"title": title, "question": question, "parts": self.summaries, "report": path}))?;
            line.iter().for_each(say);
        } else {
            let mut tables = [self.headlines, self.claims];
            tables::choose(&mut tables.each_mut(), said.columns)?;
            let width = screen::width();
            print(&screen::wrapped(question, width))?;
            for table in tables.iter().filter(|table| !table.is_empty()) {
                print(&format!("\n{}", table.draw(width)))?;
            }
            print(&format!("\nReport: {}", path.display()))?;
            line.iter().try_for_each(|line| print(line))?;
        }
        let fails = said.strict && self.held.iter().any(|(_, holds)| *holds == Some(false));
        Ok(if fails || self.refused { Answer::No } else { Answer::Done })
    }
}
