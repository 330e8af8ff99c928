//! Which level of a factor is best for a kind of work, and how far the others are behind. Compares no two studies.

use seekwise_formats::study::BestQuestion;

use super::Evidence;
use crate::evaluate::StudyResults;
use crate::stats::{Interval, mean_interval};

/// The answer to a question for the best level.
#[derive(Clone, Debug, PartialEq)]
pub struct BestLevel {
    /// The place of the best level among the factor's.
    pub best: usize,
    /// Each level's figure over that of the best, run by run on the same random numbers.
    pub shares: Vec<LevelShare>,
}

/// A level compared with the best.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelShare {
    pub level: String,
    /// The figure over that of the best level, with the 95 % interval over runs.
    pub ratio: Interval,
    /// True for the best, and for a level that is surely behind by no more than the study's margin.
    pub alike: bool,
}

impl BestLevel {
    /// Compares the levels' figures, each run by run; `None` if there are none. Ratios within `margin` of 1 count as equal.
    fn compare_levels(levels: &[String], figures: &[Vec<f64>], margin: f64) -> Option<BestLevel> {
        let mean = |runs: &Vec<f64>| runs.iter().sum::<f64>() / runs.len() as f64;
        let best = (0..figures.len()).max_by(|&a, &b| mean(&figures[a]).total_cmp(&mean(&figures[b])))?;
        let share = |(level, runs): (&String, &Vec<f64>)| {
            let ratios: Vec<f64> = runs.iter().zip(&figures[best]).map(|(own, best)| own / best).collect();
            let estimate = mean(&ratios);
            let alone = Interval { estimate, low: estimate, high: estimate };
            let ratio = mean_interval(&ratios, 0.05).unwrap_or(alone);
            LevelShare { level: level.clone(), ratio, alike: ratio.low >= 1.0 - margin }
        };
        Some(BestLevel { best, shares: levels.iter().zip(figures).map(share).collect() })
    }
}

impl Evidence<'_> {
    /// The best level for each kind of work that the study asks for; `None` if a cell has no runs.
    pub(crate) fn best_levels(&self) -> Vec<(&BestQuestion, Option<BestLevel>)> {
        let levels = self.made.cells.iter().map(|made| &made.cell.levels[..]).collect();
        let results = StudyResults::new(self.study, levels, Some(self.made), &self.by_cell);
        let answer = |question: &BestQuestion| {
            let factor = self.study.factor.iter().find(|factor| factor.name == question.factor)?;
            let names = factor.level_names();
            let figures = names.iter().map(|level| results.figure_at(&question.of, &factor.name, level));
            let figures: Vec<Vec<f64>> = figures.collect::<Option<_>>()?;
            BestLevel::compare_levels(&names, &figures, self.study.margin_percent / 100.0)
        };
        self.study.best.iter().map(|question| (question, answer(question))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_and_those_that_are_as_good() {
        let levels = ["4", "8", "16"].map(str::to_owned);
        let figures = [vec![50.0, 51.0, 49.0], vec![99.5, 101.0, 99.0], vec![100.0, 101.5, 99.5]];
        let answer = BestLevel::compare_levels(&levels, &figures, 0.02).unwrap();
        assert_eq!((answer.best, answer.shares.len()), (2, 3));
        let alike: Vec<bool> = answer.shares.iter().map(|share| share.alike).collect();
        assert_eq!(alike, [false, true, true]);
        assert!((answer.shares[0].ratio.estimate - 0.498).abs() < 0.001);
        assert_eq!(answer.shares[2].ratio.estimate, 1.0);
        // What scatters is no tie, whether its mean is far behind or near.
        for runs in [vec![60.0, 120.0, 90.0], vec![70.0, 128.0, 99.0]] {
            let scattered = BestLevel::compare_levels(&levels[..2], &[runs, vec![100.0; 3]], 0.02).unwrap();
            assert!(scattered.shares[0].ratio.high > 1.0 && !scattered.shares[0].alike);
        }
        assert_eq!(BestLevel::compare_levels(&[], &[], 0.02), None);
    }

    #[test]
    fn a_level_is_as_good_up_to_the_margin_itself() {
        let levels = ["a", "b", "c"].map(str::to_owned);
        // 75, 74 and 100 in every run: a share has no interval, and a quarter is the margin.
        let answer = BestLevel::compare_levels(&levels, &[vec![75.0; 3], vec![74.0; 3], vec![100.0; 3]], 0.25).unwrap();
        let alike: Vec<bool> = answer.shares.iter().map(|share| share.alike).collect();
        assert_eq!((alike, answer.best), (vec![true, false, true], 2));
        // Run by run: halves of the best's runs, whatever these are.
        let answer = BestLevel::compare_levels(&levels[..2], &[vec![5.0, 10.0], vec![10.0, 20.0]], 0.02).unwrap();
        assert_eq!(answer.shares[0].ratio, Interval { estimate: 0.5, low: 0.5, high: 0.5 });
        let once = BestLevel::compare_levels(&levels[..2], &[vec![99.0], vec![100.0]], 0.02).unwrap();
        assert_eq!((once.shares[0].ratio.low, once.shares[0].alike), (0.99, true), "a single run is its own interval");
    }
}
