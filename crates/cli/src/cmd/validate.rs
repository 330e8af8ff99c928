//! `seekwise validate`: a measured trace against a simulated drive.

use seekwise::Files;
use seekwise::pictures::draw_distributions;
use seekwise::validate::{
    ForeignParameter, OffRequests, ResponseErrors, ResponseSamples, Timing, Validation, ValidationOptions,
    ValidationResult, quantile,
};

use super::{print_json, print_text};
use crate::args::{self, ReplayTiming};
use crate::exit::{CommandAnswer, CommandError, CommandResult};
use crate::output::print_to_stderr;
use crate::progress::ProgressObserver;
use crate::screen::{self, wrap_text};
use crate::tables::{Table, choose_columns, mark_figures_from, new_table};

/// Shares at which the two distributions are set side by side.
const SHARES: [(f64, &str); 7] =
    [(0.01, "1 %"), (0.1, "10 %"), (0.25, "25 %"), (0.5, "50 %"), (0.75, "75 %"), (0.9, "90 %"), (0.99, "99 %")];

/// Runs the command.
pub fn run_command(args: &args::ValidateArgs, files: &Files, json: bool) -> CommandResult {
    choose_columns(&mut empty_tables().each_mut(), &args.columns.names)?;
    if args.force && !args.pictures.are_requested() && args.log.is_none() {
        return Err(CommandError::new(
            "--force: there is nothing to overwrite; expected --svg, --png or --log as well",
        ));
    }
    args.pictures.check_paths(args.force, &[&args.trace, &args.drive])?;
    let mut options = ValidationOptions::new(files, &args.drive);
    options.timing = match args.replay {
        ReplayTiming::Think => Timing::Think,
        ReplayTiming::Arrival => Timing::Arrival,
    };
    (options.set, options.seed) = (&args.set[..], args.seed);
    (options.log, options.force) = (args.log.as_deref(), args.force);
    let line = ProgressObserver::new();
    let result = seekwise::validate::validate(&args.trace, &options, &line)?;
    drop(line);
    let ValidationResult { drive, samples, errors, off, doubts, .. } = &result;
    args.pictures.write(args.force, || draw_distributions(&drive.title, samples))?;
    if json {
        print_json(&result.json())?;
    } else {
        let mut text =
            format_validation(&drive.title, errors, samples, (off, &drive.not_modelled), &args.columns.names)?;
        for doubt in doubts {
            text += &format!("\n\n{}", wrap_text(&format!("Note: {doubt}."), screen::output_width()));
        }
        print_text(&text)?;
    }
    Ok(args.at_most.map_or(CommandAnswer::Done, |limit| judge_demerits(errors, limit)))
}

/// Answers "no" if a demerit is above `limit` percent, and prints which.
fn judge_demerits(found: &Validation, limit: f64) -> CommandAnswer {
    let mut answer = CommandAnswer::Done;
    for (name, errors) in [("all", &found.all), ("reads", &found.reads), ("writes", &found.writes)] {
        if errors.n > 0 && errors.demerit_percent > limit {
            print_to_stderr(format!("{name}: a demerit of {:.2} % is above {limit} %", errors.demerit_percent));
            answer = CommandAnswer::No;
        }
    }
    answer
}

/// Kinds of requests that are shown as text; further ones are off by little.
const MOST_SHOWN: usize = 8;

/// The circumstances of requests that are off, the keys that decide their times, and what an import left out of them.
fn off_text(off: &[OffRequests], left: &[ForeignParameter], all: &ResponseErrors, mut rows: Table) -> String {
    let width = screen::output_width();
    let Some(first) = off.first() else {
        return wrap_text("No kind of request is off by more than chance.", width);
    };
    for (place, one) in off.iter().enumerate().take(MOST_SHOWN) {
        rows.add_row([
            format!("{}. {}", place + 1, one.circumstance.words()),
            one.rows.len().to_string(),
            format!("{:.3}", one.mean_measured_ms),
            format!("{:.3}", one.mean_simulated_ms),
            format!("{:+.3}", one.off_ms()),
            format!("{:.3}", one.demerit_without_ms),
        ]);
    }
    let mut lines = vec![format!(
        "Off most, by more than chance: {}. Without them the demerit of all is {:.3} ms instead of {:.3}. Keys that decide \
         their times: {}.",
        first.sentence(all.n as usize),
        first.demerit_without_ms,
        all.demerit_ms,
        first.circumstance.profile_keys()
    )];
    let more = off.len().saturating_sub(MOST_SHOWN);
    if more > 0 {
        lines.push(format!("{more} more are off by less in sum; --json has them."));
    }
    for one in left {
        let concerns =
            |off: &OffRequests| off.circumstance.parameters_of_concern(std::slice::from_ref(one)).next().is_some();
        let shown = off.iter().take(MOST_SHOWN).enumerate();
        let places: Vec<_> = shown.filter(|(_, off)| concerns(off)).map(|(place, _)| (place + 1).to_string()).collect();
        if !places.is_empty() {
            lines.push(format!("Not modelled, and may be why ({}): {} = {}", places.join(", "), one.key, one.says));
        }
    }
    let said: Vec<_> = lines.iter().map(|line| wrap_text(line, width)).collect();
    format!("{}\n\n{}", rows.draw(width), said.join("\n\n"))
}

/// Empty tables: errors, times side by side, requests that are off.
fn empty_tables() -> [Table; 3] {
    let mut errors =
        new_table(["mean of", "requests", "measured ms", "simulated ms", "off %", "demerit ms", "demerit %"]);
    let mut quantiles = new_table([
        "share of requests, at most",
        "reads measured ms",
        "reads simulated ms",
        "writes measured ms",
        "writes simulated ms",
    ]);
    let mut off = new_table([
        "requests that are off",
        "how many",
        "measured mean ms",
        "simulated mean ms",
        "difference ms",
        "demerit without ms",
    ]);
    for table in [&mut errors, &mut quantiles, &mut off] {
        mark_figures_from(table, 1);
    }
    [errors, quantiles, off]
}

fn format_validation(
    title: &str,
    found: &Validation,
    samples: &ResponseSamples,
    (off, left): (&[OffRequests], &[ForeignParameter]),
    columns: &[String],
) -> Result<String, CommandError> {
    let [mut errors, mut quantiles, mut circumstances] = empty_tables();
    for (name, side) in [("all", &found.all), ("reads", &found.reads), ("writes", &found.writes)] {
        errors.add_row(errors_row(name, side));
    }
    let sides = [true, false].map(|reads| samples.measured_and_simulated(Some(reads)));
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
    choose_columns(&mut [&mut errors, &mut quantiles, &mut circumstances], columns)?;
    let width = screen::output_width();
    let off = off_text(off, left, &found.all, circumstances);
    Ok(format!("{}\n\n{}\n\n{}\n\n{off}", wrap_text(title, width), errors.draw(width), quantiles.draw(width)))
}

fn errors_row(name: &str, errors: &ResponseErrors) -> [String; 7] {
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
