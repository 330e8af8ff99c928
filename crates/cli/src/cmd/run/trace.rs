//! The certificate of a trace's run as text: how it was read, and how near to its instants it was played.

use seekwise::run::{Certificate, TimingErrors};

use crate::screen::wrap_text;

/// A paragraph each for what the trace holds, how it was read and played, what was put right, and where it went.
pub fn format_certificate(certificate: &Certificate, width: usize) -> String {
    let Certificate { taken, .. } = certificate;
    let mut said = vec![contents_sentence(certificate)];
    said.push(format!("Read as: {}.", taken.join("; ")));
    said.push(playback_sentence(certificate));
    said.extend(repairs_sentence(certificate));
    said.extend(mapping_sentence(certificate));
    let lines = said.iter().map(|text| format!("{}\n", wrap_text(&format!("  {text}"), width)));
    format!("The trace:\n{}", lines.collect::<String>())
}

fn contents_sentence(it: &Certificate) -> String {
    let rate = it.recorded_per_s.map_or("at one instant".to_owned(), |rate| format!("{rate:.1} a second"));
    let others = match (it.flushes, it.trims) {
        (0, 0) => String::new(),
        (flushes, trims) => format!("; also {flushes} flushes and {trims} trims"),
    };
    format!(
        "{} requests, format {}, in {:.3} s, {rate}; {:.1} % reads; {:.1} MB, median size {} bytes, largest {}{others}.",
        it.requests,
        it.format,
        it.span_s,
        it.reads_percent,
        it.bytes as f64 / 1e6,
        it.size_median,
        it.size_largest,
    )
}

fn playback_sentence(it: &Certificate) -> String {
    let speed = match it.speed {
        Some(speed) if speed != 1.0 => format!(" at {speed} times its speed"),
        _ => String::new(),
    };
    let TimingErrors { p50, p99, max } = it.issue_error_ms;
    let what = match &*it.mode {
        "open" => "after they were due",
        _ => "from their recorded times",
    };
    let held = match it.held {
        0 => String::new(),
        held => format!(" {held} were due while the device was full; their response includes that wait."),
    };
    format!(
        "Played in {} {} loop{speed}: {} requests, {:.3} s of the trace in {:.3} s. Requests were issued {p50:.3} ms (median), \
         {p99:.3} ms (p99), at most {max:.3} ms {what}.{held}",
        if it.mode == "open" { "an" } else { "a" },
        it.mode,
        it.issued,
        it.recorded_s,
        it.played_s
    )
}

/// Records that were put right or left out.
fn repairs_sentence(it: &Certificate) -> Option<String> {
    let counts = [
        (it.reordered, "were out of order and were sorted"),
        (it.rounded, "were not aligned to sectors and were extended to whole ones"),
        (it.elsewhere, "belong to other devices and were left out"),
        (it.passed_over, "lines or records are not requests and were skipped"),
    ];
    let said: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(n, what)| format!("{n} {what}")).collect();
    (!said.is_empty()).then(|| format!("{}.", said.join("; ")))
}

fn mapping_sentence(it: &Certificate) -> Option<String> {
    let Certificate { map, moved, clipped, extent, .. } = it;
    (map != "refuse").then(|| {
        let gb = *extent as f64 / 1e9;
        format!(
            "The trace covers {gb:.1} GB: {moved} requests were moved ({map}), {clipped} of them to fit before the target's end."
        )
    })
}
