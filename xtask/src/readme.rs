//! The promises of the README and of pages of the manual (`PAGES`): every command in a block marked `sh` is run as
//! written and must end as said, and a block marked `text` below it must stand in what it prints.
//!
//! A command stands on one line; a `\` at its end joins the next. `# exits N` behind it states its exit code, else 0.
//! Three things are changed: the folder `out` lies in a scratch folder, so that nothing of the user's is touched,
//! `seekwise` is the release build, and the terminal is as wide as `WIDTH`. What builds, installs or checks the whole
//! repository is held by other steps, and not run again (`ELSEWHERE`).
//!
//! A block marked `text` belongs to the last command before it. Its lines are lines of standard output, one after another;
//! a line `…` stands for any number of others. `SEEKWISE_UPDATE=1 cargo xtask readme` writes the lines anew: each run of lines
//! begins where its first line comes nearest, and keeps its length.

use std::path::Path;
use std::process::Command;

use crate::steps::{Ended, shown};

/// Commands that other steps hold: this one, the release build and its packing.
const ELSEWHERE: [&str; 4] =
    ["cargo xtask ci", "cargo xtask dist", "cargo xtask site", "cargo install --path crates/cli --locked"];

/// Columns of the terminal that the README's samples are printed on: they fit its own width.
const WIDTH: &str = "100";

/// What a sample leaves out.
const LEFT_OUT: &str = "…";

/// One command, the exit code it is to have, and samples of what it prints.
#[derive(Debug, Default, PartialEq)]
struct Promise {
    line: String,
    code: i32,
    samples: Vec<Sample>,
}

/// Lines of a command's output, in the README.
#[derive(Debug, Default, PartialEq)]
struct Sample {
    /// The README's line, from 0, of the first.
    at: usize,
    lines: Vec<String>,
}

/// The pages whose commands are run, in this order: later ones may use what earlier ones left in `out`.
const PAGES: [&str; 9] = [
    "README.md",
    "docs/install.md",
    "docs/command-line.md",
    "docs/tour.md",
    "docs/tutorial.md",
    "docs/how-to/fio.md",
    "docs/how-to/own-drive.md",
    "docs/how-to/flush-audit.md",
    "docs/how-to/power-cut.md",
];

/// Runs the step.
pub fn readme() -> Ended {
    let scratch = match crate::scratch("readme") {
        Ok(folder) => folder,
        Err(error) => return Ended::Failed(format!("no scratch folder: {error}")),
    };
    let wrong: Vec<String> = PAGES.iter().flat_map(|page| wrong(page, &scratch.join("out"))).collect();
    match wrong.len() {
        0 => Ended::Passed,
        count => Ended::Failed(format!("{count} promises are not kept\n{}", wrong.join("\n"))),
    }
}

/// Runs a page's commands; which of its promises are not kept.
fn wrong(page: &str, out: &Path) -> Vec<String> {
    let path = crate::root().join(page);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => return vec![format!("{page}: {error}")],
    };
    let promises = promises(&text);
    if page == PAGES[0] && !promises.iter().any(|promise| promise.line == ELSEWHERE[0]) {
        return vec![format!("{page} does not name `{}`", ELSEWHERE[0])];
    }
    let update = std::env::var_os("SEEKWISE_UPDATE").is_some();
    let (mut wrong, mut lines): (Vec<String>, Vec<String>) = (Vec::new(), text.lines().map(str::to_owned).collect());
    for promise in promises.iter().filter(|promise| !ELSEWHERE.contains(&promise.line.as_str())) {
        match keep(promise, out) {
            Ok(printed) if update => renew(&mut lines, promise, &printed),
            Ok(printed) => {
                wrong.extend(promise.samples.iter().filter_map(|sample| differing(promise, sample, &printed)))
            }
            Err(why) => wrong.push(why),
        }
    }
    let written = if update { std::fs::write(&path, lines.join("\n") + "\n") } else { Ok(()) };
    wrong.extend(written.err().map(|error| error.to_string()));
    wrong.into_iter().map(|why| format!("{page}: {why}")).collect()
}

/// Runs one command; what it prints on standard output.
fn keep(promise: &Promise, out: &Path) -> Result<Vec<String>, String> {
    println!("$ {}", promise.line);
    let release = crate::target().join("release");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("sh");
    command
        .args(["-c", &elsewhere(&promise.line, &out.display().to_string())])
        .env("PATH", format!("{}:{path}", release.display()))
        .env("COLUMNS", WIDTH)
        .current_dir(crate::root());
    match shown(&mut command) {
        Ok((status, output)) if status.code() == Some(promise.code) => Ok(output.out),
        Ok((status, _)) => Err(format!("`{}` ended with {status}, not {}", promise.line, promise.code)),
        Err(error) => Err(format!("`{}` did not start: {error}", promise.line)),
    }
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
            _ => {}
        }
    }
    found
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
    Some(Promise { line: command.trim().to_owned(), code, samples: Vec::new() })
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

/// What of a sample does not stand in what its command printed.
fn differing(promise: &Promise, sample: &Sample, printed: &[String]) -> Option<String> {
    let same = |a: &String, b: &String| a.trim_end() == b.trim_end();
    let mut rest = printed;
    for (place, run) in runs(&sample.lines) {
        let there = rest.windows(run.len()).position(|lines| lines.iter().zip(run).all(|(a, b)| same(a, b)));
        let Some(there) = there else {
            let line = sample.at + place + 1;
            let hint = "SEEKWISE_UPDATE=1 cargo xtask readme writes it anew";
            return Some(format!("line {line}: not what `{}` prints; {hint}:\n{}", promise.line, run.join("\n")));
        };
        rest = &rest[there + run.len()..];
    }
    None
}

/// Puts what a command prints now in place of its samples.
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

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn commands_are_found_with_their_codes() {
        let text = "x\n```sh\na --out out\n# talk\nb \\\n  c   # why\nd # exits 2\n```\nwords\n```text\n 1\n 2\n```\n";
        let found = promises(text);
        let line = |line: &str, code| Promise { line: line.to_owned(), code, samples: Vec::new() };
        let sample = Sample { at: 10, lines: lines(" 1\n 2") };
        assert_eq!(found, [line("a --out out", 0), line("b c", 0), Promise { samples: vec![sample], ..line("d", 2) }]);
    }

    #[test]
    fn only_the_folder_out_is_moved() {
        assert_eq!(elsewhere("x --out out --log out/y output", "/t/out"), "x --out '/t/out' --log '/t/out'/y output");
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
