//! `seekwise restore`: settings of devices that a run which was killed has left are put back, and what else it left is taken away: mounts,
//! loop devices, processes, folders.

use super::{print, print_json};
use crate::args;
use crate::exit::{CommandAnswer, CommandResult};

/// Runs the command.
#[cfg(target_os = "linux")]
pub fn restore(args: &args::RestoreArgs, as_json: bool) -> CommandResult {
    use crate::exit::CommandError;
    use seekwise_os::kernel::debris::clear;
    use seekwise_os::real::settings::restore;
    // What it is of: under which word JSON has it, and its name.
    let settings = restore(args.dry_run).into_iter().map(|it| ("disk", it.disk, it.said, it.failed));
    let all: Vec<_> =
        settings.chain(clear(args.dry_run).into_iter().map(|it| ("run", it.run, it.said, it.failed))).collect();
    if as_json {
        let one = |(word, of, said, failed): &(&str, _, _, _)| serde_json::json!({ *word: of, "said": said, "failed": failed });
        print_json(&all.iter().map(one).collect::<Vec<_>>())?;
    } else if all.is_empty() {
        print("Nothing is left of any run.")?;
    } else {
        let lines = all.iter().flat_map(|(_, of, said, _)| said.iter().map(move |said| format!("{of}: {said}")));
        print(&lines.collect::<Vec<_>>().join("\n"))?;
    }
    match all.iter().filter(|it| it.3).count() {
        0 => Ok(CommandAnswer::Done),
        failed => Err(CommandError::new(format!("{failed} of {} could not be put back or taken away", all.len()))),
    }
}

/// No device is set, and nothing mounted, on other systems.
#[cfg(not(target_os = "linux"))]
pub fn restore(_: &args::RestoreArgs, as_json: bool) -> CommandResult {
    match as_json {
        true => print_json(&Vec::<serde_json::Value>::new())?,
        false => print("Nothing is left of any run: devices are set on Linux alone.")?,
    }
    Ok(CommandAnswer::Done)
}
