//! Comparisons, as `seekwise compare` makes them: a job runs with two or more values of one setting, on the same random
//! numbers or in turn, and each metric gets a verdict (docs/statistics.md) and a cause.

pub mod baseline;
mod setting_words;

use std::collections::BTreeSet;
use std::path::Path;
use std::slice::from_ref;
use std::sync::Arc;

use seekwise_drives::key_names::array;
use seekwise_drives::profile::fit_record::FitRecord;
use seekwise_formats::study::{ComparisonSpec, Factor, Study};
use seekwise_lab::compose::pairing_words;
use seekwise_lab::confound::differing_concerns;
use seekwise_lab::plan::PreparedCell;
use seekwise_lab::provenance::differing_keys;
use seekwise_lab::rounds::SamplingAccount;
use seekwise_lab::run::RunRecord;
use serde_json::{Value, json};

use crate::band::{ComparisonBand, compare_on_draws};
use crate::bounds::Bounds;
use crate::error::Error;
use crate::observer::Observer;
use crate::reading;
use crate::setup::{Setup, reject_repeated_keys, require_job};
use crate::shell::quote_for_shell;
use crate::study::{self, StudyOptions, StudyResult, finish_session, rerun_command, run_session};
use crate::study_plan::{self, StudySession};

/// The figures that are judged, and how many runs are made of each side.
pub use seekwise_drives::metric::{Metric, MetricScope, Statistic};
pub use seekwise_formats::study::Sampling;

/// A varied setting in plain words, and drives by their titles.
pub use self::setting_words::{SettingWords, drive_title};

/// Records by cell, what differs between cells, and why.
pub use seekwise_lab::finding::{Cause, Evidence, Finding, HiddenWork, OverallComparison, PartChange, SecondaryFigure};

/// The judgement of a difference, and the words for it.
pub use seekwise_lab::outcome::{DifferenceWords, Outcome, ratio_text};
pub use seekwise_lab::stats::{Interval, Judgement, Verdict, t_quantile};

/// A comparison to make.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Comparison {
    /// The job, the target, and the settings of all sides.
    pub setup: Setup,
    /// The setting that varies.
    pub key: String,
    /// The values, two or more; the first is the base.
    pub values: Vec<String>,
    /// The values as they were written, such as `1..32`, for the command that compares the same again.
    pub list: Option<String>,
    /// The metrics to judge; empty for those that suit the job.
    pub metrics: Vec<Metric>,
    /// Runs a side.
    pub runs: u32,
    /// Whether all of these runs are made, or short ones until verdicts stand.
    pub sampling: Sampling,
    /// On fitted drives, compares on the draws of their fits too, for the bands of the ratios.
    pub band: bool,
}

/// The key whose values are jobs.
pub const JOB: &str = "job";

/// Runs of a side by default.
pub const RUNS: u32 = 10;

impl Comparison {
    /// A comparison of two or more values of a setting, with ten runs a side.
    ///
    /// ```
    /// use seekwise::Setup;
    /// use seekwise::compare::Comparison;
    ///
    /// let setup = Setup::new("random-read", "barracuda-7200.7-ncq").with("job.depth", 32).with_runtime("2 s");
    /// let compared = Comparison::new(setup, "drive.firmware.depth", ["1", "32"]).run(&())?;
    /// assert!(compared.comparison()?.findings[0].judgement.as_ref().unwrap().ratio.estimate > 1.5);
    /// # Ok::<(), seekwise::Error>(())
    /// ```
    pub fn new<V: Into<String>>(
        setup: Setup,
        key: impl Into<String>,
        values: impl IntoIterator<Item = V>,
    ) -> Comparison {
        let values = values.into_iter().map(Into::into).collect();
        Comparison {
            setup,
            key: key.into(),
            values,
            list: None,
            metrics: Vec::new(),
            runs: RUNS,
            sampling: Sampling::Fixed,
            band: true,
        }
    }

    /// Runs all sides on all cores, within a quarter of the machine's memory; keeps nothing.
    pub fn run(&self, observer: &dyn Observer) -> Result<StudyResult, Error> {
        self.run_within(Bounds::new(None), observer)
    }

    /// Runs all sides within `bounds`; keeps nothing, and writes no file.
    pub fn run_within(&self, bounds: Bounds, observer: &dyn Observer) -> Result<StudyResult, Error> {
        let planned = study_plan::plan_built(&self.setup.files, "command line", self.study()?)?;
        let fits = cell_fits(&planned.prepared);
        let compared = study::run_in_memory(&self.setup.files, planned, &bounds, observer)?;
        self.add_band(compared, &fits, &bounds, observer)
    }

    /// Runs all sides, and keeps the runs in an empty folder of the caller's as they end, without a page. If the
    /// observer cancels, they are there ([`read_study_folder`](study::read_study_folder)).
    pub fn run_beside(&self, folder: &Path, bounds: Bounds, observer: &dyn Observer) -> Result<StudyResult, Error> {
        let options = StudyOptions { bounds, ..StudyOptions::into(folder) };
        let session = self.open_session(&options, observer)?;
        let fits = cell_fits(&session.planned.prepared);
        self.add_band(run_session(session, observer)?, &fits, &bounds, observer)
    }

    /// Runs all sides; results and a page go to the folder of `options`. The files of the setup are read, not those of
    /// `options`.
    pub fn run_into(&self, options: &StudyOptions<'_>, observer: &dyn Observer) -> Result<StudyResult, Error> {
        let session = self.open_session(options, observer)?;
        let fits = cell_fits(&session.planned.prepared);
        let compared = finish_session(session, options.folder, observer)?;
        self.add_band(compared, &fits, &options.bounds, observer)
    }

    /// Compares again on the draws of the cells' fits, if that is asked for and they have any.
    fn add_band(
        &self,
        compared: StudyResult,
        fits: &[Option<Arc<FitRecord>>],
        bounds: &Bounds,
        observer: &dyn Observer,
    ) -> Result<StudyResult, Error> {
        if !self.band {
            return Ok(compared);
        }
        let StudyResult { study, made, records, .. } = &compared;
        let band = compare_on_draws(&self.setup.files, (study, made, records), fits, bounds, observer)?;
        Ok(StudyResult { band, ..compared })
    }

    fn open_session(&self, options: &StudyOptions<'_>, observer: &dyn Observer) -> Result<StudySession, Error> {
        let study = self.study()?;
        let text = study.to_text();
        let files = &self.setup.files;
        let plan = || study_plan::plan_built(files, "command line", study).map_err(Error::from);
        let options = StudyOptions { files: files.clone(), ..options.clone() };
        options.open("command line", &text, plan, observer)
    }

    /// The study that the comparison is run as.
    pub fn study(&self) -> Result<Study, Error> {
        let (key, values) = (self.key.as_str(), &self.values[..]);
        reject_repeated_keys(&[from_ref(&(key.to_owned(), String::new())), &self.setup.set[..]].concat())?;
        if key == JOB {
            let jobs: Vec<&str> = values.iter().map(String::as_str).collect();
            reading::reject_second_standard_input(&[&jobs[..], &[&self.setup.target]].concat())?;
            jobs.iter().try_for_each(|name| require_job(&self.setup.files, name))?;
        }
        if values.len() < 2 {
            return Err(Error::new(format!("`{key}`: expected two values or more to compare")));
        }
        let mut study = self.setup.study(self.setup.cell()?, self.question(), self.runs)?;
        study.sampling = Some(self.sampling);
        study.factor = vec![Factor::for_key(key, values)];
        study.compare = self.comparisons();
        if key == JOB { self.credit_jobs(study) } else { Ok(study) }
    }

    fn question(&self) -> String {
        let words = SettingWords::new(&self.key);
        let is_on_a_varied_drive = words.is_drive() && self.setup.is_on_a_drive_alone();
        let place = (!is_on_a_varied_drive).then(|| reading::display_name(&self.setup.target));
        words.question(reading::display_name(&self.setup.job), place, &self.values)
    }

    /// For each metric, each value but the first against the first.
    fn comparisons(&self) -> Vec<ComparisonSpec> {
        // Without a metric the study chooses one, which is another for scenes than for jobs.
        let mut metrics: Vec<Option<&Metric>> = Vec::new();
        for metric in &self.metrics {
            if !metrics.contains(&Some(metric)) {
                metrics.push(Some(metric));
            }
        }
        if metrics.is_empty() {
            metrics.push(None);
        }
        let (key, base) = (&self.key, &self.values[0]);
        let build_spec = |metric: Option<&Metric>, value: &String| {
            let mut spec = ComparisonSpec::new(key, base, value);
            if let Some(metric) = metric.filter(|metric| **metric != Metric::default()) {
                spec.name += &format!(": {metric}");
            }
            spec.headline = true;
            spec.metric = metric.cloned();
            spec
        };
        metrics.iter().flat_map(|metric| self.values[1..].iter().map(|value| build_spec(*metric, value))).collect()
    }

    /// Lets each comparison credit its difference to everything in which its two jobs differ: whoever names two jobs
    /// asks for that.
    fn credit_jobs(&self, mut study: Study) -> Result<Study, Error> {
        let made = study_plan::plan_built(&self.setup.files, "command line", study.clone())?.made;
        let specs_per_metric = self.values.len() - 1;
        for (index, spec) in study.compare.iter_mut().enumerate() {
            let concerns = differing_concerns(&made, 0, 1 + index % specs_per_metric);
            spec.credit = Some(concerns).filter(|concerns| !concerns.is_empty());
        }
        Ok(study)
    }

    /// The command that makes the comparison again: from the folder that keeps its results, if there is one.
    pub fn command(&self, result_folder: Option<&Path>) -> String {
        if let Some(folder) = result_folder {
            return rerun_command(folder);
        }
        let metrics: Vec<String> = self.metrics.iter().map(|metric| format!(" --metric '{metric}'")).collect();
        let list = self.list.clone().unwrap_or_else(|| self.values.join(","));
        let (words, seed) = (self.setup.words(), self.setup.seed);
        let varied = match words.strip_prefix(&quote_for_shell(&self.setup.job)) {
            Some(rest) if self.key == JOB => {
                let jobs: Vec<String> = self.values.iter().map(|job| quote_for_shell(job)).collect();
                format!("{}{rest}", jobs.join(" "))
            }
            _ => format!("{words} --vary {}", quote_for_shell(&format!("{}={list}", self.key))),
        };
        let until = if self.sampling == Sampling::UntilDecided { " --until-decided" } else { "" };
        format!("seekwise compare {varied}{} --runs {} --seed {seed}{until}", metrics.concat(), self.runs)
    }
}

impl StudyResult {
    /// The answer to a comparison, whose one factor is the setting that varied: cell n is its n-th value. An error for
    /// results of anything else, and if a run has no value of a metric.
    ///
    /// After an interruption, the answer has all runs that ended, and the findings of those values whose runs are all
    /// there. Fewer runs are not judged: an early verdict errs more often than it says.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// use seekwise::compare::Comparison;
    /// use seekwise::{Bounds, Files, Observer, Setup, study};
    ///
    /// /// Cancels when two runs have ended.
    /// struct Two(AtomicU64);
    /// impl Observer for Two {
    ///     fn report_done(&self, done: u64) {
    ///         self.0.store(done, Ordering::Relaxed);
    ///     }
    ///     fn is_cancelled(&self) -> bool {
    ///         self.0.load(Ordering::Relaxed) >= 2
    ///     }
    /// }
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let setup = Setup::new("random-read", "barracuda-7200.7-ncq").with_runtime("1 s");
    /// let mut comparison = Comparison::new(setup, "job.depth", ["1", "8"]);
    /// comparison.runs = 5;
    /// let error = comparison.run_beside(folder.path(), Bounds::new(None), &Two(AtomicU64::new(0))).unwrap_err();
    /// assert!(error.is_cancelled());
    /// let kept = study::read_study_folder(&Files::default(), folder.path())?;
    /// assert_eq!((kept.records.len(), kept.comparison()?.missing), (2, 8));
    /// # Ok::<(), seekwise::Error>(())
    /// ```
    pub fn comparison(&self) -> Result<ComparisonAnswer<'_>, Error> {
        let [Factor { key: Some(key), .. }] = &self.study.factor[..] else {
            return Err(Error::new(format!(
                "{}: not the results of a comparison, whose one factor is a key",
                self.study.title
            )));
        };
        let values = self.study.factor[0].level_names();
        let (evidence, missing) = (self.evidence(), self.missing_runs());
        let mut findings = evidence.findings().0.to_vec();
        // Some findings of an interrupted comparison cannot be judged; in a whole one that is a fault, which is
        // reported.
        findings.retain(|finding| missing == 0 || finding.judgement.is_some());
        let answer = ComparisonAnswer {
            key,
            values,
            runs: self.study.runs,
            missing,
            evidence,
            findings,
            band: self.band.as_ref(),
        };
        if missing == 0 {
            answer.check_values()?;
        }
        Ok(answer)
    }
}

/// The fits of the cells' drives.
fn cell_fits(prepared: &[PreparedCell]) -> Vec<Option<Arc<FitRecord>>> {
    prepared.iter().map(|cell| cell.fit.clone()).collect()
}

/// The answer to a comparison, computed from its records.
#[non_exhaustive]
pub struct ComparisonAnswer<'a> {
    /// The setting that varied.
    pub key: &'a str,
    /// Its values, one for each cell; the first is the base.
    pub values: Vec<String>,
    /// Runs a side.
    pub runs: u32,
    /// Runs that are missing, of all sides together.
    pub missing: usize,
    /// The records by cell.
    pub evidence: Evidence<'a>,
    /// For each metric, each value but the first against the first; in an interrupted comparison those that can be
    /// judged.
    pub findings: Vec<Finding>,
    /// On fitted drives: the ranges of the ratios over the draws of their fits.
    pub band: Option<&'a ComparisonBand>,
}

impl ComparisonAnswer<'_> {
    /// Whether a comparison was refused.
    pub fn is_refused(&self) -> bool {
        self.findings.iter().any(|finding| finding.refused.is_some())
    }

    /// The metric that a finding judges.
    pub fn metric(&self, finding: &Finding) -> &Metric {
        self.evidence.judged_metric(finding.compare)
    }

    /// The metrics that are judged.
    pub fn metrics(&self) -> Vec<&Metric> {
        let compares = 0..self.evidence.study.compare.len();
        compares.step_by(self.values.len() - 1).map(|compare| self.evidence.judged_metric(compare)).collect()
    }

    /// An error if a metric has no value on a side, or a finding no ratio.
    fn check_values(&self) -> Result<(), Error> {
        for metric in self.metrics() {
            let missing = (0..self.values.len()).find(|cell| self.evidence.metric_mean(*cell, metric).is_none());
            if let Some(cell) = missing {
                let side = format!("{}={}", self.key, self.values[cell]);
                return Err(Error::new(format!(
                    "--metric {metric}: a run with {side} has no value{}",
                    no_value_reason(metric)
                )));
            }
        }
        let unjudged = self.findings.iter().find(|finding| finding.judgement.is_none());
        match unjudged {
            Some(finding) => Err(Error::new(format!(
                "--metric {}: a run has the value 0, so that there is no ratio",
                self.metric(finding)
            ))),
            None => Ok(()),
        }
    }

    /// A side's name.
    pub fn side_name(&self, cell: usize) -> String {
        format!("{}={}", self.key, self.values[cell])
    }

    /// The settings in which the sides of a finding differ.
    pub fn differing_settings(&self, finding: &Finding) -> Vec<String> {
        differing_keys(self.evidence.made.cell_settings(finding.from), self.evidence.made.cell_settings(finding.to))
    }

    /// A note if both sides of a finding lack a drive of their arrays: the finding does not show what a failed drive
    /// costs.
    pub fn degraded_note(&self, finding: &Finding) -> Option<String> {
        let lost_drive =
            |cell: usize| self.evidence.made.find_setting(cell, array::LOSE).map(|setting| setting.value.as_str());
        let (from, to) = (lost_drive(finding.from)?, lost_drive(finding.to)?);
        let lose = array::LOSE;
        let advice = format!("`--vary {lose}=none,{to}` compares a whole array with a degraded one");
        (self.key == lose).then(|| format!("both sides lack a drive (number {from}, number {to}): {advice}"))
    }

    /// What the range of a finding's ratio over the draws of the fits says about its verdict, in words.
    pub fn band_words(&self, finding: &Finding) -> Option<String> {
        let (band, judgement) = (self.band?, finding.judgement.as_ref()?);
        Some(band.of_finding(finding)?.words(judgement, band.draws))
    }

    /// What a side asks of its fitted drive that no measurement of the fit covered.
    pub fn unseen(&self, cell: usize) -> &[String] {
        self.evidence.cell_runs(cell).first().map_or(&[], |run| &run.unseen)
    }

    /// A sentence for each side that asks what no measurement covered; one for all sides if they ask the same.
    pub fn unseen_sentences(&self) -> Vec<String> {
        let sides = 0..self.values.len();
        let first = self.unseen(0);
        if sides.clone().all(|cell| self.unseen(cell) == first) {
            return (!first.is_empty())
                .then(|| format!("Not seen by the fit: {}.", first.join("; ")))
                .into_iter()
                .collect();
        }
        let sides = sides.filter(|cell| !self.unseen(*cell).is_empty());
        sides
            .map(|cell| format!("Not seen by the fit, {}: {}.", self.side_name(cell), self.unseen(cell).join("; ")))
            .collect()
    }

    /// The mean of a metric on a side. Panics where a run has none: an answer is checked before it is handed out.
    pub fn metric_mean(&self, cell: usize, metric: &Metric) -> Interval {
        self.evidence.metric_mean(cell, metric).expect("checked before")
    }

    /// The whole answer as JSON. The keys of the first comparison stand at the top too. An interrupted comparison has
    /// the sides that ran, the comparisons that can be judged, and the number of missing runs.
    pub fn json(&self) -> Value {
        let interval = |figure: Interval| json!({"estimate": figure.estimate, "low": figure.low, "high": figure.high});
        let side_json = |cell: usize| {
            let iops = self.evidence.cell_mean(cell, |run| run.all.iops);
            let mean = self.evidence.cell_mean(cell, |run| run.all.mean_ms());
            let metrics = self.metrics().into_iter();
            let mean_of = |metric: &Metric| match self.missing {
                0 => Some(self.metric_mean(cell, metric)),
                _ => self.evidence.metric_mean(cell, metric),
            };
            let metrics: serde_json::Map<String, Value> =
                metrics.filter_map(|metric| Some((metric.to_string(), interval(mean_of(metric)?)))).collect();
            let mut side = json!({"name": self.side_name(cell), "iops": interval(iops), "metrics": metrics,
                   "response_ms": {"mean": mean.estimate, "low": mean.low, "high": mean.high}});
            if !self.unseen(cell).is_empty() {
                side["unseen"] = json!(self.unseen(cell));
            }
            side
        };
        let comparison_json = |finding: &Finding| {
            let judgement = judgement_of(finding);
            let metric = self.metric(finding);
            let verdict =
                finding.refused.as_ref().map_or_else(|| judgement.verdict.to_string(), |_| "refused".to_owned());
            let mut finding_json = json!({
                "metric": metric.to_string(), "title": metric.title(),
                "unit": metric.unit(), "better": metric.better_direction(),
                "from": self.side_name(finding.from), "to": self.side_name(finding.to),
                "ratio": interval(judgement.ratio), "verdict": verdict,
                "said": DifferenceWords::for_metric(metric).verdict_and_ratio(judgement), "refused": finding.refused,
                "p": judgement.p, "p_adjusted": judgement.p_holm,
                "cause": finding.cause,
                "beside": finding.beside.iter().map(secondary_json).collect::<Vec<_>>(),
                "too_few_requests": finding.thin,
                "differs": self.differing_settings(finding),
            });
            if let Some(unasked) = &finding.unasked {
                finding_json["unasked"] = unasked.as_str().into();
            }
            if let Some((draws, band)) = self.band.and_then(|band| Some((band.draws, band.of_finding(finding)?))) {
                finding_json["band"] = band.json(draws);
            }
            if let Some(note) = self.degraded_note(finding) {
                finding_json["note"] = note.into();
            }
            finding_json
        };
        let comparisons: Vec<Value> = self.findings.iter().map(comparison_json).collect();
        let mut answer_json = comparisons.first().cloned().unwrap_or_default();
        let has_run = |cell: &usize| self.missing == 0 || !self.evidence.cell_runs(*cell).is_empty();
        answer_json["sides"] = (0..self.values.len()).filter(has_run).map(side_json).collect();
        answer_json["runs"] = self.runs.into();
        if self.missing > 0 {
            answer_json["missing_runs"] = self.missing.into();
        }
        if let Some(account) = SamplingAccount::from_evidence(&self.evidence) {
            answer_json["sampling"] = json!(account);
        }
        let doubts = self.doubts();
        if !doubts.is_empty() {
            answer_json["doubts"] = doubts.into();
        }
        answer_json["comparisons"] = comparisons.into();
        answer_json
    }

    /// A sentence without its point: the number of runs, and how they are paired. Then, for runs that are sampled until
    /// decided, the sentences about what the sampling cost.
    pub fn method_sentences(&self) -> (String, Option<String>) {
        let paired = pairing_words(self.evidence.made);
        match SamplingAccount::from_evidence(&self.evidence) {
            None if self.runs == 1 => (format!("One run a side, paired {paired}"), None),
            None => (format!("{} runs a side, paired {paired}", self.runs), None),
            Some(account) => (format!("Runs paired {paired}"), Some(account.to_sentences())),
        }
    }

    /// How figures are followed by intervals, in words: runs of one a side have none.
    pub fn interval_words(&self) -> &'static str {
        if self.evidence.cell_runs(0).len() == 1 { "no interval" } else { "95 % interval" }
    }

    /// The warnings of measured runs, each with the number of a side's runs that have it.
    pub fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        for cell in 0..self.values.len() {
            let runs = self.evidence.cell_runs(cell);
            let study_warnings = &self.evidence.made.warnings;
            let measured_warnings =
                |run: &&RunRecord| run.is_measured().then(|| run.warnings.clone()).into_iter().flatten();
            // Figures differ from run to run; the words before them do not.
            let words_before_figures = |warning: String| warning.split(": ").next().unwrap_or_default().to_owned();
            let run_doubts: Vec<BTreeSet<String>> = runs
                .iter()
                .map(|run| {
                    measured_warnings(run)
                        .filter(|warning| !study_warnings.contains(warning))
                        .map(words_before_figures)
                        .collect()
                })
                .collect();
            for doubt in run_doubts.iter().flatten().collect::<BTreeSet<_>>() {
                let count = run_doubts.iter().filter(|run| run.contains(doubt)).count();
                doubts.push(format!("Note: {}: {doubt}, in {count} of {} runs.", self.side_name(cell), runs.len()));
            }
        }
        doubts
    }
}

/// Why a run has no value of a metric, to follow the statement that it has none.
fn no_value_reason(metric: &Metric) -> &'static str {
    match metric.whose {
        MetricScope::Flush => ": this job issues no flushes (fio: fsync=1)",
        MetricScope::Commit => ": this job makes no commits (fio: fsync=1 or sync=1)",
        MetricScope::Read => ": this job reads nothing",
        MetricScope::Write => ": this job writes nothing",
        _ => "",
    }
}

/// The judgement of a finding. Panics where there is none: an answer is checked before it is handed out.
pub fn judgement_of(finding: &Finding) -> &Judgement {
    finding.judgement.as_ref().expect("checked before")
}

fn secondary_json(figure: &SecondaryFigure) -> Value {
    let Interval { estimate, low, high } = figure.ratio;
    json!({"metric": figure.metric.to_string(), "ratio": {"estimate": estimate, "low": low, "high": high},
           "worse": figure.worse, "text": figure.text()})
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::reading::Files;
    use seekwise_os::outputs::create_temporary_folder;

    #[test]
    fn the_texts_of_a_folder_are_those_that_a_folder_keeps() {
        let setup = Setup::new("random-read", "barracuda-7200.7-ncq").with_runtime("1 s");
        let comparison = Comparison { runs: 2, ..Comparison::new(setup, "job.depth", ["1", "4"]) };
        let kept = create_temporary_folder().unwrap();
        comparison.run_into(&StudyOptions::into(&kept.path().join("out")), &()).unwrap();
        let compared = comparison.run(&()).unwrap();
        for (name, text) in crate::results::folder_texts(&compared.study, &compared.made, &compared.records) {
            assert_eq!(fs::read_to_string(kept.path().join("out").join(name)).unwrap(), text, "{name}");
        }
    }

    #[test]
    fn of_an_interrupted_comparison_stands_what_has_all_its_runs() {
        let setup = Setup::new("random-read", "barracuda-7200.7-ncq").with_runtime("1 s");
        let comparison = Comparison { runs: 2, ..Comparison::new(setup, "job.depth", ["1", "4", "8"]) };
        let folder = create_temporary_folder().unwrap();
        let whole = comparison.run_beside(folder.path(), Bounds::new(None), &()).unwrap();
        assert_eq!((whole.missing_runs(), whole.comparison().unwrap().findings.len()), (0, 2));
        assert!(whole.comparison().unwrap().json().get("missing_runs").is_none());
        let file = folder.path().join("results.jsonl");
        let lines = fs::read_to_string(&file).unwrap();
        let after = |runs: usize| {
            // The last is being written.
            let kept: String = lines.split_inclusive('\n').take(runs).collect();
            fs::write(&file, kept + "{\"cell\":").unwrap();
            let kept = study::read_study_folder(&Files::default(), folder.path()).unwrap();
            assert_eq!(json!(kept.records), json!(whole.records[..runs]));
            kept.comparison().unwrap().json()
        };
        let said = |json: &Value| {
            let names = |key: &str, name: &str| {
                json[key].as_array().unwrap().iter().map(|it| it[name].as_str().unwrap().to_owned()).collect::<Vec<_>>()
            };
            (names("sides", "name"), names("comparisons", "to"), json["missing_runs"].as_u64().unwrap())
        };
        let name = |depth: u32| format!("job.depth={depth}");
        let five = after(5);
        assert_eq!(said(&five), (vec![name(1), name(4), name(8)], vec![name(4)], 1));
        let ratio = whole.comparison().unwrap().json()["comparisons"][0]["ratio"].clone();
        assert_eq!((&five["ratio"], &five["comparisons"][0]["ratio"]), (&ratio, &ratio));
        let three = after(3);
        assert_eq!(said(&three), (vec![name(1), name(4)], vec![], 3));
        assert!(three.get("verdict").is_none(), "nothing is judged");
        assert_eq!(said(&after(0)), (vec![], vec![], 6));
    }
}
