//! The report page: rebuilt from `web/` it must be the file that is committed, byte for byte. Skipped without a node
//! of the version that `web/package.json` asks for.

use std::fs;
use std::process::Command;

use crate::steps::{Ended, run_in};

/// The oldest node that builds the page (`engines` in `web/package.json`).
const NODE: (u32, u32) = (20, 19);

/// The page, in the crate that holds it.
const PAGE: &str = "crates/lab/dist/report.html";

/// Rebuilds the page.
pub fn page() -> Ended {
    if let Some(reason) = missing() {
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

/// The page's tests.
pub fn test() -> Ended {
    if let Some(reason) = missing() {
        return Ended::Skipped(reason);
    }
    let web = crate::root().join("web");
    if !web.join("node_modules").exists() {
        return Ended::Skipped("web/node_modules is not there; `cargo xtask page` installs it".to_owned());
    }
    run_in(&web, &["npm", "test"], &[])
}

/// Why nothing can be built here, if so.
fn missing() -> Option<String> {
    let version = |program: &str| {
        let output = Command::new(program).arg("--version").output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let (Some(node), Some(_)) = (version("node"), version("npm")) else {
        return Some("node or npm is not installed; `.ci/run` brings both".to_owned());
    };
    let mut numbers = node.trim_start_matches('v').split('.').map_while(|number| number.parse::<u32>().ok());
    match (numbers.next(), numbers.next()) {
        (Some(major), Some(minor)) if (major, minor) >= NODE => None,
        _ => Some(format!("node {node} is older than {}.{}; `.ci/run` brings a newer one", NODE.0, NODE.1)),
    }
}
