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

/// The weights of instants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum InstantWeights {
    /// A quarter at ends of flushes, a quarter evenly over the time of landings, a quarter just after promises, the rest evenly over
    /// the session.
    #[default]
    Mixed,
    /// All evenly over the session, as power fails.
    Time,
}

/// An instant, and the reason for it.
pub type InstantWithReason = (Instant, InstantReason);

/// Draws `count` different instants in `span`, in order; fewer only if the span has fewer nanoseconds. With [`InstantWeights::Mixed`] a
/// quarter is on both sides of the ends of flushes (all ends, if there are so few), a quarter evenly over the time in which the heads write,
/// a quarter just after promises (all, if there are so few), the rest evenly over the session. The seed's stream `cut` draws.
pub fn choose_instants(
    history: &History,
    span: (Instant, Instant),
    count: usize,
    weights: InstantWeights,
    seed: Seed,
) -> Vec<InstantWithReason> {
    let mut rng = seed.stream("cut");
    let mut chosen = BTreeMap::new();
    if weights == InstantWeights::Mixed {
        draw_candidates(flush_ends(history), span, count / 4, &mut chosen, &mut rng);
        draw_candidates(promise_instants(history), span, count / 4, &mut chosen, &mut rng);
        draw_within_landings(&landing_intervals(history, span), count / 4, &mut chosen, &mut rng);
    }
    let length = span.1.since(span.0).nanos().saturating_add(1);
    let total = (count as u64).min(length) as usize;
    while chosen.len() < total {
        chosen.entry(span.0 + Span::from_nanos(rng.below(length))).or_insert(InstantReason::Drawn);
    }
    chosen.into_iter().collect()
}

/// The last instant of each completed flush, and the one before it.
fn flush_ends(history: &History) -> Vec<InstantWithReason> {
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

/// The instant of each promise.
fn promise_instants(history: &History) -> Vec<InstantWithReason> {
    let promises = history.marks.iter().filter(|(_, mark)| matches!(mark, HistoryMark::Said(_)));
    promises.map(|(at, _)| (*at, InstantReason::Promised)).collect()
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

/// Adds `count` instants, drawn evenly over the time of landings, to `chosen`; fewer if draws repeat.
fn draw_within_landings(
    landings: &[(Instant, Instant)],
    count: usize,
    chosen: &mut BTreeMap<Instant, InstantReason>,
    rng: &mut Rng,
) {
    // The nanosecond at which each begins, if all stood one behind another.
    let mut begins = Vec::with_capacity(landings.len());
    let mut total = 0;
    for (from, end) in landings {
        begins.push(total);
        total += end.since(*from).nanos();
    }
    for _ in 0..if total == 0 { 0 } else { count } {
        let drawn = rng.below(total);
        let index = begins.partition_point(|begin| *begin <= drawn) - 1;
        chosen.entry(landings[index].0 + Span::from_nanos(drawn - begins[index])).or_insert(InstantReason::Landing);
    }
}

/// Adds `count` of the candidates within the span to `chosen`; all of them if there are fewer.
fn draw_candidates(
    mut candidates: Vec<InstantWithReason>,
    span: (Instant, Instant),
    count: usize,
    chosen: &mut BTreeMap<Instant, InstantReason>,
    rng: &mut Rng,
) {
    candidates.retain(|(at, _)| span.0 <= *at && *at <= span.1 && !chosen.contains_key(at));
    candidates.sort_unstable();
    candidates.dedup_by_key(|candidate| candidate.0);
    let enough = chosen.len() + count;
    while chosen.len() < enough && !candidates.is_empty() {
        let (at, why) = candidates.swap_remove(rng.below(candidates.len() as u64) as usize);
        chosen.insert(at, why);
    }
}

/// The nanosecond before an instant.
pub(super) fn instant_before(at: Instant) -> Instant {
    Instant::from_nanos(at.nanos().saturating_sub(1))
}

#[cfg(test)]
mod tests;
