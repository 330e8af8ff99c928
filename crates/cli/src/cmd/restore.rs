//! `seekwise restore`: cleans up after killed runs: restores settings of devices, and removes mounts, loop devices, processes and
//! folders that the runs left behind.

use super::{print_json, print_text};
use crate::args;
use crate::exit::{CommandAnswer, CommandResult};

/// A restored device, or a cleaned-up run.
#[cfg(target_os = "linux")]
struct RestoredItem {
    /// The key under which JSON has the name: `disk` or `run`.
    json_key: &'static str,
    name: String,
    /// The actions, a line each.
    actions: Vec<String>,
    failed: bool,
}

/// Runs the command.
#[cfg(target_os = "linux")]
pub fn run_command(args: &args::RestoreArgs, as_json: bool) -> CommandResult {
    use crate::exit::CommandError;
    use seekwise::leftovers::{remove_leftovers, restore};
    let mut items = Vec::new();
    for disk in restore(args.dry_run) {
        items.push(RestoredItem { json_key: "disk", name: disk.disk, actions: disk.said, failed: disk.failed });
    }
    for run in remove_leftovers(args.dry_run) {
        items.push(RestoredItem { json_key: "run", name: run.run, actions: run.said, failed: run.failed });
    }
    if as_json {
        let item_json = |item: &RestoredItem| serde_json::json!({ item.json_key: item.name, "said": item.actions, "failed": item.failed });
        print_json(&items.iter().map(item_json).collect::<Vec<_>>())?;
    } else if items.is_empty() {
        print_text("Nothing is left of any run.")?;
    } else {
        let lines = items.iter().flat_map(|item| item.actions.iter().map(|action| format!("{}: {action}", item.name)));
        print_text(&lines.collect::<Vec<_>>().join("\n"))?;
    }
    match items.iter().filter(|item| item.failed).count() {
        0 => Ok(CommandAnswer::Done),
        failed => Err(CommandError::new(format!("{failed} of {} could not be put back or taken away", items.len()))),
    }
}

/// Does nothing: only on Linux are settings of devices changed and file systems mounted.
#[cfg(not(target_os = "linux"))]
pub fn run_command(_: &args::RestoreArgs, as_json: bool) -> CommandResult {
    match as_json {
        true => print_json(&Vec::<serde_json::Value>::new())?,
        false => print_text("Nothing is left of any run: devices are set on Linux alone.")?,
    }
    Ok(CommandAnswer::Done)
}
