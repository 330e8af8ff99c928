//! Which parts of the mean response changed between two sides, and which of them is the cause.
//!
//! Times are means over runs, each part in whole nanoseconds: a response here is the sum of its parts, so the differences of the parts add
//! up exactly to the difference of the responses.
//!
//! In a closed loop a request is issued when another ends, so the requests outstanding are given, and waiting is what is left for those
//! that are not at work: by Little's law, waiting = (outstanding - at work) / rate, and rate = at work / own work. There the own work is
//! the cause and comes first, if the parts show all of it. Otherwise parts come by their size: with a write cache or an array, if flushes
//! wait for others, if the jobs' shares of the requests changed, and in an open loop, where a request may find others before it.

use seekwise_disk::record::Part;
use seekwise_drives::metric::MetricScope;
use serde::{Serialize, Serializer};

use self::mix::ShareChange;
use super::metric::requests_in_scope;
use crate::run::{MeanParts, RunRecord};
use crate::stats::Verdict;

mod mix;

/// A part is named if it makes at least this share of the largest change (inferred: smaller parts tell a reader nothing that the largest do
/// not).
const NAMED: f64 = 0.05;

/// Waiting, or the work itself, is named if it changed by at least this share of itself: what a study calls equal by
/// default.
const CHANGED: f64 = 0.02;

/// Requests outstanding, or at work, count as equal within this share: those in flight at the ends of a run are counted
/// for one side or the other (inferred: 32 in flight among some hundred requests).
const EQUAL: f64 = 0.05;

/// Waiting follows the work if at most this share of its change has another reason (inferred).
const UNEXPLAINED: f64 = 0.1;

/// Parts in which a request waits for others: behind them, or in the drive's buffer for work on other blocks.
const WAITING: [Part; 4] = [Part::Driver, Part::Flush, Part::Queue, Part::Cache];

/// A part of the mean response on both sides, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartChange {
    /// `None` for the time of a commit in which none of its requests was in flight.
    pub part: Option<Part>,
    /// True if a request waits for others in it.
    pub waits: bool,
    /// On the base's side.
    pub from: i64,
    /// On the other side.
    pub to: i64,
}

/// Both sides of a closed loop: the base, the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClosedLoop {
    /// Requests outstanding, in the mean over time.
    pub outstanding: [f64; 2],
    /// Number of these that do not wait for others; `None` if the parts of a response do not show it.
    pub at_work: Option<[f64; 2]>,
    /// Time in flushes for each request, in ns: it is outside the response, and part of the loop.
    pub flushes: [i64; 2],
}

/// How requests arrive, which decides what may be a cause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrival {
    /// At times of their own, on one side at least.
    Open,
    /// Each after another has ended; `None` if the requests are only some of those in the loop.
    Closed(Option<ClosedLoop>),
    /// The run was measured: how much of a part is waiting is not known.
    Measured,
}

/// Settings of either side that hide part of a request's work from its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HiddenWork {
    /// An array of drives: a request may make work on each of them, at the same time.
    pub has_array: bool,
    /// Writes are acknowledged from a cache: the work for them comes later.
    pub caches_writes: bool,
}

/// Mean times of a commit on both sides, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commit {
    pub write: [i64; 2],
    /// The flush after it.
    pub flush: [i64; 2],
}

/// A mean response by parts on both sides: the parts that either side has, in the order in which a request meets them.
#[derive(Clone, Debug, PartialEq)]
pub struct Cause {
    /// The requests, in words.
    pub of: String,
    pub parts: Vec<PartChange>,
    pub arrival: Arrival,
    /// Each part is either waiting or own work.
    pub is_split: bool,
    /// Jobs, or kinds of requests, whose shares of the requests changed enough to move the mean.
    pub mix: Vec<ShareChange>,
    /// If flushes are judged, and each follows a write.
    pub commit: Option<Commit>,
    /// The judged figure got better and the mean response longer, or the reverse.
    pub is_opposed: bool,
}

impl PartChange {
    /// The contribution to the difference, in ns.
    pub fn difference_ns(&self) -> i64 {
        self.to - self.from
    }

    /// The name in reports. Time at the processor is apart from the wait for one of its cores.
    pub fn name(&self) -> &'static str {
        match (self.part, self.waits) {
            (Some(Part::Processor), true) => "processor queue",
            (Some(part), _) => part.name(),
            (None, _) => "between requests",
        }
    }
}

/// The words for the requests of the mean: the kinds that there are.
fn request_words(whose: &MetricScope, sides: [&[&RunRecord]; 2]) -> String {
    let has = |ios: fn(&RunRecord) -> u64| sides.iter().flat_map(|runs| runs.iter()).any(|run| ios(run) > 0);
    match whose {
        MetricScope::All => match (has(|run| run.read.ios), has(|run| run.write.ios)) {
            (true, false) => "reads".to_owned(),
            (false, true) => "writes".to_owned(),
            _ => "reads and writes".to_owned(),
        },
        MetricScope::Read => "reads".to_owned(),
        MetricScope::Write => "writes".to_owned(),
        MetricScope::Flush => "flushes".to_owned(),
        MetricScope::Commit => "commits".to_owned(),
        MetricScope::Job(name) => format!("job {name}"),
        MetricScope::Operations(name) => format!("operations of {name}"),
    }
}

/// The parts of a run. Result folders of every version have those of reads and writes.
fn parts_in_run<'a>(whose: &MetricScope, run: &'a RunRecord) -> Option<&'a MeanParts> {
    let parts = match whose {
        MetricScope::All => &run.anatomy_ms,
        whose => &requests_in_scope(whose, run)?.anatomy_ms,
    };
    (!parts.is_empty()).then_some(parts)
}

/// The longest part, in ns, that a cause is computed from: about 13 days. No run's mean comes near it; a damaged result
/// folder's may, and sums of such parts would overflow.
const LONGEST: f64 = (1_u64 << 50) as f64;

/// The mean of some milliseconds over runs, in ns; `None` if it is longer than [`LONGEST`].
fn mean_ns(runs: &[&RunRecord], ms: impl Fn(&RunRecord) -> f64) -> Option<i64> {
    let sum: f64 = runs.iter().map(|run| ms(run)).sum();
    let mean = (sum * 1e6 / runs.len() as f64).round();
    (mean.abs() <= LONGEST).then_some(mean as i64)
}

/// The mean of each part over runs, in ns; `None` if a run has no such request, or a part that is too long.
fn part_means_ns(whose: &MetricScope, runs: &[&RunRecord]) -> Option<[i64; Part::COUNT]> {
    if runs.is_empty() || runs.iter().any(|run| parts_in_run(whose, run).is_none()) {
        return None;
    }
    let mut means = [0; Part::COUNT];
    for (mean_of, part) in means.iter_mut().zip(Part::ALL) {
        *mean_of = mean_ns(runs, |run| parts_in_run(whose, run).map_or(0.0, |parts| parts.get(part)))?;
    }
    Some(means)
}

/// Core time for a request in ms, if a modelled processor served reads and writes alone.
fn core_ms(run: &RunRecord) -> Option<f64> {
    let cpu = run.cpu.filter(|cpu| cpu.ios_per_cpu_second > 0.0 && run.flush.ios == 0)?;
    (!run.is_measured() && run.issuer.operations.is_empty()).then(|| 1e3 / cpu.ios_per_cpu_second)
}

/// The part of the time at the processor that is the wait for a core, in ns: the excess over the core time of a request.
fn core_wait_ns(whose: &MetricScope, runs: &[&RunRecord], at_processor: i64) -> i64 {
    let known = *whose == MetricScope::All && runs.iter().all(|run| core_ms(run).is_some());
    let work = mean_ns(runs, |run| core_ms(run).unwrap_or(0.0)).filter(|_| known);
    work.map_or(0, |work| (at_processor - work).max(0))
}

/// True if the judged requests are flushes, or contain them.
fn has_flushes(whose: &MetricScope) -> bool {
    matches!(whose, MetricScope::Flush | MetricScope::Commit)
}

/// True if a request may wait for others in `part`. A single flush waits there for the medium.
fn may_wait(whose: &MetricScope, part: Part, is_single: bool) -> bool {
    WAITING.contains(&part) && !(part == Part::Flush && has_flushes(whose) && is_single)
}

/// True if memory or a cache answers requests of a run, and the drive works for them at another time.
fn is_answered_early(run: &RunRecord, hidden: HiddenWork) -> bool {
    (hidden.caches_writes && run.write.ios > 0)
        || run.issuer.memory_percent.is_some()
        || !run.issuer.operations.is_empty()
}

impl Commit {
    /// The commits of both sides; `None` unless flushes are judged and each follows a write.
    fn between_sides(whose: &MetricScope, sides: [&[&RunRecord]; 2]) -> Option<Commit> {
        let is_commit = |run: &&RunRecord| {
            let counts = [run.write.ios, run.flush.ios].map(|ios| ios as f64);
            run.read.ios == 0 && run.groups.is_empty() && run.issuer.operations.is_empty() && are_equal(counts)
        };
        if *whose != MetricScope::Flush || !sides.iter().all(|runs| runs.iter().all(is_commit)) {
            return None;
        }
        let mut commit = Commit { write: [0; 2], flush: [0; 2] };
        for (side, runs) in sides.into_iter().enumerate() {
            commit.write[side] = mean_ns(runs, |run| run.write.mean_ms())?;
            commit.flush[side] = mean_ns(runs, |run| run.flush.mean_ms())?;
        }
        Some(commit)
    }
}

/// True if two figures differ by no more than [`EQUAL`].
fn are_equal([from, to]: [f64; 2]) -> bool {
    (to - from).abs() <= EQUAL * from.max(to)
}

/// Requests outstanding in a run, flushes too, in the mean over time: by Little's law their rate times their response.
fn mean_outstanding(run: &RunRecord) -> f64 {
    [&run.all, &run.flush].map(|view| view.iops * view.mean_ms() / 1e3).iter().sum()
}

/// True if one request at a time is outstanding.
fn is_single(run: &RunRecord) -> bool {
    run.arrivals.is_none() && run.streams.len() < 2 && mean_outstanding(run) <= 1.0 + EQUAL
}

impl ClosedLoop {
    /// The loop of some requests; `None` if others take part in it. The number at work is known if `shows_work`, and if no flush waits for
    /// another request.
    fn between_sides(
        whose: &MetricScope,
        sides: [&[&RunRecord]; 2],
        own: [i64; 2],
        response: [i64; 2],
        shows_work: bool,
    ) -> Option<ClosedLoop> {
        // Flushes follow what they flush.
        if has_flushes(whose) {
            return None;
        }
        let is_known =
            shows_work && sides.iter().flat_map(|runs| runs.iter()).all(|run| run.flush.ios == 0 || is_single(run));
        let (mut all, mut at_work) = (ClosedLoop { outstanding: [0.0; 2], at_work: None, flushes: [0; 2] }, [0.0; 2]);
        for (side, runs) in sides.into_iter().enumerate() {
            let mut rate = 0.0;
            for run in runs {
                let of = requests_in_scope(whose, run).filter(|of| of.ios == run.all.ios)?;
                rate += of.iops / runs.len() as f64 / 1e9;
            }
            let flush = |run: &RunRecord| run.flush.mean_ms() * run.flush.ios as f64 / run.all.ios.max(1) as f64;
            all.flushes[side] = mean_ns(runs, flush)?;
            all.outstanding[side] = rate * (response[side] + all.flushes[side]) as f64;
            at_work[side] = rate * (own[side] + all.flushes[side]) as f64;
        }
        all.at_work = is_known.then_some(at_work);
        Some(all)
    }

    /// The requests outstanding, in words.
    fn depth_text(&self) -> String {
        let [from, to] = self.outstanding.map(|of| format!("{of:.1}"));
        match from == to {
            true => format!("with {to} outstanding on average on both sides"),
            false => format!("with {to} outstanding on average instead of {from}"),
        }
    }

    /// The reason for the waiting, in words.
    fn waiting_reason(&self) -> String {
        match self.at_work.filter(|at_work| !are_equal(*at_work)) {
            None => self.depth_text(),
            Some([from, to]) => format!("{}, and {to:.1} at work at once instead of {from:.1}", self.depth_text()),
        }
    }

    /// The change of flushes in words, if it is large enough.
    fn flush_text(&self) -> Option<String> {
        let flushes = self.flushes.map(to_us);
        let is_one = (flushes[1] - flushes[0]).abs() as f64 >= CHANGED * flushes[0].max(flushes[1]).max(1) as f64;
        let waiting = if self.at_work.is_none() { ", with their own waiting" } else { "" };
        is_one.then(|| format!("flushes between them {}{waiting}", difference_text(flushes)))
    }

    /// True if the work for a request explains the change of waiting: by Little's law each request waits for the work of those outstanding
    /// before it.
    fn explains_waiting(&self, own: [i64; 2], waiting: [i64; 2]) -> bool {
        let Some(at_work) = self.at_work else { return false };
        let others = [0, 1].map(|side| self.outstanding[side] / at_work[side].max(f64::MIN_POSITIVE) - 1.0);
        let work = [0, 1].map(|side| (own[side] + to_us(self.flushes[side])) as f64);
        let explained = f64::midpoint(others[0], others[1]) * (work[1] - work[0]);
        let waited = (waiting[1] - waiting[0]) as f64;
        (waited - explained).abs() <= UNEXPLAINED * waited.abs()
    }
}

impl Cause {
    /// The cause between the runs of two sides; `None` if one has no such request, or keeps no parts.
    pub fn between_runs(
        whose: &MetricScope,
        from: &[&RunRecord],
        to: &[&RunRecord],
        hidden: HiddenWork,
    ) -> Option<Cause> {
        let sides = [from, to];
        let means = [part_means_ns(whose, from)?, part_means_ns(whose, to)?];
        let runs = || from.iter().chain(to);
        let is_single = runs().all(|run| is_single(run));
        let mut parts = Vec::new();
        for (place, part) in Part::ALL.into_iter().enumerate() {
            let [from, to] = means.map(|means| means[place]);
            if part == Part::Processor {
                let wait = [0, 1].map(|side| core_wait_ns(whose, sides[side], means[side][place]));
                parts.push(PartChange { part: Some(part), waits: true, from: wait[0], to: wait[1] });
                parts.push(PartChange { part: Some(part), waits: false, from: from - wait[0], to: to - wait[1] });
            } else {
                parts.push(PartChange { part: Some(part), waits: may_wait(whose, part, is_single), from, to });
            }
        }
        if *whose == MetricScope::Commit {
            let between = |run: &RunRecord| run.commit.as_ref().and_then(|commit| commit.between_ms).unwrap_or(0.0);
            let [from, to] = [mean_ns(from, between)?, mean_ns(to, between)?];
            parts.push(PartChange { part: None, waits: false, from, to });
        }
        parts.retain(|change| change.from != 0 || change.to != 0);
        let is_measured = runs().any(|run| run.is_measured());
        let mix = mix::find_share_changes(whose, sides);
        let is_mixed = has_flushes(whose) && !is_single;
        let is_split = !is_measured && !hidden.has_array && mix.is_empty() && !is_mixed;
        let of = request_words(whose, sides);
        let mut cause = Cause { of, parts, arrival: Arrival::Open, is_split, mix, commit: None, is_opposed: false };
        if is_measured {
            cause.arrival = Arrival::Measured;
        } else if runs().all(|run| run.arrivals.is_none()) {
            let is_early = runs().any(|run| is_answered_early(run, hidden));
            let (own, response) = (cause.sum_parts(false), [cause.from(), cause.to()]);
            let shows_work = is_split && !is_early && !cause.waits_for_buffer();
            cause.arrival = Arrival::Closed(ClosedLoop::between_sides(whose, sides, own, response, shows_work));
            cause.commit = Commit::between_sides(whose, sides);
        }
        Some(cause)
    }

    /// Sets whether the mean response moved against the verdict on the judged figure.
    pub(crate) fn set_opposed(&mut self, verdict: Verdict) {
        self.is_opposed = match verdict {
            Verdict::Faster => self.to() > self.from(),
            Verdict::Slower => self.to() < self.from(),
            Verdict::NoDifference { .. } | Verdict::NotEnoughData { .. } => false,
        };
    }

    /// The mean response of the base, in ns.
    pub fn from(&self) -> i64 {
        self.parts.iter().map(|change| change.from).sum()
    }

    /// The mean response of the other, in ns.
    pub fn to(&self) -> i64 {
        self.parts.iter().map(|change| change.to).sum()
    }

    /// The share of a part in the difference; `None` if parts cancel each other, so that shares of the remainder would
    /// mislead.
    pub(crate) fn share_of_part(&self, change: &PartChange) -> Option<f64> {
        self.share_of_difference(change.difference_ns())
    }

    fn share_of_difference(&self, difference: i64) -> Option<f64> {
        let whole = self.to() - self.from();
        let moved: i64 = self.parts.iter().map(|change| change.difference_ns().abs()).sum();
        (whole != 0 && whole.abs() * 2 >= moved).then(|| difference as f64 / whole as f64)
    }

    /// Waiting, or the work itself, on both sides, in ns.
    fn sum_parts(&self, waits: bool) -> [i64; 2] {
        let own = || self.parts.iter().filter(|change| change.waits == waits);
        [own().map(|change| change.from).sum(), own().map(|change| change.to).sum()]
    }

    /// In a sentence or two. Parts without a name are *the rest*, so that the printed figures add up.
    pub fn text(&self) -> String {
        let (from, to) = (to_us(self.from()), to_us(self.to()));
        let waiting = self.sum_parts(true).map(to_us);
        let own = [from - waiting[0], to - waiting[1]];
        let mut text = match self.arrival {
            Arrival::Closed(Some(closed)) if closed.at_work.is_some() => self.text_of_loop(own, waiting, closed),
            _ => self.text_by_size(own[1] - own[0], waiting[1] - waiting[0]),
        };
        if self.is_opposed && from != to {
            let way = if to > from { "longer" } else { "shorter" };
            text = format!("the mean moved the other way ({way}): {text}");
        }
        if let Some(Commit { write, flush }) = self.commit {
            let [write, flush] =
                [write, flush].map(|[from, to]| format!("{} -> {} ms", ms_text(to_us(from)), ms_text(to_us(to))));
            text = format!("a commit is a write and its flush: write {write}, flush {flush}; {text}");
        }
        text
    }

    /// Says that no part changed enough to be named.
    fn unchanged_text(&self) -> String {
        let head =
            format!("mean response of {} {} -> {} ms", self.of, ms_text(to_us(self.from())), ms_text(to_us(self.to())));
        match self.parts.iter().all(|change| to_us(change.difference_ns()) == 0) {
            true => format!("{head}: no part of it changed"),
            false => format!("{head}: no part changes it by {:.0} %", CHANGED * 100.0),
        }
    }

    /// The difference of the mean response, then what waiting and what the work itself adds to it.
    fn text_by_size(&self, own: i64, waiting: i64) -> String {
        let (from, to) = (to_us(self.from()), to_us(self.to()));
        let side = |(waits, word, sum): (bool, &str, i64)| {
            let parts = self.changed_parts_text(Some(waits), sum)?;
            let share = self.share_of_difference(self.sum_parts(waits)[1] - self.sum_parts(waits)[0]);
            let share = share.map_or(String::new(), |share| format!(", {:.0} %", share * 100.0));
            Some(format!("{word} {}{share} ({parts})", signed_ms_text(sum)))
        };
        let mut said = Vec::new();
        if !self.mix.is_empty() {
            let shares: Vec<String> = self.mix.iter().map(ShareChange::text).collect();
            said.push(format!("the mix changed ({} of the requests)", shares.join(", ")));
        }
        match self.is_split {
            true => said.extend([(true, "waiting", waiting), (false, "own work", own)].into_iter().filter_map(side)),
            false => said.extend(self.changed_parts_text(None, to - from)),
        }
        if let Arrival::Closed(Some(closed)) = self.arrival {
            said.extend(closed.flush_text());
            said.extend((!are_equal(closed.outstanding)).then(|| closed.depth_text()));
        }
        if said.is_empty() {
            return self.unchanged_text();
        }
        if self.is_mostly_buffer() {
            said.push(format!("cache is {}", Part::Cache.meaning()));
        }
        if self.arrival == Arrival::Measured {
            said.push("how much of it is waiting was not measured".to_owned());
        }
        let head = format!("mean response of {} {} -> {} ms", self.of, ms_text(from), ms_text(to));
        format!("{head}, {} ms: {}", signed_ms_text(to - from), said.join("; "))
    }

    /// The work for a request first, in µs, then flushes, then the waiting that follows, then all of it.
    fn text_of_loop(&self, own: [i64; 2], waiting: [i64; 2], closed: ClosedLoop) -> String {
        let [own_parts, waiting_parts] =
            [(false, own), (true, waiting)].map(|(waits, [a, b])| self.changed_parts_text(Some(waits), b - a));
        let is_deeper = !are_equal(closed.outstanding);
        let flushed = closed.flush_text();
        if own_parts.is_none() && waiting_parts.is_none() && flushed.is_none() && !is_deeper {
            return self.unchanged_text();
        }
        let has_more = own_parts.is_some() || flushed.is_some();
        let mut work = vec![match own_parts {
            Some(parts) => format!("own work {} ({parts})", difference_text(own)),
            None if own[0] == own[1] => format!("own work {} ms on both sides", ms_text(own[0])),
            None => format!("own work {}", difference_text(own)),
        }];
        work.extend(flushed);
        // The larger change comes first.
        if to_us(closed.flushes[1] - closed.flushes[0]).abs() > (own[1] - own[0]).abs() {
            work.reverse();
        }
        let mut text = format!("each {}: {}", self.request_word(), work.join("; "));
        match waiting_parts {
            Some(parts) if has_more && closed.explains_waiting(own, waiting) => {
                let way = if waiting[1] > waiting[0] { "rises" } else { "falls" };
                text += &format!(
                    ". Waiting {way} with it: {} ({parts}), {}",
                    difference_text(waiting),
                    closed.waiting_reason()
                );
            }
            Some(parts) => {
                text += &format!(". Waiting {} ({parts}), {}", difference_text(waiting), closed.waiting_reason())
            }
            None if is_deeper => text += &format!(", {}", closed.waiting_reason()),
            None => {}
        }
        match waiting {
            [0, 0] => text,
            _ => format!("{text}. Mean response {}", difference_text([own[0] + waiting[0], own[1] + waiting[1]])),
        }
    }

    /// A single request, in words.
    fn request_word(&self) -> String {
        match &*self.of {
            "reads" => "read".to_owned(),
            "writes" => "write".to_owned(),
            "reads and writes" => "request".to_owned(),
            job => format!("request of {job}"),
        }
    }

    /// True if a request waits for the drive's buffer: the drive then works on blocks of requests that are answered, or that
    /// nobody has asked for yet, so those at work say nothing of the rate.
    fn waits_for_buffer(&self) -> bool {
        let mut cache = self.parts.iter().filter(|change| change.part == Some(Part::Cache));
        let is_named = |cache: i64, all: i64| cache as f64 >= CHANGED * all as f64;
        cache.any(|cache| is_named(cache.from, self.from()) || is_named(cache.to, self.to()))
    }

    /// True if the drive's buffer makes at least half of the changes of waiting.
    fn is_mostly_buffer(&self) -> bool {
        let waiting = self.parts.iter().filter(|change| change.waits);
        let moved = |cache: bool| {
            let of = waiting.clone().filter(|change| (change.part == Some(Part::Cache)) == cache);
            of.map(|change| to_us(change.difference_ns()).abs()).sum::<i64>()
        };
        moved(true) > 0 && moved(true) >= moved(false)
    }

    /// The named parts of a change of `sum` µs, of waiting, of own work or of both, the largest first; `None` if none
    /// changed enough.
    fn changed_parts_text(&self, waits: Option<bool>, sum: i64) -> Option<String> {
        let of = || self.parts.iter().filter(|change| waits.is_none_or(|waits| change.waits == waits));
        let [from, to]: [i64; 2] = [of().map(|change| change.from).sum(), of().map(|change| change.to).sum()];
        let most = of().map(|change| change.difference_ns().abs()).max().unwrap_or(0) as f64;
        let is_named = |change: &&PartChange| {
            to_us(change.difference_ns()) != 0 && change.difference_ns().abs() as f64 >= NAMED * most
        };
        let mut main: Vec<&PartChange> = of().filter(is_named).collect();
        if main.is_empty() || most < CHANGED * from.max(to) as f64 {
            return None;
        }
        main.sort_by_key(|change| -change.difference_ns().abs());
        let mut parts: Vec<String> = main
            .iter()
            .map(|change| format!("{} {}", change.name(), signed_ms_text(to_us(change.difference_ns()))))
            .collect();
        let rest = sum - main.iter().map(|change| to_us(change.difference_ns())).sum::<i64>();
        if rest != 0 {
            parts.push(format!("the rest {}", signed_ms_text(rest)));
        }
        Some(parts.join(", "))
    }
}

/// A time on both sides in µs, and its difference.
fn difference_text([from, to]: [i64; 2]) -> String {
    format!("{} -> {} ms, {}", ms_text(from), ms_text(to), signed_ms_text(to - from))
}

/// Nanoseconds as whole microseconds.
fn to_us(ns: i64) -> i64 {
    (ns as f64 / 1e3).round() as i64
}

/// Microseconds as milliseconds.
fn ms_text(us: i64) -> String {
    format!("{}{}.{:03}", if us < 0 { "-" } else { "" }, us.abs() / 1000, us.abs() % 1000)
}

fn signed_ms_text(us: i64) -> String {
    if us < 0 { ms_text(us) } else { format!("+{}", ms_text(us)) }
}

impl Serialize for Cause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Row {
            part: &'static str,
            waits: bool,
            from_ms: f64,
            to_ms: f64,
            difference_ms: f64,
            share: Option<f64>,
        }
        #[derive(Serialize)]
        struct Loop {
            outstanding: [f64; 2],
            at_work: Option<[f64; 2]>,
            flushes_ms: [f64; 2],
        }
        #[derive(Serialize)]
        struct Whole<'a> {
            of: &'a str,
            arrival: &'static str,
            closed_loop: Option<Loop>,
            from_ms: f64,
            to_ms: f64,
            difference_ms: f64,
            parts: Vec<Row>,
            text: String,
        }
        let ms = |ns: i64| ns as f64 / 1e6;
        let row = |change: &PartChange| Row {
            part: change.name(),
            waits: change.waits,
            from_ms: ms(change.from),
            to_ms: ms(change.to),
            difference_ms: ms(change.difference_ns()),
            share: self.share_of_part(change),
        };
        let (arrival, closed) = match self.arrival {
            Arrival::Open => ("open", None),
            Arrival::Closed(closed) => ("closed", closed),
            Arrival::Measured => ("measured", None),
        };
        let closed_loop = closed.map(|ClosedLoop { outstanding, at_work, flushes }| Loop {
            outstanding,
            at_work,
            flushes_ms: flushes.map(ms),
        });
        let (from, to) = (self.from(), self.to());
        let parts = self.parts.iter().map(row).collect();
        let (from_ms, to_ms, difference_ms) = (ms(from), ms(to), ms(to - from));
        let (of, text) = (&*self.of, self.text());
        Whole { of, arrival, closed_loop, from_ms, to_ms, difference_ms, parts, text }.serialize(serializer)
    }
}

#[cfg(test)]
mod tests;
