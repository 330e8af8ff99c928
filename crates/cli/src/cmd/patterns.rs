//! `seekwise patterns`: the built-in patterns and jobs.

use seekwise_lab::jobs;
use seekwise_model::workload::AccessLine;
use serde_json::json;

use super::{print, print_json};
use crate::exit::{Answer, Outcome};
use crate::screen;
use crate::tables;

/// Lists them.
pub fn patterns(json: bool) -> Outcome {
    let patterns = jobs::patterns();
    if json {
        let list = patterns.iter().map(|pattern| {
            let lines = pattern.spec.lines.iter().map(|line| {
                json!({"size_bytes": line.size, "share_percent": line.share, "reads_percent": line.reads,
                       "random_percent": line.random, "align_bytes": line.align})
            });
            json!({"name": pattern.name, "title": pattern.spec.name, "lines": lines.collect::<Vec<_>>()})
        });
        let jobs = jobs::JOBS.iter().map(|job| {
            let variables: serde_json::Map<_, _> =
                job.variables.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
            json!({"name": job.name, "title": job.purpose, "variables": variables})
        });
        print_json(&list.chain(jobs).collect::<Vec<_>>())?;
        return Ok(Answer::Done);
    }
    let mut table = tables::table(["pattern", "reads %", "random %", "request sizes"]);
    tables::figures(&mut table, &["reads %", "random %"]);
    for pattern in &patterns {
        let lines = &pattern.spec.lines;
        let sizes: Vec<String> = lines.iter().map(|line| sized(line, lines.len())).collect();
        let percent = |value: fn(&AccessLine) -> u8| {
            let (least, most) = (lines.iter().map(value).min(), lines.iter().map(value).max());
            match (least, most) {
                (Some(least), Some(most)) if least == most => least.to_string(),
                (Some(least), Some(most)) => format!("{least}–{most}"),
                _ => String::new(),
            }
        };
        table.add_row([pattern.name.clone(), percent(|l| l.reads), percent(|l| l.random), sizes.join(", ")]);
    }
    print(&table.to_string())?;
    let each = "Each runs one worker over the whole drive, one request outstanding; --set job.depth=32 changes that.";
    print(&format!("\n{}\n\n", screen::wrapped(each, screen::width())))?;
    let mut table = tables::table(["job", "variables (--set job.env.NAME=VALUE)", "what it does"]);
    for job in jobs::JOBS {
        let variables = job.variables.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>();
        table.add_row([job.name, &variables.join(" "), job.purpose]);
    }
    print(&table.to_string())?;
    Ok(Answer::Done)
}

fn sized(line: &AccessLine, lines: usize) -> String {
    let size = match line.size {
        bytes if bytes % 1_048_576 == 0 => format!("{} MiB", bytes / 1_048_576),
        bytes if bytes % 1024 == 0 => format!("{} KiB", bytes / 1024),
        bytes => format!("{bytes} B"),
    };
    // A size and its share stay together.
    tables::whole(&if lines == 1 { size } else { format!("{size} {} %", line.share) })
}
