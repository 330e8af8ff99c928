//! Runs a part of a command in the Python module `seekwise`, which has the engines of sweeps and opens object stores. The module
//! must be of the same build. It runs as a child process and gets its arguments as JSON.

use std::process::{Command, Stdio};

use seekwise::answer::ProgramVersion;
use serde_json::Value;

use crate::exit::{CommandAnswer, CommandError, CommandResult, STOPPED};
use crate::interrupt;

/// The environment variable that names the Python interpreter with the module. The module sets it when it runs the program.
const PYTHON_VARIABLE: &str = "SEEKWISE_PYTHON";

/// Python's first statement: removes the current folder from the module path, since it may contain another `seekwise.py`. From
/// Python 3.11 on, `python3 -P` would do the same.
const SAFE_PATH: &str = "import sys; sys.path[:] = filter(None, sys.path)";

/// Runs the module's part of `command`. `alternative` is a sentence for the error if the module is missing: how to do without it.
pub fn run_module_command(command: &str, arguments: Value, alternative: &str) -> CommandResult {
    let python = std::env::var(PYTHON_VARIABLE).unwrap_or_else(|_| "python3".to_owned());
    let import_test = format!("{SAFE_PATH}; import seekwise");
    let import_status =
        Command::new(&python).args(["-c", &import_test]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !import_status.is_ok_and(|status| status.success()) {
        return Err(CommandError::new(format!(
            "{command}: needs the Python module `seekwise`, which {python} does not have: `pip install seekwise`, or {PYTHON_VARIABLE} \
             names another Python; {alternative}"
        )));
    }
    let mut arguments = arguments;
    arguments["build"] = Value::from(ProgramVersion::current().build);
    // A signal reaches both processes; the module prints what is kept.
    interrupt::lock_signals().set_ending(|| {});
    let program = format!("{SAFE_PATH}; from seekwise._{command}_command import main; sys.exit(main(sys.argv[1:]))");
    let status = Command::new(&python).args(["-c", &program, &arguments.to_string()]).status();
    let status = status.map_err(|error| CommandError::new(format!("{command}: {python}: {error}")))?;
    match status.code() {
        Some(0) => Ok(CommandAnswer::Done),
        Some(1) => Ok(CommandAnswer::No),
        Some(code) if code == i32::from(STOPPED) => Ok(CommandAnswer::Stopped),
        // The module has printed the reason.
        Some(2) => Err(CommandError(Vec::new())),
        _ => Err(CommandError::new(format!("{command}: {python} ended with {status}"))),
    }
}
