//! Results of fio against the model, as `seekwise run RESULT…` and `seekwise compare RESULT…` print them.

mod text;

use seekwise::measured::{MeasuredResults, ModelSide, compare_with_model};
use seekwise::{Files, values};

use super::{print_json, print_text};
use crate::args::{self, AnswerFormat, ResultFormat, TargetArgs};
use crate::exit::{CommandAnswer, CommandError, CommandResult};
use crate::progress::ProgressObserver;

/// Compares results with one drive.
pub fn run_results(args: &args::RunArgs, files: &Files, format: ResultFormat) -> CommandResult {
    let refused = [
        ("--log", args.log.is_some()),
        ("--out", args.out.is_some()),
        ("--svg or --png", args.pictures.are_requested()),
        ("--force", args.force),
        ("--plot", args.plot),
        ("--slow", args.slow.is_some()),
    ];
    refuse_options(&refused, &args.on)?;
    if !matches!(format, ResultFormat::Text | ResultFormat::Json) {
        return Err(CommandError::new("--format: not supported with measured results; expected text or json"));
    }
    reject_repeated_results(&args.jobs)?;
    if format == ResultFormat::Json && args.all {
        return Err(CommandError::new("--all: JSON has all figures; expected none"));
    }
    let mut results = MeasuredResults::new(args.jobs.clone(), args.on.target_name());
    (results.set, results.files) = (args.on.set.clone(), files.clone());
    let options = text::MeasuredTextOptions { columns: Some(&args.columns.names), all: args.all };
    print_comparison(&results, format == ResultFormat::Json, &options)
}

/// Compares results with one drive or more, and says which is nearest.
pub fn compare_results(args: &args::CompareArgs, files: &Files, json: bool) -> CommandResult {
    reject_repeated_results(&args.jobs)?;
    if args.on.targets.is_empty() {
        return Err(CommandError::new(
            "compare: --on is missing: one run has no interval; expected two result folders, or --on DRIVE to compare results of fio with \
             the model",
        ));
    }
    let refused = [
        ("--against", args.against.is_some()),
        ("--dry-run", args.dry_run.is_some()),
        ("--metric", !args.metric.is_empty()),
        ("--until-decided or --fixed", args.sampling.requested_sampling().is_some()),
        ("--format markdown", args.format == Some(AnswerFormat::Markdown)),
        ("--format csv", args.format == Some(AnswerFormat::Csv)),
        ("--svg or --png", args.pictures.are_requested()),
        ("--page", args.page.is_requested()),
        ("--out", args.out.is_some()),
        ("--force", args.force),
    ];
    refuse_options(&refused, &args.on)?;
    let json = json || args.format == Some(AnswerFormat::Json);
    let mut results = MeasuredResults::new(args.jobs.clone(), args.on.target_name());
    (results.set, results.files, results.sides) = (args.on.set.clone(), files.clone(), model_sides(args)?);
    print_comparison(&results, json, &text::MeasuredTextOptions { columns: None, all: args.all })
}

/// Refuses a result that is named twice: it would count twice.
fn reject_repeated_results(results: &[String]) -> Result<(), CommandError> {
    match (1..results.len()).find(|index| results[..*index].contains(&results[*index])) {
        Some(repeated) => {
            Err(CommandError::new(format!("{}: is named twice; expected different results", results[repeated])))
        }
        None => Ok(()),
    }
}

/// Refuses several targets and `--all` for a comparison that runs jobs.
pub fn reject_options_of_results(args: &args::CompareArgs) -> Result<(), CommandError> {
    if let [first, second, ..] = &args.on.targets[..] {
        return Err(CommandError::new(format!(
            "--on {second}: a job has one target; expected --vary drive={first},{second} to compare two drives"
        )));
    }
    match args.all {
        true => Err(CommandError::new("--all: only with results of fio; expected none with jobs")),
        false => Ok(()),
    }
}

/// The models: each target, or each value of the varied key.
fn model_sides(args: &args::CompareArgs) -> Result<Vec<ModelSide>, CommandError> {
    let targets = &args.on.targets;
    if let Some(index) = (1..targets.len()).find(|index| targets[..*index].contains(&targets[*index])) {
        return Err(CommandError::new(format!("--on {}: is named twice; expected different drives", targets[index])));
    }
    let Some((key, list)) = &args.vary else {
        return Ok(targets.iter().map(|drive| ModelSide::new(&**drive)).collect());
    };
    let [drive] = &targets[..] else {
        return Err(CommandError::new(format!("--vary {key}: the drives vary already; expected one --on")));
    };
    let values = values::parse_values(key, list)?;
    Ok(match key.as_str() {
        "drive" => values.into_iter().map(ModelSide::new).collect(),
        key => values.iter().map(|value| ModelSide::with_setting(&**drive, key, value)).collect(),
    })
}

/// Refuses options that say how to run a job: the results have run already.
fn refuse_options(refused: &[(&str, bool)], on: &TargetArgs) -> Result<(), CommandError> {
    let of_target = [
        ("--runtime", on.runtime.is_some()),
        ("--destroy", on.destroy.is_some()),
        ("--trace-format", on.trace_format.is_some()),
        ("--seed", on.seed != 1),
    ];
    match refused.iter().chain(&of_target).find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(CommandError::new(format!(
            "{option}: not supported with measured results, which are only compared with the model; expected none"
        ))),
        None => Ok(()),
    }
}

fn print_comparison(results: &MeasuredResults, json: bool, options: &text::MeasuredTextOptions<'_>) -> CommandResult {
    text::check_columns(results, options)?;
    let progress = ProgressObserver::new();
    let comparison = compare_with_model(results, &progress)?;
    drop(progress);
    match json {
        true => print_json(&comparison.json())?,
        false => print_text(&text::format_comparison(&comparison, options)?)?,
    }
    Ok(CommandAnswer::Done)
}
