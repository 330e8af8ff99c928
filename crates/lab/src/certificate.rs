//! The certificate of a trace's run: the content of the trace, how its units were interpreted, what was derived, how it
//! was played, and how close to their instants its requests were issued.

use seekwise_disk::block::SECTOR;
use seekwise_disk::time::Span;
use seekwise_formats::trace::keys::{AddressMapping, loop_word};
use seekwise_formats::trace::{TraceFormat, WaitMeaning, time_unit_name};
use seekwise_work::workload::trace::LoopMode;

use crate::jobs::JobOrigin;
use crate::plan::PreparedCell;
use crate::run::MeasuredRun;
use crate::run::certificate::{Certificate, TimingErrors};
use crate::trace::LoadedTrace;

/// The certificate of a run of a trace.
pub fn trace_certificate(prepared: &PreparedCell, measured: &MeasuredRun) -> Option<Certificate> {
    let (JobOrigin::Trace(traced), Some(achieved)) = (&prepared.origin, &measured.achieved) else { return None };
    let LoadedTrace { survey, asked, .. } = &**traced;
    let played = achieved.played;
    let seconds = |span: Span| span.nanos() as f64 / 1e9;
    let moved = (survey.reads + survey.writes).max(1);
    let by_instants = asked.mode.uses_instants();
    Some(Certificate {
        format: survey.format.spec().word.to_owned(),
        requests: survey.requests,
        issued: played.issued,
        reads_percent: 100.0 * survey.reads as f64 / moved as f64,
        flushes: survey.flushes,
        trims: survey.trims,
        bytes: survey.bytes,
        size_median: u64::from(survey.median) * SECTOR,
        size_largest: u64::from(survey.largest) * SECTOR,
        span_s: seconds(survey.span),
        recorded_per_s: (survey.span > Span::ZERO).then(|| survey.requests_per_s()),
        mode: loop_word(asked.mode).to_owned(),
        speed: by_instants.then(|| f64::from(asked.speed.thousandths) / 1e3),
        recorded_s: seconds(played.recorded),
        played_s: played.last.nanos() as f64 / 1e9,
        issue_error_ms: TimingErrors::from_lateness(&achieved.off),
        held: played.held,
        reordered: survey.met.reordered,
        responses: survey.responses,
        rounded: survey.ragged,
        devices: survey.devices.iter().filter(|device| device.requests > 0).count() as u64,
        extent: survey.total_sectors().saturating_mul(SECTOR),
        elsewhere: survey.met.elsewhere,
        passed_over: survey.met.passed_over,
        map: asked.map.word().to_owned(),
        moved: achieved.moved,
        clipped: achieved.clipped,
        taken: interpretations(traced),
    })
}

/// How units were interpreted, and what was derived.
fn interpretations(traced: &LoadedTrace) -> Vec<String> {
    let LoadedTrace { survey, asked, sectors } = traced;
    let units = asked.reading.units(survey.format);
    let bytes = |bytes: u64| match bytes {
        1 => "bytes".to_owned(),
        512 => "sectors of 512 bytes".to_owned(),
        other => format!("units of {other} bytes"),
    };
    let mut taken = vec![format!(
        "instants in {}, addresses in {}, sizes in {}",
        time_unit_name(units.time),
        bytes(units.address),
        bytes(units.length)
    )];
    match (survey.format, survey.wait) {
        (TraceFormat::Tencent, _) => taken.push("requests of one second are spread evenly over it".to_owned()),
        (TraceFormat::Biosnoop, _) => {
            taken.push("a request began its response time before its line was printed".to_owned())
        }
        (TraceFormat::Validation, _) => taken.push("instants are the sums of response and think times".to_owned()),
        (TraceFormat::Iolog, _) if survey.met.waits == 0 => {}
        (_, Some(WaitMeaning::Relative)) => taken.push("`wait` counts microseconds from the one before".to_owned()),
        (_, Some(WaitMeaning::Absolute)) => taken.push("`wait` counts milliseconds from the beginning".to_owned()),
        _ => {}
    }
    if survey.devices.len() > 1 && asked.reading.device.is_none() {
        taken.push(format!("its {} devices lie one behind another, each from a whole MiB on", survey.devices.len()));
    }
    if survey.met.cut {
        taken.push("the last line has no end: the file may have been cut".to_owned());
    }
    let missing = survey.requests - survey.responses;
    if asked.mode == LoopMode::Dependent && missing > 0 {
        taken.push(format!("{missing} requests do not say when they were over: nothing waits for them"));
    }
    if matches!(asked.map, AddressMapping::Wrap | AddressMapping::Scale) && survey.total_sectors() <= *sectors {
        taken.push(format!("nothing lies beyond the target: trace.map={} changes nothing", asked.map.word()));
    }
    taken
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use seekwise_formats::trace::{TraceInput, TracePart};

    use super::*;
    use crate::inputs::Inputs;
    use crate::plan::{Cell, prepare_cell};
    use crate::run::measure_run;

    /// Three devices in 30 ms: one of two requests, and two of one each.
    const TRACE: &str = "5,W,1048576,8192,1000000\n3,R,0,4096,1010000\n3,R,4096,4096,1020000\n9,R,0,512,1030000\n";

    fn open(name: &str) -> std::io::Result<Vec<TracePart>> {
        let input: TraceInput = Box::new(TRACE.as_bytes());
        Ok(vec![(name.to_owned(), input)])
    }

    /// The certificate of the trace, played with these keys besides.
    fn certified(keys: &[(&str, &str)]) -> Certificate {
        let all = [("drive", "barracuda-7200.7-ncq"), ("job", "t.csv")];
        let settings = all.iter().chain(keys).map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        let inputs = Inputs::from_today(&|_| Err(std::io::ErrorKind::NotFound.into())).with_opener(Arc::new(open));
        let prepared = prepare_cell("s.toml", &Cell { levels: Vec::new(), settings }, &inputs).unwrap();
        let measured = measure_run(&prepared.target, &prepared.job, 1, |_| {}).unwrap();
        trace_certificate(&prepared, &measured).unwrap()
    }

    #[test]
    fn a_certificate_counts_the_requests_and_the_devices_that_have_some() {
        let all = certified(&[]);
        assert_eq!((all.format.as_str(), all.mode.as_str(), all.map.as_str()), ("alibaba", "open", "refuse"));
        assert_eq!((all.requests, all.issued, all.flushes, all.trims, all.elsewhere), (4, 4, 0, 0, 0));
        assert_eq!((all.reads_percent, all.bytes), (75.0, 8192 + 4096 + 4096 + 512));
        assert_eq!((all.size_median, all.size_largest, all.span_s), (4096, 8192, 0.03));
        // Devices begin at whole MiB: the first ends 8 KiB into its second one, the others in their first.
        assert_eq!((all.devices, all.extent), (3, 4 << 20));
        let behind = |said: &String| said.starts_with("its 3 devices lie one behind another");
        assert!(all.taken.iter().any(behind), "{:?}", all.taken);
        // The first device was seen before the one that is wanted, and has no request of it.
        let one = certified(&[("trace.device", "3")]);
        assert_eq!((one.devices, one.requests, one.issued, one.elsewhere), (1, 2, 2, 2));
        assert_eq!((one.reads_percent, one.bytes), (100.0, 8192));
        let single = certified(&[("trace.device", "9"), ("trace.loop", "closed")]);
        assert_eq!((single.devices, single.requests, single.elsewhere, single.speed), (1, 1, 3, None));
        assert_eq!(single.reads_percent, 100.0);
    }
}
