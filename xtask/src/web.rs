//! The pages of `web/`. The report page: a build must give the committed file, byte for byte. The page Explore has the library inside
//! it as WebAssembly: `cargo xtask web` builds it as users get it, in `target/web/explore.html`; the step `explore` builds it quickly,
//! and holds its figures against the program's. The steps are skipped without a node of the version that `web/package.json` asks for.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo;
use crate::dist::{dependency_licences, path_free_flags};
use crate::steps::{Ended, command, run_in};

/// The oldest node that builds the page (`engines` in `web/package.json`).
const OLDEST_NODE: (u32, u32) = (20, 19);

/// The page, in the crate that holds it.
const PAGE: &str = "crates/lab/dist/report.html";

/// Rebuilds the page, and compares it with the committed one.
pub fn page() -> Ended {
    if let Some(reason) = missing_tool() {
        return Ended::Skipped(reason);
    }
    let built = crate::root().join(PAGE);
    let before = fs::read(&built).unwrap_or_default();
    if let ended @ (Ended::Skipped(_) | Ended::Failed(_)) = npm(&[&["ci", "--no-progress"], &["run", "build"]]) {
        return ended;
    }
    match fs::read(&built) {
        Ok(after) if after == before => Ended::Passed,
        Ok(_) => Ended::Failed(format!("{PAGE} was not what web/ builds; it is now: commit it")),
        Err(error) => Ended::Failed(format!("{PAGE}: {error}")),
    }
}

/// Runs npm in `web/`, with each of these words in turn.
fn npm(commands: &[&[&str]]) -> Ended {
    let web = crate::root().join("web");
    let run = |words: &&[&str]| run_in(&web, &[&["npm"], *words].concat(), &[]);
    commands.iter().map(run).find(|ended| !matches!(ended, Ended::Passed)).unwrap_or(Ended::Passed)
}

/// Where the page Explore is built.
pub fn explore_page() -> PathBuf {
    crate::target().join("web/explore.html")
}

/// Builds the page Explore with a library that is quick to build, and compares its figures with the program's, in node and, if there is
/// one, in a browser.
pub fn test_explore() -> Ended {
    if let Some(reason) = missing_tool().or_else(cargo::missing_wasm_target) {
        return Ended::Skipped(reason);
    }
    let program = match cargo::build_debug_program() {
        Ok(program) => program,
        Err(why) => return Ended::Failed(why),
    };
    let (page, module) = (crate::target().join("web-test/explore.html"), module_path("debug"));
    let steps: [&dyn Fn() -> Ended; 3] = [&cargo::wasm, &|| build_page(&page, &module), &|| {
        let paths = [("SEEKWISE_PROGRAM", &program), ("SEEKWISE_MODULE", &module), ("SEEKWISE_PAGE", &page)]
            .map(|(name, path)| (name, path.display().to_string()));
        let environment = paths.each_ref().map(|(name, path)| (*name, path.as_str()));
        run_in(&crate::root().join("web"), &["npm", "run", "explore:test"], &environment)
    }];
    first_that_did_not_pass(&steps)
}

/// Builds the page Explore as users get it: slowly, and as small as it gets.
pub fn build_explore() -> Ended {
    let package = ["--package", "seekwise-explore", "--lib", "--target", cargo::WASM];
    let words = [&["cargo", "build", "--profile", "page"], &package[..], &["--locked"]].concat();
    let page = explore_page();
    let steps: [&dyn Fn() -> Ended; 3] = [
        &|| command(&words, &[("CARGO_ENCODED_RUSTFLAGS", &path_free_flags().join("\u{1f}"))]),
        &|| build_page(&page, &module_path("page")),
        &|| check_size(&page).map_or_else(Ended::Failed, |()| Ended::Passed),
    ];
    missing_tool().or_else(cargo::missing_wasm_target).map_or_else(|| first_that_did_not_pass(&steps), Ended::Skipped)
}

/// Takes steps, up to the first that does not pass.
fn first_that_did_not_pass(steps: &[&dyn Fn() -> Ended]) -> Ended {
    steps.iter().map(|step| step()).find(|ended| !matches!(ended, Ended::Passed)).unwrap_or(Ended::Passed)
}

/// Builds the page Explore with this library inside it.
fn build_page(page: &Path, module: &Path) -> Ended {
    let folder = page.parent().expect("it lies in a folder").display().to_string();
    let bundle = ["run", "explore:build", "--", "--outDir", &folder];
    let ended = match crate::root().join("web/node_modules").exists() {
        true => npm(&[&bundle]),
        false => npm(&[&["ci", "--no-progress"], &bundle]),
    };
    match ended {
        Ended::Passed => put_into(page, module)
            .and_then(|()| append_licences(page, &dependency_licences("seekwise-explore", cargo::WASM)?))
            .map_or_else(Ended::Failed, |()| Ended::Passed),
        ended => ended,
    }
}

/// The library as WebAssembly, as this profile's folder has it.
fn module_path(profile: &str) -> PathBuf {
    crate::target().join(cargo::WASM).join(profile).join("seekwise_explore.wasm")
}

/// The element of the page that holds the library, packed and as text.
const MODULE_ELEMENT: &str = "<script type=\"text/plain\" id=\"module\">";

/// Puts the library into the page.
fn put_into(page: &Path, module: &Path) -> Result<(), String> {
    let fault = |error: std::io::Error| format!("{}: {error}", page.display());
    let packed = format!("gzip -9nc '{}' | base64 -w0", module.display());
    let output = Command::new("sh").args(["-c", &packed]).output().map_err(fault)?;
    let text = fs::read_to_string(page).map_err(fault)?;
    let module = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || module.is_empty() || text.matches(MODULE_ELEMENT).count() != 1 {
        return Err(format!("{}: no module, or no place for it", page.display()));
    }
    fs::write(page, text.replace(MODULE_ELEMENT, &format!("{MODULE_ELEMENT}{module}"))).map_err(fault)
}

/// Appends the licences of what the library is made with, after those of the scripts.
fn append_licences(page: &Path, licences: &str) -> Result<(), String> {
    let fault = |error: std::io::Error| format!("{}: {error}", page.display());
    let text = fs::read_to_string(page).map_err(fault)?;
    let (before, after) = text.rsplit_once("</body>").ok_or_else(|| format!("{}: no </body>", page.display()))?;
    // No comment contains two hyphens.
    let comment = format!("<!-- The library's dependencies\n\n{}\n-->\n", licences.replace("--", "- -").trim());
    fs::write(page, format!("{before}{comment}</body>{after}")).map_err(fault)
}

/// Says how large the page is as a server sends it, and holds it against its limit.
fn check_size(page: &Path) -> Result<(), String> {
    let size = Command::new("sh")
        .args(["-c", &format!("gzip -9c '{}' | wc -c", page.display())])
        .output()
        .map_err(|error| format!("{}: {error}", page.display()))?;
    let bytes: u64 = String::from_utf8_lossy(&size.stdout).trim().parse().map_err(|_| "gzip failed".to_owned())?;
    println!("{}: {bytes} bytes packed", page.display());
    match bytes < MOST_BYTES {
        true => Ok(()),
        false => Err(format!("{}: {bytes} bytes packed; expected less than {MOST_BYTES}", page.display())),
    }
}

/// The most bytes of the page as a server sends it, packed: a little above the 2.46 million that it has. A million was aimed at; the model and
/// the readers of jobs alone are more.
const MOST_BYTES: u64 = 2_500_000;

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
