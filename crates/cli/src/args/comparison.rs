//! Arguments of `seekwise compare` and `seekwise study`, with those for the number and length of runs, which both have.

use std::path::PathBuf;

use clap::{Arg, ArgAction, Args, ValueEnum};
use seekwise::compare::{Metric, Sampling};

use super::{ColumnsArgs, PageArgs, PictureArgs, TargetArgs, parse_key_value, parse_name, parse_threads};

/// The drive that `--dry-run` assumes unless it names one: a common current one.
const DRY_RUN_DRIVE: &str = "barracuda-2t-st2000dm006";

/// The number and length of runs.
#[derive(Args, Debug)]
pub struct SamplingArgs {
    /// Make short, warmed runs, and stop each pair when its verdict stands; in virtual time only [default of `study`].
    #[arg(long, conflicts_with = "fixed")]
    pub until_decided: bool,
    /// Make all runs, each at full length [default of `compare`].
    #[arg(long)]
    pub fixed: bool,
}

impl SamplingArgs {
    /// The sampling that the options select, if they do.
    pub fn requested_sampling(&self) -> Option<Sampling> {
        match (self.until_decided, self.fixed) {
            (true, _) => Some(Sampling::UntilDecided),
            (_, true) => Some(Sampling::Fixed),
            _ => None,
        }
    }
}

/// Makes `--on` optional, because two result folders need no target; options that say how to run still require it.
fn require_target_for_run_options(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        // Measured results are compared with one drive or more.
        "target" => arg.required(false).action(ArgAction::Append),
        "job" | "metric" => arg,
        _ => arg.requires("target"),
    }
}

/// Arguments of `compare`.
#[derive(Args, Debug)]
#[command(mut_args(require_target_for_run_options))]
pub struct CompareArgs {
    /// A fio job file, an Iometer .icf, a scene, a recorded trace, `-` (standard input), or a built-in pattern. Each
    /// further job is compared with the first. Two result folders are compared as they are; results of fio in JSON with
    /// each model.
    #[arg(id = "job", value_parser = parse_name, value_name = "JOB|RESULT", required = true)]
    pub jobs: Vec<String>,
    /// The target and its settings.
    #[command(flatten)]
    pub on: TargetArgs,
    /// The key that differs and its values, two or more; the first is the base. `drive=A,B` compares drives.
    #[arg(long, value_name = "KEY=A,B", value_parser = parse_key_value)]
    pub vary: Option<(String, String)>,
    /// Compare a real file or device with the prediction for this modelled drive or stack.
    #[arg(long, value_name = "DRIVE|STACK", value_parser = parse_name,
        conflicts_with_all = ["vary", "metric", "out", "dry_run", "pictures", "page", "until_decided", "fixed"])]
    pub against: Option<String>,
    /// Run nothing; estimate the total time, assuming that the device is this drive.
    #[arg(long, value_name = "DRIVE|STACK", num_args = 0..=1, require_equals = true, conflicts_with_all = ["out", "pictures", "page", "until_decided"],
        default_missing_value = DRY_RUN_DRIVE)]
    pub dry_run: Option<String>,
    /// The metric to compare, such as p99 or read.mean; may be repeated [default: iops; for scenes, elapsed].
    #[arg(long, value_name = "NAME")]
    pub metric: Vec<Metric>,
    /// Independent runs per side; a single run has no interval.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub runs: u32,
    /// The number and length of runs.
    #[command(flatten)]
    pub sampling: SamplingArgs,
    /// On fitted drives, leave out the comparison on the draws of their fits, and so the band of the ratio.
    #[arg(long)]
    pub no_band: bool,
    /// How to print the answer [default: text].
    #[arg(long, value_enum, conflicts_with_all = ["against", "dry_run"])]
    pub format: Option<AnswerFormat>,
    /// The picture's files.
    #[command(flatten)]
    pub pictures: PictureArgs,
    /// The page's file.
    #[command(flatten)]
    pub page: PageArgs,
    /// Of measured results, print all percentiles.
    #[arg(long, conflicts_with = "json")]
    pub all: bool,
    /// Also write results and a report to this folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Overwrite an existing picture or page, and results written by Seekwise.
    #[arg(long)]
    pub force: bool,
}

/// Forms of a comparison's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AnswerFormat {
    /// Sentences and tables for people.
    Text,
    /// Seekwise's own JSON.
    Json,
    /// Markdown, for an issue or a paper.
    Markdown,
    /// A header line and a line of figures for each comparison.
    Csv,
}

/// Arguments of `study`.
#[derive(Args, Debug)]
pub struct StudyArgs {
    /// A study file, `-` (standard input), a built-in study, or a result folder whose study is run again.
    #[arg(value_parser = parse_name)]
    pub study: String,
    /// The folder for results and report [default: out; with --resume, the result folder].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Continue from existing results.
    #[arg(long)]
    pub resume: bool,
    /// Overwrite results in the folder that Seekwise wrote.
    #[arg(long, conflicts_with = "resume")]
    pub force: bool,
    /// Exit with code 1 if a claim does not hold.
    #[arg(long)]
    pub strict: bool,
    /// Print all cells and claims, as `report` does.
    #[arg(long, conflicts_with = "json")]
    pub all: bool,
    /// Number of cores to use; 0 means all. Results do not depend on it.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = parse_threads)]
    pub threads: usize,
    /// The number and length of runs.
    #[command(flatten)]
    pub sampling: SamplingArgs,
    /// The columns to show.
    #[command(flatten)]
    pub columns: ColumnsArgs,
}
