//! Texts become data: which form a text has, what was named beside it, and what is wrong with either.
//!
//! Opens no file.

use seekwise_formats::diagnostic::Diagnostic;
use seekwise_formats::profile::DriveFile;
use seekwise_formats::trace;
use seekwise_model::workload::replay::Timing;

use super::data::{Data, Traced};
use crate::validate::quantile;

/// A file as the user names it: `FILE,KEY=VALUE,…`.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// The file.
    pub file: String,
    /// What a trace is replayed by.
    pub timing: Timing,
    /// The share of it that is held back, where that is said of it alone.
    pub held: Option<f64>,
    /// Keys of the stack that held meanwhile, and values.
    pub set: Vec<(String, String)>,
}

/// Words that may stand behind a file, beside dotted keys of the stack.
const WORDS: [&str; 4] = ["replay", "hold", "cache", "depth"];

impl Named {
    /// Reads `FILE,KEY=VALUE,…`.
    pub fn parse(text: &str) -> Result<Named, Diagnostic> {
        let mut parts = text.split(',');
        let mut file = parts.next().unwrap_or_default().to_owned();
        let (mut timing, mut held, mut set) = (Timing::Think, None, Vec::new());
        for part in parts {
            let Some((key, value)) = part.split_once('=') else {
                // A comma of the file's own name.
                file = format!("{file},{part}");
                continue;
            };
            let wrong = |expected: &str| {
                Diagnostic::at(&file, 0, format!("`{value}` will not do")).key(key).expected(expected)
            };
            match key {
                "replay" => {
                    timing = match value {
                        "think" => Timing::Think,
                        "arrival" => Timing::Arrival,
                        _ => return Err(wrong("think or arrival").nearest_to(value, ["think", "arrival"])),
                    };
                }
                "hold" => held = Some(share(value).ok_or_else(|| wrong("a share such as 50%, all or none"))?),
                "cache" => {
                    let on = ["on", "off"].contains(&value);
                    let on = on.then_some(value).ok_or_else(|| wrong("on or off"))?;
                    set.push(("drive.cache.write_back".to_owned(), on.to_owned()));
                }
                "depth" => set.push(("drive.firmware.depth".to_owned(), value.to_owned())),
                key if key.contains('.') || key == "driver" || key == "controller" => {
                    set.push((key.to_owned(), value.to_owned()));
                }
                _ => {
                    let fault = Diagnostic::at(&file, 0, "unknown word behind a file").key(key);
                    return Err(fault.expected("replay, hold, cache, depth, or a dotted key of the stack").nearest_to(key, WORDS));
                }
            }
        }
        Ok(Named { file, timing, held, set })
    }

    /// The keys that are the drive's, without their layer.
    pub fn of_drive(&self) -> Vec<(String, String)> {
        let of_drive = |(key, value): &(String, String)| Some((key.strip_prefix("drive.")?.to_owned(), value.clone()));
        self.set.iter().filter_map(of_drive).collect()
    }
}

/// A share that is held back: `50%`, `all`, `none`.
pub fn share(text: &str) -> Option<f64> {
    match text {
        "all" => Some(1.0),
        "none" => Some(0.0),
        _ => {
            let percent = text.strip_suffix('%')?.trim_end().parse::<f64>().ok()?;
            (0.0..=100.0).contains(&percent).then_some(percent / 100.0)
        }
    }
}

/// A trace of which `held` is held back.
pub fn traced(named: &Named, text: &str, held: f64, drive: &DriveFile) -> Result<Data, Vec<Diagnostic>> {
    let file = &named.file;
    let one = |fault: Diagnostic| vec![fault];
    if let Some((key, _)) = named.set.iter().find(|(key, _)| !key.starts_with("drive.")) {
        let fault = Diagnostic::at(file, 0, "a trace is replayed on a drive alone").key(key);
        return Err(one(fault.expected("keys that begin with `drive.`")));
    }
    let trace = trace::parse(file, text).map_err(one)?;
    let held = named.held.unwrap_or(held);
    let traced = Traced::new(file, trace, held, named.timing, named.of_drive()).map_err(one)?;
    unit(&traced, drive)?;
    Ok(Data::Traced(traced))
}

/// Beyond this ratio of medians no drive is meant, but another unit of time: units lie a thousand apart, drives of one
/// profile a few times.
const OTHER_UNIT: f64 = 30.0;

/// Whether the measured times are in the unit that they are read in.
fn unit(traced: &Traced, drive: &DriveFile) -> Result<(), Vec<Diagnostic>> {
    let mut samples = traced.samples(drive)?;
    samples.measured.sort_unstable();
    samples.simulated.sort_unstable();
    let median = |times: &[_]| quantile(times, 0.5).nanos().max(1) as f64 / 1e6;
    let (measured, simulated) = (median(&samples.measured), median(&samples.simulated));
    let ratio = measured / simulated;
    if (1.0 / OTHER_UNIT..=OTHER_UNIT).contains(&ratio) {
        return Ok(());
    }
    let message = format!("half of its times are below {measured:.3} ms; on `{}` {simulated:.3} ms", drive.name);
    let fault = Diagnostic::at(&traced.file, 0, message).key("measured_response_ms");
    Err(vec![fault.expected("times in milliseconds (in DiskSim's own form in microseconds), of this drive")])
}

/// What can be made of texts, and what there is to say about them.
pub type Made = (Vec<Data>, Vec<Diagnostic>);

/// All data of a fit: `texts` are those of `named`, `profile` is the drive's own text.
pub fn data(
    named: &[Named],
    texts: &[String],
    held: f64,
    drive: &DriveFile,
    _profile: &str,
) -> Result<Made, Vec<Diagnostic>> {
    let mut all = Vec::new();
    for (named, text) in named.iter().zip(texts) {
        all.push(traced(named, text, held, drive)?);
    }
    Ok((all, Vec::new()))
}
