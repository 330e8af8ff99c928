//! Arguments of `seekwise explain`.

use std::path::PathBuf;

use clap::Args;

use super::parse_threads;

/// Arguments of `explain`.
#[derive(Args, Debug)]
pub struct ExplainArgs {
    /// The finding, such as D7.
    #[arg(value_name = "CLAIM")]
    pub id: String,
    /// Try only settings whose keys begin like this; may be repeated.
    #[arg(long, value_name = "KEY", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Leave out the effect of the found settings on other claims and published cases.
    #[arg(long)]
    pub alone: bool,
    /// Independent runs of each cell to confirm a value [default: the study's].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub runs: Option<u32>,
    /// Also write the answer to this file, as JSON; progress is kept beside it.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Overwrite the file, and the progress of an interrupted run.
    #[arg(long, requires = "out", conflicts_with = "resume")]
    pub force: bool,
    /// Continue an interrupted run.
    #[arg(long, requires = "out")]
    pub resume: bool,
    /// Number of cores to use; 0 means all. Results do not depend on it.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = parse_threads)]
    pub threads: usize,
}
