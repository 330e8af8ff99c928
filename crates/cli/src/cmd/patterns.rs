//! `seekwise patterns`: lists the built-in patterns (Iometer's access specifications), fio jobs and scenes; shows the contents of one.

use seekwise::error::Diagnostic;
use seekwise::jobs::{self, AccessLine, BuiltInJob, BuiltInPattern, BuiltInScene, JOBS, SCENES, to_fio_job};
use serde_json::{Value, json};

use super::{print_json, print_text};
use crate::args;
use crate::exit::{CommandAnswer, CommandResult};
use crate::screen::{self, wrap_text};
use crate::tables;

/// The settings that all patterns share.
const SHARED_SETTINGS: &str = "A pattern runs one worker over the whole drive, one request outstanding (--set job.depth=32 changes \
                    that), 5 s to warm up and 60 s counted.";

/// The text above a pattern as a fio job, and the text if there is no such job.
const FIO_JOB_HEADING: &str = "The same mix as a fio job, drawn from fio's own random numbers:";
const NO_FIO_JOB: &str =
    "No fio job says the same: its lines differ in more than size, or reads and writes share one sequence.";

/// Runs the command.
pub fn run_command(args: &args::NamedArgs, json: bool) -> CommandResult {
    let patterns = jobs::built_in_patterns();
    let all = PatternListing {
        patterns: patterns.iter().collect(),
        jobs: JOBS.iter().collect(),
        scenes: SCENES.iter().collect(),
    };
    let Some(name) = &args.name else { return print_list(&all, json) };
    let matching = all.matching_entries(name);
    if matching.is_empty() || jobs::find_text(name).is_some() || patterns.iter().any(|pattern| pattern.name == *name) {
        return print_entry(&patterns, name, json);
    }
    print_list(&matching, json)
}

/// Patterns, jobs and scenes to list.
struct PatternListing<'a> {
    patterns: Vec<&'a BuiltInPattern>,
    jobs: Vec<&'a BuiltInJob>,
    scenes: Vec<&'a BuiltInScene>,
}

impl<'a> PatternListing<'a> {
    /// The entries that `text` means as one of fio's words, such as randread, or else those with all of its words in their names.
    fn matching_entries(&self, text: &str) -> PatternListing<'a> {
        /// The least length of a word; shorter ones are in too many names.
        const LEAST_LETTERS: usize = 3;
        let meant = jobs::patterns_meant_by(text);
        let words: Vec<String> = text.split([' ', '-']).map(str::to_lowercase).collect();
        let by_words = meant.is_empty() && words.iter().all(|word| word.len() >= LEAST_LETTERS);
        let matches =
            |name: &str| meant.contains(&name) || by_words && words.iter().all(|word| name.contains(word.as_str()));
        PatternListing {
            patterns: self.patterns.iter().copied().filter(|pattern| matches(&pattern.name)).collect(),
            jobs: self.jobs.iter().copied().filter(|job| matches(job.name)).collect(),
            scenes: self.scenes.iter().copied().filter(|scene| matches(scene.name)).collect(),
        }
    }

    fn is_empty(&self) -> bool {
        self.patterns.is_empty() && self.jobs.is_empty() && self.scenes.is_empty()
    }
}

/// Prints patterns, jobs and scenes, a line each.
fn print_list(listing: &PatternListing<'_>, json: bool) -> CommandResult {
    let PatternListing { patterns, jobs, scenes } = listing;
    if json {
        let patterns = patterns.iter().map(|pattern| pattern_json(pattern));
        let jobs = jobs.iter().map(|job| job_json(job));
        print_json(&patterns.chain(jobs).chain(scenes.iter().map(|scene| scene_json(scene))).collect::<Vec<_>>())?;
        return Ok(CommandAnswer::Done);
    }
    let mut text = Vec::new();
    if !patterns.is_empty() {
        text.push(format!("{}\n{}\n", pattern_table(patterns), wrap_text(SHARED_SETTINGS, screen::output_width())));
    }
    if !jobs.is_empty() {
        let mut table = tables::new_table(["job", "variables (--set job.env.NAME=VALUE)", "what it does"]);
        for job in jobs {
            let variables = job.variables.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>();
            table.add_row([job.name, &variables.join(" "), job.purpose]);
        }
        text.push(table.to_string());
    }
    if !scenes.is_empty() {
        let mut table = tables::new_table(["scene", "what happens in it"]);
        for scene in scenes {
            table.add_row([scene.name, scene.purpose]);
        }
        text.push(table.to_string());
    }
    print_text(&text.join("\n"))?;
    Ok(CommandAnswer::Done)
}

fn pattern_table(patterns: &[&BuiltInPattern]) -> String {
    let mut table = tables::new_table(["pattern", "reads %", "random %", "request sizes"]);
    tables::mark_figures(&mut table, &["reads %", "random %"]);
    for pattern in patterns {
        let lines = &pattern.spec.lines;
        let sizes: Vec<String> = lines.iter().map(|line| size_and_share(line, lines.len())).collect();
        let percent =
            |value: fn(&AccessLine) -> u8| match (lines.iter().map(value).min(), lines.iter().map(value).max()) {
                (Some(least), Some(most)) if least == most => least.to_string(),
                (Some(least), Some(most)) => format!("{least}–{most}"),
                _ => String::new(),
            };
        table.add_row([
            pattern.name.clone(),
            percent(|line| line.reads),
            percent(|line| line.random),
            sizes.join(", "),
        ]);
    }
    format!("{table}\n")
}

/// The size of a line's requests, with its share of all requests if the pattern has several lines.
fn size_and_share(line: &AccessLine, line_count: usize) -> String {
    let size = format_bytes(line.size);
    tables::unbreakable(&if line_count == 1 { size } else { format!("{size} {} %", line.share) })
}

fn format_bytes(bytes: u32) -> String {
    match bytes {
        bytes if bytes % 1_048_576 == 0 => format!("{} MiB", bytes / 1_048_576),
        bytes if bytes % 1024 == 0 => format!("{} KiB", bytes / 1024),
        bytes => format!("{bytes} B"),
    }
}

fn pattern_json(pattern: &BuiltInPattern) -> Value {
    let lines = pattern.spec.lines.iter().map(|line| {
        json!({"size_bytes": line.size, "share_percent": line.share, "reads_percent": line.reads,
               "random_percent": line.random, "align_bytes": line.align})
    });
    json!({"name": pattern.name, "title": pattern.spec.name, "lines": lines.collect::<Vec<_>>()})
}

fn job_json(job: &BuiltInJob) -> Value {
    let variables: serde_json::Map<_, _> =
        job.variables.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    json!({"name": job.name, "title": job.purpose, "variables": variables})
}

fn scene_json(scene: &BuiltInScene) -> Value {
    json!({"name": scene.name, "title": scene.purpose, "scene": scene.text})
}

/// Prints the contents of the pattern, job or scene of that name.
fn print_entry(patterns: &[BuiltInPattern], name: &str, json: bool) -> CommandResult {
    if let Some(pattern) = patterns.iter().find(|pattern| pattern.name == name) {
        let fio = to_fio_job(pattern);
        match json {
            true => {
                let mut value = pattern_json(pattern);
                value["outstanding"] = json!(1);
                value["fio"] = json!(fio);
                print_json(&value)?;
            }
            false => print_text(&format_pattern(pattern, fio.as_deref()))?,
        }
        return Ok(CommandAnswer::Done);
    }
    if let Some(scene) = SCENES.iter().find(|scene| scene.name == name) {
        match json {
            true => print_json(&scene_json(scene))?,
            false => print_text(&format!("{}: {}\n\nA scene:\n\n{}", scene.name, scene.purpose, scene.text))?,
        }
        return Ok(CommandAnswer::Done);
    }
    let Some(job) = JOBS.iter().find(|job| job.name == name) else {
        let names = patterns.iter().map(|pattern| pattern.name.as_str()).chain(JOBS.iter().map(|job| job.name));
        let names = names.chain(SCENES.iter().map(|scene| scene.name));
        let unknown = Diagnostic::at(name, 0, "no built-in pattern or job with that name");
        return Err(unknown.suggest_nearest(name, names).explain_limit(name).into());
    };
    if json {
        let mut value = job_json(job);
        value["fio"] = json!(job.text);
        print_json(&value)?;
        return Ok(CommandAnswer::Done);
    }
    let set = job.variables.iter().map(|(name, value)| format!("  --set job.env.{name}={value}\n"));
    print_text(&format!(
        "{}: {}\n\nIts variables and their values when nothing else is said:\n{}\nA fio job:\n\n{}",
        job.name,
        job.purpose,
        set.collect::<String>(),
        job.text
    ))?;
    Ok(CommandAnswer::Done)
}

/// A pattern's lines, and the same mix as a fio job.
fn format_pattern(pattern: &BuiltInPattern, fio: Option<&str>) -> String {
    let mut table = tables::new_table(["size", "share", "reads", "random", "places at", "pause", "burst", "answer"]);
    for line in &pattern.spec.lines {
        let pause = match line.delay.nanos() / 1_000_000 {
            0 => "none".to_owned(),
            ms => format!("{ms} ms"),
        };
        let bytes_or = |value: u32, none: &str| if value == 0 { none.to_owned() } else { format_bytes(value) };
        table.add_row([
            format_bytes(line.size),
            format!("{} %", line.share),
            format!("{} %", line.reads),
            format!("{} %", line.random),
            bytes_or(line.align, "sectors"),
            pause,
            line.burst.to_string(),
            bytes_or(line.reply, "none"),
        ]);
    }
    let fio = match fio {
        Some(fio) => format!("{}\n\n{fio}", wrap_text(FIO_JOB_HEADING, screen::output_width())),
        None => wrap_text(NO_FIO_JOB, screen::output_width()),
    };
    let shared = wrap_text(SHARED_SETTINGS, screen::output_width());
    format!("{}: {}\n\n{table}\n\n{shared}\n{fio}", pattern.name, pattern.spec.name)
}
