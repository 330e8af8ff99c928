//! `seekwise restore`: cleans up after killed runs: restores settings of devices, removes mounts, loop devices,
//! processes and folders.

use super::{print_json, print_text};
use crate::args;
use crate::exit::{CommandAnswer, CommandResult};

/// Runs the command.
#[cfg(target_os = "linux")]
pub fn run_command(args: &args::RestoreArgs, as_json: bool) -> CommandResult {
    use crate::exit::CommandError;
    use seekwise::leftovers::{remove_leftovers, restore};
    // The word under which JSON has an item, and the item's name.
    let settings = restore(args.dry_run).into_iter().map(|it| ("disk", it.disk, it.said, it.failed));
    let all: Vec<_> = settings
        .chain(remove_leftovers(args.dry_run).into_iter().map(|it| ("run", it.run, it.said, it.failed)))
        .collect();
    if as_json {
        let one = |(word, of, said, failed): &(&str, _, _, _)| serde_json::json!({ *word: of, "said": said, "failed": failed });
        print_json(&all.iter().map(one).collect::<Vec<_>>())?;
    } else if all.is_empty() {
        print_text("Nothing is left of any run.")?;
    } else {
        let lines = all.iter().flat_map(|(_, of, said, _)| said.iter().map(move |said| format!("{of}: {said}")));
        print_text(&lines.collect::<Vec<_>>().join("\n"))?;
    }
    match all.iter().filter(|it| it.3).count() {
        0 => Ok(CommandAnswer::Done),
        failed => Err(CommandError::new(format!("{failed} of {} could not be put back or taken away", all.len()))),
    }
}

/// Other systems set no device and mount nothing.
#[cfg(not(target_os = "linux"))]
pub fn run_command(_: &args::RestoreArgs, as_json: bool) -> CommandResult {
    match as_json {
        true => print_json(&Vec::<serde_json::Value>::new())?,
        false => print_text("Nothing is left of any run: devices are set on Linux alone.")?,
    }
    Ok(CommandAnswer::Done)
}
