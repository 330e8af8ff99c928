//! Parses texts into the data of a fit: detects the form of a text, reads the options that follow a file's name, and reports faults in
//! either. `cases` reads jobs with figures.
//!
//! No file is opened.

mod cases;
pub mod simulator_times;

use std::sync::Arc;

use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::key_names::{drive, strip_drive};
use seekwise_drives::profile::{DriveFile, ReadingCache};
use seekwise_formats::trace::measured;
use seekwise_work::workload::replay::Timing;

use super::data::{FitData, FitTrace};
use super::points::{MeasuredPoint, hold_back_every_other};
use crate::validate::quantile;
use cases::JobContext;

/// A file as the user names it: `FILE,KEY=VALUE,…`.
#[derive(Clone, Debug, PartialEq)]
pub struct FileArgument {
    pub file: String,
    /// The rule by which a replay of a trace issues requests.
    pub timing: Timing,
    /// The share that is held back, if it is given for this file alone.
    pub held: Option<f64>,
    /// A file with the times of another simulator, for display.
    pub beside: Option<String>,
    /// Settings of the stack during the measurement: keys and values.
    pub set: Vec<(String, String)>,
}

/// Options that may follow a file, besides dotted keys of the stack.
const WORDS: [&str; 5] = ["replay", "hold", "cache", "depth", "beside"];

impl FileArgument {
    /// Reads `FILE,KEY=VALUE,…`.
    pub fn parse(text: &str) -> Result<FileArgument, Diagnostic> {
        let mut parts = text.split(',');
        let mut file = parts.next().unwrap_or_default().to_owned();
        let (mut timing, mut held, mut beside, mut set) = (Timing::Think, None, None, Vec::new());
        for part in parts {
            let Some((key, value)) = part.split_once('=') else {
                // The comma belongs to the file's name.
                file = format!("{file},{part}");
                continue;
            };
            let invalid = |expected: &str| {
                Diagnostic::at(&file, 0, format!("`{value}` is invalid")).with_key(key).with_expected(expected)
            };
            match key {
                "replay" => {
                    timing = match value {
                        "think" => Timing::Think,
                        "arrival" => Timing::Arrival,
                        _ => return Err(invalid("think or arrival").suggest_nearest(value, ["think", "arrival"])),
                    };
                }
                "hold" => {
                    held = Some(parse_held_share(value).ok_or_else(|| invalid("a share such as 50%, all or none"))?)
                }
                "cache" => {
                    let is_switch = ["on", "off"].contains(&value);
                    let on = is_switch.then_some(value).ok_or_else(|| invalid("on or off"))?;
                    set.push((drive::CACHE_WRITE_BACK.to_owned(), on.to_owned()));
                }
                "beside" => beside = Some(value.to_owned()),
                "depth" => set.push((drive::FIRMWARE_DEPTH.to_owned(), value.to_owned())),
                key if key.contains('.') || key == "driver" || key == "controller" => {
                    set.push((key.to_owned(), value.to_owned()));
                }
                _ => {
                    let fault = Diagnostic::at(&file, 0, "unknown word behind a file").with_key(key);
                    return Err(fault
                        .with_expected("replay, hold, cache, depth, beside, or a dotted key of the stack")
                        .suggest_nearest(key, WORDS));
                }
            }
        }
        Ok(FileArgument { file, timing, held, beside, set })
    }

    /// The settings of the drive, without the prefix `drive.`.
    pub(crate) fn drive_settings(&self) -> Vec<(String, String)> {
        let of_drive = |(key, value): &(String, String)| Some((strip_drive(key)?.to_owned(), value.clone()));
        self.set.iter().filter_map(of_drive).collect()
    }
}

/// Parses the share of data that is held back: `50%`, `all`, `none`; `None` if it is neither.
pub fn parse_held_share(text: &str) -> Option<f64> {
    match text {
        "all" => Some(1.0),
        "none" => Some(0.0),
        _ => {
            let percent = text.strip_suffix('%')?.trim_end().parse::<f64>().ok()?;
            (0.0..=100.0).contains(&percent).then_some(percent / 100.0)
        }
    }
}

/// Parses a trace, of which `default_held_share` is held back unless the argument has a share of its own.
pub(crate) fn parse_trace(
    argument: &FileArgument,
    text: &str,
    default_held_share: f64,
    drive: &DriveFile,
) -> Result<FitData, Vec<Diagnostic>> {
    let file = &argument.file;
    let one = |fault: Diagnostic| vec![fault];
    if let Some((key, _)) = argument.set.iter().find(|(key, _)| strip_drive(key).is_none()) {
        let fault = Diagnostic::at(file, 0, "a trace is replayed on a drive alone").with_key(key);
        return Err(one(fault.with_expected("keys that begin with `drive.`")));
    }
    let trace = measured::parse(file, text).map_err(one)?;
    let held_share = argument.held.unwrap_or(default_held_share);
    let traced = FitTrace::new(file, trace, held_share, argument.timing, argument.drive_settings()).map_err(one)?;
    check_time_unit(&traced, drive)?;
    Ok(FitData::Traced(Box::new(traced)))
}

/// The largest ratio of measured and simulated medians that is read as another drive. A larger one means another unit of time: units lie a
/// thousand apart, drives of one profile a few times.
const OTHER_UNIT: f64 = 30.0;

/// Fails if the measured times are probably in another unit than that in which they are read.
fn check_time_unit(traced: &FitTrace, drive: &DriveFile) -> Result<(), Vec<Diagnostic>> {
    let mut samples = traced.response_samples(drive, &ReadingCache::default())?;
    samples.measured.sort_unstable();
    samples.simulated.sort_unstable();
    let median_ms = |times: &[_]| quantile(times, 0.5).nanos().max(1) as f64 / 1e6;
    let (measured, simulated) = (median_ms(&samples.measured), median_ms(&samples.simulated));
    let ratio = measured / simulated;
    if (1.0 / OTHER_UNIT..=OTHER_UNIT).contains(&ratio) {
        return Ok(());
    }
    // Three significant figures either way.
    let shown = |ms: f64| format!("{ms:.*}", (2.0 - ms.log10().floor()).clamp(0.0, 6.0) as usize);
    let units = [(1e3, "microseconds", "us"), (1e6, "nanoseconds", "ns"), (1e-3, "seconds", "s")];
    let likely_unit = units.iter().find(|unit| (0.1..=10.0).contains(&(ratio / unit.0)));
    let guess = likely_unit.map_or("this is another drive's, or another stack's".to_owned(), |(_, unit, short)| {
        format!("they look like {unit}: a column of these is called measured_response_{short}")
    });
    let (name, measured, simulated) = (&drive.name, shown(measured), shown(simulated));
    let message = format!("half of its times are below {measured} ms, on `{name}` below {simulated} ms; {guess}");
    let fault = Diagnostic::at(&traced.file, 0, message).with_key("measured_response_ms");
    Err(vec![fault.with_expected("times in milliseconds (in DiskSim's own form in microseconds), of this drive")])
}

/// Data parsed from texts, and the warnings.
pub(crate) type LoadedData = (Vec<FitData>, Vec<Diagnostic>);

/// Parses all data of a fit: `texts` are those of the files in `arguments`, `profile_text` is the drive's own.
pub fn parse_data(
    arguments: &[FileArgument],
    texts: &[String],
    default_held_share: f64,
    drive: &DriveFile,
    profile_text: &str,
) -> Result<LoadedData, Vec<Diagnostic>> {
    let (mut all, mut warnings, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    let mut points: Vec<MeasuredPoint> = Vec::new();
    let cache = Arc::default();
    for (argument, text) in arguments.iter().zip(texts) {
        let context = JobContext { argument, drive, profile_text, cache: &cache };
        let parsed = match SourceForm::detect(text) {
            SourceForm::Trace => parse_trace(argument, text, default_held_share, drive).map(|data| {
                all.push(data);
                Vec::new()
            }),
            SourceForm::Fio => cases::parse_fio_json(&context, text, &mut warnings),
            SourceForm::Cases => cases::parse_cases(&context, text, &mut warnings),
            SourceForm::Curve => cases::parse_curve(&context, text, &mut warnings),
        };
        match parsed {
            Ok(parsed) => points.extend(parsed),
            Err(faults) => errors.extend(faults),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    cases::check_agreement(&points)?;
    warnings.extend(cases::outstanding_warnings(&points));
    assign_held_back(&mut points, arguments, default_held_share);
    if !points.is_empty() {
        all.push(FitData::Points(points));
    }
    Ok((all, warnings))
}

/// The form of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SourceForm {
    Trace,
    Fio,
    Cases,
    Curve,
}

impl SourceForm {
    fn detect(text: &str) -> SourceForm {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let first = lines.next().unwrap_or_default();
        let is_json = text.trim_start().starts_with('{') || text.contains("\n{");
        match () {
            () if first.starts_with("[[") => SourceForm::Cases,
            () if is_json => SourceForm::Fio,
            () if cases::is_curve_header(first) => SourceForm::Curve,
            () => SourceForm::Trace,
        }
    }
}

/// Decides which points are held back: as the argument of a file says, else every other point of a series if any share is held back. Points
/// of which the user decides do not count in that.
fn assign_held_back(points: &mut [MeasuredPoint], arguments: &[FileArgument], default_held_share: f64) {
    let own_share = |point: &MeasuredPoint| {
        let argument = arguments.iter().find(|argument| argument.file == point.file);
        argument.and_then(|argument| argument.held).filter(|share| [0.0, 1.0].contains(share))
    };
    let (decided, mut free): (Vec<&mut MeasuredPoint>, Vec<&mut MeasuredPoint>) =
        points.iter_mut().partition(|point| own_share(point).is_some());
    for point in decided {
        let is_out = own_share(point) == Some(1.0);
        (point.held, point.kept_out) = (is_out, is_out);
    }
    if default_held_share > 0.0 {
        hold_back_every_other(&mut free);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;
    use crate::fit::data::DataSplit;

    fn made(words: &str, text: &str) -> Result<LoadedData, String> {
        let name = "barracuda-7200.7-ncq";
        let drive = catalogue::load_drive(name).unwrap();
        let named = FileArgument::parse(words).map_err(|fault| fault.to_string())?;
        let profile = catalogue::find_text(name).unwrap();
        parse_data(&[named], &[text.to_owned()], 0.5, &drive, profile)
            .map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    }

    fn trace(rows: u64, times: &str) -> String {
        let row = |row: u64| format!("{},8,R,{times},10\n", row * 7919 % 10_000_000);
        "lba,sectors,op,measured_response_ms,think_ms\n".to_owned() + &(0..rows).map(row).collect::<String>()
    }

    #[test]
    fn words_behind_a_file_are_read_and_slips_named() {
        let named = FileArgument::parse("a,b.csv,replay=arrival,cache=off,hold=none").unwrap();
        assert_eq!((named.file.as_str(), named.timing, named.held), ("a,b.csv", Timing::Arrival, Some(0.0)));
        assert_eq!(named.drive_settings(), [("cache.write_back".to_owned(), "off".to_owned())]);
        let error = |text: &str| FileArgument::parse(text).unwrap_err().to_string();
        assert_eq!(
            error("a.csv,cahce=off"),
            "a.csv: `cahce`: unknown word behind a file; expected replay, hold, cache, depth, beside, or a dotted key of the \
             stack; did you mean `cache`?"
        );
        assert_eq!(
            error("a.csv,hold=half"),
            "a.csv: `hold`: `half` is invalid; expected a share such as 50%, all or none"
        );
    }

    #[test]
    fn a_table_of_fios_results_says_how_far_its_figures_may_be_off() {
        let table = "rw,iodepth,numjobs,total_depth,iops,ios,elapsed_s,clat_mean_ms,clat_sd_ms,clat_max_ms,p50,p99,p99.9\n\
                     randread,1,1,1,80,4800,61,12.5,4,30,12,22,26\nrandread,1,2,2,81,4860,61,25,6,30785,24,40,17112\n\
                     randread,4,1,4,82,480,61,48,8,90,47,70,80\n";
        let (data, warnings) = made("t.csv", table).unwrap();
        let said: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        assert_eq!(said, ["t.csv:3: `clat_max_ms`: 1 rows hold a request of seconds, a time-out: they are left out"]);
        let FitData::Points(points) = &data[0] else { panic!("jobs") };
        let of = |point: &MeasuredPoint| -> Vec<(String, f64)> {
            point.figures.iter().map(|figure| (figure.name.clone(), figure.measured)).collect()
        };
        // Beyond the 99.9 % of 4,800 lie fewer than 20, as beyond the 99 % of 480.
        let first = [("iops", 80.0), ("mean", 12.5), ("p50", 12.0), ("p99", 22.0)];
        assert_eq!(of(&points[0]), first.map(|(name, value)| (name.to_owned(), value)));
        assert_eq!(of(&points[1]).len(), 3);
        // A standard deviation of 4 ms in 4,800 of 12.5.
        assert!((points[0].figures[1].error - 4.0 / 12.5 / 4800f64.sqrt()).abs() < 1e-9);
        assert_eq!((points[0].held, points[1].held), (false, true));
        let bare = "rw,depth,clat_mean_ms,iops\nrandread,1,12.5,80\n";
        let (data, _) = made("t.csv,hold=none", bare).unwrap();
        let FitData::Points(points) = &data[0] else { panic!("jobs") };
        assert_eq!(of(&points[0]), [("mean".to_owned(), 12.5), ("iops".to_owned(), 80.0)]);
    }

    #[test]
    fn a_rate_and_a_mean_that_do_not_go_together_are_told() {
        let said = |text: &str| made("t.csv", text).unwrap().1.iter().map(ToString::to_string).collect::<Vec<_>>();
        let right = "rw,depth,iops,mean\nrandread,1,72,13.8\nrandread,4,75,53\n";
        assert!(said(right).is_empty());
        let wrong = said(&right.replace("13.8", "3"));
        let expected = "t.csv:2: `mean`: row: randread 4k, depth 1: 72 a second of 3 ms each are 0.22 requests outstanding, not \
                        1: one of the two is wrong";
        assert_eq!(wrong, [expected]);
    }

    #[test]
    fn times_of_another_simulator_stand_beside_a_trace() {
        let named = FileArgument::parse("t.csv,beside=runs/disksim.txt").unwrap();
        assert_eq!(named.beside.as_deref(), Some("runs/disksim.txt"));
        let (mut data, _) = made("t.csv", &trace(400, "12.5")).unwrap();
        let mut put = |text: &str| {
            simulator_times::attach_simulator_times(&mut data, &named, "runs/disksim.txt", text)
                .map_err(|it| it.to_string())
        };
        let short = put(&"12.5\n".repeat(399)).unwrap_err();
        let expected =
            "runs/disksim.txt: 399 times, but t.csv has 400 requests; expected one for each request, in their order";
        assert_eq!(short, expected);
        let word = put("# ms\n\n12.5\nfast\n").unwrap_err();
        assert_eq!(
            word,
            "runs/disksim.txt:4: `beside`: `fast` is invalid; expected a response time in milliseconds a line"
        );
        put(&("# ms\n".to_owned() + &"13.5\n".repeat(400))).unwrap();
        let FitData::Traced(traced) = &data[0] else { panic!("a trace") };
        let beside = traced.reference.as_ref().unwrap();
        assert_eq!((beside.name.as_str(), beside.times.len()), ("disksim", 400));
        let (mut jobs, _) = made("t.csv", "rw,depth,iops\nrandread,1,80\nrandread,2,81\n").unwrap();
        let none = simulator_times::attach_simulator_times(&mut jobs, &named, "x", "1\n").unwrap_err().to_string();
        assert_eq!(none, "t.csv: `beside`: only a trace has times of others beside it; expected a measured trace");
    }

    #[test]
    fn a_trace_in_another_unit_is_none_and_ten_requests_are_too_few() {
        let (data, _) = made("t.csv", &trace(1000, "12.5")).unwrap();
        assert_eq!(
            (data[0].request_or_job_count(DataSplit::Seen), data[0].request_or_job_count(DataSplit::Held)),
            (500, 500)
        );
        let error = made("t.csv", &trace(1000, "12500")).unwrap_err();
        assert!(
            error.starts_with("t.csv: `measured_response_ms`: half of its times are below 12500 ms, on `barracuda"),
            "{error}"
        );
        assert!(error.contains("they look like microseconds: a column of these is called measured_response_us"));
        let us = trace(1000, "12500").replace("measured_response_ms", "measured_response_us");
        assert!(made("t.csv", &us).is_ok());
        let error = made("t.csv", &trace(1000, "0.0125")).unwrap_err();
        assert!(error.contains("below 0.0125 ms") && error.contains("look like seconds"), "{error}");
        let error = made("t.csv", &trace(1000, "0.2")).unwrap_err();
        assert!(error.contains("; this is another drive's"), "{error}");
        let error = made("t.csv", &trace(10, "12.5")).unwrap_err();
        assert_eq!(
            error,
            "t.csv: 5 of its 10 requests would be seen: too few to tell a drive from chance; expected at least 200 in each \
             part, better thousands"
        );
        let error = made("t.csv", &trace(1000, "12.5").replace("7919,8", "999999999,8")).unwrap_err();
        assert!(error.starts_with("t.csv:3: `lba`: request 2 ends at block 1000000007, past the end"), "{error}");
    }

    #[test]
    fn percentiles_that_fall_are_no_times() {
        let table = "rw,iodepth,iops,ios,clat_mean_ms,clat_sd_ms,p50,p99\nrandread,1,80,4800,12.5,4,22,12\n";
        let said = "t.csv:2: `p99`: p99 is 12 ms, p50 22 ms; expected times that rise with their percentiles";
        assert_eq!(made("t.csv", table).unwrap_err(), said);
        assert_eq!(made("t.csv", &table.replace("4800", "")).unwrap_err(), said);
        let json = FIO_JSON.replace("20000000", "2");
        let said = "t.json:8: `percentile`: `r`: p99 is 0.000002 ms, p50 12 ms; expected times that rise with their percentiles";
        assert_eq!(made("t.json", &json).unwrap_err(), said);
        assert!(made("t.json", FIO_JSON).is_ok());
    }

    #[test]
    fn results_of_fio_s_nbd_client_are_those_of_a_device() {
        let local = made("t.json", FIO_JSON).unwrap().0;
        let there = r#""ioengine": "nbd", "uri": "nbd+unix:///?socket=/tmp/disk", "#;
        let remote = FIO_JSON.replace(r#""filename": "/dev/sdx", "ioengine": "libaio", "direct": "1","#, there);
        assert_ne!(remote, FIO_JSON);
        let (data, warnings) = made("t.json", &remote).unwrap();
        let points = |data: &[FitData]| {
            let FitData::Points(points) = &data[0] else { panic!("points") };
            points.iter().map(|point| format!("{:?} {:?}", point.work, point.figures)).collect::<Vec<_>>()
        };
        assert_eq!(points(&data), points(&local));
        assert_eq!(
            warnings[0].to_string(),
            "t.json: `r` was measured through fio's NBD client: its times include the connection's"
        );
    }

    /// Two jobs of depth 2 have as many requests outstanding as one of depth 4.
    #[test]
    fn jobs_that_run_at_once_have_their_depths_outstanding_together() {
        let figures = |text: &str| {
            let FitData::Points(points) = made("t.json", text).unwrap().0.swap_remove(0) else { panic!("points") };
            format!("{:?}", points[0].figures)
        };
        let twice = FIO_JSON.replace(r#""iodepth": "4""#, r#""iodepth": "2", "numjobs": "2""#);
        assert_ne!(twice, FIO_JSON);
        assert_eq!(figures(&twice), figures(FIO_JSON));
    }

    #[test]
    fn the_sum_of_all_clients_is_no_job() {
        let with = |name: &str, host: &str| {
            let read = r#"{"iops": 166.6, "runtime": 60000, "total_ios": 10000}"#;
            let more = format!(r#"{{"jobname": "{name}", "hostname": "{host}", "read": {read}}}"#);
            let text = FIO_JSON
                .replace(r#""jobs": ["#, r#""global options": {"stonewall": ""}, "jobs": ["#)
                .replace(r#""write": {"total_ios": 0}}]}"#, &format!(r#""write": {{"total_ios": 0}}}}, {more}]}}"#));
            assert!(text.contains("stonewall") && text.contains("166.6"));
            made("t.json", &text).map(|(data, _)| {
                let FitData::Points(points) = &data[0] else { panic!("points") };
                points.iter().map(|point| format!("{:?}", point.figures)).collect::<Vec<_>>()
            })
        };
        let (alone, _) = made("t.json", FIO_JSON).unwrap();
        let FitData::Points(alone) = &alone[0] else { panic!("points") };
        let alone = format!("{:?}", alone[0].figures);
        for (name, host) in [("All clients", "All clients"), ("All clients", "b"), ("s", "All clients")] {
            assert_eq!(with(name, host), Ok(vec![alone.clone()]), "{name}, {host}");
        }
        // Another client's job is one of its own, and does not say what it did.
        let error = with("s", "b").unwrap_err();
        assert!(error.starts_with("t.json: `job options`: the result of `s` does not say"), "{error}");
    }

    #[test]
    fn cases_that_are_not_fitted_to_are_counted() {
        let said = |more: &str| {
            let (data, warnings) = made("t.toml", &(CASES.to_owned() + more)).unwrap();
            let FitData::Points(points) = &data[0] else { panic!("points") };
            assert_eq!(points.len(), 2, "{more}");
            warnings.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert!(said("").is_empty());
        let case = |more: &str| format!("[[case]]\njob = 'rw=randread'\nmeasured = 1.5\n{more}\n");
        let other = case("drive = 'exos-x18'\nfigure = 'iops'");
        let ratios = [
            case("over = ['drive.firmware.depth=1']\nfigure = 'iops'"),
            case("over_job = 'rw=read'\nfigure = 'iops'"),
            case("figure = 'flush_p50'"),
        ];
        let line = |others: u32, ratios: u32| {
            format!("t.toml: {others} cases of other drives and {ratios} ratios or flushes are not fitted to")
        };
        assert_eq!(said(&other), [line(1, 0)]);
        for ratio in &ratios {
            assert_eq!(said(ratio), [line(0, 1)], "{ratio}");
        }
        assert_eq!(said(&(ratios.concat() + &other)), [line(1, 3)]);
    }

    #[test]
    fn other_figures_of_a_case_are_those_of_the_same_run() {
        let also = |figure: &str| {
            format!(
                "{CASES}also = [{{ figure = '{figure}', measured = 40.5, within = 10, held_first = true, holds = true }}]\n"
            )
        };
        let (data, _) = made("t.toml", &also("p50")).unwrap();
        let FitData::Points(points) = &data[0] else { panic!("points") };
        let figures = |point: &MeasuredPoint| point.figures.iter().map(|figure| figure.measured).collect::<Vec<_>>();
        assert_eq!(points.iter().map(figures).collect::<Vec<_>>(), [vec![30.5], vec![91.0, 40.5]]);
        let said = made("t.toml", &also("p5o")).unwrap_err();
        assert!(said.contains("`p5o` is no figure"), "{said}");
    }

    /// A result of fio with what a fit reads of it.
    const FIO_JSON: &str = r#"{"fio version": "fio-3.33", "jobs": [{"jobname": "r",
"job options": {"rw": "randread", "bs": "4k", "iodepth": "4", "filename": "/dev/sdx", "ioengine": "libaio", "direct": "1",
"runtime": "60", "time_based": ""},
"read": {"io_bytes": 20480000, "iops": 83.3, "runtime": 60000, "total_ios": 5000,
"clat_ns": {"min": 4000000, "max": 40000000, "mean": 12000000.5, "stddev": 4000000.25, "N": 5000,
"percentile": {
"50.000000": 12000000,
"99.000000": 20000000
}}}, "write": {"total_ios": 0}}]}
"#;

    const CASES: &str = "[[case]]\nwhat = 'x'\njob = \"rw=randread\\nbs=4k\\niodepth=8\"\nfigure = 'p99'\nmeasured = 30.5\n\
        set = ['driver=linux-mq-deadline', 'drive.firmware.depth=1']\n[[case]]\njob = \"rw=randwrite\\nbs=64k\"\n\
        figure = 'iops'\nmeasured = 91\n";

    const WORDS: [&str; 18] = [
        "0",
        "-1",
        "1e308",
        "nan",
        "inf",
        "18446744073709551615",
        "18446744073709551616",
        "4294967296",
        "9e9",
        "\"",
        ",",
        "\n",
        "=",
        "{",
        "}",
        "'",
        "99.9",
        "\u{0}",
    ];

    #[test]
    fn changed_data_are_read_or_refused_with_their_file_and_never_a_panic() {
        let curve = "rw,iodepth,numjobs,iops,ios,clat_mean_ms,clat_sd_ms,clat_max_ms,p50,p99\n\
                     randread,1,1,80,4800,12.5,4,30,12,22\nrandwrite,4,2,82,480,48,8,90,47,70\n";
        let steps = "distance,bs,mean\n1000,4k,12.5\n100000,8k,14\n";
        let texts = [FIO_JSON.to_owned(), CASES.to_owned(), curve.to_owned(), steps.to_owned(), trace(420, "12.5")];
        for text in &texts {
            made("t", text).unwrap_or_else(|said| panic!("as it was written: {said}\n{text}"));
        }
        let (mut chance, mut read) = (seekwise_disk::rng::Seed(28).stream("changed"), [0; 5]);
        for round in 0..400 {
            let which = round % texts.len();
            let mut bytes = texts[which].as_bytes().to_vec();
            for _ in 0..=chance.below(2) {
                let at = chance.below(bytes.len() as u64) as usize;
                let word = WORDS[chance.below(WORDS.len() as u64) as usize].as_bytes();
                let number = bytes[at..].iter().position(u8::is_ascii_digit).map_or(at, |next| at + next);
                let digits = bytes[number..].iter().position(|byte| !byte.is_ascii_digit());
                let end = digits.map_or(bytes.len(), |end| number + end);
                match chance.below(4) {
                    0 => bytes.truncate(at.max(1)),
                    1 => bytes[at] = bytes[at].wrapping_add(1) & 0x7f,
                    _ => drop(bytes.splice(number..end, word.iter().copied())),
                }
            }
            let text = String::from_utf8(bytes).unwrap();
            match made("t", &text) {
                Ok(_) => read[which] += 1,
                Err(said) => assert!(said.starts_with('t'), "{said}\n{text}"),
            }
        }
        // Harmless changes are read: not all are refused.
        assert!(read.iter().sum::<usize>() > 20, "{read:?}");
    }
}
