//! The free clusters of a volume, as runs, so that an empty volume of any size is one entry. The owners of the other
//! clusters are in `tree`.

use alloc::collections::{BTreeMap, BTreeSet};

/// Contiguous clusters of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterRun {
    /// The index in the file of the first of them.
    pub from: u64,
    /// The first cluster on the volume.
    pub start: u64,
    /// In clusters.
    pub len: u64,
}

/// The free clusters.
#[derive(Clone, Debug, Default)]
pub(super) struct FreeSpace {
    /// Length by first cluster; runs never touch.
    by_start: BTreeMap<u64, u64>,
    /// Free runs by length, then first cluster.
    by_len: BTreeSet<(u64, u64)>,
    free: u64,
}

impl FreeSpace {
    /// Creates a space of `clusters` free clusters.
    pub(super) fn new(clusters: u64) -> FreeSpace {
        let mut space = FreeSpace::default();
        space.release_clusters(0, clusters);
        space
    }

    /// How many clusters are free.
    pub(super) fn free_count(&self) -> u64 {
        self.free
    }

    /// How many runs the free space has.
    pub(super) fn free_run_count(&self) -> usize {
        self.by_start.len()
    }

    /// The length of the longest free run.
    pub(super) fn longest_len(&self) -> u64 {
        self.by_len.last().map_or(0, |&(len, _)| len)
    }

    /// How many clusters are free without a gap from `start` on.
    pub(super) fn free_len_at(&self, start: u64) -> u64 {
        let before = self.by_start.range(..=start).next_back();
        before.map_or(0, |(&first, &len)| (first + len).saturating_sub(start))
    }

    /// Takes `len` clusters from `start` on, which must be free.
    pub(super) fn take_clusters(&mut self, start: u64, len: u64) {
        let (&first, &whole) = self.by_start.range(..=start).next_back().expect("clusters to take are free");
        assert!(first + whole >= start + len, "clusters to take are free");
        self.remove_run(first, whole);
        self.insert_run(first, start - first);
        self.insert_run(start + len, first + whole - start - len);
    }

    /// Frees `len` clusters from `start` on, none of which may be free.
    pub(super) fn release_clusters(&mut self, start: u64, len: u64) {
        let (mut first, mut end) = (start, start + len);
        if let Some((&before, &there)) = self.by_start.range(..=start).next_back() {
            assert!(before + there <= start, "clusters to free are taken");
            if before + there == start {
                self.remove_run(before, there);
                first = before;
            }
        }
        if let Some((&behind, &there)) = self.by_start.range(start..).next() {
            assert!(end <= behind, "clusters to free are taken");
            if behind == end {
                self.remove_run(behind, there);
                end = behind + there;
            }
        }
        self.insert_run(first, end - first);
    }

    /// The start of the first free run of at least `len` clusters at or after `hint`, else of the first on the volume.
    pub(super) fn next_fit(&self, hint: u64, len: u64) -> Option<u64> {
        if len > self.longest_len() {
            return None;
        }
        if self.free_len_at(hint) >= len {
            return Some(hint);
        }
        let fits = |(&start, &run): (&u64, &u64)| (run >= len).then_some(start);
        let behind = self.by_start.range(hint..).find_map(fits);
        behind.or_else(|| self.by_start.range(..hint).find_map(fits))
    }

    /// The start of the shortest free run of at least `len` clusters; the first of equals.
    pub(super) fn best_fit(&self, len: u64) -> Option<u64> {
        self.by_len.range((len, 0)..).next().map(|&(_, start)| start)
    }

    /// The longest free run: start and length.
    pub(super) fn longest_run(&self) -> Option<(u64, u64)> {
        self.by_len.last().map(|&(len, start)| (start, len))
    }

    fn insert_run(&mut self, start: u64, len: u64) {
        if len > 0 {
            self.by_start.insert(start, len);
            self.by_len.insert((len, start));
            self.free += len;
        }
    }

    fn remove_run(&mut self, start: u64, len: u64) {
        self.by_start.remove(&start);
        self.by_len.remove(&(len, start));
        self.free -= len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use seekwise_disk::rng::Seed;

    #[test]
    fn runs_say_what_a_map_of_all_clusters_says() {
        let mut rng = Seed(3).stream("space");
        let (mut space, mut map) = (FreeSpace::new(300), vec![true; 300]);
        for _ in 0..5_000 {
            let (start, len) = (rng.below(300), 1 + rng.below(20));
            let range = start as usize..(start + len).min(300) as usize;
            let count = range.len() as u64;
            if map[range.clone()].iter().all(|&free| free) {
                space.take_clusters(start, count);
                map[range].fill(false);
            } else if map[range.clone()].iter().all(|&free| !free) {
                space.release_clusters(start, count);
                map[range].fill(true);
            }
            let at = rng.below(300) as usize;
            assert_eq!(space.free_len_at(at as u64) as usize, map[at..].iter().take_while(|&&free| free).count());
            assert_eq!(space.free_count() as usize, map.iter().filter(|&&free| free).count());
            let mut lengths: vec::Vec<usize> = map.split(|&free| !free).map(<[bool]>::len).collect();
            lengths.retain(|&len| len > 0);
            assert_eq!(space.free_run_count(), lengths.len());
            let wanted = 1 + rng.below(12);
            let shortest = lengths.iter().filter(|&&len| len as u64 >= wanted).min();
            let found = space.best_fit(wanted).map(|start| space.free_len_at(start) as usize);
            assert_eq!(found.as_ref(), shortest);
            let first =
                |from: usize| (from..300).find(|&i| map[i..].iter().take_while(|&&f| f).count() as u64 >= wanted);
            let expected = first(at).or_else(|| first(0));
            assert_eq!(space.next_fit(at as u64, wanted), expected.map(|i| i as u64));
        }
    }
}
