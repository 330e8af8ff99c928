//! A job's work as settings: how it was understood, laid out on its drive, after includes, variables and all that a
//! study sets. Two cells with equal settings do the same work.
//!
//! A setting lists the values of all workers, in their order; equal neighbours are counted: `1 (4 workers), 32`. The
//! first word of its key is its concern: see [`concern_of`](seekwise_formats::keys::concern_of).

use std::fmt::{Debug, Display};

use seekwise_disk::time::Span;
use seekwise_drives::key_names::work;
use seekwise_drives::stack::Setting;
use seekwise_formats::recording;
use seekwise_work::workload::session_replay::RecordedSession;
use seekwise_work::workload::{
    AccessLine, ArrivalProcess, BlockSizes, CountingRule, Direction, Distribution, EngineKind, FileService, FioPattern,
    Flow, Generator, IoEngine, IometerPattern, IssueRate, Job, Pattern, RandomRepeat, Region, RwModifier, StridedZones,
    Syncs, ThinkTime, VerifyBacklog, Worker, Zoned,
};

use crate::digest::sha256;

/// A worker's value of one of the keys of [`work`].
type Told = (&'static str, String);

/// The settings of `job` on a volume of `capacity` sectors.
pub(crate) fn from_job(job: &Job, capacity: u64) -> Vec<Setting> {
    let told: Vec<Vec<Told>> = job.workers.iter().map(worker_values).collect();
    let value = |key: &'static str| match key {
        work::CAPACITY => Some(format!("{capacity} sectors")),
        work::WORKERS_COUNT => Some(job.workers.len().to_string()),
        _ => count_equal(told.iter().map(|told| told.iter().find(|(known, _)| *known == key).map(|(_, value)| value))),
    };
    let setting =
        |key: &'static str| Some(Setting::set_by_user(key.to_owned(), value(key)?, "the job as it was understood"));
    work::ALL.iter().copied().filter_map(setting).collect()
}

/// The common settings of all scenes: when it ends, and the volume on which it is laid out.
pub(crate) fn from_scene(runtime: Option<Span>, capacity: u64) -> Vec<Setting> {
    let end = runtime.map_or("when its programs are over".to_owned(), format_seconds);
    let told = [(work::CAPACITY, format!("{capacity} sectors")), (work::DURATION_RUNTIME, end)];
    told.map(|(key, value)| Setting::set_by_user(key.to_owned(), value, "the job as it was understood")).to_vec()
}

/// The settings of a recorded session: its requests, identified by a hash of all that is recorded of them.
pub(crate) fn from_session(session: &RecordedSession, capacity: u64) -> Vec<Setting> {
    let hash = sha256(session.entries.iter().map(recording::request_line).collect::<String>().as_bytes());
    let told = [
        (work::NAMES, session.name.clone()),
        (work::CAPACITY, format!("{capacity} sectors")),
        (work::PATTERN_GENERATOR, format!("{} recorded requests, sha256 {hash}", session.entries.len())),
    ];
    told.map(|(key, value)| Setting::set_by_user(key.to_owned(), value, "the session as it was recorded")).to_vec()
}

/// The workers' values in their order, equal neighbours counted; `None` if no worker has one.
fn count_equal<'a>(values: impl Iterator<Item = Option<&'a String>>) -> Option<String> {
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
            let said = |&(value, count): &(Option<&String>, usize)| match (value.map_or("–", String::as_str), count) {
                (value, 1) => value.to_owned(),
                (value, count) => format!("{value} ({count} workers)"),
            };
            Some(runs.iter().map(said).collect::<Vec<_>>().join(", "))
        }
    }
}

fn worker_values(worker: &Worker) -> Vec<Told> {
    // Taken apart by name, so that a new setting of a worker is not forgotten here.
    let Worker { name, stage, group, start_delay, ramp, counting, runtime, time_based, .. } = worker;
    let Worker { depth, pace, survives, pattern, .. } = worker;
    let [after_read, after_write] = survives;
    let rates = pace.rate.map(|rate| match rate {
        None => "none".to_owned(),
        Some(IssueRate::Bytes(rate)) => format!("{rate} bytes/s"),
        Some(IssueRate::Requests(rate)) => format!("{rate} requests/s"),
    });
    let mut told = vec![
        (work::NAMES, name.clone()),
        (work::WORKERS_STAGE, stage.to_string()),
        (work::WORKERS_GROUP, group.to_string()),
        (work::DEPTH, depth.to_string()),
        (work::DURATION_RUNTIME, runtime.map_or("until its bytes are done".to_owned(), format_seconds)),
        (work::DURATION_RAMP, format_seconds(*ramp)),
        (work::DURATION_REPEATS, time_based.to_string()),
        (work::RATE_START, format_seconds(*start_delay)),
        (work::RATE_LIMIT, format_triple(&rates)),
        (work::RATE_SPACING, process_word(pace.process).to_owned() + &pace.flow.map_or(String::new(), flow_text)),
        (work::RATE_PAUSE, pace.think.map_or("none".to_owned(), think_text)),
        (
            work::PATTERN_FAILURES,
            format!("a failed read {}, a failed write {}", failure_word(*after_read), failure_word(*after_write)),
        ),
    ];
    if *counting == CountingRule::Window {
        told.push((work::DURATION_COUNTED, "what completes in the run time".to_owned()));
    }
    told.extend(match pattern {
        Pattern::Fio(pattern) => fio_values(pattern, *depth),
        Pattern::Iometer(pattern) => iometer_values(pattern),
    });
    told
}

const fn failure_word(survived: bool) -> &'static str {
    if survived { "is passed over" } else { "ends it" }
}

fn format_seconds(span: Span) -> String {
    format!("{} s", span.nanos() as f64 / 1e9)
}

/// Reads, writes and trims; one value if they are equal.
fn format_triple<T: Display + PartialEq>(values: &[T; 3]) -> String {
    match values {
        [a, b, c] if a == b && b == c => a.to_string(),
        [a, b, c] => format!("{a} / {b} / {c}"),
    }
}

fn join_values<T>(values: &[T], said: impl Fn(&T) -> String) -> String {
    values.iter().map(said).collect::<Vec<_>>().join(" + ")
}

/// The values of the lines of an access specification; one value if all are equal.
fn line_values(lines: &[AccessLine], said: impl Fn(&AccessLine) -> String) -> String {
    let first = lines.first().map(&said);
    match first.filter(|first| lines.iter().all(|line| said(line) == *first)) {
        Some(all) => all,
        None => join_values(lines, said),
    }
}

/// A value as the model's source writes it, for settings with several parameters.
fn debug_text(value: &impl Debug) -> String {
    format!("{value:?}")
}

const fn process_word(process: ArrivalProcess) -> &'static str {
    match process {
        ArrivalProcess::Linear => "even",
        ArrivalProcess::Poisson => "exponential",
    }
}

fn think_text(think: ThinkTime) -> String {
    let ThinkTime { time, spin, blocks, on_issue } = think;
    let (time, spin) = (format_seconds(time), format_seconds(spin));
    format!("{time} after {blocks} blocks {}, {spin} of it computing", if on_issue { "issued" } else { "done" })
}

fn region_text(region: &Region) -> String {
    format!("{} bytes at {}", region.bytes, region.start)
}

fn fio_values(pattern: &FioPattern, depth: u32) -> Vec<Told> {
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
    let hangs = syncs.has_any() || backlog.is_some() || *flush_at_end || zoned.is_some();
    let by = if *sizes_by_randomness { ", the first in sequence, the second at random" } else { "" };
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
        (work::PATTERN_DIRECTION, self::direction_word(*direction).to_owned()),
        (work::PATTERN_READS, reads),
        (work::PATTERN_RANDOM, format!("{} %", format_triple(random))),
        (work::PATTERN_ORDER, format!("{}; {}", order_text(*modifier), service_word(*file_service))),
        (work::PATTERN_DISTRIBUTION, self::distribution_text(distribution)),
        (work::PATTERN_COVERAGE, (if *random_map { "each block once" } else { "blocks may come twice" }).to_owned()),
        (work::PATTERN_SEED, self::seed_text(*seed, *repeat)),
        (work::PATTERN_VERIFY, verify_text(*verify, *sizes_alike, *backlog)),
        (work::PATTERN_PRIORITY, format!("{} %", format_triple(priority))),
        (work::SIZE_BLOCKS, format_triple(&blocks.each_ref().map(self::blocks_text)) + by),
        (work::SIZE_ALIGN, format!("{} bytes", format_triple(align))),
        (work::PLACE_FILES, join_values(files, region_text)),
        (work::PLACE_BYTES, bytes.to_string()),
        (work::PLACE_ZONES, zones_text(strided.as_ref(), zoned.as_ref())),
        (work::DURATION_REQUESTS, requests.map_or("no limit".to_owned(), |count| count.to_string())),
        (work::DURATION_PASSES, format!("{loops}{}", if *done_for_good { ", each file done once" } else { "" })),
        (work::FLUSH_EVERY, self::syncs_text(*syncs) + if *flush_at_end { ", and at the end" } else { "" }),
        (work::DEPTH_ENGINE, self::engine_text(*engine, depth, hangs)),
        (work::FLUSH_EACH, (if *write_through { "durable before it completes" } else { "no" }).to_owned()),
    ]
}

fn order_text(modifier: Option<RwModifier>) -> String {
    match modifier {
        None => "each by itself".to_owned(),
        Some(RwModifier::Run(count)) => format!("{count} in sequence from each place"),
        Some(RwModifier::Same(count)) => format!("{count} at each place"),
        Some(RwModifier::Skip(bytes)) => format!("{bytes} bytes left out after each"),
    }
}

/// The seed; for fio's own, the original words.
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

/// For a single sync, the original words.
fn syncs_text(syncs: Syncs) -> String {
    let Syncs { fsync, fdatasync, file_range } = syncs;
    let mut said = match (fsync, fdatasync) {
        (every, 0) | (0, every) => format!("{every} writes"),
        (whole, data) => format!("{whole} writes, data alone every {data}"),
    };
    if file_range > 0 {
        said += &format!(", sync_file_range every {file_range}");
    }
    said
}

fn verify_text(verify: bool, alike: bool, backlog: Option<VerifyBacklog>) -> String {
    match backlog {
        None if alike && !verify => "false, with sizes as if it did".to_owned(),
        Some(VerifyBacklog { every, batch }) => format!("{verify}, {batch} after each {every} writes"),
        None => verify.to_string(),
    }
}

/// With one request in flight, or if no sync depends on when fio looks, all engines are the same.
fn engine_text(engine: IoEngine, depth: u32, hangs: bool) -> String {
    let IoEngine { kind, least, most, low, batch } = engine;
    let plain = kind != EngineKind::OneGroupAtATime && engine == (IoEngine { kind, batch, ..IoEngine::default() });
    if depth == 1 || (!hangs && plain) {
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

const fn service_word(service: FileService) -> &'static str {
    match service {
        FileService::RoundRobin => "files by turns",
        FileService::Sequential => "files one after another",
        FileService::Random => "files at random",
    }
}

fn distribution_text(distribution: &Distribution) -> String {
    match distribution {
        Distribution::Uniform => "even".to_owned(),
        other => debug_text(other),
    }
}

fn blocks_text(blocks: &BlockSizes) -> String {
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
        (None, Some(zoned)) => written_zones(zoned),
        (None, None) => "none".to_owned(),
    }
}

fn written_zones(zoned: &Zoned) -> String {
    let Zoned { size, capacity, most_open, most_open_of_worker, skip, beyond, reset_threshold, reset_every, .. } =
        zoned;
    let mut said = format!("made of {size} bytes, {capacity} written from the first on, {skip} skipped");
    if *most_open > 0 {
        said += &format!("; {most_open} open");
    }
    if *most_open_of_worker > 0 {
        said += &format!(", {most_open_of_worker} of a worker");
    }
    if *reset_every > 0 {
        let percent = f64::from(*reset_threshold) / 1e4;
        said += &format!("; from {percent} % on one emptied each {reset_every} writes");
    }
    said + if *beyond { "; read beyond what is written" } else { "" }
}

fn iometer_values(pattern: &IometerPattern) -> Vec<Told> {
    let IometerPattern { spec, area, worker_seed, target_seed } = pattern;
    let told = |said: fn(&AccessLine) -> String| line_values(&spec.lines, said);
    vec![
        (work::PATTERN_GENERATOR, "Iometer".to_owned()),
        (work::PATTERN_READS, told(|line| format!("{} %", line.reads))),
        (work::PATTERN_RANDOM, told(|line| format!("{} %", line.random))),
        (work::PATTERN_SHARES, join_values(&spec.lines, |line| format!("{} %", line.share))),
        (work::PATTERN_SEED, format!("{worker_seed}, {target_seed}")),
        (work::SIZE_BLOCKS, told(|line| format!("{} bytes, answered by {}", line.size, line.reply))),
        (work::SIZE_ALIGN, told(|line| format!("{} bytes", line.align))),
        (work::RATE_PAUSE, told(|line| format!("{} before {}", format_seconds(line.delay), line.burst))),
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
