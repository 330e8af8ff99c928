//! Parses jobs with measured figures in three forms: fio's JSON with its job in it, a list of cases in TOML as
//! `crates/reproduce/published.toml`, and curves in CSV.

use std::collections::BTreeMap;
use std::iter;
use std::sync::Arc;

use seekwise_disk::time::Span;
use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::key_names::{figure, job, strip_drive};
use seekwise_drives::profile::DriveFile;
use seekwise_formats::fio_json::{self, DirectionResult, FioOutput, JobResult};
use seekwise_run::place::Target;
use seekwise_run::work::Work;
use serde::Deserialize;
use toml::Spanned;
use toml::value::Datetime;

use super::FileArgument;
use crate::fit::points::{FIGURES, JobLoad, MOST, MeasuredFigure, MeasuredPoint, PointWork, is_figure};
use crate::inputs::{InputCache, Inputs};
use crate::plan::{self, Cell};

/// The context in which a job with figures is prepared.
pub(crate) struct JobContext<'a> {
    /// The file, and the settings during the measurement.
    pub argument: &'a FileArgument,
    pub drive: &'a DriveFile,
    /// The drive's text.
    pub profile_text: &'a str,
    /// The cache that all data share, as each job is prepared on the drive.
    pub cache: &'a Arc<InputCache>,
}

/// The names under which a plan asks for the two texts.
const JOB: &str = "the measured job";
const DRIVE: &str = "the drive that is fitted";

/// The longest run of a job in virtual time: a minute, as a longer run gives the same figures.
const LONGEST: Span = Span::from_nanos(60_000_000_000);

/// Requests that must lie beyond a percentile for it to be used.
const REQUESTS_BEYOND: f64 = 20.0;

/// The largest difference of two results of one job, as a logarithm: a quarter. Repeated runs agree within a few per cent.
const APART: f64 = 0.25;

/// Seconds from which on a request far above all others is a time-out, not a time of the drive.
const TIME_OUT_S: f64 = 2.0;

impl JobContext<'_> {
    /// Makes a point of a job's text, without figures. `what` describes the job.
    fn build_point(
        &self,
        what: &str,
        line: usize,
        job_text: &str,
        settings: &[(String, String)],
    ) -> Result<MeasuredPoint, Vec<Diagnostic>> {
        let file = &self.argument.file;
        let all: Vec<(String, String)> = self.argument.set.iter().chain(settings).cloned().collect();
        let mut cell_settings = vec![("job".to_owned(), JOB.to_owned()), ("drive".to_owned(), DRIVE.to_owned())];
        cell_settings.extend(all.iter().cloned());
        let cell = Cell { levels: Vec::new(), settings: cell_settings };
        let read = |name: &str| Ok(if name == JOB { job_text.to_owned() } else { self.profile_text.to_owned() });
        let at_line = |fault: Diagnostic| {
            let message = format!("{what}: {}", fault.message);
            Diagnostic { file: file.clone(), line, message, ..fault }
        };
        let inputs = Inputs::from_today(&read).with_cache(Arc::clone(self.cache));
        let prepared = plan::prepare_cell(file, &cell, &inputs)
            .map_err(|faults| faults.into_iter().map(at_line).collect::<Vec<_>>())?;
        let Target::Sim(stack, _) = prepared.target else {
            return Err(vec![Diagnostic::at(file, line, "figures of a job are fitted on a modelled stack")]);
        };
        let mut work = prepared.job;
        limit_runtime(file, &mut work)?;
        let of_drive = |(key, value): &(String, String)| Some((strip_drive(key)?.to_owned(), value.clone()));
        Ok(MeasuredPoint {
            what: what.to_owned(),
            file: file.clone(),
            line,
            series: String::new(),
            order: 0.0,
            held: false,
            kept_out: false,
            load: None,
            settings: all.iter().filter_map(of_drive).collect(),
            work: PointWork::Job(Box::new((*stack, work))),
            request_limit: MOST,
            measured_requests: 0,
            figures: Vec::new(),
        })
    }
}

/// Lets a job end after [`LONGEST`] at the latest.
fn limit_runtime(file: &str, work: &mut Work) -> Result<(), Vec<Diagnostic>> {
    let is_longer = match work {
        Work::Job(job) => job.workers.iter().any(|worker| worker.runtime.is_some_and(|runtime| runtime > LONGEST)),
        _ => false,
    };
    if is_longer { plan::set_job(file, work, job::RUNTIME, "60 s") } else { Ok(()) }
}

/// Options in which the points of a series may differ, and options that do not affect a drive.
const NOT_OF_A_SERIES: [&str; 6] = ["iodepth", "numjobs", "bs", "filename", "runtime", "time_based"];

/// A number of bytes above any block size: a series is ordered by depth, within one depth by block size.
const ABOVE_BLOCK_SIZES: f64 = 1e9;

/// Sets a point's series and its order in it. Points that differ only in depth, jobs or block size share a series.
fn set_series_and_order(point: &mut MeasuredPoint, options: &BTreeMap<String, String>, settings: &[(String, String)]) {
    let number = |key: &str| {
        let text = options.get(key).map_or("1", String::as_str);
        seekwise_drives::dotted::parse_size(text).map_or(1.0, |size| size as f64)
    };
    let is_of_series = |key: &&String| !NOT_OF_A_SERIES.contains(&key.as_str());
    let of_job: Vec<String> =
        options.keys().filter(is_of_series).map(|key| format!("{key}={}", options[key])).collect();
    let of_stack: Vec<String> = settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
    point.series = format!("{} {}", of_job.join(" "), of_stack.join(" "));
    let depth = number("iodepth") * number("numjobs");
    point.order = depth * ABOVE_BLOCK_SIZES + number("bs");
    let word =
        options.get("rw").or(options.get("readwrite")).map_or("read", |word| word.split(':').next().unwrap_or(""));
    let word = if word == "readwrite" { "rw" } else { word };
    let block = options.get("bs").or(options.get("blocksize")).and_then(|text| text.split(',').next());
    let block = block.and_then(seekwise_drives::dotted::parse_size).unwrap_or(4096);
    point.load =
        JobLoad::WORDS.iter().find(|known| **known == word).map(|rw| JobLoad { rw, block, depth: depth as u64 });
}

/// Parses points from fio's JSON.
pub(crate) fn parse_fio_json(
    context: &JobContext<'_>,
    text: &str,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Vec<MeasuredPoint>, Vec<Diagnostic>> {
    let file = &context.argument.file;
    let outputs = fio_json::read(text.as_bytes()).map_err(|fault| vec![Diagnostic { file: file.clone(), ..fault }])?;
    let (mut points, warnings_before) = (Vec::new(), warnings.len());
    for output in &outputs {
        if output.jobs.len() > 1 && !jobs_ran_in_sequence(output) {
            let message = format!("its {} jobs ran beside one another", output.jobs.len());
            let fault = Diagnostic::at(file, 0, message);
            return Err(vec![fault.with_expected("one job a result, jobs with `stonewall`, or `group_reporting`")]);
        }
        for job in &output.jobs {
            if job.hostname.as_deref() == Some("All clients") || job.name == "All clients" {
                continue;
            }
            for direction in [&job.read, &job.write] {
                if let Some((percentile, why)) = find_falling_percentile(direction) {
                    let fault =
                        Diagnostic::at(file, percentile_line(text, percentile), format!("`{}`: {why}", job.name));
                    return Err(vec![fault.with_key("percentile").with_expected(RISING)]);
                }
            }
            points.extend(point_from_fio_result(context, output, job, warnings)?);
        }
    }
    // A point spoilt by a time-out is left out, with a warning.
    if points.is_empty() && warnings.len() == warnings_before {
        return Err(vec![Diagnostic::at(file, 0, "no job in it read or wrote anything")]);
    }
    Ok(points)
}

/// A percentile of fio's: per cent, and the time in ns.
type PercentAndNs = (f64, u64);

/// The first percentile that lies below the percentile before it, and the fault in words.
fn find_falling_percentile(direction: &DirectionResult) -> Option<(PercentAndNs, String)> {
    let pairs = [&direction.clat, &direction.lat].into_iter().flat_map(|times| times.percentiles.windows(2));
    let (before, here) = pairs.map(|pair| (pair[0], pair[1])).find(|(before, here)| here.1 < before.1)?;
    let ms = |ns: u64| ns as f64 / 1e6;
    Some((here, format!("p{} is {} ms, p{} {} ms", here.0, ms(here.1), before.0, ms(before.1))))
}

/// The rule for percentiles, in words.
const RISING: &str = "times that rise with their percentiles";

/// The number of the line of fio's JSON that holds a percentile; 0 if it is written differently.
fn percentile_line(text: &str, (percent, ns): PercentAndNs) -> usize {
    let (name, ns) = (format!("\"{percent:.6}\""), ns.to_string());
    let holds = |line: &str| {
        line.split_once(name.as_str()).is_some_and(|(_, rest)| rest.trim_matches([' ', ':', ',', '\r']) == ns)
    };
    text.lines().position(holds).map_or(0, |index| index + 1)
}

fn jobs_ran_in_sequence(output: &FioOutput) -> bool {
    let waits = |job: &JobResult| ["stonewall", "wait_for_previous"].iter().any(|key| job.options.contains_key(*key));
    output.jobs.iter().skip(1).all(waits) || output.global_options.contains_key("stonewall")
}

/// A result of fio as a point; `None` if a time-out spoilt it.
fn point_from_fio_result(
    context: &JobContext<'_>,
    output: &FioOutput,
    job: &JobResult,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Option<MeasuredPoint>, Vec<Diagnostic>> {
    let file = &context.argument.file;
    let mut options = output.global_options.clone();
    options.extend(job.options.clone());
    options.remove("stonewall");
    if convert_if_nbd_job(&mut options) {
        let message =
            format!("`{}` was measured through fio's NBD client: its times include the connection's", job.name);
        warnings.push(Diagnostic::at(file, 0, message));
    }
    if !["rw", "readwrite"].iter().any(|key| options.contains_key(*key)) {
        let fault = Diagnostic::at(file, 0, format!("the result of `{}` does not say what the job did", job.name));
        let expected = "`job options` with rw, bs and iodepth, as fio 3 writes them; else the figures as cases in TOML, each \
                        with its job (docs/fit.md)";
        return Err(vec![fault.with_key("job options").with_expected(expected)]);
    }
    if let Some(slowest) = time_out_seconds(&[&job.read, &job.write]) {
        let message = format!("`{}` holds a request of {slowest:.1} s, a time-out: it is left out", job.name);
        warnings.push(Diagnostic::at(file, 0, message));
        return Ok(None);
    }
    let line = |key: &String| if options[key].is_empty() { key.clone() } else { format!("{key}={}", options[key]) };
    let lines: Vec<String> = options.keys().map(line).collect();
    let text = format!("[job]\n{}\n", lines.join("\n"));
    let mut point = context.build_point(&describe_job(&job.name, &options), 0, &text, &[])?;
    set_series_and_order(&mut point, &options, &context.argument.set);
    point.measured_requests = job.read.ios + job.write.ios;
    let reads_and_writes = job.read.ios > 0 && job.write.ios > 0;
    let number = |key: &str| options.get(key).and_then(|text| text.parse::<f64>().ok()).unwrap_or(1.0);
    let depth = number("iodepth") * number("numjobs");
    for (direction, prefix) in [(&job.read, "read."), (&job.write, "write.")] {
        point.figures.extend(direction_figures(direction, if reads_and_writes { prefix } else { "" }, depth));
    }
    Ok((!point.figures.is_empty()).then_some(point))
}

/// Turns a job of fio's NBD client into the same job on a device: like libaio it has up to `iodepth` requests in flight, and no page cache
/// is between it and the export, which is as large as the drive. False, and nothing changed, for any other engine.
fn convert_if_nbd_job(options: &mut BTreeMap<String, String>) -> bool {
    if options.get("ioengine").is_none_or(|engine| engine != "nbd") {
        return false;
    }
    options.remove("uri");
    let mut set = |key: &str, value: &str| options.insert(key.to_owned(), value.to_owned());
    set("ioengine", "libaio");
    set("direct", "1");
    set("filename", "/dev/sdx");
    true
}

/// The time of the slowest request, if it is a time-out.
fn time_out_seconds(directions: &[&DirectionResult]) -> Option<f64> {
    let slowest = directions.iter().map(|direction| direction.clat.max).max().unwrap_or(0) as f64 / 1e9;
    let p90_ns =
        |direction: &DirectionResult| direction.clat.percentiles.iter().find(|p| p.0 >= 90.0).map_or(0, |p| p.1);
    let p90 = directions.iter().map(|direction| p90_ns(direction)).max().unwrap_or(0) as f64 / 1e9;
    (slowest > TIME_OUT_S && slowest > 10.0 * p90.max(0.001)).then_some(slowest)
}

fn describe_job(name: &str, options: &BTreeMap<String, String>) -> String {
    let option_or = |key: &str, otherwise: &str| options.get(key).cloned().unwrap_or_else(|| otherwise.to_owned());
    let rw = options.get("rw").or(options.get("readwrite")).cloned().unwrap_or_default();
    let jobs = options.get("numjobs").filter(|jobs| *jobs != "1");
    let jobs = jobs.map_or(String::new(), |jobs| format!(" times {jobs}"));
    format!("{name}: {rw} {}, depth {}{jobs}", option_or("bs", "4k"), option_or("iodepth", "1"))
}

/// The figures of one direction of a job that keeps `depth` requests outstanding.
fn direction_figures(direction: &DirectionResult, prefix: &str, depth: f64) -> Vec<MeasuredFigure> {
    if direction.ios == 0 || direction.iops <= 0.0 {
        return Vec::new();
    }
    let times = if direction.clat.n > 0 || direction.clat.mean > 0.0 { &direction.clat } else { &direction.lat };
    // Requests that wait together share most of their wait: only rounds of `depth` requests are independent.
    let rounds = (direction.ios as f64 / depth.max(1.0)).max(1.0);
    let spread = if times.mean > 0.0 { times.stddev / times.mean } else { 0.0 };
    // At a steady depth of one kind of requests the mean time is the depth over the rate, and a rate is as sure as the accesses are many,
    // however their waits spread. In a mix each kind waits for the other.
    let level_error = match depth > 1.0 && prefix.is_empty() {
        true => spread.min(ACCESS_SPREAD) / (direction.ios as f64).sqrt(),
        false => spread / rounds.sqrt(),
    };
    let figure = |name: String, measured, error| MeasuredFigure { name: format!("{prefix}{name}"), measured, error };
    let mut figures = vec![figure("iops".to_owned(), direction.iops, level_error)];
    if times.mean > 0.0 {
        figures.push(figure("mean".to_owned(), times.mean / 1e6, level_error));
    }
    for (index, (percent, ns)) in times.percentiles.iter().enumerate() {
        let requests_beyond = direction.ios as f64 * (1.0 - percent / 100.0).min(percent / 100.0);
        if requests_beyond >= REQUESTS_BEYOND && *ns > 0 {
            let error = percentile_error(&times.percentiles, index, rounds).max(BUCKET);
            figures.push(figure(format!("p{percent}"), *ns as f64 / 1e6, error));
        }
    }
    figures
}

/// The most that the times of accesses spread, as a share of their mean: single random accesses of drives have 0.3 to 0.4.
const ACCESS_SPREAD: f64 = 0.5;

/// The standard error of a time from fio's buckets, 64 an octave: 1/64/sqrt(12), as times lie evenly within a bucket.
const BUCKET: f64 = 0.0045;

/// The standard error of a percentile of `n` values as a share of it: sqrt(p (1 - p) / n) over the density there (M. Kendall and A. Stuart,
/// The Advanced Theory of Statistics). The density comes from the neighbouring percentiles.
fn percentile_error(percentiles: &[PercentAndNs], index: usize, n: f64) -> f64 {
    let (below, above) = (percentiles[index.saturating_sub(1)], percentiles[(index + 1).min(percentiles.len() - 1)]);
    let share = (above.0 - below.0) / 100.0;
    let (p, ns) = (percentiles[index].0 / 100.0, percentiles[index].1 as f64);
    if share <= 0.0 { 0.0 } else { (p * (1.0 - p) / n).sqrt() * (above.1 as f64 - below.1 as f64) / share / ns }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseList {
    /// Who measured what: for the reader.
    #[serde(default, rename = "drive")]
    _drive: Vec<toml::Table>,
    case: Vec<Spanned<CaseEntry>>,
}

/// A case as in `crates/reproduce/published.toml`; what only its test reads may be left out.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseEntry {
    drive: Option<String>,
    what: Option<String>,
    job: String,
    #[serde(default)]
    set: Vec<String>,
    over: Option<Vec<String>>,
    over_job: Option<String>,
    figure: String,
    measured: f64,
    #[serde(rename = "within")]
    _within: Option<f64>,
    #[serde(rename = "role")]
    _role: Option<String>,
    #[serde(rename = "why")]
    _why: Option<String>,
    #[serde(rename = "holds")]
    _holds: Option<bool>,
    #[serde(rename = "because")]
    _because: Option<String>,
    #[serde(rename = "cause")]
    _cause: Option<String>,
    #[serde(rename = "since")]
    _since: Option<Datetime>,
    #[serde(rename = "held_first")]
    _held_first: Option<bool>,
    /// Other figures of the same run.
    #[serde(default)]
    also: Vec<FigureOfCase>,
}

/// Another figure of a case.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FigureOfCase {
    figure: String,
    measured: f64,
    #[serde(rename = "within")]
    _within: Option<f64>,
    #[serde(rename = "held_first")]
    _held_first: Option<bool>,
    #[serde(rename = "holds")]
    _holds: Option<bool>,
    #[serde(rename = "cause")]
    _cause: Option<String>,
    #[serde(rename = "because")]
    _because: Option<String>,
}

impl CaseEntry {
    /// The names and values of all figures of the run.
    fn figures(&self) -> impl Iterator<Item = (&str, f64)> {
        let also = self.also.iter().map(|other| (other.figure.as_str(), other.measured));
        iter::once((self.figure.as_str(), self.measured)).chain(also)
    }
}

/// Parses points from a list of cases: those of this drive, and those that name none.
pub(crate) fn parse_cases(
    context: &JobContext<'_>,
    text: &str,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Vec<MeasuredPoint>, Vec<Diagnostic>> {
    let file = &context.argument.file;
    let line_of = |offset: usize| text[..offset.min(text.len())].matches('\n').count() + 1;
    let list: CaseList = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(0, |span| line_of(span.start));
        vec![
            Diagnostic::at(file, line, error.message().to_owned())
                .with_expected("[[case]] with job, figure and measured"),
        ]
    })?;
    let (mut points, mut other_drives, mut ratios): (Vec<MeasuredPoint>, _, _) = (Vec::new(), 0, 0);
    for spanned in &list.case {
        let (line, case) = (line_of(spanned.span().start), spanned.get_ref());
        let fault = |message: String| Diagnostic::at(file, line, message);
        if case.drive.as_ref().is_some_and(|drive| *drive != context.drive.name) {
            other_drives += 1;
            continue;
        }
        if case.over.is_some() || case.over_job.is_some() || case.figure == "flush_p50" {
            ratios += 1;
            continue;
        }
        for (figure, measured) in case.figures() {
            if !is_figure(figure) {
                return Err(vec![fault(format!("`{figure}` is no figure")).with_key("figure").with_expected(FIGURES)]);
            }
            if !(measured > 0.0 && measured.is_finite()) {
                return Err(vec![
                    fault(format!("{measured} is invalid")).with_key("measured").with_expected("above 0"),
                ]);
            }
        }
        points.push(point_from_case(context, case, line)?);
    }
    if other_drives + ratios > 0 {
        let message = format!("{other_drives} cases of other drives and {ratios} ratios or flushes are not fitted to");
        warnings.push(Diagnostic::at(file, 0, message));
    }
    if points.is_empty() {
        let fault = Diagnostic::at(file, 0, "no case of it can be fitted to");
        return Err(vec![
            fault.with_expected(format!("cases with drive = \"{}\", or without a drive", context.drive.name)),
        ]);
    }
    Ok(points)
}

fn point_from_case(context: &JobContext<'_>, case: &CaseEntry, line: usize) -> Result<MeasuredPoint, Vec<Diagnostic>> {
    let settings = case.set.iter().map(|pair| {
        let pair = pair.split_once('=').map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()));
        pair.ok_or_else(|| {
            let fault = Diagnostic::at(&context.argument.file, line, "a setting without `=`").with_key("set");
            vec![fault.with_expected("KEY=VALUE")]
        })
    });
    let settings: Vec<(String, String)> = settings.collect::<Result<_, _>>()?;
    let option = |line: &str| {
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        (key.trim().to_owned(), value.trim().to_owned())
    };
    let options: BTreeMap<String, String> =
        case.job.lines().filter(|line| !line.trim().is_empty()).map(option).collect();
    let target_line = if options.contains_key("size") { "" } else { "filename=/dev/sdx\n" };
    let text = format!("{GLOBAL}{target_line}[case]\n{}\n", case.job);
    let description = case.what.clone().unwrap_or_else(|| describe_job("case", &options));
    let mut point = context.build_point(&description, line, &text, &settings)?;
    set_series_and_order(&mut point, &options, &settings);
    let figures = case.figures();
    point.figures.extend(figures.map(|(name, measured)| MeasuredFigure {
        name: name.to_owned(),
        measured,
        error: 0.0,
    }));
    Ok(point)
}

/// The options of a job of which only the pattern is given.
const GLOBAL: &str = "[global]\nioengine=libaio\ndirect=1\nruntime=60\nramp_time=5\ntime_based\n";

/// Columns of a curve that describe the job, with fio's option.
const COLUMNS: [(&str, &str); 8] = [
    ("rw", "rw"),
    ("depth", "iodepth"),
    ("iodepth", "iodepth"),
    ("jobs", "numjobs"),
    ("numjobs", "numjobs"),
    ("block", "bs"),
    ("bs", "bs"),
    ("distance", "distance"),
];

/// Columns of tables made of fio's results; times are in milliseconds. With `ios`, the number of requests, they tell the error of each
/// figure, and the rows that a time-out spoilt.
const OF_FIO: [&str; 7] =
    ["ios", "clat_mean_ms", "lat_mean_ms", "clat_sd_ms", "lat_sd_ms", "clat_max_ms", "lat_max_ms"];

/// Columns that follow from others and are not read.
const REDUNDANT: [&str; 2] = ["total_depth", "elapsed_s"];

fn is_option_column(word: &str) -> bool {
    COLUMNS.iter().any(|(column, _)| *column == word)
}

/// True if a header is that of a curve.
pub(crate) fn is_curve_header(header: &str) -> bool {
    let words: Vec<&str> = header.split(',').map(str::trim).collect();
    words.iter().any(|word| is_figure(word)) && words.iter().any(|word| is_option_column(word))
}

/// The result of a row of a table made of fio's results.
fn result_from_row(row: &BTreeMap<&str, f64>) -> DirectionResult {
    let first = |words: &[&str]| words.iter().find_map(|word| row.get(*word)).copied().unwrap_or(0.0);
    let ns = |ms: f64| (ms * 1e6).round() as u64;
    let percentile = |(word, ms): (&&str, &f64)| Some((word.strip_prefix('p')?.parse::<f64>().ok()?, ns(*ms)));
    let mut percentiles: Vec<(f64, u64)> = row.iter().filter_map(percentile).collect();
    percentiles.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut result = DirectionResult { iops: first(&["iops"]), ios: first(&["ios"]) as u64, ..Default::default() };
    result.clat.mean = first(&["mean", "clat_mean_ms", "lat_mean_ms"]) * 1e6;
    result.clat.stddev = first(&["clat_sd_ms", "lat_sd_ms"]) * 1e6;
    result.clat.max = ns(first(&["clat_max_ms", "lat_max_ms"]));
    result.clat.percentiles = percentiles;
    result
}

/// Parses points from a curve, one a row.
pub(crate) fn parse_curve(
    context: &JobContext<'_>,
    text: &str,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Vec<MeasuredPoint>, Vec<Diagnostic>> {
    let file = &context.argument.file;
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(text.as_bytes());
    let unreadable = |error: csv::Error| {
        let line = error.position().map_or(0, |place| place.line() as usize);
        vec![Diagnostic::at(file, line, error.to_string()).with_expected("as many values as the header has")]
    };
    let header = reader.headers().map_err(unreadable)?.clone();
    for word in header.iter() {
        if !is_figure(word) && !is_option_column(word) && !OF_FIO.contains(&word) && !REDUNDANT.contains(&word) {
            let warning = Diagnostic::at(file, 1, "this column is ignored").with_key(word);
            warnings.push(warning.suggest_nearest(word, COLUMNS.iter().map(|column| column.0)));
        }
    }
    let (mut points, mut spoilt_lines) = (Vec::new(), Vec::new());
    for record in reader.records() {
        let record = record.map_err(unreadable)?;
        let line = record.position().map_or(0, |place| place.line() as usize);
        let (mut options, mut numbers) = (BTreeMap::new(), BTreeMap::new());
        for (word, value) in header.iter().zip(record.iter()) {
            if let Some((_, option)) = COLUMNS.iter().find(|(column, _)| *column == word) {
                options.insert((*option).to_owned(), value.to_owned());
            } else if (is_figure(word) || OF_FIO.contains(&word)) && !value.is_empty() {
                let is_allowed = |number: &f64| *number > 0.0 || (*number == 0.0 && !is_figure(word));
                let measured = value.parse().ok().filter(|number: &f64| number.is_finite() && is_allowed(number));
                let measured = measured.ok_or_else(|| {
                    vec![
                        Diagnostic::at(file, line, format!("`{value}` is invalid"))
                            .with_key(word)
                            .with_expected("above 0"),
                    ]
                })?;
                numbers.insert(word, measured);
            }
        }
        let result = result_from_row(&numbers);
        if let Some(((percent, _), why)) = find_falling_percentile(&result) {
            return Err(vec![Diagnostic::at(file, line, why).with_key(format!("p{percent}")).with_expected(RISING)]);
        }
        if time_out_seconds(&[&result]).is_some() {
            spoilt_lines.push(line.to_string());
            continue;
        }
        let number_or_one =
            |key: &str| options.get(key).and_then(|text: &String| text.parse::<f64>().ok()).unwrap_or(1.0);
        let figures = match result.ios {
            0 => figures_from_row(&numbers),
            _ => direction_figures(&result, "", number_or_one("iodepth") * number_or_one("numjobs")),
        };
        points.push(point_from_row(context, line, &options, (result.ios, figures))?);
    }
    if let Some(first) = spoilt_lines.first() {
        let message = format!("{} rows hold a request of seconds, a time-out: they are left out", spoilt_lines.len());
        let line = first.parse().unwrap_or(0);
        warnings.push(Diagnostic::at(file, line, message).with_key("clat_max_ms"));
    }
    if points.is_empty() {
        return Err(vec![Diagnostic::at(file, 0, "no row of it can be fitted to").with_expected("rows with figures")]);
    }
    Ok(points)
}

/// The figures of a row that does not give their number of requests.
fn figures_from_row(row: &BTreeMap<&str, f64>) -> Vec<MeasuredFigure> {
    let figure = |(word, measured): (&&str, &f64)| {
        let name = if ["clat_mean_ms", "lat_mean_ms"].contains(word) { "mean" } else { word };
        is_figure(name).then(|| MeasuredFigure { name: name.to_owned(), measured: *measured, error: 0.0 })
    };
    row.iter().filter_map(figure).collect()
}

/// Bytes of a step whose size is not given: one sector, as diskinfo reads.
const STEP: u64 = 512;

fn point_from_row(
    context: &JobContext<'_>,
    line: usize,
    options: &BTreeMap<String, String>,
    (measured_requests, figures): (u64, Vec<MeasuredFigure>),
) -> Result<MeasuredPoint, Vec<Diagnostic>> {
    let invalid = |key: &str, expected: &str| {
        let value = options.get(key).cloned().unwrap_or_default();
        vec![
            Diagnostic::at(&context.argument.file, line, format!("`{value}` is invalid"))
                .with_key(key)
                .with_expected(expected),
        ]
    };
    if options.contains_key("distance") {
        let blocks = context.drive.number(figure::GEOMETRY_SECTORS).unwrap_or(0.0) as u64;
        let distance = options["distance"].parse::<u64>().ok().filter(|distance| *distance < blocks);
        let distance = distance.ok_or_else(|| invalid("distance", "a number of blocks, fewer than the drive has"))?;
        let bytes = options.get("bs").map_or(Some(STEP), |text| seekwise_drives::dotted::parse_size(text));
        let sectors = bytes.map(|bytes| bytes / 512).filter(|sectors| (1..=65_536).contains(sectors));
        let sectors = sectors.ok_or_else(|| invalid("bs", "a size such as 4k"))? as u32;
        if figures.iter().any(|figure| figure.name != "mean") {
            let fault = Diagnostic::at(&context.argument.file, line, "of a distance only the mean is a figure");
            return Err(vec![fault.with_key("mean")]);
        }
        return Ok(MeasuredPoint {
            what: format!("a read {distance} blocks on"),
            file: context.argument.file.clone(),
            line,
            series: "distance".to_owned(),
            order: distance as f64,
            held: false,
            kept_out: false,
            load: None,
            settings: context.argument.drive_settings(),
            work: PointWork::Step(distance, sectors),
            request_limit: MOST,
            measured_requests: 0,
            figures,
        });
    }
    let mut options = options.clone();
    options.entry("rw".to_owned()).or_insert_with(|| "randread".to_owned());
    let lines: Vec<String> = options.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let text = format!("{GLOBAL}filename=/dev/sdx\ngroup_reporting\n[row]\n{}\n", lines.join("\n"));
    let mut point = context.build_point(&describe_job("row", &options), line, &text, &[])?;
    set_series_and_order(&mut point, &options, &context.argument.set);
    point.figures = figures;
    point.measured_requests = measured_requests;
    Ok(point)
}

/// Fails if two results of one job are so far apart that one drive cannot have given both.
pub(crate) fn check_agreement(points: &[MeasuredPoint]) -> Result<(), Vec<Diagnostic>> {
    let mut seen: BTreeMap<(String, u64, String), (&MeasuredPoint, f64)> = BTreeMap::new();
    let mut faults = Vec::new();
    for point in points {
        for figure in &point.figures {
            let key = (point.series.clone(), point.order.to_bits(), figure.name.clone());
            // Tails scatter from run to run; rates, means and medians do not.
            let is_steady = matches!(
                figure.name.trim_start_matches("read.").trim_start_matches("write."),
                "iops" | "mean" | "p50" | "mib_s" | "mb_s"
            );
            match seen.get(&key) {
                Some((first, value)) if is_steady && (figure.measured / value).ln().abs() > APART => {
                    let message = format!(
                        "{}: {} is {} here and {value} at {}:{}: one drive did not do both",
                        point.what, figure.name, figure.measured, first.file, first.line
                    );
                    let fault = Diagnostic::at(&point.file, point.line, message);
                    faults.push(fault.with_expected("one of them, or what was different, behind the file's name"));
                }
                _ => {
                    seen.insert(key, (point, figure.measured));
                }
            }
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// A warning for each point whose rate and mean time contradict each other: their product is the number of outstanding requests.
pub(crate) fn outstanding_warnings(points: &[MeasuredPoint]) -> Vec<Diagnostic> {
    let is_unpaced =
        |point: &&MeasuredPoint| ["rate", "thinktime", "sync"].iter().all(|word| !point.series.contains(word));
    let jobs = points.iter().filter(|point| matches!(point.work, PointWork::Job(_))).filter(is_unpaced);
    let warning = |point: &MeasuredPoint| {
        let measured =
            |name: &str| point.figures.iter().find(|figure| figure.name == name).map(|figure| figure.measured);
        let (iops, mean) = (measured("iops")?, measured("mean")?);
        let (depth, outstanding) = ((point.order / ABOVE_BLOCK_SIZES).floor().max(1.0), iops * mean / 1000.0);
        let message = format!(
            "{}: {iops} a second of {mean} ms each are {outstanding:.2} requests outstanding, not {depth:.0}: one of the two is wrong",
            point.what
        );
        ((outstanding / depth).ln().abs() > APART)
            .then(|| Diagnostic::at(&point.file, point.line, message).with_key("mean"))
    };
    jobs.filter_map(warning).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client's export is a device past the page cache, whatever the job says; all else stays, and other engines are
    /// left alone.
    #[test]
    fn a_job_of_the_nbd_client_becomes_one_of_a_device_past_the_page_cache() {
        let options = |of: &[(&str, &str)]| -> BTreeMap<String, String> {
            of.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
        };
        let device = [("ioengine", "libaio"), ("direct", "1"), ("filename", "/dev/sdx")];
        let remote = [("ioengine", "nbd"), ("uri", "nbd://there")];
        let work = [("rw", "randread"), ("iodepth", "4")];
        let nothing: &[(&str, &str)] = &[];
        for own in [nothing, &[("direct", "0")], &[("filename", "x")], &[("direct", "1"), ("filename", "/dev/sda")]] {
            let mut found = options(&[&remote[..], &work, own].concat());
            assert!(convert_if_nbd_job(&mut found));
            assert_eq!(found, options(&[&device[..], &work].concat()), "{own:?}");
        }
        for own in [nothing, &[("ioengine", "libaio")], &[("ioengine", "nbd2"), ("uri", "there")]] {
            let mut found = options(own);
            assert!(!convert_if_nbd_job(&mut found));
            assert_eq!(found, options(own));
        }
    }

    /// From p40 to p60 a fifth of the requests lies within 2 ms: 10 ms for each share of 1. Half of 100 are known to 5 in 100.
    #[test]
    fn the_error_of_a_percentile_is_its_rank_s_by_the_times_around_it() {
        let all = [(40.0, 9_000_000), (50.0, 10_000_000), (60.0, 11_000_000)];
        for (place, expected) in [(0, (0.24f64 / 100.0).sqrt() * 10.0 / 9.0), (1, 0.05), (2, 0.24f64.sqrt() / 11.0)] {
            assert!((percentile_error(&all, place, 100.0) - expected).abs() < 1e-12, "{place}: {expected}");
        }
        assert_eq!(percentile_error(&all[..1], 0, 100.0), 0.0, "nothing is around it");
    }

    /// A hundredth, a twentieth or a half of so many requests are twenty, on whichever side of the percentile they lie.
    #[test]
    fn a_percentile_counts_if_twenty_requests_lie_on_either_side() {
        let counts = |percent: f64, ios: u64| {
            let mut side = DirectionResult { ios, iops: 80.0, ..DirectionResult::default() };
            (side.clat.n, side.clat.percentiles) = (ios, vec![(percent, 12_000_000)]);
            let figures = direction_figures(&side, "read.", 1.0);
            assert_eq!(figures[0].name, "read.iops");
            let found = figures.iter().find(|figure| figure.name == format!("read.p{percent}"));
            found.inspect(|figure| assert_eq!(figure.measured, 12.0)).is_some()
        };
        for (percent, ios) in [(1.0, 2_000), (5.0, 400), (50.0, 40), (95.0, 400), (99.0, 2_000)] {
            assert_eq!([counts(percent, ios), counts(percent, ios - 1)], [true, false], "p{percent} of {ios}");
        }
    }
}
