//! Arguments of `seekwise serve`, which serves a modelled disk, and of `seekwise disk`, which controls a served one.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use seekwise::serve::{CLIENTS, ListenAddress};
use seekwise::time::Duration;

use super::{parse_key_value, parse_name, parse_seed};

/// Arguments of `serve`.
#[derive(Args, Debug)]
#[command(group(ArgGroup::new("transports").args(["nbd", "fuse"]).required(true).multiple(true)))]
pub struct ServeArgs {
    /// A drive's name (see `seekwise drives`), a stack file, or `null`, which answers immediately.
    #[arg(value_name = "TARGET", value_parser = parse_name)]
    pub target: String,
    /// The address for clients: unix:PATH (a socket that only you can use) or tcp:ADDRESS:PORT.
    #[arg(long, value_name = "ADDRESS", value_parser = ListenAddress::parse)]
    pub nbd: Option<ListenAddress>,
    /// A folder where the disk appears as a file, disk.img, for any program; `losetup --direct-io=on` turns it into a block device.
    #[arg(long, value_name = "DIR")]
    pub fuse: Option<PathBuf>,
    /// Allow connections from other machines.
    #[arg(long)]
    pub expose: bool,
    /// The control socket, for `seekwise disk` [default: the path of --nbd unix:PATH, or of the --fuse folder, with `.control` appended].
    #[arg(long, value_name = "PATH")]
    pub control: Option<PathBuf>,
    /// Keep the contents of the platters in this file, as large as the disk [default: in memory].
    #[arg(long, value_name = "FILE")]
    pub image: Option<PathBuf>,
    /// Start with the contents of this file, followed by zeroes; the file is not changed.
    #[arg(long, value_name = "FILE")]
    pub base: Option<PathBuf>,
    /// Record every request with its times in this file; `seekwise run FILE --on TARGET` replays it in virtual time.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Set a dotted key of the stack; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parse_key_value)]
    pub set: Vec<(String, String)>,
    /// The random seed.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_seed)]
    pub seed: u64,
    /// Run the model's time this many times as fast as real time.
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = parse_speed)]
    pub speed: f64,
    /// Cut the power this long after the start (such as 37s), in the model's time.
    #[arg(long, value_name = "T", conflicts_with_all = ["cut_at_flush", "cut_at_write"], value_parser = Duration::parse)]
    pub cut_after: Option<Duration>,
    /// Cut the power when the Nth flush arrives.
    #[arg(long, value_name = "N", conflicts_with = "cut_at_write", value_parser = clap::value_parser!(u64).range(1..))]
    pub cut_at_flush: Option<u64>,
    /// Cut the power when the Nth write arrives.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub cut_at_write: Option<u64>,
    /// The most clients to serve at once.
    #[arg(long, value_name = "N", default_value_t = CLIENTS, value_parser = parse_client_limit)]
    pub max_clients: usize,
    /// Exit with code 1 if the machine surely did not keep up; too few requests to tell are no failure.
    #[arg(long)]
    pub strict: bool,
    /// Run the command after `--` once clients can connect, and exit with its code when it ends.
    #[arg(long, requires = "command")]
    pub run: bool,
    /// The command of --run.
    #[arg(last = true, requires = "run", value_name = "COMMAND")]
    pub command: Vec<String>,
}

fn parse_client_limit(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(clients) if (1..=65_536).contains(&clients) => Ok(clients),
        _ => Err("expected a whole number from 1 to 65536".to_owned()),
    }
}

pub(super) fn parse_speed(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(speed) if (0.01..=1000.0).contains(&speed) => Ok(speed),
        _ => Err("expected a number from 0.01 to 1000".to_owned()),
    }
}

/// Arguments of `disk`.
#[derive(Args, Debug)]
pub struct Disk {
    /// The command.
    #[command(subcommand)]
    pub order: Order,
}

/// The orders to a served disk.
#[derive(Debug, Subcommand)]
pub enum Order {
    /// Show the disk's counts so far; with --json, also how well the clock kept up.
    #[command(after_help = "Example:\n  seekwise disk status --control /tmp/disk.control --json")]
    Status(ServedDiskArgs),
    /// Change a setting of the disk's stack.
    #[command(after_help = "\
Examples:
  seekwise disk set driver.flush=drop --control /tmp/disk.control
  seekwise disk set array.lose=1 --control /tmp/disk.control")]
    Set(SetArgs),
    /// Cut the disk's power, switch it off in order, or switch it on.
    #[command(after_help = "\
Examples:
  seekwise disk power cut --control /tmp/disk.control
  seekwise disk power on --control /tmp/disk.control")]
    Power(PowerArgs),
    /// Reset the disk's link: requests in flight are aborted; cached data and power stay.
    #[command(after_help = "Example:\n  seekwise disk reset-link --control /tmp/disk.control")]
    ResetLink(ServedDiskArgs),
}

/// A served disk.
#[derive(Args, Debug)]
pub struct ServedDiskArgs {
    /// The disk's control socket, which `seekwise serve` prints.
    #[arg(long, value_name = "PATH")]
    pub control: PathBuf,
}

/// Arguments of `disk power`.
#[derive(Args, Debug)]
pub struct PowerArgs {
    /// The change of power.
    #[arg(value_enum)]
    pub what: PowerState,
    /// The served disk.
    #[command(flatten)]
    pub served: ServedDiskArgs,
}

/// Changes of the power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PowerState {
    /// Cut the power now.
    Cut,
    /// Shut the disk down properly.
    Off,
    /// Switch the power on again.
    On,
}

/// Arguments of `disk set`.
#[derive(Args, Debug)]
pub struct SetArgs {
    /// A dotted key of the stack and its new value.
    #[arg(value_name = "KEY=VALUE", value_parser = parse_key_value)]
    pub setting: (String, String),
    /// The served disk.
    #[command(flatten)]
    pub served: ServedDiskArgs,
}
