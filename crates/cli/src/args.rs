//! The command line as clap declares it: each command has a struct of arguments, from which clap makes parser and help. The doc
//! comments of the fields are their help texts. Nothing is run here.

mod comparison;
mod crash;
mod exec;
mod explain;
mod export;
mod fit;
mod fold;
mod pictures;
mod real;
mod rebuild;
mod serve;
mod sheet;
mod sweep;
mod validate;

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{ArgAction, ArgGroup, Args, Parser, Subcommand, ValueEnum};
use seekwise::answer::ProgramVersion;
use seekwise::places::PLACES;
use seekwise::setup::{Setup, TRACE_FORMATS};
use seekwise::time::{Duration, Span};
use seekwise::{Files, bench, values};
use seekwise_reproduce::draw::ProfileDraw;

pub use self::comparison::{AnswerFormat, CompareArgs, StudyArgs};
pub use self::crash::{CrashArgs, RestoredWrites};
pub use self::exec::ExecArgs;
pub use self::explain::ExplainArgs;
pub use self::export::{ExportArgs, ExportKind, LatencyArgs};
pub use self::fit::FitArgs;
pub use self::fold::parse_command_line;
pub use self::pictures::{PageArgs, PictureArgs};
pub use self::real::FlushAuditArgs;
pub use self::rebuild::{ArrayArgs, RebuildArgs, ScrubArgs};
pub use self::serve::{Disk, Order, PowerArgs, PowerState, ServeArgs, ServedDiskArgs, SetArgs};
pub use self::sheet::DatasheetArgs;
pub use self::sweep::SweepArgs;
pub use self::validate::{ReplayTiming, ValidateArgs};

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

Tables fit the terminal, or the width in COLUMNS, or else 120 columns; --columns selects columns. A file may be `-` for
standard input.

Exit codes: 0 success; 1 the answer is \"no\"; 2 the command could not run; 130 interrupted by Ctrl-C, SIGTERM or SIGHUP."
)]
pub struct Cli {
    /// The command to run.
    #[command(subcommand)]
    pub command: CliCommand,
    /// Print JSON to standard output.
    #[arg(long, global = true)]
    pub json: bool,
    /// Refuse to start if the command may need more memory than this (such as 2g) [default: a quarter of the machine's].
    #[arg(long, global = true, value_name = "SIZE", value_parser = parse_size)]
    pub max_memory: Option<u64>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// List the modelled drives, or those that match words; with a name, show its figures, checks and curves.
    #[command(after_help = "\
Examples:
  seekwise drives seagate
  seekwise drives 18tb
  seekwise drives atlas-10k-v-300 --png atlas.png
  seekwise drives exos-x18 --check
  seekwise drives --check

--check simulates everyday work (streams, cached writes, random reads, writes of part of a sector) and compares the results with
arithmetic from the drive's own figures; without a name, it checks all drives. docs/everyday.md explains the rows. --svg and
--png draw the curves of seeks and rates. Exit code 1: a row is off, or a row that the profile lists as off is not.")]
    Drives(DrivesArgs),
    /// List the built-in studies; with a name, show its question, factors and claims.
    #[command(after_help = "Examples:\n  seekwise studies\n  seekwise studies ncq-alone")]
    Studies(NamedArgs),
    /// List the built-in patterns, jobs and scenes; with a name, show its contents.
    #[command(after_help = "Examples:\n  seekwise patterns\n  seekwise patterns file-server")]
    Patterns(NamedArgs),
    /// List the programs for scenes; with a name, show its figures and their sources.
    #[command(after_help = "\
Examples:
  seekwise programs
  seekwise programs database

A scene is a TOML file with volumes, a page cache and programs that run at once or one after another. A scene can stand for any
job. `seekwise init scene` writes a scene, `seekwise keys scene` lists its keys.")]
    Programs(NamedArgs),
    /// List the keys of --set, stack files, studies and drives, with range, unit, default and meaning.
    #[command(after_help = "\
Examples:
  seekwise keys driver
  seekwise keys write cache
  seekwise keys drive.cache.segments

A layer's name (drive, driver, controller, array, accelerator, processor, bus; also stack, job, real, scene, profile, study, review)
lists its keys. A full key shows its value in each drive or preset, with kind and source. A word of the field (fsync, latency,
power loss) is explained, with its keys and metrics. Any other words search for related keys.")]
    Keys(KeysArgs),
    /// Write an annotated, ready-to-run file: a stack, a study, a scene or a drive.
    #[command(after_help = "\
Examples:
  seekwise init stack -o my-stack.toml
  seekwise init study -o my-study.toml
  seekwise init scene -o my-scene.toml
  seekwise init drive --like exos-x18 -o my-drive.toml
  seekwise init drive --capacity 8t --rpm 5640 --outer 185 --inner 90 --seek 8.5 -o my-8tb.toml

The layout of the drive is generated to hold the capacity at the given rates. Other figures come from the nearest built-in drive,
or from --like, and are marked as inferred. `seekwise drives my-8tb.toml --check` compares the result with arithmetic.")]
    Init(InitArgs),
    /// Run a job once on a target, or compare measured results with the model.
    #[command(after_help = "\
Examples:
  seekwise run job.fio --on wd140edfz --seed 7 --format fio-json
  seekwise run job.fio --on wd140edfz --plot --columns mean,p99,max
  seekwise run job.fio --on wd140edfz --png run.png
  seekwise run job.fio --on file:/mnt/test --set real.layout=10g --slow 100ms
  seekwise run read-1.json read-16.json write-1.json,cache=off --on exos-x18

--svg and --png draw how long requests took, by percentile, and the parts of the mean response time.

Results of fio in JSON, one or more, are compared with the model: it runs the same jobs, and the table has each figure measured and
predicted. A difference that chance does not explain is marked; the suspected part of the model is named, with the arithmetic. The
last line is the command that fits the drive to the results. After a file stand the options of `fit`: cache=on|off, depth=N, or a
key of the stack (driver=linux-mq-deadline).")]
    Run(RunArgs),
    /// Run a job with two or more settings, and say which is better, by how much (with an interval) and why.
    #[command(after_help = "\
Examples:
  seekwise compare web-server --on barracuda-7200.7-ncq --vary drive.firmware.depth=1,32 --set job.depth=32
  seekwise compare job.fio --on cheetah-15k.4 --vary drive.cache.write_back=true,false --metric p99 --metric commit.p99
  seekwise compare web-server --on barracuda-7200.7-ncq --vary job.depth=1..32
  seekwise compare web-server --on exos-x18 --vary drive=exos-x18,wd140edfz --png drives.png
  seekwise compare web-server --on exos-x18 --vary job.depth=1..32 --metric iops --metric p99 --format csv
  seekwise compare web-server --on exos-x18 --vary driver=linux-none,linux-mq-deadline --page driver.html
  seekwise compare job.fio --on file:/mnt/test --vary real.direct=true,false --dry-run
  seekwise compare job.fio --on device:/dev/sdb --against exos-x18
  seekwise compare old.fio new.fio --on exos-x18
  seekwise compare before after
  seekwise compare read-1.json read-16.json --on exos-x18 --on mine.toml
  seekwise compare read-1.json read-16.json --on exos-x18 --vary drive.firmware.depth=1,32

Two jobs are compared on one target; the result is credited to everything in which they differ. Two result folders (before,
after) are compared cell by cell, and nothing is run. Results of fio in JSON (read-1.json) are the measured side: each --on, or each
value, is a model that runs the same jobs, and the answer says which is nearer.

Metrics of reads and writes together: iops (the default), bytes_per_s or MB/s, and the response time's mean, p50, p90, p95, p99,
p99.9, p99.99, max. A prefix selects some of them: read.p99, write.mean, flush.p99, commit.p99 (flush and commit alone are the mean), job:NAME.p99
(a section of a fio file, a worker of Iometer). Metrics of the run: cpu, ios_per_cpu_second. docs/statistics.md defines them.

Values: A,B,C compares each with the first; 1..32 means 1, 2, 4 … 32, and 1..9:2 means 1, 3 … 9. All comparisons are
corrected together (Holm). --svg and --png draw the sides with their intervals; three or more numbers are a curve. --page has
the picture, the tables and the causes. --format csv prints a line for each comparison; docs/output.md lists its columns.

Exit code 1: a comparison is refused, because the sides differ in more than the varied key, or do different work.")]
    Compare(CompareArgs),
    /// Run a factorial study and write a report.
    #[command(after_help = "Examples:\n  seekwise study ncq-alone --out out\n  seekwise study out --out again")]
    Study(StudyArgs),
    /// Run a study in parts, on this machine or on a cluster, with the Python module.
    #[command(after_help = "\
Examples:
  seekwise sweep study.toml --out swept
  seekwise sweep study.toml --engine ray --out s3://lab/swept

Finished parts are kept; the same command again runs only the missing ones. The results equal those of `seekwise study`, byte for
byte, whatever the engine. Needs the Python module (`pip install seekwise`); docs/python.md describes it.")]
    Sweep(SweepArgs),
    /// Run the studies behind the published findings, and report which findings are reproduced.
    #[command(after_help = "\
Examples:
  seekwise claims Q3 Q4 --ablate
  seekwise claims --out claims --resume
  seekwise claims Q3 --draw 3/15

A claim of class M names the one setting that switches its mechanism off; --ablate runs its cells again with that setting, and
the claim must then fail. A claim of class N (no difference) counts only if the same cells detect a planted difference. Exit
code 1: a claim fails, or holds without its mechanism.")]
    Claims(ClaimsArgs),
    /// Find which single inferred setting changes the answer of a claim, and what else it changes.
    #[command(after_help = "\
Examples:
  seekwise explain D7
  seekwise explain C4 --only drive.cache.read_ahead --alone
  seekwise explain Q4 --out q4.json --resume

Each inferred setting of the claim's cells is tried at a few values of its range, to find the nearest value that changes the
answer. The output then names the other claims and the published cases of its drive that this value changes (not with --alone).
Each cell runs once (--runs), unless a check asks for an interval. No profile is changed. docs/claims.md has the ranges.")]
    Explain(ExplainArgs),
    /// Convert another simulator's description of a drive into a profile.
    #[command(after_help = "\
Example:
  seekwise import disksim atlas10k.parv -o atlas10k.toml
  seekwise validate atlas10k.csv --drive atlas10k.toml")]
    Import(ImportArgs),
    /// Replay a measured trace on a simulated drive, and compare the response times.
    #[command(after_help = "\
Example:
  seekwise validate trace.csv --drive atlas-10k-v-300 --png trace.png
  seekwise validate trace.csv --drive atlas-10k-v-300 --page trace.html
  seekwise validate trace.csv --drive profile.toml --at-most 7%

A trace is a CSV with the columns lba, sectors, op, measured_response_ms and think_ms or arrival_ms, or DiskSim's own
validation form. The demerit is the root mean square distance between the two distributions of response times
(Ruemmler and Wilkes). --svg and --png draw both distributions; --page has the picture and all tables.")]
    Validate(ValidateArgs),
    /// Fit the inferred parameters of a drive to measurements, with confidence intervals.
    #[command(after_help = "\
Examples:
  seekwise fit atlas10k.csv --drive imported.toml -o atlas10k.toml
  seekwise fit reads.json writes.json,cache=on,hold=all --drive barracuda-7200.7-ncq -o mine.toml
  seekwise fit trace.csv --drive mine.toml --only overhead,cache.read_ahead -o again.toml --page again.html

Start from a profile made by `seekwise import disksim`, or from one of `seekwise drives`.

Each DATA is a measured trace (as for `validate`), fio's JSON output including its job, a list of cases in TOML (like
crates/reproduce/published.toml), or a curve in CSV (docs/fit.md). A file name may be followed by comma-separated options:
hold=SHARE|all|none, replay=think|arrival, cache=on|off, depth=N, or a dotted key of the stack as it was when measured. A trace
also takes beside=TIMES, a file with another simulator's response times in ms, one per line, to show next to the result.

Datasheet values are kept, unless --only names them. A change is kept if it improves the match with held-out data by more than
their noise. --resume continues an interrupted fit. docs/fit.md describes the method.")]
    Fit(FitArgs),
    /// Run a job, and report the losses of power cuts at random times.
    #[command(after_help = "\
Example:
  seekwise power-cut job.fio --on cheetah-15k.4 --cuts 1000 --png risk.png
  seekwise power-cut job.fio --on cheetah-15k.4 --cuts 1000 --page risk.html
  seekwise power-cut job.fio --on cheetah-15k.4 --set drive.cache.write_back=false
  seekwise power-cut job.fio --on cheetah-15k.4 --after 500ms --cuts 100
  seekwise power-cut job.fio --on caviar-wd400jb --set driver=windows-98 --shutdown --cuts 100
  seekwise power-cut job.fio --on cheetah-15k.4 --set array=raid-5 --cuts 1000

  seekwise power-cut database-beside-copy --on barracuda-7200.7 --set volume.data.barrier=off

For a scene, it also reports what a mount would find: files and operations that were flushed, or only acknowledged, and are
lost; files that were deleted or renamed and are in neither place; files with older contents; operations in part.

Exit code 1: the stack broke its promise. It lost writes that were flushed, marked FUA, or acknowledged with the write cache
off, or a scene's promised files or operations; with --shutdown, any acknowledged write. docs/power-cut.md defines the figures.
--svg and --png draw data at risk over time; --page has the picture and all tables.")]
    PowerCut(PowerCutArgs),
    /// Rebuild an array's lost drive beside its users: how many hours it takes, what users feel, and what may still be lost.
    #[command(after_help = rebuild::REBUILD)]
    Rebuild(RebuildArgs),
    /// Read and compare all drives of an array beside its users: how many hours it takes, and what users feel.
    #[command(after_help = rebuild::SCRUB)]
    Scrub(ScrubArgs),
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

The server runs until Ctrl-C, or until the command of --run ends, and then reports whether the machine kept up with the model.
The command of --run finds the address in SEEKWISE_URI, the file of --fuse in SEEKWISE_FILE and the control socket in
SEEKWISE_CONTROL. Standard output belongs to the command, and its exit code is passed on (128 plus the signal's number if a signal
ended it). --strict exits with 1 if the machine surely fell behind, and with 0 if it kept up or there were too few requests to tell.")]
    Serve(ServeArgs),
    /// Run any command, such as a test suite, on the file system of a modelled disk. Needs no root.
    #[command(after_help = exec::EXEC)]
    Exec(ExecArgs),
    /// Run real software on a modelled disk, and check its data after power cuts at many times.
    #[command(after_help = crash::CRASH)]
    Crash(CrashArgs),
    /// Control a served disk: show its status, change a setting, cut its power, reset its link.
    #[command(after_help = "\
Examples:
  seekwise disk status --control /tmp/disk.control
  seekwise disk set driver.flush=drop --control /tmp/disk.control
  seekwise disk power cut --control /tmp/disk.control

`seekwise serve` prints the path of the control socket; the command of --run finds it in SEEKWISE_CONTROL.")]
    Disk(Disk),
    /// Test, by timing alone, whether flushes wait for the medium.
    #[command(after_help = real::FLUSH_AUDIT)]
    FlushAudit(FlushAuditArgs),
    /// Clean up after killed runs: restore device settings, remove mounts, loop devices, processes and folders.
    #[command(after_help = "Examples:\n  seekwise restore --dry-run\n  seekwise restore")]
    Restore(RestoreArgs),
    /// Regenerate the report of a result folder.
    #[command(after_help = "\
Examples:
  seekwise report out
  seekwise report out --png answer.png

--svg and --png draw a study's answer: the ratios of its headline comparison, cell by cell, with their intervals.")]
    Report(ReportArgs),
    /// Show where the page Explore lies: six pages to try things in, in a browser.
    #[command(after_help = "\
Examples:
  seekwise explore
  xdg-open \"$(seekwise explore --json | jq -r .page)\"

One read, the queue, the plug, a commit, a rebuild, your own job: each has something to drag and the figures that the \
program prints, computed in the page.")]
    Explore,
    /// Export a drive's latency to simulators whose disk is a random number: moonpool, turmoil, TigerBeetle, FoundationDB, JSON.
    #[command(after_help = "Example:\n  seekwise export latency --on exos-x18 --depth 1,8,32 --for tigerbeetle")]
    Export(ExportArgs),
    /// Measure simulated requests per second on fixed workloads.
    #[command(after_help = "Example:\n  seekwise bench --json")]
    Bench(BenchArgs),
    /// Print a shell's completion script for commands, drives, patterns, studies and keys.
    #[command(after_help = "\
Examples:
  seekwise completions bash > ~/.local/share/bash-completion/completions/seekwise
  seekwise completions zsh > ~/.zfunc/_seekwise
  seekwise completions fish > ~/.config/fish/completions/seekwise.fish

The script calls the program for each completion; regenerate it with each version.")]
    Completions(CompletionsArgs),
    /// Write a manual page for each command.
    #[command(hide = true, after_help = "Example:\n  seekwise man share/man/man1")]
    Man(ManArgs),
}

/// Arguments of commands that list things, or show one in full.
#[derive(Args, Debug)]
pub struct NamedArgs {
    /// Show this one in full.
    pub name: Option<String>,
}

/// Arguments of `keys`.
#[derive(Args, Debug)]
pub struct KeysArgs {
    /// A layer, a key, or words to look for.
    #[arg(value_name = "LAYER|KEY|WORD")]
    pub words: Vec<String>,
}

/// Arguments of `init`.
#[derive(Args, Debug)]
pub struct InitArgs {
    /// The kind of file to write.
    #[arg(value_enum)]
    pub what: Template,
    /// Write it to this file instead of standard output.
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Overwrite an existing file.
    #[arg(long, requires = "out")]
    pub force: bool,
    /// The built-in drive to start from [default with datasheet figures: the nearest].
    #[arg(long, value_name = "NAME")]
    pub like: Option<String>,
    /// Figures of a datasheet, for `init drive`.
    #[command(flatten)]
    pub sheet: DatasheetArgs,
}

/// Kinds of files that `init` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Template {
    /// A drive and the layers between it and the program.
    Stack,
    /// A question: a factor and a comparison.
    Study,
    /// Programs on volumes.
    Scene,
    /// A drive's profile.
    Drive,
}

/// Arguments of `completions`.
#[derive(Args, Debug)]
pub struct CompletionsArgs {
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
pub struct ManArgs {
    /// The folder; it is created if it does not exist.
    pub folder: PathBuf,
}

/// Arguments of `drives`.
#[derive(Args, Debug)]
#[command(group(ArgGroup::new("curves").args(["svg", "png"]).multiple(true).requires("name")))]
pub struct DrivesArgs {
    /// A drive's name, a profile file, or words to search for: a maker, a line, a capacity, a model number.
    #[arg(value_parser = parse_name)]
    pub name: Option<String>,
    /// The picture's files.
    #[command(flatten)]
    pub pictures: PictureArgs,
    /// Overwrite existing files.
    #[arg(long, requires = "pictures")]
    pub force: bool,
    /// Compare everyday work with arithmetic from the drive's figures.
    #[arg(long, conflicts_with = "pictures")]
    pub check: bool,
    /// The columns to show.
    #[command(flatten)]
    pub columns: ColumnsArgs,
}

/// Which columns of its tables a command shows.
#[derive(Args, Clone, Debug, Default)]
pub struct ColumnsArgs {
    /// Show these columns of the table, in this order: headings or their first words.
    #[arg(long = "columns", value_name = "A,B", value_delimiter = ',', conflicts_with = "json")]
    pub names: Vec<String>,
}

/// The target of a job, and its settings.
#[derive(Args, Debug, Clone)]
pub struct TargetArgs {
    #[arg(id = "target", long = "on", value_name = "TARGET", value_parser = parse_name, help = target_help(), required = true,
        action = ArgAction::Set)]
    pub targets: Vec<String>,
    /// Set a dotted key of the stack or the job; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parse_key_value)]
    pub set: Vec<(String, String)>,
    /// The random seed.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_seed)]
    pub seed: u64,
    /// Run each worker for this long (such as `60 s`), overriding the job.
    #[arg(long, value_name = "T")]
    pub runtime: Option<String>,
    /// Allow overwriting this device (by serial number), this file (by name) or this network block device (by address).
    #[arg(long, value_name = "SERIAL|NAME|ADDRESS")]
    pub destroy: Option<String>,
    /// The format of a trace [default: detected] (docs/traces.md).
    #[arg(long, value_name = "NAME", value_parser = trace_format_names())]
    pub trace_format: Option<String>,
}

impl TargetArgs {
    /// The name of the target, or of the first; empty if none is given. Only `compare` allows none, or several.
    pub fn target_name(&self) -> &str {
        self.targets.first().map_or("", String::as_str)
    }

    /// The setup of a job on this target.
    pub fn job_setup(&self, files: &Files, job: &str) -> Setup {
        let TargetArgs { set, seed, runtime, destroy, trace_format, .. } = self.clone();
        let mut setup = Setup::new(job, self.target_name()).with_seed(seed).with_files(files.clone());
        (setup.set, setup.runtime, setup.destroy, setup.trace_format) = (set, runtime, destroy, trace_format);
        setup
    }
}

/// The names of the formats of traces.
fn trace_format_names() -> PossibleValuesParser {
    PossibleValuesParser::new(TRACE_FORMATS.map(|format| format.word))
}

/// Arguments of `run`.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// A fio job file, an Iometer .icf, a scene, a recorded trace, `-` (standard input), or a built-in pattern. Or results of fio
    /// in JSON, to compare with the model: FILE, or FILE,KEY=VALUE,… as for `fit`.
    #[arg(id = "job", value_parser = parse_name, value_name = "JOB|RESULT", required = true)]
    pub jobs: Vec<String>,
    /// The target and its settings.
    #[command(flatten)]
    pub on: TargetArgs,
    /// Write every counted request to this Parquet file.
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Also write results and a report to this folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// The picture's files.
    #[command(flatten)]
    pub pictures: PictureArgs,
    /// Overwrite existing files, and results written by Seekwise.
    #[arg(long)]
    pub force: bool,
    /// How to print the result [default: text].
    #[arg(long, value_enum)]
    pub format: Option<ResultFormat>,
    /// Also plot the response times as bars, separately for reads and writes.
    #[arg(long, conflicts_with = "json")]
    pub plot: bool,
    /// On a fitted drive, leave out the runs on the draws of its fit, and so the band of each figure.
    #[arg(long)]
    pub no_band: bool,
    /// Also list each request that took at least this long (such as 100ms), with its time and location.
    #[arg(long, value_name = "T", value_parser = Duration::parse)]
    pub slow: Option<Duration>,
    /// Of measured results, print all percentiles.
    #[arg(long, conflicts_with = "json")]
    pub all: bool,
    /// The columns to show.
    #[command(flatten)]
    pub columns: ColumnsArgs,
}

/// Forms of a run's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ResultFormat {
    /// A table for people.
    Text,
    /// Seekwise's own JSON.
    Json,
    /// JSON as fio 3 writes it, for tools that read fio.
    FioJson,
    /// A header line and a line of figures.
    Csv,
}

/// Arguments of `claims`.
#[derive(Args, Debug)]
pub struct ClaimsArgs {
    /// Findings, such as Q3 [default: all].
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// Also run each claim's cells with its mechanism switched off; the claim must then fail.
    #[arg(long)]
    pub ablate: bool,
    /// Keep results and reports in this folder, in one subfolder per study.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Overwrite results in the folder that Seekwise wrote.
    #[arg(long, requires = "out", conflicts_with = "resume")]
    pub force: bool,
    /// Continue from existing results.
    #[arg(long, requires = "out")]
    pub resume: bool,
    /// Number of cores to use; 0 means all. Results do not depend on it.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = parse_threads)]
    pub threads: usize,
    /// Independent runs of each cell, overriding the studies.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub runs: Option<u32>,
    /// Vary every inferred figure by up to ±10 %, in draw NUMBER of a Latin hypercube of DRAWS.
    #[arg(long, value_name = "NUMBER/DRAWS")]
    pub draw: Option<ProfileDraw>,
    /// The columns to show.
    #[command(flatten)]
    pub columns: ColumnsArgs,
}

/// Arguments of `import`.
#[derive(Args, Debug)]
pub struct ImportArgs {
    /// The source format.
    #[command(subcommand)]
    pub from: ImportSource,
}

/// Foreign descriptions.
#[derive(Debug, Subcommand)]
pub enum ImportSource {
    /// Import DiskSim 4 parameters: a .parv file with its .diskspecs, .model and .seek files.
    #[command(after_help = "Example:\n  seekwise import disksim atlas10k.parv -o atlas10k.toml")]
    Disksim(DisksimArgs),
}

/// Arguments of `import disksim`.
#[derive(Args, Debug)]
pub struct DisksimArgs {
    /// The parameter file (.parv).
    #[arg(value_parser = parse_name)]
    pub file: String,
    /// Write the profile to this file instead of standard output (`-`).
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Overwrite existing files.
    #[arg(long, requires = "out")]
    pub force: bool,
    /// The drive to import, if the file has several.
    #[arg(long, value_name = "NAME")]
    pub drive: Option<String>,
    /// The name of the profile [default: from the file name].
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
}

/// Arguments of `power-cut`.
#[derive(Args, Debug)]
pub struct PowerCutArgs {
    /// A fio job file, an Iometer .icf, a scene, a recorded trace, `-` (standard input), or a built-in pattern or scene.
    #[arg(value_parser = parse_name)]
    pub job: String,
    /// The target and its settings.
    #[command(flatten)]
    pub on: TargetArgs,
    /// Number of cuts, at random times of one run; with --after or --shutdown, number of runs with one cut each at the end.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub cuts: u32,
    /// Cut at this time of the run (such as `12.5 s`) instead; may be repeated.
    #[arg(long, value_name = "T", value_parser = parse_span, conflicts_with_all = ["cuts", "after"])]
    pub at: Vec<Span>,
    /// Cut this long after the job has ended, in runs with different seeds.
    #[arg(long, value_name = "T", value_parser = parse_span)]
    pub after: Option<Span>,
    /// Shut down properly when the job has ended, as the driver does, in runs with different seeds.
    #[arg(long, conflicts_with_all = ["at", "after"])]
    pub shutdown: bool,
    /// The picture's files.
    #[command(flatten)]
    pub pictures: PictureArgs,
    /// The page's file.
    #[command(flatten)]
    pub page: PageArgs,
    /// The columns to show.
    #[command(flatten)]
    pub columns: ColumnsArgs,
    /// Overwrite existing files.
    #[arg(long)]
    pub force: bool,
}

/// Arguments of `report`.
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// A result folder, or the URL of one that the Python module opens (such as s3://bucket/sweep).
    pub folder: PathBuf,
    /// The picture's files.
    #[command(flatten)]
    pub pictures: PictureArgs,
    /// Overwrite an existing picture.
    #[arg(long, requires = "pictures")]
    pub force: bool,
    /// The columns to show.
    #[command(flatten)]
    pub columns: ColumnsArgs,
    /// Exit with code 1 if a claim does not hold.
    #[arg(long)]
    pub strict: bool,
}

/// Arguments of `restore`.
#[derive(Args, Debug)]
pub struct RestoreArgs {
    /// Only print what would be done.
    #[arg(long)]
    pub dry_run: bool,
}

/// Arguments of `bench`.
#[derive(Args, Debug)]
pub struct BenchArgs {
    /// The drive: a name or a profile file.
    #[arg(long, value_name = "NAME|FILE", value_parser = parse_name, default_value = bench::DRIVE)]
    pub drive: String,
    /// Requests per workload.
    #[arg(long, value_name = "N", default_value_t = 5_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub requests: u64,
    /// Run only these workloads, by their keys of --json, such as `fcfs_qd1_per_s`.
    #[arg(long, value_name = "KEYS", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Also count the instructions of a request, by `perf` or `valgrind`: on a shared machine, times say little.
    #[arg(long)]
    pub instructions: bool,
    /// The columns to show.
    #[command(flatten)]
    pub columns: ColumnsArgs,
}

/// The help of `--on`.
fn target_help() -> String {
    let places: String = PLACES.iter().map(|place| format!("; `{}`: {}", place.form, place.about)).collect();
    format!("A drive's name (see `seekwise drives`), a stack file, or `-` (standard input){places}")
}

/// The version, the hash of the sources, the optional features, and the places where jobs can run.
fn long_version() -> String {
    let ProgramVersion { version, build } = ProgramVersion::current();
    let machine = format!("{} {}", std::env::consts::ARCH, std::env::consts::OS);
    // An optional feature of the build would be named in this text; there is none so far.
    let measured: String = PLACES.iter().map(|place| format!(", {} (real time)", place.name)).collect();
    format!(
        "{version}\nbuild:    {build}\nmachine:  {machine}\nfeatures: none is optional\nplaces:   sim (virtual \
         time){measured}"
    )
}

/// Parses a time: `500 ms`, `12.5 s`, or a number of seconds; at most 30 days.
fn parse_span(text: &str) -> Result<Span, String> {
    const MOST_NS: u64 = 30 * 86_400 * 1_000_000_000;
    let length = Duration::parse(text)?;
    match length.nanos <= MOST_NS {
        true => Ok(Span::from_nanos(length.nanos)),
        false => Err(format!("`{text}` is longer than 30 days")),
    }
}

/// Parses a size into bytes: `500m`, `2g`, `2 GB` or bytes; powers of 1024.
fn parse_size(text: &str) -> Result<u64, String> {
    values::parse_size(text).ok_or_else(|| "expected a size, such as 500m or 2g".into())
}

/// Parses a seed of 64 bits.
fn parse_seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected a whole number from 0 to {}", u64::MAX))
}

/// Parses a number of cores; more threads than the limit only cost memory.
fn parse_threads(text: &str) -> Result<usize, String> {
    const MOST: usize = 1024;
    let threads = text.parse().ok().filter(|&threads| threads <= MOST);
    threads.ok_or_else(|| format!("expected a whole number from 0 to {MOST}"))
}

/// Accepts a name that is not empty.
fn parse_name(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("the name is empty".to_owned()) } else { Ok(text.to_owned()) }
}

/// Parses a percentage: `7`, `7%` or `7.5 %`.
fn parse_percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end().parse::<f64>().ok();
    number
        .filter(|value| (0.0..f64::INFINITY).contains(value))
        .ok_or_else(|| "expected a percentage, such as 7%".into())
}

/// Parses `KEY=VALUE`.
fn parse_key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or_else(|| format!("`{text}` has no `=`; expected KEY=VALUE"))?;
    if key.trim().is_empty() {
        return Err(format!("`{text}` has no key; expected KEY=VALUE"));
    }
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}
