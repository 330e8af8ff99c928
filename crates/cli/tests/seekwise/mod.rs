//! Runs the built program and keeps what it said.
#![allow(dead_code, reason = "each test file uses a part")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What a run of the program left.
pub struct Said {
    /// Exit code; a signal is a failure of the test.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

/// The program, to be started in `folder`.
pub fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seekwise"));
    command.current_dir(folder).env_remove("FIO_DIR").env_remove("COLUMNS");
    command
}

/// Runs the program in `folder`.
pub fn seekwise<S: AsRef<OsStr>>(folder: &Path, args: &[S]) -> Said {
    said(command(folder).args(args).output().expect("the program starts"))
}

/// What came out.
pub fn said(output: Output) -> Said {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the program speaks UTF-8");
    let code = output.status.code().expect("no signal ends the program");
    Said { code, out: text(output.stdout), err: text(output.stderr) }
}

impl Said {
    /// Standard output of a run that was done.
    #[track_caller]
    pub fn done(self) -> String {
        assert_eq!(self.code, 0, "{}", self.err);
        self.out
    }

    /// Standard output of a run that was done, as JSON.
    #[track_caller]
    pub fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.done()).expect("standard output is JSON alone")
    }
}

/// The names in a folder, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The folder of other people's files, if it is there; else says that the test is skipped.
pub fn wild() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("SEEKWISE_SHARED").map_or(beside, PathBuf::from);
    let wild = shared.join("wild");
    if wild.join("fio-examples").is_dir() {
        return Some(wild);
    }
    eprintln!("skipped: no job files in {}; SEEKWISE_SHARED names the folder that holds `wild`", wild.display());
    None
}
