//! Metadata in memory: which pages are known, and which are dirty.
//!
//! Pages read or written stay until [`MetadataPages::forget_all`]; a real system evicts pages under memory pressure, which
//! is not modelled (docs/files.md).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use seekwise_disk::block::Flags;

use super::plan::{IoPlan, SectorRole};

/// A dirty page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DirtyPage {
    pub(super) lba: u64,
    pub(super) sectors: u64,
    pub(super) role: SectorRole,
    /// The latest change in it.
    pub(super) holds: u64,
    /// The order in which pages became dirty.
    age: u64,
}

/// Pages by their first sector on the drive. The caller keeps them from overlapping.
#[derive(Clone, Debug, Default)]
pub(super) struct MetadataPages {
    known: BTreeSet<u64>,
    dirty: BTreeMap<u64, DirtyPage>,
    /// First sectors of dirty pages by age.
    ages: BTreeMap<u64, u64>,
    age: u64,
    /// State from before the run is being laid out: all of it is on the drive when the run begins, so no page is kept.
    laying: bool,
}

impl MetadataPages {
    /// Sets whether state from before the run is being laid out.
    pub(super) fn set_laying(&mut self, laying: bool) {
        self.laying = laying;
    }

    /// True while state from before the run is being laid out.
    pub(super) fn is_laying(&self) -> bool {
        self.laying
    }

    /// Reads a page unless it is known.
    pub(super) fn read_page(&mut self, lba: u64, sectors: u64, role: SectorRole, plan: &mut IoPlan) {
        if !self.laying && self.known.insert(lba) {
            plan.add_read(lba, sectors, role);
        }
    }

    /// Marks a new page as known: it need not be read.
    pub(super) fn mark_known(&mut self, lba: u64) {
        if !self.laying {
            self.known.insert(lba);
        }
    }

    /// Makes a page dirty.
    pub(super) fn touch_page(&mut self, lba: u64, sectors: u64, role: SectorRole, holds: u64) {
        if self.laying {
            return;
        }
        self.mark_known(lba);
        let age = match self.dirty.get(&lba) {
            Some(dirty) => dirty.age,
            None => {
                self.age += 1;
                self.ages.insert(self.age, lba);
                self.age
            }
        };
        self.dirty.insert(lba, DirtyPage { lba, sectors, role, holds, age });
    }

    /// How many pages are dirty.
    pub(super) fn dirty_count(&self) -> usize {
        self.dirty.len()
    }

    /// The latest change in a dirty page; `None` if it is clean.
    #[cfg(test)]
    pub(super) fn holds(&self, lba: u64) -> Option<u64> {
        self.dirty.get(&lba).map(|dirty| dirty.holds)
    }

    /// Takes the `count` longest dirty pages, in order of address; they are clean from now on.
    pub(super) fn take_oldest(&mut self, count: usize) -> Vec<DirtyPage> {
        let mut taken: Vec<u64> = self.ages.values().take(count).copied().collect();
        taken.sort_unstable();
        self.take_pages(&taken)
    }

    /// Takes the dirty pages that `which` accepts, in order of address.
    pub(super) fn take_if(&mut self, which: impl Fn(SectorRole) -> bool) -> Vec<DirtyPage> {
        let taken: Vec<u64> = self.dirty.values().filter(|dirty| which(dirty.role)).map(|dirty| dirty.lba).collect();
        self.take_pages(&taken)
    }

    /// Takes these pages, if they are dirty.
    pub(super) fn take_pages(&mut self, pages: &[u64]) -> Vec<DirtyPage> {
        let mut taken = Vec::with_capacity(pages.len());
        for lba in pages {
            if let Some(dirty) = self.dirty.remove(lba) {
                self.ages.remove(&dirty.age);
                taken.push(dirty);
            }
        }
        taken
    }

    /// Drops pages whose clusters were freed.
    pub(super) fn drop(&mut self, lba: u64, sectors: u64) {
        let gone: Vec<u64> = self.dirty.range(lba..lba + sectors).map(|(&lba, _)| lba).collect();
        self.take_pages(&gone);
        let known: Vec<u64> = self.known.range(lba..lba + sectors).copied().collect();
        known.iter().for_each(|lba| {
            self.known.remove(lba);
        });
    }

    /// Drops all pages, as a restart does.
    pub(super) fn forget_all(&mut self) {
        *self = MetadataPages { laying: self.laying, ..MetadataPages::default() };
    }
}

/// Writes pages; contiguous ones of one role in one step.
pub(super) fn write_pages(pages: &[DirtyPage], flags: Flags, plan: &mut IoPlan) {
    let mut rest = pages;
    while let Some(first) = rest.first() {
        let joins = |pair: &&[DirtyPage]| pair[0].lba + pair[0].sectors == pair[1].lba && pair[0].role == pair[1].role;
        let count = 1 + rest.windows(2).take_while(joins).count();
        let last = rest[count - 1];
        let holds = rest[..count].iter().map(|page| page.holds).max().unwrap_or(0);
        plan.add_write(first.lba, last.lba + last.sectors - first.lba, flags, first.role, holds);
        rest = &rest[count..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn a_page_is_read_once_and_written_once() {
        let (mut pages, mut plan) = (MetadataPages::default(), IoPlan::new());
        pages.read_page(8, 8, SectorRole::Inodes, &mut plan);
        pages.read_page(8, 8, SectorRole::Inodes, &mut plan);
        assert_eq!(plan.steps().len(), 1);
        pages.touch_page(8, 8, SectorRole::Inodes, 1);
        pages.touch_page(8, 8, SectorRole::Inodes, 2);
        assert_eq!((pages.dirty_count(), pages.holds(8)), (1, Some(2)));
        assert_eq!(pages.take_oldest(9).len(), 1);
        assert_eq!(pages.dirty_count(), 0);
    }

    #[test]
    fn the_oldest_go_first_and_neighbours_go_together() {
        let (mut pages, mut plan) = (MetadataPages::default(), IoPlan::new());
        for lba in [80, 16, 8, 24, 96] {
            pages.touch_page(lba, 8, SectorRole::MftRecords, lba);
        }
        let taken: Vec<u64> = pages.take_oldest(4).iter().map(|page| page.lba).collect();
        assert_eq!(taken, vec![8, 16, 24, 80]);
        pages.touch_page(32, 8, SectorRole::LogRecords, 7);
        let all = pages.take_if(|_| true);
        assert_eq!(all.len(), 2);
        write_pages(&all, Flags::NONE, &mut plan);
        assert_eq!(plan.steps().len(), 2);
        plan.clear();
        for lba in [8, 16, 24] {
            pages.touch_page(lba, 8, SectorRole::Inodes, lba);
        }
        write_pages(&pages.take_if(|_| true), Flags::NONE, &mut plan);
        let step = plan.steps()[0];
        assert_eq!((plan.steps().len(), step.lba, step.sectors, step.holds), (1, 8, 24, 24));
    }
}
