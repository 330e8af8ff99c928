//! `seekwise compare … --dry-run`: estimates how long a comparison will take. Nothing is run on its target.

use seekwise::compare::Comparison;
use seekwise::dry_run::{self, DryRun};
use seekwise::reading::display_name;
use serde_json::json;

use super::super::{print_json, print_text};
use crate::exit::{CommandAnswer, CommandResult};

/// Prints the estimate.
pub fn print_estimate(comparison: &Comparison, drive: &str, json: bool) -> CommandResult {
    let DryRun { seconds, space_bytes, .. } = dry_run::dry_run(comparison, drive)?;
    let Comparison { setup, key, values, runs, .. } = comparison;
    let total_s = seconds.iter().sum::<f64>() * f64::from(*runs);
    if json {
        let sides =
            values.iter().zip(&seconds).map(|(value, run_s)| json!({"name": format!("{key}={value}"), "run_s": run_s}));
        print_json(&json!({"dry_run": true, "seconds": total_s, "runs": runs, "drive": drive,
                           "sides": sides.collect::<Vec<_>>()}))?;
        return Ok(CommandAnswer::Done);
    }
    let mut text = String::new();
    for (value, run_s) in values.iter().zip(&seconds) {
        text.push_str(&format!("{key}={value}: {run_s:.1} s a run\n"));
    }
    let assumption = match space_bytes {
        Some(_) => {
            format!(" on a drive such as {}; nothing was run on {}", display_name(drive), display_name(&setup.target))
        }
        None => " of virtual time; the simulation itself is much faster".to_owned(),
    };
    print_text(&format!(
        "{text}{} sides of {runs} runs: about {}{assumption}.",
        values.len(),
        format_duration(total_s)
    ))?;
    Ok(CommandAnswer::Done)
}

fn format_duration(seconds: f64) -> String {
    match seconds {
        seconds if seconds >= 7200.0 => format!("{:.1} h", seconds / 3600.0),
        seconds if seconds >= 120.0 => format!("{:.1} min", seconds / 60.0),
        seconds => format!("{seconds:.1} s"),
    }
}
