//! The Python module of the same build, which has the engines of sweeps and opens object stores. The program passes it
//! JSON, and waits for it as a child process.

use std::process::{Command, Stdio};

use seekwise::answer::ProgramVersion;
use serde_json::Value;

use crate::exit::{CommandAnswer, CommandError, CommandResult, STOPPED};
use crate::interrupt;

/// The variable that names the Python with the module; the module sets it where it runs the program.
const PYTHON: &str = "SEEKWISE_PYTHON";

/// Python's first statement: takes no module from the current folder, since anybody's `seekwise.py` may lie there.
/// `python3 -P` does so from 3.11 on.
const START: &str = "import sys; sys.path[:] = filter(None, sys.path)";

/// Runs the module's counterpart of `command` with `words`; `else_` says how to do without the module.
pub fn run_module_command(command: &str, words: Value, else_: &str) -> CommandResult {
    let python = std::env::var(PYTHON).unwrap_or_else(|_| "python3".to_owned());
    let imported = format!("{START}; import seekwise");
    let has = Command::new(&python).args(["-c", &imported]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !has.is_ok_and(|status| status.success()) {
        return Err(CommandError::new(format!(
            "{command}: needs the Python module `seekwise`, which {python} does not have: `pip install seekwise`, or {PYTHON} \
             names another Python; {else_}"
        )));
    }
    let mut words = words;
    words["build"] = Value::from(ProgramVersion::current().build);
    // The first signal reaches both processes: the module says what is kept.
    interrupt::lock_signals().set_ending(|| {});
    let program = format!("{START}; from seekwise._{command}_command import main; sys.exit(main(sys.argv[1:]))");
    let ended = Command::new(&python).args(["-c", &program, &words.to_string()]).status();
    let ended = ended.map_err(|error| CommandError::new(format!("{command}: {python}: {error}")))?;
    match ended.code() {
        Some(0) => Ok(CommandAnswer::Done),
        Some(1) => Ok(CommandAnswer::No),
        Some(code) if code == i32::from(STOPPED) => Ok(CommandAnswer::Stopped),
        // The module has said why.
        Some(2) => Err(CommandError(Vec::new())),
        _ => Err(CommandError::new(format!("{command}: {python} ended with {ended}"))),
    }
}
