//! `seekwise compare`: a job on two or more values of one key, on the same random numbers or in turn, and a verdict on
//! each metric asked for, with its cause.

mod against;
mod dry;
mod markdown;
mod picture;
mod values;

use std::collections::BTreeSet;
use std::slice::from_ref;

use seekwise_formats::metric::Metric;
use seekwise_formats::study::{Compare, Study};
use seekwise_lab::compose::{paired, ratio_text};
use seekwise_lab::finding::{Beside, Evidence, Finding};
use seekwise_lab::made::differences;
use seekwise_lab::plot::comparison;
use seekwise_lab::run::RunRecord;
use seekwise_lab::stats::{Interval, Judgement};
use seekwise_lab::study::Earlier;
use serde_json::{Value, json};

use super::study;
use super::{print, print_json, warn};
use crate::args::{self, Form};
use crate::bounds::Bounds;
use crate::exit::{Answer, Failure, Outcome};
use crate::interrupt;
use crate::output::{admit, quoted, say, write_picture};
use crate::planned::{self, Opened, Opening, Planned};
use crate::progress::Progress;
use crate::screen;
use crate::tables;
use crate::target;

/// Runs the command.
pub fn compare(args: &args::Compare, bounds: &Bounds, json: bool) -> Outcome {
    if let Some(drive) = &args.against {
        return against::against(args, drive, bounds, json);
    }
    let format = form(args.format, json)?;
    args.svg.as_deref().map(|path| admit(path, args.force)).transpose()?;
    if args.force && args.out.is_none() && args.svg.is_none() {
        return Err(Failure::new("--force: there is nothing to overwrite; expected --out or --svg as well"));
    }
    let vary = args.vary.as_ref().expect("without --against");
    let key = vary.0.as_str();
    let values = values::of(key, &vary.1)?;
    target::once(&[from_ref(vary), &args.on.set[..]].concat())?;
    if let Some(drive) = &args.dry_run {
        return dry::dry_run(args, key, &values, drive, json);
    }
    let text = study_text(args, key, &values)?;
    let (planned, records) = run(args, &text, bounds)?;
    let evidence = Evidence::new(&planned.study, &planned.made, &records);
    study::something(&evidence)?;
    let answer =
        Compared { key, values: &values, runs: args.runs, evidence: &evidence, findings: evidence.findings().0 };
    answer.check()?;
    let again = args.out.as_ref().map_or_else(|| command(args, vary), |out| study::again(out));
    if let Some(path) = &args.svg {
        write_picture(path, &comparison::svg(&answer.picture()))?;
    }
    match format {
        Form::Json => print_json(&answer.json()?)?,
        Form::Markdown => print(&answer.markdown(&command(args, vary)))?,
        Form::Text => {
            print(&screen::wrapped(&answer.text()?, screen::width()))?;
            say(format!("Again: {again}"));
        }
    }
    let refused = answer.findings.iter().any(|finding| finding.refused.is_some());
    Ok(if refused { Answer::No } else { Answer::Done })
}

/// The form that is asked for, by `--format` or by `--json`.
fn form(given: Option<Form>, json: bool) -> Result<Form, Failure> {
    match given {
        Some(form) if json && form != Form::Json => {
            Err(Failure::new("--json and --format conflict; expected one of them"))
        }
        Some(form) => Ok(form),
        None if json => Ok(Form::Json),
        None => Ok(Form::Text),
    }
}

/// Runs all sides, in the folder that is asked for or in one that goes away.
fn run(args: &args::Compare, text: &str, bounds: &Bounds) -> Result<(Planned, Vec<RunRecord>), Failure> {
    let kept;
    let folder = match &args.out {
        Some(out) => out.as_path(),
        None => {
            kept = interrupt::scratch()?;
            kept.path()
        }
    };
    let opening = Opening { folder, resume: false, force: args.force, bounds, threads: 0 };
    let opened = opening.open("command line", text, || Ok(planned::plan("command line", text.to_owned())?))?;
    let Opened { planned, results, done, threads } = opened;
    warn(&planned.made.warnings);
    if args.out.is_some() {
        study::keep(folder, &planned);
    }
    let progress = Progress::of(study::runs(&planned), "runs");
    let records = study::run(&planned, &Earlier::default(), results, done, threads, &progress)?;
    drop(progress);
    if args.out.is_some() {
        study::write_report(&planned.study, &planned.made, &records, folder)?;
    }
    Ok((planned, records))
}

/// What came out. Cell n of the study is the n-th value.
struct Compared<'a> {
    key: &'a str,
    values: &'a [String],
    runs: u32,
    evidence: &'a Evidence<'a>,
    /// For each metric, each value but the first against the first.
    findings: Vec<Finding>,
}

impl Compared<'_> {
    fn metric(&self, finding: &Finding) -> &Metric {
        self.evidence.study.compare[finding.compare].metric()
    }

    fn metrics(&self) -> Vec<&Metric> {
        let compares = &self.evidence.study.compare;
        compares.iter().step_by(self.values.len() - 1).map(Compare::metric).collect()
    }

    /// Whether every metric has a value on every side.
    fn check(&self) -> Result<(), Failure> {
        for metric in self.metrics() {
            let missing = (0..self.values.len()).find(|cell| self.evidence.mean_of(*cell, metric).is_none());
            if let Some(cell) = missing {
                let side = format!("{}={}", self.key, self.values[cell]);
                return Err(Failure::new(format!("--metric {metric}: a run with {side} has no value")));
            }
        }
        let unjudged = self.findings.iter().find(|finding| finding.judgement.is_none());
        match unjudged {
            Some(finding) => Err(Failure::new(format!(
                "--metric {}: a run has the value 0, so that there is no ratio",
                self.metric(finding)
            ))),
            None => Ok(()),
        }
    }

    fn side(&self, cell: usize) -> String {
        format!("{}={}", self.key, self.values[cell])
    }

    fn differs(&self, finding: &Finding) -> Vec<String> {
        differences(self.evidence.made.settings(finding.from), self.evidence.made.settings(finding.to))
    }

    fn mean_of(&self, cell: usize, metric: &Metric) -> Interval {
        self.evidence.mean_of(cell, metric).expect("checked before")
    }

    /// All in one value. The keys of the first comparison stand at the top too.
    fn json(&self) -> Result<Value, Failure> {
        let interval = |it: Interval| json!({"estimate": it.estimate, "low": it.low, "high": it.high});
        let side = |cell: usize| {
            let iops = self.evidence.mean(cell, |run| run.all.iops);
            let mean = self.evidence.mean(cell, |run| run.all.mean_ms());
            let metrics = self.metrics().into_iter();
            let metrics: serde_json::Map<String, Value> =
                metrics.map(|metric| (metric.to_string(), interval(self.mean_of(cell, metric)))).collect();
            json!({"name": self.side(cell), "iops": interval(iops), "metrics": metrics,
                   "response_ms": {"mean": mean.estimate, "low": mean.low, "high": mean.high}})
        };
        let comparison = |finding: &Finding| {
            let judgement = judged(finding);
            let metric = self.metric(finding);
            let verdict =
                finding.refused.as_ref().map_or_else(|| judgement.verdict.to_string(), |_| "refused".to_owned());
            json!({
                "metric": metric.to_string(), "title": metric.title(),
                "unit": metric.unit(), "better": metric.better(),
                "from": self.side(finding.from), "to": self.side(finding.to),
                "ratio": interval(judgement.ratio), "verdict": verdict, "refused": finding.refused,
                "p": judgement.p, "p_adjusted": judgement.p_holm,
                "cause": finding.cause,
                "beside": finding.beside.iter().map(beside).collect::<Vec<_>>(),
                "too_few_requests": finding.thin,
                "differs": self.differs(finding),
            })
        };
        let comparisons: Vec<Value> = self.findings.iter().map(comparison).collect();
        let mut value = comparisons.first().cloned().unwrap_or_default();
        value["sides"] = (0..self.values.len()).map(side).collect();
        value["runs"] = self.runs.into();
        let doubts = self.doubts();
        if !doubts.is_empty() {
            value["doubts"] = doubts.into();
        }
        value["comparisons"] = comparisons.into();
        Ok(value)
    }

    fn text(&self) -> Result<String, Failure> {
        let mut text = String::new();
        let many = self.values.len() > 2 || self.metrics().len() > 1;
        for metric in self.metrics() {
            text.push_str(&format!("Judged: {} ({metric}); {} is better.\n", metric.title(), metric.better()));
            match many {
                true => text.push_str(&self.table(metric)),
                false => self.sides(metric).iter().for_each(|line| text.push_str(&format!("{line}\n"))),
            }
            text.push('\n');
            for finding in self.findings.iter().filter(|finding| self.metric(finding) == metric) {
                text.push_str(&self.answer(finding));
            }
            text.push('\n');
        }
        self.doubts().iter().for_each(|doubt| text.push_str(&format!("{doubt}\n")));
        text.push_str(&format!("{} runs a side, paired {}; 95 % interval", self.runs, paired(self.evidence.made)));
        if self.findings.len() > 1 {
            text.push_str(&format!("; verdicts corrected for {} comparisons (Holm)", self.findings.len()));
        }
        text.push('.');
        let differs = self.findings.first().map_or(Vec::new(), |finding| self.differs(finding));
        if differs.len() > 1 {
            text.push_str(&format!("\nThe sides differ in: {}", differs.join(", ")));
        }
        Ok(text)
    }

    /// What measured runs say of themselves, in how many of a side's.
    fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        for cell in 0..self.values.len() {
            let runs = self.evidence.runs(cell);
            let known = &self.evidence.made.warnings;
            let own = |run: &&RunRecord| run.is_measured().then(|| run.warnings.clone()).into_iter().flatten();
            // Figures differ from run to run; what is said before them does not.
            let kind = |warning: String| warning.split(": ").next().unwrap_or_default().to_owned();
            let said: Vec<BTreeSet<String>> =
                runs.iter().map(|run| own(run).filter(|it| !known.contains(it)).map(kind).collect()).collect();
            for doubt in said.iter().flatten().collect::<BTreeSet<_>>() {
                let count = said.iter().filter(|run| run.contains(doubt)).count();
                doubts.push(format!("Note: {}: {doubt}, in {count} of {} runs.", self.side(cell), runs.len()));
            }
        }
        doubts
    }

    /// A line for each side; the mean response beside it, where it is not what is judged.
    fn sides(&self, metric: &Metric) -> Vec<String> {
        let width = (0..self.values.len()).map(|cell| self.side(cell).chars().count()).max().unwrap_or(0);
        let line = |cell: usize| {
            let mean = self.evidence.mean(cell, |run| run.all.mean_ms()).estimate;
            let beside = if *metric == Metric::default() { format!("   mean {mean:.3} ms") } else { String::new() };
            format!("{:<width$}  {}{beside}", self.side(cell), figure(metric, self.mean_of(cell, metric)))
        };
        (0..self.values.len()).map(line).collect()
    }

    /// A row for each value, with its ratio to the first and what that means.
    fn table(&self, metric: &Metric) -> String {
        let mut table = tables::table([self.key, unit(metric), "against the first", "verdict"]);
        for (cell, value) in self.values.iter().enumerate() {
            let (ratio, verdict) = self.against(cell, metric);
            table.add_row([value.clone(), amount(metric, self.mean_of(cell, metric)), ratio, verdict]);
        }
        format!("{table}\n")
    }

    /// The ratio of a side to the first, and what that means.
    fn against(&self, cell: usize, metric: &Metric) -> (String, String) {
        let of = |finding: &&Finding| finding.to == cell && self.metric(finding) == metric;
        match self.findings.iter().find(of) {
            None => ("the base".to_owned(), String::new()),
            Some(finding) if finding.refused.is_some() => ("–".to_owned(), "refused".to_owned()),
            Some(finding) => (ratio_text(judged(finding)), judged(finding).verdict.to_string()),
        }
    }

    /// One comparison in words: the verdict, why, and what went the other way.
    fn answer(&self, finding: &Finding) -> String {
        let mut text = format!("{}\n", self.headline(finding));
        if finding.refused.is_some() {
            return text;
        }
        if let Some(cause) = &finding.cause {
            text.push_str(&format!("  Why: {}\n", cause.text()));
        }
        for beside in &finding.beside {
            text.push_str(&format!("  But: {}\n", beside.text()));
        }
        if finding.thin {
            text.push_str("  Note: a run has fewer requests than this percentile needs (docs/statistics.md, Flags)\n");
        }
        text
    }
}

fn judged(finding: &Finding) -> &Judgement {
    finding.judgement.as_ref().expect("checked before")
}

fn beside(beside: &Beside) -> Value {
    let Interval { estimate, low, high } = beside.ratio;
    json!({"metric": beside.metric.to_string(), "ratio": {"estimate": estimate, "low": low, "high": high},
           "worse": beside.worse, "text": beside.text()})
}

/// A figure with how far its interval reaches; bytes as megabytes.
fn amount(metric: &Metric, figure: Interval) -> String {
    let Interval { estimate, low, high } = scaled(metric, figure);
    let places = match metric.unit() {
        "bytes/s" => 2,
        "ms" => 3,
        _ => 1,
    };
    format!("{estimate:.places$} ± {:.places$}", (high - low) / 2.0)
}

/// A figure in the unit in which it is printed.
fn scaled(metric: &Metric, Interval { estimate, low, high }: Interval) -> Interval {
    let scale = if metric.unit() == "bytes/s" { 1e6 } else { 1.0 };
    Interval { estimate: estimate / scale, low: low / scale, high: high / scale }
}

fn figure(metric: &Metric, interval: Interval) -> String {
    format!("{} {}", amount(metric, interval), unit(metric))
}

/// The unit as printed: bytes as megabytes.
fn unit(metric: &Metric) -> &'static str {
    if metric.unit() == "bytes/s" { "MB/s" } else { metric.unit() }
}

/// The comparison as a study: it is run, kept and reported as one.
fn study_text(args: &args::Compare, key: &str, values: &[String]) -> Result<String, Failure> {
    let text = |value: &str| toml::Value::String(value.to_owned());
    let factor = toml::Table::from_iter([
        ("name".to_owned(), text(key)),
        ("key".to_owned(), text(key)),
        ("levels".to_owned(), toml::Value::Array(values.iter().map(|value| text(value)).collect())),
    ]);
    let base = values[0].as_str();
    // Without a metric the study says which: of scenes another than of jobs.
    let mut metrics: Vec<Option<&Metric>> = Vec::new();
    for metric in &args.metric {
        if !metrics.contains(&Some(metric)) {
            metrics.push(Some(metric));
        }
    }
    if metrics.is_empty() {
        metrics.push(None);
    }
    let compare = |metric: Option<&Metric>, value: &str| {
        let what = metric.filter(|metric| **metric != Metric::default()).map_or(String::new(), |it| format!(": {it}"));
        let mut compare = toml::Table::from_iter([
            ("name".to_owned(), text(&format!("{key} from {base} to {value}{what}"))),
            ("factor".to_owned(), text(key)),
            ("from".to_owned(), text(base)),
            ("to".to_owned(), text(value)),
            ("headline".to_owned(), toml::Value::Boolean(true)),
        ]);
        compare.extend(metric.map(|metric| ("metric".to_owned(), text(&metric.to_string()))));
        toml::Value::Table(compare)
    };
    let compares = metrics.iter().flat_map(|metric| values[1..].iter().map(|value| compare(*metric, value))).collect();
    let job = target::title(&args.job, &args.on);
    let question = match values {
        [base, other] => {
            format!("Is {job} faster with {key} = {other} than with {key} = {base}?")
        }
        _ => format!("With which {key} is {job} fastest?"),
    };
    let study = [
        ("factor".to_owned(), toml::Value::Array(vec![toml::Value::Table(factor)])),
        ("compare".to_owned(), toml::Value::Array(compares)),
    ];
    let text = target::study(&args.job, &args.on, question, args.runs, study)?;
    toml::from_str::<Study>(&text).map_err(|error| Failure::new(error.message()))?;
    Ok(text)
}

fn command(args: &args::Compare, vary: &(String, String)) -> String {
    let metrics: Vec<String> = args.metric.iter().map(|metric| format!(" --metric '{metric}'")).collect();
    let vary = quoted(&format!("{}={}", vary.0, vary.1));
    let words = target::words(&args.job, &args.on);
    format!("seekwise compare {words} --vary {vary}{} --runs {} --seed {}", metrics.concat(), args.runs, args.on.seed)
}
