//! Arguments of `seekwise rebuild` and `seekwise scrub`.

use clap::Args;
use seekwise::rebuild::{SyncPolicyChoice, parse_level};

use super::{PageArgs, PictureArgs, parse_key_value, parse_name, parse_seed};

/// The text after the options in the help of `rebuild`.
pub const REBUILD: &str = "\
Examples:
  seekwise rebuild --on exos-x18 --array raid-6 --drives 8
  seekwise rebuild --on exos-x18 --array raid-6 --drives 8 --users 100 --policy md,idle,fixed:50m,zfs --page rebuild.html
  seekwise rebuild --on exos-x18 --array raid-6 --drives 8 --users 100 --lose 2 --together
  seekwise rebuild --on exos-x18 --array raid-6 --drives 8 --load users.fio --next-loss 10 --png rebuild.png

Policies:
  md[:RATE]     Linux's md with its limits; the rate is its highest speed (sync_speed_max)
  idle[:RATE]   a piece of 1 MiB begins only while no request of users is in the array
  fixed:RATE    a budget in bytes a second on each drive, such as 50m, whatever the users do
  steady:N      N pieces in flight, without a limit
  zfs           OpenZFS's resilver in the order of addresses: one piece beside users, three without
  objects       an object store's backfill: files of 4 MiB in random order, each written, synced and named; three in flight

Below the array stands Linux's driver (linux-mq-deadline; linux-none for zfs), unless the stack or --set says otherwise. docs/how-to/rebuild.md
explains the figures.";

/// The text after the options in the help of `scrub`.
pub const SCRUB: &str = "\
Examples:
  seekwise scrub --on exos-x18 --array raid-6 --drives 8 --users 100
  seekwise scrub --on exos-x18 --array raid-6 --drives 8 --users 100 --policy md,idle,zfs --working-hours 8-18

The policies are those of `seekwise rebuild`; docs/how-to/rebuild.md explains the figures.";

/// Arguments of both commands.
#[derive(Args, Debug)]
pub struct ArrayArgs {
    /// The drives: a name (see `seekwise drives`) or a profile; or a stack file with an array.
    #[arg(long = "on", value_name = "TARGET", value_parser = parse_name)]
    pub target: String,
    /// The level: raid-1, raid-10, raid-5 or raid-6.
    #[arg(long, value_name = "LEVEL", value_parser = parse_level)]
    pub array: Option<String>,
    /// Number of drives in the array.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=32))]
    pub drives: Option<u32>,
    /// Users: so many requests a second at random over the array, seven reads of 8 KiB to three writes.
    #[arg(long, value_name = "N", conflicts_with = "load", value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    pub users: Option<u32>,
    /// Users: a job or a pattern, which goes on as long as the rebuild.
    #[arg(long, value_name = "JOB", value_parser = parse_name)]
    pub load: Option<String>,
    /// How users are treated: md, md:RATE, idle, idle:RATE, fixed:RATE, steady:PIECES, zfs, objects; several are compared.
    #[arg(long, value_name = "POLICY", value_delimiter = ',', default_value = "md", value_parser = SyncPolicyChoice::parse)]
    pub policy: Vec<SyncPolicyChoice>,
    /// The hours of the day at which users work, such as 8-18 [default: always].
    #[arg(long, value_name = "FROM-UNTIL", value_parser = parse_hours_of_day)]
    pub working_hours: Option<(f64, f64)>,
    /// The share of each drive that is rebuilt or read, in the order of the policy: what ZFS has data on [default: 100%].
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub live: Option<f64>,
    /// Bits of which one cannot be read, as the drive's datasheet states it.
    #[arg(long, value_name = "BITS", default_value_t = 1e15, value_parser = parse_bits)]
    pub bits_per_error: f64,
    /// Simulate every request from the beginning to the end.
    #[arg(long, conflicts_with = "stretches")]
    pub whole: bool,
    /// Simulate so many stretches of the drives, and add up the hours between them [default: 24, or whole if that is shorter].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub stretches: Option<u32>,
    /// Set a dotted key of the stack; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parse_key_value)]
    pub set: Vec<(String, String)>,
    /// The random seed.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_seed)]
    pub seed: u64,
    #[command(flatten)]
    pub page: PageArgs,
    #[command(flatten)]
    pub pictures: PictureArgs,
    /// Overwrite existing files.
    #[arg(long)]
    pub force: bool,
}

/// Arguments of `rebuild`.
#[derive(Args, Debug)]
pub struct RebuildArgs {
    #[command(flatten)]
    pub array: ArrayArgs,
    /// Number of drives that are lost at once; they are replaced one after another, or `--together`.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=31))]
    pub lose: u32,
    /// The new drives are all there at the beginning, and are rebuilt together, as md does it with several spares.
    #[arg(long, conflicts_with = "next_loss")]
    pub together: bool,
    /// Hours until a new drive is there; with a hot spare 0.
    #[arg(long, value_name = "HOURS", default_value_t = 0.0, value_parser = parse_hours)]
    pub spare_after: f64,
    /// Hours after which one more drive is lost while the first rebuild goes on.
    #[arg(long, value_name = "HOURS", value_parser = parse_hours)]
    pub next_loss: Option<f64>,
}

/// Arguments of `scrub`.
#[derive(Args, Debug)]
pub struct ScrubArgs {
    #[command(flatten)]
    pub array: ArrayArgs,
}

fn parse_hours(text: &str) -> Result<f64, String> {
    let hours = text.strip_suffix('h').unwrap_or(text).trim().parse().ok();
    hours.filter(|hours| (0.0..=10_000.0).contains(hours)).ok_or_else(|| "expected hours, such as 10".to_owned())
}

/// Parses hours of the day: `8-18`.
fn parse_hours_of_day(text: &str) -> Result<(f64, f64), String> {
    let hours = text.split_once('-').and_then(|(from, until)| Some((from.parse().ok()?, until.parse().ok()?)));
    let is_day = |&(from, until): &(f64, f64)| 0.0 <= from && from < until && until <= 24.0;
    hours.filter(is_day).ok_or_else(|| "expected hours of one day, such as 8-18".to_owned())
}

/// Parses a share: `60%`.
fn parse_share(text: &str) -> Result<f64, String> {
    let percent: Option<f64> = text.strip_suffix('%').and_then(|number| number.trim().parse().ok());
    let percent = percent.filter(|percent| (1.0..=100.0).contains(percent));
    percent.map(|percent| percent / 100.0).ok_or_else(|| "expected 1% to 100%".to_owned())
}

fn parse_bits(text: &str) -> Result<f64, String> {
    let bits = text.parse().ok().filter(|bits: &f64| (1e9..=1e30).contains(bits));
    bits.ok_or_else(|| "expected a number of bits, such as 1e15".to_owned())
}
