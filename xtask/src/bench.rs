//! `cargo xtask bench`: builds the program, runs `seekwise bench` on the Quantum Atlas 10K and sets its figures beside
//! those measured of DiskSim 4.0 on the same drive.
//!
//! DiskSim's are of one core of a 2-core virtual machine, gcc -O2, process CPU time; they are another machine's unless
//! this is that one, so the ratio says the order of magnitude. [`disksim`](crate::disksim) runs DiskSim itself.

use std::process::{Command, ExitCode};

use crate::steps::{Ended, command};

/// The drive of both sides.
pub const DRIVE: &str = "validation/drives/atlas10k.toml";

/// A key of `seekwise bench --json`, what it is, DiskSim's figure where there is one, and whether more is better.
const ROWS: [(&str, &str, Option<f64>, bool); 5] = [
    // All eight traces of the validation data: 61 000 to 160 000 a second each.
    ("replay_per_s", "trace replay, requests/s", Some(69_000.0), true),
    // A million random reads, one outstanding.
    ("fcfs_qd1_per_s", "random reads, FCFS, depth 1, requests/s", Some(102_000.0), true),
    // A million random reads, 32 outstanding in the drive.
    ("sptf_qd32_per_s", "random reads, SPTF, depth 32, requests/s", Some(38_000.0), true),
    // Not run there: DiskSim has no generator for them, and no Cheetah 15K.4.
    ("server_patterns_qd32_per_s", "server patterns, Cheetah 15K.4, requests/s", None, true),
    // "About 11 MB".
    ("peak_rss_bytes", "peak resident memory, bytes", Some(11_000_000.0), false),
];

/// Runs the command.
pub fn bench() -> ExitCode {
    if !matches!(command(&["cargo", "build", "--release", "--locked"], &[]), Ended::Passed) {
        return ExitCode::FAILURE;
    }
    let program = crate::target().join("release/seekwise");
    let run = Command::new(&program).args(["bench", "--json", "--drive", DRIVE]).current_dir(crate::root()).output();
    let text = match run {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).into_owned(),
        Ok(output) => {
            eprintln!("{}", String::from_utf8_lossy(&output.stderr));
            return ExitCode::FAILURE;
        }
        Err(error) => {
            eprintln!("{}: {error}", program.display());
            return ExitCode::FAILURE;
        }
    };
    println!("{:42} {:>14} {:>14} {:>8}", "", "seekwise", "DiskSim 4.0", "ratio");
    for (key, what, theirs, more) in ROWS {
        let Some(ours) = number(&text, key) else {
            eprintln!("`seekwise bench --json` has no {key}");
            return ExitCode::FAILURE;
        };
        let Some(theirs) = theirs else {
            println!("{what:42} {ours:14.0} {:>14} {:>8}", "-", "-");
            continue;
        };
        let ratio = if more { ours / theirs } else { theirs / ours };
        println!("{what:42} {ours:14.0} {theirs:14.0} {ratio:8.1}");
    }
    ExitCode::SUCCESS
}

/// The number behind a key of a flat JSON object.
fn number(json: &str, key: &str) -> Option<f64> {
    let (_, rest) = json.split_once(&format!("\"{key}\":"))?;
    rest.split([',', '}']).next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn a_number_is_found_by_its_key() {
        let json = "{\n  \"a\": 1.5,\n  \"ab\": 20\n}";
        assert_eq!((number(json, "a"), number(json, "ab"), number(json, "b")), (Some(1.5), Some(20.0), None));
    }
}
