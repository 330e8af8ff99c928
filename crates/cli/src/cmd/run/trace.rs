//! The certificate of a trace's run as text: what it was taken for, and how near to its instants it was played.

use seekwise_lab::run::certificate::{Certificate, TimingErrors};

use crate::screen::wrapped;

/// A paragraph for what the trace is, what was derived, how it was played, where it went.
pub fn certificate(certificate: &Certificate, width: usize) -> String {
    let Certificate { taken, .. } = certificate;
    let mut said = vec![holds(certificate)];
    said.push(format!("Taken: {}.", taken.join("; ")));
    said.push(played(certificate));
    said.extend(left(certificate));
    said.extend(mapped(certificate));
    let lines = said.iter().map(|text| format!("{}\n", wrapped(&format!("  {text}"), width)));
    format!("The trace:\n{}", lines.collect::<String>())
}

fn holds(it: &Certificate) -> String {
    let rate = it.recorded_per_s.map_or("at one instant".to_owned(), |rate| format!("{rate:.1} a second"));
    let others = match (it.flushes, it.trims) {
        (0, 0) => String::new(),
        (flushes, trims) => format!(", {flushes} flushes and {trims} trims beside them"),
    };
    format!(
        "{} requests as {} in {:.3} s, {rate}; {:.1} % of reads and writes are reads, {:.1} MB in sizes of {} bytes (median) to {}{others}.",
        it.requests,
        it.format,
        it.span_s,
        it.reads_percent,
        it.bytes as f64 / 1e6,
        it.size_median,
        it.size_largest,
    )
}

fn played(it: &Certificate) -> String {
    let speed = match it.speed {
        Some(speed) if speed != 1.0 => format!(" at {speed} times its speed"),
        _ => String::new(),
    };
    let TimingErrors { p50, p99, max } = it.issue_error_ms;
    let what = match &*it.mode {
        "open" => "issued after it was due",
        _ => "issued beside its recorded instant",
    };
    let held = match it.held {
        0 => String::new(),
        held => format!(" {held} were due while the device had no room, and their wait is in their response."),
    };
    format!(
        "Played in {} {} loop{speed}: {} requests, {:.3} s of the trace in {:.3} s. A request was {what} by {p50:.3} ms (median), \
         {p99:.3} ms (p99), {max:.3} ms at most.{held}",
        if it.mode == "open" { "an" } else { "a" },
        it.mode,
        it.issued,
        it.recorded_s,
        it.played_s
    )
}

/// What was put right or left out.
fn left(it: &Certificate) -> Option<String> {
    let counts = [
        (it.reordered, "were not in order and were put there"),
        (it.rounded, "did not lie on sectors: whole sectors around them were taken"),
        (it.elsewhere, "are of other devices and were left out"),
        (it.passed_over, "lines or records are no requests and were passed over"),
    ];
    let said: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(n, what)| format!("{n} {what}")).collect();
    (!said.is_empty()).then(|| format!("{}.", said.join("; ")))
}

fn mapped(it: &Certificate) -> Option<String> {
    let Certificate { map, moved, clipped, extent, .. } = it;
    (map != "refuse").then(|| {
        let gb = *extent as f64 / 1e9;
        format!(
            "Of its {gb:.1} GB {moved} requests went elsewhere ({map}); {clipped} of these were pushed to end before the target does."
        )
    })
}
