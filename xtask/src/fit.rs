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

/// Traces whose requests are played on drives of known truth: three drives that cache writes and one that does not.
const KNOWN: [&str; 4] = ["atlas10k", "barracuda", "cheetah9LP", "hp_c2490a"];
/// Drives for each, which differ in eight figures: together they have some forty intervals.
const TRUTHS: &str = "2";

/// Fits whose truth is known, and the table of them in `docs/fit.md`.
pub fn recovery() -> ExitCode {
    match known() {
        Ok(()) => {
            println!("Rewritten: the table of fits whose truth is known in docs/fit.md");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn known() -> Result<(), String> {
    let (traces, parameters, folder) = begun()?;
    let build = ["build", "--release", "--locked", "-p", "seekwise-lab", "--example", "recovery"];
    let status = Command::new("cargo").args(build).status().map_err(|error| error.to_string())?;
    if !status.success() {
        return Err("the example `recovery` does not build".to_owned());
    }
    let mut rows = Vec::new();
    for name in KNOWN {
        let imported = folder.join(format!("{name}-imported.toml"));
        let parv = parameters.join(format!("{name}.parv"));
        run(&["import", "disksim", &text(&parv), "-o", &text(&imported), "--name", name], None)?;
        let trace = text(&traces.join(format!("{name}.csv")));
        println!("$ recovery {name} {trace} {TRUTHS}");
        let mut example = Command::new(target().join("release/examples/recovery"));
        let said = example.args([&text(&imported), &trace, TRUTHS]).output().map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        println!("{said}");
        rows.push((
            name,
            figures(said.lines().last().unwrap_or_default()).ok_or("the example does not end as expected")?,
        ));
    }
    let path = root().join("docs/fit.md");
    let page = fs::read_to_string(&path).map_err(|error| error.to_string())?;
    let page = between(&page, &table(&rows)).ok_or("docs/fit.md has no place for the table")?;
    fs::write(&path, page).map_err(|error| error.to_string())
}

/// The whole numbers of a line: drives, intervals that hold, intervals, moved, fitted, left rightly, left wrongly.
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
    let mut all = "| requests of | drives | intervals that hold the truth | moved figures | fitted | left, and rightly so | left wrongly |\n\
                   |---|---|---|---|---|---|---|\n"
        .to_owned();
    all.extend(rows.iter().map(|(name, row)| line(name, *row)));
    all + &line("all", sums)
}

/// `page` with another table between its marks.
fn between(page: &str, table: &str) -> Option<String> {
    let (before, rest) = page.split_once(MARKS[0])?;
    let (_, after) = rest.split_once(MARKS[1])?;
    Some(format!("{before}{}\n{table}{}{after}", MARKS[0], MARKS[1]))
}

const MARKS: [&str; 2] = ["<!-- recovery -->", "<!-- end of recovery -->"];

/// The folders of traces and parameters, and one to write in; the program is built by then.
fn begun() -> Result<(PathBuf, PathBuf, PathBuf), String> {
    let [traces, parameters] = [("SEEKWISE_TRACES", "traces"), ("SEEKWISE_PARAMETERS", "disksim")].map(data);
    for folder in [&traces, &parameters] {
        if !folder.is_dir() {
            return Err(format!("{} is not there: other people's data, see CONTRIBUTING.md", folder.display()));
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
        assert_eq!(between(&page, "new\n"), Some(format!("a {}\nnew\n{} b", MARKS[0], MARKS[1])));
        assert_eq!(between("no marks", ""), None);
    }
}
