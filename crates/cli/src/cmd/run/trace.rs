//! The certificate of a replayed trace as text: how its file was read, how near to the recorded times its requests were issued, and
//! what was changed.

use seekwise::run::{Certificate, TimingErrors};

use crate::screen::wrap_text;

/// A paragraph each for the contents of the trace, how it was read and played, the repaired records, and moved requests.
pub fn format_certificate(certificate: &Certificate, width: usize) -> String {
    let Certificate { taken, .. } = certificate;
    let mut sentences = vec![contents_sentence(certificate)];
    sentences.push(format!("Read as: {}.", taken.join("; ")));
    sentences.push(playback_sentence(certificate));
    sentences.extend(repairs_sentence(certificate));
    sentences.extend(mapping_sentence(certificate));
    let lines = sentences.iter().map(|text| format!("{}\n", wrap_text(&format!("  {text}"), width)));
    format!("The trace:\n{}", lines.collect::<String>())
}

fn contents_sentence(certificate: &Certificate) -> String {
    let rate = certificate.recorded_per_s.map_or("at one instant".to_owned(), |rate| format!("{rate:.1} a second"));
    let others = match (certificate.flushes, certificate.trims) {
        (0, 0) => String::new(),
        (flushes, trims) => format!("; also {flushes} flushes and {trims} trims"),
    };
    format!(
        "{} requests, format {}, in {:.3} s, {rate}; {:.1} % reads; {:.1} MB, median size {} bytes, largest {}{others}.",
        certificate.requests,
        certificate.format,
        certificate.span_s,
        certificate.reads_percent,
        certificate.bytes as f64 / 1e6,
        certificate.size_median,
        certificate.size_largest,
    )
}

fn playback_sentence(certificate: &Certificate) -> String {
    let speed = match certificate.speed {
        Some(speed) if speed != 1.0 => format!(" at {speed} times its speed"),
        _ => String::new(),
    };
    let TimingErrors { p50, p99, max } = certificate.issue_error_ms;
    let reference = match &*certificate.mode {
        "open" => "after they were due",
        _ => "from their recorded times",
    };
    let waiting = match certificate.held {
        0 => String::new(),
        waiting => format!(" {waiting} were due while the device was full; their response includes that wait."),
    };
    format!(
        "Played in {} {} loop{speed}: {} requests, {:.3} s of the trace in {:.3} s. Requests were issued {p50:.3} ms (median), \
         {p99:.3} ms (p99), at most {max:.3} ms {reference}.{waiting}",
        if certificate.mode == "open" { "an" } else { "a" },
        certificate.mode,
        certificate.issued,
        certificate.recorded_s,
        certificate.played_s
    )
}

/// The records that were repaired or left out; `None` if there are none.
fn repairs_sentence(certificate: &Certificate) -> Option<String> {
    let counts = [
        (certificate.reordered, "were out of order and were sorted"),
        (certificate.rounded, "were not aligned to sectors and were extended to whole ones"),
        (certificate.elsewhere, "belong to other devices and were left out"),
        (certificate.passed_over, "lines or records are not requests and were skipped"),
    ];
    let repairs: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, repair)| format!("{count} {repair}")).collect();
    (!repairs.is_empty()).then(|| format!("{}.", repairs.join("; ")))
}

fn mapping_sentence(certificate: &Certificate) -> Option<String> {
    let Certificate { map, moved, clipped, extent, .. } = certificate;
    (map != "refuse").then(|| {
        let gb = *extent as f64 / 1e9;
        format!(
            "The trace covers {gb:.1} GB: {moved} requests were moved ({map}), {clipped} of them to fit before the target's end."
        )
    })
}
