//! `seekwise sweep`: a study in parts, by the Python module of the same build, which has the engines and the stores. The
//! program hands it the arguments and passes its exit code on.

use std::process::{Command, Stdio};

use clap::ValueEnum;
use seekwise_lab::provenance::ProgramVersion;
use serde_json::json;

use crate::args;
use crate::exit::{CommandAnswer, CommandError, CommandResult, STOPPED};
use crate::interrupt;

/// The variable that names the Python with the module; the module sets it where it runs the program.
const PYTHON: &str = "SEEKWISE_PYTHON";

/// Runs the command.
pub fn sweep(args: &args::SweepArgs, json: bool) -> CommandResult {
    let python = std::env::var(PYTHON).unwrap_or_else(|_| "python3".to_owned());
    let has =
        Command::new(&python).args(["-c", "import seekwise"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !has.is_ok_and(|status| status.success()) {
        return Err(CommandError::new(format!(
            "sweep: needs the Python module `seekwise`, which {python} does not have: `pip install seekwise`, or {PYTHON} \
             names another Python; on this machine alone `seekwise study {}` does the same",
            seekwise::shell::quoted(&args.study)
        )));
    }
    let args::SweepArgs { study, engine, out, address, batch, force } = args;
    let engine = engine.to_possible_value().expect("no engine is hidden").get_name().to_owned();
    let ProgramVersion { build, .. } = ProgramVersion::this();
    let words = json!({"study": study, "engine": engine, "out": out, "address": address, "batch": batch, "force": force,
                       "json": json, "build": build});
    // The first signal comes to both: the module says what is kept.
    interrupt::hold().end_with(|| {});
    let ended = Command::new(&python).args(["-m", "seekwise._sweep_command", &words.to_string()]).status();
    let ended = ended.map_err(|error| CommandError::new(format!("sweep: {python}: {error}")))?;
    match ended.code() {
        Some(0) => Ok(CommandAnswer::Done),
        Some(1) => Ok(CommandAnswer::No),
        Some(code) if code == i32::from(STOPPED) => Ok(CommandAnswer::Stopped),
        // It has said why.
        Some(2) => Err(CommandError(Vec::new())),
        _ => Err(CommandError::new(format!("sweep: {python} ended with {ended}"))),
    }
}
