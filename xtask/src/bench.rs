//! `cargo xtask bench`: builds the program, runs `seekwise bench` on the Quantum Atlas 10K, and prints its figures
//! beside those that were measured of DiskSim 4.0 on the same drive.
//!
//! DiskSim's figures are process CPU times of one core of a 2-core virtual machine, built by gcc -O2. Unless this is
//! that machine, a ratio tells the order of magnitude alone. [`disksim`](crate::disksim) runs DiskSim itself.

use std::process::{Command, ExitCode};

use crate::steps::{Ended, command};

/// The drive of both sides.
pub const DRIVE: &str = "validation/drives/atlas10k.toml";

/// Rows: a key of `seekwise bench --json`, its description, DiskSim's figure if there is one, and whether more is
/// better.
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
    for (key, description, disksim, is_more_better) in ROWS {
        let Some(ours) = number_of_key(&text, key) else {
            eprintln!("`seekwise bench --json` has no {key}");
            return ExitCode::FAILURE;
        };
        let Some(disksim) = disksim else {
            println!("{description:42} {ours:14.0} {:>14} {:>8}", "-", "-");
            continue;
        };
        let ratio = if is_more_better { ours / disksim } else { disksim / ours };
        println!("{description:42} {ours:14.0} {disksim:14.0} {ratio:8.1}");
    }
    ExitCode::SUCCESS
}

/// The number that follows a key in a flat JSON object.
fn number_of_key(json: &str, key: &str) -> Option<f64> {
    let (_, rest) = json.split_once(&format!("\"{key}\":"))?;
    rest.split([',', '}']).next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::number_of_key;

    #[test]
    fn a_number_is_found_by_its_key() {
        let json = "{\n  \"a\": 1.5,\n  \"ab\": 20\n}";
        assert_eq!(
            (number_of_key(json, "a"), number_of_key(json, "ab"), number_of_key(json, "b")),
            (Some(1.5), Some(20.0), None)
        );
    }
}
