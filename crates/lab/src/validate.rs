//! Compares a measured trace with the simulated drive: both means and the demerit, for all requests and for reads and writes separately (a
//! small figure for all can hide opposite errors of the two).
//!
//! Nothing is fitted or judged here; `docs/validation.md` says what the figures mean.

pub mod circumstances;
pub mod platter;
pub mod plot;

use std::fmt;

use seekwise_disk::block::{Op, Status};
use seekwise_disk::drive::profile::Profile;
use seekwise_disk::record::Record;
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::Stack;
use seekwise_disk::time::Span;
use seekwise_drives::diagnostic::Diagnostic;
use seekwise_formats::trace::measured::MeasuredTrace;
use seekwise_run::cutoff::RunCutoff;
use seekwise_run::outcome::RunError;
use seekwise_run::sim;
use seekwise_work::workload::replay::{Replay, ReplayRow, Timing};
use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::stats::demerit::demerit_ms;

/// The error of a simulated drive on a trace.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Validation {
    #[serde(flatten)]
    pub all: ResponseErrors,
    pub reads: ResponseErrors,
    pub writes: ResponseErrors,
}

/// The distance of simulated response times from measured ones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ResponseErrors {
    pub n: u64,
    /// Mean of the measured response times.
    pub mean_measured_ms: f64,
    /// Mean of the simulated response times.
    pub mean_simulated_ms: f64,
    /// Root mean square horizontal distance of the two distributions.
    pub demerit_ms: f64,
    /// The demerit as a share of the measured mean.
    pub demerit_percent: f64,
}

/// Without requests the figures are null: nothing was compared.
impl Serialize for ResponseErrors {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let figure = |value: f64| (self.n > 0).then_some(value);
        let mut fields = serializer.serialize_struct("Errors", 5)?;
        fields.serialize_field("n", &self.n)?;
        fields.serialize_field("mean_measured_ms", &figure(self.mean_measured_ms))?;
        fields.serialize_field("mean_simulated_ms", &figure(self.mean_simulated_ms))?;
        fields.serialize_field("demerit_ms", &figure(self.demerit_ms))?;
        fields.serialize_field("demerit_percent", &figure(self.demerit_percent))?;
        fields.end()
    }
}

impl ResponseErrors {
    /// The error of the simulated mean, in per cent of the measured one.
    pub fn mean_error_percent(&self) -> f64 {
        if self.n == 0 { 0.0 } else { 100.0 * (self.mean_simulated_ms / self.mean_measured_ms - 1.0) }
    }
}

/// Response times of the same requests, in the trace's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseSamples {
    /// For each whether it is a read.
    pub read: Vec<bool>,
    /// Times on the real drive.
    pub measured: Vec<Span>,
    /// Times on the simulated drive.
    pub simulated: Vec<Span>,
}

impl ResponseSamples {
    /// The measured and the simulated times: of the reads (`Some(true)`), of the writes (`Some(false)`), or of all.
    pub fn measured_and_simulated(&self, only_reads: Option<bool>) -> (Vec<Span>, Vec<Span>) {
        let is_chosen = |row: &usize| only_reads.is_none_or(|reads| self.read[*row] == reads);
        let chosen: Vec<usize> = (0..self.read.len()).filter(is_chosen).collect();
        let times_of = |times: &[Span]| -> Vec<Span> { chosen.iter().map(|&row| times[row]).collect() };
        (times_of(&self.measured), times_of(&self.simulated))
    }

    /// The requests of `rows` only.
    pub fn select_rows(&self, rows: std::ops::Range<usize>) -> ResponseSamples {
        ResponseSamples {
            read: self.read[rows.clone()].to_vec(),
            measured: self.measured[rows.clone()].to_vec(),
            simulated: self.simulated[rows].to_vec(),
        }
    }

    /// Signs that no platter with this time of a revolution was measured, in words.
    pub fn platter_doubts(&self, revolution: Span) -> Vec<String> {
        let doubt = |(reads, words): (bool, &str)| {
            let (measured, simulated) = self.measured_and_simulated(Some(reads));
            let [measured, simulated] = [measured, simulated].map(|mut times| {
                times.sort_unstable();
                quantile(&times, 0.5).nanos() as f64 / 1e6
            });
            platter::platter_doubt(words, measured, simulated, revolution)
        };
        [(true, "reads"), (false, "writes")].into_iter().filter_map(doubt).collect()
    }

    /// The errors of the simulated times.
    pub fn to_validation(&self) -> Validation {
        let errors = |only_reads| {
            let (mut measured, mut simulated) = self.measured_and_simulated(only_reads);
            response_errors(&mut measured, &mut simulated)
        };
        Validation { all: errors(None), reads: errors(Some(true)), writes: errors(Some(false)) }
    }
}

/// The errors of simulated times; sorts both sides.
fn response_errors(measured: &mut [Span], simulated: &mut [Span]) -> ResponseErrors {
    if measured.is_empty() {
        return ResponseErrors::default();
    }
    let n = measured.len() as u64;
    let mean = |times: &[Span]| {
        let sum: u128 = times.iter().map(|time| u128::from(time.nanos())).sum();
        sum as f64 / n as f64 / 1e6
    };
    let distance_ms = demerit_ms(measured, simulated);
    let mean_measured_ms = mean(measured);
    ResponseErrors {
        n,
        mean_measured_ms,
        mean_simulated_ms: mean(simulated),
        demerit_ms: distance_ms,
        demerit_percent: 100.0 * distance_ms / mean_measured_ms,
    }
}

/// Fails if a request of `trace` does not lie on the drive; the error names the first such line in `file`.
pub fn check_fits_drive(file: &str, trace: &MeasuredTrace, profile: &Profile) -> Result<(), Diagnostic> {
    let sectors = profile.geometry.sectors();
    let end = |row: &ReplayRow| row.lba + u64::from(row.sectors);
    let Some((index, row)) = trace.rows.iter().enumerate().find(|(_, row)| end(row) > sectors) else {
        return Ok(());
    };
    let message = format!("request {} ends at block {}, past the end of the drive", index + 1, end(row));
    let fault = Diagnostic::at(file, trace.lines[index], message).with_key("lba");
    Err(fault.with_expected(format!("an end at or below {sectors}, the blocks of {}", profile.name)))
}

/// Plays `rows`, to `cutoff` at most. The stamp of a record, less 1, is the index of its row.
pub fn replay_rows(
    stack: &Stack,
    rows: &[ReplayRow],
    timing: Timing,
    cutoff: RunCutoff<'_>,
    seed: Seed,
    recorder: &mut impl FnMut(&Record),
) -> Result<(), RunError> {
    sim::run_source(stack, |_| Ok(Replay::new(rows, timing)), cutoff, seed, recorder).map(drop)
}

/// The reason why a measured trace was not played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayError {
    /// The trace does not fit the drive.
    Unfit(Diagnostic),
    /// The run did not end.
    Run(RunError),
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplayError::Unfit(fault) => fault.fmt(f),
            ReplayError::Run(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReplayError {}

impl From<Diagnostic> for ReplayError {
    fn from(fault: Diagnostic) -> ReplayError {
        ReplayError::Unfit(fault)
    }
}

impl From<RunError> for ReplayError {
    fn from(error: RunError) -> ReplayError {
        ReplayError::Run(error)
    }
}

/// Plays `trace` on the drive, to `cutoff` at most; `recorder` sees each request as it completes. A request that the drive refuses is an
/// error that names its line in `file`.
pub fn play_trace(
    file: &str,
    trace: &MeasuredTrace,
    profile: &Profile,
    timing: Timing,
    cutoff: RunCutoff<'_>,
    seed: Seed,
    recorder: &mut impl FnMut(&Record),
) -> Result<ResponseSamples, ReplayError> {
    check_fits_drive(file, trace, profile)?;
    let mut simulated = vec![Span::ZERO; trace.rows.len()];
    let mut refused: Option<(usize, Status)> = None;
    let mut record = |record: &Record| {
        let (row, status) = (record.request.stamp as usize - 1, record.completion.status);
        simulated[row] = record.time_since_due();
        if status != Status::Done && refused.is_none_or(|(first, _)| row < first) {
            refused = Some((row, status));
        }
        recorder(record);
    };
    replay_rows(&Stack::bare(profile.clone()), &trace.rows, timing, cutoff, seed, &mut record)?;
    if let Some((row, status)) = refused {
        let message = format!("the drive does not do request {}: {status}", row + 1);
        return Err(Diagnostic::at(file, trace.lines[row], message).into());
    }
    let read = trace.rows.iter().map(|row| row.op == Op::Read).collect();
    Ok(ResponseSamples { read, measured: trace.measured.clone(), simulated })
}

/// The value at or below which `share` of sorted times lie (nearest rank); zero if there are none.
pub fn quantile(sorted: &[Span], share: f64) -> Span {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied().unwrap_or(Span::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;
    use seekwise_formats::trace::measured as trace;

    const TRACE: &str = "op,lba,sectors,measured_response_ms,think_ms\nR,1000,8,5,30\nW,90000,8,1,30\nR,2000,4,4,0\n";

    fn profile() -> Profile {
        catalogue::load_drive("atlas-10k-v-300").unwrap().profile().unwrap()
    }

    #[test]
    fn each_row_is_counted_once_and_by_its_kind() {
        let trace = trace::parse("t.csv", TRACE).unwrap();
        let mut seen = Vec::new();
        let samples =
            play_trace("t.csv", &trace, &profile(), Timing::Think, RunCutoff::NEVER, Seed(1), &mut |record| {
                seen.push(*record)
            })
            .unwrap();
        let found = samples.to_validation();
        assert_eq!((found.all.n, found.reads.n, found.writes.n), (3, 2, 1));
        assert!((found.all.mean_measured_ms - 10.0 / 3.0).abs() < 1e-9);
        let one = samples.simulated[1].nanos() as f64 / 1e6;
        assert!((found.writes.demerit_ms - (one - 1.0).abs()).abs() < 1e-9);
        assert!(samples.simulated.iter().all(|time| *time > Span::ZERO));
        assert_eq!(seen.iter().map(Record::response_time).collect::<Vec<_>>(), samples.simulated);
    }

    #[test]
    fn reads_and_writes_are_doubted_each_by_their_own_medians() {
        // In microseconds, with medians of 0.3 and of 12 ms; the platter turns in 8.333 ms.
        let (quick, slow) = ([400, 200, 300], [13_000, 11_000, 12_000]);
        let doubts = |reads: [[u64; 3]; 2], writes: [[u64; 3]; 2]| {
            let both =
                |at: usize| -> Vec<Span> { reads[at].into_iter().chain(writes[at]).map(Span::from_micros).collect() };
            let read = vec![true, true, true, false, false, false];
            ResponseSamples { read, measured: both(0), simulated: both(1) }.platter_doubts(Span::from_nanos(8_333_333))
        };
        let said = |found: Vec<String>| -> Vec<String> {
            found.iter().map(|text| text.split(':').next().unwrap_or_default().to_owned()).collect()
        };
        let expected = |what: &str| {
            format!(
                "half of the measured {what} took 0.300 ms or less, below half a revolution (4.167 ms at 7200 rpm), and \
                 the modelled drive's median is 12.000 ms"
            )
        };
        assert_eq!(
            said(doubts([quick, slow], [quick, quick])),
            [expected("reads")],
            "a cache answers in the model too"
        );
        assert_eq!(said(doubts([slow, slow], [quick, slow])), [expected("writes")]);
        assert_eq!(said(doubts([quick, slow], [quick, slow])), ["reads", "writes"].map(expected));
        assert!(doubts([slow, slow], [slow, quick]).is_empty());
        assert!(ResponseSamples::default().platter_doubts(Span::from_nanos(8_333_333)).is_empty());
    }

    #[test]
    fn a_request_past_the_end_is_named_by_its_line() {
        let trace = trace::parse("t.csv", &TRACE.replace("90000", "600000000")).unwrap();
        let error =
            play_trace("t.csv", &trace, &profile(), Timing::Think, RunCutoff::NEVER, Seed(1), &mut |_| ()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "t.csv:3: `lba`: request 2 ends at block 600000008, past the end of the drive; expected an end at or below \
             585937499, the blocks of atlas-10k-v-300"
        );
    }
}
