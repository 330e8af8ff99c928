//! The certificate of a trace's run: the content of the trace, how its units were interpreted, what was derived, how it
//! was played, and how close to their instants its requests were issued.

use seekwise_formats::trace::keys::{Map, loop_word};
use seekwise_formats::trace::{Format, Wait, name_of};
use seekwise_model::block::SECTOR;
use seekwise_model::time::Span;
use seekwise_model::workload::trace::Loop;
use seekwise_run::receipt::lateness::Lateness;
use serde::{Deserialize, Serialize};

use super::Traced;
use crate::jobs::Origin;
use crate::plan::Prepared;
use crate::run::Measured;

/// The certificate of a run. Field names are those of `trace` in `seekwise run --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// The format's word.
    pub format: String,
    /// Requests in the trace.
    pub requests: u64,
    /// Requests that were issued.
    pub issued: u64,
    /// Reads among reads and writes, in per cent.
    pub reads_percent: f64,
    pub flushes: u64,
    pub trims: u64,
    /// Bytes read and written.
    pub bytes: u64,
    /// The median of sizes, in bytes; beyond 4 MiB up to twice as large.
    pub size_median: u64,
    /// The largest size, in bytes.
    pub size_largest: u64,
    /// From the first request to the last as recorded, in seconds.
    pub span_s: f64,
    /// Requests a second as recorded; `None` if all have one instant.
    pub recorded_per_s: Option<f64>,
    /// `open`, `closed` or `dependent`.
    #[serde(rename = "loop")]
    pub mode: String,
    /// How much faster than recorded; `None` in a closed loop.
    pub speed: Option<f64>,
    /// The span that was played, in recorded seconds.
    pub recorded_s: f64,
    /// The span that was played, in the run's seconds.
    pub played_s: f64,
    /// How far from their instants requests were issued: in an open loop how late, compared with when the device had
    /// room; otherwise from their recorded instants.
    pub issue_error_ms: Off,
    /// Requests that were due while the device had no room.
    pub held: u64,
    /// Requests that were out of order, and were sorted.
    pub reordered: u64,
    /// Requests with a response time.
    pub responses: u64,
    /// Requests that were extended to whole sectors.
    pub rounded: u64,
    /// Devices of the trace.
    pub devices: u64,
    /// Bytes of the devices one after another.
    pub extent: u64,
    /// Requests of devices that were left out.
    pub elsewhere: u64,
    /// Lines or records that are no requests.
    pub passed_over: u64,
    /// How requests beyond the target were mapped.
    pub map: String,
    /// Requests that went elsewhere than they were recorded.
    pub moved: u64,
    /// Of these, how many were shifted to end before the target does.
    pub clipped: u64,
    /// How units were interpreted, and what was derived, in words.
    pub taken: Vec<String>,
}

/// Distances in time, in milliseconds; p50 and p99 are at most 12.5 % too large.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Off {
    /// The median.
    pub p50: f64,
    /// All but one in a hundred are no larger.
    pub p99: f64,
    pub max: f64,
}

impl Off {
    fn of(lateness: &Lateness) -> Off {
        let ms = |span: Option<Span>| span.map_or(0.0, |span| span.nanos() as f64 / 1e6);
        let of = |share| ms(lateness.quantile(share));
        Off { p50: of(0.5), p99: of(0.99), max: ms(Some(lateness.latest())) }
    }
}

/// The certificate of a run of a trace.
pub fn certificate(prepared: &Prepared, measured: &Measured) -> Option<Certificate> {
    let (Origin::Trace(traced), Some(achieved)) = (&prepared.origin, &measured.achieved) else { return None };
    let Traced { survey, asked, .. } = &**traced;
    let played = achieved.played;
    let seconds = |span: Span| span.nanos() as f64 / 1e9;
    let moved = (survey.reads + survey.writes).max(1);
    let by_instants = !matches!(asked.mode, Loop::Closed(_));
    Some(Certificate {
        format: survey.format.known().word.to_owned(),
        requests: survey.requests,
        issued: played.issued,
        reads_percent: 100.0 * survey.reads as f64 / moved as f64,
        flushes: survey.flushes,
        trims: survey.trims,
        bytes: survey.bytes,
        size_median: u64::from(survey.median) * SECTOR,
        size_largest: u64::from(survey.largest) * SECTOR,
        span_s: seconds(survey.span),
        recorded_per_s: (survey.span > Span::ZERO).then(|| survey.rate()),
        mode: loop_word(asked.mode).to_owned(),
        speed: by_instants.then(|| f64::from(asked.speed.thousandths) / 1e3),
        recorded_s: seconds(played.recorded),
        played_s: played.last.nanos() as f64 / 1e9,
        issue_error_ms: Off::of(&achieved.off),
        held: played.held,
        reordered: survey.met.reordered,
        responses: survey.responses,
        rounded: survey.ragged,
        devices: survey.devices.iter().filter(|device| device.requests > 0).count() as u64,
        extent: survey.sectors().saturating_mul(SECTOR),
        elsewhere: survey.met.elsewhere,
        passed_over: survey.met.passed_over,
        map: asked.map.word().to_owned(),
        moved: achieved.moved,
        clipped: achieved.clipped,
        taken: taken(traced),
    })
}

/// How units were interpreted, and what was derived.
fn taken(traced: &Traced) -> Vec<String> {
    let Traced { survey, asked, sectors } = traced;
    let units = asked.reading.units(survey.format);
    let bytes = |bytes: u64| match bytes {
        1 => "bytes".to_owned(),
        512 => "sectors of 512 bytes".to_owned(),
        other => format!("units of {other} bytes"),
    };
    let mut taken = vec![format!(
        "instants in {}, addresses in {}, sizes in {}",
        name_of(units.time),
        bytes(units.address),
        bytes(units.length)
    )];
    match (survey.format, survey.wait) {
        (Format::Tencent, _) => taken.push("requests of one second are spread evenly over it".to_owned()),
        (Format::Biosnoop, _) => taken.push("a request began its response time before its line was printed".to_owned()),
        (Format::Validation, _) => taken.push("instants are the sums of response and think times".to_owned()),
        (Format::Iolog, _) if survey.met.waits == 0 => {}
        (_, Some(Wait::Relative)) => taken.push("`wait` counts microseconds from the one before".to_owned()),
        (_, Some(Wait::Absolute)) => taken.push("`wait` counts milliseconds from the beginning".to_owned()),
        _ => {}
    }
    if survey.devices.len() > 1 && asked.reading.device.is_none() {
        taken.push(format!("its {} devices lie one behind another, each from a whole MiB on", survey.devices.len()));
    }
    if survey.met.cut {
        taken.push("the last line has no end: the file may have been cut".to_owned());
    }
    let missing = survey.requests - survey.responses;
    if asked.mode == Loop::Dependent && missing > 0 {
        taken.push(format!("{missing} requests do not say when they were over: nothing waits for them"));
    }
    if matches!(asked.map, Map::Wrap | Map::Scale) && survey.sectors() <= *sectors {
        taken.push(format!("nothing lies beyond the target: trace.map={} changes nothing", asked.map.word()));
    }
    taken
}
