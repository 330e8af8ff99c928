//! `cargo xtask fit`: fits the eight measured drives by `seekwise fit`, from their imported parameters and the first
//! half of their traces alone, with default settings. Rewrites the profiles in `validation/drives` and the reports of
//! the fits in `validation/fits`; `cargo xtask validation` then rewrites the figures and tables that depend on them.
//! Nothing is decided here: the command gives equal bytes each time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use crate::steps::Ended;
use crate::{cargo, empty_folder, root, target};

/// Drives, with title and year, which an import does not have.
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

/// Runs the command for all drives, or for the named ones.
pub fn fit(names: &[&str]) -> ExitCode {
    if let Some(name) = names.iter().find(|name| !DRIVES.iter().any(|drive| drive.0 == **name)) {
        eprintln!("no drive `{name}`; expected some of {}", DRIVES.map(|drive| drive.0).join(", "));
        return ExitCode::from(2);
    }
    match fit_drives(names) {
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

/// The traces whose requests are replayed on drives of known figures: of three drives that cache writes, and of one that
/// does not.
const RECOVERY_TRACES: [&str; 4] = ["atlas10k", "barracuda", "cheetah9LP", "hp_c2490a"];

/// Drives of known figures for each trace. They differ in eight figures, and together have some forty intervals.
const DRIVES_PER_TRACE: &str = "2";

/// Fits drives of known figures, and rewrites their table in `docs/fit.md`.
pub fn recovery() -> ExitCode {
    match rewrite_recovery_table() {
        Ok(()) => {
            println!("Rewritten: the table of fits of known figures in docs/fit.md");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn rewrite_recovery_table() -> Result<(), String> {
    let mut rows = Vec::new();
    for (name, output) in run_example("recovery", &RECOVERY_TRACES, &[DRIVES_PER_TRACE])? {
        let counts = output.lines().last().and_then(parse_recovery_counts);
        rows.push((name, counts.ok_or("the last line of the example is not as expected")?));
    }
    write_table(&recovery_table(&rows), &RECOVERY_MARKS)
}

/// Runs an example for each drive, with imported parameters, a trace and more arguments; returns the outputs.
fn run_example<'a>(example: &str, drives: &[&'a str], more: &[&str]) -> Result<Vec<(&'a str, String)>, String> {
    let folders = build_and_find_folders()?;
    let build = ["build", "--release", "--locked", "-p", "seekwise-lab", "--example", example];
    let status = Command::new("cargo").args(build).status().map_err(|error| error.to_string())?;
    if !status.success() {
        return Err(format!("the example `{example}` does not build"));
    }
    let run_for = |name: &&'a str| {
        let imported = import_parameters(&folders, name)?;
        let trace = path_text(&folders.traces.join(format!("{name}.csv")));
        println!("$ {example} {name} {trace} {}", more.join(" "));
        let mut command = Command::new(target().join("release/examples").join(example));
        let output =
            command.args([&path_text(&imported), &trace]).args(more).output().map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        println!("{text}");
        Ok((*name, text))
    };
    drives.iter().map(run_for).collect()
}

/// Puts a table between its marks in `docs/fit.md`.
pub fn write_table(table: &str, marks: &[&str; 2]) -> Result<(), String> {
    let path = root().join("docs/fit.md");
    let page = fs::read_to_string(&path).map_err(|error| error.to_string())?;
    let rewritten = with_table(&page, table, marks).ok_or("docs/fit.md: expected the marks of the table")?;
    fs::write(&path, rewritten).map_err(|error| error.to_string())
}

/// Fits the eight drives with other thresholds, and rewrites their table in `docs/fit.md`.
pub fn thresholds() -> ExitCode {
    let result = run_example("thresholds", &DRIVES.map(|drive| drive.0), &[]).and_then(|outputs| {
        let rows: Option<Vec<_>> = outputs.iter().map(|(name, output)| Some((*name, parse_choices(output)?))).collect();
        write_table(&threshold_table(&rows.ok_or("the example does not say what is expected")?), &THRESHOLD_MARKS)
    });
    match result {
        Ok(()) => {
            println!("Rewritten: the table of thresholds in docs/fit.md");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// Drives, each with the drive whose rules it gets, which differs from it in most keys.
const PAIRS: [(&str, &str); 5] = [
    ("atlas10k", "barracuda"),
    ("barracuda", "atlas10k"),
    ("cheetah9LP", "atlas10k"),
    ("hp_c2490a", "atlas10k"),
    ("st41601n", "atlas10k"),
];

/// Fits five drives from another drive's rules, and rewrites their table in `docs/fit.md`.
pub fn carried() -> ExitCode {
    let make_row = |(drive, other): (&'static str, &'static str)| {
        let rules = path_text(&root().join(format!("validation/drives/{other}.toml")));
        let output = run_example("carried", &[drive], &[&rules])?.pop().map(|(_, output)| output).unwrap_or_default();
        carried_row(drive, other, &output).ok_or_else(|| "the example does not say what is expected".to_owned())
    };
    let rows: Result<String, String> = PAIRS.into_iter().map(make_row).collect();
    match rows.and_then(|rows| write_table(&format!("{CARRIED_HEAD}{rows}"), &CARRIED_MARKS)) {
        Ok(()) => {
            println!("Rewritten: the table of rules that carry over in docs/fit.md");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

const CARRIED_HEAD: &str = "| drive | rules of | held-back loss, own rules: before, after | other's rules: before, after | kept from the other | returned to its own | neither |\n\
                            |---|---|---|---|---|---|---|\n";

/// A row of the table, from the example's output: two lines of losses, then one for each rule that differs: its own
/// value, the other's, the final one.
fn carried_row(drive: &str, other: &str, output: &str) -> Option<String> {
    let losses = |start: &str| {
        let line = output.lines().find_map(|line| line.strip_prefix(start)?.strip_prefix(' '))?;
        let (before, after) = line.split_once(' ')?;
        Some(format!("{before}, {after}"))
    };
    let rule = |line: &str| -> Option<[String; 4]> {
        let words: Vec<String> = line.strip_prefix("rule ")?.split(' ').map(str::to_owned).collect();
        words.try_into().ok()
    };
    let rules: Vec<[String; 4]> = output.lines().filter_map(rule).collect();
    let names_of = |is_wanted: &dyn Fn(&[String; 4]) -> bool| {
        let names = rules.iter().filter(|rule| is_wanted(rule)).map(|[key, own, other, end]| {
            match end == other || end == own {
                true => format!("`{key}` ({own}, {other})"),
                false => format!("`{key}` ({own}, {other}, now {end})"),
            }
        });
        let names: Vec<String> = names.collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    let kept = names_of(&|[_, _, other, end]| end == other);
    let returned = names_of(&|[_, own, _, end]| end == own);
    let neither = names_of(&|[_, own, other, end]| end != own && end != other);
    let (own_losses, other_losses) = (losses("own")?, losses("carried")?);
    Some(format!("| {drive} | {other} | {own_losses} | {other_losses} | {kept} | {returned} | {neither} |\n"))
}

/// A choice of thresholds: both thresholds, moved figures, thousandths of the held-back loss that remain.
type Choice = [u32; 4];

/// Parses the example's output, which has a line for each choice.
fn parse_choices(output: &str) -> Option<Vec<Choice>> {
    let parse_line = |line: &str| {
        let numbers: Option<Vec<u32>> = line.split(' ').map(|word| word.parse().ok()).collect();
        numbers?.try_into().ok()
    };
    output.lines().map(parse_line).collect()
}

fn threshold_table(rows: &[(&str, Vec<Choice>)]) -> String {
    let Some((_, first)) = rows.first() else { return String::new() };
    let mut text = "| moved figures, share of the held-back loss, at |".to_owned();
    text.extend(first.iter().map(|[sure, agreed, ..]| format!(" {sure} and {agreed} |")));
    text.push_str(&format!("\n|---|{}\n", "---|".repeat(first.len())));
    for (name, choices) in rows {
        let cells = choices.iter().map(|[_, _, moved, loss]| format!(" {moved}, {:.3} |", f64::from(*loss) / 1e3));
        text.push_str(&format!("| {name} |{}\n", cells.collect::<String>()));
    }
    let sum = |index: usize| {
        let column = rows.iter().map(|(_, choices)| choices[index]);
        column.fold((0, 0.0), |sums, [_, _, moved, loss]| (sums.0 + moved, sums.1 + f64::from(loss) / 1e3))
    };
    let mean = |index| {
        let (moved, loss) = sum(index);
        format!(" {moved}, {:.3} |", loss / rows.len() as f64)
    };
    text + &format!("| sum, mean |{}\n", (0..first.len()).map(mean).collect::<String>())
}

/// The counts of a row: drives, intervals with the true value, intervals, moved figures, fitted, rightly left, wrongly
/// left.
type RecoveryCounts = [u32; 7];

/// Parses the last line of the example's output.
fn parse_recovery_counts(line: &str) -> Option<RecoveryCounts> {
    let numbers = line.split(|letter: char| !letter.is_ascii_digit()).filter_map(|word| word.parse().ok());
    numbers.collect::<Vec<u32>>().try_into().ok()
}

fn recovery_table(rows: &[(&str, RecoveryCounts)]) -> String {
    let mut sums = [0; 7];
    for (_, row) in rows {
        sums.iter_mut().zip(row).for_each(|(sum, count)| *sum += count);
    }
    let table_row = |name: &str, [drives, held, intervals, moved, fitted, rightly, wrongly]: RecoveryCounts| {
        format!("| {name} | {drives} | {held} of {intervals} | {moved} | {fitted} | {rightly} | {wrongly} |\n")
    };
    let mut text = "| requests of | drives | intervals with the true value | moved figures | fitted | rightly left | wrongly left |\n\
                   |---|---|---|---|---|---|---|\n"
        .to_owned();
    text.extend(rows.iter().map(|(name, row)| table_row(name, *row)));
    text + &table_row("all", sums)
}

/// Returns `page` with the table between its marks replaced.
fn with_table(page: &str, table: &str, marks: &[&str; 2]) -> Option<String> {
    let (before, rest) = page.split_once(marks[0])?;
    let (_, after) = rest.split_once(marks[1])?;
    Some(format!("{before}{}\n{table}{}{after}", marks[0], marks[1]))
}

const RECOVERY_MARKS: [&str; 2] = ["<!-- recovery -->", "<!-- end of recovery -->"];
const CARRIED_MARKS: [&str; 2] = ["<!-- carried -->", "<!-- end of carried -->"];
const THRESHOLD_MARKS: [&str; 2] = ["<!-- thresholds -->", "<!-- end of thresholds -->"];

/// The folders of a fit.
struct Folders {
    traces: PathBuf,
    /// The parameter files of DiskSim.
    parameters: PathBuf,
    /// A folder for imported and measured files.
    scratch: PathBuf,
}

/// Builds the program, and finds the folders.
fn build_and_find_folders() -> Result<Folders, String> {
    let [traces, parameters] = [("SEEKWISE_TRACES", "traces"), ("SEEKWISE_PARAMETERS", "disksim")].map(data_folder);
    for folder in [&traces, &parameters] {
        if !folder.is_dir() {
            return Err(format!(
                "{} is not there: other people's data, see docs/development/testing.md",
                folder.display()
            ));
        }
    }
    match cargo::release() {
        Ended::Passed => {}
        Ended::Skipped(why) | Ended::Failed(why) => return Err(why),
    }
    let scratch = empty_folder("fit").map_err(|error| format!("no scratch folder: {error}"))?;
    Ok(Folders { traces, parameters, scratch })
}

fn fit_drives(names: &[&str]) -> Ended {
    let folders = match build_and_find_folders() {
        Ok(folders) => folders,
        Err(why) => return Ended::Failed(why),
    };
    let is_wanted = |name: &str| names.is_empty() || names.contains(&name);
    for (name, title, year) in DRIVES.into_iter().filter(|drive| is_wanted(drive.0)) {
        if let Err(why) = fit_drive(&folders, (name, title, year)) {
            return Ended::Failed(format!("{name}: {why}"));
        }
    }
    Ended::Passed
}

/// The folder of measured files: the path in an environment variable, or a folder of the shared files.
fn data_folder((variable, folder): (&str, &str)) -> PathBuf {
    let shared = std::env::var_os("SEEKWISE_SHARED").map_or_else(|| root().join("../shared"), PathBuf::from);
    std::env::var_os(variable).map_or_else(|| shared.join("validation").join(folder), PathBuf::from)
}

/// Imports a drive's parameters into a profile in the scratch folder; returns the profile's path.
fn import_parameters(folders: &Folders, name: &str) -> Result<PathBuf, String> {
    let imported = folders.scratch.join(format!("{name}-imported.toml"));
    let parv = folders.parameters.join(format!("{name}.parv"));
    run(&["import", "disksim", &path_text(&parv), "-o", &path_text(&imported), "--name", name], None)?;
    Ok(imported)
}

fn fit_drive(folders: &Folders, (name, title, year): (&str, &str, u32)) -> Result<(), String> {
    let fault = |error: std::io::Error| error.to_string();
    let imported = import_parameters(folders, name)?;
    let import = fs::read_to_string(&imported).map_err(fault)?;
    let with_title_and_year = |line: &str| match line.split(" = ").next() {
        Some("title") => format!("title = \"{title}\"\n"),
        Some("year") => format!("year = {year}\n"),
        _ => format!("{line}\n"),
    };
    fs::write(&imported, import.lines().map(with_title_and_year).collect::<String>()).map_err(fault)?;
    let trace = folders.traces.join(format!("{name}.csv"));
    let out = root().join(format!("validation/drives/{name}.toml"));
    let fits = root().join("validation/fits");
    fs::create_dir_all(&fits).map_err(fault)?;
    let report = fits.join(format!("{name}.json"));
    let words =
        ["fit", &path_text(&trace), "--drive", &path_text(&imported), "-o", &path_text(&out), "--force", "--json"];
    let answer = folders.scratch.join("report.json");
    run(&words, Some(&answer))?;
    // The path of the trace is of this machine.
    let json = fs::read_to_string(&answer).map_err(fault)?;
    fs::write(report, json.replace(&path_text(&trace), &format!("{name}.csv"))).map_err(fault)
}

fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Runs the program; its output goes to the file `out`, if given.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_becomes_a_row_and_the_page_keeps_the_rest() {
        let line =
            "3 drives: 9 of 10 intervals hold the truth; of 20 moved figures 12 were fitted, 7 left rightly, 1 wrongly";
        let found = parse_recovery_counts(line).unwrap();
        assert_eq!(found, [3, 9, 10, 20, 12, 7, 1]);
        assert_eq!(parse_recovery_counts("no intervals"), None);
        let table = recovery_table(&[("one", found), ("two", found)]);
        assert!(table.ends_with("| all | 6 | 18 of 20 | 40 | 24 | 14 | 2 |\n"), "{table}");
        let page = format!("a {} old {} b", RECOVERY_MARKS[0], RECOVERY_MARKS[1]);
        assert_eq!(
            with_table(&page, "new\n", &RECOVERY_MARKS),
            Some(format!("a {}\nnew\n{} b", RECOVERY_MARKS[0], RECOVERY_MARKS[1]))
        );
        let choices = parse_choices("70 50 9 812\n84 60 7 800\n").unwrap();
        let thresholds = threshold_table(&[("one", choices.clone()), ("two", choices)]);
        assert!(
            thresholds.ends_with("| two | 9, 0.812 | 7, 0.800 |\n| sum, mean | 18, 0.812 | 14, 0.800 |\n"),
            "{thresholds}"
        );
        assert_eq!(parse_choices("84 60"), None);
        let output = "own 0.49 0.33\ncarried 0.60 0.35\nrule a.b 1 2 2\nrule a.c no yes no\nrule a.d 1 2 3\n";
        let row = "| one | two | 0.49, 0.33 | 0.60, 0.35 | `a.b` (1, 2) | `a.c` (no, yes) | `a.d` (1, 2, now 3) |\n";
        assert_eq!(carried_row("one", "two", output).unwrap(), row);
        assert_eq!(carried_row("one", "two", "own 0.49 0.33\n"), None);
        assert_eq!(with_table("no marks", "", &RECOVERY_MARKS), None);
    }
}
