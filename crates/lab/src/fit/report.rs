//! The findings of a fit: each figure before and after with its interval, the figures that did not move with the reason, errors on the seen
//! and the held-back data, and the remaining errors by distance, size and nearness of requests.

use seekwise_disk::block::Op;
use seekwise_disk::time::Span;
use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::profile::{DriveFile, ReadingCache};
use serde::Serialize;

use super::FitResult;
use super::data::{DataSplit, FitData, FitTrace, ReferenceTimes};
use super::evaluator::{EarlyEnd, FitEnding};
use super::guard::UnmendedGroup;
use super::interval::ValueInterval;
use super::judge::RejectionReason;
use super::loss::which_are_near_previous;
use super::outward::Scatter;
use super::outward::contradiction::Contradiction;
use super::parameter::{FigureMark, Parameter, drive_at_point};
use super::points::{JobLoad, MeasuredFigure, MeasuredPoint};
use super::strain::{self, StrainedFigure};
use crate::stats::demerit::demerit_ms;
use crate::validate::{ResponseSamples, Validation, platter};

/// Per cent of the measured mean above which a demerit says that the held-back reads are not explained: DiskSim's worst drive is at 7 %, a
/// drive taken for another far above.
const NOT_EXPLAINED: f64 = 20.0;

/// Per cent of the measured mean above which a demerit before the fit says that the reads probably belong to another drive. The eight
/// measured drives' own parameters leave at most 7 %, those of a drive taken for another 8 to 45 %, most above 17 %. A fit then hides the
/// mistake. The fitted rules count as the drive's own: a wrong rule of its read-ahead alone leaves as much.
const BEGAN_FAR: f64 = 12.0;

/// True if so many reads that were `percent_off` before the fit probably belong to another drive. By chance alone a distribution of n times
/// is off by its deviation, at most about its mean, over the root of n.
fn is_probably_another_drive(percent_off: f64, read_count: u64) -> bool {
    percent_off > BEGAN_FAR + 100.0 / (read_count.max(1) as f64).sqrt()
}

/// The findings of a fit, as shown and stored.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct FitReport {
    /// The initial drive.
    pub drive: String,
    /// The parameters that moved.
    pub figures: Vec<MovedParameter>,
    /// The parameters that did not move.
    pub left: Vec<FixedParameter>,
    /// Pairs of parameters that trade: either could have moved instead of the other.
    pub trades: Vec<(String, String)>,
    /// The loss on the seen data.
    pub seen: FigureChange,
    /// The loss on the held-back data.
    pub held: Option<FigureChange>,
    pub traces: Vec<TraceErrors>,
    /// Jobs with figures.
    pub points: Vec<PointErrors>,
    /// For each key the figure that it moves most over its range.
    pub keys: Vec<KeyEffect>,
    /// Figures at an end of their range.
    pub strained: Vec<StrainedFigure>,
    /// Of a fit to jobs: stated figures that the data contradict, and figures that are symptoms of something else.
    pub contradictions: Vec<Contradiction>,
    /// Of a fit to jobs: how many drives that meet the data as well the profile carries.
    pub draws: usize,
    /// Of a fit to jobs: how far measurements scatter around the fitted drive, as shares: whole runs, and of their own rates and means,
    /// middle percentiles and tails.
    pub scatter: Option<Scatter>,
    /// Points tried.
    pub tried: u64,
    /// The early end of the fit; nothing if it is complete.
    pub ending: Option<FitEnding>,
    pub warnings: Vec<String>,
}

/// The largest effect of a key.
#[derive(Clone, Debug, Serialize)]
pub struct KeyEffect {
    pub name: String,
    /// The figure that it moves most; none if it moves nothing.
    pub figure: Option<String>,
    /// The change, in percent of that figure.
    pub percent: f64,
    /// True if the search tried the key.
    pub searched: bool,
}

/// A figure before and after.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct FigureChange {
    pub before: f64,
    pub after: f64,
}

/// A parameter that moved.
#[derive(Clone, Debug, Serialize)]
pub struct MovedParameter {
    /// The key; for a curve with the place of the bend.
    pub name: String,
    /// The origin of the figure.
    pub marked: FigureMark,
    /// The old value.
    pub before: String,
    /// The new value.
    pub after: String,
    /// The interval of a number, from the least to the largest value.
    pub interval: Option<ValueInterval>,
    /// True if the interval is so wide that the data hardly determine it.
    pub wide: bool,
    /// The end of its range that it reached: `least` or `most`.
    pub end: Option<&'static str>,
    /// Positions of a number in its range, from 0 to 1: before, after, and both ends of its interval.
    #[serde(skip)]
    pub positions: Option<[f64; 4]>,
}

/// A parameter that did not move.
#[derive(Clone, Debug, Serialize)]
pub struct FixedParameter {
    pub name: String,
    pub value: String,
    pub why: RejectionReason,
}

/// Errors on a trace.
#[derive(Clone, Debug, Serialize)]
pub struct TraceErrors {
    pub file: String,
    /// On the seen requests, before and after.
    pub seen: Option<[Validation; 2]>,
    /// On the held-back requests, before and after.
    pub held: Option<[Validation; 2]>,
    /// With the fitted rules and the profile's numbers: on the held-back requests, else on all.
    pub rules: Validation,
    /// On all requests, after.
    pub whole: Validation,
    /// The results of another simulator, if known.
    pub beside: Option<ReferenceErrors>,
    /// The remaining errors by groups, on the held-back requests, else on all.
    pub remains: Vec<ResidualGroup>,
    /// Times after the fit, for pictures: of the held-back requests, else of all.
    #[serde(skip)]
    pub samples: ResponseSamples,
    /// Signs that no platter of the drive's speed was measured, for the report's warnings.
    #[serde(skip)]
    pub doubts: Vec<String>,
}

/// Errors of another simulator on the same trace.
#[derive(Clone, Debug, Serialize)]
pub struct ReferenceErrors {
    pub name: String,
    /// On the requests that the search saw.
    pub seen: Option<Validation>,
    /// On the held-back requests.
    pub held: Option<Validation>,
    /// On all.
    pub whole: Validation,
}

/// Some requests of a trace, and their error.
#[derive(Clone, Debug, Serialize)]
pub struct ResidualGroup {
    /// The requests in words.
    pub which: String,
    pub n: usize,
    /// Measured mean, ms.
    pub measured_ms: f64,
    /// Simulated mean, ms.
    pub simulated_ms: f64,
    /// The distance of the two distributions, ms.
    pub demerit_ms: f64,
}

/// A job's figure.
#[derive(Clone, Debug, Serialize)]
pub struct PointErrors {
    /// The job, in words.
    pub what: String,
    pub figure: String,
    pub measured: f64,
    /// Simulated before.
    pub before: f64,
    /// Simulated after.
    pub after: f64,
    /// Held back from the search.
    pub held: bool,
}

/// Builds the report on `fitted`.
pub fn build_report(drive: &DriveFile, data: &[FitData], fitted: &FitResult) -> Result<FitReport, Vec<Diagnostic>> {
    let cache = ReadingCache::default();
    let after = drive_at_point(drive, &fitted.parameters, &fitted.point)?;
    let change = |(before, after)| FigureChange { before, after };
    let mut report = FitReport {
        drive: drive.name.clone(),
        figures: moved_parameters(fitted),
        left: unmoved_parameters(fitted),
        trades: trading_pair_names(fitted),
        seen: change(fitted.seen),
        held: fitted.held.map(change),
        traces: Vec::new(),
        points: Vec::new(),
        keys: key_effects(fitted),
        strained: match fitted.outward {
            None => strain::strained_figures(drive, data, fitted, &cache)?,
            // Its contradictions say what is wrong.
            Some(_) => Vec::new(),
        },
        contradictions: fitted.outward.as_ref().map_or_else(Vec::new, |findings| findings.contradictions.clone()),
        draws: fitted.outward.as_ref().map_or(0, |findings| findings.draws.len()),
        scatter: fitted.outward.as_ref().and_then(|findings| findings.scatter),
        tried: fitted.points,
        ending: fitted.ending,
        warnings: Vec::new(),
    };
    let rules = drive_at_point(drive, &fitted.parameters, &point_with_rules_only(fitted))?;
    for data in data {
        match data {
            FitData::Traced(traced) => report.traces.push(trace_errors(traced, [drive, &rules, &after], &cache)?),
            FitData::Points(points) => {
                for point in points {
                    report.points.extend(point_errors(point, drive, &after, &cache)?);
                }
            }
        }
    }
    let unmet = unmet_jobs_text(&report);
    if let Some(findings) = &fitted.outward {
        // What was held back stands as it was predicted, before the fit saw it.
        let held = report.points.iter_mut().filter(|point| point.held);
        held.zip(&findings.predicted).for_each(|(point, predicted)| point.after = *predicted);
    }
    report.warnings = collect_warnings(&report, data, drive.build_profile(&cache)?.mechanics.revolution());
    report.warnings.extend(unmet);
    if fitted.outward.as_ref().is_some_and(|findings| findings.refused) {
        report.warnings.push(REFUSED.to_owned());
    }
    report.warnings.extend(fitted.unmended.iter().map(UnmendedGroup::warning_text));
    Ok(report)
}

fn moved_parameters(fitted: &FitResult) -> Vec<MovedParameter> {
    let all =
        fitted.parameters.iter().enumerate().filter(|(index, parameter)| fitted.point[*index] != parameter.origin);
    let moved = |(index, parameter): (usize, &Parameter)| {
        let interval = fitted.intervals.of[index];
        MovedParameter {
            name: parameter.name.clone(),
            marked: parameter.marked,
            before: parameter.format_value(parameter.origin),
            after: parameter.format_value(fitted.point[index]),
            interval,
            wide: parameter.is_wide_interval(interval),
            end: strain::reached_range_end(parameter, fitted.point[index]).map(strain::RangeEnd::word),
            positions: parameter.range().map(|range| {
                let after = fitted.point[index];
                let (low, high) = interval.unwrap_or((after, after));
                [parameter.origin, after, low, high].map(|value| range.position_of(value).clamp(0.0, 1.0))
            }),
        }
    };
    all.map(moved).collect()
}

fn unmoved_parameters(fitted: &FitResult) -> Vec<FixedParameter> {
    let all =
        fitted.parameters.iter().enumerate().filter(|(index, parameter)| fitted.point[*index] == parameter.origin);
    let stayed = |(index, parameter): (usize, &Parameter)| FixedParameter {
        name: parameter.name.clone(),
        value: parameter.format_value(parameter.origin),
        why: fitted.reasons[index].unwrap_or(RejectionReason::NotMoved),
    };
    all.map(stayed).collect()
}

fn trading_pair_names(fitted: &FitResult) -> Vec<(String, String)> {
    let name = |index: usize| fitted.parameters[index].name.clone();
    fitted.intervals.pairs.iter().map(|pair| (name(pair.moved), name(pair.other))).collect()
}

/// The point whose rules are the fit's and whose numbers are the profile's.
fn point_with_rules_only(fitted: &FitResult) -> Vec<f64> {
    let value_or_origin = |(parameter, value): (&Parameter, &f64)| {
        if parameter.range().is_some() { parameter.origin } else { *value }
    };
    fitted.parameters.iter().zip(&fitted.point).map(value_or_origin).collect()
}

fn key_effects(fitted: &FitResult) -> Vec<KeyEffect> {
    if fitted.sensitivity.figures.is_empty() {
        return Vec::new();
    }
    let effect = |(index, parameter): (usize, &Parameter)| {
        let largest = fitted.sensitivity.largest_effect(index);
        let searched = !matches!(fitted.reasons[index], Some(RejectionReason::NotFelt | RejectionReason::TooLittle));
        // To a hundredth of a percent; smaller changes are not worth a digit.
        let percent = largest.map_or(0.0, |(_, share)| (1e4 * share).round() / 100.0);
        let figure = largest.map(|(figure, _)| figure.to_owned());
        KeyEffect { name: parameter.name.clone(), figure, percent, searched }
    };
    fitted.parameters.iter().enumerate().map(effect).collect()
}

fn trace_errors(
    traced: &FitTrace,
    [before, rules, after]: [&DriveFile; 3],
    cache: &ReadingCache,
) -> Result<TraceErrors, Vec<Diagnostic>> {
    let revolution = before.build_profile(cache)?.mechanics.revolution();
    let samples = |drive: &DriveFile| traced.response_samples(drive, cache);
    let [before, rules, after] = [samples(before)?, samples(rules)?, samples(after)?];
    let all = after.read.len();
    let before_and_after = |range: std::ops::Range<usize>| {
        (!range.is_empty())
            .then(|| [before.select_rows(range.clone()).to_validation(), after.select_rows(range).to_validation()])
    };
    let shown = if traced.seen < all { traced.seen..all } else { 0..all };
    Ok(TraceErrors {
        file: traced.file.clone(),
        seen: before_and_after(0..traced.seen),
        held: before_and_after(traced.seen..all),
        rules: rules.select_rows(shown.clone()).to_validation(),
        whole: after.to_validation(),
        beside: traced.reference.as_ref().map(|reference| reference_errors(reference, traced.seen, &after)),
        remains: residual_groups(traced, &after, shown.clone()),
        samples: after.select_rows(shown),
        doubts: before.platter_doubts(revolution),
    })
}

/// The errors of another simulator's times, of which the search saw the first `seen_count`.
fn reference_errors(reference: &ReferenceTimes, seen_count: usize, ours: &ResponseSamples) -> ReferenceErrors {
    let all = ResponseSamples { simulated: reference.times.clone(), ..ours.clone() };
    let part = |range: std::ops::Range<usize>| (!range.is_empty()).then(|| all.select_rows(range).to_validation());
    let (seen, held) = (part(0..seen_count), part(seen_count..all.read.len()));
    ReferenceErrors { name: reference.name.clone(), seen, held, whole: all.to_validation() }
}

/// Upper bounds of distances between requests, as shares of the furthest block, in words.
const DISTANCES: [(f64, &str); 4] =
    [(0.01, "below 1 % of the blocks away"), (0.1, "1 to 10 %"), (0.33, "10 to 33 %"), (f64::MAX, "further")];

/// Upper bounds of sizes in sectors, in words.
const SIZES: [(u32, &str); 4] = [(4, "up to 2 KiB"), (8, "to 4 KiB"), (32, "to 16 KiB"), (u32::MAX, "larger")];

fn residual_groups(traced: &FitTrace, samples: &ResponseSamples, range: std::ops::Range<usize>) -> Vec<ResidualGroup> {
    let rows = &traced.trace.rows;
    let near = which_are_near_previous(rows);
    let furthest = rows.iter().map(|row| row.lba).max().unwrap_or(1).max(1) as f64;
    let distance = |row: usize| rows[row].lba.abs_diff(rows[row.max(1) - 1].lba) as f64 / furthest;
    let mut groups = Vec::new();
    for (op, words) in [(Op::Read, "reads"), (Op::Write, "writes")] {
        let mut add = |which: String, belongs: &dyn Fn(usize) -> bool| {
            let chosen: Vec<usize> = range.clone().filter(|&row| rows[row].op == op && belongs(row)).collect();
            if !chosen.is_empty() {
                groups.push(residual_group(format!("{words}, {which}"), samples, &chosen));
            }
        };
        for (is_near, near_words) in [(true, "near the last ones"), (false, "far from them")] {
            for (previous, previous_words) in [(Op::Read, "behind a read"), (Op::Write, "behind a write")] {
                let belongs = |row: usize| near[row] == is_near && row > 0 && rows[row - 1].op == previous;
                add(format!("{near_words}, {previous_words}"), &belongs);
            }
        }
        let mut least = -1.0;
        for (most, word) in DISTANCES {
            add(format!("far, {word}"), &|row| !near[row] && distance(row) > least && distance(row) <= most);
            least = most;
        }
        let mut least = 0;
        for (most, word) in SIZES {
            add(word.to_owned(), &|row| rows[row].sectors > least && rows[row].sectors <= most);
            least = most;
        }
    }
    groups
}

fn residual_group(which: String, samples: &ResponseSamples, chosen: &[usize]) -> ResidualGroup {
    let times_of = |times: &[Span]| -> Vec<Span> { chosen.iter().map(|&row| times[row]).collect() };
    let (mut measured, mut simulated) = (times_of(&samples.measured), times_of(&samples.simulated));
    let mean = |times: &[Span]| times.iter().map(|time| time.nanos() as f64).sum::<f64>() / times.len() as f64 / 1e6;
    ResidualGroup {
        which,
        n: chosen.len(),
        measured_ms: mean(&measured),
        simulated_ms: mean(&simulated),
        demerit_ms: demerit_ms(&mut measured, &mut simulated),
    }
}

fn point_errors(
    point: &MeasuredPoint,
    before: &DriveFile,
    after: &DriveFile,
    cache: &ReadingCache,
) -> Result<Vec<PointErrors>, Vec<Diagnostic>> {
    let [before, after] = [point.simulate_figures(before, cache)?, point.simulate_figures(after, cache)?];
    let figures = point.figures.iter().zip(before).zip(after);
    let errors = |((figure, before), after): ((&MeasuredFigure, f64), f64)| PointErrors {
        what: point.what.clone(),
        figure: figure.name.clone(),
        measured: figure.measured,
        before,
        after,
        held: point.held,
    };
    Ok(figures.map(errors).collect())
}

fn collect_warnings(report: &FitReport, data: &[FitData], revolution: Span) -> Vec<String> {
    let mut warnings = Vec::new();
    // A stream is answered from the buffer, however fast the platters turn.
    let is_random = |what: &str| {
        let points = data.iter().flat_map(|data| if let FitData::Points(points) = data { &points[..] } else { &[] });
        points.filter(|point| point.what == what).all(|point| point.load.is_none_or(JobLoad::is_random))
    };
    let medians = report.points.iter().filter(|point| point.figure.ends_with("p50") && is_random(&point.what));
    warnings.extend(medians.filter_map(|point| {
        platter::platter_doubt(&format!("requests of {}", point.what), point.measured, point.before, revolution)
    }));
    for trace in &report.traces {
        warnings.extend(trace.doubts.iter().map(|doubt| format!("{}: {doubt}", trace.file)));
        let [_, errors] = trace.held.or(trace.seen).unwrap_or([trace.whole; 2]);
        let with_rules = &trace.rules;
        if errors.reads.n > 0 && errors.reads.demerit_percent > NOT_EXPLAINED {
            warnings.push(format!(
                "{}: a demerit of {:.0} % remains on reads: this is the trace of another drive, or something stood between \
                 it and who measured",
                trace.file, errors.reads.demerit_percent
            ));
        } else if is_probably_another_drive(with_rules.reads.demerit_percent, with_rules.reads.n) {
            warnings.push(format!(
                "{}: with the profile's numbers its reads are off by a demerit of {:.0} %, whatever the rules, more than a \
                 drive's own parameters leave: if this is another drive's trace, the fit has hidden it",
                trace.file, with_rules.reads.demerit_percent
            ));
        }
    }
    if data.iter().all(|data| data.request_or_job_count(DataSplit::Held) == 0) {
        warnings.push("nothing was held back: nothing was tried on data that the search did not see".to_owned());
    }
    warnings.extend(report.strained.iter().map(StrainedFigure::warning_text));
    warnings.extend(report.contradictions.iter().map(|contradiction| contradiction.says.clone()));
    warnings.extend(report.ending.as_ref().map(early_end_text));
    if report.figures.is_empty() && report.ending.is_none() {
        warnings.push("nothing moved: the profile is as it was".to_owned());
    }
    warnings
}

/// The error of a rate or mean after a fit, as a share, from which on a job is not met: several times what runs scatter.
const NOT_MET: f64 = 0.1;

/// What is said where a search ended worse than it began.
const REFUSED: &str = "what the search found met what was shown or what was held back worse than the profile did, and was not kept: these \
                       results are probably not all of one drive in one state";

/// The most jobs that a sentence names.
const NAMED_JOBS: usize = 3;

/// A sentence on the seen jobs that the fitted drive does not meet: what may move cannot explain them.
fn unmet_jobs_text(report: &FitReport) -> Option<String> {
    let off = |point: &PointErrors| point.after / point.measured - 1.0;
    let is_level = |figure: &str| ["iops", "mean", "mib_s", "mb_s"].iter().any(|name| figure.ends_with(name));
    let mut unmet: Vec<&PointErrors> =
        report.points.iter().filter(|point| is_level(&point.figure) && off(point).abs() > NOT_MET).collect();
    unmet.sort_by(|a, b| off(b).abs().total_cmp(&off(a).abs()));
    let mut named = std::collections::BTreeSet::new();
    unmet.retain(|point| named.insert(point.what.as_str()));
    let names: Vec<String> = unmet
        .iter()
        .take(NAMED_JOBS)
        .map(|point| format!("{} ({} {:+.0} %)", point.what, point.figure, 100.0 * off(point)))
        .collect();
    (!names.is_empty()).then(|| {
        let more = unmet.len().saturating_sub(names.len());
        let others = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!(
            "the fitted drive does not meet these results: {}{others}. Nothing that may move explains them: do not trust \
             predictions of such loads, nor their bands. Was something between the program and the drive, or does the job cover a \
             part of it? `seekwise run` on the results names what is suspected",
            names.join(", ")
        )
    })
}

/// A sentence that a fit ended early.
pub(crate) fn early_end_text(ending: &FitEnding) -> String {
    let FitEnding { why, stage, points } = ending;
    let repeat = match why {
        EarlyEnd::Points => "the same number of points gives the same",
        EarlyEnd::Enough => "another run may end elsewhere",
    };
    format!(
        "this is the best so far and not the end of the fit: it ended early, in the stage `{stage}`, after {points} points \
         ({repeat}); intervals were not searched and are whole ranges"
    )
}

#[cfg(test)]
mod tests {
    use super::is_probably_another_drive;

    #[test]
    fn a_drive_taken_for_another_begins_far_off_and_few_requests_do_not() {
        assert!([17.0, 21.8, 45.2].iter().all(|&percent| is_probably_another_drive(percent, 3300)));
        assert!([0.8, 6.5, 12.0].iter().all(|&percent| !is_probably_another_drive(percent, 3300)));
        assert!(!is_probably_another_drive(12.0, 165) && !is_probably_another_drive(f64::NAN, 0));
    }
}
