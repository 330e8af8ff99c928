//! Everyday work on every built-in drive against arithmetic from its figures: `seekwise drives --check`, all of it.
//!
//! `SEEKWISE_UPDATE=1` rewrites the tables of `docs/everyday.md`; they must be what the drives do now.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use rayon::prelude::*;
use seekwise_disk::block::SECTOR;
use seekwise_disk::drive::profile::Profile;
use seekwise_disk::stack::Stack;
use seekwise_drives::profile::everyday::CASES;
use seekwise_drives::profile::{DriveFile, ReadingCache};
use seekwise_lab::catalogue::{load_drive, names};
use seekwise_lab::everyday::arithmetic::RateLaw;
use seekwise_lab::everyday::matrix::{self, CaseOp, CasePattern, CaseRegion, EverydayCase};
use seekwise_lab::everyday::{CaseVerdict, EverydayReport, EverydayRow, plan_cases, plan_streams};
use seekwise_lab::inputs::Inputs;
use seekwise_lab::jobs;
use seekwise_lab::run::measure_run;

/// The drive that is shown in full.
const EXAMPLE: &str = "barracuda-7200.7-ncq";

const BEGIN: &str = "<!-- drives -->\n";
const END: &str = "<!-- end -->";

fn said(row: &EverydayRow) -> &'static str {
    match row.verdict {
        CaseVerdict::AsExpected => "as expected",
        CaseVerdict::KnownMiss => "known",
        CaseVerdict::Off => "**off**",
        CaseVerdict::NotOff => "**not off**",
    }
}

fn number(value: f64) -> String {
    if value < 100.0 { format!("{value:.2}") } else { format!("{value:.0}") }
}

fn expected(row: &EverydayRow) -> String {
    match (number(row.low), number(row.high)) {
        (low, high) if low == high => low,
        (low, high) => format!("{low} to {high}"),
    }
}

/// The error; rows with bounds are mostly inside them.
fn off(row: &EverydayRow) -> String {
    if row.off_percent == 0.0 { "inside".to_owned() } else { format!("{:+.1} %", row.off_percent) }
}

/// The part of the page that is written from data.
fn page(reports: &[EverydayReport]) -> String {
    let mut page = String::new();
    for law in RateLaw::ALL {
        let _ = writeln!(page, "- **{}** {}.", law.table_letter(), law.words());
    }
    page += "\n## All drives\n\n| drive | cases | as expected | known misses | off |\n|---|---|---|---|---|\n";
    for report in reports {
        let [met, known, off] =
            [CaseVerdict::AsExpected, CaseVerdict::KnownMiss, CaseVerdict::Off].map(|it| report.count_rows(it));
        let _ = writeln!(page, "| {} | {} | {met} | {known} | {off} |", report.drive, report.rows.len());
    }
    let all = reports.iter().flat_map(|report| report.rows.iter().map(move |row| (report, row)));
    let otherwise: Vec<_> = all.filter(|(_, row)| row.verdict != CaseVerdict::AsExpected).collect();
    if !otherwise.is_empty() {
        page += "\n| drive | case | expected | found | off | law | | why |\n|---|---|---|---|---|---|---|---|\n";
    }
    for (report, row) in otherwise {
        let why = match (&row.misses, &row.source) {
            (Some(why), Some(source)) => format!("{why} ({source})"),
            _ => String::new(),
        };
        let (case, unit, off) = (row.case, row.unit, off(row));
        let _ = writeln!(
            page,
            "| {} | {case} | {} {unit} | {} | {off} | {} | {} | {why} |",
            report.drive,
            expected(row),
            number(row.found),
            row.law.table_letter(),
            said(row)
        );
    }
    let _ =
        writeln!(page, "\n## One in full: {EXAMPLE}\n\n| case | expected | found | off | law |\n|---|---|---|---|---|");
    for row in reports.iter().filter(|report| report.drive == EXAMPLE).flat_map(|report| &report.rows) {
        let (case, unit, off) = (row.case, row.unit, off(row));
        let found = number(row.found);
        let _ = writeln!(page, "| {case} | {} {unit} | {found} | {off} | {} |", expected(row), row.law.table_letter());
    }
    page
}

#[test]
fn everyday_work_is_as_arithmetic_says_on_every_drive() {
    let drives: Vec<DriveFile> = names().map(|name| load_drive(name).unwrap()).collect();
    let reports = plan_cases(&drives).unwrap().run(|| {}).unwrap();
    assert_eq!(reports.len(), drives.len());
    for (report, drive) in reports.iter().zip(&drives) {
        assert_eq!(report.drive, drive.name);
        // Only writes of parts of a sector need larger sectors, and all drives of the catalogue cache and read ahead.
        let parts = CASES.iter().filter(|case| case.contains("512 B")).count();
        let larger = drive.number("geometry.physical_sector") == Some(4096.0);
        assert_eq!(report.rows.len(), CASES.len() - if larger { 0 } else { parts }, "{}", drive.name);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/everyday.md");
    let text = fs::read_to_string(&path).expect("the page");
    let (before, rest) = text.split_once(BEGIN).expect("a place for the tables");
    let (stands, after) = rest.split_once(END).expect("an end of the tables");
    let page = page(&reports);
    if std::env::var_os("SEEKWISE_UPDATE").is_some() {
        fs::write(&path, format!("{before}{BEGIN}{page}{END}{after}")).expect("the page is written");
    } else {
        assert!(stands == page, "docs/everyday.md is not what the drives do now: cargo xtask validation");
    }
    let wrong: Vec<String> = reports
        .iter()
        .flat_map(|report| report.rows.iter().filter(|row| !row.is_as_expected()).map(move |row| (report, row)))
        .map(|(report, row)| {
            let (found, off) = (number(row.found), row.off_percent);
            format!("{}, {}: {found} for {} {} ({off:+.1} %)", report.drive, row.case, expected(row), row.unit)
        })
        .collect();
    assert!(wrong.is_empty(), "{} otherwise than arithmetic says:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_same_whichever_core_is_first() {
    let drives = [load_drive("caviar-wd400jb").unwrap()];
    let rows = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let reports = pool.install(|| plan_cases(&drives).unwrap().run(|| {}).unwrap());
        serde_json::to_string(&reports).unwrap()
    };
    assert_eq!(rows(1), rows(3));
}

/// On every drive a stream alone, read or written into the cache, reaches the smaller of the medium's rate and that of
/// its commands, whatever the size of its requests and however many are outstanding.
#[test]
fn a_lone_stream_reaches_the_smaller_of_medium_and_commands() {
    let drives: Vec<DriveFile> = names().map(|name| load_drive(name).expect("a drive of the catalogue")).collect();
    let plan = plan_streams(&drives).expect("profiles");
    assert!(plan.case_count() > 1200);
    let mut off = Vec::new();
    for report in plan.run(|| {}).expect("runs") {
        for row in report.rows.iter().filter(|row| row.off_percent.abs() > row.tolerance_percent) {
            let (drive, job) = (&report.drive, row.job.replace('\n', " "));
            off.push(format!("{drive}: {:.2} for {:.2} to {:.2} {}: {job}", row.found, row.low, row.high, row.unit));
        }
    }
    assert!(off.is_empty(), "{}", off.join("\n"));
}

/// The depths at which work is compared with itself.
const DEPTHS: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// Requests of a run: the time of a random access deviates by about a third of itself, so the rates of two runs by
/// 1.3 % (one deviation).
const REQUESTS: f64 = 1_200.0;

/// A rate this much below the lesser of its neighbours' is no chance: six of those deviations.
const FALL: f64 = 0.08;

/// Bytes a second of `case` on `profile`.
fn rate(profile: &Profile, case: EverydayCase) -> f64 {
    // As long as the slowest random access of the catalogue takes, for each request that the drive serves at a time;
    // before it, as long again, in which a buffer fills.
    let ms = (REQUESTS * 10.0).ceil() as u64;
    let job = case.fio_job(profile, ms / 2, ms);
    let read = |_: &str| Ok(job.clone());
    let loaded =
        jobs::load_job("rhythm.fio", profile.geometry.sectors(), &Inputs::from_today(&read), &[]).expect("a job");
    let target = Stack::bare(profile.clone()).into();
    measure_run(&target, &loaded.job, 1, |_| {}).expect("a run").run.reads_and_writes().iops() * case.bytes as f64
}

/// The places of `rates`, by depth, that are lower than what is before and what is behind; of the last, than what is
/// before.
fn falls(rates: &[f64]) -> Vec<usize> {
    let behind = |at: usize| rates.get(at + 1).copied().unwrap_or(f64::MAX);
    (1..rates.len()).filter(|&at| rates[at] < (1.0 - FALL) * rates[at - 1].min(behind(at))).collect()
}

#[test]
fn a_fall_between_neighbours_is_found() {
    assert_eq!(falls(&[57.0, 57.0, 57.0, 36.0, 57.0, 57.0]), [3]);
    assert_eq!(falls(&[57.0, 57.0, 57.0, 57.0, 57.0, 36.0]), [5]);
    assert!(falls(&[36.0, 57.0, 57.0, 53.0, 57.0, 57.0]).is_empty());
}

/// No rhythm locks: random reads and writes, cached and not, of any size are at no depth slower than at those about it.
/// Streams are held to more, above.
#[test]
fn no_depth_is_slower_than_those_about_it() {
    let drives: Vec<DriveFile> = names().map(|name| load_drive(name).expect("a drive of the catalogue")).collect();
    let sizes = [4 << 10, 64 << 10, 512 << 10];
    let (mut all, reading) = (Vec::new(), ReadingCache::default());
    for drive in &drives {
        let delivered = drive.build_profile(&reading).expect("a profile");
        for op in [CaseOp::Read, CaseOp::Cached, CaseOp::Uncached] {
            let profile = match op {
                CaseOp::Read => Some(delivered.clone()),
                _ => matrix::profile_with_write_cache(drive, op == CaseOp::Cached, &reading),
            };
            let Some(profile) = profile else { continue };
            let fits = |bytes: &u64| *bytes <= u64::from(profile.link.max_transfer) * SECTOR;
            all.extend(sizes.into_iter().filter(fits).map(|bytes| (drive, profile.clone(), op, bytes)));
        }
    }
    let slower = all.par_iter().flat_map_iter(|(drive, profile, op, bytes)| {
        let (pattern, place) = (CasePattern::Random, CaseRegion::Whole);
        let case = |depth| EverydayCase { name: "random", op: *op, pattern, place, bytes: *bytes, depth };
        let rates = DEPTHS.map(|depth| rate(profile, case(depth)));
        falls(&rates).into_iter().map(move |at| {
            let shown = rates.map(|rate| format!("{:.2}", rate / 1e6)).join(" ");
            format!("{}, {op:?}, {} KiB, depth {}: {shown} MB/s at {DEPTHS:?}", drive.name, bytes >> 10, DEPTHS[at])
        })
    });
    let mut slower: Vec<String> = slower.collect();
    slower.sort();
    assert!(slower.is_empty(), "{} depths are slower:\n{}", slower.len(), slower.join("\n"));
}
