//! The result of `seekwise run` as text: tables of figures, the parts of the mean response time, response times as bars, and
//! sentences on the processor, real files, replays and served disks.

use seekwise::places::NullPlace;
use seekwise::run::{
    Arrivals, KindRecord, MeasuredRun, OperationRecord, Part, RealRecord, RecordedEnds, RequestCost, RequestKind,
    RunRecord, SyncRecord,
};
use seekwise::serve::Receipt;
use seekwise::time::{Instant, Span};

use super::{histogram, members, trace};
use crate::exit::CommandError;
use crate::screen::{draw_bar, wrap_text};
use crate::tables::{
    Table, choose_columns, mark_dispensable, mark_figures_from, mark_on_request, table_with_headings, unbreakable,
};

/// The columns of every table of requests.
const FIGURE_COLUMNS: [&str; 11] = [
    "requests",
    "requests/s",
    "MB/s",
    "mean ms",
    "p50 ms",
    "p90 ms",
    "p95 ms",
    "p99 ms",
    "p99.9 ms",
    "p99.99 ms",
    "max ms",
];

/// Columns that are shown only if `--columns` names them.
const ON_REQUEST: [&str; 1] = ["p95 ms"];

/// Columns that a narrow screen leaves out first, in this order.
const DISPENSABLE: [&str; 6] = ["p99.99 ms", "p90 ms", "p99.9 ms", "MB/s", "p50 ms", "max ms"];

/// The first columns of the table of phases, which lie between changes of settings.
const PHASE_COLUMNS: [&str; 2] = ["from", "what changed"];

/// The columns of a table of operations.
const OPERATION_COLUMNS: [&str; 8] =
    ["operations", "operations/s", "mean ms", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms", "max ms"];

/// The most columns of a bar.
const MOST_BAR_COLUMNS: usize = 40;

/// Options of the text.
pub struct TextOptions<'a> {
    /// Columns, as `--columns` lists them.
    pub columns: &'a [String],
    /// Response times as bars.
    pub plot: bool,
    /// Columns of the screen.
    pub width: usize,
    /// The layers of the stack from the program down, if they are in an order of their own.
    pub layers: Option<&'a str>,
}

/// Refuses columns that a run does not have.
pub fn check_columns(columns: &[String]) -> Result<(), CommandError> {
    choose_columns(&mut [&mut empty_table(&[""]), &mut empty_table(&PHASE_COLUMNS)], columns)
}

/// The result as text; `recorded_on` is the target on which a replayed session was recorded.
pub fn format_run(
    record: &RunRecord,
    measured: &MeasuredRun,
    recorded_on: &str,
    options: &TextOptions<'_>,
) -> Result<String, CommandError> {
    let (width, figures) = (options.width, &measured.figures);
    let (mut kinds, mut phases) = (kinds_table(record), phases_table(record));
    choose_columns(&mut [&mut kinds, &mut phases], options.columns)?;
    let clock = if record.is_measured() { "by the wall clock" } else { "of virtual time" };
    let title = format!("{} on {}, {:.3} s {clock}", record.job, record.target, record.elapsed_s);
    let layers = options.layers.map_or(String::new(), |layers| {
        format!("{}\n", wrap_text(&format!("Layers from the program down: {layers}, drive"), width))
    });
    let mut text = format!("{}\n{layers}\n{}\n", wrap_text(&title, width), kinds.draw(width));
    text.push_str(&fit_text(record, width));
    if !record.issuer.operations.is_empty() {
        text.push_str(&format!("\nWhat the programs did:\n{}\n", operations_table(record).draw(width)));
    }
    if !phases.is_empty() {
        text.push_str(&format!("\nBetween changes of settings, reads and writes:\n{}\n", phases.draw(width)));
    }
    if let Some(arrivals) = &record.arrivals {
        text.push_str(&format!("\n{}\n", wrap_text(&arrivals_text(arrivals, record), width)));
    }
    text.push_str(&format!("\n{}", anatomy_text(record, width)));
    text.push_str(&array_text(record, width));
    if options.plot {
        text.push_str(&format!("\n{}", histogram::draw_bars(&response_series(measured), width)));
    }
    if let Some(cpu) = &record.cpu {
        let processor = format!(
            "Processor: {:.2} %; {:.1} requests/s and {:.3} MB/s for each percent, {:.0} requests a core-second",
            cpu.percent, cpu.iops_per_percent, cpu.mb_per_s_per_percent, cpu.ios_per_cpu_second
        );
        text.push_str(&format!("\n{}\n", wrap_text(&processor, width)));
    }
    if let Some(real) = &record.real {
        text.push_str(&format!("\n{}\n", wrap_text(&real_file_text(real), width)));
        if let Some(bench) = &real.bench {
            text.push_str(&format!("{}\n", wrap_text(&format!("Stood on {}.", bench.one_line_summary()), width)));
        }
    }
    if let Some(percent) = record.issuer.memory_percent {
        text.push_str(&format!("\nOf the bytes read {percent:.1} % came from memory.\n"));
    }
    if let Some(ends) = record.issuer.recorded {
        text.push_str(&format!("\n{}\n", wrap_text(&recording_text(ends, measured.first_off, recorded_on), width)));
    }
    if let Some(certificate) = &record.issuer.trace {
        text.push_str(&format!("\n{}", trace::format_certificate(certificate, width)));
    }
    if let Some(receipt) = &figures.receipt {
        text.push_str(&format!("\n{}\n", wrap_text(&lateness_text(receipt), width)));
    }
    // Only the null place answers at once; elsewhere these times contain more than the program's own cost.
    if let Some(RequestCost { wall_ns, processor_ns }) = record.cost.filter(|_| record.place == NullPlace::NAME) {
        let processor_time = processor_ns.map_or(String::new(), |ns| format!(", {ns:.0} ns of a processor"));
        text.push_str(&format!("\nEach request took {wall_ns:.0} ns here{processor_time}.\n"));
    }
    if figures.failures > 0 {
        text.push_str(&format!("\n{} of {} requests failed.\n", figures.failures, figures.issued));
    }
    for trouble in &figures.troubles {
        text.push_str(&format!("{}\n", wrap_text(&format!("Note: {trouble}."), width)));
    }
    Ok(text)
}

/// On a fitted drive: which drives the bands cover, and what the fit has not seen.
fn fit_text(record: &RunRecord, width: usize) -> String {
    let sentences: Vec<String> = record.band_sentence().into_iter().chain(record.unseen_sentence()).collect();
    if sentences.is_empty() { String::new() } else { format!("\n{}\n", wrap_text(&sentences.join("\n"), width)) }
}

/// What an array did: its members, its rebuilds and checks.
fn array_text(record: &RunRecord, width: usize) -> String {
    let members = record.array.as_ref().map(|array| members::format_members(array, record.write.ios, width));
    let syncs = record.drive.syncs.as_ref().map(|syncs| format!("\n{}\n", wrap_text(&sync_text(syncs), width)));
    members.into_iter().chain(syncs).collect()
}

/// Rebuilds and checks of an array: how far they came, and how often they gave way.
fn sync_text(syncs: &SyncRecord) -> String {
    let gigabytes = |sectors: u64| sectors as f64 * 512.0 / 1e9;
    let parts =
        [(syncs.rebuilt_sectors, "a new drive were rebuilt"), (syncs.checked_sectors, "each drive were checked")];
    let parts = parts.iter().filter(|(sectors, _)| *sectors > 0);
    let done: Vec<String> = parts.map(|(sectors, what)| format!("{:.3} GB of {what}", gigabytes(*sectors))).collect();
    let done = if done.is_empty() { "Nothing was rebuilt or checked yet".to_owned() } else { done.join(", ") };
    let ended = match syncs.ended {
        0 => "not to the end".to_owned(),
        1 => "to the end".to_owned(),
        ended => format!("{ended} times to the end"),
    };
    let rate = syncs.mb_per_s.map_or(String::new(), |rate| format!(", at {rate:.1} MB/s on each drive"));
    format!("{done}, {ended}{rate}; {} times it waited for requests.", syncs.drains)
}

/// Arrivals by a rate or a trace: the requested and the reached rate, the backlog, and the times since requests were due.
fn arrivals_text(arrivals: &Arrivals, record: &RunRecord) -> String {
    let due = record.all.since_due_ms.map_or(String::new(), |due| {
        format!(
            " Time from due to done: mean {:.3} ms, p50 {:.3}, p99 {:.3}, max {:.3}. The table counts from the time of issue.",
            due.mean, due.p50, due.p99, due.max
        )
    });
    let words = arrivals.words();
    let mut letters = words.chars();
    let first = letters.next().map_or(String::new(), |letter| letter.to_uppercase().collect());
    format!("{first}{}.{due}", letters.as_str())
}

/// Figures of a real file: latencies as fio has them, and the use of processors.
fn real_file_text(real: &RealRecord) -> String {
    let [submission, completion, latency] =
        [real.submission_ms, real.completion_ms, real.latency_ms].map(Option::unwrap_or_default);
    let micros = |ms: f64| format!("{:.1}", 1e3 * ms);
    format!(
        "As fio counts: submission mean {} us, p99 {} us; completion mean {} us, p99 {} us; latency mean {} us, p99 {} us. The \
         issuing threads used {:.1} % of all \
         processors ({:.1} % in the program, {:.1} % in the kernel), the whole system {:.1} %.",
        micros(submission.mean),
        micros(submission.p99),
        micros(completion.mean),
        micros(completion.p99),
        micros(latency.mean),
        micros(latency.p99),
        real.user_percent + real.system_percent,
        real.user_percent,
        real.system_percent,
        real.whole_percent
    )
}

/// The replay of a session, compared with its recording. `first_difference` is the first request that completed at another
/// instant: its number, and its completion in the recording and in the replay.
fn recording_text(ends: RecordedEnds, first_difference: Option<(u64, Instant, Instant)>, recorded_on: &str) -> String {
    let RecordedEnds { requests, same } = ends;
    let count = format!("{same} of {requests} requests completed at the recorded nanosecond");
    match first_difference {
        None => format!("{count}."),
        Some((request, recorded, replayed)) => format!(
            "{count}; the first that did not is request {request}: {} ns then, {} ns now. It was recorded on {recorded_on}.",
            recorded.nanos(),
            replayed.nanos()
        ),
    }
}

/// How late answers left, and the cost of the round trip.
fn lateness_text(receipt: &Receipt) -> String {
    let micros = |span: Option<Span>| span.map_or("–".to_owned(), |span| format!("{:.0}", span.nanos() as f64 / 1e3));
    let late_us = |share| micros(receipt.lateness.quantile(share));
    let round_trip = receipt.path.map_or(String::new(), |round_trip| {
        format!(" The round trip alone took {} us, which all times include.", micros(Some(round_trip.p50)))
    });
    format!(
        "The disk's answers left p50 {} us, p99 {} us, at most {} us later than in the model; {} of {} more than 200 us. The \
         machine stalled {} times.{round_trip}",
        late_us(0.5),
        late_us(0.99),
        micros(Some(receipt.lateness.latest())),
        receipt.late,
        receipt.lateness.count(),
        receipt.stalls.count,
    ) + &receipt.transport_costs().iter().map(|loss| format!(" {}", loss.cost_sentence())).collect::<String>()
        + &format!(" {}", receipt.pace_verdict().verdict_sentence())
}

/// Reads, writes, flushes, commits, reads and writes together, and the workers of each name.
fn kinds_table(record: &RunRecord) -> Table {
    let mut table = empty_table(&[""]);
    let commits = record.commit.as_ref().map(|commit| ("commits", &commit.figures));
    for (name, view) in
        [("reads", &record.read), ("writes", &record.write), ("all", &record.all), ("flushes", &record.flush)]
            .into_iter()
            .chain(commits)
    {
        if view.ios > 0 {
            table.add_row(std::iter::once(name.to_owned()).chain(format_figures(view)));
            add_band_rows(&mut table, view);
        }
    }
    for group in &record.groups {
        table.add_row(std::iter::once(group.name.clone()).chain(format_figures(&group.all)));
        add_band_rows(&mut table, &group.all);
    }
    table
}

/// Adds the least and the most of each figure over the draws of a fit, below the figures themselves.
fn add_band_rows(table: &mut Table, view: &KindRecord) {
    let Some(band) = view.band.as_deref() else { return };
    for (end, name) in ["  least", "  most"].into_iter().enumerate() {
        let times = band.response_ms.map(|r| [r.mean, r.p50, r.p90, r.p95, r.p99, r.p99_9, r.p99_99, r.max]);
        let times = times.map_or([(); 8].map(|()| "–".to_owned()), |times| times.map(|ms| format!("{:.3}", ms[end])));
        let rates = ["".to_owned(), format!("{:.1}", band.iops[end]), rate_text(band.bytes_per_s[end])];
        table.add_row(std::iter::once(name.to_owned()).chain(rates).chain(times));
    }
}

/// A rate in MB/s; a dash for what moves no bytes.
fn rate_text(bytes_per_s: f64) -> String {
    if bytes_per_s > 0.0 { format!("{:.2}", bytes_per_s / 1e6) } else { "–".to_owned() }
}

/// Reads and writes together between changes of settings.
fn phases_table(record: &RunRecord) -> Table {
    let mut table = empty_table(&PHASE_COLUMNS);
    for phase in &record.phases {
        let changed = if phase.changed.is_empty() { "the beginning" } else { &phase.changed };
        let head = [unbreakable(&format!("{} s", phase.from_s)), changed.to_owned()];
        table.add_row(head.into_iter().chain(format_figures(&phase.all)));
    }
    table
}

/// Operations by program.
fn operations_table(record: &RunRecord) -> Table {
    let mut table =
        table_with_headings([""].iter().chain(&OPERATION_COLUMNS).map(|&heading| heading.to_owned()).collect());
    mark_figures_from(&mut table, 1);
    mark_dispensable(&mut table, &DISPENSABLE);
    for (name, OperationRecord { count, per_s, response_ms: r, .. }) in &record.issuer.operations {
        let times = r.map(|r| [r.mean, r.p50, r.p90, r.p99, r.p99_9, r.max]);
        let times = times.map_or([(); 6].map(|()| "–".to_owned()), |times| times.map(|ms| format!("{ms:.3}")));
        table.add_row([name.clone(), count.to_string(), format!("{per_s:.1}")].into_iter().chain(times));
    }
    table
}

/// An empty table with these first columns, followed by those of the figures.
fn empty_table(first_columns: &[&str]) -> Table {
    let mut table =
        table_with_headings(first_columns.iter().chain(&FIGURE_COLUMNS).map(|&heading| heading.to_owned()).collect());
    mark_figures_from(&mut table, first_columns.len());
    mark_dispensable(&mut table, &DISPENSABLE);
    mark_on_request(&mut table, &ON_REQUEST);
    table
}

/// The figures of a row, in the order of [`FIGURE_COLUMNS`].
fn format_figures(view: &KindRecord) -> Vec<String> {
    let times = view.response_ms.map(|r| {
        let [mean, p50, p90, p99, p99_9, p99_99, max] =
            [r.mean, r.p50, r.p90, r.p99, r.p99_9, r.p99_99, r.max].map(Some);
        [mean, p50, p90, r.p95, p99, p99_9, p99_99, max]
    });
    let mut figures = vec![view.ios.to_string(), format!("{:.1}", view.iops), rate_text(view.bytes_per_s)];
    let format_ms = |ms: Option<f64>| ms.map_or("–".to_owned(), |ms| format!("{ms:.3}"));
    figures.extend(times.unwrap_or_default().map(format_ms));
    figures
}

/// The parts of the mean response time, with bars.
fn anatomy_text(record: &RunRecord, width: usize) -> String {
    let mut text = "Where the time of the mean request went:\n".to_owned();
    let total = record.anatomy_ms.total();
    for part in Part::ALL {
        let ms = record.anatomy_ms.get(part);
        if ms > 0.0 && total > 0.0 {
            let line = format!("  {:10} {ms:9.3} ms {:5.1} %  ", part.name(), 100.0 * ms / total);
            let bar_columns = width.saturating_sub(line.chars().count()).min(MOST_BAR_COLUMNS);
            text.push_str(&format!("{}\n", (line + &draw_bar(ms / total, bar_columns)).trim_end()));
        }
    }
    text
}

/// Response times of each kind of requests that there were.
pub fn response_series(measured: &MeasuredRun) -> Vec<histogram::HistogramSeries> {
    let kinds = [("reads", RequestKind::Read), ("writes", RequestKind::Write), ("flushes", RequestKind::Flush)];
    let counted = kinds.map(|(name, kind)| {
        let summary = measured.run.kind_summary(kind);
        let buckets = summary.tally.responses().buckets().map(|(edge, count)| (edge.nanos(), count)).collect();
        histogram::HistogramSeries { name, buckets }
    });
    counted.into_iter().filter(|kind| !kind.buckets.is_empty()).collect()
}
