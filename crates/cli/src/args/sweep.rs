//! Arguments of `seekwise sweep`.

use clap::{Args, ValueEnum};

use super::parse_name;

/// Arguments of `sweep`.
#[derive(Args, Debug)]
pub struct SweepArgs {
    /// A study file, or a built-in study.
    #[arg(value_parser = parse_name)]
    pub study: String,
    /// The engine that runs the parts.
    #[arg(long, value_enum, default_value_t = SweepEngine::Threads)]
    pub engine: SweepEngine,
    /// The folder for parts, results and report, or a URL that fsspec opens (such as s3://bucket/sweep).
    #[arg(long, value_name = "DIR|URL", default_value = "out", value_parser = parse_name)]
    pub out: String,
    /// The address of the Ray cluster [default: that of RAY_ADDRESS, else this machine].
    #[arg(long, value_name = "ADDRESS", value_parser = parse_name)]
    pub address: Option<String>,
    /// Cells in a part [default: some ten seconds' worth].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub batch: Option<u64>,
    /// Overwrite results of another study that Seekwise wrote.
    #[arg(long)]
    pub force: bool,
}

/// Engines of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SweepEngine {
    /// The cores of this machine.
    Threads,
    /// The machines of a Ray cluster.
    Ray,
}
