//! `seekwise run`: runs a job once on a target, and prints the result as tables, JSON, fio's JSON or CSV. Measured results are
//! compared with the model instead (`measured`).

mod histogram;
mod members;
mod picture;
mod slow_requests;
mod text;
mod trace;

use seekwise::answer::{self, SCHEMA};
use seekwise::pictures::draw_run;
use seekwise::run::{PreparedRun, Response, RunOptions, RunRecord, RunResult};
use seekwise::setup::{PreparedCell, Work};
use seekwise::time::Span;
use seekwise::{Bounds, Files, fio_output};

use self::slow_requests::SlowRequests;
use self::text::{TextOptions, format_run};
use super::{measured, print_json, print_text, print_warnings, study};
use crate::args::{self, ResultFormat};
use crate::exit::{CommandAnswer, CommandError, CommandResult};
use crate::output::{csv_cell, print_to_stderr};
use crate::progress::ProgressObserver;
use crate::screen;

/// Runs the command.
pub fn run_command(args: &args::RunArgs, files: &Files, bounds: &Bounds, json: bool) -> CommandResult {
    let format = result_format(args.format, json)?;
    if seekwise::measured::are_results(files, &args.jobs)? {
        return measured::run_results(args, files, format);
    }
    check_arguments(args, format)?;
    let setup = args.on.job_setup(files, &args.jobs[0]);
    let prepared_run = PreparedRun::new(&setup)?;
    print_warnings(&prepared_run.prepared_cell().warnings);
    check_format(format, prepared_run.prepared_cell())?;
    args.pictures.check_paths(args.force, &[&args.jobs[0], args.on.target_name()])?;
    check_force(args, prepared_run.prepared_cell())?;
    let mut options = RunOptions::default();
    (options.log, options.out) = (args.log.as_deref(), args.out.as_deref());
    (options.force, options.bounds) = (args.force, *bounds);
    // The other formats have no place for bands.
    let has_bands = matches!(format, ResultFormat::Text | ResultFormat::Json) || args.out.is_some();
    options.band = has_bands && !args.no_band;
    let progress = args
        .out
        .as_deref()
        .map_or_else(ProgressObserver::new, |out| ProgressObserver::keeping_runs(out, study::resume_command(out)));
    let mut slow_requests = args.slow.map(|threshold| SlowRequests::new(Span::from_nanos(threshold.nanos)));
    let result = prepared_run.run(&options, &progress, &mut |record| {
        if let Some(slow_requests) = &mut slow_requests {
            slow_requests.keep_if_slow(record);
        }
    })?;
    drop(progress);
    print_warnings(&result.record.warnings[result.prepared.warnings.len()..]);
    args.pictures.write(args.force, || draw_run(&picture::run_plot(&result.record, &result.measured)))?;
    print_result(args, format, &result, slow_requests)?;
    match (&result.page, &args.out) {
        (Some(page), Some(out)) => {
            print_to_stderr(format!("Report: {}", page.display()));
            print_to_stderr(format!("Again: {}", seekwise::study::rerun_command(out)));
        }
        _ => print_to_stderr(format!("Again: seekwise run {} --seed {}", setup.words(), setup.seed)),
    }
    Ok(CommandAnswer::Done)
}

/// Prints the result in the requested format.
fn print_result(
    args: &args::RunArgs,
    format: ResultFormat,
    result: &RunResult,
    slow_requests: Option<SlowRequests>,
) -> Result<(), CommandError> {
    let RunResult { prepared, measured, record, .. } = result;
    match format {
        ResultFormat::Json => {
            let mut value = result.json();
            if let Some(slow_requests) = &slow_requests {
                value["slow"] = slow_requests.to_json();
            }
            print_json(&value)
        }
        ResultFormat::FioJson => print_text(&answer::escape_json(&fio_output::write_fio_json(prepared, measured))),
        ResultFormat::Csv => print_text(&format_csv(record)),
        ResultFormat::Text => {
            let (columns, layers) = (&*args.columns.names, result.layer_order());
            let options = TextOptions { columns, plot: args.plot, width: screen::output_width(), layers };
            let recorded_on = if let Work::Session(session) = &prepared.job { &*session.made_on } else { "" };
            let slow_table = slow_requests.map_or(String::new(), |slow| slow.format_table(options.width));
            print_text(&(format_run(record, measured, recorded_on, &options)? + &slow_table))
        }
    }
}

/// Refuses arguments that do not go together.
fn check_arguments(args: &args::RunArgs, format: ResultFormat) -> Result<(), CommandError> {
    if (args.plot || !args.columns.names.is_empty()) && format != ResultFormat::Text {
        return Err(CommandError::new("--plot and --columns need --format text"));
    }
    if args.slow.is_some() && !matches!(format, ResultFormat::Text | ResultFormat::Json) {
        return Err(CommandError::new("--slow: not supported in this format; expected text or json"));
    }
    if let [first, second, ..] = &args.jobs[..] {
        return Err(CommandError::new(format!(
            "run: takes one job, or results of fio; `seekwise compare {first} {second} --on {}` compares two jobs",
            args.on.target_name()
        )));
    }
    if args.all {
        return Err(CommandError::new("--all: only with results of fio; expected none with a job"));
    }
    text::check_columns(&args.columns.names)
}

/// Refuses fio's format for work that has no jobs.
fn check_format(format: ResultFormat, prepared: &PreparedCell) -> Result<(), CommandError> {
    match format == ResultFormat::FioJson && prepared.job.workers().is_empty() {
        true => Err(CommandError::new(
            "--format fio-json: a scene, session or trace has no fio jobs; expected text, json or csv",
        )),
        false => Ok(()),
    }
}

/// Refuses `--force` if there is no file to overwrite.
fn check_force(args: &args::RunArgs, prepared: &PreparedCell) -> Result<(), CommandError> {
    let writes = args.out.is_some() || args.log.is_some() || args.pictures.are_requested() || !prepared.logs.is_empty();
    match args.force && !writes {
        true => Err(CommandError::new(
            "--force: there is nothing to overwrite; expected --out, --log, --svg or --png as well",
        )),
        false => Ok(()),
    }
}

/// The format that `--format` or `--json` selects.
fn result_format(requested: Option<ResultFormat>, json: bool) -> Result<ResultFormat, CommandError> {
    match requested {
        Some(format) if json && format != ResultFormat::Json => {
            let name =
                clap::ValueEnum::to_possible_value(&format).map_or(String::new(), |value| value.get_name().to_owned());
            let why = "they conflict; expected one of them";
            Err(CommandError::new(format!("--json and --format {name}: {why}")))
        }
        Some(format) => Ok(format),
        None => Ok(if json { ResultFormat::Json } else { ResultFormat::Text }),
    }
}

fn format_csv(record: &RunRecord) -> String {
    let mut text =
        "target,job,seed,kind,ios,iops,bytes_per_s,mean_ms,p50_ms,p90_ms,p99_ms,p99_9_ms,p99_99_ms,max_ms,since_due_mean_ms,\
         since_due_p50_ms,since_due_p90_ms,since_due_p99_ms,since_due_p99_9_ms,since_due_p99_99_ms,since_due_max_ms,\
         members_read_per_byte,members_written_per_byte,schema\n"
            .to_owned();
    // Times that do not exist are empty cells.
    let time_cells = |times: Option<Response>| {
        let columns =
            times.map(|times| [times.mean, times.p50, times.p90, times.p99, times.p99_9, times.p99_99, times.max]);
        columns.map_or([(); 7].map(|()| String::new()), |columns| columns.map(|ms| ms.to_string())).join(",")
    };
    let flush = Some(("flush", &record.flush)).filter(|(_, view)| view.ios > 0);
    let commit = record.commit.as_ref().map(|commit| ("commit", &commit.figures));
    let kinds = [("read", &record.read), ("write", &record.write), ("all", &record.all)];
    // Bytes that an array's members read and wrote for each byte of the kind.
    let member_cells = |kind: &str| {
        let figures = record.array.as_ref().map(|array| match kind {
            "read" => [array.read_per_byte_read, None],
            "write" => [array.read_per_byte_written, array.written_per_byte_written],
            _ => [None, None],
        });
        let cells = figures.unwrap_or_default().map(|figure| figure.map_or(String::new(), |figure| figure.to_string()));
        cells.join(",")
    };
    for (kind, view) in kinds.into_iter().chain(flush).chain(commit) {
        text.push_str(&format!(
            "{},{},{},{kind},{},{},{},{},{},{},{SCHEMA}\n",
            csv_cell(&record.target),
            csv_cell(&record.job),
            record.seed,
            view.ios,
            view.iops,
            view.bytes_per_s,
            time_cells(view.response_ms),
            time_cells(view.since_due_ms),
            member_cells(kind)
        ));
    }
    text
}
