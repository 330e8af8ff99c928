//! The command line: one declaration of each command gives parsing and help. Nothing is done here.

mod crash;
mod fit;
mod fold;
mod former;
mod pictures;
mod real;
mod serve;
mod sheet;
mod validate;

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use seekwise::Setup;
use seekwise_formats::duration::Duration;
use seekwise_formats::metric::Metric;
use seekwise_formats::trace::FORMATS;
use seekwise_lab::made::Program;
use seekwise_lab::plan::draw::Draw;
use seekwise_model::time::Span;
use seekwise_os::places::PLACES;

pub use self::crash::Crash;
pub use self::fit::Fit;
pub use self::fold::asked;
pub use self::former::{FormerPower, FormerServed, FormerSet};
pub use self::pictures::Pictures;
pub use self::real::FlushAudit;
pub use self::serve::{Disk, Order, Power, Serve, Served, Set, Supply};
pub use self::sheet::Sheet;
pub use self::validate::{Replay, Validate};

/// A laboratory for hard-disk stacks.
///
/// If I change one thing between my program and the platter, is it faster, and where did the time go?
#[derive(Debug, Parser)]
#[command(
    name = "seekwise",
    version,
    long_version = long_version(),
    arg_required_else_help = true,
    after_help = "\
Examples:
  seekwise study ncq-alone --out out
  seekwise run file-server --on barracuda-7200.7-ncq --set job.depth=32
  seekwise compare random-read --on barracuda-7200.7-ncq --vary drive.firmware.depth=1,32 --set job.depth=32

Tables fit the terminal, or the number of columns in COLUMNS; without either 120 columns. --columns chooses. A file may
be `-`, standard input.

Exit codes: 0 done; 1 the question was answered \"no\"; 2 could not run; 130 stopped by Ctrl-C or SIGTERM."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// JSON on standard output.
    #[arg(long, global = true)]
    pub json: bool,
    /// Refuse what may take more memory than this (such as 2g); without it, than a quarter of the machine's.
    #[arg(long, global = true, value_name = "SIZE", value_parser = size)]
    pub max_memory: Option<u64>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// The modelled drives; with a name, its figures, checks and curves.
    #[command(after_help = "\
Examples:
  seekwise drives atlas-10k-v-300 --png atlas.png
  seekwise drives exos-x18 --check
  seekwise drives --check

With --check, everyday work (streams, cached writes, random reads, parts of a sector) is run in the simulator and compared
with arithmetic from the drive's own figures; on all drives where none is named. What the rows mean stands in
docs/everyday.md. The picture of --svg and --png has the curves of seeks and rates. Exit code 1: a row is off, or is not though the profile says that it is.")]
    Drives(Drives),
    /// The built-in studies; with a name, what it asks, varies and claims.
    #[command(after_help = "Examples:\n  seekwise studies\n  seekwise studies ncq-alone")]
    Studies(Named),
    /// The built-in patterns, jobs and scenes; with a name, what it is made of.
    #[command(after_help = "Examples:\n  seekwise patterns\n  seekwise patterns file-server")]
    Patterns(Named),
    /// The programs of scenes; with a name, its figures with their sources.
    #[command(after_help = "\
Examples:
  seekwise programs
  seekwise programs database

A scene is a TOML file of volumes, a page cache and such programs, at once or one after another, and a job wherever a job is
named. `seekwise init scene` writes one, `seekwise keys scene` lists its keys.")]
    Programs(Named),
    /// The keys that --set, stack files, studies and drives take: range, unit, what holds without it, meaning.
    #[command(after_help = "\
Examples:
  seekwise keys driver
  seekwise keys write cache
  seekwise keys drive.cache.segments

A layer's name (drive, driver, controller, array, accelerator, processor, bus; also stack, job, real, scene, profile, study, review)
lists its keys, a whole key shows what each drive or ready-made layer has, with kind and source; any other words find keys that
have to do with them.")]
    Keys(Keys),
    /// Write an annotated file that runs as it is: a stack, a study, a scene or a drive.
    #[command(after_help = "\
Examples:
  seekwise init stack -o my-stack.toml
  seekwise init study -o my-study.toml
  seekwise init scene -o my-scene.toml
  seekwise init drive --like exos-x18 -o my-drive.toml
  seekwise init drive --capacity 8t --rpm 5640 --outer 185 --inner 90 --seek 8.5 -o my-8tb.toml

A drive's layout is made so that it holds the capacity at these rates. What is not given is that of the nearest built-in drive,
or of --like, and marked as inferred. `seekwise drives my-8tb.toml --check` holds the result against arithmetic.")]
    Init(Init),
    /// Run a job once on a target.
    #[command(after_help = "\
Examples:
  seekwise run job.fio --on wd140edfz --seed 7 --format fio-json
  seekwise run job.fio --on wd140edfz --plot --columns mean,p99,max
  seekwise run job.fio --on file:/mnt/test --set real.layout=10g --slow 100ms")]
    Run(Run),
    /// Run a job on two or more settings and say which is better, where the difference comes from, with an interval.
    #[command(after_help = "\
Examples:
  seekwise compare web-server --on barracuda-7200.7-ncq --vary drive.firmware.depth=1,32 --set job.depth=32
  seekwise compare job.fio --on cheetah-15k.4 --vary drive.cache.write_back=true,false --metric p99 --metric flush
  seekwise compare web-server --on barracuda-7200.7-ncq --vary job.depth=1..32
  seekwise compare job.fio --on file:/mnt/test --vary real.direct=true,false --dry-run
  seekwise compare job.fio --on device:/dev/sdb --against exos-x18

Metrics: iops (the default), bytes_per_s or MB/s, mean, p50, p90, p99, p99.9, p99.99, max (of the response time), of reads
and writes together; of some of them read.p99, write.mean, flush.p99 (flush alone is its mean), job:NAME.p99 (a section of
a fio file, a worker of Iometer); of the run cpu, ios_per_cpu_second. What they mean stands in docs/statistics.md.

Values: A,B,C are each held against the first; 1..32 is 1, 2, 4 … 32, and 1..9:2 is 1, 3 … 9. All comparisons are corrected
together (Holm). The picture of --svg and --png has the sides with their intervals.

Exit code 1: a comparison is refused, because the sides differ in more than what is varied, or do different work.")]
    Compare(Compare),
    /// Run a factorial study and write a report.
    #[command(
        after_help = "Examples:\n  seekwise study studies/ncq-alone.toml --out out\n  seekwise study out --out again"
    )]
    Study(Study),
    /// Run the studies that carry the source studies' findings, and say which are reproduced.
    #[command(after_help = "\
Examples:
  seekwise claims Q3 Q4 --ablate
  seekwise claims --out claims --resume
  seekwise claims Q3 --draw 3/15

A claim of class M comes with the one setting that switches its mechanism off; with --ablate its cells run again so, and
the claim must then fail. A claim of class N (no difference) counts only when the same cells show a planted one. Exit code
1: a claim fails, or holds without its mechanism.")]
    Claims(Claims),
    /// Turn a foreign description of a drive into a profile.
    #[command(after_help = "\
Example:
  seekwise import disksim atlas10k.parv -o atlas10k.toml
  seekwise validate atlas10k.csv --drive atlas10k.toml")]
    Import(Import),
    /// Play a measured trace on a simulated drive: means, and how far the distributions are apart.
    #[command(after_help = "\
Example:
  seekwise validate trace.csv --drive atlas-10k-v-300 --png trace.png
  seekwise validate trace.csv --drive profile.toml --at-most 7%

A trace is a CSV with the columns lba, sectors, op, measured_response_ms and think_ms or arrival_ms, or DiskSim's own
validation form. The demerit is the root mean square distance between the two distributions of response times
(Ruemmler and Wilkes). The picture of --svg and --png has both distributions.")]
    Validate(Validate),
    /// Fit what a profile only infers to what was measured, and say how far it may be believed.
    #[command(after_help = "\
Examples:
  seekwise fit atlas10k.csv --drive imported.toml -o atlas10k.toml
  seekwise fit reads.json writes.json,cache=on,hold=all --drive barracuda-7200.7-ncq -o mine.toml
  seekwise fit trace.csv --drive mine.toml --only overhead,cache.read_ahead -o again.toml --page again.html

A profile to begin with comes from `seekwise import disksim`, or is one of `seekwise drives`.

DATA is, in any mixture, a measured trace (as of `validate`), fio's JSON with its job in it, a list of cases in TOML (the
form of validation/published.toml), or a curve in CSV (docs/fit.md). Behind a file, after commas: hold=SHARE|all|none,
replay=think|arrival, cache=on|off, depth=N, or a dotted key of the stack that held when it was measured; behind a trace
beside=TIMES, a file with another simulator's response time of each request in ms, a line each, to be shown beside.

What a datasheet states stays, unless --only names it. A change stays if data that the search never saw are met better by
it, beyond their noise. An interrupted fit goes on with --resume. The method stands in docs/fit.md.")]
    Fit(Fit),
    /// Run a job and say what power cuts at random instants of it would lose.
    #[command(after_help = "\
Example:
  seekwise power-cut job.fio --on cheetah-15k.4 --cuts 1000 --png risk.png
  seekwise power-cut job.fio --on cheetah-15k.4 --set drive.cache.write_back=false
  seekwise power-cut job.fio --on cheetah-15k.4 --after 500ms --cuts 100
  seekwise power-cut job.fio --on caviar-wd400jb --set driver=windows-98 --shutdown --cuts 100
  seekwise power-cut job.fio --on cheetah-15k.4 --set array=raid-5 --cuts 1000

  seekwise power-cut database-beside-copy --on barracuda-7200.7 --set volume.data.barrier=off

Of a scene it also says what a mount would find: files and operations promised to stay (a flush of theirs returned) and lost;
acknowledged only and lost; deleted or renamed and in neither place; with older contents; in part.

Exit code 1: the stack broke its promise, losing writes that were flushed, marked FUA, or acknowledged with the write
cache off, or a scene's files or operations that were promised; with --shutdown, any that were acknowledged. What the
figures mean stands in docs/power-cut.md. The picture of --svg and --png is data at risk over time.")]
    PowerCut(PowerCut),
    /// Serve a modelled stack as a network block device, in real time.
    #[command(after_help = "\
Examples:
  seekwise serve barracuda-7200.7-ncq --nbd unix:/tmp/disk
  seekwise serve my-stack.toml --nbd tcp:127.0.0.1:10809 --image disk.img --cut-after 37s
  seekwise serve cheetah-15k.4 --nbd unix:/tmp/disk --run -- nbdinfo nbd+unix:///?socket=/tmp/disk
  seekwise serve barracuda-7200.7-ncq --fuse /mnt/disk --base debian.img
  seekwise serve cheetah-15k.4 --nbd unix:/tmp/disk --record session.csv
  seekwise run session.csv --on cheetah-15k.4
  seekwise disk power cut --control /tmp/disk.control

It serves until Ctrl-C or until the command of --run has ended, and then says how well the clock kept up with the model.
Whoever runs --run finds the address in SEEKWISE_URI and the socket for orders in SEEKWISE_CONTROL. Exit code 1: with
--strict, more than one answer in a hundred left later than 200 us after the model's instant; or the command of --run failed.")]
    Serve(Serve),
    /// Run real software on a modelled disk, and check what power cuts at many of its instants leave.
    #[command(after_help = "\
Examples:
  seekwise crash --recipes
  seekwise crash --on barracuda-7200.7 --recipe sqlite-wal-full --cuts 2000
  seekwise crash --on barracuda-7200.7 --set drive.faults.early_flush=on --recipe ext4-barrier
  seekwise crash --on cheetah-15k.4 --fs ext4:barrier=0 --workload 'cp -r /etc $SEEKWISE_MOUNT && sync && echo copied' \\
      --check 'test -s $SEEKWISE_PROMISES || exit 0; diff -r /etc $SEEKWISE_MOUNT/etc || exit 11' --cuts 200 --orders 4

The workload runs once; nothing runs again for a cut. It finds SEEKWISE_MOUNT with --fs, and SEEKWISE_URI. A check finds
SEEKWISE_MOUNT (the medium mounted), SEEKWISE_IMAGE (as a file), SEEKWISE_PROMISES (a file of the lines that the workload had printed
before the cut) and SEEKWISE_SCRATCH (a folder). Linux only; --fs needs root. What the figures mean stands in docs/crash.md.

Exit code 1: something was lost after a promise, or is corrupt.")]
    Crash(Crash),
    /// Order or ask a disk that is served: its status, a setting, its power, its link.
    #[command(after_help = "\
Examples:
  seekwise disk status --control /tmp/disk.control
  seekwise disk set driver.flush=drop --control /tmp/disk.control
  seekwise disk power cut --control /tmp/disk.control

`seekwise serve` names the socket for orders, and the command of its --run finds it in SEEKWISE_CONTROL.")]
    Disk(Disk),
    /// As `disk power` and `disk reset-link` were called.
    #[command(hide = true)]
    Power(FormerPower),
    /// As `disk set` was called.
    #[command(hide = true)]
    Set(FormerSet),
    /// As `disk status` was called.
    #[command(hide = true)]
    Status(FormerServed),
    /// Say by timing alone whether a flush waits for the medium.
    #[command(after_help = real::FLUSH_AUDIT)]
    FlushAudit(FlushAudit),
    /// Put back settings of devices that a run which was killed has left, and take away its mounts, loop devices, processes and folders.
    #[command(after_help = "Examples:\n  seekwise restore --dry-run\n  seekwise restore")]
    Restore(Restore),
    /// Make a result folder's report again.
    #[command(after_help = "\
Examples:
  seekwise report out
  seekwise report out --png answer.png

The picture of --svg and --png is the answer of a study: the ratios of its leading comparison, cell by cell, with their intervals.")]
    Report(Report),
    /// Simulated requests a second on fixed workloads.
    #[command(after_help = "Example:\n  seekwise bench --json")]
    Bench(Bench),
    /// What a shell needs to complete commands, drives, patterns, studies and keys.
    #[command(after_help = "\
Examples:
  seekwise completions bash > ~/.local/share/bash-completion/completions/seekwise
  seekwise completions zsh > ~/.zfunc/_seekwise
  seekwise completions fish > ~/.config/fish/completions/seekwise.fish

The script asks the program itself at each completion: write it anew with each version.")]
    Completions(Completions),
    /// Write a manual page for each command.
    #[command(hide = true, after_help = "Example:\n  seekwise man share/man/man1")]
    Man(Man),
}

/// Arguments of lists that show one of theirs in full.
#[derive(Args, Debug)]
pub struct Named {
    /// Show this one in full.
    pub name: Option<String>,
}

/// Arguments of `keys`.
#[derive(Args, Debug)]
pub struct Keys {
    /// A layer, a key, or words to look for.
    #[arg(value_name = "LAYER|KEY|WORD")]
    pub words: Vec<String>,
}

/// Arguments of `init`.
#[derive(Args, Debug)]
pub struct Init {
    /// What to write.
    #[arg(value_enum)]
    pub what: Template,
    /// Write it to this file instead of standard output.
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace the file if it is there.
    #[arg(long, requires = "out")]
    pub force: bool,
    /// The built-in drive that a drive begins with; with figures of a datasheet, the nearest to them if none is named.
    #[arg(long, value_name = "NAME")]
    pub like: Option<String>,
    /// Figures of a datasheet, for `init drive`.
    #[command(flatten)]
    pub sheet: Sheet,
}

/// What `init` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Template {
    /// A drive and what stands between it and the program.
    Stack,
    /// One question: a factor, a comparison.
    Study,
    /// Programs on volumes.
    Scene,
    /// A drive's profile.
    Drive,
}

/// Arguments of `completions`.
#[derive(Args, Debug)]
pub struct Completions {
    /// The shell.
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Shells that complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// GNU Bash.
    Bash,
    /// Zsh.
    Zsh,
    /// fish.
    Fish,
}

/// Arguments of `man`.
#[derive(Args, Debug)]
pub struct Man {
    /// The folder; it is made if it is not there.
    pub folder: PathBuf,
}

/// Arguments of `drives`.
#[derive(Args, Debug)]
#[command(group(ArgGroup::new("curves").args(["svg", "png"]).multiple(true).requires("name")))]
pub struct Drives {
    /// A drive's name, or a profile file.
    #[arg(value_parser = name)]
    pub name: Option<String>,
    /// What is drawn.
    #[command(flatten)]
    pub pictures: Pictures,
    /// Replace a file that is there.
    #[arg(long, requires = "pictures")]
    pub force: bool,
    /// Compare everyday work with arithmetic from the drive's figures.
    #[arg(long, conflicts_with = "pictures")]
    pub check: bool,
    /// Which columns are shown.
    #[command(flatten)]
    pub columns: Columns,
}

/// Which columns of its tables a command shows.
#[derive(Args, Clone, Debug, Default)]
pub struct Columns {
    /// Show these columns of the table, in this order: headings or their first words.
    #[arg(long = "columns", value_name = "A,B", value_delimiter = ',', conflicts_with = "json")]
    pub names: Vec<String>,
}

/// What a job runs on.
#[derive(Args, Debug, Clone)]
pub struct On {
    #[arg(long = "on", value_name = "TARGET", value_parser = name, help = targets())]
    pub target: String,
    /// Set a dotted key of the stack or the job; may be given more than once.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    pub set: Vec<(String, String)>,
    /// The seed of all chance.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed)]
    pub seed: u64,
    /// Run each worker for this long (such as `60 s`), whatever the job says.
    #[arg(long, value_name = "T")]
    pub runtime: Option<String>,
    /// What stands on this device (by its serial number), in this file (by its name) or at this address of a network block
    /// device may be written over.
    #[arg(long, value_name = "SERIAL|NAME|ADDRESS")]
    pub destroy: Option<String>,
    /// The format of a trace, where it is not the one that it looks like (docs/traces.md).
    #[arg(long, value_name = "NAME", value_parser = formats())]
    pub trace_format: Option<String>,
}

impl On {
    /// A job on it.
    pub fn setup(&self, job: &str) -> Setup {
        let On { target, set, seed, runtime, destroy, trace_format } = self.clone();
        Setup { job: job.to_owned(), target, set, seed, runtime, destroy, trace_format }
    }
}

/// The words of formats of traces.
fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(FORMATS.map(|known| known.word))
}

/// Arguments of `run`.
#[derive(Args, Debug)]
pub struct Run {
    /// A fio job file, an Iometer .icf, a scene, a recorded trace, `-` (standard input), or a built-in pattern.
    #[arg(value_parser = name)]
    pub job: String,
    /// What it runs on.
    #[command(flatten)]
    pub on: On,
    /// Write every counted request to this Parquet file.
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Also write results and a report to this folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace what is there: a file, or results that Seekwise wrote.
    #[arg(long)]
    pub force: bool,
    /// How to print the result [default: text].
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Also draw the response times as bars, reads and writes apart.
    #[arg(long, conflicts_with = "json")]
    pub plot: bool,
    /// Also list each request that took at least so long (such as 100ms), with its time and place.
    #[arg(long, value_name = "T", value_parser = Duration::parse)]
    pub slow: Option<Duration>,
    /// Which columns are shown.
    #[command(flatten)]
    pub columns: Columns,
}

/// Forms of a run's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table for people.
    Text,
    /// Seekwise's own JSON.
    Json,
    /// JSON as fio 3 writes it, for tools that read fio.
    FioJson,
    /// One header line and one line of figures.
    Csv,
}

/// The drive that a forecast without a name takes: a usual one of today.
const DRY_RUN: &str = "barracuda-2t-st2000dm006";

/// Arguments of `compare`.
#[derive(Args, Debug)]
pub struct Compare {
    /// A fio job file, an Iometer .icf, a scene, a recorded trace, `-` (standard input), or a built-in pattern.
    #[arg(value_parser = name)]
    pub job: String,
    /// What it runs on.
    #[command(flatten)]
    pub on: On,
    /// The key that differs and its values, two or more; the first is the base.
    #[arg(long, value_name = "KEY=A,B", value_parser = key_value, required_unless_present = "against")]
    pub vary: Option<(String, String)>,
    /// Hold what a real file or device does against what this modelled drive or stack is predicted to do.
    #[arg(long, value_name = "DRIVE|STACK", value_parser = name,
        conflicts_with_all = ["vary", "metric", "out", "dry_run", "pictures"])]
    pub against: Option<String>,
    /// Run nothing: say how long it will take, as if what is measured were this drive.
    #[arg(long, value_name = "DRIVE|STACK", num_args = 0..=1, require_equals = true, conflicts_with_all = ["out", "pictures"],
        default_missing_value = DRY_RUN)]
    pub dry_run: Option<String>,
    /// What is judged, such as p99 or read.mean (without it iops, of a scene elapsed); may be given more than once.
    #[arg(long, value_name = "NAME")]
    pub metric: Vec<Metric>,
    /// Independent runs of each side.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    pub runs: u32,
    /// How to print the answer [default: text].
    #[arg(long, value_enum, conflicts_with_all = ["against", "dry_run"])]
    pub format: Option<Form>,
    /// What is drawn.
    #[command(flatten)]
    pub pictures: Pictures,
    /// Also write results and a report to this folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace what is there: a picture, or results that Seekwise wrote.
    #[arg(long)]
    pub force: bool,
}

/// Forms of a comparison's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// Sentences and tables for people.
    Text,
    /// Seekwise's own JSON.
    Json,
    /// Markdown, for an issue or a paper.
    Markdown,
}

/// Arguments of `study`.
#[derive(Args, Debug)]
pub struct Study {
    /// A study file, `-` (standard input), the name of a built-in study, or a result folder: what it keeps runs again.
    #[arg(value_parser = name)]
    pub study: String,
    /// Where results and report go; `out`, or with --resume the result folder that goes on.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Go on with results that are there already.
    #[arg(long)]
    pub resume: bool,
    /// Replace results in the folder, if Seekwise wrote them.
    #[arg(long, conflicts_with = "resume")]
    pub force: bool,
    /// Answer "no" (exit code 1) when a claim does not hold.
    #[arg(long)]
    pub strict: bool,
    /// Print every cell and claim, however many there are, as `report` does.
    #[arg(long, conflicts_with = "json")]
    pub all: bool,
    /// Cores to use; 0 is all. Results do not depend on it.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = threads)]
    pub threads: usize,
    /// Which columns are shown.
    #[command(flatten)]
    pub columns: Columns,
}

/// Arguments of `claims`.
#[derive(Args, Debug)]
pub struct Claims {
    /// Findings, such as Q3; without any, all.
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// Also run each claim's cells with its mechanism switched off: the claim must then fail.
    #[arg(long)]
    pub ablate: bool,
    /// Keep results and reports in this folder, one below it for each study.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace results in the folder, if Seekwise wrote them.
    #[arg(long, requires = "out", conflicts_with = "resume")]
    pub force: bool,
    /// Go on with results that are there already.
    #[arg(long, requires = "out")]
    pub resume: bool,
    /// Cores to use; 0 is all. Results do not depend on it.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = threads)]
    pub threads: usize,
    /// Independent runs of each cell, whatever the studies say.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub runs: Option<u32>,
    /// Draw every figure that is inferred within ±10 %: the first, second … of so many draws (Latin hypercube).
    #[arg(long, value_name = "NUMBER/DRAWS")]
    pub draw: Option<Draw>,
    /// Which columns are shown.
    #[command(flatten)]
    pub columns: Columns,
}

/// Arguments of `import`.
#[derive(Args, Debug)]
pub struct Import {
    /// Where from.
    #[command(subcommand)]
    pub from: Foreign,
}

/// Foreign descriptions.
#[derive(Debug, Subcommand)]
pub enum Foreign {
    /// DiskSim 4's parameters: a .parv with the .diskspecs, .model and .seek beside it.
    #[command(after_help = "Example:\n  seekwise import disksim atlas10k.parv -o atlas10k.toml")]
    Disksim(Disksim),
}

/// Arguments of `import disksim`.
#[derive(Args, Debug)]
pub struct Disksim {
    /// The set-up.
    #[arg(value_parser = name)]
    pub file: String,
    /// Write the profile to this file instead of standard output, which `-` names too.
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace a file that is there.
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Which drive, where the set-up has several.
    #[arg(long, value_name = "NAME")]
    pub drive: Option<String>,
    /// The profile's name; else the file's.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
}

/// Arguments of `power-cut`.
#[derive(Args, Debug)]
pub struct PowerCut {
    /// A fio job file, an Iometer .icf, a scene, a recorded trace, `-` (standard input), or a built-in pattern or scene.
    #[arg(value_parser = name)]
    pub job: String,
    /// What it runs on.
    #[command(flatten)]
    pub on: On,
    /// So many cuts, at random instants of one run (or, with --after and --shutdown, one at the end of each of so many runs).
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub cuts: u32,
    /// Cut at this instant of the run (such as `12.5 s`) instead; may be given more than once.
    #[arg(long, value_name = "T", value_parser = span, conflicts_with_all = ["cuts", "after"])]
    pub at: Vec<Span>,
    /// Cut when the job has ended and this much time has passed, in runs with seeds of their own.
    #[arg(long, value_name = "T", value_parser = span)]
    pub after: Option<Span>,
    /// Switch off in order when the job has ended, as the driver does it, in runs with seeds of their own.
    #[arg(long, conflicts_with_all = ["at", "after"])]
    pub shutdown: bool,
    /// What is drawn.
    #[command(flatten)]
    pub pictures: Pictures,
    /// Which columns are shown.
    #[command(flatten)]
    pub columns: Columns,
    /// Replace a file that is there.
    #[arg(long, requires = "pictures")]
    pub force: bool,
}

/// Arguments of `report`.
#[derive(Args, Debug)]
pub struct Report {
    /// A result folder.
    pub folder: PathBuf,
    /// What is drawn.
    #[command(flatten)]
    pub pictures: Pictures,
    /// Replace a picture that is there.
    #[arg(long, requires = "pictures")]
    pub force: bool,
    /// Which columns are shown.
    #[command(flatten)]
    pub columns: Columns,
    /// Answer "no" (exit code 1) when a claim does not hold.
    #[arg(long)]
    pub strict: bool,
}

/// Arguments of `restore`.
#[derive(Args, Debug)]
pub struct Restore {
    /// Only say what would be done.
    #[arg(long)]
    pub dry_run: bool,
}

/// Arguments of `bench`.
#[derive(Args, Debug)]
pub struct Bench {
    /// Drive: a name of the catalogue, or a profile's file.
    #[arg(long, value_name = "NAME|FILE", value_parser = name, default_value = seekwise_lab::bench::DRIVE)]
    pub drive: String,
    /// Requests of each workload.
    #[arg(long, value_name = "N", default_value_t = 5_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub requests: u64,
    /// Which columns are shown.
    #[command(flatten)]
    pub columns: Columns,
}

/// What `--on` takes.
fn targets() -> String {
    let places: String = PLACES.iter().map(|place| format!("; `{}`: {}", place.form, place.about)).collect();
    format!("A drive's name (see `seekwise drives`), a stack file, or `-` (standard input){places}")
}

/// What this program is: its version, the hash of its sources, what was built into it, and where it can run jobs.
fn long_version() -> String {
    let Program { version, build } = Program::this();
    let machine = format!("{} {}", std::env::consts::ARCH, std::env::consts::OS);
    // No feature of the build is optional so far; one that is belongs here.
    let measured: String = PLACES.iter().map(|place| format!(", {} (real time)", place.name)).collect();
    format!(
        "{version}\nbuild:    {build}\nmachine:  {machine}\nfeatures: none is optional\nplaces:   sim (virtual \
         time){measured}"
    )
}

/// `500 ms`, `12.5 s`, or a number of seconds; up to 30 days, beyond which no run goes.
fn span(text: &str) -> Result<Span, String> {
    const MOST: u64 = 30 * 86_400 * 1_000_000_000;
    let length = Duration::parse(text)?;
    match length.nanos <= MOST {
        true => Ok(Span::from_nanos(length.nanos)),
        false => Err(format!("`{text}` is longer than 30 days")),
    }
}

/// `500m`, `2g`, `2 GB` or bytes; powers of 1024.
fn size(text: &str) -> Result<u64, String> {
    seekwise_formats::dotted::size(text).ok_or_else(|| "expected a size, such as 500m or 2g".into())
}

/// A seed: 64 bits.
fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected a whole number from 0 to {}", u64::MAX))
}

/// Cores: more threads than this only cost memory.
fn threads(text: &str) -> Result<usize, String> {
    const MOST: usize = 1024;
    let threads = text.parse().ok().filter(|&threads| threads <= MOST);
    threads.ok_or_else(|| format!("expected a whole number from 0 to {MOST}"))
}

/// A name that is not empty.
fn name(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("it is empty; expected a name".to_owned()) } else { Ok(text.to_owned()) }
}

/// `7`, `7%` or `7.5 %`.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end().parse::<f64>().ok();
    number
        .filter(|value| (0.0..f64::INFINITY).contains(value))
        .ok_or_else(|| "expected a percentage, such as 7%".into())
}

fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or_else(|| format!("`{text}` has no `=`; expected KEY=VALUE"))?;
    if key.trim().is_empty() {
        return Err(format!("`{text}` has no key; expected KEY=VALUE"));
    }
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}
