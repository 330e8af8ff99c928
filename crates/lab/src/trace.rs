//! A recorded trace as a job: surveyed once, identified by a hash of its requests, laid out on a target, opened again
//! for each run.
//!
//! Devices of a trace lie one after another, each at a multiple of 1 MiB. `trace.map` says where requests of a larger
//! device go. Formats are read by [`seekwise_formats::trace`], and files are opened only by the opener in [`Inputs`].

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
use seekwise_run::work::trace::{TraceFeed, TraceSpec};
use seekwise_work::workload::trace::{LoopMode, ReplayLoop, ReplayMode, Stall, TraceRow};

use self::mapping::TracePlaces;
use self::prefetch::TracePrefetch;
use crate::inputs::{Inputs, OpenParts};

/// A loaded trace.
#[derive(Clone, Debug)]
pub struct LoadedTrace {
    pub survey: Arc<TraceSurvey>,
    /// The options of reading and playing it.
    pub asked: TraceOptions,
    /// Sectors of the target that it was laid out on.
    pub sectors: u64,
}

/// The keys of a job that apply to a trace.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TraceLimits<'a> {
    /// Requests outstanding in a closed loop, as in `job.depth`.
    pub depth: Option<&'a str>,
    /// When it ends.
    pub runtime: Option<Span>,
    /// The target's capabilities.
    pub limits: Option<&'a Limits>,
}

/// The trace called `name`; `None` if it is no trace, or a recording that is to be played as it is.
pub(crate) fn load_trace(
    name: &str,
    sectors: u64,
    inputs: &Inputs<'_>,
    keys: &[(&str, &str)],
    heeded: TraceLimits<'_>,
) -> Result<Option<(TraceSpec, LoadedTrace)>, Diagnostic> {
    let Some(open) = trace_opener(name, inputs, keys)? else { return Ok(None) };
    let asked = TraceOptions::parse(name, keys.iter().copied())?;
    load_opened(name, open, asked, sectors, inputs, heeded).map(Some)
}

/// The log that a fio job plays. Job files come from others: what is no plain file is not opened, and what is no log of
/// fio's is not read beyond its first lines.
pub(crate) fn load_replayed_log(
    replayed: &IologReplay,
    map: AddressMapping,
    sectors: u64,
    inputs: &Inputs<'_>,
    heeded: TraceLimits<'_>,
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
    let runtime = heeded.runtime.or(replayed.runtime);
    load_opened(
        name,
        open,
        TraceOptions { map, ..replayed.options.clone() },
        sectors,
        inputs,
        TraceLimits { runtime, ..heeded },
    )
}

fn load_opened(
    name: &str,
    open: &OpenParts,
    asked: TraceOptions,
    sectors: u64,
    inputs: &Inputs<'_>,
    heeded: TraceLimits<'_>,
) -> Result<(TraceSpec, LoadedTrace), Diagnostic> {
    let touched = asked.map == AddressMapping::Compact;
    let survey = inputs
        .survey_trace(name, &asked.reading, touched, &|| survey(&|| open_parts(name, open), &asked.reading, touched))?;
    let how = replay_mode(name, &asked, &survey, heeded)?;
    let places = TracePlaces::new(&survey, asked.map, sectors);
    check_fits(name, open, &asked, &survey, &places)?;
    heeded.limits.map_or(Ok(()), |limits| check_transfers(name, &survey, limits))?;
    let reading = TraceReadOptions { format: Some(survey.format), wait: survey.wait, ..asked.reading.clone() };
    let (file, open) = (name.to_owned(), OpenParts::clone(open));
    let opened = move || -> Result<Box<dyn TraceFeed>, String> {
        let reader =
            open_parts(&file, &open).and_then(|parts| trace::open(parts, &reading)).map_err(|it| it.to_string())?;
        Ok(Box::new(RecordedFeed {
            rows: TracePrefetch::new(reader),
            places: places.clone(),
            fault: None,
            moved: (0, 0),
        }))
    };
    let (requests, writes, trims, span) = (survey.requests, survey.writes, survey.trims, survey.span);
    let spec = TraceSpec { name: name.to_owned(), how, requests, writes, trims, span, open: Arc::new(opened) };
    Ok((spec, LoadedTrace { survey, asked, sectors }))
}

/// How it is opened, if it is a trace.
fn trace_opener<'a>(
    name: &str,
    inputs: &'a Inputs<'_>,
    keys: &[(&str, &str)],
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
    let named = keys.iter().any(|(key, _)| *key == key_names::trace::FORMAT);
    match trace::recognise(&head) {
        _ if named => Ok(Some(open)),
        // Played as it is, tag by tag, unless keys of a trace are set.
        FormatGuess::As(TraceFormat::Recording) if keys.is_empty() => Ok(None),
        FormatGuess::As(_) => Ok(Some(open)),
        FormatGuess::Refused(why) => Err(Diagnostic::at(name, 0, why)),
        FormatGuess::Not => Ok(None),
    }
}

fn open_parts(name: &str, open: &OpenParts) -> Result<Vec<TracePart>, Diagnostic> {
    open(name).map_err(|why| Diagnostic::at(name, 0, format!("cannot be read: {why}")))
}

/// How it is played; an error if it cannot be.
fn replay_mode(
    name: &str,
    asked: &TraceOptions,
    survey: &TraceSurvey,
    heeded: TraceLimits<'_>,
) -> Result<ReplayMode, Diagnostic> {
    let fault = |key: &str, what: &str| Diagnostic::at(name, 0, what).with_key(key);
    let deep = |depth: &str| match depth.parse() {
        Ok(depth) if (1..=65_535).contains(&depth) => Ok(depth),
        _ => Err(fault(job::DEPTH, &format!("`{depth}` is invalid")).with_expected("from 1 to 65535")),
    };
    let mode = match (asked.mode, heeded.depth) {
        (mode, None) => mode,
        (LoopMode::Closed(_), Some(depth)) => LoopMode::Closed(deep(depth)?),
        (LoopMode::Replay(replay), Some(depth)) => LoopMode::Replay(ReplayLoop { depth: deep(depth)?, ..replay }),
        (_, Some(_)) => {
            let wrong = fault(job::DEPTH, "a trace has no depth but in a closed loop");
            return Err(wrong.with_expected("trace.loop=closed beside it"));
        }
    };
    match mode {
        LoopMode::Closed(_) if asked.speed != seekwise_work::workload::trace::ReplaySpeed::default() => {
            let wrong = fault(key_names::trace::SPEED, "a closed loop goes by no instants");
            return Err(wrong.with_expected("trace.loop=open or dependent with it"));
        }
        LoopMode::Closed(_) | LoopMode::Replay(_) => {}
        LoopMode::Dependent if survey.responses == 0 => {
            let title = survey.format.spec().title;
            let why = format!("it does not say when requests were over, and has no dependencies to keep: {title}");
            return Err(
                fault(key_names::trace::LOOP, &why).with_expected("open or closed, or a trace with response times")
            );
        }
        LoopMode::Open | LoopMode::Dependent => survey.check_timestamps(name, &asked.reading)?,
    }
    // A log of version 2 says until when it waits, one of version 3 for how long.
    let mode = match mode {
        LoopMode::Replay(ReplayLoop { depth, stall: Stall::Recorded, calls }) if survey.met.waits > 0 => {
            LoopMode::Replay(ReplayLoop { depth, stall: Stall::Instant, calls })
        }
        mode => mode,
    };
    let until = heeded.runtime.map(|runtime| Instant::ZERO + runtime);
    Ok(ReplayMode { mode, speed: asked.speed, until })
}

/// An error if the target does not accept such requests.
fn check_transfers(name: &str, survey: &TraceSurvey, limits: &Limits) -> Result<(), Diagnostic> {
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

/// An error if requests lie beyond the target.
fn check_fits(
    name: &str,
    open: &OpenParts,
    asked: &TraceOptions,
    survey: &TraceSurvey,
    places: &TracePlaces,
) -> Result<(), Diagnostic> {
    let gb = |sectors: u64| (sectors as f64) * SECTOR as f64 / 1e9;
    let room = places.room();
    if places.needed_sectors() <= room {
        return Ok(());
    }
    if asked.map != AddressMapping::Refuse {
        let why =
            format!("what it touches is {:.1} GB, and the target has {:.1} GB", gb(places.needed_sectors()), gb(room));
        return Err(Diagnostic::at(name, 0, why)
            .with_key(key_names::trace::MAP)
            .with_expected("wrap or scale, or a larger target"));
    }
    let beyond = count_beyond_end(name, open, asked, survey, places)?;
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
        gb(room),
        gb(places.needed_sectors())
    );
    Err(Diagnostic::at(name, 0, why)
        .with_key(key_names::trace::MAP)
        .with_expected("wrap, scale or compact, or a larger target"))
}

/// How many requests lie beyond the target's end.
fn count_beyond_end(
    name: &str,
    open: &OpenParts,
    asked: &TraceOptions,
    survey: &TraceSurvey,
    places: &TracePlaces,
) -> Result<u64, Diagnostic> {
    let reading = TraceReadOptions { format: Some(survey.format), wait: survey.wait, ..asked.reading.clone() };
    let mut reader = trace::open(open_parts(name, open)?, &reading)?;
    let mut beyond = 0;
    while let Some(entry) = reader.read()? {
        beyond += u64::from(places.recorded_lba(&entry) + u64::from(entry.sectors) > places.room());
    }
    Ok(beyond)
}

/// The trace and how it is played, as settings.
pub(crate) fn to_settings(name: &str, traced: &LoadedTrace, how: ReplayMode) -> Vec<Setting> {
    let LoadedTrace { survey, asked, sectors } = traced;
    let units = asked.reading.units(survey.format);
    let mut told = vec![
        (work::NAMES, name.to_owned()),
        (work::CAPACITY, format!("{sectors} sectors")),
        (key_names::trace::FORMAT, survey.format.spec().word.to_owned()),
        ("trace.requests", survey.summary_line().trim().to_owned()),
        (key_names::trace::LOOP, loop_word(how.mode).to_owned()),
        (key_names::trace::MAP, asked.map.word().to_owned()),
        (key_names::trace::DEVICE, asked.reading.device.clone().unwrap_or_else(|| "all".to_owned())),
        ("trace.units", format!("{} ns, {} bytes, {} bytes", units.time, units.address, units.length)),
    ];
    match how.mode {
        LoopMode::Closed(depth) => told.push((work::DEPTH, depth.to_string())),
        LoopMode::Replay(ReplayLoop { depth, stall, calls }) => {
            let waits = match stall {
                Stall::Recorded => "distances",
                Stall::Instant => "instants",
                Stall::None => "nothing",
            };
            let syncs = if calls { "syncs called" } else { "syncs queued" };
            told.push((work::DEPTH, depth.to_string()));
            told.push(("trace.replay", format!("{waits} waited for, {syncs}")));
            told.push((key_names::trace::SPEED, format!("{}", f64::from(how.speed.thousandths) / 1e3)));
        }
        _ => told.push((key_names::trace::SPEED, format!("{}", f64::from(how.speed.thousandths) / 1e3))),
    }
    let end = how.until.map_or("until it ends".to_owned(), |until| format!("{} s", until.nanos() as f64 / 1e9));
    told.push((work::DURATION_RUNTIME, end));
    told.into_iter()
        .map(|(key, value)| Setting::set_by_user(key.to_owned(), value, "the trace as it was understood"))
        .collect()
}

/// A trace being read for a run.
struct RecordedFeed {
    rows: TracePrefetch,
    places: TracePlaces,
    fault: Option<String>,
    moved: (u64, u64),
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
        let (lba, clipped) = self.places.target_lba(&entry);
        self.moved.0 += u64::from(sectors > 0 && lba != self.places.recorded_lba(&entry));
        self.moved.1 += u64::from(clipped);
        let ended = response.map(|response| Span::from_nanos(at.nanos().saturating_add(response.nanos())));
        Some(TraceRow { at, ended, op, fua, lba, sectors })
    }

    fn read_fault(&self) -> Option<String> {
        self.fault.clone()
    }

    fn moved_counts(&self) -> (u64, u64) {
        self.moved
    }
}

/// True if a file with these first bytes is for `load_trace` and not to be read as text.
pub fn is_trace_head(head: &[u8]) -> bool {
    matches!(trace::recognise(head), FormatGuess::As(format) if format != TraceFormat::Recording)
}
