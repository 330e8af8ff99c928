//! `cargo xtask fit`: the eight measured drives fitted anew by `seekwise fit`, from their imported parameters and the first
//! half of their traces alone, with the program's own settings. Rewrites the profiles in `validation/drives` and what each
//! fit had to say in `validation/fits`; `cargo xtask validation` then rewrites the figures and tables that rest on them.
//! Decides nothing: what comes out is what the command makes of it, byte for byte each time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use crate::steps::Ended;
use crate::{cargo, root, scratch, target};

/// Drives, the name and the year of each for people; an import has neither.
const DRIVES: [(&str, &str, u32); 8] = [
    ("atlas10k", "Quantum Atlas 10K", 1999),
    ("barracuda", "Seagate Barracuda ST32171W", 1996),
    ("cheetah4LP", "Seagate Cheetah 4LP ST34501N", 1997),
    ("cheetah9LP", "Seagate Cheetah 9LP ST39102LW", 1998),
    ("dec_rz26", "DEC RZ26", 1992),
    ("hp_c2247a", "HP C2247A", 1992),
    ("hp_c2490a", "HP C2490A", 1993),
    ("st41601n", "Seagate ST41601N", 1991),
];

/// Runs the command, for all drives or for those named.
pub fn fit(names: &[&str]) -> ExitCode {
    if let Some(name) = names.iter().find(|name| !DRIVES.iter().any(|drive| drive.0 == **name)) {
        eprintln!("no drive `{name}`; expected some of {}", DRIVES.map(|drive| drive.0).join(", "));
        return ExitCode::from(2);
    }
    match all(names) {
        Ended::Passed => {
            println!("Rewritten: validation/drives and validation/fits. Now: cargo xtask validation");
            ExitCode::SUCCESS
        }
        Ended::Skipped(reason) | Ended::Failed(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

fn all(names: &[&str]) -> Ended {
    let [traces, parameters] = [("SEEKWISE_TRACES", "traces"), ("SEEKWISE_PARAMETERS", "disksim")].map(data);
    for folder in [&traces, &parameters] {
        if !folder.is_dir() {
            return Ended::Failed(format!(
                "{} is not there: other people's data, see CONTRIBUTING.md",
                folder.display()
            ));
        }
    }
    let built = cargo::release();
    if !matches!(built, Ended::Passed) {
        return built;
    }
    let folder = match scratch("fit") {
        Ok(folder) => folder,
        Err(error) => return Ended::Failed(format!("no scratch folder: {error}")),
    };
    let wanted = |name: &str| names.is_empty() || names.contains(&name);
    for (name, title, year) in DRIVES.into_iter().filter(|drive| wanted(drive.0)) {
        if let Err(why) = one(&folder, &traces, &parameters, (name, title, year)) {
            return Ended::Failed(format!("{name}: {why}"));
        }
    }
    Ended::Passed
}

/// A folder of other people's files.
fn data((variable, folder): (&str, &str)) -> PathBuf {
    let shared = std::env::var_os("SEEKWISE_SHARED").map_or_else(|| root().join("../shared"), PathBuf::from);
    std::env::var_os(variable).map_or_else(|| shared.join("validation").join(folder), PathBuf::from)
}

fn one(folder: &Path, traces: &Path, parameters: &Path, drive: (&str, &str, u32)) -> Result<(), String> {
    let (name, title, year) = drive;
    let told = |error: std::io::Error| error.to_string();
    let imported = folder.join(format!("{name}-imported.toml"));
    let parv = parameters.join(format!("{name}.parv"));
    run(&["import", "disksim", &text(&parv), "-o", &text(&imported), "--name", name], None)?;
    let import = fs::read_to_string(&imported).map_err(told)?;
    let headed = |line: &str| match line.split(" = ").next() {
        Some("title") => format!("title = \"{title}\"\n"),
        Some("year") => format!("year = {year}\n"),
        _ => format!("{line}\n"),
    };
    fs::write(&imported, import.lines().map(headed).collect::<String>()).map_err(told)?;
    let trace = traces.join(format!("{name}.csv"));
    let out = root().join(format!("validation/drives/{name}.toml"));
    let fits = root().join("validation/fits");
    fs::create_dir_all(&fits).map_err(told)?;
    let report = fits.join(format!("{name}.json"));
    let words = ["fit", &text(&trace), "--drive", &text(&imported), "-o", &text(&out), "--force", "--json"];
    run(&words, Some(&folder.join("report.json")))?;
    // The folder in which the trace lies is nobody's business.
    let said = fs::read_to_string(folder.join("report.json")).map_err(told)?;
    fs::write(report, said.replace(&text(&trace), &format!("{name}.csv"))).map_err(told)
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Runs the program; what it says goes to `out`, where there is one.
fn run(words: &[&str], out: Option<&Path>) -> Result<(), String> {
    println!("$ seekwise {}", words.join(" "));
    let mut command = Command::new(target().join("release/seekwise"));
    command.args(words);
    match out {
        Some(out) => command.stdout(fs::File::create(out).map_err(|error| error.to_string())?),
        None => command.stdout(Stdio::null()),
    };
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`seekwise {}` ended with {status}", words[0])),
        Err(error) => Err(error.to_string()),
    }
}
