//! Runs the built program `seekwise` and returns its exit code and outputs.
#![allow(dead_code, reason = "each test file uses a part")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Exit code and outputs of a run of the program.
pub struct ProgramOutput {
    /// Exit code; a signal is a failure of the test.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

/// A command that starts the program in `folder`.
pub fn program_command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seekwise"));
    command.current_dir(folder).env_remove("FIO_DIR").env_remove("COLUMNS");
    command
}

/// Runs the program in `folder`.
pub fn run_program<S: AsRef<OsStr>>(folder: &Path, args: &[S]) -> ProgramOutput {
    program_output(program_command(folder).args(args).output().expect("the program starts"))
}

/// Converts the output of a process; panics if a signal ended it.
pub fn program_output(output: Output) -> ProgramOutput {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the program prints UTF-8");
    let code = output.status.code().expect("no signal ends the program");
    ProgramOutput { code, out: text(output.stdout), err: text(output.stderr) }
}

impl ProgramOutput {
    /// Standard output; panics if the exit code is not 0.
    #[track_caller]
    pub fn success_stdout(self) -> String {
        assert_eq!(self.code, 0, "{}", self.err);
        self.out
    }

    /// Standard output as JSON; panics if the exit code is not 0.
    #[track_caller]
    pub fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.success_stdout()).expect("standard output is JSON alone")
    }
}

/// The names in a folder, sorted.
pub fn sorted_names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The folder of job files of other projects; if it is missing, prints that the test is skipped.
pub fn wild_folder() -> Option<PathBuf> {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("SEEKWISE_SHARED").map_or(default, PathBuf::from);
    let folder = shared.join("wild");
    if folder.join("fio-examples").is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no job files in {}; SEEKWISE_SHARED names the folder that holds `wild`", folder.display());
    None
}
