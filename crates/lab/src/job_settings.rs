//! A job's work as settings, so that results name it: two cells with equal settings do the same work.
//!
//! The settings are those of the job as it runs: laid out on its drive, after includes, variables and all that a study sets. A setting lists
//! the values of all workers in their order, and equal neighbours are counted: `1 (4 workers), 32`. Its key decides the concern to which
//! a difference is credited: see [`concern_of`](seekwise_formats::keys::concern_of).

use std::fmt::{Debug, Display};

use seekwise_disk::time::Span;
use seekwise_drives::key_names::work;
use seekwise_drives::stack::Setting;
use seekwise_formats::recording;
use seekwise_work::workload::session_replay::RecordedSession;
use seekwise_work::workload::{
    AccessLine, ArrivalProcess, BlockSizes, CountingRule, Direction, Distribution, EngineKind, FileService, FioPattern,
    Flow, Generator, IoEngine, IometerPattern, IssueRate, Job, Pace, Pattern, RandomRepeat, Region, RwModifier,
    StridedZones, Syncs, ThinkTime, VerifyBacklog, Worker, Zoned,
};

use crate::digest::sha256;

/// A worker's setting: one of the keys of [`work`], and its value.
type KeyValue = (&'static str, String);

/// The settings of a job on a volume of `capacity_sectors`.
pub(crate) fn from_job(job: &Job, capacity_sectors: u64) -> Vec<Setting> {
    let by_worker: Vec<Vec<KeyValue>> = job.workers.iter().map(worker_settings).collect();
    let values_of = |key: &'static str| {
        by_worker.iter().map(move |worker| worker.iter().find(|(known, _)| *known == key).map(|(_, value)| value))
    };
    let value = |key: &'static str| match key {
        work::CAPACITY => Some(format!("{capacity_sectors} sectors")),
        work::WORKERS_COUNT => Some(job.workers.len().to_string()),
        _ => list_with_equal_neighbours_counted(values_of(key)),
    };
    let setting =
        |key: &'static str| Some(Setting::set_by_user(key.to_owned(), value(key)?, "the job as it was understood"));
    work::ALL.iter().copied().filter_map(setting).collect()
}

/// The settings that all scenes have: when it ends, and the capacity of its target.
pub(crate) fn from_scene(runtime: Option<Span>, capacity_sectors: u64) -> Vec<Setting> {
    let end = runtime.map_or("when its programs are over".to_owned(), format_seconds);
    let settings = [(work::CAPACITY, format!("{capacity_sectors} sectors")), (work::DURATION_RUNTIME, end)];
    settings.map(|(key, value)| Setting::set_by_user(key.to_owned(), value, "the job as it was understood")).to_vec()
}

/// The settings of a recorded session. A hash of all that is recorded of its requests identifies them.
pub(crate) fn from_session(session: &RecordedSession, capacity_sectors: u64) -> Vec<Setting> {
    let hash = sha256(session.entries.iter().map(recording::request_line).collect::<String>().as_bytes());
    let settings = [
        (work::NAMES, session.name.clone()),
        (work::CAPACITY, format!("{capacity_sectors} sectors")),
        (work::PATTERN_GENERATOR, format!("{} recorded requests, sha256 {hash}", session.entries.len())),
    ];
    settings.map(|(key, value)| Setting::set_by_user(key.to_owned(), value, "the session as it was recorded")).to_vec()
}

/// The workers' values in their order, with equal neighbours counted; `None` if no worker has a value.
fn list_with_equal_neighbours_counted<'a>(values: impl Iterator<Item = Option<&'a String>>) -> Option<String> {
    let mut runs: Vec<(Option<&String>, usize)> = Vec::new();
    for value in values {
        match runs.last_mut() {
            Some((last, count)) if *last == value => *count += 1,
            _ => runs.push((value, 1)),
        }
    }
    match runs[..] {
        [] | [(None, _)] => None,
        [(Some(value), _)] => Some(value.clone()),
        _ => {
            let words = |&(value, count): &(Option<&String>, usize)| match (value.map_or("–", String::as_str), count)
            {
                (value, 1) => value.to_owned(),
                (value, count) => format!("{value} ({count} workers)"),
            };
            Some(runs.iter().map(words).collect::<Vec<_>>().join(", "))
        }
    }
}

fn worker_settings(worker: &Worker) -> Vec<KeyValue> {
    // The patterns name every field, so that a new one is not forgotten here.
    let Worker {
        name,
        stage,
        group,
        start_delay,
        ramp,
        counting,
        runtime,
        time_based,
        depth,
        pace,
        survives: [survives_read, survives_write],
        pattern,
    } = worker;
    let Pace { think, rate, process, flow } = pace;
    let rates = rate.map(|rate| match rate {
        None => "none".to_owned(),
        Some(IssueRate::Bytes(rate)) => format!("{rate} bytes/s"),
        Some(IssueRate::Requests(rate)) => format!("{rate} requests/s"),
    });
    let mut settings = vec![
        (work::NAMES, name.clone()),
        (work::WORKERS_STAGE, stage.to_string()),
        (work::WORKERS_GROUP, group.to_string()),
        (work::DEPTH, depth.to_string()),
        (work::DURATION_RUNTIME, runtime.map_or("until its bytes are done".to_owned(), format_seconds)),
        (work::DURATION_RAMP, format_seconds(*ramp)),
        (work::DURATION_REPEATS, time_based.to_string()),
        (work::RATE_START, format_seconds(*start_delay)),
        (work::RATE_LIMIT, read_write_trim_text(&rates)),
        (work::RATE_SPACING, arrival_process_word(*process).to_owned() + &flow.map_or(String::new(), flow_text)),
        (work::RATE_PAUSE, think.map_or("none".to_owned(), think_time_text)),
        (
            work::PATTERN_FAILURES,
            format!(
                "a failed read {}, a failed write {}",
                failure_words(*survives_read),
                failure_words(*survives_write)
            ),
        ),
    ];
    if *counting == CountingRule::Window {
        settings.push((work::DURATION_COUNTED, "what completes in the run time".to_owned()));
    }
    settings.extend(match pattern {
        Pattern::Fio(pattern) => fio_settings(pattern, *depth),
        Pattern::Iometer(pattern) => iometer_settings(pattern),
    });
    settings
}

const fn failure_words(survived: bool) -> &'static str {
    if survived { "is passed over" } else { "ends it" }
}

fn format_seconds(span: Span) -> String {
    format!("{} s", span.nanos() as f64 / 1e9)
}

/// The values for reads, writes and trims; a single one if they are equal.
fn read_write_trim_text<T: Display + PartialEq>(values: &[T; 3]) -> String {
    match values {
        [a, b, c] if a == b && b == c => a.to_string(),
        [a, b, c] => format!("{a} / {b} / {c}"),
    }
}

fn join_values<T>(values: &[T], to_text: impl Fn(&T) -> String) -> String {
    values.iter().map(to_text).collect::<Vec<_>>().join(" + ")
}

/// The values of the lines of an access specification; a single one if all are equal.
fn access_lines_text(lines: &[AccessLine], to_text: impl Fn(&AccessLine) -> String) -> String {
    let first = lines.first().map(&to_text);
    match first.filter(|first| lines.iter().all(|line| to_text(line) == *first)) {
        Some(common) => common,
        None => join_values(lines, to_text),
    }
}

/// A value with several parameters, as Rust's `Debug` prints it.
fn debug_form(value: &impl Debug) -> String {
    format!("{value:?}")
}

const fn arrival_process_word(process: ArrivalProcess) -> &'static str {
    match process {
        ArrivalProcess::Linear => "even",
        ArrivalProcess::Poisson => "exponential",
    }
}

fn think_time_text(think: ThinkTime) -> String {
    let ThinkTime { time, spin, blocks, on_issue } = think;
    let (time, spin) = (format_seconds(time), format_seconds(spin));
    format!("{time} after {blocks} blocks {}, {spin} of it computing", if on_issue { "issued" } else { "done" })
}

fn region_text(region: &Region) -> String {
    format!("{} bytes at {}", region.bytes, region.start)
}

fn fio_settings(pattern: &FioPattern, depth: u32) -> Vec<KeyValue> {
    let FioPattern {
        direction,
        random,
        mix_read,
        modifier,
        blocks,
        align,
        sizes_by_randomness,
        files,
        file_service,
        bytes,
        requests,
        loops,
        distribution,
        random_map,
        generator,
        seed,
        repeat,
        syncs,
        flush_at_end,
        write_through,
        strided,
        zoned,
        done_for_good,
        sizes_alike,
        verify,
        backlog,
        engine,
        priority,
    } = pattern;
    let depends_on_polling = syncs.has_any() || backlog.is_some() || *flush_at_end || zoned.is_some();
    let by_randomness = if *sizes_by_randomness { ", the first in sequence, the second at random" } else { "" };
    let generator = match generator {
        Generator::Tausworthe => "tausworthe",
        Generator::Tausworthe64 => "tausworthe64",
        Generator::Lfsr => "lfsr",
    };
    // The share of reads means nothing unless they are mixed.
    let reads = match direction {
        Direction::Mixed => format!("{mix_read} %"),
        _ => "not mixed".to_owned(),
    };
    vec![
        (work::PATTERN_GENERATOR, format!("fio, {generator}")),
        (work::PATTERN_DIRECTION, direction_word(*direction).to_owned()),
        (work::PATTERN_READS, reads),
        (work::PATTERN_RANDOM, format!("{} %", read_write_trim_text(random))),
        (work::PATTERN_ORDER, format!("{}; {}", address_order_text(*modifier), file_service_word(*file_service))),
        (work::PATTERN_DISTRIBUTION, distribution_text(distribution)),
        (work::PATTERN_COVERAGE, (if *random_map { "each block once" } else { "blocks may come twice" }).to_owned()),
        (work::PATTERN_SEED, seed_text(*seed, *repeat)),
        (work::PATTERN_VERIFY, verify_text(*verify, *sizes_alike, *backlog)),
        (work::PATTERN_PRIORITY, format!("{} %", read_write_trim_text(priority))),
        (work::SIZE_BLOCKS, read_write_trim_text(&blocks.each_ref().map(block_sizes_text)) + by_randomness),
        (work::SIZE_ALIGN, format!("{} bytes", read_write_trim_text(align))),
        (work::PLACE_FILES, join_values(files, region_text)),
        (work::PLACE_BYTES, bytes.to_string()),
        (work::PLACE_ZONES, zones_text(strided.as_ref(), zoned.as_ref())),
        (work::DURATION_REQUESTS, requests.map_or("no limit".to_owned(), |count| count.to_string())),
        (work::DURATION_PASSES, format!("{loops}{}", if *done_for_good { ", each file done once" } else { "" })),
        (work::FLUSH_EVERY, syncs_text(*syncs) + if *flush_at_end { ", and at the end" } else { "" }),
        (work::DEPTH_ENGINE, engine_text(*engine, depth, depends_on_polling)),
        (work::FLUSH_EACH, (if *write_through { "durable before it completes" } else { "no" }).to_owned()),
    ]
}

fn address_order_text(modifier: Option<RwModifier>) -> String {
    match modifier {
        None => "each by itself".to_owned(),
        Some(RwModifier::Run(count)) => format!("{count} in sequence from each place"),
        Some(RwModifier::Same(count)) => format!("{count} at each place"),
        Some(RwModifier::Skip(bytes)) => format!("{bytes} bytes left out after each"),
    }
}

/// The seed, with a note if passes differ because the random streams run on from one to the next.
fn seed_text(seed: u64, repeat: RandomRepeat) -> String {
    match repeat {
        RandomRepeat::Runs => format!("{seed}, of which passes differ"),
        RandomRepeat::Passes | RandomRepeat::Never => seed.to_string(),
    }
}

fn flow_text(flow: Flow) -> String {
    let sleep =
        if flow.sleep == Span::ZERO { String::new() } else { format!(", sleeping {}", format_seconds(flow.sleep)) };
    format!("; weight {} in flow {}{sleep}", flow.weight, flow.id)
}

/// After how many writes each kind of sync comes; of fsync and fdatasync, one alone is not told from the other, because both flush.
fn syncs_text(syncs: Syncs) -> String {
    let Syncs { fsync, fdatasync, file_range } = syncs;
    let mut text = match (fsync, fdatasync) {
        (every, 0) | (0, every) => format!("{every} writes"),
        (whole, data) => format!("{whole} writes, data alone every {data}"),
    };
    if file_range > 0 {
        text += &format!(", sync_file_range every {file_range}");
    }
    text
}

/// Whether written data are read back, and in which batches. fio's `verify` makes reads and writes draw their sizes alike (`sizes_alike`),
/// even if nothing is read back.
fn verify_text(verify: bool, sizes_alike: bool, backlog: Option<VerifyBacklog>) -> String {
    match backlog {
        None if sizes_alike && !verify => "false, with sizes as if it did".to_owned(),
        Some(VerifyBacklog { every, batch }) => format!("{verify}, {batch} after each {every} writes"),
        None => verify.to_string(),
    }
}

/// How the I/O engine hands over and collects requests. With one request in flight all engines do the same. With several, those that
/// collect completions by the usual counts do too, unless the job `depends_on_polling`: on when fio collects completions.
fn engine_text(engine: IoEngine, depth: u32, depends_on_polling: bool) -> String {
    let IoEngine { kind, least, most, low, batch } = engine;
    let usual = IoEngine::default();
    let has_usual_counts = (least, most, low) == (usual.least, usual.most, usual.low);
    let collects_as_usual = has_usual_counts && kind != EngineKind::OneGroupAtATime;
    if depth == 1 || (collects_as_usual && !depends_on_polling) {
        return "as each completes".to_owned();
    }
    let kind = match kind {
        EngineKind::OneAtATime => "one call after another",
        EngineKind::SyncsHold => "requests queued, syncs called",
        EngineKind::AllQueued => "requests and syncs queued",
        EngineKind::OneGroupAtATime => "requests and syncs queued, one group after another",
    };
    let low = if low == 0 { "the depth".to_owned() } else { low.to_string() };
    let batch = if batch > 1 { format!(", handed over by {batch}") } else { String::new() };
    format!("{kind}{batch}; {least} to {most} taken back down to {low}")
}

const fn direction_word(direction: Direction) -> &'static str {
    match direction {
        Direction::Read => "reads",
        Direction::Write => "writes",
        Direction::Trim => "trims",
        Direction::Mixed => "reads and writes",
        Direction::TrimWrite => "a trim, then a write",
    }
}

const fn file_service_word(service: FileService) -> &'static str {
    match service {
        FileService::RoundRobin => "files by turns",
        FileService::Sequential => "files one after another",
        FileService::Random => "files at random",
    }
}

fn distribution_text(distribution: &Distribution) -> String {
    match distribution {
        Distribution::Uniform => "even".to_owned(),
        other => debug_form(other),
    }
}

fn block_sizes_text(blocks: &BlockSizes) -> String {
    match blocks {
        BlockSizes::Fixed(bytes) => format!("{bytes} bytes"),
        BlockSizes::Range { min, max, unaligned } => {
            format!("{min} to {max} bytes{}", if *unaligned { ", any number" } else { "" })
        }
        BlockSizes::Split(shares) => join_values(shares, |(bytes, percent)| format!("{bytes} bytes {percent} %")),
    }
}

fn zones_text(strided: Option<&StridedZones>, zoned: Option<&Zoned>) -> String {
    match (strided, zoned) {
        (Some(StridedZones { range, size, skip }), _) => format!("{size} of each {range} bytes, {skip} skipped"),
        (None, Some(zoned)) => zoned_text(zoned),
        (None, None) => "none".to_owned(),
    }
}

fn zoned_text(zoned: &Zoned) -> String {
    let Zoned { size, capacity, most_open, most_open_of_worker, skip, beyond, reset_threshold, reset_every, .. } =
        zoned;
    let mut text = format!("made of {size} bytes, {capacity} written from the first on, {skip} skipped");
    if *most_open > 0 {
        text += &format!("; {most_open} open");
    }
    if *most_open_of_worker > 0 {
        text += &format!(", {most_open_of_worker} of a worker");
    }
    if *reset_every > 0 {
        let percent = f64::from(*reset_threshold) / 1e4;
        text += &format!("; from {percent} % on one emptied each {reset_every} writes");
    }
    text + if *beyond { "; read beyond what is written" } else { "" }
}

fn iometer_settings(pattern: &IometerPattern) -> Vec<KeyValue> {
    let IometerPattern { spec, area, worker_seed, target_seed } = pattern;
    let by_line = |to_text: fn(&AccessLine) -> String| access_lines_text(&spec.lines, to_text);
    vec![
        (work::PATTERN_GENERATOR, "Iometer".to_owned()),
        (work::PATTERN_READS, by_line(|line| format!("{} %", line.reads))),
        (work::PATTERN_RANDOM, by_line(|line| format!("{} %", line.random))),
        (work::PATTERN_SHARES, join_values(&spec.lines, |line| format!("{} %", line.share))),
        (work::PATTERN_SEED, format!("{worker_seed}, {target_seed}")),
        (work::SIZE_BLOCKS, by_line(|line| format!("{} bytes, answered by {}", line.size, line.reply))),
        (work::SIZE_ALIGN, by_line(|line| format!("{} bytes", line.align))),
        (work::RATE_PAUSE, by_line(|line| format!("{} before {}", format_seconds(line.delay), line.burst))),
        (work::PLACE_FILES, region_text(area)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::Inputs;
    use crate::jobs;
    use seekwise_run::work::Work;

    fn told(text: &str, key: &str) -> Option<String> {
        let read = |_: &str| Ok(text.to_owned());
        let job = jobs::load_job("a.fio", 1 << 24, &Inputs::from_today(&read), &[]).unwrap().job;
        let Work::Job(job) = job else { panic!("a job") };
        from_job(&job, 1 << 24).into_iter().find(|setting| setting.key == key).map(|setting| setting.value)
    }

    #[test]
    fn workers_are_told_apart_and_counted() {
        let text = "[global]\nioengine=libaio\ndirect=1\nsize=1m\n[one]\nrw=read\nnumjobs=4\n[two]\nrw=randwrite\niodepth=32\n";
        let said = |key| told(text, key).unwrap();
        assert_eq!(said("job.depth"), "1 (4 workers), 32");
        assert_eq!(said("job.workers.count"), "5");
        assert_eq!(said("job.pattern.direction"), "reads (4 workers), writes");
        assert_eq!(said("job.capacity"), "16777216 sectors");
        assert_eq!(told(text, "job.pattern.shares"), None, "only Iometer's jobs have shares");
    }

    /// Each option, changed, shows under its key, and under no other.
    #[test]
    fn what_is_told_shows() {
        let base = "[a]\nioengine=libaio\ndirect=1\nsize=64m\nrw=randrw\nruntime=9\n";
        let keys = |text: &str| -> Vec<&'static str> {
            work::ALL.iter().copied().filter(|key| told(base, key) != told(text, key)).collect()
        };
        for (option, key) in [
            ("iodepth=4", "job.depth"),
            ("ramp_time=1", "job.duration.ramp"),
            ("runtime=8", "job.duration.runtime"),
            ("loops=2", "job.duration.passes"),
            ("number_ios=7", "job.duration.requests"),
            ("rate_iops=100", "job.rate.limit"),
            ("flow=3", "job.rate.spacing"),
            ("thinktime=10", "job.rate.pause"),
            ("startdelay=1", "job.rate.start"),
            ("rwmixread=70", "job.pattern.reads"),
            ("percentage_random=40", "job.pattern.random"),
            ("randseed=3", "job.pattern.seed"),
            ("norandommap", "job.pattern.coverage"),
            ("bsrange=4k-8k", "job.size.blocks"),
            ("norandommap\nblockalign=8k", "job.size.align"),
            ("fsync=3", "job.flush.every"),
            ("fdatasync=3\nfsync=4", "job.flush.every"),
            ("sync_file_range=write:2", "job.flush.every"),
            ("verify=md5\nverify_backlog=8", "job.pattern.verify"),
            ("sync=1", "job.flush.each"),
            ("offset=8m", "job.place.files"),
            ("io_size=1m", "job.place.bytes"),
            ("numjobs=2", "job.workers.count"),
            ("continue_on_error=read", "job.pattern.failures"),
            ("zonemode=zbd\nzonesize=1m", "job.place.zones"),
            ("zonemode=zbd\nzonesize=1m\nmax_open_zones=2\nzone_reset_frequency=0.1", "job.place.zones"),
        ] {
            let differ = keys(&format!("{base}{option}\n"));
            assert!(differ.contains(&key), "{option}: {differ:?}");
            let first = |key: &str| key.split('.').nth(1).unwrap().to_owned();
            let others: Vec<_> = differ.iter().filter(|other| first(other) != first(key)).collect();
            // Two workers divide nothing, but are two; a part of the file, aligned differently, has no map.
            let allowed = ["numjobs=2", "norandommap\nblockalign=8k"].contains(&option);
            assert!(others.is_empty() || allowed, "{option}: {differ:?}");
        }
    }
}
