//! `seekwise compare … --dry-run`: estimates how long a comparison will take. Nothing is run on its target.

use seekwise::compare::Comparison;
use seekwise::dry_run::{self, DryRun};
use seekwise::reading::display_name;
use serde_json::json;

use super::super::{print_json, print_text};
use crate::exit::{CommandAnswer, CommandResult};

/// Prints the estimate.
pub fn print_estimate(comparison: &Comparison, drive: &str, json: bool) -> CommandResult {
    let DryRun { seconds, space_bytes, draws, .. } = dry_run::dry_run(comparison, drive)?;
    let Comparison { setup, key, values, runs, .. } = comparison;
    let total_s = seconds.iter().sum::<f64>() * f64::from(*runs) * (1 + draws) as f64;
    if json {
        let sides =
            values.iter().zip(&seconds).map(|(value, run_s)| json!({"name": format!("{key}={value}"), "run_s": run_s}));
        let mut estimate = json!({"dry_run": true, "seconds": total_s, "runs": runs, "drive": drive,
                                  "sides": sides.collect::<Vec<_>>()});
        if draws > 0 {
            estimate["draws"] = draws.into();
        }
        print_json(&estimate)?;
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
    let sides = values.len();
    let band = match draws {
        0 => String::new(),
        draws => {
            let all_runs = (1 + draws as u64) * sides as u64 * u64::from(*runs);
            format!(" They run again on {draws} draws of the fit, {all_runs} runs in all; --no-band leaves these out.")
        }
    };
    print_text(&format!("{text}{sides} sides of {runs} runs: about {}{assumption}.{band}", format_duration(total_s)))?;
    Ok(CommandAnswer::Done)
}

fn format_duration(seconds: f64) -> String {
    match seconds {
        seconds if seconds >= 7200.0 => format!("{:.1} h", seconds / 3600.0),
        seconds if seconds >= 120.0 => format!("{:.1} min", seconds / 60.0),
        seconds => format!("{seconds:.1} s"),
    }
}
