//! `seekwise bench`: simulated requests a second of one core on fixed workloads, everything on: a whole profile, cache
//! and read-ahead, boxed layers, histogram and anatomy. The figures depend on the machine; the streams do not, and
//! their hash is printed beside them.

use seekwise_lab::bench::{TOGETHER, workloads};
use seekwise_os::clock::Clock;
use serde_json::json;

use super::{print, print_json};
use crate::args;
use crate::exit::{CommandAnswer, CommandResult};
use crate::tables;
use seekwise::reading;

/// Runs the command.
pub fn bench(args: &args::BenchArgs, json: bool) -> CommandResult {
    let mut table = tables::table(["workload", "million requests/s", "ns a request", "stream"]);
    tables::figures(&mut table, &["million requests/s", "ns a request"]);
    tables::choose(&mut [&mut table], &args.columns.names)?;
    let mut rows = Vec::new();
    let mut together = (0, 0.0, 0);
    for workload in workloads(&args.drive, args.requests, &reading::inputs())? {
        let clock = Clock::start();
        let ran = workload.run()?;
        let seconds = clock.seconds();
        rows.push((workload.key, workload.what, ran.requests as f64 / seconds, ran.stream_hash));
        if workload.server {
            together = (together.0 + ran.requests, together.1 + seconds, together.2 ^ ran.stream_hash);
        }
    }
    rows.push((TOGETHER.0, TOGETHER.1, together.0 as f64 / together.1, together.2));
    let rss = peak_rss_bytes();
    if json {
        let mut object: serde_json::Map<String, serde_json::Value> =
            rows.iter().map(|(key, _, rate, _)| ((*key).to_owned(), json!(rate.round()))).collect();
        object.insert("drive".to_owned(), json!(args.drive));
        object.insert("requests".to_owned(), json!(args.requests));
        object.insert("peak_rss_bytes".to_owned(), json!(rss));
        print_json(&object)?;
        return Ok(CommandAnswer::Done);
    }
    for (_, what, rate, hash) in &rows {
        let cells =
            [(*what).to_owned(), format!("{:.2}", rate / 1e6), format!("{:.0}", 1e9 / rate), format!("{hash:016x}")];
        table.add_row(cells);
    }
    print(&table.to_string())?;
    if let Some(bytes) = rss {
        print(&format!("\nPeak resident memory: {:.1} MB", bytes as f64 / 1e6))?;
    }
    Ok(CommandAnswer::Done)
}

/// The most memory this process has had resident, where the kernel tells.
fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}
