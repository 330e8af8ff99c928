//! A recorded trace as a job: surveyed once, identified by a hash of its requests, laid out on a target, opened again for each run.
//!
//! Devices of a trace lie one after another, each at a multiple of 1 MiB. `trace.map` says to which addresses requests of a larger device
//! go. Formats are read by [`seekwise_formats::trace`], and files are opened only by the opener in [`Inputs`].

mod mapping;
mod prefetch;

use std::io::{self, ErrorKind, Read};
use std::sync::Arc;

use seekwise_disk::block::{Limits, SECTOR};
use seekwise_disk::time::{Instant, Span};
use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::key_names::{self, job, work};
use seekwise_drives::stack::Setting;
use seekwise_formats::fio::IologReplay;
use seekwise_formats::trace::keys::{AddressMapping, TraceOptions, loop_word};
use seekwise_formats::trace::survey::{TraceSurvey, survey};
use seekwise_formats::trace::{self, FormatGuess, HEAD_BYTES, TraceEntry, TraceFormat, TracePart, TraceReadOptions};
use seekwise_run::work::trace::{MovedRows, TraceFeed, TraceSpec};
use seekwise_work::workload::trace::{LoopMode, ReplayLoop, ReplayMode, Stall, TraceRow};

use self::mapping::TraceAddresses;
use self::prefetch::TracePrefetch;
use crate::inputs::{Inputs, OpenParts};

/// A loaded trace.
#[derive(Clone, Debug)]
pub struct LoadedTrace {
    pub survey: Arc<TraceSurvey>,
    /// The options of reading and playing it.
    pub options: TraceOptions,
    /// Sectors of the target on which it was laid out.
    pub sectors: u64,
}

/// The keys of a job that apply to a trace.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TraceLimits<'a> {
    /// Requests outstanding in a closed loop, as in `job.depth`.
    pub depth: Option<&'a str>,
    /// The time after which it ends.
    pub runtime: Option<Span>,
    /// The target's capabilities.
    pub limits: Option<&'a Limits>,
}

/// Loads the trace called `name` for a target of `sectors`; `None` if it is no trace, or a recording that is to be played unchanged.
pub(crate) fn load_trace(
    name: &str,
    sectors: u64,
    inputs: &Inputs<'_>,
    trace_keys: &[(&str, &str)],
    job_limits: TraceLimits<'_>,
) -> Result<Option<(TraceSpec, LoadedTrace)>, Diagnostic> {
    let Some(open) = opener_if_trace(name, inputs, trace_keys)? else { return Ok(None) };
    let options = TraceOptions::parse(name, trace_keys.iter().copied())?;
    load_with_opener(name, open, options, sectors, inputs, job_limits).map(Some)
}

/// Loads the log that a fio job plays. Job files come from others: a name that is no plain file is not opened, and a file that is no log of
/// fio's is not read beyond its first lines.
pub(crate) fn load_replayed_log(
    replayed: &IologReplay,
    map: AddressMapping,
    sectors: u64,
    inputs: &Inputs<'_>,
    job_limits: TraceLimits<'_>,
) -> Result<(TraceSpec, LoadedTrace), Diagnostic> {
    let (name, (file, line)) = (&*replayed.path, &replayed.place);
    let fault = |why: String| Diagnostic::at(file, *line, format!("`{name}` {why}")).with_key("read_iolog");
    let Some(open) = inputs.opener() else {
        return Err(fault("is not kept beside its results, and is not opened here".to_owned()));
    };
    let unread = |why: io::Error| fault(format!("cannot be read: {why}"));
    if !std::fs::metadata(name).map_err(unread)?.is_file() {
        return Err(fault("is no plain file".to_owned()).with_expected("a log of fio's, version 2 or 3"));
    }
    let mut head = Vec::new();
    if let Some((_, part)) = open(name).map_err(unread)?.into_iter().next() {
        part.take(HEAD_BYTES).read_to_end(&mut head).map_err(unread)?;
    }
    if !trace::is_replayable_iolog(&head) {
        let expected = format!("one of version 2 or 3, as fio asks; `seekwise run {name}` plays traces of other forms");
        return Err(fault("is no log that fio plays".to_owned()).with_expected(expected));
    }
    let runtime = job_limits.runtime.or(replayed.runtime);
    load_with_opener(
        name,
        open,
        TraceOptions { map, ..replayed.options.clone() },
        sectors,
        inputs,
        TraceLimits { runtime, ..job_limits },
    )
}

fn load_with_opener(
    name: &str,
    open: &OpenParts,
    options: TraceOptions,
    sectors: u64,
    inputs: &Inputs<'_>,
    job_limits: TraceLimits<'_>,
) -> Result<(TraceSpec, LoadedTrace), Diagnostic> {
    let keep_touched = options.map == AddressMapping::Compact;
    let survey = inputs.survey_trace(name, &options.reading, keep_touched, &|| {
        survey(&|| open_parts(name, open), &options.reading, keep_touched)
    })?;
    let how = replay_mode(name, &options, &survey, job_limits)?;
    let addresses = TraceAddresses::new(&survey, options.map, sectors);
    check_fits_target(name, open, &options, &survey, &addresses)?;
    job_limits.limits.map_or(Ok(()), |limits| check_target_accepts(name, &survey, limits))?;
    let reading = TraceReadOptions { format: Some(survey.format), wait: survey.wait, ..options.reading.clone() };
    let (file, open) = (name.to_owned(), OpenParts::clone(open));
    let open_feed = move || -> Result<Box<dyn TraceFeed>, String> {
        let reader =
            open_parts(&file, &open).and_then(|parts| trace::open(parts, &reading)).map_err(|it| it.to_string())?;
        Ok(Box::new(RecordedFeed {
            rows: TracePrefetch::new(reader),
            addresses: addresses.clone(),
            fault: None,
            moved: MovedRows::default(),
        }))
    };
    let (requests, writes, trims, span) = (survey.requests, survey.writes, survey.trims, survey.span);
    let spec = TraceSpec { name: name.to_owned(), how, requests, writes, trims, span, open: Arc::new(open_feed) };
    Ok((spec, LoadedTrace { survey, options, sectors }))
}

/// The opener of files, if `name` is a trace to be loaded.
fn opener_if_trace<'a>(
    name: &str,
    inputs: &'a Inputs<'_>,
    trace_keys: &[(&str, &str)],
) -> Result<Option<&'a OpenParts>, Diagnostic> {
    let Some(open) = inputs.opener() else {
        return match inputs.keeps_trace(name) {
            true => Err(Diagnostic::at(name, 0, "a trace is not kept beside its results, and is not opened here")),
            false => Ok(None),
        };
    };
    if !inputs.may_be_trace(name) {
        return Ok(None);
    }
    let mut head = Vec::new();
    match open(name) {
        Ok(parts) => {
            let Some((file, part)) = parts.into_iter().next() else { return Ok(None) };
            let read = part.take(HEAD_BYTES).read_to_end(&mut head);
            read.map_err(|why| Diagnostic::at(&file, 0, format!("cannot be read: {why}")))?;
        }
        Err(why) if why.kind() == ErrorKind::NotFound && !inputs.keeps_trace(name) => return Ok(None),
        Err(why) => return Err(Diagnostic::at(name, 0, format!("cannot be read: {why}"))),
    }
    let format_is_given = trace_keys.iter().any(|(key, _)| *key == key_names::trace::FORMAT);
    match trace::recognise(&head) {
        _ if format_is_given => Ok(Some(open)),
        // A recording is played unchanged, tag by tag, unless keys of a trace are set.
        FormatGuess::As(TraceFormat::Recording) if trace_keys.is_empty() => Ok(None),
        FormatGuess::As(_) => Ok(Some(open)),
        FormatGuess::Refused(why) => Err(Diagnostic::at(name, 0, why)),
        FormatGuess::Not => Ok(None),
    }
}

fn open_parts(name: &str, open: &OpenParts) -> Result<Vec<TracePart>, Diagnostic> {
    open(name).map_err(|why| Diagnostic::at(name, 0, format!("cannot be read: {why}")))
}

/// The mode in which a trace is played; an error if it cannot be.
fn replay_mode(
    name: &str,
    options: &TraceOptions,
    survey: &TraceSurvey,
    job_limits: TraceLimits<'_>,
) -> Result<ReplayMode, Diagnostic> {
    let fault = |key: &str, what: &str| Diagnostic::at(name, 0, what).with_key(key);
    let parse_depth = |depth: &str| match depth.parse() {
        Ok(depth) if (1..=65_535).contains(&depth) => Ok(depth),
        _ => Err(fault(job::DEPTH, &format!("`{depth}` is invalid")).with_expected("from 1 to 65535")),
    };
    let mode = match (options.mode, job_limits.depth) {
        (mode, None) => mode,
        (LoopMode::Closed(_), Some(depth)) => LoopMode::Closed(parse_depth(depth)?),
        (LoopMode::Replay(replay), Some(depth)) => {
            LoopMode::Replay(ReplayLoop { depth: parse_depth(depth)?, ..replay })
        }
        (_, Some(_)) => {
            let error = fault(job::DEPTH, "a trace has no depth but in a closed loop");
            return Err(error.with_expected("trace.loop=closed beside it"));
        }
    };
    match mode {
        LoopMode::Closed(_) if options.speed != seekwise_work::workload::trace::ReplaySpeed::default() => {
            let error = fault(key_names::trace::SPEED, "a closed loop goes by no instants");
            return Err(error.with_expected("trace.loop=open or dependent with it"));
        }
        LoopMode::Closed(_) | LoopMode::Replay(_) => {}
        LoopMode::Dependent if survey.responses == 0 => {
            let title = survey.format.spec().title;
            let why = format!("it does not say when requests were over, and has no dependencies to keep: {title}");
            return Err(
                fault(key_names::trace::LOOP, &why).with_expected("open or closed, or a trace with response times")
            );
        }
        LoopMode::Open | LoopMode::Dependent => survey.check_timestamps(name, &options.reading)?,
    }
    // A log of version 2 has the instants until which it waits, a log of version 3 the lengths of its waits.
    let mode = match mode {
        LoopMode::Replay(ReplayLoop { depth, stall: Stall::Recorded, calls }) if survey.met.waits > 0 => {
            LoopMode::Replay(ReplayLoop { depth, stall: Stall::Instant, calls })
        }
        mode => mode,
    };
    let until = job_limits.runtime.map(|runtime| Instant::ZERO + runtime);
    Ok(ReplayMode { mode, speed: options.speed, until })
}

/// Fails if the target does not accept requests of such sizes.
fn check_target_accepts(name: &str, survey: &TraceSurvey, limits: &Limits) -> Result<(), Diagnostic> {
    if survey.largest > limits.max_transfer {
        let why = format!(
            "its longest request has {} sectors of 512 bytes, and {} are the most that the target takes at once",
            survey.largest, limits.max_transfer
        );
        return Err(Diagnostic::at(name, 0, why)
            .with_expected("a driver above the drive, which splits them: --set driver=linux-noop"));
    }
    if u64::from(limits.logical) > SECTOR && survey.unaligned > 0 {
        let why = format!("{} requests are no whole blocks of 4096 bytes", survey.unaligned);
        return Err(Diagnostic::at(name, 0, why).with_expected(format!("a target of {SECTOR}-byte sectors")));
    }
    Ok(())
}

/// Fails if requests lie beyond the target's end.
fn check_fits_target(
    name: &str,
    open: &OpenParts,
    options: &TraceOptions,
    survey: &TraceSurvey,
    addresses: &TraceAddresses,
) -> Result<(), Diagnostic> {
    let gb = |sectors: u64| (sectors as f64) * SECTOR as f64 / 1e9;
    let target_sectors = addresses.target_sectors();
    if addresses.needed_sectors() <= target_sectors {
        return Ok(());
    }
    if options.map != AddressMapping::Refuse {
        let why = format!(
            "what it touches is {:.1} GB, and the target has {:.1} GB",
            gb(addresses.needed_sectors()),
            gb(target_sectors)
        );
        return Err(Diagnostic::at(name, 0, why)
            .with_key(key_names::trace::MAP)
            .with_expected("wrap or scale, or a larger target"));
    }
    let beyond = count_beyond_end(name, open, options, survey, addresses)?;
    let devices = match &survey.devices[..] {
        [_] => String::new(),
        several => {
            let names: Vec<&str> = several.iter().take(8).map(|it| it.name.as_str()).collect();
            let more = if several.len() > names.len() { ", …" } else { "" };
            let (count, names) = (several.len(), names.join(", "));
            format!(", its {count} devices ({names}{more}) one behind another; trace.device=NAME plays one of them")
        }
    };
    let why = format!(
        "{beyond} of {} requests lie beyond the target's {:.1} GB: the trace takes {:.1} GB{devices}",
        survey.requests,
        gb(target_sectors),
        gb(addresses.needed_sectors())
    );
    Err(Diagnostic::at(name, 0, why)
        .with_key(key_names::trace::MAP)
        .with_expected("wrap, scale or compact, or a larger target"))
}

/// Number of requests beyond the target's end.
fn count_beyond_end(
    name: &str,
    open: &OpenParts,
    options: &TraceOptions,
    survey: &TraceSurvey,
    addresses: &TraceAddresses,
) -> Result<u64, Diagnostic> {
    let reading = TraceReadOptions { format: Some(survey.format), wait: survey.wait, ..options.reading.clone() };
    let mut reader = trace::open(open_parts(name, open)?, &reading)?;
    let mut beyond = 0;
    while let Some(entry) = reader.read()? {
        beyond += u64::from(addresses.recorded_lba(&entry) + u64::from(entry.sectors) > addresses.target_sectors());
    }
    Ok(beyond)
}

/// The settings of a trace and of the mode in which it is played.
pub(crate) fn trace_settings(name: &str, traced: &LoadedTrace, replay: ReplayMode) -> Vec<Setting> {
    let LoadedTrace { survey, options, sectors } = traced;
    let units = options.reading.units(survey.format);
    let mut settings = vec![
        (work::NAMES, name.to_owned()),
        (work::CAPACITY, format!("{sectors} sectors")),
        (key_names::trace::FORMAT, survey.format.spec().word.to_owned()),
        ("trace.requests", survey.summary_line().trim().to_owned()),
        (key_names::trace::LOOP, loop_word(replay.mode).to_owned()),
        (key_names::trace::MAP, options.map.word().to_owned()),
        (key_names::trace::DEVICE, options.reading.device.clone().unwrap_or_else(|| "all".to_owned())),
        ("trace.units", format!("{} ns, {} bytes, {} bytes", units.time, units.address, units.length)),
    ];
    match replay.mode {
        LoopMode::Closed(depth) => settings.push((work::DEPTH, depth.to_string())),
        LoopMode::Replay(ReplayLoop { depth, stall, calls }) => {
            let waits = match stall {
                Stall::Recorded => "distances",
                Stall::Instant => "instants",
                Stall::None => "nothing",
            };
            let syncs = if calls { "syncs called" } else { "syncs queued" };
            settings.push((work::DEPTH, depth.to_string()));
            settings.push(("trace.replay", format!("{waits} waited for, {syncs}")));
            settings.push((key_names::trace::SPEED, format!("{}", f64::from(replay.speed.thousandths) / 1e3)));
        }
        _ => settings.push((key_names::trace::SPEED, format!("{}", f64::from(replay.speed.thousandths) / 1e3))),
    }
    let end = replay.until.map_or("until it ends".to_owned(), |until| format!("{} s", until.nanos() as f64 / 1e9));
    settings.push((work::DURATION_RUNTIME, end));
    settings
        .into_iter()
        .map(|(key, value)| Setting::set_by_user(key.to_owned(), value, "the trace as it was understood"))
        .collect()
}

/// A trace that is read for a run.
struct RecordedFeed {
    rows: TracePrefetch,
    addresses: TraceAddresses,
    fault: Option<String>,
    moved: MovedRows,
}

impl TraceFeed for RecordedFeed {
    #[inline]
    fn next_row(&mut self) -> Option<TraceRow> {
        let entry = match self.rows.next_entry() {
            Ok(entry) => entry?,
            Err(fault) => {
                self.fault = Some(fault.to_string());
                return None;
            }
        };
        let TraceEntry { at, response, op, fua, sectors, .. } = entry;
        let (lba, clipped) = self.addresses.target_lba_and_clipped(&entry);
        self.moved.moved += u64::from(sectors > 0 && lba != self.addresses.recorded_lba(&entry));
        self.moved.clipped += u64::from(clipped);
        let ended = response.map(|response| Span::from_nanos(at.nanos().saturating_add(response.nanos())));
        Some(TraceRow { at, ended, op, fua, lba, sectors })
    }

    fn read_error(&self) -> Option<String> {
        self.fault.clone()
    }

    fn moved_counts(&self) -> MovedRows {
        self.moved
    }
}

/// True if a file with these first bytes is a trace for `load_trace`, which is not read as text.
pub fn is_trace_head(head: &[u8]) -> bool {
    matches!(trace::recognise(head), FormatGuess::As(format) if format != TraceFormat::Recording)
}
