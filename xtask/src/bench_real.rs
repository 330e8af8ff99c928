//! `cargo xtask bench real [FOLDER] [ROUNDS] [SECONDS]`: fio and the program do equal work in turn, round after round,
//! on a file of FOLDER: past the page cache, in the page cache, and on a target that answers at once (`null`).
//!
//! Each runs in a session of its own. If the kernel shares processors between sessions (`sched_autogroup_enabled`), a
//! program in the session of a busy terminal gets less of them, which costs a few percent of its rate, and fio puts its
//! job in a session of its own. From round to round the two take turns in going first. Each row has the median over the
//! rounds, and the least and the greatest p99.9 beside it; processor time is what each reports of its issuing thread.
//! The figures are not timed in tests: they are of this machine in this hour, and say something only if nothing else
//! runs.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::steps::{Ended, command};

/// Bytes of the file: larger than any buffer below, small enough to be made in seconds.
const FILE_SIZE: &str = "1g";

/// A row: its name, the options of the job, and whether it runs on the file.
const ROWS: [(&str, &[&str], bool); 7] = [
    ("direct, reads, depth 1", &["rw=randread", "ioengine=io_uring", "direct=1", "iodepth=1"], true),
    ("direct, reads, depth 32", &["rw=randread", "ioengine=io_uring", "direct=1", "iodepth=32"], true),
    ("direct, reads, depth 128", &["rw=randread", "ioengine=io_uring", "direct=1", "iodepth=128"], true),
    ("direct, writes, depth 32", &["rw=randwrite", "ioengine=io_uring", "direct=1", "iodepth=32"], true),
    ("cached, reads, io_uring, depth 1", &["rw=randread", "ioengine=io_uring", "invalidate=0", "iodepth=1"], true),
    ("cached, reads, psync", &["rw=randread", "ioengine=psync", "invalidate=0"], true),
    ("null, reads, depth 1", &["rw=randread", "ioengine=null", "iodepth=1"], false),
];

/// The figures of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Figures {
    iops: f64,
    mean_us: f64,
    p50_us: f64,
    p99_us: f64,
    p999_us: f64,
    cpu_ns: f64,
}

/// Runs the command.
pub fn bench(options: &[&str]) -> ExitCode {
    let number = |index: usize, default: u32| options.get(index).map_or(Ok(default), |text| text.parse::<u32>());
    let (Ok(rounds), Ok(seconds)) = (number(1, 10), number(2, 3)) else {
        eprintln!("cargo xtask bench real [FOLDER] [ROUNDS] [SECONDS]");
        return ExitCode::from(2);
    };
    if !matches!(command(&["cargo", "build", "--release", "--locked"], &[]), Ended::Passed) {
        return ExitCode::FAILURE;
    }
    let folder = options.first().map_or_else(|| crate::target().join("bench-real"), PathBuf::from);
    match compare_rows(&folder, rounds.max(1), seconds.max(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn compare_rows(folder: &Path, rounds: u32, seconds: u32) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|why| format!("{}: {why}", folder.display()))?;
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("{rounds} rounds of {seconds} s a side; load when it began: {}", load.trim());
    println!(
        "{:34} {:9} {:>9} {:>9} {:>9} {:>9} {:>19} {:>9}",
        "", "", "IOPS", "mean us", "p50 us", "p99 us", "p99.9 us (spread)", "CPU ns"
    );
    for (name, options, on_file) in ROWS {
        let job = folder.join("job.fio");
        let lines: String = options.iter().map(|option| format!("{option}\n")).collect();
        let text = format!("[j]\n{lines}bs=4k\nsize={FILE_SIZE}\ntime_based=1\nruntime={seconds}\n");
        std::fs::write(&job, text).map_err(|why| format!("{}: {why}", job.display()))?;
        let (mut fio, mut ours): (Vec<Figures>, Vec<Figures>) = Default::default();
        // The file is made before anything is measured, and read into the page cache if it is to be there.
        measure_seekwise(folder, &job, on_file)?;
        if options.contains(&"invalidate=0") {
            read_into_page_cache(&folder.join("seekwise.data"))?;
        }
        for round in 0..rounds {
            if round % 2 == 0 {
                fio.push(measure_fio(folder, options, on_file, seconds)?);
            }
            ours.push(measure_seekwise(folder, &job, on_file)?);
            if round % 2 == 1 {
                fio.push(measure_fio(folder, options, on_file, seconds)?);
            }
        }
        print_medians(name, "fio", &fio);
        print_medians("", "seekwise", &ours);
    }
    Ok(())
}

/// Reads a file from end to end, so that the page cache has it.
fn read_into_page_cache(path: &Path) -> Result<(), String> {
    let read = std::fs::File::open(path).and_then(|mut file| std::io::copy(&mut file, &mut std::io::sink()));
    read.map(drop).map_err(|why| format!("{}: {why}", path.display()))
}

fn measure_fio(folder: &Path, options: &[&str], on_file: bool, seconds: u32) -> Result<Figures, String> {
    let mut fio = Command::new("fio");
    fio.args(["--name=j", "--bs=4k", "--time_based=1", "--output-format=json", "--lat_percentiles=1"]);
    fio.arg(format!("--size={FILE_SIZE}")).arg(format!("--runtime={seconds}"));
    fio.args(options.iter().map(|option| format!("--{option}")));
    if options.contains(&"ioengine=io_uring") {
        fio.args(["--fixedbufs=1", "--registerfiles=1"]);
    }
    if on_file {
        fio.arg(format!("--filename={}", folder.join("seekwise.data").display()));
    }
    let json = output_of(fio, "fio")?;
    let direction = if options.contains(&"rw=randwrite") { "write" } else { "read" };
    let figures = json_after_key(&json, direction)?;
    let latency_ns = json_after_key(figures, "lat_ns")?;
    let (ios, runtime_ms) = (first_number(figures, "total_ios")?, first_number(figures, "runtime")?);
    let cpu_percent = first_number(&json, "usr_cpu")? + first_number(&json, "sys_cpu")?;
    Ok(Figures {
        iops: first_number(figures, "iops")?,
        mean_us: first_number(latency_ns, "mean")? / 1e3,
        p50_us: first_number(latency_ns, "50.000000")? / 1e3,
        p99_us: first_number(latency_ns, "99.000000")? / 1e3,
        p999_us: first_number(latency_ns, "99.900000")? / 1e3,
        cpu_ns: cpu_percent / 100.0 * runtime_ms * 1e6 / ios,
    })
}

fn measure_seekwise(folder: &Path, job: &Path, on_file: bool) -> Result<Figures, String> {
    let mut run = Command::new("setsid");
    run.arg("--wait").arg(crate::target().join("release/seekwise")).arg("run").arg(job).arg("--json").arg("--on");
    match on_file {
        // fio has written over it.
        true => run.arg(format!("file:{}", folder.display())).args([
            "--set",
            &format!("real.layout={FILE_SIZE}"),
            "--destroy",
            "seekwise.data",
        ]),
        false => run.arg("null"),
    };
    let json = output_of(run, "seekwise")?;
    let all = json_after_key(&json, "all")?;
    // As fio counts, from the instant when a request's turn came; on `null`, where that is unknown, from the instant
    // when it was due.
    let response = if on_file { json_after_key(&json, "latency_ms")? } else { json_after_key(all, "response_ms")? };
    let us = |key: &str| first_number(response, key).map(|ms| ms * 1e3);
    Ok(Figures {
        iops: first_number(all, "iops")?,
        mean_us: us("mean")?,
        p50_us: us("p50")?,
        p99_us: us("p99")?,
        p999_us: us("p99_9")?,
        cpu_ns: first_number(json_after_key(&json, "cost")?, "processor_ns")?,
    })
}

fn output_of(mut command: Command, name: &str) -> Result<String, String> {
    match command.output() {
        Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        Ok(output) => Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(why) => Err(format!("{name}: {why}")),
    }
}

/// The JSON text after a key whose value is an object.
pub fn json_after_key<'a>(json: &'a str, key: &str) -> Result<&'a str, String> {
    let quoted = format!("\"{key}\"");
    let found = json.match_indices(&quoted).find(|(at, _)| {
        let rest = json[at + quoted.len()..].trim_start();
        rest.starts_with(':') && rest[1..].trim_start().starts_with('{')
    });
    found.map(|(at, _)| &json[at + quoted.len()..]).ok_or_else(|| format!("there is no {key} in what was said"))
}

/// The number after the first place of a key in a JSON text.
pub fn first_number(json: &str, key: &str) -> Result<f64, String> {
    let quoted = format!("\"{key}\"");
    let found = json.split_once(&quoted).and_then(|(_, rest)| rest.trim_start().strip_prefix(':'));
    let digits = found.map(|rest| rest.trim_start().split([',', '}', '\n']).next().unwrap_or("").trim());
    digits.and_then(|digits| digits.parse().ok()).ok_or_else(|| format!("there is no number {key} in what was said"))
}

fn median(figures: &[Figures], figure: fn(&Figures) -> f64) -> f64 {
    let mut values: Vec<f64> = figures.iter().map(figure).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

fn print_medians(name: &str, side: &str, figures: &[Figures]) {
    let tails = || figures.iter().map(|figures| figures.p999_us);
    let (least, greatest) = (tails().fold(f64::INFINITY, f64::min), tails().fold(0.0, f64::max));
    println!(
        "{name:34} {side:9} {:9.0} {:9.2} {:9.2} {:9.2} {:>19} {:9.0}",
        median(figures, |figures| figures.iops),
        median(figures, |figures| figures.mean_us),
        median(figures, |figures| figures.p50_us),
        median(figures, |figures| figures.p99_us),
        format!("{:.1} ({least:.1}-{greatest:.1})", median(figures, |figures| figures.p999_us)),
        median(figures, |figures| figures.cpu_ns),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_behind_their_keys() {
        let json =
            "{\"job options\": {\"read\": \"x\"}, \"read\" : {\n \"iops\" : 5.5,\n \"lat_ns\" : {\n\"mean\" : 7}}}";
        let read = json_after_key(json, "read").unwrap();
        assert_eq!(
            (first_number(read, "iops"), first_number(json_after_key(read, "lat_ns").unwrap(), "mean")),
            (Ok(5.5), Ok(7.0))
        );
        assert!(json_after_key(json, "write").is_err() && first_number(read, "bw").is_err());
    }

    #[test]
    fn a_median_is_the_middle() {
        let of = |iops| Figures { iops, mean_us: 0.0, p50_us: 0.0, p99_us: 0.0, p999_us: 0.0, cpu_ns: 0.0 };
        assert_eq!(median(&[of(3.0), of(9.0), of(1.0)], |figures| figures.iops), 3.0);
        assert_eq!(median(&[of(3.0), of(9.0)], |figures| figures.iops), 6.0);
    }
}
