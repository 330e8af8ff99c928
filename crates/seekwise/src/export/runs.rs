//! The runs behind a table of latencies: built-in jobs on the target, each as `seekwise run` makes it. No percentile is computed here.

use seekwise_disk::block::SECTOR;
use seekwise_drives::key_names::drive;
use seekwise_lab::stats::RequestKind;

use super::{LatencyRow, LatencySetup, LatencyTarget, Operation, SequentialRate};
use crate::error::Error;
use crate::observer::Observer;
use crate::run::{PreparedRun, RunOptions, RunResult};
use crate::setup::{Setup, build_stack};
use crate::shell::quote_for_shell;
use crate::study::warn_once;
use crate::values::parse_size;

/// Virtual time of a run in sequence, whatever the others take: a rate settles at once.
const SEQUENTIAL_RUNTIME: &str = "10s";

/// Passes on only whether the work is to end: the progress of a table counts its runs.
struct CancelOnly<'a>(&'a dyn Observer);

impl Observer for CancelOnly<'_> {
    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}

impl LatencySetup {
    /// The command that prints the table in a form.
    pub fn command(&self, target: LatencyTarget) -> String {
        let depths: Vec<String> = self.depths.iter().map(u32::to_string).collect();
        let mut words = vec!["--on".to_owned(), self.target.clone(), "--depth".to_owned(), depths.join(",")];
        words.extend(["--for".to_owned(), target.name().to_owned(), "--block".to_owned(), self.block.clone()]);
        words.extend(self.size.iter().flat_map(|size| ["--size".to_owned(), size.clone()]));
        words.extend(self.set.iter().flat_map(|(key, value)| ["--set".to_owned(), format!("{key}={value}")]));
        words.extend(["--runtime".to_owned(), self.runtime.clone(), "--seed".to_owned(), self.seed.to_string()]);
        let quoted: Vec<String> = words.iter().map(|word| quote_for_shell(word)).collect();
        format!("seekwise export latency {}", quoted.join(" "))
    }

    /// A job on the target, with its variables.
    fn job(&self, name: &str, runtime: &str, variables: &[(&str, String)]) -> Setup {
        let mut setup = Setup::new(name, self.target.clone()).with_seed(self.seed).with_files(self.files.clone());
        setup.set = self.set.clone();
        for (variable, value) in variables {
            setup = setup.with(format!("job.env.{variable}"), value);
        }
        setup.with_runtime(runtime)
    }

    /// Checks what the library can be given and the command line cannot; returns the bytes of the target, in whole blocks.
    fn check(&self) -> Result<u64, Error> {
        let repeated = |(index, depth): (usize, &u32)| self.depths[..index].contains(depth);
        if self.depths.is_empty() || self.depths.contains(&0) || self.depths.iter().enumerate().any(repeated) {
            return Err(Error::new("--depth: expected numbers from 1 on, each once, such as 1,8,32"));
        }
        if let Some((key, value)) = self.set.iter().find(|(key, _)| key == drive::CACHE_WRITE_BACK) {
            return Err(Error::new(format!(
                "--set {key}={value}: the rows have the write cache on (write, flush, write_sustained) and off (write_through); expected \
                 no value of it"
            )));
        }
        let block = parse_size(&self.block).filter(|bytes| *bytes > 0);
        let block = block.ok_or_else(|| Error::new(format!("--block {}: expected a size, such as 4k", self.block)))?;
        let (stack, _, warnings) = build_stack(&self.files, &self.target, &self.set)?;
        warn_once(warnings);
        Ok(stack.sectors() * SECTOR / block * block)
    }
}

/// Runs a job; returns its result and its command.
fn run_job(setup: &Setup, observer: &dyn Observer) -> Result<(RunResult, String), Error> {
    let options = RunOptions { band: false, ..RunOptions::default() };
    let result = PreparedRun::new(setup)?.run(&options, &CancelOnly(observer), &mut |_| {})?;
    warn_once(&result.record.warnings);
    Ok((result, format!("seekwise run {} --seed {}", setup.words(), setup.seed)))
}

/// The rows of a run: one for each kind of requests that is an operation here.
fn rows_of_run(
    (setup, depth): (&Setup, u32),
    operations: &[(RequestKind, Operation)],
    observer: &dyn Observer,
) -> Result<Vec<LatencyRow>, Error> {
    let (result, command) = run_job(setup, observer)?;
    let row = |(kind, operation): &(RequestKind, Operation)| {
        let summary = result.measured.run.kind_summary(*kind);
        let (times, per_s) = (summary.tally.responses().clone(), summary.iops());
        match times.count() {
            0 => Err(Error::new(format!("{command}: no {} was counted; expected a longer --runtime", kind.name()))),
            _ => Ok(LatencyRow { operation: *operation, depth, command: command.clone(), times, per_s }),
        }
    };
    operations.iter().map(row).collect()
}

/// Makes all runs of a table: by depth, then by operation, then those in sequence.
pub(super) fn make_runs(
    setup: &LatencySetup,
    observer: &dyn Observer,
) -> Result<(Vec<LatencyRow>, [SequentialRate; 2]), Error> {
    const RUNS_PER_DEPTH: usize = 4;
    let whole = setup.check()?;
    observer.begin_work(Some((RUNS_PER_DEPTH * setup.depths.len() + 2) as u64), 0, "runs");
    let mut done = 0;
    let mut count_run = || {
        done += 1;
        observer.report_done(done);
    };
    let block = || ("BS", setup.block.clone());
    let used = setup.size.iter().map(|size| ("SIZE", size.clone()));
    let mut rows = Vec::new();
    for &depth in &setup.depths {
        let random = |rw: &str| {
            let variables = [("RW", rw.to_owned()), block(), ("DEPTH", depth.to_string())];
            let variables: Vec<_> = variables.into_iter().chain(used.clone()).collect();
            setup.job("random-blocks", &setup.runtime, &variables)
        };
        let with_cache = |job: Setup, state: &str| job.with(drive::CACHE_WRITE_BACK, state);
        // The job's files are laid out on the drive, so it needs their size in bytes.
        let size = setup.size.clone().unwrap_or_else(|| whole.to_string());
        let flushed = [("RW", "randwrite".to_owned()), block(), ("SIZE", size), ("FLUSH", depth.to_string())];
        let flushed = with_cache(setup.job("flushed-writes", &setup.runtime, &flushed), "on");
        let jobs: [(Setup, &[(RequestKind, Operation)]); RUNS_PER_DEPTH] = [
            (random("randread"), &[(RequestKind::Read, Operation::Read)]),
            (flushed, &[(RequestKind::Write, Operation::Write), (RequestKind::Flush, Operation::Flush)]),
            (with_cache(random("randwrite"), "on"), &[(RequestKind::Write, Operation::WriteSustained)]),
            (with_cache(random("randwrite"), "off"), &[(RequestKind::Write, Operation::WriteThrough)]),
        ];
        for (job, operations) in &jobs {
            rows.extend(rows_of_run((job, depth), operations, observer)?);
            count_run();
        }
    }
    let mut rate = |name, rw: &str| -> Result<SequentialRate, Error> {
        let variables = [("RW", rw.to_owned()), ("OFFSET", "50%".to_owned())];
        let job = setup.job("sequential-at", SEQUENTIAL_RUNTIME, &variables);
        let (result, command) = run_job(&job, observer)?;
        count_run();
        Ok(SequentialRate { name, bytes_per_s: result.record.all.bytes_per_s, command })
    };
    let rates = [rate("sequential_read", "read")?, rate("sequential_write", "write")?];
    Ok((rows, rates))
}
