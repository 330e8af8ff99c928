//! Published behaviour of drives against their profiles: `validation/published.toml`, case by case.
//!
//! A case that is said to hold must hold, and one that is said not to must still not: so the file stays true.
//! `SEEKWISE_UPDATE=1` rewrites the table of `docs/published.md`.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use seekwise_lab::inputs::Inputs;
use seekwise_lab::plan::{self, Cell};
use seekwise_lab::run::measure;
use seekwise_lab::stats::Kind;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    case: Vec<Case>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    drive: String,
    what: String,
    /// Lines of a fio job.
    job: String,
    #[serde(default)]
    set: Vec<String>,
    /// The figure is a ratio over the same job with these settings instead …
    over: Option<Vec<String>>,
    /// … or over this job.
    over_job: Option<String>,
    figure: String,
    measured: f64,
    /// Percent.
    within: f64,
    role: String,
    why: String,
    holds: bool,
    /// Why it does not hold.
    #[serde(default)]
    because: String,
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A minute on the drive after five seconds' run-in, the host left out.
fn figure(case: &Case, job: &str, set: &[String]) -> f64 {
    // Without a size the job has the whole drive.
    let job = if job.contains("size=") { job.to_owned() } else { format!("filename=/dev/sdx\n{job}") };
    let text = format!("[global]\nioengine=libaio\ndirect=1\nruntime=60\nramp_time=5\ntime_based\n[case]\n{job}\n");
    let pairs = set.iter().map(|pair| pair.split_once('=').expect("KEY=VALUE"));
    let mut settings = vec![("job".to_owned(), "case.fio".to_owned()), ("drive".to_owned(), case.drive.clone())];
    settings.extend(pairs.map(|(key, value)| (key.to_owned(), value.to_owned())));
    let cell = Cell { levels: Vec::new(), settings };
    let read = |name: &str| match name {
        "case.fio" => Ok(text.clone()),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    };
    let prepared = plan::prepare("published", &cell, &Inputs::today(&read));
    let prepared = prepared.unwrap_or_else(|errors| panic!("{}: {errors:?}", case.what));
    let measured = measure(&prepared.stack, &prepared.job, 1, |_| {}).expect("runs");
    let record = measured.record(&case.drive, &case.what, 1, Vec::new());
    let reads = record.read.ios > 0;
    let view = if reads { &record.read } else { &record.write };
    let kind = measured.run.kind(if reads { Kind::Read } else { Kind::Write });
    let share = |percent: &str| {
        let percent = percent.parse::<f64>().expect("a percentile");
        kind.tally.responses().quantile(percent / 100.0).expect("requests").nanos() as f64 / 1e6
    };
    match case.figure.as_str() {
        "iops" => view.iops,
        "mib_s" => view.bytes_per_s / 1_048_576.0,
        "mb_s" => view.bytes_per_s / 1e6,
        "flush_p50" => {
            let flushes = measured.run.kind(Kind::Flush);
            flushes.tally.responses().quantile(0.5).expect("flushes").nanos() as f64 / 1e6
        }
        percentile => share(percentile.strip_prefix('p').expect("a figure")),
    }
}

fn simulated(case: &Case) -> f64 {
    let ours = figure(case, &case.job, &case.set);
    match (&case.over, &case.over_job) {
        (None, None) => ours,
        (over, job) => ours / figure(case, job.as_ref().unwrap_or(&case.job), over.as_ref().unwrap_or(&case.set)),
    }
}

#[test]
fn published_behaviour_holds_where_the_table_says_so() {
    let text = fs::read_to_string(workspace().join("validation/published.toml")).expect("the cases");
    let cases: Cases = toml::from_str(&text).expect("cases");
    let found: Vec<f64> = cases.case.par_iter().map(simulated).collect();
    let mut table = String::from(
        "| drive | what | measured | simulated | off | tolerance | | used |\n|---|---|---|---|---|---|---|---|\n",
    );
    let mut wrong = Vec::new();
    for (case, found) in cases.case.iter().zip(&found) {
        let off = 100.0 * (found / case.measured - 1.0);
        let holds = off.abs() <= case.within;
        let says = if holds { "holds" } else { "**does not hold**" };
        let _ = writeln!(
            table,
            "| {} | {} | {} | {found:.2} | {off:+.1} % | {} % | {says}{} | {} |",
            case.drive,
            case.what,
            case.measured,
            case.within,
            if case.because.is_empty() { String::new() } else { format!(": {}", case.because) },
            case.role
        );
        assert!(!case.why.is_empty() && (case.holds || !case.because.is_empty()), "{}: give the reason", case.what);
        if holds != case.holds {
            wrong.push(format!("{}, {}: {found:.3} against {} ({off:+.1} %)", case.drive, case.what, case.measured));
        }
    }
    eprintln!("{table}");
    if std::env::var_os("SEEKWISE_UPDATE").is_some() {
        let path = workspace().join("docs/published.md");
        let page = fs::read_to_string(&path).expect("the page");
        let (before, rest) = page.split_once("<!-- cases -->\n").expect("a place for the table");
        let (_, after) = rest.split_once("<!-- end -->").expect("an end of the table");
        fs::write(&path, format!("{before}<!-- cases -->\n{table}<!-- end -->{after}")).expect("the page is written");
    }
    assert!(wrong.is_empty(), "otherwise than the table says:\n{}", wrong.join("\n"));
}
