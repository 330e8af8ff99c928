//! Arguments of `seekwise export`.

use std::path::PathBuf;

use clap::{ArgAction, Args, Subcommand};
use seekwise::export::LatencyTarget;

use super::{parse_key_value, parse_name, parse_seed};

/// The text after the options in the help of `export latency`.
pub const LATENCY: &str = "\
Examples:
  seekwise export latency --on exos-x18 --depth 1,8,32 --for tigerbeetle
  seekwise export latency --on exos-x18 --for moonpool --out disk.rs
  seekwise export latency --on stack.toml --depth 1,8 --for json

Simulators:
  moonpool     StorageConfiguration of moonpool-sim
  turmoil      io_latency of turmoil's unstable-fs
  tigerbeetle  latencies of Storage.Options
  fdb          SIM_DISK_IOPS and SIM_DISK_BANDWIDTH
  json         percentiles, and rates in sequence

Comments in the text say what each constant means there, how far p50 and p99 of a draw are from the drive's, and which `seekwise
run` prints the drive's. A number drawn at submit is no disk: docs/embed.md says what it cannot express, and has the disk itself.";

/// Arguments of `export`.
#[derive(Args, Debug)]
pub struct ExportArgs {
    /// The kind of export.
    #[command(subcommand)]
    pub what: ExportKind,
}

/// Kinds of exports.
#[derive(Debug, Subcommand)]
pub enum ExportKind {
    /// Export a drive's latency as constants of a simulator whose disk is a random number.
    #[command(after_help = LATENCY)]
    Latency(LatencyArgs),
}

/// Arguments of `export latency`.
#[derive(Args, Debug)]
pub struct LatencyArgs {
    /// A drive's name (see `seekwise drives`), a profile or a stack file.
    #[arg(id = "target", long = "on", value_name = "TARGET", value_parser = parse_name, required = true, action = ArgAction::Set)]
    pub target: String,
    /// Operations in flight; each has its own constants. Of flushes, the writes that each covers.
    #[arg(long, value_name = "A,B", value_delimiter = ',', default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub depth: Vec<u32>,
    /// The simulator: moonpool, turmoil, tigerbeetle or fdb; or json.
    #[arg(long = "for", value_name = "SIMULATOR", default_value = "json", value_parser = LatencyTarget::parse)]
    pub simulator: LatencyTarget,
    /// The size of a block.
    #[arg(long, value_name = "SIZE", default_value = "4k")]
    pub block: String,
    /// Use only the first part of the drive, such as 100g [default: all of it].
    #[arg(long, value_name = "SIZE")]
    pub size: Option<String>,
    /// Set a dotted key of the stack; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parse_key_value)]
    pub set: Vec<(String, String)>,
    /// Virtual time of each run.
    #[arg(long, value_name = "T", default_value = "600s")]
    pub runtime: String,
    /// The random seed.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_seed)]
    pub seed: u64,
    /// Write to this file instead of standard output.
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Overwrite an existing file.
    #[arg(long, requires = "out")]
    pub force: bool,
}
