//! The README's promises: every command in a block marked `sh` is run as written and must end as said.
//!
//! A command stands on one line; a `\` at its end joins the next. `# exits N` behind it states its exit code, else 0.
//! Two things are changed: the folder `out` lies in a scratch folder, so that nothing of the user's is touched, and
//! `seekwise` is the release build. The README's test command is what runs this, so it is not run again.

use std::path::Path;
use std::process::Command;

use crate::steps::Ended;

/// The command that runs this.
const OURSELVES: &str = "cargo xtask ci";

/// One command and the exit code it is to have.
#[derive(Debug, PartialEq)]
struct Promise {
    line: String,
    code: i32,
}

/// Runs the step.
pub fn readme() -> Ended {
    let text = match std::fs::read_to_string(crate::root().join("README.md")) {
        Ok(text) => text,
        Err(error) => return Ended::Failed(format!("README.md: {error}")),
    };
    let scratch = match crate::scratch("readme") {
        Ok(folder) => folder,
        Err(error) => return Ended::Failed(format!("no scratch folder: {error}")),
    };
    let promises = promises(&text);
    if !promises.iter().any(|promise| promise.line == OURSELVES) {
        return Ended::Failed(format!("README.md does not name `{OURSELVES}`"));
    }
    let wrong: Vec<String> = promises
        .iter()
        .filter(|promise| promise.line != OURSELVES)
        .filter_map(|promise| keep(promise, &scratch.join("out")).err())
        .collect();
    if wrong.is_empty() { Ended::Passed } else { Ended::Failed(wrong.join("; ")) }
}

/// Runs one command.
fn keep(promise: &Promise, out: &Path) -> Result<(), String> {
    println!("$ {}", promise.line);
    let release = crate::target().join("release");
    let path = std::env::var("PATH").unwrap_or_default();
    let status = Command::new("sh")
        .args(["-c", &elsewhere(&promise.line, &out.display().to_string())])
        .env("PATH", format!("{}:{path}", release.display()))
        .current_dir(crate::root())
        .status();
    match status.map(|status| status.code()) {
        Ok(Some(code)) if code == promise.code => Ok(()),
        Ok(code) => Err(format!("`{}` ended with {code:?}, not {}", promise.line, promise.code)),
        Err(error) => Err(format!("`{}` did not start: {error}", promise.line)),
    }
}

/// The commands of all blocks marked `sh`.
fn promises(text: &str) -> Vec<Promise> {
    let (mut found, mut inside, mut joined) = (Vec::new(), false, String::new());
    for line in text.lines().map(str::trim) {
        if line.starts_with("```") {
            inside = line == "```sh";
            continue;
        }
        if !inside || line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(part) = line.strip_suffix('\\') {
            joined.push_str(part);
            continue;
        }
        let line = std::mem::take(&mut joined) + line;
        let (command, code) = match line.split_once("# exits ") {
            Some((command, code)) => (command, code.trim().parse().expect("`# exits` is followed by a number")),
            None => (line.split_once(" # ").map_or(line.as_str(), |(command, _)| command), 0),
        };
        found.push(Promise { line: command.trim().to_owned(), code });
    }
    found
}

/// The command with the folder `out` put elsewhere.
fn elsewhere(line: &str, out: &str) -> String {
    let word = |word: &str| match word.strip_prefix("out") {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("'{out}'{rest}"),
        _ => word.to_owned(),
    };
    line.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_with_their_codes() {
        let text = "x\n```sh\na --out out\n# talk\nb \\\n  c   # why\nd # exits 2\n```\n```text\nno\n```\n";
        let found = promises(text);
        let line = |line: &str, code| Promise { line: line.to_owned(), code };
        assert_eq!(found, [line("a --out out", 0), line("b c", 0), line("d", 2)]);
    }

    #[test]
    fn only_the_folder_out_is_moved() {
        assert_eq!(elsewhere("x --out out --log out/y output", "/t/out"), "x --out '/t/out' --log '/t/out'/y output");
    }
}
