//! Calls the program as a user would. Each output is a file, and is kept: a file that is there is not made again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::disksim::children_processor_seconds;

/// A fio job of one load on the whole drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// As fio names it.
    pub rw: &'static str,
    pub block: &'static str,
    pub depth: u32,
}

impl Load {
    /// Describes a load.
    pub const fn new(rw: &'static str, block: &'static str, depth: u32) -> Load {
        Load { rw, block, depth }
    }

    /// Returns the name of its files.
    pub fn name(self) -> String {
        format!("{}-{}-{}", self.rw, self.block, self.depth)
    }

    /// Writes the job. Seven of ten requests of a mix are reads.
    fn job(self) -> String {
        let Load { rw, block, depth } = self;
        let mix = if rw == "randrw" { "rwmixread=70\n" } else { "" };
        format!(
            "[global]\nioengine=libaio\ndirect=1\nruntime=60\ntime_based\nfilename=/dev/sdx\n[{}]\nrw={rw}\nbs={block}\n\
             iodepth={depth}\n{mix}",
            self.name()
        )
    }
}

/// A drive as `--on` takes it, with keys that differ.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    pub drive: &'a str,
    pub changes: &'a [(&'static str, String)],
}

impl Target<'_> {
    /// Describes a drive without changes.
    pub fn unchanged(drive: &str) -> Target<'_> {
        Target { drive, changes: &[] }
    }
}

/// A finished fit.
pub struct Fit {
    /// The fitted profile.
    pub profile: PathBuf,
    /// The JSON of its report.
    pub report: Value,
    pub processor_s: f64,
}

/// The program of one build.
pub struct Program {
    pub path: PathBuf,
}

impl Program {
    /// Runs a load on a drive; `words` are the form of the output and the seed.
    pub fn run(&self, load: Load, target: Target<'_>, words: &[&str], out: &Path) -> Result<Value, String> {
        if !out.exists() {
            let job = out.with_extension("fio");
            write_whole(&job, &load.job())?;
            let mut command = Command::new(&self.path);
            command.arg("run").arg(&job).args(["--on", target.drive]).args(words);
            for (key, value) in target.changes {
                command.args(["--set", &format!("drive.{key}={value}")]);
            }
            write_whole(out, &read_output(command)?)?;
        }
        read_json(out)
    }

    /// Fits `start` to results; the files of the fit begin with `stem`.
    pub fn fit(&self, results: &[PathBuf], start: &str, stem: &Path) -> Result<Fit, String> {
        let [profile, report, seconds] = ["toml", "report.json", "seconds"].map(|end| stem.with_extension(end));
        if !seconds.exists() {
            let mut command = Command::new(&self.path);
            command.arg("fit").args(results).args(["--drive", start, "--force", "--json", "-o"]).arg(&profile);
            let before = children_processor_seconds();
            let output = read_output(command)?;
            let used = before.zip(children_processor_seconds()).map(|(before, after)| after - before);
            write_whole(&report, &output)?;
            let used = used.ok_or("/proc/self/stat does not say what processor time children took")?;
            write_whole(&seconds, &format!("{used:.2}\n"))?;
        }
        let text = fs::read_to_string(&seconds).map_err(|why| format!("{}: {why}", seconds.display()))?;
        let processor_s = text.trim().parse().map_err(|_| format!("{}: expected a number", seconds.display()))?;
        Ok(Fit { profile, report: read_json(&report)?, processor_s })
    }
}

/// Runs a command; returns its standard output.
fn read_output(mut command: Command) -> Result<String, String> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|why| format!("{}: {why}", command.get_program().to_string_lossy()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
    Err(format!("seekwise {}: {}\n{}", words.join(" "), output.status, String::from_utf8_lossy(&output.stderr)))
}

/// Reads a file of JSON.
pub fn read_json(path: &Path) -> Result<Value, String> {
    let text = fs::read_to_string(path).map_err(|why| format!("{}: {why}", path.display()))?;
    serde_json::from_str(&text).map_err(|why| format!("{}: {why}", path.display()))
}

/// Writes a file whole or not at all, with its folder.
pub fn write_whole(path: &Path, text: &str) -> Result<(), String> {
    let fault = |why: std::io::Error| format!("{}: {why}", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(fault)?;
    }
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    fs::write(&partial, text).map_err(fault)?;
    fs::rename(&partial, path).map_err(fault)
}
