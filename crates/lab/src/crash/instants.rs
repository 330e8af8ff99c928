//! The instants at which a session's power is cut: at ends of flushes, where writes reach the medium, and at random.

use std::collections::BTreeMap;

use seekwise_model::block::{LandingKind, Op, Status};
use seekwise_model::history::{History, HistoryEvent};
use seekwise_model::rng::{Rng, Seed};
use seekwise_model::time::{Instant, Span};
use serde::Serialize;

/// The reason for an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum InstantReason {
    /// A flush has just completed.
    Flushed,
    /// A flush is about to complete.
    Unflushed,
    /// Sectors have just reached the medium.
    Landed,
    /// Drawn evenly over the session.
    Drawn,
}

impl InstantReason {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            InstantReason::Flushed => "a flush has completed",
            InstantReason::Unflushed => "a flush is about to complete",
            InstantReason::Landed => "a write has reached the medium",
            InstantReason::Drawn => "anywhere",
        }
    }
}

/// `n` different instants in `span`, in order: half of them on both sides of the ends of flushes (all, if there are so
/// few), a quarter where writes reach the medium, the rest drawn evenly. If there are too many, the seed's stream `cut`
/// selects. Fewer only if the span has fewer nanoseconds.
pub fn choose(history: &History, span: (Instant, Instant), n: usize, seed: Seed) -> Vec<(Instant, InstantReason)> {
    let mut chance = seed.stream("cut");
    let inside = |at: &Instant| span.0 <= *at && *at <= span.1;
    let (mut flushes, mut landings) = (Vec::new(), Vec::new());
    for event in &history.events {
        match event {
            HistoryEvent::Over(request, over) if request.op == Op::Flush && over.status == Status::Done => {
                flushes.push((before(over.finished), InstantReason::Unflushed));
                flushes.push((over.finished, InstantReason::Flushed));
            }
            HistoryEvent::Landed(landing) if landing.kind == LandingKind::Landed => {
                landings.push((landing.to, InstantReason::Landed))
            }
            _ => {}
        }
    }
    let mut chosen = BTreeMap::new();
    for (mut some, most) in [(flushes, n / 2), (landings, n / 2 + n / 4)] {
        some.retain(|(at, _)| inside(at));
        some.sort_unstable();
        some.dedup_by_key(|it| it.0);
        draw(&mut some, most, &mut chosen, &mut chance);
    }
    let length = span.1.since(span.0).nanos().saturating_add(1);
    let all = (n as u64).min(length) as usize;
    while chosen.len() < all {
        chosen.entry(span.0 + Span::from_nanos(chance.below(length))).or_insert(InstantReason::Drawn);
    }
    chosen.into_iter().collect()
}

/// Moves some of `from` to `to`, until there are `most` or none is left.
fn draw(
    from: &mut Vec<(Instant, InstantReason)>,
    most: usize,
    to: &mut BTreeMap<Instant, InstantReason>,
    chance: &mut Rng,
) {
    while to.len() < most && !from.is_empty() {
        let (at, why) = from.swap_remove(chance.below(from.len() as u64) as usize);
        to.entry(at).or_insert(why);
    }
}

fn before(at: Instant) -> Instant {
    Instant::from_nanos(at.nanos().saturating_sub(1))
}
