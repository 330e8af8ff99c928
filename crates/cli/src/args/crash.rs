//! Arguments of `seekwise crash`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use seekwise::crash::InstantWeights;
use seekwise::time::Duration;

use super::serve::parse_speed;
use super::{PageArgs, parse_key_value, parse_name, parse_seed, parse_size, parse_threads};

/// The text after the options in the help of `crash`.
pub const CRASH: &str = "\
Examples:
  seekwise crash --recipes
  seekwise crash --on barracuda-7200.7 --recipe sqlite-wal-full --cuts 2000
  seekwise crash --on barracuda-7200.7 --recipe sqlite-wal-full --page sqlite.html
  seekwise crash --on barracuda-7200.7 --set drive.faults.early_flush=on --recipe ext4-barrier
  seekwise crash --on cheetah-15k.4 --fs ext4:barrier=0 --workload 'cp -r /etc $SEEKWISE_MOUNT && sync && echo copied' \\
      --check 'test -s $SEEKWISE_PROMISES || exit 0; diff -r /etc $SEEKWISE_MOUNT/etc || exit 11' --cuts 200 --orders 4

The workload runs only once, not once per cut. Its environment has SEEKWISE_URI and, with --fs, SEEKWISE_MOUNT. A check gets
SEEKWISE_MOUNT (the mounted medium), SEEKWISE_IMAGE (the medium as a file), SEEKWISE_PROMISES (a file with the lines that the
workload had printed before the cut) and SEEKWISE_SCRATCH (a folder). Linux only; --fs needs root. docs/crash.md explains the
figures.

A session runs in real time and does not repeat. --keep keeps what is needed to make the worst medium again:
  seekwise crash --again sqlite.find --image medium.img

The check is first tried on media whose answer is known: it must pass if everything is written, and fail if everything, one
record, or one byte is not as promised.

Exit code 1: something was lost after a promise, or is corrupt. Exit code 2: the check answers wrongly, or something could not run.";

/// Arguments of `crash`.
#[derive(Args, Debug)]
pub struct CrashArgs {
    /// The disk to run on: a drive's name (see `seekwise drives`) or a stack file.
    #[arg(long = "on", value_name = "TARGET", value_parser = parse_name, required_unless_present_any = ["recipes", "again"])]
    pub target: Option<String>,
    /// Set a dotted key of the stack; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parse_key_value)]
    pub set: Vec<(String, String)>,
    /// The random seed.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_seed)]
    pub seed: u64,
    /// A built-in recipe, or FILE:NAME: the workload, check and file system. Other options override its values.
    #[arg(long, value_name = "NAME|FILE:NAME", value_parser = parse_name)]
    pub recipe: Option<String>,
    /// List the built-in recipes; with --recipe, show that one.
    #[arg(long)]
    pub recipes: bool,
    /// The file system to mount on the disk (ext4, xfs, btrfs), with mount options, such as ext4:barrier=0. Needs root.
    #[arg(long, value_name = "NAME[:OPTIONS]", value_parser = parse_name)]
    pub fs: Option<String>,
    /// The size of the file system, such as 512m [default: 64m; xfs 300m, btrfs 256m].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub size: Option<u64>,
    /// A user whose group may also reach the mounted file system, if the commands run programs as this user. Only root can
    /// reach the medium and the promises.
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    pub user: Option<String>,
    /// A shell command that fills the file system before the disk is served.
    #[arg(long, value_name = "CMD")]
    pub prepare: Option<String>,
    /// The shell command to test; each line that it prints is a promise.
    #[arg(long, value_name = "CMD", required_unless_present_any = ["recipe", "recipes", "again"])]
    pub workload: Option<String>,
    /// The shell command that checks the medium after a cut; its exit code: 0 consistent, 10 lost but allowed, 11 lost after a promise,
    /// any other corrupt.
    #[arg(long, value_name = "CMD", required_unless_present_any = ["recipe", "recipes", "again"])]
    pub check: Option<String>,
    /// Cuts one after another: 2 also cuts the recovery from each first cut, 3 the recovery from that cut too.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=3))]
    pub depth: u8,
    /// With --depth: a shell command that opens the program's data so that it recovers, then closes them [default: the recipe's, or
    /// mounting alone].
    #[arg(long, value_name = "CMD")]
    pub recover: Option<String>,
    /// With --depth: number of cuts of each recovery [default: 20].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub recovery_cuts: Option<u32>,
    /// With --depth: run the model's time during recoveries this many times as fast as real time [default: 10].
    #[arg(long, value_name = "N", value_parser = parse_speed)]
    pub recovery_speed: Option<f64>,
    /// A shell command that stands between workload and bare disk: an NBD proxy of SEEKWISE_URI that serves at the Unix socket
    /// SEEKWISE_LAYER. The answer says whether it drops the workload's flushes.
    #[arg(long, value_name = "CMD")]
    pub layer: Option<String>,
    /// Pass an environment variable to workload, check and --prepare, or set it for them; may be repeated. Always
    /// passed: PATH, HOME, USER, LOGNAME, SHELL, LANG, LANGUAGE, LC_*, TERM, TZ, TMPDIR, and the recipe's variables.
    #[arg(long, value_name = "NAME[=VALUE]", value_parser = parse_variable)]
    pub env: Vec<(String, Option<String>)>,
    /// Number of cuts.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub cuts: u32,
    /// The instants of cuts: a quarter each at ends of flushes, while sectors reach the medium, just after promises and at any time; or
    /// all at any time.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = InstantsArg::Mixed)]
    pub instants: InstantsArg,
    /// Promises younger than this at a cut may be lost, such as 1s: for a program that promises no more [default: the recipe's, or 0].
    #[arg(long, value_name = "T", value_parser = Duration::parse)]
    pub may_lose: Option<Duration>,
    /// At each cut, also try this many other sets of lost writes that the standards allow.
    #[arg(long, value_name = "K", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub orders: u32,
    /// Run the model's time this many times as fast as real time.
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = parse_speed)]
    pub speed: f64,
    /// Real-time limit of a workload or a check; beyond it, a workload is an error and a check means a corrupt medium.
    #[arg(long, value_name = "T", default_value = "600 s", value_parser = Duration::parse)]
    pub limit: Duration,
    /// Number of checks to run in parallel; 0 means one per core.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = parse_threads)]
    pub jobs: usize,
    /// The folder for the media to check [default: /dev/shm if it exists, otherwise the folder for temporary files].
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
    /// Keep the worst find in this file: all writes of its session with their data, and the cut [default with --page: the page's name,
    /// ending in .find].
    #[arg(long, value_name = "FILE")]
    pub keep: Option<PathBuf>,
    /// Describe a find that --keep kept, or make its medium again (--image). No program runs.
    #[arg(long, value_name = "FIND", conflicts_with_all = NOT_AGAIN)]
    pub again: Option<PathBuf>,
    /// With --again: write the medium of the cut to this file, byte for byte, sparse, as large as the disk or file system.
    #[arg(long, value_name = "FILE", requires = "again")]
    pub image: Option<PathBuf>,
    /// With --image: put lost writes back on the medium: their numbers, such as 7,12, or all.
    #[arg(long, value_name = "N,…|all", requires = "image", value_parser = RestoredWrites::parse)]
    pub restore: Option<RestoredWrites>,
    /// The page's file.
    #[command(flatten)]
    pub page: PageArgs,
    /// Overwrite existing files.
    #[arg(long)]
    pub force: bool,
}

/// All other options: nothing of a find can be changed.
const NOT_AGAIN: [&str; 27] = [
    "target",
    "set",
    "seed",
    "recipe",
    "recipes",
    "fs",
    "size",
    "user",
    "prepare",
    "workload",
    "check",
    "depth",
    "recover",
    "recovery_cuts",
    "recovery_speed",
    "layer",
    "env",
    "cuts",
    "instants",
    "may_lose",
    "orders",
    "speed",
    "limit",
    "jobs",
    "scratch",
    "keep",
    "page",
];

impl CrashArgs {
    /// The file that keeps the worst find: that of --keep, or one beside the page.
    pub fn find_path(&self) -> Option<PathBuf> {
        let page = self.page.page.as_ref().filter(|page| !page.starts_with("/dev"));
        self.keep.clone().or_else(|| page.map(|page| page.with_extension("find")))
    }

    /// Cuts of each recovery.
    pub fn cuts_per_recovery(&self) -> usize {
        /// So many that each kind of instant has five.
        const USUAL: u32 = 20;
        self.recovery_cuts.unwrap_or(USUAL) as usize
    }

    /// The speed of the disk's time during recoveries.
    pub fn speed_of_recoveries(&self) -> f64 {
        /// A mount of a small file system reads some dozens of sectors: a second of the disk's time becomes a tenth of one.
        const USUAL: f64 = 10.0;
        self.recovery_speed.unwrap_or(USUAL)
    }
}

/// Lost writes that are put back on a medium.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoredWrites {
    All,
    /// By their numbers.
    Numbered(BTreeSet<u64>),
}

impl RestoredWrites {
    fn parse(text: &str) -> Result<RestoredWrites, String> {
        if text == "all" {
            return Ok(RestoredWrites::All);
        }
        let number = |word: &str| {
            word.trim()
                .parse()
                .map_err(|_| format!("`{word}` is no write; expected numbers of writes, such as 7,12, or all"))
        };
        text.split(',').map(number).collect::<Result<_, _>>().map(RestoredWrites::Numbered)
    }
}

/// How the instants of cuts are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InstantsArg {
    /// A quarter each at ends of flushes, while sectors reach the medium, just after promises, and at any time.
    Mixed,
    /// Evenly over the session's time.
    Time,
}

impl InstantsArg {
    /// The weights of instants in the library.
    pub fn instant_weights(self) -> InstantWeights {
        match self {
            InstantsArg::Mixed => InstantWeights::Mixed,
            InstantsArg::Time => InstantWeights::Time,
        }
    }
}

/// Parses an environment variable: `NAME` (its value is passed on) or `NAME=VALUE`.
fn parse_variable(text: &str) -> Result<(String, Option<String>), String> {
    let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value.to_owned())));
    let is_variable_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match is_variable_name {
        true if name.starts_with("SEEKWISE_") => {
            Err(format!("`{name}` is reserved for Seekwise; expected another name"))
        }
        true => Ok((name.to_owned(), value)),
        false => Err(format!("`{name}` is not a variable name; expected letters, digits and _")),
    }
}

#[cfg(test)]
mod tests {
    use clap::Command;

    use super::*;

    #[test]
    fn no_option_of_a_find_made_again_is_ignored() {
        let command = CrashArgs::augment_args(Command::new("crash"));
        let taken = ["again", "image", "restore", "force"];
        let others = command.get_arguments().map(|arg| arg.get_id().as_str()).filter(|name| !taken.contains(name));
        assert_eq!(others.collect::<BTreeSet<_>>(), NOT_AGAIN.into_iter().collect());
    }

    #[test]
    fn the_find_stands_beside_the_page_unless_it_is_named() {
        let path = |words: &[&str]| {
            let words = ["crash", "--on", "d", "--recipe", "r"].iter().chain(words);
            let matches = CrashArgs::augment_args(Command::new("crash")).try_get_matches_from(words).unwrap();
            <CrashArgs as clap::FromArgMatches>::from_arg_matches(&matches).unwrap().find_path()
        };
        assert_eq!(path(&[]), None);
        assert_eq!(path(&["--page", "a/p.html"]), Some("a/p.find".into()));
        assert_eq!(path(&["--page", "p.html", "--keep", "k"]), Some("k".into()));
        assert_eq!(path(&["--page", "/dev/stdout"]), None);
    }

    #[test]
    fn writes_to_put_back_are_numbers_or_all() {
        assert_eq!(RestoredWrites::parse("all"), Ok(RestoredWrites::All));
        assert_eq!(RestoredWrites::parse("7, 12"), Ok(RestoredWrites::Numbered([7, 12].into())));
        assert!(RestoredWrites::parse("7,x").unwrap_err().contains("`x` is no write; expected numbers"));
    }
}
