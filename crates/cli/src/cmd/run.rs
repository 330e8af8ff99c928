//! `seekwise run`: one run of a job on a target, printed as a table, JSON, fio's JSON or CSV.

mod histogram;
mod text;

use std::path::Path;
use std::slice::from_ref;

use indicatif::{ProgressBar, ProgressStyle};
use seekwise_formats::study::{Study, parse};
use seekwise_lab::inputs::{Inputs, Taken};
use seekwise_lab::made::{MadeFrom, Program};
use seekwise_lab::plan::{Cell, Prepared};
use seekwise_lab::run::{Measured, RunRecord, measure};

use self::text::{Wanted, text};
use super::{print, print_json, study, warn};
use crate::args::{self, Format};
use crate::bounds::{Bounds, Plan};
use crate::exit::{Answer, Failure, Outcome};
use crate::files;
use crate::fio_output;
use crate::log::Log;
use crate::output::{csv_cell, say, shown_json};
use crate::results::Results;
use crate::screen;
use crate::target;

/// Runs the command.
pub fn run(args: &args::Run, bounds: &Bounds, json: bool) -> Outcome {
    if (args.plot || !args.columns.names.is_empty()) && args.format != Format::Text {
        return Err(Failure::new("--plot and --columns are for people; expected --format text with them"));
    }
    text::check(&args.columns.names)?;
    let cell = target::cell(&args.job, &args.on)?;
    let inputs = Inputs::today(&files::text);
    let prepared = target::prepare(&cell, &inputs)?;
    warn(&prepared.warnings);
    let plan = Plan { cells: from_ref(&prepared), runs: 1, cuts: 0, times: 1, threads: 1, seed: args.on.seed };
    bounds.admit(&plan)?;
    let kept = args.out.as_deref().map(|out| Kept::begin(args, cell, &prepared, inputs.taken(), out)).transpose()?;
    let mut log = args.log.as_deref().map(Log::create).transpose()?;
    let bar = ProgressBar::new_spinner().with_style(
        ProgressStyle::with_template("{spinner} {pos} requests, {elapsed} gone").expect("a valid template"),
    );
    let mut count = 0u64;
    let mut failure: Option<Failure> = None;
    let measured = measure(&prepared.stack, &prepared.job, args.on.seed, |record| {
        count += 1;
        if count.is_multiple_of(1 << 20) {
            bar.set_position(count);
        }
        if let (Some(log), None) = (&mut log, &failure) {
            failure = log.take(record).err();
        }
    })?;
    bar.finish_and_clear();
    if let Some(failure) = failure {
        return Err(failure);
    }
    if let Some(log) = log {
        log.finish()?;
    }
    let warnings = prepared.warnings.iter().map(ToString::to_string).collect();
    let record = measured.record(&args.on.target, &args.job, args.on.seed, warnings);
    let record = RunRecord { cell_hash: prepared.hash.clone(), ..record };
    warn(&record.warnings[prepared.warnings.len()..]);
    match if json { Format::Json } else { args.format } {
        Format::Json => {
            let mut value = serde_json::to_value(&record).expect("a record has no keys but strings");
            let Program { version, build } = Program::this();
            (value["version"], value["build"]) = (version.into(), build.into());
            print_json(&value)?;
        }
        Format::FioJson => print(&shown_json(&fio_output::write(&prepared, &measured)))?,
        Format::Csv => print(&csv(&record))?,
        Format::Text => {
            let wanted = Wanted { columns: &args.columns.names, plot: args.plot, width: screen::width() };
            print(&text(&record, &measured, &wanted)?)?;
        }
    }
    match kept {
        Some(kept) => kept.finish(&prepared, &measured)?,
        None => say(format!("Again: {}", again(args))),
    }
    Ok(Answer::Done)
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
        let question = format!("How fast is {} on {}?", args.job, args.on.target);
        let text = target::study(&args.job, &args.on, question, 1, [])?;
        let study = parse("command line", &text)?;
        let prepared = from_ref(prepared);
        seekwise_lab::study::check("command line", &study, prepared)?;
        let mut made = MadeFrom::new(&text, &study, &[cell], prepared, taken);
        // The run of a study has a seed of its own, drawn from the study's; this one is asked for.
        made.seeds = vec![args.on.seed];
        let results = Results::begin(folder, &text, &made)?;
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

fn again(args: &args::Run) -> String {
    let set: Vec<String> = args.on.set.iter().map(|(key, value)| format!(" --set {key}={value}")).collect();
    let runtime = args.on.runtime.as_ref().map_or(String::new(), |time| format!(" --runtime '{time}'"));
    format!("seekwise run {} --on {}{}{runtime} --seed {}", args.job, args.on.target, set.concat(), args.on.seed)
}

fn csv(record: &RunRecord) -> String {
    let mut text =
        "target,job,seed,kind,ios,iops,bytes_per_s,mean_ms,p50_ms,p90_ms,p99_ms,p99_9_ms,p99_99_ms,max_ms\n".to_owned();
    for (kind, view) in [("read", &record.read), ("write", &record.write), ("all", &record.all)] {
        let r = &view.response_ms;
        text.push_str(&format!(
            "{},{},{},{kind},{},{},{},{},{},{},{},{},{},{}\n",
            csv_cell(&record.target),
            csv_cell(&record.job),
            record.seed,
            view.ios,
            view.iops,
            view.bytes_per_s,
            r.mean,
            r.p50,
            r.p90,
            r.p99,
            r.p99_9,
            r.p99_99,
            r.max
        ));
    }
    text
}
