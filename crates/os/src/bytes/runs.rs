//! A map from sectors to values that costs one entry for a run of sectors, however long. The meaning of the values is
//! not known here.

use std::collections::BTreeMap;
use std::ops::Range;

/// Memory of a run: three numbers, in a tree whose nodes are two thirds full, and a share of the node.
pub(crate) const RUN_COST: u64 = 64;

/// Runs that do not overlap, each with a value; adjacent runs of one value are merged.
#[derive(Clone, Debug)]
pub(crate) struct RunMap<V> {
    /// By first sector: the end, and the value.
    runs: BTreeMap<u64, (u64, V)>,
    sectors: u64,
}

impl<V> Default for RunMap<V> {
    fn default() -> RunMap<V> {
        RunMap { runs: BTreeMap::new(), sectors: 0 }
    }
}

impl<V: Copy + PartialEq> RunMap<V> {
    /// Sets the value of these sectors.
    pub fn set(&mut self, sectors: Range<u64>, value: V) {
        let Range { mut start, mut end } = sectors;
        if start >= end {
            return;
        }
        self.clear(start..end);
        self.sectors += end - start;
        let before = self.runs.range(..start).next_back().map(|(&first, &run)| (first, run));
        if let Some((first, (before_end, before_value))) = before
            && before_end == start
            && before_value == value
        {
            start = first;
        }
        if let Some(&(after_end, after_value)) = self.runs.get(&end)
            && after_value == value
        {
            self.runs.remove(&end);
            end = after_end;
        }
        self.runs.insert(start, (end, value));
    }

    /// Removes the value of these sectors.
    pub fn clear(&mut self, sectors: Range<u64>) {
        let Range { start, end } = sectors;
        if start >= end {
            return;
        }
        let before = self.runs.range(..start).next_back().map(|(&first, &run)| (first, run));
        if let Some((first, (run_end, value))) = before.filter(|(_, (run_end, _))| *run_end > start) {
            self.runs.insert(first, (start, value));
            self.remove_head(start..run_end, end, value);
        }
        while let Some((&first, &(run_end, value))) = self.runs.range(start..end).next() {
            self.runs.remove(&first);
            self.remove_head(first..run_end, end, value);
        }
    }

    /// Counts a removed run up to `end`, and inserts its part beyond `end` again.
    fn remove_head(&mut self, run: Range<u64>, end: u64, value: V) {
        self.sectors -= run.end.min(end) - run.start;
        if run.end > end {
            self.runs.insert(end, (run.end, value));
        }
    }

    /// Iterates over the runs in `sectors`, cut to it.
    pub(crate) fn runs_within(&self, sectors: Range<u64>) -> impl Iterator<Item = (Range<u64>, V)> + '_ {
        let Range { start, end } = sectors;
        let before =
            self.runs.range(..start).next_back().filter(move |(_, (run_end, _))| *run_end > start && start < end);
        let rest = self.runs.range(start..end.max(start));
        before
            .into_iter()
            .chain(rest)
            .map(move |(&first, &(run_end, value))| (first.max(start)..run_end.min(end), value))
    }

    /// Returns the runs of `sectors` that have no value.
    pub fn gaps(&self, sectors: Range<u64>) -> Vec<Range<u64>> {
        let mut gaps = Vec::new();
        let mut next = sectors.start;
        for (run, _) in self.runs_within(sectors.clone()) {
            if run.start > next {
                gaps.push(next..run.start);
            }
            next = run.end;
        }
        if next < sectors.end {
            gaps.push(next..sectors.end);
        }
        gaps
    }

    /// Iterates over all runs.
    pub fn iter(&self) -> impl Iterator<Item = (Range<u64>, V)> + '_ {
        self.runs.iter().map(|(&first, &(end, value))| (first..end, value))
    }

    /// Number of sectors that have a value.
    pub(crate) fn sector_count(&self) -> u64 {
        self.sectors
    }

    /// Number of runs.
    pub fn len(&self) -> usize {
        self.runs.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_disk::rng::Seed;

    #[test]
    fn they_hold_what_a_table_of_sectors_holds() {
        let mut rng = Seed(1).stream("runs");
        let (mut runs, mut table) = (RunMap::default(), [None; 64]);
        for _ in 0..20_000 {
            let (from, length) = (rng.below(64), rng.below(20));
            let end = (from + length).min(64);
            if rng.draw_chance(70) {
                let value = rng.below(3);
                runs.set(from..end, value);
                (from..end).for_each(|sector| table[sector as usize] = Some(value));
            } else {
                runs.clear(from..end);
                (from..end).for_each(|sector| table[sector as usize] = None);
            }
            let mut listed = [None; 64];
            for (run, value) in runs.iter() {
                run.for_each(|sector| listed[sector as usize] = Some(value));
            }
            assert_eq!(listed, table);
            assert_eq!(runs.sector_count(), table.iter().flatten().count() as u64);
            let changes = (0..64).filter(|&at| table[at].is_some() && (at == 0 || table[at - 1] != table[at]));
            assert_eq!(runs.len(), changes.count(), "neighbours of one value are one run");
            let (from, end) = (rng.below(64), rng.below(64));
            let held: u64 = runs.runs_within(from..end).map(|(run, _)| run.end - run.start).sum();
            let free: u64 = runs.gaps(from..end).iter().map(|run| run.end - run.start).sum();
            assert_eq!(held + free, end.saturating_sub(from));
            assert_eq!(held, (from..end).filter(|&at| table[at as usize].is_some()).count() as u64);
        }
    }
}
