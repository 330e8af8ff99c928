//! Runs every job file of fio's examples and of other public repositories, and every Iometer configuration, on a modelled drive: each
//! ends with figures, or is refused with an error that names the option and the reason. None panics or hangs.
//!
//! The files are not part of the project; without them the test says that it is skipped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::seekwise::{ProgramOutput, program_command, program_output, wild_folder};

const DRIVE: &str = "barracuda-7200.7-ncq";

/// Jobs that are limited to 2 s of virtual time a worker (20 s with `SEEKWISE_DRAWS=all`; Iometer's, of many tests each, to 100 ms), since
/// they ask for millions of requests: to fill or to read the whole drive in small blocks, to loop, or to go on for hours. They run in full
/// as well, at about a million requests a second.
const LONG: &[&str] = &[
    "fio-examples/basic-verify.fio",
    "fio-examples/disk-zone-profile.fio",
    "fio-examples/fsx.fio",
    "fio-examples/iometer-file-access-server.fio",
    "fio-examples/jesd219.fio",
    "fio-examples/null.fio",
    "fio-examples/ssd-steadystate.fio",
    "fio-examples/surface-scan.fio",
    "fio-examples/uring-cmd-ng.fio",
    "fio-jobs/couchbase__perfrunner/tests/fio/mixed.ini",
    "fio-jobs/intel__fiovisualizer/Workloads/MultiDevice/2drives_NVMe_64k_SR_QD128_01J.ini",
    "iometer/icf/autotest__tp-qemu/generic/deps/iometer/iometer-performance.icf",
    "iometer/icf/autotest__tp-qemu/generic/deps/iometer/iometer.icf",
    "iometer/icf/autotest__tp-qemu/generic/deps/iometer/iometer_multi_3disks.icf",
    "iometer/icf/autotest__tp-qemu/generic/deps/iometer/iometer_multi_4disks.icf",
];

/// A job that takes longer than this counts as hanging.
const TIMEOUT: Duration = Duration::from_secs(150);

/// How many files run, and how many are refused.
const COUNTS: (usize, usize) = (71, 104);

/// All files below a folder whose path is wanted, sorted.
fn collect_files(folder: &Path, wanted: &dyn Fn(&Path) -> bool, into: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect_files(&path, wanted, into);
        } else if wanted(&path) {
            into.push(path);
        }
    }
}

/// The variables that a job file refers to, with values that fit their names.
fn job_variables(text: &str) -> Vec<(String, &'static str)> {
    let names = text.split("${").skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name.to_owned());
    let value = |name: &str| {
        let name = name.to_ascii_uppercase();
        let has = |part: &str| name.contains(part);
        match () {
            () if has("ENGINE") => "libaio",
            () if has("READ_TYPE") || has("FIO_RW") => "randread",
            () if has("MIX") => "70",
            () if has("SIZE") && has("GIB") => "1",
            () if has("BLOCK") || has("BS") => "4k",
            () if has("SIZE") => "1g",
            () if has("TIME") => "10",
            () if has("DEV") || has("FILENAME") || has("DISK") => "/dev/sdb",
            () if has("DIR") && !has("DIRECT") => "/mnt",
            () if has("DIRECTORY") => "/mnt",
            () if has("DIRECT") => "1",
            () => "4",
        }
    };
    names.map(|name| (name.clone(), value(&name))).collect()
}

fn wait_with_timeout(mut child: Child, name: &str) -> ProgramOutput {
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > TIMEOUT {
            child.kill().unwrap();
            panic!("{name} did not end in {} s", TIMEOUT.as_secs());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    program_output(child.wait_with_output().unwrap())
}

/// Runs a job file; the error is the reason for which it was refused.
fn run_wild_job(wild: &Path, path: &Path) -> Result<(), String> {
    let name = path.strip_prefix(wild).unwrap().to_str().unwrap();
    let text = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    let mut command = program_command(wild);
    command.args(["run", name, "--on", DRIVE, "--format", "csv"]).envs(job_variables(&text));
    if LONG.contains(&name) {
        let all = std::env::var("SEEKWISE_DRAWS").is_ok_and(|draws| draws == "all");
        let whole = if all { "20 s" } else { "2 s" };
        command.args(["--runtime", if name.ends_with(".icf") { "100 ms" } else { whole }]);
    }
    let said = wait_with_timeout(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap(), name);
    assert!(!said.err.contains("panicked"), "{name}: {}", said.err);
    if said.code == 0 {
        // A target's or a job's name may hold commas: columns are counted from the end.
        let from_the_end = |line: &str| line.rsplit(',').position(|column| column == "ios");
        let place = said.out.lines().next().and_then(from_the_end).unwrap();
        let ios = said.out.lines().nth(3).and_then(|all| all.rsplit(',').nth(place)).unwrap_or("none").to_owned();
        assert!(ios.parse::<u64>().is_ok_and(|ios| ios > 0), "{name}: {ios} requests: {}", said.err);
        return Ok(());
    }
    assert_eq!((said.code, said.out.as_str()), (2, ""), "{name}: {}", said.err);
    let errors: Vec<&str> = said.err.lines().filter_map(|line| line.strip_prefix("error: ")).collect();
    assert!(!errors.is_empty(), "{name}: {}", said.err);
    for error in &errors {
        assert!(error.starts_with(name) || error.starts_with("fio-jobs/"), "names no file: {error}");
        assert!(error.contains("`: ") || error.contains("expected"), "names no option: {error}");
    }
    Err(error_kind(errors[0]))
}

/// The option and the reason in an error, without file name and figures, to group errors.
fn error_kind(error: &str) -> String {
    let from = error.find('`').unwrap_or(0);
    error[from..].chars().filter(|c| !c.is_ascii_digit()).collect()
}

#[test]
fn every_wild_job_runs_or_is_refused_by_name() {
    let Some(wild) = wild_folder() else { return };
    let mut paths = Vec::new();
    collect_files(&wild.join("fio-examples"), &|_| true, &mut paths);
    collect_files(&wild.join("fio-jobs"), &|_| true, &mut paths);
    collect_files(&wild.join("iometer"), &|path| path.extension().is_some_and(|end| end == "icf"), &mut paths);
    let (next, outcomes) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let cores = std::thread::available_parallelism().map_or(2, |cores| cores.get().max(2));
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let begun = Instant::now();
                    let outcome = run_wild_job(&wild, path);
                    outcomes.lock().unwrap().push((begun.elapsed(), path, outcome));
                }
            });
        }
    });
    let mut outcomes = outcomes.into_inner().unwrap();
    outcomes.sort_by_key(|(elapsed, ..)| std::cmp::Reverse(*elapsed));
    for (elapsed, path, _) in outcomes.iter().take(5) {
        println!("{:7.1} s  {}", elapsed.as_secs_f64(), path.display());
    }
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, _, outcome) in &outcomes {
        if let Err(reason) = outcome {
            *reasons.entry(reason).or_default() += 1;
        }
    }
    for (reason, files) in &reasons {
        println!("{files:4}  {reason}");
    }
    let refused = reasons.values().sum();
    println!("{} files: {} ran, {refused} refused", paths.len(), paths.len() - refused);
    assert_eq!((paths.len() - refused, refused), COUNTS);
}
