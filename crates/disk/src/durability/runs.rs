//! Runs of sectors, each with its content, and arithmetic of runs. There are as many entries as runs of equal content,
//! however many writes there were.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

/// A range of sectors: the first, and the first after the last.
pub type SectorRun = (u64, u64);

/// The overlap of two runs.
pub fn run_overlap(a: SectorRun, b: SectorRun) -> Option<SectorRun> {
    let both = (a.0.max(b.0), a.1.min(b.1));
    (both.0 < both.1).then_some(both)
}

/// The parts of `run` outside `other`: up to two.
pub(crate) fn run_without(run: SectorRun, other: SectorRun) -> impl Iterator<Item = SectorRun> {
    let rests = [(run.0, run.1.min(other.0)), (run.0.max(other.1), run.1)];
    rests.into_iter().filter(|rest| rest.0 < rest.1)
}

/// The parts of `run` outside all `others`.
pub fn run_without_all(run: SectorRun, others: &[SectorRun]) -> Vec<SectorRun> {
    others.iter().fold(vec![run], |parts, other| parts.into_iter().flat_map(|part| run_without(part, *other)).collect())
}

/// The number of sectors in any of `runs`, each counted once.
pub(crate) fn union_sectors(runs: impl Iterator<Item = SectorRun>) -> u64 {
    let mut runs: Vec<SectorRun> = runs.collect();
    runs.sort_unstable();
    let (mut counted_to, mut sectors) = (0, 0);
    for (from, to) in runs {
        sectors += to.saturating_sub(from.max(counted_to));
        counted_to = counted_to.max(to);
    }
    sectors
}

/// Content of runs, by first sector; each entry has the end of its run.
#[derive(Clone, Debug, Hash)]
pub struct SectorRuns<T>(BTreeMap<u64, (u64, T)>);

impl<T> Default for SectorRuns<T> {
    fn default() -> SectorRuns<T> {
        SectorRuns(BTreeMap::new())
    }
}

impl SectorRuns<u64> {
    /// Writes `stamp` to `run`, except where a later write is.
    pub(crate) fn set_if_newer(&mut self, run: SectorRun, stamp: u64) {
        let later: Vec<SectorRun> =
            self.content_in(run).filter(|&(_, held)| held > stamp).map(|(part, _)| part).collect();
        run_without_all(run, &later).into_iter().for_each(|part| self.set_and_merge(part, stamp));
    }

    /// Sets the content of `run`, and merges it with an equal entry that ends there.
    pub(crate) fn set_and_merge(&mut self, run: SectorRun, stamp: u64) {
        self.clear_run(run);
        match self.0.range_mut(..run.0).next_back() {
            Some((_, (end, held))) if *end == run.0 && *held == stamp => *end = run.1,
            _ => drop(self.0.insert(run.0, (run.1, stamp))),
        }
    }
}

impl<T: Copy> SectorRuns<T> {
    /// Sets the content of `run`.
    pub fn set_content(&mut self, run: SectorRun, held: T) {
        self.clear_run(run);
        self.0.insert(run.0, (run.1, held));
    }

    /// Forgets the content of `run`.
    pub(crate) fn clear_run(&mut self, run: SectorRun) {
        for ((lba, end), held) in self.entries_touching(run) {
            self.0.remove(&lba);
            if lba < run.0 {
                self.0.insert(lba, (run.0, held));
            }
            if run.1 < end {
                self.0.insert(run.1, (end, held));
            }
        }
    }

    /// All runs with their content.
    pub fn iter(&self) -> impl Iterator<Item = (SectorRun, T)> {
        self.0.iter().map(|(&lba, &(end, held))| ((lba, end), held))
    }

    /// Changes the content of the entries that touch `run`, each as a whole.
    pub(crate) fn update_touching(&mut self, run: SectorRun, mut change: impl FnMut(&mut T)) {
        for ((lba, _), _) in self.entries_touching(run) {
            if let Some((_, held)) = self.0.get_mut(&lba) {
                change(held);
            }
        }
    }

    /// The parts of `run` whose content is known, with it.
    pub fn content_in(&self, run: SectorRun) -> impl Iterator<Item = (SectorRun, T)> {
        self.entries_touching(run).into_iter().filter_map(move |(whole, held)| Some((run_overlap(whole, run)?, held)))
    }

    /// True if no content is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Calls `visit` with the parts of `run` in order and without gaps; the content of unknown parts is `None`.
    pub fn for_each_part(&self, run: SectorRun, visit: &mut dyn FnMut(SectorRun, Option<T>)) {
        let mut visited_to = run.0;
        let before = self.0.range(..run.0).next_back();
        for (&lba, &(end, held)) in before.into_iter().chain(self.0.range(run.0..run.1)) {
            let Some(part) = run_overlap((lba, end), run) else { continue };
            if visited_to < part.0 {
                visit((visited_to, part.0), None);
            }
            visit(part, Some(held));
            visited_to = part.1;
        }
        if visited_to < run.1 {
            visit((visited_to, run.1), None);
        }
    }

    /// The entries that touch `run`, not cut to it.
    fn entries_touching(&self, run: SectorRun) -> Vec<(SectorRun, T)> {
        let before = self.0.range(..run.0).next_back();
        let inside = self.0.range(run.0..run.1);
        let touching = before.into_iter().chain(inside).filter(|(_, (end, _))| *end > run.0);
        touching.map(|(&lba, &(end, held))| ((lba, end), held)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_landing_of_a_sector_counts() {
        let mut runs = SectorRuns::default();
        runs.set_content((0, 100), 1);
        runs.set_content((40, 50), 2);
        runs.set_content((45, 60), 3);
        let content: Vec<(SectorRun, i32)> = runs.content_in((30, 65)).collect();
        assert_eq!(content, [((30, 40), 1), ((40, 45), 2), ((45, 60), 3), ((60, 65), 1)]);
        runs.clear_run((42, 58));
        assert_eq!(runs.content_in((30, 60)).map(|it| it.0).collect::<Vec<_>>(), [(30, 40), (40, 42), (58, 60)]);
        assert_eq!(runs.content_in((100, 200)).count(), 0);
    }
}
