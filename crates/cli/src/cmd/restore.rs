//! `seekwise restore`: settings of devices that a run which was killed has left are put back.

use super::{print, print_json};
use crate::exit::{Answer, Outcome};

/// Runs the command.
#[cfg(target_os = "linux")]
pub fn restore(as_json: bool) -> Outcome {
    use crate::exit::Failure;
    use seekwise_targets::real::settings::{Restored, restore};
    let all = restore();
    if as_json {
        let one = |it: &Restored| serde_json::json!({ "disk": it.disk, "said": it.said, "failed": it.failed });
        print_json(&all.iter().map(one).collect::<Vec<_>>())?;
    } else if all.is_empty() {
        print("Nothing is left of any run.")?;
    } else {
        let lines = all.iter().flat_map(|it| it.said.iter().map(move |said| format!("{}: {said}", it.disk)));
        print(&lines.collect::<Vec<_>>().join("\n"))?;
    }
    match all.iter().filter(|it| it.failed).count() {
        0 => Ok(Answer::Done),
        failed => Err(Failure::new(format!("{failed} of {} could not be put back", all.len()))),
    }
}

/// No device is set on other systems.
#[cfg(not(target_os = "linux"))]
pub fn restore(as_json: bool) -> Outcome {
    match as_json {
        true => print_json(&Vec::<serde_json::Value>::new())?,
        false => print("Nothing is left of any run: devices are set on Linux alone.")?,
    }
    Ok(Answer::Done)
}
