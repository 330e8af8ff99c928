//! `cargo xtask md [ROWS.toml] [--runs 3] [--program PATH] [--rebuild]`: Linux's md in a virtual machine beside the model's arrays.
//! Debian's kernel in QEMU runs fio on arrays of null_blk members, and the model the same jobs on the same arrays; for
//! each row stands how many bytes the members read and wrote for each byte of the program, and how many flushes reached
//! them.
//!
//! | file | what it does |
//! |---|---|
//! | `rows` | the rows, from a TOML file |
//! | `counts` | what members did, by the console and by the model's JSON |
//! | `image` | the virtual machine: its kernel, its files, its run |
//! | `rebuild` | with `--rebuild`, instead of the rows: a member that md rebuilds, on disks of `seekwise serve` |
//!
//! With one processor the virtual machine is deterministic: QEMU counts instructions (`-icount`) as the time of a
//! processor of 10⁹ a second, so that nothing depends on the host. With two, md's thread works at the same time as the
//! program, as on any machine today, and chance decides how far it is behind when the next request comes: how many
//! blocks of a row are together by then differs from run to run. So there are several runs with two, and the model is
//! judged against the range of all. Needs Debian's `qemu-system-x86`, `busybox-static`, `fio` and `cpio`; where one of
//! them is missing, it says so and is skipped.

mod counts;
mod image;
mod rebuild;
mod rows;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::steps::{Ended, command};
use counts::Counts;
use image::Processors;
use rows::{Row, Rows};

/// The rows, unless the user names others.
const ROWS: &str = "xtask/md/rows.toml";

/// Runs with two processors, unless the user says how many.
const RUNS: usize = 3;

/// Columns of the figures of a range.
const RANGE: usize = 29;

/// What the user asks for.
struct Options {
    rows: PathBuf,
    runs: usize,
    program: Option<PathBuf>,
    /// A rebuild instead of the rows.
    rebuild: bool,
}

impl Options {
    fn parse(words: &[&str]) -> Option<Self> {
        let mut options = Self { rows: crate::root().join(ROWS), runs: RUNS, program: None, rebuild: false };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--rebuild" => options.rebuild = true,
                "--program" => options.program = Some(PathBuf::from(words.next()?)),
                "--runs" => options.runs = words.next()?.parse().ok().filter(|runs| *runs > 0)?,
                option if option.starts_with('-') => return None,
                path => options.rows = PathBuf::from(path),
            }
        }
        Some(options)
    }
}

/// Runs the command.
pub fn md(words: &[&str]) -> ExitCode {
    let Some(options) = Options::parse(words) else {
        eprintln!("cargo xtask md [ROWS.toml] [--runs {RUNS}] [--program PATH] [--rebuild]");
        return ExitCode::from(2);
    };
    match compare(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn compare(options: Options) -> Result<(), String> {
    let file = options.rows.display();
    let text = std::fs::read_to_string(&options.rows).map_err(|error| format!("{file}: {error}"))?;
    let rows = Rows::parse(&text).map_err(|why| format!("{file}: {why}"))?;
    let folder = crate::target().join("md");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let program = match options.program {
        Some(program) => program,
        None if matches!(command(&["cargo", "build", "--release", "--locked"], &[]), Ended::Passed) => {
            crate::target().join("release/seekwise")
        }
        None => return Err("the program was not built".to_owned()),
    };
    if options.rebuild {
        return rebuild::compare(&program, &folder);
    }
    let image = match image::Image::build(&folder, "init", &rows.guest_script())? {
        Ok(image) => image,
        Err(missing) => {
            println!("skipped: {missing}");
            return Ok(());
        }
    };
    println!("{} rows; the virtual machine's files and its console: {}", rows.rows.len(), folder.display());
    let mut runs = vec![image.run(Processors::OneCounted, rows.rows.len())?];
    for _ in 0..options.runs {
        runs.push(image.run(Processors::Two, rows.rows.len())?);
    }
    println!("for each byte of the program, bytes read and written at the members; flushes at the members\n");
    println!("{:18}  {:RANGE$}  {:18}  off md's range", "md, one processor", "md, two processors", "model");
    let columns = [" read  wrote  flush", "   read        wrote    flush", " read  wrote  flush", "   read   wrote"];
    println!("{}  {:RANGE$}  {}  {}", columns[0], columns[1], columns[2], columns[3]);
    for (index, row) in rows.rows.iter().enumerate() {
        let model = run_model(&program, &folder, &rows, row)?;
        let measured: Vec<Option<&Counts>> = runs.iter().map(|run| run[index].as_ref()).collect();
        print_row(row, &measured, model.as_ref());
    }
    Ok(())
}

/// Runs a row in the model; returns what its members did, or why it does not say so.
fn run_model(program: &Path, folder: &Path, rows: &Rows, row: &Row) -> Result<Result<Counts, String>, String> {
    let job = folder.join("job.fio");
    std::fs::write(&job, row.model_job()).map_err(|error| format!("{}: {error}", job.display()))?;
    let mut run = Command::new(program);
    run.arg("run").arg(&job).args(row.model_arguments(&rows.members)).arg("--json");
    let output = run.output().map_err(|error| format!("{}: {error}", program.display()))?;
    if !output.status.success() {
        return Ok(Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    let json = serde_json::from_slice(&output.stdout).map_err(|error| format!("{}: {error}", program.display()))?;
    Ok(Counts::of_model_json(&json).ok_or_else(|| "its result does not say what the members did".to_owned()))
}

/// Prints a row: md's runs, of which the first has one processor, and the model's.
fn print_row(row: &Row, runs: &[Option<&Counts>], model: Result<&Counts, &String>) {
    println!("\n{}", row.title());
    let measured: Vec<&Counts> = runs.iter().flatten().copied().collect();
    let two: Vec<&Counts> = runs[1..].iter().flatten().copied().collect();
    let off = |figure: fn(&Counts) -> f64| match model {
        Ok(model) if !measured.is_empty() => {
            let others: Vec<f64> = measured.iter().map(|counts| figure(counts)).collect();
            format!("{:5.0} %", percent_off(figure(model), &others))
        }
        _ => format!("{:>7}", "-"),
    };
    let single = |counts: Option<&Counts>| match counts {
        Some(counts) => {
            format!("{:5.2} {:6.2} {:6}", counts.read_per_byte(), counts.written_per_byte(), counts.flushes())
        }
        None => format!("{:>18}", "-"),
    };
    let judged = [off(Counts::read_per_byte), off(Counts::written_per_byte)].join(" ");
    println!("{}  {:RANGE$}  {}  {judged}", single(runs[0]), range_of(&two), single(model.ok()));
    if row.has_copies() {
        let by_run: Vec<String> = measured.iter().copied().chain(model.ok()).map(Counts::shares_of_reads).collect();
        println!("  percent of what was read, by member: {}", by_run.join("  "));
    }
    let stripes: Vec<String> =
        measured.iter().map(|run| run.stripes).filter(|n| *n > 0).map(|n| n.to_string()).collect();
    if !stripes.is_empty() {
        println!("  stripes in md's cache at the end: {}", stripes.join(" "));
    }
    if let Err(why) = model {
        println!("  model: {why}");
    }
}

/// The least and the greatest figures of runs.
fn range_of(runs: &[&Counts]) -> String {
    let Some(first) = runs.first() else { return "-".to_owned() };
    let range = |figure: fn(&Counts) -> f64| {
        let figures = || runs.iter().map(|counts| figure(counts));
        (figures().fold(f64::INFINITY, f64::min), figures().fold(0.0, f64::max))
    };
    let ((least_read, most_read), (least, most)) = (range(Counts::read_per_byte), range(Counts::written_per_byte));
    format!("{least_read:5.2}-{most_read:.2} {least:7.2}-{most:.2} {:6}", first.flushes())
}

/// How far a figure lies outside the range of others, in percent of the nearer end; 0 within it.
fn percent_off(figure: f64, others: &[f64]) -> f64 {
    let least = others.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = others.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let nearest = figure.clamp(least, greatest);
    // Zero is added so that a little less than nothing is not shown as -0.
    if figure == nearest { 0.0 } else { (100.0 * (figure - nearest) / nearest).round() + 0.0 }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_figure_is_off_by_what_it_lacks_to_the_nearer_end() {
        assert_eq!(super::percent_off(1.5, &[2.0, 1.0]), 0.0);
        assert_eq!(super::percent_off(3.0, &[2.0, 1.0]), 50.0);
        assert_eq!(super::percent_off(0.5, &[2.0, 1.0]), -50.0);
    }
}
