//! Arguments of `seekwise fit`. What they do is for the command.

use std::path::PathBuf;

use clap::Args;

use super::name;

/// Arguments of `fit`.
#[derive(Args, Debug)]
pub struct Fit {
    /// What was measured: FILE, or FILE,KEY=VALUE,… with what held meanwhile.
    #[arg(required = true, value_name = "DATA", value_parser = name)]
    pub data: Vec<String>,
    /// The drive to begin with: a name, or a profile file.
    #[arg(long, value_name = "NAME|FILE", value_parser = name)]
    pub drive: String,
    /// The share that the search does not see: of a trace its end; of jobs, where it is not none, every other one of a
    /// series.
    #[arg(long, value_name = "SHARE", default_value = "50%", value_parser = share)]
    pub hold: f64,
    /// Move these keys, or all below these sections, and no others; may be given more than once.
    #[arg(long, value_name = "KEYS", value_delimiter = ',', value_parser = name)]
    pub only: Vec<String>,
    /// Write the fitted profile to this file.
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    pub out: PathBuf,
    /// Also write a page with tables and pictures (HTML).
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    /// How long is searched: generations of the search for numbers.
    #[arg(long, value_name = "N", default_value_t = 120, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub generations: u32,
    /// Go on with a fit that was interrupted.
    #[arg(long)]
    pub resume: bool,
    /// Replace files that are there.
    #[arg(long)]
    pub force: bool,
}

/// `50%`, `all` or `none`.
fn share(text: &str) -> Result<f64, String> {
    let share = seekwise_lab::fit::sources::share(text);
    share.filter(|share| *share < 1.0).ok_or_else(|| "expected a share such as 50%, or none".into())
}
