//! Every job file of fio's examples and of other people's repositories: each becomes a job or is refused with a named reason, and
//! damaged files cause no panic.
//!
//! The files are not part of the project: the tests look for them in $SEEKWISE_SHARED, else beside the workspace in
//! `shared`, and print that they are skipped if there are none.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use seekwise_drives::diagnostic::Diagnostic;
use seekwise_formats::fio::{self, FioContext};

/// A drive of 160 GB.
const SECTORS: u64 = 312_581_808;

/// The folder of job files, if it is there.
fn wild_folder() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("SEEKWISE_SHARED").map_or(beside, PathBuf::from);
    let wild = shared.join("wild");
    if !wild.join("fio-examples").is_dir() {
        println!("skipped: no job files in {}; set SEEKWISE_SHARED", wild.display());
        return None;
    }
    Some(wild)
}

/// Adds all files below a folder, sorted.
fn add_files(directory: &Path, paths: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() { add_files(&path, paths) } else { paths.push(path) }
    }
}

/// A plausible value of an environment variable, by its name.
fn variable_value(name: &str) -> Option<String> {
    let name = name.to_ascii_uppercase();
    let has = |part: &str| name.contains(part);
    let value = match () {
        () if has("ENGINE") => "libaio",
        () if has("READ_TYPE") || has("FIO_RW") => "randread",
        () if has("MIX") => "70",
        () if has("SIZE") && has("GIB") => "1",
        () if has("BLOCK") || has("BS") => "4k",
        () if has("SIZE") => "1g",
        () if has("TIME") => "10",
        () if has("DIRECT") && !has("DIRECTORY") => "1",
        () if has("DEV") || has("FILENAME") || has("DISK") => "/dev/sdb",
        () if has("DIR") => "/mnt",
        () if has("DEPTH") || has("JOBS") || has("WORKERS") || has("COUNT") || has("NRFILES") || has("PORT") => "4",
        () => "value",
    };
    Some(value.to_owned())
}

/// Files that fio 3.33 parses and that are a job here, and files that are neither.
const AGREED: (usize, usize) = (56, 42);

/// Jobs here that fio 3.33 does not parse: options of later versions that change nothing here.
const NEWER: &[&str] = &["fio-examples/uring-cmd-pi-sb.fio"];

/// Reasons for which files that fio 3.33 parses are refused here, with the number of files (by their first error). No reason is
/// syntax; a file without a size stops fio as well, but only when it runs.
#[rustfmt::skip]
const REFUSED: &[(&str, usize)] = &[
    ("atomic: drives here have no atomic writes", 1),
    ("bs:  bytes are not whole sectors of ", 1),
    ("cmdprio_bssplit: priorities are drawn by direction here (cmdprio_percentage), not by size", 1),
    ("create_only: it asks only for files to be made, and there is nothing to measure", 1),
    ("exitall: the end of one worker does not end the others in this version", 2),
    ("ioengine: it loads the processor and issues nothing to a drive", 2),
    ("ioengine: it measures a network or a remote store, not a drive", 10),
    ("ioengine: it measures calls of a file system, not a drive", 11),
    ("ioengine: it measures memory or raw flash, not a drive", 6),
    ("ioengine: outside engines cannot be loaded here", 2),
    ("ioengine: zoned devices are not in this version", 2),
    ("latency_target: the depth of a worker is fixed here; it is not steered by a latency", 1),
    ("offset: the job begins at byte  of a file of ", 1),
    ("rate_min: a job is not stopped for falling below a rate in this version", 1),
    ("sg_write_mode: only plain writes are in this version", 3),
    ("size:  files take  bytes together, and there are ", 4),
    ("size: its files do not exist and nothing says how long they are", 4),
    ("steadystate_duration: a run does not end at steady state in this version; take the option out and give a runtime", 1),
    ("wait_for: a job cannot wait for one other job here; stonewall waits for all before it", 2),
    ("zonemode: its zones are empty, as all are at first on a drive without zones, and there is nothing to read", 1),
    ("zonesize: zonemode=zbd on a drive without zones needs it, as in fio", 2),
];

/// The numbers of workers and warnings of a job file.
fn count_workers_and_warnings(
    path: &Path,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<(usize, usize), Vec<Diagnostic>> {
    let text = String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    let include = |path: &str| fs::read_to_string(path).map_err(|error| error.to_string());
    let context = FioContext { environment, include: &include, page_size: 4096, memory_mb: 8192, processors: 4 };
    let file = fio::parse(&path.to_string_lossy(), &text, &context)?;
    file.job(SECTORS).map(|(job, warnings)| (job.workers.len(), warnings.len()))
}

/// The reason under which a refusal is counted: the option, and the message without names and figures.
fn classify_refusal(errors: &[Diagnostic]) -> String {
    let first = &errors[0];
    let message = first.message.split(": ").last().unwrap_or("");
    let key = first.key.as_deref().unwrap_or("-");
    let plain: String = message.chars().filter(|c| !c.is_ascii_digit()).collect();
    format!("{key}: {plain}")
}

/// True for each file that the parser of fio 3.33 accepts, with the variables set.
fn read_fio_verdicts(wild: &Path) -> BTreeMap<String, bool> {
    let table = fs::read_to_string(wild.join("FIO-PARSE-3.33.tsv")).unwrap();
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        (fields[0].to_owned(), fields[3] == "0")
    };
    table.lines().skip(1).map(row).collect()
}

#[test]
fn every_wild_job_is_a_job_or_a_named_reason() {
    let Some(wild) = wild_folder() else { return };
    let mut paths = Vec::new();
    add_files(&wild.join("fio-examples"), &mut paths);
    add_files(&wild.join("fio-jobs"), &mut paths);
    let verdicts = read_fio_verdicts(&wild);
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let mut disagreed: BTreeMap<String, usize> = BTreeMap::new();
    // Counted by (fio takes it, a job here).
    let mut tally: BTreeMap<(bool, bool), Vec<String>> = BTreeMap::new();
    for path in &paths {
        let name = path.strip_prefix(&wild).unwrap().display().to_string();
        let result = count_workers_and_warnings(path, &variable_value);
        for error in result.as_ref().err().into_iter().flatten() {
            assert!(error.key.is_some(), "names no option: {error}");
        }
        if let Err(errors) = &result {
            *reasons.entry(classify_refusal(errors)).or_default() += 1;
            if verdicts[&name] {
                *disagreed.entry(classify_refusal(errors)).or_default() += 1;
            }
        }
        tally.entry((verdicts[&name], result.is_ok())).or_default().push(name);
    }
    let count = |fio, here| tally.get(&(fio, here)).map_or(0, Vec::len);
    println!("{} of {} job files give a job", count(true, true) + count(false, true), paths.len());
    println!("of those that fio 3.33 parses: {} a job, {} refused", count(true, true), count(true, false));
    println!("of those that it does not: {} a job, {} refused", count(false, true), count(false, false));
    for (reason, files) in &reasons {
        println!("{files:4}  {reason}");
    }
    assert_eq!(paths.len(), 158);
    assert_eq!((count(true, true), count(false, false)), AGREED);
    assert_eq!(disagreed, REFUSED.iter().map(|(reason, files)| (reason.to_string(), *files)).collect());
    let newer = tally.get(&(false, true)).cloned().unwrap_or_default();
    assert_eq!(newer, NEWER, "refused by fio 3.33 and a job here");
}

#[test]
fn damaged_files_never_panic() {
    let Some(wild) = wild_folder() else { return };
    let mut paths = Vec::new();
    add_files(&wild.join("fio-examples"), &mut paths);
    let include = |_: &str| Err("nothing to include".to_owned());
    let context =
        FioContext { environment: &variable_value, include: &include, page_size: 4096, memory_mb: 8192, processors: 4 };
    let (mut state, mut tried, mut jobs) = (1u64, 0, 0);
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for path in &paths {
        let bytes = fs::read(path).unwrap();
        for _ in 0..crate::number_of_draws(20) {
            let mut damaged = bytes.clone();
            for _ in 0..=next(8) {
                let at = next(damaged.len());
                match next(4) {
                    0 => damaged[at] = b"=:,/-[](){}$%0129kKgz.\n\\"[next(24)],
                    1 => damaged.truncate(at.max(1)),
                    2 => drop(damaged.remove(at)),
                    _ => damaged.insert(at, b"0123456789"[next(10)]),
                }
                if damaged.is_empty() {
                    damaged.push(b'[');
                }
            }
            let text = String::from_utf8_lossy(&damaged);
            tried += 1;
            let built = fio::parse("damaged.fio", &text, &context).and_then(|file| file.job(SECTORS));
            if let Ok((job, _)) = built {
                assert!(!job.workers.is_empty());
                jobs += 1;
            }
        }
    }
    println!("{tried} damaged files, {jobs} of them still a job");
    assert!(jobs > 0 && jobs < tried);
}
