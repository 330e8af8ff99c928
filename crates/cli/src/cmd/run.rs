//! `seekwise run`: one run of a job on a target, printed as a table, JSON, fio's JSON or CSV.

mod histogram;
mod slow;
mod text;
mod trace;

use std::path::Path;
use std::slice::from_ref;

use seekwise_formats::study::{Study, parse};
use seekwise_lab::demand::extent;
use seekwise_lab::inputs::Taken;
use seekwise_lab::made::{MadeFrom, Program};
use seekwise_lab::plan::{Cell, Prepared};
use seekwise_lab::run::{Measured, Response, RunRecord, SCHEMA, measure};
use seekwise_lab::trace::certificate;
use seekwise_model::record::Record;
use seekwise_model::time::Span;
use seekwise_targets::work::Work;

use self::slow::SlowOnes;
use self::text::{Wanted, text};
use super::{print, print_json, study, warn};
use crate::args::{self, Format};
use crate::bounds::{Bounds, Plan};
use crate::exit::{Answer, Failure, Outcome};
use crate::files::{self, spoken};
use crate::fio_output;
use crate::interrupt::{self, Keeping};
use crate::log::{Log, Of};
use crate::output::{admit, csv_cell, quoted, say, shown_json};
use crate::progress::Progress;
use crate::results::Results;
use crate::screen;
use crate::target;

/// Runs the command.
pub fn run(args: &args::Run, bounds: &Bounds, json: bool) -> Outcome {
    let format = format(args.format, json)?;
    check(args, format)?;
    let cell = target::cell(&args.job, &args.on)?;
    let inputs = files::inputs();
    let prepared = target::prepare(&cell, &inputs)?;
    warn(&prepared.warnings);
    of_workers(format, &prepared)?;
    let plan = Plan { cells: from_ref(&prepared), runs: 1, cuts: 0, times: 1, threads: 1, seed: args.on.seed };
    bounds.admit(&plan)?;
    args.log.as_deref().map(|log| admit(log, args.force)).transpose()?;
    let kept = args.out.as_deref().map(|out| Kept::begin(args, cell, &prepared, inputs.taken(), out)).transpose()?;
    let measured = prepared.target.is_measured();
    let of = Of { job: spoken(&args.job), target: spoken(&args.on.target), seed: args.on.seed, measured };
    let mut log = args.log.as_deref().map(|path| Log::create(path, &of)).transpose()?;
    let far = Far::new(&prepared);
    let mut count = 0u64;
    let mut failure: Option<Failure> = None;
    let mut slow = args.slow.map(|least| SlowOnes::new(Span::from_nanos(least.nanos)));
    let measured = measure(&prepared.target, &prepared.job, args.on.seed, |record| {
        count += 1;
        if count.is_multiple_of(FAR_STEP) {
            far.at(count, record);
        }
        if let Some(slow) = &mut slow {
            slow.take(record);
        }
        if let (Some(log), None) = (&mut log, &failure) {
            failure = log.take(record).err();
        }
    })?;
    drop(far);
    if let Some(failure) = failure {
        return Err(failure);
    }
    something(&measured, &prepared.job)?;
    if let Some(log) = log {
        log.finish()?;
    }
    let warnings = prepared.warnings.iter().map(ToString::to_string).collect();
    let record = measured.record(spoken(&args.on.target), spoken(&args.job), args.on.seed, warnings);
    let record = RunRecord { cell_hash: prepared.hash.clone(), trace: certificate(&prepared, &measured), ..record };
    warn(&record.warnings[prepared.warnings.len()..]);
    show(args, format, &prepared, &measured, &record, slow)?;
    match kept {
        Some(kept) => kept.finish(&prepared, &measured)?,
        None => say(format!("Again: seekwise run {} --seed {}", target::words(&args.job, &args.on), args.on.seed)),
    }
    Ok(Answer::Done)
}

/// The result in the form that is wanted.
fn show(
    args: &args::Run,
    format: Format,
    prepared: &Prepared,
    measured: &Measured,
    record: &RunRecord,
    slow: Option<SlowOnes>,
) -> Result<(), Failure> {
    match format {
        Format::Json => {
            let mut value = serde_json::to_value(record).expect("a record has no keys but strings");
            let Program { version, build } = Program::this();
            (value["version"], value["build"]) = (version.into(), build.into());
            if let Some(slow) = &slow {
                value["slow"] = slow.json();
            }
            print_json(&value)
        }
        Format::FioJson => print(&shown_json(&fio_output::write(prepared, measured))),
        Format::Csv => print(&csv(record)),
        Format::Text => {
            let wanted = Wanted { columns: &args.columns.names, plot: args.plot, width: screen::width() };
            let made_on = if let Work::Session(session) = &prepared.job { &*session.made_on } else { "" };
            let slow = slow.map_or(String::new(), |slow| slow.text(wanted.width));
            print(&(text(record, measured, made_on, &wanted)? + &slow))
        }
    }
}

/// An error where arguments do not go together.
fn check(args: &args::Run, format: Format) -> Result<(), Failure> {
    if (args.plot || !args.columns.names.is_empty()) && format != Format::Text {
        return Err(Failure::new("--plot and --columns need --format text"));
    }
    if args.force && args.out.is_none() && args.log.is_none() {
        return Err(Failure::new("--force: there is nothing to overwrite; expected --out or --log as well"));
    }
    if args.slow.is_some() && !matches!(format, Format::Text | Format::Json) {
        return Err(Failure::new("--slow: not supported in this format; expected text or json"));
    }
    text::check(&args.columns.names)
}

/// An error where fio's form is asked for of work that has no jobs.
fn of_workers(format: Format, prepared: &Prepared) -> Result<(), Failure> {
    match format == Format::FioJson && prepared.job.workers().is_empty() {
        true => Err(Failure::new(
            "--format fio-json: a scene, session or trace has no fio jobs; expected text, json or csv",
        )),
        false => Ok(()),
    }
}

/// The form that is asked for, by `--format` or by `--json`.
fn format(given: Option<Format>, json: bool) -> Result<Format, Failure> {
    match given {
        Some(format) if json && format != Format::Json => {
            let name = clap::ValueEnum::to_possible_value(&format).map_or(String::new(), |it| it.get_name().to_owned());
            let why = "they conflict; expected one of them";
            Err(Failure::new(format!("--json and --format {name}: {why}")))
        }
        Some(format) => Ok(format),
        None => Ok(if json { Format::Json } else { Format::Text }),
    }
}

/// An error where a run has no figures.
fn something(measured: &Measured, job: &Work) -> Result<(), Failure> {
    let Measured { issued, failures, .. } = measured;
    if measured.run.all().tally.ios() > 0 || measured.operations.values().any(|operation| operation.count > 0) {
        return Ok(());
    }
    let trouble: String = measured.troubles.iter().map(|trouble| format!("; {trouble}")).collect();
    Err(Failure::new(match (*issued, *failures) {
        (0, _) if matches!(job, Work::Scene(_)) => format!(
            "the scene's programs asked the drive for nothing, so there is nothing to say{trouble}; expected files that \
             they find: `files` of a volume (volume.NAME.files), or of a program that brings its own"
        ),
        (0, _) => format!("the job issued no requests, so there is no result{trouble}"),
        (issued, failures) if failures >= issued => format!("all {issued} requests failed{trouble}"),
        (issued, failures) => format!(
            "no request was counted: {issued} were issued, {failures} failed, and none that was done is a read or write \
             after the ramp; expected a longer run time, or a shorter ramp{trouble}"
        ),
    }))
}

/// Requests from one word of progress to the next.
const FAR_STEP: u64 = 1 << 14;

/// How far a run is: by its place's time where its end is known, else by requests.
struct Far {
    progress: Progress,
    by_time: bool,
}

impl Far {
    fn new(prepared: &Prepared) -> Far {
        let (seconds, requests) = extent(&prepared.job);
        let unit = if prepared.target.is_measured() { "seconds" } else { "virtual seconds" };
        let (progress, by_time) = match (seconds, requests) {
            (Some(seconds), _) => (Progress::of(seconds.ceil() as u64, unit), true),
            (None, Some(requests)) => (Progress::of(requests, "requests"), false),
            (None, None) => (Progress::unknown("requests"), false),
        };
        Far { progress, by_time }
    }

    fn at(&self, count: u64, record: &Record) {
        self.progress.at(if self.by_time { record.completion.finished.nanos() / 1_000_000_000 } else { count });
    }
}

/// The folder that a run is kept in: that of a study of one cell and one run.
struct Kept<'a> {
    folder: &'a Path,
    study: Study,
    made: MadeFrom,
    results: Results,
}

impl<'a> Kept<'a> {
    fn begin(
        args: &args::Run,
        cell: Cell,
        prepared: &Prepared,
        taken: Taken,
        folder: &'a Path,
    ) -> Result<Kept<'a>, Failure> {
        let question = format!("How fast is {}?", target::title(&args.job, &args.on));
        let text = target::study(&args.job, &args.on, question, 1, [])?;
        let study = parse("command line", &text)?;
        let prepared = from_ref(prepared);
        seekwise_lab::study::check("command line", &study, prepared)?;
        let mut made = MadeFrom::new(&text, &study, &[cell], prepared, taken);
        // The run of a study has a seed of its own, drawn from the study's; this one is asked for.
        made.seeds = vec![args.on.seed];
        let results = Results::begin(folder, &text, &made, args.force)?;
        let again = format!("seekwise study {} --resume", quoted(&folder.display().to_string()));
        interrupt::hold().keep(Keeping { folder: folder.to_owned(), of: Some(1), again });
        Ok(Kept { folder, study, made, results })
    }

    fn finish(mut self, prepared: &Prepared, measured: &Measured) -> Result<(), Failure> {
        let record = seekwise_lab::study::record(prepared, measured, self.made.seeds[0]);
        self.results.append(&record)?;
        let path = study::write_report(&self.study, &self.made, &[record], self.folder)?;
        say(format!("Report: {}", path.display()));
        say(format!("Again: {}", study::again(self.folder)));
        Ok(())
    }
}

fn csv(record: &RunRecord) -> String {
    let mut text =
        "target,job,seed,kind,ios,iops,bytes_per_s,mean_ms,p50_ms,p90_ms,p99_ms,p99_9_ms,p99_99_ms,max_ms,since_due_mean_ms,\
         since_due_p50_ms,since_due_p90_ms,since_due_p99_ms,since_due_p99_9_ms,since_due_p99_99_ms,since_due_max_ms,schema\n"
            .to_owned();
    // What did not happen is an empty cell.
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
