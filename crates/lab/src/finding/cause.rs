//! Which parts of the mean response changed between two sides, and which of them is the cause.
//!
//! These are means over runs, each part in whole nanoseconds: a response here is the sum of its parts, so the
//! differences of the parts add up exactly to the difference of the responses.
//!
//! In a closed loop a request is issued when another ends, so the requests outstanding are given, and waiting is what is
//! left for those that are not at work: by Little's law, waiting = (outstanding - at work) / rate, and rate = at work /
//! own work. There the own work is the cause and comes first. With arrivals of its own a request may find others before
//! it, so waiting may be the cause, and parts come by their size.

use seekwise_formats::metric::MetricScope;
use seekwise_model::record::Part;
use serde::{Serialize, Serializer};

use super::metric::view;
use crate::run::{MeanParts, RunRecord};

/// A part is named if it makes at least this share of the largest change beside it (inferred: smaller parts tell a
/// reader nothing that the largest do not).
const NAMED: f64 = 0.05;

/// Waiting, or the work itself, is named if it changed by at least this share of itself: what a study calls equal by
/// default.
const CHANGED: f64 = 0.02;

/// Requests outstanding, or at work, count as equal within this share: those in flight at the ends of a run are counted
/// for one side or the other (inferred: 32 in flight among some hundred requests).
const EQUAL: f64 = 0.05;

/// Parts in which a request waits for others: behind them, or in the drive's buffer for work on other blocks.
const WAITING: [Part; 4] = [Part::Driver, Part::Flush, Part::Queue, Part::Cache];

/// A part of the mean response on both sides, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartChange {
    pub part: Part,
    /// In it a request waits for others.
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
    /// How many of these do not wait for others.
    pub at_work: [f64; 2],
    /// Time in flushes for each request, in ns: it is outside the response, and part of the loop.
    pub flushes: [i64; 2],
}

/// How requests come, and so what may be a cause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrival {
    /// At times of their own, on one side at least.
    Open,
    /// Each after another has ended. Nothing is known of the loop if the requests are some of those in it.
    Closed(Option<ClosedLoop>),
    /// The run was measured: how much of a part is waiting is not known.
    Measured,
}

/// A mean response by parts on both sides: the parts that either side has, in the order in which a request meets them.
#[derive(Clone, Debug, PartialEq)]
pub struct Cause {
    /// The requests, in words.
    pub of: String,
    pub parts: Vec<PartChange>,
    pub arrival: Arrival,
}

impl PartChange {
    /// What it adds to the difference, in ns.
    pub fn difference(&self) -> i64 {
        self.to - self.from
    }

    /// Its name. Time at the processor is apart from the wait for one of its cores.
    pub fn name(&self) -> &'static str {
        match (self.part, self.waits) {
            (Part::Processor, true) => "processor queue",
            (part, _) => part.name(),
        }
    }
}

/// The words for the requests of the mean.
fn requests(whose: &MetricScope) -> String {
    match whose {
        MetricScope::All => "reads and writes".to_owned(),
        MetricScope::Read => "reads".to_owned(),
        MetricScope::Write => "writes".to_owned(),
        MetricScope::Flush => "flushes".to_owned(),
        MetricScope::Job(name) => format!("job {name}"),
        MetricScope::Operations(name) => format!("operations of {name}"),
    }
}

/// The parts of a run. Result folders of every version have those of reads and writes.
fn parts<'a>(whose: &MetricScope, run: &'a RunRecord) -> Option<&'a MeanParts> {
    let parts = match whose {
        MetricScope::All => &run.anatomy_ms,
        whose => &view(whose, run)?.anatomy_ms,
    };
    (!parts.is_empty()).then_some(parts)
}

/// The longest part, in ns, that a cause is computed from: about 13 days. No run's mean comes near it; a damaged result
/// folder's may, and sums of such parts would overflow.
const LONGEST: f64 = (1_u64 << 50) as f64;

/// The mean of some milliseconds over runs, in ns; `None` if it is longer than [`LONGEST`].
fn mean(runs: &[&RunRecord], ms: impl Fn(&RunRecord) -> f64) -> Option<i64> {
    let sum: f64 = runs.iter().map(|run| ms(run)).sum();
    let mean = (sum * 1e6 / runs.len() as f64).round();
    (mean.abs() <= LONGEST).then_some(mean as i64)
}

/// The mean of each part over runs, in ns; `None` if a run has no such request, or a part that is too long.
fn means(whose: &MetricScope, runs: &[&RunRecord]) -> Option<[i64; Part::COUNT]> {
    if runs.is_empty() || runs.iter().any(|run| parts(whose, run).is_none()) {
        return None;
    }
    let mut means = [0; Part::COUNT];
    for (mean_of, part) in means.iter_mut().zip(Part::ALL) {
        *mean_of = mean(runs, |run| parts(whose, run).map_or(0.0, |parts| parts.get(part)))?;
    }
    Some(means)
}

/// Core time for a request in ms, if a modelled processor served reads and writes alone.
fn core_ms(run: &RunRecord) -> Option<f64> {
    let cpu = run.cpu.filter(|cpu| cpu.ios_per_cpu_second > 0.0 && run.flush.ios == 0)?;
    (!run.is_measured() && run.issuer.operations.is_empty()).then(|| 1e3 / cpu.ios_per_cpu_second)
}

/// How much of the time at the processor is the wait for a core, in ns: what is longer than the cores worked for a request.
fn core_wait(whose: &MetricScope, runs: &[&RunRecord], at_processor: i64) -> i64 {
    let known = *whose == MetricScope::All && runs.iter().all(|run| core_ms(run).is_some());
    let work = mean(runs, |run| core_ms(run).unwrap_or(0.0)).filter(|_| known);
    work.map_or(0, |work| (at_processor - work).max(0))
}

/// True if two figures differ by no more than [`EQUAL`].
fn are_equal([from, to]: [f64; 2]) -> bool {
    (to - from).abs() <= EQUAL * from.max(to)
}

impl ClosedLoop {
    /// The loop of some requests; `None` if others take part in it.
    fn between(
        whose: &MetricScope,
        sides: [&[&RunRecord]; 2],
        own: [i64; 2],
        response: [i64; 2],
    ) -> Option<ClosedLoop> {
        // Flushes follow what they flush.
        if *whose == MetricScope::Flush {
            return None;
        }
        let mut all = ClosedLoop { outstanding: [0.0; 2], at_work: [0.0; 2], flushes: [0; 2] };
        for (side, runs) in sides.into_iter().enumerate() {
            let mut rate = 0.0;
            for run in runs {
                let of = view(whose, run)?;
                if !matches!(whose, MetricScope::Job(_)) && of.ios != run.all.ios {
                    return None;
                }
                rate += of.iops / runs.len() as f64 / 1e9;
            }
            let flush = |run: &RunRecord| run.flush.mean_ms() * run.flush.ios as f64 / run.all.ios.max(1) as f64;
            all.flushes[side] = mean(runs, flush).filter(|_| !matches!(whose, MetricScope::Job(_))).unwrap_or(0);
            all.outstanding[side] = rate * (response[side] + all.flushes[side]) as f64;
            all.at_work[side] = rate * (own[side] + all.flushes[side]) as f64;
        }
        Some(all)
    }

    /// Why waiting is what it is, in words.
    fn why(&self) -> String {
        let [from, to] = self.outstanding;
        let at_work = match self.at_work {
            at_work if are_equal(at_work) => None,
            [from, to] => Some(format!("{to:.1} at work at once instead of {from:.1}")),
        };
        match (are_equal(self.outstanding), at_work) {
            (true, None) => {
                format!("follows, with {:.1} outstanding on average on both sides", f64::midpoint(from, to))
            }
            (true, Some(at_work)) => format!("with {at_work} on average"),
            (false, None) => format!("with {to:.1} outstanding on average instead of {from:.1}"),
            (false, Some(at_work)) => {
                format!("with {to:.1} outstanding on average instead of {from:.1}, and {at_work}")
            }
        }
    }
}

impl Cause {
    /// The cause between the runs of two sides; `None` if one has no such request, or keeps no parts.
    pub fn between(whose: &MetricScope, from: &[&RunRecord], to: &[&RunRecord]) -> Option<Cause> {
        let sides = [from, to];
        let means = [means(whose, from)?, means(whose, to)?];
        let waits = |part: Part| WAITING.contains(&part) && !(part == Part::Flush && *whose == MetricScope::Flush);
        let mut parts = Vec::new();
        for (place, part) in Part::ALL.into_iter().enumerate() {
            let [from, to] = means.map(|means| means[place]);
            if part == Part::Processor {
                let wait = [0, 1].map(|side| core_wait(whose, sides[side], means[side][place]));
                parts.push(PartChange { part, waits: true, from: wait[0], to: wait[1] });
                parts.push(PartChange { part, waits: false, from: from - wait[0], to: to - wait[1] });
            } else {
                parts.push(PartChange { part, waits: waits(part), from, to });
            }
        }
        parts.retain(|change| change.from != 0 || change.to != 0);
        let runs = || from.iter().chain(to);
        let mut cause = Cause { of: requests(whose), parts, arrival: Arrival::Open };
        if runs().any(|run| run.is_measured()) {
            cause.arrival = Arrival::Measured;
        } else if runs().all(|run| run.arrivals.is_none()) {
            let (own, response) = (cause.sums(false), [cause.from(), cause.to()]);
            cause.arrival = Arrival::Closed(ClosedLoop::between(whose, sides, own, response));
        }
        Some(cause)
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
    pub fn share(&self, change: &PartChange) -> Option<f64> {
        self.share_of(change.difference())
    }

    fn share_of(&self, difference: i64) -> Option<f64> {
        let whole = self.to() - self.from();
        let moved: i64 = self.parts.iter().map(|change| change.difference().abs()).sum();
        (whole != 0 && whole.abs() * 2 >= moved).then(|| difference as f64 / whole as f64)
    }

    /// Waiting, or the work itself, on both sides, in ns.
    fn sums(&self, waits: bool) -> [i64; 2] {
        let own = || self.parts.iter().filter(|change| change.waits == waits);
        [own().map(|change| change.from).sum(), own().map(|change| change.to).sum()]
    }

    /// The parts of waiting, or of the work itself, that make its difference, the largest first.
    fn main(&self, waits: bool) -> Vec<PartChange> {
        let own = || self.parts.iter().filter(|change| change.waits == waits);
        let most = own().map(|change| change.difference().abs()).max().unwrap_or(0);
        let named = |change: &&PartChange| {
            us(change.difference()) != 0 && change.difference().abs() as f64 >= NAMED * most as f64
        };
        let mut main: Vec<PartChange> = own().filter(named).copied().collect();
        main.sort_by_key(|change| -change.difference().abs());
        main
    }

    /// In a sentence or two. Parts without a name are *the rest*, so that the printed figures add up.
    pub fn text(&self) -> String {
        let (from, to) = (us(self.from()), us(self.to()));
        let waiting = self.sums(true).map(us);
        let own = [from - waiting[0], to - waiting[1]];
        match self.arrival {
            Arrival::Closed(closed) => self.of_loop(own, waiting, closed),
            arrival => self.by_size(own[1] - own[0], waiting[1] - waiting[0], arrival == Arrival::Measured),
        }
    }

    /// The difference of the mean response, then what waiting and what the work itself adds to it.
    fn by_size(&self, own: i64, waiting: i64, is_measured: bool) -> String {
        let (from, to) = (us(self.from()), us(self.to()));
        let head = format!("mean response of {} {} -> {} ms", self.of, ms(from), ms(to));
        let sums = [(true, "waiting", waiting), (false, "own work", own)];
        let side = |(waits, word, sum): (bool, &str, i64)| {
            let parts = self.changed(waits, sum)?;
            let share = self.share_of(self.sums(waits)[1] - self.sums(waits)[0]);
            let share = share.map_or(String::new(), |share| format!(", {:.0} %", share * 100.0));
            Some(match is_measured {
                true => parts,
                false => format!("{word} {}{share} ({parts})", signed(sum)),
            })
        };
        let said: Vec<String> = sums.into_iter().filter_map(side).collect();
        let rest = if is_measured { "; how much of it is waiting was not measured" } else { "" };
        match said.is_empty() {
            true => format!("{head}: no part of it changed"),
            false => format!("{head}, {} ms: {}{rest}", signed(to - from), said.join("; ")),
        }
    }

    /// The work for a request first, in µs, then flushes, then the waiting that follows, then all of it.
    fn of_loop(&self, own: [i64; 2], waiting: [i64; 2], closed: Option<ClosedLoop>) -> String {
        let all = [own[0] + waiting[0], own[1] + waiting[1]];
        let [own_parts, waiting_parts] =
            [(false, own), (true, waiting)].map(|(waits, [a, b])| self.changed(waits, b - a));
        let flushes = closed.map_or([0; 2], |closed| closed.flushes.map(us));
        let flushed = (flushes[1] - flushes[0]).abs() as f64 >= CHANGED * flushes[0].max(flushes[1]).max(1) as f64;
        let is_deeper = closed.is_some_and(|closed| !are_equal(closed.outstanding));
        if own_parts.is_none() && waiting_parts.is_none() && !flushed && !is_deeper {
            return format!("mean response of {} {} -> {} ms: no part of it changed", self.of, ms(all[0]), ms(all[1]));
        }
        let mut work = vec![match own_parts {
            Some(parts) => format!("own work {} ({parts})", moved(own)),
            None => format!("own work {} ms on both sides", ms((own[0] + own[1]) / 2)),
        }];
        if flushed {
            work.push(format!("flushes between them {}", moved(flushes)));
            // The larger change comes first.
            if (flushes[1] - flushes[0]).abs() > (own[1] - own[0]).abs() {
                work.reverse();
            }
        }
        let mut text = format!("{}, for each: {}", self.of, work.join("; "));
        match (waiting_parts, closed) {
            (Some(parts), _) if self.is_buffers() => {
                text += &format!(". Waiting {} ({parts}); cache is {}", moved(waiting), Part::Cache.meaning());
            }
            (Some(parts), Some(closed)) => {
                text += &format!(". Waiting {} ({parts}) {}", moved(waiting), closed.why());
            }
            (Some(parts), None) => text += &format!(". Waiting {} ({parts})", moved(waiting)),
            (None, Some(closed)) if is_deeper => text += &format!(", {}", closed.why()),
            (None, _) => {}
        }
        match waiting {
            [0, 0] => text,
            _ => format!("{text}. Mean response {}", moved(all)),
        }
    }

    /// True if the drive's buffer makes at least half of the changes of waiting: the drive then works on blocks of requests
    /// that are answered, or that nobody has asked for yet, so those at work say nothing of the rate.
    fn is_buffers(&self) -> bool {
        let waiting = self.parts.iter().filter(|change| change.waits);
        let moved = |cache: bool| {
            let of = waiting.clone().filter(|change| (change.part == Part::Cache) == cache);
            of.map(|change| change.difference().abs()).sum::<i64>()
        };
        moved(true) > 0 && moved(true) >= moved(false)
    }

    /// The named parts of a change of `sum` µs; `None` if none changed enough.
    fn changed(&self, waits: bool, sum: i64) -> Option<String> {
        let own = || self.parts.iter().filter(move |change| change.waits == waits);
        let [from, to] = self.sums(waits);
        let most_moved = own().map(|change| change.difference().abs()).max().unwrap_or(0);
        let main = self.main(waits);
        if main.is_empty() || (most_moved as f64) < CHANGED * from.max(to) as f64 {
            return None;
        }
        let mut parts: Vec<String> =
            main.iter().map(|change| format!("{} {}", change.name(), signed(us(change.difference())))).collect();
        let rest = sum - main.iter().map(|change| us(change.difference())).sum::<i64>();
        if rest != 0 {
            parts.push(format!("the rest {}", signed(rest)));
        }
        Some(parts.join(", "))
    }
}

/// A time on both sides in µs, and its difference.
fn moved([from, to]: [i64; 2]) -> String {
    format!("{} -> {} ms, {}", ms(from), ms(to), signed(to - from))
}

/// Whole microseconds.
fn us(ns: i64) -> i64 {
    (ns as f64 / 1e3).round() as i64
}

/// Microseconds as milliseconds.
fn ms(us: i64) -> String {
    format!("{}{}.{:03}", if us < 0 { "-" } else { "" }, us.abs() / 1000, us.abs() % 1000)
}

fn signed(us: i64) -> String {
    if us < 0 { ms(us) } else { format!("+{}", ms(us)) }
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
            at_work: [f64; 2],
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
            difference_ms: ms(change.difference()),
            share: self.share(change),
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
