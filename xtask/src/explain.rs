//! `cargo xtask explain`: explains every claim that is not reproduced or not decided (`seekwise explain`), with the
//! release build, and rewrites `validation/levers.toml` and the tables of docs/claims.md. An earlier run of the same
//! build in `target/xtask/explain` is resumed. The test that compares the page also rewrites it; nothing is decided
//! here.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::steps::{Ended, command};
use crate::{cargo, target};

/// Runs the command with its own `arguments`: claims; without any, all that are not reproduced or not decided.
pub fn explain(arguments: &[&str]) -> ExitCode {
    match try_explain(arguments) {
        Ended::Passed => {
            println!("Rewritten: validation/levers.toml and docs/claims.md. See what changed before committing it.");
            ExitCode::SUCCESS
        }
        Ended::Skipped(reason) | Ended::Failed(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

fn try_explain(arguments: &[&str]) -> Ended {
    let folder = match cargo::build_and_hash_release() {
        Ok(build) => target().join("xtask/explain").join(build),
        Err(why) => return Ended::Failed(why),
    };
    if let Err(error) = fs::create_dir_all(&folder) {
        return Ended::Failed(format!("{}: {error}", folder.display()));
    }
    let claims = match open_claims() {
        Ok(claims) => claims,
        Err(reason) => return Ended::Failed(reason),
    };
    for id in claims.iter().filter(|id| arguments.is_empty() || arguments.contains(&id.as_str())) {
        if let Err(reason) = explain_claim(id, &folder) {
            return Ended::Failed(reason);
        }
    }
    let path = folder.to_string_lossy();
    let test =
        ["cargo", "test", "-p", "seekwise-cli", "--locked", "--test", "program", "readme::the_readme_and_the_score"];
    command(&test, &[("SEEKWISE_UPDATE", "1"), ("SEEKWISE_LEVERS", &path)])
}

/// The claims that are not reproduced or not decided.
fn open_claims() -> Result<Vec<String>, String> {
    let path = crate::root().join("validation/claims.toml");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let open_id = |block: &str| {
        let value = |key: &str| {
            let line = block.lines().find_map(|line| line.strip_prefix(&format!("{key} = ")))?;
            Some(line.trim_matches('"').to_owned())
        };
        let answer = value("answer")?;
        value("id").filter(|_| matches!(answer.as_str(), "not-reproduced" | "not-decided"))
    };
    Ok(text.split("[[claim]]").filter_map(open_id).collect())
}

/// Explains a claim that has no answer yet.
fn explain_claim(id: &str, folder: &Path) -> Result<(), String> {
    let out = folder.join(format!("{id}.json"));
    if out.exists() {
        println!("{id}: {} exists", out.display());
        return Ok(());
    }
    println!("$ seekwise explain {id}");
    let mut explain = Command::new(target().join("release/seekwise"));
    explain.args(["explain", id, "--out"]).arg(&out);
    if folder.join(format!("{id}.json.journal")).exists() {
        explain.arg("--resume");
    }
    match explain.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => {
            Err(format!("`seekwise explain {id}` ended with {status}; remove {} to start over", folder.display()))
        }
        Err(error) => Err(error.to_string()),
    }
}
