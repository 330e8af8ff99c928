//! The promises of the README and of pages of the manual (`PAGES`): every command in a block marked `sh` is run as
//! written and must have the stated exit code, and a block marked `text` below it must be part of its output.
//!
//! A command is one line; a `\` at its end joins the next. `# exits N` after it states its exit code, else 0. Three things differ
//! from a user's run: the folder `out` is in a scratch folder, `seekwise` and `cargo run --release --` are the debug build, and the
//! terminal has `WIDTH` columns. Commands that build, install or check the whole repository belong to other steps, and are not run
//! (`ELSEWHERE`).
//!
//! A block marked `text` belongs to the last command before it. Its lines are consecutive lines of standard output; a line `…`
//! stands for any number of others. `SEEKWISE_UPDATE=1 cargo xtask readme` rewrites the lines: each run of lines begins at the
//! line of the output that is most like its first line, and keeps its length.
//!
//! A comment `<!-- holds: ratio.high < 1; verdict == "slower" -->` asserts what the prose concludes from the last command before
//! it (`assertion`). It is checked on the command's `--json`, also when samples are rewritten. A comparison runs once more with
//! the values of `--vary` in reverse, and then one of its assertions must fail. Each sample needs an assertion, and so does each
//! section that draws a conclusion (`prose`).

mod assertion;
mod prose;

use std::path::Path;
use std::process::{Command, ExitCode};

use serde_json::Value;

use crate::cargo;
use crate::steps::{Ended, shown};

/// Commands of other steps: this check, the release build and its packing.
const ELSEWHERE: [&str; 4] =
    ["cargo xtask ci", "cargo xtask dist", "cargo xtask site", "cargo install --path crates/cli --locked"];

/// Columns of the terminal for samples, so that they fit the README's width.
const WIDTH: &str = "100";

/// The line of a sample that stands for lines left out.
const LEFT_OUT: &str = "…";

/// The beginning of a page's assertions.
const HOLDS: &str = "<!-- holds:";

/// A command with its exit code, samples of its output, and assertions about it.
#[derive(Debug, Default, PartialEq)]
struct Promise {
    line: String,
    code: i32,
    samples: Vec<Sample>,
    assertions: Vec<Assertion>,
}

/// An assertion of a page about a command.
#[derive(Debug, PartialEq)]
struct Assertion {
    /// The page's line, from 0.
    at: usize,
    text: String,
}

/// Lines of a command's output, in the README.
#[derive(Debug, Default, PartialEq)]
struct Sample {
    /// The README's line, from 0, of the first.
    at: usize,
    lines: Vec<String>,
}

/// The pages whose commands are run, in this order: later ones may use files of earlier ones in `out`.
const PAGES: [&str; 10] = [
    "README.md",
    "docs/install.md",
    "docs/command-line.md",
    "docs/tour.md",
    "docs/tutorial.md",
    "docs/how-to/fio.md",
    "docs/how-to/fsync.md",
    "docs/how-to/own-drive.md",
    "docs/how-to/flush-audit.md",
    "docs/how-to/power-cut.md",
];

/// Runs the step.
pub fn readme() -> Ended {
    check(&PAGES)
}

/// Checks these pages alone.
pub fn some(pages: &[&str]) -> ExitCode {
    match check(pages) {
        Ended::Passed => ExitCode::SUCCESS,
        Ended::Skipped(why) | Ended::Failed(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn check(pages: &[&str]) -> Ended {
    if let Err(why) = cargo::program() {
        return Ended::Failed(why);
    }
    let scratch = match crate::scratch("readme") {
        Ok(folder) => folder,
        Err(error) => return Ended::Failed(format!("no scratch folder: {error}")),
    };
    let wrong: Vec<String> = pages.iter().flat_map(|page| wrong(page, &scratch.join("out"))).collect();
    match wrong.len() {
        0 => Ended::Passed,
        count => Ended::Failed(format!("{count} promises of the pages are broken\n{}", wrong.join("\n"))),
    }
}

/// Runs a page's commands; returns its broken promises.
fn wrong(page: &str, out: &Path) -> Vec<String> {
    let path = crate::root().join(page);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => return vec![format!("{page}: {error}")],
    };
    let all = promises(&text);
    if page == PAGES[0] && !all.iter().any(|promise| promise.line == ELSEWHERE[0]) {
        return vec![format!("{page}: expected the command `{}`", ELSEWHERE[0])];
    }
    let update = std::env::var_os("SEEKWISE_UPDATE").is_some();
    let (mut wrong, mut lines): (Vec<String>, Vec<String>) = (Vec::new(), text.lines().map(str::to_owned).collect());
    for promise in all.iter().filter(|promise| !ELSEWHERE.contains(&promise.line.as_str())) {
        match keep(promise, out) {
            Ok(printed) if update => renew(&mut lines, promise, &printed),
            Ok(printed) => {
                wrong.extend(promise.samples.iter().filter_map(|sample| differing(promise, sample, &printed)))
            }
            Err(why) => wrong.push(why),
        }
        wrong.extend(not_held(promise, |line| json(line, promise.code, out)));
    }
    wrong.extend(prose::unfounded(&text));
    let written = if update { std::fs::write(&path, lines.join("\n") + "\n") } else { Ok(()) };
    wrong.extend(written.err().map(|error| error.to_string()));
    wrong.into_iter().map(|why| format!("{page}: {why}")).collect()
}

/// The assertions that a command's JSON contradicts, and those that also hold with the sides swapped.
fn not_held(promise: &Promise, json: impl Fn(&str) -> Result<Value, String>) -> Vec<String> {
    let shown = promise.samples.first().map(|sample| sample.at);
    let Some(first) = promise.assertions.first() else {
        let unproven = |at| format!("line {at}: a sample of `{}` has no `{HOLDS} … -->`", promise.line);
        return shown.map(unproven).into_iter().collect();
    };
    let said = match json(&promise.line) {
        Ok(said) => said,
        Err(why) => return vec![format!("line {}: {why}", first.at + 1)],
    };
    let fails = |it: &Assertion| {
        let why = assertion::check(&it.text, &said).err()?;
        Some(format!(
            "line {}: `{}` does not hold for `{}`: {why}; correct the prose",
            it.at + 1,
            it.text,
            promise.line
        ))
    };
    let mut wrong: Vec<String> = promise.assertions.iter().filter_map(fails).collect();
    if let (true, Some(line)) = (wrong.is_empty(), swapped(&promise.line)) {
        let tells = |swapped: Value| promise.assertions.iter().any(|it| assertion::check(&it.text, &swapped).is_err());
        match json(&line).map(tells) {
            Ok(true) => {}
            // Equal sides are equal either way.
            Ok(false) if said["verdict"].as_str().is_some_and(|it| it.starts_with("no difference")) => {}
            Ok(false) => wrong.push(format!("line {}: its assertions hold for `{line}` too", first.at + 1)),
            Err(why) => wrong.push(format!("line {}: {why}", first.at + 1)),
        }
    }
    wrong
}

/// A comparison with the values of `--vary` in reverse.
fn swapped(line: &str) -> Option<String> {
    let (before, rest) = line.split_once(" --vary ")?;
    let (pair, after) = rest.split_once(' ').map_or((rest, String::new()), |(pair, rest)| (pair, format!(" {rest}")));
    let (key, values) = pair.split_once('=')?;
    let reversed: Vec<&str> = values.split(',').rev().collect();
    Some(format!("{before} --vary {key}={}{after}", reversed.join(",")))
}

/// The JSON of a command.
fn json(line: &str, code: i32, out: &Path) -> Result<Value, String> {
    let line = format!("{line} --json{}", if line.contains(" out/") { " --force" } else { "" });
    let output = shell(&line, out).output().map_err(|error| format!("`{line}` did not start: {error}"))?;
    if output.status.code() != Some(code) {
        return Err(format!("`{line}` ended with {}, not {code}", output.status));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("`{line}` printed no JSON: {error}"))
}

/// Runs a command; returns its standard output.
fn keep(promise: &Promise, out: &Path) -> Result<Vec<String>, String> {
    println!("$ {}", promise.line);
    match shown(&mut shell(&promise.line, out)) {
        Ok((status, output)) if status.code() == Some(promise.code) => Ok(output.out),
        Ok((status, _)) => Err(format!("`{}` ended with {status}, not {}", promise.line, promise.code)),
        Err(error) => Err(format!("`{}` did not start: {error}", promise.line)),
    }
}

/// A command in a shell that finds the program.
fn shell(line: &str, out: &Path) -> Command {
    let folder = crate::target().join("debug");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("sh");
    command
        .args(["-c", &elsewhere(line, &out.display().to_string())])
        .env("PATH", format!("{}:{path}", folder.display()))
        .env("COLUMNS", WIDTH)
        .current_dir(crate::root());
    command
}

/// The commands of all blocks marked `sh`, with the samples below them.
fn promises(text: &str) -> Vec<Promise> {
    let (mut found, mut block, mut joined) = (Vec::<Promise>::new(), "", String::new());
    for (at, line) in text.lines().enumerate() {
        if let Some(mark) = line.trim().strip_prefix("```") {
            block = mark;
            if let ("text", Some(last)) = (mark, found.last_mut()) {
                last.samples.push(Sample { at: at + 1, lines: Vec::new() });
            }
            continue;
        }
        match (block, found.last_mut().and_then(|last| last.samples.last_mut())) {
            ("sh", _) => found.extend(promise(line.trim(), &mut joined)),
            ("text", Some(sample)) => sample.lines.push(line.to_owned()),
            ("", _) => {
                if let Some(last) = found.last_mut() {
                    last.assertions.extend(assertions(at, line));
                }
            }
            _ => {}
        }
    }
    found
}

/// The assertions in a line of a page.
fn assertions(at: usize, line: &str) -> impl Iterator<Item = Assertion> {
    let inside = line.trim().strip_prefix(HOLDS).and_then(|rest| rest.strip_suffix("-->"));
    let each = inside.into_iter().flat_map(|inside| inside.split(';'));
    each.map(move |text| Assertion { at, text: text.trim().to_owned() })
}

/// The command that a line ends, if it does.
fn promise(line: &str, joined: &mut String) -> Option<Promise> {
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    if let Some(part) = line.strip_suffix('\\') {
        joined.push_str(part);
        return None;
    }
    let line = std::mem::take(joined) + line;
    let (command, code) = match line.split_once("# exits ") {
        Some((command, code)) => (command, code.trim().parse().expect("`# exits` is followed by a number")),
        None => (line.split_once(" # ").map_or(line.as_str(), |(command, _)| command), 0),
    };
    Some(Promise { line: command.trim().to_owned(), code, ..Promise::default() })
}

/// The runs of a sample's lines that follow one another, each with its place in the sample.
fn runs(lines: &[String]) -> impl Iterator<Item = (usize, &[String])> {
    let mut at = 0;
    let run = move |run| {
        let place = at;
        at += <[String]>::len(run) + 1;
        (place, run)
    };
    lines.split(|line| line == LEFT_OUT).map(run).filter(|(_, run)| !run.is_empty())
}

/// The part of a sample that is not in its command's output.
fn differing(promise: &Promise, sample: &Sample, printed: &[String]) -> Option<String> {
    let same = |a: &String, b: &String| a.trim_end() == b.trim_end();
    let mut rest = printed;
    for (place, run) in runs(&sample.lines) {
        let there = rest.windows(run.len()).position(|lines| lines.iter().zip(run).all(|(a, b)| same(a, b)));
        let Some(there) = there else {
            let line = sample.at + place + 1;
            let hint = "SEEKWISE_UPDATE=1 cargo xtask readme rewrites it";
            return Some(format!("line {line}: not what `{}` prints; {hint}:\n{}", promise.line, run.join("\n")));
        };
        rest = &rest[there + run.len()..];
    }
    None
}

/// Replaces the samples of a command by its present output.
fn renew(lines: &mut [String], promise: &Promise, printed: &[String]) {
    for sample in &promise.samples {
        for (place, run) in runs(&sample.lines) {
            let alike = |line: &String| line.chars().zip(run[0].chars()).take_while(|(a, b)| a == b).count();
            // The first of those that come nearest.
            let nearest = (0..printed.len()).rev().max_by_key(|&at| alike(&printed[at])).unwrap_or_default();
            for (line, new) in lines[sample.at + place..][..run.len()].iter_mut().zip(printed.iter().skip(nearest)) {
                *line = new.trim_end().to_owned();
            }
        }
    }
}

/// The command with the folder `out` put elsewhere, and the program built already.
fn elsewhere(line: &str, out: &str) -> String {
    let line = line.replace("cargo run --release --", "seekwise");
    let word = |word: &str| match word.strip_prefix("out") {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("'{out}'{rest}"),
        _ => word.to_owned(),
    };
    line.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn commands_are_found_with_their_codes() {
        let text = "x\n```sh\na --out out\n# talk\nb \\\n  c   # why\nd # exits 2\n```\nwords\n```text\n 1\n 2\n```\n";
        let found = promises(text);
        let line = |line: &str, code| Promise { line: line.to_owned(), code, ..Promise::default() };
        let sample = Sample { at: 10, lines: lines(" 1\n 2") };
        assert_eq!(found, [line("a --out out", 0), line("b c", 0), Promise { samples: vec![sample], ..line("d", 2) }]);
    }

    /// What a comparison prints whose first side is quicker by this factor.
    fn compared(line: &str) -> Result<Value, String> {
        let (ratio, verdict) = if line.contains("=on,off") { (0.465, "slower") } else { (2.15, "faster") };
        Ok(serde_json::json!({"ratio": {"estimate": ratio}, "verdict": verdict, "runs": 10}))
    }

    fn judged(vary: &str, assertions: &str) -> Vec<String> {
        let sample = "```text\nslower\n```\n";
        let text =
            format!("```sh\nx compare j --vary cache={vary} --runs 9\n```\n{sample}{assertions}\nCommits fall.\n");
        not_held(&promises(&text)[0], compared)
    }

    #[test]
    fn a_conclusion_fails_when_the_sides_are_swapped() {
        let holds = "<!-- holds: ratio.estimate < 0.5; verdict == \"slower\" -->";
        assert_eq!(judged("on,off", holds), Vec::<String>::new());
        let wrong = judged("off,on", holds).join("\n");
        let said = "line 7: `ratio.estimate < 0.5` does not hold for `x compare j --vary cache=off,on --runs 9`: \
                    found 2.15 < 0.5; correct the prose\nline 7: `verdict";
        assert!(wrong.starts_with(said), "{wrong}");
    }

    #[test]
    fn a_conclusion_that_holds_either_way_is_none() {
        let said = judged("on,off", "<!-- holds: runs == 10 -->").join("\n");
        assert_eq!(said, "line 7: its assertions hold for `x compare j --vary cache=off,on --runs 9` too");
        assert!(judged("on,off", "<!-- holds: run == 10 -->")[0].contains("there is no `run`"));
    }

    #[test]
    fn a_sample_has_a_conclusion() {
        let said = judged("on,off", "").join("\n");
        assert!(said.starts_with("line 4: a sample of `x compare j --vary cache=on,off --runs 9` has no"), "{said}");
    }

    #[test]
    fn only_the_folder_out_is_moved() {
        assert_eq!(elsewhere("x --out out --log out/y output", "/t/out"), "x --out '/t/out' --log '/t/out'/y output");
        assert_eq!(elsewhere("cargo run --release -- drives", "/t/out"), "seekwise drives");
    }

    #[test]
    fn a_sample_stands_in_what_is_printed_in_order() {
        let printed = lines("head\nrate 1\nmean 2\n\ntail 3");
        let of = |text: &str| {
            differing(&Promise::default(), &Sample { at: 4, lines: lines(text) }, &printed)
                .map(|why| why[..7].to_owned())
        };
        assert_eq!(of("rate 1\nmean 2"), None);
        assert_eq!(of("rate 1\n…\ntail 3"), None);
        assert_eq!(of("rate 1\ntail 3").as_deref(), Some("line 5:"), "lines between are not left out in silence");
        assert_eq!(of("rate 1\n…\ntail 4").as_deref(), Some("line 7:"));
        assert_eq!(of("tail 3\n…\nhead").as_deref(), Some("line 7:"));
    }

    #[test]
    fn a_sample_is_written_anew_in_its_place() {
        let text = "```sh\na\n```\n```text\nrate 7\nmean 8\n…\ntail 9\n```\nend";
        let mut readme = lines(text);
        renew(&mut readme, &promises(text)[0], &lines("head\nrate 1\nmean 2\n\ntail 3"));
        assert_eq!(readme.join("\n"), text.replace('7', "1").replace('8', "2").replace('9', "3"));
    }
}
