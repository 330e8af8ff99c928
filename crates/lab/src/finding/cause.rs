//! Which parts of the mean response changed between two sides, and their shares of the difference.
//!
//! These are means over runs, each part in whole nanoseconds: a response here is the sum of its parts, so the
//! differences of the parts add up exactly to the difference of the responses.

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

/// Parts in which a request waits for others. With a fixed number of requests outstanding they follow from the rest:
/// each waits for the work of those before it.
const WAITING: [Part; 3] = [Part::Driver, Part::Flush, Part::Queue];

/// A part of the mean response on both sides, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartChange {
    pub part: Part,
    /// On the base's side.
    pub from: i64,
    /// On the other side.
    pub to: i64,
}

/// A mean response by parts on both sides: the parts that either side has, in the order in which a request meets them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The requests, in words.
    pub of: String,
    pub parts: Vec<PartChange>,
}

impl PartChange {
    /// What it adds to the difference, in ns.
    pub fn difference(&self) -> i64 {
        self.to - self.from
    }

    /// True if a request waits for others in it.
    pub fn waits(&self) -> bool {
        WAITING.contains(&self.part)
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

/// The mean of each part over runs, in ns; `None` if a part is longer than [`LONGEST`].
fn mean(whose: &MetricScope, runs: &[&RunRecord]) -> Option<[i64; Part::COUNT]> {
    let parts: Vec<_> = runs.iter().map(|run| parts(whose, run)).collect::<Option<_>>()?;
    let of = |part: Part| {
        let sum: f64 = parts.iter().map(|parts| parts.get(part)).sum();
        (sum * 1e6 / parts.len() as f64).round()
    };
    let means = Part::ALL.map(of);
    let sound = !parts.is_empty() && means.iter().all(|mean| mean.abs() <= LONGEST);
    sound.then(|| means.map(|mean| mean as i64))
}

impl Cause {
    /// The cause between the runs of two sides; `None` if one has no such request, or keeps no parts.
    pub fn between(whose: &MetricScope, from: &[&RunRecord], to: &[&RunRecord]) -> Option<Cause> {
        let (from, to) = (mean(whose, from)?, mean(whose, to)?);
        let changes = Part::ALL.into_iter().zip(from.into_iter().zip(to));
        let parts = changes.map(|(part, (from, to))| PartChange { part, from, to });
        let parts = parts.filter(|change| change.from != 0 || change.to != 0).collect();
        Some(Cause { of: requests(whose), parts })
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

    /// The parts of waiting, or of the work itself, that make its difference, the largest first.
    fn main(&self, waits: bool) -> Vec<PartChange> {
        let own = || self.parts.iter().filter(|change| change.waits() == waits);
        let most = own().map(|change| change.difference().abs()).max().unwrap_or(0);
        let named =
            |change: &&PartChange| change.difference() != 0 && change.difference().abs() as f64 >= NAMED * most as f64;
        let mut main: Vec<PartChange> = own().filter(named).copied().collect();
        main.sort_by_key(|change| -change.difference().abs());
        main
    }

    /// In one sentence: what the waiting and what the work itself adds, and which parts of each. Parts without a name
    /// are *the rest*, so that the printed figures add up.
    pub fn text(&self) -> String {
        let (from, to) = (us(self.from()), us(self.to()));
        let head = format!("mean response of {} {} -> {} ms", self.of, ms(from), ms(to));
        let waiting: i64 = self.parts.iter().filter(|change| change.waits()).map(PartChange::difference).sum();
        let sums = [(true, "waiting", us(waiting)), (false, "own work", to - from - us(waiting))];
        let said: Vec<String> = sums.into_iter().filter_map(|(waits, word, sum)| self.side(waits, word, sum)).collect();
        match said.is_empty() {
            true => format!("{head}: no part of it changed"),
            false => format!("{head}, {} ms: {}", signed(to - from), said.join("; ")),
        }
    }

    /// What waiting, or the work itself, adds: `sum` in µs.
    fn side(&self, waits: bool, word: &str, sum: i64) -> Option<String> {
        let own = || self.parts.iter().filter(move |change| change.waits() == waits);
        let most = own().map(|change| change.from).sum::<i64>().max(own().map(|change| change.to).sum());
        let moved = own().map(|change| change.difference().abs()).max().unwrap_or(0);
        let main: Vec<PartChange> =
            self.main(waits).into_iter().filter(|change| us(change.difference()) != 0).collect();
        if main.is_empty() || (moved as f64) < CHANGED * most as f64 {
            return None;
        }
        let mut parts: Vec<String> =
            main.iter().map(|change| format!("{} {}", change.part.name(), signed(us(change.difference())))).collect();
        let rest = sum - main.iter().map(|change| us(change.difference())).sum::<i64>();
        if rest != 0 {
            parts.push(format!("the rest {}", signed(rest)));
        }
        let share = self.share_of(own().map(PartChange::difference).sum());
        let share = share.map_or(String::new(), |share| format!(", {:.0} %", share * 100.0));
        Some(format!("{word} {}{share} ({})", signed(sum), parts.join(", ")))
    }
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
        struct Whole<'a> {
            of: &'a str,
            from_ms: f64,
            to_ms: f64,
            difference_ms: f64,
            parts: Vec<Row>,
            text: String,
        }
        let ms = |ns: i64| ns as f64 / 1e6;
        let row = |change: &PartChange| Row {
            part: change.part.name(),
            waits: change.waits(),
            from_ms: ms(change.from),
            to_ms: ms(change.to),
            difference_ms: ms(change.difference()),
            share: self.share(change),
        };
        let (from, to) = (self.from(), self.to());
        let parts = self.parts.iter().map(row).collect();
        let (from_ms, to_ms, difference_ms) = (ms(from), ms(to), ms(to - from));
        Whole { of: &self.of, from_ms, to_ms, difference_ms, parts, text: self.text() }.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(parts: &[(Part, i64, i64)]) -> Cause {
        let parts = parts.iter().map(|&(part, from, to)| PartChange { part, from, to }).collect();
        Cause { of: "reads".to_owned(), parts }
    }

    #[test]
    fn parts_add_up_to_the_difference_as_computed_and_as_printed() {
        let cause = cause(&[
            (Part::Queue, 0, 70_123_456),
            (Part::Seek, 4_000_400, 3_500_900),
            (Part::Rotation, 4_100_400, 4_100_900),
            (Part::Link, 30_400, 30_400),
        ]);
        let sum: i64 = cause.parts.iter().map(PartChange::difference).sum();
        assert_eq!(sum, cause.to() - cause.from());
        // 70.123 - 0.498 makes the figure before the colon, and each bracket the figure before it.
        assert_eq!(
            cause.text(),
            "mean response of reads 8.131 -> 77.756 ms, +69.625 ms: waiting +70.123, 101 % (queue +70.123); \
             own work -0.498, -1 % (seek -0.500, the rest +0.002)"
        );
    }

    #[test]
    fn shares_of_what_cancels_are_not_said() {
        let cause = cause(&[(Part::Queue, 9_000_000, 1_000_000), (Part::Driver, 0, 7_900_000)]);
        assert_eq!(cause.share(&cause.parts[0]), None);
        assert!(cause.text().ends_with("-0.100 ms: waiting -0.100 (queue -8.000, driver +7.900)"), "{}", cause.text());
    }

    #[test]
    fn equal_sides_have_no_cause() {
        let text = cause(&[(Part::Queue, 5_000, 5_000)]).text();
        assert_eq!(text, "mean response of reads 0.005 -> 0.005 ms: no part of it changed");
    }
}
