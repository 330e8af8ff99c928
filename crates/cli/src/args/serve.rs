//! Arguments of the commands that serve a modelled disk and speak to one that is served. Nothing is done here.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use seekwise_formats::duration::Duration;
use seekwise_os::serve::Address;
use seekwise_run::receipt::attendance;

use super::{key_value, name, seed};

/// Arguments of `serve`.
#[derive(Args, Debug)]
#[command(group(ArgGroup::new("doors").args(["nbd", "fuse"]).required(true).multiple(true)))]
pub struct Serve {
    /// A drive's name (see `seekwise drives`), a stack file, or `null`, which answers at once.
    #[arg(value_name = "TARGET", value_parser = name)]
    pub target: String,
    /// Where clients come: unix:PATH (a socket for you alone) or tcp:ADDRESS:PORT.
    #[arg(long, value_name = "ADDRESS", value_parser = Address::parse)]
    pub nbd: Option<Address>,
    /// A folder in which the disk appears as one file, disk.img, of which `losetup --direct-io=on` makes a kernel's disk.
    #[arg(long, value_name = "DIR")]
    pub fuse: Option<PathBuf>,
    /// Let others than programs of this machine in.
    #[arg(long)]
    pub expose: bool,
    /// Where orders come (`seekwise disk`): a socket; without it, that of --nbd unix:PATH, or the folder of --fuse, and `.control`.
    #[arg(long, value_name = "PATH")]
    pub control: Option<PathBuf>,
    /// Keep what is on the platters in this file, as long as the disk; without it, in memory.
    #[arg(long, value_name = "FILE")]
    pub image: Option<PathBuf>,
    /// Begin with what is in this file, which stays as it is; zeroes behind it.
    #[arg(long, value_name = "FILE")]
    pub base: Option<PathBuf>,
    /// Keep each request with its instants in this file; `seekwise run FILE --on TARGET` plays it in virtual time.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Set a dotted key of the stack; may be given more than once.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    pub set: Vec<(String, String)>,
    /// The seed of all chance.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed)]
    pub seed: u64,
    /// Let the model's time run so many times as fast as the clock.
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = speed)]
    pub speed: f64,
    /// Cut the power so long after the beginning (such as 37s), in the model's time.
    #[arg(long, value_name = "T", conflicts_with_all = ["cut_at_flush", "cut_at_write"], value_parser = Duration::parse)]
    pub cut_after: Option<Duration>,
    /// Cut the power when the Nth flush comes.
    #[arg(long, value_name = "N", conflicts_with = "cut_at_write", value_parser = clap::value_parser!(u64).range(1..))]
    pub cut_at_flush: Option<u64>,
    /// Cut the power when the Nth write comes.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub cut_at_write: Option<u64>,
    /// Serve so many clients at once at most; more are sent away.
    #[arg(long, value_name = "N", default_value_t = attendance::CLIENTS, value_parser = clients)]
    pub max_clients: usize,
    /// Exit code 1 where the clock did not keep up.
    #[arg(long)]
    pub strict: bool,
    /// Run the command behind `--` as soon as clients can come, and end with it.
    #[arg(long, requires = "command")]
    pub run: bool,
    /// The command of --run.
    #[arg(last = true, requires = "run", value_name = "COMMAND")]
    pub command: Vec<String>,
}

fn clients(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(clients) if (1..=65_536).contains(&clients) => Ok(clients),
        _ => Err("expected a whole number from 1 to 65536".to_owned()),
    }
}

pub(super) fn speed(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(speed) if (0.01..=1000.0).contains(&speed) => Ok(speed),
        _ => Err("expected a number from 0.01 to 1000".to_owned()),
    }
}

/// Arguments of `disk`.
#[derive(Args, Debug)]
pub struct Disk {
    /// What it is told or asked.
    #[command(subcommand)]
    pub order: Order,
}

/// What a disk that is served is told or asked.
#[derive(Debug, Subcommand)]
pub enum Order {
    /// Say what it did so far, and with --json how well the clock kept up.
    #[command(after_help = "Example:\n  seekwise disk status --control /tmp/disk.control --json")]
    Status(Served),
    /// Change a setting of its stack.
    #[command(after_help = "\
Examples:
  seekwise disk set driver.flush=drop --control /tmp/disk.control
  seekwise disk set array.lose=1 --control /tmp/disk.control")]
    Set(Set),
    /// Cut its power, switch it off in order, or switch it on.
    #[command(after_help = "\
Examples:
  seekwise disk power cut --control /tmp/disk.control
  seekwise disk power on --control /tmp/disk.control")]
    Power(Power),
    /// Reset its link: what is under way is aborted, what is cached stays, and so does the power.
    #[command(after_help = "Example:\n  seekwise disk reset-link --control /tmp/disk.control")]
    ResetLink(Served),
}

/// A disk that is served.
#[derive(Args, Debug)]
pub struct Served {
    /// Its socket for orders, which `seekwise serve` names.
    #[arg(long, value_name = "PATH")]
    pub control: PathBuf,
}

/// Arguments of `disk power`.
#[derive(Args, Debug)]
pub struct Power {
    /// What becomes of the power.
    #[arg(value_enum)]
    pub what: Supply,
    /// Whose.
    #[command(flatten)]
    pub served: Served,
}

/// What becomes of the power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Supply {
    /// It fails now.
    Cut,
    /// It is switched off in order.
    Off,
    /// It comes back.
    On,
}

/// Arguments of `disk set`.
#[derive(Args, Debug)]
pub struct Set {
    /// A dotted key of the stack and its new value.
    #[arg(value_name = "KEY=VALUE", value_parser = key_value)]
    pub setting: (String, String),
    /// Whose.
    #[command(flatten)]
    pub served: Served,
}
