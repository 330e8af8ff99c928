//! Measured results of jobs against modelled drives, as `seekwise run RESULT…` and `seekwise compare RESULT…` print them:
//! figure by figure how far the prediction is off, and which part of the model is suspected.

use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::key_names::is_real_key;
use seekwise_drives::profile;
use seekwise_lab::catalogue;
use seekwise_lab::fit::data::FitData;
use seekwise_lab::fit::points::MeasuredPoint;
use seekwise_lab::fit::sources::{self, FileArgument};
use seekwise_lab::residual::suspects::find_suspicions;
use seekwise_lab::residual::{predict_points, summarize};
use serde_json::{Value, json};

use crate::error::Error;
use crate::observer::Observer;
use crate::reading::{self, FileKind, Files};
use crate::setup::{is_built_in, reject_repeated_keys};
use crate::shell::quote_for_shell;
use crate::study::warn_once;

/// A job with its measured and predicted figures, a summary, and suspected parts.
pub use seekwise_lab::residual::suspicion::{SuspectedPart, Suspicion};
pub use seekwise_lab::residual::{FigureResidual, JobResidual, ResidualSummary, WorstFigure};

/// Measured results, and the drives that they are compared with.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MeasuredResults {
    /// fio's JSON: FILE, or FILE,KEY=VALUE,… with the settings that held meanwhile, as for a fit.
    pub results: Vec<String>,
    /// The modelled drives.
    pub sides: Vec<ModelSide>,
    /// Dotted keys of the stack and values, for all results.
    pub set: Vec<(String, String)>,
    /// Where results and drives are read.
    pub files: Files,
}

/// A modelled drive with settings of its own.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ModelSide {
    /// The side's name in tables.
    pub name: String,
    /// The drive: a name, or a profile file.
    pub drive: String,
    /// Dotted keys of the stack and values.
    pub set: Vec<(String, String)>,
}

impl ModelSide {
    /// A drive as it is.
    pub fn new(drive: impl Into<String>) -> ModelSide {
        let drive = drive.into();
        ModelSide { name: reading::display_name(&drive).to_owned(), drive, set: Vec::new() }
    }

    /// A drive with one setting; the side is named by the last word of its key, and the value.
    pub fn with_setting(drive: impl Into<String>, key: &str, value: &str) -> ModelSide {
        let word = key.rsplit('.').next().unwrap_or(key);
        ModelSide {
            name: format!("{word}={value}"),
            set: vec![(key.to_owned(), value.to_owned())],
            ..ModelSide::new(drive)
        }
    }
}

impl MeasuredResults {
    /// These results against one drive.
    pub fn new(results: Vec<String>, drive: impl Into<String>) -> MeasuredResults {
        let sides = vec![ModelSide::new(drive)];
        MeasuredResults { results, sides, set: Vec::new(), files: Files::default() }
    }
}

/// Measured results against modelled drives.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MeasuredComparison {
    /// One for each drive, in order; all have the same jobs and figures.
    pub sides: Vec<PredictedSide>,
}

/// Measured results against one drive.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PredictedSide {
    /// The side's name.
    pub name: String,
    /// The drive: a name, or a profile file.
    pub drive: String,
    /// The jobs with their figures.
    pub jobs: Vec<JobResidual>,
    /// How well the leading figures are predicted: rates, means, medians and 99th percentiles.
    pub summary: ResidualSummary,
    /// Parts of the model that explain what is off.
    pub suspicions: Vec<Suspicion>,
    /// The command that fits the drive to the results.
    pub fit_command: String,
}

/// Two sides whose distances or figures differ by less, as a logarithm, are equally near: a run differs from the next by
/// more.
const EQUALLY_NEAR: f64 = 0.01;

impl MeasuredComparison {
    /// The side whose leading figures are nearest to the measured ones; `None` if another is equally near.
    pub fn nearest_side(&self) -> Option<usize> {
        nearest(self.sides.iter().map(|side| (side.summary.mean_distance_percent / 100.0).ln_1p()))
    }

    /// The side whose figure is nearest to the measured one; `None` if another is equally near, or if chance explains
    /// the differences of all.
    pub fn nearest_side_of_figure(&self, job: usize, figure: usize) -> Option<usize> {
        let figures = || self.sides.iter().map(|side| &side.jobs[job].figures[figure]);
        figures().any(FigureResidual::is_beyond_scatter).then(|| nearest(figures().map(|it| it.log_ratio().abs())))?
    }

    /// The result as JSON.
    pub fn json(&self) -> Value {
        let predicted_json = |job: usize, figure: usize| {
            let side_json = |side: &PredictedSide| {
                let residual = &side.jobs[job].figures[figure];
                json!({"on": side.name, "value": residual.predicted, "off_percent": residual.off_percent(),
                       "beyond_scatter": residual.is_beyond_scatter()})
            };
            self.sides.iter().map(side_json).collect::<Vec<_>>()
        };
        // One side alone is not the nearest of any.
        let name_among_several = |side: usize| (self.sides.len() > 1).then_some(&self.sides[side].name);
        let mut cells = Vec::new();
        for (job_index, job) in self.sides[0].jobs.iter().enumerate() {
            for (index, figure) in job.figures.iter().enumerate() {
                let nearest = self.nearest_side_of_figure(job_index, index).and_then(name_among_several);
                cells.push(
                    json!({"file": job.file, "job": job.job, "figure": figure.figure, "measured": figure.measured,
                                  "standard_error_percent": 100.0 * figure.error,
                                  "predicted": predicted_json(job_index, index), "nearest": nearest}),
                );
            }
        }
        let side_json = |side: &PredictedSide| json!({"on": side.name, "summary": side.summary, "suspicions": side.suspicions, "fit": side.fit_command});
        let nearest = self.nearest_side().and_then(name_among_several);
        json!({"cells": cells, "sides": self.sides.iter().map(side_json).collect::<Vec<_>>(), "nearest": nearest})
    }
}

/// The index of the least distance; `None` if another is equally near.
fn nearest(distances: impl Iterator<Item = f64>) -> Option<usize> {
    let mut sorted: Vec<(usize, f64)> = distances.enumerate().collect();
    sorted.sort_by(|a, b| a.1.total_cmp(&b.1));
    let is_clear = sorted.len() < 2 || sorted[1].1 - sorted[0].1 > EQUALLY_NEAR;
    sorted.first().filter(|_| is_clear).map(|(index, _)| *index)
}

/// Whether `names` are measured results, by their contents; an error if only some are.
pub fn are_results(files: &Files, names: &[String]) -> Result<bool, Error> {
    let is_of_kind: Vec<bool> = names.iter().map(|name| is_result(files, name)).collect();
    let (Some(result), Some(other)) = (is_of_kind.iter().position(|it| *it), is_of_kind.iter().position(|it| !*it))
    else {
        return Ok(is_of_kind.first().copied().unwrap_or(false));
    };
    let (result, other) = (&names[result], &names[other]);
    // A file that is not there is reported as such.
    if files.find(file_of(other))?.is_none() && !is_built_in(other) {
        files.read(file_of(other))?;
    }
    Err(Error::new(format!(
        "{other}: is no result of fio, but {result} is; expected results alone, which are compared with the model, or jobs \
         alone, which are run"
    )))
}

fn is_result(files: &Files, name: &str) -> bool {
    let is_fio_output = |file: &str| {
        !files.is_trace(file) && files.text(file).is_ok_and(|text| FileKind::of(&text) == Some(FileKind::FioOutput))
    };
    is_fio_output(name) || (name.contains(',') && is_fio_output(file_of(name)))
}

/// The file of a result with options after a comma.
fn file_of(name: &str) -> &str {
    name.split(',').next().unwrap_or(name)
}

/// Simulates the job of each measured result on each drive, and compares the figures.
///
/// ```
/// use seekwise::{Files, fio_output, measured, run, Setup};
///
/// // What fio would have measured.
/// let job = "[r]\nioengine=libaio\ndirect=1\nfilename=/dev/sdx\nrw=randread\nbs=4k\ntime_based\nruntime=20\n";
/// let files = Files::default().with_text("r.fio", job);
/// let run = run::run(&Setup::new("r.fio", "barracuda-7200.7-ncq").with_files(files), &())?;
/// let result = fio_output::write_fio_json(&run.prepared, &run.measured);
///
/// let mut results = measured::MeasuredResults::new(vec!["r.json".to_owned()], "barracuda-7200.7-ncq");
/// results.files = Files::default().with_text("r.json", &result);
/// let comparison = measured::compare_with_model(&results, &())?;
/// let side = &comparison.sides[0];
/// assert!(side.suspicions.is_empty() && side.summary.beyond_scatter == 0);
/// println!("{}", side.fit_command);
/// # Ok::<(), seekwise::Error>(())
/// ```
pub fn compare_with_model(results: &MeasuredResults, observer: &dyn Observer) -> Result<MeasuredComparison, Error> {
    let MeasuredResults { sides, files, .. } = results;
    let arguments: Vec<FileArgument> =
        results.results.iter().map(|text| FileArgument::parse(text)).collect::<Result<_, _>>()?;
    let names = arguments.iter().map(|argument| argument.file.as_str());
    reading::reject_second_standard_input(&names.chain(sides.iter().map(|side| &*side.drive)).collect::<Vec<_>>())?;
    let texts: Vec<String> = arguments.iter().map(|argument| files.read(&argument.file)).collect::<Result<_, _>>()?;
    for (argument, text) in arguments.iter().zip(&texts) {
        reading::expect_kind(&argument.file, text, &[FileKind::FioOutput])?;
    }
    observer.begin_work(Some(sides.len() as u64), 0, "drives");
    let mut predicted = Vec::new();
    for (index, side) in sides.iter().enumerate() {
        if observer.is_cancelled() {
            return Err(Error::cancelled());
        }
        let set = [&results.set[..], &side.set[..]].concat();
        let with_settings = add_settings(&arguments, &set)?;
        let text = drive_text(files, &side.drive)?;
        let drive = profile::parse(&side.drive, &text)?;
        let (data, warnings) = sources::parse_data(&with_settings, &texts, 0.0, &drive, &text)?;
        warn_once(drive.warnings().into_iter().chain(warnings));
        let jobs = predict_points(&points(data)?, &drive)?;
        let (summary, suspicions) = (summarize(&jobs), find_suspicions(&jobs));
        let fit_command = fit_command(&results.results, &set, &side.drive);
        predicted.push(PredictedSide {
            name: side.name.clone(),
            drive: side.drive.clone(),
            jobs,
            summary,
            suspicions,
            fit_command,
        });
        observer.report_done(index as u64 + 1);
    }
    Ok(MeasuredComparison { sides: predicted })
}

/// The measured jobs.
fn points(data: Vec<FitData>) -> Result<Vec<MeasuredPoint>, Error> {
    let of_jobs = |data: FitData| if let FitData::Points(points) = data { points } else { Vec::new() };
    let points: Vec<MeasuredPoint> = data.into_iter().flat_map(of_jobs).collect();
    match points.is_empty() {
        true => Err(Error::new("the results hold no figure that can be compared; expected jobs that read or wrote")),
        false => Ok(points),
    }
}

/// The profile of a drive, as a text.
fn drive_text(files: &Files, name: &str) -> Result<String, Error> {
    if let Some(text) = catalogue::find_text(name) {
        return Ok(text.to_owned());
    }
    let Some(text) = files.find(name)? else {
        let (place, _) = name.split_once(':').unwrap_or((name, ""));
        let is_place = name.contains(':') || name == "null";
        if is_place {
            let expected = "a modelled drive: measured results are compared with a model";
            return Err(Diagnostic::at(name, 0, format!("`{place}` is a place")).with_expected(expected).into());
        }
        return match catalogue::load_drive(name) {
            Err(faults) => Err(faults.into()),
            Ok(_) => Err(Error::new(format!("{name}: cannot be read"))),
        };
    };
    if FileKind::of(&text) == Some(FileKind::Stack) {
        let expected =
            "a drive or its profile; say the layers above it with --set, or after the file: FILE,driver=NAME";
        return Err(Diagnostic::at(name, 0, "is a stack").with_expected(expected).into());
    }
    reading::expect_kind(name, &text, &[FileKind::Profile])?;
    Ok(text)
}

/// The arguments with `set` added to the settings of each file.
fn add_settings(arguments: &[FileArgument], set: &[(String, String)]) -> Result<Vec<FileArgument>, Error> {
    reject_repeated_keys(set)?;
    let mut arguments = arguments.to_vec();
    for (key, value) in set {
        let is_option = key.contains('.') || ["driver", "controller"].contains(&key.as_str());
        if !is_option || is_real_key(key) || value.contains(',') {
            return Err(Error::new(format!(
                "--set {key}={value}: not possible with measured results; expected driver, controller, or a dotted key of the stack, \
                 and a value without a comma"
            )));
        }
        for argument in &mut arguments {
            if argument.set.iter().any(|(other, _)| other == key) {
                return Err(Error::new(format!("--set {key}={value}: {} sets `{key}` too", argument.file)));
            }
            argument.set.push((key.clone(), value.clone()));
        }
    }
    Ok(arguments)
}

/// The command that fits `drive` to the results.
fn fit_command(results: &[String], set: &[(String, String)], drive: &str) -> String {
    let options: String = set.iter().map(|(key, value)| format!(",{key}={value}")).collect();
    let data = results.iter().map(|result| quote_for_shell(&format!("{result}{options}")));
    // The names of some drives have dots, which are no ending.
    let file_name = drive.rsplit(['/', '\\']).next().unwrap_or(drive);
    let stem = file_name.strip_suffix(".toml").unwrap_or(file_name);
    let [out, page] = ["toml", "html"].map(|ending| quote_for_shell(&format!("{stem}-fitted.{ending}")));
    let data = data.collect::<Vec<_>>().join(" ");
    format!("seekwise fit {data} --drive {} -o {out} --page {page}", quote_for_shell(drive))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_of_the_fit_keeps_options_and_settings() {
        let results = ["a.json".to_owned(), "b c.json,cache=off".to_owned()];
        let set = [("driver".to_owned(), "linux-none".to_owned())];
        assert_eq!(
            fit_command(&results, &set, "barracuda-7200.7"),
            "seekwise fit a.json,driver=linux-none 'b c.json,cache=off,driver=linux-none' --drive barracuda-7200.7 -o \
             barracuda-7200.7-fitted.toml --page barracuda-7200.7-fitted.html"
        );
        assert!(fit_command(&results, &[], "dir/mine.toml").ends_with("-o mine-fitted.toml --page mine-fitted.html"));
    }

    #[test]
    fn the_nearest_is_named_unless_another_is_equally_near() {
        assert_eq!(nearest([0.2, 0.05, 0.3].into_iter()), Some(1));
        assert_eq!(nearest([0.05, 0.055].into_iter()), None);
        assert_eq!(nearest([0.4].into_iter()), Some(0));
    }

    #[test]
    fn results_are_known_by_their_contents_and_not_mixed_with_jobs() {
        let files = Files::default().with_text("a", "{\"fio version\": \"fio-3.33\"}").with_text("j", "[j]\nrw=read\n");
        let are = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            are_results(&files, &names).map_err(|why| why.to_string())
        };
        assert_eq!((are(&["a", "a,cache=off"]), are(&["j"]), are(&["random-read"])), (Ok(true), Ok(false), Ok(false)));
        for other in ["j", "random-read"] {
            let why = are(&[other, "a"]).unwrap_err();
            assert!(why.starts_with(&format!("{other}: is no result of fio, but a is; expected")), "{why}");
        }
        assert!(are(&["a", "missing.json"]).unwrap_err().starts_with("missing.json: cannot be read"));
    }
}
