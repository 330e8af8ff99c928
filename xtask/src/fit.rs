//! `cargo xtask fit`: fits the eight measured drives by `seekwise fit`, from their imported parameters and the first half of
//! their traces alone, with default settings. Rewrites the profiles in `validation/drives` and the reports of the fits in
//! `validation/fits`; `cargo xtask validation` then rewrites the figures and tables that depend on them. Nothing is decided here:
//! the command gives equal bytes each time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use crate::steps::Ended;
use crate::{cargo, root, scratch, target};

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

/// Traces whose requests are replayed on drives of known figures: three drives that cache writes and one that does not.
const KNOWN: [&str; 4] = ["atlas10k", "barracuda", "cheetah9LP", "hp_c2490a"];
/// Drives for each trace, which differ in eight figures: together they have some forty intervals.
const TRUTHS: &str = "2";

/// Fits of drives of known figures, and their table in `docs/fit.md`.
pub fn recovery() -> ExitCode {
    match known() {
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

fn known() -> Result<(), String> {
    let mut rows = Vec::new();
    for (name, said) in examples("recovery", &KNOWN, &[TRUTHS])? {
        let last = said.lines().last().and_then(figures);
        rows.push((name, last.ok_or("the last line of the example is not as expected")?));
    }
    written(&table(&rows), &MARKS)
}

/// The output of an example for each drive, which gets imported parameters, a trace and more arguments.
fn examples<'a>(example: &str, drives: &[&'a str], more: &[&str]) -> Result<Vec<(&'a str, String)>, String> {
    let (traces, parameters, folder) = begun()?;
    let build = ["build", "--release", "--locked", "-p", "seekwise-lab", "--example", example];
    let status = Command::new("cargo").args(build).status().map_err(|error| error.to_string())?;
    if !status.success() {
        return Err(format!("the example `{example}` does not build"));
    }
    let one = |name: &&'a str| {
        let imported = folder.join(format!("{name}-imported.toml"));
        let parv = parameters.join(format!("{name}.parv"));
        run(&["import", "disksim", &text(&parv), "-o", &text(&imported), "--name", name], None)?;
        let trace = text(&traces.join(format!("{name}.csv")));
        println!("$ {example} {name} {trace} {}", more.join(" "));
        let mut command = Command::new(target().join("release/examples").join(example));
        let said = command.args([&text(&imported), &trace]).args(more).output().map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        println!("{said}");
        Ok((*name, said))
    };
    drives.iter().map(one).collect()
}

/// Puts a table between its marks in `docs/fit.md`.
fn written(table: &str, marks: &[&str; 2]) -> Result<(), String> {
    let path = root().join("docs/fit.md");
    let page = fs::read_to_string(&path).map_err(|error| error.to_string())?;
    let page = between(&page, table, marks).ok_or("docs/fit.md: expected the marks of the table")?;
    fs::write(&path, page).map_err(|error| error.to_string())
}

/// Fits of the eight drives with other thresholds, and their table in `docs/fit.md`.
pub fn thresholds() -> ExitCode {
    let found = examples("thresholds", &DRIVES.map(|drive| drive.0), &[]).and_then(|said| {
        let rows: Option<Vec<_>> = said.iter().map(|(name, said)| Some((*name, choices(said)?))).collect();
        written(&of_choices(&rows.ok_or("the example does not say what is expected")?), &THRESHOLDS)
    });
    match found {
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

/// Drives, and the other drive whose rules each gets: the one whose rules differ in most keys.
const PAIRS: [(&str, &str); 5] = [
    ("atlas10k", "barracuda"),
    ("barracuda", "atlas10k"),
    ("cheetah9LP", "atlas10k"),
    ("hp_c2490a", "atlas10k"),
    ("st41601n", "atlas10k"),
];

/// Fits of five drives from another drive's rules, and their table in `docs/fit.md`.
pub fn carried() -> ExitCode {
    let one = |(drive, other): (&'static str, &'static str)| {
        let rules = text(&root().join(format!("validation/drives/{other}.toml")));
        let said = examples("carried", &[drive], &[&rules])?.pop().map(|(_, said)| said).unwrap_or_default();
        of_carried(drive, other, &said).ok_or_else(|| "the example does not say what is expected".to_owned())
    };
    let rows: Result<String, String> = PAIRS.into_iter().map(one).collect();
    match rows.and_then(|rows| written(&format!("{CARRIED_HEAD}{rows}"), &CARRIED)) {
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

/// A row: two lines of losses, then one for each rule that differs: its own value, the other's, the final one.
fn of_carried(drive: &str, other: &str, said: &str) -> Option<String> {
    let losses = |what: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix(what)?.strip_prefix(' '))?;
        let (before, after) = line.split_once(' ')?;
        Some(format!("{before}, {after}"))
    };
    let rule = |line: &str| -> Option<[String; 4]> {
        let words: Vec<String> = line.strip_prefix("rule ")?.split(' ').map(str::to_owned).collect();
        words.try_into().ok()
    };
    let rules: Vec<[String; 4]> = said.lines().filter_map(rule).collect();
    let named = |of: &dyn Fn(&[String; 4]) -> bool| {
        let names =
            rules.iter().filter(|rule| of(rule)).map(|[key, own, other, end]| match end == other || end == own {
                true => format!("`{key}` ({own}, {other})"),
                false => format!("`{key}` ({own}, {other}, now {end})"),
            });
        let names: Vec<String> = names.collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    let stayed = named(&|[_, _, other, end]| end == other);
    let back = named(&|[_, own, _, end]| end == own);
    let neither = named(&|[_, own, other, end]| end != own && end != other);
    let (own, theirs) = (losses("own")?, losses("carried")?);
    Some(format!("| {drive} | {other} | {own} | {theirs} | {stayed} | {back} | {neither} |\n"))
}

/// For each choice: both thresholds, moved figures, thousandths of the held-back loss that remain.
fn choices(said: &str) -> Option<Vec<[u32; 4]>> {
    let line = |line: &str| {
        let numbers: Option<Vec<u32>> = line.split(' ').map(|word| word.parse().ok()).collect();
        numbers?.try_into().ok()
    };
    said.lines().map(line).collect()
}

fn of_choices(rows: &[(&str, Vec<[u32; 4]>)]) -> String {
    let Some((_, first)) = rows.first() else { return String::new() };
    let mut all = "| moved figures, share of the held-back loss, at |".to_owned();
    all.extend(first.iter().map(|[sure, agreed, ..]| format!(" {sure} and {agreed} |")));
    all.push_str(&format!("\n|---|{}\n", "---|".repeat(first.len())));
    for (name, choices) in rows {
        let cells = choices.iter().map(|[_, _, moved, loss]| format!(" {moved}, {:.3} |", f64::from(*loss) / 1e3));
        all.push_str(&format!("| {name} |{}\n", cells.collect::<String>()));
    }
    let sum = |place: usize| {
        let of = rows.iter().map(|(_, choices)| choices[place]);
        of.fold((0, 0.0), |all, [_, _, moved, loss]| (all.0 + moved, all.1 + f64::from(loss) / 1e3))
    };
    let mean = |place| {
        let (moved, loss) = sum(place);
        format!(" {moved}, {:.3} |", loss / rows.len() as f64)
    };
    all + &format!("| sum, mean |{}\n", (0..first.len()).map(mean).collect::<String>())
}

/// The whole numbers of a line: drives, intervals with the true value, intervals, moved, fitted, rightly left, wrongly left.
fn figures(line: &str) -> Option<[u32; 7]> {
    let numbers = line.split(|letter: char| !letter.is_ascii_digit()).filter_map(|word| word.parse().ok());
    numbers.collect::<Vec<u32>>().try_into().ok()
}

fn table(rows: &[(&str, [u32; 7])]) -> String {
    let mut sums = [0; 7];
    for (_, row) in rows {
        sums.iter_mut().zip(row).for_each(|(sum, one)| *sum += one);
    }
    let line = |name: &str, [drives, held, intervals, moved, fitted, rightly, wrongly]: [u32; 7]| {
        format!("| {name} | {drives} | {held} of {intervals} | {moved} | {fitted} | {rightly} | {wrongly} |\n")
    };
    let mut all = "| requests of | drives | intervals with the true value | moved figures | fitted | rightly left | wrongly left |\n\
                   |---|---|---|---|---|---|---|\n"
        .to_owned();
    all.extend(rows.iter().map(|(name, row)| line(name, *row)));
    all + &line("all", sums)
}

/// Returns `page` with another table between its marks.
fn between(page: &str, table: &str, marks: &[&str; 2]) -> Option<String> {
    let (before, rest) = page.split_once(marks[0])?;
    let (_, after) = rest.split_once(marks[1])?;
    Some(format!("{before}{}\n{table}{}{after}", marks[0], marks[1]))
}

const MARKS: [&str; 2] = ["<!-- recovery -->", "<!-- end of recovery -->"];
const CARRIED: [&str; 2] = ["<!-- carried -->", "<!-- end of carried -->"];
const THRESHOLDS: [&str; 2] = ["<!-- thresholds -->", "<!-- end of thresholds -->"];

/// The folders of traces and parameters, and one to write in; the program is built by then.
fn begun() -> Result<(PathBuf, PathBuf, PathBuf), String> {
    let [traces, parameters] = [("SEEKWISE_TRACES", "traces"), ("SEEKWISE_PARAMETERS", "disksim")].map(data);
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
    let folder = scratch("fit").map_err(|error| format!("no scratch folder: {error}"))?;
    Ok((traces, parameters, folder))
}

fn all(names: &[&str]) -> Ended {
    let (traces, parameters, folder) = match begun() {
        Ok(begun) => begun,
        Err(why) => return Ended::Failed(why),
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
    // The path of the trace is of this machine.
    let said = fs::read_to_string(folder.join("report.json")).map_err(told)?;
    fs::write(report, said.replace(&text(&trace), &format!("{name}.csv"))).map_err(told)
}

fn text(path: &Path) -> String {
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
        let found = figures(line).unwrap();
        assert_eq!(found, [3, 9, 10, 20, 12, 7, 1]);
        assert_eq!(figures("no intervals"), None);
        let table = table(&[("one", found), ("two", found)]);
        assert!(table.ends_with("| all | 6 | 18 of 20 | 40 | 24 | 14 | 2 |\n"), "{table}");
        let page = format!("a {} old {} b", MARKS[0], MARKS[1]);
        assert_eq!(between(&page, "new\n", &MARKS), Some(format!("a {}\nnew\n{} b", MARKS[0], MARKS[1])));
        let said = choices("70 50 9 812\n84 60 7 800\n").unwrap();
        let table = of_choices(&[("one", said.clone()), ("two", said)]);
        assert!(table.ends_with("| two | 9, 0.812 | 7, 0.800 |\n| sum, mean | 18, 0.812 | 14, 0.800 |\n"), "{table}");
        assert_eq!(choices("84 60"), None);
        let said = "own 0.49 0.33\ncarried 0.60 0.35\nrule a.b 1 2 2\nrule a.c no yes no\nrule a.d 1 2 3\n";
        let row = "| one | two | 0.49, 0.33 | 0.60, 0.35 | `a.b` (1, 2) | `a.c` (no, yes) | `a.d` (1, 2, now 3) |\n";
        assert_eq!(of_carried("one", "two", said).unwrap(), row);
        assert_eq!(of_carried("one", "two", "own 0.49 0.33\n"), None);
        assert_eq!(between("no marks", "", &MARKS), None);
    }
}
