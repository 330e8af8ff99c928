//! Arguments of `seekwise crash`.

use std::path::PathBuf;

use clap::Args;
use seekwise_formats::duration::Duration;

use super::serve::speed;
use super::{key_value, name, seed, size, threads};

/// Arguments of `crash`.
#[derive(Args, Debug)]
pub struct Crash {
    /// A drive's name (see `seekwise drives`) or a stack file: what the program runs on.
    #[arg(long = "on", value_name = "TARGET", value_parser = name, required_unless_present = "recipes")]
    pub target: Option<String>,
    /// Set a dotted key of the stack; may be given more than once.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    pub set: Vec<(String, String)>,
    /// The seed of all chance.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed)]
    pub seed: u64,
    /// A built-in recipe, or a file of recipes and one of them behind a colon: workload, check and file system. What is given beside
    /// it replaces its own.
    #[arg(long, value_name = "NAME|FILE:NAME", value_parser = name)]
    pub recipe: Option<String>,
    /// List the built-in recipes; with --recipe, show that one.
    #[arg(long)]
    pub recipes: bool,
    /// A file system that is mounted on the disk (ext4, xfs, btrfs), and options of its mount, such as ext4:barrier=0. Needs root.
    #[arg(long, value_name = "NAME[:OPTIONS]", value_parser = name)]
    pub fs: Option<String>,
    /// How large the file system is made, such as 512m; without it 64m, of xfs 300m, of btrfs 256m.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub size: Option<u64>,
    /// A command for a shell that fills the file system before the disk is served.
    #[arg(long, value_name = "CMD")]
    pub prepare: Option<String>,
    /// The command for a shell whose work is cut; each line that it prints is a promise.
    #[arg(long, value_name = "CMD", required_unless_present_any = ["recipe", "recipes"])]
    pub workload: Option<String>,
    /// The command for a shell that looks at what a cut leaves: exit code 0 consistent, 10 lost but allowed, 11 lost after a promise,
    /// others corrupt.
    #[arg(long, value_name = "CMD", required_unless_present_any = ["recipe", "recipes"])]
    pub check: Option<String>,
    /// Hand a variable of the environment on to workload, check and --prepare, or set it for them; may be given more than once. Without it
    /// they find PATH, HOME, USER, LOGNAME, SHELL, LANG, LANGUAGE, LC_*, TERM, TZ, TMPDIR, and what the recipe names.
    #[arg(long, value_name = "NAME[=VALUE]", value_parser = variable)]
    pub env: Vec<(String, Option<String>)>,
    /// So many cuts.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub cuts: u32,
    /// At each cut also so many other choices of the writes that standards allow to be lost.
    #[arg(long, value_name = "K", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub orders: u32,
    /// Let the model's time run so many times as fast as the clock.
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = speed)]
    pub speed: f64,
    /// End a workload or a check that takes longer, by the clock; the first is an error, the second a corrupt medium.
    #[arg(long, value_name = "T", default_value = "600 s", value_parser = Duration::parse)]
    pub limit: Duration,
    /// So many checks at once; 0 is one for each core.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = threads)]
    pub jobs: usize,
    /// Where media are made for the checks; without it, in memory (/dev/shm) where that is, else in the folder for temporary files.
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
    /// Keep the first medium that somebody broke his word on in this file, as long as the disk or the file system, with holes.
    #[arg(long, value_name = "FILE")]
    pub keep: Option<PathBuf>,
}

/// `NAME` or `NAME=VALUE`.
fn variable(text: &str) -> Result<(String, Option<String>), String> {
    let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value.to_owned())));
    let fits = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match fits {
        true if name.starts_with("SEEKWISE_") => {
            Err(format!("`{name}` is the laboratory's own; expected another name"))
        }
        true => Ok((name.to_owned(), value)),
        false => Err(format!("`{name}` is no name of a variable; expected letters, digits and _")),
    }
}
