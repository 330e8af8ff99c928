//! Metrics of comparisons: one figure of a run, named by a word such as `iops`, `read.p99` or `job:log.mean`, and whether
//! more or less is better. `lab/finding` looks up the value in a run.
//!
//! ```text
//! metric = [scope "."] figure          scope  = "all" | "read" | "write" | "flush" | "commit" | "job:" NAME | "operations." NAME
//!        | whole                          figure = "iops" | "bytes_per_s" | "mean" | "p50" | "p90" | "p95" | … | "max"
//!                                         | "since_due" | "since_due.p50" | … | "since_due.max"
//! whole  = "cpu" | "ios_per_cpu_second" | "wall_ns" | "processor_ns" | "elapsed" | "array.read_per_byte_written"
//!        | "array.written_per_byte_written" | "array.sync_mb_per_s"
//! ```
//! `all` means reads and writes together. A job is a section of a fio file, an Iometer worker or a program of a scene, by its
//! name; operations are those of a program (`operations.copy.per_s`). `flush`, `commit`, `job:NAME` and `operations.NAME`
//! alone mean the mean response time. The keys of `seekwise run --json` (`read.response_ms.p99_9`) are accepted
//! too.

use std::fmt;
use std::str::FromStr;

use crate::limits::{self, terms};
use crate::spelling::nearest;

/// A metric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metric {
    /// The requests that count.
    pub whose: MetricScope,
    /// The figure of these requests.
    pub figure: Statistic,
}

/// The default metric of jobs.
pub static IOPS: Metric = Metric { whose: MetricScope::All, figure: Iops };

/// The requests that a metric covers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MetricScope {
    /// Reads and writes.
    #[default]
    All,
    Read,
    Write,
    /// Flushes.
    Flush,
    /// Commits: a write, or several, and the sync that makes them durable.
    Commit,
    /// Reads and writes of the workers or the program with this name.
    Job(String),
    /// Operations of the program with this name.
    Operations(String),
}

/// A figure; the last eight are of the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Statistic {
    /// Requests a second; more is better.
    #[default]
    Iops,
    /// Bytes a second; more is better.
    BytesPerS,
    /// Mean response time; less is better, as for the next seven.
    Mean,
    /// Median response time.
    P50,
    /// 90th percentile.
    P90,
    /// 95th percentile.
    P95,
    /// 99th percentile.
    P99,
    /// 99.9th percentile.
    P999,
    /// 99.99th percentile.
    P9999,
    /// Maximum.
    Max,
    /// Mean time from when a request was due, by a rate or a trace, to its completion; less is better, as for the next
    /// seven.
    SinceDue,
    /// Median time since requests were due.
    SinceDueP50,
    /// 90th percentile.
    SinceDueP90,
    /// 95th percentile.
    SinceDueP95,
    /// 99th percentile.
    SinceDueP99,
    /// 99.9th percentile.
    SinceDueP999,
    /// 99.99th percentile.
    SinceDueP9999,
    /// Maximum.
    SinceDueMax,
    /// Processor utilization in percent; less is better.
    Cpu,
    /// Reads and writes per core-second; more is better.
    IosPerCpuSecond,
    /// Wall time of this machine per request, for measured runs; less is better.
    WallNs,
    /// Processor time of this machine per request; less is better.
    ProcessorNs,
    /// Elapsed time of the run; less is better.
    Elapsed,
    /// Bytes that an array's members read before writes, for each byte written; less is better.
    ReadPerByteWritten,
    /// Bytes that an array's members wrote for each byte written; less is better.
    WrittenPerByteWritten,
    /// Megabytes a second of a member that a rebuild writes or a check reads; more is better.
    SyncMbPerS,
}

use Statistic::*;

/// All figures: the word, the title, and the unit.
const FIGURES: [(Statistic, &str, &str, &str); 26] = [
    (Iops, "iops", "requests per second", "requests/s"),
    (BytesPerS, "bytes_per_s", "bytes per second", "bytes/s"),
    (Mean, "mean", "mean response time", "ms"),
    (P50, "p50", "median response time", "ms"),
    (P90, "p90", "p90 of the response time", "ms"),
    (P95, "p95", "p95 of the response time", "ms"),
    (P99, "p99", "p99 of the response time", "ms"),
    (P999, "p99.9", "p99.9 of the response time", "ms"),
    (P9999, "p99.99", "p99.99 of the response time", "ms"),
    (Max, "max", "longest response time", "ms"),
    (SinceDue, "since_due", "mean response time since requests were due", "ms"),
    (SinceDueP50, "since_due.p50", "median response time since requests were due", "ms"),
    (SinceDueP90, "since_due.p90", "p90 of the response time since requests were due", "ms"),
    (SinceDueP95, "since_due.p95", "p95 of the response time since requests were due", "ms"),
    (SinceDueP99, "since_due.p99", "p99 of the response time since requests were due", "ms"),
    (SinceDueP999, "since_due.p99.9", "p99.9 of the response time since requests were due", "ms"),
    (SinceDueP9999, "since_due.p99.99", "p99.99 of the response time since requests were due", "ms"),
    (SinceDueMax, "since_due.max", "longest response time since requests were due", "ms"),
    (Cpu, "cpu", "processor use", "% of the processor"),
    (IosPerCpuSecond, "ios_per_cpu_second", "requests per core-second", "requests/core-second"),
    (WallNs, "wall_ns", "time of this machine per request", "ns"),
    (ProcessorNs, "processor_ns", "processor time of this machine per request", "ns"),
    (Elapsed, "elapsed", "time of the whole run", "s"),
    (
        ReadPerByteWritten,
        "array.read_per_byte_written",
        "bytes that the members read before writes, for each byte written",
        "bytes/byte",
    ),
    (
        WrittenPerByteWritten,
        "array.written_per_byte_written",
        "bytes that the members wrote, for each byte written",
        "bytes/byte",
    ),
    (SyncMbPerS, "array.sync_mb_per_s", "rate of the rebuild or check on each member", "MB/s"),
];

/// Other words for figures: those of older studies, common ones, and those of `seekwise run --json`.
const ALIASES: [(&str, Statistic); 52] = [
    ("requests/s", Iops),
    ("per_s", Iops),
    ("rate", Iops),
    ("throughput", BytesPerS),
    ("bandwidth", BytesPerS),
    ("bw", BytesPerS),
    ("latency", Mean),
    ("lat", Mean),
    ("response time", Mean),
    ("average", Mean),
    ("avg", Mean),
    ("median", P50),
    ("p999", P999),
    ("p9999", P9999),
    ("maximum", Max),
    ("worst", Max),
    ("time", Elapsed),
    ("duration", Elapsed),
    ("runtime", Elapsed),
    ("MB/s", BytesPerS),
    ("mb_per_s", BytesPerS),
    ("response", Mean),
    ("response_ms", Mean),
    ("response_ms.mean", Mean),
    ("response_ms.p50", P50),
    ("response_ms.p90", P90),
    ("response_ms.p95", P95),
    ("response_ms.p99", P99),
    ("response_ms.p99_9", P999),
    ("response_ms.p99_99", P9999),
    ("response_ms.max", Max),
    ("since_due.mean", SinceDue),
    ("since_due_ms", SinceDue),
    ("since_due_ms.mean", SinceDue),
    ("since_due_ms.p50", SinceDueP50),
    ("since_due_ms.p90", SinceDueP90),
    ("since_due_ms.p95", SinceDueP95),
    ("since_due_ms.p99", SinceDueP99),
    ("since_due_ms.p99_9", SinceDueP999),
    ("since_due_ms.p99_99", SinceDueP9999),
    ("since_due_ms.max", SinceDueMax),
    ("p99_9", P999),
    ("p99_99", P9999),
    ("elapsed_s", Elapsed),
    ("cpu.percent", Cpu),
    ("cpu.ios_per_cpu_second", IosPerCpuSecond),
    ("cost.wall_ns", WallNs),
    ("cost.processor_ns", ProcessorNs),
    ("members.read_per_byte", ReadPerByteWritten),
    ("members.written_per_byte", WrittenPerByteWritten),
    ("write amplification", WrittenPerByteWritten),
    ("drive.syncs.mb_per_s", SyncMbPerS),
];

/// The metrics that an error offers.
const EXPECTED: &str = "iops, bytes_per_s (MB/s), mean, p50, p90, p95, p99, p99.9, p99.99, max, of paced jobs since_due, \
                        since_due.p99, …, alone or behind `read.`, `write.`, `flush.`, `commit.`, `job:NAME.` or `operations.NAME.` \
                        (per_s, mean, …); cpu, ios_per_cpu_second, elapsed; of arrays array.read_per_byte_written, \
                        array.written_per_byte_written, array.sync_mb_per_s; where runs are measured, wall_ns, processor_ns";

impl Statistic {
    /// The word that names it.
    pub fn word(self) -> &'static str {
        FIGURES[self as usize].1
    }

    /// The unit.
    pub fn unit(self) -> &'static str {
        FIGURES[self as usize].3
    }

    /// True if more is better.
    pub fn higher_is_better(self) -> bool {
        matches!(self, Iops | BytesPerS | IosPerCpuSecond | SyncMbPerS)
    }

    /// The word of the corresponding figure of the response time (`p99`), if this is a figure since requests were due
    /// (`since_due.p99`).
    pub fn response_word_of_since_due(self) -> Option<&'static str> {
        let after_word = self.word().strip_prefix("since_due")?;
        Some(after_word.strip_prefix('.').unwrap_or("mean"))
    }

    /// True if the figure is of the whole run.
    fn is_of_whole_run(self) -> bool {
        matches!(
            self,
            Cpu | IosPerCpuSecond
                | WallNs
                | ProcessorNs
                | Elapsed
                | ReadPerByteWritten
                | WrittenPerByteWritten
                | SyncMbPerS
        )
    }

    fn from_word(word: &str) -> Option<Statistic> {
        let by_word =
            FIGURES.iter().find(|(_, known, ..)| known.eq_ignore_ascii_case(word)).map(|(figure, ..)| *figure);
        by_word
            .or_else(|| ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(word)).map(|(_, figure)| *figure))
    }
}

impl MetricScope {
    /// The name in reports: `reads`, `job log`; empty for all.
    fn label(&self) -> Option<String> {
        match self {
            MetricScope::All => None,
            MetricScope::Read => Some("reads".to_owned()),
            MetricScope::Write => Some("writes".to_owned()),
            MetricScope::Flush => Some("flushes".to_owned()),
            MetricScope::Commit => Some("commits".to_owned()),
            MetricScope::Job(name) => Some(format!("job {name}")),
            MetricScope::Operations(name) => Some(format!("the operations of {name}")),
        }
    }
}

impl Metric {
    /// A figure of reads and writes together.
    pub fn of_all(figure: Statistic) -> Metric {
        Metric { whose: MetricScope::All, figure }
    }

    /// The rate of flushes.
    pub fn flushes_per_second() -> Metric {
        Metric { whose: MetricScope::Flush, figure: Iops }
    }

    /// The rate of commits.
    pub fn commits_per_second() -> Metric {
        Metric { whose: MetricScope::Commit, figure: Iops }
    }

    /// The title in reports: `p99 of the response time of reads`.
    pub fn title(&self) -> String {
        match (&self.whose, self.figure) {
            (MetricScope::Operations(name), Iops) => return format!("operations per second of {name}"),
            (MetricScope::Flush, Iops) => return "flushes per second".to_owned(),
            (MetricScope::Commit, Iops) => return "commits per second".to_owned(),
            _ => {}
        }
        let title = FIGURES[self.figure as usize].2;
        self.whose.label().map_or(title.to_owned(), |whose| format!("{title} of {whose}"))
    }

    /// The unit of its values.
    pub fn unit(&self) -> &'static str {
        match (&self.whose, self.figure) {
            (MetricScope::Operations(_), Iops) => "operations/s",
            (MetricScope::Flush, Iops) => "flushes/s",
            (MetricScope::Commit, Iops) => "commits/s",
            (_, figure) => figure.unit(),
        }
    }

    /// The key in the record of a run; `None` for a job, whose position depends on the run.
    pub fn record_key(&self) -> Option<String> {
        let whose = match &self.whose {
            MetricScope::All => "all",
            MetricScope::Read => "read",
            MetricScope::Write => "write",
            MetricScope::Flush => "flush",
            MetricScope::Commit => "commit",
            MetricScope::Job(_) => return None,
            MetricScope::Operations(name) if self.figure == Iops => return Some(format!("operations.{name}.per_s")),
            MetricScope::Operations(name) => &format!("operations.{name}"),
        };
        Some(match self.figure {
            Iops | BytesPerS => format!("{whose}.{}", self.figure.word()),
            Elapsed => "elapsed_s".to_owned(),
            Cpu => "cpu.percent".to_owned(),
            IosPerCpuSecond => "cpu.ios_per_cpu_second".to_owned(),
            WallNs | ProcessorNs => format!("cost.{}", self.figure.word()),
            ReadPerByteWritten | WrittenPerByteWritten => self.figure.word().to_owned(),
            SyncMbPerS => "drive.syncs.mb_per_s".to_owned(),
            figure => match figure.response_word_of_since_due() {
                Some(word) => format!("{whose}.since_due_ms.{}", word.replace('.', "_")),
                None => format!("{whose}.response_ms.{}", figure.word().replace('.', "_")),
            },
        })
    }

    /// `higher` or `lower`.
    pub fn better_direction(&self) -> &'static str {
        if self.figure.higher_is_better() { "higher" } else { "lower" }
    }

    /// All words without a job's name, for suggestions.
    fn suggestions() -> impl Iterator<Item = String> {
        let scopes = ["", "all.", "read.", "write.", "flush.", "commit."];
        let figures = || FIGURES.iter().map(|(figure, word, ..)| (*figure, *word));
        let words = scopes.into_iter().flat_map(move |scope| {
            let allowed = figures().filter(move |(figure, _)| scope.is_empty() || !figure.is_of_whole_run());
            allowed.map(move |(_, word)| format!("{scope}{word}"))
        });
        words.chain(ALIASES.iter().map(|(alias, _)| (*alias).to_owned())).chain(["flush", "commit"].map(str::to_owned))
    }

    fn explain_unknown(word: &str) -> String {
        if let Some(limit) = limits::explain_limit(word) {
            return format!("unknown metric `{word}`: {limit}");
        }
        if let Some(term) = terms::find(word) {
            let expected = terms::one_of(term.metrics).unwrap_or_else(|| EXPECTED.to_owned());
            return format!("unknown metric `{word}`: {}; expected {expected}", term.says);
        }
        let words: Vec<String> = Metric::suggestions().collect();
        let near = nearest(word, words.iter().map(String::as_str));
        let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        format!("unknown metric `{word}`; expected {EXPECTED}{near}")
    }
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(word: &str) -> Result<Metric, String> {
        let word = word.trim();
        if let Some(program) = word.strip_prefix("operations.") {
            return parse_program_metric(program).ok_or_else(|| Metric::explain_unknown(word));
        }
        if let Some(figure) = Statistic::from_word(word) {
            return Ok(Metric::of_all(figure));
        }
        if let Some(job) = word.strip_prefix("job:") {
            return parse_job_metric(job).ok_or_else(|| Metric::explain_unknown(word));
        }
        match word {
            "flush" => return Ok(Metric { whose: MetricScope::Flush, figure: Mean }),
            "commit" => return Ok(Metric { whose: MetricScope::Commit, figure: Mean }),
            _ => {}
        }
        let (whose, rest) = word.split_once('.').ok_or_else(|| Metric::explain_unknown(word))?;
        let whose = match whose {
            "all" => MetricScope::All,
            "read" | "reads" => MetricScope::Read,
            "write" | "writes" => MetricScope::Write,
            "flush" | "flushes" => MetricScope::Flush,
            "commit" | "commits" => MetricScope::Commit,
            _ => return Err(Metric::explain_unknown(word)),
        };
        let figure = Statistic::from_word(rest).filter(|figure| !figure.is_of_whole_run());
        let metric = figure.map(|figure| Metric { whose, figure }).ok_or_else(|| Metric::explain_unknown(word))?;
        match metric {
            Metric { whose: MetricScope::Flush, figure: BytesPerS } => Err(format!("`{word}`: flushes have no bytes")),
            Metric { whose: MetricScope::Flush, figure } if figure.response_word_of_since_due().is_some() => Err(
                format!("`{word}`: a flush has no due time of its own; it is due when the requests before it are done"),
            ),
            Metric { whose: MetricScope::Commit, figure } if figure.response_word_of_since_due().is_some() => {
                Err(format!(
                    "`{word}`: a commit has no due time of its own; its time begins when its first write is issued"
                ))
            }
            metric => Ok(metric),
        }
    }
}

/// Parses `NAME.figure`, or a name alone. Names may contain dots, so the longest figure at the end counts.
fn parse_job_metric(text: &str) -> Option<Metric> {
    let ends = text.match_indices('.').map(|(at, _)| at);
    let found = ends.filter_map(|at| Some((&text[..at], Statistic::from_word(&text[at + 1..])?))).next();
    let (name, figure) = found.unwrap_or((text, Mean));
    let whose = MetricScope::Job(name.to_owned());
    (!name.is_empty() && !figure.is_of_whole_run()).then_some(Metric { whose, figure })
}

/// Parses `NAME.figure` of a program's operations, or a name alone.
fn parse_program_metric(text: &str) -> Option<Metric> {
    let Metric { whose, figure } = match text.strip_suffix(".per_s") {
        Some(name) => Metric { whose: MetricScope::Job(name.to_owned()), figure: Iops },
        None => parse_job_metric(text)?,
    };
    let MetricScope::Job(name) = whose else { return None };
    (!name.is_empty() && figure != BytesPerS && figure.response_word_of_since_due().is_none())
        .then_some(Metric { whose: MetricScope::Operations(name), figure })
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.whose {
            MetricScope::All => f.write_str(self.figure.word()),
            MetricScope::Read => write!(f, "read.{}", self.figure.word()),
            MetricScope::Write => write!(f, "write.{}", self.figure.word()),
            MetricScope::Flush => write!(f, "flush.{}", self.figure.word()),
            MetricScope::Commit => write!(f, "commit.{}", self.figure.word()),
            MetricScope::Job(name) => write!(f, "job:{name}.{}", self.figure.word()),
            MetricScope::Operations(name) if self.figure == Iops => write!(f, "operations.{name}.per_s"),
            MetricScope::Operations(name) => write!(f, "operations.{name}.{}", self.figure.word()),
        }
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Metric {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Metric, D::Error> {
        <String as serde::Deserialize>::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Metric {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_figure_stands_at_its_place() {
        for (index, (figure, word, ..)) in FIGURES.into_iter().enumerate() {
            assert_eq!((figure as usize, Statistic::from_word(word)), (index, Some(figure)), "{word}");
        }
    }

    #[test]
    fn words_read_and_print_alike() {
        for word in [
            "iops",
            "p99.9",
            "p95",
            "read.since_due.p95",
            "since_due",
            "read.since_due.p99.9",
            "job:a.b.since_due.max",
            "read.p99",
            "write.max",
            "flush.mean",
            "commit.p99",
            "commit.bytes_per_s",
            "job:a.b.p99.99",
            "cpu",
            "elapsed",
            "read.bytes_per_s",
            "operations.copy.per_s",
            "operations.copy.p99",
            "array.read_per_byte_written",
        ] {
            assert_eq!(word.parse::<Metric>().map(|metric| metric.to_string()), Ok(word.to_owned()));
        }
        for (word, expected) in [
            ("response_ms", "mean"),
            ("IOPS", "iops"),
            ("latency", "mean"),
            ("write.latency", "write.mean"),
            ("median", "p50"),
            ("read.avg", "read.mean"),
            ("p999", "p99.9"),
            ("P95", "p95"),
            ("throughput", "bytes_per_s"),
            ("read.bandwidth", "read.bytes_per_s"),
            ("MB/s", "bytes_per_s"),
            ("read.response_ms.p99_9", "read.p99.9"),
            ("all.iops", "iops"),
            ("read.since_due_ms.p99_9", "read.since_due.p99.9"),
            ("flush", "flush.mean"),
            ("commit", "commit.mean"),
            ("commits.p50", "commit.p50"),
            ("commit.rate", "commit.iops"),
            ("commit.per_s", "commit.iops"),
            ("commit.response_ms.p99_9", "commit.p99.9"),
            ("job:log", "job:log.mean"),
            ("operations.copy", "operations.copy.mean"),
            ("elapsed_s", "elapsed"),
            ("job:log.response_ms.p99_9", "job:log.p99.9"),
            ("members.read_per_byte", "array.read_per_byte_written"),
            ("members.written_per_byte", "array.written_per_byte_written"),
        ] {
            assert_eq!(word.parse::<Metric>().map(|metric| metric.to_string()), Ok(expected.to_owned()));
        }
    }

    #[test]
    fn an_unknown_word_hears_the_nearest() {
        let refusal = |word: &str| word.parse::<Metric>().unwrap_err();
        assert!(refusal("iosp").ends_with("did you mean `iops`?"), "{}", refusal("iosp"));
        assert!(refusal("reed.p99").ends_with("did you mean `read.p99`?"), "{}", refusal("reed.p99"));
        assert!(refusal("read.cpu").starts_with("unknown metric `read.cpu`; expected iops, "));
        assert!(refusal("write.array.read_per_byte_written").starts_with("unknown metric"));
        assert!(refusal("flush.MB/s").contains("flushes have no bytes"));
        assert!(refusal("commit.since_due").contains("a commit has no due time of its own"));
        assert!(refusal("comit.p99").ends_with("did you mean `commit.p99`?"), "{}", refusal("comit.p99"));
        assert!(
            refusal("fsync").ends_with("expected one of commit, commit.p99, commit.iops, flush"),
            "{}",
            refusal("fsync")
        );
        assert!(refusal("smr").contains("shingled tracks and zoned drives are not modelled"), "{}", refusal("smr"));
        assert!(refusal("qd").contains("a job is how many requests it has in flight"), "{}", refusal("qd"));
        assert!(refusal("job:.p99").contains("unknown metric"));
        assert!(refusal("operations.copy.bytes_per_s").contains("unknown metric"));
    }

    #[test]
    fn a_metric_says_which_way_is_good() {
        let metric = |word: &str| word.parse::<Metric>().unwrap();
        assert_eq!(
            (
                metric("read.iops").better_direction(),
                metric("p99").better_direction(),
                metric("cpu").better_direction()
            ),
            ("higher", "lower", "lower")
        );
        assert_eq!(metric("read.p99").title(), "p99 of the response time of reads");
        assert_eq!(metric("job:log.mean").title(), "mean response time of job log");
        let bytes = metric("members.written_per_byte");
        assert_eq!(
            (bytes.record_key().as_deref(), bytes.better_direction()),
            (Some("array.written_per_byte_written"), "lower")
        );
        let rate = metric("commit.rate");
        assert_eq!(
            (&*rate.title(), rate.unit(), rate.better_direction()),
            ("commits per second", "commits/s", "higher")
        );
    }
}
