//! The outcome of a run besides its records, or the error that prevented it. Each place makes a run in two steps that
//! are here: it joins a source to its device ([`join_source`]), and takes the outcome from both
//! ([`into_outcome_and_device`]).

use std::fmt;

use seekwise_disk::block::array_load::ArrayLoad;
use seekwise_disk::block::busy_curve::BusyCurve;
use seekwise_disk::block::setting_use::SettingUse;
use seekwise_disk::block::{ControlError, Device, Limits, Source};
use seekwise_disk::engine::computing::ComputeSource;
use seekwise_disk::engine::fingerprint::{Fingerprint, StreamHash};
use seekwise_disk::engine::{Engine, EngineError};
use seekwise_disk::record::DriveLog;
use seekwise_disk::time::{Instant, Span};
use seekwise_drives::change::{WrittenChange, refusal_words};
use seekwise_work::workload::WorkloadError;

use crate::cutoff::{CancellableSource, RunCutoff};
use crate::receipt::Receipt;
use crate::testbed::TestBench;
use crate::usage::Usage;

/// The outcome of a run besides its records.
#[derive(Clone, Debug)]
pub struct RunOutcome<S> {
    /// The source of the requests.
    pub source: S,
    /// Counts and times of the run.
    pub figures: RunFigures,
}

/// The figures of a run that are not counted from its records.
#[derive(Clone, Debug, Default)]
pub struct RunFigures {
    /// When the run ended, in the place's time.
    pub end: Instant,
    /// Requests that failed, counted or not.
    pub failures: u64,
    /// A hash of all requests in order of issue (operation, place, size): equal streams have equal hashes.
    pub stream_hash: u64,
    /// Requests issued.
    pub issued: u64,
    /// Counts of the drives.
    pub log: DriveLog,
    /// The use of the settings of a modelled stack, if they stayed as they were.
    pub asked: Option<SettingUse>,
    /// The load of the cores of a modelled processor.
    pub cores: Option<BusyCurve>,
    /// The work of a modelled array and its members.
    pub array: Option<ArrayLoad>,
    /// The cost of the run on this machine, if measured.
    pub cost: Option<RunCost>,
    /// Hash of the first requests of each worker.
    pub streams: Vec<StreamHash>,
    /// For a modelled disk in real time: how well the machine kept up with the model.
    pub receipt: Option<Receipt>,
    /// For real files and devices: the use of the machine, by the kernel's accounts.
    pub usage: Option<Usage>,
    /// Faults and reasons for doubt, in words.
    pub troubles: Vec<String>,
    /// For real files and devices: the test environment.
    pub bench: Option<TestBench>,
    /// True if the run was cancelled.
    pub cancelled: bool,
}

impl<S> RunOutcome<S> {
    /// Returns the outcome; an error if the run was cancelled, because its figures are those of a part.
    pub(crate) fn unless_cancelled(self) -> Result<RunOutcome<S>, RunError> {
        if self.figures.cancelled { Err(RunError::Cancelled) } else { Ok(self) }
    }
}

/// The cost of a run on the machine that ran it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunCost {
    /// Time on the clock.
    pub wall: Span,
    /// Processor time, if the system reports it.
    pub processor: Option<Span>,
}

/// Why there was no run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunError {
    /// The job does not fit what it is to run on.
    Unfit(String),
    /// The stack refused one of its changes: the index of the change, and why.
    Refused(usize, ControlError),
    /// A model stopped short; a bug of ours.
    Stuck(EngineError),
    /// The caller cancelled it.
    Cancelled,
}

impl RunError {
    /// The error with the refused change in words; `changes` are those of the stack.
    #[must_use]
    pub fn with_change_in_words(self, changes: &[WrittenChange]) -> RunError {
        match self {
            RunError::Refused(index, error) if index < changes.len() => {
                RunError::Unfit(changes[index].describe_refusal(error))
            }
            other => other,
        }
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Unfit(text) => f.write_str(text),
            RunError::Refused(index, error) => {
                write!(f, "change {} of the stack: {}", index + 1, refusal_words(*error, ""))
            }
            RunError::Stuck(stuck) => write!(f, "the model stopped short ({stuck}); please report this job"),
            RunError::Cancelled => f.write_str("cancelled"),
        }
    }
}

impl std::error::Error for RunError {}

impl From<EngineError> for RunError {
    fn from(stuck: EngineError) -> RunError {
        RunError::Stuck(stuck)
    }
}

impl From<WorkloadError> for RunError {
    fn from(error: WorkloadError) -> RunError {
        RunError::Unfit(error.to_string())
    }
}

/// A source with the adapters that every place runs it through.
pub type RunSource<'a, S> = Fingerprint<ComputeSource<CancellableSource<'a, S>>>;

/// Makes a source for a device and joins the two; the source ends at `cutoff` at the latest.
pub fn join_source<'a, S: Source, D: Device>(
    device: D,
    make_source: impl FnOnce(&Limits) -> Result<S, RunError>,
    cutoff: RunCutoff<'a>,
) -> Result<Engine<RunSource<'a, S>, D>, RunError> {
    let limits = device.limits(0);
    let source = ComputeSource::new(CancellableSource::new(make_source(&limits)?, cutoff), &limits);
    Ok(Engine::new(Fingerprint::new(source, cutoff.request_limit), device))
}

/// Returns the outcome of a run, and its device.
pub fn into_outcome_and_device<S: Source, D: Device>(engine: Engine<RunSource<'_, S>, D>) -> (RunOutcome<S>, D) {
    let (end, failures) = (engine.now(), engine.failures());
    let (source, device) = engine.into_parts();
    let (stream_hash, issued, log) = (source.hash(), source.issued_requests(), device.drive_log());
    let (asked, cores, array) = (Some(device.setting_use(end)), device.core_load(end), device.array_load(end));
    let streams = source.streams().to_vec();
    let source = source.into_source().into_source();
    let cancelled = source.was_cancelled();
    let figures = RunFigures {
        end,
        failures,
        stream_hash,
        issued,
        log,
        asked,
        cores,
        array,
        streams,
        cancelled,
        ..RunFigures::default()
    };
    (RunOutcome { source: source.into_source(), figures }, device)
}

#[cfg(test)]
mod tests {
    use seekwise_disk::block::Control;
    use seekwise_disk::block::setting::LayerSetting;

    use super::*;

    #[test]
    fn a_cancelled_run_is_no_whole_one() {
        for cancelled in [false, true] {
            let figures = RunFigures { cancelled, issued: 7, ..RunFigures::default() };
            let whole = RunOutcome { source: (), figures }.unless_cancelled();
            assert_eq!(
                whole.map(|outcome| outcome.figures.issued),
                if cancelled { Err(RunError::Cancelled) } else { Ok(7) }
            );
        }
    }

    #[test]
    fn a_refused_change_is_said_in_its_words() {
        let (key, value) = ("drive.cache.write_back".to_owned(), "on".to_owned());
        let control = Control::Set(LayerSetting::WriteBack(true));
        let changes = [WrittenChange { at: Instant::ZERO, key, value, control }];
        let said = |place| RunError::Refused(place, ControlError::BadValue).with_change_in_words(&changes).to_string();
        assert_eq!(said(0), "`drive.cache.write_back` = `on` during a run: the value does not fit");
        assert_eq!(said(1), "change 2 of the stack: the value does not fit", "without words");
    }

    #[test]
    fn an_error_says_whose_it_is() {
        assert_eq!(RunError::Unfit("too deep".to_owned()).to_string(), "too deep");
        assert_eq!(RunError::Cancelled.to_string(), "cancelled");
    }
}
