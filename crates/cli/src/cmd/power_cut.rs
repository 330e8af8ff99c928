//! `seekwise power-cut`: what power cuts during a job's run would lose, as tables, a curve and sentences.

use std::collections::BTreeSet;
use std::ffi::OsString;

use seekwise::pictures::{Page, draw_risk, draw_risk_terminal};
use seekwise::power_cut::{Assurance, ClassLosses, CutReport, CutTime, LossCount, list_levels, list_settings};
use seekwise::setup::Stack;
use seekwise::time::Instant;
use seekwise::{Bounds, Files};

use super::{print_json, print_text};
use crate::args;
use crate::exit::{CommandAnswer, CommandError, CommandResult};
use crate::progress::ProgressObserver;
use crate::screen::{self, wrap_text};
use crate::tables::{Table, choose_columns, mark_dispensable, mark_figures, mark_figures_from, new_table};

/// The most columns of the curve, and its lines.
const CURVE_COLUMNS_AND_LINES: (usize, usize) = (108, 11);

/// Runs the command.
pub fn run_command(
    args: &args::PowerCutArgs,
    files: &Files,
    bounds: &Bounds,
    words: &[OsString],
    json: bool,
) -> CommandResult {
    // Unknown columns are refused before the run.
    choose_columns(&mut [&mut empty_losses_table(), &mut empty_files_table()], &args.columns.names)?;
    if args.force && !args.pictures.are_requested() && !args.page.is_requested() {
        return Err(CommandError::new(
            "--force: there is nothing to overwrite; expected --svg, --png or --page as well",
        ));
    }
    args.pictures.check_paths(args.force, &[&args.job, args.on.target_name()])?;
    args.page.check_path(args.force, &[&args.job, args.on.target_name()])?;
    let setup = args.on.job_setup(files, &args.job);
    let progress = ProgressObserver::new();
    let result = seekwise::power_cut::power_cut(&setup, cut_time(args), bounds, &progress)?;
    drop(progress);
    let title = setup.title();
    let draw = || draw_risk(&format!("{title}: what a power cut would lose, moment by moment"), &result.report);
    args.pictures.write(args.force, draw)?;
    args.page
        .write(args.force, words, || report_page(&title, &draw(), &result.when, &result.report, result.stack()))?;
    if json {
        print_json(&result.json(&setup))?;
    } else {
        print_text(&format_report(&title, &result.when, &result.report, result.stack(), &args.columns.names)?)?;
    }
    Ok(if result.report.promise_kept { CommandAnswer::Done } else { CommandAnswer::No })
}

fn cut_time(args: &args::PowerCutArgs) -> CutTime {
    match args.after {
        None if args.shutdown => CutTime::Off(args.cuts),
        Some(pause) => CutTime::After { cuts: args.cuts, pause },
        None if args.at.is_empty() => CutTime::Random(args.cuts),
        None => CutTime::At(args.at.iter().map(|&span| Instant::ZERO + span).collect()),
    }
}

fn empty_losses_table() -> Table {
    let mut losses = new_table([
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
    mark_figures_from(&mut losses, 1);
    mark_dispensable(&mut losses, &["age p99 ms", "oldest p50 ms", "KiB most", "KiB mean"]);
    losses
}

/// The name and the counts of a row on files or operations.
type FilesRow<'a> = (&'static str, &'a LossCount);

fn empty_files_table() -> Table {
    let mut files = new_table(["a mount would find", "cuts", "mean", "most", "the first"]);
    mark_figures(&mut files, &["cuts", "mean", "most"]);
    mark_dispensable(&mut files, &["the first", "mean"]);
    files
}

/// The rows on files and operations; none if the job has no files.
fn file_rows(report: &CutReport) -> Vec<FilesRow<'_>> {
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
    let rows = file_rows(report);
    let mut files = empty_files_table();
    for (name, count) in &rows {
        let first = count
            .example
            .as_ref()
            .map_or(String::new(), |example| format!("{} at {:.3} s", example.name, example.at_s));
        let mean = format!("{:.1}", count.count_mean);
        files.add_row([name.to_string(), count.cuts_with_loss.to_string(), mean, count.count_max.to_string(), first]);
    }
    (!rows.is_empty()).then_some(files)
}

fn format_report(
    title: &str,
    when: &CutTime,
    report: &CutReport,
    stack: &Stack,
    columns: &[String],
) -> Result<String, CommandError> {
    let width = screen::output_width();
    let mut losses = losses_table(report);
    let mut files = files_table(report);
    let mut tables: Vec<&mut Table> = [Some(&mut losses), files.as_mut()].into_iter().flatten().collect();
    choose_columns(&mut tables, columns)?;
    let heading = format!("{title}: {}", cuts_words(when, report));
    let mut text = format!("{}\n\n{}\n\n", wrap_text(&heading, width), losses.draw(width));
    if let Some(files) = files {
        text.push_str(&format!("{}\n\n", files.draw(width)));
    }
    for line in report_sentences(report, when, stack) {
        text.push_str(&format!("{}\n", wrap_text(&line, width)));
    }
    if let Some([caption, curve]) =
        draw_risk_terminal(report, width.min(CURVE_COLUMNS_AND_LINES.0), CURVE_COLUMNS_AND_LINES.1)
    {
        text.push_str(&format!("\n{}\n{curve}", wrap_text(&caption, width)));
    }
    Ok(text)
}

/// How many cuts there were and when, and of how many writes.
fn cuts_words(when: &CutTime, report: &CutReport) -> String {
    let CutReport { cuts, elapsed_s, writes, flushes, .. } = report;
    let instants = match when {
        CutTime::Random(_) => format!("at random instants of {elapsed_s:.3} s"),
        CutTime::At(_) => format!("of a run of {elapsed_s:.3} s"),
        CutTime::After { pause, .. } => format!("each {} ms after the end of a run", pause.nanos() as f64 / 1e6),
        CutTime::Off(_) => "in order, each after the end of a run".to_owned(),
    };
    format!(
        "{cuts} {} {instants}; {writes} writes, {flushes} flushes",
        match when {
            CutTime::Off(_) => singular_or_plural(u64::from(*cuts), "power-off", "power-offs"),
            _ => singular_or_plural(u64::from(*cuts), "cut", "cuts"),
        }
    )
}

/// A row for each class of writes.
fn losses_table(report: &CutReport) -> Table {
    let mut losses = empty_losses_table();
    for (name, class_losses) in
        [("acknowledged", &report.acknowledged_lost), ("  flushed", &report.flushed_lost), ("  FUA", &report.fua_lost)]
    {
        losses.add_row(losses_row(name, class_losses));
    }
    losses
}

/// The report as a page; `picture` is the data at risk over time.
fn report_page(title: &str, picture: &str, when: &CutTime, report: &CutReport, stack: &Stack) -> Page {
    let sentences = report_sentences(report, when, stack);
    let mut page = Page::new(format!("Does a power cut lose data of {title}?"), sentences[0].clone());
    if report.at_risk_summary.bytes_max > 0 {
        let caption = "Data that was acknowledged and not yet on the medium, over the run: the mean of each stretch of time, and the most.";
        page.add_chart(picture, caption);
    }
    page.add_paragraph(&format!("{}.", cuts_words(when, report)));
    sentences[1..].iter().for_each(|sentence| page.add_paragraph(sentence));
    let tables = [("Writes that cuts lost", Some(losses_table(report))), ("Files after a cut", files_table(report))];
    for (heading, table) in tables {
        if let Some(table) = table {
            let (heads, rows) = table.headings_and_rows();
            page.add_table(heading, &heads, rows);
        }
    }
    page
}

fn losses_row(name: &str, losses: &ClassLosses) -> Vec<String> {
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

fn singular_or_plural<'a>(count: u64, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}

/// The meaning of the figures, in sentences.
fn report_sentences(report: &CutReport, when: &CutTime, stack: &Stack) -> Vec<String> {
    let mut sentences =
        vec![if let CutTime::Off(_) = when { shutdown_sentence(report) } else { promise_sentence(report) }];
    sentences.extend(files_sentence(report));
    if report.at_risk_summary.bytes_max > 0 {
        let (summary, longest) = (&report.at_risk_summary, report.longest_at_risk_ms);
        sentences.push(format!(
            "At risk: {:.1} KiB on average, {:.1} KiB at most; a write for at most {longest:.1} ms.",
            summary.bytes_mean / 1024.0,
            summary.bytes_max as f64 / 1024.0
        ));
    }
    if report.partial.cuts > 0 {
        sentences.push(format!(
            "Cut in two: {} {} left a write only partly on the medium (a database's torn page).",
            report.partial.cuts,
            singular_or_plural(report.partial.cuts, "cut", "cuts")
        ));
    }
    if let Some(stripes) = &report.stripes {
        sentences.push(match stripes.cuts {
            0 => "Write hole: after every cut all rows agreed with their parity.".to_owned(),
            cuts if breaks_row_promise(stack) => format!(
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
    sentences.push(torn_sector_sentence(report));
    sentences
}

/// A sentence on the losses of an orderly power-off, which should lose nothing.
fn shutdown_sentence(report: &CutReport) -> String {
    let CutReport { cuts, acknowledged_lost: lost, .. } = report;
    match lost.writes {
        0 => "Orderly power-off: nothing acknowledged was lost.".to_owned(),
        _ => format!(
            "The power went off before the drive had written its data: {} of {cuts} power-offs lost acknowledged writes, {:.1} on average.{}",
            lost.cuts_with_loss,
            lost.writes_mean,
            breach_cause(report)
        ),
    }
}

/// A sentence on losses of files and operations; none for a job without files.
fn files_sentence(report: &CutReport) -> Option<String> {
    let (files, operations) = (report.files.as_ref()?, report.operations.as_ref()?);
    let cuts = report.cuts;
    let (lost_files, lost_operations) = (&files.promised_lost, &operations.promised_lost);
    let promised = match (lost_files.count, lost_operations.count) {
        (0, 0) => "Files: no promised file or operation was lost".to_owned(),
        (0, _) => {
            format!("Operations: {} of {cuts} cuts lost promised ones", lost_operations.cuts_with_loss)
        }
        _ => format!(
            "Files: {} of {cuts} cuts lost promised files, {} lost promised operations",
            lost_files.cuts_with_loss, lost_operations.cuts_with_loss
        ),
    };
    let neither = match &files.in_neither_place {
        LossCount { count: 0, .. } => String::new(),
        count => format!(" {} cuts left files in neither place.", count.cuts_with_loss),
    };
    let explanation = match (lost_files.count + lost_operations.count > 0, report.promised_lost.writes) {
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
    Some(format!("{promised}{explanation}.{allowed}{neither}"))
}

/// Whether the array breaks the promise that the other drives can reconstruct the blocks of a lost drive.
fn breaks_row_promise(stack: &Stack) -> bool {
    stack.promise_breakers().iter().any(|breaker| breaker.breaks == Assurance::Rows)
}

/// The beginning of a sentence about a broken promise, such as `The drive broke its`.
fn breach_beginning(report: &CutReport) -> String {
    let levels: BTreeSet<&str> = report.broken_by.iter().map(|blamed| blamed.level.as_str()).collect();
    let breaker = match levels.len() {
        0 => "the stack".to_owned(),
        _ => list_levels(&report.broken_by),
    };
    let possessive = if levels.len() > 1 { "their" } else { "its" };
    // `breaker` begins with `the`, whose first letter becomes a capital.
    format!("T{} broke {possessive}", &breaker[1..])
}

/// A sentence on the settings that broke the promise; empty if they are unknown.
fn breach_cause(report: &CutReport) -> String {
    match report.broken_by.as_slice() {
        [] => String::new(),
        blamed => format!(" By: {}.", list_settings(blamed)),
    }
}

/// A sentence on whether the stack kept its promises, and on losses that it had not promised to prevent.
fn promise_sentence(report: &CutReport) -> String {
    let CutReport { cuts, volatile_cache, acknowledged_lost: lost, promised_lost: broken, flushes, .. } = report;
    if broken.writes > 0 {
        let kind = match (report.flushed_lost.writes > 0, report.fua_lost.writes > 0) {
            (true, _) => "flushed",
            (_, true) => "marked FUA",
            _ => "acknowledged with the write cache off",
        };
        let broken_losses = format!("lost writes that had been {kind}, up to {} at once", broken.writes_max);
        return format!(
            "{} promise: {} of {cuts} cuts {broken_losses}.{}",
            breach_beginning(report),
            broken.cuts_with_loss,
            breach_cause(report)
        );
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

/// A sentence on the sector that the head was writing at the cut.
fn torn_sector_sentence(report: &CutReport) -> String {
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
