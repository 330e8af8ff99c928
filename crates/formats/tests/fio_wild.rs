//! Every job file of fio's examples and of other people's repositories: no panic, and a job or a named reason.
//!
//! The files are not part of the project. They are looked for in $SEEKWISE_SHARED, else beside the workspace in
//! `shared`; without them the test prints that it is skipped.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use seekwise_formats::diagnostic::Diagnostic;
use seekwise_formats::fio::{self, Context};

/// A drive of 160 GB.
const SECTORS: u64 = 312_581_808;

/// The shared directory, when it is there.
fn wild() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("SEEKWISE_SHARED").map_or(beside, PathBuf::from);
    let wild = shared.join("wild");
    if !wild.join("fio-examples").is_dir() {
        println!("skipped: no job files in {}; set SEEKWISE_SHARED", wild.display());
        return None;
    }
    Some(wild)
}

/// All files below a directory, sorted.
fn files(directory: &Path, into: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() { files(&path, into) } else { into.push(path) }
    }
}

/// A plausible value of any variable, by its name.
fn variable(name: &str) -> Option<String> {
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

fn read(path: &Path, environment: &dyn Fn(&str) -> Option<String>) -> Result<(usize, usize), Vec<Diagnostic>> {
    let text = String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    let include = |path: &str| fs::read_to_string(path).map_err(|error| error.to_string());
    let context = Context { environment, include: &include, page_size: 4096, memory_mb: 8192, processors: 4 };
    let file = fio::parse(&path.to_string_lossy(), &text, &context)?;
    file.job(SECTORS).map(|(job, warnings)| (job.workers.len(), warnings.len()))
}

/// The reason under which a refusal is counted: the option, and the message without names and figures.
fn reason(errors: &[Diagnostic]) -> String {
    let first = &errors[0];
    let message = first.message.split(": ").last().unwrap_or("");
    let key = first.key.as_deref().unwrap_or("-");
    let plain: String = message.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).collect();
    format!("{key}: {plain}")
}

#[test]
fn every_wild_job_is_a_job_or_a_named_reason() {
    let Some(wild) = wild() else { return };
    let mut paths = Vec::new();
    files(&wild.join("fio-examples"), &mut paths);
    files(&wild.join("fio-jobs"), &mut paths);
    let mut reasons: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut accepted = 0;
    for path in &paths {
        let name = path.strip_prefix(&wild).unwrap().display().to_string();
        match read(path, &variable) {
            Ok((workers, _)) => {
                assert!(workers > 0, "{name}");
                accepted += 1;
            }
            Err(errors) => {
                for error in &errors {
                    assert!(error.key.is_some() || error.message.contains("no job"), "{name}: {error}");
                }
                println!("{name}");
                for error in &errors {
                    println!(
                        "    {}:{} {:?} {}",
                        error.file.rsplit('/').next().unwrap(),
                        error.line,
                        error.key,
                        error.message
                    );
                }
                reasons.entry(reason(&errors)).or_default().push(name);
            }
        }
    }
    println!("{accepted} of {} job files give a job", paths.len());
    for (reason, names) in &reasons {
        println!("{:4}  {reason}", names.len());
    }
}
