//! The pages of `--page`: each has the shared shell and no style of its own, and begins with a question and its answer. The report page,
//! which has a script, is tested in `page`; that a page is written safely, in `outputs`.

use std::fs;

use crate::seekwise::run_program;

/// A command that writes `out.html`. `crash` needs root and a real workload: its page is tested in `crash`.
const PAGES: [&str; 6] = [
    "compare j.fio --on d.toml --vary job.depth=1,2,4 --metric iops --metric p99 --runs 2",
    "validate t.csv --drive d.toml",
    "power-cut j.fio --on d.toml --cuts 2",
    "fit t.csv --drive d.toml --only overhead.read_miss_ms --generations 1 -o f.toml",
    "rebuild --on d.toml --array raid-1 --drives 2 --live 1% --users 20",
    "scrub --on d.toml --array raid-1 --drives 2 --live 1%",
];

fn folder_with_inputs() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let mut trace = "lba,sectors,op,measured_response_ms,think_ms\n".to_owned();
    for index in 0..400_u64 {
        let (lba, ms) = (index * 7_368_787 % 300_000_000, 6.0 + (index * 37 % 120) as f64 / 10.0);
        trace += &format!("{lba},8,{},{ms},5\n", if index % 3 == 0 { "W" } else { "R" });
    }
    write("t.csv", &trace);
    write("j.fio", "[j]\nioengine=libaio\ndirect=1\nrw=randrw\nbs=4k\nsize=1g\nnumber_ios=50\n");
    write("d.toml", include_str!("../../drives/profiles/barracuda-7200.7-ncq.toml"));
    folder
}

/// The text between the first `from` after the page's beginning and the `to` after it.
fn between<'a>(page: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = page.split_once(from).unwrap_or_else(|| panic!("{from}: {page}"));
    rest.split_once(to).unwrap_or_else(|| panic!("{to}: {page}")).0
}

/// The style of a page, once all that pages share was found in it.
pub fn shared_style(command: &str, page: &str) -> String {
    assert!(page.starts_with("<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">"), "{command}");
    assert!(page.contains("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"), "{command}");
    let style = between(page, "<style>", "</style>");
    assert!(style.contains("color-scheme:light dark") && style.contains("prefers-color-scheme:dark"), "{command}");
    let (_, body) = page.split_once("</style>").unwrap();
    for own in ["<style", "style=\"", "<script", "<link", "\"#", "<img"] {
        assert!(!body.contains(own), "{command}: {own} in {body}");
    }
    assert_eq!(body.matches("<table>").count(), body.matches("<div class=\"table\"><table>").count(), "{command}");
    assert_eq!(body.matches("<svg").count(), body.matches("<figure").count(), "{command}: a picture scrolls by itself");
    let question = between(body, "<h1>", "</h1>");
    assert!(question.ends_with('?') && body.trim_start().starts_with("<h1>"), "{command}: {question}");
    let answer = between(body, "</h1>\n<p class=\"head\">", "</p>");
    assert!(answer.ends_with('.') && answer.len() > 10, "{command}: {answer}");
    style.to_owned()
}

#[test]
fn every_page_has_the_shared_shell_and_no_style_of_its_own() {
    let folder = folder_with_inputs();
    let mut styles = Vec::new();
    for command in PAGES {
        let words: Vec<&str> = command.split(' ').chain(["--page", "out.html", "--force"]).collect();
        let said = run_program(folder.path(), &words);
        assert_eq!(said.code, 0, "{command}: {}", said.err);
        let page = fs::read_to_string(folder.path().join("out.html")).unwrap();
        styles.push(shared_style(command, &page));
        let place = |tag: &str| page.find(tag).unwrap_or(usize::MAX);
        assert!(place("<figure") < place("<table"), "{command}: a picture comes before the tables");
        fs::remove_file(folder.path().join("out.html")).unwrap();
    }
    assert!(styles.iter().all(|style| *style == styles[0]));
}

/// A new command with `--page` is added to the commands above.
#[test]
fn every_command_with_a_page_is_tested() {
    let folder = tempfile::tempdir().unwrap();
    let help = |words: &[&str]| run_program(folder.path(), &[words, &["--help"]].concat()).success_stdout();
    let all = help(&[]);
    let (_, commands) = all.split_once("Commands:\n").unwrap();
    let commands = commands.split("\n\n").next().unwrap().lines();
    let names = commands.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    let with_page: Vec<&str> = names.filter(|name| help(&[name]).contains("--page <FILE>")).collect();
    let tested: Vec<&str> = PAGES.iter().filter_map(|command| command.split(' ').next()).chain(["crash"]).collect();
    assert!(with_page.len() >= tested.len(), "{with_page:?}");
    assert!(with_page.iter().all(|name| tested.contains(name)), "{with_page:?} have pages, tested are {tested:?}");
}

#[test]
fn the_command_of_a_page_makes_it_again() {
    let folder = folder_with_inputs();
    let page = |words: &[&str], file: &str| {
        let said = run_program(folder.path(), &[words, &["--page", file]].concat());
        assert_eq!(said.code, 0, "{}", said.err);
        fs::read_to_string(folder.path().join(file)).unwrap()
    };
    let first = page(&["power-cut", "j.fio", "--on", "d.toml", "--cuts", "2"], "a.html");
    let line = between(&first, "<code>seekwise ", "</code>");
    assert_eq!(page(&line.split(' ').collect::<Vec<_>>(), "b.html"), first, "{line}");
}
