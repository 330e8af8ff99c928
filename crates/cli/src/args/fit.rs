//! Arguments of `seekwise fit`.

use std::path::PathBuf;

use clap::Args;
use seekwise::fit::parse_held_share;
use seekwise::time::Duration;

use super::parse_name;

/// Arguments of `fit`.
#[derive(Args, Debug)]
pub struct FitArgs {
    /// Measurements: FILE, or FILE,KEY=VALUE,… with the conditions of the measurement.
    #[arg(required = true, value_name = "DATA", value_parser = parse_name)]
    pub data: Vec<String>,
    /// The drive to start from: a name or a profile file.
    #[arg(long, value_name = "NAME|FILE", value_parser = parse_name)]
    pub drive: String,
    /// The share of the data to hold out, or none: the end of a trace; of a series of jobs every second one, whatever the share.
    #[arg(long, value_name = "SHARE", default_value = "50%", value_parser = parse_hold_share)]
    pub hold: f64,
    /// Fit only these keys, or all keys in these sections; may be repeated.
    #[arg(long, value_name = "KEYS", value_delimiter = ',', value_parser = parse_name)]
    pub only: Vec<String>,
    /// Write the fitted profile to this file.
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    pub out: PathBuf,
    /// Also write an HTML page with tables and plots.
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    /// Generations of the numerical search for traces [default: 120].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub generations: Option<u32>,
    /// End after this time with the best result so far, which depends on the machine.
    #[arg(long, value_name = "T", default_value = "30 m", value_parser = Duration::parse)]
    pub time: Duration,
    /// End after this many points with the best result so far, which is equal on every machine.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub points: Option<u64>,
    /// Continue a fit that was interrupted or ended early.
    #[arg(long)]
    pub resume: bool,
    /// Overwrite existing files.
    #[arg(long)]
    pub force: bool,
}

/// Parses the share of data to hold out: `50%` or `none`.
fn parse_hold_share(text: &str) -> Result<f64, String> {
    let share = parse_held_share(text);
    share.filter(|share| *share < 1.0).ok_or_else(|| "expected a share such as 50%, or none".into())
}
