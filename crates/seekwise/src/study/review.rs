//! Reviews: several studies, which run one after another, each in a folder of its own below the review's, with the
//! files and the page of a study. The review has one page more, with a chapter for each.
//!
//! ```text
//! out/study.toml      the review, byte for byte
//! out/made-from.json  the program, and the hash of what made each part
//! out/report.html     made of the parts
//! out/PART/           a result folder for each part, its own page included
//! ```

use std::path::{Path, PathBuf};

use seekwise_formats::study::Study;
use seekwise_formats::study::review::{Review, ReviewPart};
use seekwise_lab::compose;
use seekwise_lab::provenance::StudyProvenance;
use seekwise_lab::provenance::parts::ReviewProvenance;
use seekwise_lab::report::ARM_PLACE;
use seekwise_lab::report::Report;
use seekwise_lab::report::review::{self as page, Chapter};

use super::{
    COMMAND, StudyOptions, StudyResult, compose_page, find_study_text, parse_kept_study, recompose_page, warn_once,
    write_page,
};
use crate::error::Error;
use crate::execute::{Progress, make_runs};
use crate::lock::WriteLock;
use crate::observer::Observer;
use crate::reading::Files;
use crate::results;
use crate::study_plan::{self, StudySession, WaitingSession};

/// The results of a review. Those of its parts stay in their folders: together they are more than a modest machine
/// should hold.
#[derive(Debug)]
#[non_exhaustive]
pub struct ReviewResult {
    pub review: Review,
    folder: PathBuf,
    pub page: PathBuf,
    /// The folder of the first part whose page shows the arm at work, of those that answer the question if one does.
    arm: Option<String>,
    /// Whether the warnings of its parts were logged already, when they ran.
    warnings_logged: bool,
    files: Files,
}

impl ReviewResult {
    /// The results of each part, in order; each is read from its folder when its turn comes.
    pub fn parts(&self) -> impl Iterator<Item = Result<(&ReviewPart, StudyResult), Error>> {
        let read = if self.warnings_logged { super::read_results_quietly } else { super::read_study_folder };
        self.review.part.iter().map(move |part| {
            let folder = results::checked_subfolder(&self.folder, part.folder())?;
            Ok((part, read(&self.files, &folder)?))
        })
    }

    /// The place at which the arm is seen at work, if a part has a moving picture.
    pub fn arm_address(&self) -> Option<String> {
        let page = self.folder.join(self.arm.as_ref()?).join(results::PAGE);
        Some(format!("{}#{}", page.display(), ARM_PLACE))
    }

    /// The summary of the review as JSON, with the summaries of its parts, in order.
    pub fn summary(&self, parts: Vec<serde_json::Value>) -> serde_json::Value {
        serde_json::json!({"title": self.review.title, "question": self.review.question, "parts": parts, "report": self.page})
    }
}

/// The summary of a part as JSON.
pub fn part_summary(part: &ReviewPart, studied: &StudyResult) -> serde_json::Value {
    let mut summary = studied.summary();
    summary["part"] = part.folder().into();
    summary
}

/// A review whose parts are opened.
pub struct PendingReview {
    review: Review,
    made: ReviewProvenance,
    /// The sessions of its parts, in order.
    sessions: Vec<WaitingSession>,
    _lock: WriteLock,
}

impl PendingReview {
    /// Plans the parts of the review with this text, and opens their folders. With `kept_in`, the parts are planned
    /// from what that folder keeps of them.
    pub fn open(
        text: &str,
        name: &str,
        kept_in: Option<&Path>,
        options: &StudyOptions<'_>,
        observer: &dyn Observer,
    ) -> Result<PendingReview, Error> {
        let review = Review::parse(name, text)?;
        let out = options.folder;
        let lock = results::lock_existing_folder(out)?;
        results::check_review_destination(&options.files, out, text, options.resume, options.force)?;
        let open_waiting =
            |part: &ReviewPart| open_part(part, kept_in, options, observer).map(StudySession::into_waiting);
        let sessions = review.part.iter().map(open_waiting).collect::<Result<Vec<_>, _>>()?;
        let part_hashes =
            review.part.iter().map(ReviewPart::folder).zip(sessions.iter().map(|session| session.made_sha256.clone()));
        let made = ReviewProvenance::new(text, part_hashes);
        // The folder exists by now: the parts were opened below it.
        let lock = lock.map_or_else(|| results::lock_existing_folder(out), |lock| Ok(Some(lock)))?;
        let lock = lock.ok_or_else(|| Error::new(format!("{}: is no folder any more", out.display())))?;
        results::write_review_manifest(&options.files, out, text, &made, options.force)?;
        Ok(PendingReview { review, made, sessions, _lock: lock })
    }

    /// Makes the missing runs, part by part, and the pages.
    pub fn finish(self, options: &StudyOptions<'_>, observer: &dyn Observer) -> Result<ReviewResult, Error> {
        let PendingReview { review, made, sessions, _lock } = self;
        let done = sessions.iter().map(|session| session.done as u64).sum();
        let progress = Progress::begin(observer, sessions.iter().map(|session| session.runs).sum(), done);
        let mut chapters = Vec::new();
        for (part, waiting) in review.part.iter().zip(sessions) {
            progress.report_work(part.folder());
            let StudySession { planned, mut results, done, threads } = waiting.prepare_again(&options.files)?;
            warn_once(&planned.made.warnings);
            let records = make_runs(&planned, None, threads, &progress, done, &mut results)?;
            // The prepared cells are dropped as soon as they have run.
            let (study, made) = planned.into_study_and_origin();
            let (page, report) =
                compose_page(&study, &made, &records, &results::checked_subfolder(options.folder, part.folder())?)?;
            let (page, shows_arm) = (Some(page), report.shows_arm());
            let studied = StudyResult { study, made, records, page, shows_arm, band: None }.require_requests()?;
            let chapter = part_chapter(part, &studied.study, report);
            drop(studied);
            // A copy: the original lies among the part's records and would keep the memory between its pieces.
            chapters.push(chapter.clone());
        }
        write_review_page(&options.files, review, &made, chapters, options.folder)
    }
}

/// Makes the pages of a review's folder again, from what the folder keeps.
pub fn remake_review_pages(
    files: &Files,
    folder: &Path,
    text: &str,
    made: &ReviewProvenance,
) -> Result<ReviewResult, Error> {
    let review = Review::parse(&folder.join("study.toml").display().to_string(), text)?;
    let remake_chapter = |part: &ReviewPart| {
        let (studied, report) = recompose_page(files, &results::checked_subfolder(folder, part.folder())?)?;
        Ok(part_chapter(part, &studied.study, report))
    };
    let chapters = review.part.iter().map(remake_chapter).collect::<Result<_, Error>>()?;
    write_review_page(files, review, made, chapters, folder)
}

/// Reads the review that a folder keeps; its parts are read when they are asked for. Nothing is written.
pub fn read_review_folder(files: &Files, folder: &Path, text: &str) -> Result<ReviewResult, Error> {
    let review = Review::parse(&folder.join("study.toml").display().to_string(), text)?;
    let (page, files) = (folder.join(results::PAGE), files.clone());
    Ok(ReviewResult { review, folder: folder.to_owned(), page, arm: None, warnings_logged: false, files })
}

/// Plans a part, and opens its folder.
fn open_part(
    part: &ReviewPart,
    kept_in: Option<&Path>,
    options: &StudyOptions<'_>,
    observer: &dyn Observer,
) -> Result<StudySession, Error> {
    let folder = results::checked_subfolder(options.folder, part.folder())?;
    let options = StudyOptions { folder: &folder, ..options.clone() };
    if let Some(review_folder) = kept_in {
        return options.open_from_folder(&results::checked_subfolder(review_folder, part.folder())?, observer);
    }
    let (name, text) = find_study_text(&options.files, &part.study)?;
    if Review::looks_like(&text) {
        return Err(Error::new(format!("{name}: is a review; expected a study, as parts cannot have parts")));
    }
    options.open(&name, &text, || study_plan::plan_file(&options.files, &name, &text), observer)
}

/// The chapter of a part on the review's page; moving pictures are on the part's own page alone.
fn part_chapter(part: &ReviewPart, study: &Study, report: Report) -> Chapter {
    let heading = part.title.clone().unwrap_or_else(|| study.title.clone());
    Chapter {
        folder: part.folder().to_owned(),
        heading,
        why: part.why.clone(),
        answers: part.answers,
        half: part.half.clone(),
        held: Vec::new(),
        arm: report.shows_arm(),
        report: report.into_chapter(),
    }
}

/// Writes the review's page. How the parts relate to one another is read from their folders, when all have run.
fn write_review_page(
    files: &Files,
    review: Review,
    made: &ReviewProvenance,
    mut chapters: Vec<Chapter>,
    folder: &Path,
) -> Result<ReviewResult, Error> {
    let read_part = |part: &ReviewPart| {
        let folder = results::checked_subfolder(folder, part.folder())?;
        let manifest = results::read_study_manifest(files, &folder)?;
        Ok((parse_kept_study(&folder, &manifest)?, manifest.made))
    };
    let parts = review.part.iter().map(read_part).collect::<Result<Vec<(Study, StudyProvenance)>, Error>>()?;
    let part_refs: Vec<(&Study, &StudyProvenance)> = parts.iter().map(|(study, made)| (study, made)).collect();
    compose::parts::add_held_levels_and_prices(&part_refs, &mut chapters);
    drop(parts);
    let content = page::ReviewReport {
        title: review.title.clone(),
        question: review.question.clone(),
        brief: compose::answer::brief_answer(&chapters),
        answer: compose::answer::summarize_review(&chapters),
        introduction: review.paragraphs().collect(),
        command: COMMAND.to_owned(),
        hash: made.hash(),
        chapters,
    };
    let page = write_page(folder, |out| page::write_html(&content, out))?;
    let moving = || content.chapters.iter().filter(|chapter| chapter.arm);
    let arm =
        moving().find(|chapter| chapter.answers).or_else(|| moving().next()).map(|chapter| chapter.folder.clone());
    Ok(ReviewResult { review, folder: folder.to_owned(), page, arm, warnings_logged: true, files: files.clone() })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Mutex;

    use super::*;

    /// A review of two parts in `folder`, and its text. The parts run on `stack`.
    fn review(folder: &Path, stack: &str) -> String {
        let mut parts = String::new();
        for name in ["one", "two"] {
            let study = format!(
                "title = '{name}'\nquestion = 'q'\nruns = 3\nsampling = 'fixed'\nruntime = '200 ms'\njob = 'random-read'\n[stack]\n{stack}\n\
                 [[factor]]\nname = 'depth'\nkey = 'job.depth'\nlevels = [1, 4]\n[[compare]]\nname = 'deeper'\nfactor = 'depth'\n\
                 from = '1'\nto = '4'\nheadline = true\n"
            );
            let path = folder.join(format!("{name}.toml"));
            fs::write(&path, study).unwrap();
            parts.push_str(&format!("[[part]]\nstudy = '{}'\n", path.display()));
        }
        format!("title = 't'\nquestion = 'q'\nintroduction = 'i'\n{parts}")
    }

    fn prepared(pending: &PendingReview) -> Vec<usize> {
        pending.sessions.iter().map(WaitingSession::prepared).collect()
    }

    /// Hears of the parts and runs, in their order, and cancels after so many runs.
    struct Heard(Mutex<Vec<String>>, u64);

    impl Observer for Heard {
        fn begin_work(&self, total: Option<u64>, done: u64, unit: &'static str) {
            self.0.lock().unwrap().push(format!("{done} of {total:?} {unit}"));
        }
        fn report_done(&self, done: u64) {
            self.0.lock().unwrap().push(done.to_string());
        }
        fn report_work(&self, what: &str) {
            self.0.lock().unwrap().push(what.to_owned());
        }
        fn is_cancelled(&self) -> bool {
            self.0.lock().unwrap().contains(&self.1.to_string())
        }
    }

    #[test]
    fn a_part_is_prepared_when_its_turn_comes_and_its_bytes_are_those_of_the_study_alone() {
        let folder = tempfile::tempdir().unwrap();
        let text = review(folder.path(), "drive = 'barracuda-7200.7-ncq'");
        let (out, alone) = (folder.path().join("out"), folder.path().join("alone"));
        for sampling in [None, Some(seekwise_formats::study::Sampling::UntilDecided)] {
            let options = StudyOptions { force: true, threads: 1, sampling, ..StudyOptions::into(&out) };
            let pending = PendingReview::open(&text, "r.toml", None, &options, &()).unwrap();
            assert_eq!(prepared(&pending), [0, 0], "what both parts run is not held at once");
            pending.finish(&options, &()).unwrap();
            for part in ["one", "two"] {
                let options = StudyOptions { folder: &alone, ..options.clone() };
                let study = folder.path().join(format!("{part}.toml"));
                super::super::study(study.to_str().unwrap(), &options, &()).unwrap();
                for file in ["made-from.json", "results.jsonl", "report.html"] {
                    let of = |folder: &Path| fs::read(folder.join(file)).unwrap();
                    assert!(of(&out.join(part)) == of(&alone), "{part} {file} {sampling:?}");
                }
            }
        }
    }

    #[test]
    fn what_is_done_of_a_part_is_read_when_its_turn_comes() {
        let folder = tempfile::tempdir().unwrap();
        let text = review(folder.path(), "drive = 'barracuda-7200.7-ncq'");
        let out = folder.path().join("out");
        let options = StudyOptions { threads: 1, ..StudyOptions::into(&out) };
        let cancelled = Heard(Mutex::default(), 8);
        let pending = PendingReview::open(&text, "r.toml", None, &options, &()).unwrap();
        assert!(pending.finish(&options, &cancelled).unwrap_err().is_cancelled());
        let options = StudyOptions { resume: true, ..options };
        let heard = Heard(Mutex::default(), u64::MAX);
        PendingReview::open(&text, "r.toml", None, &options, &()).unwrap().finish(&options, &heard).unwrap();
        let heard = heard.0.into_inner().unwrap();
        assert_eq!(heard, ["8 of Some(12) runs", "one", "two", "9", "10", "11", "12"]);
    }

    #[test]
    fn a_part_whose_folder_was_changed_meanwhile_does_not_run() {
        let folder = tempfile::tempdir().unwrap();
        let text = review(folder.path(), "drive = 'barracuda-7200.7-ncq'");
        let out = folder.path().join("out");
        let options = StudyOptions { threads: 1, ..StudyOptions::into(&out) };
        let pending = PendingReview::open(&text, "r.toml", None, &options, &()).unwrap();
        for file in ["study.toml", "made-from.json", "sums.txt"] {
            fs::copy(out.join("one").join(file), out.join("two").join(file)).unwrap();
        }
        let said = pending.finish(&options, &()).unwrap_err().to_string();
        assert!(said.ends_with("what makes its results was changed meanwhile"), "{said}");
    }

    #[test]
    fn a_fault_of_the_last_part_is_told_before_the_first_runs_and_measured_parts_stay_prepared() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        let options = StudyOptions { force: true, threads: 1, ..StudyOptions::into(&out) };
        let text = review(folder.path(), "place = 'null'");
        let pending = PendingReview::open(&text, "r.toml", None, &options, &()).unwrap();
        assert_eq!(prepared(&pending), [2, 2], "they hold what they run on");
        drop(pending);
        let text = review(folder.path(), "drive = 'barracuda-7200.7-ncq'");
        let last = folder.path().join("two.toml");
        let fault = fs::read_to_string(&last).unwrap().replace("barracuda", "baracuda");
        fs::write(&last, fault).unwrap();
        let said = PendingReview::open(&text, "r.toml", None, &options, &()).map(drop).unwrap_err().to_string();
        assert!(said.contains("did you mean `barracuda-7200.7-ncq`"), "{said}");
    }
}
