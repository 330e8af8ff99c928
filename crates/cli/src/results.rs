//! A result folder: the study as it was, and one JSON line a run. Written whole or not at all, complete after each
//! run, in the plan's order whatever the number of cores; a killed study goes on where it stopped.
//!
//! ```text
//! out/study.toml      the study, byte for byte
//! out/results.jsonl   one line a run, in the plan's order
//! out/report.html     made from the two
//! ```

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use seekwise_lab::run::RunRecord;

pub use crate::output::write_whole;

/// An open result folder.
pub struct Results {
    folder: PathBuf,
    lines: File,
}

/// Why a folder could not be used.
#[derive(Debug)]
pub enum FolderError {
    /// The folder or a file in it could not be read or written.
    Io(PathBuf, io::Error),
    /// The folder holds results already, and going on was not asked for.
    Holds(PathBuf),
    /// The folder holds another study's results.
    OtherStudy(PathBuf),
    /// A line is not a run's record.
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
            FolderError::OtherStudy(path) => write!(
                f,
                "{}: holds the results of another study (its study.toml differs); use another --out",
                path.display()
            ),
            FolderError::Line(path, line, error) => write!(f, "{}:{line}: {error}", path.display()),
        }
    }
}

impl std::error::Error for FolderError {}

impl Results {
    /// Opens `folder` for `study`'s results. With `resume`, runs already there are handed back and kept; a last line
    /// that was being written when a run was killed is dropped.
    pub fn open(folder: &Path, study: &str, resume: bool) -> Result<(Results, Vec<RunRecord>), FolderError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |error| FolderError::Io(path, error)
        };
        fs::create_dir_all(folder).map_err(io(folder))?;
        let (study_path, lines_path) = (folder.join("study.toml"), folder.join("results.jsonl"));
        let mut done = Vec::new();
        if lines_path.exists() {
            if !resume {
                return Err(FolderError::Holds(folder.to_owned()));
            }
            let before = fs::read_to_string(&study_path).map_err(io(&study_path))?;
            if before != study {
                return Err(FolderError::OtherStudy(folder.to_owned()));
            }
            done = read_lines(&lines_path)?;
            let text = fs::read_to_string(&lines_path).map_err(io(&lines_path))?;
            let whole = text.rfind('\n').map_or(0, |end| end + 1);
            write_whole(&lines_path, &text.as_bytes()[..whole]).map_err(io(&lines_path))?;
        }
        write_whole(&study_path, study.as_bytes()).map_err(io(&study_path))?;
        let lines = OpenOptions::new().create(true).append(true).open(&lines_path).map_err(io(&lines_path))?;
        Ok((Results { folder: folder.to_owned(), lines }, done))
    }

    /// Appends a run; it is on its way to the disk when this returns.
    pub fn append(&mut self, record: &RunRecord) -> Result<(), FolderError> {
        let path = self.folder.join("results.jsonl");
        self.lines.write_all(line_of(record).as_bytes()).map_err(|error| FolderError::Io(path, error))
    }
}

fn line_of(record: &RunRecord) -> String {
    let mut line = serde_json::to_string(record).expect("a record has no keys but strings");
    line.push('\n');
    line
}

/// The records of a results file; a last line without its end is left out.
pub fn read_lines(path: &Path) -> Result<Vec<RunRecord>, FolderError> {
    let text = fs::read_to_string(path).map_err(|error| FolderError::Io(path.to_owned(), error))?;
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let parse = |(index, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| FolderError::Line(path.to_owned(), index + 1, error.to_string()))
    };
    whole.lines().enumerate().map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_killed_study_goes_on_and_a_torn_line_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let record: RunRecord = serde_json::from_str(
            r#"{"cell":3,"run":1,"target":"d","job":"j","seed":1,"stream_hash":"0","elapsed_s":1.0,
                "all":{"ios":1,"iops":1.0,"bytes_per_s":1.0,"response_ms":{"mean":1.0,"p50":1.0,"p90":1.0,"p99":1.0,
                "p99_9":1.0,"p99_99":1.0,"max":1.0}},"read":{"ios":0,"iops":0.0,"bytes_per_s":0.0,"response_ms":
                {"mean":0.0,"p50":0.0,"p90":0.0,"p99":0.0,"p99_9":0.0,"p99_99":0.0,"max":0.0}},"write":{"ios":0,
                "iops":0.0,"bytes_per_s":0.0,"response_ms":{"mean":0.0,"p50":0.0,"p90":0.0,"p99":0.0,"p99_9":0.0,
                "p99_99":0.0,"max":0.0}},"cpu":null,"anatomy_ms":{},"warnings":[]}"#,
        )
        .unwrap();
        let (mut results, done) = Results::open(folder.path(), "a", false).unwrap();
        assert!(done.is_empty());
        results.append(&record).unwrap();
        let path = folder.path().join("results.jsonl");
        let mut text = fs::read_to_string(&path).unwrap();
        text.push_str("{\"cell\":4,\"ru");
        fs::write(&path, text).unwrap();
        assert!(matches!(Results::open(folder.path(), "a", false), Err(FolderError::Holds(_))));
        assert!(matches!(Results::open(folder.path(), "b", true), Err(FolderError::OtherStudy(_))));
        let (_, done) = Results::open(folder.path(), "a", true).unwrap();
        assert_eq!(done.iter().map(|record| record.cell).collect::<Vec<_>>(), [3]);
        assert!(fs::read_to_string(&path).unwrap().ends_with("}\n"));
    }
}
