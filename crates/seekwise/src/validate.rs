//! Validations, as `seekwise validate` makes them: a measured trace is played on a modelled drive, and its response
//! times are compared with the simulated ones: their means, demerit and distributions.

use std::path::Path;

use seekwise_disk::rng::Seed;
use seekwise_drives::key_names::strip_drive;
use seekwise_drives::profile;
use seekwise_formats::trace::measured;
use seekwise_lab::catalogue;
use seekwise_lab::validate::{self, circumstances};
use seekwise_run::cutoff::RunCutoff;
use serde::Serialize;

use crate::error::Error;
use crate::logging::{LoggedRun, RequestLog};
use crate::observer::Observer;
use crate::reading::{self, FileKind, Files};
use crate::setup::reject_repeated_keys;
use crate::study::warn_once;

/// The drive, its figures that are not modelled, and when a replay issues requests.
pub use seekwise_drives::profile::DriveFile;
pub use seekwise_drives::profile::not_modelled::ForeignParameter;
pub use seekwise_work::workload::replay::Timing;

/// Measured and simulated times, and how far they are apart.
pub use seekwise_lab::validate::circumstances::{Circumstance, OffRequests};
pub use seekwise_lab::validate::{ResponseErrors, ResponseSamples, Validation, quantile};

/// How a trace is played on a drive.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ValidationOptions<'a> {
    /// Where the trace and the drive are read.
    pub files: &'a Files,
    /// The drive: a name, or a profile file.
    pub drive: &'a str,
    /// Dotted keys of the drive, and values.
    pub set: &'a [(String, String)],
    /// When requests are issued: by the recorded pauses, or by the recorded instants.
    pub timing: Timing,
    /// The seed of the platters' phase.
    pub seed: u64,
    /// Every request goes to this Parquet file; that needs the feature `parquet`.
    pub log: Option<&'a Path>,
    /// Replaces what is there.
    pub force: bool,
}

impl<'a> ValidationOptions<'a> {
    /// A trace with its recorded pauses on this drive, with seed 1.
    pub fn new(files: &'a Files, drive: &'a str) -> ValidationOptions<'a> {
        ValidationOptions { files, drive, set: &[], timing: Timing::Think, seed: 1, log: None, force: false }
    }
}

/// The result of a validation.
#[non_exhaustive]
pub struct ValidationResult {
    /// The drive, with what is set.
    pub drive: DriveFile,
    /// Measured and simulated times, request by request.
    pub samples: ResponseSamples,
    /// How far they are apart.
    pub errors: Validation,
    /// Requests whose simulated times are off in the same way; those first that are off by most in sum.
    pub off: Vec<OffRequests>,
    /// Signs that no platter of the drive's speed was measured.
    pub doubts: Vec<String>,
}

impl ValidationResult {
    /// The result as JSON: how far measured and simulated times are apart, and which requests are off.
    pub fn json(&self) -> serde_json::Value {
        let off = self.off.iter().map(|off| OffRequestsJson::new(off, &self.drive.not_modelled)).collect();
        serde_json::to_value(ValidationJson { errors: &self.errors, off, doubts: &self.doubts })
            .expect("it has no keys but strings")
    }
}

/// The result of a validation, as its JSON has it.
#[derive(Serialize)]
struct ValidationJson<'a> {
    #[serde(flatten)]
    errors: &'a Validation,
    off: Vec<OffRequestsJson>,
    doubts: &'a [String],
}

/// Requests that are off together, as the JSON of a validation has them.
#[derive(Serialize)]
struct OffRequestsJson {
    requests: usize,
    what: String,
    mean_measured_ms: f64,
    mean_simulated_ms: f64,
    off_ms: f64,
    standard_error_ms: f64,
    demerit_without_ms: f64,
    keys: &'static str,
    not_modelled: Vec<String>,
}

impl OffRequestsJson {
    fn new(off: &OffRequests, unmodelled: &[ForeignParameter]) -> OffRequestsJson {
        OffRequestsJson {
            requests: off.rows.len(),
            what: off.circumstance.words(),
            mean_measured_ms: off.mean_measured_ms,
            mean_simulated_ms: off.mean_simulated_ms,
            off_ms: off.off_ms(),
            standard_error_ms: off.standard_error_ms,
            demerit_without_ms: off.demerit_without_ms,
            keys: off.circumstance.profile_keys(),
            not_modelled: off
                .circumstance
                .parameters_of_concern(unmodelled)
                .map(|parameter| parameter.key.clone())
                .collect(),
        }
    }
}

/// Plays the measured trace at `trace` on a modelled drive.
pub fn validate(
    trace: &str,
    options: &ValidationOptions<'_>,
    observer: &dyn Observer,
) -> Result<ValidationResult, Error> {
    reading::reject_second_standard_input(&[trace, options.drive])?;
    reject_repeated_keys(options.set)?;
    let text = options.files.read(trace)?;
    reading::expect_kind(trace, &text, &[FileKind::Trace])?;
    let rows = measured::parse(trace, &text)?;
    warn_once(&rows.warnings);
    let described = load_drive_with_settings(options.files, options.drive, options.set)?;
    let profile = described.profile()?;
    // Reported before a log is begun.
    validate::check_fits_drive(trace, &rows, &profile)?;
    let (job, target) = (reading::display_name(trace), reading::display_name(options.drive));
    let logged_run = LoggedRun { job, target, seed: options.seed, measured: false };
    let mut log = RequestLog::create(options.log, options.force, &logged_run)?;
    observer.begin_work(Some(rows.rows.len() as u64), 0, "requests");
    let (mut count, is_cancelled) = (0, || observer.is_cancelled());
    let samples = validate::play_trace(
        trace,
        &rows,
        &profile,
        options.timing,
        RunCutoff::when_cancelled(&is_cancelled),
        Seed(options.seed),
        &mut |record| {
            count += 1;
            observer.report_done(count);
            log.log_request(record);
        },
    )?;
    log.check_written()?;
    log.finish()?;
    let (errors, off) = (samples.to_validation(), circumstances::find_off_requests(&rows.rows, &samples));
    let doubts = samples.platter_doubts(profile.mechanics.revolution());
    Ok(ValidationResult { drive: described, samples, errors, off, doubts })
}

/// A drive of the catalogue or of a profile file, with settings on top.
pub fn load_drive_with_settings(files: &Files, name: &str, set: &[(String, String)]) -> Result<DriveFile, Error> {
    let mut drive = match (catalogue::find_text(name), files.find(name)?) {
        (None, Some(text)) => {
            reading::expect_kind(name, &text, &[FileKind::Profile])?;
            profile::parse(name, &text)?
        }
        _ => catalogue::load_drive(name)?,
    };
    for (key, value) in set {
        drive.set(strip_drive(key).unwrap_or(key), value)?;
    }
    warn_once(drive.warnings());
    Ok(drive)
}
