//! The instants at which a session's power is cut: at ends of flushes, while sectors reach the medium, after promises, and
//! at random.

use std::collections::BTreeMap;

use seekwise_disk::block::{LandingKind, Op, Status};
use seekwise_disk::history::{History, HistoryEvent, HistoryMark};
use seekwise_disk::rng::{Rng, Seed};
use seekwise_disk::time::{Instant, Span};
use serde::Serialize;

/// The reason for an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum InstantReason {
    /// A flush has just completed.
    Flushed,
    /// A flush is about to complete.
    Unflushed,
    /// Sectors are reaching the medium.
    Landing,
    /// A promise has just been made.
    Promised,
    /// Drawn evenly over the session.
    Drawn,
}

impl InstantReason {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            InstantReason::Flushed => "a flush has completed",
            InstantReason::Unflushed => "a flush is about to complete",
            InstantReason::Landing => "a write is reaching the medium",
            InstantReason::Promised => "a promise has been made",
            InstantReason::Drawn => "anywhere",
        }
    }
}

/// How instants are weighted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum InstantWeights {
    /// A quarter at ends of flushes, one evenly over the time of landings, one just after promises, the rest evenly over
    /// the session.
    #[default]
    Mixed,
    /// All evenly over the session, as power fails.
    Time,
}

/// `n` different instants in `span`, in order. [`InstantWeights::Mixed`]: a quarter of them on both sides of the ends of
/// flushes (all, if there are so few), one evenly over the time in which the heads write, one just after promises (all, if
/// there are so few), the rest evenly over the session. The seed's stream `cut` draws. Fewer only if the span has fewer
/// nanoseconds.
pub fn choose_instants(
    history: &History,
    span: (Instant, Instant),
    n: usize,
    weights: InstantWeights,
    seed: Seed,
) -> Vec<(Instant, InstantReason)> {
    let mut chance = seed.stream("cut");
    let mut chosen = BTreeMap::new();
    if weights == InstantWeights::Mixed {
        draw_from(flush_ends(history), span, n / 4, &mut chosen, &mut chance);
        draw_from(promise_instants(history), span, n / 4, &mut chosen, &mut chance);
        draw_landings(&landing_intervals(history, span), n / 4, &mut chosen, &mut chance);
    }
    let length = span.1.since(span.0).nanos().saturating_add(1);
    let all = (n as u64).min(length) as usize;
    while chosen.len() < all {
        chosen.entry(span.0 + Span::from_nanos(chance.below(length))).or_insert(InstantReason::Drawn);
    }
    chosen.into_iter().collect()
}

/// The last instant of each completed flush, and the one before it.
fn flush_ends(history: &History) -> Vec<(Instant, InstantReason)> {
    let mut ends = Vec::new();
    for event in &history.events {
        match event {
            HistoryEvent::Over(request, over) if request.op == Op::Flush && over.status == Status::Done => {
                ends.push((instant_before(over.finished), InstantReason::Unflushed));
                ends.push((over.finished, InstantReason::Flushed));
            }
            _ => {}
        }
    }
    ends
}

/// When each promise was made.
fn promise_instants(history: &History) -> Vec<(Instant, InstantReason)> {
    let said = history.marks.iter().filter(|(_, mark)| matches!(mark, HistoryMark::Said(_)));
    said.map(|(at, _)| (*at, InstantReason::Promised)).collect()
}

/// The time of each landing in the span, without its two ends: there the write is whole or has not begun.
fn landing_intervals(history: &History, span: (Instant, Instant)) -> Vec<(Instant, Instant)> {
    let inside = |event: &HistoryEvent| match event {
        HistoryEvent::Landed(landing) if landing.kind == LandingKind::Landed => {
            let (from, to) = ((landing.from + Span::from_nanos(1)).max(span.0), landing.to.min(span.1));
            (from < to).then_some((from, to))
        }
        _ => None,
    };
    history.events.iter().filter_map(inside).collect()
}

/// The time that all landings of a history take within its span; drives of an array count one by one.
pub fn landing_time(history: &History, span: (Instant, Instant)) -> Span {
    landing_intervals(history, span).iter().fold(Span::ZERO, |sum, (from, to)| sum + to.since(*from))
}

/// Draws `most` instants evenly over these times; fewer if they repeat.
fn draw_landings(
    times: &[(Instant, Instant)],
    most: usize,
    to: &mut BTreeMap<Instant, InstantReason>,
    chance: &mut Rng,
) {
    // Where each begins, if all stood one behind another.
    let mut begins = Vec::with_capacity(times.len());
    let mut all = 0;
    for (from, end) in times {
        begins.push(all);
        all += end.since(*from).nanos();
    }
    for _ in 0..if all == 0 { 0 } else { most } {
        let drawn = chance.below(all);
        let place = begins.partition_point(|begin| *begin <= drawn) - 1;
        to.entry(times[place].0 + Span::from_nanos(drawn - begins[place])).or_insert(InstantReason::Landing);
    }
}

/// Draws `most` of these instants within the span; all of them if there are fewer.
fn draw_from(
    mut from: Vec<(Instant, InstantReason)>,
    span: (Instant, Instant),
    most: usize,
    to: &mut BTreeMap<Instant, InstantReason>,
    chance: &mut Rng,
) {
    from.retain(|(at, _)| span.0 <= *at && *at <= span.1 && !to.contains_key(at));
    from.sort_unstable();
    from.dedup_by_key(|it| it.0);
    let enough = to.len() + most;
    while to.len() < enough && !from.is_empty() {
        let (at, why) = from.swap_remove(chance.below(from.len() as u64) as usize);
        to.insert(at, why);
    }
}

fn instant_before(at: Instant) -> Instant {
    Instant::from_nanos(at.nanos().saturating_sub(1))
}

#[cfg(test)]
mod tests;
