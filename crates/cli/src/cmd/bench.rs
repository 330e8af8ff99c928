//! `seekwise bench`: how many requests a second one core simulates on fixed workloads, with everything that a run has: a whole
//! profile, cache and read-ahead, layers, histogram, and the parts of each response time. The figures depend on the machine; the
//! simulated requests do not, and a hash of them (the column "stream") is printed beside the figures.

mod instructions;

use seekwise::bench::{BenchWorkload, Clock, TOGETHER, bench_workloads};
use seekwise::keys::nearest;
use serde_json::json;

use self::instructions::InstructionCounter;
use super::{print_json, print_text};
use crate::args;
use crate::exit::{CommandAnswer, CommandError, CommandResult};
use crate::tables;
use seekwise::Files;

/// The result of a workload.
struct BenchRow {
    key: &'static str,
    description: &'static str,
    requests_per_s: f64,
    stream_hash: u64,
    /// Instructions a request, if they were counted.
    instructions: Option<f64>,
}

/// Runs the command.
pub fn run_command(args: &args::BenchArgs, files: &Files, json: bool) -> CommandResult {
    let counter_headings: &[&str] = if args.instructions { &["instructions a request"] } else { &[] };
    let figures = [&["million requests/s", "ns a request"][..], counter_headings].concat();
    let headings = [&["workload"][..], &figures[..], &["stream"]].concat();
    let mut table = tables::table_with_headings(headings.into_iter().map(str::to_owned).collect());
    tables::mark_figures(&mut table, &figures);
    tables::choose_columns(&mut [&mut table], &args.columns.names)?;
    let counter = match args.instructions.then(InstructionCounter::first_working) {
        None => None,
        Some(Some(counter)) => Some(counter),
        Some(None) => return Err(CommandError::new("neither `perf` nor `valgrind` counts instructions here")),
    };
    let rows = run_workloads(args, files, counter)?;
    let peak_bytes = peak_rss_bytes();
    if json {
        let mut object: serde_json::Map<String, serde_json::Value> =
            rows.iter().map(|row| (row.key.to_owned(), json!(row.requests_per_s.round()))).collect();
        object.insert("drive".to_owned(), json!(args.drive));
        object.insert("requests".to_owned(), json!(args.requests));
        object.insert("peak_rss_bytes".to_owned(), json!(peak_bytes));
        if let Some(counter) = counter {
            let counted = rows.iter().filter_map(|row| Some((row.key.to_owned(), json!(row.instructions?.round()))));
            object.insert("instructions".to_owned(), counted.collect::<serde_json::Map<_, _>>().into());
            object.insert("instructions_by".to_owned(), json!(counter.name()));
        }
        print_json(&object)?;
        return Ok(CommandAnswer::Done);
    }
    for row in &rows {
        let mut cells = vec![
            row.description.to_owned(),
            format!("{:.2}", row.requests_per_s / 1e6),
            format!("{:.0}", 1e9 / row.requests_per_s),
            format!("{:016x}", row.stream_hash),
        ];
        if args.instructions {
            cells.insert(3, row.instructions.map_or(String::new(), |count| format!("{count:.0}")));
        }
        table.add_row(cells);
    }
    print_text(&table.to_string())?;
    if let Some(bytes) = peak_bytes {
        print_text(&format!("\nPeak resident memory: {:.1} MB", bytes as f64 / 1e6))?;
    }
    if let Some(counter) = counter {
        print_text(&format!("Instructions counted by {}", counter.name()))?;
    }
    Ok(CommandAnswer::Done)
}

/// Runs the selected workloads; if all are run, a last row has the server workloads together.
fn run_workloads(
    args: &args::BenchArgs,
    files: &Files,
    counter: Option<InstructionCounter>,
) -> Result<Vec<BenchRow>, CommandError> {
    let mut rows = Vec::new();
    let (mut server_requests, mut server_seconds, mut server_hash, mut has_server) = (0, 0.0, 0, false);
    for workload in selected_workloads(args, files)? {
        let clock = Clock::start();
        let finished = workload.run()?;
        let seconds = clock.elapsed_seconds();
        let instructions =
            counter.map(|counter| counter.instructions_per_request(workload.key, &args.drive)).transpose()?;
        let (key, description) = (workload.key, workload.what);
        let requests_per_s = finished.requests as f64 / seconds;
        rows.push(BenchRow { key, description, requests_per_s, stream_hash: finished.stream_hash, instructions });
        if workload.server {
            server_requests += finished.requests;
            server_seconds += seconds;
            server_hash ^= finished.stream_hash;
            has_server = true;
        }
    }
    if has_server && args.only.is_empty() {
        let (key, description) = TOGETHER;
        let requests_per_s = server_requests as f64 / server_seconds;
        rows.push(BenchRow { key, description, requests_per_s, stream_hash: server_hash, instructions: None });
    }
    Ok(rows)
}

/// The workloads that `--only` selects; all without it.
fn selected_workloads(args: &args::BenchArgs, files: &Files) -> Result<Vec<BenchWorkload>, CommandError> {
    let all = bench_workloads(&args.drive, args.requests, &files.inputs())?;
    let known = || all.iter().map(|workload| workload.key);
    if let Some(unknown) = args.only.iter().find(|only| known().all(|key| key != *only)) {
        let near = nearest(unknown, known()).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        let expected = known().collect::<Vec<_>>().join(", ");
        return Err(CommandError::new(format!("--only: no workload `{unknown}`; expected {expected}{near}")));
    }
    let wanted = |workload: &BenchWorkload| args.only.is_empty() || args.only.iter().any(|only| only == workload.key);
    Ok(all.into_iter().filter(wanted).collect())
}

/// The peak of this process's resident memory, if /proc has it (Linux).
fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}
