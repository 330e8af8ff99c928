//! `seekwise sweep`: runs a study in parts. The Python module does the work; this command passes it the arguments.

use clap::ValueEnum;
use serde_json::json;

use super::python_module;
use crate::args;
use crate::exit::CommandResult;

/// Runs the command.
pub fn run_command(args: &args::SweepArgs, json: bool) -> CommandResult {
    let args::SweepArgs { study, engine, out, address, batch, force } = args;
    let engine = engine.to_possible_value().expect("no engine is hidden").get_name().to_owned();
    let arguments = json!({"study": study, "engine": engine, "out": out, "address": address, "batch": batch, "force": force,
                       "json": json});
    let alternative =
        format!("on this machine alone `seekwise study {}` does the same", seekwise::shell::quote_for_shell(study));
    python_module::run_module_command("sweep", arguments, &alternative)
}
