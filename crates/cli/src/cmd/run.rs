//! `seekwise run`: one run of a job on a target, printed as a table, JSON, fio's JSON or CSV.

mod histogram;
mod slow;
mod text;
mod trace;

use seekwise::run::{PreparedRun, RunOptions, RunResult};
use seekwise::{Bounds, answer, fio_output};
use seekwise_lab::plan::PreparedCell;
use seekwise_lab::run::{Response, RunRecord, SCHEMA};
use seekwise_model::time::Span;
use seekwise_run::work::Work;

use self::slow::SlowRequests;
use self::text::{TextOptions, text};
use super::{print, print_json, study, warn};
use crate::args::{self, ResultFormat};
use crate::exit::{CommandAnswer, CommandError, CommandResult};
use crate::output::{csv_cell, say};
use crate::progress::Line;
use crate::screen;

/// Runs the command.
pub fn run(args: &args::RunArgs, bounds: &Bounds, json: bool) -> CommandResult {
    let format = format(args.format, json)?;
    check(args, format)?;
    let setup = args.on.setup(&args.job);
    let runnable = PreparedRun::new(&setup)?;
    warn(&runnable.prepared.warnings);
    of_workers(format, &runnable.prepared)?;
    of_files(args, &runnable.prepared)?;
    let options = RunOptions { log: args.log.as_deref(), out: args.out.as_deref(), force: args.force, bounds: *bounds };
    let line = args.out.as_deref().map_or_else(Line::new, |out| Line::keeping(out, study::go_on(out)));
    let mut slow = args.slow.map(|least| SlowRequests::new(Span::from_nanos(least.nanos)));
    let result = runnable.run(&options, &line, &mut |record| {
        if let Some(slow) = &mut slow {
            slow.take(record);
        }
    })?;
    drop(line);
    warn(&result.record.warnings[result.prepared.warnings.len()..]);
    show(args, format, &result, slow)?;
    match (&result.page, &args.out) {
        (Some(page), Some(out)) => {
            say(format!("Report: {}", page.display()));
            say(format!("Again: {}", seekwise::study::again(out)));
        }
        _ => say(format!("Again: seekwise run {} --seed {}", setup.words(), setup.seed)),
    }
    Ok(CommandAnswer::Done)
}

/// Prints the result in the format that is asked for.
fn show(
    args: &args::RunArgs,
    format: ResultFormat,
    result: &RunResult,
    slow: Option<SlowRequests>,
) -> Result<(), CommandError> {
    let RunResult { prepared, measured, record, .. } = result;
    match format {
        ResultFormat::Json => {
            let mut value = result.json();
            if let Some(slow) = &slow {
                value["slow"] = slow.json();
            }
            print_json(&value)
        }
        ResultFormat::FioJson => print(&answer::shown(&fio_output::write(prepared, measured))),
        ResultFormat::Csv => print(&csv(record)),
        ResultFormat::Text => {
            let wanted = TextOptions { columns: &args.columns.names, plot: args.plot, width: screen::width() };
            let made_on = if let Work::Session(session) = &prepared.job { &*session.made_on } else { "" };
            let slow = slow.map_or(String::new(), |slow| slow.text(wanted.width));
            print(&(text(record, measured, made_on, &wanted)? + &slow))
        }
    }
}

/// Refuses arguments that do not go together.
fn check(args: &args::RunArgs, format: ResultFormat) -> Result<(), CommandError> {
    if (args.plot || !args.columns.names.is_empty()) && format != ResultFormat::Text {
        return Err(CommandError::new("--plot and --columns need --format text"));
    }
    if args.slow.is_some() && !matches!(format, ResultFormat::Text | ResultFormat::Json) {
        return Err(CommandError::new("--slow: not supported in this format; expected text or json"));
    }
    text::check(&args.columns.names)
}

/// Refuses fio's format for work that has no jobs.
fn of_workers(format: ResultFormat, prepared: &PreparedCell) -> Result<(), CommandError> {
    match format == ResultFormat::FioJson && prepared.job.workers().is_empty() {
        true => Err(CommandError::new(
            "--format fio-json: a scene, session or trace has no fio jobs; expected text, json or csv",
        )),
        false => Ok(()),
    }
}

/// Refuses `--force` if there is no file to overwrite.
fn of_files(args: &args::RunArgs, prepared: &PreparedCell) -> Result<(), CommandError> {
    match args.force && args.out.is_none() && args.log.is_none() && prepared.logs.is_empty() {
        true => Err(CommandError::new("--force: there is nothing to overwrite; expected --out or --log as well")),
        false => Ok(()),
    }
}

/// The format that `--format` or `--json` asks for.
fn format(given: Option<ResultFormat>, json: bool) -> Result<ResultFormat, CommandError> {
    match given {
        Some(format) if json && format != ResultFormat::Json => {
            let name = clap::ValueEnum::to_possible_value(&format).map_or(String::new(), |it| it.get_name().to_owned());
            let why = "they conflict; expected one of them";
            Err(CommandError::new(format!("--json and --format {name}: {why}")))
        }
        Some(format) => Ok(format),
        None => Ok(if json { ResultFormat::Json } else { ResultFormat::Text }),
    }
}

fn csv(record: &RunRecord) -> String {
    let mut text =
        "target,job,seed,kind,ios,iops,bytes_per_s,mean_ms,p50_ms,p90_ms,p99_ms,p99_9_ms,p99_99_ms,max_ms,since_due_mean_ms,\
         since_due_p50_ms,since_due_p90_ms,since_due_p99_ms,since_due_p99_9_ms,since_due_p99_99_ms,since_due_max_ms,schema\n"
            .to_owned();
    // Times that do not exist are empty cells.
    let cells = |times: Option<Response>| {
        let each = times.map(|r| [r.mean, r.p50, r.p90, r.p99, r.p99_9, r.p99_99, r.max]);
        each.map_or([(); 7].map(|()| String::new()), |each| each.map(|ms| ms.to_string())).join(",")
    };
    let flush = Some(("flush", &record.flush)).filter(|(_, view)| view.ios > 0);
    let kinds = [("read", &record.read), ("write", &record.write), ("all", &record.all)];
    for (kind, view) in kinds.into_iter().chain(flush) {
        text.push_str(&format!(
            "{},{},{},{kind},{},{},{},{},{},{SCHEMA}\n",
            csv_cell(&record.target),
            csv_cell(&record.job),
            record.seed,
            view.ios,
            view.iops,
            view.bytes_per_s,
            cells(view.response_ms),
            cells(view.since_due_ms)
        ));
    }
    text
}
