//! The report page: a build of `web/` must give the committed file, byte for byte. The steps are skipped without a node
//! of the version that `web/package.json` asks for.

use std::fs;
use std::process::Command;

use crate::steps::{Ended, run_in};

/// The oldest node that builds the page (`engines` in `web/package.json`).
const OLDEST_NODE: (u32, u32) = (20, 19);

/// The page, in the crate that holds it.
const PAGE: &str = "crates/lab/dist/report.html";

/// Rebuilds the page, and compares it with the committed one.
pub fn page() -> Ended {
    if let Some(reason) = missing_tool() {
        return Ended::Skipped(reason);
    }
    let web = crate::root().join("web");
    let built = crate::root().join(PAGE);
    let before = fs::read(&built).unwrap_or_default();
    for words in [["npm", "ci", "--no-progress"].as_slice(), &["npm", "run", "build"]] {
        let ended = run_in(&web, words, &[]);
        if !matches!(ended, Ended::Passed) {
            return ended;
        }
    }
    match fs::read(&built) {
        Ok(after) if after == before => Ended::Passed,
        Ok(_) => Ended::Failed(format!("{PAGE} was not what web/ builds; it is now: commit it")),
        Err(error) => Ended::Failed(format!("{PAGE}: {error}")),
    }
}

/// Runs the page's tests.
pub fn test() -> Ended {
    if let Some(reason) = missing_tool() {
        return Ended::Skipped(reason);
    }
    let web = crate::root().join("web");
    if !web.join("node_modules").exists() {
        return Ended::Skipped("web/node_modules is not there; `cargo xtask page` installs it".to_owned());
    }
    run_in(&web, &["npm", "test"], &[])
}

/// Why the page cannot be built here: node or npm is missing or too old.
fn missing_tool() -> Option<String> {
    let version = |program: &str| {
        let output = Command::new(program).arg("--version").output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let (Some(node), Some(_)) = (version("node"), version("npm")) else {
        return Some("node or npm is not installed; `.ci/run` brings both".to_owned());
    };
    let mut numbers = node.trim_start_matches('v').split('.').map_while(|number| number.parse::<u32>().ok());
    match (numbers.next(), numbers.next()) {
        (Some(major), Some(minor)) if (major, minor) >= OLDEST_NODE => None,
        _ => {
            Some(format!("node {node} is older than {}.{}; `.ci/run` brings a newer one", OLDEST_NODE.0, OLDEST_NODE.1))
        }
    }
}
