//! `cargo xtask robust`: runs the claims unvaried, then once for each draw, in which every inferred figure is varied
//! within ±10 % (`seekwise claims --draw`), and rewrites `docs/robust.md`: which verdicts flip, and in which draws. An
//! earlier run in `target/xtask/robust-DRAWS` is resumed. The test that compares the page also rewrites it; nothing is
//! decided here.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use crate::steps::{Ended, command};
use crate::{cargo, target};

/// The arguments.
struct RobustOptions<'a> {
    draws: u32,
    claims: Vec<&'a str>,
}

/// Runs the command with its own `arguments`: `--draws N`, `--claims ID,ID…`.
pub fn robust(arguments: &[&str]) -> ExitCode {
    let Some(options) = parse_options(arguments) else {
        eprintln!("cargo xtask robust [--draws N] [--claims ID,ID…]   (15 draws of all claims)");
        return ExitCode::from(2);
    };
    match run_draws(&options) {
        Ended::Passed => {
            println!("Rewritten: docs/robust.md. See what changed before committing it.");
            ExitCode::SUCCESS
        }
        Ended::Skipped(reason) | Ended::Failed(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

fn parse_options<'a>(arguments: &[&'a str]) -> Option<RobustOptions<'a>> {
    let mut options = RobustOptions { draws: 15, claims: Vec::new() };
    for pair in arguments.chunks(2) {
        match *pair {
            ["--draws", number] => options.draws = number.parse().ok().filter(|draws| (1..=1000).contains(draws))?,
            ["--claims", list] => options.claims = list.split(',').filter(|id| !id.is_empty()).collect(),
            _ => return None,
        }
    }
    Some(options)
}

fn run_draws(options: &RobustOptions<'_>) -> Ended {
    let built = cargo::release();
    if !matches!(built, Ended::Passed) {
        return built;
    }
    let folder = target().join("xtask").join(format!("robust-{}", options.draws));
    if let Err(error) = fs::create_dir_all(&folder) {
        return Ended::Failed(format!("{}: {error}", folder.display()));
    }
    for number in 0..=options.draws {
        if let Err(reason) = run_claims(options, number, &folder) {
            return Ended::Failed(reason);
        }
    }
    let path = folder.to_string_lossy();
    let test = ["cargo", "test", "-p", "seekwise-reproduce", "--locked", "--test", "whole", "robust::the_page_says"];
    command(&test, &[("SEEKWISE_UPDATE", "1"), ("SEEKWISE_ROBUST", &path)])
}

/// Runs the claims in one draw; 0 is without a draw.
fn run_claims(options: &RobustOptions<'_>, number: u32, folder: &Path) -> Result<(), String> {
    println!("draw {number} of {}", options.draws);
    let output_path = folder.join(format!("draw-{number}.json"));
    let file = File::create(&output_path).map_err(|error| format!("{}: {error}", output_path.display()))?;
    let mut claims = Command::new(target().join("release/seekwise"));
    claims.arg("claims").args(&options.claims).args(["--json", "--resume", "--out"]);
    claims.arg(folder.join(format!("draw-{number}"))).stdout(Stdio::from(file));
    if number > 0 {
        claims.arg("--draw").arg(format!("{number}/{}", options.draws));
    }
    // Exit code 1 means that a claim fails, as some do.
    match claims.status().map(|status| status.code()) {
        Ok(Some(0 | 1)) => Ok(()),
        Ok(code) => Err(format!(
            "draw {number} ended with {code:?}. Results of another build cannot be resumed: remove {}",
            folder.display()
        )),
        Err(error) => Err(error.to_string()),
    }
}
