//! `seekwise validate`: replays a measured trace on a simulated drive, and compares the response times.

use std::ffi::OsString;

use seekwise::Files;
use seekwise::pictures::{Page, draw_distributions};
use seekwise::reading::display_name;
use seekwise::validate::{
    ForeignParameter, OffRequests, ResponseErrors, Timing, Validation, ValidationOptions, ValidationResult, quantile,
};

use super::{print_json, print_text};
use crate::args::{self, ReplayTiming};
use crate::exit::{CommandAnswer, CommandError, CommandResult};
use crate::output::print_to_stderr;
use crate::progress::ProgressObserver;
use crate::screen::{self, wrap_text};
use crate::tables::{Table, choose_columns, mark_figures_from, new_table};

/// Shares of requests at which the two distributions are compared.
const SHARES: [(f64, &str); 7] =
    [(0.01, "1 %"), (0.1, "10 %"), (0.25, "25 %"), (0.5, "50 %"), (0.75, "75 %"), (0.9, "90 %"), (0.99, "99 %")];

/// Runs the command.
pub fn run_command(args: &args::ValidateArgs, files: &Files, words: &[OsString], json: bool) -> CommandResult {
    choose_columns(&mut empty_tables().each_mut(), &args.columns.names)?;
    if args.force && !args.pictures.are_requested() && !args.page.is_requested() && args.log.is_none() {
        return Err(CommandError::new(
            "--force: there is nothing to overwrite; expected --svg, --png, --page or --log as well",
        ));
    }
    args.pictures.check_paths(args.force, &[&args.trace, &args.drive])?;
    args.page.check_path(args.force, &[&args.trace, &args.drive])?;
    let mut options = ValidationOptions::new(files, &args.drive);
    options.timing = match args.replay {
        ReplayTiming::Think => Timing::Think,
        ReplayTiming::Arrival => Timing::Arrival,
    };
    (options.set, options.seed) = (&args.set[..], args.seed);
    (options.log, options.force) = (args.log.as_deref(), args.force);
    let progress = ProgressObserver::new();
    let result = seekwise::validate::validate(&args.trace, &options, &progress)?;
    drop(progress);
    let ValidationResult { drive, samples, doubts, .. } = &result;
    args.pictures.write(args.force, || draw_distributions(&drive.title, samples))?;
    args.page.write(args.force, words, || validation_page(display_name(&args.trace), &result))?;
    if json {
        print_json(&result.json())?;
    } else {
        let mut text = format_validation(&result, &args.columns.names)?;
        for doubt in doubts {
            text += &format!("\n\n{}", wrap_text(&format!("Note: {doubt}."), screen::output_width()));
        }
        print_text(&text)?;
    }
    Ok(args.at_most.map_or(CommandAnswer::Done, |limit| judge_demerits(&result.errors, limit)))
}

/// Prints each demerit above the limit, and answers "no" if there is one.
fn judge_demerits(found: &Validation, limit_percent: f64) -> CommandAnswer {
    let mut answer = CommandAnswer::Done;
    for (name, errors) in [("all", &found.all), ("reads", &found.reads), ("writes", &found.writes)] {
        if errors.n > 0 && errors.demerit_percent > limit_percent {
            print_to_stderr(format!("{name}: a demerit of {:.2} % is above {limit_percent} %", errors.demerit_percent));
            answer = CommandAnswer::No;
        }
    }
    answer
}

/// The most kinds of requests in the table; further ones deviate little.
const MOST_SHOWN: usize = 8;

/// Adds the kinds of requests whose simulated times deviate by more than chance.
fn add_deviations(table: &mut Table, off: &[OffRequests]) {
    for (index, kind) in off.iter().enumerate().take(MOST_SHOWN) {
        table.add_row([
            format!("{}. {}", index + 1, kind.circumstance.words()),
            kind.rows.len().to_string(),
            format!("{:.3}", kind.mean_measured_ms),
            format!("{:.3}", kind.mean_simulated_ms),
            format!("{:+.3}", kind.off_ms()),
            format!("{:.3}", kind.demerit_without_ms),
        ]);
    }
}

/// Sentences on the requests that deviate most: the keys that decide their times, and parameters of the drive that are not modelled and may
/// be the reason.
fn deviation_sentences(off: &[OffRequests], not_modelled: &[ForeignParameter], all: &ResponseErrors) -> Vec<String> {
    let Some(first) = off.first() else {
        return vec!["No kind of request is off by more than chance.".to_owned()];
    };
    let mut sentences = vec![format!(
        "Off most, by more than chance: {}. Without them the demerit of all is {:.3} ms instead of {:.3}. Keys that decide \
         their times: {}.",
        first.sentence(all.n as usize),
        first.demerit_without_ms,
        all.demerit_ms,
        first.circumstance.profile_keys()
    )];
    let more = off.len().saturating_sub(MOST_SHOWN);
    if more > 0 {
        sentences.push(format!("{more} more are off by less in sum; --json has them."));
    }
    for parameter in not_modelled {
        let concerns = |kind: &OffRequests| {
            kind.circumstance.parameters_of_concern(std::slice::from_ref(parameter)).next().is_some()
        };
        let shown = off.iter().take(MOST_SHOWN).enumerate();
        let numbers: Vec<_> =
            shown.filter(|(_, kind)| concerns(kind)).map(|(index, _)| (index + 1).to_string()).collect();
        if !numbers.is_empty() {
            let (key, value) = (&parameter.key, &parameter.says);
            sentences.push(format!("Not modelled, and may be why ({}): {key} = {value}", numbers.join(", ")));
        }
    }
    sentences
}

/// Empty tables: the errors, the distributions side by side, and the kinds of requests that deviate.
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

/// The tables of a result: the errors, the distributions side by side, and the kinds of requests that deviate.
fn result_tables(result: &ValidationResult) -> [Table; 3] {
    let ValidationResult { samples, errors: found, off, .. } = result;
    let [mut errors, mut quantiles, mut deviations] = empty_tables();
    for (name, kind_errors) in [("all", &found.all), ("reads", &found.reads), ("writes", &found.writes)] {
        errors.add_row(errors_row(name, kind_errors));
    }
    let read_and_write_times = [true, false].map(|reads| {
        let (mut measured, mut simulated) = samples.measured_and_simulated(Some(reads));
        measured.sort_unstable();
        simulated.sort_unstable();
        [measured, simulated]
    });
    for (share, name) in SHARES {
        let mut cells = vec![name.to_owned()];
        for times in read_and_write_times.iter().flatten() {
            let time = quantile(times, share).nanos() as f64 / 1e6;
            cells.push(if times.is_empty() { String::new() } else { format!("{time:.3}") });
        }
        quantiles.add_row(cells);
    }
    add_deviations(&mut deviations, off);
    [errors, quantiles, deviations]
}

fn format_validation(result: &ValidationResult, columns: &[String]) -> Result<String, CommandError> {
    let ValidationResult { drive, errors: found, off, .. } = result;
    let [mut errors, mut quantiles, mut deviations] = result_tables(result);
    choose_columns(&mut [&mut errors, &mut quantiles, &mut deviations], columns)?;
    let width = screen::output_width();
    let sentences = deviation_sentences(off, &drive.not_modelled, &found.all);
    let tables = [&errors, &quantiles, &deviations].into_iter().filter(|table| !table.is_empty());
    let blocks = tables.map(|table| table.draw(width)).chain(sentences.iter().map(|line| wrap_text(line, width)));
    Ok(std::iter::once(wrap_text(&drive.title, width)).chain(blocks).collect::<Vec<_>>().join("\n\n"))
}

/// The result as a page.
fn validation_page(trace: &str, result: &ValidationResult) -> Page {
    let ValidationResult { drive, samples, errors, off, doubts, .. } = result;
    let all = &errors.all;
    let answer = format!(
        "{} requests take {:.3} ms on average, and {:.3} ms in the model ({:+.1} %). The demerit, by which the two distributions of times \
         differ, is {:.3} ms ({:.1} % of the mean).",
        all.n,
        all.mean_measured_ms,
        all.mean_simulated_ms,
        all.mean_error_percent(),
        all.demerit_ms,
        all.demerit_percent
    );
    let mut page =
        Page::new(format!("Does the model of {} take as long as the drive did in {trace}?", drive.title), answer);
    let caption = "Response times, measured and simulated: how many of 100 requests took at most so long.";
    page.add_chart(&draw_distributions(&drive.title, samples), caption);
    doubts.iter().for_each(|doubt| page.add_paragraph(&format!("Note: {doubt}.")));
    let headings = ["Errors of the mean, and demerits", "Response times by share of requests", "Requests that are off"];
    for (heading, table) in headings.into_iter().zip(result_tables(result)) {
        let (heads, rows) = table.headings_and_rows();
        page.add_table(heading, &heads, rows);
    }
    let sentences = deviation_sentences(off, &drive.not_modelled, all);
    sentences.iter().for_each(|sentence| page.add_paragraph(sentence));
    page
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
