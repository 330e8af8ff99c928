//! `seekwise sweep`: a study in parts, by the Python module, which has the engines and the stores.

use clap::ValueEnum;
use serde_json::json;

use super::python_module;
use crate::args;
use crate::exit::CommandResult;

/// Runs the command.
pub fn run_command(args: &args::SweepArgs, json: bool) -> CommandResult {
    let args::SweepArgs { study, engine, out, address, batch, force } = args;
    let engine = engine.to_possible_value().expect("no engine is hidden").get_name().to_owned();
    let words = json!({"study": study, "engine": engine, "out": out, "address": address, "batch": batch, "force": force,
                       "json": json});
    let else_ =
        format!("on this machine alone `seekwise study {}` does the same", seekwise::shell::quote_for_shell(study));
    python_module::run_module_command("sweep", words, &else_)
}
