//! Checks the commands of the README and of pages of the manual (`PAGES`). Every command in a block marked `sh` is run
//! as written and must end with the stated exit code, and a block marked `text` below it must be part of its output.
//!
//! A command is one line; a `\` at its end joins the next. `# exits N` after it states its exit code, else 0. Three
//! things differ from a user's run: the folder `out` is in a scratch folder, `seekwise` and `cargo run --release --`
//! are the debug build, and the terminal has `COLUMNS` columns. Commands that build, install or check the whole
//! repository belong to other steps, and are not run (`NOT_RUN`).
//!
//! A block marked `text` belongs to the last command before it. Its lines are consecutive lines of standard output; a
//! line `…` stands for any number of others. `SEEKWISE_UPDATE=1 cargo xtask readme` rewrites the lines: each run of
//! lines begins at the line of the output that is most like its first line, and keeps its length.
//!
//! A comment `<!-- holds: ratio.high < 1; verdict == "slower" -->` asserts what the prose concludes from the last
//! command before it (`assertion`). It is checked on the command's `--json`, also when samples are rewritten. A
//! comparison runs once more with the values of `--vary` in reverse, and then one of its assertions must fail. Each
//! sample needs an assertion, and so does each section that draws a conclusion (`prose`).

mod assertion;
mod prose;

use std::path::Path;
use std::process::{Command, ExitCode};

use serde_json::Value;

use crate::cargo;
use crate::steps::{Ended, run_and_show};

/// The commands that other steps run: this check, the release build and its packing.
const NOT_RUN: [&str; 4] =
    ["cargo xtask ci", "cargo xtask dist", "cargo xtask site", "cargo install --path crates/cli --locked"];

/// Columns of the terminal for samples, so that they fit the README's width.
const COLUMNS: &str = "100";

/// The line of a sample that stands for any number of lines.
const LEFT_OUT: &str = "…";

/// The beginning of a page's assertions.
const HOLDS: &str = "<!-- holds:";

/// A command with its exit code, samples of its output, and assertions about it.
#[derive(Debug, Default, PartialEq)]
struct PageCommand {
    line: String,
    exit_code: i32,
    samples: Vec<Sample>,
    assertions: Vec<Assertion>,
}

/// An assertion of a page about a command.
#[derive(Debug, PartialEq)]
struct Assertion {
    /// The line of the page, from 0.
    line_index: usize,
    text: String,
}

/// Lines of a command's output on a page.
#[derive(Debug, Default, PartialEq)]
struct Sample {
    /// The line of the page at which the sample begins, from 0.
    line_index: usize,
    lines: Vec<String>,
}

/// The pages whose commands are run, in this order: later ones may use files of earlier ones in `out`.
const PAGES: [&str; 12] = [
    "README.md",
    "docs/install.md",
    "docs/command-line.md",
    "docs/tour.md",
    "docs/tutorial.md",
    "docs/how-to/fio.md",
    "docs/how-to/fsync.md",
    "docs/how-to/own-drive.md",
    "docs/how-to/reviewer-with-fio.md",
    "docs/how-to/flush-audit.md",
    "docs/how-to/power-cut.md",
    "docs/how-to/rebuild.md",
];

/// Runs the step.
pub fn readme() -> Ended {
    check(&PAGES)
}

/// Checks these pages alone.
pub fn check_named_pages(pages: &[&str]) -> ExitCode {
    match check(pages) {
        Ended::Passed => ExitCode::SUCCESS,
        Ended::Skipped(why) | Ended::Failed(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn check(pages: &[&str]) -> Ended {
    if let Err(why) = cargo::build_debug_program() {
        return Ended::Failed(why);
    }
    let scratch = match crate::empty_folder("readme") {
        Ok(folder) => folder,
        Err(error) => return Ended::Failed(format!("no scratch folder: {error}")),
    };
    let faults: Vec<String> = pages.iter().flat_map(|page| check_page(page, &scratch.join("out"))).collect();
    match faults.len() {
        0 => Ended::Passed,
        count => Ended::Failed(format!("{count} promises of the pages are broken\n{}", faults.join("\n"))),
    }
}

/// Runs a page's commands in a scratch folder; returns what differs from the page. If `SEEKWISE_UPDATE` is set,
/// rewrites the samples instead.
fn check_page(page: &str, out_folder: &Path) -> Vec<String> {
    let path = crate::root().join(page);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => return vec![format!("{page}: {error}")],
    };
    let all = parse_commands(&text);
    if page == PAGES[0] && !all.iter().any(|command| command.line == NOT_RUN[0]) {
        return vec![format!("{page}: expected the command `{}`", NOT_RUN[0])];
    }
    let is_update = std::env::var_os("SEEKWISE_UPDATE").is_some();
    let (mut faults, mut lines): (Vec<String>, Vec<String>) = (Vec::new(), text.lines().map(str::to_owned).collect());
    for command in all.iter().filter(|command| !NOT_RUN.contains(&command.line.as_str())) {
        match run_command(command, out_folder) {
            Ok(printed) if is_update => rewrite_samples(&mut lines, command, &printed),
            Ok(printed) => {
                faults.extend(command.samples.iter().filter_map(|sample| differing_part(command, sample, &printed)))
            }
            Err(why) => faults.push(why),
        }
        faults.extend(failed_assertions(command, |line| json_of_command(line, command.exit_code, out_folder)));
    }
    faults.extend(prose::unasserted_conclusions(&text));
    let write_result = if is_update { std::fs::write(&path, lines.join("\n") + "\n") } else { Ok(()) };
    faults.extend(write_result.err().map(|error| error.to_string()));
    faults.into_iter().map(|why| format!("{page}: {why}")).collect()
}

/// The assertions that a command's JSON contradicts, and those that also hold with the sides swapped.
fn failed_assertions(command: &PageCommand, json: impl Fn(&str) -> Result<Value, String>) -> Vec<String> {
    let sample_line = command.samples.first().map(|sample| sample.line_index);
    let Some(first) = command.assertions.first() else {
        let unproven =
            |line_number| format!("line {line_number}: a sample of `{}` has no `{HOLDS} … -->`", command.line);
        return sample_line.map(unproven).into_iter().collect();
    };
    let answer = match json(&command.line) {
        Ok(answer) => answer,
        Err(why) => return vec![format!("line {}: {why}", first.line_index + 1)],
    };
    let fault_of = |assertion: &Assertion| {
        let why = assertion::check(&assertion.text, &answer).err()?;
        Some(format!(
            "line {}: `{}` does not hold for `{}`: {why}; correct the prose",
            assertion.line_index + 1,
            assertion.text,
            command.line
        ))
    };
    let mut faults: Vec<String> = command.assertions.iter().filter_map(fault_of).collect();
    if let (true, Some(line)) = (faults.is_empty(), with_swapped_sides(&command.line)) {
        let is_contradicted = |swapped: Value| {
            command.assertions.iter().any(|assertion| assertion::check(&assertion.text, &swapped).is_err())
        };
        match json(&line).map(is_contradicted) {
            Ok(true) => {}
            // Sides without a difference may be swapped.
            Ok(false) if answer["verdict"].as_str().is_some_and(|verdict| verdict.starts_with("no difference")) => {}
            Ok(false) => faults.push(format!("line {}: its assertions hold for `{line}` too", first.line_index + 1)),
            Err(why) => faults.push(format!("line {}: {why}", first.line_index + 1)),
        }
    }
    faults
}

/// The command of a comparison with the values of `--vary` in reverse; `None` for other commands.
fn with_swapped_sides(line: &str) -> Option<String> {
    let (before, rest) = line.split_once(" --vary ")?;
    let (pair, after) = rest.split_once(' ').map_or((rest, String::new()), |(pair, rest)| (pair, format!(" {rest}")));
    let (key, values) = pair.split_once('=')?;
    let reversed: Vec<&str> = values.split(',').rev().collect();
    Some(format!("{before} --vary {key}={}{after}", reversed.join(",")))
}

/// Runs a command with `--json`; returns its JSON.
fn json_of_command(line: &str, exit_code: i32, out_folder: &Path) -> Result<Value, String> {
    let json_line = format!("{line} --json{}", if line.contains(" out/") { " --force" } else { "" });
    let output =
        shell(&json_line, out_folder).output().map_err(|error| format!("`{json_line}` did not start: {error}"))?;
    if output.status.code() != Some(exit_code) {
        return Err(format!("`{json_line}` ended with {}, not {exit_code}", output.status));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("`{json_line}` printed no JSON: {error}"))
}

/// Runs a command; returns its standard output.
fn run_command(command: &PageCommand, out_folder: &Path) -> Result<Vec<String>, String> {
    println!("$ {}", command.line);
    match run_and_show(&mut shell(&command.line, out_folder)) {
        Ok((status, output)) if status.code() == Some(command.exit_code) => Ok(output.out),
        Ok((status, _)) => Err(format!("`{}` ended with {status}, not {}", command.line, command.exit_code)),
        Err(error) => Err(format!("`{}` did not start: {error}", command.line)),
    }
}

/// A shell command that finds the program.
fn shell(line: &str, out_folder: &Path) -> Command {
    let folder = crate::target().join("debug");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("sh");
    command
        .args(["-c", &with_scratch_folder(line, &out_folder.display().to_string())])
        .env("PATH", format!("{}:{path}", folder.display()))
        .env("COLUMNS", COLUMNS)
        .current_dir(crate::root());
    command
}

/// The commands of all blocks marked `sh`, with the samples below them.
fn parse_commands(text: &str) -> Vec<PageCommand> {
    let (mut found, mut block, mut joined) = (Vec::<PageCommand>::new(), "", String::new());
    for (index, line) in text.lines().enumerate() {
        if let Some(mark) = line.trim().strip_prefix("```") {
            block = mark;
            if let ("text", Some(last)) = (mark, found.last_mut()) {
                last.samples.push(Sample { line_index: index + 1, lines: Vec::new() });
            }
            continue;
        }
        match (block, found.last_mut().and_then(|last| last.samples.last_mut())) {
            ("sh", _) => found.extend(command_of_line(line.trim(), &mut joined)),
            ("text", Some(sample)) => sample.lines.push(line.to_owned()),
            ("", _) => {
                if let Some(last) = found.last_mut() {
                    last.assertions.extend(assertions_of_line(index, line));
                }
            }
            _ => {}
        }
    }
    found
}

/// The assertions in a line of a page.
fn assertions_of_line(line_index: usize, line: &str) -> impl Iterator<Item = Assertion> {
    let inside = line.trim().strip_prefix(HOLDS).and_then(|rest| rest.strip_suffix("-->"));
    let each = inside.into_iter().flat_map(|inside| inside.split(';'));
    each.map(move |text| Assertion { line_index, text: text.trim().to_owned() })
}

/// The command that ends at this line, if one does; `joined` keeps lines that a `\` joins to the next.
fn command_of_line(line: &str, joined: &mut String) -> Option<PageCommand> {
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    if let Some(part) = line.strip_suffix('\\') {
        joined.push_str(part);
        return None;
    }
    let whole = std::mem::take(joined) + line;
    let (text, exit_code) = match whole.split_once("# exits ") {
        Some((text, code)) => (text, code.trim().parse().expect("`# exits` is followed by a number")),
        None => (whole.split_once(" # ").map_or(whole.as_str(), |(text, _)| text), 0),
    };
    Some(PageCommand { line: text.trim().to_owned(), exit_code, ..PageCommand::default() })
}

/// The runs of consecutive lines of a sample, each with the index of its first line in the sample.
fn unbroken_runs(lines: &[String]) -> impl Iterator<Item = (usize, &[String])> {
    let mut next_index = 0;
    let with_index = move |run| {
        let index = next_index;
        next_index += <[String]>::len(run) + 1;
        (index, run)
    };
    lines.split(|line| line == LEFT_OUT).map(with_index).filter(|(_, run)| !run.is_empty())
}

/// A message with the first part of a sample that is not in the command's output.
fn differing_part(command: &PageCommand, sample: &Sample, printed: &[String]) -> Option<String> {
    let is_same = |a: &String, b: &String| a.trim_end() == b.trim_end();
    let mut rest = printed;
    for (index, run) in unbroken_runs(&sample.lines) {
        let found = rest.windows(run.len()).position(|lines| lines.iter().zip(run).all(|(a, b)| is_same(a, b)));
        let Some(position) = found else {
            let line = sample.line_index + index + 1;
            let hint = "SEEKWISE_UPDATE=1 cargo xtask readme rewrites it";
            return Some(format!("line {line}: not what `{}` prints; {hint}:\n{}", command.line, run.join("\n")));
        };
        rest = &rest[position + run.len()..];
    }
    None
}

/// Replaces the lines of a command's samples by its present output.
fn rewrite_samples(lines: &mut [String], command: &PageCommand, printed: &[String]) {
    for sample in &command.samples {
        for (index, run) in unbroken_runs(&sample.lines) {
            let common_length = |line: &String| line.chars().zip(run[0].chars()).take_while(|(a, b)| a == b).count();
            // The first of the lines that are most alike.
            let nearest =
                (0..printed.len()).rev().max_by_key(|&start| common_length(&printed[start])).unwrap_or_default();
            for (line, new) in
                lines[sample.line_index + index..][..run.len()].iter_mut().zip(printed.iter().skip(nearest))
            {
                *line = new.trim_end().to_owned();
            }
        }
    }
}

/// The command with another folder in place of `out`, and with the built program in place of `cargo run`.
fn with_scratch_folder(line: &str, out_folder: &str) -> String {
    let with_program = line.replace("cargo run --release --", "seekwise");
    let replace = |word: &str| match word.strip_prefix("out") {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("'{out_folder}'{rest}"),
        _ => word.to_owned(),
    };
    with_program.split(' ').map(replace).collect::<Vec<_>>().join(" ")
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
        let found = parse_commands(text);
        let line = |line: &str, code| PageCommand { line: line.to_owned(), exit_code: code, ..PageCommand::default() };
        let sample = Sample { line_index: 10, lines: lines(" 1\n 2") };
        assert_eq!(
            found,
            [line("a --out out", 0), line("b c", 0), PageCommand { samples: vec![sample], ..line("d", 2) }]
        );
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
        failed_assertions(&parse_commands(&text)[0], compared)
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
        assert_eq!(
            with_scratch_folder("x --out out --log out/y output", "/t/out"),
            "x --out '/t/out' --log '/t/out'/y output"
        );
        assert_eq!(with_scratch_folder("cargo run --release -- drives", "/t/out"), "seekwise drives");
    }

    #[test]
    fn a_sample_stands_in_what_is_printed_in_order() {
        let printed = lines("head\nrate 1\nmean 2\n\ntail 3");
        let of = |text: &str| {
            differing_part(&PageCommand::default(), &Sample { line_index: 4, lines: lines(text) }, &printed)
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
        rewrite_samples(&mut readme, &parse_commands(text)[0], &lines("head\nrate 1\nmean 2\n\ntail 3"));
        assert_eq!(readme.join("\n"), text.replace('7', "1").replace('8', "2").replace('9', "3"));
    }
}
