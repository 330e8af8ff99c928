//! Everyday work on a drive (streams, cached writes, random reads, parts of a sector): the simulator's rates against those that anyone would
//! calculate from the drive's datasheet with a pencil.
//!
//! | room | what it is |
//! |---|---|
//! | [`matrix`] | the cases, and the job of each |
//! | [`arithmetic`] | the expectation for a case, its law, and its tolerance |
//!
//! If a drive really behaves otherwise, `[everyday]` of its profile says so, with the source. The row then shows that; should such a drive
//! agree with arithmetic after all, that fails as well.

pub mod arithmetic;
pub mod matrix;

use seekwise_disk::block::SECTOR;
use seekwise_disk::drive::profile::Profile;
use seekwise_disk::host::driver::DriverSpec;
use seekwise_disk::queue::{Discipline, Policy};
use seekwise_disk::stack::{Layer, Stack};
use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::figure::FigureOrigin;
use seekwise_drives::profile::everyday::CaseException;
use seekwise_drives::profile::{DriveFile, ReadingCache};
use seekwise_run::outcome::RunError;
use serde::Serialize;

use self::arithmetic::{CaseFigures, ExpectedRate, RateLaw};
use self::matrix::{CaseOp, CasePattern, EverydayCase};
use crate::inputs::Inputs;
use crate::jobs;
use crate::run::measure_run;
use crate::workers::Workers;

/// The result of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CaseVerdict {
    /// Agrees with arithmetic.
    AsExpected,
    /// Disagrees, as the profile says.
    KnownMiss,
    /// Disagrees with arithmetic.
    Off,
    /// Agrees with arithmetic, though the profile says otherwise.
    NotOff,
}

/// The comparison of a case with arithmetic. Rates are in the row's `unit`.
#[derive(Clone, Debug, Serialize)]
pub struct EverydayRow {
    pub case: &'static str,
    /// The least expected.
    pub low: f64,
    /// The most expected; equal to `low` if one figure is expected.
    pub high: f64,
    /// The simulator's result.
    pub found: f64,
    /// The unit of all three: MB/s (10^6 bytes a second) or requests a second.
    pub unit: &'static str,
    /// How far the result is outside the expectation, in per cent of the nearer bound.
    pub off_percent: f64,
    /// The largest such difference allowed.
    pub tolerance_percent: f64,
    /// The law behind the expectation.
    pub law: RateLaw,
    pub verdict: CaseVerdict,
    /// Why the drive behaves otherwise, if its profile says so.
    pub misses: Option<String>,
    /// How it is known that the drive behaves otherwise.
    pub kind: Option<FigureOrigin>,
    /// The citation or derivation of that knowledge.
    pub source: Option<String>,
    /// The fio job of the run.
    pub job: String,
    /// Settings of the drive for the run.
    pub set: Option<&'static str>,
}

/// All comparisons of one drive.
#[derive(Clone, Debug, Serialize)]
pub struct EverydayReport {
    pub drive: String,
    /// In the order of the cases.
    pub rows: Vec<EverydayRow>,
}

impl EverydayReport {
    /// Number of rows with this verdict.
    pub fn count_rows(&self, verdict: CaseVerdict) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }

    /// True if every row is as expected, or missed as the profile says.
    pub fn is_as_expected(&self) -> bool {
        self.rows.iter().all(EverydayRow::is_as_expected)
    }
}

impl EverydayRow {
    /// True if the row is as expected, or missed as the profile says.
    pub fn is_as_expected(&self) -> bool {
        matches!(self.verdict, CaseVerdict::AsExpected | CaseVerdict::KnownMiss)
    }
}

/// A comparison to make.
struct PlannedCase<'a> {
    drive: &'a DriveFile,
    case: EverydayCase,
    profile: Profile,
}

/// The comparisons to make on some drives.
pub struct EverydayPlan<'a> {
    drives: &'a [DriveFile],
    planned: Vec<PlannedCase<'a>>,
}

/// The cases of all `drives`.
pub fn plan_cases(drives: &[DriveFile]) -> Result<EverydayPlan<'_>, Vec<Diagnostic>> {
    plan_drive_cases(drives, matrix::applicable_cases)
}

/// Lone streams on all `drives`: reads and cached writes of many sizes at many depths. The exceptions of profiles do not apply to them.
pub fn plan_streams(drives: &[DriveFile]) -> Result<EverydayPlan<'_>, Vec<Diagnostic>> {
    plan_drive_cases(drives, |_, _, _| matrix::stream_cases())
}

/// The comparisons on all drives; `drive_cases` gives the cases of a drive and its profile as delivered.
fn plan_drive_cases(
    drives: &[DriveFile],
    drive_cases: impl Fn(&DriveFile, &Profile, &ReadingCache) -> Vec<EverydayCase>,
) -> Result<EverydayPlan<'_>, Vec<Diagnostic>> {
    let (mut planned, reading) = (Vec::new(), ReadingCache::default());
    for drive in drives {
        let delivered = drive.build_profile(&reading)?;
        for case in drive_cases(drive, &delivered, &reading) {
            let profile = match case.op {
                CaseOp::Read => Some(delivered.clone()),
                op => matrix::profile_with_write_cache(drive, op == CaseOp::Cached, &reading),
            };
            planned.extend(profile.map(|profile| PlannedCase { drive, case, profile }));
        }
    }
    Ok(EverydayPlan { drives, planned })
}

impl EverydayPlan<'_> {
    /// Number of comparisons.
    pub fn case_count(&self) -> usize {
        self.planned.len()
    }

    /// Makes the comparisons on all cores and calls `on_case_done` after each. Returns them in the drives' order.
    pub fn run(&self, on_case_done: impl Fn() + Sync) -> Result<Vec<EverydayReport>, RunError> {
        let compare = |planned: &PlannedCase<'_>| {
            let row = planned.measure_and_compare();
            on_case_done();
            row
        };
        let rows: Result<Vec<EverydayRow>, RunError> = Workers::Shared.map(&self.planned, compare);
        let mut rows = self.planned.iter().zip(rows?).peekable();
        let mut reports = Vec::new();
        for drive in self.drives {
            let mut drive_rows = Vec::new();
            while let Some((_, row)) = rows.next_if(|(planned, _)| std::ptr::eq(planned.drive, drive)) {
                drive_rows.push(row);
            }
            reports.push(EverydayReport { drive: drive.name.clone(), rows: drive_rows });
        }
        Ok(reports)
    }
}

/// Requests of a random case. The standard deviation of an access is about a third of its mean, so that of the mean of so many is 0.25 %.
const RANDOM_REQUESTS: f64 = 20_000.0;

/// The fewest requests of a stream. One request more or less at the window's edges is 0.25 % of so many.
const STREAM_REQUESTS: f64 = 400.0;

/// The shortest window, in seconds: some hundred revolutions, in which any segment is filled and emptied many times.
const SHORTEST_WINDOW_S: f64 = 3.0;

/// The longest ramp before the window, in seconds. A buffer that still fills after that does so at less than a twentieth of the medium's
/// rate.
const LONGEST_RAMP_S: f64 = 30.0;

/// The seed of all runs, which are compared with arithmetic and not with one another.
const SEED: u64 = 1;

impl PlannedCase<'_> {
    /// Runs the case and compares its rate with the expected one.
    fn measure_and_compare(&self) -> Result<EverydayRow, RunError> {
        let figures = CaseFigures::new(&self.profile, self.case);
        let expected = figures.expected_rate();
        let is_random = self.case.pattern == CasePattern::Random;
        let requests = if is_random { RANDOM_REQUESTS } else { STREAM_REQUESTS };
        let window_s = (requests / expected.high.min(1000.0)).max(SHORTEST_WINDOW_S);
        // A drive that destages meanwhile takes longer to fill its buffer: half as much again is allowed for.
        let ramp_s = (0.5 + 1.5 * figures.buffer_fill_s()).min(LONGEST_RAMP_S);
        let job = self.case.fio_job(&self.profile, (ramp_s * 1e3).ceil() as u64, (window_s * 1e3).ceil() as u64);
        let rate = self.measure_rate(&job)?;
        Ok(self.build_row(&expected, rate, job))
    }

    /// Runs a fio job on the drive and returns its requests a second.
    fn measure_rate(&self, job: &str) -> Result<f64, RunError> {
        let read_job = |_: &str| Ok(job.to_owned());
        let loaded =
            jobs::load_job("everyday.fio", self.profile.geometry.sectors(), &Inputs::from_today(&read_job), &[]);
        let loaded = loaded.unwrap_or_else(|faults| panic!("{}: {faults:?}", self.case.name));
        let run = measure_run(&self.case_stack().into(), &loaded.job, SEED, |_| {})?.run;
        Ok(run.reads_and_writes().iops())
    }

    /// The stack of the run: the drive alone, or below a driver without cost that splits requests too large for a command.
    fn case_stack(&self) -> Stack {
        let EverydayCase { bytes, depth, .. } = self.case;
        let Profile { link, firmware, .. } = &self.profile;
        let splits = bytes > u64::from(link.max_transfer) * SECTOR;
        let driver = DriverSpec::plain(depth, firmware.depth, Discipline::plain(Policy::Fcfs), link.max_transfer);
        let layers = splits.then_some(Layer::Driver(driver)).into_iter().collect();
        Stack { layers, ..Stack::bare(self.profile.clone()) }
    }

    /// The row of a measured rate in requests a second.
    fn build_row(&self, expected: &ExpectedRate, rate: f64, job: String) -> EverydayRow {
        let EverydayCase { name, op, bytes, .. } = self.case;
        let is_stream = self.case.pattern == CasePattern::Sequential;
        let (unit, scale) = if is_stream { ("MB/s", bytes as f64 / 1e6) } else { ("/s", 1.0) };
        let outside = share_outside(expected, rate);
        let agrees = outside.abs() <= expected.law.tolerance();
        let exception: Option<&CaseException> = self.drive.otherwise.iter().find(|exception| exception.case == name);
        let verdict = match (agrees, exception) {
            (true, None) => CaseVerdict::AsExpected,
            (false, Some(_)) => CaseVerdict::KnownMiss,
            (false, None) => CaseVerdict::Off,
            (true, Some(_)) => CaseVerdict::NotOff,
        };
        EverydayRow {
            case: name,
            low: expected.low * scale,
            high: expected.high * scale,
            found: rate * scale,
            unit,
            off_percent: 100.0 * outside,
            tolerance_percent: 100.0 * expected.law.tolerance(),
            law: expected.law,
            verdict,
            misses: exception.map(|exception| exception.misses.clone()),
            kind: exception.map(|exception| exception.kind),
            source: exception.map(|exception| exception.source.clone()),
            job,
            set: match op {
                CaseOp::Read => None,
                CaseOp::Cached => Some("drive.cache.write_back=true"),
                CaseOp::Uncached => Some("drive.cache.write_back=false"),
            },
        }
    }
}

/// How far a rate is below the least (negative) or above the most (positive) expected, as a share of that bound.
fn share_outside(expected: &ExpectedRate, rate: f64) -> f64 {
    match rate {
        _ if rate < expected.low => rate / expected.low - 1.0,
        _ if rate > expected.high => rate / expected.high - 1.0,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::load_drive;

    /// The row of one case of a drive.
    fn row(drive: &DriveFile, case: &str) -> EverydayRow {
        let drives = [drive.clone()];
        let mut plan = plan_cases(&drives).unwrap();
        plan.planned.retain(|planned| planned.case.name == case);
        plan.run(|| {}).unwrap().remove(0).rows.remove(0)
    }

    #[test]
    fn a_flush_that_lies_is_off() {
        let mut drive = load_drive("caviar-wd400jb").unwrap();
        assert_eq!(row(&drive, "overwrite and flush, 4 KiB").verdict, CaseVerdict::AsExpected);
        drive.set("faults.early_flush", "true").unwrap();
        let row = row(&drive, "overwrite and flush, 4 KiB");
        assert_eq!(row.verdict, CaseVerdict::Off);
        assert!(row.off_percent > 100.0, "{row:?}");
    }

    #[test]
    fn a_cache_that_is_not_off_is_off() {
        let mut drive = load_drive("caviar-wd400jb").unwrap();
        drive.set("faults.caches_when_off", "true").unwrap();
        for case in ["sequential uncached writes, 4 KiB, depth 1", "random uncached writes, 4 KiB, depth 1"] {
            assert_eq!(row(&drive, case).verdict, CaseVerdict::Off, "{case}");
        }
    }

    #[test]
    fn a_profile_may_say_that_its_drive_does_otherwise() {
        let case = "random reads, 4 KiB, depth 1";
        let mut drive = load_drive("caviar-wd400jb").unwrap();
        drive.otherwise.push(CaseException {
            case,
            misses: "it reads in its sleep".to_owned(),
            kind: FigureOrigin::Measured,
            source: "a diary".to_owned(),
        });
        // The drive agrees with arithmetic, against its profile: that fails.
        let found = row(&drive, case);
        assert_eq!((found.verdict, found.is_as_expected()), (CaseVerdict::NotOff, false));
        drive.otherwise[0].case = "overwrite and flush, 4 KiB";
        drive.set("faults.early_flush", "true").unwrap();
        let found = row(&drive, "overwrite and flush, 4 KiB");
        assert_eq!((found.verdict, found.is_as_expected()), (CaseVerdict::KnownMiss, true));
        assert_eq!(found.misses.as_deref(), Some("it reads in its sleep"));
    }

    #[test]
    fn cases_are_left_out_where_they_say_nothing() {
        let has = |drive: &DriveFile, case: &str| {
            let drives = [drive.clone()];
            plan_cases(&drives).unwrap().planned.iter().any(|planned| planned.case.name == case)
        };
        let part = "random uncached writes, 512 B, depth 1";
        assert!(has(&load_drive("exos-x18").unwrap(), part) && !has(&load_drive("caviar-wd400jb").unwrap(), part));
        let mut drive = load_drive("caviar-wd400jb").unwrap();
        drive.set("power.protected", "true").unwrap();
        assert!(!has(&drive, "overwrite and flush, 4 KiB") && has(&drive, "random cached writes, 4 KiB, depth 1"));
        drive.set("cache.segments", "0").unwrap();
        drive.set("cache.write_back", "false").unwrap();
        assert!(!has(&drive, "random cached writes, 4 KiB, depth 1") && has(&drive, "random reads, 4 KiB, depth 8"));
        assert!(!has(&drive, "sequential reads, 4 KiB, depth 1"));
    }

    #[test]
    fn bounds_have_an_inside() {
        let expected = ExpectedRate { low: 100.0, high: 200.0, law: RateLaw::Queue };
        assert_eq!(share_outside(&expected, 150.0), 0.0);
        assert!((share_outside(&expected, 90.0) + 0.1).abs() < 1e-12);
        assert!((share_outside(&expected, 220.0) - 0.1).abs() < 1e-12);
    }
}
