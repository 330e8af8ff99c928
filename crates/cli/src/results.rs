//! A result folder: what made the results, written once before the first run, and one JSON line a run. Complete after
//! each run, in the plan's order whatever the number of cores; a killed study goes on where it stopped.
//!
//! ```text
//! out/study.toml       the study, byte for byte
//! out/made-from.json   the program, all texts that were read, all settings of each cell, the seeds
//! out/results.jsonl    one line a run, in the plan's order; each names the hash of its cell
//! out/report.html      made from the three
//! ```
//!
//! Nothing else is read to make the report again or to go on: a folder can be carried anywhere.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use seekwise_lab::made::MadeFrom;
use seekwise_lab::run::RunRecord;

use crate::output::write_whole;

const STUDY: &str = "study.toml";
const MADE: &str = "made-from.json";
const LINES: &str = "results.jsonl";

/// An open result folder.
pub struct Results {
    path: PathBuf,
    lines: File,
}

/// What a folder says of its results.
pub struct Kept {
    /// The study's text.
    pub study: String,
    /// What made them.
    pub made: MadeFrom,
}

/// Why a folder could not be used.
#[derive(Debug)]
pub enum FolderError {
    /// The folder or a file in it could not be read or written.
    Io(PathBuf, io::Error),
    /// The folder holds results already, and going on was not asked for.
    Holds(PathBuf),
    /// The folder does not say what made its results.
    Unknown(PathBuf),
    /// A file does not fit the others.
    Unfit(PathBuf, String),
    /// A line is not the record that the plan has there.
    Line(PathBuf, usize, String),
}

impl std::fmt::Display for FolderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FolderError::Io(path, error) => write!(f, "{}: {error}", path.display()),
            FolderError::Holds(path) => write!(
                f,
                "{}: holds results already; use --resume to go on with them, or another --out",
                path.display()
            ),
            FolderError::Unknown(path) => write!(
                f,
                "{}: has no {MADE} and no {STUDY}, so that nothing says what made its results; run the study again, \
                 into another folder",
                path.display()
            ),
            FolderError::Unfit(path, why) => write!(f, "{}: {why}", path.display()),
            FolderError::Line(path, line, error) => write!(
                f,
                "{}:{line}: {error}. Without this line and those after it, --resume makes the rest again",
                path.display()
            ),
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
    folder.join(LINES).exists()
}

/// Whether a folder says what made its results.
pub fn says(folder: &Path) -> bool {
    folder.join(MADE).exists()
}

/// What a folder says of its results.
pub fn kept(folder: &Path) -> Result<Kept, FolderError> {
    fs::read_dir(folder).map_err(io_error(folder))?;
    let read = |name: &str| {
        let path = folder.join(name);
        fs::read_to_string(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => FolderError::Unknown(folder.to_owned()),
            _ => FolderError::Io(path, error),
        })
    };
    let unfit = |why: String| FolderError::Unfit(folder.join(MADE), why);
    let (study, made) = (read(STUDY)?, read(MADE)?);
    let made: MadeFrom = serde_json::from_str(&made).map_err(|error| unfit(error.to_string()))?;
    made.check(&study).map_err(unfit)?;
    Ok(Kept { study, made })
}

impl Results {
    /// Makes `folder` one of results that `made` makes of `study`. Any that it holds already stay as they are.
    pub fn begin(folder: &Path, study: &str, made: &MadeFrom) -> Result<Results, FolderError> {
        if holds(folder) {
            return Err(FolderError::Holds(folder.to_owned()));
        }
        fs::create_dir_all(folder).map_err(io_error(folder))?;
        for (name, text) in [(STUDY, study), (MADE, &made.text())] {
            let path = folder.join(name);
            write_whole(&path, text.as_bytes()).map_err(io_error(&path))?;
        }
        Results::append_to(folder)
    }

    /// Goes on in a folder whose results `made` makes: hands back the runs that are there. What was being written when
    /// a run was killed is cut off, to be made again.
    pub fn go_on(folder: &Path, made: &MadeFrom) -> Result<(Results, Vec<RunRecord>), FolderError> {
        let path = folder.join(LINES);
        let bytes = fs::read(&path).map_err(io_error(&path))?;
        let done = parse(&path, whole(&bytes), made)?;
        if whole(&bytes).len() < bytes.len() {
            write_whole(&path, whole(&bytes)).map_err(io_error(&path))?;
        }
        Ok((Results::append_to(folder)?, done))
    }

    fn append_to(folder: &Path) -> Result<Results, FolderError> {
        let path = folder.join(LINES);
        let lines = OpenOptions::new().create(true).append(true).open(&path).map_err(io_error(&path))?;
        Ok(Results { path, lines })
    }

    /// Appends a run; it is on its way to the disk when this returns.
    pub fn append(&mut self, record: &RunRecord) -> Result<(), FolderError> {
        self.lines.write_all(line_of(record).as_bytes()).map_err(io_error(&self.path))
    }
}

fn line_of(record: &RunRecord) -> String {
    let mut line = serde_json::to_string(record).expect("a record has no keys but strings");
    line.push('\n');
    line
}

/// The lines that have their end.
fn whole(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1)]
}

/// The records of a folder, each held against the plan; a last line without its end is left out.
pub fn records(folder: &Path, made: &MadeFrom) -> Result<Vec<RunRecord>, FolderError> {
    let path = folder.join(LINES);
    let bytes = fs::read(&path).map_err(io_error(&path))?;
    parse(&path, whole(&bytes), made)
}

fn parse(path: &Path, whole: &[u8], made: &MadeFrom) -> Result<Vec<RunRecord>, FolderError> {
    let record = |(index, line): (usize, &[u8])| {
        let record: RunRecord = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        made.fits(index, &record).map(|()| record)
    };
    let lines = whole.split_inclusive(|&byte| byte == b'\n').enumerate();
    let located =
        |(index, line)| record((index, line)).map_err(|why| FolderError::Line(path.to_owned(), index + 1, why));
    lines.map(located).collect()
}
