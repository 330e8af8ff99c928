//! Values of runs of sectors, at the cost of one entry per run of any length. Their meaning is not known here.

use std::collections::BTreeMap;

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
    pub fn set(&mut self, from: u64, end: u64, value: V) {
        if from >= end {
            return;
        }
        self.clear(from, end);
        self.sectors += end - from;
        let before = self.runs.range(..from).next_back().map(|(&begin, &run)| (begin, run));
        let from = match before {
            Some((begin, (to, same))) if to == from && same == value => begin,
            _ => from,
        };
        let end = match self.runs.get(&end) {
            Some(&(to, same)) if same == value => {
                self.runs.remove(&end);
                to
            }
            _ => end,
        };
        self.runs.insert(from, (end, value));
    }

    /// Removes the value of these sectors.
    pub fn clear(&mut self, from: u64, end: u64) {
        if from >= end {
            return;
        }
        let before = self.runs.range(..from).next_back().map(|(&begin, &run)| (begin, run));
        if let Some((begin, (to, value))) = before.filter(|(_, (to, _))| *to > from) {
            self.runs.insert(begin, (from, value));
            self.remove_up_to(from, to, end, value);
        }
        while let Some((&begin, &(to, value))) = self.runs.range(from..end).next() {
            self.runs.remove(&begin);
            self.remove_up_to(begin, to, end, value);
        }
    }

    /// Removes a run from `begin` to `to`, except its part beyond `end`.
    fn remove_up_to(&mut self, begin: u64, to: u64, end: u64, value: V) {
        self.sectors -= to.min(end) - begin;
        if to > end {
            self.runs.insert(end, (to, value));
        }
    }

    /// Iterates over the runs in `from..end`, cut to it.
    pub(crate) fn runs_within(&self, from: u64, end: u64) -> impl Iterator<Item = (u64, u64, V)> + '_ {
        let before = self.runs.range(..from).next_back().filter(move |(_, (to, _))| *to > from && from < end);
        let rest = self.runs.range(from..end.max(from));
        before.into_iter().chain(rest).map(move |(&begin, &(to, value))| (begin.max(from), to.min(end), value))
    }

    /// Returns the sectors of `from..end` that have no value.
    pub fn gaps(&self, from: u64, end: u64) -> Vec<(u64, u64)> {
        let mut gaps = Vec::new();
        let mut at = from;
        for (begin, to, _) in self.runs_within(from, end) {
            if begin > at {
                gaps.push((at, begin));
            }
            at = to;
        }
        if at < end {
            gaps.push((at, end));
        }
        gaps
    }

    /// Iterates over all runs.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64, V)> + '_ {
        self.runs.iter().map(|(&from, &(end, value))| (from, end, value))
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
                runs.set(from, end, value);
                (from..end).for_each(|sector| table[sector as usize] = Some(value));
            } else {
                runs.clear(from, end);
                (from..end).for_each(|sector| table[sector as usize] = None);
            }
            let mut told = [None; 64];
            for (from, end, value) in runs.iter() {
                (from..end).for_each(|sector| told[sector as usize] = Some(value));
            }
            assert_eq!(told, table);
            assert_eq!(runs.sector_count(), table.iter().flatten().count() as u64);
            let changes = (0..64).filter(|&at| table[at].is_some() && (at == 0 || table[at - 1] != table[at]));
            assert_eq!(runs.len(), changes.count(), "neighbours of one value are one run");
            let (from, end) = (rng.below(64), rng.below(64));
            let held: u64 = runs.runs_within(from, end).map(|(begin, to, _)| to - begin).sum();
            let free: u64 = runs.gaps(from, end).iter().map(|(begin, to)| to - begin).sum();
            assert_eq!(held + free, end.saturating_sub(from));
            assert_eq!(held, (from..end).filter(|&at| table[at as usize].is_some()).count() as u64);
        }
    }
}
