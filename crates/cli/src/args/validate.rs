//! Arguments of `seekwise validate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{ColumnsArgs, PageArgs, PictureArgs, parse_key_value, parse_name, parse_percent, parse_seed};

/// Arguments of `validate`.
#[derive(Args, Debug)]
pub struct ValidateArgs {
    /// The measured trace; `-` is standard input.
    #[arg(value_parser = parse_name)]
    pub trace: String,
    /// A drive's name, or a profile file.
    #[arg(long, value_name = "NAME|FILE", value_parser = parse_name)]
    pub drive: String,
    /// Set a dotted key of the drive; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parse_key_value)]
    pub set: Vec<(String, String)>,
    /// The timing of the replay.
    #[arg(long, value_enum, default_value_t = ReplayTiming::Think)]
    pub replay: ReplayTiming,
    /// The seed of the platter's phase.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_seed)]
    pub seed: u64,
    /// The picture's files.
    #[command(flatten)]
    pub pictures: PictureArgs,
    /// The page's file.
    #[command(flatten)]
    pub page: PageArgs,
    /// Write every simulated request to this Parquet file.
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Overwrite existing files.
    #[arg(long)]
    pub force: bool,
    /// Exit with code 1 if a demerit (of all requests, reads or writes) is above this percentage of the measured mean.
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub at_most: Option<f64>,
    /// The columns to show.
    #[command(flatten)]
    pub columns: ColumnsArgs,
}

/// The timing of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReplayTiming {
    /// Requests one at a time, each its think time after the previous completion.
    Think,
    /// Each request at its recorded time.
    Arrival,
}
