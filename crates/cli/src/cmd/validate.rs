//! `seekwise validate`: a measured trace against a simulated drive.

use seekwise::validate::{Timing, ValidationOptions, ValidationResult};
use seekwise_lab::validate::{ResponseErrors, ResponseSamples, Validation, plot, quantile};

use super::{print, print_json};
use crate::args::{self, ReplayTiming};
use crate::exit::{CommandAnswer, CommandError, CommandResult};
use crate::output::say;
use crate::progress::Line;
use crate::screen::{self, wrapped};
use crate::tables::{Table, choose, figures_from, table};

/// Shares at which the two distributions are set side by side.
const SHARES: [(f64, &str); 7] =
    [(0.01, "1 %"), (0.1, "10 %"), (0.25, "25 %"), (0.5, "50 %"), (0.75, "75 %"), (0.9, "90 %"), (0.99, "99 %")];

/// Runs the command.
pub fn validate(args: &args::ValidateArgs, json: bool) -> CommandResult {
    choose(&mut headed().each_mut(), &args.columns.names)?;
    if args.force && !args.pictures.any() && args.log.is_none() {
        return Err(CommandError::new(
            "--force: there is nothing to overwrite; expected --svg, --png or --log as well",
        ));
    }
    args.pictures.admit(args.force)?;
    let timing = match args.replay {
        ReplayTiming::Think => Timing::Think,
        ReplayTiming::Arrival => Timing::Arrival,
    };
    let (drive, set, log) = (args.drive.as_str(), &args.set[..], args.log.as_deref());
    let options = ValidationOptions { drive, set, timing, seed: args.seed, log, force: args.force };
    let line = Line::new();
    let ValidationResult { drive, samples, errors } = seekwise::validate::validate(&args.trace, &options, &line)?;
    drop(line);
    args.pictures.write(|| plot::svg(&drive.title, &samples))?;
    if json {
        print_json(&errors)?;
    } else {
        print(&text(&drive.title, &errors, &samples, &args.columns.names)?)?;
    }
    Ok(args.at_most.map_or(CommandAnswer::Done, |limit| answer(&errors, limit)))
}

/// "No" where a demerit is above `limit` percent; says which.
fn answer(found: &Validation, limit: f64) -> CommandAnswer {
    let mut answer = CommandAnswer::Done;
    for (name, errors) in [("all", &found.all), ("reads", &found.reads), ("writes", &found.writes)] {
        if errors.n > 0 && errors.demerit_percent > limit {
            say(format!("{name}: a demerit of {:.2} % is above {limit} %", errors.demerit_percent));
            answer = CommandAnswer::No;
        }
    }
    answer
}

/// Errors, and times side by side.
fn headed() -> [Table; 2] {
    let mut errors = table(["mean of", "requests", "measured ms", "simulated ms", "off %", "demerit ms", "demerit %"]);
    let mut quantiles = table([
        "share of requests, at most",
        "reads measured ms",
        "reads simulated ms",
        "writes measured ms",
        "writes simulated ms",
    ]);
    figures_from(&mut errors, 1);
    figures_from(&mut quantiles, 1);
    [errors, quantiles]
}

fn text(
    title: &str,
    found: &Validation,
    samples: &ResponseSamples,
    columns: &[String],
) -> Result<String, CommandError> {
    let [mut errors, mut quantiles] = headed();
    for (name, side) in [("all", &found.all), ("reads", &found.reads), ("writes", &found.writes)] {
        errors.add_row(row(name, side));
    }
    let sides = [true, false].map(|reads| samples.both(Some(reads)));
    let sides = sides.map(|(mut measured, mut simulated)| {
        measured.sort_unstable();
        simulated.sort_unstable();
        [measured, simulated]
    });
    for (share, name) in SHARES {
        let mut cells = vec![name.to_owned()];
        for times in sides.iter().flatten() {
            let time = quantile(times, share).nanos() as f64 / 1e6;
            cells.push(if times.is_empty() { String::new() } else { format!("{time:.3}") });
        }
        quantiles.add_row(cells);
    }
    choose(&mut [&mut errors, &mut quantiles], columns)?;
    let width = screen::width();
    Ok(format!("{}\n\n{}\n\n{}", wrapped(title, width), errors.draw(width), quantiles.draw(width)))
}

fn row(name: &str, errors: &ResponseErrors) -> [String; 7] {
    if errors.n == 0 {
        return [name, "0", "–", "–", "–", "–", "–"].map(str::to_owned);
    }
    [
        name.to_owned(),
        errors.n.to_string(),
        format!("{:.3}", errors.mean_measured_ms),
        format!("{:.3}", errors.mean_simulated_ms),
        format!("{:+.2}", errors.mean_error_percent()),
        format!("{:.3}", errors.demerit_ms),
        format!("{:.2}", errors.demerit_percent),
    ]
}
