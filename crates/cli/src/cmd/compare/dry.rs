//! `compare … --dry-run`: how long it will take, said without running it: each side is simulated once on a modelled drive,
//! in the space of the file or device that is to be measured. Nothing is opened for writing, and nothing is made.

use seekwise_lab::inputs::Inputs;
use seekwise_lab::run::measure;
use seekwise_model::rng::Seed;
use seekwise_targets::place::{self, DEVICE, Of};
use seekwise_targets::real::{Wanted, length};
use serde_json::json;

use super::super::{print, print_json};
use crate::args::{self, On};
use crate::exit::{Answer, Failure, Outcome};
use crate::files::{self, spoken};
use crate::target;

/// Says how long it will take.
pub fn dry_run(args: &args::Compare, key: &str, values: &[String], drive: &str, json: bool) -> Outcome {
    let space = space(&args.on)?;
    let inputs = Inputs::today(&files::text);
    let mut seconds = Vec::new();
    for value in values {
        let mut set: Vec<(String, String)> = args.on.set.clone();
        set.push((key.to_owned(), value.clone()));
        set.retain(|(key, _)| !key.starts_with("real."));
        if let Some(bytes) = space.filter(|_| !set.iter().any(|(key, _)| key == "job.span")) {
            set.push(("job.span".to_owned(), bytes.to_string()));
        }
        let target = if space.is_some() { drive.to_owned() } else { args.on.target.clone() };
        let on = On { target, set, destroy: None, ..args.on.clone() };
        let prepared = target::prepare(&target::cell(&args.job, &on)?, &inputs)?;
        if prepared.target.is_measured() {
            return Err(Failure::new(format!("--dry-run: {} is not a modelled disk; expected a drive", spoken(drive))));
        }
        let seed = Seed(args.on.seed).run(0).0;
        seconds.push(measure(&prepared.target, &prepared.job, seed, |_| {})?.end().nanos() as f64 / 1e9);
    }
    let all = seconds.iter().sum::<f64>() * f64::from(args.runs);
    if json {
        let sides =
            values.iter().zip(&seconds).map(|(value, run)| json!({"name": format!("{key}={value}"), "run_s": run}));
        print_json(&json!({"dry_run": true, "seconds": all, "runs": args.runs, "drive": drive,
                           "sides": sides.collect::<Vec<_>>()}))?;
        return Ok(Answer::Done);
    }
    let mut text = String::new();
    for (value, run) in values.iter().zip(&seconds) {
        text.push_str(&format!("{key}={value}: {run:.1} s a run\n"));
    }
    let of = match space {
        Some(_) => format!(" on a drive such as {}; nothing was run on {}", spoken(drive), spoken(&args.on.target)),
        None => " of virtual time; the simulation itself is much faster".to_owned(),
    };
    let (sides, runs) = (values.len(), args.runs);
    print(&format!("{text}{sides} sides of {runs} runs: about {}{of}.", spoken_time(all)))?;
    Ok(Answer::Done)
}

/// Bytes of the file or device that is to be measured; nothing where it is a modelled disk.
fn space(on: &On) -> Result<Option<u64>, Failure> {
    match place::named(&on.target) {
        Some((kind, Some(path))) if matches!(kind.of, Of::Path(_)) => {
            let layout = on.set.iter().find(|(key, _)| key == "real.layout");
            let bytes = layout.and_then(|(_, value)| seekwise_formats::dotted::size(value));
            let wanted = Wanted { layout: bytes, ..Wanted::default() };
            let bytes = length(path, kind.name == DEVICE, &wanted).map_err(Failure::new)?;
            Ok(Some(bytes / 4096 * 4096))
        }
        Some(_) => Err(Failure::new(format!(
            "--dry-run: cannot estimate the time on {}; expected a file, a device or a modelled disk",
            on.target
        ))),
        None => Ok(None),
    }
}

fn spoken_time(seconds: f64) -> String {
    match seconds {
        seconds if seconds >= 7200.0 => format!("{:.1} h", seconds / 3600.0),
        seconds if seconds >= 120.0 => format!("{:.1} min", seconds / 60.0),
        seconds => format!("{seconds:.1} s"),
    }
}
