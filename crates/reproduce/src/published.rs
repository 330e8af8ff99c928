//! Published measurements of drives as cases (`published.toml`): each has a job, settings, and the measured figure, and is
//! simulated here. Whether the simulated figure is near enough is recorded in docs/published.md and held by the test
//! `published`.

use std::io;
use std::sync::Arc;

use seekwise_lab::inputs::{InputCache, Inputs};
use seekwise_lab::plan::{self, Cell};
use seekwise_lab::run::measure_run;
use seekwise_lab::stats::RequestKind;
use seekwise_lab::study::cell_record;
use serde::Deserialize;
use toml::value::Datetime;

/// Drives that somebody measured, and their published figures.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedList {
    pub drive: Vec<PublishedSet>,
    /// Each has a single figure, once parsed by [`parse_published`].
    pub case: Vec<PublishedCase>,
}

/// A measured drive: who measured it and how, and the figures that its profile was fitted to.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedSet {
    pub name: String,
    /// The source in some words.
    pub by: String,
    /// The fitted figures in some words; none if nothing was fitted.
    #[serde(default)]
    pub fitted: String,
    /// The tried figures in some words.
    pub tried: String,
    /// The source in full, and the conditions that are assumed.
    pub source: String,
}

/// A published figure, and the job that it is of.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedCase {
    /// Built in, or the stem of a profile in `validation/published`.
    pub drive: String,
    pub what: String,
    /// Lines of a fio job.
    pub job: String,
    #[serde(default)]
    pub set: Vec<String>,
    /// The figure is a ratio over the same job with these settings instead …
    pub over: Option<Vec<String>>,
    /// … or over this job.
    pub over_job: Option<String>,
    /// A rate or percentile of the reads, of writes where the job reads nothing or `write.` stands before it.
    pub figure: String,
    pub measured: f64,
    /// Percent.
    pub within: f64,
    pub role: CaseRole,
    /// The day of the first comparison with the model.
    pub since: Datetime,
    /// Whether it held on that day.
    pub held_first: bool,
    /// The reason of the tolerance.
    pub why: String,
    pub holds: bool,
    pub cause: Option<MissCause>,
    /// Why it does not hold.
    #[serde(default)]
    pub because: String,
    /// Other figures of the same run; empty once parsed.
    #[serde(default)]
    also: Vec<OtherFigure>,
}

/// Another figure of a case's run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OtherFigure {
    figure: String,
    measured: f64,
    within: f64,
    held_first: bool,
    holds: bool,
    cause: Option<MissCause>,
    #[serde(default)]
    because: String,
}

/// Whether a parameter of the profile was set on a figure.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum CaseRole {
    Fitted,
    Tried,
}

/// The probable cause of a miss: conditions that were not published, or a rule or figure of the model.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum MissCause {
    Place,
    Host,
    Queue,
    Destage,
    Stream,
    MediaCache,
    Transfer,
    Seek,
}

impl MissCause {
    /// All causes: conditions first.
    pub const ALL: [MissCause; 8] = [
        MissCause::Place,
        MissCause::Host,
        MissCause::Queue,
        MissCause::Destage,
        MissCause::Stream,
        MissCause::MediaCache,
        MissCause::Transfer,
        MissCause::Seek,
    ];

    /// Whether the source leaves out a condition that decides the figure; if not, the model is wrong.
    pub fn is_unpublished_condition(self) -> bool {
        matches!(self, MissCause::Place | MissCause::Host)
    }

    /// The cause in words.
    pub fn words(self) -> &'static str {
        match self {
            MissCause::Place => "size, place or fragmentation of the files on the platter",
            MissCause::Host => "the kernel, file system or controller above the drive",
            MissCause::Queue => "which of the waiting commands the drive serves next",
            MissCause::Destage => "when, and in which order, cached writes go to the platter",
            MissCause::Stream => "how long a drive stays with a sequential stream while other work waits",
            MissCause::MediaCache => "writes that a drive collects on a reserved part of the platter",
            MissCause::Transfer => "reads of 1 MiB and more",
            MissCause::Seek => "short seeks",
        }
    }
}

impl PublishedCase {
    /// Separates the figures of the case's run. Cause and reason of the case go to the figures that do not hold and have none of their
    /// own; if all hold, they stay with the first, as they should not be there.
    fn split_figures(mut self) -> Vec<PublishedCase> {
        let others = std::mem::take(&mut self.also);
        if others.is_empty() {
            return vec![self];
        }
        let name = |figure: &str| format!("{}: {}", self.what, figure_words(figure));
        let mut first = PublishedCase { what: name(&self.figure), ..self.clone() };
        if self.holds && others.iter().any(|other| !other.holds) {
            (first.cause, first.because) = (None, String::new());
        }
        let other_case = |other: OtherFigure| {
            let takes_reason = !other.holds && other.because.is_empty();
            PublishedCase {
                what: name(&other.figure),
                figure: other.figure,
                measured: other.measured,
                within: other.within,
                held_first: other.held_first,
                holds: other.holds,
                cause: if takes_reason { other.cause.or(self.cause) } else { other.cause },
                because: if takes_reason { self.because.clone() } else { other.because },
                ..self.clone()
            }
        };
        let others: Vec<_> = others.into_iter().map(other_case).collect();
        [vec![first], others].concat()
    }
}

/// The name of a figure for readers.
fn figure_words(figure: &str) -> &str {
    match figure {
        "iops" => "requests/s",
        "p50" => "median",
        other => other,
    }
}

/// Parses a list of cases, one for each figure.
pub fn parse_published(text: &str) -> Result<PublishedList, toml::de::Error> {
    let list: PublishedList = toml::from_str(text)?;
    let case = list.case.into_iter().flat_map(PublishedCase::split_figures).collect();
    Ok(PublishedList { drive: list.drive, case })
}

/// All cases of some built-in drives.
pub(crate) fn cases_of_drives(drives: &[String]) -> Vec<PublishedCase> {
    let list = parse_published(include_str!("../published.toml")).expect("the list is well formed");
    list.case.into_iter().filter(|case| drives.contains(&case.drive)).collect()
}

/// Reads the profile of a drive that is not built in, by its name.
type ReadProfile<'a> = &'a (dyn Fn(&str) -> io::Result<String> + Sync);

impl PublishedCase {
    /// Runs a job for a minute on the drive after a ramp of five seconds, without the host's layers; returns the case's figure.
    fn simulate_job(
        &self,
        job: &str,
        set: &[String],
        more_settings: &[(String, String)],
        read_profile: ReadProfile<'_>,
        cache: &Arc<InputCache>,
    ) -> Result<f64, String> {
        // Without a size the job has the whole drive.
        let job = if job.contains("size=") { job.to_owned() } else { format!("filename=/dev/sdx\n{job}") };
        let text = format!("[global]\nioengine=libaio\ndirect=1\nruntime=60\nramp_time=5\ntime_based\n[case]\n{job}\n");
        let pairs = set.iter().filter_map(|pair| pair.split_once('='));
        let mut settings = vec![("job".to_owned(), "case.fio".to_owned()), ("drive".to_owned(), self.drive.clone())];
        settings.extend(more_settings.iter().cloned());
        settings.extend(pairs.map(|(key, value)| (key.to_owned(), value.to_owned())));
        let cell = Cell { levels: Vec::new(), settings };
        let read = |name: &str| if name == "case.fio" { Ok(text.clone()) } else { read_profile(name) };
        let inputs = Inputs::from_today(&read).with_cache(Arc::clone(cache));
        let prepared = plan::prepare_cell("published", &cell, &inputs)
            .map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?;
        let measured = measure_run(&prepared.target, &prepared.job, 1, |_| {}).map_err(|error| error.to_string())?;
        let record = cell_record(&prepared, &measured, 1);
        let (figure, reads) = match self.figure.strip_prefix("write.") {
            Some(figure) => (figure, false),
            None => (self.figure.as_str(), record.read.ios > 0),
        };
        let view = if reads { &record.read } else { &record.write };
        let response_ms = |kind: RequestKind, share: f64| {
            let time = measured.run.kind_summary(kind).tally.responses().quantile(share);
            time.map(|time| time.nanos() as f64 / 1e6).ok_or_else(|| "no such request".to_owned())
        };
        match figure {
            "iops" => Ok(view.iops),
            "mib_s" => Ok(view.bytes_per_s / 1_048_576.0),
            "mb_s" => Ok(view.bytes_per_s / 1e6),
            "flush_p50" => response_ms(RequestKind::Flush, 0.5),
            percentile => {
                let percent = percentile.strip_prefix('p').and_then(|percent| percent.parse::<f64>().ok());
                let percent = percent.ok_or_else(|| format!("no figure `{percentile}`"))?;
                response_ms(if reads { RequestKind::Read } else { RequestKind::Write }, percent / 100.0)
            }
        }
    }

    /// Simulates the figure, or the ratio, with more settings of the stack. Cases may share a cache.
    pub fn simulate(
        &self,
        more_settings: &[(String, String)],
        read_profile: ReadProfile<'_>,
        cache: &Arc<InputCache>,
    ) -> Result<f64, String> {
        let figure = self.simulate_job(&self.job, &self.set, more_settings, read_profile, cache)?;
        let (job, set) = match (&self.over, &self.over_job) {
            (None, None) => return Ok(figure),
            (over, job) => (job.as_ref().unwrap_or(&self.job), over.as_ref().unwrap_or(&self.set)),
        };
        Ok(figure / self.simulate_job(job, set, more_settings, read_profile, cache)?)
    }

    /// How far a figure is from the measured one, in percent.
    pub fn deviation_percent(&self, simulated: f64) -> f64 {
        100.0 * (simulated / self.measured - 1.0)
    }

    /// Whether a figure is within the tolerance.
    pub fn is_within_tolerance(&self, simulated: f64) -> bool {
        self.deviation_percent(simulated).abs() <= self.within
    }

    /// Whether the simulated figure is within the tolerance with more settings of the stack, for a built-in drive.
    pub(crate) fn holds_with(
        &self,
        more_settings: &[(String, String)],
        cache: &Arc<InputCache>,
    ) -> Result<bool, String> {
        let absent = |_: &str| Err(io::ErrorKind::NotFound.into());
        self.simulate(more_settings, &absent, cache).map(|simulated| self.is_within_tolerance(simulated))
    }

    /// Whether the case sets a key itself.
    pub(crate) fn sets_key(&self, key: &str) -> bool {
        let pairs = self.set.iter().chain(self.over.iter().flatten());
        pairs.filter_map(|pair| pair.split_once('=')).any(|(set, _)| set == key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASE: &str = "drive = 'barracuda-7200.7-ncq'\nwhat = 'reads'\nfigure = 'iops'\nmeasured = 100\nwithin = 5\n\
        role = 'tried'\n\
        since = 2026-11-21\nheld_first = true\nwhy = 'none'\nholds = true\njob = \"rw=randread\\nbs=4k\\niodepth=32\"\n";

    #[test]
    fn more_settings_stand_below_those_of_a_case_on_both_sides_of_a_ratio() {
        let plain: PublishedCase = toml::from_str(CASE).unwrap();
        let set = PublishedCase { set: vec!["drive.firmware.depth=1".to_owned()], ..plain.clone() };
        let ratio = PublishedCase { over: Some(Vec::new()), ..plain.clone() };
        let more = |depth: &str| [("drive.firmware.depth".to_owned(), depth.to_owned())];
        let cache = Arc::default();
        let simulated = |case: &PublishedCase, more: &[(String, String)]| {
            case.simulate(more, &|_| Err(io::ErrorKind::NotFound.into()), &cache).unwrap()
        };
        let (deep, single) = (simulated(&plain, &[]), simulated(&set, &[]));
        assert!(deep > 1.2 * single, "a queue helps: {deep} and {single} requests/s");
        assert_eq!([simulated(&plain, &more("1")), simulated(&set, &more("32"))], [single; 2]);
        assert_eq!(simulated(&ratio, &more("1")), 1.0);
    }
}
