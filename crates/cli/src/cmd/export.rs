//! `seekwise export`: a modelled drive as constants of other simulators.

use seekwise::export::{LatencySetup, LatencyTarget};
use seekwise::outputs::{prepare_output, write_whole};
use seekwise::reading::mark_inputs;
use seekwise::{Error, Files};

use super::{print_json, print_text};
use crate::args::{ExportArgs, ExportKind, LatencyArgs};
use crate::exit::{CommandAnswer, CommandResult};
use crate::output::print_to_stderr;
use crate::progress::ProgressObserver;

/// Runs the command.
pub fn run_command(args: &ExportArgs, files: &Files, json: bool) -> CommandResult {
    let ExportKind::Latency(args) = &args.what;
    export_latency(args, files, json)
}

/// Prints the constants, or with `json` the percentiles behind them.
fn export_latency(args: &LatencyArgs, files: &Files, json: bool) -> CommandResult {
    if let Some(path) = &args.out {
        mark_inputs(&[&args.target]);
        prepare_output(path, args.force).map_err(|why| Error::of_file(path, &why))?;
    }
    let mut setup = LatencySetup::new(args.target.clone());
    (setup.set, setup.depths, setup.seed) = (args.set.clone(), args.depth.clone(), args.seed);
    (setup.block, setup.size, setup.runtime) = (args.block.clone(), args.size.clone(), args.runtime.clone());
    setup.files = files.clone();
    let progress = ProgressObserver::new();
    let table = setup.measure(&progress)?;
    drop(progress);
    let text = table.text(args.simulator);
    if let Some(path) = &args.out {
        write_whole(path, text.as_bytes(), args.force).map_err(|why| Error::of_file(path, &why))?;
        print_to_stderr(format!("Written: {}", path.display()));
    }
    match (json, &args.out) {
        (true, _) => {
            let mut value = table.json();
            if args.simulator != LatencyTarget::Json {
                (value["for"], value["text"]) = (args.simulator.name().into(), text.into());
            }
            print_json(&value)?;
        }
        (false, None) => print_text(&text)?,
        (false, Some(_)) => {}
    }
    Ok(CommandAnswer::Done)
}
