//! Cells that are the same run: tests of such cells are one test, and a pair whose sides are the same run has no chance in it.
//!
//! A setting that no run uses (docs/statistics.md, "The same run") leaves cells whose runs are equal to the nanosecond. The records alone
//! show this, as for all findings.

use std::collections::BTreeMap;

use seekwise_drives::metric::Metric;

use super::Evidence;
use crate::run::RunRecord;

/// The subject of a test.
#[derive(Debug, PartialEq)]
pub(super) struct ComparisonTest {
    /// The cells of both sides, sorted; each replaced by the first cell that is the same run.
    sides: Vec<(usize, usize)>,
    pub(super) metric: Metric,
}

impl ComparisonTest {
    /// Makes a test of these sides; `alike` names for each cell the first that is the same run.
    pub(super) fn new(sides: impl Iterator<Item = (usize, usize)>, metric: Metric, alike: &[usize]) -> ComparisonTest {
        let mut sides: Vec<(usize, usize)> = sides.map(|(from, to)| (alike[from], alike[to])).collect();
        sides.sort_unstable();
        // The mean of equal ratios is that ratio.
        if sides.windows(2).all(|two| two[0] == two[1]) {
            sides.truncate(1);
        }
        ComparisonTest { sides, metric }
    }

    /// True if both sides are the same run in all cells: their ratio is 1 without any chance.
    pub(super) fn is_certain(&self) -> bool {
        self.sides.iter().all(|(from, to)| from == to)
    }
}

impl Evidence<'_> {
    /// For each cell the first that has the same runs; itself, if there is no other.
    pub(super) fn first_equal_cells(&self) -> &[usize] {
        self.alike.get_or_init(|| {
            let mut firsts: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
            let of_cell = |cell: usize| {
                let own = self.cell_runs(cell);
                let Some(first) = own.first() else { return cell };
                let known = firsts.entry(&first.stream_hash).or_default();
                let same = known.iter().copied().find(|&other| same_runs(own, self.cell_runs(other)));
                same.unwrap_or_else(|| {
                    known.push(cell);
                    cell
                })
            };
            (0..self.made.cells.len()).map(of_cell).collect()
        })
    }
}

fn same_runs(one: &[&RunRecord], other: &[&RunRecord]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.is_same_run(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_of_cells_that_are_the_same_run_are_one() {
        // Cell 2 is the same run as 0, and 3 as 1.
        let alike = [0, 1, 0, 1, 4];
        let of = |sides: &[(usize, usize)], metric: &str| {
            ComparisonTest::new(sides.iter().copied(), metric.parse().unwrap(), &alike)
        };
        assert_eq!(of(&[(0, 1)], "iops"), of(&[(2, 3)], "iops"));
        assert_eq!(of(&[(0, 1), (2, 3)], "iops"), of(&[(2, 1)], "iops"), "all of them together say the same");
        assert_ne!(of(&[(0, 1)], "iops"), of(&[(0, 1)], "mean"));
        assert_ne!(of(&[(0, 1)], "iops"), of(&[(1, 0)], "iops"));
        assert_ne!(of(&[(0, 1), (0, 4)], "iops"), of(&[(0, 1)], "iops"));
        assert_ne!(of(&[(0, 1), (0, 1), (0, 4)], "iops"), of(&[(0, 1), (0, 4)], "iops"), "another mean");
        assert!(of(&[(0, 2), (3, 1)], "iops").is_certain() && !of(&[(0, 2), (0, 1)], "iops").is_certain());
    }
}
