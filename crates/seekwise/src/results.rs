//! Result folders: each keeps the origin of its results, written once before the first run, and one JSON line a run. A
//! folder is complete after each run, in the plan's order whatever the number of cores, so that a killed study goes on
//! where it stopped.
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
//! `study.toml` (the review), `made-from.json` (the hash of what made each part), their `sums.txt`, `report.html`, and
//! a result folder for each part.
//!
//! Files are checked against their sums when they are read, and the figures of a record against one another. A folder
//! may come from somebody else, so that no link in it is followed ([`foreign`]). Only one process at a time writes it
//! ([`lock`](crate::lock)).
//!
//! A process that is killed before its first run leaves some of the first three files. The next start of the same study
//! in that folder takes them over; another study needs `force`.

mod sums;

use std::fs::{self, File};
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};

use seekwise_formats::study::Study;
use seekwise_formats::study::review::{Review, ReviewPart};
use seekwise_lab::run::RunRecord;

use crate::error::Error;
use crate::foreign::{self, entry_exists};
use crate::lock::WriteLock;
use crate::reading::{Files, ORIGIN_FILE};
#[cfg(feature = "parquet")]
use crate::seal::LineFault;
use crate::seal::{check_line, seal_line};
use crate::shell::quote_for_shell;
use crate::store::Store;
use crate::system::outputs::{check_output_folder, create_folder, open_append, open_read, open_update, write_whole};
use crate::system::unfinished::lock_unfinished;
use sums::SUMS;

/// Whether a folder says from what its results were made.
pub use crate::reading::is_result_folder;

/// The origin of results: of a study, and of a review's parts.
pub use seekwise_lab::provenance::parts::ReviewProvenance;
pub use seekwise_lab::provenance::{CellProvenance, StudyProvenance};

const STUDY_FILE: &str = "study.toml";
const RECORDS_FILE: &str = "results.jsonl";

/// The file of the page.
pub const PAGE: &str = "report.html";

/// An open result folder, which nobody else writes.
pub struct ResultFolder {
    records_path: PathBuf,
    records_file: File,
    _lock: WriteLock,
}

/// What a result folder says of its results.
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
    /// The folder holds results already, and nobody asked to go on with them or to replace them.
    Holds(PathBuf),
    /// The folder has no results yet, and this file of it belongs to another study or was changed.
    Begun(PathBuf),
    /// A file lies where a result folder has one, but the folder is none of ours.
    Foreign(PathBuf),
    /// The folder does not say from what its results were made.
    Unknown(PathBuf),
    /// The folder has results and no sums.
    Unsealed(PathBuf),
    /// A file does not fit the others; why.
    Unfit(PathBuf, String),
    /// A line of a file, counted from 1, is not the record that the plan has there; why.
    Line(PathBuf, usize, String),
    /// A line of a file, counted from 1, is not as it was written; why.
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
                quote_for_shell(&path.to_string_lossy())
            ),
            FolderError::Begun(path) => write!(
                f,
                "{}: is not the one that this study writes: another study was begun here, or the file was changed; --force \
                 overwrites it, another --out keeps it",
                path.display()
            ),
            FolderError::Foreign(path) => write!(
                f,
                "{}: exists, but no {ORIGIN_FILE} shows that Seekwise wrote it, so it is not overwritten; use another --out",
                path.display()
            ),
            FolderError::Unknown(path) => write!(
                f,
                "{}: has no {ORIGIN_FILE} and no {STUDY_FILE}, so the origin of its results is unknown; run the study again, \
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

/// Whether a folder holds records of runs.
pub fn holds_records(folder: &Path) -> bool {
    // An empty file is what a process leaves that was killed before its first run ended.
    folder.join(RECORDS_FILE).symlink_metadata().is_ok_and(|there| !there.is_file() || there.len() > 0)
}

/// Locks a folder for writing; `None` if it does not exist yet.
pub fn lock_existing_folder(folder: &Path) -> Result<Option<WriteLock>, FolderError> {
    check_output_folder(folder).map_err(|why| FolderError::Unfit(folder.to_owned(), why.to_string()))?;
    WriteLock::of_existing_folder(folder).map_err(io_error(folder))
}

/// The folder of this name in `parent`; an error if a link leads out of it.
pub fn checked_subfolder(parent: &Path, name: &str) -> Result<PathBuf, FolderError> {
    let folder = parent.join(name);
    check_output_folder(&folder).map_err(io_error(&folder))?;
    Ok(folder)
}

/// Reads a file of a result folder.
fn read_text(files: &Files, folder: &Path, name: &str) -> Result<String, FolderError> {
    let path = folder.join(name);
    foreign::read_regular_text(files, &path).map_err(io_error(&path))
}

/// Reads what the result folder of a study says of its results; checks it against its sums.
pub fn read_study_manifest(files: &Files, folder: &Path) -> Result<StudyManifest, FolderError> {
    if folder.is_file() {
        return Err(FolderError::Unfit(folder.to_owned(), "it is a file; expected a result folder".to_owned()));
    }
    fs::read_dir(folder).map_err(io_error(folder))?;
    let read_kept = |name: &str| match read_text(files, folder, name) {
        Err(FolderError::Io(_, error)) if error.kind() == io::ErrorKind::NotFound => {
            Err(FolderError::Unknown(folder.to_owned()))
        }
        read => read,
    };
    let unfit = |why: String| FolderError::Unfit(folder.join(ORIGIN_FILE), why);
    let (study, made) = (read_kept(STUDY_FILE)?, read_kept(ORIGIN_FILE)?);
    // A process that was killed while it began a folder left no sums: they are written when it goes on.
    if !sums::check_sums(files, folder, &[(STUDY_FILE, &study), (ORIGIN_FILE, &made)])? && holds_records(folder) {
        return Err(FolderError::Unsealed(folder.to_owned()));
    }
    let made: StudyProvenance = serde_json::from_str(&made).map_err(|error| unfit(error.to_string()))?;
    made.check_study(&study).map_err(unfit)?;
    Ok(StudyManifest { study, made })
}

/// What a review's folder says of its parts.
pub struct ReviewManifest {
    /// The review's text.
    pub text: String,
    /// The origin of its parts.
    pub made: ReviewProvenance,
}

/// Reads what a review's folder says of its parts; `None` if it is a study's folder. An error unless each part is the
/// one that the review was made of.
pub fn read_review_manifest(files: &Files, folder: &Path) -> Result<Option<ReviewManifest>, FolderError> {
    let origin = read_text(files, folder, ORIGIN_FILE)?;
    let Ok(made) = serde_json::from_str::<ReviewProvenance>(&origin) else { return Ok(None) };
    let text = read_text(files, folder, STUDY_FILE)?;
    if !sums::check_sums(files, folder, &[(STUDY_FILE, &text), (ORIGIN_FILE, &origin)])? {
        return Err(FolderError::Unsealed(folder.to_owned()));
    }
    let unfit = |why: String| FolderError::Unfit(folder.join(ORIGIN_FILE), why);
    made.check_review(&text).map_err(unfit)?;
    let review = Review::parse(STUDY_FILE, &text).map_err(|faults| unfit(Error::from(faults).to_string()))?;
    // A part's name that the review does not have could lead anywhere.
    if !review.part.iter().map(ReviewPart::folder).eq(made.parts.iter().map(|part| part.folder.as_str())) {
        return Err(unfit(format!("its parts are not those of {STUDY_FILE}")));
    }
    for (index, part) in review.part.iter().enumerate() {
        made.check_part(index, &read_study_manifest(files, &checked_subfolder(folder, part.folder())?)?.made)
            .map_err(unfit)?;
    }
    Ok(Some(ReviewManifest { text, made }))
}

/// Whether the origin that a folder tells is that of a review.
fn is_review_folder(files: &Files, folder: &Path) -> bool {
    read_text(files, folder, ORIGIN_FILE).is_ok_and(|made| serde_json::from_str::<ReviewProvenance>(&made).is_ok())
}

/// An error if a review's results must not go to `folder`: with `resume`, they may if it holds the same review; with
/// `force`, in place of what it holds.
pub(crate) fn check_review_destination(
    files: &Files,
    folder: &Path,
    review_text: &str,
    resume: bool,
    force: bool,
) -> Result<(), FolderError> {
    if !is_result_folder(folder) || !is_review_folder(files, folder) {
        return check_study_destination(files, folder, review_text, force);
    }
    match (resume, force) {
        (_, true) => Ok(()),
        (true, _) if read_text(files, folder, STUDY_FILE)? == review_text => Ok(()),
        (true, _) => {
            let why = "cannot continue: it holds results of another study; use another --out".to_owned();
            Err(FolderError::Unfit(folder.to_owned(), why))
        }
        _ => Err(FolderError::Holds(folder.to_owned())),
    }
}

/// Writes a review's text and the origin of its parts into its folder. Other files of these names are replaced only
/// with `force`.
pub(crate) fn write_review_manifest(
    files: &Files,
    folder: &Path,
    text: &str,
    made: &ReviewProvenance,
    force: bool,
) -> Result<(), FolderError> {
    let made = made.to_text();
    if !force {
        require_same_origin(files, folder, &made)?;
    }
    write_manifest(files, folder, text, &made)
}

/// An error if the folder tells another origin of its results than this.
fn require_same_origin(files: &Files, folder: &Path, origin: &str) -> Result<(), FolderError> {
    match is_result_folder(folder) && read_text(files, folder, ORIGIN_FILE)? != origin {
        true => Err(FolderError::Begun(folder.join(ORIGIN_FILE))),
        false => Ok(()),
    }
}

/// Writes a study or review, the origin of its results, and then the sums of both; records are written after these.
/// Files that are as they are to be stay. Old sums are removed first: a program that is killed on the way leaves none
/// that fit nothing.
fn write_manifest(files: &Files, folder: &Path, study: &str, origin: &str) -> Result<(), FolderError> {
    let texts = [(STUDY_FILE, study), (ORIGIN_FILE, origin)];
    let is_kept = |(name, text): &(&str, &str)| {
        foreign::read_regular_text(files, &folder.join(name)).is_ok_and(|kept| kept == *text)
    };
    if texts.iter().all(is_kept) && sums::check_sums(files, folder, &texts).unwrap_or(false) {
        return Ok(());
    }
    remove_if_there(&folder.join(SUMS))?;
    // The study's own file may lie in the folder already.
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
    /// Makes `folder` a result folder of the study with this text and this origin. Results that it holds already are
    /// replaced only with `force`, and files that Seekwise did not write never.
    pub fn begin(
        files: &Files,
        folder: &Path,
        study: &str,
        made: &StudyProvenance,
        force: bool,
    ) -> Result<ResultFolder, FolderError> {
        check_study_destination(files, folder, study, force)?;
        let creation_error = |error| FolderError::Unfit(folder.to_owned(), format!("cannot be created: {error}"));
        create_folder(folder).map_err(creation_error)?;
        let lock = WriteLock::of_folder(folder).map_err(io_error(folder))?;
        ResultFolder::begin_locked(files, lock, folder, study, made, force)
    }

    /// Begins results in a folder that exists and is locked.
    pub(crate) fn begin_locked(
        files: &Files,
        lock: WriteLock,
        folder: &Path,
        study: &str,
        made: &StudyProvenance,
        force: bool,
    ) -> Result<ResultFolder, FolderError> {
        check_study_destination(files, folder, study, force)?;
        let origin = made.to_text();
        match force {
            true => clear_results(files, folder)?,
            false => require_same_origin(files, folder, &origin)?,
        }
        write_manifest(files, folder, study, &origin)?;
        ResultFolder::open_for_append(lock, folder)
    }

    /// Goes on in a folder with this manifest; returns it, and the records that it holds. A line that was being written
    /// when its writer was killed is cut off, and its run is to be made again.
    pub fn resume(
        files: &Files,
        lock: WriteLock,
        folder: &Path,
        kept: &StudyManifest,
    ) -> Result<(ResultFolder, Vec<RunRecord>), FolderError> {
        if !holds_records(folder) {
            let begun = ResultFolder::begin_locked(files, lock, folder, &kept.study, &kept.made, false)?;
            return Ok((begun, Vec::new()));
        }
        let records_path = folder.join(RECORDS_FILE);
        let (records, whole_bytes) = read_whole_records(files, &records_path, kept)?;
        lock_unfinished().count_kept_records(records.len() as u64);
        let cut_torn_line =
            |file: File| if file.metadata()?.len() > whole_bytes { file.set_len(whole_bytes) } else { Ok(()) };
        open_update(&records_path).and_then(cut_torn_line).map_err(io_error(&records_path))?;
        Ok((ResultFolder::open_for_append(lock, folder)?, records))
    }

    /// The path of the folder.
    pub fn folder(&self) -> &Path {
        self.records_path.parent().expect("results are in a folder")
    }

    fn open_for_append(lock: WriteLock, folder: &Path) -> Result<ResultFolder, FolderError> {
        let records_path = folder.join(RECORDS_FILE);
        let records_file = open_append(&records_path).map_err(io_error(&records_path))?;
        Ok(ResultFolder { records_path, records_file, _lock: lock })
    }

    /// Appends the record of a run; it is with the operating system when this returns.
    pub fn append(&mut self, record: &RunRecord) -> Result<(), FolderError> {
        let line = record_line(record);
        let mut unfinished = lock_unfinished();
        self.records_file.write_all(line.as_bytes()).map_err(io_error(&self.records_path))?;
        unfinished.count_kept_records(1);
        Ok(())
    }
}

impl Store for ResultFolder {
    fn keep(&mut self, record: &RunRecord) -> Result<(), Error> {
        Ok(self.append(record)?)
    }
}

/// An error if results of the study with this text must not go to `folder`; changes nothing. No plan is needed, so that
/// this is checked before one is made.
pub fn check_study_destination(files: &Files, folder: &Path, study: &str, force: bool) -> Result<(), FolderError> {
    check_output_folder(folder).map_err(|why| FolderError::Unfit(folder.to_owned(), why.to_string()))?;
    let has_same_study = || read_text(files, folder, STUDY_FILE).is_ok_and(|kept| kept == study);
    if !is_result_folder(folder) {
        // The study itself may lie there.
        let names = [STUDY_FILE, RECORDS_FILE, SUMS, PAGE].into_iter().skip(usize::from(has_same_study()));
        let foreign_file = names.map(|name| folder.join(name)).find(|path| entry_exists(path));
        return foreign_file.map_or(Ok(()), |path| Err(FolderError::Foreign(path)));
    }
    match force {
        true => Ok(()),
        false if holds_records(folder) || is_review_folder(files, folder) => Err(FolderError::Holds(folder.to_owned())),
        false if entry_exists(&folder.join(STUDY_FILE)) && !has_same_study() => {
            Err(FolderError::Begun(folder.join(STUDY_FILE)))
        }
        false => Ok(()),
    }
}

/// Removes the records, the sums and the page in `folder`.
fn clear_results(files: &Files, folder: &Path) -> Result<(), FolderError> {
    let records_path = folder.join(RECORDS_FILE);
    if holds_records(folder) || is_review_folder(files, folder) {
        // A file that is none of ours has no runs.
        let runs = count_whole_lines(files, &records_path).unwrap_or(0);
        let runs = if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") };
        log::info!("overwriting the results in {} ({runs})", folder.display());
    }
    let _unfinished = lock_unfinished();
    [RECORDS_FILE, SUMS, PAGE].into_iter().try_for_each(|name| remove_if_there(&folder.join(name)))
}

/// The files of a study's result folder but its page, by name: what a folder with these results would hold.
pub fn folder_texts(study: &Study, made: &StudyProvenance, records: &[RunRecord]) -> Vec<(&'static str, String)> {
    let (study, made) = (study.to_text(), made.to_text());
    let sums = sums::sums_text(&[(STUDY_FILE, &study), (ORIGIN_FILE, &made)]);
    let lines = records.iter().map(record_line).collect();
    vec![(STUDY_FILE, study), (ORIGIN_FILE, made), (SUMS, sums), (RECORDS_FILE, lines)]
}

/// The line of a record, with its sum.
pub(crate) fn record_line(record: &RunRecord) -> String {
    seal_line("", &serde_json::to_string(record).expect("a record has no keys but strings"))
}

/// Counts the lines of a file that have their end.
fn count_whole_lines(files: &Files, path: &Path) -> io::Result<usize> {
    let (mut reader, mut line, mut count) = (BufReader::new(open_read(path)?), Vec::new(), 0);
    loop {
        files.read_line(&mut reader, &mut line)?;
        match line.ends_with(b"\n") {
            true => count += 1,
            false => return Ok(count),
        }
    }
}

/// Reads the records of whole lines, the first of which has the number `first` in the plan's order; checks each against
/// the plan, its sum and its own figures.
#[cfg(feature = "parquet")]
pub(crate) fn parse_record_lines(
    made: &StudyProvenance,
    order: &[(usize, usize)],
    first: usize,
    lines: &[u8],
) -> Result<Vec<RunRecord>, LineFault> {
    let numbered = lines.split_inclusive(|&byte| byte == b'\n').enumerate();
    let parse = |(index, line)| {
        parse_record_line(made, order, first + index, line).map_err(|why| LineFault { line: index + 1, why })
    };
    numbered.map(parse).collect()
}

/// Parses the line with this number in the plan's order, counted from 0, and checks its record.
fn parse_record_line(
    made: &StudyProvenance,
    order: &[(usize, usize)],
    index: usize,
    line: &[u8],
) -> Result<RunRecord, String> {
    let text = std::str::from_utf8(line).map_err(|error| error.to_string())?;
    let record: RunRecord = serde_json::from_str(text).map_err(|error| error.to_string())?;
    made.check_record(order, index, &record)?;
    record.check_figures()?;
    check_line("", text).map(|()| record)
}

/// Reads the records of a folder with this manifest, and checks each against the plan, its sum, and its own figures. A
/// last line without its end is left out.
pub fn read_records(files: &Files, folder: &Path, kept: &StudyManifest) -> Result<Vec<RunRecord>, FolderError> {
    read_whole_records(files, &folder.join(RECORDS_FILE), kept).map(|(records, _)| records)
}

/// Returns (the records of all lines that have their end, the bytes of these lines). The file is read line by line: a
/// part of a review may have tens of megabytes.
fn read_whole_records(files: &Files, path: &Path, kept: &StudyManifest) -> Result<(Vec<RunRecord>, u64), FolderError> {
    let mut reader = BufReader::new(open_read(path).map_err(io_error(path))?);
    let (mut records, mut whole_bytes) = (Vec::new(), 0);
    let (mut order, mut line) = (Vec::new(), Vec::new());
    loop {
        files.read_line(&mut reader, &mut line).map_err(io_error(path))?;
        if !line.ends_with(b"\n") {
            return Ok((records, whole_bytes));
        }
        let index = records.len();
        // A line beyond the end of the order is a fault, which the check of its record reports.
        if index >= order.len() {
            order = plan_order(path, kept, &records)?;
            records.reserve_exact(order.len().saturating_sub(index));
        }
        let parsed = parse_record_line(&kept.made, &order, index, &line);
        records.push(parsed.map_err(|why| FolderError::Line(path.to_owned(), index + 1, why))?);
        whole_bytes += line.len() as u64;
    }
}

/// The plan's order of runs (cell, run), as far as its first records decide it.
fn plan_order(path: &Path, kept: &StudyManifest, records: &[RunRecord]) -> Result<Vec<(usize, usize)>, FolderError> {
    if kept.made.sampling.is_none() {
        return Ok(kept.made.fixed_order());
    }
    let unfit = |faults| FolderError::Unfit(path.with_file_name(STUDY_FILE), Error::from(faults).to_string());
    let study = seekwise_formats::study::parse(STUDY_FILE, &kept.study).map_err(unfit)?;
    Ok(seekwise_lab::rounds::sample_order(&study, &kept.made, records))
}
