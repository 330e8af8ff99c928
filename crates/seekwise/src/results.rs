//! A result folder: the origin of the results, written once before the first run, and one JSON line a run. The folder is complete after
//! each run, in the plan's order whatever the number of cores; a killed study goes on where it stopped.
//!
//! ```text
//! out/study.toml       the study, byte for byte
//! out/made-from.json   the program, all texts that were read, all settings of each cell, the seeds
//! out/sums.txt         a sum of each line of these two
//! out/results.jsonl    one line a run, in the plan's order; each names the hash of its cell, and ends in its own sum
//! out/report.html      made from these
//! ```
//!
//! Nothing else is read to make the report again or to go on: a folder can be carried anywhere. A review's folder holds
//! `study.toml` (the review), `made-from.json` (the hash of what made each part), their `sums.txt`, `report.html`, and a result
//! folder for each part.
//!
//! Files are checked against their sums when they are read, and a record's figures against one another. A folder may come from
//! somebody else: no link in it is followed ([`foreign`]). Only one process at a time writes it ([`lock`](crate::lock)).
//!
//! A process that is killed before its first run leaves some of the first three files. Whoever starts the same study there again
//! takes them over; another study needs `force`.

mod sums;

use std::fs::{self, File};
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};

use seekwise_formats::study::review::{Review, ReviewPart};
use seekwise_lab::run::RunRecord;

use crate::error::Error;
use crate::foreign::{self, is_there};
use crate::lock::WriteLock;
use crate::reading::{Files, MADE, holds_results};
use crate::seal::{check_line, seal_line};
use crate::shell::quoted;
use crate::store::Store;
use crate::system::outputs::{check_output_folder, create_folder, open_append, open_read, open_update, write_whole};
use crate::system::unfinished::lock_unfinished;
use sums::SUMS;

/// The origin of results: of a study, and of a review's parts.
pub use seekwise_lab::provenance::parts::ReviewProvenance;
pub use seekwise_lab::provenance::{CellProvenance, StudyProvenance};

const STUDY: &str = "study.toml";
const LINES: &str = "results.jsonl";

/// The page.
pub const PAGE: &str = "report.html";

/// An open result folder, which nobody else writes.
pub struct ResultFolder {
    path: PathBuf,
    lines: File,
    _lock: WriteLock,
}

/// The manifest of a result folder.
pub struct StudyManifest {
    /// The study's text.
    pub study: String,
    /// The origin of the results.
    pub made: StudyProvenance,
}

/// Why a folder could not be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum FolderError {
    /// The folder or a file in it could not be read or written.
    Io(PathBuf, io::Error),
    /// The folder holds results already, and going on was not asked for.
    Holds(PathBuf),
    /// The folder has no results yet, and this file of it is that of another study or was changed.
    Begun(PathBuf),
    /// A file lies where one of a result folder is to be, and the folder is none of ours.
    Foreign(PathBuf),
    /// The folder does not say what made its results.
    Unknown(PathBuf),
    /// The folder has results and no sums.
    Unsealed(PathBuf),
    /// A file does not fit the others.
    Unfit(PathBuf, String),
    /// A line is not the record that the plan has there.
    Line(PathBuf, usize, String),
    /// A line is not as it was written.
    Changed(PathBuf, usize, String),
}

impl From<FolderError> for Error {
    fn from(error: FolderError) -> Error {
        Error::new(error)
    }
}

impl std::fmt::Display for FolderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FolderError::Io(path, error) => write!(f, "{}: {error}", path.display()),
            FolderError::Holds(path) => write!(
                f,
                "{}: already holds results; --force overwrites them, another --out keeps them, `seekwise study {} \
                 --resume` continues them",
                path.display(),
                quoted(&path.to_string_lossy())
            ),
            FolderError::Begun(path) => write!(
                f,
                "{}: is not the one that this study writes: another study was begun here, or the file was changed; --force \
                 overwrites it, another --out keeps it",
                path.display()
            ),
            FolderError::Foreign(path) => write!(
                f,
                "{}: exists, but no {MADE} shows that Seekwise wrote it, so it is not overwritten; use another --out",
                path.display()
            ),
            FolderError::Unknown(path) => write!(
                f,
                "{}: has no {MADE} and no {STUDY}, so the origin of its results is unknown; run the study again, \
                 into another folder",
                path.display()
            ),
            FolderError::Unsealed(path) => write!(
                f,
                "{}: has no {SUMS}, so that nothing shows whether its files are as they were written; run the study again, into \
                 another folder",
                path.display()
            ),
            FolderError::Unfit(path, why) => write!(f, "{}: {why}", path.display()),
            FolderError::Line(path, line, error) => write!(
                f,
                "{}:{line}: {error}. Without this line and those after it, --resume makes the rest again",
                path.display()
            ),
            FolderError::Changed(path, line, why) => {
                write!(f, "{}:{line}: {why}. Run the study again, into another folder", path.display())
            }
        }
    }
}

impl std::error::Error for FolderError {}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> FolderError {
    let path = path.to_owned();
    move |error| FolderError::Io(path, error)
}

/// Whether a folder holds results.
pub fn holds(folder: &Path) -> bool {
    // An empty file is what a process leaves that was killed before its first run ended.
    folder.join(LINES).symlink_metadata().is_ok_and(|there| !there.is_file() || there.len() > 0)
}

/// Whether a folder says what made its results.
pub fn says(folder: &Path) -> bool {
    holds_results(folder)
}

/// Locks a folder for writing, if it is there already.
pub fn lock(folder: &Path) -> Result<Option<WriteLock>, FolderError> {
    check_output_folder(folder).map_err(|why| FolderError::Unfit(folder.to_owned(), why.to_string()))?;
    WriteLock::of_known(folder).map_err(io_error(folder))
}

/// The folder of this name in another one, which must not lead out of it.
pub fn below(parent: &Path, name: &str) -> Result<PathBuf, FolderError> {
    let folder = parent.join(name);
    check_output_folder(&folder).map_err(io_error(&folder))?;
    Ok(folder)
}

/// A text of a folder.
fn read_text(files: &Files, folder: &Path, name: &str) -> Result<String, FolderError> {
    let path = folder.join(name);
    foreign::text(files, &path).map_err(io_error(&path))
}

/// Reads the manifest of a folder.
pub fn kept(files: &Files, folder: &Path) -> Result<StudyManifest, FolderError> {
    if folder.is_file() {
        return Err(FolderError::Unfit(folder.to_owned(), "it is a file; expected a result folder".to_owned()));
    }
    fs::read_dir(folder).map_err(io_error(folder))?;
    let read = |name: &str| match read_text(files, folder, name) {
        Err(FolderError::Io(_, error)) if error.kind() == io::ErrorKind::NotFound => {
            Err(FolderError::Unknown(folder.to_owned()))
        }
        read => read,
    };
    let unfit = |why: String| FolderError::Unfit(folder.join(MADE), why);
    let (study, made) = (read(STUDY)?, read(MADE)?);
    // A process that was killed while it began a folder left no sums: they are written when it goes on.
    if !sums::check_sums(files, folder, &[(STUDY, &study), (MADE, &made)])? && holds(folder) {
        return Err(FolderError::Unsealed(folder.to_owned()));
    }
    let made: StudyProvenance = serde_json::from_str(&made).map_err(|error| unfit(error.to_string()))?;
    made.check_study(&study).map_err(unfit)?;
    Ok(StudyManifest { study, made })
}

/// The manifest of the folder of a review.
pub struct ReviewManifest {
    /// The review's text.
    pub text: String,
    /// The origin of its parts.
    pub made: ReviewProvenance,
}

/// Reads the manifest of a review's folder; `None` if it is a study's. Each part must be the one that the review was made of.
pub fn kept_review(files: &Files, folder: &Path) -> Result<Option<ReviewManifest>, FolderError> {
    let bytes = read_text(files, folder, MADE)?;
    let Ok(made) = serde_json::from_str::<ReviewProvenance>(&bytes) else { return Ok(None) };
    let text = read_text(files, folder, STUDY)?;
    if !sums::check_sums(files, folder, &[(STUDY, &text), (MADE, &bytes)])? {
        return Err(FolderError::Unsealed(folder.to_owned()));
    }
    let unfit = |why: String| FolderError::Unfit(folder.join(MADE), why);
    made.check_review(&text).map_err(unfit)?;
    let review = Review::parse(STUDY, &text).map_err(|faults| unfit(Error::from(faults).to_string()))?;
    // A name in the file alone could lead anywhere.
    if !review.part.iter().map(ReviewPart::folder).eq(made.parts.iter().map(|part| part.folder.as_str())) {
        return Err(unfit(format!("its parts are not those of {STUDY}")));
    }
    for (place, part) in review.part.iter().enumerate() {
        made.check_part(place, &kept(files, &below(folder, part.folder())?)?.made).map_err(unfit)?;
    }
    Ok(Some(ReviewManifest { text, made }))
}

/// Whether a folder says that it holds the parts of a review.
fn is_review(files: &Files, folder: &Path) -> bool {
    read_text(files, folder, MADE).is_ok_and(|made| serde_json::from_str::<ReviewProvenance>(&made).is_ok())
}

/// Checks whether a review's results may go to `folder`: with `resume`, to go on from those of the same review; with
/// `force`, to replace what it holds.
pub(crate) fn admit_review(
    files: &Files,
    folder: &Path,
    text: &str,
    resume: bool,
    force: bool,
) -> Result<(), FolderError> {
    if !says(folder) || !is_review(files, folder) {
        return admit(files, folder, text, force);
    }
    match (resume, force) {
        (_, true) => Ok(()),
        (true, _) if read_text(files, folder, STUDY)? == text => Ok(()),
        (true, _) => {
            let why = "cannot continue: it holds results of another study; use another --out".to_owned();
            Err(FolderError::Unfit(folder.to_owned(), why))
        }
        _ => Err(FolderError::Holds(folder.to_owned())),
    }
}

/// Writes a review, and the origin of its parts, beside them. Files that are there and differ are replaced only with `force`.
pub(crate) fn say_review(
    files: &Files,
    folder: &Path,
    text: &str,
    made: &ReviewProvenance,
    force: bool,
) -> Result<(), FolderError> {
    let made = made.to_text();
    if !force {
        require_same(files, folder, &made)?;
    }
    write_kept(files, folder, text, &made)
}

/// An error if the folder tells another origin of its results than `made`.
fn require_same(files: &Files, folder: &Path, made: &str) -> Result<(), FolderError> {
    match says(folder) && read_text(files, folder, MADE)? != made {
        true => Err(FolderError::Begun(folder.join(MADE))),
        false => Ok(()),
    }
}

/// Writes a study or review, the origin of its results, and then their sums; results are written after these. Files that are there as
/// they are to be stay. Old sums are removed first: a program that is killed on the way leaves none that fit nothing.
fn write_kept(files: &Files, folder: &Path, study: &str, made: &str) -> Result<(), FolderError> {
    let texts = [(STUDY, study), (MADE, made)];
    let is_kept = |(name, text): &(&str, &str)| foreign::text(files, &folder.join(name)).is_ok_and(|it| it == *text);
    if texts.iter().all(is_kept) && sums::check_sums(files, folder, &texts).unwrap_or(false) {
        return Ok(());
    }
    remove_if_there(&folder.join(SUMS))?;
    // The study itself may lie there.
    for (name, text) in texts.iter().filter(|text| !is_kept(text)) {
        let path = folder.join(name);
        write_whole(&path, text.as_bytes(), true).map_err(io_error(&path))?;
    }
    sums::write_sums(folder, &texts)
}

/// Removes a file that may not be there.
fn remove_if_there(path: &Path) -> Result<(), FolderError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(FolderError::Io(path.to_owned(), error)),
        _ => Ok(()),
    }
}

impl ResultFolder {
    /// Makes `folder` a result folder of `study`, with `made` as the origin. Results that it holds already are replaced
    /// only with `force`, and files that Seekwise did not write never.
    pub fn begin(
        files: &Files,
        folder: &Path,
        study: &str,
        made: &StudyProvenance,
        force: bool,
    ) -> Result<ResultFolder, FolderError> {
        admit(files, folder, study, force)?;
        let unmade = |error| FolderError::Unfit(folder.to_owned(), format!("cannot be created: {error}"));
        create_folder(folder).map_err(unmade)?;
        let lock = WriteLock::of_folder(folder).map_err(io_error(folder))?;
        ResultFolder::begin_locked(files, lock, folder, study, made, force)
    }

    /// Begins results in a folder that is there and locked.
    pub(crate) fn begin_locked(
        files: &Files,
        lock: WriteLock,
        folder: &Path,
        study: &str,
        made: &StudyProvenance,
        force: bool,
    ) -> Result<ResultFolder, FolderError> {
        admit(files, folder, study, force)?;
        let text = made.to_text();
        match force {
            true => clear_results(files, folder)?,
            false => require_same(files, folder, &text)?,
        }
        write_kept(files, folder, study, &text)?;
        ResultFolder::append_to(lock, folder)
    }

    /// Goes on in a folder with this manifest; returns the runs that are there. A line that was being written when a run
    /// was killed is cut off, to be made again.
    pub fn go_on(
        files: &Files,
        lock: WriteLock,
        folder: &Path,
        kept: &StudyManifest,
    ) -> Result<(ResultFolder, Vec<RunRecord>), FolderError> {
        if !holds(folder) {
            let begun = ResultFolder::begin_locked(files, lock, folder, &kept.study, &kept.made, false)?;
            return Ok((begun, Vec::new()));
        }
        let path = folder.join(LINES);
        let (done, whole) = parse_lines(files, &path, kept)?;
        lock_unfinished().count_kept_records(done.len() as u64);
        let cut_off = |file: File| if file.metadata()?.len() > whole { file.set_len(whole) } else { Ok(()) };
        open_update(&path).and_then(cut_off).map_err(io_error(&path))?;
        Ok((ResultFolder::append_to(lock, folder)?, done))
    }

    /// The path of the folder.
    pub fn folder(&self) -> &Path {
        self.path.parent().expect("results are in a folder")
    }

    fn append_to(lock: WriteLock, folder: &Path) -> Result<ResultFolder, FolderError> {
        let path = folder.join(LINES);
        let lines = open_append(&path).map_err(io_error(&path))?;
        Ok(ResultFolder { path, lines, _lock: lock })
    }

    /// Appends a run, which is on its way to the disk when this returns.
    pub fn append(&mut self, record: &RunRecord) -> Result<(), FolderError> {
        let line = line_of(record);
        let mut unfinished = lock_unfinished();
        self.lines.write_all(line.as_bytes()).map_err(io_error(&self.path))?;
        unfinished.count_kept_records(1);
        Ok(())
    }
}

impl Store for ResultFolder {
    fn keep(&mut self, record: &RunRecord) -> Result<(), Error> {
        Ok(self.append(record)?)
    }
}

/// Checks whether results of `study` may go to `folder`; changes nothing. No plan is needed, so this is checked before one is made.
pub fn admit(files: &Files, folder: &Path, study: &str, force: bool) -> Result<(), FolderError> {
    check_output_folder(folder).map_err(|why| FolderError::Unfit(folder.to_owned(), why.to_string()))?;
    let same = || read_text(files, folder, STUDY).is_ok_and(|there| there == study);
    if !says(folder) {
        // The study itself may lie there.
        let names = [STUDY, LINES, SUMS, PAGE].into_iter().skip(usize::from(same()));
        let there = names.map(|name| folder.join(name)).find(|path| is_there(path));
        return there.map_or(Ok(()), |path| Err(FolderError::Foreign(path)));
    }
    match force {
        true => Ok(()),
        false if holds(folder) || is_review(files, folder) => Err(FolderError::Holds(folder.to_owned())),
        false if is_there(&folder.join(STUDY)) && !same() => Err(FolderError::Begun(folder.join(STUDY))),
        false => Ok(()),
    }
}

/// Removes the results in `folder`.
fn clear_results(files: &Files, folder: &Path) -> Result<(), FolderError> {
    let lines = folder.join(LINES);
    if holds(folder) || is_review(files, folder) {
        // A file that is none of ours has no runs.
        let runs = whole_lines(files, &lines).unwrap_or(0);
        let runs = if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") };
        log::info!("overwriting the results in {} ({runs})", folder.display());
    }
    let _unfinished = lock_unfinished();
    [LINES, SUMS, PAGE].into_iter().try_for_each(|name| remove_if_there(&folder.join(name)))
}

/// The line of a record, with its sum.
pub(crate) fn line_of(record: &RunRecord) -> String {
    seal_line("", &serde_json::to_string(record).expect("a record has no keys but strings"))
}

/// Counts the lines of a file that have their end.
fn whole_lines(files: &Files, path: &Path) -> io::Result<usize> {
    let (mut lines, mut line, mut count) = (BufReader::new(open_read(path)?), Vec::new(), 0);
    loop {
        files.read_line(&mut lines, &mut line)?;
        match line.ends_with(b"\n") {
            true => count += 1,
            false => return Ok(count),
        }
    }
}

/// Reads the records of whole lines, of which the first is number `first` of the plan `order` of `made`; checks each
/// against the plan, its sum and its own figures. An error names the line.
#[cfg(feature = "parquet")]
pub(crate) fn read_lines(
    made: &StudyProvenance,
    order: &[(usize, usize)],
    first: usize,
    whole: &[u8],
) -> Result<Vec<RunRecord>, (usize, String)> {
    let lines = whole.split_inclusive(|&byte| byte == b'\n').enumerate();
    let record = |(index, line)| record_of(made, order, first + index, line).map_err(|why| (index + 1, why));
    lines.map(record).collect()
}

/// The record of a line, which is number `index` of the plan.
fn record_of(made: &StudyProvenance, order: &[(usize, usize)], index: usize, line: &[u8]) -> Result<RunRecord, String> {
    let text = std::str::from_utf8(line).map_err(|error| error.to_string())?;
    let record: RunRecord = serde_json::from_str(text).map_err(|error| error.to_string())?;
    made.check_record(order, index, &record)?;
    record.check_figures()?;
    check_line("", text).map(|()| record)
}

/// Reads the records of a folder with this manifest, and checks each against the plan, its sum, and its own figures; a
/// last line without its end is left out.
pub fn records(files: &Files, folder: &Path, kept: &StudyManifest) -> Result<Vec<RunRecord>, FolderError> {
    parse_lines(files, &folder.join(LINES), kept).map(|(records, _)| records)
}

/// Returns (the records of lines that have their end, the bytes of these lines). The file is read line by line: that of a
/// review's part has tens of megabytes.
fn parse_lines(files: &Files, path: &Path, kept: &StudyManifest) -> Result<(Vec<RunRecord>, u64), FolderError> {
    let mut lines = BufReader::new(open_read(path).map_err(io_error(path))?);
    let (mut records, mut whole) = (Vec::new(), 0);
    let (mut order, mut line) = (Vec::new(), Vec::new());
    loop {
        files.read_line(&mut lines, &mut line).map_err(io_error(path))?;
        if !line.ends_with(b"\n") {
            return Ok((records, whole));
        }
        let index = records.len();
        // A line beyond the end of the order is a fault, which its check reports.
        if index >= order.len() {
            order = self::plan_order(path, kept, &records)?;
            records.reserve_exact(order.len().saturating_sub(index));
        }
        let read = record_of(&kept.made, &order, index, &line);
        records.push(read.map_err(|why| FolderError::Line(path.to_owned(), index + 1, why))?);
        whole += line.len() as u64;
    }
}

/// The plan's order, as far as its first records decide it.
fn plan_order(path: &Path, kept: &StudyManifest, records: &[RunRecord]) -> Result<Vec<(usize, usize)>, FolderError> {
    if kept.made.sampling.is_none() {
        return Ok(kept.made.fixed_order());
    }
    let unfit = |faults| FolderError::Unfit(path.with_file_name(STUDY), Error::from(faults).to_string());
    let study = seekwise_formats::study::parse(STUDY, &kept.study).map_err(unfit)?;
    Ok(seekwise_lab::rounds::sample_order(&study, &kept.made, records))
}
