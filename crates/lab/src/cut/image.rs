//! What the medium holds, as far as a torn sector could destroy it: which write's data, and whether somebody relies on
//! them. Runs of sectors; it grows with the part of the drive that was written, not with the number of writes.

use std::collections::BTreeMap;

use super::risk::{Run, overlap};

/// What a run of sectors holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The write that brought it.
    pub stamp: u64,
    /// The number of its acknowledgement, when it has one.
    pub acknowledged: Option<u64>,
    /// Nothing else was needed to make it durable.
    pub forced: bool,
}

/// Runs by their first sector, with their ends.
#[derive(Clone, Debug)]
pub struct Image<T>(BTreeMap<u64, (u64, T)>);

impl<T> Default for Image<T> {
    fn default() -> Image<T> {
        Image(BTreeMap::new())
    }
}

impl<T: Copy> Image<T> {
    /// `run` holds this now.
    pub fn land(&mut self, run: Run, held: T) {
        for (old, was) in self.within(run) {
            let (lba, end) = old;
            self.0.remove(&lba);
            if lba < run.0 {
                self.0.insert(lba, (run.0, was));
            }
            if run.1 < end {
                self.0.insert(run.1, (end, was));
            }
        }
        self.0.insert(run.0, (run.1, held));
    }

    /// What lies in `run`: sectors, cut to it, and what they hold. Sectors that the job has not written are left out.
    pub fn held(&self, run: Run) -> impl Iterator<Item = (Run, T)> {
        self.within(run).into_iter().filter_map(move |(whole, held)| Some((overlap(whole, run)?, held)))
    }

    /// The entries that touch `run`, whole.
    fn within(&self, run: Run) -> Vec<(Run, T)> {
        let before = self.0.range(..run.0).next_back();
        let inside = self.0.range(run.0..run.1);
        let touching = before.into_iter().chain(inside).filter(|(_, (end, _))| *end > run.0);
        touching.map(|(&lba, &(end, held))| ((lba, end), held)).collect()
    }
}

impl Image<Held> {
    /// The write `stamp`, of `run`, is acknowledged: what it brought before that is relied on from now.
    pub fn acknowledge(&mut self, run: Run, stamp: u64, number: u64) {
        for ((lba, _), held) in self.within(run) {
            if let Some((_, held)) = self.0.get_mut(&lba).filter(|_| held.stamp == stamp) {
                held.acknowledged = Some(number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(stamp: u64) -> Held {
        Held { stamp, acknowledged: None, forced: false }
    }

    #[test]
    fn the_last_landing_of_a_sector_counts() {
        let mut image = Image::default();
        image.land((0, 100), held(1));
        image.land((40, 50), held(2));
        image.land((45, 60), held(3));
        image.acknowledge((0, 100), 1, 7);
        let found: Vec<(Run, u64, Option<u64>)> =
            image.held((30, 65)).map(|(run, held)| (run, held.stamp, held.acknowledged)).collect();
        let one = Some(7);
        assert_eq!(found, [((30, 40), 1, one), ((40, 45), 2, None), ((45, 60), 3, None), ((60, 65), 1, one)]);
        assert_eq!(image.held((100, 200)).count(), 0);
    }
}
