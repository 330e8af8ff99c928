//! `seekwise power-cut`: losses by power cuts during a job's run, as a table, a curve and words.

use std::collections::BTreeSet;

use seekwise::Bounds;
use seekwise_lab::cut::file_losses::LossCount;
use seekwise_lab::cut::{ClassLosses, CutReport, CutTime, blame, plot};
use seekwise_model::block::assurance::Assurance;
use seekwise_model::stack::Stack;
use seekwise_model::time::Instant;

use super::{print, print_json};
use crate::args;
use crate::exit::{CommandAnswer, CommandError, CommandResult};
use crate::progress::Line;
use crate::screen::{self, wrapped};
use crate::tables::{Table, choose, dispensable, figures, figures_from, table};

/// Columns of the curve at most, and its lines.
const CURVE: (usize, usize) = (108, 11);

/// Runs the command.
pub fn power_cut(args: &args::PowerCutArgs, bounds: &Bounds, json: bool) -> CommandResult {
    choose(&mut [&mut headed(), &mut headed_files()], &args.columns.names)?;
    args.pictures.admit(args.force, &[&args.job, args.on.target.as_deref().unwrap_or_default()])?;
    let setup = args.on.setup(&args.job);
    let line = Line::new();
    let cut = seekwise::power_cut::power_cut(&setup, when(args), bounds, &line)?;
    drop(line);
    let title = setup.title();
    args.pictures.write(args.force, || {
        plot::svg(&format!("{title}: what a power cut would lose, moment by moment"), &cut.report)
    })?;
    if json {
        print_json(&cut.json(&setup))?;
    } else {
        print(&text(&title, &cut.when, &cut.report, cut.stack(), &args.columns.names)?)?;
    }
    Ok(if cut.report.promise_kept { CommandAnswer::Done } else { CommandAnswer::No })
}

fn when(args: &args::PowerCutArgs) -> CutTime {
    match args.after {
        None if args.shutdown => CutTime::Off(args.cuts),
        Some(pause) => CutTime::After { cuts: args.cuts, pause },
        None if args.at.is_empty() => CutTime::Random(args.cuts),
        None => CutTime::At(args.at.iter().map(|&span| Instant::ZERO + span).collect()),
    }
}

fn headed() -> Table {
    let mut losses = table([
        "lost",
        "cuts with loss",
        "writes mean",
        "writes most",
        "KiB mean",
        "KiB most",
        "age p50 ms",
        "age p99 ms",
        "oldest p50 ms",
        "oldest most ms",
    ]);
    figures_from(&mut losses, 1);
    dispensable(&mut losses, &["age p99 ms", "oldest p50 ms", "KiB most", "KiB mean"]);
    losses
}

/// A row: a count of files or of operations.
type Row<'a> = (&'static str, &'a LossCount);

fn headed_files() -> Table {
    let mut left = table(["a mount would find", "cuts", "mean", "most", "the first"]);
    figures(&mut left, &["cuts", "mean", "most"]);
    dispensable(&mut left, &["the first", "mean"]);
    left
}

/// Counts of files and operations, if the job has any.
fn rows(report: &CutReport) -> Vec<Row<'_>> {
    let (Some(files), Some(operations)) = (&report.files, &report.operations) else { return Vec::new() };
    let mut rows = vec![
        ("files promised to stay: lost", &files.promised_lost),
        ("files never promised: lost", &files.unpromised_lost),
        ("files in neither place", &files.in_neither_place),
        ("files with older contents", &files.stale),
    ];
    if report.cut_sector == "unreadable" {
        rows.push(("files with an unreadable sector", &files.unreadable));
        rows.push(("metadata with an unreadable sector", &files.metadata_unreadable));
    }
    rows.extend([
        ("operations promised to stay: lost", &operations.promised_lost),
        ("operations never promised: lost", &operations.unpromised_lost),
        ("operations in part", &operations.in_part),
    ]);
    rows
}

fn files_table(report: &CutReport) -> Option<Table> {
    let rows = rows(report);
    let mut left = headed_files();
    for (name, count) in &rows {
        let first = count.example.as_ref().map_or(String::new(), |it| format!("{} at {:.3} s", it.name, it.at_s));
        let mean = format!("{:.1}", count.count_mean);
        left.add_row([name.to_string(), count.cuts_with_loss.to_string(), mean, count.count_max.to_string(), first]);
    }
    (!rows.is_empty()).then_some(left)
}

fn text(
    title: &str,
    when: &CutTime,
    report: &CutReport,
    stack: &Stack,
    columns: &[String],
) -> Result<String, CommandError> {
    let width = screen::width();
    let CutReport { cuts, elapsed_s, writes, flushes, .. } = report;
    let place = match when {
        CutTime::Random(_) => format!("at random instants of {elapsed_s:.3} s"),
        CutTime::At(_) => format!("of a run of {elapsed_s:.3} s"),
        CutTime::After { pause, .. } => format!("each {} ms after the end of a run", pause.nanos() as f64 / 1e6),
        CutTime::Off(_) => "in order, each after the end of a run".to_owned(),
    };
    let mut losses = headed();
    for (name, side) in
        [("acknowledged", &report.acknowledged_lost), ("  flushed", &report.flushed_lost), ("  FUA", &report.fua_lost)]
    {
        losses.add_row(row(name, side));
    }
    let mut files = files_table(report);
    let mut tables: Vec<&mut Table> = [Some(&mut losses), files.as_mut()].into_iter().flatten().collect();
    choose(&mut tables, columns)?;
    let heading = format!(
        "{title}: {cuts} {} {place}; {writes} writes, {flushes} flushes",
        match when {
            CutTime::Off(_) => plural(u64::from(*cuts), "power-off", "power-offs"),
            _ => plural(u64::from(*cuts), "cut", "cuts"),
        }
    );
    let mut text = format!("{}\n\n{}\n\n", wrapped(&heading, width), losses.draw(width));
    if let Some(files) = files {
        text.push_str(&format!("{}\n\n", files.draw(width)));
    }
    for line in words(report, when, stack) {
        text.push_str(&format!("{}\n", wrapped(&line, width)));
    }
    if let Some([caption, curve]) = plot::terminal(report, width.min(CURVE.0), CURVE.1) {
        text.push_str(&format!("\n{}\n{curve}", wrapped(&caption, width)));
    }
    Ok(text)
}

fn row(name: &str, losses: &ClassLosses) -> Vec<String> {
    let kib = |bytes: f64| format!("{:.1}", bytes / 1024.0);
    let mut row = vec![
        name.to_owned(),
        losses.cuts_with_loss.to_string(),
        format!("{:.1}", losses.writes_mean),
        losses.writes_max.to_string(),
        kib(losses.bytes_mean),
        kib(losses.bytes_max as f64),
    ];
    let ms = |value: Option<f64>| value.map_or("–".to_owned(), |ms| format!("{ms:.1}"));
    row.push(ms(losses.age_ms.map(|age| age.p50)));
    row.push(ms(losses.age_ms.map(|age| age.p99)));
    row.push(ms(losses.oldest_ms.map(|age| age.p50)));
    row.push(ms(losses.oldest_ms.map(|age| age.max)));
    row
}

fn plural<'a>(count: u64, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}

/// The meaning of the figures, in sentences.
fn words(report: &CutReport, when: &CutTime, stack: &Stack) -> Vec<String> {
    let mut words = vec![if let CutTime::Off(_) = when { shutdown(report) } else { verdict(report) }];
    words.extend(files(report));
    if report.at_risk_summary.bytes_max > 0 {
        let (summary, longest) = (&report.at_risk_summary, report.longest_at_risk_ms);
        words.push(format!(
            "At risk: {:.1} KiB on average, {:.1} KiB at most; a write for at most {longest:.1} ms.",
            summary.bytes_mean / 1024.0,
            summary.bytes_max as f64 / 1024.0
        ));
    }
    if report.partial.cuts > 0 {
        words.push(format!(
            "Cut in two: {} {} left a write only partly on the medium (a database's torn page).",
            report.partial.cuts,
            plural(report.partial.cuts, "cut", "cuts")
        ));
    }
    if let Some(stripes) = &report.stripes {
        words.push(match stripes.cuts {
            0 => "Write hole: after every cut all rows agreed with their parity.".to_owned(),
            cuts if loses_rows(stack) => format!(
                "Write hole: {cuts} cuts left rows that disagree with their parity, {:.1} on average, {} at most. Their \
                 blocks on the lost drive are gone, however old.",
                stripes.inconsistent_mean, stripes.inconsistent_max
            ),
            cuts => format!(
                "Write hole: {cuts} cuts left rows that disagree with their parity, {:.1} on average, {} at most. \
                 Until a resync, the loss of a drive would corrupt up to {:.1} KiB of them, however old.",
                stripes.inconsistent_mean,
                stripes.inconsistent_max,
                stripes.bytes_max as f64 / 1024.0
            ),
        });
    }
    words.push(head(report));
    words
}

/// Losses by an orderly power-off, which should lose nothing.
fn shutdown(report: &CutReport) -> String {
    let CutReport { cuts, acknowledged_lost: lost, .. } = report;
    match lost.writes {
        0 => "Orderly power-off: nothing acknowledged was lost.".to_owned(),
        _ => format!(
            "The power went off before the drive had written its data: {} of {cuts} power-offs lost acknowledged writes, {:.1} on average.{}",
            lost.cuts_with_loss,
            lost.writes_mean,
            by(report)
        ),
    }
}

/// Losses of files, in a sentence; none for a job without files.
fn files(report: &CutReport) -> Option<String> {
    let (files, operations) = (report.files.as_ref()?, report.operations.as_ref()?);
    let cuts = report.cuts;
    let (file, operation) = (&files.promised_lost, &operations.promised_lost);
    let broken = match (file.count, operation.count) {
        (0, 0) => "Files: no promised file or operation was lost".to_owned(),
        (0, _) => {
            format!("Operations: {} of {cuts} cuts lost promised ones", operation.cuts_with_loss)
        }
        _ => format!(
            "Files: {} of {cuts} cuts lost promised files, {} lost promised operations",
            file.cuts_with_loss, operation.cuts_with_loss
        ),
    };
    let neither = match &files.in_neither_place {
        LossCount { count: 0, .. } => String::new(),
        count => format!(" {} cuts left files in neither place.", count.cuts_with_loss),
    };
    let why = match (file.count + operation.count > 0, report.promised_lost.writes) {
        (true, 0) => {
            "; the drive kept its promises: no flush reached it (Windows 98; ext4 with `barrier` off; a layer that answers \
             flushes itself)"
        }
        _ => "",
    };
    let allowed = match &files.unpromised_lost {
        LossCount { count: 0, .. } => String::new(),
        count => format!(
            " In {} cuts a file lacked bytes written after its last fsync, or a new one was missing before its first: they \
             were in the system's memory or the drive's buffer.",
            count.cuts_with_loss
        ),
    };
    Some(format!("{broken}{why}.{allowed}{neither}"))
}

/// Whether the stack breaks the promise that other drives can reconstruct what a lost drive held of a row.
fn loses_rows(stack: &Stack) -> bool {
    stack.promise_breakers().iter().any(|breaker| breaker.breaks == Assurance::Rows)
}

/// The beginning of a sentence about a broken promise, such as `The drive broke its`.
fn broke(report: &CutReport) -> String {
    let levels: BTreeSet<&str> = report.broken_by.iter().map(|blamed| blamed.level.as_str()).collect();
    let who = match levels.len() {
        0 => "the stack".to_owned(),
        _ => blame::levels(&report.broken_by),
    };
    let whose = if levels.len() > 1 { "their" } else { "its" };
    format!("T{} broke {whose}", &who[1..])
}

/// The settings that broke it, in a sentence.
fn by(report: &CutReport) -> String {
    match report.broken_by.as_slice() {
        [] => String::new(),
        blamed => format!(" By: {}.", blame::settings(blamed)),
    }
}

/// Whether the stack kept its promises, and what it never promised.
fn verdict(report: &CutReport) -> String {
    let CutReport { cuts, volatile_cache, acknowledged_lost: lost, promised_lost: broken, flushes, .. } = report;
    if broken.writes > 0 {
        let kind = match (report.flushed_lost.writes > 0, report.fua_lost.writes > 0) {
            (true, _) => "flushed",
            (_, true) => "marked FUA",
            _ => "acknowledged with the write cache off",
        };
        let held = format!("lost writes that had been {kind}, up to {} at once", broken.writes_max);
        return format!("{} promise: {} of {cuts} cuts {held}.{}", broke(report), broken.cuts_with_loss, by(report));
    }
    match (lost.writes > 0, volatile_cache) {
        (false, _) if report.saves_buffer => {
            "The drive's buffer survives a cut: nothing acknowledged was lost.".to_owned()
        }
        (false, false) => "The write cache is off: nothing acknowledged was lost.".to_owned(),
        (false, true) => "Nothing acknowledged was lost.".to_owned(),
        (true, _) => {
            let promise = match (*flushes, report.writes) {
                (0, _) => "The job never flushed, so nothing more was promised",
                _ => "Nothing that was flushed was lost",
            };
            format!(
                "The write cache is on: {} of {cuts} cuts lost acknowledged writes, {:.1} on average. {promise}.",
                lost.cuts_with_loss, lost.writes_mean
            )
        }
    }
}

/// The state of the sector under the head, in a sentence.
fn head(report: &CutReport) -> String {
    let torn = &report.torn;
    match report.cut_sector {
        "finished" => {
            "The drive finishes the sector under its head, as its profile says: no sector was torn.".to_owned()
        }
        "old" => "The sector under the head keeps its old contents, as the drive's profile says: no sector was torn."
            .to_owned(),
        _ => format!(
            "Torn: {} cuts left a sector unreadable, as the drive's profile says; {} of these sectors had held acknowledged data, \
             {} promised data.",
            torn.cuts, torn.cuts_acknowledged, torn.cuts_promised
        ),
    }
}
