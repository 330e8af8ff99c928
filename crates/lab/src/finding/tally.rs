//! The outcomes of a comparison's cells, counted, and the one rule for the verdict over several cells.

use crate::outcome::{DifferenceWords, Outcome};

/// A cell of a comparison, with the levels that tell it from the others.
#[derive(Clone, Debug, PartialEq)]
pub struct CellCase {
    /// The other factors with their levels.
    pub levels: Vec<(String, String)>,
    pub outcome: Outcome,
    pub ratio: f64,
}

/// Number of cells of each outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CellTally {
    pub better: usize,
    pub worse: usize,
    pub same: usize,
    pub undecided: usize,
    /// The ratio of the cell that is furthest ahead, of those that are surely better.
    pub best: Option<f64>,
    /// The ratio of the cell that is furthest behind, of those that are surely worse.
    pub worst: Option<f64>,
}

impl CellTally {
    /// Counts cells, each with its outcome and its ratio.
    pub(crate) fn from_cells(cells: impl Iterator<Item = (Outcome, f64)>) -> CellTally {
        cells.fold(CellTally::default(), |so_far, (outcome, ratio)| {
            so_far.merged_with(CellTally::single_cell(outcome, ratio))
        })
    }

    fn single_cell(outcome: Outcome, ratio: f64) -> CellTally {
        let none = CellTally::default();
        match outcome {
            Outcome::Faster => CellTally { better: 1, best: Some(ratio), ..none },
            Outcome::Slower => CellTally { worse: 1, worst: Some(ratio), ..none },
            Outcome::NoDifference => CellTally { same: 1, ..none },
            _ => CellTally { undecided: 1, ..none },
        }
    }

    /// Adds the counts of `other`, whose ratios are of the same metric.
    pub fn merged_with(self, other: CellTally) -> CellTally {
        let further = |one: Option<f64>, other: Option<f64>| match (one, other) {
            (Some(one), Some(other)) => Some(if other.ln().abs() > one.ln().abs() { other } else { one }),
            _ => one.or(other),
        };
        CellTally {
            better: self.better + other.better,
            worse: self.worse + other.worse,
            same: self.same + other.same,
            undecided: self.undecided + other.undecided,
            best: further(self.best, other.best),
            worst: further(self.worst, other.worst),
        }
    }

    /// Number of cells.
    pub(crate) fn cell_count(self) -> usize {
        self.better + self.worse + self.same + self.undecided
    }

    /// The rule: *mixed* if some are surely better and others surely worse; undecided if more than half are; else what the
    /// decided ones say.
    pub fn outcome(self) -> Outcome {
        match self {
            CellTally { better, worse, .. } if better > 0 && worse > 0 => Outcome::Mixed,
            CellTally { undecided, .. } if 2 * undecided > self.cell_count() => Outcome::NotEnoughData,
            CellTally { better: 1.., .. } => Outcome::Faster,
            CellTally { worse: 1.., .. } => Outcome::Slower,
            CellTally { same: 1.., .. } => Outcome::NoDifference,
            _ => Outcome::NotEnoughData,
        }
    }

    /// True if a gain or a loss is too slight for a colour, which is seen before any word and taken for all cells: fewer than half of the
    /// cells have it, and the mean ratio of all does not exceed the margin (0.02 for ±2 %) in that direction. Half is where the words
    /// change too: they say what most cells do.
    pub(crate) fn is_slight(self, mean: f64, margin: f64) -> bool {
        let (count, furthest) = match self.outcome() {
            Outcome::Faster => (self.better, self.best),
            Outcome::Slower => (self.worse, self.worst),
            _ => return false,
        };
        let way = furthest.map_or(0.0, |ratio| ratio.ln().signum());
        2 * count < self.cell_count() && mean.ln() * way <= margin.ln_1p()
    }

    /// The outcome in words, with the number of cells that have it if not all: `faster in 2 of 3`, `mixed: faster in 4, slower in 2 of 9`.
    pub(crate) fn outcome_words(self, words: DifferenceWords) -> String {
        let (word, count) = match self.outcome() {
            Outcome::Faster => (words.outcome_word(Outcome::Faster), self.better),
            Outcome::Slower => (words.outcome_word(Outcome::Slower), self.worse),
            Outcome::NoDifference => (Outcome::NoDifference.name(), self.same),
            Outcome::NotEnoughData => (UNDECIDED, self.undecided),
            other => {
                let [better, worse] = [Outcome::Faster, Outcome::Slower].map(|outcome| words.outcome_word(outcome));
                return format!(
                    "{}: {better} in {}, {worse} in {} of {}",
                    other.name(),
                    self.better,
                    self.worse,
                    self.cell_count()
                );
            }
        };
        match self.cell_count() {
            all if all == count => word.to_owned(),
            all => format!("{word} in {count} of {all}"),
        }
    }
}

/// The word for cells with too little data.
pub const UNDECIDED: &str = "undecided";

#[cfg(test)]
mod tests {
    use seekwise_drives::metric::IOPS;

    use super::*;
    use Outcome::{Faster, Mixed, NoDifference, NotEnoughData, Slower};

    fn said(better: usize, worse: usize, same: usize, undecided: usize) -> (Outcome, String) {
        let of = |outcome, count, ratio| std::iter::repeat_n((outcome, ratio), count);
        let cells = of(Faster, better, 1.2).chain(of(Slower, worse, 0.8)).chain(of(NoDifference, same, 1.0));
        let tally = CellTally::from_cells(cells.chain(of(NotEnoughData, undecided, 1.0)));
        (tally.outcome(), tally.outcome_words(DifferenceWords::for_metric(&IOPS)))
    }

    #[test]
    fn one_rule_tells_no_difference_from_undecided() {
        assert_eq!(said(0, 0, 1, 5), (NotEnoughData, "undecided in 5 of 6".to_owned()));
        assert_eq!(said(1, 0, 0, 11), (NotEnoughData, "undecided in 11 of 12".to_owned()));
        assert_eq!(said(0, 0, 0, 3), (NotEnoughData, "undecided".to_owned()));
        assert_eq!(said(0, 0, 2, 1), (NoDifference, "no difference in 2 of 3".to_owned()));
        assert_eq!(said(0, 0, 3, 3), (NoDifference, "no difference in 3 of 6".to_owned()));
        assert_eq!(said(0, 0, 3, 0), (NoDifference, "no difference".to_owned()));
        assert_eq!(said(1, 0, 17, 0), (Faster, "faster in 1 of 18".to_owned()));
        assert_eq!(said(0, 2, 0, 2), (Slower, "slower in 2 of 4".to_owned()));
        assert_eq!(said(4, 0, 0, 0), (Faster, "faster".to_owned()));
        assert_eq!(said(1, 1, 0, 9), (Mixed, "mixed: faster in 1, slower in 1 of 11".to_owned()));
        assert_eq!(said(0, 0, 0, 0).0, NotEnoughData);
    }

    #[test]
    fn a_colour_is_for_what_most_cells_say_or_all_of_them_together() {
        let slight = |better, worse, same, gain: f64, mean: f64| {
            let of = |outcome, count, ratio| std::iter::repeat_n((outcome, ratio), count);
            let cells = of(Faster, better, gain).chain(of(Slower, worse, gain)).chain(of(NoDifference, same, 1.0));
            CellTally::from_cells(cells).is_slight(mean, 0.02)
        };
        assert!(slight(1, 0, 17, 1.02, 1.003), "one of eighteen, and all together are equal");
        assert!(!slight(24, 0, 30, 1.3, 1.08), "a minority, but all together are faster");
        assert!(!slight(9, 0, 9, 1.02, 1.01), "half of them");
        assert!(!slight(4, 0, 0, 1.02, 1.01) && !slight(1, 0, 0, 1.01, 1.01));
        // Less is better: the same by the other side of 1, and what the undecided ones pull to the wrong side is no gain.
        assert!(!slight(1, 0, 2, 0.5, 0.8));
        assert!(slight(1, 0, 2, 0.9, 0.99) && slight(1, 0, 2, 0.9, 1.1));
        assert!(slight(0, 1, 17, 0.98, 0.999) && !slight(0, 1, 2, 0.5, 0.8), "and losses");
        assert!(!slight(1, 1, 16, 1.02, 1.0) && !slight(0, 0, 18, 1.0, 1.0), "they have no such colour");
    }

    #[test]
    fn the_extremes_are_those_of_sure_cells() {
        let times =
            CellTally::from_cells([(Faster, 0.5), (Faster, 0.8), (NotEnoughData, 0.1), (Slower, 1.1)].into_iter());
        assert_eq!((times.best, times.worst), (Some(0.5), Some(1.1)));
        let both = times.merged_with(CellTally::from_cells([(Faster, 0.4)].into_iter()));
        assert_eq!((both.best, both.better, both.cell_count()), (Some(0.4), 3, 5));
    }
}
