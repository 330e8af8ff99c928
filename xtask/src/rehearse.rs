//! `cargo xtask rehearse`: installs, as users would, what a release would publish, and nothing is uploaded. The indexes
//! are folders: pip and uv install the wheel into bare environments, `cargo add` adds the crate to a new project, and
//! the arm64 wheel runs under emulation. All make the same calls and must give equal bytes. Prints seconds and sizes.
//!
//! Needs both wheels of `cargo xtask wheel` in `target/dist`, and for arm64 Debian's apt. Works below the system's
//! temporary folder, outside of the repository. `CARGO_TARGET_DIR` is used by no step of a user.

mod arm64;
mod pypi;
mod registry;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use self::arm64::Emulator;
use crate::steps::Ended;
use crate::{package, python};

/// The calls that each installation makes; the last line of output is its answer.
const PROBE: &str = include_str!("rehearse/probe.py");

/// The example in the library's documentation, as a program. It prints the first figure of the probe's answer.
const PROGRAM: &str = r#"use seekwise::{Setup, run};

fn main() -> Result<(), seekwise::Error> {
    let setup = Setup::new("random-read", "barracuda-7200.7-ncq").with("job.depth", 4).with_runtime("5 s");
    println!("{}", run::run(&setup, &())?.record.all.iops);
    Ok(())
}
"#;

/// Where crates come from in the user's project: cargo's own index is replaced by a folder.
const CARGO_CONFIG: &str = "[source.crates-io]\nreplace-with = \"folder\"\n[source.folder]\nlocal-registry = \"";

/// Steps of a user, with their seconds, and sizes.
struct Rehearsal {
    folder: PathBuf,
    table: Vec<String>,
}

/// Runs the command.
pub fn rehearse() -> ExitCode {
    match try_rehearse() {
        Ok(table) => {
            println!("\n{}", table.join("\n"));
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn try_rehearse() -> Result<Vec<String>, String> {
    let folder = std::env::temp_dir().join("seekwise-rehearsal");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|why| error_of(&folder, &why))?;
    }
    fs::create_dir_all(&folder).map_err(|why| error_of(&folder, &why))?;
    fs::write(folder.join("probe.py"), PROBE).map_err(|why| error_of(&folder, &why))?;
    python::make_environment(&["uv"])?;
    let mut rehearsal = Rehearsal { folder, table: Vec::new() };
    let index = rehearsal.make_python_index()?;
    let answer = rehearsal.try_pip(&index)?;
    let answers = [("uv", rehearsal.try_uv(&index)?), ("arm64", rehearsal.try_arm64(&index)?)];
    for (name, other) in answers {
        if other != answer {
            return Err(format!("{name} answers {other}; pip's installation {answer}"));
        }
    }
    let iops = rehearsal.try_cargo()?;
    if answer.split(' ').next() != Some(iops.as_str()) {
        return Err(format!("the Rust program has {iops} requests a second; Python {answer}"));
    }
    rehearsal.table.push(format!("equal answers of pip, uv, arm64, cargo: {answer}"));
    Ok(rehearsal.table)
}

impl Rehearsal {
    /// Makes the index of pip and uv; returns its URL.
    fn make_python_index(&mut self) -> Result<String, String> {
        let index = self.folder.join("pypi");
        for (name, bytes) in pypi::make_index(&crate::target().join("dist"), &index)? {
            self.table.push(format!("{:>9.2} MB  {name}", bytes as f64 / 1e6));
        }
        Ok(format!("file://{}", index.display()))
    }

    /// Installs by pip; returns the probe's answer.
    fn try_pip(&mut self, index: &str) -> Result<String, String> {
        let folder = self.folder.join("by-pip");
        let python = folder.join("bin/python").display().to_string();
        self.run(&self.folder.clone(), &["python3", "-m", "venv", "by-pip"])?;
        self.run(&self.folder.clone(), &[&python, "-m", "pip", "install", "-q", "--index-url", index, "seekwise"])?;
        self.table.push(format!("{:>9.2} MB  installed", folder_bytes(&folder, "seekwise") as f64 / 1e6));
        self.run(&self.folder.clone(), &[&python, "probe.py"])
    }

    /// Adds the package to a new project by uv; returns the probe's answer.
    fn try_uv(&mut self, index: &str) -> Result<String, String> {
        let (uv, folder) = (python::environment_program("uv"), self.folder.join("by-uv"));
        self.run(&self.folder.clone(), &[&uv, "init", "-q", "--bare", "--no-python-downloads", "by-uv"])?;
        self.run(&folder, &[&uv, "add", "-q", "--default-index", index, "seekwise"])?;
        self.run(&folder, &[&uv, "run", "-q", "python", "../probe.py"])
    }

    /// Installs the arm64 wheel and runs it under emulation; returns the probe's answer.
    fn try_arm64(&mut self, index: &str) -> Result<String, String> {
        let emulator = Emulator::fetch(&crate::target().join("emulated"))?;
        let version = emulator.python_version()?;
        let python = self.folder.join("by-pip/bin/python").display().to_string();
        let choice = ["--only-binary=:all:", "--platform=manylinux2014_aarch64", "--python-version", &version];
        let install = [&python, "-m", "pip", "install", "-q", "--index-url", index, "--target", "arm64", "seekwise"];
        self.run(&self.folder.clone(), &[&install[..], &choice].concat())?;
        let words = emulator.python(&["probe.py"]);
        let words: Vec<&str> =
            ["env", "PYTHONPATH=arm64"].into_iter().chain(words.iter().map(String::as_str)).collect();
        self.run(&self.folder.clone(), &words)
    }

    /// Adds the crate to a new project; returns the output of its program.
    fn try_cargo(&mut self) -> Result<String, String> {
        match package::package() {
            Ended::Passed => {}
            Ended::Skipped(why) | Ended::Failed(why) => return Err(why),
        }
        let (index, project) = (self.folder.join("crates"), self.folder.join("by-cargo"));
        let (own, bytes) = registry::make_index(&index)?;
        self.table.push(format!("{:>9.2} MB  {own} crates", bytes as f64 / 1e6));
        self.run(&self.folder.clone(), &["cargo", "new", "-q", "--vcs", "none", "by-cargo"])?;
        fs::create_dir(project.join(".cargo")).map_err(|why| error_of(&project, &why))?;
        let config = format!("{CARGO_CONFIG}{}\"\n", index.display());
        fs::write(project.join(".cargo/config.toml"), config).map_err(|why| error_of(&project, &why))?;
        self.run(&project, &["cargo", "add", "-q", "seekwise"])?;
        fs::write(project.join("src/main.rs"), PROGRAM).map_err(|why| error_of(&project, &why))?;
        self.run(&project, &["cargo", "build", "-q"])?;
        self.run(&project, &["target/debug/by-cargo"])
    }

    /// Runs a step of a user and notes its seconds; returns the last line of its output.
    fn run(&mut self, folder: &Path, words: &[&str]) -> Result<String, String> {
        let line = words.join(" ").replace(&format!("{}/", self.folder.display()), "");
        println!("$ {line}");
        let start = Instant::now();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).current_dir(folder).env_remove("CARGO_TARGET_DIR").env_remove("VIRTUAL_ENV");
        let output = command.output().map_err(|why| format!("`{line}` did not start: {why}"))?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(format!("`{line}` ended with {}\n{why}", output.status));
        }
        self.table.push(format!("{:>9.1} s   {line}", start.elapsed().as_secs_f64()));
        Ok(String::from_utf8_lossy(&output.stdout).lines().last().unwrap_or_default().to_owned())
    }
}

/// Bytes of the files below those folders of this name that lie below a folder.
fn folder_bytes(folder: &Path, name: &str) -> u64 {
    let is_inside = |path: &Path| path.components().any(|part| part.as_os_str() == name);
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries
        .map(|path| match fs::symlink_metadata(&path) {
            Ok(facts) if facts.is_dir() => folder_bytes(&path, name),
            Ok(facts) if is_inside(&path) => facts.len(),
            _ => 0,
        })
        .sum()
}

fn error_of(path: &Path, why: &std::io::Error) -> String {
    format!("{}: {why}", path.display())
}
