//! Results as one page that a stranger can read: the page's data as types, and the page that holds them.
//!
//! The page shows nothing but a [`Report`], which `compose` builds. `web/src/report.ts` mirrors these types field by field, and a test
//! compares the two. [`render_html`] puts a report into the built page `crates/lab/dist/report.html`. Nothing is computed here.
//!
//! Units are in the names: `_ms` milliseconds, `_s` seconds, `bytes_per_s` bytes a second (not KiB), `iops` requests a
//! second. A figure that is not a finite number becomes `null` in JSON and a dash on the page.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use seekwise_disk::record::Part;

use crate::finding::{CellCase, EffectLocation, RatioRange};
use crate::outcome::{DifferenceWords, Outcome};
use crate::run::{ArrayRecord, CpuRecord, MemberRecord};
use crate::stats::response::Response;

mod noscript;
mod page;
pub mod review;

pub use page::{render_html, write_html};

/// The place of the moving picture on the page: `report.html#arm`.
pub const ARM_PLACE: &str = "arm";

/// The answer to a question, with its evidence.
///
/// A single cell makes a plain run, two cells a comparison, many a study.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// A few words; the page's heading and the window's title.
    pub title: String,
    /// The question, as a sentence.
    pub question: String,
    /// The expectation from before the runs, if it was written down.
    pub expectation: Option<String>,
    /// The command line that gives the same report again.
    pub command: String,
    /// Version of the program that ran it.
    pub version: String,
    /// The seed of every stream. Text in JSON, because a page's numbers are exact only to 2^53.
    #[serde(serialize_with = "serialize_as_text")]
    pub seed: u64,
    /// The fewest and the most runs of a cell; a study that is sampled until decided has as many as it took.
    pub runs_per_cell: [u64; 2],
    /// Runs in all cells together.
    pub runs_planned: u64,
    /// Planned runs that are done.
    pub runs_done: u64,
    /// The shortest and the longest counted time of a run, in seconds of the clock that `virtual_time` names.
    pub runtime_s: [f64; 2],
    /// True if the runs were simulated, so that `runtime_s` is virtual time; otherwise it is the wall clock's.
    pub virtual_time: bool,
    /// The meaning of every interval on the page, as a sentence: method, level and unit of sampling.
    pub interval: String,
    /// The verdicts, the headline one first.
    pub verdicts: Vec<ReportVerdict>,
    /// The meaning of each verdict, for the reader.
    pub meanings: Vec<VerdictMeaning>,
    /// The layers between the program and the platter, top to bottom.
    pub stack: Vec<ReportLayer>,
    /// The varied factors, in the order of [`ReportCell::levels`]. Empty for a plain run.
    pub factors: Vec<ReportFactor>,
    /// All combinations of levels that were run.
    pub cells: Vec<ReportCell>,
    /// The beginning of a run of each side of the headline, or of the only cell, for the moving picture. Empty if it
    /// cannot be run again.
    pub stretches: Vec<ReportStretch>,
    /// The best level for each kind of work that the study asks for.
    pub best: Vec<ReportBest>,
    /// Findings of the source studies, and whether they were reproduced.
    pub claims: Vec<ReportClaim>,
    /// Warnings that concern the whole report.
    pub warnings: Vec<String>,
    /// Where the figures come from.
    pub provenance: Provenance,
}

impl Report {
    /// The report for a chapter of a review: without the moving picture and the histograms, which are most of a page.
    pub fn into_chapter(self) -> Report {
        let cells = self.cells.into_iter().map(|cell| ReportCell { histogram: Vec::new(), ..cell });
        Report { stretches: Vec::new(), cells: cells.collect(), ..self }
    }
}

/// An estimate and its interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ReportInterval {
    pub estimate: f64,
    pub low: f64,
    pub high: f64,
}

/// The answer to a comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReportVerdict {
    /// The study's name of the comparison.
    pub name: String,
    /// The answer as one sentence.
    pub headline: String,
    /// True if the study says that it answers its question.
    pub leads: bool,
    /// The factor, or the declared bundle of settings, to which the difference is credited.
    pub factor: String,
    /// The reference side, by its level's name.
    pub side_a: String,
    /// The side that is judged.
    pub side_b: String,
    /// The conditions, in words ("File Server, depth 64").
    pub cell: String,
    /// Identifiers of the cells compared: that of `side_a`, that of `side_b`. The page opens on the headline's. May be
    /// empty.
    pub cell_ids: Vec<String>,
    /// The compared metric, with its unit ("requests per second").
    pub metric: String,
    /// Which direction of the metric is good: `higher` or `lower`.
    pub better: String,
    /// `side_b` over `side_a`. `None` if it was not computed.
    pub ratio: Option<ReportInterval>,
    /// For several cells together: the lowest and the highest ratio of one.
    pub range: Option<RatioRange>,
    /// The verdict on `side_b`; for several cells together by the rule of
    /// [`CellTally::outcome`](crate::finding::CellTally::outcome).
    pub verdict: Outcome,
    /// The word for the verdict, by metric: "shorter" for a time; with the number of cells that it holds in, if not in all.
    pub word: String,
    /// True if `side_b` is better at a cost: a power cut loses more, or less work was done.
    pub tempered: bool,
    /// True if `side_b` is better or worse in few cells and by little, so that the page gives the verdict no colour:
    /// `CellTally::is_slight`.
    pub slight: bool,
    /// The number of its cells.
    pub cells: usize,
    /// The result of each of its cells; `None` for the verdict on a single one of several cells.
    #[serde(skip)]
    pub cases: Option<JudgedCases>,
    /// If the metric is processor use: the same cells judged by processor time for a request.
    #[serde(skip)]
    pub per_request: Option<JudgedCases>,
    /// The factor that is compared.
    #[serde(skip)]
    pub varied: String,
    /// The p value after correction for the number of comparisons.
    pub p_adjusted: Option<f64>,
    /// The band, in percent either way, within which sides count as equal.
    pub margin_percent: Option<f64>,
    /// Settings in which the sides differ, by dotted key.
    pub differs: Vec<String>,
    /// Concerns in which the sides differ at once, if there are several: their separate effects are not known.
    pub at_once: Vec<String>,
    /// Anything else worth saying: the reason for a refusal, how many more runs are needed.
    pub note: Option<String>,
    /// Which parts of the mean response changed, and by how much of the difference. `None` for several cells together.
    pub cause: Option<ReportCause>,
    /// Figures that went the other way than the verdict, in words: a better headline with a worse tail.
    pub beside: Vec<String>,
    /// For several cells together: in which of them the effect is.
    pub place: Option<EffectLocation>,
    /// Losses by a power cut on `side_b` and on `side_a`, in a clause that goes on after the headline.
    pub price: Option<String>,
    /// True if a power cut loses more on `side_b`, so that `price` is a loss.
    #[serde(skip)]
    pub loses: bool,
}

impl ReportVerdict {
    /// Sets the price and marks a loss.
    pub(crate) fn set_price(&mut self, price: String, loses: bool) {
        self.price = Some(price);
        self.mark_loss(loses);
    }

    /// Marks that a power cut loses more on `side_b`; a better verdict is qualified by "at a price". The words of the price are in
    /// [`ReportVerdict::price`], of this verdict or of another.
    pub(crate) fn mark_loss(&mut self, loses: bool) {
        if loses && !self.loses && self.verdict == Outcome::Faster {
            self.qualify("at a price");
        }
        self.loses |= loses;
    }

    /// Adds a qualification to the word of the verdict: "faster, at a price".
    pub(crate) fn qualify(&mut self, qualification: &str) {
        self.tempered = true;
        self.word = format!("{}, {qualification}", self.word);
    }
}

/// The cells of a comparison, and the words for a difference between its sides.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedCases {
    pub words: DifferenceWords,
    pub cases: Vec<CellCase>,
}

/// Which parts of the mean response changed, in milliseconds; they add up to `to_ms` less `from_ms`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReportCause {
    /// The requests, in words ("reads and writes").
    pub of: String,
    /// The mean response of `side_a`.
    pub from_ms: f64,
    /// The mean response of `side_b`.
    pub to_ms: f64,
    /// By how much each part changed, by name; unchanged parts are left out.
    pub parts: BTreeMap<&'static str, f64>,
    /// The changes in a sentence.
    pub text: String,
}

/// A verdict and its meaning.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct VerdictMeaning {
    /// The verdict in words ("no difference within ±x %").
    pub word: String,
    pub says: String,
}

/// A layer of the stack.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReportLayer {
    /// The kind of layer ("program", "driver", "controller", "drive").
    pub role: String,
    /// The name of the layer ("Intel ICH6R").
    pub name: String,
    pub settings: Vec<ReportSetting>,
}

/// A setting of a layer.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReportSetting {
    /// The dotted key ("controller.ncq"), as in [`ReportVerdict::differs`].
    pub key: String,
    /// The value with its unit; all values if it is varied ("off, on").
    pub value: String,
    /// The origin of the value ("datasheet", "measured", "inferred", "study", "default").
    pub source: String,
}

/// A varied factor.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReportFactor {
    /// In lower case as in a sentence ("depth").
    pub name: String,
    /// The unit of its levels if they are numbers ("requests in flight").
    pub unit: Option<String>,
    /// A sentence on what varies, where the name alone does not say it.
    pub says: Option<String>,
    /// In the order to show. If all of them are numbers, the page draws curves.
    pub levels: Vec<String>,
}

/// The results of a combination of levels.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReportCell {
    /// Unique in the report.
    pub id: String,
    /// The levels of [`Report::factors`], in their order.
    pub levels: Vec<String>,
    /// How many runs it has.
    pub runs: u32,
    /// Requests completed, over all runs.
    pub ios: u64,
    pub iops: ReportInterval,
    pub bytes_per_s: ReportInterval,
    /// Response time of all requests.
    pub response_ms: Response,
    /// Response time of reads, if the mix has any and they were kept separately.
    pub reads: Option<Response>,
    /// Response time of writes, likewise.
    pub writes: Option<Response>,
    /// Response time of flushes, likewise; they are not in `ios` and `response_ms`.
    pub flushes: Option<Response>,
    pub flushes_per_s: f64,
    /// Response times as (upper bound of the bucket in ms, requests in it), with rising bounds and without empty
    /// buckets.
    pub histogram: Vec<(f64, u64)>,
    /// Where the mean response time went.
    pub anatomy_ms: Anatomy,
    /// From the beginning to the end of a run, in seconds.
    pub elapsed_s: ReportInterval,
    /// Operations of the programs of a scene, in the order of their names; empty for a job.
    pub operations: Vec<ReportOperations>,
    /// Processor use, if a processor is modelled: means over its runs.
    pub cpu: Option<CpuRecord>,
    /// Open arrivals, by a rate or from a trace.
    pub arrivals: Option<ReportArrivals>,
    /// The work of an array's members: means over its runs.
    pub array: Option<ReportArray>,
    /// Warnings that concern this cell only.
    pub flags: Vec<String>,
}

/// Mean milliseconds a request spent in each part. The parts add up to the mean response.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Anatomy([f64; Part::COUNT]);

impl Anatomy {
    /// The anatomy with these milliseconds in each part.
    pub fn from_parts(ms: impl FnMut(Part) -> f64) -> Anatomy {
        Anatomy(Part::ALL.map(ms))
    }

    /// All parts together.
    pub fn total(&self) -> f64 {
        self.0.iter().sum()
    }
}

/// Each part under its name.
impl Serialize for Anatomy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Part::ALL.map(Part::name).into_iter().zip(self.0))
    }
}

/// The operations of a program of a scene.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReportOperations {
    pub program: String,
    /// Operations that ended, over all runs.
    pub count: u64,
    /// Operations a second.
    pub per_s: ReportInterval,
    /// Means over the runs.
    pub response_ms: Response,
}

/// The work of an array and its members.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReportArray {
    /// A sentence on what writes had to read first, if anything.
    pub before_writes: Option<String>,
    /// A sentence on the bytes at the members for each byte.
    pub bytes: String,
    /// Bytes that the members read to serve reads, for each byte read.
    pub read_per_byte_read: Option<f64>,
    /// Bytes that the members read before writes, for each byte written.
    pub read_per_byte_written: Option<f64>,
    /// Bytes of data and parity that the members wrote for each byte written.
    pub written_per_byte_written: Option<f64>,
    pub members: Vec<ReportMember>,
}

/// The work of a member in the counted time of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ReportMember {
    /// From 0.
    pub member: u32,
    /// For whatever purpose.
    pub read_mb: f64,
    /// For whatever purpose.
    pub written_mb: f64,
    /// Of the megabytes read: old data, old parity and the rest of rows, before writes.
    pub read_before_writes_mb: f64,
    /// For a rebuild or a check, read and written.
    pub sync_mb: f64,
    /// Of the megabytes written: the write-intent bitmap.
    pub bitmap_mb: f64,
    /// Time with at least one command in flight.
    pub busy_percent: f64,
}

impl Report {
    /// True if the page has the section [`ARM_PLACE`]: an arm moved in one of the stretches.
    pub fn shows_arm(&self) -> bool {
        let moved = |stretch: &ReportStretch| !stretch.requests.lba.is_empty() && !stretch.movements.to.is_empty();
        self.stretches.iter().any(moved)
    }
}

impl ReportArray {
    /// The mean over runs with so many writes each, on average.
    pub fn from_mean(mean: &ArrayRecord, writes: u64) -> ReportArray {
        let mb = |bytes: u64| bytes as f64 / 1e6;
        let member = |member: &MemberRecord| ReportMember {
            member: member.member,
            read_mb: mb(member.read_bytes),
            written_mb: mb(member.written_bytes),
            read_before_writes_mb: mb(member.bytes_read_before_writes()),
            sync_mb: mb(member.sync_bytes()),
            bitmap_mb: mb(member.bitmap_written_bytes),
            busy_percent: member.busy_percent,
        };
        ReportArray {
            before_writes: mean.reads_before_writes_sentence(writes),
            bytes: mean.bytes_sentence(),
            read_per_byte_read: mean.read_per_byte_read,
            read_per_byte_written: mean.read_per_byte_written,
            written_per_byte_written: mean.written_per_byte_written,
            members: mean.members.iter().map(member).collect(),
        }
    }
}

/// Open arrivals of a cell: requests that were due at instants of their own, whatever the device did. Figures are means over the runs,
/// except the longest backlog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ReportArrivals {
    /// Requests a second that the job asks for; `None` if it asks for bytes, or if a trace gives each instant.
    pub asked_iops: Option<f64>,
    /// MB/s that the job asks for; `None` likewise.
    pub asked_mb_per_s: Option<f64>,
    /// Due requests that were done, a second.
    pub reached_iops: f64,
    /// MB/s of these requests.
    pub reached_mb_per_s: f64,
    /// How long due requests waited to be issued, on average.
    pub backlog_mean_ms: f64,
    /// The longest such wait.
    pub backlog_max_ms: f64,
}

/// The first requests of a cell's first run, and the movements of the arms meanwhile. The data are in columns,
/// with an entry in each for a request or a movement; instants count from the picture's beginning, and may lie before
/// it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReportStretch {
    /// [`ReportCell::id`].
    pub cell: String,
    /// When the picture begins, in nanoseconds of the run. Text, because it may be larger than a page's numbers.
    pub begin_ns: String,
    /// True if the requests are the first counted ones; false if they are the first of the run, without its ramp.
    pub counted: bool,
    /// Cylinders of a drive; the outermost is 0.
    pub cylinders: u32,
    /// Recorded surfaces.
    pub heads: u8,
    /// Sectors of 512 bytes that the job had.
    pub sectors: u64,
    /// The rotation of each drive.
    pub platters: Vec<ReportPlatter>,
    /// The names of the parts of a response, in the order in which a request meets them.
    pub parts: Vec<String>,
    /// In the order in which they were done.
    pub requests: ReportRequests,
    /// `None` if it is not known where waiting requests lie.
    pub queue: Option<ReportQueue>,
    /// In the order in which they ended.
    pub movements: ReportMovements,
}

/// The rotation of a drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ReportPlatter {
    /// Nanoseconds of a revolution.
    pub revolution_ns: u64,
    /// How far it had turned when the picture begins, as a share of a revolution.
    pub turned: f64,
}

/// Requests of a stretch.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReportRequests {
    pub worker: Vec<u16>,
    /// "read", "write", "flush" …
    pub op: Vec<String>,
    /// Indexes of those that failed.
    pub failed: Vec<u32>,
    pub lba: Vec<u64>,
    /// Sectors of 512 bytes.
    pub sectors: Vec<u32>,
    pub due_ns: Vec<i64>,
    /// Nanoseconds of each part; together they are the response.
    pub parts_ns: Vec<Vec<u64>>,
}

/// Reads and writes that wait at the device in a stretch, counted or not, in the order in which they were issued.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReportQueue {
    /// Indexes of the writes.
    pub writes: Vec<u32>,
    pub issued_us: Vec<i64>,
    /// Microseconds from the issue until the host's driver handed it to the drive or the controller; `None` if unknown.
    pub host_us: Vec<Option<i64>>,
    /// Microseconds from the issue to the answer; `None` if it came after the recording.
    pub done_us: Vec<Option<i64>>,
    /// Where its first sector lies.
    pub cylinder: Vec<u32>,
    /// The angle of its first sector, as a share of a revolution.
    pub angle: Vec<f64>,
    /// Index of the movement that serves it first; `None` if none does in the stretch.
    pub movement: Vec<Option<u32>>,
    /// Indexes of the movements that write what the buffer held before.
    pub earlier: Vec<u32>,
}

/// Movements of a stretch: the arm goes to a track, and blocks of it pass under the head.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReportMovements {
    pub drive: Vec<u32>,
    /// The purpose: "read", "write", "destage" (writing what the buffer had acknowledged), "home" (out of the media
    /// cache).
    pub errand: Vec<String>,
    /// The cylinder that the arm came from.
    pub from: Vec<u32>,
    /// The cylinder that it went to.
    pub to: Vec<u32>,
    /// The head that was used there.
    pub head: Vec<u8>,
    /// The first sector that passes, of that drive.
    pub lba: Vec<u64>,
    pub sectors: Vec<u32>,
    /// Where the first of them lies on its track, as a share of a revolution.
    pub angle: Vec<f64>,
    /// The share of a revolution that they take.
    pub arc: Vec<f64>,
    /// Microseconds: when the arm starts, then how long it moves, settles or waits for data, waits for its sectors and
    /// has them pass, and has them pass again.
    pub course_us: Vec<Vec<i64>>,
}

/// A finding of a source study.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReportClaim {
    pub id: String,
    /// The kind of finding.
    pub class: String,
    /// In a sentence.
    pub finding: String,
    /// The condition under which it counts as reproduced.
    pub condition: String,
    /// The figures obtained, a line each; those of one expression are indented below it.
    pub figure: String,
    /// `None` if it was not run, is not decided, or is a judgement.
    pub reproduced: Option<bool>,
    /// The answer in words.
    pub answer: String,
    /// The deciding figure, what was wanted, and how far it is from that.
    pub deciding: Option<String>,
    /// How its checks read finding and condition.
    pub reading: Option<String>,
    /// The part of the finding that no check covers.
    pub unchecked: Option<String>,
    /// The mechanism of the model on which it rests.
    pub mechanism: String,
    /// For a claim whose checks hold: what else must be confirmed, which the study alone does not try.
    pub pending: Option<String>,
}

/// Which level of a factor is best for a kind of work.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReportBest {
    pub work: String,
    pub factor: String,
    /// The best level.
    pub best: String,
    /// All levels beside the best one, in the factor's order.
    pub levels: Vec<ReportShare>,
    /// The findings that are about it.
    pub claims: Vec<String>,
    /// Levels that are not surely further behind the best than this are as good, in percent.
    pub margin_percent: f64,
}

/// A level beside the best.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReportShare {
    pub level: String,
    /// The figure over that of the best level, with the ends of the interval.
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
    /// The best level, or surely behind by no more than the margin.
    pub alike: bool,
}

/// Where the figures come from.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Provenance {
    /// SHA-256 of what made the results, as it is kept beside them.
    pub hash: String,
    /// Name of the drive, or of the drives.
    pub drive: String,
    /// Anything else that is needed to judge or repeat the figures.
    pub notes: Vec<String>,
}

fn serialize_as_text<S: Serializer>(value: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gain_at_a_price_says_so_once() {
        let verdict = |verdict| ReportVerdict { verdict, word: "w".to_owned(), ..ReportVerdict::default() };
        let mut gain = verdict(Outcome::Faster);
        gain.mark_loss(true);
        gain.set_price("but it loses".to_owned(), true);
        gain.mark_loss(false);
        assert_eq!((&gain.word[..], gain.tempered, gain.loses), ("w, at a price", true, true));
        let mut saved = verdict(Outcome::Faster);
        saved.set_price("and it loses none".to_owned(), false);
        assert_eq!((&saved.word[..], saved.tempered), ("w", false));
        let mut worse = verdict(Outcome::Slower);
        worse.set_price("but it loses".to_owned(), true);
        assert!(!worse.tempered, "there is no gain to take back");
    }
}
