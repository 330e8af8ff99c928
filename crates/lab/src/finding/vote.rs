//! At which places of its range a claim holds, and how far its figures are from its bounds. Computes no figure: `evaluate`
//! does.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::evaluate::EvaluatedCheck;

/// The places of a range at which all checks of a claim hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RangeVote {
    pub holds: Vec<String>,
    /// Places where a check fails.
    pub fails: Vec<String>,
    /// Places where the checks decide nothing.
    pub open: Vec<String>,
}

impl RangeVote {
    /// Where in a range all `checks` hold; without a range there is one place. A place where one of `decided` fails is
    /// open. `None` without checks, or if one has no answer.
    pub(super) fn from_checks(checks: &[EvaluatedCheck], decided: &[EvaluatedCheck]) -> Option<RangeVote> {
        let all = |checks: &[EvaluatedCheck], place: &str| {
            let here = checks.iter().filter(|check| check.place == place);
            here.map(|check| check.holds).try_fold(true, |so_far, holds| Some(so_far && holds?))
        };
        let mut vote = RangeVote::default();
        for place in distinct_places(checks) {
            let side = match (all(decided, place)?, all(checks, place)?) {
                (false, _) => &mut vote.open,
                (true, true) => &mut vote.holds,
                (true, false) => &mut vote.fails,
            };
            side.push(place.to_owned());
        }
        Some(vote).filter(|_| !checks.is_empty())
    }

    /// The answer of more than half of all places; `None` if neither side has so many.
    pub fn majority_answer(&self) -> Option<bool> {
        let more_than_half = |side: &Vec<String>| 2 * side.len() > self.place_count();
        match (more_than_half(&self.holds), more_than_half(&self.fails)) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }

    fn place_count(&self) -> usize {
        self.holds.len() + self.fails.len() + self.open.len()
    }

    /// The places that hold, and all: `3 of 4`.
    pub fn count_text(&self) -> String {
        format!("{} of {}", self.holds.len(), self.place_count())
    }
}

impl fmt::Display for RangeVote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "all checks hold at {} places of the range", self.count_text())?;
        for (word, places) in [("holds at", &self.holds), ("fails at", &self.fails), ("decides nothing at", &self.open)]
        {
            if !places.is_empty() {
                write!(f, "; {word} {}", places.join(" | "))?;
            }
        }
        Ok(())
    }
}

/// The places of checks, in order.
fn distinct_places(checks: &[EvaluatedCheck]) -> Vec<&str> {
    let mut places: Vec<&str> = Vec::new();
    for check in checks {
        if !places.contains(&check.place.as_str()) {
            places.push(&check.place);
        }
    }
    places
}

/// How far a claim is from its bounds: its worst check at the place of the range that would have to change its side for
/// the answer to change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoundDistance {
    /// The check, at its levels.
    pub of: String,
    pub value: String,
    pub wanted: String,
    /// A share of the bound: beyond it if positive, to spare if negative. `None` for an order, which has no bound.
    pub share: Option<f64>,
}

/// The value, what was wanted, and how far it is from that.
impl fmt::Display for BoundDistance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wanted = if self.wanted.is_empty() { String::new() } else { format!(", wanted {}", self.wanted) };
        let far = match self.share {
            Some(share) if share > 0.0 => format!("{:.1} % beyond its bound", 100.0 * share),
            Some(share) => format!("{:.1} % to spare", (-100.0 * share).abs()),
            None => "an order, which has no bound".to_owned(),
        };
        write!(f, "{}{wanted} ({far})", self.value)
    }
}

impl BoundDistance {
    /// Finds the deciding check; `None` without checks, or if one has no answer.
    pub(super) fn from_checks(checks: &[EvaluatedCheck]) -> Option<BoundDistance> {
        let worst = |place: &str| {
            let here = checks.iter().filter(|check| check.place == place);
            here.max_by(|a, b| distance_or_infinity(a).total_cmp(&distance_or_infinity(b)))
        };
        checks.iter().try_for_each(|check| check.holds.map(|_| ()))?;
        let mut worst: Vec<&EvaluatedCheck> = distinct_places(checks).into_iter().filter_map(worst).collect();
        worst.sort_by(|a, b| distance_or_infinity(a).total_cmp(&distance_or_infinity(b)));
        // If more than half of the places, up to this one, hold, the answer is yes.
        let decisive = worst.get(worst.len() / 2)?;
        let at = if decisive.at.is_empty() { String::new() } else { format!("{}: ", decisive.at) };
        Some(BoundDistance {
            of: format!("{at}{}", decisive.of),
            value: decisive.value.clone(),
            wanted: decisive.wanted.clone(),
            share: Some(distance_or_infinity(decisive)).filter(|share| share.is_finite()),
        })
    }

    /// True if it misses, by at most this share of the bound.
    pub fn is_near_miss(&self, within: f64) -> bool {
        self.share.is_some_and(|share| share > 0.0 && share <= within)
    }
}

/// A check's distance; infinite for an order.
fn distance_or_infinity(check: &EvaluatedCheck) -> f64 {
    match (check.distance, check.holds) {
        // A check that fails at a bound of 0 has no share to measure.
        (Some(distance), Some(false)) if distance < 0.0 => f64::INFINITY,
        (Some(distance), _) => distance,
        (None, Some(true)) => f64::NEG_INFINITY,
        (None, _) => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(place: &str, holds: Option<bool>, distance: Option<f64>) -> EvaluatedCheck {
        let (at, value, wanted) = Default::default();
        EvaluatedCheck { place: place.to_owned(), of: place.to_owned(), at, value, wanted, holds, distance }
    }

    fn vote(holds: &[(&str, bool)], decided: &[(&str, bool)]) -> RangeVote {
        let all = |of: &[(&str, bool)]| -> Vec<EvaluatedCheck> {
            of.iter().map(|&(place, holds)| checked(place, Some(holds), None)).collect()
        };
        RangeVote::from_checks(&all(holds), &all(decided)).unwrap()
    }

    #[test]
    fn a_range_votes_by_its_places() {
        // A place counts once, however many checks there are, and only if all of them hold there.
        let two = vote(&[("a", true), ("b", true), ("a", false), ("b", true)], &[]);
        assert_eq!((two.holds.join(""), two.fails.join("")), ("b".to_owned(), "a".to_owned()));
        assert_eq!(two.majority_answer(), None, "as many for as against decide nothing");
        assert_eq!(two.to_string(), "all checks hold at 1 of 2 places of the range; holds at b; fails at a");
        assert_eq!(vote(&[("a", true), ("b", false), ("c", true)], &[]).majority_answer(), Some(true));
        assert_eq!(vote(&[("a", true), ("b", false), ("c", false)], &[]).majority_answer(), Some(false));
        assert_eq!(vote(&[("", true)], &[]).majority_answer(), Some(true));
        assert_eq!(vote(&[("", true), ("", false)], &[]).majority_answer(), Some(false));
    }

    #[test]
    fn a_place_where_chance_decides_is_open() {
        let one = vote(&[("a", true), ("b", false), ("c", true)], &[("a", true), ("b", true), ("c", false)]);
        assert_eq!((one.open.join(""), one.majority_answer()), ("c".to_owned(), None));
        assert_eq!(vote(&[("", false)], &[("", false)]).majority_answer(), None);
        assert_eq!(vote(&[("", false)], &[("", true)]).majority_answer(), Some(false));
    }

    #[test]
    fn no_vote_without_an_answer() {
        assert_eq!(RangeVote::from_checks(&[], &[]), None);
        assert_eq!(RangeVote::from_checks(&[checked("a", Some(true), None), checked("b", None, None)], &[]), None);
    }

    #[test]
    fn the_distance_is_that_of_the_place_which_would_have_to_change() {
        let of = |checks: &[(&str, bool, Option<f64>)]| {
            let checks: Vec<_> = checks.iter().map(|&(place, holds, by)| checked(place, Some(holds), by)).collect();
            let found = BoundDistance::from_checks(&checks).unwrap();
            (found.of.clone(), found.share, found.is_near_miss(0.1))
        };
        // The worst check of one place.
        assert_eq!(of(&[("a", true, Some(-0.5)), ("a", false, Some(0.04))]), ("a".to_owned(), Some(0.04), true));
        // An order that fails is no near miss, whatever else is near.
        assert_eq!(of(&[("a", false, None), ("a", false, Some(0.04))]), ("a".to_owned(), None, false));
        // Two of three places are needed, so the second nearest counts.
        let three = [("a", false, Some(0.3)), ("b", true, Some(-0.2)), ("c", false, Some(0.05))];
        assert_eq!(of(&three), ("c".to_owned(), Some(0.05), true));
        assert_eq!(of(&[("a", true, Some(-0.2))]), ("a".to_owned(), Some(-0.2), false));
    }
}
